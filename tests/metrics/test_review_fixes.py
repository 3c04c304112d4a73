"""Defects that a review found in metrics and schema, each by what it got wrong."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.metrics import measure_registry
from judgestats.metrics.agreement import (
    agreement_levels,
    alpha,
    correlation,
    decision_study,
    disagreement,
    icc,
    kappa,
    quality_agreement,
    score_distribution,
    variance_components,
)
from judgestats.metrics.bias import (
    best_of_accuracy,
    compare_strategies,
    consistency,
    gold_agreement,
    pareto_front,
    preference_rate,
    recommend,
    score_error,
)
from judgestats.metrics.bias.strategies import NAMELESS, mcnemar_test
from judgestats.metrics.consensus import calibrate, consensus_deviation, rank_correlation
from judgestats.metrics.consensus.correlations import correlated
from judgestats.metrics.measure_registry import PREFERENCE_TRIALS, RATING_TRIALS
from judgestats.results import FEW_CLUSTERS, FEW_RATERS, INFINITE, NO_COST, ONE_UNIT, OVER_BUDGET, few_clusters
from judgestats.schema.cells import cells
from judgestats.schema.columns import grouping, names
from judgestats.verdicts.composites import composite

CROSSED = (["correct", "correct", "wrong", "wrong"], ["correct", "wrong", "correct", "wrong"])


def crossed(strategy: str, n: list[float], **columns: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"judge": "g", "strategy": strategy, "baseline": CROSSED[0], "outcome": CROSSED[1], "n": n, **columns}
    )


def calls() -> pd.DataFrame:
    """Four calls with gold and two without; one of each has no topic."""
    return pd.DataFrame(
        {
            "judge": "g",
            "item": list("123456"),
            "first": "x",
            "second": "y",
            "choice": ["first", "second", "first", "first", "second", "first"],
            "gold": ["x", "x", "y", "x", None, None],
            "topic": ["a", "a", "a", None, "a", None],
        }
    )


def scores(judges: str = "abc", items: int = 8, systems: str = "stuvw") -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [(j, f"i{i}", s) for j in judges for i in range(items) for s in systems]
    table = pd.DataFrame(rows, columns=["judge", "item", "system"])
    return table.assign(criterion="c", score=rng.integers(1, 10, len(table)).astype(float), gold=5.0)


# ---------------------------------------------------------------- advice


def two_topics() -> pd.DataFrame:
    parts = [
        crossed("S5", [200, 10, 90, 100], topic="law"),
        crossed("S8", [200, 40, 60, 100], topic="law"),
        crossed("S5", [200, 40, 40, 120], topic="trade"),
        crossed("S8", [200, 20, 80, 100], topic="trade"),
    ]
    return pd.concat(parts, ignore_index=True)


def test_advice_is_given_for_each_topic():
    compared = compare_strategies(two_topics(), by="topic")
    got = recommend(compared)
    assert list(got.columns[:3]) == ["topic", "judge", "term"]
    assert dict(zip(got["topic"], got["advice"], strict=True)) == {"law": "S5", "trade": "S8"}
    assert got["estimate"].tolist() == [pytest.approx(80 / 400), pytest.approx(60 / 400)]
    absent = recommend(compared, judge="nobody")
    assert absent["topic"].tolist() == ["law", "trade"]
    assert (absent["flag"] == "no data").all()


def test_a_budget_below_the_baseline_is_flagged():
    counts = crossed("S8", [200, 20, 80, 100])
    got = recommend(counts, budget=0.5).iloc[0]
    assert got["advice"] == "B0"
    assert OVER_BUDGET in got["flag"]
    assert OVER_BUDGET not in recommend(counts, budget=1).iloc[0]["flag"]
    cheap = recommend(counts, budget=0.5, cost={"B0": 2, "S8": 1}, cluster=False).iloc[0]
    assert (cheap["advice"], cheap["flag"]) == ("S8", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"budget": math.nan}, "budget=nan"),
        ({"budget": -1}, "budget=-1"),
        ({"budget": "two"}, "budget='two'"),
        ({"cost": {"B0": 1, "S8": math.nan}}, "cost of S8=nan"),
        ({"cost": {"B0": -1}}, "cost of B0=-1"),
        ({"cost": {"B0": "one"}}, "cost of B0='one'"),
        ({"cost": {"B0": None}}, "cost of B0=None"),
    ],
)
def test_budget_and_costs_are_numbers_from_0(options, named):
    with pytest.raises(DesignError, match=f"{named} is no amount. Allowed: numbers from 0"):
        recommend(crossed("S8", [200, 20, 80, 100]), **options)


# ---------------------------------------------------------------- gold


@pytest.mark.parametrize("engine", [lambda t: t, pl.from_pandas])
def test_calls_without_gold_are_told_of_a_group_without_a_name(engine):
    got = gold_agreement(engine(calls()), by="topic")
    named = got["topic"].notna()
    assert named.any()
    assert (~named).any()
    assert got["flag"].str.contains("1 calls without gold excluded").all()
    alone = calls().assign(gold=["x", "x", "y", None, "y", None])
    assert got.loc[~named, "n"].max() == 1
    nothing = gold_agreement(engine(alone), by="topic")
    nothing = nothing[nothing["topic"].isna()]
    assert nothing["estimate"].isna().all()
    assert nothing["flag"].str.contains("2 calls without gold excluded").all()


def test_gold_of_no_rows_of_no_items_and_of_no_cluster():
    assert gold_agreement(calls().iloc[:0]).empty
    with pytest.raises(DesignError, match="needs item"):
        gold_agreement(calls().drop(columns="item"))
    with pytest.raises(DesignError, match="needs item"):
        gold_agreement(pl.from_pandas(calls().drop(columns="item")))
    pd.testing.assert_frame_equal(gold_agreement(calls(), cluster=[]), gold_agreement(calls()))


# ---------------------------------------------------------------- strategies


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"conf_level": 95}, DesignError, "conf_level=95 must be between 0 and 1"),
        ({"m": 20.5}, DesignError, r"m=20\.5 is not a number of tests. Allowed: a whole number"),
        ({"m": "20"}, DesignError, "m='20' is not a number of tests"),
    ],
)
def test_options_of_a_comparison(options, error, message):
    with pytest.raises(error, match=message):
        compare_strategies(crossed("S8", [200, 20, 80, 100]), **options)


def discordant(n: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {"judge": "g", "strategy": "S8", "baseline": ["correct", "wrong"], "outcome": ["wrong", "correct"], "n": n}
    )


def test_text_in_the_column_of_pairs():
    with pytest.raises(SchemaError, match="pairs='all' holds text where a number of pairs belongs: 'many'"):
        compare_strategies(discordant([3, 9]).assign(all="many"), pairs="all")


@pytest.mark.parametrize("method", ["exact", "mid-p"])
def test_exact_tests_take_whole_counts_only(method):
    with pytest.raises(DesignError, match=rf"method='{method}' counts whole pairs, and there are 2\.5 and 8"):
        mcnemar_test(2.5, 8, method)
    with pytest.raises(SchemaError, match="'n' counts identical rows: it is not whole in 1 of 2 rows"):
        compare_strategies(discordant([2.5, 8]), method=method)
    assert mcnemar_test(2.5, 8, "asymptotic")[0] == pytest.approx(5.5**2 / 10.5)
    assert 0 < mcnemar_test(2.0, 8.0, method)[1] < 1


@pytest.mark.parametrize(("n", "end"), [([0, 3], "conf_high"), ([3, 0], "conf_low")])
def test_a_difference_does_not_leave_its_range(n, end):
    got = compare_strategies(discordant(n), pairs=3).iloc[0]
    assert got["method"] == "Agresti-Min, paired"
    assert abs(got[end]) == 1
    assert -1 <= got["conf_low"] < got["conf_high"] <= 1


# ---------------------------------------------------------------- frontier

POINTS = pd.DataFrame({"judge": ["a", None, "c"], "cost": [1.0, 2.0, 3.0], "estimate": [0.6, 0.9, 0.8]})


def test_a_configuration_without_a_name():
    got = pareto_front(POINTS).set_index("cost")
    assert got["on_front"].to_dict() == {1.0: True, 2.0: True, 3.0: False}
    assert got.loc[3.0, "dominated_by"] == NAMELESS


def test_one_label_is_one_name():
    pd.testing.assert_frame_equal(pareto_front(POINTS, label="judge"), pareto_front(POINTS, label=["judge"]))


@pytest.mark.parametrize("column", ["cost", "estimate"])
def test_text_and_infinity_on_the_frontier(column):
    with pytest.raises(SchemaError, match=f"{column!r} holds text where the (cost|value) belongs: 'much' in 1"):
        pareto_front(POINTS.assign(**{column: [1.0, 0.5, "much"]}))
    got = pareto_front(POINTS.assign(**{column: [1.0, 0.5, math.inf]})).set_index("judge").loc["c"]
    assert (got["on_front"], got["dominated_by"], got["flag"]) == (False, "", INFINITE)


@pytest.mark.parametrize("price", [None, 0.5, (1.0,), (1.0, None), (1.0, "2"), (1.0, -2.0), (1.0, math.nan)])
def test_a_price_is_two_numbers(price):
    table = POINTS.assign(input_tokens=1e6, output_tokens=1e6)
    with pytest.raises(DesignError, match="Allowed: two numbers from 0"):
        pareto_front(table, prices={"a": price})
    with pytest.raises(DesignError, match="is no mapping"):
        pareto_front(table, prices=0.5)
    got = pareto_front(table, prices={"a": (1, np.float32(2))}).set_index("judge")
    assert got.loc["a", "cost"] == 3
    assert got.loc["c", "flag"] == NO_COST


# ---------------------------------------------------------------- ranks


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_values_that_differ_by_rounding_are_tied(method):
    clean = np.array([0.3, 0.3, 0.6, 0.9, 0.1])
    rounded = np.array([0.1 + 0.2, 0.3, 0.6, 0.9, 0.1])
    assert rounded[0] != rounded[1]
    y = np.array([2.0, 1.0, 3.0, 5.0, 4.0])
    assert correlated(clean, y, method, 0.95) == correlated(rounded, y, method, 0.95)
    flat = correlated(rounded[:2], y[:2], method, 0.95)
    assert math.isnan(flat["estimate"])


# ---------------------------------------------------------------- infinite scores

TAKES = {
    "cells": cells,
    "icc": icc,
    "consensus_deviation": consensus_deviation,
    "rank_correlation": rank_correlation,
    "alpha": alpha,
    "kappa": kappa,
    "composite": composite,
    "calibrate": calibrate,
    "score_error": score_error,
    "best_of_accuracy": lambda t: best_of_accuracy(t, right="s"),
    "correlation": correlation,
    "agreement_levels": agreement_levels,
    "score_distribution": score_distribution,
    "disagreement": disagreement,
    "variance_components": variance_components,
}


@pytest.mark.parametrize("measure", TAKES)
@pytest.mark.parametrize("engine", [lambda t: t, pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_infinite_scores_are_refused_alike(measure, engine):
    table = scores()
    table.loc[[3, 60], "score"] = [np.inf, -np.inf]
    with pytest.raises(SchemaError, match=r"'score' is infinite in 2 rows\. Numbers must be finite: use an empty cell"):
        TAKES[measure](engine(table))


def test_infinite_scores_of_a_database_and_of_means():
    table = scores()
    pd.testing.assert_frame_equal(
        cells(duckdb.from_df(table.assign(score=table["score"].replace(5, np.nan)))).head(3),
        cells(table.assign(score=table["score"].replace(5, np.nan))).head(3),
        check_dtype=False,
    )
    table.loc[[3, 60], "score"] = [np.inf, -np.inf]
    with pytest.raises(SchemaError, match="'score' is infinite in 2 rows"):
        cells(duckdb.from_df(table))
    with pytest.raises(SchemaError, match="'mean' is infinite in 2 rows"):
        icc(table.rename(columns={"score": "mean"}))


def test_infinite_truths_are_refused():
    table = scores()
    with pytest.raises(SchemaError, match="'gold' is infinite"):
        score_error(table.assign(gold=math.inf))
    truth = pd.DataFrame({"item": [f"i{i}" for i in range(8)], "value": [*range(7), math.inf]})
    with pytest.raises(SchemaError, match="'value' is infinite in 1 row"):
        rank_correlation(table, truth=truth)
    systems = pd.DataFrame({"system": list("abcde"), "score": [1, 2, 3, 4, math.inf], "agreement": [0.1] * 5})
    with pytest.raises(SchemaError, match="'score' is infinite in 1 row"):
        quality_agreement(systems, score="score", agreement="agreement")


# ---------------------------------------------------------------- no grouping


def test_by_none_is_no_grouping():
    assert names(None) == []
    assert grouping(None, ["judge"]) == []
    table, preferences = scores(), calls()
    for measure, data in (
        (icc, table),
        (correlation, table),
        (variance_components, table),
        (decision_study, table),
        (alpha, table),
        (kappa, table),
        (disagreement, table),
        (consensus_deviation, table),
        (score_error, table),
        (composite, table),
        (gold_agreement, preferences),
        (consistency, preferences),
        (preference_rate, preferences),
    ):
        pd.testing.assert_frame_equal(measure(data, by=None), measure(data))


# ---------------------------------------------------------------- shared words


def test_few_clusters():
    assert [few_clusters(g) for g in (0, 1, 2, 9, 10)] == [ONE_UNIT, ONE_UNIT, FEW_CLUSTERS, FEW_CLUSTERS, ""]


@pytest.mark.parametrize("incomplete", ["drop", "reml"])
@pytest.mark.parametrize(("judges", "few"), [("abcdefghi", True), ("abcdefghij", False)])
def test_few_raters_are_flagged_where_raters_are_drawn(incomplete, judges, few):
    table = scores(judges, items=12, systems="s")
    table["score"] += table["item"].str[1:].astype(float)  # items differ
    table["score"] += table["judge"].map({j: 0.3 * i for i, j in enumerate(judges)})  # raters differ
    got = icc(table, incomplete=incomplete).set_index("term")
    assert got["conf_low"].notna().all()
    flagged = got.index[got["flag"].str.contains(FEW_RATERS)]
    assert list(flagged) == (["ICC(2,1)", "ICC(2,k)"] if few else [])
    assert "too narrow" in FEW_RATERS.explanation


def test_no_interval_no_word_of_raters():
    table = scores("ab", items=4, systems="s").assign(score=3.0)
    assert not icc(table)["flag"].str.contains(FEW_RATERS).any()
    assert not icc(scores(), exchangeable=True)["flag"].str.contains(FEW_RATERS).any()


def test_the_measures_that_are_tried_are_those_asked():
    assert measure_registry.trials(calls()) is PREFERENCE_TRIALS
    assert measure_registry.trials(scores()) is RATING_TRIALS
