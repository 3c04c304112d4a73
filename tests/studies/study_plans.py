"""The five studies, small: the files of their authors, the words of their plan, and judges whose parameters are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from round_trips import FORMATS

import judgestats as js
from judgestats.design import Judge

Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class StudyPlan:
    """A study: `files` writes its table, of as many items, and returns the words of its plan; `direct`: column -> row ->
    estimate.
    """

    name: str
    files: Callable[..., list[str]]
    judges: Sequence[Judge]
    labels: tuple[str, ...]
    direct: Callable[[pd.DataFrame], dict[str, Values]]
    formats: Sequence[str] = FORMATS


def _values(table: pd.DataFrame, term: str, labels: Sequence[str]) -> Values:
    rows = table[table["term"] == term]
    return dict(zip(zip(*(rows[c] for c in labels), strict=True), rows["estimate"], strict=True))


def _dark_current(folder: Path) -> list[str]:
    return ["dark-current", "--judge", "m", "--strict"]


def _datasheet(calls: pd.DataFrame) -> dict[str, Values]:
    dark = js.dark_current(calls.query("prompt == 'pairwise'"))
    delta0 = js.delta0(calls, by="prompt")
    return {
        "dark current": {("m", "pairwise"): dark.query("vacuum_kind == 'all'")["estimate"].item()},
        "RFP₀": _values(delta0, "raw_false_preference", ("judge", "prompt")),
        "SCS": _values(delta0, "stable_cross_sensitivity", ("judge", "prompt")),
    }


def _pairs(folder: Path, items: int = 60) -> list[str]:
    gold = ["u", "v", "tie"] * (items // 3)
    pairs = pd.DataFrame({"item": [str(i) for i in range(items)], "first": "u", "second": "v", "gold": gold})
    pairs.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.").to_csv(
        folder / "pairs.csv", index=False
    )
    texts = ["--writer", "w", "--models", "m,n,o", "--annotators", "Ann,Bob", "--strategies", "B0,S1,S2,S4,S5,S8"]
    return ["debiasing", "--pairs", "pairs.csv", "--judge", "m", "--judge", "n", *texts]


def _strategies(verdicts: pd.DataFrame) -> dict[str, Values]:
    labels = ("judge", "strategy")
    made, natural = (verdicts[verdicts["bias"].notna() == m].dropna(axis="columns", how="all") for m in (True, False))
    same = made[(made["bias"] == "position") & made["order_known"].astype(bool)]
    origin = made[made["bias"] == "model_origin"]
    style = made[(made["bias"] == "style") & made["strategy"].fillna("B0").eq("B0")]
    gap = js.preference_gap(style, humans="rater_type=human").assign(strategy="B0")
    return {
        "beyond people": _values(gap, "gap", labels),
        "accuracy": _values(js.gold_agreement(natural, by="strategy"), "accuracy", labels),
        "minus B0": _values(js.compare_strategies(natural, baseline="B0"), "difference", labels),
        "position": _values(js.bias_score(same, target="first", by="strategy"), "bias", labels),
        "verbosity": _values(js.verbosity_bias(made, by="strategy"), "expansion_bias", labels),
        "own model": _values(js.bias_score(origin, family={"m": "m", "n": "n"}, by="strategy"), "bias", labels),
    }


_MODELS = ("GPT", "Gemini", "Grok")


def _ratings(folder: Path, items: int = 8) -> list[str]:
    table = pd.DataFrame([(f"r{i}", m) for i in range(items) for m in _MODELS], columns=["item", "system"])
    table["task_text"], table["response_text"] = (
        "Explain " + table["item"],
        "The answer, text " + table.index.astype(str),
    )
    table.to_csv(folder / "responses.csv", index=False)
    judges = [word for m in _MODELS for word in ("--judge", m)]
    alias = "GPT=LLM1,Gemini=LLM2,Grok=LLM3"
    return [
        "rubric",
        "--responses",
        "responses.csv",
        *judges,
        "--runs",
        "2",
        "--annotators",
        "Ann,Bob",
        "--alias",
        alias,
    ]


def _deviations(ratings: pd.DataFrame) -> dict[str, Values]:
    judges = ratings[ratings["rater_type"] == "model"]
    arms = {a: js.consensus_deviation(judges[judges["condition"] == a]) for a in ("attributed", "anonymized")}
    values = {arm: _values(table, "deviation", ("judge", "system")) for arm, table in arms.items()}
    hidden = js.blinding_effect(judges).query("judge != ''")
    return {"attenuation, %": {(j, j): v for (j,), v in _values(hidden, "attenuation", ("judge",)).items()}} | {
        arm: {} for arm in values
    }


def _texts(folder: Path, items: int = 16) -> list[str]:
    both = [(f"i{i:02d}", s) for i in range(items) for s in ("base", "tuned")]
    table = pd.DataFrame(both, columns=["item", "system"])
    table["domain"] = ["ab"[i % 2] for i in range(items) for _ in range(2)]
    table["task_text"], table["response_text"] = "Write on " + table["item"], "A text, " + table.index.astype(str)
    table.to_csv(folder / "responses.csv", index=False)
    return ["merg", "--responses", "responses.csv", "--judge", "g", "--judge", "h", "--judge", "k"]


def _agreement(scores: pd.DataFrame) -> dict[str, Values]:
    levels = js.agreement_levels(scores, by="condition")
    shift = (
        js.agreement_shift(scores, ("baseline-score", "original-4-stage")).query("term == 'shift'")["estimate"].item()
    )
    return {
        "r of samples": _values(levels, "r_sample", ("condition",)),
        "ICC(2,1)": _values(levels, "icc", ("condition",)),
        "r minus baseline-score": {("original-4-stage",): shift},
        "sd of judges' means": _values(js.disagreement(scores, by="condition"), "sd_of_means", ("condition",)),
    }


def _summaries(folder: Path, items: int = 30) -> list[str]:
    pairs = pd.DataFrame({"item": [str(i) for i in range(items)], "first": "u", "second": "v"})
    pairs["task_text"] = [f"Sum up: sales in Peru rose by {i} % last year." for i in range(items)]
    pairs["first_text"] = [f"Sales rose by {i} % in Peru." for i in range(items)]
    pairs["second_text"] = [f"In Peru, sales rose by {i} %." for i in range(items)]
    pairs.to_csv(folder / "pairs.csv", index=False)
    return ["cues", "--pairs", "pairs.csv", "--judge", "m", "--attacks", "verbosity", "--labels", "Expert,Novice"]


def _anchoring(calls: pd.DataFrame) -> dict[str, Values]:
    labels = ("judge", "scheme", "probe")
    return {
        "shift": _values(js.anchoring(calls), "shift_favoured", labels),
        "LDS": _values(js.anchoring(calls), "lds", labels),
    }


_CAREFUL = {"strategy": {"S8": {"noise": 0.4, "slot_bias": 0.0}}}
_STRICT = {"prompt": {"pairwise_strict": {"tie_criterion": 1.6}}}
_BLIND = {"condition": {"anonymized": {"self_preference": 0.0}}}
STUDIES = (
    StudyPlan(
        "dark-current", _dark_current,
        (Judge("m", dark_current=0.2, sensitivity=0.6, tie_criterion=0.8, slot_bias=0.3, under=_STRICT),),
        ("judge", "prompt"), _datasheet,
    ),
    StudyPlan(
        "debiasing", _pairs,
        (
            *(Judge(n, sensitivity=0.8, tie_criterion=0.6, slot_bias=b, under=_CAREFUL, self_preference=own,
                    style={"format": {"markdown": 1.0}}) for n, b, own in (("m", 0.6, 1.5), ("n", 0.0, 0.0))),
            Judge("o"), Judge("w"), Judge("Ann"), Judge("Bob"),
        ),
        ("judge", "strategy"), _strategies,
    ),
    StudyPlan(
        "rubric", _ratings,
        (
            *(Judge(m, leniency=s, self_preference=own, noise=0.6, item_difficulty=0.5, under=_BLIND)
              for m, s, own in zip(_MODELS, (0.4, 0.0, -0.4), (0.8, 0.0, -0.5), strict=True)),
            Judge("Ann", noise=0.6), Judge("Bob", noise=0.6),
        ),
        ("judge", "system"), _deviations,
    ),
    StudyPlan(
        "merg", _texts,
        tuple(Judge(j, leniency=s, item_difficulty=0.7, noise=0.4) for j, s in zip("ghk", (0.5, 0.0, -0.5), strict=True)),
        ("condition",), _agreement,
    ),
    StudyPlan(
        "cues", _summaries,
        (Judge("m", tie_criterion=0.8, label_susceptibility=2.0, favoured_label="Expert", under={"scheme": {"PBP": {"label_susceptibility": 0.0}}}),),
        ("judge", "scheme", "probe"), _anchoring,
    ),
)  # fmt: skip
