"""``judgestats reproduce``."""

import re

from command_line import run, words
from judgestats.cli import app


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
