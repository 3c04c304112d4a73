"""Runs of a cell -> its mean; means of a cell -> each judge's deviation from the others; deviations -> cluster sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.compiling import njit


@dataclass(frozen=True)
class CellMeans:
    """Runs of each unit (a judge in a cell), summed up."""

    mean: NDArray[np.float64]  # (U,): mean score; NaN without a score
    squares: NDArray[np.float64]  # (U,): sum of squared distances from the mean, by Welford's update
    runs: NDArray[np.int64]  # (U,): scores behind the mean
    missing: NDArray[np.int64]  # (U,): scores that were NaN


@dataclass(frozen=True)
class Consensus:
    """Deviations from the other judges of the same cell."""

    deviation: NDArray[np.float64]  # (U,): NaN where the judge gave no score, or is alone
    present: NDArray[np.int64]  # (C,): judges with a score in each cell


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


def cell_means(
    unit: NDArray[np.int32],
    score: NDArray[np.float64],
    weight: NDArray[np.int64],
    n_units: int,
) -> CellMeans:
    """Average the runs of each unit.

    `unit` (N,): unit of each row, 0 to U - 1. `score` (N,): NaN is excluded and counted. `weight` (N,): number of
    identical rows per row; empty for one each. `n_units`: u.
    """
    mean = np.full(n_units, np.nan)
    squares = np.zeros(n_units)
    runs, missing = np.zeros(n_units, np.int64), np.zeros(n_units, np.int64)
    _cell_means(unit, score, weight, mean, squares, runs, missing)
    return CellMeans(mean, squares, runs, missing)


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


def consensus(
    cell: NDArray[np.int32], score: NDArray[np.float64], n_cells: int, *, exclude_self: bool = True
) -> Consensus:
    """Deviate each judge's score in a cell from the mean of the other judges there (merchant_risk paper, Sec 4.1).

    `cell` (U,): cell of each unit, 0 to C - 1: what was judged. Each judge comes once in a cell. `score` (U,): the
    judge's (mean) score; NaN if missing. `n_cells`: c. `exclude_self`: False deviates from the mean of all judges, the
    judge included, which shrinks by (n - 1)/n.

    Within a cell the deviations sum to 0.
    """
    deviation, present = _consensus(cell, score, n_cells, exclude_self)
    return Consensus(deviation, present)


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


def weighted_means(
    owner: NDArray[np.int32], value: NDArray[np.float64], weight: NDArray[np.float64], n_owners: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weighted mean of the values of each owner, NaN values left out.

    `owner` (U,): owner of each value, 0 to P - 1. `value` (U,): values. `weight` (U,): weights; empty for 1 each.
    `n_owners`: P. Returns `mean, size` (P,): means (NaN without a value) and sums of weights.
    """
    total, size = _weighted_sums(owner, value, weight, n_owners)
    with np.errstate(divide="ignore", invalid="ignore"):
        return total / size, size


@njit(cache=True)
def _cluster_scores(unit_pair, unit_cell, owner, cluster, value, centre, scale, weight, width, n_codes):  # type: ignore[no-untyped-def]
    scores = np.zeros(n_codes)
    touched = np.zeros(n_codes, np.bool_)
    for u in range(unit_pair.size):
        p = unit_pair[u]
        if scale[p] == 0 or np.isnan(value[u]):
            continue
        code = owner[p] * width + cluster[unit_cell[u]]
        w = weight[u] if weight.size else 1.0
        scores[code] += scale[p] * w * (value[u] - centre[p])
        touched[code] = True
    return scores, touched


def cluster_scores(
    pair: NDArray[np.int32],
    cell: NDArray[np.int32],
    owner: NDArray[np.int64],
    cluster: NDArray[np.int32],
    value: NDArray[np.float64],
    centre: NDArray[np.float64],
    scale: NDArray[np.float64],
    weight: NDArray[np.float64],
    n_owners: int,
    n_clusters: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Sum the influence of each cluster on linear estimates of each owner.

    `pair`, `cell` (U,): which mean (pair) a value goes into, and the cell it lies in. `owner` (P,): owner of each pair,
    0 to n_owners - 1: the estimate that the pair's mean goes into. `cluster` (C,): cluster of each cell, 0 to
    n_clusters - 1. `value` (U,): values; NaN is left out. `centre` (P,): mean of each pair. `scale` (P,): weight of the
    pair's mean in the estimate over the pair's sum of weights; 0 leaves the pair out. `weight` (U,): weights of the
    values; empty for 1 each. `n_owners`, `n_clusters`: sizes of the result. Returns `scores` (n_owners, n_clusters):
    ``sum of scale * weight * (value - centre)``; the variance of an estimate is G/(G - 1) times the sum of its squared
    scores, over G clusters. `touched` (n_owners, n_clusters): whether any value went in.
    """
    scores, touched = _cluster_scores(
        pair, cell, owner, cluster, value, centre, scale, weight, n_clusters, n_owners * n_clusters
    )
    shape = (n_owners, n_clusters)
    return scores.reshape(shape), touched.reshape(shape)
