"""The beginning of a file, from which its kind is recognised."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from judgestats.ingest.compressed_files import PEEK, bytes_of


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
