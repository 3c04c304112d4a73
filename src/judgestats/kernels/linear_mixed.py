"""Likelihood of the linear mixed model, fixed effects and residual variance profiled out, ML and REML.

Data come as cells: rows with the same design have the same mean, so their number, mean and sum of squares suffice.
With V = I + ZΛΛ'Z' (in units of the residual variance) and M = X'V⁻¹X the objective is half of

    log |V| + n (1 + log 2π r² / n)          [REML: n - p for n, and log |M|].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.compiling import njit
from judgestats.kernels.elimination import Structure, cross, factorise, gather, invert, log_determinant, solve_many
from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class ResponseCells:
    """The data. N cells, p fixed effects, K columns of random effects a cell."""

    mean: Floats  # mean, weight (N,): mean of the cell's rows, weighted, and the sum of their weights
    weight: Floats
    X: Floats  # (N, p)
    z: Floats  # (N, K)
    n: float  # rows
    within: float  # weighted sum of squares of the rows about their cell's mean
    log_weight: float  # sum over rows of the log of their weight

    @cached_property
    def centred(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Design, residual mean, β, X'WX and X'W times the residuals of least squares; exact whatever the mean."""
        WX = self.X * self.weight[:, None]
        G = self.X.T @ WX
        beta = np.linalg.solve(G, WX.T @ self.mean)
        rest = self.mean - self.X @ beta
        return np.column_stack([self.X, rest]), np.asarray(beta, np.float64), G, WX.T @ rest


@dataclass(frozen=True)
class Profile:
    """The likelihood at one Λ."""

    objective: float  # minus the log (restricted) likelihood; infinite where it is not defined
    scale: Floats  # (N, K): its derivative by the values of ZΛ
    beta: Floats  # (p,)
    u: Floats  # (q,): modes of the spherical effects, in units of the residual sd
    residual: float  # residual variance
    information: Floats  # (p, p): the M above; the covariance of β is the residual variance times its inverse
    flat: Floats  # factor of H = Λ'Z'WZΛ + I


@njit(cache=True)
def _fitted(zl: Floats, cols: Ints, solution: Floats) -> Floats:
    """ZΛ times each column of a solution."""
    N, p = zl.shape[0], solution.shape[1]
    result = np.zeros((N, p))
    for i in range(N):
        for a in range(zl.shape[1]):
            own = solution[cols[i, a]]
            for c in range(p):
                result[i, c] += zl[i, a] * own[c]
    return result


@njit(cache=True)
def _by_scale(
    zl: Floats,
    cols: Ints,
    place: NDArray[np.int32],
    inverse: Floats,
    error: Floats,
    u: Floats,
    left: Floats,
    pull: Floats,
) -> Floats:
    """Derivative by ZΛ, over the weights: of log |H| / 2, the penalised squares and, with `pull`, log |M| / 2."""
    N, K = zl.shape
    result = np.zeros((N, K))
    for i in range(N):
        p = 0
        for a in range(K):
            for b in range(a + 1):
                entry = inverse[place[i, p]]
                result[i, a] += entry * zl[i, b]
                if b < a:
                    result[i, b] += entry * zl[i, a]
                p += 1
        for a in range(K):
            j = cols[i, a]
            total = result[i, a] - error[i] * u[j]
            for c in range(pull.shape[1]):
                total -= left[i, c] * pull[j, c]
            result[i, a] = total
    return result


def profile(data: ResponseCells, layout: Structure, zl: Floats, reml: bool) -> Profile:
    """Evaluate the profiled likelihood and its gradient; `zl` (N, K): ZΛ, relative to the residual sd."""
    t, p = layout, data.X.shape[1]
    flat = np.empty(t.size)
    gather(t, zl, data.weight, flat)
    if not factorise(t, flat):
        return Profile(np.inf, zl, np.zeros(p), np.zeros(t.q), np.nan, np.eye(p), flat)
    design, first, G, rest = data.centred
    B = cross(zl, data.weight, t.cols, design, t.q)
    solution = solve_many(t, flat, B)
    M = G - B[:, :p].T @ solution[:, :p]
    more = np.linalg.solve(M, rest - B[:, :p].T @ solution[:, p])
    u = solution[:, p] - solution[:, :p] @ more
    left = design - _fitted(zl, t.cols, solution)  # W⁻¹ V⁻¹ [X y]
    error = left @ np.append(-more, 1.0)
    squares = (data.weight * error**2).sum() + u @ u + data.within
    df = data.n - p if reml else data.n
    log_det = log_determinant(t, flat, np.ones(t.q))
    twice = log_det + df * (1 + np.log(2 * np.pi * squares / df)) - data.log_weight
    pull = np.zeros((t.q, 0))
    if reml and p:
        twice += np.linalg.slogdet(M)[1]
        pull = solution[:, :p] @ np.linalg.inv(M)
    inverse = invert(t, flat)
    scaled = error * df / squares
    scale = _by_scale(zl, t.cols, t.place, inverse, scaled, u, np.ascontiguousarray(left[:, :p]), pull)
    scale *= data.weight[:, None]
    beta = np.asarray(first + more, np.float64)
    return Profile(float(twice / 2), scale, beta, u, float(squares / df), M, flat)
