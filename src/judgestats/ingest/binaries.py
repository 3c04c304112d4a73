"""Tables in binary files other than Parquet: Feather and Arrow IPC, ORC, Excel, SQLite."""

from __future__ import annotations

import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path, PurePath

import pandas as pd
import pyarrow as pa
import pyarrow.orc

from judgestats.errors import SchemaError, suggestion
from judgestats.ingest.archives import archive_of
from judgestats.ingest.compressed_files import unpacked_limit
from judgestats.schema.opening import cell_text, few, refuse_repeated_names

_BATCH = 8192
_REMEDY = "Write or fetch it again."
#: Rows of a sheet; a file may name more.
_LAST_ROW = 1_048_576
#: Bytes of memory that a cell takes besides its text.
_CELL = 32
#: Steps of SQLite between two looks at how many there were.
_STEPS = 100_000


def binary_batches(path: Path, container: str, table: str = "") -> Iterator[pa.RecordBatch]:
    """Read a table in batches, its cells as they are."""
    reader: Callable[[Path, str], Iterator[pa.RecordBatch]] = {
        "arrow": _arrow,
        "orc": _orc,
        "excel": _excel,
        "sqlite": _sqlite,
    }[container]
    if table and container not in ("excel", "sqlite"):
        raise SchemaError(f"{path.name} holds one table, and table={table!r} was given. Leave it out.")
    yield from reader(path, table)


def _arrow(path: Path, _: str) -> Iterator[pa.RecordBatch]:
    """Feather and the file and stream formats of Arrow IPC (as Hugging Face's datasets writes it)."""
    try:
        with pa.OSFile(str(path)) as source:
            whole = source.read(6) == b"ARROW1"
            source.seek(0)
            opened = pa.ipc.open_file(source) if whole else pa.ipc.open_stream(source)
            refuse_repeated_names(opened.schema.names, path.name)
            for batch in map(opened.get_batch, range(opened.num_record_batches)) if whole else opened:
                batch.validate(full=True)
                yield batch
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise _damaged(path, "Arrow or Feather", problem) from None


def _orc(path: Path, _: str) -> Iterator[pa.RecordBatch]:
    try:
        file = pa.orc.ORCFile(path)
        refuse_repeated_names(file.schema.names, path.name)
        for i in range(file.nstripes):
            yield from pa.Table.from_batches([file.read_stripe(i)]).to_batches(max_chunksize=_BATCH)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise _damaged(path, "ORC", problem) from None


class _Budget:
    """What a file may give: as much text, or steps of SQLite, as a packed file of its size may unpack to.

    Small files can ask for much: a view without end, one text in a million cells.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._size = path, path.stat().st_size
        self.most = max(unpacked_limit(path), 2 * _CELL * self._size)  # a stored cell has a byte or more
        self._text = self._steps = 0

    def step(self) -> bool:
        """Count steps; true where there were too many."""
        self._steps += _STEPS
        return self.spent

    @property
    def spent(self) -> bool:
        """Whether there were too many steps."""
        return self._steps > self.most

    def of(self, rows: Iterable[list[str | None]]) -> Iterator[list[str | None]]:
        """The rows, as long as their text is not too much."""
        for row in rows:
            self._text += _CELL * len(row) + sum(len(cell) for cell in row if cell is not None)
            if self._text > self.most:
                raise self.exceeded()
            yield row

    def exceeded(self) -> SchemaError:
        """The error for more than is allowed."""
        return SchemaError(
            f"{self._path.name} gives more than {self.most:,} bytes of cells, or takes as many steps, from "
            f"{self._size:,} bytes. If this is intended, pass max_unpacked=, the number of bytes allowed.",
            advice=(("max_unpacked", None),),
        )


def _excel(path: Path, sheet: str) -> Iterator[pa.RecordBatch]:
    """One sheet of a workbook; the first row is the header."""
    if zipfile.is_zipfile(path):
        archive_of(path)  # refuses what unpacks to too much
    try:
        with pd.ExcelFile(path) as book:
            name = _chosen(path, sheet, list(map(str, book.sheet_names)), "sheet")
            cells = _sheet_rows(book, name, path)
    except ImportError:
        raise SchemaError(
            f"{path.name} is an Excel file. Install the extra: pip install 'judgestats[excel]'; or save it as CSV."
        ) from None
    except SchemaError:
        raise
    except Exception as problem:  # each engine of pandas has its own
        raise _damaged(path, "Excel", problem) from None
    wide = max(map(len, cells), default=0)
    rows = (row + [None] * (wide - len(row)) for row in cells)
    header = [v or f"column_{i}" for i, v in enumerate(next(rows, []), start=1)]
    refuse_repeated_names(header, f"{path.name}, sheet {name!r}: the header")
    yield from _text(header, _Budget(path).of(row for row in rows if any(v is not None for v in row)))


def _sheet_rows(book: pd.ExcelFile, name: str, path: Path) -> list[list[str | None]]:
    """The first row of a sheet, and all others that have a cell."""
    if book.engine != "openpyxl":
        cells = pd.read_excel(book, name, header=None, dtype=object, keep_default_na=False, na_values=[])
        return [[cell_text(v) for v in row] for row in cells.itertuples(index=False, name=None)]
    sheet = book.book[name]
    sheet.reset_dimensions()  # which may be stated wrongly
    rows: list[list[str | None]] = []
    for number, row in enumerate(sheet.rows, start=1):  # those between two rows that have cells are yielded, too
        if number > _LAST_ROW:
            raise SchemaError(
                f"{path.name}, sheet {name!r} has a cell below row {_LAST_ROW:,}, the last that Excel has. Save the "
                "sheet anew, or as CSV."
            )
        if not row and number > 1:
            continue
        texts = [None if cell.data_type == "e" else _cell_text(cell.value) for cell in row]
        while texts and texts[-1] is None:
            texts.pop()
        if texts or number == 1:
            rows.append(texts)
    return rows


def _cell_text(value: object) -> str | None:
    """The text of a cell of a sheet, whose whole numbers may be stored as others."""
    return cell_text(int(value) if isinstance(value, float) and value.is_integer() else value)


def _address(path: PurePath) -> str:
    """The path as SQLite takes an address: it has no server, so that of a share is a part of the path."""
    return re.sub("^file://(?!/)", "file:////", path.as_uri())


def _sqlite(path: Path, table: str) -> Iterator[pa.RecordBatch]:
    """One table of a database that is opened for reading only."""
    budget = _Budget(path)
    try:
        with closing(sqlite3.connect(f"{_address(path.absolute())}?mode=ro&immutable=1", uri=True)) as database:
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(budget.most, 2**31 - 1))
            database.set_progress_handler(budget.step, _STEPS)
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            ((sound,), *_) = database.execute("PRAGMA quick_check(1)").fetchall()
            if sound != "ok":
                raise sqlite3.DatabaseError(sound)
            listed = database.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
            names = [n for n, _ in listed if not n.startswith("sqlite_")]
            tables = [n for n, kind in listed if kind == "table" and n in names]
            name = _chosen(path, table, names if table else tables, "table")
            quoted = '"{}"'.format(name.replace('"', '""'))
            rows = database.execute(f"SELECT * FROM {quoted}")
            header = [d[0] for d in rows.description]
            refuse_repeated_names(header, f"{path.name}, table {name!r}")
            yield from _text(header, budget.of([cell_text(v) for v in row] for row in rows))
    except sqlite3.Error as problem:
        if budget.spent or isinstance(problem, sqlite3.DataError):
            raise budget.exceeded() from None
        raise _damaged(path, "SQLite", problem) from None


def _text(header: list[str], rows: Iterator[list[str | None]]) -> Iterator[pa.RecordBatch]:
    chunk: list[list[str | None]] = []
    schema = pa.schema([(name, pa.large_string()) for name in header])

    def batch() -> pa.RecordBatch:
        columns = list(zip(*chunk, strict=True))
        return pa.RecordBatch.from_arrays([pa.array(c, pa.large_string()) for c in columns], schema=schema)

    for row in rows:
        chunk.append(row)
        if len(chunk) == _BATCH:
            yield batch()
            chunk = []
    if chunk and header:
        yield batch()


def _chosen(path: Path, wanted: str, names: list[str], what: str) -> str:
    """The sheet or table to read."""
    if wanted:
        if wanted not in names:
            listed = few(map(repr, names), 12) or "none"
            raise SchemaError(
                f"{path.name} has no {what} {wanted!r}. It has: {listed}.{suggestion(wanted, names)}",
                advice=(("table", None),),
            )
        return wanted
    if len(names) != 1:
        listed = few(map(repr, names), 12) or "none"
        raise SchemaError(
            f"{path.name} has {len(names)} {what}s ({listed}). Name the one to read with table=.",
            advice=(("table", None),),
        )
    return names[0]


def _damaged(path: Path, kind: str, problem: Exception) -> SchemaError:
    reason = (str(problem).splitlines() or [type(problem).__name__])[0][:200]
    return SchemaError(f"{path.name}: not a complete {kind} file ({reason}). {_REMEDY}")
