"""The printed report of a bias model."""

from __future__ import annotations

import pandas as pd

from judgestats.models.bias_models.reports import VerdictModel


def test_what_holds_for_every_row_is_printed_once():
    table = pd.DataFrame({"term": ["a", "b"], "estimate": [1.0, 2.0], "flag": ["x; each", "each"]})
    tests = pd.DataFrame({"question": ["q"], "flag": [""]})
    shown = repr(VerdictModel("Asked", {}, table, tests)).splitlines()
    assert shown[2:6] == ["term  estimate flag", "   a       1.0    x", "   b       2.0     ", "In every row: each"]
    assert "flag" not in shown[8]
