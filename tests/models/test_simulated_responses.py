"""Simulated responses: their moments, their shape under counts, and what the bootstrap refits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import judgestats as js
from judgestats.errors import DesignError
from judgestats.models.designs import design
from judgestats.models.ml import fit_design
from judgestats.models.postestimation.simulated_responses import predictor, redesign, refitted, simulate
from judgestats.models.specifications import Model
from judgestats.models.thresholds import cumulative_thresholds
from models.examples import example, fitted
from refusals import refused

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def _sims(table):
    return table.filter(regex=r"^sim_\d").to_numpy()


def test_binomial_means_are_averages_over_the_random_effects():
    fit = example("cbpp")
    table = simulate(fit, 4000, seed=1)
    share = _sims(table) / table[["sim_trials"]].to_numpy()
    eta = (fit.design.X @ fit.beta)[:, None] + fit.theta[0] * _NODES
    expected = expit(eta) @ _WEIGHTS
    error = share.std(axis=1) / np.sqrt(4000)
    assert np.abs((share.mean(axis=1) - expected) / error).max() < 4.5
    assert (table["sim_trials"] == table["size"]).all()
    # the spread is more than binomial: by the variance of the chances
    spread = expit(eta) ** 2 @ _WEIGHTS - expected**2
    size = table["size"].to_numpy()
    whole = expected * (1 - expected) / size + spread * (1 - 1 / size)
    np.testing.assert_allclose(share.var(axis=1).mean(), whole.mean(), rtol=0.03)


def test_conditional_draws_keep_the_modes():
    fit = example("cbpp")
    share = _sims(simulate(fit, 3000, seed=2, random="conditional")) / fit.design.trials[:, None]
    expected = expit(fit.design.X @ fit.beta + fit.effects().modes[0][fit.design.terms[0].codes, 0])
    assert np.abs((share.mean(axis=1) - expected) / (share.std(axis=1) / np.sqrt(3000))).max() < 4.5


def test_gaussian_draws_have_the_covariance_of_the_model():
    fit = example("sleepstudy_ml")
    draws = _sims(simulate(fit, 3000, seed=3))
    one = fit.design.terms[0].codes == 0
    Z = fit.design.terms[0].values[one]
    expected = Z @ fit.covariances()[0] @ Z.T + fit.residual**2 * np.eye(one.sum())
    found = np.cov(draws[one])
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 3000)
    assert np.abs((found - expected) / error).max() < 4.5
    assert draws.dtype == float


@pytest.mark.slow
def test_cumulative_draws_have_the_shares_of_the_model():
    fit = example("wine")
    table = simulate(fit, 3000, seed=4)
    assert table["sim_1"].cat.categories.tolist() == ["1", "2", "3", "4", "5"]
    assert table["sim_1"].cat.ordered
    codes = np.column_stack([table[f"sim_{i + 1}"].cat.codes for i in range(3000)])
    rows = np.repeat(np.arange(len(fit.design.y)), fit.design.count.astype(int))
    eta = (fit.design.X @ fit.beta)[rows][:, None] + fit.theta[0] * _NODES
    for j, cut in enumerate(fit.tau):
        expected = expit(cut - eta) @ _WEIGHTS
        error = np.sqrt(expected * (1 - expected) / 3000)
        assert np.abs(((codes <= j).mean(axis=1) - expected) / error).max() < 4.5


def test_poisson_draws_have_the_log_normal_mean():
    fit = example("cbpp_poisson")
    draws = _sims(simulate(fit, 4000, seed=5))
    rows = np.repeat(np.arange(len(fit.design.y)), fit.design.count.astype(int))
    expected = np.exp(fit.design.X @ fit.beta + fit.design.offset + fit.theta[0] ** 2 / 2)[rows]
    assert np.abs((draws.mean(axis=1) - expected) / (draws.std(axis=1) / np.sqrt(4000))).max() < 4.5
    assert draws.dtype == np.int64


def _calls(levels=10, each=30):
    rng = np.random.default_rng(6)
    item, x = np.repeat(np.arange(levels), each), np.tile([0, 1], levels * each // 2)
    eta = 0.3 + 0.5 * x + rng.normal(0, 0.8, levels)[item]
    names = np.array([f"q{i}" for i in range(levels)], dtype=object)[item]
    noise = eta + rng.logistic(size=len(eta))
    return pd.DataFrame(
        {"y": (noise > 0).astype(int), "x": x, "item": names, "grade": np.digitize(noise, [-1, 0.5, 2])}
    )


def test_a_row_that_counts_is_as_many_calls():
    calls = _calls()
    tally = calls.groupby(["y", "x", "item"]).size().rename("n_identical").reset_index()
    fit = fitted("y ~ x + (1|item)", tally)
    table = simulate(fit, 2000, seed=7)
    assert table["sim_trials"].sum() == len(calls)
    assert (table["sim_trials"] > 1).any()
    # independent calls: the variance of a row's total, given the effects, is that of a binomial
    fixed = simulate(fit, 2000, seed=7, random="conditional")
    eta = fit.design.X @ fit.beta + fit.effects().modes[0][fit.design.terms[0].codes, 0]
    expected = fit.design.count * expit(eta) * expit(-eta)
    np.testing.assert_allclose(_sims(fixed).var(axis=1).sum(), expected.sum(), rtol=0.03)
    graded = calls.groupby(["grade", "x", "item"]).size().rename("n_identical").reset_index()
    other = simulate(fitted("grade ~ x + (1|item)", graded, "cumulative"), seed=7)
    assert len(other) == len(calls)
    assert other.groupby(["grade", "x", "item"], observed=True).size().tolist() == graded["n_identical"].tolist()


@pytest.mark.parametrize(("response", "family"), [("y", "binomial"), ("grade", "cumulative"), ("grade", "poisson")])
def test_a_redesign_keeps_the_calls_and_fits_like_its_rows(response, family):
    calls = _calls()
    tally = calls.groupby([response, "x", "item"]).size().rename("n_identical").reset_index()
    fit = fitted(f"{response} ~ x + (1|item)", tally, family)
    rng = np.random.default_rng(9)
    drawn, index = redesign(fit, rng)
    assert drawn.count.sum() == len(calls)
    assert drawn.n == len(calls)
    before = np.bincount(index, drawn.count, minlength=len(fit.design.y))
    np.testing.assert_array_equal(before, fit.design.count)
    rows = np.repeat(np.arange(len(drawn.y)), drawn.count.astype(int))
    labels = np.array(drawn.categories) if drawn.categories else None
    own = drawn.y[rows].astype(int)
    frame = drawn.frame.iloc[rows].assign(**{response: own if labels is None else labels[own].astype(int)})
    again = fitted(f"{response} ~ x + (1|item)", frame, family)
    np.testing.assert_allclose(fit.refit(drawn, index).params, again.params, rtol=1e-4, atol=1e-5)
    assert fit.refit(drawn, index).loglik == pytest.approx(again.loglik, abs=1e-6)


@pytest.mark.slow
def test_refits_scatter_about_the_fit():
    fit = fitted("y ~ x + (1|item)", _calls(20, 40))
    rng = np.random.default_rng(10)
    found = np.array([refitted(fit, rng).params for _ in range(200)])
    error = found.std(axis=0) / np.sqrt(200)
    assert np.abs((found.mean(axis=0) - fit.params) / error)[:2].max() < 4
    np.testing.assert_allclose(found.std(axis=0)[:2], np.sqrt(np.diag(fit.covariance))[:2], rtol=0.2)


def test_sets_of_thresholds_follow_their_rows():
    calls = _calls()
    calls["order"] = np.where(calls["x"] == 1, "ab", "ba")
    tally = calls.groupby(["grade", "order", "item"]).size().rename("n_identical").reset_index()
    coded = design(
        "grade ~ 1 + (1|item) + offset(order * 0)",
        tally.assign(order=(tally["order"] == "ab") * 1),
        family="cumulative",
    )
    part = coded.frame["order"].to_numpy(dtype=np.int64)
    cuts = cumulative_thresholds(
        coded.categories, "logit", parts={"threshold": ["ba", "ab"]}, sets=({"threshold": "ba"}, {"threshold": "ab"})
    )
    fit = fit_design(Model(coded, "cumulative", "logit", thresholds=cuts, part=part))
    drawn, index = redesign(fit, np.random.default_rng(11))
    assert len(index) != len(part)
    own = fit_design(Model(drawn, "cumulative", "logit", thresholds=cuts, part=part[index]))
    again = refitted(fit, np.random.default_rng(11))
    np.testing.assert_allclose(again.params, own.params)
    assert np.abs(again.params - fit.params).max() > 0.01


def test_a_fit_by_the_front_door_is_refitted_with_its_counts():
    calls = _calls()
    tally = calls.groupby(["y", "x", "item"]).size().rename("n_identical").reset_index()
    for options in ({"n_quadrature": "auto"}, {"n_quadrature": 9}, {"n_quadrature": 1}):
        fit = js.fit("y ~ x + (1|item)", tally, **options)
        drawn, index = redesign(fit, np.random.default_rng(12))
        same = fitted("y ~ x + (1|item)", tally, **options).refit(drawn, index)
        again = refitted(fit, np.random.default_rng(12))
        np.testing.assert_allclose(again.params, same.params)
        assert again.approximation == fit.approximation


def test_draws_repeat_by_their_seed():
    fit = example("wine_binary")
    one, two, other = (simulate(fit, 3, seed=s) for s in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert (_sims(one) != _sims(other)).any()
    assert (_sims(one) <= one[["sim_trials"]].to_numpy()).all()
    assert (_sims(one) > 0).any()
    assert one.columns[: len(fit.design.frame.columns)].tolist() == fit.design.frame.columns.tolist()


def test_a_model_without_random_terms_is_its_mean():
    fit = example("wine_clm")
    np.testing.assert_array_equal(predictor(fit, np.random.default_rng(0), "conditional"), fit.design.X @ fit.beta)


def test_options_are_checked():
    fit = example("cbpp")
    refused(
        DesignError,
        (lambda: simulate(fit, random="old"), "random='old'"),
        (lambda: simulate(fit, 0), "n=0"),
        (lambda: simulate(replace(fit, engine="gee")), "engine='gee'"),
        (lambda: simulate(replace(fit, effects=lambda: None), random="conditional"), "gives no random effects"),
    )
