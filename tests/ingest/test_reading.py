"""read(): every container, many files, folders, databases and frames; bad input gives one clear error and loses no row."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import judgestats as js
from judgestats.errors import DesignError, JudgestatsError, SchemaError
from judgestats.ingest import UnmappedTable, detect_format, read, source_info
from refusals import refused

Write = Callable[..., Path]

HEADER = "judge,item,first,second,choice\n"

SCORES = "judge,system,item,score\n"

ROW = "g,1,x,y,first\n"

RECORD = {"judge": "g", "item": "1", "first": "x", "second": "y", "choice": "first"}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.csv", "", r"t\.csv is empty"),
        ("t.jsonl", "\n\n  \n", r"t\.jsonl is empty"),
        ("t.csv.gz", "", r"t\.csv\.gz is empty"),
        ("t.csv", HEADER, r"t\.csv has a header \(judge, .*\) but no rows"),
        ("t.json", "[]", r"t\.json holds no records"),
        ("t.csv", HEADER + ROW + "g,2,x,y\n", r"t\.csv, line 3: 4 fields where the header has 5"),
        ("t.csv", HEADER + 'g,1,"x\nx",y,first\n' + "g,2,x,y,first,6\n", r"t\.csv, line 4: 6 fields"),
        ("t.csv", HEADER + 'g,1,"x\nx",y\n', r"t\.csv, lines 2 to 3: 4 fields"),
        ("t.tsv", "judge\titem\tsystem\tscore\ng\t1\ts\n", r"t\.tsv, line 2: 3 fields where the header has 4"),
        ("t.csv", HEADER + 'g,1,"x,y,first\n' + ROW, r"t\.csv, line 3: not valid CSV \(unexpected end of data\)"),
        ("t.csv", HEADER + 'g,1,"x"z,y,first\n', r"t\.csv, line 2: not valid CSV"),
        ("t.csv", "judge,item,judge\ng,1,h\n", r"more than once: 'judge' \(columns 1, 3\)"),
        ("t.json", json.dumps({"judge": ["g"], "item": [1, 2]}), "different lengths"),
        ("t.json", '"text"', r"t\.json holds a text; it should hold a list of records"),
        ("t.json", "[1, 2]", r"t\.json, record 1: a number"),
        ("t.jsonl", json.dumps(RECORD) + "\n[1]\n", r"t\.jsonl, line 2: a list"),
        ("t.parquet", b"PAR1 and then nothing", r"t\.parquet: not a complete Parquet file"),
        ("t.parquet", b"judge,item", r"t\.parquet is named Parquet"),
        ("t.bin", b"\x00\x01\x02", r"t\.bin is not text"),
        ("t.eval", b"PK\x03\x04rest", r"t\.eval: the zip archive is truncated or damaged"),
        ("t.txt", "q1 0 p1 high\n", r"t\.txt is not CSV, TSV, JSON, JSONL or Parquet"),
        ("t.csv", SCORES + "g,s,1,\"3,5\"\n", r"t\.csv: column 'score' .*has a comma in 1 rows.*decimal=','"),
        ("t.csv", SCORES + "g,s,1,good\n", r"t\.csv: column 'score' .*'good' in 1 row \(row 0 of the data, from 0\)\. Leave .*score=\.\.\."),
        ("t.csv", SCORES + "g,s,1,NA\ng,s,2,3\ng,s,3,NaN\n",
         r"t\.csv: column 'score' .*'NA' in 1 row, 'NaN' in 1 row \(rows 0, 2 of the data, from 0\)\. Leave the cell empty"),
        ("t.csv", SCORES.replace("score", "mean") + "g,s,1,n/a\n", r"column 'mean' .*'n/a' in 1 row .*Leave the cell empty"),
        ("t.csv", HEADER.rstrip() + ",delta\ng,1,x,y,first,NA\n", r"column 'delta' .*'NA' in 1 row .*Leave the cell empty"),
        ("t.csv", HEADER + "g,1,x,y,C\n", r"t\.csv: .*'choice' has 'C'"),
        ("t.csv", HEADER + ROW + ROW, r"t\.csv: .*more than once"),
        ("t.csv", HEADER + ",1,x,y,first\n", r"t\.csv: .*'judge' is missing"),
    ],
)  # fmt: skip
def test_one_clear_error(write: Write, name: str, content: str | bytes, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        read(write(name, content))


def test_the_faults_come_along(write: Write) -> None:
    with pytest.raises(SchemaError) as caught:
        read(write("t.csv", HEADER + "g,1,x,y,C\n,2,x,y,first\n"))
    assert caught.value.faults is not None
    assert set(caught.value.faults["column"]) == {"choice", "judge"}


def test_a_line_cut_off(write: Write) -> None:
    text = json.dumps(RECORD) + "\n" + json.dumps({**RECORD, "item": "2"})[:-20]
    refused(
        SchemaError,
        (text, r"t\.jsonl, line 2: not valid JSON .*It is the last line: .*cut off"),
        (text + "\n" + json.dumps(RECORD), r"line 2: not valid JSON .*Correct or delete the line"),
        of=lambda wrong: read(write("t.jsonl", wrong)),
    )


def test_a_document_cut_off(write: Write) -> None:
    text = json.dumps([RECORD, RECORD])
    for end in (len(text) - 1, len(text) - 10, 40):
        with pytest.raises(SchemaError, match=r"t\.json, line 1, column .*cut off"):
            read(write("t.json", text[:end]))


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_a_truncated_archive(write: Write, keep: float) -> None:
    lines = "".join(f"g,{i},x,y,first\n" for i in range(20_000))
    packed = gzip.compress((HEADER + lines).encode())
    path = write("t.csv", packed[: int(len(packed) * keep)])
    with pytest.raises(SchemaError, match=r"t\.csv: the gzip archive is truncated or damaged"):
        read(path)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (
            (HEADER + "g,1,caf\xe9,y,first\n").encode("latin-1"),
            r"line 2, byte 8 of the line is 0xe9 .*caf\xe9.*encoding='cp1252'",
        ),
        ((HEADER + ROW).encode("utf-16"), r"byte-order mark of utf-16.*encoding='utf-16'"),
        ((HEADER + ROW).encode("utf-16-le"), r"NUL bytes.*utf-16-le"),
    ],
)
def test_wrong_encoding(write: Write, raw: bytes, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        read(write("t.csv", raw))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_the_remedy_for_the_encoding_works(write: Write, encoding: str) -> None:
    calls = read(write("t.csv", (HEADER + "g,1,caf\xe9,y,first\n").encode(encoding)), encoding=encoding)
    assert calls["first"].tolist() == ["caf\xe9"]


def test_bytes_that_are_no_text_are_offered_no_encoding(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(bytes(range(256)) * 12)
    for encoding in (None, "cp1252"):
        with pytest.raises(SchemaError, match=r"t\.csv is no text: 312 of its first 3,072 bytes are control") as error:
            read(path, encoding=encoding)
        assert "encoding=" not in str(error.value)
        assert error.value.advice == ()


def test_wrong_encoding_in_jsonl_and_an_unknown_one(write: Write) -> None:
    raw = json.dumps(RECORD).encode() + b'\n{"judge": "\xff"}\n'
    refused(
        SchemaError,
        (lambda: read(write("t.jsonl", raw)), r"t\.jsonl is not utf-8: line 2, byte 12"),
        (lambda: read(write("t.csv", HEADER + ROW), encoding="klingon"), "encoding='klingon' is not an encoding"),
    )


def test_ten_megabytes_in_one_field(write: Write) -> None:
    big = "z" * 10_000_000
    text = HEADER.rstrip() + ",rationale\n" + f'g,1,x,y,first,"{big}"\ng,2,x,y,tie,\n'
    calls = read(write("t.csv", text))
    assert calls["rationale"].str.len().iloc[0] == 10_000_000
    assert len(calls) == 2
    assert len(read(write("t.jsonl", [{**RECORD, "rationale": big}]))) == 1


def test_half_a_character_is_replaced(write: Write) -> None:
    """Truncated emoji leave lone surrogates in logs; whole ones are kept."""
    line = json.dumps({**RECORD, "rationale": "\U0001f600 !"}).replace("!", "\\ud83d")
    assert read(write("t.jsonl", line + "\n"))["rationale"].tolist() == ["\U0001f600 \ufffd"]


def test_decimal_comma_as_told(write: Write) -> None:
    path = write("t.csv", 'judge,system,item,score\ng,s,1,"3,5"\ng,s,2,4\n')
    assert read(path, decimal=",")["score"].tolist() == [3.5, 4.0]


def test_no_such_file(write: Write, tmp_path: Path) -> None:
    write("verdicts.csv", HEADER + ROW)
    refused(
        SchemaError,
        (tmp_path / "verdict.csv", r"There is no file .*verdict\.csv.*Near by: verdicts\.csv"),
        (str(tmp_path / "*.jsonl"), r"No file matches .*\*\.jsonl.*verdicts\.csv"),
        ("SELECT * FROM calls", r"pass connection="),
        ([], "list of paths is empty"),
        (3, "Cannot read a int"),
        of=read,
    )


def test_folders(write: Write, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    write("mixed/a.csv", HEADER + ROW)
    write("mixed/b.json", json.dumps([RECORD]))
    write("calls/a.json", json.dumps(RECORD))
    write("calls/b.json", json.dumps([RECORD, RECORD]))
    write("cut/a.json", json.dumps(RECORD))
    write("cut/b.json", json.dumps(RECORD)[:-5])
    refused(
        SchemaError,
        (lambda: read(tmp_path / "void"), r"folder 'void' holds no .*It holds: nothing"),
        (lambda: read(tmp_path / "mixed"), r"mixes kinds of files \(csv: a\.csv; json: b\.json\)"),
        (lambda: read(tmp_path / "calls"), r"one judge call per file, but b\.json holds a table"),
        (lambda: read(tmp_path / "cut", strict=True), r"b\.json, line 1"),
    )
    write("packed/a.csv", HEADER + ROW)
    write("packed/b.jsonl.gz", [RECORD])
    write("packed/c.jsonl.gz", [{**RECORD, "item": "2"}])
    write("packed/d.csv.gz", HEADER + ROW)
    with pytest.raises(SchemaError) as caught:
        read(tmp_path / "packed")
    proposed = re.search(r"such as '(.+)'", str(caught.value))
    assert proposed is not None
    assert proposed.group(1).endswith("*.jsonl.gz")
    assert len(read(proposed.group(1))) == 2
    write("[deep]/one/a.json", json.dumps([RECORD]))
    write("[deep]/b.json", json.dumps(RECORD) + "\n" + json.dumps(RECORD))
    write("[deep]/one/c.csv", HEADER + ROW)
    with pytest.raises(SchemaError) as caught:
        read(tmp_path / "[deep]")
    proposed = re.search(r"such as '(.+)'", str(caught.value))
    assert proposed is not None
    assert len(read(proposed.group(1))) == 1


def test_formats_mixed_in_a_glob(write: Write, tmp_path: Path) -> None:
    write("a.jsonl", [RECORD])
    write("b.jsonl", [{"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}]}])
    with pytest.raises(SchemaError, match=r"mixes formats \(a\.jsonl: jsonl; b\.jsonl: arena_hard\)"):
        read(str(tmp_path / "*.jsonl"))


def test_arguments(write: Write, canonical_csv: Path) -> None:
    refused(
        SchemaError,
        (
            lambda: read(canonical_csv, format="judgbench"),
            r"format='judgbench' is not known\. Formats: fastchat_pair.*Did you mean 'judgebench'",
        ),
        (
            lambda: read(canonical_csv, encodng="x"),
            r"'encodng' is not an option for the csv format.*Did you mean 'encoding'",
        ),
        (
            lambda: read(canonical_csv, colums={"judge": "rater"}),
            r"'colums' is not an option for the csv format.*Did you mean 'columns'",
        ),
        (lambda: read(pd.DataFrame([RECORD]), judge="g"), "'judge' is a column, not an option: pass columns="),
        (lambda: read(canonical_csv, format="judgebench"), "the judgebench format is JSON or JSONL, not csv"),
        (
            lambda: read(canonical_csv, frame="verdicts"),
            DesignError,
            r"frame='verdicts' is not known\. Allowed: 'preferences', 'ratings'",
        ),
    )
    native = write("a.jsonl", [{"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}]}])
    refused(
        SchemaError,
        ({"frame": "ratings"}, "gives preferences, not ratings"),
        ({"labels": {"A": "first"}}, "labels= is for plain tables"),
        ({"format": "judgebench"}, r"the record lacks 'judgments'|lacks 'label'"),
        of=lambda arguments: read(native, **arguments),
    )


def test_a_column_of_ours_with_another_type(write: Write) -> None:
    text = HEADER.rstrip() + ",delta\n" + "g,1,x,y,first,large\n"
    path = write("t.csv", text)
    with pytest.raises(SchemaError, match=r"'delta' holds text where a number is expected.*delta=None"):
        read(path)
    assert read(path, columns={"delta": None})["delta_source"].tolist() == ["large"]


def test_unknown_columns_are_never_guessed(write: Write) -> None:
    path = write("t.csv", "judge,repetition,has_reference,model\ng,1,0,m\ng,2,1,m\n")
    with pytest.raises(UnmappedTable) as caught:
        read(path)
    assert not caught.value.proposal.complete
    assert not {"score", "choice"} & set(caught.value.proposal.mapping)
    assert "no mapping was given" in str(caught.value)
    assert detect_format(path).confidence == "needs a mapping"
    assert source_info(path)["rows"].tolist() == [2]


def test_a_fault_names_the_file_of_several(write: Write, tmp_path: Path) -> None:
    games = {"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}]}
    write("a.jsonl", [games])
    write("b.jsonl", [{**games, "question_id": 2}, {**games, "games": [{"score": "A=B"}]}])
    with pytest.raises(
        SchemaError, match=r"more than once: a\.jsonl, line 1 and b\.jsonl, line 2 differ .*Row 0 is from"
    ):
        read(str(tmp_path / "*.jsonl"))


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [[]], True])
@pytest.mark.parametrize(
    "name", ["judge", "games", "score", "label", "judgments", "results", "preference", "g1_winner"]
)
def test_odd_values_never_escape_as_a_traceback(write: Write, name: str, value: Any) -> None:
    """Any JSON in any field of any native format: read, or a SchemaError."""
    good: list[dict[str, Any]] = [
        {"question_id": 1, "model_1": "a", "model_2": "b", "g1_winner": "tie", "g2_winner": "tie", "judge": ["j", "p"]},
        {"question_id": 1, "model": "a", "judge": ["j", "p"], "score": 3},
        {"question_id": 1, "model": "a", "judge": "j", "games": [{"score": "A>B"}]},
        {"pair_id": 1, "label": "A>B", "judgments": [{"judgment": {"judge_model": "j"}, "decision": "A>B"}]},
        {
            "output_1": "a",
            "output_2": "b",
            "label": 1,
            "results": [{"swap = False": {"winner": "1"}, "swap = True": {}}],
        },
        {"generator_1": "a", "generator_2": "b", "preference": 1, "annotator": "x", "output_1": "a"},
    ]
    formats = ["fastchat_pair", "fastchat_single", "arena_hard", "judgebench", "llmbar", "alpaca_eval"]
    for form, record in zip(formats, good, strict=True):
        options = {"judge": "j", "strategy": "s"} if form == "llmbar" else {}
        if name in record:
            path = write("n.jsonl", [{**record, name: value}])
            try:
                assert len(read(path, format=form, **options)) in (1, 2)
            except SchemaError as problem:
                assert "n.jsonl" in str(problem)  # noqa: PT017


def test_the_words_in_place_of_numbers_come_along_as_faults(write: Write) -> None:
    path = write("t.csv", SCORES + "g,s,1,NA\ng,s,2,3\n")
    with pytest.raises(SchemaError) as caught:
        read(path)
    assert "=None" not in str(caught.value)
    assert caught.value.faults is not None
    assert caught.value.faults[["column", "rows", "example"]].to_numpy().tolist() == [["score", (0,), "NA"]]
    path.write_text(SCORES + "g,s,1,\ng,s,2,3\n")
    assert read(path)["score"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["3,5", "4", ""], [3.5, 4.0, None]),
        (["1.234,5", "12.345.678", "-1.234.567,25"], [1234.5, 12345678.0, -1234567.25]),
    ],
)
def test_decimal_comma(write: Write, cells: list[str], numbers: list[float | None]) -> None:
    rows = "".join(f'g,s,{i},"{cell}"\n' for i, cell in enumerate(cells))
    scores = read(write("t.csv", f"judge,system,item,score\n{rows}"), decimal=",")["score"]
    assert [None if pd.isna(x) else x for x in scores] == numbers


@pytest.mark.parametrize("cell", ["1.234", "3.5", "0.123", "1.23,4"])
def test_a_point_beside_a_decimal_comma_is_not_guessed(write: Write, cell: str) -> None:
    """1.234 is a thousand and more, or a little more than one: nobody but the user knows."""
    path = write("t.csv", f'judge,system,item,score\ng,s,1,"3,5"\ng,s,2,"{cell}"\n')
    with pytest.raises(
        SchemaError,
        match=r"has a point in 1 row \(first: row 1 of the data, from 0, .*thousands separator or a decimal point",
    ) as no:
        read(path, decimal=",")
    assert no.value.faults is not None
    assert no.value.faults[["column", "rows", "example"]].values.tolist() == [["score", (1,), cell]]


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
    assert detect_format(path).format == "jsonl"
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
    assert detect_format(path).frame == "ratings"
    assert read(path)["score"].isna().sum() == 1
    off = read(path, scale=(1, 5), off_scale="missing")
    assert off["status"].tolist()[1] == "off scale"
    with pytest.raises(SchemaError, match=r"r\.csv: .*off the scale 1 to 5"):
        read(path, scale=(1, 5))


def test_several_files(write: Write, tmp_path: Path) -> None:
    for run in ("one", "two"):
        write(f"runs/{run}/calls.csv", "judge,item,first,second,choice\ng,1,x,y,first\n")
    calls = read(str(tmp_path / "runs" / "*" / "calls.csv"))
    assert len(calls) == 1
    assert js.check(calls).set_index("what").loc["the same call with the same answer stands in one/calls.csv", "n"] == 1
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
    found = detect_format(folder)
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
    assert detect_format(tmp_path / "calls").format == "arena_hard"
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
        refused(
            SchemaError,
            ("SELECT * FROM nowhere", r"The query failed: .*no such table"),
            ("SELECT * FROM calls WHERE item = 'z'", "gives no rows"),
            of=lambda wrong: read(wrong, connection=connection),
        )
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
    refused(
        SchemaError,
        (
            lambda: read(write("bad.csv", header + "g,1,s,3\ng,2,s\n"), lazy=True),
            r"bad\.csv, line 3: 3 fields where the header has 4",
        ),
        (
            lambda: read(write("n.csv", header + 'g,1,s,"3,5"\n'), lazy=True),
            "column 'score' should hold numbers; 1 rows do not, such as \"3,5\"",
        ),
        (
            lambda: read(write("w.csv", "judge,item,system,score,replicate\ng,1,s,3,0.5\n"), lazy=True),
            "column 'replicate' should hold whole numbers",
        ),
        (lambda: read(write("e.csv", header), lazy=True), "but no rows"),
        (lambda: read(write("t.json", as_bytes("json")), lazy=True), "lazy=True scans"),
    )


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


CALLS = pd.DataFrame(
    {
        "judge": "g",
        "item": ["1", "1", "2", "2"],
        "first": [*"xyxy"],
        "second": [*"yxyx"],
        "choice": ["first", "tie"] * 2,
    }
)

ODD_SCORES = pd.DataFrame({"judge": [*"gghh"], "system": [*"stst"], "item": "1", "score": [1.0, 2, 3, 4]})

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
    table = CALLS if kind == "preferences" else ODD_SCORES
    for name in [*table.columns, "note", "replicate", "n", "gold", "strength", "order_known", "status", "temperature"]:
        odd = table.assign(**{name: pd.Series(ODD[case], dtype=object)})
        with contextlib.suppress(JudgestatsError):
            looked_at(js.read(odd, counts="n" if name == "n" else None))


@pytest.mark.parametrize("case", ["lists", "records"])
def test_nested_columns_that_are_conditions_are_kept_as_text(case: str) -> None:
    """Such a column says nothing about which call it is, and takes no row with it."""
    read = js.read(CALLS.assign(note=ODD[case]))
    looked_at(read)
    js.available_measures(read)
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
    levels = CALLS.set_axis(pd.MultiIndex.from_product([["a"], CALLS.columns]), axis=1)
    refused(
        SchemaError,
        (twice, "more than once: 'judge'"),
        (levels, "column names of several levels"),
        of=js.read,
    )
    for names in ([1, 2, 3, 4, 5], [None, "b", "c", "d", "e"], [("a", 1), "b", "c", "d", "e"]):
        for door in (js.read, js.preferences):
            with pytest.raises(SchemaError):
                door(CALLS.set_axis(names, axis=1))
    for door in (
        js.preferences,
        js.check,
        js.detect_format,
        js.suggest_mapping,
        source_info,
        js.available_measures,
        js.describe,
    ):
        refused(
            SchemaError,
            (twice, "more than once"),
            (levels, "several levels"),
            of=door,
        )


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
    refused(
        SchemaError,
        (
            lambda: js.read(write("t.jsonl", line + "\n" + line[:-1] + ', "judge": "h"}'), lazy=lazy),
            r"t\.jsonl, line 2: the field 'judge' occurs more than once",
        ),
        (
            lambda: js.read(write("t.jsonl", line[:-1] + ', "usage": {"cost": 1}, "usage.cost": 2}'), lazy=lazy),
            r"line 1: 'usage\.cost' occurs twice",
        ),
        (
            lambda: js.read(write("t.json", "[" + line[:-1] + ', "judge": "h"}]')),
            r"t\.json: the field 'judge' occurs more than once",
        ),
    )


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


def test_a_table_of_many_columns_is_not_fragmented(tmp_path):
    rows = {"judge": ["g"] * 3, "system": ["s"] * 3, "item": [1, 2, 3], "score": [1, 2, 3]}
    path = tmp_path / "x.csv"
    pd.DataFrame({**rows, **{f"m{i}": [0.5, 1, 2] for i in range(150)}}).to_csv(path, index=False)
    data = js.read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.PerformanceWarning)
        assert data.assign(more=1).shape == (3, len(data.columns) + 1)


RATED = {"judge": "g", "system": "s", "item": 1, "score": 3}


def test_an_optional_field_of_some_files_is_no_obstacle(write: Write, tmp_path: Path) -> None:
    """A field such as ``error`` is written by many tools where there was one; the answer and the call are in all."""
    write("in/a.jsonl", [RATED, {**RATED, "item": 2}])
    write("in/b.jsonl", [{**RATED, "item": 3, "error": "late", "usage": 5}])
    for lazy in (False, True):
        data = nw.from_native(read(tmp_path / "in", lazy=lazy)).lazy().collect("pandas").to_native().sort_values("item")
        assert data["score"].tolist() == [3, 3, 3]
        assert data["error"].isna().tolist() == [True, True, False]
    mapped = read(tmp_path / "in", columns={"failed": "error"})
    assert mapped.sort_values("item")["score"].isna().tolist() == [False, False, True]
    for absent in ("score", "judge", "item"):
        write("in/c.jsonl", [{n: v for n, v in {**RATED, "item": 4}.items() if n != absent}])
        with pytest.raises(SchemaError, match=f"do not have the same columns: .*c.jsonl lacks {absent} and"):
            read(tmp_path / "in")
    write("in/c.jsonl", [{"usage": 2, "points": 4}])
    with pytest.raises(SchemaError, match="do not have the same columns"):
        read(tmp_path / "in", columns={"score": "points"})


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_with_a_column_named_after_their_judge(tmp_path: Path, kind: str) -> None:
    for judge, scores in (("gpt", [1, 2]), ("claude", [3, None])):
        table = pd.DataFrame({"item": ["1", "2"], "system": "s", judge: scores})
        path = tmp_path / "in" / f"{judge}.{kind}"
        path.parent.mkdir(exist_ok=True)
        table.to_csv(path, index=False) if kind == "csv" else table.to_json(path, orient="records")
    if kind == "csv":
        with pytest.raises(SchemaError, match=r"do not have the same columns.*pass wide='judge=claude,gpt'") as caught:
            read(tmp_path / "in")
        assert caught.value.advice == (("wide", "judge=claude,gpt"),)
    data = read(tmp_path / "in", wide="judge=claude,gpt")
    assert data[["judge", "item"]].values.tolist() == [["claude", "1"], ["claude", "2"], ["gpt", "1"], ["gpt", "2"]]
    assert data["score"].fillna(0).tolist() == [3, 0, 1, 2]
    assert js.check(data).set_index("what").loc["rows in", "n"] == 4


@pytest.mark.parametrize("lazy", [False, True])
def test_a_constant_may_say_that_the_raters_are_people(write: Write, lazy: bool) -> None:
    pairs = write("pairs.csv", HEADER + ROW)
    scores = write("scores.csv", "judge,system,item,score\ng,s,1,3\n")
    for path in (pairs, scores):
        data = (
            nw.from_native(read(path, columns={"rater_type": "=human"}, lazy=lazy)).lazy().collect("pandas").to_native()
        )
        assert data["rater_type"].tolist() == ["human"]
