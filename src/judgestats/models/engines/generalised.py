"""Generalised linear models without random effects, by statsmodels: maximum likelihood, and estimating equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from judgestats import flags
from judgestats.errors import FitError
from judgestats.kernels.clustered_scores import ClusterShares, products
from judgestats.kernels.likelihoods import losses
from judgestats.models.coding.factor_levels import coded_levels
from judgestats.models.designs import Design
from judgestats.models.engines.statsmodels_calls import (
    Result,
    bernoulli,
    call,
    mean_and_slope,
    refuse_random,
    repeated,
)
from judgestats.models.fitted_models import Fitted, MarginalClusters, Options
from judgestats.models.likelihood.starting_values import orthogonal
from judgestats.models.ml import fit_design, refittable
from judgestats.models.postestimation.separation import separated
from judgestats.models.specifications import Model
from judgestats.typing import Floats, Ints

#: Temporary column with the codes of the clusters.
CODES = "cluster codes"


def fit_glm(model: Model) -> Fitted:
    """Fit a GLM with statsmodels, counts as frequencies; a Gaussian residual sd has the residual degrees of freedom."""
    from statsmodels.genmod.generalized_linear_model import GLM

    refuse_random(model, "glm")
    d = model.design
    if model.distribution.linear and flags.PERFECT_FIT in (own := fit_design(model)).notes:  # statsmodels refuses it
        return replace(own, engine="glm")
    y = np.column_stack([d.y, d.trials - d.y]) if model.distribution.has_trials else d.y
    family = model.distribution.statsmodels(model.link)
    fitting = partial(GLM, y, d.X, family=family, offset=d.offset, freq_weights=d.count, var_weights=d.weights)

    def run() -> tuple[Result, Floats]:
        estimate = fitting().fit(tol=1e-12, maxiter=200)
        return estimate, np.asarray(estimate.cov_params())

    result, covariance = call(run, "glm")
    beta = np.asarray(result.params)
    if model.distribution.linear:
        beta, covariance, loglik = _with_residual(model, beta, np.asarray(result.normalized_cov_params))
    else:
        eta, nothing = d.X @ beta + d.offset, np.zeros(len(d.y))
        each = model.distribution.constant(d.y, d.trials)
        each = each - losses(model.kernel, d.y, d.trials, eta, nothing, nothing)[0]
        loglik = float((d.count * d.weights) @ each)
    return refittable(Fitted(model, "glm", "IRLS", beta, covariance, loglik, bool(result.converged)), fit_glm)


def _with_residual(model: Model, beta: Floats, inverse: Floats) -> tuple[Floats, Floats, float]:
    """β and the residual sd, their covariance, and the log likelihood."""
    d = model.design
    n, p = float(d.count.sum()), len(beta)
    squares = float((d.count * d.weights) @ (d.y - d.X @ beta - d.offset) ** 2)
    variance = squares / (n - p)
    covariance = np.zeros((p + 1, p + 1))
    covariance[:p, :p] = inverse * variance
    covariance[p, p] = variance / (2 * (n - p))
    with np.errstate(divide="ignore"):
        loglik = -n / 2 * (np.log(2 * np.pi * squares / n) + 1) + d.count @ np.log(d.weights) / 2
    return np.append(beta, np.sqrt(variance)), covariance, float(loglik)


def fit_gee(model: Model, *, cluster: str | Sequence[str] | None = None) -> Fitted:
    """Fit a marginal model with statsmodels' GEE: exchangeable within clusters, robust covariance (CR2).

    Counts and ``cbind`` become single calls, because statsmodels' weights are not frequencies.
    """
    names, codes = _clusters(model, cluster)
    frame = model.design.frame.assign(**{CODES: codes})
    marginal = replace(model, design=replace(model.design, terms=()))
    coded = replace(model.design, terms=(), rows=replace(model.design.rows, frame=frame))
    calls = repeated(bernoulli(coded) if model.distribution.has_trials else coded, "gee")
    structure, result = _estimate(model, calls)
    beta, covariance, shares = np.asarray(result.params), np.asarray(result.cov_robust), None
    correlation, converged = float(structure.dep_params), bool(result.converged)
    if not np.isfinite(beta).all():  # a search after infinite coefficients ends where rounding stops it
        beta, covariance, correlation, converged = *_independent(marginal), 0.0, False
    if not model.many_clusters:
        shares, covariance = _corrected(model, calls, beta, correlation)
    if model.distribution.linear:
        beta = np.append(beta, np.sqrt(float(result.scale)))
        covariance = np.pad(covariance, (0, 1), constant_values=np.nan)
    size = len(np.unique(codes))
    about = Options(clusters=MarginalClusters(":".join(names), size, correlation, shares))
    fitted = Fitted(marginal, "gee", "GEE exchangeable", beta, covariance, converged=converged, options=about)
    return refittable(fitted, partial(fit_gee, cluster=names))


def _independent(marginal: Model) -> tuple[Floats, Floats]:
    """Coefficients and covariance by maximum likelihood, finite where the response is separated."""
    own = fit_design(marginal)
    if not separated(own):
        raise FitError("engine='gee' diverged: no finite coefficients. Leave terms out, or use engine='ml'.")
    return own.params, own.covariance


def _estimate(model: Model, calls: Design) -> tuple[Result, Result]:
    """Working correlation and result from statsmodels."""
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.generalized_estimating_equations import GEE

    groups = calls.frame[CODES].to_numpy()
    order = np.argsort(groups, kind="stable")
    structure = Exchangeable()

    def run() -> Result:
        family, offset = model.distribution.statsmodels(model.link), calls.offset[order]
        marginal = GEE(
            calls.y[order], calls.X[order], groups[order], family=family, cov_struct=structure, offset=offset
        )
        return marginal.fit(maxiter=200, ctol=1e-10)

    return structure, call(run, "gee")


def _corrected(model: Model, calls: Design, beta: Floats, correlation: float) -> tuple[ClusterShares, Floats]:
    """Shares of the clusters, and the covariance of the coefficients (CR2), by the working correlation."""
    family = model.distribution.statsmodels(model.link)
    codes = calls.frame[CODES].to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    eta = (calls.X @ beta + calls.offset)[order]
    mean, slope = mean_and_slope(family, eta)
    spread = np.sqrt(family.variance(mean))
    X = calls.X[order] * (slope / spread)[:, None]
    turn = orthogonal(X, np.ones(len(X)))
    X, residual = X @ turn, ((calls.y[order] - mean) / spread)[:, None]
    sizes = np.diff(starts, append=len(X))
    less = (correlation / (1 + (sizes - 1) * correlation))[:, None, None]
    ones = np.ones((len(X), 1))
    total, of_residual = products(X, ones, starts), products(residual, ones, starts)
    shares = ClusterShares.of(products(X, X, starts) - less * total * total.swapaxes(1, 2))
    score = (products(X, residual, starts) - less * total * of_residual)[:, :, 0]
    return shares._replace(root=turn @ shares.root), turn @ shares.covariance(score) @ turn.T


def _clusters(model: Model, cluster: str | Sequence[str] | None) -> tuple[tuple[str, ...], Ints]:
    """Columns of the clusters, and the cluster of each row."""
    terms = model.design.terms
    got = " + ".join(str(p) for p in model.design.formula.random) or "none"
    single = len(terms) == 1 and terms[0].names == ("Intercept",)
    if cluster is None:
        if not single:
            raise FitError(
                f"engine='gee' needs one term (1|column) for its clusters, or cluster=. Random terms: {got}."
            )
        return terms[0].columns, terms[0].codes
    names = (cluster,) if isinstance(cluster, str) else tuple(cluster)
    if terms and not (single and terms[0].columns == names):
        raise FitError(
            f"engine='gee' has no random effects, and the formula has {got} beside cluster={cluster!r}. Drop one."
        )
    return names, coded_levels(model.design.frame, names)[0]
