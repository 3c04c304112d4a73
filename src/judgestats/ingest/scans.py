"""Lazy reading: plain tables as DuckDB frames, with the same values as the eager readers give."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from judgestats.errors import SchemaError
from judgestats.ingest.arrow_tables import empty_as_missing, is_plain, is_text, parquet_schema
from judgestats.ingest.compressed_files import is_packed
from judgestats.ingest.delimited import RowNumbers
from judgestats.ingest.files import File
from judgestats.ingest.mapping import Labels, Mapped, source_columns
from judgestats.ingest.separators import DELIMITERS
from judgestats.ingest.sources import Files
from judgestats.ingest.tables import NEEDED, NUMBER, conditions, path_columns, same_columns
from judgestats.schema.coding import BLANKS
from judgestats.schema.columns import COUNTS, LARGEST, NO, VOCABULARY, YES, Column, Kind
from judgestats.schema.frames import is_attribute

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_INTEGERS = ((8, "tinyint"), (16, "smallint"), (32, "integer"), (64, "bigint"))
#: A plain number; other text is parsed as the eager readers do.
_PLAIN = r"[+-]?([0-9]{1,300}\.?[0-9]{0,300}|\.[0-9]{1,300})([eE][+-]?[0-9]{1,2})?"
_WHOLE = "[+-]?[0-9]{1,18}"
#: Largest number of distinct non-plain numbers in a column.
_MOST_ODD = 1000
#: Parquet files up to so many bytes in all are read through when they are opened, larger ones when they are counted; of
#: many columns, they are copied: a query on n columns in place takes DuckDB n * n steps.
_CHECKED = 2**27
#: Column of the temporary database: which file a row is of.
_FILE = "_judgestats_file"
#: Columns above which those that a mapping leaves as they are wait aside: to choose n columns takes DuckDB n * n steps.
_MANY = 500
#: Column that numbers the rows of a table of many columns.
_ROW = "_judgestats_row"
#: Beginning of the name of the folder that the database is in.
_ROWS = "judgestats-rows-"
#: Types that come as they are; all others are text.
_SQL = {
    **{f"{u}int{n}": f"{u}{name}".upper() for u in ("", "u") for n, name in _INTEGERS},
    "float": "FLOAT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
}
#: No extension of DuckDB is fetched from the network, whatever a query or a file asks for.
OFFLINE = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


def scan(files: Files, columns: Mapped | None = None) -> DuckDBPyRelation:
    """Open plain tables as one lazy DuckDB relation."""
    kinds = {f.container for f in files.files}
    if len(kinds) > 1 or files.calls or kinds == {"json"}:
        listed = "one call per file" if files.calls else ", ".join(sorted(kinds))
        raise SchemaError(f"lazy=True scans CSV, TSV, JSONL or Parquet, of one kind. Got: {listed}. Leave lazy out.")
    with duckdb_errors(files.label):
        relation = _in_place(files, columns)
        return _spooled(files, columns) if relation is None else relation


def mapped(
    relation: DuckDBPyRelation, kind: Kind, columns: Mapped, mapping: Callable[[DuckDBPyRelation], DuckDBPyRelation]
) -> DuckDBPyRelation:
    """What a mapping makes of a relation; columns that it leaves as they are, where they are many, are joined to it."""
    names = relation.columns
    if _ROW not in names:
        return mapping(relation)
    sources = source_columns(columns, names)
    ours = {n.casefold() for c in VOCABULARY[kind] for n in (c.name, f"{c.name}_source")} | {COUNTS, "n", "n_source"}
    own = [n for n in names if n in sources or n == _ROW or n.casefold() in ours or is_attribute(n, kind)]
    rest = [n for n in names if n not in {*own} or n == _ROW]
    try:
        calls = mapping(relation.project(", ".join(map(quoted, own))))
    except SchemaError:
        return mapping(unnumbered(relation))  # with all columns in its error
    others = relation.project(", ".join(map(quoted, rest))).set_alias("others")
    both = calls.set_alias("calls").join(others, _ROW)
    return unnumbered(both)


def unnumbered(relation: DuckDBPyRelation) -> DuckDBPyRelation:
    """A relation without the column that numbers its rows."""
    return relation.project(f"* EXCLUDE ({quoted(_ROW)})") if _ROW in relation.columns else relation


@contextmanager
def duckdb_errors(label: str) -> Iterator[None]:
    """Convert an exception of DuckDB to a SchemaError."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as problem:
        raise SchemaError(
            f"{label}: DuckDB ran out of memory ({str(problem).splitlines()[0][:200]}). Free memory, or read fewer "
            "columns or files at a time."
        ) from problem
    except duckdb.Error as problem:
        raise SchemaError(
            f"{label}: DuckDB cannot hold this table ({str(problem).splitlines()[0][:200]}). Leave lazy out."
        ) from None


def _connection(database: str = ":memory:") -> DuckDBPyConnection:
    """A connection with its own temporary folder."""
    import duckdb

    spill = Path(tempfile.gettempdir()) / f"judgestats-{uuid.uuid4().hex}.tmp"
    return duckdb.connect(
        database,
        read_only=database != ":memory:",
        config={**OFFLINE, "preserve_insertion_order": False, "temp_directory": str(spill)},
    )


def _in_place(files: Files, columns: Mapped | None) -> DuckDBPyRelation | None:
    """Parquet files of plain columns, scanned in place; None if they must be read and copied, or are small and wide."""
    paths = [f.path.absolute() for f in files.files]
    if files.files[0].container != "parquet" or any(is_packed(p) for p in paths):
        return None
    schemas = [parquet_schema(f) for f in files.files]
    same_columns(files.files, [s.names for s in schemas])
    small = sum(p.stat().st_size for p in paths) <= _CHECKED
    if small and len(schemas[0].names) > _MANY:
        return None
    odd = any(map(_is_pattern, paths))
    by_path = path_columns(files, files.files[0], columns, schemas[0].names)
    plain = all((is_plain(t) and not pa.types.is_float16(t)) or is_text(t) for t in schemas[0].types)
    if odd or by_path or not plain or any(not s.equals(schemas[0]) for s in schemas):
        return None
    relation = _connection().read_parquet(
        [p.as_posix() for p in paths], hive_partitioning=False, union_by_name=False, filename=False
    )
    cells = [_cell(f.name, f.type) for f in schemas[0]]
    if len(cells) > _MANY and not {"file_index", "file_row_number"} & {n.lower() for n in schemas[0].names}:
        cells.append(f"concat(file_index, ' ', file_row_number) AS {quoted(_ROW)}")
    relation = relation.project(", ".join(cells))
    every_cell = ", bit_xor(hash(COLUMNS(*)))" if small else ""
    ((rows, *_),) = relation.aggregate(f"count(*){every_cell}").fetchall()
    if rows == 0:
        raise SchemaError(f"{files.label} has columns ({', '.join(relation.columns)}) but no rows.")
    return relation


def _is_pattern(path: PurePath) -> bool:
    """Whether DuckDB would read the path as a pattern."""
    return any(sign in path.as_posix() for sign in "*?[]{}\\")


def _cell(name: str, type_: pa.DataType) -> str:
    """A column as the eager reader gives it: the empty text and NaN are missing."""
    q = quoted(name)
    if is_text(type_):
        return f"nullif({q}, '') AS {q}"
    if not pa.types.is_floating(type_):
        return q
    # isnan() alone is answered from the statistics of a Parquet file, which ignore NaN
    return f"CASE WHEN isfinite({q}) THEN {q} WHEN CAST({q} AS VARCHAR) = 'nan' THEN NULL ELSE {q} END AS {q}"


def _spooled(files: Files, columns: Mapped | None) -> DuckDBPyRelation:
    """Read the files piece by piece into a database on disk, deleted when the connection closes."""
    import duckdb

    _remove_old()
    folder = Path(tempfile.mkdtemp(prefix=_ROWS))
    try:
        database = str(folder / "rows.duckdb")
        with duckdb.connect(database, config={**OFFLINE, "temp_directory": str(folder / "spill")}) as into:
            cells = _fill(into, files, columns)
            into.execute("CHECKPOINT")
        row = [f"rowid AS {quoted(_ROW)}"] if len(cells) > _MANY else []
        return _connection(database).table("rows").project(", ".join(cells + row))
    except OSError as problem:
        raise SchemaError(
            f"{files.label}: lazy=True keeps the rows in a temporary file ({folder.parent}), which cannot be written: "
            f"{problem.strerror or problem}."
        ) from None
    finally:
        # an open file stays readable, and its space is freed with it; Windows refuses, and a later reading removes it
        shutil.rmtree(folder, ignore_errors=True)


def _remove_old() -> None:
    """Remove what earlier processes could not: databases on disk that no one has written to for a day."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_ROWS}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > 86_400:
                shutil.rmtree(folder, ignore_errors=True)


def _fill(into: DuckDBPyConnection, files: Files, columns: Mapped | None) -> list[str]:
    """Write all files into the table ``rows``; return what to select from it."""
    types: dict[str, str] = {}
    columns_of_files: list[list[str]] = []
    parts: list[dict[str, str | None]] = []
    for number, file in enumerate(files.files):
        counter, names = RowNumbers(), dict[str, None]()
        for batch in file.batches():
            counter.see(batch)
            names.update(dict.fromkeys(batch.schema.names))
            _insert(into, types, batch, number, file)
        if not names:
            raise SchemaError(f"{file.path.name}: its records have no fields.")
        columns_of_files.append([*names][counter.only and file.container in DELIMITERS :])
        parts.append(path_columns(files, file, columns, columns_of_files[-1]))
    same_columns(files.files, [[*n, *p] for n, p in zip(columns_of_files, parts, strict=True)], columns)
    added = [
        f"CASE {quoted(_FILE)} {' '.join(f'WHEN {i} THEN {_literal(p[n])}' for i, p in enumerate(parts))} END "
        f"AS {quoted(n)}"
        for n in parts[0]
    ]
    return [*map(quoted, dict.fromkeys(n for names in columns_of_files for n in names)), *added]


def _insert(into: DuckDBPyConnection, types: dict[str, str], batch: pa.RecordBatch, number: int, file: File) -> None:
    """Write one batch, adding the columns that are new in it; those of the first all at once."""
    first = not types
    for field in batch.schema:
        kind = _SQL.get(str(field.type), "VARCHAR")
        if field.name not in types:
            if not first:
                into.execute(f"ALTER TABLE rows ADD COLUMN {quoted(field.name)} {kind}")
            types[field.name] = kind
        elif types[field.name] != kind:
            raise SchemaError(
                f"{file.path.name}: column {field.name!r} is {kind}, and {types[field.name]} in another file. Leave "
                "lazy out, or write the files with the same types."
            )
    if first:
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in {_FILE: "INTEGER", **types}.items())
        into.execute(f"CREATE TABLE rows ({columns})")
    cells = list(map(_gaps, batch.columns))  # not in SQL: an expression for each of n columns takes DuckDB n * n steps
    into.register("batch", pa.Table.from_arrays(cells, names=batch.schema.names))
    into.execute(f"INSERT INTO rows BY NAME SELECT {number} AS {quoted(_FILE)}, * FROM batch")
    into.unregister("batch")


def _gaps(column: pa.Array) -> pa.Array:
    """A column in which the empty text and NaN are missing."""
    if is_text(column.type):
        return empty_as_missing(column)
    if not pa.types.is_floating(column.type):
        return column
    return pc.replace_with_mask(column, pc.is_nan(column).fill_null(False), pa.scalar(None, column.type))


def quoted(name: str) -> str:
    """A column name in SQL."""
    return '"{}"'.format(name.replace('"', '""'))


def _literal(text: str | None) -> str:
    return "NULL" if text is None else "'{}'".format(text.replace("'", "''"))


def numbers(relation: DuckDBPyRelation, kind: Kind, columns: Mapped, labels: Labels | None = None) -> DuckDBPyRelation:
    """Cast the text columns that hold numbers, or yes and no, as the eager readers do."""
    wanted = {columns.get(c.name, c.name): c for c in VOCABULARY[kind] if c.type in ("number", "integer", "boolean")}
    wanted[columns.get("graded")] = Column("graded", "number", "")
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    words = {n for n, t in types.items() if n in wanted and (wanted[n].type == "boolean" or t == "BOOLEAN")}
    cells = (f"CAST({quoted(n)} AS VARCHAR) AS {quoted(n)}" if n in words else quoted(n) for n in types)
    relation = relation.project(", ".join(cells))
    text = [n for n, t in types.items() if t == "VARCHAR" or n in words]
    new = {n: _cast(relation, n, wanted[n], labels) for n in text if n in wanted}
    new |= _whole_ids(relation, kind, columns)
    new |= _numeric_conditions(relation, [n for n in conditions(text, kind, columns) if n not in new])
    if not new:
        return relation
    return relation.project(", ".join(f"{new.get(n, quoted(n))} AS {quoted(n)}" for n in relation.columns))


def _cast(relation: DuckDBPyRelation, name: str, column: Column, labels: Labels | None) -> str:
    """SQL of a column that must hold numbers, or yes and no; raise if cells do not."""
    if column.type == "boolean" or column.name == "score":
        said = {str(k): {"right": True, "wrong": False}.get(v) for k, v in (labels or {}).items()}
        verdicts = _boolean_cases(relation, name, column, said)
        if verdicts is not None:
            return verdicts
    q = quoted(name)
    if column.type == "boolean":
        _refuse(relation, name, f"NOT {_among(_word(q), (*YES, *NO))}", "true or false")
    plain = f"regexp_full_match({q}, {_literal(_PLAIN)})"
    odd = _distinct(relation, name, f"NOT {plain}", _MOST_ODD + 1)
    numbers = {cell: _eagerly(cell, column.name in NEEDED) for cell in odd}
    wrong = [cell for cell, number in numbers.items() if number is None]
    if wrong or len(odd) > _MOST_ODD:
        _refuse(relation, name, f"NOT {plain} AND NOT {_among(q, [c for c in odd if c not in wrong])}", "numbers")
    number = f"TRY_CAST({q} AS DOUBLE)"
    if numbers:
        cases = " ".join(
            f"WHEN {_literal(cell)} THEN {'NULL' if math.isnan(x) else repr(x)}"
            for cell, x in numbers.items()
            if x is not None
        )
        number = f"CASE {q} {cases} ELSE {number} END"
    if column.type != "integer":
        return number
    _refuse(
        relation, name, f"({number}) <> floor({number}) OR ({number}) < 0 OR ({number}) >= {LARGEST}", "whole numbers"
    )
    exact = f"regexp_full_match({q}, {_literal(_WHOLE)})"
    return f"CASE WHEN {exact} THEN TRY_CAST({q} AS BIGINT) ELSE CAST({number} AS BIGINT) END"


def _eagerly(cell: str, needed: bool) -> float | None:
    """Number that the eager readers find in a cell: NaN if missing, None if refused."""
    bare = cell.strip()
    if not bare and not needed:
        return math.nan
    number = float(
        pd.to_numeric(pd.Series([cell if needed else bare], dtype="string"), errors="coerce").astype(float)[0]
    )
    return number if math.isfinite(number) else None


def _boolean_cases(
    relation: DuckDBPyRelation, name: str, column: Column, said: Mapping[str, bool | None]
) -> str | None:
    """SQL of a column of yes and no, or of labels that mean it; None if it holds anything else."""
    q = quoted(name)
    if column.name == "score" and not _distinct(relation, name, f"NOT regexp_full_match({q}, {_literal(_PLAIN)})", 1):
        return None
    meanings = said if column.name in ("score", "correct") else {}
    missing = () if column.name == "score" else ("",)  # a score of blanks is no missing one
    other = f"NOT {_among(q, meanings)} AND NOT {_among(_word(q), (*YES, *NO, *missing))}"
    if _distinct(relation, name, other, 1):
        return None
    cases = "".join(f" WHEN {q} = {_literal(k)} THEN {'NULL' if v is None else v}" for k, v in meanings.items())
    default = "NULL" if column.default is None else str(column.default)
    yes, no = (_among(_word(q), words) for words in (YES, NO))
    return f"CASE{cases} WHEN {yes} THEN true WHEN {no} THEN false ELSE {default} END"


def _word(q: str) -> str:
    return f"lower(trim({q}, {_literal(BLANKS)}))"


def _among(value: str, words: Iterable[str]) -> str:
    listed = ", ".join(map(_literal, words))
    return f"coalesce({value} IN ({listed}), false)" if listed else "false"


def _distinct(relation: DuckDBPyRelation, name: str, condition: str, most: int) -> list[str]:
    q = quoted(name)
    cells = relation.filter(f"{q} IS NOT NULL AND ({condition})").project(q).distinct().limit(most).fetchall()
    return [cell for (cell,) in cells]


def _refuse(relation: DuckDBPyRelation, name: str, condition: str, what: str) -> None:
    """Raise if a condition is true of any cell of a column."""
    q = quoted(name)
    wrong = relation.filter(f"{q} IS NOT NULL AND ({condition})")
    ((rows, cell),) = wrong.aggregate(f"count(*), min({q})").fetchall()
    if rows:
        raise SchemaError(f"column {name!r} should hold {what}; {rows} rows do not, such as {json.dumps(cell)[:60]}.")


def _whole_ids(relation: DuckDBPyRelation, kind: Kind, columns: Mapped) -> dict[str, str]:
    """Ids read as floats because of a missing value, as whole numbers."""
    ids = {columns.get(c.name, c.name) for c in VOCABULARY[kind] if c.type in ("text", "category")}
    floats = [
        n
        for n, t in zip(relation.columns, map(str, relation.types), strict=True)
        if n in ids and t in ("FLOAT", "DOUBLE")
    ]
    if not floats:
        return {}
    tests = [f"coalesce(bool_and({q} = floor({q}) AND abs({q}) < 9e18), true)" for q in map(quoted, floats)]
    (row,) = relation.aggregate(", ".join(tests)).fetchall()
    return {
        n: f"CAST({f'CAST({quoted(n)} AS BIGINT)' if whole else quoted(n)} AS VARCHAR)"
        for n, whole in zip(floats, row, strict=True)
    }


def _numeric_conditions(relation: DuckDBPyRelation, names: list[str]) -> dict[str, str]:
    """Conditions in which every cell is a plain number."""
    if not names:
        return {}
    pattern = NUMBER.pattern
    tests = [
        f"coalesce(bool_and(regexp_full_match({quoted(n)}, '{pattern}')), false), "
        f"coalesce(bool_and(coalesce(regexp_full_match({quoted(n)}, '[+-]?[0-9]+'), false)), false)"  # gaps: as pandas
        for n in names
    ]
    (row,) = relation.aggregate(", ".join(tests)).fetchall()
    return {
        n: f"CAST({quoted(n)} AS {'BIGINT' if whole else 'DOUBLE'})"
        for n, number, whole in zip(names, row[::2], row[1::2], strict=True)
        if number
    }
