"""Controlled pairs: the counts of the paper, its file format, and planted biases found."""

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
    questions,
    read_controlled,
    remaining,
    simulate_replies,
    strategy_verdicts,
    write_controlled,
)
from judgestats.errors import DesignError
from judgestats.schema.account import account_of

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
    with pytest.raises(DesignError, match="'style_ba_049' is not the mirror of 'style_049'"):
        read_controlled(write_controlled(broken, tmp_path / "pairs.csv"))
    with pytest.raises(DesignError, match=r"\.jsonl or \.csv"):
        write_controlled(pairs, tmp_path / "pairs.txt")


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
        assert row["conf_low"] > 0 or name == "expansion"
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
    found = js.bias_change(verdicts[verdicts["bias"] == "style"]).set_index("term")
    # both halves of the mirrored pairs are compared, and pairs of one question are a cluster
    assert found.loc["change", "n"] == 100
    assert "task" in found.loc["change", "method"]
    assert found.loc["baseline_bias", "estimate"] == pytest.approx(
        js.bias_score(calls[(calls["strategy"] == "B0") & (calls["bias"] == "style")])["estimate"].iloc[0]
    )
    origin = verdicts[verdicts["bias"] == "model_origin"].assign(judge="gemini")
    assert js.bias_change(origin, family={"gemini": "gemini"})["n"].iloc[0] == 100


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
    with pytest.raises(DesignError, match="cannot be drawn from 50"):
        annotation_form(["Ann"], pairs, n=51)
    with pytest.raises(DesignError, match="not different names"):
        annotation_form(["Ann", "Ann"], pairs)
