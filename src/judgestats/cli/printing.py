"""What commands print: plain text, and tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from judgestats.errors import masked
from judgestats.terminal import visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.text import Text

#: Spaces between two columns.
_GAP = 2


def wide_console() -> Console:
    """A console as wide as the terminal, or as COLUMNS says; 120 columns if neither is known."""
    from rich.console import Console

    wide = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(width=None if wide else 120, highlight=False)


def plain_text(text: str) -> Text:
    """Text with neither markup, nor commands to the terminal, nor secrets of addresses."""
    from rich.text import Text

    return Text(visible(masked(text)))


def print_table(console: Console, title: str, frame: pd.DataFrame) -> None:
    """Print a frame, as text and never markup; what is too wide goes on below, beside the first column."""
    import pandas as pd
    from rich.table import Table

    from judgestats.reporting.formatting import count

    whole = [pd.api.types.is_integer_dtype(dtype) for dtype in frame.dtypes]
    rows = [
        ["" if v is None or v is pd.NA else count(v) if n else str(v) for v, n in zip(row, whole, strict=True)]
        for row in frame.itertuples(index=False)
    ]
    columns = [[str(name), *(row[k] for row in rows)] for k, name in enumerate(frame.columns)]
    for part in _parts(columns, console.width):
        table = Table(title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
        table.title, title = plain_text(title) if title else None, ""
        for k, width in part.items():
            numeric = pd.api.types.is_numeric_dtype(frame.iloc[:, k]) and frame.iloc[:, k].dtype != bool
            justify: Literal["right", "left"] = "right" if numeric else "left"
            table.add_column(plain_text(columns[k][0]), justify=justify, overflow="fold", width=width)
        for row in rows:
            table.add_row(*(plain_text(row[k]) for k in part))
        console.print(table)
        console.print()


def _parts(columns: Sequence[Sequence[str]], room: int) -> list[dict[int, int | None]]:
    """Places and widths of the columns of each part: as many as stand side by side with their words whole."""
    from rich.cells import cell_len

    word = [max(cell_len(w) for text in column for w in (text.split() or [""])) for column in columns]
    whole = [max(map(cell_len, column)) for column in columns]
    parts: list[list[int]] = [[]]
    for k in range(len(columns)):
        if len(parts[-1]) > 1 and sum(word[i] + _GAP for i in parts[-1]) + word[k] > room:
            parts.append([0])
        parts[-1].append(k)
    return [_widths(part, word, whole, room - _GAP * (len(part) - 1)) for part in parts]


def _widths(part: Sequence[int], word: Sequence[int], whole: Sequence[int], room: int) -> dict[int, int | None]:
    """Widths of columns: the widest give way first, and none is narrower than its longest word, if they fit so."""
    for most in range(max((whole[k] for k in part), default=0), -1, -1):
        widths: dict[int, int | None] = {k: max(word[k], min(whole[k], most)) for k in part}
        if sum(w or 0 for w in widths.values()) <= room:
            return widths
    return dict.fromkeys(part)


def print_unread(console: Console, verdicts: pd.DataFrame) -> None:
    """Which files of the source were left, and why."""
    from judgestats.schema.account import account_of

    account = account_of(verdicts)
    if account is not None and account.unread:
        console.print(plain_text(account.unread), soft_wrap=True)


def print_totals(console: Console, findings: pd.DataFrame) -> None:
    """The account in one line: rows in = rows used + rows excluded."""
    from judgestats.reporting.formatting import count

    totals = findings[findings["level"] == "rows"].set_index("what")["n"].map(count)
    used, excluded = totals["rows used"], totals["rows excluded"]
    console.print(plain_text(f"{totals['rows in']} rows: {used} used, {excluded} excluded"))


def print_findings(console: Console, findings: pd.DataFrame) -> None:
    """What is excluded, and what is worth knowing of the rows used."""
    from judgestats.reporting.formatting import spaced
    from judgestats.schema.findings import PLACES

    rest = findings[findings["level"] != "rows"]
    if len(rest):
        numbers = rest["rows"].map(lambda rows: ", ".join(map(str, rows[:3])) + (", ..." if len(rows) > 3 else ""))
        first = rest["where"].where(rest["where"] != "", numbers)
        rest = rest.assign(first_rows=first, what=rest["what"].map(spaced), remedy=rest["remedy"].map(spaced))
        print_table(console, "Rows used and excluded", rest[["level", "what", "n", "first_rows", "remedy"]])
        console.print(f"{PLACES}\n")
