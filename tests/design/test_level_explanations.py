"""Explanations of levels: the paper's design by default, what is read of the answers, and the way to a rubric."""

import json

import pandas as pd
import pytest

import judgestats as js
from judgestats import design
from judgestats.design.level_explanations import DIMENSIONS, LEVELS
from judgestats.errors import DesignError, SchemaError
from judgestats.published import load
from refusals import refused

MODELS = ["GPT-5.1", "Gemini", "Grok", "Claude", "Sonar"]


def picks():
    table = load("merchant_risk/picks")
    return table.assign(mcc=table["mcc"].astype(str))


def reply(rows, text="It is calm."):
    """An answer with the categories that a model of the paper chose."""
    array = [
        {"level": name, "explanation": text, "categories": rows.loc[rows["risk_level"] == k, "mcc"].tolist()}
        for k, name in enumerate(LEVELS, start=1)
    ]
    return f"```json\n{json.dumps(array)}\n```"


def test_the_design_of_the_paper_by_default():
    """Figure 1: five levels, five dimensions, three categories each, a JSON array, no figures."""
    codes = dict(zip(picks()["mcc"], picks()["description"], strict=True))
    plan = design.explanations(MODELS, codes)
    assert (len(plan), plan.kind, len(codes)) == (5, "texts", 39)
    assert plan.check().empty
    _, _, shown = next(iter(plan.messages()))
    assert all(name in shown for name in (*LEVELS, *DIMENSIONS))
    assert "for each level: 3" in shown
    assert "5411: " in shown
    assert "JSON array" in shown


def test_from_answers_to_the_rubric_and_the_picks():
    """Appendix B: the 75 picks of five models come back, and their texts are rated in 500 calls."""
    table = picks()
    codes = dict(zip(table["mcc"], table["description"], strict=True))
    models = list(dict.fromkeys(table["model"]))
    plan = design.explanations(models, codes)
    answers = [
        {"call": r["call"], "answer": reply(table[table["model"] == r["judge"]])} for r in plan.calls.to_dict("records")
    ]
    responses, picked = design.read_explanations(design.collect(plan, answers), codes)
    assert (responses["fault"] == "").all()
    assert len(picked) == 75
    want = table.set_index(["model", "mcc"])["risk_level"].sort_index()
    got = picked.set_index(["judge", "item"])["score"].sort_index()
    assert got.tolist() == want.tolist()
    assert js.disagreement(picked, top=100, n_resamples=50).query("item == '5411'")["estimate"].tolist() == [0]
    rated = design.rubric(models, responses.drop(columns="fault"))
    assert (len(rated), rated.check().empty) == (500, True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "no answer"),
        ("I cannot.", "no JSON array of levels"),
        ('[{"level": "low"}]', "no JSON array of levels"),
        ('[{"level": "high", "explanation": "a", "categories": ["1"]}]', "levels are not low"),
        ('[{"level": "LOW", "explanation": "a", "categories": ["1", "2"]}]', "not 1 categories at every level"),
        ('[{"level": "low", "explanation": "a", "categories": ["9"]}]', "unknown category 9"),
        ('[{"level": "low", "explanation": "5 % fraud", "categories": ["1"]}]', "a figure in a text"),
    ],
)
def test_faults_of_an_answer_are_told(text, fault):
    written = pd.DataFrame({"judge": ["g"], "item": "levels", "task_text": "t", "text": [text]})
    responses, _ = design.read_explanations(written, {"1": "Grocery", "2": "Fuel"}, levels=["low"], picks=1)
    assert responses["fault"].tolist() == [fault]
    with pytest.raises(SchemaError, match="lack text"):
        design.read_explanations(written.drop(columns="text"), {})


def test_a_plan_that_cannot_be_is_refused():
    refused(
        DesignError,
        (lambda: design.explanations("g", {"1": "a", "2": "b"}), "there are 2"),
        (lambda: design.explanations("g", {"1": "a"}, levels=["x", "x"], picks=1), "levels="),
    )


def test_texts_in_the_fields_of_the_release_are_read():
    """merchant_risk, App B: a level with its number, and codes at the end of the text."""
    levels = ["Very Low Risk", "Medium Risk"]
    parts = [
        {
            "risk_level_definition": "1 - Very Low Risk",
            "rationale": "Calm. Representative MCCs: 5411 (Grocery), 4900 (Power).",
        },
        {
            "risk_level_definition": "3 - Medium / Average Risk",
            "rationale": "So so. Representative MCCs: 5734 (Software), 5944 (Jewels).",
        },
    ]
    written = pd.DataFrame({"judge": ["g"], "item": "levels", "task_text": "Explain.", "text": [json.dumps(parts)]})
    codes = {"5411": "Grocery", "4900": "Power", "5734": "Software", "5944": "Jewels"}
    responses, picked = design.read_explanations(written, codes, levels=levels, picks=2)
    assert responses["fault"].tolist() == [""]
    assert picked[["item", "score"]].values.tolist() == [["5411", 1], ["4900", 1], ["5734", 2], ["5944", 2]]


def test_a_refused_answer_is_no_text_to_be_rated():
    plan = design.explanations(["GPT", "Grok"], {"1": "Grocery"}, levels=["low"], picks=1)
    told = '[{"level": "low", "explanation": "Calm.", "categories": ["1"]}]'
    answers = [told, "I'm sorry, but I can't help with that."]
    written = design.collect(plan, [{"call": c, "answer": a} for c, a in zip(plan.calls["call"], answers, strict=True)])
    assert written["status"].tolist() == ["ok", "refused"]
    responses, picked = design.read_explanations(written, {"1": "Grocery"}, levels=["low"], picks=1)
    assert responses["fault"].tolist() == ["", "refused"]
    assert responses["response_text"].notna().tolist() == [True, False]
    assert picked["judge"].tolist() == ["GPT"]
