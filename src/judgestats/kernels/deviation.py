"""Runs of a cell -> its mean; means of a cell -> each judge's deviation from the others; deviations -> cluster sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgestats.kernels.compiling import TwoForms, njit
from judgestats.typing import Floats, Integers, Ints


@dataclass(frozen=True)
class CellMeans:
    """Runs of each unit (a judge in a cell), summed up."""

    mean: Floats  # (U,): mean score; NaN without a score
    squares: Floats  # (U,): sum of squared distances from the mean, by Welford's update
    runs: Ints  # (U,): scores behind the mean
    missing: Ints  # (U,): scores that were NaN


@dataclass(frozen=True)
class Consensus:
    """Deviations from the other judges of the same cell."""

    deviation: Floats  # (U,): NaN where the judge gave no score, or is alone
    present: Ints  # (C,): judges with a score in each cell


class UnitValues(NamedTuple):
    """Values of units, averaged within pairs; an empty weight is 1 for each unit."""

    pair: Integers  # pair, cell (U,): the mean that it goes into, and the cell that it is of
    cell: Integers
    value: Floats  # value, weight (U,)
    weight: Floats


class PairMeans(NamedTuple):
    """Means of pairs, which are combined to the estimates of owners."""

    owner: Ints  # (P,)
    centre: Floats  # (P,): the mean
    scale: Floats  # (P,): what the estimate takes it times, over its sum of weights


def _cell_means_arrays(unit, score, weight, mean, squares, runs, missing):  # type: ignore[no-untyped-def]
    lacking, weight = np.isnan(score), weight if weight.size else np.ones(unit.size)
    missing[:] = np.bincount(unit[lacking], weight[lacking], mean.size)
    used = ~lacking & (weight != 0)
    unit, score, weight = unit[used], score[used], weight[used]
    runs[:] = np.bincount(unit, weight, mean.size)
    mean[unit[::-1]] = score[::-1]  # the first run, the origin: that of runs alike is their mean
    mean += np.bincount(unit, weight * (score - mean[unit]), mean.size) / runs
    squares[:] = np.bincount(unit, weight * (score - mean[unit]) ** 2, mean.size)


@njit(cache=True)
def _cell_means(unit, score, weight, mean, squares, runs, missing):  # type: ignore[no-untyped-def]
    for i in range(unit.size):
        u = unit[i]
        w = weight[i] if weight.size else 1
        if w == 0:
            continue
        if np.isnan(score[i]):
            missing[u] += w
            continue
        if runs[u] == 0:
            mean[u] = 0.0
        runs[u] += w
        step = score[i] - mean[u]
        mean[u] += step * (w / runs[u])  # a first run, however often, is its own mean
        squares[u] += w * step * (score[i] - mean[u])


#: Writes the mean of the runs of each unit, the sum of squares about it, and the numbers of runs and of NaN.
CELL_MEANS = TwoForms(_cell_means_arrays, _cell_means)


def cell_means(unit: Integers, score: Floats, weight: Ints, n_units: int) -> CellMeans:
    """Mean of the runs (N,) of each of U units, with NaN counted separately; an empty `weight` is 1 for each run."""
    mean = np.full(n_units, np.nan)
    squares = np.zeros(n_units)
    runs, missing = np.zeros(n_units, np.int64), np.zeros(n_units, np.int64)
    with np.errstate(invalid="ignore"):
        CELL_MEANS.of(unit.size)(unit, score, weight, mean, squares, runs, missing)
    return CellMeans(mean, squares, runs, missing)


def _consensus_arrays(cell, score, n_cells, exclude_self):  # type: ignore[no-untyped-def]
    scored = ~np.isnan(score)
    present = np.bincount(cell[scored], minlength=n_cells)
    total, others = np.bincount(cell[scored], score[scored], n_cells)[cell], (present - exclude_self)[cell]
    deviation = score - (total - score if exclude_self else total) / others
    return np.where(present[cell] < 2, np.nan, deviation), present


@njit(cache=True)
def _leave_one_out(value, total, present, exclude_self):  # type: ignore[no-untyped-def]
    if present < 2:
        return np.nan
    if exclude_self:
        return value - (total - value) / (present - 1)
    return value - total / present


@njit(cache=True)
def _consensus(cell, score, n_cells, exclude_self):  # type: ignore[no-untyped-def]
    total = np.zeros(n_cells)
    present = np.zeros(n_cells, np.int64)
    for u in range(cell.size):
        if not np.isnan(score[u]):
            total[cell[u]] += score[u]
            present[cell[u]] += 1
    deviation = np.empty(cell.size)
    for u in range(cell.size):
        c = cell[u]
        deviation[u] = _leave_one_out(score[u], total[c], present[c], exclude_self)
    return deviation, present


#: Deviations from the consensus (U,), and the judges present (C,).
CONSENSUS = TwoForms(_consensus_arrays, _consensus)


def consensus(cell: Integers, score: Floats, n_cells: int, *, exclude_self: bool = True) -> Consensus:
    """Deviate each judge's score in a cell from the mean of the other judges there (merchant_risk paper, Sec 4.1).

    `cell`, `score` (U,): a judge comes once in a cell. Without `exclude_self` the deviation, from the mean of all,
    shrinks by (n - 1)/n. Within a cell the deviations sum to 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation, present = CONSENSUS.of(cell.size)(cell, score, n_cells, exclude_self)
    return Consensus(deviation, present)


def _weighted_sums_arrays(owner, value, weight, n_owners):  # type: ignore[no-untyped-def]
    used = ~np.isnan(value)
    owner, value, weight = owner[used], value[used], weight[used] if weight.size else np.ones(np.count_nonzero(used))
    total, size = (np.bincount(owner, x, n_owners).astype(np.float64) for x in (weight * value, weight))
    return total, size


@njit(cache=True)
def _weighted_sums(owner, value, weight, n_owners):  # type: ignore[no-untyped-def]
    total = np.zeros(n_owners)
    size = np.zeros(n_owners)
    for u in range(owner.size):
        if not np.isnan(value[u]):
            w = weight[u] if weight.size else 1.0
            total[owner[u]] += w * value[u]
            size[owner[u]] += w
    return total, size


#: Weighted sums of the values of owners, and sums of weights, each (P,).
WEIGHTED_SUMS = TwoForms(_weighted_sums_arrays, _weighted_sums)


def weighted_means(owner: Integers, value: Floats, weight: Floats, n_owners: int) -> tuple[Floats, Floats]:
    """Weighted means (P,) of the values (U,) of each owner, without NaN, and sums of weights; empty: 1 each."""
    total, size = WEIGHTED_SUMS.of(owner.size)(owner, value, weight, n_owners)
    with np.errstate(divide="ignore", invalid="ignore"):
        return total / size, size


def _cluster_scores_arrays(units, means, cluster, width, n_codes):  # type: ignore[no-untyped-def]
    used = (means.scale[units.pair] != 0) & ~np.isnan(units.value)
    pair, value = units.pair[used], units.value[used]
    scale, weight = means.scale[pair], units.weight[used] if units.weight.size else 1.0
    code = means.owner[pair] * width + cluster[units.cell[used]]
    added = scale * weight * (value - means.centre[pair]), scale * scale * weight
    scores, size = (np.bincount(code, x, n_codes).astype(np.float64) for x in added)
    return scores, size


@njit(cache=True)
def _cluster_scores(units, means, cluster, width, n_codes):  # type: ignore[no-untyped-def]
    pair, cell, value, weight = units
    owner, centre, scale = means
    scores = np.zeros(n_codes)
    size = np.zeros(n_codes)
    for u in range(pair.size):
        p = pair[u]
        if scale[p] == 0 or np.isnan(value[u]):
            continue
        code = owner[p] * width + cluster[cell[u]]
        w = weight[u] if weight.size else 1.0
        scores[code] += scale[p] * w * (value[u] - centre[p])
        size[code] += scale[p] * scale[p] * w
    return scores, size


#: Sums of influence and of squared coefficients by owner and cluster.
CLUSTER_SCORES = TwoForms(_cluster_scores_arrays, _cluster_scores)


def cluster_scores(
    units: UnitValues, means: PairMeans, cluster: Integers, n_owners: int, n_clusters: int
) -> tuple[Floats, Floats]:
    """Influence (n_owners, n_clusters) of each cluster on linear estimates of owners, and sums of squared coefficients.

    `cluster` (C,): of each cell. The sums are above 0 where a value went in.
    """
    sums = CLUSTER_SCORES.of(units.pair.size)
    scores, size = sums(units, means, cluster, n_clusters, n_owners * n_clusters)
    shape = (n_owners, n_clusters)
    return scores.reshape(shape), size.reshape(shape)
