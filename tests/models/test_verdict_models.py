"""Strategies, positions, self-preference and difficulty: closed forms, R, planted values, and what goes wrong without."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.models.bias_models.difficulty import item_difficulty
from judgestats.models.bias_models.own_systems import self_preference
from judgestats.models.bias_models.positions import position_bias
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.bias_models.strategies import strategy_effects
from judgestats.models.fitting import fit
from judgestats.results import COLUMNS

REFERENCE = Path(__file__).parents[1] / "reference" / "models"


def cell(table, **keys):
    """The one row with these values."""
    here = np.logical_and.reduce([table[k] == v for k, v in keys.items()])
    assert here.sum() == 1, table[here]
    return table[here].iloc[0]


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
    both = tests[tests["question"] == "effects differ between benchmarks"]
    assert set(both["test"]) == {"LR", "Wald"}
    assert (both["p_value"] < 0.01).all()
    assert (both["df"] == 2).all()
    lr = 2 * (model.fits["all judges"].loglik - model.fits["all judges, no interaction"].loglik)
    assert cell(both, test="LR")["statistic"] == pytest.approx(lr)
    assert cell(tests, question="effects differ between judges")["p_value"] < 0.05


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
    model = position_bias(both_orders(20_000, 0.6, 2.0, 1), unsigned=True)
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
    model = position_bias(r_calls.drop(columns="better"), attribute="length", ties="drop", unsigned=True)
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
        js.Judge(
            f"j{k}", slot_bias=b, length_preference=0.8, stable_preference=0.8, item_difficulty=1.0, tie_criterion=0.4
        )
        for k, b in enumerate((-0.4, 0.0, 0.4, 0.8, 1.2, 1.6))
    ]
    return js.simulate(pd.DataFrame(rows), judges, seed=4, replicates=2)


@pytest.mark.slow
def test_several_judges(panel):
    model = position_bias(panel, attribute="length", ties="model")
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
    assert tests["length matters"] < 1e-3
    for k, bias in enumerate((-0.4, 0.0, 0.4, 0.8, 1.2, 1.6)):
        row = cell(model.table, judge=f"j{k}", term="first slot", scale="log-odds")
        assert abs(row["estimate"] - bias) < 3.2 * row["std_error"]


@pytest.mark.parametrize("ties", ["half", "model"])
def test_the_pooled_test_and_interval_of_two_judges_tell_one_story(panel, ties):
    """Two judges leave one degree of freedom: what the interval cannot exclude, the test does not reject."""
    model = position_bias(panel[panel["judge"].isin(["j3", "j4"])], ties=ties)
    row = cell(model.table, judge="all judges", term="first slot", scale="log-odds")
    test = cell(model.tests, judge="all judges", question="there is a slot bias")
    assert (test["test"], test["df"]) == ("t", 1)
    t = row["estimate"] / row["std_error"]
    assert test["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 1), rel=1e-9)
    assert test["p_value"] > 0.05
    assert row["conf_low"] < 0 < row["conf_high"]
    assert 2 * stats.norm.sf(abs(t)) < 0.05  # taken as normal, it would be one
    assert "fewer than 5 judges" in row["flag"]
    at_p = position_bias(panel[panel["judge"].isin(["j3", "j4"])], ties=ties, conf_level=1 - test["p_value"]).table
    edge = cell(at_p, judge="all judges", term="first slot", scale="log-odds")
    assert edge["conf_low"] == pytest.approx(0, abs=1e-9)


def test_a_tie_as_half_a_vote_is_half_a_vote(panel):
    calls = panel[panel["judge"] == "j2"]
    model = position_bias(calls)
    halves = []
    for slot in ("first", "second"):
        here = calls.assign(
            n_identical=np.where(calls["choice"] == "tie", 1, 2),
            choice=calls["choice"].astype(str).replace("tie", slot),
        )
        halves.append(here[(calls["choice"] == "tie") | (slot == "first")])
    doubled = position_bias(pd.concat(halves).drop(columns="replicate"))
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
    model = position_bias(two[two["judge"].isin(["j4", "j5"])], by="prompt", pooled=False)
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
    model = position_bias(calls)
    assert model.fits["g"].notes == ("singular fit",)
    flagged = model.table.set_index("term")["flag"]
    assert flagged["sd(content)"] == "singular fit"
    assert (flagged["first slot"] == "").all()
    assert model.tests["flag"].tolist() == [""]
    shown = repr(model)
    assert shown.splitlines()[-1] == "chosen ~ 1 + (0 + order|pair)  [binomial, logit, trapezoid 28]: singular fit"
    assert shown.count("singular fit") == 2


def test_what_holds_for_every_row_is_printed_once():
    table = pd.DataFrame({"term": ["a", "b"], "estimate": [1.0, 2.0], "flag": ["x; each", "each"]})
    tests = pd.DataFrame({"question": ["q"], "flag": [""]})
    shown = repr(VerdictModel("Asked", {}, table, tests)).splitlines()
    assert shown[2:6] == ["term  estimate flag", "   a       1.0    x", "   b       2.0     ", "In every row: each"]
    assert "flag" not in shown[8]


def test_one_order_only_is_flagged():
    calls = both_orders(60, 0.5, 1.0, 3)
    model = position_bias(calls[calls["first"] == "x"])
    assert model.table["flag"].str.contains("one order only").all()
    assert "sd(content)" not in set(model.table["term"])
    p = (calls[calls["first"] == "x"]["choice"] == "first").mean()
    assert model.table["estimate"].iloc[0] == pytest.approx(logit(p), abs=1e-6)


def test_position_counts_rows_and_engines():
    calls = both_orders(200, 0.5, 1.0, 3)
    wanted = position_bias(calls).table
    twice = calls.sample(frac=1, random_state=0).assign(n_identical=1)
    pd.testing.assert_frame_equal(position_bias(twice).table, wanted, rtol=1e-6)
    polars = pytest.importorskip("polars")
    pd.testing.assert_frame_equal(position_bias(polars.from_pandas(calls)).table, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"order_known": False}, {}, "not recorded"),
        ({}, {"attribute": "length"}, "length_first"),
        ({}, {"ties": "exact"}, "Allowed: 'half', 'drop', 'model'"),
        ({"length_first": 3, "length_second": 3}, {"attribute": "length"}, "the same in every call"),
        ({"choice": "invalid"}, {}, "no call is left"),
    ],
)
def test_bad_positions(change, options, message):
    with pytest.raises(DesignError, match=message):
        position_bias(both_orders(10, 0.5, 1.0, 3).assign(**change), **options)


# ---------------------------------------------------------------- self-preference


def favouring(seed, own=0.8, sd=1.5, judges=5, items=40):
    """Every judge judges every pair of the judges' responses once; a response is worth something of its own."""
    rng = np.random.default_rng(seed)
    worth, quality = sd * rng.standard_normal((judges, items)), rng.normal(0, 0.5, judges)
    a, b = np.triu_indices(judges, 1)
    i, pair, j = (x.ravel() for x in np.meshgrid(np.arange(items), np.arange(len(a)), np.arange(judges), indexing="ij"))
    turned = rng.random(len(i)) < 0.5
    f, s = np.where(turned, b[pair], a[pair]), np.where(turned, a[pair], b[pair])
    lean = own * ((f == j).astype(float) - (s == j))
    eta = 0.2 + quality[f] - quality[s] + worth[f, i] - worth[s, i] + lean
    choice = np.where(rng.random(len(i)) < expit(eta), "first", "second")
    names = np.array([f"m{k}" for k in range(judges)])
    return pd.DataFrame(
        {"judge": names[j], "item": i.astype(str), "first": names[f], "second": names[s], "choice": choice}
    )


def rated(seed, own=0.3, sd=1.0, residual=0.5, judges=4, items=40):
    rng = np.random.default_rng(seed)
    worth, item = sd * rng.standard_normal((judges, items)), rng.normal(0, 0.5, items)
    j, s, i = (x.ravel() for x in np.meshgrid(np.arange(judges), np.arange(judges), np.arange(items), indexing="ij"))
    score = 5 + item[i] + worth[s, i] + own * (j == s) + residual * rng.standard_normal(len(i))
    names = np.array([f"m{k}" for k in range(judges)])
    return pd.DataFrame({"judge": names[j], "system": names[s], "item": i.astype(str), "score": score})


def own_effects(tables, scale):
    """(simulation, model) estimates and standard errors of the effect over all judges."""
    rows = [
        t[(t["judge"] == "all judges") & (t["term"] == "own") & (t["scale"] == scale)].set_index("model")
        for t in tables
    ]
    return (pd.DataFrame([r[c] for r in rows]).reset_index(drop=True) for c in ("estimate", "std_error"))


@pytest.mark.slow
def test_without_system_by_item_the_preference_shrinks():
    tables = [self_preference(favouring(seed), without_worth=True).table for seed in range(8)]
    estimate, se = own_effects(tables, "log-odds")
    mean = estimate.mean()
    assert mean["with system:item"] == pytest.approx(0.8, abs=0.1)
    assert mean["without system:item"] == pytest.approx(0.5, abs=0.08)
    covered = (estimate - 0.8).abs() < 1.96 * se
    assert covered["with system:item"].sum() >= 6
    assert covered["without system:item"].sum() <= 1
    points, _ = own_effects(tables, "percentage points")
    np.testing.assert_allclose(points["with system:item"], points["without system:item"], atol=1.5)


def test_the_biased_model_of_preferences_is_shown_when_asked_for_and_flagged():
    calls = favouring(0)
    shown = self_preference(calls)
    assert set(shown.table["model"]) == {"with system:item"}
    assert not shown.tests["compared"].str.contains(", without").any()
    assert not any("without" in name for name in shown.fits)
    both = self_preference(calls, without_worth=True)
    wrong = both.table[(both.table["model"] == "without system:item") & (both.table["term"] == "own")]
    assert wrong["flag"].str.contains("biased: quality of each response not modelled").all()
    assert both.tests.loc[both.tests["compared"].str.contains(", without"), "flag"].str.contains("biased").all()
    right = both.table[both.table["model"] == "with system:item"].reset_index(drop=True)
    pd.testing.assert_frame_equal(right, shown.table)
    assert not right["flag"].str.contains("biased").any()
    question = "responses differ in worth"
    pd.testing.assert_series_equal(
        cell(both.tests, question=question), cell(shown.tests, question=question), check_names=False
    )


@pytest.mark.slow
def test_without_system_by_item_the_standard_error_of_ratings_is_twice_too_large():
    tables = [self_preference(rated(seed)).table for seed in range(30)]
    estimate, se = own_effects(tables, "score")
    np.testing.assert_allclose(estimate["with system:item"], estimate["without system:item"], atol=1e-6)
    assert estimate["with system:item"].mean() == pytest.approx(0.3, abs=0.03)
    true = estimate["with system:item"].std()
    # two-way table of judges and systems, 40 items: the interaction of a diagonal cell
    exact = 0.5 / math.sqrt(40 * 4 * (1 - 1 / 4))
    assert se["with system:item"].mean() == pytest.approx(exact, rel=0.05)
    assert true == pytest.approx(exact, rel=0.3)
    assert se["without system:item"].mean() > 1.9 * exact


def test_own_by_judge_and_tests():
    calls = favouring(0)
    model = self_preference(calls)
    each = model.table[(model.table["scale"] == "log-odds") & (model.table["term"] == "own")]
    each = each[(each["model"] == "with system:item") & (each["judge"] != "all judges")]
    assert len(each) == 5
    assert ((each["estimate"] - 0.8).abs() < 3 * each["std_error"]).all()
    questions = set(model.tests["question"])
    assert questions == {"own responses are favoured", "judges differ", "responses differ in worth"}
    assert cell(model.tests, question="responses differ in worth")["p_value"] < 1e-20
    assert list(model.table.columns) == ["judge", "model", *COLUMNS, "scale"]


def test_identity_and_family_are_the_same_here():
    calls = favouring(0, judges=3)
    renamed = calls.assign(judge=calls["judge"].str.replace("m", "judge "))
    wanted = self_preference(calls).table["estimate"]
    identity = {f"m{k}": f"judge {k}" for k in range(3)}
    np.testing.assert_allclose(self_preference(renamed, identity=identity).table["estimate"], wanted, rtol=1e-6)
    family = {**{f"m{k}": f"f{k}" for k in range(3)}, **{f"judge {k}": f"f{k}" for k in range(3)}}
    np.testing.assert_allclose(self_preference(renamed, family=family).table["estimate"], wanted, rtol=1e-6)
    told = renamed.assign(**{f"family_{s}": renamed[s].map(family) for s in ("first", "second")})
    judges_only = {k: v for k, v in family.items() if k.startswith("judge")}
    np.testing.assert_allclose(self_preference(told, family=judges_only).table["estimate"], wanted, rtol=1e-6)


def test_two_judges_and_two_systems_have_one_effect_between_them():
    model = self_preference(rated(3, judges=2))
    each = model.table[(model.table["term"] == "own") & (model.table["judge"] != "all judges")]
    assert each["estimate"].isna().all()
    assert each["flag"].str.contains("confounded with the quality").all()
    common = cell(model.table, judge="all judges", term="own", model="with system:item")
    means = rated(3, judges=2).groupby(["judge", "system"])["score"].mean().unstack()
    assert common["estimate"] == pytest.approx(
        (means.iloc[0, 0] + means.iloc[1, 1] - means.iloc[0, 1] - means.iloc[1, 0]) / 2, abs=1e-6
    )


def test_a_judge_that_judges_strangers():
    calls = rated(0)
    model = self_preference(calls.assign(judge=calls["judge"].replace("m3", "z")))
    row = model.table[model.table["judge"] == "z"].iloc[0]
    assert np.isnan(row["estimate"])
    assert "judges nothing of its own" in row["flag"]


def test_nobody_judges_its_own():
    calls = rated(0)
    with pytest.raises(DesignError, match="no judge judges its own"):
        self_preference(calls.assign(judge="z" + calls["judge"]))
    with pytest.raises(DesignError, match="which is no system"):
        self_preference(calls, identity={"m9": "m0"})
    with pytest.raises(DesignError, match="does not name 'm3'"):
        self_preference(calls, family={"m0": "a", "m1": "a", "m2": "b"})


# ---------------------------------------------------------------- difficulty


def test_two_fixed_items_come_out_twice_too_far_apart():
    """Andersen (1973): with two items the joint estimate is exactly twice the conditional one, log(n10/n01)."""
    answers = [(1, 0)] * 12 + [(0, 1)] * 5 + [(1, 1)] * 20 + [(0, 0)] * 20
    calls = pd.DataFrame([(f"j{k}", i, y) for k, ys in enumerate(answers) for i, y in zip("ab", ys, strict=True)],
                         columns=["judge", "item", "correct"])  # fmt: skip
    table = item_difficulty(calls, items="fixed", judges="fixed").table
    a, b = (cell(table, facet="item", level=i)["estimate"] for i in "ab")
    assert b - a == pytest.approx(2 * math.log(12 / 5), abs=1e-4)
    marginal = item_difficulty(calls, items="fixed").table
    a, b = (cell(marginal, facet="item", level=i)["estimate"] for i in "ab")
    assert (b - a) / math.log(12 / 5) == pytest.approx(1, abs=0.1)
    always = table[(table["facet"] == "judge") & table["flag"].str.contains("always")]
    assert len(always) == 40
    assert always["estimate"].isna().all()


@pytest.fixture(scope="module")
def facets():
    rng = np.random.default_rng(2)
    hard, able = rng.normal(0, 1.2, 60), rng.normal(0.4, 0.6, 15)
    calls = pd.DataFrame([(f"j{j:02d}", f"i{i:02d}", int(rng.random() < expit(able[j] - hard[i]))) for i in range(60) for j in range(15)],
                         columns=["judge", "item", "correct"])  # fmt: skip
    return calls, hard, able


@pytest.mark.parametrize(("items", "judges"), [("random", "random"), ("random", "fixed"), ("fixed", "random")])
def test_planted_difficulties(facets, items, judges):
    calls, hard, able = facets
    model = item_difficulty(calls, items=items, judges=judges)
    found = model.table[(model.table["facet"] == "item") & (model.table["level"] != "")]
    true = hard - able.mean()
    known = found["estimate"].notna().to_numpy()
    assert known.sum() > 55
    assert np.corrcoef(found["estimate"][known], true[known])[0, 1] > 0.85
    covered = ((found["conf_low"] <= true) & (true <= found["conf_high"]))[known].mean()
    assert 0.88 <= covered <= 1.0
    ability = model.table[(model.table["facet"] == "judge") & (model.table["level"] != "")]
    assert np.corrcoef(ability["estimate"], able)[0, 1] > 0.7
    np.testing.assert_allclose(found["share"], calls.groupby("item")["correct"].mean(), rtol=1e-12)
    for facet, kind in (("item", items), ("judge", judges)):
        here = model.table[model.table["term"] == f"sd({facet})"]
        assert len(here) == (kind == "random")
    assert (model.tests["p_value"] < 0.001).all()


def test_random_levels_are_the_modes_of_the_fit(facets):
    calls, _, _ = facets
    model = item_difficulty(calls)
    hand = fit("correct ~ 1 + (1|item) + (1|judge)", calls)
    modes = dict(zip(hand.design.terms[0].levels, hand.effects().modes[0][:, 0], strict=True))
    row = cell(model.table, facet="item", level="i07")
    assert row["estimate"] == pytest.approx(-(hand.beta[0] + modes["i07"]), abs=1e-5)
    assert row["n"] == 15


def test_few_calls_are_flagged(facets):
    calls, _, _ = facets
    some = calls[(calls["item"] != "i00") | (calls["judge"] < "j03")]
    table = item_difficulty(some, judge="judge").table
    assert "fewer than 5 calls" in cell(table, facet="item", level="i00")["flag"]
    assert "fewer than 5 calls" not in cell(table, facet="item", level="i01")["flag"]


def test_difficulty_from_gold_and_counts(facets):
    calls, _, _ = facets
    here = calls.assign(first="x", second="y", gold="x", choice=np.where(calls["correct"] == 1, "first", "second"))
    wanted = item_difficulty(calls).table
    got = item_difficulty(here.drop(columns="correct").assign(n_identical=1)).table
    pd.testing.assert_frame_equal(got, wanted, rtol=1e-6)
    with pytest.raises(DesignError, match="two items"):
        item_difficulty(calls[calls["item"] == "i00"])
    with pytest.raises(DesignError, match="Allowed: 'random', 'fixed'"):
        item_difficulty(calls, items="free")


@pytest.mark.slow
def test_self_preference_of_scores_has_the_degrees_of_freedom_of_its_fit() -> None:
    rng = np.random.default_rng(4)
    seen = [(j, s, i) for i in range(6) for j in "abc" for s in "abc"]
    scores = pd.DataFrame(seen, columns=["judge", "system", "item"])
    worth = dict(
        zip(scores[["system", "item"]].drop_duplicates().itertuples(index=False), rng.normal(size=18), strict=True)
    )
    scores["score"] = [5 + worth[s, i] + (j == s) + rng.normal() / 2 for j, s, i in seen]
    found = self_preference(scores)
    own = found.table[found.table["term"] == "own"]
    fits = [f for f in found.fits.values() if "own" in f.names]
    assert fits
    halves = (own["conf_high"] - own["conf_low"]) / own["std_error"] / 2
    assert (halves > 1.97).all()
    assert own["method"].str.contains(", t on ").all()
