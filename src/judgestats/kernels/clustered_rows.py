"""Cluster-robust covariance (CR2) of weighted least squares whose working variances differ within clusters.

Residuals of a cluster, whose working covariance is Φ and whose hat matrix (of Φ^(-1/2) X) is H, are multiplied by A,
with A Cov(residuals) A' = Φ. Several matrices are such; as in R's clubSandwich it is A = Φ^(1/2) B^(-1/2) Φ^(1/2) with
B = Φ (I - H) Φ. If all variances are the same it is that of :mod:`judgestats.kernels.clustered_scores`.

Pustejovsky, J. E., Tipton, E. (2018). Journal of Business & Economic Statistics 36, 672-683, equations 8 and 9.
"""

from __future__ import annotations

import numpy as np

from judgestats.kernels.clustered_scores import ALONE, ClusterFactors
from judgestats.typing import Floats, Ints

#: Step, in logarithms, of the trapezoidal rule of an inverse root, and how far it goes beyond the eigenvalues (1e-10).
_STEP, _BEYOND = 0.42, 23.0
#: Rows of clusters up to which eigenvectors are as fast, and the ratio of variances up to which they are as precise.
_SMALL, _ALIKE = 64, 1e3


def adjusted_rows(X: Floats, residual: Floats, variance: Floats, starts: Ints) -> tuple[Floats, ClusterFactors]:
    """Covariance (P, P) and what degrees of freedom need, of independent rows sorted by cluster.

    `X` (N, P), `residual` (N,): over the root of the row's working variance, `variance` (N,). `starts` (G,): first row
    of each cluster. Where one cluster alone determines a parameter its score is 0, and the model's variance is taken.
    """
    size, axes = np.linalg.eigh(X.T @ X)
    determined = size > size[-1] * 1e-10
    root = axes[:, determined] / np.sqrt(size[determined])
    U, sizes, Q = X @ root, np.diff(starts, append=len(X)), int(determined.sum())
    (once, twice), score = np.empty((2, len(starts), Q, Q)), np.empty((len(starts), Q))
    alone = np.zeros((Q, Q))
    for n in np.unique(sizes):
        alike = np.flatnonzero(sizes == n)
        rows = starts[alike][:, None] + np.arange(n)
        own, v = U[rows], variance[rows][:, :, None]
        root_of, axes = _inverse_root(own, v)
        half = v * root_of
        turned = half.swapaxes(1, 2)
        once[alike], twice[alike] = turned @ own, turned @ half
        score[alike] = (turned @ residual[rows][:, :, None])[:, :, 0]
        alone += (axes @ axes.swapaxes(1, 2)).sum(axis=0)
    return root @ (score.T @ score + alone) @ root.T, ClusterFactors(root, once, twice, alone)


def _inverse_root(U: Floats, v: Floats) -> tuple[Floats, Floats]:
    """B^(-1/2) U (G, n, Q) of clusters of n rows with variances (G, n, 1), and axes (G, Q, Q) they alone determine.

    B = V (I - U U') V; a generalised inverse where it is singular.
    """
    left, axes = np.linalg.eigh(np.eye(U.shape[2]) - U.swapaxes(1, 2) @ U)
    only = (left < ALONE)[:, None, :]
    left, alone = np.where(only[:, 0], 1.0, left), axes * only
    if np.ptp(v) == 0:
        return U @ (np.where(only, 0.0, axes) / np.sqrt(left)[:, None]) @ axes.swapaxes(1, 2) / v, alone
    Y = U
    if only.any():  # without the part in the null space of B, which is V^(-1) U times these axes
        null = (U / v) @ alone
        Y = U - null @ (np.linalg.pinv(null) @ U)
    least = v.min(axis=(1, 2)) ** 2 * left.min(axis=1)  # of the other eigenvalues of B
    if U.shape[1] > _SMALL or v.max() > _ALIKE * v.min():
        return _by_quadrature(U, v, Y, float(least.min())), alone
    VU = v * U
    values, vectors = np.linalg.eigh(np.eye(U.shape[1]) * v**2 - VU @ VU.swapaxes(1, 2))
    scale = np.sqrt(np.maximum(values, least[:, None] / 2))[:, :, None]
    return vectors @ (vectors.swapaxes(1, 2) @ Y / scale), alone


def _by_quadrature(U: Floats, v: Floats, Y: Floats, least: float) -> Floats:
    """B^(-1/2) Y as 2/π times the integral of (B + s²)^(-1) Y over s from 0, by the trapezoidal rule in log s."""
    low, high = np.log(least) / 2 - _BEYOND, np.log(v.max()) + _BEYOND
    K, VU, result = U.swapaxes(1, 2) @ U, v * U, np.zeros_like(U)
    for s in np.exp(np.arange(low, high, _STEP)):
        inverse = 1.0 / (v * v + s * s)
        scaled = inverse * VU
        rest = np.eye(U.shape[2]) - K + s * s * (U.swapaxes(1, 2) @ (inverse * U))
        result += s * (inverse * Y + scaled @ np.linalg.solve(rest, scaled.swapaxes(1, 2) @ Y))
    return result * (2 * _STEP / np.pi)
