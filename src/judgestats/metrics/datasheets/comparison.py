"""Two datasheets, row by row: the difference of each proportion, paired where the stimuli are shared."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, JudgestatsError, SchemaError
from judgestats.kernels.proportions import newcombe, newcombe_paired
from judgestats.metrics.datasheets.sheets import datasheet
from judgestats.results import NO_DATA, NOT_INDEPENDENT, SMALL_N, estimates, flags
from judgestats.schema.columns import kind_of
from judgestats.schema.counting import units
from judgestats.schema.pairing import UNIT_COLUMNS

#: What two judges or prompts need not share for a stimulus to be the same.
_MAY_DIFFER = ("prompt", "strategy", "scheme", "temperature")
_Marks = tuple[Any, Any]


def compare_datasheets(first: Any, second: Any, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Two datasheets row by row: judges, prompts or versions.

    Parameters
    ----------
    first, second : frame
        Preferences (then stimuli that both judged are paired), or results of :func:`datasheet` (then the two are
        independent samples; so do published tables with a denominator). One judge is compared with the other where each
        side has one, and judges of the same name where there are several.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        ``section``, ``detail``, ``first`` and ``second`` (the two estimates), and the columns of every estimate, for
        ``second - first`` of each proportion: Newcombe's interval, paired where the data name the same stimuli (``n``
        is then what they share), else for independent samples.

    Raises
    ------
    DesignError
        If the two have no row in common.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "a", "item": [*"1122"], "first": [*"xyxy"], "second": [*"yxyx"],
    ...                       "choice": ["first", "first", "first", "second"]})
    >>> other = calls.assign(judge="b", choice=["first", "second", "first", "second"])
    >>> result = compare_datasheets(calls, other)
    >>> result.loc[result["term"] == "consistency", ["first", "second", "estimate", "method"]]
       first  second  estimate            method
    1    0.5     1.0       0.5  Newcombe, paired
    """
    (sheet_1, calls_1), (sheet_2, calls_2) = (_as_sheet(data, conf_level) for data in (first, second))
    one_judge = sheet_1["judge"].nunique() == 1 and sheet_2["judge"].nunique() == 1
    keys = [*([] if one_judge else ["judge"]), "section", "detail", "term"]
    columns = [*keys, "estimate", "n", "method"]
    both = sheet_1[columns].merge(sheet_2[columns], on=keys, suffixes=("_1", "_2"), sort=False)
    both = both[both["method_1"].str.match("Wilson|Goodman") & both["method_2"].str.match("Wilson|Goodman")]
    if both.empty:
        raise DesignError("The two datasheets have no proportion in common: compare data of the same design.")
    joint = _Joint(calls_1, calls_2, one_judge)
    rows = []
    for record in both.to_dict("records"):
        row = {k: record[k] for k in keys}
        marks = joint.marks(record)
        rows.append(
            {
                **row,
                "first": record["estimate_1"],
                "second": record["estimate_2"],
                **(_independent(record, conf_level) if marks is None else _paired(*marks, conf_level, record)),
            }
        )
    result = estimates(rows, keys[:-1], extra=["first", "second"], sort=False)
    return result[
        [*keys[:-1], "first", "second", *(c for c in result.columns if c not in {*keys[:-1], "first", "second"})]
    ]


def _as_sheet(data: Any, conf_level: float) -> tuple[pd.DataFrame, Any]:
    """A datasheet, and the calls behind it where they are given."""
    columns = list(nw.from_native(data).collect_schema().names())
    if {"section", "term", "estimate", "n"} <= set(columns):
        return pd.DataFrame(data), None
    if kind_of(columns) != "preferences":
        raise SchemaError(
            "compare_datasheets takes preferences frames or datasheets; for ratings compare score_matrix()."
        )
    sheet = datasheet(data, n_resamples=200, conf_level=conf_level)
    if "prompt" in sheet.columns:
        raise DesignError("One side has several prompts. Compare one prompt with another: filter each side to one.")
    return sheet, data


def _independent(record: dict[str, Any], conf_level: float) -> dict[str, Any]:
    p1, n1, p2, n2 = (float(record[c]) for c in ("estimate_1", "n_1", "estimate_2", "n_2"))
    if not n1 or not n2:
        return {"estimate": math.nan, "n": 0, "flag": NO_DATA}
    low, high = newcombe(p2 * n2, n2, p1 * n1, n1, conf_level)
    error = math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2)
    return {
        "estimate": p2 - p1,
        "std_error": error,
        "conf_low": low,
        "conf_high": high,
        "n": min(n1, n2),
        "method": "Newcombe, independent",
        "flag": flags(SMALL_N if min(n1, n2) < 30 else ""),
    }


def _paired(before: Any, after: Any, conf_level: float, record: dict[str, Any]) -> dict[str, Any]:
    a, b, c, d = (float(x.sum()) for x in (after & before, after & ~before, ~after & before, ~after & ~before))
    n = a + b + c + d
    if not n:
        return _independent(record, conf_level)
    low, high = newcombe_paired(a, b, c, d, conf_level)
    dependent = NOT_INDEPENDENT if record["term"] not in _PAIR_TERMS else ""
    return {
        "estimate": (b - c) / n,
        "std_error": math.sqrt(max(b + c - (b - c) ** 2 / n, 0.0)) / n,
        "conf_low": low,
        "conf_high": high,
        "n": n,
        "method": "Newcombe, paired",
        "flag": flags(dependent, SMALL_N if n < 30 else ""),
    }


class _Joint:
    """What both sides judged, matched once per measure."""

    def __init__(self, first: Any, second: Any, one_judge: bool) -> None:
        self._sides = (first, second)
        self._keys = ["item", "first", "second", *(c for c in UNIT_COLUMNS if c not in _MAY_DIFFER)]
        self._keys += [] if one_judge else ["judge"]
        self._table = cache(self._match)

    def marks(self, record: dict[str, Any]) -> _Marks | None:
        """Hits of both sides on the stimuli they share, or None where they cannot be paired."""
        spec = _SPECS.get(record["term"])
        if spec is None or self._sides[0] is None or self._sides[1] is None:
            return None
        measure, marker, condition = spec
        stimulus = "different_subset" if record["section"].endswith("different subset") else None
        table = self._table(measure, stimulus)
        if table is None or record["section"].startswith("criterion"):
            return None
        if "judge" in record:
            table = table[table["judge"] == record["judge"]]
        if condition == "delta":
            table = table[("Δ = " + table["delta"].map("{:g}".format)) == record["detail"]]
        elif condition and condition in table.columns and record["detail"] not in ("", "all"):
            table = table[table[condition] == record["detail"]]
        sides = [marker(table.rename(columns={f"{c}_{s}": c for c in _ANSWERS})) for s in ("1", "2")]
        (hit_1, trial_1), (hit_2, trial_2) = sides
        kept = np.asarray(trial_1 & trial_2, dtype=bool)
        return np.asarray(hit_1, dtype=bool)[kept], np.asarray(hit_2, dtype=bool)[kept]

    def _match(self, measure: str, stimulus: str | None) -> pd.DataFrame | None:
        try:
            one, two = (units(s, measure, stimulus=stimulus) for s in self._sides)
        except JudgestatsError:
            return None
        keys = [k for k in self._keys if k in one.columns and k in two.columns]
        shared = one.merge(two, on=keys, suffixes=("_1", "_2"))
        return shared if len(shared) else None


_ANSWERS = ("choice", "forward", "reverse", "outcome", "target_slot")


def _preference(table: pd.DataFrame) -> _Marks:
    return table["choice"].isin(["first", "second"]), table["choice"] != "invalid"


def _choice(answer: str) -> Callable[[pd.DataFrame], _Marks]:
    def marks(table: pd.DataFrame) -> _Marks:
        choice = table["choice"].astype(object).replace("abstain", "tie")
        return choice == answer, choice != "invalid"

    return marks


def _outcome(answer: str) -> Callable[[pd.DataFrame], _Marks]:
    def marks(table: pd.DataFrame) -> _Marks:
        return table["outcome"] == answer, table["outcome"] != "invalid"

    return marks


def _pair(rule: Callable[[pd.Series[Any], pd.Series[Any]], Any]) -> Callable[[pd.DataFrame], _Marks]:
    def marks(table: pd.DataFrame) -> _Marks:
        one, two = table["forward"], table["reverse"]
        return rule(one, two), ~(one.isin(["invalid", "missing"]) | two.isin(["invalid", "missing"]))

    return marks


def _stable(one: Any, two: Any) -> Any:
    return (one != two) & (one != "tie") & (two != "tie")


def _twice(answer: str) -> Callable[[pd.DataFrame], _Marks]:
    return _pair(lambda one, two: (one == answer) & (two == answer))


_positional = _pair(lambda one, two: (one == two) & (one != "tie"))
_one_sided = _pair(lambda one, two: (one == "tie") != (two == "tie"))
_agreeing = _pair(lambda one, two: _stable(one, two) | ((one == "tie") & (two == "tie")))

# A rate among non-ties has another denominator on each side: it is compared as two independent samples.
#: Term -> measure whose units are matched, how a unit is marked, and the column that the detail names.
_SPECS: dict[str, tuple[str, Callable[[pd.DataFrame], _Marks], str | None]] = {
    "dark_current": ("dark_current", _preference, "vacuum_kind"),
    "stable_cross_sensitivity": ("delta0", _pair(_stable), None),
    "positional_false_preference": ("delta0", _positional, None),
    "one_sided_commit": ("delta0", _one_sided, None),
    "no_preference": ("delta0", _twice("tie"), None),
    "target_sensitivity": ("target_sensitivity", _outcome("correct"), "delta"),
    "wrong_choice_rate": ("target_sensitivity", _outcome("wrong"), "delta"),
    "miss_by_tie": ("target_sensitivity", _outcome("tie"), "delta"),
    "consistency": ("consistency", _agreeing, None),
    "first_twice": ("consistency", _twice("first"), None),
    "second_twice": ("consistency", _twice("second"), None),
    "both_tie": ("consistency", _twice("tie"), None),
    "one_sided": ("consistency", _one_sided, None),
    "first": ("slot_lean", _choice("first"), None),
    "second": ("slot_lean", _choice("second"), None),
    "tie": ("slot_lean", _choice("tie"), None),
    "accuracy": ("gold_agreement", _outcome("correct"), None),
    "gold_tie": ("gold_agreement", _outcome("tie"), None),
    "gold_wrong": ("gold_agreement", _outcome("wrong"), None),
}
_PAIR_TERMS = {t for t, (measure, _, _) in _SPECS.items() if measure in ("delta0", "consistency")}
