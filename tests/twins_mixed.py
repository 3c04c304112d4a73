"""Plain twins of the mixed models' kernels: dense matrices, scipy distributions, integrals by brute force."""

from __future__ import annotations

import numpy as np
from scipy import integrate, special, stats

LOGIT = stats.logistic
NORMAL = stats.norm
GUMBEL = stats.gumbel_l


def row_loss(kind, y, m, eta, hi, lo):
    """Minus the log likelihood of a row, without its constant."""
    if kind in (0, 1, 6):
        F = {0: LOGIT, 1: NORMAL, 6: GUMBEL}[kind]
        return -(y * F.logcdf(eta) + (m - y) * F.logsf(eta))
    if kind == 2:
        return m * np.exp(eta) - y * eta
    if kind == 5:
        size, mean, each = np.exp(hi), np.exp(eta), round(y / m)
        chance = stats.nbinom.logpmf(each, size, size / (size + mean))
        return -m * (chance + special.gammaln(each + 1)) + 0.0
    F = {3: LOGIT, 4: NORMAL, 7: GUMBEL}[kind]
    a, b = hi - eta, lo - eta
    return -m * np.log(F.cdf(a) - F.cdf(b) if b < 0 else F.sf(b) - F.sf(a))


def dense_design(cols, zl, q):
    """(N, q) ZΛ."""
    Z = np.zeros((len(cols), q))
    for a in range(cols.shape[1]):
        np.add.at(Z, (np.arange(len(cols)), cols[:, a]), zl[:, a])
    return Z


def laplace(kind, y, m, eta0, hi, lo, Z):
    """Laplace objective by dense algebra and numeric derivatives."""
    u = np.zeros(Z.shape[1])

    def slopes(eta):
        h = 1e-4
        up, mid, down = (
            np.array([row_loss(kind, *r) for r in zip(y, m, e, hi, lo, strict=True)]) for e in (eta + h, eta, eta - h)
        )
        return mid, (up - down) / 2 / h, (up - 2 * mid + down) / h**2

    for _ in range(60):
        value, r, w = slopes(eta0 + Z @ u)
        H = Z.T @ (w[:, None] * Z) + np.eye(len(u))
        step = np.linalg.solve(H, Z.T @ r + u)
        u = u - step
        if np.abs(step).max() < 1e-9:
            break
    value, _, w = slopes(eta0 + Z @ u)
    H = Z.T @ (w[:, None] * Z) + np.eye(len(u))
    return value.sum() + u @ u / 2 + np.linalg.slogdet(H)[1] / 2


def integral(kind, y, m, eta0, hi, lo, zl):
    """Minus the log of one group's exact marginal likelihood."""

    def integrand(u):
        total = sum(row_loss(kind, *r) for r in zip(y, m, eta0 + zl * u, hi, lo, strict=True))
        return np.exp(-total) * NORMAL.pdf(u)

    return -np.log(integrate.quad(integrand, -9, 9, epsabs=0, epsrel=1e-11, limit=400)[0])


def gaussian(y, X, Z, reml):
    """Minus the profiled log (restricted) likelihood of y = Xβ + e, Var e = σ² (I + Z Z')."""
    n, p = X.shape
    V = np.eye(n) + Z @ Z.T
    inverse = np.linalg.inv(V)
    M = X.T @ inverse @ X
    beta = np.linalg.solve(M, X.T @ inverse @ y)
    e = y - X @ beta
    squares = e @ inverse @ e
    df = n - p if reml else n
    twice = np.linalg.slogdet(V)[1] + df * (1 + np.log(2 * np.pi * squares / df))
    return (twice + (np.linalg.slogdet(M)[1] if reml else 0)) / 2


def kenward_roger(X, S, G):
    """Covariance of the estimates, adjusted, its derivatives by the variances and their covariance; rows of `S` = Σ σ_i G_i."""
    inverse = np.linalg.inv(S)
    plain = np.linalg.inv(X.T @ inverse @ X)
    T = range(len(G))
    P = [-X.T @ inverse @ g @ inverse @ X for g in G]
    Q = [[X.T @ inverse @ g @ inverse @ h @ inverse @ X for h in G] for g in G]
    trace = np.trace
    information = np.array([
        [
            (trace(inverse @ G[i] @ inverse @ G[j]) - 2 * trace(plain @ Q[i][j])
             + trace(plain @ P[i] @ plain @ P[j])) / 2
            for j in T
        ]
        for i in T
    ])  # fmt: skip
    spread = np.linalg.inv(information)
    extra = sum(spread[i, j] * (Q[i][j] - P[i] @ plain @ P[j]) for i in T for j in T)
    slopes = np.array([-plain @ p @ plain for p in P])
    return plain, plain + 2 * plain @ extra @ plain, slopes, spread
