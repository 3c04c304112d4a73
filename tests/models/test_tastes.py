"""Tastes of judges in preferences: restricted likelihood by brute force, and against random effects of the engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import size_under_tastes as study
from scipy import stats
from scipy.special import expit

import judgestats as js
from judgestats.models import position_bias_model
from judgestats.models.bias_models.tastes import Quadratic, with_tastes

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def grouped(groups, calls, sd, seed=0):
    """Answers of 0 and 1 in groups, with a slope, and the indicators of the groups."""
    rng = np.random.default_rng(seed)
    group, x = np.repeat(np.arange(groups), calls), np.tile([-1.0, 1.0], groups * calls // 2)
    effect = sd * rng.standard_normal(groups)
    y = (rng.random(len(x)) < expit(0.3 + 0.5 * x + effect[group])).astype(int)
    return pd.DataFrame({"y": y, "x": x, "group": group})


def without_and_with(table):
    """A fit whose rows know their group, without effects of it, and the same with them."""
    fit = js.fit("y ~ x + I(0 * group)", table)
    assert fit.names == ("Intercept", "x")
    return fit, with_tastes(fit, pd.get_dummies(fit.design.frame["group"]).to_numpy(float))


def test_the_criterion_is_the_restricted_likelihood_of_normal_responses():
    """Twice the log density of what is left of y beside the fixed effects, up to a constant."""
    rng = np.random.default_rng(1)
    X, Z = np.column_stack([np.ones(30), rng.normal(size=30)]), np.eye(6)[np.arange(30) % 6]
    y = X @ [1.0, 0.5] + Z @ rng.normal(size=6) + rng.normal(size=30)
    W = np.hstack([X, Z])
    working = Quadratic(W.T @ W, W.T @ y, np.arange(8) >= 2)
    contrasts = np.linalg.svd(X.T)[2][2:]  # orthogonal to X

    def exact(sd):
        V = np.eye(30) + sd**2 * Z @ Z.T
        return -2 * stats.multivariate_normal(cov=contrasts @ V @ contrasts.T).logpdf(contrasts @ y)

    shift = exact(0.0) - working.criterion(0.0)
    for sd in (0.1, 0.7, 2.0):
        assert exact(sd) - working.criterion(sd) == pytest.approx(shift, abs=1e-8)
    best = working.sd()
    assert exact(best) < min(exact(best * 1.01), exact(best * 0.99))
    beta, covariance = working.at(best)
    V = np.linalg.inv(np.eye(30) + best**2 * Z @ Z.T)
    np.testing.assert_allclose(covariance[:2, :2], np.linalg.inv(X.T @ V @ X), atol=1e-10)
    np.testing.assert_allclose(beta[:2], np.linalg.solve(X.T @ V @ X, X.T @ V @ y), atol=1e-8)


def test_with_many_groups_it_is_the_maximum_likelihood_of_the_engine():
    table = grouped(60, 60, 0.8)
    _, tasted = without_and_with(table)
    fit = js.fit("y ~ x + (1|group)", table)
    assert tasted.sd == pytest.approx(fit.params[-1], rel=0.03)
    np.testing.assert_allclose(tasted.fit.params, fit.params[:2], rtol=0.03)
    errors = [np.sqrt(np.diag(v)[:2]) for v in (tasted.fit.covariance, fit.covariance)]
    np.testing.assert_allclose(*errors, rtol=0.05)
    assert tasted.sd * tasted.log_error == pytest.approx(np.sqrt(fit.covariance[-1, -1]), rel=0.1)


def test_with_few_groups_it_is_larger_by_the_degrees_of_freedom():
    table = grouped(5, 4000, 1.0, seed=3)
    _, tasted = without_and_with(table)
    fit = js.fit("y ~ x + (1|group)", table)
    assert tasted.sd**2 == pytest.approx(fit.params[-1] ** 2 * 5 / 4, rel=0.02)


def test_without_differences_the_fit_stays_as_it_is():
    table = grouped(10, 200, 0.0, seed=4)
    fit, tasted = without_and_with(table)
    assert tasted.sd == 0
    assert np.isnan(tasted.log_error)
    np.testing.assert_allclose(tasted.fit.params, fit.params, atol=1e-4)
    np.testing.assert_allclose(tasted.fit.covariance, fit.covariance, rtol=1e-3)


def test_the_page_has_the_table_of_the_study_whose_tests_hold():
    table, page = pd.read_csv(study.TABLE), PAGE.read_text(encoding="utf-8")
    assert tuple(table.columns) == study.COLUMNS
    assert set(zip(table["of"], table["design"], strict=True)) <= {(d.of, d.name) for d in study.designs()}
    assert all(line in page for line in study.page_lines(table))
    assert len(table) > 25
    assert (table["size"] < 0.065 + 2 * table["mc_error"]).all()
    measures = table[table["of"].isin(["bias_score(family=)", "consensus_deviation"])]
    assert len(measures) == 13
    assert (measures["size"] <= 0.065).all()
    assert (measures["power"] > measures["size"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("judges", [3, 5])
def test_measures_tell_tastes_from_a_preference_for_ones_own(judges):
    for ask, tables in ((study.deviations, 60), (study.family_bias, 25)):
        answers = [ask(seed, judges) for seed in range(1000, 1000 + tables)]
        for question in answers[0]:
            assert np.mean([np.mean(a[question]) for a in answers]) < 0.12, (ask, question)


@pytest.mark.slow
def test_tastes_are_no_self_preference():
    """Without an effect of judge by system more than half of these tables have an interval without 0."""
    for tables, calls in (
        (25, lambda s: study.ratings(s, items=8, taste=0.8)),
        (10, lambda s: study.preferences(s, items=8, taste=1.0)),
    ):
        answers = [study.own_questions(calls(seed)) for seed in range(tables)]
        for question in answers[0]:
            assert np.mean([np.mean(a[question]) for a in answers]) < 0.21, question


@pytest.mark.slow
def test_shifts_that_differ_between_judges_are_no_shift_of_the_average_judge():
    question = "slot bias differs by strategy"
    models = [position_bias_model(study.positions(seed, shift=1.5, items=12), by="strategy") for seed in range(10)]
    assert sum(any(study.asked(m.tests, question)) for m in models) <= 2
