"""CSV and TSV, read strictly: every cell is text, every row has the width of the header."""

from __future__ import annotations

import csv
import io
import itertools
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from judgestats.csv_files import GUARD, GUARDED, unguarded_names
from judgestats.errors import SchemaError
from judgestats.ingest.decoding import decoded_start, text_of
from judgestats.ingest.file_heads import RecognisedFile
from judgestats.ingest.separators import separator_of
from judgestats.ingest.text_blocks import BLOCK, CHUNK, BrokenRow, TextRows, has_lone_cr, text_batch
from judgestats.schema.opening import few, refuse_repeated_names
from judgestats.threads import Shared

#: Name of a first column that has none.
NAMELESS = "column_1"
_LARGEST_FIELD = 2**31 - 1


def delimited_batches(
    file: RecognisedFile, lines: array[int] | None = None, broken: list[BrokenRow] | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a CSV or TSV file as batches of text; only the empty cell is missing, and ``NA`` is a name."""
    empty, separator = True, separator_of(file)
    headless = _names_by_user(file, separator)
    with text_of(file.path, file.encoding) as text:
        names, line = headless or _header(text, file, separator)
        for _ in range(line if headless else 0):
            text.readline()
        for batch in _row_batches(text, line, names, file, separator, lines, broken):
            empty = False
            yield _unguarded(batch) if GUARD in names else batch
    if empty and broken:
        raise broken[0][1]
    if empty:
        raise SchemaError(f"{file.path.name} has a header ({few(names, 30)}) but no rows.")


def delimited_names(file: RecognisedFile) -> list[str]:
    """Names of the columns of a CSV or TSV file, from its header alone."""
    separator = separator_of(file)
    if headless := _names_by_user(file, separator):
        return headless[0]
    head, whole = decoded_start(file)
    start = io.StringIO(head, newline="")
    with suppress(SchemaError):
        names, _ = _header(start, file, separator)
        if whole or start.tell() < len(head):
            return unguarded_names(names)
    with text_of(file.path, file.encoding) as text:
        return unguarded_names(_header(text, file, separator)[0])


def _unguarded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of a table that was written for spreadsheets, as they were before: those that have the mark of it."""
    marked = pc.fill_null(pc.equal(batch.column(GUARD), "'"), False)
    columns = {name: batch.column(name) for name in batch.schema.names if name != GUARD}
    texts = [pc.if_else(marked, pc.replace_substring_regex(c, GUARDED.pattern, r"\1"), c) for c in columns.values()]
    return pa.RecordBatch.from_arrays(texts, names=unguarded_names(batch.schema.names))


def _header(text: IO[str], file: RecognisedFile, separator: str) -> tuple[list[str], int]:
    """Names of the columns, and the line at which the header ends; the text is then at its first row."""
    header, line, _ = _first_row(text, file, separator)
    return header_names(header, file.path), line


def _first_row(text: IO[str], file: RecognisedFile, separator: str) -> tuple[list[str], int, int]:
    """The first row, the line at which it ends, and the lines before it that tell the separator."""
    rows = csv.reader(iter(text.readline, ""), delimiter=separator, strict=True)
    before = 0
    with _valid(rows, 0, file):
        row = next(filter(None, rows), [])
        if separator.join(row) == f"sep={separator}":
            before, row = rows.line_num, next(filter(None, rows), [])
    return row, rows.line_num, before


#: Names of the columns of tables without a header; none: numbered, None: the first line is a header.
_NAMES: ContextVar[tuple[str, ...] | None] = ContextVar("names", default=None)


@contextmanager
def columns_named(names: str | Sequence[str] | None, header: bool | None = None) -> Iterator[None]:
    """Read CSV and TSV files without a header, where `names` or ``header=False`` say so."""
    if header not in (None, True, False, "true", "false"):
        raise SchemaError(f"header={header!r} should be False where the first line of the table is a row, else True.")
    listed = (names.split(",") if names else ()) if isinstance(names, str) else names or ()
    columns = tuple(str(name).strip() for name in listed)
    if columns and header in (True, "true"):
        raise SchemaError("names= is for a table without a header, and header=True was given. Leave one of them out.")
    refuse_repeated_names([*columns], "names=")
    token = _NAMES.set(columns if columns or header in (False, "false") else _NAMES.get())
    try:
        yield
    finally:
        _NAMES.reset(token)


def has_header() -> bool:
    """Whether the first line of CSV and TSV files is read as a header."""
    return _NAMES.get() is None


def _names_by_user(file: RecognisedFile, separator: str) -> tuple[list[str], int] | None:
    """Names of the columns of a file without a header, and the lines before its first row; None if it has one."""
    names = _NAMES.get()
    if names is None:
        return None
    with text_of(file.path, file.encoding) as text:
        row, _, before = _first_row(text, file, separator)
    if names and len(names) != len(row):
        raise SchemaError(
            f"names= has {len(names)} names ({few(names, 12)}), and the first row of {file.path.name} has {len(row)} "
            f"fields ({few(row, 12)}). Name each column once."
        )
    return [*names] or [f"field_{i}" for i in range(1, len(row) + 1)], before


@contextmanager
def _valid(rows: Any, before: int, file: RecognisedFile) -> Iterator[None]:
    """Report what the csv module refuses, with its line; `before`: lines that other readers have read."""
    with _LARGE_FIELDS.held():
        try:
            yield
        except csv.Error as problem:
            raise SchemaError(
                f"{file.path.name}, line {before + rows.line_num}: not valid {file.container.upper()} ({problem}). A "
                'quote is left open or not escaped; inside a quoted field, write it twice ("").'
            ) from None


def _row_batches(
    text: IO[str],
    line: int,
    names: list[str],
    file: RecognisedFile,
    separator: str,
    lines: array[int] | None,
    broken: list[BrokenRow] | None,
) -> Iterator[pa.RecordBatch]:
    """Rows of a CSV or TSV file: by Arrow block by block, and from the first block that looks odd by the csv module."""
    schema = pa.schema([(name, pa.large_string()) for name in names])
    rest = ""
    while more := text.read(BLOCK):
        block = (rest + more).encode()
        rows = _plain_rows(block, separator, schema, last=len(more) < BLOCK)
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
        checked = _rows_of_one_width(strict, line, names, file.path, separator, lines, broken)
        while chunk := list(itertools.islice(checked, CHUNK)):
            yield text_batch(chunk, schema)


def _plain_rows(block: bytes, separator: str, schema: pa.Schema, last: bool) -> TextRows | None:
    """Whole rows at the start of a block; None where the csv module must decide (odd quotes, a lone CR, a NUL, ...)."""
    if b"\0" in block or has_lone_cr(block) or not separator.isascii():
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
    return TextRows(batches[0], numbers, end, int(np.searchsorted(line_ends, end)))


def _are_fields(signs: NDArray[np.uint8], quotes: NDArray[np.intp], separator: str) -> bool:
    """Whether every quote opens a field, closes it, or is one of two that stand for one."""
    around = np.concatenate([[ord("\n")], signs, [ord("\n")]]) if quotes.size else signs
    before, after = around[quotes[::2]], around[quotes[1::2] + 2]
    edges = [ord(sign) for sign in (separator, "\n", '"')]
    return bool(np.isin(before, edges).all() and np.isin(after, [*edges, ord("\r")]).all())


def header_names(header: list[str], path: Path) -> list[str]:
    """Return the header, with a name for a nameless column; refuse a repeated name."""
    if any("\x00" in name for name in header):
        raise SchemaError(
            f"{path.name} is not utf-8: its header holds NUL bytes. Pass encoding='utf-16-le' if that is its encoding.",
            advice=(("encoding", "utf-16-le"),),
        )
    names = [name.strip() or f"column_{i}" for i, name in enumerate(header, start=1)]
    refuse_repeated_names(names, f"{path.name}, line 1: the header")
    return names


def _rows_of_one_width(
    rows: Any,
    before: int,
    names: list[str],
    path: Path,
    separator: str,
    lines: array[int] | None,
    broken: list[BrokenRow] | None,
) -> Iterator[list[str]]:
    """Yield the rows, checked to be as wide as the header; skip blank lines. `before`: lines before the first."""
    width = len(names)
    start = before + 1
    for row in rows:
        end = before + rows.line_num
        if len(row) != width and row:
            where = f"line {start}" if start == end else f"lines {start} to {end}"
            excerpt = separator.join(row)[:80]
            problem = SchemaError(
                f"{path.name}, {where}: {len(row)} fields where the header has {width} ({few(names, 30)}). Got: "
                f"{excerpt!r}. A field that contains the separator or a line break must be quoted. Nothing was read: a "
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
