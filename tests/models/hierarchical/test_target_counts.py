"""Counts of target, other and tie: printed scores, tallies, and tables that are impossible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.models.hierarchical.target_counts import read
from models.printed_counts import outcome_counts, table7, table8


def test_printed_scores_give_whole_calls():
    seven = read(table7())
    assert seven.counts[:, 0].sum() == round(20 * table7()["score"].sum())
    assert seven.net.all()
    assert len(seven.topics) == 5
    eight = read(table8(), by="strategy")
    assert len(eight.conditions) == 3
    gpt = (eight.judge == eight.judges.index("GPT-4o")) & (eight.condition == eight.conditions.index(("B0",)))
    assert eight.counts[gpt, 0] == [-2]


def test_frame_and_tally_are_the_same_cells():
    rng = np.random.default_rng(0)
    calls = pd.DataFrame(
        {"judge": rng.choice(["g", "h"], 200), "item": [str(i) for i in range(200)], "first": "x", "second": "y",
         "target": "x", "bias": rng.choice(["style", "length"], 200), "topic": rng.choice(["m", "c"], 200),
         "choice": rng.choice(["first", "second", "tie", "invalid"], 200)}
    )  # fmt: skip
    names = {"first": "target", "second": "other"}
    counted = calls.assign(outcome=calls["choice"].replace(names)).drop(columns=["choice", "first", "second", "target"])
    counted = counted.groupby(["judge", "bias", "topic", "outcome"]).size().reset_index(name="n")
    one, two, three = read(calls), read(counted), read(calls.sample(frac=1, random_state=1))
    for other in (two, three):
        assert np.array_equal(one.counts, other.counts)
        assert np.array_equal(one.topic, other.topic)
    assert one.invalid.sum() == (calls["choice"] == "invalid").sum()
    assert one.n.sum() + one.invalid.sum() == 200
    tied = read(calls, invalid="tie")
    assert tied.n.sum() == 200


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (pd.DataFrame({"judge": ["g"], "score": [0.35]}), SchemaError, "no column 'n'"),
        (pd.DataFrame({"judge": ["g"], "outcome": ["target"]}), SchemaError, "'n'"),
        (pd.DataFrame({"judge": ["g"], "score": [0.33], "n": [20]}), SchemaError, "No whole number"),
        (pd.DataFrame({"judge": ["g"], "score": [1.3], "n": [20]}), SchemaError, "-1 to 1"),
        (pd.DataFrame({"judge": ["g"], "score": [0.35], "n": [400]}), SchemaError, "does not determine"),
        (pd.DataFrame({"judge": ["g"], "score": [0.35], "n": [-20]}), SchemaError, "whole calls"),
        (pd.DataFrame({"judge": ["g", "g"], "score": [0.35, 0.4], "n": [20, 20]}), SchemaError, "Two scores"),
        (outcome_counts(1.5, 2, 3), SchemaError, "not whole"),
        (outcome_counts(-1, 2, 3), SchemaError, "negative"),
        (outcome_counts(0, 0, 0), DesignError, "no valid call"),
        (outcome_counts(1, 2, 3).rename(columns={"judge": "rater"}), SchemaError, "judges"),
    ],
)
def test_impossible_tables(table, error, words):
    with pytest.raises(error, match=words):
        read(table)
