"""The calls and the ratings of two sides, matched."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.cells import cells
from judgestats.counting.study import Study
from judgestats.counting.tallies import units
from judgestats.errors import JudgestatsError
from judgestats.metrics.datasheets.score_section import mean_of_scores
from judgestats.metrics.paired import Marks, Sides, matched_sides, paired_difference
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
        """Paired difference of mean scores over the units that both rated (None without any), and a flag."""
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
        method = methods.PAIRED_MEAN_OVER_SYSTEMS.on("t clustered by item")
        return {**row, "method": method}, flags.join(row.get("flag"), left_out)

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


_Marker = Callable[[pd.DataFrame], Marks]


def _preference(table: pd.DataFrame) -> Marks:
    choice = table["choice"].to_numpy(dtype=object)
    return np.isin(choice, ["first", "second"]), choice != "invalid"


def _choice(*answers: str) -> _Marker:
    """Share of all calls."""

    def marks(table: pd.DataFrame) -> Marks:
        return np.isin(table["choice"].to_numpy(dtype=object), answers), np.ones(len(table), dtype=bool)

    return marks


def _outcome(answer: str, *, of_all: bool = False) -> _Marker:
    """Share of the valid calls, or of all."""

    def marks(table: pd.DataFrame) -> Marks:
        outcome = table["outcome"].to_numpy(dtype=object)
        return outcome == answer, (outcome != "invalid") | of_all

    return marks


def _pair(rule: Callable[[NDArray[Any], NDArray[Any]], Any]) -> _Marker:
    """Share of the pairs with two valid answers; a hit matrix of two columns is for the two calls of a pair."""

    def marks(table: pd.DataFrame) -> Marks:
        one, two = (table[c].to_numpy(dtype=object) for c in ("forward", "reverse"))
        hit = np.asarray(rule(one, two), dtype=bool)
        valid = ~(np.isin(one, ["invalid", "missing"]) | np.isin(two, ["invalid", "missing"]))
        return hit, np.broadcast_to(valid if hit.ndim == 1 else valid[:, None], hit.shape)

    return marks


def _twice(answer: str) -> _Marker:
    return _pair(lambda one, two: (one == answer) & (two == answer))


def _stable(one: Any, two: Any) -> Any:
    return (one != two) & (one != "tie") & (two != "tie")


_positional = _pair(lambda one, two: (one == two) & (one != "tie"))
_one_sided = _pair(lambda one, two: (one == "tie") != (two == "tie"))
_agreeing = _pair(lambda one, two: _stable(one, two) | ((one == "tie") & (two == "tie")))
_call_ties = _pair(lambda one, two: np.column_stack([one == "tie", two == "tie"]))
_call_preferences = _pair(lambda one, two: np.column_stack([one != "tie", two != "tie"]))
_EQUALS, _ANSWERED = ("Δ0", "Δ0, different subset"), ("slots", "answers")
# A rate among non-ties has a different denominator on each side, so its samples are independent.
#: Term (prefixed with ``gold`` in that section) -> sections in which it is paired, measure whose units are matched,
#: hits and trials of its units, and the column that ``detail`` refers to.
RULES: dict[str, tuple[tuple[str, ...], str, _Marker, str | None]] = {
    "dark_current": (("dark current",), "dark_current", _preference, "vacuum_kind"),
    "raw_false_preference": (_EQUALS, "delta0", _call_preferences, None),
    "tie_rate": (_EQUALS, "delta0", _call_ties, None),
    "stable_cross_sensitivity": (_EQUALS, "delta0", _pair(_stable), None),
    "positional_false_preference": (_EQUALS, "delta0", _positional, None),
    "one_sided_commit": (_EQUALS, "delta0", _one_sided, None),
    "no_preference": (_EQUALS, "delta0", _twice("tie"), None),
    "target_sensitivity": (("ladder",), "target_sensitivity", _outcome("correct"), "delta"),
    "wrong_choice_rate": (("ladder",), "target_sensitivity", _outcome("wrong"), "delta"),
    "miss_by_tie": (("ladder",), "target_sensitivity", _outcome("tie"), "delta"),
    "consistency": (("swap",), "consistency", _agreeing, None),
    "first_twice": (("swap",), "consistency", _twice("first"), None),
    "second_twice": (("swap",), "consistency", _twice("second"), None),
    "both_tie": (("swap",), "consistency", _twice("tie"), None),
    "one_sided": (("swap",), "consistency", _one_sided, None),
    "first": (_ANSWERED, "position_bias", _choice("first"), None),
    "second": (_ANSWERED, "position_bias", _choice("second"), None),
    "tie": (_ANSWERED, "position_bias", _choice("tie", "abstain"), None),
    "invalid": (_ANSWERED, "position_bias", _choice("invalid"), None),
    "gold accuracy": (("gold",), "gold_agreement", _outcome("correct"), None),
    "gold gold_tie": (("gold",), "gold_agreement", _outcome("tie", of_all=True), None),
    "gold gold_wrong": (("gold",), "gold_agreement", _outcome("wrong", of_all=True), None),
    "gold invalid": (("gold",), "gold_agreement", _outcome("invalid", of_all=True), None),
}
