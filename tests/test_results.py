"""The frame of a result."""

from __future__ import annotations

import pandas as pd
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


def test_a_missing_label_comes_last():
    table = estimates([{"group": pd.NA}, {"group": "b"}, {"group": "a"}], ["group"])
    assert table["group"].tolist()[:2] == ["a", "b"]
    assert pd.isna(table["group"].iloc[2])


def test_labels_of_several_types_are_sorted_as_text_and_numbers_beside_them_as_numbers():
    rows = [{"group": "b", "step": 10.0}, {"group": "b", "step": 2.0}, {"group": 3, "step": 2.0}]
    table = estimates(rows, ["group", "step"])
    assert table[["group", "step"]].to_numpy().tolist() == [[3, 2.0], ["b", 2.0], ["b", 10.0]]
