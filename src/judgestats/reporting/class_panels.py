"""What judges find of each class, and what they take for it falsely; and each person beside the other people."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from judgestats.counting.study import Study
from judgestats.errors import JudgestatsError
from judgestats.metrics.correctness.classifications import classification
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.reporting.estimate_rows import row_of_each, whose
from judgestats.reporting.summary_parts import SummaryColumn
from judgestats.schema.columns import VERDICTS, answer_column

#: More classes than these have no columns of their own, and more people no rows.
MOST = 8
#: Words for verdicts on answers.
_YES_OR_NO = {"yes": "correct", "no": "incorrect"}
_TERMS = {"sensitivity": "says so where it is", "specificity": "does not say so where it is not"}


def class_columns(study: Study, options: MeasureOptions) -> dict[str, tuple[SummaryColumn, ...]]:
    """Heads of panels -> sensitivity and specificity: of the rarer of two classes, or of each of several."""
    if "first" in study.names or answer_column(study.names) not in VERDICTS:
        return {}
    parts = [*_results(study, options)]
    if not parts:
        return {}
    rows = pd.concat([part.assign(_who=who) for who, part in parts])
    rows = rows[rows["estimate"].notna() & (rows["class"] != "")]
    shares = (
        rows[rows["term"] == "prevalence"].groupby("class", sort=False)["estimate"].mean().sort_values(kind="stable")
    )
    classes = [str(c) for c in rows["class"].unique()] if len(shares) != 2 else [str(shares.index[0])]
    if not 1 <= len(classes) <= MOST:
        return {}
    if len(classes) == 1:
        said = f"“{_YES_OR_NO.get(classes[0], classes[0])}”"
        return {
            f"What is found of {said}": tuple(
                _column(rows, t, classes[0], t.capitalize(), note) for t, note in _TERMS.items()
            )
        }
    return {
        f"{t.capitalize()} by class": tuple(_column(rows, t, c, f"“{c}”", note) for c in classes)
        for t, note in _TERMS.items()
    }


def _column(rows: pd.DataFrame, term: str, name: str, label: str, note: str) -> SummaryColumn:
    chosen = rows[(rows["term"] == term) & (rows["class"] == name)]
    return SummaryColumn(term, label, note, "share", row_of_each(chosen.assign(judge=chosen["_who"]), ()))


def _results(study: Study, options: MeasureOptions) -> Iterator[tuple[pd.Series[str], pd.DataFrame]]:
    """Names of the rows and estimates, of the judges against gold or people, and of each person against the others."""
    people, frame = options.people, study.data.to_native()
    labelled = "gold" in frame and frame["gold"].notna().any()
    persons = [] if people is None else people["judge"].unique().tolist()
    sides: list[tuple[pd.DataFrame | Study, list[str], str]] = []
    if labelled:
        sides.append((study, [], ""))
    elif people is not None:
        sides.append((pd.concat([frame, people], ignore_index=True), persons, ""))
    if people is not None and 2 <= len(persons) <= MOST:
        answers = people.drop(columns="gold", errors="ignore")
        beside = f", a person, beside the other{'s' * (len(persons) > 2)}"
        sides += [(answers, [other for other in persons if other != person], beside) for person in persons]
    for data, humans, beside in sides:
        try:
            result = options.call(classification, data, **({"humans": humans} if humans else {}))
        except JudgestatsError:
            continue
        yield whose(result, options.by) + beside, result
