"""CSV and TSV, read strictly: every cell is text, every row has the width of the header, nothing is guessed."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from judgestats.errors import SchemaError
from judgestats.ingest.files import text_of
from judgestats.ingest.guesses import few
from judgestats.threads import Shared

DELIMITERS = {"csv": ",", "tsv": "\t"}
#: Name of a first column that has none.
NAMELESS = "column_1"
_CHUNK = 8192
_LARGEST_FIELD = 2**31 - 1


def delimited_batches(path: Path, container: str, encoding: str | None = None) -> Iterator[pa.RecordBatch]:
    """Read a CSV or TSV file as batches of text, one column per column of the file.

    Only the empty cell is missing: a judge named ``NA``, ``None`` or ``null`` keeps its name, and ``007`` its zeros.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    container : {'csv', 'tsv'}
        Which of the two it is.
    encoding : str, optional
        Its encoding, if not UTF-8.

    Yields
    ------
    pyarrow.RecordBatch

    Raises
    ------
    SchemaError
        For a repeated column name, a row of another width (with its line), a quote that is never closed, a header
        without rows, another encoding, a truncated archive.
    """
    with _LARGE_FIELDS.held(), text_of(path, encoding) as text:
        rows = csv.reader(text, delimiter=DELIMITERS[container], strict=True)
        empty = True
        try:
            header = next((row for row in rows if row), [])
            names = column_names(header, path)
            schema = pa.schema([(name, pa.large_string()) for name in names])
            checked = _checked(rows, names, path, container)
            while chunk := list(itertools.islice(checked, _CHUNK)):
                columns = [
                    pa.array([v or None for v in column], pa.large_string()) for column in zip(*chunk, strict=True)
                ]
                empty = False
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
        except csv.Error as problem:
            raise SchemaError(
                f"{path.name}, line {rows.line_num}: not valid {container.upper()} ({problem}). A quote may be left "
                'open or stand unescaped inside a field; inside a quoted field it is written twice ("").'
            ) from None
    if empty:
        raise SchemaError(f"{path.name} has a header ({few(names, 30)}) but no rows.")


def column_names(header: list[str], path: Path) -> list[str]:
    """Return the header, with a name for a nameless column; refuse a repeated name."""
    if any("\x00" in name for name in header):
        raise SchemaError(
            f"{path.name} is not utf-8: its header holds NUL bytes. Pass encoding='utf-16-le' if it is that."
        )
    names = [name.strip() or f"column_{i}" for i, name in enumerate(header, start=1)]
    places: dict[str, list[str]] = {}
    for i, name in enumerate(names, start=1):
        places.setdefault(name, []).append(str(i))
    repeated = sorted(name for name, at in places.items() if len(at) > 1)
    if repeated:
        where = few([f"{r!r} is column {few(places[r], 6)}" for r in repeated], 6)
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
                f"{path.name}, {lines}: {len(row)} fields where the header has {width} ({few(names, 30)}). Got: "
                f"{shown!r}. A field that contains the separator or a line break must be quoted. Nothing was read: a "
                "shifted row would put values into the wrong columns."
            )
        if row or width == 1:
            yield row or [""]
        start = rows.line_num + 1


class RowNumbers:
    """Whether a nameless first column only counts the rows (what ``DataFrame.to_csv`` writes), told batch by batch."""

    def __init__(self) -> None:
        self._at = 0
        self._starts = {0, 1}

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at the next rows."""
        if batch.num_columns < 2 or batch.schema.names[0] != NAMELESS:
            self._starts = set()
        elif self._starts:
            found = batch.column(0).to_pylist()
            ahead = range(self._at, self._at + batch.num_rows)
            self._starts = {s for s in self._starts if found == [str(i + s) for i in ahead]}
        self._at += batch.num_rows

    @property
    def only(self) -> bool:
        """Whether the first column holds row numbers and nothing else."""
        return self._at > 0 and bool(self._starts)


def _any_length(_: Any) -> Callable[[], Any]:
    before = csv.field_size_limit(_LARGEST_FIELD)
    return lambda: csv.field_size_limit(before)


#: Lets one field hold a whole transcript; Python's own limit is 128 kB, one for all threads.
_LARGE_FIELDS = Shared(_any_length)
