"""Columns of a pandas table as integer codes: the one way from labels to kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: A coded column: the code of each row, and how many codes there are.
Coded = tuple[NDArray[np.integer[Any]], int]


@dataclass(frozen=True)
class Codes:
    """Rows of a table, numbered by the combination of their values.

    Attributes
    ----------
    code : (N,) int array
        Combination of each row, 0 to G - 1.
    first : (G,) int64 array
        A row that has each combination: its first.
    """

    code: NDArray[np.integer[Any]]
    first: NDArray[np.int64]

    @property
    def size(self) -> int:
        """G, how many combinations there are."""
        return int(self.first.size)


def column_codes(values: pd.Series[Any]) -> Coded:
    """Codes of one column, a missing value being a value like any other, and how many there may be."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        code, size = values.cat.codes.to_numpy(), len(values.cat.categories)
        return (np.where(code < 0, size, code) if (code < 0).any() else code), size + 1
    code, uniques = pd.factorize(values, use_na_sentinel=False)
    return code.astype(np.int32), len(uniques)


def combine(parts: Iterable[Coded], rows: int) -> Codes:
    """Combine coded columns into one code for each distinct combination."""
    code: NDArray[np.integer[Any]] = np.zeros(rows, dtype=np.int32)
    size = 1
    for part, levels in parts:
        if levels <= 1:
            continue
        if size * levels > 2**62:
            code, size = _renumbered(code, size)
        if size * levels >= 2**31:
            code = code.astype(np.int64, copy=False)
        code *= code.dtype.type(levels)
        code += part
        size *= levels
    code, groups = _renumbered(code, size)
    first = np.empty(groups, dtype=np.int64)
    first[code[::-1]] = np.arange(rows - 1, -1, -1)  # the last to be written is the first row
    return Codes(code, first)


def _renumbered(code: NDArray[np.integer[Any]], size: int) -> Coded:
    """Close the gaps of codes below `size`: by a table where that is small, else by hashing."""
    if size > 4 * len(code) + 10**6:
        number, uniques = pd.factorize(code)
        return number.astype(np.int32), len(uniques)
    seen = np.zeros(size, dtype=bool)
    seen[code] = True
    groups = int(np.count_nonzero(seen))
    if groups == size:
        return code.astype(np.int32, copy=False), groups
    return (np.cumsum(seen, dtype=np.int32) - np.int32(1))[code], groups


def codes_of(table: pd.DataFrame, columns: Sequence[str]) -> Codes:
    """Number the rows of `table` by their values in `columns`."""
    return combine((column_codes(table[c]) for c in columns), len(table))


def count(table: pd.DataFrame, columns: Sequence[str], weight: str | None = None) -> pd.DataFrame:
    """Distinct combinations of `columns` with their counts ``n``, sorted; missing values are kept.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per call, or per count.
    columns : sequence of str
        Columns whose combinations are counted.
    weight : str, optional
        Column that says how many calls a row stands for.

    Returns
    -------
    pandas.DataFrame
        `columns` and ``n`` (float).
    """
    codes = codes_of(table, columns)
    weights = None if weight is None else table[weight].to_numpy(dtype=float)
    n = np.bincount(codes.code, weights=weights, minlength=codes.size).astype(float)
    result = table[list(columns)].iloc[codes.first].reset_index(drop=True).assign(n=n)
    return tidy(result, columns)


def tidy(result: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Plain columns (no categories), sorted by `columns`."""
    for name in columns:
        if isinstance(result[name].dtype, pd.CategoricalDtype):
            result[name] = result[name].astype(result[name].cat.categories.dtype)
    return result.sort_values(list(columns), kind="stable", ignore_index=True) if columns else result
