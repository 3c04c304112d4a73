"""Bootstrap of counts: clusters are drawn with replacement and their counts added up, never rows."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrik, ndtr, ndtri, stdtrit

from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.compiling import TwoForms, njit
from judgestats.typing import Floats, Integers, Ints

#: Draws held in memory at a time.
_DRAWS = 2**22
#: Numbers counted at a time, which a processor's cache holds.
_COUNTED = 2**16
#: More patterns than this, of one row each: counting which are drawn is ten times faster than a binomial for each.
_MANY = 1000
#: At most so many kinds of clusters with the same counts are drawn by kind.
_KINDS = 100
#: A product of so many multiplications is worth looking for a faster way.
_LARGE = 2**26
#: From more columns of counts a product with how often each cluster is drawn is faster than adding up what is drawn.
_WIDE = 40


def generator(seed: int | np.random.Generator | None, key: tuple[str, ...]) -> np.random.Generator:
    """Generator of one group, named by `key`, so that another group in the data does not change its draws."""
    if seed is None or isinstance(seed, np.random.Generator):
        return np.random.default_rng(seed)
    return np.random.default_rng([seed, zlib.crc32("\x1f".join(key).encode())])


def cluster_index(rng: np.random.Generator, n_clusters: int, n_resamples: int) -> Ints:
    """Draw which of G clusters each of B resamples holds, (B, G)."""
    return rng.integers(0, n_clusters, size=(n_resamples, n_clusters))


def _draws(rng: np.random.Generator, n_clusters: int, n_resamples: int, size: int) -> Iterator[tuple[slice, Ints]]:
    """Some resamples at a time, of whose draws a processor's cache holds the counts: `size` of each."""
    step = max(_COUNTED // max(size, n_clusters, 1), 1)
    for start in range(0, n_resamples, step):
        rows = cluster_index(rng, n_clusters, min(step, n_resamples - start))
        yield slice(start, start + len(rows)), rows


def _times_arrays(index: Integers, times: Floats) -> None:
    size = times.shape[1]
    place = index + size * np.arange(len(index))[:, None]
    times[:] = np.bincount(place.ravel(), minlength=times.size).reshape(times.shape)


@njit(cache=True)
def _times(index, times):  # type: ignore[no-untyped-def]
    times[:] = 0.0
    for b in range(index.shape[0]):
        for i in range(index.shape[1]):
            times[b, np.uint64(index[b, i])] += 1.0


#: Writes how often each number is drawn (b, K), of draws (b, G).
TIMES = TwoForms(_times_arrays, _times)


def times_drawn(
    rng: np.random.Generator, n_clusters: int, n_resamples: int, kind: Integers | None = None, n_kinds: int = 0
) -> Floats:
    """How often each of G clusters is drawn in each resample, (B, G), as by :func:`cluster_index`.

    With `kind` (G,), 0 to K - 1, how often one of each kind is drawn, (B, K).
    """
    size, count = n_clusters if kind is None else n_kinds, TIMES.of(n_clusters)
    times = np.empty((n_resamples, size))
    for part, rows in _draws(rng, n_clusters, n_resamples, size):
        count(rows if kind is None else kind[rows], times[part])
    return times


def weighted_totals(weights: Floats, sums: Floats) -> Floats:
    """Sums (B, ...) of each resample: `weights` (B, O), whole numbers, times `sums` (O, ...).

    Quarters of small whole numbers, as products of scores are, add up exactly in single precision, in half the time.
    """
    flat = sums.reshape(len(sums), -1)
    if (
        weights.size * flat.shape[1] > _LARGE
        and max(flat.max(), -flat.min()) * weights.sum(axis=1).max() < 2**22
        and ((quarters := 4 * flat) == np.rint(quarters)).all()
    ):
        totals = (weights.astype(np.float32) @ flat.astype(np.float32)).astype(np.float64)
    else:
        totals = weights @ flat
    return totals.reshape(len(weights), *sums.shape[1:])


def _totals_arrays(columns, index, totals):  # type: ignore[no-untyped-def]
    times = np.empty((len(index), columns.shape[1]))
    _times_arrays(index, times)
    totals[:] = times @ columns.T


@njit(cache=True, fastmath={"reassoc"})
def _totals(columns, index, totals):  # type: ignore[no-untyped-def]
    times = np.empty(columns.shape[1])
    for b in range(index.shape[0]):
        times[:] = 0.0
        for i in range(index.shape[1]):
            times[np.uint64(index[b, i])] += 1.0
        for c in range(columns.shape[0]):
            total = 0.0
            for g in range(times.size):
                total += times[g] * columns[c, g]
            totals[b, c] = total


#: Writes the sums (b, P) of columns (P, G) over the clusters drawn (b, G).
TOTALS = TwoForms(_totals_arrays, _totals)


def resampled_totals(counts: Floats, rng: np.random.Generator, n_resamples: int) -> Floats:
    """Counts (B, P) of each resample of the clusters, whose counts are (G, P)."""
    clusters, width = counts.shape
    if width > _WIDE:
        return weighted_totals(times_drawn(rng, clusters, n_resamples), counts)
    columns, add = np.array(counts.T, dtype=np.float64, order="C"), TOTALS.of(clusters)
    totals = np.empty((n_resamples, width))
    for part, rows in _draws(rng, clusters, n_resamples, clusters):
        add(columns, rows, totals[part])
    return totals


def cluster_totals(
    counts: Floats, rng: np.random.Generator, n_resamples: int, strata: Integers | None = None
) -> Floats:
    """Counts (B, P) of each resample of the clusters (G, P), drawn within `strata` (G,) where there are any.

    A few million draws are held at a time. Of many clusters with few distinct counts, the number of each kind is drawn.
    """
    members = [np.arange(len(counts))] if strata is None else [np.flatnonzero(strata == s) for s in np.unique(strata)]
    used = np.flatnonzero((counts != 0).any(axis=0))
    totals = np.zeros((n_resamples, used.size))
    for group in members:
        own = np.ascontiguousarray(counts[group][:, used], dtype=np.float64)
        if len(own) > _MANY and (distinct := _kinds(own)) is not None:
            kinds, alike = distinct
            totals += multinomial_totals(alike, rng, n_resamples) @ kinds
            continue
        step = max(_DRAWS // max(len(own), 1), 1)
        for start in range(0, n_resamples, step):
            chunk = totals[start : start + step]
            chunk += resampled_totals(own, rng, len(chunk))
    result = np.zeros((n_resamples, counts.shape[1]))
    result[:, used] = totals
    return result


def _kinds(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Distinct rows in their order, and how many there are of each; None if they are many."""
    halves = 2 * counts
    size = halves.max(axis=0, initial=0.0) + 1
    place = np.append(np.cumprod(size[:0:-1])[::-1], 1.0)[: size.size]  # of each column in one number for a row
    if (halves < 0).any() or (halves != np.rint(halves)).any() or size.prod() > 2**53:
        ordered = counts[np.lexsort(counts.T[::-1])]
        begin = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
        kinds, alike = ordered[begin], np.diff(begin, append=len(ordered))
    else:
        number, alike = np.unique(halves @ place, return_counts=True)
        kinds = number[:, None] // place % size / 2
    return (kinds, alike.astype(float)) if len(kinds) <= _KINDS else None


def multinomial_totals(
    counts: Floats, rng: np.random.Generator, n_resamples: int, strata: Integers | None = None
) -> Floats:
    """Counts (B, P) of resamples of independent rows, given as whole numbers `counts` (P,) of identical rows.

    Equivalent to drawing rows (within `strata` (P,) if any), at a cost that does not depend on their number.
    """
    whole = np.rint(counts).astype(np.int64)
    if strata is not None:
        totals = np.zeros((n_resamples, whole.size))
        for stratum in np.unique(strata):
            totals[:, strata == stratum] = multinomial_totals(whole[strata == stratum], rng, n_resamples)
        return totals
    if not whole.size:
        return np.zeros((n_resamples, 0))
    if whole.size > _MANY and (whole == 1).all():
        resampled = times_drawn(rng, whole.size, n_resamples)
    else:
        resampled = rng.multinomial(whole.sum(), whole / max(whole.sum(), 1), n_resamples).astype(float)
    return resampled


def _two_way_arrays(start, column, counts, row_weight, column_weight):  # type: ignore[no-untyped-def]
    row, totals = np.repeat(np.arange(start.size - 1), np.diff(start)), np.empty((len(row_weight), counts.shape[1]))
    step = max(_COUNTED // max(column.size, 1), 1)
    for b in range(0, len(totals), step):
        totals[b : b + step] = (row_weight[b : b + step, row] * column_weight[b : b + step, column]) @ counts
    return totals


@njit(cache=True)
def _two_way(start, column, counts, row_weight, column_weight):  # type: ignore[no-untyped-def]
    resamples, rows = row_weight.shape
    width = counts.shape[1]
    totals = np.zeros((resamples, width))
    inner = np.empty(width)
    for b in range(resamples):
        for r in range(rows):
            if row_weight[b, r] == 0:
                continue
            inner[:] = 0.0
            for c in range(start[r], start[r + 1]):
                w = column_weight[b, column[c]]
                for p in range(width):
                    inner[p] += w * counts[c, p]
            for p in range(width):
                totals[b, p] += row_weight[b, r] * inner[p]
    return totals


#: Sums (B, P) over the cells of crossed factors, times the weights of their row and column.
TWO_WAY = TwoForms(_two_way_arrays, _two_way)


def two_way_totals(
    row: Integers, column: Integers, counts: Floats, rng: np.random.Generator, n_resamples: int
) -> Floats:
    """Counts (B, P) of each resample when both factors of a crossed design are drawn, from counts (C, P) of its cells.

    A cell counts as often as its row was drawn, times as often as its column was: the pigeonhole bootstrap (Owen 2007,
    Annals of Applied Statistics 1, 386-411). It is conservative, its variance at most about that of the row effect, the
    column effect and three times the rest.
    """
    n_rows, n_columns = (int(x.max()) + 1 if x.size else 0 for x in (row, column))
    order = np.argsort(row, kind="stable")
    column = np.ascontiguousarray(column[order], dtype=np.int64)
    counts = np.ascontiguousarray(counts[order], dtype=np.float64)
    begin = np.searchsorted(row[order], np.arange(n_rows + 1))
    step = max(_DRAWS // max(n_rows + n_columns, 1), 1)
    totals = np.zeros((n_resamples, counts.shape[1]))
    for start in range(0, n_resamples, step):
        chunk = totals[start : start + step]
        weights = [times_drawn(rng, levels, len(chunk)) for levels in (n_rows, n_columns)]
        chunk[:] = TWO_WAY.of(column.size)(begin, column, counts, *weights)
    return totals


def percentile_interval(
    draws: Floats, conf_level: float = CONF_LEVEL, units: float | None = None
) -> tuple[float, float]:
    """Percentile interval of bootstrap draws (B,), infinite ones (censored estimates) included: order statistics.

    With `units`, the number resampled, the expanded one, which reaches as far into the tails as t in place of a normal
    with the standard deviation divided by n: Hesterberg, T. C. (2015), The American Statistician 69, 371-386, Section
    5.3.
    """
    defined = draws[~np.isnan(draws)]
    if not defined.size or (units is not None and units < 2):
        return float("nan"), float("nan")
    tail = (1 - conf_level) / 2
    if units is not None:
        tail = float(ndtr(stdtrit(units - 1, tail) * math.sqrt(units / (units - 1))))
    low, high = np.quantile(defined, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)


def student_interval(
    draws: Floats,
    estimate: float,
    units: float,
    conf_level: float = CONF_LEVEL,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[float, float, float, float]:
    """Standard error, bias and Student's interval of bootstrap draws (B,) of G `units`, within `limits`.

    G is the effective number of clusters that are drawn; the error has the divisor G - 1. The interval reaches farther
    by the bias to the side that the estimate has to be corrected to. (A percentile interval moves with the bias of the
    draws, twice as far from the truth as the estimate.) NaN for one unit, fewer than two draws, and where a draw is
    infinite.
    """
    defined = draws[~np.isnan(draws)]
    if units <= 1 or defined.size < 2 or not np.isfinite(defined).all():
        return math.nan, math.nan, math.nan, math.nan
    error = float(defined.std(ddof=1)) * math.sqrt(units / (units - 1))
    bias = float(defined.mean()) - estimate
    half = float(stdtrit(units - 1, (1 + conf_level) / 2)) * error
    low, high = estimate - half - max(bias, 0.0), estimate + half - min(bias, 0.0)
    return error, bias, min(max(low, limits[0]), estimate), max(min(high, limits[1]), estimate)


def bca_interval(
    draws: Floats, estimate: float, influence: Floats, conf_level: float = CONF_LEVEL, weight: Floats | None = None
) -> tuple[float, float]:
    """Bias-corrected and accelerated interval of bootstrap draws (B,); NaN where they do not vary or are too skewed.

    `influence` (G,): of each unit that was drawn, with mean 0: the mean of the estimates without one unit minus the
    estimate without it; by stratum times its size minus 1, over its size. `weight` (G,): units of each value. Efron, B.
    (1987). Journal of the American Statistical Association 82, 171-185; Davison and Hinkley (1997), Section 5.3.
    """
    defined = draws[~np.isnan(draws)]
    weight = np.ones(influence.size) if weight is None else weight
    tied = np.abs(defined - estimate) <= 1e-12 * max(1.0, abs(estimate))  # the same units, added up in another order
    below = ((defined < estimate)[~tied].sum() + tied.sum() / 2) / max(defined.size, 1)
    spread = float((weight * influence**2).sum())
    if not defined.size or not 0 < below < 1 or not spread > 0:
        return math.nan, math.nan
    acceleration = float((weight * influence**3).sum()) / (6 * spread**1.5)
    bias = float(ndtri(below))
    tail = (1 - conf_level) / 2
    z = bias + ndtri(np.array([tail, 1 - tail]))
    stretch = 1 - acceleration * z
    if not (stretch > 0).all():
        return math.nan, math.nan
    levels = ndtr(bias + z / stretch)
    whole = np.isfinite(defined).all()
    low, high = np.quantile(defined, levels) if whole else np.quantile(defined, levels, method="inverted_cdf")
    return float(low), float(high)


def binomial_interval(k: float, n: float, conf_level: float = CONF_LEVEL) -> tuple[float, float]:
    """Percentile bootstrap interval of k of n independent rows, in closed form: what infinitely many resamples give."""
    if not n > 0:
        return math.nan, math.nan
    p, tail, n = k / n, (1 - conf_level) / 2, round(n)
    if p in (0.0, 1.0):
        return p, p
    ends = []
    for q in (tail, 1 - tail):
        x = math.ceil(bdtrik(q, n, p))
        ends.append(x - 1 if x > 0 and bdtr(x - 1, n, p) >= q else x)
    return ends[0] / n, ends[1] / n
