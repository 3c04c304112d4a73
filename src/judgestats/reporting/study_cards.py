"""The cards of a study: the questions that its paper asks, answered by its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from judgestats.reporting.formatting import PERCENT, form_of, noun, number, printed
from judgestats.reporting.study_tables import StudyTable
from judgestats.reporting.summary_parts import Card
from judgestats.typing import Record


@dataclass(frozen=True)
class StudyQuestion:
    """A question, the columns that answer it, and the sentence for when every interval includes 0.

    `among`: values that a label must have. `best`: the highest estimate answers, not that farthest from 0. `p_values`:
    column of adjusted p-values, which then decide in place of the intervals.
    """

    head: str
    columns: tuple[str, ...]
    none: str = ""
    among: Mapping[str, tuple[str, ...]] | None = None
    best: bool = False
    p_values: str = ""


QUESTIONS: Mapping[str, tuple[StudyQuestion, ...]] = {
    "debiasing": (
        StudyQuestion("Which strategy agrees most with gold?", ("accuracy",), best=True),
        StudyQuestion(
            "Does a strategy change accuracy?",
            ("minus B0",),
            "No change from B0 survives correction",
            p_values="p, Holm",
        ),
        StudyQuestion(
            "Which bias is largest?", ("position", "verbosity", "style", "own model"), "No interval leaves out 0"
        ),
        StudyQuestion("Is it biased by position?", ("position",), "No position bias on identical texts shown"),
        StudyQuestion("Does it prefer its own model?", ("own model",), "No preference for the own model shown"),
        StudyQuestion("Do people prefer as it does?", ("beyond people",), "No preference beyond that of people shown"),
    ),
    "rubric": (
        StudyQuestion(
            "Does a judge favour its own system?", ("attributed, own beyond others",), "No self-preference shown"
        ),
        StudyQuestion("Does hiding names help?", ("attenuation, %",), "No attenuation shown"),
    ),
    "merg": (StudyQuestion("Does agreement survive?", ("r minus baseline-score",), "No change of agreement shown"),),
    "cues": (
        StudyQuestion("Does a label move the verdict?", ("shift",), "No shift shown", {"probe": ("truth", "flip")}),
        StudyQuestion("Is it revised when the labels are put right?", ("towards",), best=True),
    ),
}


def study_cards(study: str, tables: Sequence[StudyTable], conf_level: float) -> list[Card]:
    """A card for each question of a study that its tables answer."""
    return [c for q in QUESTIONS.get(study, ()) for c in _cards(q, tables, conf_level)]


def _cards(question: StudyQuestion, tables: Sequence[StudyTable], conf_level: float) -> Iterator[Card]:
    for table in tables:
        rows = table.rows[table.rows["column"].isin(question.columns) & table.rows["estimate"].notna()]
        for label, values in (question.among or {}).items():
            rows = rows[rows[label].isin(values)] if label in rows else rows[:0]
        if len(rows):
            yield _card(question, table, rows, conf_level)


def _card(question: StudyQuestion, table: StudyTable, rows: pd.DataFrame, conf_level: float) -> Card:
    clear = rows[(rows["conf_low"] > 0) | (rows["conf_high"] < 0)]
    if question.p_values:
        labels = list(table.labels)
        small = table.rows[(table.rows["column"] == question.p_values) & (table.rows["estimate"] <= 1 - conf_level)]
        clear = rows[pd.MultiIndex.from_frame(rows[labels]).isin(pd.MultiIndex.from_frame(small[labels]))]
    chosen = rows if question.best or not len(clear) else clear
    size = chosen["estimate"] if question.best else chosen["estimate"].abs()
    row = chosen.loc[size.idxmax()]
    several = len(question.columns) > 1
    who = " · ".join(str(row[c]) for c in (*table.labels, *(["column"] if several else [])) if row[c] not in ("", None))
    value, ends = _texts(row.to_dict(), question.best)
    detail = f"{100 * conf_level:g}{PERCENT} interval {ends}" if row["conf_low"] == row["conf_low"] else "no interval"
    of = f"; the {'highest' if question.best else 'largest'} of {noun(len(rows), 'estimate')}, each interval alone"
    detail += of if len(rows) > 1 else ""
    if question.best or len(clear):
        return Card("right" if question.best else "biased", question.head, f"{who}, {value}", detail, row["method"])
    return Card("biased", question.head, question.none, f"largest: {who}, {value} ({detail})", row["method"])


def _texts(row: Record, unsigned: bool) -> tuple[str, str]:
    """An estimate and the ends of its interval; a percentage that is no share has the sign of percent in its column."""
    form, (low, high) = form_of(row), (float(row["conf_low"]), float(row["conf_high"]))
    percent = str(row["column"]).endswith(", %")

    def text(value: float) -> str:
        if form != "score":
            return printed(value, form, high - low)
        return number(value, 0 if percent else 2)

    unit = PERCENT if percent else " points" if form == "points" else ""
    value = text(row["estimate"])
    value = f"+{value}" if form == "score" and not unsigned and row["estimate"] > 0 else value
    return f"{value}{unit}", f"{text(low).removesuffix(PERCENT)} to {text(high)}{unit}"
