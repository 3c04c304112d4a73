"""Tests over pairs of judges, against SciPy and statsmodels, and the printed degrees of freedom."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.anova import AnovaRM

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from refusals import refused

PAIRS = [("Claude", "GPT"), ("Claude", "Gemini"), ("GPT", "Gemini")]


def paired(systems=32, means=(0.77, 0.69, 0.71), sd=0.06, seed=0):
    """Correlations of three pairs on each system, around the printed means."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(systems):
        shared = rng.normal(0, sd)
        rows += [(*pair, f"s{s:02}", m + shared + rng.normal(0, sd)) for pair, m in zip(PAIRS, means, strict=True)]
    return pd.DataFrame(rows, columns=["judge", "other", "system", "estimate"])


def test_the_tests_are_those_of_scipy_and_statsmodels():
    """The consensus_illusion paper prints F(2, 93) = 14.7: three pairs, 32 systems, one-way."""
    data = paired()
    got = js.pair_tests(data)
    one_way, repeated = (got[got["term"] == t].iloc[0] for t in ("F_one_way", "F_repeated"))
    samples = [part["estimate"] for _, part in data.groupby(["judge", "other"])]
    want = stats.f_oneway(*samples)
    assert (one_way["df1"], one_way["df2"]) == (2, 93)
    assert (one_way["estimate"], one_way["p_value"]) == pytest.approx((want.statistic, want.pvalue))
    assert "not independent" in one_way["flag"]
    of_pair = data.assign(pair=data["judge"] + data["other"])
    rm = AnovaRM(of_pair, "estimate", "system", within=["pair"]).fit().anova_table.iloc[0]
    assert (repeated["df1"], repeated["df2"]) == (rm["Num DF"], rm["Den DF"]) == (2, 62)
    assert (repeated["estimate"], repeated["p_value"]) == pytest.approx((rm["F Value"], rm["Pr > F"]))


def test_the_printed_f_and_means_imply_the_spread_within_pairs():
    """With F = 14.7 and the printed means of the pairs, the correlations of a pair have an sd of 0.06."""
    means = np.array([0.77, 0.69, 0.71])
    within = np.sqrt(32 * means.var(ddof=1) / 14.7)
    rng = np.random.default_rng(1)
    rows = []
    for pair, mean in zip(PAIRS, means, strict=True):
        z = rng.normal(size=32)
        z = (z - z.mean()) / z.std(ddof=1)
        rows += [(*pair, f"s{s}", mean + within * x) for s, x in enumerate(z)]
    data = pd.DataFrame(rows, columns=["judge", "other", "system", "estimate"])
    got = js.pair_tests(data).set_index("term").loc["F_one_way"]
    assert got["estimate"] == pytest.approx(14.7)
    assert got["p_value"] < 0.001
    assert within == pytest.approx(0.061, abs=0.001)


def test_correlations_that_do_not_vary_are_no_constant_scores():
    got = js.pair_tests(paired(systems=4, sd=0.0)).set_index("term")
    assert got.loc["deviation", "estimate"].tolist() == pytest.approx(
        [0.77 - 2.17 / 3, 0.69 - 2.17 / 3, 0.71 - 2.17 / 3]
    )
    assert (got.loc["deviation", "flag"] == "n < 30; no variation").all()


def test_one_correlation_of_each_pair_gives_no_interval_and_no_test():
    got = js.pair_tests(paired(systems=1)).set_index("term")
    assert (got.loc["deviation", "flag"] == "one unit").all()
    assert got.loc[["F_repeated", "F_one_way"], "estimate"].isna().all()
    assert got.loc[["F_repeated", "F_one_way"], "flag"].tolist() == ["one unit", "one unit; calls not independent"]
    apart = paired(systems=3).groupby("system", sort=False).nth(0).assign(other=["GPT", "Gemini", "Gemini"])
    apart["judge"] = ["Claude", "Claude", "GPT"]
    assert js.pair_tests(apart)["flag"].iloc[0] == "3 cell(s) without every pair excluded; no data".replace("(s)", "s")


def test_deviations_of_pairs_by_brute_force():
    data = paired(systems=10)
    got = js.pair_tests(data).query("term == 'deviation'")
    wide = data.pivot(index="system", columns=["judge", "other"], values="estimate")
    away = wide.sub(wide.mean(axis=1), axis=0)
    for _, row in got.iterrows():
        x = away[(row["judge"], row["other"])]
        test = stats.ttest_1samp(x, 0.0)
        ends = test.confidence_interval()
        assert row["estimate"] == pytest.approx(x.mean())
        assert (row["conf_low"], row["conf_high"], row["p_value"]) == pytest.approx((ends.low, ends.high, test.pvalue))
    assert got["estimate"].sum() == pytest.approx(0)


def test_it_takes_the_result_of_correlation():
    rng = np.random.default_rng(3)
    rows = [
        (j, s, f"i{i}", truth + rng.normal() * (1 + (j == "c")))
        for s in "uvwxyz"
        for i, truth in enumerate(rng.normal(0, 2, 25))
        for j in "abc"
    ]
    ratings = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
    for level in ("sample", "cell"):
        got = js.pair_tests(js.correlation(ratings, pairs="each", level=level, n_resamples=20))
        best = got[got["term"] == "deviation"].sort_values("estimate").iloc[-1]
        assert (best["judge"], best["other"], best["n"]) == ("a", "b", 6)
        assert best["conf_low"] > 0


def test_cells_that_lack_a_pair_are_counted():
    data = paired(systems=5).iloc[1:]
    got = js.pair_tests(data)
    assert got["n"].tolist() == [4, 4, 4, 4, 14]
    assert got["flag"].iloc[0].startswith("1 cell without every pair excluded")


def test_bad_tables_are_refused():
    refused(
        SchemaError,
        (paired().drop(columns="other"), "lacks other"),
        (paired(systems=1).drop(columns="system"), "names the cell"),
        (paired().query("judge == 'GPT'"), DesignError, "one pair"),
        (pd.concat([paired().assign(p_value=0.1), paired().assign(p_value=0.2)]), DesignError, "by="),
        of=js.pair_tests,
    )
