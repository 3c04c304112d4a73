"""Restricted maximum likelihood of variance components: the minimiser, and what is known of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.reml import CrossProducts, cross_products, leftover, likelihood, moments

Floats = NDArray[np.float64]
#: Largest sd of a factor in units of the residual's.
MOST = 1e6
#: Share of the squares below which there is no residual.
NOTHING = 1e-12
#: Smallest eigenvalue of the normalised Gram matrix below which components are not told apart.
APART = 1e-8


@dataclass(frozen=True)
class Fitted:
    """Variance components by REML.

    Attributes
    ----------
    variance : (F + 1,) float array
        Of each factor and, last, of the residual; NaN where they are not told apart.
    covariance : (F + 1, F + 1) float array
        Of these, from the observed information; NaN in the row of a component at 0, on which the others condition.
    criterion : float
        Minus twice the restricted log likelihood.
    told_apart, converged : bool
    has_residual : bool
        False where the factors fit every score: the likelihood has no maximum.
    """

    variance: Floats
    covariance: Floats
    criterion: float
    told_apart: bool = True
    converged: bool = True
    has_residual: bool = True

    @property
    def at_zero(self) -> NDArray[np.bool_]:
        """Components on the boundary."""
        found: NDArray[np.bool_] = self.variance == 0
        return found


def told_apart(gram: Floats) -> bool:
    """Whether the components of a normalised Gram matrix can be told from one another."""
    return bool(np.isfinite(gram).all() and np.linalg.eigvalsh(gram)[0] > APART)


def fitted(y: Floats, codes: Sequence[NDArray[Any]]) -> Fitted:
    """Fit an intercept and the variance of each factor by REML.

    Parameters
    ----------
    y : (N,) float array
    codes : sequence of (N,) int arrays
        Level of each row in each factor, numbered without gaps; at least one factor.
    """
    none = np.full(len(codes) + 1, np.nan)
    if len(y) < 2 or np.ptp(y) == 0:
        return Fitted(none, np.diag(none), np.nan, told_apart=len(y) > 1)
    data = cross_products(y, codes)
    if not told_apart(data.gram):
        return Fitted(none, np.diag(none), np.nan, told_apart=False)
    share, df = leftover(data)
    if df > 0 and share < NOTHING:
        return Fitted(none, np.diag(none), np.nan, has_residual=False)
    ratio, converged = _polished(data, _minimised(data, len(codes)))
    found = likelihood(data, ratio)
    variance = np.append(ratio, 1.0) * found.residual
    return Fitted(variance, _covariance(data, ratio), found.criterion, converged=converged)


def _minimised(data: CrossProducts, factors: int) -> Floats:
    """Quasi-Newton over the relative sd, boundaries settled by the gradient."""
    from scipy.optimize import minimize

    def objective(theta: Floats) -> tuple[float, Floats]:
        at = likelihood(data, theta**2)
        return at.criterion, 2 * theta * at.gradient

    theta = np.sqrt(moments(data))
    free = np.ones(factors, dtype=bool)
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500}
    for _ in range(2 * factors + 1):
        bounds = [(0.0, MOST) if f else (0.0, 0.0) for f in free]
        theta = minimize(objective, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        at = likelihood(data, theta**2)
        outward = likelihood(data, np.where(theta < 1e-3, 0.0, theta) ** 2)
        small = (theta < 1e-3) & (outward.gradient >= 0) & (outward.criterion <= at.criterion + 1e-9)
        trapped = (theta < 1e-3) & ~small & (at.gradient < 0) & (theta**2 < 1e-12)
        free, theta = ~small, np.where(small, 0.0, np.where(trapped, 0.1, theta))
        if not trapped.any():
            break
    result: Floats = theta**2
    return result


def _polished(data: CrossProducts, ratio: Floats) -> tuple[Floats, bool]:
    """Newton for the last digits, with the curvature of the start: near the minimum it hardly changes."""
    free = np.flatnonzero(ratio > 0)
    if not free.size:
        return ratio, True
    at = likelihood(data, ratio)
    curvature = _hessian(data, ratio, free)
    for _ in range(20):
        size = np.abs(at.gradient[free] * ratio[free]).max()
        if size < 1e-9:
            break
        step = np.zeros_like(ratio)
        try:
            step[free] = -np.linalg.solve(curvature, at.gradient[free])
        except np.linalg.LinAlgError:
            break
        trial = np.where(ratio > 0, np.clip(ratio + step, ratio / 2, ratio * 2), 0.0)
        new = likelihood(data, trial)
        if not np.abs(new.gradient[free] * trial[free]).max() < size:
            break
        ratio, at = trial, new
    return ratio, bool(np.abs(at.gradient[free] * ratio[free]).max() < 1e-4)


def _hessian(data: CrossProducts, ratio: Floats, free: NDArray[np.int64]) -> Floats:
    """Second derivatives of the criterion by the free ratios: central differences of the gradient."""
    columns = []
    for f in free:
        step = np.zeros_like(ratio)
        step[f] = 1e-4 * ratio[f]
        up, down = (likelihood(data, ratio + s).gradient[free] for s in (step, -step))
        columns.append((up - down) / (2 * step[f]))
    hessian: Floats = np.array(columns)
    symmetric: Floats = (hessian + hessian.T) / 2
    return symmetric


def _covariance(data: CrossProducts, ratio: Floats) -> Floats:
    """Covariance of the variances: that of ratios and residual, carried over by the chain rule."""
    free = np.flatnonzero(ratio > 0)
    at = likelihood(data, ratio)
    s, df, m = at.residual, data.n - 1, free.size
    slope = at.slope[free]
    information = np.empty((m + 1, m + 1))
    information[:m, :m] = _hessian(data, ratio, free) + df * np.outer(slope, slope) if m else 0.0
    information[:m, m] = information[m, :m] = -df * slope / s
    information[m, m] = df / s**2
    result = np.full((len(ratio) + 1, len(ratio) + 1), np.nan)
    try:
        covariance = 2 * np.linalg.inv(information)
    except np.linalg.LinAlgError:
        return result
    jacobian = np.eye(m + 1)
    jacobian[:m, :m] *= s
    jacobian[:m, m] = ratio[free]
    kept = np.append(free, len(ratio))
    result[np.ix_(kept, kept)] = jacobian @ covariance @ jacobian.T
    return result
