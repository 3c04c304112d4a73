"""Strategies: their calls, their rules, and the way from a plan to the measures."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.design import (
    STRATEGIES,
    Judge,
    Plan,
    collect,
    export,
    prompt,
    remaining,
    simulate_replies,
    strategies,
    strategy_verdicts,
)
from judgestats.design.exports import LINES
from judgestats.errors import DesignError
from judgestats.metrics.bias.recommendations import CALLS
from refusals import refused

PANEL = ["m", "n", "o"]


def pairs(n: int) -> pd.DataFrame:
    """Pairs with a gold answer."""
    number = np.arange(n).astype(str)
    gold = np.array(["u", "v", "tie"])[np.arange(n) % 3]
    texts = {f"{slot}_text": [f"Text {i} {slot}." for i in number] for slot in ("task", "first", "second", "reference")}
    return pd.DataFrame({"item": number, "first": "u", "second": "v", "gold": gold, **texts})


def test_400_items_and_9_strategies_have_the_calls_of_the_paper():
    plan = strategies("m", pairs(400), strategies=list(STRATEGIES), panel=PANEL)
    per_pair = plan.calls["strategy"].value_counts() / 400
    assert per_pair.to_dict() == {"B0": 1, "S1": 2, "S2": 3, "S3": 3, "S4": 1, "S5": 1, "S6": 1, "S7": 6, "S8": 2}
    assert per_pair.to_dict() == CALLS == {n: s.calls() for n, s in STRATEGIES.items()}
    assert plan.calls["call"].is_unique
    assert len(plan) == 8000
    assert sorted(plan.calls.loc[plan.calls["strategy"] == "S2", "temperature"].unique()) == [0.0, 0.3, 0.7]
    assert set(plan.calls.loc[plan.calls["strategy"] != "S2", "temperature"]) == {0.1}


def test_both_orders_where_the_strategy_swaps_and_the_reference_where_it_guides():
    plan = strategies("m", pairs(3), strategies=list(STRATEGIES), panel=PANEL)
    orders = plan.calls.groupby("strategy")["first"].nunique()
    assert orders[orders == 2].index.tolist() == ["S1", "S7", "S8"]
    shown = {call: user for call, _, user in plan.messages()}
    guided = plan.calls["strategy"] == "S6"
    assert [("reference" in shown[c]) for c in plan.calls["call"]] == guided.tolist()
    assert not (plan.check()["level"] == "fault").any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strategies": ["S9"]}, r"'S9' is not known. Allowed: B0, S1"),
        ({"strategies": []}, "strategies= is empty"),
        ({"strategies": ["B0", "S3"]}, "S3 takes the votes of several judges"),
        ({"strategies": ["S3", "S7"], "panel": ["m"]}, "S3 and S7 take the votes"),
        ({"strategies": ["S3"], "panel": ["m", "m"]}, "not a list of different judges"),
        ({"strategies": ["S3"], "panel": "mn"}, "not a list of different judges"),
        ({"prompts": {"S0": "pairwise"}}, "'S0' is not known"),
    ],
)
def test_what_cannot_be_planned(arguments, message):
    with pytest.raises(DesignError, match=message):
        strategies("m", pairs(2), **arguments)


def test_a_guided_strategy_needs_a_reference_and_gold_is_a_candidate():
    refused(
        DesignError,
        (
            lambda: strategies("m", pairs(2).drop(columns="reference_text"), strategies=["S6"]),
            "S6 shows a reference answer",
        ),
        (lambda: strategies("m", pairs(2).assign(gold="A")), r"'gold' is 'A' for item '0'.*'u' and 'v'"),
    )


def test_a_prompt_of_ones_own_replaces_that_of_its_strategy():
    plan = strategies("m", pairs(2), strategies=["B0", "S5"], prompts={"S5": "pairwise_strict"})
    assert plan.calls.groupby("strategy")["prompt"].unique().map(list).to_dict() == {
        "B0": ["minimal"],
        "S5": ["pairwise_strict"],
    }


def answered(answers: dict[tuple, str]) -> pd.DataFrame:
    """Calls on one pair u, v: (strategy, judge, first, temperature) -> the candidate chosen."""
    rows = []
    for (strategy, judge, first, temperature), chosen in answers.items():
        second = "v" if first == "u" else "u"
        choice = {first: "first", second: "second"}.get(chosen, chosen)
        rows.append([judge, "1", first, second, strategy, temperature, choice])
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "strategy", "temperature", "choice"])


@pytest.mark.parametrize(
    ("answers", "verdict", "kind"),
    [
        ({("S1", "m", "u", 0.1): "u", ("S1", "m", "v", 0.1): "u"}, "first", ""),
        ({("S1", "m", "u", 0.1): "u", ("S1", "m", "v", 0.1): "v"}, "tie", "disagreement"),
        ({("S1", "m", "u", 0.1): "u", ("S1", "m", "v", 0.1): "tie"}, "tie", "disagreement"),
        ({("S8", "m", "u", 0.1): "tie", ("S8", "m", "v", 0.1): "tie"}, "tie", "native"),
        ({("S2", "m", "u", t): c for t, c in zip((0, 0.3, 0.7), ("v", "v", "u"), strict=True)}, "second", ""),
        ({("S2", "m", "u", t): c for t, c in zip((0, 0.3, 0.7), ("u", "v", "tie"), strict=True)}, "tie", "disagreement"),
        ({("S3", j, "u", 0.1): c for j, c in zip("mno", ("u", "u", "tie"), strict=True)}, "first", ""),
        ({("S3", j, "u", 0.1): c for j, c in zip("mn", ("u", "v"), strict=True)}, "tie", "disagreement"),
        ({("S5", "m", "u", 0.1): "v"}, "second", ""),
        ({("S4", "m", "u", 0.1): "tie"}, "tie", "native"),
        # S7: judges m and n are consistent for v, judge o is not
        (
            {("S7", j, f, 0.1): c for j, c in (("m", "v"), ("n", "v")) for f in "uv"}
            | {("S7", "o", "u", 0.1): "u", ("S7", "o", "v", 0.1): "v"},
            "second",
            "",
        ),
        # S7: one judge for u, one for v, one inconsistent
        (
            {("S7", j, f, 0.1): c for j, c in (("m", "v"), ("n", "u")) for f in "uv"}
            | {("S7", "o", "u", 0.1): "u", ("S7", "o", "v", 0.1): "v"},
            "tie",
            "disagreement",
        ),
    ],
)  # fmt: skip
def test_the_rule_of_each_strategy_by_hand(answers, verdict, kind):
    found = strategy_verdicts(answered(answers))
    assert found[["choice", "tie_kind", "n_calls"]].to_numpy().tolist() == [[verdict, kind, len(answers)]]


def test_a_missing_call_makes_the_verdict_invalid_unless_it_is_ignored():
    calls = answered({("S1", "m", "u", 0.1): "u", ("S1", "m", "v", 0.1): "invalid"})
    assert strategy_verdicts(calls)["choice"].tolist() == ["invalid"]
    assert strategy_verdicts(calls, missing="ignore")["choice"].tolist() == ["first"]


def test_a_panel_stands_in_the_place_of_each_judge_that_has_verdicts():
    calls = answered(
        {("B0", "m", "u", 0.1): "v", ("B0", "n", "u", 0.1): "u"} | {("S3", j, "u", 0.1): "u" for j in "mno"}
    )
    found = strategy_verdicts(calls).set_index(["strategy", "judge"])["choice"]
    assert found.to_dict() == {
        ("B0", "m"): "second", ("B0", "n"): "first", ("S3", "m"): "first", ("S3", "n"): "first",
    }  # fmt: skip
    assert strategy_verdicts(calls[calls["strategy"] == "S3"])["judge"].tolist() == ["panel"]


def test_calls_without_a_known_strategy_or_twice_are_refused():
    calls = answered({("B0", "m", "u", 0.1): "v"})
    refused(
        DesignError,
        (pd.concat([calls, calls]), "repeat a call"),
        (calls.assign(strategy="baseline"), "'baseline' is not known"),
        (calls.drop(columns="strategy"), "needs the column 'strategy'"),
        of=strategy_verdicts,
    )


@pytest.mark.parametrize("form", LINES)
def test_a_plan_of_all_strategies_goes_to_each_runner_and_keeps_in_a_folder(form, tmp_path):
    plan = strategies("m", pairs(2), strategies=list(STRATEGIES), panel=PANEL)
    again = Plan.read(plan.write(tmp_path / "plan"))
    assert list(again.messages()) == list(plan.messages())
    exported = " ".join(p.read_text() for p in export(again, tmp_path, form))
    assert all(call in exported for call in plan.calls["call"])


def scored(answer: str, form: str) -> str:
    """A verdict in the JSON object that a prompt asks for."""
    schema = prompt(form).schema
    scores = dict.fromkeys(("accuracy", "relevance", "completeness", "clarity", "reasoning"), 3)
    full = {"reasons": 'A does "more", B less. Tie? No.', "scores_a": scores, "scores_b": {**scores, "accuracy": 5}}
    found = {k: v for k, v in full.items() if k in schema["required"]}
    return json.dumps({**found, "verdict": json.loads(answer)["verdict"]})


@pytest.mark.slow
def test_from_plan_to_advice_with_failures():
    plan = strategies("m", pairs(150))
    noisy = {"noise": 1.0, "sensitivity": 1.0, "tie_criterion": 0.6}
    sharp = {"noise": 0.5, "sensitivity": 2.5, "tie_criterion": 1.0}
    judge = Judge("m", **noisy, under={"strategy": {"S8": sharp}})
    replies = simulate_replies(plan, judge, error=0.02, unreadable=0.02)
    forms = plan.calls["prompt"].to_numpy()
    replies["answer"] = [
        scored(a, f) if isinstance(a, str) and a.startswith('{"verdict": "') else a
        for a, f in zip(replies["answer"], forms, strict=True)
    ]
    answers = replies.to_dict("records")
    calls = collect(plan, answers)
    assert len(calls) == len(plan) == 1500
    assert len(remaining(plan, answers)) == (calls["status"] == "error").sum() > 0
    assert calls.groupby("strategy", observed=True)["choice"].agg(lambda c: (c == "invalid").mean()).max() < 0.08
    verdicts = strategy_verdicts(calls)
    assert verdicts.groupby("strategy").size().unique().tolist() == [150]
    agreement = js.gold_agreement(verdicts, by="strategy").set_index(["strategy", "term"])
    chances = js.design.answer_probabilities(plan.calls[plan.calls["strategy"] == "B0"], judge)
    side = chances["gold"].map({"u": "p_first", "v": "p_second", "tie": "p_tie"})
    right = np.mean([chances[p].iloc[i] for i, p in enumerate(side)])
    row = agreement.loc[("B0", "accuracy")]
    assert row["conf_low"] < right < row["conf_high"]
    advice = js.recommend(js.compare_strategies(verdicts, baseline="B0"))
    assert advice["advice"].item() == "S8"
    assert js.recommend(js.compare_strategies(verdicts, baseline="B0"), budget=1)["advice"].item() == "B0"
