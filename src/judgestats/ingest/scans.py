"""Plain tables left where they are: a lazily scanned frame through DuckDB, checked in one pass."""

from __future__ import annotations

import json
import re
from typing import Any

from judgestats.errors import SchemaError
from judgestats.ingest.delimited import DELIMITERS, header_of
from judgestats.ingest.files import wrong_encoding
from judgestats.ingest.mapping import Mapped
from judgestats.ingest.sources import Files
from judgestats.ingest.structured import ROW_NUMBERS
from judgestats.ingest.tables import NUMBER, conditions
from judgestats.schema.columns import VOCABULARY, Kind

_SQL_TYPES = {"number": "DOUBLE", "integer": "BIGINT", "boolean": "BOOLEAN"}
_LONGEST_LINE = 64_000_000


def scan(files: Files) -> Any:
    """Open plain tables as one lazy DuckDB relation.

    CSV, TSV and JSONL come as text, Parquet with its own types. The files are not loaded: they are read through once,
    to see that they are whole, and again whenever something is counted.

    Parameters
    ----------
    files : Files
        All of one kind.

    Returns
    -------
    duckdb.DuckDBPyRelation

    Raises
    ------
    SchemaError
        If a file is damaged or ragged, or if there is nothing to scan lazily (JSON, one call per file).
    """
    import duckdb

    kinds = {f.container for f in files.files}
    if len(kinds) > 1 or files.calls or kinds == {"json"}:
        listed = "one call per file" if files.calls else ", ".join(sorted(kinds))
        raise SchemaError(f"lazy=True scans CSV, TSV, JSONL or Parquet, of one kind. Got: {listed}. Leave lazy out.")
    if any(f.encoding for f in files.files):
        raise SchemaError("lazy=True scans UTF-8 only. Leave lazy out, or save the file as UTF-8.")
    (kind,) = kinds
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    try:
        relation = _open(connection, files, kind)
        ((rows, *_),) = relation.aggregate("count(*), bit_xor(hash(COLUMNS(*)))").fetchall()  # every cell is looked at
    except duckdb.Error as problem:
        raise _told(files, problem) from None
    if rows == 0:
        raise SchemaError(f"{files.label} has columns ({', '.join(relation.columns)}) but no rows.")
    return relation


def _open(connection: Any, files: Files, kind: str) -> Any:
    paths = [str(f.path) for f in files.files]
    if kind == "parquet":
        relation = connection.read_parquet(paths)
        return relation.project(", ".join(_quoted(c) for c in relation.columns if not ROW_NUMBERS.fullmatch(c)))
    if kind == "jsonl":
        relation = connection.read_json(
            paths,
            format="newline_delimited",
            sample_size=-1,
            maximum_depth=1,
            union_by_name=True,
            maximum_object_size=_LONGEST_LINE,
        )
        names = [_quoted(c) for c in relation.columns]
        return relation.project(", ".join(f"nullif({n} ->> '$', '') AS {n}" for n in names))
    headers = [header_of(f.path, kind) for f in files.files]
    for file, header in zip(files.files, headers, strict=True):
        if header != headers[0]:
            raise SchemaError(
                f"The files do not have the same columns in the same order: {files.files[0].path.name} has "
                f"{', '.join(headers[0])}; {file.path.name} has {', '.join(header)}."
            )
    return connection.read_csv(
        paths,
        header=True,
        auto_detect=False,
        delimiter=DELIMITERS[kind],
        quotechar='"',
        escapechar='"',
        columns=dict.fromkeys(headers[0], "VARCHAR"),
        max_line_size=_LONGEST_LINE,
    )


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _told(files: Files, problem: Exception) -> SchemaError:
    """Turn a message of DuckDB into one of ours."""
    text = str(problem)
    if "utf-8" in text.lower() or "unicode" in text.lower():
        return wrong_encoding(files.files[0].path, None)
    line = re.search(r"(?:CSV Error on )?Line: (\d+)|in line (\d+)", text)
    where = f", line {line.group(1) or line.group(2)}" if line else ""
    what = next((part.strip() for part in text.splitlines()[1:] if part.strip()), text.splitlines()[0])
    return SchemaError(
        f"{files.label}{where}: the scan found a damaged row ({what[:200]}). Without lazy=True the message says more."
    )


def numbers(relation: Any, kind: Kind, columns: Mapped) -> Any:
    """Cast the text columns that hold numbers: those that canonical numbers are mapped from, and conditions.

    Parameters
    ----------
    relation : duckdb.DuckDBPyRelation
        From :func:`scan`.
    kind : {'preferences', 'ratings'}
        The frame to come.
    columns : mapping
        The mapping to come.

    Returns
    -------
    duckdb.DuckDBPyRelation

    Raises
    ------
    SchemaError
        If a canonical number is text.
    """
    text = [n for n, t in zip(relation.columns, map(str, relation.types), strict=True) if t == "VARCHAR"]
    types = {columns.get(c.name, c.name): _SQL_TYPES[c.type] for c in VOCABULARY[kind] if c.type in _SQL_TYPES}
    types[columns.get("graded")] = "DOUBLE"
    casts = {n: types[n] for n in text if n in types}
    if casts:
        _refuse_text(relation, casts)
    casts |= _numeric_conditions(relation, [n for n in conditions(text, kind, columns) if n not in casts])
    if not casts:
        return relation
    return relation.project(
        ", ".join(
            f"CAST({_quoted(n)} AS {casts[n]}) AS {_quoted(n)}" if n in casts else _quoted(n) for n in relation.columns
        )
    )


def _refuse_text(relation: Any, casts: dict[str, str]) -> None:
    """One pass over the columns that must be numbers."""
    faults = []
    for name, sql in casts.items():
        q = _quoted(name)
        bad = f"TRY_CAST({q} AS {sql}) IS NULL"
        if sql == "BIGINT":  # the cast alone would round 3.7
            bad = f"(TRY_CAST({q} AS DOUBLE) IS NULL OR TRY_CAST({q} AS DOUBLE) <> floor(TRY_CAST({q} AS DOUBLE)))"
        where = f"FILTER (WHERE {q} IS NOT NULL AND {bad})"
        faults.append(f"struct_pack(k := count(*) {where}, v := first({q}) {where})")
    (row,) = relation.aggregate(", ".join(faults)).fetchall()
    for (name, sql), fault in zip(casts.items(), row, strict=True):
        if fault["k"]:
            what = {"BIGINT": "whole numbers", "BOOLEAN": "true or false"}.get(sql, "numbers")
            raise SchemaError(
                f"column {name!r} should hold {what}; {fault['k']} rows do not, such as {json.dumps(fault['v'])[:60]}."
            )


def _numeric_conditions(relation: Any, names: list[str]) -> dict[str, str]:
    """Conditions of which every cell is a plain number."""
    if not names:
        return {}
    pattern = NUMBER.pattern
    tests = [
        f"coalesce(bool_and(regexp_full_match({_quoted(n)}, '{pattern}')), false), "
        f"coalesce(bool_and(coalesce(regexp_full_match({_quoted(n)}, '[+-]?[0-9]+'), false)), false)"  # gaps: as pandas
        for n in names
    ]
    (row,) = relation.aggregate(", ".join(tests)).fetchall()
    return {
        n: "BIGINT" if whole else "DOUBLE"
        for n, number, whole in zip(names, row[::2], row[1::2], strict=True)
        if number
    }
