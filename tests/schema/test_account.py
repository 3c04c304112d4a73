"""What became of the rows of a source, and where each row stands."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from judgestats.ingest import read
from judgestats.schema import check
from judgestats.schema.account import Account, Places, account_of

HEADER = "judge,item,first,second,choice\n"


def test_places_are_numbers_until_they_are_shown() -> None:
    places = Places((("a.csv", "line"), ("b.parquet", "row")), np.array([0, 0, 1], np.int32), np.array([2, 5, 0]))
    assert [*places] == ["a.csv, line 2", "a.csv, line 5", "b.parquet, row 0"]
    assert places[1:] == ["a.csv, line 5", "b.parquet, row 0"]
    assert [*places.take(np.array([True, False, True]))] == ["a.csv, line 2", "b.parquet, row 0"]
    with pytest.raises(IndexError):
        places[3]


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("t.csv", HEADER + 'g,1,x,y,first\n\n"g\nh",2,x,y,tie\ng,3,x,y,\n', "t.csv, line 6"),
        ("t.jsonl", "\n".join(json.dumps({"judge": "g", "item": i, "first": "x", "second": "y", "choice": c})
                              for i, c in enumerate(("first", "tie", None))), "t.jsonl, line 3"),
        ("t.json", json.dumps([{"judge": "g", "item": i, "first": "x", "second": "y", "choice": c}
                               for i, c in enumerate(("first", "tie", None))]), "t.json, record 3"),
    ],
)  # fmt: skip
def test_check_names_file_and_line(tmp_path: Path, name: str, content: str, where: str) -> None:
    (tmp_path / name).write_text(content)
    rows = check(read(tmp_path / name))
    assert rows.query("level == 'excluded'")["where"].tolist() == [where]


def test_check_names_the_row_of_parquet(tmp_path: Path) -> None:
    columns = ["judge", "item", "first", "second", "choice"]
    pd.DataFrame([[*"g1xy", "tie"], [*"g2xy", None]], columns=columns).to_parquet(tmp_path / "t.parquet")
    rows = check(read(tmp_path / "t.parquet"))
    assert rows.query("level == 'excluded'")["where"].tolist() == ["t.parquet, row 1"]


def test_a_fault_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(HEADER + "g,1,x,y,first\n\ng,2,x,y,wins\n")
    with pytest.raises(Exception, match=r"Row 1 is from t\.csv, line 4"):
        read(tmp_path / "t.csv")


def test_a_frame_with_an_account_is_written_and_copied(tmp_path: Path) -> None:
    """pandas writes ``attrs`` as JSON, and copies them deeply."""
    (tmp_path / "t.csv").write_text(HEADER + "g,1,x,y,first\ng,2,x,y,tie\n")
    frame = read(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    again = pd.read_parquet(tmp_path / "t.parquet")
    assert account_of(again) is None
    assert account_of(frame.copy()) is account_of(frame)
    one = Account(3)
    assert copy.deepcopy(one) is one
    assert one != Account(3)
    assert one
