"""Strategies, pooled over judges: from calls, from discordant counts, from margins; and what contradicts itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from judgestats.errors import DesignError
from judgestats.models.hierarchical.best_strategies import miss_probability, ranked, strategies
from judgestats.models.hierarchical.joint_distributions import (
    bridge_quantile,
)
from judgestats.models.hierarchical.strategy_counts import read
from judgestats.published import load
from measured.debiasing_tables import MT_BENCH, correct, pairs_scored

FEW = {"draws": 300, "tune": 400, "chains": 2, "progress": False}


def _read(table, baseline="B0", item="item"):
    return read(table, baseline, "judge", "strategy", item, "exact", "drop")


def _table1():
    table = load("debiasing/table1")[["judge", "strategy"]]
    keys = list(table.itertuples(index=False, name=None))
    return table.assign(n=[pairs_scored(MT_BENCH, *k) for k in keys], k=[correct(MT_BENCH, *k) for k in keys])


def _table4():
    table = load("debiasing/table4")[["judge", "strategy", "baseline_only", "strategy_only"]]
    return table.astype({"baseline_only": int, "strategy_only": int})


def _calls(seed=0, items=300, judges=2, phi=0.4):
    rng = np.random.default_rng(seed)
    eta = np.array([[0.4, 0.4, 1.2], [0.7, 0.9, 1.4]])[:judges]
    rows = []
    for j in range(judges):
        v = rng.uniform(size=(items, 1))
        right = rng.random((items, 3)) < expit(eta[j] / phi + bridge_quantile(v, np.array(phi)))
        rows += [(f"j{j}", s, str(i), int(right[i, k])) for i in range(items) for k, s in enumerate(("B0", "S1", "S8"))]
    return pd.DataFrame(rows, columns=["judge", "strategy", "item", "correct"])


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
    table = _table1()
    with pytest.raises(DesignError, match="dependence"):
        strategies(table, baseline="B0", dependence="some")
    with pytest.raises(DesignError, match="baseline_only"):
        strategies(table, baseline="B0", dependence="discordant")
    with pytest.raises(DesignError, match="needs k"):
        strategies(_table4().assign(n=400), baseline="B0", dependence="independent")
    with pytest.raises(DesignError, match="priors has 'efect'"):
        strategies(table, baseline="B0", priors={"efect": 1})
    with pytest.raises(DesignError, match="twice"):
        _read(pd.concat([_calls(items=5)] * 2))


def _pick(fit, term, scale=None):
    table = fit.table[fit.table["term"] == term]
    table = table[table["scale"] == scale] if scale else table
    return table.set_index(["dependence", "judge", "strategy"])


@pytest.mark.slow
def test_published_counts_and_who_is_best():
    """Debiasing, Tables 1 and 4 together."""
    pytest.importorskip("pymc")
    fit = strategies(_table1().merge(_table4(), how="left", on=["judge", "strategy"]), baseline="B0", sampling=FEW)
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
    two = _table1()[lambda t: t["strategy"].isin(["B0", "S8"])]
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
    calls = _calls(items=800, judges=1)
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
