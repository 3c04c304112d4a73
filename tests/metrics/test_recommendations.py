"""Advice by tested comparisons, and by the rule of the debiasing paper as printed."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.flags import (
    NO_DATA,
    OVER_BUDGET,
)
from judgestats.metrics.bias import compare_strategies, recommend
from metrics.joint_outcomes import counted, crossed, verdicts
from refusals import refused


def grid(judge: str, gains: dict[str, tuple[int, int]]) -> pd.DataFrame:
    return pd.concat([counted(200, b, c, 200 - b - c, judge=judge, strategy=s) for s, (b, c) in gains.items()])


TABLE = pd.concat(
    [
        grid("Claude", {"S1": (30, 33), "S5": (15, 62), "S8": (23, 69)}),
        grid("Pro", {"S1": (16, 19), "S5": (20, 21), "S8": (30, 28)}),
        grid("Flash", {"S1": (12, 52), "S5": (20, 25), "S8": (17, 57)}),
    ]
)


@pytest.mark.slow
def test_advice_is_the_largest_supported_gain_within_the_budget():
    free = recommend(TABLE, cluster=False, baseline="B0").set_index("judge")
    assert free["advice"].to_dict() == {"Claude": "S5", "Flash": "S1", "Pro": "B0"}
    assert free.loc["Claude", "because"] == "S5 vs B0: +11.8 pp, holm p < .001, n = 400"
    assert free.loc["Claude", "cost"] == 1
    assert free.loc["Flash", "flag"] == "same gain: S8"
    assert free.loc["Pro", "flag"] == "no supported gain"
    assert free.loc["Pro", "because"] == (
        "no comparison supports a gain; the nearest is S1 vs B0: +0.8 pp, holm p = 1.000, n = 400"
    )
    assert np.isnan(free.loc["Pro", "estimate"])
    tight = recommend(TABLE, budget=1, baseline="B0").set_index("judge")
    assert tight["advice"].to_dict() == {"Claude": "S5", "Flash": "B0", "Pro": "B0"}
    compared = compare_strategies(TABLE, baseline="B0")
    pd.testing.assert_frame_equal(recommend(compared, baseline="B0"), recommend(TABLE, baseline="B0"))
    best = compared.set_index(["judge", "strategy"]).loc[("Claude", "S5")]
    assert free.loc["Claude", "p_adjusted"] == best["p_adjusted"]
    assert free.loc["Claude", "conf_low"] == best["conf_low"]


@pytest.mark.slow
def test_names_are_names_only():
    """Rename judges and strategies: the advice is renamed, and nothing else changes."""
    judges = {"Claude": "Pro", "Pro": "Flash", "Flash": "Claude"}
    strategies = {"S1": "S8", "S8": "S5", "S5": "S1"}
    cost = {"B0": 1, "S1": 2, "S5": 1, "S8": 2.5}
    renamed = TABLE.assign(judge=TABLE["judge"].map(judges), strategy=TABLE["strategy"].map(strategies))
    costs = {strategies.get(s, s): c for s, c in cost.items()}
    for budget in (None, 1, 2, 3):
        plain = recommend(TABLE, cost=cost, budget=budget, baseline="B0")
        other = recommend(renamed, cost=costs, budget=budget, baseline="B0").set_index("judge")
        for r in plain.itertuples():
            twin = other.loc[judges[r.judge]]
            assert twin["advice"] == strategies.get(r.advice, r.advice)
            np.testing.assert_allclose(twin["estimate"], r.estimate)
            np.testing.assert_allclose(twin["cost"], r.cost)


def test_costs_that_are_not_known_are_told_under_a_budget():
    got = recommend(TABLE, cost={"B0": 1, "S1": 2}, budget=2, baseline="B0").set_index("judge")
    assert got.loc["Claude", "flag"] == "no supported gain; cost not known: S5, S8"
    assert got.loc["Flash", "advice"] == "S1"


@pytest.mark.slow
def test_tasks_and_judges():
    both = pd.concat([TABLE.assign(task="natural"), TABLE.assign(task="adversarial", n=TABLE["n"] // 8)])
    got = recommend(both, baseline="B0")
    assert list(got.columns[:2]) == ["task", "judge"]
    assert got["task"].tolist() == ["adversarial"] * 3 + ["natural"] * 3
    assert recommend(both, task="natural", baseline="B0")["advice"].tolist() == ["S5", "S1", "B0"]
    assert recommend(both, judge="Claude", task="natural", baseline="B0")["advice"].item() == "S5"
    unknown = recommend(both, judge="Sonnet", task="natural", baseline="B0").iloc[0]
    assert (unknown["advice"], unknown["flag"]) == ("B0", NO_DATA)
    assert unknown["because"] == "no comparison of 'Sonnet' in the data"
    refused(
        DesignError,
        (
            lambda: recommend(both, task="neutral", baseline="B0"),
            r"task='neutral' is not in the results. Tasks: adversarial, natural.*natural",
        ),
        (lambda: recommend(TABLE, task="natural", baseline="B0"), "There is no column 'task'"),
    )


def test_harm_is_no_reason():
    harmful = grid("g", {"S1": (90, 20), "S8": (80, 10)})
    got = recommend(harmful, baseline="B0").iloc[0]
    assert (got["advice"], got["because"]) == ("B0", "no comparison shows a gain")


@pytest.mark.parametrize(
    ("arguments", "judge", "advice", "over"),
    [
        ({}, "Gemini 2.5 Flash", "S8", False),
        ({"budget": 1}, "Gemini 2.5 Flash", "S8", True),
        ({"task": "adversarial"}, "Claude, GPT-4o or Llama", "S5", False),
        ({"task": "high-stakes", "judge": "gemini-2.5-flash"}, "Claude, GPT-4o or Llama", "S5", False),
        ({"task": "LLMBar", "judge": "gpt-4o"}, "gpt-4o", "S5", False),
        ({"task": "mt_bench", "judge": "gpt-4o"}, "gpt-4o", "B0", False),
        ({"judge": "claude-sonnet-4"}, "claude-sonnet-4", "S8", False),
        ({"judge": "claude-sonnet-4", "budget": 2}, "claude-sonnet-4", "S8", False),
        ({"judge": "claude-sonnet-4", "budget": 1}, "claude-sonnet-4", "S5", False),
        ({"judge": "Gemini 2.5 Flash", "budget": 3}, "Gemini 2.5 Flash", "S8", False),
        ({"judge": "Gemini 2.5 Flash", "budget": 1}, "Gemini 2.5 Flash", "S1", True),
        ({"judge": "Llama 3.3-70B"}, "Llama 3.3-70B", "S8", False),
        ({"judge": "meta/llama3-70b", "budget": 1}, "meta/llama3-70b", "S8", True),
        ({"judge": "gemini-2.5-pro"}, "gemini-2.5-pro", "B0", False),
        ({"judge": "gpt-4o-mini"}, "gpt-4o-mini", "S5", False),
        ({"judge": "my-model", "budget": 1}, "my-model", "S5", False),
        ({"cost_matters": False}, "any", "S5", False),
        ({"cost_matters": False, "judge": "claude-sonnet-4"}, "claude-sonnet-4", "S8", False),
        ({"judge": "gemini-2.5-flash-lite"}, "gemini-2.5-flash-lite", "S5", False),
    ],
)
def test_the_rule_of_the_paper_as_printed(arguments, judge, advice, over):
    found = recommend(rule="paper", **arguments)
    assert found[["judge", "advice", "other_rule"]].to_numpy().tolist() == [[judge, advice, ""]]
    assert found["cost"].item() == {"B0": 1.0, "S1": 2.0, "S5": 1.0, "S8": 2.0}[advice]
    assert ("over budget" in found["flag"].item() or OVER_BUDGET in found["flag"].item()) is over


#: Algorithm 1 as printed: line -> task, judge, budget k, whether cost matters, what is returned, part of the reason.
ALGORITHM_1 = [
    (2, "adversarial", None, None, True, "Claude, GPT-4o or Llama", "S5", "adversarial"),
    (
        2,
        "high-stakes",
        "Flash",
        2,
        True,
        "Claude, GPT-4o or Llama",
        "S5",
        "adversarial",
    ),  # before the judge is looked at
    (2, "adversarial", "Claude", None, True, "Claude", "S5", "adversarial"),
    (5, None, None, None, True, "Gemini 2.5 Flash", "S8", "71.0 %"),
    (5, "natural", None, 1, True, "Gemini 2.5 Flash", "S8", "71.0 %"),  # no exception for the budget
    (8, "natural", "Claude", None, True, "Claude", "S8", "+11.5 pp"),
    (8, "natural", "Claude", 1, True, "Claude", "S5", "one call"),
    (10, None, "Flash", 2, True, "Flash", "S8", "+7.5 pp"),
    (10, None, "Gemini Flash", 1, True, "Gemini Flash", "S1", "k = 1"),
    (12, None, "Llama", None, True, "Llama", "S8", "+4.5 pp"),
    (12, None, "Llama", 1, True, "Llama", "S8", "+4.5 pp"),
    (14, None, "Gemini Pro", None, True, "Gemini Pro", "B0", "B0, or S1"),
    (14, None, "Pro", 2, True, "Pro", "B0", "B0, or S1"),
    (14, None, "GPT-4o", 2, True, "GPT-4o", "B0", "B0, or S1"),
    (16, None, "Mistral", 3, True, "Mistral", "S5", "does not cover"),
    (16, None, None, None, False, "any", "S5", "cost does not matter"),
]


@pytest.mark.parametrize(("line", "task", "judge", "k", "matters", "named", "strategy", "reason"), ALGORITHM_1)
def test_every_line_of_the_papers_algorithm(line, task, judge, k, matters, named, strategy, reason):
    found = recommend(rule="paper", task=task, judge=judge, budget=k, cost_matters=matters).iloc[0]
    assert (found["judge"], found["advice"]) == (named, strategy), line
    assert reason in found["because"]


def test_each_rule_says_what_the_other_gives():
    claude, llama = (
        pd.concat([counted(199, 33, 62, 106, judge, "S5"), counted(200, 32, 35, 133, judge, "S8")])
        for judge in ("claude-x", "llama-x")
    )
    counts = pd.concat([claude, llama[llama["strategy"] == "S8"]])
    tested = recommend(counts, baseline="B0")
    assert tested[["judge", "advice", "other_rule"]].to_numpy().tolist() == [
        ["claude-x", "S5", "S8"], ["llama-x", "B0", "S8"],
    ]  # fmt: skip
    printed = recommend(counts, rule="paper", baseline="B0")
    assert printed[["judge", "advice", "other_rule"]].to_numpy().tolist() == [
        ["claude-x", "S8", "S5"], ["llama-x", "S8", "B0"],
    ]  # fmt: skip
    # the estimate is that of the strategy recommended, in these data
    assert printed["estimate"].tolist() == pytest.approx([3 / 400, 3 / 400])
    assert recommend(counts, rule="paper", judge="claude-x", budget=1, baseline="B0")["advice"].tolist() == ["S5"]


def test_the_paper_decides_by_the_task_of_each_row():
    table = verdicts(strategies="B0 S5 S8", judges="g")
    both = pd.concat([table.assign(task="mt_bench"), table.assign(task="llmbar")])
    found = recommend(both, rule="paper", n_tests=4, baseline="B0").set_index("task")
    assert found["advice"].to_dict() == {"llmbar": "S5", "mt_bench": "S5"}
    found = recommend(both.assign(judge="llama"), rule="paper", baseline="B0").set_index("task")
    assert found["advice"].to_dict() == {"llmbar": "S5", "mt_bench": "S8"}


def test_the_tested_rule_needs_results():
    refused(
        DesignError,
        (lambda: recommend(judge="g"), "needs results"),
        (lambda: recommend(compare_strategies(TABLE, cluster=False).assign(baseline="")), "do not name their baseline"),
        (lambda: recommend(TABLE), "do not name their baseline"),
        (lambda: recommend(counted(1, 1, 1, 1), rule="printed", baseline="B0"), "rule"),
    )


def test_advice_goes_by_the_baseline_of_the_comparisons():
    compared = compare_strategies(verdicts(), baseline="S1")
    assert set(recommend(compared, baseline="S1")["advice"]) <= {"S1", "S8", "B0"}
    refused(
        DesignError,
        (lambda: recommend(compared, baseline="B0"), r"compared with 'S1', not 'B0'"),
        (lambda: recommend(compare_strategies(TABLE, baseline="B0"), n_tests=20), "n_tests: allowed for calls only"),
    )


def two_topics() -> pd.DataFrame:
    parts = [
        crossed("S5", [200, 10, 90, 100], topic="law"),
        crossed("S8", [200, 40, 60, 100], topic="law"),
        crossed("S5", [200, 40, 40, 120], topic="trade"),
        crossed("S8", [200, 20, 80, 100], topic="trade"),
    ]
    return pd.concat(parts, ignore_index=True)


def test_advice_is_given_for_each_topic():
    compared = compare_strategies(two_topics(), by="topic", baseline="B0")
    got = recommend(compared, baseline="B0")
    assert list(got.columns[:3]) == ["topic", "judge", "term"]
    assert dict(zip(got["topic"], got["advice"], strict=True)) == {"law": "S5", "trade": "S8"}
    assert got["estimate"].tolist() == [pytest.approx(80 / 400), pytest.approx(60 / 400)]
    absent = recommend(compared, judge="nobody", baseline="B0")
    assert absent["topic"].tolist() == ["law", "trade"]
    assert (absent["flag"] == "no data").all()


def test_a_budget_below_the_baseline_is_flagged():
    counts = crossed("S8", [200, 20, 80, 100])
    got = recommend(counts, budget=0.5, baseline="B0").iloc[0]
    assert got["advice"] == "B0"
    assert OVER_BUDGET in got["flag"]
    assert OVER_BUDGET not in recommend(counts, budget=1, baseline="B0").iloc[0]["flag"]
    cheap = recommend(counts, budget=0.5, cost={"B0": 2, "S8": 1}, cluster=False, baseline="B0").iloc[0]
    assert (cheap["advice"], cheap["flag"]) == ("S8", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"budget": math.nan}, "budget=nan"),
        ({"budget": -1}, "budget=-1"),
        ({"budget": "two"}, "budget='two'"),
        ({"cost": {"B0": 1, "S8": math.nan}}, "cost of S8=nan"),
        ({"cost": {"B0": -1}}, "cost of B0=-1"),
        ({"cost": {"B0": "one"}}, "cost of B0='one'"),
        ({"cost": {"B0": None}}, "cost of B0=None"),
    ],
)
def test_budget_and_costs_are_numbers_from_0(options, named):
    with pytest.raises(DesignError, match=f"{named} is not an amount. Allowed: numbers from 0"):
        recommend(crossed("S8", [200, 20, 80, 100]), **options, baseline="B0")
