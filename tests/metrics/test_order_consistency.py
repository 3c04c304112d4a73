"""Consistency over orders and repeats: decomposition, policies, clusters."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.errors import DesignError, SchemaError
from judgestats.flags import NO_DATA, NOT_INDEPENDENT
from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.metrics.bias import consistency
from judgestats.results import COLUMNS
from metrics.answers import pick, random_answers, random_calls
from metrics.tables import PAIRS, calls_of
from refusals import refused


def test_every_pair_of_few_tasks_the_same():
    """Of 17 tasks the interval is that of 17, of nine that of the pairs."""
    one = pd.DataFrame({"judge": "g", "item": np.arange(340), "first": "x", "second": "y", "choice": "first"})
    both = pd.concat([one, one.assign(first="y", second="x", choice="second")])
    row = consistency(both.assign(task=both["item"] % 9)).iloc[0]
    assert (row["estimate"], row["method"]) == (1.0, "Wilson; holds for these 9 tasks")
    assert row["conf_low"] == pytest.approx(wilson(340, 340)[0])
    row = consistency(both.assign(task=both["item"] % 17)).iloc[0]
    assert row["method"] == "Wilson, clustered by task (G = 17)"
    assert row["conf_low"] < 0.8


def test_decomposition_of_pairs():
    result = consistency(calls_of())
    assert result.columns.tolist() == ["judge", *COLUMNS]
    assert (result["n"] == 9).all()
    assert pick(result) == pytest.approx(
        {
            "consistency": 5 / 9,
            "first_twice": 2 / 9,
            "second_twice": 1 / 9,
            "both_tie": 2 / 9,
            "one_sided": 1 / 9,
        }
    )
    low, high = wilson(5, 9)
    assert result[["conf_low", "conf_high"]].iloc[0].tolist() == pytest.approx([float(low), float(high)])
    assert result["method"].iloc[0] == "Wilson"
    assert NOT_INDEPENDENT not in result["flag"].iloc[0], "pairs are the unit"


@pytest.mark.parametrize(
    ("missing", "unit", "k", "n"),
    [
        ("drop", "pair", 5, 9),
        ("agrees", "pair", 7, 11),
        ("same", "pair", 7, 13),
        ("drop", "call", 10, 18),
        ("agrees", "call", 12, 20),
        ("same", "call", 14, 26),
    ],
)
def test_missing_policies_and_units(missing, unit, k, n):
    result = consistency(calls_of(), missing=missing, unit=unit, cluster=False)
    first = result.iloc[0]
    assert first["term"] == "consistency"
    assert (first["estimate"] * first["n"], first["n"]) == (pytest.approx(k), n)
    assert (NOT_INDEPENDENT in first["flag"]) == (unit == "call")
    shares = pick(result)
    parts = shares["consistency"] + shares["first_twice"] + shares["second_twice"] + shares["one_sided"]
    lacking = {"same": (2 if unit == "pair" else 4) / n}.get(missing, 0.0)
    assert parts + lacking == pytest.approx(1)


def test_lone_orders_under_each_policy():
    lone = calls_of([("first", None), ("invalid", None)])
    nothing = consistency(lone)
    assert nothing["estimate"].isna().all()
    assert (nothing["flag"] == f"2 pairs without two valid answers excluded; {NO_DATA}").all()
    assert consistency(lone, missing="agrees")[["estimate", "n"]].iloc[0].tolist() == [1.0, 1.0]
    assert consistency(lone, missing="same")[["estimate", "n"]].iloc[0].tolist() == [0.5, 2.0]


def test_a_tally_in_place_of_the_frame():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "forward": ["first", "first", "invalid"],
            "reverse": ["second", "first", "tie"],
            "n": [60, 30, 10],
        }
    )
    assert pick(consistency(counts))["consistency"] == pytest.approx(60 / 90)
    assert pick(consistency(counts, missing="agrees"))["consistency"] == pytest.approx(70 / 100)
    assert pick(consistency(counts, missing="agrees", unit="call"))["consistency"] == pytest.approx(130 / 190)


def test_clusters():
    calls = pd.concat([calls_of(PAIRS[:9]).assign(replicate=r) for r in range(3)])
    plain = consistency(calls, cluster=False).iloc[0]
    clustered = consistency(calls).iloc[0]
    assert clustered["estimate"] == plain["estimate"]
    assert clustered["method"] == "Wilson, clustered by item (G = 9)"
    # three equal replicates are worth no more than one
    agree = np.array([1, 1, 1, 0, 0, 0, 1, 1, 0]) * 3.0
    assert clustered[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx(
        clustered_wilson(agree, np.full(9, 3.0))
    )
    assert clustered["conf_high"] - clustered["conf_low"] > plain["conf_high"] - plain["conf_low"]


def repeats(*answers: list[str], **columns) -> pd.DataFrame:
    rows = [
        {"judge": "g", "item": str(item), "first": "x", "second": "y", "replicate": r, "choice": choice}
        for item, row in enumerate(answers)
        for r, choice in enumerate(row)
    ]
    return pd.DataFrame(rows).assign(**columns)


REPEATED = [
    ["first", "first", "first"],
    ["first", "second", "tie"],
    ["tie", "abstain", "first"],
    ["second", "invalid", "second"],
    ["first", "invalid", "invalid"],
]


@pytest.mark.parametrize(
    ("missing", "k", "n"),
    # pairs of repeats: 3 of 3, 0 of 3, 1 of 3, then 1 valid and equal with 2 half-valid, then 2 half-valid and 1 empty
    [("drop", 5, 10), ("agrees", 9, 14), ("same", 6, 15)],
)
def test_repeats(missing, k, n):
    result = consistency(repeats(*REPEATED), over="replicate", missing=missing)
    assert result["term"].tolist() == ["consistency"]
    assert result["estimate"].iloc[0] == pytest.approx(k / n)
    assert result["n"].iloc[0] == n
    assert result["method"].iloc[0].startswith("Wilson, clustered by item (G = ")
    calls = consistency(repeats(*REPEATED), over="replicate", missing=missing, unit="call")
    assert calls["n"].iloc[0] == {"drop": 20, "agrees": 24, "same": 30}[missing]


def test_repeats_cluster_by_another_column():
    calls = repeats(*REPEATED)
    calls["task"] = np.where(calls["item"].isin(["0", "1"]), "a", "b")
    result = consistency(calls, over="replicate", cluster="task").iloc[0]
    assert result["method"] == "Wilson, clustered by task (G = 2)"
    expected = clustered_wilson(np.array([3.0, 2.0]), np.array([6.0, 4.0]))
    assert result[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx(expected)


def test_repeats_from_counts():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "item": ["1", "1", "2"],
            "first": "x",
            "second": "y",
            "choice": ["first", "tie", "second"],
            "n_identical": [4, 2, 3],
        }
    )
    result = consistency(counts, over="replicate")
    assert result["estimate"].iloc[0] == pytest.approx((4 * 3 + 2 * 1 + 3 * 2) / (6 * 5 + 3 * 2))
    singly = counts.loc[counts.index.repeat(counts["n_identical"])].drop(columns="n_identical").reset_index(drop=True)
    singly["replicate"] = range(len(singly))
    again = consistency(singly, over="replicate")
    pd.testing.assert_frame_equal(result, again)


def test_repeats_do_not_cross_orders_or_conditions():
    calls = pd.concat(
        [
            repeats(["first", "first"]),
            repeats(["second", "second"]).assign(first="y", second="x"),
            repeats(["tie", "tie"], prompt="q"),
        ]
    )
    result = consistency(calls.fillna({"prompt": "p"}), over="replicate")
    assert result[["estimate", "n"]].iloc[0].tolist() == [1.0, 3.0]
    by = consistency(
        pd.concat([repeats(["first", "first"], shots=0), repeats(["tie", "tie"], shots=2)]),
        over="replicate",
        by="shots",
    )
    assert by[["judge", "shots", "estimate", "n"]].to_numpy().tolist() == [["g", 0, 1.0, 1.0], ["g", 2, 1.0, 1.0]]


def test_repeats_that_cannot_be_told():
    calls = repeats(["first", "first"])
    refused(
        DesignError,
        (calls.drop(columns="replicate"), r"no column identifies them. Number them in 'replicate'"),
        (pd.concat([calls, calls]), r"2 calls repeat a call with the same replicate number"),
        (
            pd.DataFrame({"judge": ["g"], "forward": ["tie"], "reverse": ["tie"], "n": [1]}),
            r"needs item, first, second, choice.*has no repeats",
        ),
        (calls.assign(choice="A"), SchemaError, r"'choice' has 'A'"),
        of=lambda wrong: consistency(wrong, over="replicate"),
    )
    once = consistency(repeats(["first"], ["tie"]), over="replicate")
    assert math.isnan(once["estimate"].iloc[0])
    assert NO_DATA in once["flag"].iloc[0]


@settings(max_examples=25, deadline=None)
@given(random_answers, st.sampled_from(["drop", "agrees", "same"]))
def test_repeats_against_brute_force(answers, missing):
    calls = random_calls(answers).replace({"choice": {"abstain": "tie"}})
    result = consistency(calls, over="replicate", missing=missing).set_index("judge")
    for judge, rows in calls.groupby("judge"):
        k = n = 0
        for _, unit in rows.groupby(["item", "first", "second", "strategy"]):
            for one, two in combinations(unit["choice"], 2):
                absent = (one == "invalid") + (two == "invalid")
                if (missing == "drop" and absent) or (missing == "agrees" and absent == 2):
                    continue
                n += 1
                k += one == two or (missing == "agrees" and absent == 1)
        assert result.loc[judge, "n"] == n
        assert result.loc[judge, "estimate"] == pytest.approx(k / n if n else math.nan, nan_ok=True)


def test_repeats_of_right_and_wrong_are_those_of_zero_and_one():
    """Three answers to each of two items, TTF and FFF: 1 of 3 and 3 of 3 pairs agree."""
    table = pd.DataFrame({"judge": "g", "item": [*"111222"], "replicate": [0, 1, 2] * 2, "correct": [1, 1, 0, 0, 0, 0]})
    found = consistency(table.astype({"correct": bool}), over="replicate")
    assert found["estimate"].item() == pytest.approx(4 / 6)
    scores = table.rename(columns={"correct": "score"})
    pd.testing.assert_frame_equal(found, consistency(scores, over="replicate"))
