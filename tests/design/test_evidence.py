"""The evidence lock: each fault planted in the replies of one dialogue is found, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
import pytest

from judgestats.design import Judge, Plan, cues, evidence_lock, next_stage, simulate_replies
from judgestats.errors import DesignError

CRITERIA = ("accuracy", "completeness", "conciseness", "fluency")
PAIRS = pd.DataFrame(
    {
        "item": ["1"], "first": "u", "second": "v", "task_text": "Sum up: Sales in Peru rose by 3 % in the last year.",
        "first_text": ["Sales rose by 3 % in Peru."], "second_text": ["In Peru, more was sold last year."],
    }
)  # fmt: skip
Replies = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


def kept() -> Replies:
    """Replies of a judge who keeps to the notes."""
    quotes = {"A": "Sales rose by 3 %", "B": "more was SOLD, last year"}
    notes = [
        {"response": s, "criterion": c, "note": f"On {c} it is plain and short enough.", "quotation": q}
        for s, q in quotes.items()
        for c in CRITERIA
    ]
    scores = {"A": dict.fromkeys(CRITERIA, 4), "B": dict.fromkeys(CRITERIA, 3)}
    verdict = {"verdict": "A", "explanation": 'The notes say "it is plain and short enough" of A.'}
    return {"notes": notes}, {"scores": scores}, verdict


def lock(change: Callable[[Any, Any, Any], None], **options: Any) -> pd.Series:
    """The row of a dialogue whose replies are changed."""
    replies = kept()
    change(*replies)
    plan = cues("m", PAIRS, probes=["blind"], schemes=["PBP"], orders="as given")
    whole, stage, answers = plan, plan, []
    for i, reply in enumerate(replies):
        answers.append({"call": stage.calls["call"][0], "answer": json.dumps(reply)})
        if i < 2:
            stage = next_stage(stage, answers)
            whole = whole + stage
    return evidence_lock(whole, answers, **options).iloc[0]


def nothing(notes: Any, scores: Any, verdict: Any) -> None:
    pass


@cache
def without_fault():
    return lock(nothing)


def test_a_judge_who_keeps_to_the_notes_is_without_fault():
    row = without_fault()
    assert row["held"]
    assert row[["quotes", "quotes_absent", "notes_without_quote", "scores_without_note", "new_quotes"]].tolist() == [
        8, 0, 0, 0, 0,
    ]  # fmt: skip
    assert (row["score_first"], row["score_second"], row["score_conflict"], row["early_verdict"]) == (
        4,
        3,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("change", "column", "value"),
    [
        (lambda n, s, v: n["notes"][0].update(quotation="Sales rose by 4 %"), "quotes_absent", 1),
        (lambda n, s, v: n["notes"][2].update(quotation=""), "notes_without_quote", 1),
        (lambda n, s, v: n["notes"].pop(), "scores_without_note", 1),
        (lambda n, s, v: n["notes"][0].update(note="Response A is clearly better."), "early_verdict", True),
        (lambda n, s, v: n.update(verdict="B"), "early_verdict", True),
        (lambda n, s, v: n.update(scores={"A": 1}), "early_verdict", True),
        (lambda n, s, v: v.update(explanation='It says "in the last year of the boom".'), "new_quotes", 1),
        (lambda n, s, v: v.update(verdict="B"), "score_conflict", True),
        (lambda n, s, v: v.update(verdict="tie"), "score_conflict", True),
        (lambda n, s, v: s["scores"]["B"].update(fluency=7), "score_conflict", True),  # equal means, verdict A
    ],
)
def test_each_fault_is_found(change, column, value):
    row = lock(change)
    assert row[column] == value
    assert not row["held"]
    sound = without_fault()
    others = {
        "quotes_absent",
        "notes_without_quote",
        "scores_without_note",
        "early_verdict",
        "new_quotes",
        "score_conflict",
    }
    assert {c for c in others if row[c] != sound[c]} == {column}


def test_weights_and_a_margin_make_the_verdict_of_the_scores():
    def scores(n: Any, s: Any, v: Any) -> None:
        s["scores"] = {"A": dict.fromkeys(CRITERIA, 3), "B": {**dict.fromkeys(CRITERIA, 3), "accuracy": 5}}
        v["verdict"] = "B"

    assert not lock(scores)["score_conflict"]
    row = lock(scores, weights={"accuracy": 0, "completeness": 1, "conciseness": 1, "fluency": 2})
    assert (row["score_second"], row["score_conflict"]) == (3.0, True)
    assert lock(scores, margin=0.5)["score_conflict"]
    assert not lock(scores, margin=0.49)["score_conflict"]
    with pytest.raises(DesignError, match="no weight of 'completeness'"):
        lock(scores, weights={"accuracy": 1, "conciseness": 1, "fluency": 1})


def test_unreadable_turns_are_missing_and_not_held():
    row = lock(lambda n, s, v: (s.clear(), n.clear()))
    assert pd.isna(row["score_conflict"])
    assert pd.isna(row["scores_without_note"])
    assert not row["held"]


def test_a_simulated_judge_keeps_to_its_notes():
    pairs = pd.concat([PAIRS.assign(item=str(i)) for i in range(12)], ignore_index=True)
    plan = stage = cues("m", pairs, schemes=["PBP"])
    judge = Judge("m", tie_criterion=0.5, label_susceptibility=1.0)
    answers = simulate_replies(plan, judge).to_dict("records")
    while len(stage.later):
        stage = next_stage(stage, answers)
        answers += simulate_replies(stage, judge).to_dict("records")
        plan = plan + stage
    found = evidence_lock(plan, answers)
    assert found.groupby("probe").size().to_dict() == {"blind": 12, "flip": 12, "placebo": 12, "truth": 12}
    assert found["held"].all()
    assert (found["score_first"] > found["score_second"]).any()


def test_a_plan_without_such_dialogues_is_refused():
    plan: Plan = cues("m", PAIRS, schemes=["Baseline"])
    with pytest.raises(DesignError, match="No dialogue of the plan has notes"):
        evidence_lock(plan, [{"call": plan.calls["call"][0], "answer": "A"}])
