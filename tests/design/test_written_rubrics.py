"""MERG: sizes of its variants, stages shared, rubrics read back, scores of dimensions that a judge named itself."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.design import (
    Criterion,
    Judge,
    Plan,
    Prompt,
    Rubric,
    collect,
    export,
    generated_rubrics,
    matched_dimensions,
    merg,
    next_stage,
    simulate_replies,
)
from judgestats.errors import DesignError
from refusals import refused

JUDGES = ["claude", "gemini", "gpt"]
FIVE = ["Content", "Style", "Structure", "Language", "Creativity"]
CHAINED = ("original-4-stage", "5-dim-per-dim", "shared-stages")


def responses(items: int = 3, systems: int = 2) -> pd.DataFrame:
    table = pd.DataFrame([(f"i{i}", f"model-{s}") for i in range(items) for s in range(systems)])
    table = table.set_axis(["item", "system"], axis="columns")
    return table.assign(
        task_text="Write a text about " + table["item"] + ".",
        response_text="A text on " + table["item"] + ", no. " + table["system"].str[-1] + ".",
        domain=table["item"].str[-1].map(lambda d: "even" if int(d) % 2 == 0 else "odd"),
        tier=table["system"].map({"model-0": "base"}).fillna("thinking"),
    )


def run(plan, judges, seed=1, **shares):
    """The plan of all stages, and the answers of simulated judges to it."""
    stage, answers = plan, []
    while True:
        answers += simulate_replies(stage, judges, seed=seed, **shares).to_dict("records")
        if not len(stage.later):
            return plan, answers
        stage = next_stage(stage, answers)
        plan = plan + stage


def options(variant):
    return {"shared-stages": {"rubric_judge": "claude"}, "universal-rubric": {"rubrics": "writing"}}.get(variant, {})


# ---- The plan --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "calls"),
    [
        ("original-4-stage", {1: 300, 2: 300, 3: 300, 4: 600}),  # 3 judges x 100 items; then x 2 systems
        ("5-dim-per-dim", {1: 300, 2: 300, 3: 300, 4: 600}),
        ("shared-stages", {1: 100, 2: 100, 3: 100, 4: 600}),
        ("universal-rubric", {1: 600}),
        ("baseline-score", {1: 600}),
    ],
)
def test_the_sizes_of_the_paper(variant, calls):
    """consensus_illusion, Sec 2.1 and 2.2: three judges, 100 tasks, two models."""
    plan = merg(JUDGES, responses(100), variant=variant, **options(variant))
    every = pd.concat([plan.calls, plan.later])
    assert every.get("stage", pd.Series(1, every.index)).value_counts().to_dict() == calls
    assert set(every["judge"]) == set(JUDGES)
    assert plan.check().empty
    scored = every[every["condition"] == variant]
    assert scored.groupby(["judge", "system"]).size().tolist() == [100] * 6
    if variant in CHAINED:
        own = {"claude"} if variant == "shared-stages" else set(JUDGES)
        assert set(plan.calls["judge"]) == own
        assert "system" not in plan.calls
        assert plan.calls["domain"].notna().all()


def test_the_baseline_of_the_paper_has_its_105_600_calls():
    """32 models x 3 judges x 100 prompts x 11 temperatures."""
    heat = [t / 10 for t in range(11)]
    plan = merg(JUDGES, responses(100, 32), variant="baseline-score", temperature=heat)
    assert len(plan) == 105_600
    assert plan.calls["call"].is_unique


def test_joined_variants_share_their_stages():
    plans = [merg(JUDGES, responses(), variant=v, **options(v)) for v in (*CHAINED, "universal-rubric")]
    whole = plans[0] + plans[1] + plans[2] + plans[3]
    every = pd.concat([whole.calls, whole.later])
    assert every["call"].is_unique
    count = every.groupby("prompt").size()
    assert count[["merg_knowledge", "merg_biases", "merg_rubric", "merg_rubric_five"]].tolist() == [9, 9, 9, 9]
    # a judge that scores by its own rubric does so in both variants
    assert every["condition"].value_counts().to_dict() == dict.fromkeys((*CHAINED, "universal-rubric"), 18)
    cells = whole.summary().groupby(["prompt", "condition"], dropna=False)["calls"].sum()
    assert cells["merg_scores"].tolist() == [18, 18, 18]
    assert cells["merg_knowledge"].tolist() == [9]


def test_stages_before_the_scores_do_not_depend_on_the_responses():
    one = merg("g", responses(systems=1))
    two = merg("g", responses(systems=2).assign(response_text="Other."))
    assert one.calls["call"].tolist() == two.calls["call"].tolist()
    assert not set(one.later.loc[one.later["stage"] == 4, "call"]) & set(two.later["call"])


def test_each_stage_shows_the_replies_before_it_and_no_response():
    plan = stage = merg("claude", responses(1))
    answers = []
    for k, reply in enumerate(("the know-how", "the biases", json.dumps(rubric_of(FIVE))), start=1):
        shown = [u for *_, u in stage.messages()]
        assert len(shown) == 1
        assert "A text on i0" not in shown[0]
        assert ("the know-how" in shown[0], "the biases" in shown[0]) == (k > 1, k > 2)
        answers += [{"call": c, "answer": reply} for c in stage.calls["call"]]
        stage = next_stage(stage, answers)
    shown = [u for *_, u in stage.messages()]
    assert [f"no. {i}" in text for text in shown for i in range(2)] == [True, False, False, True]
    assert all("the biases" in t and "the know-how" not in t and '"name": "Style"' in t for t in shown)
    assert len(plan.later) == 4


def test_names_of_models_and_variants_in_a_text_are_found():
    assert merg(JUDGES, responses().assign(response_text="I am model-1."), variant="baseline-score").check()[
        "what"
    ].tolist() == ["'model-1' (system) stands in the response"]
    found = merg(JUDGES, responses().assign(task_text="Write for gemini.")).check()
    assert found["what"].tolist() == ["'gemini' (judge) stands in the task"]


def test_a_sample_of_100_is_balanced_over_languages_and_domains():
    """Sec 2.1: 100 prompts, 50 in each language, 12 to 19 of each of six domains."""
    rng = np.random.default_rng(7)
    pool = pd.DataFrame({"item": [f"p{i:04d}" for i in range(1200)], "system": "s", "response_text": "Text."})
    pool["task_text"] = "Task " + pool["item"]
    pool["domain"] = rng.choice(list("LEAFPM"), 1200, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    pool["language"] = rng.choice(["en", "zh"], 1200, p=[0.3, 0.7])
    plan = merg("g", pool)
    for seed in range(5):
        drawn = plan.sample(100, stratify=["language", "domain"], seed=seed)
        assert drawn.calls["language"].value_counts().to_dict() == {"en": 50, "zh": 50}
        assert drawn.calls["domain"].value_counts().between(12, 19).all()
        assert len(drawn.later) == 300
        again = plan.sample(100, stratify=["language", "domain"], seed=seed)
        assert again.calls["call"].tolist() == drawn.calls["call"].tolist()
    assert plan.sample(100, seed=1).calls["item"].tolist() != plan.sample(100, seed=2).calls["item"].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variant": "original"}, "variant='original' is not known.*Did you mean 'original-4-stage'"),
        ({"variant": "shared-stages"}, "needs rubric_judge="),
        ({"rubric_judge": "gpt"}, "rubric_judge= is of variant='shared-stages', not of 'original-4-stage'"),
        ({"variant": "universal-rubric"}, "needs rubrics="),
        ({"rubrics": "writing"}, "the judges write the rubrics"),
        ({"variant": "baseline-score", "rubrics": "explanation"}, "scale 0 to 10, and prompt .* from 1 to 10"),
        ({"prompts": ["merg_scores"]}, "prompts= has 1 of the 4 stages"),
    ],
)
def test_options_that_do_not_fit(change, message):
    with pytest.raises(DesignError, match=message):
        merg("g", responses(), **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="task_text"), "no column 'task_text'"),
        (lambda t: t.assign(task_text=[f"Task {i}." for i in range(len(t))]), "Item 'i0' has 2 different tasks"),
        (lambda t: pd.concat([t, t]), "two responses of one system to one item"),
        (lambda t: t[:0], "has no rows"),
        (lambda t: t.assign(condition="x"), "has a column 'condition', which the plan fills in"),
    ],
)
def test_tables_that_do_not_fit(change, message):
    with pytest.raises(DesignError, match=message):
        merg("g", change(responses()))


# ---- Rubrics read back -----------------------------------------------------------------------------------------------


def rubric_of(names, weights=None, **changes):
    anchors = {"2": "poor", "5": "fair", "8": "good", "10": "best"}
    weights = [1 / len(names)] * len(names) if weights is None else weights
    return {
        "dimensions": [
            {"name": n, "weight": w, "about": f"its {n}", "anchors": anchors, **changes}
            for n, w in zip(names, weights, strict=True)
        ]
    }


@cache
def two_stages(variant, items):
    plan = stage = merg("g", responses(items), variant=variant)
    answers = []
    for _ in range(2):
        answers += [{"call": c, "answer": "Notes."} for c in stage.calls["call"]]
        stage = next_stage(stage, answers)
        plan = plan + stage
    return plan, answers, stage


def third_stage(variant="original-4-stage", items=1):
    """The plan up to the rubrics, the answers so far, and the calls that ask for a rubric."""
    plan, answers, stage = two_stages(variant, items)
    return plan, list(answers), stage


FAULTY = [
    ("No rubric here.", "no JSON object with dimensions"),
    (json.dumps(rubric_of(FIVE[:4])), "4 dimensions, not 5"),
    (json.dumps(rubric_of([*FIVE, "Depth"])), "6 dimensions, not 5"),
    (json.dumps(rubric_of(FIVE, [0.5, 0.4, 0.3, -0.1, -0.1])), "the weight of 'Language' is negative"),
    (json.dumps(rubric_of(FIVE, [0, 0, 0, 0, 0])), "all weights are 0"),
    (json.dumps(rubric_of(FIVE, [0.5, "high", 0.2, 0.2, 0.1])), "the weight of 'Style' is missing"),
    (json.dumps(rubric_of(["Tone", "tone", *FIVE[:3]])), "two dimensions of one name"),
    (json.dumps(rubric_of(["", *FIVE[:4]])), "a dimension without a name"),
    (json.dumps(rubric_of(["Overall", *FIVE[:4]])), "a dimension named 'Overall'"),
    (json.dumps(rubric_of(FIVE)) + json.dumps(rubric_of(FIVE)), "several rubrics in the reply"),
    ("", "no usable reply: it failed, was refused, empty, cut off or never came"),
    ("I'm sorry, but I can't help with that.", "no usable reply: it failed, was refused, empty, cut off or never came"),
]


@pytest.mark.parametrize(("reply", "fault"), FAULTY, ids=[f for _, f in FAULTY])
def test_a_faulty_rubric_has_a_reason_and_no_scores(reply, fault):
    plan, answers, stage = third_stage(items=2)
    good, bad = stage.calls["call"]
    answers += [{"call": good, "answer": json.dumps(rubric_of(FIVE))}, {"call": bad, "answer": reply}]
    rubrics = generated_rubrics(plan, answers)
    assert rubrics["fault"].tolist() == [""] * 5 + [fault]
    assert rubrics["item"].tolist() == ["i0"] * 5 + ["i1"]
    assert rubrics["criterion"].isna().tolist() == [False] * 5 + [True]
    later = next_stage(stage, answers)
    assert set(later.calls["item"]) == {"i0"}
    assert later.check().set_index("what").loc["later calls without an answer to go on from", "n"] == 2


def test_names_that_were_asked_for_are_required():
    plan, answers, stage = third_stage("5-dim-per-dim")
    (call,) = stage.calls["call"]
    own = [{"call": call, "answer": json.dumps(rubric_of(["Content", "Style", "Order", "Language", "Creativity"]))}]
    assert generated_rubrics(plan, answers + own)["fault"].tolist() == ["no dimension 'Structure', which was asked for"]
    given = [{"call": call, "answer": json.dumps(rubric_of([f.upper() for f in FIVE]))}]
    assert generated_rubrics(plan, answers + given)["fault"].tolist() == [""] * 5


def test_weights_that_do_not_sum_to_1_are_divided_by_their_sum_and_flagged():
    plan, answers, stage = third_stage()
    (call,) = stage.calls["call"]
    odd = rubric_of(FIVE, [30, "30%", 20, "10 %", 10])
    del odd["dimensions"][2]["anchors"]
    rubrics = generated_rubrics(
        plan, [*answers, {"call": call, "answer": "Here:\n```json\n" + json.dumps(odd) + "\n```"}]
    )
    assert rubrics["weight"].tolist() == pytest.approx([0.3, 0.3, 0.2, 0.1, 0.1])
    assert (rubrics["flag"].str.startswith("weights summed to 100; 'Structure' has no anchor 2")).all()
    assert rubrics.loc[0, ["about", "anchor_2", "anchor_10"]].tolist() == ["its Content", "poor", "best"]
    assert rubrics["anchor_5"].isna().tolist() == [False, False, True, False, False]


# ---- Scores of dimensions that the judge named -----------------------------------------------------------------------


def test_scores_are_read_by_the_names_of_the_judges_own_rubric():
    plan, answers, stage = third_stage()
    names = ["Dread, slowly built", "The Uncanny", "Restraint", "Voice", "Rhythm"]
    weights = [0.4, 0.3, 0.1, 0.1, 0.1]
    answers += [{"call": c, "answer": json.dumps(rubric_of(names, weights))} for c in stage.calls["call"]]
    last = next_stage(stage, answers)
    one, two = last.calls["call"]
    said = ["1. dread, slowly built", "**The uncanny**", "Restraint", "Voice", "Tempo"]  # the last is not in the rubric
    scores = [
        {"dimension": n, "evidence": f"on {n}", "score": s} for n, s in zip(said, [8, 6.5, 11, "7/10", 3], strict=True)
    ]
    answers += [{"call": one, "answer": json.dumps({"scores": scores, "overall": 7.2})}]
    answers += [{"call": two, "answer": json.dumps({"scores": dict.fromkeys(names, 5), "overall": 9})}]
    assert (collect(plan + last, answers)["status"] == "schema").any()  # both replies lack a bias check
    data = collect(plan + last, answers, schema=False)
    first = data[data["call"] == one].set_index("criterion").loc[names]
    assert first["score"].fillna(-1).tolist() == [8, 6.5, -1, 7, -1]
    assert first["status"].astype(str).tolist() == ["ok", "ok", "off scale", "ok", "parse"]
    assert first["weight"].tolist() == weights
    assert first["rationale"].tolist()[:2] == ["on 1. dread, slowly built", "on **The uncanny**"]
    assert (first["stated_overall"] == 7.2).all()
    second = data[data["call"] == two]
    assert second["score"].tolist() == [5] * 5
    assert (second["stated_overall"] == 9).all()
    assert set(data["condition"]) == {"original-4-stage"}
    with pytest.raises(DesignError, match="form= reads one answer"):
        collect(plan + last, answers, form="json")


def test_two_scores_of_one_dimension_and_failed_calls():
    plan = merg("g", responses(2), variant="universal-rubric", rubrics="writing")
    names = [c.name for c in Rubric.read("writing").criteria]
    good = [{"dimension": n, "score": 4} for n in names]
    replies = [
        {"answer": json.dumps({"scores": [*good, {"dimension": names[0], "score": 9}]})},
        {"answer": '{"overall": 7}'},
        {"answer": "I'm sorry, but I can't help with that."},
        {"answer": None, "error": "timeout"},
    ]
    answers = [{"call": c, **r} for c, r in zip(plan.calls["call"], replies, strict=True)]
    data = collect(plan, answers, schema=False)
    assert data["score"].fillna(-1).tolist() == [-1, 4, 4, 4, 4] + [-1] * 15
    assert data["status"].astype(str).tolist()[::5] == ["parse", "parse", "refused", "error"]
    assert data["weight"].tolist() == [0.2] * 20
    assert data["criterion"].tolist() == names * 4


def test_both_overall_scores():
    """Sec 2.2: the mean over dimensions; App A: the weighted mean."""
    plan, answers = run(merg(JUDGES, responses(4)), [Judge(j, step=None) for j in JUDGES])
    data = collect(plan, answers)
    keys = ["judge", "system", "item"]
    by_hand = data.assign(part=data["weight"] * data["score"]).groupby(keys)
    weighted = js.composite(data, data).set_index(keys)
    assert weighted["score"].to_dict() == pytest.approx(by_hand["part"].sum().to_dict())
    assert weighted["stated_overall"].to_dict() == pytest.approx(weighted["score"].to_dict(), abs=0.0051)
    plain = js.composite(data, data.assign(weight=1.0)).set_index(keys)["score"]
    assert plain.to_dict() == pytest.approx(by_hand["score"].mean().to_dict())


def test_rubrics_of_one_judge_are_given_to_all():
    plan, answers = run(merg(JUDGES, responses(3)), [Judge(j) for j in JUDGES])
    rubrics = generated_rubrics(plan, answers)
    chosen = rubrics[rubrics["judge"] == "gemini"]
    given = merg(JUDGES, responses(3), variant="universal-rubric", rubrics=chosen)
    shown = {call: user for call, _, user in given.messages()}
    for row in given.calls.itertuples():
        here = chosen[chosen["item"] == row.item]
        assert all(f'"name": "{n}",\n   "weight": {w:g}' in shown[row.call] for n, w in zip(here["criterion"], here["weight"].round(4), strict=True))  # fmt: skip
    data = collect(given, simulate_replies(given, [Judge(j) for j in JUDGES]).to_dict("records"))
    assert (
        data.groupby("item")["criterion"].unique().map(list).to_dict()
        == chosen.groupby("item")["criterion"].apply(list).to_dict()
    )
    refused(
        DesignError,
        (
            lambda: merg("g", responses(3), variant="universal-rubric", rubrics=rubrics),
            "Item 'i0' has rubrics of several judges",
        ),
        (lambda: merg("g", responses(4), variant="universal-rubric", rubrics=chosen), "Item 'i3' has no rubric"),
        (
            lambda: merg(
                "g", responses(3), variant="universal-rubric", rubrics=chosen.assign(weight=-chosen["weight"])
            ),
            "Item 'i0' has a weight that is missing or negative",
        ),
    )
    own = Rubric("own", [Criterion("Depth", weight=3), Criterion("Form", weight=1)], (1, 10))
    plan = merg("g", responses(1), variant="universal-rubric", rubrics=own)
    data = collect(plan, simulate_replies(plan, Judge("g")).to_dict("records"))
    assert data["weight"].tolist() == [0.75, 0.25] * 2


# ---- There and back --------------------------------------------------------------------------------------------------


def openai_output(plan, replies, folder):
    """The output file of the OpenAI batch endpoint for the exported calls."""
    asked = [json.loads(line) for p in export(plan, folder, "openai") for line in p.read_text().splitlines()]
    given = {r["call"]: r for r in replies}
    lines = []
    for line in asked:
        reply = given[line["custom_id"]]
        message = {"message": {"role": "assistant", "content": reply["answer"]}, "finish_reason": "stop"}
        failed = isinstance(reply["error"], str)
        response = {"status_code": 500 if failed else 200, "body": {} if failed else {"choices": [message]}}
        lines.append(
            {"custom_id": line["custom_id"], "response": response, "error": reply["error"] if failed else None}
        )
    return lines


@pytest.mark.parametrize("form", ["jsonl", "openai"])
def test_the_chain_through_files_with_planted_errors(form, tmp_path):
    folder = tmp_path / "plan"
    judges = [Judge(j, leniency=s, noise=0.4) for j, s in zip(JUDGES, (1.0, 0.0, -1.0), strict=True)]
    stage = merg(JUDGES, responses(25))
    stage.write(folder)
    planned = len(stage) + len(stage.later)
    for k in range(1, 5):
        replies = simulate_replies(stage, judges, seed=k, error=0.03, refused=0.02, unreadable=0.03).to_dict("records")
        lines = replies if form == "jsonl" else openai_output(stage, replies, tmp_path / f"sent{k}")
        (tmp_path / f"answers{k}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if k < 4:
            stage = next_stage(folder, str(tmp_path / "answers*.jsonl"))
            stage.write(folder / f"stage{k + 1}")
    data = collect(folder, str(tmp_path / "answers*.jsonl"))
    whole = Plan.read(folder)
    for k in (2, 3, 4):
        whole = whole + Plan.read(folder / f"stage{k}")
    rubrics = generated_rubrics(folder, str(tmp_path / "answers*.jsonl"))
    asked = set(rubrics["call"])
    usable = set(rubrics.loc[rubrics["fault"] == "", "call"])
    scored = whole.calls[whole.calls["stage"] == 4]
    assert set(scored["after"]) == usable
    assert len(asked) > len(usable) > 50
    assert planned == 225 + 150
    unasked = data[data["criterion"] == "overall"]
    assert len(unasked) == 150 - len(scored)  # no rubric to score by: the status of what failed before
    assert set(unasked["status"].astype(str)) <= {"error", "refused", "schema", "truncated", "empty"}
    assert js.composite(data, data)["score"].isna().sum() >= len(unasked)
    data = data[data["criterion"] != "overall"]
    assert len(data) == 5 * len(scored)
    lost = data.groupby("call")["score"].apply(lambda s: s.isna().all())
    assert 0.02 < lost.mean() < 0.16
    means = data.groupby("judge")["score"].mean()
    assert (means["claude"] - means["gemini"], means["gemini"] - means["gpt"]) == pytest.approx((1, 1), abs=0.25)


@pytest.mark.slow
def test_planted_agreement_of_each_variant_is_recovered():
    """Correlation of two judges' means over five dimensions: v / (v + n / 5), v shared by item, n the noise of a call.

    In the original variant each judge has besides its own effect of an item, with the variance u: v / (v + u + n / 5).
    """
    v, n, u = 0.4, 0.2, 0.6
    own = {"condition": {"original-4-stage": {"item_interaction": u**0.5}}}
    judges = [
        Judge(j, leniency=s, item_difficulty=v**0.5, noise=n**0.5, step=None, under=own)
        for j, s in zip(JUDGES, (0.5, 0.0, -0.5), strict=True)
    ]
    table = responses(120, 1)
    variants = {name: options(name) for name in ("baseline-score", *CHAINED)}
    plan = None
    for variant, more in variants.items():
        made = merg(JUDGES, table, variant=variant, **more)
        plan = made if plan is None else plan + made
    plan, answers = run(plan, judges, seed=3)
    data = collect(plan, answers)
    total = js.composite(data, data.assign(weight=1.0))
    expected = {k: v / (v + n / 5 + (u if k == "original-4-stage" else 0)) for k in variants}
    found = js.correlation(total, by="condition", n_resamples=400).set_index("condition")
    for variant, r in expected.items():
        assert found.loc[variant, "estimate"] == pytest.approx(r, abs=0.12), variant
        assert found.loc[variant, "conf_low"] < r < found.loc[variant, "conf_high"], variant
    shift = js.agreement_shift(total, ("baseline-score", "original-4-stage"), n_resamples=400).iloc[0]
    planted = expected["original-4-stage"] - expected["baseline-score"]
    assert shift["conf_low"] < planted < shift["conf_high"] < 0
    severity = np.var([0.5, 0.0, -0.5], ddof=1)
    single = v / (v + n / 5 + severity)
    icc = js.icc(total[total["condition"] == "5-dim-per-dim"])
    icc = icc[icc["term"].str.contains("2,1|A,1", regex=True)].iloc[0]
    assert icc["estimate"] == pytest.approx(single, abs=0.1)


def test_plans_without_their_rubrics_are_refused(tmp_path):
    refused(
        DesignError,
        (
            lambda: Prompt("p", "{{ response }} {{ answer_3 }}", frame="ratings", criteria_in="answer_2"),
            "criteria_in='answer_2' is no rubric that the template shows",
        ),
        (
            lambda: generated_rubrics(merg("g", responses(), variant="baseline-score"), [{"call": "x", "answer": "y"}]),
            "no stage that asks for a rubric",
        ),
        (lambda: generated_rubrics(merg("g", responses()), [{"call": "x", "answer": "y"}]), "are not in the plan"),
        (
            lambda: export(merg("g", responses(), variant="baseline-score"), tmp_path, "form"),
            "ratings by people with rubric",
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 2.0])
def test_a_planted_effect_of_the_rubric_is_the_slope_on_similarity(effect):
    """Judges that value some dimensions more are nearer where they score by the same; others are as near by any."""
    values = dict(
        zip(("Sources", "Numbers", "Argument", "Voice", "Surprise", "Scenery"), (1, 1, 1, -1, -1, -1), strict=True)
    )
    values = {name: effect * sign for name, sign in values.items()}
    judges = [Judge(j, noise=0.4, step=None, criterion_effects=values) for j in JUDGES]
    plan, answers = run(merg(JUDGES, responses(150, 1)), judges)
    data = collect(plan, answers)
    own = js.composite(data, data.assign(weight=1.0)).set_index(["judge", "item"])["score"]
    table = matched_dimensions(generated_rubrics(plan, answers))
    table = table.groupby(["judge", "other", "item"], as_index=False)["similarity"].mean()
    one, two = (own.reindex(pd.MultiIndex.from_frame(table[[j, "item"]])).to_numpy() for j in ("judge", "other"))
    fit = js.fit(
        "difference ~ I(similarity - 1) + (1|item)", table.assign(difference=abs(one - two)), family="gaussian"
    )
    found = fit.tidy().set_index("term")
    slope = found.loc["I(similarity - 1)"]
    assert (slope["conf_high"] < 0) == (effect > 0)
    assert (slope["conf_low"] < 0 < slope["conf_high"]) == (effect == 0)
    same = 0.4 * (2 / 5) ** 0.5 * (2 / np.pi) ** 0.5  # mean of |x - y| of two means of five scores with the same rubric
    if effect == 0:
        assert found.loc["Intercept", "conf_low"] < same < found.loc["Intercept", "conf_high"]
    else:
        assert found.loc["Intercept", "estimate"] < 0.6 * table.assign(d=abs(one - two))["d"].mean()


@pytest.mark.slow
def test_the_three_levels_of_agreement_of_a_plan():
    """A score is rounded to whole numbers, which adds 1/12 to the variance of the noise."""
    shared, noise, severity = 0.36, 0.16 + 1 / 12, (0.5, 0.0, -0.5)
    judges = [Judge(j, item_difficulty=0.6, noise=0.4, leniency=s) for j, s in zip(JUDGES, severity, strict=True)]
    plan, answers = run(merg(JUDGES, responses(40, 4)), judges)
    data = collect(plan, answers)
    found = js.agreement_levels(js.composite(data, data.assign(weight=1.0))).set_index("term")
    r = shared / (shared + noise / 5)
    icc = shared / (shared + noise / 5 + np.var(severity, ddof=1))
    for term, planted in (("r_sample", r), ("icc", icc)):
        assert found.loc[term, "conf_low"] < planted < found.loc[term, "conf_high"]
        assert found.loc[term, "estimate"] == pytest.approx(planted, abs=0.1)
    assert found.loc["rho_system", "estimate"] > 0.7
