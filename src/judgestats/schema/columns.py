"""The column vocabulary of the two canonical frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from judgestats.errors import SchemaError, refuse_unknown

Kind = Literal["preferences", "ratings"]
Type = Literal["text", "category", "integer", "number", "boolean"]
#: A grouping argument: one column name, or several, or none.
By = str | Sequence[str] | None

#: The reserved column of declared counts: how many identical calls a row stands for.
COUNTS = "n_identical"
#: The column of counts of a tally, and of the denominator of a result.
N = "n"
#: The column of the reply that an answer came in, of which several criteria, or pairs of a ranking, may be.
CALL = "call"
#: Whole numbers are below it.
LARGEST = 9.2e18
#: What a judge can answer. ``abstain`` counts as no preference, ``invalid`` is excluded.
CHOICES = ("first", "second", "tie", "abstain", "invalid")
#: What to do where no column holds the judge.
ONE_JUDGE = "If one judge gave all, name it: read(..., columns={'judge': '=NAME'}), or frame.assign(judge='NAME')."
#: Why a call is invalid: no reply (``missing``), one without text (``empty``), one that ends too early, ...
STATUSES = (
    *("ok", "parse", "schema", "semantic", "leak", "refused", "truncated", "empty", "error", "missing"),
    "missing partner",
)
#: Words for yes and for no, in lower case.
YES = ("1", "true", "yes", "y", "t", "1.0", "right", "correct", "pass", "passed")
NO = ("0", "false", "no", "n", "f", "0.0", "wrong", "incorrect", "fail", "failed")
#: Columns that hold what a rating came to: the first of them that is there.
ANSWERS = ("score", "correct", "mean", "answer")
#: Those of a table that may become ratings: the place of the chosen option is an answer where there is no other.
OUTCOMES = (*ANSWERS, "shown_at")
#: Those of ANSWERS that hold no number.
VERDICTS = ("correct", "answer")
#: Conditions whose values are separate instruments.
INSTRUMENTS = ("prompt", "strategy", "probe")
#: Columns that are conditions of a call where they vary.
CONDITIONS = (
    "strategy",
    "scheme",
    "probe",
    "prompt",
    "bias",
    "task",
    "topic",
    "temperature",
    "condition",
    "tier",
    "domain",
)
#: What the judge was shown, in a datasheet design.
STIMULI = ("vacuum", "same_subset", "different_subset", "ladder", "filler")


@dataclass(frozen=True)
class Column:
    """One column of a canonical frame."""

    name: str
    type: Type  # what it holds
    meaning: str  # one line, for people
    required: bool = False  # whether the frame is nothing without it
    allowed: tuple[str, ...] = ()  # the values of a category; empty when any value will do
    key: bool = False  # whether it says *which* call this is (True) or what came of it (False)
    default: object = None  # what an absent column stands for


PREFERENCES: tuple[Column, ...] = (
    Column("judge", "text", "who judged", required=True, key=True),
    Column("item", "text", "what was judged: a prompt, a document", required=True, key=True),
    Column("first", "text", "candidate shown first", required=True, key=True),
    Column("second", "text", "candidate shown second", required=True, key=True),
    Column("choice", "category", "the answer, by position as shown", required=True, allowed=CHOICES),
    Column("replicate", "integer", "repeat of the same call", key=True, default=0),
    Column("pair", "text", "the unordered pair", key=True),
    Column("order_known", "boolean", "whether first and second are the order as shown", default=True),
    Column("ties_allowed", "boolean", "whether the judge could answer tie", default=True),
    Column("status", "category", "why a call is invalid", allowed=STATUSES, default="ok"),
    Column("strength", "number", "graded preference, 0 first to 1 second"),
    Column("gold", "text", "the right answer: a candidate, or tie"),
    Column("better", "text", "the better candidate by construction"),
    Column("target", "text", "the candidate that carries the attribute under test"),
    Column("bias", "text", "name of the bias under test", key=True),
    Column("stimulus", "category", "arm of a datasheet design", allowed=STIMULI, key=True),
    Column("vacuum_kind", "text", "empty, whitespace or identical", key=True),
    Column("delta", "number", "difference in quality, in steps of the ladder", key=True),
    Column("task", "text", "task or benchmark", key=True),
    Column("topic", "text", "topic", key=True),
    Column("strategy", "text", "judging strategy", key=True),
    Column("scheme", "text", "judging scheme", key=True),
    Column("probe", "text", "cue shown with the candidates", key=True),
    Column("prompt", "text", "judge prompt", key=True),
    Column("temperature", "number", "sampling temperature", key=True),
    Column(CALL, "text", "the reply that it came in, perhaps with others"),
    Column("rationale", "text", "the judge's reasons"),
    Column("reply_form", "text", "form of the reply that gave the answer"),
    Column("reply_note", "text", "why a reply gave no answer, or self-reported runs"),
    Column("cost", "number", "cost of the call"),
    Column("latency", "number", "seconds the call took"),
    Column(COUNTS, "integer", "how many identical calls the row stands for", default=1),
)

RATINGS: tuple[Column, ...] = (
    Column("judge", "text", "who judged", required=True, key=True),
    Column("system", "text", "whose response it was; absent where one thing is judged", key=True, default=""),
    Column("item", "text", "what was judged: a prompt, a document", required=True, key=True),
    Column("criterion", "text", "what was rated", key=True, default="overall"),
    Column("score", "number", "the score; or correct; or answer; or mean, sd and runs", required=True),
    Column("correct", "boolean", "the verdict, where it is right or wrong"),
    Column("answer", "category", "the verdict, where it is a class"),
    Column("shown_at", "integer", "place, from 1, at which the chosen option was shown"),
    Column("gold_at", "integer", "place, from 1, at which the right option was shown"),
    Column("n_options", "integer", "how many options were shown"),
    Column("mean", "number", "mean score over runs"),
    Column("sd", "number", "standard deviation over runs"),
    Column("runs", "integer", "number of runs behind a mean"),
    Column("replicate", "integer", "repeat of the same call", key=True, default=0),
    Column("condition", "text", "condition of the run", key=True),
    Column("temperature", "number", "sampling temperature", key=True),
    Column("task", "text", "task or benchmark", key=True),
    Column("tier", "text", "quality tier of the system", key=True),
    Column("domain", "text", "domain of the item", key=True),
    Column("status", "category", "why a score is missing", allowed=(*STATUSES, "off scale", "undecided"), default="ok"),
    Column(CALL, "text", "the reply that it came in, perhaps with others"),
    Column("rationale", "text", "the judge's reasons"),
    Column("reply_form", "text", "form of the reply that gave the answer"),
    Column("reply_note", "text", "why a reply gave no answer, or self-reported runs"),
    Column(COUNTS, "integer", "how many identical calls the row stands for", default=1),
)

VOCABULARY: dict[str, tuple[Column, ...]] = {"preferences": PREFERENCES, "ratings": RATINGS}


#: Columns that distinguish two pairs, besides judge, item and the candidates.
UNIT_COLUMNS = (
    "replicate",
    "task",
    "topic",
    "stimulus",
    "vacuum_kind",
    "delta",
    "bias",
    "strategy",
    "scheme",
    "probe",
    "prompt",
    "temperature",
)


def required(kind: Kind) -> list[str]:
    """Names a frame of this kind must have (``score`` may be replaced by another of :data:`ANSWERS`)."""
    return [c.name for c in VOCABULARY[kind] if c.required]


def answer_column(present: Iterable[str], outcomes: Sequence[str] = ANSWERS) -> str:
    """Column of a ratings frame that holds the answers, the first of `outcomes`; ``score`` where there is none."""
    present = set(present)
    return next((c for c in outcomes if c in present), "score")


def outcome_columns(kind: Kind, present: Iterable[str]) -> set[str]:
    """Canonical columns that say what came of a call; an ``answer`` beside a score may be that of the system."""
    beside = kind == "ratings" and answer_column(present) != "answer"
    return {c.name for c in VOCABULARY[kind] if not c.key} - ({"answer"} if beside else set())


def key_columns(kind: Kind, present: Iterable[str]) -> list[str]:
    """Canonical key columns among `present`, in canonical order."""
    present = set(present)
    return [c.name for c in VOCABULARY[kind] if c.key and c.name in present]


def names(by: By) -> list[str]:
    """Return a ``by`` argument as a list of names; None names nothing."""
    if by is not None and not isinstance(by, Iterable):
        raise SchemaError(f"by={by!r} is no name of a column. Give a name, or a list of names.")
    return [by] if isinstance(by, str) else list(by or ())


def grouping(by: By, present: Iterable[str], what: str = "frame", argument: str = "by") -> list[str]:
    """Return `by` as a list of names, each once and each a column; `what` has the columns, `argument` asks for them."""
    present = list(present)
    wanted = list(dict.fromkeys(names(by)))
    for name in wanted:
        if name == N and name in present:
            raise SchemaError(
                f"by={N!r}: a result has a column {N!r} of its own, the verdicts behind each estimate. Rename yours; "
                f'preferences(frame, counts=False) and ratings(frame, counts=False) keep it as "{N}_source".',
                advice=(("counts", False),),
            )
        refuse_unknown(
            name, present, f"{argument}={name!r} is not a column of the {what}", "Columns", error=SchemaError
        )
        if argument in ("by", "cluster") and name == verdicts_column(present):
            raise SchemaError(
                f"{argument}={name!r}: the column {name!r} holds the verdicts, which are measured in each group. Name "
                f"another column: {', '.join(c for c in present if c != name)}."
            )
    return wanted


def verdicts_column(present: Iterable[str]) -> str | None:
    """Column that holds the verdicts of a frame of ratings; None for other tables."""
    present = set(present)
    column = answer_column(present)
    return column if {"judge", "item", column} <= present and "first" not in present else None


def kind_of(columns: Iterable[str], outcomes: Sequence[str] = ANSWERS) -> Kind:
    """Tell which canonical frame has these columns; one of ratings has any of `outcomes`."""
    have = set(columns)
    if have >= set(required("preferences")):
        return "preferences"
    if have >= {"judge", "item"} and have & set(outcomes) and not have & {"first", "second"}:
        return "ratings"
    listed = ", ".join(map(str, columns)) or "none"
    raise SchemaError(
        f"This is neither canonical frame. Columns: {listed}. A preferences frame needs "
        f"{', '.join(required('preferences'))}; a ratings frame needs judge, item and score (or correct, answer or "
        "mean). Map your columns with preferences(frame, judge='...', ...) or ratings(frame, judge='...', ...); "
        "suggest_mapping(frame) proposes how."
    )


def unit_columns(present: Iterable[str], groups: Iterable[str]) -> list[str]:
    """Columns that distinguish two pairs, besides the candidates."""
    present = list(present)
    return list(dict.fromkeys(["judge", "item", *(c for c in UNIT_COLUMNS if c in present), *groups]))
