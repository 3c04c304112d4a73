"""Units beyond the call and the pair: one candidate of a call, one pair under two conditions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError
from judgestats.schema import tally


def verdicts(**columns):
    base = {"judge": "g", "item": ["1", "2", "3"], "first": "x", "second": "y", "gold": "x"}
    return pd.DataFrame({**base, **columns})


@pytest.fixture
def strategies():
    return pd.concat(
        [
            verdicts(strategy="B0", choice=["first", "second", "tie"]),
            verdicts(strategy="S1", choice=["first", "first", "invalid"]),
            verdicts(strategy="S8", choice=["second", "first", "tie"]).iloc[:2],
        ],
        ignore_index=True,
    )


def test_changes_are_counted_pair_by_pair(strategies):
    table = tally(strategies, "compare_strategies", baseline="B0")
    found = {(r.strategy, r.baseline, r.outcome): r.n for r in table.itertuples()}
    assert found == {
        ("S1", "correct", "correct"): 1,
        ("S1", "wrong", "correct"): 1,
        ("S1", "tie", "invalid"): 1,
        ("S8", "correct", "wrong"): 1,
        ("S8", "wrong", "correct"): 1,
        ("S8", "tie", "missing"): 1,  # nothing is lost silently
    }


@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()], ids=["polars", "lazy"])
def test_changes_are_the_same_in_every_engine(engine, strategies):
    here = tally(strategies, "compare_strategies", baseline="B0")
    pd.testing.assert_frame_equal(
        tally(engine(strategies), "compare_strategies", baseline="B0"), here, check_dtype=False
    )


def test_the_same_pair_is_matched_whatever_its_order(strategies):
    turned = strategies.copy()
    s1 = turned["strategy"] == "S1"
    turned.loc[s1, ["first", "second"]] = turned.loc[s1, ["second", "first"]].to_numpy()
    turned.loc[s1, "choice"] = turned.loc[s1, "choice"].replace({"first": "second", "second": "first"})
    pd.testing.assert_frame_equal(
        tally(turned, "compare_strategies", baseline="B0"), tally(strategies, "compare_strategies", baseline="B0")
    )


def test_both_orders_are_matched_order_by_order():
    both = pd.concat([verdicts(choice="first"), verdicts(choice="second", first="y", second="x")])
    data = pd.concat([both.assign(strategy="a"), both.assign(strategy="b")], ignore_index=True)
    assert tally(data, "compare_strategies", baseline="a")["n"].sum() == 6


def test_a_condition_that_goes_with_the_strategy_does_not_keep_pairs_apart(strategies):
    warm = strategies.assign(temperature=strategies["strategy"].map({"B0": 0.0, "S1": 0.3, "S8": 0.0}))
    pd.testing.assert_frame_equal(
        tally(warm, "compare_strategies", baseline="B0"), tally(strategies, "compare_strategies", baseline="B0")
    )


def test_a_count_stays_with_its_row(strategies):
    counted = tally(strategies.assign(n_identical=4), "compare_strategies", baseline="B0")
    assert counted["n"].sum() == 4 * 6


def test_what_cannot_be_matched_is_refused(strategies):
    with pytest.raises(DesignError, match="baseline='B1' is not in 'strategy'"):
        tally(strategies, "compare_strategies", baseline="B1")
    with pytest.raises(DesignError, match="Say which is the baseline="):
        tally(strategies, "compare_strategies")
    with pytest.raises(DesignError, match="nothing to compare"):
        tally(strategies[strategies["strategy"] == "B0"], "compare_strategies")
    twice = pd.concat([strategies, strategies.iloc[[0]]])
    with pytest.raises(DesignError, match=r"judged twice in one order under one 'strategy' \(judge g, item 1"):
        tally(twice, "compare_strategies", baseline="B0")
    uneven = strategies.assign(n_identical=np.where(strategies["strategy"] == "B0", 1, 2))
    with pytest.raises(DesignError, match="different counts"):
        tally(uneven, "compare_strategies", baseline="B0")


def test_each_call_has_two_sides():
    calls = verdicts(choice=["first", "abstain", "invalid"])
    table = tally(calls, "preference_rate")
    found = {(r.candidate, r.outcome): r.n for r in table.itertuples()}
    assert found == {
        ("x", "win"): 1,
        ("x", "tie"): 1,
        ("x", "invalid"): 1,
        ("y", "loss"): 1,
        ("y", "tie"): 1,
        ("y", "invalid"): 1,
    }


def test_anchoring_counts_the_candidate_not_the_slot():
    calls = verdicts(choice=["first", "second", "tie"], probe="blind")
    turned = calls.assign(first="y", second="x", choice=["second", "first", "tie"])
    pd.testing.assert_frame_equal(tally(turned, "anchoring"), tally(calls, "anchoring"))
