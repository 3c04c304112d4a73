"""Judges compared with each other on what they judged together: simultaneous differences, and who stands out."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from judgestats import methods
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.estimate import ANY, NOTHING, mean_over_clusters, quantile
from judgestats.kernels.cluster_robust import degrees_of_freedom
from judgestats.kernels.proportions import clustered_tango
from judgestats.kernels.resampling import generator
from judgestats.kernels.simultaneous import max_t
from judgestats.schema.coding import rows_of_codes
from judgestats.typing import Floats, Ints, Record
from judgestats.wording import Method

#: Fewest shared clusters on which two judges are compared.
FEWEST = 10
#: Decimals to which two means are compared: equal ones differ by rounding.
DECIMALS = 12


@dataclass(frozen=True)
class Standing:
    """How judges stand on one measure."""

    means: pd.DataFrame  # ``judge, estimate, conf_low, conf_high, n``, the best first; intervals of each judge alone
    pairs: pd.DataFrame  # ``judge, other, ...``: differences on common units, with simultaneous intervals
    best: str  # the judge with the best mean, empty for none
    tied: tuple[str, ...]  # those whose difference from it may be 0
    method: Method  # how the intervals were made
    ahead: tuple[str, ...] = ()  # those that are better than it on what both judged
    uncompared: tuple[str, ...] = ()  # those whose difference from it has no interval

    @property
    def winner(self) -> str:
        """The best judge if the difference from every other one excludes 0; else empty."""
        return self.best if len(self.means) > 1 and not (self.tied or self.ahead or self.uncompared) else ""

    def difference(self, judge: str, other: str) -> dict[str, Any] | None:
        """Row of `pairs` for one judge minus another, in either order; None where they were not compared."""
        if row := self._rows.get((judge, other)):
            return dict(row)
        if not (row := self._rows.get((other, judge))):
            return None
        turned = {"judge": judge, "other": other, "estimate": -row["estimate"]}
        return {**row, **turned, "conf_low": -row["conf_high"], "conf_high": -row["conf_low"]}

    @cached_property
    def _rows(self) -> dict[tuple[str, str], dict[str, Any]]:
        rows = [{str(k): v for k, v in row.items()} for row in self.pairs.to_dict("records")]
        return {(row["judge"], row["other"]): row for row in rows}


def standing(
    marks: pd.DataFrame,
    *,
    lower_is_better: bool = False,
    bounds: tuple[float, float] = ANY,
    conf_level: float = CONF_LEVEL,
    seed: int = SEED,
    cluster: str = "",
    wider: Sequence[str] = (),
) -> Standing:
    """Compare every two judges with 10 clusters or more in common, with intervals simultaneous over all pairs.

    `marks`: one value for each judge and unit; `cluster`: what their clusters are, as the method of a mean names it.
    `wider`: columns of marks with levels in which the clusters nest; an interval reaches as far as that by any of them.
    Intervals are Tango's (t for values other than 0 and 1) at the critical value of the largest |t| over all pairs.
    """
    who, judges = pd.factorize(marks["judge"].astype(str), sort=True)
    unit, first = np.unique(marks["unit"], return_index=True)
    at = who, np.searchsorted(unit, marks["unit"])
    values, weights = (np.full((len(judges), unit.size), math.nan) for _ in range(2))
    values[at], weights[at] = marks["value"], marks["weight"]
    means = means_of(marks, lower_is_better=lower_is_better, bounds=bounds, conf_level=conf_level, cluster=cluster)
    binary = bool(marks["value"].dropna().isin([0.0, 1.0]).all())
    by_cluster = []
    for column in ("cluster", *wider):
        owner, levels = pd.factorize(marks[column].to_numpy()[first], sort=True)
        by_cluster.append(_pairs(values, weights, list(judges), owner, len(levels), binary, conf_level, seed))
    pairs = functools.reduce(_reaching_as_far, by_cluster)
    if means.empty or means["estimate"].isna().all():
        return Standing(means, pairs, "", (), methods.NONE)
    best = str(means["judge"].iloc[0])
    way = methods.TANGO if binary else methods.T
    method = way.noting("simultaneous for all pairs of judges (largest |t| over shared items)")
    compared = Standing(means, pairs, best, (), method)
    sides: dict[str, list[str]] = {"tied": [], "apart": [], "ahead": [], "uncompared": []}
    for other in map(str, means["judge"].iloc[1:]):
        row = compared.difference(best, other)
        low, high = (math.nan, math.nan) if row is None else (row["conf_low"], row["conf_high"])
        better, worse = (high < 0, low > 0) if lower_is_better else (low > 0, high < 0)
        known = not (math.isnan(low) or math.isnan(high))
        sides["apart" if better else "ahead" if worse else "tied" if known else "uncompared"].append(other)
    tied, ahead, uncompared = (tuple(sides[k]) for k in ("tied", "ahead", "uncompared"))
    return Standing(means, pairs, best, tied, method, ahead, uncompared)


def means_of(
    marks: pd.DataFrame,
    *,
    lower_is_better: bool = False,
    bounds: tuple[float, float] = ANY,
    conf_level: float = CONF_LEVEL,
    cluster: str = "",
) -> pd.DataFrame:
    """Mean of each judge over its marks, the best first, with the interval of a mean over clusters of this judge alone.

    `bounds`: of what the marks measure, 0 and 1 of shares; `cluster`: what their clusters are, as the method names it.
    """
    who, judges = pd.factorize(marks["judge"].astype(str), sort=True)
    value, weight = (marks[c].to_numpy(float) for c in ("value", "weight"))
    owner = pd.factorize(marks["cluster"])[0]
    rows: list[Record] = []
    for judge, at in zip(judges, rows_of_codes(who, len(judges)), strict=True):
        own = np.unique(owner[at], return_inverse=True)[1]
        k, n = (np.bincount(own, x).astype(np.float64) for x in (weight[at] * value[at], weight[at]))
        cells = mean_over_clusters(k, n, cluster, conf_level, bounds).cells
        rows.append({"judge": str(judge), **cells, "n": float(at.size), "clusters": k.size})
    means = pd.DataFrame(
        rows, columns=["judge", "estimate", "conf_low", "conf_high", "n", "clusters", "method", "flag"]
    )
    largest = marks["value"].abs().max() or 1.0
    place = means.assign(estimate=(means["estimate"] / largest).round(DECIMALS)).sort_values(
        ["estimate", "judge"], ascending=[lower_is_better, True], kind="stable"
    )
    return means.loc[place.index].reset_index(drop=True)


def biased(marks: pd.DataFrame, *, conf_level: float = CONF_LEVEL, seed: int = SEED) -> pd.DataFrame:
    """Mean of each judge, the farthest from 0 first, with simultaneous intervals for those with 10 clusters or more."""
    means = _means(marks)
    enough = [mean for mean in means.values() if mean.clusters >= FEWEST]
    critical = _critical(enough, "biased", conf_level, seed)
    rows = []
    for judge, mean in means.items():
        ends = mean.ends(critical if mean.clusters >= FEWEST else math.nan)
        rows.append((judge, mean.estimate, *ends, float(mean.n), mean.clusters))
    made = pd.DataFrame(rows, columns=["judge", "estimate", "conf_low", "conf_high", "n", "clusters"])
    return made.reindex(made["estimate"].abs().sort_values(ascending=False, kind="stable").index).reset_index(drop=True)


def widened(rows: pd.DataFrame, clusters: int, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Estimates of several judges with intervals that hold for all at once (Bonferroni), the farthest from 0 first."""
    df, k = clusters - 1 if clusters > 1 else math.inf, max(len(rows), 1)
    scale = quantile(df, 1 - (1 - conf_level) / k) / quantile(df, conf_level)
    low = rows["estimate"] - scale * (rows["estimate"] - rows["conf_low"])
    high = rows["estimate"] + scale * (rows["conf_high"] - rows["estimate"])
    made = rows.assign(conf_low=low, conf_high=high, clusters=clusters)
    order = made["estimate"].abs().sort_values(ascending=False, kind="stable").index
    return made.reindex(order).reset_index(drop=True)


@dataclass(frozen=True)
class _Mean:
    """A mean of `n` values in `clusters`; `parts` (G,): contribution of each cluster to its error."""

    estimate: float
    n: int
    parts: Floats
    clusters: int
    df: float  # Satterthwaite's; NaN without two clusters

    @property
    def std_error(self) -> float:
        """Cluster-robust; NaN without two clusters."""
        return math.nan if self.clusters < 2 else math.sqrt(float((self.parts**2).sum()))

    def ends(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value of |t|; NaN where nothing varies."""
        half = critical * self.std_error if self.std_error > 0 else math.nan
        return self.estimate - half, self.estimate + half


def _mean(value: Floats, weight: Floats, cluster: Ints, size: int, largest: float) -> _Mean:
    """The mean of values made of marks up to `largest`: sums and errors that are no more than their rounding are 0."""
    total = weight.sum()  # divided by last: sums of whole numbers that cancel are 0, not a residue of rounding
    estimate = float(weight @ value / total)
    estimate = 0.0 if abs(estimate) <= NOTHING * largest else estimate
    parts = np.bincount(cluster, weight * (value - estimate), size) / total
    parts = np.zeros(size) if np.sqrt(parts @ parts) <= NOTHING * largest else parts
    sizes = np.bincount(cluster, weight, size).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(parts == 0, 0.0, parts / np.sqrt(1 - sizes / total))
    return _Mean(estimate, value.size, parts, _several(cluster, size), degrees_of_freedom(sizes))


def _several(cluster: Ints, size: int) -> int:
    """How many clusters there are among `size`."""
    return int(np.count_nonzero(np.bincount(cluster, minlength=size)))


def _means(marks: pd.DataFrame) -> dict[str, _Mean]:
    """Mean of each judge."""
    cluster, levels = pd.factorize(marks["cluster"], sort=True)
    value, weight = (marks[c].to_numpy(float) for c in ("value", "weight"))
    who, judges = pd.factorize(marks["judge"].astype(str), sort=True)
    size = len(levels)
    parts = rows_of_codes(who, len(judges))
    return {
        str(judge): _mean(value[rows], weight[rows], cluster[rows], size, float(np.abs(value[rows]).max()))
        for judge, rows in zip(judges, parts, strict=True)
    }


def _critical(means: list[_Mean], name: str, conf_level: float, seed: int) -> float:
    """Critical value for several means at once, with the fewest degrees of freedom of any."""
    if not means:
        return math.nan
    parts, fewest = np.array([mean.parts for mean in means]).T, min(mean.df for mean in means)
    return max_t(parts, fewest, generator(seed, (name,)), conf_level)


def _reaching_as_far(pairs: pd.DataFrame, further: pd.DataFrame) -> pd.DataFrame:
    """Intervals that contain those by another cluster, where there are such."""
    if further.empty:
        return pairs
    beside = pairs[["judge", "other"]].merge(further, how="left", on=["judge", "other"]).set_index(pairs.index)
    return pairs.assign(
        conf_low=np.fmin(pairs["conf_low"], beside["conf_low"]),
        conf_high=np.fmax(pairs["conf_high"], beside["conf_high"]),
        clusters=np.fmin(pairs["clusters"], beside["clusters"]).astype(int),
    )


def _pairs(
    values: Floats,
    weights: Floats,
    judges: list[str],
    cluster: Ints,
    size: int,
    binary: bool,
    conf_level: float,
    seed: int,
) -> pd.DataFrame:
    """Differences of every two judges on what both judged, with intervals that hold for all at once."""
    found = []
    largest = np.fmax.reduce(np.abs(values), axis=1, initial=0.0)
    for i, j in itertools.combinations(range(len(judges)), 2):
        gap = values[i] - values[j]
        lacks = np.isnan(gap)
        both = np.flatnonzero(~lacks) if lacks.any() else slice(None)  # a slice copies nothing
        owner = cluster[both]
        if _several(owner, size) >= FEWEST:
            weight = (weights[i, both] + weights[j, both]) / 2
            mean = _mean(gap[both], weight, owner, size, float(max(largest[i], largest[j])))
            found.append((judges[i], judges[j], mean, (gap[both], weight, owner) if binary else ()))
    critical = _critical([mean for *_, mean, _ in found], "pairs", conf_level, seed)
    rows = []
    for one, two, mean, verdicts in found:
        if verdicts:
            gap, weight, owner = verdicts
            level = 1 - 2 * float(stdtr(mean.df, -critical))
            won, lost, all_ = (
                np.bincount(owner, weight * x, size).astype(np.float64) for x in (gap > 0, gap < 0, gap == gap)
            )
            interval = clustered_tango(won, lost, all_, level)
            low, high = interval.low, interval.high
        else:
            low, high = mean.ends(critical)
        rows.append((one, two, mean.estimate, low, high, float(mean.n), mean.clusters))
    return pd.DataFrame(rows, columns=["judge", "other", "estimate", "conf_low", "conf_high", "n", "clusters"])
