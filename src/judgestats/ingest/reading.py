"""Reading any source into a canonical frame: :func:`read`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.errors import SchemaError
from judgestats.ingest import databases, scans
from judgestats.ingest.compressed_files import unpacking
from judgestats.ingest.copies import copies
from judgestats.ingest.databases import Connection, Params
from judgestats.ingest.delimited import columns_named
from judgestats.ingest.file_heads import Container
from judgestats.ingest.frame_target import FrameTarget, row_place
from judgestats.ingest.json_documents import forget_document
from judgestats.ingest.mapping import NAMES, Labels, Mapped
from judgestats.ingest.rankings import expansions, expected, ranked
from judgestats.ingest.readers import RATING_OPTIONS, Log, Reader, refuse_other_options
from judgestats.ingest.registry import PLAIN_OPTIONS, TEXT_OPTIONS, reader
from judgestats.ingest.separators import separated_by
from judgestats.ingest.sniffing import (
    DetectedFormat,
    column_names,
    find_files,
    logs,
    native_reader,
    native_table,
    plain_name,
)
from judgestats.ingest.sources import Files, is_table
from judgestats.ingest.tables import TableRows, plain_rows, plain_table, with_numbers
from judgestats.ingest.wide import Long, exploded, lengthened
from judgestats.schema import preferences, ratings
from judgestats.schema.account import Account, Exclusion, Places
from judgestats.schema.columns import VOCABULARY, Kind
from judgestats.schema.frames import not_there
from judgestats.typing import Mask

if TYPE_CHECKING:
    from judgestats.ingest.replies import Form


@checked_arguments
def read(
    source: Any,
    *,
    format: str | None = None,
    frame: Kind | None = None,
    columns: Mapped | None = None,
    labels: Labels | None = None,
    connection: Any = None,
    params: Params = None,
    lazy: bool = False,
    counts: str | Literal[False] | None = None,
    wide: str = "",
    explode: str = "",
    path: str = "",
    table: str = "",
    parse: Form = None,
    max_unpacked: int | None = None,
    strict: bool = False,
    **options: Any,
) -> Any:
    """Read verdicts from anywhere into a canonical frame.

    Parameters
    ----------
    source : path, glob, folder, list of paths, stream, SQL query, or frame
        A file (plain, gzipped or compressed with zstd; CSV, TSV, JSON, JSONL, Parquet, Feather, Arrow IPC, ORC, Excel,
        SQLite, a zip archive of tables, or the log of a tool), several, a folder (of tables, or with one JSON per
        call), a stream (``sys.stdin``, ``io.BytesIO``), a query (with `connection`), whatever Narwhals accepts as a
        frame, ``example:NAME`` for a set of :func:`judgestats.datasets.names`, or what
        :func:`judgestats.detect_format` gave.
    format : str, optional
        Name of a reader (see :func:`judgestats.formats`); without it the format is detected from the records. Of a
        folder or glob that mixes formats, the files of this one are read; `check` lists the others.
    frame : {'preferences', 'ratings'}, optional
        The kind of frame, if not the one implied by the columns.
    columns : mapping, optional
        For tables of unknown shape: canonical name -> column, ``"=constant"``, or None for a column with a canonical
        name that is something else. Further names: ``winner`` (a column with the winning candidate), ``graded``
        (numbers whose ends `labels` name), ``swapped`` (yes where the candidates were shown in reverse order: they are
        exchanged, with their attributes ``x_first`` and ``x_second``), ``rater_type`` (``"=human"`` for people's
        verdicts). An id (judge, item, system, first, second, task) may join columns, ``"subset+item"``, with " / "
        between them. ``ranking`` (a list of candidates, best first; an object candidate -> rank; ``A > B = C``; or
        columns, ``"rank_{rank}"``) gives a preference for each pair, with a column ``call`` to cluster by;
        ``probabilities`` (``"answer{score}_prob"``) the expected score; ``failed`` is a column filled where a call
        failed: whatever answer stands there is missing.
    labels : mapping, optional
        Answer labels of the table -> ``first``, ``second``, ``tie``, ``abstain``, ``invalid``.
    connection : object, optional
        A SQLAlchemy, DBAPI or ADBC connection, or the address of a database for SQLAlchemy; `source` is then a query.
    params : sequence or mapping, optional
        Values of the query's parameters. The driver binds them: ``:name`` for a mapping with SQLAlchemy, else the
        driver's own marks.
    lazy : bool
        CSV, TSV, JSONL and Parquet tables come as a lazy DuckDB frame: plain Parquet stays where it is, unless it is
        small and has more than 500 columns, and all else is copied into a temporary database on disk. A query on
        PostgreSQL (psycopg 3) or DuckDB stays in the database: only counts leave it. No effect on a frame given.
    counts : str or False, optional
        The column with the number of identical calls that a row stands for, or False for none; see
        :func:`judgestats.preferences`. A whole-number column ``n`` is refused without it.
    wide : str
        For a table with one column per judge: ``"judge=gpt,claude"`` makes it long, with a column ``judge`` of these
        names and the answers in ``verdict``, ``score`` or ``correct``. ``*`` stands for any letters and ``-`` leaves a
        column out: ``"judge=*,-id"``. ``"judge_criterion=gpt_style,gpt_truth"`` splits the names at "_";
        ``"{judge} on {criterion}"`` takes all columns that match. Where cells hold lists, square brackets say what the
        place in the list is: ``"{judge}_scores[system][replicate]"``. The mapping refers to the long table.
    explode : str
        A column whose cells hold lists of records (several with commas, the outer one first): each record becomes a
        row, its fields columns. Comes before `wide`.
    path : str, optional
        Names parts of the paths of the files: ``"{strategy}/{judge}_run{replicate}.json"`` is compared with the end of
        each path, below the folder or the fixed part of the glob, and gives columns of these names. ``*`` stands for
        anything within a name, and ``{replicate:[0-9]+}`` says what a part may be. Names of files and folders such as
        ``judge=gpt,run=1`` give columns in any case. A field of the records is never replaced.
    table : str, optional
        Name of the sheet of an Excel workbook, or the table of an SQLite database, if it holds several.
    parse : str, sequence of str, regular expression or callable, optional
        The column mapped to ``choice`` or ``score`` holds replies of the judge as text, whose answers are read as
        :func:`judgestats.parse_verdicts` reads them: ``"auto"``, ``"sentences"`` (as with ``sentences=True``), or its
        `form`. `labels` says what the answers mean;
        ``columns={"finish": ...}`` names a column that says why each reply ended.
    max_unpacked : int, optional
        Largest unpacked size of a compressed file or archive, in bytes, and what a table of SQLite or a sheet of Excel
        may give. By default 4 GB, and above 100 MB at most 200 times its size.
    strict : bool
        Refuse several files (a folder, a glob, a list) if one of them cannot be read: it is empty or damaged, or a log
        without samples. By default the others are read, and `check` lists it with the reason. ``lazy=True`` refuses.
    **options
        Further options of the reader: ``encoding``, ``sep``, ``decimal``, ``scale``, ``off_scale``, ``judge``,
        ``baseline``, ... (see :func:`judgestats.formats`).

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

    See Also
    --------
    formats : Formats that are read.
    suggest_mapping : How columns might be mapped.
    check : Faults, excluded rows and gaps.

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
    if isinstance(source, DetectedFormat):
        source = source.source(
            encoding=options.get("encoding"), anew=not options.keys().isdisjoint(("sep", "header", "names"))
        )
    if frame not in (None, "preferences", "ratings"):
        raise SchemaError(f"frame={frame!r} is not known. Allowed: 'preferences', 'ratings'.")
    mapping = dict(columns or {})
    shape = Shape(explode, wide, dict(expansions(mapping)))
    if shape and lazy:
        what = ", ".join(shape.several) or "wide= and explode="
        raise SchemaError(f"{what}: the table is made in memory. Leave lazy out.")
    if parse is not None and lazy:
        raise SchemaError("parse= reads texts in memory. Leave lazy out.")
    target = FrameTarget(frame, mapping or None, labels, counts, options, parse)
    if params is not None and connection is None:
        raise SchemaError("params= are of a query. Give its connection=.")
    for name, option in (("path", path), ("table", table)):
        if option and (connection is not None or is_table(source)):
            raise SchemaError(f"{name}= is for files, and the source is no file. Leave it out.")
    if lazy and hasattr(source, "read") and not is_table(source):
        raise SchemaError("lazy=True needs a file, and the source is a stream. Leave lazy out.")
    if connection is not None and not shape:
        return _from_query(source, connection, params, target, lazy)
    files_of = partial(find_files, source, options.get("encoding"), format, path, table, strict=strict or lazy)
    with (
        unpacking(max_unpacked),
        separated_by(options.get("sep")),
        columns_named(options.get("names"), options.get("header")),
    ):
        if shape and connection is not None:
            return _from_shape(shape, target, lambda: databases.query(source, connection, params))
        if shape and is_table(source):
            return _from_shape(shape, target, lambda: _in_memory(source))
        if shape:
            files = files_of()
            with files.quoted():
                return _from_shape(shape, target, lambda: plain_rows(_forced(files, format), mapping, wide))
        own = reader(format) if format is not None else None
        if is_table(source):
            own = native_table(source) if own is None and columns is None else own
            return _from_frame(source, own, target, lazy)
        files = files_of()
        with files.quoted():
            if own is None and columns is None:
                own, _, files = native_reader(files)
            return _from_files(files, own or reader(plain_name(files)), target, format, lazy)


def _from_query(sql: str, connection: Connection, params: Params, target: FrameTarget, lazy: bool) -> Any:
    """Map the rows of a query."""
    _only(target.options, {**RATING_OPTIONS, **PLAIN_OPTIONS}, "a query")
    if lazy:
        _only(target.options, RATING_OPTIONS, "a query that stays in the database")
        return target.of(databases.there(sql, connection, params), "the query")
    return target.of_text(databases.query(sql, connection, params), label="the query")


def _from_shape(shape: Shape, target: FrameTarget, rows_of: Callable[[], TableRows | pd.DataFrame]) -> Any:
    """Map a table that is made long first."""
    _only(target.options, {**RATING_OPTIONS, **TEXT_OPTIONS, "encoding": "of a file"}, "a wide table")
    for name in ("encoding", "sep", "header", "names"):
        target.options.pop(name, None)
    rows = rows_of()
    if isinstance(rows, TableRows):
        table, places, files, lacks = rows
    else:
        table, places, files, lacks = rows, None, None, {}
    long, places, empty = shape.long(table, places, lacks, one_scale="scale" in target.options)
    label = "the long table" if shape.wide or shape.explode else "the table"
    return target.of_text(long, places, empty, files=files, label=label)


def _from_frame(source: IntoFrame, own: Reader | None, target: FrameTarget, lazy: bool) -> Any:
    """Map a frame, or read it as that of a tool."""
    label = type(source).__name__
    if own is not None and own.rows is not None:
        _only(target.options, own.all_options, f"the {own.name} format")
        records = [(f"row {i}", row) for i, row in enumerate(_in_memory(source).to_dict("records"))]
        return read_native(own, [Log(Path(label), records)], target, lazy, label)
    _no_columns(target.options, RATING_OPTIONS, lambda: column_names(source))
    _only(target.options, RATING_OPTIONS, "a frame")
    return target.of(source, label)


def _from_files(files: Files, own: Reader, target: FrameTarget, format: str | None, lazy: bool) -> Any:
    """Read files by their reader: the log of a tool, or a plain table that is mapped."""
    options = target.options
    if own.rows is None:
        _no_columns(options, own.all_options, lambda: column_names(plain_table(_forced(files, format))))
    _only(options, own.all_options, f"the {own.name} format")
    if own.rows is not None:
        if files.files[0].container not in own.containers:
            raise SchemaError(
                f"{files.label}: the {own.name} format is {' or '.join(map(str.upper, own.containers))}, not "
                f"{files.files[0].container}."
            )
        try:
            return read_native(own, logs(own, files), target, lazy, files.label, files)
        finally:
            forget_document()
    files = _forced(files, format)
    for name in ("encoding", "sep", "header", "names"):
        options.pop(name, None)
    if lazy:
        return _scanned(files, target)
    rows = plain_rows(files, target.columns, coded=target.keeps_labels)
    return target.of_text(rows.table, rows.places, label=rows.files.label, files=rows.files, calls=rows.files.calls)


def _only(options: Mapping[str, object], allowed: Mapping[str, str], what: str) -> None:
    """Raise if an option is not allowed; of a misspelt one, name the nearest, an argument of :func:`read` too."""
    refuse_other_options(options, allowed, what, signature(read).parameters)


def _no_columns(options: Mapping[str, Any], allowed: Mapping[str, str], present: Callable[[], list[str]]) -> None:
    """Raise where a column is given as an option; of a name that the table lacks, name the nearest."""
    for name, source in options.items():
        if name in NAMES and name not in allowed:
            names = present()
            unknown = isinstance(source, str) and not source.startswith("=") and "+" not in source
            near = f" The {not_there(name, source, names)}" if unknown and source not in names else ""
            raise SchemaError(f"{name!r} is a column, not an option: pass columns={{{name!r}: {source!r}}}.{near}")


def _in_memory(source: IntoFrame) -> pd.DataFrame:
    """Any frame as pandas', its cells as they are; an index with a name, such as the id of a span, is a column."""
    if isinstance(source, pd.DataFrame):
        return source.reset_index([n for n in source.index.names if n is not None and n not in source.columns])
    return cast("pd.DataFrame", nw.from_native(source).lazy().collect(backend="pandas").to_native())


def _forced(files: Files, name: str | None) -> Files:
    """The files, to be read in the plain format that is asked for, if it is another than the one detected."""
    if name is None or name == plain_name(files):
        return files
    if name == "calls":
        if not all(f.container == "json" for f in files.files):
            raise SchemaError(f"{files.label}: format='calls' needs a folder with one JSON file per call.")
        return replace(files, calls=True)
    forced = tuple(replace(f, container=cast("Container", name)) for f in files.files)
    return replace(files, files=forced, calls=False)


def _scanned(files: Files, target: FrameTarget) -> Any:
    """Map files lazily, as a DuckDB frame."""
    if "decimal" in target.options:
        raise SchemaError("decimal= has no effect on a lazy scan. Leave lazy out.")
    relation = scans.scan(files, target.columns)
    kind = target.kind(scans.unnumbered(relation), files.label)
    with scans.duckdb_errors(files.label):
        relation = scans.numbers(relation, kind, target.with_counts, target.labels if kind == "ratings" else None)
    of_kind = replace(target, frame=kind, labels=target.labels if kind == "preferences" else None)
    return scans.mapped(relation, kind, target.with_counts, lambda calls: of_kind.of(calls, files.label))


def read_native(
    chosen: Reader, frame: Iterable[Log], target: FrameTarget, lazy: bool, label: str, files: Files | None = None
) -> pd.DataFrame:
    """Read the log of a tool by its own reader; the frame carries the account of its rows."""
    for name, option_names in (
        ("columns", target.columns),
        ("labels", target.labels),
        ("lazy", lazy),
        ("parse", target.parse),
    ):
        if option_names:
            raise SchemaError(
                f"{name}= is for plain tables; the {chosen.name} format needs none. Leave it out, or name the plain "
                "format, such as format='jsonl'."
            )
    if target.frame is not None and target.frame != chosen.frame:
        raise SchemaError(f"The {chosen.name} format gives {chosen.frame}, not {target.frame}. Leave frame= out.")
    strict = files is None or files.strict or len(files.files) == 1
    own = {k: v for k, v in target.options.items() if k in chosen.options}
    classes_of = () if "answer" in own else target.options.get("answer", ())
    table, account, sizes = chosen.table(frame, strict=strict, classes_of=classes_of, **own)
    try:
        if files is not None:
            pairs = list(zip(files.files, sizes, strict=True))
            files = files.without([(file, size) for file, size in pairs if isinstance(size, SchemaError)])
            numbers = [size for size in sizes if isinstance(size, int)]
            account = replace(account, notes=(*files.notes, *account.notes), unread=files.unread_note)
            table, account = _with_paths(table, account, numbers, files, chosen)
        if chosen.frame == "preferences":
            result: pd.DataFrame = preferences(table, counts=target.counts)
        else:
            scale = {k: v for k, v in target.options.items() if k in RATING_OPTIONS}
            result = ratings(table, counts=target.counts, **scale)
    except SchemaError as problem:
        raise problem.labelled(label, row_place(problem, account)) from None
    return account.attached(result)


def _with_paths(
    table: pd.DataFrame, account: Account, sizes: list[int], files: Files, chosen: Reader
) -> tuple[pd.DataFrame, Account]:
    """Rows of native files with the columns that their paths name, without files that are copies of others."""
    kind = cast("Kind", chosen.frame)
    file = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    for one, end, size in zip(files.files, np.cumsum(sizes), sizes, strict=True):
        files.check_named(one, table.iloc[end - size : end].drop(columns=chosen.options, errors="ignore"))
    said = [files.said(f) for f in files.files]
    new = {n: [said[i][n] for i in file] for n in said[0] if n not in table.columns}
    table = table.assign(**with_numbers(pd.DataFrame(new, index=table.index, dtype=object), kind, {}))
    if files.calls:
        return table, account
    answers = {c.name for c in VOCABULARY[kind] if not c.key}
    parts = copies(table, file, [files.relative(f) for f in files.files], account.places, answers)
    if not parts.why:
        return table, account
    account = replace(
        account.without(np.flatnonzero(parts.excluded).tolist()), excluded=(*account.excluded, *parts.why)
    )
    return table[~parts.excluded].reset_index(drop=True), account


@dataclass(frozen=True)
class Shape:
    """How a table is made long; false where it is long already."""

    explode: str  # columns of lists of records
    wide: str  # columns of one judge each
    several: Mapping[str, str]  # answers that stand for several -> their column: a ranking, probabilities

    def __bool__(self) -> bool:
        return bool(self.explode or self.wide or self.several)

    def long(
        self, table: pd.DataFrame, places: Places | None, lacks: Mapping[str, Sequence[int]], *, one_scale: bool
    ) -> tuple[pd.DataFrame, Places | None, tuple[Exclusion, ...]]:
        """The long table, with the places of its rows and of the cells that gave none."""
        steps: list[partial[Long]] = [
            partial(exploded, name=name.strip()) for name in self.explode.split(",") if name.strip()
        ]
        steps += [partial(lengthened, wide=self.wide, one_scale=one_scale)] if self.wide else []
        makers = {"ranking": ranked, "probabilities": expected}
        steps += [partial(makers[name], source=source) for name, source in self.several.items()]
        excluded: list[Exclusion] = []
        for step in steps:
            absent = {"absent": _absent(lacks, places)} if step.func is lengthened else {}
            long = step(table, **absent)
            for row, column in long.empty:
                where = places[row] if places is not None else f"row {row}"
                excluded.append(Exclusion(f"{where}, {column}", long.reason))
            table, places = long.table, places.take(long.source) if places is not None else None
        return table, places, tuple(excluded)


def _absent(lacks: Mapping[str, Sequence[int]], places: Places | None) -> dict[str, Mask] | None:
    """Column -> the rows of files that do not have it."""
    return {c: np.isin(places.file, files) for c, files in lacks.items()} if places is not None else None
