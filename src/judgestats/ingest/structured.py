"""JSON, JSONL and Parquet: records with the place each came from."""

from __future__ import annotations

import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from judgestats.errors import SchemaError
from judgestats.ingest.files import bytes_of, is_packed, text_of
from judgestats.ingest.guesses import few
from judgestats.schema.opening import cell_text

#: A record and where it stands: ``("line 12", {...})``.
Record = tuple[str, dict[str, Any]]

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: What pandas calls a nameless index in a Parquet file.
ROW_NUMBERS = re.compile(r"__index_level_\d+__")
_BATCH = 8192
_SHAPES = 'a list of records, a dict of columns, or {"data": [...]}'


def json_lines(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the records of a JSONL file with their lines; a broken line is a SchemaError that names it."""
    with text_of(path, encoding) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            try:
                record = _loaded(line)
            except (ValueError, RecursionError) as problem:
                last = not any(rest.strip() for rest in text)
                raise SchemaError(_broken_line(path, number, line, problem, last)) from None
            if not isinstance(record, dict):
                raise SchemaError(
                    f"{path.name}, line {number}: a {_kind(record)}, where each line should be one JSON object "
                    f"({{...}}). Got: {line.strip()[:60]!r}."
                )
            yield f"line {number}", record


def _loaded(text: str) -> Any:
    """Parse JSON; half of a character (a lone surrogate, as truncated emoji leave behind) becomes U+FFFD."""
    value = json.loads(text, object_pairs_hook=_object)
    return _whole_characters(value) if _SURROGATE.search(text) else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that names a field twice is refused, where Python would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        name = next(n for n, times in Counter(n for n, _ in pairs).items() if times > 1)
        raise RepeatedField(f"the field {name!r} is there more than once in one object")
    return value


class RepeatedField(ValueError):
    """A JSON object that names a field twice."""


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_characters(v) for v in value]
    if isinstance(value, dict):
        return {_whole_characters(k): _whole_characters(v) for k, v in value.items()}
    return value


def _broken_line(path: Path, number: int, line: str, problem: Exception, last: bool) -> str:
    if isinstance(problem, RepeatedField):
        return f"{path.name}, line {number}: {problem}. Nothing says which one counts: rename or remove one."
    what = f"{problem.msg}, column {problem.colno}" if isinstance(problem, json.JSONDecodeError) else str(problem)
    text = f"{path.name}, line {number}: not valid JSON ({what}). It ends: {line.rstrip()[-40:]!r}. "
    if last:
        return text + (
            "It is the last line: the file was probably cut off while it was written. Write it again, or delete that "
            "line, so that it is you who drops the call."
        )
    return text + "Mend or delete that line: no line is skipped silently."


def json_document(path: Path, encoding: str | None = None) -> Any:
    """Parse a JSON file; a .json file with one record per line comes back as a list of records."""
    with text_of(path, encoding) as text:
        content = text.read()
    try:
        return _loaded(content)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data":
            return [record for _, record in json_lines(path, encoding)]
        end = len(content.rstrip())
        cure = (
            "The file ends before the JSON does: it was probably cut off while it was written. Write or fetch it again."
            if problem.pos >= end - 1 or problem.msg.startswith("Unterminated string")
            else "Mend that place."
        )
        raise SchemaError(
            f"{path.name}, line {problem.lineno}, column {problem.colno}: not valid JSON ({problem.msg}). {cure}"
        ) from None
    except RepeatedField as problem:
        raise SchemaError(f"{path.name}: {problem}. Nothing says which one counts: rename or remove one.") from None
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"{path.name}: not valid JSON ({problem}).") from None


def json_records(path: Path, encoding: str | None = None) -> list[Record]:
    """Records of a JSON file: a list, a dict of columns, {"data": [...]}, or a single record."""
    document = json_document(path, encoding)
    if isinstance(document, dict) and isinstance(document.get("data"), list):
        document = document["data"]
    if isinstance(document, dict):
        document = _columns_to_records(document, path) or [document]
    if not isinstance(document, list):
        raise SchemaError(f"{path.name} holds a {_kind(document)}; it should hold {_SHAPES}.")
    for i, record in enumerate(document, start=1):
        if not isinstance(record, dict):
            raise SchemaError(
                f"{path.name}, record {i}: a {_kind(record)} ({str(record)[:40]!r}), where each record should be a "
                f"JSON object. The file should hold {_SHAPES}."
            )
    return [(f"record {i}", record) for i, record in enumerate(document, start=1)]


def is_single_record(path: Path, encoding: str | None = None) -> bool:
    """Whether a JSON file holds one record (one judge call), not a table."""
    document = json_document(path, encoding)
    if not isinstance(document, dict) or isinstance(document.get("data"), list):
        return False
    return not _columns_to_records(document, path)


def _columns_to_records(document: Mapping[str, Any], path: Path) -> list[dict[str, Any]]:
    """Turn {"judge": [...], "item": [...]} (or pandas' {"judge": {"0": ...}}) around; anything else gives []."""
    if len(document) < 2:
        return []
    values = list(document.values())
    if all(isinstance(v, dict) for v in values) and len({tuple(v) for v in values}) == 1 and values[0]:
        if not all(str(k).isdigit() for k in values[0]):
            return []
        values = [list(v.values()) for v in values]
    elif not all(isinstance(v, list) for v in values):
        return []
    lengths = {name: len(v) for name, v in zip(document, values, strict=True)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise SchemaError(
            f"{path.name}: its columns have different lengths ({listed}). Nothing says which rows belong together."
        )
    return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]


def parquet_schema(path: Path) -> pa.Schema:
    """Names and types of the columns of a Parquet file, nameless row numbers left out; a repeated name is refused."""
    with _parquet_file(path) as file:
        return _columns_of(file, path)


def parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """Read a Parquet file in batches of plain columns: numbers and booleans as they are, all else as text.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.

    Yields
    ------
    pyarrow.RecordBatch

    Raises
    ------
    SchemaError
        For a damaged file, a repeated column, text that is not UTF-8, no rows.
    """
    at = 0
    with _parquet_file(path) as file:
        names = _columns_of(file, path).names
        for batch in file.iter_batches(batch_size=_BATCH, columns=names):
            arrays = [
                _plain_column(batch.column(n), n, f"{path.name}, rows {at} to {at + len(batch) - 1}") for n in names
            ]
            at += len(batch)
            yield pa.RecordBatch.from_arrays(arrays, names=names)
    if not at:
        raise SchemaError(f"{path.name} has columns ({few(names, 30)}) but no rows.")


@contextmanager
def _parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        if is_packed(path):
            with bytes_of(path) as raw:
                yield pq.ParquetFile(io.BytesIO(raw.read()))
        else:
            with bytes_of(path), pq.ParquetFile(path) as file:
                yield file
    except (pa.ArrowException, OSError) as problem:
        raise SchemaError(
            f"{path.name}: not a whole Parquet file ({str(problem).splitlines()[0][:200]}). Write or fetch it again."
        ) from None


def _columns_of(file: pq.ParquetFile, path: Path) -> pa.Schema:
    schema = file.schema_arrow
    repeated = sorted(n for n, times in Counter(schema.names).items() if times > 1)
    if repeated:
        raise SchemaError(
            f"{path.name} repeats the column {few(map(repr, repeated), 6)}. Rename them so that each is unique."
        )
    return pa.schema([field for field in schema if not ROW_NUMBERS.fullmatch(field.name)])


def is_plain(type_: pa.DataType) -> bool:
    """Whether a column of this type stays as it is: a number, or true and false."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))


def _plain_column(column: pa.Array, name: str, where: str) -> pa.Array:
    """A column of a Parquet file as numbers or booleans, if it holds such, or as the text a CSV cell would hold."""
    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_float16(column.type):
            return column.cast(pa.float32())
        if is_plain(column.type):
            return column
        if is_text(column.type):
            column.validate(full=True)
            column = column.cast(pa.large_string())
            return pc.if_else(pc.equal(column, ""), None, column)
        return pa.array([cell_text(v) for v in column.to_pylist()], pa.large_string())
    except (pa.ArrowException, ValueError, OverflowError) as problem:
        told = str(problem).splitlines()[0][:120]
        raise SchemaError(
            f"{where}: column {name!r} ({column.type}) cannot be read ({told}). Text must be UTF-8; write the column "
            "as plain text or numbers, or leave it out."
        ) from None


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return str(type_) in ("string", "large_string", "string_view")


def record_batches(path: Path, encoding: str | None = None) -> Iterator[pa.RecordBatch]:
    """Read a JSONL file in batches of text; a batch has the columns that its records have."""
    records = json_lines(path, encoding)
    empty = True
    while chunk := list(itertools.islice(records, _BATCH)):
        empty = False
        columns = columns_of(chunk)
        yield pa.RecordBatch.from_arrays([pa.array(v, pa.large_string()) for v in columns.values()], names=[*columns])
    if empty:
        raise SchemaError(f"{path.name} holds no records.")


def table_of(records: list[Record]) -> pd.DataFrame:
    """Records as a table of text: nested objects become ``outer.inner`` columns, lists stay JSON."""
    return pd.DataFrame(columns_of(records), index=range(len(records)))


def columns_of(records: list[Record]) -> dict[str, list[str | None]]:
    """Columns of a table of records, as text; see :func:`table_of`."""
    try:
        flat = [flatten(record, place) for place, record in records]
    except RecursionError:
        raise SchemaError("The records are nested too deeply to be a table. Write the verdicts out flat.") from None
    names = dict.fromkeys(name for record in flat for name in record)
    return {name: [cell_text(record.get(name)) for record in flat] for name in names}


def flatten(record: Mapping[str, Any], place: str = "a record", prefix: str = "") -> dict[str, Any]:
    """Open nested objects.

    Examples
    --------
    >>> flatten({"judge": "g", "verdict": {"choice": "A"}})
    {'judge': 'g', 'verdict.choice': 'A'}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inner = isinstance(value, dict) and bool(value)
        found = flatten(value, place, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
        twice = next((n for n in found if n in flat), None)
        if twice is not None:
            raise SchemaError(f"{place}: {twice!r} is there twice, once as a nested field. Rename one of them.")
        flat.update(found)
    return flat


def _kind(value: Any) -> str:
    names = {
        list: "list",
        str: "text",
        int: "number",
        float: "number",
        bool: "true/false",
        type(None): "null",
        dict: "JSON object",
    }
    return names.get(type(value), type(value).__name__)
