"""The calls and the ratings of two sides, matched."""

from __future__ import annotations

from functools import cache
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats import flags
from judgestats.counting.cells import cells
from judgestats.counting.study import Study
from judgestats.counting.tallies import units
from judgestats.errors import JudgestatsError
from judgestats.metrics.datasheets.score_section import mean_of_scores
from judgestats.metrics.datasheets.unit_marks import RULES
from judgestats.metrics.paired import Sides, matched_sides, paired_difference
from judgestats.schema.columns import UNIT_COLUMNS
from judgestats.schema.factors import Factors
from judgestats.typing import Record

#: Columns in which one stimulus may differ between judges or prompts.
_MAY_DIFFER = ("prompt", "strategy", "scheme", "temperature")
_STIMULUS = ["item", "first", "second", *(c for c in UNIT_COLUMNS if c not in _MAY_DIFFER)]
_RATED = ["system", "item", "criterion"]
#: Any judge, if each side has one judge.
_ANY = object()


class PairedScores:
    """The ratings of both sides: their cells, matched on what is rated."""

    def __init__(self, first: Any, second: Any) -> None:
        self._sides = (first, second)
        self._cells = cache(self._read)

    def difference(self, record: Record, conf_level: float) -> tuple[Record | None, str]:
        """Paired difference of the mean scores of what both rated, None if it cannot be paired, and a flag."""
        if record["term"] != "mean_score" or any(s is None for s in self._sides):
            return None, ""
        judge = record.get("judge", _ANY)
        first, second = (_rows_of(self._cells(side), None, "", judge).dropna(subset=["mean"]) for side in (0, 1))
        both = first.merge(second, on=_RATED, suffixes=("_1", "_2"), validate="one_to_one")
        if both.empty:
            return None, flags.NOTHING_SHARED if len(first) and len(second) else ""
        either = len(first) + len(second) - len(both)
        left_out = flags.STIMULI_SHARED.of(len(both), total=f"{either:,}") if either > len(both) else ""
        paired = both.assign(mean=both["mean_2"] - both["mean_1"])
        value = paired.groupby(["system", "item"])["mean"].mean().groupby("system").mean().mean()
        row = mean_of_scores(Factors(paired), paired["mean"].to_numpy(dtype=float), float(value), conf_level)
        return {**row, "method": "paired, mean over systems, t clustered by item"}, flags.join(
            row.get("flag"), left_out
        )

    def _read(self, side: int) -> pd.DataFrame:
        table = cells(self._sides[side])
        return table.assign(**{c: table[c].astype(str) for c in _RATED})


class PairedCalls:
    """The calls of both sides, read once per measure and matched once per condition."""

    def __init__(self, first: Any, second: Any, clustered: bool) -> None:
        self._sides = (first, second)
        self._study = Study.of(first) if clustered and first is not None else None
        self._units = cache(self._read)
        self._matched = cache(self._match)

    def difference(self, record: Record, conf_level: float) -> tuple[Record | None, str]:
        """Paired difference of a row, None if it cannot be paired, and a flag."""
        section, detail = record["section"], record["detail"]
        spec = RULES.get(f"gold {record['term']}" if section == "gold" else record["term"])
        if spec is None or any(s is None for s in self._sides) or section not in spec[0]:
            return None, ""
        _, measure, marks, condition = spec
        stimulus = "different_subset" if section.endswith("different subset") else None
        sides = self._matched(measure, stimulus, condition, detail, record.get("judge", _ANY))
        if sides is None:
            return None, ""
        second, first = (marks(units.data.to_native()) for units in sides.units)
        return paired_difference(sides, second, first, conf_level, self._study)

    def _match(
        self, measure: str, stimulus: str | None, condition: str | None, detail: str, judge: Any
    ) -> Sides | None:
        tables = [self._units(side, measure, stimulus) for side in (1, 0)]
        second, first = (None if t is None else _rows_of(t, condition, detail, judge) for t in tables)
        return None if second is None or first is None else matched_sides(second, first, _STIMULUS)

    def _read(self, side: int, measure: str, stimulus: str | None) -> pd.DataFrame | None:
        data = nw.from_native(self._sides[side])
        if measure == "gold_agreement":
            data = data.filter(~(nw.col("gold").is_null() | (nw.col("gold") == "")))
        try:
            return units(data.to_native(), measure, stimulus=stimulus)
        except JudgestatsError:
            return None


def _rows_of(table: pd.DataFrame, condition: str | None, detail: str, judge: Any) -> pd.DataFrame:
    """Units of one row of a datasheet: those of its judge and of the condition in `detail`."""
    if judge is not _ANY:
        table = table[table["judge"].isna() if pd.isna(judge) else table["judge"] == judge]
    if condition is None or condition not in table.columns or detail == "all":
        return table
    label = "Δ = {:g}" if condition == "delta" else "{}"
    names = {v: label.format(v) for v in table[condition].dropna().unique()}
    details = table[condition].astype(object).map(names).astype(object)
    return table[details.where(details.notna(), "") == detail]
