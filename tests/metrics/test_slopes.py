"""Slope of agreement over temperature."""

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.metrics.agreement import agreement_shift, agreement_slope, correlation
from metrics.tables import panel_of_two_conditions, ratings
from refusals import refused

QUICK = {"n_resamples": 300}


def mean_r(table):
    return correlation(table, n_resamples=20)["estimate"].mean()


def test_slope_is_least_squares_on_the_mean_correlations():
    temperatures = (0.0, 0.4, 1.0)
    table = pd.concat([ratings(5 + k, 0.7 + t).assign(temperature=t) for k, t in enumerate(temperatures)])
    row = agreement_slope(table, **QUICK).iloc[0]
    r = [mean_r(table[table["temperature"] == t]) for t in temperatures]
    assert row["estimate"] == pytest.approx(np.polyfit(temperatures, r, 1)[0])
    assert row["conf_low"] < row["estimate"] < row["conf_high"] < 0
    assert row["n"] == 3
    refused(
        DesignError,
        (table.assign(temperature="hot"), "holds text"),
        (table[table["temperature"] == 0], "needs two values"),
        of=agreement_slope,
    )


FEW = {"n_resamples": 40}


def test_slope_and_heterogeneity_of_a_group_without_two_conditions():
    table = panel_of_two_conditions()
    table["domain"] = np.where(table["system"] == "s0", "law", "art")
    table = table[(table["domain"] == "art") | (table["temperature"] == 0)]
    slope = agreement_slope(table, by="domain", average_over="condition", **FEW).set_index("domain")
    assert "no data" in slope.loc["law", "flag"]
    assert np.isfinite(slope.loc["art", "estimate"])
    result = agreement_shift(table, ("old", "new"), across="temperature", by="domain", **FEW)
    law = result[result["domain"] == "law"].set_index("term")
    assert list(law.index) == ["shift", "heterogeneity", "i_squared"]
    assert np.isnan(law.loc["heterogeneity", "estimate"])
