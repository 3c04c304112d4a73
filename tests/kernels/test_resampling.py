"""The bootstrap of counts: against its twin, against closed forms, and reproducible."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from judgestats.kernels import resampling as kernel


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_resampled_totals_equal_their_twin(clusters, width, resamples, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, (clusters, width)).astype(float)
    index = kernel.cluster_index(rng, clusters, resamples)
    np.testing.assert_array_equal(kernel.resampled_totals(counts, index), twins.resampled_totals(counts, index))


def test_bootstrap_variance_is_the_closed_form():
    counts = np.arange(12.0)[:, None]
    index = kernel.cluster_index(np.random.default_rng(0), 12, 40_000)
    draws = kernel.resampled_totals(counts, index)[:, 0]
    assert draws.var() == pytest.approx(12 * counts.var(), rel=0.03)


def test_percentile_interval_is_the_published_one():
    # R boot and SciPy on the same data: percentile 28.86 to 84.21
    x = np.array([10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213])
    index = kernel.cluster_index(np.random.default_rng(0), x.size, 200_000)
    draws = kernel.resampled_totals(x[:, None], index)[:, 0] / x.size
    assert kernel.percentile_interval(draws) == (pytest.approx(28.86, rel=0.01), pytest.approx(84.21, rel=0.01))


def test_percentile_interval_keeps_an_infinite_end():
    draws = np.array([-np.inf] * 10 + [1.0, 2.0, 3.0] * 30)
    low, high = kernel.percentile_interval(draws)
    assert low == -np.inf
    assert high == 3.0


def test_percentile_interval_leaves_nan_out():
    assert kernel.percentile_interval(np.array([np.nan, 1.0, 1.0])) == (1.0, 1.0)
    assert all(np.isnan(kernel.percentile_interval(np.array([np.nan]))))


def test_same_seed_same_index():
    one, two = (kernel.cluster_index(np.random.default_rng(3), 20, 5) for _ in range(2))
    np.testing.assert_array_equal(one, two)
