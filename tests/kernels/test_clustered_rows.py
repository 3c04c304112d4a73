"""CR2 of rows with unequal variances, against its definition in matrices of rows; clubSandwich's numbers are in tests/models."""

from __future__ import annotations

import numpy as np
import pytest

from judgestats.kernels.clustered_rows import adjusted_rows
from judgestats.kernels.clustered_scores import ClusterShares, products

SIZES = [4, 9, 6, 4, 80, 7, 1]


def rows(seed=0, sizes=SIZES, *, dummy=False):
    """Predictors, residuals and variances; `dummy`: the first cluster has a coefficient of its own."""
    rng = np.random.default_rng(seed)
    N, starts = sum(sizes), np.cumsum([0, *sizes[:-1]])
    X = np.column_stack([np.ones(N), rng.normal(size=(N, 2))])
    if dummy:
        X = np.column_stack([X, np.arange(N) < sizes[0]])
    variance = np.exp(rng.normal(0, 1.0, N))
    return X, rng.normal(size=N) * np.sqrt(variance), variance, starts


def by_definition(X, residual, variance, starts):
    """Covariance, and for each cluster the rows (P, N) whose products with Φ are Satterthwaite's matrix."""
    Phi = np.diag(variance)
    bread = np.linalg.inv(X.T @ np.linalg.inv(Phi) @ X)
    left = np.eye(len(X)) - X @ bread @ X.T @ np.linalg.inv(Phi)
    sums, gs = [], []
    for own in np.split(np.arange(len(X)), starts[1:]):
        phi, x = Phi[np.ix_(own, own)], X[own]
        D = np.sqrt(phi)
        values, vectors = np.linalg.eigh(D @ (phi - x @ bread @ x.T) @ D)
        root = vectors * np.where(values > 1e-12 * values.max(), 1 / np.sqrt(np.abs(values) + 1e-300), 0) @ vectors.T
        T = x.T @ np.linalg.inv(phi) @ D @ root @ D
        sums.append(bread @ T @ residual[own])
        gs.append(bread @ T @ left[own])
    return sum(np.outer(s, s) for s in sums), gs, Phi


def df_of(row, gs, Phi):
    g = np.array([row @ own for own in gs])
    P = g @ Phi @ g.T
    return np.trace(P) ** 2 / (P**2).sum()


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_the_definition_says(seed):
    """Clusters of up to 64 rows by eigenvectors, the larger one by quadrature; variances from .1 to 10."""
    X, residual, variance, starts = rows(seed)
    covariance, gs, Phi = by_definition(X, residual, variance, starts)
    root = np.sqrt(variance)
    found, factors = adjusted_rows(X / root[:, None], residual / root, variance, starts)
    np.testing.assert_allclose(found, covariance, rtol=1e-8, atol=1e-12)
    for row in (*np.eye(3), np.array([1.0, -0.5, 2.0])):
        assert factors.df(row[None, None])[0] == pytest.approx(df_of(row, gs, Phi), rel=1e-8)


def test_what_one_cluster_alone_determines_has_the_models_variance_and_no_degrees_of_freedom():
    X, residual, variance, starts = rows(4, dummy=True)
    first = np.arange(len(X)) < SIZES[0]
    weights = np.where(first, 1 / variance, 0)
    residual = residual - first * (weights @ residual / weights.sum())  # as least squares leave it
    covariance, gs, Phi = by_definition(X, residual, variance, starts)
    root = np.sqrt(variance)
    found, factors = adjusted_rows(X / root[:, None], residual / root, variance, starts)
    np.testing.assert_allclose(found[:3, :3], covariance[:3, :3], rtol=1e-7, atol=1e-10)
    assert found[3, 3] > covariance[3, 3] + 0.5 / weights.sum()
    for row in np.eye(4)[:3]:
        assert factors.df(row[None, None])[0] == pytest.approx(df_of(row, gs, Phi), rel=1e-7)
    assert np.isnan(factors.df(np.eye(4)[None, 3:])).all()


@pytest.mark.parametrize("dummy", [False, True])
def test_rows_of_one_variance_are_those_of_shares(dummy):
    X, residual, _, starts = rows(5, dummy=dummy)
    residual = residual - X @ np.linalg.lstsq(X, residual, rcond=None)[0]
    shares = ClusterShares.of(products(X, X, starts))
    score = products(X, residual[:, None], starts)[:, :, 0]
    found, factors = adjusted_rows(X, residual, np.full(len(X), 2.5), starts)
    np.testing.assert_allclose(found, shares.covariance(score), rtol=1e-8, atol=1e-12)
    contrasts = np.array([np.eye(X.shape[1])[[k, 2]] for k in (0, 1)])
    np.testing.assert_allclose(factors.df(contrasts), shares.df(contrasts), rtol=1e-9)
    np.testing.assert_allclose(factors.df(contrasts[:, :1]), shares.df(contrasts[:, :1]), rtol=1e-9)


def test_quadrature_is_as_precise_as_eigenvectors(monkeypatch):
    X, residual, _, starts = rows(6)
    variance = 10.0 ** np.random.default_rng(6).uniform(-2, 0, len(X))
    exact, by_eigenvectors = adjusted_rows(X, residual, variance, starts)
    monkeypatch.setattr("judgestats.kernels.clustered_rows._SMALL", 0)
    covariance, factors = adjusted_rows(X, residual, variance, starts)
    np.testing.assert_allclose(covariance, exact, rtol=1e-9)
    np.testing.assert_allclose(factors.df(np.eye(3)[:, None]), by_eigenvectors.df(np.eye(3)[:, None]), rtol=1e-9)


@pytest.mark.parametrize("orders", [1, 4, 10, 30])
def test_the_expectation_is_the_models_covariance_however_variances_differ(orders):
    X, residual, _, starts = rows(7)
    variance = 10.0 ** np.random.default_rng(7).uniform(-orders, 0, len(X))
    _, factors = adjusted_rows(X, residual, variance, starts)
    expected = (factors.twice - factors.once @ factors.once.swapaxes(1, 2)).sum(axis=0)
    np.testing.assert_allclose(expected, np.eye(3), atol=1e-8)
