"""Calls without a gold label are counted, and labels that name no candidate are refused."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.flags import (
    NO_DATA,
)
from judgestats.metrics.correctness import gold_agreement, gold_labels
from metrics.tables import calls, gold_calls
from refusals import refused


def test_calls_without_gold_are_set_aside_and_said():
    calls = pd.concat([gold_calls(), gold_calls().assign(judge="h", gold=None)], ignore_index=True)
    calls.loc[[0, 1], "gold"] = None
    result = gold_agreement(calls)
    mine = result[result["judge"] == "g"].set_index("term")
    assert (mine.loc["accuracy", "estimate"], mine.loc["accuracy", "n"]) == (pytest.approx(3 / 7), 7)
    assert mine.loc["accuracy", "flag"] == "1 invalid call excluded; n < 30; 2 calls without gold excluded"
    other = result[result["judge"] == "h"].set_index("term")
    assert other.index.tolist() == ["accuracy", "wrong", "tie", "invalid"]
    assert other["estimate"].isna().all()
    assert (other["flag"] == f"{NO_DATA}; 10 calls without gold excluded").all()
    for make in (pl.from_pandas, lambda t: pl.from_pandas(t).lazy()):
        pd.testing.assert_frame_equal(gold_agreement(make(calls)), result)


def test_no_gold():
    calls = gold_calls()
    refused(
        DesignError,
        (calls.drop(columns="gold"), r"gold_agreement needs gold. Columns: judge, item"),
        (calls.assign(gold=""), r"'gold' is empty in every row"),
        of=gold_agreement,
    )


def test_gold_that_names_nobody():
    calls = gold_calls()
    calls.loc[[3, 7], "gold"] = ["A", "model_1"]
    message = r"neither candidate nor 'tie' in 2 rows \(rows 3, 7 of the data, from 0\). The first: item '3' shows 'x' and 'y', .* is 'A'"
    with pytest.raises(SchemaError, match=message) as error:
        gold_agreement(calls)
    assert error.value.faults is not None
    assert error.value.faults[["level", "column", "n", "rows", "example"]].to_numpy().tolist() == [
        ["fault", "gold", 2, (3, 7), "A"]
    ]
    with pytest.raises(SchemaError, match=r"in 2 rows\. The first: item '3'"):
        gold_agreement(pl.from_pandas(calls).lazy())


@pytest.mark.parametrize("engine", [lambda t: t, pl.from_pandas])
def test_calls_without_gold_are_told_of_a_group_without_a_name(engine):
    got = gold_agreement(engine(calls()), by="topic")
    named = got["topic"].notna()
    assert named.any()
    assert (~named).any()
    assert got["flag"].str.contains("1 calls without gold excluded").all()
    alone = calls().assign(gold=["x", "x", "y", None, "y", None])
    assert got.loc[~named, "n"].max() == 1
    nothing = gold_agreement(engine(alone), by="topic")
    nothing = nothing[nothing["topic"].isna()]
    assert nothing["estimate"].isna().all()
    assert nothing["flag"].str.contains("2 calls without gold excluded").all()


def test_labelled_calls_of_a_lazy_frame_are_looked_at_once(monkeypatch):
    labelled = calls().dropna(subset=["gold"])
    expected = gold_agreement(labelled)
    monkeypatch.delattr(gold_labels, "_refuse_unknown_gold")  # a second look at the labels
    pd.testing.assert_frame_equal(gold_agreement(pl.from_pandas(labelled).lazy()), expected)
    with pytest.raises(NameError):
        gold_agreement(pl.from_pandas(calls().assign(gold="nobody")).lazy())
