"""Answers that a plan was given before: kept as copies in its folder, and read again; nothing is read from elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import judgestats as js
from command_line import run, words
from judgestats.cli import app
from judgestats.design import Judge, cues, export, rubric, simulate_replies, vacuum

PLAN = vacuum("m", calls=12)


def answers(path: str, calls: slice, answer: str = "tie") -> str:
    """A file with answers to some calls of the plan."""
    lines = [json.dumps({"call": call, "answer": answer}) + "\n" for call in PLAN.calls["call"][calls]]
    Path(path).write_text("".join(lines))
    return path


def collected(*files: str, options: tuple[str, ...] = ()) -> pd.Series:
    """The choices of the calls that were answered, after `judgestats collect`."""
    done = run.invoke(app, ["collect", "plan", *files, *options])
    assert done.exit_code == 0, done.output
    table = pd.read_csv("verdicts.csv").set_index("call")
    return table.loc[table["status"] == "ok", "choice"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # no cell of a table is wrapped
    PLAN.write("plan")
    return tmp_path


def test_a_file_that_was_moved_is_not_forgotten(place):
    assert len(collected(answers("a1.jsonl", slice(0, 6)))) == 6
    assert len(collected(answers("a2.jsonl", slice(6, 12)))) == 12
    Path("a1.jsonl").rename("elsewhere.jsonl")
    done = run.invoke(app, ["collect", "plan", "a2.jsonl"])
    assert done.exit_code == 0
    (copy,) = Path("plan").glob("collected/*/a1.jsonl")
    assert f"Given before, and read again: {copy}" in words(done)
    assert "12 rows: 12 used, 0 excluded" in words(done)
    assert not Path("plan/rest-2").exists()
    Path("plan").rename("moved")
    assert run.invoke(app, ["collect", "moved", "a2.jsonl"]).exit_code == 0
    assert (pd.read_csv("verdicts.csv")["status"] == "ok").all()


def test_a_file_that_was_written_over_with_the_next_answers_counts_twice(place):
    collected(answers("answers.jsonl", slice(0, 6)))
    assert len(collected(answers("answers.jsonl", slice(6, 12)))) == 12
    assert len(list(Path("plan/collected").glob("*/answers.jsonl"))) == 2


@pytest.mark.parametrize("growing", ["lines", "document"])
def test_a_file_that_grows_is_counted_once(place, growing):
    for n in (4, 8, 12):
        answers("answers.jsonl", slice(0, n))
        if growing == "document":
            records = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
            Path("answers.json").write_text(json.dumps(records, indent=n))
        done = run.invoke(app, ["collect", "plan", "answers.json" if growing == "document" else "answers.jsonl"])
        assert f"12 rows: {n} used, {12 - n} excluded" in words(done), done.output
    assert ("read again" in words(done)) == (growing == "document")  # a copy with which the file begins is not read


def test_what_is_given_last_counts_first_and_stays_so(place):
    """A form that was corrected, and given once more; whatever comes in later changes the calls that it answers only."""
    first = PLAN.calls["call"][0]
    assert collected(answers("form.jsonl", slice(0, 6), "A"))[first] == "first"
    assert collected(answers("form.jsonl", slice(0, 6), "B"))[first] == "second"
    assert collected(answers("other.jsonl", slice(6, 9), "A"))[first] == "second"
    again = collected(answers("form.jsonl", slice(0, 6), "A"))
    assert (again[first], again[PLAN.calls["call"][7]]) == ("first", "first")
    assert collected(answers("more.jsonl", slice(9, 12), "A"))[first] == "first"
    findings = js.check(js.read("verdicts.csv"))
    assert "the call was answered before" not in set(findings["what"])


def test_a_failure_that_comes_later_costs_no_answer(place):
    collected(answers("a1.jsonl", slice(0, 6)))
    Path("a2.jsonl").write_text(json.dumps({"call": PLAN.calls["call"][0], "answer": None, "error": "timeout"}) + "\n")
    assert len(collected("a2.jsonl")) == 6


def test_records_that_are_no_answers_are_counted_each_time_that_their_file_adds_something(place):
    answers("a1.jsonl", slice(0, 6))
    with open("a1.jsonl", "a") as file:
        file.write('{"call": "another plan\'s", "answer": "A"}\nno line\n')
    for files in (["a1.jsonl"], [answers("a2.jsonl", slice(6, 12))]):
        done = words(run.invoke(app, ["collect", "plan", *files]))
        assert "the call is not of this plan" in done
        assert "the line cannot be read" in done


def test_forms_are_kept_and_an_answer_of_a_person_is_found_again(place):
    texts = pd.DataFrame({"item": list("ab"), "system": "s", "task_text": "Explain.", "response_text": "r"})
    plan = rubric("Ann", texts, arms=["anonymized"], replicates=1)
    plan.write("ratings")
    (path,) = export(plan, "out", "form")
    form = pd.read_csv(path, dtype=str, keep_default_na=False)
    criteria = list(plan.prompts["rubric"].criteria)
    for row in (0, 1):
        form.loc[row, criteria] = "7"
        form.to_csv(path, index=False)
        done = run.invoke(app, ["collect", "ratings", str(path), "--overwrite"])
        assert done.exit_code == 0, done.output
        scores = pd.read_csv("verdicts.csv")["score"]
        assert scores.notna().sum() == 5 * (row + 1)
        rows, left = 10, 5 * (1 - row)
        assert f"{rows} rows: {rows - left} used" in words(done) or f"{rows + 1 - row} rows" in words(done)


def test_a_folder_and_a_pattern_are_kept_file_by_file(place):
    Path("in").mkdir()
    answers("in/a1.jsonl", slice(0, 3))
    answers("in/a2.jsonl", slice(3, 6))
    collected("in")
    answers("b1.jsonl", slice(6, 8))
    answers("b2.jsonl", slice(8, 9))
    collected("b*.jsonl")
    for path in [*Path("in").iterdir(), *Path().glob("b*.jsonl")]:
        path.unlink()
    assert len(collected(answers("c.jsonl", slice(9, 12)))) == 12
    names = sorted(path.name for path in Path("plan/collected").glob("*/*"))
    assert names == ["a1.jsonl", "a2.jsonl", "b1.jsonl", "b2.jsonl", "c.jsonl"]


def test_a_copy_that_was_removed_is_taken_back_and_one_that_was_changed_is_refused(place):
    collected(answers("a1.jsonl", slice(0, 6)))
    collected(answers("a2.jsonl", slice(6, 9)))
    (copy,) = Path("plan/collected").glob("*/a1.jsonl")
    copy.write_text(copy.read_text().replace("tie", "A"))
    refused = run.invoke(app, ["collect", "plan", "a2.jsonl"])
    assert refused.exit_code == 2
    assert f"{str(copy)!r} was changed since these answers were given" in words(refused)
    assert "On the command line: --trust" in words(refused)
    assert set(collected("a2.jsonl", options=("--trust",))) == {"first", "tie"}
    copy.unlink()
    assert len(collected("a2.jsonl")) == 3


def test_a_folder_that_cannot_be_written_to_is_said(place, monkeypatch):
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    done = run.invoke(app, ["collect", "plan", answers("a1.jsonl", slice(0, 6))])
    assert done.exit_code == 0
    assert "plan cannot be written to, so these answers are not kept" in words(done)
    assert not Path("plan/collected").exists()


# plans from somebody else


def change(**fields):
    path = Path("plan/manifest.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize(
    "outside", ["../../../../../../etc/shadow", "../fake.jsonl", "../../usr", "/etc/passwd", "a1.jsonl", 3]
)
def test_a_manifest_that_names_answers_opens_none(place, outside, monkeypatch):
    answers("fake.jsonl", slice(6, 12), "A")
    answers("plan/a1.jsonl", slice(6, 12), "A")
    answers("mine.jsonl", slice(0, 3))
    change(answers=[outside])
    refused = run.invoke(app, ["collect", "plan", "mine.jsonl"])
    assert refused.exit_code == 2
    assert f"its manifest names answers in {str(outside)!r}, outside its folder" in words(refused)
    assert not Path("verdicts.csv").exists()
    assert len(collected("mine.jsonl", options=("--trust",))) == 3
    assert len(collected("mine.jsonl")) == 3  # it is noted no more


def test_answers_of_which_an_older_manifest_has_the_paths_are_named_once_more(place):
    answers("a1.jsonl", slice(0, 6))
    change(answers=["../a1.jsonl"])
    assert len(collected("a1.jsonl", answers("a2.jsonl", slice(6, 9)))) == 9
    assert len(collected("a2.jsonl")) == 9


def linked(path: Path) -> None:
    """Move a file or folder of the plan out of it, with a link in its place."""
    target = Path("outside") / path.name
    target.parent.mkdir(exist_ok=True)
    path.rename(target)
    path.symlink_to(target.absolute())


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("which", ["collected", "collected/*", "collected/*/a1.jsonl", "stage2", "rest"])
@pytest.mark.parametrize("trust", [(), ("--trust",)])
def test_links_in_the_folder_of_a_plan_are_not_followed(place, which, trust):
    pairs = pd.DataFrame({"item": list("abcd"), "first": "u", "second": "v", "task_text": "Sum up."})
    plan = cues("m", pairs.assign(first_text="g", second_text="h"), probes=["blind"], schemes=["PBP"])
    plan.write("chain")
    replies = simulate_replies(plan, Judge("m"))
    replies.iloc[:2].to_json("a1.jsonl", orient="records", lines=True)
    assert run.invoke(app, ["collect", "chain", "a1.jsonl"]).exit_code == 0
    assert Path("chain/stage2/manifest.json").exists()
    replies.iloc[2:3].to_json("a2.jsonl", orient="records", lines=True)
    (path,) = Path("chain").glob(which)
    linked(path)
    before = {p: p.read_bytes() for p in Path("outside").rglob("*") if p.is_file()}
    refused = run.invoke(app, ["collect", "chain", "a2.jsonl", *trust])
    assert refused.exit_code == 2, refused.output
    assert "is read from its own folder only" in words(refused)
    assert {p: p.read_bytes() for p in Path("outside").rglob("*") if p.is_file()} == before


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("name", ["rest", "collected", "stage2"])
def test_nothing_is_written_through_a_link_that_leads_nowhere_yet(place, name):
    Path("plan", name).symlink_to(place / "made")
    run.invoke(app, ["collect", "plan", answers("a1.jsonl", slice(0, 6))])
    assert not Path("made").exists()


#: Runs a command and prints what it opens, lists or reads as a link.
WITNESS = """
import os, sys
seen = []
def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "shutil.copyfile", "os.rename", "os.mkdir", "sqlite3.connect"):
        seen.extend(a for a in arguments[:2] if isinstance(a, (str, bytes, os.PathLike)))
sys.addaudithook(hook)
from judgestats.cli import app
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    print(*sorted({os.path.realpath(os.fsdecode(p)) for p in seen if os.fsdecode(p) not in ("r", "rb", "w", "wb", "xb", "x")}), sep="\\n", file=sys.stderr)
"""


def opened(*typed: str) -> set[Path]:
    """What a command opened below the folder that all is in, and elsewhere but for Python and the system's own."""
    done = subprocess.run([sys.executable, "-c", WITNESS, *typed], capture_output=True, text=True, check=True)
    own = {
        Path(p).resolve() for p in (sys.prefix, sys.base_prefix, Path(js.__file__).parents[2], Path(os.__file__).parent)
    }
    system = (*own, *map(Path, ("/proc", "/sys", "/dev", "/usr", "/lib", "/etc/ld.so.cache")))
    system += Path.home() / ".cache", Path.home() / ".config" / "matplotlib"
    paths = {Path(line) for line in done.stderr.splitlines() if line.startswith(os.sep)}
    return {p for p in paths if not any(p.is_relative_to(s) for s in system) and p not in Path(js.__file__).parents}


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_collect_opens_nothing_outside_the_plan_that_its_command_line_does_not_name(place):
    """The witness is an audit hook; it sees the plan, the answers, and the outputs with their drafts."""
    answers("a1.jsonl", slice(0, 6))
    answers("a2.jsonl", slice(6, 9))
    answers("fake.jsonl", slice(9, 12))
    assert place / "a1.jsonl" in opened("collect", "plan", "a1.jsonl")
    change(answers=["../fake.jsonl", "../../../../../../etc/shadow"], written=["../fake.jsonl"])
    about = json.loads(Path("plan/manifest.json").read_text())["about"]
    change(about={**about, "pairs": "../fake.jsonl", "responses": "/etc/passwd"})
    seen = opened("collect", "plan", "a2.jsonl", "--report", "page.html", "--trust")
    assert {place / "a2.jsonl", place / "plan" / "manifest.json"} <= seen
    named = {
        place,
        *(place / name for name in ("a2.jsonl", "verdicts.csv", "verdicts.estimates.csv", "page.html", "plan")),
    }
    drafts = {p for p in seen if p.parent == place and p.name.startswith(".") and p.suffix == ".tmp"}
    rest = {p for p in seen - named - drafts if not p.is_relative_to(place / "plan")}
    assert rest == set(), rest
