"""Means and rates corrected for the errors of a judge, from many verdicts and fewer labels of people.

Rows stand for `n` identical units each. An influence is that of one unit, divided by the size of its sample, so that
the variance of the estimate is the sum of the squared sums over clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, xlog1py, xlogy

from judgestats.kernels.cluster_sums import cluster_sums, covariance, leverage_scale, small_sample
from judgestats.typing import Floats, Integers, Mask


def corrected_share(p: ArrayLike, specificity: ArrayLike, sensitivity: ArrayLike) -> Floats:
    """Share of positives from the share `p` of positive verdicts; NaN where the verdicts say nothing of the class.

    Rogan, W. J., & Gladen, B. (1978). American Journal of Epidemiology 107, 71-76.
    """
    p, q0, q1 = (np.asarray(v, dtype=float) for v in (p, specificity, sensitivity))
    gap = q0 + q1 - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(gap != 0, (p + q0 - 1) / gap, np.nan)
    return result


class Interval(NamedTuple):
    """Standard error and ends of an interval that is not clipped."""

    std_error: Floats
    low: Floats
    high: Floats


def corrected_interval(
    p: ArrayLike,
    specificity: ArrayLike,
    sensitivity: ArrayLike,
    n: ArrayLike,
    m0: ArrayLike,
    m1: ArrayLike,
    quantile: float,
    inflation: float = 1.0,
) -> Interval:
    """Interval of :func:`corrected_share` with all three shares estimated, from `n` verdicts, `m0` and `m1` labels.

    Lang, Z., & Reiczigel, J. (2014). Preventive Veterinary Medicine 113, 13-22, as Lee et al. (arXiv 2511.21140) use
    it: z²/2 successes and failures are added to the verdicts, one of each to both classes of labels; the middle is
    shifted. `inflation` is of the variance, where the samples share clusters.
    """
    z2 = quantile**2
    samples = ((p, n, z2 / 2), (specificity, m0, 1.0), (sensitivity, m1, 1.0))
    shrunk = [
        shrunk_share(np.asarray(share, dtype=float), np.asarray(size, dtype=float), by) for share, size, by in samples
    ]
    (p, v), (q0, v0), (q1, v1) = shrunk
    share = corrected_share(p, q0, q1)
    middle = share + 2 * z2 * (share * v1 - (1 - share) * v0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (v + (1 - share) ** 2 * v0 + share**2 * v1) / (q0 + q1 - 1) ** 2
    error = np.sqrt(variance * inflation)
    return Interval(error, middle - quantile * error, middle + quantile * error)


def profile_interval(
    theta: float, counts: Floats, sizes: Floats, quantile: float, inflation: float = 1.0
) -> tuple[float, float]:
    """Ends of the profile likelihood of a corrected share between 0 and 1, whose estimate is `theta`.

    `counts`, `sizes` (3,): positive verdicts, and right ones of either class of labels, to which half a success and
    half a failure are added (Jeffreys). At the ends twice the log likelihood is `quantile`² times `inflation` below its
    maximum.
    """
    k, n, c, m = counts[0], sizes[0], counts[1:] + 0.5, sizes[1:] + 1.0

    def profile(share: Floats) -> Floats:
        q = np.tile(c / m, (share.size, 1))
        toward = np.column_stack([share - 1, share])
        for _ in range(40):  # Newton on the rates, whose log likelihood is concave, in steps of at most 1 on the logit
            p = np.clip(1 - share + (toward * q).sum(axis=1), 1e-12, 1 - 1e-12)
            own = 1 / (c / q**2 + (m - c) / (1 - q) ** 2)
            step = own * ((k / p - (n - k) / (1 - p))[:, None] * toward + c / q - (m - c) / (1 - q))
            pull = own * toward * (k / p**2 + (n - k) / (1 - p) ** 2)[:, None]
            step -= pull * ((toward * step).sum(axis=1) / (1 + (pull * toward).sum(axis=1)))[:, None]
            move = np.clip(step / (q * (1 - q)), -1.0, 1.0)
            q = expit(logit(q) + move)
            if np.abs(move).max() < 1e-8:
                break
        p = 1 - share + (toward * q).sum(axis=1)
        value = xlogy(k, p) + xlog1py(n - k, -p) + (xlogy(c, q) + xlog1py(m - c, -q)).sum(axis=1)
        return np.asarray(value, np.float64)

    grid = np.unique(np.append(np.linspace(0, 1, 101), theta))
    values = profile(grid)
    level = values.max() - quantile**2 * inflation / 2
    for _ in range(2):
        first, last = np.flatnonzero(values >= level)[[0, -1]]
        below, above = grid[max(first - 1, 0) : first + 1], grid[last : last + 2]
        grid = np.concatenate([np.linspace(x[0], x[-1], 50) for x in (below, above)])
        values = profile(grid)
    inside = grid[values >= level]
    return float(inside[0]), float(inside[-1])


def shrunk_share(share: Floats, size: Floats, by: float) -> tuple[Floats, Floats]:
    """A share after `by` successes and as many failures are added, and its variance."""
    more = size + 2 * by
    share = (size * share + by) / more
    return share, share * (1 - share) / more


def shares(weights: Floats, rows: Mask) -> Floats:
    """Weights of the rows of one sample, scaled to a sum of 1; 0 elsewhere, and everywhere if they sum to 0."""
    held = np.where(rows, weights, 0.0)
    total = held.sum()
    result: Floats = held / total if total > 0 else held
    return result


class Powered(NamedTuple):
    """A mean corrected by the labels, the coefficients of the verdicts, and the influence of a unit of each row."""

    estimate: float
    coefficients: Floats
    influence: Floats
    weights: Floats  # of the labels, with the sum 1


def prediction_powered(
    verdicts: Floats,
    labels: Floats,
    n: Floats,
    unit: Integers | None = None,
    *,
    ddof: int = 1,
    coefficients: Floats | None = None,
) -> Powered:
    """Mean label from labels (N,) on a random part of the rows, else NaN, and verdicts (N, k) on all (PPI++).

    By default the coefficients (k,) minimise the variance; that of a single judge is kept between 0 and 1. With several
    judges they are cross-fitted: each of ten folds of the labels uses coefficients from the other nine.

    Angelopoulos, A. N., Duchi, J. C., & Zrnic, T. (2023). PPI++. arXiv 2311.01453.
    """
    labelled = ~np.isnan(labels)
    one, rest = shares(n, labelled), shares(n, ~labelled)
    y = np.where(labelled, labels, 0.0)
    centred = y - one @ y
    fold: Integers = np.zeros(len(n), dtype=np.int64)
    folds = 1
    if coefficients is not None:
        of_fold = coefficients[None, :]
    else:  # several judges: the coefficients of a fold come from the labels of the others
        if verdicts.shape[1] > 1:
            fold, folds = _folds(np.column_stack([y, verdicts, y[:, None] * verdicts]), labelled, n, unit)
        rows = [n if folds == 1 else np.where(labelled & (fold == k), 0.0, n) for k in range(folds)]
        of_fold = np.stack([_optimal(verdicts, y - shares(w, labelled) @ y, labelled, w, unit, ddof) for w in rows])
        coefficients = of_fold[0] if folds == 1 else _optimal(verdicts, centred, labelled, n, unit, ddof)
    corrected = y - ((verdicts - rest @ verdicts) * of_fold[fold]).sum(axis=1)
    estimate = float(one @ corrected)
    gap = verdicts @ (np.bincount(fold, one, folds) @ of_fold)
    scale = [leverage_scale(w, n, unit) if ddof else 1.0 for w in (one, rest)]
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = np.where(
            labelled,
            scale[0] * (corrected - estimate) / n[labelled].sum(),
            scale[1] * (gap - rest @ gap) / n[~labelled].sum() if (~labelled).any() else 0.0,
        )
    return Powered(estimate, coefficients, influence, one)


def _folds(content: Floats, labelled: Mask, n: Floats, unit: Integers | None, most: int = 10) -> tuple[Integers, int]:
    """Fold (N,) of each row, and how many there are: labelled clusters are dealt out in the order of their content."""
    sums = np.round(cluster_sums(content, np.where(labelled, n, 0.0), unit)[0], 9)
    held = np.flatnonzero(labelled if unit is None else np.bincount(unit, labelled) > 0)
    folds = min(most, held.size)
    fold = np.zeros(len(sums), dtype=np.int64)
    fold[held[np.lexsort(sums[held].T)]] = np.arange(held.size) % folds
    return (fold if unit is None else fold[unit]), folds


def _optimal(verdicts: Floats, centred: Floats, labelled: Mask, n: Floats, unit: Integers | None, ddof: int) -> Floats:
    """Coefficients with the smallest variance: Σff⁻¹ ΣfY / (1 + n/N), from the clustered covariances.

    Where labelled and other verdicts share clusters, those of the difference of the two means of the verdicts.
    """
    inside, outside = n[labelled].sum(), n[~labelled].sum()
    one, rest = shares(n, labelled), shares(n, ~labelled)
    if unit is not None and np.intersect1d(unit[labelled & (n > 0)], unit[~labelled & (n > 0)]).size:
        own = np.where(labelled[:, None], verdicts - one @ verdicts, 0.0) / inside
        other = np.where(labelled[:, None], 0.0, verdicts - rest @ verdicts) / outside
        both = covariance(np.column_stack([own - other, np.where(labelled, centred, 0.0) / inside]), n, unit)
        k = verdicts.shape[1]
        coefficients = _solved(both[:k, :k], both[:k, k])
    else:
        every = np.ones(len(n), dtype=bool)
        spread = covariance(verdicts - shares(n, every) @ verdicts, n, unit) / n.sum()
        spread = spread * small_sample(every, n, unit, ddof)
        columns = np.column_stack([verdicts - one @ verdicts, centred])[labelled]
        joint = covariance(columns, n[labelled], None if unit is None else unit[labelled]) / inside
        joint = joint * small_sample(labelled, n, unit, ddof)
        coefficients = (
            _solved(spread, joint[:-1, -1]) / (1 + inside / outside) if outside > 0 else np.zeros(len(spread))
        )
    return np.clip(coefficients, 0.0, 1.0) if coefficients.size == 1 else coefficients


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solution of a system that may be singular (a constant judge, two equal judges); 0 where it is not finite."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return np.zeros(len(right))
    if right.size == 1:  # one judge: the decomposition costs more than all else
        return np.asarray(np.divide(right, matrix[0], out=np.zeros(1), where=matrix[0] != 0), np.float64)
    return np.asarray(np.linalg.pinv(matrix, rcond=1e-10, hermitian=True) @ right, np.float64)


def inversely_weighted(
    verdicts: Floats,
    labels: Floats,
    probability: Floats,
    n: Floats,
    unit: Integers | None = None,
    *,
    ddof: int = 1,
    coefficients: Floats | None = None,
) -> Powered:
    """Mean label from labels drawn with a known probability (N,), and verdicts on all; as :func:`prediction_powered`.

    Zrnic, T., & Candès, E. J. (2024). Active statistical inference. arXiv 2403.03208; weights scaled to a sum of 1.
    """
    labelled = ~np.isnan(labels)
    every = np.ones(len(n), dtype=bool)
    weight = shares(np.where(labelled, n / np.where(labelled, probability, 1.0), 0.0), labelled)
    all_rows = shares(n, every)
    y = np.where(labelled, labels, 0.0)
    per_unit = np.divide(weight, n, out=np.zeros_like(weight), where=n > 0)
    own = per_unit[:, None] * (verdicts - weight @ verdicts)
    other = (verdicts - all_rows @ verdicts) / n.sum()
    target = per_unit * (y - weight @ y) * labelled
    if coefficients is None:
        both = covariance(np.column_stack([own - other, target]), n, unit)
        coefficients = _solved(both[:-1, :-1], both[:-1, -1])
        coefficients = np.clip(coefficients, 0.0, 1.0) if coefficients.size == 1 else coefficients
    estimate = float(weight @ (y - verdicts @ coefficients) + all_rows @ (verdicts @ coefficients))
    scale = [leverage_scale(w, n, unit) if ddof else 1.0 for w in (weight, all_rows)]
    influence = scale[0] * (target - own @ coefficients) + scale[1] * (other @ coefficients)
    return Powered(estimate, coefficients, influence, weight)


class ClassRates(NamedTuple):
    """Shares of positive verdicts and of right ones in both classes, with their influences."""

    p: float
    specificity: float
    sensitivity: float
    sizes: Floats  # (3,): verdicts, negative labels, positive labels
    influence: Floats  # (3, N): of a unit of each row on each share


def class_rates(
    verdicts: Floats, labels: Floats, n: Floats, judged: Mask, unit: Integers | None = None, *, ddof: int = 0
) -> ClassRates:
    """Share of positive verdicts among the rows `judged`, specificity and sensitivity from the labels of other rows."""
    parts = [(judged, verdicts), (~judged & (labels == 0), 1 - verdicts), (~judged & (labels == 1), verdicts)]
    rates, influence, sizes = [], np.zeros((3, len(n))), np.zeros(3)
    for i, (rows, hit) in enumerate(parts):
        weight = shares(n, rows)
        sizes[i] = n[rows].sum()
        rates.append(float(weight @ hit) if sizes[i] > 0 else float("nan"))
        if sizes[i] > 0:
            scale = leverage_scale(weight, n, unit) if ddof else 1.0
            influence[i] = np.where(rows, scale * (hit - rates[i]) / sizes[i], 0.0)
    return ClassRates(rates[0], rates[1], rates[2], sizes, influence)
