"""Bootstrap of counts: clusters are drawn with replacement and their counts added up, never rows."""

from __future__ import annotations

import zlib

import numpy as np
from numba import njit
from numpy.typing import NDArray


def generator(seed: int | np.random.Generator | None, key: tuple[str, ...]) -> np.random.Generator:
    """Generator of one group, so that another group in the data does not change its draws.

    Parameters
    ----------
    seed : int, Generator or None
        A Generator is used as it is.
    key : tuple of str
        What names the group.

    Returns
    -------
    numpy.random.Generator
    """
    if seed is None or isinstance(seed, np.random.Generator):
        return np.random.default_rng(seed)
    return np.random.default_rng([seed, zlib.crc32("\x1f".join(key).encode())])


def cluster_index(rng: np.random.Generator, n_clusters: int, n_resamples: int) -> NDArray[np.int64]:
    """Draw which clusters each resample holds.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    n_clusters, n_resamples : int
        G and B.

    Returns
    -------
    (B, G) int64 array
    """
    return rng.integers(0, n_clusters, size=(n_resamples, n_clusters))


@njit(cache=True)
def _resampled_totals(counts, index):  # type: ignore[no-untyped-def]
    resamples, drawn = index.shape
    width = counts.shape[1]
    totals = np.zeros((resamples, width))
    for b in range(resamples):
        for i in range(drawn):
            g = index[b, i]
            for c in range(width):
                totals[b, c] += counts[g, c]
    return totals


def resampled_totals(counts: NDArray[np.float64], index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Counts of each resample.

    Parameters
    ----------
    counts : (G, P) float array
        Counts of P patterns in G clusters.
    index : (B, G) int array
        Clusters of each resample, from :func:`cluster_index`.

    Returns
    -------
    (B, P) float array
    """
    totals: NDArray[np.float64] = _resampled_totals(np.ascontiguousarray(counts, dtype=np.float64), index)
    return totals


def percentile_interval(draws: NDArray[np.float64], conf_level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of bootstrap draws, infinite ones (censored estimates) included.

    Parameters
    ----------
    draws : (B,) float array
        Statistics of the resamples; NaN draws are left out.
    conf_level : float
        Coverage aimed at.

    Returns
    -------
    low, high : float
        Order statistics (no interpolation, so that an infinite end stays infinite); NaN without draws.
    """
    kept = draws[~np.isnan(draws)]
    if not kept.size:
        return float("nan"), float("nan")
    tail = (1 - conf_level) / 2
    low, high = np.quantile(kept, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)
