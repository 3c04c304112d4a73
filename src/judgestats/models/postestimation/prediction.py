"""Predictions of a fit, given its random effects or averaged over them, and its residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import expit, logit

from judgestats import flags
from judgestats.errors import SchemaError, choose
from judgestats.kernels.elimination import solve_many
from judgestats.kernels.likelihoods import losses
from judgestats.models.coding.frames import labels
from judgestats.models.designs import Design
from judgestats.models.families import LINKS
from judgestats.models.fitted import Fitted
from judgestats.models.formula import coder
from judgestats.models.grammar.coders import evaluate
from judgestats.models.grammar.syntax import Formula
from judgestats.models.likelihood.compression import Posterior, columns, distinct
from judgestats.models.postestimation.delta import cautions, normal_quantile, spread, trusted
from judgestats.typing import Floats, Ints, Mask

# ---- A fit at rows: linear predictors, mean responses, and their derivatives by all parameters -----------------------


@dataclass(frozen=True)
class Rows:
    """M rows, coded."""

    X: Floats  # (M, p)
    offset: Floats  # (M,)
    zs: tuple[Floats, ...]  # (M, k): for each random term
    codes: tuple[Ints, ...]  # (M,): level of each row, -1 for a new one
    part: Ints  # (M,): set of thresholds

    def eta(self, fit: Fitted) -> Floats:
        """(M,) linear predictor, random effects at 0."""
        result: Floats = self.X @ fit.beta + self.offset
        return result

    def variance(self, fit: Fitted) -> Floats:
        """(M,) variance of z'b."""
        loads = zip(self.zs, fit.factors(), strict=True)
        return sum((((z @ L) ** 2).sum(axis=1) for z, L in loads), np.zeros(len(self.X)))


@dataclass(frozen=True)
class Mean:
    """Mean responses of M rows: one, or the probability of each of J categories."""

    # value, by_eta, by_variance (M, J): the mean, and its derivatives by η and by the variance of the random effects
    value: Floats
    by_eta: Floats
    by_variance: Floats
    by_cut: Floats  # (M, J, T): by the threshold parameters


def table_of(data: Any) -> pd.DataFrame:
    """The rows of a table in any engine as a pandas frame, numbered from 0."""
    try:
        frame = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    except TypeError as error:
        raise SchemaError(
            f"data is no table, got {type(data).__name__}. Give a frame: pandas, Polars, Arrow, DuckDB, Spark."
        ) from error
    result: pd.DataFrame = frame.reset_index(drop=True)
    return result


def rows_of(fit: Fitted, frame: pd.DataFrame | None = None, *, groups: bool = True) -> Rows:
    """Code new rows for a fit, or those of its design; without `groups` the grouping factors may be absent."""
    d = fit.design
    if frame is None:
        part = fit.parts
        return Rows(d.X, d.offset, tuple(t.values for t in d.terms), tuple(t.codes for t in d.terms), part)
    if groups:
        X, offset, zs, codes = d.new(frame)
    else:
        X, offset = d.fixed.matrix(frame), d.fixed.offset(frame)
        zs, codes = [left.matrix(frame) for left in d.lefts], [np.full(len(frame), -1) for _ in d.terms]
    return Rows(X, offset, tuple(zs), tuple(codes), parts(fit, frame))


def parted(fit: Fitted) -> tuple[str, ...]:
    """Columns over which thresholds vary."""
    partition = fit.options.get("partition")
    return tuple(dict.fromkeys(partition.columns.values())) if partition is not None else ()


def parts(fit: Fitted, frame: pd.DataFrame) -> Ints:
    """Set of thresholds of new rows."""
    partition = fit.options.get("partition")
    result: Ints = np.zeros(len(frame), np.int64) if partition is None else partition.codes(frame)
    return result


def mean(fit: Fitted, rows: Rows, eta: Floats, variance: Floats) -> Mean:
    """Mean responses over normal linear predictors (M,); of `rows` only the sets of thresholds are read."""
    if not fit.design.categories:
        value, by_eta, by_variance = LINKS[fit.link].average(eta, variance)
        unmoved = np.zeros((len(eta), 1, len(fit.thresholds.names)))
        return Mean(value[:, None], by_eta[:, None], by_variance[:, None], unmoved)
    shape = fit.thresholds.map[rows.part]  # (M, J - 1, T)
    M, inner, T = shape.shape
    cuts = fit.thresholds.at(fit.tau)[rows.part]
    below = LINKS[fit.link].average((cuts - eta[:, None]).ravel(), np.repeat(variance, inner))
    value, slope, bend = (np.reshape(b, (M, inner)) for b in below)
    edge, none = np.zeros((M, 1)), np.zeros((M, 1, T))
    return Mean(
        np.diff(np.concatenate([edge, value, edge + 1], axis=1), axis=1),
        -np.diff(np.concatenate([edge, slope, edge], axis=1), axis=1),
        np.diff(np.concatenate([edge, bend, edge], axis=1), axis=1),
        np.diff(np.concatenate([none, slope[:, :, None] * shape, none], axis=1), axis=1),
    )


def gradient(fit: Fitted, rows: Rows, found: Mean, pool: Any = None) -> Floats:
    """Derivatives (M, J, P) of mean responses by all parameters, or (G, J, P) of sums by weights (G, M)."""
    spreads = variance_gradient(fit, rows)
    p, t, q = rows.X.shape[1], found.by_cut.shape[2], spreads.shape[1]
    count, J = (len(rows.X) if pool is None else pool.shape[0]), found.value.shape[1]
    result = np.zeros((count, J, len(fit.params)))
    for j in range(J):
        own = np.concatenate(
            [found.by_eta[:, j, None] * rows.X, found.by_cut[:, j], found.by_variance[:, j, None] * spreads], axis=1
        )
        result[:, j, : p + t + q] = own if pool is None else pool @ own
    return result


def variance_gradient(fit: Fitted, rows: Rows) -> Floats:
    """Derivatives (M, T) of the variance of z'b by θ."""
    result = [np.zeros((len(rows.X), 0))]
    for z, L in zip(rows.zs, fit.factors(), strict=True):
        load = z @ L
        result += [2 * z[:, a, None] * load[:, b, None] for b in range(len(L)) for a in range(b, len(L))]
    return np.concatenate(result, axis=1)


def estimable(design: Design, frame: pd.DataFrame, pool: Any = None) -> Mask:
    """Whether rows, or sums of them by weights (G, M), are estimable where columns of the design were left out."""
    count = len(frame) if pool is None else pool.shape[0]
    if not design.aliased:
        return np.ones(count, bool)
    whole = coder(design.formula.fixed, design.frame, design.formula.source, design.count)
    X, new = whole.matrix(design.frame), whole.matrix(frame)
    _, size, turn = np.linalg.svd(X, full_matrices=False)
    space = turn[size > 1e-9 * size[0]]
    new = new if pool is None else pool @ new
    rest = np.abs(new - new @ space.T @ space).max(axis=1)
    return np.asarray(rest < 1e-6 * np.maximum(np.abs(new).max(axis=1), 1.0))


# ---- Residuals of a fit, family by family ----------------------------------------------------------------------------


def residuals(
    fit: Fitted, frame: pd.DataFrame, found: Mean, variance: Floats | None, *, given: bool
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Fitted, residual, Pearson's, leverage and standardised residual (M,) of one call of each row with its response.

    `variance` (M,): of the linear predictor, for leverages. `given`: whether the rows are not those of the design.
    """
    y, trials = _response(fit, frame) if given else (fit.design.y, fit.design.trials)
    weights = np.ones(len(y)) if given else fit.design.weights
    if fit.design.categories:
        fitted, residual, sd = _ordinal(found.value, y)
    else:
        fitted, shape = found.value[:, 0], fit.shape(fit.params, np.zeros(len(y), np.int64))
        with np.errstate(all="ignore"):
            residual, sd = y / trials - fitted, np.sqrt(fit.distribution.variance(fitted, shape) / (trials * weights))
    with np.errstate(all="ignore"):
        pearson = residual / sd
        leverage = np.full(len(y), np.nan)
        if variance is not None and not fit.design.categories:
            leverage = variance * found.by_eta[:, 0] ** 2 / sd**2
        return fitted, residual, pearson, leverage, pearson / np.sqrt(1 - leverage)


def _ordinal(P: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Probability of the category observed, probability-scale residual, and its standard deviation."""
    below = np.cumsum(P, axis=1) - P
    scores = below - (1 - below - P)
    sd = np.sqrt((P * scores**2).sum(axis=1))
    known = np.isfinite(y)
    at = np.where(known, y, 0).astype(np.int64)
    picked = [np.where(known, values[np.arange(len(y)), at], np.nan) for values in (P, scores)]
    return picked[0], picked[1], sd


def _response(fit: Fitted, frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Response of new rows, and their trials; NaN where it is missing or none of the model's."""
    formula: Formula = fit.design.formula
    node, nothing = formula.left, np.full(len(frame), np.nan)
    if any(c not in frame.columns for c in formula.answers):
        return nothing, np.ones(len(frame))
    if node.kind == "call" and node.value == "cbind":
        k, rest = (np.broadcast_to(np.asarray(evaluate(p, frame), float), (len(frame),)) for p in node.parts)
        return k, k + rest
    if node.kind == "level":
        names = labels(frame[node.parts[0].value])
        return np.where(names.isna(), np.nan, names == node.value).astype(float), np.ones(len(frame))
    values = frame[node.value] if node.kind == "name" else pd.Series(np.asarray(evaluate(node, frame)))
    if not fit.design.categories and (pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)):
        return values.to_numpy(dtype=float, na_value=np.nan), np.ones(len(frame))
    places = pd.Index(fit.design.categories or fit.design.labels).get_indexer(labels(values).to_numpy(dtype=object))
    return np.where(places < 0, np.nan, places).astype(float), np.ones(len(frame))


# ---- Predictions of a fit, and its residuals -------------------------------------------------------------------------

Strings = NDArray[np.str_]

ESTIMATES = ("estimate", "std_error", "conf_low", "conf_high", "flag")
RANDOM = ("conditional", "none", "average")
RESIDUALS = ("fitted", "residual", "pearson", "leverage", "std_residual")
#: Rows whose derivatives are held at once.
BLOCK = 4096


def predict(
    fit: Fitted, data: IntoFrame | None, kind: str, random: str, interval: bool, conf_level: float
) -> pd.DataFrame:
    """Predict from a fitted model: :meth:`judgestats.models.Fit.predict`."""
    choose(kind, ("response", "link"), "kind")
    choose(random, RANDOM, "random")
    q = normal_quantile(conf_level)
    frame = _own_frame(fit) if data is None else table_of(data)
    _refuse_names(frame, (*ESTIMATES, *(("category",) if fit.design.categories and kind == "response" else ())))
    rows = rows_of(fit, None if data is None else frame, groups=random == "conditional")
    flag = _row_flags(fit, frame, rows, random)
    if kind == "link" or not fit.design.categories:
        cells = _single(fit, rows, kind, random, interval, q)[None]
    else:
        cells = _categories(fit, rows, random, interval, q)
    return _assembled(fit, frame, np.asarray(cells), flag, interval, kind)


def augment(fit: Fitted, data: IntoFrame | None = None) -> pd.DataFrame:
    """Return the data with fitted values and residuals: :meth:`judgestats.models.Fit.augment`."""
    frame = _own_frame(fit) if data is None else table_of(data)
    _refuse_names(frame, names := ("link", "fixed", *RESIDUALS, "flag"))
    rows = rows_of(fit, None if data is None else frame)
    eta = conditional(fit, rows)
    variance = _link_variance(fit, rows, "conditional") if data is None else None
    values = residuals(fit, frame, mean(fit, rows, eta, np.zeros_like(eta)), variance, given=data is not None)
    flag = _joined(_row_flags(fit, frame, rows, "conditional"), cautions(fit, np.zeros(len(frame))))
    return frame.assign(**dict(zip(names, (eta, rows.eta(fit), *values, flag), strict=True)))


def _own_frame(fit: Fitted) -> pd.DataFrame:
    frame = fit.design.frame
    return frame.assign(**{"count" if "n" in frame.columns else "n": fit.design.count})


def _refuse_names(frame: pd.DataFrame, names: Sequence[str]) -> None:
    twice = [n for n in names if n in frame.columns]
    if twice:
        raise SchemaError(f"data has a column {twice[0]!r}, which the result has too. Rename or drop it.")


def _row_flags(fit: Fitted, frame: pd.DataFrame, rows: Rows, random: str) -> Strings:
    """Flags of single rows."""
    result = np.where(np.isfinite(rows.eta(fit)), "", flags.MISSING_VALUE).astype(object)
    if fit.design.aliased:
        result = np.where(estimable(fit.design, frame) | (result != ""), result, flags.NOT_ESTIMABLE)
    if random != "conditional":
        return result
    for term, code in zip(fit.design.terms, rows.codes, strict=True):
        missing = frame[list(term.columns)].isna().any(axis=1).to_numpy()
        result = np.where(missing & (result == ""), flags.MISSING_VALUE, result)
        result = np.where((code < 0) & ~missing & (result == ""), flags.NEW_LEVEL, result)
    return result


def _joined(one: Any, other: Any) -> list[str]:
    return [flags.join(str(a), str(b)) for a, b in np.broadcast(one, other)]


def conditional(fit: Fitted, rows: Rows) -> Floats:
    """η with random effects at their modes, 0 for new levels; NaN where an engine has none."""
    eta = rows.eta(fit)
    if not fit.design.terms:
        return eta
    effects = fit.effects()
    if effects is None:
        return np.full(len(eta), np.nan)
    for z, code, modes in zip(rows.zs, rows.codes, effects.modes, strict=True):
        eta = eta + np.where(code >= 0, (z * modes[code]).sum(axis=1), 0.0)
    return eta


def _link_variance(fit: Fitted, rows: Rows, random: str) -> Floats:
    """Variance of η."""
    if random != "conditional" or not fit.design.terms:
        p = fit.n_fixed
        return spread(rows.X, trusted(fit)[:p, :p]) ** 2
    return _joint(fit, rows, rows.X, np.zeros((len(rows.X), 0)), np.ones(len(rows.X)))


def _joint(fit: Fitted, rows: Rows, X: Floats, cuts: Floats, scale: Floats) -> Floats:
    """Variance of x'β + scale z'b - cut'τ given θ, distinct rows only."""
    effects = fit.effects()
    if effects is None:
        return np.full(len(X), np.nan)
    if cuts.shape[1]:
        effects, X = _with_cuts(fit, effects), np.concatenate([X, -cuts], axis=1)
    zs = [scale[:, None] * z for z in rows.zs]
    key = np.column_stack([X, *zs, *rows.codes]).astype(float)
    unknown = ~np.isfinite(np.diag(trusted(fit))[: X.shape[1]])
    complete = np.isfinite(key).all(axis=1) & ~(X[:, unknown] != 0).any(axis=1)
    first, place = distinct(key[complete])
    own = np.flatnonzero(complete)[first]
    result = np.full(len(X), np.nan)
    variance = effects.variance(X[own], [z[own] for z in zs], [c[own] for c in rows.codes])
    result[complete] = variance[place]
    return result


def _with_cuts(fit: Fitted, effects: Any) -> Any:
    """Random effects whose fixed effects are β and τ: how the modes move with the thresholds is added."""
    assert isinstance(effects, Posterior)
    d, rows, kind = fit.design, rows_of(fit), fit.distribution.kernels[fit.link]
    category = d.y.astype(np.int64)
    hi, lo, _ = fit.thresholds.around(fit.tau, category, rows.part)
    eta, m, step = conditional(fit, rows), d.count * d.weights, 1e-5
    moves = [
        (
            losses(kind, d.y, m, eta, hi + a * step, lo + b * step)[1]
            - losses(kind, d.y, m, eta, hi - a * step, lo - b * step)[1]
        )
        / (2 * step)
        for a, b in ((1, 0), (0, 1))
    ]
    shape = np.pad(fit.thresholds.map, ((0, 0), (1, 1), (0, 0)))[rows.part]
    at = np.arange(len(d.y))
    by_tau = moves[0][:, None] * shape[at, category + 1] + moves[1][:, None] * shape[at, category]
    own, t = columns(d), effects.layout
    load = np.zeros((t.q, by_tau.shape[1]))
    zl = np.concatenate([z @ L for z, L in zip(rows.zs, effects.factors, strict=True)], axis=1)
    for a in range(zl.shape[1]):
        np.add.at(load, own.cols[:, a], zl[:, a, None] * by_tau)
    # the modes move by -pull: x'β + z'b moves by (x - load'pull)'dβ
    pull = np.concatenate([effects.pull, solve_many(t, effects.flat, load)], axis=1)
    location = fit.n_location
    return replace(effects, pull=pull, beta_covariance=fit.covariance[:location, :location])


def _single(fit: Fitted, rows: Rows, kind: str, random: str, interval: bool, q: float) -> Floats:
    """(M, 4) estimate, standard error and limits of one number a row."""
    if random == "average" and kind == "response":
        return _averages(fit, rows, interval, q)[:, 0]
    eta = conditional(fit, rows) if random == "conditional" else rows.eta(fit)
    error = np.sqrt(_link_variance(fit, rows, random)) if interval else np.full(len(eta), np.nan)
    low, high = eta - q * error, eta + q * error
    if kind == "link":
        return np.column_stack([eta, error, low, high])
    link = LINKS[fit.link]
    value, slope, _ = link.average(eta, np.zeros_like(eta))
    return np.column_stack([value, slope * error, link.inverse(low), link.inverse(high)])


def _categories(fit: Fitted, rows: Rows, random: str, interval: bool, q: float) -> Floats:
    """(J, M, 4) of the probability of each category."""
    if random != "conditional" or not fit.design.terms:
        held = rows if random == "average" else replace(rows, zs=tuple(0 * z for z in rows.zs))
        return np.moveaxis(_averages(fit, held, interval, q), 1, 0)
    eta = conditional(fit, rows)
    found = mean(fit, rows, eta, np.zeros_like(eta))
    error = np.full(found.value.shape, np.nan)
    for j in range(found.value.shape[1] if interval else 0):
        slope = found.by_eta[:, j]
        error[:, j] = np.sqrt(_joint(fit, rows, slope[:, None] * rows.X, -found.by_cut[:, j], slope))
    return np.moveaxis(limits(found.value, error, "probability", q), 1, 0)


def _averages(fit: Fitted, rows: Rows, interval: bool, q: float) -> Floats:
    """(M, J, 4) of responses over the random effects, distinct rows only."""
    key = np.column_stack([rows.X, rows.offset, *rows.zs, rows.part]).astype(float)
    complete = np.isfinite(key).all(axis=1)
    first, place = distinct(key[complete])
    own = np.flatnonzero(complete)[first]
    few = Rows(rows.X[own], rows.offset[own], tuple(z[own] for z in rows.zs), rows.codes, rows.part[own])
    found = mean(fit, few, few.eta(fit), few.variance(fit))
    error = np.full(found.value.shape, np.nan)
    for first_row in range(0, len(own) if interval else 0, BLOCK):
        s = slice(first_row, first_row + BLOCK)
        part = Rows(few.X[s], few.offset[s], tuple(z[s] for z in few.zs), few.codes, few.part[s])
        piece = Mean(found.value[s], found.by_eta[s], found.by_variance[s], found.by_cut[s])
        error[s] = spread(gradient(fit, part, piece), trusted(fit))
    result = np.full((len(key), found.value.shape[1], 4), np.nan)
    result[complete] = limits(found.value, error, scale_of(fit), q)[place]
    return result


def scale_of(fit: Fitted) -> str:
    """Return what the response of a fit is: ``probability``, ``count`` or ``score``."""
    return LINKS[fit.link].scale


def limits(value: Floats, error: Floats, scale: str, q: float | Floats) -> Floats:
    """Estimate, standard error and limits (..., 4) on the scale that suits: logit of a probability, log of a count."""
    with np.errstate(all="ignore"):
        if scale == "probability":
            middle, half = logit(value), q * error / (value * (1 - value))
            low, high = expit(middle - half), expit(middle + half)
        elif scale == "count":
            middle, half = np.log(value), q * error / value
            low, high = np.exp(middle - half), np.exp(middle + half)
        else:
            low, high = value - q * error, value + q * error
    return np.stack([value, error, low, high], axis=-1)


def _assembled(fit: Fitted, frame: pd.DataFrame, cells: Floats, flag: Any, interval: bool, kind: str) -> pd.DataFrame:
    """Rows of the data, category by category within each."""
    J = len(cells)
    flat = np.moveaxis(cells, 0, 1).reshape(-1, 4)
    result = frame.iloc[np.repeat(np.arange(len(frame)), J)].reset_index(drop=True)
    if fit.design.categories and kind == "response":
        result["category"] = pd.Categorical(
            list(fit.design.categories) * len(frame), fit.design.categories, ordered=True
        )
    for k, name in enumerate(ESTIMATES[:4]):
        result[name] = flat[:, k]
    unknown = np.isnan(flat[:, 0]) & (np.repeat(flag, J) != flags.MISSING_VALUE)
    general = np.where(np.isnan(flat[:, 0]), "", cautions(fit, flat[:, 1] if interval else np.zeros(len(flat))))
    result["flag"] = _joined(_joined(np.repeat(flag, J), general), np.where(unknown, flags.NO_EFFECTS, ""))
    return result
