"""Sections of a page beyond the datasheets: what the data say about groups of judges, strategies, cues and systems."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from judgestats.metrics.trials import trials
from judgestats.reporting import plots
from judgestats.reporting.markup import Markup, join, row, table, tag
from judgestats.reporting.pictures import drawing
from judgestats.reporting.sheets import drawn, flag_marks
from judgestats.reporting.words import NONE, WHOLE, count, estimate, in_words, interval, noun, number
from judgestats.results import COLUMNS

_Picture = Callable[[pd.DataFrame], Any]
#: Rows of a table that are shown at once, and at all.
OPEN, MOST = 12, 60
#: Columns that say nothing where they hold one value.
_QUIET = ("unit", "embed", "adjustment")
#: Columns of a result that are printed beside the estimate, and their heads.
_BESIDE = {
    "p_value": "p",
    "p_adjusted": "p, adjusted",
    "survives": "survives correction",
    "share": "share",
    "reading": "reading",
    "relative": "relative, %",
}


@dataclass(frozen=True)
class Part:
    """One measure in a section.

    Attributes
    ----------
    measure : str
        A name of :func:`judgestats.supported`.
    picture : callable, optional
        Draws its estimates.
    told : str
        How to read the picture.
    terms : tuple of str
        Terms of the table; empty for all.
    """

    measure: str
    picture: _Picture | None = None
    told: str = ""
    terms: tuple[str, ...] = ()


#: Title of a section -> its parts.
CHAPTERS: dict[str, tuple[Part, ...]] = {
    "Do the judges agree with people?": (
        Part("judge_against_people"),
        Part("preference_gap", None, terms=("rate", "gap", "annotator_agreement", "annotator_kappa")),
    ),
    "Which way does it lean?": (
        Part(
            "bias_score",
            plots.bias_scores,
            "Share of calls for the target minus share against it; the line in the middle is no lean. Ties count in n.",
            ("bias", "magnitude"),
        ),
        Part("preference_rate", None, terms=("win_rate",)),
    ),
    "Does another way of asking help?": (
        Part(
            "compare_strategies",
            plots.strategies,
            "Accuracy under the strategy minus under the baseline, on the pairs that both judged. Filled: survives the "
            "correction for all comparisons.",
        ),
        Part(
            "bias_change",
            plots.bias_map,
            "Change of the size of each bias; blue is less bias. Sizes are biased upwards where there is none.",
            ("change", "magnitude_change", "mean_change"),
        ),
    ),
    "Do cues move it?": (
        Part(
            "anchoring",
            plots.anchoring,
            "How far a label moves the shares of the favoured side, the opposed side and the tie. A judge that ties "
            "more under the label buys robustness by abstaining.",
            (
                "equality_detection",
                "neutrality",
                "shift_favoured",
                "shift_opposed",
                "shift_tie",
                "lds",
                "lao",
                "shift_nontie",
            ),
        ),
        Part(
            "revision", plots.revision, "Share of items whose verdict changed after the truth was shown, by direction."
        ),
        Part(
            "rationale_shift",
            plots.rationale_shift,
            "Distance of the explanations of the same verdict, blind and under the label.",
        ),
        Part("rationale_check"),
    ),
    "Do the judges agree?": (
        Part("kappa", plots.kappa_matrix, "Agreement of every two judges beyond chance, on what both judged."),
        Part(
            "agreement_levels",
            plots.agreement_levels,
            "The same scores at three levels: order of the systems, items within a system, and the score itself.",
        ),
        Part("icc", None, terms=("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(2,k)", "ICC(3,k)")),
        Part("alpha"),
        Part("correlation", None, terms=("mean", "sd")),
        Part("disagreement", plots.disagreement, "How often the judges are far apart, which two, and who is highest."),
        Part(
            "agreement_shift",
            plots.agreement_shift,
            "Mean correlation of the judges before and after. A fall says that they shared what lies on the surface.",
        ),
        Part("agreement_slope"),
    ),
    "Where does the variance come from?": (
        Part(
            "variance_components",
            plots.variance_components,
            "Share of the variance of a single score that each source brings; all are taken as drawn at random.",
        ),
        Part(
            "decision_study",
            plots.decision_study,
            "Reliability of a mean over so many judges; the dashed line is what is wanted.",
            (
                "judges_for_generalizability",
                "judges_for_dependability",
                "runs_for_generalizability",
                "runs_for_dependability",
            ),
        ),
    ),
    "How are the scores spread?": (
        Part(
            "score_distribution",
            plots.score_distribution,
            "Mean and spread of the scores, and the share at the top of the scale.",
        ),
        Part("quality_agreement"),
    ),
    "Against the truth": (Part("score_error"), Part("best_of_accuracy")),
    "What would bring the judges together?": (
        Part(
            "calibrate",
            plots.calibration,
            "Distance from the peers (from people, where they are the reference) before and after a constant is added "
            "to each judge's scores, on items held out.",
        ),
    ),
}


def chapters(
    data: Any, taken: Mapping[str, pd.DataFrame | str], conf_level: float
) -> tuple[dict[str, Markup], set[str]]:
    """Write the sections that the data support.

    Parameters
    ----------
    data : frame
        A canonical frame.
    taken : mapping
        Every measure of it, or why it cannot be taken: :func:`judgestats.metrics.trials.attempts`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    sections : dict of str to Markup
    shown : set of str
        The measures in them.
    """
    known = trials(data)
    sections, shown = {}, set()
    for title, parts in CHAPTERS.items():
        results = [(part, taken.get(part.measure, "")) for part in parts]
        found = [(part, result) for part, result in results if not isinstance(result, str)]
        if found:
            sections[title] = join(_part(p, known[p.measure].question, result, conf_level) for p, result in found)
            shown |= {part.measure for part, _ in found}
    return sections, shown


def _part(part: Part, question: str, result: pd.DataFrame, conf_level: float) -> Markup:
    asked = question[0].upper() + question[1:]
    head = tag("h3", asked, " ", tag("code", part.measure))
    picture = Markup("")
    if part.picture is not None:
        made = [
            *drawing(
                part.measure.replace("_", "-"), asked.rstrip("?"), part.told, partial(part.picture, result), wide=True
            )
        ]
        picture = tag("div", *made, class_="figures") if made else picture
    rows = result[result["term"].isin(part.terms)] if part.terms else result
    return join([head, picture, _folded(rows, conf_level, part.measure)])


def _folded(rows: pd.DataFrame, conf_level: float, measure: str) -> Markup:
    shown = estimates_table(rows.head(MOST), conf_level, measure)
    if len(rows) > MOST:
        rest = f"{noun(len(rows) - MOST, 'row')} more: "
        shown = join([shown, tag("p", rest, tag("code", f"judgestats.{measure}(data)"), class_="small")])
    if len(rows) <= OPEN:
        return shown
    return tag("details", tag("summary", "The numbers ", tag("span", noun(len(rows), "row"), class_="muted")), shown)


def estimates_table(rows: pd.DataFrame, conf_level: float, measure: str = "") -> Markup:
    """Table of tidy estimates of any measure: what names a row, the measure, the estimate with its interval, doubts.

    Parameters
    ----------
    rows : pandas.DataFrame
        Tidy estimates.
    conf_level : float
        Coverage of their intervals.
    measure : str
        What was measured: some terms mean something else in one measure.

    Returns
    -------
    Markup
    """
    names = [c for c in rows.columns if c not in COLUMNS and c not in _BESIDE and _names_rows(rows[c])]
    beside = {c: head for c, head in _BESIDE.items() if c in rows.columns and rows[c].notna().any()}
    heads = [*(c.replace("_", " ") for c in names), "measure", "estimate", f"{100 * conf_level:g} % interval", "", "n"]
    body = []
    for r in rows.to_dict("records"):
        cells: list[object] = [_label(r[c]) for c in names]
        ends = [tag("span", interval(r["conf_low"], r["conf_high"]), class_="interval")]
        ends += [tag("span", r["method"], class_="method")] if r["method"] else []
        whole = str(r["term"]).startswith(WHOLE)
        value = tag("span", estimate(r["estimate"], r["flag"], decimals=0 if whole else 3), class_="value")
        cells += [
            in_words(r["term"], measure, r.get("threshold", math.nan)),
            value,
            join(ends),
            drawn(r),
            count(r["n"]),
        ]
        cells += [_value(r[c]) for c in beside]
        body.append(row([*cells, flag_marks(r["flag"])], numbers=(len(names) + 1,)))
    return table([*heads, *beside.values(), "doubt"], body, class_="sheet", numbers=(len(names) + 1,))


def _names_rows(values: pd.Series[Any]) -> bool:
    """Whether a column tells rows apart by a label (numbers that belong to an estimate stay in the result)."""
    known = values[values.notna() & (values.astype(object) != "")]
    if values.name in _QUIET and known.nunique() < 2:
        return False
    return len(known) > 0 and not pd.api.types.is_float_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _label(value: object) -> str:
    missing = value is None or value == "" or (isinstance(value, float) and math.isnan(value)) or value is pd.NA
    return NONE if missing else str(value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return NONE if math.isnan(value) else "< 0.001" if 0 <= value < 0.001 else number(value, 3)
    return _label(value)
