"""The comparison of all results before and after a change notices what moves, and only that."""

import gzip
import json

import pandas as pd
import pytest
import same_results
from same_results import moved, stored

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


def test_names_columns_rows_and_types_that_change_are_listed():
    assert moved(stored({"a": TABLE}), stored({"b": TABLE})) == ["a: gone", "b: new"]
    assert compared(TABLE, TABLE.rename(columns={"n": "count"})) == [
        "consistency: columns lost: ['n'], added: ['count']"
    ]
    assert compared(TABLE, TABLE[:1]) == ["consistency: 2 rows before, 1 now"]
    assert len(compared(TABLE, TABLE.assign(n=["3", "4"]))) == 1


def test_the_stored_results_are_small_and_of_every_kind():
    data = same_results.STORED.read_bytes()
    assert len(data) < 2e6
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
