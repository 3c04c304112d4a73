"""Shifts of agreement between conditions, and the tests over conditions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.agreement import agreement_shift, agreement_slope, cohen_d, correlation, shift_tests
from judgestats.metrics.agreement.shifts import cochran_q
from metrics.tables import panel_of_two_conditions, ratings

BEFORE, AFTER = ratings(1), ratings(2, noise=2.0)

QUICK = {"n_resamples": 300}


def mean_r(table):
    return correlation(table, n_resamples=20)["estimate"].mean()


def test_the_shift_is_the_difference_of_the_mean_correlations():
    row = agreement_shift(BEFORE, AFTER, **QUICK).iloc[0]
    before, after = mean_r(BEFORE), mean_r(AFTER)
    assert (row["before"], row["after"]) == pytest.approx((before, after))
    assert row["estimate"] == pytest.approx(after - before)
    assert row["relative"] == pytest.approx(100 * (after - before) / before)
    assert row["conf_low"] < row["estimate"] < row["conf_high"] < 0
    assert row["correlations"] == 6
    assert row["n"] == 40
    assert "paired bootstrap of item" in row["method"]
    assert row["flag"].startswith("|shift| > 0.15")
    assert "shift" not in agreement_shift(BEFORE, AFTER, flag_at=0.9, **QUICK)["flag"].item()


def test_two_values_of_a_condition_are_two_frames():
    both = pd.concat([BEFORE.assign(condition="base"), AFTER.assign(condition="merg")]).sample(frac=1, random_state=0)
    expected = agreement_shift(BEFORE, AFTER, pairs="each", by="system", **QUICK)
    for frame in (both, pl.from_pandas(both), pl.from_pandas(both).lazy()):
        got = agreement_shift(frame, ("base", "merg"), pairs="each", by="system", **QUICK)
        pd.testing.assert_frame_equal(got, expected)
    assert len(expected) == 6
    assert list(expected.columns[:3]) == ["system", "judge", "other"]
    with pytest.raises(DesignError, match="Did you mean 'merg'"):
        agreement_shift(both, ("base", "mergg"))


def test_swapping_the_sides_changes_the_sign():
    one, two = agreement_shift(BEFORE, AFTER, **QUICK).iloc[0], agreement_shift(AFTER, BEFORE, **QUICK).iloc[0]
    assert two["estimate"] == pytest.approx(-one["estimate"])
    assert two["std_error"] == pytest.approx(one["std_error"])


def test_no_change_is_no_shift_and_has_no_interval():
    row = agreement_shift(BEFORE, BEFORE, **QUICK).iloc[0]
    assert row["estimate"] == 0
    assert np.isnan(row["conf_low"])
    assert "all resamples equal" in row["flag"]


def test_items_in_common_make_the_interval_narrower_than_separate_draws():
    rng = np.random.default_rng(0)
    truth = np.exp(rng.normal(size=(2, 60)))  # a few items carry the correlation, on both sides
    one, two = (ratings(s, truth=truth, items=60) for s in (1, 2))
    apart = two.assign(item="other" + two["item"])
    paired, independent = (agreement_shift(one, t, n_resamples=1000).iloc[0] for t in (two, apart))
    assert paired["estimate"] == pytest.approx(independent["estimate"])
    assert paired["std_error"] < 0.9 * independent["std_error"]
    assert "independent bootstraps of item" in independent["method"]
    assert independent["n"] == 120


def test_only_correlations_of_both_sides_are_averaged():
    partly = AFTER[AFTER["judge"] != "z"]
    row = agreement_shift(BEFORE, partly, **QUICK).iloc[0]
    assert row["before"] == pytest.approx(mean_r(BEFORE[BEFORE["judge"] != "z"]))
    assert row["correlations"] == 2
    assert "4 correlations excluded" in row["flag"]
    fewer = agreement_shift(BEFORE, AFTER[AFTER["item"] != "i000"], **QUICK).iloc[0]
    assert "1 item on one side only" in fewer["flag"]
    one_system = agreement_shift(BEFORE, AFTER[AFTER["system"] == "A"], **QUICK).iloc[0]
    assert one_system["before"] == pytest.approx(mean_r(BEFORE[BEFORE["system"] == "A"]))
    assert "3 correlations excluded" in one_system["flag"]


def test_a_base_that_is_not_positive_has_no_relative_change():
    table = pd.DataFrame({"pair": ["a", "b"], "baseline": [-0.1, 0.5], "merg": [0.2, 0.6]})
    got = agreement_shift(table).set_index("pair")
    assert got["estimate"].tolist() == pytest.approx([0.3, 0.1])
    assert np.isnan(got.loc["a", "relative"])
    assert "base not positive" in got.loc["a", "flag"]
    assert got.loc["b", "relative"] == pytest.approx(20)
    with pytest.raises(SchemaError, match="lacks after"):
        agreement_shift(table[["pair", "baseline"]])


@pytest.mark.slow
def test_the_bootstrap_of_the_shift_covers():
    """r falls from 1/(1 + 1) to 1/(1 + 4) by construction."""
    held = 0
    for seed in range(60):
        truth = np.random.default_rng(1000 + seed).normal(size=(1, 80))
        one, two = (ratings(2 * seed + k, noise, 80, "A", truth=truth) for k, noise in ((0, 1.0), (1, 2.0)))
        row = agreement_shift(one, two, n_resamples=300, conf_level=0.9).iloc[0]
        held += row["conf_low"] <= 0.2 - 0.5 <= row["conf_high"]
    assert 47 <= held <= 60


# ---------------------------------------------------------------- tests over conditions


def conditions(n=8, seed=0):
    rng = np.random.default_rng(seed)
    before = rng.uniform(0.5, 0.8, n)
    return pd.DataFrame(
        {"name": [f"c{i}" for i in range(n)], "before": before, "after": before - rng.uniform(0, 0.4, n)}
    )


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_paired_t_and_sign_test_are_scipys(alternative):
    table = conditions()
    got = shift_tests(table, alternative=alternative, n_tests=5).set_index("term")
    t = stats.ttest_rel(table["after"], table["before"], alternative=alternative)
    assert got.loc["mean_shift", ["statistic", "p_value"]].tolist() == pytest.approx([t.statistic, t.pvalue])
    assert got.loc["mean_shift", "p_adjusted"] == pytest.approx(min(1, 5 * t.pvalue))
    both = stats.ttest_rel(table["after"], table["before"]).confidence_interval()
    assert got.loc["mean_shift", ["conf_low", "conf_high"]].tolist() == pytest.approx([both.low, both.high])
    table.loc[0, "after"] = table.loc[0, "before"] + 0.1
    table.loc[1, "after"] = table.loc[1, "before"]
    row = shift_tests(table, alternative=alternative).set_index("term").loc["share_negative"]
    fell = {"less": "greater", "greater": "less"}.get(alternative, alternative)
    assert (row["estimate"], row["n"]) == pytest.approx((6 / 7, 7))
    assert row["p_value"] == pytest.approx(stats.binomtest(6, 7, 0.5, alternative=fell).pvalue)
    assert "1 condition unmoved" in row["flag"]


def test_bonferroni_counts_the_groups():
    table = pd.concat([conditions(seed=k).assign(model=f"m{k}") for k in range(3)])
    got = shift_tests(table, by="model")
    row = got[got["term"] == "mean_shift"].iloc[0]
    assert row["p_adjusted"] == pytest.approx(min(1, 3 * row["p_value"]))
    with pytest.raises(DesignError, match="n_tests=2 is fewer"):
        shift_tests(table, by="model", n_tests=2)


@pytest.mark.parametrize("mark", ["label", "is_mean", "values", "values within a level"])
def test_means_among_the_conditions_are_refused(mark):
    table = conditions(4).round(3).assign(temperature=[0.0, 0.0, 0.3, 0.3])
    inside = table if mark != "values within a level" else table[table["temperature"] == 0.3]
    mean = pd.DataFrame(
        {
            "name": ["Mean" if mark == "label" else "z"],
            "before": [round(inside["before"].mean(), 3)],
            "after": [round(inside["after"].mean(), 3)],
            "temperature": [0.3 if mark == "values within a level" else 0.9],
        }
    )
    if mark in ("label", "is_mean"):
        mean[["before", "after"]] = [0.9, 0.1]
    whole = pd.concat([table, mean], ignore_index=True)
    if mark == "is_mean":
        whole["is_mean"] = whole["name"] == "z"
    with pytest.raises(DesignError, match=r"1 of 5 conditions are means of others .*no further evidence"):
        shift_tests(whole)
    dropped = shift_tests(whole, means="drop")
    plain = shift_tests(table)
    np.testing.assert_allclose(dropped["estimate"], plain["estimate"])
    assert dropped["flag"].str.contains("1 mean of others excluded").all()
    assert shift_tests(whole.assign(is_mean=False))["n"].iloc[0] == 5  # told that none is


def test_cohen_d_by_its_formulas():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=9), rng.normal(1, 2, size=9)
    gap = y.mean() - x.mean()
    for k in (0, 1):
        squares = (x.var(ddof=k), y.var(ddof=k))
        assert cohen_d(x, y, d="average", ddof=k) == pytest.approx(gap / np.sqrt(np.mean(squares)))
        assert cohen_d(x, y, d="pooled", ddof=k) == pytest.approx(gap / np.sqrt(np.mean(squares)))
        assert cohen_d(x, y, d="paired", ddof=k) == pytest.approx(gap / (y - x).std(ddof=k))
    z = y[:5]
    pooled = np.sqrt((8 * x.var(ddof=1) + 4 * z.var(ddof=1)) / 12)
    assert cohen_d(x, z) == pytest.approx((z.mean() - x.mean()) / pooled)
    assert np.isnan(cohen_d([1, 1], [2, 2]))
    with pytest.raises(DesignError, match="needs pairs, got 9 and 5"):
        cohen_d(x, z, d="paired")


def test_relative_shift_is_undefined_without_agreement_before():
    known = pd.DataFrame({"before": [0.0], "after": [0.2]})
    assert np.isnan(agreement_shift(known, relative=True)["estimate"].item())
    noise = BEFORE.assign(score=np.random.default_rng(4).normal(size=len(BEFORE)))
    row = agreement_shift(noise, BEFORE, relative=True, **QUICK).iloc[0]
    assert np.isnan(row["conf_low"])
    assert row["flag"] in ("base not positive", "interval of the denominator includes 0")


def test_a_wrong_suspicion_has_a_way_out():
    table = pd.DataFrame({"before": [0.5, 0.6, 0.55], "after": [0.4, 0.5, 0.45]})
    with pytest.raises(DesignError, match="'is_mean'"):
        shift_tests(table)
    assert shift_tests(table.assign(is_mean=False))["n"].iloc[0] == 3


def test_numbers_of_numpy_are_numbers():
    known = pd.DataFrame({"before": [np.int64(1), 0.5], "after": [np.float32(0.25), np.nan]})
    found = agreement_shift(known, relative=True)
    assert found["estimate"].iloc[0] == -0.75
    assert found["flag"].iloc[1] == "no data"


# ---------------------------------------------------------------- subgroups


def domains(shifts=(1.0, 4.0, 1.0), items=150):
    before, after = [], []
    for k, noise in enumerate(shifts):
        where = {"domain": f"d{k}", "prefix": f"d{k}-", "items": items, "systems": "A"}
        before.append(ratings(10 + k, 1.0, **where))
        after.append(ratings(20 + k, noise, **where))
    return pd.concat(before), pd.concat(after)


def test_domains_are_drawn_apart_and_q_is_cochrans():
    before, after = domains()
    got = agreement_shift(before, after, across="domain", n_resamples=1000)
    shift = got[got["term"] == "shift"]
    single = agreement_shift(before, after, by="domain", n_resamples=1000)
    assert shift["estimate"].tolist() == pytest.approx(single["estimate"].tolist())
    np.testing.assert_allclose(shift["std_error"], single["std_error"], rtol=0.15)
    w = 1 / shift["std_error"] ** 2
    mean = (w * shift["estimate"]).sum() / w.sum()
    q = (w * (shift["estimate"] - mean) ** 2).sum()
    row = got[got["term"] == "heterogeneity"].iloc[0]
    assert (row["estimate"], row["df"]) == pytest.approx((q, 2), rel=0.01)
    assert row["p_value"] == pytest.approx(stats.chi2.sf(row["estimate"], 2))
    assert row["flag"] == ""
    assert got[got["term"] == "i_squared"]["estimate"].item() == pytest.approx(max(0, 1 - 2 / row["estimate"]))
    difference = got[(got["term"] == "difference")].set_index(["subgroup", "other"])["estimate"]
    assert difference[("d0", "d1")] == pytest.approx(shift["estimate"].iloc[0] - shift["estimate"].iloc[1])
    assert row["p_value"] < 0.05


def test_pairs_and_systems_share_their_items():
    for across in ("pair", "system"):
        got = agreement_shift(BEFORE, AFTER, across=across, **QUICK)
        row = got[got["term"] == "heterogeneity"].iloc[0]
        assert "subgroups share units" in row["flag"]
        assert row["n"] == (3 if across == "pair" else 2)
    two = got[got["term"] == "difference"].iloc[0]
    z = two["estimate"] / two["std_error"]
    assert row["estimate"] == pytest.approx(z**2)  # one degree of freedom
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert two["p_value"] > row["p_value"]  # t, and the bias of the draws allowed for, as in its interval


def test_cochran_q_of_dependent_values_is_the_wald_statistic():
    value, covariance = np.array([0.1, 0.3]), np.array([[0.04, 0.03], [0.03, 0.04]])
    assert cochran_q(value, covariance, shared=True) == pytest.approx(0.2**2 / 0.02)
    assert cochran_q(value, covariance) == pytest.approx(0.2**2 / 0.08)
    assert np.isnan(cochran_q(value, np.ones((2, 2)), shared=True))


def test_a_cross_over_is_a_difference_of_differences():
    parts = []
    for language, noises in (("en", (2.5, 0.6)), ("zh", (0.6, 2.5))):
        for system, noise in zip("AB", noises, strict=True):
            for condition, n in (("old", 1.2), ("new", noise)):
                part = ratings(len(parts), n, systems=system, prefix=language)
                parts.append(part.assign(language=language, condition=condition))
    got = agreement_shift(pd.concat(parts), ("old", "new"), across=["system", "language"], **QUICK)
    shift = got[got["term"] == "shift"].set_index("subgroup")["estimate"]
    row = got[got["term"] == "interaction"].iloc[0]
    expected = shift["A, en"] - shift["A, zh"] - shift["B, en"] + shift["B, zh"]
    assert row["estimate"] == pytest.approx(expected)
    assert row["conf_high"] < 0


def test_q_of_equal_shifts_rejects_at_its_level():
    """25 panels of three domains with one shift: p < 0.1 in two or three."""
    p = []
    for seed in range(25):
        tables = []
        for side, noise in ((0, 1.0), (1, 1.5)):
            parts = []
            for k in range(3):
                truth = np.random.default_rng(7000 + 10 * seed + k).normal(size=(1, 60))
                where = {"domain": f"d{k}", "prefix": f"d{k}-", "items": 60, "systems": "A", "truth": truth}
                parts.append(ratings(100 * seed + 10 * side + k, noise, **where))
            tables.append(pd.concat(parts))
        got = agreement_shift(*tables, across="domain", n_resamples=200)
        p.append(got[got["term"] == "heterogeneity"]["p_value"].item())
    assert (np.array(p) < 0.1).sum() <= 7
    assert np.mean(p) == pytest.approx(0.5, abs=0.2)


def test_one_subgroup_is_refused():
    with pytest.raises(DesignError, match="across= gives 1"):
        agreement_shift(BEFORE, AFTER, across="domain", **QUICK)


def test_slope_is_least_squares_on_the_mean_correlations():
    temperatures = (0.0, 0.4, 1.0)
    table = pd.concat([ratings(5 + k, 0.7 + t).assign(temperature=t) for k, t in enumerate(temperatures)])
    row = agreement_slope(table, **QUICK).iloc[0]
    r = [mean_r(table[table["temperature"] == t]) for t in temperatures]
    assert row["estimate"] == pytest.approx(np.polyfit(temperatures, r, 1)[0])
    assert row["conf_low"] < row["estimate"] < row["conf_high"] < 0
    assert row["n"] == 3
    with pytest.raises(DesignError, match="holds text"):
        agreement_slope(table.assign(temperature="hot"))
    with pytest.raises(DesignError, match="needs two values"):
        agreement_slope(table[table["temperature"] == 0])


FEW = {"n_resamples": 40}


def test_correlations_of_one_side_only_are_counted():
    table = panel_of_two_conditions()
    table.loc[(table["judge"] == "a") & (table["condition"] == "new"), "score"] = 5.0
    gone = table[~((table["item"] == "0") & (table["condition"] == "new"))]
    options = {"average_over": "temperature", **FEW}
    shifts = agreement_shift(gone, ("old", "new"), across="system", **options)
    share = agreement_shift(gone, ("new", "old"), relative=True, **options)
    for result in (shifts, share):
        assert result["flag"].str.contains("6 correlations excluded").all()
        assert result["flag"].str.contains("1 item on one side only").all()


def test_slope_and_heterogeneity_of_a_group_without_two_conditions():
    table = panel_of_two_conditions()
    table["domain"] = np.where(table["system"] == "s0", "law", "art")
    table = table[(table["domain"] == "art") | (table["temperature"] == 0)]
    slope = agreement_slope(table, by="domain", average_over="condition", **FEW).set_index("domain")
    assert "no data" in slope.loc["law", "flag"]
    assert np.isfinite(slope.loc["art", "estimate"])
    result = agreement_shift(table, ("old", "new"), across="temperature", by="domain", **FEW)
    law = result[result["domain"] == "law"].set_index("term")
    assert list(law.index) == ["shift", "heterogeneity", "i_squared"]
    assert np.isnan(law.loc["heterogeneity", "estimate"])


def test_relative_shift_of_ratings():
    row = agreement_shift(BEFORE, AFTER, relative=True, **QUICK).iloc[0]
    before, after = mean_r(BEFORE), mean_r(AFTER)
    assert (row["before"], row["after"]) == pytest.approx((before, after))
    assert row["estimate"] == pytest.approx(-(before - after) / before)
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
