"""A study of a frame: what it keeps is of its own, and a measure takes it in place of the frame."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import judgestats as js
import registry
from judgestats.cli import app
from judgestats.counting import study as studies
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, SchemaError
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import factors
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


@pytest.mark.parametrize(
    "rows", ["columns", "weight", "counts", "shown", "pairs", "of_two", "candidates", "faults", "nameless"]
)
def test_a_lazy_study_refuses_what_needs_its_rows(rows):
    """An empty table would count nothing without a word; what counts it lazily is named."""
    calls = signed_calls().assign(n_identical=2)
    study = Study.of(pl.from_pandas(calls).lazy())
    with pytest.raises(TypeError, match=r"not in memory. `counted\(names\)` counts them in their engine"):
        getattr(study, rows)


def test_a_lazy_study_counts_in_its_engine():
    calls = signed_calls().assign(n_identical=[0, 3] * 48)
    study, eager = Study.of(pl.from_pandas(calls).lazy()), Study.of(calls)
    columns, n = study.counted(["judge", "choice"])
    want, times = eager.counted(["judge", "choice"])
    pd.testing.assert_frame_equal(columns.frame(["judge", "choice"]), want.frame(["judge", "choice"]))
    assert n.tolist() == times.tolist()
    assert (study.n_rows, study.n_calls, study.n_distinct(["judge", "item"])) == (
        96,
        144,
        eager.n_distinct(["judge", "item"]),
    )
    assert study.occurring.lazy
    assert study.occurring.n_rows == eager.occurring.n_rows == 48
    some = study.in_memory(["judge", "choice", "judge"], distinct=True)
    assert some.names == ["judge", "choice"]
    assert len(some.columns) == len(calls[["judge", "choice"]].drop_duplicates())
    assert eager.in_memory(["judge"]) is eager
    assert study.with_pair().in_memory(["pair"], distinct=True).columns.n_distinct(["pair"]) == eager.pairs.size


@pytest.mark.parametrize("measure", [js.icc, js.score_distribution])
def test_rows_that_stand_for_no_call_count_nowhere(measure):
    """Of a lazy frame they were missing scores, or levels of a column."""
    calls = MEASURES["icc"].data().assign(n_identical=1)
    none = calls.head(3).assign(n_identical=0, item="of no call", score=9.0)
    counted = pd.concat([calls, none], ignore_index=True)
    pd.testing.assert_frame_equal(measure(duckdb.sql("select * from counted")), measure(counted))


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


@pytest.fixture
def work(monkeypatch):
    """How often each whole column is coded, and how often a study is opened and its faults are sought."""
    done = Counter()

    def noted(module, name, what):
        function = getattr(module, name)

        def call(value, *args):
            done[what(value)] += 1
            return function(value, *args)

        monkeypatch.setattr(module, name, call)

    noted(factors, "factor_of", lambda values: (values.name, len(values)))
    noted(studies, "in_memory", lambda _: "opened")
    noted(studies, "faults_of", lambda _: "checked")
    return done


def typed(*options):
    return lambda path, _: CliRunner().invoke(app, ["check", path, *options], catch_exceptions=False)


def each_in_turn(_, calls):
    study = Study.whole(calls)
    return study.check(), js.describe(study), js.available_measures(study), js.datasheet(study, n_resamples=20)


COMMANDS = {
    "check": typed(),
    "check beside people": typed("--humans", "g"),
    "check for programs": typed("--json"),
    "check, describe, available_measures, datasheet": each_in_turn,
    "available_measures": lambda _, calls: js.available_measures(calls),
    "datasheet": lambda _, calls: js.datasheet(calls, humans="g", n_resamples=20),
    "page": lambda _, calls: measure_all(calls, PageArguments(n_resamples=20)),
}
#: Frames that are not the one that was given: judges beside people again, once the people are known; and judges with
#: the names of their conditions, of which the summary of a page is (columns are coded twice there).
OTHERS = {"check beside people": (1, 2)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_opens_checks_and_codes_a_frame_once(command, tmp_path, work):
    calls = signed_calls().drop(columns="target")
    path = str(tmp_path / "calls.csv")
    calls.to_csv(path, index=False)
    COMMANDS[command](path, calls)
    columns = {key[0]: n for key, n in work.items() if isinstance(key, tuple) and key[1] == len(calls)}
    assert {"judge", "item", "first", "second", "choice"} <= set(columns)
    assert (work["opened"], max(columns.values())) == OTHERS.get(command, (1, 1)), columns
    assert work["checked"] == (command.startswith("check") or command == "page")


def scanned(table, seen):
    """The rows as a DuckDB relation that adds each row which a query reads to `seen`."""

    def noted(values):
        seen.append(len(values))
        return values

    connection = duckdb.connect()
    connection.create_function("noted", noted, ["VARCHAR"], "VARCHAR", type="arrow", side_effects=True)
    connection.register("held", table)
    return connection.sql("SELECT * FROM held WHERE noted(item) = item")


@pytest.mark.parametrize("make", [scanned, lambda table, seen: pl.from_pandas(table).lazy().filter(
    pl.col("item").map_batches(lambda v: seen.append(len(v)) or v, return_dtype=pl.String) == pl.col("item")
)], ids=["DuckDB", "Polars"])  # fmt: skip
def test_check_of_a_lazy_frame_scans_its_data_three_times_at_most(make):
    """A function with effects stands in its filter, so every row that any query reads passes it."""
    calls, seen = signed_calls(), []
    frame = make(calls, seen)
    found = js.check(frame), js.describe(frame), js.available_measures(frame)
    assert len(calls) <= sum(seen) <= 3 * len(calls)
    seen.clear()
    study = Study.whole(frame)
    again = study.check(), js.describe(study), js.available_measures(study)
    assert sum(seen) == len(calls)
    for one, other, want in zip(found, again, (js.check(calls), js.describe(calls), js.available_measures(calls)),
                                strict=True):  # fmt: skip
        pd.testing.assert_frame_equal(one, want)
        pd.testing.assert_frame_equal(other, want)


CALLS = pd.DataFrame(
    {
        "judge": [*"ggghhh"], "item": [*"112112"], "first": [*"xyxxyx"], "second": [*"yxyyxy"],
        "choice": ["first", "second", "tie", "first", "first", "second"],
    }
)  # fmt: skip
TAKEN = (js.position_bias, js.consistency, js.answer_rates, js.preference_rate, js.kappa, js.available_measures)


def test_a_frame_of_one_row_and_one_of_none():
    for rows, used in ((1, 1), (0, 0)):
        some = CALLS.head(rows)
        found = js.check(some).set_index("what")["n"]
        assert (found["rows in"], found["rows used"]) == (rows, used)
        assert ("the table has no rows" in found) == (not rows)
        assert js.describe(some).set_index("property")["value"]["rows"] == str(rows)
    assert js.available_measures(CALLS.head(1)).set_index("measure")["supported"]["position_bias"]
    assert not js.available_measures(CALLS.head(0))["supported"].any()
    assert not len(js.position_bias(CALLS.head(0)))
    with pytest.raises(SchemaError, match="has no rows"):
        js.report(CALLS.head(0), "no.html")


def test_labels_of_several_types_in_one_column_are_labels():
    """Numbers and text are told apart, and ordered as text."""
    mixed = CALLS.assign(judge=CALLS["judge"].map({"g": "g", "h": 7}), item=[1, 1, "b", 1, 1, 2.5])
    text = mixed.assign(judge=mixed["judge"].astype(str), item=mixed["item"].astype(str))
    for take in TAKEN:
        got, want = take(mixed), take(text)
        for column in {"judge", "other"} & {*got.columns}:
            got[column] = got[column].astype(str)
        pd.testing.assert_frame_equal(got, want, check_dtype=False)
    pd.testing.assert_frame_equal(js.describe(mixed), js.describe(text))
    assert list(js.preferences(mixed)["item"]) == list(text["item"])


def test_a_list_is_the_label_that_its_text_is():
    nested, text = (CALLS.assign(judge=CALLS["judge"].map({"g": "g", "h": h})) for h in (["h", 1], '["h", 1]'))
    for take in TAKEN:
        pd.testing.assert_frame_equal(take(nested), take(text), check_dtype=False)


@pytest.mark.parametrize("cell", [7, True, b"7", ["first"], pd.Timestamp("2020-01-01"), 10**400])
def test_an_answer_of_another_type_is_refused_as_another_word_is(cell):
    odd = CALLS.assign(choice=pd.Series([cell, *CALLS["choice"][1:]], dtype=object))
    for take in (js.position_bias, js.consistency, js.answer_rates, js.preference_rate, js.kappa):
        with pytest.raises(SchemaError, match=r"'choice' (has|is) .*Allowed"):
            take(odd)
    assert not js.available_measures(odd)["supported"].any()


@pytest.mark.parametrize("cell", ["x", b"x", [7], 1 + 2j, pd.Timestamp("2020-01-01"), 10**400])
def test_a_score_that_is_no_number_is_refused(cell):
    score = pd.Series([1, 2, 3, cell, 5, 6], dtype=object)
    scores = pd.DataFrame({"judge": ["g", "h"] * 3, "item": list("aabbcc"), "score": score})
    for take in (js.alpha, js.kappa, js.icc):
        with pytest.raises(SchemaError, match=r"'score' (holds text .* row 3|is infinite in 1 row)"):
            take(scores)
    assert not js.available_measures(scores)["supported"].any()


def test_complex_numbers_are_no_scores():
    scores = pd.DataFrame({"judge": ["g", "h"] * 2, "item": list("aabb"), "score": np.array([1, 2, 3, 4j])})
    with pytest.raises(SchemaError, match="'score' holds text"):
        js.alpha(scores)


@pytest.mark.slow
def test_twenty_thousand_columns_beside_the_verdict_change_nothing():
    more = pd.DataFrame(np.arange(20_000.0 * len(CALLS)).reshape(len(CALLS), -1)).add_prefix("measured_")
    wide = pd.concat([CALLS, more], axis=1)
    for take in (*TAKEN[:-1], js.check):
        pd.testing.assert_frame_equal(take(wide), take(CALLS))
