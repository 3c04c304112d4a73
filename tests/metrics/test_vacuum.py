"""Dark current and the gates: answers to identical responses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats import parse_verdicts, preferences, ratings
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics import psychometrics as js
from metrics.tables import value
from refusals import refused

# ---------------------------------------------------------------- dark current


def test_dark_current_counts_non_ties_by_kind_and_pooled(calls):
    got = js.dark_current(calls)
    vacuum = calls[calls["stimulus"] == "vacuum"]
    assert value(got, "dark_current", vacuum_kind="all") == (vacuum["choice"] != "tie").mean()
    for kind, here in vacuum.groupby("vacuum_kind"):
        assert value(got, "dark_current", vacuum_kind=kind) == (here["choice"] != "tie").mean()
    assert got.loc[got["vacuum_kind"] == "all", "n"].item() == len(vacuum)


def test_an_abstention_in_the_vacuum_is_no_preference():
    counts = pd.DataFrame({"judge": "g", "choice": ["first", "abstain", "tie"], "n": [1, 2, 1]})
    assert js.dark_current(counts)["estimate"].item() == 0.25


@pytest.mark.parametrize(("invalid", "rate", "n"), [("drop", 0.5, 2), ("wrong", 0.75, 4), ("tie", 0.25, 4)])
def test_an_invalid_vacuum_call_is_what_is_asked_for(invalid, rate, n):
    counts = pd.DataFrame({"judge": "g", "choice": ["first", "tie", "invalid"], "n": [1, 1, 2]})
    row = js.dark_current(counts, invalid=invalid).iloc[0]
    assert (row["estimate"], row["n"]) == (rate, n)


def test_dark_current_of_calls_that_share_pairs_is_clustered_and_flagged_where_it_is_not(calls):
    plain, clustered = js.dark_current(calls, cluster=False), js.dark_current(calls, cluster="task")
    assert js.dark_current(calls)["method"].str.contains("clustered by task").all()
    assert plain["flag"].str.contains("calls not independent").all()
    assert not clustered["flag"].str.contains("calls not independent").any()
    assert clustered["method"].str.contains("G = 10").all()
    np.testing.assert_array_equal(plain["estimate"], clustered["estimate"])


def test_dark_current_without_stimuli_says_what_is_missing(calls):
    refused(
        DesignError,
        (calls.drop(columns="stimulus"), "no column 'stimulus'"),
        (calls[calls["stimulus"] == "ladder"], "no row has one"),
        of=js.dark_current,
    )


def test_pooled_prompts_and_counted_rows_are_not_independent(calls):
    vacuum = calls[(calls["stimulus"] == "vacuum")].drop_duplicates("item")
    vacuum = vacuum.drop(columns="task")
    assert not js.dark_current(vacuum, cluster=False)["flag"].str.contains("not independent").any()
    both = pd.concat([vacuum, vacuum.assign(prompt="strict")])
    assert js.dark_current(both, cluster=False)["flag"].str.contains("not independent").all()
    assert not js.dark_current(both, by="prompt", cluster=False)["flag"].str.contains("not independent").any()
    assert js.dark_current(vacuum.assign(n_identical=50), cluster=False)["flag"].str.contains("not independent").all()


def test_gates_are_passed_one_after_the_other():
    calls = pd.DataFrame(
        {
            "judge": "g",
            "item": [str(i) for i in range(10)],
            "first": "x",
            "second": "y",
            "choice": ["first"] * 5 + ["invalid"] * 5,
            "status": ["ok"] * 5 + ["error", "parse", "schema", "semantic", "leak"],
        }
    )
    got = js.validity_gates(calls).set_index("term")
    assert got["n"].to_dict() == {
        "answered": 10,
        "parse": 9,
        "schema": 8,
        "semantic": 7,
        "hidden_metadata": 6,
        "valid": 10,
    }
    assert got.loc["valid", "estimate"] == 0.5
    assert got.loc["hidden_metadata", "estimate"] == pytest.approx(5 / 6)


def test_a_reply_that_is_empty_or_cut_off_fails_the_gate_that_it_did_not_reach():
    replies = [
        "[[A]]",
        "[[B]]",
        "",
        "I'm sorry, but I can't help.",
        "[[A]] or [[B]]",
        '{"winner": "',
        "[[D]]",
        "[[A]], by gpt-4",
    ]
    calls = pd.DataFrame({"judge": "g", "item": list("abcdefgh"), "first": "x", "second": "y"})
    calls = preferences(calls.join(parse_verdicts(replies, answer="choice", hidden=["gpt-4"])))
    got = js.validity_gates(calls).set_index("term")
    passed = (got["estimate"] * got["n"]).round().astype(int)
    assert list(zip(passed, got["n"], strict=True)) == [(6, 8), (4, 6), (3, 4), (3, 3), (2, 3), (2, 8)]
    wilson = js.validity_gates(calls, cluster=False).set_index("term").loc["parse"]
    assert (wilson["conf_low"], wilson["conf_high"]) == pytest.approx((0.2999933151, 0.9032285889))  # prop.test(4, 6)


def test_gates_of_ratings_come_from_the_status_or_from_missing_scores():
    scores = pd.DataFrame({"judge": ["g"] * 4 + ["h"] * 4, "item": list("abcd") * 2})
    texts = ["Rating: 7", "11", "", "Rating: 12/10", "8", "9", "7", "I would give 6 or 7."]
    rated = ratings(scores.join(parse_verdicts(texts, scale=(1, 10))))
    got = js.validity_gates(rated).set_index(["judge", "term"])["estimate"]
    assert got["g"].tolist() == pytest.approx([3 / 4, 1, 2 / 3, 1 / 2, 1, 1 / 4])
    assert got["h"].tolist() == pytest.approx([1, 3 / 4, 1, 1, 1, 3 / 4])
    plain = js.validity_gates(rated.drop(columns="status")).set_index(["judge", "term"])["estimate"]
    assert plain["g", "parse"] == plain["g", "valid"] == 1 / 4
    lazy = js.validity_gates(pl.from_pandas(rated[["judge", "item", "score"]]).lazy())
    assert lazy["estimate"].tolist() == js.validity_gates(rated[["judge", "item", "score"]])["estimate"].tolist()
    with pytest.raises(SchemaError, match="judge and score"):
        js.validity_gates(scores)
