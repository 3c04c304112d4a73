"""Linear mixed models: statsmodels' MixedLM, and the linear-probability model with our restricted likelihood."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from judgestats import flags
from judgestats.errors import DesignError, FitError
from judgestats.models.designs import Design, RandomTerm
from judgestats.models.engines.joint_modes import Modes
from judgestats.models.engines.statsmodels_calls import Result, bernoulli, call, repeated
from judgestats.models.fitted_models import Deferred, Fitted
from judgestats.models.ml import fit_design, refittable
from judgestats.models.specifications import Model
from judgestats.typing import Floats, Ints

#: Ratio to the residual sd below which a standard deviation is zero.
BOUNDARY = 1e-4


def fit_lpm(model: Model) -> Fitted:
    """Fit a Gaussian mixed model of 0 and 1 by our restricted likelihood.

    In balanced data each coefficient is p_s - p_B0: the model behind Table 5 of *Judging the Judges* (App D).
    """
    coded = bernoulli(model.design)
    calls = float(coded.count.sum())
    for term in coded.terms:
        number = len(term.levels) * len(term.names)
        if number >= calls:
            raise DesignError(
                f"({' + '.join(term.names)}|{term.factor}) has {number:,} random effects for {calls:,.0f} calls: they "
                "and the residuals cannot be distinguished. Leave it out."
            )
    fitted = fit_design(Model(coded, "gaussian", "identity", reml=True))
    return replace(fitted, engine="lpm", refit=partial(_fit_lpm_again, model))


def _fit_lpm_again(model: Model, design: Design, _: Ints) -> Fitted:
    return fit_lpm(replace(model, design=design, part=None))


def fit_mixedlm(model: Model) -> Fitted:
    """Fit a linear mixed model with statsmodels' MixedLM, with a row for each call.

    Crossed and nested factors become variance components within a single group: about 200 times slower than lme4.
    """
    from statsmodels.regression.mixed_linear_model import MixedLM

    _refuse_correlated(model)
    d = repeated(model.design, "mixedlm")
    y = d.y - d.offset

    def run() -> Result:
        if len(d.terms) == 1:
            t = d.terms[0]
            order = np.argsort(t.codes, kind="stable")
            mixed = MixedLM(y[order], d.X[order], t.codes[order], exog_re=t.values[order])
        else:
            groups, components = _components(d)
            order = np.argsort(groups, kind="stable")
            mixed = MixedLM(y[order], d.X[order], groups[order], exog_vc=components)
        return mixed.fit(reml=model.reml, method=["bfgs", "lbfgs", "powell"], gtol=1e-6)

    result = call(run, "mixedlm")
    beta, sigma = np.asarray(result.fe_params), float(np.sqrt(result.scale))
    covariances = _covariances(d, result)
    factors = [_cholesky(c) for c in covariances]
    theta = [L[a, b] for L in factors for b in range(len(L)) for a in range(b, len(L))]
    params = np.concatenate([beta, theta, [sigma]])
    covariance = np.full((len(params), len(params)), np.nan)
    covariance[: len(beta), : len(beta)] = np.asarray(result.cov_params())[: len(beta), : len(beta)]
    singular = any(np.diag(L).min() < BOUNDARY * sigma for L in factors)
    unknown = not singular and np.isnan(covariance[: len(beta), : len(beta)]).any()
    about = tuple(note for is_so, note in ((singular, flags.SINGULAR), (unknown, flags.NO_HESSIAN)) if is_so)
    effects = Deferred(partial(_effects, d, covariances, factors, sigma))
    method, loglik, converged = (
        "REML" if model.reml else "ML",
        call(lambda: float(result.llf), "mixedlm"),
        bool(result.converged),
    )
    fitted = Fitted(model, "mixedlm", method, params, covariance, loglik, converged, about, effects=effects)
    return refittable(fitted, fit_mixedlm)


def _refuse_correlated(model: Model) -> None:
    d = model.design
    parts = " + ".join(str(p) for p in d.formula.random)
    if not d.terms:
        raise FitError("engine='mixedlm' needs a random term, such as (1|item). Use engine='glm' or 'ml' without one.")
    if len(d.terms) > 1 and any(len(t.names) > 1 for t in d.terms):
        raise FitError(
            f"engine='mixedlm' fits correlated random effects of one factor only, got {parts}. Write (x||g), or use "
            "engine='ml'."
        )


def _components(d: Design) -> tuple[Ints, Result]:
    """Groups, and the terms as variance components within them."""
    from statsmodels.regression.mixed_linear_model import VCSpec

    shared = len({t.factor for t in d.terms}) == 1
    groups = d.terms[0].codes if shared else np.zeros(len(d.y), np.int64)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    rows = np.split(order, starts[1:])
    names = [f"{t.names[0]}|{t.factor}" for t in d.terms]
    mats = [[_dummies(t, group, shared) for group in rows] for t in d.terms]
    cols = [[[str(c) for c in range(m.shape[1])] for m in term] for term in mats]
    return groups, VCSpec(names, cols, mats)


def _dummies(term: RandomTerm, rows: Ints, shared: bool) -> Floats:
    if shared:
        return term.values[rows]
    dummies: Floats = np.zeros((len(rows), len(term.levels)))
    dummies[np.arange(len(rows)), term.codes[rows]] = term.values[rows, 0]
    return dummies


def _covariances(d: Design, result: Result) -> list[Floats]:
    """Covariance of each term in the order of the formula; statsmodels sorts its components by name."""
    if len(d.terms) == 1:
        return [np.atleast_2d(np.asarray(result.cov_re, float))]
    variances = dict(zip(result.model.exog_vc.names, np.asarray(result.vcomp, float), strict=True))
    return [np.array([[variances[f"{t.names[0]}|{t.factor}"]]]) for t in d.terms]


def _cholesky(covariance: Floats) -> Floats:
    """Lower factor of a covariance that may be singular."""
    k = len(covariance)
    L = np.zeros((k, k))
    for b in range(k):
        rest = covariance[b, b] - L[b, :b] @ L[b, :b]
        L[b, b] = np.sqrt(max(rest, 0.0))
        if L[b, b] > 0:
            L[b + 1 :, b] = (covariance[b + 1 :, b] - L[b + 1 :, :b] @ L[b, :b]) / L[b, b]
    return L


def _effects(d: Design, covariances: list[Floats], factors: list[Floats], sigma: float) -> Modes:
    """Best linear unbiased predictions, by Henderson's equations on the spherical scale."""
    blocks = []
    for t in d.terms:
        N, k = t.values.shape
        Z = np.zeros((N, len(t.levels) * k))
        for c in range(k):
            Z[np.arange(N), t.codes * k + c] = t.values[:, c]
        blocks.append(Z)
    p, q = d.X.shape[1], sum(Z.shape[1] for Z in blocks)
    spread = np.eye(p + q)
    first = p
    for t, L in zip(d.terms, factors, strict=True):
        scale = np.kron(np.eye(len(t.levels)), L)
        spread[first : first + len(scale), first : first + len(scale)] = scale
        first += len(scale)
    W = np.hstack([d.X, *blocks]) @ spread
    H = W.T @ W / sigma**2
    H[range(p, p + q), range(p, p + q)] += 1.0
    inverse = np.linalg.inv(H)
    b = (spread @ inverse @ (W.T @ (d.y - d.offset)) / sigma**2)[p:]
    ends = np.cumsum([Z.shape[1] for Z in blocks])[:-1]
    parts = zip(np.split(b, ends), d.terms, strict=True)
    modes = tuple(effects.reshape(len(t.levels), len(t.names)) for effects, t in parts)
    conditional = spread[p:, p:] @ np.linalg.inv(H[p:, p:]) @ spread[p:, p:].T
    return Modes(modes, tuple(covariances), spread @ inverse @ spread.T, conditional, p)
