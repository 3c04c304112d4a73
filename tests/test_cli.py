"""The command line: what a newcomer types, and what comes back when a file is broken."""

import json
import re
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from judgestats.cli import app

run = CliRunner()


@pytest.fixture
def canonical(tmp_path):
    calls = pd.DataFrame(
        {
            "judge": "g",
            "item": [*"112233"],
            "first": [*"xyxyxy"],
            "second": [*"yxyxyx"],
            "choice": ["first", "second", "tie", "tie", "first", "invalid"],
        }
    )
    path = tmp_path / "calls.csv"
    calls.to_csv(path, index=False)
    return path


@pytest.fixture
def unknown(tmp_path):
    table = pd.DataFrame(
        {
            "evaluator": "g",
            "question_id": [1, 1, 2, 2],
            "model_a": [*"xyxy"],
            "model_b": [*"yxyx"],
            "verdict": [*"ABCA"],
            "repetition": 0,
            "has_reference": [0, 1, 0, 1],
        }
    )
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    return path


def plain(result):
    return re.sub(r"\s+", " ", result.output)


def test_check_says_design_account_and_measures(canonical):
    result = run.invoke(app, ["check", str(canonical)])
    assert result.exit_code == 0
    text = plain(result)
    assert "6 rows in = 5 used + 1 set aside" in text
    assert "both orders every pair" in text
    assert "choice is invalid (status parse)" in text
    supported, missing = text.split("Not supported, and what is missing")
    assert "consistency" in supported
    assert "gold_agreement needs gold" in missing


def test_check_of_an_unknown_shape_proposes_and_computes_nothing(unknown):
    result = run.invoke(app, ["check", str(unknown)])
    assert result.exit_code == 2
    text = plain(result)
    assert "Nothing has been computed" in text
    assert "judge=evaluator" in text
    assert "A=first" in text
    assert "rows in" not in text
    assert "score" not in text.split("Its first rows")[0].replace("score_", "")
    assert text.count(" g 1 ") == 2  # three mapped rows are shown, two of them of item 1


def test_the_proposed_options_work_as_printed(unknown):
    proposed = plain(run.invoke(app, ["check", str(unknown)]))
    options = re.search(r"Next: judgestats check \S+ (--map .+?) ?$", proposed).group(1)
    import shlex

    result = run.invoke(app, ["check", str(unknown), *shlex.split(options)])
    assert result.exit_code == 0, result.output
    assert "4 rows in = 4 used + 0 set aside" in plain(result)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", "", "empty"),
        ("cut.jsonl", '{"judge": "g", "item": 1}\n{"judge": "g", ', "line 2"),
        ("label.csv", "judge,item,first,second,choice\ng,1,x,y,left\n", "'choice' has 'left'"),
        ("twice.csv", "judge,item,first,second,choice\ng,1,x,y,tie\ng,1,x,y,tie\n", "more than once"),
        ("latin.csv", b"judge,item,first,second,choice\nJos\xe9,1,x,y,tie\n", "encoding"),
        ("n.csv", "judge,item,first,second,choice,n\ng,1,x,y,tie,many\n", "pass n=None"),
    ],
)
@pytest.mark.parametrize("command", ["check", "report"])
def test_a_broken_file_is_one_message_and_exit_code_2(tmp_path, command, name, content, told):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run.invoke(app, [command, str(path)])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert told in plain(result)
    assert name in result.output


def test_a_file_that_is_not_there_names_those_that_are(canonical):
    result = run.invoke(app, ["check", str(canonical.with_name("cals.csv"))])
    assert result.exit_code == 2
    assert "calls.csv" in result.output


def test_report_writes_one_page(canonical, tmp_path):
    out = tmp_path / "page.html"
    result = run.invoke(app, ["report", str(canonical), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert "6 rows in = 5 used + 1 set aside" in plain(result)


def test_formats_lists_the_readers():
    text = plain(run.invoke(app, ["formats"]))
    for name in ("fastchat_pair", "arena_hard", "judgebench", "llmbar", "alpaca_eval", "parquet"):
        assert name in text


def test_reproduce_counts_what_follows(tmp_path):
    out = tmp_path / "index.html"
    result = run.invoke(app, ["reproduce", "dark_current", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "dark_current" in result.output
    assert out.is_file()
    wrong = run.invoke(app, ["reproduce", "nothing"])
    assert wrong.exit_code == 2
    assert "Papers: merchant_risk, dark_current" in plain(wrong)


def test_markup_in_the_data_is_text(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("judge,item,first,second,choice\n[red]g[/red],1,x,y,tie\n", encoding="utf-8")
    assert "[red]g[/red]" in run.invoke(app, ["check", str(path)]).output


def test_the_console_script_is_the_same(canonical):
    done = subprocess.run(
        [sys.executable, "-m", "judgestats.cli", "check", str(canonical)], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "6 rows in" in done.stdout


def test_a_folder_of_calls_is_mapped_by_its_paths(tmp_path):
    for item in ("q1", "q2"):
        for order, (first, second, answer) in {"ab": ("x", "y", "A"), "ba": ("y", "x", "B")}.items():
            path = tmp_path / "runs" / item / f"{order}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"model": "g", "left": first, "right": second, "verdict": answer}))
    options = [
        "--map",
        "judge=model,item=path_1,first=left,second=right,choice=verdict",
        "--labels",
        "A=first,B=second",
    ]
    result = run.invoke(app, ["check", str(tmp_path / "runs"), *options])
    assert result.exit_code == 0, result.output
    assert "both orders every pair" in plain(result)
