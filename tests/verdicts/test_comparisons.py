"""Scores to verdicts: against a loop over pairs; margins, gaps, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
import registry
from judgestats.errors import DesignError, SchemaError


def scores() -> pd.DataFrame:
    """By one criterion; one score is missing."""
    return registry.scores().query("criterion == 'truth'").drop(columns="criterion")


@pytest.mark.parametrize("margin", [0.0, 1.0, 1.5])
def test_each_pair_is_compared_as_by_hand(margin):
    table = scores()
    found = js.compare_scores(table, margin=margin).set_index(["judge", "item", "replicate", "first", "second"])
    n = 0
    for key, here in table.groupby(["judge", "item", "replicate"]):
        value = here.set_index("system")["score"]
        for a, b in itertools.combinations(sorted(value.index), 2):
            gap = value[a] - value[b]
            expected = "invalid" if np.isnan(gap) else "tie" if abs(gap) <= margin else "first" if gap > 0 else "second"
            assert found.loc[(*key, a, b), "choice"] == expected
            n += 1
    assert n == len(found) == 3 * 8 * 2 * 6
    assert not found["order_known"].any()
    assert (found.loc[found["choice"] == "invalid", "status"] == "missing partner").all()


def test_equal_sums_are_a_tie_however_they_are_rounded():
    parts = pd.DataFrame(
        {
            "judge": "g", "item": "1", "system": ["s"] * 3 + ["t"] * 3, "criterion": ["a", "b", "c"] * 2,
            "score": [0.1, 0.2, 0.3, 0.3, 0.2, 0.1],
        }
    )  # fmt: skip
    weights = {"a": 1, "b": 1, "c": 1}
    assert js.compare_scores(js.composite(parts, weights))["choice"].tolist() == ["tie"]


def test_verdicts_are_preferences_of_the_kind_given():
    found = js.compare_scores(pl.from_pandas(scores()))
    assert isinstance(found, pl.DataFrame)
    assert len(js.preference_rate(js.compare_scores(scores()))) > 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: js.compare_scores(scores(), margin=-1), DesignError, "Allowed: 0 or more"),
        (
            lambda: js.compare_scores(scores().drop(columns="system")),
            SchemaError,
            "needs judge, item, system and score",
        ),
        (lambda: js.compare_scores(scores().drop(columns="replicate")), DesignError, "several scores under the same"),
        (lambda: js.compare_scores(scores().query("system == 'a'")), DesignError, "No two systems"),
        (
            lambda: js.compare_scores(pd.concat([scores().assign(criterion=c) for c in "ab"])),
            DesignError,
            "scores of several criteria",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
