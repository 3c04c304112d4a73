"""Rates corrected by specificity and sensitivity: printed intervals, refusals and cautions."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from metrics.labelled import counts, frame, of


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


def test_scores_are_not_corrected_by_class():
    table = frame().assign(score=lambda t: t["score"] * 0.7 + 0.1)
    with pytest.raises(DesignError, match=r"finds 0\.1\. Make both so by a threshold"):
        js.corrected_rate(table, sampling="by class")
    assert of(js.corrected_rate(table, sampling="random"))["estimate"] == pytest.approx(
        of(js.corrected_rate(frame(), sampling="random"))["estimate"], abs=0.03
    )


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
