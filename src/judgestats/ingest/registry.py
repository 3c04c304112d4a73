"""All formats, in the order in which they are tried."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from judgestats.errors import JudgestatsError, SchemaError, masked, suggestion
from judgestats.ingest.file_heads import Container
from judgestats.ingest.json_values import Fields
from judgestats.ingest.native import (
    alpaca_eval,
    arena_hard,
    argilla,
    deepeval,
    every_eval_ever,
    fastchat,
    helm,
    inspect_ai,
    inspect_ai_frame,
    inspect_scout,
    judgebench,
    label_studio,
    langfuse,
    llmbar,
    lm_eval,
    mlflow,
    openai_evals,
    phoenix,
    promptfoo,
    ragas,
    trec_qrels,
)
from judgestats.ingest.readers import Place, Reader, Record
from judgestats.ingest.separators import DELIMITERS
from judgestats.schema.columns import VOCABULARY

#: Further options of plain tables.
PLAIN_OPTIONS = {"decimal": "decimal mark of the numbers: ',', or '.' where commas separate thousands"}
#: And of tables in text.
TEXT_OPTIONS = {
    **PLAIN_OPTIONS,
    "sep": "separator of the columns, if it is not the one that the first rows show",
    "header": "False where the first line is no header; the columns are then field_1, field_2, ...",
    "names": "names of the columns of a table without a header",
}


def _plain(name: str, about: str, example: str) -> Reader:
    options = TEXT_OPTIONS if name in DELIMITERS else PLAIN_OPTIONS
    return Reader(name, "either", about, example, "as mapped", "as mapped", "as mapped", options=options)


#: Log formats of tools.
NATIVE: tuple[Reader, ...] = (
    fastchat.PAIR,
    fastchat.SINGLE,
    arena_hard.V2,
    arena_hard.V01,
    judgebench.READER,
    llmbar.READER,
    alpaca_eval.READER,
    inspect_ai.LOG,
    inspect_ai_frame.SAMPLES,
    inspect_scout.LABELS,
    inspect_scout.SCAN,
    promptfoo.READER,
    promptfoo.LINES,
    deepeval.READER,
    ragas.ANNOTATIONS,
    ragas.FRAME,
    helm.STATE,
    helm.STATS,
    lm_eval.READER,
    openai_evals.READER,
    every_eval_ever.READER,
    trec_qrels.READER,
    langfuse.READER,
    mlflow.READER,
    phoenix.READER,
    argilla.READER,
    label_studio.PAIRWISE,
    label_studio.RATINGS,
)
#: Tables with canonical columns, or of any shape with a mapping.
PLAIN: tuple[Reader, ...] = (
    _plain(
        "csv",
        "table separated by commas or semicolons; every row as wide as the header",
        "judge,item,first,second,choice",
    ),
    _plain("tsv", "tab-separated table", "judge<TAB>item<TAB>first<TAB>second<TAB>choice"),
    _plain("json", 'list of records, dict of columns, or {"data": [...]}', '[{"judge": ..., "item": ..., ...}, ...]'),
    _plain("jsonl", "one record a line", '{"judge": ..., "item": ..., "first": ..., "second": ..., "choice": ...}'),
    _plain("parquet", "Parquet table", "table.parquet"),
    _plain("arrow", "Feather, Arrow IPC", "table.feather"),
    _plain("orc", "ORC table", "table.orc"),
    _plain("excel", "a sheet of an Excel workbook; its first row is the header", "table.xlsx"),
    _plain("sqlite", "a table of an SQLite database", "calls.sqlite"),
    _plain(
        "calls",
        "folder with one JSON per call; parts of the path become path_1, path_2, ..., file",
        "runs/gpt-4/call_17.json",
    ),
)
#: Group of the entry points by which another package adds readers.
GROUP = "judgestats.readers"
_CONTAINERS = frozenset(get_args(Container))


@cache
def native_readers() -> tuple[Reader, ...]:
    """Readers of tools' logs in the order in which they are tried: ours, then entry points ``judgestats.readers``."""
    taken = list(NATIVE)
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        try:
            added: Any = point.load()
            fault = _fault(added, {r.name for r in (*taken, *PLAIN)})
        except (Exception, SystemExit) as problem:  # whatever another package raises
            fault = f"could not be loaded ({_said(problem)})"
        if fault:
            _warn(f"{_whose(point)} {fault}. It is left out; repair or remove that package.")
        else:
            taken.append(_guarded(added, _whose(point)))
    return tuple(taken)


def _fault(added: object, names: set[str]) -> str:
    """Why what an entry point gives is no further reader; empty if it is one."""
    if not isinstance(added, Reader) or not callable(added.matches) or not callable(added.rows):
        return f"is a {type(added).__name__}, not a judgestats.ingest.Reader with matches= and rows="
    if added.name in names:
        return f"names a reader {added.name!r}, and there is one"
    if not isinstance(added.name, str) or added.frame not in VOCABULARY or not isinstance(added.options, Mapping):
        return f"is a reader with name={added.name!r}, frame={added.frame!r} and options={added.options!r}"
    return "" if set(added.containers) <= _CONTAINERS else f"has containers={added.containers!r}"


def _guarded(added: Reader, whose: str) -> Reader:
    """A reader of another package: where its `matches` fails it does not match, and its other errors name it."""
    matches, rows, records = added.matches, added.rows, added.records

    def matching(evidence: Fields) -> str:
        try:
            return str((matches and matches(evidence)) or "")
        except (Exception, SystemExit) as problem:
            _warn(f"{whose} failed to tell whether a file is of its format ({_said(problem)}). It is left out.")
            return ""

    def own(give: Any, sort: type, where: Any, *args: Any, **options: Any) -> Iterator[Any]:
        try:
            for one in give(*args, **options):
                if not isinstance(one, sort):
                    raise TypeError(f"it gave a {type(one).__name__} in place of a {sort.__name__}")
                yield one
        except JudgestatsError:
            raise
        except (Exception, SystemExit) as problem:
            raise SchemaError(
                f"{where}: {whose} failed ({_said(problem)}). Nothing was read. Repair or remove that package, or name "
                "another format (format=).",
                advice=(("format", None),),
            ) from None

    def yielded(record: Any, place: Place, **options: Any) -> Iterator[Fields]:
        return own(rows, Mapping, place, record, place, **options)

    def opened(document: Any, path: Path) -> Iterator[Record]:
        return own(records, tuple, path.name, document, path)

    return replace(added, matches=matching, rows=yielded, records=opened if records is not None else None)


def _said(problem: BaseException) -> str:
    return masked(f"{type(problem).__name__}: {problem}")[:300]


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=2)


def _whose(point: EntryPoint) -> str:
    package = f"the package {point.dist.name}" if point.dist is not None else "a package"
    return f"The entry point {point.name!r} ({GROUP}) of {package}"


def readers() -> tuple[Reader, ...]:
    """All readers."""
    return (*native_readers(), *PLAIN)


def reader(name: str) -> Reader:
    """Return the reader of this name."""
    for candidate in readers():
        if candidate.name == name:
            return candidate
    names = [r.name for r in readers()]
    raise SchemaError(f"format={name!r} is not known. Formats: {', '.join(names)}.{suggestion(name, names)}")


def formats() -> pd.DataFrame:
    """List the formats that :func:`judgestats.read` reads, each plain or gzipped.

    Returns
    -------
    pandas.DataFrame
        ``name`` (for ``format=``), ``frame`` it gives, ``about``, ``example``, ``both_orders``, ``order_known``,
        ``verdicts_in`` (position frame: the verdict names what was shown first or second; item frame: it names the
        response) and ``options`` that :func:`judgestats.read` passes on.

    See Also
    --------
    read : Verdicts from a file.
    detect_format : What kind of file it is.

    Examples
    --------
    >>> formats().set_index("name").loc["judgebench", ["frame", "verdicts_in"]].tolist()
    ['preferences', 'position frame']
    """
    rows = [
        (r.name, r.frame, r.about, r.example, r.both_orders, r.order_known, r.verdicts_in, ", ".join(r.all_options))
        for r in readers()
    ]
    columns = ["name", "frame", "about", "example", "both_orders", "order_known", "verdicts_in", "options"]
    return pd.DataFrame(rows, columns=columns)
