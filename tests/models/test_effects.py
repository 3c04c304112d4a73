"""Conditional modes against R; variance components against their formulas and simulated effects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.flags import SINGULAR
from judgestats.models.postestimation.effects import random_effects, variance_components
from models.examples import example, fitted
from models.reference import data, results
from refusals import refused

NORMAL = 1.959963984540054


def _joined(model, engine, **equal):
    stored = results("predict", model=model, engine=engine, quantity="ranef", **equal)
    stored["term"] = stored["term"].replace("(Intercept)", "Intercept")
    ours = random_effects(example(model))
    both = ours.merge(stored, on=["group", "level", "term"], suffixes=("", "_r"))
    assert len(both) == len(stored) == len(ours)
    return both


# lme4 and clmm stop a little before the optimum, so their modes are off by more than glmmTMB's
@pytest.mark.parametrize(
    ("model", "engine", "equal", "modes", "errors"),
    [
        ("cbpp", "glmmTMB", {"method": "conditional"}, 1e-6, 1e-6),
        ("cbpp", "lme4", {}, 1e-3, 1e-3),
        ("cbpp_agq25", "lme4", {}, 2e-3, 1e-3),
        ("cbpp_obs", "glmmTMB", {"method": "conditional"}, 1e-6, 1e-6),
        ("sleepstudy_reml", "lme4", {}, 2e-6, 1e-6),
        ("sleepstudy_ml", "lme4", {}, 1e-4, 1e-4),
        ("penicillin_reml", "lme4", {}, 1e-6, 1e-6),
        ("wine", "by hand", {}, 1e-7, 1e-7),
        ("wine", "clmm", {}, 1e-4, 1e-4),
        ("wine_agq10", "by hand", {}, 1e-7, 1e-7),
    ],
)
def test_modes_and_their_errors_are_those_of_r(model, engine, equal, modes, errors):
    both = _joined(model, engine, **equal)
    np.testing.assert_allclose(both["estimate"], both["estimate_r"], atol=modes, rtol=modes)
    np.testing.assert_allclose(both["std_error"], both["std_error_r"], rtol=errors)
    np.testing.assert_allclose(both["conf_high"] - both["estimate"], NORMAL * both["std_error"])
    np.testing.assert_allclose(both["estimate"] - both["conf_low"], NORMAL * both["std_error"])


def test_levels_come_in_their_order_with_their_terms():
    table = random_effects(example("sleepstudy_reml"))
    assert table["level"].iloc[:4].tolist() == ["308", "308", "309", "309"]
    assert table["term"].iloc[:2].tolist() == ["Intercept", "Days"]
    assert set(table["group"]) == {"Subject"}


def test_effects_of_a_variance_of_zero_are_zero_without_interval():
    calls = pd.DataFrame({"y": [0, 1] * 20, "item": np.repeat(list("abcdefghij"), 4)})
    fit = fitted("y ~ 1 + (1|item)", calls)
    table = random_effects(fit)
    assert (table["estimate"] == 0).all()
    assert table[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
    assert (table["flag"] == SINGULAR).all()
    shares = variance_components(fit).set_index("term")
    assert shares.loc["Intercept", "share"] == 0
    assert shares.loc["ICC(latent)", ["share_low", "share_high"]].isna().all()
    assert shares.loc["ICC(latent)", "flag"] == SINGULAR


def test_what_an_engine_does_not_know_has_no_interval():
    fit = example("cbpp")
    unknown = fit.covariance.copy()
    unknown[-1], unknown[:, -1] = np.nan, np.nan
    table = variance_components(replace(fit, covariance=unknown))
    assert table[["sd_low", "share_low", "share_high"]].isna().all(axis=None)
    assert table["flag"].str.contains("no standard error").all()


def test_what_has_no_random_effects_says_so():
    refused(
        DesignError,
        (example("wine_clm"), "has no random terms"),
        (replace(example("cbpp"), effects=lambda: None), "gives no random effects"),
        of=random_effects,
    )


@pytest.mark.parametrize(
    ("model", "residual"),
    [("cbpp", np.pi**2 / 3), ("cbpp_probit", 1.0), ("wine", np.pi**2 / 3), ("cbpp_agq25", np.pi**2 / 3)],
)
def test_latent_icc_of_one_factor(model, residual):
    fit = example(model)
    table = variance_components(fit).set_index("term")
    sd = abs(fit.theta[0])
    share = sd**2 / (sd**2 + residual)
    assert table.loc["ICC(latent)", "share"] == pytest.approx(share, rel=1e-12)
    assert table.loc["residual", "variance"] == pytest.approx(residual, rel=1e-12)
    # d logit(ICC) / d log sd = 2, so the interval follows from that of log sd
    slope = 2 * NORMAL * np.sqrt(fit.covariance[-1, -1]) / sd
    low, high = (1 / (1 + (1 - share) / share * np.exp(side * slope)) for side in (1, -1))
    assert table.loc["ICC(latent)", "share_low"] == pytest.approx(low, rel=1e-6)
    assert table.loc["ICC(latent)", "share_high"] == pytest.approx(high, rel=1e-6)


def test_two_factors_divide_the_variance_of_penicillin():
    table = variance_components(example("penicillin_reml"))
    stored = results("fits", model="penicillin_reml", engine="lme4", quantity="sd").set_index("group")["estimate"] ** 2
    plate, sample, residual = stored["plate"], stored["sample"], stored["residual"]
    own = table[table["term"] != "ICC(latent)"].set_index("group")
    assert own.loc["plate", "variance"] == pytest.approx(plate, rel=2e-5)
    assert own.loc["residual", "sd"] == pytest.approx(residual**0.5, rel=1e-5)
    assert own["share"].sum() == pytest.approx(1, abs=1e-12)
    icc = table[table["term"] == "ICC(latent)"].set_index("group")["share"]
    assert icc["sample"] == pytest.approx(sample / (plate + sample + residual), rel=1e-5)


def test_slopes_add_their_variance_averaged_over_the_rows():
    fit = example("sleepstudy_reml")
    table = variance_components(fit).set_index("term")
    days = np.column_stack([np.ones(180), data("sleepstudy")["Days"]])
    effects = np.einsum("nk,kl,nl->n", days, fit.covariances()[0], days).mean()
    assert table.loc["ICC(latent)", "variance"] == pytest.approx(effects, rel=1e-10)
    assert table.loc["ICC(latent)", "share"] == pytest.approx(effects / (effects + fit.residual**2), rel=1e-10)
    assert table.loc["Days", "variance"] == pytest.approx(5.922138**2, rel=1e-4)
    mean = (days[:, 1] ** 2).mean()
    share = table.loc["Days", "variance"] * mean / (effects + fit.residual**2)
    assert table.loc["Days", "share"] == pytest.approx(share, rel=1e-10)


def test_a_poisson_residual_is_the_log_normal_approximation():
    fit = example("cbpp_poisson")
    table = variance_components(fit).set_index("term")
    d, variance = fit.design, fit.theta[0] ** 2
    mean = np.average(np.exp(d.X @ fit.beta + d.offset + variance / 2), weights=d.count)
    assert table.loc["residual", "variance"] == pytest.approx(np.log(1 + 1 / mean), rel=1e-10)
    assert table.loc["ICC(latent)", "share"] == pytest.approx(variance / (variance + np.log(1 + 1 / mean)), rel=1e-10)
    assert "log-normal" in table.loc["residual", "method"]


def test_a_tally_gives_what_its_rows_give():
    rng = np.random.default_rng(4)
    item = np.repeat(np.arange(12), 20)
    x = np.tile([0, 1], 120)
    eta = rng.normal(0, 1, 12)[item] + x * rng.normal(0, 1.5, 12)[item]
    calls = pd.DataFrame({"y": (rng.random(240) < 1 / (1 + np.exp(-eta))).astype(int), "item": item, "x": x})
    tally = calls.groupby(["y", "item", "x"]).size().rename("n_identical").reset_index()
    whole, counted = (fitted("y ~ x + (x|item)", table) for table in (calls, tally))
    pd.testing.assert_frame_equal(random_effects(whole), random_effects(counted), rtol=1e-6)
    pd.testing.assert_frame_equal(variance_components(whole), variance_components(counted), rtol=1e-6)
