"""CSV as the package writes it: every text reads back as it was; forms for people are safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import pandas as pd

#: First characters by which a spreadsheet runs a cell, and the quote that guards against it.
_RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "'")
#: Columns of a form, and of a table of calls, that a plan fills in; what stands in others was written by people.
_PLANNED = {
    ("call", "label"): ("call", "label", "task", "first", "second", "rubric", "response"),
    ("call", "judge"): ("call", "judge", "system", "user", "temperature", "earlier"),
}


class _LineFeeds:
    """A text file that takes the rows of a csv.writer: which quotes CR within a cell only if rows end with CR LF."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, row: str) -> None:
        self._out.write(row.removesuffix("\r\n") + "\n")


def write_rows(out: IO[str], names: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a header and rows to a file that is open with ``newline=""``."""
    writer = csv.writer(_LineFeeds(out), lineterminator="\r\n")
    writer.writerow(list(names))
    writer.writerows(rows)


def as_csv(table: pd.DataFrame) -> str:
    """A table as CSV; a missing value is an empty cell."""
    out = io.StringIO(newline="")
    cells = table.astype(object).where(table.notna(), None)
    write_rows(out, map(str, table.columns), cells.itertuples(index=False, name=None))
    return out.getvalue()


def guarded(cell: Any) -> Any:
    """A cell that no spreadsheet runs: a quote before its sign, and before a quote.

    >>> guarded("=1+1"), guarded("'tis"), guarded("1 = 1")
    ("'=1+1", "''tis", '1 = 1')
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_RUN_BY_SPREADSHEETS) else cell


def unguarded(cell: str) -> str:
    """The text of a guarded cell.

    >>> unguarded("'=1+1"), unguarded("''tis"), unguarded("'tis")
    ('=1+1', "'tis", "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_RUN_BY_SPREADSHEETS) else cell


def has_answers(path: str | os.PathLike[str]) -> bool:
    """Whether a form, or a table of calls, has anything in it that its plan did not write; false for other files.

    As a spreadsheet saves it: with semicolons or tabs, in any encoding. One that cannot be read counts as filled in.
    """
    raw = Path(path).read_bytes()
    utf_16 = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = raw.decode("utf-16" if utf_16 else "utf-8-sig", "replace")
    head = re.match(r'"?call"?([,;\t])"?(label|judge)"?(?=[,;\t\r\n])', text)
    if head is None:
        return False
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=head[1])
    try:
        names = next(rows)
        planned = _PLANNED["call", head[2]]
        return any(
            cell.strip() and (i >= len(names) or names[i] not in planned) for row in rows for i, cell in enumerate(row)
        )
    except csv.Error:
        return True
