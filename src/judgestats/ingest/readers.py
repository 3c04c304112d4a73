"""The contract of a reader: facts about one format, and the function that turns a record of it into rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from judgestats.errors import SchemaError, printable, suggestion
from judgestats.ingest.copies import fractions
from judgestats.ingest.file_heads import Container
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.json_values import Record as Record
from judgestats.ingest.record_fields import absent, category_score, to_number, unread
from judgestats.ingest.record_versions import Identity, Versions
from judgestats.ingest.word_scores import Word, with_classes, with_meanings
from judgestats.schema.account import Account, Exclusion
from judgestats.schema.columns import VOCABULARY

Frame = Literal["preferences", "ratings", "either"]
#: Who gave a verdict: column ``rater_type`` of a log where models, code and people stand side by side.
RATER_TYPES = ("model", "code", "human")
#: Options that every reader takes.
COMMON_OPTIONS = {"encoding": "encoding of the file, if not UTF-8"}
#: Option of readers of grades that may be categories.
SCORES = {"scores": "number of each category, such as {'good': 1, 'poor': 0}"}
#: Option of readers of logs that give ratings.
CLASSES = {"answer": "criterion whose values are classes, or several; verdicts on others are then left out"}
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
        return printable(f"{self.path.name}, {self.name}")

    def need(self, record: Fields, name: str) -> Any:
        """Return a field of a record; a missing field is a SchemaError."""
        if name not in record:
            raise SchemaError(
                f"{self}: the record lacks {name!r}. It has: {', '.join(map(str, record)) or 'nothing'}."
                f"{suggestion(name, map(str, record))}",
                problem=f"the record lacks {name!r}",
            )
        return record[name]

    def wrong(self, what: str, got: object, allowed: str) -> SchemaError:
        """Build the error for a value that the format does not have."""
        problem = f"{what} is {str(got)[:60]!r}"
        return SchemaError(f"{self}: {problem}. Allowed: {allowed}.", problem=problem)

    def exclude(self, reason: str, part: str = "", remedy: str = "", n: int = 1) -> None:
        """Say that the record, or a part of it, gives no row: ``place.exclude("no score", "scorer model_grade")``."""
        self.excluded.append(Exclusion(f"{self}, {part}" if part else str(self), reason, remedy, n))


@dataclass(frozen=True)
class Log:
    """The records of one native file."""

    path: Path
    records: Iterable[Record]
    first: int = 0  # number of the first record
    options: Fields = field(default_factory=dict)  # of the reader, for this file

    def opened(self, format: str) -> Iterator[Record]:
        """The records; a fault of the file, as against one of a record, is :class:`Unreadable`."""
        empty = True
        try:
            for record in self.records:
                empty = False
                yield record
            if empty:
                raise SchemaError(f"{self.path.name} holds no records for the {format} format.")
        except SchemaError as problem:
            raise Unreadable(problem) from None


class Unreadable(Exception):
    """A file that cannot be read; `error` is what the user sees."""

    def __init__(self, error: SchemaError) -> None:
        super().__init__(str(error))
        self.error = error


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
        holds one object is that object; of a table or frame, its column names with empty values; of an archive, the
        names of its members likewise. None for plain tables.
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
    repeats : bool
        Whether the tool may hold several verdicts of one rater on one thing: they are numbered in ``replicate``, in the
        order of the log.
    identity : Identity
        Fields that identify, replace or delete a verdict: of several versions the latest is read.
    """

    name: str
    frame: Frame
    about: str
    example: str
    both_orders: str = "n/a"
    order_known: str = "n/a"
    verdicts_in: str = ""
    matches: Callable[[Fields], str] | None = None
    rows: Callable[..., Iterable[Fields]] | None = None
    records: Callable[[Any, Path], Iterable[Record]] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    containers: tuple[Container, ...] = ("json", "jsonl")
    fields: Mapping[str, str] = field(default_factory=dict)
    sample: str = ""
    repeats: bool = False
    identity: Identity = field(default_factory=Identity)

    def table(
        self, logs: Iterable[Log], *, strict: bool = True, classes_of: str | Sequence[str] = (), **options: object
    ) -> tuple[pd.DataFrame, Account, list[int | SchemaError]]:
        """Read the records of all files: the rows, what became of each record, and how many rows each file gives."""
        rows: list[Fields] = []
        places: list[str] = []
        files: list[int] = []
        excluded: list[Exclusion] = []
        left: dict[int, SchemaError] = {}
        faults: list[tuple[Place, SchemaError, int]] = []
        versions, ends = Versions(self.identity), [0]  # the verdicts, and after each how many rows there are
        n = number = 0
        for number, log in enumerate(logs, start=1):
            start = n, len(rows), len(excluded), len(versions)
            log_options = {**log.options, **options}
            try:
                for name, record in log.opened(self.name):
                    place = Place(log.path, name, n - start[0] + log.first, excluded)
                    before = len(rows), len(excluded)
                    for verdict in self.identity.verdicts(record):
                        withdrawn = versions.add(verdict, number) if self.identity else ""
                        if withdrawn:
                            place.exclude(withdrawn, verdict.part)
                        else:
                            try:
                                new = self.rows(verdict.record, place, **log_options) if self.rows is not None else ()
                                rows.extend(new)
                            except SchemaError as problem:
                                faults.append((place, problem, len(versions)))
                        ends.append(len(rows))
                    places.extend([str(place)] * (len(rows) - before[0]))
                    if (len(rows), len(excluded)) == before:
                        place.exclude("no verdict in the record")
                    n += 1
            except Unreadable as problem:
                if strict:
                    raise problem.error from None
                left[number] = problem.error
                n = start[0]
                del rows[start[1] :], places[start[1] :], excluded[start[2] :], ends[start[3] + 1 :]
                versions.cut(start[3])
            files.extend([number] * (len(rows) - start[1]))
        things = [rows[i].get("item") if i < j else None for i, j in pairwise(ends)]
        superseded = versions.superseded(things)
        if faults := [fault for fault in faults if fault[2] - 1 not in superseded]:
            raise _together([fault[:2] for fault in faults])
        if superseded:
            gone = [range(ends[i], ends[i + 1]) for i in superseded]
            excluded += [
                Exclusion(places[at[0]], reason, "", len(at))
                for at, reason in zip(gone, superseded.values(), strict=True)
                if at
            ]
            keep = sorted({*range(len(rows))}.difference(*gone))
            rows, places, files = [rows[i] for i in keep], [places[i] for i in keep], [files[i] for i in keep]
        if left and len(left) == number:
            raise next(iter(left.values())) from None
        criteria = [c.strip() for c in classes_of.split(",")] if isinstance(classes_of, str) else [*classes_of]
        dropped, notes = (
            (with_classes(rows, places, excluded, criteria), []) if criteria else with_meanings(rows, places, excluded)
        )
        if len(dropped) == len(rows):
            reasons = dict.fromkeys(f"{e.reason}. {e.remedy}".rstrip(". ") for e in excluded)
            raise SchemaError(
                f"{excluded[0].place.partition(',')[0]}: the {self.name} format was recognised, and none of its "
                f"{n:,} record{'s' * (n != 1)} holds a verdict ({'; '.join(reasons)}). Nothing was read."
            )
        account = Account(n, places, tuple(excluded), tuple(notes)).without(dropped)
        out = set(dropped)
        table = tidy([row for i, row in enumerate(rows) if i not in out])
        table["_file"] = [file for i, file in enumerate(files) if i not in out]
        table = _numbered(table) if self.repeats else table
        sizes = Counter(table.pop("_file").tolist())
        return table, account, [left.get(i, sizes[i]) for i in range(1, number + 1)]

    @property
    def all_options(self) -> dict[str, str]:
        """All options of the reader."""
        rating = RATING_OPTIONS if self.frame != "preferences" else {}
        classes = CLASSES if self.frame == "ratings" and self.rows is not None else {}
        return {**COMMON_OPTIONS, **rating, **classes, **self.options}


def _together(faults: Sequence[tuple[Place, SchemaError]], most: int = 8) -> SchemaError:
    """The first fault of records as one error, with where the others stand and what is wrong there."""
    others = [f"{p.name}: {e.problem.removeprefix(f'{p}: ')}" for p, e in faults[1 : most + 1]]
    rest = len(faults) - 1 - len(others)
    more = f"; and {rest:,} more record{'s' * (rest != 1)}" * bool(rest)
    first = faults[0][1]
    fields = {"advice": first.advice, "reason": first.reason}
    return SchemaError(f"{first} Also {'; '.join(others)}{more}.", **fields) if others else first


def refuse_other_options(
    options: Mapping[str, object], allowed: Mapping[str, str], what: str, also: Iterable[str] = ()
) -> None:
    """Raise if an option is not allowed; `also`: arguments that a misspelt name may have meant."""
    for name in options:
        if name not in allowed:
            listed = "; ".join(f"{k} ({v})" for k, v in allowed.items())
            near = suggestion(name, [*allowed, *also])
            raise SchemaError(f"{name!r} is not an option for {what}. Allowed: {listed}.{near}")


def _numbered(table: pd.DataFrame) -> pd.DataFrame:
    """Number the verdicts of one rater on one thing in one file that no condition tells apart."""
    answers = {c.name for columns in VOCABULARY.values() for c in columns if not c.key}
    keys = [c for c in table.columns if c not in answers and not fractions(table[c])]
    run = table.groupby(keys, dropna=False, sort=False).cumcount()
    return table.assign(replicate=run) if run.any() else table


def score_and_status(
    place: Place, question: str, value: object, scores: Mapping[str, float] | None, *, failed: bool = False
) -> Row | None:
    """Score and status of a grade; ``parse`` if empty or unread, ``error`` if `failed`; None if it has no number."""
    if failed or absent(value) or unread(value):
        return {"score": math.nan, "status": "error" if failed else "parse"}
    score = category_score(value, scores)
    if not math.isnan(score):
        return {"score": score, "status": "ok"}
    if isinstance(value, str):
        return {"score": Word(value.strip(), repr(question), _by_scores, number=True), "status": "ok"}
    place.exclude(
        f"{question!r} {'has several values' if isinstance(value, list | dict) else 'is no number'}", question
    )
    return None


def _by_scores(texts: Sequence[str]) -> str:
    """How ``scores=`` gives texts a number."""
    return (
        f"scores= gives each a number: scores={{{', '.join(f'{t!r}: ...' for t in texts)}}}, on the command line "
        f"--option 'scores={','.join(f'{t}=...' for t in texts)}'"
    )


def tidy(rows: Sequence[Fields]) -> pd.DataFrame:
    """Rows as a table, without the optional columns that no row fills; verdicts beside numbers become 1 and 0."""
    table = pd.DataFrame(list(rows))
    if (
        "score" in table
        and {type(v) for v in table["score"]} & {bool}
        and any(to_number(v) == v for v in table["score"])
    ):
        table["score"] = [float(v) if isinstance(v, bool) else v for v in table["score"]]
    empty = [c for c in table.columns if c not in ("choice", "score") and table[c].isna().all()]
    return table.drop(columns=empty)
