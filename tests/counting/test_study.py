"""A study of a frame: what it keeps is of its own, and a measure takes it in place of the frame."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
import registry
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, SchemaError
from metrics.tables import signed_calls

MEASURES = registry.registry()


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_study_gives_what_its_frame_gives(name):
    """Asked twice: what the first time leaves in the study changes no number of the second."""
    data, call = MEASURES[name].data(), MEASURES[name].call
    study = Study.of(data)
    want = call(data)
    for _ in range(2):
        pd.testing.assert_frame_equal(call(study), want)


def test_two_threads_on_one_study_give_the_same():
    data = registry.calls()
    measures = (js.consistency, js.preference_rate, js.position_bias, js.kappa, js.answer_rates)
    want = [measure(data) for measure in measures]
    for _ in range(5):
        study, both = Study.of(data), Barrier(2)

        def asked(order, study=study, both=both):
            both.wait()
            results = {i: measures[i](study) for i in order}
            return [results[i] for i in range(len(measures))]

        with ThreadPoolExecutor(2) as pool:
            for got in pool.map(asked, (range(5), reversed(range(5)))):
                for one, other in zip(got, want, strict=True):
                    pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("measure", [js.position_bias, js.consistency, js.preference_rate, js.bias_score, js.kappa])
def test_a_frame_that_is_edited_in_place_gives_new_numbers(measure):
    """Nothing is kept by the identity of a frame."""
    calls = signed_calls()
    before = measure(calls)
    calls["choice"] = calls["choice"].replace({"first": "second", "second": "first"}).where(calls["item"] != "3", "tie")
    calls.loc[calls["item"] == "5", "choice"] = "invalid"
    after = measure(calls)
    assert not after["estimate"].equals(before["estimate"])
    pd.testing.assert_frame_equal(after, measure(calls.copy()))


def test_a_pattern_is_counted_once():
    study = Study.of(signed_calls())
    assert Study.of(study) is study
    one, two = (count(study, "consistency") for _ in range(2))
    assert one.columns is two.columns
    assert one.n is two.n
    assert count(study, "consistency", by="topic").columns is not one.columns
    assert count(study, "consistency", cluster=False).clusters != one.clusters
    made = []
    assert [study.once("key", lambda: made.append(1) or len(made)) for _ in range(3)] == [1, 1, 1]


def test_rows_and_columns_of_a_study():
    calls = signed_calls()
    study = Study.of(calls)
    some = study.where((calls["judge"] == "g").to_numpy())
    pd.testing.assert_frame_equal(some.data.to_native(), calls[calls["judge"] == "g"].reset_index(drop=True))
    assert "topic" not in study.without("topic").names
    assert study.where(np.ones(len(calls), dtype=bool)) is study
    assert study.n_calls == len(calls)
    assert Study.of(calls.assign(n_identical=3)).n_calls == 3 * len(calls)


@pytest.mark.parametrize("make", [lambda t: t, pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_a_study_is_lazy_where_its_frame_is(make):
    calls = signed_calls()
    study = Study.of(make(calls))
    assert study.lazy == isinstance(make(calls), pl.LazyFrame)
    assert study.names == list(calls)
    assert study.without("topic").names == [c for c in calls if c != "topic"]
    assert study.without("topic").lazy == study.lazy


def test_a_pair_is_named_by_its_item_and_candidates_whatever_their_order():
    calls = signed_calls()
    study = Study.of(calls).with_pair()
    pair = study.columns.series("pair")
    low, high = calls[["first", "second"]].min(axis=1), calls[["first", "second"]].max(axis=1)
    assert pair.tolist() == (calls["item"] + "|" + low + "|" + high).tolist()
    assert study.with_pair() is study
    number = Study.of(calls).candidates["pair"]
    assert pd.Series(number.code).groupby(pair.to_numpy()).nunique().eq(1).all()
    assert len(number.labels) == pair.nunique()


def test_a_call_without_a_candidate_is_refused_where_the_pair_is_asked_for():
    calls = signed_calls()
    calls.loc[[0, 7], "second"] = None
    study = Study.of(calls)
    assert study.nameless == 2
    with pytest.raises(SchemaError, match=r"'first' or 'second' is missing in 2 of 96 rows\. Name both"):
        _ = study.pairs


def test_an_order_that_is_not_recorded_is_refused():
    calls = signed_calls()
    Study.of(calls).refuse_unknown_order()
    Study.of(calls.assign(order_known=True)).refuse_unknown_order()
    study = Study.of(calls.assign(order_known=calls.index > 0))
    for _ in range(2):
        with pytest.raises(DesignError, match="order_known is False"):
            study.refuse_unknown_order()
