"""What the likelihood engine minimises: parameters in, minus the log likelihood and its gradient out.

Parameters are fixed effects β, threshold parameters τ (cumulative models) and θ, the lower Cholesky factors of the
random terms' covariances, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.elimination import Structure, factorise, gather, invert, solve_many, structure
from judgestats.kernels.laplace import Adjoint, Laplace, Rows
from judgestats.kernels.likelihoods import (
    BINOMIAL_LOGIT,
    BINOMIAL_PROBIT,
    CUMULATIVE_LOGIT,
    CUMULATIVE_PROBIT,
    POISSON_LOG,
    losses,
)
from judgestats.kernels.linear_mixed import Cells, Profile, cross, profile
from judgestats.kernels.quadrature import Quadrature
from judgestats.models.compression import Columns, Compressed
from judgestats.models.thresholds import Thresholds

Floats = NDArray[np.float64]

#: Family and link -> number in the kernels.
KINDS = {
    ("binomial", "logit"): BINOMIAL_LOGIT,
    ("binomial", "probit"): BINOMIAL_PROBIT,
    ("poisson", "log"): POISSON_LOG,
    ("cumulative", "logit"): CUMULATIVE_LOGIT,
    ("cumulative", "probit"): CUMULATIVE_PROBIT,
}


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
    """Where θ stands in Λ.

    Attributes
    ----------
    sizes : tuple of int
        Columns of each term.
    column, row : (T,) int arrays
        Of each element of θ: which column of z it multiplies, and to which column of ZΛ the product is added.
    diagonal : (T,) bool array
        Elements that are standard deviations or their Cholesky counterpart, so not negative.
    term : (T,) int array
        The term that each belongs to.
    """

    sizes: tuple[int, ...]
    column: NDArray[np.int64]
    row: NDArray[np.int64]
    diagonal: NDArray[np.bool_]
    term: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> Scales:
        """Lay θ out.

        Parameters
        ----------
        sizes : tuple of int

        Returns
        -------
        Scales
        """
        places, first = [], 0
        for t, size in enumerate(sizes):
            places += [(first + a, first + b, a == b, t) for b in range(size) for a in range(b, size)]
            first += size
        column, row, diagonal, term = (np.array([p[i] for p in places], np.int64) for i in range(4))
        return cls(sizes, column, row, diagonal.astype(bool), term)

    def spread(self, z: Floats, theta: Floats) -> Floats:
        """ZΛ, row by row.

        Parameters
        ----------
        z : (N, K) float array
        theta : (T,) float array

        Returns
        -------
        (N, K) float array
        """
        result = np.zeros_like(z)
        for value, a, b in zip(theta, self.column, self.row, strict=True):
            result[:, b] += value * z[:, a]
        return result

    def gradient(self, z: Floats, by_scale: Floats) -> Floats:
        """Turn derivatives by ZΛ into derivatives by θ.

        Parameters
        ----------
        z, by_scale : (N, K) float arrays

        Returns
        -------
        (T,) float array
        """
        result: Floats = (z.T @ by_scale)[self.column, self.row]
        return result

    def factors(self, theta: Floats) -> tuple[Floats, ...]:
        """Lower Cholesky factor of each term.

        Parameters
        ----------
        theta : (T,) float array

        Returns
        -------
        tuple of (k, k) float arrays
        """
        firsts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        result = tuple(np.zeros((s, s)) for s in self.sizes)
        for value, a, b, t in zip(theta, self.column, self.row, self.term, strict=True):
            result[t][a - firsts[t], b - firsts[t]] = value
        return result

    def upright(self, theta: Floats) -> Floats:
        """The same Λ Λ' with a diagonal that is not negative.

        Parameters
        ----------
        theta : (T,) float array

        Returns
        -------
        (T,) float array
        """
        sign = np.where((theta < 0) & self.diagonal, -1.0, 1.0)
        by_column = {int(b): s for b, s in zip(self.row[self.diagonal], sign[self.diagonal], strict=True)}
        return np.asarray(theta * np.array([by_column[int(b)] for b in self.row]), np.float64)


@dataclass
class GeneralisedObjective:
    """Minus the log likelihood of a generalised or cumulative mixed model, without its constant.

    Attributes
    ----------
    rows : Rows
    kernel : Approximation
        Laplace or quadrature.
    scales : Scales
    thresholds : Thresholds
    """

    rows: Rows
    kernel: Approximation
    scales: Scales
    thresholds: Thresholds

    def split(self, params: Floats) -> tuple[Floats, Floats, Floats]:
        """Fixed effects, threshold parameters, θ."""
        p, t = self.rows.X.shape[1], len(self.thresholds.names)
        return params[:p], params[p : p + t], params[p + t :]

    def __call__(self, params: Floats) -> tuple[float, Floats]:
        """Objective and gradient; infinite where thresholds are out of order."""
        beta, tau, theta = self.split(params)
        d = self.rows
        hi, lo, ordered = self.thresholds.around(tau, d.category, d.part)
        if not ordered or not np.isfinite(params).all():
            return np.inf, np.full(len(params), np.nan)
        zl = self.scales.spread(d.z, theta)
        value, eta = self.kernel.value(d.X @ beta + d.offset, zl, hi, lo)
        if not np.isfinite(value):
            return np.inf, np.full(len(params), np.nan)
        by = self.kernel.adjoint(eta, zl, hi, lo)
        by_tau = self.thresholds.gradient(by.hi, by.lo, d.category, d.part)
        return value, np.concatenate([d.X.T @ by.eta, by_tau, self.scales.gradient(d.z, by.scale)])


@dataclass
class LinearObjective:
    """Minus the log likelihood of a linear mixed model by θ alone, relative to the residual sd.

    Attributes
    ----------
    cells : Cells
    layout : Structure
    scales : Scales
    reml : bool
    """

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
    """The compressed table as the kernels take it.

    Parameters
    ----------
    table : Compressed
    kind : int

    Returns
    -------
    Rows
    """
    X, z = np.ascontiguousarray(table.X), np.ascontiguousarray(table.columns.z)
    return Rows(kind, table.y, table.m, X, table.offset, z, table.times, table.category, table.part)


def layout_of(own: Columns) -> Structure:
    """Elimination structure of the random effects.

    Parameters
    ----------
    own : Columns

    Returns
    -------
    Structure
    """
    return structure(np.ascontiguousarray(own.cols), own.blocks)


def laplace(table: Compressed, kind: int, thresholds: Thresholds) -> GeneralisedObjective:
    """Laplace objective for any random terms.

    Parameters
    ----------
    table : Compressed
    kind : int
    thresholds : Thresholds

    Returns
    -------
    GeneralisedObjective
    """
    rows = rows_of(table, kind)
    kernel = Laplace.of(rows, layout_of(table.columns), table.often)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def quadrature(table: Compressed, kind: int, thresholds: Thresholds, n: int) -> GeneralisedObjective:
    """Adaptive Gauss-Hermite objective; the design has one scalar term.

    Parameters
    ----------
    table : Compressed
    kind : int
    thresholds : Thresholds
    n : int
        Nodes.

    Returns
    -------
    GeneralisedObjective
    """
    rows = rows_of(table, kind)
    start = np.searchsorted(table.columns.cols[:, 0], np.arange(int(table.columns.blocks[-1]) + 1))
    kernel = Quadrature.of(rows, start.astype(np.int64), table.often, n)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def linear(table: Compressed, n: float, log_weight: float, reml: bool) -> LinearObjective:
    """Objective of a linear mixed model.

    Parameters
    ----------
    table : Compressed
        Groups not collapsed.
    n : float
        Rows of data.
    log_weight : float
        Sum over rows of the log of their weight.
    reml : bool

    Returns
    -------
    LinearObjective
    """
    mean = table.y / table.m - table.offset
    within = float((table.squares - table.y**2 / table.m).clip(0).sum())
    X, z = np.ascontiguousarray(table.X), np.ascontiguousarray(table.columns.z)
    cells = Cells(mean, table.m, X, z, n, within, log_weight)
    return LinearObjective(cells, layout_of(table.columns), Scales.of(table.columns.sizes), reml)


def fixed_start(rows: Rows, thresholds: Thresholds) -> tuple[Floats, Floats]:
    """Fixed effects and thresholds of the model without random effects, roughly.

    Parameters
    ----------
    rows : Rows
    thresholds : Thresholds

    Returns
    -------
    beta : (p,) float array
    tau : (t,) float array
    """
    tau = thresholds.start(rows.category, rows.part, rows.m * rows.times)
    hi, lo, _ = thresholds.around(tau, rows.category, rows.part)
    beta = np.zeros(rows.X.shape[1])
    if rows.kind == POISSON_LOG:
        level = np.log((rows.times @ rows.y + 0.1) / (rows.times @ (rows.m * np.exp(rows.offset))))
        beta = np.linalg.lstsq(rows.X, np.full(len(rows.y), level), rcond=None)[0]
    total = np.inf
    for _ in range(12):
        value, r, w = losses(rows.kind, rows.y, rows.m, rows.X @ beta + rows.offset, hi, lo)
        total, before = float(rows.times @ value), total
        information = (rows.X * (rows.times * w)[:, None]).T @ rows.X
        step = np.linalg.lstsq(information, rows.X.T @ (rows.times * r), rcond=None)[0]
        beta = beta - np.clip(step, -3, 3)
        if abs(before - total) < 1e-3:
            break
    return np.clip(beta, -20, 20), tau


def first_guess(objective: GeneralisedObjective, table: Compressed, params: Floats) -> Floats:
    """First guess of the inverse Hessian: the information that the random effects leave.

    For β it is X'WX less what Λ'Z'WX takes of it; for a standard deviation, twice the sum over its levels of the
    squared share of their variance that the data explain (exact for a balanced Gaussian design).

    Parameters
    ----------
    objective : GeneralisedObjective
    table : Compressed
    params : (P,) float array

    Returns
    -------
    (P, P) float array
    """
    d, (beta, tau, theta) = objective.rows, objective.split(params)
    p, t = len(beta), len(tau)
    hi, lo, _ = objective.thresholds.around(tau, d.category, d.part)
    zl, eta = objective.scales.spread(d.z, theta), d.X @ beta + d.offset
    _, _, w = losses(d.kind, d.y, d.m, eta, hi, lo)
    layout = objective.kernel.layout if isinstance(objective.kernel, Laplace) else layout_of(table.columns)
    flat = np.empty(layout.size)
    gather(layout.place, zl, w, int(layout.start[layout.s]), layout.s, layout.q, flat)
    factorise(layout.start, layout.rows, layout.s, layout.q, flat)
    B = cross(zl, w, layout.cols, d.X, layout.q)
    left = B * table.often[:, None]
    taken = left.T @ solve_many(layout.start, layout.rows, layout.s, layout.q, flat, B)
    result = np.zeros((len(params), len(params)))
    result[:p, :p] = np.linalg.pinv((d.X * (w * d.times)[:, None]).T @ d.X - taken)
    n = max(float((d.m * d.times).sum()), 1.0)
    result[range(p, p + t), range(p, p + t)] = 10.0 / n
    told = _told(table, layout, flat)
    for c, (a, b, size) in enumerate(zip(objective.scales.column, objective.scales.row, theta, strict=True)):
        information = 2 * (table.often[told[0][a]] * told[1][a] * told[1][b]).sum()
        scale = max(abs(size), 0.3)
        result[p + t + c, p + t + c] = scale**2 / max(float(information), 1.0)
    return result


def _told(table: Compressed, layout: Structure, flat: Floats) -> tuple[list[Any], list[Floats]]:
    """For each column of z: its columns in H, and the share of each one's variance that the data explain."""
    inverse = invert(layout.start, layout.rows, layout.s, layout.q, flat)
    entries, tail = int(layout.start[layout.s]), layout.q - layout.s
    diagonal = np.append(inverse[entries : entries + layout.s], inverse[entries + layout.s :][:: tail + 1])
    own = [table.columns.of(t, c) for t, size in enumerate(table.columns.sizes) for c in range(size)]
    return own, [1 - diagonal[j] for j in own]
