"""What commands print: plain text, and tables."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from judgestats.errors import masked
from judgestats.terminal import visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.text import Text


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
    """Print a frame; what comes from the data is text, never markup."""
    import pandas as pd
    from rich.table import Table

    table = Table(
        title=plain_text(title), title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for name in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
        table.add_column(plain_text(str(name)), justify="right" if numeric else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(plain_text("" if v is None or v is pd.NA else str(v)) for v in row))
    console.print(table)
    console.print()


def print_unread(console: Console, verdicts: pd.DataFrame) -> None:
    """Which files of the source were left, and why."""
    from judgestats.schema.account import account_of

    account = account_of(verdicts)
    if account is not None and account.unread:
        console.print(plain_text(account.unread), soft_wrap=True)


def print_totals(console: Console, findings: pd.DataFrame) -> None:
    """The account in one line: rows in = rows used + rows excluded."""
    totals = findings[findings["level"] == "rows"].set_index("what")["n"]
    console.print(
        plain_text(f"{totals['rows in']:,} rows: {totals['rows used']:,} used, {totals['rows excluded']:,} excluded")
    )


def print_findings(console: Console, findings: pd.DataFrame) -> None:
    """What is excluded, and what is worth knowing of the rows used."""
    from judgestats.schema.findings import PLACES

    rest = findings[findings["level"] != "rows"]
    if len(rest):
        numbers = rest["rows"].map(lambda rows: ", ".join(map(str, rows[:3])) + (", ..." if len(rows) > 3 else ""))
        first = rest["where"].where(rest["where"] != "", numbers)
        columns = ["level", "what", "n", "first_rows", "remedy"]
        print_table(console, "Rows used and excluded", rest.assign(first_rows=first)[columns])
        console.print(f"{PLACES}\n")
