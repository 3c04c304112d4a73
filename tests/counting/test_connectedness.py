"""Judges that systems connect, directly or through others."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.counting.connectedness import separate_designs
from judgestats.schema import preferences, ratings


def board(systems_of, items=30):
    """Scores of the systems of each judge on the same items."""
    rows = [
        (j, s, f"i{i}", 3.0) for j, systems in systems_of.items() for s in systems for i in range(items)
    ]  # fmt: skip
    return ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]))


ALONE = {"a": ["s1"], "b": ["s2"], "c": ["s3"]}
TWO_AND_TWO = {"a": ["s1", "s2"], "b": ["s1", "s2"], "c": ["s3", "s4"], "d": ["s4", "s3"]}
CHAIN = {"a": ["s1", "s2"], "b": ["s2", "s3"], "c": ["s3", "s4"]}


@pytest.mark.parametrize(
    ("systems_of", "groups"),
    [
        (ALONE, [("a",), ("b",), ("c",)]),
        (TWO_AND_TWO, [("a", "b"), ("c", "d")]),
        (CHAIN, []),  # connected through others
        ({"a": ["s1"], "b": ["s1"]}, []),
        ({"a": ["s1", "s2"]}, []),
    ],
)
def test_groups_of_judges_that_no_system_connects(systems_of, groups):
    assert [group.judges for group in separate_designs(board(systems_of))] == groups


def test_a_system_without_a_score_connects_nobody():
    calls = board({"a": ["s1", "s2"], "b": ["s2", "s3"]})
    assert separate_designs(calls) == []
    calls.loc[(calls["judge"] == "b") & (calls["system"] == "s2"), "score"] = np.nan
    assert [group.judges for group in separate_designs(calls)] == [("a",), ("b",)]


def test_a_lazy_frame_is_separated_as_well():
    board = pd.DataFrame(
        {"judge": ["a", "a", "b", "b"], "system": ["s", "s", "t", "t"], "item": ["1", "2"] * 2, "score": [1, 2, 3, 4]}
    )
    apart = separate_designs(board)
    assert [group.judges for group in apart] == [("a",), ("b",)]
    assert separate_designs(pl.from_pandas(board).lazy()) == apart


def test_candidates_of_one_item_are_no_systems():
    one = pd.DataFrame({"judge": ["a", "b"], "item": ["1", "2"], "first": ["r1", "r3"], "second": ["r2", "r4"]})
    assert separate_designs(preferences(one.assign(choice="first"))) == []
    two = pd.concat([one, one.assign(item=["3", "4"])])
    groups = separate_designs(preferences(two.assign(choice="first")))
    assert [group.systems for group in groups] == [("r1 against r2",), ("r3 against r4",)]
