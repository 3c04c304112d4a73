"""Detection thresholds: censoring, fitted curves, intervals over tasks, and what is no ladder."""

import math

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.kernels.resampling import cluster_totals, percentile_interval
from judgestats.metrics import psychometrics as js
from judgestats.metrics.psychometrics.threshold import crossing
from metrics.tables import ladder


def test_threshold_reached_at_the_first_step_is_left_censored():
    row = js.detection_threshold(ladder(0.8, 0.9, 1.0)).iloc[0]
    assert row["estimate"] == 1
    assert "left-censored" in row["flag"]


def test_threshold_never_reached_is_right_censored_and_no_number():
    row = js.detection_threshold(ladder(0.2, 0.3, 0.5)).iloc[0]
    assert math.isnan(row["estimate"])
    assert "right-censored" in row["flag"]
    assert math.isnan(row["conf_high"]) or row["conf_high"] == math.inf


def test_the_fitted_curve_decides_and_not_the_raw_one():
    # the raw share is 0.8 at the first step; pooled with the next, the fit is below 0.75 there
    row = js.detection_threshold(ladder(0.8, 0.5, 1.0)).iloc[0]
    assert row["estimate"] == pytest.approx(2 + (0.75 - 0.65) / (1 - 0.65))
    assert "censored" not in row["flag"]


def test_the_paper_s_limit_two_and_five_sevenths_fits_linear_interpolation():
    steps, p = np.array([2.0, 3.0]), np.array([0.25, 0.95])
    assert crossing(steps, p, np.array([80.0, 60.0]), 0.75) == pytest.approx(2 + 5 / 7)
    assert crossing(steps, p, np.array([80.0, 60.0]), 0.75, "step") == 3.0


def test_threshold_interval_comes_from_tasks_and_repeats_with_its_seed(calls):
    one, two = (js.detection_threshold(calls, seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert "by task (G = 10)" in one["method"].item()
    assert one["conf_low"].item() <= one["estimate"].item() <= one["conf_high"].item()
    other = js.detection_threshold(calls, seed=4)
    assert other["estimate"].item() == one["estimate"].item()


def test_an_end_of_the_interval_may_be_censored():
    row = js.detection_threshold(ladder(0.72, 0.78, 0.95)).iloc[0]
    assert row["conf_low"] == -math.inf
    assert math.isfinite(row["conf_high"])


def test_an_interval_without_width_is_not_given_and_says_why():
    row = js.detection_threshold(ladder(1.0, 1.0, 1.0)).iloc[0]
    assert math.isnan(row["conf_low"])
    assert math.isnan(row["conf_high"])
    assert "all resamples equal" in row["flag"]


def test_a_resample_without_the_first_step_is_not_left_censored():
    """Step 1 was missed 20 times of 20: no resample of tasks may say that it was reached."""
    rows = [(f"t{t}", 1, "wrong", 10) for t in range(2)]
    rows += [(f"t{t}", d, o, n) for t in range(12) for d in (2, 3) for o, n in (("correct", 9), ("wrong", 1))]
    table = pd.DataFrame(rows, columns=["task", "delta", "outcome", "n"]).assign(judge="g")
    row = js.detection_threshold(table).iloc[0]
    assert row["conf_low"] > 1


def test_calls_without_a_step_and_empty_steps_are_left_out_aloud():
    table = pd.concat([ladder(0.5, 0.9), ladder(0.5).assign(delta=np.nan), ladder(0.5).assign(delta=3, n=0)])
    row = js.detection_threshold(table).iloc[0]
    assert row["n"] == 80
    assert "40 calls without a step excluded" in row["flag"]


def test_a_ladder_with_a_step_missing_has_no_threshold():
    gap = ladder(0.5, 0.7, 0.9).query("delta != 2")
    row = js.detection_threshold(gap).iloc[0]
    assert math.isnan(row["estimate"])
    assert math.isnan(row["conf_low"])
    assert row["flag"] == "incomplete ladder: not asked at 2"
    assert row["n"] == 80
    assert js.detection_threshold(gap, steps=[1, 3]).iloc[0]["estimate"] == pytest.approx(1 + 2 * 0.25 / 0.4)


def test_a_ladder_of_other_numbers_is_named():
    halves = ladder(0.5, 0.7, 0.9).assign(delta=lambda t: t["delta"] / 2)
    assert "0.5 is not one of 1, 2, ..., name the steps" in js.detection_threshold(halves).iloc[0]["flag"]
    named = js.detection_threshold(halves, steps=[1.5, 0.5, 1.0]).iloc[0]
    assert named["estimate"] == pytest.approx(1.125)
    assert named["flag"] == ""
    other = js.detection_threshold(halves, steps=[0.5, 1.0]).iloc[0]
    assert math.isnan(other["estimate"])
    assert "1.5 is not one of 0.5, 1" in other["flag"]


@pytest.mark.parametrize("steps", [[1], [1, 1], [0, 1], [1, math.nan], "ab", [[1, 2], [3, 4]]])
def test_steps_that_are_no_ladder_are_refused(steps):
    with pytest.raises(DesignError, match="is not a ladder"):
        js.detection_threshold(ladder(0.5, 0.7), steps=steps)


def test_the_interval_of_a_threshold_is_the_expanded_one():
    """Hesterberg's: with few tasks it reaches further out than the percentile interval of the same resamples."""
    rng = np.random.default_rng(3)
    hits = rng.binomial(4, [[0.55, 0.65, 0.8, 0.9]] * 12)
    rows = [
        (f"t{t:02d}", d + 1, o, k) for (t, d), h in np.ndenumerate(hits) for o, k in (("correct", h), ("wrong", 4 - h))
    ]
    table = pd.DataFrame(rows, columns=["task", "delta", "outcome", "n"]).assign(judge="g")
    row = js.detection_threshold(table, seed=np.random.default_rng(1)).iloc[0]
    assert row["method"] == "isotonic; expanded percentile bootstrap by task (G = 12)"
    counts = np.hstack([hits, 4 - hits]).astype(float)
    drawn = cluster_totals(counts, np.random.default_rng(1), 2000)
    found = np.array([crossing(np.arange(1.0, 5.0), d[:4] / 48, np.full(4, 48.0), 0.75) for d in drawn])
    plain, wide = percentile_interval(found), percentile_interval(found, 0.95, 12)
    assert (row["conf_low"], row["conf_high"]) == wide
    assert wide[0] <= plain[0] < plain[1] <= wide[1]
    assert wide[1] - wide[0] > 1.05 * (plain[1] - plain[0])


def test_another_judge_does_not_change_the_interval():
    one = js.detection_threshold(ladder(0.5, 0.7, 0.9))
    two = js.detection_threshold(pd.concat([ladder(0.5, 0.7, 0.9), ladder(0.6, 0.8, 0.9).assign(judge="a")]))
    pd.testing.assert_frame_equal(two[two["judge"] == "g"].reset_index(drop=True), one)
