"""Small-sample covariance and degrees of freedom of the fixed effects of a linear mixed model fitted by REML.

Kenward, M. G., Roger, J. H. (1997). Small sample inference for fixed effects from restricted maximum likelihood.
Biometrics 53, 983-997. Numbers in parentheses are its equations. As in R's pbkrtest, the parameters are variances and
covariances, in which the covariance of the response is linear, so that its second derivatives vanish.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy  # scipy.sparse is loaded by its first use

from judgestats.kernels.elimination import Structure, solve_many
from judgestats.kernels.linear_mixed import Profile, ResponseCells
from judgestats.typing import Floats, Ints

#: Directions of the variances with a smaller share of the information are not identified.
_FLAT = 1e-8
#: Terms of the moments of F below it are 0.
_SAME = 1e-6


class KenwardRoger(NamedTuple):
    """The adjustment, of p fixed effects and T variances and covariances."""

    plain: Floats  # (p, p): covariance of the estimates if the variances were known
    covariance: Floats  # (p, p): adjusted for their estimation
    slopes: Floats  # (T, p, p): derivatives of `plain` by the variances
    spread: Floats  # (T, T): covariance of the variances, by the expected information

    def turned(self, turn: Floats) -> KenwardRoger:
        """The same of the coefficients `turn` (p, p) times these."""
        plain, covariance, slopes = (turn @ part @ turn.T for part in self[:3])
        return KenwardRoger(plain, covariance, slopes, self.spread)

    def f_test(self, L: Floats) -> tuple[float, float]:
        """Factor of F, and degrees of freedom of its denominator, of the test that rows (R, p) of full rank are 0.

        Of one row the factor is 1. NaN where no F has the moments of the statistic.
        """
        q = len(L)
        moved = np.linalg.solve(L @ self.plain @ L.T, L @ self.slopes @ L.T)
        trace = np.trace(moved, axis1=1, axis2=2)
        A1 = trace @ self.spread @ trace
        A2 = (self.spread * np.einsum("iab,jba->ij", moved, moved)).sum()
        B, g = (A1 + 6 * A2) / (2 * q), ((q + 1) * A1 - (q + 4) * A2) / ((q + 2) * A2)
        c1, c2, c3 = np.array([g, q - g, q + 2 - g]) / (3 * q + 2 * (1 - g))
        E, V0, V1, V2 = 1 - A2 / q, 1 + c1 * B, 1 - c2 * B, 1 - c3 * B
        with np.errstate(all="ignore"):
            # E and V1 are the same where the statistic is Hotelling's T², both 0 where its F has 2 degrees of freedom
            ratio = np.where(max(abs(E), abs(V1)) < _SAME, 1.0, E / V1)
            more, less = 2 * (ratio**2 - 1) * V0, ratio**2 * V0 - V2
            df = 2 + ((q + 2) * V1 + more) / less  # 4 + (q + 2) / (q ρ - 1), solved so that nothing is 0 / 0
            factor = df * ratio * less / (q + 2 + np.where(more == 0, 0.0, more / V1))
        return (float(factor), float(df)) if df > _SAME and factor > 0 else (np.nan, np.nan)


def kenward_roger(
    data: ResponseCells, layout: Structure, zl: Floats, at: Profile, pairs: Iterable[tuple[int, int]]
) -> KenwardRoger:
    """Adjust the covariance at the optimum; `pairs`: columns of `z` whose effects have a (co)variance to estimate.

    Matrices are as large as the square of the number of random effects. In units of the residual variance the response
    has the covariance V; the last of the T parameters multiplies V itself, in place of the residual variance.
    """
    N, q = len(data.z), layout.q
    place = (np.repeat(np.arange(N), data.z.shape[1]), layout.cols.ravel())
    Z, spherical = (scipy.sparse.csr_array((own.ravel(), place), shape=(N, q)) for own in (data.z, zl))
    right = scipy.sparse.hstack([Z, data.X]).multiply(data.weight[:, None]).tocsr()
    pull = spherical.T @ right
    inner = (Z.T @ right).toarray() - pull[:, :q].T @ solve_many(layout, at.flat, pull.toarray())
    A, B = inner[:, :q], inner[:, q:]  # Z'V⁻¹Z, Z'V⁻¹X
    M, plain = at.information, np.asarray(np.linalg.inv(at.information), np.float64)
    entries = [_entries(layout, *pair) for pair in pairs]
    P = np.array([-B[a].T @ B[b] for a, b in entries] + [-M])
    T = len(P)
    Q, K = np.empty((T, T, *M.shape)), np.empty((T, T))
    for i, (a, b) in enumerate(entries):
        for j, (c, d) in enumerate(entries[: i + 1]):
            beside = A[np.ix_(b, c)]
            K[i, j] = K[j, i] = (beside * A[np.ix_(a, d)]).sum()
            Q[i, j] = B[a].T @ beside @ B[d]
            Q[j, i] = Q[i, j].T
        K[i, -1] = K[-1, i] = A[b, a].sum()
        Q[i, -1] = Q[-1, i] = -P[i]
    K[-1, -1], Q[-1, -1] = data.n, M
    PP = np.einsum("iab,bc,jcd->ijad", P, plain, P)
    information = (K - np.einsum("ab,ijba->ij", plain, 2 * Q - PP)) / 2
    scale = np.sqrt(np.diag(K))
    spread = np.linalg.pinv(information / np.outer(scale, scale), rcond=_FLAT, hermitian=True) / np.outer(scale, scale)
    extra = np.einsum("ij,ijab->ab", spread, Q - PP)
    adjusted = plain + plain @ (extra + extra.T) @ plain
    return KenwardRoger(at.residual * plain, at.residual * adjusted, -at.residual * plain @ P @ plain, spread)


def _entries(layout: Structure, a: int, b: int) -> tuple[Ints, Ints]:
    """Rows and columns where the covariance of the random effects has one of its elements."""
    rows, columns = np.unique(layout.cols[:, [a, b]], axis=0).T
    return (rows, columns) if a == b else (np.append(rows, columns), np.append(columns, rows))
