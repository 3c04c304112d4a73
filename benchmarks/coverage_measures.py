"""Every measure with an interval by cluster, on data of a design: draws, and the call that measures them.

A measure is a function of a generator, names of replications, sizes of clusters, their correlation and a rate; it gives
the estimates of all replications, told apart by ``judge`` or ``study``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from coverage_designs import answers
from coverage_draws import clustered_shares, in_clusters, measure
from scipy.special import ndtr

Draw = Callable[[np.random.Generator, list[str], np.ndarray, float, float], pd.DataFrame]
PEOPLE = ["ann", "bob", "cat"]
_RESAMPLES = 500


def _joint(rate: float) -> np.ndarray:
    """Right under a baseline (rows) and a strategy (columns): equally often, and not always in the same calls."""
    apart = 0.4 * min(rate, 1 - rate)
    return np.array([rate - apart, apart, apart, 1 - rate - apart])


def _three(rate: float) -> np.ndarray:
    return np.array([0.9 * rate, 0.9 * (1 - rate), 0.1])


def _pairs(labels: tuple[str, str], other: str = "baseline", **more: str) -> dict[str, list[str]]:
    return {other: np.repeat(labels, 2).tolist(), "outcome": [*labels] * 2, **{c: [v] * 4 for c, v in more.items()}}


_RIGHT, _SIDES = ("correct", "wrong"), ("target", "other")
#: Measures of counts: labels of the patterns, their shares by the rate, column of the cluster, options.
_COUNTED: dict[str, tuple[dict[str, list[str]], Callable[[float], Any], str, dict[str, Any]]] = {
    "gold_agreement": ({"outcome": [*_RIGHT]}, lambda p: [p, 1 - p], "item", {}),
    "preference_rate": ({"candidate": ["x", "x"], "outcome": ["win", "loss"]}, lambda p: [p, 1 - p], "item", {}),
    "position_bias": ({"choice": ["first", "second", "tie"]}, _three, "item", {}),
    "bias_score": ({"outcome": ["target", "other", "tie"]}, _three, "item", {}),
    "consistency": (
        {"forward": ["first", "first", "second", "second"], "reverse": ["second", "first", "second", "first"]},
        lambda p: [p / 2, (1 - p) / 2, (1 - p) / 2, p / 2],
        "item",
        {},
    ),
    "delta0": (
        {"forward": ["first", "first", "first", "tie"], "reverse": ["second", "first", "tie", "tie"]},
        lambda p: [p / 2, p / 2, (1 - p) / 2, (1 - p) / 2],
        "item",
        {},
    ),
    "dark_current": ({"choice": ["first", "second", "tie"]}, _three, "item", {}),
    "filler_preference": ({"outcome": ["filler", "clean", "tie"]}, _three, "item", {}),
    "target_sensitivity": (
        {"delta": [2.0] * 3, "outcome": ["correct", "wrong", "tie"]}, _three, "item", {}
    ),
    "compare_strategies": (_pairs(_RIGHT, strategy="S"), _joint, "item", {}),
    "bias_change": (_pairs(_SIDES, strategy="S"), _joint, "item", {}),
    "anchoring": (_pairs(("x", "y"), probe="truth"), _joint, "item", {"favoured": "x"}),
    "accuracy": ({"outcome": [*_RIGHT]}, lambda p: [p, 1 - p], "item", {}),
}  # fmt: skip


def _counts(rng, names, size, icc, rate, name):  # type: ignore[no-untyped-def]
    labels, shares, unit, options = _COUNTED[name]
    table = in_clusters(rng, names, labels, np.asarray(shares(rate)), size, icc, unit)
    found = measure(name)(table, **options)
    return found[~found["term"].str.startswith("mean_")]  # over judges: a replication has one


def _two_judges(rng, names, size, icc, rate, name):  # type: ignore[no-untyped-def]
    """Two judges who are right equally often."""
    options = {"n_resamples": _RESAMPLES} if name == "alpha" else {}
    return measure(name)(answers(rng, names, {"g": rate, "h": rate}, size, icc), by="study", **options)


def _beside_people(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    table = answers(rng, names, {"g": rate} | dict.fromkeys(PEOPLE, 0.85), size, icc)
    return measure("judge_against_people")(table, humans=PEOPLE, by="study")


def _versions(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Two versions of a judge, as often right, beside two people."""
    table = answers(rng, names, {"old": rate, "new": rate, "ann": 0.85, "bob": 0.85}, size, icc)
    version = table["judge"].where(table["judge"].isin(["old", "new"]))
    table = table.assign(version=version, judge=table["judge"].where(version.isna(), "g"))
    response, answer = table.pop("system"), table.pop("score")
    table = table.assign(first="x" + response, second="y" + response, choice=np.where(answer, "first", "second"))
    options = {"baseline": {"version": "old"}, "humans": ["ann", "bob"], "by": "study"}
    return measure("compare_versions")(table, **options, n_resamples=_RESAMPLES)


def _confidences(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Three confidences; the judge is right a fifth less often than it says."""
    levels, stated = np.array([0.6, 0.8, 0.95]), np.array([0.3, 0.4, 0.3])
    right = np.clip(levels * rate / 0.8 * 0.8, 0.01, 0.99)
    labels = {"confidence": np.tile(levels, 2), "outcome": np.repeat(_RIGHT, 3)}
    table = in_clusters(rng, names, labels, np.concatenate([stated * right, stated * (1 - right)]), size, icc)
    found = measure("confidence_calibration")(table.astype({"confidence": float}), n_resamples=_RESAMPLES)
    return found[found["term"] != "reliability"]


def _ranking(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Five systems, all equal, or two of them better by the log-odds of the rate; each item has tastes."""
    worth = np.array([0.5, 0.5, 0, 0, 0]) * np.log(rate / (1 - rate))
    item, calls = np.repeat(np.arange(size.size), size), int(size.sum())
    systems, rows = np.array([f"s{k}" for k in range(5)]), np.arange(calls)
    taste_sd = np.sqrt(icc / (1 - icc)) * np.pi / np.sqrt(3) / np.sqrt(2)
    parts = []
    for name in names:
        taste = worth + rng.normal(0, taste_sd, (size.size, 5))[item]
        one = rng.integers(0, 5, calls)
        two = (one + rng.integers(1, 5, calls)) % 5
        eta = taste[rows, one] - taste[rows, two] + rng.logistic(size=calls)
        outcome = np.where(eta > 0.3, "win", np.where(eta < -0.3, "loss", "tie"))
        columns = {"study": name, "item": item.astype(str), "judge": "g", "system": systems[one]}
        parts.append(pd.DataFrame({**columns, "opponent": systems[two], "outcome": outcome, "n": 1.0}))
    found = measure("rank_systems")(pd.concat(parts), by="study")
    return pd.concat([found[found["term"] != "rank"], _families(found[found["term"] == "rank"], worth)])


def _families(ranks: pd.DataFrame, worth: np.ndarray) -> pd.DataFrame:
    """A row a replication, of estimate 0, whose ends are 0 if all ranks at once may be the true ones, and else 1."""
    better = {f"s{k}": (worth > w + 1e-12).sum() + 1 for k, w in enumerate(worth)}
    equal = {f"s{k}": (np.abs(worth - w) < 1e-12).sum() - 1 for k, w in enumerate(worth)}
    best = ranks["system"].map(better)
    wrong = (ranks["conf_low"] > best) | (ranks["conf_high"] < best + ranks["system"].map(equal))
    table = ranks.assign(wrong=wrong.astype(float)).groupby("study", as_index=False)
    table = table.agg(end=("wrong", "max"), flag=("flag", "; ".join))
    return table.assign(system="", term="ranks", estimate=0.0, conf_low=table["end"], conf_high=table.pop("end"))


def _corrected(rng, names, size, icc, rate, labelled=0.6, **options: Any):  # type: ignore[no-untyped-def]
    """Verdicts on the questions of texts, a part of the texts labelled, chosen without regard to their size."""
    item, calls = np.repeat(np.arange(size.size), size), int(size.sum())
    shape = (len(names), size.size)

    def alike(p):  # type: ignore[no-untyped-def]
        return (
            rng.random((len(names), calls)) < rng.beta(p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc, shape)[:, item]
        )

    truth = alike(rate)
    verdict = np.where(np.where(truth, alike(0.85), alike(0.9)), truth, ~truth)
    known = (rng.random(shape).argsort(axis=1) < max(2, round(labelled * size.size)))[:, item]
    table = pd.DataFrame({"judge": np.repeat(names, calls), "task": np.tile(item, len(names))})
    table = table.assign(item=np.tile(np.arange(calls), len(names)), system="s", score=verdict.ravel() * 1.0)
    table["gold"] = np.where(known, truth * 1.0, np.nan).ravel()
    return measure("corrected_rate")(table, sampling="random", cluster="task", **options)


def _gap(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """A judge and two people who prefer the longer of two texts as often."""
    item, calls = np.repeat(np.arange(size.size), size), int(size.sum())
    parts = []
    for who in ("g", "ann", "bob"):
        chance = clustered_shares(rng, np.array([rate, 1 - rate]), len(names), size.size, icc)[:, item, 0]
        first = rng.random((len(names), calls)) < chance
        table = pd.DataFrame({"study": np.repeat(names, calls), "item": np.tile(item.astype(str), len(names))})
        pair = np.tile(np.concatenate([np.arange(n) for n in size]).astype(str), len(names)).astype(object)
        table = table.assign(judge=who, first="x" + pair, second="y" + pair, target="x" + pair)
        parts.append(table.assign(choice=np.where(first.ravel(), "first", "second")))
    return measure("preference_gap")(pd.concat(parts, ignore_index=True), humans=["ann", "bob"], by="study")


def _score_errors(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Scores of responses to items, with errors that the responses to an item share; the rate is a bias."""
    item, calls = np.repeat(np.arange(size.size), size), int(size.sum())
    gold = rng.normal(size=(len(names), calls))
    shared = rng.normal(size=(len(names), size.size))[:, item]
    error = rate + np.sqrt(icc) * shared + np.sqrt(1 - icc) * rng.normal(size=gold.shape)
    response = np.concatenate([np.arange(n) for n in size])
    table = pd.DataFrame({"study": np.repeat(names, calls), "item": np.tile(item.astype(str), len(names))})
    table = table.assign(system=np.tile(response.astype(str), len(names)), judge="g", gold=gold.ravel())
    table["score"] = (gold + error).ravel()
    return measure("score_error")(table, by="study")


def _tasks(names, size, judges):  # type: ignore[no-untyped-def]
    """Items of tasks, once for each judge of each replication; and judge x replication, and task, of each row."""
    task, calls = np.repeat(np.arange(size.size), size), int(size.sum())
    of_table = np.repeat(np.arange(len(judges) * len(names)), calls)
    table = pd.DataFrame({"study": np.repeat(np.tile(names, len(judges)), calls)})
    table = table.assign(judge=np.repeat(judges, len(names) * calls))
    table["task"] = np.tile(task.astype(str), len(judges) * len(names))
    table["item"] = np.tile(np.arange(calls).astype(str), len(judges) * len(names))
    return table, of_table, np.tile(task, len(judges) * len(names))


def _deviations(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Scores of two systems, who are judges, on items; the first judge is lenient, more so to itself, by task."""
    table, row, task = _tasks(names, size, ["g", "h", "k"])
    lenient = np.where(table["judge"] == "g", rate, 0.0)
    parts = []
    for system in ("g", "h"):
        taste = rng.normal(0, np.sqrt(icc), (row[-1] + 1, size.size))[row, task]
        noise = rng.normal(0, np.sqrt(1 - icc), len(table))
        own = np.where((table["judge"] == "g") & (system == "g"), rate, 0.0)
        parts.append(table.assign(system=system, score=5 + lenient + own + taste + noise))
    return measure("consensus_deviation")(pd.concat(parts, ignore_index=True), by="study", cluster="task")


def _spreads(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Three runs of two judges, whose spread goes by task; the second judge's is greater by the rate."""
    table, row, task = _tasks(names, size, ["g", "h"])
    spread = np.exp(rng.normal(0, icc, (row[-1] + 1, size.size))[row, task])
    spread = spread * np.where(table["judge"] == "h", 1 + rate, 1.0)
    runs = [table.assign(system="s", replicate=r, score=spread * rng.normal(size=len(table))) for r in range(3)]
    return measure("run_sd")(pd.concat(runs, ignore_index=True), by="study", cluster="task")


def _reliability(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Three judges on items whose worth the task shares; the rate is that of the variance between items.

    ICC(2,.) generalises to other judges, whom the design does not draw.
    """
    table, row, task = _tasks(names, size, ["g", "h", "k"])
    study = row % len(names)
    shared = rng.normal(0, np.sqrt(icc), (len(names), size.size))[study, task]
    item = np.tile(rng.normal(0, np.sqrt(1 - icc), (len(names), int(size.sum()))).ravel(), 3)
    score = np.sqrt(rate) * (shared + item) + np.sqrt(1 - rate) * rng.normal(size=len(table))
    found = measure("icc")(table.assign(system="s", score=score), by="study", cluster="task")
    return found[~found["term"].str.startswith("ICC(2")]


def _ladder(rng, names, size, icc, rate):  # type: ignore[no-untyped-def]
    """Pairs of five steps of difference, which a judge discerns from 2 to 4 on, sooner in some tasks."""
    task, calls = np.repeat(np.arange(size.size), size), int(size.sum())
    step = rng.integers(1, 6, (len(names), calls))
    taste = rng.normal(0, np.sqrt(icc / (1 - icc)), (len(names), size.size))[:, task]
    right = rng.random(step.shape) < 0.5 + 0.5 * ndtr(step - (2 + 2 * rate) + taste)
    table = pd.DataFrame({"judge": np.repeat(names, calls), "task": np.tile(task.astype(str), len(names))})
    table = table.assign(delta=step.ravel() * 1.0, outcome=np.where(right.ravel(), *_RIGHT))
    counts = table.groupby(list(table.columns), as_index=False).size().rename(columns={"size": "n"})
    return measure("detection_threshold")(counts.astype({"n": float}), n_resamples=_RESAMPLES)


MEASURES: dict[str, Draw] = {
    **{name: partial(_counts, name=name) for name in _COUNTED},
    **{name: partial(_two_judges, name=name) for name in ("kappa", "scott_pi", "ac1", "alpha")},
    "judge_against_people": _beside_people,
    "compare_versions": _versions,
    "confidence_calibration": _confidences,
    "rank_systems": _ranking,
    "corrected_rate": _corrected,
    "preference_gap": _gap,
    "score_error": _score_errors,
    "consensus_deviation": _deviations,
    "run_sd": _spreads,
    "icc": _reliability,
    "detection_threshold": _ladder,
}
#: Measures that resample: fewer replications.
RESAMPLED = ("alpha", "compare_versions", "confidence_calibration", "detection_threshold")
