"""Every measure, the data that exercise it, and the properties it has: all, but those it is exempt from, with the reason.

``test_properties.py`` holds each measure to them. A public function that returns estimates and is not here fails there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from instrument import instrument_calls, suited

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


@dataclass(frozen=True)
class Measure:
    """A measure and what is asked of it.

    Attributes
    ----------
    call : callable
        From a frame to estimates.
    data : callable
        Gives a frame that exercises it.
    exempt : mapping of str to str
        Property -> why it does not apply.
    flips : tuple of str
        Terms that change sign when every pair is shown the other way round.
    swaps : tuple of (str, str)
        Terms that change places then.
    tally : str
        Its name in PATTERNS, where that is not its own; empty for the same.
    loose : tuple of str
        Columns in which frame and tally may differ (resampling, or pairing, needs the frame).
    baseline : str or None
        For tally() of a measure of changes.
    """

    call: Callable[[Any], pd.DataFrame]
    data: Data
    exempt: Mapping[str, str] = field(default_factory=dict)
    flips: tuple[str, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    tally: str = ""
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
    severity = table["judge"].map({"a": 0.8, "b": 0.0, "c": -0.5})
    own = 0.7 * (table["judge"] == table["system"])
    table["score"] = np.clip(np.round(quality + item + severity + own + rng.normal(0, 1, len(table))), 1, 10)
    table.loc[[3, 40], "score"] = np.nan
    return table


def single_scores() -> pd.DataFrame:
    """The same with one run of one criterion, complete."""
    table = scores()
    table = table[(table["replicate"] == 0) & (table["criterion"] == "truth")]
    return table.drop(columns=["replicate", "criterion"]).fillna({"score": 5.0}).reset_index(drop=True)


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


def strategies() -> pd.DataFrame:
    """The calls under two strategies, with gold, a target and the name of its bias."""
    table = suited(calls(), "compare_strategies")
    return table.assign(target=table["gold"], bias="style")


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


_NUMBERS = "the scores are numbers of cells, not counts of identical calls"
_VECTORS = "it works on whole vectors of scores (UNIT_LEVEL), or on a table of its own"
_MEANS = "runs are averaged: three identical runs change the spread, not the mean"
_ORDERED = {"slots": "it is about the slot: the other way round is another design"}


def _psychometrics() -> dict[str, Measure]:
    from judgestats.metrics import psychometrics as m

    shift = Measure(
        lambda data: m.criterion_shift(data, "base", "strict"),
        valid_calls,
        {"count": "the ratio's interval knows n; its estimate is the same, its flag is not"},
        loose=("std_error", "conf_low", "conf_high", "method", "flag"),  # a tally cannot name the paired calls
    )
    return {
        "dark_current": Measure(m.dark_current, calls),
        "delta0": Measure(m.delta0, calls),
        "target_sensitivity": Measure(m.target_sensitivity, calls),
        "detection_threshold": Measure(
            lambda data: m.detection_threshold(data, n_resamples=50),
            calls,
            loose=("conf_low", "conf_high", "method", "flag"),
        ),
        "d_prime": Measure(
            m.d_prime, calls, {"count": "the log-linear correction depends on n"}, flips=("slot_criterion",)
        ),
        "criterion_shift": shift,
        "filler_preference": Measure(m.filler_preference, calls),
        "validity_gates": Measure(
            m.validity_gates,
            calls,
            {"tally": "gates are conditions on calls in their order, with no pattern of their own"},
        ),
    }


def _consensus() -> dict[str, Measure]:
    from judgestats.metrics import consensus as m

    vectors = "it works on whole vectors of scores (UNIT_LEVEL)"
    two = lambda: pd.concat([scores().assign(condition=c) for c in ("attributed", "anonymized")], ignore_index=True)  # noqa: E731

    def hidden() -> pd.DataFrame:
        table = two()
        own = (table["judge"] == table["system"]) & (table["condition"] == "anonymized")
        return table.assign(score=table["score"] - 0.4 * own)

    return {
        "score_matrix": Measure(m.score_matrix, scores, {"slots": _NUMBERS, "count": _MEANS, "tally": vectors}),
        "consensus_deviation": Measure(m.consensus_deviation, scores, {"slots": _NUMBERS, "count": _MEANS}),
        "calibrate": Measure(
            lambda data: m.calibrate(data, n_resamples=50),
            scores,
            {
                "slots": _NUMBERS,
                "count": _MEANS,
                "tally": vectors,
                "items": "items are dealt to folds by a seed and their names",
            },
        ),
        "blinding_effect": Measure(m.blinding_effect, hidden, {"slots": _NUMBERS, "count": _MEANS, "tally": vectors}),
        "rank_correlation": Measure(m.rank_correlation, scores, {"slots": _NUMBERS, "count": _MEANS, "tally": vectors}),
        "ranks": Measure(m.ranks, scores, {"slots": _NUMBERS, "count": _MEANS, "tally": vectors}),
        "kendall_w": Measure(m.kendall_w, scores, {"slots": _NUMBERS, "count": _MEANS, "tally": vectors}),
    }


def _bias() -> dict[str, Measure]:
    from judgestats.metrics import bias as m

    judged = "the right answer and its rivals are systems with scores, not the slots of a call"
    slotted = "first_share_nontie becomes its complement; lean and shares are tested in test_bias"
    return {
        "consistency": Measure(m.consistency, calls, swaps=(("first_twice", "second_twice"),)),
        "position_bias": Measure(m.position_bias, calls, {"slots": slotted}),
        "answer_rates": Measure(m.answer_rates, calls),
        "gold_agreement": Measure(m.gold_agreement, fit_for("gold_agreement")),
        "accuracy": Measure(
            m.accuracy,
            lambda: scores().assign(correct=lambda t: t.pop("score").gt(5).mask(t.index % 31 == 0)),
            {"slots": _NUMBERS},
        ),
        "bias_score": Measure(m.bias_score, fit_for("bias_score")),
        "bias_change": Measure(lambda data: m.bias_change(data, n_resamples=50), strategies, baseline="B0"),
        "verbosity_bias": Measure(
            m.verbosity_bias,
            lengths,
            {"tally": "two kinds of pairs with two kinds of tallies, tested in test_bias_scores"},
        ),
        "preference_rate": Measure(m.preference_rate, calls),
        "preference_gap": Measure(
            lambda data: m.preference_gap(data, humans=["ann", "bob"]),
            people,
            {
                "judges": "people are named in an argument; renaming them is tested in test_people",
                "tally": "a tally has rates and gaps, but nothing of the agreement of annotators; tested in test_people",
            },
        ),
        "compare_strategies": Measure(m.compare_strategies, strategies, baseline="B0"),
        "best_of_accuracy": Measure(
            lambda data: m.best_of_accuracy(data, by="criterion"),
            lambda: scores().assign(gold="c"),
            {"slots": judged, "count": _MEANS, "tally": _VECTORS},
        ),
        "score_error": Measure(
            lambda data: m.score_error(data, n_resamples=50),
            lambda: scores().assign(gold=lambda t: t["system"].map({"a": 5.0, "b": 6.0, "c": 7.0, "d": 4.0})),
            {"slots": _NUMBERS, "count": _MEANS, "tally": _VECTORS},
        ),
    }


def _agreement() -> dict[str, Measure]:
    from judgestats.metrics import agreement as m

    vectors = {"slots": _NUMBERS, "count": _MEANS, "tally": _VECTORS}
    few = {"n_resamples": 50}
    later = lambda: pd.concat([scores().assign(condition="a"), noisier().assign(condition="b")], ignore_index=True)  # noqa: E731

    def shifted(data: Any) -> Any:
        return m.agreement_shift(data, ("a", "b"), **few)

    return {
        "icc": Measure(lambda data: m.icc(data, by="system"), scores, {"slots": _NUMBERS, "count": _MEANS}),
        "kappa": Measure(m.kappa, single_scores, {"slots": _NUMBERS}),
        "ac1": Measure(m.ac1, single_scores, vectors),
        "judge_against_people": Measure(
            lambda data: m.judge_against_people(data, humans=["ann", "bob"], **few),
            people,
            {
                "judges": "people are named in an argument",
                "tally": "it takes the answers of people and judges thing by thing (UNIT_LEVEL)",
            },
        ),
        "alpha": Measure(lambda data: m.alpha(data, level_of_measurement="interval", **few), single_scores, vectors),
        "correlation": Measure(lambda data: m.correlation(data, **few), scores, vectors),
        "agreement_levels": Measure(lambda data: m.agreement_levels(data, **few), scores, vectors),
        "agreement_shift": Measure(shifted, later, vectors),
        "agreement_slope": Measure(lambda data: m.agreement_slope(data, **few), warmed, vectors),
        "agreement_shift, across": Measure(
            lambda data: m.agreement_shift(
                data[data["condition"] == "a"] if isinstance(data, pd.DataFrame) else data.filter(_is("a")),
                data[data["condition"] == "b"] if isinstance(data, pd.DataFrame) else data.filter(_is("b")),
                across="domain",
                **few,
            ),
            lambda: later().assign(domain=lambda t: np.where(t["item"] < "i4", "law", "art")),
            {
                **vectors,
                "items": "Cochran's Q weighs by bootstrapped standard errors, which the names of items reorder",
            },
        ),
        "agreement_shift, relative": Measure(
            lambda data: m.agreement_shift(data, ("a", "b"), relative=True, **few), later, vectors
        ),
        "disagreement": Measure(
            lambda data: m.disagreement(data, **few),
            scores,
            {**vectors, "items": "ties among the most disputed are broken by name"},
        ),
        "score_distribution": Measure(lambda data: m.score_distribution(data, **few), scores, vectors),
        "quality_agreement": Measure(m.quality_agreement, scores, vectors),
        "ordering_accuracy": Measure(
            lambda data: m.ordering_accuracy(data, order=("low", "high"), **few),
            lambda: scores().assign(tier=lambda t: np.where(t["system"].isin(["a", "d"]), "low", "high")),
            vectors,
        ),
        "variance_components": Measure(m.variance_components, single_scores, vectors),
        "decision_study": Measure(m.decision_study, single_scores, vectors),
    }


def _invariance() -> dict[str, Measure]:
    from judgestats.metrics import invariance as m

    texts = "texts have no reduction (UNIT_LEVEL)"
    return {
        "anchoring": Measure(
            lambda data: m.anchoring(data, favoured="a"),
            probes,
            {"candidates": "the favoured side is named in an argument; renaming it is tested in test_anchoring"},
            loose=("std_error", "conf_low", "conf_high"),  # the frame pairs the items, counts cannot
        ),
        "protocol_difference": Measure(
            lambda data: m.protocol_difference(data, favoured="a", n_resamples=50),
            probes,
            {
                "candidates": "the favoured side is named in an argument",
                "tally": "it takes the tally of anchoring; tested in test_anchoring",
            },
        ),
        "revision": Measure(lambda data: m.revision(data, before="flip", after="truth"), probes, baseline="flip"),
        "rationale_shift": Measure(
            lambda data: m.rationale_shift(data, n_resamples=50),
            probes,
            {"tally": texts, "count": "explanations are compared one by one"},
        ),
        "rationale_alignment": Measure(
            lambda data: m.rationale_alignment(
                data, favoured_text="fluent and complete", opposed_text="short and wrong", n_resamples=50
            ),
            probes,
            {"tally": texts, "count": "explanations are compared one by one"},
        ),
        "rationale_check": Measure(m.rationale_check, probes, {"tally": texts}),
    }


def _is(value: str) -> Any:
    import polars as pl

    return pl.col("condition") == value


def registry() -> dict[str, Measure]:
    """All of them, by public name."""
    return {**_psychometrics(), **_consensus(), **_bias(), **_agreement(), **_invariance()}
