"""Large codes -> small numbers, in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.compiling import njit
from judgestats.typing import Codes, Ints


@njit(cache=True)
def _by_appearance(code, size, first):  # type: ignore[no-untyped-def]
    table = np.full(size, -1, np.int32)
    number = np.empty(code.size, np.int32)
    groups = 0
    for i in range(code.size):
        g = table[code[i]]
        if g < 0:
            g = groups
            table[code[i]] = g
            first[g] = i
            groups += 1
        number[i] = g
    return number, groups


def by_appearance(code: Codes, size: int) -> tuple[NDArray[np.int32], Ints]:
    """Number codes (N,), below `size`, in the order in which they appear; and where each number (G,) first does."""
    first = np.empty(min(size, code.size), np.int32 if code.size < 2**31 else np.int64)
    number, groups = _by_appearance(code, size, first)
    return number, first[:groups].astype(np.int64)
