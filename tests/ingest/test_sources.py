"""From a source to its files: folders that mix kinds, and the format that is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import read, source_info

Write = Callable[..., Path]
CALLS = "judge,item,first,second,choice\ng,1,x,y,first\n"
GAME = {"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}, {"score": "B>A"}]}


@pytest.fixture
def mixed(write: Write, tmp_path: Path) -> Path:
    """A folder with two tables, a log of a tool, a list of records and a page."""
    write("in/a.csv", CALLS)
    write("in/b.csv", CALLS.replace("g,1", "g,2"))
    write("in/log.jsonl", [GAME])
    write("in/other.jsonl", [{"judge": "g", "item": 3, "first": "x", "second": "y", "choice": "tie"}])
    write("in/README.md", "words")
    return tmp_path / "in"


@pytest.mark.parametrize(
    ("name", "rows", "left"),
    [
        ("csv", 2, "2 of 5 files read; not read: README.md (unknown format), log.jsonl (jsonl), other.jsonl (jsonl)"),
        (
            "arena_hard",
            2,
            "1 of 5 files read; not read: README.md (unknown format), a.csv (csv), b.csv (csv), other.jsonl (jsonl)",
        ),
    ],
)
def test_the_format_asked_for_is_taken(mixed: Path, name: str, rows: int, left: str) -> None:
    assert len(read(mixed, format=name)) == rows
    seen = CliRunner().invoke(app, ["check", str(mixed), "--format", name])
    assert seen.exit_code == 0, seen.output
    assert left in seen.output
    told = source_info(mixed, format=name)
    assert told["note"].str.startswith("not read").sum() == 5 - len(told.query("note == ''"))
    assert told.query("note == ''")["rows"].sum() == (2 if name == "csv" else 1)


def test_without_a_format_nothing_is_chosen(mixed: Path, write: Write) -> None:
    with pytest.raises(SchemaError, match=r"mixes kinds of files \(csv: a\.csv; jsonl: log\.jsonl\)\. Pass format="):
        read(mixed)
    with pytest.raises(
        SchemaError, match=r"mixes formats \(log\.jsonl: arena_hard; other\.jsonl: jsonl\)\. Pass format="
    ):
        read(str(mixed / "*.jsonl"))
    assert len(read(str(mixed / "*.jsonl"), format="arena_hard")) == 2
    result = CliRunner().invoke(app, ["check", str(mixed)])
    assert "--format NAME" in result.output


def test_a_format_that_no_file_has_is_an_error(mixed: Path) -> None:
    with pytest.raises(SchemaError):
        read(mixed, format="llmbar", judge="g", strategy="s")


def test_one_object_per_file_beside_tables(mixed: Path, write: Write) -> None:
    for n in range(2):
        write(f"in/calls/{n}.json", json.dumps({"judge": "g", "item": n, "first": "x", "second": "y", "choice": "tie"}))
    assert len(read(mixed, format="calls")) == 2
