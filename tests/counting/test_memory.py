"""Patterns counted in memory and in an engine, against loops over the calls."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError

ANSWERS = ["first", "second", "tie", "abstain", "invalid"]
ENGINES = {"pandas": lambda table: table, "polars": lambda table: pl.from_pandas(table).lazy()}


def some_orders(seed: int) -> pd.DataFrame:
    """Up to two orders of each pair of three candidates, by two judges on ten items."""
    rng = np.random.default_rng(seed)
    pairs = [("x", "y"), ("y", "x"), ("x", "z"), ("z", "x"), ("y", "z"), ("z", "y")]
    rows = [(j, str(i), *pair, rng.choice(ANSWERS)) for j in "ab" for i in range(10) for pair in pairs]
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    return table.sample(frac=0.7, random_state=seed).reset_index(drop=True)


def counted(table: pd.DataFrame, columns: list[str]) -> Counter[tuple[str, ...]]:
    return Counter(dict(zip(table[columns].itertuples(index=False, name=None), table["n"], strict=True)))


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_both_orders_of_a_pair_are_matched(engine, seed):
    data = some_orders(seed)
    answers: dict[tuple[str, ...], dict[str, str]] = {}
    for _, c in data.iterrows():
        order = "forward" if c["first"] < c["second"] else "reverse"
        pair = (c["judge"], c["item"], *sorted([c["first"], c["second"]]))
        answers.setdefault(pair, {})[order] = "tie" if c["choice"] == "abstain" else c["choice"]
    by_hand = Counter((p[0], a.get("forward", "missing"), a.get("reverse", "missing")) for p, a in answers.items())
    table = js.tally(engine(data), "consistency", cluster=False)
    assert counted(table, ["judge", "forward", "reverse"]) == by_hand
    assert table["n"].sum() == len(answers)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_each_call_counts_once_for_each_of_its_candidates(engine, seed):
    data = some_orders(seed)
    turned = {"win": "loss", "loss": "win"}
    by_hand: Counter[tuple[str, ...]] = Counter()
    for _, c in data.iterrows():
        outcome = {"first": "win", "second": "loss", "invalid": "invalid"}.get(c["choice"], "tie")
        by_hand[c["judge"], c["first"], outcome] += 1
        by_hand[c["judge"], c["second"], turned.get(outcome, outcome)] += 1
    table = js.tally(engine(data), "preference_rate", cluster=False)
    assert counted(table, ["judge", "candidate", "outcome"]) == by_hand


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_a_pair_stands_for_as_many_as_its_count_and_both_orders_for_the_same(engine):
    data = some_orders(0).drop_duplicates(["judge", "item"]).assign(n_identical=lambda t: np.arange(len(t)) + 1)
    back = data.rename(columns={"first": "second", "second": "first"}).assign(choice="tie")
    both = pd.concat([data, back], ignore_index=True)
    table = js.tally(engine(both), "consistency", cluster=False)
    assert table["n"].sum() == data["n_identical"].sum()
    assert not (table[["forward", "reverse"]] == "missing").any(axis=None)
    uneven = both.assign(n_identical=both["n_identical"] + (np.arange(len(both)) == 0))
    with pytest.raises(DesignError, match="The two orders of a pair have different counts"):
        js.tally(engine(uneven), "consistency", cluster=False)


def test_a_candidate_without_a_name_is_not_counted():
    data = some_orders(1)
    data.loc[3, "second"] = None
    with pytest.raises(SchemaError, match=rf"'first' or 'second' is missing in 1 of {len(data)} rows"):
        js.tally(data, "preference_rate", cluster=False)
