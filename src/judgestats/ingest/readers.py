"""The record of a reader: facts about one format, and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from judgestats.errors import SchemaError, suggestion
from judgestats.ingest.files import Record

Frame = Literal["preferences", "ratings", "either"]

#: Options that every reader takes.
COMMON_OPTIONS = {"encoding": "encoding of the file, if not UTF-8"}
#: Options of readers that give ratings.
RATING_OPTIONS = {"scale": "lowest and highest score", "off_scale": "'error' or 'missing'"}


@dataclass(frozen=True)
class Log:
    """The records of one native file, as passed to its reader.

    `path`: the file; some tools keep the judge or the condition in its name.
    `records` (place, record): all of them.
    """

    path: Path
    records: Sequence[Record]


@dataclass(frozen=True)
class Reader:
    """One format.

    `name`: as in ``format=``.
    `frame`: what it gives.
    `about`: one line.
    `example`: what such a file looks like.
    `both_orders`, `order_known`: facts about the design that the format records.
    `verdicts_in`: ``position frame`` (the verdict names what was shown first or second), ``item frame`` (it names the
    response), or ``as mapped``.
    `matches`: first record -> the reason why it is this format, or an empty string. None for plain tables.
    `read`: (:class:`Log`, **options) -> table with canonical columns. None for plain tables.
    `options`: keyword arguments of :func:`judgestats.read` that it takes, with what they do.
    """

    name: str
    frame: Frame
    about: str
    example: str
    both_orders: str
    order_known: str
    verdicts_in: str
    matches: Callable[[Mapping[str, Any]], str] | None = None
    read: Callable[..., pd.DataFrame] | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def table(self, log: Log, **options: Any) -> pd.DataFrame:
        """Read the records of one file; a file without records is a SchemaError."""
        if self.read is None or not log.records:
            raise SchemaError(f"{log.path.name} holds no records for the {self.name} format.")
        return self.read(log, **options)

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


def need(record: Mapping[str, Any], name: str, log: Log, place: str) -> Any:
    """Return a field of a record; a missing field is a SchemaError."""
    if name not in record:
        raise SchemaError(
            f"{log.path.name}, {place}: the record lacks {name!r}. It has: {', '.join(map(str, record)) or 'nothing'}."
            f"{suggestion(name, map(str, record))}"
        )
    return record[name]


def wrong(log: Log, place: str, what: str, got: Any, allowed: str) -> SchemaError:
    """Build the error for a value that the format does not have."""
    return SchemaError(f"{log.path.name}, {place}: {what} is {str(got)[:60]!r}. Allowed: {allowed}.")


def has(record: Mapping[str, Any], *names: str) -> bool:
    """Whether a record has all these fields."""
    return all(name in record for name in names)


def against(baseline: str, model: str) -> str:
    """Name of the baseline, distinct from the model even if a model meets itself (two answers, so two candidates).

    >>> against("gpt-4", "gpt-4"), against("gpt-4", "phi-3")
    ('gpt-4 (baseline)', 'gpt-4')
    """
    return f"{baseline} (baseline)" if baseline == model else baseline


def length(text: Any) -> float:
    """Number of characters of a text; NaN without one."""
    return float(len(text)) if isinstance(text, str) else float("nan")


def words(text: Any) -> str | None:
    """Return a text, or None where it is empty or something else."""
    return text if isinstance(text, str) and text else None


def tidy(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table, without the optional columns that no row fills."""
    table = pd.DataFrame(list(rows))
    empty = [c for c in table.columns if c not in ("choice", "score") and table[c].isna().all()]
    return table.drop(columns=empty)
