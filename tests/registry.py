"""The data that exercise each measure, and the properties it has: all, but those it is exempt from, with the reason.

``test_properties.py`` holds each measure to them. What its record says decides most: a measure that is in ``CASES`` has
data of its own, or a peculiarity; any other is held to every property on the calls, or on one run of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

import judgestats as js
from instrument import instrument_calls, suited
from judgestats.counting.study import Study
from judgestats.metrics.measure_registry import Measure, measures

#: What is asked of every measure.
PROPERTIES = {
    "rows": "the order of the rows does not matter",
    "judges": "judges are names: renaming them, and so reversing their order, renames the result",
    "items": "items are names",
    "candidates": "candidates, or systems, are names",
    "slots": "showing every pair the other way round, with the same answers, changes nothing, or flips what has a sign",
    "engine": "Polars gives what pandas gives",
    "count": "every row three times over, as a count, gives the same estimates",
    "tally": "the tally gives what the frame gives",
    "again": "the same arguments give the same numbers",
    "untouched": "the input is not changed",
}
Data = Callable[[], pd.DataFrame]


@cache
def built_once(data: Data) -> Data:
    """The same data, built at the first call only; each call gives a copy."""
    build = cache(data)
    return lambda: build().copy()


@dataclass(frozen=True)
class Case:
    """How a measure is exercised, and what is peculiar about it.

    Attributes
    ----------
    call : callable, optional
        From a frame to estimates; by default the measure itself.
    data : callable, optional
        Gives a frame that exercises it.
    exempt : mapping of str to str
        Property -> why it does not apply.
    flips : tuple of str
        Terms that change sign when every pair is shown the other way round.
    swaps : tuple of (str, str)
        Terms that change places then.
    loose : tuple of str
        Columns in which frame and tally may differ (resampling, or pairing, needs the frame).
    baseline : str or None
        For tally() of a measure of changes.
    """

    call: Callable[[Any], pd.DataFrame] | None = None
    data: Data | None = None
    exempt: Mapping[str, str] = field(default_factory=dict)
    flips: tuple[str, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    loose: tuple[str, ...] = ()
    baseline: str | None = None


def calls() -> pd.DataFrame:
    """Calls of two judges under two prompts on vacuum, equal pairs, a ladder and filler, some invalid."""
    parts = [
        instrument_calls(judge=j, prompt=p, seed=s, tasks=4, criterion=c)
        for s, (j, p, c) in enumerate(
            [("g", "base", 0.3), ("g", "strict", 0.9), ("h", "base", 0.1), ("h", "strict", 0.5)]
        )
    ]
    table = pd.concat(parts, ignore_index=True)
    table.loc[np.random.default_rng(0).random(len(table)) < 0.03, "choice"] = "invalid"
    return table


def valid_calls() -> pd.DataFrame:
    """The calls that both prompts judged, so that all are paired."""
    table = calls()
    return table[table["choice"] != "invalid"].groupby(["judge", "item", "first"]).filter(lambda g: len(g) == 2)


def fit_for(measure: str) -> Data:
    """The calls with the columns that a measure needs."""
    return lambda: suited(calls(), measure)


def scores() -> pd.DataFrame:
    """Three judges, four systems (three of them the judges), eight items, two criteria, two runs; two scores missing."""
    keys = pd.MultiIndex.from_product(
        [list("abc"), list("abcd"), [f"i{k}" for k in range(8)], ["style", "truth"], range(2)],
        names=["judge", "system", "item", "criterion", "replicate"],
    )
    table = keys.to_frame(index=False)
    rng = np.random.default_rng(1)
    quality = table["system"].map({"a": 5.0, "b": 6.0, "c": 7.0, "d": 4.0})
    item = table["item"].map(dict(zip(sorted(table["item"].unique()), rng.normal(0, 1, 8), strict=True)))
    leniency = table["judge"].map({"a": 0.8, "b": 0.0, "c": -0.5})
    own = 0.7 * (table["judge"] == table["system"])
    table["score"] = np.clip(np.round(quality + item + leniency + own + rng.normal(0, 1, len(table))), 1, 10)
    table.loc[[3, 40], "score"] = np.nan
    return table


def single_scores() -> pd.DataFrame:
    """The same with one run of one criterion, complete."""
    table = scores()
    table = table[(table["replicate"] == 0) & (table["criterion"] == "truth")]
    return table.drop(columns=["replicate", "criterion"]).fillna({"score": 5.0}).reset_index(drop=True)


def classes() -> pd.DataFrame:
    """The scores as three classes, with that of their mean over judges as the right one; some are missing."""
    table = scores().query("replicate == 0").drop(columns="replicate")
    right = table.groupby(["system", "item", "criterion"])["score"].transform("mean")
    cut = partial(pd.cut, bins=[0, 4, 6, 11], right=False, labels=["bad", "fair", "good"])
    table = table.assign(answer=cut(table["score"]).astype(object), gold=cut(right).astype(object))
    return table[table["gold"].notna()].drop(columns="score").reset_index(drop=True)


def chosen_options() -> pd.DataFrame:
    """Two judges three times on questions with four options in a random order; judge g likes the first place."""
    rng = np.random.default_rng(9)
    keys = pd.MultiIndex.from_product([list("gh"), range(40), range(3)], names=["judge", "item", "replicate"])
    table = keys.to_frame(index=False).assign(item=lambda t: "q" + t["item"].astype(str), n_options=4)
    table["gold_at"] = rng.integers(1, 5, len(table))
    free = np.where(table["judge"] == "g", rng.choice([1, 1, 2, 3, 4], len(table)), rng.integers(1, 5, len(table)))
    table["shown_at"] = np.where(rng.random(len(table)) < 0.5, table["gold_at"], free).astype(float)
    table["answer"] = rng.choice(list("ABCD"), len(table)).astype(object)
    table.loc[[3, 150], ["shown_at", "answer"]] = None
    return table


def detected() -> pd.DataFrame:
    """Scores beside a label that is yes or no."""
    mean = single_scores().groupby(["system", "item"])["score"].transform("mean")
    return single_scores().assign(gold=(mean > mean.median()).astype(int))


def noisier() -> pd.DataFrame:
    """The same scores with more noise, so that the judges agree less."""
    table = scores()
    noise = np.random.default_rng(2).normal(0, 2, len(table)).round()
    return table.assign(score=(table["score"] + noise).clip(1, 10))


def warmed() -> pd.DataFrame:
    """The scores at three temperatures, noisier at each."""
    parts = [scores().assign(temperature=0.0), noisier().assign(temperature=0.5), noisier().assign(temperature=1.0)]
    parts[2]["score"] = np.random.default_rng(3).permutation(parts[2]["score"].to_numpy())
    return pd.concat(parts, ignore_index=True)


def labelled() -> pd.DataFrame:
    """Two judges on the answers of two systems to the same questions, right or wrong; people labelled some of them."""
    rng = np.random.default_rng(11)
    keys = pd.MultiIndex.from_product([list("gh"), list("st"), range(150)], names=["judge", "system", "item"])
    table = keys.to_frame(index=False)
    truth = {k: float(rng.random() < (0.7 if k[0] == "s" else 0.5)) for k in keys.droplevel(0).unique()}
    table["gold"] = [truth[key] for key in zip(table["system"], table["item"], strict=True)]
    right = rng.random(len(table)) < table["judge"].map({"g": 0.9, "h": 0.8})
    table["score"] = np.where(right, table["gold"], 1 - table["gold"])
    table.loc[table["item"] >= 60, "gold"] = np.nan
    table.loc[[3, 200], "score"] = np.nan
    return table.assign(item="q" + table["item"].astype(str))


def strategies() -> pd.DataFrame:
    """The calls under two strategies, with gold, a target and the name of its bias."""
    table = suited(calls(), "compare_strategies")
    return table.assign(target=table["gold"], bias="style")


def sure() -> pd.DataFrame:
    """Two judges that state how sure they are, on items with gold."""
    rng = np.random.default_rng(8)
    rows = []
    for judge, boast in (("g", 0.0), ("h", 0.15)):
        for i in range(80):
            first, second = ("a", "b") if i % 2 else ("b", "a")
            stated = rng.choice([0.6, 0.7, 0.8, 0.9, 1.0])
            right = rng.random() < stated - boast
            rows.append((judge, f"q{i:02d}", first, second, "first" if right == (i % 3 > 0) else "second", stated))
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "confidence"])
    gold = np.where(table["item"].str[1:].astype(int) % 3 > 0, table["first"], table["second"])
    return table.assign(gold=gold)


def lengths() -> pd.DataFrame:
    """Two judges on pairs whose longer answer is padded, and on pairs whose shorter one is cut off."""
    rng = np.random.default_rng(4)
    rows = []
    for judge, lean in (("g", 0.85), ("h", 0.5)):
        for kind, n in (("expansion", 60), ("truncation", 30)):
            for i in range(n):
                first, second = ("full", "other") if i % 2 else ("other", "full")
                wants = rng.random() < (lean if kind == "expansion" else 0.9)
                choice = "tie" if rng.random() < 0.1 else "first" if wants == (first == "full") else "second"
                rows.append((judge, f"{kind}{i}", first, second, choice, kind, "full", "full"))
    columns = ["judge", "item", "first", "second", "choice", "bias", "target", "gold"]
    return pd.DataFrame(rows, columns=columns)


def people() -> pd.DataFrame:
    """Two annotators and two judges on the same pairs, one side of which is in markdown."""
    rng = np.random.default_rng(6)
    rows = []
    for who, lean in (("ann", 0.55), ("bob", 0.5), ("g", 0.8), ("h", 0.6)):
        for i in range(40):
            first, second = ("md", "plain") if i % 2 else ("plain", "md")
            wants = rng.random() < lean
            tie = who in "gh" and rng.random() < 0.1
            choice = "tie" if tie else "first" if wants == (first == "md") else "second"
            rows.append((who, f"p{i}", first, second, choice, "md"))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "target"])


def contests() -> pd.DataFrame:
    """Three judges on forty items, each of which compares two of four systems; some ties, some invalid."""
    rng = np.random.default_rng(8)
    worth = {"w": 0.8, "x": 0.2, "y": -0.2, "z": -0.8}
    rows = []
    for i in range(40):
        first, second = rng.choice(list(worth), 2, replace=False)
        for judge in "ghk":
            eta = worth[first] - worth[second] + 0.3 + rng.logistic()
            choice = "invalid" if rng.random() < 0.03 else "first" if eta > 0.4 else "second" if eta < -0.4 else "tie"
            rows.append((judge, f"c{i}", first, second, choice))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])


def judged_twice() -> pd.DataFrame:
    """The calls of two judges under two prompts, and of a person."""
    table = calls()
    person = table[(table["judge"] == "g") & (table["prompt"] == "base")]
    choice = np.random.default_rng(8).permutation(person["choice"].to_numpy())
    return pd.concat([table, person.assign(judge="ann", prompt=None, choice=choice)], ignore_index=True)


def probes() -> pd.DataFrame:
    """Two judges under two schemes, blind and with true and flipped labels, with explanations."""
    rng = np.random.default_rng(7)
    words = ["fluent", "complete", "short", "wrong", "accurate", "clear", "model", "dull", "rich", "plain"]
    rows = []
    for judge in "gh":
        for scheme in ("Baseline", "PBP"):
            for probe, lean in (("blind", 0.4), ("truth", 0.6), ("flip", 0.25)):
                for i in range(40):
                    first, second = ("a", "b") if rng.random() < 0.5 else ("b", "a")
                    chosen = rng.choice(["a", "b", "tie", "invalid"], p=[lean, 0.75 - lean, 0.22, 0.03])
                    choice = {first: "first", second: "second"}.get(chosen, chosen)
                    told = " ".join(rng.choice(words, 6))
                    rows.append((judge, scheme, probe, f"d{i}", first, second, choice, told))
    columns = ["judge", "scheme", "probe", "item", "first", "second", "choice", "rationale"]
    return pd.DataFrame(rows, columns=columns)


def hidden() -> pd.DataFrame:
    """The scores with and without the names of the systems; without, judges favour themselves less."""
    table = pd.concat([scores().assign(condition=c) for c in ("attributed", "anonymized")], ignore_index=True)
    own = (table["judge"] == table["system"]) & (table["condition"] == "anonymized")
    return table.assign(score=table["score"] - 0.4 * own)


def later() -> pd.DataFrame:
    """The scores under condition a, and with more noise under b."""
    return pd.concat([scores().assign(condition="a"), noisier().assign(condition="b")], ignore_index=True)


def mean_of_items(data: Any) -> pd.DataFrame:
    """A known value of each item: its mean score."""
    table = Study.of(data).data.lazy().collect(backend="pandas").to_native()
    return table.groupby("item")["score"].mean().rename("value").reset_index()


def under(data: Any, condition: str) -> Any:
    """Rows of one condition, of a frame of any engine."""
    return Study.of(data).data.filter(nw.col("condition") == condition).to_native()


def few(measure: Callable[..., pd.DataFrame], **arguments: Any) -> Callable[[Any], pd.DataFrame]:
    """The measure with few resamples."""
    return partial(measure, n_resamples=50, **arguments)


_TEXTS = "explanations are compared one by one"
_PAIRS = "a tally for kappa counts pairs of judges; counts beside labels are tested in test_classifications"
_PLACES = "options are known by their places, and have no names"
_NAMED = "the favoured side is named in an argument; renaming it is tested in test_anchoring"

#: Measure -> its case, where it has data of its own or a peculiarity.
CASES: dict[str, Case] = {
    "detection_threshold": Case(few(js.detection_threshold), loose=("conf_low", "conf_high", "method", "flag")),
    "d_prime": Case(exempt={"count": "the log-linear correction depends on n"}, flips=("slot_criterion",)),
    "criterion_shift": Case(
        lambda data, **more: js.criterion_shift(data, "base", "strict", **more),
        valid_calls,
        {"count": "the ratio's interval knows n; its estimate is the same, its flag is not"},
        loose=("std_error", "conf_low", "conf_high", "method", "flag"),  # a tally cannot name the paired calls
    ),
    "score_matrix": Case(data=scores),
    "consensus_deviation": Case(data=scores),
    "calibrate": Case(data=scores, exempt={"items": "items are dealt to folds by a seed and their names"}),
    "blinding_effect": Case(data=hidden),
    "rank_correlation": Case(data=scores),
    "level_progression": Case(
        lambda data: js.level_progression(data, mean_of_items(data)),
        lambda: single_scores().query("system == 'a'"),
    ),
    "run_sd": Case(lambda data, **more: js.run_sd(data, **more).query("term == 'run_sd'"), scores),
    "run_sd, ratios": Case(
        js.run_sd,
        scores,
        dict.fromkeys(("judges", "candidates"), "a ratio is inverted when the names are; tested in test_stability"),
    ),
    "ranks": Case(data=scores),
    "kendall_w": Case(data=scores),
    "consistency": Case(swaps=(("first_twice", "second_twice"),)),
    "position_bias": Case(
        exempt={"slots": "first_share_nontie becomes its complement; lean and shares are tested in test_bias"}
    ),
    "option_position_bias": Case(data=chosen_options, exempt={"candidates": _PLACES}),
    "option_position_bias, of equal places": Case(
        js.option_position_bias, lambda: chosen_options().drop(columns="gold_at"), {"candidates": _PLACES}
    ),
    "gold_agreement": Case(data=fit_for("gold_agreement")),
    "accuracy": Case(data=lambda: scores().assign(correct=lambda t: t.pop("score").gt(5).mask(t.index % 31 == 0))),
    "classification": Case(data=classes, exempt={"tally": _PAIRS}),
    "confusion": Case(data=classes, exempt={"tally": _PAIRS}),
    "roc": Case(
        partial(js.roc, fpr=0.25, n_resamples=50),
        detected,
        {"items": "the bootstrap draws calls in the order of their names", "candidates": "and of the systems"},
    ),
    "corrected_rate": Case(partial(js.corrected_rate, sampling="by class"), labelled),
    "corrected_rate, random": Case(
        partial(js.corrected_rate, sampling="random"),
        labelled,
        {"count": "the coefficient is estimated with n - 1"},
    ),
    "corrected_difference": Case(
        partial(js.corrected_difference, sampling="by class", baseline="s"),
        labelled,
        dict.fromkeys(("judges", "candidates"), "the baseline is named in an argument, and systems are renamed"),
    ),
    "bias_score": Case(data=fit_for("bias_score")),
    "bias_change": Case(few(js.bias_change, baseline="B0"), strategies, baseline="B0"),
    "verbosity_bias": Case(data=lengths),
    "preference_gap": Case(
        partial(js.preference_gap, humans=["ann", "bob"]),
        people,
        {"judges": "people are named in an argument; renaming them is tested in test_people"},
    ),
    "evaluation_cost": Case(
        partial(js.evaluation_cost, by="prompt"),
        lambda: calls().assign(cost=lambda t: 0.01 * (1 + t.groupby("judge").cumcount() % 5)),
        {"count": "calls that are asked again cost again"},
    ),
    "pass_at_k": Case(
        partial(js.pass_at_k, k=2, by="system"),
        lambda: scores().assign(correct=lambda t: t.pop("score").gt(5)),
    ),
    "paired_differences": Case(
        partial(js.paired_differences, between="strategy"),
        lambda: strategies().query("prompt == 'base'"),
        {"count": "n counts the things that both have, not calls"},
    ),
    "rank_systems": Case(partial(js.rank_systems, slot=True), contests, flips=("slot",)),
    "compare_strategies": Case(partial(js.compare_strategies, baseline="B0"), strategies, baseline="B0"),
    "best_of_accuracy": Case(partial(js.best_of_accuracy, by="criterion"), lambda: scores().assign(gold="c")),
    "score_error": Case(
        js.score_error,
        lambda: scores().assign(gold=lambda t: t["system"].map({"a": 5.0, "b": 6.0, "c": 7.0, "d": 4.0})),
    ),
    "icc": Case(partial(js.icc, by="system"), scores),
    "judge_against_people": Case(
        partial(js.judge_against_people, humans=["ann", "bob"]), people, {"judges": "people are named in an argument"}
    ),
    "compare_versions": Case(
        few(js.compare_versions, baseline={"prompt": "base"}, humans=["ann"]),
        judged_twice,
        {
            "judges": "people are named in an argument",
            "count": "a call that is counted three times was repeated, so that rerun noise is known",
        },
    ),
    "compare_versions, of ratings": Case(
        few(js.compare_versions, baseline={"condition": "a"}, humans=["c"], by="criterion"),
        lambda: later()[lambda t: (t["judge"] != "c") | (t["condition"] == "a")].assign(
            condition=lambda t: t["condition"].where(t["judge"] != "c")
        ),
        {"judges": "people are named in an argument", "candidates": "judges are systems, and people are named"},
    ),
    "alternative_annotator_test": Case(
        partial(js.alternative_annotator_test, humans=["ann", "bob"], epsilon=0.2),
        people,
        {"judges": "people are named in an argument", "count": "single answers are compared; counts are refused"},
    ),
    "alternative_annotator_test, of ratings": Case(
        partial(js.alternative_annotator_test, humans=["b", "c"], epsilon=0.2),
        single_scores,
        {"judges": "people are named in an argument", "candidates": "judges are systems, and people are named"},
    ),
    "alpha": Case(few(js.alpha, level_of_measurement="interval")),
    "correlation": Case(few(js.correlation), scores),
    "agreement_levels": Case(few(js.agreement_levels), scores),
    "agreement_shift": Case(lambda data, **more: js.agreement_shift(data, ("a", "b"), n_resamples=50, **more), later),
    "agreement_slope": Case(few(js.agreement_slope), warmed),
    "agreement_shift, across": Case(
        lambda data, **more: js.agreement_shift(
            under(data, "a"), under(data, "b"), across="domain", n_resamples=50, **more
        ),
        lambda: later().assign(domain=lambda t: np.where(t["item"] < "i4", "law", "art")),
        {"items": "Cochran's Q weighs by bootstrapped standard errors, which the names of items reorder"},
    ),
    "agreement_shift, relative": Case(
        lambda data, **more: js.agreement_shift(data, ("a", "b"), relative=True, n_resamples=50, **more), later
    ),
    "confidence_calibration": Case(few(js.confidence_calibration), sure),
    "abstention_threshold": Case(
        lambda data: js.abstention_threshold(data, 0.3),
        sure,
        {"count": "three calls on one item are no three exchangeable items: they are refused"},
    ),
    "effective_judges": Case(
        few(js.effective_judges, by="criterion"),
        lambda: scores().assign(gold=lambda t: t["system"].map({"a": 5.0, "b": 6.0, "c": 7.0, "d": 4.0})),
    ),
    "disagreement": Case(few(js.disagreement), scores, {"items": "ties among the most disputed are broken by name"}),
    "score_distribution": Case(few(js.score_distribution), scores),
    "quality_agreement": Case(data=scores),
    "ordering_accuracy": Case(
        few(js.ordering_accuracy, order=("low", "high")),
        lambda: scores().assign(tier=lambda t: np.where(t["system"].isin(["a", "d"]), "low", "high")),
    ),
    "anchoring": Case(
        partial(js.anchoring, favoured="a"),
        probes,
        {"candidates": _NAMED},
        loose=("std_error", "conf_low", "conf_high"),  # the frame pairs the items, counts cannot
    ),
    "protocol_difference": Case(few(js.protocol_difference, favoured="a"), probes, {"candidates": _NAMED}),
    "revision": Case(partial(js.revision, before="flip", after="truth"), probes, baseline="flip"),
    "rationale_shift": Case(few(js.rationale_shift), probes, {"count": _TEXTS}),
    "rationale_alignment": Case(
        few(js.rationale_alignment, favoured_text="fluent and complete", opposed_text="short and wrong"),
        probes,
        {"count": _TEXTS},
    ),
    "rationale_check": Case(data=probes),
}


def of_record(record: Measure, data: Data) -> dict[str, str]:
    """What a measure is exempt from by what its record says, and by the kind of its data."""
    ratings = "first" not in data().columns
    found = {}
    if ratings:
        found["slots"] = "the scores are numbers of cells, not the slots of a call"
    if record.pattern is None:
        found["tally"] = "it works on texts, on whole vectors of scores, or on several tallies: it has no pattern"
    if ratings and (record.pattern is None or record.pattern.unit == "cell"):
        found["count"] = "runs are averaged: three identical runs change the spread, not the mean"
    return found


@cache
def registry() -> Mapping[str, Case]:
    """The case of each measure of preferences or ratings, by public name; a second case has a word after a comma."""
    found, records = {}, measures()
    second = [case for case in CASES if "," in case]
    for name in [*(n for n, record in records.items() if n == record.function.__name__), *second]:
        record = records[name.partition(",")[0]]
        if not set(record.input) & {"P", "R"}:
            continue
        case = CASES.get(name, Case())
        data = case.data or (single_scores if "R" in record.input else calls)
        exempt = {**of_record(record, data), **case.exempt}
        found[name] = replace(case, call=case.call or record.function, data=built_once(data), exempt=exempt)
    return MappingProxyType(found)


def copies(data: pd.DataFrame, task: Callable[[int], int], number: int) -> pd.DataFrame:
    """The data so many times over, on other items, each copy of a task; answers vary."""
    rng = np.random.default_rng(0)
    answer = next(c for c in ("choice", "score", "correct", "answer") if c in data.columns)
    parts = []
    for copy in range(number):
        part, mixed = data.copy(), rng.random(len(data)) < 0.3
        part.loc[mixed, answer] = rng.permutation(part.loc[mixed, answer].to_numpy())
        parts.append(part.assign(item=f"{copy} " + part["item"].astype(str), task=f"t{task(copy):02d}"))
    return pd.concat(parts, ignore_index=True)


def unequal(data: pd.DataFrame) -> pd.DataFrame:
    """Of 30 tasks two have 25 copies of the data each and the others one."""
    return copies(data, lambda copy: copy // 25 if copy < 50 else copy - 48, 78)


def last_judge(data: pd.DataFrame) -> pd.Series:
    """Rows of the judge whose name is last."""
    judge = data["judge"].astype(str)
    return judge == judge.max()


def few_tasks_of_one_judge(data: pd.DataFrame) -> pd.DataFrame:
    """Thirty-two tasks in four areas; the last judge has twelve of them."""
    whole = copies(data, lambda copy: copy, 32)
    number = whole["task"].str[1:].astype(int)
    return whole.assign(area=number % 4)[~last_judge(whole) | (number < 12)].reset_index(drop=True)


def one_call_of_one_judge(data: pd.DataFrame) -> pd.DataFrame:
    """Items of four areas without tasks; the last judge has one call on each."""
    whole = copies(data, lambda copy: copy, 32)
    whole = whole.assign(area=whole["task"].str[1:].astype(int) % 4).drop(columns="task")
    return whole[~last_judge(whole) | ~whole.duplicated(["judge", "item"])].reset_index(drop=True)
