"""What every message is made of: hidden secrets, known names, the closest of them."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import (
    DesignError,
    JudgestatsError,
    SchemaError,
    masked,
    nearest,
    refuse_unknown,
    score_range,
    suggestion,
)
from refusals import refused


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ann:s3cret@host/calls.csv?token=abc&run=2", "https://***@host/calls.csv?token=***&run=2"),
        ("host=db user=ann password='a b' dbname=calls", "host=db user=ann password=*** dbname=calls"),
    ],
)
def test_no_message_shows_a_secret(text, shown):
    assert masked(text) == shown
    assert str(DesignError(text)) == shown


def test_the_closest_name_is_suggested():
    assert suggestion("modle", ["model", "item"]) == " Did you mean 'model'?"
    assert suggestion("xyzzy", ["model", "item"]) == ""
    assert nearest("judge", ["judge_model", "item"]) == "judge_model"


def test_an_unknown_name_is_refused_with_those_that_are_known():
    refuse_unknown("model", ["model", "item"], "never said")
    with pytest.raises(DesignError) as error:
        refuse_unknown("modle", ["model", "item"], "The table has no column 'modle'", "It has")
    assert str(error.value) == "The table has no column 'modle'. It has: model, item. Did you mean 'model'?"
    with pytest.raises(SchemaError) as error:
        refuse_unknown(
            7, ["p"], "There is no prompt 7", "Prompts", more="; or a file", remedy=" Ask.", error=SchemaError
        )
    assert str(error.value) == "There is no prompt 7. Prompts: p; or a file. Ask."


def test_a_scale_is_two_numbers_in_order():
    assert score_range([1, 5]) == (1.0, 5.0)
    assert score_range(None) is None
    for scale in ((5, 1), ("a", "b"), 3):
        with pytest.raises(SchemaError, match=r"must be the lowest and the highest score, such as \(1, 5\)"):
            score_range(scale)


def test_no_message_holds_a_control_character():
    """Neither what a terminal obeys nor what turns the direction of a text."""
    name = "a\x1b[2J\x07\u202eb\u2066c\x9b"
    for error in (DesignError(f"{name} is not known"), SchemaError("x", problem=name)):
        assert not re.search(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", f"{error}{error.problem}"
        )
    with pytest.raises(JudgestatsError) as raised:
        js.consistency(
            pd.DataFrame({"judge": ["g"], "item": "1", "first": "x", "second": "y", "choice": "first"}), by=name
        )
    assert r"a\x1b[2J\x07\u202eb\u2066c\x9b" in str(raised.value)


@pytest.mark.parametrize("value", [5, None, "calls.csv", [1], {"judge": 1}])
def test_what_is_no_table_is_refused_by_every_function_of_a_table(value):
    functions = [js.check, js.ratings, js.preferences, js.kappa, js.consistency, js.aggregate, js.datasheet]
    functions += [js.available_measures, js.report, lambda v: js.tally(v, "consistency"), lambda v: js.fit("y ~ 1", v)]
    for function in functions:
        with pytest.raises(SchemaError, match=r"where a table belongs|data is no table"):
            function(value)


CALLS = pd.DataFrame(
    {"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"], "choice": ["first", "second"]}
)


def test_by_that_is_no_name_is_refused(tmp_path):
    for run in (
        lambda: js.consistency(CALLS, by=5),
        lambda: js.tally(CALLS, "consistency", by=5),
        lambda: js.datasheet(CALLS, by=5),
        lambda: js.aggregate(CALLS, by=5),
        lambda: js.report(CALLS, tmp_path / "page.html", by=5),
    ):
        with pytest.raises(SchemaError, match="by=5 is no name of a column"):
            run()


def test_half_of_a_surrogate_pair_is_refused_with_its_column(tmp_path):
    half = CALLS.astype(object)
    half["judge"] = pd.Series(["\ud800", "\ud800"], dtype=object)
    half = pd.concat([half, CALLS.astype(object)], ignore_index=True)
    for run in (js.check, js.preferences, js.kappa, lambda t: js.report(t, tmp_path / "page.html")):
        with pytest.raises(SchemaError, match=r"column 'judge' holds half of a surrogate pair \('\\ud800'\)"):
            run(half)


def test_a_lazy_frame_of_polars_that_cannot_be_collected(tmp_path):
    polars = pytest.importorskip("polars")
    calls = polars.from_pandas(CALLS).lazy()
    broken = calls.with_columns(polars.col("judge").str.to_integer().alias("number"))
    for frame in (polars.scan_csv(tmp_path / "nothing.csv"), calls.with_columns(polars.col("nobody")), broken):
        for run in (js.check, js.aggregate, js.available_measures, lambda f: js.report(f, tmp_path / "page.html")):
            with pytest.raises(DesignError, match="Polars cannot collect the lazy frame"):
                run(frame)


def test_a_path_that_is_none_is_refused():
    with pytest.raises(DesignError, match="path=5 is no path"):
        js.report(CALLS, 5)


def test_rows_that_are_not_refused_as_they_say_are_named_together():
    def raised(wrong):
        if wrong:
            raise wrong

    sound = (ValueError("a b"), "a .")
    refused(
        ValueError,
        sound,
        (lambda: int("x"), "invalid literal"),
        of=lambda case: case() if callable(case) else raised(case),
    )
    with pytest.raises(AssertionError) as faults:
        refused(
            ValueError,
            sound,
            (None, "no error"),
            (ValueError("c"), "other"),
            (TypeError("d"), "of type"),
            (KeyError("e"), TypeError, "own"),
            of=raised,
        )
    assert re.findall("^'(.+?)':", str(faults.value), re.MULTILINE) == ["no error", "other", "of type", "own"]
