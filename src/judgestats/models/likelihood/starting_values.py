"""Where the search for the maximum starts, and in which coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judgestats.kernels.elimination import cross, factorise, gather, invert, solve_many
from judgestats.kernels.laplace import Laplace, LikelihoodRows
from judgestats.kernels.likelihoods import losses
from judgestats.models.likelihood.compression import Compressed
from judgestats.models.likelihood.objectives import GeneralisedObjective, LinearObjective, Scales, layout_of
from judgestats.models.thresholds import Thresholds
from judgestats.typing import Floats

#: A standard deviation on the scale of η above which groups nearly always answer alike; how much larger ones to try.
LARGE, FACTORS = 3.0, (3.0, 10.0)


def orthogonal(X: Floats, weight: Floats) -> Floats:
    """Coordinates T (p, p) in which the columns X T (N, p), weighted, are orthogonal and of unit size; β = T γ."""
    R = np.linalg.qr(X * np.sqrt(weight / weight.sum())[:, None], mode="r")
    return np.asarray(np.linalg.inv(R), np.float64) if X.shape[1] else np.zeros((0, 0))


def even(z: Floats, weight: Floats, scales: Scales) -> tuple[Floats, Floats]:
    """Coordinates of orthogonal random columns of unit size, from last to first, and the matrix (T, T) of θ."""
    T, first = np.eye(z.shape[1]), 0
    for size in scales.sizes:
        own = slice(first, first + size)
        T[own, own] = _lower(z[:, own], weight)
        first += size
    alike = scales.row[:, None] == scales.row
    return np.ascontiguousarray(z @ T), np.where(alike, T[np.ix_(scales.column, scales.column)], 0.0)


def _lower(z: Floats, weight: Floats) -> Floats:
    """Lower triangular T with z T orthogonal and of unit size; diagonal where columns are nearly the same."""
    size = _size(z, weight)
    backwards = (z / size * np.sqrt(weight / weight.sum())[:, None])[:, ::-1]
    R = np.asarray(np.linalg.qr(backwards, mode="r"), np.float64)
    pivots = np.diagonal(R)
    if z.shape[1] == 1 or R.shape[0] < R.shape[1] or np.abs(pivots).min() < 1e-9:
        return np.diag(1 / size)
    T = (np.linalg.inv(R) * np.sign(pivots))[::-1, ::-1] / size[:, None]
    return np.asarray(T / _size(z @ T, weight), np.float64)


def _size(z: Floats, weight: Floats) -> Floats:
    squares, number = weight @ z**2, weight @ (z != 0)
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0) / np.where(squares > 0, number, 1.0)), np.float64)


def turned(objective: GeneralisedObjective) -> tuple[GeneralisedObjective, Floats]:
    """The same objective in better coordinates (decision 16); parameters are the matrix (P, P) times the new ones."""
    d, cuts = objective.rows, objective.thresholds
    p, t = d.X.shape[1], len(cuts.names)
    weight = d.m * d.times
    moved = t > 0 and cuts.location
    middle = weight @ d.X / weight.sum() if moved else np.zeros(p)
    T = orthogonal(d.X - middle, weight)
    turn = np.eye(p + t + len(objective.scales.column))
    turn[:p, :p] = T
    if moved:  # what moves all thresholds alike
        inner = cuts.map.reshape(-1, t)
        alike = np.linalg.lstsq(inner, np.ones(len(inner)), rcond=None)[0]
        turn[p : p + t, :p] = np.outer(alike, middle @ T)
    z, turn[p + t :, p + t :] = even(d.z, weight, objective.scales)
    return replace(objective, rows=replace(d, X=np.ascontiguousarray((d.X - middle) @ T), z=z)), turn


def elsewhere(objective: GeneralisedObjective | LinearObjective, x: Floats, curvature: Floats) -> list[Floats]:
    """Further starts, where the search ended with a variance near zero or large: there may be a second maximum.

    A variance of zero in a correlated term is a saddle: its column gets a little variance, correlated with others in
    the direction in which the likelihood grows.
    """
    s = objective.scales
    free = len(x) - len(s.column)
    theta, starts = x[free:], []
    if isinstance(objective, GeneralisedObjective) and isinstance(objective.kernel, Laplace):
        large = np.abs(theta[s.diagonal]).max(initial=0.0) > LARGE
        starts += [factor * x for factor in FACTORS if large]
    if (np.abs(theta[s.diagonal]) < 0.01).any():
        starts.append(np.append(x[:free], 0.4 * s.diagonal))
    significant = theta**2 * np.diag(curvature)[free:] > 9
    thin = [
        int(c) for c in np.flatnonzero(s.diagonal & (np.abs(theta) < 0.05) & ~significant) if s.sizes[s.term[c]] > 1
    ]
    last = [c for c in thin if (s.row == s.row[c]).sum() == 1]
    if last:  # a correlation of 1
        starts.append(x.copy())
        starts[-1][free:][last] = 0.0
    first = [c for c in thin if c not in last]
    return [*starts, *(_leaning(objective, x, first, rest) for rest in (0.2, 0.0) if first)]


def _leaning(objective: GeneralisedObjective | LinearObjective, x: Floats, thin: list[int], rest: float) -> Floats:
    """A start at which columns without variance have some, and others are correlated with it."""
    s, low = objective.scales, x.copy()
    free = len(x) - len(s.column)
    factor = s.factors(x[free:])
    low[free:][thin] = 0.1
    gradient = objective(low)[1][free:]
    for c in thin:
        L, column = factor[s.term[c]], s.row == s.row[c]
        for e in np.flatnonzero(column & ~s.diagonal):
            a = int(s.column[e] - s.column[s.term == s.term[c]].min())
            low[free + e] = -0.98 * np.sign(gradient[e]) * np.sqrt(L[a] @ L[a])
            low[free:][(s.column == s.column[e]) & (s.row > s.row[c])] *= rest
    return low


def fixed_start(rows: LikelihoodRows, thresholds: Thresholds, level: float) -> tuple[Floats, Floats]:
    """Fixed effects and thresholds of the model without random effects, roughly, from a level of η."""
    tau = thresholds.start(rows.category, rows.part, rows.m * rows.times)
    hi, lo, _ = thresholds.around(tau, rows.category, rows.part)
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
    """First guess of the inverse Hessian (P, P): the information that the random effects leave.

    Of a standard deviation, twice the sum over its levels of the squared share of their variance that the data explain.
    """
    d, (beta, tau, theta) = objective.rows, objective.split(params)
    p, t = len(beta), len(tau)
    hi, lo, _ = objective.thresholds.around(tau, d.category, d.part)
    zl, eta = objective.scales.spread(d.z, theta), d.X @ beta + d.offset
    _, _, w = losses(d.kind, d.y, d.m, eta, hi, lo)
    layout = objective.kernel.layout if isinstance(objective.kernel, Laplace) else layout_of(table.columns)
    flat = np.empty(layout.size)
    gather(layout, zl, w, flat)
    factorise(layout, flat)
    B = cross(zl, w, layout.cols, d.X, layout.q)
    left = B * table.often[:, None]
    taken = left.T @ solve_many(layout, flat, B)
    result = np.zeros((len(params), len(params)))
    result[:p, :p] = np.linalg.pinv((d.X * (w * d.times)[:, None]).T @ d.X - taken)
    n = max(float((d.m * d.times).sum()), 1.0)
    result[range(p, p + t), range(p, p + t)] = 10.0 / n
    # for each column of z: its columns in H, and the share of each one's variance that the data explain
    inverse = invert(layout, flat)
    entries, tail = int(layout.start[layout.s]), layout.q - layout.s
    diagonal = np.append(inverse[entries : entries + layout.s], inverse[entries + layout.s :][:: tail + 1])
    places = [table.columns.of(k, c) for k, width in enumerate(table.columns.sizes) for c in range(width)]
    explained = [1 - diagonal[j] for j in places]
    for c, (a, b, size) in enumerate(zip(objective.scales.column, objective.scales.row, theta, strict=True)):
        information = 2 * (table.often[places[a]] * explained[a] * explained[b]).sum()
        scale = max(abs(size), 0.3)
        result[p + t + c, p + t + c] = scale**2 / max(float(information), 1.0)
    return result
