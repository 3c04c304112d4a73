"""Laplace approximation of a mixed model's likelihood, with its gradient by implicit differentiation of the mode.

u ~ N(0, I) are the spherical random effects and ZΛ their design. With the loss L of the data, the objective is

    L(û) + û'û / 2 + log |H| / 2,    H = Λ'Z'WZΛ + I,

where û minimises the first two terms and W holds the observed second derivatives (not their expectation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from judgestats.kernels.elimination import (
    Structure,
    factorise,
    gather,
    invert,
    log_determinant,
    solve,
)
from judgestats.kernels.likelihoods import CUMULATIVE_LOGIT, loss, threshold_loss

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """The data as the likelihood sees them. N rows, p fixed effects, K columns of random effects a row.

    Attributes
    ----------
    kind : int
        Family and link, as in :mod:`judgestats.kernels.likelihoods`.
    y, m : (N,) float arrays
        Successes and trials, or sums and numbers of rows.
    X : (N, p) float array
    offset : (N,) float array
    z : (N, K) float array
        Values of the random terms.
    times : (N,) float array
        How often each row counts (equal groups collapsed); 1 otherwise.
    category, part : (N,) int arrays
        Category of a cumulative response, and which set of thresholds it uses.
    """

    kind: int
    y: Floats
    m: Floats
    X: Floats
    offset: Floats
    z: Floats
    times: Floats
    category: NDArray[np.int64]
    part: NDArray[np.int64]


@dataclass(frozen=True)
class Adjoint:
    """Derivatives of the objective, row by row: what is left to do is to sum them against the designs.

    Attributes
    ----------
    eta : (N,) float array
        By the linear predictor.
    scale : (N, K) float array
        By the values of ZΛ in each column of a row.
    hi, lo : (N,) float arrays
        By the thresholds.
    """

    eta: Floats
    scale: Floats
    hi: Floats
    lo: Floats


@njit(cache=True)
def _penalised(
    kind: int, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, cols: Any, u: Floats, w: Floats
) -> tuple[float, Floats, Floats]:
    """Penalised loss at u; second derivatives into w, gradient by u."""
    total, gradient, eta = 0.0, u.copy(), np.empty(len(y))
    for j in range(len(u)):
        total += 0.5 * u[j] * u[j]
    for i in range(len(y)):
        e = eta0[i]
        for a in range(zl.shape[1]):
            e += zl[i, a] * u[cols[i, a]]
        eta[i] = e
        value, r, w[i], _ = loss(kind, y[i], m[i], e, hi[i], lo[i])
        total += value
        for a in range(zl.shape[1]):
            gradient[cols[i, a]] += zl[i, a] * r
    return total, gradient, eta


@njit(cache=True)
def _mode(
    kind: int, y: Floats, m: Floats, eta0: Floats, hi: Floats, lo: Floats, zl: Floats, cols: Any, place: Any,
    start: Any, rows: Any, s: int, q: int, flat: Floats, u: Floats, most: int,
) -> tuple[bool, Floats, float]:  # fmt: skip
    """Newton's method for û, which u becomes; the factor of H at û is left in flat."""
    w = np.empty(len(y))
    total, gradient, eta = _penalised(kind, y, m, eta0, hi, lo, zl, cols, u, w)
    settled = False
    for _ in range(most):
        gather(place, zl, w, start[s], s, q, flat)
        if not factorise(start, rows, s, q, flat):
            return False, eta, total
        if settled:
            return True, eta, total
        step = gradient.copy()
        solve(start, rows, s, q, flat, step)
        gain = 0.0
        for j in range(q):
            gain += step[j] * gradient[j]
        if not np.isfinite(gain):
            return False, eta, total
        if gain < 1e-18 * (1.0 + abs(total)):
            return True, eta, total
        size, before = 1.0, total
        for _ in range(30):
            trial = u - size * step
            total, gradient, eta = _penalised(kind, y, m, eta0, hi, lo, zl, cols, trial, w)
            if total <= before + 1e-10 * (1.0 + abs(before)):
                break
            size *= 0.5
        u[:] = trial
        # a Newton step from so near lands within rounding of the mode
        settled = gain < 1e-9 and size == 1.0
    return True, eta, total


@njit(cache=True)
def _adjoint(
    kind: int, y: Floats, m: Floats, eta: Floats, hi: Floats, lo: Floats, zl: Floats, cols: Any, place: Any,
    start: Any, rows: Any, s: int, q: int, flat: Floats, inverse: Floats, u: Floats, times: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:  # fmt: skip
    N, K = zl.shape
    spread, pull = np.zeros((N, K)), np.zeros(q)
    leverage, bend, r, w = np.zeros(N), np.empty(N), np.empty(N), np.empty(N)
    for i in range(N):
        p = 0
        for a in range(K):
            for b in range(a + 1):
                entry = inverse[place[i, p]]
                spread[i, a] += entry * zl[i, b]
                if b < a:
                    spread[i, b] += entry * zl[i, a]
                p += 1
        for a in range(K):
            leverage[i] += spread[i, a] * zl[i, a]
        _, r[i], w[i], w1 = loss(kind, y[i], m[i], eta[i], hi[i], lo[i])
        bend[i] = 0.5 * leverage[i] * w1
        for a in range(K):
            pull[cols[i, a]] += zl[i, a] * bend[i]
    solve(start, rows, s, q, flat, pull)
    by_eta, by_hi, by_lo = np.empty(N), np.zeros(N), np.zeros(N)
    for i in range(N):
        moved = 0.0
        for a in range(K):
            moved += zl[i, a] * pull[cols[i, a]]
        if kind >= CUMULATIVE_LOGIT:
            L_hi, r_hi, w_hi, L_lo, r_lo, w_lo = threshold_loss(kind, m[i], hi[i] - eta[i], lo[i] - eta[i])
            by_hi[i] = times[i] * (L_hi + 0.5 * leverage[i] * w_hi - moved * r_hi)
            by_lo[i] = times[i] * (L_lo + 0.5 * leverage[i] * w_lo - moved * r_lo)
        slope = r[i] + bend[i] - w[i] * moved
        for a in range(K):
            j = cols[i, a]
            spread[i, a] = times[i] * (w[i] * spread[i, a] + slope * u[j] - r[i] * pull[j])
        by_eta[i] = times[i] * slope
    return by_eta, spread, by_hi, by_lo


@dataclass
class Laplace:
    """The objective, its workspace and the mode it starts from.

    Attributes
    ----------
    data : Rows
    layout : Structure
    times : (q,) float array
        How often each column counts.
    u : (q,) float array
        The mode found last: the next search starts there.
    flat : float array
        Factor of H at it.
    collapsed : bool
        Whether any column counts more than once.
    """

    data: Rows
    layout: Structure
    times: Floats
    u: Floats
    flat: Floats
    collapsed: bool

    @classmethod
    def of(cls, data: Rows, layout: Structure, times: Floats) -> Laplace:
        """Make the workspace.

        Parameters
        ----------
        data : Rows
        layout : Structure
        times : (q,) float array

        Returns
        -------
        Laplace
        """
        return cls(data, layout, times, np.zeros(layout.q), np.empty(layout.size), bool((times != 1).any()))

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """Find the mode and evaluate the objective there.

        Parameters
        ----------
        eta0 : (N,) float array
            Linear predictor without random effects.
        zl : (N, K) float array
            Values of ZΛ.
        hi, lo : (N,) float arrays
            Thresholds of each row.

        Returns
        -------
        objective : float
            Infinite where no mode was found.
        eta : (N,) float array
            Linear predictor at the mode.
        """
        d, t = self.data, self.layout
        for u in (self.u.copy(), np.zeros(t.q)):
            rest = (t.cols, t.place, t.start, t.rows, t.s, t.q, self.flat, u, 100)
            found, eta, total = _mode(d.kind, d.y, d.m, eta0, hi, lo, zl, *rest)
            if found:
                self.u = u
                if self.collapsed:
                    total = _total(d.kind, d.y, d.m, eta, hi, lo, d.times, u, self.times)
                return total + 0.5 * log_determinant(int(t.start[t.s]), t.s, t.q, self.flat, self.times), eta
        return np.inf, eta0

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:
        """Derivatives at the mode that :meth:`value` found last.

        Parameters
        ----------
        eta, zl, hi, lo
            As there; `eta` as it returned it.

        Returns
        -------
        Adjoint
        """
        d, t = self.data, self.layout
        inverse = invert(t.start, t.rows, t.s, t.q, self.flat)
        rest = (t.cols, t.place, t.start, t.rows, t.s, t.q, self.flat, inverse, self.u, d.times)
        return Adjoint(*_adjoint(d.kind, d.y, d.m, eta, hi, lo, zl, *rest))


@njit(cache=True)
def _total(
    kind: int, y: Floats, m: Floats, eta: Floats, hi: Floats, lo: Floats, times: Floats, u: Floats, often: Floats
) -> float:
    total = 0.0
    for j in range(len(u)):
        total += 0.5 * often[j] * u[j] * u[j]
    for i in range(len(y)):
        total += times[i] * loss(kind, y[i], m[i], eta[i], hi[i], lo[i])[0]
    return total
