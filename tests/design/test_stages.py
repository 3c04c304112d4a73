"""Chains: a later call shows the replies before it, its id depends on them, and every call is accounted for."""

from __future__ import annotations

import csv
import json

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import Plan, Prompt, build, collect, export, next_stage, remaining
from judgestats.errors import DesignError

PAIRS = pd.DataFrame(
    {
        "item": ["1", "2"], "first": "alpha", "second": "beta", "task_text": ["Say hello.", "Say bye."],
        "first_text": ["Hello.", "Bye."], "second_text": ["Good day.", "See you."],
    }
)  # fmt: skip
NOTES = Prompt("notes", "{{ task }} 1: {{ first }} 2: {{ second }} Take notes.", system="Be fair.", frame="texts")
VERDICT = Prompt("verdict", "Who wins, A or B?", dialogue=True)
MARKS = Prompt("marks", "Notes: {{ answer_1 }} Mark: {{ answer_2 }} A or B?")


def answers(plan: Plan, text: str) -> list[dict[str, str]]:
    """The same reply to each call, with the item."""
    return [{"call": c, "answer": text.format(i)} for c, i in zip(plan.calls["call"], plan.calls["item"], strict=True)]


def chain() -> Plan:
    return build(PAIRS, judges="m", prompts=NOTES, orders="as given").then(VERDICT)


def test_a_dialogue_shows_what_was_said_before():
    plan = chain()
    later = next_stage(plan, answers(plan, "notes on {}"))
    assert [d[1:] for d in later.dialogues()] == [
        (
            "Be fair.",
            [
                {"role": "user", "content": f"{task} 1: {one} 2: {two} Take notes."},
                {"role": "assistant", "content": f"notes on {i}"},
            ],
            "Who wins, A or B?",
        )
        for i, task, one, two in [("1", "Say hello.", "Hello.", "Good day."), ("2", "Say bye.", "Bye.", "See you.")]
    ]
    assert later.calls["after"].tolist() == plan.calls["call"].tolist()
    assert later.calls["stage"].tolist() == [2, 2]


def test_the_id_of_a_call_depends_on_the_reply_before_it():
    plan = chain()
    one, two = (next_stage(plan, answers(plan, text)).calls["call"].tolist() for text in ("notes {}", "other {}"))
    assert not set(one) & set(two)
    assert next_stage(plan, answers(plan, "notes {}")).calls["call"].tolist() == one


def test_three_stages_show_each_reply_in_its_place():
    plan = build(PAIRS, judges="m", prompts=NOTES, orders="as given")
    plan = plan.then(Prompt("scores", "Score your notes.", dialogue=True, frame="texts")).then(MARKS)
    second = next_stage(plan, answers(plan, "note {}"))
    third = next_stage(second, answers(second, "mark {}"))
    assert [u for *_, u in third.messages()] == [
        "Notes: note 1 Mark: mark 1 A or B?",
        "Notes: note 2 Mark: mark 2 A or B?",
    ]
    everything = answers(plan, "note {}") + answers(second, "mark {}") + answers(third, "A")
    whole = plan + second + third
    assert len(whole.later) == 0
    data = collect(whole, everything)
    assert data["choice"].tolist() == ["first", "first"]
    found = js.check(data).set_index("what")
    assert found.loc["replies that later calls go on from", "n"] == 4
    assert (found.loc["rows in", "n"], found.loc["rows excluded", "n"]) == (2, 0)
    # from the plan of both earlier stages, too
    assert next_stage(plan + second, everything[:4]).calls["call"].tolist() == third.calls["call"].tolist()


def test_calls_without_a_usable_reply_are_counted_and_can_be_completed():
    plan = chain()
    first, second = answers(plan, "notes {}")
    refused = {"call": second["call"], "answer": "I'm sorry, but I can't help with that."}
    part = next_stage(plan, [first, refused])
    assert part.calls["item"].tolist() == ["1"]
    assert part.check().set_index("what").loc["later calls without an answer to go on from", "n"] == 1
    for cut in ({"answer": "notes", "finish": "length"}, {"answer": ""}, {"answer": None, "error": "timeout"}):
        assert len(next_stage(plan, [first, {"call": second["call"], **cut}])) == 1
    whole = next_stage(plan, [first, second])
    assert whole.check().empty
    assert whole.calls["call"].tolist()[0] == part.calls["call"].tolist()[0]
    assert remaining(plan, [first]).later["item"].tolist() == ["2"]


def test_a_part_of_a_plan_takes_what_follows_along(tmp_path):
    plan = chain().then(MARKS)
    part = plan.sample(1, seed=2)
    assert part.later["item"].tolist() == part.calls["item"].tolist() * 2
    again = Plan.read(plan.write(tmp_path))
    pd.testing.assert_frame_equal(again.later, plan.later)
    assert again.summary().equals(plan.summary())


def test_several_calls_come_after_one():
    """One rubric for each item and judge, and a score of each response by it."""
    items = pd.DataFrame({"item": ["1", "2"], "task_text": ["Say hello.", "Say bye."]})
    ask = Prompt("make_rubric", "Make a rubric for: {{ task }}", frame="texts")
    score = Prompt("score", "{{ answer_1 }}\n{{ response }}\nScore 1 to 10.", frame="ratings")
    table = pd.DataFrame({"item": ["1", "1", "2"], "system": ["s", "t", "s"], "response_text": ["Hi", "Ho", "Bye"]})
    plan = build(items, judges=["m", "k"], prompts=ask).then(score, table)
    assert (len(plan), len(plan.later)) == (4, 6)
    later = next_stage(plan, answers(plan, "rubric {}"))
    assert [u for *_, u in later.messages()][:3] == [
        "rubric 1\nHi\nScore 1 to 10.", "rubric 1\nHo\nScore 1 to 10.", "rubric 2\nBye\nScore 1 to 10.",
    ]  # fmt: skip
    data = collect(plan + later, answers(plan, "rubric {}") + answers(later, "7"))
    assert data.groupby("judge").size().to_dict() == {"k": 3, "m": 3}
    assert (data["score"] == 7).all()
    # one judge's rubric for all judges
    shared = build(items, judges="m", prompts=ask).then(score, table.assign(key=1).merge(pd.DataFrame({"key": 1, "judge": ["m", "k", "l"]})).drop(columns="key"))  # fmt: skip
    assert (len(shared), len(shared.later)) == (2, 9)
    assert shared.summary().groupby("stage")["calls"].sum().to_dict() == {1: 2, 2: 9}


def test_the_cost_counts_later_stages_with_the_dialogue_before_them():
    plan = chain()
    tokens = plan.summary(answer=400).set_index("stage")["tokens"]
    first = sum(len(s) + len(u) for _, s, u in plan.messages())
    assert tokens[1] * 4 == pytest.approx(first, abs=4)
    assert tokens[2] * 4 == pytest.approx(first + 2 * 400 + 2 * len(VERDICT.user), abs=4)


@pytest.mark.parametrize("form", ["openai", "anthropic", "inspect", "promptfoo", "jsonl", "csv"])
def test_a_dialogue_is_exported_whole(form, tmp_path):
    plan = chain()
    later = next_stage(Plan.read(plan.write(tmp_path / "plan")), answers(plan, "notes on {}"))
    later = Plan.read(later.write(tmp_path / "later"))
    text = export(later, tmp_path, form)[0].read_text()
    line = (
        next(csv.DictReader(text.splitlines()))
        if form == "csv"
        else json.loads(text)
        if form == "promptfoo"
        else json.loads(text.splitlines()[0])
    )
    said = {
        "openai": lambda: line["body"]["messages"][1:],
        "anthropic": lambda: line["params"]["messages"],
        "inspect": lambda: line["input"][1:],
        "promptfoo": lambda: json.loads("[" + line["tests"][0]["vars"]["messages"])[1:],
        "jsonl": lambda: [*line["earlier"], {"role": "user", "content": line["user"]}],
        "csv": lambda: [*json.loads(line["earlier"]), {"role": "user", "content": line["user"]}],
    }[form]()
    assert [m["role"] for m in said] == ["user", "assistant", "user"]
    assert [m["content"] for m in said[1:]] == ["notes on 1", "Who wins, A or B?"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: next_stage(build(PAIRS, judges="m"), [{"call": "x", "answer": "A"}]), "no later stage"),
        (lambda: next_stage(chain(), [{"call": "x", "answer": "A"}]), "None of the 2 later calls can be asked"),
        (lambda: collect(chain(), answers(chain(), "n")), "ask for no verdict: their replies go into later calls"),
        (
            lambda: chain().then(Prompt("r", "{{ response }}", frame="ratings")),
            "ask for preferences and for ratings. Make a plan of each",
        ),
        (lambda: chain().then(MARKS, where=lambda t: t["item"] == "9"), "No call of the last stage is followed"),
        (lambda: build(PAIRS, judges="m").then(MARKS), "is stage 2 and shows 'answer_2'. Earlier replies: answer_1"),
        (lambda: chain().then(Prompt("verdict", "Other {{ answer_1 }}")), "another prompt named 'verdict'"),
        (
            lambda: build(PAIRS, judges="m", prompts=Prompt("n", "{{ task }}", frame="texts")).then(VERDICT),
            "No prompt of the chain up to 'verdict' shows 'first' to the judge",
        ),
        (
            lambda: build(PAIRS, judges="m").then(Prompt("n", "{{ note }} {{ answer_1 }}")),
            "no 'note_text', which prompt 'n' shows",
        ),
        (lambda: chain().then(VERDICT, pd.DataFrame({"item": ["1"], "arm": ["x"]})), "call has no row of the table"),
        (
            lambda: chain().then(VERDICT, pd.DataFrame({"item": ["1", "2", "3"], "arm": ["x"] * 3})),
            "row comes after no call",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DesignError, match=message):
        call()
