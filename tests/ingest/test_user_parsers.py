"""Replies read by a regular expression or a function of the user."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judgestats.errors import SchemaError
from judgestats.ingest.replies import parse_verdicts


@pytest.mark.parametrize(
    "form",
    [r"final selection\]: (\d)", re.compile(r"(final) selection\]: (?P<choice>\d)"), r"selection\]: (?P<pick>\d)"],
)
def test_a_regular_expression(form: Any):
    texts = ["[final selection]: 2", "[final selection]: 1 or [final selection]: 2", "nothing", "[final selection]: 7"]
    found = parse_verdicts(texts, form=form, answer="choice")
    assert found["choice"].tolist() == ["second", "invalid", "invalid", "invalid"]
    assert found["status"].tolist() == ["ok", "parse", "parse", "schema"]
    assert found["reply_form"].tolist() == ["pattern", "", "", ""]


def test_a_function_of_the_user():
    def last_word(text: str) -> Any:
        return {"L": "A", "R": "B"}.get(text.split()[-1])

    found = parse_verdicts(["left is good: L", "right: R", "neither"], form=last_word)
    assert found["choice"].tolist() == ["first", "second", "invalid"]
    assert found["reply_form"].tolist() == ["last_word", "last_word", ""]
    graded = parse_verdicts(["x", "y"], form=lambda text: {"choice": "A", "strength": 0.1} if text == "x" else None)
    assert graded["strength"].tolist()[0] == 0.1
    scores = parse_verdicts(["0.25", "2"], form=float, answer="score")
    assert scores["score"].tolist() == [0.25, 2.0]
    assert parse_verdicts(["x"], form=lambda text: {"mean": 8.2, "sd": 0.3})["reply_note"].tolist() == [
        "self-reported runs"
    ]


def test_a_function_that_fails_is_a_clear_error():
    with pytest.raises(SchemaError, match=r"failed on a reply that begins 'abc': ValueError.*return None"):
        parse_verdicts(["abc"], form=float)
