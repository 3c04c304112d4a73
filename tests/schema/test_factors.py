"""Columns as factors: codes, some of the rows, further columns, and counts against a groupby of pandas."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.schema.factors import Factor, Factors, factor_of

KINDS = {
    "text": lambda rng, n: pd.Series(rng.choice(["b", "a", "c", None], n), dtype=object),
    "string": lambda rng, n: pd.Series(rng.choice(["b", "a", None], n), dtype="str"),
    "number": lambda rng, n: pd.Series(rng.choice([2.5, -1.0, np.nan], n)),
    "whole": lambda rng, n: pd.Series(rng.choice([10, 9, 2], n)),
    "boolean": lambda rng, n: pd.Series(rng.choice([True, False, None], n), dtype="boolean"),
    "category": lambda rng, n: pd.Series(
        rng.choice(["y", "x", None], n), dtype=pd.CategoricalDtype(["y", "never", "x"])
    ),
}


def factors_of_all_kinds(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: make(rng, n) for name, make in KINDS.items()})


def same(one, other):
    """Equal labels row by row, a missing one of any kind being None."""
    return [None if pd.isna(x) else x for x in one] == [None if pd.isna(x) else x for x in other]


@pytest.mark.parametrize("kind", KINDS)
def test_a_factor_has_the_labels_that_occur_sorted_and_none_for_a_missing_one(kind):
    values = factors_of_all_kinds()[kind]
    code, labels = factor_of(values)
    assert same(np.asarray(labels, dtype=object)[code], values)
    named = [x for x in labels if x is not None]
    assert named == sorted({*values.dropna()})
    assert list(labels) == [*named, *([None] if values.isna().any() else [])]


def test_a_factor_of_no_rows():
    code, labels = factor_of(pd.Series([], dtype=object))
    assert (len(code), len(labels)) == (0, 0)
    assert len(Factors(pd.DataFrame({"x": []})).counted(["x"])[0]) == 0


def test_rows_among_labels():
    values = factors_of_all_kinds()["text"]
    factor = factor_of(values)
    np.testing.assert_array_equal(factor.among("a", "c"), values.isin(["a", "c"]))
    np.testing.assert_array_equal(factor.among(None), values.isna())
    assert not factor.among("another").any()


def test_other_labels_of_which_several_are_one():
    values = factors_of_all_kinds()["text"]
    got = factor_of(values).recoded({"a": "vowel", "b": "consonant", "c": "consonant"}, missing="none")
    want = values.map({"a": "vowel", "b": "consonant", "c": "consonant"}).fillna("none")
    assert list(got.labels) == ["consonant", "none", "vowel"]
    assert same(np.asarray(got.labels, dtype=object)[got.code], want)


@pytest.mark.parametrize("make", [lambda t: t, lambda t: nw.from_native(pl.from_pandas(t)), nw.from_native])
def test_a_table_of_any_library(make):
    data = factors_of_all_kinds()
    columns = Factors(make(data))
    assert columns.names == list(data)
    assert len(columns) == len(data)
    assert "text" in columns
    assert "other" not in columns
    for name in data:
        assert same(columns.series(name), data[name])
        factor = columns[name]
        assert same(np.asarray(factor.labels, dtype=object)[factor.code], data[name])
    plain = columns.frame()
    assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in plain.dtypes)
    assert all(same(plain[name], data[name]) for name in data)


@pytest.mark.parametrize("names", [["text"], ["number", "category"], ["boolean", "whole", "string"]])
def test_codes_number_the_combinations(names):
    data = factors_of_all_kinds()
    codes = Factors(data).codes(names)
    assert codes.size == len(data[names].drop_duplicates())
    for name in names:
        assert same(data[name].iloc[codes.first].iloc[codes.code], data[name])


@pytest.mark.parametrize("names", [["text"], ["number", "category"], ["boolean", "whole", "string"]])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_those_of_a_groupby(names, weighted):
    data = factors_of_all_kinds()
    weight = np.random.default_rng(1).integers(0, 4, len(data)).astype(float)
    want = data.assign(n=weight if weighted else 1.0).groupby(names, dropna=False, observed=True)["n"].sum()
    want = {
        tuple(None if pd.isna(x) else x for x in np.atleast_1d(np.array(k, dtype=object))): n for k, n in want.items()
    }
    distinct, n = Factors(data).counted(names, weight if weighted else None)
    rows = [tuple(None if pd.isna(x) else x for x in row) for row in distinct.frame(names).itertuples(index=False)]
    assert dict(zip(rows, n, strict=True)) == want
    assert len(rows) == len(want)
    place = [{x: i for i, x in enumerate(factor_of(data[name]).labels)} for name in names]
    ranks = [tuple(p[x] for p, x in zip(place, row, strict=True)) for row in rows]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("first_coded", [False, True])
def test_some_of_the_rows(first_coded):
    data = factors_of_all_kinds()
    columns = Factors(data)
    if first_coded:
        columns.of(list(data))
    mask = data["whole"].to_numpy() == 9
    numbers = np.array([5, 5, 0, 199])  # one twice, in no order
    for rows, want in ((mask, data[mask]), (numbers, data.iloc[numbers])):
        some = columns.take(rows)
        assert len(some) == len(want)
        for name in data:
            assert same(some.series(name), want[name])
            assert same(np.asarray(some[name].labels, dtype=object)[some[name].code], want[name])
    assert columns.take(mask).labels("whole") == ["9"], "labels that occur, and not those of the whole"
    again = columns.take(mask).take(np.array([1, 0]))
    assert same(again.series("text"), data[mask]["text"].iloc[[1, 0]])


def test_further_and_other_columns_leave_the_table_as_it_is():
    data = factors_of_all_kinds()
    columns = Factors(data)
    new = Factor(np.arange(len(data)) % 2, pd.Index(["even", "odd"]))
    other = columns.but(parity=new, text=new)
    assert other.names == [*data, "parity"]
    assert same(other.series("text"), np.array(["even", "odd"] * 100))
    assert same(other.take(np.array([3])).series("text"), ["odd"])
    assert same(other.series("number"), data["number"])
    assert "parity" not in columns
    assert same(columns.series("text"), data["text"])
    assert other.codes(["text", "parity"]).size == 2


def test_without_a_column():
    data = factors_of_all_kinds()
    columns = Factors(data)
    fewer = columns.without("text")
    assert fewer.names == [name for name in data if name != "text"]
    assert "text" not in fewer
    assert list(fewer.frame()) == fewer.names
    assert "text" in columns
    assert fewer.take(np.array([0, 1])).names == fewer.names
    for call in (lambda: fewer.series("text"), lambda: fewer.codes(["text"])):
        with pytest.raises(KeyError, match="text"):
            call()
    new = Factor(np.zeros(len(data), dtype=np.int64), pd.Index(["one"]))
    assert same(fewer.but(text=new).series("text"), ["one"] * len(data))
