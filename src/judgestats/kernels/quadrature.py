"""Likelihood of a mixed model with one scalar random term by numerical integration, with its gradient.

Each group has one random effect u ~ N(0, 1) that enters as θ z u.

:class:`Quadrature` is adaptive Gauss-Hermite quadrature with a given number of nodes, centred at the mode û and scaled
by the curvature h there; nodes move with the parameters, and the gradient follows them. One node is Laplace. Where
effects are large the integrand is skewed, and more nodes help slowly.

:class:`Trapezoid` integrates over the range where the group's integrand, which is log-concave, is above e^-25 of its
top, and halves the step until the integral is stable. The error of the trapezoidal rule falls exponentially with
the number of nodes (Trefethen & Weideman 2014), so that of the last sum is about the square of the last change. A
change that is small by chance, far below the square of the one before, does not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from judgestats.kernels.compiling import njit
from judgestats.kernels.laplace import Adjoint, Rows
from judgestats.kernels.likelihoods import FAMILIES, Family, has_thresholds, loss, threshold_loss
from judgestats.typing import Floats, Ints

_ROOT_2PI = math.sqrt(2 * math.pi)

#: The range of a trapezoidal rule ends where the log of the integrand has fallen so far, or up to 2 further.
DROP = 25.0
#: Intervals of the first sum, and the most that halving leads to.
FIRST, MOST = 14, 14 * 2**7
#: Error of the log likelihood, summed over groups, at which halving aims.
ERROR = 1e-9
#: Slope over curvature, in the unit of its root, at which a mode is found: for nodes that follow it, and for a range.
EXACT, NEAR = 1e-11, 1e-3


@njit(cache=True)
def _mode(
    family: Family, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, first: int, last: int,
    u: float, close: float,
) -> tuple[bool, float, float]:  # fmt: skip
    """Mode of one group and the curvature there."""
    before, step, h = np.inf, 0.0, 1.0
    for _ in range(200):
        total, slope, h = 0.5 * u * u, u, 1.0
        for i in range(first, last):
            value, r, w, _ = loss(family, y[i], m[i], eta0[i] + zl[i] * u, hi[i], lo[i])
            total += value
            slope += zl[i] * r
            h += zl[i] * zl[i] * w
        if not np.isfinite(total + slope + h):
            return False, u, h
        if total > before + 1e-12 * (1.0 + abs(before)):
            step *= 0.5
            u += step
            continue
        if abs(slope) < close * np.sqrt(h):
            return True, u, h
        before, step = total, slope / h
        u -= step
    return abs(slope) < 1e-6 * np.sqrt(h), u, h


@njit(cache=True)
def _value(
    family: Family, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, start: Ints, often: Floats,
    node: Floats, log_weight: Floats, u: Floats, h: Floats, share: Floats, slope: Floats,
) -> float:  # fmt: skip
    """Minus the log likelihood; modes, curvatures, the nodes' shares and the rows' slopes are left in the last four."""
    total = 0.0
    for g in range(len(u)):
        found, u[g], h[g] = _mode(family, y, m, eta0, hi, lo, zl, start[g], start[g + 1], u[g], EXACT)
        if not found:
            u[g] = 0.0
            return np.inf
        top = -np.inf
        for k in range(len(node)):
            at = u[g] + node[k] / np.sqrt(h[g])
            value = log_weight[k] - 0.5 * at * at
            for i in range(start[g], start[g + 1]):
                own, slope[i, k], _, _ = loss(family, y[i], m[i], eta0[i] + zl[i] * at, hi[i], lo[i])
                value -= own
            share[g, k] = value
            top = max(top, value)
        area = 0.0
        for k in range(len(node)):
            share[g, k] = np.exp(share[g, k] - top)
            area += share[g, k]
        for k in range(len(node)):
            share[g, k] /= area
        total -= often[g] * (top + np.log(area) - 0.5 * np.log(h[g]))
    return total


@njit(cache=True)
def _adjoint(
    family: Family, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, start: Ints, often: Floats,
    node: Floats, u: Floats, h: Floats, share: Floats, slope: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:  # fmt: skip
    """Derivatives by η, by zl and by the thresholds of every row."""
    N = len(y)
    by_eta, by_zl, by_hi, by_lo = np.zeros(N), np.zeros(N), np.zeros(N), np.zeros(N)
    for g in range(len(u)):
        root = 1.0 / np.sqrt(h[g])
        push, stretch = 0.0, 0.0  # of the objective by a move of all nodes, and by their spread
        for k in range(len(node)):
            at = u[g] + node[k] * root
            total = at
            for i in range(start[g], start[g + 1]):
                eta, r = eta0[i] + zl[i] * at, slope[i, k]
                total += zl[i] * r
                by_eta[i] += share[g, k] * r
                by_zl[i] += share[g, k] * r * at
                if has_thresholds(family):
                    direct = threshold_loss(family, y[i], m[i], eta, hi[i], lo[i])
                    by_hi[i] += share[g, k] * direct[0]
                    by_lo[i] += share[g, k] * direct[3]
            push += share[g, k] * total
            stretch += share[g, k] * total * node[k]
        # by h: nodes spread as h^(-1/2), and log h / 2
        by_h = 0.5 / h[g] - 0.5 * stretch * root / h[g]
        drift = 0.0  # of h by u
        for i in range(start[g], start[g + 1]):
            drift += zl[i] ** 3 * loss(family, y[i], m[i], eta0[i] + zl[i] * u[g], hi[i], lo[i])[3]
        move = -(push + by_h * drift) / h[g]  # by the slope at the mode, which stays 0
        for i in range(start[g], start[g + 1]):
            eta, z = eta0[i] + zl[i] * u[g], zl[i]
            _, r, w, w1 = loss(family, y[i], m[i], eta, hi[i], lo[i])
            chain = by_h * z * z * w1 + move * z * w
            by_eta[i] += chain
            by_zl[i] += chain * u[g] + by_h * 2 * z * w + move * r
            if has_thresholds(family):
                _, r_hi, w_hi, _, r_lo, w_lo = threshold_loss(family, y[i], m[i], eta, hi[i], lo[i])
                by_hi[i] += by_h * z * z * w_hi + move * z * r_hi
                by_lo[i] += by_h * z * z * w_lo + move * z * r_lo
            by_eta[i] *= often[g]
            by_zl[i] *= often[g]
            by_hi[i] *= often[g]
            by_lo[i] *= often[g]
    return by_eta, by_zl, by_hi, by_lo


@njit(cache=True)
def _fall(
    family: Family, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, first: int, last: int,
    at: float,
) -> tuple[float, float]:  # fmt: skip
    """Minus the log of one group's integrand, and its slope."""
    total, slope = 0.5 * at * at, at
    for i in range(first, last):
        own, r, _, _ = loss(family, y[i], m[i], eta0[i] + zl[i] * at, hi[i], lo[i])
        total += own
        slope += zl[i] * r
    return total, slope


@njit(cache=True)
def _reach(
    family: Family, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, first: int, last: int,
    u: float, base: float, side: float, reach: float,
) -> float:  # fmt: skip
    """How far from the mode u, on one side, the integrand has fallen by DROP; Newton's method, from a guess."""
    goal, most = np.sqrt(DROP + 1.0), np.sqrt(2.0 * (DROP + 1.0))  # the prior alone falls so far by `most`
    for _ in range(60):
        value, slope = _fall(family, y, m, eta0, hi, lo, zl, first, last, u + side * reach)
        fall = value - base
        if DROP <= fall <= DROP + 2.0:
            break
        if not fall < 10.0 * DROP:
            reach *= 0.5
            continue
        root = np.sqrt(max(fall, 1e-9))  # nearly a straight line
        next_ = reach + (goal - root) * 2.0 * root / max(side * slope, 1e-9)
        reach = min(max(next_, reach / 3.0), 3.0 * reach, most)
    return reach


@njit(cache=True)
def _sweep(
    family: Family, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, first: int, last: int,
    base: float, at: float, step: float, count: int, slope: Floats,
    by_eta: Floats, by_zl: Floats, by_hi: Floats, by_lo: Floats,
) -> float:  # fmt: skip
    """Sum of the integrand over equidistant nodes, its top 1; sums of the weighted derivatives of each row."""
    area = 0.0
    for k in range(count):
        u = at + k * step
        value = 0.5 * u * u
        for i in range(first, last):
            own, slope[i], _, _ = loss(family, y[i], m[i], eta0[i] + zl[i] * u, hi[i], lo[i])
            value += own
        share = np.exp(base - value)
        area += share
        for i in range(first, last):
            by_eta[i] += share * slope[i]
            by_zl[i] += share * slope[i] * u
        if has_thresholds(family):
            for i in range(first, last):
                eta = eta0[i] + zl[i] * u
                direct = threshold_loss(family, y[i], m[i], eta, hi[i], lo[i])
                by_hi[i] += share * direct[0]
                by_lo[i] += share * direct[3]
    return area


@njit(cache=True)
def _trapezoid(
    family: Family, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, start: Ints, often: Floats,
    same: float, extra: int, u: Floats, left: Floats, right: Floats, intervals: Ints, slope: Floats,
    by_eta: Floats, by_zl: Floats, by_hi: Floats, by_lo: Floats,
) -> float:  # fmt: skip
    """Minus the log likelihood; modes, reaches, numbers of intervals and row derivatives are stored in place."""
    by_eta[:], by_zl[:], by_hi[:], by_lo[:] = 0.0, 0.0, 0.0, 0.0
    total = 0.0
    for g in range(len(u)):
        first, last = start[g], start[g + 1]
        found, u[g], h = _mode(family, y, m, eta0, hi, lo, zl, first, last, u[g], NEAR)
        if not found:
            u[g] = left[g] = right[g] = 0.0
            return np.inf
        if left[g] == 0.0:
            left[g] = right[g] = np.sqrt(2.0 * (DROP + 1.0) / h)
        base = _fall(family, y, m, eta0, hi, lo, zl, first, last, u[g])[0]
        left[g] = _reach(family, y, m, eta0, hi, lo, zl, first, last, u[g], base, -1.0, left[g])
        right[g] = _reach(family, y, m, eta0, hi, lo, zl, first, last, u[g], base, 1.0, right[g])
        low, width = u[g] - left[g], left[g] + right[g]
        area, n, count, gap, at = 0.0, FIRST, FIRST - 1, width / FIRST, u[g] - left[g] + width / FIRST
        more, settled, expected = extra, False, 0.0
        while True:
            before = area
            area += _sweep(
                family, y, m, eta0, hi, lo, zl, first, last, base, at, gap, count, slope, by_eta, by_zl, by_hi, by_lo
            )
            if n > FIRST:
                change = abs(area - 2.0 * before) / area
                settled = settled or max(change, expected) <= same or n >= MOST
                expected = change * change
                if settled and more == 0:
                    break
                if settled:
                    more -= 1
            count, gap, at = n, width / n, low + 0.5 * width / n
            n *= 2
        intervals[g] = n
        total -= often[g] * (np.log(area * width / n / _ROOT_2PI) - base)
        for i in range(first, last):
            by_eta[i] *= often[g] / area
            by_zl[i] *= often[g] / area
            by_hi[i] *= often[g] / area
            by_lo[i] *= often[g] / area
    return total


@dataclass
class Quadrature:
    """The objective and its workspace. Rows are sorted by group."""

    data: Rows  # with one column in z
    start: Ints  # (G + 1,): first row of each group
    often: Floats  # (G,): how often each group counts
    # node, log_weight (n,): nodes for the standard normal density and logs of weights, the density divided out
    node: Floats
    log_weight: Floats
    u: Floats  # u, h (G,): modes and curvatures found last
    h: Floats
    share: Floats  # (G, n): share of each node in the integral
    slope: Floats  # (N, n): derivative of each row's loss at each node

    @classmethod
    def of(cls, data: Rows, start: Ints, often: Floats, n: int) -> Quadrature:
        """Make the workspace for n nodes."""
        node, log_weight = rule(n)
        G = len(often)
        return cls(
            data, start, often, node, log_weight, np.zeros(G), np.ones(G), np.empty((G, n)), np.empty((len(data.y), n))
        )

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """The objective, and `eta0` for :meth:`adjoint`; `zl` (N, 1): θ z."""
        d, column = self.data, np.ascontiguousarray(zl[:, 0])
        given = (FAMILIES[d.kind], d.y, d.m, eta0, hi, lo, column, self.start, self.often)
        return _value(*given, self.node, self.log_weight, self.u, self.h, self.share, self.slope), eta0

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:
        """Derivatives where :meth:`value` was evaluated last."""
        d, column = self.data, np.ascontiguousarray(zl[:, 0])
        given = (FAMILIES[d.kind], d.y, d.m, eta, hi, lo, column, self.start, self.often)
        by_eta, by_zl, by_hi, by_lo = _adjoint(*given, self.node, self.u, self.h, self.share, self.slope)
        return Adjoint(by_eta, by_zl[:, None], by_hi, by_lo)


@dataclass
class Trapezoid:
    """The objective by the trapezoidal rule and its workspace. Rows are sorted by group."""

    data: Rows  # with one column in z
    start: Ints  # (G + 1,): first row of each group
    often: Floats  # (G,): how often each group counts
    same: float  # relative change of a group's integral at which halving ends
    extra: int  # how often the step is halved beyond that
    u: Floats  # u, left, right (G,): modes found last, and how far the range extends to either side of them
    left: Floats
    right: Floats
    intervals: Ints  # (G,): of each group's range, at the parameters evaluated last
    slope: Floats  # (N,)
    # (N,): derivatives by η, zl and the upper and lower thresholds of the rows
    by: tuple[Floats, Floats, Floats, Floats]

    @classmethod
    def of(cls, data: Rows, start: Ints, often: Floats, extra: int = 0) -> Trapezoid:
        """Make the workspace."""
        G, N = len(often), len(data.y)
        same = min(1e-5, math.sqrt(ERROR / max(float(often.sum()), 1.0)))
        by = (np.empty(N), np.empty(N), np.empty(N), np.empty(N))
        zero = (np.zeros(G), np.zeros(G), np.zeros(G))
        return cls(data, start, often, same, extra, *zero, np.zeros(G, np.int64), np.empty(N), by)

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """The objective, and `eta0` for :meth:`adjoint`; `zl` (N, 1): θ z."""
        d, column = self.data, np.ascontiguousarray(zl[:, 0])
        given = (FAMILIES[d.kind], d.y, d.m, eta0, hi, lo, column, self.start, self.often, self.same, self.extra)
        return _trapezoid(*given, self.u, self.left, self.right, self.intervals, self.slope, *self.by), eta0

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:  # noqa: ARG002
        """Derivatives where :meth:`value` was evaluated last, which found them."""
        by_eta, by_zl, by_hi, by_lo = self.by
        return Adjoint(by_eta, by_zl[:, None], by_hi, by_lo)


@cache
def rule(n: int) -> tuple[Floats, Floats]:
    """Gauss-Hermite nodes for the standard normal density, and logs of weight over density, √(2π) divided out."""
    node, weight = np.polynomial.hermite_e.hermegauss(n)
    log_weight = np.log(weight / np.sqrt(2 * np.pi)) + 0.5 * node**2
    for values in (node, log_weight):
        values.setflags(write=False)
    return node, log_weight
