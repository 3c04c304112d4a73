"""Scores in lines of their own, token counts, and the texts shown: what comes back besides the verdict."""

from __future__ import annotations

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import collect, cues, rubric, vacuum
from judgestats.design.reply_contents import criterion_marks

TEXTS = pd.DataFrame({"item": "1", "system": ["s"], "task_text": "Explain.", "response_text": ["r"]})
#: The reply that merchant_risk, App. A asks for, with its five bullets.
BULLETS = """### 1. Criterion Scores
- **Accuracy: 8.2 +/- 0.3** - it covers fraud and returns.
- **Quality: 7.9 ± 0.4** - clear: one step at a time.
- **Consistency: 9.0 +/- 0.1** - no contradiction.
- **Completeness: 8.4 +/- 0.0** - 21 of 25 points.
- **Usefulness: 7 +/- 0.5** - some detail is missing.

### 2. Final Total Score
- **Final Stabilized Score: 8.1 +/- 0.2**
"""


def test_runs_reported_in_one_reply_are_read_by_criterion_and_flagged():
    plan = rubric("m", TEXTS, arms=["anonymized"], replicates=1)
    data = collect(plan, [{"call": plan.calls["call"][0], "answer": BULLETS}]).set_index("criterion")
    assert data["score"].to_dict() == pytest.approx(
        {"accuracy": 8.2, "quality": 7.9, "consistency": 9.0, "completeness": 8.4, "usefulness": 7.0}
    )
    assert data["sd"].to_dict() == pytest.approx(
        {"accuracy": 0.3, "quality": 0.4, "consistency": 0.1, "completeness": 0.0, "usefulness": 0.5}
    )
    assert set(data["reply_note"]) == {"self-reported runs"}
    assert data.loc["quality", "rationale"] == "clear: one step at a time."


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Accuracy: 8\nClarity: 7/10, mostly", {"Accuracy": 8, "Clarity": 7}),
        ("1. **Accuracy** (0-10): 8 - good\n2. **Clarity** (0-10): 6.5 - fair", {"Accuracy": 8, "Clarity": "6.5"}),
        ("Accuracy: 8\nAccuracy: 3\nClarity: 5", {"Clarity": 5}),  # two scores of one criterion are none
        ("Accuracy: 8 or 9 of it", {"Accuracy": 8}),
        ("The accuracy is 8 and so is the clarity.", {}),
        ('{"note": "Accuracy: 8"}\nAccuracy: 8', {}),  # what has JSON is read by its JSON
        ("Overall accuracy: 8", {"Accuracy": 8}),  # the one line that has the words
        ("Overall accuracy: 8\nFactual accuracy: 4", {}),
    ],
)
def test_a_line_of_a_criterion_and_what_is_none(text, marks):
    read = criterion_marks(text, ["Accuracy", "Clarity"])
    assert {c: score for c, (score, _) in read.items() if score is not None} == marks


def test_tokens_come_back_where_the_runner_has_them():
    plan = vacuum("m", calls=12)
    calls = plan.calls["call"].tolist()
    choice = {"message": {"content": "A"}, "finish_reason": "stop"}
    body = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 5}}
    message = {"content": "A", "usage": {"input_tokens": 90, "output_tokens": 4}}
    usage = {"choices": [choice], "usage": {"input_tokens": 80, "output_tokens": 3}}
    found = {"output": "A", "tokenUsage": {"prompt": 70, "completion": 2}}
    answers = [
        {"custom_id": calls[0], "response": {"body": body}},
        {"custom_id": calls[1], "result": {"type": "succeeded", "message": message}},
        {"id": calls[2], "output": usage},
        {"vars": {"call": calls[3]}, "response": found},
        {"call": calls[4], "answer": "A", "input_tokens": 60, "output_tokens": "1"},
        {"call": calls[5], "answer": "A"},
    ]
    data = collect(plan, answers).set_index("call").loc[calls[:6]]
    assert data["input_tokens"].fillna(-1).tolist() == [100, 90, 80, 70, 60, -1]
    assert data["output_tokens"].fillna(-1).tolist() == [5, 4, 3, 2, 1, -1]
    priced = data.reset_index().head(5)
    cost = js.evaluation_cost(priced, prices={"m": (1e6, 0.0)})
    assert cost["estimate"].iloc[0] * cost["n"].iloc[0] == pytest.approx(400)
    assert "input_tokens" not in collect(plan, answers[5:])


def test_texts_come_back_for_a_heuristic_of_equal_content():
    pairs = pd.DataFrame({"item": ["1", "2"], "first": "u", "second": "v", "task_text": "Sum up.",
                          "first_text": ["Same.", "One."], "second_text": ["Same.", "Two."]})  # fmt: skip
    plan = cues("m", pairs, probes=["blind"], schemes=["Baseline"])
    reply = '{"verdict": "tie", "explanation": "Alike."}'
    data = collect(plan, [{"call": c, "answer": reply} for c in plan.calls["call"]], texts=True)
    found = js.anchoring(data, equal=lambda one, two: one == two)
    edr = found[found["term"] == "equality_detection"].iloc[0]
    assert (edr["estimate"], edr["n"]) == (1, 1)
    assert "text_first" not in collect(plan, [{"call": plan.calls["call"][0], "answer": reply}])
