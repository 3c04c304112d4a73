"""Areas under curves of detection: receiver operating characteristic, and precision by recall."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

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
    """Placement value (N,) of each observation: the share of the other class that it is ordered rightly to."""
    m, n = at.positive.sum(), at.negative.sum()
    above = np.cumsum(at.positive) - at.positive / 2
    below = n - np.cumsum(at.negative) + at.negative / 2
    result: Floats = np.where(positive, below[at.code] / n, above[at.code] / m)
    return result


class Deviations(NamedTuple):
    """Sums over clusters that make up the variance of a difference of means of two classes (or a U statistic)."""

    variance: float
    df: float


def two_sample_variance(
    values: Floats, estimate: float, positive: Mask, weight: Floats, unit: Integers | None
) -> Deviations:
    """Variance of an area from placement values (N,), and Satterthwaite's degrees of freedom.

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
        return Deviations(sum(parts), _satterthwaite(parts, sizes))
    size = int(unit.max(initial=-1)) + 1
    sums = [np.bincount(unit[r], (weight * deviation)[r], size) for r in (positive, ~positive)]
    counts = [np.bincount(unit[r], weight[r], size) for r in (positive, ~positive)]
    totals, clusters = [float(c.sum()) for c in counts], [int((c > 0).sum()) for c in counts]
    if min(clusters) < 2:
        return Deviations(math.nan, math.nan)
    parts = [k / (k - 1) * float(s @ s) / m**2 for s, m, k in zip(sums, totals, clusters, strict=True)]
    k = int(((counts[0] + counts[1]) > 0).sum())
    both = k / (k - 1) * float(sums[0] @ sums[1]) / (totals[0] * totals[1])
    return Deviations(sum(parts) + 2 * both, _satterthwaite(parts, [float(c) for c in clusters]))


def _satterthwaite(parts: list[float], sizes: list[float]) -> float:
    """Degrees of freedom of a sum of variances of means."""
    below = sum(v * v / max(n - 1, 1e-300) for v, n in zip(parts, sizes, strict=True))
    return sum(parts) ** 2 / below if below > 0 else math.nan


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


def partial_area(positive: Floats, negative: Floats, most: float) -> Floats:
    """Area up to a false positive rate `most`, from weights (..., L) by falling score, linear between points."""
    m, n = positive.sum(axis=-1, keepdims=True), negative.sum(axis=-1, keepdims=True)
    tpr = np.cumsum(positive, axis=-1) / np.where(m > 0, m, np.nan)
    fpr = np.cumsum(negative, axis=-1) / np.where(n > 0, n, np.nan)
    start = np.zeros((*tpr.shape[:-1], 1))
    tpr, fpr = np.concatenate([start, tpr], axis=-1), np.concatenate([start, fpr], axis=-1)
    width = np.diff(fpr, axis=-1)
    inside = np.clip(most - fpr[..., :-1], 0.0, width)
    share = quotient(inside, width, width > 0)
    end = tpr[..., :-1] + np.nan_to_num(share) * np.diff(tpr, axis=-1)
    area: Floats = (inside * (tpr[..., :-1] + end) / 2).sum(axis=-1)
    return np.where((m * n)[..., 0] > 0, area, np.nan)


def operating_point(positive: Floats, negative: Floats, most: float) -> tuple[Floats, Ints]:
    """Highest true positive rate (...,) with a false positive rate of at most `most`, and its level; -1 for none."""
    m, n = positive.sum(axis=-1, keepdims=True), negative.sum(axis=-1, keepdims=True)
    allowed = np.cumsum(negative, axis=-1) <= most * n * (1 + 1e-12)
    level = allowed.sum(axis=-1) - 1
    tpr = np.cumsum(positive, axis=-1) / np.where(m > 0, m, np.nan)
    at = np.take_along_axis(tpr, np.maximum(level, 0)[..., None], axis=-1)[..., 0]
    rate = np.where(level >= 0, at, 0.0)
    return np.where((m * n)[..., 0] > 0, rate, np.nan), level
