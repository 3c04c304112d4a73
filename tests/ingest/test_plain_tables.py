"""Plain tables: every container, text as text, many files, folders of calls, databases, lazy scans, frames."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import read, sniff, source_info

Write = Callable[..., Path]
ROWS = [
    {"judge": "NA", "item": "007", "first": "x", "second": "y", "choice": "first", "note": "a\nb"},
    {"judge": "None", "item": "007", "first": "y", "second": "x", "choice": "tie", "note": "1,5"},
    {"judge": "null", "item": "7", "first": "x", "second": "y", "choice": "", "note": "nan"},
]


def as_bytes(container: str) -> bytes:
    table = pd.DataFrame(ROWS)
    if container == "csv":
        return table.to_csv(index=False).encode()
    if container == "tsv":
        return table.to_csv(index=False, sep="\t").encode()
    if container == "jsonl":
        return "\n".join(map(json.dumps, ROWS)).encode()
    if container == "json":
        return json.dumps(ROWS).encode()
    out = io.BytesIO()
    table.to_parquet(out)
    return out.getvalue()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("bom", [False, True])
@pytest.mark.parametrize("container", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_every_container(write: Write, container: str, packed: bool, bom: bool) -> None:
    raw = as_bytes(container)
    if bom and container != "parquet":
        raw = b"\xef\xbb\xbf" + raw
    calls = read(write(f"t.{container}" + (".gz" if packed else ""), raw))
    assert calls["judge"].tolist() == ["NA", "None", "null"]  # names, not gaps
    assert calls["item"].tolist() == ["007", "007", "7"]
    assert calls["choice"].tolist() == ["first", "tie", "invalid"]
    assert calls["status"].tolist() == ["ok", "ok", "parse"]
    assert calls["note"].tolist() == ["a\nb", "1,5", "nan"]


def test_gzip_is_told_by_its_bytes(write: Write, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(gzip.compress(as_bytes("csv")))
    assert len(read(tmp_path / "t.csv")) == 3


@pytest.mark.parametrize(
    "document",
    [
        {"data": ROWS},
        {name: [row[name] for row in ROWS] for name in ROWS[0]},
        {name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]},
    ],
)
def test_shapes_of_json(write: Write, document: Any) -> None:
    assert read(write("t.json", json.dumps(document)))["judge"].tolist() == ["NA", "None", "null"]


def test_json_with_one_record_a_line_under_the_name_json(write: Write) -> None:
    path = write("t.json", as_bytes("jsonl"))
    assert sniff(path).format == "jsonl"
    assert len(read(path)) == 3


def test_a_first_line_longer_than_what_is_peeked_at(write: Write) -> None:
    rows = [{**ROWS[0], "note": "n" * 100_000}, {**ROWS[1], "note": ""}]
    assert len(read(write("t.json", "\n".join(map(json.dumps, rows))))) == 2


def test_no_row_is_lost_between_chunks(write: Write) -> None:
    n = 140_001
    text = "judge,item,first,second,choice\n" + "".join(f"g,{i},x,y,first\n" for i in range(n))
    calls = read(write("t.csv", text))
    assert len(calls) == n
    assert calls["item"].tolist() == [str(i) for i in range(n)]


@pytest.mark.parametrize("lazy", [False, True])
def test_conditions_become_numbers_and_names_stay_text(write: Write, lazy: bool) -> None:
    text = (
        "judge,item,first,second,choice,replicate,length_first,length_second,run_id,zip,confidence\n"
        "g,1,x,y,first,0,12,13,5,007,0.5\ng,1,y,x,tie,1,13,,6,100,1\n"
    )
    calls = nw.from_native(read(write("t.csv", text), lazy=lazy)).lazy().collect("pandas").to_native()
    calls = calls.sort_values("replicate")
    assert calls["replicate"].dtype == "int64"
    assert calls["length_first"].tolist() == [12, 13]
    assert calls["length_second"].isna().tolist() == [False, True]
    assert calls["confidence"].tolist() == [0.5, 1.0]
    assert calls["run_id"].tolist() == ["5", "6"]
    assert calls["zip"].tolist() == ["007", "100"]


def test_row_numbers_that_pandas_wrote_are_dropped(write: Write, canonical_csv: Path) -> None:
    table = pd.read_csv(canonical_csv)
    calls = read(write("t.csv", table.to_csv()))
    assert list(calls.columns) == ["judge", "item", "first", "second", "choice"]
    kept = read(write("u.csv", table.set_axis([7, 9]).to_csv()))
    assert kept["column_1"].tolist() == [7, 9]


@pytest.mark.parametrize("lazy", [False, True])
def test_the_index_that_pandas_wrote_into_parquet(tmp_path: Path, lazy: bool) -> None:
    """A nameless index only counts the rows; a named one is a column."""
    table = pd.DataFrame(ROWS).drop(columns="note").iloc[[0, 1]]
    for name, frame in (("a", table.set_axis([4, 2])), ("b", table.set_index("item"))):
        frame.to_parquet(tmp_path / f"{name}.parquet")
        calls = nw.from_native(read(tmp_path / f"{name}.parquet", lazy=lazy)).lazy().collect("pandas").to_native()
        assert set(calls.columns) - {"status"} == {"judge", "item", "first", "second", "choice"}
        assert calls["item"].tolist() == ["007", "007"]


def test_ratings_and_the_scale(write: Write) -> None:
    text = "judge,system,item,criterion,score\na,s,1,c,3\nb,s,1,c,-1\nb,s,2,c,\n"
    path = write("r.csv", text)
    assert sniff(path).frame == "ratings"
    assert read(path)["score"].isna().sum() == 1
    off = read(path, scale=(1, 5), off_scale="missing")
    assert off["status"].tolist()[1] == "off scale"
    with pytest.raises(SchemaError, match=r"r\.csv: .*off the scale 1 to 5"):
        read(path, scale=(1, 5))


def test_several_files(write: Write, tmp_path: Path) -> None:
    for run in ("one", "two"):
        write(f"runs/{run}/calls.csv", "judge,item,first,second,choice\ng,1,x,y,first\n")
    with pytest.raises(SchemaError, match="more than once"):
        read(str(tmp_path / "runs" / "*" / "calls.csv"))
    mapping = {"prompt": "path_1"}
    for source in (
        str(tmp_path / "runs" / "*" / "calls.csv"),
        tmp_path / "runs",
        sorted((tmp_path / "runs").rglob("*.csv")),
    ):
        calls = read(source, columns=mapping)
        assert calls["prompt"].tolist() == ["one", "two"]
        assert "file" not in calls


def test_several_files_with_other_columns(write: Write, tmp_path: Path) -> None:
    write("a.csv", "judge,item,first,second,choice\ng,1,x,y,first\n")
    write("b.csv", "judge,item,first,second,answer\ng,2,x,y,first\n")
    with pytest.raises(SchemaError, match=r"b\.csv lacks choice and has in addition answer"):
        read(str(tmp_path / "*.csv"))


def test_a_folder_with_one_call_a_file(write: Write, tmp_path: Path) -> None:
    for run, judge in (("hot", "g"), ("cold", "g")):
        for n, choice in enumerate(("first", "tie")):
            call = {"judge": judge, "item": n, "answer": {"choice": choice}, "first": "x", "second": "y"}
            write(f"calls/{run}/call_{n}.json", json.dumps(call))
    folder = tmp_path / "calls"
    found = sniff(folder)
    assert (found.format, found.files, found.confidence) == ("calls", 4, "needs a mapping")
    calls = read(folder, columns={"choice": "answer.choice", "prompt": "path_1"})
    assert calls["prompt"].tolist() == ["cold", "cold", "hot", "hot"]
    assert calls["choice"].tolist() == ["first", "tie"] * 2
    assert calls["file"].tolist() == ["call_0", "call_1"] * 2
    assert calls["item"].tolist() == ["0", "1"] * 2


def test_two_files_are_two_calls(write: Write, tmp_path: Path) -> None:
    for n in range(3):
        write(f"calls/{n}.json", json.dumps({"judge": "g", "item": 1, "first": "x", "second": "y", "choice": "first"}))
    assert read(tmp_path / "calls")["replicate"].tolist() == [0, 1, 2]


def test_a_folder_of_native_records(write: Write, tmp_path: Path) -> None:
    for n in range(2):
        game = {"question_id": n, "model": "m", "judge": "j", "games": [{"score": "A>B"}, {"score": "B>A"}]}
        write(f"calls/{n}.json", json.dumps(game))
    assert sniff(tmp_path / "calls").format == "arena_hard"
    assert len(read(tmp_path / "calls")) == 4


def test_a_database() -> None:
    connection = sqlite3.connect(":memory:")
    try:
        pd.DataFrame(ROWS).assign(big=[2**60 + 1, None, 3]).to_sql("calls", connection, index=False)
        calls = read("SELECT * FROM calls", connection=connection)
        assert calls["judge"].tolist() == ["NA", "None", "null"]
        assert calls["item"].tolist() == ["007", "007", "7"]
        mapped = read(
            "SELECT judge AS who, item, first, second, choice FROM calls",
            connection=connection,
            columns={"judge": "who"},
        )
        assert mapped["choice"].tolist() == ["first", "tie", "invalid"]
        with pytest.raises(SchemaError, match=r"The query failed: .*no such table"):
            read("SELECT * FROM nowhere", connection=connection)
        with pytest.raises(SchemaError, match="gives no rows"):
            read("SELECT * FROM calls WHERE item = 'z'", connection=connection)
        assert source_info("SELECT 1", connection=connection)["name"].tolist() == ["SELECT 1"]
    finally:
        connection.close()


def test_ids_from_a_database_stay_exact() -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE TABLE t (judge, item INTEGER, system, score REAL)")
        connection.executemany("INSERT INTO t VALUES ('g', ?, 's', 1.5)", [(2**60 + 1,), (2,)])
        assert read("SELECT * FROM t ORDER BY item", connection=connection)["item"].tolist() == ["2", str(2**60 + 1)]
    finally:
        connection.close()


@pytest.mark.parametrize("container", ["csv", "tsv", "jsonl", "parquet"])
def test_lazy(write: Write, container: str) -> None:
    raw = as_bytes(container)
    path = write(f"t.{container}", raw)
    lazy = nw.from_native(read(path, lazy=True))
    assert isinstance(lazy, nw.LazyFrame)
    calls = lazy.collect("pandas").to_native().sort_values("judge")
    assert calls["judge"].tolist() == ["NA", "None", "null"]
    assert calls["item"].tolist() == ["007", "007", "7"]
    assert calls["choice"].tolist() == ["first", "tie", "invalid"]


def test_lazy_with_a_mapping_swaps_once_and_casts(write: Write) -> None:
    text = "q,s,w,rep\n1,0,x,0\n1,1,x,1\n2,1,tie,0\n"
    columns = {
        "judge": "=g",
        "item": "q",
        "first": "=x",
        "second": "=y",
        "winner": "w",
        "swapped": "s",
        "replicate": "rep",
    }
    path = write("t.csv", text)
    lazy = nw.from_native(read(path, columns=columns, lazy=True)).collect("pandas").to_native()
    eager = read(path, columns=columns)
    for calls in (lazy.sort_values(["item", "replicate"]), eager):
        assert calls["choice"].astype(str).tolist() == ["first", "second", "tie"]
        assert calls["first"].tolist() == ["x", "y", "y"]
        assert calls["replicate"].tolist() == [0, 1, 0]


def test_lazy_refuses_what_is_damaged(write: Write) -> None:
    header = "judge,item,system,score\n"
    with pytest.raises(SchemaError, match=r"bad\.csv, line 3: 3 fields where the header has 4"):
        read(write("bad.csv", header + "g,1,s,3\ng,2,s\n"), lazy=True)
    with pytest.raises(SchemaError, match="column 'score' should hold numbers; 1 rows do not, such as \"3,5\""):
        read(write("n.csv", header + 'g,1,s,"3,5"\n'), lazy=True)
    with pytest.raises(SchemaError, match="column 'replicate' should hold whole numbers"):
        read(write("w.csv", "judge,item,system,score,replicate\ng,1,s,3,0.5\n"), lazy=True)
    with pytest.raises(SchemaError, match="but no rows"):
        read(write("e.csv", header), lazy=True)
    with pytest.raises(SchemaError, match="lazy=True scans"):
        read(write("t.json", as_bytes("json")), lazy=True)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, lambda r: pa.Table.from_pylist(r), lambda r: pl.LazyFrame(r)]
)
def test_a_frame_keeps_its_kind(make: Callable[[Any], Any]) -> None:
    table = make([{k: v for k, v in row.items() if k != "note"} | {"choice": row["choice"] or "tie"} for row in ROWS])
    calls = read(table)
    assert type(calls) is type(table)
    eager = nw.from_native(calls).lazy().collect("pandas").to_native()
    assert eager["item"].tolist() == ["007", "007", "7"]


def test_source_info(write: Write, tmp_path: Path) -> None:
    import hashlib

    path = write("runs/a.csv.gz", as_bytes("csv"))
    write("runs/b.csv.gz", as_bytes("csv"))
    info = source_info(tmp_path / "runs")
    assert info["name"].tolist() == ["a.csv.gz", "b.csv.gz"]
    assert info["rows"].tolist() == [3, 3]
    assert info.loc[0, "sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert info.loc[0, "bytes"] == path.stat().st_size
