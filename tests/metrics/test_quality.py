"""Quality and agreement over systems, and the order of tiers: brute force, ties, what is left out."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import spearmanr

from judgestats import agreement_slope
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.agreement import correlation, ordering_accuracy, quality_agreement
from metrics.tables import panel_of_two_conditions
from refusals import refused


def panel(seed=0, n=9):
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        for i in range(20):
            truth = k + rng.normal()
            for j in "xyz":
                score = truth + (0.3 + 0.3 * k) * rng.normal()
                rows.append((j, f"s{k}", f"i{i}", ("Base", "Instruct", "Thinking")[k % 3], score))
    return pd.DataFrame(rows, columns=["judge", "system", "item", "tier", "score"])


def test_ratings_are_reduced_to_a_mean_and_a_correlation_each():
    table = panel()
    got = quality_agreement(table, within="tier")
    r = correlation(table, n_resamples=10).set_index("system")["estimate"]
    mean = table.groupby("system")["score"].mean()
    rho, p = stats.spearmanr(mean, r.loc[mean.index])
    assert got.loc[0, ["estimate", "p_value", "n"]].tolist() == pytest.approx([rho, p, 9])
    assert rho < -0.5  # the better, the noisier, by construction
    known = pd.DataFrame({"system": mean.index, "mean_score": mean.to_numpy(), "r": r.loc[mean.index].to_numpy()})
    pd.testing.assert_frame_equal(quality_agreement(known), got.iloc[:1].drop(columns="tier"), check_dtype=False)
    shuffled = pl.from_pandas(table.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(quality_agreement(shuffled, within="tier"), got)


def test_a_system_without_a_value_is_told_of_and_few_have_no_interval():
    table = pd.DataFrame({"mean_score": [1, 2, 3, 4.0], "r": [0.9, np.nan, 0.8, 0.85]})
    row = quality_agreement(table).iloc[0]
    assert row["n"] == 3
    assert "1 system without a value excluded" in row["flag"]
    assert np.isnan(row["conf_low"])


def test_a_table_of_neither_kind_is_refused():
    refused(
        SchemaError,
        (lambda: quality_agreement(pd.DataFrame({"mean_score": [1.0]})), "lacks r"),
        (
            lambda: quality_agreement(pd.concat([panel(), panel(1).assign(tier="Base")]), within="tier"),
            "several values of 'tier'",
        ),
    )


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 5)), min_size=2, max_size=14))
def test_ordering_is_brute_force_and_ties_are_wrong(rows):
    table = pd.DataFrame(rows, columns=["tier", "mean_score"])
    if table["tier"].nunique() < 2:
        with pytest.raises(DesignError, match="Fewer than two of the tiers"):
            ordering_accuracy(table, order="abc")
        return
    pairs = [(x, y) if x[0] < y[0] else (y, x) for x, y in combinations(rows, 2) if x[0] != y[0]]
    right = sum(low[1] < high[1] for low, high in pairs)
    got = ordering_accuracy(table, order="abc", n_resamples=20)
    assert got.loc[0, ["correct", "n"]].tolist() == [right, len(pairs)]
    assert got.loc[0, "estimate"] == pytest.approx(right / len(pairs))
    assert got["correct"][1:].sum() == right
    turned = ordering_accuracy(table.assign(mean_score=-table["mean_score"]), order="cba", n_resamples=20)
    assert turned.loc[0, "correct"] == right


def test_ordering_of_ratings_and_of_each_judge():
    table = panel()
    means = table.groupby(["system", "tier"])["score"].mean().rename("mean_score").reset_index()
    expected = ordering_accuracy(means, n_resamples=50)
    pd.testing.assert_frame_equal(ordering_accuracy(table, n_resamples=50), expected)
    each = ordering_accuracy(table, by="judge", n_resamples=50)
    for judge, part in table.groupby("judge"):
        own = part.groupby(["system", "tier"])["score"].mean().rename("mean_score").reset_index()
        value = each[(each["judge"] == judge) & (each["lower"] == "")]["correct"].item()
        assert value == ordering_accuracy(own, n_resamples=50)["correct"].iloc[0]


def test_a_perfect_order_has_no_interval_and_other_tiers_are_told_of():
    table = pd.DataFrame({"tier": ["a", "a", "b", "b", "z"], "mean_score": [1, 2, 3, 4, 0.0]})
    row = ordering_accuracy(table, order=("a", "b")).iloc[0]
    assert row["estimate"] == 1
    assert np.isnan(row["conf_low"])
    assert "all resamples equal" in row["flag"]
    assert "1 system of other tiers" in row["flag"]
    refused(
        DesignError,
        ({"order": ("a", "a")}, "each once"),
        ({"tier": "teir"}, SchemaError, "Did you mean 'tier'"),
        of=lambda options: ordering_accuracy(table, **options),
    )


def test_the_bootstrap_of_systems_has_the_spread_of_the_u_statistic():
    """Two tiers of 12: the sd of the share over fresh samples is that of the bootstrap, within a quarter."""
    rng = np.random.default_rng(0)

    def sample():
        return pd.DataFrame(
            {"tier": ["a"] * 12 + ["b"] * 12, "mean_score": np.r_[rng.normal(0, 1, 12), rng.normal(0.8, 1, 12)]}
        )

    rows = [ordering_accuracy(sample(), order=("a", "b"), n_resamples=300).iloc[0] for _ in range(120)]
    true = np.std([r["estimate"] for r in rows], ddof=1)
    assert np.mean([r["std_error"] for r in rows]) == pytest.approx(true, rel=0.25)


FEW = {"n_resamples": 40}

WAYS = ["condition", "temperature"]


def test_ordering_of_tied_systems():
    # one mean written two ways: 0.3 and 0.1 + 0.2
    table = pd.DataFrame({"system": ["x", "y"], "tier": ["Base", "Instruct"], "mean_score": [0.3, 0.1 + 0.2]})
    assert ordering_accuracy(table, **FEW)["estimate"].iloc[0] == 0


def test_quality_of_tied_systems():
    table = pd.DataFrame({"system": list("abcd"), "mean_score": [0.3, 0.1 + 0.2, 0.1, 0.9], "r": [0.1, 0.4, 0.2, 0.3]})
    truth = spearmanr([2, 2, 1, 3], table["r"])[0]
    assert quality_agreement(table)["estimate"].item() == pytest.approx(truth, abs=1e-12)


def test_pairs_left_out_of_a_slope_and_of_quality_are_counted():
    table = panel_of_two_conditions()
    table.loc[(table["judge"] == "a") & (table["temperature"] == 1.0) & (table["system"] == "s1"), "score"] = 5.0
    assert "2 pairs undefined" in agreement_slope(table, average_over="condition", **FEW)["flag"].item()
    told = quality_agreement(table, by=WAYS).set_index("temperature")["flag"]
    assert told.loc[1.0].str.contains("2 pairs undefined").all()
    assert not told.loc[0.0].str.contains("undefined").any()


def test_a_tier_of_one_system():
    tiers = ["Base", "Instruct", "Instruct"]
    table = pd.DataFrame({"system": list("abc"), "tier": tiers, "mean_score": [2.0, 1.0, 3.0]})
    assert "a stratum has one unit" in ordering_accuracy(table, **FEW)["flag"].iloc[0]


def test_a_system_counts_once():
    table = pd.DataFrame({"system": ["a", "b"] * 2, "tier": ["Base", "Instruct"] * 2, "mean_score": 1.0, "r": 0.5})
    for measure in (quality_agreement, ordering_accuracy):
        with pytest.raises(SchemaError, match="'a' has several rows"):
            measure(table)
        measure(table.assign(language=["EN", "EN", "ZH", "ZH"]), by="language")


def test_ordering_of_a_group_without_two_tiers():
    table = pd.DataFrame({"system": list("abc"), "tier": ["Base", "Instruct", "Base"], "mean_score": [1.0, 2.0, 3.0]})
    got = ordering_accuracy(table.assign(language=["EN", "EN", "ZH"]), by="language", **FEW)
    row = got[got["language"] == "ZH"].iloc[0]
    assert np.isnan(row["estimate"])
    assert row["flag"] == "no data"
