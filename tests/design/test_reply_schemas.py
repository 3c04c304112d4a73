"""The form that a prompt asks for: replies that break its JSON schema are no verdicts, and say why."""

from __future__ import annotations

import json
import time
from typing import Any

import pandas as pd
import pytest

import judgestats as js
from judgestats.design import Prompt, build, collect, prompt, prompts, rubric, simulate_replies
from judgestats.design.judges import Judge
from judgestats.design.reply_schemas import WHOLE, schema_faults
from judgestats.errors import DesignError
from refusals import refused

PAIRS = pd.DataFrame({"item": [str(i) for i in range(8)], "first": "u", "second": "v", "task_text": "Say hello.",
                      "first_text": "Hello.", "second_text": "Good day."})  # fmt: skip
CRITERIA = ("accuracy", "relevance", "completeness", "clarity", "reasoning")


def scored(a: Any = 4, b: Any = 3, **more: object) -> dict[str, Any]:
    """A reply to the prompt of S4."""
    return {"scores_a": dict.fromkeys(CRITERIA, a), "scores_b": dict.fromkeys(CRITERIA, b), "verdict": "A", **more}


#: What is wrong with a reply to S4 -> the reply, and what its note says.
BROKEN = {
    "no scores": ({"verdict": "A"}, "'scores_a' is a required property"),
    "77": (scored(a=77), "scores_a.accuracy: 77 is not one of"),
    "more": (scored(remark="none"), "'remark' was unexpected"),
    "a criterion short": ({**scored(), "scores_b": {"accuracy": 3}}, "is a required property"),
    "text": (scored(b="good"), "'good' is not one of"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_reply_of_another_form_than_was_asked_for_is_no_verdict(name):
    answer, note = BROKEN[name]
    plan = build(PAIRS, judges="m", prompts="rubric_pairwise", orders="as given")
    replies = [json.dumps(scored()), json.dumps(answer), "My verdict:\n" + json.dumps(answer), "[[A]]"]
    answers = [{"call": c, "answer": r} for c, r in zip(plan.calls["call"], replies, strict=False)]
    data = collect(plan, answers).head(4)
    assert data["status"].astype(str).tolist() == ["ok", "schema", "schema", "ok"]
    assert data["choice"].astype(str).tolist() == ["first", "invalid", "invalid", "first"]
    assert note in data["reply_note"][1]
    assert collect(plan, answers, schema=False)["choice"].astype(str).tolist()[:4] == ["first"] * 4
    gates = js.validity_gates(collect(plan, answers)).set_index("term")["estimate"]
    assert (gates["answered"], gates["schema"], gates["valid"]) == (0.5, 0.5, 0.25)


def test_of_several_objects_one_in_the_form_asked_for_is_enough():
    schema = prompt("pairwise").schema
    good, bad = '{"verdict": "A"}', '{"verdict": "A", "sure": true}'
    assert schema_faults(schema, f"{bad} {good}") == {}
    assert list(schema_faults(schema, f"{bad} {bad}")) == [""]
    assert schema_faults(schema, 'In code: {"x": 1}. I prefer A.') == {}
    assert schema_faults({}, bad) == {}
    assert schema_faults(schema, 'The code prints {"result": 5}. [[A]]') == {}


#: Replies whose answer can be read, and which are not in the form that ``pairwise`` asks for.
OTHER_FORMS = [
    '{"choice": "A"}', '{"winner": "A"}', '{"preference": "B", "confidence": 0.3}', '[{"verdict": "A"}]',
    '```json\n[\n  {"verdict": "A"}\n]\n```', '{"verdict": 1}', '{"Verdict": "A"}', '{"verdict": " a "}', '{"verdict": "Tie"}',
    '{"verdict": null}', '{"result": {"verdict": "A"}}', "{'winner': 'A'}", 'Done: {"final_verdict": "A"}',
    '{"verdict": "A", "reason": "not "so" good"}',
    '<|channel|>analysis<|message|>{"verdict": "A"}<|end|><|start|>assistant<|channel|>final<|message|>{"winner": "A"}',
]  # fmt: skip


@pytest.mark.parametrize("reply", OTHER_FORMS)
def test_an_answer_in_json_is_held_to_the_schema_whatever_its_keys(reply):
    plan = build(PAIRS, judges="m", prompts="pairwise", orders="as given")
    frame = collect(plan, [{"call": plan.calls["call"][0], "answer": reply}]).head(1)
    assert frame[["choice", "status"]].astype(str).to_numpy().tolist() == [["invalid", "schema"]]
    assert list(schema_faults(prompt("pairwise").schema, reply)) == [""]
    assert list(schema_faults(prompt("rubric_pairwise").schema, reply)) == [""]


@pytest.mark.parametrize("reply", ["{'verdict': 'A'}", '{"verdict": "A",}', '```json\n{"verdict": "A"}\n```'])
def test_json_that_is_slightly_unsound_is_held_to_the_schema_as_it_can_be_read(reply):
    assert schema_faults(prompt("pairwise").schema, reply) == {}


def test_schema_of_text_that_is_no_number_is_kept():
    schema = {"type": "object", "properties": {"verdict": {"enum": ["A", "B"]}, "n": {"type": "integer", "maximum": 5}}}
    assert schema_faults(schema, '{"verdict": "A", "n": "4"}') == {}
    assert schema_faults(schema, '{"verdict": "A", "n": "77"}') == {WHOLE: "n: '77' is not of type 'integer'"}


@pytest.mark.parametrize("name", ["labelled_criteria", "proof_scores"])
@pytest.mark.parametrize(("score", "sound"), [(0, True), (5, True), (77, False), (-3, False), ("77", False)])
def test_scores_of_the_cue_study_run_from_0_to_5(name, score, sound):
    criteria = dict.fromkeys(("accuracy", "completeness", "conciseness", "fluency"), 3)
    reply = {"scores": {"A": {**criteria, "accuracy": score}, "B": criteria}}
    reply |= {"verdict": "A", "explanation": "It is."} if name == "labelled_criteria" else {}
    assert (schema_faults(prompt(name).schema, json.dumps(reply)) == {}) == sound


def test_a_score_outside_its_range_costs_its_criterion_and_a_missing_part_the_reply():
    texts = pd.DataFrame({"item": "1", "system": ["s", "t", "w"], "task_text": "Explain.", "response_text": "r"})
    plan = rubric("m", texts, arms=["anonymized"], replicates=1)
    replies = [json.loads(r) for r in simulate_replies(plan, Judge("m"))["answer"]]
    replies[0]["scores"]["clarity" if "clarity" in replies[0]["scores"] else "quality"] = 77
    del replies[1]["weaknesses"]
    replies[2]["scores"]["accuracy"] = "8.2 +/- 0.3"  # a number with its spread is a number
    answers = [{"call": c, "answer": json.dumps(r)} for c, r in zip(plan.calls["call"], replies, strict=True)]
    status = collect(plan, answers).groupby("call", sort=False)["status"].apply(lambda s: s.astype(str).tolist())
    assert sorted(status.iloc[0]) == ["off scale", "ok", "ok", "ok", "ok"]
    assert status.iloc[1] == ["schema"] * 5
    assert status.iloc[2] == ["ok"] * 5


@pytest.mark.parametrize("name", prompts()["name"])
def test_simulated_replies_have_the_form_of_their_prompt(name):
    template = prompt(name)
    if (
        not template.schema
        or template.frame == "texts"
        or template.dialogue
        or template.criteria_in
        or name == "ranking"
    ):
        pytest.skip("asked for in the tests of chains")
    ratings = PAIRS.drop(columns=["first", "second"]).assign(system="s", response_text="r", rubric_text="r")
    plan = build(
        (ratings if template.frame == "ratings" else PAIRS).assign(note_text="n"), judges="m", prompts=template
    )
    answers = simulate_replies(plan, Judge("m", scale=template.scale or (1, 10)))
    faults = [schema_faults(template.schema, a) for a in answers["answer"] if a.startswith("{")]
    assert len(faults) == len(plan)
    assert not any(faults)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "objekt"}, "is no JSON schema"),
        ({"properties": 7}, "is no JSON schema"),
        ({"properties": {"verdict": {"$ref": "https://example.org/verdict.json"}}}, "refers to another document"),
        ({"properties": {"verdict": {"enum": {1, 2}}}}, "is no JSON schema"),
        ({"properties": {"verdict": {"$ref": "#/$defs/v"}}}, "refers to '#/\\$defs/v', which it does not have"),
        ([1], r"is no JSON schema: \[1\] is no object"),
    ],
)
def test_what_is_no_schema_is_refused(schema, message):
    with pytest.raises(DesignError, match=message):
        Prompt("p", "{{ first }} {{ second }}", schema=schema)


def test_a_schema_file_that_is_none_is_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('user = "{{ first }} {{ second }}"\nschema = \'{"type": "objekt"}\'\n')
    lacking = Prompt(
        "p", "{{ first }} {{ second }}", schema={"$id": "x", "properties": {"verdict": {"$ref": "#/$defs/v"}}}
    )
    plan = build(PAIRS, judges="m", prompts=lacking, orders="as given")
    refused(
        DesignError,
        (lambda: prompt(path), "The schema of prompt 'mine' is no JSON schema"),
        (
            lambda: collect(plan, [{"call": plan.calls["call"][0], "answer": '{"verdict": "A"}'}]),
            "refers to a part that it does not have",
        ),
    )


def test_ten_times_the_replies_take_at_most_fifteen_times_as_long():
    def seconds(n: int) -> float:
        items = pd.concat([PAIRS.head(1)] * n, ignore_index=True).assign(item=[str(i) for i in range(n)])
        plan = build(items, judges="m", prompts="rubric_pairwise", orders="as given")
        answers = [{"call": c, "answer": json.dumps(scored(reasons=i))} for i, c in enumerate(plan.calls["call"])]
        start = time.process_time()
        collect(plan, answers)
        return time.process_time() - start

    seconds(50)
    limit = 15 * max(min(seconds(100) for _ in range(3)), 0.05)
    assert any(seconds(1_000) < limit for _ in range(2))
