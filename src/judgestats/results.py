"""The vocabulary of a result: its columns, and the frame that holds them.

Every measure returns a plain pandas DataFrame: the ``by`` columns, then :data:`COLUMNS`. May import flags and kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from judgestats.flags import explain as explain
from judgestats.flags import flag_codes as flag_codes

#: Columns of every estimate, after the ``by`` columns.
COLUMNS = ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag")


def with_interval(std_error: float, low: float, high: float, /, **cells: Any) -> dict[str, Any]:
    """The cells of an interval, and others of its estimate."""
    return {**cells, "std_error": float(std_error), "conf_low": float(low), "conf_high": float(high)}


def estimates(
    rows: Iterable[Mapping[str, Any]], by: Sequence[str] = (), extra: Sequence[str] = (), *, sort: bool = True
) -> pd.DataFrame:
    """The tidy frame of rows, sorted by `by`: these, :data:`COLUMNS` (NaN, or empty text, where absent) and `extra`."""
    columns = [*by, *COLUMNS, *extra]
    frame = pd.DataFrame(list(rows)).reindex(columns=columns)
    for name in ("estimate", "std_error", "conf_low", "conf_high", "n"):
        frame[name] = pd.to_numeric(frame[name]).astype(float)
    for name in ("method", "flag"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "").astype("str")
    if sort and by and len(frame):
        frame = frame.sort_values(list(by), kind="stable", ignore_index=True)
    return frame
