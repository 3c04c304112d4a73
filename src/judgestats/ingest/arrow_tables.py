"""Parquet, and other binary tables: numbers and booleans as they are, all else as text."""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from judgestats.errors import SchemaError
from judgestats.ingest.compressed_files import bytes_of
from judgestats.ingest.file_heads import RecognisedFile
from judgestats.schema.opening import cell_text, few, refuse_repeated_names

#: Name of a nameless pandas index in a Parquet file.
ROW_NUMBERS = re.compile(r"__index_level_\d+__")
_BATCH = 8192
#: Rows of a Parquet file that are read at a time into memory, and bytes a cell below which its text is taken as a code.
_LARGE_BATCH, _CODE_SIZE = 2**20, 8


def parquet_schema(file: RecognisedFile) -> pa.Schema:
    """Names and types of the columns of a Parquet file, nameless row numbers left out; a repeated name is refused."""
    if file.head.schema is not None:
        return _columns_of(file.head.schema, file.path)
    with _parquet_file(file.path) as parquet:
        return _columns_of(parquet.schema_arrow, file.path)


def parquet_batches(path: Path, lines: array[int] | None = None, coded: bool = False) -> Iterator[pa.RecordBatch]:
    """Read a Parquet file in batches of plain columns: numbers and booleans as they are, all else as text."""
    with _parquet_file(path, coded) as file:
        names = _columns_of(file.schema_arrow, path).names
        batches = file.iter_batches(batch_size=_LARGE_BATCH if coded else _BATCH, columns=names)
        yield from plain_batches(batches, path, lines, names, coded)


def plain_batches(
    batches: Iterable[pa.RecordBatch],
    path: Path,
    lines: array[int] | None,
    names: Sequence[str] = (),
    coded: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Batches of a binary table with numbers and booleans as they are, all else as text."""
    at = 0
    for batch in batches:
        names = batch.schema.names
        where = f"{path.name}, rows {at} to {at + len(batch) - 1}"
        arrays = [_plain_column(batch.column(n), n, where, coded) for n in names]
        if lines is not None:
            lines.frombytes(np.arange(at, at + len(batch), dtype=np.int64).tobytes())
        at += len(batch)
        if len(batch):
            yield pa.RecordBatch.from_arrays(arrays, names=names)
    if not at:
        columns = f"has columns ({few(names, 30)}) but no rows" if names else "holds no rows"
        raise SchemaError(f"{path.name} {columns}.")


@contextmanager
def _parquet_file(path: Path, coded: bool = False) -> Iterator[pq.ParquetFile]:
    try:
        with bytes_of(path) as raw:
            source = raw if raw.seekable() else io.BytesIO(raw.read())
            file = pq.ParquetFile(source)
            yield pq.ParquetFile(source, metadata=file.metadata, read_dictionary=_repeated(file)) if coded else file
    except (pa.ArrowException, OSError) as problem:
        raise SchemaError(
            f"{path.name}: not a complete Parquet file ({str(problem).splitlines()[0][:200]}). Write or fetch it again."
        ) from None


def _repeated(file: pq.ParquetFile) -> list[str]:
    """Columns of text that take few bytes a cell: texts that occur many times."""
    parts = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    names = [column.path for column in map(file.metadata.schema.column, range(len(file.metadata.schema)))]
    sizes = {name: sum(part.column(i).total_uncompressed_size for part in parts) for i, name in enumerate(names)}
    texts = [field.name for field in file.schema_arrow if is_text(field.type)]
    return [name for name in texts if sizes.get(name, math.inf) < _CODE_SIZE * file.metadata.num_rows]


def _columns_of(schema: pa.Schema, path: Path) -> pa.Schema:
    refuse_repeated_names(schema.names, path.name)
    return pa.schema([field for field in schema if not ROW_NUMBERS.fullmatch(field.name)])


def is_plain(type_: pa.DataType) -> bool:
    """Whether a column of this type stays as it is: a number, or true and false."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))


def _plain_column(column: pa.Array, name: str, where: str, coded: bool) -> pa.Array:
    """A column of a Parquet file as numbers or booleans, if it holds such, or as the text a CSV cell would hold."""
    try:
        if pa.types.is_dictionary(column.type):
            if coded and is_text(column.type.value_type):
                texts = _plain_column(column.dictionary, name, where, coded)
                codes = column.indices
                if texts.null_count:
                    codes = pc.if_else(texts.is_null().take(codes), None, codes)
                return pa.DictionaryArray.from_arrays(codes, texts.fill_null(""))
            column = column.dictionary_decode()
        if pa.types.is_float16(column.type):
            return column.cast(pa.float32())
        if is_plain(column.type):
            return column
        if is_text(column.type):
            column.validate(full=True)
            column = column.cast(pa.large_string())
            return empty_as_missing(column)
        return pa.array([cell_text(v) for v in column.to_pylist()], pa.large_string())
    except (pa.ArrowException, ValueError, OverflowError) as problem:
        reason = str(problem).splitlines()[0][:120]
        raise SchemaError(
            f"{where}: column {name!r} ({column.type}) cannot be read ({reason}). Text must be UTF-8; write the column "
            "as plain text or numbers, or leave it out."
        ) from None


def empty_as_missing(text: pa.Array) -> pa.Array:
    """Text whose empty cells are missing. (`if_else` of PyArrow 23 misreads a part of an array of text.)"""
    empty = pc.equal(text, "")
    return pc.replace_with_mask(text, empty, pa.scalar(None, text.type)) if pc.any(empty).as_py() else text


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return str(type_) in ("string", "large_string", "string_view")
