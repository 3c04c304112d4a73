"""What every message is made of: hidden secrets, known names, the closest of them."""

from __future__ import annotations

import pytest

from judgestats.errors import DesignError, SchemaError, masked, nearest, refuse_unknown, score_range, suggestion


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
