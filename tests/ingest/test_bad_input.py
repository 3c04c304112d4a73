"""Bad input: one clear SchemaError that names file, place and cure; never a traceback, never fewer rows."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import UnmappedTable, read, sniff, source_info

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
        ("t.eval", b"PK\x03\x04rest", r"t\.eval is a zip archive"),
        ("t.txt", "q1 0 p1 3\n", r"t\.txt is not CSV, TSV, JSON, JSONL or Parquet"),
        ("t.csv", SCORES + "g,s,1,\"3,5\"\n", r"t\.csv: column 'score' .*decimal comma in 1 rows.*decimal=','"),
        ("t.csv", SCORES + "g,s,1,good\n", r"t\.csv: column 'score' .*'good' in 1 row \(row 0\)\. Leave .*score=\.\.\."),
        ("t.csv", SCORES + "g,s,1,NA\ng,s,2,3\ng,s,3,NaN\n",
         r"t\.csv: column 'score' .*'NA' in 1 row, 'NaN' in 1 row \(rows 0, 2\)\. Leave the cell empty"),
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
    with pytest.raises(SchemaError, match=r"t\.jsonl, line 2: not valid JSON .*It is the last line: .*cut off"):
        read(write("t.jsonl", text))
    with pytest.raises(SchemaError, match=r"line 2: not valid JSON .*Correct or delete the line"):
        read(write("t.jsonl", text + "\n" + json.dumps(RECORD)))


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
def test_the_cure_for_the_encoding_cures(write: Write, encoding: str) -> None:
    calls = read(write("t.csv", (HEADER + "g,1,caf\xe9,y,first\n").encode(encoding)), encoding=encoding)
    assert calls["first"].tolist() == ["caf\xe9"]


def test_wrong_encoding_in_jsonl_and_an_unknown_one(write: Write) -> None:
    raw = json.dumps(RECORD).encode() + b'\n{"judge": "\xff"}\n'
    with pytest.raises(SchemaError, match=r"t\.jsonl is not utf-8: line 2, byte 12"):
        read(write("t.jsonl", raw))
    with pytest.raises(SchemaError, match="encoding='klingon' is not an encoding"):
        read(write("t.csv", HEADER + ROW), encoding="klingon")


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
    with pytest.raises(SchemaError, match=r"There is no file .*verdict\.csv.*Near by: verdicts\.csv"):
        read(tmp_path / "verdict.csv")
    with pytest.raises(SchemaError, match=r"No file matches .*\*\.jsonl.*verdicts\.csv"):
        read(str(tmp_path / "*.jsonl"))
    with pytest.raises(SchemaError, match=r"pass connection="):
        read("SELECT * FROM calls")
    with pytest.raises(SchemaError, match="list of paths is empty"):
        read([])
    with pytest.raises(SchemaError, match="Cannot read a int"):
        read(3)


def test_folders(write: Write, tmp_path: Path) -> None:
    (tmp_path / "void").mkdir()
    with pytest.raises(SchemaError, match=r"folder 'void' holds no .*It holds: nothing"):
        read(tmp_path / "void")
    write("mixed/a.csv", HEADER + ROW)
    write("mixed/b.json", json.dumps([RECORD]))
    with pytest.raises(SchemaError, match=r"mixes kinds of files \(csv: a\.csv; json: b\.json\)"):
        read(tmp_path / "mixed")
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
    write("calls/a.json", json.dumps(RECORD))
    write("calls/b.json", json.dumps([RECORD, RECORD]))
    with pytest.raises(SchemaError, match=r"one judge call per file, but b\.json holds a table"):
        read(tmp_path / "calls")
    write("calls/b.json", json.dumps(RECORD)[:-5])
    with pytest.raises(SchemaError, match=r"b\.json, line 1"):
        read(tmp_path / "calls")


def test_formats_mixed_in_a_glob(write: Write, tmp_path: Path) -> None:
    write("a.jsonl", [RECORD])
    write("b.jsonl", [{"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}]}])
    with pytest.raises(SchemaError, match=r"mixes formats \(a\.jsonl: jsonl; b\.jsonl: arena_hard\)"):
        read(str(tmp_path / "*.jsonl"))


def test_arguments(write: Write, canonical_csv: Path) -> None:
    with pytest.raises(
        SchemaError, match=r"format='judgbench' is not known\. Formats: fastchat_pair.*Did you mean 'judgebench'"
    ):
        read(canonical_csv, format="judgbench")
    with pytest.raises(SchemaError, match="frame='verdicts' is not known"):
        read(canonical_csv, frame="verdicts")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"'encodng' is not an option for the csv format.*Did you mean 'encoding'"):
        read(canonical_csv, encodng="x")
    with pytest.raises(SchemaError, match="'judge' is not an option for a frame"):
        read(pd.DataFrame([RECORD]), judge="g")
    with pytest.raises(SchemaError, match="the judgebench format is JSON or JSONL, not csv"):
        read(canonical_csv, format="judgebench")
    native = write("a.jsonl", [{"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}]}])
    with pytest.raises(SchemaError, match="gives preferences, not ratings"):
        read(native, frame="ratings")
    with pytest.raises(SchemaError, match="labels= is for plain tables"):
        read(native, labels={"A": "first"})
    with pytest.raises(SchemaError, match=r"the record lacks 'judgments'|lacks 'label'"):
        read(native, format="judgebench")


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
    assert sniff(path).confidence == "needs a mapping"
    assert source_info(path)["rows"].tolist() == [2]


def test_a_fault_names_the_file_of_several(write: Write, tmp_path: Path) -> None:
    games = {"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}]}
    write("a.jsonl", [games])
    write("b.jsonl", [{**games, "question_id": 2}, games])
    with pytest.raises(SchemaError, match=r"more than once in 2 rows .*Row 0 is row 0 of a\.jsonl"):
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


def test_a_zip_of_inspect_is_named(write: Write) -> None:
    with pytest.raises(SchemaError, match="looks like an inspect_ai log; it is not read yet: see judgestats formats"):
        read(write("t.eval", b"PK\x03\x04rest"))


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
        SchemaError, match=r"has a point in 1 row \(first: row 1, .*thousands separator or a decimal point"
    ) as no:
        read(path, decimal=",")
    assert no.value.faults is not None
    assert no.value.faults[["column", "rows", "example"]].values.tolist() == [["score", (1,), cell]]
