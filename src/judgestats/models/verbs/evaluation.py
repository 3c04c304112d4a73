"""A fit at rows: linear predictors, mean responses, and their derivatives by all parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import SchemaError
from judgestats.models.designs import Design
from judgestats.models.fitted import Fitted
from judgestats.models.formula import coder
from judgestats.models.verbs.averaging import averaged

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """M rows, coded.

    Attributes
    ----------
    X : (M, p) float array
    offset : (M,) float array
    zs : tuple of (M, k) float arrays
        For each random term.
    codes : tuple of (M,) int arrays
        Level of each row, -1 for a new one.
    part : (M,) int array
        Set of thresholds.
    """

    X: Floats
    offset: Floats
    zs: tuple[Floats, ...]
    codes: tuple[Ints, ...]
    part: Ints

    def eta(self, fit: Fitted) -> Floats:
        """(M,) linear predictor, random effects at 0."""
        result: Floats = self.X @ fit.beta + self.offset
        return result

    def variance(self, fit: Fitted) -> Floats:
        """(M,) variance of z'b."""
        loads = zip(self.zs, fit.factors(), strict=True)
        return sum((((z @ L) ** 2).sum(axis=1) for z, L in loads), np.zeros(len(self.X)))


@dataclass(frozen=True)
class Mean:
    """Mean responses of M rows: one, or the probability of each of J categories.

    Attributes
    ----------
    value, by_eta, by_variance : (M, J) float arrays
        And derivatives by the linear predictor and by the variance of the random effects.
    by_cut : (M, J, T) float array
        By the threshold parameters.
    """

    value: Floats
    by_eta: Floats
    by_variance: Floats
    by_cut: Floats


def table_of(data: Any) -> pd.DataFrame:
    """Return the rows of a table in any engine as a pandas frame, numbered from 0.

    Raises
    ------
    SchemaError
        If it is no table.
    """
    try:
        frame = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    except TypeError as error:
        raise SchemaError(
            f"data is no table, got {type(data).__name__}. Give a frame: pandas, Polars, Arrow, DuckDB, Spark."
        ) from error
    result: pd.DataFrame = frame.reset_index(drop=True)
    return result


def rows_of(fit: Fitted, frame: pd.DataFrame | None = None, *, groups: bool = True) -> Rows:
    """Code rows for a fit.

    Parameters
    ----------
    fit : Fitted
    frame : pandas.DataFrame, optional
        New rows; without it those of the design.
    groups : bool
        Whether the levels of the grouping factors matter; where not, their columns may be absent.

    Returns
    -------
    Rows
    """
    d = fit.design
    if frame is None:
        part = fit.part if len(fit.part) else np.zeros(len(d.X), np.int64)
        return Rows(d.X, d.offset, tuple(t.values for t in d.terms), tuple(t.codes for t in d.terms), part)
    if groups:
        X, offset, zs, codes = d.new(frame)
    else:
        X, offset = d.fixed.matrix(frame), d.fixed.offset(frame)
        zs, codes = [left.matrix(frame) for left in d.lefts], [np.full(len(frame), -1) for _ in d.terms]
    return Rows(X, offset, tuple(zs), tuple(codes), parts(fit, frame))


def parted(fit: Fitted) -> tuple[str, ...]:
    """Columns over which thresholds vary."""
    partition = fit.options.get("partition")
    return tuple(dict.fromkeys(partition.columns.values())) if partition is not None else ()


def parts(fit: Fitted, frame: pd.DataFrame) -> Ints:
    """Set of thresholds of new rows."""
    partition = fit.options.get("partition")
    result: Ints = np.zeros(len(frame), np.int64) if partition is None else partition.codes(frame)
    return result


def mean(fit: Fitted, rows: Rows, eta: Floats, variance: Floats) -> Mean:
    """Mean responses over normal linear predictors.

    Parameters
    ----------
    fit : Fitted
    rows : Rows
        Of which only the sets of thresholds are read.
    eta, variance : (M,) float arrays

    Returns
    -------
    Mean
    """
    if not fit.design.categories:
        value, by_eta, by_variance = averaged(fit.link, eta, variance)
        return Mean(value[:, None], by_eta[:, None], by_variance[:, None], np.zeros((len(eta), 1, 0)))
    shape = fit.thresholds.map[rows.part]  # (M, J - 1, T)
    M, inner, T = shape.shape
    cuts = fit.thresholds.at(fit.tau)[rows.part]
    below = averaged(fit.link, (cuts - eta[:, None]).ravel(), np.repeat(variance, inner))
    value, slope, bend = (np.reshape(b, (M, inner)) for b in below)
    edge, none = np.zeros((M, 1)), np.zeros((M, 1, T))
    return Mean(
        np.diff(np.concatenate([edge, value, edge + 1], axis=1), axis=1),
        -np.diff(np.concatenate([edge, slope, edge], axis=1), axis=1),
        np.diff(np.concatenate([edge, bend, edge], axis=1), axis=1),
        np.diff(np.concatenate([none, slope[:, :, None] * shape, none], axis=1), axis=1),
    )


def gradient(fit: Fitted, rows: Rows, found: Mean, pool: Any = None) -> Floats:
    """Derivatives of mean responses by all parameters.

    Parameters
    ----------
    fit : Fitted
    rows : Rows
    found : Mean
        Of these rows, at their own linear predictors and variances.
    pool : (G, M) array or sparse array, optional
        Weights of sums over the rows.

    Returns
    -------
    (M or G, J, P) float array
    """
    spreads = variance_gradient(fit, rows)
    p, t, q = rows.X.shape[1], found.by_cut.shape[2], spreads.shape[1]
    count, J = (len(rows.X) if pool is None else pool.shape[0]), found.value.shape[1]
    result = np.zeros((count, J, len(fit.params)))
    for j in range(J):
        own = np.concatenate(
            [found.by_eta[:, j, None] * rows.X, found.by_cut[:, j], found.by_variance[:, j, None] * spreads], axis=1
        )
        result[:, j, : p + t + q] = own if pool is None else pool @ own
    return result


def variance_gradient(fit: Fitted, rows: Rows) -> Floats:
    """Derivatives of the variance of z'b by θ.

    Returns
    -------
    (M, T) float array
    """
    result = [np.zeros((len(rows.X), 0))]
    for z, L in zip(rows.zs, fit.factors(), strict=True):
        load = z @ L
        result += [2 * z[:, a, None] * load[:, b, None] for b in range(len(L)) for a in range(b, len(L))]
    return np.concatenate(result, axis=1)


def estimable(design: Design, frame: pd.DataFrame, pool: Any = None) -> NDArray[np.bool_]:
    """Whether sums over rows can be told from the data, where columns of the design were left out.

    Parameters
    ----------
    design : Design
    frame : pandas.DataFrame
        M rows.
    pool : (G, M) array, optional
        Weights of sums over the rows.

    Returns
    -------
    (M or G,) bool array
    """
    count = len(frame) if pool is None else pool.shape[0]
    if not design.aliased:
        return np.ones(count, bool)
    whole = coder(design.formula.fixed, design.frame, design.formula.source, design.count)
    X, new = whole.matrix(design.frame), whole.matrix(frame)
    _, size, turn = np.linalg.svd(X, full_matrices=False)
    space = turn[size > 1e-9 * size[0]]
    new = new if pool is None else pool @ new
    rest = np.abs(new - new @ space.T @ space).max(axis=1)
    return np.asarray(rest < 1e-6 * np.maximum(np.abs(new).max(axis=1), 1.0))
