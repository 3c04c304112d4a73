"""Likelihood of the linear mixed model, fixed effects and residual variance profiled out, ML and REML.

Data come as cells: rows with the same design have the same mean, so their number, mean and sum of squares suffice.
With V = I + ZΛΛ'Z' (in units of the residual variance) and M = X'V⁻¹X the objective is half of

    log |V| + n (1 + log 2π r² / n)          [REML: n - p for n, and log |M|].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgestats.kernels.elimination import Structure, cross, factorise, gather, invert, log_determinant, solve_many
from judgestats.typing import Floats


@dataclass(frozen=True)
class Cells:
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
        """X and what least squares leave of the mean, β, X'WX, and X'W times the rest, exact for any mean."""
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


def _by_scale(
    zl: Floats, layout: Structure, inverse: Floats, error: Floats, u: Floats, left: Floats, pull: Floats
) -> Floats:
    """Derivative by ZΛ, over the weights: of log |H| / 2, the penalised squares and, with `pull`, log |M| / 2."""
    zl_of, result = np.ascontiguousarray(zl.T), np.empty(zl.T.shape)
    for a, j in enumerate(layout.touched):
        result[a] = -error * u[j]
        for x, column in zip(left.T, pull.T, strict=False):
            result[a] -= x * column[j]
    p = 0
    for a in range(len(zl_of)):
        for b in range(a + 1):
            entry = inverse[layout.place[:, p]]
            result[a] += entry * zl_of[b]
            if b < a:
                result[b] += entry * zl_of[a]
            p += 1
    return result.T


def profile(data: Cells, layout: Structure, zl: Floats, reml: bool) -> Profile:
    """Evaluate the profiled likelihood and its gradient; `zl` (N, K): ZΛ, relative to the residual sd."""
    t, p = layout, data.X.shape[1]
    flat = np.empty(t.size)
    gather(t, zl, data.weight, flat)
    if not factorise(t, flat):
        return Profile(np.inf, zl, np.zeros(p), np.zeros(t.q), np.nan, np.eye(p), flat)
    design, first, G, rest = data.centred
    B = cross(zl, data.weight, t.touched.T, design, t.q)
    solution = solve_many(t, flat, B)
    M = G - B[:, :p].T @ solution[:, :p]
    more = np.linalg.solve(M, rest - B[:, :p].T @ solution[:, p])
    u = solution[:, p] - solution[:, :p] @ more
    left = design.copy(order="F")  # W⁻¹ V⁻¹ [X y]
    for own, j in zip(zl.T, t.touched, strict=True):
        for c, column in enumerate(solution.T):
            left[:, c] -= own * column[j]
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
    scale = _by_scale(zl, t, inverse, scaled, u, left, pull)
    scale *= data.weight[:, None]
    beta = np.asarray(first + more, np.float64)
    return Profile(float(twice / 2), scale, beta, u, float(squares / df), M, flat)
