"""Kenward and Roger's adjustment, against its formulas in matrices of rows; R's numbers are in tests/models."""

from __future__ import annotations

import numpy as np
import pytest

import twins_mixed as twin
from judgestats.kernels.elimination import structure
from judgestats.kernels.kenward_roger import KenwardRoger, kenward_roger
from judgestats.kernels.linear_mixed import ResponseCells, profile

#: Of 9 judges intercept and slope, of 12 items an intercept: columns of z with a variance or covariance of their own.
PAIRS = [(0, 0), (0, 1), (1, 1), (2, 2)]
L = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -1.0]])


def slopes_and_items(N=70, seed=3):
    rng = np.random.default_rng(seed)
    judge, item, x = rng.integers(0, 9, N), rng.integers(0, 12, N), rng.normal(size=N)
    cols = np.column_stack([2 * judge, 2 * judge + 1, 18 + item]).astype(np.int64)
    X, z = np.column_stack([np.ones(N), x, rng.normal(size=N)]), np.column_stack([np.ones(N), x, np.ones(N)])
    y = X @ [1.0, 0.5, 0.0] + rng.normal(size=9)[judge] + rng.normal(size=N)
    return ResponseCells(y, rng.integers(1, 4, N) * 1.0, X, z, float(N), 0.0, 0.0), structure(
        cols, np.array([0, 18, 30])
    )


def of_rows(cells, t, factor, residual):
    """The twin's answer in matrices of rows, and the covariance of the response."""
    Z = [twin.dense_design(t.cols[:, [k]], cells.z[:, [k]], t.q) for k in range(3)]
    own = [z @ z.T for z in Z]
    shift = np.eye(30, k=1) * np.tile([1.0, 0.0], 15)[:, None]  # from a judge's intercept to its slope
    both = Z[0] @ shift @ Z[1].T
    G = [own[0], both + both.T, own[1], own[2], np.diag(1 / cells.weight)]
    C = factor @ factor.T
    S = residual * (C[0, 0] * G[0] + C[0, 1] * G[1] + C[1, 1] * G[2] + C[2, 2] * G[3] + G[4])
    return twin.kenward_roger(cells.X, S, G)


@pytest.mark.parametrize(
    "factor",
    [
        [[0.8, 0, 0], [-0.3, 0.5, 0], [0, 0, 1.1]],
        [[0.8, 0, 0], [-0.3, 0, 0], [0, 0, 0.2]],  # a correlation of -1
        [[0.8, 0, 0], [0, 0, 0], [0, 0, 0]],
    ],
)
def test_it_is_that_of_matrices_of_rows(factor):
    """Prior weights divide variances; variances on their boundary have a derivative, too."""
    cells, t = slopes_and_items()
    factor = np.array(factor, float)
    zl = cells.z @ factor
    at = profile(cells, t, zl, True)
    own = kenward_roger(cells, t, zl, at, PAIRS)
    plain, covariance, slopes, spread = of_rows(cells, t, factor, at.residual)
    np.testing.assert_allclose(own.plain, plain, rtol=1e-9)
    np.testing.assert_allclose(own.covariance, covariance, rtol=1e-8)
    # the last of our parameters multiplies all of the variances, the twin's the residual variance
    by_rows = KenwardRoger(plain, covariance, slopes, spread)
    for rows in (L, L[:1], L[1:], np.eye(3)):
        assert own.f_test(rows) == pytest.approx(by_rows.f_test(rows), rel=1e-8)
    moves = np.einsum("ia,kab,ib->ik", L, slopes, L)
    df = 2 * np.einsum("ia,ab,ib->i", L, plain, L) ** 2 / np.einsum("ik,kl,il->i", moves, spread, moves)
    assert np.array([own.f_test(row[None]) for row in L]) == pytest.approx(np.column_stack([[1.0, 1.0], df]), rel=1e-8)


def test_rows_that_are_cells_of_equal_rows():
    """Cells of two rows each, and the rows."""
    cells, t = slopes_and_items()
    zl = 0.6 * cells.z
    short = ResponseCells(cells.mean, np.full(70, 2.0), cells.X, cells.z, 140.0, 140 * 0.09, 0.0)
    y = np.concatenate([cells.mean + 0.3, cells.mean - 0.3])
    rows = ResponseCells(y, np.ones(140), np.tile(cells.X, (2, 1)), np.tile(cells.z, (2, 1)), 140.0, 0.0, 0.0)
    long = structure(np.tile(t.cols, (2, 1)), np.array([0, 18, 30]))
    one = kenward_roger(short, t, zl, profile(short, t, zl, True), PAIRS)
    other = kenward_roger(rows, long, np.tile(zl, (2, 1)), profile(rows, long, np.tile(zl, (2, 1)), True), PAIRS)
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_balanced_means_have_their_exact_f():
    """Three groups of three judges, 5 calls each: F of the analysis of variance of judges' means, with its 6 degrees."""
    rng = np.random.default_rng(0)
    judge = np.repeat(np.arange(9), 5)
    group = judge // 3
    X = (group[:, None] == np.arange(3)) * 1.0
    y = rng.normal(size=9)[judge] + rng.normal(size=45)
    cells = ResponseCells(y, np.ones(45), X, np.ones((45, 1)), 45.0, 0.0, 0.0)
    t = structure(judge[:, None].astype(np.int64), np.array([0, 9]))
    zl = np.full((45, 1), 0.9)
    own = kenward_roger(cells, t, zl, profile(cells, t, zl, True), [(0, 0)])
    np.testing.assert_allclose(own.covariance, own.plain, rtol=1e-10)
    assert own.f_test(np.array([[1.0, -1, 0], [0, 1, -1]])) == pytest.approx((1.0, 6.0), rel=1e-9)
    assert own.f_test(np.array([[1.0, -1, 0]])) == pytest.approx((1.0, 6.0), rel=1e-9)


@pytest.mark.parametrize("judges", [2, 3, 4, 7])
def test_slopes_of_judges_have_hotellings_f(judges):
    """Each judge has its own effects: T² of J - 1 judges, whose F has no mean where its degrees of freedom are 2."""
    rng = np.random.default_rng(1)
    judge, level = np.repeat(np.arange(judges), 12), np.tile(np.arange(3), 4 * judges)
    X = np.column_stack([np.ones(len(judge)), level == 1, level == 2]).astype(float)
    cols = (3 * judge[:, None] + np.arange(3)).astype(np.int64)
    cells = ResponseCells(rng.normal(size=len(X)), np.ones(len(X)), X, X, float(len(X)), 0.0, 0.0)
    t = structure(cols, np.array([0, 3 * judges]))
    zl = X @ np.array([[0.8, 0, 0], [-0.3, 0.5, 0], [0.2, 0.4, 0.6]])
    pairs = [(a, b) for a in range(3) for b in range(a + 1)]
    own = kenward_roger(cells, t, zl, profile(cells, t, zl, True), pairs)
    for q in (1, 2, 3):
        n = judges - 1
        expected = ((n - q + 1) / n, n - q + 1.0) if n >= q else (np.nan, np.nan)
        assert own.f_test(np.eye(3)[:q]) == pytest.approx(expected, rel=1e-6, nan_ok=True)
