"""Spread of repeats: the printed tables, brute force, and coverage."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
from judgestats.errors import DesignError
from judgestats.estimate import mean_over_clusters

GPT, GROK = "GPT-5.1", "Grok 4"


def repeated(spread, items=30, runs=4, systems=1, seed=0, judges="g", heavy=False):
    """Ratings with a known spread of the repeats."""
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product([list(judges), range(systems), range(items), range(runs)])
    table = keys.set_names(["judge", "system", "item", "replicate"]).to_frame(index=False)
    noise = rng.laplace(0, 2**-0.5, len(table)) if heavy else rng.normal(size=len(table))
    table["score"] = table["item"] + table["judge"].map(dict(zip(judges, spread, strict=True))) * noise
    return table.astype({"system": str, "item": str})


def row(result, judge, other=""):
    return result[(result["judge"] == judge) & (result["other"] == other)].iloc[0]


def test_the_printed_spreads_of_the_judges():
    """Tables 1 to 5 of the merchant_risk paper: final scores, ten runs."""
    tables = pd.concat([js.published.load(f"merchant_risk/table{i}") for i in range(1, 6)])
    final = tables[tables["criterion"] == "final"]
    result = js.run_sd(final)
    want = np.sqrt((final["sd"] ** 2).groupby(final["judge"]).mean())
    found = result[result["term"] == "run_sd"].set_index("judge")["estimate"]
    pd.testing.assert_series_equal(found.sort_index(), want.sort_index(), check_names=False)
    assert row(result, GPT)["estimate"] == pytest.approx(0.155, abs=0.0005)
    ratio = row(result, GPT, GROK)
    assert ratio["estimate"] == pytest.approx(found[GPT] / found[GROK])
    assert ratio["conf_high"] < 1  # evaluators differ in stability (contribution 2)
    assert ratio["p_adjusted"] < 0.01
    assert (result["flag"] == "repeats taken as normal").all()


def test_one_rating_gives_the_interval_of_a_variance():
    means = pd.DataFrame({"judge": ["a", "b"], "system": "s", "mean": 1.0, "sd": [2.0, 1.0], "runs": 10})
    got, ratio = row(js.run_sd(means), "a"), row(js.run_sd(means), "a", "b")
    ends = np.sqrt(9 * 4 / stats.chi2.ppf([0.975, 0.025], 9))
    assert [got["conf_low"], got["conf_high"]] == pytest.approx(list(ends))
    ends = np.sqrt(4 / stats.f.ppf([0.975, 0.025], 9, 9))
    assert [ratio["conf_low"], ratio["conf_high"]] == pytest.approx(list(ends))
    assert ratio["p_value"] == pytest.approx(2 * stats.f.sf(4, 9, 9))
    assert ratio["estimate"] == 2


def test_the_jackknife_by_brute_force():
    table = repeated([1.0, 2.0], items=12, systems=2, judges="gh")
    result = js.run_sd(table)
    squares = table.groupby(["judge", "system", "item"])["score"].var()
    logs = []
    for left in table["item"].unique():
        rest = squares.drop(left, level="item").groupby("judge").mean()
        logs.append(0.5 * np.log(rest["g"] / rest["h"]))
    error = np.sqrt(11 / 12 * np.sum((logs - np.mean(logs)) ** 2))
    got = row(result, "g", "h")
    assert np.log(got["conf_high"] / got["estimate"]) == pytest.approx(stats.t.ppf(0.975, 11) * error)
    assert got["n"] == 24
    alone = js.run_sd(table, ratios=False)
    pd.testing.assert_frame_equal(alone, result[result["term"] == "run_sd"])
    swapped = js.run_sd(table.assign(judge=table["judge"].map({"g": "h", "h": "g"})))
    assert row(swapped, "g", "h")["estimate"] == pytest.approx(1 / got["estimate"])


def test_items_with_unequal_numbers_of_ratings_have_fewer_degrees_of_freedom():
    table = repeated([1.0, 2.0], items=24, systems=1, judges="gh")
    table["task"] = (table["item"].astype(int) - 11).clip(lower=0)
    sizes = table.drop_duplicates("item").groupby("task").size().to_numpy(float)
    assert sizes.tolist() == [12.0, *[1.0] * 12]
    got = row(js.run_sd(table, cluster="task"), "g", "")
    squares = table[table["judge"] == "g"].groupby(["task", "item"])["score"].var()
    mean = mean_over_clusters(squares.groupby("task").sum().to_numpy(), sizes, "task", 0.95)
    assert [got["conf_low"], got["conf_high"]] == pytest.approx(np.sqrt([max(mean.low, 0.0), mean.high]))
    assert mean.df < sizes.size - 1
    assert f"G = {sizes.size}, worth" in got["method"]


def test_what_is_not_repeated_has_no_spread():
    once = repeated([1.0], runs=1)
    assert row(js.run_sd(once), "g")["flag"] == "single run"
    unnumbered = repeated([1.0]).drop(columns="replicate")
    assert np.isnan(row(js.run_sd(unnumbered), "g")["estimate"])
    equal = repeated([0.0])
    got = row(js.run_sd(equal), "g")
    assert (got["estimate"], np.isnan(got["conf_low"])) == (0, True)
    assert got["flag"] == "no variation"
    two = pd.concat([equal, repeated([1.0]).assign(judge="h")])
    ratios = js.run_sd(two).query("term == 'ratio'").set_index(["judge", "other"])
    assert ratios.loc[("g", "h"), ["estimate", "flag"]].tolist() == [0, "no variation"]
    renamed = js.run_sd(two.assign(judge=two["judge"].replace({"g": "z"}))).query("term == 'ratio'")
    assert np.isnan(renamed["estimate"].item())
    assert renamed["flag"].item() == "base is zero"


def test_a_ratio_is_of_the_ratings_that_both_repeated():
    table = repeated([1.0, 1.0], judges="gh")
    table = table[(table["judge"] == "g") | (table["item"].astype(int) < 20)]
    got = row(js.run_sd(table), "g", "h")
    assert got["n"] == 20
    assert "10 ratings that one judge did not repeat excluded" in got["flag"]


def test_an_unsplit_column_is_refused():
    table = pd.concat([repeated([1.0]).assign(prompt=p) for p in "xy"])
    with pytest.raises(DesignError, match="prompt"):
        js.run_sd(table)
    assert set(js.run_sd(table, by="prompt")["prompt"]) == {"x", "y"}


@pytest.mark.slow
@pytest.mark.parametrize(("items", "heavy"), [(1, False), (30, True)])
def test_coverage(items, heavy):
    """At least nominal, within Monte Carlo error; repeats with heavy tails need ten items or more."""
    hit, both, total = 0, 0, 60
    for seed in range(total):
        result = js.run_sd(repeated([1.0, 1.5], items, 5, seed=seed, judges="gh", systems=2, heavy=heavy))
        one, ratio = row(result, "g"), row(result, "g", "h")
        hit += one["conf_low"] <= 1.0 <= one["conf_high"]
        both += ratio["conf_low"] <= 1 / 1.5 <= ratio["conf_high"]
    assert hit / total >= 0.866  # 0.95 less three standard errors
    assert both / total >= 0.866


def test_repeats_that_differ_in_one_cluster_only_have_no_interval():
    scores = pd.DataFrame({"judge": "g", "item": [f"i{i // 2}" for i in range(24)], "replicate": [0, 1] * 12})
    scores = scores.assign(system="s", score=[2.0, 3.0] + [4.0] * 22)
    row = js.run_sd(scores).iloc[0]
    assert row["estimate"] == pytest.approx(np.sqrt(0.5 / 12))
    assert np.isnan(row["conf_low"])


@pytest.mark.parametrize(
    ("shift", "flag"), [(lambda i, r: r, "no variation"), (lambda i, r: r * (i == 7), "one cluster holds")]
)
def test_nothing_was_resampled_and_nothing_says_so(shift, flag):
    """Repeats that differ alike in all items, and in one item only: the jackknife gives no error, and it is said why."""
    rows = [("a", s, f"i{i:02d}", r, 3.0 + shift(i, r)) for s in "xy" for i in range(40) for r in range(2)]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "replicate", "score"])
    own = js.run_sd(table).iloc[0]
    assert own["estimate"] > 0
    assert np.isnan([own["conf_low"], own["conf_high"]]).all()
    assert flag in own["flag"]
    assert "resamples" not in own["flag"]
