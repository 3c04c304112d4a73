"""Pictures of the gallery: a record for each function of ``judgestats.plot``, with data for any number of judges.

    python benchmarks/gallery.py --out build/gallery --judges 2 7 33 --names short long

writes ``<plot>_<judges>_<names>.png`` and the data drawn as CSV. The tests of all pictures take their data from here.
The numbers are made up, with the columns that the measures give, so that a picture costs no resampling.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import judgestats as js

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
_SHORT = ("gpt-4o", "claude-3", "llama-70b", "qwen-32b", "mistral", "gemma-9b", "phi-4")


@dataclass(frozen=True)
class Entry:
    """A picture of the gallery.

    Attributes
    ----------
    name : str
        Function of ``judgestats.plot``.
    shows : str
        What a reader sees, in a sentence.
    data : callable
        Names of judges -> the positional and the named arguments.
    code : str
        How the data are made from verdicts, for a reader.
    judges : bool
        Whether each judge has a mark with its name (and not only a share in one).
    slow : bool
        Whether the data need a model.
    """

    name: str
    shows: str
    data: Callable[[list[str]], Arguments]
    code: str
    judges: bool = True
    slow: bool = False

    def draw(self, names: list[str], **options: Any) -> Any:
        """The picture for judges of these names."""
        args, named = self.data(names)
        return getattr(js.plot, self.name)(*args, **named, **options)


def judges(n: int, *, long: bool = False) -> list[str]:
    """Names of judges, all different: as papers abbreviate them, or as a hub of models lists them."""
    short = [_SHORT[i % 7] + (f"-v{i // 7 + 1}" if i >= 7 else "") for i in range(n)]
    return [f"together-ai/meta-evaluation/{s}-Instruct-Turbo-2024-11-20" for s in short] if long else short


def _rows(table: pd.DataFrame, estimate: Any, width: float = 0.08, bounds: tuple[float, float] = (0, 1)) -> Any:
    """Tidy estimates: the columns of `table`, then an estimate with an interval that holds it."""
    rng = np.random.default_rng(5)
    value = np.clip(np.broadcast_to(np.asarray(estimate, float), len(table)), *bounds)
    half = width * rng.uniform(0.7, 1.4, len(table))
    ends = {"conf_low": np.clip(value - half, *bounds), "conf_high": np.clip(value + half, *bounds)}
    return table.assign(estimate=value, std_error=half / 1.96, **ends, n=200.0, method="made up", flag="")


def _each(**columns: Any) -> pd.DataFrame:
    """A row for each combination."""
    return pd.DataFrame([*itertools.product(*columns.values())], columns=list(columns))


def _uniform(n: int, low: float, high: float, seed: int = 1) -> Any:
    return np.random.default_rng(seed).uniform(low, high, n)


def _of_judges(names: list[str], terms: dict[str, tuple[float, float]], width: float = 0.08, **more: Any) -> Any:
    """Estimates of each judge for each term, uniform in its range, in the order judge, then term."""
    bounds = more.pop("bounds", (0, 1))
    parts = []
    for k, (term, (low, high)) in enumerate(terms.items()):
        table = pd.DataFrame({"judge": names, **more, "term": term})
        parts.append(_rows(table, _uniform(len(names), low, high, k), width, bounds))
    return pd.concat(parts).sort_values("judge", key=lambda s: s.map(names.index), kind="stable", ignore_index=True)


def _ladder(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, delta=[1.0, 2.0, 3.0, 4.0, 5.0]).assign(term="target_sensitivity")
    start = dict(zip(names, _uniform(len(names), -1.0, 2.5, 3), strict=True))
    slope = 0.6 * table["delta"] + table["judge"].map(start) - 1.0
    noise = _uniform(len(table), -0.07, 0.07, 4)
    return _rows(table, np.clip(1 / (1 + np.exp(-1.6 * slope)) + noise, 0, 1), 0.1)


def _dark_current(names: list[str]) -> pd.DataFrame:
    n = len(names)
    stable, positional = _uniform(n, 0.0, 0.4, 6), _uniform(n, 0.05, 0.5, 7)
    one_sided = _uniform(n, 0.0, 0.1, 8)
    shares = {
        "dark_current": _uniform(n, 0.02, 0.7, 9), "stable_cross_sensitivity": stable,
        "positional_false_preference": positional, "one_sided_commit": one_sided,
        "no_preference": 1 - stable - positional - one_sided,
        "raw_false_preference": stable + positional + one_sided / 2,
    }  # fmt: skip
    parts = [_rows(pd.DataFrame({"judge": names, "term": t}), v, 0.06) for t, v in shares.items()]
    return pd.concat([*parts, _ladder(names)], ignore_index=True)


def _criterion(names: list[str]) -> Arguments:
    table = _each(judge=names, place=[("same_subset", np.nan), ("ladder", 1.0), ("ladder", 5.0)])
    place = table.pop("place")
    table = table.assign(stimulus=[p[0] for p in place], delta=[p[1] for p in place])
    low = np.where(table["stimulus"] == "same_subset", 0.45, np.where(table["delta"] == 1, 0.25, 0.05))
    rates = low + _uniform(len(table), -0.2, 0.3, 2)
    base = _rows(table.assign(term="criterion_base"), np.clip(rates, 0.02, 0.98))
    strict = _rows(table.assign(term="criterion_strict"), np.clip(rates + 0.25, 0.02, 0.98))
    return (pd.concat([base, strict], ignore_index=True),), {}


def _pairs(names: list[str], term: str = "kappa", low: float = 0.1, high: float = 0.8) -> pd.DataFrame:
    """Two blocks of judges, in mixed order, that agree more inside than across."""
    table = pd.DataFrame([*itertools.combinations(names, 2)], columns=["judge", "other"]).assign(term=term)
    block = {name: i % 2 for i, name in enumerate(names)}
    same = table["judge"].map(block) == table["other"].map(block)
    middle = (low + high) / 2
    value = np.where(same, _uniform(len(table), middle, high, 2), _uniform(len(table), low, middle, 3))
    return _rows(table, value, 0.09, (-1, 1))


def _systems(names: list[str]) -> list[str]:
    return names[: min(len(names), 12)] if len(names) > 2 else [*names, "human"]


def _scores(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, system=_systems(names)).assign(term="score")
    quality = {s: 6 + 2.5 * np.sin(3 * k) for k, s in enumerate(_systems(names))}
    leniency = dict(zip(names, _uniform(len(names), -0.8, 0.8), strict=True))
    value = table["system"].map(quality) + table["judge"].map(leniency) + _uniform(len(table), -0.5, 0.5, 2)
    return _rows(table, value, 0.3, (1, 10))


def _deviations(names: list[str]) -> pd.DataFrame:
    scores = _scores(names)
    value = scores["estimate"] - scores.groupby("system")["estimate"].transform("mean")
    table = scores[["judge", "system"]].assign(term="deviation")
    return _rows(table, value, 0.3, (-9, 9)).assign(own=scores["judge"] == scores["system"])


def _disagreement(names: list[str]) -> pd.DataFrame:
    above = _rows(
        pd.DataFrame({"term": "share_above", "threshold": [1.0, 2.0, 3.0, 4.0]}), [0.45, 0.12, 0.0, 0.0], 0.04
    )
    apart = _pairs(names, "mean_difference", 0.2, 1.1)
    shared = _uniform(len(names), 0.5, 1.5)
    highest = [
        _rows(pd.DataFrame({"judge": names, "term": t}), scale * shared / shared.sum(), 0.3 / len(names))
        for t, scale in (("highest_alone", 0.4), ("highest_shared", 1.0))
    ]
    order = ["term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag", "judge", "other"]
    return pd.concat([above, apart, *highest], ignore_index=True)[[*order, "threshold"]]


def _strategies(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, strategy=["S1", "S2", "S3"]).assign(term="difference")
    table = _rows(table, _uniform(len(table), -0.05, 0.15), 0.06, (-1, 1))
    table.loc[1::6, ["estimate", "std_error", "conf_low", "conf_high"]] = np.nan  # not run
    table = table.assign(baseline="B0", baseline_only=14.0, strategy_only=31.0)
    table.loc[table["estimate"].isna(), ["n", "baseline_only", "strategy_only"]] = 0.0
    return table.assign(survives=table["conf_low"] > 0, adjustment=f"holm, m = {len(table)}")


def _by_strategy(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, strategy=["B0", "S1", "S2", "S3", "S8"]).assign(term="accuracy")
    skill = table["judge"].map(dict(zip(names, _uniform(len(names), 0.45, 0.8), strict=True)))
    return _rows(table, skill + _uniform(len(table), -0.1, 0.15, 2), 0.06).assign(method="Wilson")


def _changes(names: list[str]) -> pd.DataFrame:
    biases, strategies = ["length", "position", "style", "authority"], ["S1", "S2", "S3", "S8"]
    table = _each(judge=[None, *names], bias=biases, strategy=strategies)
    table = table.assign(term=np.where(table["judge"].isna(), "mean_change", "magnitude_change"))
    return _rows(table, _uniform(len(table), -0.25, 0.12), 0.08, (-1, 1))


def _biases(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, bias=["length", "position", "markdown", "authority"]).assign(term="bias")
    return _rows(table, _uniform(len(table), -0.2, 0.4), 0.09, (-1, 1))


def _front(names: list[str]) -> Arguments:
    table = _each(judge=names, strategy=["B0", "S8"])
    cost = np.exp(_uniform(len(table), -7, -2, 2))
    value = np.clip(0.9 + 0.03 * np.log(cost) + _uniform(len(table), -0.08, 0.05, 3), 0, 1)
    table = table.assign(cost=cost, estimate=value, conf_low=value - 0.03, conf_high=value + 0.03)
    return (js.pareto_front(table),), {"cost": "US dollars per call", "value": "accuracy"}


def _quality(names: list[str]) -> pd.DataFrame:
    n = len(names)
    score = 5 + 4 * np.sort(_uniform(n, 0, 1) ** 0.3)
    tier = np.where(np.arange(n) % 2, "base", "instruct")
    return pd.DataFrame({"system": names, "tier": tier, "mean_score": score, "r": 0.9 - 0.05 * score})


def _levels(names: list[str]) -> pd.DataFrame:
    terms = {"rho_system": (0.8, 0.99), "r_sample": (0.5, 0.75), "icc": (0.3, 0.6)}
    gaps = {"gap_system_sample": (0.1, 0.3), "gap_sample_icc": (0.05, 0.2)}
    return _of_judges(names, terms | gaps).rename(columns={"judge": "pair"})


def _study(names: list[str]) -> pd.DataFrame:
    table = _each(
        criterion=names[:7], judges=[1.0, 2.0, 3.0, 5.0, 8.0], items=[50.0], term=["generalizability", "dependability"]
    )
    noise = table["criterion"].map(dict(zip(names, _uniform(len(names), 0.4, 1.5), strict=True)))
    noise = noise * np.where(table["term"] == "dependability", 1.4, 1.0)
    table = _rows(table, 1 / (1 + noise / table["judges"]))
    enough = _each(criterion=names[:7], term=["judges_for_generalizability", "judges_for_dependability"])
    study = pd.concat([table, enough.assign(estimate=[4.0, 6.0] * len(names[:7]))], ignore_index=True)
    first = ["criterion", "term"]
    return study[[*first, *(c for c in study.columns if c not in first)]]


def _components(names: list[str]) -> pd.DataFrame:
    terms = ["judge", "system", "item", "judge:system", "judge:item", "system:item", "residual"]
    table = _each(criterion=names, term=terms)
    share = _uniform(len(table), 0.01, 1).reshape(len(names), -1)
    share /= share.sum(axis=1, keepdims=True)
    return _rows(table, 2 * share.ravel(), 0.2, (0, 9)).assign(share=share.ravel())


def _predictions(names: list[str]) -> pd.DataFrame:
    table = _each(kind=["prior", "posterior"], judge=names, outcome=["first", "tie", "second"])
    middle = np.tile(_uniform(len(names) * 3, 15, 60), 2)
    wide = np.where(table["kind"] == "prior", 30, 9)
    seen = np.tile(middle[: len(names) * 3] + _uniform(len(names) * 3, -10, 10, 2), 2)
    table = table.assign(observed=np.round(seen), estimate=middle)
    table = table.assign(conf_low=np.maximum(middle - wide, 0), conf_high=np.minimum(middle + wide, 100))
    inside = (table["observed"] >= table["conf_low"]) & (table["observed"] <= table["conf_high"])
    return table.assign(inside=inside, n=100.0, scale="count", method="made up", flag="")


def _gaps(names: list[str]) -> pd.DataFrame:
    people = [("people", None), *(("person", f"annotator {i}") for i in (1, 2, 3)), *(("judge", j) for j in names)]
    table = pd.DataFrame(people, columns=["role", "judge"])
    rate = _rows(
        table.assign(term="rate"), np.where(table["role"] == "judge", 0.62, 0.5) + _uniform(len(table), -0.1, 0.1)
    )
    gap = table[table["role"] == "judge"].assign(term="gap")
    return pd.concat([rate, _rows(gap, _uniform(len(gap), 0, 0.25), 0.08, (-1, 1))], ignore_index=True)


def _verbosity(names: list[str]) -> pd.DataFrame:
    bias = _rows(
        pd.DataFrame({"judge": names, "term": "expansion_bias"}), _uniform(len(names), -0.3, 0.8), 0.15, (-1, 1)
    )
    right = _rows(pd.DataFrame({"judge": names, "term": "truncation_accuracy"}), _uniform(len(names), 0.55, 0.98, 2))
    found = pd.concat([bias, right], ignore_index=True)
    clear = dict(zip(names, np.where(np.arange(len(names)) % 2, "verbose", "undecided"), strict=True))
    return found.assign(reading=found["judge"].map(clear))


def _probes(names: list[str], terms: dict[str, tuple[float, float]], probes: list[str], **more: Any) -> pd.DataFrame:
    parts = []
    for k, (term, (low, high)) in enumerate(terms.items()):
        table = _each(judge=names, probe=probes).assign(term=term)
        parts.append(_rows(table, _uniform(len(table), low, high, k), 0.05, (-1, 2)))
    return pd.concat(parts, ignore_index=True).assign(**more)


def _revised(names: list[str]) -> pd.DataFrame:
    towards, away = _uniform(len(names), 0.1, 0.5), _uniform(len(names), 0.02, 0.2, 2)
    shares = {"revision": towards + away, "towards": towards, "away": away, "net": towards - away}
    return pd.concat([_rows(pd.DataFrame({"judge": names, "term": t}), v, 0.06, (-1, 1)) for t, v in shares.items()])


def _distribution(names: list[str]) -> pd.DataFrame:
    mean = _rows(pd.DataFrame({"judge": names, "term": "mean"}), _uniform(len(names), 5, 8), 0.2, (1, 10))
    sd = _rows(pd.DataFrame({"judge": names, "term": "sd"}), _uniform(len(names), 0.8, 2), 0.2, (0, 9))
    top = _rows(pd.DataFrame({"judge": names, "term": "ceiling"}), _uniform(len(names), 0.005, 0.03), 0.01)
    return pd.concat([mean, sd, top.assign(flag="top is the highest score seen")], ignore_index=True)


def _calibrated(names: list[str]) -> pd.DataFrame:
    terms = {
        "deviation_before": (-0.8, 0.9),
        "deviation_after": (-0.1, 0.1),
        "rmse_before": (0.9, 1.4),
        "rmse_after": (0.6, 0.9),
    }
    return _of_judges(names, terms, bounds=(-9, 9))


def _shifts(names: list[str]) -> pd.DataFrame:
    table = _rows(pd.DataFrame({"pair": names, "term": "shift"}), _uniform(len(names), -0.35, 0.1), 0.08, (-1, 1))
    before = _uniform(len(names), 0.6, 0.8, 3)
    marked = np.where(table["estimate"].abs() > 0.15, "|shift| > 0.15", "")
    return table.assign(before=before, after=before + table["estimate"], flag=marked)


def _people(names: list[str]) -> Arguments:
    sets = ["preference of people", "known outcome"]
    parts = [_pairs(names).assign(set=s) for s in sets]
    peers = pd.concat(parts, ignore_index=True)
    people = _rows(_each(judge=names, set=sets).assign(term="kappa"), _uniform(2 * len(names), -0.1, 0.6), 0.1, (-1, 1))
    first = ["judge", "other", "set"]
    return (peers[[*first, *(c for c in peers.columns if c not in first)]], people), {}


@lru_cache
def _fit(names: tuple[str, ...]) -> Any:
    """A mixed model of right answers, small enough to be fitted in a moment."""
    rng = np.random.default_rng(3)
    table = _each(judge=list(names), item=[f"q{i}" for i in range(40)])
    item = dict(zip(table["item"].unique(), rng.normal(0, 1, 40), strict=True))
    skill = dict(zip(names, rng.normal(0.7, 0.8, len(names)), strict=True))
    chance = 1 / (1 + np.exp(-table["item"].map(item) - table["judge"].map(skill)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return js.fit("correct ~ judge + (1|item)", table.assign(correct=(rng.random(len(table)) < chance).astype(int)))


def _readings(names: list[str]) -> pd.DataFrame:
    """Accuracies under five readings, of which one is another question."""
    same, another = "same question", "another question"
    kinds = {"headline": "headline", "a tie is half right": same, "only where no judge ties": same}
    kinds |= {"every item alike": same, "right in both orders": another}
    skill, rng = np.sort(_uniform(len(names), 0.5, 0.85))[::-1], np.random.default_rng(6)
    parts = []
    for reading, kind in kinds.items():
        values = skill + rng.normal(0, 0.02, len(names)) - 0.2 * (kind == "another question")
        part = pd.DataFrame({"reading": reading, "kind": kind, "judge": names, "estimate": values})
        part["rank"] = part["estimate"].rank(ascending=False)
        parts.append(part.assign(best_set=values > values.max() - 0.04))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(conf_low=table["estimate"] - 0.05, conf_high=table["estimate"] + 0.05)


def _draws(names: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    table = {f"effect[{j}]": rng.normal(m, 0.3, 800) for j, m in zip(names, _uniform(len(names), -1, 1.5), strict=True)}
    return pd.DataFrame({"chain": np.repeat([0, 1], 400), "draw": np.tile(np.arange(400), 2), **table})


def _over_temperatures(names: list[str]) -> Arguments:
    table = _each(judge=names, temperature=[0.0, 0.5, 1.0]).assign(term="r")
    start = table["judge"].map(dict(zip(names, _uniform(len(names), 0.5, 0.9), strict=True)))
    return (_rows(table, start - 0.2 * table["temperature"], 0.04, (-1, 1)),), {}


def _against_people(names: list[str]) -> pd.DataFrame:
    table = _each(judge=[None, *names], term=["kappa", "agreement"])
    table = table.assign(role=np.where(table["judge"].isna(), "people", "judge"))
    value = np.where(table["term"] == "kappa", 0.45, 0.7) + _uniform(len(table), -0.2, 0.2)
    return _rows(table[["role", "judge", "term"]], value)


def _ranks(names: list[str]) -> pd.DataFrame:
    strength = np.sort(_uniform(len(names), -1.5, 1.5))[::-1]
    first = _rows(pd.DataFrame({"system": names, "term": "strength"}), strength, 0.3, (-9, 9))
    rank = np.arange(1.0, len(names) + 1)
    second = _rows(pd.DataFrame({"system": names, "term": "rank"}), rank, 0.0, (1, len(names)))
    ends = {"conf_low": np.maximum(rank - 2, 1), "conf_high": np.minimum(rank + 2, len(names))}
    return pd.concat([first, second.assign(**ends)], ignore_index=True)


def _curves(names: list[str]) -> pd.DataFrame:
    """Points of a curve of each judge, at 21 thresholds."""
    fpr, parts = np.linspace(0, 1, 21), []
    for name, skill in zip(names, _uniform(len(names), 1.5, 6.0, 3), strict=True):
        tpr = fpr ** (1 / skill)
        precision = np.append(np.nan, 0.3 * tpr[1:] / (0.3 * tpr[1:] + 0.7 * fpr[1:]))
        band = {"tpr_low": np.clip(tpr - 0.06, 0, 1), "tpr_high": np.clip(tpr + 0.06, 0, 1), "precision": precision}
        parts.append(pd.DataFrame({"judge": name, "threshold": 1 - fpr, "fpr": fpr, "tpr": tpr, **band}))
    return pd.concat(parts, ignore_index=True)


def _confusion(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, reference=["refusal", "safe", "unsafe"], answer=["refusal", "safe", "unsafe"])
    weight = np.where(table["answer"] == table["reference"], 4.0, 1.0) * _uniform(len(table), 0.3, 1.0, 2)
    share = weight / table.assign(_w=weight).groupby(["judge", "reference"])["_w"].transform("sum")
    rows = _rows(table.assign(term="confusion"), share)
    return rows[["judge", "term", *(c for c in rows.columns if c not in ("judge", "term"))]]


def _confidence(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, level=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0]).assign(term="reliability")
    table = table[["judge", "term", "level"]]
    return _rows(table, 0.3 + 0.6 * table["level"] + 0.03 * np.floor(4 * table["level"]) - 0.1, 0.09)


def _abstention(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, level=[0.5, 0.6, 0.7, 0.8, 0.9])
    risk = _rows(table.assign(term="risk_curve"), 0.45 - 0.4 * table["level"], 0.05)
    used = _rows(table.assign(term="coverage_curve"), 1.5 - table["level"], 0.0)
    chosen = [
        pd.DataFrame({"judge": names, "term": t, "estimate": v})
        for t, v in (("threshold", 0.8), ("coverage", 0.7), ("risk", 0.13))
    ]
    table = pd.concat([risk, used, *chosen], ignore_index=True)
    return table[["judge", "term", *(c for c in table.columns if c not in ("judge", "term"))]]


def _schemes(names: list[str]) -> pd.DataFrame:
    table = _each(judge=names, scheme=["Baseline", "PBP", "CoT"], probe=["flip"], term=["lao", "tie"])
    return _rows(table, _uniform(len(table), 0.1, 0.8))


def _quantiles(names: list[str]) -> pd.DataFrame:
    at = {"q05": 2.0, "q25": 4.0, "q50": 5.5, "q75": 7.0, "q95": 9.0}
    table = _each(judge=names, system=["A", "B"], term=list(at))
    move = table["judge"].map(dict(zip(names, _uniform(len(names), -1, 1), strict=True)))
    return _rows(table, table["term"].map(at) + move, 0.2, (1, 10))


def _one(make: Callable[[list[str]], Any]) -> Callable[[list[str]], Arguments]:
    return lambda names: ((make(names),), {})


_RATES = {"consistency": (0.6, 0.98), "accuracy": (0.5, 0.9), "position_bias": (-0.3, 0.3)}
ENTRIES = [
    Entry(
        "lines",
        "An estimate over a condition.",
        _over_temperatures,
        'js.correlation(scores, pairs="each", by="temperature")',
    ),
    Entry(
        "people_agreement",
        "Agreement with people, and among people.",
        _one(_against_people),
        "js.judge_against_people(calls)",
    ),
    Entry("rank_sets", "Strengths of systems and the ranks they may have.", _one(_ranks), "js.rank_systems(calls)"),
    Entry("reliability", "Right verdicts at each confidence.", _one(_confidence), "js.confidence_calibration(calls)"),
    Entry("roc", "True and false positives at each threshold.", _one(_curves), "js.roc_curve(scores)"),
    Entry("precision_recall", "Precision at each recall.", _one(_curves), "js.roc_curve(scores)"),
    Entry("confusion", "Which class is taken for which.", _one(_confusion), "js.confusion(calls)"),
    Entry("risk_coverage", "What abstaining gains.", _one(_abstention), "js.abstention_threshold(calls, 0.2)"),
    Entry(
        "scaled_residuals",
        "Answers among those that a model would give.",
        lambda n: ((_fit(tuple(n)),), {"by": "item"}),
        'js.fit("correct ~ judge + (1|item)", calls)',
        judges=False,
        slow=True,
    ),
    Entry("schemes", "Judges under each scheme.", _one(_schemes), "js.anchoring(calls)"),
    Entry(
        "score_quantiles",
        "Scores of each judge: median, quartiles.",
        _one(_quantiles),
        'js.score_distribution(scores, quantiles=(0.05, 0.25, 0.5, 0.75, 0.95), by="system")',
    ),
    Entry("agreement_levels", "Agreement on systems, items and scores.", _one(_levels), "js.agreement_levels(scores)"),
    Entry("agreement_shift", "Agreement before and after.", _one(_shifts), "js.agreement_shift(before, after)"),
    Entry(
        "anchoring",
        "Verdicts that move with a cue, and ties.",
        _one(
            lambda n: _probes(
                n,
                {
                    "shift_favoured": (0.05, 0.35),
                    "shift_opposed": (-0.2, 0.0),
                    "shift_tie": (-0.1, 0.05),
                    "tie": (0.1, 0.3),
                    "tie_blind": (0.2, 0.4),
                },
                ["flip", "placebo"],
            )
        ),
        "js.anchoring(calls)",
    ),
    Entry(
        "answers",
        "How often each judge gives each answer.",
        _one(lambda n: _stacked(n, ["first", "tie", "second", "invalid"])),
        "js.position_bias(calls)",
    ),
    Entry(
        "by_condition",
        "Judges under each level of a condition.",
        lambda names: ((_by_strategy(names), "strategy"), {}),
        'js.gold_agreement(calls, by="strategy")',
    ),
    Entry("bias_map", "What each strategy does to each bias.", _one(_changes), "js.bias_change(calls)", judges=False),
    Entry("bias_scores", "Signed biases of each judge.", _one(_biases), "js.bias_score(calls)"),
    Entry(
        "calibration",
        "Deviation and error before and after calibration.",
        _one(_calibrated),
        "js.calibrate(scores, people)",
    ),
    Entry("decision_study", "Reliability with more judges.", _one(_study), "js.decision_study(scores)", judges=False),
    Entry("decomposition", "What false preference is made of.", _one(_dark_current), "js.delta0(calls)"),
    Entry(
        "deviation_matrix",
        "Each judge against the consensus, by system.",
        _one(_deviations),
        "js.consensus_deviation(scores)",
    ),
    Entry("disagreement", "How far apart the judges are.", _one(_disagreement), "js.disagreement(scores)"),
    Entry(
        "fit_diagnostics",
        "Residuals, random effects and calibration of a model.",
        lambda n: ((_fit(tuple(n)),), {}),
        'js.fit("correct ~ judge + (1|item)", calls)',
        judges=False,
        slow=True,
    ),
    Entry(
        "forest",
        "Estimates with their intervals.",
        _one(lambda n: _of_judges(n, _RATES, bounds=(-1, 1)).assign(method="Wilson")),
        "js.consistency(calls)",
    ),
    Entry(
        "icc",
        "Intraclass correlations.",
        _one(lambda n: _of_judges(n, {"ICC(2,1)": (0.2, 0.8)}).rename(columns={"judge": "system"})),
        'js.icc(scores, by="system")',
    ),
    Entry(
        "judges_and_people",
        "Agreement with people beside agreement with peers.",
        _people,
        'js.kappa(calls), js.kappa(calls, reference="gold")',
    ),
    Entry("kappa_matrix", "Agreement of each pair of judges.", _one(_pairs), "js.kappa(calls)"),
    Entry("metrology_map", "False preference where nothing differs.", _one(_dark_current), "js.datasheet(calls)"),
    Entry("operating_point", "What a prompt saves and what it costs.", _criterion, "js.criterion_shift(calls)"),
    Entry("pareto", "Value against cost, with the front.", _front, "js.pareto_front(results)", judges=False),
    Entry("posterior_intervals", "Intervals of 50 and 95 % of posterior draws.", _one(_draws), "model.draws()"),
    Entry(
        "predictive",
        "Observed values over their predictive intervals.",
        _one(_predictions),
        'model.predictive("both")',
        judges=False,
    ),
    Entry("preference_gaps", "How far judges are from people.", _one(_gaps), "js.preference_gap(calls)"),
    Entry("psychometric_curves", "Right choices by step of the ladder.", _one(_ladder), "js.target_sensitivity(calls)"),
    Entry(
        "quality_agreement",
        "Agreement of judges by quality of systems.",
        _one(_quality),
        "js.system_quality(scores)",
        judges=False,
    ),
    Entry(
        "rationale_shift",
        "How far explanations move.",
        _one(
            lambda n: _probes(n, {"drift": (0.1, 0.7)}, ["flip", "placebo"], embed="tfidf", n_same=13.0, n_items=38.0)
        ),
        "js.rationale_shift(calls)",
    ),
    Entry("revision", "Verdicts revised towards a label.", _one(_revised), "js.revision(calls)"),
    Entry("score_distribution", "How each judge uses the scale.", _one(_distribution), "js.score_distribution(scores)"),
    Entry("specifications", "A result under every reading of the data.", _one(_readings), "js.specifications(calls)"),
    Entry("score_matrix", "Scores of each system by each judge.", _one(_scores), "js.score_matrix(scores)"),
    Entry("stable_positional", "Two kinds of false preference.", _one(_dark_current), "js.delta0(calls)"),
    Entry("strategies", "Gains of strategies over the baseline.", _one(_strategies), "js.compare_strategies(calls)"),
    Entry("variance_components", "What scores vary with.", _one(_components), "js.variance_components(scores)"),
    Entry("verbosity_bias", "Padding preferred, cuts noticed.", _one(_verbosity), "js.verbosity_bias(calls)"),
]
ENTRIES.sort(key=lambda e: e.name)


def _stacked(names: list[str], terms: list[str]) -> pd.DataFrame:
    share = np.random.default_rng(2).dirichlet([6, 3, 5, 0.5], len(names))
    return pd.concat([_rows(pd.DataFrame({"judge": names, "term": t}), share[:, k]) for k, t in enumerate(terms)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/gallery"))
    parser.add_argument("--judges", type=int, nargs="+", default=[2, 7, 33])
    parser.add_argument("--names", nargs="+", choices=["short", "long"], default=["short", "long"])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--dpi", type=int, default=100)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for entry, n, names in itertools.product(ENTRIES, options.judges, options.names):
        if options.only and entry.name not in options.only:
            continue
        picture = entry.draw(judges(n, long=names == "long"))
        stem = options.out / f"{entry.name}_{n}_{names}"
        picture.figure.savefig(stem.with_suffix(".png"), dpi=options.dpi)
        picture.data.to_csv(stem.with_suffix(".csv"), index=False)


if __name__ == "__main__":
    main()
