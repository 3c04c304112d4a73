"""Corrected rates and differences: published figures, formulas written out, simulated truth, refusals and bad input."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

import judgestats as js
from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson
from judgestats.metrics.measure_registry import Options, measures

REAL = os.environ.get("JUDGESTATS_REAL_DATA")
COLUMNS = ["verdict", "label", "n"]


def counts(p, q0, q1, n, m0, m1, **labels):
    """Printed counts: n verdicts of which a share p is positive, and labels by class."""
    cells = [("yes", "none", p * n), ("no", "none", (1 - p) * n), ("no", "no", q0 * m0), ("yes", "no", (1 - q0) * m0)]
    cells += [("yes", "yes", q1 * m1), ("no", "yes", (1 - q1) * m1)]
    table = pd.DataFrame([(v, c, round(k)) for v, c, k in cells], columns=COLUMNS)
    return table.assign(judge="g", **labels)


def of(result, term="corrected_rate"):
    found = result[result["term"] == term]
    assert len(found) == 1
    return found.iloc[0]


def frame(seed=0, items=300, labelled=100, systems=("s",), share=0.3, right=0.85, judges=("g",), by_class=False):
    """Yes and no verdicts of judges on systems; people labelled the first items, or so many of each class."""
    rng = np.random.default_rng(seed)
    rows = []
    for system in systems:
        truth = rng.random(items) < share
        for judge in judges:
            verdict = np.where(rng.random(items) < right, truth, ~truth)
            known = np.arange(items) < labelled
            if by_class:
                known = np.isin(
                    np.arange(items), np.concatenate([np.flatnonzero(truth == c)[: labelled // 2] for c in (0, 1)])
                )
            rows.append(pd.DataFrame({"judge": judge, "system": system, "item": [f"q{i}" for i in range(items)],
                                      "score": verdict * 1.0, "gold": np.where(known, truth * 1.0, np.nan)}))  # fmt: skip
    return pd.concat(rows, ignore_index=True)


# ---- Published figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ((0.4, 0.7, 0.9, 1000, 200, 200), (0.166667, 0.056351, 0.262733)),
        ((0.8, 0.85, 0.95, 500, 50, 150), (0.8125, 0.747261, 0.874498)),
    ],
)
def test_printed_shares_give_the_interval_of_lee_et_al(given, want):
    printed = pd.DataFrame([given], columns=["p", "q0", "q1", "n", "m0", "m1"])
    row = of(js.corrected_rate(printed.assign(judge="g"), sampling="by class"))
    np.testing.assert_allclose(row[["estimate", "conf_low", "conf_high"]].astype(float), want, atol=5e-7)
    assert (row["n"], row["n_labels"]) == (given[3], given[4] + given[5])
    if given[0] == 0.4:  # whole counts
        same = of(js.corrected_rate(counts(*given), sampling="by class"))
        pd.testing.assert_series_equal(row, same)


def test_printed_shares_are_by_class_and_lie_between_0_and_1():
    printed = pd.DataFrame({"judge": ["g"], "p": 0.4, "q0": 0.7, "q1": 0.9, "n": 1000, "m0": 200, "m1": 200})
    with pytest.raises(DesignError, match="sampling='by class'"):
        js.corrected_rate(printed, sampling="random")
    with pytest.raises(DesignError, match="'q0' is 70"):
        js.corrected_rate(printed.assign(q0=70), sampling="by class")
    with pytest.raises(DesignError, match="printed shares of a system"):
        js.corrected_difference(printed, baseline="b", sampling="by class")
    two = pd.concat([printed.assign(system="a"), printed.assign(system="b", p=0.5)])
    row = of(js.corrected_difference(two, baseline="a", sampling="by class"), "corrected_difference")
    assert row["estimate"] == pytest.approx(0.1 / 0.6)


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="needs the public verdicts")
@pytest.mark.parametrize(
    ("ddof", "want"),
    [(1, (0.7552125043, 0.0099386434, 0.3708541005)), (0, (0.7552112572, 0.0099283136, 0.3704519397))],
)
def test_the_mean_of_the_arena_sample(ddof, want):
    table = arena()
    found = js.corrected_rate(table[table["system"] == "base"], sampling="random", ddof=ddof)
    row = of(found)
    got = (row["estimate"], row["std_error"], of(found, "lambda")["estimate"])
    np.testing.assert_allclose(got, want, atol=5e-11)
    np.testing.assert_allclose(got[:2], (0.75521011, 0.00992831), atol=1.1e-5)  # ppi_py 0.2.3
    given = js.corrected_rate(table[table["system"] == "base"], sampling="random", ddof=0, coefficient=0.37008149)
    np.testing.assert_allclose(of(given)[["estimate", "std_error"]].astype(float), (0.75521011, 0.00992831), atol=1e-8)
    half = float(stdtrit(999, 0.975)) * row["std_error"]
    assert row["conf_high"] - row["estimate"] == pytest.approx(half)


def arena():
    """The Arena sample: labels of ``base``, and 50 of each other policy, whose copies without a label are left out."""
    table = pd.read_csv(Path(REAL) / "cje_arena_sample" / "arena_sample.csv.gz")
    names = {"policy": "system", "prompt_id": "item", "judge_score": "score", "oracle_label": "gold"}
    table = table.rename(columns=names).sort_values("gold").drop_duplicates(["system", "item"])
    return table[["system", "item", "score", "gold"]].assign(judge="g")


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="needs the public verdicts")
def test_what_is_learnt_on_one_policy_is_not_shown_to_hold_for_another():
    """The judge is overconfident by about .09 on base, and by .13 on the fourth policy."""
    table = arena()
    own = js.corrected_rate(table, sampling="random", by="system").query("term == 'corrected_rate'").set_index("system")
    moved = js.corrected_rate(table, sampling="random", by="system", calibrated_on={"system": "base"}, margin=0.05)
    rates = moved[moved["term"] == "corrected_rate"].set_index("system")
    gaps = moved[moved["term"] == "gap_difference"].set_index("system")
    assert "transport" not in rates.loc["base", "flag"]
    assert (rates.drop("base")["flag"].str.contains("transport not shown")).all()
    assert gaps.loc["clone", "estimate"] == pytest.approx(0.0012, abs=5e-4)
    assert gaps.loc["unhelpful", "estimate"] == pytest.approx(0.0478, abs=5e-4)
    assert own.loc["unhelpful", "estimate"] < 0.13 < rates.loc["unhelpful", "estimate"] - 0.02
    wide = js.corrected_rate(table, sampling="random", by="system", calibrated_on={"system": "base"}, margin=0.2)
    assert not wide["flag"].str.contains("transport").any()


# ---- Formulas written out --------------------------------------------------------------------------------------------


def test_the_difference_of_two_own_calibrations():
    """Counts are independent: Var(θA) + Var(θB), each by the delta method."""
    table = pd.concat(
        [counts(0.6, 0.8, 0.9, 800, 100, 120, system="a"), counts(0.5, 0.9, 0.8, 600, 90, 110, system="b")]
    )
    found = of(js.corrected_difference(table, baseline="b", sampling="by class"), "corrected_difference")
    rates, variance = [], 0.0
    for p, q0, q1, n, m0, m1 in ((0.6, 0.8, 0.9, 800, 100, 120), (0.5, 0.9, 0.8, 600, 90, 110)):
        gap = q0 + q1 - 1
        rates.append((p + q0 - 1) / gap)
        variance += p * (1 - p) / n + (1 - rates[-1]) ** 2 * q0 * (1 - q0) / m0 + rates[-1] ** 2 * q1 * (1 - q1) / m1
        variance = variance / gap**2 if len(rates) == 1 else variance
    first, gap = (0.6 + 0.8 - 1) / 0.7, 0.7
    want = (0.24 / 800 + (1 - first) ** 2 * 0.16 / 100 + first**2 * 0.09 / 120) / 0.7**2
    second = rates[1]
    want += (0.25 / 600 + (1 - second) ** 2 * 0.09 / 90 + second**2 * 0.16 / 110) / 0.7**2
    assert gap == pytest.approx(0.7)
    assert found["estimate"] == pytest.approx(rates[0] - rates[1])
    assert found["std_error"] == pytest.approx(np.sqrt(want), rel=1e-9)
    assert found["n"] == 600


def shared():
    """Two systems on the same items, and one table of labels for both, on other items."""
    verdicts = frame(seed=3, items=200, labelled=0, systems=("a", "b"))
    labels = frame(seed=4, items=120, labelled=120, share=0.5).drop(columns="system")
    return verdicts, labels.assign(item="c" + labels["item"])


def test_the_difference_of_a_shared_calibration():
    """{Var(pA - pB) + Δ²[V(q0) + V(q1)]}/J², the first of the paired differences of the items."""
    verdicts, labels = shared()
    found = of(js.corrected_difference(verdicts, baseline="b", sampling="by class", calibration=labels, margin=0.05),
               "corrected_difference")  # fmt: skip
    wide = verdicts.pivot(index="item", columns="system", values="score")
    q0 = 1 - labels.loc[labels["gold"] == 0, "score"].mean()
    q1 = labels.loc[labels["gold"] == 1, "score"].mean()
    m1 = labels["gold"].sum()
    gap, difference = q0 + q1 - 1, (wide["a"] - wide["b"]).mean() / (q0 + q1 - 1)
    paired = (wide["a"] - wide["b"]).var(ddof=1) / 200
    errors = q0 * (1 - q0) / (120 - m1 - 1) + q1 * (1 - q1) / (m1 - 1)  # G/(G - 1) in each class
    assert found["estimate"] == pytest.approx(difference)
    assert found["std_error"] == pytest.approx(np.sqrt((paired + difference**2 * errors) / gap**2), rel=1e-9)
    assert "clustered by item" in found["method"]
    unpaired = of(js.corrected_difference(verdicts, baseline="b", sampling="by class", calibration=labels, margin=0.05,
                                          cluster=False), "corrected_difference")  # fmt: skip
    spread = sum(wide[s].mean() * (1 - wide[s].mean()) for s in "ab") / 200
    want = (spread + difference**2 * (q0 * (1 - q0) / (120 - m1) + q1 * (1 - q1) / m1)) / gap**2
    assert unpaired["std_error"] == pytest.approx(np.sqrt(want), rel=1e-9)
    assert "calls not independent" in unpaired["flag"]


def test_paired_and_unpaired_differences_of_a_random_sample():
    """Both systems of an item are labelled: the paired standard error, from the items' own differences."""
    table = frame(seed=6, systems=("a", "b"))
    found = js.corrected_difference(table, baseline="b", sampling="random")
    row = of(found, "corrected_difference")
    rates = js.corrected_rate(table, sampling="random", by="system")
    estimate = rates[rates["term"] == "corrected_rate"].set_index("system")["estimate"]
    assert row["estimate"] == pytest.approx(estimate["a"] - estimate["b"])
    slope = rates[rates["term"] == "lambda"].set_index("system")["estimate"]
    table = table.assign(part=table["gold"].notna(), gap=lambda t: t["gold"] - t["system"].map(slope) * t["score"],
                         fit=lambda t: t["system"].map(slope) * t["score"])  # fmt: skip
    one = table[table["part"]].pivot(index="item", columns="system", values="gap")
    rest = table[~table["part"]].pivot(index="item", columns="system", values="fit")
    want = (one["a"] - one["b"]).var(ddof=1) / len(one) + (rest["a"] - rest["b"]).var(ddof=1) / len(rest)
    assert row["std_error"] == pytest.approx(np.sqrt(want), rel=1e-9)
    other = table.assign(item=table["item"] + table["system"])
    apart = of(js.corrected_difference(other, baseline="b", sampling="random"), "corrected_difference")
    errors = rates[rates["term"] == "corrected_rate"].set_index("system")["std_error"]
    assert apart["std_error"] == pytest.approx(np.hypot(errors["a"], errors["b"]), rel=1e-9)


def test_strata_have_their_own_coefficient_and_known_weights():
    table = frame(seed=7, items=600, labelled=200).assign(topic=lambda t: np.where(t.index % 3 == 0, "law", "art"))
    weights = {"law": 0.6, "art": 0.4}
    found = js.corrected_rate(table, sampling="random", strata="topic", weights=weights)
    each = js.corrected_rate(table, sampling="random", by="topic").query("term == 'corrected_rate'").set_index("topic")
    row = of(found)
    assert row["estimate"] == pytest.approx(sum(weights[k] * each.loc[k, "estimate"] for k in weights))
    assert row["std_error"] == pytest.approx(np.hypot(*(weights[k] * each.loc[k, "std_error"] for k in weights)))
    assert {"lambda[law]", "lambda[art]"} <= set(found["term"])


def test_several_judges_together():
    table = frame(seed=8, judges=("g", "h"), right=0.8)
    table.loc[table["judge"] == "h", "score"] = frame(seed=9, right=0.8)["score"].to_numpy()
    found = js.corrected_rate(table, sampling="random", panel=True)
    assert found["judge"].eq("panel").all()
    assert {"lambda[g]", "lambda[h]"} <= set(found["term"])
    alone = js.corrected_rate(table[table["judge"] == "g"], sampling="random")
    assert of(found)["std_error"] <= of(alone)["std_error"]
    gap = table.assign(score=table["score"].where(table.index != 3))
    assert "1 verdict of an incomplete panel" in of(js.corrected_rate(gap, sampling="random", panel=True))[
        "flag"
    ].replace("verdicts", "verdict")


def test_a_rate_of_yes_and_no_has_wilsons_interval_with_its_standard_error():
    row = of(js.corrected_rate(frame(seed=4, share=0.1), sampling="random"))
    size = row["estimate"] * (1 - row["estimate"]) / row["std_error"] ** 2
    low, high = wilson(row["estimate"] * size, size, df=299)
    np.testing.assert_allclose((row["conf_low"], row["conf_high"]), (low, high), rtol=1e-12)


# ---- What a frame, a tally, preferences and people come to -----------------------------------------------------------


def test_a_tally_of_the_frame_gives_the_same():
    table = frame(seed=1, labelled=100, by_class=True)
    for sampling in ("random", "by class"):
        one = js.corrected_rate(table, sampling=sampling)
        two = js.corrected_rate(js.tally(table, "corrected_rate"), sampling=sampling)
        pd.testing.assert_frame_equal(one, two, check_exact=False, rtol=1e-12)


def test_correct_and_incorrect_are_yes_and_no():
    table = frame(seed=2)
    words = table.assign(correct=table["score"].eq(1), gold=table["gold"].map({1.0: "yes", 0.0: "no"})).drop(
        columns="score"
    )
    one, two = (js.corrected_rate(t, sampling="random") for t in (table, words))
    pd.testing.assert_frame_equal(one, two)


def test_a_person_among_the_judges_gives_the_labels():
    table = frame(seed=2)
    people = table[table["gold"].notna()].assign(judge="Ann", score=lambda t: t["gold"])
    both = pd.concat([table, people], ignore_index=True).drop(columns="gold")
    one, two = js.corrected_rate(table, sampling="random"), js.corrected_rate(both, sampling="random", gold="Ann")
    pd.testing.assert_frame_equal(one, two)


def test_preferences_are_wins_of_a_candidate():
    table = frame(seed=2)
    calls = pd.DataFrame({"judge": "g", "item": table["item"], "first": "x", "second": "y"})
    calls["choice"] = np.where(table["score"] == 1, "first", "second")
    calls["gold"] = table["gold"].map({1.0: "x", 0.0: "y"}).where(table["gold"].notna(), None)
    turned = calls.index % 2 == 0
    calls.loc[turned, ["first", "second"]] = ["y", "x"]
    calls.loc[turned, "choice"] = calls.loc[turned, "choice"].map({"first": "second", "second": "first"})
    one = js.corrected_rate(table, sampling="random")
    two = js.corrected_rate(calls, sampling="random", candidate="x")
    pd.testing.assert_frame_equal(one, two)
    tie = calls.assign(choice=calls["choice"].where(calls.index != 5, "tie"))
    half = of(js.corrected_rate(tie, sampling="random", candidate="x", ties="half"), "apparent_rate")["estimate"]
    none = of(js.corrected_rate(tie, sampling="random", candidate="x"), "apparent_rate")["estimate"]
    assert half - none == pytest.approx(0.5 / 300)
    with pytest.raises(DesignError, match="candidate="):
        js.corrected_rate(calls, sampling="random")


def test_items_of_one_text_are_clustered():
    """Ten questions on a text, alike in truth and in errors: the interval is wider, and covers."""
    rng = np.random.default_rng(0)
    text = np.repeat(np.arange(60), 10)
    truth = (rng.random(60) < 0.4)[text]
    verdict = np.where((rng.random(60) < 0.8)[text], truth, ~truth) * 1.0
    table = pd.DataFrame(
        {"judge": "g", "system": "s", "item": text, "criterion": np.tile([f"c{i}" for i in range(10)], 60)}
    )
    table = table.assign(score=verdict, gold=np.where(text < 30, truth * 1.0, np.nan)).rename(
        columns={"criterion": "rubric"}
    )
    with pytest.raises(DesignError, match="rubric"):
        js.corrected_rate(table, sampling="random")
    table = table.assign(prompt=table["item"], item=table["item"].astype(str) + table["rubric"]).drop(columns="rubric")
    for sampling in ("random", "by class"):
        wide = of(js.corrected_rate(table, sampling=sampling))
        flat = of(js.corrected_rate(table, sampling=sampling, cluster=False))
        assert "clustered by prompt (G = 60)" in wide["method"]
        assert wide["std_error"] > 1.8 * flat["std_error"]
        assert "calls not independent" in flat["flag"]


def test_errors_that_verdicts_and_labels_share_cancel():
    """On a third of the prompts the judge always says yes, to the items corrected and to those with a label."""
    rng = np.random.default_rng(3)
    lenient, prompt = np.repeat(rng.random(60) < 0.33, 4), np.repeat(np.arange(60), 4)
    sides = []
    for side, known in (("v", False), ("l", True)):
        truth = rng.random(240) < 0.5
        table = pd.DataFrame({"judge": "g", "item": [f"{side}{i}" for i in range(240)], "prompt": prompt})
        sides.append(table.assign(score=(truth | lenient) * 1.0, gold=truth * 1.0 if known else np.nan))
    together = pd.concat(sides)
    apart = pd.concat([sides[0], sides[1].assign(prompt=prompt + 100)])
    one, two = (of(js.corrected_rate(t, sampling="by class"))["std_error"] for t in (together, apart))
    assert one < 0.9 * two


# ---- Simulated truth (the study in docs/coverage.md has the designs of the intervals) ---------------------------------


@pytest.mark.parametrize("sampling", ["random", "by class"])
def test_the_truth_is_recovered_where_the_verdicts_alone_are_off(sampling):
    tables = [
        frame(seed=s, items=400, labelled=100, share=0.15, by_class=sampling == "by class").assign(judge=f"g{s:03d}")
        for s in range(150)
    ]
    found = js.corrected_rate(pd.concat(tables), sampling=sampling, cluster=False)
    rates, apparent = (found[found["term"] == t] for t in ("corrected_rate", "apparent_rate"))
    if sampling == "by class":  # the rest of the items, of which fewer are positive
        truth = (0.15 * 400 - 50) / 300
        assert rates["estimate"].clip(0.001).mean() == pytest.approx(truth, abs=0.03)
    else:
        assert rates["estimate"].mean() == pytest.approx(0.15, abs=0.01)
        inside = ((rates["conf_low"] < 0.15) & (rates["conf_high"] > 0.15)).mean()
        assert 0.89 <= inside <= 0.99
    assert apparent["estimate"].mean() > 0.17


def test_probabilities_of_being_labelled():
    rng = np.random.default_rng(99)
    table = frame(seed=5, items=4000, labelled=4000, share=0.3)
    chance = np.where(table["score"] == 1, 0.5, 0.05)
    table["gold"] = table["gold"].where(rng.random(4000) < chance)
    found = js.corrected_rate(table.assign(chance=chance), label_probability="chance")
    row = of(found)
    assert row["conf_low"] < 0.3 < row["conf_high"]
    assert row["method"] == "inverse weights, Wilson"
    assert of(found, "label_rate")["conf_low"] > 0.4
    with pytest.raises(DesignError, match="above 0, and at most 1"):
        js.corrected_rate(table.assign(chance=0.0), label_probability="chance")


# ---- Refusals and cautions -------------------------------------------------------------------------------------------


def test_a_judge_at_chance_is_refused():
    row = of(js.corrected_rate(counts(0.5, 0.5, 0.55, 1000, 60, 60), sampling="by class"))
    assert row[["estimate", "conf_low"]].isna().all()
    assert "not better than chance" in row["flag"]


def test_the_refusal_is_that_of_the_interval_of_youden():
    found = js.corrected_rate(counts(0.5, 0.6, 0.6, 1000, 40, 40), sampling="by class")
    assert of(found, "youden")["estimate"] == pytest.approx(0.2)
    assert of(found, "youden")["conf_low"] <= 0
    assert "not better than chance" in of(found)["flag"]
    more = js.corrected_rate(counts(0.5, 0.6, 0.6, 1000, 300, 300), sampling="by class")
    assert of(more, "youden")["conf_low"] > 0
    assert of(more)["estimate"] == pytest.approx(0.5)


def test_error_rates_that_fit_no_true_rate_are_refused():
    row = of(js.corrected_rate(counts(0.02, 0.7, 0.9, 2000, 200, 200), sampling="by class"))
    assert np.isnan(row["estimate"])
    assert "error rates do not fit these verdicts" in row["flag"]
    some = of(js.corrected_rate(counts(0.29, 0.7, 0.9, 2000, 200, 200), sampling="by class"))
    assert (some["estimate"], some["conf_low"]) == (0.0, 0.0)
    assert some["conf_high"] > 0


def test_few_labels_in_a_class_are_a_caution():
    few = of(js.corrected_rate(counts(0.4, 0.8, 0.9, 1000, 9, 60), sampling="by class"))
    assert "fewer than 10 labels in a class" in few["flag"]
    assert few["estimate"] == few["estimate"]
    assert (
        of(js.corrected_rate(counts(0.4, 0.8, 0.9, 1000, 10, 60), sampling="by class"))["flag"] == "clustering unknown"
    )


@pytest.mark.parametrize(("m0", "m1"), [(0, 40), (40, 0)])
def test_labels_of_one_class_only(m0, m1):
    row = of(js.corrected_rate(counts(0.4, 0.8, 0.9, 1000, m0, m1), sampling="by class"))
    assert np.isnan(row["estimate"])
    assert "labels of one class only" in row["flag"]


def test_a_random_sample_of_one_class_has_no_interval():
    table = frame().assign(gold=lambda t: t["gold"].where(t["gold"].isna(), 1.0))
    row = of(js.corrected_rate(table, sampling="random"))
    assert row["estimate"] == 1.0
    assert np.isnan(row["conf_low"])
    assert "labels of one class only" in row["flag"]


@pytest.mark.parametrize("sampling", ["random", "by class"])
def test_a_judge_that_never_answers(sampling):
    table = pd.concat([frame(), frame().assign(judge="mute", score=np.nan)])
    found = js.corrected_rate(table, sampling=sampling)
    row = found[found["judge"] == "mute"].iloc[0]
    assert np.isnan(row["estimate"])
    assert row["n"] == 0
    assert row["flag"] == "no data; 300 invalid calls excluded"
    assert found[(found["judge"] == "g") & (found["term"] == "corrected_rate")]["estimate"].notna().all()


def test_more_labels_than_verdicts():
    row = of(js.corrected_rate(frame(labelled=200), sampling="random"))
    assert np.isnan(row["estimate"])
    assert "more labels than verdicts" in row["flag"]
    caution = of(js.corrected_rate(counts(0.4, 0.8, 0.9, 100, 200, 200), sampling="by class"))
    assert caution["estimate"] > 0
    assert "more labels than verdicts" in caution["flag"]


def test_items_that_calibrate_are_others_than_those_corrected():
    verdicts = frame(labelled=0)
    labels = frame(labelled=300).head(80)
    with pytest.raises(DesignError, match=r"80 items are among the labelled .* leave them out of the verdicts"):
        js.corrected_rate(verdicts, sampling="by class", calibration=labels)
    found = js.corrected_rate(verdicts[80:], sampling="by class", calibration=labels)
    assert of(found)["n"] == 220
    again = pd.concat([frame().assign(replicate=0), frame().assign(replicate=1, gold=np.nan)])
    with pytest.raises(DesignError, match="every repeat of it the label"):
        js.corrected_rate(again, sampling="random")


# ---- Errors that say what to do --------------------------------------------------------------------------------------


def test_the_way_of_drawing_must_be_stated():
    with pytest.raises(DesignError, match=r"sampling='random'.*sampling='by class'.*label_probability="):
        js.corrected_rate(frame())
    with pytest.raises(DesignError, match="two of them"):
        js.corrected_rate(frame(), sampling="random", label_probability="p")
    with pytest.raises(DesignError, match="Did you mean 'by class'"):
        js.corrected_rate(frame(), sampling="by classes")


def test_scores_are_not_corrected_by_class():
    table = frame().assign(score=lambda t: t["score"] * 0.7 + 0.1)
    with pytest.raises(DesignError, match=r"finds 0\.1\. Make both so by a threshold"):
        js.corrected_rate(table, sampling="by class")
    assert of(js.corrected_rate(table, sampling="random"))["estimate"] == pytest.approx(
        of(js.corrected_rate(frame(), sampling="random"))["estimate"], abs=0.03
    )


def test_labels_are_needed():
    with pytest.raises(DesignError, match="join_labels"):
        js.corrected_rate(frame().drop(columns="gold"), sampling="random")
    row = of(js.corrected_rate(frame(labelled=0), sampling="by class"))
    assert "no labels" in row["flag"]


def test_labels_of_other_systems_need_a_margin():
    verdicts, labels = shared()
    with pytest.raises(DesignError, match="margin="):
        js.corrected_difference(verdicts, baseline="b", sampling="by class", calibration=labels)
    with pytest.raises(DesignError, match="margin="):
        js.corrected_rate(frame(systems=("a", "b")), sampling="random", by="system", calibrated_on={"system": "a"})
    found = js.corrected_difference(verdicts, baseline="b", sampling="by class", calibration=labels, margin=0.1)
    assert "transport not shown" in of(found, "corrected_difference")["flag"]
    assert "no labels" in of(found, "gap_difference")["flag"]


@pytest.mark.parametrize("sampling", ["random", "by class"])
def test_transport_is_shown_where_the_gaps_agree(sampling):
    table = frame(seed=2, items=6000, labelled=2500, systems=("a", "b"), share=0.5)
    found = js.corrected_rate(table, sampling=sampling, by="system", calibrated_on={"system": "a"}, margin=0.1)
    row = found[(found["system"] == "b") & (found["term"] == "corrected_rate")].iloc[0]
    assert "transport" not in row["flag"]
    assert row["conf_low"] - 0.02 < 0.5 < row["conf_high"] + 0.02
    narrow = js.corrected_rate(table, sampling=sampling, by="system", calibrated_on={"system": "a"}, margin=0.001)
    assert "transport not shown" in narrow[(narrow["system"] == "b")].iloc[0]["flag"]


def test_the_difference_of_gaps_by_class():
    """At the corrected rate: what the error rates of b would make of it minus what those of a would."""
    table = pd.concat(
        [counts(0.5, 0.9, 0.9, 1000, 200, 200, system="a"), counts(0.6, 0.8, 0.7, 1000, 100, 100, system="b")]
    )
    found = js.corrected_rate(table, sampling="by class", by="system", calibrated_on={"system": "a"}, margin=0.05)
    rate = found[(found["system"] == "b") & (found["term"] == "corrected_rate")].iloc[0]["estimate"]
    gap = of(found, "gap_difference")
    assert rate == pytest.approx((0.6 + 0.9 - 1) / 0.8)
    assert gap["estimate"] == pytest.approx((0.2 - 0.1) * (1 - rate) - (0.3 - 0.1) * rate)


def test_a_baseline_is_a_level():
    with pytest.raises(DesignError, match=r"baseline='x' is not in 'system'\. It has: a, b"):
        js.corrected_difference(frame(systems=("a", "b")), baseline="x", sampling="random")


def test_several_criteria_are_not_mixed():
    table = pd.concat([frame().assign(criterion=c) for c in ("style", "truth")])
    with pytest.raises(DesignError, match="several criteria"):
        js.corrected_rate(table, sampling="random")
    assert len(js.corrected_rate(table, sampling="random", by="criterion").query("term == 'corrected_rate'")) == 2


def test_a_page_says_that_the_drawing_is_not_stated():
    missing = measures()["corrected_rate"].attempt(frame(), Options())
    assert missing == "needs to know how the labelled items were drawn: sampling="
    found = measures()["corrected_rate"].attempt(frame(), Options(sampling="random"))
    pd.testing.assert_frame_equal(found, js.corrected_rate(frame(), sampling="random"))


@pytest.mark.parametrize("sampling", ["random", "by class"])
@pytest.mark.parametrize("verdict", [1.0, 0.0])
def test_a_judge_that_always_says_the_same(sampling, verdict):
    """60 items: the weights 1/60 do not add up to 1 exactly."""
    table = frame(items=60, labelled=20, by_class=True).assign(score=verdict)
    found = js.corrected_rate(table, sampling=sampling)
    rate = of(found, "apparent_rate")
    assert rate["estimate"] == verdict
    assert 0 <= rate["conf_low"] < rate["conf_high"] <= 1
    if sampling == "by class":
        assert np.isnan(of(found)["estimate"])
        assert "not better than chance" in of(found)["flag"]
    else:
        assert of(found)["estimate"] == pytest.approx(of(found, "label_rate")["estimate"])


def test_no_verdicts_no_rows():
    assert js.corrected_rate(frame().iloc[:0], sampling="random").empty


@pytest.mark.slow
def test_a_page_has_the_corrected_rate(tmp_path):
    page = js.report(frame(), tmp_path / "with.html", sampling="random").read_text(encoding="utf-8")
    assert "rate corrected for the errors of the judge" in page
    page = js.report(frame(), tmp_path / "without.html").read_text(encoding="utf-8")
    assert "rate corrected for the errors of the judge" not in page
    assert "how the labelled items were drawn" in page
