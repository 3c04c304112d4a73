"""Comparison of two datasheets: the difference of each proportion, paired where stimuli are shared."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import size_flag
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose, confidence
from judgestats.kernels.proportions import wilson
from judgestats.metrics.datasheets.datasheet_sections import datasheet
from judgestats.metrics.datasheets.paired_units import PairedCalls, PairedScores
from judgestats.metrics.measure_registry import terms
from judgestats.metrics.paired import independent_difference, interval_difference
from judgestats.results import estimates
from judgestats.schema.columns import kind_of
from judgestats.schema.opening import engine_errors
from judgestats.typing import Record

#: How the interval of a proportion is made.
_PROPORTIONS = (methods.WILSON, methods.GOODMAN)
#: Flags of what a side was left without.
_EXCLUDED = (flags.EXCLUDED, flags.INVALID_EXCLUDED, flags.SCORES_EXCLUDED, flags.N_SCORES_EXCLUDED)
#: Terms of a datasheet of ratings that are compared, besides proportions.
_OF_SCORES = ("mean_score", "run_sd")
_ESTIMATE = ["estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag"]
#: What the second side of a comparison is.
Role = Literal["judge", "ceiling"]


@checked_arguments
@engine_errors
def compare_datasheets(
    first: IntoFrame,
    second: IntoFrame,
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
    joint = PairedCalls(calls_1, calls_2, cluster == "auto")
    scores = PairedScores(calls_1, calls_2)
    rows = [
        {**r, **_compared(r, scores if r["term"] in _OF_SCORES else joint, conf_level)} for r in both.to_dict("records")
    ]
    if not one_judge:
        rows += [*_alone(sheet_1, sheet_2, "first"), *_alone(sheet_2, sheet_1, "second")]
    before = [*keys[:-1], "first", "second"]
    result = estimates(rows, before, sort=False)
    return result if role == "judge" else result.assign(ceiling=[_below(r) for r in result.to_dict("records")])


def _below(row: Record) -> str:
    """On which side of a comparator a judge is, where one direction is worse."""
    term = terms().get(("gold_agreement" if row["section"] == "gold" else "", row["term"])) or terms()["", row["term"]]
    worse = {"higher": -1.0, "lower": 1.0}.get(term.bad)
    if worse is None or math.isnan(row["conf_low"]):
        return ""
    better = sorted((worse * row["conf_low"], worse * row["conf_high"]))  # by how much the comparator is better
    return "below" if better[0] > 0 else "above" if better[1] < 0 else "not distinguishable"


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
    proportion = [methods.method_of(method).is_by(*_PROPORTIONS) for method in sheet["method"]]
    sheet = sheet[of_scores | np.array(proportion, dtype=bool)]
    again = sheet.duplicated(["judge", "section", "detail", "term"])
    if again.any():
        row = sheet[again].iloc[0]
        raise DesignError(
            f"One side has several rows for {row['term']!r} of judge {row['judge']!r} in section {row['section']!r}, "
            "as with several prompts, or with by=. Filter each side to one."
        )
    return sheet


def _alone(sheet: pd.DataFrame, other: pd.DataFrame, side: str) -> list[Record]:
    """Rows of the judges that the other side lacks."""
    alone = sheet[~sheet["judge"].isin(other["judge"])]
    return [
        {
            **{k: r[k] for k in ("judge", "section", "detail", "term")},
            side: r["estimate"],
            "estimate": math.nan,
            "n": 0.0,
            "flag": flags.join(_but_size(r["flag"]), flags.ONE_SIDE),
        }
        for r in alone.to_dict("records")
    ]


def _compared(record: Record, joint: PairedCalls | PairedScores, conf_level: float) -> Record:
    """Both estimates and second minus first, with the flags of both and of the pairing."""
    row, pairing = joint.difference(record, conf_level)
    if row is None:
        row = _independent(record, conf_level)
    sides = {side: flags.flags_of(_but_size(record[f"flag_{k}"])) for k, side in enumerate(("first", "second"), 1)}
    of_one = {f for f in {*sides["first"]} ^ {*sides["second"]} if flags.has(f, *_EXCLUDED)}
    notes = [f.about(side) if f in of_one else f for side, of_side in sides.items() for f in of_side]
    both = {"first": record["estimate_1"], "second": record["estimate_2"]}
    return {**both, **row, "flag": flags.join(*notes, pairing, size_flag(row["n"]))}


def _but_size(flag: str) -> str:
    """Flags of a row except those of its sample size."""
    return flags.without(flag, flags.SMALL_N, flags.NO_DATA)


def _independent(record: Record, conf_level: float) -> Record:
    if record["term"] in _OF_SCORES:
        sides = [{c: float(record[f"{c}_{side}"]) for c in _ESTIMATE[:-2]} for side in "21"]
        return interval_difference(*sides)
    p1, n1, p2, n2 = (float(record[c]) for c in ("estimate_1", "n_1", "estimate_2", "n_2"))
    row = independent_difference(p2 * n2, n2, p1 * n1, n1, conf_level)
    if not row["n"] or not any(methods.method_of(record[m]).clusters for m in ("method_1", "method_2")):
        return row
    return interval_difference(*(_side_interval(record, side, conf_level) for side in "21"))


def _side_interval(record: Record, side: str, conf_level: float) -> Record:
    """Estimate and interval of one side: the given one if clustered, else Wilson's (Goodman's are simultaneous)."""
    cells = {c: float(record[f"{c}_{side}"]) for c in ("estimate", "std_error", "conf_low", "conf_high", "n")}
    if methods.method_of(record[f"method_{side}"]).clusters:
        return cells
    p, n = cells["estimate"], cells["n"]
    low, high = (float(x) for x in wilson(p * n, n, conf_level))
    return {**cells, "std_error": math.sqrt(p * (1 - p) / n), "conf_low": low, "conf_high": high}
