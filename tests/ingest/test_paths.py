"""What the path of a file says: key=value, and the parts that a pattern names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PurePath

import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read
from judgestats.ingest.paths import NamePattern, PathPattern, named_values

Write = Callable[..., Path]
CALLS = "item,first,second,choice\n1,x,y,first\n2,x,y,tie\n"


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("judge=gpt-4/run=2/part-0.parquet", {"judge": "gpt-4", "run": "2"}),
        ("a=1,b=x y.jsonl.gz", {"a": "1", "b": "x y"}),
        ("a=3.1-8B.json", {"a": "3.1-8B"}),
        ("judge=a%2Fb/x.csv", {"judge": "a/b"}),
        ("run=__HIVE_DEFAULT_PARTITION__/x.csv", {"run": None}),
        ("a=b=c.csv", {"a": "b=c"}),
        ("plain,a=1/x.csv", {}),
        ("2=x/=y/calls.csv", {}),
    ],
)
def test_names_that_say_something(path: str, values: dict[str, str | None]) -> None:
    assert named_values(PurePath(path)) == values


@pytest.mark.parametrize(
    ("pattern", "path", "values"),
    [
        ("{judge}_run{replicate}.json", "any/where/gpt_4_run12.json", {"judge": "gpt_4", "replicate": "12"}),
        ("{strategy}/*_{judge}.csv", "cot/2024_gpt.csv.gz", {"strategy": "cot", "judge": "gpt"}),
        ("{judge}", "gpt.4.jsonl.zst", {"judge": "gpt.4"}),
        ("{judge:[^_]+}_{prompt}.json", "gpt_a_b.json", {"judge": "gpt", "prompt": "a_b"}),
        ("{year:[0-9]{4}}_{judge}.json", "2024_a.json", {"year": "2024", "judge": "a"}),
        ("{judge:(a|b)+[(]?}_{year:(20)?24}.json", "aba(_2024.json", {"judge": "aba(", "year": "2024"}),
        ("{jüdge}_{run:\\d+}.json", "grün_12.json", {"jüdge": "grün", "run": "12"}),
        ("{judge}/{file_}.json.gz", "g/x.json.gz", {"judge": "g", "file_": "x"}),
    ],
)
def test_patterns(pattern: str, path: str, values: dict[str, str]) -> None:
    assert PathPattern(pattern).of(PurePath(path)) == values


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("calls.json", "names nothing"),
        ("{judge}/{judge}.json", "names 'judge' twice"),
        ("{judge}_{}.json", "has a brace that names nothing"),
        ("{judge}}.json", "has a brace that names nothing"),
        ("{judge:(}.json", "no regular expression"),
        ("{other}/{strategy}/{judge}.json", r"cot/gpt_x\.json does not match"),
        ("{judge}_{a}_{b}.json", r"cot/gpt_x\.json does not match"),
    ],
)
def test_patterns_that_cannot_be(write: Write, pattern: str, message: str) -> None:
    path = write("runs/cot/gpt_x.json", json.dumps([{"item": 1, "first": "x", "second": "y", "choice": "tie"}]))
    with pytest.raises(SchemaError, match=message):
        read(path.parents[1], path=pattern)


def test_a_pattern_takes_no_longer_than_the_name_is_long(tmp_path: Path) -> None:
    """In a process of its own, so that a pattern that hangs is a failure."""
    path = tmp_path / ("a" * 200 + ".json")
    path.write_text('[{"item": 1}]')
    patterns = ["{judge:(a+)+}!.json", "{judge:(a|a)*}!.json", "".join(f"{{p{i}}}" for i in range(20)) + "!.json"]
    code = (
        "import judgestats as js\n"
        f"for pattern in {patterns!r}:\n"
        "    try:\n"
        f"        js.read({str(path)!r}, path=pattern)\n"
        "    except js.errors.SchemaError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.count("does not match path=") == len(patterns), done.stderr


@pytest.mark.parametrize("part", [r"(?=a)a", r"(a)\1", "(a{1000}){1000}", "["])
def test_a_part_that_is_no_regular_expression(part: str) -> None:
    with pytest.raises(SchemaError, match="is no regular expression"):
        PathPattern(f"{{judge:{part}}}.json")


def test_two_ways_are_not_guessed() -> None:
    with pytest.raises(SchemaError, match=r"two ways: judge could be 'gpt_4' or 'gpt'\. .*\{judge:"):
        PathPattern("{judge}_{prompt}.json").of(PurePath("gpt_4_cot.json"))


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", ["calls.csv", "calls.parquet"])
def test_paths_become_columns(write: Write, tmp_path: Path, lazy: bool, name: str) -> None:
    import pandas as pd

    for judge in ("gpt-4", "007"):
        for run in (1, 2):
            path = write(f"lake/judge={judge}/run={run}/{name}", CALLS)
            if name.endswith("parquet"):
                pd.read_csv(write("t.csv", CALLS), dtype=str).to_parquet(path)
    calls = read(tmp_path / "lake", lazy=lazy)
    calls = calls.df() if lazy else calls
    assert sorted(set(zip(calls["judge"], calls["run"], strict=True))) == [
        ("007", 1), ("007", 2), ("gpt-4", 1), ("gpt-4", 2)
    ]  # fmt: skip
    assert len(calls) == 8


def test_a_field_is_never_replaced(write: Write, tmp_path: Path) -> None:
    write("lake/judge=other/calls.csv", "judge," + CALLS.replace("\n1", "\ng,1").replace("\n2", "\ng,2"))
    assert read(tmp_path / "lake")["judge"].unique().tolist() == ["g"]
    with pytest.raises(SchemaError, match=r"takes judge from the path \('judge=other'\), and the file has .* \('g'\)"):
        read(tmp_path / "lake", path="{judge}/*.csv")
    assert read(tmp_path / "lake", path="judge={folder}/*.csv")["folder"].unique().tolist() == ["other"]


def test_the_logs_of_a_tool(write: Write, tmp_path: Path) -> None:
    """A part of the path is an option of the reader, where it has one of that name, or else a column."""
    pair = {"input": "i", "output_1": "a", "output_2": "b", "label": 1, "results": [{"swap = False": {"winner": "1"}}]}
    pair["results"][0]["swap = True"] = {"winner": "2"}
    for judge in ("gpt", "claude"):
        write(f"logs/{judge}/cot_3.json", [pair])
    calls = read(tmp_path / "logs", path="{judge}/{strategy}_{seed}.json")
    assert calls.groupby(["judge", "strategy", "seed"]).size().to_dict() == {
        ("claude", "cot", 3): 2,
        ("gpt", "cot", 3): 2,
    }


def test_calls_of_one_file_each(write: Write, tmp_path: Path) -> None:
    for judge in ("gpt", "claude"):
        for run in (1, 2):
            call = {"item": "q", "first": "x", "second": "y", "choice": "first"}
            write(f"calls/{judge}_run{run}.json", json.dumps(call))
    calls = read(tmp_path / "calls", path="{judge}_run{replicate}.json")
    assert sorted(zip(calls["judge"], calls["replicate"], strict=True)) == [
        ("claude", 1), ("claude", 2), ("gpt", 1), ("gpt", 2)
    ]  # fmt: skip


def test_the_command_line(write: Write, tmp_path: Path) -> None:
    for run in (1, 2):
        write(f"runs/gpt_run{run}.csv", CALLS)
    arguments = ["check", str(tmp_path / "runs"), "--path", "{judge}_run{replicate}.csv"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "4 rows: 4 used, 0 excluded" in result.output
    page = CliRunner().invoke(app, ["report", *arguments[1:], "--out", str(tmp_path / "page.html")])
    assert page.exit_code == 0, page.output
    assert "{judge}_run{replicate}.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert detect_format(tmp_path / "runs", path="{judge}_run{replicate}.csv").confidence == "canonical"
    assert detect_format(tmp_path / "runs").confidence == "needs a mapping"
    with pytest.raises(SchemaError, match="is for files, and the source is no file"):
        read(read(tmp_path / "runs", columns={"judge": "=g"}), path="{judge}.csv")


def test_values_in_names() -> None:
    named = named_values(PurePath("judge=gpt-4/prompt=cot,run=2.jsonl.gz"))
    assert named == {"judge": "gpt-4", "prompt": "cot", "run": "2"}
    pattern = NamePattern("{judge}_{criterion:[a-z]+}", "wide")
    assert pattern.values("gpt_4_style") == {"judge": "gpt_4", "criterion": "style"}
    path = PathPattern("{strategy}/{judge}_run{replicate}.json").of(PurePath("runs/cot/gpt_4_run2.json.gz"))
    assert path == {"strategy": "cot", "judge": "gpt_4", "replicate": "2"}
