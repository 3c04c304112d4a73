"""Ranks and rank correlations against SciPy, pandas, brute force and published values."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.consensus import kendall_w, rank_correlation, ranks
from judgestats.metrics.consensus.correlations import correlated
from metrics.tables import read
from refusals import refused

SCORE = st.integers(0, 4).map(float)


def matrix(values, judges="abcde", systems="uvwxyz"):
    """A judge x system matrix as means."""
    values = np.asarray(values, float)
    rows = itertools.product(judges[: values.shape[0]], systems[: values.shape[1]])
    return pd.DataFrame(
        [(j, s, v) for (j, s), v in zip(rows, values.ravel(), strict=True)], columns=["judge", "system", "mean"]
    )


def matrices(k, n):
    return st.lists(st.lists(SCORE, min_size=n, max_size=n), min_size=k, max_size=k)


@pytest.mark.slow
@settings(max_examples=30)
@given(matrices(3, 5))
def test_ranks_equal_pandas(values):
    got = ranks(matrix(values)).pivot(index="judge", columns="system", values="estimate").to_numpy()
    np.testing.assert_array_equal(got, pd.DataFrame(values).rank(axis=1, ascending=False))
    up = ranks(matrix(values), ascending=True).pivot(index="judge", columns="system", values="estimate").to_numpy()
    np.testing.assert_array_equal(up + got, 6)


def test_a_missing_score_has_no_rank():
    got = ranks(matrix([[3, np.nan, 1]])).set_index("system")
    assert got["estimate"].tolist()[::2] == [1, 2]
    assert math.isnan(got["estimate"]["v"])
    assert got["flag"].tolist() == ["", "no data", ""]
    assert got["n"].tolist() == [2, 2, 2]


@pytest.mark.slow
@given(matrices(4, 6))
def test_w_is_friedmans_statistic(values):
    got = kendall_w(matrix(values)).iloc[0]
    ordered = [row for row in values if len(set(row)) > 1]
    assert got["judges"] == len(ordered)
    if len(ordered) < 2:
        assert math.isnan(got["estimate"])
        assert got["flag"].endswith("constant scores")
        return
    friedman = stats.friedmanchisquare(*np.array(ordered).T)
    assert got["chi2"] == pytest.approx(friedman.statistic, abs=1e-10)
    assert got["p_value"] == pytest.approx(friedman.pvalue, abs=1e-12)
    assert got["estimate"] == pytest.approx(friedman.statistic / (len(ordered) * 5), abs=1e-12)
    assert -1e-12 <= got["estimate"] <= 1 + 1e-12


def test_w_of_one_order_and_of_opposite_orders():
    assert kendall_w(matrix([[1, 2, 3]] * 4))["estimate"].item() == 1
    assert kendall_w(matrix([[1, 2, 3], [3, 2, 1]]))["estimate"].item() == 0


def test_w_needs_two_judges_and_complete_systems():
    alone = kendall_w(matrix([[1, 2, 3]])).iloc[0]
    assert math.isnan(alone["estimate"])
    assert alone["flag"] == "one judge or system"
    holed = kendall_w(matrix([[1, 2, 3, np.nan], [1, 3, 2, 9]])).iloc[0]
    assert holed["n"] == 3
    assert holed["flag"] == "systems not scored by every judge excluded"
    assert holed["estimate"] == kendall_w(matrix([[1, 2, 3], [1, 3, 2]]))["estimate"].item()


@pytest.mark.slow
@given(matrices(3, 6))
def test_correlation_with_peers_equals_scipy(values):
    values = np.array(values)
    got = rank_correlation(matrix(values)).set_index(["judge", "term"])
    for i, judge in enumerate("abc"):
        others = np.delete(values, i, axis=0).mean(axis=0)
        for term, known in (("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
            row = got.loc[judge, term]
            if np.ptp(values[i]) == 0 or np.ptp(others) == 0:
                assert row["flag"] == "constant scores"
                assert math.isnan(row["estimate"])
                continue
            expected = known(values[i], others)
            assert row["estimate"] == pytest.approx(expected.statistic, abs=1e-12)
            assert row["p_value"] == pytest.approx(expected.pvalue, abs=1e-9)
            assert row["n"] == 6


def test_intervals_are_fishers_z():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 6))
    got = rank_correlation(matrix(values)).set_index(["judge", "term"]).loc["a"]
    for term, variance in (("spearman", lambda r: (1 + r**2 / 2) / 3), ("kendall", lambda _: 0.437 / 2)):
        row = got.loc[term]
        half = 1.959963985 * np.sqrt(variance(row["estimate"]))
        assert row["conf_low"] == pytest.approx(np.tanh(np.arctanh(row["estimate"]) - half))
        assert row["conf_high"] == pytest.approx(np.tanh(np.arctanh(row["estimate"]) + half))
    assert (got["flag"] == "n < 30").all()


def test_coverage_of_the_spearman_interval():
    """Bonett and Wright's variance: close to 95 of 100 for n = 40 at rho 0.6 (normal scores)."""
    rng = np.random.default_rng(2)
    true = 6 / np.pi * np.arcsin(0.6 / 2)
    from judgestats.metrics.consensus.correlations import correlated

    hits = 0
    for _ in range(600):
        x = rng.normal(size=40)
        row = correlated(x, 0.6 * x + 0.8 * rng.normal(size=40), "spearman", 0.95)
        hits += row["conf_low"] <= true <= row["conf_high"]
    assert 0.925 <= hits / 600 <= 0.975


def test_few_and_perfect():
    perfect = rank_correlation(matrix([[1, 2, 3, 4, 5]] * 2), method="spearman").iloc[0]
    assert (perfect["estimate"], perfect["p_value"]) == (1, 0)
    assert perfect["flag"] == "n < 30; perfect correlation"
    three = rank_correlation(matrix([[1, 2, 3], [1, 3, 2]]), method="spearman").iloc[0]
    assert three["estimate"] == 0.5
    assert math.isnan(three["conf_low"])
    assert three["flag"] == "n < 30; too few for an interval"
    one = rank_correlation(matrix([[1], [3]]), method="kendall").iloc[0]
    assert one["flag"] == "too few for an interval"
    alone = rank_correlation(matrix([[1, 2, 3]])).iloc[0]
    assert alone["flag"] == "3 unmatched excluded; no data"


def test_against_a_panel_of_people():
    ours = matrix([[1, 2, 3, 4], [4, 3, 1, 2]])
    people = matrix([[1, 1, 5, 2], [2, 4, 6, 5]], judges="PQ")
    got = rank_correlation(ours, people, method="spearman").set_index("judge")
    means = people.groupby("system")["mean"].mean()
    for judge, rows in ours.groupby("judge"):
        assert got["estimate"][judge] == pytest.approx(stats.spearmanr(rows["mean"], means).statistic)
    table = means.rename("mean").reset_index()
    pd.testing.assert_frame_equal(rank_correlation(ours, table, method="spearman").set_index("judge"), got)
    lacking = rank_correlation(ours, table.iloc[:3], method="spearman").set_index("judge")
    assert lacking["n"].tolist() == [3, 3]
    assert lacking["flag"]["a"].startswith("1 unmatched excluded")
    renamed = table.assign(system=table["system"].str.upper())
    with pytest.raises(DesignError, match="has none of the systems"):
        rank_correlation(ours, renamed)
    upper = {s: s.upper() for s in "uvwx"}
    mapped = rank_correlation(ours, renamed, method="spearman", identity=upper).set_index("judge")
    pd.testing.assert_frame_equal(mapped, got)


def test_between_conditions_the_systems_are_matched_by_identity():
    named = matrix([[1, 2, 3, 4], [4, 3, 1, 2]]).assign(condition="named")
    hidden = named.assign(condition="hidden", system=named["system"].str.upper(), mean=-named["mean"])
    both = pd.concat([named, hidden], ignore_index=True)
    got = rank_correlation(both, ("named", "hidden"), identity={s.upper(): s for s in "uvwx"})
    assert got["estimate"].tolist() == [-1, -1, -1, -1]
    apart = rank_correlation(both, ("named", "hidden"))
    assert apart["estimate"].isna().all()
    assert apart["flag"].str.startswith("8 unmatched").all()
    refused(
        DesignError,
        (
            lambda: rank_correlation(both, ("named", "open")),
            r"'condition' has no 'open'\. It has: hidden, named",
        ),
        (
            lambda: rank_correlation(both, ("named", "hidden"), identity={"U": "u", "V": "u"}),
            SchemaError,
            "maps several systems to 'u'",
        ),
        (lambda: rank_correlation(both, ("named",)), "two conditions, got 1"),
    )


TRUTH = pd.DataFrame(
    {"item": list("stuvwxyz"), "value": [0.3, 0.1, 0.2, 0.9, 0.5, 0.8, 0.4, 0.6], "level": [2, 1, 1, 4, 3, 4, 2, 3]}
)


@pytest.mark.slow
@given(st.lists(st.integers(1, 4), min_size=8, max_size=8))
def test_against_the_truth(levels):
    assume(len(set(levels)) > 1)
    calls = pd.DataFrame({"judge": "g", "item": TRUTH["item"], "score": np.array(levels, float)})
    got = rank_correlation(calls, truth=TRUTH).set_index("term")
    expected = stats.spearmanr(levels, TRUTH["value"])
    assert got["estimate"]["spearman"] == pytest.approx(expected.statistic, abs=1e-12)
    assert got["p_value"]["spearman"] == pytest.approx(expected.pvalue, abs=1e-9)
    assert got["estimate"]["kendall"] == pytest.approx(stats.kendalltau(levels, TRUTH["value"]).statistic)
    off = np.abs(np.array(levels) - TRUTH["level"])
    assert got["estimate"]["off_by_one"] == (off == 1).sum()
    assert got["estimate"]["off_by_more"] == (off > 1).sum()
    low, high = got.loc["off_by_one", ["conf_low", "conf_high"]]
    assert 0 <= low <= (off == 1).sum() <= high <= 8
    same = rank_correlation(pl.from_pandas(calls).lazy(), truth=pl.from_pandas(TRUTH)).set_index("term")
    pd.testing.assert_frame_equal(same, got)


def test_truth_of_levels_alone_and_of_fractional_scores():
    calls = pd.DataFrame(
        {"judge": "g", "item": list("stuv") * 2, "replicate": [0] * 4 + [1] * 4, "score": [1.0, 2, 3, 4, 2, 2, 3, 4]}
    )
    got = rank_correlation(calls, truth=TRUTH.drop(columns="value"), method="kendall").set_index("term")
    assert got["estimate"]["kendall"] == pytest.approx(stats.kendalltau([1.5, 2, 3, 4], [2, 1, 1, 4]).statistic)
    assert got["flag"]["off_by_one"] == "levels not whole numbers"
    assert math.isnan(got["estimate"]["off_by_more"])


def test_truth_that_cannot_be_used():
    calls = pd.DataFrame({"judge": "g", "item": list("stuv"), "score": [1.0, 2, 3, 4]})
    refused(
        DesignError,
        (lambda: rank_correlation(calls, truth=TRUTH[["item"]]), SchemaError, "needs item and value"),
        (
            lambda: rank_correlation(calls, truth=pd.concat([TRUTH, TRUTH.assign(value=0.0)])),
            SchemaError,
            "two values for one item",
        ),
        (
            lambda: rank_correlation(calls, truth=TRUTH.assign(item=TRUTH["item"].str.upper())),
            "has none of the items",
        ),
        (lambda: rank_correlation(calls, TRUTH, truth=TRUTH), "not both"),
        (lambda: rank_correlation(calls, truth=TRUTH, method="pearson"), "method='pearson' is not known"),
        (lambda: rank_correlation(matrix([[1, 2], [2, 1]]), "people"), "reference='people' is not known"),
    )


@pytest.mark.slow
@settings(max_examples=20)
@given(matrices(3, 5))
def test_order_of_rows_and_names_of_judges_do_not_matter(values):
    table = matrix(values)
    for measure in (ranks, rank_correlation, kendall_w):
        whole = measure(table)
        pd.testing.assert_frame_equal(whole, measure(table.iloc[::-1]), rtol=0, atol=1e-12)
        if "judge" in whole:
            renamed = measure(table.replace({"judge": {"a": "z"}})).replace({"judge": {"z": "a"}})
            keys = [c for c in ("judge", "system", "term") if c in whole]
            both = [x.sort_values(keys, ignore_index=True) for x in (whole, renamed)]
            pd.testing.assert_frame_equal(*both, rtol=0, atol=1e-12)


def test_by_splits():
    first, second = matrix([[1, 2, 3], [1, 3, 2]]), matrix([[1, 2, 3], [3, 2, 1]])
    both = pd.concat([first.assign(tier="p"), second.assign(tier="q")])
    assert kendall_w(both, by="tier").set_index("tier")["estimate"].to_dict() == {"p": 0.75, "q": 0.0}
    tau = rank_correlation(both, by="tier", method="kendall").set_index(["tier", "judge"])["estimate"]
    assert tau["q", "a"] == -1
    assert tau["p", "a"] == pytest.approx(1 / 3)


JUDGES = ["GPT-5.1", "Gemini 2.5 Pro", "Grok 4", "Claude 4.5 Sonnet", "Perplexity Sonar"]

SYSTEMS = ["GPT-5.1", "Gemini 2.5", "Grok 4", "Claude 4.5", "Perplexity Sonar"]

EXPERTS = [f"Expert {i}" for i in range(1, 6)]

IDENTITY = dict(zip(SYSTEMS, JUDGES, strict=True)) | dict(zip(EXPERTS, JUDGES, strict=True))


def test_ranks_and_concordance_between_conditions(printed_means):
    ranked = ranks(printed_means, by="condition")
    claude = ranked[(ranked["judge"] == "Claude 4.5 Sonnet") & (ranked["condition"] == "attributed")]
    assert claude.set_index("system")["estimate"].to_dict() == {
        "Claude 4.5": 1,
        "GPT-5.1": 2,
        "Gemini 2.5": 3,
        "Grok 4": 4,
        "Perplexity Sonar": 5,
    }
    tau = rank_correlation(printed_means, ("attributed", "anonymized"), method="kendall", identity=IDENTITY)
    assert tau.set_index("judge")["estimate"].round(10).to_dict() == {
        "Claude 4.5 Sonnet": 1.0,
        "GPT-5.1": 0.2,
        "Gemini 2.5 Pro": 1.0,
        "Grok 4": 0.8,
        "Perplexity Sonar": 0.6,
    }
    w = kendall_w(printed_means, by="condition").set_index("condition")
    assert w["estimate"].to_dict() == pytest.approx({"attributed": 0.808, "anonymized": 0.8})
    assert w["chi2"]["attributed"] == pytest.approx(5 * 4 * 0.808)


def test_largest_spearman_with_five_blocks_of_three(data_folder):
    picks = read(data_folder, "picks")
    picks["score"] = picks["risk_level"].astype(float)
    mine = picks[picks["model"] == "Claude-4.5 Sonnet"].sort_values("risk_level", kind="stable")
    calls = mine.rename(columns={"model": "judge", "mcc": "item"})[["judge", "item", "score"]]
    truth = pd.DataFrame({"item": calls["item"], "value": np.arange(15.0), "level": calls["score"]})
    result = rank_correlation(calls, truth=truth).set_index("term")
    assert result["estimate"]["spearman"] == pytest.approx(np.sqrt(270 / 280), abs=1e-12)
    assert result["n"]["spearman"] == 15
    assert result["estimate"]["off_by_one"] == result["estimate"]["off_by_more"] == 0


# ---------------------------------------------------------------- ranks


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_values_that_differ_by_rounding_are_tied(method):
    clean = np.array([0.3, 0.3, 0.6, 0.9, 0.1])
    rounded = np.array([0.1 + 0.2, 0.3, 0.6, 0.9, 0.1])
    assert rounded[0] != rounded[1]
    y = np.array([2.0, 1.0, 3.0, 5.0, 4.0])
    assert correlated(clean, y, method, 0.95) == correlated(rounded, y, method, 0.95)
    flat = correlated(rounded[:2], y[:2], method, 0.95)
    assert math.isnan(flat["estimate"])


def test_a_correlation_that_is_perfect_without_one_cluster_is_not_called_perfect():
    """Two of 200 points, of one cluster, are exchanged: r is .9999, and 1 without them."""
    x = np.arange(200.0)
    y = x.copy()
    y[[100, 101]] = y[[101, 100]]
    cells = correlated(x, y, "spearman", 0.95, cluster=("item", np.repeat(np.arange(100), 2)))
    assert 0.9999 < cells["estimate"] < 1
    assert "one cluster holds all disagreement" in cells["flag"]
    assert "perfect" not in cells["flag"]
    assert "conf_low" not in cells or math.isnan(cells["conf_low"])


def test_a_judge_without_an_order_is_left_out_of_w():
    """Two judges of whom one ties all have W 1/2 whatever the other says."""
    two = kendall_w(matrix([[1, 2, 3, 4], [5, 5, 5, 5]])).iloc[0]
    assert np.isnan(two["estimate"])
    assert "1 judge without an order excluded" in two["flag"]
    assert "constant scores" in two["flag"]
    orders = [[1, 2, 3, 4], [1, 3, 2, 4]]
    three, without = (kendall_w(matrix(m)).iloc[0] for m in ([*orders, [5, 5, 5, 5]], orders))
    assert three["estimate"] == without["estimate"]
    assert (three["judges"], without["flag"]) == (2, "")
