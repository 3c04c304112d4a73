"""The profiled REML criterion against its dense definition, lme4 and the analysis of variance."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins_variance as twins
from judgestats.kernels import reml as kernel
from judgestats.kernels.reml import Data, fitted, gram, identifiable, normalised

REFERENCE = Path(__file__).parents[1] / "reference"


@st.composite
def data(draw):
    """Up to three factors, unbalanced, with levels numbered without gaps, and ratios of which some are 0."""
    n = draw(st.integers(6, 14))
    seed = draw(st.integers(0, 10**6))
    factors = draw(st.integers(1, 3))
    rng = np.random.default_rng(seed)
    codes = [np.unique(rng.integers(0, draw(st.integers(2, 5)), n), return_inverse=True)[1] for _ in range(factors)]
    ratio = np.array(draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 30.0]), min_size=factors, max_size=factors)))
    return rng.normal(5, 2, n), codes, ratio


@given(data())
def test_likelihood_equals_its_twin(given_):
    y, codes, ratio = given_
    got = kernel.likelihood(Data.of(y, codes), ratio)
    criterion, gradient, residual, slope = twins.reml(y, codes, ratio)
    assert got.criterion == pytest.approx(criterion, rel=1e-9)
    np.testing.assert_allclose(got.gradient, gradient, rtol=1e-7, atol=1e-7)
    assert got.residual == pytest.approx(residual, rel=1e-8)
    np.testing.assert_allclose(got.slope, slope, rtol=1e-7, atol=1e-8)


@given(data())
def test_gram_equals_its_twin(given_):
    y, codes, _ = given_
    if any(len(np.unique(c)) < 2 for c in codes):
        return
    np.testing.assert_allclose(normalised(gram(codes)), twins.gram(y, codes), atol=1e-10)


@pytest.fixture(scope="module")
def penicillin():
    table = pd.read_csv(REFERENCE / "penicillin.csv")
    return table["diameter"].to_numpy(float), [pd.factorize(table[c])[0] for c in ("plate", "sample")]


def test_penicillin_equals_lme4(penicillin):
    found = fitted(*penicillin)
    assert found.criterion == pytest.approx(330.860589, abs=1e-6)
    np.testing.assert_allclose(found.variance, [0.7169051, 3.7311318, 0.3024150], rtol=1e-4)
    assert found.converged


def test_penicillin_is_balanced_and_so_equals_its_mean_squares(penicillin):
    y, (plate, sample) = penicillin
    table = pd.Series(y).groupby([plate, sample]).mean().unstack().to_numpy()
    plates, samples, residual, _ = twins.two_way(table.tolist())
    exact = [(plates - residual) / table.shape[1], (samples - residual) / table.shape[0], residual]
    np.testing.assert_allclose(fitted(*penicillin).variance, exact, rtol=1e-8)


def test_covariance_of_balanced_components_is_that_of_mean_squares(penicillin):
    """Asymptotic: Var(MS) = 2 MS² / df; components are linear in the mean squares."""
    y, (plate, sample) = penicillin
    table = pd.Series(y).groupby([plate, sample]).mean().unstack().to_numpy()
    ms = np.array(twins.two_way(table.tolist())[:3])
    n, k = table.shape
    weight = np.array([[1 / k, 0, -1 / k], [0, 1 / n, -1 / n], [0, 0, 1.0]])
    exact = weight @ np.diag(2 * ms**2 / np.array([n - 1, k - 1, (n - 1) * (k - 1)])) @ weight.T
    np.testing.assert_allclose(fitted(y, [plate, sample]).covariance, exact, rtol=1e-4)


def test_negative_components_are_zero_and_a_minimum():
    rng = np.random.default_rng(4)
    s, j = (a.ravel() for a in np.indices((8, 5)))
    y = rng.normal(size=40)
    y -= pd.Series(y).groupby(j).transform("mean").to_numpy()  # no differences between j whatever
    found = fitted(y, [s, j])
    assert found.variance[1] == 0
    assert found.converged
    assert np.isnan(found.covariance[1]).all()
    assert found.covariance[2, 2] > 0
    products = Data.of(y, [s, j])
    assert kernel.likelihood(products, found.variance[:2] / found.variance[2]).gradient[1] > 0


def test_aliased_factors_are_not_identifiable():
    s = np.repeat(np.arange(6), 2)
    y = np.random.default_rng(0).normal(size=12)
    assert not fitted(y, [s, s]).identifiable
    assert not fitted(y, [np.arange(12)]).identifiable  # one row a level: the residual itself
    assert np.isnan(fitted(y, [s, s]).variance).all()
    assert identifiable(normalised(gram([s])))


def test_scale_and_offset_do_not_matter(penicillin):
    y, codes = penicillin
    one, two = fitted(y, codes), fitted(1e4 + 100 * y, codes)
    np.testing.assert_allclose(two.variance, 1e4 * one.variance, rtol=1e-8)
    assert two.criterion - one.criterion == pytest.approx((len(y) - 1) * 2 * np.log(100), rel=1e-9)


def test_factor_order_does_not_matter(penicillin):
    y, (plate, sample) = penicillin
    one, two = fitted(y, [plate, sample]), fitted(y, [sample, plate])
    np.testing.assert_allclose(two.variance[[1, 0, 2]], one.variance, rtol=1e-9)


def test_moments_of_a_balanced_table_are_its_solution(penicillin):
    found = fitted(*penicillin).variance
    ratio = kernel.moments(*penicillin, gram(penicillin[1]))
    np.testing.assert_allclose(ratio, found[:2] / found[2], rtol=1e-7)


def test_scores_that_the_factors_fit_have_no_residual_and_a_full_set_of_levels_is_no_such_fit():
    rng = np.random.default_rng(5)
    codes = [np.arange(20) % 4, np.arange(20) // 7]
    assert fitted(rng.normal(size=20), codes).has_residual
    exact = codes[0] * 2.0 - codes[1]
    assert not kernel.has_residual(Data.of(exact, codes), codes)
    assert not fitted(exact, codes).has_residual
    assert fitted(exact + 1e-4 * rng.normal(size=20), codes).has_residual
    many = [np.arange(4) // 2, np.array([0, 1, 1, 2]), np.arange(4) % 2]  # as many levels as rows: nothing can be left
    assert kernel.has_residual(Data.of(rng.normal(size=4), many), many)


def test_crossed_facets_with_interactions_of_many_levels_take_no_dense_matrix():
    rng = np.random.default_rng(1)
    judge, item, system = (a.ravel() for a in np.indices((12, 150, 3)))
    kept = rng.random(len(judge)) < 0.9
    codes = [judge, item, system, judge * 150 + item, judge * 3 + system, item * 3 + system]
    codes = [np.unique(c[kept], return_inverse=True)[1] for c in codes]
    y = sum(rng.normal(0, sd, c.max() + 1)[c] for c, sd in zip(codes, (1, 1, 0.5, 0.7, 0.4, 0.6), strict=True))
    found = fitted(y + rng.normal(size=len(y)), codes)
    assert found.converged
    np.testing.assert_allclose(found.variance[[1, 3, 5, 6]], [1, 0.49, 0.36, 1], rtol=0.35)
