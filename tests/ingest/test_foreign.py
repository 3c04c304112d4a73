"""Whatever a table holds: a frame, or an error of ours; never an exception of another library."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import judgestats as js
from judgestats.errors import JudgestatsError, SchemaError
from judgestats.ingest import source_info

Write = Callable[..., Path]
CALLS = pd.DataFrame(
    {
        "judge": "g",
        "item": ["1", "1", "2", "2"],
        "first": [*"xyxy"],
        "second": [*"yxyx"],
        "choice": ["first", "tie"] * 2,
    }
)
SCORES = pd.DataFrame({"judge": [*"gghh"], "system": [*"stst"], "item": "1", "score": [1.0, 2, 3, 4]})
ODD: dict[str, list[Any]] = {
    "lists": [[1.0, 2.0], [], [3], [1]],
    "chat": [[{"role": "user", "content": "x"}], None, [], [{}]],
    "sets": [{1}, set(), {"a"}, {1}],
    "records": [{"a": 1}, {}, None, {"a": [1]}],
    "arrays": [np.zeros(3), np.ones(2), None, np.zeros((2, 2))],
    "bytes": [b"a", b"\xff", None, b""],
    "times": list(pd.to_datetime(["2024-01-01", None, "2024-01-02", "2024-01-03"])),
    "deltas": list(pd.to_timedelta([1, 2, 3, None])),
    "periods": list(pd.period_range("2024", periods=4)),
    "intervals": list(pd.interval_range(0, 4)),
    "complex": [1j, 2j, 3j, 4j],
    "mixed": [1, "a", None, (1, 2)],
    "huge": [2**70, 1, 2, 3],
    "unsigned": list(np.array([2**64 - 1, 1, 2, 3], dtype=np.uint64)),
    "infinite": [float("inf"), 1.0, float("-inf"), 2.0],
    "digits": ["9" * 4000, "1", "2", "3"],
    "overflow": ["1e999", "1", "2", "3"],
    "blank": [" ", "1", "2", "3"],
    "classes": [object, int, CALLS, None],
}


def looked_at(frame: Any) -> None:
    """All that a first look does with a frame."""
    assert js.check(frame).set_index("what")["n"]["rows in"] == 4
    js.describe(frame)


@pytest.mark.parametrize("kind", ["preferences", "ratings"])
@pytest.mark.parametrize("case", ODD)
def test_odd_cells_in_any_column(kind: str, case: str) -> None:
    table = CALLS if kind == "preferences" else SCORES
    for name in [*table.columns, "note", "replicate", "n", "gold", "strength", "order_known", "status", "temperature"]:
        odd = table.assign(**{name: pd.Series(ODD[case], dtype=object)})
        with contextlib.suppress(JudgestatsError):
            looked_at(js.read(odd, counts="n" if name == "n" else None))


@pytest.mark.parametrize("case", ["lists", "records"])
def test_nested_columns_that_are_conditions_are_kept_as_text(case: str) -> None:
    """Such a column says nothing about which call it is, and takes no row with it."""
    read = js.read(CALLS.assign(note=ODD[case]))
    looked_at(read)
    js.supported(read)
    assert len(read) == 4
    assert read["note"].tolist()[0] in ("[1.0, 2.0]", '{"a": 1}')


@pytest.mark.parametrize("engine", ["polars", "arrow"])
@pytest.mark.parametrize("case", ["lists", "chat", "times", "bytes", "unsigned", "infinite"])
def test_odd_columns_of_other_engines(case: str, engine: str) -> None:
    if engine == "arrow":
        column = pa.array(ODD[case], from_pandas=True)
        table: Any = pa.Table.from_pandas(CALLS).append_column("note", column)
    else:
        table = pl.from_pandas(CALLS).with_columns(
            pl.Series("note", pl.from_pandas(pd.Series(ODD[case])) if case == "times" else ODD[case], strict=False)
        )
    for name in ("note", "replicate", "item", "gold", "temperature"):
        if engine == "polars":
            given = table.drop(name, strict=False) if name != "note" else table
            given = given.rename({"note": name})
        else:
            kept = [c for c in table.column_names if c != name or name == "note"]
            given = table.select(kept).rename_columns([name if c == "note" else c for c in kept])
        with contextlib.suppress(JudgestatsError):
            looked_at(js.read(given))


def test_names_that_no_table_should_have() -> None:
    twice = pd.concat([CALLS, CALLS[["judge"]]], axis=1)
    with pytest.raises(SchemaError, match="more than once: 'judge'"):
        js.read(twice)
    levels = CALLS.set_axis(pd.MultiIndex.from_product([["a"], CALLS.columns]), axis=1)
    with pytest.raises(SchemaError, match="column names of several levels"):
        js.read(levels)
    for names in ([1, 2, 3, 4, 5], [None, "b", "c", "d", "e"], [("a", 1), "b", "c", "d", "e"]):
        with pytest.raises(SchemaError):
            js.read(CALLS.set_axis(names, axis=1))
        with pytest.raises(SchemaError):
            js.preferences(CALLS.set_axis(names, axis=1))
    for door in (js.preferences, js.check, js.sniff, js.propose, source_info, js.supported, js.describe):
        with pytest.raises(SchemaError, match="more than once"):
            door(twice)
        with pytest.raises(SchemaError, match="several levels"):
            door(levels)


@pytest.mark.parametrize("lazy", [False, True])
def test_text_in_parquet_that_is_not_utf8(tmp_path: Path, lazy: bool) -> None:
    bad = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe"))
    table = pa.table(
        {"judge": ["g", "g"], "item": ["1", "2"], "first": bad, "second": ["y", "y"], "choice": ["tie", "tie"]}
    )
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=False)
    with pytest.raises(SchemaError, match=r"UTF-8|Invalid"):
        js.read(tmp_path / "t.parquet", lazy=lazy)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("column", ["n", "replicate", "temperature", "strength", "cost", "note"])
@pytest.mark.parametrize(
    "cell", ["", " ", "inf", "-inf", "1e999", "9" * 4000, str(2**63), str(2**64), "1e18", "nan", "0x1"]
)
def test_odd_numbers_in_files(write: Write, column: str, cell: str, lazy: bool) -> None:
    text = f"judge,item,first,second,choice,{column}\ng,1,x,y,first,{cell}\ng,2,x,y,first,1\n"
    lines = [{**CALLS.iloc[0].to_dict(), "item": i, column: v} for i, v in ((1, 0), (2, 1))]
    number = cell.strip() if cell.strip() not in ("", "inf", "-inf", "nan", "0x1") else "null"
    jsonl = "\n".join(map(json.dumps, lines)).replace(f'"{column}": 0', f'"{column}": {number}')
    for path in (write("t.csv", text), write("t.jsonl", jsonl)):
        try:
            frame = js.read(path, counts="n" if column == "n" else None, lazy=lazy)
            assert js.check(frame).set_index("what")["n"]["rows in"] == 2
            js.tally(frame, "answer_rates", by=[] if column == "n" else [column])
        except JudgestatsError as problem:
            assert len(str(problem)) < 1500  # noqa: PT017


@pytest.mark.parametrize("lazy", [False, True])
def test_a_field_that_is_there_twice(write: Write, lazy: bool) -> None:
    line = json.dumps({**CALLS.iloc[0].to_dict()})
    with pytest.raises(SchemaError, match=r"t\.jsonl, line 2: the field 'judge' occurs more than once"):
        js.read(write("t.jsonl", line + "\n" + line[:-1] + ', "judge": "h"}'), lazy=lazy)
    with pytest.raises(SchemaError, match=r"line 1: 'usage\.cost' occurs twice"):
        js.read(write("t.jsonl", line[:-1] + ', "usage": {"cost": 1}, "usage.cost": 2}'), lazy=lazy)
    with pytest.raises(SchemaError, match=r"t\.json: the field 'judge' occurs more than once"):
        js.read(write("t.json", "[" + line[:-1] + ', "judge": "h"}]'))


@pytest.mark.parametrize("value", [[1], {"a": 1}, None, True, 1e300, [[]]])
def test_a_question_id_of_any_type(write: Write, value: Any) -> None:
    games = [{"score": "A>B"}, {"score": "B>A"}]
    records = [
        {"question_id": value, "model_1": "a", "model_2": "b", "g1_winner": "tie", "g2_winner": "tie", "judge": ["j"], "turn": value},
        {"question_id": value, "model": "a", "judge": ["j", "p"], "score": 3, "turn": value},
        {"question_id": value, "model": "m", "judge": "j", "games": games, "category": value},
        {"uid": value, "model": "m", "judge": "j", "games": games, "category": value},
        {"pair_id": value, "label": "A>B", "judgments": [{"judgment": {"judge_model": "j"}, "decision": "A>B"}], "source": value},
        {"instruction": value, "output_1": value, "output_2": "b", "generator_1": value, "generator_2": "b", "annotator": "x",
         "preference": 1, "dataset": value, "price_per_example": value},
    ]  # fmt: skip
    for record in records:
        try:
            frame = js.read(write("t.jsonl", [record]))
            js.check(frame)
            js.describe(frame)
        except JudgestatsError:
            pass


@pytest.mark.parametrize("query", ["select 1", "SELECT " + ", ".join(f"column_{i}" for i in range(5000)) + " FROM t",
                                   "\n  select *\nfrom t", "WITH a AS (SELECT 1) SELECT * FROM a", "(select 1)",
                                   "-- all\nselect 1", "select/**/1"])  # fmt: skip
def test_a_query_without_a_connection(query: str) -> None:
    with pytest.raises(SchemaError, match="pass connection="):
        js.read(query)


@pytest.mark.parametrize("name", ["x" * 5000, "a\x00b", "~nobody/x", "x/" * 3000])
def test_paths_that_cannot_be(name: str) -> None:
    with pytest.raises(SchemaError, match="There is no file") as caught:
        js.read(name)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "encoding", ["hex", "base64", "rot13", "idna", "undefined", "utf-8\x00", "unicode_escape", "utf-7"]
)
def test_encodings_that_are_none(write: Write, encoding: str) -> None:
    path = write("t.csv", "judge,item,first,second,choice\ng,1,x\\ud800,y,first\n")
    for lazy in (False, True):
        with contextlib.suppress(SchemaError):
            js.read(path, encoding=encoding, lazy=lazy)
