"""Numbers of verdicts and labels needed for a given half-width of a corrected rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from judgestats.kernels.corrected_means import shrunk_share
from judgestats.typing import Floats


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
    (q0, v0), (q1, v1) = (shrunk_share(q, m[:, i : i + 1], 1.0) for i, q in enumerate(right))
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
