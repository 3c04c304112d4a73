"""Consistency and position bias of answers in both orders: closed forms, clusters, repeats, invariances."""

from __future__ import annotations

import math
import re
from itertools import combinations, product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats import published
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import FORCED_CHOICE, NO_DATA, NOT_INDEPENDENT, ORDER_CONFOUNDED
from judgestats.kernels.proportions import clustered_wilson, tango, wilson
from judgestats.metrics.bias import answer_rates, bias_score, consistency, position_bias
from judgestats.metrics.correctness import gold_agreement
from judgestats.results import COLUMNS
from judgestats.verdicts import aggregate
from metrics.tables import PAIRS, both_orders, calls_of, signed_calls

FLIPPED = {"first": "second", "second": "first"}

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]


def pick(result: pd.DataFrame, column: str = "estimate") -> dict[str, float]:
    return dict(zip(result["term"], result[column], strict=True))


# --- consistency over orders


def test_every_pair_of_few_tasks_the_same_has_the_interval_of_the_pairs():
    one = pd.DataFrame({"judge": "g", "item": np.arange(340), "first": "x", "second": "y", "choice": "first"})
    both = pd.concat([one, one.assign(first="y", second="x", choice="second")])
    row = consistency(both.assign(task=both["item"] % 17)).iloc[0]
    assert (row["estimate"], row["method"]) == (1.0, "Wilson")
    assert row["conf_low"] == pytest.approx(wilson(340, 340)[0])
    assert consistency(both.assign(task=both["item"] % 17), cluster="task").iloc[0]["conf_low"] < 0.8


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


def test_forced_choice_is_said_where_ties_are_the_question():
    forced = calls_of(PAIRS[:6], ties_allowed=False)
    free = calls_of(PAIRS[:6], judge="h", ties_allowed=True)
    result = consistency(pd.concat([forced, free]))
    told = result[result["flag"].str.contains(FORCED_CHOICE)]
    assert set(told["judge"]) == {"g"}
    assert set(told["term"]) == {"both_tie", "one_sided"}
    lean = position_bias(pd.concat([forced, free]))
    assert lean.loc[lean["flag"].str.contains(FORCED_CHOICE), ["judge", "term"]].to_numpy().tolist() == [["g", "tie"]]
    unsaid = forced.assign(ties_allowed=pd.array([None] * len(forced), dtype="boolean"))
    assert not position_bias(unsaid)["flag"].str.contains(FORCED_CHOICE).any()
    told = position_bias(pl.from_pandas(forced))
    assert told.loc[told["flag"].str.contains(FORCED_CHOICE), "term"].tolist() == ["tie"]


# --- consistency over repeats


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
    with pytest.raises(DesignError, match=r"no column identifies them. Number them in 'replicate'"):
        consistency(calls.drop(columns="replicate"), over="replicate")
    with pytest.raises(DesignError, match=r"2 calls repeat a call with the same replicate number"):
        consistency(pd.concat([calls, calls]), over="replicate")
    with pytest.raises(DesignError, match=r"needs item, first, second, choice.*has no repeats"):
        consistency(pd.DataFrame({"judge": ["g"], "forward": ["tie"], "reverse": ["tie"], "n": [1]}), over="replicate")
    with pytest.raises(SchemaError, match=r"'choice' has 'A'"):
        consistency(calls.assign(choice="A"), over="replicate")
    once = consistency(repeats(["first"], ["tie"]), over="replicate")
    assert math.isnan(once["estimate"].iloc[0])
    assert NO_DATA in once["flag"].iloc[0]


# --- slot lean


def test_position_bias():
    result = position_bias(calls_of(), cluster=False)
    assert result["term"].tolist() == ["first", "second", "tie", "invalid", "position_bias", "first_share_nontie"]
    # 9 first, 5 second, 6 ties (one an abstention), 4 invalid
    assert pick(result) == pytest.approx(
        {
            "first": 9 / 24,
            "second": 5 / 24,
            "tie": 6 / 24,
            "invalid": 4 / 24,
            "position_bias": 4 / 20,
            "first_share_nontie": 9 / 14,
        }
    )
    assert result["n"].tolist() == [24, 24, 24, 24, 20, 14]
    assert pick(result, "std_error")["position_bias"] == pytest.approx(math.sqrt((9 / 20 + 5 / 20 - 0.2**2) / 20))
    assert result["flag"].str.contains(NOT_INDEPENDENT).all()


@pytest.mark.parametrize("choice", ["first", "second", "tie"])
def test_the_lean_of_an_unwavering_judge_has_an_interval(choice):
    counts = pd.DataFrame({"judge": "g", "choice": [choice], "n": [12]})
    lean = position_bias(counts).set_index("term").loc["position_bias"]
    expected = {"first": 1.0, "second": -1.0, "tie": 0.0}[choice]
    assert lean["estimate"] == expected
    assert -1 <= lean["conf_low"] <= expected <= lean["conf_high"] <= 1
    assert lean["conf_high"] - lean["conf_low"] > 0.1
    calls = pd.DataFrame({"judge": "g", "item": list("abcdef"), "first": "x", "second": "y", "choice": choice})
    thrice = pd.concat([calls.assign(replicate=r) for r in range(3)])
    once, again = (position_bias(t, cluster="item").set_index("term").loc["position_bias"] for t in (calls, thrice))
    assert once["estimate"] == expected
    assert once["conf_high"] - once["conf_low"] > 0.1
    assert once[["conf_low", "conf_high"]].tolist() == again[["conf_low", "conf_high"]].tolist()


def test_the_lean_without_ties_is_twice_a_share():
    """Without ties lean = 2 p - 1, and Newcombe's interval for it is Wilson's stretched."""
    counts = pd.DataFrame({"judge": "g", "choice": ["first", "second"], "n": [30, 50]})
    result = position_bias(counts).set_index("term")
    lean, share = result.loc["position_bias"], result.loc["first_share_nontie"]
    assert lean[["estimate", "conf_low", "conf_high"]].tolist() == pytest.approx(
        [2 * share[c] - 1 for c in ("estimate", "conf_low", "conf_high")]
    )
    calls = pd.DataFrame(
        {
            "judge": "g",
            "item": [str(i // 4) for i in range(48)],
            "replicate": range(48),
            "first": "x",
            "second": "y",
            "choice": np.random.default_rng(2).choice(["first", "second"], size=48),
        }
    )
    result = position_bias(calls, cluster="item").set_index("term")
    lean, share = result.loc["position_bias"], result.loc["first_share_nontie"]
    assert share["method"] == "Wilson, clustered by item (G = 12)"
    assert lean["estimate"] == pytest.approx(2 * share["estimate"] - 1)
    ends = [2 * share[c] - 1 for c in ("conf_low", "conf_high")]
    assert lean[["conf_low", "conf_high"]].tolist() == pytest.approx(ends, abs=0.03), "Tango's and Wilson's"


def test_clustered_lean():
    """As many clusters as calls: the plain interval with t; each call thrice: the same as each call once."""
    rng = np.random.default_rng(5)
    calls = pd.DataFrame({"judge": "g", "item": [str(i) for i in range(40)], "first": "x", "second": "y"})
    calls["choice"] = rng.choice(["first", "second", "tie", "invalid"], p=[0.5, 0.2, 0.2, 0.1], size=40)
    thrice = pd.concat([calls.assign(replicate=r) for r in range(3)])
    once, again = (position_bias(t, cluster="item").set_index("term").loc["position_bias"] for t in (calls, thrice))
    assert once[["estimate", "std_error", "conf_low", "conf_high"]].tolist() == pytest.approx(
        again[["estimate", "std_error", "conf_low", "conf_high"]].tolist()
    )
    plain = position_bias(calls).set_index("term").loc["position_bias"]
    valid = int(plain["n"])
    assert once["std_error"] == pytest.approx(plain["std_error"] * math.sqrt(valid / (valid - 1)))
    assert once["method"] == f"Tango, two shares of one sample, clustered by item (G = {valid})"
    one = (
        position_bias(calls.assign(item="1", replicate=range(40)), cluster="item")
        .set_index("term")
        .loc["position_bias"]
    )
    assert math.isnan(one["conf_low"])
    assert "one unit" in one["flag"]


def test_the_lean_of_nothing():
    result = position_bias(pd.DataFrame({"judge": ["g"], "choice": ["invalid"], "n": [3]})).set_index("term")
    assert math.isnan(result.loc["position_bias", "estimate"])
    assert NO_DATA in result.loc["position_bias", "flag"]
    assert result.loc["invalid", "estimate"] == 1


def coverage(p: tuple[float, float, float], n: int, draws: int) -> float:
    rng = np.random.default_rng(20)
    counts = rng.multinomial(n, p, size=draws)
    table = pd.DataFrame(
        {
            "judge": np.repeat([f"{i:05d}" for i in range(draws)], 3),
            "choice": ["first", "second", "tie"] * draws,
            "n": counts.ravel(),
        }
    )
    lean = position_bias(table).query("term == 'position_bias'")
    return float(((lean["conf_low"] <= p[0] - p[1]) & (p[0] - p[1] <= lean["conf_high"])).mean())


@pytest.mark.parametrize("p", [(0.5, 0.3, 0.2), (0.9, 0.02, 0.08), (0.1, 0.1, 0.8)])
def test_coverage_of_the_lean(p):
    assert 0.93 < coverage(p, 50, 800) < 0.99


# --- all three

MEASURES = {
    "consistency": consistency,
    "position_bias": position_bias,
    "gold_agreement": gold_agreement,
    "repeats": lambda calls, **options: consistency(calls, over="replicate", **options),
}

CELLS = list(product("gh", "123", ("xy", "yx"), (0, 1), "st"))

random_answers = st.lists(
    st.sampled_from(["first", "second", "tie", "abstain", "invalid", None]), min_size=len(CELLS), max_size=len(CELLS)
).filter(lambda answers: all(any(answers[i : i + len(CELLS) // 2]) for i in (0, len(CELLS) // 2)))


def random_calls(answers: list[str | None]) -> pd.DataFrame:
    rows = [(j, i, a, b, r, s) for j, i, (a, b), r, s in CELLS]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "replicate", "strategy"])
    calls = calls.assign(choice=answers, gold=calls["item"].map({"1": "x", "2": "y", "3": "tie"}))
    return calls[calls["choice"].notna()]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    random_answers,
    st.sampled_from(["consistency", "position_bias", "gold_agreement"]),
    st.sampled_from([(), "strategy"]),
    st.sampled_from([False, "item"]),
)
def test_a_frame_and_its_tally_are_equal(answers, measure, by, cluster):
    calls = random_calls(answers)
    counts = tally(calls, measure, by, cluster=cluster)
    there, here = (MEASURES[measure](t, by=by, cluster=cluster) for t in (calls, counts))
    keys = ["judge", *([by] if by else []), "term"]
    pd.testing.assert_frame_equal(there[[*keys, *NUMBERS, "method"]], here[[*keys, *NUMBERS, "method"]])


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(random_answers, st.sampled_from(list(MEASURES)), st.randoms(use_true_random=False))
def test_order_of_rows_and_names_of_judges_do_not_matter(answers, measure, random):
    calls = random_calls(answers)
    expected = MEASURES[measure](calls, by="strategy")
    rows = list(range(len(calls)))
    random.shuffle(rows)
    pd.testing.assert_frame_equal(MEASURES[measure](calls.iloc[rows], by="strategy"), expected)
    names = {"g": "q", "h": "r"}
    renamed = MEASURES[measure](calls.assign(judge=calls["judge"].map(names)), by="strategy")
    pd.testing.assert_frame_equal(renamed, expected.assign(judge=expected["judge"].map(names)))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(random_answers)
def test_exchange_of_the_slots(answers):
    """The same answers with the candidates shown the other way round."""
    calls = random_calls(answers)
    turned = calls.assign(first=calls["second"], second=calls["first"], choice=calls["choice"].replace(FLIPPED))
    same = {**FLIPPED, "first_twice": "second_twice", "second_twice": "first_twice"}

    def numbers(result: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
        result = result.assign(term=result["term"].map(lambda t: names.get(t, t)))
        return result.set_index(["judge", "term"])[NUMBERS].sort_index()

    for measure in ("consistency", "gold_agreement", "repeats"):
        here, there = (MEASURES[measure](t) for t in (calls, turned))
        pd.testing.assert_frame_equal(numbers(here, {}), numbers(there, same))
    here, there = (position_bias(t).query("term == 'position_bias'") for t in (calls, turned))
    mirrored = -there[["estimate", "conf_high", "conf_low"]].to_numpy()
    np.testing.assert_allclose(here[["estimate", "conf_low", "conf_high"]].to_numpy(), mirrored)


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


FRAMES = {
    "polars": pl.from_pandas,
    "polars lazy": lambda t: pl.from_pandas(t).lazy(),
    "arrow": lambda t: pa.Table.from_pandas(t, preserve_index=False),
    "duckdb": duckdb.from_df,
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("measure", MEASURES)
def test_every_kind_of_frame(kind, measure):
    calls = pd.concat([calls_of().assign(replicate=r, gold="x", ties_allowed=True, order_known=True) for r in (0, 1)])
    expected = MEASURES[measure](calls)
    pd.testing.assert_frame_equal(MEASURES[measure](FRAMES[kind](calls)), expected)


@pytest.mark.parametrize("measure", [consistency, position_bias])
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_measures_of_order_refuse_where_it_is_unknown(measure, make):
    calls = calls_of(order_known=[True, *[False] * 23])
    for frame in (calls, make(calls), aggregate(calls_of())):
        with pytest.raises(DesignError, match=r"order_known is False"):
            measure(frame)


@pytest.mark.parametrize("measure", MEASURES)
def test_judge_then_by_and_sorted(measure):
    calls = pd.concat(
        [calls_of(judge=j, strategy=s, replicate=r, gold="x") for j in "ba" for s in ("s2", "s1") for r in (0, 1)]
    )
    result = MEASURES[measure](calls, by="strategy")
    assert result.columns.tolist() == ["judge", "strategy", *COLUMNS]
    keys = list(dict.fromkeys(result[["judge", "strategy"]].itertuples(index=False, name=None)))
    assert keys == [("a", "s1"), ("a", "s2"), ("b", "s1"), ("b", "s2")]
    pd.testing.assert_frame_equal(MEASURES[measure](calls, by=["judge", "strategy"]), result)
    pd.testing.assert_frame_equal(MEASURES[measure](calls, by=()), MEASURES[measure](calls, by=[]))
    with pytest.raises(SchemaError, match=r"by='stratgy' is not a column.*Did you mean 'strategy'"):
        MEASURES[measure](calls, by="stratgy")


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        (consistency, {"over": "repeat"}, r"over='repeat' is not known. Allowed: 'order', 'replicate'"),
        (consistency, {"missing": "ignore"}, r"missing='ignore' is not known. Allowed: 'drop', 'agrees', 'same'"),
        (consistency, {"unit": "row"}, r"unit='row' is not known. Allowed: 'pair', 'call'"),
        (gold_agreement, {"invalid": "ignore"}, r"Allowed: 'drop', 'wrong', 'tie'"),
        (gold_agreement, {"ties": "wrong"}, r"ties='wrong' is not known. Allowed: 'exact', 'drop', 'half'"),
    ],
)
def test_unknown_options(measure, options, message):
    with pytest.raises(DesignError, match=message):
        measure(calls_of(gold="x"), **options)


def test_the_level_of_the_interval():
    for measure in MEASURES.values():
        calls = pd.concat([calls_of().assign(replicate=r, gold="x") for r in (0, 1)])
        wide, narrow = (measure(calls, conf_level=level) for level in (0.99, 0.8))
        width = [r["conf_high"] - r["conf_low"] for r in (wide, narrow)]
        assert (width[0] > width[1]).all()


def test_the_steadiest_judge_has_the_narrowest_clustered_lean():
    """Every pair answered once in each slot: no cluster leans, and the interval does not jump to that of single calls."""
    pairs = 200
    calls = pd.DataFrame(
        {
            "judge": "g",
            "item": np.repeat(np.arange(pairs), 2).astype(str),
            "first": ["x", "y"] * pairs,
            "second": ["y", "x"] * pairs,
            "choice": ["first", "second"] * pairs,
        }
    )
    steady = position_bias(calls, cluster="item").set_index("term").loc["position_bias"]
    one_off = calls.copy()
    one_off.loc[1, "choice"] = "first"
    nearly = position_bias(one_off, cluster="item").set_index("term").loc["position_bias"]
    assert steady["estimate"] == 0
    assert 0 < steady["conf_high"] < 0.03
    assert nearly["conf_high"] - nearly["conf_low"] < 0.06


# ---------------------------------------------------------------- what calls share


def test_a_judge_without_a_discordant_pair_has_tangos_interval():
    calls = both_orders(350)
    found, apart = (position_bias(calls, **o).set_index("term").loc["position_bias"] for o in ({}, {"cluster": False}))
    assert found["estimate"] == 0
    assert (found["conf_low"], found["conf_high"]) == (pytest.approx(-0.011, abs=5e-4), pytest.approx(0.011, abs=5e-4))
    assert found["method"] == "Tango, two shares of one sample, clustered by item (G = 350)"
    assert apart["conf_high"] == pytest.approx(0.074, abs=5e-4)
    assert apart["flag"] == "calls not independent"
    counted = position_bias(tally(calls, "position_bias")).set_index("term").loc["position_bias"]
    assert counted.equals(found)


def test_discordant_pairs_are_what_the_interval_of_a_lean_is_about():
    """Each pair is a unit: first twice in 4 of 350 is Tango's interval of 4 and 0 discordant pairs."""
    found = position_bias(both_orders(350, 4)).set_index("term").loc["position_bias"]
    assert found["estimate"] == pytest.approx(4 / 350)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx(tango(4, 0, 350), abs=2e-4)


def test_slot_one_is_the_lean_of_position_bias():
    calls = signed_calls()
    lean = position_bias(calls, cluster="item").query("term == 'position_bias'")
    score = bias_score(calls, target="first", cluster="item").query("term == 'bias'")
    np.testing.assert_allclose(score[NUMBERS].to_numpy(), lean[NUMBERS].to_numpy())


def test_position_bias_names_the_model_for_the_arguments_of_the_model():
    calls = pd.DataFrame({"judge": "g", "item": ["1"], "first": "x", "second": "y", "choice": ["first"]})
    with pytest.raises(DesignError, match=r"not attribute=, pooled=\. .*models\.position_bias_model\(\)"):
        position_bias(calls, attribute="length", pooled=False)


# ---------------------------------------------------------------- A and B of verdicts that have no order


def swapped_calls(a: int, b: int, tie: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both orders of as many pairs, of which position swap makes these verdicts; and the pairs as they are listed."""
    n = a + b + tie
    verdict = np.repeat(["a", "b", "tie"], [a, b, tie])
    rng = np.random.default_rng(1)
    one, two = np.array([rng.choice(["m1", "m2", "m3"], 2, replace=False) for _ in range(n)]).T
    pairs = pd.DataFrame({"item": [f"q{i}" for i in range(n)], "first": one, "second": two})
    forward = pairs.assign(choice=np.select([verdict == "a", verdict == "b"], ["first", "second"], "tie"))
    # half of the ties are a disagreement: the first slot in both orders
    forward.loc[(verdict == "tie") & (np.arange(n) % 2 == 0), "choice"] = "first"
    back = pairs.rename(columns={"first": "second", "second": "first"})
    back["choice"] = np.select([verdict == "a", verdict == "b"], ["second", "first"], "tie")
    back.loc[(verdict == "tie") & (np.arange(n) % 2 == 0), "choice"] = "first"
    return pd.concat([forward, back]).assign(judge="g"), pairs


@pytest.mark.parametrize("strategy", ["S1", "S8"])
def test_a_and_b_of_table_3_after_the_swap(strategy):
    printed = published.load("debiasing/table3").query("strategy == @strategy")
    for _, row in printed.iterrows():
        wanted = [int(row[c]) for c in ("a", "b", "tie")]
        calls, pairs = swapped_calls(*wanted)
        verdicts = aggregate(calls, "swap")
        with pytest.raises(DesignError):
            position_bias(verdicts)
        found = answer_rates(verdicts, listed=pairs).set_index("term")
        n = sum(wanted)
        assert (found.loc[["first", "second", "tie"], "estimate"] * n).round(6).tolist() == wanted
        assert found.loc["first", ["conf_low", "conf_high"]].tolist() == pytest.approx(
            list(map(float, wilson(wanted[0], n)))
        )


def test_the_order_of_presentation_does_not_matter_to_a_and_b():
    calls, pairs = swapped_calls(20, 10, 0)
    found = answer_rates(calls, listed=pairs).set_index("term")
    assert found.loc["first", "estimate"] == pytest.approx(2 / 3)
    assert found.loc["second", "estimate"] == pytest.approx(1 / 3)
    turned = pairs.rename(columns={"first": "second", "second": "first"})
    other = answer_rates(calls, listed=turned).set_index("term")
    assert other.loc["first", "estimate"] == pytest.approx(1 / 3)
    assert list(answer_rates(calls)["term"]) == ["tie", "invalid"]


def test_bad_listing():
    calls, pairs = swapped_calls(3, 3, 0)
    with pytest.raises(DesignError, match="is not in listed="):
        answer_rates(calls, listed=pairs.iloc[1:])
    with pytest.raises(DesignError, match="both ways round"):
        answer_rates(calls, listed=calls)
    with pytest.raises(DesignError, match=r"listed= has no column 'first'"):
        answer_rates(calls, listed=pairs[["item"]])


def one_order(pairs):
    """Calls of one judge on one item for each (first, second), all for the first."""
    rows = [("g", f"i{i}", first, second, "first") for i, (first, second) in enumerate(pairs)]
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.Table.from_pandas])
@pytest.mark.parametrize(
    ("pairs", "confounded"),
    [
        ([("base", "new")] * 12, True),
        ([("base", f"new {i}") for i in range(12)], True),  # one candidate always stands first
        ([*combinations("abc", 2)] * 4, True),  # always in the order of the alphabet
        ([("base", "new")] * 6 + [("new", "base")] * 6, False),  # the order is shuffled
        ([(f"one of {i}", f"two of {i}") for i in range(12)], False),  # ids of the item say nothing
    ],
)
def test_position_bias_is_flagged_where_order_and_candidate_are_one(make, pairs, confounded):
    calls = one_order(pairs)
    calls = make(calls if make is not pl.DataFrame and make is not pl.LazyFrame else calls.to_dict("list"))
    found = position_bias(calls).set_index("term")["flag"]
    assert [ORDER_CONFOUNDED in found[t] for t in ("position_bias", "first_share_nontie")] == [confounded] * 2
    assert not found[["first", "second", "tie", "invalid"]].str.contains(ORDER_CONFOUNDED).any()


def test_confounding_is_a_matter_of_each_group():
    both = one_order([("x", "y"), ("y", "x")] * 6).assign(judge="both")
    calls = pd.concat([one_order([("x", "y")] * 12), both], ignore_index=True)
    found = position_bias(calls).query("term == 'position_bias'").set_index("judge")["flag"]
    assert ORDER_CONFOUNDED in found["g"]
    assert ORDER_CONFOUNDED not in found["both"]
    by = position_bias(calls.assign(set="one"), by="set")
    assert ORDER_CONFOUNDED in by.query("judge == 'g' and term == 'position_bias'")["flag"].item()
    nameless = calls.assign(set=calls["judge"].where(calls["judge"] == "both"))
    for frame in (nameless, pl.from_pandas(nameless), pl.from_pandas(nameless).lazy()):
        by = position_bias(frame, by="set").query("term == 'position_bias'").set_index("judge")["flag"]
        assert ORDER_CONFOUNDED in by["g"]
        assert ORDER_CONFOUNDED not in by["both"]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
def test_used_and_excluded_calls_and_pairs_add_up_in_every_row(share):
    rng = np.random.default_rng(2)
    rows = [(f"i{i}", *order) for i in range(100) for order in (("a", "b"), ("b", "a"))]
    table = pd.DataFrame(rows, columns=["item", "first", "second"]).assign(judge="g")
    table["choice"] = rng.choice(["first", "second", "tie"], 200)
    table.loc[rng.random(200) < share, "choice"] = "invalid"

    def total(row):
        return row["n"] + sum(float(k) for k in re.findall(r"(\d+) [^;]*excluded", row["flag"]))

    for missing in ("drop", "agrees", "same"):
        assert (consistency(table, missing=missing).apply(total, axis=1) == 100).all()
    assert (position_bias(table).apply(total, axis=1) == 200).all()
    again = pd.concat([table.assign(replicate=r, choice=rng.permutation(table["choice"])) for r in range(2)])
    assert (consistency(again, over="replicate").apply(total, axis=1) == 200).all()
