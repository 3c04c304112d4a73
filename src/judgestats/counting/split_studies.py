"""Columns in which calls on one thing differ, those that nobody named apart, and levels without a valid answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from judgestats.counting.splitting import KEYS, Split, splits_of
from judgestats.counting.study import Study
from judgestats.schema.columns import CONDITIONS, INSTRUMENTS, VOCABULARY, Kind, answer_column, unit_columns

#: Names of conditions that are no canonical columns of ratings.
_CONDITIONS = {*CONDITIONS, "scale"}


class SplitStudy(NamedTuple):
    """A study without its empty levels, and the columns in which calls on one thing differ."""

    study: Study
    conditions: list[Split]  # with the name of a condition
    unnamed: list[Split]
    empty: list[tuple[str, str, int]]  # column, level and rows of each level that went


def splits_by_name(study: Study, kind: Kind, groups: Sequence[str]) -> tuple[list[Split], list[Split]]:
    """Columns in which calls on one thing differ: those that carry the name of a condition, and those that do not."""
    keys = KEYS if kind == "ratings" else unit_columns(study.names, ["judge", "first", "second"])
    splits = study.once(("splits", *groups), lambda: splits_of(study, [*keys, *groups], kind))
    canonical = _CONDITIONS | {c.name for c in VOCABULARY[kind]}
    return [s for s in splits if s.column in canonical], [s for s in splits if s.column not in canonical]


def split_study(study: Study, kind: Kind, groups: Sequence[str]) -> SplitStudy:
    """A study in memory without the levels of groups, instruments and splitting columns that have no valid answer."""
    splitting = [s.column for part in splits_by_name(study, kind, groups) for s in part]
    columns = dict.fromkeys([*groups, *(c for c in INSTRUMENTS if c in study.names), *splitting])
    study, empty = _without_empty_levels(study, [*columns])
    return SplitStudy(study, *splits_by_name(study, kind, groups), empty)


def _without_empty_levels(study: Study, columns: Sequence[str]) -> tuple[Study, list[tuple[str, str, int]]]:
    """The rows of the levels that have a valid answer, and the other levels; all where none has."""
    answer = study.columns.series("choice" if "choice" in study.names else answer_column(study.names))
    valid = (answer.notna() & (answer.astype(object) != "invalid")).to_numpy(dtype=bool)
    rows, empty = np.ones(len(valid), dtype=bool), []
    for name in columns if valid.any() else ():
        code, levels = study.columns[name]
        size = np.bincount(code, minlength=len(levels))
        answered = np.bincount(code[valid], minlength=len(levels)) > 0
        rows &= answered[code]
        for k in np.flatnonzero((size > 0) & ~answered):
            empty.append((name, "missing" if pd.isna(levels[k]) else str(levels[k]), int(size[k])))
    return study.where(rows), empty
