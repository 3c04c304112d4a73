"""Remarks on an unknown table besides its mapping: wide, nested, items numbered per subset, or a log of a tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pandas as pd

from judgestats.ingest.answers import distinct, is_number
from judgestats.ingest.guesses import plain
from judgestats.schema.columns import NO, YES
from judgestats.schema.opening import few

#: Tools whose logs are recognised but not read -> sets of top-level keys, any of which identifies them.
_FOREIGN: dict[str, tuple[frozenset[str], ...]] = {
    "inspect_ai": (frozenset({"version", "status", "eval", "plan"}),),
}
_ERRORS = ("error", "errors", "error_message", "exception")
_NO_ERROR = ("false", "0", "none", "null", "no", "ok", "{}", "[]")
#: Columns within which items may be numbered from the start again.
_COLLECTIONS = ("subset", "task", "category", "benchmark", "dataset", "domain", "topic", "split")
_MOST_LEVELS = 60


def foreign(frame: pd.DataFrame) -> str:
    """Name of the tool whose log this looks like, by the top-level keys of its records; empty if none.

    >>> foreign(pd.DataFrame({"version": [2], "status": ["success"], "eval.task": ["t"], "plan.name": ["p"]}))
    'inspect_ai'
    """
    keys = set(map(str, frame.columns)) | {str(c).partition(".")[0] for c in frame.columns}
    return next((tool for tool, signs in _FOREIGN.items() if any(sign <= keys for sign in signs)), "")


def nested(frame: pd.DataFrame) -> list[str]:
    """Notes on columns whose cells are lists of records or of numbers."""
    text = {c: list(map(str, frame[c].dropna().head(5).tolist())) for c in frame.columns}
    found = [c for c, values in text.items() if any(re.match(r"\s*\[\s*\{", v) for v in values)]
    lists = [c for c, values in text.items() if any(re.match(r"\s*\[[\s\[]*-?\d", v) for v in values)]
    if lists and not found:
        return [
            f"{few(map(repr, lists), 4)} holds lists of numbers. Put each number in its own row, with the place in "
            f"the list in a column (replicate, or the system it is of): pandas.DataFrame.explode({str(lists[0])!r}) "
            "opens one level of lists. Then give that table."
        ]
    if not found:
        return []
    return [
        f"{few(map(repr, found), 4)} holds nested records. Open them first, one row each: pandas.json_normalize("
        f"records, record_path={found[0].split('.') if '.' in found[0] else found[0]!r}, meta=[...]), and give that "
        "table."
    ]


def errors(frame: pd.DataFrame) -> list[str]:
    """Notes on filled columns of errors."""
    notes = []
    for column in frame.columns:
        if plain(column) in _ERRORS:
            text = frame[column].dropna().astype(str).str.strip().str.lower()
            n = int((~text.isin(["", *_NO_ERROR])).sum())
            if n:
                notes.append(
                    f"{column!r} is filled in {n} row{'s' * (n != 1)}: such calls failed. Check that their answer "
                    "or score is empty (or 'invalid'), not a default."
                )
    return notes


def numbered_per_subset(frame: pd.DataFrame, names: Mapping[str, str], item: str) -> tuple[str | None, str]:
    """Find a subset column within which the items are numbered from the start again.

    `frame`: the table. `names`: plain name -> column. `item`: column taken for the item. Returns `column`: a subset,
    task, dataset ... of few values across which an item recurs with other contents: a further column is constant given
    both, but not given the item alone. `note`: the evidence.
    """
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
    found = []
    for column in frame.columns:
        if column in (item, group):
            continue
        values = frame[column].astype("string")
        if (
            values.groupby([frame[group], frame[item]]).nunique().max() == 1
            and values.groupby(frame[item]).nunique().max() > 1
            and values.groupby(frame[group]).nunique().max() > 1
        ):
            found.append(str(column))
    return found


def melt(frame: pd.DataFrame, wide: list[str], what: str = "judge", value: str = "verdict") -> str:
    """Note how to make a wide table long."""
    rest = [c for c in frame.columns if c not in wide]
    return (
        f"It looks wide, one column per {what}: {few(wide, 6)}. In Python it is made long by "
        f"table.melt(id_vars={rest!r}, var_name='{what}', value_name='{value}')."
    )


def value_name(frame: pd.DataFrame, wide: Iterable[str], *, paired: bool) -> str:
    """Name for what the judges of a wide table gave: grades of single answers are scores, yes and no are verdicts."""
    labels: set[str] = set().union(*(distinct(frame[c]) for c in wide))
    if not paired and not all(is_number(v) for v in labels) and {v.strip().lower() for v in labels} <= {*YES, *NO}:
        return "correct"
    return "score" if not paired and all(is_number(v) for v in labels) else "verdict"


__all__ = ["errors", "foreign", "melt", "nested", "numbered_per_subset", "value_name"]
