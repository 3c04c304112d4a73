"""Gold labels in public verdicts: published rates, intervals, errors and costs."""

from __future__ import annotations

import gzip
import json
import math
import re

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.metrics.bias import compare_strategies, pareto_front
from judgestats.metrics.correctness import best_of_accuracy, gold_agreement, score_error
from measured.debiasing_tables import kappa_from_margins

pytestmark = pytest.mark.real

MODELS = {
    "gemini-2.5-pro": "Gemini 2.5 Pro",
    "claude-sonnet-4": "Claude Sonnet 4",
    "gpt-4o": "GPT-4o",
    "llama-3.3-70b": "Llama 3.3-70B",
    "gemini-2.5-flash": "Gemini 2.5 Flash",
}
STRATEGIES = {"B0": "Baseline", "S1": "Pos. Swap", "S4": "Rubric", "S5": "CoT", "S8": "Combined Budget"}


@pytest.fixture(scope="module")
def soumik(real_data):
    path = real_data / "judging_the_judges_soumik" / "aggregated_metrics.json"
    table = pd.DataFrame(json.loads(path.read_text()))
    table["judge"] = table["model"].map(lambda m: next((v for k, v in MODELS.items() if m.startswith(k)), None))
    table["code"] = table["strategy"].str.partition("_")[0]
    return table[table["judge"].notna()].drop(columns="strategy").rename(columns={"code": "strategy"})


def of_paper(table: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    least = 300 if benchmark == "mt_bench" else 199
    here = table["benchmark"].eq(benchmark) & table["strategy"].isin(list(STRATEGIES)) & (table["n_instances"] >= least)
    return table[here]


# ---------------------------------------------------------------- the debiasing paper's own files


def test_the_sample_of_400_gives_the_gold_of_table_3(real_data):
    winner = pd.read_csv(real_data / "mt_bench" / "human_judgments.csv.gz")["winner"].to_numpy()
    assert winner.size == 3355
    drawn = np.random.default_rng(42).choice(3355, 400, replace=False)
    assert pd.Series(winner[drawn]).value_counts().to_dict() == {"model_a": 158, "model_b": 145, "tie": 97}


def test_a_plan_draws_the_sample_of_the_paper(real_data):
    votes = pd.read_csv(real_data / "mt_bench" / "human_judgments.csv.gz")
    pairs = votes.assign(
        item=[f"vote {i}" for i in range(3355)], gold=votes["winner"].replace({"model_a": "a", "model_b": "b"})
    )
    pairs = pairs[["item", "gold"]].assign(first="a", second="b", task_text="t", first_text="one", second_text="two")
    part = js.design.build(pairs, judges="m", orders="as given").sample(400, seed=np.random.default_rng(42))
    assert part.calls["gold"].value_counts().to_dict() == {"a": 158, "b": 145, "tie": 97}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "file"),
    [("mt_bench", "published_table1_main_results.csv"), ("llmbar", "published_table_llmbar_with_ci.csv")],
)
def test_every_interval_of_the_aggregates(soumik, real_data, task, file):
    """The closed form of the percentile bootstrap; 2000 resamples move an end by a step or two of 1/n."""
    printed = pd.read_csv(real_data / "judging_the_judges_soumik" / file).set_index("Model")
    cells = of_paper(soumik, task)
    assert len(cells) == 25
    distance = []
    for r in cells.itertuples():
        k = round(r.agreement_rate * r.n_instances)
        tally = pd.DataFrame({"judge": r.judge, "outcome": ["correct", "wrong"], "n": [k, r.n_instances - k]})
        row = gold_agreement(tally, interval="percentile").iloc[0]
        rate, low, high = map(float, re.findall(r"\d\.\d+", printed.loc[r.judge, STRATEGIES[r.strategy]]))
        assert abs(row["estimate"] - rate) <= 0.0005 + 1e-9, (r.judge, r.strategy)
        distance += [(row["conf_low"] - low) * r.n_instances, (row["conf_high"] - high) * r.n_instances]
    assert np.abs(distance).max() < 2.3
    assert abs(np.mean(distance)) < 0.4


def test_every_kappa_of_the_aggregates(soumik, real_data):
    printed = pd.read_csv(real_data / "judging_the_judges_soumik" / "published_table1_kappa.csv").set_index("Model")
    done = 0
    for r in of_paper(soumik, "mt_bench").itertuples():
        if r.n_instances == 400:
            margin = [r.verdict_distribution[c] for c in ("A", "B", "tie")]
            kappa = float(kappa_from_margins(r.agreement_rate, margin, [158, 145, 97]))
            assert f"{kappa:.3f}" == f"{printed.loc[r.judge, STRATEGIES[r.strategy]]:.3f}"
            done += 1
    assert done == 23


def test_frontiers_of_the_aggregates(soumik):
    """Money, seconds and tokens: three costs, each front checked pair by pair."""
    cells = of_paper(soumik, "mt_bench").assign(
        input_tokens=lambda t: t["total_input_tokens"], output_tokens=lambda t: t["total_output_tokens"]
    )
    prices = dict.fromkeys(MODELS.values(), (1.0, 4.0)) | {"Llama 3.3-70B": (0.0, 0.0)}
    for options in ({"cost": "total_cost_usd"}, {"cost": "avg_latency_ms"}, {"prices": prices}):
        got = pareto_front(cells, value="agreement_rate", **options)
        assert len(got) == 25
        points = list(zip(got["cost"], got["value"], strict=True))
        front = [not any(c <= x and v >= y and (c, v) != (x, y) for c, v in points) for x, y in points]
        assert list(got["on_front"]) == front
        assert set(got.loc[got["value"] == got["value"].max(), "judge"]) == {"Gemini 2.5 Flash"}
    free = got[got["cost"] == 0]
    assert set(free["judge"]) == {"Llama 3.3-70B"}
    assert got["flag"].eq("estimated cost").all()


# ---------------------------------------------------------------- LLMBar: the strategies of another paper


def test_strategies_of_llmbar_against_mcnemar_by_hand(real_data):
    table = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype=str)
    table = table[(table["swapped"] == "0") & table["evaluator"].isin(["GPT-4", "ChatGPT"])]
    table = table[table["strategy"].isin(["Vanilla", "CoT", "Metrics_Reference"])].reset_index(drop=True)
    calls = pd.DataFrame(
        {
            "judge": table["evaluator"],
            "item": table["subset"] + "/" + table["item"],
            "first": "1",
            "second": "2",
            "gold": table["label"],
            "strategy": table["strategy"],
            "choice": table["winner"].map({"1": "first", "2": "second"}).fillna("invalid"),
        }
    )
    got = compare_strategies(calls, baseline="Vanilla", method="exact").set_index(["judge", "strategy"])
    right = (table["winner"] == table["label"]).where(table["winner"].notna())
    wide = right.groupby([calls["judge"], calls["item"], calls["strategy"]]).first().unstack()
    for (judge, strategy), row in got.iterrows():
        both = wide.loc[judge][["Vanilla", strategy]].dropna().astype(bool)
        assert row["n"] == len(both)
        assert row["baseline_only"] == (both["Vanilla"] & ~both[strategy]).sum()
        assert row["strategy_only"] == (~both["Vanilla"] & both[strategy]).sum()
        assert row["estimate"] == pytest.approx(both[strategy].mean() - both["Vanilla"].mean())
    assert len(got) == 4


# ---------------------------------------------------------------- scores


def composo(real_data, file: str, which: str) -> pd.DataFrame:
    rows = []
    with gzip.open(real_data / "composo_rewardbench2" / f"{file}.jsonl.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            rows += [
                (which, f"{record['subset']}/{record['id']}", record["subset"], f"response {i}", run, score)
                for i, scores in enumerate(record[f"{which}_scores"])
                for run, score in enumerate(scores)
            ]
    table = pd.DataFrame(rows, columns=["judge", "item", "topic", "system", "replicate", "score"])
    return table.astype({"score": float})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "which", "runs", "percent", "n"),
    [
        ("base_both_k8", "full", 1, 71.7, 1729),
        ("base_both_k8", "full", None, 81.5, 1730),
        ("base_both_k8", "mini", None, 79.2, None),
        ("criteria_both_k8", "full", 1, 74.7, None),
        ("criteria_both_k8", "full", None, 83.6, None),
        ("base_claude_both_k8", "full", 1, 72.3, None),
        ("base_claude_both_k8", "full", None, 82.7, None),
    ],
)
def test_best_of_four_responses(real_data, file, which, runs, percent, n):
    row = best_of_accuracy(composo(real_data, file, which), right="response 0", runs=runs).iloc[0]
    assert round(100 * row["estimate"], 1) == percent
    assert n is None or row["n"] == n


def test_llm_rubric(real_data):
    """Expected score of the model against the one person of each dialogue, overall satisfaction."""
    folder = real_data / "llm_rubric"
    model = pd.read_csv(folder / "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv.gz", sep="\t")
    model = model[model["criterion"] == "Q0"]
    chances = model[[f"answer{i}_prob" for i in range(1, 5)]].to_numpy()
    ratings = pd.DataFrame({"judge": "gpt", "system": "dialogue", "item": model["text_id"]}).assign(
        score=chances @ np.arange(1, 5)
    )
    people = pd.read_csv(folder / "human_judges_real_convs_FIXED_ANON.tsv", sep="\t")
    gold = people[["text_id", "Q0"]].rename(columns={"text_id": "item", "Q0": "score"})
    got = score_error(ratings, gold).set_index("term")
    assert (got["n"] == 223).all()
    assert round(got.loc["rmse", "estimate"], 6) == 0.918676
    assert round(got.loc["pearson", "estimate"], 6) == 0.177301
    for term in ("rmse", "mae", "bias", "pearson"):
        row = got.loc[term]
        assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert got.loc["rmse", "std_error"] == pytest.approx(0.045, abs=0.02)
    assert math.isclose(got.loc["bias", "estimate"], ratings["score"].mean() - gold["score"].mean(), rel_tol=1e-9)


def test_the_cost_of_an_evaluation_is_the_printed_one(soumik):
    """Appendix H prints about $0.015, $0.001 and 0; the authors' bills of 400 items are those tokens at list prices."""
    cells = of_paper(soumik, "mt_bench").query("strategy == 'S8'").set_index("judge")
    prices = {"Claude Sonnet 4": (3.0, 15.0), "GPT-4o": (2.5, 10.0), "Llama 3.3-70B": (0.0, 0.0)}
    for judge in prices:
        cell = cells.loc[judge]
        n = int(cell["n_instances"])
        calls = pd.DataFrame({"judge": judge, "item": [f"i{k}" for k in range(n)]})
        calls = calls.assign(input_tokens=cell["total_input_tokens"] / n, output_tokens=cell["total_output_tokens"] / n)
        row = js.evaluation_cost(calls, prices=prices).iloc[0]
        assert row["estimate"] * n == pytest.approx(cell["total_cost_usd"], rel=1e-6)
    assert f"{cells.loc['Claude Sonnet 4', 'total_cost_usd'] / 400:.3f}" == "0.013"  # printed as about 0.015
