"""``judgestats audit`` and ``judgestats reproduce``."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import judgestats as js
from command_line import run, words
from judgestats.cli import app


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
    assert "4 + 7 = 11" in words(found)
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
    assert "! Rule bounds: low = 9 is not below high = 1" in words(result)
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
    assert ".jsonl (findings)" in words(odd)


@pytest.mark.parametrize("paper", ["dark_current", pytest.param("merchant_risk", marks=pytest.mark.slow)])
def test_an_audit_loads_neither_measures_nor_plots(paper, tmp_path):
    """They take longer than the audit, and so does what is compiled."""
    pages = [tmp_path / f"{paper}.html", tmp_path / f"{paper}.csv"]
    code = (
        "import sys; from judgestats.cli import app\n"
        f"app(['audit', {paper!r}, *{[text for page in pages for text in ('--out', str(page))]!r}], standalone_mode=False)\n"
        "heavy = 'numba scipy.stats judgestats.ingest.reading judgestats.metrics judgestats.reporting.plots'.split()\n"
        "print('LOADED', [m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"
    assert sorted(tmp_path.iterdir()) == sorted(pages)


@pytest.mark.slow
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


def test_a_misspelt_rule_lists_the_rules(tmp_path):
    (tmp_path / "board.csv").write_text("judge,n\nA,3\n", encoding="utf-8")
    (tmp_path / "rules.toml").write_text('[[rule]]\nrule = "summ"\ntotal = "n"\n')
    result = run.invoke(app, ["audit", str(tmp_path / "board.csv"), "--rules", str(tmp_path / "rules.toml")])
    assert result.exit_code == 2
    assert "Did you mean 'sum'?" in words(result)
    assert "grimmer" in words(result)


def test_reproduce_counts_what_follows(tmp_path):
    out = tmp_path / "index.html"
    result = run.invoke(app, ["reproduce", "dark_current", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "dark_current" in result.output
    assert out.is_file()
    wrong = run.invoke(app, ["reproduce", "nothing"])
    assert wrong.exit_code == 2
    assert "Papers: merchant_risk, debiasing, dark_current" in words(wrong)


def test_reproduce_shows_datasheets_before_the_audit():
    lines = run.invoke(app, ["reproduce", "dark_current"]).output.splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("raw false preference"))
    assert re.findall(r"[\d.]+ \[[\d.]+, [\d.]+\]", lines[row])[2] == "0.258 [0.188, 0.343]"  # Table 4 of the paper
    assert row < next(i for i, line in enumerate(lines) if line.startswith("Printed numbers"))
    assert "raw false preference" not in run.invoke(app, ["reproduce", "merchant_risk"]).output


def test_reproduce_and_audit_say_how_they_differ():
    told = {name: words(run.invoke(app, [name, "--help"])) for name in ("reproduce", "audit")}
    assert "For a table of your own use judgestats audit" in told["reproduce"]
    assert "any table" in told["audit"]
    assert "reproduce" in told["audit"].partition("Arguments")[0]
