"""Flags of judge x system pairs, and of estimates from several pairs."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from judgestats import flags
from judgestats.metrics.consensus.pair_deviations import PairDeviations
from judgestats.typing import Mask
from judgestats.wording import Method


class PairFlags:
    """Flags of each pair, which apply to every estimate that uses the pair."""

    def __init__(self, data: PairDeviations) -> None:
        panel = data.panel
        scored = ~np.isnan(panel.mean)
        with_deviation = data.items > 0
        lost = self._any(data, scored & np.isnan(data.deviation))
        judges = np.unique(np.stack([data.pair_group, data.pair_judge]), axis=1)[0]
        short = data.present < np.bincount(judges, minlength=data.groups.size)[data.groups.code]
        none, some = (
            (flags.NO_REFERENCE, flags.SOME_WITHOUT) if data.reference.used else (flags.NO_PEER, flags.SOME_ALONE)
        )
        self.masks: dict[str, Mask] = {
            flags.NO_DATA: ~with_deviation & ~lost,
            none: ~with_deviation & lost,
            some: with_deviation & lost,
            flags.REPLICATES_AVERAGED: self._any(data, panel.runs > 1),
            flags.SCORES_EXCLUDED: self._any(data, panel.missing > 0),
            flags.INCOMPLETE_PANEL: self._any(data, short[panel.thing] & scored & (not data.reference.used)),
        }
        self.data = data
        self.many_criteria = self._any(data, data.share < 1) if data.share.size else np.zeros(data.n_pairs, dtype=bool)

    @cached_property
    def single_run(self) -> Mask:
        """Pairs with an entry of one run."""
        return self._any(self.data, self.data.panel.runs == 1)

    @staticmethod
    def _any(data: PairDeviations, mask: Mask) -> Mask:
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
        self, taken: Any, variance: float, se: float, low: float, clusters: float, method: Method
    ) -> list[str]:
        """Flags of its interval."""
        if math.isnan(variance):
            if clusters == 1 and (self.data.items[taken] > 1).any():
                return [flags.ONE_UNIT]
            return [flags.SINGLE_RUN if self.single_run[taken].any() else flags.NO_SD]
        notes: list[str] = [flags.NO_SPREAD] if math.isnan(low) and se >= 0 else []
        reference, from_runs = self.data.reference, method.clusters is None
        if reference.used and not reference.known and (reference.shared or from_runs):
            notes.append(flags.EXACT_REFERENCE)
        if not from_runs:
            n_effective = float(np.max(self.data.worth[taken]))
            notes += (
                [flags.FEW_CLUSTERS]
                if clusters < 10
                else [flags.UNEQUAL_CLUSTERS.of(max(round(n_effective), 1))]
                if n_effective < 10
                else []
            )
        replies = self.data.replies if from_runs and self.many_criteria[taken].any() else None
        if replies and not replies.certain:
            notes.append(flags.CRITERIA_TOGETHER)
        return notes
