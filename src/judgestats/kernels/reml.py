"""Restricted likelihood of variance components: an intercept and any crossed or nested factors, profiled and dense.

With V = I + Σ λ_f Z_f Z_f' (λ_f: variance of factor f over that of the residual) the factor with most levels is
eliminated by hand, because its cross-product is diagonal. What is left has the size of the other factors, however many
rows or subjects there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CrossProducts:
    """All that the likelihood needs of the data. m = levels of the factors but the largest, and 2.

    Attributes
    ----------
    table : (m, m) float array
        Cross-products of [indicators of the other factors, 1, y]; y is centred, and scaled by its sd.
    eliminated : (D, m, m) float array
        For each number of rows that a level of the largest factor has: the sum over such levels of the outer
        products of their totals.
    rows, levels : (D,) float arrays
        Those numbers of rows, and how many levels have them.
    block : (m - 2,) int array
        Factor of each row of the table.
    largest : int
        The factor that is eliminated.
    n, scale : float
        Rows, and the sd that y was divided by.
    gram : (F + 1, F + 1) float array
        tr(Q Z_f Z_f' Q Z_g Z_g') with Q the centring matrix, the residual last, normalised to a diagonal of 1. It is
        singular where the components are not told apart.
    traces : (F + 1,) float array
        Its diagonal before that.
    squares : (F,) float array
        Sum of the squared totals of y, over the levels of each factor.
    """

    table: Floats
    eliminated: Floats
    rows: Floats
    levels: Floats
    block: NDArray[np.int64]
    largest: int
    n: float
    scale: float
    gram: Floats
    traces: Floats
    squares: Floats


@dataclass(frozen=True)
class Likelihood:
    """Restricted likelihood at given ratios, the residual variance and the intercept profiled out.

    Attributes
    ----------
    criterion : float
        Minus twice the log likelihood, as lme4's REML criterion.
    gradient : (F,) float array
        Its derivative by each ratio.
    residual : float
        Residual variance, on the scale of y.
    slope : (F,) float array
        Derivative of the log of the residual variance by each ratio.
    """

    criterion: float
    gradient: Floats
    residual: float
    slope: Floats


def cross_products(y: Floats, codes: Sequence[NDArray[Any]]) -> CrossProducts:
    """Reduce the data.

    Parameters
    ----------
    y : (N,) float array
        Without NaN.
    codes : sequence of (N,) int arrays
        Level of each row in each factor, 0 to q_f - 1; an interaction is a factor.
    """
    sizes = [int(c.max()) + 1 for c in codes]
    largest = int(np.argmax(sizes))
    centred = y - y.mean()
    scale = float(centred.std()) or 1.0
    others = [f for f in range(len(codes)) if f != largest]
    offset = np.concatenate([[0], np.cumsum([sizes[f] for f in others], dtype=np.int64)])
    columns = [codes[f] + o for f, o in zip(others, offset, strict=False)]
    q, m = int(offset[-1]), int(offset[-1]) + 2
    given = np.column_stack([np.ones(len(y)), centred / scale])
    table = np.zeros((m, m))
    totals = np.zeros((sizes[largest], m))
    table[q:, q:] = given.T @ given
    totals[:, q:] = _sums(codes[largest], given, sizes[largest])
    for column, f in zip(columns, others, strict=True):
        first = int(offset[others.index(f)])
        table[first : first + sizes[f], q:] = _sums(codes[f], given, sizes[f])
        np.add.at(totals, (codes[largest], column), 1.0)
        for other in columns:
            np.add.at(table, (column, other), 1.0)
    table[q:, :q] = table[:q, q:].T
    number = totals[:, q]
    rows, where = np.unique(number, return_inverse=True)
    parts = [totals[where == i] for i in range(rows.size)]
    eliminated = np.stack([p.T @ p for p in parts])
    block = np.repeat(others, [sizes[f] for f in others]).astype(np.int64)
    gram = _gram(table, totals, block, largest, len(codes), float(len(y)))
    size = np.sqrt(np.diag(gram))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = gram / np.outer(size, size)
    squares = np.array([(np.bincount(c, given[:, 1]) ** 2).sum() for c in codes])
    levels = np.bincount(where).astype(float)
    reduced = (table, eliminated, rows, levels, block, largest, float(len(y)), scale)
    return CrossProducts(*reduced, scaled, size**2, squares)


def _sums(code: NDArray[Any], values: Floats, size: int) -> Floats:
    return np.column_stack([np.bincount(code, v, minlength=size) for v in values.T])


def _gram(table: Floats, totals: Floats, block: Any, largest: int, factors: int, n: float) -> Floats:
    q = len(block)
    count, number = table[q, :q], totals[:, q]
    between = (table[:q, :q] - np.outer(count, count) / n) ** 2
    across = (totals[:, :q] - np.outer(number, count) / n) ** 2
    gram = np.zeros((factors + 1, factors + 1))
    gram[-1, -1] = n - 1
    for f in range(factors):
        mine = block == f
        if f == largest:
            gram[f, f] = (number**2).sum() - 2 * (number**3).sum() / n + (number**2).sum() ** 2 / n**2
            gram[f, -1] = gram[-1, f] = n - (number**2).sum() / n
            continue
        gram[f, -1] = gram[-1, f] = n - (count[mine] ** 2).sum() / n
        gram[f, largest] = gram[largest, f] = across[:, mine].sum()
        for g in range(factors):
            if g != largest:
                gram[f, g] = between[np.ix_(mine, block == g)].sum()
    return gram


def leftover(data: CrossProducts) -> tuple[float, int]:
    """Least squares with every level of every factor: what is left of the squares of y, and its degrees of freedom.

    Returns
    -------
    share : float
        Residual over total sum of squares. 0 with degrees of freedom left: no residual variance, and no likelihood.
    df : int
    """
    q = len(data.block)
    M = data.table - np.tensordot(1 / data.rows, data.eliminated, axes=1)
    size, axes = np.linalg.eigh(M[:q, :q]) if q else (np.zeros(0), np.zeros((0, 0)))
    kept = size > 1e-9 * size.max(initial=0.0)
    fit = ((axes.T @ M[:q, q + 1])[kept] ** 2 / size[kept]).sum()
    share = float((M[q + 1, q + 1] - fit) / data.table[q + 1, q + 1])
    return share, int(data.n - data.levels.sum() - kept.sum())


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def likelihood(data: CrossProducts, ratio: Floats) -> Likelihood:
    """Evaluate the restricted likelihood and its gradient.

    Parameters
    ----------
    data : CrossProducts
    ratio : (F,) float array
        Variance of each factor over the residual variance, 0 or more.

    Returns
    -------
    Likelihood
        NaN or inf where the residual variance is 0.
    """
    n, q, own = data.n, len(data.block), float(ratio[data.largest])
    shrunk = 1 / (own * data.rows + 1)
    M = data.table - np.tensordot(own * shrunk, data.eliminated, axes=1)
    dM = -np.tensordot(shrunk**2, data.eliminated, axes=1)
    root = np.sqrt(ratio[data.block])
    S = np.eye(q) + root[:, None] * M[:q, :q] * root
    try:
        log_det = 2 * np.log(np.diag(np.linalg.cholesky(S))).sum()
        inverse = np.linalg.inv(S)
    except np.linalg.LinAlgError:
        unknown = np.full(len(ratio), np.nan)
        return Likelihood(np.nan, unknown, np.nan, unknown)
    E = root[:, None] * inverse * root
    ends = M[:, q:] - M[:, :q] @ (E @ M[:q, q:])  # [Z 1 y]' V⁻¹ [1 y]
    t, r = ends[q, 0], ends[q, 1] / ends[q, 0]
    squares = ends[q + 1, 1] - r * ends[q, 1]
    logs = -(data.levels * np.log(shrunk)).sum() + log_det + np.log(t)
    criterion = logs + (n - 1) * (1 + np.log(2 * np.pi * squares / (n - 1)) + 2 * np.log(data.scale))
    projected = _diagonal(M[:q, :q], E, np.diag(inverse), ratio[data.block]) - ends[:q, 0] ** 2 / t
    effect = ends[:q, 1] - ends[:q, 0] * r
    mine = data.block[None, :] == np.arange(len(ratio))[:, None]
    gradient, slope = mine @ projected, -(mine @ effect**2)
    basis = np.concatenate([-E @ M[:q, q:], np.eye(2)])  # rows of (I - E M) for the columns 1 and y
    a, b = basis[:, 0], basis[:, 1] - r * basis[:, 0]
    slope[data.largest] = b @ dM @ b
    gradient[data.largest] = (data.levels * data.rows * shrunk).sum() + (E * dM[:q, :q]).sum() + a @ dM @ a / t
    slope = slope / squares
    variance = float(squares / (n - 1) * data.scale**2)
    return Likelihood(float(criterion), gradient + (n - 1) * slope, variance, slope)


def _diagonal(G: Floats, E: Floats, inverse: Floats, ratio: Floats) -> Floats:
    """Diagonal of Z' V⁻¹ Z = G - G E G; where the ratio is not small, (1 - S⁻¹) / λ without the product."""
    small = ratio < 1e-4
    result = (1 - inverse) / np.where(small, 1.0, ratio)
    rows = G[small]
    result[small] = np.diag(G)[small] - np.einsum("ij,ij->i", rows @ E, rows)
    return result


def moments(data: CrossProducts) -> Floats:
    """Ratios by equating the squares of totals with their expectations (MINQUE(0)): where to start.

    Returns
    -------
    ratio : (F,) float array
        Kept within 0.01 and 1000; 1 where the moments do not tell.
    """
    squares = np.append(data.squares, data.table[-1, -1])
    size = np.sqrt(data.traces)
    try:
        variance = np.linalg.solve(data.gram, squares / size) / size
    except np.linalg.LinAlgError:
        return np.ones(len(squares) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.where(variance[-1] > 0, variance[:-1] / variance[-1], 1.0)
    return np.clip(np.nan_to_num(ratio, nan=1.0), 0.01, 1000.0)
