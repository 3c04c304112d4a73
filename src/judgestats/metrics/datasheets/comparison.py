"""Comparison of two datasheets: the difference of each proportion, paired where stimuli are shared."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import size_flag
from judgestats.counting.study import Study
from judgestats.counting.tallies import units
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, JudgestatsError, choose, confidence
from judgestats.kernels.proportions import wilson
from judgestats.metrics.datasheets.sheets import datasheet, mean_of_scores
from judgestats.metrics.measure_registry import terms
from judgestats.metrics.paired import (
    Marks,
    Sides,
    independent_difference,
    interval_difference,
    matched_sides,
    paired_difference,
)
from judgestats.results import estimates
from judgestats.schema.columns import UNIT_COLUMNS, kind_of
from judgestats.schema.opening import engine_errors

#: Columns in which one stimulus may differ between judges or prompts.
_MAY_DIFFER = ("prompt", "strategy", "scheme", "temperature")
_STIMULUS = ["item", "first", "second", *(c for c in UNIT_COLUMNS if c not in _MAY_DIFFER)]
_RATED = ["system", "item", "criterion"]
_PROPORTIONS = "Wilson|Goodman"
_CLUSTERED = ("Wilson, clustered", "Goodman, 4 classes, clustered")
#: Terms of a datasheet of ratings that are compared, besides proportions.
_OF_SCORES = ("mean_score", "run_sd")
_ESTIMATE = ["estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag"]
#: Any judge, if each side has one judge.
_ANY = object()
#: What the second side of a comparison is.
Role = Literal["judge", "ceiling"]
_Row = dict[str, Any]
_Marker = Callable[[pd.DataFrame], Marks]


@engine_errors
def compare_datasheets(
    first: Any,
    second: Any,
    *,
    role: Role = "judge",
    cluster: Literal["auto", False] = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Compare two datasheets row by row: judges, prompts or versions.

    Parameters
    ----------
    first, second : frame
        Preferences, or ratings (what both judged is paired), or results of :func:`datasheet` (independent samples). If
        each side has one judge, the two are compared; otherwise judges of the same name.
    role : {'judge', 'ceiling'}
        What `second` is: another judge, or a stronger comparator that estimates how good a judge can be here. It is no
        ground truth.
    cluster : {'auto', False}
        Whether intervals use the clusters that calls share (the item, say; ``method`` names it), or treat all calls as
        independent.
    conf_level : float
        Coverage of the intervals. Clustered intervals of a given datasheet keep the level they were computed at.

    Returns
    -------
    pandas.DataFrame
        ``judge`` if there are several, ``section``, ``detail``, ``first`` and ``second`` (the two estimates), and the
        columns of every estimate, for ``second - first`` of each proportion in both datasheets (of ratings also
        ``mean_score`` and ``run_sd``), with the flags of both.
        Rows of a judge on one side only come last, without a difference, flagged ``judge on one side only``. With
        ``role="ceiling"`` also ``ceiling``: whether `first` is ``below``, ``above`` or ``not distinguishable`` from
        `second`, by the interval and by which direction is worse; empty where neither is.

    Raises
    ------
    SchemaError
        If a side is neither preferences, ratings nor a datasheet.
    DesignError
        If one side has preferences and the other ratings; if the two have no row or, with several judges, no judge in
        common; or if a side has several rows for the same proportion, as with several prompts.

    See Also
    --------
    datasheet : Everything about each judge.

    Notes
    -----
    Paired if both sides are frames with the same stimuli, once each: Newcombe's paired interval on the ``n`` stimuli
    that count on both sides (calls, or pairs for a measure of pairs). ``first`` and ``second`` use all stimuli of their
    side; if those are more, the flag is ``k of m stimuli shared`` (m counts the stimuli of either side). With clusters,
    the paired interval is Tango's at the effective n. If a stimulus is repeated within a side (``not paired: repeated
    stimuli``), if shared stimuli have different counts (``not paired: different counts``), and for a rate whose
    denominator depends on the answers (accuracy among non-ties), the samples are independent: Newcombe's interval; or,
    if a side has a clustered interval, MOVER (square-and-add) with that and the Wilson interval of the other side.

    The dark_current paper (Sections 6 and 7, A.10) plans a comparator as a ceiling. A judge ``above`` it shows that it
    is none on that axis.

    Ratings: ``mean_score`` is the mean paired difference of what both rated, system by system, with t clustered by
    item; ``run_sd`` is compared by MOVER, which is somewhat too wide where both judged the same.

    References
    ----------
    Newcombe, R. G. (1998). Statistics in Medicine 17, 873-890 and 2635-2650.
    Zou, G. Y. and Donner, A. (2008). Statistics in Medicine 27, 1693-1702 (MOVER).

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
    confidence(conf_level)
    choose(role, get_args(Role), "role")
    (sheet_1, calls_1), (sheet_2, calls_2) = (_as_sheet(data, cluster, conf_level) for data in (first, second))
    kinds = {kind_of(Study.of(calls).names) for calls in (calls_1, calls_2) if calls is not None}
    if len(kinds) > 1:
        raise DesignError("One side has preferences, the other ratings. Compare data of the same kind.")
    one_judge = all(s["judge"].nunique(dropna=False) == 1 for s in (sheet_1, sheet_2))
    if not one_judge and not sheet_1["judge"].isin(sheet_2["judge"]).any():
        names = [", ".join(sorted({str(j) for j in s["judge"]})) or "none" for s in (sheet_1, sheet_2)]
        raise DesignError(
            f"The two datasheets share no judge. The first has: {names[0]}. The second has: {names[1]}. Judges are "
            "compared by name; to compare two of different names, filter each side to one."
        )
    keys = [*([] if one_judge else ["judge"]), "section", "detail", "term"]
    columns = [*keys, *_ESTIMATE]
    both = sheet_1[columns].merge(sheet_2[columns], on=keys, suffixes=("_1", "_2"), sort=False, validate="one_to_one")
    if both.empty:
        raise DesignError("The two datasheets have no proportion in common. Compare data of the same design.")
    joint = _Joint(calls_1, calls_2, cluster == "auto")
    scores = _Scores(calls_1, calls_2)
    rows = [
        {**r, **_compared(r, scores if r["term"] in _OF_SCORES else joint, conf_level)} for r in both.to_dict("records")
    ]
    if not one_judge:
        rows += [*_alone(sheet_1, sheet_2, "first"), *_alone(sheet_2, sheet_1, "second")]
    before = [*keys[:-1], "first", "second"]
    result = estimates(rows, before, sort=False)
    return result if role == "judge" else result.assign(ceiling=[_below(r) for r in result.to_dict("records")])


def _below(row: _Row) -> str:
    """On which side of a comparator a judge is, where one direction is worse."""
    term = terms().get(("gold_agreement" if row["section"] == "gold" else "", row["term"])) or terms()["", row["term"]]
    worse = {"higher": -1.0, "lower": 1.0}.get(term.bad)
    if worse is None or math.isnan(row["conf_low"]):
        return ""
    better = sorted((worse * row["conf_low"], worse * row["conf_high"]))  # by how much the comparator is better
    return "below" if better[0] > 0 else "above" if better[1] < 0 else "not distinguishable"


# ---- Sheets ----------------------------------------------------------------------------------------------------------


def _as_sheet(data: Any, cluster: Cluster, conf_level: float) -> tuple[pd.DataFrame, Any]:
    """The proportions of a datasheet, and its calls if they are given."""
    columns = Study.of(data).names
    if {"section", "term", "estimate", "n"} <= set(columns):
        return _proportions(Study.of(data).data.lazy().collect(backend="pandas").to_native()), None
    sheet = datasheet(data, cluster=cluster, n_resamples=200, conf_level=conf_level)
    if several := [c for c in sheet.columns[: sheet.columns.get_loc("section")] if c != "judge"]:
        raise DesignError(f"One side has several values of {several[0]!r}. Filter each side to one value.")
    return _proportions(sheet), data


def _proportions(sheet: pd.DataFrame) -> pd.DataFrame:
    """Rows that are proportions, with empty text for missing text, as after reading a file."""
    sheet = sheet.reindex(columns=list(dict.fromkeys([*sheet.columns, "judge", "detail", *_ESTIMATE])))
    text = {c: sheet[c].astype(object).where(sheet[c].notna(), "") for c in ("section", "detail", "method", "flag")}
    sheet = sheet.assign(**text, judge=sheet["judge"].astype(object))
    of_scores = (sheet["section"] == "scores") & sheet["term"].isin(_OF_SCORES)
    sheet = sheet[sheet["method"].astype(str).str.match(_PROPORTIONS) | of_scores]
    again = sheet.duplicated(["judge", "section", "detail", "term"])
    if again.any():
        row = sheet[again].iloc[0]
        raise DesignError(
            f"One side has several rows for {row['term']!r} of judge {row['judge']!r} in section {row['section']!r}, "
            "as with several prompts, or with by=. Filter each side to one."
        )
    return sheet


def _alone(sheet: pd.DataFrame, other: pd.DataFrame, side: str) -> list[_Row]:
    """Rows of the judges that the other side lacks."""
    alone = sheet[~sheet["judge"].isin(other["judge"])]
    return [
        {
            **{k: r[k] for k in ("judge", "section", "detail", "term")},
            side: r["estimate"],
            "estimate": math.nan,
            "n": 0.0,
            "flag": flags.join(*_flags_but_size(r["flag"]), flags.ONE_SIDE),
        }
        for r in alone.to_dict("records")
    ]


# ---- Differences -----------------------------------------------------------------------------------------------------


def _compared(record: _Row, joint: _Joint | _Scores, conf_level: float) -> _Row:
    """Both estimates and second minus first, with the flags of both and of the pairing."""
    row, pairing = joint.difference(record, conf_level)
    if row is None:
        row = _independent(record, conf_level)
    sides = {side: _flags_but_size(record[f"flag_{k}"]) for k, side in enumerate(("first", "second"), 1)}
    of_one = {f for f in {*sides["first"]} ^ {*sides["second"]} if f.endswith(" excluded")}
    notes = [flags.in_part(side, f) if f in of_one else f for side, found in sides.items() for f in found]
    both = {"first": record["estimate_1"], "second": record["estimate_2"]}
    return {**both, **row, "flag": flags.join(*notes, pairing, size_flag(row["n"]))}


def _flags_but_size(flag: str) -> list[str]:
    """Flags of a row except those of its sample size."""
    return [f for f in flag.split("; ") if f not in (flags.SMALL_N, flags.NO_DATA)]


def _independent(record: _Row, conf_level: float) -> _Row:
    if record["term"] in _OF_SCORES:
        sides = [{c: float(record[f"{c}_{side}"]) for c in _ESTIMATE[:-2]} for side in "21"]
        return interval_difference(*sides)
    p1, n1, p2, n2 = (float(record[c]) for c in ("estimate_1", "n_1", "estimate_2", "n_2"))
    row = independent_difference(p2 * n2, n2, p1 * n1, n1, conf_level)
    if not row["n"] or not any(record[m].startswith(_CLUSTERED) for m in ("method_1", "method_2")):
        return row
    return interval_difference(*(_side_interval(record, side, conf_level) for side in "21"))


def _side_interval(record: _Row, side: str, conf_level: float) -> _Row:
    """Estimate and interval of one side: the given one if clustered, else Wilson's (Goodman's are simultaneous)."""
    cells = {c: float(record[f"{c}_{side}"]) for c in ("estimate", "std_error", "conf_low", "conf_high", "n")}
    if record[f"method_{side}"].startswith(_CLUSTERED):
        return cells
    p, n = cells["estimate"], cells["n"]
    low, high = (float(x) for x in wilson(p * n, n, conf_level))
    return {**cells, "std_error": math.sqrt(p * (1 - p) / n), "conf_low": low, "conf_high": high}


class _Scores:
    """The ratings of both sides: their cells, matched on what is rated."""

    def __init__(self, first: Any, second: Any) -> None:
        self._sides = (first, second)
        self._cells = cache(self._read)

    def difference(self, record: _Row, conf_level: float) -> tuple[_Row | None, str]:
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
        row = mean_of_scores(paired, float(value), conf_level)
        return {**row, "method": "paired, mean over systems, t clustered by item"}, flags.join(
            row.get("flag"), left_out
        )

    def _read(self, side: int) -> pd.DataFrame:
        table = cells(self._sides[side])
        return table.assign(**{c: table[c].astype(str) for c in _RATED})


class _Joint:
    """The calls of both sides, read once per measure and matched once per condition."""

    def __init__(self, first: Any, second: Any, clustered: bool) -> None:
        self._sides = (first, second)
        self._clustered = clustered
        self._units = cache(self._read)
        self._matched = cache(self._match)

    def difference(self, record: _Row, conf_level: float) -> tuple[_Row | None, str]:
        """Paired difference of a row, None if it cannot be paired, and a flag."""
        section, detail = record["section"], record["detail"]
        spec = _SPECS.get(f"gold {record['term']}" if section == "gold" else record["term"])
        if spec is None or any(s is None for s in self._sides) or section not in spec[0]:
            return None, ""
        _, measure, marks, condition = spec
        stimulus = "different_subset" if section.endswith("different subset") else None
        sides = self._matched(measure, stimulus, condition, detail, record.get("judge", _ANY))
        if sides is None:
            return None, ""
        second, first = (marks(table) for table in sides.units)
        return paired_difference(sides, second, first, conf_level, "auto" if self._clustered else None)

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
    named = table[condition].astype(object).map(names).astype(object)
    return table[named.where(named.notna(), "") == detail]


# ---- Hits and trials of each term ------------------------------------------------------------------------------------


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
_SPECS: dict[str, tuple[tuple[str, ...], str, _Marker, str | None]] = {
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
