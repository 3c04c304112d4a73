"""Influences summed over clusters, their covariance, and how many clusters unequal ones are worth."""

from __future__ import annotations

import numpy as np

from judgestats.typing import Floats, Integers, Mask


def cluster_sums(influence: Floats, n: Floats, unit: Integers | None) -> tuple[Floats, Floats]:
    """Sums of influences (N, k) of n units over clusters (N,), and how many clusters each sum represents."""
    if unit is None:
        return influence, n.astype(float)
    size = int(unit.max(initial=-1)) + 1
    weighted = influence * n[:, None]
    sums: Floats = np.zeros((size, influence.shape[1]))
    np.add.at(sums, unit, weighted)
    return sums, np.ones(size)


#: Calls of a cluster, on average, up to which they are nearly independent.
NEARLY_INDEPENDENT = 3


def sums_within(rows: Floats, code: Integers, size: int) -> Floats:
    """Sums of rows (R, P) over the `size` clusters of their `code` (R,)."""
    return np.column_stack([np.bincount(code, weights=c, minlength=size) for c in rows.T]).astype(np.float64)


def covariance(influence: Floats, n: Floats, unit: Integers | None) -> Floats:
    """Sums of products (k, k) of influences summed within clusters."""
    sums, alike = cluster_sums(influence, n, unit)
    return np.asarray((sums * alike[:, None]).T @ sums, np.float64)


def n_clusters(rows: Mask, n: Floats, unit: Integers | None) -> float:
    """Number of clusters, or of units where they are not clustered, among some rows."""
    rows = rows & (n > 0)
    return float(n[rows].sum() if unit is None else np.unique(unit[rows]).size)


def small_sample(rows: Mask, n: Floats, unit: Integers | None, ddof: int) -> float:
    """The factor G / (G - ddof) of a variance over the clusters of some rows; NaN where there are too few."""
    clusters = n_clusters(rows, n, unit)
    return clusters / (clusters - ddof) if clusters > ddof else float("nan")


def leverage_scale(weights: Floats, n: Floats, unit: Integers | None) -> Floats:
    """Factor (N,) of influences on a mean: 1 over the root of 1 - h, h the share of a row's cluster in `weights`.

    The variance is then CR2 under independent units; of equal clusters it is G / (G - 1). NaN for one cluster.
    """
    single = np.divide(weights, n, out=np.zeros(len(n)), where=n > 0)
    leverage = single if unit is None else np.bincount(unit, weights)[unit]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(leverage < 1 - 1e-12, 1 / np.sqrt(1 - leverage), np.nan)


def effective_clusters(n: Floats, alike: Floats | float = 1.0) -> float:
    """How many clusters of equal size are worth those of sizes `n` (G,), `alike` of each: (Σn)²/Σn².

    Carter, A. V., Schnepel, K. T., Steigerwald, D. G. (2017). Review of Economics and Statistics 99, 698-709.
    """
    weighted = alike * n
    squares = float(weighted @ n)
    return float(weighted.sum()) ** 2 / squares if squares > 0 else 0.0
