"""A frame of any engine, opened by Narwhals: unique column names, cells that can be labels."""

from __future__ import annotations

import datetime
import decimal
import json
import numbers
import operator
import re
import uuid
from collections.abc import Callable, Iterable
from functools import reduce, wraps
from typing import Any, TypeVar, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame

from judgestats.errors import DesignError, SchemaError, printable
from judgestats.typing import Column, EagerFrame

#: Modules of drivers whose lazy frames are counted.
_DRIVERS = ("duckdb", "_duckdb", "psycopg", "sqlite3", "sqlalchemy", "adbc_driver_manager")
#: How drivers say that the server is gone.
LOST = re.compile(
    r"(?i)terminat|server closed|connection (?:\w+ ){0,3}(?:closed|lost|reset|refused)|broken pipe|reset by peer|"
    r"eof detected|closed (?:database|connection)|can't reconnect|must call AdbcConnectionInit"
)
F = TypeVar("F", bound=Callable[..., Any])
#: Types that a cell of a pandas object column may have; all else becomes text.
_SIMPLE = (
    str,
    numbers.Real,
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    type(None),
)


def engine_errors(function: F) -> F:
    """The function, with errors of the engine of a lazy frame as ours, without its own, which may name a password."""

    @wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except Exception as problem:
            if isinstance(problem, UnicodeEncodeError):
                for frame in args:
                    if isinstance(frame, pd.DataFrame):
                        _refuse_half_characters(frame)
            failed = _of_engine(problem)
            if failed is None:
                raise
        raise failed

    return cast(F, run)


def _of_engine(problem: Exception) -> DesignError | None:
    """An error of a database as one of the package; None for any other."""
    driver = type(problem).__module__.partition(".")[0]
    kinds = {kind.__name__ for kind in type(problem).__mro__}
    said = next(iter(str(problem).splitlines()), "")[:200]
    if any(_is_of_polars(one) for one in (problem, problem.__context__) if one is not None):
        return DesignError(f"Polars cannot collect the lazy frame ({said}). Nothing was counted. Correct its query.")
    lost = driver in _DRIVERS and LOST.search(str(problem))
    if (
        lost
        or (driver == "psycopg" and kinds & {"OperationalError", "InterfaceError"})
        or "ConnectionException" in kinds
    ):
        return DesignError(
            f"The connection to the database was lost ({said}). Nothing was counted. Connect again, and read the query "
            "anew."
        )
    if driver in ("duckdb", "_duckdb") and ("Failed to read file" in str(problem) or "IOException" in kinds):
        return DesignError(
            f"DuckDB cannot read the data ({said}). A file may be damaged, or was changed or removed after it was "
            "opened."
        )
    if "OutOfMemoryException" in kinds:
        return DesignError(
            f"DuckDB ran out of memory ({said}). Raise its limit (SET memory_limit, SET temp_directory), group by "
            "fewer columns, or count a part of the rows at a time."
        )
    return None


def _is_of_polars(problem: BaseException) -> bool:
    """Whether an error is one of Polars, or was raised inside it."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    inside = str(trace.tb_frame.f_globals.get("__name__", "")) if trace is not None else ""
    return "polars" in (type(problem).__module__.partition(".")[0], inside.partition(".")[0])


def _refuse_half_characters(frame: pd.DataFrame) -> None:
    """Raise where a text of a pandas table holds half of a surrogate pair, which Arrow cannot keep."""
    for name, dtype in zip(frame.columns, frame.dtypes.array, strict=True):
        labels = dtype.categories if isinstance(dtype, pd.CategoricalDtype) else frame[name]
        if labels.dtype != object:
            continue
        try:
            "".join(cell for cell in labels if isinstance(cell, str)).encode()
        except UnicodeEncodeError as problem:
            raise SchemaError(
                f"column {name!r} holds half of a surrogate pair ({problem.object[problem.start]!r}), which is no "
                "character. Replace it."
            ) from None


def narwhals_frame(frame: object) -> Frame:
    """A frame of any library as Narwhals has it; a SchemaError for what is no table.

    >>> narwhals_frame(5)
    Traceback (most recent call last):
        ...
    judgestats.errors.SchemaError: Got 5, where a table belongs. Give a frame; a file is read first: read(FILE).
    """
    try:
        data: Frame = nw.from_native(frame)
    except TypeError:
        text = repr(frame) if isinstance(frame, str | int | float) else f"a {type(frame).__name__}"
        problem = f"Got {text}, where a table belongs. Give a frame; a file is read first: read(FILE)."
        raise SchemaError(problem) from None
    return data


@engine_errors
def opened(frame: object) -> Frame:
    """Take a frame of any engine; a pandas, Polars or Arrow table with lists, records or bytes in it has them as text.

    >>> opened(pd.DataFrame({"judge": ["g"], "scores": [[1, 2]]})).to_native()
      judge  scores
    0     g  [1, 2]
    """
    if isinstance(frame, pd.DataFrame):
        if frame.columns.nlevels > 1:
            raise SchemaError(
                f"The table has column names of several levels ({frame.columns.nlevels}), such as "
                f"{frame.columns[0]!r}. "
                "Give each column one name: frame.columns = ['_'.join(map(str, names)) for names in frame.columns]."
            )
        _check_names(list(frame.columns))
        _refuse_half_characters(frame)
        table: EagerFrame = nw.from_native(with_labels(frame), eager_only=True)
        return table
    native = nw.to_native(frame, pass_through=True)
    names = getattr(native, "frame_columns", None)
    if names is not None:  # an Arrow table may repeat a name
        _check_names([*names])
    data = narwhals_frame(frame)
    if not isinstance(data, nw.DataFrame):
        refuse_nested(data)
        return data
    new = [
        nw.new_series(n, [cell_text(v) for v in data[n].to_list()], nw.String, backend=data.implementation)
        for n, dtype in data.schema.items()
        if dtype.is_nested() or dtype == nw.Binary or dtype == nw.Object
    ]
    return data.with_columns(*new) if new else data


@engine_errors
def in_memory(frame: object) -> EagerFrame:
    """Take a frame of any engine, and collect a lazy one: in one scan of its data."""
    data = opened(frame)
    return data.collect(backend="pandas") if isinstance(data, nw.LazyFrame) else data


def frame_columns(data: Frame) -> list[str]:
    """Names of the columns, without the types of a frame in memory."""
    return list(data.columns if isinstance(data, nw.DataFrame) else data.collect_schema().names())


def refuse_nested(data: Frame, columns: Iterable[str] | None = None) -> None:
    """Raise if a lazy frame has a nested column, among these where some are named."""
    if not isinstance(data, nw.LazyFrame):
        return
    schema = data.collect_schema()
    nested = [n for n, t in schema.items() if t.is_nested() and (columns is None or n in set(columns))]
    if nested:
        one = nested[0]
        raise SchemaError(
            f"Nested column{'s' * (len(nested) > 1)} in a lazy frame: "
            f"{few((f'{n!r} ({type(schema[n]).__name__})' for n in nested), 6)}. Its rows are counted where they lie, "
            f"and a list or a record is no label. Drop it, or take its parts as columns: "
            f"frame.withColumn('{one}_x', F.col('{one}.x')).drop('{one}') in Spark, SELECT * EXCLUDE {one}, {one}.x in "
            "DuckDB."
        )


def one_if(condition: nw.Expr) -> nw.Expr:
    """1 where a condition is true, else 0, as an expression: some databases cast no booleans."""
    return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))


def one_of(values: nw.Expr, words: Iterable[str]) -> nw.Expr:
    """Whether a value is one of a few words: DuckDB compares faster than it looks into a list."""
    return reduce(operator.or_, (values == word for word in words))


def with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """A pandas table whose cells can be labels: lists, records, bytes, complex and very large numbers become text."""
    text = {}
    for name, dtype in zip(frame.columns, frame.dtypes.array, strict=True):
        if isinstance(dtype, pd.ArrowDtype):
            nested = dtype.kind == "O" and dtype.type in (list, dict, bytes)
        else:
            kind = dtype.kind if isinstance(dtype, np.dtype) else ""
            nested = kind == "c" or (kind == "O" and not _simple(frame[name]))
        if nested:
            text[name] = pd.Series([cell_text(v) for v in frame[name]], index=frame.index, dtype=object)
    return frame.assign(**text) if text else frame


def refuse_repeated_names(
    names: Iterable[object],
    where: str = "The table",
    remedy: str = "Rename or drop columns so that each name is unique.",
) -> None:
    """Raise if two columns of a table, a file or a query have one name."""
    places: dict[object, list[str]] = {}
    for at, name in enumerate(names, start=1):
        places.setdefault(name, []).append(str(at))
    repeated = [f"{name!r:.40} (columns {few(at, 6)})" for name, at in places.items() if len(at) > 1]
    if repeated:
        raise SchemaError(f"{where} has a column name more than once: {few(repeated, 6)}. {remedy}")


def _check_names(names: list[object]) -> None:
    refuse_repeated_names(names)
    other = [repr(n)[:40] for n in names if not isinstance(n, str) or printable(n) != n]
    if other:
        raise SchemaError(
            f"Column names must be text; got {few(other, 6)}. Rename them: frame.columns = frame.columns.map(str)."
        )


def few(names: Iterable[str], most: int) -> str:
    """List the first names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _simple(values: Column) -> bool:
    """Whether all cells are text, numbers or times."""
    if pd.api.types.infer_dtype(values, skipna=True) in ("string", "boolean", "floating", "empty"):
        return True
    kinds = set(map(type, values))
    if not all(issubclass(k, _SIMPLE) or k in (type(pd.NA), type(pd.NaT)) for k in kinds):
        return False
    return all(-(2**63) <= v < 2**63 for v in values if isinstance(v, int))  # larger ones fit no column of integers


def cell_text(value: object) -> str | None:
    """Return a value as the text a CSV cell would hold; null, NaN and the empty text are missing."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if value != value else str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace") or None
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # an array, a time inside a record, a list that holds itself
        return str(value)
