"""An estimate with its interval, as a value, and its constructors: the one place where errors become ends.

A share, a difference of shares of one sample, a mean, a number with an error and degrees of freedom, a statistic of
clusters by the jackknife; resamples are read off in :mod:`judgestats.counting.bootstrap`. Profile intervals of models
are their own. May import methods, flags, results and kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtrit

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.cluster_robust import (
    cluster_robust,
    clustered_ratio,
    jackknife_interval,
    skewed_ends,
    variance_degrees,
)
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.proportions import (
    clustered_tango,
    clustered_wilson,
    newcombe_paired,
    normal_quantile,
    wilson,
)
from judgestats.results import with_interval
from judgestats.typing import Floats, Record
from judgestats.wording import Method

#: An error up to this part of the estimate, or of 1, is rounding: nothing varies.
NOTHING = 1e-12
#: Bounds of a share, of a difference of shares and of a coefficient, of what is not negative, and of any number.
SHARE, POINTS, AT_LEAST_0, ANY = (0.0, 1.0), (-1.0, 1.0), (0.0, math.inf), (-math.inf, math.inf)


class Transform(NamedTuple):
    """A scale on which an interval is symmetric."""

    to: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]  # of `to`


ON_Z = Transform(np.arctanh, np.tanh, lambda x: 1 / (1 - x * x))
ON_LOGIT = Transform(logit, expit, lambda x: 1 / (x * (1 - x)))
ON_LOG = Transform(np.log, np.exp, lambda x: 1 / x)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number with its interval and what stands beside it; arrays of numbers take their ends from `student_ends`."""

    value: float
    n: float = math.nan
    std_error: float = math.nan
    df: float = math.inf
    low: float = math.nan
    high: float = math.nan
    conf_level: float = math.nan
    method: Method = methods.NONE
    flag: str = ""  # a Flag or Cautions
    p_value: float = math.nan  # of no difference, where it is tested

    @property
    def interval(self) -> Record:
        """The cells of its interval, with method and flag: of a row that knows its estimate."""
        of = with_interval(self.std_error, self.low, self.high, method=self.method, flag=self.flag)
        return of if math.isnan(self.p_value) else {**of, "p_value": self.p_value}

    @property
    def cells(self) -> Record:
        """The cells of a row: the estimate, its interval, method and flag; n where it is known."""
        of: Record = {"estimate": self.value, **self.interval}
        return of if math.isnan(self.n) else {**of, "n": self.n}

    @property
    def folded(self) -> Estimate:
        """Absolute value of a signed estimate, its interval folded at 0, with the error of the signed one."""
        low, high = folded_ends(self.low, self.high)
        return replace(self, value=abs(self.value), low=low, high=high)

    @property
    def root(self) -> Estimate:
        """Square root of an estimate of a mean of squares, with the error of the delta method."""
        low, value, high = (math.sqrt(max(x, 0.0)) for x in (self.low, self.value, self.high))
        error = self.std_error / (2 * value) if value else math.nan
        return replace(self, value=value, std_error=error, low=low, high=high)

    def by_influences(self, influence: Floats, conf_level: float, alike: Floats | float = 1.0) -> Estimate:
        """The same with Student's ends, for the kurtosis and skewness of the influences (G,) of its clusters."""
        df = min(self.df, variance_degrees(influence, alike))
        low, high = skewed_ends(self.value, self.std_error, df, influence, conf_level, alike)
        return replace(self, df=df, low=low, high=high)

    def flagged(self, *more: str) -> Estimate:
        """The same with further flags behind its own."""
        return replace(self, flag=flags.join(self.flag, *more))


def folded_ends(low: float, high: float) -> tuple[float, float]:
    """Ends of the absolute value of what lies between two numbers; NaN without these."""
    least, most = sorted((abs(low), abs(high)))
    return 0.0 if low <= 0 <= high else least, math.nan if math.isnan(low + high) else most


def quantile(df: float, conf_level: float) -> float:
    """Two-sided quantile of Student's t: of a normal variable for infinite `df`, NaN where there are none."""
    return normal_quantile(conf_level) if df == math.inf else float(stdtrit(df, 0.5 + conf_level / 2))


def quantiles(df: ArrayLike, conf_level: float) -> Floats:
    """:func:`quantile` of an array."""
    df = np.asarray(df, dtype=float)
    of_t = stdtrit(np.where(np.isinf(df), math.nan, df), 0.5 + conf_level / 2)
    return np.where(np.isinf(df), normal_quantile(conf_level), of_t)


def varies(value: float, error: float) -> bool:
    """Whether an error is more than rounding; False where there is none."""
    return error > NOTHING * max(1.0, abs(value))


def student_ends(
    value: ArrayLike,
    error: ArrayLike,
    df: ArrayLike,
    conf_level: float,
    *,
    bounds: tuple[float, float] = ANY,
    transform: Transform | None = None,
    bias: ArrayLike = 0.0,
) -> tuple[Floats, Floats]:
    """Ends of Student's interval of numbers or arrays, within `bounds`; NaN where nothing varies.

    `transform`: on which it is symmetric; the `value` must be inside its range. `bias`: to the side to which the
    estimate would be corrected the interval reaches farther by it.
    """
    value, error = np.asarray(value, dtype=float), np.asarray(error, dtype=float)
    half = quantiles(df, conf_level) * error
    half = np.where(error > NOTHING * np.maximum(1.0, np.abs(value)), half, math.nan)
    below, above = -half - np.maximum(bias, 0.0), half - np.minimum(bias, 0.0)
    if transform is None:
        low, high = value + below, value + above
    else:
        slope, at = transform.slope(value), transform.to(value)
        low, high = transform.back(at + slope * below), transform.back(at + slope * above)
    return np.maximum(low, bounds[0]), np.minimum(high, bounds[1])


def student(
    value: float,
    error: float,
    df: float = math.inf,
    *,
    conf_level: float,
    method: Method = methods.T,
    flag: str = "",
    bounds: tuple[float, float] = ANY,
    transform: Transform | None = None,
) -> Estimate:
    """An estimate with Student's interval: normal for infinite `df`; flagged, without an error, where nothing varies.

    Without an error (NaN) there is no interval either; why is the caller's to say.
    """
    estimate = Estimate(value, df=df, conf_level=conf_level, method=method, flag=flag)
    if math.isnan(error) or math.isnan(value):
        return estimate
    if not varies(value, error):
        return estimate.flagged(flags.NO_SPREAD)
    low, high = student_ends(value, error, df, conf_level, bounds=bounds, transform=transform)
    return replace(estimate, std_error=error, low=float(low), high=float(high))


def student_of_cells(
    value: float, error: float, df: float, conf_level: float, *, bounds: tuple[float, float] = ANY
) -> Estimate:
    """A contrast of a judge's own cells of a table by judges and systems; no interval where `df` is 0."""
    if not df:
        return Estimate(value, conf_level=conf_level, flag=flags.OWN_OR_TASTE)
    return student(value, error, df, conf_level=conf_level, method=methods.T_OF_JUDGE_CELLS, bounds=bounds)


def share(k: float, n: float, conf_level: float, flag: str = "") -> Estimate:
    """A share of independent things, with Wilson's interval."""
    p = k / n if n else math.nan
    low, high = map(float, wilson(k, n, conf_level))
    error = math.sqrt(p * (1 - p) / n) if n else math.nan
    return Estimate(p, n, error, math.inf, low, high, conf_level, methods.WILSON, flag)


def clustered_share(
    k: Floats,
    n: Floats,
    column: str,
    conf_level: float,
    alike: Floats | None = None,
) -> Estimate:
    """A pooled share from the hits and the sizes of clusters (G,), flagged where these are few, or tell the share."""
    times: Floats | float = 1.0 if alike is None else alike
    total = float((times * n).sum())
    few = flags.few_clusters(n, alike=alike) or flags.informative_sizes(k, n, column.lstrip("_"), alike)
    p = float((times * k).sum()) / total if total else math.nan
    error, low, high = clustered_wilson(k, n, conf_level, alike)
    by = methods.clustered(methods.WILSON, column, n, times)
    return Estimate(p, total, error, low=low, high=high, conf_level=conf_level, method=by, flag=few)


def mean_over_clusters(
    k: Floats,
    n: Floats,
    column: str,
    conf_level: float,
    bounds: tuple[float, float] = ANY,
    method: Method = methods.T,
) -> Estimate:
    """A mean of things with sums `k` (G,) over `n` of them in each cluster: of a share from 0 to 1 Wilson's.

    `column`: what the clusters are, empty for single things. Student's interval allows for the skewness of the things
    and has no more degrees of freedom than their variance. There is none where all clusters are alike.
    """
    if bounds == SHARE:
        estimate = clustered_share(k, n, column, conf_level)
        return estimate if column else replace(estimate, method=methods.WILSON)
    k, n = k[n > 0], n[n > 0]
    mean, variance, df = clustered_ratio(k, n, np.ones(n.size))
    made_by, few = methods.clustered(method, column, n), flags.few_clusters(n)
    estimate = Estimate(mean, float(n.sum()), conf_level=conf_level, method=made_by, flag=few)
    if math.isnan(variance):
        return estimate
    influence, error = k - mean * n, math.sqrt(variance)
    if not varies(mean, error):
        return estimate.flagged(flags.NO_SPREAD)
    estimate = replace(estimate, std_error=error, df=df).by_influences(influence, conf_level)
    return replace(estimate, low=max(estimate.low, bounds[0]), high=min(estimate.high, bounds[1]))


# A difference of two shares of one sample: a signed bias


def difference(counts: Floats, conf_level: float = CONF_LEVEL) -> Estimate:
    """Share of the first class minus share of the second, of a multinomial sample of three: Newcombe's interval."""
    total = float(counts.sum())
    estimate = Estimate(math.nan, total, conf_level=conf_level, method=methods.NEWCOMBE_ONE_SAMPLE)
    if not total > 0:
        return estimate
    low, high = newcombe_paired(0.0, counts[0], counts[1], counts[2], conf_level)
    value, error = float(counts[0] - counts[1]) / total, math.sqrt(spread(counts) / total)
    return replace(estimate, value=value, std_error=error, low=low, high=high)


def spread(counts: Floats) -> float:
    """Variance of one call, 1 for the first class, -1 for the second, 0 else: p1 + p2 - (p1 - p2)**2."""
    p1, p2, _ = counts / counts.sum()
    return max(float(p1 + p2 - (p1 - p2) ** 2), 0.0)


def clustered_difference(
    counts: Floats,
    conf_level: float = CONF_LEVEL,
    alike: Floats | None = None,
    *,
    column: str,
    method: Method = methods.TANGO_ONE_SAMPLE,
) -> Estimate:
    """The same from (G, 3) counts of G clusters; `alike` (G,): how many clusters there are of each, by default one.

    Tango's interval with the effective n of the clusters and t on their degrees of freedom. Answers that cancel within
    a cluster count as no difference: two orders of a pair with the same verdict show no position bias.
    """
    there = counts.sum(axis=1) > 0
    alike = (np.ones(len(counts)) if alike is None else alike)[there]
    counts = counts[there]
    size, net = counts.sum(axis=1), counts[:, 0] - counts[:, 1]
    total = float(alike @ size)
    value = float(alike @ net) / total
    sides = np.maximum(net, 0.0), np.maximum(-net, 0.0)
    tango = clustered_tango(*sides, size, conf_level, alike, of_one_sample=True)
    by = methods.clustered(method, column, size, alike)
    estimate = Estimate(value, total, tango.std_error, tango.df, conf_level=conf_level, method=by)
    if math.isnan(tango.std_error):
        return estimate
    if tango.std_error == 0 and 0 < abs(value) < 1:
        unlike = _one_unlike(value, effective_clusters(size, alike), tango.df, conf_level)
        return replace(estimate, low=max(value - unlike, -1.0), high=min(value + unlike, 1.0))
    return replace(estimate, low=tango.low, high=tango.high)


def cell_mean(counts: Floats, weight: Floats, conf_level: float = CONF_LEVEL) -> Estimate:
    """Weighted sum of the differences of independent cells.

    `counts` (K, 3): one, other and tie of each cell. `weight` (K,). The interval combines the Newcombe intervals of the
    cells (square-and-add), and equals Newcombe's for one cell. NaN where a cell is empty.

    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702 (MOVER).
    """
    cells = [difference(c, conf_level) for c in counts]
    mean, error, low, high = np.array([(c.value, c.std_error, c.low, c.high) for c in cells]).T
    value = float(weight @ mean)
    pooled, below, above = (float(np.sqrt(((weight * x) ** 2).sum())) for x in (error, mean - low, high - mean))
    estimate = Estimate(value, float(counts.sum()), pooled, conf_level=conf_level, method=methods.MOVER_CELLS)
    return replace(estimate, low=value - below, high=value + above)


def clustered_cell_mean(counts: Floats, weight: Floats, column: str, conf_level: float = CONF_LEVEL) -> Estimate:
    """As :func:`cell_mean`, of cells that share clusters: `counts` (G, K, 3), `weight` (K,).

    The interval is widened by the root of the design effect (cluster-robust variance over that of independent calls)
    and by t on its degrees of freedom over the normal quantile.
    """
    n = counts.sum(axis=2)
    by = methods.clustered(methods.MOVER, column, n.sum(axis=1))
    alone = replace(cell_mean(counts.sum(axis=0), weight, conf_level), method=by)
    _, variance, df = cluster_robust(counts[:, :, 0] - counts[:, :, 1], n, weight)
    if math.isnan(variance):
        return replace(alone, std_error=math.nan, low=math.nan, high=math.nan)
    effective = effective_clusters(n.sum(axis=1))
    independent = alone.std_error**2
    if variance == 0 and independent > 0:
        below = above = _one_unlike(alone.value, effective, df, conf_level)
    else:
        effect = float(n.sum()) / effective if independent == 0 else variance / independent
        wider = math.sqrt(effect) * quantile(df, conf_level) / normal_quantile(conf_level)
        below, above = wider * (alone.value - alone.low), wider * (alone.high - alone.value)
    reach = float(np.abs(weight).sum())
    low, high = max(alone.value - below, -reach), min(alone.value + above, reach)
    return replace(alone, std_error=math.sqrt(variance), df=df, low=low, high=high)


def _one_unlike(value: float, clusters: float, df: float, conf_level: float) -> float:
    """Error of a difference that is the same in all clusters: as if one further cluster differed from them."""
    return float(wilson(0, clusters, conf_level, df=df)[1]) * (1 + abs(value))


# A statistic from its values without each cluster


def jackknifed(
    value: float,
    without: Floats,
    n: Floats,
    column: str,
    conf_level: float,
    *,
    alike: Floats | None = None,
    coefficient: bool = True,
    most_df: float = math.inf,
) -> Estimate:
    """An estimate with Student's interval from its values `without` (G,) each cluster.

    `n` (G,): sizes of the clusters; `alike` (G,): how many there are of each. A `coefficient` between -1 and 1 has its
    interval on the scale of Fisher's z, unless it is -1 or 1 without a cluster. `most_df`: degrees of freedom at most.
    """
    there = n > 0
    alike = (np.ones(n.size) if alike is None else alike)[there]
    without, n = without[there], n[there]
    few = flags.few_clusters(n, alike=alike)
    by = methods.clustered(methods.JACKKNIFE, column.lstrip("_"), n, alike)
    estimate = Estimate(value, conf_level=conf_level, method=by, flag=few)
    if few == flags.ONE_UNIT or not math.isfinite(value):
        return estimate
    if lost := float(alike @ ~np.isfinite(without)):
        return estimate.flagged(flags.UNDEFINED.of(lost, what="value(s) without a cluster"))
    if coefficient and bool((np.abs(np.append(without, value)) < 1 - 1e-12).all()):
        estimate = replace(estimate, method=by.instead(methods.JACKKNIFE_Z))
        on_z = jackknife_interval(math.atanh(value), np.arctanh(without), n, conf_level, alike, most_df)
        error, low, high = (1 - value * value) * on_z.std_error, math.tanh(on_z.low), math.tanh(on_z.high)
        p = on_z.p_value
    else:
        error, low, high, p = jackknife_interval(value, without, n, conf_level, alike, most_df)
        low, high = (max(low, -1.0), min(high, 1.0)) if coefficient else (low, high)
    if math.isnan(error):
        return estimate.flagged(flags.NO_SPREAD)
    return replace(estimate, std_error=error, low=low, high=high, p_value=p)
