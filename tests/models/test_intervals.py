"""Intervals: profiles against R's, maximised afresh by hand; Wald as `tidy`; the bootstrap by its own rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from coverage_models import profile_rise
from scipy.optimize import minimize

import judgestats as js
from judgestats.errors import DesignError
from judgestats.flags import ONE_NOT_EXCLUDED, OPEN_END, RESAMPLES_AGREE, ZERO_NOT_EXCLUDED, flags_of
from judgestats.models.postestimation.coefficient_tables import tidy
from judgestats.models.postestimation.intervals import confint, parameters
from models.examples import example, fitted
from models.reference import results, spelled
from refusals import refused

FACTORS = ["period", "temp", "contact"]


def _term(row):
    """R's name in ours."""
    if row["quantity"] in ("sd", "cor"):
        inner = row["term"].replace("(Intercept)", "Intercept")
        return f"{row['quantity']}({inner}|{row['group']})" if row["group"] != "residual" else "sd(residual)"
    return spelled(row["term"], FACTORS)


def _both(model, engine, method, table):
    stored = results("confint", model=model, engine=engine, method=method)
    stored = stored[stored["quantity"] != "log_sd"]
    stored["term"] = stored.apply(_term, axis=1)
    both = table.merge(stored, on="term", suffixes=("", "_r"))
    assert len(both) == len(stored) > 1
    return both


#: lme4 and glmmTMB interpolate a profile by splines, so they differ by 1e-5 to 1e-4 from the root itself.
@pytest.mark.parametrize(
    ("model", "engine", "method", "tolerance"),
    [
        ("cbpp", "glmmTMB", "profile by hand", 3e-7),
        ("cbpp_probit", "glmmTMB", "profile by hand", 3e-7),
        ("wine", "by hand", "profile by hand", 3e-7),
        ("cbpp", "glmmTMB", "uniroot", 3e-5),
        ("cbpp", "glmmTMB", "profile", 1e-4),
        ("cbpp", "lme4", "profile", 1e-4),
        ("sleepstudy_ml", "lme4", "profile", 5e-5),
        ("sleepstudy_reml", "lme4", "profile", 5e-5),
        ("sleepstudy_uncorrelated_ml", "lme4", "profile", 5e-5),
        ("penicillin_ml", "lme4", "profile", 5e-5),
        ("wine_clm", "clm", "profile", 2e-5),
    ],
)
def test_profiles_are_those_of_r(model, engine, method, tolerance):
    fit = example(model)
    both = _both(model, engine, method, confint(fit, method="profile"))
    for side in ("conf_low", "conf_high"):
        np.testing.assert_allclose(both[side], both[f"{side}_r"], rtol=tolerance, atol=tolerance)
    few = [t for t in fit.design.terms if len(t.levels) < (10 if fit.method == "REML" else 30)]
    flagged = {f"fewer than {10 if fit.method == 'REML' else 30} levels of {t.factor}" for t in few}
    assert {flag for cell in both["flag"] for flag in flags_of(cell)} == flagged
    assert set(both["method"]) == {"profile, ML" if fit.method == "REML" else "profile"}


def test_a_profile_ends_where_the_likelihood_has_fallen_by_half_the_quantile():
    fit = example("sleepstudy_ml")
    table = confint(fit, method="profile", conf_level=0.9).set_index("term")
    for own in parameters(fit):
        for side in ("conf_low", "conf_high"):
            assert profile_rise(fit, own, table.loc[own.term, side]) == pytest.approx(2.705543454095404 / 2, abs=2e-5)


def by_z(fit):
    return replace(fit, options=replace(fit.options, df="normal"))


@pytest.mark.parametrize(("model", "engine"), [("cbpp", "glmmTMB"), ("wine", "clmm"), ("wine_clm", "clm")])
def test_wald_intervals_are_those_of_r(model, engine):
    both = _both(model, engine, "wald", confint(by_z(example(model))))
    np.testing.assert_allclose(both["conf_low"], both["conf_low_r"], rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(both["conf_high"], both["conf_high_r"], rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("model", ["cbpp", "wine", "sleepstudy_reml"])
def test_wald_intervals_are_those_of_tidy(model):
    fit = example(model)
    table, same = confint(fit, conf_level=0.8), tidy(fit, conf_level=0.8)
    pd.testing.assert_frame_equal(
        table.drop(columns="method"), same[["group", "term", "estimate", "conf_low", "conf_high", "flag"]]
    )
    assert [p.term for p in parameters(fit)] == same["term"].tolist()


def _flat():
    """Items that differ by less than chance."""
    return pd.DataFrame({"y": [0, 1] * 20, "x": np.tile([0, 0, 1, 1], 10), "item": np.repeat(list("abcdefghij"), 4)})


def test_a_standard_deviation_of_zero_has_a_profile_from_zero_and_no_wald_interval():
    fit = fitted("y ~ x + (1|item)", _flat())
    row = confint(fit, method="profile", terms="sd(Intercept|item)").iloc[0]
    assert row["conf_low"] == 0
    assert ZERO_NOT_EXCLUDED in row["flag"]
    assert 0.2 < row["conf_high"] < 2
    rise = profile_rise(fit, parameters(fit)[-1], row["conf_high"])
    assert rise == pytest.approx(1.9207294, abs=1e-4)
    assert np.isnan(confint(fit, terms="item")[["conf_low", "conf_high"]]).all(axis=None)
    # a fixed effect is profiled all the same
    x = confint(fit, method="profile", terms="x").iloc[0]
    plain = confint(fitted("y ~ x", _flat()), method="profile", terms="x").iloc[0]
    assert x["conf_low"] <= plain["conf_low"] + 1e-4
    assert x["conf_high"] >= plain["conf_high"] - 1e-4


def test_a_correlation_on_its_boundary_is_profiled_up_to_one():
    rng = np.random.default_rng(8)
    item, x = np.repeat(np.arange(40), 20), np.tile([-0.5, 0.5], 400)
    b = rng.normal(size=40)
    eta = b[item] + 1.5 * x * b[item]
    calls = pd.DataFrame({"y": (rng.random(800) < 1 / (1 + np.exp(-eta))).astype(int), "x": x, "item": item})
    fit = fitted("y ~ x + (x|item)", calls)
    row = confint(fit, method="profile", terms="cor(Intercept,x|item)").iloc[0]
    assert row["conf_high"] == pytest.approx(1, abs=1e-3)
    assert ONE_NOT_EXCLUDED in row["flag"]
    # the likelihood at the lower end, maximised by another search over the rest
    r = row["conf_low"]

    def held(x):
        s, t = np.exp(x[2:])
        return fit.objective(np.array([*x[:2], s, r * t, t * np.sqrt(1 - r**2)]))[0]

    found = minimize(held, [*fit.beta, *np.log(np.sqrt(np.diag(fit.covariances()[0])))], method="Nelder-Mead", tol=1e-8)
    assert found.fun - fit.objective(fit.params)[0] == pytest.approx(1.9207294, abs=1e-4)
    assert 0.5 < r < row["estimate"]


def test_separation_leaves_an_end_open():
    calls = pd.DataFrame({"y": [0, 1, 0, 1, 1, 1, 1, 1], "x": [0] * 4 + [1] * 4})
    row = confint(fitted("y ~ x", calls), method="profile", terms="x").iloc[0]
    assert row["conf_high"] == np.inf
    assert OPEN_END in row["flag"]
    assert -2 < row["conf_low"] < 2


def test_terms_are_chosen_by_name_or_group():
    fit = example("sleepstudy_ml")
    assert confint(fit, terms=["Days", "residual"])["term"].tolist() == ["Days", "sd(residual)"]
    assert confint(fit, terms="fixed")["term"].tolist() == ["Intercept", "Days"]
    assert confint(fit, terms="Subject")["term"].str.contains("Subject").all()
    with pytest.raises(DesignError, match="Did you mean 'Days'"):
        confint(fit, terms="Day")


def test_options_are_checked():
    fit = example("cbpp")
    refused(
        DesignError,
        (lambda: confint(fit, method="wold"), "method='wold'"),
        (lambda: confint(fit, conf_level=95), "conf_level=95"),
        (lambda: confint(fit, method="bootstrap", n_resamples=0), "n_resamples=0"),
        (lambda: confint(replace(fit, engine="glm"), method="profile"), "engine='glm'"),
        (lambda: confint(replace(fit, refit=None), method="bootstrap"), "cannot fit again"),
        (lambda: confint(replace(fit, engine="gee"), method="bootstrap"), "engine='gee'"),
    )


@pytest.mark.slow
def test_the_bootstrap_of_a_linear_model_has_its_known_ends():
    """Of a normal mean with n rows: percentiles of N(mean, sigma²/n), and of sigma sqrt(chi2(n-1)/n)."""
    from scipy.stats import chi2

    y = np.random.default_rng(1).normal(3, 2, 40)
    fit = fitted("y ~ 1", pd.DataFrame({"y": y}), "gaussian")
    table = confint(fit, method="bootstrap", n_resamples=4000, seed=2).set_index("term")
    half = 1.959964 * fit.residual / np.sqrt(40)
    error = fit.residual / np.sqrt(40) * 2.67 / np.sqrt(4000)  # Monte Carlo error of a 2.5 % percentile
    assert table.loc["Intercept", "conf_low"] == pytest.approx(y.mean() - half, abs=4 * error)
    assert table.loc["Intercept", "conf_high"] == pytest.approx(y.mean() + half, abs=4 * error)
    low, high = fit.residual * np.sqrt(chi2.ppf([0.025, 0.975], 39) / 40)
    assert table.loc["sd(residual)", "conf_low"] == pytest.approx(low, abs=0.06)
    assert table.loc["sd(residual)", "conf_high"] == pytest.approx(high, abs=0.06)


@pytest.mark.slow
def test_the_bootstrap_repeats_by_its_seed_and_counts_failures():
    fit = example("cbpp")
    one, two, other = (confint(fit, method="bootstrap", n_resamples=60, seed=s) for s in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert not one["conf_low"].equals(other["conf_low"])
    assert (one["conf_low"] < one["estimate"]).all()
    assert (one["estimate"] < one["conf_high"]).all()
    calls = iter(range(1000))

    def failing(design, rows):
        if next(calls) % 4 == 0:
            raise np.linalg.LinAlgError
        return fit.refit(design, rows)

    table = confint(replace(fit, refit=failing), method="bootstrap", n_resamples=40)
    assert table["flag"].str.startswith("10 of 40 refits failed").all()


def test_resamples_that_agree_give_no_interval():
    fit = example("cbpp")
    table = confint(replace(fit, refit=lambda design, rows: fit), method="bootstrap", n_resamples=5)
    assert table[["conf_low", "conf_high"]].isna().all(axis=None)
    assert table["flag"].str.startswith(RESAMPLES_AGREE).all()


@pytest.mark.slow
def test_profiles_do_not_depend_on_the_origin_of_a_slope():
    rng = np.random.default_rng(0)
    g, x = np.repeat(np.arange(40), 12), rng.normal(size=480)
    u = rng.normal(size=(40, 2)) @ np.array([[0.8, 0.2], [0, 0.5]])
    y = (rng.random(480) < 1 / (1 + np.exp(-(0.3 + 0.5 * x + u[g, 0] + u[g, 1] * x)))).astype(int)
    ends = []
    for origin in (0, 1000):
        fit = js.fit("y ~ x + (x|g)", pd.DataFrame({"y": y, "x": x + origin, "g": g}))
        table = confint(fit, method="profile", terms=["x", "sd(x|g)"])
        ends.append(table[["conf_low", "conf_high"]].to_numpy())
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-4, atol=1e-5)
