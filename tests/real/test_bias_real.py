"""Published figures of real judges: AlpacaEval's win rates, the debiasing study's released tables, PandaLM's people."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.ingest import read
from judgestats.metrics.bias import bias_change, bias_score, preference_gap, preference_rate, verbosity_bias

pytestmark = pytest.mark.real

BOARDS = {
    "alpaca_eval_gpt4": "alpaca_eval_gpt4",
    "alpaca_eval_cot_gpt4_turbo_fn": "cot_gpt4_turbo_fn",
    "alpaca_eval_gpt4_turbo_fn": "gpt4_turbo_fn",
    "weighted_alpaca_eval_gpt4_turbo": "weighted_gpt4_turbo",
}
#: Its file is a copy of the one of another annotator (README of the data).
ODD = ("alpaca_eval_gpt4_turbo_fn", "Mistral-7B-Instruct-v0.2")


# --- AlpacaEval


@pytest.fixture(scope="module")
def alpaca(real_data: Path) -> pd.DataFrame:
    table = pd.read_csv(real_data / "alpaca_eval" / "preferences.csv.gz")
    strength = table["preference"].replace(0, 1.5) - 1
    choice = np.select([strength < 0.5, strength > 0.5, strength == 0.5], ["first", "second", "tie"], "invalid")
    return pd.DataFrame(
        {
            "judge": table["annotator"],
            "item": table["instruction_index"].astype(str),
            "first": "baseline",
            "second": table["model"],
            "choice": choice,
            "strength": strength,
            "order_known": False,
        }
    )


@pytest.fixture(scope="module")
def boards(real_data: Path) -> pd.DataFrame:
    parts = [
        pd.read_csv(real_data / "alpaca_eval" / f"published_leaderboard_{name}.csv", index_col=0).assign(judge=judge)
        for judge, name in BOARDS.items()
    ]
    return pd.concat(parts).rename_axis("candidate").reset_index().set_index(["judge", "candidate"])


def test_122_of_123_published_win_rates_and_their_errors(alpaca: pd.DataFrame, boards: pd.DataFrame):
    result = preference_rate(alpaca, graded=True)
    mine = result[result["term"] == "win_rate"].set_index(["judge", "candidate"])
    listed = [key for key in boards.index if key in mine.index]
    assert len(listed) == 123
    mine, printed = mine.loc[listed], boards.loc[listed]
    for column, name in (("estimate", "win_rate"), ("std_error", "standard_error")):
        off = (100 * mine[column] - printed[name]).abs() > 1e-5  # percent
        assert off[off].index.tolist() == [ODD], name
    assert mine["n"].tolist() == printed["n_total"].tolist()
    inside = (mine["conf_low"] < mine["estimate"]) & (mine["estimate"] < mine["conf_high"])
    assert inside.all()
    # the baseline against itself ties throughout: no spread, and an interval of what 805 items can say
    flat = mine.loc[("weighted_alpaca_eval_gpt4_turbo", "gpt4_1106_preview")]
    assert flat["std_error"] == 0
    assert 0.06 < flat["conf_high"] - flat["conf_low"] < 0.08


def test_their_wins_and_draws(alpaca: pd.DataFrame, boards: pd.DataFrame):
    result = preference_rate(alpaca)
    wide = result.pivot(index=["judge", "candidate"], columns="term", values=["estimate", "n"])
    listed = [key for key in boards.index if key in wide.index and key != ODD]
    wide, printed = wide.loc[listed], boards.loc[listed]
    total = wide["n", "win"]
    for term, name in (("win", "n_wins"), ("loss", "n_wins_base"), ("tie", "n_draws")):
        assert np.allclose(wide["estimate", term] * total, printed[name]), name
    np.testing.assert_allclose(100 * wide["estimate", "win_rate"], printed["discrete_win_rate"], atol=1e-9)


def test_the_native_file_gives_the_same(real_data: Path, alpaca: pd.DataFrame):
    native = read(real_data / "alpaca_eval" / "native_text_davinci_001_alpaca_eval_gpt4_annotations.json.gz")
    mine = preference_rate(native, of="text_davinci_001", graded=True, cluster=False).iloc[0]
    whole = alpaca[alpaca["judge"] == "alpaca_eval_gpt4"]  # where models share the items, which are then clusters
    twin = preference_rate(whole, of="text_davinci_001", graded=True, cluster=False).iloc[0]
    numbers = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    np.testing.assert_allclose(mine[numbers].astype(float), twin[numbers].astype(float))


# --- the debiasing study's own release

JUDGES = {
    "gemini-2.5-pro": "Gemini 2.5 Pro",
    "claude-sonnet-4": "Claude Sonnet 4",
    "gpt-4o": "GPT-4o",
    "llama-3.3-70b": "Llama 3.3-70B",
    "gemini-2.5-flash": "Gemini 2.5 Flash",
}
STRATEGIES = {
    "B0_naive": "Baseline",
    "S1_position_swap": "Pos. Swap",
    "S4_calibrated_rubric": "Rubric",
    "S5_cot_forcing": "CoT",
    "S8_combined_budget": "Combined Budget",
}
#: Pairs of each kind, and the printed column.
SIZES = {"Position Bias": 50, "Verbosity Bias": 50, "Style Bias": 100}


@pytest.fixture(scope="module")
def release(real_data: Path) -> Path:
    return real_data / "judging_the_judges_soumik"


@pytest.fixture(scope="module")
def printed_scores(release: Path) -> pd.DataFrame:
    table = pd.read_csv(release / "published_table2_bias_summary.csv")
    long = table.melt(["Model", "Strategy"], var_name="bias", value_name="b")
    return long.rename(columns={"Model": "judge", "Strategy": "strategy"})


def least_ties(scores: pd.DataFrame) -> pd.DataFrame:
    """Counts with each printed score: whole numbers, and no more ties than it takes."""
    rows = []
    for judge, strategy, bias, b in scores[["judge", "strategy", "bias", "b"]].itertuples(index=False):
        n = SIZES[bias]
        net = round(b * n)
        assert net / n == pytest.approx(b), "a printed score is a whole number of calls"
        tie = (n - net) % 2
        for outcome, k in (("target", (n - tie + net) // 2), ("other", (n - tie - net) // 2), ("tie", tie)):
            rows.append({"judge": judge, "strategy": strategy, "bias": bias, "outcome": outcome, "n": k})
    return pd.DataFrame(rows)


def test_all_75_released_scores_are_counts(printed_scores: pd.DataFrame):
    assert len(printed_scores) == 75
    result = bias_score(least_ties(printed_scores), by="strategy")
    mine = result[result["term"] == "bias"].set_index(["judge", "bias", "strategy"])["estimate"]
    printed = printed_scores.set_index(["judge", "bias", "strategy"])["b"]
    np.testing.assert_allclose(mine[printed.index], printed)
    # the paper prints +0.31 for GPT-4o's style bias; the release gives +0.10, the mean of Table 7
    assert printed["GPT-4o", "Style Bias", "Baseline"] == 0.10


def test_the_map_of_changes_over_four_judges(printed_scores: pd.DataFrame):
    four = [j for j in JUDGES.values() if j != "Gemini 2.5 Flash"]
    result = bias_change(least_ties(printed_scores), baseline="Baseline", judges=four)
    mean = result[result["term"] == "mean_change"].set_index(["bias", "strategy"])["estimate"]
    wide = printed_scores.pivot(index=["bias", "judge"], columns="strategy", values="b").abs()
    change = wide.sub(wide["Baseline"], axis=0).drop(columns="Baseline").reset_index()
    expected = change[change["judge"].isin(four)].drop(columns="judge").groupby("bias").mean().stack()
    assert len(mean) == 12
    np.testing.assert_allclose(mean[expected.index], expected)
    # chain of thought lowers the style bias of the two that have most; the rubric raises length bias
    single = result[result["term"] == "magnitude_change"].set_index(["judge", "bias", "strategy"])["estimate"]
    assert single["Gemini 2.5 Pro", "Style Bias", "CoT"] == pytest.approx(-0.16)
    assert single["Claude Sonnet 4", "Style Bias", "CoT"] == pytest.approx(-0.19)


def test_truncation_accuracy_is_what_the_aggregates_determine(release: Path, printed_scores: pd.DataFrame):
    cells = json.loads((release / "aggregated_metrics.json").read_text())
    # of the 375 controlled pairs only the 25 truncations have a gold that is a side: the agreement is theirs
    accuracy = {
        (JUDGES[c["model"]], STRATEGIES[c["strategy"]]): c["agreement_rate"]
        for c in cells
        if c["benchmark"] == "custom" and c["model"] in JUDGES and c["strategy"] in STRATEGIES
    }
    assert len(accuracy) == 25
    expansion = least_ties(printed_scores[printed_scores["bias"] == "Verbosity Bias"]).assign(bias="expansion")
    truncation = [
        {"judge": j, "strategy": s, "bias": "truncation", "outcome": o, "n": n}
        for (j, s), p in accuracy.items()
        for o, n in (("target", round(25 * p)), ("other", 25 - round(25 * p)))
    ]
    result = verbosity_bias(pd.concat([expansion, pd.DataFrame(truncation)]), by="strategy")
    wide = result.pivot(index=["judge", "strategy"], columns="term", values="estimate")
    split = pd.read_csv(release / "published_table3_length_split.csv").set_index(["Model", "Strategy"])
    assert len(split) == 15
    np.testing.assert_allclose(wide.loc[split.index, "expansion_bias"], split["Expansion Bias"])
    np.testing.assert_allclose(wide.loc[split.index, "truncation_accuracy"], split["Trunc. Accuracy"])


def test_the_released_scores_fit_the_pooled_verdicts(release: Path, printed_scores: pd.DataFrame):
    """All kinds are pooled in ``verdict_distribution``: it bounds the scores, it does not determine them."""
    cells = json.loads((release / "aggregated_metrics.json").read_text())
    printed = printed_scores.set_index(["judge", "strategy", "bias"])["b"]
    checked = 0
    for c in cells:
        if c["benchmark"] != "custom" or c["model"] not in JUDGES or c["strategy"] not in STRATEGIES:
            continue
        key = JUDGES[c["model"]], STRATEGIES[c["strategy"]]
        sided = sum(abs(printed[(*key, bias)]) * n for bias, n in SIZES.items())
        verdicts = c["verdict_distribution"]
        counts = pd.DataFrame(
            {"judge": "g", "outcome": ["target", "other", "tie"], "n": [verdicts[v] for v in ("A", "B", "tie")]}
        )
        shares = bias_score(counts).set_index("term")
        assert shares.loc["bias", "n"] == c["n_instances"]
        pooled = shares.loc["bias", "estimate"] * c["n_instances"]
        assert pooled == pytest.approx(verdicts["A"] - verdicts["B"])
        taken = (shares.loc["prefers_target", "estimate"] + shares.loc["prefers_other", "estimate"]) * c["n_instances"]
        assert taken + 1e-9 >= sided + 25 * c["agreement_rate"], key
        checked += 1
    assert checked == 25


def test_the_longer_side_of_the_real_pairs(release: Path):
    design = pd.read_csv(release / "controlled_pairs_design.csv")
    shown = pd.DataFrame(
        {
            "judge": "always the first",
            "item": design["id"],
            "first": "a",
            "second": "b",
            "choice": "first",
            "bias": design["bias_type"],
            "length_first": design["words_a"],
            "length_second": design["words_b"],
        }
    )
    result = bias_score(shown, attribute="length")
    score = result[result["term"] == "bias"].set_index("bias")
    # Section 3.5: the longer expansion is in slot A in 34 of 50 pairs
    assert score.loc["length", ["estimate", "n"]].tolist() == pytest.approx([(34 - 16) / 50, 50])
    assert score.loc["length_truncated", "estimate"] == 1
    # identical responses have no longer side
    assert np.isnan(score.loc["position", "estimate"])
    assert "50 calls of equal or unknown length" in score.loc["position", "flag"]
    # every style pair has its mirror: the average over positions takes a pure slot bias out
    styled = shown[shown["bias"].isin(["style", "style_ba"])]
    target = np.where(styled["bias"] == "style", "a", "b")
    styled = styled.assign(target=target, bias="style")
    averaged = bias_score(styled, average="position").set_index("term")["estimate"]
    assert averaged[["target_first", "target_second", "bias"]].tolist() == [1, -1, 0]


# --- self-preference and people


def test_self_preference_of_three_generators(real_data: Path):
    table = pd.read_csv(real_data / "self_bias_frontier" / "pairwise.csv.gz")
    family = dict(table[["judge", "judge_family"]].drop_duplicates().itertuples(index=False, name=None))
    assert sorted(family.values()) == ["anthropic", "openai", "openai"]
    calls = pd.DataFrame(
        {
            "judge": table["judge"],
            "item": table["task_id"] + "/" + table["length_bin"].astype(str),
            "first": table["model_first"],
            "second": table["model_second"],
            "choice": table["verdict"].map({1: "first", 0: "tie", -1: "second"}),
        }
    )
    result = bias_score(calls, family=family, cluster="item")
    rows = result[result["term"] == "bias"].set_index("judge")
    for judge, mine in table.groupby("judge"):
        own = [mine[f"model_{s}"].map(family) == family[judge] for s in ("first", "second")]
        one = mine[own[0] != own[1]]
        sign = np.where(one["model_first"].map(family) == family[judge], 1, -1)
        assert rows.loc[judge, ["estimate", "n"]].tolist() == pytest.approx([(one["verdict"] * sign).mean(), len(one)])
        assert f"{len(mine) - len(one)} calls with both or neither of its family" in rows.loc[judge, "flag"]
    itself = bias_score(calls, family={j: j for j in family})
    for judge in family:
        model = bias_score(calls[calls["judge"] == judge], target=judge)
        pd.testing.assert_series_equal(
            itself.loc[(itself["judge"] == judge) & (itself["term"] != "self_excess"), "estimate"].reset_index(
                drop=True
            ),
            model["estimate"],
        )


@pytest.fixture(scope="module")
def pandalm(real_data: Path) -> pd.DataFrame:
    table = pd.read_csv(real_data / "pandalm" / "verdicts.csv")
    raters = ["annotator1", "annotator2", "annotator3", "gpt_3_5_turbo", "pandalm_7b"]
    long = table.melt(["idx"], raters, var_name="judge", value_name="answer")
    words = {"1": "first", "2": "second", "0": "tie", "Tie": "tie"}
    choice = long["answer"].astype(str).map(words).fillna("invalid")
    return pd.DataFrame(
        {
            "judge": long["judge"],
            "item": long["idx"].astype(str),
            "first": "response 1",
            "second": "response 2",
            "choice": choice,
        }
    )


def test_the_kappas_of_pandalms_people(pandalm: pd.DataFrame):
    people = ["annotator1", "annotator2", "annotator3"]
    found = js.kappa(pandalm[pandalm["judge"].isin(people)])
    assert (found["n"] == 999).all()
    assert sorted(round(k, 3) for k in found["estimate"]) == [0.852, 0.862, 0.879]
    among = js.judge_against_people(pandalm, humans=people).query("role == 'people'")
    pooled = among.loc[among["term"] == "kappa", "estimate"].item()
    assert pooled == pytest.approx(found["estimate"].mean(), abs=0.002)


def test_gaps_of_two_judges_to_three_people(pandalm: pd.DataFrame):
    people = ["annotator1", "annotator2", "annotator3"]
    result = preference_gap(pandalm, humans=people, target="first", annotators="fixed")
    wide = pandalm.pivot(index="item", columns="judge", values="choice")
    gaps = result[result["term"] == "gap"].set_index("judge")
    for judge in ("gpt_3_5_turbo", "pandalm_7b"):
        valid = wide[wide[judge] != "invalid"]
        expected = (valid[judge] == "first").mean() - (valid[people] == "first").to_numpy().mean()
        assert gaps.loc[judge, ["estimate", "n"]].tolist() == pytest.approx([expected, len(valid)])
        pull = (valid[judge] == "first").astype(float) - (valid[people] == "first").mean(axis=1)
        assert gaps.loc[judge, "std_error"] == pytest.approx(pull.std(ddof=1) / np.sqrt(len(valid)))
    assert "974 of 999 pairs shared" in gaps.loc["gpt_3_5_turbo", "flag"]
