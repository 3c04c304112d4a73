"""Errors of scores against scipy, clusters, and what is missing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.stats import pearsonr, ttest_1samp

from judgestats.errors import DesignError, SchemaError
from judgestats.flags import (
    CONSTANT,
    ERRORS_ALIKE,
    NOT_INDEPENDENT,
    PERFECT_CORRELATION,
    TOO_FEW,
)
from judgestats.metrics.agreement import quality_agreement
from judgestats.metrics.consensus import rank_correlation
from judgestats.metrics.correctness import best_of_accuracy, score_error
from metrics.tables import scored_responses, terms, whole_scores
from refusals import refused
from twins_variance import freedom, hall


def scored(n: int = 60, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, 6, n).astype(float)
    noise = rng.normal(0.3, 1, n)
    return pd.DataFrame(
        {"judge": "g", "system": "s", "item": [f"i{i}" for i in range(n)], "score": gold + noise, "gold": gold}
    )


def test_means_against_hall_and_the_correlation_against_the_jackknife():
    table = scored()
    error = (table["score"] - table["gold"]).to_numpy()
    got = terms(score_error(table))
    assert got.loc["rmse", "estimate"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-13)
    assert got.loc["mae", "estimate"] == pytest.approx(np.abs(error).mean(), rel=1e-13)
    bias = got.loc["bias"]
    assert bias["estimate"] == pytest.approx(error.mean(), rel=1e-13)
    assert bias["std_error"] == pytest.approx(error.std(ddof=1) / np.sqrt(60), rel=1e-12)
    t = ttest_1samp(error, 0).confidence_interval()  # errors are nearly symmetric
    assert (bias["conf_low"], bias["conf_high"]) == pytest.approx((t.low, t.high), abs=0.01)
    assert (bias["conf_low"], bias["conf_high"]) == pytest.approx(hall(error))
    assert got.loc["mae", ["conf_low", "conf_high"]].tolist() == pytest.approx(hall(np.abs(error)))
    assert got.loc["rmse", ["conf_low", "conf_high"]].tolist() == pytest.approx(np.sqrt(hall(error**2)))
    r = pearsonr(table["score"], table["gold"])
    assert got.loc["pearson", "estimate"] == pytest.approx(r.statistic, rel=1e-12)
    pairs = table[["score", "gold"]].to_numpy()
    without = np.arctanh([np.corrcoef(np.delete(pairs, i, 0).T)[0, 1] for i in range(60)])
    half = stats.t.ppf(0.975, freedom(without - without.mean())) * np.sqrt(
        59 / 60 * ((without - without.mean()) ** 2).sum()
    )
    z, bias_of_z = np.arctanh(r.statistic), 59 * (without.mean() - np.arctanh(r.statistic))
    ends = np.tanh([z - half - max(bias_of_z, 0), z + half - min(bias_of_z, 0)])
    assert got.loc["pearson", ["conf_low", "conf_high"]].tolist() == pytest.approx(ends, rel=1e-9)
    assert (got["n"] == 60).all()


def test_the_sign_of_bias_is_score_minus_gold():
    table = scored().assign(score=lambda t: t["gold"] + 2.0)
    got = terms(score_error(table))
    assert got.loc["bias", "estimate"] == 2
    assert ERRORS_ALIKE in got.loc["bias", "flag"]
    assert np.isnan(got.loc["bias", "conf_low"])
    assert got.loc["pearson", "estimate"] == 1
    assert got.loc["pearson", "flag"] == PERFECT_CORRELATION
    assert np.isnan(got.loc["rmse", "conf_low"])
    assert got.loc["rmse", "flag"] == ERRORS_ALIKE


def test_gold_in_a_frame_of_several_people_and_other_engines():
    table = scored()
    people = pd.concat(
        [table[["item"]].assign(score=table["gold"] - 0.5), table[["item"]].assign(score=table["gold"] + 0.5)]
    )
    whole = score_error(table)
    ratings = table.drop(columns="gold")
    for gold in (people, people.rename(columns={"score": "value"}), pl.from_pandas(people)):
        pd.testing.assert_frame_equal(score_error(ratings, gold), whole)
    pd.testing.assert_frame_equal(score_error(pl.from_pandas(table).lazy()), whole)
    pd.testing.assert_frame_equal(score_error(table.sample(frac=1, random_state=1)), whole)


def test_runs_are_averaged_first():
    table = scored()
    runs = pd.concat(
        [table.assign(replicate=0, score=table["score"] - 1), table.assign(replicate=1, score=table["score"] + 1)]
    )
    pd.testing.assert_frame_equal(score_error(runs), score_error(table))


def test_what_is_missing_is_told():
    table = scored()
    table.loc[[0, 1, 2], "gold"] = np.nan
    table.loc[[5], "score"] = np.nan
    got = terms(score_error(table))
    assert (got["n"] == 56).all()
    assert got["flag"].str.contains("3 without gold excluded; 1 without a score excluded").all()
    lost = pd.concat([table, scored().assign(judge="h", score=np.nan)])
    assert terms(score_error(lost), "h")["estimate"].isna().all()
    refused(
        SchemaError,
        (lambda: score_error(table.assign(gold=np.nan)), DesignError, "no response has one"),
        (lambda: score_error(table, "truth"), "There is no column 'truth'"),
        (
            lambda: score_error(pd.concat([scored().assign(replicate=0), scored().assign(replicate=1, gold=3.0)])),
            "several right scores",
        ),
        (lambda: score_error(table, pd.DataFrame({"id": [1], "score": [2]})), "Right scores need 'item'"),
    )


def test_several_systems_of_an_item_are_a_cluster():
    """A copy of every score adds nothing to any of the four."""
    table = scored()
    copies = pd.concat([table, table.assign(system="t")])
    one, two = terms(score_error(table)), terms(score_error(copies))
    assert two.loc["bias", "std_error"] == pytest.approx(one.loc["bias", "std_error"], rel=1e-9)
    assert two.loc["rmse", "std_error"] == pytest.approx(one.loc["rmse", "std_error"], rel=0.1)
    assert "clustered by item" in two.loc["pearson", "method"]
    apart = terms(score_error(copies, cluster=False))
    assert apart["flag"].str.contains(NOT_INDEPENDENT).all()
    assert apart.loc["bias", "std_error"] < 0.8 * one.loc["bias", "std_error"]


def test_criteria_apart_and_constant_scores():
    table = pd.concat([scored().assign(criterion="c"), scored(seed=5).assign(criterion="d", score=3.0)])
    got = score_error(table, by="criterion")
    assert list(got["criterion"].unique()) == ["c", "d"]
    flat = got[(got["criterion"] == "d") & (got["term"] == "pearson")].iloc[0]
    assert np.isnan(flat["estimate"])
    assert flat["flag"] == CONSTANT
    alone = score_error(table[table["criterion"] == "c"])
    np.testing.assert_allclose(got.loc[got["criterion"] == "c", "estimate"], alone["estimate"])
    assert TOO_FEW in terms(score_error(scored(3))).loc["pearson", "flag"]


def test_infinite_truths_are_refused():
    table = whole_scores()
    truth = pd.DataFrame({"item": [f"i{i}" for i in range(8)], "value": [*range(7), math.inf]})
    systems = pd.DataFrame({"system": list("abcde"), "score": [1, 2, 3, 4, math.inf], "agreement": [0.1] * 5})
    refused(
        SchemaError,
        (lambda: score_error(table.assign(gold=math.inf)), "'gold' is infinite"),
        (lambda: rank_correlation(table, truth=truth), "'value' is infinite in 1 row"),
        (lambda: quality_agreement(systems, score="score", agreement="agreement"), "'score' is infinite in 1 row"),
    )


def test_an_absent_score_is_a_missing_score() -> None:
    table = scored_responses()
    gone = (table["judge"] == "g") & (table["system"] == "c") & table["item"].isin(["i0", "i1", "i2"])
    absent, missing = best_of_accuracy(table[~gone]), best_of_accuracy(table.assign(score=table["score"].mask(gone)))
    pd.testing.assert_frame_equal(absent, missing)
    assert absent["n"].tolist() == [9.0] * 3 + [12.0] * 3
    assert absent.loc[0, "flag"] == "n < 30; 3 items not scored excluded"


def test_names_that_are_numbers_match_whatever_their_type() -> None:
    table = scored_responses()
    table["item"] = table["item"].str[1:].astype(int)
    gold = pd.DataFrame({"item": np.arange(12.0), "score": np.arange(12.0)})
    named = gold.assign(item=[str(i) for i in range(12)])
    pd.testing.assert_frame_equal(score_error(table, gold), score_error(table, named))
    assert (score_error(table, gold)["n"] == 36).all()
    table["system"] = table["system"].map({"a": 1, "b": 2, "c": 3})
    told = best_of_accuracy(table, right=1)  # type: ignore[arg-type]
    assert told["n"].tolist() == [12.0] * 6
    table["gold"] = np.where(table["item"] == 0, np.nan, 1.0)
    assert best_of_accuracy(table)["n"].tolist() == [11.0] * 6
