"""Records of the measures, which of them the data support (:func:`available_measures`), and :func:`describe`.

The record of a measure is a decorator of its function and the only place for its facts: the sections of a page, the
labels of terms, ``docs/measures.md``, the public names and the properties in the tests come from it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from inspect import signature, unwrap
from typing import Any, Literal, TypeVar

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import metrics
from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.counting.pairing import REPEATED
from judgestats.counting.patterns import PATTERNS, Pattern
from judgestats.counting.selection import require
from judgestats.counting.splitting import KEYS, splits_of
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, JudgestatsError
from judgestats.metrics.references import Baseline, Humans, labels, references
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import (
    CHOICES,
    CONDITIONS,
    COUNTS,
    VOCABULARY,
    By,
    Kind,
    answer_column,
    grouping,
    kind_of,
)
from judgestats.schema.opening import engine_errors

F = TypeVar("F", bound=Callable[..., Any])

# ---- Options of all measures of a data set ---------------------------------------------------------------------------

#: Largest number of levels of an incomplete design whose components a page computes.
QUICK = 500
#: Largest number of systems that are analysed one by one.
SYSTEMS = 500
#: Largest number of candidates, or judges, for comparisons of all pairs.
MANY = 60
#: Largest number of values listed in a message.
MOST = 12


@dataclass(frozen=True)
class Options:
    """Arguments common to all measures of a data set, and the results so far."""

    by: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)  # for ratings: system -> judge
    cluster: Cluster = "auto"
    n_resamples: int = N_RESAMPLES
    seed: int = SEED
    conf_level: float = CONF_LEVEL
    people: pd.DataFrame | None = None  # answers of people; None if no judge is known to be a person
    baseline: Mapping[str, str] = field(default_factory=dict)  # column -> its control condition
    sampling: str = ""  # how the items with a gold label were drawn; empty if it is not known
    counting: bool = False  # whether nothing is to be resampled that need not be, for a first look
    results: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)  # and errors, of all calls

    def call(self, measure: Callable[..., Any], *data: Any, **arguments: Any) -> Any:
        """Call a measure with those of these options that it accepts; `arguments` have priority."""
        known: dict[str, Any] = {
            "by": list(self.by),
            "conf_level": self.conf_level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }
        if self.cluster != "auto":  # "auto" is each measure's own default
            known["cluster"] = self.cluster
        accepted = signature(measure)
        if self.counting and "interval" in accepted.parameters and accepted.parameters["interval"].default == "t":
            known["interval"] = None  # else a bootstrap
        given = {name: value for name, value in known.items() if name in accepted.parameters} | arguments
        bound = accepted.bind(*data, **given)
        bound.apply_defaults()
        key = (measure, *((name, _identified(value)) for name, value in bound.arguments.items()))
        if key not in self.results:
            try:
                self.results[key] = measure(*data, **given), bound  # keeps the data, whose id is in the key
            except JudgestatsError as error:
                self.results[key] = error, bound
        result = self.results[key][0]
        if isinstance(result, JudgestatsError):
            raise result
        return result.copy()


def _identified(value: Any) -> Any:
    """Hashable key of an argument: its value if it is plain, else the id of the object."""
    if isinstance(value, Mapping):
        return tuple((k, _identified(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_identified, value))
    return value if value is None or isinstance(value, str | int | float) else id(value)


# ---- The record of a measure -----------------------------------------------------------------------------------------

#: Sections of a page and of ``docs/measures.md``, in their order.
SECTIONS = {
    "people": "Do the judges agree with people?",
    "bias": "Is it biased?",
    "accuracy": "Is it right?",
    "ranking": "Which system is better?",
    "strategies": "Does another way of asking help?",
    "psychometrics": "Does it prefer between equals?",
    "cues": "Do cues shift its answers?",
    "agreement": "Do the judges agree?",
    "variance": "Where does the variance come from?",
    "scores": "How are the scores distributed?",
    "consensus": "How far from peers, people, truth?",
    "calibration": "What would bring the judges together?",
}
Section = Literal[
    "people", "bias", "accuracy", "ranking", "strategies", "psychometrics", "cues", "agreement", "variance", "scores",
    "consensus", "calibration",
]  # fmt: skip
#: What data may have besides the frame -> how to ask for it.
HAVE = {
    "orders": "each pair in both orders",
    "gold": "right answers",
    "people": "answers of people",
    "judges": "two judges or more",
    "repeats": "the same call several times",
    "conditions": "two ways of asking (prompts, strategies, cues, tiers, temperatures)",
    "attributes": "an attribute of the candidates (length, family, format)",
    "pairs of known difference": "pairs made to be equal, or to differ by a known step",
    "texts": "the judge's explanations, or texts",
    "printed table": "a printed table",
}
Have = Literal[
    "orders", "gold", "people", "judges", "repeats", "conditions", "attributes", "pairs of known difference", "texts",
    "printed table",
]  # fmt: skip
#: Reason why a measure does not apply to the data, or an empty string.
Need = Callable[[Any, Options], str]


@dataclass(frozen=True)
class Term:
    """Meaning of a term of a result: its label, what ``n`` counts, which direction is bad, and a sentence."""

    name: str
    label: str = ""
    level: str = ""
    denominator: str = ""
    bad: str = ""
    meaning: str = ""
    symbol: str = "—"
    neutral: float | None = None  # value of no effect
    whole: bool = False  # a whole number, not a share or a mean

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))


@dataclass(frozen=True)
class Measure:
    """Record of a measure; a decorator of its function, which refuses a `conf_level` outside (0, 1)."""

    question: str  # that it answers
    section: Section  # a key of :data:`SECTIONS`
    input: str  # P for preferences, R for ratings, counts, and other input
    interval: str  # type of interval
    source: str  # the paper that defines the measure
    plot: str = ""  # functions of ``judgestats.plot`` that draw it, and how; empty if there is none
    frames: tuple[Kind, ...] = ()  # kinds of data on which :func:`available_measures` and a page try it
    needs: tuple[Need, ...] = ()  # functions of data and options that return what is missing
    arguments: Callable[[Any, Options], Mapping[str, Any]] | None = None  # suggested by the data
    take: Callable[[Any, Options], pd.DataFrame] | None = None  # estimates, where one call is not enough
    nothing: str = ""  # message if no estimate is a number
    sheet: tuple[str, ...] = ()  # sections of a datasheet that show it, with its term after a colon if it is only one
    caption: str = ""  # how to read its picture; a page draws none without it
    table: tuple[str, ...] = ()  # terms that a page lists; empty for all
    terms: tuple[Term, ...] = ()  # meaning of its terms; those it shares with another measure may stand there
    name: str = ""  # if it is not that of the function
    counted_as: str = ""  # the measure whose pattern it counts, if it is not its own
    have: tuple[Have, ...] = ()  # what the data need besides the frame, as keys of :data:`HAVE`
    assumes: str = ""  # what must be true for the estimate and its interval to mean what they say
    function: Callable[..., Any] = field(default=lambda: None, init=False)

    def __call__(self, function: F) -> F:
        """Register the record of a function."""
        name = self.name or function.__name__
        record = replace(self, name=name, counted_as=self.counted_as or name)
        one = any(record.function is function for record in _RECORDS.values())  # with two records
        checked = function if one else checked_arguments(engine_errors(function))
        object.__setattr__(record, "function", checked)
        _RECORDS[record.name] = record
        return checked

    @property
    def pattern(self) -> Pattern | None:
        """Pattern that it counts; None for measures of score vectors or texts."""
        return PATTERNS.get(self.counted_as)

    def attempt(self, data: Any, options: Options) -> pd.DataFrame | str:
        """Estimates, at least one a number, or the reason why there are none."""
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
        found = "; ".join(dict.fromkeys(f for f in result["flag"] if f))
        return self.nothing or f"no estimate: {found or 'no usable row'}"


_RECORDS: dict[str, Measure] = {}


@cache
def measures() -> dict[str, Measure]:
    """Name -> record of every measure in the modules of ``judgestats.metrics``, in the order of a page."""
    for module in pkgutil.walk_packages(metrics.__path__, f"{metrics.__name__}."):
        import_module(module.name)

    def place(item: tuple[str, Measure]) -> tuple[int, bool, str, int]:
        section, function = list(SECTIONS).index(item[1].section), item[1].function
        module = function.__module__
        later = module.split(".")[2] not in ("agreement", "correctness")  # first whether a judge agrees and is right
        return section, later, module, unwrap(function).__code__.co_firstlineno

    return dict(sorted(_RECORDS.items(), key=place))


@cache
def terms() -> dict[tuple[str, str], Term]:
    """(Measure, term) -> its meaning; and ("", term) -> that of the first measure with such a term."""
    found: dict[tuple[str, str], Term] = {}
    for name, record in measures().items():
        for term in record.terms:
            found[name, term.name] = term
            found.setdefault(("", term.name), term)
    return found


def measures_of(data: Any) -> dict[str, Measure]:
    """Measures for this kind of data, in the order of a page."""
    kind = kind_of(column_names(data))
    return {name: record for name, record in measures().items() if kind in record.frames}


# ---- Requirements of measures on the data ----------------------------------------------------------------------------


def column_names(data: Any) -> list[str]:
    """Names of the columns of a frame of any kind."""
    return Study.of(data).names


def values_of(column: str, least: int = 2) -> Need:
    """Requires at least this many values of a column."""

    def missing(data: Any, _: Options) -> str:
        found = labels(data, column)
        if len(found) >= least:
            return ""
        needed = f"needs {('two', 'three', 'four')[least - 2]} values in a column {column!r}"
        return needed + (f", and finds {', '.join(map(repr, found))}" if found else "")

    return missing


def control_of(column: str) -> Need:
    """Requires two values of a column of conditions, one of them the known control condition."""

    def missing(data: Any, options: Options) -> str:
        why = values_of(column)(data, options)
        if why or column in options.baseline:
            return why
        known = ", ".join(labels(data, column)[:MOST])
        return f"needs the baseline among the values of {column!r} ({known}): name it in baseline="

    return missing


def against_control(data: Any, options: Options, column: str, call: Callable[[str, str], Any]) -> pd.DataFrame:
    """Results of `call` for the control condition and each other condition, with the other in `column`."""
    base = options.baseline[column]
    others = [other for other in labels(data, column) if other != base]
    return pd.concat([call(base, other).assign(**{column: other}) for other in others], ignore_index=True)


def several_judges(data: Any, _: Options) -> str:
    """Requires two judges or more."""
    return "needs two judges" if len(labels(data, "judge")) < 2 else ""


def pairs_of_judges(data: Any, options: Options) -> str:
    """Requires two judges or more, but not too many for all pairs."""
    judges = len(labels(data, "judge"))
    return several_judges(data, options) or (
        f"{judges:,} judges are {judges * (judges - 1) // 2:,} pairs, too many for every pair (at most {MANY} judges): "
        "choose some of them first"
        if judges > MANY
        else ""
    )


def few_systems(data: Any, _: Options) -> str:
    """Requires few enough systems to analyse each."""
    systems = len(labels(data, "system"))
    return f"{systems:,} systems are too many to look into each" if systems > SYSTEMS else ""


def gold_column(data: Any, _: Options) -> str:
    """Requires a column of gold answers."""
    return "" if "gold" in column_names(data) else "needs a column 'gold'"


def people_named(data: Any, options: Options) -> str:
    """Requires judges that are known to be people."""
    if options.people is not None:
        return ""
    judges = len(labels(data, "judge"))
    if judges == 1:
        return "needs answers of people too: join_labels(), or --labels-file"
    return f"needs to know which of the {judges} judges are people: name them in humans="


def items_shared(data: Any, options: Options) -> str:
    """Requires an item that a judge and a person answered."""
    if options.people is None or {*labels(data, "item")} & {*labels(options.people, "item")}:
        return ""
    return "people and judges have no item in common"


def with_people(data: Any, options: Options) -> tuple[pd.DataFrame, list[str]]:
    """Answers of judges and people in one table, and the names of the people."""
    assert options.people is not None
    models = Study.of(data).data.lazy().collect(backend="pandas").to_native()
    return pd.concat([models, options.people]), sorted(options.people["judge"].astype(str).unique())


# ---- Measures that a data set supports, and what is missing for the others -------------------------------------------


def quiet(_: str) -> None:
    """Say no step."""


def attempts(
    data: Any, options: Options, besides: Container[str] = (), say: Callable[[str], None] = quiet
) -> dict[str, pd.DataFrame | str]:
    """Estimates of each measure for this kind of data except `besides`, or the reason why there are none."""
    found: dict[str, pd.DataFrame | str] = {}
    for name, record in measures_of(data).items():
        if name not in besides:
            say(name)
            found[name] = record.attempt(data, options)
    return found


@engine_errors
def available_measures(
    data: IntoFrame,
    identity: Mapping[str, str] | None = None,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
) -> pd.DataFrame:
    """List the measures, whether the data support them, and what is missing, by trying each.

    Ratings are grouped by the columns that split their cells (a scale, a prompt).

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    identity : mapping, optional
        For ratings: system -> judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``"column=value"``. They are a reference, and not measured.
    gold : str, optional
        Source of the correct answers: a column, a judge, or a candidate.
    baseline : str or mapping, optional
        The control condition (a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``), or
        ``{column: value}``.

    Returns
    -------
    pandas.DataFrame
        ``measure``, ``question``, ``supported`` (bool: some estimate is a number) and ``missing``: the reason why not.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    DesignError
        If a name in `humans`, `gold` or `baseline` does not occur.

    See Also
    --------
    describe : Judges, items, orders and conditions.
    check : Faults, excluded rows and gaps.
    datasheet : Everything about each judge.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> available_measures(calls).set_index("measure")["supported"].to_dict()["consistency"]
    True
    """
    rows = []
    for name, result in tried(data, identity, humans=humans, gold=gold, baseline=baseline)[0].items():
        missing = result if isinstance(result, str) else ""
        rows.append((name, measures()[name].question, not missing, missing))
    return pd.DataFrame(rows, columns=["measure", "question", "supported", "missing"])


@engine_errors
def tried(
    data: Any,
    identity: Mapping[str, str] | None = None,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    say: Callable[[str], None] = quiet,
) -> tuple[dict[str, pd.DataFrame | str], list[str]]:
    """Each measure tried without resampling: its estimates, or what is missing; and the columns that split them."""
    known = references(Study.whole(data), humans, gold, baseline)
    people, study = known.people if known.humans else None, known.study
    groups = [g for g in grouping(by, study.names) if g != "judge"]
    if kind_of(study.names) == "ratings":
        groups += [s.column for s in splits_of(study, [*KEYS, *groups])]
    options = Options(
        tuple(groups), dict(identity or {}), cluster, 1, people=people, baseline=known.baseline, counting=True
    )
    return attempts(study, options, say=say), groups


@engine_errors
def describe(data: IntoFrame) -> pd.DataFrame:
    """Describe the design of a data set: judges, items, orders and conditions.

    Parameters
    ----------
    data : frame
        Preferences or ratings.

    Returns
    -------
    pandas.DataFrame
        ``property`` and ``value``, as text.

    See Also
    --------
    check : Faults, excluded rows and gaps.
    available_measures : What the data support.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "tie"]})
    >>> describe(calls).set_index("property")["value"].to_dict()["both orders"]
    'every pair'
    """
    study = Study.whole(data)
    table = study.data.to_pandas()
    kind = kind_of(table.columns)
    rows = [
        ("frame", kind),
        ("rows", f"{len(table):,}"),
        ("judges", _several(study, "judge")),
        ("items", f"{sum(x is not None for x in study.columns['item'].labels):,}"),
    ]
    if kind == "preferences":
        calls = number_of_calls(table)
        answers = calls.groupby(table["choice"].astype(str)).sum()
        shares = ", ".join(f"{a} {100 * answers[a] / (calls.sum() or 1):.1f} %" for a in CHOICES if a in answers)
        rows += [
            ("both orders", _orders(study)),
            ("answers", shares),
            ("graded", "yes, in 'strength'" if "strength" in table else "no"),
            ("gold", f"{table['gold'].notna().sum():,} rows" if "gold" in table else "none"),
        ]
    else:
        rows += [
            ("systems", _several(study, "system") if "system" in table else "one"),
            ("criteria", _several(study, "criterion") if "criterion" in table else "one"),
            answers_given(table),
        ]
    rows.append(("repeats", _repeats_text(study, table)))
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


def _repeats_text(study: Study, table: pd.DataFrame) -> str:
    numbered = table["replicate"].nunique() if "replicate" in table else 1
    if numbered > 1:
        return f"{numbered} of each call"
    try:
        if "choice" in table:
            count(study, "consistency", cluster=False)
    except DesignError as error:
        return "some, without a number in 'replicate'" if error.reason == REPEATED else "none"
    return "none"


def _orders(study: Study) -> str:
    try:
        pairs = count(study, "consistency", cluster=False)
    except JudgestatsError as error:
        return f"not usable: {error.problem}"
    both = ~(pairs.among("forward", "missing") | pairs.among("reverse", "missing"))
    share = pairs.n[both].sum() / max(pairs.n.sum(), 1)
    return "every pair" if share == 1 else "no pair" if share == 0 else f"{100 * share:.1f} % of the pairs"


def _several(study: Study, column: str, most: int = 6) -> str:
    names = study.columns.labels(column)
    return f"{len(names)}: " + ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def answers_given(table: pd.DataFrame) -> tuple[str, str]:
    """What the answers are, and the range of the scores or the shares of the two verdicts."""
    name = answer_column(table.columns)
    if name != "correct":
        number = pd.to_numeric(table[name], errors="coerce")
        return "scores", f"{number.min():g} to {number.max():g}, {number.isna().sum():,} missing"
    verdict = yes_or_no(table[name])
    calls = number_of_calls(table)
    total = calls.sum() or 1
    shares = [
        f"{word} {100 * calls[verdict.eq(answer).fillna(False)].sum() / total:.1f} %"
        for word, answer in (("“correct”", True), ("“incorrect”", False))
    ]
    return "verdicts", f"{', '.join(shares)}, {calls[verdict.isna()].sum():,.0f} missing"


def number_of_calls(table: pd.DataFrame) -> pd.Series[Any]:
    """Number of calls of each row."""
    counts = table[COUNTS] if COUNTS in table else pd.Series(1.0, index=table.index)
    return pd.to_numeric(counts, errors="coerce").astype(float).fillna(0.0)
