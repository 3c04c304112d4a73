"""Pairs matched under a baseline and under other conditions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError


def calls_under(*probes: object) -> pd.DataFrame:
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
        js.tally(engine(calls_under("1", "2").to_dict("list")), "revision", by="outcome", baseline="1", cluster=False)


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.LazyFrame])
def test_conditions_that_are_numbers_are_compared_as_text(engine):
    table = js.tally(engine(calls_under(1, 2, 10).to_dict("list")), "revision", baseline="1", cluster=False)
    assert table[["probe", "baseline", "outcome", "n"]].to_numpy().tolist() == [["10", "x", "y", 1], ["2", "x", "y", 1]]


def test_a_number_and_its_text_are_one_condition():
    both = pd.concat([calls_under(1, 2), calls_under("1", "2").assign(item="2")], ignore_index=True)
    table = js.tally(both, "revision", baseline="1", cluster=False)
    assert table[["probe", "n"]].to_numpy().tolist() == [["2", 2]]


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.LazyFrame])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_matched_as_a_loop_matches_them(engine, seed):
    rng = np.random.default_rng(seed)
    probes = ("blind", "label", "hint")
    rows = [
        (j, str(i), "x", "y", p, rng.choice(["first", "second", "tie"])) for j in "ab" for i in range(9) for p in probes
    ]
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "probe", "choice"])
    table = table.sample(frac=0.8, random_state=seed).reset_index(drop=True)
    word = {"first": "x", "second": "y", "tie": "tie"}
    answer = {(c["judge"], c["item"], c["probe"]): word[c["choice"]] for _, c in table.iterrows()}
    by_hand = Counter(
        (judge, probe, *sides)
        for judge in "ab"
        for item in map(str, range(9))
        for probe in ("label", "hint")
        if (sides := tuple(answer.get((judge, item, p), "missing") for p in ("blind", probe))) != ("missing",) * 2
    )
    got = js.tally(engine(table.to_dict("list")), "revision", baseline="blind", cluster=False)
    keys = got[["judge", "probe", "baseline", "outcome"]].itertuples(index=False, name=None)
    assert dict(zip(keys, got["n"], strict=True)) == by_hand
