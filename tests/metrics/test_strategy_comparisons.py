"""McNemar comparisons: against statsmodels and counts by hand, several tests, clusters."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

import judgestats as js
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import (
    DISCORDANT_ONLY,
    FEW_DISCORDANT,
    NO_DATA,
    NOT_INDEPENDENT,
)
from judgestats.kernels.proportions import newcombe_paired
from judgestats.metrics.bias import compare_strategies
from judgestats.metrics.bias.strategy_comparisons import Method, mcnemar_test
from judgestats.metrics.correctness import gold_agreement
from metrics.joint_outcomes import counted, crossed, verdicts
from metrics.tables import but_for_clustering
from refusals import refused


def test_agresti():
    """Approval of the prime minister (Agresti): 150 and 86 changed their minds, 794 and 570 did not."""
    statistic, p = mcnemar_test(150, 86, "asymptotic")
    assert (f"{statistic:.4f}", f"{p:.4e}") == ("17.3559", "3.0993e-05")
    assert round(mcnemar_test(150, 86)[0], 4) == 16.8178
    assert f"{mcnemar_test(150, 86)[1]:.4e}" == "4.1146e-05"
    assert mcnemar_test(150, 86, "exact")[1] == pytest.approx(3.71593614e-5, rel=1e-8)
    row = compare_strategies(counted(794, 150, 86, 570), baseline="B0").iloc[0]
    assert row["estimate"] == pytest.approx((86 - 150) / 1600)
    assert (row["accuracy_baseline"], row["accuracy_strategy"]) == (944 / 1600, 880 / 1600)
    assert (row["baseline_only"], row["strategy_only"], row["n"]) == (150, 86, 1600)
    low, high = newcombe_paired(794, 86, 150, 570)
    assert (row["conf_low"], row["conf_high"]) == (low, high)
    assert low < row["estimate"] < high < 0


@pytest.mark.parametrize(("b", "c"), [(3, 9), (9, 3), (0, 5), (1, 0), (12, 12), (40, 61)])
def test_against_statsmodels_and_the_binomial(b, c):
    table = [[0, b], [c, 0]]
    asymptotic, exact = mcnemar(table, exact=False, correction=False), mcnemar(table, exact=True)
    assert mcnemar_test(b, c, "asymptotic") == (asymptotic.statistic, asymptotic.pvalue)
    assert mcnemar_test(b, c, "exact") == (exact.statistic, exact.pvalue)
    points = binom.pmf(np.arange(b + c + 1), b + c, 0.5)
    far = np.abs(np.arange(b + c + 1) - (b + c) / 2)
    mid = points[far > far[b] + 1e-9].sum() + points[np.abs(far - far[b]) < 1e-9].sum() / 2
    assert mcnemar_test(b, c, "mid-p")[1] == pytest.approx(mid, rel=1e-10)
    if b != c:
        corrected = mcnemar(table, exact=False, correction=True)
        assert mcnemar_test(b, c) == (corrected.statistic, corrected.pvalue)


def test_nothing_to_tell_apart():
    for method in get_args(Method):
        assert mcnemar_test(0, 0, method)[1] == 1
    assert mcnemar_test(7, 7) == (0.0, 1.0)  # max(|b - c| - 1, 0)
    row = compare_strategies(counted(30, 0, 0, 10), baseline="B0").iloc[0]
    assert (row["p_value"], row["estimate"], row["survives"]) == (1, 0, False)
    assert row["conf_low"] < 0 < row["conf_high"]


def test_few_discordant_pairs_are_flagged_for_the_chi_square_only():
    assert compare_strategies(counted(60, 8, 16, 20), cluster=False, baseline="B0")["flag"].item() == FEW_DISCORDANT
    assert compare_strategies(counted(60, 8, 17, 20), cluster=False, baseline="B0")["flag"].item() == ""
    assert compare_strategies(counted(60, 8, 16, 20), method="mid-p", cluster=False, baseline="B0")["flag"].item() == ""


@pytest.mark.slow
@pytest.mark.parametrize("invalid", ["drop", "wrong", "tie"])
@pytest.mark.parametrize("ties", ["exact", "drop"])
def test_against_counting_by_hand(invalid, ties):
    calls = verdicts()
    got = compare_strategies(calls, invalid=invalid, ties=ties, baseline="B0").set_index(["judge", "strategy"])
    assert list(got.index) == [("g", "S1"), ("g", "S8"), ("h", "S1"), ("h", "S8")]
    truth = {"x": "first", "y": "second", "tie": "tie"}
    for (judge, strategy), row in got.iterrows():
        cells = dict.fromkeys([(True, True), (True, False), (False, True), (False, False)], 0)
        mine = calls[calls["judge"] == judge]
        for _, pair in mine[mine["strategy"].isin(["B0", strategy])].groupby("item"):
            right = []
            for r in pair.sort_values("strategy").itertuples():  # B0 before S
                answer = r.choice
                tie = (answer == "tie" and r.gold != "tie") or (answer == "invalid" and invalid == "tie")
                if (answer == "invalid" and invalid == "drop") or (tie and ties == "drop"):
                    continue
                right.append(answer == truth[r.gold])
            if len(right) == 2:
                cells[tuple(right)] += 1
        n = sum(cells.values())
        assert row["n"] == n
        assert (row["baseline_only"], row["strategy_only"]) == (cells[True, False], cells[False, True])
        assert row["estimate"] == pytest.approx((cells[False, True] - cells[True, False]) / n)
        assert ("not scored" in row["flag"]) == (n < 80)
    one = gold_agreement(calls[calls["strategy"] == "B0"], invalid="wrong").set_index(["judge", "term"])["estimate"]
    all_scored = compare_strategies(calls, invalid="wrong", baseline="B0").set_index("judge").loc["g"]
    np.testing.assert_allclose(all_scored["accuracy_baseline"], one["g", "accuracy"])


@pytest.mark.slow
def test_frame_tally_engine_order():
    calls = verdicts().drop(index=[3, 100, 170])
    whole = compare_strategies(calls, baseline="B0")
    counts = tally(calls, "compare_strategies", baseline="B0")
    counted = but_for_clustering(compare_strategies(counts, baseline="B0"))
    pd.testing.assert_frame_equal(counted, whole, check_dtype=False)
    for other in (pl.from_pandas(calls), pl.from_pandas(calls).lazy(), calls.sample(frac=1, random_state=2)):
        pd.testing.assert_frame_equal(compare_strategies(other, baseline="B0"), whole, check_dtype=False)
    assert "2 pairs under one only" in whole["flag"].iloc[0]


def test_turning_baseline_and_strategy_round_turns_the_sign():
    calls = verdicts(strategies="B0 S1")
    one, two = compare_strategies(calls, baseline="B0"), compare_strategies(calls, baseline="S1")
    np.testing.assert_allclose(one["estimate"], -two["estimate"])
    np.testing.assert_allclose(one["conf_low"], -two["conf_high"])
    np.testing.assert_allclose(one["p_value"], two["p_value"])
    assert list(two["baseline"]) == ["S1", "S1"]


def test_counts_and_repeats():
    calls = verdicts(strategies="B0 S1")
    once, thrice = (
        compare_strategies(calls, baseline="B0"),
        compare_strategies(calls.assign(n_identical=3), baseline="B0"),
    )
    np.testing.assert_allclose(thrice["baseline_only"], 3 * once["baseline_only"])
    repeats = pd.concat([calls.assign(replicate=r) for r in range(2)])
    assert compare_strategies(repeats, cluster=False, baseline="B0")["flag"].str.contains(NOT_INDEPENDENT).all()
    with pytest.raises(DesignError, match="judged twice"):
        compare_strategies(pd.concat([calls, calls]), baseline="B0")


def test_a_strategy_without_a_scored_pair():
    calls = verdicts(strategies="B0 S1", judges="g")
    calls.loc[calls["strategy"] == "S1", "choice"] = "invalid"
    row = compare_strategies(calls, baseline="B0").iloc[0]
    assert row[["estimate", "p_value", "p_adjusted"]].isna().all()
    assert not row["survives"]
    assert NO_DATA in row["flag"]


def many() -> pd.DataFrame:
    pairs = [(23, 69), (17, 47), (33, 62), (12, 31), (27, 45)]
    return pd.concat([counted(200, b, c, 100, judge=f"j{i}") for i, (b, c) in enumerate(pairs)])


@pytest.mark.slow
def test_holm_over_more_tests_than_are_shown():
    got = compare_strategies(many(), n_tests=20, baseline="B0")
    p = got["p_value"].to_numpy()
    factors = [20, 19, 18, 17, 16]
    by_hand = np.minimum(1, np.maximum.accumulate(np.sort(p) * factors))
    np.testing.assert_allclose(np.sort(got["p_adjusted"]), by_hand)
    assert list(got["survives"]) == [True, True, False, False, False]
    assert set(got["adjustment"]) == {"holm, m = 20"}
    np.testing.assert_allclose(
        compare_strategies(many(), baseline="B0")["p_adjusted"], multipletests(p, method="holm")[1]
    )
    assert list(compare_strategies(many(), baseline="B0")["survives"]) == [True, True, True, True, True]


@pytest.mark.parametrize("adjust", ["bonferroni", "fdr_bh", "hommel", "simes-hochberg"])
def test_other_corrections_are_statsmodels(adjust):
    got = compare_strategies(many(), adjust=adjust, n_tests=9, baseline="B0")
    padded = np.r_[got["p_value"], np.ones(4)]
    np.testing.assert_allclose(got["p_adjusted"], multipletests(padded, method=adjust)[1][:5])


def test_no_correction():
    got = compare_strategies(many(), adjust="none", n_tests=20, baseline="B0")
    np.testing.assert_array_equal(got["p_adjusted"], got["p_value"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_tests": 3}, r"n_tests=3 is less than the 5 tests made"),
        ({"method": "fisher"}, r"method='fisher' is not known"),
        ({"adjust": "holms"}, r"adjust='holms' is not known.*Did you mean 'holm'"),
        ({"ties": "half"}, r"ties='half' is not known. Allowed: 'exact', 'drop'"),
        ({"invalid": "half"}, r"invalid='half' is not known"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(DesignError, match=message):
        compare_strategies(many(), **options, baseline="B0")


@pytest.mark.slow
def test_discordant_pairs_give_the_test_and_with_their_total_the_difference():
    counts = counted(0, 23, 69, 0).iloc[1:3]
    row = compare_strategies(counts, cluster=False, baseline="B0").iloc[0]
    assert round(row["statistic"], 2) == 22.01
    assert row[["estimate", "conf_low", "n", "accuracy_baseline"]].isna().all()
    assert row["flag"] == DISCORDANT_ONLY
    full = compare_strategies(counted(209, 23, 69, 99), baseline="B0").iloc[0]
    for known in (
        compare_strategies(counts, pairs=400, baseline="B0"),
        compare_strategies(counts.assign(all=400), pairs="all", baseline="B0"),
    ):
        row = known.iloc[0]
        assert (row["estimate"], row["n"], row["method"]) == (46 / 400, 400, "Agresti-Min, paired")
        assert row["std_error"] == full["std_error"]
        assert row["conf_low"] == pytest.approx(full["conf_low"], abs=0.003)
        assert row["conf_high"] == pytest.approx(full["conf_high"], abs=0.003)
    none = compare_strategies(counts.assign(n=0), pairs=400, baseline="B0").iloc[0]
    assert (none["p_value"], none["estimate"], none["n"]) == (1, 0, 400)
    assert none["conf_low"] < 0 < none["conf_high"]
    with pytest.raises(DesignError, match="pairs=90 is less than the 92"):
        compare_strategies(counts, pairs=90, baseline="B0")


def test_a_frame_without_concordant_pairs_is_complete():
    calls = verdicts(2, strategies="B0 S1", judges="g").assign(gold="x")
    calls["choice"] = ["first", "second", "second", "first"]
    row = compare_strategies(calls, baseline="B0").iloc[0]
    assert (row["estimate"], row["n"], row["baseline_only"], row["strategy_only"]) == (0, 2, 1, 1)
    counted = compare_strategies(tally(calls, "compare_strategies", baseline="B0"), baseline="B0").iloc[
        0
    ]  # may have left them out
    assert "discordant pairs only" in counted["flag"]
    assert math.isnan(counted["estimate"])
    assert (counted["statistic"], counted["p_value"]) == (row["statistic"], row["p_value"])


def of_items(rng, items=80, size=5, joint=(0.5, 0.1, 0.1, 0.3)):
    """Pairs of each item right under B0 and S8, the four joint answers alike within an item."""
    rows = []
    for i in range(items):
        shares = rng.dirichlet(np.array(joint) * 7 / 3)
        for k, cell in enumerate(rng.choice(4, size, p=shares)):
            for strategy, right in (("B0", cell in (0, 1)), ("S8", cell in (0, 2))):
                rows.append(("g", f"i{i}", "x", f"y{k}", "first" if right else "second", "x", strategy))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold", "strategy"])


def test_pairs_of_an_item_are_clustered_without_being_asked():
    calls = of_items(np.random.default_rng(1))
    found, apart = (
        compare_strategies(calls, baseline="B0").iloc[0],
        compare_strategies(calls, cluster=False, baseline="B0").iloc[0],
    )
    assert found["method"] == "Tango, paired, clustered by item (G = 80)"
    assert apart["method"] == "Newcombe, paired"
    assert "calls not independent" in apart["flag"]
    assert found["conf_high"] - found["conf_low"] > 1.2 * (apart["conf_high"] - apart["conf_low"])
    assert found["p_value"] > apart["p_value"]
    assert compare_strategies(tally(calls, "compare_strategies", baseline="B0"), baseline="B0").iloc[0].equals(found)
    sums = calls.assign(right=calls["choice"] == "first").pivot_table("right", "item", "strategy", "sum")
    gap = (sums["S8"] - sums["B0"]) / 5
    assert found["estimate"] == pytest.approx(gap.mean())
    assert found["std_error"] == pytest.approx(gap.sem())


@pytest.mark.slow
def test_the_interval_leaves_out_0_where_the_clustered_test_rejects():
    rng = np.random.default_rng(2)
    rejected = 0
    for _ in range(40):
        row = compare_strategies(of_items(rng, 30, 3, joint=(0.4, 0.08, 0.22, 0.3)), baseline="B0").iloc[0]
        assert (row["p_value"] < 0.05) == (row["conf_low"] > 0 or row["conf_high"] < 0)
        rejected += row["p_value"] < 0.05
    assert 3 < rejected < 37


def test_tests_that_count_pairs_one_by_one_know_no_clusters():
    calls = of_items(np.random.default_rng(3))
    row = compare_strategies(calls, method="exact", baseline="B0").iloc[0]
    assert row["method"] == "Newcombe, paired"
    assert "calls not independent" in row["flag"]
    with pytest.raises(DesignError, match="does not allow for clusters"):
        compare_strategies(calls, method="exact", cluster="item", baseline="B0")


def test_a_table_of_counts_is_unknown():
    assert "clustering unknown" in compare_strategies(counted(209, 23, 69, 99), baseline="B0")["flag"].item()
    assert compare_strategies(counted(209, 23, 69, 99), cluster=False, baseline="B0")["flag"].item() == ""


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"conf_level": 95}, DesignError, "conf_level=95 must be between 0 and 1"),
        ({"n_tests": 20.5}, DesignError, r"n_tests=20\.5 is not a number of tests. Allowed: a whole number"),
        ({"n_tests": "20"}, DesignError, "n_tests='20' is not a number of tests"),
    ],
)
def test_options_of_a_comparison(options, error, message):
    with pytest.raises(error, match=message):
        compare_strategies(crossed("S8", [200, 20, 80, 100]), **options, baseline="B0")


def discordant(n: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {"judge": "g", "strategy": "S8", "baseline": ["correct", "wrong"], "outcome": ["wrong", "correct"], "n": n}
    )


def test_strategies_that_cannot_be_compared_are_refused():
    refused(
        DesignError,
        (
            lambda: compare_strategies(verdicts(strategies="P0 S1"), baseline="B0"),
            r"baseline='B0' is not in 'strategy'. It has: P0, S1",
        ),
        (
            lambda: compare_strategies(discordant([3, 9]).assign(all="many"), pairs="all", baseline="B0"),
            SchemaError,
            "pairs='all' contains text where a number of pairs belongs: 'many'",
        ),
    )


@pytest.mark.parametrize("method", ["exact", "mid-p"])
def test_exact_tests_take_whole_counts_only(method):
    refused(
        DesignError,
        (
            lambda: mcnemar_test(2.5, 8, method),
            rf"method='{method}' counts whole pairs, and there are 2\.5 and 8",
        ),
        (
            lambda: compare_strategies(discordant([2.5, 8]), method=method, baseline="B0"),
            SchemaError,
            "'n' counts identical rows: it is not whole in 1 of 2 rows",
        ),
    )
    assert mcnemar_test(2.5, 8, "asymptotic")[0] == pytest.approx(5.5**2 / 10.5)
    assert 0 < mcnemar_test(2.0, 8.0, method)[1] < 1


@pytest.mark.parametrize(("n", "end"), [([0, 3], "conf_high"), ([3, 0], "conf_low")])
def test_a_difference_does_not_leave_its_range(n, end):
    got = compare_strategies(discordant(n), pairs=3, baseline="B0").iloc[0]
    assert got["method"] == "Agresti-Min, paired"
    assert abs(got[end]) == 1
    assert -1 <= got["conf_low"] < got["conf_high"] <= 1


def test_a_strategy_that_was_never_run_is_no_test():
    calls = pd.DataFrame(
        [
            {"judge": j, "strategy": s, "item": str(i), "first": "x", "second": "y", "gold": "x", "choice": c}
            for j, s, right in (("g", "B0", 20), ("g", "S1", 30), ("g", "S8", 25), ("h", "B0", 20), ("h", "S1", 28))
            for i in range(40)
            for c in ["first" if i < right else "second"]
        ]
    )
    table = js.compare_strategies(calls, baseline="B0")
    made = table["p_value"].notna()
    assert made.sum() == 3
    assert set(table.loc[made, "adjustment"]) == {"holm, m = 3"}
    assert set(js.compare_strategies(calls, n_tests=20, baseline="B0").loc[made, "adjustment"]) == {"holm, m = 20"}
    with pytest.raises(DesignError, match="n_tests=2 is less than the 3 tests made"):
        js.compare_strategies(calls, n_tests=2, baseline="B0")
