"""Strategies, pooled over judges: from calls, from discordant counts, from margins; and what contradicts itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import binom

from judgestats.errors import DesignError, SchemaError
from judgestats.models.hierarchical.rankings import (
    NODES,
    PRIORS,
    WEIGHTS,
    Arms,
    bridge,
    joint,
    missed,
    model,
    observed,
    paired,
    plackett,
    prior_draw,
    ranked,
    read,
    simulated,
    strategies,
)
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
        right = rng.random((items, 3)) < expit(eta[j] / phi + bridge(v, np.array(phi)))
        rows += [(f"j{j}", s, str(i), int(right[i, k])) for i in range(items) for k, s in enumerate(("B0", "S1", "S8"))]
    return pd.DataFrame(rows, columns=["judge", "strategy", "item", "correct"])


# --- Without a sampler ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phi", [0.1, 0.3, 0.6, 0.95])
def test_bridge_keeps_the_margin_logistic(phi):
    eta = np.array([-2.0, 0.0, 0.7, 2.5])
    mean = (WEIGHTS[:, None] * expit(eta / phi + bridge(NODES, np.array(phi))[:, None])).sum(axis=0)
    assert mean == pytest.approx(expit(eta), abs=5e-5)


@pytest.mark.parametrize("ratio", [np.exp(-10), 0.2, 1.0, 7.0, np.exp(10)])
def test_plackett_has_its_odds_ratio(ratio):
    p, q = 0.65, 0.72
    both = plackett(p, q, ratio)
    assert max(0, p + q - 1) < both < min(p, q)
    assert both * (1 - p - q + both) / ((p - both) * (q - both)) == pytest.approx(ratio, rel=1e-6)


def test_missed_by_simulation():
    """The normal approximation against McNemar's test of simulated tables."""
    rng = np.random.default_rng(1)
    b, c = 0.08, 0.14
    drawn = rng.multinomial(400, [b, c, 1 - b - c], size=20_000)
    z = np.abs(drawn[:, 1] - drawn[:, 0]) / np.sqrt(drawn[:, 0] + drawn[:, 1])
    share = (z < 1.959964).mean()
    assert missed(np.array(c - b), np.array(b + c), 400) == pytest.approx(share, abs=0.015)


def test_ties_for_best_are_split():
    best, loss = ranked(np.array([[0.7, 0.7, 0.6, 0.7]]))
    assert best[0] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert loss[0] == pytest.approx([0, 0, 0.1, 0])


def test_a_table_of_margins_sums_over_every_two_by_two_table():
    """The tables of `observed` and their weights give the convolution of two binomials."""
    table = pd.DataFrame({"judge": "g", "strategy": ["B0", "S8"], "n": [40, 40], "k": [25, 30]})
    arms = Arms(**{**_read(table).__dict__, "law": "discordant"})
    given = observed(arms)
    r10, r01 = 0.2, 0.5
    want = sum(binom.pmf(b, 25, r10) * binom.pmf(30 - 25 + b, 15, r01) for b in range(26))
    steps = given["start"][0, 0] + given["step"][:, None] * np.array([-1, 1, 1, -1])
    logp = np.log([1 - r10, r10, r01, 1 - r01])
    found = logsumexp(given["weight"][0, 0] + steps @ logp) + gammaln(26) + gammaln(16)
    assert np.exp(found) == pytest.approx(want, rel=1e-10)


def test_the_same_counts_from_every_form_of_table():
    calls = _calls(items=60)
    wide = calls.pivot_table(index=["judge", "item"], columns="strategy", values="correct")
    rows, changes = [], []
    for judge, own in wide.groupby(level=0):
        rows.append((judge, "B0", 60, int(own["B0"].sum()), None, None))
        for s in ("S1", "S8"):
            b, c = int(((own["B0"] == 1) & (own[s] == 0)).sum()), int(((own["B0"] == 0) & (own[s] == 1)).sum())
            rows.append((judge, s, 60, int(own[s].sum()), b, c))
            words = own[["B0", s]].replace({1: "correct", 0: "wrong"}).astype(str)
            words = own[["B0", s]].map(lambda x: "correct" if x else "wrong")
            counted = words.value_counts().reset_index()
            changes += [(judge, s, r["B0"], r[s], r["count"]) for r in counted.to_dict("records")]
    printed = _read(pd.DataFrame(rows, columns=["judge", "strategy", "n", "k", "b", "c"]))
    tallied = _read(pd.DataFrame(changes, columns=["judge", "strategy", "baseline", "outcome", "n"]))
    raw = _read(calls)
    for name in ("n", "k", "b", "c"):
        for other in (tallied, raw):
            assert np.array_equal(getattr(printed, name), getattr(other, name), equal_nan=True), name
    margins = _read(calls.groupby(["judge", "strategy", "correct"]).size().reset_index(name="n"))
    assert np.array_equal(margins.k, raw.k)
    assert np.isnan(margins.b).all()
    assert raw.count.sum() == 120


def test_row_order_does_not_matter():
    calls = _calls(items=40)
    one, two = _read(calls), _read(calls.sample(frac=1, random_state=3))
    assert np.array_equal(one.answers, two.answers)
    assert np.array_equal(one.count, two.count)


def test_gpt_4o_baseline_among_the_pairs_of_s1():
    """391 pairs: 260 right under S1, 30 and 39 discordant, so 251 right under the baseline among them."""
    arms = _read(_table1().merge(_table4(), how="left", on=["judge", "strategy"]))
    at = arms.judges.index("GPT-4o"), arms.strategies.index("S1")
    assert arms.n[at] == 391
    assert arms.shared[at] == 251


@pytest.mark.parametrize("law", ["items", "discordant", "independent", "extreme positive"])
def test_prior_draws_have_the_design_and_the_law(law):
    arms = Arms(**{**_read(_calls(items=200)).__dict__, "law": law})
    if law != "items":
        arms = Arms(**{**paired(arms).__dict__, "law": law})
    rng = np.random.default_rng(5)
    values, _ = prior_draw(arms, PRIORS, rng)
    made = [simulated(arms, values, rng) for _ in range(300)]
    p, both = joint(arms, values)
    assert np.mean([m.k for m in made], axis=0) / 200 == pytest.approx(p, abs=0.012)
    if law in ("items", "discordant"):
        apart = np.mean([m.b for m in made], axis=0)[:, 1:] / 200
        assert apart == pytest.approx((p[:, :1] - both)[:, 1:], abs=0.012)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"k": [200, 500]}, SchemaError, "more correct calls than calls"),
        ({"k": [200, -1]}, SchemaError, "not a count"),
        ({"k": [200, 10.5]}, SchemaError, "not a count"),
        ({"n": [400, None]}, SchemaError, "no 'n'"),
        ({"b": [None, 300], "c": [None, 300]}, SchemaError, "more discordant pairs"),
        ({"b": [None, 3], "c": [None, 30]}, SchemaError, "contradict k of the baseline"),
        ({"b": [None, 3], "c": [None, None]}, SchemaError, "b without c"),
        ({"strategy": ["B0", "B0"]}, SchemaError, "two rows"),
        ({"strategy": ["B1", "S8"]}, DesignError, "not a strategy"),
        ({"judge": ["g", "h"]}, DesignError, "no comparison"),
    ],
)
def test_impossible_tables(change, error, words):
    table = pd.DataFrame({"judge": "g", "strategy": ["B0", "S8"], "n": [400, 400], "k": [200, 240]}).assign(**change)
    with pytest.raises(error, match=words):
        _read(table)


def test_a_table_without_n():
    with pytest.raises(SchemaError, match="'n'"):
        _read(_table4())


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


# --- The model's density ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("law", ["items", "discordant", "independent", "extreme negative"])
def test_the_density_is_that_of_the_counts(law):
    """Potentials of the PyMC model against the likelihood written out."""
    pytest.importorskip("pymc")
    arms = Arms(**{**_read(_calls(items=50)).__dict__, "law": law})
    if law != "items":
        arms = Arms(**{**paired(arms).__dict__, "law": law})
    if law in ("independent", "extreme negative"):
        nothing = np.full(arms.b.shape, np.nan)
        arms = Arms(**{**arms.__dict__, "b": nothing, "c": nothing})
    made = model(arms, PRIORS)
    evaluate = made.compile_logp(vars=made.potentials)
    rng = np.random.default_rng(2)
    points = [{v.name: rng.normal(0, 0.4, made.initial_point()[v.name].shape) for v in made.value_vars} for _ in "12"]
    found = [float(evaluate(p)) for p in points]
    wanted = [_loglik(arms, _values(arms, p)) for p in points]
    assert found[0] - found[1] == pytest.approx(wanted[0] - wanted[1], abs=1e-4)


def _values(arms, point):
    """Parameters of a point of the unconstrained space."""
    base = point["baseline"][:, None]
    effects = point["effect"] + np.exp(point["sd_effect_log__"]) * point["raw_effect"]
    values = {"logit": np.concatenate([base, base + effects], axis=1)}
    for name in ("link", "association"):
        if name in point:
            values[f"each_{name}"] = point[name] + np.exp(point[f"sd_{name}_log__"]) * point[f"raw_{name}"]
    return values


def _loglik(arms, values):
    p, both = joint(arms, values)
    if arms.law == "items":
        fine = (np.arange(4000) + 0.5) / 4000
        total = 0.0
        for row, j, m in zip(arms.answers, arms.owner, arms.count, strict=True):
            phi = expit(values["each_link"][j])[:, None]
            q = expit(values["logit"][j][:, None] / phi + bridge(fine, phi))
            total += m * np.log(np.where(row[:, None] == 1, q, 1 - q).prod(axis=0).mean())
        return total
    total = binom.logpmf(arms.k[:, 0], arms.n[:, 0], p[:, 0]).sum()
    for j, s in np.ndindex(arms.n.shape):
        if s:
            k0, n, k = (int(x) for x in (arms.k[j, 0], arms.n[j, 0], arms.k[j, s]))
            r10, r01 = 1 - both[j, s] / p[j, 0], (p[j, s] - both[j, s]) / (1 - p[j, 0])
            some = range(k0 + 1) if np.isnan(arms.b[j, s]) else [int(arms.b[j, s])]
            each = [binom.pmf(b, k0, r10) * binom.pmf(k - k0 + b, n - k0, r01) for b in some]
            total += np.log(sum(each))
    return total


# --- Sampled ----------------------------------------------------------------------------------------------------------


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
