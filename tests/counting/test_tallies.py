"""Counting: by brute force, in every engine, a tally of a tally is itself, and counts that are none are refused."""

from __future__ import annotations

import math
from collections import Counter

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument import instrument_calls, suited
from judgestats.counting.patterns import PATTERNS
from judgestats.counting.tallies import tally, units
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import BY_STRUCTURE, CLUSTERING_UNKNOWN, NOT_INDEPENDENT
from judgestats.kernels.proportions import wilson
from judgestats.metrics.bias import answer_rates, bias_score, consistency, preference_gap, preference_rate
from judgestats.metrics.psychometrics import delta0
from judgestats.schema.coding import codes_of, count_rows
from metrics.tables import random_calls, signed_calls
from refusals import refused

ENGINES = {
    "pandas": lambda t: t,
    "categories": lambda t: t.astype(dict.fromkeys(("judge", "item", "first", "second", "choice"), "category")),
    "polars": pl.from_pandas,
    "lazy polars": lambda t: pl.from_pandas(t).lazy(),
    "arrow": lambda t: pl.from_pandas(t).to_arrow(),
    "duckdb": duckdb.from_df,
}

CALL_AND_PAIR = [m for m, p in PATTERNS.items() if p.frame == "preferences"]


@pytest.fixture(scope="module")
def calls():
    both = [instrument_calls(judge=j, seed=s, tasks=4) for j, s in (("g", 0), ("h", 1))]
    return pd.concat(both, ignore_index=True)


def named(data, measure):
    """The control condition of a measure of changes."""
    across = PATTERNS[measure].across
    return str(data[across].iloc[0]) if across else None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("measure", CALL_AND_PAIR)
def test_every_engine_counts_the_same(calls, measure, engine):
    calls = suited(calls, measure)
    want = tally(calls, measure, by="task", baseline=named(calls, measure))
    got = tally(ENGINES[engine](calls), measure, by="task", baseline=named(calls, measure))
    pd.testing.assert_frame_equal(got, want, check_dtype=False)
    assert got.attrs == want.attrs


@pytest.mark.parametrize("measure", CALL_AND_PAIR)
def test_a_tally_of_a_tally_is_itself(calls, measure):
    data = suited(calls, measure)
    once = tally(data, measure, by="task", baseline=named(data, measure))
    pd.testing.assert_frame_equal(tally(once, measure, by="task"), once)
    assert tally(once, measure)["n"].sum() == once["n"].sum()


def test_pairs_by_brute_force(calls):
    want = Counter()
    for (judge, _), pair in calls[calls["stimulus"] == "same_subset"].groupby(["judge", "item"]):
        answers = pair.sort_values("first")["choice"].tolist()
        want[(judge, *answers)] += 1
    got = {tuple(r[:3]): r[3] for r in tally(calls, "delta0", cluster=False).itertuples(index=False)}
    assert got == dict(want)


def test_a_count_column_counts(calls):
    heavy = calls.assign(n_identical=3)
    pd.testing.assert_frame_equal(
        tally(heavy, "dark_current"), tally(calls, "dark_current").assign(n=lambda t: 3 * t["n"]), check_dtype=False
    )
    assert tally(heavy, "delta0")["n"].sum() == 3 * tally(calls, "delta0")["n"].sum()


def test_a_missing_order_and_an_invalid_call_are_patterns_of_their_own(calls):
    equal = calls[calls["stimulus"] == "same_subset"].reset_index(drop=True)
    equal.loc[0, "choice"] = "invalid"
    got = tally(equal.drop(index=3), "delta0")
    assert got["n"].sum() == tally(equal, "delta0")["n"].sum()
    assert {"missing", "invalid"} <= {*got["forward"], *got["reverse"]}


def test_units_are_the_tally_before_counting(calls):
    one = units(calls, "delta0").groupby(["judge", "forward", "reverse"]).size().reset_index(name="n")
    pd.testing.assert_frame_equal(one, tally(calls, "delta0", cluster=False), check_dtype=False)


def test_row_order_does_not_matter(calls):
    for measure in CALL_AND_PAIR:
        data = suited(calls, measure)
        mixed = data.sample(frac=1, random_state=1)
        of = named(data, measure)
        pd.testing.assert_frame_equal(tally(mixed, measure, baseline=of), tally(data, measure, baseline=of))


def test_a_missing_group_is_a_group(calls):
    some = calls.assign(language=np.where(calls["task"] == "t0", None, "en"))
    assert tally(some, "dark_current", by="language")["n"].sum() == tally(calls, "dark_current")["n"].sum()


def test_unknown_things_are_named(calls):
    refused(
        SchemaError,
        (lambda: tally(calls, "delta_0"), DesignError, "Did you mean 'delta0'"),
        (lambda: tally(calls, "delta0", by="tsk"), "by='tsk'"),
        (lambda: tally(calls, "gold_agreement"), DesignError, "gold_agreement needs gold"),
        (
            lambda: tally(pd.DataFrame({"judge": "g", "choice": ["tie"], "n": [-1]}), "dark_current"),
            "'n' is a count of calls",
        ),
        (
            lambda: tally(pd.DataFrame({"judge": "g", "forward": ["A"], "reverse": "tie", "n": [1]}), "delta0"),
            "'forward' has 'A'",
        ),
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=40
    )
)
def test_count_is_a_counter(rows):
    table = pd.DataFrame(rows, columns=["x", "y", "w"])
    want = Counter()
    for x, y, w in rows:
        want[(x, y)] += w
    got = {(None if pd.isna(r.x) else r.x, r.y): r.n for r in count_rows(table, ["x", "y"], "w").itertuples()}
    assert got == dict(want)
    codes = codes_of(table, ["x", "y"])
    assert codes.size == len(want)
    assert (codes.code[codes.first] == np.arange(codes.size)).all()


@pytest.mark.parametrize("rows", [50, 150_000])
def test_codes_of_small_and_large_tables_name_their_first_rows(rows):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.integers(0, 5, rows).astype(str), "y": rng.integers(0, 4, rows)})
    codes = codes_of(table, ["x", "y"])
    want = table.drop_duplicates()
    assert codes.size == len(want)
    np.testing.assert_array_equal(codes.first, want.index)
    named = table.iloc[codes.first].reset_index(drop=True).iloc[codes.code].reset_index(drop=True)
    pd.testing.assert_frame_equal(named, table)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("n", [-1.0, None, "x", math.inf])
def test_a_count_that_is_none_is_refused(n: object) -> None:
    bad = random_calls().assign(n_identical=1.0).astype({"n_identical": object})
    bad.loc[3, "n_identical"] = n
    bad = bad if isinstance(n, str) else bad.astype({"n_identical": float})
    measures = [bias_score, preference_rate, lambda d: preference_rate(d, graded=True)]
    measures += [lambda d: preference_gap(d, humans=["h"])]
    measures += [lambda d: bias_score(pl.from_pandas(d).lazy())] if n is None else []
    for measure in measures:
        with pytest.raises(SchemaError, match="'n_identical' is a count of calls"):
            measure(bad)


@pytest.mark.parametrize("n", [-1, None])
def test_a_lazy_count_that_is_none_is_refused(n: int | None) -> None:
    wrong = pl.when(pl.col("item") == "i3").then(n).otherwise(2)
    data = pl.from_pandas(random_calls()).with_columns(n_identical=wrong)
    with pytest.raises(SchemaError, match="'n_identical' is a count of calls"):
        tally(data.lazy(), "position_bias")
    whole = tally(data.with_columns(n_identical=pl.lit(2)).lazy(), "position_bias")
    assert nw.from_native(whole)["n"].sum() == 160


# ---- The interval of a tally ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [answer_rates, consistency, bias_score, delta0])
def test_a_tally_keeps_its_interval_as_long_as_it_keeps_its_cluster(measure, tmp_path):
    """Whatever becomes of the table: the interval lies in its columns, and in nothing beside them."""
    one = signed_calls(40).assign(stimulus="same_subset")
    calls = pd.concat([one, one.assign(first=one["first"] + "2", choice=np.roll(one["choice"], 5))], ignore_index=True)
    calls["target"] = calls["first"]  # two pairs of each item
    vendors = pd.DataFrame({"judge": ["g", "h"], "vendor": ["one", "two"]})
    want, counts = measure(calls), tally(calls, measure.__name__)
    assert want["method"].str.contains("clustered by item").any()
    assert "item" in counts
    counts.to_csv(tmp_path / "counts.csv", index=False)
    for same in (
        counts,
        pd.read_csv(tmp_path / "counts.csv", dtype={"item": str}),
        pd.concat([counts[counts["judge"] == judge] for judge in "hg"]),
        counts.merge(vendors).drop(columns="vendor"),
        counts.sample(frac=1, random_state=0),
    ):
        pd.testing.assert_frame_equal(measure(same), want)
    pd.testing.assert_frame_equal(
        measure(counts.merge(vendors), by="vendor"), measure(calls.merge(vendors), by="vendor")
    )
    alone = measure(counts.drop(columns="item"))
    pd.testing.assert_frame_equal(alone[["judge", "term", "estimate", "n"]], want[["judge", "term", "estimate", "n"]])
    assert not alone["method"].str.contains("clustered").any()
    zero = alone["flag"].str.contains(BY_STRUCTURE)
    assert (alone["flag"].str.contains(CLUSTERING_UNKNOWN) | zero).all()
    if measure is delta0:  # a rate over the calls of pairs
        pairs = alone["flag"].str.contains(NOT_INDEPENDENT)
        assert set(alone.loc[pairs, "term"]) >= {"raw_false_preference"}
    wilson_s = alone["method"] == "Wilson"
    assert wilson_s.any()
    low, high = wilson((alone["estimate"] * alone["n"])[wilson_s], alone["n"][wilson_s])
    np.testing.assert_allclose(alone.loc[wilson_s, ["conf_low", "conf_high"]], np.column_stack([low, high]), atol=1e-12)


# ---- Units beyond the call and the pair: one candidate of a call, one pair under two conditions ---------------------


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
    twice = pd.concat([strategies, strategies.iloc[[0]]])
    uneven = strategies.assign(n_identical=np.where(strategies["strategy"] == "B0", 1, 2))
    refused(
        DesignError,
        (lambda: tally(strategies, "compare_strategies", baseline="B1"), "baseline='B1' is not in 'strategy'"),
        (lambda: tally(strategies, "compare_strategies"), "Say which is the baseline="),
        (lambda: tally(strategies[strategies["strategy"] == "B0"], "compare_strategies"), "nothing to compare"),
        (
            lambda: tally(twice, "compare_strategies", baseline="B0"),
            r"judged twice in one order under one 'strategy' \(judge g, item 1",
        ),
        (lambda: tally(uneven, "compare_strategies", baseline="B0"), "different counts"),
    )


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
