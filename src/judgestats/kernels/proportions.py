"""Intervals for proportions and for their differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc, ndtr, ndtri, stdtrit

from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.cluster_robust import ROUNDING, cluster_robust, clustered_ratio
from judgestats.kernels.cluster_sums import NEARLY_INDEPENDENT, effective_clusters
from judgestats.kernels.compiling import TwoForms, njit
from judgestats.typing import Floats, Mask

#: One, or an array of them.
Number: TypeAlias = Floats | float
#: Weight, in clusters, of the pseudo-observation at each bound of a difference.
_PSEUDO = 0.25


def quotient(top: ArrayLike, bottom: ArrayLike, where: ArrayLike = True) -> Floats:
    """`top` over `bottom`, element by element and without a warning; NaN except `where`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(where, np.true_divide(top, bottom), np.nan)
    return result[()]  # a number for numbers


def normal_quantile(conf_level: float) -> float:
    """Two-sided standard normal quantile: 1.959964 for 0.95."""
    return float(ndtri(0.5 + conf_level / 2))


def wilson(
    k: ArrayLike, n: ArrayLike, conf_level: float = CONF_LEVEL, df: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Wilson score interval of `k` of `n`, not necessarily whole, without continuity correction; NaN where n is 0.

    `df`: of Student's t in place of the normal quantile. Wilson, E. B. (1927). Journal of the American Statistical
    Association 22, 209-212.
    """
    k, n = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    z = normal_quantile(conf_level) if df is None else stdtrit(np.asarray(df, dtype=float), 0.5 + conf_level / 2)
    low, high = WILSON.of(k.size)(k, n, np.asarray(z))
    return low, high


def _wilson_centre(p: Number, n: Number, z: Number) -> tuple[Number, Number]:
    """Centre and half width of Wilson's interval, before it is cut at 0 and 1: of numbers or arrays."""
    wider = 1 + z * z / n
    return (p + z * z / (2 * n)) / wider, z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / wider


def _wilson_arrays(k: Floats, n: Floats, z: Floats) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        p = k / n
        p = np.where((n > 0) & (p >= 0) & (p <= 1), p, np.nan)
        centre, half = _wilson_centre(p, n, z)
    low, high = np.maximum(0.0, centre - half), np.minimum(1.0, centre + half)
    return np.where(p == 0, 0.0, low), np.where(p == 1, 1.0, high)


_centre = njit(cache=True)(_wilson_centre)


@njit(cache=True)
def _wilson_ends(k, n, z, low, high):  # type: ignore[no-untyped-def]
    step = z.size > 1
    for i in range(k.size):  # without branches, so that four shares are computed at a time
        p = k[i] / n[i]
        defined = (n[i] > 0) & (p >= 0) & (p <= 1)
        centre, half = _centre(p, n[i], z[i * step])
        below, above = centre - half, centre + half
        below = 0.0 if (below < 0.0) | (p == 0) else below
        above = 1.0 if (above > 1.0) | (p == 1) else above
        low[i], high[i] = below if defined else np.nan, above if defined else np.nan


def _wilson_compiled(k: Floats, n: Floats, z: Floats) -> tuple[Floats, Floats]:
    shape = np.broadcast_shapes(k.shape, z.shape)
    full = [x if x.shape == shape or (x is z and z.size == 1) else np.broadcast_to(x, shape) for x in (k, n, z)]
    ends = np.empty((2, *shape))
    _wilson_ends(*(np.require(x, np.float64, ["C", "W"]).ravel() for x in full), *ends.reshape(2, -1))  # of one type
    return ends[0], ends[1]


#: Ends of Wilson's intervals of shares (N,) by quantiles, one or (N,).
WILSON = TwoForms(_wilson_arrays, _wilson_compiled)


def clustered_wilson(
    k: Floats, n: Floats, conf_level: float = CONF_LEVEL, alike: Floats | None = None
) -> tuple[float, float, float]:
    """Standard error and Wilson interval of a pooled proportion; `k`, `n` (G,) of each cluster, `alike` (G,) of each.

    The error is the cluster-robust one; ``n_eff = p (1 - p) / std_error**2`` (at 0 and 1 the effective number of
    clusters), with t on Satterthwaite's degrees of freedom. Where fewer than 10 clusters have another share than the
    most frequent one, n_eff is at most the number of calls: their variance is not known well enough to say that calls
    of a cluster make up for each other. Of clusters of more than 3 calls on average, which need not be independent,
    there are at most 2 degrees of freedom more than clusters with the rarer answer are worth: the variance of a rare
    answer comes from these alone (decision 81). NaN for fewer than two clusters.
    """
    alike = np.ones(n.size) if alike is None else alike
    if not n.all():
        k, n, alike = (x[n > 0] for x in (k, n, alike))
    p, variance, df = clustered_ratio(k, n, alike)
    if math.isnan(variance):
        return math.nan, math.nan, math.nan
    total = float(alike @ n)
    if p in (0.0, 1.0):
        effective = effective_clusters(n, alike)
    else:
        clusters = float(alike.sum())
        one_answer = n.min() == n.max() and bool(((k == 0) | (k == n)).all())  # of each cluster, given often
        if not one_answer:
            df = min(df, _of_the_rarer(n, alike, k > 0, k < n))
        effective = p * (1 - p) / variance if variance > 0 else total
        if effective > total and (clusters < 10 or clusters - _most_frequent(k / n, alike) < 10):
            effective = total
    centre, half = map(float, _wilson_centre(p, effective, float(stdtrit(df, 0.5 + conf_level / 2))))
    low, high = max(0.0, centre - half) if p > 0 else 0.0, min(1.0, centre + half) if p < 1 else 1.0
    return math.sqrt(variance), low, high


def _of_the_rarer(n: Floats, alike: Floats, *others: Mask) -> float:
    """Degrees of freedom that the clusters (G,) with another answer than the most frequent one allow (decision 81)."""
    if float(alike @ n) <= NEARLY_INDEPENDENT * float(alike.sum()):
        return math.inf
    return 2.0 + min(effective_clusters(n[other], alike[other]) for other in others)


def _most_frequent(share: Floats, alike: Floats) -> float:
    """How many clusters have the most frequent share."""
    _, code = np.unique(np.round(share, 12), return_inverse=True)
    return float(np.bincount(code, weights=alike).max())


def clustered_ratios(
    k: Floats,
    n: Floats,
    weight: Floats,
    conf_level: float = CONF_LEVEL,
    bound: float = math.inf,
    *,
    things: float = math.nan,
) -> tuple[float, float, float, float]:
    """Estimate, cluster-robust standard error and t interval of a sum, by weight (P,), of ratios of totals (G, P).

    With a finite bound the interval is that of the data and two pseudo-observations at the bounds, each of a quarter of
    a cluster, as Agresti and Min (2005, Statistics in Medicine 24, 729-740) add them to a paired difference: the few
    clusters that decide on a skewed difference may all be absent from a sample, which then looks too precise. A
    difference of shares of many `things` in each cluster is not near its bounds there: a pseudo-observation is a
    quarter of a thing, of as many as the clusters are worth, and a quarter of a cluster at most.
    """
    there = (n > 0).any(axis=1)
    k, n = k[there], n[there]
    value, variance, df = cluster_robust(k, n, weight)
    if not math.isfinite(variance):
        return value, math.nan, math.nan, math.nan
    error = math.sqrt(variance)
    quantile = float(stdtrit(df, 0.5 + conf_level / 2))
    if math.isinf(bound):
        return value, error, value - quantile * error, value + quantile * error
    clusters, pseudo = len(n), _PSEUDO
    if things > clusters:
        share = k.sum(axis=0) / n.sum(axis=0)
        independent = float((share * (1 - share) / n.sum(axis=0) * weight**2).max())
        effect = max(variance / independent, 1.0) if independent > 0 else math.inf
        pseudo *= min(clusters / things * effect, 1.0)
    more = clusters + 2 * pseudo
    centre = value * clusters / more
    spread = (clusters - 1) * variance * clusters + clusters * (value - centre) ** 2
    spread += 2 * pseudo * (bound**2 + centre**2)  # squares about the centre of clusters and pseudo-observations
    half = quantile * math.sqrt(spread / (clusters - 1) * clusters) / more
    return value, error, max(centre - half, -bound), min(centre + half, bound)


def clustered_mean(k: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> tuple[float, float, float, float]:
    """Mean, cluster-robust standard error and t interval of things with sums `k` (G,) over `n` of them in each cluster.

    The error is 0, and the ends NaN, where the means of all clusters are alike but for rounding.
    """
    value, error, low, high = clustered_ratios(k[:, None], n[:, None], np.ones(1), conf_level)
    if error <= 1e-12 * max(1.0, abs(value)):
        return value, 0.0, math.nan, math.nan
    return value, error, low, high


def newcombe(k1: float, n1: float, k2: float, n2: float, conf_level: float = CONF_LEVEL) -> tuple[float, float]:
    """Newcombe's hybrid score interval of k1/n1 - k2/n2, independent samples (method 10); NaN where one is empty.

    Newcombe, R. G. (1998). Statistics in Medicine 17, 873-890.
    """
    (l1, l2), (u1, u2) = wilson([k1, k2], [n1, n2], conf_level)
    return _square_and_add(k1 / n1 if n1 else math.nan, l1, u1, k2 / n2 if n2 else math.nan, l2, u2, 0.0)


#: Scale of a share, and its slope.
Scale: TypeAlias = tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]
AS_IT_IS: Scale = (lambda p: p, np.ones_like)


def clustered_sum(
    k: Floats,
    n: Floats,
    weight: Floats,
    conf_level: float = CONF_LEVEL,
    alike: Floats | None = None,
    scale: Scale = AS_IT_IS,
) -> tuple[float, float, float]:
    """Standard error and interval of a sum, by `weight` (P,), of shares of calls in the same clusters: k, n (G, P).

    MOVER of :func:`clustered_wilson` of each, on a rising scale, with the correlation of the shares over clusters.

    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702.
    """
    times = np.ones(len(n)) if alike is None else alike
    errors, *limits = np.array([clustered_wilson(k[:, i], n[:, i], conf_level, times) for i in range(len(weight))]).T
    total = times @ n
    share = times @ k / total
    residuals = (k - share * n) / total
    products = (residuals.T * times) @ residuals
    spread = np.sqrt(np.outer(np.diag(products), np.diag(products)))
    correlation = np.nan_to_num(quotient(products, spread, spread > ROUNDING)) * np.outer(
        np.sign(weight), np.sign(weight)
    )
    np.fill_diagonal(correlation, 1.0)
    with np.errstate(divide="ignore"):
        value, low, high = (scale[0](x) for x in (share, *limits))
        below, above = value - low, high - value
        parts = (errors * scale[1](share), np.where(weight > 0, below, above), np.where(weight > 0, above, below))
    sizes = (np.abs(weight) * x for x in parts)
    error, lower, upper = (math.sqrt(max(float(x @ correlation @ x), 0.0)) for x in sizes)
    estimate = float(weight @ value)
    return error, estimate - lower, estimate + upper


def newcombe_paired(a: float, b: float, c: float, d: float, conf_level: float = CONF_LEVEL) -> tuple[float, float]:
    """Newcombe's interval of (b - c)/n (method 10 of the paired paper), of pairs right in both, first, second, neither.

    Newcombe, R. G. (1998). Statistics in Medicine 17, 2635-2650.
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


def tango(b: float, c: float, n: float, conf_level: float = CONF_LEVEL) -> tuple[float, float]:
    """Tango's score interval of a paired difference (b - c)/n, which need not be whole; NaN where n is 0.

    The test of 0 is McNemar's without correction. Without discordant pairs the ends are ±z²/(n + z²): the width is
    never 0. Tango, T. (1998). Statistics in Medicine 17, 891-908.
    """
    if not n > 0:
        return math.nan, math.nan
    z = normal_quantile(conf_level)
    d = (b - c) / n
    return -_tango_end(c, b, n, -d, z), _tango_end(b, c, n, d, z)


def _tango_end(b: float, c: float, n: float, d: float, z: float) -> float:
    """The largest difference that the score test does not reject, by bisection between the estimate and 1."""
    low, high = d, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        linear = (2 * n - b + c) * middle - b - c
        q = (math.sqrt(linear * linear + 8 * n * c * middle * (1 - middle)) - linear) / (4 * n)
        variance = n * (2 * q + middle * (1 - middle))
        inside = (b - c - n * middle) ** 2 <= z * z * variance
        low, high = (middle, high) if inside else (low, middle)
    return (low + high) / 2


class PairedClusters(NamedTuple):
    """A paired difference of pairs that come in clusters."""

    std_error: float  # cluster-robust
    low: float  # low, high: Tango's interval of the n that the clusters are worth, with t on the clusters' df
    high: float
    statistic: float  # McNemar's, without correction, of that n; NaN without discordant pairs
    p_value: float  # of F on 1 and these df: it is below 1 - conf_level where the interval leaves out 0
    df: float  # Satterthwaite's degrees of freedom


def clustered_tango(
    b: Floats,
    c: Floats,
    n: Floats,
    conf_level: float = CONF_LEVEL,
    alike: Floats | None = None,
    *,
    of_one_sample: bool = False,
) -> PairedClusters:
    """Difference of two proportions of the same pairs, which come in clusters: b, c, n (G,), `alike` of each.

    The counts are divided by the design effect, the cluster-robust variance over that of independent
    pairs, as Rao and Scott (1992) do; Tango's interval and McNemar's test are then applied to them. With one pair a
    cluster the design effect is G / (G - 1). Without discordant pairs, or where they cancel in every cluster, n is the
    number of clusters and no pair is discordant. `of_one_sample`: of calls, not of pairs; degrees of
    freedom are then limited as those of a share.

    Rao, J. N. K., Scott, A. J. (1992). Biometrics 48, 577-585. Compare Obuchowski, N. A. (1998), Statistics in Medicine
    17, 1495-1507, and Durkalski, V. L. et al. (2003), Statistics in Medicine 22, 2417-2428.
    """
    there = n > 0
    alike = (np.ones(n.size) if alike is None else alike)[there]
    b, c, n = b[there], c[there], n[there]
    difference, variance, df = clustered_ratio(b - c, n, alike)
    if math.isnan(variance):
        return PairedClusters(math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)
    if of_one_sample:
        df = min(df, _of_the_rarer(n, alike, b < n, c < n))
    total, one, two = float(alike @ n), float(alike @ b), float(alike @ c)
    independent = max(((one + two) / total - difference**2) / total, 0.0)
    level = 2 * float(ndtr(stdtrit(df, 0.5 + conf_level / 2))) - 1
    effective = effective_clusters(n, alike)
    if one + two == 0 or (variance == 0 and difference == 0):
        low, high = tango(0.0, 0.0, effective, level)
        return PairedClusters(0.0, low, high, math.nan, 1.0, df)
    scale = effective / total if independent <= ROUNDING else independent / variance if variance > 0 else 1.0
    low, high = tango(one * scale, two * scale, total * scale, level)
    statistic = (one - two) ** 2 / (one + two) * scale
    return PairedClusters(math.sqrt(variance), low, high, statistic, float(fdtrc(1, df, statistic)), df)


def _square_and_add(
    p1: float, l1: float, u1: float, p2: float, l2: float, u2: float, phi: float
) -> tuple[float, float]:
    below = (p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    above = (u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    return p1 - p2 - math.sqrt(below), p1 - p2 + math.sqrt(above)


def goodman(counts: Floats, conf_level: float = CONF_LEVEL) -> tuple[Floats, Floats]:
    """Simultaneous intervals of multinomial shares (m,): Wilson at level 1 - α/m.

    Goodman, L. A. (1965). Technometrics 7, 247-254 (the chi-square on one degree of freedom with α/m).
    """
    counts = np.asarray(counts, dtype=float)
    level = 1 - (1 - conf_level) / counts.size
    return wilson(counts, np.full(counts.size, counts.sum()), level)
