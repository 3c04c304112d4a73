"""The Bayesian engine: the likelihood engine's rows of counts with priors, sampled by NUTS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType

import numpy as np

from judgestats import flags
from judgestats.models.bayes.draws import Draws
from judgestats.models.bayes.priors import Priors, from_priors, single, sizes
from judgestats.models.bayes.priors import priors as priors_of
from judgestats.models.bayes.sampling import Sampling, pymc, sample, sampling_options
from judgestats.models.designs import Design
from judgestats.models.families import FAMILIES, Tensor
from judgestats.models.fitted_models import Fitted, Options
from judgestats.models.likelihood.compression import Columns, compress
from judgestats.models.likelihood.objectives import Scales
from judgestats.models.postestimation.posterior_summaries import SampledPosterior, priors_in
from judgestats.models.specifications import Model
from judgestats.models.thresholds import Thresholds
from judgestats.typing import Floats, Ints

#: Rows times draws in one block of computation.
_BLOCK = 2_000_000


def fit_pymc(model: Model, *, priors: Mapping[str, object] | None = None, sampling: Sampling | None = None) -> Fitted:
    """Sample the posterior of a model; ``params`` and ``covariance`` are its means and covariances."""
    laws = priors_of(model.design, model.family, model.link, model.thresholds, priors)
    target = build(model.design, model.family, model.link, model.thresholds, laws, model.parts)
    raw = sample(target, _labels(model), **sampling_options(sampling))
    draws = _read(model, laws, raw)
    values = draws.flat("parameters")
    # effects are many, and some would be flagged by chance
    notes = replace(draws, values={"parameters": draws.values["parameters"]}).notes()
    return Fitted(
        model,
        "pymc",
        draws.method,
        values.mean(axis=0),
        np.atleast_2d(np.cov(values, rowvar=False)),
        converged=flags.NOT_MIXED not in notes,
        notes=notes,
        options=Options(posterior=SampledPosterior(draws, laws)),
        effects=partial(_effects, model, draws),
    )


def prior_draws(fit: Fitted, n: int, rng: np.random.Generator) -> Draws:
    """Draw parameters and random effects of a fit by this engine from their priors, as one chain of n draws."""
    model, laws = fit.model, priors_in(fit)
    variables = from_priors(fit.design, fit.family, fit.thresholds, laws, n, rng)
    return _read(model, laws, Draws(variables, {}, 0, f"{n} draws"))


def build(
    design: Design, family: str, link: str, thresholds: Thresholds, priors: Priors, part: Ints | None = None
) -> Tensor:
    """The PyMC model.

    For all families the likelihood is a potential over the distinct rows of the likelihood engine with their sums:
    successes of trials; sums of Poisson counts; means and sums of squares within; counts of each category. (Bambi needs
    a row for each call, and its weights do not support sums of squares, varying or symmetric thresholds.)

    Variables are ``beta`` (for centred predictors; ``gamma`` in units of their sds), ``cuts`` or ``midpoints`` and
    ``steps``, ``sigma``; for each random term ``u<t>`` (levels, k), with unit scale, and ``L<t>`` (k, k). A nominal
    model of K + 1 classes has K linear predictors: ``beta`` and k are those of the first, then of the second.
    """
    pm = pymc()
    import pytensor.tensor as pt

    rows = compress(design, np.zeros(len(design.y), np.int64) if part is None else part, groups=False)
    record, n = FAMILIES[family], len(rows.y)
    K = (len(record.predictors(design.categories)),) if record.per_class else ()
    with pm.Model() as model:
        eta: Tensor = pt.as_tensor_variable(np.zeros((n, *K)) if K else rows.offset)
        if design.names:
            spread = np.tile(priors.spread, K or 1)
            location, scale = priors.location * spread, priors.scale * spread
            beta = pm.Deterministic("beta", pm.Normal("gamma", location, scale, shape=len(scale)) / spread)
            eta = eta + (rows.X - priors.centre) @ beta.reshape((*K, len(design.names))).T
        for t, term in enumerate(design.terms):
            L = _factor(pm, pt, t, len(term.names), priors)
            u = pm.Normal(f"u{t}", 0.0, 1.0, shape=(len(term.levels), len(term.names)))
            codes, z = _of_term(rows.columns, t)
            own = (u @ L.T)[codes].reshape((n, *K, z.shape[1]))
            eta = eta + (z.reshape(n, *(1 for _ in K), -1) * own).sum(axis=-1)
        shape, constant = None, 0.0
        if record.linear:
            shape = pm.HalfStudentT("sigma", 4.0, priors.residual, initval=priors.unit)
            constant = float(design.count.sum()) * pt.log(shape)
        elif thresholds.names:
            shape = _cuts(pm, pt, thresholds, priors)
        pm.Potential("loglik", record.potential(pt, rows, eta, link, shape).sum() - constant)
    return model


def _factor(pm: ModuleType, pt: ModuleType, t: int, k: int, priors: Priors) -> Tensor:
    """Cholesky factor of the covariance of term t, by partial correlations (Lewandowski, Kurowicka and Joe 2009)."""
    sd = pm.HalfNormal(f"sd{t}", priors.sds[t], shape=k, initval=priors.starts[t])
    shape = priors.shapes[t] + (k - 2 - np.concatenate([[j] * (k - 1 - j) for j in range(k)])) / 2
    partial: Tensor = 2 * pm.Beta(f"partial{t}", shape, shape, shape=len(shape)) - 1 if k > 1 else ()
    columns, rest, first = [], [1.0] * k, 0
    for j in range(k):
        column = [0.0] * j + [pt.sqrt(rest[j])]
        for i in range(j + 1, k):
            column.append(partial[first] * pt.sqrt(rest[i]))
            rest[i] = rest[i] - column[-1] ** 2
            first += 1
        columns.append(pt.stack(column))
    return pm.Deterministic(f"L{t}", sd[:, None] * pt.stack(columns, axis=1))


def _of_term(columns: Columns, t: int) -> tuple[Ints, Floats]:
    """Level of each row in term t, and the term's values."""
    first, k = sum(columns.sizes[:t]), columns.sizes[t]
    place = columns.cols[:, first] - columns.blocks[columns.factor[t]] - columns.offset[t]
    return np.asarray(place // columns.width[t], np.int64), columns.z[:, first : first + k]


def _cuts(pm: ModuleType, pt: ModuleType, thresholds: Thresholds, priors: Priors) -> Tensor:
    """(S, J - 1) thresholds with all predictors at their means."""
    free, sets, steps = sizes(thresholds)
    if single(thresholds):
        ordered = pm.distributions.transforms.ordered
        start = np.tile(np.linspace(-1.0, 1.0, steps + 2)[1:-1], (sets, 1))
        shape = {"shape": (sets, steps), "initval": start, **({"transform": ordered} if steps > 1 else {})}
        tau = pm.Normal("cuts", 0.0, priors.cuts, **shape).T.flatten()
    else:
        middle = pm.Normal("midpoints", 0.0, priors.cuts, shape=free)
        step = pm.HalfNormal("steps", priors.widths, shape=(sets, steps), initval=np.full((sets, steps), 0.5))
        tau = pt.concatenate([middle, pt.cumsum(step, axis=1).T.flatten()])
    return pt.tensordot(pt.as_tensor_variable(thresholds.map), tau, axes=1)


def _labels(model: Model) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Variables whose draws are kept."""
    d = model.design
    names = ["beta"] if d.names else []
    if model.thresholds.names:
        names += ["cuts"] if single(model.thresholds) else ["midpoints", "steps"]
    names += [f"{what}{t}" for t in range(len(d.terms)) for what in ("u", "L")]
    return dict.fromkeys([*names, *(["sigma"] if model.distribution.linear else [])], ())


def _read(model: Model, priors: Priors, raw: Draws) -> Draws:
    """The draws in the parameters of all engines, with predictors not centred."""
    d, values = model.design, raw.values
    size = next(iter(values.values())).shape[:2]
    beta = (values["beta"].copy() if d.names else np.zeros((*size, 0))).reshape(*size, model.predictors, len(d.names))
    shift = beta @ priors.centre
    for k in (k for k, name in enumerate(d.names) if name == "Intercept"):
        beta[..., k] -= shift
    parts = [beta.reshape(*size, -1) if d.names else np.zeros((*size, 0))]
    if model.thresholds.names:
        parts += _thresholds(model.thresholds, values, shift[..., 0])
    effects: dict[str, Floats] = {}
    labels: dict[str, tuple[tuple[str, ...], ...]] = {"parameters": (model.parameter_names,)}
    for t, term in enumerate(d.terms):
        L = values[f"L{t}"]
        k = len(term.names)
        parts.append(np.stack([L[..., a, b] for b in range(k) for a in range(b, k)], axis=-1))
        effects[f"effects {t}"] = np.einsum("csla,csba->cslb", values[f"u{t}"], L)
        labels[f"effects {t}"] = (term.levels, term.names)
    if model.distribution.linear:
        parts.append(values["sigma"][..., None])
    return replace(raw, values={"parameters": np.concatenate(parts, axis=-1), **effects}, labels=labels)


def _thresholds(thresholds: Thresholds, values: dict[str, Floats], shift: Floats) -> list[Floats]:
    """Draws of the threshold parameters, in their order."""
    if single(thresholds):
        return [values["cuts"].swapaxes(-1, -2).reshape(*shift.shape, -1) + shift[..., None]]
    wide = np.cumsum(values["steps"], axis=-1).swapaxes(-1, -2).reshape(*shift.shape, -1)
    return [values["midpoints"] + shift[..., None], wide]


def _effects(model: Model, draws: Draws) -> Sampled | None:
    terms = model.design.terms
    if not terms:
        return None
    values, p = draws.flat("parameters"), model.design.X.shape[1] * model.predictors
    scales, first = Scales.of(model.sizes), p + len(model.thresholds.names)
    factors = scales.factors(values[:, first : first + len(scales.term)])
    covariances = tuple(np.einsum("sab,scb->ac", L, L) / len(values) for L in factors)
    return Sampled(values[:, :p], tuple(draws.flat(f"effects {t}") for t in range(len(terms))), covariances)


@dataclass(frozen=True)
class Sampled:
    """Random effects by S draws."""

    beta: Floats  # (S, p)
    effects: tuple[Floats, ...]  # (S, levels, k)
    covariances: tuple[Floats, ...]  # (k, k): posterior mean of each term's, for new levels

    @property
    def modes(self) -> tuple[Floats, ...]:
        """For each term (levels, k): posterior means."""
        return tuple(effect.mean(axis=0) for effect in self.effects)

    @property
    def spreads(self) -> tuple[Floats, ...]:
        """For each term (levels, k, k): posterior covariance, including uncertainty of the parameters."""
        result = []
        for effect in self.effects:
            off = effect - effect.mean(axis=0)
            result.append(np.einsum("sla,slb->lab", off, off) / (len(effect) - 1))
        return tuple(result)

    def variance(self, X: Floats, zs: list[Floats], codes: list[Ints]) -> Floats:
        """Variance (M,) of x'β + z'b over the draws; a code of -1 is a new level."""
        result = np.zeros(len(X))
        step = max(1, _BLOCK // len(self.beta))
        for first in range(0, len(X), step):
            part = slice(first, first + step)
            eta = self.beta @ X[part].T
            for effect, z, code, C in zip(self.effects, zs, codes, self.covariances, strict=True):
                old = code[part] >= 0
                eta[:, old] += np.einsum("sma,ma->sm", effect[:, code[part][old]], z[part][old])
                result[part] += np.where(old, 0.0, np.einsum("ma,ab,mb->m", z[part], C, z[part]))
            result[part] += eta.var(axis=0, ddof=1)
        return result
