"""Cells that look right: ids that look alike, graded answers off their scale, counts in shares, joined ids."""

from __future__ import annotations

import re

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from refusals import refused

CALLS = pd.DataFrame(
    {
        "judge": "g",
        "item": [*"1122"],
        "first": [*"xyxy"],
        "second": [*"yxyx"],
        "choice": ["first", "second", "tie", "first"],
    }
)


@pytest.mark.parametrize(
    "pair",
    [
        ("GPT-4", "gpt-4"),
        ("g", "g "),
        ("caf\u00e9", "cafe\u0301"),
        ("g", "g\u200b"),
        ("a b", "a\u00a0b"),
        ("a b", "a  b"),
    ],
)
@pytest.mark.parametrize("column", ["judge", "item", "first"])
def test_ids_that_look_alike_are_noted(column: str, pair: tuple[str, str]) -> None:
    table = CALLS.assign(**{column: [pair[0], pair[1], "other", "another"]})
    found = js.check(js.read(table))
    (note,) = found[found["what"].str.contains("look alike")].to_dict("records")
    assert (note["level"], note["column"], note["rows"]) == ("counted", column, (0, 1))
    assert all(ascii(p) in note["what"] for p in pair)
    assert not js.check(js.read(CALLS))["what"].str.contains("look alike").any()


def test_a_strength_off_its_range_or_against_the_choice_is_a_fault() -> None:
    refused(
        SchemaError,
        ([0, 1.2, 0.5, 0], r"not between 0 \(first\) and 1 \(second\) in 1 row \(row 1 of the data, from 0\)"),
        ([0, 1, -0.1, 0], r"not between 0 .* \(row 2 of the data, from 0\)"),
        ([0.9, 1, 0.5, 0.1], r"on the other side than 'choice' in 1 row \(row 0 of the data, from 0\)"),
        ([0.1, 0.2, 0.5, 0.1], r"on the other side than 'choice' in 1 row \(row 1 of the data, from 0\)"),
        of=lambda strength: js.read(CALLS.assign(strength=strength)),
    )
    assert len(js.read(CALLS.assign(strength=[0.5, None, 0.4, 0]))) == 4
    assert js.read(CALLS.assign(strength=[1, 2, 3, 4]), columns={"strength": None})["strength_source"].tolist() == [
        1,
        2,
        3,
        4,
    ]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_choices_that_are_no_number_are_missing_and_infinite_ones_are_answers(make: type) -> None:
    table = CALLS.assign(choice=[1.0, float("nan"), float("inf"), 2.0]).to_dict("list")
    labels = {"1": "first", "2": "second", "1.0": "first", "2.0": "second", "inf": "tie"}
    read = js.read(make(table), labels=labels)
    choice = nw.from_native(read).lazy().collect("pandas").to_native()["choice"].astype(str).tolist()
    assert choice == ["first", "invalid", "tie", "second"]


def test_shares_are_of_calls() -> None:
    counted = js.read(CALLS.assign(n=[7, 1, 1, 1]), counts="n")
    told = js.describe(counted).set_index("property")["value"]
    assert told["answers"] == "first 80.0 %, second 10.0 %, tie 10.0 %"
    verdicts = pd.DataFrame({"judge": "g", "item": [*"123"], "correct": [True, False, None], "n": [6, 2, 2]})
    told = js.describe(js.read(verdicts, counts="n")).set_index("property")["value"]
    assert told["verdicts"] == "“correct” 60.0 %, “incorrect” 20.0 %, 2 missing"


@pytest.mark.parametrize("lazy", [False, True])
def test_two_ids_are_never_joined_to_one(tmp_path: pytest.TempPathFactory, lazy: bool) -> None:
    parts = [("a", "b"), ("a / b", "c"), ("a", "b / c"), ("a /", "b"), ("a", "/ b"), ("a", "/b"), ("a //", "b"), ("a", "// b"),
             ("a / / b", "c"), ("a /", "/ b / c"), (" /", "a"), ("a/b", "c/d")]  # fmt: skip
    table = pd.DataFrame(parts, columns=["one", "two"]).assign(judge="g", first="x", second="y", choice="tie")
    path = tmp_path / "t.parquet"  # type: ignore[operator]
    table.to_parquet(path)
    read = nw.from_native(js.read(path, columns={"item": "one+two"}, lazy=lazy)).lazy().collect("pandas").to_native()
    assert read["item"].nunique() == len(parts)
    assert {"a / b", "a/b / c/d"} <= set(read["item"])


def test_an_engine_that_runs_out_of_memory_is_told_as_that() -> None:
    import duckdb

    connection = duckdb.connect(config={"memory_limit": "20MB", "temp_directory": "", "threads": 1})
    rows = connection.sql(
        "select 'g' as judge, md5(i::varchar) as item, 'x' as first, 'y' as second, 'tie' as choice from range(3000000) r(i)"
    )
    calls = js.preferences(rows)
    with pytest.raises(DesignError, match="DuckDB ran out of memory"):
        js.tally(calls, "answer_rates", by="item")


def test_empty_texts_are_counted_by_side() -> None:
    """By their sizes or as texts, of what was judged: neither questions nor the words of the judge."""
    sizes = CALLS.assign(chars_first=[0, 5, 0, 2], chars_second=[1, 1, 0, 1], judge_chars=0, chars_question=0)
    found = js.check(js.read(sizes)).query("what.str.contains('empty')")
    assert found[["column", "n", "rows"]].to_numpy().tolist() == [
        ["chars_first", 2, (0, 2)], ["chars_second", 1, (2,)],
    ]  # fmt: skip
    assert (found["level"] == "counted").all()
    texts = CALLS.assign(response_first=["", " ", None, "a"], response_second="b")
    found = js.check(js.read(texts)).query("what.str.contains('empty')")
    assert found[["column", "rows"]].to_numpy().tolist() == [["response_first", (0, 1, 2)]]
    scores = pd.DataFrame({"judge": "g", "system": "s", "item": [*"12"], "score": [1.0, 2.0], "response": ["", "a"]})
    assert js.check(js.read(scores))["what"].tolist()[0] == "'response' is empty"


def test_the_empty_texts_of_a_vacuum_are_no_finding() -> None:
    vacuum = CALLS.assign(stimulus=["vacuum", "vacuum", "same_subset", "same_subset"], chars_first=0)
    found = js.check(js.read(vacuum)).query("what.str.contains('empty')")
    assert found["rows"].tolist() == [(2, 3)]


ANSWERED = pd.DataFrame({"judge": "g", "item": ["1", "2"], "first": "x", "second": "y"})


@pytest.mark.parametrize(
    ("choice", "said", "columns", "labels", "result"),
    [
        (["x", "y"], "It holds the winner: map its column as winner=", {"winner": "choice"}, None, ["first", "second"]),
        (
            ["0.3", "0.8"], "map its column as graded= with labels={'0': 'first', '1': 'second'}", {"graded": "choice"},
            {"0": "first", "1": "second"}, ["first", "second"],
        ),
    ],
)  # fmt: skip
def test_an_answer_of_another_kind_is_led_to_its_name(choice, said, columns, labels, result):
    table = ANSWERED.assign(choice=choice)
    with pytest.raises(SchemaError, match=re.escape(said)):
        js.preferences(table)
    assert js.read(table, columns=columns, labels=labels)["choice"].tolist() == result


def test_a_decimal_comma_is_led_to_decimal():
    with pytest.raises(SchemaError, match=re.escape("read(..., decimal=',') reads it")) as caught:
        js.ratings(pd.DataFrame({"judge": ["g"], "system": "a", "item": "1", "score": "3,5"}))
    assert caught.value.advice == (("decimal", ","),)


SCORED = pd.DataFrame(
    {"judge": "g", "system": "a", "item": [str(i) for i in range(8)], "score": [1, 2, 3, 4, 5, 2, 3, 5]}
)


@pytest.mark.parametrize(
    ("scores", "what"),
    [
        ([1, 2, 3, 4, 5, -1, 999, 5], "score is -1 and 999; the others run from 1 to 5"),
        ([1, 2, 3, 4, 5, 9999, 1, 1], "score is 9999; the others run from 1 to 5"),
        ([1, 0, -1, 1, 0, 0, 0, 1], None),
        ([90, 95, 99, 100, 50, 60, 99, 70], None),
        ([-5, -3, -1, 2, 3, 4, 5, 0], None),
    ],
)
def test_a_code_for_no_answer_beside_a_scale_is_a_caution(scores, what):
    told = js.check(js.ratings(SCORED.assign(score=scores)))
    assert told.loc[told["level"] == "counted", "what"].tolist() == ([what] if what else [])


def test_what_occurs_more_than_once_is_described():
    copy = pd.concat([SCORED, SCORED.assign(score=None)])
    refused(
        SchemaError,
        (copy, r"judge=g, system=a, item=0.* 8 of them have no answer, and repeat rows that have"),
        (
            pd.concat([SCORED, SCORED.head(2)]),
            r"item=0, criterion=overall\. They are equal in every column: .*\(\)\. Number repeats",
        ),
        (
            pd.concat([SCORED, SCORED.head(2).assign(score=[1, 4])]),
            r"criterion=overall\. 2 of them contradict each other: .* in 'replicate', or",
        ),
        of=js.ratings,
    )


def test_a_histogram_of_scores_is_a_table_of_counts():
    counts = pd.DataFrame(
        {
            "judge": [*"gggghhhh"],
            "system": ["a", "a", "b", "b"] * 2,
            "item": "1",
            "score": [1, 2] * 4,
            "n": [3, 4, 1, 2, 2, 5, 3, 1],
        }
    )
    whole = counts.loc[counts.index.repeat(counts["n"])].drop(columns="n")
    whole["replicate"] = whole.groupby(["judge", "system"]).cumcount()
    told, full = (js.consensus_deviation(js.ratings(t, **k)) for t, k in ((counts, {"counts": "n"}), (whole, {})))
    pd.testing.assert_frame_equal(told, full)
    with pytest.raises(SchemaError, match="the same call occurs more than once"):
        js.ratings(pd.concat([counts, counts.head(1)]), counts="n")
