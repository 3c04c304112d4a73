"""What ``judgestats check`` shows of the measures: a number beside each, and the judges side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from judgestats.methods import resampled
from judgestats.metrics.measure_registry import measures
from judgestats.reporting.formatting import count, estimate, form_of, in_words, spaced, with_interval
from judgestats.typing import Column
from judgestats.wording import as_one, texts_of, without_numbers

#: Sections whose numbers stand in the table of the judges, and most judges and columns there.
SECTIONS = ("accuracy", "bias", "agreement", "people")
MOST_JUDGES, MOST_COLUMNS = 20, 4


def _quantity(term: str, measure: str, columns: Collection[str]) -> str:
    """What a number is; accuracy only where there are right answers."""
    if measure == "accuracy" and "gold" not in columns:
        return "said to be right" if "correct" in columns else "scores of 1"
    return in_words(term, measure)


def headlines(tried: Mapping[str, pd.DataFrame | str], columns: Collection[str]) -> pd.DataFrame:
    """``quantity, over the judges, measure, question`` of each measure with estimates, by its first term.

    `columns`: of the data.
    """
    rows = []
    for name, estimates in tried.items():
        if isinstance(estimates, str):
            continue
        estimable = estimates[estimates["estimate"].notna()]
        term = str(estimable["term"].iloc[0])
        same = estimable[estimable["term"] == term]
        form = form_of(same.iloc[0].to_dict(), name)
        ends = [estimate(v, form=form) for v in (same["estimate"].min(), same["estimate"].max())]
        span = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        rows.append((_quantity(term, name, columns), span, name, measures()[name].question))
    return pd.DataFrame(rows, columns=["quantity", "over the judges", "measure", "question"])


@dataclass(frozen=True)
class JudgesSideBySide:
    """Shares and agreements of each judge (and group) in closed form: the table, its flags, and what it leaves out."""

    table: pd.DataFrame
    flags: list[tuple[str, str]]  # each with the numbers beside which it stands
    note: str


def by_judge(tried: Mapping[str, pd.DataFrame | str], groups: list[str], names: Collection[str]) -> JudgesSideBySide:
    """The judges side by side, with intervals."""
    columns: dict[str, pd.Series[Any]] = {}
    flagged: dict[str, pd.Series[Any]] = {}
    for name, estimates in tried.items():
        record = measures()[name]
        if isinstance(estimates, str) or record.pattern is None or record.section not in SECTIONS:
            continue
        estimable = estimates[estimates["estimate"].notna() & estimates["conf_low"].notna()]
        estimable = estimable[[not resampled(method) for method in estimable["method"]]]
        of_pairs = {"other", "candidate"} & set(estimable.columns)
        if estimable.empty or of_pairs or not {"judge", *groups} <= set(estimable.columns):
            continue
        term = str(estimable["term"].iloc[0])
        rows = estimable[estimable["term"] == term].set_index(["judge", *groups])
        if rows.index.has_duplicates:
            continue
        texts = [" ".join(with_interval({**r, "term": term}, name)) for _, r in rows.iterrows()]
        columns[label := _quantity(term, name, names)] = pd.Series(texts, index=rows.index)
        flagged[label] = rows["flag"]
    left = max(len(columns) - MOST_COLUMNS, 0)
    labels = list(columns)[:MOST_COLUMNS]
    table = pd.DataFrame({label: columns[label] for label in labels}).fillna("")
    more = max(len(table) - MOST_JUDGES, 0)
    unseen = [f"{count(more)} more rows" * (more > 0), f"{left} more measures" * (left > 0)]
    note = " and ".join(filter(None, unseen))
    note = f"Not shown: {note}. judgestats report shows them." if note else ""
    table = table.head(MOST_JUDGES)
    said = _flags({label: flagged[label].reindex(table.index).fillna("") for label in labels}, len(table))
    return JudgesSideBySide(table.reset_index(), said, note)


def _flags(cells: Mapping[str, Column], rows: int) -> list[tuple[str, str]]:
    """Each flag once, with its numbers from least to most, and the quantities and rows beside which it stands."""
    beside: dict[str, dict[str, dict[str, str]]] = {}  # flag without its numbers -> quantity -> row -> flag
    for label, column in cells.items():
        for key, cell in column.items():
            row = " · ".join(map(str, key)) if isinstance(key, tuple) else str(key)
            for flag in texts_of([cell]):
                beside.setdefault(without_numbers(flag), {}).setdefault(label, {})[row] = flag
    said = []
    for places in beside.values():
        texts = [flag for column in places.values() for flag in column.values()]
        of_rows: dict[tuple[str, ...], list[str]] = {}
        for label, column in places.items():
            of_rows.setdefault(tuple(column), []).append(label)
        where = (f"{', '.join(of)}{_of_rows(names, rows)}" for names, of in of_rows.items())
        said.append((spaced(as_one(texts)), "; ".join(where)))
    return said


def _of_rows(names: Sequence[str], rows: int) -> str:
    """Which rows: none is named where it is all, and three where they are many."""
    if len(names) == rows:
        return "" if rows == 1 else f" of all {count(rows)}"
    more = f" and {count(len(names) - 3)} more" if len(names) > 4 else ""
    return f" of {', '.join(names[: 3 if more else 4])}{more}"
