"""What the reader must be told of a deviation: flags per judge x system pair, and so per estimate made of pairs."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.metrics.consensus.panel import Panel
from judgestats.metrics.consensus.uncertainty import FROM_RUNS
from judgestats.results import CONSTANT, FEW_CLUSTERS, NO_DATA, SINGLE_RUN

Mask = NDArray[np.bool_]

AVERAGED = "replicates averaged"
NO_PEER = "no other judge"
SOME_ALONE = "no other judge in some cells"
INCOMPLETE = "judges missing in some cells"
ASIDE = "missing scores set aside"
NO_REFERENCE = "no reference"
SOME_WITHOUT = "no reference in some cells"
EXACT_REFERENCE = "reference taken as exact"
INDEPENDENT = "criteria taken as independent"
NO_SD = "sd unknown"


class Doubts:
    """What to be told of each pair, and so of every estimate that the pair goes into."""

    def __init__(self, data: Panel) -> None:
        table, cell = data.table, data.table.cell
        runs, missing = table.runs, table.missing
        scored = ~np.isnan(table.mean)
        with_deviation = data.items > 0
        lost = self._any(data, scored & np.isnan(data.deviation))
        short = data.present < self._judges_of_group(data)[data.group_cell]
        none, some = (NO_REFERENCE, SOME_WITHOUT) if data.reference.used else (NO_PEER, SOME_ALONE)
        self.masks: dict[str, Mask] = {
            NO_DATA: ~with_deviation & ~lost,
            none: ~with_deviation & lost,
            some: with_deviation & lost,
            AVERAGED: self._any(data, runs > 1),
            ASIDE: self._any(data, missing > 0),
            INCOMPLETE: np.zeros(data.n_pairs, bool)
            if data.reference.used
            else (self._any(data, short[cell] & scored) if short.any() else np.zeros(data.n_pairs, bool)),
        }
        self.data = data
        self.many_criteria = self._any(data, data.share < 1) if data.share.size else np.zeros(data.n_pairs, dtype=bool)

    @cached_property
    def single_run(self) -> Mask:
        """Pairs with a unit of one run."""
        return self._any(self.data, self.data.table.runs == 1)

    @staticmethod
    def _any(data: Panel, mask: Mask) -> Mask:
        found = np.zeros(data.n_pairs, dtype=bool)
        if mask.any():
            found[data.pair if mask.all() else data.pair[mask]] = True
        return found

    @staticmethod
    def _judges_of_group(data: Panel) -> NDArray[np.int64]:
        pairs = np.unique(np.stack([data.pair_group, data.pair_judge]), axis=1)
        return np.bincount(pairs[0], minlength=data.n_groups)

    def of(self, taken: Any) -> list[str]:
        """Flags of an estimate made from these pairs."""
        return [name for name, mask in self.masks.items() if mask[taken].any()]

    def of_pairs(self) -> list[list[str]]:
        """Flags of every pair; pairs without any share one empty list."""
        told: list[list[str]] = [[]] * self.data.n_pairs
        for name, mask in self.masks.items():
            for p in np.flatnonzero(mask):
                told[p] = [*told[p], name]
        return told

    def of_interval(self, taken: Any, variance: float, se: float, low: float, df: float, method: str) -> list[str]:
        """Flags of its interval."""
        if math.isnan(variance):
            return [SINGLE_RUN if self.single_run[taken].any() else NO_SD]
        told = [CONSTANT] if math.isnan(low) and se >= 0 else []
        reference = self.data.reference
        if reference.used and not reference.known and (reference.shared or method == FROM_RUNS):
            told.append(EXACT_REFERENCE)
        if method != FROM_RUNS and df < 9:
            told.append(FEW_CLUSTERS)
        return told + [INDEPENDENT] * (method == FROM_RUNS and bool(self.many_criteria[taken].any()))
