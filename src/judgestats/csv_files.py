"""CSV as the package writes it: every text reads back as it was, and no spreadsheet runs one."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import pandas as pd

#: First characters by which a spreadsheet runs a cell (in Japanese wide ones, too), and the quote that guards it.
_RUN_BY_SPREADSHEETS = (*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n", "'")
#: A guarded cell: the quote, and the first character of its text.
GUARDED = re.compile(f"^'([{re.escape(''.join(_RUN_BY_SPREADSHEETS))}])")
#: Column of a table in which cells or names are guarded, the quote in each row: what reads it takes the quotes away.
GUARD, _QUOTE = "spreadsheet_quote", "'"
#: A number as it is printed, which a spreadsheet runs to itself; an infinite one it calls an unknown name.
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)? ?%?|[+-]inf")
#: Columns of forms, and of tables of calls, that a plan fills in; what stands in others was written by people.
_PLANNED = {
    *("call", "label", "task", "first", "second", "rubric", "response"),
    *("judge", "system", "user", "temperature", "earlier"),
}
#: Marks of encodings at the beginning of a file.
_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class _LineFeeds:
    """A text file that takes the rows of a csv.writer: which quotes CR within a cell only if rows end with CR LF."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, row: str) -> None:
        self._out.write(row.removesuffix("\r\n") + "\n")


def write_rows(out: IO[str], names: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a header and rows, guarded, to a file that is open with ``newline=""``."""
    _write(out, map(guarded, names), (map(guarded, row) for row in rows))


def as_csv(table: pd.DataFrame) -> str:
    """A table as CSV, guarded, with the column :data:`GUARD` where a text is; a missing value is an empty cell."""
    out = io.StringIO(newline="")
    names: list[object] = [str(name) for name in table.columns]
    columns = [_cells(table.iloc[:, at]) for at in range(len(names))]
    safe_names, safe_columns = [*map(guarded, names)], [[*map(guarded, cells)] for cells in columns]
    if (safe_names, safe_columns) != (names, columns):
        names, columns = [*safe_names, GUARD], [*safe_columns, [_QUOTE] * len(table)]
    _write(out, names, zip(*columns, strict=True))
    return out.getvalue()


def _cells(column: pd.Series) -> list[object]:
    """The cells of a column as Python's own, a missing one None."""
    cells: list[object] = column.astype(object).where(column.notna(), None).tolist()
    return cells


def _write(out: IO[str], names: Iterable[object], rows: Iterable[Iterable[object]]) -> None:
    writer = csv.writer(_LineFeeds(out), lineterminator="\r\n")
    writer.writerow(list(names))
    writer.writerows(rows)


def guarded(cell: object) -> object:
    """A cell that no spreadsheet runs: a quote before its sign, and before a quote; a number is left as it is.

    >>> guarded("=1+1"), guarded("'tis"), guarded("1 = 1"), guarded("-0.5")
    ("'=1+1", "''tis", '1 = 1', '-0.5')
    """
    if not isinstance(cell, str) or not cell.startswith(_RUN_BY_SPREADSHEETS) or _NUMBER.fullmatch(cell):
        return cell
    return f"{_QUOTE}{cell}"


def unguarded(cell: str) -> str:
    """The text of a guarded cell.

    >>> unguarded("'=1+1"), unguarded("''tis"), unguarded("'tis")
    ('=1+1', "'tis", "'tis")
    """
    return GUARDED.sub(r"\1", cell)


def unguarded_names(names: Sequence[str]) -> list[str]:
    """Names of the columns of a file as they were before it was written, with guards or without."""
    return [unguarded(name) for name in names if name != GUARD] if GUARD in names else [*names]


def has_answers(path: str | os.PathLike[str]) -> bool:
    """Whether a form, or a table of calls, has anything in it that its plan did not write; false for other files.

    As a spreadsheet saves it, with other separators, encodings and columns in another order; or JSON lines. Tables of
    verdicts are recognised by their column ``item``. A form that cannot be read counts as filled in.
    """
    text = _decoded(Path(path).read_bytes()).lstrip("\ufeff \r\n")
    if text.startswith("{"):
        return any(map(_filled, map(_record, text.splitlines())))
    text = re.sub(r"\A(?i:sep=).[\r\n]+", "", text)
    head = re.split(r"[\r\n]", text, maxsplit=1)[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t|", key=head.count))
    try:
        names = [name.strip().lower() for name in next(rows, [])]
        return any(_filled(dict(zip([*names, *map(str, row[len(names) :])], row, strict=False))) for row in rows)
    except csv.Error:
        return "call" in head.lower()


def _decoded(raw: bytes) -> str:
    """A text in the encoding that its mark says, or UTF-8; of one in 16 or 32 bits without a mark, what is ASCII."""
    encoding = next((encoding for mark, encoding in _MARKS.items() if raw.startswith(mark)), "")
    return raw.decode(encoding, "replace") if encoding else raw.replace(b"\0", b"").decode(errors="replace")


def _record(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _filled(record: object) -> bool:
    """Whether a record of a call has anything but what its plan wrote."""
    if not isinstance(record, dict) or "call" not in record or "item" in record:
        return False
    return any(str("" if value is None else value).strip() for name, value in record.items() if name not in _PLANNED)
