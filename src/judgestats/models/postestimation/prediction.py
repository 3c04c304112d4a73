"""Predictions of a fit, given its random effects or averaged over them, and its residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from judgestats import flags
from judgestats.errors import DesignError, SchemaError, choose
from judgestats.kernels.elimination import solve_many
from judgestats.kernels.likelihoods import losses
from judgestats.models.coding.factor_levels import labels
from judgestats.models.fitted_models import Fitted, RandomEffects
from judgestats.models.grammar.expression_values import evaluate
from judgestats.models.grammar.syntax import Formula
from judgestats.models.likelihood.compression import columns, distinct
from judgestats.models.likelihood.conditional_modes import ConditionalEffects
from judgestats.models.links import LINKS
from judgestats.models.postestimation.degrees_of_freedom import CLUSTERS, RESIDUAL, degrees, df_rule
from judgestats.models.postestimation.delta_method import cautions, spread, trusted
from judgestats.models.postestimation.mean_responses import (
    CodedRows,
    Mean,
    by_class,
    estimable,
    gradient,
    linear_predictor,
    mean,
    rows_of,
    table_of,
)
from judgestats.models.postestimation.reference_distributions import half_width
from judgestats.typing import Floats

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
    if kind == "link":
        refuse_classes(fit, "kind='link'", "kind='response'")
    half_width(conf_level, np.inf)
    frame = _own_frame(fit) if data is None else table_of(data)
    _refuse_names(frame, (*ESTIMATES, *(("category",) if fit.design.categories and kind == "response" else ())))
    rows = rows_of(fit, None if data is None else frame, groups=random == "conditional")
    flag = _row_flags(fit, frame, rows, random)
    if kind == "link" or not fit.design.categories:
        cells = _single(fit, rows, kind, random, interval, conf_level)[None]
    else:
        cells = _categories(fit, rows, random, interval, conf_level)
    return _assembled(fit, frame, np.asarray(cells), flag, interval, kind)


def augment(fit: Fitted, data: IntoFrame | None = None) -> pd.DataFrame:
    """Return the data with fitted values and residuals: :meth:`judgestats.models.Fit.augment`."""
    refuse_classes(fit, "augment()", "predict(), which has the probability of each class")
    frame = _own_frame(fit) if data is None else table_of(data)
    _refuse_names(frame, names := ("link", "fixed", *RESIDUALS, "flag"))
    rows = rows_of(fit, None if data is None else frame)
    eta = conditional(fit, rows)
    variance = _link_variance(fit, rows, "conditional") if data is None else None
    values = residuals(fit, frame, mean(fit, rows, eta, np.zeros_like(eta)), variance, new_rows=data is not None)
    flag = _joined(_row_flags(fit, frame, rows, "conditional"), cautions(fit, np.zeros(len(frame))))
    return frame.assign(**dict(zip(names, (eta, rows.eta(fit), *values, flag), strict=True)))


def refuse_classes(fit: Fitted, what: str, instead: str) -> None:
    """Refuse what needs one linear predictor of a row."""
    if fit.distribution.per_class:
        raise DesignError(f"{what} needs one number a row, and a nominal model has one of each class. Use {instead}.")


def _own_frame(fit: Fitted) -> pd.DataFrame:
    frame = fit.design.frame
    return frame.assign(**{"count" if "n" in frame.columns else "n": fit.design.count})


def _refuse_names(frame: pd.DataFrame, names: Sequence[str]) -> None:
    twice = [n for n in names if n in frame.columns]
    if twice:
        raise SchemaError(f"data has a column {twice[0]!r}, which the result has too. Rename or drop it.")


def _row_flags(fit: Fitted, frame: pd.DataFrame, rows: CodedRows, random: str) -> Strings:
    """Flags of single rows."""
    complete = np.isfinite(rows.eta(fit).reshape(len(frame), fit.model.predictors)).all(axis=1)
    result = np.where(complete, "", flags.MISSING_VALUE).astype(object)
    if fit.design.fixed.aliased:
        result = np.where(estimable(fit.design, frame) | (result != ""), result, flags.NOT_ESTIMABLE)
    if random != "conditional":
        return result
    for term, code in zip(fit.design.terms, rows.codes, strict=True):
        missing = frame[list(term.columns)].isna().any(axis=1).to_numpy()
        result = np.where(missing & (result == ""), flags.MISSING_VALUE, result)
        result = np.where((code < 0) & ~missing & (result == ""), flags.NEW_LEVEL, result)
    return result


def _joined(one: ArrayLike, other: ArrayLike) -> list[str]:
    return [flags.join(str(a), str(b)) for a, b in np.broadcast(one, other)]


def conditional(fit: Fitted, rows: CodedRows) -> Floats:
    """η with random effects at their modes, 0 for new levels; NaN where an engine has none."""
    effects = fit.effects() if fit.design.terms else None
    if fit.design.terms and effects is None:
        return np.full(len(rows.X), np.nan)
    return linear_predictor(fit, rows, fit.beta, effects.modes if effects else ())


def _link_variance(fit: Fitted, rows: CodedRows, random: str) -> Floats:
    """Variance of η."""
    if random != "conditional" or not fit.design.terms:
        p = fit.n_fixed
        return spread(rows.X, trusted(fit)[:p, :p]) ** 2
    return _joint(fit, rows, np.zeros((len(rows.X), 0)), np.ones((len(rows.X), 1)))


def _joint(fit: Fitted, rows: CodedRows, cuts: Floats, slope: Floats) -> Floats:
    """Variance of slope (x'β + z'b) - cut'τ given θ, summed over linear predictors, distinct rows only."""
    effects, X = fit.effects(), by_class(slope, rows.X)
    if effects is None:
        return np.full(len(X), np.nan)
    if cuts.shape[1]:
        effects, X = _with_cuts(fit, effects), np.concatenate([X, -cuts], axis=1)
    zs = [by_class(slope, z) for z in rows.zs]
    key = np.column_stack([X, *zs, *rows.codes]).astype(float)
    unknown = ~np.isfinite(np.diag(trusted(fit))[: X.shape[1]])
    complete = np.isfinite(key).all(axis=1) & ~(X[:, unknown] != 0).any(axis=1)
    first, place = distinct(key[complete])
    own = np.flatnonzero(complete)[first]
    result = np.full(len(X), np.nan)
    variance = effects.variance(X[own], [z[own] for z in zs], [c[own] for c in rows.codes])
    result[complete] = variance[place]
    return result


def _with_cuts(fit: Fitted, effects: RandomEffects) -> ConditionalEffects:
    """Random effects whose fixed effects are β and τ: how the modes move with the thresholds is added."""
    assert isinstance(effects, ConditionalEffects)
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


def _single(fit: Fitted, rows: CodedRows, kind: str, random: str, interval: bool, conf_level: float) -> Floats:
    """(M, 4) estimate, standard error and limits of one number a row."""
    if random == "average" and kind == "response":
        return _averages(fit, rows, interval, conf_level)[:, 0]
    eta = conditional(fit, rows) if random == "conditional" else rows.eta(fit)
    error = np.sqrt(_link_variance(fit, rows, random)) if interval else np.full(len(eta), np.nan)
    by_model = random == "conditional" and bool(fit.design.terms)  # whatever the clusters are
    q = half_width(conf_level, np.inf) if by_model or not interval else _quantile(fit, conf_level, rows.X)
    low, high = eta - q * error, eta + q * error
    if kind == "link":
        return np.column_stack([eta, error, low, high])
    link = LINKS[fit.link]
    value, slope, _ = link.average(eta, np.zeros_like(eta))
    return np.column_stack([value, slope * error, link.inverse(low), link.inverse(high)])


def _categories(fit: Fitted, rows: CodedRows, random: str, interval: bool, conf_level: float) -> Floats:
    """(J, M, 4) of the probability of each category."""
    if random != "conditional" or not fit.design.terms:
        held = rows if random == "average" else replace(rows, zs=tuple(0 * z for z in rows.zs))
        return np.moveaxis(_averages(fit, held, interval, conf_level), 1, 0)
    eta = conditional(fit, rows)
    responses = mean(fit, rows, eta, np.zeros_like(rows.variance(fit)))
    error = np.full(responses.value.shape, np.nan)
    for j in range(responses.value.shape[1] if interval else 0):
        slope = responses.by_eta[:, j].reshape(len(eta), fit.model.predictors)
        error[:, j] = np.sqrt(_joint(fit, rows, -responses.by_cut[:, j], slope))
    return np.moveaxis(limits(responses.value, error, "probability", half_width(conf_level, np.inf)), 1, 0)


def _averages(fit: Fitted, rows: CodedRows, interval: bool, conf_level: float) -> Floats:
    """(M, J, 4) of responses over the random effects, distinct rows only."""
    key = np.column_stack([rows.X, rows.offset, *rows.zs, rows.part]).astype(float)
    complete = np.isfinite(key).all(axis=1)
    first, place = distinct(key[complete])
    own = np.flatnonzero(complete)[first]
    few = CodedRows(rows.X[own], rows.offset[own], tuple(z[own] for z in rows.zs), rows.codes, rows.part[own])
    responses = mean(fit, few, few.eta(fit), few.variance(fit))
    error, q = np.full((2, *responses.value.shape), np.nan)
    for first_row in range(0, len(own) if interval else 0, BLOCK):
        s = slice(first_row, first_row + BLOCK)
        part = CodedRows(few.X[s], few.offset[s], tuple(z[s] for z in few.zs), few.codes, few.part[s])
        piece = Mean(responses.value[s], responses.by_eta[s], responses.by_variance[s], responses.by_cut[s])
        slope = gradient(fit, part, piece)
        error[s], q[s] = spread(slope, trusted(fit)), _quantile(fit, conf_level, slope)
    result = np.full((len(key), responses.value.shape[1], 4), np.nan)
    result[complete] = limits(responses.value, error, scale_of(fit), q)[place]
    return result


def _quantile(fit: Fitted, conf_level: float, gradient: Floats) -> Floats:
    """Half of an interval in standard errors: t without random terms, of functions with gradients (..., p)."""
    if df_rule(fit) not in (RESIDUAL, CLUSTERS):
        return half_width(conf_level, np.inf)
    return half_width(conf_level, degrees(fit, gradient[..., : fit.n_location]))


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


def _assembled(
    fit: Fitted, frame: pd.DataFrame, cells: Floats, flag: Strings, interval: bool, kind: str
) -> pd.DataFrame:
    """Rows of the data, category by category within each."""
    J = len(cells)
    flat = np.moveaxis(cells, 0, 1).reshape(-1, 4)
    result = frame.iloc[np.repeat(np.arange(len(frame)), J)].reset_index(drop=True)
    if fit.design.categories and kind == "response":
        names = list(fit.design.categories)
        result["category"] = pd.Categorical(names * len(frame), names, ordered=fit.distribution.ordered)
    for k, name in enumerate(ESTIMATES[:4]):
        result[name] = flat[:, k]
    unknown = np.isnan(flat[:, 0]) & (np.repeat(flag, J) != flags.MISSING_VALUE)
    general = np.where(np.isnan(flat[:, 0]), "", cautions(fit, flat[:, 1] if interval else np.zeros(len(flat))))
    result["flag"] = _joined(_joined(np.repeat(flag, J), general), np.where(unknown, flags.NO_EFFECTS, ""))
    return result


def residuals(
    fit: Fitted, frame: pd.DataFrame, responses: Mean, variance: Floats | None, *, new_rows: bool
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Fitted, residual, Pearson's, leverage and standardised residual (M,) of one call of each row."""
    y, trials = _response(fit, frame) if new_rows else (fit.design.y, fit.design.trials)
    weights = np.ones(len(y)) if new_rows else fit.design.weights
    if fit.design.categories:
        fitted, residual, sd = _ordinal(responses.value, y)
    else:
        fitted, shape = responses.value[:, 0], fit.shape(fit.params, np.zeros(len(y), np.int64))
        with np.errstate(all="ignore"):
            residual, sd = y / trials - fitted, np.sqrt(fit.distribution.variance(fitted, shape) / (trials * weights))
    with np.errstate(all="ignore"):
        pearson = residual / sd
        leverage = np.full(len(y), np.nan)
        if variance is not None and not fit.design.categories:
            leverage = variance * responses.by_eta[:, 0] ** 2 / sd**2
        return fitted, residual, pearson, leverage, pearson / np.sqrt(1 - leverage)


def _ordinal(P: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Probability of the category observed, probability-scale residual, and its standard deviation."""
    below = np.cumsum(P, axis=1) - P
    scores = below - (1 - below - P)
    sd = np.sqrt((P * scores**2).sum(axis=1))
    observed = np.isfinite(y)
    at = np.where(observed, y, 0).astype(np.int64)
    picked = [np.where(observed, values[np.arange(len(y)), at], np.nan) for values in (P, scores)]
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
    places = pd.Index(fit.design.categories or fit.design.response.labels).get_indexer(
        labels(values).to_numpy(dtype=object)
    )
    return np.where(places < 0, np.nan, places).astype(float), np.ones(len(frame))
