"""Intervals for proportions and for their differences."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

#: A variance between clusters up to this is rounding: that of counts is above n**-4, and 0 where all are alike.
ROUNDING = 1e-30


@njit(cache=True)
def _wilson1(p, n, z):  # type: ignore[no-untyped-def]
    if not n > 0 or not (0 <= p <= 1):
        return math.nan, math.nan
    z2 = z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if p == 0 else max(0.0, centre - half)
    high = 1.0 if p == 1 else min(1.0, centre + half)
    return low, high


@njit(cache=True)
def _wilson(p, n, z):  # type: ignore[no-untyped-def]
    low = np.empty(p.size)
    high = np.empty(p.size)
    for i in range(p.size):
        low[i], high[i] = _wilson1(p[i], n[i], z[i])
    return low, high


def normal_quantile(conf_level: float) -> float:
    """Two-sided standard normal quantile: 1.959964 for 0.95."""
    return float(ndtri(0.5 + conf_level / 2))


def wilson(
    k: ArrayLike, n: ArrayLike, conf_level: float = 0.95, df: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson score interval, without continuity correction.

    Parameters
    ----------
    k, n : array_like
        Successes and trials; neither need be whole (an effective n is not).
    conf_level : float
        Coverage aimed at.
    df : array_like, optional
        Degrees of freedom of Student's t in place of the normal quantile, for a clustered interval.

    Returns
    -------
    low, high : float arrays
        Of the broadcast shape of `k` and `n`; NaN where n is 0. Exactly 0 for k = 0 and exactly 1 for k = n.

    References
    ----------
    Wilson, E. B. (1927). Journal of the American Statistical Association 22, 209-212.

    Examples
    --------
    >>> low, high = wilson(81, 263)
    >>> print(f"{low:.8f} {high:.8f}")
    0.25528852 0.36620958
    """
    k, n = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(n > 0, k / n, np.nan)
    z = normal_quantile(conf_level) if df is None else stdtrit(np.asarray(df, dtype=float), 0.5 + conf_level / 2)
    z = np.broadcast_to(np.asarray(z, dtype=float), p.shape)
    low, high = _wilson(
        np.ascontiguousarray(p).ravel(), np.ascontiguousarray(n).ravel(), np.ascontiguousarray(z).ravel()
    )
    return low.reshape(p.shape), high.reshape(p.shape)


def clustered_wilson(
    k: NDArray[np.float64], n: NDArray[np.float64], conf_level: float = 0.95
) -> tuple[float, float, float]:
    """Wilson interval of a pooled proportion whose calls come in clusters.

    Parameters
    ----------
    k, n : (G,) float arrays
        Successes and trials of each cluster; clusters without trials are left out.
    conf_level : float
        Coverage aimed at.

    Returns
    -------
    std_error, low, high : float
        The linearised standard error of the ratio, and the Wilson interval with
        ``n_eff = p (1 - p) / std_error**2`` (at 0 and 1 the number of clusters; the number of calls where all clusters
        have the same share) and t on G - 1. All NaN for G < 2.
    """
    k, n = k[n > 0], n[n > 0]
    clusters = n.size
    if clusters < 2:
        return math.nan, math.nan, math.nan
    total = n.sum()
    p = k.sum() / total
    variance = clusters / (clusters - 1) * float(((k - p * n) ** 2).sum()) / total**2
    variance = 0.0 if variance <= ROUNDING else variance
    if p in (0.0, 1.0):
        effective = float(clusters)
    else:
        effective = p * (1 - p) / variance if variance > 0 else float(total)
    low, high = wilson(p * effective, effective, conf_level, df=clusters - 1)
    return math.sqrt(variance), float(low), float(high)


def newcombe(k1: float, n1: float, k2: float, n2: float, conf_level: float = 0.95) -> tuple[float, float]:
    """Newcombe's hybrid score interval of k1/n1 - k2/n2, independent samples (method 10).

    Parameters
    ----------
    k1, n1, k2, n2 : float
        Successes and trials.
    conf_level : float
        Coverage aimed at.

    Returns
    -------
    low, high : float
        NaN where a sample is empty.

    References
    ----------
    Newcombe, R. G. (1998). Statistics in Medicine 17, 873-890.

    Examples
    --------
    >>> low, high = newcombe(56, 70, 48, 80)
    >>> print(f"{low:.8f} {high:.8f}")
    0.05243147 0.33387265
    """
    (l1, l2), (u1, u2) = wilson([k1, k2], [n1, n2], conf_level)
    return _square_and_add(k1 / n1 if n1 else math.nan, l1, u1, k2 / n2 if n2 else math.nan, l2, u2, 0.0)


def newcombe_paired(a: float, b: float, c: float, d: float, conf_level: float = 0.95) -> tuple[float, float]:
    """Newcombe's interval of a paired difference (a + b)/n - (a + c)/n (method 10 of the paired paper).

    Parameters
    ----------
    a, b, c, d : float
        Pairs that succeed in both, in the first only, in the second only, in neither.
    conf_level : float
        Coverage aimed at.

    Returns
    -------
    low, high : float
        NaN where there are no pairs.

    References
    ----------
    Newcombe, R. G. (1998). Statistics in Medicine 17, 2635-2650.

    Examples
    --------
    >>> low, high = newcombe_paired(36, 12, 2, 0)  # Newcombe's example: 0.0569 to 0.3404
    >>> print(f"{low:.4f} {high:.4f}")
    0.0569 0.3404
    """
    n = a + b + c + d
    if not n > 0:
        return math.nan, math.nan
    (l1, l2), (u1, u2) = wilson([a + b, a + c], [n, n], conf_level)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        phi = 0.0
    else:
        cross = a * d - b * c
        phi = (max(cross - n / 2, 0.0) if cross > 0 else cross) / math.sqrt(margins)
    return _square_and_add((a + b) / n, l1, u1, (a + c) / n, l2, u2, phi)


def _square_and_add(
    p1: float, l1: float, u1: float, p2: float, l2: float, u2: float, phi: float
) -> tuple[float, float]:
    below = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    above = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    return p1 - p2 - math.sqrt(below), p1 - p2 + math.sqrt(above)


def goodman(counts: NDArray[np.float64], conf_level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Simultaneous intervals of multinomial shares: Wilson at level 1 - α/m.

    Parameters
    ----------
    counts : (m,) float array
        Counts of the m classes.
    conf_level : float
        Simultaneous coverage aimed at.

    Returns
    -------
    low, high : (m,) float arrays

    References
    ----------
    Goodman, L. A. (1965). Technometrics 7, 247-254 (the chi-square on one degree of freedom with α/m).

    Examples
    --------
    >>> low, high = goodman(np.array([2.0, 58.0, 0.0]))
    >>> print(low.round(3), high.round(3))
    [0.007 0.859 0.   ] [0.141 0.993 0.087]
    """
    counts = np.asarray(counts, dtype=float)
    level = 1 - (1 - conf_level) / counts.size
    return wilson(counts, np.full(counts.size, counts.sum()), level)
