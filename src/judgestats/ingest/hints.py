"""Remarks on an unknown table besides its mapping: wide, nested, items numbered per subset."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pandas as pd

from judgestats.ingest.answers import distinct, is_number
from judgestats.ingest.guesses import POSITIONS, TIES, WORDS, plain
from judgestats.schema.columns import NO, YES
from judgestats.schema.opening import few

_ERRORS = ("error", "errors", "error_message", "exception")
_NO_ERROR = ("false", "0", "none", "null", "no", "ok", "{}", "[]")
#: Columns within which items may be numbered from the start again.
_COLLECTIONS = ("subset", "task", "category", "benchmark", "dataset", "domain", "topic", "split")
_MOST_LEVELS = 60
#: Longest label that is a class.
_LONGEST_LABEL = 40


#: Rows in which the first cells of a column are looked for before all its rows are.
_AHEAD = 50


def first_cells(frame: pd.DataFrame, most: int = 1) -> dict[str, list[object]]:
    """The first cells of each column that are not missing; columns without any are left out."""
    ahead = {str(c): v.dropna().tolist() for c, v in frame.head(_AHEAD).astype(object).items()}
    cells = {c: v if v else frame[c].dropna().head(most).tolist() for c, v in ahead.items()}
    return {c: v[:most] for c, v in cells.items() if v}


#: Rows by which a first line is taken for a record.
_FIRST_ROWS = 1000


def headerless(frame: pd.DataFrame) -> str:
    """Note that the names of the columns look like a row of the table; empty if they do not."""
    names = [str(c) for c in frame.columns]
    numbers = [float(n) for n in names if is_number(n)]
    like_rows = bool(numbers) and numbers not in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])
    for name, (_, cells) in zip(names, frame.head(_FIRST_ROWS).items(), strict=True):
        values = distinct(cells)
        if plain(name) in WORDS or not values or all(map(is_number, values)) != is_number(name):
            return ""
        like_rows |= not is_number(name) and name in values
    if not like_rows:
        return ""
    return (
        f"The first line may be a row, no header: its cells ({few(names, 6)}) are like those below. If so, pass "
        "names= (--names) with a name for each column, or header=False (--no-header)."
    )


def nested(frame: pd.DataFrame) -> list[str]:
    """Notes on columns whose cells are objects, lists of records or lists of numbers."""
    text = {c: list(map(str, cells)) for c, cells in first_cells(frame, 5).items()}
    records = [c for c, values in text.items() if any(re.match(r"\s*\[\s*\{", v) for v in values)]
    lists = [c for c, values in text.items() if any(re.match(r"\s*\[[\s\[]*-?\d", v) for v in values)]
    whole = [c for c, values in text.items() if any(re.match(r"\s*\{\s*\"", v) for v in values)]
    notes = [
        f"{few(map(repr, whole), 4)} holds objects whose names are data (ids, say: each record has others), and stays "
        "as JSON. Write them as lists of records, with the name in a field of its own; explode= gives each a row."
    ] * bool(whole)
    if records:
        return [
            f"{few(map(repr, records), 4)} holds nested records: explode={records[0]!r} gives each a row of its own.",
            *notes,
        ]
    if lists:
        return [
            *notes,
            f"{few(map(repr, lists), 4)} holds lists of numbers: wide='judge[item]={lists[0]}' gives each number a row "
            "of its own. Say in the brackets what the place in the list is: [item], [system], [replicate], or "
            "[system][replicate] for lists within lists.",
        ]
    return notes


def errors(frame: pd.DataFrame) -> list[str]:
    """Notes on filled columns of errors."""
    notes = []
    for column in frame.columns:
        if plain(column) in _ERRORS:
            text = frame[column].dropna().astype(str).str.strip().str.lower()
            n = int((~text.isin(["", *_NO_ERROR])).sum())
            if n:
                notes.append(
                    f"{column!r} is filled in {n} row{'s' * (n != 1)}: such calls failed. Map "
                    f"failed={column} unless their answer or score is empty (or 'invalid'), not a default."
                )
    return notes


def numbered_per_subset(frame: pd.DataFrame, names: Mapping[str, str], item: str) -> tuple[str | None, str]:
    """Find a subset column within which the items are numbered from the start again."""
    for wanted in _COLLECTIONS:
        group = names.get(wanted)
        if group is None or group == item or not 2 <= frame[group].nunique() <= _MOST_LEVELS:
            continue
        if frame.groupby(item)[group].nunique().max() < 2:
            continue
        content = _content(frame, item, group)
        if content:
            pairs, items = frame.groupby([group, item]).ngroups, frame[item].nunique()
            return group, (
                f"{item!r} is numbered separately in each {group!r}: the same number has other contents "
                f"({few(map(repr, content), 3)}). Joined with it there are {pairs:,} items, not {items:,}."
            )
    return None, ""


def _content(frame: pd.DataFrame, item: str, group: str) -> list[str]:
    """Columns constant given group and item together, but not given either alone."""
    columns = []
    for column in frame.columns:
        if column in (item, group):
            continue
        values = frame[column].astype("string")
        if (
            values.groupby([frame[group], frame[item]]).nunique().max() == 1
            and values.groupby(frame[item]).nunique().max() > 1
            and values.groupby(frame[group]).nunique().max() > 1
        ):
            columns.append(str(column))
    return columns


def melt(frame: pd.DataFrame, wide: list[str], what: str = "judge", value: str = "verdict") -> str:
    """Note that a table looks wide, and what wide= makes of its columns."""
    rest = [c for c in frame.columns if c not in wide]
    return (
        f"It looks wide, one column per {what}: {few(wide, 6)}. wide={what}=... makes it long: the answers become "
        f"{value!r}, and {few(map(repr, rest), 12) or 'no other columns'} stay."
    )


def value_name(columns: Iterable[pd.Series], *, paired: bool) -> str:
    """Name for what the judges of a wide table gave: grades of single answers are scores, a few words are classes."""
    labels: set[str] = set().union(*map(distinct, columns))
    if not paired and not all(is_number(v) for v in labels) and {v.strip().lower() for v in labels} <= {*YES, *NO}:
        return "correct"
    if paired or {v.strip().lower() for v in labels} & {*POSITIONS, *TIES}:
        return "verdict"
    if all(is_number(v) for v in labels):
        return "score"
    short = len(labels) <= _MOST_LEVELS and all(len(v) <= _LONGEST_LABEL for v in labels)
    return "answer" if short and not any(is_number(v) for v in labels) else "verdict"
