"""What a hostile reading of the agreement levels found: ties of rounded means, lost rows, unhelpful errors."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

from judgestats import (
    agreement_levels,
    agreement_shift,
    agreement_slope,
    correlation,
    disagreement,
    ordering_accuracy,
    quality_agreement,
    rubric_share,
    score_distribution,
    shift_heterogeneity,
    shift_tests,
)
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels import correlation as kernel

FEW = {"n_resamples": 40}
WAYS = ["condition", "temperature"]


def panel(items=12, systems=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        {"judge": j, "system": f"s{s}", "item": str(i), "condition": c, "temperature": t, "score": rng.normal()}
        for j in "abc"
        for s in range(systems)
        for i in range(items)
        for c in ("old", "new")
        for t in (0.0, 1.0)
    ]
    return pd.DataFrame(rows)


def runs(seed=1):
    """Three runs of whole numbers each: their means tie often, and differ in the last bit by the order of the runs."""
    rng = np.random.default_rng(seed)
    rows = [
        {"judge": j, "system": "s", "item": str(i), "replicate": k, "score": float(v)}
        for j in "ab"
        for i in range(60)
        for k, v in enumerate(rng.integers(1, 6, 3))
    ]
    return pd.DataFrame(rows)


class TestTies:
    def test_means_that_differ_by_rounding_are_tied(self):
        table = runs()
        sums = table.groupby(["judge", "item"])["score"].sum().unstack("judge")
        truth = spearmanr(sums["a"], sums["b"])[0]
        for seed in range(3):
            mixed = table.sample(frac=1, random_state=seed)
            got = correlation(mixed, method="spearman", pairs="each")["estimate"].item()
            assert got == pytest.approx(truth, abs=1e-12)

    def test_both_rankings(self):
        x = np.array([0.3, 0.1 + 0.2, 0.1, 2.0, np.nan])
        expected = [2.5, 2.5, 1.0, 4.0]
        np.testing.assert_array_equal(kernel.average_ranks(x)[:4], expected)
        np.testing.assert_array_equal(kernel.weighted_ranks(x[:4], np.ones((1, 4)))[0], expected)
        plain = np.random.default_rng(0).integers(0, 5, 30).astype(float)
        np.testing.assert_array_equal(kernel.weighted_ranks(plain, np.ones((1, 30)))[0], rankdata(plain))

    def test_order_of_tiers(self):
        # one mean written two ways: 0.3 and 0.1 + 0.2
        table = pd.DataFrame({"system": ["x", "y"], "tier": ["Base", "Instruct"], "mean_score": [0.3, 0.1 + 0.2]})
        assert ordering_accuracy(table, **FEW)["estimate"].iloc[0] == 0

    def test_quality_of_tied_systems(self):
        table = pd.DataFrame(
            {"system": list("abcd"), "mean_score": [0.3, 0.1 + 0.2, 0.1, 0.9], "r": [0.1, 0.4, 0.2, 0.3]}
        )
        truth = spearmanr([2, 2, 1, 3], table["r"])[0]
        assert quality_agreement(table)["estimate"].item() == pytest.approx(truth, abs=1e-12)


class TestNothingLost:
    def test_distribution_keeps_items_of_no_cluster(self):
        rng = np.random.default_rng(2)
        table = pd.DataFrame(
            {"judge": "a", "system": "s", "item": [str(i) for i in range(40)], "score": rng.normal(size=40)}
        )
        table["task"] = [None] * 10 + ["x"] * 15 + ["y"] * 15
        got = score_distribution(table, cluster="task", **FEW).set_index("term")["estimate"]
        assert got["mean"] == pytest.approx(table["score"].mean())
        assert got["sd"] == pytest.approx(table["score"].std())

    def test_scores_missing_at_the_system_level(self):
        table = panel()
        table.loc[(table["judge"] == "a") & (table["item"] == "3"), "score"] = np.nan
        for pairs in ("mean", "each"):
            got = correlation(table, level="system", pairs=pairs, average_over=WAYS, **FEW)
            assert got["flag"].str.contains("3 scores missing").all()

    def test_correlations_of_one_side(self):
        table = panel()
        table.loc[(table["judge"] == "a") & (table["condition"] == "new"), "score"] = 5.0
        gone = table[~((table["item"] == "0") & (table["condition"] == "new"))]
        options = {"average_over": "temperature", **FEW}
        shifts = shift_heterogeneity(gone, ("old", "new"), across="system", **options)
        share = rubric_share(*(gone[gone["condition"] == c] for c in ("old", "new")), **options)
        for result in (shifts, share):
            assert result["flag"].str.contains("6 correlations excluded").all()
            assert result["flag"].str.contains("1 item on one side only").all()

    def test_pairs_of_a_slope_and_of_quality(self):
        table = panel()
        table.loc[(table["judge"] == "a") & (table["temperature"] == 1.0) & (table["system"] == "s1"), "score"] = 5.0
        assert "2 pairs undefined" in agreement_slope(table, average_over="condition", **FEW)["flag"].item()
        told = quality_agreement(table, by=WAYS).set_index("temperature")["flag"]
        assert told.loc[1.0].str.contains("2 pairs undefined").all()
        assert not told.loc[0.0].str.contains("undefined").any()

    def test_things_of_one_judge(self):
        table = panel(systems=1).query("condition == 'old' and temperature == 0")
        table = table[(table["judge"] == "a") | (table["item"] != "0")]
        row = disagreement(table, **FEW).iloc[0]
        assert row["n"] == 11
        assert "1 rated by one judge" in row["flag"]

    def test_a_tier_of_one_system(self):
        tiers = ["Base", "Instruct", "Instruct"]
        table = pd.DataFrame({"system": list("abc"), "tier": tiers, "mean_score": [2.0, 1.0, 3.0]})
        assert "a stratum has one unit" in ordering_accuracy(table, **FEW)["flag"].iloc[0]


class TestDependence:
    def test_fisher_does_not_ignore_a_cluster(self):
        table = panel().assign(task=lambda d: d["item"].astype(int) // 2)
        got = correlation(table, pairs="each", cluster="task", average_over=WAYS, **FEW)
        assert got["method"].str.contains("bootstrap of task").all()
        with pytest.raises(DesignError, match="of one cluster depend"):
            correlation(table, pairs="each", cluster="task", interval="fisher")

    def test_a_system_counts_once(self):
        table = pd.DataFrame({"system": ["a", "b"] * 2, "tier": ["Base", "Instruct"] * 2, "mean_score": 1.0, "r": 0.5})
        for measure in (quality_agreement, ordering_accuracy):
            with pytest.raises(SchemaError, match="'a' is there more than once"):
                measure(table)
            measure(table.assign(language=["EN", "EN", "ZH", "ZH"]), by="language")


class TestGroupsWithoutInformation:
    def test_ordering(self):
        table = pd.DataFrame(
            {"system": list("abc"), "tier": ["Base", "Instruct", "Base"], "mean_score": [1.0, 2.0, 3.0]}
        )
        got = ordering_accuracy(table.assign(language=["EN", "EN", "ZH"]), by="language", **FEW)
        row = got[got["language"] == "ZH"].iloc[0]
        assert np.isnan(row["estimate"])
        assert row["flag"] == "no data"

    def test_slope_and_heterogeneity(self):
        table = panel()
        table["domain"] = np.where(table["system"] == "s0", "law", "art")
        table = table[(table["domain"] == "art") | (table["temperature"] == 0)]
        slope = agreement_slope(table, by="domain", average_over="condition", **FEW).set_index("domain")
        assert "no data" in slope.loc["law", "flag"]
        assert np.isfinite(slope.loc["art", "estimate"])
        result = shift_heterogeneity(table, ("old", "new"), across="temperature", by="domain", **FEW)
        law = result[result["domain"] == "law"].set_index("term")
        assert list(law.index) == ["shift", "heterogeneity", "i_squared"]
        assert np.isnan(law.loc["heterogeneity", "estimate"])


class TestMeans:
    def test_a_wrong_suspicion_has_a_way_out(self):
        table = pd.DataFrame({"before": [0.5, 0.6, 0.55], "after": [0.4, 0.5, 0.45]})
        with pytest.raises(DesignError, match="'is_mean'"):
            shift_tests(table)
        assert shift_tests(table.assign(is_mean=False))["n"].iloc[0] == 3


def test_errors_help():
    table, sides = panel().query("temperature == 0"), ("old", "new")
    one = table.query("condition == 'old'").reset_index(drop=True)
    for measure in (correlation, agreement_levels, disagreement):
        with pytest.raises(SchemaError, match="'judge' is missing"):
            measure(one.assign(judge=one["judge"].where(one["judge"] != "a", None)))
    infinite = one.assign(score=one["score"].where(one.index != 3, np.inf), tier="Base")
    for measure in (correlation, agreement_levels, disagreement, score_distribution, ordering_accuracy):
        with pytest.raises(SchemaError, match="infinite"):
            measure(infinite)
    refused = [
        (lambda: shift_heterogeneity(table, sides, across="judge"), "splitting by 'judge'"),
        (lambda: agreement_shift(table, sides, cell="item"), "splitting by 'item'"),
        (lambda: agreement_shift(table, "new"), "one value"),
        (lambda: disagreement(one, thresholds="two"), "not numbers"),
        (lambda: disagreement(one, top=2.5), "not a number of things"),
        (lambda: score_distribution(one, scale=10), "not a scale"),
        (lambda: rubric_share([0.1], [0.2]), "not one of each"),
        (lambda: quality_agreement(one, conf_level=95), "conf_level=95"),
        (lambda: ordering_accuracy(one.assign(tier=None)), "holds"),
        (lambda: ordering_accuracy(one.assign(tier="Base"), order=None), "each once"),
    ]
    known = pd.DataFrame({"before": [0.1, 0.4], "after": [0.3, 0.2]})
    refused += [
        (lambda: shift_tests(known, conf_level=95), "conf_level=95"),
        (lambda: shift_tests(known, m="two"), "not a number of tests"),
        (lambda: shift_tests(known.assign(after=np.inf)), "infinite"),
    ]
    for call, message in refused:
        with pytest.raises((DesignError, SchemaError), match=message):
            call()


def test_numbers_of_numpy_are_numbers():
    assert rubric_share(np.float32(0.25), np.int64(1))["estimate"].item() == 0.75
    assert rubric_share(np.nan, 0.5)["flag"].item() == "no data"
