"""Rows of thresholds, and their flags."""

from __future__ import annotations

import numpy as np
import pytest

from judgestats.models.hierarchical.curve_rows import _threshold_row
from models.ladder_calls import small_ladder

pytest.importorskip("pymc")


@pytest.mark.parametrize(
    ("low", "high", "flag"),
    [
        (0.5, 0.8, "left-censored; prior-driven"),
        (1.2, 2.5, "no step near: the form of the curve decides"),
        (1.2, 3.1, ""),
        (3.2, 9.0, "right-censored"),
    ],
)
def test_flags_of_a_threshold(low, high, flag):
    """Steps 1 and 3; draws spread evenly."""
    data = small_ladder(False)
    draws = np.linspace(low, high, 2001).reshape(1, -1)
    made = _threshold_row(draws, data, data.judge == 0, 0.99, "", "", {})
    assert made["flag"] == "; ".join(["incomplete ladder: not asked at 2", *([flag] if flag else [])])
    assert np.isnan(made["estimate"]) == (flag == "right-censored")
