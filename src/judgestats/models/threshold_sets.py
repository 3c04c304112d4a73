"""Which set of thresholds each row has, where thresholds vary by a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgestats.errors import DesignError, choose
from judgestats.models.coding.factor_levels import labels
from judgestats.models.thresholds import Thresholds, cumulative_thresholds
from judgestats.typing import Ints

#: Shape of thresholds -> its parameters.
THRESHOLDS = {"free": ("threshold",), "symmetric": ("midpoint", "half-width")}


@dataclass(frozen=True)
class Partition:
    """Sets of thresholds."""

    # parameter (``midpoint``, ``half-width``, ``threshold``) -> the column over which it varies
    columns: dict[str, str]
    levels: dict[str, tuple[str, ...]]  # parameter -> levels of that column
    sets: tuple[tuple[str, ...], ...]  # for each set the level of each parameter, in the order of `columns`

    @classmethod
    def of(cls, columns: Mapping[str, str], frame: pd.DataFrame) -> Partition:
        """Find the sets that occur; `columns`: parameter -> column."""
        names = {kind: labels(frame[c]).to_numpy(dtype=object) for kind, c in columns.items()}
        levels = {kind: tuple(sorted(set(own))) for kind, own in names.items()}
        for kind, own in levels.items():
            if len(own) < 2:
                raise DesignError(
                    f"thresholds_by: {columns[kind]!r} is always {own[0]!r} in the rows used, so that the {kind} "
                    "cannot vary over it. Leave it out."
                )
        sets = tuple(sorted(set(zip(*names.values(), strict=True)))) if names else ((),)
        return cls(dict(columns), levels, sets)

    def codes(self, frame: pd.DataFrame) -> Ints:
        """Set (N,) of each row; levels that did not occur together when the model was fitted are refused."""
        if not self.columns:
            return np.zeros(len(frame), np.int64)
        for name in self.columns.values():
            if name not in frame.columns:
                raise DesignError(f"The thresholds vary by {name!r}, which is no column of the new rows. Add it.")
        keys = list(zip(*(labels(frame[c]) for c in self.columns.values()), strict=True))
        place = {own: k for k, own in enumerate(self.sets)}
        new = [k for k in keys if k not in place]
        if new:
            combination = ", ".join(f"{c} {v!r}" for c, v in zip(self.columns.values(), new[0], strict=True))
            raise DesignError(f"There are no thresholds for {combination}: it was not there when the model was fitted.")
        return np.array([place[k] for k in keys], np.int64)

    def thresholds(self, categories: tuple[str, ...], link: str, shape: str) -> Thresholds:
        """Thresholds of every set."""
        sets = [dict(zip(self.columns, own, strict=True)) for own in self.sets]
        return cumulative_thresholds(categories, link, shape, self.levels, sets)


def by_kind(thresholds_by: str | Mapping[str, str] | None, shape: str) -> dict[str, str]:
    """Read the argument ``thresholds_by``, a column for all or for each parameter, as parameter -> column."""
    kinds = THRESHOLDS[shape]
    if thresholds_by is None:
        return {}
    if isinstance(thresholds_by, str):
        return dict.fromkeys(kinds, thresholds_by)
    if not isinstance(thresholds_by, Mapping):
        raise DesignError(
            f"thresholds_by={thresholds_by!r} names no column. Give a column, or a mapping of {', '.join(kinds)} to "
            "columns."
        )
    return {choose(kind, kinds, f"thresholds={shape!r}: thresholds_by"): str(c) for kind, c in thresholds_by.items()}
