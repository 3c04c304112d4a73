"""Variances of linear estimates of deviations: over clusters of items, or from the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgestats import methods
from judgestats.counting.reply_errors import ReplyErrors
from judgestats.estimate import student_ends
from judgestats.kernels.cluster_robust import degrees_of_freedom
from judgestats.kernels.deviation import PairMeans, UnitValues, cluster_scores
from judgestats.kernels.proportions import quotient
from judgestats.metrics.consensus.pair_deviations import PairDeviations
from judgestats.results import with_interval
from judgestats.schema.coding import compact, joint
from judgestats.typing import Floats, Integers, Mask, Record
from judgestats.wording import Method


@dataclass(frozen=True)
class Spread:
    """Uncertainty of one linear estimate."""

    variance: float  # NaN if unknown
    df: float = math.inf  # Satterthwaite's
    method: Method = methods.NONE  # if there is no variance
    clusters: int = 0  # their number G
    n_effective: float = math.inf  # how many clusters of equal size they are worth
    scores: Floats = field(default_factory=lambda: np.zeros(0))  # (S,): of independent sources

    def interval(self, value: float, conf_level: float) -> Record:
        """The cells of the interval of the estimate."""
        error = math.sqrt(self.variance)
        low, high = map(float, student_ends(value, error, self.df, conf_level))
        return with_interval(error, low, high, method=self.method)


class _OverClusters(NamedTuple):
    """Uncertainty of linear estimates (P,) over clusters: CR2, as of :func:`judgestats.kernels.cluster_robust`."""

    variance: Floats  # NaN for fewer than two clusters
    clusters: Floats  # their number
    df: Floats  # Satterthwaite's, of a mean to which clusters contribute as much as to this estimate


class Uncertainty:
    """Variances of linear estimates from the deviations of a panel."""

    def __init__(self, data: PairDeviations) -> None:
        self.data = data

    @cached_property
    def _clusters(self) -> Integers:
        return self.data.panel.things[self.data.cluster or "item"].code

    @property
    def _n_clusters(self) -> int:
        return len(self.data.panel.things[self.data.cluster or "item"].labels)

    @cached_property
    def unit_variance(self) -> Floats:
        """Variance of each unit's mean, from its runs."""
        runs = np.asarray(self.data.panel.runs, dtype=float)
        return quotient(self.data.panel.sd**2, runs, runs > 1)

    @cached_property
    def _unit_df(self) -> Floats:
        """Degrees of freedom of each unit's variance."""
        return np.asarray(self.data.panel.runs, dtype=float) - 1

    @cached_property
    def reference_shares(self) -> tuple[Integers, Integers, Floats]:
        """Pair, row of the reference, and the weight of that row in the pair's mean."""
        row = self.data.reference.row[self.data.panel.thing]
        used = ~np.isnan(self.data.deviation) & (row >= 0)
        weight = self.data.entry_share[used] / self.data.items[self.data.pair[used]]
        size = self.data.reference.mean.size
        code, codes = compact(self.data.pair[used].astype(np.int64) * size + row[used], self.data.n_pairs * size)
        total = _sums(code, weights=weight, minlength=codes.size)
        return (codes // size).astype(np.int32), (codes % size).astype(np.int32), total

    def pair_spreads(self) -> tuple[Floats, Floats, Any, Floats]:
        """Variance, df, method and number of clusters of every pair at once."""
        variance, clusters, df = self._pairs_over_clusters
        variance, df = variance.copy(), df.copy()
        if self._noisy_reference:
            noise, squares = self._pairs_from_reference()
            df = _satterthwaite(variance + noise, _over_df(variance, df) + squares)
            variance += noise
        short = np.isnan(variance)
        method = np.full(self.data.n_pairs, methods.NONE, dtype=object)
        for g in np.unique(clusters[~short]):
            method[~short & (clusters == g)] = self._over(int(g))
        short &= ~self._one_cluster
        if short.any():
            by_runs, squares = self._pairs_from_runs()
            variance[short], df[short] = by_runs[short], _satterthwaite(by_runs, squares)[short]
            method[short & ~np.isnan(variance)] = methods.FROM_RUNS
        return variance, df, method, clusters

    @property
    def _noisy_reference(self) -> bool:
        return self.data.reference.shared and self.data.reference.known

    def _over(self, clusters: int) -> Method:
        by = methods.T.by(f"{self.data.cluster}s", clusters, linked=" over ")
        return by.noting("reference sd" * self._noisy_reference, " and ")

    @cached_property
    def _pairs_over_clusters(self) -> _OverClusters:
        return self._over_clusters(np.arange(self.data.n_pairs), self.data.n_pairs, np.ones(self.data.n_pairs))

    @property
    def _one_cluster(self) -> Mask:
        """Pairs (P,) of several items that lie in one cluster: they have no interval, nor one from the runs."""
        one: Mask = (self._pairs_over_clusters.clusters == 1) & (self.data.items > 1)
        return one

    @cached_property
    def _adjusted(self) -> Floats:
        """Deviations (U,) whose distance from their pair's mean is divided by the root of 1 - h (CR2).

        h: share of the pair's weight that is in the cluster; where that is all of it, the distance is 0.
        """
        data, share = self.data, self.data.entry_share
        used, pair = ~np.isnan(data.deviation), data.pair
        code, codes = compact(
            *joint([(pair, data.n_pairs), (self._clusters[data.panel.thing], self._n_clusters)], pair.size)
        )
        inside = _sums(code, weights=share * used, minlength=codes.size)[code]
        left = 1.0 - quotient(inside, data.items[pair], data.items[pair] > 0)
        centre = data.estimate[pair]
        root = np.sqrt(np.maximum(left, 0.0))
        return centre + (data.deviation - centre) * np.divide(1.0, root, out=np.zeros(root.size), where=root > 1e-6)

    def _over_clusters(self, owner: NDArray[np.int64], owners: int, weights: Floats) -> _OverClusters:
        """Of each owner's weighted sum of pairs; a variance is NaN for fewer than two clusters."""
        if self.data.cluster is None:
            return _OverClusters(np.full(owners, np.nan), np.zeros(owners), np.full(owners, np.nan))
        if self._too_large(owners):
            scale = self._scale(weights)
            used = ~np.isnan(self.data.deviation) & (scale[self.data.pair] != 0)
            pair, thing = self.data.pair[used], self.data.panel.thing[used]
            share = self.data.entry_share[used]
            influence = scale[pair] * share * (self._adjusted[used] - self.data.estimate[pair])
            code, codes = compact(*joint([(owner[pair], owners), (self._clusters[thing], self._n_clusters)], pair.size))
            scores = _sums(code, weights=influence, minlength=codes.size)
            size = _sums(code, weights=scale[pair] ** 2 * share, minlength=codes.size)
            ends = np.searchsorted(codes // self._n_clusters, np.arange(owners + 1))
            parts = [slice(*x) for x in pairwise(ends.tolist())]
            variance = np.array([float(scores[x] @ scores[x]) for x in parts])
            return _over_clusters(variance, np.diff(ends).astype(np.float64), [size[x] for x in parts])
        return _of_table(*self._cluster_scores(owner, owners, weights))

    def _too_large(self, owners: int) -> bool:
        """Whether a table of owners x clusters would be too large."""
        return owners * self._n_clusters > 4 * self.data.pair.size + 10**6

    def _cluster_scores(self, owner: NDArray[np.int64], owners: int, weights: Floats) -> tuple[Floats, Floats]:
        units = UnitValues(self.data.pair, self.data.panel.thing, self._adjusted, self.data.share)
        means = PairMeans(owner, self.data.estimate, self._scale(weights))
        return cluster_scores(units, means, self._clusters, owners, self._n_clusters)

    def _scale(self, weights: Floats) -> Floats:
        return np.where((weights != 0) & (self.data.items > 0), quotient(weights, self.data.items), 0.0)

    def _pairs_from_reference(self) -> tuple[Floats, Floats]:
        """Contribution of the reference to each pair: variances, and their squares over degrees of freedom."""
        pair, row, weight = self.reference_shares
        noise = np.nan_to_num(self.data.reference.variance)
        squares, share = _over_df(noise, self.data.reference.df), weight**2
        return (
            _sums(pair, weights=share * noise[row], minlength=self.data.n_pairs),
            _sums(pair, weights=share**2 * squares[row], minlength=self.data.n_pairs),
        )

    def _pairs_from_runs(self) -> tuple[Floats, Floats]:
        """Exact variance of each pair's mean, from independent units; and its squared parts over their df."""
        defined = ~np.isnan(self.data.deviation)
        weight = np.zeros(self.data.pair.size)
        weight[defined] = self.data.entry_share[defined] / self.data.items[self.data.pair[defined]]
        v, result = self.unit_variance, self._pairs_from_replies(self.data.replies, weight) if self.data.replies else []
        for part, power in () if result else ((v, 1), (_over_df(v, self._unit_df), 2)):
            total = part if self.data.reference.used else self._with_peers(part, 2 * power)
            added = (weight ** (2 * power) * total)[defined]
            result.append(_sums(self.data.pair[defined], weights=added, minlength=self.data.n_pairs))
        if self.data.reference.used:
            result = [x + y for x, y in zip(result, self._pairs_from_reference(), strict=True)]
        for values in result:
            values[self.data.items == 0] = np.nan
        return result[0], result[1]

    def _pairs_from_replies(self, replies: ReplyErrors, weight: Floats) -> list[Floats]:
        """As :meth:`_pairs_from_runs`, where errors are shared in a reply: a score enters all pairs of its cell."""
        panel = self.data.panel
        unit_at = panel.matrix(np.arange(panel.thing.size), -1)
        n = self.data.present[panel.thing[replies.unit]]
        row, judge = np.nonzero(unit_at[panel.thing[replies.unit]] >= 0)
        scored, rated = replies.unit[row], unit_at[panel.thing[replies.unit[row]], judge]
        if self.data.reference.used:
            row, scored, rated = row[scored == rated], scored[scored == rated], rated[scored == rated]
            coefficient = weight[rated]
        else:
            others = n[row] - (1.0 if self.data.exclude_self else 0.0)
            share = np.divide(1.0, others, out=np.zeros(row.size), where=others > 0)  # alone: there is no deviation
            own = 1.0 if self.data.exclude_self else 1 - share
            coefficient = weight[rated] * np.where(scored == rated, own, -share)
        row, rated, coefficient = (x[coefficient != 0] for x in (row, rated, coefficient))
        error = (coefficient if replies.certain else np.abs(coefficient)) * replies.error[row]
        sizes = replies.of_reply.size, replies.df.size
        code, codes = compact(
            *joint([(self.data.pair[rated], self.data.n_pairs), (replies.reply[row], sizes[0])], row.size)
        )
        pair, reply = np.divmod(codes, sizes[0])
        squares = _sums(code, weights=error, minlength=codes.size) ** 2
        code, codes = compact(*joint([(pair, self.data.n_pairs), (replies.of_reply[reply], sizes[1])], pair.size))
        pair, block = np.divmod(codes, sizes[1])
        of_block = _sums(code, weights=squares, minlength=codes.size)
        parts = of_block, _over_df(of_block, replies.df[block])
        return [_sums(pair, weights=x, minlength=self.data.n_pairs) for x in parts]

    def _with_peers(self, part: Floats, power: int) -> Floats:
        """Sum over the units of a deviation's cell, times a power of each unit's coefficient."""
        thing, n = self.data.panel.thing, self.data.present[self.data.panel.thing]
        scored = ~np.isnan(self.data.panel.mean)
        others = _sums(thing[scored], weights=part[scored], minlength=self.data.present.size)[thing] - part
        if self.data.exclude_self:
            return part + quotient(others, (n - 1.0) ** power)
        return np.asarray((1 - quotient(1, n)) ** power * part + quotient(others, n**power))

    def spreads(self, owner: NDArray[np.int64], n_owners: int, weights: Floats) -> list[Spread]:
        """Uncertainty of each owner's weighted sum of pair estimates: `owner`, `weights` (P,).

        Over clusters if every pair has two or more; else from the runs.
        """
        return self._spreads(owner, n_owners, weights, self._over_clusters(owner, n_owners, weights))

    def sides(self, owner: NDArray[np.int64], n_owners: int, left: Floats, right: Floats) -> list[list[Spread]]:
        """:meth:`spreads` of `left`, and of `right`, on other pairs."""
        if self.data.cluster is None or self._too_large(2 * n_owners):
            return [self.spreads(owner, n_owners, w) for w in (left, right)]
        scores, size = self._cluster_scores(2 * owner + (right != 0), 2 * n_owners, left + right)
        sums = [_of_table(scores[side::2], size[side::2]) for side in (0, 1)]
        return [self._spreads(owner, n_owners, w, s) for w, s in zip((left, right), sums, strict=True)]

    def _spreads(self, owner: NDArray[np.int64], n_owners: int, weights: Floats, sums: _OverClusters) -> list[Spread]:
        fewest = np.full(n_owners, np.inf)
        taken = weights != 0
        np.minimum.at(fewest, owner[taken], self._pairs_over_clusters.clusters[taken])
        result = []
        for o, (v, g, df) in enumerate(zip(*(x.tolist() for x in sums), strict=True)):
            if g < 2 or fewest[o] < 2:
                result.append(self._from_runs(np.where(owner == o, weights, 0.0)))
                continue
            if self._noisy_reference:
                noise = self._reference_scores(np.where(owner == o, weights, 0.0)) ** 2
                v, df = self._plus_reference(v, df, noise)
            n_effective = float(self.data.worth[taken & (owner == o)].max())
            result.append(Spread(v, df, self._over(int(g)), int(g), n_effective))
        return result

    def spread(self, weights: Floats) -> Spread:
        """Uncertainty of one weighted sum of the pairs, with the score of each source (a cluster, or a unit)."""
        taken = weights != 0
        if self.data.cluster is None or not taken.any() or self._pairs_over_clusters.clusters[taken].min() < 2:
            return self._from_runs(weights)
        table, size = self._cluster_scores(np.zeros(self.data.n_pairs, dtype=np.int64), 1, weights)
        scores, g, df = table[0], int((size[0] > 0).sum()), degrees_of_freedom(size[0])
        if self._noisy_reference:
            noise = self._reference_scores(weights)
            _, df = self._plus_reference(float(scores @ scores), df, noise**2)
            scores = np.append(scores, noise)
        return Spread(float(scores @ scores), df, self._over(g), g, float(self.data.worth[taken].max()), scores)

    def _plus_reference(self, variance: float, df: float, noise: Floats) -> tuple[float, float]:
        """Sum of the variance over clusters and of the reference rows, with its degrees of freedom."""
        total = variance + float(noise.sum())
        squares = variance**2 / df + float(_over_df(noise, self.data.reference.df).sum())
        return total, float(_satterthwaite(np.array(total), np.array(squares)))

    def _reference_scores(self, weights: Floats) -> Floats:
        pair, row, share = self.reference_shares
        total = _sums(row, weights=weights[pair] * share, minlength=self.data.reference.mean.size)
        return -total * np.sqrt(np.nan_to_num(self.data.reference.variance))

    def _from_runs(self, weights: Floats) -> Spread:
        """Uncertainty from independent means of units (and of the reference), with their linear coefficients."""
        taken = weights != 0
        one_cluster = bool(self._one_cluster[taken].any())
        if one_cluster or not taken.any() or (self.data.items[taken] == 0).any():
            return Spread(math.nan, clusters=int(one_cluster))
        defined = ~np.isnan(self.data.deviation)
        b = np.zeros(self.data.pair.size)
        pair = self.data.pair[defined]
        b[defined] = weights[pair] * self.data.entry_share[defined] / self.data.items[pair]
        if self.data.reference.used:
            coefficient = b
        else:
            thing, n = self.data.panel.thing, self.data.present[self.data.panel.thing]
            total = _sums(thing, weights=b, minlength=self.data.present.size)[thing]
            coefficient = b - (quotient(total - b, n - 1.0) if self.data.exclude_self else quotient(total, n))
        peers = 0 if self.data.reference.used else 1
        counted = ~np.isnan(self.data.panel.mean) & (coefficient != 0)
        counted &= self.data.present[self.data.panel.thing] > peers
        if self.data.replies:
            scores = self.data.replies.sums(np.where(counted, coefficient, 0.0))
            parts, df = self.data.replies.of_blocks(scores**2), self.data.replies.df
        else:
            scores = np.zeros(self.data.pair.size)
            scores[counted] = coefficient[counted] * np.sqrt(self.unit_variance[counted])
            parts, df = scores**2, self._unit_df
        if self.data.reference.used:
            noise = self._reference_scores(weights)
            scores, parts = np.append(scores, noise), np.append(parts, noise**2)
            df = np.append(df, self.data.reference.df)
        variance = float(scores @ scores)
        if math.isnan(variance):
            return Spread(variance, scores=scores)
        freedom = _satterthwaite(np.array(variance), np.array(_over_df(parts, df).sum()))
        return Spread(variance, float(freedom), methods.FROM_RUNS, scores=scores)


def _of_table(scores: Floats, size: Floats) -> _OverClusters:
    return _over_clusters(np.einsum("ij,ij->i", scores, scores), (size > 0).sum(axis=1, dtype=np.float64), size)


def _over_clusters(variance: Floats, clusters: Floats, sizes: Iterable[Floats]) -> _OverClusters:
    df = np.array([degrees_of_freedom(x) for x in sizes])
    return _OverClusters(np.where(clusters > 1, variance, np.nan), clusters, df)


def _over_df(variance: Floats, df: Floats) -> Floats:
    """Squared variances over their degrees of freedom: 0 where the variance is 0 or treated as known."""
    return np.where((variance == 0) | np.isinf(df), 0.0, quotient(variance**2, df))


def _satterthwaite(variance: Floats, squares: Floats) -> Floats:
    """Degrees of freedom of sums of variances, from the sums of :func:`_over_df`."""
    return np.where(squares > 0, quotient(variance**2, squares), np.inf)


def _sums(code: Any, weights: Any = None, minlength: int = 0) -> Floats:
    return np.asarray(np.bincount(code, weights=weights, minlength=minlength), dtype=np.float64)
