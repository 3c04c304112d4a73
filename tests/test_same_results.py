"""The comparison of all results before and after a change notices what moves, and only that."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
import recorded_calls
import same_results
from same_results import moved, stored

from judgestats.flags import FLAGS

TABLE = pd.DataFrame({"judge": ["a", "b"], "estimate": [0.5, float("nan")], "n": [3, 4]})


def compared(before, after, name="consistency"):
    return moved(stored({name: before}), stored({name: after}))


def test_equal_results_have_not_moved():
    assert compared(TABLE, TABLE.copy()) == []


def test_a_closed_form_may_move_by_less_than_1e_12_and_a_fit_by_more():
    assert compared(TABLE, TABLE.assign(estimate=TABLE["estimate"] * (1 + 1e-13))) == []
    (line,) = compared(TABLE, TABLE.assign(estimate=TABLE["estimate"] * (1 + 1e-10)))
    assert line.startswith("consistency: estimate differs in 1 of 2 rows; row 0: 0.5 before, 0.50000000005")
    assert compared(TABLE, TABLE.assign(estimate=TABLE["estimate"] * (1 + 1e-10)), "fit y ~ x | gaussian.tidy") == []


def test_what_is_recorded_of_a_model_may_move_as_a_fit_does():
    names = [
        "recorded 3: tidy",
        "recorded 4: icc",
        "recorded 5: kappa",
        "kappa | by",
        "fit y ~ x",
        "fit y ~ x | ordered",
    ]
    assert [same_results.tolerance(name) for name in names] == [1e-7, 1e-7, 1e-12, 1e-12, 1e-7, 1e-5]


def test_names_columns_rows_and_types_that_change_are_listed():
    assert moved(stored({"a": TABLE}), stored({"b": TABLE})) == ["a: gone", "b: new"]
    assert compared(TABLE, TABLE.rename(columns={"n": "count"})) == [
        "consistency: columns lost: ['n'], added: ['count']"
    ]
    assert compared(TABLE, TABLE[:1]) == ["consistency: 2 rows before, 1 now"]
    assert len(compared(TABLE, TABLE.assign(n=["3", "4"]))) == 1


def test_the_stored_results_are_small():
    assert same_results.STORED.stat().st_size < 2e6


@pytest.mark.slow
def test_the_stored_results_equal_themselves():
    data = same_results.STORED.read_bytes()
    assert moved(data, data) == []


@pytest.mark.parametrize(
    "kind",
    [
        "tally",
        "lazy",
        "by",
        "cluster",
        "bootstrap",
        "pseudo-ties",
        "cumulative.",
        "(1|item)",
        "ordered",
        "lpm",
        "page",
        "judgestats check",
    ],
)
def test_the_stored_results_are_of_every_kind(kind):
    tables = json.loads(gzip.decompress(same_results.STORED.read_bytes()))
    assert any(kind in name and "error" not in table["columns"] for name, table in tables.items())


@pytest.mark.parametrize("argument", same_results.ARGUMENTS)
def test_most_that_is_stored_for_an_argument_is_no_refusal(argument):
    tables = json.loads(gzip.decompress(same_results.STORED.read_bytes()))
    refused = ["error" in table["columns"] for name, table in tables.items() if name.endswith(f"| {argument}")]
    assert sum(refused) < len(refused) / 4


def test_the_fits_that_no_table_of_columns_lists_are_those_that_are_stored():
    tables = json.loads(gzip.decompress(same_results.STORED.read_bytes()))
    for name, table in same_results.of_other_fits():
        (again,) = json.loads(gzip.decompress(stored({name: table}))).values()
        assert list(same_results.changed(tables[name], again, same_results.tolerance(name))) == [], name


#: Flags that no stored result has, by the reason.
UNMET = {
    "of 100,000 clusters": ["not_drawn"],
    "in the column of methods": ["naive"],
    "of a call that takes a function": ["no_same_decision", "studies_without_interval", "refits_failed"],
    "of a Bayesian model that is sampled for more than some seconds": [
        *("draws_agree", "incomplete_design", "selected", "unknown_joint", "hub", "divergent", "heavy", "outside"),
        *("one_call", "net_only", "no_step", "between"),
    ],
    "of no call of a test": [
        *("no_clustered_test", "mean_squares", "not_settled", "same_gain", "not_fitted", "no_errors"),
        *("not_nested",),
        *("refits_undefined", "larger_worse", "unlike"),
    ],
}


def test_every_flag_is_met_by_a_stored_result_but_for_those_that_are_listed():
    tables = json.loads(gzip.decompress(same_results.STORED.read_bytes()))
    met = recorded_calls.shown_by(tables)
    assert set(FLAGS) - met == {code for codes in UNMET.values() for code in codes}


@pytest.mark.parametrize(
    "value",
    [
        pd.DataFrame(
            {"a": [1, 2], "b": pd.Series([True, None], dtype=object), "c": pd.Series([1, pd.NA], dtype="Int64")}
        ),
        pd.DataFrame({"c": pd.Categorical(["low", None, "high"], ["low", "high"], ordered=True), "t": [("a", 1)] * 3}),
        pd.Series([0.5, 1.5], name="x"),
        pd.DataFrame({"a": [1.0]}, index=["row"]),
        {"a": (1, None, 2.5), "b": {"x", "y"}, 3: np.array([[1.0, 2.0]])},
    ],
    ids=["types", "categories", "series", "labels", "containers"],
)
def test_an_argument_that_is_kept_is_the_one_that_was_given(value):
    again = recorded_calls.decoded(json.loads(json.dumps(recorded_calls.encoded(value, {}))), {})
    if isinstance(value, dict):
        np.testing.assert_equal(again, value)
    else:
        getattr(pd.testing, f"assert_{type(value).__name__.lower().replace('data', '')}_equal")(again, value)


def test_the_shape_of_a_method_has_no_numbers_and_no_names_of_columns():
    assert recorded_calls.shape("Tango, paired, clustered by item (G = 8, worth 7)") == (
        "Tango, paired, clustered by @ (G = #, worth #)"
    )
    assert recorded_calls.shape("t, clustered by item x annotator (G = 40 x 2)") == "t, clustered by @ (G = # x #)"
    assert recorded_calls.shape("gaussian identity, ML, t on 88") == "gaussian identity, ML, t on #"


def test_few_calls_are_kept_those_that_show_what_is_not_met():
    ages = [["describe", [{"call": ["nothing", [], {}]}], {}]]
    notes = [recorded_calls.Note(call, {"small_n"}, 0.1) for call in ages]
    assert recorded_calls.chosen(notes, {"small_n"}) == []
    assert recorded_calls.chosen(notes, set()) == [], "a call that cannot be made again is not kept"
