"""Plan, answers in the format of each runner with failures planted, verdicts: every call accounted for."""

from __future__ import annotations

import csv
import json
from typing import Any

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import (
    Judge,
    Plan,
    collect,
    collecting,
    dark_current,
    export,
    ladder,
    remaining,
    rubric,
    simulate,
    simulate_replies,
    vacuum,
)
from judgestats.errors import DesignError, SchemaError

JUDGE = Judge("m", sensitivity=1.5, tie_criterion=1.0, slot_bias=0.5)


def openai(call: str, answer: str | None) -> dict[str, Any]:
    """A line of the output of OpenAI's batch endpoint."""
    if answer is None:
        return {
            "id": "b",
            "custom_id": call,
            "response": None,
            "error": {"code": "batch_expired", "message": "expired"},
        }
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}
    return {"id": "b", "custom_id": call, "response": {"status_code": 200, "body": body}, "error": None}


def anthropic(call: str, answer: str | None) -> dict[str, Any]:
    """A line of the results of Anthropic's message batches."""
    if answer is None:
        return {"custom_id": call, "result": {"type": "errored", "error": {"type": "overloaded_error"}}}
    message = {"role": "assistant", "content": [{"type": "text", "text": answer}], "stop_reason": "end_turn"}
    return {"custom_id": call, "result": {"type": "succeeded", "message": message}}


def inspect(call: str, answer: str | None) -> dict[str, Any]:
    """A sample of an Inspect AI log."""
    choices = [] if answer is None else [{"message": {"role": "assistant", "content": answer}, "stop_reason": "stop"}]
    return {"id": call, "epoch": 1, "input": "", "messages": [], "output": {"model": "m", "choices": choices}}


def promptfoo(call: str, answer: str | None) -> dict[str, Any]:
    """A result of promptfoo."""
    response = {"output": answer} if answer is not None else {"error": "timeout"}
    return {"vars": {"call": call}, "response": response, "success": answer is not None}


def plain(call: str, answer: str | None) -> dict[str, Any]:
    """A line of our own table."""
    return {"call": call, "answer": answer, "error": None if answer is not None else "timeout"}


def written(path: Any, form: str, replies: pd.DataFrame) -> Any:
    """The answers as the runner writes them."""
    make = {
        "openai": openai,
        "anthropic": anthropic,
        "inspect": inspect,
        "promptfoo": promptfoo,
        "jsonl": plain,
        "csv": plain,
    }
    texts = replies["answer"].astype(object).where(replies["answer"].notna(), None)
    records = [make[form](c, a) for c, a in zip(replies["call"], texts, strict=True)]
    if form == "csv":
        with path.open("w", newline="") as out:
            writer = csv.DictWriter(out, ["call", "answer", "error"])
            writer.writeheader()
            writer.writerows(records)
    elif form == "inspect":
        path.write_text(json.dumps({"version": 2, "status": "success", "eval": {}, "samples": records}))
    elif form == "promptfoo":
        path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": records, "stats": {}}}))
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


@pytest.mark.parametrize("form", ["openai", "anthropic", "inspect", "promptfoo", "jsonl", "csv"])
def test_a_round_trip_gives_the_verdicts_that_the_judge_gave(form, tmp_path):
    plan = dark_current("m")
    assert all(p.exists() for p in export(plan, tmp_path, form))
    true = simulate(plan.calls, JUDGE, seed=5).set_index("call")["choice"].astype(str)
    replies = simulate_replies(plan, JUDGE, error=0.03, refused=0.03, unreadable=0.06, seed=5)
    path = written(tmp_path / ("answers.csv" if form == "csv" else "answers.json" if form in ("inspect", "promptfoo") else "answers.jsonl"), form, replies)  # fmt: skip
    data = collect(plan.write(tmp_path / "plan"), path)
    assert len(data) == len(plan)
    status = data.set_index("call")["status"].astype(str)
    assert (status == "error").sum() == replies["answer"].isna().sum() > 0
    assert (status == "refused").sum() == replies["answer"].fillna("").str.contains("sorry").sum() > 0
    sound = data[data["status"] == "ok"].set_index("call")["choice"].astype(str)
    assert 500 < len(sound) < len(plan)
    assert sound.to_dict() == true[sound.index].to_dict()
    assert (data.loc[data["status"] != "ok", "choice"] == "invalid").all()
    assert js.check(data).set_index("what").loc["rows in", "n"] == len(plan)
    assert remaining(plan, path).calls["call"].tolist() == replies.loc[replies["answer"].isna(), "call"].tolist()


def test_every_answer_is_accounted_for():
    plan = vacuum("m", calls=12)
    calls = plan.calls["call"].tolist()
    messages = {c: user for c, _, user in plan.messages()}
    answers = [
        {"call": calls[0], "answer": "A"},
        {"call": calls[1], "answer": "tie", "user": messages[calls[1]]},
        {"call": calls[2], "answer": "tie", "user": messages[calls[2]].replace("better", "worse")},
        {"call": calls[0], "answer": "B"},
        {"call": "0123456789abcdef", "answer": "B"},
        {"call": calls[3], "answer": None, "error": "timeout"},
        {"call": calls[3], "answer": "tie"},
        {"call": calls[4], "answer": None, "error": "timeout"},
    ]
    data = collect(plan, answers)
    assert data.set_index("call")["choice"].astype(str).to_dict() == {
        calls[0]: "first", calls[1]: "tie", calls[3]: "tie", calls[4]: "invalid",
    }  # fmt: skip
    found = js.check(data).set_index("what")
    assert found.loc["the call was answered before", "where"] == "answers, record 4"
    assert found.loc["the message sent is not that of the plan", "where"] == "answers, record 3"
    assert found.loc["the call is not of this plan", "where"] == "answers, record 5"
    assert found.loc["the call failed and was answered later", "where"] == "answers, record 6"
    assert found.loc["no answer came back", "n"] == 8
    assert found.loc["rows in", "n"] == 4 + 4 + 8
    assert set(remaining(plan, answers).calls["call"]) == set(calls) - {calls[0], calls[1], calls[3]}


def test_answers_of_another_plan_and_odd_records_are_refused(tmp_path):
    plan, other = vacuum("m", calls=6), vacuum("n", calls=6)
    with pytest.raises(DesignError, match="None of the 6 answers belongs to a call of the plan"):
        collect(plan, simulate_replies(other, Judge("n")).to_dict("records"))
    with pytest.raises(SchemaError, match=r"record 1: this is no answer to a call. It has: id, text"):
        collect(plan, [{"id": 3, "text": "A"}])
    with pytest.raises(DesignError, match="holds no plan"):
        collect(tmp_path, [{"call": "x", "answer": "A"}])
    with pytest.raises(DesignError, match="not shares"):
        simulate_replies(plan, Judge("m"), error=0.7, refused=0.7)


def test_the_json_of_a_reply_is_read_once_for_all_criteria(monkeypatch):
    texts = pd.DataFrame({"item": "1", "system": ["s", "t"], "task_text": "Explain.", "response_text": ["u", "v"]})
    plan = rubric("m", texts, replicates=5)
    read = []
    once = collecting.json_objects
    monkeypatch.setattr(collecting, "json_objects", lambda text: read.append(text) or once(text))
    replies = simulate_replies(plan, Judge("m", noise=3.0), unreadable=0.1, seed=2).to_dict("records")
    data = collect(plan, replies)
    assert len(data) == 5 * 20
    assert len(read) == len({r["answer"] for r in replies})
    for score, row in zip(data["score"], data.to_dict("records"), strict=True):
        answer = next(r["answer"] for r in replies if r["call"] == row["call"])
        given = json.loads(answer)["scores"][row["criterion"]] if answer.startswith('{"scores') else None
        assert score == given if given is not None else score != score


def test_answers_to_part_of_a_plan_leave_a_plan_that_completes_it():
    plan = ladder("m", different_subset=0, filler=0)
    replies = simulate_replies(plan, JUDGE, seed=1).to_dict("records")
    rest = remaining(plan, replies[:100])
    assert isinstance(rest, Plan)
    more = simulate_replies(rest, JUDGE, seed=1).to_dict("records")
    assert len(collect(plan, replies[:100] + more)) == len(plan)


@pytest.mark.slow
def test_planted_rates_lie_in_their_intervals():
    """Plan, replies with failures, collect, datasheet: 95 % intervals of the planted rates hold in most of 40 runs."""
    plan = vacuum("m")
    held = 0
    for seed in range(40):
        judge = Judge("m", dark_current=0.2)
        replies = simulate_replies(plan, judge, error=0.02, unreadable=0.02, seed=seed).to_dict("records")
        row = js.dark_current(collect(plan, replies)).iloc[0]
        held += row["conf_low"] <= 0.2 <= row["conf_high"]
    assert held >= 34
