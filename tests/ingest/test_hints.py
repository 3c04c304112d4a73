"""What is said of wide tables, nested records, errors, and the logs of tools that are not read yet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from judgestats.ingest import UnmappedTable, detect_format, read, source_info, suggest_mapping

Write = Callable[..., Path]
ROW = "judge,item,first,second,choice\ng,1,x,y,first\n"


def melted(note: str) -> tuple[list[str], str]:
    found = re.search(r"id_vars=(\[.*?\]), var_name='judge', value_name='(\w+)'", note)
    assert found is not None
    return [name.strip("'") for name in found.group(1).strip("[]").split(", ")], found.group(2)


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


REAL_LOGS = {
    "inspect_ai/popularity_match.json": "inspect_ai",
    "inspect_ai/no-samples.json": "inspect_ai",
}


@pytest.mark.real
@pytest.mark.parametrize("name", REAL_LOGS)
def test_real_logs_of_other_tools_are_named(real_data: Path, name: str) -> None:
    proposal = detect_format(real_data / name).proposal
    assert proposal is not None
    assert proposal.looks_like == REAL_LOGS[name]
    assert re.search(
        rf"looks like an? {REAL_LOGS[name]} log; it is not read yet: see judgestats formats", str(proposal)
    )
    assert "Nothing in it" not in str(proposal)
    with pytest.raises(UnmappedTable, match="it is not read yet"):
        read(real_data / name)


def test_a_log_of_another_tool(write: Write) -> None:
    path = write(
        "log.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}, "plan": {"name": "p"}})
    )
    assert "This looks like an inspect_ai log; it is not read yet" in str(suggest_mapping(path))
    assert suggest_mapping(write("t.csv", ROW)).looks_like == ""


def test_nested_records_and_errors_are_told(write: Write) -> None:
    rows = [{"model": "m", "evals": [{"score": 3}], "error": e} for e in (None, "timeout", "", False)]
    notes = suggest_mapping(write("t.jsonl", rows)).notes
    assert any("pandas.json_normalize(records, record_path='evals'" in n for n in notes)
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
def test_real_inspect_folder_names_its_unread_logs(real_data: Path) -> None:
    found = detect_format(real_data / "inspect_ai")
    assert "3 of 7 files read; not read: " in found.why
    assert "popularity_2_epochs.eval (unknown format)" in found.why
