"""All that a prompt asks for comes back: each part of a reply is a row, of every stage and study."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from judgestats.design import Judge, build, cues, next_stage, reply_parts, rubric, simulate_replies, strategies

PAIRS = pd.DataFrame({"item": ["1"], "first": "u", "second": "v", "task_text": "Say hello.",
                      "first_text": "Hello.", "second_text": "Good day."})  # fmt: skip
TEXTS = pd.DataFrame({"item": "1", "system": ["s"], "task_text": "Explain.", "response_text": "r"})


def parts_of(plan, reply):
    return reply_parts(
        plan, [{"call": plan.calls["call"][0], "answer": reply if isinstance(reply, str) else json.dumps(reply)}]
    )


def test_strengths_weaknesses_and_reasons_of_a_rating():
    plan = rubric("m", TEXTS, arms=["anonymized"], replicates=1)
    names = plan.prompts["rubric"].criteria
    reply = {"scores": dict.fromkeys(names, 7), "reasons": {n: f"on {n}" for n in names},
             "strengths": ["Clear.", "Short."], "weaknesses": ["Dry."]}  # fmt: skip
    found = parts_of(plan, reply)
    assert found.groupby("part", sort=False).size().to_dict() == {
        "scores": 5,
        "reasons": 5,
        "strengths": 2,
        "weaknesses": 1,
    }
    assert found[found["part"] == "strengths"][["place", "text"]].values.tolist() == [[1, "Clear."], [2, "Short."]]
    assert found[found["part"] == "reasons"].set_index("criterion")["text"].to_dict() == {n: f"on {n}" for n in names}
    assert set(found["system"]) == {"s"}


def test_scores_of_both_candidates_go_with_the_candidate_in_either_order():
    names = ("accuracy", "relevance", "completeness", "clarity", "reasoning")
    plan = strategies("m", PAIRS, strategies=["S8"])
    sides = {"scores_a": dict.fromkeys(names, 5), "scores_b": dict.fromkeys(names, 2)}
    answers = [
        {"call": c, "answer": json.dumps({"reasons": "Why.", **sides, "verdict": "A"})} for c in plan.calls["call"]
    ]
    scores = reply_parts(plan, answers).query("part == 'scores'")
    assert len(scores) == 2 * 10
    shown_first = scores[scores["response"] == scores["first"]]
    assert set(shown_first["value"]) == {5}
    assert shown_first["response"].value_counts().to_dict() == {"u": 5, "v": 5}


def test_notes_and_quotations_of_a_dialogue_come_back_with_its_scores():
    plan = stage = cues("m", PAIRS, probes=["blind"], schemes=["PBP"])
    answers = simulate_replies(stage, Judge("m")).to_dict("records")
    while len(stage.later):
        stage = next_stage(stage, answers)
        plan, answers = plan + stage, answers + simulate_replies(stage, Judge("m")).to_dict("records")
    found = reply_parts(plan, answers)
    assert found.groupby(["stage", "part", "field"]).size().to_dict() == {
        (1, "notes", "note"): 8, (1, "notes", "quotation"): 8, (2, "scores", ""): 8, (3, "explanation", ""): 1, (3, "verdict", ""): 1,
    }  # fmt: skip
    notes = found[found["field"] == "quotation"]
    assert notes.groupby("response")["text"].unique().map(list).to_dict() == {"u": ["Hello."], "v": ["Good day."]}
    assert set(notes["criterion"]) == {"accuracy", "completeness", "conciseness", "fluency"}


def test_evidence_and_confidence_and_whatever_else_a_prompt_asks_for():
    plan = build(PAIRS, judges="m", orders="as given")
    entry = {"dimension": "Dread", "evidence": "the fog", "score": 8}
    reply = {"scores": [entry], "confidence": 0.7, "signs": {"good": ["a", "b"]}, "sure": True, "verdict": "A"}
    found = parts_of(plan, reply).fillna({"value": -1})
    assert found[["part", "field", "criterion", "place", "value"]].values.tolist() == [
        ["scores", "evidence", "Dread", 1, -1], ["scores", "score", "Dread", 1, 8], ["confidence", "", "", 0, 0.7],
        ["signs", "good", "", 1, -1], ["signs", "good", "", 2, -1], ["sure", "", "", 0, -1], ["verdict", "", "", 0, -1],
    ]  # fmt: skip


def test_points_and_lines_of_a_reply_without_json():
    plan = rubric("m", TEXTS, arms=["anonymized"], replicates=1)
    reply = (
        "**Accuracy: 8.2 +/- 0.3** - covers it.\n\n### 3. Strengths\n- Clear.\n- Short.\n\n### 4. Weaknesses\n* Dry.\n"
    )
    found = parts_of(plan, reply)
    assert found[["part", "text"]].values.tolist() == [
        ["scores", "covers it."], ["strengths", "Clear."], ["strengths", "Short."], ["weaknesses", "Dry."],
    ]  # fmt: skip
    assert found["value"].iloc[0] == pytest.approx(8.2)
