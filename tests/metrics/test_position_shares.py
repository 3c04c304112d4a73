"""Shares of answers by position: closed forms, clusters, coverage, and what all measures of answers have in common."""

from __future__ import annotations

import math
import re

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
from judgestats.flags import NO_DATA, NOT_INDEPENDENT
from judgestats.kernels.proportions import tango, wilson
from judgestats.metrics.bias import answer_rates, bias_score, consistency, position_bias
from judgestats.metrics.correctness import gold_agreement
from judgestats.results import COLUMNS
from judgestats.verdicts import aggregate
from metrics.answers import pick, random_answers, random_calls
from metrics.tables import both_orders, calls_of, signed_calls
from refusals import refused

FLIPPED = {"first": "second", "second": "first"}


NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]


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
    assert once["method"] == f"Tango, two shares of one sample, clustered by item (G = {valid}), of valid calls"
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


MEASURES = {
    "consistency": consistency,
    "position_bias": position_bias,
    "gold_agreement": gold_agreement,
    "repeats": lambda calls, **options: consistency(calls, over="replicate", **options),
}


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


def test_bad_listing_and_arguments_of_the_model():
    calls = pd.DataFrame({"judge": "g", "item": ["1"], "first": "x", "second": "y", "choice": ["first"]})
    calls, pairs = swapped_calls(3, 3, 0)
    refused(
        DesignError,
        (
            lambda: position_bias(calls, attribute="length", pooled=False),
            r"not attribute=, pooled=\. .*models\.position_bias_model\(\)",
        ),
        (lambda: answer_rates(calls, listed=pairs.iloc[1:]), "is not in listed="),
        (lambda: answer_rates(calls, listed=calls), "both ways round"),
        (lambda: answer_rates(calls, listed=pairs[["item"]]), r"listed= has no column 'first'"),
    )


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


def test_two_denominators_are_named_where_calls_are_invalid():
    counts = pd.DataFrame(
        {"judge": [*"gggghhh"], "choice": ["first", "second", "tie", "invalid", "first", "second", "tie"]}
    ).assign(n=[62, 50, 72, 16, 70, 60, 70])
    own = position_bias(counts, cluster=False).set_index(["judge", "term"])["method"].str.rpartition(", ")[2]
    assert (own.loc["g", ["first", "second", "tie", "invalid"]] == "of all calls").all()
    assert own.loc["g", "position_bias"] == "of valid calls"
    assert not own.loc["h"].str.contains("calls").any()
