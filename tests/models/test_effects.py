"""Conditional modes against R; variance components against their formulas and simulated effects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.flags import SINGULAR
from judgestats.models.postestimation.effects import random_effects, variance_components
from models.examples import example, fitted
from models.reference import FOLDER, data, results
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


R2 = results("r2")[["model", "engine", "quantity", "method"]].drop_duplicates().to_numpy().tolist()


def of_r2(model: str, link: str, method: str) -> js.models.Fit:
    name = {"Reaction": "sleepstudy", "score": "scores", "correct": "scores"}.get(model.split()[0], "cbpp")
    table = pd.read_csv(FOLDER / "counts.csv") if model.startswith("y ~") else data(name)
    family: Any = {"gaussian": "gaussian", "log": "poisson"}.get(link, "binomial")
    own: Any = link if family == "binomial" else None
    return js.fit(model, table, family=family, link=own, reml=method == "REML", n_quadrature=1)


@pytest.mark.parametrize(("model", "engine", "link", "method"), R2)
def test_r2_is_that_of_performance_and_of_the_paper(model: str, engine: str, link: str, method: str) -> None:
    fit = of_r2(model, link, method)
    expected = results("r2", model=model, engine=engine, quantity=link)
    own = fit.r2(rate="median") if engine == "performance" else fit.r2()
    assert own["term"].tolist() == expected["term"].tolist()
    np.testing.assert_allclose(own["estimate"], expected["estimate"], atol=1e-5)
    assert (own["conf_low"] < own["estimate"]).all()
    assert (own["estimate"] < own["conf_high"]).all()
    assert own["method"].iloc[0] in fit.variance_components()["method"].tolist()


def test_r2_has_errors_by_the_delta_method() -> None:
    fit = of_r2("score ~ strategy * length + (1|judge) + (1|item)", "gaussian", "REML")
    scales = np.sqrt(np.diag(fit.covariance)) * 1e-4

    def at(params: Any) -> Any:
        return replace(fit, params=params).r2()["estimate"].to_numpy()

    steps = scales * np.eye(len(scales))
    J = np.column_stack([(at(fit.params + s) - at(fit.params - s)) / (2 * s.max()) for s in steps])
    np.testing.assert_allclose(fit.r2()["std_error"], np.sqrt(np.diag(J @ fit.covariance @ J.T)), rtol=1e-5)


def test_r2_counts_rows_and_says_what_it_cannot() -> None:
    table = data("scores").assign(length=lambda t: t["length"].round(0))
    formula = "correct ~ strategy + length + (1|judge)"
    tally = table.groupby(["correct", "strategy", "length", "judge"], observed=True).size().rename("k").reset_index()
    one, two = js.fit(formula, table), js.fit(formula, tally, counts="k")
    np.testing.assert_allclose(two.r2()["estimate"], one.r2()["estimate"], rtol=1e-5)
    noise = table.assign(g=np.arange(len(table)) % 30)
    flat = js.fit("length ~ strategy + (1|g)", noise, family="gaussian").r2()
    assert flat["flag"].str.contains("singular fit").all()
    assert flat["estimate"].iloc[0] == pytest.approx(flat["estimate"].iloc[1], abs=1e-6)
    refused(
        DesignError,
        (lambda: js.fit("correct ~ strategy", table).r2(), "no random terms, and R² of Nakagawa is of mixed models"),
        (lambda: one.r2(rate="modal"), "Allowed: 'mean', 'median'"),  # type: ignore[arg-type]
    )
