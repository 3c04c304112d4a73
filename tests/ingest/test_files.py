"""What may be a source: files and folders, no pipes or devices; archives of bounded size; headers of any width."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import files, source_info
from refusals import refused

CALLS = "judge,item,first,second,choice\ng,1,x,y,first\n"


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for door in (js.read, js.detect_format, js.suggest_mapping, source_info):
        refused(
            SchemaError,
            (tmp_path / "pipe.csv", r"pipe\.csv' is not a file but a pipe"),
            ("/dev/zero", "is not a file but a device"),
            ("", "The source is an empty text"),
            of=door,
        )
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


_COUNT = """
import sys
opened = []
sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" and given[0] in sys.argv else None)
from typer.testing import CliRunner
from judgestats.cli import app
for path in sys.argv[1:]:
    result = CliRunner().invoke(app, ["check", path])
    assert result.exit_code == 0, result.output
print(*map(opened.count, sys.argv[1:]))
"""


def test_check_opens_a_file_twice_to_see_what_it_is_and_to_read_it(tmp_path: Path) -> None:
    paths = [tmp_path / f"t.{kind}" for kind in ("csv", "jsonl", "parquet")]
    calls = pd.read_csv(Path(__file__).parents[2] / "docs" / "verdicts.csv", dtype=str)
    calls.to_csv(paths[0], index=False)
    calls.to_json(paths[1], orient="records", lines=True)
    calls.to_parquet(paths[2])
    done = subprocess.run([sys.executable, "-c", _COUNT, *paths], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2 2 2", done.stderr


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
