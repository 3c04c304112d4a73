"""The cost frontier against every pair, and the cost of an evaluation by tokens."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem
from scipy.stats import t as student

from judgestats.errors import DesignError, SchemaError
from judgestats.flags import (
    ESTIMATED_COST,
    INFINITE,
    NO_COST,
    NO_DATA,
    NO_SPREAD,
    NO_VALUE,
)
from judgestats.metrics.bias import evaluation_cost, pareto_front
from judgestats.metrics.bias.evaluation_costs import NAMELESS, costs
from refusals import refused


def points(pairs: list[tuple[float, float]]) -> pd.DataFrame:
    cost, value = zip(*pairs, strict=True)
    return pd.DataFrame({"judge": [f"j{i:02d}" for i in range(len(pairs))], "cost": cost, "estimate": value})


def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] <= b[0] and a[1] >= b[1] and a != b


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=14))
def test_against_every_pair(pairs):
    """The definition, pair by pair; coarse grids, so that ties and copies are common."""
    got = pareto_front(points(pairs)).set_index("judge")
    front = [not any(beats(a, b) for a in pairs) for b in pairs]
    assert list(got["on_front"]) == front
    for i, b in enumerate(pairs):
        name = got["dominated_by"].iloc[i]
        if front[i]:
            assert name == ""
            continue
        better = [pairs[j] for j in range(len(pairs)) if front[j] and beats(pairs[j], b)]
        chosen = pairs[int(name[1:])]
        assert chosen in better
        assert chosen[1] == max(v for _, v in better)


def test_copies_both_stay_and_the_order_does_not_matter():
    table = points([(0, 0.5), (1, 0.7), (1, 0.7), (1, 0.6), (2, 0.7), (3, 0.9)])
    got = pareto_front(table)
    assert list(got["on_front"]) == [True, True, True, False, False, True]
    assert list(got["dominated_by"]) == ["", "", "", "j01", "j01", ""]
    for other in (table.iloc[::-1], pl.from_pandas(table), pl.from_pandas(table).lazy()):
        pd.testing.assert_frame_equal(pareto_front(other), got, check_dtype=False)


def test_what_has_no_cost_is_set_aside():
    got = pareto_front(points([(np.nan, 0.9), (1, 0.7), (0, np.nan), (2, 0.6)]))
    assert list(got["on_front"]) == [False, True, False, False]
    assert list(got["flag"]) == [NO_COST, "", NO_VALUE, ""]
    assert list(got["dominated_by"]) == ["", "", "", "j01"]


def test_cost_by_tokens():
    table = pd.DataFrame(
        {
            "judge": ["a", "b", "c", "d"],
            "input_tokens": [1e6, 1e6, 2e6, 5],
            "output_tokens": [1e5, 2e5, 0, 5],
            "estimate": [0.6, 0.7, 0.8, 0.9],
        }
    )
    prices = {"a": (3.0, 15.0), "b": (0.0, 0.0), "c": (1.0, 10.0)}
    np.testing.assert_allclose(costs(table, prices), [4.5, 0, 2, np.nan])
    got = pareto_front(table, prices=prices)
    assert list(got["flag"]) == [ESTIMATED_COST] * 3 + [NO_COST]
    assert list(got["on_front"]) == [False, True, True, False]
    assert got["dominated_by"].iloc[0] == "c"


def test_groups_terms_and_other_costs():
    table = pd.DataFrame(
        {
            "judge": ["a", "b"] * 2,
            "strategy": ["B0", "S8"] * 2,
            "task": ["x", "x", "y", "y"],
            "latency": [1.0, 2.0, 1.0, 2.0],
            "estimate": [0.5, 0.6, 0.6, 0.5],
        }
    )
    got = pareto_front(table, cost="latency", by="task")
    assert list(got.columns) == ["task", "judge", "strategy", "cost", "value", "on_front", "dominated_by", "flag"]
    assert list(got["on_front"]) == [True, True, True, False]
    assert got["dominated_by"].iloc[3] == "a / B0"
    several = pd.concat([table.assign(term="accuracy"), table.assign(term="tie", estimate=0.9)])
    with pytest.raises(DesignError, match=r"several terms \(accuracy, tie\)"):
        pareto_front(several, cost="latency", by="task")
    pd.testing.assert_frame_equal(pareto_front(several, cost="latency", by="task", term="accuracy"), got)


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({"cost": -1.0}, {}, SchemaError, "cost is negative: -1"),
        ({}, {"cost": "costs"}, SchemaError, r"no column 'costs' for the cost.*Did you mean 'cost'.*prices="),
        ({}, {"label": ["model"]}, SchemaError, r"No column of label= \(model\)"),
        ({"term": "accuracy"}, {"term": "acuracy"}, DesignError, "Did you mean 'accuracy'"),
        ({}, {"prices": {"j00": (1, 1)}}, SchemaError, "'input_tokens' for the tokens"),
    ],
)
def test_what_the_frontier_refuses(change, options, error, message):
    with pytest.raises(error, match=message):
        pareto_front(points([(1, 0.5)]).assign(**change), **options)


POINTS = pd.DataFrame({"judge": ["a", None, "c"], "cost": [1.0, 2.0, 3.0], "estimate": [0.6, 0.9, 0.8]})


def test_a_configuration_without_a_name():
    got = pareto_front(POINTS).set_index("cost")
    assert got["on_front"].to_dict() == {1.0: True, 2.0: True, 3.0: False}
    assert got.loc[3.0, "dominated_by"] == NAMELESS


def test_one_label_is_one_name():
    pd.testing.assert_frame_equal(pareto_front(POINTS, label="judge"), pareto_front(POINTS, label=["judge"]))


@pytest.mark.parametrize("column", ["cost", "estimate"])
def test_text_and_infinity_on_the_frontier(column):
    with pytest.raises(SchemaError, match=f"{column!r} contains text where the (cost|value) belongs: 'much' in 1"):
        pareto_front(POINTS.assign(**{column: [1.0, 0.5, "much"]}))
    got = pareto_front(POINTS.assign(**{column: [1.0, 0.5, math.inf]})).set_index("judge").loc["c"]
    assert (got["on_front"], got["dominated_by"], got["flag"]) == (False, "", INFINITE)


@pytest.mark.parametrize("price", [None, 0.5, (1.0,), (1.0, None), (1.0, "2"), (1.0, -2.0), (1.0, math.nan)])
def test_a_price_is_two_numbers(price):
    table = POINTS.assign(input_tokens=1e6, output_tokens=1e6)
    refused(
        DesignError,
        ({"a": price}, "Allowed: two numbers from 0"),
        (0.5, "is not a mapping"),
        of=lambda wrong: pareto_front(table, prices=wrong),
    )
    got = pareto_front(table, prices={"a": (1, np.float32(2))}).set_index("judge")
    assert got.loc["a", "cost"] == 3
    assert got.loc["c", "flag"] == NO_COST


def priced_calls(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"judge": "g", "item": np.repeat([f"i{k}" for k in range(n)], 2)})
    return table.assign(
        input_tokens=rng.integers(500, 3000, 2 * n), output_tokens=rng.integers(50, 400, 2 * n), strategy="S1"
    )


def test_an_evaluation_costs_all_its_calls():
    """Against scipy's t interval of the sums of items."""
    calls = priced_calls()
    row = evaluation_cost(calls, prices={"g": (3.0, 15.0)}, by="strategy").iloc[0]
    each = (calls["input_tokens"] * 3 + calls["output_tokens"] * 15).groupby(calls["item"]).sum() / 1e6
    low, high = student.interval(0.95, 39, each.mean(), sem(each))
    assert row["estimate"] == pytest.approx(each.mean())
    assert (row["conf_low"], row["conf_high"], row["n"]) == pytest.approx((low, high, 40))
    assert row["flag"] == ESTIMATED_COST
    billed = calls.assign(cost=(calls["input_tokens"] * 3 + calls["output_tokens"] * 15) / 1e6)
    again = evaluation_cost(billed).iloc[0]
    assert (again["estimate"], again["flag"]) == (pytest.approx(each.mean()), "")


def test_characters_are_a_quarter_of_a_token():
    calls = pd.DataFrame(
        {"judge": "g", "item": ["1", "2"], "prompt_text": ["x" * 400, "x" * 800], "reply": [40, 80], "judge_note": ""}
    )
    row = evaluation_cost(
        calls, prices={"g": (1e6, 1e6)}, characters={"input": ["prompt_text", "judge_note"], "output": "reply"}
    ).iloc[0]
    assert row["estimate"] == pytest.approx((110 + 220) / 2)
    assert "a token for 4 characters" in row["method"]


def test_costs_that_are_unknown_or_do_not_vary():
    calls = priced_calls(3).assign(cost=[0.1, 0.2, 0.1, np.nan, 0.2, 0.1])
    row = evaluation_cost(calls).iloc[0]
    assert (row["estimate"], row["n"]) == (pytest.approx(0.3), 2)
    assert "1 item without a cost excluded" in row["flag"]
    assert math.isnan(row["conf_low"])  # both cost the same
    assert NO_SPREAD in row["flag"]
    free = evaluation_cost(calls.drop(columns="cost"), prices={"g": (0, 0)}).iloc[0]
    assert (free["estimate"], free["n"]) == (0, 3)
    nothing = evaluation_cost(calls.assign(cost=np.nan)).iloc[0]
    assert math.isnan(nothing["estimate"])
    assert NO_DATA in nothing["flag"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, SchemaError, "no column 'cost'"),
        ({"prices": {"g": (1,)}}, DesignError, "two numbers"),
        ({"prices": {"g": (1, 1)}, "characters": {"input": "item"}}, DesignError, "must name the columns"),
        ({"prices": {"g": (1, 1)}, "characters": {"input": "text", "output": "item"}}, SchemaError, "no column 'text'"),
        ({"by": "cell"}, SchemaError, "'cell' is not a column"),
    ],
)
def test_bad_costs(options, error, message):
    refused(
        error,
        (lambda: evaluation_cost(priced_calls(), **options), message),
        (lambda: evaluation_cost(priced_calls().assign(cost=-1.0)), SchemaError, "negative"),
    )
