"""The correlation kernels against their plain twins, SciPy and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import twins_correlation as twins
from judgestats.kernels import correlation as kernel
from judgestats.kernels.resampling import weighted_totals

SCORES = st.one_of(st.integers(1, 5).map(float), st.just(np.nan))


@st.composite
def pairs(draw, vectors=2):
    """Vectors over points, the owner of each point, and how often each owner was drawn."""
    n = draw(st.integers(1, 12))
    rows = [draw(st.lists(SCORES, min_size=n, max_size=n)) for _ in range(vectors)]
    owner = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    return np.array(rows), np.array(owner), np.array([weights], float)


def of_two_judges(x, y, owner, weights):
    """Correlation (B, K) of K pairs of vectors (K, N)."""
    return kernel.all_pairs(np.stack([x, y], axis=1), owner, weights.shape[1], weights)[..., 0]


@given(pairs())
def test_pearson_of_weighted_sums_equals_the_rows_written_out(data):
    (x, y), owner, weights = data
    got = of_two_judges(x[None], y[None], owner, weights)[0, 0]
    expected = twins.pearson(*twins.written_out(np.array([x, y]), weights[0], owner))
    assert got == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(pairs(vectors=8))
def test_all_pairs_equal_the_rows_written_out(data):
    """Two rows of four judges, complete ones and others."""
    scores, owner, weights = data
    got = kernel.all_pairs(scores.reshape(2, 4, -1), owner, 4, weights)[0]
    for row, r in zip(scores.reshape(2, 4, -1), got, strict=True):
        written = twins.written_out(row, weights[0], owner)
        expected = [twins.pearson(written[i], written[j]) for i in range(4) for j in range(i + 1, 4)]
        assert r == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(pairs())
def test_weighted_spearman_equals_the_rows_written_out(data):
    (x, y), owner, weights = data
    got = kernel.weighted_spearman(x, y, weights[:, owner])[0]
    expected = twins.spearman(*twins.written_out(np.array([x, y]), weights[0], owner))
    assert got == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(pairs())
def test_rowwise_equals_its_twin(data):
    (x, y), _, _ = data
    assert kernel.rowwise(x, y) == pytest.approx(twins.pearson(x, y), abs=1e-9, nan_ok=True)
    assert kernel.rowwise(x, y, ranked=True) == pytest.approx(twins.spearman(x, y), abs=1e-9, nan_ok=True)


@given(pairs(vectors=3))
def test_icc_of_weighted_sums_equals_the_rows_written_out(data):
    scores, owner, weights = data
    got = kernel.icc_of(weighted_totals(weights, kernel.icc_sums(scores, owner, 4)))[0]
    written = twins.written_out(scores, weights[0], owner)
    assert got == pytest.approx(twins.icc(written), abs=1e-7, nan_ok=True)


@given(st.lists(SCORES, min_size=1, max_size=20))
def test_average_ranks_are_scipys(values):
    x = np.array(values)
    known = ~np.isnan(x)
    got = kernel.average_ranks(x)
    np.testing.assert_array_equal(np.isnan(got), ~known)
    np.testing.assert_allclose(got[known], stats.rankdata(x[known]))


def test_against_scipy_on_continuous_scores():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 7, 50)) + rng.normal(size=(7, 50))
    got = of_two_judges(x, y, np.arange(50), np.ones((1, 50)))[0]
    np.testing.assert_allclose(got, [stats.pearsonr(a, b)[0] for a, b in zip(x, y, strict=True)])
    ranked = [stats.spearmanr(a, b)[0] for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(kernel.rowwise(x, y, ranked=True), ranked)


def test_icc_of_shrout_and_fleiss_is_published():
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    scores = np.array(table, float).T
    got = kernel.icc_of(kernel.icc_sums(scores, np.arange(6), 6).sum(axis=0))
    assert got == pytest.approx(0.28976378, abs=1e-8)


def test_a_large_offset_does_not_disturb():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 1, 40))
    for offset in (0.0, 1e8):
        got = of_two_judges(x + offset, y - offset, np.arange(40), np.ones((1, 40)))[0, 0]
        assert got == pytest.approx(twins.pearson(x[0], y[0]), abs=1e-6)


def test_constant_and_short_vectors_have_no_correlation():
    x = np.array([[0.1, 0.1, 0.1, 0.1], [1.0, np.nan, np.nan, np.nan], [0.1, 0.1, 0.1, 9.0], [1.0, 2.0, 3.0, np.nan]])
    y = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, np.nan], [3.0, 2.0, 1.0, 0.0]])
    got = of_two_judges(x, y, np.arange(4), np.ones((1, 4)))[0]
    assert np.isnan(got[:3]).all()  # the third is constant where both have a value
    assert got[3] == -1.0
    assert np.isnan(kernel.weighted_spearman(np.array([np.nan]), np.array([1.0]), np.ones((2, 1)))).all()


def test_grouped_adds_what_an_owner_has_and_leaves_the_others_empty():
    got = kernel.grouped(np.array([[1.0], [2.0], [4.0]]), np.array([2, 0, 2]), 4)
    np.testing.assert_array_equal(got[:, 0], [2, 0, 5, 0])
    np.testing.assert_array_equal(kernel.grouped(np.array([1.0, 2.0]), np.array([0, 1]), 2), [1, 2])


def test_effective_number_of_columns():
    x = np.random.default_rng(0).normal(3, 2, size=(30, 4))
    sums = kernel.product_sums(x)
    assert sums.shape == (30, 15)
    np.testing.assert_allclose(kernel.correlations_of(sums.sum(axis=0), 4), np.corrcoef(x.T), rtol=1e-10)
    drawn = np.random.default_rng(1).integers(0, 30, size=(5, 30))
    totals = np.array([sums[d].sum(axis=0) for d in drawn])
    want = [16 / np.corrcoef(x[d].T).sum() for d in drawn]
    np.testing.assert_allclose(kernel.effective_number(totals, 4), want, rtol=1e-10)
    x[:, 2] = 7.0
    assert np.isnan(kernel.effective_number(kernel.product_sums(x).sum(axis=0), 4))
    assert np.isnan(kernel.effective_number(kernel.product_sums(np.column_stack([x[:, 0], -x[:, 0]])).sum(axis=0), 2))


def test_pearson_without_each_unit_is_that_of_the_other_points():
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(5), [1, 3, 2, 4, 2])
    x, y = rng.normal(size=(2, unit.size))
    without, size = kernel.pearson_without(x - x.mean(), y - y.mean(), unit, 5)
    assert size.tolist() == [1, 3, 2, 4, 2]
    np.testing.assert_allclose(without, [np.corrcoef(x[unit != u], y[unit != u])[0, 1] for u in range(5)])
