"""Columns in which calls on one thing differ: those that nobody named make no rows of a page, nor do empty levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from judgestats.counting.splitting import KEYS, Split, splits_of
from judgestats.counting.study import Study
from judgestats.reporting.formatting import noun
from judgestats.reporting.summary_parts import listed
from judgestats.schema.columns import CONDITIONS, VOCABULARY, Kind, answer_column, unit_columns

#: Names of conditions that are no canonical columns of ratings.
_CONDITIONS = {*CONDITIONS, "scale"}


def splits_by_name(study: Study, kind: Kind, groups: Sequence[str]) -> tuple[list[Split], list[Split]]:
    """Columns in which calls on one thing differ: those that carry the name of a condition, and those that do not."""
    keys = KEYS if kind == "ratings" else unit_columns(study.names, ["judge", "first", "second"])
    splits = splits_of(study, [*keys, *groups], kind)
    canonical = _CONDITIONS | {c.name for c in VOCABULARY[kind]}
    return [s for s in splits if s.column in canonical], [s for s in splits if s.column not in canonical]


def without_empty_levels(study: Study, columns: Sequence[str]) -> tuple[Study, list[str]]:
    """The rows of the levels that have a valid answer, and the other levels in words; all where none has."""
    answer = study.columns.series("choice" if "choice" in study.names else answer_column(study.names))
    valid = (answer.notna() & (answer.astype(object) != "invalid")).to_numpy(dtype=bool)
    rows, empty = np.ones(len(valid), dtype=bool), []
    for name in columns if valid.any() else ():
        code, levels = study.columns[name]
        size = np.bincount(code, minlength=len(levels))
        answered = np.bincount(code[valid], minlength=len(levels)) > 0
        rows &= answered[code]
        for k in np.flatnonzero((size > 0) & ~answered):
            level = "missing" if pd.isna(levels[k]) else levels[k]
            empty.append(f"{name} = {level} ({noun(int(size[k]), 'row')})")
    return study.where(rows), empty


def refused_in_words(refused: Sequence[Split], kind: Kind) -> str:
    """What a page leaves out for want of a name, and the options that name it; empty where nothing is refused."""
    if not refused:
        return ""
    names = [s.column for s in refused]
    values = listed(f"“{s.column}” ({noun(len(s.values), 'value')}: {listed(s.values)})" for s in refused)
    thing = "thing" if kind == "ratings" else "pair"
    one = len(names) == 1
    return (
        f"A judge answered more than once on one {thing}, and the answers differ in {values}, which nobody named: what "
        f"would mix {'it' if one else 'them'} is left out. --by {','.join(names)} has a row for each value; if "
        f"{'it numbers repeats, map it' if one else 'they number repeats, map them'} to replicate."
    )
