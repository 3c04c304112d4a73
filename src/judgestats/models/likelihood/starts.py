"""Where the search for the maximum starts, and in which coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.elimination import Structure, factorise, gather, invert, solve_many
from judgestats.kernels.laplace import Laplace, Rows
from judgestats.kernels.likelihoods import POISSON_LOG, losses
from judgestats.kernels.linear_mixed import cross
from judgestats.models.likelihood.compression import Compressed
from judgestats.models.likelihood.objectives import GeneralisedObjective, layout_of
from judgestats.models.likelihood.thresholds import Thresholds

Floats = NDArray[np.float64]


def orthogonal(X: Floats, weight: Floats) -> Floats:
    """Coordinates in which the columns of X are orthogonal and of unit size.

    Parameters
    ----------
    X : (N, p) float array
        Of full rank.
    weight : (N,) float array

    Returns
    -------
    (p, p) float array
        T with X T orthonormal; β = T γ.
    """
    R = np.linalg.qr(X * np.sqrt(weight / weight.sum())[:, None], mode="r")
    return np.asarray(np.linalg.inv(R), np.float64) if X.shape[1] else np.zeros((0, 0))


def turned(objective: GeneralisedObjective) -> tuple[GeneralisedObjective, Floats]:
    """The same objective in better coordinates: slopes orthogonal, thresholds at the mean of X.

    Parameters
    ----------
    objective : GeneralisedObjective

    Returns
    -------
    objective : GeneralisedObjective
        Of the new coordinates; it shares the workspace.
    turn : (P, P) float array
        Parameters are `turn` times the new coordinates; variance parameters stay.
    """
    d, cuts = objective.rows, objective.thresholds
    p, t = d.X.shape[1], len(cuts.names)
    weight = d.m * d.times
    middle = weight @ d.X / weight.sum() if t else np.zeros(p)
    T = orthogonal(d.X - middle, weight)
    turn = np.eye(p + t + len(objective.scales.column))
    turn[:p, :p] = T
    if t:  # what moves all thresholds alike
        inner = cuts.map.reshape(-1, t)
        alike = np.linalg.lstsq(inner, np.ones(len(inner)), rcond=None)[0]
        turn[p : p + t, :p] = np.outer(alike, middle @ T)
    return replace(objective, rows=replace(d, X=np.ascontiguousarray((d.X - middle) @ T))), turn


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
        beta = beta - step * min(1.0, 3.0 / max(float(np.abs(rows.X @ step).max(initial=0.0)), 1e-300))
        if abs(before - total) < 1e-3:
            break
    return beta * min(1.0, 20.0 / max(float(np.abs(rows.X @ beta).max(initial=0.0)), 1e-300)), tau


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
