"""All measures of a frame are clustered by one column, and say for which few levels of another their intervals hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.methods import method_of

MEASURES = {
    "ratings": ("accuracy", "kappa", "alpha", "icc", "effective_judges", "run_sd", "score_error", "roc", "correlation"),
    "preferences": ("answer_rates", "consistency", "position_bias", "preference_rate", "gold_agreement", "kappa"),
}


def ratings(tasks: int, repeats: int, name: str = "task") -> pd.DataFrame:
    """Scores of 0 and 1 by three judges on 48 items in so many tasks."""
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([list("ghk"), range(48), range(repeats)], names=["judge", "item", "replicate"])
    table = index.to_frame(index=False).assign(system="s", gold=lambda t: t["item"] % 2)
    right = rng.random(len(table)) < 0.7
    table["score"] = np.where(right, table["gold"], 1 - table["gold"])
    return table.assign(**{name: "t" + (table["item"] % tasks).astype(str)})


def preferences(tasks: int) -> pd.DataFrame:
    """Both orders of a pair of each of 48 items in so many tasks, by two judges."""
    index = pd.MultiIndex.from_product([list("gh"), range(48), [0, 1]], names=["judge", "item", "order"])
    table = index.to_frame(index=False)
    table = table.assign(first=np.where(table["order"] == 0, "x", "y"), second=np.where(table["order"] == 0, "y", "x"))
    choice = np.random.default_rng(0).choice(["first", "second", "tie"], len(table))
    return table.drop(columns="order").assign(choice=choice, gold="x", task="t" + (table["item"] % tasks).astype(str))


def columns(result: pd.DataFrame) -> set[str]:
    """What the intervals of a result are clustered by, or are draws of."""
    values = [method_of(text) for text in result.loc[result["conf_low"].notna(), "method"]]
    return {(v.clusters.column if v.clusters else v.draws.units if v.draws else "").removesuffix("s") for v in values}


def levels(result: pd.DataFrame) -> set[object]:
    """For which levels the intervals of a result hold."""
    return {method_of(text).parts.levels for text in result.loc[result["conf_low"].notna(), "method"]}


@pytest.mark.parametrize("measure", MEASURES["ratings"])
@pytest.mark.parametrize("repeats", [1, 2])
def test_every_measure_of_ratings_takes_the_tasks(measure: str, repeats: int) -> None:
    if measure == "run_sd" and repeats == 1:
        return
    result = getattr(js, measure)(ratings(12, repeats))
    assert columns(result) <= {"task", ""}  # a jackknife does not say of what
    assert levels(result) == {None}
    assert "(G = 12" in " ".join(result["method"]) or "of task" in " ".join(result["method"])


@pytest.mark.parametrize("measure", MEASURES["ratings"])
def test_with_few_tasks_every_measure_of_ratings_says_which(measure: str) -> None:
    result = getattr(js, measure)(ratings(5, 2))
    assert columns(result) <= {"item", "subject", "unit", ""}
    assert levels(result) == {("task", 5)}
    assert result.loc[result["conf_low"].notna(), "method"].str.endswith("; holds for these 5 tasks").all()


@pytest.mark.parametrize("measure", MEASURES["preferences"])
def test_every_measure_of_preferences_takes_the_tasks(measure: str) -> None:
    result = getattr(js, measure)(preferences(12))
    assert (columns(result), levels(result)) == ({"task"}, {None})
    few = getattr(js, measure)(preferences(5))
    assert columns(few) <= {"item", "pair", ""}
    assert levels(few) == {("task", 5)}


def test_a_conversation_is_an_id_as_well() -> None:
    result = js.accuracy(ratings(12, 2, "conversation"))
    assert columns(result) == {"conversation"}


def test_what_is_named_holds_for_more() -> None:
    """By task, or with a cluster that is named, or without any, nothing is said."""
    table = ratings(5, 2)
    for options in ({"by": "task"}, {"cluster": "task"}, {"cluster": "item"}, {"cluster": False}):
        assert levels(js.accuracy(table, **options)) == {None}


def test_the_same_lazily_and_from_a_tally() -> None:
    table = ratings(5, 2)
    want = js.accuracy(table)
    pd.testing.assert_frame_equal(js.accuracy(pl.from_pandas(table).lazy()), want)
    pd.testing.assert_frame_equal(js.accuracy(js.tally(table, "accuracy")), want)
