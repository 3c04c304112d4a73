"""Restricted maximum likelihood of variance components: an intercept and any crossed or nested factors.

The likelihood is that of the mixed models, :func:`judgestats.kernels.linear_mixed.profile`; this module minimises it
and derives the variances with their covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgestats.kernels.elimination import Structure, structure
from judgestats.kernels.linear_mixed import ResponseCells, profile
from judgestats.kernels.proportions import quotient
from judgestats.threads import one_blas_thread
from judgestats.typing import Floats, Integers, Ints, Mask

Codes = Sequence[Integers]
#: Largest sd of a factor, relative to the residual sd.
MAX_RATIO = 1e6
#: Share of the sum of squares below which there is no residual.
MIN_RESIDUAL = 1e-11
#: Smallest eigenvalue of the normalised Gram matrix below which components are not identifiable.
MIN_EIGENVALUE = 1e-8
#: Ratio of variances at which derivatives at 0 are taken.
_NEAR_ZERO = 1e-10


@dataclass(frozen=True)
class Components:
    """Variance components by REML."""

    variance: Floats  # (F + 1,): of each factor and, last, of the residual; NaN if they are not identifiable
    covariance: Floats  # (F + 1, F + 1): from the observed information, given the variances at 0, whose rows are NaN
    criterion: float  # minus twice the restricted log likelihood
    identifiable: bool = True
    converged: bool = True
    has_residual: bool = True  # False if the factors fit every score, so that the likelihood has no maximum

    @property
    def at_zero(self) -> Mask:
        """Components on the boundary."""
        found: Mask = self.variance == 0
        return found


@dataclass(frozen=True)
class Data:
    """Input of the likelihood."""

    cells: ResponseCells  # centred scores divided by their sd
    layout: Structure
    factor: Ints  # (q,): factor of each column, in elimination order
    scale: float  # the sd that scores were divided by

    @classmethod
    def of(cls, y: Floats, codes: Codes) -> Data:
        """Collapse N scores to the distinct combinations of levels."""
        sizes = np.array([int(c.max()) + 1 for c in codes])
        order = np.argsort(-sizes, kind="stable")
        blocks = np.append(0, np.cumsum(sizes[order]))
        first = np.empty(len(codes), np.int64)
        first[order] = blocks[:-1]
        where, at = np.zeros(y.size, np.int64), np.zeros(0, np.int64)
        for code, size in zip(codes, sizes, strict=True):
            _, at, where = np.unique(where * size + code, return_index=True, return_inverse=True)
        cols, centred = np.column_stack(codes)[at] + first, y - y.mean()
        scale = float(centred.std()) or 1.0
        number = np.bincount(where).astype(np.float64)
        mean = np.bincount(where, centred / scale) / number
        within = float(((centred / scale - mean[where]) ** 2).sum())
        z = np.ones(cols.shape)
        cells = ResponseCells(mean, number, np.ones((len(mean), 1)), z, float(len(y)), within, 0.0)
        layout = structure(np.ascontiguousarray(cols, np.int64), blocks.astype(np.int64))
        return cls(cells, layout, np.repeat(order, sizes[order]), scale)


@dataclass(frozen=True)
class Likelihood:
    """Restricted likelihood at given ratios of the variances to the residual variance."""

    criterion: float  # minus twice the log likelihood (lme4's REML criterion)
    gradient: Floats  # (F,): its derivative with respect to each ratio
    residual: float  # variance, on the scale of y
    slope: Floats  # (F,): derivative of the log residual variance with respect to each ratio


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def likelihood(data: Data, ratio: Floats) -> Likelihood:
    """Evaluate the restricted likelihood and its gradient; NaN or inf where the residual variance is 0."""
    inside = np.maximum(ratio, _NEAR_ZERO)
    found = profile(data.cells, data.layout, np.sqrt(inside) * data.cells.z, reml=True)
    df, squares = data.cells.n - 1, np.bincount(data.factor, found.u**2, len(ratio))
    exact = (inside == ratio).all()
    at = found if exact else profile(data.cells, data.layout, np.sqrt(ratio) * data.cells.z, reml=True)
    criterion = 2 * at.objective + df * 2 * np.log(data.scale)
    gradient, slope = found.scale.sum(axis=0) / np.sqrt(inside), -squares / (inside * found.residual * df)
    return Likelihood(float(criterion), gradient, at.residual * data.scale**2, slope)


def gram(codes: Codes) -> Floats:
    """Matrix (F + 1, F + 1) of tr(Q Z_f Z_f' Q Z_g Z_g') with centring matrix Q; the residual is last."""
    n, F = float(len(codes[0])), len(codes)
    counts = [np.bincount(c).astype(np.float64) for c in codes]
    result = np.full((F + 1, F + 1), n - 1)
    for f, one in enumerate(codes):
        result[f, -1] = result[-1, f] = n - (counts[f] ** 2).sum() / n
        for g, other in enumerate(codes[: f + 1]):
            pairs, both = np.unique(one.astype(np.int64) * len(counts[g]) + other, return_counts=True)
            place = divmod(pairs, len(counts[g]))
            expected = counts[f][place[0]] * counts[g][place[1]] / n
            square = (counts[f] ** 2).sum() * (counts[g] ** 2).sum() / n**2
            result[f, g] = result[g, f] = ((both - expected) ** 2).sum() + square - (expected**2).sum()
    return result


def normalised(found: Floats) -> Floats:
    """Gram matrix scaled to a unit diagonal."""
    size = np.sqrt(np.diag(found))
    return quotient(found, np.outer(size, size))


def identifiable(scaled: Floats) -> bool:
    """Whether the components of a normalised Gram matrix are identifiable."""
    return bool(np.isfinite(scaled).all() and np.linalg.eigvalsh(scaled)[0] > MIN_EIGENVALUE)


def has_residual(data: Data, codes: Codes) -> bool:
    """Whether least squares on all levels of all factors leave a residual, or have no degrees of freedom for one."""
    squares = [likelihood(data, np.full(len(codes), r)).residual * r for r in (1e6, 1e8)]
    left = (squares[1] - squares[0]) / (1e8 - 1e6) / data.scale**2
    if left > MIN_RESIDUAL:
        return True
    n, q = len(codes[0]), len(data.factor)
    if n > q:
        return False
    Z = np.concatenate([np.eye(int(c.max()) + 1)[c] for c in codes], axis=1)
    return bool(np.linalg.matrix_rank(Z) == n)


def moments(y: Floats, codes: Codes, found: Floats) -> Floats:
    """Starting ratios from MINQUE(0), between 0.01 and 1000."""
    centred = y - y.mean()
    squares = np.array([*((np.bincount(c, centred) ** 2).sum() for c in codes), (centred**2).sum()])
    try:
        variance = np.linalg.solve(found, squares)
    except np.linalg.LinAlgError:
        return np.ones(len(codes))
    ratio = quotient(variance[:-1], variance[-1], variance[-1] > 0)
    return np.clip(np.nan_to_num(ratio, nan=1.0), 0.01, 1000.0)


@one_blas_thread()
def fitted(y: Floats, codes: Codes) -> Components:
    """REML fit to `y` (N,) of an intercept and the variance of each factor; `codes`: levels (N,) without gaps."""
    none = np.full(len(codes) + 1, np.nan)
    if len(y) < 2 or np.ptp(y) == 0:
        return Components(none, np.diag(none), np.nan, identifiable=len(y) > 1)
    products = gram(codes)
    if not identifiable(normalised(products)):
        return Components(none, np.diag(none), np.nan, identifiable=False)
    data = Data.of(y, codes)
    if not has_residual(data, codes):
        return Components(none, np.diag(none), np.nan, has_residual=False)
    ratio, at, converged = _polished(data, _minimised(data, moments(y, codes, products)))
    variance = np.append(ratio, 1.0) * at.residual
    return Components(variance, _covariance(data, ratio, at), at.criterion, converged=converged)


def _minimised(data: Data, start: Floats) -> Floats:
    """Ratios at the minimum: quasi-Newton over the relative sd; the gradient decides which are 0."""
    from scipy.optimize import minimize

    def objective(theta: Floats) -> tuple[float, Floats]:
        at = likelihood(data, theta**2)
        return at.criterion, 2 * theta * at.gradient

    theta, free = np.sqrt(start), np.ones(len(start), dtype=bool)
    options = {"ftol": 1e-12, "gtol": 1e-7, "maxiter": 500}  # Newton's steps follow
    for _ in range(2 * len(start) + 1):
        bounds = [(0.0, MAX_RATIO) if f else (0.0, 0.0) for f in free]
        theta = minimize(objective, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        at = likelihood(data, theta**2)
        outward = likelihood(data, np.where(theta < 1e-3, 0.0, theta) ** 2) if (theta < 1e-3).any() else at
        small = (theta < 1e-3) & (outward.gradient >= 0) & (outward.criterion <= at.criterion + 1e-9)
        trapped = (theta < 1e-3) & ~small & (at.gradient < 0) & (theta**2 < 1e-12)
        free, theta = ~small, np.where(small, 0.0, np.where(trapped, 0.1, theta))
        if not trapped.any():
            break
    return theta**2


def _polished(data: Data, ratio: Floats) -> tuple[Floats, Likelihood, bool]:
    """Newton steps for the last digits, with the curvature at the start, which hardly changes near the minimum."""
    free, at = np.flatnonzero(ratio > 0), likelihood(data, ratio)
    if not free.size:
        return ratio, at, True
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
    return ratio, at, bool(np.abs(at.gradient[free] * ratio[free]).max() < 1e-4)


def _hessian(data: Data, ratio: Floats, free: Ints) -> Floats:
    """Second derivatives of the criterion with respect to the free ratios, by central differences of the gradient."""
    columns = []
    for f in free:
        step = np.zeros_like(ratio)
        step[f] = 1e-4 * ratio[f]
        up, down = (likelihood(data, ratio + s).gradient[free] for s in (step, -step))
        columns.append((up - down) / (2 * step[f]))
    hessian: Floats = np.array(columns)
    return (hessian + hessian.T) / 2


def _covariance(data: Data, ratio: Floats, at: Likelihood) -> Floats:
    """Covariance of the variances, by the delta method from that of the ratios and the residual variance."""
    free = np.flatnonzero(ratio > 0)
    s, df, m = at.residual, data.cells.n - 1, free.size
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
