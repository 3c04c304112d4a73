"""Profiles: what they need; that no judge is lost. Numbers of the paper are tested in published/test_dark_current_audit."""

import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import SchemaError


def test_verdicts_are_no_estimates():
    calls = pd.DataFrame({"judge": ["g"], "item": "1", "first": "x", "second": "y", "choice": "first"})
    with pytest.raises(
        SchemaError, match=r"judge, term and estimate. Columns: judge, item, .*Give the result of datasheet"
    ):
        js.profile(calls)


def test_a_judge_of_whom_neither_was_measured_is_not_determined():
    rows = [("g", "i1", "x", "y", "first"), ("g", "i1", "y", "x", "second"), ("h", "i1", "x", "y", "tie")]
    sheet = js.datasheet(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"]))
    found = js.profile(sheet).set_index("judge")
    assert found["profile"].to_dict() == {"g": "not determined", "h": "not determined"}
    assert set(found["because"]) == {"neither was measured"}
