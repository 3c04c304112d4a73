"""The contract of a reader: facts about one format, and the function that turns a record of it into rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from judgestats.errors import SchemaError, suggestion
from judgestats.ingest.files import Container, json_document, json_lines
from judgestats.ingest.files import Record as Record
from judgestats.schema.account import Account, Exclusion
from judgestats.schema.columns import CONDITIONS, VOCABULARY, N

Frame = Literal["preferences", "ratings", "either"]

#: Who gave a verdict: column ``rater_type`` of a log where models, code and people stand side by side.
RATER_TYPES = ("model", "code", "human")
#: Longest text that is kept as a condition.
_LONGEST = 200
_CANONICAL = ({c.name for columns in VOCABULARY.values() for c in columns} | {N}) - set(CONDITIONS)
#: Options that every reader takes.
COMMON_OPTIONS = {"encoding": "encoding of the file, if not UTF-8"}
#: Options of readers that give ratings.
RATING_OPTIONS = {"scale": "lowest and highest score", "off_scale": "'error' or 'missing'"}


@dataclass(frozen=True)
class Place:
    """Where a record stands, as passed to a reader with the record.

    `path`: its file; some tools keep the judge or the condition in the name.
    `name`: ``line 12``, ``sample q7, epoch 2``.
    `index`: number of the record, from 0.
    `excluded`: what the reader excludes; see :meth:`exclude`.
    """

    path: Path
    name: str
    index: int
    excluded: list[Exclusion] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.path.name}, {self.name}"

    def need(self, record: Mapping[str, Any], name: str) -> Any:
        """Return a field of a record; a missing field is a SchemaError."""
        if name not in record:
            raise SchemaError(
                f"{self}: the record lacks {name!r}. It has: {', '.join(map(str, record)) or 'nothing'}."
                f"{suggestion(name, map(str, record))}"
            )
        return record[name]

    def wrong(self, what: str, got: Any, allowed: str) -> SchemaError:
        """Build the error for a value that the format does not have."""
        return SchemaError(f"{self}: {what} is {str(got)[:60]!r}. Allowed: {allowed}.")

    def exclude(self, reason: str, part: str = "", cure: str = "", n: int = 1) -> None:
        """Say that the record, or a part of it, gives no row: ``place.exclude("no score", "scorer model_grade")``."""
        self.excluded.append(Exclusion(f"{self}, {part}" if part else str(self), reason, cure, n))


@dataclass(frozen=True)
class Log:
    """The records of one native file.

    `path`: the file. `records` (place, record): all of them. `first`: number of the first record.
    """

    path: Path
    records: Iterable[Record]
    first: int = 0


@dataclass(frozen=True)
class Reader:
    """One format.

    Attributes
    ----------
    name : str
        As in ``format=``.
    frame : {'preferences', 'ratings', 'either'}
        What it gives; ``either`` only for plain tables.
    about : str
        One line.
    example : str
        What such a file looks like.
    both_orders, order_known : str
        Facts about the design that the format records: ``yes``, ``no``, ``n/a``.
    verdicts_in : str
        ``position frame`` (the verdict names what was shown first or second), ``item frame`` (it names the response),
        or ``as mapped``.
    matches : callable, optional
        First record -> the evidence that it is this format, or an empty string. The first record of a JSON file that
        holds one object is that object; of a table or frame, its column names with empty values. None for plain tables.
    rows : callable, optional
        ``rows(record, place, **options)`` -> the rows of one record, each a dict with canonical columns; further
        columns are conditions. A record that gives no row is excluded, with the reason given to ``place.exclude``.
    records : callable, optional
        ``records(document, path)`` -> (place, record) of each record in a JSON object or an archive, where the object
        is not itself the record.
    options : mapping
        Keyword arguments of :func:`judgestats.read` that `rows` takes, with what they do.
    containers : tuple of str
        Kinds of file that it may stand in: ``json``, ``jsonl``; ``csv``, ``tsv``, ``parquet`` for tables and frames.
    fields : mapping
        Field of the record -> what it becomes; printed in docs/formats.md.
    sample : str
        What the tests read: a public sample, a file that the tool's package writes, or its documented schema.
    """

    name: str
    frame: Frame
    about: str
    example: str
    both_orders: str = "n/a"
    order_known: str = "n/a"
    verdicts_in: str = ""
    matches: Callable[[Mapping[str, Any]], str] | None = None
    rows: Callable[..., Iterable[Mapping[str, Any]]] | None = None
    records: Callable[[Any, Path], Iterable[Record]] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[Container, ...] = ("json", "jsonl")
    fields: Mapping[str, str] = field(default_factory=dict)
    sample: str = ""

    def table(self, logs: Iterable[Log], **options: Any) -> tuple[pd.DataFrame, Account]:
        """Read the records of all files: the rows, and what became of each record.

        A file without records, or logs without a row, are a SchemaError.
        """
        rows: list[Mapping[str, Any]] = []
        places: list[str] = []
        excluded: list[Exclusion] = []
        n = 0
        for log in logs:
            before = n
            for name, record in log.records:
                place = Place(log.path, name, n - before + log.first, excluded)
                known = len(rows), len(excluded)
                rows.extend(self.rows(record, place, **options) if self.rows is not None else ())
                places.extend([str(place)] * (len(rows) - known[0]))
                if (len(rows), len(excluded)) == known:
                    place.exclude("no verdict in the record")
                n += 1
            if n == before:
                raise SchemaError(f"{log.path.name} holds no records for the {self.name} format.")
        if not rows:
            reasons = dict.fromkeys(e.reason for e in excluded)
            raise SchemaError(
                f"{excluded[0].place.partition(',')[0]}: the {self.name} format was recognised, and none of its "
                f"{n:,} record{'s' * (n != 1)} holds a verdict ({'; '.join(reasons)}). Nothing was read."
            )
        return tidy(rows), Account(n, places, tuple(excluded))

    @property
    def all_options(self) -> dict[str, str]:
        """All options of the reader."""
        rating = RATING_OPTIONS if self.frame != "preferences" else {}
        return {**COMMON_OPTIONS, **rating, **self.options}


def only(options: Mapping[str, Any], allowed: Mapping[str, str], what: str) -> None:
    """Raise if an option is not allowed."""
    for name in options:
        if name not in allowed:
            listed = "; ".join(f"{k} ({v})" for k, v in allowed.items())
            raise SchemaError(f"{name!r} is not an option for {what}. Allowed: {listed}.{suggestion(name, allowed)}")


def has(record: Mapping[str, Any], *names: str) -> bool:
    """Whether a record has all these fields."""
    return all(name in record for name in names)


def scalars(record: Mapping[str, Any], used: Iterable[str] = ()) -> dict[str, Any]:
    """Fields of a record that hold one value and are not `used`: they become condition columns.

    Texts of more than 200 characters are left out. A field with the name of a canonical column that is
    no condition ends in ``_source``.

    >>> scalars({"id": 7, "model": "m", "usage": {"tokens": 3}, "note": None, "mean": 2}, used=["id"])
    {'model': 'm', 'note': None, 'mean_source': 2}
    """
    known = set(used)
    return {
        f"{k}_source" if k in _CANONICAL else k: v
        for k, v in record.items()
        if k not in known
        and (v is None or isinstance(v, int | float | bool) or (isinstance(v, str) and len(v) <= _LONGEST))
    }


def beneath(record: Any, name: str) -> dict[str, Any]:
    """Single values of an object inside a record, under names of their own.

    >>> beneath({"vars": {"topic": "law", "text": "x" * 300}}, "vars")
    {'vars.topic': 'law'}
    """
    return scalars({f"{name}.{k}": v for k, v in part(record, name).items()})


def against(baseline: str, model: str) -> str:
    """Name of the baseline, distinct from the model even if a model meets itself (two answers, so two candidates).

    >>> against("gpt-4", "gpt-4"), against("gpt-4", "phi-3")
    ('gpt-4 (baseline)', 'gpt-4')
    """
    return f"{baseline} (baseline)" if baseline == model else baseline


def length(text: Any) -> float:
    """Number of characters of a text; NaN without one."""
    return float(len(text)) if isinstance(text, str) else float("nan")


def number(value: Any) -> float:
    """A number as a float; NaN for anything else, true and false among it."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")


def graded(value: Any) -> float:
    """A score as a float, true as 1 and false as 0; NaN for anything else.

    >>> graded(True), graded(3), graded("3")
    (1.0, 3.0, nan)
    """
    try:
        return float(value) if isinstance(value, int | float) else float("nan")
    except OverflowError:
        return float("nan")


def part(record: Any, *names: str) -> dict[str, Any]:
    """The object under the first of these names that holds one; empty without.

    >>> part({"metricsData": None, "metrics": {"a": 1}}, "metricsData", "metrics")
    {'a': 1}
    """
    values = (record.get(name) for name in names) if isinstance(record, Mapping) else ()
    return next((v for v in values if isinstance(v, dict)), {})


def beside(path: Path) -> dict[str, Any]:
    """The JSON object in a file beside a log; empty if there is no such file.

    `path`: the other file. Raises SchemaError if it is damaged.
    """
    found = json_document(path) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def first_line(path: Path) -> dict[str, Any]:
    """The first record of a JSONL file, for formats that begin with a header; empty if there is no such file."""
    if not path.is_file():
        return {}
    state = path.stat()
    return _first_line(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _first_line(path: Path, *_: int) -> dict[str, Any]:
    return next((record for _, record in json_lines(path)), {})


def words(text: Any) -> str | None:
    """Return a text, or None where it is empty or something else."""
    return text if isinstance(text, str) and text else None


def tidy(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table, without the optional columns that no row fills."""
    table = pd.DataFrame(list(rows))
    empty = [c for c in table.columns if c not in ("choice", "score") and table[c].isna().all()]
    return table.drop(columns=empty)
