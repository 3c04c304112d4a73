"""Joint distributions of correct calls: margins, odds ratios, densities and draws from the prior."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import binom

from judgestats.models.hierarchical.joint_distributions import (
    NODES,
    PRIORS,
    WEIGHTS,
    bridge_quantile,
    joint,
    model,
    observed,
    plackett,
    prior_draw,
    simulated,
)
from judgestats.models.hierarchical.strategy_counts import Arms, paired
from models.strategy_tables import read_arms, strategy_calls


@pytest.mark.parametrize("phi", [0.1, 0.3, 0.6, 0.95])
def test_bridge_keeps_the_margin_logistic(phi):
    eta = np.array([-2.0, 0.0, 0.7, 2.5])
    mean = (WEIGHTS[:, None] * expit(eta / phi + bridge_quantile(NODES, np.array(phi))[:, None])).sum(axis=0)
    assert mean == pytest.approx(expit(eta), abs=5e-5)


@pytest.mark.parametrize("ratio", [np.exp(-10), 0.2, 1.0, 7.0, np.exp(10)])
def test_plackett_has_its_odds_ratio(ratio):
    p, q = 0.65, 0.72
    both = plackett(p, q, ratio)
    assert max(0, p + q - 1) < both < min(p, q)
    assert both * (1 - p - q + both) / ((p - both) * (q - both)) == pytest.approx(ratio, rel=1e-6)


def test_a_table_of_margins_sums_over_every_two_by_two_table():
    """The tables of `observed` and their weights give the convolution of two binomials."""
    table = pd.DataFrame({"judge": "g", "strategy": ["B0", "S8"], "n": [40, 40], "k": [25, 30]})
    arms = Arms(**{**read_arms(table).__dict__, "law": "discordant"})
    given = observed(arms)
    r10, r01 = 0.2, 0.5
    want = sum(binom.pmf(b, 25, r10) * binom.pmf(30 - 25 + b, 15, r01) for b in range(26))
    steps = given["start"][0, 0] + given["step"][:, None] * np.array([-1, 1, 1, -1])
    logp = np.log([1 - r10, r10, r01, 1 - r01])
    found = logsumexp(given["weight"][0, 0] + steps @ logp) + gammaln(26) + gammaln(16)
    assert np.exp(found) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("law", ["items", "discordant", "independent", "extreme positive"])
def test_prior_draws_have_the_design_and_the_law(law):
    arms = Arms(**{**read_arms(strategy_calls(items=200)).__dict__, "law": law})
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


@pytest.mark.slow
@pytest.mark.parametrize("law", ["items", "discordant", "independent", "extreme negative"])
def test_the_density_is_that_of_the_counts(law):
    """Potentials of the PyMC model against the likelihood written out."""
    pytest.importorskip("pymc")
    arms = Arms(**{**read_arms(strategy_calls(items=50)).__dict__, "law": law})
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
            q = expit(values["logit"][j][:, None] / phi + bridge_quantile(fine, phi))
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
