"""Counts of identical rows: whole, and which row is not."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import SchemaError
from judgestats.models.coding.frames import columns, label
from judgestats.models.grammar.syntax import Formula
from judgestats.schema.coding import call_counts

Floats = NDArray[np.float64]


def first_row(frame: pd.DataFrame, wrong: NDArray[np.bool_]) -> str:
    """The first of some rows, by its values.

    Examples
    --------
    >>> first_row(pd.DataFrame({"judge": ["a", "b"], "k": [3, 12.0]}), np.array([False, True]))
    'judge=b, k=12'
    """
    row = frame.iloc[int(np.argmax(wrong))]
    return ", ".join(f"{name}={label(value)}" for name, value in row.items())


def whole_calls(data: Any) -> None:
    """Raise a SchemaError where a column ``n`` of a table holds what is no whole number of calls."""
    if "n" in columns(data):
        whole_counts(call_counts(nw.from_native(data).lazy().select("n").collect(backend="pandas").to_native()["n"]))


def whole_counts(n: Floats) -> Floats:
    """Counts of identical rows as they are; a SchemaError where one is not whole.

    Examples
    --------
    >>> whole_counts(np.array([2.0, 3.0]))
    array([2., 3.])
    """
    wrong = _fractions(n)
    if wrong.any():
        raise SchemaError(
            f"'n' counts identical rows: it is not whole in {wrong.sum():,} of {len(n):,} rows (first: row "
            f"{np.flatnonzero(wrong)[0]}, {n[wrong][0]:g}). Give whole numbers of calls."
        )
    return n


def _fractions(n: Floats) -> NDArray[np.bool_]:
    """Which numbers are not whole, but for rounding: 0.1 times 30 calls are 3."""
    return np.asarray(np.abs(n - np.round(n)) > 1e-6)


def refuse_fractions(formula: Formula, frame: pd.DataFrame, count: Floats, family: str) -> None:
    """Refuse counts that are not whole, but for votes halved over two answers, as a tie is, or over both orders.

    Halves of a binomial response add up to whole counts in each row of the right side; those of a cumulative one may
    lie in two rows, one for each order of the pair, so that only their total is looked at.

    Parameters
    ----------
    formula : Formula
    frame : pandas.DataFrame
        K distinct rows.
    count : (K,) float array
    family : str

    Raises
    ------
    SchemaError
        With the first such row.
    """
    wrong = _fractions(count)
    if not wrong.any():
        return
    if family in ("binomial", "cumulative") and not _fractions(2 * count).any():
        beside = [frame[c] for c in frame.columns if c not in formula.answers and family == "binomial"]
        total = pd.Series(count).groupby(beside or [0] * len(count), observed=True, dropna=False).transform("sum")
        wrong &= _fractions(total.to_numpy())
    if wrong.any():
        row = first_row(frame.assign(n=count), wrong)
        raise SchemaError(
            f"'n' counts identical rows, in whole numbers: it is not whole in {wrong.sum():,} of {len(frame):,} "
            f"distinct rows (first: {row}). Give whole numbers of calls; prior weights go in a column of another "
            "name, weights=."
        )
