"""Studies by name, and the verdicts by their rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.design import Judge, collect, export, simulate_replies, strategies, study, study_verdicts
from judgestats.design.studies import STUDIES, study_of
from judgestats.errors import DesignError


@pytest.fixture
def responses():
    table = pd.DataFrame([(f"i{i}", s) for i in range(4) for s in ("GPT", "Grok")], columns=["item", "system"])
    return table.assign(task_text="Explain " + table["item"], response_text="Text " + table.index.astype(str))


@pytest.fixture
def pairs():
    table = pd.DataFrame(
        {"item": [str(i) for i in range(60)], "first": "u", "second": "v", "gold": ["u", "v", "tie"] * 20}
    )
    return table.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.")


def test_people_see_each_text_once_under_its_alias_beside_judges(responses, tmp_path):
    alias = {"GPT": "LLM1", "Grok": "LLM2"}
    plan = study("rubric", ["GPT", "Grok"], responses=responses, runs=2, annotators=["Ann", "Bob"], alias=alias)
    sizes = plan.calls.groupby(["judge", "rater_type", "condition"]).size().to_dict()
    assert sizes == {
        **{(j, "model", arm): 16 for j in ("GPT", "Grok") for arm in ("attributed", "anonymized")},
        **{(p, "human", "anonymized"): 8 for p in ("Ann", "Bob")},
    }
    files = export(plan, tmp_path, "openai")
    assert sorted(f.name for f in files) == [
        "calls.openai.GPT.jsonl", "calls.openai.Grok.jsonl", "form.Ann.csv", "form.Bob.csv",
    ]  # fmt: skip
    form = pd.read_csv(tmp_path / "form.Ann.csv")
    assert sorted(form["label"]) == ["LLM1"] * 4 + ["LLM2"] * 4
    text = dict(zip(responses["response_text"], responses["system"].map(alias), strict=True))
    assert form["label"].tolist() == form["response"].map(text).tolist()
    assert plan.check().empty


def test_people_and_judges_have_different_names(responses):
    with pytest.raises(DesignError, match="'GPT' is among the judges and among annotators="):
        study("rubric", "GPT", responses=responses, annotators=["GPT"])


def test_the_draw_of_the_paper(pairs):
    drawn = study("debiasing", "m", pairs=pairs, strategies=["B0"], sample=20, seed=42)
    places = np.random.default_rng(42).choice(60, 20, replace=False)
    assert set(drawn.calls["item"]) == set(map(str, places))


def test_a_sample_is_spread_over_domains(responses):
    plan = study(
        "merg", ["g", "h"], responses=responses.assign(domain=responses["item"].map(lambda i: i < "i2")), sample=2
    )
    items = pd.concat([plan.calls, plan.later]).drop_duplicates("item")
    assert sorted(items["domain"]) == [False, True]
    assert set(plan.calls["condition"].dropna()) == {"baseline-score"}
    assert set(plan.later["condition"].dropna()) == {"original-4-stage"}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("merg", {}, "needs responses="),
        ("vacuum", {"sample": 3}, "sample= is not an option of the study 'vacuum'"),
        ("debiasing", {}, "needs pairs="),
        ("debiasing", {"writer": "w", "sample": 3}, "sample= draws from pairs="),
        ("debiasing", {"controlled": pd.DataFrame(), "strategies": []}, "has no column 'bias_type'"),
        ("dark-currant", {}, "Did you mean 'dark-current'"),
        ("merg", {"responses": pd.DataFrame(), "variants": ["own"]}, "variant 'own' is not known"),
    ],
)
def test_what_no_study_takes(name, options, said):
    with pytest.raises(DesignError, match=said):
        study(name, "m", **options)


def test_calls_are_of_the_study_that_planned_them(responses, pairs):
    tables = {
        "pairs": pairs,
        "responses": responses,
        "categories": pd.DataFrame({"code": range(15), "name": list("abcdefghijklmno")}),
    }
    named = {}
    for name, recipe in STUDIES.items():
        given = {recipe.table: tables[recipe.table]} if recipe.table else {}
        plan = study(name, "m", **given)
        named[name] = study_of(pd.concat([plan.calls, plan.later]))
    none = dict.fromkeys(("explanations", "rankings"), "")
    same = {n: n for n in ("dark-current", "debiasing", "cues", "rubric", "merg")}
    assert named == {**same, "vacuum": "dark-current", "ladder": "dark-current", **none}


def test_verdicts_of_strategies_follow_their_rules(pairs):
    """Single calls of S1 are right more often than S1: what is measured is the strategy."""
    plan = strategies("m", pairs, strategies=["B0", "S1"])
    calls = collect(plan, simulate_replies(plan, Judge("m", slot_bias=1.5, tie_criterion=0.4)).to_dict("records"))
    merged = study_verdicts(calls)
    pd.testing.assert_frame_equal(merged, js.design.strategy_verdicts(calls))
    assert study_verdicts(merged) is merged
    assert merged.groupby("strategy").size().to_dict() == {"B0": 60, "S1": 60}


def test_an_item_whose_rubric_failed_is_left_out_and_named(responses):
    rubrics = pd.DataFrame({"item": ["i0", "i1", "i2", "i3"], "criterion": ["Clarity", "Depth", None, "Voice"]})
    rubrics["fault"] = ["", "", "no JSON", ""]
    plan = study("merg", "m", responses=responses, variants=["baseline-score", "universal-rubric"], rubrics=rubrics)
    items = plan.calls.groupby("condition")["item"].unique().map(sorted).to_dict()
    assert items == {"baseline-score": ["i0", "i1", "i2", "i3"], "universal-rubric": ["i0", "i1", "i3"]}
    finding = plan.check().set_index("what").loc["items without a rubric that can be used"]
    assert (finding["n"], finding["example"]) == (1, "i2")


def test_calls_that_a_rule_makes_one_verdict_of_are_named(pairs):
    plan = strategies("m", pairs, strategies=["B0", "S1"])
    calls = collect(plan, simulate_replies(plan, Judge("m")).to_dict("records"))
    what = "several calls of a strategy on a pair"
    found = js.check(calls).set_index("what")
    assert found.loc[what, "n"] == 120
    assert "strategy_verdicts()" in found.loc[what, "remedy"]
    assert what not in set(js.check(study_verdicts(calls))["what"])
