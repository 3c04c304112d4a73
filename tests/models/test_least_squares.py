"""Gaussian models without random terms are R's lm, by every engine and whatever reml= says."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import judgestats as js
from models.reference import data, results, spelled
from refusals import refused

ASKED = ({}, {"reml": True}, {"engine": "glm"})
FORMULA = "score ~ strategy + length"


def rows(n):
    """The rows that lm.R takes."""
    places = [20 * k + shift for shift in (-1, 0) for k in range(1, n // 2 + 1)]
    own = data("scores")
    return pd.concat([own[own["strategy"] == s].iloc[places] for s in ("B0", "S1", "S8")], ignore_index=True)


TABLES = {"few": rows(4), "weighted": rows(20).assign(w=1 + np.arange(1, 61) % 3)}


@cache
def fitted(model, asked):
    weights = "w" if model == "weighted" else None
    return js.fit(FORMULA, TABLES[model], family="gaussian", weights=weights, **ASKED[asked])


def close(table, expected, *columns):
    for column in columns:
        np.testing.assert_allclose(table[column], expected[column], rtol=1e-6, atol=1e-9, err_msg=column)


@pytest.mark.parametrize("asked", range(len(ASKED)))
@pytest.mark.parametrize("model", TABLES)
def test_it_is_lm(model, asked):
    fit = fitted(model, asked)
    expected = results("lm", model=model, quantity="coefficient")
    terms = [spelled(t, ["strategy"]) for t in expected["term"]]
    table = fit.tidy(effects="fixed").set_index("term").loc[terms]
    close(table, expected, "estimate", "std_error", "statistic", "df", "p_value", "conf_low", "conf_high")
    expected = results("lm", model=model, quantity="prediction")
    close(fit.predict(TABLES[model].head(3)), expected, "estimate", "std_error", "conf_low", "conf_high")
    expected = results("lm", model=model, quantity="mean")
    close(fit.means("strategy"), expected, "estimate", "std_error", "df", "conf_low", "conf_high")
    expected, found = (
        results("lm", model=model, quantity="F"),
        fit.tests().set_index("term").loc[["strategy", "length"]],
    )
    close(found, expected, "statistic", "p_value")
    assert (found["df_error"] == expected["df"].to_numpy()).all()


@pytest.mark.parametrize("asked", range(len(ASKED)))
@pytest.mark.parametrize("model", TABLES)
def test_tukey_is_emmeans(model, asked):
    expected = results("lm", model=model, quantity="contrast")
    found = fitted(model, asked).contrasts("strategy", adjust="tukey")
    close(found, expected, "estimate", "std_error", "statistic", "df")
    for column in ("p_value", "conf_low", "conf_high"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-4)


@pytest.mark.parametrize("asked", range(len(ASKED)))
@pytest.mark.parametrize("model", TABLES)
def test_its_likelihood_is_the_highest(model, asked):
    fit, one = fitted(model, asked), {}
    for row in results("lm", model=model).query("quantity in ('loglik', 'aic', 'bic', 'sigma')").itertuples():
        one[row.quantity] = row.estimate
    glance = fit.glance().iloc[0]
    for name in ("loglik", "aic", "bic"):
        assert glance[name] == pytest.approx(one[name], rel=1e-9)
    assert fit.residual == pytest.approx(one["sigma"], rel=1e-8)
    assert glance["df_residual"] == fit.n - 4
    expected = results("lm", model=model, quantity="chi2")
    close(fit.drop1().set_index("term").loc[["strategy", "length"]], expected, "statistic", "p_value")
    less = js.anova(fit.update("score ~ length"), fit)
    close(less.tail(1), expected.head(1), "statistic", "p_value")
    assert (less["flag"] == "").all()


def test_against_a_mixed_model_by_reml_the_likelihoods_are_ml():
    small = js.fit("score ~ strategy", data("scores"), family="gaussian", reml=True)
    large = js.fit("score ~ strategy + (1|judge)", data("scores"), family="gaussian", reml=True)
    table = js.anova(small, large)
    assert table["loglik"].iloc[0] == pytest.approx(small.loglik)
    assert table["loglik"].iloc[1] == pytest.approx(large.update(reml=False).loglik)


def test_profiles_of_coefficients_are_their_t_intervals():
    fit = fitted("few", 0)
    wald, profile = fit.confint(), fit.confint(method="profile")
    np.testing.assert_allclose(profile[["conf_low", "conf_high"]][:4], wald[["conf_low", "conf_high"]][:4], rtol=1e-6)


def test_the_profile_of_the_residual_sd_is_that_of_the_residual_sum_of_squares():
    """Its likelihood is that of a χ² with n - p degrees of freedom: it falls by half the quantile at both ends."""
    fit = fitted("few", 0)
    row, df = fit.confint(method="profile").iloc[-1], 8
    squares = df * fit.residual**2
    fall = [
        2 * (chi2.logpdf(squares / s**2, df) - np.log(s**2)) for s in (fit.residual, row["conf_low"], row["conf_high"])
    ]
    np.testing.assert_allclose(fall[0] - np.array(fall[1:]), chi2.ppf(0.95, 1), atol=1e-4)
    assert row["conf_low"] < row["estimate"] < row["conf_high"]


def test_a_linear_probability_model_without_random_terms_is_lm():
    own = data("scores")
    one = js.fit("correct ~ strategy", own, engine="lpm")
    other = js.fit("correct ~ strategy", own, family="gaussian")
    pd.testing.assert_frame_equal(one.tidy(), other.tidy())


def test_normal_intervals_are_had_by_name():
    fit = js.fit(FORMULA, TABLES["few"], family="gaussian", df="normal")
    assert np.isinf(fit.tidy(effects="fixed")["df"]).all()
    row = fit.predict(TABLES["few"].head(1)).iloc[0]
    assert row["conf_high"] - row["estimate"] == pytest.approx(1.959964 * row["std_error"], rel=1e-6)


@pytest.mark.slow
def test_intervals_of_three_groups_of_four_cover():
    rng, level = np.random.default_rng(3), ["a", "b", "c"]
    table = pd.DataFrame({"g": np.repeat(level, 4)})
    hits = []
    for _ in range(250):
        fit = js.fit("y ~ g", table.assign(y=rng.normal(size=12)), family="gaussian")
        own = [fit.predict(pd.DataFrame({"g": level})), fit.means("g"), fit.contrasts("g", adjust="tukey")]
        hits.append([((t["conf_low"] < 0) & (t["conf_high"] > 0)) for t in own])
    assert np.mean([h[0].mean() for h in hits]) == pytest.approx(0.95, abs=0.03)
    assert np.mean([h[1].mean() for h in hits]) == pytest.approx(0.95, abs=0.03)
    assert np.mean([h[2].all() for h in hits]) == pytest.approx(0.95, abs=0.045)


CALLS = pd.DataFrame({"g": np.repeat(list("abcd"), 6), "s": ["p", "q"] * 12, "x": np.arange(24.0), "y": 7.3})
PERFECT = {
    "a constant": (CALLS, "y ~ s + x"),
    "zero": (CALLS.assign(y=0.0), "y ~ 1"),
    "a line": (CALLS.assign(y=0.1 * CALLS["x"]), "y ~ s + x"),
    "as many columns as rows": (CALLS.iloc[[0, 1, 7]].assign(y=[1.0, 2.0, 4.5]), "y ~ s + g"),
    "a constant, groups": (CALLS, "y ~ s + (1|g)"),
    "a constant, slopes": (CALLS, "y ~ x + (x|g)"),
    "constant groups": (CALLS.assign(y=CALLS["g"].map(ord) * 1.1), "y ~ s + (1|g)"),
    "constant groups, an intercept": (CALLS.assign(y=CALLS["g"].map(ord) * 1.1), "y ~ 1 + (1|g)"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("case", "asked"), [(c, a) for c in PERFECT for a in range(2 if "groups" in c or "slopes" in c else 3)]
)
def test_a_perfect_fit_is_said_and_has_no_errors(case, asked):
    table, formula = PERFECT[case]
    fit = js.fit(formula, table, family="gaussian", **ASKED[asked])
    truth = np.linalg.lstsq(fit.design.X, fit.design.y, rcond=None)[0]
    np.testing.assert_allclose(fit.beta, truth, atol=1e-9)
    term = "s" if "s" in fit.design.fixed.coder.terms else None
    tables = [fit.tidy(), fit.predict(), fit.variance_components(), fit.confint(method="bootstrap", n_resamples=3)]
    tables += [fit.means(term), fit.contrasts(term), fit.margins(), fit.tests()] if term else []
    for own in tables:
        assert own["flag"].str.contains("essentially perfect fit|random effects unknown").all()
        errors = [c for c in ("std_error", "p_value", "conf_low", "conf_high", "sd_low", "share_low") if c in own]
        assert own[errors].isna().all(axis=None)
    assert fit.glance()["flag"].iloc[0] == "essentially perfect fit"
    found = fit.check().query("level == 'fault'")
    assert found["what"].tolist() == ["essentially perfect fit"]
    assert "essentially perfect fit" in fit.summary()
    rows = [(fit.drop1, "gives every value"), (lambda: js.anova(fit, fit), "gives every value")]
    if "|" in formula:
        rows += [(fit.random_effects, js.errors.DesignError, "no random effects: essentially perfect fit")]
    refused(js.errors.FitError, *rows)


@pytest.mark.parametrize("formula", ["y ~ s", "y ~ s + (1|g)"])
def test_a_nearly_perfect_fit_has_its_errors(formula):
    noise = np.random.default_rng(2).normal(0, 1e-8, len(CALLS))
    fit = js.fit(formula, CALLS.assign(y=7.3 + noise), family="gaussian")
    assert fit.glance()["flag"].iloc[0] in ("", "singular fit")
    assert (fit.tidy(effects="fixed")["std_error"] > 0).all()
