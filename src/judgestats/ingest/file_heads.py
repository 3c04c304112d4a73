"""The beginning of a file, from which its kind is recognised, and what is then known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from judgestats.ingest.compressed_files import PEEK, bytes_of

#: Kind of a file: a table of text, JSON, a binary table, or ``eval`` (a log of Inspect, zipped).
Container = Literal["csv", "tsv", "json", "jsonl", "parquet", "arrow", "orc", "excel", "sqlite", "qrels", "eval"]


class FileHead(NamedTuple):
    """The first bytes of a file, unpacked, and the schema of one that is Parquet."""

    start: bytes
    schema: pa.Schema | None = None


def file_head(path: Path) -> FileHead:
    """Open a file to see what it is."""
    with bytes_of(path) as raw:
        start = raw.read(PEEK)
        try:
            return FileHead(start, pq.read_schema(raw) if start.startswith(b"PAR1") and raw.seekable() else None)
        except (pa.ArrowException, OSError):
            return FileHead(start)  # damaged, as reading will say


@dataclass(frozen=True)
class RecognisedFile:
    """A file, and how it is to be opened."""

    path: Path
    container: Container
    encoding: str | None = None  # if not UTF-8
    inner: str = ""  # name of the sheet or table in it, if it holds several
    head: FileHead = field(default=FileHead(b""), repr=False, compare=False)
