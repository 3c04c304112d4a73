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
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from judgestats.kernels.compiling import njit
from judgestats.kernels.laplace import Adjoint, LikelihoodRows
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


class Integrand(NamedTuple):
    """Data of the integrands of all groups: N rows, sorted by group."""

    family: Family
    y: Floats  # y, m (N,): successes and trials, or sums and numbers of rows
    m: Floats
    eta: Floats  # (N,): linear predictor without random effects
    hi: Floats  # hi, lo (N,): thresholds
    lo: Floats
    zl: Floats  # (N,): θ z

    @classmethod
    def of(cls, data: LikelihoodRows, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Integrand:
        """Of the data, with `zl` (N, 1)."""
        return cls(FAMILIES[data.kind], data.y, data.m, eta, hi, lo, np.ascontiguousarray(zl[:, 0]))


class Nodes(NamedTuple):
    """Nodes of a quadrature rule, and what its last evaluation left."""

    # node, log_weight (n,): nodes for the standard normal density and logs of weights, the density divided out
    node: Floats
    log_weight: Floats
    u: Floats  # u, h (G,): modes and curvatures
    h: Floats
    share: Floats  # (G, n): share of each node in the integral
    slope: Floats  # (N, n): derivative of each row's loss at each node


class Ranges(NamedTuple):
    """Ranges of a trapezoidal rule, (G,) each."""

    u: Floats  # modes
    left: Floats  # left, right: how far the range extends to either side of them
    right: Floats
    intervals: Ints


class ByRow(NamedTuple):
    """Derivatives of a trapezoidal rule, (N,) each."""

    eta: Floats
    zl: Floats
    hi: Floats
    lo: Floats
    node: Floats  # (3, N): of the row's loss at one node, by η, hi and lo


class Designs(NamedTuple):
    """Designs of the parameters of a Hessian: of η, hi and lo, and the values of the random term."""

    X: Floats  # (N, p)
    hi: Floats  # hi, lo (N, T)
    lo: Floats
    z: Floats  # (N,)


class BySecond(NamedTuple):
    """Second derivatives of a trapezoidal rule and the workspace for P parameters; the results start at 0."""

    row: Floats  # row, node (8, N): of each row, over all nodes and at one
    node: Floats
    slope: Floats  # slope, mean (P,): first derivatives at one node, and over all of a group
    mean: Floats
    squares: Floats  # squares, between (P, P): their products, and minus their variances over groups; lower triangles
    between: Floats


@njit(cache=True)
def _group_mode(family, y, m, eta0, hi, lo, zl, first, last, u, close):  # type: ignore[no-untyped-def]
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
def _value(rows: Integrand, start: Ints, often: Floats, at_nodes: Nodes) -> float:
    """Minus the log likelihood; modes, curvatures, the nodes' shares and the rows' slopes are left in `at_nodes`."""
    family, y, m, eta0, hi, lo, zl = rows
    node, log_weight, u, h, share, slope = at_nodes
    total = 0.0
    for g in range(len(u)):
        converged, u[g], h[g] = _group_mode(family, y, m, eta0, hi, lo, zl, start[g], start[g + 1], u[g], EXACT)
        if not converged:
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
def _adjoint(rows: Integrand, start: Ints, often: Floats, at_nodes: Nodes) -> tuple[Floats, Floats, Floats, Floats]:
    """Derivatives by η, by zl and by the thresholds of every row."""
    family, y, m, eta0, hi, lo, zl = rows
    node, _, u, h, share, slope = at_nodes
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
def _fall(family, y, m, eta0, hi, lo, zl, first, last, at):  # type: ignore[no-untyped-def]
    """Minus the log of one group's integrand, and its slope."""
    total, slope = 0.5 * at * at, at
    for i in range(first, last):
        own, r, _, _ = loss(family, y[i], m[i], eta0[i] + zl[i] * at, hi[i], lo[i])
        total += own
        slope += zl[i] * r
    return total, slope


@njit(cache=True)
def _reach(family, y, m, eta0, hi, lo, zl, first, last, u, base, side, reach):  # type: ignore[no-untyped-def]
    """Distance from the mode, on one side, at which the log integrand has fallen by DROP (Newton, from a guess)."""
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
def _sweep(  # type: ignore[no-untyped-def]
    family, y, m, eta0, hi, lo, zl, first, last, base, at, step, count, node, by_eta, by_zl, by_hi, by_lo
):
    """Sum of the integrand over equidistant nodes, its top 1; sums of the weighted derivatives of each row."""
    area = 0.0
    for k in range(count):
        u = at + k * step
        value = 0.5 * u * u
        for i in range(first, last):
            eta = eta0[i] + zl[i] * u
            own, node[0, i], _, _ = loss(family, y[i], m[i], eta, hi[i], lo[i])
            value += own
            if has_thresholds(family):
                node[1, i], _, _, node[2, i], _, _ = threshold_loss(family, y[i], m[i], eta, hi[i], lo[i])
        share = np.exp(base - value)
        area += share
        for i in range(first, last):
            by_eta[i] += share * node[0, i]
            by_zl[i] += share * node[0, i] * u
            if has_thresholds(family):
                by_hi[i] += share * node[1, i]
                by_lo[i] += share * node[2, i]
    return area


@njit(cache=True)
def _trapezoid(
    rows: Integrand, start: Ints, often: Floats, same: float, extra: int, held: bool, ranges: Ranges, by: ByRow
) -> float:
    """Minus the log likelihood; modes, reaches, numbers of intervals and row derivatives are stored in place.

    Where the nodes are `held`, the ranges and the numbers of intervals are those that are stored.
    """
    u, left, right, intervals = ranges
    family, y, m, eta0, hi, lo, zl = rows
    by_eta, by_zl, by_hi, by_lo, node = by
    by_eta[:], by_zl[:], by_hi[:], by_lo[:] = 0.0, 0.0, 0.0, 0.0
    total = 0.0
    for g in range(len(u)):
        first, last = start[g], start[g + 1]
        if not held:
            converged, u[g], h = _group_mode(family, y, m, eta0, hi, lo, zl, first, last, u[g], NEAR)
            if not converged:
                u[g] = left[g] = right[g] = 0.0
                return np.inf
            if left[g] == 0.0:
                left[g] = right[g] = np.sqrt(2.0 * (DROP + 1.0) / h)
        base = _fall(family, y, m, eta0, hi, lo, zl, first, last, u[g])[0]
        if not held:
            left[g] = _reach(family, y, m, eta0, hi, lo, zl, first, last, u[g], base, -1.0, left[g])
            right[g] = _reach(family, y, m, eta0, hi, lo, zl, first, last, u[g], base, 1.0, right[g])
        low, width = u[g] - left[g], left[g] + right[g]
        area, n, count, gap, at = 0.0, FIRST, FIRST - 1, width / FIRST, u[g] - left[g] + width / FIRST
        more, settled, expected = extra, same == np.inf, 0.0
        while True:
            before = area
            area += _sweep(
                family, y, m, eta0, hi, lo, zl, first, last, base, at, gap, count, node, by_eta, by_zl, by_hi, by_lo
            )
            if held:
                settled = n >= intervals[g]
            elif n > FIRST:
                change = abs(area - 2.0 * before) / area
                settled = settled or max(change, expected) <= same or n >= MOST
                expected = change * change
            if settled and (held or more == 0):
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


@njit(cache=True)
def _second(rows: Integrand, start: Ints, often: Floats, ranges: Ranges, designs: Designs, by: BySecond) -> None:
    """Second derivatives, see :meth:`Trapezoid.hessian`."""
    u, left, right, intervals = ranges
    family, y, m, eta0, hi, lo, zl = rows
    X, X_hi, X_lo, z = designs
    by_row, node, slope, mean, squares, between = by
    p, T, P = X.shape[1], X_hi.shape[1], len(slope)
    many = 8 if has_thresholds(family) else 3
    for g in range(len(u)):
        first, last, n = start[g], start[g + 1], intervals[g]
        base, area, gap = 0.0, 0.0, (left[g] + right[g]) / n
        for a in range(P):
            mean[a] = 0.0
            for b in range(a + 1):
                squares[a, b] = 0.0
        for k in range(1, n):
            at = u[g] - left[g] + k * gap
            value = 0.5 * at * at
            for a in range(P):
                slope[a] = 0.0
            for i in range(first, last):
                eta = eta0[i] + zl[i] * at
                own, r, w, _ = loss(family, y[i], m[i], eta, hi[i], lo[i])
                value += own
                slope[P - 1] += z[i] * at * r
                for j in range(p):
                    slope[j] += X[i, j] * r
                node[0, i], node[1, i], node[2, i] = w, at * w, at * at * w
                if has_thresholds(family):
                    r_hi, w_hi, _, r_lo, w_lo, _ = threshold_loss(family, y[i], m[i], eta, hi[i], lo[i])
                    for j in range(T):
                        slope[p + j] += X_hi[i, j] * r_hi + X_lo[i, j] * r_lo
                    node[3, i], node[4, i], node[5, i], node[6, i] = w_hi, at * w_hi, w_lo, at * w_lo
                    node[7, i] = r_hi * r_lo / m[i]
            if k == 1:
                base = value - DROP  # near the top
            share = np.exp(base - value)
            area += share
            for c in range(many):
                for i in range(first, last):
                    by_row[c, i] += share * node[c, i]
            for a in range(P):
                mean[a] += share * slope[a]
                for b in range(a + 1):
                    squares[a, b] += share * slope[a] * slope[b]
        for c in range(many):
            for i in range(first, last):
                by_row[c, i] *= often[g] / area
        for a in range(P):
            for b in range(a + 1):
                between[a, b] += often[g] * (mean[a] * mean[b] / area - squares[a, b]) / area


@dataclass
class Quadrature:
    """The objective and its workspace. Rows are sorted by group."""

    data: LikelihoodRows  # with one column in z
    start: Ints  # (G + 1,): first row of each group
    often: Floats  # (G,): how often each group counts
    nodes: Nodes

    @classmethod
    def of(cls, data: LikelihoodRows, start: Ints, often: Floats, n: int) -> Quadrature:
        """Make the workspace for n nodes."""
        G = len(often)
        nodes = Nodes(*rule(n), np.zeros(G), np.ones(G), np.empty((G, n)), np.empty((len(data.y), n)))
        return cls(data, start, often, nodes)

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """The objective, and `eta0` for :meth:`adjoint`; `zl` (N, 1): θ z."""
        return _value(Integrand.of(self.data, eta0, zl, hi, lo), self.start, self.often, self.nodes), eta0

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:
        """Derivatives where :meth:`value` was evaluated last."""
        rows = Integrand.of(self.data, eta, zl, hi, lo)
        by_eta, by_zl, by_hi, by_lo = _adjoint(rows, self.start, self.often, self.nodes)
        return Adjoint(by_eta, by_zl[:, None], by_hi, by_lo)


@dataclass
class Trapezoid:
    """The objective by the trapezoidal rule and its workspace. Rows are sorted by group."""

    data: LikelihoodRows  # with one column in z
    start: Ints  # (G + 1,): first row of each group
    often: Floats  # (G,): how often each group counts
    same: float  # relative change of a group's integral at which halving ends; infinite where the first sum is taken
    extra: int  # how often the step is halved beyond that
    ranges: Ranges  # at the parameters evaluated last, as the derivatives
    by: ByRow
    fixed: bool = False  # whether the nodes stay where they are

    @classmethod
    def of(cls, data: LikelihoodRows, start: Ints, often: Floats, extra: int = 0) -> Trapezoid:
        """Make the workspace."""
        G, N = len(often), len(data.y)
        same = min(1e-5, math.sqrt(ERROR / max(float(often.sum()), 1.0)))
        ranges = Ranges(np.zeros(G), np.zeros(G), np.zeros(G), np.zeros(G, np.int64))
        by = ByRow(np.empty(N), np.empty(N), np.empty(N), np.empty(N), np.empty((3, N)))
        return cls(data, start, often, same, extra, ranges, by)

    def rough(self) -> Trapezoid:
        """The first sum alone."""
        return replace(Trapezoid.of(self.data, self.start, self.often), same=np.inf)

    def held(self) -> Trapezoid:
        """The rule with the nodes that it had at the parameters evaluated last: smooth, for derivatives there."""
        return replace(self, fixed=True)

    @property
    def exhausted(self) -> bool:
        """Whether some integral, at the parameters evaluated last, took as many intervals as there may be."""
        return bool(self.ranges.intervals.max(initial=0) >= MOST)

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """The objective, and `eta0` for :meth:`adjoint`; `zl` (N, 1): θ z."""
        rows = Integrand.of(self.data, eta0, zl, hi, lo)
        own = self.same, self.extra, self.fixed, self.ranges, self.by
        return _trapezoid(rows, self.start, self.often, *own), eta0

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:  # noqa: ARG002
        """Derivatives where :meth:`value` was evaluated last, which found them."""
        by = self.by
        return Adjoint(by.eta, by.zl[:, None], by.hi, by.lo)

    def hessian(
        self, rows: LikelihoodRows, edges: tuple[Floats, Floats], eta0: Floats, zl: Floats, hi: Floats, lo: Floats
    ) -> tuple[Floats, Floats]:
        """Second derivatives, with the nodes of the parameters evaluated last, by Louis' identity.

        `rows` have the designs X and z by whose parameters they are, `edges` (N, T) are those of hi and lo. The mean
        over the random effect u of each row's second derivatives (8, N): by η², η zl and zl², by hi and η, hi and zl,
        lo and η, lo and zl, and the product of those by hi and lo, over m; and minus the variance of the first
        derivatives (P, P) by the parameters of X, of the thresholds and θ.
        """
        own, N, P = Integrand.of(rows, eta0, zl, hi, lo), len(rows.y), rows.X.shape[1] + edges[0].shape[1] + 1
        designs = Designs(rows.X, *edges, np.ascontiguousarray(rows.z[:, 0]))
        shapes = (8, N), (8, N), P, P, (P, P), (P, P)
        by = BySecond(*(np.zeros(shape) for shape in shapes))
        _second(own, self.start, self.often, self.ranges, designs, by)
        return by.row, by.between + np.tril(by.between, -1).T


@cache
def rule(n: int) -> tuple[Floats, Floats]:
    """Gauss-Hermite nodes for the standard normal density, and logs of weight over density, √(2π) divided out."""
    node, weight = np.polynomial.hermite_e.hermegauss(n)
    log_weight = np.log(weight / np.sqrt(2 * np.pi)) + 0.5 * node**2
    for values in (node, log_weight):
        values.setflags(write=False)
    return node, log_weight
