"""Residuals of a fit, family by family."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats.models.coding.factor_levels import labels
from judgestats.models.fitted_models import Fitted
from judgestats.models.grammar.expression_values import evaluate
from judgestats.models.grammar.syntax import Formula
from judgestats.models.postestimation.mean_responses import Mean
from judgestats.typing import Floats


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
