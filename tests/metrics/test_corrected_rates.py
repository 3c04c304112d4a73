"""Corrected rates and differences: formulas written out, simulated truth, pages."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics.measure_registry import MeasureOptions, measures
from metrics.labelled import counts, frame, of, shared
from refusals import refused


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


def test_more_labels_than_verdicts():
    row = of(js.corrected_rate(frame(labelled=200), sampling="random"))
    assert np.isnan(row["estimate"])
    assert "more labels than other verdicts" in row["flag"]
    caution = of(js.corrected_rate(counts(0.4, 0.8, 0.9, 100, 200, 200), sampling="by class"))
    assert caution["estimate"] > 0
    assert "more labels than other verdicts" in caution["flag"]


def test_a_baseline_is_a_level():
    with pytest.raises(DesignError, match=r"baseline='x' is not in 'system'\. It has: a, b"):
        js.corrected_difference(frame(systems=("a", "b")), baseline="x", sampling="random")


def test_a_page_says_that_the_drawing_is_not_stated():
    missing = measures()["corrected_rate"].attempt(frame(), MeasureOptions())
    assert missing == "needs to know how the labelled items were drawn: sampling="
    found = measures()["corrected_rate"].attempt(frame(), MeasureOptions(sampling="random"))
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


@pytest.mark.parametrize(("verdict", "unused"), [("right", False), ("always yes", True), ("reversed", True)])
def test_a_rate_that_uses_no_verdict_of_the_judge_says_so(verdict, unused):
    rng = np.random.default_rng(3)
    truth = rng.random(400) < 0.5
    verdicts = {"right": truth ^ (rng.random(400) < 0.1), "always yes": np.ones(400, bool), "reversed": ~truth}[verdict]
    label = np.where(np.arange(400) < 100, truth.astype(int).astype(object), None)
    calls = pd.DataFrame({"judge": "g", "system": "a", "item": range(400), "correct": verdicts, "gold": label})
    found = js.corrected_rate(js.ratings(calls), sampling="random").set_index("term")
    assert (found.loc["lambda", "estimate"] == 0) == unused
    assert ("verdicts of the judge unused" in found.loc["corrected_rate", "flag"]) is unused


def test_the_rate_of_a_class_is_that_of_its_verdicts_of_yes_and_no():
    rng = np.random.default_rng(4)
    classes = np.array(["safe", "unsafe", "refusal"])
    right = rng.choice(classes, 300, p=[0.5, 0.3, 0.2])
    said = np.where(rng.random(300) < 0.85, right, rng.choice(classes, 300))
    table = pd.DataFrame({"judge": "g", "item": np.arange(300).astype(str), "answer": said, "gold": right})
    table["gold"] = table["gold"].where(table.index < 120, None)
    table.loc[[7, 200], "answer"] = None
    yes = {c: (table[c] == "unsafe").astype(float).where(table[c].notna()) for c in ("answer", "gold")}
    scores = js.ratings(table.drop(columns="answer").assign(score=yes["answer"], gold=yes["gold"]))
    for sampling in ("by class", "random"):
        expected = js.corrected_rate(scores, sampling=sampling)
        found = js.corrected_rate(js.ratings(table), sampling=sampling, positive="unsafe")
        pd.testing.assert_frame_equal(found, expected)
    refused(
        DesignError,
        (
            lambda: js.corrected_rate(js.ratings(table), sampling="random", positive="unsave"),
            r"positive='unsave'\. Allowed: refusal, safe, unsafe\. Did you mean 'unsafe'",
        ),
        (
            lambda: js.corrected_rate(js.ratings(table), sampling="random"),
            r"positive=None\. Allowed: refusal, safe, unsafe",
        ),
        (
            lambda: js.corrected_rate(scores, sampling="random", positive=1),
            "positive= is about verdicts that are classes",
        ),
    )
