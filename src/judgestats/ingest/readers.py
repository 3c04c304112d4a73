"""The contract of a reader: facts about one format, and the function that turns a record of it into rows."""

from __future__ import annotations

import ast
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pandas as pd

from judgestats.errors import SchemaError, printable, suggestion
from judgestats.ingest.archives import Archive as Archive
from judgestats.ingest.containers import LOG_HEADERS as LOG_HEADERS
from judgestats.ingest.containers import LOG_SAMPLE as LOG_SAMPLE
from judgestats.ingest.containers import Container
from judgestats.ingest.copies import fractions
from judgestats.ingest.json_documents import json_document
from judgestats.ingest.json_lines import json_lines
from judgestats.ingest.json_values import Record as Record
from judgestats.ingest.json_values import member_object as member_object
from judgestats.schema.account import Account, Exclusion
from judgestats.schema.columns import CONDITIONS, NO, VOCABULARY, YES, Finding, N
from judgestats.schema.opening import few

Frame = Literal["preferences", "ratings", "either"]

#: Who gave a verdict: column ``rater_type`` of a log where models, code and people stand side by side.
RATER_TYPES = ("model", "code", "human")
#: Longest text that is kept as a condition.
_LONGEST = 200
_CANONICAL = ({c.name for columns in VOCABULARY.values() for c in columns} | {N}) - set(CONDITIONS)
#: Options that every reader takes.
COMMON_OPTIONS = {"encoding": "encoding of the file, if not UTF-8"}
#: Option of readers of grades that may be categories.
SCORES = {"scores": "number of each category, such as {'good': 1, 'poor': 0}"}
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

    def exclude(self, reason: str, part: str = "", remedy: str = "", n: int = 1) -> None:
        """Say that the record, or a part of it, gives no row: ``place.exclude("no score", "scorer model_grade")``."""
        self.excluded.append(Exclusion(f"{self}, {part}" if part else str(self), reason, remedy, n))


class Word(NamedTuple):
    """A score that is a word: what it means follows from all words of its question in the files read together."""

    text: str
    question: str  # whose value it is, as ``scorer match``
    remedy: Callable[[Sequence[str]], str]  # how the user gives words a number, from the words
    letters: Mapping[str, float | bool] = MappingProxyType({})  # what others mean, beside C or I or if declared
    declared: str = ""  # where the log says what its words mean
    number: bool = False  # right and wrong are 1 and 0


#: Words that say right or wrong; of letters only both, and ``right`` only beside ``wrong``.
_WORDS = {w: meaning for words, meaning in ((YES, True), (NO, False)) for w in words if len(w) > 1 and w.isalpha()}
_PAIRS = ({"y": True, "n": False}, {"t": True, "f": False})
#: Most words of a question that are listed.
_MOST_WORDS = 8


def _meanings(words: Sequence[Word], declared: bool) -> dict[str, float | bool] | None:
    """What the words of a question mean; None unless each of them says right or wrong."""
    texts = sorted({w.text for w in words})
    lower = {text.lower() for text in texts}
    if "right" in lower and "wrong" not in lower:
        return None
    said = next((pair for pair in _PAIRS if lower == pair.keys()), _WORDS)
    letters = words[0].letters if declared or {"C", "I"} & set(texts) else {}
    meaning_of = {text: letters[text] if text in letters else said.get(text.lower()) for text in texts}
    meanings = {text: float(v) if words[0].number else v for text, v in meaning_of.items() if v is not None}
    return meanings if len(meanings) == len(texts) else None


def _coded(
    rows: list[Mapping[str, Any]], places: list[str], excluded: list[Exclusion]
) -> tuple[list[int], list[Finding]]:
    """Give words their meaning, in place; returns the rows whose words have none, and a note for each question."""
    questions: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if isinstance(row.get("score"), Word):
            questions.setdefault(row["score"].question, []).append(i)
    dropped: list[int] = []
    notes = []
    for question, at in questions.items():
        words = [rows[i]["score"] for i in at]
        declared = all(w.declared for w in words)
        meanings = _meanings(words, declared)
        if meanings is None:
            counts = Counter(w.text for w in words).most_common()
            listed = few([f"{text[:40]!r} ({n:,})" for text, n in counts], _MOST_WORDS)
            reason = f"{question} is left out: its values do not all say right or wrong: {listed}"
            remedy = words[0].remedy([text for text, _ in counts][:_MOST_WORDS])
            excluded.append(Exclusion(few([places[i] for i in at], 2), reason, remedy, len(at)))
            dropped += at
            continue
        for i, word in zip(at, words, strict=True):
            rows[i] = {**rows[i], "score": meanings[word.text]}
        said = ", ".join(f"{text} is {_MEANT.get(float(v), v)}" for text, v in meanings.items())
        by = f"as {words[0].declared} takes them" if declared else "by its values in all files"
        notes.append(Finding("counted", "", f"{question}: {said}, {by}", tuple(at)))
    return dropped, notes


#: What a number means in a note.
_MEANT = {1.0: "right", 0.0: "wrong"}


@dataclass(frozen=True)
class Log:
    """The records of one native file."""

    path: Path
    records: Iterable[Record]
    first: int = 0  # number of the first record
    options: Mapping[str, Any] = field(default_factory=dict)  # of the reader, for this file

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
    repeats: bool = False

    def table(
        self, logs: Iterable[Log], *, strict: bool = True, **options: Any
    ) -> tuple[pd.DataFrame, Account, list[int | SchemaError]]:
        """Read the records of all files: the rows, what became of each record, and how many rows each file gives."""
        rows: list[Mapping[str, Any]] = []
        places: list[str] = []
        files: list[int] = []
        excluded: list[Exclusion] = []
        left: dict[int, SchemaError] = {}
        n = number = 0
        for number, log in enumerate(logs, start=1):
            start = n, len(rows), len(excluded)
            log_options = {**log.options, **options}
            try:
                for name, record in log.opened(self.name):
                    place = Place(log.path, name, n - start[0] + log.first, excluded)
                    before = len(rows), len(excluded)
                    rows.extend(self.rows(record, place, **log_options) if self.rows is not None else ())
                    places.extend([str(place)] * (len(rows) - before[0]))
                    if (len(rows), len(excluded)) == before:
                        place.exclude("no verdict in the record")
                    n += 1
            except Unreadable as problem:
                if strict:
                    raise problem.error from None
                left[number] = problem.error
                n = start[0]
                del rows[start[1] :], places[start[1] :], excluded[start[2] :]
            files.extend([number] * (len(rows) - start[1]))
        if left and len(left) == number:
            raise next(iter(left.values())) from None
        dropped, notes = _coded(rows, places, excluded)
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
        return {**COMMON_OPTIONS, **rating, **self.options}


def refuse_other_options(
    options: Mapping[str, Any], allowed: Mapping[str, str], what: str, also: Iterable[str] = ()
) -> None:
    """Raise if an option is not allowed; `also`: arguments that a misspelt name may have meant."""
    for name in options:
        if name not in allowed:
            listed = "; ".join(f"{k} ({v})" for k, v in allowed.items())
            near = suggestion(name, [*allowed, *also])
            raise SchemaError(f"{name!r} is not an option for {what}. Allowed: {listed}.{near}")


def has_fields(record: Mapping[str, Any], *names: str) -> bool:
    """Whether a record has all these fields."""
    return all(name in record for name in names)


def having(*names: str, lead: str = "records have", lists: str = "") -> Callable[[Mapping[str, Any]], str]:
    """What recognises records by these fields, of which `lists` holds a list, and names them as the evidence."""
    evidence = f"{lead} {', '.join(names[:-1])} and {names[-1]}"
    return lambda record: (
        evidence if has_fields(record, *names) and (not lists or isinstance(record[lists], list)) else ""
    )


def scalars(record: Mapping[str, Any], used: Iterable[str] = ()) -> dict[str, Any]:
    """Short values of a record that are not `used`, as conditions; canonical names that are none get ``_source``."""
    names = set(used)
    return {
        f"{k}_source" if k in _CANONICAL else k: v
        for k, v in record.items()
        if k not in names
        and (v is None or isinstance(v, int | float | bool) or (isinstance(v, str) and len(v) <= _LONGEST))
    }


def _numbered(table: pd.DataFrame) -> pd.DataFrame:
    """Number the verdicts of one rater on one thing in one file that no condition tells apart."""
    answers = {c.name for columns in VOCABULARY.values() for c in columns if not c.key}
    keys = [c for c in table.columns if c not in answers and not fractions(table[c])]
    run = table.groupby(keys, dropna=False, sort=False).cumcount()
    return table.assign(replicate=run) if run.any() else table


def context(record: Mapping[str, Any], used: Iterable[str] = ()) -> dict[str, Any]:
    """Fields of a record of any kind, as :func:`scalars`, with empty ones as None."""
    cells = scalars({str(k): v.item() if hasattr(v, "item") else v for k, v in record.items()}, used)
    return {k: None if absent(v) else v for k, v in cells.items()}


def absent(value: Any) -> bool:
    """Whether a field is empty: null, an empty text, or NaN as a frame writes it."""
    if isinstance(value, str | Real):  # NumPy's floats are Real, and not all are float
        return value == "" or value != value
    return value is None or value is pd.NA or value is pd.NaT


def parsed_cell(value: Any) -> Any:
    """A cell that holds a list or a record, also where a table wrote it as JSON or as Python does."""
    if not isinstance(value, str):
        return value.tolist() if hasattr(value, "tolist") else value
    if value[:1] not in ("{", "["):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def category_score(value: Any, scores: Mapping[str, float] | None = None) -> float:
    """A grade as a number: a number, its text, a category that `scores` gives one; NaN for anything else."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, list | dict):
        return math.nan
    try:
        score = float({str(k): v for k, v in (scores or {}).items()}.get(str(value).strip(), value))
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return score if math.isfinite(score) else math.nan


def score_and_status(
    place: Place, question: str, value: Any, scores: Mapping[str, float] | None, *, failed: bool = False
) -> dict[str, Any] | None:
    """Score and status of a grade, missing if empty (``parse``, or ``error`` if `failed`); None if it has no number."""
    if failed or absent(value):
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


def person_name(*names: Any) -> str:
    """Name of a person: the first that is given, else ``human``."""
    return next((str(n) for n in names if not absent(n)), "human")


def fields_below(record: Any, name: str) -> dict[str, Any]:
    """Single values of an object inside a record, under names of their own."""
    return scalars({f"{name}.{k}": v for k, v in object_in(record, name).items()})


def baseline_name(baseline: str, model: str) -> str:
    """Name of the baseline, distinct from the model even if a model meets itself (two answers, so two candidates)."""
    return f"{baseline} (baseline)" if baseline == model else baseline


def length(text: Any) -> float:
    """Number of characters of a text; NaN without one."""
    return float(len(text)) if isinstance(text, str) else float("nan")


def to_number(value: Any) -> float:
    """A number as a float; NaN for anything else, true and false among it."""
    return float("nan") if isinstance(value, bool) else to_score(value)


def to_score(value: Any) -> float:
    """A score as a float, true as 1 and false as 0; NaN for anything else."""
    try:
        return float(value) if isinstance(value, int | float) else float("nan")
    except OverflowError:
        return float("nan")


def object_in(record: Any, *names: str) -> dict[str, Any]:
    """The object under the first of these names that holds one; empty without."""
    values = (record.get(name) for name in names) if isinstance(record, Mapping) else ()
    return next((v for v in values if isinstance(v, dict)), {})


def json_beside(path: Path) -> dict[str, Any]:
    """The JSON object in a file beside a log; empty if there is no such file."""
    content = json_document(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}


def first_line(path: Path) -> dict[str, Any]:
    """The first record of a JSONL file, for formats that begin with a header; empty if there is no such file."""
    if not path.is_file():
        return {}
    state = path.stat()
    return _first_line(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _first_line(path: Path, *_: int) -> dict[str, Any]:
    return next((record for _, record in json_lines(path)), {})


def as_text(text: Any) -> str | None:
    """Return a text, or None where it is empty or something else."""
    return text if isinstance(text, str) and text else None


def tidy(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
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
