"""A lazy frame holds what the eager readers read, whatever the files are called and however they are written."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from both_ways import difference, reading
from judgestats.errors import DesignError, SchemaError
from judgestats.ingest import read, scans
from judgestats.metrics.bias import position_bias

Write = Callable[..., Path]
HEADER = "judge,item,first,second,choice\n"
RECORD = {"judge": "g", "item": "1", "first": "x", "second": "y", "choice": "first"}


def contents(container: str, judge: str = "g") -> bytes:
    """Three calls and a column of counts, in a container."""
    table = pd.DataFrame([{**RECORD, "judge": judge, "item": str(i), "k": i + 2} for i in range(3)])
    if container == "parquet":
        return bytes(table.to_parquet())
    if container == "jsonl":
        return "\n".join(map(json.dumps, table.to_dict("records"))).encode()
    return table.to_csv(index=False, sep="\t" if container == "tsv" else ",").encode()


@pytest.mark.parametrize("container", ["csv", "parquet"])
@pytest.mark.parametrize(
    "folder",
    ["judge=EVIL", "choice=second/k=5", "item=7", "run[1]", "run*", "a?c", "{a,b}", "it's", 'say "so"', "~", "a\\b",
     "%41", "file:", "s3:", "été 日本", " lead", "-x", "#1", "a;DROP TABLE rows"],
)  # fmt: skip
def test_what_a_folder_is_called_is_no_data(write: Write, folder: str, container: str) -> None:
    path = write(f"{folder}/v.{container}", contents(container))
    write(f"run1/v.{container}", contents(container, "another"))
    write(f"abc/v.{container}", contents(container, "another"))
    assert difference(path) == ""
    lazy = reading(path, lazy=True).table
    assert lazy is not None
    assert lazy["judge"].tolist() == ["g"] * 3
    assert lazy["choice"].tolist() == ["first"] * 3
    assert sorted(lazy["k"]) == [2, 3, 4]


@pytest.mark.parametrize("container", ["csv", "tsv", "jsonl", "parquet"])
def test_a_folder_and_packed_files(write: Write, tmp_path: Path, container: str) -> None:
    path = write(f"judge=EVIL/v.{container}", contents(container))
    assert difference(tmp_path / "judge=EVIL") == ""
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert difference(path) == ""


@pytest.mark.parametrize("container", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["a*", "a[b]", "a?", "[a]b", "**", "v{1,2}", "a\\*", "x.parquet", "a'b", 'a"b'])
def test_a_pattern_in_a_name_is_no_pattern(write: Write, name: str, container: str) -> None:
    for other in ("ab", "a", "v1", "v2", "ax", "x"):
        write(f"{other}.{container}", contents(container, "another"))
    path = write(f"{name}.{container}", contents(container))
    assert difference(path) == ""
    assert set(reading(path, lazy=True).table["judge"]) == {"g"}  # type: ignore[index]


CSV = {
    "quotes": HEADER + 'g,"1, 2","x\ny",y,first\n',
    "doubled quotes": HEADER + 'g,"say ""so""",x,y,first\n',
    "a quote inside": HEADER + 'g,5" disk,x,y,first\n',
    "a quote after": HEADER + 'g,"5" disk,x,y,first\n',
    "blank lines": HEADER + "\n\ng,1,x,y,first\n\ng,2,x,y,tie\n\n",
    "carriage returns": (HEADER + "g,1,x,y,first\ng,2,x,y,tie\n").replace("\n", "\r\n"),
    "old Mac lines": (HEADER + "g,1,x,y,first\n").replace("\n", "\r"),
    "spaces in the header": "judge , item,first,second,choice\ng,1,x,y,first\n",
    "spaces in cells": HEADER + " g , 1,x,y,first\n",
    "an empty quoted cell": HEADER + 'g,1,x,y,""\n',
    "no last newline": HEADER + "g,1,x,y,first",
    "names of gaps": HEADER + "NA,null,NaN,None,first\n",
    "ragged": HEADER + "g,1,x,y\n",
    "too wide": HEADER + "g,1,x,y,first,\n",
    "never closed": HEADER + 'g,1,x,y,"first\n',
    "row numbers": ",judge,item,first,second,choice\n0,g,1,x,y,first\n1,g,2,x,y,tie\n",
    "other numbers": ",judge,item,first,second,choice\n4,g,1,x,y,first\n7,g,2,x,y,tie\n",
    "names that differ in case": "Judge,judge,item,first,second,choice\nh,g,1,x,y,first\n",
    "a repeated name": "judge,judge,item,first,second,choice\nh,g,1,x,y,first\n",
    "a NUL": HEADER + "g\x00,1,x,y,first\n",
    "conditions": "judge,item,first,second,choice,t,z,r,u\ng,1,x,y,first,1,007,1.5,1e400\ng,2,x,y,first,2,1,,2\n",
    "whole numbers": HEADER.strip() + ",replicate\ng,1,x,y,first,1e3\ng,1,x,y,first, 7 \ng,1,x,y,first,9007199254740993\n",
    "beyond whole numbers": HEADER.strip() + ",replicate\ng,1,x,y,first,9300000000000000000000\n",
    "an infinite repeat": HEADER.strip() + ",replicate\ng,1,x,y,first,1e999\n",
    "yes and no": HEADER.strip() + ",order_known\ng,1,x,y,first,yes\ng,2,x,y,first,pass\ng,3,x,y,first,\n",
    "neither": HEADER.strip() + ",order_known\ng,1,x,y,first,perhaps\n",
    "odd numbers": HEADER.strip() + ",delta\ng,1,x,y,first,\u00a03\ng,2,x,y,first,.5\ng,3,x,y,first, \ng,4,x,y,first,5.\n",
    "not numbers": HEADER.strip() + ",delta\ng,1,x,y,first,1_000\n",
    "scores": "judge,system,item,score\ng,s,1,3\ng,s,2,\ng,s,3,4.50\n",
    "a blank score": "judge,system,item,score\ng,s,1,3\ng,s,2, \n",
    "an infinite score": "judge,system,item,score\ng,s,1,inf\n",
    "verdicts as a score": "judge,system,item,score\ng,s,1,pass\ng,s,2,Fail\ng,s,3,\n",
    "right and wrong": "judge,system,item,correct\ng,s,1,right\ng,s,2,0\ng,s,3,\n",
    "right and wrong and else": "judge,system,item,correct\ng,s,1,right\ng,s,2,0.5\n",
    "means": "judge,system,item,mean,sd,runs\ng,s,1,3.5,0.1,3\ng,s,2,3,,\n",
    "unknown answers": HEADER + "g,1,x,y,A\n",
    "the same call twice": HEADER + "g,1,x,y,first\ng,1,x,y,first\n",
    "an id that is missing": HEADER + ",1,x,y,first\n",
    "nothing": HEADER,
    "odd characters": HEADER + "g\u200b,1\ufeff,é,e\u0301,first\n",
}  # fmt: skip


@pytest.mark.parametrize("case", CSV)
def test_csv_both_ways(tmp_path: Path, case: str) -> None:
    (tmp_path / "t.csv").write_bytes(CSV[case].encode())
    told = difference(tmp_path / "t.csv")
    if case == "names that differ in case":  # DuckDB has one column of a name, however it is spelt
        assert "lazy fails: t.csv: DuckDB cannot hold this table" in told
    else:
        assert told == ""


JSONL: dict[str, list[Any]] = {
    "nested": [{**RECORD, "usage": {"tokens": 3, "cost": {"in": 1}}}, {**RECORD, "item": "2"}],
    "lists": [{**RECORD, "embedding": [0.5, 1], "messages": [{"role": "user"}]}],
    "fields that come later": [RECORD, {**RECORD, "item": "2", "note": "late"}],
    "types": [{**RECORD, "item": i, "k": v} for i, v in enumerate([1, 2.5, True, None, "x", {}, [], 2**70, 1e400])],
    "yes and no": [{**RECORD, "item": i, "order_known": v} for i, v in enumerate([True, False, None, 1, "no"])],
    "numbers": [{**RECORD, "item": i, "k": v} for i, v in enumerate([1, 2.0, 3.5])],
    "an empty record": [RECORD, {}],
    "no fields": [{}, {}],
    "an empty name": [{**RECORD, "": 1}],
    "half a character": [{**RECORD, "note": "\ud83d"}],
}


@pytest.mark.parametrize("case", JSONL)
def test_jsonl_both_ways(write: Write, case: str) -> None:
    told = difference(write("t.jsonl", JSONL[case]))
    if case == "an empty name":
        assert "lazy fails: t.jsonl: DuckDB cannot hold this table" in told
    else:
        assert told == ""


def parquet_columns() -> dict[str, pa.Array]:
    ids = ["1", "2", None]
    return {
        "integers": pa.array([1, 2, 3]),
        "integers with gaps": pa.array([1, None, 3]),
        "unsigned": pa.array([1, 2, 2**64 - 1], pa.uint64()),
        "floats": pa.array([1.5, float("nan"), None]),
        "whole floats": pa.array([1.0, 2.0, float("nan")]),
        "half floats": pa.array([1.5, 2, 3], pa.float16()),
        "booleans": pa.array([True, False, True]),
        "booleans with gaps": pa.array([True, None, False]),
        "blanks": pa.array(["\u2028", "\x1ca", "b\u3000"]),
        "text": pa.array(["a", "", None]),
        "a dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
        "lists": pa.array([[1.0, 2.0], None, []]),
        "records": pa.array([{"role": "user"}, None, {"role": None}]),
        "times": pa.array(pd.to_datetime(["2024-01-01 05:06", None, "2024-01-02 03:04"])),
        "days": pa.array(pd.to_datetime(["2024-01-01", None, "2024-01-02"]).date),
        "decimals": pa.array([Decimal("1.50"), None, Decimal("3")]),
        "bytes": pa.array([b"a", b"\xff", None]),
        "nothing": pa.nulls(3),
        "mixed ids": pa.array(ids),
    }


@pytest.mark.parametrize(
    ("case", "role"),
    [
        (case, role)
        for case in parquet_columns()
        for role in ("condition", "item", "second", "choice", "replicate", "delta", "order_known")
        if (case, role) not in (("booleans", "replicate"), ("booleans", "delta"))  # 0 and 1 in memory only
    ],
)
def test_parquet_both_ways(tmp_path: Path, case: str, role: str) -> None:
    table = pa.table({n: [v] * 3 for n, v in RECORD.items() if n != "item"} | {"item": ["1", "2", "3"]})
    table = table.drop_columns([role] if role in table.column_names else []).append_column(
        role, parquet_columns()[case]
    )
    pq.write_table(table, tmp_path / "t.parquet")
    assert difference(tmp_path / "t.parquet") == ""


@pytest.mark.parametrize("name", ["score", "correct", "answer"])
@pytest.mark.parametrize(
    "cells", [[" ", "yes"], ["\u2028", "\u2028"], ["\u3000no", "yes "], ["", "yes"], [" ", "3"], ["", ""]]
)
def test_blanks_in_place_of_a_verdict_both_ways(write: Write, name: str, cells: list[str]) -> None:
    rows = "".join(f"g,s,{i},{cell}\n" for i, cell in enumerate(cells))
    assert difference(write("t.csv", f"judge,system,item,{name}\n{rows}")) == ""


def test_several_files_in_another_order_of_columns(write: Write, tmp_path: Path) -> None:
    write("a.csv", HEADER + "g,1,x,y,first\n")
    write("b.csv", "item,judge,first,second,choice\n2,h,x,y,tie\n")
    assert difference(tmp_path) == ""
    for name, order in (("a", list(RECORD)), ("b", [*reversed(RECORD)])):
        pd.DataFrame([{**RECORD, "item": name}])[order].to_parquet(tmp_path / f"{name}.parquet")
    lazy = reading(str(tmp_path / "*.parquet"), lazy=True).table
    assert lazy is not None
    assert sorted(lazy["item"]) == ["a", "b"]
    write("c.csv", "item,judge,first,second,answer\n2,h,x,y,tie\n")
    for lazily in (False, True):
        with pytest.raises(SchemaError, match=r"c\.csv lacks choice and has in addition answer"):
            read(str(tmp_path / "*.csv"), lazy=lazily)


@pytest.mark.parametrize("container", ["csv", "jsonl", "parquet"])
def test_parts_of_the_path_that_a_mapping_asks_for(write: Write, tmp_path: Path, container: str) -> None:
    for run in ("one", "it's"):
        write(f"runs/{run}/t.{container}", contents(container))
    columns = {"prompt": "path_1", "item": "path_1+item"}
    assert difference(tmp_path / "runs", columns=columns) == ""
    assert set(reading(tmp_path / "runs", lazy=True, columns=columns).table["prompt"]) == {"one", "it's"}  # type: ignore[index]


def test_labels_of_ratings_and_other_encodings(write: Write) -> None:
    path = write("t.csv", "judge,system,item,correct\ng,s,1,C\ng,s,2,I\ng,s,3,?\ng,s,4,yes\n")
    assert difference(path, labels={"C": "right", "I": "wrong", "?": "invalid"}) == ""
    assert reading(path, lazy=True, labels={"C": "right", "I": "wrong", "?": "invalid"}).table is not None
    assert difference(write("u.csv", (HEADER + "g,1,caf\xe9,y,first\n").encode("cp1252")), encoding="cp1252") == ""


def test_a_lazy_frame_leaves_no_file_behind(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = tmp_path / "temporary"
    rooms.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(rooms))
    path = write("t.csv", HEADER + "".join(f"g,{i},x,y,first\n" for i in range(20_000)))
    lazy = nw.from_native(read(path, lazy=True))
    assert list(rooms.iterdir()) == []
    path.unlink()
    assert lazy.select(nw.len()).collect().item() == 20_000
    with pytest.raises(SchemaError, match="3 fields where the header has 5"):
        read(write("u.csv", HEADER + "g,1,x,y,first\n" * 9000 + "a,b,c\n"), lazy=True)
    assert list(rooms.iterdir()) == []


def test_a_large_damaged_file_is_refused_when_it_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files are not read through when they are opened."""
    monkeypatch.setattr(scans, "_CHECKED", 0)
    names = [f"i{k}-{'x' * (k % 50)}" for k in range(20_000)]
    calls = pd.DataFrame({"judge": "g", "item": names, "first": "x", "second": "y", "choice": "first"})
    path = tmp_path / "calls.parquet"
    calls.to_parquet(path)
    lazy = read(path, lazy=True)
    content = bytearray(path.read_bytes())
    for at in range(2000, len(content) // 2):
        content[at] ^= 0x5A
    path.write_bytes(content)
    with pytest.raises(DesignError, match=r"DuckDB cannot read the data .*damaged"):
        position_bias(lazy, cluster="item")


def test_backslash_is_a_pattern_only_where_it_is_no_separator() -> None:
    assert not scans._is_pattern(PureWindowsPath(r"C:\calls.parquet"))
    assert scans._is_pattern(PurePosixPath(r"a\b.parquet"))


def wide_file(path: Path, n: int) -> Path:
    """Six calls with `n` columns of numbers or words besides."""
    calls = pd.DataFrame([{**RECORD, "judge": judge, "item": str(i)} for judge in "gh" for i in range(3)])
    more = {f"c{j}": [(j * i) % 7 if j % 9 else f"w{(j * i) % 5}" for i in range(6)] for j in range(n)}
    table = pd.concat([calls.rename(columns={"judge": "evaluator"}), pd.DataFrame(more)], axis=1)
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("names", "small"),
    [
        *((["t.csv"], True), (["a.csv", "b.csv"], True), (["t.parquet"], True), (["t.parquet"], False)),
        *((["a.parquet", "b.parquet"], True), (["a.parquet", "b.parquet"], False)),
    ],
)
def test_many_columns_are_read_as_eagerly(
    tmp_path: Path, names: list[str], small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small files of Parquet are copied, large ones stay where they are."""
    monkeypatch.setattr(scans, "_CHECKED", scans._CHECKED if small else 0)
    paths = [wide_file(tmp_path / name, 600) for name in names]
    for number, path in enumerate(paths[1:], start=1):  # the same calls with other judges
        table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        table["evaluator"] += str(number)
        table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    options: dict[str, Any] = {"columns": {"judge": "evaluator"}, "labels": {"first": "first"}}
    eager, lazy = (read(paths, lazy=how, **options) for how in (False, True))
    assert set(lazy.columns) - set(eager.columns) <= {"status"}
    same = [c for c in eager.columns if c in lazy.columns]
    left, right = (t[same].astype(str).sort_values(["judge", "item"], ignore_index=True) for t in (eager, lazy.df()))
    pd.testing.assert_frame_equal(left, right)
    for by in ("c5", "c9"):
        a, b = (position_bias(t, by=[by])["estimate"].tolist() for t in (eager, lazy))
        assert a == b
    with pytest.raises(SchemaError, match="Did you mean 'evaluator'") as error:
        read(paths, lazy=True, columns={"judge": "evaluatr"})
    assert "_judgestats" not in str(error.value)


def test_names_of_the_columns_that_number_rows_are_names_as_others(tmp_path: Path) -> None:
    path = wide_file(tmp_path / "t.parquet", 600)
    pd.read_parquet(path).assign(file_row_number=[5, 4, 3, 2, 1, 0], FILE_INDEX="x").to_parquet(path)
    calls = read(path, lazy=True, columns={"judge": "evaluator"}).df()
    assert sorted(calls["file_row_number"]) == [0, 1, 2, 3, 4, 5]
    assert set(calls["FILE_INDEX"]) == {"x"}


@pytest.mark.parametrize(("suffix", "lazy"), [("csv", False), ("csv", True), ("parquet", True)])
def test_three_times_the_columns_take_at_most_four_times_the_time(tmp_path: Path, suffix: str, lazy: bool) -> None:
    read(wide_file(tmp_path / "warm.csv", 20), lazy=lazy, columns={"judge": "evaluator"})
    seconds = {}
    for n in (1200, 3600):
        path = wide_file(tmp_path / f"{n}.{suffix}", n)
        start = time.process_time()
        read(path, lazy=lazy, columns={"judge": "evaluator"})
        seconds[n] = time.process_time() - start
    assert seconds[3600] < 4 * seconds[1200]
