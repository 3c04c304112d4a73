"""Rubrics and the study that rates by them: sizes, aliases, several criteria in a reply, forms for people."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.design import (
    Criterion,
    Judge,
    Rubric,
    collect,
    export,
    next_stage,
    points_score,
    rubric,
    simulate_replies,
)
from judgestats.errors import DesignError

MODELS = ["GPT-5.1", "Gemini-2.5 Pro", "Grok 4", "Claude-4.5", "Sonar"]
TEXTS = pd.DataFrame(
    {
        "item": "risk",
        "system": MODELS,
        "task_text": "Explain the risk.",
        "response_text": [f"Text {i}." for i in "abcde"],
    }
)


def test_the_sizes_of_the_paper_and_its_aliases():
    """merchant_risk: 5 judges x 5 systems x 10 runs x 2 arms; Expert j is model j."""
    plan = rubric(MODELS, TEXTS)
    assert len(plan) == 500
    hidden = plan.calls[plan.calls["condition"] == "anonymized"]
    assert hidden.groupby("system")["alias"].unique().map(list).to_dict() == {
        m: [f"Expert {i}"] for i, m in enumerate(MODELS, start=1)
    }
    shown = {call: user for call, _, user in plan.messages()}
    for row in plan.calls.itertuples():
        name = row.system if row.condition == "attributed" else row.alias
        assert f"Written by: {name}\n" in shown[row.call]
        assert row.condition == "attributed" or not any(m in shown[row.call] for m in MODELS)
    assert len(plan.check()) == 0
    leaking = rubric(MODELS, TEXTS.assign(response_text="I am Grok 4.")).check()
    assert leaking["what"].str.contains("stands in the response").all()
    assert len(leaking) == 1


def test_every_criterion_of_a_reply_is_a_row():
    plan = rubric("m", TEXTS, arms=["anonymized"], replicates=1)
    calls = plan.calls["call"].tolist()
    full = {"accuracy": 7, "quality": 8.4, "consistency": "8.2 +/- 0.3", "completeness": 0, "usefulness": 11}
    answers = [
        {
            "call": calls[0],
            "answer": "Here it is:\n```json\n" + json.dumps({"scores": full, "reasons": {"accuracy": "why"}}) + "\n```",
        },
        {"call": calls[1], "answer": '{"scores": {"accuracy": 7}} {"scores": {"accuracy": 3, "quality": 2}}'},
        {"call": calls[2], "answer": "I rate it 7."},
        {"call": calls[3], "answer": None, "error": "timeout"},
    ]
    held = collect(plan, answers)
    assert (held.loc[held["call"] == calls[0], "status"] == "schema").sum() == 4  # no strengths; 11 stays off the scale
    data = collect(plan, answers, schema=False)
    assert len(data) == 25
    first = data[data["call"] == calls[0]].set_index("criterion")
    assert first["score"].fillna(-1).to_dict() == {
        "accuracy": 7.0, "quality": 8.4, "consistency": 8.2, "completeness": 0.0, "usefulness": -1.0,
    }  # fmt: skip
    assert first.loc["accuracy", "rationale"] == "why"
    assert first["status"].astype(str).to_dict()["usefulness"] == "off scale"
    assert first.loc["consistency", "reply_note"] == "self-reported runs"
    two = data[data["call"] == calls[1]].set_index("criterion")
    assert two["score"].fillna(-1).to_dict() == {
        "accuracy": -1,
        "quality": 2,
        "consistency": -1,
        "completeness": -1,
        "usefulness": -1,
    }
    assert data[data["call"] == calls[2]]["score"].isna().all()
    assert (data[data["call"] == calls[3]]["status"] == "error").all()
    found = js.check(data).set_index("what")
    assert found.loc["score is missing (missing: no answer came back)", "n"] == 5


def test_planted_severity_and_self_preference_are_found():
    plan = rubric(MODELS, TEXTS)
    severity = dict(zip(MODELS, [0.8, 0.4, 0.0, -0.4, -0.8], strict=True))
    judges = [Judge(m, leniency=s, self_preference=0.0, noise=0.4) for m, s in severity.items()]
    replies = simulate_replies(plan, judges, error=0.02, unreadable=0.02, seed=1)
    data = collect(plan, replies.to_dict("records"))
    means = data.groupby("judge")["score"].mean()
    assert means.rank().to_dict() == pd.Series(severity).rank().to_dict()
    assert np.abs(means - means.mean() - pd.Series(severity)).max() < 0.15
    assert len(js.consensus_deviation(data[data["condition"] == "anonymized"], identity={m: m for m in MODELS})) > 0


def test_people_fill_in_a_form_that_names_nothing(tmp_path):
    people = ["Ann", "Bob"]
    plan = rubric(people, TEXTS, arms=["anonymized"], replicates=1)
    files = export(plan, tmp_path, "form")
    assert [f.name for f in files] == ["form.Ann.csv", "form.Bob.csv"]
    orders = []
    for path in files:
        with path.open(newline="", encoding="utf-8") as rows:
            filled = list(csv.DictReader(rows))
        assert not any(m in cell for row in filled for cell in row.values() for m in MODELS)
        assert [row["label"] for row in filled] == [f"Expert {'abcde'.index(row['response'][5]) + 1}" for row in filled]
        orders.append([row["response"] for row in filled])
        for row in filled:
            row |= {"accuracy": str(ord(row["response"][5]) - ord("a")), "quality": "9", "comment": "fine"}
        with path.open("w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, list(filled[0]))
            writer.writeheader()
            writer.writerows(filled)
    assert orders[0] != orders[1]
    data = collect(plan, [str(f) for f in files])
    given = data[data["criterion"] == "accuracy"]
    assert given.set_index(["judge", "system"])["score"].to_dict() == {
        (p, m): float(i) for p in people for i, m in enumerate(MODELS)
    }
    assert data[data["criterion"] == "usefulness"]["score"].isna().all()
    assert set(data["rationale"].dropna()) == {"fine"}


def test_points_become_scores_in_steps():
    assert np.diff(points_score(np.arange(26))) == pytest.approx(0.4)
    assert points_score(25) == 10.0
    for wrong in (26, -1, 2.5):
        with pytest.raises(DesignError, match="not whole numbers from 0 to 25"):
            points_score(wrong)


def test_a_rubric_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[mine]\nscale = [1, 3]\n[mine.criteria.tone]\nabout = "Kind?"\nanchors = {"1" = "no", "3" = "yes"}\n'
    )
    mine = Rubric.read(path)
    assert mine.text == "tone (1 to 3): Kind?\n  1: no\n  3: yes"
    assert mine.schema["properties"]["scores"]["properties"]["tone"] == {"type": "number", "minimum": 1, "maximum": 3}
    plan = rubric("m", TEXTS, by=mine, replicates=1)
    assert "tone (1 to 3)" in next(plan.messages())[2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rubric("m", TEXTS, arms=["secret"]), "Allowed: attributed, anonymized, style-transferred"),
        (lambda: rubric("m", TEXTS, arms=["style-transferred"]), "no column 'restyled_text'"),
        (lambda: rubric("m", TEXTS, alias=dict.fromkeys(MODELS, "X")), "gives 'X' to more than one system"),
        (lambda: rubric("m", TEXTS, alias={"Sonar": "X"}), r"alias= does not name 'GPT-5\.1'"),
        (lambda: rubric("m", TEXTS.drop(columns="system")), "no column 'system'"),
        (lambda: rubric("m", TEXTS, by="explanaton"), "Did you mean 'explanation'"),
        (lambda: rubric("m", TEXTS, by="no_such.toml"), "cannot be read"),
        (lambda: Rubric("r", []), "needs criteria with different names"),
        (lambda: Rubric("r", [Criterion("a")], (5, 5)), "is not \\(lowest, highest\\)"),
        (lambda: Rubric("r", [Criterion("a", "", {"11": "x"})]), "the anchor '11' is not a score from 0 to 10"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DesignError, match=message):
        call()


def test_a_dialogue_of_six_messages_rates_five_systems_and_sums_up():
    """merchant_risk, App A: a message for each system, and one with table, ranking and synthesis."""
    plan = stage = rubric(["GPT-5.1", "Grok 4"], TEXTS, replicates=3, prompts="rubric_expert")
    assert plan.check().empty
    assert len(plan) == 2 * 3 * 2  # judges, runs, arms
    assert plan.later["stage"].value_counts().to_dict() == dict.fromkeys(range(2, 7), 12)
    judges = [Judge(j, scale=(0, 10), leniency=s) for j, s in (("GPT-5.1", 0.0), ("Grok 4", 1.5))]
    answers = simulate_replies(stage, judges).to_dict("records")
    while len(stage.later):
        stage = next_stage(stage, answers)
        plan, answers = plan + stage, answers + simulate_replies(stage, judges).to_dict("records")
    assert set(stage.calls["prompt"]) == {"rubric_synthesis"}
    _, system, earlier, last = next(stage.dialogues())
    assert [m["role"] for m in earlier] == ["user", "assistant"] * 5
    assert "Step F" in system
    assert "rank the responses" in last
    data = collect(plan, answers)
    assert data.groupby(["judge", "system", "condition"]).size().eq(3 * 5).all()
    assert data["system"].nunique() == 5
    assert (data["status"] == "ok").all()
    found = js.score_matrix(data, by="condition")
    means = found.groupby("judge")["mean" if "mean" in found else "estimate"].mean()
    assert 1.0 < means["Grok 4"] - means["GPT-5.1"] < 2.0
    with pytest.raises(DesignError, match="call has no row of the table"):
        rubric("m", pd.concat([TEXTS, TEXTS.head(1).assign(item="other")]), prompts="rubric_expert")
