"""``judgestats next``: studies in stages."""

import pandas as pd
import pytest

from command_line import run, words
from judgestats.cli import app


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
            assert f"Then: judgestats {'next' if stage > 1 else 'collect'} plan ANSWERS" in made.output
            made = run.invoke(app, ["next", "plan", "answers*.jsonl"])
            assert made.exit_code == 0, made.output
            asked = Plan.read(f"plan/stage{stage + 1}")
    assert "Then: judgestats collect plan ANSWERS" in made.output
    done = run.invoke(app, ["collect", "plan", "answers*.jsonl"])
    assert done.exit_code == 0, done.output
    assert "30 rows: 30 used, 0 excluded" in done.output
    found = pd.read_csv("verdicts.csv")
    assert found.groupby(["scheme", "probe"]).size().tolist() == [2] * 15
    more = run.invoke(app, ["next", "plan", "answers*.jsonl"])
    assert "no later stage" in words(more)
    lacking = run.invoke(app, ["plan", "cues", "--judge", "m"])
    assert "needs --pairs FILE" in words(lacking)
    too_much = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--pairs", "pairs.csv"])
    assert "--pairs is not an option of the study" in words(too_much)


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
    assert "needs --responses FILE" in words(run.invoke(app, ["plan", "merg", "--judge", "m"]))
    wrong = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--variant", "5-dim-per-dim"])
    assert "--variant is not an option of the study 'vacuum'" in words(wrong)
    wrong = run.invoke(app, [*command, "--prompt", "merg_scores"])
    assert "--prompt is not an option of the study 'merg'" in words(wrong)
