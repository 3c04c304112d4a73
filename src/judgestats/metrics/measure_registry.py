"""The record of each measure, tried on a data set: :func:`available_measures`; and the design of the data:
:func:`describe`.

A record is written as a decorator of the function that it is about, and stands nowhere else: the sections of a page,
the words for terms, ``docs/measures.md``, the public names and the properties in the tests are read from it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from inspect import signature, unwrap
from typing import Any, Literal, TypeVar

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats import metrics
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, JudgestatsError
from judgestats.metrics.references import Baseline, Humans, labels, references
from judgestats.schema.clustering import Cluster
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import CHOICES, CONDITIONS, COUNTS, VOCABULARY, Kind, answer_column, kind_of
from judgestats.schema.counting import tally
from judgestats.schema.opening import opened
from judgestats.schema.pairing import REPEATED
from judgestats.schema.patterns import PATTERNS, Pattern
from judgestats.schema.selection import require
from judgestats.schema.splitting import KEYS, splits_of

F = TypeVar("F", bound=Callable[..., Any])

# ---- How a data set is measured --------------------------------------------------------------------------------------

#: Levels of an incomplete design whose components a page waits for.
QUICK = 500
#: Systems that are looked into one by one.
SYSTEMS = 500
#: As many candidates, or judges, as every one is compared with every other one.
MANY = 60
#: Values listed in a message.
MOST = 12


@dataclass(frozen=True)
class Options:
    """What every measure of a data set is given, as far as it takes it; and what was measured with it.

    `identity`: for ratings: system -> judge.
    `people`: answers of people, beside which the judges' are laid; None where nobody is known to be a person.
    `baseline`: column -> its control condition.
    `results`: results, and refusals, of the calls made so far, so that each is made once.
    """

    by: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)
    cluster: Cluster = "auto"
    n_resamples: int = N_RESAMPLES
    seed: int = SEED
    conf_level: float = CONF_LEVEL
    people: pd.DataFrame | None = None
    baseline: Mapping[str, str] = field(default_factory=dict)
    results: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def call(self, measure: Callable[..., Any], *data: Any, **arguments: Any) -> Any:
        """A measure with those of the groups, coverage, cluster and bootstrap that it takes and is not given."""
        known: dict[str, Any] = {
            "by": list(self.by),
            "conf_level": self.conf_level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }
        if self.cluster != "auto":  # "auto" is each measure's own default
            known["cluster"] = self.cluster
        taken = signature(measure)
        asked = {name: value for name, value in known.items() if name in taken.parameters} | arguments
        bound = taken.bind(*data, **asked)
        bound.apply_defaults()
        key = (measure, *((name, _identified(value)) for name, value in bound.arguments.items()))
        if key not in self.results:
            try:
                self.results[key] = measure(*data, **asked), bound  # keeps the data, whose identity is in the key
            except JudgestatsError as error:
                self.results[key] = error, bound
        result = self.results[key][0]
        if isinstance(result, JudgestatsError):
            raise result
        return result.copy()


def _identified(value: Any) -> Any:
    """What tells an argument from another: the value of plain ones, else the object itself."""
    if isinstance(value, Mapping):
        return tuple((k, _identified(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_identified, value))
    return value if value is None or isinstance(value, str | int | float) else id(value)


# ---- The record of a measure -----------------------------------------------------------------------------------------

#: Sections of a page and of ``docs/measures.md``, in their order.
SECTIONS = {
    "people": "Do the judges agree with people?",
    "bias": "Which way does it lean?",
    "accuracy": "Is it right?",
    "strategies": "Does another way of asking help?",
    "psychometrics": "Nothing there and equals",
    "cues": "Do cues move it?",
    "agreement": "Do the judges agree?",
    "variance": "Where does the variance come from?",
    "scores": "How are the scores spread?",
    "consensus": "How far from peers, people, truth?",
    "calibration": "What would bring the judges together?",
}
Section = Literal[
    "people", "bias", "accuracy", "strategies", "psychometrics", "cues", "agreement", "variance", "scores", "consensus",
    "calibration",
]  # fmt: skip
#: Why data cannot be measured; empty where they can.
Need = Callable[[Any, Options], str]


@dataclass(frozen=True)
class Term:
    """How a term of a result is read: its label, what ``n`` counts, which direction is bad, and a sentence."""

    name: str
    label: str = ""
    level: str = ""
    denominator: str = ""
    bad: str = ""
    meaning: str = ""
    symbol: str = "—"
    neutral: float | None = None  # the value that says: nothing found
    whole: bool = False  # a whole number, and neither a share nor a mean

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))


@dataclass(frozen=True)
class Measure:
    """What is known of a measure; a decorator of its function, which it leaves as it is.

    `question`: what it answers.
    `section`: a key of :data:`SECTIONS`.
    `input`: what it takes: P for preferences, R for ratings, counts, and whatever else.
    `interval`, `source`: how the interval comes about, and the paper that defines the measure.
    `plot`: functions of ``judgestats.plot`` that draw it, and how; empty where none does.
    `frames`: data on which :func:`available_measures` and a page try it.
    `needs`: from data and options to what is missing.
    `arguments`: from data and options to what the data suggest for its arguments.
    `take`: from data and options to estimates, where one call of the function does not do.
    `nothing`: what to say where no estimate is a number.
    `sheet`: sections of a datasheet that show it, with the one term that does after a colon.
    `caption`: how to read its picture; a page draws none without it.
    `table`: terms that a page lists; empty for all.
    `terms`: what its terms mean; another measure's are read from that.
    `name`: where it is not the function's.
    `counted_as`: the measure whose pattern it counts, where that is not its own.
    """

    question: str
    section: Section
    input: str
    interval: str
    source: str
    plot: str = ""
    frames: tuple[Kind, ...] = ()
    needs: tuple[Need, ...] = ()
    arguments: Callable[[Any, Options], Mapping[str, Any]] | None = None
    take: Callable[[Any, Options], pd.DataFrame] | None = None
    nothing: str = ""
    sheet: tuple[str, ...] = ()
    caption: str = ""
    table: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    name: str = ""
    counted_as: str = ""
    function: Callable[..., Any] = field(default=lambda: None, init=False)

    def __call__(self, function: F) -> F:
        """Enter the record of a function."""
        name = self.name or function.__name__
        record = replace(self, name=name, counted_as=self.counted_as or name)
        object.__setattr__(record, "function", function)
        _RECORDS[record.name] = record
        return function

    @property
    def pattern(self) -> Pattern | None:
        """What it counts; None where it works on whole vectors of scores, or on texts."""
        return PATTERNS.get(self.counted_as)

    def attempt(self, data: Any, options: Options) -> pd.DataFrame | str:
        """Estimates with a number among them, or why there is none."""
        try:
            missing = next((why for need in self.needs if (why := need(data, options))), "")
            if missing:
                return missing
            if self.take is not None:
                result = self.take(data, options)
            else:
                if self.pattern and self.pattern.unit != "raters":
                    require(column_names(data), self.pattern, self.name)
                result = options.call(self.function, data, **(self.arguments(data, options) if self.arguments else {}))
        except JudgestatsError as error:
            return error.problem
        if result["estimate"].notna().any():
            return result
        doubts = "; ".join(dict.fromkeys(f for f in result["flag"] if f))
        return self.nothing or f"no number comes out: {doubts or 'no row is of use'}"


_RECORDS: dict[str, Measure] = {}


@cache
def measures() -> dict[str, Measure]:
    """Name -> record of every measure in the modules of ``judgestats.metrics``, in the order of a page."""
    for module in pkgutil.walk_packages(metrics.__path__, f"{metrics.__name__}."):
        import_module(module.name)
    return dict(sorted(_RECORDS.items(), key=lambda item: _place(item[1])))


def _place(record: Measure) -> tuple[int, str, int]:
    """Where a measure stands on a page: by section, module, and line."""
    line: int = unwrap(record.function).__code__.co_firstlineno
    return list(SECTIONS).index(record.section), record.function.__module__, line


@cache
def terms() -> dict[tuple[str, str], Term]:
    """(Measure, term) -> how it is read; and ("", term): of the first measure that has such a term."""
    found: dict[tuple[str, str], Term] = {}
    for name, record in measures().items():
        for term in record.terms:
            found[name, term.name] = term
            found.setdefault(("", term.name), term)
    return found


def measures_of(data: Any) -> dict[str, Measure]:
    """Measures that are tried on this kind of data, in the order of a page."""
    kind = kind_of(column_names(data))
    return {name: record for name, record in measures().items() if kind in record.frames}


# ---- What measures need of the data ----------------------------------------------------------------------------------


def column_names(data: Any) -> list[str]:
    """Names of the columns of a frame of any kind."""
    return list(nw.from_native(data).collect_schema().names())


def values_of(column: str, least: int = 2) -> Need:
    """That a column has so many values."""

    def missing(data: Any, _: Options) -> str:
        found = labels(data, column)
        if len(found) >= least:
            return ""
        wanted = f"needs {('two', 'three', 'four')[least - 2]} values in a column {column!r}"
        return wanted + (f", and finds {', '.join(map(repr, found))}" if found else "")

    return missing


def control_of(column: str) -> Need:
    """That a column of conditions has two values, and that one of them is known to be the control condition."""

    def missing(data: Any, options: Options) -> str:
        why = values_of(column)(data, options)
        if why or column in options.baseline:
            return why
        known = ", ".join(labels(data, column)[:MOST])
        return f"does not know which {column} is the baseline ({known}): name it in baseline="

    return missing


def against_control(data: Any, options: Options, column: str, call: Callable[[str, str], Any]) -> pd.DataFrame:
    """What `call` gives for the control condition and each other one, which is named in `column`."""
    base = options.baseline[column]
    others = [other for other in labels(data, column) if other != base]
    return pd.concat([call(base, other).assign(**{column: other}) for other in others], ignore_index=True)


def pairs_of_judges(data: Any, _: Options) -> str:
    """That there are two judges or more, and not too many for every pair."""
    judges = labels(data, "judge")
    if not 2 <= len(judges) <= MANY:
        return "needs two judges" if len(judges) < 2 else f"{len(judges)} judges are too many for every pair"
    return ""


def few_systems(data: Any, _: Options) -> str:
    """That systems are few enough to have items in common."""
    systems = len(labels(data, "system"))
    return f"{systems:,} systems are too many to look into each" if systems > SYSTEMS else ""


def gold_column(data: Any, _: Options) -> str:
    """That there is a column of right answers."""
    return "" if "gold" in column_names(data) else "needs a column 'gold'"


def people_named(data: Any, options: Options) -> str:
    """That somebody is known to be a person."""
    if options.people is not None:
        return ""
    return f"does not know which of the {len(labels(data, 'judge'))} judges are people: name them in humans="


def with_people(data: Any, options: Options) -> tuple[pd.DataFrame, list[str]]:
    """Answers of judges and of people in one table, and the names of the people."""
    assert options.people is not None
    models = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    return pd.concat([models, options.people]), sorted(options.people["judge"].astype(str).unique())


# ---- Which measures a data set supports today, and what is missing for the others ------------------------------------


def attempts(data: Any, options: Options, besides: Container[str] = ()) -> dict[str, pd.DataFrame | str]:
    """Take every measure of this kind of data but those named `besides`: estimates, or why there are none."""
    return {name: m.attempt(data, options) for name, m in measures_of(data).items() if name not in besides}


def available_measures(
    data: Any,
    identity: Mapping[str, str] | None = None,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
) -> pd.DataFrame:
    """List the measures, whether the data support them, and what is missing: each is tried.

    Ratings are split by the columns that split their cells (a scale, a prompt), which every measure wants named.

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    identity : mapping, optional
        For ratings: which system is which judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``{column: value}``. They are a reference then, and not measured.
    gold : str, optional
        Where right answers come from: a column, a judge, or a candidate.
    baseline : str or mapping, optional
        The control condition (a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``), or
        ``{column: value}``.

    Returns
    -------
    pandas.DataFrame
        ``measure``, ``question``, ``supported`` (bool: some estimate is a number) and ``missing``: why not, empty where
        it is supported.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    DesignError
        If a name in `humans`, `gold` or `baseline` does not occur.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> available_measures(calls).set_index("measure")["supported"].to_dict()["consistency"]
    True
    """
    known = references(opened(data).to_native(), humans, gold, baseline)
    people = known.people if known.humans else None
    ratings = kind_of(known.models.columns) == "ratings"
    apart = tuple(s.column for s in splits_of(known.models, KEYS)) if ratings else ()
    options = Options(by=apart, identity=dict(identity or {}), n_resamples=1, people=people, baseline=known.baseline)
    rows = []
    for name, result in attempts(known.models, options).items():
        missing = result if isinstance(result, str) else ""
        rows.append((name, measures()[name].question, not missing, missing))
    return pd.DataFrame(rows, columns=["measure", "question", "supported", "missing"])


def describe(data: Any) -> pd.DataFrame:
    """Describe the design of a data set: who judged what, in which orders and conditions.

    Parameters
    ----------
    data : frame
        Preferences or ratings.

    Returns
    -------
    pandas.DataFrame
        ``property`` and ``value``, as text.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "tie"]})
    >>> describe(calls).set_index("property")["value"].to_dict()["both orders"]
    'every pair'
    """
    table = opened(data).lazy().collect(backend="pandas").to_native()
    kind = kind_of(table.columns)
    rows = [
        ("frame", kind),
        ("rows", f"{len(table):,}"),
        ("judges", _several(table["judge"])),
        ("items", f"{table['item'].nunique():,}"),
    ]
    if kind == "preferences":
        rows += _pairwise_design(data, table)
    else:
        rows += [
            ("systems", _several(table["system"]) if "system" in table else "one"),
            ("criteria", _several(table["criterion"]) if "criterion" in table else "one"),
            _answers(table),
        ]
    rows.append(("repeats", _repeats_text(data, table)))
    known = {c.name for c in VOCABULARY[kind] if c.name not in (*CONDITIONS, "stimulus")}
    conditions = [
        c
        for c in table.columns
        if c not in known
        and not c.endswith(("_first", "_second"))
        and 1 < table[c].astype(str).nunique() <= len(table) / 2
    ]
    rows.append(("conditions", ", ".join(f"{c} ({table[c].astype(str).nunique()})" for c in conditions) or "none"))
    return pd.DataFrame(rows, columns=["property", "value"])


def _repeats_text(data: Any, table: pd.DataFrame) -> str:
    numbered = table["replicate"].nunique() if "replicate" in table else 1
    if numbered > 1:
        return f"{numbered} of each call"
    try:
        if "choice" in table:
            tally(data, "consistency", cluster=False)
    except DesignError as error:
        return "some, without a number in 'replicate'" if error.reason == REPEATED else "none"
    return "none"


def _pairwise_design(data: Any, table: pd.DataFrame) -> list[tuple[str, str]]:
    calls = _calls(table)
    answers = calls.groupby(table["choice"].astype(str)).sum()
    total = calls.sum() or 1
    told = ", ".join(f"{a} {100 * answers[a] / total:.1f} %" for a in CHOICES if a in answers)
    gold = f"{table['gold'].notna().sum():,} rows" if "gold" in table else "none"
    strength = "yes, in 'strength'" if "strength" in table else "no"
    return [("both orders", _orders(data)), ("answers", told), ("graded", strength), ("gold", gold)]


def _orders(data: Any) -> str:
    try:
        pairs = tally(data, "consistency", cluster=False)
    except JudgestatsError as error:
        return f"not usable: {error.problem}"
    both = ~(pairs[["forward", "reverse"]] == "missing").any(axis=1)
    share = pairs.loc[both, "n"].sum() / max(pairs["n"].sum(), 1)
    return "every pair" if share == 1 else "no pair" if share == 0 else f"{100 * share:.1f} % of the pairs"


def _several(values: pd.Series[Any], most: int = 6) -> str:
    names = sorted(map(str, values.dropna().unique()))
    return f"{len(names)}: " + ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _answers(table: pd.DataFrame) -> tuple[str, str]:
    """What the answers are: a span of scores, or shares of right and wrong."""
    name = answer_column(table.columns)
    if name != "correct":
        return "scores", _span(table[name])
    verdict = yes_or_no(table[name])
    calls = _calls(table)
    total = calls.sum() or 1
    shares = [
        (word, calls[verdict.eq(answer).fillna(False)].sum()) for word, answer in (("right", True), ("wrong", False))
    ]
    told = [f"{word} {100 * n / total:.1f} %" for word, n in shares]
    return "verdicts", f"{', '.join(told)}, {calls[verdict.isna()].sum():,.0f} missing"


def _calls(table: pd.DataFrame) -> pd.Series[Any]:
    """How many calls each row stands for."""
    counts = table[COUNTS] if COUNTS in table else pd.Series(1.0, index=table.index)
    return pd.to_numeric(counts, errors="coerce").astype(float).fillna(0.0)


def _span(values: pd.Series[Any]) -> str:
    number = pd.to_numeric(values, errors="coerce")
    return f"{number.min():g} to {number.max():g}, {number.isna().sum():,} missing"
