"""Areas under curves of detection: receiver operating characteristic, and precision by recall."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from judgestats.kernels.cluster_robust import degrees_of_freedom
from judgestats.kernels.compiling import njit
from judgestats.kernels.proportions import quotient
from judgestats.typing import Floats, Integers, Ints, Mask


class Levels(NamedTuple):
    """Weight of the positives and of the negatives at each distinct score, from the highest."""

    score: Floats  # (L,)
    positive: Floats  # (L,)
    negative: Floats  # (L,)
    code: Ints  # (N,): level of each observation


def levels(score: Floats, positive: Mask, weight: Floats) -> Levels:
    """Observations (N,) by their score."""
    order = np.argsort(-score)
    ranked = score[order]
    number = np.append(0, np.cumsum(ranked[1:] != ranked[:-1])) if score.size else np.empty(0, dtype=np.int64)
    code = np.empty(score.size, dtype=np.int64)
    code[order] = number
    size = int(number[-1]) + 1 if score.size else 0
    of_positive = np.bincount(code, weight * positive, size).astype(np.float64)
    return Levels(
        ranked[np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))] if score.size else ranked,
        of_positive,
        np.bincount(code, weight, size).astype(np.float64) - of_positive,
        code,
    )


def auroc(positive: Floats, negative: Floats) -> Floats:
    """Area under the curve from weights (..., L) by falling score; NaN without positives or negatives."""
    above = np.cumsum(positive, axis=-1) - positive / 2
    m, n = positive.sum(axis=-1), negative.sum(axis=-1)
    return quotient((above * negative).sum(axis=-1), m * n, m * n > 0)


def placements(at: Levels, positive: Mask) -> Floats:
    """Placement value (N,): the share of the other class that an observation is ranked correctly against."""
    m, n = at.positive.sum(), at.negative.sum()
    above = np.cumsum(at.positive) - at.positive / 2
    below = n - np.cumsum(at.negative) + at.negative / 2
    result: Floats = np.where(positive, below[at.code] / n, above[at.code] / m)
    return result


class Deviations(NamedTuple):
    """Variance of an area, with the degrees of freedom of the class that has fewer clusters, or fewer calls."""

    variance: float
    df: float


def two_sample_variance(
    values: Floats, estimate: float, positive: Mask, weight: Floats, unit: Integers | None
) -> Deviations:
    """Variance of an area from placement values (N,).

    Independent observations: DeLong, DeLong and Clarke-Pearson (1988, Biometrics 44, 837-845). Clusters that hold both
    classes: Obuchowski (1997, Biometrics 53, 567-578).
    """
    deviation = values - estimate
    if unit is None:
        parts, sizes = [], []
        for rows in (positive, ~positive):
            w = weight[rows]
            m = float(w.sum())
            centred = deviation[rows]
            parts.append(float(w @ centred**2) / max(m - 1, 1e-300) / m if m > 1 else math.nan)
            sizes.append(m)
        return Deviations(sum(parts), min(sizes) - 1)
    size = int(unit.max(initial=-1)) + 1
    sums = [np.bincount(unit[r], (weight * deviation)[r], size) for r in (positive, ~positive)]
    counts = [np.bincount(unit[r], weight[r], size).astype(np.float64) for r in (positive, ~positive)]
    totals, clusters = [float(c.sum()) for c in counts], [int((c > 0).sum()) for c in counts]
    if min(clusters) < 2:
        return Deviations(math.nan, math.nan)
    parts = [k / (k - 1) * float(s @ s) / m**2 for s, m, k in zip(sums, totals, clusters, strict=True)]
    k = int(((counts[0] + counts[1]) > 0).sum())
    both = k / (k - 1) * float(sums[0] @ sums[1]) / (totals[0] * totals[1])
    return Deviations(sum(parts) + 2 * both, min(map(degrees_of_freedom, counts)))


def average_precision(positive: Floats, negative: Floats) -> Floats:
    """Mean over the positives of the precision at their score, from weights (..., L) by falling score."""
    at, other = np.cumsum(positive, axis=-1), np.cumsum(negative, axis=-1)
    total = positive.sum(axis=-1)
    mean = (positive * quotient(at, at + other, at + other > 0)).sum(axis=-1, where=at + other > 0)
    return quotient(mean, total, total > 0)


def precision_influence(at: Levels, positive: Mask) -> Floats:
    """Influence (N,) of each observation of unit weight on the average precision, times the number of positives."""
    above, other = np.cumsum(at.positive), np.cumsum(at.negative)
    precision = quotient(above, above + other, above + other > 0)
    mean = float((at.positive * np.where(at.positive > 0, precision, 0.0)).sum() / at.positive.sum())
    both = (above + other) ** 2
    of_positive = quotient(at.positive * other, both, both > 0)
    of_negative = quotient(-at.positive * above, both, both > 0)
    behind_positive, behind_negative = (  # a score counts at every level that is not above it
        np.cumsum(np.nan_to_num(v)[::-1])[::-1] for v in (of_positive, of_negative)
    )
    result: Floats = np.where(positive, precision[at.code] - mean + behind_positive[at.code], behind_negative[at.code])
    return result


def precision_bias(at: Levels, positive: Mask, weight: Floats, unit: Integers | None, influence: Floats) -> float:
    """Bias of the average precision, to the second order, from influences (N,) of observations of unit weight.

    Half the sum over clusters of second derivatives; of independent observations these are the precision's own only.
    """
    m, above, other = float(at.positive.sum()), np.cumsum(at.positive), np.cumsum(at.negative)
    both = above + other
    if unit is None:
        curvature = 2 * float(at.positive @ quotient(other, both**2, both > 0))
        return (curvature / 2 - float((weight * influence)[positive].sum()) / m) / m
    size = at.score.size
    pair, row = np.unique(unit.astype(np.int64) * size + at.code, return_inverse=True)
    level, cluster = pair % size, pair // size
    sides = [np.bincount(row, weight * side).astype(np.float64) for side in (positive, ~positive)]
    first = np.searchsorted(cluster, cluster)
    so_far = [np.cumsum(x) - (np.cumsum(x) - x)[first] for x in sides]  # of the cluster, at or above the level
    products = [
        np.cumsum(np.bincount(level, so_far[i] * so_far[j] - (so_far[i] - sides[i]) * (so_far[j] - sides[j]), size))
        for i, j in ((0, 0), (0, 1), (1, 1))
    ]
    second = (-2 * other * products[0] + 2 * (above - other) * products[1] + 2 * above * products[2]) / both**3
    slope = (other[level] * so_far[0] - above[level] * so_far[1]) / both[level] ** 2
    curvature = float(at.positive @ second + 2 * sides[0] @ slope)
    of_cluster = [np.bincount(unit, weight * x) for x in (positive, influence)]
    return (curvature / 2 - float(of_cluster[0] @ of_cluster[1]) / m) / m


class OperatingPoints(NamedTuple):
    """Sensitivity, threshold and area at each of F false positive rates, for each set of weights."""

    sensitivity: Floats  # (..., F): highest with a false positive rate of at most this; NaN with one class only
    threshold: Floats  # (..., F): lowest score of which this holds, infinite for none
    area: Floats  # (..., F): area up to this rate, linear between points


def operating_points(
    at: Levels, positive: Mask, weight: Floats, unit: Integers, most: Floats, samples: Iterable[Ints]
) -> OperatingPoints:
    """Operating points at rates `most` (F,), for B samples that hold the units numbered in (B, G)."""
    order = np.argsort(at.code, kind="stable")
    last = np.append(np.diff(at.code[order]) > 0, True)
    unit = unit[order].astype(np.int64)
    sides = [np.where(side[order], weight[order], 0.0) for side in (positive, ~positive)]
    totals = [np.bincount(unit, side).astype(np.float64) for side in sides]
    parts = [_points_of_samples(index, unit, *sides, last, *totals, most) for index in samples]
    rate, level, area = np.moveaxis(np.concatenate(parts), -1, 0)
    threshold = np.append(at.score, np.inf)[np.nan_to_num(level, nan=-1.0).astype(np.int64)]
    return OperatingPoints(rate, np.where(np.isnan(level), np.nan, threshold), area)


@njit(cache=True)
def _points_of_samples(index, unit, positive, negative, last, of_positive, of_negative, most):  # type: ignore[no-untyped-def]
    """True positive rate, level and area (B, F, 3), from weights (N,) by falling score; `last`: ends of levels."""
    result = np.full((len(index), most.size, 3), np.nan)
    copies = np.empty(of_positive.size)
    for b in range(len(index)):
        copies[:] = 0.0
        for g in index[b]:
            copies[g] += 1.0
        m, n = (copies * of_positive).sum(), (copies * of_negative).sum()
        if m <= 0.0 or n <= 0.0:
            continue
        result[b, :, 0], result[b, :, 1], result[b, :, 2] = 0.0, -1.0, 0.0
        level, tp, fp, tp_before, fp_before = 0, 0.0, 0.0, 0.0, 0.0
        for i in range(unit.size):
            tp += copies[unit[i]] * positive[i]
            fp += copies[unit[i]] * negative[i]
            if not last[i]:
                continue
            inside = False
            for f in range(most.size):
                limit = most[f] * n * (1 + 1e-12)
                if fp <= limit:
                    result[b, f, 0], result[b, f, 1] = tp / m, level
                if fp_before <= limit:
                    inside = True
                    width = min(most[f] * n - fp_before, fp - fp_before)
                    share = width / (fp - fp_before) if fp > fp_before else 0.0
                    result[b, f, 2] += width * (tp_before + share * (tp - tp_before) / 2) / (m * n)
            if not inside:
                break
            level, tp_before, fp_before = level + 1, tp, fp
    return result
