"""The kind of a file, by its name and by how it begins."""

from __future__ import annotations

import re
from pathlib import Path

from judgestats.errors import SchemaError
from judgestats.ingest.archives import archive_of
from judgestats.ingest.compressed_files import is_packed, unpacked_name
from judgestats.ingest.decoding import refuse_unknown_encoding
from judgestats.ingest.file_heads import Container, file_head
from judgestats.ingest.qrels import are_qrels
from judgestats.ingest.separators import SEPARATOR, SEPARATORS

#: Format by suffix, with or without ``.gz``.
SUFFIXES: dict[str, Container] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".orc": "orc",
    ".xlsx": "excel",
    ".xls": "excel",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".eval": "eval",
}
#: How a binary file of each kind begins.
_MAGIC: tuple[tuple[bytes, Container], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow"),
    (b"ORC", "orc"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "excel"),
)
BINARY_KINDS = {"parquet": "Parquet", "arrow": "Arrow or Feather", "orc": "ORC", "excel": "Excel", "sqlite": "SQLite"}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: The member that makes a zip archive an Excel workbook.
_WORKBOOK = "xl/workbook.xml"
#: Members of which a zipped log of Inspect (container ``eval``) has at least one, and those that hold a sample each.
LOG_HEADERS = ("header.json", "_journal/start.json")
LOG_SAMPLE = re.compile(r"samples/.*_epoch_\d+(\.json|/sample\.json)", re.DOTALL)


def container_of(path: Path, encoding: str | None = None, start: bytes = b"") -> Container:
    """Detect CSV, TSV, JSON, JSONL, Parquet or a zipped log of Inspect, by the name and by the content of the file."""
    refuse_unknown_encoding(encoding)
    start = start or file_head(path).start
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise SchemaError(f"{path.name} is empty. Check that it was written completely and is the right file.")
    if start.startswith(_ZIP):
        if any(name in LOG_HEADERS for name in archive_of(path).names()):
            return "eval"
        if _WORKBOOK in archive_of(path).names():
            return "excel"
        raise SchemaError(f"{path.name} is a zip archive. Give it alone, without other files, or unpack it.")
    binary = next((kind for mark, kind in _MAGIC if start.startswith(mark) and encoding is None), None)
    if binary is not None and (binary != "orc" or suffix_of(path.name) in ("", ".orc")):
        if binary != "parquet" and is_packed(path):
            raise SchemaError(f"{path.name}: a compressed {binary} file is not read. Unpack it first.")
        return binary
    by_name = SUFFIXES.get(suffix_of(path.name))
    text = start.decode(encoding or "utf-8", "replace").lstrip("\ufeff \t\r\n")
    if by_name == "eval":
        raise SchemaError(f"{path.name} is named as an Inspect log but is no zip archive. Write or fetch it again.")
    if by_name is not None and by_name in BINARY_KINDS:
        mark = " (PAR1)" if by_name == "parquet" else ""
        raise SchemaError(f"{path.name} is named {BINARY_KINDS[by_name]} but does not begin as such a file does{mark}.")
    if by_name in ("json", "jsonl") or (by_name is None and text[:1] in ("{", "[")):
        return _json_or_lines(text, by_name)
    if by_name is not None:
        return by_name
    if b"\x00" in start and encoding is None and start[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise SchemaError(f"{path.name} is not text. judgestats.formats() lists what can be read.")
    if are_qrels(text.splitlines()[:20]):
        return "qrels"
    first = text.splitlines()[0]
    if SEPARATOR.get() or any(sign in first for sign in SEPARATORS):
        return "tsv" if first.count("\t") > first.count(",") else "csv"
    raise SchemaError(
        f"{path.name} is not CSV, TSV, JSON, JSONL or Parquet, by its name or by its first line "
        f"({first[:40]!r}). judgestats.formats() lists what can be read."
    )


def is_zip_of_tables(path: Path, start: bytes) -> bool:
    """Whether a file with these first bytes is a zip archive, and neither a zipped log nor a workbook."""
    if not start.startswith(_ZIP):
        return False
    names = archive_of(path).names()
    return _WORKBOOK not in names and not any(name in LOG_HEADERS for name in names)


def _json_or_lines(text: str, by_name: Container | None) -> Container:
    """A .json file often holds one record per line, and a .jsonl file one list."""
    if text.startswith("["):
        return "json"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.strip().startswith("{") for line in lines[:2]) and lines[0].rstrip().endswith("}"):
        return "jsonl"
    return by_name or "json"


def suffix_of(name: str) -> str:
    """Suffix of a file name in lower case, without that of its compression."""
    return Path(unpacked_name(name)).suffix.lower()


def stem_of(name: str) -> str:
    """File name without the suffixes of a known format."""
    name = unpacked_name(name)
    return Path(name).stem if suffix_of(name) in SUFFIXES else name
