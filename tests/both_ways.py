"""One source read into memory and lazily: the same rows, or an error of ours both times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

import judgestats as js
from judgestats.errors import JudgestatsError
from judgestats.schema.opening import cell_text


@dataclass(frozen=True)
class Reading:
    """What came of reading a source: a table in memory, or the message of an error of ours."""

    table: pd.DataFrame | None = None
    error: str = ""


def reading(source: Any, *, lazy: bool, **options: Any) -> Reading:
    """Read a source; exceptions that are not ours go up."""
    try:
        frame = js.read(source, lazy=lazy, **options)
        if not lazy:
            return Reading(frame)
        table = nw.from_native(frame).collect("pandas").to_native()
        revalidated(table)
        return Reading(table)
    except JudgestatsError as problem:
        return Reading(error=str(problem))


def revalidated(table: pd.DataFrame) -> None:
    """Raise what a lazy frame keeps until it is looked at."""
    if {"first", "second"} <= set(table.columns):
        js.preferences(table, counts=None)
    else:
        js.ratings(table, counts=None)


def rows(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Rows as sorted tuples of text, whatever the types; a status that says nothing is left out."""
    names = sorted(c for c in table.columns if c != "status" or (table[c].astype(str) != "ok").any())
    cells = zip(*([_cell(v) for v in table[n].astype(object)] for n in names), strict=True)
    return [*sorted(cells), tuple(names)]


def _cell(value: Any) -> str:
    if value is None or (not isinstance(value, list | dict) and pd.isna(value)):
        return ""
    value = value.item() if hasattr(value, "item") else value
    text = str(value) if isinstance(value, bool) else cell_text(value)
    return text if text is not None else ""


def difference(source: Any, eager: Reading | None = None, **options: Any) -> str:
    """How the two readings differ, empty where they do not; `eager`: that in memory, if it is at hand."""
    eager = eager or reading(source, lazy=False, **options)
    lazy = reading(source, lazy=True, **options)
    if eager.table is None or lazy.table is None:
        if (eager.table is None) == (lazy.table is None):
            return ""
        return f"eager {'fails: ' + eager.error if eager.error else 'reads'}; lazy {'fails: ' + lazy.error if lazy.error else 'reads'}"
    if rows(eager.table) == rows(lazy.table):
        return ""
    return f"eager {rows(eager.table)[:3]} {rows(eager.table)[-1]}; lazy {rows(lazy.table)[:3]} {rows(lazy.table)[-1]}"
