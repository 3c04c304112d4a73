"""Places of chosen options: closed forms, brute force, planted preferences, coverage, counts and bad input."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import chdtrc
from scipy.stats import chisquare

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import clustered_wilson, wilson
from refusals import refused
from registry import chosen_options


def counts(*n, **columns):
    return pd.DataFrame({"judge": "g", "shown_at": range(1, len(n) + 1), "n": n, **columns})


def term(result, name):
    return result[result["term"] == name].reset_index(drop=True)


def questions(rng, items=60, repeats=3, options=4, alike=0.5, preference=0.0):
    """Calls on questions whose options have one random order each: alike in some, at the first place in others."""
    order = rng.integers(1, options + 1, (items, 1))
    place = np.where(rng.random((items, repeats)) < alike, order, rng.integers(1, options + 1, (items, repeats)))
    place = np.where(rng.random((items, repeats)) < preference, 1, place)
    keys = pd.MultiIndex.from_product([range(items), range(repeats)], names=["item", "replicate"]).to_frame(index=False)
    return keys.assign(judge="g", answer="x", shown_at=place.ravel(), n_options=options)


def test_independent_calls_have_wilsons_intervals_and_pearsons_test():
    found = js.option_position_bias(counts(90, 50, 40, 20), n_options=5)
    shares = term(found, "share")
    low, high = wilson([90, 50, 40, 20, 0], 200)
    np.testing.assert_allclose(shares["conf_low"], low, rtol=1e-12)
    np.testing.assert_allclose(shares["conf_high"], high, rtol=1e-12)
    bias = term(found, "position_bias")
    np.testing.assert_allclose(bias["estimate"], shares["estimate"] - 0.2, atol=1e-12)
    np.testing.assert_allclose(bias["conf_high"], high - 0.2, atol=1e-12)
    [test] = term(found, "chi2").to_dict("records")
    want = chisquare([90, 50, 40, 20, 0])
    assert (test["estimate"], test["p_value"], test["df"]) == pytest.approx((want.statistic, want.pvalue, 4), rel=1e-12)
    assert (found["expected"].dropna() == 0.2).all()


def test_two_options_beside_the_place_of_the_right_one_are_mcnemars():
    table = counts(40, 10, 25, 25, gold_at=[1, 2, 2, 1]).assign(shown_at=[1, 1, 2, 2], n_options=2)
    [test] = term(js.option_position_bias(table, cluster=False), "chi2").to_dict("records")
    assert (test["estimate"], test["df"]) == pytest.approx(((10 - 25) ** 2 / 35, 1))
    assert term(js.option_position_bias(table), "position_bias")["estimate"].tolist() == pytest.approx([-0.15, 0.15])


@pytest.mark.parametrize("gold", [False, True])
def test_the_clustered_numbers_are_those_of_brute_force(gold):
    calls = chosen_options()
    found = js.option_position_bias(calls if gold else calls.drop(columns="gold_at"))
    for judge, rows in calls.dropna(subset=["shown_at"]).groupby("judge"):
        place, right = rows["shown_at"].to_numpy(int), rows["gold_at"].to_numpy(int)
        expected = np.eye(4)[right - 1] if gold else np.full((len(rows), 4), 0.25)
        excess = pd.DataFrame(np.eye(4)[place - 1] - expected).groupby(rows["item"].to_numpy()).sum().to_numpy()
        own = found[found["judge"] == judge]
        np.testing.assert_allclose(term(own, "position_bias")["estimate"], excess.sum(axis=0) / len(rows), atol=1e-12)
        lam = np.linalg.eigvalsh(excess.T @ excess)
        df = lam.sum() ** 2 / (lam**2).sum() if gold else 3
        statistic = df * (excess.sum(axis=0) ** 2).sum() / lam.sum()
        [test] = term(own, "chi2").to_dict("records")
        assert (test["estimate"], test["df"], test["p_value"]) == pytest.approx((statistic, df, chdtrc(df, statistic)))
        for j, share in term(own, "share").iterrows():
            sums = rows.assign(hit=place == j + 1).groupby("item")["hit"].agg(["sum", "size"]).to_numpy(float)
            error, low, high = clustered_wilson(*sums.T)
            assert [share[c] for c in ("std_error", "conf_low", "conf_high")] == pytest.approx([error, low, high])


def test_a_planted_preference_is_found_whatever_is_right():
    rng = np.random.default_rng(3)
    calls = questions(rng, items=400, repeats=2, preference=0.3)
    bias = term(js.position_bias(calls), "position_bias")
    assert bias["estimate"].tolist() == pytest.approx([0.225, -0.075, -0.075, -0.075], abs=0.05)
    assert bias["conf_low"][0] > 0.1
    assert term(js.position_bias(calls), "chi2")["p_value"][0] < 1e-6
    right = np.where(rng.random(3000) < 0.6, 1, rng.integers(2, 4, 3000))  # the right one stands first more often
    steady = pd.DataFrame({"judge": "g", "item": range(3000), "answer": "x", "gold_at": right, "n_options": 3})
    steady["shown_at"] = np.where(rng.random(3000) < 0.8, right, rng.permutation(right))
    bias = term(js.position_bias(steady), "position_bias")
    assert ((bias["conf_low"] < 0) & (bias["conf_high"] > 0)).all()
    assert term(js.position_bias(steady.drop(columns="gold_at")), "chi2")["p_value"][0] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("items", "repeats"), [(60, 3), (40, 1)])
def test_intervals_cover_and_the_test_has_its_size(items, repeats):
    rng = np.random.default_rng(4)
    covered, rejected = [], []
    for _ in range(400):
        found = js.option_position_bias(questions(rng, items, repeats))
        bias = term(found, "position_bias")
        covered += ((bias["conf_low"] <= 0) & (bias["conf_high"] >= 0)).tolist()
        rejected.append(term(found, "chi2")["p_value"][0] < 0.05)
    assert 0.93 <= np.mean(covered) <= 0.975
    assert 0.025 <= np.mean(rejected) <= 0.08


def test_counts_and_other_engines_give_the_numbers_of_the_calls():
    calls = js.ratings(chosen_options())
    want = js.position_bias(calls)
    pd.testing.assert_frame_equal(js.option_position_bias(js.tally(calls, "option_position_bias")), want)
    connection = duckdb.connect()
    connection.register("calls", calls)
    for frame in (pl.from_pandas(calls), pl.from_pandas(calls).lazy(), connection.table("calls")):
        pd.testing.assert_frame_equal(js.position_bias(frame), want, check_dtype=False, rtol=1e-12)


def test_questions_with_other_numbers_of_options_have_rows_of_their_own():
    calls = pd.concat([counts(30, 20, n_options=2), counts(5, 5, 5, n_options=3)])
    found = term(js.option_position_bias(calls), "share")
    assert found[["n_options", "shown_at", "n"]].to_numpy().tolist() == [
        [2, 1, 50], [2, 2, 50], [3, 1, 15], [3, 2, 15], [3, 3, 15],
    ]  # fmt: skip


def test_how_many_options_there_were_is_not_guessed():
    calls = chosen_options().drop(columns="n_options")
    listed = js.available_measures(calls).set_index("measure").loc["option_position_bias"]
    assert not listed["supported"]
    assert listed["missing"] == "needs how many options were shown, in n_options"
    refused(
        DesignError,
        (lambda: js.position_bias(calls), r"largest place that was chosen is 4, and later ones.*Pass n_options="),
        (lambda: js.position_bias(chosen_options(), n_options=4), "so does the column"),
        (lambda: js.position_bias(calls.drop(columns="shown_at")), "needs shown_at"),
        (
            lambda: js.position_bias(pd.DataFrame({"judge": "g", "choice": ["first"], "n": [3]}), n_options=2),
            "a pair has two options",
        ),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_options": 3}, r"'shown_at' is 4 in \d+ call"),
        ({"n_options": 1}, "n_options must be a whole number from 2"),
        ({"n_options": None}, "n_options must be a whole number from 2"),
        ({"shown_at": 0}, "Places counted from 0 need 1 more"),
        ({"gold_at": 2.5}, r"'gold_at' is 2.5"),
    ],
)
def test_places_that_cannot_be_are_refused(change, message):
    with pytest.raises(SchemaError, match=message):
        js.position_bias(chosen_options().assign(**change))


def test_a_judge_without_a_place_has_no_estimate_and_one_that_always_takes_the_first_a_test():
    calls = chosen_options().assign(shown_at=lambda t: t["shown_at"].where(t["judge"] == "g"))
    found = js.position_bias(calls)
    assert found[found["judge"] == "h"]["estimate"].isna().all()
    assert (found[found["judge"] == "h"]["flag"].str.contains("no data")).all()
    first = js.position_bias(counts(50, 0, 0), n_options=3)
    assert term(first, "chi2")["estimate"][0] == pytest.approx(100)
    assert term(first, "share")["conf_low"].tolist() == pytest.approx([float(wilson(50, 50)[0]), 0, 0])


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
@pytest.mark.parametrize("canonical", [js.ratings, lambda table: table])
def test_the_place_alone_is_an_answer(canonical, engine):
    calls = chosen_options()
    calls["shown_at"] = calls["shown_at"].where(calls["answer"].notna())
    want = js.position_bias(calls)
    got = js.position_bias(canonical(engine(calls.drop(columns="answer"))))
    pd.testing.assert_frame_equal(got, want)


def test_ratings_take_the_place_as_answer_only_where_there_is_no_other():
    table = pd.DataFrame({"judge": "g", "item": ["a", "b", "c"], "shown_at": [2, 1, None]})
    alone = js.ratings(table)
    assert alone["answer"].astype(object).fillna("none").tolist() == ["2", "1", "none"]
    assert alone["shown_at"].tolist()[:2] == [2, 1]
    for name, values in {"answer": ["x", "y", "z"], "score": [5.0, 6.0, 7.0]}.items():
        beside = js.ratings(table.assign(**{name: values}))
        assert beside[name].astype(object).tolist() == values
        assert ("answer" in beside) == (name == "answer")


def test_the_share_of_right_options_is_the_planted_one_and_needs_their_places():
    calls = chosen_options()
    valid = calls[calls["shown_at"].notna()]
    want = (valid["shown_at"] == valid["gold_at"]).groupby(valid["judge"]).mean()
    right = term(js.position_bias(calls), "accuracy").set_index("judge")
    np.testing.assert_allclose(right["estimate"], want.loc[right.index], rtol=1e-12)
    assert (right["n"] == 119).all()
    assert right["shown_at"].isna().all()
    sums = (
        valid.assign(hit=valid["shown_at"] == valid["gold_at"]).groupby(["judge", "item"])["hit"].agg(["sum", "size"])
    )
    for judge, row in right.iterrows():
        _, low, high = clustered_wilson(*sums.loc[judge].to_numpy(float).T)
        assert (row["conf_low"], row["conf_high"]) == pytest.approx((low, high))
    assert "accuracy" not in set(js.position_bias(calls.drop(columns="gold_at"))["term"])
