"""Published figures of real judges: position-bias logs of MT-Bench, JudgeBench, LLMBar."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from judgestats.metrics.bias import consistency, position_bias
from judgestats.metrics.correctness import gold_agreement
from judgestats.metrics.multiverse import specifications
from judgestats.schema import preferences
from judgestats.verdicts import aggregate

pytestmark = pytest.mark.real

#: Consistent pairs and pairs with two valid answers, counted from verdicts.csv.gz a pair at a time (brute force).
TWO_VALID = {
    ("claude-3-haiku-20240307", 1): (64, 96),
    ("claude-3-haiku-20240307", 2): (64, 95),
    ("claude-3-haiku-20240307", 3): (58, 96),
    ("claude-3-opus-20240229", 1): (74, 96),
    ("claude-3-opus-20240229", 2): (73, 96),
    ("claude-3-opus-20240229", 3): (77, 96),
    ("claude-3-sonnet-20240229", 1): (69, 96),
    ("claude-3-sonnet-20240229", 2): (68, 95),
    ("claude-3-sonnet-20240229", 3): (71, 96),
    ("gemini-pro", 1): (57, 94),
    ("gemini-pro", 2): (63, 96),
    ("gemini-pro", 3): (68, 96),
    ("gpt-3.5-turbo-0125", 1): (78, 91),
    ("gpt-3.5-turbo-0125", 2): (68, 86),
    ("gpt-3.5-turbo-0125", 3): (74, 89),
    ("gpt-3.5-turbo-1106", 1): (76, 95),
    ("gpt-3.5-turbo-1106", 2): (78, 96),
    ("gpt-3.5-turbo-1106", 3): (82, 95),
    ("gpt-4-0125-preview", 1): (84, 96),
    ("gpt-4-0125-preview", 2): (84, 96),
    ("gpt-4-0125-preview", 3): (82, 96),
    ("gpt-4-0613", 1): (85, 96),
    ("gpt-4-0613", 2): (83, 96),
    ("gpt-4-0613", 3): (83, 96),
    ("gpt-4-1106-preview", 1): (78, 96),
    ("gpt-4-1106-preview", 2): (78, 96),
    ("gpt-4-1106-preview", 3): (77, 96),
}
JUDGEBENCH_NET = {
    "o1-mini-2024-09-12": 65.71,
    "Skywork_Skywork-Reward-Gemma-2-27B": 64.29,
    "internlm_internlm2-20b-reward": 63.43,
    "Skywork_Skywork-Reward-Llama-3.1-8B": 62.29,
    "Ray2333_GRM-Gemma-2B-rewardmodel-ft": 59.43,
    "internlm_internlm2-7b-reward": 59.43,
    "claude-3-haiku-20240307": 32.22,
}


def counts(result: pd.DataFrame, term: str, keys: list[str]) -> dict[object, tuple[int, int]]:
    """Hits and trials of a term; each product is a whole number to rounding."""
    rows = result[result["term"] == term]
    hits = rows["estimate"] * rows["n"]
    assert (hits - hits.round()).abs().max() < 1e-8
    values = zip(hits.round().astype(int), rows["n"].astype(int), strict=True)
    return dict(zip(rows[keys].itertuples(index=False, name=None), values, strict=True))


@pytest.fixture(scope="module")
def mtbench(real_data: Path) -> pd.DataFrame:
    table = pd.read_csv(real_data / "position_bias_mtbench" / "verdicts.csv.gz")
    table = table[["judge", "repetition", "question_id", "task", "model_first", "model_second", "winner"]]
    return preferences(
        table, replicate="repetition", item="question_id", first="model_first", second="model_second", winner="winner"
    )


def test_the_27_published_consistency_figures(mtbench: pd.DataFrame, real_data: Path):
    published = pd.read_csv(real_data / "position_bias_mtbench" / "published_consistency.csv")
    assert len(published) == 27
    # the authors count calls, and a verdict whose partner is missing as consistent
    result = consistency(mtbench, missing="agrees", unit="call", by="replicate")
    logs = zip(published["log_consistent"], published["log_denominator"], strict=True)
    expected = dict(zip(published[["judge", "repetition"]].itertuples(index=False, name=None), logs, strict=True))
    assert counts(result, "consistency", ["judge", "replicate"]) == expected
    rates = result[result["term"] == "consistency"].set_index(["judge", "replicate"])["estimate"] * 100
    printed = published.set_index(["judge", "repetition"])["log_consistent_rate_pct"]
    pd.testing.assert_series_equal(rates.round(2), printed, check_names=False)


def test_the_default_drops_pairs_with_one_answer(mtbench: pd.DataFrame):
    result = consistency(mtbench, by="replicate")
    assert counts(result, "consistency", ["judge", "replicate"]) == TWO_VALID
    pooled = counts(consistency(mtbench), "consistency", ["judge"])
    assert sum(n for _, n in pooled.values()) == sum(n for _, n in TWO_VALID.values()) == 2564


@pytest.mark.slow
def test_repeats_of_three_runs(mtbench: pd.DataFrame):
    result = consistency(mtbench, over="replicate").set_index("judge")
    table = mtbench[mtbench["choice"] != "invalid"]
    units = table.groupby(["judge", "item", "first", "second"])["choice"]
    for judge in result.index:
        hits = trials = 0
        for key, choices in units:
            if key[0] == judge:
                seen = choices.astype(str).value_counts()
                hits += int((seen * (seen - 1)).sum() / 2)
                trials += len(choices) * (len(choices) - 1) // 2
        assert (result.loc[judge, "n"], round(result.loc[judge, "estimate"] * trials)) == (trials, hits)
    assert result["method"].str.startswith("Wilson, clustered by item (G = 24); holds for ").all()


def test_position_bias_of_the_same_judges(mtbench: pd.DataFrame):
    lean = position_bias(mtbench, cluster="item").query("term == 'position_bias'").set_index("judge")
    valid = mtbench[mtbench["choice"] != "invalid"]
    shares = pd.crosstab(valid["judge"], valid["choice"].astype(str), normalize="index")
    pd.testing.assert_series_equal(lean["estimate"], shares["first"] - shares["second"], check_names=False)
    assert ((lean["conf_low"] < lean["estimate"]) & (lean["estimate"] < lean["conf_high"])).all()


@pytest.fixture(scope="module")
def judgebench(real_data: Path) -> pd.DataFrame:
    """All seven files; the second judgment shows B first, and its decision is in position frame."""
    slots = {"A>B": "first", "B>A": "second", "A=B": "tie", None: None}
    rows = []
    for path in sorted((real_data / "judgebench").glob("dataset=*.jsonl.gz")):
        judge = path.name.removesuffix(".jsonl.gz").rpartition("judge_model=")[2]
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                for (first, second), judgment in zip(("AB", "BA"), record["judgments"], strict=True):
                    choice = slots[judgment["decision"] if judgment else None]
                    rows.append((judge, record["pair_id"], first, second, choice, record["label"][0]))
    return preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"]))


def accuracies(verdicts: pd.DataFrame, **options: str) -> pd.Series:
    result = gold_agreement(verdicts, **options)
    return (result[result["term"] == "accuracy"].set_index("judge")["estimate"] * 100).round(2)


def test_judgebench_by_its_own_rule(judgebench: pd.DataFrame, real_data: Path):
    """A null judgment counts 0 and every pair is in the denominator: missing='ignore', invalid='wrong'."""
    verdicts = aggregate(judgebench, "net", missing="ignore")
    assert accuracies(verdicts, invalid="wrong").to_dict() == JUDGEBENCH_NET
    result = gold_agreement(verdicts, invalid="wrong")
    recomputed = pd.read_csv(real_data / "judgebench" / "recomputed_metrics.csv").set_index("judge_model")
    for term, column in (("accuracy", "n_correct"), ("wrong", "n_incorrect")):
        found = counts(result, term, ["judge"])
        assert found == {(j,): (row[column], row["n"]) for j, row in recomputed.iterrows()}


def test_judgebench_by_other_rules(judgebench: pd.DataFrame):
    swap = accuracies(aggregate(judgebench), invalid="wrong")
    assert swap["o1-mini-2024-09-12"] == 58.00
    assert swap["claude-3-haiku-20240307"] == 14.07
    # the defaults: a pair with a null judgment is invalid, and excluded
    assert accuracies(aggregate(judgebench, "net"))["claude-3-haiku-20240307"] == 32.30
    assert accuracies(aggregate(judgebench, "net"), invalid="wrong")["claude-3-haiku-20240307"] == 30.74


@pytest.fixture(scope="module")
def llmbar(real_data: Path) -> pd.DataFrame:
    """Winner and label name the output in item frame, whatever the order."""
    columns = ["subset", "item", "evaluator", "strategy", "swapped", "winner", "label"]
    table = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype="str", usecols=columns)
    swapped = table["swapped"] == "1"
    table = table.assign(first=swapped.map({False: "1", True: "2"}), second=swapped.map({False: "2", True: "1"}))
    return preferences(table, judge="evaluator", winner="winner", gold="label")


@pytest.fixture(scope="module")
def llmbar_published(real_data: Path) -> dict[str, dict[str, str]]:
    with gzip.open(real_data / "llmbar" / "published_statistics.json.gz", "rt", encoding="utf-8") as file:
        published: dict[str, dict[str, str]] = json.load(file)
    assert len(published) == 349
    return published


def cells(published: dict[str, dict[str, str]], figure: str) -> dict[object, tuple[int, int]]:
    """'k / n = pct%' under 'subset|evaluator|strategy', all cells."""
    result = {}
    for cell, figures in published.items():
        k, n = figures[figure].split("=")[0].split("/")
        result[tuple(cell.split("|"))] = (int(k), int(n))
    return result


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "swapped"), [("correct_False", "0"), ("correct_True", "1")])
def test_llmbar_accuracy_in_all_349_cells(llmbar: pd.DataFrame, llmbar_published, figure: str, swapped: str):
    one_order = llmbar[llmbar["swapped"] == swapped]
    result = gold_agreement(one_order, invalid="wrong", by=["subset", "strategy"])  # an absent winner is wrong
    assert counts(result, "accuracy", ["subset", "judge", "strategy"]) == cells(llmbar_published, figure)


@pytest.mark.slow
def test_llmbar_accuracy_by_default_sets_absent_winners_aside(llmbar: pd.DataFrame):
    result = gold_agreement(llmbar, by=["subset", "strategy"])
    scored, everything = (result.loc[result["term"] == t, "n"].sum() for t in ("accuracy", "invalid"))
    assert (everything, everything - scored) == (61_926, 273)


def test_llmbar_equal_in_all_349_cells(llmbar: pd.DataFrame, llmbar_published):
    result = consistency(llmbar, missing="same", by=["subset", "strategy"])  # two absent winners are equal
    assert counts(result, "consistency", ["subset", "judge", "strategy"]) == cells(llmbar_published, "equal")
    default = consistency(llmbar, by=["subset", "strategy"])
    dropped = 61_926 // 2 - default.loc[default["term"] == "consistency", "n"].sum()
    assert dropped == 173


def test_readings_of_judgebench_trade_off(judgebench: pd.DataFrame):
    """The first by call is another than the first in both orders, on the pairs that six judges share."""
    shared = judgebench.groupby("item")["judge"].transform("nunique") >= 6
    judges = judgebench[shared].groupby("judge")["item"].nunique()
    of_six = judgebench[shared & judgebench["judge"].isin(judges.index[judges == 350])]
    found = specifications(of_six)
    first = found[found["rank"] == 1].groupby("reading")["judge"].first()
    assert first["headline"] == "o1-mini-2024-09-12"
    assert first["right in both orders"] == "Skywork_Skywork-Reward-Gemma-2-27B"
    twice = found[found["reading"] == "right in both orders"].set_index("judge")["estimate"].round(3)
    assert (twice["o1-mini-2024-09-12"], twice.max()) == (0.58, 0.643)
