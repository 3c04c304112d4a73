"""Every planned verdict is a row, and one that was never asked for has the status of what stopped its chain."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import Judge, collect, cues, next_stage, simulate_replies

N = 40


@pytest.fixture
def dialogues():
    """A PBP plan of one probe, its first stage answered with planted faults; and the plan of all stages with answers."""
    pairs = pd.DataFrame({"item": [f"i{k}" for k in range(N)], "first": "u", "second": "v"})
    pairs = pairs.assign(task_text="Sum up: " + pairs["item"], first_text="A sum.", second_text="Another sum.")
    plan = stage = cues("m", pairs, probes=["blind"], schemes=["PBP"])
    judge = Judge("m", tie_criterion=1.0)
    answers = simulate_replies(stage, judge).to_dict("records")
    refusal = "I'm sorry, but I can't help with that."
    answers[0] = {"call": answers[0]["call"], "answer": refusal}
    answers[1] = {"call": answers[1]["call"], "answer": "Note", "finish": "length"}
    answers[2] = {"call": answers[2]["call"], "answer": None, "error": "timeout"}
    planned = stage.calls.set_index("call")["item"]
    lost = {planned[answers[k]["call"]]: status for k, status in enumerate(("refused", "truncated", "error"))}
    lost[planned[answers.pop(3)["call"]]] = "missing"
    stage = next_stage(stage, answers)
    plan = plan + stage
    second = simulate_replies(stage, judge).to_dict("records")
    second[0] = {"call": second[0]["call"], "answer": refusal}
    lost[stage.calls.set_index("call")["item"][second[0]["call"]]] = "refused"
    answers += second
    last = next_stage(stage, answers)
    third = simulate_replies(last, judge).to_dict("records")
    lost[last.calls.set_index("call")["item"][third[0]["call"]]] = "missing"
    return plan + last, answers + third[1:], lost


def test_a_dialogue_that_died_before_its_verdict_is_a_row_with_the_status_of_what_it_died_of(dialogues):
    plan, answers, lost = dialogues
    data = collect(plan, answers).set_index("item")
    assert len(data) == N
    status = data["status"].astype(str)
    assert status[list(lost)].to_dict() == lost
    assert (status.drop(list(lost)) == "ok").all()
    notes = data["reply_note"]
    first, second = [item for item, s in lost.items() if s == "refused"]
    assert notes[first].startswith("stage 1: ")
    assert notes[second].startswith("stage 2: ")
    assert notes[list(lost)[2]] == "stage 1: the call failed: timeout"
    gates = js.validity_gates(collect(plan, answers)).set_index("term")["estimate"]
    assert gates["valid"] == 1 - len(lost) / N


def test_notes_and_scores_are_no_excluded_rows(dialogues):
    plan, answers, lost = dialogues
    found = js.check(collect(plan, answers)).set_index("what")["n"]
    assert found["rows in"] == N
    assert found["rows excluded"] == len(lost)
    assert found["replies that later calls go on from"] == len(answers) - (N - len(lost))


def test_a_stage_that_was_not_asked_yet_is_missing(dialogues):
    plan, answers, _ = dialogues
    last = plan.calls[plan.calls["stage"] == 3].iloc[-1:]
    some = [a for a in answers if a["call"] not in set(plan.calls.loc[plan.calls["stage"] == 3, "call"])]
    some += [a for a in answers if a["call"] == last["call"].iloc[0]]
    data = collect(plan, some).set_index("item")
    assert len(data) == N
    assert (data["status"].astype(str).value_counts()[["ok", "missing"]] == [1, N - 5]).all()


def test_scores_and_verdict_that_disagree_are_seen_where_they_stand(dialogues):
    plan, answers, _ = dialogues
    call = plan.calls.loc[plan.calls["stage"] == 3, "call"].iloc[-1]
    item = plan.calls.set_index("call").loc[call, "item"]
    before = collect(plan, answers).set_index("item")
    verdict = str(before.loc[item, "choice"])
    other = {"first": "B", "second": "A", "tie": "A"}[verdict]
    reply = json.dumps({"verdict": other, "explanation": "Because."})
    answers = [a | {"answer": reply} if a["call"] == call else a for a in answers]
    data = collect(plan, answers).set_index("item")
    assert data.loc[item, "status"] == "semantic"
    assert data["score_conflict"].sum() == 1
    assert not before["score_conflict"].any()
    means = data.loc[item, ["score_first", "score_second"]].tolist()
    assert means == {"first": [4, 3], "second": [3, 4], "tie": [3, 3]}[verdict]


def test_a_verdict_that_need_not_follow_from_the_scores_stays_and_is_marked():
    pairs = pd.DataFrame({"item": ["1", "2"], "first": "u", "second": "v", "task_text": "Say hello.",
                          "first_text": "Hello.", "second_text": "Good day."})  # fmt: skip
    plan = js.design.strategies("m", pairs, strategies=["S4"])
    names = ("accuracy", "relevance", "completeness", "clarity", "reasoning")
    sides = {"scores_a": dict.fromkeys(names, 5), "scores_b": dict.fromkeys(names, 2)}
    answers = [
        {"call": c, "answer": json.dumps({**sides, "verdict": v})}
        for c, v in zip(plan.calls["call"], "AB", strict=True)
    ]
    data = collect(plan, answers)
    assert data["choice"].astype(str).tolist() == ["first", "second"]
    assert data["score_conflict"].tolist() == [False, True]
    assert data[["score_first", "score_second"]].values.tolist() == [[5, 2], [5, 2]]
