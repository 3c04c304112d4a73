"""Leave-one-out cross-validation of a sampled fit: :func:`loo`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from judgestats import flags
from judgestats.errors import DesignError, FitError, choose
from judgestats.models.bayes.draws import MOST_PARETO, Draws, inference_data, pointwise
from judgestats.models.fitted_models import Fitted
from judgestats.models.likelihood.compression import columns, distinct
from judgestats.models.links import LINKS
from judgestats.models.postestimation.mean_responses import loads
from judgestats.models.postestimation.posterior_summaries import draws_of, terms, values
from judgestats.typing import Floats, Ints

#: Columns of :func:`loo`.
COLUMNS = ("unit", "elpd_loo", "std_error", "p_loo", "n", "pareto_k", "n_bad", "method", "flag")
#: The unit of a call.
CALL = "call"
#: Draws, nodes and columns of a factor's effects in quadrature; log likelihoods in memory at a time.
MOST_DRAWS, NODES, MOST_COLUMNS, _BLOCK = 1000, 11, 2, 4_000_000
#: Log likelihoods of single calls that are given to ArviZ at most: 0.8 GB.
MOST_LOGLIK = 100_000_000


@dataclass(frozen=True)
class DesignCalls:
    """Distinct calls: rows of a design with their answers and counts."""

    rows: Ints  # (N,): row of the design
    y: Floats  # (N,): answer; of a binomial model 0 or 1
    count: Floats  # (N,)


def loo(fit: Fitted, unit: str = CALL) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.loo`."""
    draws, calls = _asked(fit, unit)
    each, k, count, full, method = _by_call(fit, draws, calls) if unit == CALL else _by_level(fit, draws, calls, unit)
    return pd.DataFrame([_row(unit, each, k, count, full, method)], columns=list(COLUMNS))


def _asked(fit: Fitted, unit: str) -> tuple[Draws, DesignCalls]:
    """The draws and the calls of a fit; an error if it has no draws, or no such unit."""
    draws = draws_of(fit)
    if draws is None:
        raise FitError(f"engine={fit.engine!r} has no posterior draws. Use glance() for its AIC, or engine='pymc'.")
    if fit.options.weights is not None:
        raise DesignError("Calls with prior weights cannot be left out one at a time. Fit without weights=.")
    choose(unit, (CALL, *dict.fromkeys(t.factor for t in fit.design.terms)), "unit")
    return draws, _calls(fit)


def to_arviz(fit: Fitted, unit: str = CALL) -> Any:
    """See :meth:`judgestats.models.Fit.to_arviz`."""
    draws, calls = _asked(fit, unit)
    names = [term for _, term in terms(fit)]
    own = values(fit, draws)
    variables = {name: own[..., k] for k, name in enumerate(names)}
    labels: dict[str, dict[str, Sequence[str]]] = {}
    for t, term in enumerate(fit.design.terms):
        name = f"effects({' + '.join(term.names)}|{term.factor})"
        variables[name] = draws.values[f"effects {t}"]
        labels[name] = {f"{term.factor} level": term.levels, f"effect {t + 1}": term.names}
    shape = own.shape[:2]
    if unit == CALL:
        size, whole = len(own[..., 0].ravel()) * calls.count.sum(), (calls.count % 1 == 0).all()
        if size > MOST_LOGLIK or not whole:
            why = "Counts are not whole numbers" if not whole else f"{size:,.0f} log likelihoods are too many"
            raise DesignError(
                f"{why}: unit='call' has one for each call and draw. Name a grouping factor, or use loo()."
            )
        each = loglik(fit, draws.flat("parameters"), _eta(fit, draws, calls.rows), calls)
        times = calls.count.astype(np.int64)
        each, observed = np.repeat(each, times, axis=1), {CALL: np.repeat(calls.y, times)}
        labels[CALL] = {"calls": [str(k) for k in range(each.shape[1])]}
    else:
        each, _ = _of_levels(fit, draws, calls, unit)
        observed = {}
        labels[unit] = {f"{unit} level": next(t.levels for t in fit.design.terms if t.factor == unit)}
    return inference_data(draws, variables, labels, {unit: each.reshape(*shape, -1)}, observed)


def _row(unit: str, each: Floats, k: Floats, count: Floats, full: Floats, method: str) -> dict[str, object]:
    n, elpd = float(count.sum()), float(count @ each)
    spread = float(count @ (each - elpd / n) ** 2 / n)
    bad = float(count[k > MOST_PARETO].sum())
    return {
        "unit": unit,
        "elpd_loo": elpd,
        "std_error": float(np.sqrt(n * spread)),
        "p_loo": float(count @ full) - elpd,
        "n": n,
        "pareto_k": float(np.nanmax(k)) if np.isfinite(k).any() else np.nan,
        "n_bad": bad,
        "method": method,
        "flag": flags.PARETO.of(bad, limit=MOST_PARETO, total=f"{n:,.0f}"),
    }


def _calls(fit: Fitted) -> DesignCalls:
    """The distinct calls of a fit."""
    d = fit.design
    rows = np.arange(len(d.y), dtype=np.int64)
    y, count = d.y, d.count
    if fit.distribution.has_trials:
        rows, y = np.tile(rows, 2), np.repeat([1.0, 0.0], len(rows))
        count = np.concatenate([d.count * d.y, d.count * (d.trials - d.y)])
        rows, y, count = rows[count > 0], y[count > 0], count[count > 0]
    own = columns(d)
    key = np.column_stack([d.X, d.offset, own.z, own.cols, fit.part])[rows]
    first, inverse = distinct(np.column_stack([key, y]))
    return DesignCalls(rows[first], y[first], np.asarray(np.bincount(inverse, count), np.float64))


def loglik(fit: Fitted, values: Floats, eta: Floats, calls: DesignCalls) -> Floats:
    """Log likelihood (S, N) of single calls at draws (S, P) of the parameters and linear predictors (S, N)."""
    shape = fit.shape(values, calls.rows)
    return fit.distribution.loglik(LINKS[fit.link], calls.y, eta, shape)


def _eta(fit: Fitted, draws: Draws, rows: Ints, without: str = "") -> Floats:
    """(S, N) linear predictors, (S, N, J - 1) of a nominal model, the effects of one factor left out."""
    d, K = fit.design, fit.model.predictors
    beta = draws.flat("parameters")[:, : fit.n_fixed]
    result = np.stack([own @ d.X[rows].T + d.offset[rows] for own in np.split(beta, K, axis=1)], axis=-1)
    for t, term in enumerate(d.terms):
        if term.factor != without:
            own = draws.flat(f"effects {t}")
            width = term.values.shape[1]
            for c in range(len(term.names)):
                result[..., c // width] += own[:, term.codes[rows], c] * term.values[rows, c % width]
    return np.asarray(result if fit.distribution.per_class else result[..., 0], np.float64)


def _mean_density(own: Floats) -> Floats:
    """(N,) logarithm of the mean density over (S, N) draws."""
    return np.asarray(logsumexp(own, axis=0) - np.log(len(own)), np.float64)


def _by_call(fit: Fitted, draws: Draws, calls: DesignCalls) -> tuple[Floats, Floats, Floats, Floats, str]:
    values, shape = draws.flat("parameters"), draws.values["parameters"].shape[:2]
    blocks, step = [], max(1, _BLOCK // max(len(values), 1))
    for part in (slice(first, first + step) for first in range(0, len(calls.y), step)):
        own = DesignCalls(calls.rows[part], calls.y[part], calls.count[part])
        each = loglik(fit, values, _eta(fit, draws, own.rows), own)
        blocks.append((*pointwise(each.reshape(*shape, -1)), _mean_density(each)))
    elpd, k, full = (np.concatenate(own) for own in zip(*blocks, strict=True))
    return elpd, k, calls.count, full, "PSIS-LOO by call"


def _by_level(fit: Fitted, draws: Draws, calls: DesignCalls, unit: str) -> tuple[Floats, Floats, Floats, Floats, str]:
    chains, size = draws.values["parameters"].shape[:2]
    step = max(1, -(-chains * size // MOST_DRAWS))
    thin = replace(draws, values={k: v[:, ::step] for k, v in draws.values.items()})
    each, how = _of_levels(fit, thin, calls, unit)
    elpd, k = pointwise(each.reshape(*thin.values["parameters"].shape[:2], -1))
    return elpd, k, np.ones(each.shape[1]), _mean_density(each), f"PSIS-LOO by {unit}, {how}"


def _of_levels(fit: Fitted, draws: Draws, calls: DesignCalls, unit: str) -> tuple[Floats, str]:
    """(S, levels) log likelihood of all calls of each level, and whether its effects are integrated."""
    own = [t for t, term in enumerate(fit.design.terms) if term.factor == unit]
    codes = fit.design.terms[own[0]].codes[calls.rows]
    wide = sum(len(fit.design.terms[t].names) for t in own)
    values = draws.flat("parameters")
    levels = [np.flatnonzero(codes == level) for level in range(len(fit.design.terms[own[0]].levels))]
    each = np.empty((len(values), len(levels)))
    for level, places in enumerate(levels):
        part = DesignCalls(calls.rows[places], calls.y[places], calls.count[places])
        if wide <= MOST_COLUMNS:
            each[:, level] = _integrated(fit, draws, own, level, part, unit)
        else:
            each[:, level] = loglik(fit, values, _eta(fit, draws, part.rows), part) @ part.count
    return each, "its effects integrated" if wide <= MOST_COLUMNS else "its effects not integrated"


def _integrated(fit: Fitted, draws: Draws, own: list[int], level: int, calls: DesignCalls, unit: str) -> Floats:
    """(S,) log likelihood of a level's calls, its random effects integrated by adaptive Gauss-Hermite quadrature."""
    values = draws.flat("parameters")
    b = np.concatenate([draws.flat(f"effects {t}")[:, level] for t in own], axis=1)
    z = np.concatenate([loads(fit.design.terms[t].values[calls.rows], fit.model.predictors) for t in own], axis=2)
    z = z.reshape(-1, z.shape[2])
    whole = fit.factors(values)
    base, L = _eta(fit, draws, calls.rows, without=unit), _blocked([whole[t] for t in own])

    def level_loglik(b: Floats) -> Floats:
        return np.asarray(loglik(fit, values, base + (b @ z.T).reshape(base.shape), calls) @ calls.count, np.float64)

    k, step = b.shape[1], 0.01 * b.std(axis=0) + 1e-8
    for _ in range(2):
        gradient, curvature = _derivatives(level_loglik, b, step)
        precision = np.eye(k) + np.einsum("sba,sbc,scd->sad", L, curvature, L)
        pull = np.einsum("sba,sb->sa", L, np.einsum("sab,sb->sa", curvature, b) + gradient)
        u = np.linalg.solve(precision, pull[..., None])[..., 0]
        b = np.einsum("sab,sb->sa", L, u)
    width = np.linalg.cholesky(np.linalg.inv(precision))
    nodes, weights = np.polynomial.hermite.hermgauss(NODES)
    grid = np.stack(np.meshgrid(*[nodes] * k, indexing="ij"), axis=-1).reshape(-1, k)
    size = np.prod(np.meshgrid(*[weights * np.exp(nodes**2)] * k, indexing="ij"), axis=0).reshape(-1)
    parts = []
    for x, w in zip(grid, size, strict=True):
        at = u + np.sqrt(2.0) * width @ x
        parts.append(level_loglik(np.einsum("sab,sb->sa", L, at)) - 0.5 * (at**2).sum(axis=1) + np.log(w))
    jacobian = np.log(np.einsum("saa->sa", width)).sum(axis=1) - k / 2 * np.log(np.pi)
    return np.asarray(logsumexp(np.array(parts), axis=0) + jacobian, np.float64)


def _derivatives(function: Callable[[Floats], Floats], b: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Gradient (S, k), and minus the Hessian (S, k, k) without negative curvature, by central differences."""
    k = b.shape[1]
    unit, middle = np.diag(step), function(b)
    ends = [(function(b + e), function(b - e)) for e in unit]
    gradient = np.stack([(up - down) / (2 * h) for (up, down), h in zip(ends, step, strict=True)], axis=1)
    curvature = np.zeros((len(b), k, k))
    for i in range(k):
        curvature[:, i, i] = np.maximum(-(ends[i][0] - 2 * middle + ends[i][1]) / step[i] ** 2, 0.0)
        for j in range(i):
            corner = function(b + unit[i] + unit[j]) - ends[i][0] - ends[j][0] + middle
            most = 0.99 * np.sqrt(curvature[:, i, i] * curvature[:, j, j])
            curvature[:, i, j] = curvature[:, j, i] = np.clip(-corner / (step[i] * step[j]), -most, most)
    return gradient, curvature


def _blocked(factors: list[Floats]) -> Floats:
    """(S, K, K) factors of all terms of one grouping factor."""
    K = sum(L.shape[1] for L in factors)
    result, first = np.zeros((len(factors[0]), K, K)), 0
    for L in factors:
        own = slice(first, first + L.shape[1])
        result[:, own, own] = L
        first += L.shape[1]
    return result
