"""Findings: what :func:`judgestats.check` lists of a table, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import pandas as pd

from judgestats.errors import Advice

#: Columns of :func:`check`.
CHECK_COLUMNS = ("level", "column", "what", "n", "rows", "example", "remedy", "where")


@dataclass(frozen=True)
class Finding:
    """One row of :func:`check`."""

    level: str
    column: str
    what: str
    rows: tuple[int, ...]
    example: str = ""
    remedy: str = ""
    advice: Advice = ()
    unread: int = 0
    where: str = ""

    @property
    def n(self) -> int:
        """How many rows it concerns, those that never came into the frame among them."""
        return len(self.rows) + self.unread


def as_frame(findings: list[Finding], places: Sequence[str] = ()) -> pd.DataFrame:
    """Findings as the frame that :func:`check` returns; `places`: where each row comes from, if that is known."""
    rows = [
        (f.level, f.column, f.what, f.n, f.rows, f.example, f.remedy, f.where or shown_places(places, f.rows))
        for f in findings
    ]
    return pd.DataFrame(rows, columns=list(CHECK_COLUMNS))


#: What numbers of rows and of lines count, where places are listed.
PLACES = "Rows are counted from 0, without a header; lines from 1, as in an editor."


#: Between a file and its line, or lines.
_LINE, _LINES = ", line ", ", lines "


def shown_places(places: Sequence[str], rows: Sequence[int], most: int = 3) -> str:
    """The first places of some rows; a file is named once.

    >>> shown_places(["a.csv, line 2", "a.csv, line 3", "b.csv, line 2"], [0, 1, 2])
    'a.csv, lines 2, 3; b.csv, line 2'
    """
    first = [places[r].partition(_LINE) for r in rows[:most]] if len(places) else []
    files = [(file, list(dict.fromkeys(line for _, _, line in of))) for file, of in groupby(first, key=itemgetter(0))]
    said = [f"{file}{_LINE if len(of) == 1 else _LINES}{', '.join(of)}" if any(of) else file for file, of in files]
    return "; ".join(said) + ("; ..." if said and len(rows) > most else "")
