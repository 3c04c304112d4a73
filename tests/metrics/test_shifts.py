"""Shifts of agreement between two conditions."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.agreement import agreement_shift, correlation
from metrics.tables import panel_of_two_conditions, ratings

BEFORE, AFTER = ratings(1), ratings(2, noise=2.0)

QUICK = {"n_resamples": 300}


def mean_r(table):
    return correlation(table, n_resamples=20)["estimate"].mean()


def test_the_shift_is_the_difference_of_the_mean_correlations():
    row = agreement_shift(BEFORE, AFTER, **QUICK).iloc[0]
    before, after = mean_r(BEFORE), mean_r(AFTER)
    assert (row["before"], row["after"]) == pytest.approx((before, after))
    assert row["estimate"] == pytest.approx(after - before)
    assert row["relative"] == pytest.approx(100 * (after - before) / before)
    assert row["conf_low"] < row["estimate"] < row["conf_high"] < 0
    assert row["correlations"] == 6
    assert row["n"] == 40
    assert "paired bootstrap of item" in row["method"]
    assert row["flag"].startswith("|shift| > 0.15")
    assert "shift" not in agreement_shift(BEFORE, AFTER, flag_at=0.9, **QUICK)["flag"].item()


def test_two_values_of_a_condition_are_two_frames():
    both = pd.concat([BEFORE.assign(condition="base"), AFTER.assign(condition="merg")]).sample(frac=1, random_state=0)
    expected = agreement_shift(BEFORE, AFTER, pairs="each", by="system", **QUICK)
    for frame in (both, pl.from_pandas(both), pl.from_pandas(both).lazy()):
        got = agreement_shift(frame, ("base", "merg"), pairs="each", by="system", **QUICK)
        pd.testing.assert_frame_equal(got, expected)
    assert len(expected) == 6
    assert list(expected.columns[:3]) == ["system", "judge", "other"]
    with pytest.raises(DesignError, match="Did you mean 'merg'"):
        agreement_shift(both, ("base", "mergg"))


def test_swapping_the_sides_changes_the_sign():
    one, two = agreement_shift(BEFORE, AFTER, **QUICK).iloc[0], agreement_shift(AFTER, BEFORE, **QUICK).iloc[0]
    assert two["estimate"] == pytest.approx(-one["estimate"])
    assert two["std_error"] == pytest.approx(one["std_error"])


def test_the_interval_of_a_shift_squares_and_adds_those_of_both_sides():
    row = agreement_shift(BEFORE, AFTER, **QUICK).iloc[0]
    assert row["method"].startswith("MOVER, paired bootstrap of item")
    subgroups = agreement_shift(BEFORE.assign(part="p"), AFTER.assign(part="p"), by="part", across="system", **QUICK)
    each = agreement_shift(BEFORE, AFTER, by="system", **QUICK)
    widths = [(t["conf_high"] - t["conf_low"]).to_numpy() for t in (subgroups[subgroups["term"] == "shift"], each)]
    assert widths[0] == pytest.approx(widths[1], rel=0.2)  # other draws of the same intervals
    reverse = agreement_shift(AFTER, BEFORE, **QUICK).iloc[0]
    assert reverse["conf_low"] == pytest.approx(-row["conf_high"])


def test_no_change_is_no_shift_and_has_no_interval():
    row = agreement_shift(BEFORE, BEFORE, **QUICK).iloc[0]
    assert row["estimate"] == 0
    assert np.isnan(row["conf_low"])
    assert "all resamples equal" in row["flag"]


def test_items_in_common_make_the_interval_narrower_than_separate_draws():
    rng = np.random.default_rng(0)
    truth = np.exp(rng.normal(size=(2, 60)))  # a few items carry the correlation, on both sides
    one, two = (ratings(s, truth=truth, items=60) for s in (1, 2))
    apart = two.assign(item="other" + two["item"])
    paired, independent = (agreement_shift(one, t, n_resamples=1000).iloc[0] for t in (two, apart))
    assert paired["estimate"] == pytest.approx(independent["estimate"])
    assert paired["std_error"] < 0.9 * independent["std_error"]
    assert "independent bootstraps of item" in independent["method"]
    assert independent["n"] == 120


def test_only_correlations_of_both_sides_are_averaged():
    partly = AFTER[AFTER["judge"] != "z"]
    row = agreement_shift(BEFORE, partly, **QUICK).iloc[0]
    assert row["before"] == pytest.approx(mean_r(BEFORE[BEFORE["judge"] != "z"]))
    assert row["correlations"] == 2
    assert "4 correlations excluded" in row["flag"]
    fewer = agreement_shift(BEFORE, AFTER[AFTER["item"] != "i000"], **QUICK).iloc[0]
    assert "1 item on one side only" in fewer["flag"]
    one_system = agreement_shift(BEFORE, AFTER[AFTER["system"] == "A"], **QUICK).iloc[0]
    assert one_system["before"] == pytest.approx(mean_r(BEFORE[BEFORE["system"] == "A"]))
    assert "3 correlations excluded" in one_system["flag"]


def test_a_base_that_is_not_positive_has_no_relative_change():
    table = pd.DataFrame({"pair": ["a", "b"], "baseline": [-0.1, 0.5], "merg": [0.2, 0.6]})
    got = agreement_shift(table).set_index("pair")
    assert got["estimate"].tolist() == pytest.approx([0.3, 0.1])
    assert np.isnan(got.loc["a", "relative"])
    assert "base not positive" in got.loc["a", "flag"]
    assert got.loc["b", "relative"] == pytest.approx(20)
    with pytest.raises(SchemaError, match="lacks after"):
        agreement_shift(table[["pair", "baseline"]])


@pytest.mark.slow
def test_the_bootstrap_of_the_shift_covers():
    """r falls from 1/(1 + 1) to 1/(1 + 4) by construction."""
    held = 0
    for seed in range(60):
        truth = np.random.default_rng(1000 + seed).normal(size=(1, 80))
        one, two = (ratings(2 * seed + k, noise, 80, "A", truth=truth) for k, noise in ((0, 1.0), (1, 2.0)))
        row = agreement_shift(one, two, n_resamples=300, conf_level=0.9).iloc[0]
        held += row["conf_low"] <= 0.2 - 0.5 <= row["conf_high"]
    assert 47 <= held <= 60


def test_relative_shift_is_undefined_without_agreement_before():
    known = pd.DataFrame({"before": [0.0], "after": [0.2]})
    assert np.isnan(agreement_shift(known, relative=True)["estimate"].item())
    noise = BEFORE.assign(score=np.random.default_rng(4).normal(size=len(BEFORE)))
    row = agreement_shift(noise, BEFORE, relative=True, **QUICK).iloc[0]
    assert np.isnan(row["conf_low"])
    assert row["flag"] in ("base not positive", "interval of the denominator includes 0")


def test_numbers_of_numpy_are_numbers():
    known = pd.DataFrame({"before": [np.int64(1), 0.5], "after": [np.float32(0.25), np.nan]})
    found = agreement_shift(known, relative=True)
    assert found["estimate"].iloc[0] == -0.75
    assert found["flag"].iloc[1] == "no data"


FEW = {"n_resamples": 40}


def test_correlations_of_one_side_only_are_counted():
    table = panel_of_two_conditions()
    table.loc[(table["judge"] == "a") & (table["condition"] == "new"), "score"] = 5.0
    gone = table[~((table["item"] == "0") & (table["condition"] == "new"))]
    options = {"average_over": "temperature", **FEW}
    shifts = agreement_shift(gone, ("old", "new"), across="system", **options)
    share = agreement_shift(gone, ("new", "old"), relative=True, **options)
    for result in (shifts, share):
        assert result["flag"].str.contains("6 correlations excluded").all()
        assert result["flag"].str.contains("1 item on one side only").all()


def test_relative_shift_of_ratings():
    row = agreement_shift(BEFORE, AFTER, relative=True, **QUICK).iloc[0]
    before, after = mean_r(BEFORE), mean_r(AFTER)
    assert (row["before"], row["after"]) == pytest.approx((before, after))
    assert row["estimate"] == pytest.approx(-(before - after) / before)
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
