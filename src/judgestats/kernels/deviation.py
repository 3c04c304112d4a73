"""Runs of a cell -> its mean; means of a cell -> each judge's deviation from the others; deviations -> cluster sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.compiling import njit
from judgestats.typing import Floats, Ints


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
    """Values of units, each of which goes into the mean of a pair; an empty weight is 1 each."""

    pair: NDArray[np.int32]  # pair, cell (U,): the mean that it goes into, and the cell that it is of
    cell: NDArray[np.int32]
    value: Floats  # value, weight (U,)
    weight: Floats


class PairMeans(NamedTuple):
    """Means of pairs, that estimates of owners are made of."""

    owner: Ints  # (P,)
    centre: Floats  # (P,): the mean
    scale: Floats  # (P,): what the estimate takes it times, over its sum of weights


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


def cell_means(unit: NDArray[np.int32], score: Floats, weight: Ints, n_units: int) -> CellMeans:
    """Average the runs (N,) of each of U units, NaN counted apart; an empty `weight` is 1 each."""
    mean = np.full(n_units, np.nan)
    squares = np.zeros(n_units)
    runs, missing = np.zeros(n_units, np.int64), np.zeros(n_units, np.int64)
    _cell_means(unit, score, weight, mean, squares, runs, missing)
    return CellMeans(mean, squares, runs, missing)


def consensus(cell: NDArray[np.int32], score: Floats, n_cells: int, *, exclude_self: bool = True) -> Consensus:
    """Deviate each judge's score in a cell from the mean of the other judges there (merchant_risk paper, Sec 4.1).

    `cell`, `score` (U,): a judge comes once in a cell. Without `exclude_self` the deviation, from the mean of all,
    shrinks by (n - 1)/n. Within a cell the deviations sum to 0.
    """
    scored = ~np.isnan(score)
    present = np.bincount(cell[scored], minlength=n_cells)
    total, others = np.bincount(cell[scored], score[scored], n_cells), present - exclude_self
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = score - (total[cell] - (score if exclude_self else 0.0)) / others[cell]
    return Consensus(np.where(present[cell] > 1, deviation, np.nan), present)


def weighted_means(owner: NDArray[np.int32], value: Floats, weight: Floats, n_owners: int) -> tuple[Floats, Floats]:
    """Weighted means (P,) of the values (U,) of each owner, without NaN, and sums of weights; empty: 1 each."""
    has_value = ~np.isnan(value)
    owner, value = owner[has_value], value[has_value]
    weight = weight[has_value] if weight.size else np.ones(value.size)
    total, size = (np.bincount(owner, w, n_owners).astype(np.float64) for w in (weight * value, weight))
    with np.errstate(divide="ignore", invalid="ignore"):
        return total / size, size


def cluster_scores(
    units: UnitValues, means: PairMeans, cluster: NDArray[np.int32], n_owners: int, n_clusters: int
) -> tuple[Floats, Floats]:
    """Influence (n_owners, n_clusters) of each cluster on linear estimates of owners, and sums of squared coefficients.

    `cluster` (C,): of each cell. The sums are above 0 where a value went in.
    """
    used = (means.scale[units.pair] != 0) & ~np.isnan(units.value)
    pair, size = units.pair[used], n_owners * n_clusters
    scale, code = means.scale[pair], means.owner[pair] * n_clusters + cluster[units.cell[used]]
    weight = scale * units.weight[used] if units.weight.size else scale
    added = weight * (units.value[used] - means.centre[pair]), scale * weight
    scores, squares = (np.bincount(code, x, size).astype(np.float64).reshape(n_owners, n_clusters) for x in added)
    return scores, squares
