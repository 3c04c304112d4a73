"""Counts in models: declared in fit(), a complete table of counts elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.models.coding.responses import counted_by
from judgestats.models.hierarchical import cues, curves, leanings, rankings

BOTH = r'counts="n".*counts=False'
CALLS = pd.DataFrame({"y": np.arange(400) // 3 % 2, "x": np.arange(400) % 7, "n": np.arange(400) % 10})
ENGINES = {"pandas": lambda t: t, "polars": pl.from_pandas, "lazy": lambda t: pl.from_pandas(t).lazy()}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_undeclared_whole_number_column_is_refused(engine):
    frame = ENGINES[engine](CALLS)
    with pytest.raises(SchemaError, match=BOTH):
        js.fit("y ~ x", frame)
    assert js.fit("y ~ x", frame, counts=False).n == 400
    assert js.fit("y ~ x", frame, counts="n").n == CALLS["n"].sum()
    assert js.fit("y ~ x + n", frame).n == 400
    assert js.fit("y ~ x", frame.rename(columns={"n": "n_identical"}) if engine == "pandas" else
                  frame.rename({"n": "n_identical"})).glance()["counts"].tolist() == ["n_identical"]  # fmt: skip


def test_a_constant_five_does_not_divide_errors():
    plain = js.fit("y ~ x", CALLS.drop(columns="n")).tidy()["std_error"]
    with pytest.raises(SchemaError, match=BOTH):
        js.fit("y ~ x", CALLS.assign(n=5))
    told = js.fit("y ~ x", CALLS.assign(n=5), counts="n").tidy()["std_error"]
    np.testing.assert_allclose(told, plain / np.sqrt(5), rtol=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_count_nothing_are_in_the_account(engine):
    found = js.fit("y ~ x", ENGINES[engine](CALLS), counts="n").check().set_index("what")["n"]
    assert found["count is zero"] == 40
    assert found["rows set aside"] == 40


def test_a_fraction_is_no_count_unless_it_is_said():
    half = CALLS.assign(n=CALLS["n"] + 0.25)
    assert js.fit("y ~ x", half).n == 400
    with pytest.raises(SchemaError, match="not whole"):
        js.fit("y ~ x", half, counts="n")


def test_means_have_runs():
    means = pd.DataFrame({"mean": [3.0, 4.0, 5.0, 4.5], "sd": 1.0, "n": [10, 12, 9, 8], "s": list("aabb")})
    with pytest.raises(SchemaError, match="may be runs: weights="):
        js.fit("mean ~ s", means, family="gaussian")
    with pytest.raises(DesignError, match="Did you mean runs"):
        js.fit("mean ~ s", means, family="gaussian", counts="n")
    js.fit("mean ~ s", means.rename(columns={"n": "runs"}), family="gaussian", weights="runs")


def test_a_wrong_counts_argument_is_named():
    with pytest.raises(DesignError, match=r"counts='m' is not a column\. Columns: y, x, n\."):
        js.fit("y ~ x", CALLS, counts="m")
    with pytest.raises(DesignError, match="in the model too"):
        js.fit("y ~ x", CALLS, counts="x")
    with pytest.raises(DesignError, match="neither a column nor False"):
        js.fit("y ~ x", CALLS, counts=True)


def test_update_keeps_the_counts():
    fit = js.fit("y ~ x", CALLS, counts="n")
    assert fit.update("y ~ 1").n == fit.n


# ---- tables of counts -----------------------------------------------------------------------------------------------

RIGHT = pd.DataFrame(
    {"judge": "g", "strategy": ["B0", "B0", "S8", "S8"], "correct": [1, 0, 1, 0], "n": [60, 40, 80, 20]}
)
LEAN = pd.DataFrame({"judge": "g", "outcome": ["target", "other", "tie"], "n": [20, 10, 5]})
STEPS = pd.DataFrame({"judge": "g", "delta": [1, 1, 2, 2], "outcome": ["correct", "wrong"] * 2, "n": [30, 12, 40, 2]})
CUES = pd.DataFrame(
    {"judge": "g", "probe": ["blind"] * 2 + ["truth"] * 2, "outcome": ["x", "y"] * 2, "n": [9, 8, 7, 6]}
)
SCORES = pd.DataFrame({"judge": ["g", "h"], "score": [0.35, 0.4], "n": [20, 20]})

TABLES = {
    "strategy_effects": (lambda t: js.models.strategy_effects(t, baseline="B0"), RIGHT),
    "strategies": (lambda t: rankings.read(t, "B0", "judge", "strategy", "item", "exact", "drop"), RIGHT),
    "tie_model": (
        lambda t: js.models.tie_model(t, by=None),
        pd.concat([STEPS, STEPS.assign(outcome="tie", n=5).iloc[[0, 2]]]),
    ),
    "psychometric": (lambda t: curves.ladder(t, None, None, None), STEPS),
    "bias": (leanings.read, LEAN),
    "bias from scores": (leanings.read, SCORES),
    "susceptibility": (lambda t: cues.outcomes(t, "blind"), CUES),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_a_models_own_columns_is_taken_and_another_column_refused(name):
    call, table = TABLES[name]
    call(table)
    with pytest.raises(SchemaError, match="'tokens'"):
        call(table.assign(tokens=range(len(table))))


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
        "bias": leanings.read,
        "psychometric": lambda t: curves.ladder(t, None, None, None),
        "strategies": lambda t: rankings.read(t, "B0", "judge", "strategy", "replicate", "exact", "drop"),
        "susceptibility": lambda t: cues.outcomes(t, "blind"),
    }
    for call in models.values():
        with pytest.raises(SchemaError, match=BOTH):
            call(calls.assign(n=7))
    declared = js.preferences(calls.assign(n=2), counts="n")
    np.testing.assert_array_equal(leanings.read(declared).n, 2 * leanings.read(calls).n)
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
