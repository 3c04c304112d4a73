"""Judges, gold and people on different scales are compared by measures that are free of scale, or not at all."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics.scales import on_one_scale, scales_apart
from judgestats.reporting.pages import measure_all
from judgestats.schema import ratings

TERMS = ("estimate", "conf_low", "conf_high")


def rated(tops, items=40, seed=1, noise=0.1):
    """Scores of one quality by raters, each on a scale from 0 to its top."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0, 1, items)
    rows = [
        (who, "s", f"i{i}", round(top * float(np.clip(q + rng.normal(0, noise), 0, 1))), round(5 * q))
        for who, top in tops.items() for i, q in enumerate(quality)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])


def names_of(pair):
    return None if pair is None else tuple(x.split(",")[0] for x in pair)


@pytest.mark.parametrize(
    ("tops", "apart"),
    [
        ({"a": 5, "b": 5}, None),
        ({"a": 10, "b": 7}, None),
        ({"a": 100, "b": 10}, ("a", "b")),
        ({"a": 20, "b": 5}, ("a", "b")),
        ({"g_0_10": 10, "g_0_5": 5}, ("g_0_10", "g_0_5")),  # declared by the names
        ({"g · 0-10": 10, "g · 0-5": 5}, ("g · 0-10", "g · 0-5")),
        ({"g_1_5": 5, "h_1_3": 5}, None),  # versions: scores of h exceed 3
        ({"g_1_5": 3, "h_1_3": 3}, None),
        ({"g_1_5": 5, "g_1_5_again": 5}, None),
    ],
)
def test_scales_are_known_by_names_and_by_scores(tops, apart):
    table = rated(tops)
    assert names_of(scales_apart(table["score"], table["judge"])) == apart


def test_a_judge_that_says_one_thing_may_be_at_the_foot_of_the_scale():
    table = rated({"a": 5, "b": 5})
    table.loc[table["judge"] == "b", "score"] = 1
    assert scales_apart(table["score"], table["judge"]) is None
    table.loc[table["judge"] == "b", "score"] = 100
    assert names_of(scales_apart(table["score"], table["judge"])) == ("b", "a")


def test_judges_of_one_scale_are_hardly_ever_taken_for_judges_of_two():
    """Scores of 1 to 10 by judges that differ by up to 2 points in leniency, 20 each."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        own = rng.uniform(-2, 2, 4)[:, None]
        score = np.clip(np.round(5.5 + own + rng.normal(0, 2, (4, 20))), 1, 10).ravel()
        wrong += scales_apart(pd.Series(score), pd.Series(np.repeat([*"abcd"], 20))) is not None
    assert wrong <= 3


def test_distances_are_of_judges_on_the_scale_of_gold():
    table = rated({"a": 5, "b": 20})
    near = on_one_scale(table["score"], table["gold"], table["judge"])
    assert set(table.loc[near, "judge"]) == {"a"}


def test_errors_on_another_scale_than_gold_are_not_measured_and_the_correlation_is():
    found = js.score_error(ratings(rated({"a": 5, "b": 100})).assign(gold=rated({"a": 5, "b": 100})["gold"]))
    found = found.set_index(["judge", "term"])
    assert found.loc["a", "estimate"].notna().all()
    far = found.loc["b"]
    assert far.loc[["rmse", "mae", "bias"], list(TERMS)].isna().all(axis=None)
    assert far.loc[["rmse", "mae", "bias"], "flag"].str.contains("not on one scale: b, which goes up to").all()
    assert far.loc["pearson", "estimate"] > 0.9


def test_people_on_another_scale_are_not_agreed_with():
    table = rated({"a": 5, "b": 100, "Ann": 5, "Bob": 5}).drop(columns="gold")
    found = js.judge_against_people(table, humans=["Ann", "Bob"])
    ours = found[found["judge"] == "b"]
    assert set(ours["term"]) == {"concordance", "agreement", "agreement_difference"}
    assert ours["estimate"].isna().all()
    assert ours["flag"].str.contains("not on one scale: b, which goes up to").all()
    assert found.loc[found["judge"] == "a", "estimate"].notna().all()
    with pytest.raises(DesignError, match=r"there is b, which goes up to .*Name the scale in a column and in by="):
        js.alternative_annotator_test(table, humans=["Ann", "Bob"], epsilon=0.1)


def test_a_column_that_declares_scales_is_believed():
    table = rated({"a": 5, "b": 5}).drop(columns="gold").assign(scale=lambda t: t["judge"].map({"a": "5", "b": "7"}))
    with pytest.raises(DesignError, match="'scale' has '5', '7'"):
        js.consensus_deviation(table)
    js.consensus_deviation(table.assign(scale="5"))


@pytest.mark.parametrize("by", [(), ("range",)], ids=["judges", "conditions"])
def test_a_page_does_not_show_scores_of_different_scales_side_by_side(by):
    if by:
        parts = [rated({"a": top, "b": top, "Ann": top}).assign(range=f"0-{top}") for top in (5, 10)]
        table = pd.concat([p.assign(item=p["item"] + p["range"]) for p in parts], ignore_index=True)
    else:
        table = rated({"a": 5, "b": 100, "Ann": 5})
    found = measure_all(ratings(table.drop(columns="gold")), n_resamples=20, humans=["Ann"], by=list(by)).summary
    assert [c for c in found.columns if c.term in ("mean_score", "distance", "mean_others", "run_sd")] == []
    (care,) = found.cards
    assert care.claim == "Scores on different scales are not compared"
    assert "which goes up to" in care.detail
    one = measure_all(ratings(rated({"a": 5, "b": 5})), n_resamples=20).summary
    assert "mean_score" in [c.term for c in one.columns]
