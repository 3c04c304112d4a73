"""The score matrix: runs, criteria and items by brute force, and the published final scores."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

from judgestats.metrics.consensus import kendall_w, rank_correlation, score_matrix
from metrics.rating_tables import complete, frame, same, unbalanced

# score matrix


def test_score_matrix_over_runs():
    table = complete(np.random.default_rng(0), "ab", "xy", "1", runs=5)
    result = score_matrix(table).set_index(["judge", "system"])
    expected = table.groupby(["judge", "system"])["score"].agg(["mean", "std", "sem"])
    np.testing.assert_allclose(result[["estimate", "sd", "std_error"]], expected, rtol=1e-12)
    assert (result[["runs", "n", "items"]] == [5, 5, 1]).all(axis=None)
    assert result["method"].eq("t over runs").all()
    other = score_matrix(table, ddof=0).set_index(["judge", "system"])
    np.testing.assert_allclose(other["sd"], expected["std"] * np.sqrt(4 / 5))
    np.testing.assert_allclose(other["std_error"], expected["sem"])


def test_final_score_of_a_run_is_the_mean_of_its_criteria():
    rng = np.random.default_rng(0)
    table = pd.concat([complete(rng, "ab", "x", "1", runs=4).assign(criterion=c) for c in ("u", "v")])
    result = score_matrix(table).set_index("judge")
    runs = table.groupby(["judge", "replicate"])["score"].mean()
    np.testing.assert_allclose(result[["estimate", "sd"]], runs.groupby("judge").agg(["mean", "std"]), rtol=1e-12)
    assert result["n"].tolist() == [4, 4]
    hole = table[~((table["judge"] == "a") & (table["criterion"] == "u") & (table["replicate"] == 2))]
    told = score_matrix(hole).set_index("judge")
    assert told["flag"].tolist() == ["unequal criteria", ""]
    left = hole[hole["judge"] == "a"].groupby("replicate")["score"].mean()
    assert told["estimate"]["a"] == pytest.approx(left.mean())
    unnamed = score_matrix(table.drop(columns="replicate")).set_index("judge")
    assert unnamed["flag"].eq("sd of the final score unknown").all()
    np.testing.assert_allclose(unnamed["estimate"], result["estimate"], rtol=1e-12)


def test_score_matrix_over_items_pools_the_sd_within():
    table = complete(np.random.default_rng(0), "ab", "x", "123", runs=3)
    table = table.drop(index=table.index[0])
    result = score_matrix(table).set_index("judge")
    items = table.groupby(["judge", "item"])["score"].agg(["mean", "var", "count"])
    assert result["estimate"]["b"] == pytest.approx(items["mean"]["b"].mean())
    weights = items["count"]["a"] - 1
    assert result["sd"]["a"] == pytest.approx(np.sqrt((weights * items["var"]["a"]).sum() / weights.sum()))
    assert result["std_error"]["a"] == pytest.approx(items["mean"]["a"].sem())
    assert result["flag"].tolist() == ["unequal runs; fewer than 10 clusters", "fewer than 10 clusters"]
    assert result["n"].tolist() == [8, 9]


def test_single_run_missing_scores_and_the_check_of_the_mean():
    table = frame(
        [
            ("a", "x", "1", "u", 0, 4.0),
            ("a", "x", "1", "v", 0, 6.0),
            ("a", "x", "1", "final", 0, 5.5),
            ("b", "x", "1", "u", 0, math.nan),
            ("b", "x", "1", "v", 0, 6.0),
            ("b", "x", "1", "final", 0, 6.0),
        ]
    )
    result = score_matrix(table).set_index("judge")
    assert result["gap"].tolist() == [0.5, 0.0]
    assert result["flag"].tolist() == [
        "single run; final is not the mean of criteria",
        "single run; unequal criteria; 1 score missing",
    ]
    assert result["sd"].isna().all()
    assert score_matrix(table, decimals=0).set_index("judge")["flag"]["a"] == "single run"
    criteria = score_matrix(table, per_criterion=True).set_index(["judge", "criterion"])
    assert criteria["flag"]["b", "u"] == "no data; 1 missing score excluded"
    assert criteria["estimate"]["a", "v"] == 6


@pytest.mark.slow
@settings(max_examples=20)
@given(unbalanced())
def test_score_matrix_is_the_same_on_every_engine(table):
    whole = score_matrix(table)
    same(whole, score_matrix(pl.from_pandas(table)), 1e-9)
    same(whole, score_matrix(pl.from_pandas(table).lazy()), 1e-9)
    same(whole, score_matrix(table.iloc[::-1]), 1e-9)
    split = score_matrix(table, per_criterion=True)
    means = table.groupby(["judge", "system", "criterion", "item"])["score"].mean()
    expected = (
        means.groupby(["judge", "system", "criterion"])
        .mean()
        .reindex(split.set_index(["judge", "system", "criterion"]).index)
    )
    np.testing.assert_allclose(split["estimate"], expected, atol=1e-12)


def test_final_scores_are_means_of_criteria_in_46_of_50_cells(printed_means):
    """Criteria of ten whole scores have one decimal exactly; final scores are printed with two, in table 10 with one."""
    tenth = (printed_means["judge"] == "Perplexity Sonar") & (printed_means["condition"] == "anonymized")
    exact = 12
    two = score_matrix(printed_means[~tenth], by="condition", decimals=(2, exact))
    one = score_matrix(printed_means[tenth], by="condition", decimals=(1, exact))
    broken = two[two["flag"].str.contains("final is not the mean of criteria")]
    assert {(j, s): round(g, 6) for j, s, g in zip(broken["judge"], broken["system"], broken["gap"], strict=True)} == {
        ("Claude 4.5 Sonnet", "GPT-5.1"): -0.2,
        ("GPT-5.1", "Claude 4.5"): -0.2,
        ("Perplexity Sonar", "Gemini 2.5"): 0.4,
        ("Gemini 2.5 Pro", "Expert 4"): -0.04,
    }
    assert (one["flag"] == "").all()
    assert len(two) + len(one) == 50
    assert set(two["runs"]) == {10}


def test_criterion_level_leaves_the_final_score_out(printed_means):
    result = score_matrix(printed_means, by="condition", per_criterion=True)
    assert len(result) == 250
    assert "final" not in set(result["criterion"])
    cell = result[
        (result["judge"] == "GPT-5.1") & (result["system"] == "GPT-5.1") & (result["criterion"] == "accuracy")
    ]
    assert cell[["estimate", "sd", "runs"]].to_numpy().tolist() == [[8.7, 0.28, 10]]
    assert cell["conf_high"].item() == pytest.approx(8.7 + 2.262157163 * 0.28 / np.sqrt(10))  # t on 9


def test_ratings_without_rows_have_no_estimates():
    ratings = pd.DataFrame({"judge": ["a", "b"], "system": "s", "item": "1", "score": [1.0, 2.0]})
    empty = ratings[ratings["judge"] == "nobody"]
    assert score_matrix(empty).empty
    assert score_matrix(empty).columns.tolist() == score_matrix(ratings).columns.tolist()
    assert rank_correlation(empty)["estimate"].notna().sum() == 0
    assert kendall_w(empty)["estimate"].notna().sum() == 0
