"""Correlations of pairs of judges."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.stats import rankdata, spearmanr

import judgestats as js
import twins_correlation as twins
from judgestats import (
    agreement_shift,
    disagreement,
    ordering_accuracy,
    quality_agreement,
    score_distribution,
    shift_tests,
)
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels import correlation as kernel
from judgestats.metrics.agreement import agreement_levels, correlation, disagreements, rating_blocks
from metrics.tables import panel_of_criteria, panel_of_two_conditions, panel_of_whole_scores, peak
from refusals import refused
from twins_variance import freedom


def brute(table, system, unit, function):
    """Each pair's correlation by pivoting."""
    index = ["item"] if unit == "item" else ["item", "criterion"]
    part = table[table["system"] == system]
    wide = part.pivot_table(index=index, columns="judge", values="score", aggfunc="mean")
    return {(a, b): function(wide[a].to_numpy(), wide[b].to_numpy()) for a, b in combinations(wide.columns, 2)}


@pytest.mark.parametrize("unit", ["item", "criterion"])
@pytest.mark.parametrize(("method", "function"), [("pearson", twins.pearson), ("spearman", twins.spearman)])
def test_sample_level_is_brute_force(unit, method, function):
    table = panel_of_criteria(items=12).sample(frac=1, random_state=1)
    each = correlation(table, unit=unit, method=method, pairs="each").set_index(["system", "judge", "other"])
    mean = correlation(table, unit=unit, method=method, n_resamples=200).set_index("system")
    for system in "AB":
        expected = brute(table, system, unit, function)
        for pair, value in expected.items():
            assert each.loc[(system, *pair), "estimate"] == pytest.approx(value)
        assert mean.loc[system, "estimate"] == pytest.approx(np.mean(list(expected.values())))
        assert mean.loc[system, "n"] == (12 if unit == "item" else 24)
    assert set(each["unit"]) == {unit}
    assert each["flag"].str.contains("not independent").all() == (unit == "criterion" and method == "spearman")


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_system_level_is_brute_force(method):
    table = panel_of_criteria(systems="ABCDEF", items=5, noise=3)
    got = correlation(table, level="system", method=method, pairs="each").set_index(["judge", "other"])
    means = table.pivot_table(index="system", columns="judge", values="score")
    function = stats.pearsonr if method == "pearson" else stats.spearmanr
    for a, b in combinations("xyz", 2):
        r, p = function(means[a], means[b])
        assert got.loc[(a, b), ["estimate", "p_value"]].tolist() == pytest.approx([r, p])
    mean = correlation(table, level="system", method=method, n_resamples=50)
    assert mean["estimate"].item() == pytest.approx(got["estimate"].mean())
    assert (got["n"] == 6).all()


def test_cells_are_correlated_one_by_one_then_averaged():
    table = panel_of_criteria(temperatures=(0.0, 0.5, 1.0))
    got = correlation(table, level="cell", cell="temperature", n_resamples=100)
    one = got[got["term"] == "r"]
    for t, part in table.groupby("temperature"):
        for system in "AB":
            value = one[(one["temperature"] == t) & (one["system"] == system)]["estimate"].item()
            assert value == pytest.approx(np.mean(list(brute(part, system, "item", twins.pearson).values())))
    summary = got.set_index("term")["estimate"]
    assert summary["mean"] == pytest.approx(one["estimate"].mean())
    assert summary["sd"] == pytest.approx(one["estimate"].std(ddof=1))
    pooled = correlation(table, average_over="temperature", n_resamples=100)["estimate"].mean()
    assert pooled > summary["mean"] + 0.05  # averaging runs first takes noise away


def test_the_interval_of_a_pair_is_on_fishers_z_from_the_jackknife_of_points():
    table = panel_of_criteria(systems="A", criteria=("c",), judges="xy", items=40)
    row = correlation(table, pairs="each").iloc[0]
    wide = table.pivot(index="item", columns="judge", values="score")
    expected = stats.pearsonr(wide["x"], wide["y"])
    assert (row["estimate"], row["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
    without = np.arctanh([wide.drop(index=i).corr().iloc[0, 1] for i in wide.index])
    z, bias = np.arctanh(expected.statistic), 39 * (without.mean() - np.arctanh(expected.statistic))
    half = stats.t.ppf(0.975, freedom(without)) * np.sqrt(39 * np.var(without))
    ends = np.tanh([z - half - max(bias, 0), z + half - min(bias, 0)])
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(tuple(ends))
    few = correlation(table[table["item"].isin(wide.index[:9])], pairs="each").iloc[0]
    fisher = stats.pearsonr(*wide.iloc[:9].T.to_numpy()).confidence_interval(0.95)
    assert (few["conf_low"], few["conf_high"]) == pytest.approx((fisher.low, fisher.high))


def test_the_mean_of_pairs_is_plain_and_constant_judges_are_set_aside():
    table = panel_of_criteria(systems="A", criteria=("c",))
    flat = pd.concat([table, table[table["judge"] == "x"].assign(judge="w", score=7.1)])
    row = correlation(flat, n_resamples=100).iloc[0]
    assert row["estimate"] == pytest.approx(correlation(table, n_resamples=100)["estimate"].item())
    assert "3 pairs with constant scores excluded" in row["flag"]
    each = correlation(flat, pairs="each").set_index(["judge", "other"])
    assert each.loc[("w", "x"), ["estimate", "flag"]].isna().tolist() == [True, False]
    assert "constant scores" in each.loc[("w", "x"), "flag"]


def test_missing_scores_leave_their_pairs_only_and_are_counted():
    table = panel_of_criteria(systems="A", criteria=("c1", "c2"), items=10)
    table.loc[(table["judge"] == "x") & (table["item"] == "i003") & (table["criterion"] == "c1"), "score"] = np.nan
    each = correlation(table, pairs="each").set_index(["judge", "other"])["n"]
    assert each.to_dict() == {("x", "y"): 9, ("x", "z"): 9, ("y", "z"): 10}
    rest = table[~((table["judge"] == "x") & (table["item"] == "i003"))]
    assert "1 score missing" in correlation(table, n_resamples=50)["flag"].item()
    pd.testing.assert_series_equal(
        correlation(rest, pairs="each")["estimate"], correlation(table, pairs="each")["estimate"]
    )


@pytest.mark.parametrize("measure", [correlation, agreement_levels])
def test_row_order_labels_and_engine_do_not_matter(measure):
    table = panel_of_criteria(items=8)
    expected = measure(table, n_resamples=50)
    pd.testing.assert_frame_equal(measure(table.sample(frac=1, random_state=0), n_resamples=50), expected)
    pd.testing.assert_frame_equal(measure(pl.from_pandas(table), n_resamples=50), expected)
    pd.testing.assert_frame_equal(measure(pl.from_pandas(table).lazy(), n_resamples=50), expected)
    renamed = measure(table.assign(judge=table["judge"].map({"x": "z", "y": "x", "z": "y"})), n_resamples=50)
    np.testing.assert_allclose(renamed["estimate"], expected["estimate"])
    np.testing.assert_allclose(renamed["conf_low"], expected["conf_low"])


def test_means_of_runs_will_do_and_conditions_are_named():
    from judgestats.counting.cells import cells

    table = panel_of_criteria(items=8, temperatures=(0.0, 1.0))
    got = agreement_levels(cells(table, "temperature"), cell="temperature", n_resamples=50)
    pd.testing.assert_frame_equal(got, agreement_levels(table, cell="temperature", n_resamples=50))
    for measure in (correlation, agreement_levels):
        refused(
            DesignError,
            (partial(measure, table, n_resamples=50), "'temperature' splits ratings"),
            (partial(measure, table, cell="temperature", average_over="temperature"), "can have one role only"),
        )
    few = correlation(table[table["item"] < "i003"], by="temperature", n_resamples=50)
    assert few["flag"].str.contains("resamples? without a value|fewer than 10").all()


def test_means_of_systems_alone_have_a_system_level_without_an_interval():
    table = (
        panel_of_criteria(systems="ABCDEF", noise=3)
        .groupby(["judge", "system"])["score"]
        .mean()
        .rename("mean")
        .reset_index()
    )
    row = correlation(table, level="system", n_resamples=50).iloc[0]
    wide = table.pivot(index="system", columns="judge", values="mean").corr("spearman").to_numpy()
    assert row["estimate"] == pytest.approx(wide[np.triu_indices(3, 1)].mean())
    assert np.isnan(row["conf_low"])
    assert "one unit" in row["flag"]


def test_what_is_not_there_is_nan_with_a_flag():
    table = panel_of_criteria(items=6)
    nothing = table.assign(score=np.nan)
    levels = agreement_levels(nothing, n_resamples=20)
    assert levels["estimate"].isna().all()
    assert (levels["flag"] != "").all()
    row = correlation(nothing, n_resamples=20).iloc[0]
    assert np.isnan(row["estimate"])
    assert "3 pairs with fewer than 2 common points excluded; no data" in row["flag"]
    half = correlation(pd.concat([table.assign(domain="a"), nothing.assign(domain="b")]), by="domain", n_resamples=20)
    assert half.groupby("domain")["estimate"].apply(lambda s: s.isna().all()).tolist() == [False, True]


def test_groups_do_not_change_one_another():
    table = panel_of_criteria(items=8).assign(domain="law")
    more = pd.concat([table, panel_of_criteria(seed=5, items=8).assign(domain="art")])
    one, both = (correlation(t, by="domain", n_resamples=50) for t in (table, more))
    pd.testing.assert_frame_equal(both[both["domain"] == "law"].reset_index(drop=True), one)
    per_system = correlation(table, by="system", n_resamples=50)
    assert list(per_system.columns[:2]) == ["system", "term"]


def test_a_nested_cluster_is_drawn_in_place_of_items():
    table = panel_of_criteria(items=24)
    table["topic"] = table["item"].str[-1]
    row = correlation(table, cluster="topic", n_resamples=100).iloc[0]
    assert "bootstrap of topic" in row["method"]
    table.loc[0, "topic"] = "other"
    with pytest.raises(DesignError, match="several values of 'topic'"):
        correlation(table, cluster="topic")


def test_the_bootstrap_of_the_mean_covers():
    """60 panels of 60 items, three judges with r = 0.5: the 90 % interval holds it at a rate near 0.9."""
    held = 0
    for seed in range(60):
        row = correlation(
            panel_of_criteria(seed, "A", 60, criteria=("c",)), n_resamples=300, conf_level=0.9, seed=seed
        ).iloc[0]
        held += row["conf_low"] <= 0.5 <= row["conf_high"]
    assert 47 <= held <= 60  # 54 expected, sd 2.3


def test_bad_input_says_what_to_do():
    table = panel_of_criteria(items=4)
    refused(
        DesignError,
        (lambda: correlation(table, interval="fisher"), "Use pairs='each', or interval='t'"),
        (lambda: correlation(table[table["judge"] == "x"]), "The ratings have one: 'x'"),
        (lambda: correlation(table, by="sistem"), SchemaError, "Did you mean 'system'"),
        (lambda: agreement_levels(table, by="judge"), "by='judge' leaves nothing"),
        (lambda: correlation(table, level="items"), "sample"),
        (lambda: correlation(table.iloc[:0]), SchemaError, "no rows"),
    )


FEW = {"n_resamples": 40}

WAYS = ["condition", "temperature"]


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


def test_means_that_differ_by_rounding_are_tied():
    table = runs()
    sums = table.groupby(["judge", "item"])["score"].sum().unstack("judge")
    truth = spearmanr(sums["a"], sums["b"])[0]
    for seed in range(3):
        mixed = table.sample(frac=1, random_state=seed)
        got = correlation(mixed, method="spearman", pairs="each")["estimate"].item()
        assert got == pytest.approx(truth, abs=1e-12)


def test_tied_means_are_tied_in_both_rankings():
    x = np.array([0.3, 0.1 + 0.2, 0.1, 2.0, np.nan])
    expected = [2.5, 2.5, 1.0, 4.0]
    np.testing.assert_array_equal(kernel.average_ranks(x)[:4], expected)
    np.testing.assert_array_equal(kernel.weighted_ranks(x[:4], np.ones((1, 4)))[0], expected)
    plain = np.random.default_rng(0).integers(0, 5, 30).astype(float)
    np.testing.assert_array_equal(kernel.weighted_ranks(plain, np.ones((1, 30)))[0], rankdata(plain))


def test_scores_missing_at_the_system_level():
    table = panel_of_two_conditions()
    table.loc[(table["judge"] == "a") & (table["item"] == "3"), "score"] = np.nan
    for pairs in ("mean", "each"):
        got = correlation(table, level="system", pairs=pairs, average_over=WAYS, **FEW)
        assert got["flag"].str.contains("3 scores missing").all()


def test_fisher_does_not_ignore_a_cluster():
    table = panel_of_two_conditions().assign(task=lambda d: d["item"].astype(int) // 2)
    got = correlation(table, pairs="each", cluster="task", average_over=WAYS, **FEW)
    assert got["method"].str.contains("bootstrap of task").all()
    with pytest.raises(DesignError, match="of one cluster are dependent"):
        correlation(table, pairs="each", cluster="task", interval="fisher")


def test_errors_help():
    table, sides = panel_of_two_conditions().query("temperature == 0"), ("old", "new")
    one = table.query("condition == 'old'").reset_index(drop=True)
    for measure in (correlation, agreement_levels, disagreement):
        with pytest.raises(SchemaError, match="'judge' is missing"):
            measure(one.assign(judge=one["judge"].where(one["judge"] != "a", None)))
    infinite = one.assign(score=one["score"].where(one.index != 3, np.inf), tier="Base")
    for measure in (correlation, agreement_levels, disagreement, score_distribution, ordering_accuracy):
        with pytest.raises(SchemaError, match="infinite"):
            measure(infinite)
    known = pd.DataFrame({"before": [0.1, 0.4], "after": [0.3, 0.2]})
    refused(
        DesignError,
        (lambda: agreement_shift(table, sides, across="judge"), "splitting by 'judge'"),
        (lambda: agreement_shift(table, sides, cell="item"), "splitting by 'item'"),
        (lambda: agreement_shift(table, "new"), "one value"),
        (lambda: disagreement(one, thresholds="two"), "not numbers"),
        (lambda: disagreement(one, top=2.5), "must be a whole number, 0 or more"),
        (lambda: score_distribution(one, scale=10), "not a scale"),
        (lambda: agreement_shift(table, sides, across="system", relative=True), "excludes pairs='each'"),
        (lambda: quality_agreement(one, conf_level=95), "conf_level=95"),
        (lambda: ordering_accuracy(one.assign(tier=None)), "Fewer than two"),
        (lambda: ordering_accuracy(one.assign(tier="Base"), order=None), "each once"),
        (lambda: shift_tests(known, conf_level=95), "conf_level=95"),
        (lambda: shift_tests(known, n_tests="two"), "not a number of tests"),
        (lambda: shift_tests(known.assign(after=np.inf)), SchemaError, "infinite"),
    )


@pytest.mark.parametrize("measure", [js.agreement_levels, js.correlation, js.disagreement, js.score_distribution])
def test_resamples_are_drawn_a_block_at_a_time(measure, monkeypatch):
    data = panel_of_whole_scores(12)
    whole = measure(data, n_resamples=100)
    for module in (rating_blocks, disagreements):
        monkeypatch.setattr(module, "HELD", 12 * 7)
    pd.testing.assert_frame_equal(measure(data, n_resamples=100), whole)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [js.agreement_levels, js.disagreement, js.score_distribution])
def test_memory_of_a_bootstrap_is_not_resamples_times_items(measure):
    data = panel_of_whole_scores(20_000)  # 2,000 resamples at once: 320 MB
    found, used = peak(lambda: measure(data))
    assert found["estimate"].notna().any()
    assert used < 200


@pytest.mark.parametrize("ddof", [0, 1])
def test_sd_over_cells_of_r_and_icc(ddof):
    """Section 3.2 of the consensus_illusion paper prints a mean and an sd of ICC(2,1) over cells."""
    table = panel_of_criteria(systems="ABC", temperatures=(0.0, 1.0))
    got = agreement_levels(table, cell="temperature", ddof=ddof, n_resamples=200).set_index("term")
    each = js.icc(table, by=["system", "temperature"]).query("term == 'ICC(2,1)'")["estimate"]
    assert got.loc["icc", "estimate"] == pytest.approx(each.mean())
    assert got.loc["sd_icc", "estimate"] == pytest.approx(each.std(ddof=ddof))
    of_r = correlation(table, level="cell", cell="temperature", n_resamples=10)
    assert got.loc["sd_sample", "estimate"] == pytest.approx(of_r[of_r["term"] == "r"]["estimate"].std(ddof=ddof))
    assert got.loc["sd_icc", "n"] == 6
    assert (got.loc[["sd_sample", "sd_icc"], "conf_low"] >= 0).all()
    assert got.loc["sd_icc", "conf_low"] < got.loc["sd_icc", "estimate"] < got.loc["sd_icc", "conf_high"]


@pytest.mark.parametrize("ddof", [0, 1])
def test_sd_over_pairs_of_judges(ddof):
    """The sigma of Table 5 of the consensus_illusion paper, whose divisor is not printed."""
    table = panel_of_criteria()
    got = correlation(table, pairs="sd", ddof=ddof, n_resamples=200).set_index("system")
    each = correlation(table, pairs="each").groupby("system")["estimate"].std(ddof=ddof)
    assert got["estimate"].to_dict() == pytest.approx(each.to_dict())
    assert set(got["term"]) == {"sd_of_pairs"}
    assert ((got["conf_low"] <= got["estimate"]) & (got["estimate"] < got["conf_high"])).all()
    with pytest.raises(DesignError, match="pairs='each'"):
        correlation(table, pairs="sd", interval="fisher")
