"""A study of cues: labels as each probe shows them, turns, attacks; planned, asked of a simulated judge, collected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.design import (
    Judge,
    Plan,
    Prompt,
    build,
    collect,
    cues,
    equal_pairs,
    next_stage,
    prompt,
    simulate_replies,
)
from judgestats.errors import DesignError


def sales(n: int, *, sources: bool = False) -> pd.DataFrame:
    """Pairs of equal content."""
    number = [str(i) for i in range(n)]
    made = pd.DataFrame({"item": number, "first": "u", "second": "v"})
    made["task_text"] = [f"Sum up: sales in Peru rose by {i} %, to tell the truth." for i in number]
    made["first_text"] = [f"Sales rose by {i} % in Peru." for i in number]
    made["second_text"] = [f"In Peru sales rose by {i} %." for i in number]
    return made.assign(source_first="LLM", source_second="TradML") if sources else made


def asked(plan: Plan, judge: Judge, seed: int = 1, **failures: float) -> tuple[Plan, list[dict[str, object]]]:
    """The plan of all stages, and the simulated replies to them."""
    answers = simulate_replies(plan, judge, seed=seed, **failures).to_dict("records")
    stage = plan
    while len(stage.later):
        stage = next_stage(stage, answers)
        answers += simulate_replies(stage, judge, seed=seed, **failures).to_dict("records")
        plan = plan + stage
    return plan, answers


def test_the_design_of_the_paper():
    """rationalization, Sec IV.B: five probes by three schemes; PBP in three turns; the reveal after the flip."""
    plan = cues("m", sales(10))
    stages = plan.summary().groupby(["scheme", "probe"])["calls"].agg(list).to_dict()
    one, three = ("blind", "truth", "flip", "placebo"), [10, 10, 10]
    assert stages == {
        **{(s, p): [10] for s in ("Baseline", "SCoT") for p in (*one, "reveal")},
        **{("PBP", p): three for p in one},
        ("PBP", "reveal"): [10],
    }
    after = plan.later.set_index("call")["after"]
    reveal = plan.later[plan.later["probe"] == "reveal"]
    everything = pd.concat([plan.calls, plan.later]).set_index("call")
    assert (everything.loc[after[reveal["call"]], "probe"] == "flip").all()
    assert plan.check().empty  # one order of each pair, as planned


def test_labels_are_those_of_the_probe():
    plan = cues("m", sales(20, sources=True), schemes=["Baseline"], labels=("LLM", "TradML"), placebo=("Gold", "Tin"))
    calls = pd.concat([plan.calls, plan.later], ignore_index=True)
    first = calls["first"] == "u"  # u is by the LLM
    shown = {"truth": ("LLM", "TradML"), "flip": ("TradML", "LLM"), "reveal": ("LLM", "TradML")}
    for probe, (of_u, of_v) in shown.items():
        here = calls["probe"] == probe
        assert (calls.loc[here & first, ["label_first", "label_second"]].values == [of_u, of_v]).all()
        assert (calls.loc[here & ~first, ["label_first", "label_second"]].values == [of_v, of_u]).all()
        assert set(calls.loc[here, "favoured"]) == {"v" if probe == "flip" else "u"}
    placebo = calls[calls["probe"] == "placebo"]
    gold = placebo["first"].where(placebo["label_first"] == "Gold", placebo["second"])
    assert (gold == placebo["favoured"]).all()
    assert (placebo["favoured"] == "u").sum() == 10  # to each candidate in half of the pairs
    assert (calls["favoured"].fillna("") == calls["target"].fillna("")).all()
    blind = calls[calls["probe"] == "blind"]
    assert blind[["label_first", "favoured"]].isna().all(axis=None)
    messages = dict(zip(plan.calls["call"], [u for *_, u in plan.messages()], strict=True))
    assert not any("label" in messages[c] for c in blind["call"])
    row = calls[(calls["probe"] == "truth") & (calls["first"] == "v")].iloc[0]
    assert f"Response A [label: TradML]:\n{plan.texts[row['first_text']]}" in messages[row["call"]]
    # one order of each pair, under all probes, each candidate first in half
    assert (calls.groupby("item")["first"].nunique() == 1).all()
    assert (blind["first"] == "u").sum() == 10


def test_the_reveal_goes_on_with_the_dialogue_and_corrects_the_labels():
    plan = cues("m", sales(4), schemes=["Baseline"])
    later = next_stage(plan, simulate_replies(plan, Judge("m")).to_dict("records"))
    flips = dict(zip(plan.calls["call"], [u for *_, u in plan.messages()], strict=True))
    for row, (_, _, turns, user) in zip(later.calls.itertuples(), later.dialogues(), strict=True):
        assert turns[0]["content"] == flips[row.after]
        assert f"Response A [label: {row.label_second}]" in turns[0]["content"]  # exchanged then
        assert f"Response A: {row.label_first}\nResponse B: {row.label_second}" in user
        assert row.target == (row.first if row.label_first == "LLM" else row.second)


def test_labels_of_one_author_go_to_each_candidate_in_half_of_the_pairs():
    plan = cues("m", sales(30), schemes=["SCoT"], probes=["blind", "truth"], seed=3)
    truth = plan.calls[plan.calls["probe"] == "truth"]
    assert (truth["favoured"] == "u").sum() == 15
    other = cues("m", sales(30), schemes=["SCoT"], probes=["blind", "truth"], seed=4).calls
    assert other.loc[other["probe"] == "truth", "favoured"].tolist() != truth["favoured"].tolist()
    again = cues("m", sales(30), schemes=["SCoT"], probes=["blind", "truth"], seed=3).calls
    assert again["call"].tolist() == plan.calls["call"].tolist()


def test_attacks_change_the_marked_candidate_only():
    plan = cues(
        "m", sales(12), schemes=["Baseline"], probes=["blind"], attacks={"verbosity": "verbosity", "sure": "confidence"}
    )
    calls = plan.calls
    base = calls[calls["probe"] == "blind"].set_index("item")
    for probe in ("verbosity", "sure"):
        for row in calls[calls["probe"] == probe].itertuples():
            before, hit = base.loc[row.item], row.first == row.target
            assert (row.first_text != before["first_text"]) == hit
            assert (row.second_text != before["second_text"]) == (not hit)
            assert row.label_first is None or pd.isna(row.label_first)
    assert (calls.loc[calls["probe"] == "sure", "target"] == "u").sum() == 6
    with pytest.raises(DesignError, match="does not keep the content"):
        cues("m", sales(2), attacks={"cut": lambda t: t.replace("Peru", "Chile")})


@pytest.mark.slow
def test_measures_take_what_was_collected_and_find_what_was_planted():
    """Label susceptibility is planted under Baseline and not under PBP; a judge of the content keeps its verdict."""
    none = {"label_susceptibility": 0.0}
    judge = Judge("m", tie_criterion=0.8, label_susceptibility=2.5, under={"scheme": {"PBP": none}})
    plan, answers = asked(cues("m", sales(150), attacks=["verbosity"]), judge, error=0.01)
    data = collect(plan, answers)
    failed = sum(bool(a["error"]) and a["error"] == a["error"] for a in answers)
    found = js.check(data).set_index(["level", "what"])["n"]
    assert found["rows", "rows in"] == len(data) == 150 * 6 * 3  # items, probes, schemes: dialogues that died, too
    assert len(plan) == len(answers)
    errors = data.loc[data["status"] == "error", "reply_note"].str.startswith("stage")
    assert (~errors).sum() <= failed
    assert errors.sum() > 0  # their verdict was never asked for
    # a call after one that failed is never asked
    assert plan.check().set_index("what").loc["later calls without an answer to go on from", "n"] > 0
    shift = js.anchoring(data).query("term == 'shift_favoured'").set_index(["scheme", "probe"])
    for scheme in ("Baseline", "SCoT"):
        for probe in ("truth", "flip", "placebo", "reveal", "verbosity"):
            low = shift.loc[(scheme, probe), "conf_low"]
            assert (low > 0.1) == (probe in ("truth", "flip", "reveal")), (scheme, probe)
    assert (shift.loc["PBP", "conf_low"] < 0.1).all()
    net = js.revision(data).query("term == 'net'").set_index("scheme")
    assert net.loc["Baseline", "conf_low"] > 0.2  # back to the candidate with the label
    assert net.loc["PBP", "conf_low"] < 0 < net.loc["PBP", "conf_high"]
    lds = js.protocol_difference(data).query("term == 'lds' and probe == 'truth'").iloc[0]
    assert lds["conf_high"] < 0
    drift = js.rationale_shift(data, n_resamples=50)
    assert (drift.loc[drift["probe"] == "flip", "estimate"] == 0).all()  # the same words for the same verdict
    aligned = js.rationale_alignment(data, favoured_text="Response A", opposed_text="Response B", n_resamples=50)
    assert len(aligned) > 0


@pytest.mark.slow
def test_a_planted_shift_lies_in_its_interval():
    """95 % intervals of the shift under the truth hold its true value in most of 40 runs."""
    judge = Judge("m", tie_criterion=0.5, label_susceptibility=1.0)
    plan = cues("m", sales(200), schemes=["Baseline"], probes=["blind", "truth"])
    expit = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    true = expit(1.0 - 0.5) - expit(-0.5)
    held = 0
    for seed in range(40):
        row = js.anchoring(collect(*asked(plan, judge, seed)), n_resamples=100).query("term == 'shift_favoured'")
        held += int((row["conf_low"] <= true).item() and (true <= row["conf_high"]).item())
    assert held >= 34


def test_schemes_of_ones_own():
    mine = Prompt("mine", "{{ task }} 1 {{ label_first }}: {{ first }} 2 {{ label_second }}: {{ second }} A or B?")
    plan = cues("m", sales(3), schemes={"mine": [mine], "two": ["proof_notes", "proof_verdict"]})
    assert plan.calls.groupby("scheme")["prompt"].unique().map(list).to_dict() == {"mine": ["mine"], "two": ["proof_notes"]}  # fmt: skip
    assert len(plan.later) == 3 + 12 + 3


def test_equal_pairs():
    texts = pd.DataFrame({"item": ["1", "2"], "task_text": "?", "text": ["It rose by 3 %.", "It fell."], "topic": "t"})
    same = equal_pairs(texts)
    assert (same["first_text"] == same["second_text"]).all()
    assert same[["content", "topic"]].values.tolist() == [["identical", "t"]] * 2
    plan, answers = asked(cues("m", same, schemes=["Baseline"]), Judge("m", noise=0, tie_criterion=0.5))
    assert (collect(plan, answers)["choice"] == "tie").all()
    other = equal_pairs(texts.assign(paraphrase=["By 3 % it rose.", "It fell, then."]))
    assert other["second_text"].tolist() == ["By 3 % it rose.", "It fell, then."]
    with pytest.raises(DesignError, match="paraphrase of item '1' does not keep the content: numbers lost: 3"):
        equal_pairs(texts.assign(paraphrase=["By 4 % it rose.", "It fell."]))


def test_the_rubric_of_three_criteria_becomes_verdicts():
    """Five-point scores of three criteria, made one, and compared with a margin."""
    rows = sales(40)
    parts = [rows.assign(system=s, response_text=rows[f"{c}_text"]) for s, c in (("s", "first"), ("t", "second"))]
    texts = pd.concat(parts)[["item", "system", "task_text", "response_text"]]
    plan = build(texts, judges="m", prompts="likert")
    assert prompt("likert").criteria == ["accuracy", "completeness", "fluency"]
    judge = Judge("m", scale=(1, 5), noise=0.5)
    data = collect(plan, simulate_replies(plan, judge).to_dict("records"))
    assert data.groupby("criterion").size().to_dict() == {"accuracy": 80, "completeness": 80, "fluency": 80}
    assert data["score"].between(1, 5).all()
    score = js.composite(data).set_index(["item", "system"])["score"].unstack()
    verdicts = js.compare_scores(js.composite(data), margin=0.4).set_index("item")
    gap = (score["s"] - score["t"]).reindex(verdicts.index)
    expected = np.where(gap.abs() <= 0.4, "tie", np.where(gap > 0, "first", "second"))
    assert (verdicts["choice"].astype(str) == expected).all()
    assert set(expected) == {"first", "second", "tie"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cues("m", sales(2), probes=["blind", "truths"]), "'truths' is not known.*Did you mean 'truth'"),
        (lambda: cues("m", sales(2), probes=["truth"]), "needs 'blind'"),
        (lambda: cues("m", sales(2), probes=["blind", "reveal"]), "'flip' before 'reveal'"),
        (lambda: cues("m", sales(2), schemes=["pbp"]), "scheme 'pbp' is not known"),
        (lambda: cues("m", sales(2), schemes={}), "schemes= is empty"),
        (lambda: cues("m", sales(2), labels=("x", "x")), "two different labels"),
        (lambda: cues("m", sales(2), attacks={"flip": "verbosity"}), "has the name of a probe"),
        (lambda: cues("m", sales(2).drop(columns="task_text")), "no column 'task_text'"),
        (lambda: cues("m", sales(2)[:0]), "has no rows"),
        (lambda: cues("m", sales(2).assign(source_first="LLM")), "Give both, or neither"),
        (lambda: cues("m", sales(2).assign(source_first="LLM", source_second="LLM")), r"are \['LLM', 'LLM'\] in 2 rows"),
        (lambda: equal_pairs(sales(2)), "no column 'text'"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(DesignError, match=message):
        call()
