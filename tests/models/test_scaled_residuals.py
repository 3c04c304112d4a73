"""Residuals by simulation: against distribution functions, planted faults, and refusals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.models.postestimation.scaled_residuals import simulated
from refusals import refused

DRAWS = 4000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    n = 80
    x, g = rng.normal(size=n).round(1), np.repeat(np.arange(8), 10)
    eta = 0.3 + 0.5 * x
    return pd.DataFrame(
        {
            "x": x,
            "g": g.astype(str),
            "binary": rng.binomial(1, expit(eta)),
            "grade": np.digitize(eta + rng.logistic(size=n), [-1, 0, 1]),
            "count": rng.poisson(np.exp(eta)),
            "many": rng.poisson(np.exp(eta) * rng.gamma(0.7, 1 / 0.7, n)),
            "score": eta + rng.normal(size=n),
        }
    )


def near(residuals, low, high):
    """Whether residuals are in the range of a distribution function at and below the responses, but for the draws."""
    assert (residuals > low - 0.035).all()
    assert (residuals < high + 0.035).all()


def test_a_gaussian_residual_is_the_distribution_function(table):
    fit = js.fit("score ~ x", table, family="gaussian")
    own = fit.scaled_residuals(DRAWS)
    b, sd = fit.coef(), fit.params[-1]
    at = stats.norm.cdf((own["score"] - b["Intercept"] - b["x"] * own["x"]) / sd)
    near(own["scaled_residual"], at, at)
    assert own["observed"].equals(own["score"])
    np.testing.assert_allclose(own["expected"], b["Intercept"] + b["x"] * own["x"], atol=0.07)


@pytest.mark.parametrize(("response", "family"), [("count", "poisson"), ("many", "negative_binomial")])
def test_a_residual_of_a_count_is_within_its_step(table, response, family):
    fit = js.fit(f"{response} ~ x", table, family=family)
    own = fit.scaled_residuals(DRAWS)
    mean = np.exp(fit.coef()["Intercept"] + fit.coef()["x"] * own["x"])
    size = np.exp(fit.params[-1])
    law = stats.poisson(mean) if family == "poisson" else stats.nbinom(size, size / (size + mean))
    near(own["scaled_residual"], law.cdf(own[response] - 1), law.cdf(own[response]))


def test_a_residual_of_a_cell_is_that_of_its_sum(table):
    fit = js.fit("binary ~ x", table)
    own = fit.scaled_residuals(DRAWS)
    cells = table.groupby("x")["binary"].agg(["size", "sum"]).reset_index()
    assert own["n"].tolist() == cells["size"].tolist()
    assert own["observed"].tolist() == cells["sum"].tolist()
    law = stats.binom(cells["size"], expit(fit.coef()["Intercept"] + fit.coef()["x"] * cells["x"]))
    near(own["scaled_residual"], law.cdf(cells["sum"] - 1), law.cdf(cells["sum"]))


def test_new_random_effects_are_integrated_over(table):
    easier = table["g"] < "3"
    fit = js.fit("binary ~ 1 + (1|g)", table.assign(binary=(table["g"].astype(int) + table.index) % 4 < 2 + easier))
    own = fit.scaled_residuals(DRAWS, by="g")
    u, w = np.polynomial.hermite_e.hermegauss(60)
    p = expit(fit.coef()["Intercept"] + fit.params[-1] * u)
    cdf = [(w @ np.stack([stats.binom.cdf(y - k, 10, p) for k in (1, 0)], axis=1)) / w.sum() for y in own["observed"]]
    near(own["scaled_residual"], np.array(cdf)[:, 0], np.array(cdf)[:, 1])


def test_a_residual_of_an_ordered_answer_is_within_its_category(table):
    fit = js.fit("grade ~ x + row", table.assign(row=np.arange(80.0)), family="cumulative")
    own = fit.scaled_residuals(DRAWS).sort_values("row", ignore_index=True)
    assert own["n"].eq(1).all()
    shares = fit.predict(interval=False).pivot(index="row", columns="category", values="estimate").sort_index()
    ends, grade = np.cumsum(np.column_stack([np.zeros(80), shares]), axis=1), own["observed"].to_numpy(int)
    assert grade.tolist() == table["grade"].tolist()
    near(own["scaled_residual"], ends[np.arange(80), grade], ends[np.arange(80), grade + 1])


def test_counts_are_rows(table):
    tally = table.groupby(["binary", "g"]).size().rename("n").reset_index()
    one = js.fit("binary ~ 1 + (1|g)", tally, counts="n").scaled_residuals(by="g")
    other = js.fit("binary ~ 1 + (1|g)", table).scaled_residuals(by="g")
    pd.testing.assert_frame_equal(one[["g", "n", "observed"]], other[["g", "n", "observed"]])
    np.testing.assert_allclose(one["scaled_residual"], other["scaled_residual"], atol=0.25)


def test_too_much_variance_is_found_where_it_is(table):
    rng = np.random.default_rng(3)
    wide = pd.DataFrame({"x": rng.normal(size=300)})
    wide["y"] = rng.poisson(np.exp(1 + 0.3 * wide["x"]) * rng.gamma(1, 1, 300))
    poisson = js.fit("y ~ x", wide, family="poisson").residual_tests().set_index("test")
    assert poisson.loc[["uniformity", "dispersion", "zeros"], "p_value"].max() < 0.02
    assert poisson.loc["dispersion", "estimate"] > 2
    assert poisson.loc["zeros", "observed"] == (wide["y"] == 0).sum()
    right = js.fit("y ~ x", wide, family="negative_binomial").residual_tests().set_index("test")
    assert right["p_value"].min() > 0.05
    assert right["estimate"].between(0.4, 2).all()


def test_judges_that_differ_do_not_fit_a_model_in_which_they_are_alike():
    rng = np.random.default_rng(4)
    calls = pd.DataFrame({"judge": np.repeat(list("abcdefghijkl"), 40), "item": np.tile(np.arange(40), 12)})
    calls["correct"] = rng.binomial(1, expit(rng.normal(0, 1.2, 12)).repeat(40))
    mixed = js.fit("correct ~ 1 + (1|judge) + (1|item)", calls)
    assert mixed.residual_tests(by="judge")["p_value"].min() > 0.05
    alike = js.fit("correct ~ 1 + (1|judge)", calls)
    none = replace(alike, params=np.append(alike.params[:-1], 0.0))
    assert none.residual_tests(by="judge").set_index("test").loc["dispersion", "p_value"] < 0.02


def test_tests_of_true_models_keep_their_size():
    rng = np.random.default_rng(7)
    g = np.repeat(np.arange(10), 12).astype(str)
    small = {"uniformity": 0, "dispersion": 0, "outliers": 0, "zeros": 0}
    for _ in range(60):
        y = rng.poisson(np.exp(0.5 + rng.normal(0, 0.6, 10).repeat(12)))
        fit = js.fit("y ~ 1 + (1|g)", pd.DataFrame({"g": g, "y": y}), family="poisson", n_quadrature=1)
        for _, row in fit.residual_tests(99, seed=None).iterrows():
            small[row["test"]] += row["p_value"] <= 0.1
    assert max(small.values()) <= stats.binom.ppf(0.999, 60, 0.1)


def test_the_ranks_of_all_responses_are_uniform(table):
    fit = js.fit("count ~ x + (1|g)", table, family="poisson")
    sample = simulated(fit, 99, None, "new", 1)
    assert (
        np.sort(np.floor(sample.ranks * 100), axis=0).tolist() == np.repeat(np.arange(100.0)[:, None], 80, 1).tolist()
    )


def test_conditional_effects_look_within_levels(table):
    fit = js.fit("score ~ x + (1|g)", table, family="gaussian")
    own = fit.scaled_residuals(random="conditional")
    fitted = fit.augment().set_index(["score", "x", "g"])["fitted"]
    np.testing.assert_allclose(
        own["expected"], fitted.loc[list(zip(own["score"], own["x"], own["g"], strict=True))], atol=0.25
    )


def test_refusals(table):
    binary, gee = js.fit("binary ~ x", table), js.fit("binary ~ x", table, engine="gee", cluster="g")
    nominal = js.fit("grade ~ x", table.assign(grade="c" + table["grade"].astype(str)), family="nominal")
    single = js.fit("binary ~ row", table.assign(row=np.arange(80.0)))
    named = js.fit("score ~ expected", table.rename(columns={"x": "expected"}), family="gaussian")
    refused(
        DesignError,
        (lambda: binary.scaled_residuals(10), "n_draws=10"),
        (lambda: binary.scaled_residuals(True), "n_draws=True"),
        (lambda: binary.scaled_residuals(by="z"), "no column of the model"),
        (lambda: binary.scaled_residuals(random="old"), "Allowed"),
        (lambda: binary.residual_tests(100_000_000), "too many"),
        (gee.scaled_residuals, "no whole cluster"),
        (nominal.residual_tests, "have no order"),
        (single.scaled_residuals, "Name columns with by="),
    )
    refused(SchemaError, (named.scaled_residuals, "'expected'"))
