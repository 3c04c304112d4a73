"""Large codes -> small numbers, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.compiling import njit


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


def by_appearance(code: NDArray[np.integer[Any]], size: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number codes in the order in which they first appear.

    Parameters
    ----------
    code : (N,) int array
        Codes from 0 to size - 1.
    size : int
        How many there may be; a table of this length is filled.

    Returns
    -------
    number : (N,) int32 array
        0 to G - 1.
    first : (G,) int64 array
        Where each number first appears.
    """
    first = np.empty(min(size, code.size), np.int32 if code.size < 2**31 else np.int64)
    number, groups = _by_appearance(code, size, first)
    return number, first[:groups].astype(np.int64)
