"""The command line: what a newcomer types, and what comes back when a file is broken."""

import html
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import judgestats as js
from judgestats import cli
from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import parse_labels

run = CliRunner()


@pytest.fixture(autouse=True)
def width_of_a_pipe(monkeypatch):
    """Workers of the tests have COLUMNS; a pipe has not."""
    monkeypatch.delenv("COLUMNS", raising=False)


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
    assert "6 rows: 5 used, 1 excluded" in text
    assert "both orders every pair" in text
    assert "choice is invalid (status parse)" in text
    supported, missing = text.split("Measures not available, and what is missing")
    assert "consistency" in supported
    assert "gold_agreement needs a column 'gold'" in missing


def test_check_of_an_unknown_shape_proposes_and_computes_nothing(unknown):
    result = run.invoke(app, ["check", str(unknown)])
    assert result.exit_code == 2
    text = plain(result)
    assert "Nothing was computed" in text
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
    assert "4 rows: 4 used, 0 excluded" in plain(result)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "report"])
def test_counts_are_declared_on_the_command_line(tmp_path, command):
    path = tmp_path / "calls.csv"
    rows = [f"g,{i},{one},{two},first,{27_000 if i == 1 else 26}" for i in range(1, 8) for one, two in ("xy", "yx")]
    path.write_text("\n".join(["judge,item,first,second,choice,n", *rows]))
    out = ["--out", str(tmp_path / "page.html")] if command == "report" else []
    counted = run.invoke(app, [command, str(path), "--counts", "n", *out])
    assert counted.exit_code == 0, counted.output
    assert "column n: counts, 54,312 calls in 14 rows" in plain(counted)
    if out:
        assert "column n: counts, 54,312 calls in 14 rows" in (tmp_path / "page.html").read_text(encoding="utf-8")
    plainly = run.invoke(app, [command, str(path), "--no-counts", *out])
    assert plainly.exit_code == 0, plainly.output
    assert "counts," not in plain(plainly)
    both = run.invoke(app, [command, str(path), "--no-counts", "--counts", "n", *out])
    assert both.exit_code == 2
    assert "contradict each other" in plain(both)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", "", "empty"),
        ("cut.jsonl", '{"judge": "g", "item": 1}\n{"judge": "g", ', "line 2"),
        ("label.csv", "judge,item,first,second,choice\ng,1,x,y,left\n", "'choice' has 'left'"),
        ("twice.csv", "judge,item,first,second,choice\ng,1,x,y,tie\ng,1,x,y,tie\n", "more than once"),
        ("latin.csv", b"judge,item,first,second,choice\nJos\xe9,1,x,y,tie\n", "encoding"),
        ("d.csv", "judge,item,first,second,choice,delta\ng,1,x,y,tie,many\n", "On the command line: --map delta="),
        ("n.csv", "judge,item,first,second,choice,n\ng,1,x,y,tie,3\n", "--counts n; --no-counts"),
        ("cp.csv", b"judge,item,first,second,choice\nJos\xe9,1,x,y,tie\n", "--encoding cp1252"),
        ("answer.csv", "judge,item,first,second,choice\ng,1,x,y,B\n", "--labels B=second"),
        ("comma.csv", 'judge,system,item,score\ng,s,1,"3,5"\n', "--decimal ,"),
        (
            "na.csv",
            "judge,system,item,score\ng,s,1,NA\n",
            "'NA' in 1 row (row 0 of the data, from 0). Leave the cell empty",
        ),
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
    assert "6 rows: 5 used, 1 excluded" in plain(result)


@pytest.mark.parametrize(("typed", "asked"), [("by-class", "by class"), ("random", "random"), ("", None)])
def test_how_labels_were_drawn_reaches_the_page(canonical, tmp_path, monkeypatch, typed, asked):
    from judgestats.reporting import pages

    given = {}
    real = pages.measure_all
    monkeypatch.setattr(pages, "measure_all", lambda *data, **options: given.update(options) or real(*data, **options))
    options = ["--sampling", typed] if typed else []
    result = run.invoke(app, ["report", str(canonical), "--out", str(tmp_path / "page.html"), *options])
    assert result.exit_code == 0, result.output
    assert given["sampling"] == asked


def test_an_unknown_way_to_draw_labels_is_refused(canonical, tmp_path):
    out = ["--out", str(tmp_path / "page.html")]
    wrong = run.invoke(app, ["report", str(canonical), *out, "--sampling", "some"])
    assert wrong.exit_code == 2
    assert "sampling='some' is not known. Allowed: 'random', 'by class'." in plain(wrong)


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
    assert "Papers: merchant_risk, debiasing, dark_current" in plain(wrong)


def test_reproduce_shows_datasheets_before_the_audit():
    lines = run.invoke(app, ["reproduce", "dark_current"]).output.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("raw false preference"))
    assert re.findall(r"[\d.]+ \[[\d.]+, [\d.]+\]", lines[row])[2] == "0.258 [0.188, 0.343]"  # Table 4 of the paper
    assert row < next(i for i, line in enumerate(lines) if line.startswith("Printed numbers"))
    assert "raw false preference" not in run.invoke(app, ["reproduce", "merchant_risk"]).output


def test_audit_of_a_paper_and_of_a_file(tmp_path):
    result = run.invoke(app, ["audit", "merchant_risk", "--out", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert "9.02" in result.output
    assert "9.22" in result.output
    assert "✗ does not follow" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "board.csv").write_text("judge,wins,losses,n\nA,3,7,10\nB,4,7,10\n", encoding="utf-8")
    (tmp_path / "rules.toml").write_text('[[rule]]\nrule = "sum"\nparts = ["wins", "losses"]\ntotal = "n"\n')
    found = run.invoke(app, ["audit", str(tmp_path / "board.csv"), "--rules", str(tmp_path / "rules.toml")])
    assert found.exit_code == 0, found.output
    assert "4 + 7 = 11" in plain(found)
    strict = ["audit", str(tmp_path / "board.csv"), "--rules", str(tmp_path / "rules.toml"), "--strict"]
    assert run.invoke(app, strict).exit_code == 1
    (tmp_path / "board.csv").write_text("judge,wins,losses,n\nA,3,7,10\nB,TBD,7,10\n", encoding="utf-8")
    some = run.invoke(app, strict)
    assert some.exit_code == 0  # what cannot be decided is no fault
    assert "wins + losses is n: printed 10\n" in some.output
    assert "    table, row 2, wins is 'TBD': not a number. Leave the row out" in some.output
    (tmp_path / "board.csv").write_text("judge,wins,losses,n\nA,TBD,7,10\nB,TBD,7,10\n", encoding="utf-8")
    none = run.invoke(app, strict)
    assert none.exit_code == 1  # nothing was decided
    assert "No check of board could be decided." in none.output


def test_an_audit_writes_a_page_and_its_findings_and_reads_claims(tmp_path):
    (tmp_path / "board.csv").write_text("judge,wins,losses,n\nA,3,7,10\nB,4,7,10\n", encoding="utf-8")
    (tmp_path / "rules.toml").write_text('[[rule]]\nrule = "bounds"\ncolumn = "n"\nlow = 9\nhigh = 1\n')
    (tmp_path / "claims.csv").write_text(
        "id,place,claim,quantity,printed,unit,predicate,otherwise,comment\n"
        "all,Abstract,wins of both,,8,count,sum(table.wins()),,\n"
    )
    files = [str(tmp_path / name) for name in ("page.html", "found.csv", "found.jsonl")]
    options = ["--rules", str(tmp_path / "rules.toml"), "--claims", str(tmp_path / "claims.csv")]
    options += [o for f in files for o in ("--out", f)]
    result = run.invoke(app, ["audit", str(tmp_path / "board.csv"), *options])
    assert result.exit_code == 0, result.output
    assert "! Rule bounds: low = 9 is not below high = 1" in plain(result)
    assert "low = 9 is not below high = 1" in (tmp_path / "page.html").read_text(encoding="utf-8")
    table = pd.read_csv(files[1])
    lines = [json.loads(line) for line in Path(files[2]).read_text(encoding="utf-8").splitlines()]
    assert table["verdict"].tolist() == [line["verdict"] for line in lines] == ["does not follow"] * 3
    assert table["place"].tolist()[-1] == "Abstract"
    again = run.invoke(app, ["audit", str(tmp_path / "board.csv"), *options])
    assert again.exit_code == 0, again.output  # the same bytes
    (tmp_path / "found.csv").write_text("mine", encoding="utf-8")
    assert run.invoke(app, ["audit", str(tmp_path / "board.csv"), *options]).exit_code == 2
    assert run.invoke(app, ["audit", str(tmp_path / "board.csv"), *options, "--overwrite"]).exit_code == 0
    odd = run.invoke(app, ["audit", str(tmp_path / "board.csv"), *options[:4], "--out", str(tmp_path / "found.xlsx")])
    assert odd.exit_code == 2
    assert ".jsonl (findings)" in plain(odd)


@pytest.mark.parametrize("paper", ["merchant_risk", "dark_current"])
def test_an_audit_loads_neither_measures_nor_plots(paper, tmp_path):
    """They take longer than the audit, and so does what is compiled."""
    files = [str(tmp_path / name) for name in ("page.html", "found.csv")]
    code = (
        "import sys; from judgestats.cli import app\n"
        f"app(['audit', {paper!r}, '--out', {files[0]!r}, '--out', {files[1]!r}], standalone_mode=False)\n"
        "heavy = 'numba scipy.stats judgestats.ingest.reading judgestats.metrics judgestats.reporting.plots'.split()\n"
        "print('LOADED', [m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_an_audit_is_told_in_a_few_lines():
    lines = run.invoke(app, ["reproduce"]).output.splitlines()
    astray = (js.audit("rationalization")["verdict"] == "does not follow").sum()
    assert len(lines) < 110
    assert max(map(len, lines)) < 240
    assert sum(line.startswith("  ✗") for line in lines) == 5 * 4  # dark_current has none
    assert sum(line.startswith("  ?") for line in lines) == 5
    assert "  2 more cannot be decided, on the page that --out page.html writes" in lines
    assert any(re.match(r"merchant_risk +996 +\d+ +\d+ +\d+ +\d+ +\d+$", line) for line in lines)
    assert f"  {astray - 5} more do not follow, on the page that --out page.html writes" in lines
    assert sum("on a choice, on the page" in line for line in lines) == 4
    assert any(line.startswith("    ") and line.endswith("…") for line in lines)
    assert all(len(line) <= 4 + 110 for line in lines if line.startswith("    "))
    one = run.invoke(app, ["audit", "rationalization"]).output
    assert one.count("  ✗") == 20
    assert f"{astray - 20} more do not follow" in one
    assert one.count("rationalization") == 1  # in the title


def test_reproduce_and_audit_say_how_they_differ():
    told = {name: plain(run.invoke(app, [name, "--help"])) for name in ("reproduce", "audit")}
    assert "For a table of your own use judgestats audit" in told["reproduce"]
    assert "any table" in told["audit"]
    assert "reproduce" in told["audit"].partition("Arguments")[0]


def test_a_misspelt_rule_lists_the_rules(tmp_path):
    (tmp_path / "board.csv").write_text("judge,n\nA,3\n", encoding="utf-8")
    (tmp_path / "rules.toml").write_text('[[rule]]\nrule = "summ"\ntotal = "n"\n')
    result = run.invoke(app, ["audit", str(tmp_path / "board.csv"), "--rules", str(tmp_path / "rules.toml")])
    assert result.exit_code == 2
    assert "Did you mean 'sum'?" in plain(result)
    assert "grimmer" in plain(result)


def test_markup_in_the_data_is_text(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("judge,item,first,second,choice\n[red]g[/red],1,x,y,tie\n", encoding="utf-8")
    assert "[red]g[/red]" in run.invoke(app, ["check", str(path)]).output


@pytest.mark.slow
def test_the_console_script_is_the_same(canonical):
    done = subprocess.run([sys.executable, "-m", "judgestats", "check", str(canonical)], capture_output=True, text=True)
    assert done.returncode == 0
    assert "6 rows:" in done.stdout


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


def test_the_remedies_can_be_typed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'judge,system,item,score,runs\nJos\xe9,s,1,"3,5",many\nJos\xe9,t,1,9,few\n')
    cured = ["check", str(path), "--encoding", "cp1252", "--decimal", ","]
    for setting in ("runs=", "runs=None"):
        result = run.invoke(app, [*cured, "--map", setting])
        assert result.exit_code == 0, result.output
        assert "2 rows: 2 used, 0 excluded" in plain(result)
    result = run.invoke(app, [*cured, "--map", "runs=", "--scale", "1,5"])
    assert result.exit_code == 2
    assert "off the scale 1 to 5 in 1 row" in plain(result)
    assert "On the command line: --off-scale missing" in plain(result)
    result = run.invoke(app, [*cured, "--map", "runs=", "--scale", "1,5", "--off-scale", "missing"])
    assert result.exit_code == 0, result.output
    assert "2 rows: 1 used, 1 excluded" in plain(result)


def test_options_that_do_not_fit_are_one_message(canonical):
    for options, told in (
        (["--scale", "5"], "--scale '5' is not LOW,HIGH"),
        (["--scale", "1,5"], "scale are for ratings"),
        (["--off-scale", "drop"], "off_scale are for ratings"),
        (["--decimal", ";"], "decimal=';' is not known"),
    ):
        result = run.invoke(app, ["check", str(canonical), *options])
        assert result.exit_code == 2
        assert told in plain(result)
        assert "Traceback" not in result.output


@pytest.fixture
def scores(tmp_path):
    rows = [(j, s, i, 1 + (n * 7 + m * 3 + i) % 5)
            for n, j in enumerate("gh") for m, s in enumerate("xyz") for i in range(4)]  # fmt: skip
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["judge", "system", "item", "score"]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("identity", "told"),
    [
        ("x", "--identity 'x' has no '='. Write SYSTEM=JUDGE"),
        ("x=g,x=h", "--identity gives 'x' twice: x=g and x=h"),
        ("x=g,y=g", "'x', 'y' are all mapped to 'g'"),
        ("q=g", "'q' is not a system. Systems: x, y, z. Judges: g, h."),
        ("x=q", "'x' is mapped to 'q', which is not a judge"),
    ],
)
def test_identity_is_checked(scores, tmp_path, identity, told):
    result = run.invoke(app, ["report", str(scores), "--out", str(tmp_path / "o.html"), "--identity", identity])
    assert result.exit_code == 2
    assert told in plain(result)
    assert "--identity" in plain(result)


def test_identity_of_a_single_judge_and_of_pairs_is_checked(scores, canonical, tmp_path):
    table = pd.read_csv(scores)
    table[table["judge"] == "g"].to_csv(scores, index=False)
    out = str(tmp_path / "o.html")
    result = run.invoke(app, ["report", str(scores), "--out", out, "--identity", "q=g"])
    assert result.exit_code == 2
    assert "'q' is not a system" in plain(result)
    result = run.invoke(app, ["report", str(canonical), "--out", out, "--identity", "x=g"])
    assert result.exit_code == 2
    assert "these are pairwise verdicts" in plain(result)


@pytest.mark.slow
def test_a_path_that_cannot_be_written_is_one_message(canonical, tmp_path):
    folder = tmp_path / "emptydir"
    folder.mkdir()
    for out in (folder, canonical / "page.html"):
        for command in (["report", str(canonical)], ["reproduce", "dark_current"]):
            result = run.invoke(app, [*command, "--out", str(out)])
            assert result.exit_code == 2, result.output
            assert isinstance(result.exception, SystemExit)
            assert "judgestats: " in result.output
            assert re.search("directory|exists|folder", plain(result))


def test_the_next_command_is_quoted_and_on_one_line(unknown, tmp_path):
    import shlex

    table = pd.read_csv(unknown).rename(columns={"question_id": "question id", "model_a": "response model a"})
    path = tmp_path / ("a folder with spaces and a long name " * 3).strip() / "my table.csv"
    path.parent.mkdir()
    table.rename(columns={"response model a": "model_a"}).assign(**{"question_id": table["question id"]}).to_csv(
        path, index=False, encoding="utf-16"
    )
    result = run.invoke(app, ["check", str(path), "--encoding", "utf-16"])
    (line,) = [row for row in result.output.splitlines() if row.startswith("Next: ")]
    (said,) = [row for row in result.output.splitlines() if "If this is right: " in row]
    words = shlex.split(line.removeprefix("Next: "))
    assert words[:3] == ["judgestats", "check", str(path)]
    assert words[-2:] == ["--encoding", "utf-16"]
    assert shlex.split(said.partition("If this is right: ")[2]) == words[3:-2]
    again = run.invoke(app, words[1:])
    assert again.exit_code == 0, again.output


@pytest.mark.slow
def test_check_and_report_say_what_a_folder_leaves_unread(canonical, tmp_path):
    folder = tmp_path / "mixdir"
    folder.mkdir()
    canonical.rename(folder / "a.csv")
    (folder / "b.csv.bak").write_text("x")
    told = "1 of 2 files read; not read: b.csv.bak (unknown format)"
    out = tmp_path / "o.html"
    for command in (
        ["check", str(folder)],
        ["check", str(folder), "--format", "csv"],
        ["check", str(folder), "--map", "judge=judge"],
        ["report", str(folder), "--out", str(out)],
    ):
        result = run.invoke(app, command)
        assert result.exit_code == 0, result.output
        assert result.output.splitlines().count(told) == 1
    assert "b.csv.bak" in out.read_text(encoding="utf-8")


def test_the_page_says_how_the_table_was_read(unknown, tmp_path):
    out = tmp_path / "o.html"
    mapping = "judge=evaluator,item=question_id,first=model_a,second=model_b,choice=verdict,replicate=repetition"
    result = run.invoke(
        app, ["report", str(unknown), "--out", str(out), "--map", mapping, "--labels", "A=first,B=second,C=tie"]
    )
    assert result.exit_code == 0, result.output
    page = out.read_text(encoding="utf-8")
    for told in ("<dt>format</dt><dd>csv</dd>", mapping, "A=first,B=second,C=tie", "table.csv"):
        assert told in page


def test_the_notes_of_a_proposal_are_said_as_options(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rater,model,item,score\ng,x,1,3\ng,y,1,4\n")
    text = plain(run.invoke(app, ["check", str(path)]))
    assert "On the command line: --off-scale missing; --scale LOW,HIGH" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "clustered"), [([], "item"), (["--cluster", "topic"], "topic"), (["--no-cluster"], None)]
)
def test_report_clusters_by_what_is_shared_or_named(options, clustered, tmp_path):
    calls = pd.DataFrame([(f"i{i}", p, i % 3) for i in range(40) for p in range(2)], columns=["item", "p", "topic"])
    calls = calls.assign(
        judge="g", first="x" + calls["p"].astype(str), second="y", topic="t" + calls["topic"].astype(str)
    )
    calls["choice"] = ["first", "second", "tie", "first", "first"] * 16
    calls.drop(columns="p").to_csv(tmp_path / "calls.csv", index=False)
    result = run.invoke(app, ["report", str(tmp_path / "calls.csv"), "--out", str(tmp_path / "page.html"), *options])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text("utf-8")
    found = set(re.findall(r"clustered by (\w+)", page))
    assert found == ({clustered} if clustered else set())


@pytest.mark.parametrize(
    ("argument", "value", "option"),
    [
        ("encoding", "cp1252", "--encoding cp1252"),
        ("decimal", ",", "--decimal ,"),
        ("off_scale", "missing", "--off-scale missing"),
        ("scale", None, "--scale LOW,HIGH"),
        ("columns", "delta", "--map delta="),
        ("labels", "B", "--labels B=second (or what else each means: abstain, invalid)"),
        ("counts", "n", "--counts n"),
        ("counts", False, "--no-counts"),
        ("max_unpacked", None, "--max-unpacked BYTES"),
        ("identity", None, "--identity SYSTEM=JUDGE,..."),
        ("humans", None, "--humans NAME,... or COLUMN=VALUE"),
        ("baseline", None, "--baseline VALUE"),
    ],
)
def test_advice_comes_from_the_fields_of_an_error(monkeypatch, canonical, argument, value, option):
    """Whatever the message says: no prose is searched for options."""

    def refuse(*_, **__):
        raise SchemaError("Something like counts='k' or scale=(low, high).", advice=((argument, value),))

    monkeypatch.setattr("judgestats.ingest.read", refuse)
    result = run.invoke(app, ["check", str(canonical)])
    assert result.exit_code == 2
    assert plain(result).split("On the command line: ")[1].strip() == option
    assert argument in cli._OPTIONS


SCORES = pd.DataFrame({"judge": ["g"], "system": ["a"], "item": ["1"], "score": [9]})
PAIR = pd.concat([SCORES, SCORES.assign(judge="h")])


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda c: js.preferences(c.assign(n=3)), (("counts", "n"), ("counts", False))),
        (lambda c: js.preferences(c.assign(choice="B")), (("labels", "B"),)),
        (lambda c: js.preferences(c.assign(delta="many")), (("columns", "delta"),)),
        (lambda c: js.preferences(c.assign(gold="z")), (("columns", "gold"),)),
        (lambda c: js.available_measures(js.preferences(c), humans="nobody"), (("humans", None),)),
        (lambda c: js.ratings(SCORES, scale=(1, 5)), (("off_scale", "missing"),)),
        (lambda c: js.consensus_deviation(js.ratings(PAIR), identity={"z": "g"}), (("identity", None),)),
    ],
)
def test_errors_carry_their_advice(make, advice):
    calls = pd.DataFrame({"judge": ["g"], "item": ["1"], "first": ["x"], "second": ["y"], "choice": ["tie"]})
    with pytest.raises(js.errors.JudgestatsError) as caught:
        make(calls)
    assert caught.value.advice == advice


def test_check_for_programs(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{judge},{item},x,y,{answer}" for item in range(4) for judge, answer in (("Ann", "first"), ("g", "tie"))]
    path.write_text("\n".join(["judge,item,first,second,choice", *rows]))
    result = run.invoke(app, ["check", str(path), "--humans", "Ann", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert {r["what"]: r["n"] for r in found["rows"]}["rows used"] == 8
    assert "position_bias" in {m["measure"] for m in found["measures"] if m["supported"]}
    assert {code for row in found["agreement"] for code in row["codes"]} <= {flag["code"] for flag in found["flags"]}
    assert "small_n" in {flag["code"] for flag in found["flags"]}
    assert all(flag["explanation"] for flag in found["flags"])


def test_a_column_of_replies_is_parsed(tmp_path):
    replies = ["[[A]]", "Winner: B", "[[A]] or [[B]]", '{"winner": "tie"}']
    calls = pd.DataFrame({"judge": "g", "item": [*"1122"], "first": [*"xyxy"], "second": [*"yxyx"], "reply": replies})
    calls.to_csv(path := tmp_path / "replies.csv", index=False)
    unread = run.invoke(app, ["check", str(path), "--map", "choice=reply"])
    assert unread.exit_code == 2
    assert "'choice' has replies as text, such as '[[A]]' in 2 rows" in plain(unread)
    assert "--parse auto" in plain(unread)
    arguments = [str(path), "--map", "choice=reply", "--parse"]
    seen = run.invoke(app, ["check", *arguments, "auto"])
    assert seen.exit_code == 0, seen.output
    assert "4 rows: 3 used, 1 excluded" in seen.output
    assert "3 used" not in run.invoke(app, ["check", *arguments, "brackets"]).output
    page = run.invoke(app, ["report", *arguments, "auto", "--out", str(tmp_path / "page.html")])
    assert page.exit_code == 0, page.output
    wrong = run.invoke(app, ["check", *arguments, "bracket"])
    assert wrong.exit_code == 2
    assert "Did you mean 'brackets'" in plain(wrong)
    calls.rename(columns={"reply": "verdict", "judge": "evaluator"}).to_csv(path, index=False)
    assert "If they are replies as text, map choice=verdict and parse them" in plain(
        run.invoke(app, ["check", str(path)])
    )
    grades = pd.DataFrame({"judge": "g", "item": [*"12"], "score": ["GRADE: C", "GRADE: I"]})
    grades.to_csv(path, index=False)
    seen = run.invoke(app, ["check", str(path), "--parse", "auto", "--labels", "C=1,I=0"])
    assert "2 rows: 2 used, 0 excluded" in seen.output, seen.output


@pytest.fixture
def labelled(tmp_path):
    """Verdicts, and labels of two people in a file of another shape."""
    (tmp_path / "calls.csv").write_text("judge,item,first,second,choice\ng,1,x,y,first\ng,2,x,y,second\ng,3,x,y,tie\n")
    (tmp_path / "labels.csv").write_text("q,who,vote\n1,Ann,x\n1,Bob,x\n2,Ann,y\n2,Bob,x\n9,Ann,x\n")
    options = ["--labels-file", str(tmp_path / "labels.csv"), "--on", "item=q", "--labels-map", "judge=who,winner=vote"]
    return str(tmp_path / "calls.csv"), options


def test_labels_of_people_are_joined_and_are_the_reference(labelled, tmp_path):
    calls, options = labelled
    said = run.invoke(app, ["check", calls, *options]).output
    assert "8 rows: 7 used, 1 excluded" in said
    assert "label without a verdict: no such" in said
    assert "Agreement with people" in said
    page = tmp_path / "page.html"
    result = run.invoke(app, ["report", calls, *options, "--out", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "2 people are the reference (Ann, Bob" in text
    assert "labels.csv" in text


def test_labels_are_on_the_scale_of_the_verdicts(tmp_path):
    (tmp_path / "scores.csv").write_text("judge,item,score\ng,1,3\ng,2,4\n")
    (tmp_path / "labels.csv").write_text("judge,item,score\nAnn,1,3\nAnn,2,40\n")
    both = ["check", str(tmp_path / "scores.csv"), "--labels-file", str(tmp_path / "labels.csv")]
    assert run.invoke(app, both).exit_code == 0
    result = run.invoke(app, [*both, "--scale", "1,5"])
    assert result.exit_code == 2
    assert "the labels: " in result.output
    assert "labels.csv, line 3" in result.output
    assert "1 excluded" in run.invoke(app, [*both, "--scale", "1,5", "--off-scale", "missing"]).output


def test_options_about_labels_need_their_file_and_say_the_id(labelled):
    calls, options = labelled
    result = run.invoke(app, ["check", calls, "--on", "item=q"])
    assert result.exit_code == 2
    assert "--labels-file FILE" in result.output
    result = run.invoke(app, ["check", calls, *options[:2]])
    assert result.exit_code == 2
    assert "On the command line: --on item=..." in result.output


def test_strategies_and_controlled_pairs_are_planned_from_a_file(tmp_path, monkeypatch):
    from judgestats.design import Plan

    monkeypatch.chdir(tmp_path)
    pd.DataFrame(
        {
            "item": [1, 2], "first": "u", "second": "v", "task_text": "Say hello.", "first_text": ["Hello.", "Hi."],
            "second_text": "Good day.", "gold": ["u", ""], "length_first": [1, 1], "length_second": [2, 2],
        }
    ).to_csv("pairs.csv", index=False)  # fmt: skip
    asked = ["plan", "debiasing", "--judge", "m", "--pairs", "pairs.csv", "--strategies", "B0,S1,S2"]
    made = run.invoke(app, asked)
    assert made.exit_code == 0, made.output
    assert "12 calls" in made.output
    calls = Plan.read("plan").calls
    assert calls["strategy"].value_counts().to_dict() == {"S2": 6, "S1": 4, "B0": 2}
    assert calls["length_first"].dtype.kind in "if"
    assert calls["gold"].isna().sum() == 6
    pair = {"prompt": "Why?", "response_a": "So.", "response_b": "So.", "expected_verdict": "tie"}
    pd.DataFrame([{**pair, "bias_type": "position", "construction_notes": "equal"}]).to_csv("six.csv", index=False)
    made = run.invoke(app, ["plan", "controlled", "--judge", "m", "--pairs", "six.csv", "--out", "other"])
    assert made.exit_code == 0, made.output
    assert Plan.read("other").calls["bias"].tolist() == ["position"]
    for wrong, said in (
        (["plan", "debiasing", "--judge", "m"], "needs --pairs FILE"),
        (["plan", "vacuum", "--judge", "m", "--pairs", "pairs.csv"], "--pairs is not an option of the study 'vacuum'"),
        ([*asked, "--prompt", "pairwise"], "--prompt is not an option of the study 'debiasing'"),
    ):
        found = run.invoke(app, wrong)
        assert found.exit_code == 2
        assert said in plain(found)


@pytest.mark.slow
def test_generations_and_ratings_are_planned(tmp_path, monkeypatch):
    """Both steps of the texts to be written, and a rubric by its file."""
    from judgestats.design import Judge, Plan, generations, simulate_replies

    monkeypatch.chdir(tmp_path)
    made = run.invoke(app, ["plan", "generations", "--judge", "writer", "--models", "gpt,claude"])
    assert made.exit_code == 0, made.output
    plan = Plan.read("plan")
    assert plan.calls["call"].tolist() == generations("writer", models=["gpt", "claude"]).calls["call"].tolist()
    judges = [Judge(n) for n in ("writer", "gpt", "claude")]
    simulate_replies(plan, judges).to_json("answers.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "answers.jsonl", "--out", "texts.csv"])
    assert done.exit_code == 0, done.output
    made = run.invoke(app, ["plan", "generations", "--judge", "writer", "--written", "texts.csv", "--out", "second"])
    assert made.exit_code == 0, made.output
    assert Plan.read("second").calls["role"].unique().tolist() == ["expanded"]
    table = pd.DataFrame({"item": "r", "system": ["s", "t"], "task_text": "Explain.", "response_text": ["u", "v"]})
    table.to_csv("responses.csv", index=False)
    rated = ["plan", "rubric", "--judge", "m", "--responses", "responses.csv", "--by", "summary", "--out", "rated"]
    made = run.invoke(app, [*rated, "--format", "form"])
    assert made.exit_code == 0, made.output
    assert len(Plan.read("rated")) == 40
    assert (tmp_path / "rated" / "form.m.csv").exists()
    for wrong, said in (
        (["generations", "--judge", "a", "--judge", "b"], "One model writes the texts that are changed"),
        (["vacuum", "--judge", "m", "--seed", "3"], "--seed is not an option of the study 'vacuum'"),
        (["rubric", "--judge", "m"], "needs --responses FILE"),
    ):
        found = run.invoke(app, ["plan", *wrong, "--out", "no"])
        assert found.exit_code == 2
        assert said in plain(found)


def test_answers_and_folders_are_read_once(tmp_path, monkeypatch):
    from judgestats.design import Judge, Plan, collection, simulate_replies

    monkeypatch.chdir(tmp_path)
    run.invoke(app, ["plan", "vacuum", "--judge", "m"])
    simulate_replies(Plan.read("plan"), Judge("m")).to_json("answers.jsonl", orient="records", lines=True)
    opened = []
    resolve = collection.resolve
    monkeypatch.setattr(collection, "resolve", lambda *a, **k: opened.append(a) or resolve(*a, **k))
    assert run.invoke(app, ["collect", "plan", "answers.jsonl"]).exit_code == 0
    assert len(opened) == 1
    (tmp_path / "found").mkdir()
    pd.read_csv("verdicts.csv").to_csv("found/verdicts.csv", index=False)
    (tmp_path / "found" / "readme.txt").write_text("Not verdicts.")
    monkeypatch.setattr("judgestats.ingest.sniffing.find_files", lambda *a, **k: pytest.fail("looked for files again"))
    found = run.invoke(app, ["check", "found"])
    assert found.exit_code == 0, found.output
    assert "1 of 2 files read; not read: readme.txt" in plain(found)


def test_texts_that_a_model_wrote_are_collected(tmp_path, monkeypatch):
    from judgestats.design import Judge, generations, simulate_replies

    monkeypatch.chdir(tmp_path)
    plan = generations("writer")
    plan.write("plan")
    simulate_replies(plan, Judge("any"), error=0.1).to_json("answers.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "answers.jsonl", "--out", "texts.csv"])
    assert done.exit_code == 0, done.output
    written = pd.read_csv("texts.csv")
    assert f"{(written['status'] == 'ok').sum()} of 125 complete" in done.output


def test_a_study_is_planned_asked_and_collected(tmp_path, monkeypatch):
    """The commands that a stranger types; the runner is a simulated judge that fails sometimes."""
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    made = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--out", "plan", "--format", "jsonl"])
    assert made.exit_code == 0, made.output
    assert "120 calls" in made.output
    assert "Then: judgestats collect plan ANSWERS" in made.output
    replies = simulate_replies(Plan.read("plan"), Judge("m", dark_current=0.5), error=0.1, seed=3)
    replies.iloc[:100].to_json("answers.jsonl", orient="records", lines=True)
    asked = ["collect", "plan", "answers.jsonl", "--report", "page.html", "--left", "rest"]
    done = run.invoke(app, asked)
    assert done.exit_code == 0, done.output
    failed = int(replies["answer"].iloc[:100].isna().sum())
    assert f"120 rows: {100 - failed} used, {20 + failed} excluded" in done.output
    assert f"{20 + failed} calls failed or never came back: rest" in done.output
    assert len(Plan.read("rest")) == 20 + failed
    assert "dark current" in (tmp_path / "page.html").read_text().lower()
    seen = run.invoke(app, ["check", "verdicts.csv"])
    assert seen.exit_code == 0, seen.output
    assert "dark_current" in seen.output
    wrong = run.invoke(app, ["plan", "vacum", "--judge", "m"])
    assert wrong.exit_code == 2
    assert "Did you mean 'vacuum'" in plain(wrong)
    shown = run.invoke(app, ["prompts", "pairwise"])
    assert "{{ first }}" in shown.output
    assert "pairwise_strict" in run.invoke(app, ["prompts"]).output


def test_a_study_in_stages_is_planned_asked_and_collected(tmp_path, monkeypatch):
    """Each stage is written into the plan's folder, and all answers are collected together."""
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    pairs = pd.DataFrame({"item": ["07", "08"], "first": "u", "second": "v", "task_text": "Sum up: ..."})
    pairs.assign(first_text="It rose by 3 %.", second_text=["By 3 % it rose.", ""]).to_csv("pairs.csv", index=False)
    made = run.invoke(app, ["plan", "cues", "--pairs", "pairs.csv", "--judge", "m", "--out", "plan"])
    assert made.exit_code == 0, made.output
    assert "24 calls, and 22 that come after them" in made.output
    assert set(Plan.read("plan").calls["item"]) == {"07", "08"}
    asked = Plan.read("plan")
    for stage, n in ((1, 24), (2, 12), (3, 8), (4, 2)):
        assert len(asked) == n
        simulate_replies(asked, Judge("m")).to_json(f"answers{stage}.jsonl", orient="records", lines=True)
        if stage < 4:
            assert "Then: judgestats next plan ANSWERS" in made.output
            made = run.invoke(app, ["next", "plan", "answers*.jsonl"])
            assert made.exit_code == 0, made.output
            asked = Plan.read(f"plan/stage{stage + 1}")
    assert "Then: judgestats collect plan ANSWERS" in made.output
    done = run.invoke(app, ["collect", "plan", "answers*.jsonl"])
    assert done.exit_code == 0, done.output
    assert "46 rows: 30 used, 16 excluded" in done.output
    found = pd.read_csv("verdicts.csv")
    assert found.groupby(["scheme", "probe"]).size().tolist() == [2] * 15
    more = run.invoke(app, ["next", "plan", "answers*.jsonl"])
    assert "no later stage" in plain(more)
    lacking = run.invoke(app, ["plan", "cues", "--judge", "m"])
    assert "needs --pairs FILE" in plain(lacking)
    too_much = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--pairs", "pairs.csv"])
    assert "--pairs is not an option of the study" in plain(too_much)


def test_rubrics_of_the_judges_are_planned_in_stages(tmp_path, monkeypatch):
    """MERG by its variants; a rubric written by one judge is given to another from a file."""
    from judgestats.design import Judge, Plan, generated_rubrics, simulate_replies

    monkeypatch.chdir(tmp_path)
    texts = pd.DataFrame({"item": ["07", "07", "08"], "system": ["1", "2", "1"], "response_text": ["a", "", "c"]})
    texts.assign(task_text="Write on " + texts["item"] + ".").to_csv("responses.csv", index=False)
    command = ["plan", "merg", "--responses", "responses.csv", "--judge", "m", "--out", "plan"]
    made = run.invoke(app, [*command, "--variant", "shared-stages", "--rubric-judge", "k"])
    assert made.exit_code == 0, made.output
    assert "2 calls, and 7 that come after them" in made.output
    asked = Plan.read("plan")
    for stage, n in ((1, 2), (2, 2), (3, 2), (4, 3)):
        assert len(asked) == n
        assert set(asked.calls["judge"]) == {"m" if stage == 4 else "k"}
        judge = Judge("m" if stage == 4 else "k")
        simulate_replies(asked, judge).to_json(f"answers{stage}.jsonl", orient="records", lines=True)
        if stage < 4:
            made = run.invoke(app, ["next", "plan", "answers*.jsonl"])
            assert made.exit_code == 0, made.output
            asked = Plan.read(f"plan/stage{stage + 1}")
    done = run.invoke(app, ["collect", "plan", "answers*.jsonl"])
    assert done.exit_code == 0, done.output
    found = pd.read_csv("verdicts.csv", dtype={"item": str})
    assert found.groupby(["item", "system"]).size().tolist() == [5, 5, 5]
    assert found["weight"].sum() == pytest.approx(3)
    rubrics = generated_rubrics("plan", "answers*.jsonl")
    rubrics.to_csv("rubrics.csv", index=False)
    given = ["plan", "merg", "--responses", "responses.csv", "--judge", "j", "--variant", "universal-rubric"]
    made = run.invoke(app, [*given, "--rubrics", "rubrics.csv", "--out", "given"])
    assert made.exit_code == 0, made.output
    shown = [user for *_, user in Plan.read("given").messages()]
    assert [rubrics.loc[0, "criterion"] in text for text in shown[:2]] == [True, True]
    made = run.invoke(app, [*given[:-1], "baseline-score", "--rubrics", "writing", "--out", "baseline"])
    assert made.exit_code == 0, made.output
    assert "needs --responses FILE" in plain(run.invoke(app, ["plan", "merg", "--judge", "m"]))
    wrong = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--variant", "5-dim-per-dim"])
    assert "--variant is not an option of the study 'vacuum'" in plain(wrong)
    wrong = run.invoke(app, [*command, "--prompt", "merg_scores"])
    assert "--prompt is not an option of the study 'merg'" in plain(wrong)


def test_several_files_and_options_of_a_format(tmp_path):
    """As a shell expands *.jsonl; the judge that the records do not name is an option."""
    record = {"generator_1": "a", "generator_2": "b", "output_1": "", "output_2": "", "preference": 1}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "annotations.json").write_text(json.dumps([{**record, "dataset": name}]))
    files = [str(tmp_path / name / "annotations.json") for name in ("one", "two")]
    missing = run.invoke(app, ["check", *files])
    assert missing.exit_code == 2
    assert "names no annotator. Pass judge='...'" in plain(missing)
    done = run.invoke(app, ["check", *files, "--option", "judge=gpt-4"])
    assert done.exit_code == 0, done.output
    assert "2 files: alpaca_eval" in done.output
    assert "2 rows: 2 used" in done.output
    wrong = run.invoke(app, ["check", *files, "--option", "judge"])
    assert "has no '='" in plain(wrong)
    page = tmp_path / "page.html"
    assert run.invoke(app, ["report", *files, "--option", "judge=gpt-4", "--out", str(page)]).exit_code == 0
    assert "judge=gpt-4" in page.read_text()


def test_power_of_a_study():
    done = run.invoke(
        app, ["power", "vacuum", "--measure", "dark_current", "--planted", "dark_current=0.9", "--replications", "3"]
    )
    assert done.exit_code == 0, done.output
    assert "share of 3 studies whose interval excludes 0" in done.output
    assert "dark_current" in done.output
    wrong = run.invoke(app, ["power", "vacuum", "--measure", "dark_current", "--planted", "dark_current=high"])
    assert "holds a value that is no number" in plain(wrong)
    assert "Allowed: dark-current, vacuum, ladder" in plain(
        run.invoke(app, ["power", "cues", "--measure", "anchoring"])
    )


def test_the_version_is_said():
    result = run.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"judgestats {js.__version__}"


@pytest.mark.parametrize("columns", [60, 100])
def test_what_is_not_supported_is_a_line_each_and_nothing_is_wider_than_columns(canonical, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run.invoke(app, ["check", str(canonical)]).output
    assert max(map(len, text.splitlines())) <= columns
    missing = text.split("what is missing\n")[1].split("\nArguments")[0].splitlines()
    assert len(missing) > 5
    assert all(re.match(r"[a-z_0-9]+", line) for line in missing)


MAP = "judge=rater,item=q,score=points"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--map", "judge=rater", "--map", "judge=q"], "--map gives 'judge' twice: judge=rater and judge=q"),
        (["--scale", "1,5", "--scale=1,7"], "--scale is given 2 times"),
        (["--map", MAP, "--option", "scale=1,5"], "scale is not an option of a format. Give it as --scale"),
        (["--map", MAP, "--option", "columns=judge"], "columns is not an option of a format. Give it as --map"),
        (["--map", MAP, "--option", "connection=db"], "connection is not an option of a format. Leave it out"),
        (["--map", "judge=rater"], "the mapping is not complete"),
        (["--map", "judge=ratr"], "Did you mean 'rater'?"),
    ],
)
def test_no_option_is_lost_or_taken_for_another(tmp_path, options, said):
    rows = {"rater": ["a", "b"] * 3, "q": [*"112233"], "points": [1, 2, 3, 4, 5, 5]}
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    found = run.invoke(app, ["check", str(path), *options])
    assert found.exit_code == 2
    assert said in plain(found)
    assert "Traceback" not in found.output


def test_a_mapping_given_as_a_file_is_told_its_option_and_the_near_name(tmp_path):
    path = tmp_path / "calls.csv"
    pd.DataFrame({"model": ["g"], "question_id": ["1"], "answer_a": ["x"], "winner": ["x"]}).to_csv(path, index=False)
    result = run.invoke(app, ["check", str(path), "judge=modle"])
    assert result.exit_code == 2
    text = plain(result)
    assert "'judge=modle' is no file. Give it as --map judge=modle." in text
    assert "Did you mean 'model'?" in text
    assert "Did you mean" not in plain(run.invoke(app, ["check", str(path), "judge=model"]))


def test_check_shows_a_number_beside_what_is_supported_and_the_judges_side_by_side(canonical):
    text = plain(run.invoke(app, ["check", str(canonical)]))
    assert "same verdict in both orders 1.000" in text
    assert "Rows are counted from 0, without a header; lines from 1, as in an editor." in text
    judges = text.partition("Judges (95 % intervals, of each alone)")[2].partition("Measures available")[0]
    rows = js.consistency(pd.read_csv(canonical, dtype={"item": str}))
    row = rows[rows["term"] == "consistency"].iloc[0]
    assert f"{row['estimate']:.3f} [{row['conf_low']:.3f}, {row['conf_high']:.3f}]" in judges
    assert f"same verdict in both orders: {row['flag']}" in judges


def test_check_resamples_ranks_and_refits_nothing(tmp_path, monkeypatch):
    """No bootstrap of more than the one draw that a measure without an interval of its own makes, and no page."""
    from judgestats.counting import bootstrap

    drawn = []
    real = bootstrap.Bootstrap.__post_init__
    monkeypatch.setattr(bootstrap.Bootstrap, "__post_init__", lambda self: drawn.append(self.n_resamples) or real(self))
    path = tmp_path / "ratings.csv"
    rng = np.random.default_rng(3)
    rows = [(j, s, i, rng.integers(1, 6)) for j in "abc" for s in "xyz" for i in range(40)]
    pd.DataFrame(rows, columns=["judge", "system", "item", "score"]).to_csv(path, index=False)
    assert run.invoke(app, ["check", str(path)]).exit_code == 0
    assert max(drawn, default=1) == 1
    code = f"import sys; from judgestats.cli import app; app(['check', {str(path)!r}], standalone_mode=False)"
    code += "; print('judgestats.reporting.pages' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False")


def test_report_says_the_summary_and_writes_markdown(canonical, tmp_path):
    out = tmp_path / "page.md"
    result = run.invoke(app, ["report", str(canonical), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "How g answers" in result.output
    text = out.read_text(encoding="utf-8")
    assert text.startswith("# How g answers\n")
    assert "- **Steady when the order is swapped**: g, 100" in text
    assert "| judge | Same verdict in both orders |" in text
    assert "same verdict in both orders" in text.partition("## Datasheets")[2]
    assert "- `gold_agreement`: needs a column 'gold'" in text
    assert "judgestats.report(data" in text


def test_report_to_md_without_a_file_prints_markdown_and_nothing_else(canonical, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run.invoke(app, ["report", str(canonical), "--out", "page.md"]).exit_code == 0
    result = run.invoke(app, ["report", str(canonical), "--to", "md"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# How g answers\n")
    written, printed = Path("page.md").read_text(encoding="utf-8"), result.stdout
    unmarked = written[: written.index("<!-- judgestats report sha256:")]
    assert printed.replace(" --to md", "") == unmarked.replace(" --out page.md", "")
    assert not Path("report.html").exists()


def test_report_to_has_priority_over_the_name_of_the_file(canonical, tmp_path):
    for to, name, start in (("md", "page.html", "# How"), ("html", "page.md", "<!DOCTYPE html>")):
        out = tmp_path / name
        assert run.invoke(app, ["report", str(canonical), "--out", str(out), "--to", to]).exit_code == 0
        assert out.read_text(encoding="utf-8").lower().startswith(start.lower())


def test_report_refuses_another_output_and_says_which_option_names_it(canonical):
    result = run.invoke(app, ["report", str(canonical), "--to", "pdf"])
    assert result.exit_code == 2
    assert "'pdf'" in plain(result)
    assert "html" in plain(result)
    result = run.invoke(app, ["report", str(canonical), "--format", "md"])
    assert result.exit_code == 2
    assert "--to md" in plain(result)


@pytest.mark.parametrize("name", ["page.html", "page.md"])
def test_the_page_has_the_command_as_typed_and_it_gives_the_same_bytes(name, canonical, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my calls.csv").write_bytes(canonical.read_bytes())
    typed = ["report", "my calls.csv", "--map", "judge=judge", "--out", name, "--seed", "7", "--no-cluster"]
    assert run.invoke(app, typed).exit_code == 0
    first = Path(name).read_bytes()
    text = html.unescape(first.decode())
    command = re.search(r"judgestats report .*?(?=</code>|\n~~~)", text).group(0)
    assert shlex.split(command) == ["judgestats", *typed]
    assert text.index("judgestats.report(data") > text.index("Limits" if name.endswith("html") else "## Method")
    Path(name).unlink()
    assert run.invoke(app, shlex.split(command)[1:]).exit_code == 0
    assert Path(name).read_bytes() == first


def test_check_measures_the_agreement_with_people_once(tmp_path, monkeypatch):
    import registry
    from judgestats.metrics.agreement import human_agreement

    registry.people().to_csv(tmp_path / "calls.csv", index=False)
    seen, original = [], human_agreement.count_raters
    monkeypatch.setattr(human_agreement, "count_raters", lambda *a, **k: seen.append(1) or original(*a, **k))
    result = run.invoke(app, ["check", str(tmp_path / "calls.csv"), "--humans", "ann,bob"])
    assert result.exit_code == 0, result.output
    assert "people with each other" in plain(result)
    assert len(seen) == 2  # among people, and of judges with people


@pytest.mark.parametrize("answer", ["score", "correct", "choice"])
def test_people_who_share_no_item_with_the_judges_are_said_and_the_rest_is_shown(answer, tmp_path):
    rows = [(j, f"{'k' if j == 'Ann' else 'i'}{i}", i % 3) for j in ("a", "b", "Ann") for i in range(12)]
    table = pd.DataFrame(rows, columns=["judge", "item", "value"])
    if answer == "choice":
        table = table.assign(
            first="x", second="y", choice=table["value"].map(dict(enumerate(["first", "second", "tie"])))
        )
    else:
        table[answer] = table["value"] > 0 if answer == "correct" else table["value"] + 1.0
        table["system"] = "s"
    path = tmp_path / "calls.csv"
    table.drop(columns="value").to_csv(path, index=False)
    for command in (["check"], ["report", "--out", str(tmp_path / "page.html")]):
        result = run.invoke(app, [command[0], str(path), *command[1:], "--humans", "Ann"])
        assert result.exit_code == 0, result.output
        assert "people and judges have no item in common" in result.output
        assert "Reference has no mean" not in result.output
    as_json = run.invoke(app, ["check", str(path), "--humans", "Ann", "--json"])
    assert json.loads(as_json.output)["agreement"] == []


def test_a_mapping_that_would_be_refused_is_not_proposed_as_a_command(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rater,id,score\ng,1,3\ng,1,4\ng,2,4\n")
    told = plain(run.invoke(app, ["check", str(path)]))
    assert "With this mapping the table would still be refused: 1 fault in ratings" in told
    assert "Next:" not in told
    path.write_text("rater,id,score\ng,1,3\ng,3,4\ng,2,4\n")
    told = plain(run.invoke(app, ["check", str(path), "--humans", "g", "--no-counts", "--option", "judge=g"]))
    assert "--option judge=g" not in told  # an option that is refused: so is the command
    told = plain(run.invoke(app, ["check", str(path), "--humans", "g", "--no-counts"]))
    assert re.search(r"Next: judgestats check \S+ --map judge=rater,item=id --no-counts --humans g", told)


def test_an_option_given_twice_adds_up(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rater,q,one,two,said\ng,1,x,y,A\ng,2,x,y,B\n")
    once = ["check", str(path), "--map", "judge=rater,item=q,first=one,second=two,choice=said"]
    several = ["check", str(path), "--map", "judge=rater", "--labels", "A=first", "--map=item=q,first=one"]
    several += ["--map", "second=two,choice=said", "--labels=B=second"]
    results = [run.invoke(app, arguments) for arguments in ([*once, "--labels", "A=first,B=second"], several)]
    assert [r.exit_code for r in results] == [0, 0], results[1].output
    assert results[0].output == results[1].output


@pytest.mark.parametrize(
    "answers", [["A", "B", "C"], ["first", "B"], ["1", "2", "0"], ["x>y, surely", "y>x"], ["model a", "no"]]
)
def test_the_option_for_labels_is_accepted_as_it_stands(tmp_path, answers):
    path = tmp_path / "t.csv"
    rows = [{"judge": "g", "item": i, "first": "x", "second": "y", "choice": a} for i, a in enumerate(answers * 2)]
    pd.DataFrame(rows).to_csv(path, index=False)
    told = plain(run.invoke(app, ["check", str(path)]))
    (option,) = re.findall(r"On the command line: (--labels .+) \(or what else each means", told)
    result = run.invoke(app, ["check", str(path), *shlex.split(option)])
    assert result.exit_code == 0, result.output
    data = js.read(path, labels=parse_labels(shlex.split(option)[1]))
    assert data["choice"].nunique() == len(answers)


def test_check_groups_and_clusters_as_report_does(tmp_path):
    path = tmp_path / "t.csv"
    calls = pd.DataFrame([(i, p, t) for i in range(12) for p in "xy" for t in "uv"], columns=["item", "p", "topic"])
    calls = calls.assign(judge="g", first=calls["p"], second="z", choice=["first", "second", "first"] * 16)
    calls.loc[::3, ["first", "second"]] = calls.loc[::3, ["second", "first"]].to_numpy()
    calls.drop(columns="p").to_csv(path, index=False)
    outputs = [
        run.invoke(app, ["check", str(path), *options])
        for options in ([], ["--by", "topic"], ["--cluster", "topic"], ["--no-cluster"])
    ]
    assert [r.exit_code for r in outputs] == [0] * 4, outputs
    assert len({r.output for r in outputs}) > 2
    wrong = plain(run.invoke(app, ["check", str(path), "--by", "nothing"]))
    assert "'nothing'" in wrong
    told = run.invoke(app, ["check", str(path), "--by", "topic", "--json"])
    assert told.exit_code == 0, told.output


@pytest.mark.parametrize("command", ["check", "report"])
def test_a_file_that_is_not_there_is_refused_before_anything_that_reads_is_loaded(command, tmp_path):
    (tmp_path / "verdicts.csv").write_text("judge,item,score\n")
    code = (
        "import sys\nfrom judgestats.cli import app\ntry:\n    app()\nexcept SystemExit as end:\n"
        "    print(end.code, [m for m in ('pandas', 'numpy', 'numba') if m in sys.modules])"
    )
    path = tmp_path / "verdict.csv"
    run = subprocess.run([sys.executable, "-c", code, command, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "2 []"
    assert f"There is no file {str(path)!r}. Near by: verdicts.csv." in run.stderr.replace("\n", "")
