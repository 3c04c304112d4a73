"""Tests of shifts over conditions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgestats.errors import DesignError
from judgestats.metrics.agreement import shift_tests
from judgestats.metrics.agreement.tests_of_shifts import cohen_d


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


def test_shifts_that_differ_by_rounding_are_constant():
    before = np.array([0.1, 0.2, 0.7, 0.9])
    rows = shift_tests(pd.DataFrame({"pair": list("abcd"), "before": before, "after": before - 0.1 + 1e-13 * before}))
    mean = rows.set_index("term").loc["mean_shift"]
    assert mean["estimate"] == pytest.approx(-0.1)
    assert np.isnan(mean["std_error"])
    assert "constant shifts" in mean["flag"]


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


def test_a_wrong_suspicion_has_a_way_out():
    table = pd.DataFrame({"before": [0.5, 0.6, 0.55], "after": [0.4, 0.5, 0.45]})
    with pytest.raises(DesignError, match="'is_mean'"):
        shift_tests(table)
    assert shift_tests(table.assign(is_mean=False))["n"].iloc[0] == 3
