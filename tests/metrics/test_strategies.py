"""McNemar comparisons, the cost frontier, and the advice made of them."""

from __future__ import annotations

import itertools
import math
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, sem
from scipy.stats import t as student
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import judgestats as js
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import (
    DISCORDANT_ONLY,
    ESTIMATED_COST,
    FEW_DISCORDANT,
    INFINITE,
    NO_COST,
    NO_DATA,
    NO_SPREAD,
    NO_VALUE,
    NOT_INDEPENDENT,
    OVER_BUDGET,
)
from judgestats.kernels.proportions import newcombe_paired
from judgestats.metrics.bias import compare_strategies, evaluation_cost, pareto_front, recommend
from judgestats.metrics.bias.strategies import NAMELESS, Method, costs, mcnemar_test
from judgestats.metrics.correctness import gold_agreement
from metrics.tables import but_for_clustering


def counted(a: int, b: int, c: int, d: int, judge: str = "g", strategy: str = "S8") -> pd.DataFrame:
    """Pairs right under both, the baseline only, the strategy only, neither."""
    outcomes = {"baseline": ["correct", "correct", "wrong", "wrong"], "outcome": ["correct", "wrong"] * 2}
    return pd.DataFrame({"judge": judge, "strategy": strategy, **outcomes, "n": [a, b, c, d]})


def verdicts(n: int = 80, strategies: str = "B0 S1 S8", judges: str = "gh", seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    gold = rng.choice(["x", "y", "tie"], n)
    truth = np.where(gold == "x", "first", np.where(gold == "y", "second", "tie"))
    parts = []
    for judge, strategy in itertools.product(judges, strategies.split()):
        other = rng.choice(["first", "second", "tie", "invalid"], n, p=[0.35, 0.3, 0.25, 0.1])
        choice = np.where(rng.random(n) < 0.5, truth, other)
        columns = {"item": np.arange(n).astype(str), "first": "x", "second": "y", "gold": gold, "choice": choice}
        parts.append(pd.DataFrame({"judge": judge, "strategy": strategy, **columns}))
    return pd.concat(parts, ignore_index=True)


# ---------------------------------------------------------------- McNemar


def test_agresti():
    """Approval of the prime minister (Agresti): 150 and 86 changed their minds, 794 and 570 did not."""
    statistic, p = mcnemar_test(150, 86, "asymptotic")
    assert (f"{statistic:.4f}", f"{p:.4e}") == ("17.3559", "3.0993e-05")
    assert round(mcnemar_test(150, 86)[0], 4) == 16.8178
    assert f"{mcnemar_test(150, 86)[1]:.4e}" == "4.1146e-05"
    assert mcnemar_test(150, 86, "exact")[1] == pytest.approx(3.71593614e-5, rel=1e-8)
    row = compare_strategies(counted(794, 150, 86, 570)).iloc[0]
    assert row["estimate"] == pytest.approx((86 - 150) / 1600)
    assert (row["accuracy_baseline"], row["accuracy_strategy"]) == (944 / 1600, 880 / 1600)
    assert (row["baseline_only"], row["strategy_only"], row["n"]) == (150, 86, 1600)
    low, high = newcombe_paired(794, 86, 150, 570)
    assert (row["conf_low"], row["conf_high"]) == (low, high)
    assert low < row["estimate"] < high < 0


@pytest.mark.parametrize(("b", "c"), [(3, 9), (9, 3), (0, 5), (1, 0), (12, 12), (40, 61)])
def test_against_statsmodels_and_the_binomial(b, c):
    table = [[0, b], [c, 0]]
    asymptotic, exact = mcnemar(table, exact=False, correction=False), mcnemar(table, exact=True)
    assert mcnemar_test(b, c, "asymptotic") == (asymptotic.statistic, asymptotic.pvalue)
    assert mcnemar_test(b, c, "exact") == (exact.statistic, exact.pvalue)
    points = binom.pmf(np.arange(b + c + 1), b + c, 0.5)
    far = np.abs(np.arange(b + c + 1) - (b + c) / 2)
    mid = points[far > far[b] + 1e-9].sum() + points[np.abs(far - far[b]) < 1e-9].sum() / 2
    assert mcnemar_test(b, c, "mid-p")[1] == pytest.approx(mid, rel=1e-10)
    if b != c:
        corrected = mcnemar(table, exact=False, correction=True)
        assert mcnemar_test(b, c) == (corrected.statistic, corrected.pvalue)


def test_nothing_to_tell_apart():
    for method in get_args(Method):
        assert mcnemar_test(0, 0, method)[1] == 1
    assert mcnemar_test(7, 7) == (0.0, 1.0)  # max(|b - c| - 1, 0)
    row = compare_strategies(counted(30, 0, 0, 10)).iloc[0]
    assert (row["p_value"], row["estimate"], row["survives"]) == (1, 0, False)
    assert row["conf_low"] < 0 < row["conf_high"]


def test_few_discordant_pairs_are_flagged_for_the_chi_square_only():
    assert compare_strategies(counted(60, 8, 16, 20), cluster=False)["flag"].item() == FEW_DISCORDANT
    assert compare_strategies(counted(60, 8, 17, 20), cluster=False)["flag"].item() == ""
    assert compare_strategies(counted(60, 8, 16, 20), method="mid-p", cluster=False)["flag"].item() == ""


# ---------------------------------------------------------------- the frame


@pytest.mark.slow
@pytest.mark.parametrize("invalid", ["drop", "wrong", "tie"])
@pytest.mark.parametrize("ties", ["exact", "drop"])
def test_against_counting_by_hand(invalid, ties):
    calls = verdicts()
    got = compare_strategies(calls, invalid=invalid, ties=ties).set_index(["judge", "strategy"])
    assert list(got.index) == [("g", "S1"), ("g", "S8"), ("h", "S1"), ("h", "S8")]
    truth = {"x": "first", "y": "second", "tie": "tie"}
    for (judge, strategy), row in got.iterrows():
        cells = dict.fromkeys([(True, True), (True, False), (False, True), (False, False)], 0)
        mine = calls[calls["judge"] == judge]
        for _, pair in mine[mine["strategy"].isin(["B0", strategy])].groupby("item"):
            right = []
            for r in pair.sort_values("strategy").itertuples():  # B0 before S
                answer = r.choice
                tie = (answer == "tie" and r.gold != "tie") or (answer == "invalid" and invalid == "tie")
                if (answer == "invalid" and invalid == "drop") or (tie and ties == "drop"):
                    continue
                right.append(answer == truth[r.gold])
            if len(right) == 2:
                cells[tuple(right)] += 1
        n = sum(cells.values())
        assert row["n"] == n
        assert (row["baseline_only"], row["strategy_only"]) == (cells[True, False], cells[False, True])
        assert row["estimate"] == pytest.approx((cells[False, True] - cells[True, False]) / n)
        assert ("not scored" in row["flag"]) == (n < 80)
    one = gold_agreement(calls[calls["strategy"] == "B0"], invalid="wrong").set_index(["judge", "term"])["estimate"]
    all_scored = compare_strategies(calls, invalid="wrong").set_index("judge").loc["g"]
    np.testing.assert_allclose(all_scored["accuracy_baseline"], one["g", "accuracy"])


@pytest.mark.slow
def test_frame_tally_engine_order():
    calls = verdicts().drop(index=[3, 100, 170])
    whole = compare_strategies(calls)
    counts = tally(calls, "compare_strategies", baseline="B0")
    counted = but_for_clustering(compare_strategies(counts))
    pd.testing.assert_frame_equal(counted, whole, check_dtype=False)
    for other in (pl.from_pandas(calls), pl.from_pandas(calls).lazy(), calls.sample(frac=1, random_state=2)):
        pd.testing.assert_frame_equal(compare_strategies(other), whole, check_dtype=False)
    assert "2 pairs under one only" in whole["flag"].iloc[0]


def test_turning_baseline_and_strategy_round_turns_the_sign():
    calls = verdicts(strategies="B0 S1")
    one, two = compare_strategies(calls), compare_strategies(calls, baseline="S1")
    np.testing.assert_allclose(one["estimate"], -two["estimate"])
    np.testing.assert_allclose(one["conf_low"], -two["conf_high"])
    np.testing.assert_allclose(one["p_value"], two["p_value"])
    assert list(two["baseline"]) == ["S1", "S1"]


def test_counts_and_repeats():
    calls = verdicts(strategies="B0 S1")
    once, thrice = compare_strategies(calls), compare_strategies(calls.assign(n_identical=3))
    np.testing.assert_allclose(thrice["baseline_only"], 3 * once["baseline_only"])
    repeats = pd.concat([calls.assign(replicate=r) for r in range(2)])
    assert compare_strategies(repeats, cluster=False)["flag"].str.contains(NOT_INDEPENDENT).all()
    with pytest.raises(DesignError, match="judged twice"):
        compare_strategies(pd.concat([calls, calls]))


def test_a_strategy_without_a_scored_pair():
    calls = verdicts(strategies="B0 S1", judges="g")
    calls.loc[calls["strategy"] == "S1", "choice"] = "invalid"
    row = compare_strategies(calls).iloc[0]
    assert row[["estimate", "p_value", "p_adjusted"]].isna().all()
    assert not row["survives"]
    assert NO_DATA in row["flag"]


# ---------------------------------------------------------------- several tests


def many() -> pd.DataFrame:
    pairs = [(23, 69), (17, 47), (33, 62), (12, 31), (27, 45)]
    return pd.concat([counted(200, b, c, 100, judge=f"j{i}") for i, (b, c) in enumerate(pairs)])


@pytest.mark.slow
def test_holm_over_more_tests_than_are_shown():
    got = compare_strategies(many(), n_tests=20)
    p = got["p_value"].to_numpy()
    factors = [20, 19, 18, 17, 16]
    by_hand = np.minimum(1, np.maximum.accumulate(np.sort(p) * factors))
    np.testing.assert_allclose(np.sort(got["p_adjusted"]), by_hand)
    assert list(got["survives"]) == [True, True, False, False, False]
    assert set(got["adjustment"]) == {"holm, m = 20"}
    np.testing.assert_allclose(compare_strategies(many())["p_adjusted"], multipletests(p, method="holm")[1])
    assert list(compare_strategies(many())["survives"]) == [True, True, True, True, True]


@pytest.mark.parametrize("adjust", ["bonferroni", "fdr_bh", "hommel", "simes-hochberg"])
def test_other_corrections_are_statsmodels(adjust):
    got = compare_strategies(many(), adjust=adjust, n_tests=9)
    padded = np.r_[got["p_value"], np.ones(4)]
    np.testing.assert_allclose(got["p_adjusted"], multipletests(padded, method=adjust)[1][:5])


def test_no_correction():
    got = compare_strategies(many(), adjust="none", n_tests=20)
    np.testing.assert_array_equal(got["p_adjusted"], got["p_value"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_tests": 3}, r"n_tests=3 is less than the 5 tests made"),
        ({"method": "fisher"}, r"method='fisher' is not known"),
        ({"adjust": "holms"}, r"adjust='holms' is not known.*Did you mean 'holm'"),
        ({"ties": "half"}, r"ties='half' is not known. Allowed: 'exact', 'drop'"),
        ({"invalid": "half"}, r"invalid='half' is not known"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(DesignError, match=message):
        compare_strategies(many(), **options)


def test_a_baseline_that_does_not_occur():
    with pytest.raises(DesignError, match=r"baseline='B0' is not in 'strategy'. It has: P0, S1"):
        compare_strategies(verdicts(strategies="P0 S1"))


# ---------------------------------------------------------------- discordant pairs only


@pytest.mark.slow
def test_discordant_pairs_give_the_test_and_with_their_total_the_difference():
    counts = counted(0, 23, 69, 0).iloc[1:3]
    row = compare_strategies(counts, cluster=False).iloc[0]
    assert round(row["statistic"], 2) == 22.01
    assert row[["estimate", "conf_low", "n", "accuracy_baseline"]].isna().all()
    assert row["flag"] == DISCORDANT_ONLY
    full = compare_strategies(counted(209, 23, 69, 99)).iloc[0]
    for known in (compare_strategies(counts, pairs=400), compare_strategies(counts.assign(all=400), pairs="all")):
        row = known.iloc[0]
        assert (row["estimate"], row["n"], row["method"]) == (46 / 400, 400, "Agresti-Min, paired")
        assert row["std_error"] == full["std_error"]
        assert row["conf_low"] == pytest.approx(full["conf_low"], abs=0.003)
        assert row["conf_high"] == pytest.approx(full["conf_high"], abs=0.003)
    none = compare_strategies(counts.assign(n=0), pairs=400).iloc[0]
    assert (none["p_value"], none["estimate"], none["n"]) == (1, 0, 400)
    assert none["conf_low"] < 0 < none["conf_high"]
    with pytest.raises(DesignError, match="pairs=90 is less than the 92"):
        compare_strategies(counts, pairs=90)


def test_a_frame_without_concordant_pairs_is_complete():
    calls = verdicts(2, strategies="B0 S1", judges="g").assign(gold="x")
    calls["choice"] = ["first", "second", "second", "first"]
    row = compare_strategies(calls).iloc[0]
    assert (row["estimate"], row["n"], row["baseline_only"], row["strategy_only"]) == (0, 2, 1, 1)
    counted = compare_strategies(tally(calls, "compare_strategies", baseline="B0")).iloc[0]  # may have left them out
    assert "discordant pairs only" in counted["flag"]
    assert math.isnan(counted["estimate"])
    assert (counted["statistic"], counted["p_value"]) == (row["statistic"], row["p_value"])


# ---------------------------------------------------------------- advice


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
    free = recommend(TABLE, cluster=False).set_index("judge")
    assert free["advice"].to_dict() == {"Claude": "S5", "Flash": "S1", "Pro": "B0"}
    assert free.loc["Claude", "because"] == "S5 vs B0: +11.8 pp, holm p < .001, n = 400"
    assert free.loc["Claude", "cost"] == 1
    assert free.loc["Flash", "flag"] == "same gain: S8"
    assert free.loc["Pro", "flag"] == "no supported gain"
    assert free.loc["Pro", "because"] == (
        "no comparison supports a gain; the nearest is S1 vs B0: +0.8 pp, holm p = 1.000, n = 400"
    )
    assert np.isnan(free.loc["Pro", "estimate"])
    tight = recommend(TABLE, budget=1).set_index("judge")
    assert tight["advice"].to_dict() == {"Claude": "S5", "Flash": "B0", "Pro": "B0"}
    compared = compare_strategies(TABLE)
    pd.testing.assert_frame_equal(recommend(compared), recommend(TABLE))
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
        plain = recommend(TABLE, cost=cost, budget=budget)
        other = recommend(renamed, cost=costs, budget=budget).set_index("judge")
        for r in plain.itertuples():
            twin = other.loc[judges[r.judge]]
            assert twin["advice"] == strategies.get(r.advice, r.advice)
            np.testing.assert_allclose(twin["estimate"], r.estimate)
            np.testing.assert_allclose(twin["cost"], r.cost)


def test_costs_that_are_not_known_are_told_under_a_budget():
    got = recommend(TABLE, cost={"B0": 1, "S1": 2}, budget=2).set_index("judge")
    assert got.loc["Claude", "flag"] == "no supported gain; cost not known: S5, S8"
    assert got.loc["Flash", "advice"] == "S1"


@pytest.mark.slow
def test_tasks_and_judges():
    both = pd.concat([TABLE.assign(task="natural"), TABLE.assign(task="adversarial", n=TABLE["n"] // 8)])
    got = recommend(both)
    assert list(got.columns[:2]) == ["task", "judge"]
    assert got["task"].tolist() == ["adversarial"] * 3 + ["natural"] * 3
    assert recommend(both, task="natural")["advice"].tolist() == ["S5", "S1", "B0"]
    assert recommend(both, judge="Claude", task="natural")["advice"].item() == "S5"
    unknown = recommend(both, judge="Sonnet", task="natural").iloc[0]
    assert (unknown["advice"], unknown["flag"]) == ("B0", NO_DATA)
    assert unknown["because"] == "no comparison of 'Sonnet' in the data"
    with pytest.raises(
        DesignError, match=r"task='neutral' is not in the results. Tasks: adversarial, natural.*natural"
    ):
        recommend(both, task="neutral")
    with pytest.raises(DesignError, match="There is no column 'task'"):
        recommend(TABLE, task="natural")


def test_harm_is_no_reason():
    harmful = grid("g", {"S1": (90, 20), "S8": (80, 10)})
    got = recommend(harmful).iloc[0]
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
    tested = recommend(counts)
    assert tested[["judge", "advice", "other_rule"]].to_numpy().tolist() == [
        ["claude-x", "S5", "S8"], ["llama-x", "B0", "S8"],
    ]  # fmt: skip
    printed = recommend(counts, rule="paper")
    assert printed[["judge", "advice", "other_rule"]].to_numpy().tolist() == [
        ["claude-x", "S8", "S5"], ["llama-x", "S8", "B0"],
    ]  # fmt: skip
    # the estimate is that of the strategy recommended, in these data
    assert printed["estimate"].tolist() == pytest.approx([3 / 400, 3 / 400])
    assert recommend(counts, rule="paper", judge="claude-x", budget=1)["advice"].tolist() == ["S5"]


def test_the_paper_decides_by_the_task_of_each_row():
    table = verdicts(strategies="B0 S5 S8", judges="g")
    both = pd.concat([table.assign(task="mt_bench"), table.assign(task="llmbar")])
    found = recommend(both, rule="paper", n_tests=4).set_index("task")
    assert found["advice"].to_dict() == {"llmbar": "S5", "mt_bench": "S5"}
    found = recommend(both.assign(judge="llama"), rule="paper").set_index("task")
    assert found["advice"].to_dict() == {"llmbar": "S5", "mt_bench": "S8"}


def test_the_tested_rule_needs_results():
    with pytest.raises(DesignError, match="needs results"):
        recommend(judge="g")
    with pytest.raises(DesignError, match="rule"):
        recommend(counted(1, 1, 1, 1), rule="printed")


def test_advice_goes_by_the_baseline_of_the_comparisons():
    compared = compare_strategies(verdicts(), baseline="S1")
    with pytest.raises(DesignError, match=r"compared with 'S1', not 'B0'"):
        recommend(compared)
    assert set(recommend(compared, baseline="S1")["advice"]) <= {"S1", "S8", "B0"}
    with pytest.raises(DesignError, match="n_tests: allowed for calls only"):
        recommend(compare_strategies(TABLE), n_tests=20)


# ---------------------------------------------------------------- clusters


def of_items(rng, items=80, size=5, joint=(0.5, 0.1, 0.1, 0.3)):
    """Pairs of each item right under B0 and S8, the four joint answers alike within an item."""
    rows = []
    for i in range(items):
        shares = rng.dirichlet(np.array(joint) * 7 / 3)
        for k, cell in enumerate(rng.choice(4, size, p=shares)):
            for strategy, right in (("B0", cell in (0, 1)), ("S8", cell in (0, 2))):
                rows.append(("g", f"i{i}", "x", f"y{k}", "first" if right else "second", "x", strategy))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold", "strategy"])


def test_pairs_of_an_item_are_clustered_without_being_asked():
    calls = of_items(np.random.default_rng(1))
    found, apart = compare_strategies(calls).iloc[0], compare_strategies(calls, cluster=False).iloc[0]
    assert found["method"] == "Tango, paired, clustered by item (G = 80)"
    assert apart["method"] == "Newcombe, paired"
    assert "calls not independent" in apart["flag"]
    assert found["conf_high"] - found["conf_low"] > 1.2 * (apart["conf_high"] - apart["conf_low"])
    assert found["p_value"] > apart["p_value"]
    assert compare_strategies(tally(calls, "compare_strategies", baseline="B0")).iloc[0].equals(found)
    sums = calls.assign(right=calls["choice"] == "first").pivot_table("right", "item", "strategy", "sum")
    gap = (sums["S8"] - sums["B0"]) / 5
    assert found["estimate"] == pytest.approx(gap.mean())
    assert found["std_error"] == pytest.approx(gap.sem())


@pytest.mark.slow
def test_the_interval_leaves_out_0_where_the_clustered_test_rejects():
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(40):
        row = compare_strategies(of_items(rng, 30, 3, joint=(0.4, 0.08, 0.22, 0.3))).iloc[0]
        assert (row["p_value"] < 0.05) == (row["conf_low"] > 0 or row["conf_high"] < 0)
        rejected += row["p_value"] < 0.05
    assert 3 < rejected < 37


def test_tests_that_count_pairs_one_by_one_know_no_clusters():
    calls = of_items(np.random.default_rng(3))
    row = compare_strategies(calls, method="exact").iloc[0]
    assert row["method"] == "Newcombe, paired"
    assert "calls not independent" in row["flag"]
    with pytest.raises(DesignError, match="does not allow for clusters"):
        compare_strategies(calls, method="exact", cluster="item")


def test_a_table_of_counts_is_unknown():
    assert "clustering unknown" in compare_strategies(counted(209, 23, 69, 99))["flag"].item()
    assert compare_strategies(counted(209, 23, 69, 99), cluster=False)["flag"].item() == ""


def points(pairs: list[tuple[float, float]]) -> pd.DataFrame:
    cost, value = zip(*pairs, strict=True)
    return pd.DataFrame({"judge": [f"j{i:02d}" for i in range(len(pairs))], "cost": cost, "estimate": value})


def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] <= b[0] and a[1] >= b[1] and a != b


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=14))
def test_against_every_pair(pairs):
    """The definition, pair by pair; coarse grids, so that ties and copies are common."""
    got = pareto_front(points(pairs)).set_index("judge")
    front = [not any(beats(a, b) for a in pairs) for b in pairs]
    assert list(got["on_front"]) == front
    for i, b in enumerate(pairs):
        name = got["dominated_by"].iloc[i]
        if front[i]:
            assert name == ""
            continue
        better = [pairs[j] for j in range(len(pairs)) if front[j] and beats(pairs[j], b)]
        chosen = pairs[int(name[1:])]
        assert chosen in better
        assert chosen[1] == max(v for _, v in better)


def test_copies_both_stay_and_the_order_does_not_matter():
    table = points([(0, 0.5), (1, 0.7), (1, 0.7), (1, 0.6), (2, 0.7), (3, 0.9)])
    got = pareto_front(table)
    assert list(got["on_front"]) == [True, True, True, False, False, True]
    assert list(got["dominated_by"]) == ["", "", "", "j01", "j01", ""]
    for other in (table.iloc[::-1], pl.from_pandas(table), pl.from_pandas(table).lazy()):
        pd.testing.assert_frame_equal(pareto_front(other), got, check_dtype=False)


def test_what_has_no_cost_is_set_aside():
    got = pareto_front(points([(np.nan, 0.9), (1, 0.7), (0, np.nan), (2, 0.6)]))
    assert list(got["on_front"]) == [False, True, False, False]
    assert list(got["flag"]) == [NO_COST, "", NO_VALUE, ""]
    assert list(got["dominated_by"]) == ["", "", "", "j01"]


def test_cost_by_tokens():
    table = pd.DataFrame(
        {
            "judge": ["a", "b", "c", "d"],
            "input_tokens": [1e6, 1e6, 2e6, 5],
            "output_tokens": [1e5, 2e5, 0, 5],
            "estimate": [0.6, 0.7, 0.8, 0.9],
        }
    )
    prices = {"a": (3.0, 15.0), "b": (0.0, 0.0), "c": (1.0, 10.0)}
    np.testing.assert_allclose(costs(table, prices), [4.5, 0, 2, np.nan])
    got = pareto_front(table, prices=prices)
    assert list(got["flag"]) == [ESTIMATED_COST] * 3 + [NO_COST]
    assert list(got["on_front"]) == [False, True, True, False]
    assert got["dominated_by"].iloc[0] == "c"


def test_groups_terms_and_other_costs():
    table = pd.DataFrame(
        {
            "judge": ["a", "b"] * 2,
            "strategy": ["B0", "S8"] * 2,
            "task": ["x", "x", "y", "y"],
            "latency": [1.0, 2.0, 1.0, 2.0],
            "estimate": [0.5, 0.6, 0.6, 0.5],
        }
    )
    got = pareto_front(table, cost="latency", by="task")
    assert list(got.columns) == ["task", "judge", "strategy", "cost", "value", "on_front", "dominated_by", "flag"]
    assert list(got["on_front"]) == [True, True, True, False]
    assert got["dominated_by"].iloc[3] == "a / B0"
    several = pd.concat([table.assign(term="accuracy"), table.assign(term="tie", estimate=0.9)])
    with pytest.raises(DesignError, match=r"several terms \(accuracy, tie\)"):
        pareto_front(several, cost="latency", by="task")
    pd.testing.assert_frame_equal(pareto_front(several, cost="latency", by="task", term="accuracy"), got)


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({"cost": -1.0}, {}, SchemaError, "cost is negative: -1"),
        ({}, {"cost": "costs"}, SchemaError, r"no column 'costs' for the cost.*Did you mean 'cost'.*prices="),
        ({}, {"label": ["model"]}, SchemaError, r"No column of label= \(model\)"),
        ({"term": "accuracy"}, {"term": "acuracy"}, DesignError, "Did you mean 'accuracy'"),
        ({}, {"prices": {"j00": (1, 1)}}, SchemaError, "'input_tokens' for the tokens"),
    ],
)
def test_what_the_frontier_refuses(change, options, error, message):
    with pytest.raises(error, match=message):
        pareto_front(points([(1, 0.5)]).assign(**change), **options)


CROSSED = (["correct", "correct", "wrong", "wrong"], ["correct", "wrong", "correct", "wrong"])


def crossed(strategy: str, n: list[float], **columns: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"judge": "g", "strategy": strategy, "baseline": CROSSED[0], "outcome": CROSSED[1], "n": n, **columns}
    )


# ---------------------------------------------------------------- advice


def two_topics() -> pd.DataFrame:
    parts = [
        crossed("S5", [200, 10, 90, 100], topic="law"),
        crossed("S8", [200, 40, 60, 100], topic="law"),
        crossed("S5", [200, 40, 40, 120], topic="trade"),
        crossed("S8", [200, 20, 80, 100], topic="trade"),
    ]
    return pd.concat(parts, ignore_index=True)


def test_advice_is_given_for_each_topic():
    compared = compare_strategies(two_topics(), by="topic")
    got = recommend(compared)
    assert list(got.columns[:3]) == ["topic", "judge", "term"]
    assert dict(zip(got["topic"], got["advice"], strict=True)) == {"law": "S5", "trade": "S8"}
    assert got["estimate"].tolist() == [pytest.approx(80 / 400), pytest.approx(60 / 400)]
    absent = recommend(compared, judge="nobody")
    assert absent["topic"].tolist() == ["law", "trade"]
    assert (absent["flag"] == "no data").all()


def test_a_budget_below_the_baseline_is_flagged():
    counts = crossed("S8", [200, 20, 80, 100])
    got = recommend(counts, budget=0.5).iloc[0]
    assert got["advice"] == "B0"
    assert OVER_BUDGET in got["flag"]
    assert OVER_BUDGET not in recommend(counts, budget=1).iloc[0]["flag"]
    cheap = recommend(counts, budget=0.5, cost={"B0": 2, "S8": 1}, cluster=False).iloc[0]
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
        recommend(crossed("S8", [200, 20, 80, 100]), **options)


# ---------------------------------------------------------------- strategies


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"conf_level": 95}, DesignError, "conf_level=95 must be between 0 and 1"),
        ({"n_tests": 20.5}, DesignError, r"n_tests=20\.5 is not a number of tests. Allowed: a whole number"),
        ({"n_tests": "20"}, DesignError, "n_tests='20' is not a number of tests"),
    ],
)
def test_options_of_a_comparison(options, error, message):
    with pytest.raises(error, match=message):
        compare_strategies(crossed("S8", [200, 20, 80, 100]), **options)


def discordant(n: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {"judge": "g", "strategy": "S8", "baseline": ["correct", "wrong"], "outcome": ["wrong", "correct"], "n": n}
    )


def test_text_in_the_column_of_pairs():
    with pytest.raises(SchemaError, match="pairs='all' contains text where a number of pairs belongs: 'many'"):
        compare_strategies(discordant([3, 9]).assign(all="many"), pairs="all")


@pytest.mark.parametrize("method", ["exact", "mid-p"])
def test_exact_tests_take_whole_counts_only(method):
    with pytest.raises(DesignError, match=rf"method='{method}' counts whole pairs, and there are 2\.5 and 8"):
        mcnemar_test(2.5, 8, method)
    with pytest.raises(SchemaError, match="'n' counts identical rows: it is not whole in 1 of 2 rows"):
        compare_strategies(discordant([2.5, 8]), method=method)
    assert mcnemar_test(2.5, 8, "asymptotic")[0] == pytest.approx(5.5**2 / 10.5)
    assert 0 < mcnemar_test(2.0, 8.0, method)[1] < 1


@pytest.mark.parametrize(("n", "end"), [([0, 3], "conf_high"), ([3, 0], "conf_low")])
def test_a_difference_does_not_leave_its_range(n, end):
    got = compare_strategies(discordant(n), pairs=3).iloc[0]
    assert got["method"] == "Agresti-Min, paired"
    assert abs(got[end]) == 1
    assert -1 <= got["conf_low"] < got["conf_high"] <= 1


# ---------------------------------------------------------------- frontier

POINTS = pd.DataFrame({"judge": ["a", None, "c"], "cost": [1.0, 2.0, 3.0], "estimate": [0.6, 0.9, 0.8]})


def test_a_configuration_without_a_name():
    got = pareto_front(POINTS).set_index("cost")
    assert got["on_front"].to_dict() == {1.0: True, 2.0: True, 3.0: False}
    assert got.loc[3.0, "dominated_by"] == NAMELESS


def test_one_label_is_one_name():
    pd.testing.assert_frame_equal(pareto_front(POINTS, label="judge"), pareto_front(POINTS, label=["judge"]))


@pytest.mark.parametrize("column", ["cost", "estimate"])
def test_text_and_infinity_on_the_frontier(column):
    with pytest.raises(SchemaError, match=f"{column!r} contains text where the (cost|value) belongs: 'much' in 1"):
        pareto_front(POINTS.assign(**{column: [1.0, 0.5, "much"]}))
    got = pareto_front(POINTS.assign(**{column: [1.0, 0.5, math.inf]})).set_index("judge").loc["c"]
    assert (got["on_front"], got["dominated_by"], got["flag"]) == (False, "", INFINITE)


@pytest.mark.parametrize("price", [None, 0.5, (1.0,), (1.0, None), (1.0, "2"), (1.0, -2.0), (1.0, math.nan)])
def test_a_price_is_two_numbers(price):
    table = POINTS.assign(input_tokens=1e6, output_tokens=1e6)
    with pytest.raises(DesignError, match="Allowed: two numbers from 0"):
        pareto_front(table, prices={"a": price})
    with pytest.raises(DesignError, match="is not a mapping"):
        pareto_front(table, prices=0.5)
    got = pareto_front(table, prices={"a": (1, np.float32(2))}).set_index("judge")
    assert got.loc["a", "cost"] == 3
    assert got.loc["c", "flag"] == NO_COST


def test_a_strategy_that_was_never_run_is_no_test():
    calls = pd.DataFrame(
        [
            {"judge": j, "strategy": s, "item": str(i), "first": "x", "second": "y", "gold": "x", "choice": c}
            for j, s, right in (("g", "B0", 20), ("g", "S1", 30), ("g", "S8", 25), ("h", "B0", 20), ("h", "S1", 28))
            for i in range(40)
            for c in ["first" if i < right else "second"]
        ]
    )
    table = js.compare_strategies(calls)
    made = table["p_value"].notna()
    assert made.sum() == 3
    assert set(table.loc[made, "adjustment"]) == {"holm, m = 3"}
    assert set(js.compare_strategies(calls, n_tests=20).loc[made, "adjustment"]) == {"holm, m = 20"}
    with pytest.raises(DesignError, match="n_tests=2 is less than the 3 tests made"):
        js.compare_strategies(calls, n_tests=2)


# ---------------------------------------------------------------- what an evaluation costs


def priced_calls(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"judge": "g", "item": np.repeat([f"i{k}" for k in range(n)], 2)})
    return table.assign(
        input_tokens=rng.integers(500, 3000, 2 * n), output_tokens=rng.integers(50, 400, 2 * n), strategy="S1"
    )


def test_an_evaluation_costs_all_its_calls():
    """Against scipy's t interval of the sums of items."""
    calls = priced_calls()
    row = evaluation_cost(calls, prices={"g": (3.0, 15.0)}, by="strategy").iloc[0]
    each = (calls["input_tokens"] * 3 + calls["output_tokens"] * 15).groupby(calls["item"]).sum() / 1e6
    low, high = student.interval(0.95, 39, each.mean(), sem(each))
    assert row["estimate"] == pytest.approx(each.mean())
    assert (row["conf_low"], row["conf_high"], row["n"]) == pytest.approx((low, high, 40))
    assert row["flag"] == ESTIMATED_COST
    billed = calls.assign(cost=(calls["input_tokens"] * 3 + calls["output_tokens"] * 15) / 1e6)
    again = evaluation_cost(billed).iloc[0]
    assert (again["estimate"], again["flag"]) == (pytest.approx(each.mean()), "")


def test_characters_are_a_quarter_of_a_token():
    calls = pd.DataFrame(
        {"judge": "g", "item": ["1", "2"], "prompt_text": ["x" * 400, "x" * 800], "reply": [40, 80], "judge_note": ""}
    )
    row = evaluation_cost(
        calls, prices={"g": (1e6, 1e6)}, characters={"input": ["prompt_text", "judge_note"], "output": "reply"}
    ).iloc[0]
    assert row["estimate"] == pytest.approx((110 + 220) / 2)
    assert "a token for 4 characters" in row["method"]


def test_costs_that_are_unknown_or_do_not_vary():
    calls = priced_calls(3).assign(cost=[0.1, 0.2, 0.1, np.nan, 0.2, 0.1])
    row = evaluation_cost(calls).iloc[0]
    assert (row["estimate"], row["n"]) == (pytest.approx(0.3), 2)
    assert "1 item without a cost excluded" in row["flag"]
    assert math.isnan(row["conf_low"])  # both cost the same
    assert NO_SPREAD in row["flag"]
    free = evaluation_cost(calls.drop(columns="cost"), prices={"g": (0, 0)}).iloc[0]
    assert (free["estimate"], free["n"]) == (0, 3)
    nothing = evaluation_cost(calls.assign(cost=np.nan)).iloc[0]
    assert math.isnan(nothing["estimate"])
    assert NO_DATA in nothing["flag"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, SchemaError, "no column 'cost'"),
        ({"prices": {"g": (1,)}}, DesignError, "two numbers"),
        ({"prices": {"g": (1, 1)}, "characters": {"input": "item"}}, DesignError, "must name the columns"),
        ({"prices": {"g": (1, 1)}, "characters": {"input": "text", "output": "item"}}, SchemaError, "no column 'text'"),
        ({"by": "cell"}, SchemaError, "'cell' is not a column"),
    ],
)
def test_bad_costs(options, error, message):
    with pytest.raises(error, match=message):
        evaluation_cost(priced_calls(), **options)
    with pytest.raises(SchemaError, match="negative"):
        evaluation_cost(priced_calls().assign(cost=-1.0))
