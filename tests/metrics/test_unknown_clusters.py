"""Clusters that tell nothing: every measure gives a row without an interval, and the reason; never a number."""

import inspect
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
import registry
from judgestats.errors import JudgestatsError
from judgestats.metrics.measure_registry import measures
from judgestats.results import flag_codes

CASES = {
    name: case
    for name, case in registry.registry().items()
    if "cluster" in inspect.signature(measures()[name.partition(",")[0]].function).parameters
}
#: Measures whose clusters are of systems; those of the others are of items.
OF_SYSTEMS = ("ordering_accuracy", "quality_agreement", "rank_correlation")
INTERVAL = ["std_error", "conf_low", "conf_high", "p_value", "p_adjusted"]
#: Shares of all calls, valid or not, and of what is said beside the verdicts: all clusters are in them.
OF_ALL_CALLS = {
    "wrong",
    "tie",
    "invalid",
    "first",
    "second",
    "win",
    "loss",
    "answered",
    "parse",
    "valid",
    "label_mentioned",
}


def answer(table):
    return next(c for c in ("choice", "score", "correct", "answer") if c in table)


def silenced(table, rows):
    """The table without the answers of some rows."""
    own = answer(table)
    return table.assign(**{own: table[own].mask(rows, "invalid") if own == "choice" else table[own].mask(rows)})


def unit(name):
    return "system" if name in OF_SYSTEMS else "item"


@cache
def data_of(name):
    """The data of a measure; of those that correlate systems twenty-four of these, which not all judges order alike."""
    data = CASES[name].data()
    if name not in OF_SYSTEMS:
        return data
    rng = np.random.default_rng(3)
    parts = []
    for k in range(6):
        quality = rng.normal(0, 2, 4)[pd.factorize(data["system"])[0]]
        score = (data["score"] + quality + rng.normal(0, 2, len(data))).round().clip(1, 10)
        parts.append(data.assign(system=data["system"] + str(k), score=score))
    return pd.concat(parts, ignore_index=True)


def in_three(table, of="item"):
    """Three clusters of several items, or of systems."""
    code = pd.factorize(table[of], sort=True)[0]
    return table.assign(source=np.array(["r", "s", "t"])[code % 3])


def without_some(table, of="item"):
    return in_three(table, of).replace({"source": {"s": None}})


def without_any(table, of="item"):
    return table.assign(source=None)


def one(table, of="item"):
    return table.assign(source="only")


def all_answers_in_one(table, of="item"):
    sources = in_three(table, of)
    return silenced(sources, sources["source"] != "r")


def all_weight_in_one(table, of="item"):
    sources = in_three(table, of)
    return sources.assign(n_identical=(sources["source"] == "r").astype(int))


def no_weight(table, of="item"):
    return in_three(table, of).assign(n_identical=0)


def a_silent_judge(table, of="item"):
    sources = in_three(table, of)
    return silenced(sources, sources["judge"] == sources["judge"].max())


def alike(table, of="item"):
    """Twelve clusters with the same answers."""
    parts = [table.assign(**{of: table[of].astype(str) + f"/{k}", "source": f"s{k:02d}"}) for k in range(12)]
    return pd.concat(parts, ignore_index=True)


def estimates(name, table):
    """Rows of a measure by source; none where it refuses the data in words."""
    try:
        rows = CASES[name].call(table, cluster="source")
    except JudgestatsError:
        return pd.DataFrame({"term": [], "flag": [], **{c: np.empty(0) for c in INTERVAL}})
    return rows.assign(**{c: np.nan for c in ("conf_low", "conf_high") if c not in rows})


@cache
def bounded(name):
    """Terms that have an interval on the data as they are."""
    rows = CASES[name].call(data_of(name))
    return frozenset(rows["term"][rows["conf_low"].notna()] if "conf_low" in rows else ())


def assert_reasons(name, rows):
    silent = rows["conf_low"].isna() & rows["term"].isin(bounded(name)) & (rows["flag"] == "")
    assert not silent.any(), rows[silent].to_string()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [without_some, without_any])
def test_calls_without_a_cluster_leave_no_interval(name, kind):
    data = data_of(name)
    rows = estimates(name, kind(data, unit(name)))
    assert len(rows)
    assert rows[[c for c in INTERVAL if c in rows]].isna().all(axis=None), rows.to_string()
    assert all("cluster_missing" in flag_codes(flag) for flag in rows["flag"])
    # the estimate does not depend on what goes together
    whole = CASES[name].call(data, cluster=False) if name != "detection_threshold" else rows
    assert set(rows["term"]) == set(whole["term"])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [one, all_answers_in_one, all_weight_in_one])
def test_one_cluster_with_everything_leaves_no_interval(name, kind):
    rows = estimates(name, kind(data_of(name), unit(name)))
    others = ("self_excess", *(OF_ALL_CALLS if kind is all_answers_in_one else ()))  # the first is over systems
    numbers = rows[rows["conf_low"].notna() & ~rows["term"].isin(others)]
    assert numbers.empty, numbers.to_string()
    assert_reasons(name, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_weights_of_zero_are_no_calls(name):
    data = data_of(name)
    rows = estimates(name, no_weight(data, unit(name)))
    assert rows["conf_low"].isna().all()
    assert_reasons(name, rows)
    few = in_three(data, unit(name)).assign(n_identical=lambda t: (t["source"] != "t").astype(int))
    some, rest = estimates(name, few), estimates(name, few[few["n_identical"] > 0])
    pd.testing.assert_frame_equal(some, rest)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_judge_without_answers_is_a_row_without_a_number(name):
    rows = estimates(name, a_silent_judge(data_of(name), unit(name)))
    assert_reasons(name, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_clusters_that_are_alike_have_no_interval_of_rounding(name):
    """Wilson's and Tango's intervals are of the calls then; all others have none, or are of something that varies."""
    rows = estimates(name, alike(data_of(name), unit(name)))
    assert_reasons(name, rows)
    width = rows["conf_high"] - rows["conf_low"]
    assert not (width < 1e-4 * rows["estimate"].abs().clip(lower=1)).any(), rows[width < 1e-4].to_string()


@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_the_rule_holds_in_every_engine_and_for_what_is_counted_only(engine):
    calls = without_some(CASES["gold_agreement"].data())
    rows = js.gold_agreement(engine(calls), cluster="source")
    pd.testing.assert_frame_equal(rows, js.gold_agreement(calls, cluster="source"))
    assert rows["conf_low"].isna().all()
    lost = int(calls["source"].isna().sum())
    assert rows["flag"].str.startswith(f"{lost} rows without source").all()
    # calls on other stimuli do not matter
    vacuum = in_three(CASES["dark_current"].data())
    elsewhere = vacuum.assign(source=vacuum["source"].where(vacuum["stimulus"] == "vacuum"))
    got = js.dark_current(engine(elsewhere), cluster="source")
    assert got["conf_low"].notna().any()
    pd.testing.assert_frame_equal(got, js.dark_current(vacuum, cluster="source"))


def test_people_pass_nobody_by_tests_that_were_not_made():
    rows = js.alternative_annotator_test(
        without_some(registry.people()), humans=["ann", "bob"], epsilon=0.2, cluster="source"
    )
    assert rows["passed"].isna().all()
    assert rows.loc[rows["term"] == "winning_rate", "estimate"].isna().all()
