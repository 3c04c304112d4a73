"""Intervals for proportions against published values, and the kernel against its twin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import twins
from judgestats.kernels import proportions as kernel

# Newcombe (1998) cases as R's prop.test and statsmodels print them
WILSON = [
    (81, 263, 0.25528852, 0.36620958),
    (15, 148, 0.06238640, 0.16048724),
    (0, 20, 0.0, 0.16112516),
    (1, 29, 0.00611321, 0.17175522),
    (19, 38, 0.348499283643951, 0.651500716356049),
    (38, 38, 0.90819013, 1.0),
    (18, 20, 0.6989663547715128, 0.972133518786232),
    (4, 20, 0.0806576625797981, 0.4160174322518935),
    (4, 200, 0.00780442641634947, 0.05028708690582643),
]


@pytest.mark.parametrize(("k", "n", "low", "high"), WILSON)
def test_wilson_is_the_published_interval(k, n, low, high):
    assert kernel.wilson(k, n) == (pytest.approx(low, abs=1e-8), pytest.approx(high, abs=1e-8))


def test_wilson_at_the_edges_is_exactly_0_and_1():
    assert float(kernel.wilson(0, 20)[0]) == 0.0
    assert float(kernel.wilson(38, 38)[1]) == 1.0
    assert all(math.isnan(x) for x in kernel.wilson(0, 0))


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=20))
def test_wilson_equals_its_twin(pairs):
    k, n = np.array([min(p) for p in pairs], float), np.array([max(p) for p in pairs], float)
    z = kernel.normal_quantile(0.95)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = twins.wilson(k / n, n, np.full(k.size, z))
    for got, want in zip(kernel.wilson(k, n), expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)


@given(st.integers(1, 500), st.data(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_is_statsmodels(n, data, level):
    k = data.draw(st.integers(0, n))
    np.testing.assert_allclose(kernel.wilson(k, n, level), proportion_confint(k, n, 1 - level, "wilson"), atol=1e-12)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.05243147, 0.33387265),
        ((9, 10, 3, 10), 0.17052272, 0.80901797),
    ],
)
def test_newcombe_is_the_published_interval(counts, low, high):
    assert kernel.newcombe(*counts) == (pytest.approx(low, abs=1e-8), pytest.approx(high, abs=1e-8))


def test_newcombe_is_the_published_interval_of_seven_and_one():
    # Newcombe (1998) prints .019 to .340, statsmodels' tests .018921 to .340369
    assert kernel.newcombe(7, 34, 1, 34) == (pytest.approx(0.018921, abs=5e-7), pytest.approx(0.340369, abs=5e-7))


@given(st.integers(1, 300), st.integers(1, 300), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_newcombe_is_statsmodels(n1, n2, data, level):
    k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    peer = confint_proportions_2indep(k1, n1, k2, n2, method="newcomb", compare="diff", alpha=1 - level)
    np.testing.assert_allclose(kernel.newcombe(k1, n1, k2, n2, level), peer, atol=1e-10)


def test_newcombe_paired_is_the_published_interval():
    # Newcombe (1998b), Table I of the paired paper: 36, 12, 2, 0 by method 10
    assert kernel.newcombe_paired(36, 12, 2, 0) == (pytest.approx(0.0569, abs=5e-5), pytest.approx(0.3404, abs=5e-5))


def test_newcombe_paired_changes_sign_with_its_arguments():
    low, high = kernel.newcombe_paired(30, 9, 4, 7)
    assert kernel.newcombe_paired(30, 4, 9, 7) == (pytest.approx(-high), pytest.approx(-low))


def test_clustered_wilson_of_clusters_of_one_is_nearly_wilson():
    rng = np.random.default_rng(1)
    k = rng.integers(0, 2, 4000).astype(float)
    se, low, high = kernel.clustered_wilson(k, np.ones(4000))
    p = k.mean()
    assert se == pytest.approx(math.sqrt(p * (1 - p) / 3999), rel=1e-9)
    assert (low, high) == (
        pytest.approx(float(kernel.wilson(k.sum(), 4000)[0]), abs=2e-5),
        pytest.approx(float(kernel.wilson(k.sum(), 4000)[1]), abs=2e-5),
    )


def test_clustered_wilson_of_copied_calls_ignores_the_copies():
    k = np.array([1.0, 0, 1, 1, 0, 1, 0, 1, 1, 1])
    once = kernel.clustered_wilson(k, np.ones(10))
    assert kernel.clustered_wilson(7 * k, np.full(10, 7.0)) == pytest.approx(once)


def test_clustered_wilson_at_one_counts_clusters():
    _, low, high = kernel.clustered_wilson(np.full(8, 5.0), np.full(8, 5.0))
    assert high == 1.0
    assert low == pytest.approx(float(kernel.wilson(8, 8, df=7)[0]))


def test_clustered_wilson_of_one_cluster_is_unknown():
    assert all(math.isnan(x) for x in kernel.clustered_wilson(np.array([3.0]), np.array([5.0])))


def test_goodman_is_wilson_at_a_shared_level():
    low, high = kernel.goodman(np.array([56.0, 72, 73, 59, 62, 87, 58]))  # Goodman's dice, Sison and Glaz (1995)
    level = 1 - 0.05 / 7
    want = [proportion_confint(k, 467, 1 - level, "wilson") for k in (56, 72, 73, 59, 62, 87, 58)]
    np.testing.assert_allclose(np.column_stack([low, high]), want, atol=1e-12)
