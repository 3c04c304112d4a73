"""What may be a source: files and folders, no pipes or devices; archives of bounded size; headers of any width."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import files, read, source_info
from judgestats.ingest.files import File, column_names, flatten

Write = Callable[..., Path]

CALLS = "judge,item,first,second,choice\ng,1,x,y,first\n"


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for door in (js.read, js.detect_format, js.suggest_mapping, source_info):
        with pytest.raises(SchemaError, match=r"pipe\.csv' is not a file but a pipe"):
            door(tmp_path / "pipe.csv")
        with pytest.raises(SchemaError, match="is not a file but a device"):
            door("/dev/zero")
        with pytest.raises(SchemaError, match="The source is an empty text"):
            door("")
    with pytest.raises(SchemaError, match="is not a file but a pipe"):
        js.read([str(tmp_path / "pipe.csv")])


def test_an_empty_source_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text(CALLS)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["check", ""])
    assert result.exit_code == 2
    assert "The source is an empty text" in result.output


def test_what_a_folder_holds_besides_files_is_listed_as_unread(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "t.csv").write_text(CALLS)
    (inside / "more").symlink_to(outside)
    (inside / "gone.csv").symlink_to(tmp_path / "nowhere")
    (inside / "linked.csv").symlink_to(outside / "t.csv")
    os.mkfifo(inside / "pipe.csv")
    told = js.detect_format(inside).unread
    assert told.startswith("2 of 5 files read; not read: ")
    assert "more (a link to a folder)" in told
    assert "gone.csv (a broken link)" in told
    assert "pipe.csv (not a file)" in told
    (inside / "linked.csv").unlink()
    assert "pipe.csv (not a file)" in js.detect_format(str(inside / "*.csv")).unread


@pytest.fixture
def bomb(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """A file of 110 MB whose archive is a thousandth of it."""

    def make(name: str, head: bytes) -> Path:
        with gzip.open(tmp_path / name, "wb", compresslevel=1) as out:
            out.write(head)
            for _ in range(110):
                out.write(b" " * 1_000_000)
        return tmp_path / name

    return make


@pytest.mark.parametrize(("name", "head"), [
    ("t.csv.gz", CALLS.encode() + b'g,2,x,"'),
    ("t.jsonl.gz", json.dumps({"judge": "g"}).encode() + b"\n"),
    ("t.json.gz", b"[ "),
    ("t.parquet.gz", b"PAR1"),
])  # fmt: skip
def test_an_archive_that_unpacks_to_too_much(bomb: Callable[[str, bytes], Path], name: str, head: bytes) -> None:
    path = bomb(name, head)
    for lazy in (False, True):
        if name != "t.json.gz" or not lazy:
            with pytest.raises(
                SchemaError, match=rf"{name} unpacks to more than 100,000,000 bytes, from .*max_unpacked="
            ):
                js.read(path, lazy=lazy)
    with pytest.raises(SchemaError, match="unpacks to more than 5,000,000 bytes"):
        js.read(path, max_unpacked=5_000_000)
    if name == "t.csv.gz":
        result = CliRunner().invoke(app, ["check", str(path), "--max-unpacked", "7000000"])
        assert result.exit_code == 2
        assert "unpacks to more than 7,000,000 bytes" in result.output
        assert "--max-unpacked BYTES" in result.output


def test_what_is_meant_to_be_large_is_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_SMALL", 1000)
    lines = "".join(f"g,{'1' * 400}{i},x,y,first\n" for i in range(2, 2000))
    path = write("t.csv.gz", CALLS + lines)
    with pytest.raises(SchemaError, match="unpacks to more than"):
        js.read(path, max_unpacked=10_000)
    monkeypatch.setattr(files, "_RATIO", 2)
    with pytest.raises(SchemaError, match="unpacks to more than"):
        js.read(path)
    assert len(js.read(path, max_unpacked=10**7)) == 1999
    for wrong in (0, -1, True, 1.5, "9"):
        with pytest.raises(SchemaError, match="should be a number of bytes"):
            js.read(path, max_unpacked=wrong)  # type: ignore[arg-type]


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
    assert len(column_names([Counted(f"c{i}") for i in range(n)], Path("t.csv"))) == n
    assert Counted.looks < 10 * n
    with pytest.raises(SchemaError) as caught:
        column_names([f"c{i % 25_000}" for i in range(n)], Path("t.csv"))
    assert len(str(caught.value)) < 1000
    with pytest.raises(SchemaError) as caught:
        column_names(["c"] * n, Path("t.csv"))
    assert "'c' (columns 1, 2, 3, 4, 5, 6 and 49994 more)" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "judge;item;score\ng;1;3\ng;2;4\n",
        "judge|item|score\ng|1|3\ng|2|4\n",
        "judge\titem\tscore\ng\t1\t3\ng\t2\t4\n",
        'judge;item;score;a note, perhaps\ng;1;3;"x;y"\ng;2;4;\n',
    ],
)
def test_the_separator_is_told_by_the_first_rows(text, tmp_path):
    for name in ("t.csv", "t.txt"):
        (tmp_path / name).write_text(text)
        assert read(tmp_path / name)[["judge", "item", "score"]].values.tolist() == [["g", "1", 3.0], ["g", "2", 4.0]]


def test_a_separator_that_is_named_goes_before_the_first_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("judge~item~score\ng~1~3\n")
    assert read(path, sep="~")["score"].tolist() == [3.0]
    with pytest.raises(SchemaError, match=r"sep='~~' should be one character, such as ';'"):
        read(path, sep="~~")
    path.write_text("judge,item,score\ng,1,3\ng,1;2,4,5\n")  # a row too wide is no other separator
    with pytest.raises(SchemaError, match="4 fields where the header has 3"):
        read(path)


def test_a_decimal_comma_in_a_file_with_semicolons_is_pointed_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("judge;item;score\ng;1;3,5\ng;2;4,5\n")
    with pytest.raises(SchemaError, match="Pass decimal=',' if 3,5 means"):
        read(path)
    assert read(path, decimal=",")["score"].tolist() == [3.5, 4.5]


def _outcome(path: Path) -> Any:
    """The cells and the lines of a file, or why it is refused."""
    lines = array("q")
    try:
        table = File.opened(path).table(lines)
    except SchemaError as problem:
        return str(problem)
    return table.columns.tolist(), table.astype(object).where(table.notna(), None).to_numpy().tolist(), list(lines)


@pytest.mark.parametrize("block", [17, 60, 2**24])
def test_arrow_reads_a_csv_file_as_the_csv_module_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    rng = np.random.default_rng(block)
    cells = ["a", "é", "😀", "", '""', '"x"', '"q,\n"', '"2"" by 4"', "NA", " ", "1.50", '"\r\n"']
    odd = ['5"', '"', '"a"b', ' "a"', "a,b", "\r", "a\nb", "\0", "", "\n"]
    sound = by_arrow = 0
    arrow = files._plain_rows

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal by_arrow
        rows = arrow(*given, **named)
        by_arrow += rows is not None
        return rows

    monkeypatch.setattr(files, "_BLOCK", block)
    for i in range(400):
        path = tmp_path / f"{i}.csv"
        of = [*cells, *odd] if i % 4 == 0 else cells
        rows = [",".join(rng.choice(of, 2)) + rng.choice(["\n", "\r\n", "\n\n"]) for _ in range(rng.integers(1, 9))]
        text = ("\n" * (i % 2) + "one,two\n" + "".join(rows)).rstrip("\n" if i % 3 else "")
        path.write_bytes(text.encode())
        with monkeypatch.context() as fast:
            fast.setattr(files, "_plain_rows", counted)
            outcome = _outcome(path)
        with monkeypatch.context() as strict:
            strict.setattr(files, "_plain_rows", lambda *_, **__: None)
            assert outcome == _outcome(path), text
        sound += not isinstance(outcome, str)
    assert sound > 200
    assert by_arrow > 100


@pytest.mark.parametrize("block", [5, 60, 2**24])
def test_arrow_reads_json_lines_as_the_json_module_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    rng = np.random.default_rng(block)
    numbers = ["1", "1.5", "-0", "-0.0", "1e2", "123456789012345678", "9" * 30, "9" * 400, "1e400", "1e15", "01"]
    words = ["NaN", "Infinity", "Inf", "null", "true", "truex", "'x'", '""', '"x"', '"2020-01-01"', '"é"', '"\u2028"']
    texts = [r'"\ud83d"', r'"\ud83d\ude00"', '"\\u0000"', '"\x01"', "[]", "{}", '{"c": 1}', "[1, 2]"]
    odd = [*numbers, *words, *texts, "1}{", '1, "a": 2', '1, "b": 3', "1\n"]
    ends = ["\n", "\n", "\n", "\r\n", "\n\n", " \n", "", "\r"]
    sound = 0
    monkeypatch.setattr(files, "_FIRST_LINES", 2)
    monkeypatch.setattr(files, "_BLOCK", block)
    for i in range(600):
        path = tmp_path / f"{i}.jsonl"
        common = rng.choice([*numbers, *words], 2) if i % 2 else ["1", '"y"']
        lines = []
        for _ in range(rng.integers(3, 9)):
            value = rng.choice(odd) if rng.random() < 0.15 else rng.choice(common)
            name = rng.choice(["a", "a", "a", "\\u0061", "d"])
            lines.append(
                f'{{"{name}": {value}, "b": {rng.choice(common)}}}' + rng.choice(ends, p=[0.3] * 3 + [0.02] * 5)
            )
        path.write_bytes("".join(lines).encode())
        by_arrow = _outcome(path)
        with monkeypatch.context() as strict:
            strict.setattr(files.JsonLines, "_cells", lambda *_: None)
            assert by_arrow == _outcome(path), lines
        sound += not isinstance(by_arrow, str)
    assert sound > 100


def test_deep_records_end_no_process(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    flat = '{"a": "x"}\n'
    path.write_text(flat * 300 + '{"a": ' * 100_000 + "1" + "}" * 100_000 + "\n" + flat)
    with pytest.raises(SchemaError, match="line 301"):
        File.opened(path).table()


def test_texts_that_parquet_stores_once_are_codes_until_the_frame_is_made(tmp_path: Path) -> None:
    table = pd.DataFrame({"judge": ["g", "", None, "h"] * 50, "item": [f"{i}" for i in range(200)], "n": range(200)})
    path = tmp_path / "t.parquet"
    table.to_parquet(path, row_group_size=30)
    coded, _ = File.opened(path).coded_table
    assert coded["judge"].dtype == "category"
    plain = File.opened(path).table()
    assert plain["judge"].dtype == "str"
    assert plain["judge"].isna().to_numpy().tolist() == [False, True, True, False] * 50
    assert plain["item"].tolist() == table["item"].tolist()


_COUNT = """
import sys
opened = []
sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" and given[0] == sys.argv[-1] else None)
from typer.testing import CliRunner
from judgestats.cli import app
result = CliRunner().invoke(app, ["check", sys.argv[-1]])
assert result.exit_code == 0, result.output
print(len(opened))
"""


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_check_opens_a_file_twice_to_see_what_it_is_and_to_read_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    calls = pd.read_csv(Path(__file__).parents[2] / "docs" / "verdicts.csv", dtype=str)
    if kind == "csv":
        calls.to_csv(path, index=False)
    elif kind == "jsonl":
        calls.to_json(path, orient="records", lines=True)
    else:
        calls.to_parquet(path)
    done = subprocess.run([sys.executable, "-c", _COUNT, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2", done.stderr


def test_a_detected_format_is_read_without_being_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("judge;item;first;second;choice;note\ng;1;x;y;first;1,5\n", encoding="utf-8")
    plain = js.read(path)
    detected = js.detect_format(path)
    with monkeypatch.context() as once:
        once.setattr(files, "delimited_batches", lambda *_, **__: pytest.fail("parsed again"))
        pd.testing.assert_frame_equal(js.read(detected), plain)
    with pytest.raises(SchemaError, match="2 fields where the header has 1"):
        js.read(detected, sep=",")
    assert repr(detected) == repr(js.detect_format(path))
    assert detected == js.detect_format(path)
    pd.testing.assert_frame_equal(js.read(js.detect_format(plain)), plain)


def test_nested_objects_are_opened() -> None:
    assert flatten({"judge": "g", "verdict": {"choice": "A"}}) == {"judge": "g", "verdict.choice": "A"}
