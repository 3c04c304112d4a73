"""Strategies, pooled over judges: from calls, from discordant counts, from margins; and what contradicts itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.models.hierarchical.best_strategies import miss_probability, ranked, strategies
from models.strategy_tables import read_arms, strategy_calls, table1, table4
from refusals import refused

FEW = {"draws": 300, "tune": 400, "chains": 2, "progress": False}


def test_missed_by_simulation():
    """The normal approximation against McNemar's test of simulated tables."""
    rng = np.random.default_rng(1)
    b, c = 0.08, 0.14
    drawn = rng.multinomial(400, [b, c, 1 - b - c], size=20_000)
    z = np.abs(drawn[:, 1] - drawn[:, 0]) / np.sqrt(drawn[:, 0] + drawn[:, 1])
    share = (z < 1.959964).mean()
    assert miss_probability(np.array(c - b), np.array(b + c), 400) == pytest.approx(share, abs=0.015)


def test_ties_for_best_are_split():
    best, loss = ranked(np.array([[0.7, 0.7, 0.6, 0.7]]))
    assert best[0] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert loss[0] == pytest.approx([0, 0, 0.1, 0])


def test_options():
    table = table1()
    refused(
        DesignError,
        (lambda: strategies(table, baseline="B0", dependence="some"), "dependence"),
        (lambda: strategies(table, baseline="B0", dependence="discordant"), "baseline_only"),
        (lambda: strategies(table4().assign(n=400), baseline="B0", dependence="independent"), "needs k"),
        (lambda: strategies(table, baseline="B0", priors={"efect": 1}), "priors has 'efect'"),
        (lambda: read_arms(pd.concat([strategy_calls(items=5)] * 2)), "twice"),
    )


def _pick(fit, term, scale=None):
    table = fit.table[fit.table["term"] == term]
    table = table[table["scale"] == scale] if scale else table
    return table.set_index(["dependence", "judge", "strategy"])


@pytest.mark.slow
def test_published_counts_and_who_is_best():
    """Debiasing, Tables 1 and 4 together."""
    pytest.importorskip("pymc")
    fit = strategies(table1().merge(table4(), how="left", on=["judge", "strategy"]), baseline="B0", sampling=FEW)
    inside = fit.checks[fit.checks["what"].str.contains("inside")]
    assert len(inside) == 3
    assert (inside["value"] == 1).all()
    assert "selected comparisons" in set(fit.checks["flag"])
    assert fit.table["flag"].str.contains("selected comparisons").all()
    best = _pick(fit, "best")["estimate"]["discordant"]
    assert best.groupby("judge").sum().to_numpy() == pytest.approx(1)
    for judge, least in (("Claude Sonnet 4", 0.9), ("Gemini 2.5 Flash", 0.8), ("Llama 3.3-70B", 0.6)):
        assert best[judge].idxmax() == "S8"
        assert best[judge, "S8"] > least
    for judge in ("GPT-4o", "Gemini 2.5 Pro"):
        assert best[judge].max() < 0.7
    effect = _pick(fit, "effect", "percentage points").loc["discordant"]
    assert effect.loc[("Claude Sonnet 4", "S8"), "conf_low"] < 11.5 < effect.loc[("Claude Sonnet 4", "S8"), "conf_high"]
    assert effect.loc[("Claude Sonnet 4", "S8"), "conf_low"] > 2
    unseen = _pick(fit, "missed if real")["estimate"]["discordant"]
    assert unseen["GPT-4o", "S1"] > 0.5 > unseen["Claude Sonnet 4", "S8"]


@pytest.mark.slow
def test_margins_are_bounded_by_the_extremes():
    pytest.importorskip("pymc")
    two = table1()[lambda t: t["strategy"].isin(["B0", "S8"])]
    two = two[two["judge"] != "GPT-4o"]
    fit = strategies(two, baseline="B0", sampling={**FEW, "draws": 200, "tune": 300})
    assert set(fit.table["dependence"]) == {"independent", "extreme positive", "extreme negative"}
    assert fit.table["flag"].str.contains("joint distribution of the strategies unknown").all()
    effect = _pick(fit, "effect", "percentage points")["std_error"].unstack("dependence")
    own = effect.drop(["all judges"])
    assert (own["extreme positive"] < own["independent"]).all()
    assert (own["independent"] < own["extreme negative"]).all()


@pytest.mark.full
@pytest.mark.slow
def test_one_judge_with_items_agrees_with_the_shares():
    """Flat priors, one judge, many items: effects are the differences of the shares, their sd that of pairs."""
    pytest.importorskip("pymc")
    calls = strategy_calls(items=800, judges=1)
    fit = strategies(calls, baseline="B0", priors={"baseline": 10, "effect": 10, "link": 3}, sampling=FEW)
    wide = calls.pivot_table(index="item", columns="strategy", values="correct")
    effect = _pick(fit, "effect", "percentage points").loc[("items", "j0")]
    for s in ("S1", "S8"):
        gap = 100 * (wide[s] - wide["B0"])
        error = gap.std() / np.sqrt(len(gap))
        assert effect.loc[s, "estimate"] == pytest.approx(gap.mean(), abs=0.3 * error)
        assert effect.loc[s, "std_error"] == pytest.approx(error, rel=0.12)
    inside = fit.checks[fit.checks["what"].str.contains("inside")]
    assert (inside["value"] == 1).all()
    assert "all judges" not in set(fit.table["judge"])
