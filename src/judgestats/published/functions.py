"""What an expression may call: arrays of printed numbers in, an array out.

Every argument has the shape (m, P): m cells, P readings of them; the first reading is as printed, each other moves one
cell by half a unit of its last digit. ``EACH`` works element by element, ``OVER`` reduces the m cells to one number,
``WITHIN`` judges the range of a number and answers true or false.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judgestats.kernels.correlation import rowwise
from judgestats.kernels.proportions import wilson
from judgestats.kernels.resampling import binomial_interval
from judgestats.published.granularity import grim, grimmer

Floats = NDArray[np.float64]


#: Decimals that a double has.
_MOST_DIGITS = 15


def _rounded(x: Floats, decimals: Any = 0) -> Floats:
    """As Python formats a double: what a rounded intermediate result was."""
    digits = int(np.ravel(decimals)[0])
    if not 0 <= digits <= _MOST_DIGITS:
        raise ValueError(f"{digits} decimals; 0 to {_MOST_DIGITS} are allowed")
    return np.asarray(np.vectorize(lambda v: float(f"{v:.{digits}f}"), otypes=[float])(x))


def _cut(x: Floats, decimals: Any = 0) -> Floats:
    """Digits cut off instead of rounded: 0.9653 to .96."""
    digits = int(np.ravel(decimals)[0])
    if not 0 <= digits <= _MOST_DIGITS:
        raise ValueError(f"{digits} decimals; 0 to {_MOST_DIGITS} are allowed")
    scaled = np.asarray(x) * 10.0**digits
    near = np.where(np.isclose(scaled, np.rint(scaled), rtol=1e-12, atol=1e-9), np.rint(scaled), np.trunc(scaled))
    return np.asarray(near / 10.0**digits)


def _as_printed(x: Floats) -> Floats:
    """The number as printed in every reading: its digits are taken for exact, as in a stated bound."""
    return np.broadcast_to(x[:, :1], x.shape)


def _wilson(which: int) -> Callable[..., Floats]:
    def end(k: Floats, n: Floats, conf_level: float = 0.95) -> Floats:
        k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
        ends = wilson(np.ascontiguousarray(k.ravel()), np.ascontiguousarray(n.ravel()), conf_level)
        return np.asarray(ends[which]).reshape(k.shape)

    return end


def _wald_half(p: Floats, n: Floats, conf_level: float = 0.95) -> Floats:
    return np.asarray(stats.norm.isf((1 - conf_level) / 2) * np.sqrt(p * (1 - p) / n))


def _clopper(upper: bool) -> Callable[..., Floats]:
    def end(k: Floats, n: Floats, conf_level: float = 0.95) -> Floats:
        tail = (1 - conf_level) / 2
        if upper:
            return np.where(k >= n, 1.0, stats.beta.ppf(1 - tail, k + 1, np.maximum(n - k, 1e-9)))
        return np.where(k <= 0, 0.0, stats.beta.ppf(tail, np.maximum(k, 1e-9), n - k + 1))

    return end


def _percentile(which: int) -> Callable[..., Floats]:
    """An end of the percentile bootstrap of a share, which is a quantile of a binomial distribution over n."""

    def end(k: Floats, n: Floats, conf_level: float = 0.95) -> Floats:
        return np.asarray(np.vectorize(lambda a, b: binomial_interval(a, b, conf_level)[which], otypes=[float])(k, n))

    return end


def _mcnemar(b: Floats, c: Floats, corrected: float = 1.0) -> Floats:
    top = np.maximum(np.abs(b - c) - (1.0 if corrected else 0.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(b + c > 0, top**2 / (b + c), 0.0))


def _p_of_t(t: Floats, df: Floats, sides: float = 2.0) -> Floats:
    return np.asarray(sides * stats.t.sf(np.abs(t), df))


def _p_of_r(r: Floats, n: Floats, sides: float = 2.0) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        t = r * np.sqrt((n - 2) / np.maximum(1 - r**2, 0.0))
    return _p_of_t(t, n - 2, sides)


def _p_of_binomial(k: Floats, n: Floats, p: float = 0.5, sides: float = 2.0) -> Floats:
    """Of k in n; two-sided by doubling, as symmetric tests do."""
    tail = np.minimum(stats.binom.cdf(k, n, p), stats.binom.sf(k - 1, n, p))
    return np.asarray(np.minimum(1.0, sides * tail))


def _dprime(hits: Floats, n: Floats, alarms: Floats, m: Floats) -> Floats:
    """With the log-linear correction, (k + 0.5) / (n + 1)."""
    return np.asarray(stats.norm.ppf((hits + 0.5) / (n + 1)) - stats.norm.ppf((alarms + 0.5) / (m + 1)))


def _sd(x: Floats, ddof: float = 1.0) -> Floats:
    return np.std(x, axis=0, ddof=int(ddof)) if len(x) > ddof else np.full(x.shape[1], np.nan)


def _cohen_d(x: Floats, y: Floats, ddof: float = 1.0, pooled: float = 0.0) -> Floats:
    """Difference of means over the root of the mean variance (``pooled=1``: weighted by degrees of freedom)."""
    u, v = np.var(x, axis=0, ddof=int(ddof)), np.var(y, axis=0, ddof=int(ddof))
    a, b = (len(x) - 1, len(y) - 1) if pooled else (1, 1)
    return np.asarray((x.mean(0) - y.mean(0)) / np.sqrt((a * u + b * v) / (a + b)))


def _pairs_above(x: Floats, y: Floats) -> Floats:
    """Pairs, one of each, in which the first is above the second: the U of Mann and Whitney without ties."""
    return np.asarray((x[:, None, :] > y[None, :, :]).sum(axis=(0, 1)), dtype=float)


def _correlation(ranked: bool) -> Callable[[Floats, Floats], Floats]:
    def of(x: Floats, y: Floats) -> Floats:
        x, y = np.broadcast_arrays(x, y)
        return np.asarray(rowwise(np.ascontiguousarray(x.T), np.ascontiguousarray(y.T), ranked=ranked))

    return of


def _holm(p: Floats, m: float = np.nan, alpha: float = 0.05) -> Floats:
    """1 where the test survives Holm's procedure over m tests (those given, by default).

    NaN where p is not printed, or where one that is not decides.
    """
    m = len(p) if np.isnan(m) else m
    least, most = (_holm_of(np.where(np.isnan(p), other, p), m, alpha) for other in (0.0, 1.0))
    return np.where(np.isnan(p) | (least != most), np.nan, most)


def _holm_of(p: Floats, m: float, alpha: float) -> Floats:
    order = np.argsort(p, axis=0, kind="stable")
    ranked = np.take_along_axis(p, order, axis=0)
    divisors = np.maximum(
        m - np.arange(len(p)), 1
    )  # a family that is said to be smaller than it is divides by 1 at last
    alive = np.logical_and.accumulate(ranked <= alpha / divisors[:, None], axis=0)
    out = np.empty_like(p)
    np.put_along_axis(out, order, alive.astype(float), axis=0)
    return out


def within(
    function: Callable[..., bool], low: Sequence[Floats], high: Sequence[Floats], options: Mapping[str, float]
) -> Floats:
    """A function of ranges, row by row.

    Parameters
    ----------
    function : callable
        One of ``WITHIN``.
    low, high : sequences of arrays
        Ends of each argument, of one size, or of the size 1.
    options : mapping

    Returns
    -------
    float array
        1 or 0; NaN where an argument has no value.
    """
    size = max(map(len, low))
    lows, highs = (zip(*(np.broadcast_to(e, size) for e in ends), strict=True) for ends in (low, high))
    made = [
        np.nan if np.isnan([*a, *b]).any() else float(function(*zip(a, b, strict=True), **options))
        for a, b in zip(lows, highs, strict=True)
    ]
    return np.array(made, dtype=float)


# lambdas, as a ufunc would take a third argument for the array to write to
EACH: Mapping[str, Callable[..., Any]] = {
    "abs": lambda x: np.abs(x),
    "sqrt": lambda x: np.sqrt(x),
    "exp": lambda x: np.exp(x),
    "log": lambda x: np.log(x),
    "round": _rounded,
    "cut": _cut,
    "as_printed": _as_printed,
    "whole": lambda x: np.rint(x),
    "floor": lambda x: np.floor(x),
    "ceil": lambda x: np.ceil(x),
    "larger": lambda x, y: np.maximum(x, y),
    "smaller": lambda x, y: np.minimum(x, y),
    "where": lambda yes, a, b: np.where(yes > 0.5, a, b),
    "probit": stats.norm.ppf,
    "logit": lambda p: np.log(p / (1 - p)),
    "wilson_low": _wilson(0),
    "wilson_high": _wilson(1),
    "exact_low": _clopper(False),
    "exact_high": _clopper(True),
    "wald_half": _wald_half,
    "percentile_low": _percentile(0),
    "percentile_high": _percentile(1),
    "mcnemar": _mcnemar,
    "mcnemar_p": lambda b, c, corrected=1.0: np.where(b + c > 0, stats.chi2.sf(_mcnemar(b, c, corrected), 1), 1.0),
    "chi2_p": lambda x, df: stats.chi2.sf(x, df),
    "z_p": lambda z, sides=2.0: sides * stats.norm.sf(np.abs(z)),
    "t_p": _p_of_t,
    "f_p": lambda f, one, two: stats.f.sf(f, one, two),
    "correlation_p": _p_of_r,
    "binomial_p": _p_of_binomial,
    "kappa": lambda seen, chance: (seen - chance) / (1 - chance),
    "dprime": _dprime,
    "rank": lambda x: stats.rankdata(x, axis=0),
    "rank_down": lambda x: stats.rankdata(-x, axis=0),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "sort": lambda x: np.sort(x, axis=0),
    "holm_survives": _holm,
}

OVER: Mapping[str, Callable[..., Any]] = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "median": lambda x: np.median(x, axis=0),
    "min": lambda x: x.min(axis=0),
    "max": lambda x: x.max(axis=0),
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "sd": _sd,
    "pearson": _correlation(False),
    "spearman": _correlation(True),
    "cohen_d": _cohen_d,
    "pairs_above": _pairs_above,
    "entropy": lambda x: stats.entropy(x, axis=0),
}

WITHIN: Mapping[str, Callable[..., Any]] = {"grim": grim, "grimmer": grimmer}

ARITHMETIC: Mapping[type[ast.operator], Callable[..., Any]] = {
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

#: What takes more than numbers: truths, labels, texts.
SPECIAL = (
    *("all", "none", "any", "count", "len", "increasing", "decreasing"),
    *("argmax", "argmin", "top", "bottom", "which", "distinct", "repeats"),
)
