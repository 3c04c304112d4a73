"""What the likelihood engine minimises, where the search starts, quasi-Newton steps, and the Hessian at the end.

Parameters are fixed effects β, threshold parameters τ (cumulative models) and θ, the lower Cholesky factors of the
random terms' covariances, column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from judgestats.kernels.elimination import Structure, cross, factorise, gather, invert, solve_many, structure
from judgestats.kernels.laplace import Adjoint, Laplace, Rows
from judgestats.kernels.likelihoods import NEGATIVE_BINOMIAL_LOG, POISSON_LOG, losses
from judgestats.kernels.linear_mixed import Cells, Profile, profile
from judgestats.kernels.quadrature import Quadrature, Trapezoid
from judgestats.models.likelihood.compression import Columns, Compressed
from judgestats.models.thresholds import Thresholds
from judgestats.threads import one_blas_thread
from judgestats.typing import Floats, Ints, Mask

# ---- What is minimised: parameters in, minus the log likelihood and its gradient out ---------------------------------


class Approximation(Protocol):
    """A kernel that integrates the random effects out."""

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """Minus the log likelihood, and what :meth:`adjoint` needs of the linear predictor."""
        ...

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:
        """Derivatives there."""
        ...


@dataclass(frozen=True)
class Scales:
    """Where θ stands in Λ."""

    sizes: tuple[int, ...]  # columns of each term
    # column, row (T,): of each element of θ: which column of z it multiplies, and to which column of ZΛ the product is
    # added
    column: Ints
    row: Ints
    # (T,): elements that are standard deviations or their Cholesky counterpart, so not negative
    diagonal: Mask
    term: Ints  # (T,): the term that each belongs to

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> Scales:
        """Lay θ out."""
        places, first = [], 0
        for t, size in enumerate(sizes):
            places += [(first + a, first + b, a == b, t) for b in range(size) for a in range(b, size)]
            first += size
        column, row, diagonal, term = (np.array([p[i] for p in places], np.int64) for i in range(4))
        return cls(sizes, column, row, diagonal.astype(bool), term)

    def spread(self, z: Floats, theta: Floats) -> Floats:
        """ZΛ, row by row, of `z` (N, K) and `theta` (T,)."""
        result = np.zeros_like(z)
        for value, a, b in zip(theta, self.column, self.row, strict=True):
            result[:, b] += value * z[:, a]
        return result

    def gradient(self, z: Floats, by_scale: Floats) -> Floats:
        """Turn derivatives (N, K) by ZΛ into derivatives (T,) by θ."""
        result: Floats = (z.T @ by_scale)[self.column, self.row]
        return result

    def factors(self, theta: Floats) -> tuple[Floats, ...]:
        """Lower Cholesky factor (..., k, k) of each term, from `theta` (..., T)."""
        firsts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        result = tuple(np.zeros((*theta.shape[:-1], s, s)) for s in self.sizes)
        for k, (a, b, t) in enumerate(zip(self.column, self.row, self.term, strict=True)):
            result[t][..., a - firsts[t], b - firsts[t]] = theta[..., k]
        return result

    def signs(self, theta: Floats) -> Floats:
        """Signs (T,) under which Λ Λ' stays and the diagonal of Λ is not negative."""
        sign = np.where((theta < 0) & self.diagonal, -1.0, 1.0)
        by_column = {int(b): s for b, s in zip(self.row[self.diagonal], sign[self.diagonal], strict=True)}
        return np.array([by_column[int(b)] for b in self.row], np.float64)


@dataclass
class GeneralisedObjective:
    """Minus the log likelihood of a generalised or cumulative mixed model, without its constant."""

    rows: Rows
    kernel: Approximation  # Laplace, Gauss-Hermite quadrature or the trapezoidal rule
    scales: Scales
    thresholds: Thresholds

    @cached_property
    def nothing(self) -> Floats:
        """(N,) zeros, the thresholds of a model without."""
        return np.zeros(len(self.rows.y))

    def split(self, params: Floats) -> tuple[Floats, Floats, Floats]:
        """Fixed effects, threshold parameters, θ."""
        p, t = self.rows.X.shape[1], len(self.thresholds.names)
        return params[:p], params[p : p + t], params[p + t :]

    def __call__(self, params: Floats) -> tuple[float, Floats]:
        """Objective and gradient; infinite where thresholds are out of order."""
        beta, tau, theta = self.split(params)
        d, cuts = self.rows, self.thresholds
        hi, lo, ordered = cuts.around(tau, d.category, d.part) if cuts.names else (self.nothing, self.nothing, True)
        if not ordered or not np.isfinite(params).all():
            return np.inf, np.full(len(params), np.nan)
        zl = self.scales.spread(d.z, theta)
        value, eta = self.kernel.value(d.X @ beta + d.offset, zl, hi, lo)
        if not np.isfinite(value):
            return np.inf, np.full(len(params), np.nan)
        by = self.kernel.adjoint(eta, zl, hi, lo)
        by_tau = cuts.gradient(by.hi, by.lo, d.category, d.part) if cuts.names else np.zeros(0)
        return value, np.concatenate([d.X.T @ by.eta, by_tau, self.scales.gradient(d.z, by.scale)])


@dataclass
class LinearObjective:
    """Minus the log likelihood of a linear mixed model by θ alone, relative to the residual sd."""

    cells: Cells
    layout: Structure
    scales: Scales
    reml: bool

    def at(self, theta: Floats) -> Profile:
        """The profile at θ."""
        return profile(self.cells, self.layout, self.scales.spread(self.cells.z, theta), self.reml)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Objective and gradient."""
        found = self.at(theta)
        return found.objective, self.scales.gradient(self.cells.z, found.scale)


def rows_of(table: Compressed, kind: int) -> Rows:
    """The compressed table as the kernels take it."""
    X, z = np.ascontiguousarray(table.X), np.ascontiguousarray(table.columns.z)
    return Rows(kind, table.y, table.m, X, table.offset, z, table.times, table.category, table.part)


def layout_of(own: Columns) -> Structure:
    """Elimination structure of the random effects."""
    return structure(np.ascontiguousarray(own.cols), own.blocks)


def laplace(table: Compressed, kind: int, thresholds: Thresholds) -> GeneralisedObjective:
    """Laplace objective for any random terms."""
    rows = rows_of(table, kind)
    kernel = Laplace.of(rows, layout_of(table.columns), table.often)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def quadrature(table: Compressed, kind: int, thresholds: Thresholds, n: int) -> GeneralisedObjective:
    """Adaptive Gauss-Hermite objective with n nodes; the design has one scalar term."""
    rows = rows_of(table, kind)
    kernel = Quadrature.of(rows, _starts(table), table.often, n)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def trapezoid(table: Compressed, kind: int, thresholds: Thresholds, extra: int = 0) -> GeneralisedObjective:
    """Objective by the trapezoidal rule, doubled group by group, and `extra` times more; for one scalar term."""
    rows = rows_of(table, kind)
    kernel = Trapezoid.of(rows, _starts(table), table.often, extra)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def _starts(table: Compressed) -> Ints:
    """First row of each group, and the number of rows."""
    return np.searchsorted(table.columns.cols[:, 0], np.arange(int(table.columns.blocks[-1]) + 1)).astype(np.int64)


def linear(table: Compressed, n: float, log_weight: float, reml: bool) -> LinearObjective:
    """Objective of a linear mixed model of n rows with the sum of their log weights; groups are not collapsed."""
    mean = table.y / table.m - table.offset
    within = float(table.squares.sum())
    X, z = np.ascontiguousarray(table.X), np.ascontiguousarray(table.columns.z)
    cells = Cells(mean, table.m, X, z, n, within, log_weight)
    return LinearObjective(cells, layout_of(table.columns), Scales.of(table.columns.sizes), reml)


# ---- Where the search for the maximum starts, and in which coordinates -----------------------------------------------


def orthogonal(X: Floats, weight: Floats) -> Floats:
    """Coordinates T (p, p) in which the columns X T (N, p), weighted, are orthogonal and of unit size; β = T γ."""
    R = np.linalg.qr(X * np.sqrt(weight / weight.sum())[:, None], mode="r")
    return np.asarray(np.linalg.inv(R), np.float64) if X.shape[1] else np.zeros((0, 0))


def even(z: Floats, weight: Floats, scales: Scales) -> tuple[Floats, Floats]:
    """Coordinates in which the random columns of a term are orthogonal and of unit size, for any units of measurement.

    Columns are made orthogonal from the last to the first, so that Cholesky factors stay lower triangular and are zero
    in the same places. θ is the matrix returned, (T, T), times the variance parameters of the new columns (N, K).
    """
    T, first = np.eye(z.shape[1]), 0
    for size in scales.sizes:
        own = slice(first, first + size)
        T[own, own] = _lower(z[:, own], weight)
        first += size
    alike = scales.row[:, None] == scales.row
    return np.ascontiguousarray(z @ T), np.where(alike, T[np.ix_(scales.column, scales.column)], 0.0)


def _lower(z: Floats, weight: Floats) -> Floats:
    """Lower triangular T with z T orthogonal and of unit size; diagonal where columns are nearly the same."""
    size = _size(z, weight)
    backwards = (z / size * np.sqrt(weight / weight.sum())[:, None])[:, ::-1]
    R = np.asarray(np.linalg.qr(backwards, mode="r"), np.float64)
    pivots = np.diagonal(R)
    if z.shape[1] == 1 or R.shape[0] < R.shape[1] or np.abs(pivots).min() < 1e-9:
        return np.diag(1 / size)
    T = (np.linalg.inv(R) * np.sign(pivots))[::-1, ::-1] / size[:, None]
    return np.asarray(T / _size(z @ T, weight), np.float64)


def _size(z: Floats, weight: Floats) -> Floats:
    squares, number = weight @ z**2, weight @ (z != 0)
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0) / np.where(squares > 0, number, 1.0)), np.float64)


def turned(objective: GeneralisedObjective) -> tuple[GeneralisedObjective, Floats]:
    """The same objective in better coordinates: slopes orthogonal, thresholds at the mean of X, random columns even.

    It shares the workspace; parameters are the matrix returned, (P, P), times the new coordinates.
    """
    d, cuts = objective.rows, objective.thresholds
    p, t = d.X.shape[1], len(cuts.names)
    weight = d.m * d.times
    moved = t > 0 and cuts.location
    middle = weight @ d.X / weight.sum() if moved else np.zeros(p)
    T = orthogonal(d.X - middle, weight)
    turn = np.eye(p + t + len(objective.scales.column))
    turn[:p, :p] = T
    if moved:  # what moves all thresholds alike
        inner = cuts.map.reshape(-1, t)
        alike = np.linalg.lstsq(inner, np.ones(len(inner)), rcond=None)[0]
        turn[p : p + t, :p] = np.outer(alike, middle @ T)
    z, turn[p + t :, p + t :] = even(d.z, weight, objective.scales)
    return replace(objective, rows=replace(d, X=np.ascontiguousarray((d.X - middle) @ T), z=z)), turn


def elsewhere(objective: GeneralisedObjective | LinearObjective, x: Floats, curvature: Floats) -> list[Floats]:
    """Further starts, where the search ended with a variance near zero: the likelihood may have a second maximum.

    A variance of zero in a correlated term is a saddle: it is better to give that column a little variance, and to
    correlate it with the others in the direction in which the likelihood grows. But there the gradient is zero.
    """
    s = objective.scales
    free = len(x) - len(s.column)
    theta, starts = x[free:], []
    if (np.abs(theta[s.diagonal]) < 0.01).any():
        starts.append(np.append(x[:free], 0.4 * s.diagonal))
    known = theta**2 * np.diag(curvature)[free:] > 9
    thin = [int(c) for c in np.flatnonzero(s.diagonal & (np.abs(theta) < 0.05) & ~known) if s.sizes[s.term[c]] > 1]
    last = [c for c in thin if (s.row == s.row[c]).sum() == 1]
    if last:  # a correlation of 1
        starts.append(x.copy())
        starts[-1][free:][last] = 0.0
    first = [c for c in thin if c not in last]
    return [*starts, *(_leaning(objective, x, first, rest) for rest in (0.2, 0.0) if first)]


def _leaning(objective: GeneralisedObjective | LinearObjective, x: Floats, thin: list[int], rest: float) -> Floats:
    """A start at which columns without variance have some, and others are correlated with it."""
    s, low = objective.scales, x.copy()
    free = len(x) - len(s.column)
    factor = s.factors(x[free:])
    low[free:][thin] = 0.1
    gradient = objective(low)[1][free:]
    for c in thin:
        L, column = factor[s.term[c]], s.row == s.row[c]
        for e in np.flatnonzero(column & ~s.diagonal):
            a = int(s.column[e] - s.column[s.term == s.term[c]].min())
            low[free + e] = -0.98 * np.sign(gradient[e]) * np.sqrt(L[a] @ L[a])
            low[free:][(s.column == s.column[e]) & (s.row > s.row[c])] *= rest
    return low


def fixed_start(rows: Rows, thresholds: Thresholds) -> tuple[Floats, Floats]:
    """Fixed effects and thresholds of the model without random effects, roughly."""
    tau = thresholds.start(rows.category, rows.part, rows.m * rows.times)
    hi, lo, _ = thresholds.around(tau, rows.category, rows.part)
    beta = np.zeros(rows.X.shape[1])
    if rows.kind in (POISSON_LOG, NEGATIVE_BINOMIAL_LOG):
        level = np.log(rows.times @ rows.y + 0.1) - logsumexp(rows.offset, b=rows.times * rows.m)
        beta = np.linalg.lstsq(rows.X, np.full(len(rows.y), level), rcond=None)[0]
    total = np.inf
    for _ in range(12):
        value, r, w = losses(rows.kind, rows.y, rows.m, rows.X @ beta + rows.offset, hi, lo)
        total, before = float(rows.times @ value), total
        information = (rows.X * (rows.times * w)[:, None]).T @ rows.X
        step = np.linalg.lstsq(information, rows.X.T @ (rows.times * r), rcond=None)[0]
        beta = beta - step * min(1.0, 3.0 / max(float(np.abs(rows.X @ step).max(initial=0.0)), 1e-300))
        if abs(before - total) < 1e-3:
            break
    return beta * min(1.0, 20.0 / max(float(np.abs(rows.X @ beta).max(initial=0.0)), 1e-300)), tau


def first_guess(objective: GeneralisedObjective, table: Compressed, params: Floats) -> Floats:
    """First guess of the inverse Hessian (P, P): the information that the random effects leave.

    For β it is X'WX less what Λ'Z'WX takes of it; for a standard deviation, twice the sum over its levels of the
    squared share of their variance that the data explain (exact for a balanced Gaussian design).
    """
    d, (beta, tau, theta) = objective.rows, objective.split(params)
    p, t = len(beta), len(tau)
    hi, lo, _ = objective.thresholds.around(tau, d.category, d.part)
    zl, eta = objective.scales.spread(d.z, theta), d.X @ beta + d.offset
    _, _, w = losses(d.kind, d.y, d.m, eta, hi, lo)
    layout = objective.kernel.layout if isinstance(objective.kernel, Laplace) else layout_of(table.columns)
    flat = np.empty(layout.size)
    gather(layout, zl, w, flat)
    factorise(layout, flat)
    B = cross(zl, w, layout.cols, d.X, layout.q)
    left = B * table.often[:, None]
    taken = left.T @ solve_many(layout, flat, B)
    result = np.zeros((len(params), len(params)))
    result[:p, :p] = np.linalg.pinv((d.X * (w * d.times)[:, None]).T @ d.X - taken)
    n = max(float((d.m * d.times).sum()), 1.0)
    result[range(p, p + t), range(p, p + t)] = 10.0 / n
    # for each column of z: its columns in H, and the share of each one's variance that the data explain
    inverse = invert(layout, flat)
    entries, tail = int(layout.start[layout.s]), layout.q - layout.s
    diagonal = np.append(inverse[entries : entries + layout.s], inverse[entries + layout.s :][:: tail + 1])
    places = [table.columns.of(k, c) for k, width in enumerate(table.columns.sizes) for c in range(width)]
    explained = [1 - diagonal[j] for j in places]
    for c, (a, b, size) in enumerate(zip(objective.scales.column, objective.scales.row, theta, strict=True)):
        information = 2 * (table.often[places[a]] * explained[a] * explained[b]).sum()
        scale = max(abs(size), 0.3)
        result[p + t + c, p + t + c] = scale**2 / max(float(information), 1.0)
    return result


# ---- Quasi-Newton minimisation with a log, and the Hessian at the end ------------------------------------------------

Objective = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Minimum:
    """Where the search ended."""

    x: Floats  # x, gradient (P,)
    gradient: Floats
    value: float
    hessian: Floats  # (P, P): by differences of the gradient
    converged: bool  # whether a further Newton step would gain less than 1e-7
    # a row per iteration: ``iteration``, ``evaluations``, ``objective``, ``gradient``, ``step``, ``x``
    log: list[dict[str, Any]] = field(repr=False)

    def followed_by(self, other: Minimum) -> Minimum:
        """Another search, with the log of both."""
        done = {"iteration": len(self.log), "evaluations": self.log[-1]["evaluations"] if self.log else 0}
        after = [{**row, **{name: row[name] + before for name, before in done.items()}} for row in other.log]
        return replace(other, log=[*self.log, *after])


def minimise(objective: Objective, x: Floats, inverse: Floats, *, most: int = 200) -> Minimum:
    """Minimise by BFGS with backtracking, then by Newton's method. Coordinates should be of unit size, or smaller.

    The value of the objective is infinite where x is not allowed. `inverse` (P, P): first guess of the inverse Hessian.
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _minimise(objective, x, inverse, most)


def _minimise(objective: Objective, x: Floats, inverse: Floats, most: int) -> Minimum:
    value, gradient = objective(x)
    log: list[dict[str, Any]] = []
    evaluations = 1
    for iteration in range(most):
        direction = -inverse @ gradient
        slope = float(direction @ gradient)
        if slope > 0:  # rounding: start over from the steepest descent
            inverse = np.diag(np.abs(np.diag(inverse)))
            direction = -inverse @ gradient
            slope = float(direction @ gradient)
        _note(log, iteration, evaluations, value, gradient, slope, x)
        if -slope < 1e-8:
            break
        found, more = _search(objective, x, value, direction, slope)
        evaluations += more
        if found is None:
            break
        step, value, after = found[0] - x, found[1], found[2]
        inverse = _update(inverse, step, after - gradient, first=iteration == 0)
        x, gradient = found[0], after
    return _polish(objective, x, value, gradient, inverse, log, evaluations)


def _note(
    log: list[dict[str, Any]], iteration: int, evaluations: int, value: float, gradient: Floats, slope: float, x: Floats
) -> None:
    steepest = float(np.abs(gradient).max(initial=0.0))
    row = {"iteration": iteration, "evaluations": evaluations, "objective": value, "gradient": steepest}
    log.append({**row, "step": float(-slope / 2), "x": x.copy()})


def _search(
    objective: Objective, x: Floats, value: float, direction: Floats, slope: float
) -> tuple[tuple[Floats, float, Floats] | None, int]:
    """Backtrack to a point that is better by a share of what the slope promises."""
    size = 1.0
    for tries in range(1, 41):
        at = x + size * direction
        new, gradient = objective(at)
        if np.isfinite(new) and new <= value + 1e-4 * size * slope + 1e-12 * abs(value):
            return (at, new, gradient), tries
        curved = 2 * (new - value - size * slope)
        best = -slope * size**2 / curved if np.isfinite(new) and curved > 0 else 0.2 * size
        size = float(np.clip(best, 0.1 * size, 0.5 * size))
    return None, 40


def _update(inverse: Floats, step: Floats, change: Floats, *, first: bool) -> Floats:
    """BFGS, skipped where the curvature is not positive."""
    curvature = float(step @ change)
    if curvature <= 1e-12 * np.sqrt(float(step @ step) * float(change @ change)):
        return inverse
    if first:
        grown = curvature / float(change @ inverse @ change)
        inverse = inverse * np.clip(grown, 0.1, 10.0)
    rotated = inverse @ change
    outer = np.outer(step, rotated)
    scale = (1 + float(change @ rotated) / curvature) / curvature
    return inverse + scale * np.outer(step, step) - (outer + outer.T) / curvature


def hessian(objective: Objective, x: Floats, scale: Floats) -> Floats:
    """Hessian by central differences of the gradient; `scale` (P,): length over which each parameter matters."""
    P = len(x)
    result: Floats = np.zeros((P, P))
    for i in range(P):
        move = np.zeros(P)
        move[i] = 0.01 * scale[i]
        result[i] = (objective(x + move)[1] - objective(x - move)[1]) / (2 * move[i])
    return (result + result.T) / 2


def _polish(
    objective: Objective, x: Floats, value: float, gradient: Floats, inverse: Floats,
    log: list[dict[str, Any]], evaluations: int,
) -> Minimum:  # fmt: skip
    """Newton steps with the numeric Hessian until nothing is gained; the Hessian is kept."""
    gain, after = np.inf, np.inf
    for _ in range(4):
        scale = np.clip(np.sqrt(np.abs(np.diag(inverse))), 1e-6, 1.0)
        curvature = hessian(objective, x, scale)
        evaluations += 2 * len(x)
        step = _newton(curvature, gradient)
        gain = after = float(gradient @ step) / 2
        _note(log, len(log), evaluations, value, gradient, -2 * gain, x)
        if not np.isfinite(gain) or gain < 1e-12:
            break
        found, more = _search(objective, x, value, -step, -2 * gain)
        evaluations += more
        if found is None:
            break
        x, value, gradient = found
        after = float(gradient @ _newton(curvature, gradient)) / 2
        if gain < 1e-4:  # the Hessian does not change over such a step
            break
        inverse = np.asarray(np.linalg.pinv(curvature), np.float64)
    return Minimum(x, gradient, value, curvature, bool(np.isfinite(after) and min(gain, after) < 1e-6), log)


def _newton(curvature: Floats, gradient: Floats) -> Floats:
    """Newton step; NaN where the function still falls along an axis that is not curved upwards."""
    if not np.isfinite(curvature).all():
        return np.full(len(gradient), np.nan)
    size, axes = np.linalg.eigh(curvature)
    kept, turned = size > 1e-10 * size.max(initial=0.0), axes.T @ gradient
    if (np.abs(turned[~kept]) > 1e-3).any():
        return np.full(len(gradient), np.nan)
    step: Floats = axes[:, kept] @ (turned[kept] / size[kept])
    return step
