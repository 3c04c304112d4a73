"""Files of unknown shape -> one plain table of text, ready for a mapping."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import SchemaError, data_rows
from judgestats.ingest.files import File, decoded
from judgestats.ingest.guesses import NAMES_SOMETHING
from judgestats.ingest.json_values import Record
from judgestats.ingest.mapping import PSEUDO, Mapped, source_columns
from judgestats.ingest.nested_json import table_of
from judgestats.ingest.sources import Files, is_table, resolve
from judgestats.ingest.wide import Wide, parse_wide
from judgestats.schema.account import Places
from judgestats.schema.coding import hashed, neither
from judgestats.schema.columns import LARGEST, OUTCOMES, VOCABULARY, Kind
from judgestats.schema.findings import Finding, as_frame
from judgestats.schema.opening import few
from judgestats.typing import Integers, Ints

#: A plain number as text; ``007`` is not one.
NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,14})(\.[0-9]*)?([eE][+-]?[0-9]{1,2})?")
#: A whole number that is exact as a 64-bit integer.
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
#: Numeric columns of which one is required.
NEEDED = ("score", "mean", "graded")
_NO_VALUE = ("na", "n/a", "nan", "null", "none", "missing", "-", ".")
_ONE_WAY = "Write all numbers of the file in the same way, without thousands separators."
_COMMA = re.compile(r"\s*[+-]?\d+(,\d+)+(\.\d*)?\s*")
#: With a decimal point: commas as thousands separators.
_GROUPED = r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*"
#: With a decimal comma: points as thousands separators (certain in 1.234.567,8, possible in 1.234).
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?\s*")


def call_record(files: Files, file: File) -> Record:
    """The record of a file with one judge call, with the parts of its path as columns."""
    ((_, record),) = file.records()
    files.check_named(file, {n: [v] for n, v in record.items()})
    return files.relative(file), {**files.parts(file), **files.said(file), **record}


class TableRows(NamedTuple):
    """The rows of plain files: the table of text, the place of each row, and the files that were read."""

    table: pd.DataFrame
    places: Places
    files: Files
    lacks: Mapping[str, Sequence[int]]  # column -> numbers of the files that do not have it


def plain_table(files: Files, columns: Mapped | None = None) -> pd.DataFrame:
    """Read all files as one table of text; see :func:`plain_rows`."""
    return plain_rows(files, columns).table


def plain_rows(files: Files, columns: Mapped | None = None, wide: str = "", coded: bool = False) -> TableRows:
    """Read all files as one table of text; `coded`: texts of a single Parquet file may be categories."""
    if files.calls:
        files, records = files.each(lambda file: call_record(files, file))
        table = _numbered_repeats(table_of(records))
        at = np.arange(len(files.files), dtype=np.int32)
        places = Places(tuple((files.relative(f), "record") for f in files.files), at, np.ones(len(at), dtype=np.int64))
        return TableRows(table, places, files, {})

    files, tables = files.each(lambda file: file.coded_table)
    coded = coded and len(tables) == 1
    names, parts = [], []
    for file, (cells, _) in zip(files.files, tables, strict=True):
        table = cells if coded else decoded(cells)
        files.check_named(file, table)
        names.append(list(table.columns))
        parts.append(table.assign(**path_columns(files, file, columns, names[-1])))
    numbers = [lines for _, lines in tables]
    places = Places(
        tuple((files.relative(f), f.counted_in) for f in files.files),
        np.repeat(np.arange(len(numbers), dtype=np.int32), [len(n) for n in numbers]),
        np.concatenate(numbers),
    )
    if len(parts) > 1:
        same_columns(files.files, names, columns, wide)
    table = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    lacks = {c: [i for i, part in enumerate(parts) if c not in part] for c in table.columns}
    return TableRows(table, places, files, {c: at for c, at in lacks.items() if at})


def path_columns(files: Files, file: File, columns: Mapped | None, present: Collection[str]) -> dict[str, str | None]:
    """Columns from the path of a file, the parts that a mapping asks for included, if the file lacks such a column."""
    taken = source_columns(columns or {}, present)
    by_mapping = {name: part for name, part in files.parts(file).items() if name in taken}
    return {name: part for name, part in {**by_mapping, **files.said(file)}.items() if name not in present}


def as_table(source: Any, encoding: str | None = None) -> Any:
    """Return a table as it is, and anything else :func:`judgestats.read` takes as a plain table of text."""
    return source if is_table(source) else plain_table(resolve(source, encoding))


def same_columns(
    files: Iterable[File], columns: Iterable[Collection[str]], mapped: Mapped | None = None, wide: str = ""
) -> None:
    """Raise unless the files have the same columns, in any order; fields about no call may be absent."""
    expected: set[str] = set()
    first = ""
    tables = list(zip(files, map(set, columns), strict=True))
    every = set[str]().union(*(names for _, names in tables))
    common = every.intersection(*(names for _, names in tables))
    free = set(parse_wide(wide, [*every]).columns) if wide else set()
    if common and all(file.container in ("json", "jsonl") for file, _ in tables):
        free |= every - _needed(mapped or {}, every)
    for file, names in tables:
        have = names - free
        expected, first = (expected, first) if first else (have, file.path.name)
        if have != expected:
            lacks, more = (few(sorted(names), 12) or "nothing" for names in (expected - have, have - expected))
            judges = _one_judge_each(tables, common)
            each = f" If each file has the answers of one judge in a column of its name, pass wide={judges!r}."
            raise SchemaError(
                f"The files do not have the same columns: compared with {first}, {file.path.name} lacks {lacks} and "
                f"has in addition {more}. Read them separately, or give them the same columns.{each if judges else ''}",
                advice=(("wide", judges),) if judges else (),
            )


def _needed(mapped: Mapped, names: Collection[str]) -> set[str]:
    """Columns that say which call a row is, and its answer."""
    said = {c.name for columns in VOCABULARY.values() for c in columns if c.key} | {"choice", *OUTCOMES, *PSEUDO}
    return source_columns({n: mapped.get(n, n if n in names else None) for n in said}, names)


def _one_judge_each(tables: Sequence[tuple[File, set[str]]], common: set[str]) -> str:
    """How to read files that have a column each for the answers of one judge; empty if they do not."""
    own = [sorted(names - common) for _, names in tables]
    if not common or any(len(names) != 1 for names in own) or len({n for (n,) in own}) < 2:
        return ""
    return str(Wide(("judge",), tuple(dict.fromkeys(n for (n,) in own))))


def _numbered_repeats(table: pd.DataFrame) -> pd.DataFrame:
    """Number calls that differ only in the file name: each file is a call."""
    if "replicate" in table.columns or "file" not in table.columns:
        return table
    answers = {c.name for columns in VOCABULARY.values() for c in columns if not c.key}
    keys = [c for c in table.columns if c not in answers and c != "file"]
    repeat = table.groupby(keys, dropna=False, sort=False).cumcount() if keys else pd.Series(range(len(table)))
    return table.assign(replicate=repeat.astype(str)) if repeat.any() else table


def with_numbers(table: pd.DataFrame, kind: Kind, columns: Mapped) -> pd.DataFrame:
    """Convert text columns to numbers that are neither canonical nor names of something."""
    table = _whole_numbers(table, kind, columns)
    new = {}
    for name in conditions(table.columns, kind, columns):
        values = table[name]
        if pd.api.types.is_numeric_dtype(values):
            continue
        code, labels = _coded(values)
        if len(labels) and all(NUMBER.fullmatch(str(label)) for label in labels):
            missing = [None] * bool((code < 0).any())
            new[name] = pd.to_numeric(pd.Series([*labels, *missing], dtype=object)).to_numpy()[code]
    return table.assign(**new) if new else table


def _coded(values: pd.Series) -> tuple[Integers, NDArray[np.object_]]:
    """Code of each cell (-1 for a missing one) and the distinct texts; cells that are not text are all distinct."""
    if isinstance(values.dtype, pd.StringDtype | pd.CategoricalDtype):
        return hashed(values)
    cells = values[values.notna()].to_numpy(dtype=object)
    return np.where(values.isna(), -1, np.cumsum(values.notna()) - 1), cells


def conditions(names: Collection[str], kind: Kind, columns: Mapped) -> list[str]:
    """Columns that may be numbers: neither canonical nor names of something. Attributes are among them."""
    canonical = {c.name for c in VOCABULARY[kind]}
    mapped = {n: source for n, source in columns.items() if n in canonical or n in PSEUDO}
    mapped_columns = canonical - set(columns) | source_columns(mapped, names)
    return [n for n in names if n not in mapped_columns and not NAMES_SOMETHING.search(str(n))]


def _whole_numbers(table: pd.DataFrame, kind: Kind, columns: Mapped) -> pd.DataFrame:
    """Convert the columns that must be whole numbers (``replicate``), where all cells are."""
    new: dict[str, Ints] = {}
    for column in VOCABULARY[kind]:
        source = columns.get(column.name, column.name)
        if source is None or column.type != "integer" or source not in table.columns:
            continue
        if not pd.api.types.is_numeric_dtype(table[source]):
            code, labels = _coded(table[source])
            numbers = pd.to_numeric(pd.Series(labels, dtype=object), errors="coerce")
            if (code >= 0).all() and ((numbers % 1 == 0) & (numbers.abs() < LARGEST)).all():
                whole = [int(v) if WHOLE.fullmatch(v) else int(float(v)) for v in labels]
                new[source] = np.array(whole, dtype="int64")[code]
    return table.assign(**new) if new else table


def check_numbers(table: pd.DataFrame, kind: Kind, columns: Mapped, decimal: str | None = None) -> pd.DataFrame:
    """Raise on a comma or a word where a number is expected; `decimal` says what commas and points mean."""
    if decimal not in (None, ".", ","):
        raise SchemaError(f"decimal={decimal!r} is not known. Allowed: '.', ','.")
    numeric = {c.name for c in VOCABULARY[kind] if c.type == "number"} | {"graded"}
    sources = {name: columns.get(name, name) for name in numeric}
    for name, source in sources.items():
        if source is None or source not in table.columns or pd.api.types.is_numeric_dtype(table[source]):
            continue
        table = _commas(table, name, source, decimal)
        _refuse_words(table[source], name, source)
    return table


def _commas(table: pd.DataFrame, name: str, source: str, decimal: str | None) -> pd.DataFrame:
    if decimal == ",":
        return table.assign(**{source: _without_points(table[source], name, source)})
    code, labels = _coded(table[source])
    comma = np.array([*(isinstance(v, str) and _COMMA.fullmatch(v) is not None for v in labels), False])[code]
    if not comma.any():
        return table
    text = table[source].astype("string")
    thousands = bool(text[comma].str.fullmatch(_GROUPED).all())
    if decimal == "." and thousands:
        return table.assign(**{source: text.str.replace(",", "", regex=False).astype(object).where(text.notna(), None)})
    row, single = int(comma.argmax()), not text[comma].str.contains(r",.*,|\.").any()
    meanings = [f"decimal=',' if {text.iloc[row]} is a number with a decimal comma"] * single
    meanings += ["decimal='.' if its comma separates thousands"] * thousands
    raise SchemaError(
        f"column {source!r} ({name}) has a comma in {int(comma.sum())} rows (first: {data_rows([row])}, "
        f"{table[source].iloc[row]!r}). " + (f"Pass {', '.join(meanings)}." if meanings else _ONE_WAY),
        advice=tuple(("decimal", m[9]) for m in meanings),
    )


def _without_points(values: pd.Series, name: str, source: str) -> pd.Series:
    """Numbers with a decimal comma, rewritten with a point; raise where a point may be a decimal point."""
    text = values.astype("string").str.strip()
    sure = text.str.contains(",", regex=False) | text.str.count(r"\.").gt(1)
    odd = text.str.contains(".", regex=False) & ~(sure & text.str.fullmatch(_THOUSANDS))
    rows = tuple(int(r) for r in odd.fillna(False).to_numpy(dtype=bool).nonzero()[0])
    if rows:
        what = f"has a point in {len(rows):,} row{'s' * (len(rows) != 1)}"
        example = str(text.iloc[rows[0]])
        remedy = _ONE_WAY
        raise SchemaError(
            f"column {source!r} ({name}) {what} (first: {data_rows(rows[:1])}, {example!r}), but decimal=',' was "
            f"given. Is the point a thousands separator or a decimal point? {remedy}",
            faults=as_frame([Finding("fault", name, f"{source!r} {what}", rows, example, remedy)]),
        )
    plain = text.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    return plain.astype(object).where(plain.notna(), None)


def _refuse_words(values: pd.Series, name: str, source: str) -> None:
    """Raise if text is found in place of a number; only the empty cell is missing."""
    code, labels = _coded(values)
    distinct = pd.Series(labels, dtype="string")
    if name == "score" and not neither(distinct).any():
        return  # verdicts that are right or wrong
    wrong = pd.to_numeric(distinct, errors="coerce").isna()
    if name not in NEEDED:
        wrong &= distinct.str.strip().str.lower().isin(_NO_VALUE)
    if not wrong.any():
        return
    text, wrong = values.astype("string"), pd.Series(np.append(wrong, False)[code], index=values.index)
    rows = tuple(int(r) for r in wrong.to_numpy(dtype=bool).nonzero()[0])
    words = text[wrong].value_counts()
    listed = ", ".join(f"{str(w)[:40]!r} in {n} row{'s' * (n != 1)}" for w, n in words.head(3).items())
    listed += ", ..." if len(words) > 3 else ""
    remedy = "Leave the cell empty if the value is missing: only an empty cell is read as missing."
    if name in NEEDED and not text[wrong].str.strip().str.lower().isin(_NO_VALUE).all():
        remedy += f" If the numbers are in another column, map that column: {name}=..."
        remedy += '; replies as text are read with parse="auto".' * (name == "score")
    raise SchemaError(
        f"column {source!r} ({name}) should hold numbers; it has {listed} ({data_rows(rows)}). {remedy}",
        faults=as_frame([Finding("fault", name, f"{source!r} holds text", rows, str(words.index[0])[:80], remedy)]),
    )
