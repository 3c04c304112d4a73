"""Cells of judges by systems: what own cells are measured against, the spread of the others.

A judge likes some systems more than other judges do, its own by chance among them. A contrast of a judge's own cells
with its others varies as the cells do, however many calls are behind them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from judgestats.kernels.proportions import quotient
from judgestats.typing import Floats, Integers, Mask


class CellSpread(NamedTuple):
    """Variance of a cell, from the residuals of other cells; NaN where there are none."""

    variance: float
    df: float

    def error(self, weight: Floats) -> float:
        """Standard error of a weighted sum of independent cells."""
        return math.sqrt(self.variance * float(weight @ weight))


class JudgeTable(NamedTuple):
    """Cells of judges by systems."""

    value: Floats  # (P,)
    judge: Integers  # (P,), codes
    system: Integers  # (P,), codes
    own: Mask  # (P,): whether the system is the judge's own

    def where(self, rows: Mask) -> JudgeTable:
        """Some of the cells."""
        return JudgeTable(self.value[rows], self.judge[rows], self.system[rows], self.own[rows])

    def _within(self, columns: Floats) -> Floats:
        """Columns (P,) or (P, k) less their means by system."""
        size = np.bincount(self.system)
        sums = np.zeros((size.size, *columns.shape[1:]))
        np.add.at(sums, self.system, columns)
        return np.asarray(columns - (sums.T / np.maximum(size, 1)).T[self.system])

    def beside_peers(self, weight: Floats) -> Floats:
        """Weights (P,) of a sum of one judge's cells less the same of its peers: each less the mean of theirs."""
        size = np.bincount(self.system)[self.system].astype(np.float64)
        return quotient(size, size - 1.0, size > 1) * self._within(weight)

    def spread(self) -> CellSpread:
        """After effects of judges, of systems and of what is each judge's own: (J - 1)(S - 1) - J degrees of freedom.

        So it is in a complete table in which each of J judges has a system of its own, J² - 3J + 1 if these are all.
        """
        judges = np.eye(int(self.judge.max(initial=0)) + 1)[self.judge]
        effects = self._within(np.hstack([judges, judges * self.own[:, None]]))
        value = self._within(self.value)
        at, _, rank, _ = np.linalg.lstsq(effects, value, rcond=1e-10)
        df = value.size - np.unique(self.system).size - int(rank)
        residuals = value - effects @ at
        return CellSpread(float(residuals @ residuals) / df if df else math.nan, float(df))

    def spread_of_one(self) -> CellSpread:
        """Of one judge: about the means of its own cells and of the others."""
        sides = [self.value[side] for side in (self.own, ~self.own) if side.any()]
        df = self.value.size - len(sides)
        squares = sum(float(((x - x.mean()) ** 2).sum()) for x in sides)
        return CellSpread(squares / df if df else math.nan, float(df))


def net_scores(one: Integers, other: Integers, net: Floats, n: Floats, systems: int) -> Floats:
    """Scores (S,) whose differences come closest to the means `net` of `n` comparisons of two systems, (P,) each.

    Their sum is 0; a system that was not compared has NaN.
    """
    laplacian, total = np.zeros((systems, systems)), np.zeros(systems)
    for side, opposite in ((one, other), (other, one)):
        np.add.at(laplacian, (side, side), n)
        np.add.at(laplacian, (side, opposite), -n)
    np.add.at(total, one, n * net)
    np.add.at(total, other, -n * net)
    return np.where(np.diag(laplacian) > 0, np.linalg.pinv(laplacian, hermitian=True) @ total, math.nan)
