"""Stimuli of a datasheet: the paper's sizes, nested quality, equal lengths, both orders, nothing hidden shown."""

from __future__ import annotations

import numpy as np
import pytest

import judgestats as js
from judgestats.design import Checklist, checklists, dark_current, ladder, vacuum
from judgestats.errors import DesignError

TASKS = {t.name: t for t in checklists()[0]}


def test_the_sizes_of_the_paper():
    """dark_current, Sec 4: 120 calls of vacuum, 60 pairs of one subset, 50 to 10 pairs of the ladder, all in both orders."""
    plan = dark_current("m")
    calls = plan.calls
    assert (calls["stimulus"] == "vacuum").sum() == 120
    pairs = calls.groupby(["stimulus", "delta"], dropna=False)["item"].nunique()
    assert pairs["same_subset", 0.0] == 60
    assert [pairs["ladder", d] for d in (1.0, 2.0, 3.0, 4.0, 5.0)] == [50, 40, 30, 20, 10]
    assert (calls.groupby("item")["first"].nunique() == 2).all()
    assert (calls.groupby("item").size() == 2).all()
    assert len(plan.check()) == 0


def test_a_strict_arm_asks_the_same_pairs_again():
    plan = dark_current("m", strict=True)
    strict = plan.calls[plan.calls["prompt"] == "pairwise_strict"]
    assert strict.groupby(["stimulus", "delta"])["item"].nunique().to_dict() == {
        ("ladder", 1.0): 50, ("ladder", 5.0): 10, ("same_subset", 0.0): 60,
    }  # fmt: skip
    assert set(strict["item"]) <= set(plan.calls.loc[plan.calls["prompt"] == "pairwise", "item"])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_higher_level_has_all_of_a_lower_and_more_and_no_more_text(seed):
    plan = ladder("m", seed=seed)
    for row in plan.calls[plan.calls["stimulus"] == "ladder"].itertuples():
        task = TASKS[row.task]
        texts = {row.first: plan.texts[row.first_text], row.second: plan.texts[row.second_text]}
        better, worse = texts[row.better], texts[({row.first, row.second} - {row.better}).pop()]
        assert task.elements_in(worse) < task.elements_in(better)
        assert len(task.elements_in(better)) - len(task.elements_in(worse)) == row.delta
        assert abs(len(better) - len(worse)) <= 0.05 * max(len(better), len(worse))
        assert (row.length_first, row.length_second) == (
            len(plan.texts[row.first_text]),
            len(plan.texts[row.second_text]),
        )


@pytest.mark.parametrize("seed", [0, 7])
def test_controls_keep_the_quality_equal(seed):
    plan = ladder("m", seed=seed)
    for row in plan.calls[plan.calls["stimulus"] != "ladder"].itertuples():
        one, two = (TASKS[row.task].elements_in(plan.texts[k]) for k in (row.first_text, row.second_text))
        if row.stimulus == "different_subset":
            assert one != two
            assert len(one) == len(two)
        else:
            assert one == two
        assert row.first_text != row.second_text
    filler = plan.calls[plan.calls["stimulus"] == "filler"]
    longer = filler["length_first"] > filler["length_second"]
    assert (filler["target"] == filler["first"]).tolist() == longer.tolist()


def test_vacuum_shows_the_same_text_twice():
    plan = vacuum(["a", "b"], calls=12, kinds=["whitespace", "empty"])
    assert (plan.calls["first_text"] == plan.calls["second_text"]).all()
    assert {t.strip() for t in map(plan.texts.get, plan.calls["first_text"].unique())} == {""}
    assert plan.calls.groupby("judge").size().tolist() == [12, 12]
    assert js.design.simulate_replies(plan, [js.design.Judge("a"), js.design.Judge("b")])["call"].is_unique


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vacuum("m", calls=7), r"calls=7 is not a multiple of 6"),
        (lambda: vacuum("m", kinds=["void"]), r"Allowed: empty, whitespace, identical"),
        (lambda: vacuum("m", prompts="pairwise_forced"), "allows no tie"),
        (lambda: ladder("m", tolerance=1.0), "not a share"),
        (lambda: ladder("m", tolerance=0.0001), "cannot be filled up .* larger tolerance="),
        (lambda: ladder("m", changes=["translate"]), "'translate' is not a change of surface"),
        (lambda: ladder("m", tasks=[]), "tasks= is empty"),
        (lambda: ladder([]), "No judge was given"),
        (lambda: Checklist("t", "q", ["Boil water."], "o"), "has 1 element. A ladder needs two"),
        (lambda: Checklist("t", "q", ["Boil water.", "Boil water, slowly."], "o"), "is contained in element 2"),
        (lambda: checklists("no_such_file.toml"), "cannot be read"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DesignError, match=message):
        call()


# ---------------------------------------------------------------- the protocol of the paper, in its order


def test_the_steps_of_algorithm_1():
    """Steps 1 to 11; collecting stands between 6 and 7, and step 2 is computed with the others."""
    plan = dark_current("m", strict=True)
    asked = plan.calls
    vacuum_calls = asked[asked["stimulus"] == "vacuum"]  # 1
    assert len(vacuum_calls) == 120
    assert set(vacuum_calls["vacuum_kind"]) == {"empty", "whitespace", "identical"}
    base, strict = (asked[asked["prompt"] == p] for p in ("pairwise", "pairwise_strict"))
    steps = base[base["stimulus"] == "ladder"]  # 3, 4
    assert steps.drop_duplicates("item").groupby("delta").size().tolist() == [50, 40, 30, 20, 10]
    assert steps["task"].nunique() == 10
    assert base[base["stimulus"] == "same_subset"]["item"].nunique() == 60  # 5
    assert (base["stimulus"] == "different_subset").any()
    turned = steps.groupby("item")["first"].nunique()  # 6
    assert (turned == 2).all()

    judge = js.design.Judge("m", dark_current=0.2, sensitivity=1.5, tie_criterion=1.0, slot_bias=0.3)
    calls = js.design.collect(plan, js.design.simulate_replies(plan, judge, error=0.01).to_dict("records"))
    sheet = js.datasheet(calls, n_resamples=50)
    first, other = (sheet[sheet["prompt"] == p].set_index(["section", "term"]) for p in ("pairwise", "pairwise_strict"))
    terms = set(first.index.get_level_values("term"))
    assert {"dark_current", "raw_false_preference"} <= terms  # 2, 7
    parts = ("stable_cross_sensitivity", "positional_false_preference", "one_sided_commit", "other_conflict")
    assert {*parts, "no_preference"} <= terms  # 8
    raw, *shares = (first.loc[("Δ0", t), "estimate"].item() for t in ("raw_false_preference", *parts))
    assert raw == pytest.approx(shares[0] + shares[1] + shares[2] / 2 + shares[3])
    assert len(first.loc[[("ladder", "target_sensitivity")]]) == 5  # 9
    assert first.loc[("threshold", "detection_threshold"), "n"].item() > 0
    lacking = other.loc[("threshold", "detection_threshold")].squeeze()
    assert np.isnan(lacking["estimate"])
    assert "incomplete ladder" in lacking["flag"]
    assert "dark current" not in other.index.get_level_values("section")  # not asked under the strict prompt
    moved = js.criterion_shift(calls, "pairwise", "pairwise_strict")  # 10
    assert {"criterion_shift", "false_preference_saved", "target_signal_lost"} <= set(moved["term"])
    assert other.loc[("ladder", "miss_by_tie"), "n"].gt(0).all()
    assert strict["delta"].dropna().isin([0.0, 1.0, 5.0]).all()
