"""Subjects x raters -> mean squares -> the six intraclass correlations; mean squares -> variance components."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri, fdtrc, fdtri, ndtri, stdtr, stdtrit

from judgestats.kernels.cluster_robust import degrees_of_freedom, jackknife_interval
from judgestats.kernels.compiling import TwoForms, njit
from judgestats.typing import Floats, Ints, Mask

#: Sum of squares of clusters but one, as a share of all, that is a rounding error.
ROUNDING = 1e-12


@dataclass(frozen=True)
class MeanSquares:
    """Two-way analysis of variance of each group of subjects."""

    # subjects, raters, residual (G,): mean squares between subjects, between raters, and residual. NaN without degrees
    # of freedom
    subjects: Floats
    raters: Floats
    residual: Floats
    within: Floats  # (G,): mean square within subjects, raters and residual together
    n: Floats  # (G,): subjects of each group
    k: int  # raters


@dataclass(frozen=True)
class Correlations:
    """Intraclass correlations: rows ICC(1,1), ICC(2,1), ICC(3,1), ICC(1,k), ICC(2,k), ICC(3,k); a column per group."""

    estimate: Floats  # estimate, low, high (6, G): ``low`` is -inf where a mean of k ratings has no lower bound
    low: Floats
    high: Floats
    F: Floats  # F, df1, df2, p (6, G): test of a correlation of 0
    df1: Floats
    df2: Floats
    p: Floats


def _two_way_sums_arrays(scores: Floats, start: Ints) -> Floats:
    n, k = np.diff(start, append=len(scores)), scores.shape[1]
    largest = np.maximum.reduceat(np.abs(scores).max(axis=1), start)
    rest = scores - np.repeat(scores[start, 0], n)[:, None]  # near the origin: no cancellation
    mean = np.add.reduceat(rest, start, axis=0) / n[:, None]
    rest -= np.repeat(mean, n, axis=0)
    subject = rest.mean(axis=1)
    rest -= subject[:, None]
    subjects, residual = (np.add.reduceat(x, start) for x in (k * subject**2, np.einsum("sj,sj->s", rest, rest)))
    raters = n * ((mean - mean.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.column_stack([subjects, raters, residual, largest])


@njit(cache=True)
def _two_way_sums(scores: Floats, start: Ints) -> Floats:
    rows, k = scores.shape
    out = np.zeros((start.size, 4))
    mean = np.empty(k)
    for g in range(start.size):
        first = start[g]
        end = start[g + 1] if g + 1 < start.size else rows
        origin = scores[first, 0]  # near the origin: no cancellation
        largest = 0.0
        mean[:] = 0.0
        for s in range(first, end):
            for j in range(k):
                mean[j] += scores[s, j] - origin
                largest = max(largest, abs(scores[s, j]))
        grand = 0.0
        for j in range(k):
            mean[j] /= end - first
            grand += mean[j] / k
        subjects, raters, residual = 0.0, 0.0, 0.0
        for j in range(k):
            raters += (end - first) * (mean[j] - grand) ** 2
        for s in range(first, end):
            subject = 0.0
            for j in range(k):
                subject += scores[s, j] - origin - mean[j]
            subject /= k
            subjects += k * subject**2
            for j in range(k):
                residual += (scores[s, j] - origin - mean[j] - subject) ** 2
        out[g, 0], out[g, 1], out[g, 2], out[g, 3] = subjects, raters, residual, largest
    return out


#: Sums of squares between subjects, between raters and residual, and the largest size of a score, (G, 4).
TWO_WAY_SUMS = TwoForms(_two_way_sums_arrays, _two_way_sums)


def mean_squares(scores: Floats, start: Ints) -> MeanSquares:
    """Split the squares of complete subjects x raters tables (S, K), the groups adjacent from row `start` (G,) on.

    A mean square below the rounding error of the scores is exactly 0.
    """
    rows, k = scores.shape
    n = np.diff(np.append(start, rows)).astype(float)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = TWO_WAY_SUMS.of(scores.size)(np.ascontiguousarray(scores, dtype=float), start)
    ss_subjects, ss_raters, ss_residual, largest = sums.T
    noise = (16 * np.finfo(float).eps * largest) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        result = [
            ss_subjects / (n - 1),
            ss_raters / np.where(k > 1, k - 1.0, np.nan),
            ss_residual / ((n - 1) * (k - 1)),
            (ss_raters + ss_residual) / (n * (k - 1)),
        ]
    clean = [np.where(ms <= noise, 0.0, np.where(np.isfinite(ms), ms, np.nan)) for ms in result]
    return MeanSquares(clean[0], clean[1], clean[2], clean[3], n, k)


def correlations(ms: MeanSquares, conf_level: float) -> Correlations:
    """Intraclass correlations of Shrout & Fleiss (1979) with the intervals of McGraw & Wong (1996, Table 7).

    NaN where the mean squares do not determine it. An F ratio of 0 or over 0 has no interval: one in proportion to it
    has no width.
    """
    b, j, e, w, n, k = ms.subjects, ms.raters, ms.residual, ms.within, ms.n, float(ms.k)
    upper = (1 + conf_level) / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        single = [
            (b - w) / (b + (k - 1) * w),
            (b - e) / (b + (k - 1) * e + k * (j - e) / n),
            (b - e) / (b + (k - 1) * e),
        ]
        of_mean = [_over(b - w, b), _over(b - e, b + (j - e) / n), _over(b - e, b)]
        df1, df_w, df_e = n - 1, n * (k - 1), (n - 1) * (k - 1)
        f_w, f_e = b / w, b / e
        ends_1 = _ends_of_ratio(f_w, df1, df_w, upper)
        ends_3 = _ends_of_ratio(f_e, df1, df_e, upper)
        bounds = [_single(ends_1, k), _agreement(ms, single[1], upper), _single(ends_3, k)]
        bounds += [_mean(ends_1), _stepped_up(bounds[1], k), _mean(ends_3)]
        p_w, p_e = (
            np.where(np.isnan(x) | (df <= 0), np.nan, fdtrc(df1, df, x)) for x, df in ((f_w, df_w), (f_e, df_e))
        )
        F, df2, p = (np.stack([x, y, y] * 2) for x, y in ((f_w, f_e), (df_w, df_e), (p_w, p_e)))
    low, high = (np.stack([x[i] for x in bounds]) for i in (0, 1))
    return Correlations(np.stack([*single, *of_mean]), low, high, F, np.broadcast_to(df1, F.shape), df2, p)


@dataclass(frozen=True)
class ClusteredIntervals:
    """Intervals of the six correlations of one group whose subjects come in clusters."""

    low: Floats  # low, high (6,): NaN for fewer than two clusters, and where the mean squares do not determine it
    high: Floats
    p: Floats  # (6,): one-sided, of a correlation of 0
    df: float  # Satterthwaite's, of a mean over the clusters
    design_effect: float  # variance of the log of F over its variance for independent subjects
    alike: Mask  # (6,): whether F is the same without any of the clusters, so that they tell nothing of its error


def clustered_correlations(scores: Floats, cluster: Ints, conf_level: float) -> ClusteredIntervals:
    """Intervals of intraclass correlations of subjects (N, K) in clusters (N,), from the jackknife of clusters.

    ICC(1,.) and ICC(3,.) are functions of a ratio F of mean squares: the interval is that of the jackknife of log F.
    ICC(2,.) takes the raters as drawn too: its interval is that of McGraw and Wong, with the degrees of freedom of
    subjects and residual divided by the design effect (times the square of the t quantile over the normal one). Where a
    mean square is 0 without one of the clusters, all disagreement lies in it, and there is no interval.
    """
    n, k = scores.shape
    groups = int(cluster.max(initial=-1)) + 1
    missing = np.full(6, np.nan)
    if groups < 2:
        return ClusteredIntervals(missing, missing, missing, math.nan, math.nan, np.zeros(6, bool))
    ms = mean_squares(scores, np.zeros(1, dtype=np.int64))
    y = scores - scores.mean(axis=0)
    size = np.bincount(cluster, minlength=groups).astype(float)
    of_raters = np.column_stack([np.bincount(cluster, c, groups) for c in y.T])
    subjects, total = (np.bincount(cluster, w, groups) for w in (y.mean(axis=1) ** 2, (y**2).sum(axis=1)))
    left = n - size
    means = (of_raters.sum(axis=0) - of_raters) / left[:, None]
    grand = means.mean(axis=1)
    ss_subjects = k * (subjects.sum() - subjects - left * grand**2)
    ss_raters = left * ((means - grand[:, None]) ** 2).sum(axis=1)
    ss_rest = total.sum() - total - k * left * grand**2 - ss_subjects - ss_raters
    # the raters' means were taken out of y: put back what the within mean square needs of them
    apart = scores.mean(axis=0) - scores.mean()
    shifted = means + apart
    ss_within = left * ((shifted - shifted.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) + ss_rest
    rounding = ROUNDING * (float(total.sum()) + n * float(apart @ apart))
    ss_subjects, ss_rest, ss_within = (np.where(x <= rounding, 0.0, x) for x in (ss_subjects, ss_rest, ss_within))
    b, e, w = ss_subjects / (left - 1), ss_rest / ((left - 1) * (k - 1)), ss_within / (left * (k - 1))
    df = degrees_of_freedom(size)
    t = float(stdtrit(df, (1 + conf_level) / 2))
    ends, p, alike = [], [], []
    variance = math.nan
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for whole, without in ((ms.subjects / ms.within, b / w), (ms.subjects / ms.residual, b / e)):
            logs, value = np.log(without), float(np.log(whole[0]))
            alike.append(bool(np.ptp(logs) < 1e-9))
            interval = jackknife_interval(value, logs, size, conf_level)
            variance = interval.std_error**2
            ends.append(tuple(np.exp([interval.low, interval.high])))
            p.append(float(stdtr(df, -value / interval.std_error)))
        effect = variance / (2 / (n - 1) + 2 / ((n - 1) * (k - 1)))
        wider = effect * (t / float(ndtri((1 + conf_level) / 2))) ** 2 or math.nan
        rho = (ms.subjects - ms.residual) / (ms.subjects + (k - 1) * ms.residual + k * (ms.raters - ms.residual) / ms.n)
        second = _agreement(ms, rho, (1 + conf_level) / 2, (n - 1) / wider)
        one, three = ((np.array([x[0]]), np.array([x[1]])) for x in ends)
        bounds = [_single(one, k), second, _single(three, k), _mean(one), _stepped_up(second, k), _mean(three)]
    low, high = (np.array([float(x[i][0]) for x in bounds]) for i in (0, 1))
    of_forms = [0, 1, 1] * 2
    return ClusteredIntervals(low, high, np.array(p)[of_forms], df, effect, np.array(alike)[of_forms])


def _over(top: Floats, bottom: Floats) -> Floats:
    """Ratio, NaN where the denominator is not a variance."""
    return np.where(bottom > 0, top / bottom, np.nan)


def _ends_of_ratio(F: Floats, df1: Floats, df2: Floats, upper: float) -> tuple[Floats, Floats]:
    F = np.where(np.isfinite(F) & (F > 0), F, np.nan)
    return F / fdtri(df1, df2, upper), F * fdtri(df2, df1, upper)


def _single(ends: tuple[Floats, Floats], k: float) -> tuple[Floats, Floats]:
    low, high = ((F - 1) / (F + k - 1) for F in ends)
    return low, high


def _mean(ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    low, high = (np.where(F > 0, 1 - 1 / F, np.nan) for F in ends)
    return low, high


def _agreement(ms: MeanSquares, rho: Floats, upper: float, free: Any = None) -> tuple[Floats, Floats]:
    """Ends of ICC(2,1), with Satterthwaite's degrees of freedom of raters and residual; `free`: those of subjects."""
    b, j, e, n, k = ms.subjects, ms.raters, ms.residual, ms.n, float(ms.k)
    free = n - 1 if free is None else free
    of_raters, of_residual = k * rho * j, (n * (1 - rho) + k * rho * (n - 1)) * e
    df = (of_raters + of_residual) ** 2 / (of_raters**2 / (k - 1) + of_residual**2 / (free * (k - 1)))
    f_low, f_high = fdtri(free, df, upper), fdtri(df, free, upper)
    other = k * j + (k * n - k - n) * e
    b = np.where(b > 0, b, np.nan)
    low = n * (b - f_low * e) / (f_low * other + n * b)
    high = n * (f_high * b - e) / (other + n * f_high * b)
    return low, high


def _stepped_up(ends: tuple[Floats, Floats], k: float) -> tuple[Floats, Floats]:
    """Spearman-Brown: ends of a mean of k from those of one; below -1/(k - 1) there is no bound."""
    low, high = (np.where(x * (k - 1) <= -1, -np.inf, x * k / (1 + x * (k - 1))) for x in ends)
    return low, np.where(np.isinf(high), np.nan, high)


def combination(
    squares: Floats, df: Floats, weight: Floats, conf_level: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Estimate, standard error and ends (C,) of combinations `weight` (C, M) of independent mean squares (M,).

    The standard error has the divisor df + 2 (Brennan 2001, Eq. 6.1). The modified large-sample ends are those of Ting
    et al. (1990): exact for one mean square, and allowed to be negative.
    """
    estimate = weight @ squares
    std_error = np.sqrt((weight**2 * (2 * squares**2 / (df + 2))).sum(axis=1))
    alpha = (1 - conf_level) / 2
    bounds = [(_mls(squares, df, c, alpha), _mls(squares, df, -c, alpha)) for c in weight]
    ends = np.array(bounds, dtype=float).reshape(len(weight), 2)
    return estimate, std_error, estimate - ends[:, 0], estimate + ends[:, 1]


def _mls(squares: Floats, df: Floats, weight: Floats, alpha: float) -> float:
    """Distance from a combination to its lower end; its upper end is the lower one of its negative."""
    plus, minus = (np.flatnonzero(s * weight > 0) for s in (1, -1))
    size = np.abs(weight) * squares
    G = 1 - df / chdtri(df, alpha)
    H = df / chdtri(df, 1 - alpha) - 1
    F = fdtri(df[plus][:, None], df[minus][None, :], 1 - alpha)
    cross = ((F - 1) ** 2 - (G[plus][:, None] * F) ** 2 - H[minus][None, :] ** 2) / F
    total = ((G * size)[plus] ** 2).sum() + ((H * size)[minus] ** 2).sum()
    total += size[plus] @ cross @ size[minus]
    for i, one in enumerate(plus):
        for two in plus[i + 1 :]:
            both = df[one] + df[two]
            pooled = (1 - both / chdtri(both, alpha)) ** 2 * both**2 / (df[one] * df[two])
            alone = G[one] ** 2 * df[one] / df[two] + G[two] ** 2 * df[two] / df[one]
            total += (pooled - alone) / (len(plus) - 1) * size[one] * size[two]
    return float(np.sqrt(max(total, 0.0)))


def effect_squares(y: Floats, effects: Sequence[tuple[int, ...]]) -> tuple[Floats, Floats, Floats]:
    """Mean squares and df (E + 1,) of a complete design, residual last, and their expectations (E + 1, E + 1).

    `y` (L1, ..., Lp, R): the runs of a cell have no order. Columns of the expectations are components. `effects`:
    facets of each, main effects first, two-way interactions next; one that names all facets is the residual of the
    cells.
    """
    left = y - y.mean()
    p, total = y.ndim - 1, float(y.size)
    squares: list[float] = []
    df: list[float] = []
    sizes: list[float] = []
    for effect in effects:
        mean = left.mean(axis=tuple(a for a in range(p + 1) if a not in effect), keepdims=True)
        left = left - mean
        levels = float(mean.size)
        inside = sum(d for e, d in zip(effects, df, strict=False) if set(e) < set(effect))
        squares.append(total / levels * float((mean**2).sum()))
        df.append(levels - 1 - inside)
        sizes.append(levels)
    squares.append(float((left**2).sum()))
    df.append(total - 1 - sum(df))
    expected = np.ones((len(df), len(df)))
    for i, one in enumerate(effects):
        for j, two in enumerate(effects):
            expected[i, j] = total / sizes[j] if set(one) <= set(two) else 0.0
    expected[-1, :-1] = 0.0
    free = np.array(df)
    noise = (16 * np.finfo(float).eps * np.abs(y).max(initial=0.0)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ms = np.where(free > 0, np.array(squares) / free, np.nan)
    return np.where(ms <= noise, 0.0, ms), free, expected


def satterthwaite(estimate: Floats, variance: Floats, conf_level: float) -> tuple[Floats, Floats, Floats]:
    """Degrees of freedom and chi-square interval of variances (C,) whose estimates have a known sampling `variance`.

    With ``df`` near 0 both quantiles are below the mean, so the interval misses the estimate: NaN.
    """
    alpha = (1 - conf_level) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        df = 2 * estimate**2 / variance
        low, high = df * estimate / chdtri(df, alpha), df * estimate / chdtri(df, 1 - alpha)
    holds = (low <= estimate) & (estimate <= high)
    return df, np.where(holds, low, np.nan), np.where(holds, high, np.nan)
