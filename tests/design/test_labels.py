"""How many verdicts and labels: what is planned is precise enough, and nothing cheaper is."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError

PRICES = {"verdict": 0.01, "label": 1.0}


def printed(size=1, **other):
    values = {"judge": "g", "p": 0.4, "q0": 0.9, "q1": 0.95, "n": 400 * size, "m0": 60 * size, "m1": 60 * size}
    return pd.DataFrame([values | other])


def pairs(size=1):
    """Verdicts with labels at random, and others without."""
    cells = [("yes", "yes", 45), ("yes", "no", 8), ("no", "yes", 5), ("no", "no", 62), ("yes", "none", 400)]
    table = pd.DataFrame([*cells, ("no", "none", 600)], columns=["verdict", "label", "n"]).assign(judge="g")
    return table.assign(n=table["n"] * size)


def partly_labelled(seed=0, items=200):
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0, 1, items)
    judged = np.clip(quality + 0.15 * rng.standard_normal(items), 0, 1)
    table = pd.DataFrame({"judge": "g", "item": np.arange(items), "score": judged})
    return table.assign(gold=np.where(np.arange(items) < 80, quality, np.nan))


def planned(pilot, precision=0.05, prices=None, **options):
    options = {"sampling": "by class", "replications": 200} | options
    prices = None if prices is False else prices or PRICES
    return js.design.label_plan(pilot, precision=precision, prices=prices, **options).iloc[0]


def test_the_plan_has_the_precision_and_nothing_cheaper_has():
    """A pilot that leaves nothing open: the half-width of the corrected counts themselves, planned and with one less.

    Three studies of ten are to be precise enough: half of them are where the half-width to be expected is.
    """
    plan = planned(printed(10**10), assurance=0.3)
    n, m0, m1 = (int(plan[c]) for c in ("n", "m0", "m1"))

    def half(n, m0, m1):
        table = printed(n=n, m0=m0, m1=m1)
        row = js.corrected_rate(table, sampling="by class").iloc[0]
        return (row["conf_high"] - row["conf_low"]) / 2

    assert plan["predicted_half_width"] == pytest.approx(half(n, m0, m1), rel=1e-9)
    assert half(n, m0, m1) <= 0.05
    for less in ((n - 2, m0, m1), (n, m0 - 1, m1), (n, m0, m1 - 1)):
        assert half(*less) > 0.05
    assert plan["cost"] == pytest.approx(0.01 * n + m0 + m1)
    for a, b in ((m0 - 20, m1), (m0 + 20, m1), (m0, m1 + 15), (m0 + 15, m1 - 8)):  # others, with the fewest verdicts
        low, high = 1, 10**6
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if half(middle, a, b) <= 0.05 else (middle, high)
        assert 0.01 * high + a + b > plan["cost"]


def test_what_the_pilot_leaves_open_costs_labels():
    little, much = planned(printed()), planned(printed(100))
    assert little["m"] > much["m"]
    assert little["predicted_half_width"] < much["predicted_half_width"] <= 0.0505
    assert planned(printed(), assurance=0.95)["cost"] > little["cost"]


@pytest.mark.parametrize("sampling", ["by class", "random"])
def test_predicted_and_simulated_half_widths_agree(sampling):
    plan = planned(printed(5) if sampling == "by class" else pairs(5), sampling=sampling)
    assert plan["simulated_half_width"] == pytest.approx(plan["predicted_half_width"], rel=0.03)
    assert 0.8 <= plan["simulated_share"] <= 0.9
    if sampling == "random":
        assert np.isnan(plan["m0"])
        assert plan["n"] >= 2 * plan["m"]


@pytest.mark.parametrize(("sampling", "size"), [("by class", 1), ("by class", 5), ("random", 1), ("random", 5)])
@pytest.mark.parametrize(
    "assurance", [pytest.param(0.5, marks=pytest.mark.slow), 0.8, pytest.param(0.95, marks=pytest.mark.slow)]
)
def test_the_share_assured_is_that_of_the_simulated_studies(sampling, size, assurance):
    pilot = printed(size) if sampling == "by class" else pairs(size)
    plan = planned(pilot, sampling=sampling, assurance=assurance)
    assert plan["simulated_share"] >= assurance
    again = planned(pilot, sampling=sampling, assurance=assurance, seed=5, replications=500)
    assert again["simulated_share"] >= assurance


def test_given_verdicts_that_are_too_few_for_the_share_assured_say_so():
    plans = (planned(pairs(1), 0.05, False, sampling="random", verdicts=v) for v in range(400, 1500, 20))
    plan = next(p for p in plans if np.isfinite(p["n"]))  # no fewer verdicts have any plan
    assert plan["simulated_share"] < 0.8
    assert f"precise enough in {100 * plan['simulated_share']:.0f} % of simulated studies" in plan["flag"]


def test_a_study_of_the_planned_size_has_the_half_width():
    """Answers drawn anew from what the pilot says; half of such studies are precise enough."""
    plan = planned(pairs(1000), sampling="random", assurance=0.3)
    n, m = int(plan["n"]), int(plan["m"])
    rng = np.random.default_rng(0)
    share = np.array([45, 8, 5, 62]) / 120
    halves = []
    for _ in range(40):
        inside, outside = rng.multinomial(m, share), rng.multinomial(n - m, share)
        rows = [("yes", "yes", inside[0]), ("yes", "no", inside[1]), ("no", "yes", inside[2]), ("no", "no", inside[3])]
        rows += [("yes", "none", outside[:2].sum()), ("no", "none", outside[2:].sum())]
        table = pd.DataFrame(rows, columns=["verdict", "label", "n"]).assign(judge="g")
        row = js.corrected_rate(table, sampling="random").iloc[0]
        halves.append((row["conf_high"] - row["conf_low"]) / 2)
    assert np.mean(halves) == pytest.approx(0.05, rel=0.03)


def test_given_verdicts_need_no_prices_and_get_the_fewest_labels():
    """Without uncertainty in the pilot: the corrected counts have the half-width, and with a label less they do not."""
    plan = planned(printed(10**10), sampling="by class", verdicts=3000, prices=False, assurance=0.3)
    m0, m1 = int(plan["m0"]), int(plan["m1"])
    assert (plan["n"], plan["flag"]) == (3000, "clustering unknown")
    assert np.isnan(plan["cost"])
    assert np.isnan(plan["cost_labels_alone"])
    assert plan["labels_alone"] > 0

    def half(m0, m1):
        row = js.corrected_rate(printed(n=3000, m0=m0, m1=m1), sampling="by class").iloc[0]
        return (row["conf_high"] - row["conf_low"]) / 2

    assert half(m0, m1) <= 0.05
    assert all(half(k, m0 + m1 - 1 - k) > 0.05 for k in range(m0 - 9, m0 + 9, 2))  # however divided
    priced = planned(printed(10**10), sampling="by class", verdicts=3000, assurance=0.3)
    assert (priced["m0"], priced["m1"]) == (m0, m1)
    assert priced["cost"] == pytest.approx(30 + m0 + m1)


def test_more_verdicts_need_fewer_labels_and_too_few_are_flagged():
    many, few, none = (planned(pairs(), sampling="random", prices=False, verdicts=v) for v in (20_000, 1_000, 500))
    assert many["m"] < few["m"] < few["labels_alone"] <= many["labels_alone"]
    assert (many["n"], few["n"]) == (20_000, 1_000)
    assert "precision out of reach with 500 verdicts" in none["flag"]
    assert np.isnan(none["n"])
    assert np.isnan(none["m"])
    assert none["labels_alone"] == few["labels_alone"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampling", "verdicts"), [("random", 2_000), pytest.param("by class", 2_000, marks=pytest.mark.full)]
)
def test_studies_with_the_planned_labels_have_the_half_width_in_the_share_assured(sampling, verdicts):
    """The truth is unknown: many pilots, a plan from each, and a study of the planned size drawn from the truth."""
    rng = np.random.default_rng(2)
    theta, q0, q1 = 0.4, 0.93, 0.9
    cell = np.array([(1 - theta) * q0, (1 - theta) * (1 - q0), theta * (1 - q1), theta * q1])  # label, verdict
    answers = [("no", "no"), ("yes", "no"), ("no", "yes"), ("yes", "yes")]
    positive = cell[1] + cell[3]

    def drawn(n, m, m0, m1):
        if sampling == "by class":
            shares = {
                "p": rng.binomial(n, positive) / n,
                "q0": rng.binomial(m0, q0) / m0,
                "q1": rng.binomial(m1, q1) / m1,
            }
            return printed(**shares, n=n, m0=m0, m1=m1)
        inside, outside = rng.multinomial(m, cell), rng.binomial(n - m, positive)
        rows = [(*a, k) for a, k in zip(answers, inside, strict=True)]
        rows += [("yes", "none", outside), ("no", "none", n - m - outside)]
        return pd.DataFrame(rows, columns=["verdict", "label", "n"]).assign(judge="g")

    halves, predicted, covered = [], [], []
    for _ in range(40):
        plan = planned(drawn(1_000, 150, 80, 60), 0.06, False, sampling=sampling, verdicts=verdicts, replications=200)
        size = {c: int(plan[c]) if plan[c] > 0 else 0 for c in ("m", "m0", "m1")}
        row = js.corrected_rate(drawn(verdicts, **size), sampling=sampling).iloc[0]
        halves.append((row["conf_high"] - row["conf_low"]) / 2)
        predicted.append(plan["predicted_half_width"])
        covered.append(row["conf_low"] <= theta <= row["conf_high"])
    assert np.mean(halves) < 0.06
    assert np.mean(np.array(halves) <= 0.06) > 0.67  # .8 are assured; P(fewer than 27 of 40) = .04
    # a pilot that flatters the judge asks for fewer labels: what it predicts is a few per cent too small
    assert np.mean(halves) == pytest.approx(np.mean(predicted), rel=0.08)
    assert np.mean(covered) > 0.9


def test_mean_scores():
    plan = planned(partly_labelled(), 0.02, sampling="random")
    assert plan["m"] < plan["labels_alone"]
    assert plan["simulated_half_width"] == pytest.approx(plan["predicted_half_width"], rel=0.03)
    again = planned(partly_labelled(), 0.02, sampling="random")
    pd.testing.assert_series_equal(plan, again)


def test_a_clustered_pilot_needs_more():
    table = partly_labelled(items=400).assign(prompt=lambda t: t["item"] // 10)
    effect = np.random.default_rng(1).normal(0, 0.3, 40)[table["prompt"]]
    table = table.assign(gold=table["gold"] + effect)
    wide, flat = (planned(table, 0.05, sampling="random", cluster=c) for c in ("auto", False))
    assert "design effect" in wide["method"]
    assert wide["m"] > 1.5 * flat["m"]
    assert "calls not independent" in flat["flag"]


def test_labels_alone_may_cost_less():
    dear = planned(printed(), prices={"verdict": 1.0, "label": 1.0})
    assert "labels alone cost less" in dear["flag"]
    assert dear["cost_labels_alone"] < dear["cost"]
    assert "labels alone" not in planned(printed(q0=0.97, q1=0.98))["flag"]


@pytest.mark.parametrize(
    ("pilot", "flag"),
    [
        (printed(q0=0.5, q1=0.55), "not better than chance"),
        (printed(m1=0), "labels of one class only"),
        (printed(m0=0, m1=0), "no labels"),
        (printed(n=0), "no data"),
        (printed(q0=0.58, q1=0.62), "precision out of reach"),
        (printed(m0=9), "fewer than 10 labels in a class"),
    ],
)
def test_what_a_pilot_cannot_say_is_flagged(pilot, flag):
    plan = planned(pilot, assurance=0.995)
    assert flag in plan["flag"]
    assert np.isnan(plan["n"]) == (flag != "fewer than 10 labels in a class")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sampling": None}, "State how the labelled items are drawn"),
        ({"precision": 0}, "precision=0 must be above 0"),
        ({"precision": "5 %"}, "precision='5 %' must be above 0"),
        ({"assurance": 1}, "assurance=1 must be between 0 and 1"),
        ({"prices": {"label": 1}}, "must be {'verdict': price, 'label': price}"),
        ({"prices": {"label": 1, "verdict": 0}}, "both above 0"),
        ({"prices": None}, "or the number of verdicts that there are, verdicts=2000"),
        ({"verdicts": 1}, "verdicts=1 is not a number of verdicts"),
        ({"verdicts": "all"}, "verdicts='all' is not a number of verdicts"),
        ({"replications": 0}, "is not a number of studies"),
    ],
)
def test_errors_say_what_to_give(change, message):
    options = {"precision": 0.05, "prices": PRICES, "sampling": "by class"} | change
    with pytest.raises(DesignError, match=message):
        js.design.label_plan(printed(), **options)


def test_each_judge_has_its_own_plan():
    both = pd.concat([printed(), printed(judge="h", q0=0.8)])
    plans = js.label_plan(both, precision=0.05, prices=PRICES, sampling="by class", replications=50)
    assert plans["judge"].tolist() == ["g", "h"]
    assert plans.loc[0, "cost"] < plans.loc[1, "cost"]
    alone = js.label_plan(printed(), precision=0.05, prices=PRICES, sampling="by class", replications=50)
    pd.testing.assert_frame_equal(plans[:1], alone)


def test_a_plan_of_few_labels_is_flagged_and_studies_without_an_interval_fail():
    plan = planned(pairs(), precision=0.5, prices=False, verdicts=1000, sampling="random")
    assert plan["m"] < 20
    assert "fewer than 30 labels" in plan["flag"]
    # two labels are alike, and give no interval, in about half of the studies: more are planned
    assert plan["simulated_share"] >= 0.8
    assert np.isfinite(plan["simulated_half_width"])
