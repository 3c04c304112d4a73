"""JSONL: a record a line, parsed by Arrow block by block where its lines are plain."""

from __future__ import annotations

import io
import json
import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.json as arrow_json

from judgestats.errors import SchemaError
from judgestats.ingest.arrow_tables import empty_as_missing
from judgestats.ingest.decoding import text_of
from judgestats.ingest.json_values import Record, RepeatedField, Row, json_type, parsed_json, trailing_comma
from judgestats.ingest.nested_json import MOST_SPARSE, columns_of, table_of
from judgestats.ingest.text_blocks import BLOCK, BrokenRow, TextRows, has_lone_cr
from judgestats.schema.opening import cell_text

#: A byte that is not UTF-8, as it is decoded where a broken line does not cost the file.
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
#: Types of the values of JSON as Arrow has them, and numbers below which a float is written in one way.
_JSON_TYPES = {str: pa.large_string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
_EXACT = 1e15
#: Lines of a JSONL file that tell its fields.
_FIRST_LINES = 100


def json_lines(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the records of a JSONL file with their lines; a broken line is a SchemaError that names it."""
    with text_of(path, encoding) as text:
        yield from _sound_records(_line_values(text, path))


def _sound_records(values: Iterable[Record | BrokenRow]) -> Iterator[Record]:
    for place, record in values:
        if isinstance(record, SchemaError):
            raise record
        yield place, record


def lines_or_errors(path: Path) -> Iterator[Record | BrokenRow]:
    """Yield the records of a JSONL file with their lines; in place of a broken line, the error."""
    with text_of(path, errors="surrogateescape") as text:
        yield from _line_values(text, path)


def _line_values(text: Iterable[str], path: Path, before: int = 0, ends: bool = True) -> Iterator[Record | BrokenRow]:
    """Records of lines, or errors. `before`: lines before these. `ends`: whether the file ends with them."""
    lines = ((number, line) for number, line in enumerate(text, start=before + 1) if line.strip())
    following = next(lines, None)
    while following is not None:
        (number, line), following = following, next(lines, None)
        record: Any
        try:
            record = parsed_json(line)
        except (ValueError, RecursionError) as problem:
            record = SchemaError(_broken_line(path, number, line, problem, ends and following is None))
        if _ESCAPED_BYTE.search(line):
            record = SchemaError(f"{path.name}, line {number}: not utf-8. Correct or delete the line.")
        elif not isinstance(record, dict | SchemaError):
            record = SchemaError(
                f"{path.name}, line {number}: a {json_type(record)}, where each line should be one JSON object "
                f"({{...}}). Got: {line.strip()[:60]!r}."
            )
        yield f"line {number}", record


def _broken_line(path: Path, number: int, line: str, problem: Exception, last: bool) -> str:
    if isinstance(problem, RepeatedField):
        return f"{path.name}, line {number}: {problem}. Rename or remove one."
    what = f"{problem.msg}, column {problem.colno}" if isinstance(problem, json.JSONDecodeError) else str(problem)
    text = f"{path.name}, line {number}: not valid JSON ({what}). It ends: {line.rstrip()[-40:]!r}. "
    if isinstance(problem, json.JSONDecodeError) and trailing_comma(problem):
        return text + "Delete the comma that nothing follows."
    if last:
        return text + (
            "It is the last line: the file was probably cut off while written. Write it again, or delete the line."
        )
    return text + "Correct or delete the line."


class JsonLines:
    """A JSONL file of flat records, parsed by Arrow block by block, and where a block looks odd record by record."""

    def __init__(self, path: Path, encoding: str | None, lines: array[int] | None = None) -> None:
        self._path, self._encoding, self._lines = path, encoding, lines
        self._types: dict[str, pa.DataType | None] = {}

    @property
    def flat(self) -> bool:
        """Whether each field holds values of one type only, of records that have few."""
        return None not in self._types.values() and 0 < len(self._types) <= MOST_SPARSE

    def parts(self) -> Iterator[pa.RecordBatch | list[Record]]:
        """Cells as text, or records where Arrow does not read a block."""
        n_lines = 0
        with text_of(self._path, self._encoding) as text:
            for block, last in _line_blocks(text):
                rows = self._cells(block.encode()) if self.flat else None
                part: pa.RecordBatch | list[Record]
                if rows is not None:
                    numbers, part = rows.lines + n_lines + 1, rows.cells
                    n_lines += rows.n_lines
                else:
                    block_lines = list(io.StringIO(block, newline=""))
                    part = list(_sound_records(_line_values(block_lines, self._path, n_lines, last)))
                    numbers = np.array([int(place.rpartition(" ")[2]) for place, _ in part], dtype=np.int64)
                    n_lines += len(block_lines)
                    self._learn(part)
                if self._lines is not None:
                    self._lines.frombytes(numbers.astype(np.int64).tobytes())
                if len(numbers):
                    yield part

    def _learn(self, records: list[Record]) -> None:
        for _, record in records:
            for name, value in record.items():
                kind, before = _JSON_TYPES.get(type(value)), self._types.get(name, pa.null())
                if value is not None and kind != before:
                    numbers = {str(kind), str(before)} == {"int64", "double"}
                    self._types[name] = kind if before == pa.null() else pa.float64() if numbers else None
                else:
                    self._types.setdefault(name, before)

    def _cells(self, block: bytes) -> TextRows | None:
        """The records of a block as text, if each line holds one with the fields and types already met."""
        signs = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        ends = ends if block.endswith(b"\n") else np.append(ends, len(block))
        starts = np.append(0, ends[:-1] + 1)
        full = ends > starts
        stops = ends[full] - 1
        if b"\r" in block:
            if has_lone_cr(block):
                return None
            stops = np.where(signs[stops] == ord("\r"), stops - 1, stops)
        if not ((signs[starts[full]] == ord("{")) & (signs[stops] == ord("}"))).all():
            return None
        try:
            table = arrow_json.read_json(
                pa.py_buffer(block),
                arrow_json.ReadOptions(block_size=len(block) + 1),
                arrow_json.ParseOptions(
                    explicit_schema=pa.schema(list(self._types.items())), unexpected_field_behavior="error"
                ),
            )
        except pa.ArrowException:
            return None
        columns = [_json_cells(column.combine_chunks()) for column in table.columns]
        if table.num_rows != stops.size or any(column is None for column in columns):
            return None
        cells = pa.RecordBatch.from_arrays(columns, names=table.column_names)
        return TextRows(cells, np.flatnonzero(full), len(block), ends.size)


def _json_cells(column: pa.Array) -> pa.Array | None:
    """A column of JSON as text; None if a number may be written in more digits than it has here."""
    if pa.types.is_floating(column.type):
        coded = column.dictionary_encode()
        numbers = coded.dictionary.to_numpy()
        if not (np.abs(numbers) < _EXACT).all():
            return None
        return pa.array([cell_text(float(v)) for v in numbers], pa.large_string()).take(coded.indices)
    return empty_as_missing(column.cast(pa.large_string()))


def _line_blocks(text: IO[str]) -> Iterator[tuple[str, bool]]:
    """Whole lines of a text, the first few and then many at a time; and whether the text ends with them."""
    block, rest = "".join(text.readline() for _ in range(_FIRST_LINES)), text.read(BLOCK)
    while rest:
        yield block, False
        more = text.read(BLOCK)
        end = rest.rfind("\n") + 1 if more else len(rest)
        block, rest = rest[:end], rest[end:] + more
    yield block, True


def record_batches(path: Path, encoding: str | None = None) -> Iterator[pa.RecordBatch]:
    """Read a JSONL file in batches of text; a batch has the columns that its records have."""
    empty = True
    for part in JsonLines(path, encoding).parts():
        empty = False
        yield part if isinstance(part, pa.RecordBatch) else _record_batch(part)
    if empty:
        raise SchemaError(f"{path.name} holds no records.")


def _record_batch(records: list[Record]) -> pa.RecordBatch:
    columns = columns_of(records)
    return pa.RecordBatch.from_arrays([pa.array(v, pa.large_string()) for v in columns.values()], names=[*columns])


def first_record(start: str, path: Path, whole: bool) -> Row | None:
    """The first record of the lines at the start of a file; `whole`: whether the file has no others."""
    records = _sound_records(_line_values(io.StringIO(start, newline=""), path, ends=whole))
    return next((record for _, record in records), None)


def table_of_lines(path: Path, encoding: str | None, lines: array[int] | None) -> pd.DataFrame:
    """A JSONL file as a table of text; `lines` takes the line of each row."""
    reader = JsonLines(path, encoding, lines)
    parts = list(reader.parts())
    if not parts:
        raise SchemaError(f"{path.name} holds no records.")
    if all(isinstance(part, list) for part in parts):
        return table_of([record for part in parts for record in part])
    if not reader.flat:  # records of a later block are nested, or have many fields
        return table_of(list(json_lines(path, encoding)))
    batches = [part if isinstance(part, pa.RecordBatch) else _record_batch(part) for part in parts]
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    table: pd.DataFrame = pa.concat_tables(tables, promote_options="default").to_pandas()
    return table
