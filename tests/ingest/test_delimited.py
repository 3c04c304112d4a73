"""CSV and TSV: the header, and rows by Arrow as by the csv module."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest

import judgestats as js
from ingest.file_contents import contents_or_refusal
from judgestats.errors import SchemaError
from judgestats.ingest import delimited
from judgestats.ingest.delimited import header_names
from judgestats.ingest.hints import headerless
from judgestats.schema.account import account_of
from refusals import refused


class Counted(str):
    """A name that counts how often it is compared or hashed."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counted.looks += 1
        return str.__hash__(self)

    def strip(self, *_: object) -> str:  # type: ignore[override]
        return self


def test_a_header_is_checked_in_linear_time() -> None:
    n = 50_000
    Counted.looks = 0
    assert len(header_names([Counted(f"c{i}") for i in range(n)], Path("t.csv"))) == n
    assert Counted.looks < 10 * n
    with pytest.raises(SchemaError) as caught:
        header_names([f"c{i % 25_000}" for i in range(n)], Path("t.csv"))
    assert len(str(caught.value)) < 1000
    with pytest.raises(SchemaError) as caught:
        header_names(["c"] * n, Path("t.csv"))
    assert "'c' (columns 1, 2, 3, 4, 5, 6 and 49994 more)" in str(caught.value)


@pytest.mark.parametrize("block", [17, 60, 2**24])
def test_arrow_reads_a_csv_file_as_the_csv_module_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    rng = np.random.default_rng(block)
    cells = ["a", "é", "😀", "", '""', '"x"', '"q,\n"', '"2"" by 4"', "NA", " ", "1.50", '"\r\n"']
    odd = ['5"', '"', '"a"b', ' "a"', "a,b", "\r", "a\nb", "\0", "", "\n"]
    sound = by_arrow = 0
    arrow = delimited._plain_rows

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal by_arrow
        rows = arrow(*given, **named)
        by_arrow += rows is not None
        return rows

    monkeypatch.setattr(delimited, "BLOCK", block)
    for i in range(400):
        path = tmp_path / f"{i}.csv"
        of = [*cells, *odd] if i % 4 == 0 else cells
        rows = [",".join(rng.choice(of, 2)) + rng.choice(["\n", "\r\n", "\n\n"]) for _ in range(rng.integers(1, 9))]
        text = ("\n" * (i % 2) + "one,two\n" + "".join(rows)).rstrip("\n" if i % 3 else "")
        path.write_bytes(text.encode())
        with monkeypatch.context() as fast:
            fast.setattr(delimited, "_plain_rows", counted)
            outcome = contents_or_refusal(path)
        with monkeypatch.context() as strict:
            strict.setattr(delimited, "_plain_rows", lambda *_, **__: None)
            assert outcome == contents_or_refusal(path), text
        sound += not isinstance(outcome, str)
    assert sound > 200
    assert by_arrow > 100


HEADLESS = "g,q1,4\ng,q2,5\nh,q1,4\nh,q2,2\n"


def test_a_first_line_that_looks_like_a_row_is_pointed_out(write: Any) -> None:
    """It is read as a header, as before: wide tables may have raters 1, 2, 3."""
    path = write("t.csv", HEADLESS)
    data = js.read(path, columns={"judge": "g", "item": "q1", "score": "4"})
    (note,) = js.check(data).query("level == 'file'").itertuples()
    assert (len(data), note.where) == (3, "t.csv, line 1")
    assert note.what == "The first line may be a row, no header: its cells (g, q1, 4) are like those below"
    for whole in ("item,1,2,3\na,4,5,4\nb,3,4,5\n", "judge,item,score\ng,judge,1\n", "text,grade x\nabc,4\nabd,5\n"):
        assert headerless(pd.read_csv(io.StringIO(whole), dtype=str)) == ""
    for rows in ("3,4\n4,5\n", "g,A\nh,A\ng,B\n", "q9,2.5\nq9,3\n"):
        assert headerless(pd.read_csv(io.StringIO(rows), dtype=str)) != ""


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("names", [["judge", "item", "score"], "judge,item,score"])
def test_a_table_without_a_header_is_read_with_names(write: Any, names: Any, lazy: bool) -> None:
    data = nw.from_native(js.read(write("t.csv", HEADLESS), names=names, lazy=lazy)).lazy().collect(backend="pandas")
    assert sorted(data["score"].to_list()) == [2.0, 4.0, 4.0, 5.0]


def test_a_table_without_a_header_or_names_has_numbered_fields(write: Any) -> None:
    mapping = {"judge": "field_1", "item": "field_2", "score": "field_3"}
    data = js.read(write("t.tsv", HEADLESS.replace(",", "\t")), header=False, columns=mapping)
    assert data["item"].tolist() == ["q1", "q2", "q1", "q2"]
    numbered = "0,g,4\n1,g,5\n"  # the first column is an item, no number of the rows
    data = js.read(
        write("n.csv", numbered), header=False, columns={"item": "field_1", "judge": "field_2", "score": "field_3"}
    )
    assert data["item"].tolist() == ["0", "1"]
    with pytest.raises(SchemaError, match=r"names= has 2 names \(a, b\), and the first row of t\.csv has 3 fields"):
        js.read(write("t.csv", HEADLESS), names=["a", "b"])


@pytest.mark.parametrize("sign", [";", ",", "\t"])
def test_the_line_by_which_excel_is_told_the_separator(write: Any, sign: str) -> None:
    table = f"sep={sign}\njudge{sign}item{sign}score\ng{sign}1{sign}4\ng{sign}2{sign}5\n"
    data = js.read(write("t.csv", table))
    assert data["score"].tolist() == [4.0, 5.0]
    assert account_of(data).places[0] == "t.csv, line 3"
    headless = table.replace(f"judge{sign}item{sign}score\n", "")
    assert js.read(write("n.csv", headless), names="judge,item,score")["score"].tolist() == [4.0, 5.0]


def test_commas_may_separate_thousands(write: Any) -> None:
    rows = 'judge,item,score\na,1,"{}"\na,2,900\n'
    path = write("t.csv", rows.format("1,234"))
    assert js.read(path, decimal=".")["score"].tolist() == [1234.0, 900.0]
    assert js.read(path, decimal=",")["score"].tolist() == [1.234, 900.0]
    assert js.read(write("m.csv", rows.format("1,234,567.5")), decimal=".")["score"].tolist() == [1234567.5, 900.0]
    refused(
        SchemaError,
        (lambda: js.read(path), r"decimal=',' if 1,234 is a number with a decimal comma, decimal='\.' if its comma"),
        (
            lambda: js.read(write("d.csv", rows.format("1,23")), decimal="."),
            r"has a comma in 1 rows .*'1,23'\)\. Pass decimal=','",
        ),
    )


@pytest.mark.parametrize("text", ['[{"judge": "g", "item": 1, "score": 2},]', '{"judge": "g", "item": 1, "score": 2,}'])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_comma_that_nothing_follows_is_no_file_cut_off(write: Any, name: str, text: str) -> None:
    with pytest.raises(SchemaError, match="Delete the comma") as problem:
        js.read(write(name, text if name == "a.json" else '{"judge": "g", "item": 1, "score": 2},'))
    assert "cut off" not in str(problem.value)
    with pytest.raises(SchemaError, match="cut off"):
        js.read(write("cut.json", text[:-2]))
