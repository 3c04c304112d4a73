"""Isotonic regression against brute force and scikit-learn, and the parts of the Brier score."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from judgestats.kernels.isotonic import binned_error, brier_parts, increasing, pooled


def brute_force(right, n):
    """The best increasing fit among all ways to cut the levels into blocks."""
    best, fit = np.inf, None
    size = len(n)
    for cuts in range(size):
        for at in combinations(range(1, size), cuts):
            edges = [0, *at, size]
            mean = [right[a:b].sum() / n[a:b].sum() for a, b in pairwise(edges)]
            if np.all(np.diff(mean) >= -1e-12):
                p = np.repeat(mean, np.diff(edges))
                loss = (n * (right / n - p) ** 2).sum()
                if loss < best - 1e-12:
                    best, fit = loss, p
    return fit


@st.composite
def verdicts(draw, least=1):
    levels = draw(st.integers(1, 6))
    n = np.array(draw(st.lists(st.integers(least, 6), min_size=levels, max_size=levels)), float)
    right = np.array([draw(st.integers(0, int(k))) for k in n], float)
    return right, n


@given(verdicts())
def test_pooling_is_the_best_increasing_fit(drawn):
    right, n = drawn
    np.testing.assert_allclose(pooled(right, n), brute_force(right, n), atol=1e-12)
    level = np.arange(n.size)
    peer = IsotonicRegression().fit(level, right / n, sample_weight=n)
    np.testing.assert_allclose(pooled(right, n), peer.predict(level), atol=1e-12)


@given(verdicts(least=0))
def test_the_parts_add_up(drawn):
    right, n = drawn
    level = np.linspace(0.1, 1, n.size)
    fitted = pooled(right, n)
    assert np.isnan(fitted[n == 0]).all()
    if not n.sum():
        return
    found = brier_parts(level, right, n, fitted)
    each = np.concatenate([np.repeat((1 - p) ** 2, int(k)).tolist() for p, k in zip(level, right, strict=True)])
    others = np.concatenate([np.repeat(p**2, int(m - k)) for p, k, m in zip(level, right, n, strict=True)])
    assert found.score == pytest.approx(np.concatenate([each, others]).mean())
    assert found.miscalibration - found.discrimination + found.uncertainty == pytest.approx(found.score, abs=1e-15)
    assert found.miscalibration > -1e-12
    assert found.discrimination > -1e-12


def test_many_at_once():
    rng = np.random.default_rng(0)
    n = rng.integers(0, 5, size=(20, 6)).astype(float)
    right = rng.binomial(n.astype(int), 0.6).astype(float)
    np.testing.assert_allclose(pooled(right, n), [pooled(r, m) for r, m in zip(right, n, strict=True)])


def test_calibration_error_over_bins():
    level = np.array([0.05, 0.15, 0.5, 0.95, 1.0])
    n, right = np.array([2.0, 2, 4, 6, 6]), np.array([1.0, 0, 1, 6, 3])
    edges = np.array([0, 0.1, 0.5, 1.0])
    want = (abs(1 - 0.1) + abs(0 - 0.3) + abs(10 - (2 + 5.7 + 6))) / 20
    assert binned_error(level, right, n, edges) == pytest.approx(want)


def test_an_increasing_sequence_pools_what_decreases_by_its_weights():
    assert increasing(np.array([0.5, 0.2, 0.9]), np.array([1.0, 3.0, 1.0])).tolist() == pytest.approx(
        [0.275, 0.275, 0.9]
    )
