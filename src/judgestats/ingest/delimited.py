"""CSV and TSV, read strictly: every cell is text, every row has the width of the header, nothing is guessed."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest.files import text_of
from judgestats.threads import Shared

DELIMITERS = {"csv": ",", "tsv": "\t"}
_CHUNK = 65536
_LARGEST_FIELD = 2**31 - 1


def read_delimited(path: Path, container: str, encoding: str | None = None) -> pd.DataFrame:
    """Read a CSV or TSV file as text.

    Only the empty cell is missing: a judge named ``NA``, ``None`` or ``null`` keeps its name, and ``007`` its zeros.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    container : {'csv', 'tsv'}
        Which of the two it is.
    encoding : str, optional
        Its encoding, if not UTF-8.

    Returns
    -------
    pandas.DataFrame
        One column of text per column of the file.

    Raises
    ------
    SchemaError
        For a repeated column name, a row of another width (with its line), a quote that is never closed, a header
        without rows, another encoding, a truncated archive.
    """
    with _LARGE_FIELDS.held(), text_of(path, encoding) as text:
        rows = csv.reader(text, delimiter=DELIMITERS[container], strict=True)
        try:
            header = next((row for row in rows if row), [])
            names = column_names(header, path)
            table = _gather(_checked(rows, names, path, container), names)
        except csv.Error as problem:
            raise SchemaError(
                f"{path.name}, line {rows.line_num}: not valid {container.upper()} ({problem}). A quote may be left "
                'open or stand unescaped inside a field; inside a quoted field it is written twice ("").'
            ) from None
    if table.empty:
        raise SchemaError(f"{path.name} has a header ({', '.join(names)}) but no rows.")
    return _without_row_numbers(table)


def header_of(path: Path, container: str, encoding: str | None = None) -> list[str]:
    """Column names of a CSV or TSV file, checked."""
    with _LARGE_FIELDS.held(), text_of(path, encoding) as text:
        try:
            rows = csv.reader(text, delimiter=DELIMITERS[container], strict=True)
            return column_names(next((row for row in rows if row), []), path)
        except csv.Error as problem:
            raise SchemaError(
                f"{path.name}, line 1: the header is not valid {container.upper()} ({problem})."
            ) from None


def column_names(header: list[str], path: Path) -> list[str]:
    """Return the header, with a name for a nameless column; refuse a repeated name."""
    if any("\x00" in name for name in header):
        raise SchemaError(
            f"{path.name} is not utf-8: its header holds NUL bytes. Pass encoding='utf-16-le' if it is that."
        )
    names = [name.strip() or f"column_{i}" for i, name in enumerate(header, start=1)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        where = "; ".join(
            f"{r!r} is column {', '.join(str(i + 1) for i, n in enumerate(names) if n == r)}" for r in repeated
        )
        raise SchemaError(
            f"{path.name}, line 1: the header repeats a column name: {where}. Rename them so that each is unique."
        )
    return names


def _checked(rows: Any, names: list[str], path: Path, container: str) -> Iterator[list[str]]:
    """Yield the rows, each as wide as the header; skip blank lines."""
    width = len(names)
    start = rows.line_num + 1
    for row in rows:
        if len(row) != width and row:
            lines = f"line {start}" if start == rows.line_num else f"lines {start} to {rows.line_num}"
            shown = DELIMITERS[container].join(row)[:80]
            raise SchemaError(
                f"{path.name}, {lines}: {len(row)} fields where the header has {width} ({', '.join(names)}). Got: "
                f"{shown!r}. A field that contains the separator or a line break must be quoted. Nothing was read: a "
                "shifted row would put values into the wrong columns."
            )
        if row or width == 1:
            yield row or [""]
        start = rows.line_num + 1


def _gather(rows: Iterator[list[str]], names: list[str]) -> pd.DataFrame:
    """Rows of text to a table of text columns, in chunks, so that no row object outlives its chunk."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.large_string()) for name in names])
    batches = []
    while chunk := list(itertools.islice(rows, _CHUNK)):
        columns = [pa.array([v or None for v in column], pa.large_string()) for column in zip(*chunk, strict=True)]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    table: pd.DataFrame = pa.Table.from_batches(batches, schema=schema).to_pandas()
    return table


def _without_row_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Drop a nameless first column that only counts the rows (what ``DataFrame.to_csv`` writes)."""
    first = table.columns[0]
    if first == "column_1" and len(table.columns) > 1:
        for start in (0, 1):
            if (table[first] == pd.Series(range(start, start + len(table)), index=table.index).astype(str)).all():
                return table.drop(columns=first)
    return table


def _any_length(_: Any) -> Callable[[], Any]:
    before = csv.field_size_limit(_LARGEST_FIELD)
    return lambda: csv.field_size_limit(before)


#: Lets one field hold a whole transcript; Python's own limit is 128 kB, one for all threads.
_LARGE_FIELDS = Shared(_any_length)
