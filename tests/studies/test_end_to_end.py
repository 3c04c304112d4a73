"""The five studies through the command line: two commands, and a page that prints what the functions give."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import Plan, collect, study_verdicts
from judgestats.reporting.formatting import NONE, THIN, p_value, with_interval
from studies.end_to_end import answer, invoke, to_the_end
from studies.study_plans import STUDIES


class _Tables(HTMLParser):
    """The tables of the section of the study: rows of cells as text."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.inside = self.cell = False

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.inside = ("id", "study") in attrs
        if self.inside and tag == "table":
            self.tables.append([])
        if self.inside and tag == "tr":
            self.tables[-1].append([])
        self.cell = self.inside and tag in ("th", "td")
        if self.cell:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "section"
        self.cell = self.cell and tag not in ("th", "td")

    def handle_data(self, data):
        if self.cell:
            self.tables[-1][-1][-1] += data.replace("\xa0", " ")  # an interval is not broken


def tables_of(page: Path) -> list[pd.DataFrame]:
    """The tables of the study on a page."""
    parser = _Tables()
    parser.feed(page.read_text(encoding="utf-8"))
    return [pd.DataFrame(rows[1:], columns=rows[0]) for rows in parser.tables]


def collected(folder: Path) -> pd.DataFrame:
    """The calls, from the plan and all answers."""
    return collect(folder / "plan", sorted(map(str, (folder / "answers").glob("*/*"))))


def _named(label) -> str:
    return "" if pd.isna(label) else f"{label:g}" if isinstance(label, float) else str(label)


def _whole(low, high) -> str:
    return NONE if pd.isna(low) else f"[{low:_.0f}, {high:_.0f}]"


def printed(row) -> str:
    value, ends = with_interval(row)
    if row["column"].endswith(", %"):
        value, ends = (
            t.replace("-", "−").replace("_", THIN)
            for t in (f"{row['estimate']:_.0f}", _whole(row["conf_low"], row["conf_high"]))
        )
    return value if ends == NONE else f"{value} {ends}"


#: Each study with three seeds, and each time another format; the first of three studies is not slow.
RUNS = [
    pytest.param(study, seed, id=f"{study.name}-{seed}", marks=pytest.mark.slow if large or seed > 1 else ())
    for study in STUDIES
    for large in [study.name in ("debiasing", "cues")]
    for seed in range(1, 4)
]


@pytest.mark.parametrize(("study", "seed"), RUNS)
def test_two_commands_and_a_page_that_prints_what_the_functions_give(study, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = study.files(tmp_path)
    to_the_end(asked, study.judges, tmp_path, study.formats[(STUDIES.index(study) + seed) % len(study.formats)], seed)
    calls = collected(tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(p.digest in page for p in Plan.read(tmp_path / "plan").prompts.values())
    assert Path("verdicts.parts.csv").exists() == (study.name != "dark-current")  # whose replies are verdicts alone
    shown = tables_of(tmp_path / "page.html")
    estimates = js.study_estimates(calls)
    assert [t for t in estimates["table"].unique() if estimates.loc[estimates["table"] == t, "estimate"].notna().any()]
    cells = 0
    for table, (_, rows) in zip(shown, estimates.groupby("table", sort=False), strict=True):
        labels = [c for c in rows if c.replace("_", " ") in table.columns and c not in ("column", "n", "term")]
        for _, row in rows[rows["term"].notna()].iterrows():
            found = table
            for label in labels:
                found = found[found[label.replace("_", " ")] == _named(row[label])]
            text = found[row["column"]].item()
            if row["term"] in ("p_value", "p_adjusted"):
                assert text == p_value(row["estimate"])
            elif row["term"] != "detection_threshold":
                assert text == printed(row)
            cells += 1
    assert cells >= 4
    stored = pd.read_csv("verdicts.estimates.csv")
    assert stored["estimate"].to_numpy() == pytest.approx(estimates["estimate"].to_numpy(float), nan_ok=True, rel=1e-9)
    for column, measure in study.direct(study_verdicts(calls)).items():
        for where, value in measure.items():
            rows = estimates[estimates["column"] == column]
            for label, wanted in zip(study.labels, where, strict=True):
                rows = rows[rows[label] == wanted]
            assert rows["estimate"].item() == pytest.approx(value, nan_ok=True, rel=1e-12), (column, where)


@pytest.mark.slow
def test_answers_may_come_in_any_number_of_parts(tmp_path, monkeypatch):
    """A stage half answered is asked for again; answers of a stage too early, and doubled ones, change nothing."""
    from judgestats.design import simulate_replies

    monkeypatch.chdir(tmp_path)
    study = next(s for s in STUDIES if s.name == "merg")
    invoke("plan", *study.files(tmp_path), "--out", "plan")
    said = simulate_replies(Plan.read("plan"), list(study.judges))
    early = pd.DataFrame({"call": ["c0123456789abcdef"], "answer": ["7"]})
    pd.concat([said.iloc[::2], said.iloc[:4:2], early]).to_json("half.jsonl", orient="records", lines=True)
    out = invoke("collect", "plan", "half.jsonl", "--report", "page.html")
    assert "failed or never came back: plan/rest/calls.jsonl" in out
    assert "Next:" in out
    assert not Path("page.html").exists()
    assert set(Plan.read("plan/rest").calls["call"]) == set(said["call"].iloc[1::2])
    said.iloc[1::2].to_json("answers0.jsonl", orient="records", lines=True)
    asked = {"plan"}
    for number in range(1, 9):
        out = invoke("collect", "plan", *map(str, Path().glob("answers*.jsonl")), "--report", "page.html")
        new = sorted(str(p.parent) for p in Path("plan").glob("*/manifest.json") if str(p.parent) not in asked)
        if not new:
            break
        asked |= {*new}
        for i, folder in enumerate(new):
            part = Plan.read(folder)
            judges = [j for j in study.judges if j.name in set(part.calls["judge"])]
            simulate_replies(part, judges).to_json(f"answers{number}-{i}.jsonl", orient="records", lines=True)
    assert "Report: page.html" in out
    calls = pd.read_csv("verdicts.merged.csv")
    responses = pd.read_csv("responses.csv")
    assert len(calls) == len(responses) * len(study.judges) * 2
    assert calls["score"].notna().all()


def test_answers_of_another_plan_are_refused_and_not_remembered(tmp_path, monkeypatch):
    from command_line import run
    from judgestats.cli import app

    monkeypatch.chdir(tmp_path)
    invoke("plan", "vacuum", "--judge", "m")
    pd.DataFrame({"call": ["c0123456789abcdef"], "answer": ["A"]}).to_json("other.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "other.jsonl"])
    assert done.exit_code == 2
    assert "other.jsonl" not in Path("plan/manifest.json").read_text()


def test_an_expert_who_fills_half_a_form_is_asked_for_the_rest(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = next(s for s in STUDIES if s.name == "rubric")
    invoke("plan", *study.files(tmp_path), "--out", "plan", "--format", "openai")
    form = pd.read_csv("plan/form.Ann.csv").astype(object)
    criteria = Plan.read("plan").prompts["rubric"].criteria
    form.loc[: len(form) // 2 - 1, list(criteria)] = 7
    form.to_csv("half.csv", index=False)
    invoke("collect", "plan", "half.csv")
    assert pd.read_csv("plan/rest/form.Ann.csv")["call"].tolist() == form["call"].tolist()[len(form) // 2 :]
    assert len(pd.read_csv("plan/rest/form.Bob.csv")) == len(form)
    assert Path("plan/rest/calls.openai.GPT.jsonl").exists()
    judges = answer(Path("plan"), study.judges, "openai", 1)
    out = invoke("collect", "plan", "half.csv", *(f for f in judges if "form" not in f))
    out = " ".join(out.split())
    assert "plan/rest-2/form.Ann.csv, plan/rest-2/form.Bob.csv" in out  # people have no file for a runner


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["debiasing", "rubric", *(pytest.param(n, marks=pytest.mark.full) for n in ("merg", "cues"))]
)
def test_four_times_the_items_take_at_most_five_times_as_long(name, tmp_path, monkeypatch):
    """Of plan, collect at every stage, and the page."""
    monkeypatch.chdir(tmp_path)
    study = next(s for s in STUDIES if s.name == name)

    def seconds(items: int) -> float:
        folder = tmp_path / str(items)
        folder.mkdir()
        start = time.process_time()
        to_the_end(study.files(folder, items), study.judges, folder)
        return time.process_time() - start

    seconds(9)
    assert seconds(480) < 5 * seconds(120) + 1
