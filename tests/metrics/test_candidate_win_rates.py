"""Win rates: rules by brute force, graded strengths, clusters and bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import FORCED_CHOICE, NO_DATA, NO_SPREAD, NOT_INDEPENDENT
from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.metrics.bias import preference_rate
from judgestats.results import COLUMNS
from metrics.tables import random_calls
from refusals import refused

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]


SCORE = {"first": 1.0, "second": 0.0, "tie": 0.5, "abstain": 0.5}


def calls_among_three(seed: int = 0, n: int = 90) -> pd.DataFrame:
    """Three candidates among each other, both judges, some without an answer, graded."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge in "gh":
        for i in range(n):
            first, second = rng.permutation(list("xyz"))[:2]
            choice = rng.choice(["first", "second", "tie", "abstain", "invalid"], p=[0.4, 0.3, 0.1, 0.1, 0.1])
            strength = {"first": rng.uniform(0, 0.5), "second": rng.uniform(0.5, 1)}.get(choice, 0.5)
            rows.append(
                {
                    "judge": judge,
                    "item": str(i % 30),
                    "replicate": i // 30,
                    "first": first,
                    "second": second,
                    "choice": choice,
                    "strength": math.nan if choice == "invalid" else strength,
                }
            )
    return pd.DataFrame(rows)


def by_hand(calls: pd.DataFrame, ties: str, invalid: str) -> dict[tuple[str, str], list[float]]:
    """What each call is worth to each of its candidates, a row at a time."""
    worth: dict[tuple[str, str], list[float]] = {}
    for row in calls.to_dict("records"):
        for slot, other in (("first", "second"), ("second", "first")):
            mine = worth.setdefault((row["judge"], row[slot]), [])
            choice = row["choice"]
            if choice == "invalid" and invalid == "tie":
                choice = "tie"
            if choice == "invalid":
                if invalid == "wrong":
                    mine.append(0.0)
            elif choice in (slot, other):
                mine.append(float(choice == slot))
            elif ties != "drop":
                mine.append(0.5 if ties == "half" else 0.0)
    return worth


@pytest.mark.parametrize("ties", ["half", "drop", "exact"])
@pytest.mark.parametrize("invalid", ["drop", "wrong", "tie"])
def test_every_rule_by_brute_force(ties, invalid):
    calls = calls_among_three()
    result = preference_rate(calls, ties=ties, invalid=invalid, cluster=False)
    assert result.columns.tolist() == ["judge", "candidate", *COLUMNS]
    rates = result[result["term"] == "win_rate"].set_index(["judge", "candidate"])
    expected = by_hand(calls, ties, invalid)
    assert len(expected) == len(rates) == 6
    for key, worth in expected.items():
        assert rates.loc[key, ["estimate", "n"]].tolist() == pytest.approx([np.mean(worth), len(worth)])
        low, high = wilson(sum(worth), len(worth))
        assert rates.loc[key, ["conf_low", "conf_high"]].tolist() == pytest.approx([float(low), float(high)])


def test_shares_add_up_and_halves_sum_to_half_the_calls():
    calls = calls_among_three()
    wide = preference_rate(calls).pivot(index=["judge", "candidate"], columns="term", values="estimate")
    assert wide[["win", "loss", "tie", "invalid"]].sum(axis=1).tolist() == pytest.approx([1.0] * 6)
    rates = preference_rate(calls).query("term == 'win_rate'")
    valid = calls[calls["choice"] != "invalid"].groupby("judge").size()
    won = (rates["estimate"] * rates["n"]).groupby(rates["judge"]).sum()
    assert won.tolist() == pytest.approx(valid.tolist()), "each call hands out one win"


@pytest.mark.parametrize("graded", [False, True])
def test_the_order_of_slots_does_not_matter(graded):
    calls = calls_among_three()
    turned = calls.assign(
        first=calls["second"],
        second=calls["first"],
        choice=calls["choice"].replace({"first": "second", "second": "first"}),
        strength=1 - calls["strength"],
        order_known=False,
    )
    one, two = preference_rate(calls, graded=graded), preference_rate(turned, graded=graded)
    np.testing.assert_allclose(two[NUMBERS], one[NUMBERS], rtol=1e-12)


def test_frame_tally_engines_and_row_order():
    calls = calls_among_three()
    whole = preference_rate(calls)
    counts = tally(calls, "preference_rate")
    assert set(counts.columns) == {"judge", "candidate", "item", "outcome", "n"}
    pd.testing.assert_frame_equal(preference_rate(counts), whole)
    pd.testing.assert_frame_equal(preference_rate(calls.sample(frac=1, random_state=1)), whole)
    pd.testing.assert_frame_equal(preference_rate(pl.from_pandas(calls).lazy()), whole, check_dtype=False)
    graded = preference_rate(calls, graded=True)
    mixed = preference_rate(pl.from_pandas(calls.sample(frac=1, random_state=1)).lazy(), graded=True)
    pd.testing.assert_frame_equal(mixed, graded, check_dtype=False)


def test_of_takes_some_candidates():
    calls = calls_among_three()
    whole = preference_rate(calls)
    for graded in (False, True):
        whole = preference_rate(calls, graded=graded)
        for of in ("x", ["x", "z"]):
            part = preference_rate(calls, of=of, graded=graded)
            pd.testing.assert_frame_equal(part, whole[whole["candidate"].isin(list(of))].reset_index(drop=True))


def test_a_graded_rate_is_a_mean_with_its_error():
    calls = calls_among_three()
    result = (
        preference_rate(calls, graded=True, cluster=False).query("term == 'win_rate'").set_index(["judge", "candidate"])
    )
    for judge, candidate in result.index:
        mine = calls[(calls["judge"] == judge) & calls["strength"].notna()]
        values = np.concatenate(
            [1 - mine.loc[mine["first"] == candidate, "strength"], mine.loc[mine["second"] == candidate, "strength"]]
        )
        row = result.loc[(judge, candidate)]
        assert row[["estimate", "n"]].tolist() == pytest.approx([values.mean(), values.size])
        assert row["std_error"] == pytest.approx(values.std(ddof=1) / math.sqrt(values.size))
        # each call a cluster of its own
        _, low, high = clustered_wilson(values, np.ones(values.size))
        assert row["conf_low"] > low
        assert row["conf_high"] < high, "the normal quantile, not t"
        assert (row["conf_low"], row["conf_high"]) == pytest.approx((low, high), abs=0.01)


def test_graded_rates_of_plain_choices_are_half_ties():
    calls = calls_among_three()
    plain = calls.assign(strength=1 - calls["choice"].map(SCORE))
    graded = preference_rate(plain, graded=True, cluster=False).query("term == 'win_rate'")
    half = preference_rate(plain, cluster=False).query("term == 'win_rate'")
    np.testing.assert_allclose(graded[["estimate", "n"]], half[["estimate", "n"]])
    assert (graded["std_error"].to_numpy() < half["std_error"].to_numpy()).all(), "a half is nearer to the mean"
    for invalid, worth in (("wrong", 0.0), ("tie", 0.5)):
        filled = preference_rate(plain, graded=True, invalid=invalid).query("term == 'win_rate'")
        bad = preference_rate(plain).query("term == 'invalid'")
        total = bad["n"].to_numpy()
        lost = bad["estimate"].to_numpy() * total
        expected = (half["estimate"].to_numpy() * half["n"].to_numpy() + worth * lost) / total
        np.testing.assert_allclose(filled["estimate"], expected)


@pytest.mark.parametrize("graded", [False, True])
def test_a_row_may_carry_a_count(graded):
    calls = calls_among_three()
    repeated = pd.concat([calls, calls[calls["judge"] == "g"]])
    counted = calls.assign(n_identical=np.where(calls["judge"] == "g", 2, 1))
    pd.testing.assert_frame_equal(preference_rate(counted, graded=graded), preference_rate(repeated, graded=graded))


@pytest.mark.parametrize("graded", [False, True])
def test_clusters_and_bootstrap(graded):
    calls = calls_among_three(n=300)
    plain = preference_rate(calls, graded=graded, cluster=False).query("term == 'win_rate'")
    assert plain["flag"].str.contains(NOT_INDEPENDENT).all()
    clustered = preference_rate(calls, graded=graded).query("term == 'win_rate'")
    assert clustered["method"].str.contains(r"clustered by item \(G = 30(?:, worth 2[6-9])?\)").all()
    assert not clustered["flag"].str.contains(NOT_INDEPENDENT).any()
    drawn = preference_rate(calls, graded=graded, cluster="item", interval="percentile").query("term == 'win_rate'")
    np.testing.assert_allclose(drawn["std_error"], clustered["std_error"], rtol=0.1)
    np.testing.assert_allclose(drawn["estimate"], plain["estimate"])
    free = preference_rate(calls, graded=graded, interval="percentile", n_resamples=10_000).query("term == 'win_rate'")
    np.testing.assert_allclose(free[["conf_low", "conf_high"]], plain[["conf_low", "conf_high"]], atol=0.035)


def test_the_same_strength_throughout_and_no_strength_at_all():
    calls = pd.DataFrame({"judge": "g", "item": list("abcd"), "first": "x", "second": "y", "choice": "first"})
    flat = preference_rate(calls.assign(strength=0.25), graded=True, of="x").iloc[0]
    assert flat["estimate"] == 0.75
    assert math.isnan(flat["conf_low"])
    assert NO_SPREAD in flat["flag"]
    sure = preference_rate(calls.assign(strength=0.0), graded=True, of="x").iloc[0]
    assert (sure["estimate"], sure["conf_high"]) == (1.0, 1.0)
    assert sure["conf_low"] == pytest.approx(float(wilson(4, 4)[0]))
    none = preference_rate(calls.assign(strength=0.0, choice="invalid"), graded=True, of="x").iloc[0]
    assert math.isnan(none["estimate"])
    assert none["flag"] == NO_DATA
    assert preference_rate(calls.assign(choice="tie"), ties="drop").iloc[0]["flag"] == f"4 ties excluded; {NO_DATA}"


def test_forced_choices_are_flagged():
    calls = calls_among_three().replace({"choice": {"tie": "first", "abstain": "first"}}).assign(ties_allowed=False)
    result = preference_rate(calls)
    assert set(result.loc[result["flag"].str.contains(FORCED_CHOICE), "term"]) == {"tie"}


def test_what_a_preference_rate_refuses():
    calls = calls_among_three()
    refused(
        DesignError,
        (lambda: preference_rate(calls, of="xx"), r"of='xx' is not a candidate\. Candidates: x, y, z\."),
        (lambda: preference_rate(calls.drop(columns="strength"), graded=True), "there is no such column"),
        (lambda: preference_rate(tally(calls, "preference_rate"), graded=True), "there is no such column"),
        (
            lambda: preference_rate(calls.assign(strength=calls["strength"].where(calls.index != 0, 2.0)), graded=True),
            r"'strength' is 2\.0 in 1 rows\. Allowed: 0",
        ),
        (lambda: preference_rate(calls, ties="lose"), "ties='lose' is not known"),
        (lambda: preference_rate(calls, invalid="half"), "invalid='half' is not known"),
        (lambda: preference_rate(calls.assign(choice="A")), SchemaError, "'choice' has 'A'"),
        (lambda: preference_rate(calls.drop(columns="choice")), "preference_rate needs choice"),
    )


@pytest.mark.parametrize("column", ["first", "second"])
def test_a_candidate_that_is_missing_is_refused(column: str) -> None:
    bad = random_calls()
    bad[column] = bad[column].where(np.arange(len(bad)) > 2, None)
    with pytest.raises(SchemaError, match="missing in 3 of 80 rows"):
        preference_rate(bad)
