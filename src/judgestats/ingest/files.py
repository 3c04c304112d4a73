"""One file: how it is opened and decoded, and its rows as batches of text."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import math
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.json as arrow_json
import pyarrow.parquet as pq
from numpy.typing import NDArray

from judgestats.errors import SchemaError
from judgestats.ingest.archives import Archive
from judgestats.ingest.binaries import binary_batches
from judgestats.schema.opening import cell_text, few, refuse_repeated_names
from judgestats.threads import Shared

# ---- One file: opening, decoding, format by content ------------------------------------------------------------------

Container = Literal[
    "csv", "tsv", "json", "jsonl", "parquet", "arrow", "orc", "excel", "sqlite", "qrels", "eval"
]  # fmt: skip

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
_NAMES = {"parquet": "Parquet", "arrow": "Arrow or Feather", "orc": "ORC", "excel": "Excel", "sqlite": "SQLite"}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: The member that makes a zip archive an Excel workbook.
_WORKBOOK = "xl/workbook.xml"
#: Members of which a zipped log of Inspect (container ``eval``) has at least one, and those that hold a sample each.
LOG_HEADERS = ("header.json", "_journal/start.json")
LOG_SAMPLE = re.compile(r"samples/.*_epoch_\d+(\.json|/sample\.json)", re.DOTALL)
#: Suffixes of compressed files.
PACKED = (".gz", ".zst")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PEEK = 65536
#: Size limits of an unpacked gzip file or archive: bytes in all, bytes always allowed, multiples of the packed size.
_LARGEST, _SMALL, _RATIO = 4 * 10**9, 100 * 10**6, 200
_MOST: ContextVar[int | None] = ContextVar("max_unpacked", default=None)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacking it if it is compressed with gzip or zstd (by its first bytes, not by its name)."""
    raw = path.open("rb")
    mark = raw.peek(4)[:4]
    packed = mark.startswith((_GZIP, _ZSTD))
    return cast("IO[bytes]", io.BufferedReader(_Unpacked(path, raw, mark), _PEEK)) if packed else raw


def unpacked_limit(path: Path) -> int:
    """How many bytes a compressed file may unpack to; see :func:`unpacking`."""
    given = _MOST.get()
    return min(_LARGEST, max(_SMALL, _RATIO * path.stat().st_size)) if given is None else given


class _Unpacked(io.RawIOBase):
    """A file compressed with gzip or zstd, with a limit on its unpacked size."""

    def __init__(self, path: Path, packed: IO[bytes], mark: bytes) -> None:
        self._path, self._size, self._packed = path, path.stat().st_size, packed
        zstd = mark.startswith(_ZSTD)
        self._raw: Any = pa.CompressedInputStream(packed, "zstd") if zstd else gzip.GzipFile(fileobj=packed)
        self._most = unpacked_limit(path)
        self._got = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got: int = self._raw.readinto(buffer)
        self._got += got
        if self._got > self._most:
            raise SchemaError(
                f"{self._path.name} unpacks to more than {self._most:,} bytes, from {self._size:,}. If this "
                "is intended, pass max_unpacked=, the number of bytes allowed.",
                advice=(("max_unpacked", None),),
            )
        return got

    def close(self) -> None:
        self._raw.close()
        self._packed.close()
        super().close()


@contextmanager
def unpacking(most: int | None) -> Iterator[None]:
    """Limit the unpacked size of compressed files, in bytes; None keeps the current limits."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise SchemaError(f"max_unpacked={most!r} should be a number of bytes, such as 10_000_000_000.")
    token = _MOST.set(_MOST.get() if most is None else most)
    try:
        yield
    finally:
        _MOST.reset(token)


def is_packed(path: Path) -> bool:
    """Whether a file is compressed with gzip or zstd."""
    return _begins(path, _GZIP, _ZSTD)


def _begins(path: Path, *marks: bytes) -> bool:
    with path.open("rb") as raw:
        return raw.read(4).startswith(marks)


@contextmanager
def bytes_of(path: Path) -> Iterator[IO[bytes]]:
    """Yield the bytes of a file; a truncated archive or an unreadable file is a SchemaError."""
    try:
        with open_bytes(path) as raw:
            yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise _damaged(path, "gzip", problem) from None
    except OSError as problem:
        if problem.errno is None and _begins(path, _ZSTD):
            raise _damaged(path, "zstd", problem) from None
        raise SchemaError(f"{path.name}: the file cannot be opened ({problem.strerror or problem}).") from None


def _damaged(path: Path, kind: str, problem: Exception) -> SchemaError:
    return SchemaError(
        f"{path.name}: the {kind} archive is truncated or damaged ({problem}). Nothing was read from it. Fetch or "
        f"write the file again; `{kind} -t` checks it."
    )


@contextmanager
def text_of(path: Path, encoding: str | None = None, errors: str = "strict") -> Iterator[IO[str]]:
    """Yield the text of a file (UTF-8, with or without a byte-order mark, unless `encoding` says otherwise)."""
    try:
        with bytes_of(path) as raw, io.TextIOWrapper(raw, encoding or "utf-8-sig", errors, newline="") as text:
            yield text
    except UnicodeError:
        raise wrong_encoding(path, encoding) from None


def wrong_encoding(path: Path, encoding: str | None) -> SchemaError:
    """The error for a file in another encoding: where decoding fails, and a likely encoding."""
    wanted = encoding or "utf-8"
    with bytes_of(path) as raw:
        start = raw.read(4)
    for mark, name in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if start.startswith(mark):
            return _encoding_error(path, wanted, f"it begins with the byte-order mark of {name}", name)
    with bytes_of(path) as raw:
        for number, line in enumerate(raw, start=1):
            try:
                line.decode(wanted)
            except UnicodeDecodeError as problem:
                guess = _guess(line)
                shown = line[max(0, problem.start - 15) : problem.start + 15].decode(guess, "replace").strip()
                where = f"line {number}, byte {problem.start + 1} of the line is 0x{line[problem.start]:02x}"
                return _encoding_error(path, wanted, f"{where} (read as {guess}: {shown!r})", guess)
    return _encoding_error(path, wanted, "its text ends in the middle of a character", "utf-16")


def _guess(line: bytes) -> str:
    try:
        line.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _encoding_error(path: Path, wanted: str, where: str, guess: str) -> SchemaError:
    return SchemaError(
        f"{path.name} is not {wanted}: {where}. Save it as UTF-8, or pass encoding={guess!r} if that is its encoding.",
        advice=(("encoding", guess),),
    )


class Look(NamedTuple):
    """The first bytes of a file, unpacked, and the schema of one that is Parquet."""

    head: bytes
    schema: pa.Schema | None = None


def look(path: Path) -> Look:
    """Open a file to see what it is."""
    with bytes_of(path) as raw:
        head = raw.read(_PEEK)
        try:
            return Look(head, pq.read_schema(raw) if head.startswith(b"PAR1") and raw.seekable() else None)
        except (pa.ArrowException, OSError):
            return Look(head)  # damaged, as reading will say


def container_of(path: Path, encoding: str | None = None, head: bytes = b"") -> Container:
    """Detect CSV, TSV, JSON, JSONL, Parquet or a zipped log of Inspect, by the name and by the content of the file."""
    _known(encoding)
    start = head or look(path).head
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
    named = SUFFIXES.get(suffix_of(path.name))
    text = start.decode(encoding or "utf-8", "replace").lstrip("\ufeff \t\r\n")
    if named == "eval":
        raise SchemaError(f"{path.name} is named as an Inspect log but is no zip archive. Write or fetch it again.")
    if named is not None and named in _NAMES:
        mark = " (PAR1)" if named == "parquet" else ""
        raise SchemaError(f"{path.name} is named {_NAMES[named]} but does not begin as such a file does{mark}.")
    if named in ("json", "jsonl") or (named is None and text[:1] in ("{", "[")):
        return _json_or_lines(text, named)
    if named is not None:
        return named
    if b"\x00" in start and encoding is None and start[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise SchemaError(f"{path.name} is not text. judgestats.formats() lists what can be read.")
    if _are_qrels(text.splitlines()[:20]):
        return "qrels"
    first = text.splitlines()[0]
    if _SEPARATOR.get() or any(sign in first for sign in SEPARATORS):
        return "tsv" if first.count("\t") > first.count(",") else "csv"
    raise SchemaError(
        f"{path.name} is not CSV, TSV, JSON, JSONL or Parquet, by its name or by its first line "
        f"({first[:40]!r}). judgestats.formats() lists what can be read."
    )


def is_zip_of_tables(path: Path, head: bytes) -> bool:
    """Whether a file with these first bytes is a zip archive, and neither a zipped log nor a workbook."""
    if not head.startswith(_ZIP):
        return False
    names = archive_of(path).names()
    return _WORKBOOK not in names and not any(name in LOG_HEADERS for name in names)


def _known(encoding: str | None) -> None:
    try:
        b"a".decode(encoding or "utf-8", "replace")
        io.TextIOWrapper(io.BytesIO(), encoding=encoding or "utf-8")
    except (LookupError, ValueError):
        raise SchemaError(
            f"encoding={encoding!r} is not an encoding that Python knows, such as 'utf-8', 'cp1252'."
        ) from None


def _json_or_lines(text: str, named: Container | None) -> Container:
    """A .json file often holds one record per line, and a .jsonl file one list."""
    if text.startswith("["):
        return "json"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.strip().startswith("{") for line in lines[:2]) and lines[0].rstrip().endswith("}"):
        return "jsonl"
    return named or "json"


# ---- TREC relevance judgments (qrels): topic, iteration, document, grade, between spaces

QRELS = ("topic", "iteration", "document", "grade")
_QRELS = re.compile(r"\s*(\S+)[ \t]+(\d+|Q0)[ \t]+(\S+)[ \t]+(-?\d{1,9})\s*")


def _are_qrels(lines: list[str]) -> bool:
    return bool(lines) and all(_QRELS.fullmatch(line) for line in lines if line.strip())


def qrels_batches(path: Path, encoding: str | None = None) -> Iterator[pa.RecordBatch]:
    """Read a file of TREC relevance judgments as batches of text; a line of another form is a SchemaError."""
    schema = pa.schema([(name, pa.large_string()) for name in QRELS])
    with text_of(path, encoding) as text:
        found = []
        for number, line in enumerate(text, start=1):
            match = _QRELS.fullmatch(line)
            if match:
                found.append(match.groups())
            elif line.strip():
                raise SchemaError(
                    f"{path.name}, line {number}: {line.strip()[:60]!r} is not 'topic iteration document grade', as "
                    "in the lines before it. Correct or delete the line."
                )
            if len(found) == _CHUNK:
                yield _text_batch(found, schema)
                found = []
        if found:
            yield _text_batch(found, schema)


def _text_batch(rows: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array([cell or None for cell in column], pa.large_string()) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


#: The place of a row that cannot be read, and why.
Broken = tuple[str, SchemaError]

# ---- CSV and TSV, read strictly: every cell is text, every row has the width of the header

DELIMITERS = {"csv": ",", "tsv": "\t"}
SEPARATORS = (",", ";", "\t", "|")
_SEPARATOR: ContextVar[str] = ContextVar("sep", default="")
#: Rows by which the separator is told.
_FIRST_ROWS = 20
#: Name of a first column that has none.
NAMELESS = "column_1"
_CHUNK = 8192
#: Characters that are parsed at a time.
_BLOCK = 2**24
_LARGEST_FIELD = 2**31 - 1


@contextmanager
def separated_by(sign: str | None) -> Iterator[None]:
    """Read CSV and TSV files with this separator; empty or None keeps the one set, or the one that each file has."""
    if sign and (not isinstance(sign, str) or len(sign.replace("\\t", "\t")) != 1 or sign in '"\r\n'):
        raise SchemaError(f"sep={sign!r} should be one character, such as ';'.")
    token = _SEPARATOR.set((sign or "").replace("\\t", "\t") or _SEPARATOR.get())
    try:
        yield
    finally:
        _SEPARATOR.reset(token)


def separator_of(file: File) -> str:
    """The separator of a CSV or TSV file: by its first rows, where the usual one divides them unevenly."""
    if _SEPARATOR.get():
        return _SEPARATOR.get()
    usual = DELIMITERS[file.container]
    start = file.look.head or look(file.path).head
    lines = start.decode(file.encoding or "utf-8", "replace").lstrip("\ufeff").splitlines(keepends=True)
    lines = lines[: -(len(start) == _PEEK) or None] or lines  # the last may be cut off
    widths = {}
    for sign in SEPARATORS:
        rows = itertools.islice(filter(None, csv.reader(lines, delimiter=sign)), _FIRST_ROWS)
        widths[sign] = [len(row) for row in rows] or [0]
    even = [sign for sign, found in widths.items() if found[0] > 1 and len({*found}) == 1]
    able = [sign for sign in even if widths[sign][0] >= widths[usual][0]]
    if usual in even or not (able or widths[usual][0] < 2):
        return usual
    return max(able or SEPARATORS, key=lambda sign: (widths[sign][0], sign == usual))


def delimited_batches(
    file: File, lines: array[int] | None = None, broken: list[Broken] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a CSV or TSV file as batches of text; only the empty cell is missing, and ``NA`` is a name."""
    empty = True
    with text_of(file.path, file.encoding) as text:
        separator = separator_of(file)
        names, line = _header(text, file, separator)
        for batch in _delimited(text, line, names, file, separator, lines, broken):
            empty = False
            yield batch
    if empty and broken:
        raise broken[0][1]
    if empty:
        raise SchemaError(f"{file.path.name} has a header ({few(names, 30)}) but no rows.")


def delimited_names(file: File) -> list[str]:
    """Names of the columns of a CSV or TSV file, from its header alone."""
    separator = separator_of(file)
    head, whole = head_of(file)
    start = io.StringIO(head, newline="")
    with suppress(SchemaError):
        names, _ = _header(start, file, separator)
        if whole or start.tell() < len(head):
            return names
    with text_of(file.path, file.encoding) as text:
        return _header(text, file, separator)[0]


def head_of(file: File) -> tuple[str, bool]:
    """The beginning of a text, and whether it is all of it."""
    decoder = codecs.getincrementaldecoder(file.encoding or "utf-8-sig")()
    try:
        return decoder.decode(file.look.head), 0 < len(file.look.head) < _PEEK
    except UnicodeError:
        raise wrong_encoding(file.path, file.encoding) from None


def _header(text: IO[str], file: File, separator: str) -> tuple[list[str], int]:
    """Names of the columns, and the line at which the header ends; the text is then at its first row."""
    rows = csv.reader(iter(text.readline, ""), delimiter=separator, strict=True)
    with _valid(rows, 0, file):
        header = next((row for row in rows if row), [])
    return column_names(header, file.path), rows.line_num


@contextmanager
def _valid(rows: Any, before: int, file: File) -> Iterator[None]:
    """Report what the csv module refuses, with its line; `before`: lines that other readers have read."""
    with _LARGE_FIELDS.held():
        try:
            yield
        except csv.Error as problem:
            raise SchemaError(
                f"{file.path.name}, line {before + rows.line_num}: not valid {file.container.upper()} ({problem}). A "
                'quote is left open or not escaped; inside a quoted field, write it twice ("").'
            ) from None


def _delimited(
    text: IO[str],
    line: int,
    names: list[str],
    file: File,
    separator: str,
    lines: array[int] | None,
    broken: list[Broken] | None,
) -> Iterator[pa.RecordBatch]:
    """Rows of a CSV or TSV file: by Arrow block by block, and from the first block that looks odd by the csv module."""
    schema = pa.schema([(name, pa.large_string()) for name in names])
    rest = ""
    while more := text.read(_BLOCK):
        block = (rest + more).encode()
        rows = _plain_rows(block, separator, schema, last=len(more) < _BLOCK)
        if rows is None:
            rest += more
            break
        rest = block[rows.end :].decode()
        if lines is not None:
            lines.frombytes((rows.lines + line + 1).astype(np.int64).tobytes())
        line += rows.n_lines
        if rows.cells:
            yield rows.cells
    rest += text.readline()
    strict = csv.reader(itertools.chain(io.StringIO(rest, newline=""), text), delimiter=separator, strict=True)
    with _valid(strict, line, file):
        checked = _checked(strict, line, names, file.path, separator, lines, broken)
        while chunk := list(itertools.islice(checked, _CHUNK)):
            yield _text_batch(chunk, schema)


class _Rows(NamedTuple):
    """Rows at the start of a block: cells, the line of each (from 0), where they end, and how many lines that is."""

    cells: pa.RecordBatch
    lines: NDArray[np.integer[Any]]
    end: int
    n_lines: int


def _plain_rows(block: bytes, separator: str, schema: pa.Schema, last: bool) -> _Rows | None:
    """Whole rows at the start of a block; None where the csv module must decide (odd quotes, a lone CR, a NUL, ...)."""
    if b"\0" in block or _has_lone_cr(block) or not separator.isascii():
        return None
    signs = np.frombuffer(block, dtype=np.uint8)
    ends = line_ends = np.flatnonzero(signs == ord("\n"))
    if last and not block.endswith(b"\n"):
        ends = line_ends = np.append(ends, len(block))
    quotes = np.flatnonzero(signs == ord('"')) if b'"' in block else np.empty(0, dtype=np.intp)
    if quotes.size:
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    end = min(int(ends[-1]) + 1, len(block)) if ends.size else 0
    if not end or (last and end < len(block)) or not _are_fields(signs[:end], quotes[quotes < end], separator):
        return None
    starts = np.append(0, ends[:-1] + 1)
    blank = (ends == starts) | ((ends == starts + 1) & (signs[np.minimum(starts, len(block) - 1)] == ord("\r")))
    numbers = np.searchsorted(line_ends, starts) if quotes.size else np.arange(starts.size)
    numbers = numbers[~blank] if blank.any() else numbers
    if blank.any() and len(schema) == 1:
        return None
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(block)[:end],
            arrow_csv.ReadOptions(column_names=schema.names, block_size=end + 1),
            arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=quotes.size > 0),
            arrow_csv.ConvertOptions(column_types=schema, strings_can_be_null=True, null_values=[""], check_utf8=False),
        )
    except pa.ArrowException:
        return None
    if table.num_rows != numbers.size:
        return None
    batches = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=schema)]
    return _Rows(batches[0], numbers, end, int(np.searchsorted(line_ends, end)))


def _has_lone_cr(block: bytes) -> bool:
    return b"\r" in block and block.count(b"\r") != block.count(b"\r\n")


def _are_fields(signs: NDArray[np.uint8], quotes: NDArray[np.intp], separator: str) -> bool:
    """Whether every quote opens a field, closes it, or is one of two that stand for one."""
    around = np.concatenate([[ord("\n")], signs, [ord("\n")]]) if quotes.size else signs
    before, after = around[quotes[::2]], around[quotes[1::2] + 2]
    edges = [ord(sign) for sign in (separator, "\n", '"')]
    return bool(np.isin(before, edges).all() and np.isin(after, [*edges, ord("\r")]).all())


def column_names(header: list[str], path: Path) -> list[str]:
    """Return the header, with a name for a nameless column; refuse a repeated name."""
    if any("\x00" in name for name in header):
        raise SchemaError(
            f"{path.name} is not utf-8: its header holds NUL bytes. Pass encoding='utf-16-le' if that is its encoding.",
            advice=(("encoding", "utf-16-le"),),
        )
    names = [name.strip() or f"column_{i}" for i, name in enumerate(header, start=1)]
    refuse_repeated_names(names, f"{path.name}, line 1: the header")
    return names


def _checked(
    rows: Any,
    before: int,
    names: list[str],
    path: Path,
    separator: str,
    lines: array[int] | None,
    broken: list[Broken] | None,
) -> Iterator[list[str]]:
    """Yield the rows, checked to be as wide as the header; skip blank lines. `before`: lines before the first."""
    width = len(names)
    start = before + 1
    for row in rows:
        end = before + rows.line_num
        if len(row) != width and row:
            where = f"line {start}" if start == end else f"lines {start} to {end}"
            shown = separator.join(row)[:80]
            problem = SchemaError(
                f"{path.name}, {where}: {len(row)} fields where the header has {width} ({few(names, 30)}). Got: "
                f"{shown!r}. A field that contains the separator or a line break must be quoted. Nothing was read: a "
                "shifted row would put values into the wrong columns."
            )
            if broken is None:
                raise problem
            broken.append((where, problem))
        elif row or width == 1:
            if lines is not None:
                lines.append(start)
            yield row or [""]
        start = end + 1


class RowNumbers:
    """Detects, batch by batch, a nameless first column that numbers the rows (as ``DataFrame.to_csv`` writes)."""

    def __init__(self) -> None:
        self._at = 0
        self._starts = {0, 1}

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at the next rows."""
        if batch.num_columns < 2 or batch.schema.names[0] != NAMELESS:
            self._starts = set()
        elif self._starts:
            column = batch.column(0)
            texts = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            ahead = np.arange(self._at, self._at + batch.num_rows)
            self._starts = {s for s in self._starts if texts.equals(pa.array(ahead + s).cast(pa.large_string()))}
        self._at += batch.num_rows

    @property
    def only(self) -> bool:
        """Whether the first column holds row numbers and nothing else."""
        return self._at > 0 and bool(self._starts)


def _any_length(_: Any) -> Callable[[], Any]:
    before = csv.field_size_limit(_LARGEST_FIELD)
    return lambda: csv.field_size_limit(before)


#: Allows fields as long as a transcript; Python's limit is 128 kB, shared by all threads.
_LARGE_FIELDS = Shared(_any_length)

# ---- JSON, JSONL and Parquet: records with the place each came from --------------------------------------------------

#: A record and its place: ``("line 12", {...})``.
Record = tuple[str, dict[str, Any]]

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: A byte that is not UTF-8, as it is decoded where a broken line does not cost the file.
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
#: Name of a nameless pandas index in a Parquet file.
ROW_NUMBERS = re.compile(r"__index_level_\d+__")
_BATCH = 8192
#: Rows of a Parquet file that are read at a time into memory, and bytes a cell below which its text is taken as a code.
_LARGE_BATCH, _CODE_SIZE = 2**20, 8
#: Most columns that nested records open into if few records have them, and the share of records that is few.
_MOST_SPARSE, _RARE = 1000, 0.05
#: Types of the values of JSON as Arrow has them, and numbers below which a float is written in one way.
_JSON_TYPES = {str: pa.large_string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
_EXACT = 1e15
#: Lines of a JSONL file that tell its fields.
_FIRST_LINES = 100
_SHAPES = 'a list of records, a dict of columns, or {"data": [...]}'


def json_lines(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the records of a JSONL file with their lines; a broken line is a SchemaError that names it."""
    with text_of(path, encoding) as text:
        yield from _sound(_line_values(text, path))


def _sound(values: Iterable[Record | Broken]) -> Iterator[Record]:
    for place, record in values:
        if isinstance(record, SchemaError):
            raise record
        yield place, record


def lines_or_errors(path: Path) -> Iterator[Record | Broken]:
    """Yield the records of a JSONL file with their lines; in place of a broken line, the error."""
    with text_of(path, errors="surrogateescape") as text:
        yield from _line_values(text, path)


def _line_values(text: Iterable[str], path: Path, before: int = 0, ends: bool = True) -> Iterator[Record | Broken]:
    """Records of lines, or errors. `before`: lines before these. `ends`: whether the file ends with them."""
    lines = ((number, line) for number, line in enumerate(text, start=before + 1) if line.strip())
    following = next(lines, None)
    while following is not None:
        (number, line), following = following, next(lines, None)
        record: Any
        try:
            record = _loaded(line)
        except (ValueError, RecursionError) as problem:
            record = SchemaError(_broken_line(path, number, line, problem, ends and following is None))
        if _ESCAPED_BYTE.search(line):
            record = SchemaError(f"{path.name}, line {number}: not utf-8. Correct or delete the line.")
        elif not isinstance(record, dict | SchemaError):
            record = SchemaError(
                f"{path.name}, line {number}: a {_kind(record)}, where each line should be one JSON object "
                f"({{...}}). Got: {line.strip()[:60]!r}."
            )
        yield f"line {number}", record


def _loaded(text: str) -> Any:
    """Parse JSON; a lone surrogate (from a truncated emoji) becomes U+FFFD."""
    value = _decoded(text)
    return _whole_characters(value) if _SURROGATE.search(text) else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that names a field twice is refused, where Python would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        name = next(n for n, times in Counter(n for n, _ in pairs).items() if times > 1)
        raise RepeatedField(f"the field {name!r} occurs more than once in one object")
    return value


class RepeatedField(ValueError):
    """A JSON object that names a field twice."""


#: One decoder for all texts: ``json.loads`` makes one for each, which takes as long as to decode a short line.
_decoded = json.JSONDecoder(object_pairs_hook=_object).decode
_STRICT, _ANY = json.JSONDecoder(object_pairs_hook=_object).raw_decode, json.JSONDecoder().raw_decode
#: The name of a field of a JSON object, with what stands before its value: of the first field, and of the next.
_NAME = r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*'
_FIRST, _NEXT = re.compile(r"[ \t\n\r]*\{" + _NAME).match, re.compile(r"[ \t\n\r]*," + _NAME).match


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
        return f"{path.name}, line {number}: {problem}. Rename or remove one."
    what = f"{problem.msg}, column {problem.colno}" if isinstance(problem, json.JSONDecodeError) else str(problem)
    text = f"{path.name}, line {number}: not valid JSON ({what}). It ends: {line.rstrip()[-40:]!r}. "
    if last:
        return text + (
            "It is the last line: the file was probably cut off while written. Write it again, or delete the line."
        )
    return text + "Correct or delete the line."


def json_document(path: Path, encoding: str | None = None) -> Any:
    """Parse a JSON file, one record per line as a list; the last one is remembered, see :func:`forget_document`."""
    state = path.stat()
    return _json_document(path, encoding, state.st_mtime_ns, state.st_size, _MOST.get())


@lru_cache(maxsize=1)
def _json_document(path: Path, encoding: str | None, *_: int | None) -> Any:
    with text_of(path, encoding) as text:
        content = text.read()
    try:
        return _loaded(content)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data":
            return [record for _, record in json_lines(path, encoding)]
        end = len(content.rstrip())
        remedy = (
            "The file ends before the JSON does: it was probably cut off while it was written. Write or fetch it again."
            if problem.pos >= end - 1 or problem.msg.startswith("Unterminated string")
            else "Correct it."
        )
        raise SchemaError(
            f"{path.name}, line {problem.lineno}, column {problem.colno}: not valid JSON ({problem.msg}). {remedy}"
        ) from None
    except RepeatedField as problem:
        raise SchemaError(f"{path.name}: {problem}. Rename or remove one.") from None
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"{path.name}: not valid JSON ({problem}).") from None


def archive_of(path: Path) -> Archive:
    """A zip archive; the last one is remembered between recognition and reading, as a JSON document is."""
    state = path.stat()
    return _archive(path, unpacked_limit(path), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _archive(path: Path, most: int, *_: int) -> Archive:
    return Archive(path, most)


def member_object(archive: Archive, name: str, until: Collection[str] = ()) -> dict[str, Any]:
    """Parse a member of an archive that is a JSON object."""
    content = archive.read(name)
    try:
        text = content.decode("utf-8-sig")
        value = _first_fields(text, until) if until else _loaded(text)
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"{archive.path.name}, member {name!r}: not valid JSON ({problem}). Correct it.") from None
    if not isinstance(value, dict):
        raise SchemaError(f"{archive.path.name}, member {name!r}: a {_kind(value)}, where a JSON object should be.")
    return value


def _first_fields(text: str, until: Collection[str]) -> Any:
    """The wanted fields of a JSON object, parsed no further than to the last of them; all, if it lacks one."""
    field = _FIRST(text)
    found: dict[str, Any] = {}
    while field is not None:
        name, at = field[1], field.end()
        if name not in until:
            _, at = _ANY(text, at)
        elif name in found:
            raise RepeatedField(f"the field {name!r} occurs more than once in one object")
        else:
            value, end = _STRICT(text, at)
            found[name] = _whole_characters(value) if _SURROGATE.search(text, at, end) else value
            if len(found) == len(until):
                return found
            at = end
        field = _NEXT(text, at)
    return _loaded(text)


def forget_document() -> None:
    """Free the document that :func:`json_document` or :func:`archive_of` remembers."""
    _json_document.cache_clear()
    _archive.cache_clear()


def json_records(path: Path, encoding: str | None = None) -> list[Record]:
    """Records of a JSON file: a list, a dict of columns, {"data": [...]}, or a single record."""
    document = json_entries(json_document(path, encoding), path)
    for i, record in enumerate(document, start=1):
        if not isinstance(record, dict):
            raise SchemaError(
                f"{path.name}, record {i}: a {_kind(record)} ({str(record)[:40]!r}), where each record should be a "
                f"JSON object. The file should hold {_SHAPES}."
            )
    return [(f"record {i}", record) for i, record in enumerate(document, start=1)]


def json_entries(document: Any, path: Path) -> list[Any]:
    """The entries of a JSON document, which should be records."""
    if isinstance(document, dict) and isinstance(document.get("data"), list):
        document = document["data"]
    if isinstance(document, dict):
        document = _columns_to_records(document, path) or [document]
    if not isinstance(document, list):
        raise SchemaError(f"{path.name} holds a {_kind(document)}; it should hold {_SHAPES}.")
    return document


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
            return _answers_by_name(document)
        values = [list(v.values()) for v in values]
    elif not all(isinstance(v, list) for v in values):
        return _answers_by_name(document)
    lengths = {name: len(v) for name, v in zip(document, values, strict=True)}
    if len(set(lengths.values())) > 1:
        if all(isinstance(cell, dict) for v in values for cell in v):
            return []  # lists of records by name, no columns
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise SchemaError(
            f"{path.name}: its columns have different lengths ({listed}), so rows cannot be matched. Correct the file."
        )
    return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]


def parquet_schema(file: File) -> pa.Schema:
    """Names and types of the columns of a Parquet file, nameless row numbers left out; a repeated name is refused."""
    if file.look.schema is not None:
        return _columns_of(file.look.schema, file.path)
    with _parquet_file(file.path) as parquet:
        return _columns_of(parquet.schema_arrow, file.path)


def parquet_batches(path: Path, lines: array[int] | None = None, coded: bool = False) -> Iterator[pa.RecordBatch]:
    """Read a Parquet file in batches of plain columns: numbers and booleans as they are, all else as text."""
    with _parquet_file(path, coded) as file:
        names = _columns_of(file.schema_arrow, path).names
        batches = file.iter_batches(batch_size=_LARGE_BATCH if coded else _BATCH, columns=names)
        yield from _plain_batches(batches, path, lines, names, coded)


def _plain_batches(
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
            return _empty_as_missing(column, pc.equal(column, ""))
        return pa.array([cell_text(v) for v in column.to_pylist()], pa.large_string())
    except (pa.ArrowException, ValueError, OverflowError) as problem:
        reason = str(problem).splitlines()[0][:120]
        raise SchemaError(
            f"{where}: column {name!r} ({column.type}) cannot be read ({reason}). Text must be UTF-8; write the column "
            "as plain text or numbers, or leave it out."
        ) from None


def _empty_as_missing(text: pa.Array, empty: pa.Array) -> pa.Array:
    """Text whose empty cells are missing. (`if_else` of PyArrow 23 misreads a part of an array of text.)"""
    return pc.replace_with_mask(text, empty, pa.scalar(None, text.type)) if pc.any(empty).as_py() else text


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return str(type_) in ("string", "large_string", "string_view")


class JsonLines:
    """A JSONL file of flat records, parsed by Arrow block by block, and where a block looks odd record by record."""

    def __init__(self, path: Path, encoding: str | None, lines: array[int] | None = None) -> None:
        self._path, self._encoding, self._lines = path, encoding, lines
        self._types: dict[str, pa.DataType | None] = {}

    @property
    def flat(self) -> bool:
        """Whether each field holds values of one type only, of records that have few."""
        return None not in self._types.values() and 0 < len(self._types) <= _MOST_SPARSE

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
                    found = list(io.StringIO(block, newline=""))
                    part = list(_sound(_line_values(found, self._path, n_lines, last)))
                    numbers = np.array([int(place.rpartition(" ")[2]) for place, _ in part], dtype=np.int64)
                    n_lines += len(found)
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

    def _cells(self, block: bytes) -> _Rows | None:
        """The records of a block as text, if each line holds one, of the fields and types that there are."""
        signs = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        ends = ends if block.endswith(b"\n") else np.append(ends, len(block))
        starts = np.append(0, ends[:-1] + 1)
        full = ends > starts
        stops = ends[full] - 1
        if b"\r" in block:
            if _has_lone_cr(block):
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
        return _Rows(cells, np.flatnonzero(full), len(block), ends.size)


def _json_cells(column: pa.Array) -> pa.Array | None:
    """A column of JSON as text; None if a number may be written in more digits than it has here."""
    if pa.types.is_floating(column.type):
        coded = column.dictionary_encode()
        numbers = coded.dictionary.to_numpy()
        if not (np.abs(numbers) < _EXACT).all():
            return None
        return pa.array([cell_text(float(v)) for v in numbers], pa.large_string()).take(coded.indices)
    text = column.cast(pa.large_string())
    empty = pc.equal(text, "")
    return _empty_as_missing(text, empty)


def _line_blocks(text: IO[str]) -> Iterator[tuple[str, bool]]:
    """Whole lines of a text, the first few and then many at a time; and whether the text ends with them."""
    block, rest = "".join(text.readline() for _ in range(_FIRST_LINES)), text.read(_BLOCK)
    while rest:
        yield block, False
        more = text.read(_BLOCK)
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


def table_of(records: list[Record]) -> pd.DataFrame:
    """Records as a table of text: nested objects become ``outer.inner`` columns, lists stay JSON."""
    return pd.DataFrame(columns_of(records), index=range(len(records)))


def columns_of(records: list[Record]) -> dict[str, list[str | None]]:
    """Columns of a table of records, as text; see :func:`table_of`."""
    try:
        flat = _flattened(records)
        names = dict.fromkeys(name for record in flat for name in record)
        if len(names) > _MOST_SPARSE:
            flat = _flattened(_gathered(records))
            names = dict.fromkeys(name for record in flat for name in record)
    except RecursionError:
        raise SchemaError("The records are nested too deeply to be a table. Write the verdicts out flat.") from None
    columns = {name: [record.get(name) for record in flat] for name in names}
    return {
        n: [v if type(v) is str and v else str(v) if type(v) is int else cell_text(v) for v in column]
        for n, column in columns.items()
    }


def _flattened(records: list[Record]) -> list[dict[str, Any]]:
    return [
        flatten(record, place) if any(type(v) is dict for v in record.values()) else record for place, record in records
    ]


@dataclass(slots=True)
class _Branch:
    """Fields of nested records below one name: `columns` that they would open into, and how many `cells` of them."""

    inner: dict[str, _Branch] = field(default_factory=dict)
    records: int = 0
    plain: bool = False
    columns: int = 0
    cells: int = 0
    whole: bool = False

    def see(self, record: Mapping[str, Any]) -> None:
        """Count the fields of one record."""
        for name, value in record.items():
            branch = self.inner.get(name)
            if branch is None:
                branch = self.inner[name] = _Branch()
            branch.records += 1
            if isinstance(value, dict) and value:
                branch.see(value)
            else:
                branch.plain = True

    def close(self, rare: float) -> None:
        """Leave objects whole, from the innermost outwards, where too many of their columns would be rare."""
        for branch in self.inner.values():
            branch.close(rare)
        self._count()
        if self.columns > _MOST_SPARSE and self.cells < rare * self.columns:
            for branch in self.inner.values():
                if branch.cells < rare * branch.columns:
                    branch.whole, branch.columns, branch.cells = True, 1, branch.records
            self._count()
            self.whole = self.columns > _MOST_SPARSE and self.cells < rare * self.columns
            if self.whole:
                self.columns, self.cells = 1, self.records

    def _count(self) -> None:
        leaf = self.plain or not self.inner
        self.columns = leaf + sum(b.columns for b in self.inner.values())
        self.cells = leaf * self.records + sum(b.cells for b in self.inner.values())

    def opened(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """One record with the objects that stay whole as JSON."""
        made: dict[str, Any] = {}
        for name, value in record.items():
            branch = self.inner[name]
            if isinstance(value, dict) and value:
                made[name] = cell_text(value) if branch.whole else branch.opened(value)
            else:
                made[name] = value
        return made


def _gathered(records: list[Record]) -> list[Record]:
    """Records whose objects stay whole where their names are data: ids, say, of which each record has others."""
    root = _Branch(records=len(records))
    for _, record in records:
        root.see(record)
    rare = max(2.0, len(records) * _RARE)
    root.close(rare)
    if not root.whole:
        return [(place, root.opened(record)) for place, record in records]
    rest = "other_fields"
    while rest in root.inner:
        rest += "_"
    gathered = []
    for place, record in records:
        common = {n: v for n, v in record.items() if root.inner[n].records >= rare}
        others = {n: v for n, v in record.items() if n not in common}
        gathered.append((place, root.opened(common) | {rest: cell_text(others or None)}))
    return gathered


def flatten(record: Mapping[str, Any], place: str = "a record", prefix: str = "") -> dict[str, Any]:
    """Open nested objects: ``{"verdict": {"choice": "A"}}`` becomes ``{"verdict.choice": "A"}``."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inner = isinstance(value, dict) and bool(value)
        found = flatten(value, place, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
        twice = next((n for n in found if n in flat), None)
        if twice is not None:
            raise SchemaError(f"{place}: {twice!r} occurs twice, once as a nested field. Rename one of them.")
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


#: Rows from which objects of answers are a table, and answers that are labels.
_ROWS, _LABELS = 3, 10


def _answers_by_name(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn {"gpt": {"q1": "A", ...}, "claude": {...}} into a row for each of the more numerous names; else []."""
    objects = list(document.values())
    if not all(isinstance(v, dict) and v for v in objects):
        return []
    inner = dict.fromkeys(name for v in objects for name in v)
    cells = [cell for v in objects for cell in v.values() if cell is not None]
    numbers = all(isinstance(c, int | float) for c in cells)
    labels = all(isinstance(c, str) for c in cells) and len({*cells}) <= _LABELS
    shared = all(2 * len(v) >= len(inner) for v in objects)
    if (
        min(len(inner), len(document)) < 2
        or max(len(inner), len(document)) < _ROWS
        or not (shared and (numbers or labels))
    ):
        return []
    if len(inner) >= len(document):
        return [{"item": name, **{column: v.get(name) for column, v in document.items()}} for name in inner]
    return [{"item": name, **{column: v.get(column) for column in inner}} for name, v in document.items()]


# ---- One file, whatever it holds -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class File:
    """One file, and how it is to be opened."""

    path: Path
    container: Container  # a table of text, JSON, a binary table, or ``eval`` (a log of Inspect, zipped)
    encoding: str | None = None  # if not UTF-8
    inner: str = ""  # name of the sheet or table in it, if it holds several
    look: Look = field(default=Look(b""), repr=False, compare=False)

    @classmethod
    def opened(cls, path: Path, encoding: str | None = None, seen: Look | None = None) -> File:
        """A file of unknown kind, opened to see what it is; `seen`: what was seen, if it has been opened."""
        seen = look(path) if seen is None else seen
        return cls(path, container_of(path, encoding, seen.head), encoding, look=seen)

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
                raise SchemaError(f"{self.path.name} holds a {_kind(document)}, where this format is one JSON object.")
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

    def first_record(self) -> dict[str, Any] | None:
        """Return the first record, or None if the file is not JSON or has no records."""
        if self.container == "jsonl":
            head, whole = head_of(self)
            start = io.StringIO(head if whole else head[: head.rfind("\n") + 1], newline="")
            record = next(_sound(_line_values(start, self.path, ends=whole)), None)
            return record[1] if record else next((r for _, r in json_lines(self.path, self.encoding)), None)
        if self.container == "json":
            return next((record for _, record in json_records(self.path, self.encoding)), None)
        return None

    def table(self, lines: array[int] | None = None, broken: list[Broken] | None = None) -> pd.DataFrame:
        """Return the file as a plain table (text, except numbers and booleans of Parquet)."""
        return decoded(self._table(lines, broken))

    @cached_property
    def coded_table(self) -> tuple[pd.DataFrame, NDArray[np.int64]]:
        """The table, with the texts that a Parquet file stores once each as categories, and the place of each row."""
        lines = array("q")
        table = self._table(lines)
        pa.default_memory_pool().release_unused()  # the batches
        return table, np.frombuffer(lines, dtype=np.int64)

    def _table(self, lines: array[int] | None, broken: list[Broken] | None = None) -> pd.DataFrame:
        if self.container == "jsonl":
            return self._table_of_lines(lines)
        if self.container == "json":
            records = self.records()
            if not records:
                raise self._no_records
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
        return table.assign(**{n: [cell_text(v) for v in table[n]] for n in gaps}) if gaps else table

    def _table_of_lines(self, lines: array[int] | None) -> pd.DataFrame:
        reader = JsonLines(self.path, self.encoding, lines)
        parts = list(reader.parts())
        if not parts:
            raise self._no_records
        if all(isinstance(part, list) for part in parts):
            return table_of([record for part in parts for record in part])
        if not reader.flat:  # records of a later block are nested, or have many fields
            return table_of(self.records())
        batches = [part if isinstance(part, pa.RecordBatch) else _record_batch(part) for part in parts]
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        table: pd.DataFrame = pa.concat_tables(tables, promote_options="default").to_pandas()
        return table

    @property
    def _no_records(self) -> SchemaError:
        return SchemaError(f"{self.path.name} holds no records.")

    @property
    def counted_in(self) -> str:
        """What the places of rows are counted in: ``line`` and ``record`` from 1, ``row`` from 0."""
        if self.container == "json":
            return "record"
        return "row" if self.container in _NAMES else "line"

    @property
    def no_table(self) -> SchemaError:
        """The error for a zipped log that is asked for as a table."""
        return SchemaError(
            f"{self.path.name}: a log of Inspect is no table. Leave out columns=, labels=, wide= and format=."
        )

    def batches(self, lines: array[int] | None = None, broken: list[Broken] | None = None) -> Iterator[pa.RecordBatch]:
        """Read a file of any kind but JSON piece by piece, as :meth:`table` reads it."""
        if self.container == "parquet":
            return parquet_batches(self.path, lines)
        if self.container in _NAMES:
            return _plain_batches(binary_batches(self.path, self.container, self.inner), self.path, lines)
        if self.container == "jsonl":
            return record_batches(self.path, self.encoding)
        if self.container == "eval":
            raise self.no_table
        if self.container == "qrels":
            return qrels_batches(self.path, self.encoding)
        return delimited_batches(self, lines, broken)


def decoded(table: pd.DataFrame, keep: Collection[str] = ()) -> pd.DataFrame:
    """A table with its categories as text; `keep`: columns that stay as they are."""
    coded = [n for n, dtype in table.dtypes.items() if isinstance(dtype, pd.CategoricalDtype) and n not in keep]
    labels = {n: table[n].cat for n in coded}
    texts = {n: c.categories.array.astype("str").take(c.codes.to_numpy(), allow_fill=True) for n, c in labels.items()}
    return table.assign(**texts) if texts else table


def suffix_of(name: str) -> str:
    """Suffix of a file name in lower case, without that of its compression."""
    return Path(unpacked_name(name)).suffix.lower()


def stem_of(name: str) -> str:
    """File name without the suffixes of a known format."""
    name = unpacked_name(name)
    return Path(name).stem if suffix_of(name) in SUFFIXES else name


def unpacked_name(name: str) -> str:
    """File name without ``.gz`` or ``.zst``."""
    return name.rpartition(".")[0] if name.lower().endswith(PACKED) else name
