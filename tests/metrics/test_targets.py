"""Who the target is, by brute force; calls without one are counted."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.flags import NO_DATA
from judgestats.metrics.bias import bias_score
from judgestats.results import COLUMNS
from metrics.tables import pick, random_calls, signed_calls

FAMILY = {"g": "G", "h": "H", "k": "K", "x": "G", "y": "H"}


def by_hand(calls: pd.DataFrame, target_of) -> dict[str, tuple[float, int, int]]:
    """Judge -> (b, valid calls with a target, calls without one), a row at a time."""
    told: dict[str, list[float]] = {}
    aside: dict[str, int] = {}
    for row in calls.to_dict("records"):
        target = target_of(row)
        if target is None:
            aside[row["judge"]] = aside.get(row["judge"], 0) + 1
        elif row["choice"] != "invalid":
            chosen = {"first": row["first"], "second": row["second"]}.get(row["choice"])
            told.setdefault(row["judge"], []).append(0.0 if chosen is None else 1.0 if chosen == target else -1.0)
    return {j: (sum(v) / len(v), len(v), aside.get(j, 0)) for j, v in told.items()}


def longer(row):
    a, b = row["length_first"], row["length_second"]
    return None if a == b else row["first"] if a > b else row["second"]


def markdown(row):
    has = [row[f"format_{s}"] == "markdown" for s in ("first", "second")]
    return None if has[0] == has[1] else row["first"] if has[0] else row["second"]


def own(row):
    mine = [FAMILY[row[s]] == FAMILY[row["judge"]] for s in ("first", "second")]
    return None if mine[0] == mine[1] else row["first"] if mine[0] else row["second"]


@pytest.mark.parametrize(
    ("options", "target_of", "words"),
    [
        ({}, lambda row: row["target"], ""),
        ({"attribute": "length"}, longer, "calls of equal or unknown length"),
        ({"attribute": "format", "value": "markdown"}, markdown, "calls where both or neither has format markdown"),
        ({"family": FAMILY}, own, ""),
        ({"target": "first"}, lambda row: row["first"], ""),
        ({"target": "second"}, lambda row: row["second"], ""),
        ({"target": "y"}, lambda row: "y", ""),
    ],
    ids=["column", "length", "format", "family", "first", "second", "candidate"],
)
def test_every_kind_of_target_by_brute_force(options, target_of, words):
    calls = signed_calls()
    result = bias_score(calls, **options)
    expected = by_hand(calls, target_of)
    assert result.columns.tolist() == ["judge", *COLUMNS]
    rows = result[result["term"] == "bias"].set_index("judge")
    for judge, (b, n, aside) in expected.items():
        assert rows.loc[judge, ["estimate", "n"]].tolist() == pytest.approx([b, n])
        told = f"{aside} {words}"
        assert (f"{told} excluded" in rows.loc[judge, "flag"].split("; ")) == bool(words)
    shares = result.pivot(index="judge", columns="term", values="estimate")
    assert (shares["prefers_target"] + shares["prefers_other"] + shares["tie"]).tolist() == pytest.approx([1, 1])
    assert (shares["prefers_target"] - shares["prefers_other"]).tolist() == pytest.approx(shares["bias"].tolist())
    for engine in (pl.from_pandas(calls), pl.from_pandas(calls).lazy()):
        pd.testing.assert_frame_equal(bias_score(engine, **options), result, check_dtype=False)


def test_rows_without_a_target_are_counted_and_not_lost():
    calls = signed_calls()
    gone = calls["item"].isin(["0", "1", "2"]) & (calls["judge"] == "g")
    partly = bias_score(calls.assign(target=calls["target"].where(~gone)))
    assert partly.loc[partly["judge"] == "g", "flag"].str.contains("6 calls without target excluded").all()
    assert not partly.loc[partly["judge"] == "h", "flag"].str.contains("without").any()
    wholly = bias_score(calls.assign(target=calls["target"].where(calls["judge"] == "h"), n_identical=2))
    lost = wholly[wholly["judge"] == "g"]
    assert lost["estimate"].isna().all()
    assert lost["flag"].str.contains("96 calls without target excluded").all()
    assert lost["flag"].str.contains(NO_DATA).all()
    assert (lost["n"] == 0).all()


def test_self_preference_needs_exactly_one_own_side():
    calls = signed_calls(judges="ghk")
    result = bias_score(calls, family=FAMILY)
    assert math.isnan(pick(result)["k"]), "a judge between strangers has a model preference, not self-preference"
    assert "48 calls with both or neither of its family" in result.query("judge == 'k'")["flag"].iloc[0]
    # g is of the family of x, h of the family of y: h's score is minus its model preference for x
    model = pick(bias_score(calls, target="x"))
    assert pick(result)["g"] == pytest.approx(model["g"])
    assert pick(result)["h"] == pytest.approx(-model["h"])
    beside = calls.assign(family_first=calls["first"].map(FAMILY), family_second=calls["second"].map(FAMILY))
    judges = {j: FAMILY[j] for j in "ghk"}
    pd.testing.assert_frame_equal(bias_score(beside, family=judges), result)
    both = beside.assign(family_second=beside["family_first"])
    with pytest.raises(DesignError, match="no call has a target"):
        bias_score(both, family=judges)


def test_identical_responses_have_slots():
    calls = pd.DataFrame(
        {"judge": "g", "item": list("abcd"), "first": "x", "second": "x", "choice": ["first", "first", "second", "tie"]}
    )
    assert pick(bias_score(calls, target="first")) == {"g": 0.25}
    assert pick(bias_score(calls, target="second")) == {"g": -0.25}


@pytest.mark.parametrize("lazy", [False, True])
def test_a_length_that_is_not_a_number_has_no_longer_side(lazy: bool) -> None:
    table = random_calls()
    table.loc[::3, "length_first"] = np.nan
    data = pl.from_pandas(table, nan_to_null=False).with_columns(pl.col("length_first").fill_null(math.nan))
    assert data["length_first"].is_nan().sum() == table["length_first"].isna().sum()
    result = bias_score(data.lazy() if lazy else data, attribute="length")
    pd.testing.assert_frame_equal(result, bias_score(table, attribute="length"), check_dtype=False)


def test_a_family_need_not_be_text_and_a_frame_may_be_empty() -> None:
    table = random_calls()
    named = bias_score(table, family={"g": "1", "h": "2", "x": "1", "y": "2"})
    numbered = bias_score(table, family={"g": 1, "h": 2, "x": 1, "y": 2})  # type: ignore[dict-item]
    pd.testing.assert_frame_equal(named, numbered)
    assert not len(bias_score(table.iloc[:0], family={"g": "1"}))


def test_two_candidates_of_one_name_have_no_target() -> None:
    table = random_calls().assign(second=np.where(np.arange(80) % 4 == 0, "x", "y"))
    result = bias_score(table)
    assert result["flag"].str.contains("10 calls without target excluded").all()
    pd.testing.assert_frame_equal(
        result.drop(columns="flag"), bias_score(table[table["second"] == "y"]).drop(columns="flag")
    )


def test_attributes_and_gold_scores_are_mapped_like_any_column():
    raw = pd.DataFrame(
        {"j": "g", "i": ["1", "2"], "a": "x", "b": "y", "c": ["first", "second"], "la": [3, 9], "lb": [5, 1]}
    )
    names = {"judge": "j", "item": "i", "first": "a", "second": "b", "choice": "c"}
    calls = js.preferences(raw, **names, length_first="la", length_second="lb")
    assert js.bias_score(calls, attribute="length")["estimate"].iloc[0] == -1.0
    rated = pd.DataFrame({"j": "g", "s": "s", "i": ["1", "2"], "q": [3.0, 4.0], "right": [3.0, 5.0]})
    table = js.ratings(rated, judge="j", system="s", item="i", score="q", gold="right")
    assert js.score_error(table).set_index("term").loc["mae", "estimate"] == 0.5
