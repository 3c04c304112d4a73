"""Judges and people on public verdicts: may a judge replace a person, agreement with people, versions of a judge."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js

pytestmark = pytest.mark.real
ANNOTATORS = ["annotator1", "annotator2", "annotator3"]


def test_no_judge_of_pandalm_is_as_good_as_its_annotators(real_data: Path) -> None:
    """They agree with each other in 92 % of the pairs, with the judges in 71 and 66 %."""
    table = pd.read_csv(real_data / "pandalm" / "verdicts.csv")
    raters = [*ANNOTATORS, "gpt_3_5_turbo", "pandalm_7b"]
    words = {"1": "first", "2": "second", "0": "tie", "Tie": "tie"}
    long = table.melt(["idx"], raters, var_name="judge", value_name="choice").rename(columns={"idx": "item"})
    long["choice"] = long["choice"].astype(str).map(words).fillna("invalid")
    calls = long.assign(item=long["item"].astype(str), first="one", second="two")
    found = js.alternative_annotator_test(calls, humans=ANNOTATORS, epsilon=0.15)
    wide = calls.pivot(index="item", columns="judge", values="choice")
    for judge in raters[3:]:
        own = found[found["judge"] == judge]
        assert own.loc[own["term"] == "winning_rate", ["estimate", "passed"]].to_numpy().tolist() == [[0.0, False]]
        valid = wide[wide[judge] != "invalid"]
        for person in ANNOTATORS:
            others = [p for p in ANNOTATORS if p != person]
            theirs, mine = (sum((valid[p] == valid[who]).astype(int) for p in others) for who in (person, judge))
            d = (theirs >= mine).astype(float) - (mine >= theirs).astype(float)
            row = own[(own["annotator"] == person) & (own["term"] == "difference")].iloc[0]
            assert row[["estimate", "n"]].tolist() == pytest.approx([d.mean(), len(valid)])
            assert row["p_value"] == pytest.approx(stats.ttest_1samp(d, 0.15, alternative="less").pvalue)
    agreement = js.judge_against_people(calls, humans=ANNOTATORS).set_index(["role", "judge", "term"])
    among = np.mean(
        [(wide[a] == wide[b]).mean() for a, b in zip(ANNOTATORS, ANNOTATORS[1:] + ANNOTATORS[:1], strict=True)]
    )
    assert agreement.loc[("people", np.nan, "agreement"), "estimate"] == pytest.approx(among)


def test_a_model_and_the_people_of_hanna(real_data: Path) -> None:
    """Story coherence, 1 to 5: by minus the root mean squared difference, ChatGPT is as close as single people."""
    table = pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz")
    table = table[(table["criterion"] == "CH") & ((table["rater_type"] == "human") | (table["eval_prompt"] == 1))]
    table = table[(table["rater_type"] == "human") | (table["rater"] == "ChatGPT")]
    table = table[table["score"] >= 1].rename(columns={"rater": "judge", "writer": "system", "prompt_index": "item"})
    ratings = table[["judge", "system", "item", "score", "rater_type"]]
    found = js.alternative_annotator_test(ratings, humans="rater_type=human", epsilon=0.1)
    wide = ratings.pivot(index=["system", "item"], columns="judge", values="score").dropna()
    people = ["Human 1", "Human 2", "Human 3"]
    won = []
    for person in people:
        others = wide[[p for p in people if p != person]]
        mine, theirs = (((others.sub(wide[who], axis=0)) ** 2).mean(axis=1) for who in ("ChatGPT", person))
        won.append((mine <= theirs + 1e-12).mean())
    whole = found[found["annotator"].isna()].set_index("term")
    assert whole.loc["advantage_probability", "estimate"] == pytest.approx(np.mean(won))
    assert found.loc[found["term"] == "difference", "method"].str.contains("clustered by item \\(G = 96\\)").all()


@pytest.mark.parametrize("subset", ["LLMBar/Natural", "LLMBar/Adversarial/Neighbor", "LLMBar/Adversarial/Manual"])
def test_two_dates_of_chatgpt_on_llmbar(real_data: Path, subset: str) -> None:
    """The agreement of both with the label is the published one."""
    table = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype={"item": str})
    with gzip.open(real_data / "llmbar" / "published_statistics.json.gz") as file:
        published = json.load(file)
    table = table[(table["subset"] == subset) & (table["strategy"] == "Vanilla")]
    shown = np.where(table["swapped"] == 1, "2", "1")
    winner = table["winner"].map({1.0: "1", 2.0: "2"})
    choice = np.where(winner.isna(), "invalid", np.where(winner == shown, "first", "second"))
    calls = table.assign(judge=table["evaluator"], first=shown, second=np.where(shown == "1", "2", "1"), choice=choice)
    label = calls.drop_duplicates("item").assign(judge="label", first="1", second="2")
    label["choice"] = np.where(label["label"] == 1, "first", "second")
    columns = ["judge", "item", "first", "second", "choice"]
    sides = [pd.concat([calls[calls["judge"] == j], label])[columns] for j in ("ChatGPT-0301", "ChatGPT")]
    found = js.compare_versions(*sides, humans="label", n_resamples=100)
    assert set(found["judge"]) == {"ChatGPT-0301 to ChatGPT"}
    row = found[found["stimulus"] == ""].set_index("term")
    for term, judge in (("agreement_old", "ChatGPT-0301"), ("agreement_new", "ChatGPT")):
        printed = float(published[f"{subset}|{judge}|Vanilla"]["correct_average"].rstrip("%"))
        assert 100 * row.loc[term, "estimate"] == pytest.approx(printed)
    change = row.loc["agreement_change"]
    assert change["conf_low"] < change["estimate"] < change["conf_high"]
    assert row.loc["flips", "flag"].startswith("rerun noise unknown")
