"""The cost frontier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.bias import pareto_front
from judgestats.metrics.bias.strategies import costs
from judgestats.results import ESTIMATED_COST, NO_COST, NO_VALUE


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
        ({}, {"label": ["model"]}, SchemaError, r"None of label= \(model\)"),
        ({"term": "accuracy"}, {"term": "acuracy"}, DesignError, "Did you mean 'accuracy'"),
        ({}, {"prices": {"j00": (1, 1)}}, SchemaError, "'input_tokens' for the tokens"),
    ],
)
def test_refusals(change, options, error, message):
    with pytest.raises(error, match=message):
        pareto_front(points([(1, 0.5)]).assign(**change), **options)
