"""Stated confidences and token probabilities of real judges, beside answers that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression

import judgestats as js

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def against_nothing(real_data):
    """Pairs of a text and an empty one: the text is right. Each judge saw both orders, and said how sure it was."""
    table = pd.read_csv(real_data / "self_bias_frontier" / "pairwise.csv.gz")
    table = table[(table["chars_first"] == 0) ^ (table["chars_second"] == 0)]
    pair = np.sort(table[["gen_first", "gen_second"]].astype(str), axis=1)
    names = {"gen_first": "first", "gen_second": "second"}
    table = table.rename(columns=names).assign(item=[f"{a}|{b}" for a, b in pair])
    table["choice"] = table["verdict"].map({1: "first", 0: "tie", -1: "second"})
    table["gold"] = table["first"].where(table["chars_second"] == 0, table["second"])
    return table[["judge", "item", "first", "second", "choice", "gold", "confidence", "position_index"]]


@pytest.fixture(scope="module")
def rubric(real_data):
    """GPT-3.5's most probable answer to each question on 223 dialogues, its probability, and a person's answer."""
    folder = real_data / "llm_rubric"
    told = pd.read_csv(folder / "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv.gz", sep="\t")
    people = pd.read_csv(folder / "human_judges_real_convs_FIXED_ANON.tsv", sep="\t")
    long = people.melt("text_id", [f"Q{i}" for i in range(9)], "criterion", "gold")
    table = told.merge(long, on=["text_id", "criterion"])
    columns = [f"answer{i}_prob" for i in range(1, 5)]
    probability = table[columns].to_numpy()
    table = table.assign(judge="gpt-3.5", system="s", item=table["text_id"], score=probability.argmax(axis=1) + 1.0)
    table["confidence"] = probability.max(axis=1) / probability.sum(axis=1)
    table = table[table["gold"] > 0]  # 0 is not applicable
    return table[["judge", "system", "item", "criterion", "score", "gold", "confidence"]]


def test_confidences_against_an_empty_text(against_nothing):
    result = js.confidence_calibration(against_nothing, n_resamples=200)
    wide = result[result["term"] != "reliability"].pivot(index="judge", columns="term", values="estimate")
    right = against_nothing["choice"].eq("first") == against_nothing["first"].eq(against_nothing["gold"])
    rate = right.groupby(against_nothing["judge"]).mean()
    np.testing.assert_allclose(rate.loc[wide.index], [61 / 102, 99 / 102, 82 / 102])
    mean = against_nothing.groupby("judge")["confidence"].mean()
    np.testing.assert_allclose(wide["overconfidence"], mean - rate, atol=1e-12)
    sums = wide["miscalibration"] - wide["discrimination"] + wide["uncertainty"]
    np.testing.assert_allclose(wide["brier"], sums, atol=1e-15)
    assert result["method"].str.contains("bootstrap of item|clustered by item|Wilson").all()
    ends = result[result["term"] == "overconfidence"].set_index("judge")
    assert ends.loc["claude-haiku-4-5", "conf_low"] > 0.2  # sure by .93, right by .60
    assert ends.loc["gpt-5-mini", "conf_low"] < 0 < ends.loc["gpt-5-mini", "conf_high"] < 0.13  # wrong in 3 of 102


def test_abstention_against_an_empty_text(against_nothing):
    once = against_nothing[against_nothing["position_index"] == 0]
    result = js.abstention_threshold(once, 0.1).set_index(["judge", "term"])
    for judge in ("claude-haiku-4-5", "gpt-5.6-luna"):  # surest where it is wrong, too
        assert np.isnan(result.loc[(judge, "threshold"), "estimate"]).all()
    assert result.loc[("gpt-5-mini", "threshold"), "estimate"].item() == 0.91
    assert result.loc[("gpt-5-mini", "threshold"), "bound"].item() < 0.1
    with pytest.raises(js.errors.DesignError, match="153 items have several"):
        js.abstention_threshold(against_nothing, 0.1)


def test_a_panel_against_an_empty_text(against_nothing):
    result = js.effective_judges(against_nothing)
    assert result["judges"].tolist() == [3, 3]
    assert result["n"].tolist() == [51, 51]
    verdicts = js.aggregate(against_nothing, "dawid_skene", over=["judge", "order"])
    assert js.gold_agreement(verdicts)["estimate"].iloc[0] == 1
    found = js.dawid_skene(against_nothing, over=["judge", "order"]).tidy()
    best = found[(found["true"] == "candidate") & (found["answer"] == "candidate")].set_index("judge")["estimate"]
    np.testing.assert_allclose(
        best.loc[["claude-haiku-4-5", "gpt-5-mini", "gpt-5.6-luna"]], [0.6, 0.97, 0.8], atol=0.02
    )


def test_token_probabilities(rubric):
    result = js.confidence_calibration(rubric, by="criterion", n_resamples=100)
    for criterion, part in rubric.groupby("criterion"):
        right = (part["score"] == part["gold"]).to_numpy(float)
        p = part["confidence"].to_numpy()
        fitted = IsotonicRegression().fit(p, right).predict(p)
        got = result[result["criterion"] == criterion].set_index("term")["estimate"]
        assert got["brier"] == pytest.approx(((p - right) ** 2).mean())
        assert got["miscalibration"] == pytest.approx(((p - right) ** 2).mean() - ((fitted - right) ** 2).mean())
    overall = js.confidence_calibration(rubric, n_resamples=200)
    row = overall[overall["term"] == "overconfidence"].iloc[0]
    assert row["conf_low"] > 0.1  # token probabilities say .6, people agree in .4
    assert "clustered by item" in row["method"]
    picked = js.abstention_threshold(rubric, 0.3, by="criterion")
    assert picked[picked["term"] == "threshold"]["estimate"].isna().mean() > 0.5


@pytest.mark.slow
def test_runs_that_err_together(real_data):
    """33 runs on the relevance of passages are worth 1.5; the classes of their answers are not the grades."""
    wide = pd.read_csv(real_data / "llmjudge_trec_dl23" / "labels_wide.csv.gz")
    runs = [c for c in wide if c not in ("qid", "docid", "gold")]
    table = wide.melt(["qid", "docid", "gold"], runs, "judge", "score")
    table = table[table["score"].between(0, 3)].rename(columns={"docid": "system"})
    table = table.assign(item=table["qid"].astype(str)).drop(columns="qid")
    found = js.effective_judges(table).set_index("term")
    assert found.loc["effective_judges", "estimate"] == pytest.approx(1.495, abs=0.001)
    assert found.loc["effective_judges", "conf_high"] < 1.7
    with pytest.raises(js.errors.DesignError, match=r"found no class for the answer 3\.0"):
        js.aggregate(table, "dawid_skene", over="judge", missing="ignore", n_starts=0)
