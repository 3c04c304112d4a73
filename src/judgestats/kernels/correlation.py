"""Correlations of many pairs of vectors in many resamples at once: sums first, weights after.

A resample of items is a vector of weights (how often each item was drawn), so the sums of all resamples are one matrix
product, and rows are never copied.
"""

from __future__ import annotations

import numpy as np

from judgestats.kernels.cluster_sums import sums_within
from judgestats.kernels.resampling import weighted_totals
from judgestats.typing import Floats, Integers, Mask

#: A variance below this share of its sum of squares is rounding.
_NOTHING = 1e-12
#: Values nearer than this share of the largest are one: means of the same scores in another order differ by rounding.
_TIED = 1e-12


def midrange(x: Floats) -> Floats:
    """Half-way between the extremes of the last axis: to the last bit the value, where all have one; NaN is missing."""
    low = np.where(np.isnan(x), np.inf, x).min(axis=-1, initial=np.inf)
    high = np.where(np.isnan(x), -np.inf, x).max(axis=-1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(low), low / 2 + high / 2, np.nan)


def grouped(values: Floats, owner: Integers, n_owners: int) -> Floats:
    """Sums (n_owners, ...) of the rows of `values` (N, ...) of each owner; the values where each is its own."""
    if np.array_equal(owner, np.arange(n_owners)):
        return values
    result = np.zeros((n_owners, *values.shape[1:]))
    order = np.argsort(owner, kind="stable")
    present, start = np.unique(owner[order], return_index=True)
    if present.size:
        result[present] = np.add.reduceat(values[order], start, axis=0)
    return result


def pearson_of(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    """Pearson correlations of counts and sums; NaN for fewer than two points, or where a vector is constant."""
    with np.errstate(divide="ignore", invalid="ignore"):
        vx, vy, cov = xx - x * x / n, yy - y * y / n, xy - x * y / n
        defined = (n > 1) & (vx > _NOTHING * xx) & (vy > _NOTHING * yy)
        return np.where(defined, np.clip(cov / np.sqrt(vx * vy), -1.0, 1.0), np.nan)


def all_pairs(scores: Floats, owner: Integers, n_owners: int, weights: Floats) -> Floats:
    """Pearson correlation (B, R, P) of each pair of judges in each row of scores (R, J, N), by weights (B, O).

    Pairs are in the order of the upper triangle. Judges who rated the same points share their sums over what each other
    judge rated: this saves most of the time where few points are missing.
    """
    one, two = np.triu_indices(scores.shape[1], 1)
    rated = ~np.isnan(scores)
    places: dict[bytes, int] = {}
    group = np.array([places.setdefault(judge.tobytes(), len(places)) for judge in rated.transpose(1, 0, 2)], np.int64)
    masks = rated[:, np.unique(group, return_index=True)[1]].astype(float)
    x = np.where(rated, scores - midrange(scores)[..., None], 0.0)
    within = x[:, :, None] * masks[:, None]  # of each judge, where each group rated
    parts = (masks[:, :, None] * masks[:, None], within, within * x[:, :, None], (x[:, one] * x[:, two])[:, :, None])
    columns = np.concatenate([part.reshape(len(x), -1, x.shape[-1]) for part in parts], axis=1)
    totals = weighted_totals(weights, grouped(columns.transpose(2, 0, 1), owner, n_owners))
    *sums, products = np.split(totals, np.cumsum([part.shape[1] * part.shape[2] for part in parts[:3]]), axis=-1)
    n, first, squares = (part.reshape(*part.shape[:2], -1, len(places)) for part in sums)
    i, j = group[one], group[two]
    sides = first[..., one, j], first[..., two, i], squares[..., one, j], squares[..., two, i]
    return pearson_of(n[..., i, j], *sides, products)


def average_ranks(x: Floats) -> Floats:
    """Ranks along the last axis from 1, ties sharing their mean rank; NaN stays NaN."""
    n = x.shape[-1]
    if not n:
        return x.copy()
    order = np.argsort(x, axis=-1, kind="stable")  # NaN last
    ordered = np.take_along_axis(x, order, axis=-1)
    place = np.arange(n)
    opens = np.ones(x.shape, dtype=bool)
    opens[..., 1:] = _apart(ordered)
    closes = np.ones(x.shape, dtype=bool)
    closes[..., :-1] = opens[..., 1:]
    first = np.maximum.accumulate(np.where(opens, place, 0), axis=-1)
    last = np.minimum.accumulate(np.where(closes, place, n)[..., ::-1], axis=-1)[..., ::-1]
    ranked = np.empty(x.shape)
    np.put_along_axis(ranked, order, (first + last) / 2 + 1, axis=-1)
    return np.where(np.isnan(x), np.nan, ranked)


def _apart(ordered: Floats) -> Mask:
    """Whether each value along the last axis, sorted with NaN last, differs from the one before it."""
    largest = np.nanmax(np.abs(ordered), axis=-1, keepdims=True, initial=0.0)
    result: Mask = ~(np.diff(ordered, axis=-1) <= _TIED * largest)
    return result


def rowwise(x: Floats, y: Floats, *, ranked: bool = False) -> Floats:
    """Correlation of x and y along the last axis, over the points that both have; Spearman's where `ranked`."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = (np.where(both, v, np.nan) for v in (x, y))
    if ranked:
        x, y = average_ranks(x), average_ranks(y)
    x, y = (np.where(both, v - midrange(v)[..., None], 0.0) for v in (x, y))
    parts = (both.astype(float), x, y, x * x, y * y, x * y)
    return pearson_of(*(p.sum(axis=-1) for p in parts))


def weighted_ranks(x: Floats, weights: Floats) -> Floats:
    """Average rank (B, N) of each value of `x` (N,), without NaN, drawn `weights` (B, N) times."""
    order = np.argsort(x, kind="stable")
    level = np.zeros(x.size, np.int64)
    level[order[1:]] = np.cumsum(_apart(x[order]))
    level_weights = grouped(np.ascontiguousarray(weights.T), level, int(level.max(initial=-1)) + 1).T
    rank = np.cumsum(level_weights, axis=1) - level_weights / 2 + 0.5
    return rank[:, level]


def weighted_spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman correlation (B,) of x, y (N,) in resamples of the points that both have, by `weights` (B, N)."""
    both = ~(np.isnan(x) | np.isnan(y))
    w = np.ascontiguousarray(weights[:, both])
    if not both.any():
        return np.full(len(w), np.nan)
    middle = (w.sum(axis=1, keepdims=True) + 1) / 2
    rx, ry = (weighted_ranks(v[both], w) - middle for v in (x, y))
    parts = (w, w * rx, w * ry, w * rx * rx, w * ry * ry, w * rx * ry)
    return pearson_of(*(p.sum(axis=1) for p in parts))


def icc_sums(scores: Floats, owner: Integers, n_owners: int) -> Floats:
    """Sums (O, k + 3) behind the ICC of k raters x N subjects, by owner; a subject with a NaN is left out.

    Count, sum of squared subject means, sum of squares, and the sum of each rater, about the midrange.
    """
    complete = ~np.isnan(scores).any(axis=0)
    centre = midrange(np.where(complete, scores, np.nan).reshape(-1))
    x = np.where(complete, scores - centre, 0.0)
    sums = np.stack([complete.astype(float), x.mean(axis=0) ** 2, (x * x).sum(axis=0), *x], axis=-1)
    return grouped(sums, owner, n_owners)


def icc_of(sums: Floats) -> Floats:
    """ICC(2,1) of sums (..., k + 3): two-way random effects, absolute agreement (Shrout, Fleiss 1979); not clipped."""
    n, squared_means, squares, raters = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
    k = raters.shape[-1]
    if k < 2:
        return np.full(n.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = raters.sum(axis=-1) ** 2 / (n * k)
        between = k * squared_means - middle
        judges = (raters**2).sum(axis=-1) / n - middle
        rest = squares - middle - between - judges
        ms_r, ms_c, ms_e = between / (n - 1), judges / (k - 1), rest / ((n - 1) * (k - 1))
        bottom = ms_r + (k - 1) * ms_e + k * (ms_c - ms_e) / n
        defined = (n > 1) & (squares - middle > _NOTHING * squares)
        return np.where(defined, (ms_r - ms_e) / bottom, np.nan)


def product_sums(x: Floats) -> Floats:
    """Sums (N, 1 + k + k (k + 1) / 2) behind the correlations of all columns (N, k): one, values, products."""
    x = x - midrange(x.T) if len(x) else x
    one, two = np.triu_indices(x.shape[1])
    return np.column_stack([np.ones(len(x)), x, x[:, one] * x[:, two]])


def correlations_of(sums: Floats, k: int) -> Floats:
    """Correlation matrices (..., k, k) of :func:`product_sums`, added up; NaN in the row and column of a constant."""
    one, two = np.triu_indices(k)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, square = sums[..., 1 : k + 1] / sums[..., :1], np.empty((*sums.shape[:-1], k, k))
        square[..., one, two] = square[..., two, one] = sums[..., k + 1 :] / sums[..., :1]
        cov = square - mean[..., :, None] * mean[..., None, :]
        variance = np.einsum("...ii->...i", cov)
        varies = variance > _NOTHING * np.einsum("...ii->...i", square)
        scale = np.where(varies, np.sqrt(variance), np.nan)
        result: Floats = cov / (scale[..., :, None] * scale[..., None, :])
    return result


def effective_number(sums: Floats, k: int) -> Floats:
    """Effective number k² / 1'R1: the mean of so many independent columns varies like that of k correlated ones."""
    total = correlations_of(sums, k).sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > _NOTHING * k * k, k * k / total, np.nan)


def pearson_without(x: Floats, y: Floats, unit: Integers, n_units: int) -> tuple[Floats, Floats]:
    """Pearson's correlation (G,) without each unit in turn, and the points of each; `x` and `y` have mean 0."""
    sums = sums_within(np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y]), unit, n_units)
    return pearson_of_totals(sums.sum(axis=0) - sums), sums[:, 0]


def pearson_of_totals(totals: Floats) -> Floats:
    """Pearson's correlations (B,) of totals (B, 6): n, two sums, two sums of squares and the sum of products."""
    with np.errstate(divide="ignore", invalid="ignore"):
        n, sx, sy, xx, yy, xy = totals.T
        vx, vy = xx / n - (sx / n) ** 2, yy / n - (sy / n) ** 2
        varies = (vx > 1e-15) & (vy > 1e-15)
        result: Floats = np.where(varies, (xy / n - sx * sy / n**2) / np.sqrt(np.where(varies, vx * vy, 1.0)), np.nan)
    return result
