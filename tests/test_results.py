"""The frame of a result."""

from __future__ import annotations

import pytest

from judgestats.results import COLUMNS, estimates


@pytest.mark.parametrize(("sort", "judges"), [(True, ["a", "b"]), (False, ["b", "a"])])
def test_rows_are_sorted_by_the_grouping_columns(sort, judges):
    rows = [{"judge": "b", "term": "x", "estimate": 0.5}, {"judge": "a", "term": "x", "estimate": 0.1}]
    table = estimates(rows, ["judge"], ["extra"], sort=sort)
    assert list(table) == ["judge", *COLUMNS, "extra"]
    assert table["judge"].tolist() == judges
    assert table["estimate"].tolist() == ([0.1, 0.5] if sort else [0.5, 0.1])
    assert table["n"].isna().all()
    assert (table["flag"] == "").all()
