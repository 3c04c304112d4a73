"""What is found in a table, a row each: faults, rows set aside, gaps."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

#: Columns of :func:`check`.
CHECK_COLUMNS = ("level", "column", "what", "n", "rows", "example", "cure")


@dataclass(frozen=True)
class Finding:
    """One row of :func:`check`."""

    level: str
    column: str
    what: str
    rows: tuple[int, ...]
    example: str = ""
    cure: str = ""

    @property
    def n(self) -> int:
        """How many rows it concerns."""
        return len(self.rows)


def as_frame(findings: list[Finding]) -> pd.DataFrame:
    """Findings as the frame that :func:`check` returns."""
    rows = [(f.level, f.column, f.what, f.n, f.rows, f.example, f.cure) for f in findings]
    return pd.DataFrame(rows, columns=list(CHECK_COLUMNS))
