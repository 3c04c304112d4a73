"""Answers of several judges on the same units: Krippendorff's coincidences, without their table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.compiling import njit
from judgestats.kernels.resampling import multinomial_totals

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
#: Numbers held in memory at a time.
_HELD = 2**22


class Units(NamedTuple):
    """How often each unit was given each answer; units alike are one pattern.

    Attributes
    ----------
    start : (Q + 1,) int64 array
        Where each pattern begins in `code`.
    code : (E,) int64 array
        Answers of a pattern, each once, 0 to m - 1.
    times : (E,) float array
        How many judges gave each of them.
    """

    start: Ints
    code: Ints
    times: Floats

    @property
    def pattern(self) -> Ints:
        """Pattern of each entry, (E,)."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    @property
    def judges(self) -> Floats:
        """How many judges answered, (Q,)."""
        return self.total(self.times)

    def total(self, values: Floats) -> Floats:
        """Sum of the values of the entries of each pattern, (Q,)."""
        return np.bincount(self.pattern, weights=values, minlength=self.start.size - 1).astype(float)


class Disagreement(NamedTuple):
    """Krippendorff's alpha, and what it is made of; an array entry for each set of weights.

    Attributes
    ----------
    alpha : (B,) float array
        1 - observed / expected; NaN where nothing is expected, or no unit has two answers.
    observed, expected : (B,) float arrays
        Mean difference of two answers of one unit, and of two answers whatsoever.
    values : (B,) float array
        Answers in units that have two or more.
    """

    alpha: Floats
    observed: Floats
    expected: Floats
    values: Floats


def krippendorff(units: Units, weight: NDArray[Any], values: Floats, level: str) -> Disagreement:
    """Krippendorff's alpha of many weightings of the same units.

    Parameters
    ----------
    units : Units
        Those with fewer than two answers count for nothing.
    weight : (B, Q) array
        How often each pattern occurs: one row for the data, B for resamples.
    values : (m,) float array
        Value of each answer, ascending.
    level : {'nominal', 'ordinal', 'interval', 'ratio'}
        Whose difference is squared: none, ranks (of the answers that occur under the weights), values, or values over
        their sum.

    Returns
    -------
    Disagreement

    Notes
    -----
    No table of coincidences is made. Nominal and interval are closed forms of the margins and of sums, so that
    continuous scores need no more memory than themselves. The ordinal difference of Krippendorff is the difference of
    mid-ranks, so ordinal alpha is interval alpha of mid-ranks, which each resample has of its own. Only the ratio
    difference looks at pairs of distinct values, a block at a time.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability.
    """
    judges = units.judges
    weight = np.where(judges >= 2, weight, 0).astype(np.float64)
    counted = weight @ judges
    if level == "interval":
        inner, outer = _interval(units, weight, values, judges)
    elif level == "ordinal":
        inner, outer = _ordinal(units.start, units.code, units.times, judges, weight, values.size)
    else:
        margins = _margins(units.start, units.code, units.times, weight, values.size)
        if level == "nominal":
            outer = counted**2 - (margins**2).sum(axis=1)
            within = judges**2 - units.total(units.times**2)
        else:
            outer = _ratio_expected(margins, values)
            within = _ratio_within(units.start, units.code, units.times, values)
        inner = weight @ _per_pair(within, judges)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = inner / np.where(counted > 0, counted, np.nan)
        expected = outer / np.where(counted > 1, counted * (counted - 1), np.nan)
        # what rounding leaves of a spread of 0 is 0
        alpha = 1 - observed / np.where(expected > 0, expected, np.nan)
    return Disagreement(alpha, observed, expected, counted)


def _per_pair(within: Floats, judges: Floats) -> Floats:
    return np.where(judges >= 2, within / np.maximum(judges - 1, 1), 0.0)


def _interval(units: Units, weight: Floats, values: Floats, judges: Floats) -> tuple[Floats, Floats]:
    used = np.unique(units.code[(judges >= 2)[units.pattern]])
    if used.size < 2:
        return np.zeros(len(weight)), np.zeros(len(weight))
    centred = values - values[used].mean()
    scale = np.abs(centred[used]).max()
    centred = centred / scale
    sums = units.total(units.times * centred[units.code])
    mean = sums / np.maximum(judges, 1)
    spread = units.total(units.times * (centred[units.code] - mean[units.pattern]) ** 2)
    squares = spread + sums * mean
    counted, first, second = (weight @ x for x in (judges, sums, squares))
    outer = 2 * (counted * second - first**2)
    outer = np.where(outer > 1e-14 * counted * second, outer, 0.0)
    return (weight @ _per_pair(2 * judges * spread, judges)) * scale**2, outer * scale**2


@njit(cache=True)
def _margins(start, code, times, weight, size):  # type: ignore[no-untyped-def]
    resamples, patterns = weight.shape
    margins = np.zeros((resamples, size))
    for b in range(resamples):
        for q in range(patterns):
            if weight[b, q] != 0:
                for e in range(start[q], start[q + 1]):
                    margins[b, code[e]] += weight[b, q] * times[e]
    return margins


@njit(cache=True)
def _ordinal(start, code, times, judges, weight, size):  # type: ignore[no-untyped-def]
    resamples, patterns = weight.shape
    inner = np.zeros(resamples)
    outer = np.zeros(resamples)
    rank = np.empty(size)
    for b in range(resamples):
        rank[:] = 0.0
        for q in range(patterns):
            if weight[b, q] != 0:
                for e in range(start[q], start[q + 1]):
                    rank[code[e]] += weight[b, q] * times[e]
        total = rank.sum()
        below = 0.0
        squares = 0.0
        for c in range(size):
            n = rank[c]
            rank[c] = below + n / 2 - total / 2  # mid-rank about its mean
            below += n
            squares += n * rank[c] * rank[c]
        outer[b] = 2 * total * squares
        for q in range(patterns):
            if weight[b, q] != 0 and judges[q] >= 2 and start[q + 1] > start[q] + 1:
                mean = 0.0
                for e in range(start[q], start[q + 1]):
                    mean += times[e] * rank[code[e]]
                mean /= judges[q]
                spread = 0.0
                for e in range(start[q], start[q + 1]):
                    spread += times[e] * (rank[code[e]] - mean) ** 2
                inner[b] += weight[b, q] * 2 * judges[q] * spread / (judges[q] - 1)
    return inner, outer


@njit(cache=True)
def _ratio_within(start, code, times, values):  # type: ignore[no-untyped-def]
    within = np.zeros(start.size - 1)
    for q in range(start.size - 1):
        for i in range(start[q], start[q + 1]):
            for j in range(i + 1, start[q + 1]):
                one, two = values[code[i]], values[code[j]]
                within[q] += 2 * times[i] * times[j] * ((one - two) / (one + two)) ** 2
    return within


def _ratio_expected(margins: Floats, values: Floats) -> Floats:
    outer = np.zeros(len(margins))
    step = max(_HELD // max(values.size, 1), 1)
    for begin in range(0, values.size, step):
        part = values[begin : begin + step]
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = ((values[:, None] - part) / (values[:, None] + part)) ** 2
        difference[values[:, None] == part] = 0.0  # 0 and 0
        outer += ((margins @ difference) * margins[:, begin : begin + step]).sum(axis=1)
    return outer


def unit_weights(
    n: Floats, rng: np.random.Generator, n_resamples: int, cluster: Ints | None = None
) -> Iterator[NDArray[Any]]:
    """Draw units, or clusters of units, with replacement: how often each pattern is drawn, a block at a time.

    Parameters
    ----------
    n : (Q,) float array
        How many units show each pattern; whole numbers.
    rng : numpy.random.Generator
        Source of randomness.
    n_resamples : int
        B, over all blocks.
    cluster : (Q,) int array, optional
        Cluster of each pattern, 0 to K - 1: clusters are drawn whole.

    Yields
    ------
    (b, Q) array
    """
    whole = np.rint(n).astype(np.int64)
    drawn = int(whole.sum()) if cluster is None else int(cluster.max(initial=-1)) + 1
    if cluster is None and whole.size * 20 < drawn:
        step = max(_HELD // max(whole.size, 1), 1)
        for begin in range(0, n_resamples, step):
            yield multinomial_totals(n, rng, min(step, n_resamples - begin))
        return
    of_unit = np.repeat(np.arange(whole.size), whole) if cluster is None else None
    step = max(_HELD // max(drawn, whole.size, 1), 1)
    for begin in range(0, n_resamples, step):
        size = min(step, n_resamples - begin)
        index = rng.integers(0, drawn, size=(size, drawn))
        if cluster is None:
            yield _times(of_unit[index], whole.size)  # type: ignore[index]
        else:
            yield _times(index, drawn)[:, cluster] * whole


def _times(index: Ints, size: int) -> NDArray[Any]:
    rows = index + np.arange(len(index))[:, None] * size
    return np.bincount(rows.ravel(), minlength=len(index) * size).reshape(len(index), size)
