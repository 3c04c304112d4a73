"""Sections of a page beyond the datasheets: the measures of each section of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from judgestats.metrics.measure_registry import SECTIONS, Measure, measures
from judgestats.reporting import plots
from judgestats.reporting.estimate_tables import estimates_table, without_number
from judgestats.reporting.formatting import count, noun
from judgestats.reporting.pictures import PAIRS, PagePicture, drawing
from judgestats.typing import Record

#: Rows of a table that are shown at once, and at all.
OPEN_ROWS, MOST = 12, 60
#: Sections of the page -> those of the records of measures that stand in them.
PARTS = {
    "Is it right?": ("accuracy",),
    "Is it biased?": ("bias", "psychometrics", "cues"),
    "Do they agree?": ("people", "agreement", "variance", "scores", "consensus", "calibration"),
    "Does another way of asking help?": ("strategies",),
    "Which system is better?": ("ranking",),
}
#: Where a new section of measures goes.
_ELSE = "Do they agree?"


def chapters(
    results: Mapping[str, pd.DataFrame],
    conf_level: float,
    of_shown: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows,
    left_out: str = "",
) -> list[Record]:
    """Each section with estimates of a measure: its title, the part of the page, and its measures."""
    records = [(record, results[name]) for name, record in measures().items() if name in results]
    chapters_of_page = []
    for section, title in SECTIONS.items():
        parts = [
            _measure_section(record, result, conf_level, of_shown(result), left_out)
            for record, result in records
            if record.section == section
        ]
        where = next((p for p, sections in PARTS.items() if section in sections), _ELSE)
        chapters_of_page += [{"title": title, "where": where, "parts": parts}] if parts else []
    return chapters_of_page


def _measure_section(
    record: Measure, result: pd.DataFrame, conf_level: float, in_picture: pd.DataFrame, left_out: str
) -> Record:
    images: list[PagePicture] = []
    if record.caption and record.name not in PAIRS.values():  # their matrix is at the head of the section
        draw = partial(getattr(plots, record.plot.partition(",")[0]), in_picture)
        caption = f"{record.caption} {left_out}" if len(in_picture) < len(result) else record.caption
        title = record.question.rstrip("?")
        images = [*drawing(record.name.replace("_", "-"), title, caption, draw, wide=True)]
    rows, more, numbers = rows_of_table(record, result)
    return {
        "name": record.name,
        "question": record.question,
        "pictures": images,
        "table": estimates_table(rows, conf_level, record.name) if len(rows) else None,
        "folded": numbers > OPEN_ROWS,
        "size": noun(numbers, "row"),
        "more": more,
    }


def rows_of_table(record: Measure, result: pd.DataFrame) -> tuple[pd.DataFrame, str, int]:
    """The rows of a measure that its table shows, which it leaves out, and how many have a number."""
    rows = result[result["term"].isin(record.table)] if record.table else result
    blank = without_number(rows)
    numbers = rows[~blank]
    extremes = _most_extreme(numbers)
    more = _rows_left_out(numbers.drop(index=extremes.index))
    return rows[rows.index.isin(extremes.index) | blank], more, len(numbers)


def _most_extreme(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that are shown: of very many the highest and the lowest of each term, in their order."""
    if len(rows) <= MOST:
        return rows
    sizes = rows["term"].value_counts()
    each = max(MOST // len(sizes), 2)
    few = sizes[sizes <= each]
    each = max((MOST - int(few.sum())) // max(len(sizes) - len(few), 1), 2)
    chosen: list[object] = []
    for term, same in rows.groupby("term", sort=False)["estimate"]:
        order = same.sort_values(kind="stable", ascending=term == "rank", na_position="last").index
        chosen += [*order] if term in few.index else [*order[: each - each // 2], *order[len(order) - each // 2 :]]
    return rows[rows.index.isin(chosen)]


def _rows_left_out(rows: pd.DataFrame) -> str:
    """What a table leaves out, and where it is; empty if nothing is."""
    if rows.empty:
        return ""
    ranks = rows.loc[rows["term"] == "rank", "estimate"]
    what = f"{noun(len(rows), 'row')} between the highest and the lowest"
    if len(ranks):
        what = f"{noun(len(ranks), 'system')} of rank {count(ranks.min())} to {count(ranks.max())}"
    return f"{what} {'is' if len(rows) == 1 or len(ranks) == 1 else 'are'} in"
