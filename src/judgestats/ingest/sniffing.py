"""Detection of the format of a source, without reading its values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.errors import SchemaError
from judgestats.ingest.compressed_files import unpacking
from judgestats.ingest.containers import SUFFIXES
from judgestats.ingest.files import File
from judgestats.ingest.json_values import Fields, Record
from judgestats.ingest.proposals import Proposal
from judgestats.ingest.readers import Log, Reader
from judgestats.ingest.registry import native_readers, reader
from judgestats.ingest.searching import suggest_mapping
from judgestats.ingest.sources import Files, is_table, resolve
from judgestats.ingest.tables import plain_rows
from judgestats.schema.columns import OUTCOMES, Kind, kind_of
from judgestats.schema.opening import opened

Confidence = Literal["native", "canonical", "needs a mapping"]


@dataclass(frozen=True)
class DetectedFormat:
    """The detected format of a source.

    Attributes
    ----------
    format : str
        Name of the reader, or ``table`` for a frame that was given.
    frame : {'preferences', 'ratings'} or None
        What it gives; None without a mapping.
    confidence : {'native', 'canonical', 'needs a mapping'}
        ``native``: the records have the fields of a known tool. ``canonical``: the columns have canonical names.
        ``needs a mapping``: neither, so nothing is read until the user maps the columns.
    why : str
        The evidence.
    files : int
        How many files it is.
    proposal : Proposal or None
        For a table that needs a mapping.
    unread : str
        How many files of a folder are read and which are not, with the reason; empty if all are. It is also
        the end of `why`.
    opened : object
        The table, or what was opened: :func:`judgestats.read` takes a detected format as a source, and reads no file
        again.
    """

    format: str
    frame: Kind | None
    confidence: Confidence
    why: str
    files: int = 0
    proposal: Proposal | None = None
    unread: str = ""
    opened: Any = field(default=None, repr=False, compare=False)

    def source(self, *, encoding: str | None = None, anew: bool = False) -> Any:
        """What was opened; files to be read with another encoding, separator or header are read anew."""
        files = self.opened
        if not isinstance(files, Files) or not (anew or any(encoding not in (None, f.encoding) for f in files.files)):
            return files
        return replace(files, files=tuple(replace(f, encoding=encoding or f.encoding) for f in files.files))


@checked_arguments
def detect_format(
    source: Any,
    *,
    encoding: str | None = None,
    max_unpacked: int | None = None,
    path: str = "",
    table: str = "",
    strict: bool = False,
) -> DetectedFormat:
    """Detect the format of a source, and say why.

    A native format is recognised by the fields of its records, a canonical table by its column names, never by values
    that look like verdicts.

    Parameters
    ----------
    source : path, glob, folder, list of paths, or table
        As for :func:`judgestats.read`.
    encoding : str, optional
        Encoding of the files, if not UTF-8.
    max_unpacked : int, optional
        As for :func:`judgestats.read`.
    path, table : str, optional
        As for :func:`judgestats.read`.
    strict : bool
        As for :func:`judgestats.read`.

    Returns
    -------
    DetectedFormat

    Raises
    ------
    SchemaError
        If the source cannot be opened, or mixes formats.

    See Also
    --------
    read : Verdicts from a file.
    formats : Formats that are read.
    suggest_mapping : How columns might be mapped.

    Examples
    --------
    >>> import pandas as pd
    >>> detect_format(pd.DataFrame({"repetition": [1, 2], "has_reference": [0, 1]})).confidence
    'needs a mapping'
    """
    if is_table(source):
        return replace(_table("table", source, "a table was given", 0), opened=source)
    with unpacking(max_unpacked):
        files = resolve(source, encoding, pattern=path, table=table, strict=strict)
        with files.quoted():
            tool, why, files = native_reader(files)
            if tool is not None:
                result = DetectedFormat(tool.name, _kind(tool), "native", why, len(files.files))
            else:
                name = plain_name(files)
                rows = plain_rows(files)
                files = rows.files
                result = _table(name, rows.table, f"{reader(name).about}", len(files.files))
            if files.outside and result.proposal is not None:
                raise SchemaError("a proposal quotes names and cells")
    note = files.unread_note
    return replace(result, why=f"{result.why}; {note}" if note else result.why, unread=note, opened=files)


def format_of(source: object, *, encoding: str | None = None, mapped: bool = False) -> str:
    """Name of the reader that :func:`judgestats.read` takes for a source, without reading it all."""
    if is_table(source):
        return "table"
    files = resolve(source, encoding, strict=False)
    tool = None if mapped else native_reader(files)[0]
    return tool.name if tool is not None else plain_name(files)


def _kind(tool: Reader) -> Kind | None:
    return None if tool.frame == "either" else tool.frame


def _table(name: str, table: IntoFrame, about: str, count: int) -> DetectedFormat:
    columns = column_names(table)
    try:
        kind = kind_of(columns, OUTCOMES)
    except SchemaError:
        proposal = suggest_mapping(table)
        why = f"{about}; its columns ({', '.join(columns)}) are neither those of a known tool nor canonical"
        return DetectedFormat(name, None, "needs a mapping", why, count, proposal)
    return DetectedFormat(name, kind, "canonical", f"{about}; it has the columns of a {kind} frame", count)


def column_names(table: IntoFrame) -> list[str]:
    """Column names of any frame."""
    return list(opened(table).collect_schema().names())


def plain_name(files: Files) -> str:
    """Name of the plain reader for these files."""
    if files.files[0].container == "eval":
        raise files.files[0].no_table
    return "calls" if files.calls else files.files[0].container


def native_reader(files: Files) -> tuple[Reader | None, str, Files]:
    """Find the tool that wrote these files; all files must be of one format."""
    if files.calls:
        tool, why = _recognised(files.files[0])
        return tool, why, files
    files, verdicts = files.each(_recognised if len(files.files) == 1 else _recognised_with_records)
    listed = list(zip(files.files, verdicts, strict=True))
    names = {tool.name if tool else file.container for file, (tool, _) in listed}
    if len(names) > 1:
        examples = "; ".join(
            f"{files.relative(f)}: {tool.name if tool else f.container}" for f, (tool, _) in listed[:6]
        )
        raise SchemaError(
            f"{files.label} mixes formats ({examples}). Pass format= to take the files of one format and leave the "
            "others, or give a glob that takes one format.",
            advice=(("format", None),),
        )
    return *verdicts[0], files


def _evidence(file: File, documents: bool) -> Fields:
    """What a reader recognises a file by; see :class:`judgestats.ingest.readers.Reader`."""
    if file.container == "eval":
        return dict.fromkeys(file.document().names()) if documents else {}
    if file.container not in ("json", "jsonl"):
        return {} if documents else dict.fromkeys(file.column_names())
    if documents:
        document = file.document() if file.container == "json" else None
        return document if isinstance(document, dict) else {}
    record = file.first_record()
    if record is None:
        raise SchemaError(f"{file.path.name} holds no records.")
    return record


def _recognised(file: File) -> tuple[Reader | None, str]:
    """Find the tool that wrote a file: by the whole object of a JSON file first, then by its first record."""
    for documents in (True, False):
        evidence = _evidence(file, documents)
        for candidate in native_readers():
            if candidate.matches and (candidate.records is not None) is documents:
                why = candidate.matches(evidence) if evidence and file.container in candidate.containers else ""
                if why:
                    return candidate, why
    return None, ""


def _recognised_with_records(file: File) -> tuple[Reader | None, str]:
    """As :func:`_recognised`; raises for the log of a tool that has a head only."""
    tool, why = _recognised(file)
    if tool is not None and tool.records is not None:
        next(iter(file.records_for(tool.records)), None)
    return tool, why


def native_table(table: IntoFrame) -> Reader | None:
    """Find the tool that gave a frame, by the names of its columns."""
    index = table.index.names if isinstance(table, pd.DataFrame) else ()
    names = dict.fromkeys([*column_names(table), *(n for n in index if n is not None)])
    able = (r for r in native_readers() if "parquet" in r.containers and r.matches and r.matches(names))
    return next(able, None)


def logs(chosen: Reader, files: Files) -> Iterator[Log]:
    """Records of native files, file by file; a folder of calls is numbered through; its paths may give options."""
    parts = files.pattern.names if files.pattern is not None else []
    for i, file in enumerate(files.files):
        said = {n: v for n, v in files.said(file).items() if n in parts and n in chosen.options}
        yield Log(file.path, _records_of(file, chosen), i if files.calls else 0, said)


def _records_of(file: File, chosen: Reader) -> Iterator[Record]:
    """Records of a file, which is opened when the first is asked for."""
    yield from file.records_for(chosen.records)


def find_files(
    source: Any,
    encoding: str | None = None,
    format: str | None = None,
    path: str = "",
    table: str = "",
    *,
    strict: bool = False,
) -> Files:
    """Find the files of a source; with `format`, those of a folder or glob that are of that format."""
    if isinstance(source, Files):
        return source
    if format is None:
        return resolve(source, encoding, pattern=path, table=table, strict=strict)
    chosen = reader(format)

    def why_left(file: File) -> str:
        if chosen.rows is None:
            kinds = [f for f in dict.fromkeys(SUFFIXES.values()) if f == ("json" if format == "calls" else format)]
            return "" if file.container in kinds else file.container
        if file.container not in chosen.containers:
            return file.container
        tool = _recognised(file)[0]
        return "" if tool is chosen else tool.name if tool is not None else file.container

    return resolve(source, encoding, pattern=path, table=table, why_left=why_left, strict=strict)
