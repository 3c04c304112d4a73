"""``judgestats plan``."""

import shutil
from itertools import count
from pathlib import Path

import pandas as pd
import pytest

from command_line import run, words
from judgestats.cli import app


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
    made = run.invoke(app, ["plan", "debiasing", "--judge", "m", "--controlled", "six.csv", "--out", "other"])
    assert made.exit_code == 0, made.output
    calls = Plan.read("other").calls
    assert calls["bias"].unique().tolist() == ["position"]
    assert calls["strategy"].value_counts().to_dict() == {"S2": 3, "S1": 2, "S8": 2, "B0": 1, "S4": 1, "S5": 1}
    for wrong, said in (
        (["plan", "debiasing", "--judge", "m"], "needs --pairs FILE"),
        (["plan", "vacuum", "--judge", "m", "--pairs", "pairs.csv"], "--pairs is not an option of the study 'vacuum'"),
        ([*asked, "--prompt", "pairwise"], "--prompt is not an option of the study 'debiasing'"),
    ):
        found = run.invoke(app, wrong)
        assert found.exit_code == 2
        assert said in words(found)


@pytest.mark.slow
def test_texts_to_be_written_and_ratings_are_planned(tmp_path, monkeypatch):
    """Both steps of the texts to be written, and a rubric by its file."""
    from judgestats.design import Judge, Plan, generations, simulate_replies

    monkeypatch.chdir(tmp_path)
    asked = ["plan", "debiasing", "--judge", "j", "--writer", "writer", "--models", "gpt,claude"]
    made = run.invoke(app, asked)
    assert made.exit_code == 0, made.output
    assert "225 calls, and 2\u202f800 that come after them" in made.output
    plan = Plan.read("plan")
    assert plan.calls["call"].tolist() == generations("writer", models=["gpt", "claude"]).calls["call"].tolist()
    judges = [Judge(n) for n in ("writer", "gpt", "claude")]
    simulate_replies(plan, judges).to_json("answers.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "answers.jsonl"])
    assert done.exit_code == 0, done.output
    second = Plan.read("plan/stage2")
    assert second.calls["role"].dropna().unique().tolist() == ["expanded"]
    assert set(second.calls["bias"].dropna()) == {"position", "style", "model_origin", "truncation"}
    table = pd.DataFrame({"item": "r", "system": ["s", "t"], "task_text": "Explain.", "response_text": ["u", "v"]})
    table.to_csv("responses.csv", index=False)
    rated = ["plan", "rubric", "--judge", "m", "--responses", "responses.csv", "--by", "summary", "--out", "rated"]
    made = run.invoke(app, [*rated, "--format", "form"])
    assert made.exit_code == 0, made.output
    assert len(Plan.read("rated")) == 40
    assert (tmp_path / "rated" / "form.m.csv").exists()
    for wrong, said in (
        (["debiasing", "--judge", "a", "--models", "b,c"], "needs --pairs FILE"),
        (["debiasing", "--judge", "a", "--controlled", "six.csv", "--models", "b,c"], "Give writer=, too"),
        (["vacuum", "--judge", "m", "--seed", "3"], "--seed is not an option of the study 'vacuum'"),
        (["rubric", "--judge", "m"], "needs --responses FILE"),
    ):
        found = run.invoke(app, ["plan", *wrong, "--out", "no"])
        assert found.exit_code == 2
        assert said in words(found)


class _Killed(BaseException):
    """The process ends here: nothing is tidied up."""


def killed(monkeypatch, number: int, *asked: str) -> bool:
    """Run a command that is killed before the file with this number takes its place; whether it had so many files."""
    numbers, replace = count(1), Path.replace

    def until(path, target):
        if next(numbers) == number:
            raise _Killed
        return replace(path, target)

    with monkeypatch.context() as dying:
        dying.setattr(Path, "replace", until)
        dying.setattr(Path, "unlink", lambda *_, **__: None)
        dying.setattr(shutil, "rmtree", lambda *_, **__: None)
        try:
            assert run.invoke(app, list(asked)).exit_code == 0
        except _Killed:
            return True
    return False


def files(folder: Path) -> dict[str, bytes]:
    """What a folder holds, but for drafts that a kill left."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and ".tmp" not in str(p)
    }


@pytest.mark.parametrize("there", [False, True])
def test_after_a_kill_between_two_files_the_same_command_goes_on(there, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["plan", "vacuum", "--judge", "g", "--judge", "h", "--format", "openai", "--out"]
    assert run.invoke(app, [*asked, "whole"]).exit_code == 0
    whole = files(Path("whole"))
    assert set(whole) >= {"manifest.json", "calls.openai.g.jsonl", "calls.openai.h.jsonl"}
    deaths = 0
    for number in count(1):
        if there:
            Path(f"plan{number}").mkdir()
        if not killed(monkeypatch, number, *asked, f"plan{number}"):
            break
        deaths += 1
        done = run.invoke(app, [*asked, f"plan{number}"])
        assert done.exit_code == 0, done.output
        assert files(Path(f"plan{number}")) == whole
    assert deaths == (len(whole) if there else 1)


def test_after_a_kill_collect_goes_on_with_every_answer(tmp_path, monkeypatch):
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    both = pd.DataFrame({"item": ["1", "1", "2", "2"], "system": ["u", "v"] * 2, "task_text": "Say hello."})
    both.assign(response_text="Hello " + both.index.astype(str)).to_csv("responses.csv", index=False)
    asked = ["plan", "merg", "--responses", "responses.csv", "--judge", "g", "--judge", "h", "--format", "openai"]
    assert run.invoke(app, asked).exit_code == 0
    said = simulate_replies(Plan.read("plan"), [Judge("g"), Judge("h")])
    said.iloc[:-2].to_json("answers.jsonl", orient="records", lines=True)
    shutil.copytree("plan", "before")
    collected = ["collect", "plan", "answers.jsonl"]
    assert run.invoke(app, collected).exit_code == 0
    whole = files(Path("plan"))
    assert {"stage2/manifest.json", "rest/manifest.json"} <= set(whole)
    deaths = 0
    for number in count(1):
        for path in Path().glob("plan"):
            shutil.rmtree(path)
        shutil.copytree("before", "plan")
        if not killed(monkeypatch, number, *collected):
            break
        deaths += 1
        done = run.invoke(app, collected)
        assert done.exit_code == 0, done.output
        assert files(Path("plan")) == whole
    assert deaths == 4  # the copy of the answers, its entry in the manifest, the rest, the stage
