"""Every study through the format of every runner: nothing is lost or changed, and what was planted comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from round_trips import STUDIES, Study, rows, trip
from scipy.stats import binom

import judgestats as js
from judgestats.design import collect, remaining

TABLE = Path(__file__).parents[2] / "docs" / "round_trips.csv"
#: One format of each study in make test; all in make test-slow.
TRIPS = [
    pytest.param(s, f, id=f"{s.name}-{f}", marks=() if f == s.formats[-1 - i] else pytest.mark.slow)
    for i, s in enumerate(STUDIES)
    for f in s.formats
]


@pytest.mark.parametrize(("study", "form"), TRIPS)
def test_what_comes_back_is_what_the_judge_said(study: Study, form: str, tmp_path):
    """The verdicts read from a runner's files are those read from the replies themselves."""
    plan, replies, calls = trip(study, form, seed=7, folder=tmp_path)
    assert set(replies["call"]) == set(plan.calls["call"])
    wanted = collect(plan, replies.to_dict("records"))
    keys = ["call", *(["criterion"] if "criterion" in wanted else [])]
    value = "choice" if "choice" in wanted else "score"
    one, two = (t.set_index(keys)[[value, "status"]].astype(object).sort_index() for t in (calls, wanted))
    pd.testing.assert_series_equal(one[value], two[value])
    lost = "missing" if form == "form" else "empty"
    if form == "form":  # an empty field does not say why: the row is not filled in
        other = ("error", "refused", "parse", "truncated", "empty", "schema")
        one, two = (t.replace({"status": dict.fromkeys(other, lost)}) for t in (one, two))
    assert one["status"].tolist() == two["status"].tolist()
    assert {"ok", lost} <= set(one["status"])
    failed = set(replies.loc[replies["answer"].isna(), "call"])
    assert set(remaining(plan, replies.to_dict("records")).calls["call"]) == failed
    found = js.check(calls).set_index("what")["n"]
    assert found["rows in"] == found["rows used"] + found["rows excluded"]


def test_planted_values_are_covered_in_a_few_trips():
    """Six trips of the strategies; the table has more of each study."""
    study = next(s for s in STUDIES if s.name == "strategies")
    found = pd.DataFrame([row for i in range(6) for row in rows(study, i, seed=100)])
    assert found["interval"].all()
    assert found["format"].nunique() == 6
    assert found["covered"].sum() >= binom.ppf(0.001, len(found), 0.95)
    errors = (found["estimate"] - found["planted"]).groupby(found["measure"]).mean()
    widths = (found["high"] - found["low"]).groupby(found["measure"]).mean()
    assert (np.abs(errors) < widths).all()


def test_the_table_holds_every_study_and_its_coverage_is_nominal():
    table = pd.read_csv(TABLE)
    assert set(table["study"]) == {s.name for s in STUDIES}
    assert (table["replications"] >= 200).all()
    assert (table["formats"] == table["study"].map({s.name: len(s.formats) for s in STUDIES})).all()
    assert (table["no_interval"] == 0).all()
    low = table[table["coverage"] < binom.ppf(0.001, table["replications"], 0.95) / table["replications"]]
    assert low["measure"].tolist() == []
