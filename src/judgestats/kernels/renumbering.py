"""Large codes -> small numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgestats.typing import Integers


def by_appearance(code: Integers, size: int) -> tuple[NDArray[np.int32], Integers]:
    """Number codes (N,), below `size`, in the order in which they appear; and where each number (G,) first does."""
    row = row_type(code.size)
    table = np.full(size, code.size, row)
    table[code[::-1]] = np.arange(code.size - 1, -1, -1, dtype=row)  # the first row of each code is written last
    first = np.sort(table[table < code.size])
    table[code[first]] = np.arange(first.size, dtype=row)
    return table[code].astype(np.int32, copy=False), first


def row_type(rows: int) -> type[np.int32 | np.int64]:
    """The type of a row's number: half the memory where int32 holds it."""
    return np.int32 if rows < 2**31 else np.int64
