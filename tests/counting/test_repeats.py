"""Repeats put together in memory and in the engine of a lazy frame give the same answers."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats import tally
from judgestats.counting.repeats import one_answer
from judgestats.errors import SchemaError

COLUMNS = ["judge", "item", "prompt", "first", "second", "replicate", "choice"]


def calls(rng: np.random.Generator) -> pd.DataFrame:
    """Three judges, 40 items, two orders, one to four repeats, some without a valid verdict."""
    answers = ["first", "second", "tie", "abstain", "invalid"]
    rows = [
        (judge, f"i{item}", f"p{item % 4}", *order, repeat, rng.choice(answers, p=[0.4, 0.3, 0.1, 0.1, 0.1]))
        for judge in "abc"
        for item in range(40)
        for order in (("x", "y"), ("y", "x"))
        for repeat in range(rng.integers(1, 5))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize("by", [(), ("prompt",)])
def test_an_engine_takes_the_same_modes(by):
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    here = calls(np.random.default_rng(5))
    one, how, unsettled = one_answer(here, "mode", by)
    want = one.columns.frame([c for c in COLUMNS if c != "replicate"])
    assert unsettled
    for there in (duckdb.from_df(here), polars.from_pandas(here).lazy()):
        got, how_there, unsettled_there = one_answer(there, "mode", by)
        assert (how_there, unsettled_there) == (how, unsettled)
        made = got.data.collect(backend="pandas").to_native()[[*want]]
        assert sorted(map(tuple, made.to_numpy())) == sorted(map(tuple, want.to_numpy()))
        pd.testing.assert_frame_equal(tally(there, "kappa", by), tally(here, "kappa", by), check_dtype=False)
        pd.testing.assert_frame_equal(js.kappa(there, by=by), js.kappa(here, by=by), check_dtype=False)


def test_a_verdict_that_is_none_is_refused_where_it_is_read():
    duckdb = pytest.importorskip("duckdb")
    here = calls(np.random.default_rng(6))
    here.loc[3, "choice"] = "left"
    for table in (here, duckdb.from_df(here)):
        with pytest.raises(SchemaError, match="left"):
            tally(table, "kappa")
