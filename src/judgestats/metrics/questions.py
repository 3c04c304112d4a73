"""The question of each measure, and the arguments that the data themselves suggest for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError
from judgestats.metrics import agreement, bias, consensus, invariance, psychometrics
from judgestats.metrics.bias.attributes import numeric_attributes
from judgestats.schema.cells import cells
from judgestats.schema.columns import answer_column

#: Names that a strategy to compare with goes by, and a probe without a cue.
BASELINES = ("b0", "baseline", "base", "vanilla", "naive", "none", "default")
#: Levels of an incomplete design whose components a page waits for.
QUICK = 500
#: Systems that are looked into one by one.
SYSTEMS = 500
#: As many candidates, or judges, as every one is compared with every other one.
MANY = 60


@dataclass(frozen=True)
class Options:
    """What every measure is given, as far as it takes it.

    Attributes
    ----------
    by : tuple of str
    identity : mapping of str to str
        For ratings: system -> judge.
    cluster : str or None
    n_resamples, seed : int
    conf_level : float
    """

    by: tuple[str, ...] = ()
    identity: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None
    n_resamples: int = 2000
    seed: int = 0
    conf_level: float = 0.95

    @property
    def plain(self) -> dict[str, Any]:
        """Groups and coverage."""
        return {"by": list(self.by), "conf_level": self.conf_level}

    @property
    def drawn(self) -> dict[str, Any]:
        """Groups, coverage and the bootstrap's."""
        return {**self.plain, "n_resamples": self.n_resamples, "seed": self.seed}


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


def labels(data: Any, column: str) -> list[str]:
    """Values of a column as text, sorted; none where there is no such column."""
    if column not in columns_of(data):
        return []
    values = nw.from_native(data).lazy().select(nw.col(column).cast(nw.String)).unique().collect(backend="pandas")
    return sorted(v for v in values.to_native()[column] if isinstance(v, str))


def plain_value(data: Any, column: str) -> str | None:
    """The value of a column that is a baseline by its name; None where there is none, or several."""
    found = [v for v in labels(data, column) if v.strip().lower() in BASELINES]
    return found[0] if len(found) == 1 else None


def _both_orders(table: pd.DataFrame) -> pd.DataFrame | str:
    one = table["estimate"].isna().all()
    return "every pair was judged in one order only: run each pair in both orders" if one else table


def _repeats(data: Any, options: Options) -> pd.DataFrame | str:
    if len(labels(data, "replicate")) < 2:
        return "no call is repeated: there is no second value in 'replicate'"
    return bias.consistency(data, over="replicate", **options.plain)


def _criterion(data: Any, options: Options) -> pd.DataFrame | str:
    prompts = labels(data, "prompt")
    if len(prompts) < 2:
        return "needs two values in a column 'prompt'"
    return psychometrics.criterion_shift(data, prompts[0], prompts[1], conf_level=options.conf_level)


def _bias_score(data: Any, options: Options) -> pd.DataFrame | str:
    present = columns_of(data)
    plain = {**options.plain, "cluster": options.cluster}
    if "target" in present:
        known = nw.from_native(data).filter(~nw.col("target").is_null()).to_native()
        return bias.bias_score(known, **plain)
    attributes = numeric_attributes(data)
    if not attributes:
        return "needs a column 'target', or an attribute of both candidates such as length_first, length_second"
    parts = [bias.bias_score(data, attribute=a, **plain).assign(bias=a) for a in attributes]
    return pd.concat(parts, ignore_index=True)


def _change(measure: Callable[..., pd.DataFrame]) -> Callable[[Any, Options], pd.DataFrame | str]:
    def take(data: Any, options: Options) -> pd.DataFrame | str:
        baseline = plain_value(data, "strategy")
        if baseline is None:
            found = ", ".join(labels(data, "strategy")) or "no column 'strategy'"
            return f"does not know which strategy is the baseline ({found}): name it in baseline="
        return measure(data, baseline=baseline, **options.plain)

    return take


def _probe(data: Any) -> str:
    blind = [p for p in labels(data, "probe") if p.strip().lower() == "blind" or p.strip().lower() in BASELINES]
    if len(blind) != 1:
        raise DesignError("needs a column 'probe' with one value 'blind': the calls without a cue")
    return blind[0]


def _people(data: Any, _: Options) -> str:
    who = labels(data, "judge")
    return f"does not know which of the {len(who)} judges are people: name them in people="


def _within_systems(measure: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[[Any, Options], Any]:
    """A correlation over the items of each system, where systems are few enough to have items in common."""
    agreeing = _agreeing(measure, **arguments)

    def take(data: Any, options: Options) -> pd.DataFrame | str:
        systems = len(labels(data, "system"))
        return f"{systems:,} systems are too many to look into each" if systems > SYSTEMS else agreeing(data, options)

    return take


def _agreeing(measure: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[[Any, Options], pd.DataFrame | str]:
    """A measure of agreement, where there are two judges or more, and not too many for every pair."""

    def take(data: Any, options: Options) -> pd.DataFrame | str:
        judges = labels(data, "judge")
        if not 2 <= len(judges) <= MANY:
            return "needs two judges" if len(judges) < 2 else f"{len(judges)} judges are too many for every pair"
        return measure(data, **arguments, **options.plain)

    return take


def _self_excess(data: Any, options: Options) -> pd.DataFrame | str:
    known = dict(options.identity)
    if not set(labels(data, "judge")) & {known.get(s, s) for s in labels(data, "system")}:
        return "no judge bears the name of a system: say which is which with identity={'system': 'judge'}"
    table = consensus.consensus_deviation(data, identity=known, **options.plain)
    return table[table["term"] == "self_excess"]


def _deviation(data: Any, options: Options) -> pd.DataFrame:
    table = consensus.consensus_deviation(data, identity=dict(options.identity), **options.plain)
    return table[table["term"] == "deviation"]


def _attenuation(data: Any, options: Options) -> pd.DataFrame:
    table = consensus.attenuation(data, identity=dict(options.identity))
    return table[table["term"] == "attenuation"]


def _shift(data: Any, options: Options) -> pd.DataFrame | str:
    found = labels(data, "condition")
    if len(found) != 2:
        return f"needs two values in a column 'condition', and finds {len(found)}"
    return agreement.agreement_shift(data, (found[0], found[1]), **options.drawn)


def _slope(data: Any, options: Options) -> pd.DataFrame | str:
    found = labels(data, "temperature")
    if len(found) < 3:
        return f"needs three values in a column 'temperature', and finds {len(found)}"
    return agreement.agreement_slope(data, **options.drawn)


def _tiers(data: Any, _: Options) -> str:
    found = labels(data, "tier")
    if len(found) < 2:
        return "needs two values in a column 'tier'"
    return f"does not know which of the tiers {', '.join(found)} should be higher: name them from low to high in order="


def _quality(data: Any, options: Options) -> pd.DataFrame | str:
    if len(labels(data, "system")) < 4:
        return "needs four systems or more"
    return agreement.quality_agreement(data, **options.plain)


def _with_gold(measure: Callable[..., pd.DataFrame]) -> Callable[[Any, Options], pd.DataFrame | str]:
    def take(data: Any, options: Options) -> pd.DataFrame | str:
        if "gold" not in columns_of(data):
            return "needs a column 'gold'"
        return measure(data, **options.plain)

    return take


def _components(data: Any, options: Options) -> pd.DataFrame:
    """Variance components, where they are quick: a large incomplete design is left to a call of its own."""
    return agreement.variance_components(data, most_levels=QUICK, **options.plain)


def _run_sd(data: Any, options: Options) -> pd.DataFrame:
    return cells(data, list(options.by)).rename(columns={"sd": "estimate"}).assign(flag="no rating is repeated")


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
        "does the judge say the same in both orders?", lambda d, o: _both_orders(bias.consistency(d, **o.plain))
    ),
    "consistency, over repeats": Trial("does the judge say the same when asked again?", _repeats),
    "slot_lean": Trial(
        "does the judge lean to one slot; how often does it tie?", lambda d, o: bias.slot_lean(d, **o.plain)
    ),
    "gold_agreement": Trial("how often is the judge right?", lambda d, o: bias.gold_agreement(d, **o.plain)),
    "dark_current": Trial(
        "does the judge prefer where there is nothing to prefer?", lambda d, o: psychometrics.dark_current(d, **o.plain)
    ),
    "delta0": Trial(
        "what is false preference between equals made of?",
        lambda d, o: _both_orders(psychometrics.delta0(d, **o.plain)),
    ),
    "target_sensitivity": Trial(
        "does the judge find a known difference?", lambda d, o: psychometrics.target_sensitivity(d, **o.plain)
    ),
    "detection_threshold": Trial(
        "how large must a difference be?", lambda d, o: psychometrics.detection_threshold(d, **o.drawn)
    ),
    "d_prime": Trial("how far apart are signal and no signal?", lambda d, o: psychometrics.d_prime(d, **o.plain)),
    "filler_preference": Trial(
        "does the judge reward filler?", lambda d, o: psychometrics.filler_preference(d, **o.plain)
    ),
    "criterion_shift": Trial("does a prompt move the border between tie and preference?", _criterion),
    "bias_score": Trial("which way does the judge lean, whatever the slot?", _bias_score),
    "preference_rate": Trial("which candidate wins how often?", lambda d, o: bias.preference_rate(d, **o.plain)),
    "compare_strategies": Trial(
        "which way of asking makes the judge more often right?", _change(bias.compare_strategies)
    ),
    "bias_change": Trial("which way of asking makes the judge lean less?", _change(bias.bias_change)),
    "preference_gap": Trial("do judges and people prefer the same?", _people),
    "kappa": Trial("do two judges give the same verdicts, beyond chance?", _agreeing(agreement.kappa)),
    "alpha": Trial(
        "do all judges together give the same verdicts?", lambda d, o: agreement.alpha(d, level="nominal", **o.drawn)
    ),
    "anchoring": Trial(
        "does a label move the verdicts?", lambda d, o: invariance.anchoring(d, blind=_probe(d), **o.plain)
    ),
    "revision": Trial(
        "does the judge revise when the truth is revealed?", lambda d, o: invariance.revision(d, **o.plain)
    ),
    "rationale_shift": Trial(
        "does a label move the explanation of the same verdict?",
        lambda d, o: invariance.rationale_shift(d, blind=_probe(d), **o.drawn),
    ),
    "rationale_check": Trial(
        "does the explanation fit the verdict?", lambda d, o: invariance.rationale_check(d, **o.plain)
    ),
}
#: Measure of ratings -> how it is tried.
RATING_TRIALS: dict[str, Trial] = {
    "accuracy": Trial("how often is the verdict right?", lambda d, o: bias.accuracy(d, cluster=o.cluster, **o.plain)),
    "score_matrix": Trial(
        "how does each judge score each system, and how steadily?", lambda d, o: consensus.score_matrix(d, **o.plain)
    ),
    "consensus_deviation": Trial("how far is each judge from its peers?", _deviation),
    "self_excess": Trial("does a judge favour itself?", _self_excess),
    "attenuation": Trial("does hiding the author shrink that?", _attenuation),
    "rank_correlation": Trial("do two judges rank alike?", lambda d, o: consensus.rank_correlation(d, **o.plain)),
    "run_sd": Trial("does the judge repeat its score?", _run_sd),
    "score_distribution": Trial(
        "how are the scores spread, and how many are at the top?",
        lambda d, o: agreement.score_distribution(d, **o.drawn),
    ),
    "agreement_levels": Trial(
        "do the judges agree on systems, on items, on the score itself?",
        _within_systems(lambda d, **a: agreement.agreement_levels(d, **a)),
    ),
    "icc": Trial(
        "how reliable is one judge, and the panel?",
        _agreeing(lambda d, **a: agreement.icc(d, **a)),
    ),
    "alpha": Trial(
        "do all judges together give the same scores?",
        _agreeing(lambda d, **a: agreement.alpha(d, level=_on_the_same_scale(d), **a)),  # type: ignore[arg-type]
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
    "calibrate": Trial(
        "what would bring each judge nearer to its peers?",
        _agreeing(lambda d, **a: consensus.calibrate(d, **a)),
    ),
    "score_error": Trial("how far is each score from the truth?", _with_gold(bias.score_error)),
    "best_of_accuracy": Trial("how often does the right response score highest?", _with_gold(bias.best_of_accuracy)),
}
