"""What is said of columns in which calls on one thing differ and that nobody named, and of levels that went."""

from __future__ import annotations

from collections.abc import Sequence

from judgestats.counting.splitting import Split
from judgestats.reporting.formatting import noun
from judgestats.reporting.summary_parts import listed
from judgestats.schema.columns import Kind


def unnamed_in_words(unnamed: Sequence[Split], kind: Kind) -> str:
    """What a table lacks for want of a name, and the options that name it; empty where all columns are named."""
    if not unnamed:
        return ""
    names = [s.column for s in unnamed]
    values = listed(f"“{s.column}” ({noun(len(s.values), 'value')}: {listed(s.values)})" for s in unnamed)
    thing = "thing" if kind == "ratings" else "pair"
    one = len(names) == 1
    return (
        f"A judge answered more than once on one {thing}, and the answers differ in {values}, which nobody named: what "
        f"would mix {'it' if one else 'them'} is left out. --by {','.join(names)} has a row for each value; if "
        f"{'it numbers repeats, map it' if one else 'they number repeats, map them'} to replicate."
    )


def empty_in_words(empty: Sequence[tuple[str, str, int]]) -> str:
    """The levels that went for want of a valid answer; empty where none did."""
    levels = listed(f"{name} = {level} ({noun(rows, 'row')})" for name, level, rows in empty)
    return f"{levels} left out: no valid answer" if levels else ""
