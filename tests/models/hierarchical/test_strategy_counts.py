"""Counts of correct calls: the same from every form of table, and tables that are impossible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, SchemaError
from models.strategy_tables import read_arms, strategy_calls, table1, table4


def test_the_same_counts_from_every_form_of_table():
    calls = strategy_calls(items=60)
    wide = calls.pivot_table(index=["judge", "item"], columns="strategy", values="correct")
    rows, changes = [], []
    for judge, own in wide.groupby(level=0):
        rows.append((judge, "B0", 60, int(own["B0"].sum()), None, None))
        for s in ("S1", "S8"):
            b, c = int(((own["B0"] == 1) & (own[s] == 0)).sum()), int(((own["B0"] == 0) & (own[s] == 1)).sum())
            rows.append((judge, s, 60, int(own[s].sum()), b, c))
            words = own[["B0", s]].replace({1: "correct", 0: "wrong"}).astype(str)
            words = own[["B0", s]].map(lambda x: "correct" if x else "wrong")
            counted = words.value_counts().reset_index()
            changes += [(judge, s, r["B0"], r[s], r["count"]) for r in counted.to_dict("records")]
    printed = read_arms(pd.DataFrame(rows, columns=["judge", "strategy", "n", "k", "b", "c"]))
    tallied = read_arms(pd.DataFrame(changes, columns=["judge", "strategy", "baseline", "outcome", "n"]))
    raw = read_arms(calls)
    for name in ("n", "k", "b", "c"):
        for other in (tallied, raw):
            assert np.array_equal(getattr(printed, name), getattr(other, name), equal_nan=True), name
    margins = read_arms(calls.groupby(["judge", "strategy", "correct"]).size().reset_index(name="n"))
    assert np.array_equal(margins.k, raw.k)
    assert np.isnan(margins.b).all()
    assert raw.count.sum() == 120


def test_row_order_does_not_matter():
    calls = strategy_calls(items=40)
    one, two = read_arms(calls), read_arms(calls.sample(frac=1, random_state=3))
    assert np.array_equal(one.answers, two.answers)
    assert np.array_equal(one.count, two.count)


def test_gpt_4o_baseline_among_the_pairs_of_s1():
    """391 pairs: 260 right under S1, 30 and 39 discordant, so 251 right under the baseline among them."""
    arms = read_arms(table1().merge(table4(), how="left", on=["judge", "strategy"]))
    at = arms.judges.index("GPT-4o"), arms.strategies.index("S1")
    assert arms.n[at] == 391
    assert arms.shared[at] == 251


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"k": [200, 500]}, SchemaError, "more correct calls than calls"),
        ({"k": [200, -1]}, SchemaError, "not a count"),
        ({"k": [200, 10.5]}, SchemaError, "not a count"),
        ({"n": [400, None]}, SchemaError, "no 'n'"),
        ({"b": [None, 300], "c": [None, 300]}, SchemaError, "more discordant pairs"),
        ({"b": [None, 3], "c": [None, 30]}, SchemaError, "contradict k of the baseline"),
        ({"b": [None, 3], "c": [None, None]}, SchemaError, "b without c"),
        ({"strategy": ["B0", "B0"]}, SchemaError, "two rows"),
        ({"strategy": ["B1", "S8"]}, DesignError, "not a strategy"),
        ({"judge": ["g", "h"]}, DesignError, "no comparison"),
    ],
)
def test_impossible_tables(change, error, words):
    table = pd.DataFrame({"judge": "g", "strategy": ["B0", "S8"], "n": [400, 400], "k": [200, 240]}).assign(**change)
    with pytest.raises(error, match=words):
        read_arms(table)


def test_a_table_without_n():
    with pytest.raises(SchemaError, match="'n'"):
        read_arms(table4())
