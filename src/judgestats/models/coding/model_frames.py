"""Rows made distinct, with how often each occurs: what a model is coded on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import SchemaError
from judgestats.models.coding.factor_levels import label
from judgestats.schema.coding import Coded, column_codes, compact, joint, ranked_codes, refuse_infinite
from judgestats.schema.declared_counts import call_counts, refuse_values
from judgestats.schema.opening import engine_errors, one_if, with_labels
from judgestats.typing import Column, Floats, Ints, Mask

#: Values that are looked at before a column is taken for continuous.
SAMPLE = 4096
#: Whole numbers over a smaller range need no hashing.
CLOSE = 1000


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of a table, in an order that does not depend on the order of the table."""

    frame: pd.DataFrame  # the K distinct rows without a missing value, numbered from 0
    count: Floats  # (K,): number of rows of data that each represents
    n_missing: int  # rows of data that were excluded, counts included
    n_rows: int  # rows of the table, as they lie there
    n_zero: int = 0  # those of them with a count of zero
    counted: str | None = None  # the column of declared counts


@engine_errors
def columns(data: IntoFrame) -> list[str]:
    """Names of the columns of a table in any engine; a SchemaError where it is no table."""
    try:
        return list(nw.from_native(data).collect_schema().names())
    except TypeError as error:
        raise SchemaError(
            f"data is no table, got {type(data).__name__}. Give a frame: pandas, Polars, Arrow, DuckDB, Spark."
        ) from error


def distinct(
    data: IntoFrame, names: Sequence[str], counted: str | None = None, as_missing: Mapping[str, str] | None = None
) -> DistinctRows:
    """Distinct rows of some columns, with counts; a lazy table is counted where it lies.

    `counted`: a column with the number of rows that each row represents. `as_missing`: column -> a value treated as
    missing. Sorted by the first column of numbers without repeated values, else by all columns.
    """
    table = nw.from_native(data)
    enums = {c: t.categories for c, t in table.collect_schema().items() if c in names and isinstance(t, nw.Enum)}
    if isinstance(table, nw.DataFrame):
        frame, count, n_rows, n_zero = _eager(table, names, counted)
        total = count.sum()
        frame, count = _grouped(frame, count)
    else:
        frame, count, n_rows, n_zero = _lazy(table, names, counted)
        total = count.sum()
    if not table.implementation.is_pandas():
        frame = frame.assign(**{c: _labels(frame[c], enums.get(c)) for c in frame})
    plain = {c: plain_column(frame[c]) for c in frame}
    if any(merged for _, merged in plain.values()):
        frame, count = _grouped(pd.DataFrame({c: v for c, (v, _) in plain.items()}, index=frame.index), count)
    else:
        frame = pd.DataFrame({c: v for c, (v, _) in plain.items()}, index=frame.index)
    complete = _complete(frame, as_missing or {})
    n_missing = total - count[complete].sum()
    complete &= count > 0
    if not complete.all():
        frame, count = frame[complete].reset_index(drop=True), count[complete]
        frame = frame.assign(**{c: frame[c].astype(bool) for c in frame if _booleans(frame[c])})
    for name in frame:
        if pd.api.types.is_float_dtype(frame[name]):
            refuse_infinite(str(name), int(np.isinf(frame[name].to_numpy(dtype=float)).sum()))
    order = _order(frame)
    if order is not None:
        frame, count = frame.take(order).reset_index(drop=True), count[order]
    return DistinctRows(frame, count, round(float(n_missing)), n_rows, n_zero, counted)


def _eager(table: Any, names: Sequence[str], counted: str | None) -> tuple[pd.DataFrame, Floats, int, int]:
    native = table.to_native()
    if table.implementation.is_pandas():
        frame = with_labels(native)
    else:  # Arrow's memory, as it lies
        arrow = table.select(*names, *([counted] if counted else [])).to_arrow()
        # Arrow's types, but for dictionaries, which pandas counts as categories
        frame = arrow.to_pandas(types_mapper=lambda t: None if str(t).startswith("dictionary") else pd.ArrowDtype(t))
    count = np.ones(len(frame)) if counted is None else call_counts(frame[counted], halves=True)
    return pd.DataFrame({c: frame[c].array for c in names}, copy=False), count, len(frame), int((count == 0).sum())


def _lazy(table: Any, names: Sequence[str], counted: str | None) -> tuple[pd.DataFrame, Floats, int, int]:
    """Count where the data lie."""
    sums = [nw.len().alias("_rows")]
    if counted is not None:
        n = nw.col(counted)
        sums += [n.sum().alias("_n"), one_if(n == 0).sum().alias("_zero")]
        if not table.collect_schema()[counted].is_numeric():
            raise SchemaError(f"{counted!r} is a count of calls and holds text. Give numbers from 0, or leave it out.")
        refuse_values(table, counted, halves=True)
    result = table.group_by(*names).agg(*sums).collect(backend="pandas").to_native()
    n_rows = int(result["_rows"].sum())
    if counted is None:
        return result[list(names)], result["_rows"].to_numpy(dtype=float), n_rows, 0
    return result[list(names)], result["_n"].to_numpy(dtype=float), n_rows, int(result["_zero"].sum())


def _labels(values: Column, levels: Sequence[str] | None) -> Column:
    """Categories of other engines: those without an order of their own are text."""
    arrow = getattr(values.dtype, "pyarrow_dtype", None)
    if levels is not None:
        return pd.Series(pd.Categorical(values.astype(object), categories=list(levels), ordered=True), values.index)
    if arrow is not None and str(arrow).startswith("dictionary"):
        return values.astype(pd.ArrowDtype(arrow.value_type))
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(values.cat.categories.dtype)
    return values


def _grouped(frame: pd.DataFrame, count: Floats) -> tuple[pd.DataFrame, Floats]:
    """Distinct rows; the rows as they are where a column of numbers never repeats itself."""
    rows = len(frame)
    if not len(frame.columns) or rows == 0 or any(_never_repeats(frame[c]) for c in frame):
        return frame.reset_index(drop=True), count
    code, size = joint((_codes(frame[c]) for c in frame), rows)
    if size > 4 * rows + 10**6:  # too many for a table of all that could be
        code, codes = compact(code, size)
        size = codes.size
    total = np.bincount(code, weights=None if (count == 1).all() else count, minlength=size)
    row = np.full(size, -1, dtype=np.int64)
    row[code] = np.arange(rows)
    seen = np.flatnonzero(row >= 0)
    return frame.take(row[seen]).reset_index(drop=True), total[seen].astype(float)


def _codes(values: Column) -> Coded:
    """Codes of a column; whole numbers close to each other are codes already."""
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biu" and len(values):
        numbers = values.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < CLOSE:
            return (numbers.astype(np.int64, copy=False) - low).astype(np.int16), high - low + 1
    return column_codes(values)


def _never_repeats(values: Column) -> bool:
    """Whether a column of fractions holds no value twice; a sample spares the proof where it does."""
    if not pd.api.types.is_float_dtype(values.dtype):
        return False
    step = max(len(values) // SAMPLE, 1)
    sample = np.sort(values.iloc[::step].to_numpy(dtype=float, na_value=np.nan))
    if not (sample[1:] > sample[:-1]).all():  # a missing value counts as a repetition
        return False
    if step == 1:
        return True
    whole = np.sort(values.to_numpy(dtype=float, na_value=np.nan))
    return bool((whole[1:] > whole[:-1]).all())


def plain_column(values: Column) -> tuple[Column, bool]:
    """A column in NumPy's numbers, text or categories; and whether values of several types were made text."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return values, False
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return _numbers(values), False
    if pd.api.types.is_object_dtype(dtype):
        return _of_objects(values)
    if isinstance(dtype, pd.ArrowDtype):
        if str(dtype.pyarrow_dtype).startswith("decimal"):
            return values.astype(float), False
        if "string" in str(dtype.pyarrow_dtype):
            return values.astype("str"), False
    return values, False


def _numbers(values: Column) -> Column:
    if isinstance(values.dtype, np.dtype):
        return values
    if values.isna().any():
        return values.astype(float) if not pd.api.types.is_bool_dtype(values) else values.astype(object)
    kind = {"b": bool, "i": np.int64, "u": np.int64}.get(getattr(values.dtype, "kind", "f"), float)
    return values.astype(kind)


def _booleans(values: Column) -> bool:
    """Whether a column of objects has only booleans left."""
    return bool(len(values)) and values.dtype == object and pd.api.types.infer_dtype(values) == "boolean"


def _of_objects(values: Column) -> tuple[Column, bool]:
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("string", "empty", "boolean") or not len(values):
        return (values.astype(bool) if kind == "boolean" and not values.isna().any() else values), False
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return values.astype(float), True
    text = values.map(lambda v: v if isinstance(v, str) else label(v), na_action="ignore")
    return text, True


def _complete(frame: pd.DataFrame, as_missing: Mapping[str, str]) -> Mask:
    complete = np.ones(len(frame), dtype=bool)
    for name in frame:
        complete &= frame[name].notna().to_numpy()
    for name, value in as_missing.items():
        complete &= (frame[name].astype(object) != value).to_numpy()
    return complete


def _order(frame: pd.DataFrame) -> Ints | None:
    """Order of distinct rows, the same for any order of the input."""
    if len(frame) < 2:
        return None
    for name in frame:
        if _never_repeats(frame[name]):
            return np.argsort(frame[name].to_numpy()).astype(np.int64)
    parts = [ranked_codes(frame[c]) for c in frame]
    code, _ = joint([(code, len(names)) for code, names in parts], len(frame))
    return np.argsort(code, kind="stable").astype(np.int64)
