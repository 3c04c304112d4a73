"""Tails and quantiles of t, F, normal and χ² distributions, by degrees of freedom that may be infinite."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, fdtrc, ndtr, ndtri, stdtr, stdtrit

from judgestats.errors import confidence
from judgestats.typing import Floats


def two_sided(statistic: ArrayLike, df: ArrayLike) -> Floats:
    """P(|T| >= |statistic|), normal where df is infinite."""
    t, df = np.broadcast_arrays(np.abs(np.asarray(statistic, float)), np.asarray(df, float))
    finite = np.isfinite(df)
    return np.asarray(np.where(finite | np.isnan(df), 2 * stdtr(np.where(finite, df, np.nan), -t), 2 * ndtr(-t)), float)


def t_quantile(upper: ArrayLike, df: ArrayLike) -> Floats:
    """Quantile of t, normal where df is infinite."""
    p, df = np.broadcast_arrays(np.asarray(upper, float), np.asarray(df, float))
    finite = np.isfinite(df)
    return np.asarray(np.where(finite | np.isnan(df), stdtrit(np.where(finite, df, np.nan), p), ndtri(p)), float)


def half_width(conf_level: float, df: ArrayLike) -> Floats:
    """Quantile of a two-sided interval; a DesignError where `conf_level` is no coverage."""
    return t_quantile(0.5 + confidence(conf_level) / 2, df)


def f_tail(statistic: Floats, df: Floats, error: Floats) -> Floats:
    """P(F >= statistic) where the denominator's df are finite, and of χ² = df F where they are not."""
    f, df, error = np.broadcast_arrays(np.maximum(statistic, 0.0), np.maximum(df, 1.0), error)
    finite = np.isfinite(error)
    tail = np.where(finite, fdtrc(df, np.where(finite, error, 1.0), f), chdtrc(df, f * df))
    return np.where(np.isnan(error), np.nan, tail)
