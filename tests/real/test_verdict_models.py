"""Bias models on public verdicts: the slots of MT-Bench, the strategies of LLMBar, judges of their own responses."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit, logsumexp

from judgestats.models.bias_models import position_bias_model, self_preference, strategy_effects

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def mt_bench(real_data):
    table = pd.read_csv(real_data / "position_bias_mtbench" / "verdicts.csv.gz")
    return pd.DataFrame(
        {
            "judge": table["judge"],
            "item": table["question_id"].astype(str),
            "task": table["task"],
            "first": table["model_first"],
            "second": table["model_second"],
            "choice": table["verdict_letter"].map({"A": "first", "B": "second", "C": "tie"}).fillna("invalid"),
            "replicate": table["repetition"],
            "length_first": table["chars_first"],
            "length_second": table["chars_second"],
        }
    )


@pytest.fixture(scope="module")
def llmbar(real_data):
    table = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz")
    table = table[table["winner"].notna() & ~table["strategy"].str.startswith("Rating")]
    return pd.DataFrame(
        {
            "judge": table["evaluator"],
            "strategy": table["strategy"],
            "subset": np.where(table["subset"].str.contains("Adversarial"), "adversarial", "other"),
            "item": table["subset"] + table["item"].astype(str),
            "first": np.where(table["swapped"] == 1, "2", "1"),
            "second": np.where(table["swapped"] == 1, "1", "2"),
            "choice": np.where((table["winner"] == 1) == (table["swapped"] == 0), "first", "second"),
            "correct": (table["winner"] == table["label"]).astype(int),
        }
    )


def pick(table, **keys):
    here = table[np.logical_and.reduce([table[k] == v for k, v in keys.items()])]
    assert len(here) == 1
    return here.iloc[0]


@pytest.mark.slow
def test_slots_of_mt_bench(mt_bench):
    position_bias_model(mt_bench[mt_bench["judge"].isin(["gpt-4-0613", "gemini-pro"])])  # compile
    start = time.process_time()
    model = position_bias_model(mt_bench, attribute="length", unsigned=True)
    assert time.process_time() - start < 20
    both = mt_bench[mt_bench["choice"] != "invalid"]
    lean = both.groupby("judge")["choice"].agg(lambda c: (c == "first").mean() - (c == "second").mean())
    for judge, value in lean.items():
        slot = pick(model.table, judge=judge, term="first slot", scale="log-odds")
        wrong = pick(model.table, judge=judge, term="first slot, (1|pair)")
        points = pick(model.table, judge=judge, term="first slot", scale="percentage points")
        assert points["estimate"] == pytest.approx(50 * value, abs=2.5)
        if abs(slot["estimate"]) > slot["std_error"] * 2:
            assert abs(wrong["estimate"]) < 0.65 * abs(slot["estimate"])  # contents of sd 2.6 to 6.6
        assert pick(model.table, judge=judge, term="sd(content)")["estimate"] > 2
    # all three Claude judges and Gemini lean to the second slot, GPT-4 to none
    tests = model.tests[model.tests["question"] == "there is a slot bias"].set_index("judge")["p_value"]
    for judge in ("claude-3-opus-20240229", "claude-3-sonnet-20240229", "claude-3-haiku-20240307", "gemini-pro"):
        assert pick(model.table, judge=judge, term="first slot", scale="log-odds")["conf_high"] < 0
        assert tests[judge] < 1e-6
    assert tests["gpt-4-0613"] > 0.05
    pooled = model.tests[model.tests["judge"] == "all judges"].set_index("question")["p_value"]
    assert pooled["judges differ"] < 1e-10
    assert "22 invalid calls" in pick(model.table, judge="gpt-3.5-turbo-0125", term="sd(content)")["flag"]


def test_ties_modelled_or_halved_say_the_same_of_the_direction(mt_bench):
    half, model = (position_bias_model(mt_bench, ties=t, pooled=False).table for t in ("half", "model"))
    one, two = (
        t[(t["term"] == "first slot") & (t["scale"] == "log-odds")].set_index("judge")["estimate"]
        for t in (half, model)
    )
    assert np.corrcoef(one, two)[0, 1] > 0.95
    criterion = model[model["term"] == "tie criterion"].set_index("judge")["estimate"]
    assert criterion["gpt-4-0125-preview"] > 10 * criterion["gpt-3.5-turbo-1106"]  # who says tie often, and who hardly


@pytest.mark.slow
def test_strategies_of_llmbar(llmbar):
    some = llmbar[llmbar["strategy"].isin(["Vanilla", "CoT", "Metrics", "Swap", "Reference"])]
    start = time.process_time()
    model = strategy_effects(some, baseline="Vanilla", benchmark="subset")
    assert time.process_time() - start < 40
    share = some.groupby(["judge", "subset", "strategy"])["correct"].mean().unstack()
    for (judge, subset), row in share.iterrows():
        for strategy in ("CoT", "Metrics", "Swap", "Reference"):
            points = pick(model.table, judge=judge, subset=subset, term=strategy, scale="percentage points")
            assert points["estimate"] == pytest.approx(100 * (row[strategy] - row["Vanilla"]), abs=2.5)
    pooled = pick(model.table, judge="all judges", subset="adversarial", term="Metrics", scale="log-odds")
    assert pooled["conf_low"] < pooled["estimate"] < pooled["conf_high"]
    questions = model.tests[model.tests["judge"] == "all judges"].set_index(["question", "test"])["p_value"]
    assert 0 < questions["effects differ between benchmarks", "F"] < 1
    assert questions["effects differ between judges", "LR"] < 1e-3


def test_slots_of_llmbar_by_strategy(llmbar):
    some = llmbar[llmbar["strategy"].isin(["Vanilla", "CoT"]) & llmbar["judge"].isin(["GPT-4", "Falcon", "LLaMA2"])]
    model = position_bias_model(some, by="strategy", pooled=False)
    share = some.groupby(["judge", "strategy"])["choice"].agg(lambda c: 100 * ((c == "first").mean() - 0.5))
    for (judge, strategy), value in share.items():
        points = pick(model.table, judge=judge, strategy=strategy, term="first slot", scale="percentage points")
        assert points["estimate"] == pytest.approx(value, abs=1.5)
    differs = model.tests[model.tests["question"] == "slot bias differs by strategy"]
    assert set(differs["judge"]) == {"GPT-4", "Falcon", "LLaMA2"}


def test_position_bias_of_swapped_pairs_is_that_of_the_integral(llmbar):
    """GPT-4 with one example follows the content nearly always: 15 nodes find -0.86 (sd 9.6) for -1.02 (12.5)."""
    calls = llmbar[(llmbar["judge"] == "GPT-4") & (llmbar["strategy"] == "Vanilla_1shot")]
    model = position_bias_model(calls)
    (fit,) = model.fits.values()
    answers = calls.groupby("item")["choice"].agg(tuple)
    whole = answers[answers.str.len() == 2]
    assert len(whole) == len(answers)
    first = whole.map(lambda pair: sum(c == "first" for c in pair))  # in none, one or both orders
    often = first.value_counts().reindex([0, 1, 2]).to_numpy()
    u = np.linspace(-12, 12, 40_001)

    def minus(p):
        ahead, behind = p[0] + p[1] * u, p[0] - p[1] * u
        logs = [
            log_expit(-ahead) + log_expit(-behind), log_expit(ahead) + log_expit(-behind),
            log_expit(ahead) + log_expit(behind),
        ]  # fmt: skip
        weight = -0.5 * u**2 - 0.5 * np.log(2 * np.pi) + np.log(u[1] - u[0])
        return -sum(n * logsumexp(weight + own) for n, own in zip(often, logs, strict=True))

    exact = minimize(minus, [-1.0, 8.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10})
    assert exact.x == pytest.approx([-1.0238, 12.503], abs=2e-3)
    assert pick(model.table, term="first slot", scale="log-odds")["estimate"] == pytest.approx(exact.x[0], rel=1e-4)
    assert pick(model.table, term="sd(content)")["estimate"] == pytest.approx(abs(exact.x[1]), rel=1e-4)
    assert fit.loglik == pytest.approx(-exact.fun, abs=1e-6)
    assert fit.check().query("level == 'fault'").empty
    coarse = fit.update(n_quadrature=15)
    assert coarse.params == pytest.approx([-0.862, 9.616], abs=2e-3)
    assert coarse.check().query("level == 'fault'")["what"].str.startswith("AGQ 15: too few nodes").all()
    assert len(coarse.check().query("level == 'fault'")) == 1


def test_judges_of_their_own_responses(real_data):
    table = pd.read_csv(real_data / "self_bias_frontier" / "pairwise.csv.gz")
    table = table[(table["chars_first"] > 0) & (table["chars_second"] > 0)]
    calls = pd.DataFrame(
        {
            "judge": table["judge"],
            "item": table["task_id"] + "/" + table["length_bin"].astype(str),
            "first": table["model_first"],
            "second": table["model_second"],
            "choice": table["verdict"].map({1: "first", 0: "tie", -1: "second"}),
        }
    )
    model = self_preference(calls, without_worth=True)
    own = model.table[(model.table["term"] == "own") & (model.table["scale"] == "log-odds")]
    with_, without = (own[own["model"] == m].set_index("judge") for m in ("with system:item", "without system:item"))
    assert set(with_.index) == {"all judges", *calls["judge"].unique()}
    assert abs(with_.loc["all judges", "estimate"]) > abs(without.loc["all judges", "estimate"])
    assert with_.loc["claude-haiku-4-5", "estimate"] > 1 > with_.loc["gpt-5.6-luna", "estimate"]
    assert with_.loc["claude-haiku-4-5", "conf_low"] < 0 < with_.loc["all judges", "conf_low"]  # 1 and 3 df
    worth = model.tests[model.tests["question"] == "responses differ in worth"]
    assert (worth["p_value"] < 1e-6).all()
