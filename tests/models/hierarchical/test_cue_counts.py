"""Counts of outcomes: the same from calls, their tally and printed tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.models.hierarchical.cue_counts import outcomes

pytest.importorskip("pymc")


def test_calls_tally_and_printed_tables_are_one():
    rng = np.random.default_rng(2)
    calls = pd.DataFrame({"judge": rng.choice(["g", "h"], 400), "item": np.arange(400).astype(str), "first": "x",
                          "second": "y", "choice": rng.choice(["first", "second", "tie", "invalid"], 400),
                          "probe": rng.choice(["blind", "cue"], 400), "scheme": "s"})  # fmt: skip
    tally = js.tally(calls, "anchoring")
    wide = tally[tally["outcome"] != "invalid"].pivot_table(index=["judge", "scheme", "probe"], columns="outcome",
                                                            values="n", fill_value=0).reset_index()  # fmt: skip
    tables = {p: t.drop(columns="probe") for p, t in wide.groupby("probe")}
    one, two, three = (outcomes(d, "blind") for d in (calls, tally.sample(frac=1, random_state=1), tables))
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_array_equal(one.counts, three.counts)
    assert one.outcomes == two.outcomes == three.outcomes
    assert "invalid calls excluded" in one.excluded[0, 0, 0]
    assert one.counts.sum() == (calls["choice"] != "invalid").sum()
