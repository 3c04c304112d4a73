"""A table of patterns with counts: the one idea that carries the package, as a value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap, Statistic, planned, ratio, resampled
from judgestats.counting.clustering import ALIKE, MOST_CLUSTERS
from judgestats.counting.clusters import Clusters
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.estimate import clustered_difference, clustered_share, difference
from judgestats.kernels.proportions import quotient, wilson
from judgestats.kernels.resampling import binomial_interval
from judgestats.results import with_interval
from judgestats.schema.coding import Codes, compact, joint, rows_of_codes
from judgestats.schema.columns import N
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Mask, Record, Rows


class _Cells(NamedTuple):
    """Clusters within groups."""

    row: NDArray[np.int32]  # (R,): cell of each row of the table
    start: NDArray[np.intp]  # (G + 1,): where the cells of each group begin
    alike: Floats  # (C,): how many clusters each cell stands for

    def of(self, g: int) -> slice:
        """The cells of a group."""
        return slice(self.start[g], self.start[g + 1])


@dataclass(frozen=True, eq=False)
class Counts:
    """Patterns, and how often each occurs."""

    columns: Factors  # of the patterns, of the groups and of the clusters
    n: Floats  # (R,): how many calls or pairs have the pattern of a row
    groups: tuple[str, ...] = ()  # columns of one estimate
    clusters: Clusters = field(default_factory=Clusters)  # how its interval is clustered
    alike: Floats | None = None  # (R,): how many equal clusters a row represents; None where it is one
    conf_level: float = CONF_LEVEL
    bootstrap: Bootstrap | None = None  # without it intervals are analytic

    @classmethod
    def of(
        cls, table: pd.DataFrame, groups: Sequence[str] = (), clusters: Clusters | None = None, **options: Any
    ) -> Counts:
        """A table of patterns with a column ``n``."""
        alike = table[ALIKE].to_numpy(dtype=float, na_value=1.0) if ALIKE in table else None
        n = table[N].to_numpy(dtype=float)
        return cls(Factors(table), n, tuple(groups), clusters or Clusters(), alike, **options)

    def inferred(
        self,
        conf_level: float = CONF_LEVEL,
        interval: str = "wilson",
        strata: str | None = None,
        n_resamples: int = N_RESAMPLES,
        seed: int | np.random.Generator | None = SEED,
    ) -> Counts:
        """The counts with these arguments of a measure for their intervals."""
        plan = planned(interval, self.clusters.columns, strata, n_resamples, seed, conf_level)
        return replace(self, conf_level=conf_level, bootstrap=plan)

    def grouped(self, groups: Sequence[str]) -> Counts:
        """The same counts, for estimates by other columns."""
        return replace(self, groups=tuple(groups))

    def where(self, rows: Rows) -> Counts:
        """Some of the rows, by number or by a mask."""
        if isinstance(rows, np.ndarray) and rows.dtype == bool and rows.all():
            return self
        alike = None if self.alike is None else self.alike[rows]
        return replace(self, columns=self.columns.take(rows), n=self.n[rows], alike=alike)

    def each_group(self) -> Iterator[tuple[Record, Counts]]:
        """Key and counts of each group; one group without columns."""
        for key, rows in self.rows_of_groups():
            yield key, self.where(rows)

    def rows_of_groups(self) -> Iterator[tuple[Record, NDArray[np.intp]]]:
        """Key and rows of each group."""
        return zip(self._keys, self._parts, strict=True)

    def among(self, column: str, *labels: object) -> Mask:
        """Rows with one of these labels in a column."""
        return self.columns[column].among(*labels)

    def values(self, column: str) -> NDArray[np.object_]:
        """The labels of a column, row by row."""
        factor = self.columns[column]
        return np.asarray(factor.labels, dtype=object)[factor.code]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The patterns with their counts ``n``."""
        return self.columns.frame([c for c in self.columns.names if c not in (N, ALIKE)], n=self.n)

    # Estimates of each group

    def rates(
        self,
        term: str,
        hit: ArrayLike,
        trial: ArrayLike = True,
        *,
        calls_per_count: int = 1,
        left_out: Mapping[str, Mask] | None = None,
        flag: str = "",
        **cells: object,
    ) -> list[Record]:
        """Share of trials that are hits, in each group: rows for :func:`judgestats.results.estimates`.

        `hit`, `trial`: for each row, the share of its calls that are hits, and that are trials (booleans, or 0, 1/2,
        1). `calls_per_count`: 2 for a rate over the calls of pairs. `left_out`: what is no trial, and in which rows:
        counted in the flag; by default invalid calls and ties. The interval is Wilson's, by cluster with the
        effective n of the cluster-robust variance and t on its degrees of freedom. A bootstrap replaces it, but where
        all calls are hits, or none.
        """
        bootstrap = self.bootstrap
        if self._too_many:
            bootstrap, flag = None, flags.join(flag, flags.NOT_DRAWN)
        plan = self._cluster, bootstrap
        return self._rates(hit, trial, plan, {**cells, "term": term}, left_out, flag, calls_per_count)

    def _rates(
        self,
        hit: ArrayLike,
        trial: ArrayLike,
        plan: tuple[str | None, Bootstrap | None],
        cells: Mapping[str, object],
        left_out: Mapping[str, Mask] | None,
        common: str,
        calls_per_count: int = 1,
    ) -> list[Record]:
        """:meth:`rates` with these cells and this flag in common; `plan`: a column that clusters, and a bootstrap."""
        (cluster, bootstrap), n = plan, self.n * calls_per_count
        trials = n * np.broadcast_to(np.asarray(trial, dtype=float), n.shape)
        hits = trials * np.broadcast_to(np.asarray(hit, dtype=float), n.shape)
        group, size = self._group.code, self._group.size
        k, total = (np.bincount(group, weights=x, minlength=size) for x in (hits, trials))
        crossed = bootstrap is not None and len(bootstrap.cluster) == 2  # a Wilson interval then ignores both clusters
        of_pairs = calls_per_count > 1 and cluster is None  # a count is a pair: its calls stay together
        together = of_pairs and self.clusters.independent
        shared = self.clusters.flag
        dependent = flags.join(flags.NOT_INDEPENDENT if (of_pairs and not together) or crossed else "", shared)
        if left_out is None:
            left_out = self.no_trials(np.broadcast_to(np.asarray(trial) == 0, n.shape))
        lost = {what: np.bincount(group, n * mask, size) / calls_per_count for what, mask in left_out.items()}
        by_cluster = cluster is not None or together
        low, high = wilson(k, total, self.conf_level) if not by_cluster else np.full((2, size), math.nan)
        k_of, n_of = (hits, trials) if cluster is None else self._by_cluster(hits, trials)
        rows = []
        for g, key in enumerate(self._keys):
            excluded = (flags.EXCLUDED.of(round(many[g]), what=what) for what, many in lost.items())
            flag = flags.join(common, *excluded)
            p = k[g] / total[g] if total[g] else math.nan
            error = math.sqrt(p * (1 - p) / total[g]) if total[g] else math.nan
            row = {**key, **cells, "estimate": p, "n": total[g], "method": methods.WILSON}
            if by_cluster and total[g]:
                row |= self._clustered(g, k_of, n_of, cluster, flags.join(flag, shared), total[g])
            else:
                row |= with_interval(error, low[g], high[g], flag=flags.join(flag, dependent, size_flag(total[g])))
            if bootstrap is not None and 0 < k[g] < total[g]:
                flag = flags.join(flag, shared if bootstrap.cluster else dependent)
                row |= self._resampled(g, hits, trials, bootstrap)
                row["flag"] = flags.join(flag, row["flag"], size_flag(total[g]))
            rows.append(row)
        return rows

    def differences(
        self,
        term: str,
        one: ArrayLike,
        other: ArrayLike,
        trial: ArrayLike = True,
        *,
        left_out: Mapping[str, Mask] | None = None,
        flag: str = "",
        **cells: object,
    ) -> list[Record]:
        """Share of `one` minus share of `other` among the trials, in each group, as :meth:`rates`; others are ties.

        The interval is Newcombe's for the difference of two shares of one sample, composed of Wilson's for each; by
        cluster Tango's with the effective n of the clusters and t on their degrees of freedom. If all calls have the
        same answer Newcombe's replaces the bootstrap's. n and flags are those of the share of `one`.
        """
        bootstrap = self.bootstrap
        if self._too_many:
            bootstrap, flag = None, flags.join(flag, flags.NOT_DRAWN)
        cluster = self._cluster if bootstrap is None else None
        trials, ones, others = (np.broadcast_to(np.asarray(x, dtype=bool), self.n.shape) for x in (trial, one, other))
        ones, others = ones & trials, others & trials
        rows = self._rates(ones, trials, (cluster, None), {**cells, "term": term}, left_out, flag)
        marks = np.column_stack([ones, others, trials & ~ones & ~others]) * self.n[:, None]
        sums = None if cluster is None else np.column_stack(self._by_cluster(*marks.T))
        for g, row in enumerate(rows):
            part = self._parts[g]
            totals = marks[part].sum(axis=0)
            if sums is None or not row["n"]:
                estimate = difference(totals, self.conf_level)
            else:
                own = self._cells.of(g)
                estimate = clustered_difference(sums[own], self.conf_level, self._cells.alike[own], column=str(cluster))
            row |= {**estimate.cells, "n": row["n"], "flag": row["flag"]}
            if bootstrap is not None and (totals > 0).sum() > 1:
                interval = resampled(
                    self.columns.take(part), self.n[part], marks[part], _share_difference, bootstrap, self._keys[g]
                )
                flag = flags.without(row["flag"], flags.NOT_INDEPENDENT) if bootstrap.cluster else row["flag"]
                row |= interval | {"flag": flags.join(flag, interval["flag"])}
            elif bootstrap is not None and len(bootstrap.cluster) == 2:
                row["flag"] = flags.join(flags.NOT_INDEPENDENT, row["flag"])
        return rows

    def resampled(
        self,
        added: Floats,
        statistic: Statistic,
        key: Mapping[str, object],
        limits: tuple[float, float] = (-math.inf, math.inf),
        plan: Bootstrap | None = None,
    ) -> Record:
        """:func:`judgestats.counting.bootstrap.resampled` of the counts of one group, by their own plan or another."""
        plan = plan or self.bootstrap
        assert plan is not None
        return resampled(self.columns, self.n, added, statistic, plan, key, limits)

    # What each estimate is made from

    @cached_property
    def _group(self) -> Codes:
        return self.columns.codes(self.groups)

    @cached_property
    def _parts(self) -> list[NDArray[np.intp]]:
        """Rows of each group."""
        return rows_of_codes(self._group.code, self._group.size)

    @cached_property
    def _keys(self) -> list[Record]:
        """Labels of each group."""
        factors = {name: self.columns[name] for name in self.groups}
        labels = {name: [math.nan if x is None else x for x in f.labels] for name, f in factors.items()}
        return [{name: labels[name][f.code[row]] for name, f in factors.items()} for row in self._group.first]

    @property
    def _cluster(self) -> str | None:
        """The column of a clustered interval in closed form."""
        if self.bootstrap is None:
            return self.clusters.column
        return self.bootstrap.cluster[0] if len(self.bootstrap.cluster) == 1 else None

    @property
    def _too_many(self) -> bool:
        """Whether there are more clusters than a bootstrap draws."""
        plan = self.bootstrap
        few = plan is None or len(plan.cluster) != 1 or len(self.n) <= MOST_CLUSTERS
        return not few and self.columns.n_distinct(plan.cluster) > MOST_CLUSTERS  # type: ignore[union-attr]

    @cached_property
    def _cells(self) -> _Cells:
        """The clusters within the groups; without a cluster column each count is one."""
        cluster = self._cluster
        unit = self.columns[cluster] if cluster is not None else None
        group = (self._group.code, self._group.size)
        assert unit is not None
        number, codes = compact(*joint([group, (unit.code, len(unit.labels))], len(self.n)))
        first = np.empty(codes.size, dtype=np.int64)
        first[number[::-1]] = np.arange(len(self.n) - 1, -1, -1)
        start = np.searchsorted(self._group.code[first], np.arange(self._group.size + 1))
        return _Cells(number, start, np.ones(codes.size) if self.alike is None else self.alike[first])

    def _by_cluster(self, *values: Floats) -> list[Floats]:
        """Sums of some values over the clusters of all groups."""
        cells, times = self._cells, 1.0 if self.alike is None else self.alike
        return [np.bincount(cells.row, v / times, len(cells.alike)).astype(np.float64) for v in values]

    def _clustered(self, g: int, hits: Floats, trials: Floats, cluster: str | None, flag: str, total: float) -> Record:
        """Clustered interval of a group, from the sums over clusters; without a column each count is one, a pair."""
        if cluster is None:
            rows = self._parts[g]
            alike = self.n[rows]
            times = np.where(alike > 0, alike, 1.0)
            k, n = hits[rows] / times, trials[rows] / times
        else:
            own = self._cells.of(g)
            k, n, alike = hits[own], trials[own], self._cells.alike[own]
        estimate = clustered_share(k, n, cluster or "pair", self.conf_level, alike)
        return {**estimate.interval, "flag": flags.join(flag, estimate.flag, size_flag(total))}

    def _resampled(self, g: int, hits: Floats, trials: Floats, plan: Bootstrap) -> Record:
        rows = self._parts[g]
        k, n = hits[rows], trials[rows]
        whole = ((k == 0) | (k == n)).all()  # no half hits
        whole &= ((n == 0) | (n == self.n[rows])).all()  # a count is one trial
        if plan.method == "percentile" and not plan.columns and whole:
            low, high = binomial_interval(k.sum(), n.sum(), plan.conf_level)
            return {"conf_low": low, "conf_high": high, "method": methods.CLOSED_FORM, "flag": ""}
        return resampled(self.columns.take(rows), self.n[rows], np.column_stack([k, n]), ratio, plan, self._keys[g])

    def hits_and_trials(self, hit: str, ties: str, invalid: str, column: str = "outcome") -> tuple[Floats, Mask]:
        """Value of each outcome (1 for `hit`, 1/2 for a tie under ``ties="half"``, else 0), and whether it counts."""
        no_answer = self.among(column, "invalid")
        tie = self.among(column, "tie") | (no_answer & (invalid == "tie"))
        trial = ~((no_answer & (invalid == "drop")) | (tie & (ties == "drop")))
        return self.among(column, hit) + tie * (0.5 if ties == "half" else 0.0), trial

    def no_trials(self, without: Mask) -> dict[str, Mask]:
        """Invalid calls and ties among the rows of single calls that are no trials, as a flag counts them."""
        column = next((c for c in ("outcome", "choice") if c in self.columns), None)
        if column is None:
            return {}
        return {
            what: without & self.among(column, name)
            for name, what in (("invalid", "invalid call(s)"), ("tie", "tie(s)"))
        }


def size_flag(n: float) -> str:
    """Flag of a small or empty sample."""
    return flags.NO_DATA if not n > 0 else flags.SMALL_N if n < 30 else ""


def _share_difference(totals: Floats) -> Floats:
    """Share of the first class minus share of the second, (B, 3) counts to (B,)."""
    n = totals.sum(axis=1)
    return quotient(totals[:, 0] - totals[:, 1], n, n > 0)
