"""From a table to arrays: distinct rows, responses, codes, and what is refused."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.errors import DesignError, FormulaError, SchemaError
from judgestats.models.coding.column_rank import independent
from judgestats.models.coding.factor_levels import label
from judgestats.models.coding.model_frames import distinct
from judgestats.models.designs import Design, design
from refusals import refused


def calls(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "correct": rng.integers(0, 2, rows),
            "strategy": rng.choice(["B0", "S1", "S8"], rows),
            "dose": rng.choice([0.5, 1.5, 2.0], rows),
            "item": rng.integers(1, 13, rows),
            "judge": rng.choice(["a", "b", "c"], rows),
            "score": rng.integers(1, 6, rows),
        }
    )


FORMULA = "correct ~ strategy * dose + (dose|item) + (1|judge)"


def same(one: Design, other: Design) -> None:
    for name in ("y", "trials", "X", "offset", "count", "weights"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-9, err_msg=name)
    assert one.names == other.names
    assert one.categories == other.categories
    assert one.rows.n_missing == other.rows.n_missing
    for a, b in zip(one.terms, other.terms, strict=True):
        assert (a.factor, a.names, a.levels) == (b.factor, b.names, b.levels)
        np.testing.assert_array_equal(a.codes, b.codes)
        np.testing.assert_allclose(a.values, b.values)


def tally(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.groupby(list(frame.columns), dropna=False, observed=True).size().rename("n").reset_index()


def test_compression_keeps_the_cross_products():
    frame = calls()
    coded = design(FORMULA, frame, family="binomial")
    raw = coded.fixed.coder.matrix(frame)
    assert len(coded.y) == len(frame[["correct", "strategy", "dose", "item", "judge"]].drop_duplicates())
    assert coded.count.sum() == coded.n == coded.rows.n_rows == 300
    np.testing.assert_allclose(coded.X.T @ (coded.X * coded.count[:, None]), raw.T @ raw)
    np.testing.assert_allclose(coded.X.T @ (coded.y * coded.count), raw.T @ frame["correct"])
    dose = pd.Series(coded.terms[0].values[:, 1] * coded.count).groupby(coded.terms[0].codes).sum()
    np.testing.assert_allclose(dose, frame.groupby("item")["dose"].sum())


def test_codes_and_levels():
    coded = design("correct ~ 1 + (dose||item) + (1|judge/item)", calls(), family="binomial")
    assert [t.factor for t in coded.terms] == ["item", "item", "judge", "judge:item"]
    assert [t.names for t in coded.terms] == [("Intercept",), ("dose",), ("Intercept",), ("Intercept",)]
    assert coded.terms[0].levels == tuple(str(i) for i in range(1, 13))  # as numbers: 2 before 10
    frame = coded.frame
    for term in coded.terms:
        assert term.codes.dtype == np.int64
        spelled = frame[list(term.columns)].astype(str).agg(":".join, axis=1)
        assert [term.levels[c] for c in term.codes] == spelled.tolist()
        assert sorted(set(term.codes)) == list(range(len(term.levels)))
    assert coded.terms[3].levels[:3] == ("a:1", "a:2", "a:3")


def test_only_combinations_that_occur():
    frame = pd.DataFrame({"y": [0, 1, 1, 0], "a": ["u", "u", "v", "w"], "b": [2, 10, 2, 10]})
    term = design("y ~ 1 + (1|a:b)", frame, family="binomial").terms[0]
    assert term.levels == ("u:2", "u:10", "v:2", "w:10")


def test_categorical_random_effects():
    coded = design("correct ~ 1 + (strategy|item) + (0 + strategy|judge)", calls(), family="binomial")
    assert coded.terms[0].names == ("Intercept", "strategy[S1]", "strategy[S8]")
    assert coded.terms[1].names == ("strategy[B0]", "strategy[S1]", "strategy[S8]")
    np.testing.assert_array_equal(coded.terms[1].values.sum(axis=1), 1)


def test_row_order_does_not_matter():
    frame = calls()
    shuffled = frame.sample(frac=1, random_state=3)
    same(design(FORMULA, frame, family="binomial"), design(FORMULA, shuffled, family="binomial"))
    frame["x"] = np.random.default_rng(1).normal(size=len(frame))
    shuffled = frame.sample(frac=1, random_state=3)
    formula = "correct ~ x + (1|item)"
    same(design(formula, frame, family="binomial"), design(formula, shuffled, family="binomial"))


ENGINES = {
    "polars": pl.from_pandas,
    "lazy polars": lambda f: pl.from_pandas(f).lazy(),
    "arrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
    "duckdb": lambda f: duckdb.from_arrow(pa.Table.from_pandas(f, preserve_index=False)),
    "pandas of Arrow": lambda f: pa.Table.from_pandas(f, preserve_index=False).to_pandas(types_mapper=pd.ArrowDtype),
    "nullable": lambda f: f.convert_dtypes(),
    "objects": lambda f: f.astype({"strategy": object, "judge": object}),
    "categories": lambda f: f.astype({"strategy": "category", "judge": "category", "item": "category"}),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_every_engine_gives_the_same(engine, missing, counted):
    frame = calls()
    if missing:
        frame.loc[frame.index % 7 == 0, "strategy"] = None
        frame.loc[frame.index % 11 == 0, "dose"] = np.nan
    if counted:
        frame["n"] = np.arange(len(frame)) % 4
    counts = "n" if counted else None
    expected = design(FORMULA, frame, family="binomial", counts=counts)
    assert (expected.rows.n_missing > 0) == missing
    got = design(FORMULA, ENGINES[engine](frame), family="binomial", counts=counts)
    same(expected, got)
    assert got.rows.n_zero == (75 if counted else 0)


def test_categories_of_other_engines_have_no_order_but_enums_do():
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "g": ["z", "a", "z", "a"]})
    plain = design("y ~ g", frame.with_columns(pl.col("g").cast(pl.Categorical)), family="binomial")
    assert plain.names == ("Intercept", "g[z]")
    enum = design("y ~ g", frame.with_columns(pl.col("g").cast(pl.Enum(["z", "a"]))), family="binomial")
    assert enum.names == ("Intercept", "g[a]")


values = st.fixed_dictionaries(
    {
        "y": st.integers(0, 1),
        "f": st.sampled_from(["p", "q", "r", None]),
        "x": st.sampled_from([-1.0, 0.25, 3.0, np.nan]),
        "g": st.integers(0, 3),
    }
)


@pytest.mark.slow
@given(st.lists(values, min_size=12, max_size=40))
@settings(max_examples=60)
def test_a_frame_and_its_tally_are_equal(rows):
    frame = pd.DataFrame(rows).astype({"f": object})
    counted = tally(frame)
    kept = frame.dropna()
    if kept.empty or kept["f"].nunique() < 2 or kept["g"].nunique() < 2 or kept["x"].nunique() < 2:
        return
    for formula in ("y ~ f * x + (x|g)", "y ~ f + center(x) + (1|g/f)", "y ~ scale(x) + (0 + f|g)"):
        one = design(formula, frame, family="binomial")
        other = design(formula, counted, family="binomial", counts="n")
        same(one, other)
        assert one.rows.counted is None
        assert other.rows.counted == "n"
        assert one.n == len(kept)
        assert one.rows.n_missing == len(frame) - len(kept)


def test_count_is_a_variable_where_the_formula_names_it():
    frame = pd.DataFrame({"k": [3, 1, 3], "n": [5, 4, 5], "x": [0, 1, 0]})
    coded = design("cbind(k, n - k) ~ x", frame, family="binomial")
    assert coded.rows.counted is None
    assert coded.count.tolist() == [1, 2]
    assert (coded.y.tolist(), coded.trials.tolist()) == ([1, 3], [4, 5])


def test_rows_of_count_zero_and_without_trials_say_nothing():
    frame = pd.DataFrame({"y": [0, 1, 1], "f": ["a", "b", "c"], "n": [2, 3, 0]})
    coded = design("y ~ f", frame, family="binomial", counts="n")
    assert (coded.names, coded.rows.n_zero) == (("Intercept", "f[b]"), 1)
    frame = pd.DataFrame({"k": [3, 1, 0], "m": [2, 1, 0], "f": ["a", "b", "c"]})
    coded = design("cbind(k, m) ~ f", frame, family="binomial")
    assert coded.names == ("Intercept", "f[b]")
    assert coded.response.notes == ("1 row without trials excluded",)
    assert coded.trials.tolist() == [2, 5]


def test_weights_are_no_counts():
    frame = calls().assign(w=2.5)
    coded = design("correct ~ strategy", frame, family="binomial", weights="w")
    assert coded.weights.tolist() == [2.5] * len(coded.y)
    assert coded.n == 300
    refused(
        SchemaError,
        (
            lambda: design("correct ~ strategy", frame.assign(n=1), family="binomial", weights="n"),
            DesignError,
            r'counts of identical rows are declared, counts="n"',
        ),
        (
            lambda: design("correct ~ 1", frame.rename(columns={"w": "weight"}), family="binomial", weights="weigt"),
            DesignError,
            r"weights='weigt' is no column.*Did you mean 'weight'",
        ),
        (
            lambda: design("correct ~ 1", frame.assign(w=0), family="binomial", weights="w"),
            "is not positive in 2 distinct rows",
        ),
        (
            lambda: design("correct ~ 1", frame.assign(w=np.inf), family="binomial", weights="w"),
            "'w' is infinite",
        ),
        (
            lambda: design("correct ~ 1", frame.assign(w="a"), family="binomial", weights="w"),
            "not numbers",
        ),
    )


@pytest.mark.parametrize(
    ("column", "labels", "ones"),
    [
        ([0, 1, 1, 0], ("0", "1"), 2),
        ([False, True, True, True], ("False", "True"), 3),
        (["no", "yes", "yes", "yes"], ("no", "yes"), 3),
        (pd.Categorical(["no", "yes", "no", "no"], categories=["yes", "no", "never"]), ("yes", "no"), 3),
    ],
)
def test_binomial_responses(column, labels, ones):
    coded = design("y ~ 1", pd.DataFrame({"y": column}), family="binomial")
    assert coded.response.labels == labels
    assert (coded.y * coded.count).sum() == ones


def test_a_level_is_the_success():
    frame = pd.DataFrame({"choice": ["first", "second", "tie", "invalid", "first"], "judge": list("ababa")})
    coded = design("choice[first] ~ 1", frame, family="binomial")
    assert (coded.y * coded.count).sum() == 2
    assert coded.n == 4
    assert coded.rows.n_missing == 1  # the invalid call
    other = frame.rename(columns={"choice": "answer"})
    assert design("answer[first] ~ 1", other, family="binomial").n == 5
    category = frame.assign(choice=pd.Categorical(frame["choice"], ["first", "second", "tie", "abstain", "invalid"]))
    same(coded, design("choice['first'] ~ 1", category, family="binomial"))


def test_computed_responses():
    frame = calls()
    coded = design("np.log(score) ~ strategy", frame, family="gaussian")
    np.testing.assert_allclose(coded.y @ coded.count, np.log(frame["score"]).sum())
    coded = design("I(score > 3) ~ strategy", frame, family="binomial")
    assert coded.y @ coded.count == (frame["score"] > 3).sum()
    refused(
        DesignError,
        ("log(correct) ~ 1", "infinite or undefined"),
        ("log(strategy) ~ 1", FormulaError, "cannot be computed"),
        of=lambda wrong: design(wrong, frame, family="gaussian"),
    )


@pytest.mark.parametrize(
    ("column", "categories", "expected"),
    [
        (["wins", "tie", "loses", "wins"], None, ("loses", "tie", "wins")),
        (["first", "tie", "second", "first"], None, ("second", "tie", "first")),
        (["first", "first", "second", "first"], None, ("second", "first")),
        ([10, 2, 2, 1], None, ("1", "2", "10")),
        ([True, False, False, False], None, ("False", "True")),
        (["lo", "hi", "mid", "hi"], ("lo", "mid", "hi", "top"), ("lo", "mid", "hi")),
        ([3, 1, 2, 2], (3, 2, 1), ("3", "2", "1")),
        (pd.Categorical(["b", "a", "b", "b"], ["b", "a", "c"], ordered=True), None, ("b", "a")),
    ],
)
def test_cumulative_responses(column, categories, expected):
    frame = pd.DataFrame({"y": column, "x": [0, 1, 1, 0]})
    coded = design("y ~ x", frame, family="cumulative", categories=categories)
    assert coded.categories == expected
    assert coded.names == ("x",)
    assert sorted(set(coded.y)) == list(range(len(expected)))
    assert [expected[int(c)] for c in coded.y] == [str(v) for v in coded.frame["y"]]


def test_cumulative_models_have_no_intercept_and_reduced_coding():
    coded = design("score ~ strategy * dose + (1|item)", calls(), family="cumulative")
    assert coded.names == ("strategy[S1]", "strategy[S8]", "dose", "strategy[S1]:dose", "strategy[S8]:dose")
    assert coded.fixed.coder.names == coded.names
    assert design("score ~ 1 + (1|item)", calls(), family="cumulative").X.shape[1] == 0
    with pytest.raises(DesignError, match="thresholds"):
        design("score ~ 0 + strategy", calls(), family="cumulative")


REFUSED = [
    ("score ~ 1", "binomial", r"holds 0 and 1; 'score' holds 1, 2, 3, 4, ...\. Use cbind"),
    ("strategy ~ 1", "binomial", r"has 3: B0, S1, S8. Name the success, strategy\[B0\] ~ ..., or take family='cumul"),
    ("one ~ 1", "binomial", r"'one' has 1: only"),
    ("strategy ~ 1", "gaussian", "A gaussian response holds numbers, 'strategy' holds 'B0'"),
    ("dose ~ 1", "poisson", "whole numbers from 0; 'dose' holds 0.5, 1.5"),
    ("strategy ~ 1", "cumulative", "B0, S1, S8, which have no order of their own. Pass categories="),
    ("strategy[S1] ~ 1", "gaussian", "is a binomial response, got family='gaussian'"),
    ("cbind(score, dose) ~ 1", "binomial", "whole numbers of successes and failures, from 0; .* holds 0.5, 1.5"),
    ("cbind(correct, correct - score) ~ 1", "binomial", "whole numbers of successes"),
    ("one ~ 1", "cumulative", "has two categories or more; 'one' is always 'only'"),
    ("correct ~ one", "binomial", "'one' is always 'only' in the rows"),
    ("correct ~ C(one, Sum)", "binomial", "'one' is always 'only' in the rows"),
    ("correct ~ 1 + (1|one)", "binomial", r"'one' is always 'only': a random effect needs two levels"),
    ("dose ~ 1 + (1|row)", "gaussian", r"\(Intercept\|row\) has 300 random effects for 300 rows"),
    ("correct ~ log(zero)", "binomial", r"'log\(zero\)' is infinite or undefined"),
    ("correct ~ 1 + offset(log(zero))", "binomial", "the offset is infinite or undefined"),
    ("correct ~ 1 + (0 + log(zero)|item)", "binomial", "is infinite or undefined"),
    ("correct ~ 1", "binomal", "family='binomal' is not known.*Did you mean 'binomial'"),
]


@pytest.mark.parametrize(("formula", "family", "message"), REFUSED)
def test_what_the_data_cannot_answer(formula, family, message):
    frame = calls().assign(one="only", zero=0.0, row=range(300))
    if "one ~" in formula and family == "cumulative":
        frame["one"] = pd.Categorical(frame["one"], ordered=True)
    with pytest.raises(DesignError, match=message):
        design(formula, frame, family=family)


def test_a_cell_of_another_type_is_a_level_as_its_text_is():
    frame = calls()
    listed, text = (
        frame.assign(strategy=pd.Series([cell, *frame["strategy"][1:]], dtype=object)) for cell in (["S"], '["S"]')
    )
    coded = [design("correct ~ strategy + (1|item)", f, family="binomial").fixed.X for f in (listed, text)]
    np.testing.assert_array_equal(*coded)
    frame["score"] = pd.Series([10**400, *frame["score"][1:]], dtype=object)
    with pytest.raises(DesignError, match="A gaussian response holds numbers, 'score' holds"):
        design("score ~ 1", frame, family="gaussian")


def test_a_level_of_each_row_is_allowed_where_the_family_has_no_residual():
    frame = calls().assign(row=range(300))
    assert len(design("score ~ 1 + (1|row)", frame, family="poisson").terms[0].levels) == 300
    assert len(design("correct ~ 1 + (1|row)", frame, family="binomial").terms[0].levels) == 300


def test_categories_are_for_cumulative_models_and_must_cover():
    refused(
        DesignError,
        (
            lambda: design("correct ~ 1", calls(), family="binomial", categories=(0, 1)),
            "categories= is for family='cumulative'",
        ),
        (
            lambda: design("strategy ~ 1", calls(), family="cumulative", categories=("B0", "S1")),
            r"categories=\('B0', 'S1'\) do not hold 'S8'",
        ),
        (
            lambda: design("strategy ~ 1", calls(), family="cumulative", categories=("B0", "S1", "S8", "S1")),
            "hold a value twice",
        ),
    )
    coded = design("strategy ~ 1", calls(), family="cumulative", categories=("B0", "S1", "S4", "S8"))
    assert coded.response.notes == ("category without a row: S4",)


def test_unknown_column_is_underlined():
    with pytest.raises(FormulaError) as caught:
        design("correct ~ stratgy + (1|item)", calls(), family="binomial")
    assert str(caught.value) == (
        "There is no column 'stratgy'.\n"
        "    correct ~ stratgy + (1|item)\n"
        "              ^^^^^^^\n"
        "Columns: correct, strategy, dose, item, judge, score. Did you mean 'strategy'?"
    )
    refused(
        FormulaError,
        ("correct ~ 1 + (1|itm)", r"There is no column 'itm'.\n.*\n +\^\^\^\n"),
        ("judge[d] ~ 1", r"'judge' is never 'd'.\n.*\n    \^\^\^\^\^\nAllowed: a, b, c"),
        of=lambda wrong: design(wrong, calls(), family="binomial"),
    )


def test_bad_tables():
    refused(
        SchemaError,
        (lambda: design("y ~ 1", [1, 2], family="binomial"), "data is no table, got list"),
        (
            lambda: design("correct ~ dose", calls().assign(dose=np.nan), family="binomial"),
            DesignError,
            "No row is left for 'correct ~ dose': 300 in the table, 300 excluded",
        ),
        (lambda: design("correct ~ dose", calls().head(0), family="binomial"), DesignError, "No row is left"),
        (
            lambda: design("correct ~ dose + item", calls().assign(dose=np.inf, item=range(300)), family="binomial"),
            "'dose' is infinite in 300 rows",
        ),
        (
            lambda: design("correct ~ dose", calls().assign(n=-1), family="binomial", counts="n"),
            "'n' is a count of calls",
        ),
        (
            lambda: design("correct ~ dose", duckdb.from_df(calls().assign(n=-1)), family="binomial", counts="n"),
            "'n' is a count of calls",
        ),
        (
            lambda: design("correct ~ dose", duckdb.from_df(calls().assign(n="x")), family="binomial", counts="n"),
            "'n' is a count of calls",
        ),
    )


def test_aliased_columns_are_dropped_as_in_r():
    frame = calls().assign(twice=lambda t: 2 * t["dose"], again=lambda t: t["strategy"], const=1.0)
    coded = design("correct ~ strategy + dose + twice + again + const", frame, family="binomial")
    assert coded.names == ("Intercept", "strategy[S1]", "strategy[S8]", "dose")
    assert coded.fixed.aliased == ("twice", "again[S1]", "again[S8]", "const")
    assert coded.fixed.coder.names == coded.names
    assert np.linalg.matrix_rank(coded.X) == 4
    assert coded.new(frame.head(3))[0].shape == (3, 4)
    empty = frame[~((frame["strategy"] == "S8") & (frame["judge"] == "c"))]
    coded = design("correct ~ strategy * judge", empty, family="binomial")
    assert coded.fixed.aliased == ("strategy[S8]:judge[c]",)
    # far from 0, yet not aliased
    year = design("score ~ dose + year", frame.assign(year=2000 + frame["item"]), family="gaussian")
    assert year.fixed.aliased == ()


def test_new_rows():
    frame = calls()
    coded = design("correct ~ strategy + offset(dose) + (dose|item) + (1|judge:item)", frame, family="binomial")
    X, offset, zs, codes = coded.new(coded.frame.drop(columns="correct"))
    np.testing.assert_allclose(X, coded.X)
    np.testing.assert_allclose(offset, coded.offset)
    for term, z, code in zip(coded.terms, zs, codes, strict=True):
        np.testing.assert_allclose(z, term.values)
        np.testing.assert_array_equal(code, term.codes)
    rows = pd.DataFrame(
        {"strategy": ["S1"] * 4, "dose": 1.0, "item": [1.0, 99.0, None, 2], "judge": ["a", "a", "a", "zz"]}
    )
    X, _, _, codes = coded.new(rows)
    assert codes[0].tolist() == [0, -1, -1, 1]
    assert codes[1].tolist() == [0, -1, -1, -1]
    assert np.isfinite(X).all()
    refused(
        FormulaError,
        (lambda: coded.new(rows.iloc[:2], allow_new_levels=False), DesignError, "'item' has '99', which was not there"),
        (lambda: coded.new(rows.drop(columns="dose")), "Column 'dose'"),
        (lambda: coded.new(rows.drop(columns="item")), "There is no column 'item' in the new rows"),
    )


def test_nothing_but_the_columns_named_is_read():
    frame = calls().assign(junk=[[i] for i in range(300)])
    same(design(FORMULA, frame, family="binomial"), design(FORMULA, calls(), family="binomial"))
    assert list(design("correct ~ dose", frame, family="binomial").frame) == ["correct", "dose"]


def test_labels_of_several_types_are_text():
    frame = pd.DataFrame({"y": [0, 1, 0, 1, 1], "g": [7, "7", 7.0, "b", True]})
    coded = design("y ~ 1 + (1|g)", frame, family="binomial")
    assert coded.terms[0].levels == ("7", "True", "b")
    assert coded.n == 5


def test_many_values_are_counted_by_hashing(monkeypatch):
    """The same rows whether a table of all combinations is small or not."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({c: rng.integers(0, 3000, 2000) * 7919 for c in "abcde"})
    frame = pd.concat([frame, frame.head(500)])
    rows = distinct(frame, list("abcde"))
    expected = frame.groupby(list("abcde")).size()
    np.testing.assert_array_equal(rows.count, expected)
    np.testing.assert_array_equal(rows.frame, expected.reset_index()[list("abcde")])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool"])
def test_small_whole_numbers(dtype):
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    frame = pd.DataFrame({"a": np.array([low, high, low, high], dtype=dtype), "b": [1, 1, 1, 2]})
    assert distinct(frame, ["a", "b"]).count.tolist() == [2, 1, 1]


def test_distinct_rows_are_sorted_and_counted():
    rows = distinct(pd.DataFrame({"g": ["b", "a", "b"], "y": [1, 0, 1]}), ["y", "g"])
    assert rows.frame.assign(n=rows.count).to_numpy().tolist() == [[0, "a", 1.0], [1, "b", 2.0]]


def test_columns_that_follow_from_those_before_are_not_independent():
    assert independent(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])) == [0, 1]


def test_a_level_has_one_name_as_a_whole_number_and_as_a_float():
    assert [label(v) for v in (7.0, 7, 0.5, True, "a")] == ["7", "7", "0.5", "True", "a"]
