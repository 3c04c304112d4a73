"""What is said of wide tables, nested records and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from judgestats.ingest import detect_format, read, source_info, suggest_mapping
from judgestats.schema import check

Write = Callable[..., Path]
ROW = "judge,item,first,second,choice\ng,1,x,y,first\n"


def melted(note: str) -> tuple[list[str], str]:
    found = re.search(r"the answers become '(\w+)', and (.*) stay\.", note)
    assert found is not None
    return [name.strip("'") for name in found.group(2).split(", ")], found.group(1)


def test_a_judge_that_uses_only_some_grades_is_melted_too() -> None:
    table = pd.DataFrame(
        {"qid": [*"abcd"], "gold": [0, 1, 2, 3], "repetition": [0, 1, 0, 1], "reviewer_id": [1, 1, 2, 2],
         "j1": [0, 1, 2, 3], "j2": [3, 2, 1, 0], "rubric0": [0, 1, 3, 3], "chars": [7, 8, 9, 9]}
    )  # fmt: skip
    (note,) = [n for n in suggest_mapping(table).notes if "wide" in n]
    assert melted(note) == (["qid", "gold", "repetition", "reviewer_id", "chars"], "score")


def test_whole_numbers_over_a_pair_are_verdicts() -> None:
    table = pd.DataFrame({"idx": [*"abc"], "model_1": "x", "model_2": "y", "j1": [1, 2, 0], "j2": [1, 2, 2]})
    (note,) = [n for n in suggest_mapping(table).notes if "wide" in n]
    assert melted(note) == (["idx", "model_1", "model_2"], "verdict")


@pytest.mark.real
def test_real_trec_melts_every_run(real_data: Path) -> None:
    (note,) = [n for n in suggest_mapping(real_data / "llmjudge_trec_dl23" / "labels_wide.csv.gz").notes if "wide" in n]
    assert melted(note) == (["qid", "docid", "gold"], "score")


def test_nested_records_and_errors_are_told(write: Write) -> None:
    rows = [{"model": "m", "evals": [{"score": 3}], "error": e} for e in (None, "timeout", "", False)]
    notes = suggest_mapping(write("t.jsonl", rows)).notes
    assert any("explode='evals' gives each a row of its own" in n for n in notes)
    assert any("'error' is filled in 1 row: such calls failed" in n for n in notes)
    assert not suggest_mapping(write("u.csv", ROW.replace("judge", "evaluator"))).notes


def test_a_folder_says_what_was_not_read(write: Write, tmp_path: Path) -> None:
    write("mixdir/a.csv", ROW)
    assert source_info(tmp_path / "mixdir")["note"].tolist() == [""]
    assert detect_format(tmp_path / "mixdir").unread == ""
    for name in ("b.csv.bak", "sub/c.txt", ".git/x.csv"):
        write(f"mixdir/{name}", ROW)
    told = "1 of 4 files read; not read: .git/x.csv (hidden), b.csv.bak (unknown format), sub/c.txt (unknown format)"
    for source in (tmp_path / "mixdir", [tmp_path / "mixdir"]):
        found = detect_format(source)
        assert found.unread == told
        assert found.why.endswith(told)
        info = source_info(source)
        assert len(info) == 4
        assert info.set_index(info["name"].str.split("/").str[-1])["note"].to_dict() == {
            "a.csv": "", "x.csv": "not read: hidden", "b.csv.bak": "not read: unknown format",
            "c.txt": "not read: unknown format",
        }  # fmt: skip
        assert len(read(source)) == 1
    for n in range(20):
        write(f"mixdir/{n}.log", "x")
    assert detect_format(tmp_path / "mixdir").unread.endswith(" and 15 more")


@pytest.mark.real
def test_real_folder_of_two_kinds_of_logs_is_read(real_data: Path) -> None:
    """Six logs, zipped and in JSON; a seventh was cancelled before it had a sample."""
    found = check(read(real_data / "inspect_ai"))
    assert found.loc[found["what"] == "rows used", "n"].item() == 21
    assert found.loc[found["level"] == "file", "what"].str.contains("without samples").tolist() == [True]
