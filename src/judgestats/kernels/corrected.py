"""Rates corrected for the errors of a judge, from many verdicts and fewer labels of people: estimates, influences,
variances.

Rows stand for `n` identical units each. An influence is that of one unit, divided by the size of its sample, so that
the variance of the estimate is the sum of the squared sums over clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgestats.typing import Floats, Mask

Ints = NDArray[np.integer[Any]]


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
    given = ((p, n, z2 / 2), (specificity, m0, 1.0), (sensitivity, m1, 1.0))
    shrunk = [_shrunk(np.asarray(share, dtype=float), np.asarray(size, dtype=float), by) for share, size, by in given]
    (p, v), (q0, v0), (q1, v1) = shrunk
    share = corrected_share(p, q0, q1)
    middle = share + 2 * z2 * (share * v1 - (1 - share) * v0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (v + (1 - share) ** 2 * v0 + share**2 * v1) / (q0 + q1 - 1) ** 2
    error = np.sqrt(variance * inflation)
    return Interval(error, middle - quantile * error, middle + quantile * error)


def _shrunk(share: Floats, size: Floats, by: float) -> tuple[Floats, Floats]:
    """A share after `by` successes and as many failures are added, and its variance."""
    more = size + 2 * by
    share = (size * share + by) / more
    return share, share * (1 - share) / more


def cluster_sums(influence: Floats, n: Floats, unit: Ints | None) -> tuple[Floats, Floats]:
    """Sums of influences (N, k) of n units over clusters (N,), and for how many clusters each of them stands."""
    if unit is None:
        return influence, n.astype(float)
    size = int(unit.max(initial=-1)) + 1
    weighted = influence * n[:, None]
    sums: Floats = np.zeros((size, influence.shape[1]))
    np.add.at(sums, unit, weighted)
    return sums, np.ones(size)


def covariance(influence: Floats, n: Floats, unit: Ints | None) -> Floats:
    """Sums of products (k, k) of influences summed within clusters."""
    sums, alike = cluster_sums(influence, n, unit)
    result: Floats = (sums * alike[:, None]).T @ sums
    return result


def n_clusters(here: Mask, n: Floats, unit: Ints | None) -> float:
    """Number of clusters, or of units where they are not clustered, among some rows."""
    here = here & (n > 0)
    return float(n[here].sum() if unit is None else np.unique(unit[here]).size)


def small_sample(here: Mask, n: Floats, unit: Ints | None, ddof: int) -> float:
    """The factor G / (G - ddof) of a variance over the clusters of some rows; NaN where there are too few."""
    clusters = n_clusters(here, n, unit)
    return clusters / (clusters - ddof) if clusters > ddof else float("nan")


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


def prediction_powered(
    verdicts: Floats,
    labels: Floats,
    n: Floats,
    unit: Ints | None = None,
    *,
    ddof: int = 1,
    coefficients: Floats | None = None,
) -> Powered:
    """Mean label from labels (N,) on a random part of the rows, else NaN, and verdicts (N, k) on all (PPI++).

    The coefficients (k,) have the smallest variance by default; one judge's is kept between 0 and 1. Angelopoulos, A.
    N., Duchi, J. C., & Zrnic, T. (2023). PPI++. arXiv 2311.01453.
    """
    known = ~np.isnan(labels)
    one, rest = shares(n, known), shares(n, ~known)
    y = np.where(known, labels, 0.0)
    centred = y - one @ y
    if coefficients is None:
        coefficients = _optimal(verdicts, centred, known, n, unit, ddof)
    gap = verdicts @ coefficients
    estimate = float(one @ (y - gap) + rest @ gap)
    scale = [np.sqrt(small_sample(rows, n, unit, ddof)) for rows in (known, ~known)]
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = np.where(
            known,
            scale[0] * (centred - (gap - one @ gap)) / n[known].sum(),
            scale[1] * (gap - rest @ gap) / n[~known].sum() if (~known).any() else 0.0,
        )
    return Powered(estimate, coefficients, influence)


def _optimal(verdicts: Floats, centred: Floats, known: Mask, n: Floats, unit: Ints | None, ddof: int) -> Floats:
    """Coefficients with the smallest variance: Σff⁻¹ ΣfY / (1 + n/N), from the clustered covariances.

    Where labelled and other verdicts share clusters, those of the difference of the two means of the verdicts.
    """
    inside, outside = n[known].sum(), n[~known].sum()
    one, rest = shares(n, known), shares(n, ~known)
    if unit is not None and np.intersect1d(unit[known & (n > 0)], unit[~known & (n > 0)]).size:
        own = np.where(known[:, None], verdicts - one @ verdicts, 0.0) / inside
        other = np.where(known[:, None], 0.0, verdicts - rest @ verdicts) / outside
        both = covariance(np.column_stack([own - other, np.where(known, centred, 0.0) / inside]), n, unit)
        k = verdicts.shape[1]
        found = _solved(both[:k, :k], both[:k, k])
    else:
        every = np.ones(len(n), dtype=bool)
        spread = covariance(verdicts - shares(n, every) @ verdicts, n, unit) / n.sum()
        spread = spread * small_sample(every, n, unit, ddof)
        here = np.column_stack([verdicts - one @ verdicts, centred])[known]
        joint = covariance(here, n[known], None if unit is None else unit[known]) / inside
        joint = joint * small_sample(known, n, unit, ddof)
        found = _solved(spread, joint[:-1, -1]) / (1 + inside / outside) if outside > 0 else np.zeros(len(spread))
    return np.clip(found, 0.0, 1.0) if found.size == 1 else found


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solution of a system that may be singular (a constant judge, two equal judges); 0 where it is not finite."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return np.zeros(len(right))
    result: Floats = np.linalg.pinv(matrix, rcond=1e-10, hermitian=True) @ right
    return result


def inversely_weighted(
    verdicts: Floats,
    labels: Floats,
    probability: Floats,
    n: Floats,
    unit: Ints | None = None,
    *,
    ddof: int = 1,
    coefficients: Floats | None = None,
) -> Powered:
    """Mean label from labels drawn with a known probability (N,), and verdicts on all; as :func:`prediction_powered`.

    Zrnic, T., & Candès, E. J. (2024). Active statistical inference. arXiv 2403.03208; weights scaled to a sum of 1.
    """
    known = ~np.isnan(labels)
    every = np.ones(len(n), dtype=bool)
    weight = shares(np.where(known, n / np.where(known, probability, 1.0), 0.0), known)
    all_rows = shares(n, every)
    y = np.where(known, labels, 0.0)
    per_unit = np.divide(weight, n, out=np.zeros_like(weight), where=n > 0)
    own = per_unit[:, None] * (verdicts - weight @ verdicts)
    other = (verdicts - all_rows @ verdicts) / n.sum()
    target = per_unit * (y - weight @ y) * known
    if coefficients is None:
        both = covariance(np.column_stack([own - other, target]), n, unit)
        coefficients = _solved(both[:-1, :-1], both[:-1, -1])
        coefficients = np.clip(coefficients, 0.0, 1.0) if coefficients.size == 1 else coefficients
    estimate = float(weight @ (y - verdicts @ coefficients) + all_rows @ (verdicts @ coefficients))
    scale = [np.sqrt(small_sample(rows, n, unit, ddof)) for rows in (known, every)]
    return Powered(estimate, coefficients, scale[0] * (target - own @ coefficients) + scale[1] * (other @ coefficients))


class ClassRates(NamedTuple):
    """Shares of positive verdicts and of right ones in both classes, with their influences."""

    p: float
    specificity: float
    sensitivity: float
    sizes: Floats  # (3,): verdicts, negative labels, positive labels
    influence: Floats  # (3, N): of a unit of each row on each share


def class_rates(
    verdicts: Floats, labels: Floats, n: Floats, judged: Mask, unit: Ints | None = None, *, ddof: int = 0
) -> ClassRates:
    """Share of positive verdicts among the rows `judged`, specificity and sensitivity from the labels of other rows."""
    parts = [(judged, verdicts), (~judged & (labels == 0), 1 - verdicts), (~judged & (labels == 1), verdicts)]
    found, influence, sizes = [], np.zeros((3, len(n))), np.zeros(3)
    for i, (rows, hit) in enumerate(parts):
        weight = shares(n, rows)
        sizes[i] = n[rows].sum()
        found.append(float(weight @ hit) if sizes[i] > 0 else float("nan"))
        if sizes[i] > 0:
            scale = np.sqrt(small_sample(rows, n, unit, ddof))
            influence[i] = np.where(rows, scale * (hit - found[i]) / sizes[i], 0.0)
    return ClassRates(found[0], found[1], found[2], sizes, influence)


# ---- How many verdicts and labels does a half-width need? ------------------------------------------------------------


class Sizes(NamedTuple):
    """Numbers of verdicts, and of labels (1 or 2,), and their cost; infinite if no numbers suffice."""

    n: float
    m: Floats
    cost: float


def verdicts_by_class(shares: Floats, m: Floats, precision: float, quantile: float) -> Floats:
    """Verdicts (K, B) that give :func:`corrected_interval` a half-width of `precision`, infinite if none do.

    `shares` (B, 3): of positive verdicts, specificity, sensitivity. `m` (K, 2): negative and positive labels.
    """
    p, *right = (shares[:, i][None] for i in range(3))
    (q0, v0), (q1, v1) = (_shrunk(q, m[:, i : i + 1], 1.0) for i, q in enumerate(right))
    gap, z2 = q0 + q1 - 1, quantile**2
    near, n = p, np.full(np.broadcast_shapes(p.shape, gap.shape), np.inf)
    for _ in range(5):  # p is shrunk too, a little, by a number that n decides
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = (near + q0 - 1) / gap
            rest = precision**2 / z2 * gap**2 - (1 - rate) ** 2 * v0 - rate**2 * v1
            n = np.where((gap > 0) & (rest > 0), np.maximum(near * (1 - near) / rest - z2, 0.0), np.inf)
            near = np.where(np.isfinite(n), (n * p + z2 / 2) / (n + z2), p)
    return n


def verdicts_at_random(own: Floats, of_labels: Floats, m: Floats, precision: float, quantile: float) -> Floats:
    """Verdicts (K, B) with which own/n + of_labels/m, m (K, 1), has half-width `precision`; infinite if none do."""
    rest = (precision / quantile) ** 2 - of_labels[None] / m
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(rest > 0, own[None] / rest, np.inf)
    return result


def cheapest_sizes(
    needed: Callable[[Floats], Floats],
    kinds: int,
    prices: tuple[float, float],
    assurance: float,
    *,
    within: bool,
    verdicts: float | None = None,
) -> Sizes:
    """Whole numbers of verdicts and labels with the smallest cost that suffice in a share `assurance` of the draws.

    `needed`: numbers of labels (K, `kinds`) -> verdicts (K, B) that each draw needs. `within`: whether the labelled
    items are among the verdicts, at least half of them then without a label. From the best of a coarse grid by steps
    that halve down to 1.
    """

    def costs(m: Floats) -> tuple[Floats, Floats]:
        draws = needed(m)
        place = int(np.ceil(assurance * draws.shape[1] - 1e-9)) - 1
        n = np.ceil(np.partition(draws, place, axis=1)[:, place] * (1 - 1e-12))
        n = np.maximum(n, 2 * m.sum(axis=1) if within else 1.0)
        if verdicts is not None:
            n = np.where(n <= verdicts, verdicts, np.inf)
        with np.errstate(invalid="ignore"):  # free verdicts, and no number of them suffices
            cost = np.where(np.isfinite(n), prices[0] * n + prices[1] * m.sum(axis=1), np.inf)
        return n, cost

    def product(values: Floats) -> Floats:
        return np.stack(np.meshgrid(*[values] * kinds, indexing="ij"), axis=-1).reshape(-1, kinds)

    most = max(verdicts // 2, 1.0) if within and verdicts is not None else 1e8
    tried = product(np.unique(np.round(np.geomspace(1, most, 28))))
    cost = np.concatenate([costs(part)[1] for part in np.array_split(tried, 8)])
    if not np.isfinite(cost).any():
        return Sizes(np.inf, np.full(kinds, np.inf), np.inf)
    best, least = tried[cost.argmin()], float(cost.min())
    step, around = float(2 ** np.floor(np.log2(best.max()))), product(np.arange(-5.0, 6.0))
    while step >= 1:
        near = np.unique(np.maximum(best + step * around, 1.0), axis=0)
        cost = costs(near)[1]
        if cost.min() < least:
            best, least = near[cost.argmin()], float(cost.min())
        else:
            step /= 2
    return Sizes(float(costs(best[None])[0][0]), best, least)
