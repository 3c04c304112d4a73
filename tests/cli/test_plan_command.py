"""``judgestats plan``."""

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
        assert said in words(found)


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
        assert said in words(found)
