"""Two systems, runs or judges on the same items."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.weightstats import ttost_paired

import judgestats as js
from judgestats.errors import DesignError
from judgestats.kernels.proportions import clustered_tango, newcombe_paired
from refusals import refused


def runs(n=80, seed=1, tasks=0):
    """Right and wrong of two runs on the same items, the second better; in tasks of five, if asked for."""
    rng = np.random.default_rng(seed)
    right = np.column_stack([rng.random(n) < 0.6, rng.random(n) < 0.75])
    table = pd.DataFrame(
        {"judge": "g", "run": ["v1", "v2"] * n, "item": np.repeat(np.arange(n), 2), "correct": right.ravel()}
    )
    return table.assign(task="t" + (table["item"] // 5).astype(str)) if tasks else table


def scores(n=60, levels="abc", seed=2):
    """Symmetric differences, so that their skewness moves nothing: scores of systems that come with their mirror image."""
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n // 2, len(levels)))
    score = np.vstack([half, -half]) + np.arange(len(levels)) * 0.3
    rows = [("g", f"i{i}", s, score[i, k]) for i in range(n) for k, s in enumerate(levels)]
    return pd.DataFrame(rows, columns=["judge", "item", "system", "score"])


def test_right_and_wrong_once_each():
    """Newcombe's paired interval, McNemar's exact test."""
    calls = runs()
    wide = calls.pivot(index="item", columns="run", values="correct")
    table = np.array([[(wide["v2"].eq(a) & wide["v1"].eq(b)).sum() for b in (True, False)] for a in (True, False)])
    (row,) = js.paired_differences(calls, "run").to_dict("records")
    assert (row["level"], row["other"], row["n"]) == ("v2", "v1", 80)
    assert row["estimate"] == pytest.approx(wide["v2"].mean() - wide["v1"].mean())
    assert (row["mean"], row["mean_other"]) == (wide["v2"].mean(), wide["v1"].mean())
    assert (row["better"], row["worse"]) == (table[0, 1], table[1, 0])
    assert row["p_value"] == pytest.approx(mcnemar(table, exact=True).pvalue)
    ends = newcombe_paired(table[0, 0], table[0, 1], table[1, 0], table[1, 1])
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(ends)


def test_right_and_wrong_in_tasks():
    calls = runs(tasks=1)
    wide = calls.pivot(index=["task", "item"], columns="run", values="correct").astype(float)
    gains, losses = (((s * (wide["v2"] - wide["v1"])) > 0).groupby("task").sum().to_numpy(float) for s in (1, -1))
    tango = clustered_tango(gains, losses, np.full(16, 5.0))
    (row,) = js.paired_differences(calls, "run").to_dict("records")
    assert row["method"] == "Tango, paired, clustered by task (G = 16)"
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((tango.low, tango.high))
    assert row["p_value"] == pytest.approx(tango.p_value)
    single = js.paired_differences(calls, "run", cluster=False)
    assert "independent" in single["flag"].item()


def test_scores_are_a_paired_t_test_and_holm_is_over_all_rows():
    calls = scores()
    found = js.paired_differences(calls, "system").set_index(["level", "other"])
    wide = calls.pivot(index="item", columns="system", values="score")
    p = []
    for level, other in (("b", "a"), ("c", "a"), ("c", "b")):
        row, test = found.loc[(level, other)], stats.ttest_rel(wide[level], wide[other])
        assert row["estimate"] == pytest.approx((wide[level] - wide[other]).mean())
        assert row["std_error"] == pytest.approx((wide[level] - wide[other]).std() / math.sqrt(60))
        assert row["p_value"] <= 0.05 or row["conf_low"] <= 0 <= row["conf_high"]
        assert row["p_value"] == pytest.approx(test.pvalue, rel=0.2)  # fewer degrees of freedom, of the variance
        p.append(row["p_value"])
    order = np.argsort(p)
    holm = np.maximum.accumulate(np.array(p)[order] * [3, 2, 1]).clip(max=1)
    assert found["p_adjusted"].to_numpy()[order] == pytest.approx(holm)


@pytest.mark.parametrize("seed", range(20))
def test_the_p_value_is_below_the_level_where_the_interval_leaves_out_0(seed):
    rng = np.random.default_rng(seed)
    calls = scores(seed=seed)
    calls["score"] += rng.exponential(1.5, len(calls)) * (calls["system"] == "b")
    found = js.paired_differences(calls, "system", conf_level=0.9)
    assert ((found["p_value"] < 0.1) == ((found["conf_low"] > 0) | (found["conf_high"] < 0))).all()


@pytest.mark.parametrize("margin", [0.0, 0.2, 0.5])
def test_equivalence_is_two_one_sided_tests(margin):
    calls = scores(levels="ab")
    wide = calls.pivot(index="item", columns="system", values="score")
    row = js.paired_differences(calls, "system", margin=margin).iloc[0]
    t = [(row["estimate"] + margin) / row["std_error"], (row["estimate"] - margin) / row["std_error"]]
    p, lower, upper = ttost_paired(wide["b"], wide["a"], -margin, margin)
    assert t == pytest.approx([lower[0], upper[0]], abs=1e-8)
    assert row["p_noninferior"] == pytest.approx(lower[1], abs=0.01)
    assert row["p_equivalent"] == pytest.approx(p, abs=0.02)
    assert row["p_equivalent"] == max(row["p_noninferior"], row["p_equivalent"])


def test_so_many_items_show_a_difference():
    """The power of a paired t test with so many items."""
    from statsmodels.stats.power import TTestPower

    row = js.paired_differences(scores(), "system", baseline="a", detect=0.3).iloc[0]
    sd = row["std_error"] * math.sqrt(row["n"])
    assert TTestPower().power(0.3 / sd, row["n_needed"], 0.05) == pytest.approx(0.8, abs=0.01)


def test_repeats_are_averaged_and_counts_are_calls():
    calls = runs()
    repeated = pd.concat([calls.assign(replicate=k, correct=calls["correct"] ^ (k == 1)) for k in (0, 1, 2)])
    counted = calls.assign(n=3.0)
    one = js.paired_differences(calls, "run").iloc[0]
    assert js.paired_differences(repeated, "run").iloc[0]["estimate"] == pytest.approx(one["estimate"] / 3)
    assert js.paired_differences(js.ratings(counted, counts="n"), "run").iloc[0]["estimate"] == one["estimate"]


def test_classes_and_preferences_are_right_where_gold_says_so():
    calls = runs()
    classes = calls.assign(answer=np.where(calls["correct"], "yes", "no"), gold="yes").drop(columns="correct")
    pairs = calls.assign(first="x", second="y", choice=np.where(calls["correct"], "first", "second"), gold="x")
    same = ["estimate", "conf_low", "conf_high", "p_value", "n"]
    one = js.paired_differences(calls, "run")[same]
    pd.testing.assert_frame_equal(js.paired_differences(classes, "run")[same], one)
    pd.testing.assert_frame_equal(js.paired_differences(pairs.drop(columns="correct"), "run")[same], one)


def test_judges_are_compared_and_what_one_lacks_is_left_out():
    calls = runs().rename(columns={"run": "judge", "judge": "who"}).drop(columns="who")
    row = js.paired_differences(calls[~((calls["judge"] == "v2") & (calls["item"] < 3))], "judge").iloc[0]
    assert (row["level"], row["other"], row["n"]) == ("v2", "v1", 77)
    assert "3 things without a value of both excluded" in row["flag"]


def test_nothing_shared_and_one_item():
    calls = runs()
    apart = calls[(calls["run"] == "v1") == (calls["item"] < 40)]
    row = js.paired_differences(apart, "run").iloc[0]
    assert math.isnan(row["estimate"])
    assert "not paired" in row["flag"]
    one = js.paired_differences(calls[calls["item"] == 1], "run").iloc[0]
    assert one["n"] == 1
    assert one["conf_low"] <= one["estimate"] <= one["conf_high"] or math.isnan(one["conf_low"])


def test_scores_on_two_scales_and_equal_scores():
    calls = scores(levels="ab").rename(columns={"system": "run"})
    calls["score"] = np.where(calls["run"] == "b", 50 + 10 * calls["score"], 3 + calls["score"] / 3)
    row = js.paired_differences(calls, "run").iloc[0]
    assert math.isnan(row["estimate"])
    assert "scale" in row["flag"]
    equal = js.paired_differences(scores(levels="ab").assign(score=3.0), "system").iloc[0]
    assert equal["estimate"] == 0
    assert equal["flag"]


def test_refusals():
    calls = runs()
    nested = scores(levels="ab").assign(judge=lambda t: "j" + t["system"])
    refused(
        DesignError,
        (lambda: js.paired_differences(calls[calls["run"] == "v1"], "run"), "'run' has one value"),
        (lambda: js.paired_differences(calls, "rum"), r"Did you mean 'run'\?"),
        (lambda: js.paired_differences(calls, "run", baseline="v3"), "baseline='v3' is not in 'run'"),
        (lambda: js.paired_differences(calls, "run", margin=-1), "margin=-1 is no difference"),
        (lambda: js.paired_differences(calls, "run", detect=0), "infinitely many"),
        (lambda: js.paired_differences(nested, "system"), "they are nested"),
        (
            lambda: js.paired_differences(calls.assign(answer="yes").drop(columns="correct"), "run"),
            "give the right ones in 'gold'",
        ),
        (
            lambda: js.paired_differences(calls.assign(first="x", second="y", choice="tie"), "run"),
            "give the right candidate",
        ),
    )


@pytest.mark.parametrize("gold", [1, 1.0, True, "yes"])
def test_right_and_wrong_beside_gold_are_those_of_accuracy(gold):
    """However the gold is written: a verdict is right where it says what the gold says."""
    calls = runs().assign(gold=gold)
    right = js.accuracy(js.ratings(calls), by="run").query("term == 'accuracy'").set_index("run")["estimate"]
    row = js.paired_differences(js.ratings(calls), "run").iloc[0]
    assert (row["mean_other"], row["mean"]) == pytest.approx((right["v1"], right["v2"]))


def test_a_cluster_that_differs_within_an_item_is_refused():
    repeated = pd.concat([runs().assign(replicate=k) for k in (0, 1)])
    refused(
        DesignError,
        (lambda: js.paired_differences(repeated, "run", cluster="replicate"), "differs within an item"),
        (lambda: js.pass_at_k(repeated, 1, cluster="replicate", by="run"), "differs within an item"),
    )
