"""Functions of expressions: arrays of printed numbers in, an array out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from scipy import special

from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.correlation import average_ranks, rowwise
from judgestats.published.grim_tests import grim, grimmer
from judgestats.published.printed_values import ArrayFunction
from judgestats.typing import Floats

#: Decimals of a double.
_MOST_DIGITS = 15


def _digits(decimals: Floats | int) -> int:
    digits = int(np.ravel(decimals)[0])
    if not 0 <= digits <= _MOST_DIGITS:
        raise ValueError(f"{digits} decimals; 0 to {_MOST_DIGITS} are allowed")
    return digits


def _rounded(x: Floats, decimals: Floats | int = 0) -> Floats:
    """Round as Python formats a double, as an intermediate result would have been."""
    digits = _digits(decimals)
    return np.asarray(np.vectorize(lambda v: float(f"{v:.{digits}f}"), otypes=[float])(x))


def _cut(x: Floats, decimals: Floats | int = 0) -> Floats:
    """Digits cut off instead of rounded: 0.9653 to .96."""
    digits = _digits(decimals)
    scaled = np.asarray(x) * 10.0**digits
    near = np.where(np.isclose(scaled, np.rint(scaled), rtol=1e-12, atol=1e-9), np.rint(scaled), np.trunc(scaled))
    return np.asarray(near / 10.0**digits)


def _where(yes: Floats, a: Floats, b: Floats) -> Floats:
    return np.where(yes > 0.5, a, b)


def _wilson(which: int, k: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    from judgestats.kernels.proportions import wilson  # imports numba

    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    ends = wilson(np.ascontiguousarray(k.ravel()), np.ascontiguousarray(n.ravel()), conf_level)
    return np.asarray(ends[which]).reshape(k.shape)


def _wald_half(p: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    return np.asarray(-special.ndtri((1 - conf_level) / 2) * np.sqrt(p * (1 - p) / n))


def _clopper(which: int, k: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    tail = (1 - conf_level) / 2
    if which:
        return np.where(k >= n, 1.0, special.betaincinv(k + 1, np.maximum(n - k, 1e-9), 1 - tail))
    return np.where(k <= 0, 0.0, special.betaincinv(np.maximum(k, 1e-9), n - k + 1, tail))


def _percentile(which: int, k: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    """An end of the percentile bootstrap of a share, which is a quantile of a binomial distribution over n."""
    from judgestats.kernels.resampling import binomial_interval  # imports numba

    return np.asarray(np.vectorize(lambda a, b: binomial_interval(a, b, conf_level)[which], otypes=[float])(k, n))


def _mcnemar(b: Floats, c: Floats, corrected: float = 1.0) -> Floats:
    top = np.maximum(np.abs(b - c) - (1.0 if corrected else 0.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(b + c > 0, top**2 / (b + c), 0.0))


def _p_of_t(t: Floats, df: Floats, sides: float = 2.0) -> Floats:
    return np.asarray(sides * special.stdtr(df, -np.abs(t)))


def _p_of_r(r: Floats, n: Floats, sides: float = 2.0) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        t = r * np.sqrt((n - 2) / np.maximum(1 - r**2, 0.0))
    return _p_of_t(t, n - 2, sides)


def _p_of_binomial(k: Floats, n: Floats, p: float = 0.5, sides: float = 2.0) -> Floats:
    """Of k in n; two-sided by doubling, as symmetric tests do."""
    k = np.floor(k)
    low = np.where(k < n, special.betaincc(k + 1, np.maximum(n - k, 1e-9), p), 1.0)
    high = np.where(k > 0, special.betainc(np.maximum(k, 1e-9), n - k + 1, p), 1.0)
    return np.asarray(np.minimum(1.0, sides * np.minimum(low, high)))


def _dprime(hits: Floats, n: Floats, alarms: Floats, m: Floats) -> Floats:
    """With the log-linear correction, (k + 0.5) / (n + 1)."""
    return np.asarray(special.ndtri((hits + 0.5) / (n + 1)) - special.ndtri((alarms + 0.5) / (m + 1)))


def _sd(x: Floats, ddof: float = 1.0) -> Floats:
    return np.std(x, axis=0, ddof=int(ddof)) if len(x) > ddof else np.full(x.shape[1], np.nan)


def _cohen_d(x: Floats, y: Floats, ddof: float = 1.0, pooled: float = 0.0) -> Floats:
    """Difference of means over the root of the mean variance (``pooled=1``: weighted by degrees of freedom)."""
    u, v = np.var(x, axis=0, ddof=int(ddof)), np.var(y, axis=0, ddof=int(ddof))
    a, b = (len(x) - 1, len(y) - 1) if pooled else (1, 1)
    return np.asarray((x.mean(0) - y.mean(0)) / np.sqrt((a * u + b * v) / (a + b)))


def _correlation(ranked: bool, x: Floats, y: Floats) -> Floats:
    x, y = np.broadcast_arrays(x, y)
    return np.asarray(rowwise(np.ascontiguousarray(x.T), np.ascontiguousarray(y.T), ranked=ranked))


def _ranks(x: Floats) -> Floats:
    """From 1, ties sharing their mean rank; all NaN where one of them has no value."""
    return np.where(np.isnan(x).any(axis=0), np.nan, average_ranks(x.T).T)


def _holm(p: Floats, m: float = np.nan, alpha: float = 0.05) -> Floats:
    """1 where a test survives Holm's procedure over m tests, those given by default; NaN where p is not printed."""
    m = len(p) if np.isnan(m) else m
    least, most = (_holm_of(np.where(np.isnan(p), other, p), m, alpha) for other in (0.0, 1.0))
    return np.where(np.isnan(p) | (least != most), np.nan, most)


def _holm_of(p: Floats, m: float, alpha: float) -> Floats:
    order = np.argsort(p, axis=0, kind="stable")
    ranked = np.take_along_axis(p, order, axis=0)
    divisors = np.maximum(m - np.arange(len(p)), 1)  # of a family said to be smaller than it is, 1 at last
    alive = np.logical_and.accumulate(ranked <= alpha / divisors[:, None], axis=0)
    out = np.empty_like(p)
    np.put_along_axis(out, order, alive.astype(float), axis=0)
    return out


def within(
    function: Callable[..., bool], low: Sequence[Floats], high: Sequence[Floats], options: Mapping[str, float]
) -> Floats:
    """A function of the ranges of its arguments, row by row: 1 or 0, NaN where an argument has no value."""
    size = max(map(len, low))
    lows, highs = (zip(*(np.broadcast_to(e, size) for e in ends), strict=True) for ends in (low, high))
    truths = [
        np.nan if np.isnan([*a, *b]).any() else float(function(*zip(a, b, strict=True), **options))
        for a, b in zip(lows, highs, strict=True)
    ]
    return np.array(truths, dtype=float)


# lambdas, as a ufunc would take a third argument for the array to write to
EACH: Mapping[str, ArrayFunction] = {
    "abs": lambda x: np.abs(x),
    "sqrt": lambda x: np.sqrt(x),
    "exp": lambda x: np.exp(x),
    "log": lambda x: np.log(x),
    "round": _rounded,
    "cut": _cut,
    "as_printed": lambda x: np.broadcast_to(x[:, :1], x.shape),  # its digits taken as exact, as in a stated bound
    "whole": lambda x: np.rint(x),
    "floor": lambda x: np.floor(x),
    "ceil": lambda x: np.ceil(x),
    "larger": lambda x, y: np.maximum(x, y),
    "smaller": lambda x, y: np.minimum(x, y),
    "where": _where,
    "probit": lambda p: special.ndtri(p),
    "logit": lambda p: np.log(p / (1 - p)),
    "wilson_low": partial(_wilson, 0),
    "wilson_high": partial(_wilson, 1),
    "exact_low": partial(_clopper, 0),
    "exact_high": partial(_clopper, 1),
    "wald_half": _wald_half,
    "percentile_low": partial(_percentile, 0),
    "percentile_high": partial(_percentile, 1),
    "mcnemar": _mcnemar,
    "mcnemar_p": lambda b, c, corrected=1.0: np.where(b + c > 0, special.chdtrc(1, _mcnemar(b, c, corrected)), 1.0),
    "chi2_p": lambda x, df: np.where(x < 0, 1.0, special.chdtrc(df, x)),
    "z_p": lambda z, sides=2.0: sides * special.ndtr(-np.abs(z)),
    "t_p": _p_of_t,
    "f_p": lambda f, one, two: special.fdtrc(one, two, np.maximum(f, 0.0)),
    "correlation_p": _p_of_r,
    "binomial_p": _p_of_binomial,
    "kappa": lambda seen, chance: (seen - chance) / (1 - chance),
    "dprime": _dprime,
    "rank": _ranks,
    "rank_down": lambda x: _ranks(-x),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "sort": lambda x: np.sort(x, axis=0),
    "holm_survives": _holm,
}

OVER: Mapping[str, ArrayFunction] = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "median": lambda x: np.median(x, axis=0),
    "min": lambda x: x.min(axis=0),
    "max": lambda x: x.max(axis=0),
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "sd": _sd,
    "pearson": partial(_correlation, False),
    "spearman": partial(_correlation, True),
    "cohen_d": _cohen_d,
    "pairs_above": lambda x, y: (x[:, None, :] > y[None, :, :]).sum(axis=(0, 1)),  # U of Mann and Whitney without ties
    "entropy": lambda x: special.entr(x / x.sum(axis=0)).sum(axis=0),
}

WITHIN: Mapping[str, Callable[..., bool]] = {"grim": grim, "grimmer": grimmer}

ARITHMETIC: Mapping[type[ast.operator], ArrayFunction] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Mod: np.mod,
    ast.FloorDiv: np.floor_divide,
}

COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}

#: Functions of more than numbers: truths, labels, texts.
SPECIAL = (
    *("all", "none", "any", "count", "len", "increasing", "decreasing"),
    *("argmax", "argmin", "top", "bottom", "which", "distinct", "repeats", "lines_up"),
)
