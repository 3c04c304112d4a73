"""Ids joined from several columns, and items that are numbered anew in each subset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import narwhals.stable.v2 as nw
import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import propose, read

Write = Callable[..., Path]
TABLE = "judge,subset,item,first,second,choice\ng,a,1.50,x,y,first\ng,b,1.50,x,y,tie\n"


@pytest.mark.parametrize("lazy", [False, True])
def test_columns_are_joined(write: Write, lazy: bool) -> None:
    calls = nw.from_native(read(write("t.csv", TABLE), columns={"item": "subset+item", "task": "subset"}, lazy=lazy))
    table = calls.lazy().collect("pandas").to_native().sort_values("item")
    assert table["item"].tolist() == ["a / 1.50", "b / 1.50"]  # the parts stay text
    assert table["task"].tolist() == ["a", "b"]


def test_a_join_takes_path_columns_and_spaces(write: Write, tmp_path: Path) -> None:
    for run in ("one", "two"):
        write(f"runs/{run}/t.csv", "judge,item,first,second,choice\ng,1,x,y,first\n")
    calls = read(tmp_path / "runs", columns={"item": "path_1 + item"})
    assert calls["item"].tolist() == ["one / 1", "two / 1"]


def test_a_column_of_that_name_wins(write: Write) -> None:
    path = write("t.csv", TABLE.replace("judge,", "a+b,"))
    assert read(path, columns={"judge": "a+b"})["judge"].tolist() == ["g", "g"]


def test_an_empty_cell_leaves_the_id_empty(write: Write) -> None:
    with pytest.raises(SchemaError, match="'item' is missing in 1 row"):
        read(write("t.csv", TABLE.replace("g,b", "g,")), columns={"item": "subset+item"})


def test_only_ids_are_joined_and_the_parts_must_exist(write: Write) -> None:
    path = write("t.csv", TABLE)
    with pytest.raises(SchemaError, match=r"item column 'subse' is not in the table.*Did you mean 'subset'"):
        read(path, columns={"item": "subse+item"})
    with pytest.raises(SchemaError, match=r"choice column 'choice\+item' is not in the table"):
        read(path, columns={"choice": "choice+item"})


def restarting(**more: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {"evaluator": "g", "subset": [*"aabb"], "item": [*"1212"], "model_first": "x", "model_second": "y",
         "verdict": [*"ABAB"], **more}
    )  # fmt: skip


def test_items_numbered_anew_are_joined_with_their_subset() -> None:
    proposal = propose(restarting(question=[*"pqrs"]))
    assert proposal.mapping["item"] == "subset+item"
    assert proposal.mapping["task"] == "subset"
    (note,) = [n for n in proposal.notes if "numbered separately" in n]
    assert "('question')" in note
    assert "4 items, not 2" in note
    assert read(restarting(), columns=proposal.mapping, labels=proposal.labels)["item"].nunique() == 4


def test_items_that_come_back_with_the_same_contents_are_left_alone() -> None:
    assert propose(restarting(question=[*"pqpq"])).mapping["item"] == "item"
    assert propose(restarting(subset_name=["A", "A", "B", "B"])).mapping["item"] == "item"


@pytest.mark.real
def test_real_llmbar_has_885_items(real_data: Path) -> None:
    path = real_data / "llmbar" / "verdicts.csv.gz"
    proposal = propose(path)
    assert any("885 items, not 200" in note for note in proposal.notes)
    assert read(path, columns=proposal.mapping)["item"].nunique() == 885
