"""Laplace approximation of a mixed model's likelihood, with its gradient by implicit differentiation of the mode.

u ~ N(0, I) are the spherical random effects and ZΛ their design. With the loss L of the data, the objective is

    L(û) + û'û / 2 + log |H| / 2,    H = Λ'Z'WZΛ + I,

where û minimises the first two terms and W holds the observed second derivatives (not their expectation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgestats.kernels.elimination import Structure, factorise, gather, invert, log_determinant, solve_many
from judgestats.kernels.likelihoods import FAMILIES, derivatives, has_thresholds, losses, threshold_derivatives
from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class LikelihoodRows:
    """The data as the likelihood sees them. N rows, p fixed effects, K columns of random effects a row."""

    kind: int  # family and link, as in :mod:`judgestats.kernels.likelihoods`
    y: Floats  # y, m (N,): successes and trials, or sums and numbers of rows
    m: Floats
    X: Floats  # (N, p)
    offset: Floats  # (N,)
    z: Floats  # (N, K): values of the random terms
    times: Floats  # (N,): how often each row counts (equal groups collapsed); 1 otherwise
    # category, part (N,): category of a cumulative response, and which set of thresholds it uses
    category: Ints
    part: Ints


@dataclass(frozen=True)
class Adjoint:
    """Derivatives of the objective, row by row, still to be summed against the designs."""

    eta: Floats  # (N,): by the linear predictor
    scale: Floats  # (N, K): by the values of ZΛ in each column of a row
    hi: Floats  # hi, lo (N,): by the thresholds
    lo: Floats


@dataclass
class Laplace:
    """The objective, its workspace and the mode it starts from."""

    data: LikelihoodRows
    layout: Structure
    times: Floats  # (q,): how often each column counts
    u: Floats  # (q,): the mode found last: the next search starts there
    flat: Floats  # factor of H at it
    cols: Ints  # (K, N): columns that each row touches, side by side in memory
    collapsed: bool  # whether any column counts more than once

    @classmethod
    def of(cls, data: LikelihoodRows, layout: Structure, times: Floats) -> Laplace:
        """Make the workspace."""
        cols = np.ascontiguousarray(layout.cols.T)
        return cls(data, layout, times, np.zeros(layout.q), np.empty(layout.size), cols, bool((times != 1).any()))

    def _spread(self, zl: Floats, u: Floats) -> Floats:
        """ZΛu; zl here and below with its rows and columns exchanged, (K, N)."""
        result = np.zeros(len(self.data.y))
        for column, c in zip(zl, self.cols, strict=True):
            result += column * u[c]
        return result

    def _sum(self, zl: Floats, by_row: Floats) -> Floats:
        """Λ'Z' times a value of each row."""
        result = np.zeros(self.layout.q)
        for column, c in zip(zl, self.cols, strict=True):
            result += np.bincount(c, column * by_row, minlength=self.layout.q)
        return result

    def _penalised(
        self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats, u: Floats
    ) -> tuple[float, Floats, Floats, Floats]:
        """Penalised loss at u, its gradient by u, the linear predictor, and second derivatives of the rows."""
        d = self.data
        eta = eta0 + self._spread(zl, u)
        value, r, w = losses(d.kind, d.y, d.m, eta, hi, lo)
        return float(value.sum() + 0.5 * (u @ u)), u + self._sum(zl, r), eta, w

    def _mode(
        self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats, u: Floats, most: int = 100
    ) -> tuple[bool, Floats, Floats, float]:
        """Newton's method for û, which is returned; the factor of H at û is left in flat."""
        total, gradient, eta, w = self._penalised(eta0, zl, hi, lo, u)
        settled = False
        for _ in range(most):
            gather(self.layout, zl.T, w, self.flat)
            if not factorise(self.layout, self.flat):
                return False, u, eta, total
            if settled:
                break
            step = solve_many(self.layout, self.flat, gradient)
            gain = float(step @ gradient)
            if not np.isfinite(gain):
                return False, u, eta, total
            if gain < 1e-18 * (1.0 + abs(total)):
                break
            size, before, start = 1.0, total, u
            for _ in range(30):
                u = start - size * step
                total, gradient, eta, w = self._penalised(eta0, zl, hi, lo, u)
                if total <= before + 1e-10 * (1.0 + abs(before)):
                    break
                size *= 0.5
            # a Newton step from so near lands within rounding of the mode
            settled = gain < 1e-9 and size == 1.0
        return True, u, eta, total

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """The objective at the mode, infinite where none was found, and the linear predictor there; `zl` (N, K): ZΛ."""
        d, t = self.data, self.layout
        transposed = np.ascontiguousarray(zl.T)
        for start in (self.u, np.zeros(t.q)):
            converged, u, eta, total = self._mode(eta0, transposed, hi, lo, start)
            if converged:
                self.u = u
                if self.collapsed:
                    total = float(d.times @ losses(d.kind, d.y, d.m, eta, hi, lo)[0] + 0.5 * (self.times @ u**2))
                return total + 0.5 * log_determinant(t, self.flat, self.times), eta
        return np.inf, eta0

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:
        """Derivatives at the mode that :meth:`value` found last, with the `eta` that it returned."""
        d, t, u = self.data, self.layout, self.u
        transposed = np.ascontiguousarray(zl.T)
        inverse, spread, p = invert(t, self.flat), np.zeros_like(transposed), 0
        for a in range(len(transposed)):
            for b in range(a + 1):
                entry = inverse[t.place[:, p]]
                spread[a] += entry * transposed[b]
                if b < a:
                    spread[b] += entry * transposed[a]
                p += 1
        leverage = np.einsum("an,an->n", spread, transposed)
        _, r, w, w1 = derivatives(d.kind, d.y, d.m, eta, hi, lo)
        bend = 0.5 * leverage * w1
        pull = solve_many(t, self.flat, self._sum(transposed, bend))
        moved = self._spread(transposed, pull)
        by_hi = by_lo = np.zeros(len(d.y))
        if has_thresholds(FAMILIES[d.kind]):
            L_hi, r_hi, w_hi, L_lo, r_lo, w_lo = threshold_derivatives(d.kind, d.y, d.m, eta, hi, lo)
            by_hi = d.times * (L_hi + 0.5 * leverage * w_hi - moved * r_hi)
            by_lo = d.times * (L_lo + 0.5 * leverage * w_lo - moved * r_lo)
        slope = r + bend - w * moved
        for own, c in zip(spread, self.cols, strict=True):
            own *= w
            own += slope * u[c]
            own -= r * pull[c]
            own *= d.times
        return Adjoint(d.times * slope, spread.T, by_hi, by_lo)
