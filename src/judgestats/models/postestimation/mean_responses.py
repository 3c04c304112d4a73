"""A fit at rows: linear predictors, mean responses, and their derivatives by all parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import SchemaError
from judgestats.models.designs import Design
from judgestats.models.fitted_models import Fitted
from judgestats.models.formula import coder
from judgestats.models.links import LINKS, class_averages
from judgestats.typing import Floats, Ints, Mask

#: (G, M) weights of rows in sums of them, an array or a sparse matrix.
Pool: TypeAlias = Any


@dataclass(frozen=True)
class CodedRows:
    """M rows, coded."""

    X: Floats  # (M, p); η of a nominal model has a column of each class but the baseline
    offset: Floats  # (M,)
    zs: tuple[Floats, ...]  # (M, k): for each random term
    codes: tuple[Ints, ...]  # (M,): level of each row, -1 for a new one
    part: Ints  # (M,): set of thresholds

    def eta(self, fit: Fitted) -> Floats:
        """(M,) linear predictor, random effects at 0; (M, J - 1) of a nominal model."""
        return linear_predictor(fit, self, fit.beta)

    def variance(self, fit: Fitted) -> Floats:
        """(M,) variance of z'b; (M, J - 1, J - 1) covariance of a nominal model."""
        K = fit.model.predictors
        result = np.zeros((len(self.X), K, K))
        for z, L in zip(self.zs, fit.factors(), strict=True):
            load = np.tensordot(loads(z, K), L, axes=1)
            result += np.einsum("mkd,mld->mkl", load, load)
        return result if fit.distribution.per_class else result[:, 0, 0]


@dataclass(frozen=True)
class Mean:
    """Mean responses of M rows: one, or the probability of each of J categories."""

    # value, by_eta, by_variance (M, J): the mean, and its derivatives by η and by the variance of the random effects;
    # by_eta (M, J, J - 1) and by_variance (M, J, J - 1, J - 1) of a nominal model
    value: Floats
    by_eta: Floats
    by_variance: Floats
    by_cut: Floats  # (M, J, T): by the threshold parameters


def loads(z: Floats, K: int) -> Floats:
    """(M, K, K k): what the effects of a term are multiplied with in each linear predictor; `z` (M, k) its values."""
    return np.asarray(np.kron(np.eye(K), z[:, None]), np.float64)


def by_class(slope: Floats, z: Floats) -> Floats:
    """(M, K k): weights of coefficients of `z` (M, k) in a function with derivatives (M, K) by K linear predictors."""
    return np.asarray((slope[:, :, None] * z[:, None]).reshape(len(z), slope.shape[1] * z.shape[1]), np.float64)


def linear_predictor(fit: Fitted, rows: CodedRows, beta: Floats, effects: Sequence[Floats] = ()) -> Floats:
    """(M,) η, (M, J - 1) of a nominal model, at fixed effects and random effects (levels, k); 0 for new levels."""
    K = fit.model.predictors
    eta = rows.X @ beta.reshape(K, rows.X.shape[1]).T + rows.offset[:, None]
    for z, code, b in zip(rows.zs, rows.codes, effects, strict=bool(effects)):
        eta = eta + np.where(code[:, None] >= 0, np.einsum("mkd,md->mk", loads(z, K), b[code]), 0.0)
    return np.asarray(eta if fit.distribution.per_class else eta[:, 0], np.float64)


def table_of(data: IntoFrame) -> pd.DataFrame:
    """The rows of a table in any engine as a pandas frame, numbered from 0."""
    try:
        frame = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    except TypeError as error:
        raise SchemaError(
            f"data is no table, got {type(data).__name__}. Give a frame: pandas, Polars, Arrow, DuckDB, Spark."
        ) from error
    result: pd.DataFrame = frame.reset_index(drop=True)
    return result


def rows_of(fit: Fitted, frame: pd.DataFrame | None = None, *, groups: bool = True) -> CodedRows:
    """Code new rows for a fit, or those of its design; without `groups` the grouping factors may be absent."""
    d = fit.design
    if frame is None:
        part = fit.parts
        return CodedRows(d.X, d.offset, tuple(t.values for t in d.terms), tuple(t.codes for t in d.terms), part)
    if groups:
        X, offset, zs, codes = d.new(frame)
    else:
        X, offset = d.fixed.coder.matrix(frame), d.fixed.coder.offset(frame)
        zs, codes = [t.coder.matrix(frame) for t in d.terms], [np.full(len(frame), -1) for _ in d.terms]
    return CodedRows(X, offset, tuple(zs), tuple(codes), parts(fit, frame))


def parted(fit: Fitted) -> tuple[str, ...]:
    """Columns over which thresholds vary."""
    partition = fit.model.partition
    return () if partition is None else tuple(dict.fromkeys(partition.columns.values()))


def parts(fit: Fitted, frame: pd.DataFrame) -> Ints:
    """Set of thresholds of new rows."""
    partition = fit.model.partition
    return np.zeros(len(frame), np.int64) if partition is None else partition.codes(frame)


def mean(fit: Fitted, rows: CodedRows, eta: Floats, variance: Floats) -> Mean:
    """Mean responses over normal linear predictors (M,); of `rows` only the sets of thresholds are read."""
    if not fit.design.categories:
        value, by_eta, by_variance = LINKS[fit.link].average(eta, variance)
        unmoved = np.zeros((len(eta), 1, len(fit.thresholds.names)))
        return Mean(value[:, None], by_eta[:, None], by_variance[:, None], unmoved)
    if fit.distribution.per_class:
        p, by_eta, by_variance = class_averages(eta, variance)
        return Mean(p, by_eta, by_variance, np.zeros((*p.shape, 0)))
    shape = fit.thresholds.map[rows.part]  # (M, J - 1, T)
    M, inner, T = shape.shape
    cuts = fit.thresholds.at(fit.tau)[rows.part]
    below = LINKS[fit.link].average((cuts - eta[:, None]).ravel(), np.repeat(variance, inner))
    value, slope, bend = (np.reshape(b, (M, inner)) for b in below)
    edge, none = np.zeros((M, 1)), np.zeros((M, 1, T))
    return Mean(
        np.diff(np.concatenate([edge, value, edge + 1], axis=1), axis=1),
        -np.diff(np.concatenate([edge, slope, edge], axis=1), axis=1),
        np.diff(np.concatenate([edge, bend, edge], axis=1), axis=1),
        np.diff(np.concatenate([none, slope[:, :, None] * shape, none], axis=1), axis=1),
    )


def gradient(fit: Fitted, rows: CodedRows, responses: Mean, pool: Pool | None = None) -> Floats:
    """Derivatives (M, J, P) of mean responses by all parameters, or (G, J, P) of sums by weights (G, M)."""
    spreads = variance_gradient(fit, rows)
    M, K, width = len(rows.X), fit.model.predictors, rows.X.shape[1]
    p, t, q = K * width, responses.by_cut.shape[2], spreads.shape[1]
    count, J = (M if pool is None else pool.shape[0]), responses.value.shape[1]
    result = np.zeros((count, J, len(fit.params)))
    for j in range(J):
        own = np.concatenate(
            [
                by_class(responses.by_eta[:, j].reshape(M, K), rows.X),
                responses.by_cut[:, j],
                np.einsum("mkl,mtkl->mt", responses.by_variance[:, j].reshape(M, K, K), spreads),
            ],
            axis=1,
        )
        result[:, j, : p + t + q] = own if pool is None else pool @ own
    return result


def variance_gradient(fit: Fitted, rows: CodedRows) -> Floats:
    """Derivatives (M, T, K, K) of the covariance of z'b in K linear predictors by θ."""
    K, halves = fit.model.predictors, []
    for z, L in zip(rows.zs, fit.factors(), strict=True):
        load = np.tensordot(Z := loads(z, K), L, axes=1)
        halves += [Z[:, :, None, a] * load[:, None, :, b] for b in range(len(L)) for a in range(b, len(L))]
    half = np.stack(halves, axis=1) if halves else np.zeros((len(rows.X), 0, K, K))
    return np.asarray(half + half.swapaxes(2, 3), np.float64)


def estimable(design: Design, frame: pd.DataFrame, pool: Pool | None = None) -> Mask:
    """Whether rows, or sums of them by weights (G, M), are estimable where columns of the design were left out."""
    count = len(frame) if pool is None else pool.shape[0]
    if not design.fixed.aliased:
        return np.ones(count, bool)
    whole = coder(design.formula.fixed, design.frame, design.formula.source, design.count)
    X, new = whole.matrix(design.frame), whole.matrix(frame)
    _, size, turn = np.linalg.svd(X, full_matrices=False)
    space = turn[size > 1e-9 * size[0]]
    new = new if pool is None else pool @ new
    rest = np.abs(new - new @ space.T @ space).max(axis=1)
    return np.asarray(rest < 1e-6 * np.maximum(np.abs(new).max(axis=1), 1.0))
