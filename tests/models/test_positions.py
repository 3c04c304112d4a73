"""The model of position bias: closed forms, lme4, planted values, and what goes wrong without its terms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

import judgestats as js
from judgestats.errors import DesignError
from judgestats.models.bias_models.positions import position_bias_model
from models.toys import cell

REFERENCE = Path(__file__).parents[1] / "reference" / "models"


# ---------------------------------------------------------------- positions


def both_orders(pairs, bias, sd, seed):
    """Pairs in both orders: the content pulls to the first candidate or the second, whichever slot it is in."""
    rng = np.random.default_rng(seed)
    u = sd * rng.standard_normal(pairs)
    parts = []
    for order, names in ((1, ("x", "y")), (-1, ("y", "x"))):
        choice = np.where(rng.random(pairs) < expit(bias + order * u), "first", "second")
        parts.append(
            pd.DataFrame(
                {"item": np.arange(pairs).astype(str), "first": names[0], "second": names[1], "choice": choice}
            )
        )
    return pd.concat(parts, ignore_index=True).assign(judge="g")


def test_the_unsigned_pair_effect_is_wrong_and_by_how_much():
    """True 0.60: signed 0.60, unsigned 0.36, which is the log-odds of an average over contents of sd 2."""
    model = position_bias_model(both_orders(20_000, 0.6, 2.0, 1), unsigned=True)
    right = cell(model.table, term="first slot", scale="log-odds")
    wrong = cell(model.table, term="first slot, (1|pair)")
    assert right["estimate"] == pytest.approx(0.600, abs=0.02)
    assert wrong["estimate"] == pytest.approx(0.364, abs=0.02)
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    marginal = logit(weights @ expit(0.6 + 2.0 * nodes) / weights.sum())
    assert marginal == pytest.approx(0.3641, abs=1e-4)
    assert abs(wrong["estimate"] - marginal) < 2 * wrong["std_error"]
    assert wrong["conf_high"] < 0.5 < right["conf_low"]
    assert "content is not signed" in wrong["flag"]
    assert "singular fit" in wrong["flag"]
    assert "singular fit" not in right["flag"]
    sd = cell(model.table, term="sd(content)")
    assert sd["conf_low"] < 2.0 < sd["conf_high"]
    points = cell(model.table, scale="percentage points")
    share = model.fits["g"].design
    raw = float(share.count @ share.y / share.count.sum())
    assert points["estimate"] == pytest.approx(100 * (raw - 0.5), abs=0.1)


@pytest.fixture(scope="module")
def r_calls():
    return pd.read_csv(REFERENCE / "verdicts_calls.csv", keep_default_na=False)


def test_position_against_lme4(r_calls):
    wanted = pd.read_csv(REFERENCE / "verdicts.csv", comment="#").set_index(["model", "term"])["value"]
    model = position_bias_model(r_calls.drop(columns="better"), attribute="length", ties="drop", unsigned=True)
    signed, unsigned = "(0 + order | item)", "(1 | item)"
    slot, slope = (cell(model.table, term=t, scale="log-odds") for t in ("first slot", "length, per sd"))
    assert slot["estimate"] == pytest.approx(wanted[signed, "first slot"], abs=1e-4)
    assert slot["std_error"] == pytest.approx(wanted[signed, "first slot, se"], rel=5e-3)
    assert slope["estimate"] == pytest.approx(wanted[signed, "slope"], abs=2e-3)
    assert slope["std_error"] == pytest.approx(wanted[signed, "slope, se"], rel=2e-2)
    assert cell(model.table, term="sd(content)")["estimate"] == pytest.approx(wanted[signed, "sd"], abs=5e-3)
    wrong = cell(model.table, term="first slot, (1|pair)")
    assert wrong["estimate"] == pytest.approx(wanted[unsigned, "first slot"], abs=1e-4)
    assert wrong["std_error"] == pytest.approx(wanted[unsigned, "first slot, se"], rel=1e-3)
    assert wanted[unsigned, "first slot"] < 0.5 * wanted[signed, "first slot"]


@pytest.fixture(scope="module")
def panel():
    """Six judges whose slot bias differs, that share a view of each pair and have their own; ties; verbosity."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(100, 1000, (80, 2))
    rows = [
        {"item": str(i), "first": a, "second": b, "length_first": int(x), "length_second": int(y)}
        for i, (p, q) in enumerate(lengths)
        for a, b, x, y in (("u", "v", p, q), ("v", "u", q, p))
    ]
    judges = [
        js.design.Judge(
            f"j{k}", slot_bias=b, length_preference=0.8, stable_preference=0.8, item_difficulty=1.0, tie_criterion=0.4
        )
        for k, b in enumerate((-0.4, 0.0, 0.4, 0.8, 1.2, 1.6))
    ]
    return js.design.simulate(pd.DataFrame(rows), judges, seed=4, replicates=2)


@pytest.mark.slow
def test_several_judges(panel):
    model = position_bias_model(panel, attribute="length", ties="model")
    pooled = model.table[model.table["judge"] == "all judges"]
    slot = cell(pooled, term="first slot", scale="log-odds")
    assert abs(slot["estimate"] - 0.6) < 3 * slot["std_error"]
    assert slot["std_error"] > 0.2  # six judges, sd 0.7
    assert 0.35 < cell(pooled, term="sd(first slot|judge)")["estimate"] < 1.2
    assert cell(pooled, term="tie criterion")["estimate"] == pytest.approx(0.4, abs=0.08)
    assert cell(pooled, term="sd(content)")["conf_low"] < 1.0 < cell(pooled, term="sd(content)")["conf_high"]
    assert cell(pooled, term="sd(content|judge)")["estimate"] == pytest.approx(0.8, abs=0.35)
    tests = model.tests[model.tests["judge"] == "all judges"].set_index("question")["p_value"]
    assert tests["judges differ"] < 1e-6
    assert tests["length matters"] < 0.01
    for k, bias in enumerate((-0.4, 0.0, 0.4, 0.8, 1.2, 1.6)):
        row = cell(model.table, judge=f"j{k}", term="first slot", scale="log-odds")
        assert abs(row["estimate"] - bias) < 3.2 * row["std_error"]


@pytest.mark.parametrize("ties", ["half", "model"])
def test_the_pooled_test_and_interval_of_two_judges_tell_one_story(panel, ties):
    """Two judges leave one degree of freedom: what the interval cannot exclude, the test does not reject."""
    model = position_bias_model(panel[panel["judge"].isin(["j3", "j4"])], ties=ties)
    row = cell(model.table, judge="all judges", term="first slot", scale="log-odds")
    test = cell(model.tests, judge="all judges", question="there is a slot bias")
    assert (test["test"], test["df"]) == ("t", 1)
    t = row["estimate"] / row["std_error"]
    assert test["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 1), rel=1e-9)
    assert test["p_value"] > 0.05
    assert row["conf_low"] < 0 < row["conf_high"]
    assert 2 * stats.norm.sf(abs(t)) < 0.05  # taken as normal, it would be one
    assert "fewer than 5 judges" in row["flag"]
    at_p = position_bias_model(
        panel[panel["judge"].isin(["j3", "j4"])], ties=ties, conf_level=1 - test["p_value"]
    ).table
    edge = cell(at_p, judge="all judges", term="first slot", scale="log-odds")
    assert edge["conf_low"] == pytest.approx(0, abs=1e-9)


def test_pooled_shifts_and_slopes_are_means_of_a_sample_of_judges():
    """Three judges whose bias moves by strategy, and whose slopes on length differ; on average there is no more to it."""
    rng = np.random.default_rng(5)
    rows = [(j, i, o, s) for j in range(3) for i in range(60) for o in (1, -1) for s in (0, 1)]
    judge, item, order, strategy = (np.array(c) for c in zip(*rows, strict=True))
    length = rng.normal(size=60)[item] * order
    eta = np.array([-2.0, 0.0, 2.0])[judge] * strategy + np.array([1.5, 0.0, -1.5])[judge] * length
    calls = pd.DataFrame({
        "judge": judge.astype(str), "item": item.astype(str), "strategy": np.where(strategy, "S", "B"),
        "first": np.where(order > 0, "x", "y"), "second": np.where(order > 0, "y", "x"), "length_first": length,
        "length_second": 0.0, "choice": np.where(rng.random(len(rows)) < expit(eta), "first", "second"),
    })  # fmt: skip
    model = position_bias_model(calls, attribute="length", by="strategy")
    pooled = model.tests[model.tests["judge"] == "all judges"]
    shift = cell(pooled, question="slot bias differs by strategy")
    assert (shift["test"], shift["df"], shift["df_error"]) == ("F", 1, 2)
    fit = model.fits["all judges, by strategy"]
    k = fit.names.index("group[S]")
    assert shift["statistic"] == pytest.approx(fit.params[k] ** 2 / fit.covariance[k, k])
    assert shift["p_value"] == pytest.approx(stats.f.sf(shift["statistic"], 1, 2))
    assert shift["p_value"] > 0.2
    slope = cell(pooled, question="length matters", strategy="B")
    assert (slope["test"], slope["df"]) == ("t", 2)
    assert slope["p_value"] == pytest.approx(2 * stats.t.sf(abs(slope["statistic"]), 2))
    row = cell(model.table, judge="all judges", strategy="B", term="length, per sd", scale="log-odds")
    assert row["estimate"] / row["std_error"] == pytest.approx(slope["statistic"])
    assert "t on 2" in row["method"]
    spread = cell(model.table, judge="all judges", strategy="B", term="sd(length, per sd|judge)")
    assert spread["estimate"] > 0.7
    one = model.tests[model.tests["judge"] == "0"]
    assert set(one["test"]) == {"LR"}  # one judge is no sample
    assert cell(one, question="slot bias differs by strategy")["p_value"] < 1e-6


def test_a_tie_as_half_a_vote_is_half_a_vote(panel):
    calls = panel[panel["judge"] == "j2"]
    model = position_bias_model(calls)
    halves = []
    for slot in ("first", "second"):
        here = calls.assign(
            n_identical=np.where(calls["choice"] == "tie", 1, 2),
            choice=calls["choice"].astype(str).replace("tie", slot),
        )
        halves.append(here[(calls["choice"] == "tie") | (slot == "first")])
    doubled = position_bias_model(pd.concat(halves).drop(columns="replicate"))
    # twice the votes: another likelihood under random contents, the same margin
    raw = [float(m.fits["j2"].design.count @ m.fits["j2"].design.y / m.fits["j2"].n) for m in (model, doubled)]
    assert raw[0] == pytest.approx(raw[1])
    assert "counted as half a vote" in model.table["flag"].iloc[0]
    lean = 0.5 * ((calls["choice"] == "first").mean() - (calls["choice"] == "second").mean())
    assert cell(model.table, scale="percentage points")["estimate"] == pytest.approx(100 * lean, abs=0.7)


def test_the_groups_of_by(panel):
    strict = panel.assign(prompt="strict", choice=panel["choice"])
    swapped = strict.assign(
        choice=panel["choice"].astype(str).map({"first": "second", "second": "first"}).fillna("tie"),
        first=panel["second"], second=panel["first"],
    )  # fmt: skip
    two = pd.concat([panel.assign(prompt="base"), swapped])
    model = position_bias_model(two[two["judge"].isin(["j4", "j5"])], by="prompt", pooled=False)
    for judge in ("j4", "j5"):
        one, other = (
            cell(model.table, judge=judge, prompt=p, term="first slot", scale="log-odds") for p in ("base", "strict")
        )
        assert one["estimate"] == pytest.approx(-other["estimate"], abs=1e-4)
        between = cell(model.tests, judge=judge, question="slot bias differs by prompt")
        assert between["p_value"] < 1e-6
        assert between["prompt"] == ""  # compared, not grouped
    assert set(model.tests["prompt"]) == {"base", "strict", ""}


def test_a_variance_of_zero_is_flagged_where_it_is():
    """Contents that do not matter: the row of their sd says so, the slot bias does not; the print has it once."""
    calls = both_orders(60, 0.6, 0.0, 3)
    # pairs whose two orders agree on the slot more often than chance would have it: the content pulls nowhere
    both = [["first"] * 2] * 30 + [["first", "second"], ["second", "first"]] * 10 + [["second"] * 2] * 10
    calls["choice"] = [answers[0] for answers in both] + [answers[1] for answers in both]
    model = position_bias_model(calls)
    assert model.fits["g"].notes == ("singular fit",)
    flagged = model.table.set_index("term")["flag"]
    assert flagged["sd(content)"] == "singular fit"
    assert (flagged["first slot"] == "").all()
    assert model.tests["flag"].tolist() == [""]
    shown = repr(model)
    assert shown.splitlines()[-1] == "chosen ~ 1 + (0 + order|pair)  [binomial, logit, trapezoid 28]: singular fit"
    assert shown.count("singular fit") == 2


def test_one_order_only_is_flagged():
    calls = both_orders(60, 0.5, 1.0, 3)
    model = position_bias_model(calls[calls["first"] == "x"])
    assert model.table["flag"].str.contains("one order only").all()
    assert "sd(content)" not in set(model.table["term"])
    p = (calls[calls["first"] == "x"]["choice"] == "first").mean()
    assert model.table["estimate"].iloc[0] == pytest.approx(logit(p), abs=1e-6)


def test_position_counts_rows_and_engines():
    calls = both_orders(200, 0.5, 1.0, 3)
    wanted = position_bias_model(calls).table
    twice = calls.sample(frac=1, random_state=0).assign(n_identical=1)
    pd.testing.assert_frame_equal(position_bias_model(twice).table, wanted, rtol=1e-6)
    polars = pytest.importorskip("polars")
    pd.testing.assert_frame_equal(position_bias_model(polars.from_pandas(calls)).table, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"order_known": False}, {}, "not recorded"),
        ({}, {"attribute": "length"}, "length_first"),
        ({}, {"ties": "exact"}, "Allowed: 'half', 'drop', 'model'"),
        ({"length_first": 3, "length_second": 3}, {"attribute": "length"}, "the same in every call"),
        ({"choice": "invalid"}, {}, "no valid call"),
    ],
)
def test_bad_positions(change, options, message):
    with pytest.raises(DesignError, match=message):
        position_bias_model(both_orders(10, 0.5, 1.0, 3).assign(**change), **options)
