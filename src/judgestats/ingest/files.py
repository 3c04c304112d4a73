"""One file, whatever it holds."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from judgestats.errors import SchemaError
from judgestats.ingest.archives import Archive, archive_of
from judgestats.ingest.arrow_tables import parquet_batches, parquet_schema, plain_batches
from judgestats.ingest.binaries import binary_batches
from judgestats.ingest.containers import BINARY_KINDS, container_of
from judgestats.ingest.decoding import decoded_start
from judgestats.ingest.delimited import RowNumbers, delimited_batches, delimited_names
from judgestats.ingest.file_heads import FileHead, RecognisedFile, file_head
from judgestats.ingest.json_documents import json_document, json_records
from judgestats.ingest.json_lines import first_record, json_lines, record_batches, table_of_lines
from judgestats.ingest.json_values import Record, Row, json_type
from judgestats.ingest.nested_json import table_of
from judgestats.ingest.qrels import qrels_batches
from judgestats.ingest.separators import DELIMITERS
from judgestats.ingest.text_blocks import BrokenRow
from judgestats.schema.opening import cell_text


@dataclass(frozen=True)
class File(RecognisedFile):
    """One file, opened as its kind is."""

    @classmethod
    def of(cls, path: Path, encoding: str | None = None, head: FileHead | None = None) -> File:
        """A file of unknown kind, opened to see what it is, unless its head is at hand."""
        head = file_head(path) if head is None else head
        return cls(path, container_of(path, encoding, head.start), encoding, head=head)

    def records(self) -> list[Record]:
        """All records of a JSON or JSONL file, each with its place."""
        if self.container == "jsonl":
            return list(json_lines(self.path, self.encoding))
        return json_records(self.path, self.encoding)

    def document(self) -> Any:
        """Content of a JSON file; of a zipped log, the archive."""
        return archive_of(self.path) if self.container == "eval" else json_document(self.path, self.encoding)

    def records_for(self, opened_by: Callable[[Any, Path], Iterable[Record]] | None) -> Iterable[Record]:
        """Records for a reader: `opened_by` it from the whole file, or one by one; rows of a table are records."""
        if opened_by is not None:
            document = self.document()
            if not isinstance(document, dict | Archive):
                raise SchemaError(
                    f"{self.path.name} holds a {json_type(document)}, where this format is one JSON object."
                )
            return opened_by(document, self.path)
        if self.container in ("json", "jsonl"):
            return self.records()
        return [(f"row {i}", row) for i, row in enumerate(self.table().to_dict("records"))]

    def column_names(self) -> list[str]:
        """Names of the columns of a CSV, TSV or Parquet file."""
        if self.container == "parquet":
            return list(parquet_schema(self).names)
        if self.container in DELIMITERS:
            return delimited_names(self)
        return list(next(self.batches()).schema.names)

    def first_record(self) -> Row | None:
        """Return the first record, or None if the file is not JSON or has no records."""
        if self.container == "jsonl":
            head, whole = decoded_start(self)
            first = first_record(head if whole else head[: head.rfind("\n") + 1], self.path, whole)
            return first or next((r for _, r in json_lines(self.path, self.encoding)), None)
        if self.container == "json":
            return next((record for _, record in json_records(self.path, self.encoding)), None)
        return None

    def table(self, lines: array[int] | None = None, broken: list[BrokenRow] | None = None) -> pd.DataFrame:
        """Return the file as a plain table (text, except numbers and booleans of Parquet)."""
        return decoded(self._table(lines, broken))

    @cached_property
    def coded_table(self) -> tuple[pd.DataFrame, NDArray[np.int64]]:
        """The table, with the texts that a Parquet file stores once each as categories, and the place of each row."""
        lines = array("q")
        table = self._table(lines)
        pa.default_memory_pool().release_unused()  # the batches
        return table, np.frombuffer(lines, dtype=np.int64)

    def _table(self, lines: array[int] | None, broken: list[BrokenRow] | None = None) -> pd.DataFrame:
        if self.container == "jsonl":
            return table_of_lines(self.path, self.encoding, lines)
        if self.container == "json":
            records = self.records()
            if not records:
                raise SchemaError(f"{self.path.name} holds no records.")
            if lines is not None:
                lines.extend(range(1, len(records) + 1))
            return table_of(records)
        numbers, batches = RowNumbers(), []
        parquet = self.container == "parquet"
        for batch in parquet_batches(self.path, lines, coded=True) if parquet else self.batches(lines, broken):
            numbers.see(batch)
            batches.append(batch)
        whole = pa.Table.from_batches(batches).unify_dictionaries()
        table: pd.DataFrame = whole.drop_columns(whole.column_names[:1] if numbers.only else []).to_pandas(
            integer_object_nulls=True
        )
        gaps = [n for n in table.columns if table[n].dtype == object]
        return table.assign(**{n: [_cell(v) for v in table[n]] for n in gaps}) if gaps else table

    @property
    def counted_in(self) -> str:
        """What the places of rows are counted in: ``line`` and ``record`` from 1, ``row`` from 0."""
        if self.container == "json":
            return "record"
        return "row" if self.container in BINARY_KINDS else "line"

    @property
    def no_table(self) -> SchemaError:
        """The error for a zipped log that is asked for as a table."""
        return SchemaError(
            f"{self.path.name}: a log of Inspect is no table. Leave out columns=, labels=, wide= and format=."
        )

    def batches(
        self, lines: array[int] | None = None, broken: list[BrokenRow] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read a file of any kind but JSON piece by piece, as :meth:`table` reads it."""
        if self.container == "parquet":
            return parquet_batches(self.path, lines)
        if self.container in BINARY_KINDS:
            return plain_batches(binary_batches(self.path, self.container, self.inner), self.path, lines)
        if self.container == "jsonl":
            return record_batches(self.path, self.encoding)
        if self.container == "eval":
            raise self.no_table
        if self.container == "qrels":
            return qrels_batches(self.path, self.encoding)
        return delimited_batches(self, lines, broken)


def _cell(value: Any) -> str | None:
    """The text of a cell in a column with gaps; of True and False as in a column without."""
    return str(value) if isinstance(value, bool) else cell_text(value)


def decoded(table: pd.DataFrame, keep: Collection[str] = ()) -> pd.DataFrame:
    """A table with its categories as text; `keep`: columns that stay as they are."""
    coded = [n for n, dtype in table.dtypes.items() if isinstance(dtype, pd.CategoricalDtype) and n not in keep]
    labels = {n: table[n].cat for n in coded}
    texts = {n: c.categories.array.astype("str").take(c.codes.to_numpy(), allow_fill=True) for n, c in labels.items()}
    return table.assign(**texts) if texts else table
