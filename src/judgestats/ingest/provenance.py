"""What was read, for the record: names, sizes, hashes and rows of the files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.ingest.archives import archive_of
from judgestats.ingest.containers import LOG_SAMPLE
from judgestats.ingest.databases import redacted
from judgestats.ingest.files import File
from judgestats.ingest.sniffing import find_files
from judgestats.ingest.sources import is_table
from judgestats.schema.opening import opened


def source_info(
    source: object,
    *,
    connection: object = None,
    encoding: str | None = None,
    format: str | None = None,
    strict: bool = False,
) -> pd.DataFrame:
    """Describe a source for the record: names, sizes, hashes, rows.

    Parameters
    ----------
    source : path, glob, folder, list of paths, SQL query, or table
        As for :func:`judgestats.read`.
    connection : object, optional
        Given when `source` is an SQL query.
    encoding : str, optional
        Encoding of the files, if not UTF-8.
    format : str, optional
        As for :func:`judgestats.read`.
    strict : bool
        As for :func:`judgestats.read`.

    Returns
    -------
    pandas.DataFrame
        One row per file: ``name`` (below the folder or glob given), ``bytes``, ``sha256`` (of the file as stored,
        packed or not), ``rows`` (rows or records in it, before any mapping), ``note`` (why a file of the folder was
        not read, else empty; its ``sha256`` is empty and its ``rows`` are missing). For a table or a query there is
        one row, its ``bytes`` missing and its ``sha256`` empty; ``rows`` is missing for a query and where the table is
        lazy.

    Raises
    ------
    SchemaError
        As :func:`judgestats.read` does.

    Examples
    --------
    >>> import pandas as pd
    >>> source_info(pd.DataFrame({"judge": ["a", "b"]}))
            name  bytes sha256  rows note
    0  DataFrame   <NA>            2
    """
    rows: list[tuple[str, int | None, str, int | None, str]]
    if connection is not None:
        rows = [(redacted(" ".join(str(source).split()), connection), None, "", None, "")]
    elif is_table(source):
        data = opened(source)
        rows = [(type(source).__name__, None, "", len(data) if isinstance(data, nw.DataFrame) else None, "")]
    else:
        files, counts = find_files(source, encoding, format, strict=strict).each(_count)
        rows = [
            (files.relative(f), f.path.stat().st_size, _sha256(f.path), n, "")
            for f, n in zip(files.files, counts, strict=True)
        ]
        rows += [(name, None, "", None, f"not read: {why}") for name, why in files.left]
    table = pd.DataFrame(rows, columns=["name", "bytes", "sha256", "rows", "note"])
    return table.astype({"bytes": "Int64", "rows": "Int64"})


def _sha256(path: Path) -> str:
    with path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def _count(file: File) -> int:
    if file.container == "eval":
        return sum(LOG_SAMPLE.fullmatch(name) is not None for name in archive_of(file.path).names())
    return len(file.records()) if file.container in ("json", "jsonl") else len(file.table())
