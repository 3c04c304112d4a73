"""The vocabulary of a result: its columns, and the frame that holds them.

Every measure returns a pandas DataFrame: the ``by`` columns, then :data:`COLUMNS`. May import flags and kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from judgestats.flags import explain as explain
from judgestats.flags import flag_codes as flag_codes
from judgestats.typing import Record

#: Columns of every estimate, after the ``by`` columns.
COLUMNS = ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag")


def with_interval(std_error: float, low: float, high: float, /, **cells: object) -> Record:
    """The cells of an interval, and others of its estimate."""
    return {**cells, "std_error": float(std_error), "conf_low": float(low), "conf_high": float(high)}


def estimates(
    rows: Iterable[Mapping[str, Any]], by: Sequence[str] = (), extra: Sequence[str] = (), *, sort: bool = True
) -> pd.DataFrame:
    """The tidy frame of rows, sorted by `by`: these, :data:`COLUMNS` (NaN, or empty text, where absent) and `extra`."""
    listed, unsorted = list(rows), by
    try:
        if sort:
            listed.sort(key=lambda row: [_last_if_missing(row.get(name)) for name in by])
        unsorted = ()
    except TypeError:  # labels of several types
        pass
    cells: Record = {name: [row.get(name, math.nan) for row in listed] for name in (*by, *COLUMNS, *extra)}
    for name, values in cells.items():
        if name in ("method", "flag"):
            cells[name] = text_array([text if isinstance(text, str) else "" for text in values])
        elif name in COLUMNS[1:]:
            cells[name] = np.array(values, dtype=float)
        elif values and all(isinstance(text, str) for text in values):
            cells[name] = text_array(values)
    return in_order(frame_of(cells), unsorted)


def frame_of(columns: Mapping[str, Any], rows: int | None = None) -> pd.DataFrame:
    """A table of columns; the index of their names is made once for the same names."""
    table = pd.DataFrame(dict(enumerate(columns.values())), index=None if rows is None else range(rows))
    table.columns = _names(*columns).view()
    return table


@lru_cache
def _names(*names: str) -> pd.Index:
    return pd.Index(names)


def text_array(values: Sequence[str | None] | NDArray[np.object_]) -> pd.api.extensions.ExtensionArray:
    """Text as pandas has it, made by Arrow: pandas takes several times as long to see that it is text."""
    return pd.arrays.ArrowStringArray(pa.array(values, pa.large_string()), dtype=pd.StringDtype("pyarrow", np.nan))


def _last_if_missing(label: object) -> tuple[bool, object]:
    """A key that sorts labels, the missing ones behind the others."""
    missing = label is None or bool(label != label)
    return missing, "" if missing else label


def in_order(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The rows sorted by labels: as text, where a column has labels of several types."""
    if not by:
        return table
    try:
        return table.sort_values(list(by), kind="stable", ignore_index=True)
    except TypeError:
        as_text = table[list(by)].astype(dict.fromkeys(table[list(by)].select_dtypes(object), str))
        return table.loc[as_text.sort_values(list(by), kind="stable").index].reset_index(drop=True)
