"""Which system is better: strengths and ranks from pairwise preferences, :func:`rank_systems`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import ndtr, stdtrit

from judgestats import flags, methods
from judgestats.counting.bootstrap import read_off
from judgestats.counting.clustering import MOST_CLUSTERS, Cluster
from judgestats.counting.patterns import InvalidDirection
from judgestats.counting.study import Calls
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.estimate import student
from judgestats.kernels.paired_comparisons import TIE
from judgestats.kernels.resampling import generator
from judgestats.kernels.simultaneous import max_t_of_pairs, rank_sets
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term, column_names
from judgestats.metrics.ranking.coded_comparisons import (
    CodedComparisons,
    CountedCalls,
    IntervalOfRanking,
    RankingOptions,
    TiesOfRanking,
    coded_comparisons,
    counted_calls,
    is_matrix,
    tally_of_matrix,
)
from judgestats.metrics.ranking.identifiability import in_group, refuse_incomparable, refuse_separated
from judgestats.metrics.ranking.ranking_resamples import BootstrapStrengths, bootstrap_of, stability_rows
from judgestats.metrics.ranking.strength_covariance import (
    StrengthCovariance,
    cluster_sizes,
    covariance_of,
    without_rounding,
)
from judgestats.metrics.ranking.strength_fits import StrengthFit, ranks_of, strength_fit
from judgestats.metrics.references import labels
from judgestats.metrics.requirements import MANY
from judgestats.results import estimates
from judgestats.schema.coding import each_group
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Record
from judgestats.wording import Method

_WAYS = {"bradley-terry": methods.BRADLEY_TERRY, "davidson": methods.DAVIDSON, "rao-kupper": methods.RAO_KUPPER}
_NO_INTERVAL = dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)


def _ranked(data: Calls, _: MeasureOptions) -> str:
    """Requires three systems or more that are compared with each other, but not too many for all pairs."""
    columns = ["first", "second"]
    if set(columns) <= set(column_names(data)):
        systems = len({*labels(data, "first"), *labels(data, "second")})
        if systems < 3:
            return "needs three systems or more"
        if systems > MANY:
            return f"{systems:,} systems are too many for every pair"
    return ""


def _of_the_page(data: Calls, options: MeasureOptions) -> Record:
    """Stability over the items and judges that there are."""
    if options.counting:
        return {}
    columns = [c for c in ("item", "judge") if c not in options.by and len(labels(data, c)) > 1]
    return {"stability": columns}


@Measure(
    "How strong is each system, and is the ranking stable?", "ranking", "P, counts",
    "sandwich, clustered; bootstrap; ranks: max-T", "Bradley and Terry 1952; Al Mohamad et al. 2022",
    plot="rank_sets", frames=("preferences",), needs=(_ranked,), arguments=_of_the_page,
    caption="Each system's rank, and the ranks that the comparisons do not exclude, for all systems at once.",
    terms=(
        Term("strength", "strength", "system", "valid calls of the system", "lower",
             "Log-odds of beating a system of average strength, or the reference.", neutral=0.0),
        Term("rank", "rank", "system", "valid calls of the system", "higher",
             "1 is the best. The interval is the set of ranks that are not excluded, for all systems at once.",
             form="count"),
        Term("best", "share of draws in which it is best", "system", "valid calls of the system", "lower",
             "Share of bootstrap draws in which no system is stronger.", form="share"),
        Term("tie", "tie parameter", "data set", "valid calls", "no universal direction",
             "Davidson: log ν; Rao-Kupper: θ. The larger it is, the more ties there are between equals."),
        Term("slot", "preference for the first position", "data set", "valid calls", "far from 0",
             "Log-odds of the first of two equal systems.", neutral=0.0),
        Term("stability_item", "stability over items", "data set", "splits", "lower",
             "Kendall's tau of the rankings from two random halves of the items, mean over splits: 1 is the same "
             "ranking."),
        Term("stability_judge", "stability over judges", "data set", "splits", "lower",
             "Kendall's tau of the rankings from two random halves of the judges, mean over splits: 1 is the same "
             "ranking."),
    ),
    assumes=(
        "One strength per system for all judges and items (Bradley and Terry, with ties); comparisons of different "
        "clusters are independent."
    ),
)  # fmt: skip
def rank_systems(
    calls: IntoFrame,
    *,
    ties: TiesOfRanking = "davidson",
    slot: bool = False,
    covariates: By = (),
    reference: str | None = None,
    pseudo_ties: float = 0.0,
    invalid: InvalidDirection = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    interval: IntervalOfRanking = "sandwich",
    stability: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Strength and rank of each system, from all judges together.

    Parameters
    ----------
    calls : frame
        Preferences. Or a tally: ``system, opponent, outcome, n`` with the outcomes ``win``, ``loss``, ``tie``,
        ``invalid`` of the system, which was shown first. Or a printed matrix: a pandas frame whose index and columns
        are the systems, with the wins of the row over the column.
    ties : {'davidson', 'rao-kupper', 'half', 'drop'}
        A tie is an answer of its own, as likely as ν times the geometric mean of both strengths (Davidson) or as
        the log-odds lie between -θ and θ (Rao and Kupper); half a win for each; or excluded. An abstention is a tie.
    slot : bool
        Whether the first position has an effect. The order must be known.
    covariates : str or sequence of str
        Style of the answers: a column of differences, first minus second, or ``<name>_first`` and ``<name>_second``.
        In a tally: system minus opponent.
    reference : str, optional
        System whose strength is 0; by default the strengths have mean 0.
    pseudo_ties : float
        A weak prior: so many ties of each system with an opponent of strength 0, each half a win and half a loss.
    invalid : {'drop', 'tie'}
        An invalid call is excluded, or a tie.
    by : str or sequence of str
        Further grouping columns. Name ``judge`` for a ranking by each judge.
    cluster : "auto", str, two of them, or False
        Columns that calls share, by which intervals are clustered. ``"auto"`` detects one (``item``, say), and adds
        ``judge`` where 30 judges or more, people as a rule, have several calls. False treats all calls as
        independent, with a flag where they are not.
    interval : {'sandwich', 'model', 'percentile'}
        Robust standard errors, clustered; those of the model, which takes calls as independent; or a bootstrap of
        calls or clusters, which also gives ``best``.
    stability : str or sequence of str
        Columns (``item``, ``judge``) over which the stability of the ranking is measured.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws. The seed is also that of the simulated critical value of
        the ranks, and of the halves.
    conf_level : float
        Coverage of the intervals. Of the sets of ranks it is simultaneous.

    Returns
    -------
    pandas.DataFrame
        By ``system``, best first: ``strength`` in log-odds; ``rank``, whose interval is its set of ranks; after a
        bootstrap ``best``, the share of draws in which the system is best. Without a system: ``tie`` (log ν or θ),
        ``slot``, each covariate, and ``stability_<column>``. ``n`` is the valid calls of the system, or of all.

    Raises
    ------
    DesignError
        If there is one system only; if systems fall into groups that were never compared with each other; if a
        covariate does not vary, or slot and covariates cannot be separated from the systems; if an argument is not
        known.

    See Also
    --------
    preference_rate : Win rate of each candidate.
    rank_correlation : Rank correlation with a reference.

    Notes
    -----
    A system that never lost has no finite strength by maximum likelihood: it is infinite and flagged, as are groups of
    systems that never lost to the rest; ``pseudo_ties=1`` makes all strengths finite. Strengths of the others are then
    among themselves, and ranks of the infinite ones are open to both sides.
    The sandwich sums the scores of each cluster, corrected for the leverage of the cluster (CR2), with t on the degrees
    of freedom by Satterthwaite that each strength and each difference has; of two crossed clusters the sandwiches are
    added, that of their intersections is subtracted, and the smaller degrees of freedom count. A system seen in one
    cluster has no interval, and may have any rank. Sets of ranks: two systems differ if the p of their t is below that
    of the simulated quantile of the largest difference over all pairs; the ranks of a system are 1 + the number
    significantly better to K - the number significantly worse. They hold for all systems at once.
    Stability is Kendall's tau of the rankings from two random halves of the items (judges), each with a pseudo-tie,
    mean over 100 splits. It is that of half the data, and has no interval.

    References
    ----------
    Bradley, R. A., Terry, M. E. (1952). Biometrika 39, 324-345. Davidson, R. R. (1970). Journal of the American
    Statistical Association 65, 317-328. Rao, P. V., Kupper, L. L. (1967). Journal of the American Statistical
    Association 62, 194-204. Al Mohamad, D., Goeman, J. J., van Zwet, E. W. (2022). Biometrics 78, 238-247. Pustejovsky,
    J. E., Tipton, E. (2018). Journal of Business & Economic Statistics 36, 672-683.

    Examples
    --------
    Three people compare five models (PandaLM); the ranks of three of them are open:

    >>> from judgestats import datasets
    >>> calls = datasets.load("pandalm").query("rater_type == 'human'")
    >>> rankings = rank_systems(calls)
    >>> rankings[["system", "term", "estimate", "conf_low", "conf_high", "n"]].round(2).drop(index=range(5, 10))
                   system      term  estimate  conf_low  conf_high       n
    0            llama-7b  strength      0.79      0.61       0.97  1263.0
    1         pythia-6.9b  strength      0.10     -0.06       0.26  1176.0
    2            bloom-7b  strength     -0.01     -0.18       0.15  1221.0
    3              opt-7b  strength     -0.24     -0.41      -0.08  1158.0
    4   cerebras-gpt-6.7B  strength     -0.63     -0.81      -0.45  1176.0
    10                          tie     -1.34     -1.53      -1.16  2997.0
    >>> rankings.loc[rankings["term"] == "rank", ["conf_low", "conf_high"]].astype(int).to_numpy().tolist()
    [[1, 1], [2, 4], [2, 4], [2, 4], [5, 5]]
    """
    if not (isinstance(pseudo_ties, int | float) and 0 <= pseudo_ties < math.inf):
        raise DesignError(f"pseudo_ties={pseudo_ties!r} must be a number from 0, e.g. 1.")
    differing, halved = tuple(names(covariates)), tuple(names(stability))
    zero = None if reference is None else str(reference)
    options = RankingOptions(
        ties, slot, differing, zero, float(pseudo_ties), interval, halved, n_resamples, seed, conf_level
    )
    if isinstance(calls, pd.DataFrame) and is_matrix(calls):
        if slot or covariates:
            what = "slot=True" if slot else f"covariates={covariates!r}"
            raise DesignError(f"A matrix of wins has no order and no covariates: give the calls, or leave {what} out.")
        calls = tally_of_matrix(calls)
    counts = counted_calls(calls, options, by, cluster)
    table = counts.table
    if invalid == "tie":
        table = table.assign(outcome=table["outcome"].replace({"invalid": "tie"}))
    groups = grouping(by, table.columns)
    rows: list[Record] = []
    for key, of_group in each_group(table, groups):
        rows += [{**key, **row} for row in _group_rows(key, of_group, counts, options)]
    result = estimates(rows, [*groups, "system"], sort=False)
    return result.sort_values(groups, kind="stable", ignore_index=True) if groups else result


def _group_rows(key: Record, table: pd.DataFrame, counts: CountedCalls, options: RankingOptions) -> list[Record]:
    """Rows of the systems that are ranked together."""
    comparisons = coded_comparisons(table, counts.clusters, options)
    systems, n = comparisons.systems, comparisons.n
    if not n.sum():
        if len(comparisons.names) < 2:
            single = f": {comparisons.names[0]!r}" if comparisons.names else ""
            problem = f"rank_systems compares systems, and there is one only{single}."
            raise DesignError(in_group(key, f"{problem} Give calls between two systems or more."))
        empty = {"estimate": math.nan, "n": 0.0, "flag": flags.join(flags.NO_DATA, *comparisons.excluded)}
        return [{"system": s, "term": t, **empty} for t in ("strength", "rank") for s in comparisons.names]
    refuse_incomparable(comparisons, options, key)
    fit = strength_fit(systems, comparisons.counted(n), options)
    common = flags.join(*comparisons.excluded, "" if fit.parameters.converged else flags.NOT_CONVERGED)
    tied = fit.model == "bradley-terry" and options.ties in ("davidson", "rao-kupper")
    if tied and (comparisons.outcome == TIE).all():
        cells = {"estimate": math.nan, "n": float(n.sum()), "flag": flags.join(flags.ALWAYS.of(what="tie"), common)}
        return [{"system": s, "term": t, **cells} for t in ("strength", "rank") for s in systems]
    refuse_separated(comparisons, fit, options, key)
    ranking = _Ranking(key, comparisons, fit, options, counts, common, covariance_of(comparisons, fit, options))
    of_systems = ranking.strengths()
    silent = [s for s in comparisons.names if s not in systems]
    none = {"estimate": math.nan, "n": 0.0, "flag": flags.join(flags.NO_DATA, common)}
    rows = []
    for term in dict.fromkeys(r["term"] for r in of_systems):
        rows += [r for r in of_systems if r["term"] == term]
        rows += [{"system": s, "term": term, **none} for s in silent]
    return [*rows, *ranking.others(), *stability_rows(comparisons, options, key, ranking.caution)]


@dataclass(frozen=True)
class _Ranking:
    """A fit with its covariance, as rows."""

    key: Record
    comparisons: CodedComparisons
    fit: StrengthFit
    options: RankingOptions
    counts: CountedCalls
    common: str  # flags of all rows
    covariance: StrengthCovariance

    @property
    def caution(self) -> str:
        """Flags of all rows, of a bootstrap that has too many clusters too."""
        return flags.join(self.common, flags.NOT_DRAWN if self._has_many_clusters else "")

    @property
    def _has_many_clusters(self) -> bool:
        sizes = (self.comparisons.codes[c].size for c in self.comparisons.clusters)
        return self.options.interval == "percentile" and any(size > MOST_CLUSTERS for size in sizes)

    @cached_property
    def _cluster_sizes(self) -> Floats:
        return cluster_sizes(self.comparisons)

    @cached_property
    def _few(self) -> str:
        if not self.comparisons.clusters or self.options.interval == "model":
            return ""
        few = flags.few_clusters(self._cluster_sizes)
        return few or (flags.FEW_DRAWN if self.covariance.units < min(30, len(self.comparisons.systems)) else "")

    @cached_property
    def _sizes_by_system(self) -> list[Floats]:
        """Comparisons of each system in each cluster; empty where calls are taken as independent."""
        clustered = self.comparisons.clusters and self.options.interval != "model"
        systems = range(len(self.comparisons.systems) if clustered else 0)
        return [cluster_sizes(self.comparisons, k) for k in systems]

    @cached_property
    def _few_of_system(self) -> list[str]:
        """Few-clusters flags of each system, from the clusters of its own calls."""
        of_each = [flags.few_clusters(sizes) or self._few for sizes in self._sizes_by_system]
        return of_each or [""] * len(self.comparisons.systems)

    @cached_property
    def _model(self) -> Method:
        """The model in the ``method`` of an estimate."""
        options, way = self.options, _WAYS[self.fit.model]
        if options.ties == "half" and (self.comparisons.outcome == TIE).any():
            way = way.on("ties half")
        prior = options.pseudo_ties
        return way.on(f"{prior:g} pseudo-tie{'s' * (prior != 1)}") if prior else way

    @cached_property
    def _method(self) -> Method:
        """The model and its errors."""
        if self.options.interval == "model":
            return self._model.on("model errors")
        way, clusters = self._model.on("sandwich"), self.comparisons.clusters
        return way.by(" x ".join(clusters), self.covariance.units) if clusters else way

    @property
    def _dependence(self) -> str:
        clusters, sharing = self.comparisons.clusters, self.counts.sharing
        if self.options.interval == "model":
            return flags.NOT_INDEPENDENT if clusters else sharing.flag
        return "" if clusters and clusters != list(sharing.columns) else sharing.flag

    def strengths(self) -> list[Record]:
        """Rows of the systems."""
        fit, options, systems = self.fit, self.options, self.comparisons.systems
        size, inside = len(systems), fit.limit == 0
        shifted = without_rounding(fit.shift @ self.covariance.matrix[:size, :size] @ fit.shift.T)
        of_one_cluster = [(sizes > 0).sum() < 2 for sizes in self._sizes_by_system]
        estimable = inside & ~np.array(of_one_cluster or [False])
        shifted = np.where(np.outer(estimable, estimable), shifted, math.nan)
        data = self.comparisons.counted(self.comparisons.n)
        calls = data.counts.sum(axis=1)
        first = np.bincount(data.system, calls, size)
        n = first + np.bincount(data.opponent, calls, size)
        bootstrap = None
        if options.interval == "percentile" and not self._has_many_clusters:
            bootstrap = bootstrap_of(self.comparisons, fit, options, self.key)
        rank = ranks_of(self.comparisons, fit)
        low, high = np.ones(size), np.full(size, float(size))
        alike = flags.NO_SPREAD if estimable.any() and (np.diag(shifted)[estimable] == 0).all() else ""
        if estimable.sum() > 1 and self.covariance.units != 1:
            critical = self._critical_values(shifted[np.ix_(estimable, estimable)])
            low, high = (x.astype(float) for x in rank_sets(fit.strength, shifted, critical))
        of_parameters = np.hstack([fit.shift, np.zeros((size, len(self.covariance.matrix) - size))])
        df = self.covariance.df(of_parameters)
        rows: dict[str, list[Record]] = {"strength": [], "rank": [], "best": []}
        for k in sorted(range(size), key=lambda k: (-np.nan_to_num(fit.place[k], nan=-math.inf), systems[k])):
            cells = {"system": systems[k], "n": float(n[k])}
            infinite = self._infinite(k)
            others = self._flags_of_system(k, float(n[k]), float(first[k]))
            flag = flags.join(infinite, others)
            strength = {"term": "strength", "estimate": fit.strength[k], "method": self._method, "flag": flag}
            if systems[k] == options.reference:
                strength["flag"] = flags.join(flags.REFERENCE, flag)
            elif bootstrap is not None and not (options.pseudo_ties and fit.maximum.any()):
                strength |= self._bootstrap_interval(k, bootstrap, flag)
            elif inside[k]:
                strength |= self._interval(float(fit.strength[k]), float(shifted[k, k]), float(df[k]), flag)
            rows["strength"].append({**cells, **strength})
            unplaced = flags.NOT_PLACED if np.isnan(rank[k]) else "" if np.isnan(fit.limit[k]) else infinite
            place = {"term": "rank", "estimate": rank[k], "method": methods.MAX_T.then(self._method, ", ")}
            ends = {"conf_low": low[k], "conf_high": high[k]} if self.covariance.units != 1 and not alike else {}
            flag_of_rank = flags.join(unplaced, others, next(filter(None, self._few_of_system), ""), alike)
            rows["rank"].append({**cells, **place, **ends, "flag": flag_of_rank})
            if bootstrap is not None:
                share = {"term": "best", "estimate": bootstrap.best[k], "method": bootstrap.plan.way}
                rows["best"].append({**cells, **share, "flag": flags.join(flags.NO_INTERVAL, flag)})
        return [row for of_term in rows.values() for row in of_term]

    def _critical_values(self, covariance: Floats) -> Floats | float:
        """Critical values of |t| for all pairs: one p for all, at each pair's degrees of freedom."""
        size, level = len(self.comparisons.systems), self.options.conf_level
        rng = generator(self.options.seed, (*map(str, self.key.values()), "ranks"))
        df = self.covariance.df_of_pairs(size)
        if not self.covariance.factors:
            return max_t_of_pairs(covariance, float(df[0, 0]), rng, level)
        return np.asarray(stdtrit(df, ndtr(max_t_of_pairs(covariance, math.inf, rng, level))))

    def _infinite(self, k: int) -> str:
        """Flag of a system without a finite strength by maximum likelihood."""
        limit = self.fit.limit[k]
        if self.options.pseudo_ties and self.fit.maximum[k] != 0:
            return flags.FINITE_BY_PRIOR
        if np.isnan(limit):
            return flags.NOT_PLACED
        return flags.NEVER_LOST if limit > 0 else flags.NEVER_WON if limit < 0 else ""

    def _flags_of_system(self, k: int, n: float, first: float) -> str:
        """Flags of all rows of a system with `n` calls, in `first` of which it was shown first."""
        unbalanced = ""
        if self.counts.ordered and not self.options.slot:
            excess = abs(first / n - 0.5)
            unbalanced = flags.POSITION_UNBALANCED if excess > 0.1 and 2 * excess * math.sqrt(n) > 2 else ""
        return flags.join(
            self._dependence, self._few_of_system[k], flags.SMALL_N if n < 30 else "", unbalanced, self.caution
        )

    def _bootstrap_interval(self, k: int, bootstrap: BootstrapStrengths, flag: str) -> Record:
        """Cells of a strength with the interval of its resamples; none if it is not finite."""
        strengths, clusters = bootstrap.strength[:, k], self.comparisons.clusters
        cells = read_off(float(self.fit.strength[k]), strengths, self.covariance.units, bootstrap.plan)
        method = self._model.then(cells["method"], ", ")
        if self.fit.limit[k] != 0:
            return {"method": method}
        few = flags.few_clusters(self._cluster_sizes, resampled=True) if clusters else ""
        lost = flags.UNDEFINED.of(int(np.isnan(strengths).sum()), what="resample(s)")
        return {**cells, "method": method, "flag": flags.join(flag, few, cells["flag"], lost)}

    def _interval(self, value: float, variance: float, df: float, flag: str) -> Record:
        """Cells of an interval by t; NaN with a flag where nothing varies."""
        if self.covariance.units == 1 or math.isnan(variance):
            return {**_NO_INTERVAL, "flag": flags.join(flags.ONE_UNIT, flag)}
        error, level = math.sqrt(max(variance, 0.0)), self.options.conf_level
        estimate = student(value, error, df, conf_level=level, method=self._method)
        return {**estimate.interval, "flag": flags.join(estimate.flag, flag)}

    def others(self) -> list[Record]:
        """Rows of the parameter of ties, of the slot and of the covariates."""
        fit, size, total = self.fit, len(self.comparisons.systems), float(self.comparisons.n.sum())
        flag = flags.join(self._dependence, self._few, self.caution)
        cells = {"system": "", "n": total, "method": self._method}
        covariance, df = self.covariance.matrix, self.covariance.df(np.eye(len(self.covariance.matrix)))
        rows = []
        if fit.model != "bradley-terry":
            tau = fit.parameters.tau
            row = self._interval(tau, float(covariance[-1, -1]), float(df[-1]), flag)
            if fit.model == "rao-kupper" and not math.isnan(row["std_error"]):  # theta is positive
                stretch = math.exp((row["conf_high"] - tau) / tau)
                row |= {"conf_low": tau / stretch, "conf_high": tau * stretch}
            rows.append({**cells, "term": "tie", "estimate": tau, **row})
        for column, name in enumerate(self.options.extra):
            value = float(fit.parameters.gamma[column])
            place = size + column
            row = {"estimate": value, **self._interval(value, float(covariance[place, place]), float(df[place]), flag)}
            row |= {c: row[c] / self.comparisons.scale[column] for c in ("estimate", *_NO_INTERVAL)}
            rows.append({**cells, "term": name, **row})
        return rows
