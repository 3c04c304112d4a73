"""What the rows of a model's table are counted by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.models.coding.row_counts import counted_by, first_row
from judgestats.models.hierarchical import cue_counts, ladders, strategy_counts, target_counts

BOTH = r'counts="n".*counts=False'


# ---- tables of counts -----------------------------------------------------------------------------------------------

RIGHT = pd.DataFrame(
    {"judge": "g", "strategy": ["B0", "B0", "S8", "S8"], "correct": [1, 0, 1, 0], "n": [60, 40, 80, 20]}
)


def test_calls_with_a_stray_column_are_refused():
    calls = pd.DataFrame({"judge": "g", "item": [*"11223344"] * 5, "first": [*"xyxyxyxy"] * 5,
                          "second": [*"yxyxyxyx"] * 5, "replicate": np.repeat(range(5), 8),
                          "choice": ["first", "second", "first", "first", "tie", "tie", "first", "second"] * 5,
                          "gold": "x", "target": "y", "better": "x", "delta": 1.0, "strategy": ["B0", "S8"] * 20,
                          "probe": ["blind", "truth"] * 20})  # fmt: skip
    models = {
        "position_bias_model": js.models.position_bias_model,
        "strategy_effects": lambda t: js.models.strategy_effects(t, baseline="B0"),
        "item_difficulty": js.models.item_difficulty,
        "tie_model": lambda t: js.models.tie_model(t, by=None),
        "bias": target_counts.read,
        "psychometric": lambda t: ladders.ladder(t, None, None, None),
        "strategies": lambda t: strategy_counts.read(t, "B0", "judge", "strategy", "replicate", "exact", "drop"),
        "susceptibility": lambda t: cue_counts.outcomes(t, "blind"),
    }
    for call in models.values():
        with pytest.raises(SchemaError, match=BOTH):
            call(calls.assign(n=7))
    declared = js.preferences(calls.assign(n=2), counts="n")
    np.testing.assert_array_equal(target_counts.read(declared).n, 2 * target_counts.read(calls).n)
    assert (
        js.models.position_bias_model(declared).table["n"].iloc[0]
        == 2 * js.models.position_bias_model(calls).table["n"].iloc[0]
    )


def test_what_a_table_is_counted_by():
    assert counted_by(RIGHT, ["judge", "strategy", "correct"], "x") == "n"
    assert counted_by(RIGHT.assign(item="1", pair="p"), ["judge", "strategy", "correct"], "x") == "n"
    assert counted_by(RIGHT.rename(columns={"n": "n_identical"}).assign(more=1), ["judge"], "x") == "n_identical"
    assert counted_by(RIGHT.assign(n=0.5, more=1), ["judge", "strategy", "correct"], "x") is None
    with pytest.raises(SchemaError, match="not whole"):
        counted_by(RIGHT.assign(n=0.5), ["judge", "strategy", "correct"], "x")


def test_the_first_row_at_fault_is_named_by_its_values():
    table = pd.DataFrame({"judge": ["a", "b"], "k": [3, 12.0]})
    assert first_row(table, np.array([False, True])) == "judge=b, k=12"


def test_half_points_are_categories_as_whole_ones_are():
    own = pd.DataFrame({"half": [1, 1.5, 2, 2, 1] * 12, "x": np.arange(60) % 7})
    whole = own.assign(half=own["half"].map({1: 1, 1.5: 2, 2: 3}))
    for options in ({}, {"categories": (1, 1.5, 2)}):
        fit = js.fit("half ~ x", own, family="cumulative", **options)
        assert fit.design.categories == ("1", "1.5", "2")
        assert fit.loglik == pytest.approx(js.fit("half ~ x", whole, family="cumulative").loglik)
