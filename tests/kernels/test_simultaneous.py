"""Critical values of several contrasts at once, and sets of ranks."""

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import studentized_range

from judgestats.kernels.simultaneous import MOST, max_t, max_t_of_pairs, rank_sets


def contrasts(judges, clusters, seed=0):
    """Contributions of all pairs of uncorrelated judges of one variance: the setting of Tukey's test."""
    rng = np.random.default_rng(seed)
    parts, _ = np.linalg.qr(rng.normal(size=(clusters, judges)))
    return np.array([parts[:, i] - parts[:, j] for i in range(judges) for j in range(i)]).T


@pytest.mark.parametrize(("judges", "df"), [(3, 10), (6, 40), (10, 200)])
def test_all_pairs_of_equal_variance_have_the_critical_value_of_tukey(judges, df):
    found = max_t(contrasts(judges, 60), df, np.random.default_rng(1))
    assert found == pytest.approx(studentized_range.ppf(0.95, judges, df) / np.sqrt(2), rel=0.03)


def test_one_contrast_has_the_quantile_of_t_and_copies_of_it_no_more():
    one = contrasts(2, 30)
    assert max_t(one, 29, np.random.default_rng(0)) == pytest.approx(stdtrit(29, 0.975))
    copies = np.repeat(one, 20, axis=1)
    assert max_t(copies, 29, np.random.default_rng(0)) == pytest.approx(stdtrit(29, 0.975), rel=0.04)


def test_contrasts_without_an_error_are_no_part_of_the_family():
    padded = np.hstack([contrasts(4, 30), np.zeros((30, 50))])
    alone, beside = (max_t(each, 29, np.random.default_rng(0)) for each in (contrasts(4, 30), padded))
    assert beside == pytest.approx(alone, rel=1e-6)


@pytest.mark.parametrize("noise", [1e-15, 1e-12])
def test_rounding_does_not_change_the_draws(noise):
    """Contrasts of equal variance: their principal axes are arbitrary, and another processor turns them."""
    parts = contrasts(4, 30)
    touched = parts + noise * np.random.default_rng(5).normal(size=parts.shape)
    one, other = (max_t(each, 29, np.random.default_rng(0)) for each in (parts, touched))
    assert other == pytest.approx(one, rel=1e-6)
    covariances = np.eye(6), np.eye(6) + noise * np.random.default_rng(5).normal(size=(6, 1)) ** 2
    one, other = (max_t_of_pairs(each, 29, np.random.default_rng(0)) for each in covariances)
    assert other == pytest.approx(one, rel=1e-6)


def test_of_very_many_contrasts_the_value_is_bonferronis():
    many = np.random.default_rng(0).normal(size=(20, MOST + 1))
    assert max_t(many, 19, np.random.default_rng(0)) == pytest.approx(stdtrit(19, 1 - 0.025 / (MOST + 1)))


def test_without_degrees_of_freedom_there_is_none():
    assert np.isnan(max_t(contrasts(3, 5), 0, np.random.default_rng(0)))


@pytest.mark.parametrize(("size", "df"), [(2, 10.0), (5, 20.0), (10, np.inf)])
def test_all_pairs_of_independent_estimates_have_the_critical_value_of_tukey(size, df):
    found = max_t_of_pairs(np.eye(size), df, np.random.default_rng(1))
    assert found == pytest.approx(studentized_range.ppf(0.95, size, min(df, 1e6)) / np.sqrt(2), rel=0.02)


@pytest.mark.parametrize("copy", [False, True])
def test_pairs_have_the_critical_value_of_their_contrasts_written_out(copy):
    """From the same draws; two estimates that never differ are no pair."""
    covariance = np.cov(np.random.default_rng(3).normal(size=(9, 4)), rowvar=False)
    covariance = covariance[np.ix_([0, 1, 2, 2], [0, 1, 2, 2])] if copy else covariance
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    pairs = np.array([root[i] - root[j] for i in range(4) for j in range(i) if not (copy and {i, j} == {2, 3})]).T
    one, two = (np.random.default_rng(0) for _ in range(2))
    assert max_t_of_pairs(covariance, 12, one) == pytest.approx(max_t(pairs, 12, two), rel=1e-9)


def test_more_pairs_than_are_drawn_as_contrasts_are_still_drawn():
    size = 70
    assert size * (size - 1) / 2 > MOST
    found = max_t_of_pairs(np.eye(size), np.inf, np.random.default_rng(1))
    assert found == pytest.approx(studentized_range.ppf(0.95, size, 1e6) / np.sqrt(2), rel=0.01)


def test_sets_of_ranks_count_the_significantly_better_and_worse():
    estimate = np.array([2.0, 1.9, 0.0, np.inf])
    covariance = np.diag([0.01, 0.01, 0.01, np.nan])
    covariance[3] = covariance[:, 3] = np.nan
    low, high = rank_sets(estimate, covariance, 2.0)
    assert low.tolist() == [1, 1, 3, 1]
    assert high.tolist() == [3, 3, 4, 4]
