"""The axes of the comparison: their ends, and where they close in."""

import math

import pytest

from judgestats.reporting.summary_parts import SummaryColumn


def column(form, *values, reference=math.nan):
    """A column of judges whose intervals are 0.02 wide."""
    cells = {f"j{i}": {"estimate": v, "conf_low": v - 0.01, "conf_high": v + 0.01} for i, v in enumerate(values)}
    return SummaryColumn("term", "label", "", form, cells, reference=reference)


@pytest.mark.parametrize(
    ("made", "ends", "ticks"),
    [
        (column("share", 0.2, 0.9), (0, 1), ("0", "100\u202f%")),
        (column("share", 0.62, 0.81), (0.6, 0.85), ("60", "85\u202f%")),  # within a third of the scale
        (column("share", 0.62, 0.81, reference=0.5), (0.5, 0.85), ("50", "85\u202f%")),  # and the dashed line is seen
        (column("share", 0.62, 0.81, reference=0.3), (0, 1), ("0", "100\u202f%")),
        (column("score", 3.0, 3.1), (2.95, 3.15), ("2.95", "3.15")),
        (column("score", 0.1, 3.1), (0, 3.11), ("0.00", "3.11")),
        (column("points", 0.05, 0.06), (-0.07, 0.07), ("−7", "+7")),  # the middle stays 0
    ],
)
def test_an_axis_closes_in_where_all_that_is_drawn_lies_in_a_third_of_it(made, ends, ticks):
    assert made.ends == pytest.approx(ends)
    assert made.ticks == ticks
    for cell in made.cells.values():
        assert made.ends[0] - 1e-9 <= cell["conf_low"] <= cell["conf_high"] <= made.ends[1] + 1e-9
