"""What the likelihood engine minimises: parameters in, minus the log likelihood and its gradient out.

Parameters are fixed effects β, threshold parameters τ (cumulative models) and θ, the lower Cholesky factors of the
random terms' covariances, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from judgestats.kernels.elimination import Structure, structure
from judgestats.kernels.laplace import Adjoint, Laplace, LikelihoodRows
from judgestats.kernels.likelihoods import apart, between_thresholds
from judgestats.kernels.linear_mixed import Profile, ResponseCells, profile
from judgestats.kernels.quadrature import Quadrature, Trapezoid
from judgestats.models.likelihood.compression import Columns, Compressed
from judgestats.models.likelihood.minimisation import hessian
from judgestats.models.thresholds import Thresholds
from judgestats.typing import Floats, Ints, Mask

#: Distinct rows from which second derivatives are worth the second that compiling them takes once.
MANY = 2_000


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
        result = [np.zeros((*theta.shape[:-1], s, s)) for s in self.sizes]
        for k, (a, b, t) in enumerate(zip(self.column, self.row, self.term, strict=True)):
            result[t][..., a - firsts[t], b - firsts[t]] = theta[..., k]
        return tuple(result)

    def signs(self, theta: Floats) -> Floats:
        """Signs (T,) under which Λ Λ' stays and the diagonal of Λ is not negative."""
        sign = np.where((theta < 0) & self.diagonal, -1.0, 1.0)
        by_column = {int(b): s for b, s in zip(self.row[self.diagonal], sign[self.diagonal], strict=True)}
        return np.array([by_column[int(b)] for b in self.row], np.float64)


@dataclass
class GeneralisedObjective:
    """Minus the log likelihood of a generalised or cumulative mixed model, without its constant."""

    rows: LikelihoodRows
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
        nowhere = np.inf, np.full(len(params), np.nan)
        if (at := self._at(params)) is None:
            return nowhere
        value, eta, zl, hi, lo, slope = at
        if not np.isfinite(value):
            return nowhere
        d, cuts = self.rows, self.thresholds
        by = self.kernel.adjoint(eta, zl, hi, lo)
        by_tau = cuts.gradient(by.hi + slope, by.lo - slope, d.category, d.part) if cuts.names else np.zeros(0)
        return value, np.concatenate([d.X.T @ by.eta, by_tau, self.scales.gradient(d.z, by.scale)])

    def value(self, params: Floats) -> float:
        """Objective without its gradient."""
        return np.inf if (at := self._at(params)) is None else at[0]

    @property
    def exact(self) -> bool:
        """Whether :meth:`hessian` is by derivatives; of the size of a negative binomial distribution there are none."""
        return isinstance(self.kernel, Trapezoid) and self.thresholds.location and len(self.rows.y) >= MANY

    def hessian(self, params: Floats, scale: Floats) -> Floats:
        """Hessian, of a trapezoidal rule with the nodes of the parameters evaluated last; `scale`: for differences."""
        kernel = self.kernel
        if not isinstance(kernel, Trapezoid):
            return hessian(self, params, scale)
        if not self.exact:
            return hessian(replace(self, kernel=kernel.held()), params, scale)
        beta, tau, theta = self.split(params)
        d, cuts, p = self.rows, self.thresholds, len(beta)
        hi, lo, _ = cuts.around(tau, d.category, d.part)
        edges = upper, lower = cuts.designs(d.category, d.part)
        zl = self.scales.spread(d.z, theta)
        by, result = kernel.hessian(d, edges, d.X @ beta + d.offset, zl, hi, lo)
        w, wu, wuu, hi_eta, hi_u, lo_eta, lo_u, product = by
        cross = between_thresholds(d.kind, d.m * d.times, hi, lo, product)

        def of(*by: Floats) -> Floats:
            """Sum of values (N,) times the designs of η, hi, lo and θ."""
            eta, above, below, u = (values[:, None] for values in by)
            return np.hstack([eta * d.X, above * upper + below * lower, u * d.z])

        # a move of both thresholds is one of η the other way
        result[:p] += d.X.T @ of(w, hi_eta, lo_eta, wu)
        result[p:-1] += upper.T @ of(hi_eta, -hi_eta - cross, cross, hi_u)
        result[p:-1] += lower.T @ of(lo_eta, cross, -lo_eta - cross, lo_u)
        result[-1:] += d.z.T @ of(wu, hi_u, lo_u, wuu)
        return (result + result.T) / 2

    def _at(self, params: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats] | None:
        """Objective; η, θ z and thresholds of each row; the slope of what stands apart. None out of order."""
        beta, tau, theta = self.split(params)
        d, cuts = self.rows, self.thresholds
        hi, lo, ordered = cuts.around(tau, d.category, d.part) if cuts.names else (self.nothing, self.nothing, True)
        if not ordered or not np.isfinite(params).all():
            return None
        zl = self.scales.spread(d.z, theta)
        value, eta = self.kernel.value(d.X @ beta + d.offset, zl, hi, lo)
        more, slope = apart(d.kind, d.m * d.times, hi, lo) if cuts.names else (self.nothing, self.nothing)
        return float(value + more.sum()), eta, zl, hi, lo, slope


@dataclass
class LinearObjective:
    """Minus the log likelihood of a linear mixed model by θ alone, relative to the residual sd."""

    cells: ResponseCells
    layout: Structure
    scales: Scales
    reml: bool

    def at(self, theta: Floats) -> Profile:
        """The profile at θ."""
        return profile(self.cells, self.layout, self.scales.spread(self.cells.z, theta), self.reml)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Objective and gradient."""
        at = self.at(theta)
        return at.objective, self.scales.gradient(self.cells.z, at.scale)


def rows_of(table: Compressed, kind: int) -> LikelihoodRows:
    """The compressed table as the kernels take it."""
    X, z = np.ascontiguousarray(table.X), np.ascontiguousarray(table.columns.z)
    return LikelihoodRows(kind, table.y, table.m, X, table.offset, z, table.times, table.category, table.part)


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
    cells = ResponseCells(mean, table.m, X, z, n, within, log_weight)
    return LinearObjective(cells, layout_of(table.columns), Scales.of(table.columns.sizes), reml)
