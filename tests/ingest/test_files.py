"""What may be a source: files and folders, no pipes or devices; archives of bounded size; headers of any width."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import files, read, source_info
from judgestats.ingest.files import column_names

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
