"""Flags of forced choices, and of order confounded with candidates."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import judgestats as js
from judgestats.flags import FORCED_CHOICE, ORDER_CONFOUNDED
from judgestats.metrics.bias import consistency, position_bias
from metrics.tables import PAIRS, calls_of


def test_forced_choice_is_said_where_ties_are_the_question():
    forced = calls_of(PAIRS[:6], ties_allowed=False)
    free = calls_of(PAIRS[:6], judge="h", ties_allowed=True)
    result = consistency(pd.concat([forced, free]))
    told = result[result["flag"].str.contains(FORCED_CHOICE)]
    assert set(told["judge"]) == {"g"}
    assert set(told["term"]) == {"both_tie", "one_sided"}
    lean = position_bias(pd.concat([forced, free]))
    assert lean.loc[lean["flag"].str.contains(FORCED_CHOICE), ["judge", "term"]].to_numpy().tolist() == [["g", "tie"]]
    unsaid = forced.assign(ties_allowed=pd.array([None] * len(forced), dtype="boolean"))
    assert not position_bias(unsaid)["flag"].str.contains(FORCED_CHOICE).any()
    told = position_bias(pl.from_pandas(forced))
    assert told.loc[told["flag"].str.contains(FORCED_CHOICE), "term"].tolist() == ["tie"]


def one_order(pairs):
    """Calls of one judge on one item for each (first, second), all for the first."""
    rows = [("g", f"i{i}", first, second, "first") for i, (first, second) in enumerate(pairs)]
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.Table.from_pandas])
@pytest.mark.parametrize(
    ("pairs", "confounded"),
    [
        ([("base", "new")] * 12, True),
        ([("base", f"new {i}") for i in range(12)], True),  # one candidate always stands first
        ([*combinations("abc", 2)] * 4, True),  # always in the order of the alphabet
        ([("base", "new")] * 6 + [("new", "base")] * 6, False),  # the order is shuffled
        ([(f"one of {i}", f"two of {i}") for i in range(12)], False),  # ids of the item say nothing
    ],
)
def test_position_bias_is_flagged_where_order_and_candidate_are_one(make, pairs, confounded):
    calls = one_order(pairs)
    calls = make(calls if make is not pl.DataFrame and make is not pl.LazyFrame else calls.to_dict("list"))
    found = position_bias(calls).set_index("term")["flag"]
    assert [ORDER_CONFOUNDED in found[t] for t in ("position_bias", "first_share_nontie")] == [confounded] * 2
    assert not found[["first", "second", "tie", "invalid"]].str.contains(ORDER_CONFOUNDED).any()


def test_confounding_is_a_matter_of_each_group():
    both = one_order([("x", "y"), ("y", "x")] * 6).assign(judge="both")
    calls = pd.concat([one_order([("x", "y")] * 12), both], ignore_index=True)
    found = position_bias(calls).query("term == 'position_bias'").set_index("judge")["flag"]
    assert ORDER_CONFOUNDED in found["g"]
    assert ORDER_CONFOUNDED not in found["both"]
    by = position_bias(calls.assign(set="one"), by="set")
    assert ORDER_CONFOUNDED in by.query("judge == 'g' and term == 'position_bias'")["flag"].item()
    nameless = calls.assign(set=calls["judge"].where(calls["judge"] == "both"))
    for frame in (nameless, pl.from_pandas(nameless), pl.from_pandas(nameless).lazy()):
        by = position_bias(frame, by="set").query("term == 'position_bias'").set_index("judge")["flag"]
        assert ORDER_CONFOUNDED in by["g"]
        assert ORDER_CONFOUNDED not in by["both"]


@pytest.mark.parametrize("engine", [lambda t: t, lambda t: pl.from_pandas(t).lazy()])
def test_calls_of_a_strategy_that_are_not_merged_are_flagged(engine):
    pairs = pd.DataFrame({"item": [str(i) for i in range(12)], "first": "u", "second": "v", "gold": "u"})
    pairs = pairs.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.")
    plan = js.design.strategies("g", pairs, strategies=["B0", "S1"])
    calls = js.design.collect(plan, js.design.simulate_replies(plan, js.design.Judge("g")).to_dict("records"))
    found = js.gold_agreement(engine(calls), by="strategy")
    flagged = found["flag"].str.contains("calls of a strategy, not merged")
    assert set(found.loc[flagged, "strategy"]) == {"S1"}
    assert flagged.sum() == (found["strategy"] == "S1").sum()
    assert js.gold_agreement(engine(calls))["flag"].str.contains("not merged").all()
    merged = js.design.strategy_verdicts(calls)
    assert not js.gold_agreement(engine(merged), by="strategy")["flag"].str.contains("not merged").any()
