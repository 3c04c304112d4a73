"""Records of the measures, and the options with which all of them are called.

The record of a measure is a decorator of its function and the only place for its facts: the sections of a page, the
labels of terms, ``docs/measures.md``, the public names and the properties in the tests come from it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from importlib import import_module
from inspect import signature, unwrap
from typing import Any, Literal, TypeVar, cast

import pandas as pd

from judgestats import metrics
from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.counting.patterns import PATTERNS, Pattern
from judgestats.counting.selection import require
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import JudgestatsError
from judgestats.metrics.class_answers import without_classes
from judgestats.metrics.fixed_levels import with_fixed_levels
from judgestats.metrics.known_groups import with_known_groups
from judgestats.metrics.unknown_clusters import without_unknown_clusters
from judgestats.printed_results import Estimates
from judgestats.schema.columns import Kind, kind_of
from judgestats.schema.opening import engine_errors
from judgestats.typing import Record

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class MeasureOptions:
    """Arguments common to all measures of a data set."""

    by: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)  # for ratings: system -> judge
    cluster: Cluster = "auto"
    n_resamples: int = N_RESAMPLES
    seed: int = SEED
    conf_level: float = CONF_LEVEL
    people: pd.DataFrame | None = None  # answers of people; None if no judge is known to be a person
    baseline: Mapping[str, str] = field(default_factory=dict)  # column -> its control condition
    sampling: str = ""  # how the items with a gold label were drawn; empty if it is not known
    scale: tuple[float, float] | None = None  # of the scores; None if it is not known
    smallest: float | None = None  # smallest bias of interest; None for a tenth of the scale, or 10 points
    counting: bool = False  # whether nothing is to be resampled that need not be, for a first look

    def call(self, measure: Callable[..., Any], *data: Any, **arguments: Any) -> Any:
        """Call a measure with those of these options that it accepts; `arguments` have priority.

        What a measure gives for a study and plain arguments, or why it gives nothing, is kept in the study.
        """
        defaults: Record = {
            "by": list(self.by),
            "conf_level": self.conf_level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }
        if self.scale is not None:
            defaults["scale"] = self.scale
        if self.cluster != "auto":  # "auto" is each measure's own default
            defaults["cluster"] = self.cluster
        accepted = signature(measure)
        if self.counting and "interval" in accepted.parameters and accepted.parameters["interval"].default == "t":
            defaults["interval"] = None  # else a bootstrap
        passed = {name: value for name, value in defaults.items() if name in accepted.parameters} | arguments
        bound = accepted.bind(*data, **passed)
        bound.apply_defaults()

        def answer() -> Any:
            try:
                return measure(*data, **passed)
            except JudgestatsError as error:
                return error

        study, *others = bound.arguments.values()
        key = _key(others) if isinstance(study, Study) else None
        result = answer() if key is None else study.once((measure, *key), answer)
        if isinstance(result, JudgestatsError):
            raise result
        return result.copy()


def _key(value: Any) -> Any:
    """An argument as a key, if it is made of names and numbers; None if it is not, as a frame may be edited."""
    if isinstance(value, Mapping):
        value = [(str(name), one) for name, one in value.items()]
    if isinstance(value, list | tuple):
        parts = [(_key(one), one is None) for one in value]
        return None if (None, False) in parts else tuple(parts)
    return value if isinstance(value, str | int | float) else None


#: Sections of a page and of ``docs/measures.md``, in their order.
SECTIONS = {
    "people": "Do the judges agree with people?",
    "bias": "Is it biased?",
    "accuracy": "Is it right?",
    "ranking": "Which system is better?",
    "strategies": "Does another way of asking help?",
    "psychometrics": "Does it prefer between equals?",
    "cues": "Do cues shift its answers?",
    "agreement": "Do the judges agree with each other?",
    "variance": "Where does the variance come from?",
    "scores": "How are the scores distributed?",
    "consensus": "How far from peers, people, truth?",
    "calibration": "What would bring the judges together?",
}
Section = (
    Literal["people", "bias", "accuracy", "ranking", "strategies", "psychometrics", "cues"]
    | Literal["agreement", "variance", "scores", "consensus", "calibration"]
)
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
Have = (
    Literal["orders", "gold", "people", "judges", "repeats", "conditions", "attributes"]
    | Literal["pairs of known difference", "texts", "printed table"]
)
#: Reason why a measure does not apply to the data, or an empty string.
Need = Callable[[Any, MeasureOptions], str]


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
    form: Literal["", "share", "points", "score", "count"] = ""  # how it is printed, where its method does not say so

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
    arguments: Callable[[Any, MeasureOptions], Mapping[str, Any]] | None = None  # suggested by the data
    take: Callable[[Any, MeasureOptions], pd.DataFrame] | None = None  # estimates, where one call is not enough
    nothing: str = ""  # message if no estimate is a number
    sheet: tuple[str, ...] = ()  # sections of a datasheet that show it, with its term after a colon if it is only one
    caption: str = ""  # how to read its picture; a page draws none without it
    table: tuple[str, ...] = ()  # terms that a page lists; empty for all
    terms: tuple[Term, ...] = ()  # meaning of its terms; those it shares with another measure may stand there
    name: str = ""  # if it is not that of the function
    classes: bool = False  # whether it takes verdicts that are classes
    counted_as: str = ""  # the measure whose pattern it counts, if it is not its own
    have: tuple[Have, ...] = ()  # what the data need besides the frame, as keys of :data:`HAVE`
    assumes: str = ""  # what must be true for the estimate and its interval to mean what they say
    function: Callable[..., Any] = field(default=lambda: None, init=False)

    def __call__(self, function: F) -> F:
        """Register the record of a function."""
        name = self.name or function.__name__
        record = replace(self, name=name, counted_as=self.counted_as or name)
        one = any(record.function is function for record in _RECORDS.values())  # with two records
        stimuli = record.pattern.stimulus if record.pattern else ()
        guarded: Any = function if self.classes or self.input == "P" else without_classes(function, name)
        guarded = with_known_groups(without_unknown_clusters(guarded, stimuli))
        guarded = with_fixed_levels(guarded, studies=bool(self.frames))
        checked = function if one else checked_arguments(_printed(engine_errors(guarded)))
        object.__setattr__(record, "function", checked)
        _RECORDS[record.name] = record
        return checked

    @property
    def pattern(self) -> Pattern | None:
        """Pattern that it counts; None for measures of score vectors or texts."""
        return PATTERNS.get(self.counted_as)

    def attempt(self, data: Any, options: MeasureOptions) -> pd.DataFrame | str:
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
        reasons = "; ".join(dict.fromkeys(f for f in result["flag"] if f))
        return self.nothing or f"no estimate: {reasons or 'no usable row'}"


def _printed(function: F) -> F:
    """A measure whose frame prints what one reads first."""

    @wraps(function)
    def estimates(*args: object, **options: object) -> object:
        result = function(*args, **options)
        return Estimates(result) if isinstance(result, pd.DataFrame) and "estimate" in result else result

    return cast(F, estimates)


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
    meanings: dict[tuple[str, str], Term] = {}
    for name, record in measures().items():
        for term in record.terms:
            meanings[name, term.name] = term
            meanings.setdefault(("", term.name), term)
    return meanings


def measures_of(data: Calls) -> dict[str, Measure]:
    """Measures for this kind of data, in the order of a page."""
    kind = kind_of(column_names(data))
    return {name: record for name, record in measures().items() if kind in record.frames}


def column_names(data: Calls) -> list[str]:
    """Names of the columns of a frame of any kind."""
    return Study.of(data).names
