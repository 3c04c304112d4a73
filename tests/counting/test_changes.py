"""Pairs matched under a baseline and under other conditions."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError


def calls(*probes: object) -> pd.DataFrame:
    """One pair, judged once under each probe: for the first candidate under the first, else for the second."""
    return pd.DataFrame(
        {
            "judge": "g", "item": "1", "first": "x", "second": "y", "probe": list(probes),
            "choice": ["first", *["second"] * (len(probes) - 1)],
        }
    )  # fmt: skip


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.LazyFrame])
def test_a_column_that_counting_makes_is_none_of_the_frame(engine):
    with pytest.raises(SchemaError, match=r"'outcome' is not a column of the frame\. Columns: judge, item"):
        js.tally(engine(calls("1", "2").to_dict("list")), "revision", by="outcome", baseline="1", cluster=False)


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.LazyFrame])
def test_conditions_that_are_numbers_are_compared_as_text(engine):
    table = js.tally(engine(calls(1, 2, 10).to_dict("list")), "revision", baseline="1", cluster=False)
    assert table[["probe", "baseline", "outcome", "n"]].to_numpy().tolist() == [["10", "x", "y", 1], ["2", "x", "y", 1]]


def test_a_number_and_its_text_are_one_condition():
    both = pd.concat([calls(1, 2), calls("1", "2").assign(item="2")], ignore_index=True)
    table = js.tally(both, "revision", baseline="1", cluster=False)
    assert table[["probe", "n"]].to_numpy().tolist() == [["2", 2]]
