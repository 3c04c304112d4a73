"""A printed cell as a number, with the range that its digits leave open."""

from __future__ import annotations

import math

from judgestats.published.printed import Printed, parse


def test_a_cell_is_read_with_its_marks_and_signs():
    assert parse("−.109") == Printed(
        text="−.109", value=-0.109, half=0.0005, decimals=3, bound="", bounded_by=-0.109, unit=""
    )
    assert parse("1,000†").value == 1000.0
    assert math.isnan(parse("8.88 ± 0.76").value)
    assert parse("−").missing
