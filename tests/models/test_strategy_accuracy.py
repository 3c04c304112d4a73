"""The model of strategies: two-by-two tables, fits by hand, pooling over judges."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from judgestats.errors import DesignError, SchemaError
from judgestats.models.bias_models.strategy_accuracy import strategy_effects
from judgestats.models.estimation import fit
from judgestats.results import COLUMNS
from models.toys import cell

# ---------------------------------------------------------------- strategies


COUNTS = pd.DataFrame(
    {"judge": "g", "strategy": ["B0", "B0", "S8", "S8"], "outcome": ["correct", "wrong"] * 2, "n": [60, 40, 80, 20]}
)


def test_a_tally_without_items_is_a_two_by_two_table():
    model = strategy_effects(COUNTS, baseline="B0")
    odds = cell(model.table, scale="log-odds")
    assert odds["estimate"] == pytest.approx(math.log(80 * 40 / (20 * 60)), abs=1e-7)
    assert odds["std_error"] == pytest.approx(math.sqrt(1 / 60 + 1 / 40 + 1 / 80 + 1 / 20), rel=1e-5)
    assert cell(model.table, scale="odds ratio")["estimate"] == pytest.approx(8 / 3, rel=1e-6)
    points = cell(model.table, scale="percentage points")
    assert points["estimate"] == pytest.approx(20, abs=1e-5)
    assert points["std_error"] == pytest.approx(100 * math.sqrt(0.24 / 100 + 0.16 / 100), rel=1e-5)
    lr = cell(model.tests, test="LR")
    saturated = 60 * math.log(0.6) + 40 * math.log(0.4) + 80 * math.log(0.8) + 20 * math.log(0.2)
    assert lr["statistic"] == pytest.approx(2 * (saturated - 140 * math.log(0.7) - 60 * math.log(0.3)), abs=1e-6)
    assert cell(model.tests, test="Wald")["statistic"] == pytest.approx((odds["estimate"] / odds["std_error"]) ** 2)
    assert "no items" in odds["flag"]
    assert list(model.table.columns) == ["judge", *COLUMNS, "scale"]
    assert "Accuracy by strategy" in repr(model)
    assert "correct ~ strategy" in repr(model)


def test_a_tie_or_an_invalid_call():
    more = pd.concat(
        [COUNTS, pd.DataFrame({"judge": "g", "strategy": "S8", "outcome": ["tie", "invalid"], "n": [10, 7]})]
    )
    exact = strategy_effects(more, baseline="B0").table.iloc[0]
    assert exact["estimate"] == pytest.approx(math.log(80 * 40 / (30 * 60)), abs=1e-6)
    assert "7 invalid calls excluded" in exact["flag"]
    dropped = strategy_effects(more, baseline="B0", ties="drop").table.iloc[0]
    assert dropped["estimate"] == pytest.approx(math.log(80 * 40 / (20 * 60)), abs=1e-6)
    assert "10 ties excluded" in dropped["flag"]
    wrong = strategy_effects(more, baseline="B0", invalid="wrong").table.iloc[0]
    assert wrong["estimate"] == pytest.approx(math.log(80 * 40 / (37 * 60)), abs=1e-6)


@pytest.fixture(scope="module")
def answered():
    """Eight judges, two benchmarks, three strategies; S1 helps on the hard benchmark only, S8 varies between judges."""
    rng = np.random.default_rng(5)
    ability, extra = rng.normal(0.5, 0.7, 8), rng.normal(0, 0.5, 8)
    rows = []
    for b in ("easy", "hard"):
        for i in range(60):
            u = rng.normal(0, 1)
            for j in range(8):
                for s in ("B0", "S1", "S8"):
                    eta = ability[j] + u + (s == "S1") * (b == "hard") * 0.8 + (s == "S8") * (0.6 + extra[j])
                    rows.append((f"j{j}", b, str(i), s, int(rng.random() < expit(eta - 0.5 * (b == "hard")))))
    return pd.DataFrame(rows, columns=["judge", "task", "item", "strategy", "correct"])


def test_per_judge_it_is_the_fit_by_hand(answered):
    model = strategy_effects(answered, baseline="B0", item=["task", "item"], pooled=False)
    here = answered[answered["judge"] == "j3"].assign(key=lambda t: t["task"] + t["item"])
    hand = fit('correct ~ C(strategy, Treatment("B0")) + (1|key)', here, n_quadrature=9)
    for k, s in ((1, "S1"), (2, "S8")):
        row = cell(model.table, judge="j3", term=s, scale="log-odds")
        assert row["estimate"] == pytest.approx(hand.beta[k], abs=1e-5)
        assert row["std_error"] == pytest.approx(math.sqrt(hand.covariance[k, k]), rel=1e-4)
    assert cell(model.table, judge="j3", term="sd(item)")["estimate"] == pytest.approx(abs(hand.theta[0]), abs=1e-4)
    assert set(model.fits) == {f"j{k}" for k in range(8)}


def test_percentage_points_are_averages_over_items(answered):
    """Those of the model come close to the raw differences of shares, which conditional log-odds do not."""
    model = strategy_effects(answered, baseline="B0", item=["task", "item"], pooled=False)
    share = answered.groupby(["judge", "strategy"])["correct"].mean().unstack()
    for judge, row in share.iterrows():
        points = cell(model.table, judge=judge, term="S8", scale="percentage points")
        assert points["estimate"] == pytest.approx(100 * (row["S8"] - row["B0"]), abs=1.0)
        assert points["conf_low"] < points["estimate"] < points["conf_high"]


@pytest.mark.slow
def test_pooled_with_a_benchmark(answered):
    model = strategy_effects(answered, baseline="B0", benchmark="task")
    pooled = model.table[model.table["judge"] == "all judges"]
    truth = {("easy", "S1"): 0.0, ("hard", "S1"): 0.8, ("easy", "S8"): 0.6, ("hard", "S8"): 0.6}
    for (task, strategy), value in truth.items():
        row = cell(pooled, task=task, term=strategy, scale="log-odds")
        assert abs(row["estimate"] - value) < 3 * row["std_error"]
    spread = cell(pooled, term="sd(strategy|judge)")
    assert 0.15 < spread["estimate"] < 0.8
    tests = model.tests[model.tests["judge"] == "all judges"]
    judges = answered["judge"].nunique()
    for question in ("effects differ between benchmarks", "strategies matter on average"):
        test = cell(tests, question=question)
        assert (test["test"], test["df"], test["df_error"]) == ("F", 2, judges - 1)
        assert test["p_value"] == pytest.approx(stats.f.sf(test["statistic"], 2, judges - 1))
    assert cell(tests, question="effects differ between benchmarks")["p_value"] < 0.05
    assert "sd(strategy:benchmark|judge)" in set(pooled["term"])
    one = model.tests[model.tests["question"] == "effects differ between benchmarks"].query("judge != 'all judges'")
    assert set(one["test"]) == {"LR", "Wald"}
    differing = cell(tests, question="effects differ between judges")
    assert (differing["df"], differing["p_value"] < 0.05) == (2, True)
    x = differing["statistic"]
    assert differing["p_value"] == pytest.approx((stats.chi2.sf(x, 1) + stats.chi2.sf(x, 2)) / 2)


@pytest.mark.slow
def test_a_pooled_standard_error_knows_that_judges_differ(answered):
    """Without (1|judge:strategy) the standard error is that of these eight judges."""
    whole = strategy_effects(answered, baseline="B0", item=["task", "item"])
    alike = fit(
        "correct ~ strategy + (1|key) + (1|judge) + (1|judge:key)",
        answered.assign(key=answered["task"] + answered["item"]),
    )
    se = cell(whole.table, judge="all judges", term="S8", scale="log-odds")["std_error"]
    assert se > 1.4 * math.sqrt(alike.covariance[2, 2])
    row = cell(whole.table, judge="all judges", term="S8", scale="log-odds")
    assert (row["conf_high"] - row["conf_low"]) / se == pytest.approx(2 * 2.364624, abs=1e-5)  # t on 7
    assert row["method"].endswith("t on 7")


def test_the_engine_and_the_order_of_rows_do_not_matter(answered):
    polars = pytest.importorskip("polars")
    here = answered[answered["judge"].isin(["j0", "j1"])]
    one = strategy_effects(here, baseline="B0", item=["task", "item"])
    other = polars.from_pandas(here.sample(frac=1, random_state=3)).lazy()
    two = strategy_effects(other, baseline="B0", item=["task", "item"])
    pd.testing.assert_frame_equal(one.table, two.table, rtol=1e-6)
    assert one.table["flag"].str.contains("fewer than 5 judges").any()


def test_gold_makes_the_outcome():
    calls = pd.DataFrame(
        {
            "judge": "g", "item": ["1", "1", "2", "2", "3", "3", "4"], "first": "x", "second": "y",
            "strategy": ["B0", "S8"] * 3 + ["B0"], "choice": ["first", "first", "second", "first", "tie", "tie", "first"],
            "gold": ["x", "x", "x", "x", "tie", "y", None],
        }
    )  # fmt: skip
    model = strategy_effects(calls, baseline="B0")
    table = model.fits["g"].design
    shares = {s: float(table.count[(table.frame["strategy"] == s) & (table.y == 1)].sum()) for s in ("B0", "S8")}
    assert shares == {"B0": 2.0, "S8": 2.0}
    assert "1 calls without gold excluded" in model.table["flag"].iloc[0]


def test_a_judge_without_the_baseline():
    other = COUNTS.assign(judge="h", strategy=COUNTS["strategy"].replace({"B0": "S1"}))
    table = strategy_effects(pd.concat([COUNTS, other]), baseline="B0", pooled=False).table
    assert np.isnan(cell(table, judge="h")["estimate"])
    assert "no data" in cell(table, judge="h")["flag"]


def test_what_is_always_right_has_no_log_odds():
    counts = COUNTS.assign(n=[60, 40, 100, 0])
    table = strategy_effects(counts, baseline="B0").table
    odds = cell(table, scale="log-odds")
    assert np.isnan(odds["estimate"])
    assert "separation" in odds["flag"]
    assert cell(table, scale="percentage points")["estimate"] == pytest.approx(40, abs=0.1)


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({}, {"baseline": "B9"}, DesignError, "baseline='B9'"),
        ({}, {"baseline": "B0", "strategy": "stratgy"}, DesignError, "Did you mean 'strategy'"),
        ({}, {"baseline": "B0", "ties": "half"}, DesignError, "Allowed: 'exact', 'drop'"),
        ({"outcome": "yes"}, {"baseline": "B0"}, SchemaError, "'outcome' has 'yes'"),
    ],
)
def test_bad_strategies(change, options, error, message):
    with pytest.raises(error, match=message):
        strategy_effects(COUNTS.assign(**change), **options)
