"""Plan, answers in the format of each runner with failures planted, verdicts: every call accounted for, and every planned
verdict a row; one that was never asked for has the status of what stopped its chain.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import (
    Judge,
    Plan,
    build,
    collect,
    cues,
    export,
    ladder,
    next_stage,
    remaining,
    reply_contents,
    rubric,
    simulate_replies,
    vacuum,
)
from judgestats.errors import DesignError, SchemaError
from judgestats.schema.account import account_of
from refusals import refused

JUDGE = Judge("m", sensitivity=1.5, tie_criterion=1.0, slot_bias=0.5)


def openai(call: str, message: dict[str, Any], finish: str) -> dict[str, Any]:
    """A line of the output of OpenAI's batch endpoint."""
    body = {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]}
    return {"custom_id": call, "response": {"status_code": 200, "body": body}, "error": None}


def anthropic(call: str, text: str, stop: str) -> dict[str, Any]:
    """A line of the results of Anthropic's message batches."""
    message = {"content": [{"type": "text", "text": text}] if text else [], "stop_reason": stop}
    return {"custom_id": call, "result": {"type": "succeeded", "message": message}}


def inspect(call: str, text: Any, stop: str) -> dict[str, Any]:
    """A sample of an Inspect AI log."""
    choices = [{"message": {"role": "assistant", "content": text}, "stop_reason": stop}]
    return {"id": call, "messages": [], "output": {"choices": choices}}


def came(data: pd.DataFrame) -> pd.DataFrame:
    """The rows of calls that were answered, or failed."""
    return data[data["status"] != "missing"]


def test_why_a_reply_ended_is_read_in_the_words_of_each_provider():
    plan = vacuum("m", calls=12)
    calls = plan.calls["call"].tolist()
    answers = [
        openai(calls[0], {"content": None, "refusal": "No verdict: tie."}, "stop"),
        openai(calls[1], {"content": "The better one is A, I th"}, "length"),
        anthropic(calls[2], "", "refusal"),
        anthropic(calls[3], "The better one is A, I th", "max_tokens"),
        anthropic(calls[4], "A", "end_turn"),
        inspect(calls[5], "The better one is A, I th", "model_length"),
        inspect(calls[6], "", "content_filter"),
        inspect(calls[7], "A", "stop"),
    ]
    status = collect(plan, answers).set_index("call")["status"].astype(str)
    assert [status[c] for c in calls[:8]] == [
        "refused", "truncated", "refused", "truncated", "ok", "truncated", "refused", "ok",
    ]  # fmt: skip


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
    assert data["call"].tolist() == calls
    assert came(data).set_index("call")["choice"].astype(str).to_dict() == {
        calls[0]: "first", calls[1]: "tie", calls[3]: "tie", calls[4]: "invalid",
    }  # fmt: skip
    found = js.check(data).set_index("what")
    assert found.loc["the call was answered before", "where"] == "answers, record 4"
    assert found.loc["the message sent is not that of the plan", "where"] == "answers, record 3"
    assert found.loc["the call is not of this plan", "where"] == "answers, record 5"
    assert found.loc["the call failed and was answered later", "where"] == "answers, record 6"
    assert found.loc["choice is invalid (status missing: no answer came back)", "n"] == 8
    assert found.loc["rows in", "n"] == 4 + 4 + 8
    assert set(remaining(plan, answers).calls["call"]) == set(calls) - {calls[0], calls[1], calls[3]}


def promptfoo(call: str, **fields: Any) -> dict[str, Any]:
    """A result of promptfoo."""
    return {"vars": {"call": call}, "success": True, **fields}


#: Records that name a call, without a sound reply to it.
MALFORMED = (
    lambda call: {"custom_id": call, "response": "rate limit", "error": None},
    lambda call: {"custom_id": call, "response": {"status_code": 200, "body": ["x"]}},
    lambda call: {"custom_id": call, "response": {"body": {"choices": ["A"]}}},
    lambda call: {"custom_id": call, "response": {"body": {"choices": {"0": "A"}}}},
    lambda call: openai(call, {"content": 7}, "stop"),
    lambda call: openai(call, {"content": [{"type": "text", "text": None}]}, "stop"),
    lambda call: {"custom_id": call},
    lambda call: {"custom_id": call, "result": "overloaded"},
    lambda call: {"custom_id": call, "result": {"type": "succeeded", "message": ["A"]}},
    lambda call: {"custom_id": call, "result": {"type": ["succeeded"]}},
    lambda call: {"id": call, "messages": [], "output": "overloaded"},
    lambda call: {"id": call, "messages": [], "output": {"choices": [None]}},
    lambda call: {"id": call, "output": {"choices": [{"message": "A"}]}},
    lambda call: promptfoo(call, response="rate limit"),
    lambda call: promptfoo(call, response={"output": None}, error={"code": 429}),
    lambda call: {"call": call, "remark": "A"},
)


@pytest.mark.parametrize("record", MALFORMED)
def test_a_malformed_reply_to_a_call_is_a_row_with_its_place_and_why(record, tmp_path):
    plan = vacuum("m", calls=6)
    one, two, *_ = plan.calls["call"]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in (record(one), {"call": two, "answer": "A"})))
    data = collect(plan, path)
    assert data["status"].astype(str).tolist() == ["error", "ok", *["missing"] * 4]
    assert account_of(data).places[0] == "answers.jsonl, line 1"
    assert data["reply_note"][0].startswith(("the call failed: ", "malformed record: "))
    assert one in set(remaining(plan, path).calls["call"])


def test_half_of_a_surrogate_pair_in_memory_is_written_out():
    plan = vacuum("m", calls=6)
    answers = [{"call": plan.calls["call"][0], "answer": 'A \ud800 {"verdict": "A"}'}]
    assert came(collect(plan, answers))["rationale"].str.contains(r"\ud800", regex=False).all()


def test_text_in_one_piece_and_in_parts_is_read_and_no_error_is_none():
    plan = vacuum("m", calls=24)
    parts = [
        {"type": "thinking", "thinking": "B"},
        {"type": "text", "text": "Verdict: "},
        {"type": "text", "text": "A"},
    ]
    body = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}], "error": {}}
    answers = [
        lambda call: {"custom_id": call, "result": {"type": "succeeded", "message": {"content": "A"}}},
        lambda call: {"custom_id": call, "result": {"type": "succeeded", "message": {"content": parts}}},
        lambda call: openai(call, {"content": parts}, "stop"),
        lambda call: inspect(call, parts, "stop"),
        lambda call: {"custom_id": call, "response": {"body": body}, "error": False},
        *(lambda call, e=e: {"call": call, "answer": "A", "error": e} for e in (False, "", 0, None, "None", "False", "nan", {})),
    ]  # fmt: skip
    failed = [
        lambda call, e=e: {"call": call, "answer": "A", "error": e} for e in (True, "timeout", 500, {"code": 1}, "no")
    ]
    records = [make(call) for make, call in zip([*answers, *failed], plan.calls["call"], strict=False)]
    data = collect(plan, records).set_index("call").loc[plan.calls["call"][: len(records)]]
    assert data["status"].astype(str).tolist() == ["ok"] * len(answers) + ["error"] * len(failed)
    assert (data["choice"] == "first").sum() == len(answers)


def test_a_reply_counts_over_an_empty_one_and_an_empty_one_over_a_failure():
    plan = vacuum("m", calls=6)
    a, b, c, d, e, f = plan.calls["call"]
    answers = [
        {"call": a, "answer": ""}, {"call": a, "answer": "A"}, {"call": a, "answer": "tie"},
        {"call": b, "answer": "A"}, {"call": b, "answer": " "},
        {"call": c, "error": "timeout", "answer": ""}, {"call": c, "answer": " "},
        {"call": d, "answer": ""}, {"call": d, "answer": "", "error": "timeout"},
        anthropic(e, "", "refusal"), anthropic(e, "A", "end_turn"),
        anthropic(f, "", "end_turn"), anthropic(f, "A", "end_turn"),
    ]  # fmt: skip
    data = collect(plan, answers)
    status = came(data).set_index("call")["status"].astype(str).to_dict()
    assert status == {a: "ok", b: "ok", c: "empty", d: "empty", e: "refused", f: "ok"}
    assert set(data.loc[data["status"] == "ok", "choice"]) == {"first"}
    found = js.check(data).set_index("what")
    assert found.loc["the call had an empty reply and was answered later", "n"] == 2
    assert found.loc["the call failed and was answered later", "where"] == "answers, record 6"
    assert found.loc["the call was answered before", "n"] == 4


def test_a_line_that_cannot_be_read_costs_no_other(tmp_path):
    plan = vacuum("m", calls=6)
    one, two, *_ = plan.calls["call"]
    path = tmp_path / "answers.jsonl"
    lines = [json.dumps({"call": one, "answer": "A"}), '{"call": "x", "answ', "7", "[1]", "null", '{"id": "x", "text": "A"}',
             '{"call": NaN, "answer": "A"}', '{"call": "a\xff", "answer": "A"}', '{"call": "a", "call": "b"}', "[" * 9999,
             json.dumps({"call": two, "answer": "tie"})]  # fmt: skip
    path.write_bytes("\n".join(lines).encode("latin-1"))
    data = collect(plan, path)
    assert came(data)["choice"].astype(str).tolist() == ["first", "tie"]
    assert list(account_of(data).places)[:2] == ["answers.jsonl, line 1", "answers.jsonl, line 11"]
    places = {e.place.removeprefix("answers.jsonl, line "): e.reason for e in account_of(data).excluded}
    unread, other = "the line cannot be read", "the record is no answer to a call"
    assert {n: places[n] for n in ("2", "3", "4", "5", "8", "9", "10")} == dict.fromkeys(("2", "3", "4", "5", "8", "9", "10"), unread)  # fmt: skip
    assert (places["6"], places["7"]) == (other, "the call is not of this plan")
    path.write_bytes("\n".join(lines[1:5]).encode("latin-1"))
    with pytest.raises(SchemaError, match=r"answers\.jsonl, line 2: a number|line 1: not valid JSON"):
        collect(plan, path)


def test_a_row_of_another_width_and_an_entry_that_is_no_record_cost_no_other(tmp_path):
    plan = vacuum("m", calls=6)
    one, two, *_ = plan.calls["call"]
    table = tmp_path / "answers.csv"
    table.write_text(f"call,answer\n{one},A\n{two},A,B\n\n{two},tie\n")
    data = collect(plan, table)
    assert list(account_of(data).places)[:2] == ["answers.csv, line 2", "answers.csv, line 5"]
    assert (account_of(data).excluded[0].place, account_of(data).excluded[0].reason) == ("answers.csv, line 3", "the line cannot be read")  # fmt: skip
    table.write_text(f"call,answer\n{two},A,B\n")
    with pytest.raises(SchemaError, match="line 2: 3 fields where the header has 2"):
        collect(plan, table)
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"samples": [inspect(one, "A", "stop"), None, "x", inspect(two, "A", "stop")]}))
    data = collect(plan, log)
    assert list(account_of(data).places)[:2] == ["log.json, record 1", "log.json, record 4"]
    assert sum(e.reason == "the record is no answer to a call" for e in account_of(data).excluded) == 2
    records = [{"call": one, "answer": "A"}, None, 3, {"call": [two], "answer": {("a",): 1}}]
    assert js.check(collect(plan, records)).set_index("what")["n"]["rows in"] == 4 + 5


def test_a_prompt_that_promptfoo_changed_is_excluded():
    plan = vacuum("m", calls=6)
    messages = {
        call: [{"role": "system", "content": s}, {"role": "user", "content": u}] for call, s, u in plan.messages()
    }
    a, b, c, d, e, _ = plan.calls["call"]
    other = json.dumps([messages[b][0], {"role": "user", "content": "Which is worse?"}])
    system = json.dumps([{"role": "system", "content": "Be brief."}, messages[e][1]])
    raw = {a: json.dumps(messages[a], indent=2), b: other, c: "[prompt stripped]", d: "no messages", e: system}
    results = [promptfoo(call, response={"output": "A"}, prompt={"raw": text}) for call, text in raw.items()]
    data = collect(plan, [*results, promptfoo(b, response=None, error="timeout", prompt={"raw": ""})])
    status = came(data).set_index("call")["status"].astype(str).to_dict()
    assert status == {a: "ok", b: "error", c: "ok"}
    assert js.check(data).set_index("what").loc["the message sent is not that of the plan", "n"] == 3


def test_answers_of_another_plan_and_odd_records_are_refused(tmp_path):
    plan, other = vacuum("m", calls=6), vacuum("n", calls=6)
    refused(
        DesignError,
        (
            lambda: collect(plan, simulate_replies(other, Judge("n")).to_dict("records")),
            "None of the 6 answers belongs to a call of the plan",
        ),
        (
            lambda: collect(plan, [{"id": 3, "text": "A"}]),
            SchemaError,
            r"record 1: this is no answer to a call. It has: id, text",
        ),
        (lambda: collect(tmp_path, [{"call": "x", "answer": "A"}]), "holds no plan"),
        (lambda: simulate_replies(plan, Judge("m"), error=0.7, refused=0.7), "not shares"),
    )


def test_the_json_of_a_reply_is_read_once_for_all_criteria(monkeypatch):
    texts = pd.DataFrame({"item": "1", "system": ["s", "t"], "task_text": "Explain.", "response_text": ["u", "v"]})
    plan = rubric("m", texts, replicates=5)
    read = []
    once = reply_contents.json_objects
    monkeypatch.setattr(reply_contents, "json_objects", lambda text: read.append(text) or once(text))
    replies = simulate_replies(plan, Judge("m", noise=3.0), unreadable=0.1, seed=2).to_dict("records")
    data = collect(plan, replies)
    assert len(data) == 5 * 20
    assert len(read) == len({r["answer"] for r in replies})
    for score, row in zip(data["score"], data.to_dict("records"), strict=True):
        answer = next(r["answer"] for r in replies if r["call"] == row["call"])
        given = json.loads(answer)["scores"][row["criterion"]] if answer.startswith('{"scores') else None
        assert score == given if given is not None else score != score


def test_a_refusal_in_place_of_scores_is_one_for_each_criterion():
    texts = pd.DataFrame({"item": "1", "system": ["s"], "task_text": "Explain.", "response_text": ["u"]})
    plan = rubric("m", texts, arms=["anonymized"], replicates=2)
    one, two = plan.calls["call"]
    said = [{"call": one, "answer": "I'm sorry, but I can't help with that."}, {"call": two, "answer": "All are good."}]
    status = collect(plan, said).set_index("call")["status"].astype(str)
    assert status[one].tolist() == ["refused"] * 5
    assert status[two].tolist() == ["parse"] * 5


def test_a_file_of_answers_to_another_plan_is_refused_and_a_few_are_rows_of_the_account(tmp_path):
    plan, other = vacuum("m", calls=12), vacuum("n", calls=6)
    (path,) = export(other, tmp_path / "other", "jsonl")
    lines = [{**json.loads(line), "answer": "tie"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    with pytest.raises(DesignError, match=r"None of the 6 answers .* Is it the answer of another plan\?"):
        collect(plan, path)
    mixed = [{"call": plan.calls["call"][0], "answer": "tie"}, *lines]
    found = js.check(collect(plan, mixed)).set_index("what")["n"]
    assert found["the call is not of this plan"] == 6
    assert found["rows in"] == 1 + 6 + 11


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


def test_a_form_that_is_half_filled_in_leaves_the_other_half_to_ask(tmp_path):
    texts = pd.DataFrame({"item": list("abcdef"), "system": "s", "task_text": "Explain.", "response_text": "r"})
    pairs = texts.assign(first="u", second="v", first_text="Hi.", second_text="Ho.").drop(
        columns=["system", "response_text"]
    )
    rated = rubric("Ann", texts, arms=["anonymized"], replicates=1)
    for plan, columns, value in (
        (rated, list(rated.prompts["rubric"].criteria), "7"),
        (build(pairs, judges="Ann", orders="as given"), ["verdict"], "A"),
    ):
        (path,) = export(plan, tmp_path, "form", overwrite=True)
        form = pd.read_csv(path, dtype=str, keep_default_na=False)
        form.loc[:2, columns] = value
        form.to_csv(path, index=False)
        data = collect(plan, path)
        done = set(form["call"][:3])
        assert set(data["call"]) == set(plan.calls["call"])
        assert set(data.loc[data["status"] == "ok", "call"]) == done
        assert set(data.loc[data["status"] == "missing", "call"]) == set(plan.calls["call"]) - done
        assert set(remaining(plan, path).calls["call"]) == set(plan.calls["call"]) - done
        assert js.check(data).set_index("what").loc["the row of a form is not filled in", "n"] == 3
        path.unlink()


def test_a_row_of_a_form_with_some_criteria_left_empty_names_them_and_is_asked_again(tmp_path):
    texts = pd.DataFrame({"item": list("ab"), "system": "s", "task_text": "Explain.", "response_text": "r"})
    plan = rubric("Ann", texts, arms=["anonymized"], replicates=1)
    criteria = list(plan.prompts["rubric"].criteria)
    (path,) = export(plan, tmp_path, "form")
    form = pd.read_csv(path, dtype=str, keep_default_na=False)
    form.loc[0, criteria] = "7"
    form.loc[1, criteria[:3]] = ["4", "5", "6"]
    form.loc[1, "comment"] = "in haste"
    form.to_csv(path, index=False)
    whole, half = form["call"]
    data = collect(plan, path)
    rows = data[data["call"] == half].set_index("criterion")
    assert rows.loc[criteria[:3], "score"].tolist() == [4, 5, 6]
    assert rows["status"].astype(str).tolist() == ["ok"] * 3 + ["missing"] * 2
    assert set(rows.loc[criteria[3:], "reply_note"]) == {f"left empty in the form: {', '.join(criteria[3:])}"}
    assert rows.loc[criteria[3:], "score"].isna().all()
    assert (data.loc[data["call"] == whole, "status"] == "ok").all()
    rest = remaining(plan, path)
    assert rest.calls["call"].tolist() == [half]
    (again,) = export(rest, tmp_path / "rest", "form")
    filled = pd.read_csv(again, dtype=str, keep_default_na=False)
    filled[criteria] = "9"
    filled.to_csv(again, index=False)
    both = collect(plan, [str(path), str(again)])
    assert both.loc[both["call"] == half, "score"].tolist() == [9] * 5
    assert len(remaining(plan, [str(path), str(again)])) == 0
    assert js.check(both).set_index("what").loc["the call was answered in part and was answered later", "n"] == 1


def test_answers_of_two_plans_and_answers_that_come_twice(tmp_path):
    plan, other = vacuum("m", calls=12), vacuum("n", calls=12)
    for name, one, seed in (("mine", plan, 1), ("theirs", other, 2)):
        simulate_replies(one, Judge(one.calls["judge"][0]), seed=seed).to_json(
            tmp_path / f"{name}.jsonl", orient="records", lines=True
        )
    mine, theirs = tmp_path / "mine.jsonl", tmp_path / "theirs.jsonl"
    alone, both = collect(plan, mine), collect(plan, [str(mine), str(theirs)])
    pd.testing.assert_frame_equal(alone, both)
    assert js.check(both).set_index("what").loc["the call is not of this plan", "n"] == 12
    (tmp_path / "again.jsonl").write_bytes(mine.read_bytes())
    twice = collect(plan, [str(mine), str(tmp_path / "again.jsonl")])
    pd.testing.assert_frame_equal(alone, twice)
    whole = collect(plan + other, [str(mine), str(theirs)])
    assert whole.groupby("judge").size().to_dict() == {"m": 12, "n": 12}


def test_answers_of_a_stage_too_early_and_a_stage_half_answered():
    pairs = pd.DataFrame({"item": list("abcdef"), "first": "u", "second": "v", "task_text": "Sum up.",
                          "first_text": list("ghijkl"), "second_text": list("mnopqr")})  # fmt: skip
    first = cues("m", pairs, probes=["blind"], schemes=["PBP"])
    notes = simulate_replies(first, Judge("m")).to_dict("records")
    second = next_stage(first, notes)
    scores = simulate_replies(second, Judge("m")).to_dict("records")
    refused(
        DesignError,
        (notes, "ask for no verdict"),
        # the plan of the first stage does not have them
        (scores, "belongs to a call of the plan"),
        of=lambda wrong: collect(first, wrong),
    )
    half = next_stage(first + second, notes + scores[:3])
    verdicts = simulate_replies(half, Judge("m")).to_dict("records")
    data = collect(first + second + half, notes + scores[:3] + verdicts)
    assert data["status"].astype(str).value_counts().to_dict() == {"ok": 3, "missing": 3}
    assert set(data.loc[data["status"] == "missing", "reply_note"]) == {"stage 2: no answer came back"}
    rest = remaining(first + second, notes + scores[:3])
    assert len(rest) == 3
    whole = next_stage(first + second, notes + scores)
    more = verdicts + simulate_replies(whole, Judge("m")).to_dict("records")
    complete = collect(first + second + whole, notes + scores + more)
    assert (complete["status"] == "ok").all()
    before = data[data["status"] == "ok"].set_index("item")["choice"]
    assert complete.set_index("item").loc[before.index, "choice"].tolist() == before.tolist()


@pytest.mark.parametrize(("score", "status"), [(4, "ok"), (77, "schema"), (-3, "schema")])
def test_a_verdict_of_scores_that_are_out_of_range_is_none(score, status):
    pairs = pd.DataFrame({"item": ["a"], "first": "u", "second": "v", "task_text": "Sum up.", "first_text": "One.",
                          "second_text": "Two."})  # fmt: skip
    plan = stage = cues("m", pairs, probes=["blind"], schemes=["PBP"])
    answers = simulate_replies(stage, Judge("m")).to_dict("records")
    criteria = dict.fromkeys(("accuracy", "completeness", "conciseness", "fluency"), score)
    replies = [
        {"scores": {"A": criteria, "B": dict.fromkeys(criteria, 2)}},
        {"verdict": "A" if score > 2 else "B", "explanation": "By the scores."},
    ]
    for reply in replies:
        stage = next_stage(plan, answers)
        plan = plan + stage
        answers.append({"call": stage.calls["call"].iloc[0], "answer": json.dumps(reply)})
    data = collect(plan, answers)
    assert data["status"].astype(str).tolist() == [status]
    assert data["score_first"].tolist() == [4.0] if status == "ok" else data["score_first"].isna().all()
    assert status == "ok" or "scores: scores.A.accuracy" in data["reply_note"].iloc[0]
    assert collect(plan, answers, schema=False)["status"].astype(str).tolist() == ["ok"]


#: Dialogues of a plan with stages.
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


def test_no_answers_are_named_as_such(tmp_path):
    plan = vacuum("m", calls=6)
    (tmp_path / "header.csv").write_text("call,answer\n")
    (tmp_path / "list.json").write_text("[]")
    for nothing in ([], (), tmp_path / "list.json"):
        with pytest.raises(DesignError, match="No answers were given"):
            collect(plan, nothing)
        assert len(remaining(plan, nothing)) == 6
    with pytest.raises(SchemaError, match=r"has a header .* but no rows"):
        collect(plan, tmp_path / "header.csv")
