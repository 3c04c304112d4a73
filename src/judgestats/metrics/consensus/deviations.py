"""Deviations of judges from their peers or from a reference: :func:`consensus_deviation`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import stdtrit

from judgestats import flags
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs, reference_as_runs
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.kernels.deviation import PairMeans, UnitValues, cluster_scores
from judgestats.kernels.proportions import normal_quantile, quotient, wilson
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.panel import Panel, against, identities, own_pairs, panel
from judgestats.metrics.measure_registry import Measure, Options, Term
from judgestats.metrics.references import labels
from judgestats.metrics.scales import refuse_declared_scales, refuse_several_scales
from judgestats.results import estimates, with_interval
from judgestats.schema.coding import compact, joint
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Mask

# ---- Uncertainty of linear estimates of deviations: over clusters of items, or from the runs -------------------------

Ints = NDArray[np.int32]
FROM_RUNS = "t from mean, sd, runs (Satterthwaite)"


@dataclass(frozen=True)
class Spread:
    """Uncertainty of one linear estimate."""

    variance: float  # NaN if unknown
    df: float = math.inf  # clusters - 1, or Satterthwaite's for sums of variances
    method: str = ""  # empty if there is no variance
    clusters: int = 0  # their number G
    worth: float = math.inf  # how many clusters of equal size they are worth
    scores: Floats = field(default_factory=lambda: np.zeros(0))  # (S,): of independent sources


class Uncertainty:
    """Variances of linear estimates of one panel."""

    def __init__(self, data: Panel) -> None:
        self.data = data

    @cached_property
    def _clusters(self) -> Ints:
        return self.data.table.keys[self.data.cluster or "item"]

    @property
    def _n_clusters(self) -> int:
        return len(self.data.table.labels[self.data.cluster or "item"])

    @cached_property
    def unit_variance(self) -> Floats:
        """Variance of each unit's mean, from its runs."""
        runs = np.asarray(self.data.table.runs, dtype=float)
        return quotient(self.data.table.sd**2, runs, runs > 1)

    @cached_property
    def _unit_df(self) -> Floats:
        """Degrees of freedom of each unit's variance."""
        return np.asarray(self.data.table.runs, dtype=float) - 1

    @cached_property
    def reference_shares(self) -> tuple[Ints, Ints, Floats]:
        """Pair, row of the reference, and the weight of that row in the pair's mean."""
        row = self.data.reference.row[self.data.table.cell]
        used = ~np.isnan(self.data.deviation) & (row >= 0)
        weight = self.data.unit_share[used] / self.data.items[self.data.pair[used]]
        size = self.data.reference.mean.size
        code, codes = compact(self.data.pair[used].astype(np.int64) * size + row[used], self.data.n_pairs * size)
        total = _sums(code, weights=weight, minlength=codes.size)
        return (codes // size).astype(np.int32), (codes % size).astype(np.int32), total

    def pair_spreads(self) -> tuple[Floats, Floats, Any]:
        """Variance, df and method of every pair at once."""
        variance, clusters = self._pairs_over_clusters
        variance, df = variance.copy(), clusters - 1
        if self._noisy_reference:
            noise, squares = self._pairs_from_reference()
            df = _satterthwaite(variance + noise, _over_df(variance, df) + squares)
            variance += noise
        short = np.isnan(variance)
        method = np.full(self.data.n_pairs, "", dtype=object)
        for g in np.unique(clusters[~short]):
            method[~short & (clusters == g)] = self._over(int(g))
        if short.any() and not self.data.shares_cluster:
            by_runs, squares = self._pairs_from_runs()
            variance[short], df[short] = by_runs[short], _satterthwaite(by_runs, squares)[short]
            method[short & ~np.isnan(variance)] = FROM_RUNS
        return variance, df, method

    @property
    def _noisy_reference(self) -> bool:
        return self.data.reference.shared and self.data.reference.known

    def _over(self, clusters: int) -> str:
        return f"t over {self.data.cluster}s (G = {clusters})" + " and reference sd" * self._noisy_reference

    @cached_property
    def _pairs_over_clusters(self) -> tuple[Floats, Floats]:
        return self._over_clusters(np.arange(self.data.n_pairs), self.data.n_pairs, np.ones(self.data.n_pairs))

    def _over_clusters(self, owner: NDArray[np.int64], owners: int, weights: Floats) -> tuple[Floats, Floats]:
        """Variance (NaN for fewer than two clusters) and number of clusters of each owner's weighted sum of pairs."""
        if self.data.cluster is None:
            return np.full(owners, np.nan), np.zeros(owners)
        if self._too_large(owners):
            scale = self._scale(weights)
            used = ~np.isnan(self.data.deviation) & (scale[self.data.pair] != 0)
            pair, cell = self.data.pair[used], self.data.table.cell[used]
            influence = scale[pair] * self.data.unit_share[used]
            influence *= self.data.deviation[used] - self.data.estimate[pair]
            code, codes = compact(*joint([(owner[pair], owners), (self._clusters[cell], self._n_clusters)], pair.size))
            scores = _sums(code, weights=influence, minlength=codes.size)
            of_owner = codes // self._n_clusters
            clusters = _sums(of_owner, minlength=owners)
            return _variance(clusters, _sums(of_owner, weights=scores * scores, minlength=owners))
        return _of_table(*self._cluster_scores(owner, owners, weights))

    def _too_large(self, owners: int) -> bool:
        """Whether a table of owners x clusters would be too large."""
        return owners * self._n_clusters > 4 * self.data.pair.size + 10**6

    def _cluster_scores(self, owner: NDArray[np.int64], owners: int, weights: Floats) -> tuple[Floats, Mask]:
        units = UnitValues(self.data.pair, self.data.table.cell, self.data.deviation, self.data.share)
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
        """Exact variance of each pair's mean, from independent units; and its squared parts over degrees of freedom."""
        defined = ~np.isnan(self.data.deviation)
        weight = np.zeros(self.data.pair.size)
        weight[defined] = (self.data.unit_share[defined] / self.data.items[self.data.pair[defined]]) ** 2
        v, result = self.unit_variance, []
        for part, power in ((v, 1), (_over_df(v, self._unit_df), 2)):
            total = part if self.data.reference.used else self._with_peers(part, 2 * power)
            added = (weight**power * total)[defined]
            result.append(_sums(self.data.pair[defined], weights=added, minlength=self.data.n_pairs))
        if self.data.reference.used:
            result = [x + y for x, y in zip(result, self._pairs_from_reference(), strict=True)]
        for values in result:
            values[self.data.items == 0] = np.nan
        return result[0], result[1]

    def _with_peers(self, part: Floats, power: int) -> Floats:
        """Sum over the units of a deviation's cell, times a power of each unit's coefficient."""
        cell, n = self.data.table.cell, self.data.present[self.data.table.cell]
        scored = ~np.isnan(self.data.table.mean)
        others = _sums(cell[scored], weights=part[scored], minlength=self.data.present.size)[cell] - part
        if self.data.exclude_self:
            return part + quotient(others, (n - 1.0) ** power)
        return np.asarray((1 - quotient(1, n)) ** power * part + quotient(others, n**power))

    def spreads(self, owner: NDArray[np.int64], n_owners: int, weights: Floats) -> list[Spread]:
        """Uncertainty of ``sum of weights * estimate`` over the pairs of each owner: `owner`, `weights` (P,).

        Over clusters if every pair has two or more; else from the runs.
        """
        return self._spreads(owner, n_owners, weights, *self._over_clusters(owner, n_owners, weights))

    def contrast(self, owner: NDArray[np.int64], n_owners: int, left: Floats, right: Floats) -> list[list[Spread]]:
        """:meth:`spreads` of `left`, of `right` (on other pairs), and of ``left - right``."""
        weights = (left, right, left - right)
        if self.data.cluster is None or self._too_large(2 * n_owners):
            return [self.spreads(owner, n_owners, w) for w in weights]
        scores, touched = self._cluster_scores(2 * owner + (right != 0), 2 * n_owners, left + right)
        (a, b), (in_a, in_b) = (scores[::2], scores[1::2]), (touched[::2], touched[1::2])
        sums = (_of_table(a, in_a), _of_table(b, in_b), _of_table(a - b, in_a | in_b))
        return [self._spreads(owner, n_owners, w, *s) for w, s in zip(weights, sums, strict=True)]

    def _spreads(
        self, owner: NDArray[np.int64], n_owners: int, weights: Floats, variance: Floats, clusters: Floats
    ) -> list[Spread]:
        fewest = np.full(n_owners, np.inf)
        taken = weights != 0
        np.minimum.at(fewest, owner[taken], self._pairs_over_clusters[1][taken])
        result = []
        for o, (v, g) in enumerate(zip(variance.tolist(), clusters.tolist(), strict=True)):
            if g < 2 or fewest[o] < 2:
                result.append(self._from_runs(np.where(owner == o, weights, 0.0)))
                continue
            df = g - 1
            if self._noisy_reference:
                noise = self._reference_scores(np.where(owner == o, weights, 0.0)) ** 2
                v, df = self._plus_reference(v, df, noise)
            worth = float(self.data.worth[taken & (owner == o)].max())
            result.append(Spread(v, df, self._over(int(g)), int(g), worth))
        return result

    def spread(self, weights: Floats) -> Spread:
        """Uncertainty of one weighted sum of the pairs, with the score of each source (a cluster, or a unit)."""
        taken = weights != 0
        if self.data.cluster is None or not taken.any() or self._pairs_over_clusters[1][taken].min() < 2:
            return self._from_runs(weights)
        table, touched = self._cluster_scores(np.zeros(self.data.n_pairs, dtype=np.int64), 1, weights)
        scores, g = table[0], int(touched.sum())
        scores *= math.sqrt(g / (g - 1))
        df = g - 1.0
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
        if self.data.shares_cluster or not taken.any() or (self.data.items[taken] == 0).any():
            return Spread(math.nan, clusters=int(self.data.shares_cluster))
        defined = ~np.isnan(self.data.deviation)
        b = np.zeros(self.data.pair.size)
        pair = self.data.pair[defined]
        b[defined] = weights[pair] * self.data.unit_share[defined] / self.data.items[pair]
        if self.data.reference.used:
            coefficient = b
        else:
            cell, n = self.data.table.cell, self.data.present[self.data.table.cell]
            total = _sums(cell, weights=b, minlength=self.data.present.size)[cell]
            coefficient = b - (quotient(total - b, n - 1.0) if self.data.exclude_self else quotient(total, n))
        peers = 0 if self.data.reference.used else 1
        counted = ~np.isnan(self.data.table.mean) & (coefficient != 0)
        counted &= self.data.present[self.data.table.cell] > peers
        scores = np.zeros(self.data.pair.size)
        scores[counted] = coefficient[counted] * np.sqrt(self.unit_variance[counted])
        df = self._unit_df
        if self.data.reference.used:
            scores = np.append(scores, self._reference_scores(weights))
            df = np.append(df, self.data.reference.df)
        variance = float(scores @ scores)
        if math.isnan(variance):
            return Spread(variance, scores=scores)
        freedom = _satterthwaite(np.array(variance), np.array(_over_df(scores**2, df).sum()))
        return Spread(variance, float(freedom), FROM_RUNS, scores=scores)


def _of_table(scores: Floats, touched: Mask) -> tuple[Floats, Floats]:
    return _variance(touched.sum(axis=1, dtype=np.float64), np.einsum("ij,ij->i", scores, scores))


def _variance(clusters: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """G/(G - 1) times the sum of squares, NaN for a single cluster; and G."""
    return quotient(clusters, clusters - 1, clusters > 1) * squares, clusters


def _over_df(variance: Floats, df: Floats) -> Floats:
    """Squared variances over their degrees of freedom: 0 where the variance is 0 or treated as known."""
    return np.where((variance == 0) | np.isinf(df), 0.0, quotient(variance**2, df))


def _satterthwaite(variance: Floats, squares: Floats) -> Floats:
    """Degrees of freedom of sums of variances, from the sums of :func:`_over_df`."""
    return np.where(squares > 0, quotient(variance**2, squares), np.inf)


def _sums(code: Any, weights: Any = None, minlength: int = 0) -> Floats:
    return np.asarray(np.bincount(code, weights=weights, minlength=minlength), dtype=np.float64)


def interval(estimate: Any, variance: Any, df: Any, conf_level: float) -> tuple[Any, Any, Any]:
    """Standard error and two-sided interval: t where df is finite, normal where it is infinite, NaN where se is 0."""
    se = np.sqrt(np.asarray(variance, dtype=float))
    df = np.broadcast_to(np.asarray(df, dtype=float), se.shape)
    finite = np.isfinite(df) & (df > 0)
    quantile = np.where(finite, stdtrit(np.where(finite, df, 1.0), 0.5 + conf_level / 2), normal_quantile(conf_level))
    degenerate = se <= 1e-12 * np.maximum(1.0, np.abs(estimate))
    half = np.where(degenerate, np.nan, quantile * se)
    return se, estimate - half, estimate + half


# ---- Flags of judge x system pairs, and of estimates from several pairs ----------------------------------------------


class PairFlags:
    """Flags of each pair, which apply to every estimate that uses the pair."""

    def __init__(self, data: Panel) -> None:
        table, cell = data.table, data.table.cell
        runs, missing = table.runs, table.missing
        scored = ~np.isnan(table.mean)
        with_deviation = data.items > 0
        lost = self._any(data, scored & np.isnan(data.deviation))
        judges = np.unique(np.stack([data.pair_group, data.pair_judge]), axis=1)[0]
        short = data.present < np.bincount(judges, minlength=data.n_groups)[data.group_cell]
        none, some = (
            (flags.NO_REFERENCE, flags.SOME_WITHOUT) if data.reference.used else (flags.NO_PEER, flags.SOME_ALONE)
        )
        self.masks: dict[str, Mask] = {
            flags.NO_DATA: ~with_deviation & ~lost,
            none: ~with_deviation & lost,
            some: with_deviation & lost,
            flags.REPLICATES_AVERAGED: self._any(data, runs > 1),
            flags.SCORES_EXCLUDED: self._any(data, missing > 0),
            flags.INCOMPLETE_PANEL: self._any(data, short[cell] & scored & (not data.reference.used)),
        }
        self.data = data
        self.many_criteria = self._any(data, data.share < 1) if data.share.size else np.zeros(data.n_pairs, dtype=bool)

    @cached_property
    def single_run(self) -> Mask:
        """Pairs with a unit of one run."""
        return self._any(self.data, self.data.table.runs == 1)

    @staticmethod
    def _any(data: Panel, mask: Mask) -> Mask:
        found = np.zeros(data.n_pairs, dtype=bool)
        if mask.any():
            found[data.pair if mask.all() else data.pair[mask]] = True
        return found

    def of(self, taken: Any) -> list[str]:
        """Flags of an estimate from these pairs."""
        return [name for name, mask in self.masks.items() if mask[taken].any()]

    def of_pairs(self) -> list[list[str]]:
        """Flags of every pair; pairs without any share one empty list."""
        result: list[list[str]] = [[]] * self.data.n_pairs
        for name, mask in self.masks.items():
            for p in np.flatnonzero(mask):
                result[p] = [*result[p], name]
        return result

    def of_interval(self, taken: Any, variance: float, se: float, low: float, df: float, method: str) -> list[str]:
        """Flags of its interval."""
        if math.isnan(variance):
            if self.data.shares_cluster:
                return [flags.ONE_UNIT]
            return [flags.SINGLE_RUN if self.single_run[taken].any() else flags.NO_SD]
        found: list[str] = [flags.CONSTANT] if math.isnan(low) and se >= 0 else []
        reference = self.data.reference
        if reference.used and not reference.known and (reference.shared or method == FROM_RUNS):
            found.append(flags.EXACT_REFERENCE)
        if method != FROM_RUNS:
            worth = float(np.max(self.data.worth[taken]))
            found += (
                [flags.FEW_CLUSTERS]
                if df < 9
                else [flags.UNEQUAL_CLUSTERS.of(max(round(worth), 1))]
                if worth < 10
                else []
            )
        return found + [flags.INDEPENDENT_CRITERIA] * (method == FROM_RUNS and bool(self.many_criteria[taken].any()))


# ---- Deviations of judges from their peers, or from a reference ------------------------------------------------------


def reference_of(options: Options) -> dict[str, Any]:
    """Arguments of :func:`consensus_deviation` for data with these options: people if they are given, else peers."""
    return {"reference": "peers" if options.people is None else options.people, "identity": options.identity or None}


def deviations_of(data: Any, options: Options) -> pd.DataFrame:
    """Deviations from people if they are given, else from peers."""
    return options.call(consensus_deviation, data, **reference_of(options))


def _judges_are_systems(data: Any, options: Options) -> str:
    """Require a judge that is one of the systems."""
    systems = {options.identity.get(s, s) for s in labels(data, "system")}
    if set(labels(data, "judge")) & systems:
        return ""
    return "no judge has the name of a system: map them with identity={'system': 'judge'}"


@Measure(
    "Does a judge favour its own system?", "consensus", "R, counts (means)", "t over items or clusters",
    "merchant_risk, Sec 4.1 to 4.4", frames=("ratings",), needs=(_judges_are_systems,),
    take=lambda data, options: deviations_of(data, options).query("term == 'self_excess'"),
    sheet=("consensus: self_excess", "people: self_excess"), name="self_excess",
)  # fmt: skip
@Measure(
    "How far does each judge deviate from the others, also on its own system?", "consensus", "R, counts (means)",
    "t over items or clusters; from means, sds, runs: t, Satterthwaite", "merchant_risk, Sec 4.1 to 4.4",
    plot="deviation_matrix", frames=("ratings",),
    take=lambda data, options: deviations_of(data, options).query("term == 'deviation'"),
    sheet=("consensus: mean_others", "people: mean_others"),
    terms=(
        Term("mean_own", "deviation on its own system", "score", "systems", "far from 0",
             "Deviation from its peers when the judge scores its own system.", neutral=0.0),
        Term("mean_others", "leniency: deviation on others", "score", "systems", "far from 0",
             "Deviation from its peers when the judge scores others: above 0 lenient, below severe.", neutral=0.0),
        Term("mean_deviation", "leniency: mean deviation", "score", "cells", "far from 0",
             "Mean deviation from the other judges over all scores: above 0 lenient, below severe.", neutral=0.0),
        Term("self_excess", "self-excess", "score", "systems", "above 0",
             "Deviation on its own system minus deviation on others: self-preference.", neutral=0.0),
        Term("deviation", "deviation from the reference", neutral=0.0),
        Term("share_positive", "share above the reference"),
    ),
    have=("judges",),
    assumes="The mean of the other judges is the reference, which is not the truth; runs or items are independent.",
)  # fmt: skip
def consensus_deviation(
    ratings: IntoFrame,
    reference: Any = "peers",
    *,
    by: By = (),
    average_over: By = (),
    identity: Mapping[str, str] | None = None,
    family: Mapping[str, str] | None = None,
    exclude_self: bool = True,
    conf_level: float = CONF_LEVEL,
    cluster: Cluster = "auto",
    per_criterion: bool = False,
    overall_criterion: str | None = "final",
) -> pd.DataFrame:
    """Deviation of each judge's scores from the consensus of the others, with its own system reported separately.

    The deviation in a cell (system, item, criterion) is the judge's score, averaged over replicates, minus the mean of
    the other judges' scores. It is averaged over the criteria of an item, then over items.

    Parameters
    ----------
    ratings : frame
        Raw ratings in any engine (NaN scores are excluded), or means per cell: ``judge, system[, item, criterion],
        mean[, sd, runs]``, such as a published table or a tally.
    reference : 'peers' or frame
        The reference of the deviations. A frame is a reference panel: its ratings (with ``judge``: the mean over its
        judges), or means with ``system``, ``mean`` (and ``sd``, ``runs``) and, if present, the `by` columns, ``item``
        and ``criterion``. A system that is not in it is looked up by its `identity`.
    by : str or sequence of str
        Further columns that split the result (a condition, say).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    identity : mapping of str to str, optional
        System name -> judge name, where they differ: ``{"Expert 1": "GPT-5.1"}``. Other systems keep their names.
        Within a `by` group no two systems may be the same judge.
    family : mapping of str to str, optional
        Name -> family, for every judge and system: ``own`` then means of the same family, possibly several systems.
    exclude_self : bool
        False includes the judge in its own consensus, which shrinks every deviation by (n - 1)/n. For comparison only.
    conf_level : float
        Coverage of the intervals.
    cluster : "auto", str or False
        Column of clusters: intervals are t over its values, from the clusters' sums. ``"auto"``: ``item``, or a column
        that groups items (``prompt``, ``task``), the coarsest with 30 values or more. False treats the items as fixed,
        with uncertainty from the runs alone.
    per_criterion : bool
        Split the result by criterion.
    overall_criterion : str or None
        Criterion of the final score. If present it is the only one used, else all criteria are; with `per_criterion` it
        is excluded.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, ``system``, the columns of every estimate, and ``own`` (whether a deviation is of
        the judge's own system). Terms:

        - ``deviation`` per judge x system, ``n`` items;
        - per judge, with an empty system and ``n`` judge x system pairs: ``mean_own``, ``mean_others`` and
          ``self_excess`` = ``mean_own - mean_others``, self-preference without leniency;
        - against a reference frame, with an empty judge too: ``mean_deviation`` over all pairs and ``share_positive``,
          the share of pairs strictly above 0.

    Raises
    ------
    SchemaError
        If a column is missing, or `identity` or `family` is not valid (see ``faults``).
    DesignError
        If there is a single judge and no reference, or the reference matches no rating.

    See Also
    --------
    score_matrix : Mean scores of judges and systems.
    calibrate : Scores brought to a reference.
    judgestats.models.self_preference : Own responses, given their quality.

    Notes
    -----
    With two items or more in every pair of an estimate the interval is t on G - 1, from the influence of each cluster
    on it: for one deviation the sd of the items' deviations over the root of G, for ``self_excess`` in a complete
    design the sd of the items' self-excess. Otherwise, if the runs have an sd, the estimate is a linear function of
    independent cell means, and ``method`` is ``t from mean, sd, runs (Satterthwaite)``. Otherwise the interval is NaN,
    and ``flag`` gives the reason.

    In each cell the deviations of its judges sum to 0: the measure is relative.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 4.1 to 4.4.

    Examples
    --------
    >>> means = pd.DataFrame({"judge": ["a", "a", "b", "b", "c", "c"], "system": ["a", "b"] * 3,
    ...                       "mean": [9.0, 7.0, 8.0, 8.0, 7.0, 6.0]})
    >>> consensus_deviation(means)[["judge", "system", "own", "term", "estimate", "flag"]]
       judge system    own         term  estimate           flag
    0      a      a   True    deviation       1.5     sd unknown
    1      a      b  False    deviation       0.0     sd unknown
    2      b      a  False    deviation       0.0     sd unknown
    3      b      b   True    deviation       1.5     sd unknown
    4      c      a  False    deviation      -1.5     sd unknown
    5      c      b  False    deviation      -1.5     sd unknown
    6      a         False     mean_own       1.5     sd unknown
    7      a         False  mean_others       0.0     sd unknown
    8      a         False  self_excess       1.5     sd unknown
    9      b         False     mean_own       1.5     sd unknown
    10     b         False  mean_others       0.0     sd unknown
    11     b         False  self_excess       1.5     sd unknown
    12     c         False     mean_own       NaN  no own system
    13     c         False  mean_others      -1.5     sd unknown
    14     c         False  self_excess       NaN  no own system
    """
    ratings, reference = as_runs(ratings, average_over, by), reference_as_runs(reference, average_over)
    peers = isinstance(reference, str)
    if peers and reference != "peers":
        raise DesignError(f"reference={reference!r} is not known. Allowed: 'peers', or a frame with system and mean.")
    source = None if peers else against(reference, per_criterion, overall_criterion, identity)
    column = None if cluster is False else clustered_by(ratings, names(by), cluster, whole="item").column
    data = panel(
        ratings,
        by,
        per_criterion=per_criterion,
        final=overall_criterion,
        cluster=column,
        exclude_self=exclude_self,
        reference=source,
    )
    if "scale" not in names(average_over):
        refuse_declared_scales(ratings, names(by))
    if peers and len(data.judges) < 2:
        raise DesignError(
            f"A consensus needs at least two judges; got {', '.join(map(str, data.judges)) or 'none'}. Give more "
            "judges, or a reference frame."
        )
    group, judge = (pd.Series(codes[data.pair]) for codes in (data.pair_group, data.pair_judge))
    for _, means in pd.Series(data.table.mean).groupby(group):
        refuse_several_scales(means, judge[means.index].map(dict(enumerate(map(str, data.judges)))))
    own = own_systems(data, identity, family)
    uncertainty, cautions = Uncertainty(data), PairFlags(data)
    rows = [*_pair_rows(uncertainty, own, cautions, conf_level), *_judge_rows(uncertainty, own, cautions, conf_level)]
    if not peers:
        rows += _overall_rows(uncertainty, cautions, conf_level)
    result = estimates(rows, [*data.by, "judge", "system"], ["own"], sort=False)
    return result.assign(own=result["own"].astype(bool))


def own_systems(data: Panel, identity: Mapping[str, str] | None, family: Mapping[str, str] | None) -> Mask:
    """Whether the system of each pair is the judge's own, (P,)."""
    present = [np.unique(data.pair_system[data.pair_group == g]) for g in range(data.n_groups)]
    groups = [[str(s) for s in data.systems.take(codes)] for codes in present]
    mapped = identities(groups, [str(j) for j in data.judges], identity, family)
    judge, system = (np.asarray(x, dtype=object) for x in (data.judges, data.systems))
    return own_pairs(
        [str(j) for j in judge[data.pair_judge]], [str(s) for s in system[data.pair_system]], mapped, family
    )


def _method(data: Panel, method: str) -> str:
    naive = flags.NAIVE if not data.exclude_self and not data.reference.used else ""
    return "; ".join(m for m in (naive, method) if m)


def _pair_rows(uncertainty: Uncertainty, own: Mask, cautions: PairFlags, conf_level: float) -> list[dict[str, Any]]:
    """Rows of the term ``deviation``."""
    data = uncertainty.data
    variance, df, method = uncertainty.pair_spreads()
    se, low, high = interval(data.estimate, variance, df, conf_level)
    judge, system = (np.asarray(x, dtype=object) for x in (data.judges, data.systems))
    keys = [data.group_labels(g) for g in range(data.n_groups)]
    order = np.lexsort([data.pair_system, data.pair_judge, data.pair_group])
    methods = {m: _method(data, m) for m in set(method)}
    of_pairs = cautions.of_pairs()
    columns = {
        "judge": judge[data.pair_judge],
        "system": system[data.pair_system],
        "own": own,
        "estimate": data.estimate,
        "std_error": se,
        "conf_low": low,
        "conf_high": high,
        "n": data.items,
    }
    cells = zip(*(x[order].tolist() for x in columns.values()), strict=True)
    rows = []
    for p, group, values in zip(order.tolist(), data.pair_group[order].tolist(), cells, strict=True):
        row = {
            **keys[group],
            "term": "deviation",
            **dict(zip(columns, values, strict=True)),
            "method": methods[method[p]],
        }
        found = of_pairs[p]
        if row["n"]:
            error, lower = row["std_error"], row["conf_low"]
            found = [*found, *cautions.of_interval(p, variance[p], error, lower, df[p], method[p])]
        rows.append({**row, "flag": flags.join(*found)})
    return rows


def _weights_of_mean(owner: NDArray[Any], n_owners: int, taken: Mask) -> Floats:
    """1 over the number of an owner's selected pairs, on those pairs."""
    counts = np.bincount(owner[taken], minlength=n_owners)
    weights = np.zeros(owner.size)
    weights[taken] = 1 / counts[owner[taken]]
    return weights


def own_and_others(data: Panel, own: Mask) -> tuple[NDArray[Any], int, Floats, Floats]:
    """Owner (group x judge) of each pair, number of owners, and weights of ``mean_own`` and ``mean_others``."""
    judges = len(data.judges)
    owner = (data.pair_group * judges + data.pair_judge).astype(np.int64)
    owners = data.n_groups * judges
    of_own, of_others = (_weights_of_mean(owner, owners, side & (data.items > 0)) for side in (own, ~own))
    return owner, owners, of_own, of_others


def _judge_rows(uncertainty: Uncertainty, own: Mask, cautions: PairFlags, conf_level: float) -> list[dict[str, Any]]:
    """Rows of the terms ``mean_own``, ``mean_others`` and ``self_excess``."""
    data = uncertainty.data
    owner, owners, of_own, of_others = own_and_others(data, own)
    terms = {"mean_own": of_own, "mean_others": of_others, "self_excess": of_own - of_others}
    spreads = dict(zip(terms, uncertainty.contrast(owner, owners, of_own, of_others), strict=True))
    rows = []
    for o in np.unique(owner):
        of_judge = owner == o
        key = {**data.group_labels(int(o) // len(data.judges)), "judge": data.judges[int(o) % len(data.judges)]}
        absent = (flags.NO_OWN * (not of_own[of_judge].any()), flags.NO_OTHER * (not of_others[of_judge].any()))
        lacking = dict(zip(terms, (*absent, flags.join(*absent)), strict=True))
        for term, weights in terms.items():
            row = {**key, "system": "", "own": False, "term": term}
            if lacking[term]:
                rows.append({**row, "estimate": math.nan, "n": 0, "flag": lacking[term], "method": _method(data, "")})
                continue
            taken = of_judge & (weights != 0)
            rows.append(row | _linear(data, weights * of_judge, taken, spreads[term][o], cautions, conf_level))
    return rows


def _linear(
    data: Panel, weights: Floats, taken: Mask, spread: Spread, cautions: PairFlags, conf_level: float
) -> dict[str, Any]:
    """Cells of a weighted sum of pairs."""
    estimate = float(weights[taken] @ data.estimate[taken])
    se, low, high = interval(estimate, spread.variance, spread.df, conf_level)
    found = cautions.of_interval(taken, spread.variance, float(se), float(low), spread.df, spread.method)
    about = {"n": int(taken.sum()), "method": _method(data, spread.method)}
    return with_interval(se, low, high, estimate=estimate, **about, flag=flags.join(*cautions.of(taken), *found))


def _overall_rows(uncertainty: Uncertainty, cautions: PairFlags, conf_level: float) -> list[dict[str, Any]]:
    """Mean deviation from the reference and the share of positive deviations, over all judge x system pairs."""
    data = uncertainty.data
    defined = data.items > 0
    weights = _weights_of_mean(data.pair_group, data.n_groups, defined)
    spreads = uncertainty.spreads(data.pair_group.astype(np.int64), data.n_groups, weights)
    rows = []
    for g in range(data.n_groups):
        taken = (data.pair_group == g) & defined
        key = {**data.group_labels(g), "judge": "", "system": "", "own": False}
        n = int(taken.sum())
        if not n:
            empty = {**key, "estimate": math.nan, "n": 0, "flag": flags.NO_REFERENCE}
            rows += [{**empty, "term": "mean_deviation"}, {**empty, "term": "share_positive"}]
            continue
        mean = _linear(data, weights * (data.pair_group == g), taken, spreads[g], cautions, conf_level)
        rows.append({**key, "term": "mean_deviation", **mean})
        positive = int((data.estimate[taken] > 0).sum())
        low, high = wilson(positive, n, conf_level)
        error = math.sqrt(positive * (n - positive) / n**3)
        flag = flags.join(flags.DEPENDENT_PAIRS, flags.SMALL_N if n < 30 else "", *cautions.of(taken))
        share = with_interval(error, float(low), float(high), estimate=positive / n, n=n, method="Wilson", flag=flag)
        rows.append({**key, "term": "share_positive", **share})
    return rows
