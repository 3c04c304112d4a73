"""Critical values of several contrasts at once."""

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import studentized_range

from judgestats.kernels.simultaneous import MOST, max_t


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
    assert max_t(padded, 29, np.random.default_rng(0)) == max_t(contrasts(4, 30), 29, np.random.default_rng(0))


def test_of_very_many_contrasts_the_value_is_bonferronis():
    many = np.random.default_rng(0).normal(size=(20, MOST + 1))
    assert max_t(many, 19, np.random.default_rng(0)) == pytest.approx(stdtrit(19, 1 - 0.025 / (MOST + 1)))


def test_without_degrees_of_freedom_there_is_none():
    assert np.isnan(max_t(contrasts(3, 5), 0, np.random.default_rng(0)))
