"""How well a sampled fit predicts what it has not seen: :func:`loo`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln, log_expit, log_ndtr, logsumexp

from judgestats.errors import DesignError, FitError, choose
from judgestats.models.bayes.draws import MOST_PARETO, Draws, pointwise
from judgestats.models.fitted import Fitted
from judgestats.models.likelihood.compression import columns, distinct
from judgestats.models.postestimation.sampled import drawn
from judgestats.results import PARETO

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Columns of :func:`loo`.
COLUMNS = ("unit", "elpd_loo", "std_error", "p_loo", "n", "pareto_k", "n_bad", "method", "flag")
#: The unit of a call.
CALL = "call"
#: Draws, nodes and columns of a factor's effects in quadrature; log likelihoods in memory at a time.
MOST_DRAWS, NODES, MOST_COLUMNS, _BLOCK = 1000, 11, 2, 4_000_000


@dataclass(frozen=True)
class Calls:
    """Distinct calls: rows of a design with their answers, how often each was seen.

    Attributes
    ----------
    rows : (N,) int array
        Row of the design.
    y : (N,) float array
        Answer; of a binomial model 0 or 1.
    count : (N,) float array
    """

    rows: Ints
    y: Floats
    count: Floats


def loo(fit: Fitted, unit: str = CALL) -> pd.DataFrame:
    """Expected log predictive density of calls, or of levels of a factor, that were left out (PSIS-LOO).

    Parameters
    ----------
    fit : Fit
        By ``engine="pymc"``.
    unit : str
        ``call``: each call by itself, a trial of ``cbind`` too; equal calls are computed once and counted. Or a
        grouping factor, such as ``item``: each level with all its calls.

    Returns
    -------
    pandas.DataFrame
        One row: ``unit``, ``elpd_loo`` (summed over units), ``std_error`` (over units), ``p_loo`` (effective
        parameters), ``n`` (units), ``pareto_k`` (the worst), ``n_bad`` (units above 0.7), ``method``, ``flag``.

    Raises
    ------
    DesignError
        If the unit is neither ``call`` nor a factor of the model.
    FitError
        If the fit has no draws.

    Notes
    -----
    The two units answer different questions, and their numbers are not comparable: another call on items that were
    seen, or items that were not. Fits are compared on the same unit and the same calls. When a level is left out, its
    random effects are integrated over their distribution, by quadrature where they have one or two columns and the
    fit is not in need of more; otherwise importance sampling has to carry them, and ``pareto_k`` says whether it does.

    Source: Vehtari, Gelman and Gabry 2017; Vehtari et al. 2024 (Pareto smoothing); Merkle, Furr and Rabe-Hesketh 2019
    (which likelihood for which unit).
    """
    draws = drawn(fit)
    if draws is None:
        raise FitError(f"engine={fit.engine!r} has no posterior draws. Use glance() for its AIC, or engine='pymc'.")
    if fit.options.get("weights") is not None:
        raise DesignError("loo: calls with prior weights are no units to be left out. Fit without weights=.")
    factors = tuple(dict.fromkeys(t.factor for t in fit.design.terms))
    choose(unit, (CALL, *factors), "unit")
    calls = _calls(fit)
    each, k, count, full, method = _by_call(fit, draws, calls) if unit == CALL else _by_level(fit, draws, calls, unit)
    return pd.DataFrame([_row(unit, each, k, count, full, method)], columns=list(COLUMNS))


def _row(unit: str, each: Floats, k: Floats, count: Floats, full: Floats, method: str) -> dict[str, object]:
    n, elpd = float(count.sum()), float(count @ each)
    spread = float(count @ (each - elpd / n) ** 2 / n)
    bad = float(count[k > MOST_PARETO].sum())
    return {
        "unit": unit, "elpd_loo": elpd, "std_error": float(np.sqrt(n * spread)), "p_loo": float(count @ full) - elpd,
        "n": n, "pareto_k": float(np.nanmax(k)) if np.isfinite(k).any() else np.nan, "n_bad": bad, "method": method,
        "flag": PARETO.of(bad, limit=MOST_PARETO, total=f"{n:,.0f}"),
    }  # fmt: skip


def _calls(fit: Fitted) -> Calls:
    """The calls of a fit: those that the model cannot tell apart are one."""
    d = fit.design
    rows = np.arange(len(d.y), dtype=np.int64)
    y, count = d.y, d.count
    if fit.family == "binomial":
        rows, y = np.tile(rows, 2), np.repeat([1.0, 0.0], len(rows))
        count = np.concatenate([d.count * d.y, d.count * (d.trials - d.y)])
        rows, y, count = rows[count > 0], y[count > 0], count[count > 0]
    own = columns(d)
    key = np.column_stack([d.X, d.offset, own.z, own.cols, fit.part])[rows]
    first, inverse = distinct(np.column_stack([key, y]))
    return Calls(rows[first], y[first], np.asarray(np.bincount(inverse, count), np.float64))


def loglik(fit: Fitted, values: Floats, eta: Floats, calls: Calls) -> Floats:
    """Log likelihood of single calls.

    Parameters
    ----------
    fit : Fitted
    values : (S, P) float array
        Draws of the parameters.
    eta : (S, N) float array
        Linear predictors.
    calls : Calls

    Returns
    -------
    (S, N) float array
    """
    y = calls.y
    if fit.family == "gaussian":
        sd = values[:, -1:]
        return np.asarray(-0.5 * ((y - eta) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi), np.float64)
    if fit.family == "poisson":
        return np.asarray(y * eta - np.exp(eta) - gammaln(y + 1), np.float64)
    below = log_expit if fit.link == "logit" else log_ndtr
    if fit.family == "binomial":
        return np.asarray(below(np.where(y > 0, 1.0, -1.0) * eta), np.float64)
    cuts = np.einsum("ijt,st->sij", fit.thresholds.map, values[:, fit.n_fixed : fit.n_location])
    edge = np.full((*cuts.shape[:2], 1), np.inf)
    cuts = np.concatenate([-edge, cuts, edge], axis=2)
    part, place = fit.part[calls.rows], y.astype(np.int64)
    hi, lo = cuts[:, part, place + 1] - eta, cuts[:, part, place] - eta
    upper = hi + lo > 0
    a, b = np.where(upper, -lo, hi), np.where(upper, -hi, lo)
    with np.errstate(divide="ignore"):
        return np.asarray(below(a) + np.log1p(-np.exp(below(b) - below(a))), np.float64)


def _eta(fit: Fitted, draws: Draws, rows: Ints, without: str = "") -> Floats:
    """(S, N) linear predictors, the effects of one factor left out."""
    d = fit.design
    result = draws.flat("parameters")[:, : fit.n_fixed] @ d.X[rows].T + d.offset[rows]
    for t, term in enumerate(d.terms):
        if term.factor != without:
            own = draws.flat(f"effects {t}")
            for c in range(len(term.names)):
                result += own[:, term.codes[rows], c] * term.values[rows, c]
    return np.asarray(result, np.float64)


def _blocks(size: int, each: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(each, 1))
    for first in range(0, size, step):
        yield slice(first, first + step)


def _mean_density(own: Floats) -> Floats:
    """(N,) logarithm of the mean density over (S, N) draws."""
    return np.asarray(logsumexp(own, axis=0) - np.log(len(own)), np.float64)


def _by_call(fit: Fitted, draws: Draws, calls: Calls) -> tuple[Floats, Floats, Floats, Floats, str]:
    values, shape = draws.flat("parameters"), draws.values["parameters"].shape[:2]
    found = []
    for part in _blocks(len(calls.y), len(values)):
        own = Calls(calls.rows[part], calls.y[part], calls.count[part])
        each = loglik(fit, values, _eta(fit, draws, own.rows), own)
        found.append((*pointwise(each.reshape(*shape, -1)), _mean_density(each)))
    elpd, k, full = (np.concatenate(own) for own in zip(*found, strict=True))
    return elpd, k, calls.count, full, "PSIS-LOO by call"


def _by_level(fit: Fitted, draws: Draws, calls: Calls, unit: str) -> tuple[Floats, Floats, Floats, Floats, str]:
    own = [t for t, term in enumerate(fit.design.terms) if term.factor == unit]
    codes = fit.design.terms[own[0]].codes[calls.rows]
    wide = sum(len(fit.design.terms[t].names) for t in own)
    thin = _thinned(draws, MOST_DRAWS)
    values, shape = thin.flat("parameters"), thin.values["parameters"].shape[:2]
    levels = [np.flatnonzero(codes == level) for level in range(len(fit.design.terms[own[0]].levels))]
    each = np.empty((len(values), len(levels)))
    for level, places in enumerate(levels):
        part = Calls(calls.rows[places], calls.y[places], calls.count[places])
        if wide <= MOST_COLUMNS:
            each[:, level] = _integrated(fit, thin, own, level, part, unit)
        else:
            each[:, level] = loglik(fit, values, _eta(fit, thin, part.rows), part) @ part.count
    elpd, k = pointwise(each.reshape(*shape, -1))
    how = "its effects integrated" if wide <= MOST_COLUMNS else "its effects not integrated"
    return elpd, k, np.ones(len(levels)), _mean_density(each), f"PSIS-LOO by {unit}, {how}"


def _thinned(draws: Draws, most: int) -> Draws:
    """Every so many draws, at most `most` in all."""
    chains, size = draws.values["parameters"].shape[:2]
    step = max(1, -(-chains * size // most))
    return Draws({k: v[:, ::step] for k, v in draws.values.items()}, draws.labels, draws.divergences, draws.method)


def _integrated(fit: Fitted, draws: Draws, own: list[int], level: int, calls: Calls, unit: str) -> Floats:
    """(S,) log likelihood of a level's calls, its random effects b = Lu integrated over their distribution.

    Adaptive Gauss-Hermite quadrature in u, the nodes of each draw where two steps of Newton's method put them.
    """
    values = draws.flat("parameters")
    b = np.concatenate([draws.flat(f"effects {t}")[:, level] for t in own], axis=1)
    z = np.concatenate([fit.design.terms[t].values[calls.rows] for t in own], axis=1)
    base, L = _eta(fit, draws, calls.rows, without=unit), _blocked([_factors(fit, values, t) for t in own])

    def level_loglik(b: Floats) -> Floats:
        return np.asarray(loglik(fit, values, base + b @ z.T, calls) @ calls.count, np.float64)

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


def _factors(fit: Fitted, values: Floats, t: int) -> Floats:
    """(S, k, k) Cholesky factors of term t."""
    sizes = [len(term.names) for term in fit.design.terms]
    first, k = fit.n_location + sum(s * (s + 1) // 2 for s in sizes[:t]), sizes[t]
    L, down = np.zeros((len(values), k, k)), np.triu_indices(k)
    L[:, down[1], down[0]] = values[:, first : first + k * (k + 1) // 2]
    return L
