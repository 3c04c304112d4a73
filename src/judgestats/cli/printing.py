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

    from judgestats.reporting.summary_parts import Summary

#: Spaces between two columns, most lines of a cell, and the width up to which a cell stands on one.
_GAP, _LINES, _SHORT = 2, 6, 24


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
    """Print a frame, as text and never markup; no word is broken that fits in a line.

    What is too wide goes on below, beside the first column, if that tells the rows apart; else a row is a list.
    """
    import pandas as pd
    from rich.table import Table

    from judgestats.reporting.formatting import count

    whole = [pd.api.types.is_integer_dtype(dtype) for dtype in frame.dtypes]
    rows = [
        [
            "" if v is None or v is pd.NA or v != v else count(v) if n else str(v)
            for v, n in zip(row, whole, strict=True)
        ]
        for row in frame.itertuples(index=False)
    ]
    columns = [[str(name), *(row[k] for row in rows)] for k, name in enumerate(frame.columns)]
    parts = _parts(columns, console.width)
    if parts is None:
        _print_lists(console, title, columns)
        return
    for part in parts:
        table = Table(title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
        table.title, title = plain_text(title) if title else None, ""
        for k, width in part.items():
            numeric = pd.api.types.is_numeric_dtype(frame.iloc[:, k]) and frame.iloc[:, k].dtype != bool
            justify: Literal["right", "left"] = "right" if numeric else "left"
            table.add_column(plain_text(columns[k][0]), justify=justify, width=width)
        for row in rows:
            table.add_row(*(plain_text(row[k]) for k in part))
        console.print(table)
        console.print()


def _print_lists(console: Console, title: str, columns: Sequence[Sequence[str]]) -> None:
    """Each row as a list of its columns."""
    if title:
        console.print(plain_text(title), style="bold")
    wide = max(len(column[0]) for column in columns) + _GAP
    for row in range(1, len(columns[0])):
        for name, *cells in columns:
            print_hanging(console, f"{name:<{wide}}", cells[row - 1])
        console.print()


def print_hanging(console: Console, head: str, text: str) -> None:
    """A text behind a head, its further lines below its first."""
    import textwrap

    lines = textwrap.wrap(text, console.width - len(head), break_long_words=False, break_on_hyphens=False) or [""]
    for k, line in enumerate(lines):
        beside = " " * len(head) if k else head
        if k or len(beside + line) <= console.width:
            line = beside + line if len(beside + line) <= console.width else line
        else:  # a word that is longer than its place starts a line of its own
            console.print(plain_text(head.rstrip()))
        console.print(plain_text(line), overflow="fold")


def _parts(columns: Sequence[Sequence[str]], room: int) -> list[dict[int, int]] | None:
    """Places and widths of the columns of each part: as many as stand side by side with their words whole.

    None where two columns do not, where a row would be a thread, or where the first column does not tell rows apart.
    """
    from rich.cells import cell_len

    whole = [max(map(cell_len, column)) for column in columns]
    word = [max(map(cell_len, _unbroken(column)), default=0) for column in columns]
    parts: list[list[int]] = [[]]
    for k in range(len(columns)):
        if len(parts[-1]) > 1 and sum(word[i] + _GAP for i in parts[-1]) + word[k] + _GAP > room:
            parts.append([0])
        parts[-1].append(k)
    # rich 13 has a gap behind the last column, too
    widths = [_widths(part, word, whole, room - _GAP * len(part)) for part in parts]
    if len(parts) > 1 and len({*columns[0][1:]}) < len(columns[0]) - 1:
        return None
    threads = (whole[k] > _LINES * w for part in widths if part for k, w in part.items())
    return None if any(threads) or not all(widths) else [part for part in widths if part]


def _unbroken(column: Sequence[str]) -> list[str]:
    """What stays on one line of a column: its words, and cells as short as a number with its interval."""
    from rich.cells import cell_len

    head, *cells = column
    short = max(map(cell_len, cells), default=0) <= _SHORT
    return [*head.split(), *(cells if short else (word for cell in cells for word in cell.split()))]


def _widths(part: Sequence[int], word: Sequence[int], whole: Sequence[int], room: int) -> dict[int, int] | None:
    """Widths of columns: the widest give way first, none below its longest word; None if they are too wide."""
    for most in range(max((whole[k] for k in part), default=0), -1, -1):
        widths = {k: max(word[k], min(whole[k], most)) for k in part}
        if sum(widths.values()) <= room:
            return widths
    return None


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


def print_cards(console: Console, summary: Summary) -> None:
    """The verdict of a page and its cards."""
    console.print(plain_text(summary.title), style="bold")
    console.print(plain_text(summary.line))
    if summary.verdict:
        console.print(plain_text(summary.verdict))
    for card in summary.cards:
        print_hanging(console, "- ", f"{card.head}: {card.claim} ({card.detail})")
    console.print()
