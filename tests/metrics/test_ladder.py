"""Sensitivity and d' on a ladder of planted differences."""

import math

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.metrics import psychometrics as js
from refusals import refused

# ---------------------------------------------------------------- ladder


def test_sensitivity_wrong_and_tie_add_up(calls):
    got = js.target_sensitivity(calls).pivot(index="delta", columns="term", values="estimate")
    np.testing.assert_allclose(got["target_sensitivity"] + got["wrong_choice_rate"] + got["miss_by_tie"], 1)
    np.testing.assert_allclose(got["non_tie_accuracy"], got["target_sensitivity"] / (1 - got["miss_by_tie"]))


def test_accuracy_among_non_ties_of_ties_alone_is_no_number():
    counts = pd.DataFrame({"judge": "g", "delta": 1, "outcome": ["tie"], "n": [10]})
    row = js.target_sensitivity(counts, cluster=False).set_index("term").loc["non_tie_accuracy"]
    assert math.isnan(row["estimate"])
    assert row["flag"] == "10 ties excluded; no data"


def test_d_prime_of_copies_is_that_of_one(calls):
    ladder = calls[calls["delta"].notna()].drop(columns="task")
    again = pd.concat([ladder.assign(replicate=r) for r in range(4)], ignore_index=True)
    one, four = (js.d_prime(c).query("delta == 1").set_index("term") for c in (ladder, again))
    assert four.loc["d_prime", "method"].startswith("log-linear, Gourevitch-Galanter, clustered by item (G = ")
    widths = [t.loc["d_prime", "conf_high"] - t.loc["d_prime", "conf_low"] for t in (one, four)]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)
    apart = js.d_prime(again, cluster=False).query("delta == 1").set_index("term")
    assert apart.loc["d_prime", "conf_high"] - apart.loc["d_prime", "conf_low"] < 0.75 * widths[1]
    assert "calls not independent" in apart.loc["d_prime", "flag"]


def test_d_prime_at_ceiling_is_the_printed_number_and_flagged():
    counts = pd.DataFrame(
        {"judge": "g", "delta": 5, "target_slot": ["first", "second"], "choice": ["first", "second"], "n": [10, 10]}
    )
    row = js.d_prime(counts).set_index("term").loc["d_prime"]
    assert round(row["estimate"], 4) == 3.3812
    assert "ceiling" in row["flag"]
    assert math.isnan(row["conf_low"])


def test_d_prime_counts_a_tie_half_to_each_side():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "delta": 1,
            "target_slot": ["first", "first", "second", "second"],
            "choice": ["first", "tie", "second", "tie"],
            "n": [20, 20, 20, 20],
        }
    )
    got = js.d_prime(counts).set_index("term")
    from scipy.stats import norm

    assert got.loc["d_prime", "estimate"] == pytest.approx(norm.ppf(30.5 / 41) - norm.ppf(10.5 / 41))
    assert got.loc["slot_criterion", "estimate"] == pytest.approx(0)


def test_d_prime_of_a_judge_with_one_slot_is_no_number_and_spares_the_others():
    counts = pd.DataFrame(
        {
            "judge": ["g", "h", "h", "i"],
            "delta": 1,
            "target_slot": ["first", "first", "second", "first"],
            "choice": ["first", "first", "second", "invalid"],
            "n": [40, 40, 40, 40],
        }
    )
    got = js.d_prime(counts, cluster=False)
    got = got[got["term"] == "d_prime"].set_index("judge")
    assert math.isnan(got.loc["g", "estimate"])
    assert got.loc["g", "flag"] == "target in one position only"
    assert got.loc["h", "estimate"] > 4
    assert (got.loc["i", "n"], got.loc["i", "flag"]) == (0, "no data; n < 30; 40 invalid calls excluded")


def test_unknown_orders_and_candidates_are_refused(calls):
    wrong = calls.copy()
    wrong.loc[wrong["stimulus"] == "ladder", "better"] = "somebody"
    refused(
        SchemaError,
        (lambda: js.target_sensitivity(wrong), "'better' is 'somebody'"),
        (lambda: js.d_prime(calls.assign(order_known=False)), DesignError, "order_known"),
    )
