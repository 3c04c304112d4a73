"""Controlled pairs whose texts are written first: the same calls as those planned by hand, and what a lost text costs."""

from __future__ import annotations

import pandas as pd
import pytest

from judgestats.design import (
    Judge,
    Plan,
    collect,
    controlled,
    controlled_pairs,
    export,
    generations,
    next_stage,
    requests,
    simulate_replies,
    study,
    study_verdicts,
    write_controlled,
)
from judgestats.design.plans import WITHOUT_TEXT, WRITES
from judgestats.errors import DesignError

MODELS = ["gemini", "claude", "llama", "gpt"]


def replies(plan: Plan) -> list[dict]:
    return simulate_replies(plan, [Judge(n) for n in plan.calls["judge"].unique()]).to_dict("records")


def to_the_end(plan: Plan, answers: list[dict], before: list[dict] = ()) -> tuple[Plan, list[dict]]:
    """The plan of all stages, and all answers; those given before are given again."""
    said = {r["call"]: r for r in before}
    while (stage := requests(plan, answers)[0]) is not None:
        answers = answers + [said.get(r["call"], r) for r in replies(stage)]
        plan = plan + stage
    return plan, answers


@pytest.fixture(scope="module")
def planned() -> Plan:
    return study("debiasing", ["g", "h"], writer="w", models=MODELS, strategies=["B0", "S8"])


@pytest.fixture(scope="module")
def whole(planned: Plan) -> tuple[Plan, list[dict]]:
    return to_the_end(planned, replies(planned))


def test_the_calls_are_those_that_are_planned_by_hand(planned, whole):
    first = generations("w", models=MODELS)
    assert planned.calls["call"].tolist() == first.calls["call"].tolist()
    written = collect(first, replies(first))
    second = generations("w", written=written)
    answers = [r for r in whole[1] if r["call"] in set(second.calls["call"])]
    responses = pd.concat([written, collect(second, answers)])
    by_hand = controlled(["g", "h"], controlled_pairs(responses, extension=True), strategies=["B0", "S8"])
    plan = whole[0]
    assert set(plan.calls["call"]) == {*first.calls["call"], *second.calls["call"], *by_hand.calls["call"]}
    assert len(by_hand) == 2 * 3 * 375
    assert len(plan) == len(planned) + planned.about[WRITES]["to come"]
    assert plan.calls.groupby("stage")["bias"].unique().map(lambda b: set(pd.Series(b).dropna())).to_dict() == {
        1: set(),
        2: {"position", "style", "model_origin", "truncation"},
        3: {"expansion"},
    }
    verdicts = study_verdicts(collect(plan, whole[1]))
    assert len(verdicts) == 2 * 2 * 375


@pytest.mark.slow
def test_a_lost_text_costs_its_pairs_alone_and_they_are_asked_when_it_comes(planned, whole):
    said = replies(planned)
    rows = planned.calls[planned.calls["item"].isin(["q007", "long003"])]
    lost = set(rows.loc[rows["role"].isin(["base", "markdown", "complete"]) | (rows["judge"] == "llama"), "call"])
    part, answers = to_the_end(planned, [r for r in said if r["call"] not in lost], whole[1])
    missing = whole[0].calls[~whole[0].calls["call"].isin(part.calls["call"])]
    tasks = missing["task"].fillna(missing["item"])
    assert set(tasks) == {"q007", "long003"}
    assert {"expansion", "position", "style", "truncation", "model_origin"} == set(missing["bias"].dropna())
    named = {"q007 (base, w)", "q007 (markdown, w)", "long003 (complete, w)", "q007 (answer, llama)"}
    assert set(part.about[WITHOUT_TEXT]) == named
    found = part.check().set_index("what").loc["texts that are missing or cannot be changed"]
    assert found["n"] == 4
    late, _ = to_the_end(part, answers + [r for r in said if r["call"] in lost], whole[1])
    assert set(late.calls["call"]) == set(whole[0].calls["call"])
    assert not late.about[WITHOUT_TEXT]


def test_a_text_that_cannot_be_changed_is_left_out_and_named(planned):
    said = pd.DataFrame(replies(planned))
    call = planned.calls.query("item == 'q007' and role == 'markdown'")["call"].item()
    said.loc[said["call"] == call, "answer"] = "A text of one sentence without any list."
    stage = next_stage(planned, said.to_dict("records"))
    assert stage.about[WITHOUT_TEXT] == ["q007 (markdown, w)"]
    of_item = stage.calls[stage.calls["task"] == "q007"]
    assert set(of_item["bias"]) == {"position", "model_origin"}


@pytest.mark.parametrize(
    ("models", "kinds"),
    [
        ([], {"length", "position", "style", "length_truncated", "style_ba"}),
        (["a1", "b1"], {"length", "position", "style", "length_truncated", "style_ba", "model_origin"}),
    ],
)
def test_models_that_are_too_few_have_no_pairs(models, kinds):
    plan = study("debiasing", "g", writer="w", models=models, strategies=["B0"])
    assert set(plan.about[WRITES]["kinds"]) == kinds
    whole, _ = to_the_end(plan, replies(plan))
    assert set(whole.calls["bias_type"].dropna()) == kinds


def test_pairs_are_drawn_and_controlled_pairs_are_not():
    pairs = pd.DataFrame({"item": [str(i) for i in range(9)], "first": "u", "second": "v", "gold": "u"})
    pairs = pairs.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.")
    plan = study("debiasing", "g", pairs=pairs, writer="w", strategies=["B0"], sample=4)
    assert plan.calls["strategy"].notna().sum() == 4
    assert plan.calls["role"].notna().sum() == 125
    assert plan.kind == "preferences"


def test_people_have_forms_with_the_same_pairs_whenever_the_texts_come(planned, tmp_path):
    plan = study("debiasing", "g", writer="w", annotators=["Ann", "Bob"], strategies=["B0"])
    said = replies(plan)
    late = set(plan.calls.loc[plan.calls["item"].isin([f"q{i:03d}" for i in range(0, 50, 2)]), "call"])
    whole, answers = to_the_end(plan, said)
    assert len(whole) == len(plan) + plan.about[WRITES]["to come"]
    people = whole.calls[whole.calls["rater_type"] == "human"]
    assert people.groupby("judge")["item"].nunique().to_dict() == {"Ann": 30, "Bob": 30}
    assert set(people["bias_type"]) == {"style"}
    part, some = to_the_end(plan, [r for r in said if r["call"] not in late], answers)
    assert 0 < (part.calls["rater_type"] == "human").sum() < 60
    again, _ = to_the_end(part, some + [r for r in said if r["call"] in late], answers)
    assert set(again.calls["call"]) == set(whole.calls["call"])
    verdicts = study_verdicts(collect(whole, answers))
    assert verdicts["rater_type"].eq("human").sum() == 60
    assert verdicts.loc[verdicts["rater_type"].ne("human"), "strategy"].eq("B0").all()
    forms = {p.name for p in export(next_stage(plan, said), tmp_path, "openai")}
    assert forms == {"calls.openai.g.jsonl", "calls.openai.w.jsonl", "form.Ann.csv", "form.Bob.csv"}


def test_people_see_pairs_that_are_written_already(tmp_path):
    role = {"q1": "markdown", "q2": "markdown", "q3": "complete"}
    texts = pd.DataFrame({"item": list(role), "role": list(role.values()), "topic": "food", "task_text": "Tea?"})
    texts["text"] = "**Tea is simple.**\n\n- Boil water, " + texts["item"] + ".\n- Add the leaves. Wait for it."
    pairs = controlled_pairs(texts, kinds=["style", "length_truncated"])
    file = write_controlled(pairs, tmp_path / "pairs.jsonl")
    for given in (pairs, file):
        plan = study("debiasing", "g", controlled=given, annotators=["Ann"], strategies=["B0"])
        people = plan.calls[plan.calls["rater_type"] == "human"]
        assert people["task_text"].map(plan.texts).tolist() == ["Tea?"] * 2
        assert len(plan) == 5
    with pytest.raises(DesignError, match="'g' is among the judges"):
        study("debiasing", "g", controlled=pairs, annotators=["g"])
    with pytest.raises(DesignError, match="annotators= see style pairs"):
        study("debiasing", "g", pairs=pairs, annotators=["Ann"])
    with pytest.raises(DesignError, match="cannot be drawn from 0"):
        study("debiasing", "g", controlled=pairs[pairs["bias"] == "truncation"], annotators=["Ann"])


def test_what_cannot_be_written_is_refused():
    with pytest.raises(DesignError, match="One model writes"):
        study("debiasing", "g", writer=["v", "w"])
    with pytest.raises(DesignError, match="S3 takes the votes"):
        study("debiasing", "g", writer="w", strategies=["S3"])
    with pytest.raises(DesignError, match="S6 shows a reference answer"):
        study("debiasing", "g", writer="w", strategies=["S6"])
    plan = study("debiasing", "g", writer="w", strategies=["B0"])
    with pytest.raises(DesignError, match="No further call can be asked"):
        next_stage(plan, [{"call": plan.calls["call"][0], "answer": ""}])
