"""Variance and degrees of freedom of ratios, and of functions of totals, over clusters of any size."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from judgestats.typing import Floats

#: A variance up to this is rounding: that of counts is above n**-4, and 0 where all clusters are alike.
ROUNDING = 1e-30


class ClusterRobust(NamedTuple):
    """A weighted sum of ratios of totals, with its cluster-robust variance."""

    estimate: float
    variance: float  # CR2; NaN with fewer than two clusters, or where one cluster has the whole of a ratio
    df: float  # Satterthwaite's, at most G - 1 for one ratio


def degrees_of_freedom(n: Floats, alike: Floats | float = 1.0) -> float:
    """Satterthwaite's degrees of freedom of a mean over clusters of sizes `n` (G,), `alike` of each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = n / (alike * n).sum()
        squares = leverage**2
        return _satterthwaite(squares, squares / (1.0 - leverage), alike)


def _satterthwaite(squares: Floats, adjusted: Floats, alike: Floats | float) -> float:
    """Degrees of freedom from squared leverages h² (G,) and h²/(1 - h); a row represents `alike` clusters."""
    of_all = float((alike * squares).sum() + (alike * adjusted).sum() ** 2 - (alike * adjusted * adjusted).sum())
    return 1.0 / of_all if of_all > 0 else math.nan


def variance_degrees(influence: Floats, alike: Floats | float = 1.0) -> float:
    """Degrees of freedom of the variance of an estimate with these influences (G,) of clusters, by their kurtosis κ.

    2 G / (κ - 1), Satterthwaite's of a mean of squares: where a few influences make up the variance, a sample without
    these has too small an estimate and too small a variance at once. Infinite where all are of one size.
    """
    squares = influence * influence
    total = float((alike * squares).sum())
    clusters = float((alike * np.ones(influence.size)).sum())
    excess = float((alike * squares * squares).sum()) / total**2 - 1.0 / clusters if total > 0 else 0.0
    return 2.0 / excess if excess > 1e-12 else math.inf


def skewed_ends(
    value: float, error: float, df: float, influence: Floats, conf_level: float, alike: Floats | float = 1.0
) -> tuple[float, float]:
    """Ends of Student's interval of a mean, moved by the skewness of the influences (G,) of its clusters.

    With γ = Σu³ / (Σu²)^1.5, t + γ t²/3 + γ² t³/27 + γ/6 is nearly symmetric; its quantiles are taken back to t.

    Hall, P. (1992). Journal of the Royal Statistical Society B 54, 221-228.
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(df, (1 + conf_level) / 2))
    skewness = float((alike * influence**3).sum()) / float((alike * influence**2).sum()) ** 1.5
    if abs(skewness) < 1e-6:
        return value - quantile * error, value + quantile * error
    low, high = (3 / skewness * (math.cbrt(1 + skewness * (t - skewness / 6)) - 1) for t in (quantile, -quantile))
    return value - error * low, value - error * high


def clustered_ratio(k: Floats, n: Floats, alike: Floats) -> ClusterRobust:
    """:func:`cluster_robust` of one ratio of totals of `k` and `n` (G,), the latter above 0, without its matrices."""
    total = float(alike @ n)
    if n.size < 2 and alike.sum() < 2:
        return ClusterRobust(float(alike @ k / total) if total > 0 else math.nan, math.nan, math.nan)
    estimate = float(alike @ k) / total
    leverage = n / total
    left = 1.0 - leverage
    if not left.min() > 0:  # the weights of all others are nothing beside that of one
        return ClusterRobust(estimate, math.nan, math.nan)
    squares, residuals = leverage * leverage, k - estimate * n
    variance = float(alike @ (residuals * residuals / left)) / total**2
    df = _satterthwaite(squares, squares / left, alike)
    return ClusterRobust(estimate, variance if variance > ROUNDING else 0.0, df)


def linearised_error(influence: Floats, n: Floats) -> tuple[float, float]:
    """Standard error (CR2) and degrees of freedom of an estimate from the influences (G,) of clusters of sizes `n`.

    That of a ratio of totals is :func:`cluster_robust`'s. NaN for fewer than two clusters.
    """
    df = degrees_of_freedom(n)
    if math.isnan(df):
        return math.nan, math.nan
    variance = float((influence**2 / (1.0 - n / n.sum())).sum())
    return math.sqrt(variance) if variance > ROUNDING else 0.0, df


def cluster_robust(k: Floats, n: Floats, weight: Floats, alike: Floats | None = None) -> ClusterRobust:
    """Sum, by `weight` (P,), of the ratios of the totals of `k` and `n` (G, P); `alike` (G,): clusters of each row.

    The variance is CR2 under a working model of independent calls of equal variance, with Satterthwaite's degrees of
    freedom: that of least squares on one indicator a ratio. With h the share of a ratio's calls in a cluster, residual
    sums are divided by the root of 1 - h; of equal clusters this is G / (G - 1), and G - 1.

    Bell, R. M., McCaffrey, D. F. (2002). Survey Methodology 28, 169-181. Pustejovsky, J. E., Tipton, E. (2018). Journal
    of Business & Economic Statistics 36, 672-683.
    """
    times = np.ones(len(n)) if alike is None else alike
    total = times @ n
    with np.errstate(divide="ignore", invalid="ignore"):
        share = times @ k / total
        estimate = float(share @ weight)
        leverage = n / total
        root = np.sqrt(1.0 - leverage)
        scaled = weight / total
        residuals = ((k - share * n) / root) @ scaled
        adjusted = leverage / root
    if times[(n > 0).any(axis=1)].sum() < 2 or not (root > 0).all():
        return ClusterRobust(estimate, math.nan, math.nan)
    variance = float(times @ residuals**2)
    # squares of the covariances of residual sums under the working model, on the diagonal and off it
    part = weight * scaled
    on = float(times @ (leverage @ part) ** 2)
    product = (adjusted * times[:, None]).T @ adjusted
    off = float(part @ (product**2 - (adjusted**2 * times[:, None]).T @ adjusted**2) @ part)
    return ClusterRobust(estimate, variance if variance > ROUNDING else 0.0, float(part.sum()) ** 2 / (on + off))


class Jackknife(NamedTuple):
    """Interval of an estimate from its values without each cluster: NaN where all of these are alike."""

    std_error: float  # CR3
    low: float
    high: float
    p_value: float  # of an estimate of 0; below 1 - conf_level only where the interval leaves out 0


def jackknife_interval(
    estimate: float,
    without: Floats,
    n: Floats,
    conf_level: float,
    alike: Floats | None = None,
    most_df: float = math.inf,
) -> Jackknife:
    """Standard error and Student's interval from estimates (G,) without each cluster of sizes `n`, `alike` of each.

    It reaches farther by the bias of the jackknife to the side to which the estimate would be corrected: with h the
    share of a cluster, the sum of (1 - h) (without - estimate). Degrees of freedom are those of a mean, and at most
    those of the variance of such values, or `most_df`.

    Busing, F. M. T. A., Meijer, E., Van der Leeden, R. (1999). Statistics and Computing 9, 3-8. MacKinnon, J. G.,
    Nielsen, M. O., Webb, M. D. (2023). Journal of Applied Econometrics 38, 671-694 (CV3).
    """
    times = np.ones(n.size) if alike is None else alike
    clusters, df = float(times.sum()), degrees_of_freedom(n, times)
    if clusters < 2 or math.isnan(df):
        return Jackknife(math.nan, math.nan, math.nan, math.nan)
    mean = float(times @ without) / clusters
    error = math.sqrt((clusters - 1) / clusters * float(times @ (without - mean) ** 2))
    if not error > 1e-12:
        return Jackknife(math.nan, math.nan, math.nan, math.nan)
    df = min(df, variance_degrees(without - mean, times), most_df)
    bias = float((times * (1 - n / (times @ n))) @ (without - estimate))
    from scipy.special import stdtr, stdtrit  # the flags of a first look use this module, and need none of it

    half, p = float(stdtrit(df, (1 + conf_level) / 2)) * error, float(2 * stdtr(df, -abs(estimate) / error))
    return Jackknife(error, estimate - half - max(bias, 0.0), estimate + half - min(bias, 0.0), p)
