"""Flags of judge x system pairs, and of estimates from several pairs."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from judgestats import flags
from judgestats.metrics.consensus.linear_uncertainty import FROM_RUNS
from judgestats.metrics.consensus.panel import Panel
from judgestats.typing import Mask


class PairFlags:
    """Flags of each pair, which apply to every estimate that uses the pair."""

    def __init__(self, data: Panel) -> None:
        table, cell = data.table, data.table.cell
        runs, missing = table.runs, table.missing
        scored = ~np.isnan(table.mean)
        with_deviation = data.items > 0
        lost = self._any(data, scored & np.isnan(data.deviation))
        judges = np.unique(np.stack([data.pair_group, data.pair_judge]), axis=1)[0]
        short = data.present < np.bincount(judges, minlength=data.n_groups)[data.group_cell]
        none, some = (
            (flags.NO_REFERENCE, flags.SOME_WITHOUT) if data.reference.used else (flags.NO_PEER, flags.SOME_ALONE)
        )
        self.masks: dict[str, Mask] = {
            flags.NO_DATA: ~with_deviation & ~lost,
            none: ~with_deviation & lost,
            some: with_deviation & lost,
            flags.REPLICATES_AVERAGED: self._any(data, runs > 1),
            flags.SCORES_EXCLUDED: self._any(data, missing > 0),
            flags.INCOMPLETE_PANEL: self._any(data, short[cell] & scored & (not data.reference.used)),
        }
        self.data = data
        self.many_criteria = self._any(data, data.share < 1) if data.share.size else np.zeros(data.n_pairs, dtype=bool)

    @cached_property
    def single_run(self) -> Mask:
        """Pairs with a unit of one run."""
        return self._any(self.data, self.data.table.runs == 1)

    @staticmethod
    def _any(data: Panel, mask: Mask) -> Mask:
        affected = np.zeros(data.n_pairs, dtype=bool)
        if mask.any():
            affected[data.pair if mask.all() else data.pair[mask]] = True
        return affected

    def of(self, taken: Any) -> list[str]:
        """Flags of an estimate from these pairs."""
        return [name for name, mask in self.masks.items() if mask[taken].any()]

    def of_pairs(self) -> list[list[str]]:
        """Flags of every pair; pairs without any share one empty list."""
        result: list[list[str]] = [[]] * self.data.n_pairs
        for name, mask in self.masks.items():
            for p in np.flatnonzero(mask):
                result[p] = [*result[p], name]
        return result

    def of_interval(
        self, taken: Any, variance: float, se: float, low: float, clusters: float, method: str
    ) -> list[str]:
        """Flags of its interval."""
        if math.isnan(variance):
            if clusters == 1 and (self.data.items[taken] > 1).any():
                return [flags.ONE_UNIT]
            return [flags.SINGLE_RUN if self.single_run[taken].any() else flags.NO_SD]
        notes: list[str] = [flags.CONSTANT] if math.isnan(low) and se >= 0 else []
        reference = self.data.reference
        if reference.used and not reference.known and (reference.shared or method == FROM_RUNS):
            notes.append(flags.EXACT_REFERENCE)
        if method != FROM_RUNS:
            n_effective = float(np.max(self.data.worth[taken]))
            notes += (
                [flags.FEW_CLUSTERS]
                if clusters < 10
                else [flags.UNEQUAL_CLUSTERS.of(max(round(n_effective), 1))]
                if n_effective < 10
                else []
            )
        replies = self.data.replies if method == FROM_RUNS and self.many_criteria[taken].any() else None
        if replies and not replies.certain:
            notes.append(flags.CRITERIA_TOGETHER)
        return notes
