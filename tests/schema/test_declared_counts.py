"""Counts of identical rows are declared, never guessed."""

from __future__ import annotations

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import judgestats as js
from judgestats.counting.cells import cells
from judgestats.counting.tallies import refuse_further, tally
from judgestats.errors import DesignError, SchemaError
from refusals import refused

BOTH = r'counts="n".*counts=False'
CALLS = pd.DataFrame(
    {
        "judge": "g",
        "item": [*"11223344"],
        "first": [*"xyxyxyxy"],
        "second": [*"yxyxyxyx"],
        "choice": ["first", "second", "first", "first", "tie", "tie", "first", "tie"],
        "gold": "x",
        "target": "y",
    }
)
SCORES = pd.DataFrame(
    [
        {"judge": j, "system": s, "item": i, "score": float((3 * i + 2 * k + h) % 5)}
        for h, j in enumerate("abc")
        for k, s in enumerate("st")
        for i in range(12)
    ]
)


def lazy(frame):
    return duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


ENGINES = {
    "pandas": lambda t: t,
    "polars": pl.from_pandas,
    "polars lazy": lambda t: pl.from_pandas(t).lazy(),
    "duckdb": lazy,
}

WHOLE = {
    "integers": [1, 2, 3, 4, 5, 6, 7, 8],
    "a constant": 5,
    "floats": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
    "floats with a gap": [1.0, None, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
    "negative": [-1, 2, 3, 4, 5, 6, 7, 8],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("values", WHOLE)
def test_an_undeclared_whole_number_column_is_refused(engine, values):
    frame = ENGINES[engine](CALLS.assign(n=WHOLE[values]))
    for function in (js.consistency, js.preferences):
        with pytest.raises(SchemaError, match=BOTH):
            function(frame)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("values", [np.arange(8) / 4, "long", True, None])
def test_what_is_no_whole_number_is_left_alone(engine, values):
    frame = ENGINES[engine](CALLS.assign(n=pd.Series([values] * 8) if values is None else values))
    want = js.consistency(CALLS)
    pd.testing.assert_frame_equal(js.consistency(frame), want, check_dtype=False)
    js.preferences(frame)


@pytest.mark.parametrize("values", [pd.Series([1, 2] * 4, dtype=object), pd.Series(["1", "2"] * 4)])
def test_numbers_written_as_objects_or_text_are_whole_numbers_too(values):
    with pytest.raises(SchemaError, match=BOTH):
        js.consistency(CALLS.assign(n=values))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_declared_counts_count_in_every_engine(engine):
    n = [2, 2, 1, 1, 4, 4, 1, 1]
    twice = CALLS.loc[CALLS.index.repeat(n)].assign(replicate=lambda t: t.groupby(level=0).cumcount())
    declared = js.preferences(ENGINES[engine](CALLS.assign(k=n)), counts="k")
    names = nw.from_native(declared).collect_schema().names()
    assert "n_identical" in names
    assert "k" not in names
    for measure in (js.consistency, js.answer_rates, js.preference_rate, js.gold_agreement):
        pd.testing.assert_frame_equal(
            measure(declared).drop(columns="flag"), measure(twice).drop(columns="flag"), check_dtype=False
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_is_no_count_is_kept_beside(engine):
    got = js.preferences(ENGINES[engine](CALLS.assign(n=7)), counts=False)
    names = nw.from_native(got).collect_schema().names()
    assert "n_source" in names
    assert not {"n", "n_identical"} & {*names}
    pd.testing.assert_frame_equal(js.consistency(got), js.consistency(CALLS), check_dtype=False)
    assert len(js.answer_rates(got, by="n_source")) == len(js.answer_rates(CALLS))


def test_filtering_concatenating_and_parquet_keep_declared_counts(tmp_path):
    declared = js.preferences(CALLS.assign(n=3), counts="n")
    declared.to_parquet(tmp_path / "calls.parquet")
    back = pd.concat([declared[declared["item"] <= "2"], declared[declared["item"] > "2"]])
    want = js.answer_rates(declared)
    assert want["n"].max() == 24
    pd.testing.assert_frame_equal(js.answer_rates(back), want)
    pd.testing.assert_frame_equal(js.answer_rates(js.read(tmp_path / "calls.parquet")), want, check_dtype=False)
    pd.testing.assert_frame_equal(
        js.answer_rates(js.read(tmp_path / "calls.parquet", lazy=True)), want, check_dtype=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrong", [0.5, -1, None])
def test_declared_counts_that_are_none_are_refused(engine, wrong):
    frame = CALLS.assign(n_identical=pd.Series([1.0] * 7 + [wrong], dtype=float))
    rated = SCORES.assign(n_identical=[1.0] * 71 + [wrong])
    measures = (js.consistency, js.answer_rates, js.gold_agreement, js.kappa, js.preferences, js.bias_score)
    for measure, table in (*((m, frame) for m in measures), (cells, rated)):
        with pytest.raises(SchemaError, match="n_identical"):
            measure(ENGINES[engine](table))


@pytest.mark.parametrize("source", ["file.csv", "file.jsonl", "file.parquet"])
@pytest.mark.parametrize("lazily", [False, True])
def test_read_asks_what_n_is(tmp_path, source, lazily):
    path = tmp_path / source
    table = CALLS.assign(n=[1, 2, 3, 4, 1, 2, 3, 4])
    {"csv": lambda: table.to_csv(path, index=False), "jsonl": lambda: table.to_json(path, orient="records", lines=True),
     "parquet": lambda: table.to_parquet(path)}[path.suffix[1:]]()  # fmt: skip
    assert js.answer_rates(js.read(path, lazy=lazily, counts="n"))["n"].max() == 20
    assert js.answer_rates(js.read(path, lazy=lazily, counts=False))["n"].max() == 8
    refused(
        SchemaError,
        ({}, BOTH),
        ({"counts": "m"}, r"counts='m' is not a column of the table\. .*judge"),
        of=lambda options: js.read(path, lazy=lazily, **options),
    )


def test_tokens_do_not_weight_a_kappa():
    tokens = SCORES.groupby(["system", "item"], sort=False).ngroup().to_numpy() * 37 % 500 + 1
    for measure in (js.kappa, js.alpha, js.ac1, js.icc, js.score_matrix, js.agreement_levels, js.variance_components):
        with pytest.raises(SchemaError, match=r'ratings\(frame, counts="n"\).*ratings\(frame, counts=False\)'):
            measure(SCORES.assign(n=tokens))
    told = js.ratings(SCORES.assign(n=tokens), counts=False)
    pd.testing.assert_frame_equal(js.kappa(told), js.kappa(SCORES))


@pytest.mark.parametrize("measure", [js.kappa, js.alpha, js.ac1])
def test_numbered_repeats_are_put_together_and_counted_calls_are_flagged(measure):
    runs = pd.concat([SCORES.assign(replicate=r) for r in range(3)])
    counted = js.ratings(SCORES.assign(n=3), counts="n")
    once, want, got = (measure(data, cluster=False) for data in (SCORES, runs, counted))
    np.testing.assert_allclose(want[["estimate", "n"]], once[["estimate", "n"]])
    assert want["method"].str.contains("of repeats").all()
    assert got["flag"].str.contains("calls not independent").all()
    assert (got["n"] == 3 * once["n"]).all()


def test_counts_of_a_reference_flag_too():
    people = SCORES[SCORES["judge"] == "a"]
    counted = js.ratings(SCORES[SCORES["judge"] != "a"].assign(n=3), counts="n")
    assert js.kappa(counted, reference=people, cluster=False)["flag"].str.contains("calls not independent").all()


# ---------------------------------------------------------------- tallies

PRINTED = pd.DataFrame({"judge": "g", "forward": ["first", "first"], "reverse": ["first", "tie"], "n": [5, 21]})


def test_a_table_of_a_pattern_is_a_tally_without_asking():
    want = js.delta0(PRINTED)["n"]
    assert want.max() == 52
    for column in ("item", "pair", "prompt", "task"):
        assert js.delta0(PRINTED.assign(**{column: ["1", "2"]}), cluster=column)["n"].equals(want)
        assert js.delta0(PRINTED.assign(**{column: ["1", "2"]}))["n"].equals(want)


def test_a_further_column_of_a_tally_is_refused_by_name():
    assert len(js.delta0(PRINTED.assign(language=["de", "en"]), by="language")) == 2 * len(js.delta0(PRINTED))
    refused(
        SchemaError,
        (lambda: js.delta0(PRINTED.assign(tokens=[1, 2])), r"'tokens'.*in by=.*drop it"),
        (lambda: tally(tally(CALLS.assign(language="de"), "consistency", by="language"), "consistency"), "'language'"),
    )
    refuse_further(PRINTED.assign(vendor=1).columns, "delta0", cluster="vendor")


@pytest.mark.parametrize("wrong", [0.5, -1, None])
def test_counts_of_a_tally_are_whole(wrong):
    with pytest.raises(SchemaError, match="'n'"):
        js.delta0(PRINTED.assign(n=[5, wrong]))


def test_means_take_runs_and_never_counts():
    means = SCORES.groupby(["judge", "system"], as_index=False).agg(mean=("score", "mean"), sd=("score", "std"))
    for name in ("n", "n_identical"):
        for measure in (js.icc, js.score_matrix, js.consensus_deviation, js.variance_components):
            with pytest.raises(SchemaError, match=f"{name}.*Did you mean 'runs'"):
                measure(means.assign(item="1", **{name: 12}))
    assert "n" not in tally(SCORES, "icc")


# ---------------------------------------------------------------- large counts


def test_three_thousand_million_scores_of_two_have_the_mean_two():
    one = pd.DataFrame({"judge": "g", "system": "s", "item": "1", "score": [2.0], "n": [3_000_000_000]})
    got = js.score_matrix(js.ratings(one, counts="n"))
    assert got[["estimate", "n"]].iloc[0].tolist() == [2.0, 3e9]


@pytest.mark.parametrize(
    "measure", [js.score_matrix, js.score_distribution, js.consensus_deviation, js.variance_components, js.icc]
)
def test_a_million_million_of_each_score_gives_what_one_gives(measure):
    runs = pd.concat([SCORES.assign(replicate=0), SCORES.assign(replicate=1, score=SCORES["score"] + 1)])
    got, want = (measure(js.ratings(runs.assign(n=n), counts="n")) for n in (10**12, 1))
    np.testing.assert_allclose(got["estimate"], want["estimate"], rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- rows used and excluded


def test_check_says_what_counts(tmp_path):
    table = CALLS.assign(n=[27_000, 26, 26, 26, 26, 26, 26, 26])
    found = js.check(js.preferences(table, counts="n")).set_index("what")
    assert "column n: counts, 27,182 calls in 8 rows" in found.index
    assert (
        "column n_identical: counts, 27,182 calls in 8 rows"
        in js.check(table.rename(columns={"n": "n_identical"}))["what"].tolist()
    )
    undeclared = js.check(table)
    assert undeclared.loc[0, ["level", "column", "n"]].tolist() == ["fault", "n", 8]
    assert 'counts="n"' in undeclared.loc[0, "remedy"]


def test_counts_of_zero_are_in_the_account():
    declared = js.preferences(CALLS.assign(n=[0, 1, 1, 1, 1, 1, 1, 0]), counts="n")
    found = js.check(declared).set_index("what")["n"]
    assert found["count is zero"] == 2
    assert found["rows excluded"] == 2
    assert found["rows used"] == 6


def test_a_frame_checked_before_it_is_mapped_shows_every_wrong_count():
    found = js.check(CALLS.assign(n_identical=[1.5, -1, None, 1, 1, 1, 1, 1]))
    assert found.loc[found["level"] == "fault", "n"].tolist() == [1, 2]


def test_counts_that_cannot_be_are_refused():
    refused(
        SchemaError,
        (lambda: js.preferences(CALLS, counts=True), "neither a column nor False"),
        (lambda: js.preferences(CALLS.assign(k=1), n="k"), r"counts are declared.*counts='k'"),
        (lambda: js.preferences(CALLS.assign(n=1), n=None), r"counts are declared.*counts=False"),
        (lambda: js.answer_rates(CALLS.assign(n=1), by="n"), r"by='n'.*n_source"),
        (lambda: js.consistency(CALLS.assign(n_identical=range(1, 9))), DesignError, "n_identical"),
    )
