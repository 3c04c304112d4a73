"""``judgestats report`` writes and prints one page."""

import html
import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from command_line import run, words
from judgestats.cli import app


def test_report_writes_one_page(canonical, tmp_path):
    out = tmp_path / "page.html"
    result = run.invoke(app, ["report", str(canonical), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert "6 rows: 5 used, 1 excluded" in words(result)


@pytest.mark.parametrize(("typed", "asked"), [("by-class", "by class"), ("random", "random"), ("", None)])
def test_how_labels_were_drawn_reaches_the_page(canonical, tmp_path, monkeypatch, typed, asked):
    from judgestats.reporting import page_data

    passed = []
    real = page_data.measure_all
    monkeypatch.setattr(page_data, "measure_all", lambda *values: passed.append(values[1]) or real(*values))
    options = ["--sampling", typed] if typed else []
    result = run.invoke(app, ["report", str(canonical), "--out", str(tmp_path / "page.html"), *options])
    assert result.exit_code == 0, result.output
    assert passed[0].sampling == asked


def test_an_unknown_way_to_draw_labels_is_refused(canonical, tmp_path):
    out = ["--out", str(tmp_path / "page.html")]
    wrong = run.invoke(app, ["report", str(canonical), *out, "--sampling", "some"])
    assert wrong.exit_code == 2
    assert "sampling='some' is not known. Allowed: 'random', 'by class'." in words(wrong)


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
def test_identity_is_checked(scores_file, tmp_path, identity, told):
    result = run.invoke(app, ["report", str(scores_file), "--out", str(tmp_path / "o.html"), "--identity", identity])
    assert result.exit_code == 2
    assert told in words(result)
    assert "--identity" in words(result)


def test_identity_of_a_single_judge_and_of_pairs_is_checked(scores_file, canonical, tmp_path):
    table = pd.read_csv(scores_file)
    table[table["judge"] == "g"].to_csv(scores_file, index=False)
    out = str(tmp_path / "o.html")
    result = run.invoke(app, ["report", str(scores_file), "--out", out, "--identity", "q=g"])
    assert result.exit_code == 2
    assert "'q' is not a system" in words(result)
    result = run.invoke(app, ["report", str(canonical), "--out", out, "--identity", "x=g"])
    assert result.exit_code == 2
    assert "these are pairwise verdicts" in words(result)


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


def test_report_refuses_a_name_that_ends_as_no_page_does(canonical, tmp_path):
    out = tmp_path / "r.pdf"
    result = run.invoke(app, ["report", str(canonical), "--out", str(out)])
    assert result.exit_code == 2
    assert "ends in '.pdf'. Allowed: .html, .htm, .md. Name it 'r.html'" in words(result)
    assert not out.exists()
    assert run.invoke(app, ["report", str(canonical), "--out", str(tmp_path / "r.HTM")]).exit_code == 0


def test_report_refuses_another_output_and_says_which_option_names_it(canonical):
    result = run.invoke(app, ["report", str(canonical), "--to", "pdf"])
    assert result.exit_code == 2
    assert "'pdf'" in words(result)
    assert "html" in words(result)
    result = run.invoke(app, ["report", str(canonical), "--format", "md"])
    assert result.exit_code == 2
    assert "--to md" in words(result)


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


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_the_page_says_is_a_table(canonical, tmp_path, kind):
    out, said = tmp_path / "page.html", tmp_path / f"said.{kind}"
    typed = ["report", str(canonical), "--out", str(out), "--statements", str(said)]
    result = run.invoke(app, typed)
    assert result.exit_code == 0, result.output
    assert f"Statements: {said}" in re.sub(r"\s*\n\s*", "", result.output) or "Statements: " in words(result)
    table = pd.read_csv(said) if kind == "csv" else pd.read_json(said, lines=True)
    page = html.unescape(out.read_text(encoding="utf-8"))
    verdict = table.loc[table["where"] == "verdict", "sentence"]
    assert len(verdict)
    assert all(sentence in page for sentence in verdict)
    judges = table["judges"].map(json.loads if kind == "csv" else list)
    assert any(judges)
    assert run.invoke(app, typed).exit_code == 0  # the same bytes
    said.write_text("mine\n")
    refused = run.invoke(app, typed)
    assert refused.exit_code == 2
    assert "--overwrite" in words(refused)
    assert said.read_text() == "mine\n"
    assert run.invoke(app, [*typed, "--overwrite"]).exit_code == 0


def test_a_table_of_statements_is_csv_or_json_and_no_page(canonical, tmp_path):
    wrong = run.invoke(app, ["report", str(canonical), "--out", str(tmp_path / "p.html"), "--statements", "said.xlsx"])
    assert (wrong.exit_code, "has an unknown ending. Allowed: .csv, .jsonl." in words(wrong)) == (2, True)
    page = str(tmp_path / "page.csv")
    both = run.invoke(app, ["report", str(canonical), "--to", "html", "--out", page, "--statements", page])
    assert both.exit_code == 2
    assert not (tmp_path / "page.csv").exists()
