"""Consistency, slot lean, agreement with a gold label."""

from __future__ import annotations

import math
from itertools import combinations, product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import clustered_wilson, tango, wilson
from judgestats.metrics.bias import answer_rates, consistency, gold_agreement, slot_lean
from judgestats.results import COLUMNS, FORCED_CHOICE, NO_DATA, NOT_INDEPENDENT
from judgestats.schema import tally
from judgestats.verdicts import aggregate

FLIPPED = {"first": "second", "second": "first"}
NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]

# forward, reverse by slot; None: not asked
PAIRS = [
    ("first", "second"),
    ("first", "second"),
    ("second", "first"),  # the content stays: 3
    ("first", "first"),
    ("first", "first"),
    ("second", "second"),  # the slot stays: 2 + 1
    ("tie", "tie"),
    ("abstain", "tie"),  # both tie: 2
    ("tie", "first"),  # one-sided: 1
    ("first", "invalid"),
    ("tie", None),  # one answer: 2
    ("invalid", "invalid"),
    ("invalid", None),  # none: 2
]


def calls_of(pairs=PAIRS, **columns) -> pd.DataFrame:
    rows = [
        {"judge": "g", "item": str(item), "first": a, "second": b, "choice": choice}
        for item, answers in enumerate(pairs)
        for (a, b), choice in zip(("xy", "yx"), answers, strict=True)
        if choice is not None
    ]
    return pd.DataFrame(rows).assign(**columns)


def pick(result: pd.DataFrame, column: str = "estimate") -> dict[str, float]:
    return dict(zip(result["term"], result[column], strict=True))


# --- consistency over orders


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
    assert (nothing["flag"] == NO_DATA).all()
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
    lean = slot_lean(pd.concat([forced, free]))
    assert lean.loc[lean["flag"].str.contains(FORCED_CHOICE), ["judge", "term"]].to_numpy().tolist() == [["g", "tie"]]
    unsaid = forced.assign(ties_allowed=pd.array([None] * len(forced), dtype="boolean"))
    assert not slot_lean(unsaid)["flag"].str.contains(FORCED_CHOICE).any()
    told = slot_lean(pl.from_pandas(forced))
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
    with pytest.raises(DesignError, match=r"no column says which do. Number them in 'replicate'"):
        consistency(calls.drop(columns="replicate"), over="replicate")
    with pytest.raises(DesignError, match=r"2 calls repeat a call with the same replicate number"):
        consistency(pd.concat([calls, calls]), over="replicate")
    with pytest.raises(DesignError, match=r"needs item, first, second, choice.*says nothing of repeats"):
        consistency(pd.DataFrame({"judge": ["g"], "forward": ["tie"], "reverse": ["tie"], "n": [1]}), over="replicate")
    with pytest.raises(SchemaError, match=r"'choice' has 'A'"):
        consistency(calls.assign(choice="A"), over="replicate")
    once = consistency(repeats(["first"], ["tie"]), over="replicate")
    assert math.isnan(once["estimate"].iloc[0])
    assert NO_DATA in once["flag"].iloc[0]


# --- slot lean


def test_slot_lean():
    result = slot_lean(calls_of(), cluster=False)
    assert result["term"].tolist() == ["first", "second", "tie", "invalid", "lean", "first_share_nontie"]
    # 9 first, 5 second, 6 ties (one an abstention), 4 invalid
    assert pick(result) == pytest.approx(
        {
            "first": 9 / 24,
            "second": 5 / 24,
            "tie": 6 / 24,
            "invalid": 4 / 24,
            "lean": 4 / 20,
            "first_share_nontie": 9 / 14,
        }
    )
    assert result["n"].tolist() == [24, 24, 24, 24, 20, 14]
    assert pick(result, "std_error")["lean"] == pytest.approx(math.sqrt((9 / 20 + 5 / 20 - 0.2**2) / 20))
    assert result["flag"].str.contains(NOT_INDEPENDENT).all()


@pytest.mark.parametrize("choice", ["first", "second", "tie"])
def test_the_lean_of_an_unwavering_judge_has_an_interval(choice):
    counts = pd.DataFrame({"judge": "g", "choice": [choice], "n": [12]})
    lean = slot_lean(counts).set_index("term").loc["lean"]
    expected = {"first": 1.0, "second": -1.0, "tie": 0.0}[choice]
    assert lean["estimate"] == expected
    assert -1 <= lean["conf_low"] <= expected <= lean["conf_high"] <= 1
    assert lean["conf_high"] - lean["conf_low"] > 0.1
    calls = pd.DataFrame({"judge": "g", "item": list("abcdef"), "first": "x", "second": "y", "choice": choice})
    thrice = pd.concat([calls.assign(replicate=r) for r in range(3)])
    once, again = (slot_lean(t, cluster="item").set_index("term").loc["lean"] for t in (calls, thrice))
    assert once["estimate"] == expected
    assert once["conf_high"] - once["conf_low"] > 0.1
    assert once[["conf_low", "conf_high"]].tolist() == again[["conf_low", "conf_high"]].tolist()


def test_the_lean_without_ties_is_twice_a_share():
    """Without ties lean = 2 p - 1, and Newcombe's interval for it is Wilson's stretched."""
    counts = pd.DataFrame({"judge": "g", "choice": ["first", "second"], "n": [30, 50]})
    result = slot_lean(counts).set_index("term")
    lean, share = result.loc["lean"], result.loc["first_share_nontie"]
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
    result = slot_lean(calls, cluster="item").set_index("term")
    lean, share = result.loc["lean"], result.loc["first_share_nontie"]
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
    once, again = (slot_lean(t, cluster="item").set_index("term").loc["lean"] for t in (calls, thrice))
    assert once[["estimate", "std_error", "conf_low", "conf_high"]].tolist() == pytest.approx(
        again[["estimate", "std_error", "conf_low", "conf_high"]].tolist()
    )
    plain = slot_lean(calls).set_index("term").loc["lean"]
    valid = int(plain["n"])
    assert once["std_error"] == pytest.approx(plain["std_error"] * math.sqrt(valid / (valid - 1)))
    assert once["method"] == f"Tango, two shares of one sample, clustered by item (G = {valid})"
    one = slot_lean(calls.assign(item="1", replicate=range(40)), cluster="item").set_index("term").loc["lean"]
    assert math.isnan(one["conf_low"])
    assert "one unit" in one["flag"]


def test_the_lean_of_nothing():
    result = slot_lean(pd.DataFrame({"judge": ["g"], "choice": ["invalid"], "n": [3]})).set_index("term")
    assert math.isnan(result.loc["lean", "estimate"])
    assert NO_DATA in result.loc["lean", "flag"]
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
    lean = slot_lean(table).query("term == 'lean'")
    return float(((lean["conf_low"] <= p[0] - p[1]) & (p[0] - p[1] <= lean["conf_high"])).mean())


@pytest.mark.parametrize("p", [(0.5, 0.3, 0.2), (0.9, 0.02, 0.08), (0.1, 0.1, 0.8)])
def test_coverage_of_the_lean(p):
    assert 0.93 < coverage(p, 50, 800) < 0.99


# --- gold


def gold_calls() -> pd.DataFrame:
    rows = [
        ("first", "x"),
        ("first", "x"),
        ("second", "x"),
        ("tie", "x"),
        ("invalid", "x"),
        ("tie", "tie"),
        ("first", "tie"),
        ("abstain", "tie"),
        ("second", "y"),
        ("abstain", "y"),
    ]
    calls = pd.DataFrame(rows, columns=["choice", "gold"])
    return calls.assign(judge="g", item=[str(i) for i in range(len(rows))], first="x", second="y")[
        ["judge", "item", "first", "second", "choice", "gold"]
    ]


@pytest.mark.parametrize(
    ("invalid", "ties", "k", "n"),
    [
        ("drop", "exact", 5, 9),
        ("wrong", "exact", 5, 10),
        ("tie", "exact", 5, 10),
        ("drop", "drop", 5, 7),
        ("wrong", "drop", 5, 8),
        ("tie", "drop", 5, 7),
        ("drop", "half", 6, 9),
        ("wrong", "half", 6, 10),
        ("tie", "half", 6.5, 10),
    ],
)
def test_gold_conventions(invalid, ties, k, n):
    result = gold_agreement(gold_calls(), invalid=invalid, ties=ties).set_index("term")
    assert result.loc["accuracy", "estimate"] == pytest.approx(k / n)
    assert result.loc["accuracy", "n"] == n
    assert result.loc["accuracy", "flag"] == "n < 30"
    assert result.loc[["wrong", "tie", "invalid"], "estimate"].tolist() == pytest.approx([0.2, 0.2, 0.1])
    assert (result.loc[["wrong", "tie", "invalid"], "n"] == 10).all()


def test_gold_needs_no_order():
    calls = calls_of(PAIRS[:3]).assign(gold="x")
    result = gold_agreement(aggregate(calls))
    assert result["estimate"].iloc[0] == pytest.approx(2 / 3)
    assert NOT_INDEPENDENT not in result["flag"].iloc[0]
    assert NOT_INDEPENDENT in gold_agreement(calls, cluster=False)["flag"].iloc[0]
    assert "clustered by item" in gold_agreement(calls)["method"].iloc[0]


def test_calls_without_gold_are_set_aside_and_said():
    calls = pd.concat([gold_calls(), gold_calls().assign(judge="h", gold=None)], ignore_index=True)
    calls.loc[[0, 1], "gold"] = None
    result = gold_agreement(calls)
    mine = result[result["judge"] == "g"].set_index("term")
    assert (mine.loc["accuracy", "estimate"], mine.loc["accuracy", "n"]) == (pytest.approx(3 / 7), 7)
    assert mine.loc["accuracy", "flag"] == "n < 30; 2 calls without gold excluded"
    other = result[result["judge"] == "h"].set_index("term")
    assert other.index.tolist() == ["accuracy", "wrong", "tie", "invalid"]
    assert other["estimate"].isna().all()
    assert (other["flag"] == f"{NO_DATA}; 10 calls without gold excluded").all()
    for make in (pl.from_pandas, lambda t: pl.from_pandas(t).lazy()):
        pd.testing.assert_frame_equal(gold_agreement(make(calls)), result)


def test_no_gold():
    calls = gold_calls()
    with pytest.raises(DesignError, match=r"gold_agreement needs gold. Columns: judge, item"):
        gold_agreement(calls.drop(columns="gold"))
    with pytest.raises(DesignError, match=r"'gold' is empty in every row"):
        gold_agreement(calls.assign(gold=""))


def test_gold_that_names_nobody():
    calls = gold_calls()
    calls.loc[[3, 7], "gold"] = ["A", "model_1"]
    message = r"neither candidate nor 'tie' in 2 rows \(rows 3, 7\). The first: item '3' shows 'x' and 'y', .* is 'A'"
    with pytest.raises(SchemaError, match=message) as error:
        gold_agreement(calls)
    assert error.value.faults is not None
    assert error.value.faults[["level", "column", "n", "rows", "example"]].to_numpy().tolist() == [
        ["fault", "gold", 2, (3, 7), "A"]
    ]
    with pytest.raises(SchemaError, match=r"in 2 rows\. The first: item '3'"):
        gold_agreement(pl.from_pandas(calls).lazy())


# --- all three

MEASURES = {
    "consistency": consistency,
    "slot_lean": slot_lean,
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
    st.sampled_from(["consistency", "slot_lean", "gold_agreement"]),
    st.sampled_from([(), "strategy"]),
    st.sampled_from([False, "item"]),
)
def test_a_frame_and_its_tally_are_equal(answers, measure, by, cluster):
    calls = random_calls(answers)
    counts = tally(calls, measure, by, cluster=cluster)
    counts.attrs.clear()  # a table of counts as it comes from print
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
    here, there = (slot_lean(t).query("term == 'lean'") for t in (calls, turned))
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


@pytest.mark.parametrize("measure", [consistency, slot_lean])
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
    steady = slot_lean(calls, cluster="item").set_index("term").loc["lean"]
    one_off = calls.copy()
    one_off.loc[1, "choice"] = "first"
    nearly = slot_lean(one_off, cluster="item").set_index("term").loc["lean"]
    assert steady["estimate"] == 0
    assert 0 < steady["conf_high"] < 0.03
    assert nearly["conf_high"] - nearly["conf_low"] < 0.06


# ---------------------------------------------------------------- what calls share


def both_orders(pairs: int, unstable: int = 0) -> pd.DataFrame:
    """A judge with one verdict in both orders of every pair, but for some, where it takes the first slot twice."""
    one = pd.DataFrame({"judge": "g", "item": [f"i{k}" for k in range(pairs)], "first": "x", "second": "y"})
    one["choice"] = np.where(np.arange(pairs) % 2, "second", "first")
    two = one.assign(first="y", second="x", choice=one["choice"].map({"first": "second", "second": "first"}))
    for table in (one, two):
        table.loc[table.index[:unstable], "choice"] = "first"
    return pd.concat([one, two], ignore_index=True)


def test_a_judge_without_a_discordant_pair_has_tangos_interval():
    calls = both_orders(350)
    found, apart = (slot_lean(calls, **o).set_index("term").loc["lean"] for o in ({}, {"cluster": False}))
    assert found["estimate"] == 0
    assert (found["conf_low"], found["conf_high"]) == (pytest.approx(-0.011, abs=5e-4), pytest.approx(0.011, abs=5e-4))
    assert found["method"] == "Tango, two shares of one sample, clustered by item (G = 350)"
    assert apart["conf_high"] == pytest.approx(0.074, abs=5e-4)
    assert apart["flag"] == "calls not independent"
    counted = slot_lean(tally(calls, "slot_lean")).set_index("term").loc["lean"]
    assert counted.equals(found)


def test_discordant_pairs_are_what_the_interval_of_a_lean_is_about():
    """Each pair is a unit: first twice in 4 of 350 is Tango's interval of 4 and 0 discordant pairs."""
    found = slot_lean(both_orders(350, 4)).set_index("term").loc["lean"]
    assert found["estimate"] == pytest.approx(4 / 350)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx(tango(4, 0, 350), abs=2e-4)


@pytest.mark.parametrize("name", ["gold_agreement", "slot_lean", "answer_rates"])
def test_rates_name_the_column_they_are_clustered_by(name):
    calls = both_orders(60, 10).assign(gold="x")
    measure = {"gold_agreement": gold_agreement, "slot_lean": slot_lean, "answer_rates": answer_rates}[name]
    assert measure(calls)["method"].str.contains("clustered by item").all()
    plain = measure(calls, cluster=False)
    assert not plain["method"].str.contains("clustered").any()
    assert plain["flag"].str.contains("calls not independent").all()
    printed = tally(calls, name, cluster=False)
    printed.attrs.clear()
    unknown = measure(printed)
    assert unknown["flag"].str.contains("clustering unknown").all()
    pd.testing.assert_frame_equal(unknown.drop(columns="flag"), plain.drop(columns="flag"))


def test_pairs_of_too_few_items_are_clusters_and_say_so():
    one = both_orders(20, 5)
    calls = pd.concat([one.assign(first=one["first"] + str(k), second=one["second"] + str(k)) for k in range(3)])
    calls = calls.assign(gold=np.minimum(calls["first"], calls["second"]))
    result = gold_agreement(calls)
    assert result["method"].str.contains("clustered by pair").all()
    assert result["flag"].str.contains("pairs of an item not independent").all()
    pd.testing.assert_frame_equal(gold_agreement(tally(calls, "gold_agreement")), result)
    assert not gold_agreement(calls, cluster="item")["flag"].str.contains("pairs of").any()
