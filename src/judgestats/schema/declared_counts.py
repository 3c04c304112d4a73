"""Counts of identical rows, declared in one reserved column."""

from __future__ import annotations

from collections.abc import Iterable

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame

from judgestats.errors import Advice, SchemaError, data_rows
from judgestats.schema.columns import COUNTS, Kind, N
from judgestats.schema.opening import frame_columns, one_if
from judgestats.typing import Column, Floats, Mask

#: Key in the ``attrs`` of a pandas frame: name of the column that its counts came from.
SOURCE = "counts_column"
#: Deviation from a whole number that is rounding: 0.1 times 30 calls are 3.
_ROUNDING = 1e-6


def fractions(n: Floats) -> Mask:
    """Which numbers are not whole, rounding apart."""
    return np.asarray(np.abs(n - np.round(n)) > _ROUNDING)


def call_counts(values: Column, *, halves: bool = False, whole: bool = True) -> Floats:
    """Whole counts (with `halves` also votes split over two answers) of a column; a SchemaError for any other."""
    name = str(values.name or N)
    if values.isna().any() or not pd.api.types.is_numeric_dtype(values):
        values = pd.to_numeric(values, errors="coerce")
    n: Floats = values.to_numpy(dtype=float, na_value=np.nan)
    wrong = ~((n >= 0) & np.isfinite(n))
    if wrong.any():
        rows = data_rows(np.flatnonzero(wrong))
        raise SchemaError(
            f"{name!r} is a count of calls: it is missing, negative or text in {wrong.sum():,} rows ({rows}). Give "
            "whole numbers from 0, or leave the column out."
        )
    if not whole:
        return n
    parts = 2.0 if halves else 1.0
    rounded: Floats = np.round(parts * n) / parts
    if (wrong := fractions(parts * n)).any():
        raise SchemaError(
            f"{name!r} counts identical rows: it is not whole in {wrong.sum():,} of {len(n):,} rows (first: "
            f"{data_rows(np.flatnonzero(wrong)[:1])}, {n[wrong][0]:g}). Give whole numbers of calls."
        )
    return rounded


def counted(data: Frame, other_roles: Iterable[str] = (), kind: Kind = "preferences") -> str | None:
    """Name of the column of declared counts of a raw frame, or None where each row is one call.

    `other_roles`: columns in ``by=``, or in a formula. `kind`: whose mapping the message advises.
    """
    present = frame_columns(data)
    if COUNTS in present:
        refuse_values(data, COUNTS)
        return COUNTS
    refuse_undeclared(data, other_roles, kind)
    return None


def refuse_undeclared(data: Frame, other_roles: Iterable[str] = (), kind: Kind = "preferences") -> None:
    """Raise where a frame has a column ``n`` that could be taken for counts."""
    if undeclared(data, other_roles):
        raise SchemaError(refusal(f'{kind}(frame, counts="n")', f"{kind}(frame, counts=False)"), advice=UNDECLARED)


#: What mends an undeclared column ``n``, as arguments.
UNDECLARED: Advice = (("counts", N), ("counts", False))


def refusal(yes: str, no: str, remark: str = f", which keeps it as '{N}_source'") -> str:
    """What is wrong with an undeclared column ``n``, and both ways out."""
    return (
        f"Column {N!r} holds whole numbers, and nothing says whether a row stands for that many identical calls. If it "
        f"does: {yes}. If it does not: {no}{remark}."
    )


def undeclared(data: Frame, other_roles: Iterable[str] = ()) -> bool:
    """Whether a frame has a column ``n`` that could be taken for counts, and nothing declares what it is."""
    present = frame_columns(data)
    return N in present and COUNTS not in present and N not in other_roles and whole_numbers(data, N)


def whole_numbers(data: Frame, name: str) -> bool:
    """Whether a column holds whole numbers and nothing else; ignoring missing values, but not only missing values."""
    dtype = data.collect_schema()[name]
    if dtype.is_integer():  # DuckDB's type of an empty column, too
        some = data.lazy().select(nw.col(name).count()).collect(backend="pandas").to_native()
        return bool(some[name].iloc[0] > 0)
    if isinstance(data, nw.DataFrame):
        values = data[name].to_pandas().dropna()
        if pd.api.types.is_bool_dtype(values) or not len(values):
            return False
        numbers = pd.to_numeric(values.astype(object), errors="coerce").to_numpy(dtype=float)
        return bool(np.isfinite(numbers).all() and not fractions(numbers).any())
    if not dtype.is_numeric():
        return False
    number = nw.col(name).cast(nw.Float64)
    numeric = ~number.is_null() & ~number.is_nan()
    part = numeric & (~number.is_finite() | ((number - number.round(0)).abs() > _ROUNDING))
    counts = data.select(one_if(numeric).sum().alias("numeric"), one_if(part).sum().alias("part"))
    row = counts.collect(backend="pandas").to_native().fillna(0).iloc[0]
    return bool(row["numeric"] > 0 and row["part"] == 0)


def refuse_values(data: Frame, name: str, *, halves: bool = False) -> None:
    """Raise if a declared count is not valid: in memory, or in the frame's own engine."""
    if isinstance(data, nw.DataFrame):
        call_counts(data[name].to_pandas(), halves=halves)
        return
    column = data.select(name)
    if data.collect_schema()[name].is_numeric():
        number = nw.col(name).cast(nw.Float64) * (2 if halves else 1)
        wrong = number.is_null() | (number < 0) | ~number.is_finite() | ((number - number.round(0)).abs() > _ROUNDING)
        column = column.filter(wrong.fill_null(True))
    call_counts(column.head(5).collect(backend="pandas").to_native()[name], halves=halves)
