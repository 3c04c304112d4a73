"""Reading any source into a canonical frame: :func:`read`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest import scans
from judgestats.ingest.files import File, Files, forget_document, is_table, resolve, unpacking
from judgestats.ingest.mapping import Mapped, canonical, kind_of_mapping
from judgestats.ingest.readers import RATING_OPTIONS, Log, Reader, only
from judgestats.ingest.registry import PLAIN_OPTIONS, reader
from judgestats.ingest.searching import UnmappedTable, suggest_mapping
from judgestats.ingest.sniffing import column_names, logs, native_reader, native_table, plain_name
from judgestats.ingest.tables import as_table, check_numbers, plain_table, with_numbers
from judgestats.ingest.wide import melted
from judgestats.schema import preferences, ratings
from judgestats.schema.account import Account
from judgestats.schema.columns import COUNTS, Kind, kind_of
from judgestats.schema.opening import cell_text, refuse_repeated_names
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
        Name of a reader (see :func:`judgestats.formats`); without it the format is detected from the records.
    frame : {'preferences', 'ratings'}, optional
        The kind of frame, if not the one implied by the columns.
    columns : mapping, optional
        For tables of unknown shape: canonical name -> column, ``"=constant"``, or None for a column with a canonical
        name that is something else. Further names: ``winner`` (a column with the winning candidate), ``graded``
        (numbers whose ends `labels` name), ``swapped`` (yes where the candidates were shown in reverse order: they are
        exchanged, with their attributes ``x_first`` and ``x_second``). An id (judge, item, system,
        first, second, task) may join columns, ``"subset+item"``, with " / " between them.
    labels : mapping, optional
        Answer labels of the table -> ``first``, ``second``, ``tie``, ``abstain``, ``invalid``.
    connection : object, optional
        A DBAPI or SQLAlchemy connection; `source` is then a query.
    lazy : bool
        CSV, TSV, JSONL and Parquet tables come as a lazy DuckDB frame: plain Parquet stays where it is, all else is
        copied into a temporary database on disk. No effect on a frame given.
    counts : str or False, optional
        The column with the number of identical calls that a row stands for, or False for none; see
        :func:`judgestats.preferences`. A whole-number column ``n`` is refused without it.
    wide : str
        For a table with one column per judge: ``"judge=gpt,claude"`` makes it long, with a column ``judge`` of these
        names and the answers in ``verdict``, ``score`` or ``correct``. ``"judge_criterion=gpt_style,gpt_truth"``
        splits the names at "_". The mapping refers to the long table.
    max_unpacked : int, optional
        Largest unpacked size of a compressed file or archive, in bytes. By default 4 GB, and above 100 MB at most 200
        times its size.
    **options
        Further options of the reader: ``encoding``, ``decimal``, ``scale``, ``off_scale``, ``judge``, ``baseline``, ...
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
    target = _Target(frame, columns or None, labels, counts, options)
    if connection is not None and not wide:
        only(options, {**RATING_OPTIONS, **PLAIN_OPTIONS}, "a query")
        return target.of_text(_query(source, connection), "the query")
    with unpacking(max_unpacked):
        if wide:
            only(options, {**RATING_OPTIONS, **PLAIN_OPTIONS, "encoding": "of a file"}, "a wide table")
            encoding = options.pop("encoding", None)
            table = _query(source, connection) if connection is not None else as_table(source, encoding)
            return target.of_text(melted(table, wide), "the long table")
        chosen = reader(format) if format is not None else None
        if is_table(source):
            if chosen is None and columns is None:
                chosen = native_table(source)
            if chosen is not None and chosen.rows is not None:
                only(options, chosen.all_options, f"the {chosen.name} format")
                rows = [(f"row {i}", row) for i, row in enumerate(_in_memory(source).to_dict("records"))]
                name = type(source).__name__
                return _native(chosen, [Log(Path(name), rows)], target, lazy, name)
            only(options, RATING_OPTIONS, "a frame")
            return target.of(source, type(source).__name__)
        files = resolve(source, options.get("encoding"))
        if chosen is None and columns is None:
            chosen, _ = native_reader(files)
        chosen = chosen or reader(plain_name(files))
        only(options, chosen.all_options, f"the {chosen.name} format")
        if chosen.rows is not None:
            if files.files[0].container not in chosen.containers:
                raise SchemaError(
                    f"{files.label}: the {chosen.name} format is {' or '.join(map(str.upper, chosen.containers))}, not "
                    f"{files.files[0].container}."
                )
            try:
                return _native(chosen, logs(chosen, files), target, lazy, files.label)
            finally:
                forget_document()
        if format is not None and format != plain_name(files):
            files = _in_format(files, format)
        options.pop("encoding", None)
        return _scanned(files, target) if lazy else target.of_text(plain_table(files, columns), files.label)


@dataclass(frozen=True)
class _Target:
    """The canonical frame that a table is mapped onto: the arguments of :func:`read` that say so."""

    frame: Kind | None
    columns: Mapped | None
    labels: Mapping[Any, str] | None
    counts: str | Literal[False] | None
    options: dict[str, Any]

    def kind(self, table: Any, label: str) -> Kind:
        """The kind of frame; a table of unknown shape is refused with a proposal."""
        names = column_names(table)
        if self.columns:
            return kind_of_mapping(self.columns, names, self.frame)
        try:
            kind = kind_of(names)
        except SchemaError:
            proposal = suggest_mapping(table)
            raise UnmappedTable(
                f"{label}: the columns are not canonical, and no mapping was given.\n{proposal}", proposal
            ) from None
        return self.frame or kind

    @property
    def with_counts(self) -> dict[str, str | None]:
        """The mapping, with the column of declared counts in it."""
        return {**(self.columns or {}), **({COUNTS: self.counts} if self.counts else {})}

    def of(self, table: Any, label: str) -> Any:
        """Map a table whose columns have their types; errors are preceded by `label`."""
        kind = self.kind(table, label)
        try:
            return canonical(table, kind, self.columns, self.labels, counts=self.counts, **self.options)
        except SchemaError as problem:
            raise problem.labelled(label) from None

    def of_text(self, table: pd.DataFrame, label: str) -> Any:
        """Map a table of text, as it comes from a file or a query."""
        kind = self.kind(table, label)
        decimal = self.options.pop("decimal", ".")
        try:
            table = check_numbers(table, kind, self.columns or {}, decimal)
            table = with_numbers(table, kind, self.with_counts)
            result = canonical(table, kind, self.columns, self.labels, counts=self.counts, **self.options)
            return Account(len(table)).attached(result)
        except SchemaError as problem:
            raise problem.labelled(label) from None


def _native(chosen: Reader, found: Iterable[Log], target: _Target, lazy: bool, label: str) -> pd.DataFrame:
    """Read the log of a tool by its own reader; the frame carries the account of its rows."""
    for name, given in (("columns", target.columns), ("labels", target.labels), ("lazy", lazy)):
        if given:
            raise SchemaError(
                f"{name}= is for plain tables; the {chosen.name} format needs none. Leave it out, or name the plain "
                "format, such as format='jsonl'."
            )
    if target.frame is not None and target.frame != chosen.frame:
        raise SchemaError(f"The {chosen.name} format gives {chosen.frame}, not {target.frame}. Leave frame= out.")
    table, account = chosen.table(found, **{k: v for k, v in target.options.items() if k in chosen.options})
    try:
        if chosen.frame == "preferences":
            result: pd.DataFrame = preferences(table, counts=target.counts)
        else:
            scale = {k: v for k, v in target.options.items() if k in RATING_OPTIONS}
            result = ratings(table, counts=target.counts, **scale)
    except SchemaError as problem:
        where = ""
        if problem.faults is not None and len(problem.faults) and len(problem.faults["rows"].iloc[0]):
            first = int(problem.faults["rows"].iloc[0][0])
            where = f" Row {first} is from {account.places[first]}."
        raise problem.labelled(label, where) from None
    return account.attached(result)


def _in_memory(source: Any) -> pd.DataFrame:
    """Any frame as pandas', its cells as they are."""
    if isinstance(source, pd.DataFrame):
        return source
    return cast("pd.DataFrame", nw.from_native(source).lazy().collect(backend="pandas").to_native())


def _in_format(files: Files, name: str) -> Files:
    """The files, to be read in a format other than the one detected."""
    if name == "calls":
        if not all(f.container == "json" for f in files.files):
            raise SchemaError(f"{files.label}: format='calls' needs a folder with one JSON file per call.")
        return replace(files, calls=True)
    forced = tuple(File(f.path, name, f.encoding) for f in files.files)  # type: ignore[arg-type]
    return replace(files, files=forced, calls=False)


def _scanned(files: Files, target: _Target) -> Any:
    """Map files lazily, as a DuckDB frame."""
    if "decimal" in target.options:
        raise SchemaError("decimal= has no effect on a lazy scan. Leave lazy out.")
    relation = scans.scan(files, target.columns)
    kind = target.kind(relation, files.label)
    with scans.duckdb_errors(files.label):
        relation = scans.numbers(relation, kind, target.with_counts, target.labels if kind == "ratings" else None)
    return replace(target, frame=kind, labels=target.labels if kind == "preferences" else None).of(
        relation, files.label
    )


def _query(query: str, connection: Any) -> pd.DataFrame:
    """Run a query; its text, whole numbers and gaps come back exactly."""
    with warnings_ignored("pandas only supports SQLAlchemy", UserWarning):
        try:
            table = pd.read_sql_query(query, connection, coerce_float=True, dtype_backend="numpy_nullable")
        except Exception as problem:  # each database driver has its own root
            raise SchemaError(
                f"The query failed: {str(problem).splitlines()[0]}. Query: {' '.join(str(query).split())[:200]}"
            ) from problem
    refuse_repeated_names(list(table.columns), "The query", "Name each with AS.")
    if table.empty:
        raise SchemaError("The query gives no rows.")
    values = {n: [v.item() if hasattr(v, "item") else v for v in table[n]] for n in table.columns}
    return pd.DataFrame({n: [None if v is pd.NA else cell_text(v) for v in cells] for n, cells in values.items()})
