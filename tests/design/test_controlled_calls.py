"""Controlled pairs: the counts of the paper, its file format, and planted biases found; and pairs whose texts are written
first: the same calls as those planned by hand, and what a lost text costs.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.design import (
    Judge,
    Plan,
    annotation_form,
    collect,
    controlled,
    controlled_pairs,
    export,
    generations,
    next_stage,
    questions,
    read_controlled,
    remaining,
    requests,
    simulate_replies,
    strategy_verdicts,
    study,
    study_verdicts,
    write_controlled,
)
from judgestats.design.plans import WITHOUT_TEXT, WRITES
from judgestats.errors import DesignError
from judgestats.schema.account import account_of
from refusals import refused

MODELS = ["gemini", "claude", "llama", "gpt"]


@pytest.fixture(scope="module")
def responses() -> pd.DataFrame:
    first = generations("writer", models=MODELS)
    written = collect(first, simulate_replies(first, Judge("any")).to_dict("records"))
    second = generations("writer", written=written)
    longer = collect(second, simulate_replies(second, Judge("any")).to_dict("records"))
    return pd.concat([written, longer], ignore_index=True)


@pytest.fixture(scope="module")
def pairs(responses: pd.DataFrame) -> pd.DataFrame:
    return controlled_pairs(responses, extension=True)


# ---- Texts to be written ---------------------------------------------------------------------------------------------


def test_the_questions_are_those_of_the_design():
    found = questions()
    short, long = found[~found["long"]], found[found["long"]]
    assert short["topic"].value_counts().unique().tolist() == [10]
    assert long["topic"].value_counts().unique().tolist() == [5]
    assert (short["topic"].nunique(), long["topic"].nunique()) == (5, 5)
    assert found["task_text"].is_unique
    assert found["item"].is_unique


def test_questions_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[pairs]\nbirds = ["Why do birds sing?", "Why do they fly?"]\n')
    plan = generations("writer", asked=questions(path))
    assert plan.calls["role"].value_counts(sort=False).to_dict() == {"base": 2, "markdown": 2}
    path.write_text("pairs = 3\n")
    with pytest.raises(DesignError, match="cannot be read"):
        questions(path)


def test_generated_texts_come_back_with_failures_and_a_folder_keeps_the_plan(tmp_path):
    plan = generations("writer", models=MODELS[:2])
    assert plan.kind == "texts"
    plan = Plan.read(plan.write(tmp_path / "plan"))
    export(plan, tmp_path, "openai")
    replies = simulate_replies(plan, Judge("any"), error=0.05, seed=3).to_dict("records")
    replies[0] |= {"answer": "Cut off", "error": None, "finish": "length"}
    written = collect(plan, replies[:-1])
    assert len(written) == len(plan)
    assert written["status"].iloc[0] == "truncated"
    lost = int((written["status"] == "error").sum())
    assert lost > 0
    assert len(remaining(plan, replies[:-1])) == lost + 1
    assert written.index[written["status"] == "missing"].tolist() == [len(plan) - 1]
    assert account_of(written).excluded == ()
    with pytest.raises(DesignError, match=r"role 'base' are missing or incomplete"):
        generations("writer", written=written)


def test_a_second_step_shows_the_text_of_the_first(responses):
    written = responses[responses["role"] != "expanded"]
    plan = generations("writer", written=written, style=True)
    assert plan.calls["role"].value_counts(sort=False).to_dict() == {"expanded": 50, "prose": 50}
    base = written[written["role"] == "base"]["text"].iloc[0]
    assert base in next(user for _, _, user in plan.messages())


# ---- Pairs -----------------------------------------------------------------------------------------------------------

COUNTS = {"length": 50, "position": 50, "style": 50, "model_origin": 50, "length_truncated": 25}
EXTENDED = {**COUNTS, "style_ba": 50, "model_origin_rr": 100}


def test_the_counts_of_the_paper(responses, pairs):
    first = controlled_pairs(responses)
    assert first["bias_type"].value_counts(sort=False).to_dict() == COUNTS
    assert len(first) == 225
    assert pairs["bias_type"].value_counts(sort=False).to_dict() == EXTENDED
    assert len(pairs) == 375
    robin = pairs[pairs["bias_type"] == "model_origin_rr"]
    couples = robin[["family_first", "family_second"]].apply(lambda r: "-".join(sorted(r)), axis=1)
    assert couples.value_counts().to_dict() == {
        "gemini-llama": 25, "claude-llama": 25, "gemini-gpt": 25, "claude-gpt": 25,
    }  # fmt: skip
    assert 30 < (robin["family_first"].isin(["llama", "gpt"])).sum() < 70  # drawn, not fixed
    assert (pairs["gold"] == "tie").sum() == 350


@pytest.mark.real
def test_the_counts_are_those_of_the_released_design(pairs, real_data):
    design = pd.read_csv(real_data / "judging_the_judges_soumik" / "controlled_pairs_design.csv")
    assert pairs["bias_type"].value_counts().to_dict() == design["bias_type"].value_counts().to_dict()
    expected = np.where(pairs["gold"] == "tie", "tie", np.where(pairs["gold"] == pairs["first"], "A", "B"))
    theirs = design.groupby("bias_type")["expected_verdict"].unique().map(list).to_dict()
    ours = pairs.assign(expected_verdict=expected).groupby("bias_type")["expected_verdict"].unique().map(list)
    assert ours.to_dict() == theirs


def test_what_differs_in_a_pair_is_what_its_kind_says(pairs):
    of = dict(iter(pairs.groupby("bias_type")))
    assert (of["position"]["first_text"] == of["position"]["second_text"]).all()
    cut = of["length_truncated"]
    assert all(a.startswith(b) and b.endswith(".") for a, b in zip(cut["first_text"], cut["second_text"], strict=True))
    assert (cut["length_second"] / cut["length_first"]).between(0.2, 0.6).all()
    assert (cut["target"] == cut["first"]).all()
    assert (cut["better"] == "a").all()
    style, mirror = of["style"], of["style_ba"]
    words = [[re.findall(r"\w+", t) for t in style[c]] for c in ("first_text", "second_text")]
    assert words[0] == words[1]
    assert not style["second_text"].str.contains(r"\*\*|^- ").any()
    assert (style["second_text"].to_numpy() == mirror["first_text"].to_numpy()).all()
    assert set(style["format_first"]) == set(mirror["format_second"]) == {"markdown"}
    assert (style["target"] == style["first"]).all()
    assert (mirror["target"] == mirror["second"]).all()
    length = of["length"]
    assert (length["target"] == np.where(length["length_first"] > length["length_second"], "a", "b")).all()
    assert pairs[pairs["bias"].isin(["position", "model_origin"])]["target"].isna().all()


def test_the_longer_text_is_the_target_wherever_it_stands(responses):
    here = responses.copy()
    rows = here.index[here["role"] == "expanded"]
    here.loc[rows[0], "text"] = "Short."
    here.loc[rows[1], "text"] = here[here["role"] == "base"]["text"].iloc[1]
    found = controlled_pairs(here, kinds=["length"])
    assert found["target"].iloc[0] == "b"
    assert pd.isna(found["target"].iloc[1])


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda r: r, {"kinds": ["colour"]}, "not kinds of pairs"),
        (lambda r: r.drop(columns="role"), {}, "no column 'role'"),
        (lambda r: r[r["role"] != "expanded"], {}, "no texts with the role 'expanded'"),
        (lambda r: r.iloc[1:], {"kinds": ["length"]}, "none with 'base'"),
        (lambda r: r[~r["judge"].isin(MODELS[1:])], {"kinds": ["model_origin"]}, "those of gemini"),
        (lambda r: r[~r["judge"].isin(MODELS[2:])], {"kinds": ["model_origin_rr"]}, "takes a third model"),
        (lambda r: r, {"kinds": ["model_origin_rr"], "pairings": [("gpt", "claud")]}, "Did you mean 'claude'"),
        (lambda r: r, {"families": {"gemni": "Google"}}, "no model here. Did you mean 'gemini'"),
        (lambda r: pd.concat([r, r.iloc[:1]]), {"kinds": ["length"]}, "two texts with the role 'base'"),
    ],
)
def test_pairs_that_cannot_be_made(responses, change, arguments, message):
    with pytest.raises(DesignError, match=message):
        controlled_pairs(change(responses), **arguments)


# ---- The file format -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.csv"])
def test_pairs_are_written_and_read(pairs, tmp_path, name):
    again = read_controlled(write_controlled(pairs, tmp_path / name))
    pd.testing.assert_frame_equal(again, pairs.reset_index(drop=True), check_dtype=False)


RELEASED = {
    "id": "model_origin_rr_x_000",
    "question": "Why?",
    "response_a": "Because.",
    "response_b": "Why not?",
    "human_preference": None,
    "reference": None,
    "bias_type": "model_origin_rr",
    "expected_verdict": "tie",
    "manipulation": "round-robin pair",
    "metadata": {"category": "science", "model_a": "llama", "model_b": "gemini", "slot_swapped": False},
}


def test_the_release_of_the_authors_is_read(tmp_path):
    path = tmp_path / "released.jsonl"
    cut = {**RELEASED, "id": "length_truncated_000", "bias_type": "LENGTH_TRUNCATED", "expected_verdict": "A"}
    path.write_text(json.dumps(RELEASED) + "\n" + json.dumps(cut | {"metadata": {"category": "science"}}) + "\n")
    found = read_controlled(path, families={"llama": "Meta", "gemini": "Google"})
    assert found[["task", "first", "second", "bias", "topic", "gold", "family_first"]].astype(object).where(
        lambda f: f.notna(), None
    ).to_numpy().tolist() == [
        ["q000", "llama", "gemini", "model_origin", "science", "tie", "Meta"],
        ["q000", "a", "b", "truncation", "science", "a", None],
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"response_a": None}, "'response_a' is missing"),
        ({"bias_type": "colour"}, r"'bias_type' is 'colour'. Allowed: length"),
        ({"expected_verdict": "C"}, r"'expected_verdict' is 'C'. Allowed: A, B, tie"),
        ({"metadata": {}}, "needs 'model_a' and 'model_b'"),
        ({"bias_type": "position"}, "The texts of 1 position pairs differ"),
    ],
)
def test_a_faulty_pair_is_refused(tmp_path, change, message):
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(RELEASED | change) + "\n")
    with pytest.raises(DesignError, match=message):
        read_controlled(path)


def test_a_mirror_that_is_none_is_refused(pairs, tmp_path):
    broken = pairs[pairs["bias_type"].isin(["style", "style_ba"])].copy()
    last = broken.index[-1]
    broken.loc[last, "first_text"] = "Another text."
    refused(
        DesignError,
        (
            lambda: read_controlled(write_controlled(broken, tmp_path / "pairs.csv")),
            "'style_ba_049' is not the mirror of 'style_049'",
        ),
        (lambda: write_controlled(pairs, tmp_path / "pairs.txt"), r"\.jsonl or \.csv"),
    )


# ---- Calls and measures ----------------------------------------------------------------------------------------------


def test_each_strategy_asks_all_375_pairs_by_its_own_calls(pairs, tmp_path):
    path = write_controlled(pairs, tmp_path / "pairs.jsonl")
    plan = controlled("m", path, strategies=["B0", "S1", "S8"])
    assert plan.calls["strategy"].value_counts().to_dict() == {"S1": 750, "S8": 750, "B0": 375}
    assert (plan.check()["level"] == "fault").sum() == 0
    with pytest.raises(DesignError, match="no column 'bias_type'"):
        controlled("m", pairs.drop(columns="bias_type"))


LOGIT = {"position": 1.3, "expansion": 0.5, "style": 1.2, "self": 1.0}


def measured(pairs: pd.DataFrame, seed: int) -> dict[str, pd.Series]:
    """Bias scores of a simulated judge, from raw replies with failures."""
    judge = Judge(
        "gemini", slot_bias=LOGIT["position"], length_preference=LOGIT["expansion"], tie_criterion=0.4,
        style={"format": {"markdown": LOGIT["style"]}}, self_preference=LOGIT["self"], sensitivity=3.0,
    )  # fmt: skip
    plan = controlled("gemini", pairs)
    answers = simulate_replies(plan, judge, error=0.02, refused=0.01, unreadable=0.02, seed=seed)
    calls = collect(plan, answers.to_dict("records"))
    assert len(calls) == 375
    origin = calls[calls["bias"] == "model_origin"]
    tables = [
        js.bias_score(calls[calls["bias"] == "expansion"]),
        js.bias_score(calls[calls["bias"] == "style"], average="position"),
        js.bias_score(calls[calls["bias"] == "position"], target="first"),
        js.bias_score(origin, family={"gemini": "gemini"}),
    ]
    found = {t["bias"].iloc[0]: t[t["term"] == "bias"].iloc[0] for t in tables}
    chances = js.design.answer_probabilities(plan.calls, judge)
    net = chances["p_first"] - chances["p_second"]
    towards = np.where(chances["target"] == chances["first"], 1, -1)
    own = (chances["family_first"] == "gemini").astype(int) - (chances["family_second"] == "gemini")
    truth = {
        "expansion": (net * towards)[chances["bias"] == "expansion"].mean(),
        "style": (net * towards)[chances["bias"] == "style"].mean(),
        "position": net[chances["bias"] == "position"].mean(),
        "model_origin": (net * own)[(chances["bias"] == "model_origin") & (own != 0)].mean(),
    }
    assert js.verbosity_bias(calls)["term"].tolist() == ["expansion_bias", "truncation_accuracy"]
    return {k: row.to_frame().T.assign(truth=truth[k]).iloc[0] for k, row in found.items()}


def test_planted_biases_are_found(pairs):
    found = measured(pairs, 1)
    for name, row in found.items():
        assert row["conf_low"] < row["truth"] < row["conf_high"], name
        assert row["conf_low"] > 0 or name in ("expansion", "model_origin")  # three families show little of tastes
    assert found["style"]["n"] > 90
    assert found["model_origin"]["n"] > 90


@pytest.mark.slow
def test_intervals_of_planted_biases_have_their_coverage(pairs):
    inside = pd.DataFrame(
        [{k: r["conf_low"] < r["truth"] < r["conf_high"] for k, r in measured(pairs, s).items()} for s in range(60)]
    )
    assert (inside.mean() >= 0.86).all(), inside.mean()


def test_verdicts_of_strategies_on_controlled_pairs_give_changes_of_bias(pairs):
    judge = Judge("m", slot_bias=1.5, style={"format": {"markdown": 0.5}}, tie_criterion=0.3)
    plan = controlled("m", pairs, strategies=["B0", "S1"])
    calls = collect(plan, simulate_replies(plan, judge).to_dict("records"))
    verdicts = strategy_verdicts(calls)
    assert verdicts.groupby("strategy")["item"].nunique().to_dict() == {"B0": 375, "S1": 375}
    found = js.bias_change(verdicts[verdicts["bias"] == "style"], baseline="B0").set_index("term")
    # both halves of the mirrored pairs are compared, and pairs of one question are a cluster
    assert found.loc["change", "n"] == 100
    assert "task" in found.loc["change", "method"]
    assert found.loc["baseline_bias", "estimate"] == pytest.approx(
        js.bias_score(calls[(calls["strategy"] == "B0") & (calls["bias"] == "style")])["estimate"].iloc[0]
    )
    origin = verdicts[verdicts["bias"] == "model_origin"].assign(judge="gemini")
    assert js.bias_change(origin, family={"gemini": "gemini"}, baseline="B0")["n"].iloc[0] == 100


# ---- The form for people ---------------------------------------------------------------------------------------------


def test_the_form_for_people_is_blinded_and_drawn_for_each(pairs, tmp_path):
    form = annotation_form(["Ann", "Bob"], pairs)
    assert form.calls.groupby("judge")["item"].nunique().to_dict() == {"Ann": 30, "Bob": 30}
    assert len(form) == 60
    ann, bob = (form.calls[form.calls["judge"] == who] for who in ("Ann", "Bob"))
    assert set(ann["item"]) == set(bob["item"])
    assert ann["item"].tolist() != bob["item"].tolist()
    assert ann["task"].is_unique
    assert ann.set_index("item")["first"].to_dict() != bob.set_index("item")["first"].to_dict()
    assert 8 < (ann["format_first"] == "markdown").sum() < 22
    assert ann["topic"].value_counts().unique().tolist() == [6]
    (path,) = export(form, tmp_path, "csv")
    sheet = pd.read_csv(path)
    assert sheet.columns.tolist() == ["call", "judge", "system", "user", "temperature"]
    assert not sheet["user"].str.contains("markdown|prose|target", case=False).any()
    answered = sheet.assign(answer=np.where(sheet["user"].str.index("**Answer") < 80, "A", "B"))
    answered.to_csv(tmp_path / "answered.csv", index=False)
    people = collect(form, tmp_path / "answered.csv")
    assert (people["choice"] != "invalid").all()
    judges = controlled(["m"], pairs)
    calls = collect(
        judges, simulate_replies(judges, Judge("m", style={"format": {"markdown": 2.0}})).to_dict("records")
    )
    both = pd.concat([people, calls[calls["bias_type"] == "style"]], ignore_index=True)
    gap = js.preference_gap(both, humans="rater_type=human").set_index(["role", "term"])
    assert gap.loc[("people", "rate"), "n"].item() == 60


def test_a_form_that_cannot_be_made(pairs):
    refused(
        DesignError,
        (lambda: annotation_form(["Ann"], pairs, n=51), "cannot be drawn from 50"),
        (lambda: annotation_form(["Ann", "Ann"], pairs), "not different names"),
    )


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
    refused(
        DesignError,
        ({"controlled": pairs, "annotators": ["g"]}, "'g' is among the judges"),
        ({"pairs": pairs, "annotators": ["Ann"]}, "annotators= see style pairs"),
        ({"controlled": pairs[pairs["bias"] == "truncation"], "annotators": ["Ann"]}, "cannot be drawn from 0"),
        of=lambda options: study("debiasing", "g", **options),
    )


def test_what_cannot_be_written_is_refused():
    plan = study("debiasing", "g", writer="w", strategies=["B0"])
    refused(
        DesignError,
        (lambda: study("debiasing", "g", writer=["v", "w"]), "One model writes"),
        (lambda: study("debiasing", "g", writer="w", strategies=["S3"]), "S3 takes the votes"),
        (lambda: study("debiasing", "g", writer="w", strategies=["S6"]), "S6 shows a reference answer"),
        (lambda: next_stage(plan, [{"call": plan.calls["call"][0], "answer": ""}]), "No further call can be asked"),
    )
