"""Every measure with its question, tried on a data set: :func:`supported`; and the design of it: :func:`describe`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, JudgestatsError
from judgestats.metrics import agreement, bias, consensus, invariance, psychometrics
from judgestats.metrics.bias.bias_scores import numeric_attributes
from judgestats.metrics.references import Baseline, Humans, labels, references
from judgestats.results import NOT_REPEATED
from judgestats.schema.cells import cells
from judgestats.schema.clustering import Cluster
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import CHOICES, COUNTS, VOCABULARY, answer_column, kind_of
from judgestats.schema.counting import tally
from judgestats.schema.opening import opened
from judgestats.schema.pairing import REPEATED
from judgestats.schema.splitting import KEYS, splits_of

# ---- The question of each measure, and the arguments that the data themselves suggest for it -------------------------

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
    """What every measure is given, as far as it takes it.

    Attributes
    ----------
    by : tuple of str
    identity : mapping of str to str
        For ratings: system -> judge.
    cluster : "auto", str or False
    n_resamples, seed : int
    conf_level : float
    people : pandas.DataFrame or None
        Answers of people, beside which the judges' are laid; None where nobody is known to be a person.
    baseline : mapping of str to str
        Column -> its control condition.
    """

    by: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)
    cluster: Cluster = "auto"
    n_resamples: int = N_RESAMPLES
    seed: int = SEED
    conf_level: float = CONF_LEVEL
    people: pd.DataFrame | None = None
    baseline: Mapping[str, str] = field(default_factory=dict)

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
        taken = signature(measure).parameters
        return measure(*data, **{name: value for name, value in known.items() if name in taken} | arguments)


@dataclass(frozen=True)
class Trial:
    """A measure and what it asks.

    Attributes
    ----------
    question : str
        What it answers.
    take : callable
        Data and options to estimates; raises, or gives a text, where the data cannot answer.
    """

    question: str
    take: Callable[[Any, Options], pd.DataFrame | str]


def columns_of(data: Any) -> list[str]:
    """Names of the columns of a frame of any kind."""
    return list(nw.from_native(data).collect_schema().names())


def unnamed(data: Any, column: str, options: Options) -> str:
    """Why a column cannot be compared with its control condition; empty where it can."""
    found = labels(data, column)
    if len(found) < 2:
        return f"needs two values in a column {column!r}" + (f", and finds {found[0]!r}" if found else "")
    if column not in options.baseline:
        return f"does not know which {column} is the baseline ({', '.join(found[:MOST])}): name it in baseline="
    return ""


def _both_orders(table: pd.DataFrame) -> pd.DataFrame | str:
    one = table["estimate"].isna().all()
    return "every pair was judged in one order only: run each pair in both orders" if one else table


def _repeats(data: Any, options: Options) -> pd.DataFrame | str:
    if len(labels(data, "replicate")) < 2:
        return "no call is repeated: there is no second value in 'replicate'"
    return options.call(bias.consistency, data, over="replicate")


def _criterion(data: Any, options: Options) -> pd.DataFrame | str:
    if why := unnamed(data, "prompt", options):
        return why
    base = options.baseline["prompt"]
    parts = [
        options.call(psychometrics.criterion_shift, data, base, other).assign(prompt=other)
        for other in labels(data, "prompt")
        if other != base
    ]
    return pd.concat(parts, ignore_index=True)


def _bias_score(data: Any, options: Options) -> pd.DataFrame | str:
    present = columns_of(data)
    if "target" in present:
        known = nw.from_native(data).filter(~nw.col("target").is_null()).to_native()
        return options.call(bias.bias_score, known)
    attributes = numeric_attributes(data)
    if not attributes:
        return "needs a column 'target', or an attribute of both candidates such as length_first, length_second"
    parts = [options.call(bias.bias_score, data, attribute=a).assign(bias=a) for a in attributes]
    return pd.concat(parts, ignore_index=True)


def _change(measure: Callable[..., pd.DataFrame]) -> Callable[[Any, Options], pd.DataFrame | str]:
    def take(data: Any, options: Options) -> pd.DataFrame | str:
        if why := unnamed(data, "strategy", options):
            return why
        return options.call(measure, data, baseline=options.baseline["strategy"])

    return take


def _under_cues(measure: Callable[..., pd.DataFrame]) -> Callable[[Any, Options], pd.DataFrame | str]:
    def take(data: Any, options: Options) -> pd.DataFrame | str:
        if why := unnamed(data, "probe", options):
            return why
        return options.call(measure, data, blind=options.baseline["probe"])

    return take


def _gap_to_people(data: Any, options: Options) -> pd.DataFrame | str:
    if options.people is None:
        who = labels(data, "judge")
        return f"does not know which of the {len(who)} judges are people: name them in humans="
    everybody = pd.concat([nw.from_native(data).lazy().collect(backend="pandas").to_native(), options.people])
    people = sorted(options.people["judge"].astype(str).unique())
    if "target" in everybody.columns:
        return options.call(bias.preference_gap, everybody, people=people)
    attributes = numeric_attributes(everybody)
    if not attributes:
        return "needs a column 'target', or an attribute of both candidates such as length_first, length_second"
    parts = [
        options.call(bias.preference_gap, everybody, people=people, attribute=a).assign(bias=a) for a in attributes
    ]
    return pd.concat(parts, ignore_index=True)


def _with_people(data: Any, options: Options) -> pd.DataFrame | str:
    if options.people is None:
        return "does not know which judges are people: name them in humans="
    everybody = pd.concat([nw.from_native(data).lazy().collect(backend="pandas").to_native(), options.people])
    humans = sorted(options.people["judge"].astype(str).unique())
    return options.call(agreement.judge_against_people, everybody, humans=humans)


def _within_systems(measure: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[[Any, Options], Any]:
    """A correlation over the items of each system, where systems are few enough to have items in common."""
    agreeing = _agreeing(measure, **arguments)

    def take(data: Any, options: Options) -> pd.DataFrame | str:
        systems = len(labels(data, "system"))
        return f"{systems:,} systems are too many to look into each" if systems > SYSTEMS else agreeing(data, options)

    return take


def _agreeing(measure: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[[Any, Options], pd.DataFrame | str]:
    """A measure of agreement, where there are two judges or more, and not too many for every pair.

    An argument that is a function is what it says of the data.
    """

    def take(data: Any, options: Options) -> pd.DataFrame | str:
        judges = labels(data, "judge")
        if not 2 <= len(judges) <= MANY:
            return "needs two judges" if len(judges) < 2 else f"{len(judges)} judges are too many for every pair"
        return options.call(measure, data, **{k: v(data) if callable(v) else v for k, v in arguments.items()})

    return take


def _self_excess(data: Any, options: Options) -> pd.DataFrame | str:
    known = dict(options.identity)
    if not set(labels(data, "judge")) & {known.get(s, s) for s in labels(data, "system")}:
        return "no judge bears the name of a system: say which is which with identity={'system': 'judge'}"
    table = options.call(consensus.consensus_deviation, data, identity=known)
    return table[table["term"] == "self_excess"]


def _deviation(data: Any, options: Options) -> pd.DataFrame:
    reference = "peers" if options.people is None else options.people
    table = options.call(consensus.consensus_deviation, data, reference=reference, identity=dict(options.identity))
    return table[table["term"] == "deviation"]


def _attenuation(data: Any, options: Options) -> pd.DataFrame:
    by = [c for c in options.by if c != "condition"]
    table = options.call(consensus.attenuation, data, identity=dict(options.identity), by=by)
    return table[table["term"] == "attenuation"]


def _shift(data: Any, options: Options) -> pd.DataFrame | str:
    if why := unnamed(data, "condition", options):
        return why
    base = options.baseline["condition"]
    parts = [
        options.call(agreement.agreement_shift, data, (base, other)).assign(condition=other)
        for other in labels(data, "condition")
        if other != base
    ]
    return pd.concat(parts, ignore_index=True)


def _slope(data: Any, options: Options) -> pd.DataFrame | str:
    found = labels(data, "temperature")
    if len(found) < 3:
        return f"needs three values in a column 'temperature', and finds {len(found)}"
    return options.call(agreement.agreement_slope, data)


def _calibration(data: Any, options: Options) -> pd.DataFrame | str:
    if options.people is not None:
        return options.call(consensus.calibrate, data, reference=options.people)
    return _agreeing(consensus.calibrate)(data, options)


def _tiers(data: Any, _: Options) -> str:
    found = labels(data, "tier")
    if len(found) < 2:
        return "needs two values in a column 'tier'"
    return f"does not know which of the tiers {', '.join(found)} should be higher: name them from low to high in order="


def _quality(data: Any, options: Options) -> pd.DataFrame | str:
    if len(labels(data, "system")) < 4:
        return "needs four systems or more"
    return options.call(agreement.quality_agreement, data)


def _with_gold(measure: Callable[..., pd.DataFrame]) -> Callable[[Any, Options], pd.DataFrame | str]:
    def take(data: Any, options: Options) -> pd.DataFrame | str:
        if "gold" not in columns_of(data):
            return "needs a column 'gold'"
        return options.call(measure, data)

    return take


def _components(data: Any, options: Options) -> pd.DataFrame:
    """Variance components, where they are quick: a large incomplete design is left to a call of its own."""
    return options.call(agreement.variance_components, data, most_levels=QUICK)


def _run_sd(data: Any, options: Options) -> pd.DataFrame:
    return cells(data, list(options.by)).rename(columns={"sd": "estimate", "runs": "n"}).assign(flag=str(NOT_REPEATED))


def _on_the_same_scale(data: Any) -> str:
    """Level of measurement: nominal for right and wrong, ordinal for a handful of whole numbers, else interval."""
    if answer_column(columns_of(data)) == "correct":
        return "nominal"
    name = answer_column(columns_of(data))
    values = nw.from_native(data).lazy().select(name).unique().collect(backend="pandas").to_native()[name].dropna()
    numbers = values.to_numpy(dtype=float)
    return "ordinal" if numbers.size <= 12 and (numbers == np.floor(numbers)).all() else "interval"


#: Measure of preferences -> how it is tried.
PREFERENCE_TRIALS: dict[str, Trial] = {
    "consistency": Trial(
        "does the judge say the same in both orders?", lambda d, o: _both_orders(o.call(bias.consistency, d))
    ),
    "consistency, over repeats": Trial("does the judge say the same when asked again?", _repeats),
    "slot_lean": Trial(
        "does the judge lean to one slot; how often does it tie?", lambda d, o: o.call(bias.slot_lean, d)
    ),
    "gold_agreement": Trial("how often is the judge right?", lambda d, o: o.call(bias.gold_agreement, d)),
    "dark_current": Trial(
        "does the judge prefer where there is nothing to prefer?",
        lambda d, o: o.call(psychometrics.dark_current, d),
    ),
    "delta0": Trial(
        "what is false preference between equals made of?",
        lambda d, o: _both_orders(o.call(psychometrics.delta0, d)),
    ),
    "target_sensitivity": Trial(
        "does the judge find a known difference?", lambda d, o: o.call(psychometrics.target_sensitivity, d)
    ),
    "detection_threshold": Trial(
        "how large must a difference be?", lambda d, o: o.call(psychometrics.detection_threshold, d)
    ),
    "d_prime": Trial("how far apart are signal and no signal?", lambda d, o: o.call(psychometrics.d_prime, d)),
    "filler_preference": Trial(
        "does the judge reward filler?", lambda d, o: o.call(psychometrics.filler_preference, d)
    ),
    "criterion_shift": Trial("does a prompt move the border between tie and preference?", _criterion),
    "bias_score": Trial("which way does the judge lean, whatever the slot?", _bias_score),
    "preference_rate": Trial("which candidate wins how often?", lambda d, o: o.call(bias.preference_rate, d)),
    "compare_strategies": Trial(
        "which way of asking makes the judge more often right?", _change(bias.compare_strategies)
    ),
    "bias_change": Trial("which way of asking makes the judge lean less?", _change(bias.bias_change)),
    "judge_against_people": Trial("do the judges agree with people as people do with each other?", _with_people),
    "preference_gap": Trial(
        "do judges prefer the target more than people do? (what people prefer too is no bias)", _gap_to_people
    ),
    "kappa": Trial("do two judges give the same verdicts, beyond chance?", _agreeing(agreement.kappa)),
    "alpha": Trial(
        "do all judges together give the same verdicts?", lambda d, o: o.call(agreement.alpha, d, level="nominal")
    ),
    "anchoring": Trial("does a label move the verdicts?", _under_cues(invariance.anchoring)),
    "revision": Trial("does the judge revise when the truth is revealed?", lambda d, o: o.call(invariance.revision, d)),
    "rationale_shift": Trial(
        "does a label move the explanation of the same verdict?",
        _under_cues(invariance.rationale_shift),
    ),
    "rationale_check": Trial(
        "does the explanation fit the verdict?", lambda d, o: o.call(invariance.rationale_check, d)
    ),
}
#: Measure of ratings -> how it is tried.
RATING_TRIALS: dict[str, Trial] = {
    "accuracy": Trial("how often is the verdict right?", lambda d, o: o.call(bias.accuracy, d)),
    "score_matrix": Trial(
        "how does each judge score each system, and how steadily?", lambda d, o: o.call(consensus.score_matrix, d)
    ),
    "judge_against_people": Trial("do the judges agree with people as people do with each other?", _with_people),
    "consensus_deviation": Trial("how far is each judge from its peers, or from people?", _deviation),
    "self_excess": Trial("does a judge favour itself?", _self_excess),
    "attenuation": Trial("does hiding the author shrink that?", _attenuation),
    "rank_correlation": Trial("do two judges rank alike?", lambda d, o: o.call(consensus.rank_correlation, d)),
    "run_sd": Trial("does the judge repeat its score?", _run_sd),
    "score_distribution": Trial(
        "how are the scores spread, and how many are at the top?",
        lambda d, o: o.call(agreement.score_distribution, d),
    ),
    "agreement_levels": Trial(
        "do the judges agree on systems, on items, on the score itself?",
        _within_systems(agreement.agreement_levels),
    ),
    "icc": Trial(
        "how reliable is one judge, and the panel?",
        _agreeing(agreement.icc),
    ),
    "alpha": Trial(
        "do all judges together give the same scores?",
        _agreeing(agreement.alpha, level=_on_the_same_scale),
    ),
    "correlation": Trial(
        "which judges agree with which, item by item?",
        _within_systems(agreement.correlation, level="cell", pairs="each"),
    ),
    "disagreement": Trial("on what do the judges differ most?", _agreeing(agreement.disagreement)),
    "variance_components": Trial("where does the variance of the scores come from?", _components),
    "decision_study": Trial(
        "how many judges does a wanted reliability need?",
        lambda d, o: agreement.decision_study(_components(d, o), by=list(o.by)),
    ),
    "agreement_shift": Trial("does another way of judging move the agreement?", _shift),
    "agreement_slope": Trial("does temperature cost agreement?", _slope),
    "quality_agreement": Trial("do the judges agree less on better systems?", _quality),
    "ordering_accuracy": Trial("do the scores follow the tiers?", _tiers),
    "calibrate": Trial("what would bring each judge nearer to its peers, or to people?", _calibration),
    "score_error": Trial("how far is each score from the truth?", _with_gold(bias.score_error)),
    "best_of_accuracy": Trial("how often does the right response score highest?", _with_gold(bias.best_of_accuracy)),
}

# ---- Each measure, tried on a data set with the arguments that the data themselves suggest; or why it cannot be taken


def attempt(trial: Trial, data: Any, options: Options) -> pd.DataFrame | str:
    """Take a measure, or say why it gives no number.

    Parameters
    ----------
    trial : Trial
    data : frame
        Preferences or ratings.
    options : Options

    Returns
    -------
    pandas.DataFrame or str
        Estimates with a number among them, or the reason.
    """
    try:
        result = trial.take(data, options)
    except JudgestatsError as error:
        return str(error).partition(" Columns: ")[0]
    if isinstance(result, str) or result["estimate"].notna().any():
        return result
    doubts = "; ".join(dict.fromkeys(f for f in result["flag"] if f))
    return f"no number comes out: {doubts or 'no row is of use'}"


def attempts(data: Any, options: Options) -> dict[str, pd.DataFrame | str]:
    """Take every measure of this kind of data.

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    options : Options

    Returns
    -------
    dict of str to (pandas.DataFrame or str)
        Estimates, or why there are none.
    """
    return {measure: attempt(trial, data, options) for measure, trial in trials(data).items()}


def trials(data: Any) -> dict[str, Trial]:
    """Measures of this kind of data, in the order of a page.

    Parameters
    ----------
    data : frame
        Preferences or ratings.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    """
    return RATING_TRIALS if kind_of(columns_of(data)) == "ratings" else PREFERENCE_TRIALS


# ---- Which measures a data set supports today, and what is missing for the others ------------------------------------


def supported(
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
    >>> supported(calls).set_index("measure")["supported"].to_dict()["consistency"]
    True
    """
    known = references(opened(data).to_native(), humans, gold, baseline)
    people = known.people if known.humans else None
    ratings = kind_of(known.models.columns) == "ratings"
    apart = tuple(s.column for s in splits_of(known.models, KEYS)) if ratings else ()
    options = Options(by=apart, identity=dict(identity or {}), n_resamples=1, people=people, baseline=known.baseline)
    taken = attempts(known.models, options)
    rows = []
    for measure, trial in trials(known.models).items():
        result = taken[measure]
        missing = result if isinstance(result, str) else ""
        rows.append((measure, trial.question, not missing, missing))
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
    known = {c.name for c in VOCABULARY[kind] if c.name not in _CONDITIONS}
    conditions = [
        c
        for c in table.columns
        if c not in known
        and not c.endswith(("_first", "_second"))
        and 1 < table[c].astype(str).nunique() <= len(table) / 2
    ]
    rows.append(("conditions", ", ".join(f"{c} ({table[c].astype(str).nunique()})" for c in conditions) or "none"))
    return pd.DataFrame(rows, columns=["property", "value"])


_CONDITIONS = (
    "task",
    "topic",
    "strategy",
    "scheme",
    "probe",
    "prompt",
    "temperature",
    "bias",
    "stimulus",
    "condition",
    "domain",
    "tier",
)


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
        return f"not usable: {str(error).partition('. ')[0]}"
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
