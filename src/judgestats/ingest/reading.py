"""The door: any source -> a canonical frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest import scans
from judgestats.ingest.files import File, Files, is_table, resolve, unpacking
from judgestats.ingest.mapping import Mapped, canonical, kind_of_mapping
from judgestats.ingest.readers import RATING_OPTIONS, Reader, check_options, only
from judgestats.ingest.registry import PLAIN_OPTIONS, reader
from judgestats.ingest.searching import UnmappedTable, propose
from judgestats.ingest.sniffing import column_names, logs, native_reader, plain_name
from judgestats.ingest.tables import as_table, check_numbers, plain_table, with_numbers
from judgestats.ingest.wide import melted
from judgestats.schema import preferences, ratings
from judgestats.schema.columns import COUNTS, Kind, kind_of
from judgestats.schema.opening import cell_text
from judgestats.threads import warnings_ignored


def read(
    source: Any,
    *,
    format: str | None = None,
    frame: Kind | None = None,
    columns: Mapped | None = None,
    labels: Mapping[Any, str] | None = None,
    connection: Any = None,
    lazy: bool = False,
    counts: str | Literal[False] | None = None,
    wide: str = "",
    max_unpacked: int | None = None,
    **options: Any,
) -> Any:
    """Read verdicts from anywhere into a canonical frame.

    Parameters
    ----------
    source : path, glob, folder, list of paths, SQL query, or frame
        A file (plain or gzipped), several, a folder (of tables, or with one JSON per call), a query (with
        `connection`), or whatever Narwhals accepts as a frame.
    format : str, optional
        Name of a reader (see :func:`judgestats.formats`); without it the reader is told by the records.
    frame : {'preferences', 'ratings'}, optional
        Overrules the kind that the columns speak for.
    columns : mapping, optional
        For tables of unknown shape: canonical name -> column, ``"=constant"``, or None for a column that bears our name
        and is something else. Further names: ``winner`` (a column with the winning candidate), ``graded`` (numbers
        whose ends `labels` name), ``swapped`` (yes where the candidates were shown the other way round: they are
        exchanged, and with them ``x_first`` and ``x_second``, the attributes of each). An id (judge, item, system,
        first, second, task) may join columns, ``"subset+item"``, with " / " between them.
    labels : mapping, optional
        Answer labels of the table -> ``first``, ``second``, ``tie``, ``abstain``, ``invalid``.
    connection : object, optional
        A DBAPI or SQLAlchemy connection; `source` is then a query.
    lazy : bool
        CSV, TSV, JSONL and Parquet tables come as a lazy DuckDB frame: plain Parquet stays where it is, all else is
        copied into a temporary database on disk. No effect on a frame given.
    counts : str or False, optional
        The column that says how many identical calls a row stands for, or False: none does; see
        :func:`judgestats.preferences`. A whole-number column ``n`` is refused without it.
    wide : str
        For a table with one column per judge: ``"judge=gpt,claude"`` makes it long, with a column ``judge`` of these
        names and the answers in ``verdict``, ``score`` or ``correct``. ``"judge_criterion=gpt_style,gpt_truth"``
        divides the names at "_". The mapping is of the long table.
    max_unpacked : int, optional
        Bytes that a gzipped file may unpack to. Without it 4 GB, and beyond 100 MB at most 200 times its size.
    **options
        What the reader takes besides: ``encoding``, ``decimal``, ``scale``, ``off_scale``, ``judge``, ``baseline``, ...
        (see :func:`judgestats.formats`).

    Returns
    -------
    frame
        pandas for files and queries; a frame given keeps its kind.

    Raises
    ------
    SchemaError
        If anything is wrong with the file, with all faults of its rows at once.
        :class:`judgestats.ingest.UnmappedTable` if the columns are not canonical and no mapping was given; it carries a
        proposal.

    Notes
    -----
    Ids are text: ``007`` keeps its zeros, and a judge named ``NA`` its name; only the empty cell is missing. With more
    than one file, ``file`` and the folders below the common one (``path_1``, ``path_2``, ...) may be mapped too.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": ["g", "g"], "q": ["007", "007"], "one": ["x", "y"], "two": ["y", "x"],
    ...                       "verdict": ["A", "C"]})
    >>> read(table, columns={"judge": "evaluator", "item": "q", "first": "one", "second": "two", "choice": "verdict"},
    ...      labels={"A": "first", "B": "second", "C": "tie"})
      judge item first second choice
    0     g  007     x      y  first
    1     g  007     y      x    tie
    """
    if frame not in (None, "preferences", "ratings"):
        raise SchemaError(f"frame={frame!r} is not known. Allowed: 'preferences', 'ratings'.")
    if wide and lazy:
        raise SchemaError("wide= makes the table long in memory. Leave lazy out.")
    if connection is not None and not wide:
        only(options, {**RATING_OPTIONS, **PLAIN_OPTIONS}, "a query")
        return _mapped(_query(source, connection), "the query", frame, columns, labels, counts, options)
    with unpacking(max_unpacked):
        if wide:
            return _read_wide(source, connection, wide, frame, columns, labels, counts, options)
        if is_table(source):
            only(options, RATING_OPTIONS, "a frame")
            return _mapped_frame(source, type(source).__name__, frame, columns, labels, counts, options)
        return _read_files(source, format, frame, columns, labels, lazy, counts, options)


def _read_files(
    source: Any,
    format: str | None,
    frame: Kind | None,
    columns: Mapped | None,
    labels: Any,
    lazy: bool,
    counts: Any,
    options: dict[str, Any],
) -> Any:
    chosen = reader(format) if format is not None else None
    files = resolve(source, options.get("encoding"))
    if chosen is None and columns is None:
        chosen, _ = native_reader(files)
    chosen = chosen or reader(plain_name(files))
    check_options(chosen, options)
    if chosen.read is not None:
        return _native(chosen, files, frame, columns, labels, lazy, counts, options)
    files = _as_asked(files, chosen.name if format is not None else None)
    options.pop("encoding", None)
    if lazy:
        return _scanned(files, frame, columns, labels, counts, options)
    return _mapped(plain_table(files, columns), files.label, frame, columns, labels, counts, options, files)


def _read_wide(
    source: Any,
    connection: Any,
    wide: str,
    frame: Kind | None,
    columns: Any,
    labels: Any,
    counts: Any,
    options: dict[str, Any],
) -> pd.DataFrame:
    only(options, {**RATING_OPTIONS, **PLAIN_OPTIONS, "encoding": "of a file"}, "a wide table")
    encoding = options.pop("encoding", None)
    table = _query(source, connection) if connection is not None else as_table(source, encoding)
    return _mapped(melted(table, wide), "the long table", frame, columns, labels, counts, options)


def _native(
    chosen: Reader,
    files: Files,
    frame: Kind | None,
    columns: Any,
    labels: Any,
    lazy: bool,
    counts: Any,
    options: dict[str, Any],
) -> pd.DataFrame:
    for name, given in (("columns", columns), ("labels", labels), ("lazy", lazy)):
        if given:
            raise SchemaError(
                f"{name}= is for plain tables; the {chosen.name} format needs none. Leave it out, or name the plain "
                "format, such as format='jsonl'."
            )
    if frame is not None and frame != chosen.frame:
        raise SchemaError(f"The {chosen.name} format gives {chosen.frame}, not {frame}.")
    if files.files[0].container not in ("json", "jsonl"):
        raise SchemaError(f"{files.label}: the {chosen.name} format is JSON or JSONL, not {files.files[0].container}.")
    own = {k: v for k, v in options.items() if k in chosen.options}
    parts = [chosen.table(log, **own) for log in logs(files)]
    table = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    try:
        if chosen.frame == "preferences":
            result: pd.DataFrame = preferences(table, counts=counts)
        else:
            result = ratings(table, counts=counts, **{k: v for k, v in options.items() if k in RATING_OPTIONS})
    except SchemaError as problem:
        raise _named(problem, files.label, [len(p) for p in parts], files) from None
    return result


def _as_asked(files: Files, name: str | None) -> Files:
    """Let format='csv' overrule what a file looks like."""
    if name is None or name == plain_name(files):
        return files
    if name == "calls":
        if not all(f.container == "json" for f in files.files):
            raise SchemaError(f"{files.label}: format='calls' wants a folder with one JSON per call.")
        return replace(files, calls=True)
    forced = tuple(File(f.path, name, f.encoding) for f in files.files)  # type: ignore[arg-type]
    return replace(files, files=forced, calls=False)


def _scanned(
    files: Files, frame: Kind | None, columns: Mapped | None, labels: Any, counts: Any, options: dict[str, Any]
) -> Any:
    if "decimal" in options:
        raise SchemaError("decimal= has no effect on a lazy scan. Leave lazy out.")
    relation = scans.scan(files, columns)
    kind = _kind(relation, files.label, frame, columns)
    with scans.told(files.label):
        relation = scans.numbers(relation, kind, _with_counts(columns, counts), labels if kind == "ratings" else None)
    return _mapped_frame(
        relation, files.label, kind, columns, labels if kind == "preferences" else None, counts, options
    )


def _with_counts(columns: Mapped | None, counts: Any) -> dict[str, str | None]:
    """The mapping, and the column of declared counts in it."""
    return {**(columns or {}), **({COUNTS: counts} if counts else {})}


def _query(query: str, connection: Any) -> pd.DataFrame:
    """Run a query; its text, whole numbers and gaps come back exactly."""
    with warnings_ignored("pandas only supports SQLAlchemy", UserWarning):
        try:
            table = pd.read_sql_query(query, connection, coerce_float=True, dtype_backend="numpy_nullable")
        except Exception as problem:  # each database driver has its own root
            raise SchemaError(
                f"The query failed: {str(problem).splitlines()[0]}. Query: {' '.join(str(query).split())[:200]}"
            ) from problem
    repeated = sorted(set(table.columns[table.columns.duplicated()]))
    if repeated:
        raise SchemaError(
            f"The query gives the column {', '.join(map(repr, repeated))} more than once. Name each with AS."
        )
    if table.empty:
        raise SchemaError("The query gives no rows.")
    return pd.DataFrame({n: [None if v is pd.NA else cell_text(_python(v)) for v in table[n]] for n in table.columns})


def _python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _kind(table: Any, label: str, frame: Kind | None, columns: Mapped | None) -> Kind:
    """Tell the kind, or refuse a table of unknown shape with a proposal."""
    names = column_names(table)
    if columns:
        return kind_of_mapping(columns, names, frame)
    try:
        kind = kind_of(names)
    except SchemaError:
        proposal = propose(table)
        raise UnmappedTable(
            f"{label}: the columns are not canonical, and no mapping was given.\n{proposal}", proposal
        ) from None
    return frame or kind


def _mapped(
    table: pd.DataFrame,
    label: str,
    frame: Kind | None,
    columns: Mapped | None,
    labels: Any,
    counts: Any,
    options: dict[str, Any],
    files: Files | None = None,
) -> Any:
    kind = _kind(table, label, frame, columns)
    decimal = options.pop("decimal", ".")
    try:
        table = check_numbers(table, kind, columns or {}, decimal)
        table = with_numbers(table, kind, _with_counts(columns, counts))
        return canonical(table, kind, columns, labels, counts=counts, **options)
    except SchemaError as problem:
        raise _named(problem, label, [], files) from None


def _mapped_frame(
    table: Any,
    label: str,
    frame: Kind | None,
    columns: Mapped | None,
    labels: Any,
    counts: Any,
    options: dict[str, Any],
) -> Any:
    kind = _kind(table, label, frame, columns)
    try:
        return canonical(table, kind, columns, labels, counts=counts, **options)
    except SchemaError as problem:
        raise _named(problem, label) from None


def _named(problem: SchemaError, label: str, sizes: list[int] | None = None, files: Files | None = None) -> SchemaError:
    """Put the name of the file before a fault of its rows; of several files, say which holds the first row."""
    text = f"{label}: {problem}"
    if files is not None and sizes and len(sizes) > 1 and problem.faults is not None and len(problem.faults):
        rows = problem.faults["rows"].iloc[0]
        if len(rows):
            row, at = int(rows[0]), 0
            while row >= sizes[at]:
                row, at = row - sizes[at], at + 1
            text += f" Row {int(rows[0])} is row {row} of {files.relative(files.files[at])}."
    return SchemaError(text, faults=problem.faults, advice=problem.advice, reason=problem.reason)
