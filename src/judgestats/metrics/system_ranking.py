"""Which system is better: strengths and ranks from pairwise preferences, :func:`rank_systems`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtrit

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, read_off
from judgestats.counting.clustering import ENOUGH, MOST_CLUSTERS, Cluster
from judgestats.counting.clusters import Clusters
from judgestats.counting.patterns import InvalidDirection
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.kernels import comparison_graphs, paired_comparisons
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.paired_comparisons import LOSS, TIE, WIN, Comparisons, Model, Strengths
from judgestats.kernels.proportions import normal_quantile
from judgestats.kernels.resampling import cluster_index, generator
from judgestats.kernels.simultaneous import max_t_of_pairs, rank_sets
from judgestats.metrics.measure_registry import Measure, Options, Term, column_names
from judgestats.metrics.references import labels
from judgestats.metrics.requirements import MANY
from judgestats.results import estimates
from judgestats.schema.coding import codes_of, column_codes, combine, each_group, hashed
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Ints, Mask

#: How a tie counts in a ranking: an answer of its own, in either of two models; half a win for each; excluded.
TiesOfRanking = Literal["davidson", "rao-kupper", "half", "drop"]
IntervalOfRanking = Literal["sandwich", "model", "percentile"]
#: Random halves of the levels of a column, whose rankings are compared.
SPLITS = 100
_NAMES = {"bradley-terry": "Bradley-Terry", "davidson": "Davidson", "rao-kupper": "Rao-Kupper"}
_OUTCOMES = {"win": WIN, "loss": LOSS, "tie": TIE}
_NO_INTERVAL = dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
#: A column of the model that carries less than this share of its information has run to infinity.
_SEPARATED = 1e-6
_Row = dict[str, Any]


def _ranked(data: Any, _: Options) -> str:
    """Requires three systems or more that are compared with each other, but not too many for all pairs."""
    columns = ["first", "second"]
    if set(columns) <= set(column_names(data)):
        systems = len({*labels(data, "first"), *labels(data, "second")})
        if systems < 3:
            return "needs three systems or more"
        if systems > MANY:
            return f"{systems:,} systems are too many for every pair"
    return ""


def _of_the_page(data: Any, options: Options) -> dict[str, Any]:
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
             whole=True),
        Term("best", "share of draws in which it is best", "system", "valid calls of the system", "lower",
             "Share of bootstrap draws in which no system is stronger."),
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
        Columns within whose values systems are ranked: ``"judge"`` for a ranking by each judge.
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
        Of the bootstrap; the seed also of the simulated critical value of the ranks, and of the halves.
    conf_level : float
        Coverage of the intervals, and simultaneous coverage of the sets of ranks.

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
    The sandwich sums the scores of each cluster, times G/(G - 1), with t on G - 1; two crossed clusters are added, and
    that of their intersections subtracted. Sets of ranks: two systems differ if their |t| is above the simulated
    quantile of the largest |t| over all pairs; the ranks of a system are 1 + the number significantly better to K - the
    number significantly worse. They hold for all systems at once.
    Stability is Kendall's tau of the rankings from two random halves of the items (judges), each with a pseudo-tie,
    mean over 100 splits. It is that of half the data, and has no interval.

    References
    ----------
    Bradley, R. A., Terry, M. E. (1952). Biometrika 39, 324-345. Davidson, R. R. (1970). Journal of the American
    Statistical Association 65, 317-328. Rao, P. V., Kupper, L. L. (1967). Journal of the American Statistical
    Association 62, 194-204. Al Mohamad, D., Goeman, J. J., van Zwet, E. W. (2022). Biometrics 78, 238-247.

    Examples
    --------
    >>> counts = pd.DataFrame({"system": ["A", "A", "B"], "opponent": ["B", "C", "C"], "win": [32, 40, 30],
    ...                        "loss": [18, 10, 20], "tie": [10, 10, 10]})
    >>> counts = counts.melt(["system", "opponent"], var_name="outcome", value_name="n")
    >>> found = rank_systems(counts)
    >>> found[["system", "term", "estimate", "conf_low", "conf_high", "n"]].round(2)
      system      term  estimate  conf_low  conf_high      n
    0      A  strength      0.63      0.34       0.92  120.0
    1      B  strength     -0.06     -0.34       0.22  120.0
    2      C  strength     -0.58     -0.86      -0.29  120.0
    3      A      rank      1.00      1.00       1.00  120.0
    4      B      rank      2.00      2.00       3.00  120.0
    5      C      rank      3.00      2.00       3.00  120.0
    6              tie     -0.83     -1.23      -0.43  180.0
    """
    if not (isinstance(pseudo_ties, int | float) and 0 <= pseudo_ties < math.inf):
        raise DesignError(f"pseudo_ties={pseudo_ties!r} must be a number from 0, e.g. 1.")
    asked = _Asked(
        ties, slot, tuple(names(covariates)), None if reference is None else str(reference), float(pseudo_ties),
        interval, tuple(names(stability)), n_resamples, seed, conf_level,
    )  # fmt: skip
    if isinstance(calls, pd.DataFrame) and _is_matrix(calls):
        if slot or covariates:
            what = "slot=True" if slot else f"covariates={covariates!r}"
            raise DesignError(f"A matrix of wins has no order and no covariates: give the calls, or leave {what} out.")
        calls = _of_matrix(calls)
    table, shared, clusters, ordered = _counted(calls, asked, by, cluster)
    if invalid == "tie":
        table = table.assign(outcome=table["outcome"].replace({"invalid": "tie"}))
    groups = grouping(by, table.columns)
    rows: list[_Row] = []
    for key, here in each_group(table, groups):
        rows += [{**key, **row} for row in _Group(key, here, shared, clusters, ordered, asked).rows()]
    result = estimates(rows, [*groups, "system"], sort=False)
    return result.sort_values(groups, kind="stable", ignore_index=True) if groups else result


@dataclass(frozen=True)
class _Asked:
    """Arguments of :func:`rank_systems`."""

    ties: TiesOfRanking
    slot: bool
    covariates: tuple[str, ...]
    reference: str | None
    pseudo_ties: float
    interval: IntervalOfRanking
    stability: tuple[str, ...]
    n_resamples: int
    seed: int | np.random.Generator | None
    conf_level: float

    @property
    def extra(self) -> list[str]:
        """Terms besides the systems."""
        return [*(["slot"] if self.slot else []), *self.covariates]


# ---- From calls, a tally or a printed matrix to counts ---------------------------------------------------------------


def _is_matrix(table: pd.DataFrame) -> bool:
    """Whether a table has the same names for rows and columns, and numbers in them."""
    square = len(table) == len(table.columns) > 0 and set(table.index) == set(table.columns)
    return square and all(pd.api.types.is_numeric_dtype(t) for t in table.dtypes)


def _of_matrix(table: pd.DataFrame) -> pd.DataFrame:
    """Tally of a matrix of wins of the row over the column."""
    systems = [str(s) for s in table.columns]
    wins = table.loc[list(table.columns)].fillna(0).to_numpy(dtype=float)
    if (wins < 0).any():
        raise SchemaError(f"The matrix of wins has {wins.min():g}. Allowed: numbers from 0.")
    one, two = np.triu_indices(len(systems))
    parts = [
        pd.DataFrame({"system": np.take(systems, one), "opponent": np.take(systems, two), "outcome": outcome, "n": n})
        for outcome, n in (("win", wins[one, two]), ("loss", np.where(one == two, 0.0, wins[two, one])))
    ]
    whole = pd.concat(parts, ignore_index=True)
    return whole[whole["n"] > 0].reset_index(drop=True)


def _counted(calls: Any, asked: _Asked, by: By, cluster: Cluster) -> tuple[pd.DataFrame, Clusters, list[str], bool]:
    """Counts with the columns needed, their clusters, what to cluster by, and whether the order shown is known."""
    study = Study.of(calls)
    if asked.covariates:
        study = Study.of(_with_differences(study.data, asked.covariates))
    data, present = study.data, study.names
    grouping(asked.stability, present, argument="stability")
    ordered = {"first", "second", "choice"} <= set(present)
    if ordered:
        try:
            Study.of(data).refuse_unknown_order()
        except DesignError:
            if asked.slot:
                raise
            ordered = False
    judges = ["judge"] if cluster == "auto" and "judge" in present and "judge" not in names(by) else []
    if judges and len(labels(calls, "judge")) < ENOUGH:
        judges = []  # these judges, not a sample of judges
    beside = list(dict.fromkeys([*asked.covariates, *asked.stability, *judges]))
    counts = count(study, "rank_systems", by, cluster=cluster, beside=beside)
    table, clusters = counts.table, list(counts.clusters.columns)
    if judges and "judge" not in clusters and table["n"].sum() > table["judge"].nunique():
        clusters = [*clusters, "judge"]
    if len(clusters) > 2:
        raise DesignError(f"cluster= names {len(clusters)} columns. Allowed: one, or two crossed factors.")
    return table, counts.clusters, clusters, ordered


def _with_differences(data: Any, covariates: Sequence[str]) -> Any:
    """Add the difference of each covariate that a frame has for both sides."""
    present = data.collect_schema()
    for name in covariates:
        sides = [f"{name}_first", f"{name}_second"]
        wanted = [name] if name in present else sides
        missing = [c for c in wanted if c not in present]
        if missing:
            known = present.names()
            raise SchemaError(
                f"covariates={name!r} is not a column, nor are {sides[0]!r} and {sides[1]!r}. Columns: "
                f"{', '.join(known)}.{suggestion(name, known)}"
            )
        for column in wanted:
            if not present[column].is_numeric():
                raise SchemaError(f"{column!r} is not a number. A covariate is a difference of numbers: give numbers.")
        if wanted == sides:
            difference = nw.col(sides[0]).cast(nw.Float64) - nw.col(sides[1]).cast(nw.Float64)
            data = data.with_columns(difference.alias(name))
    return data


# ---- One ranking -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fit:
    """Strengths of one set of counts, and which are finite; arrays (K,)."""

    model: Model
    found: Strengths
    component: Ints  # as `maximum` from :func:`limits`
    maximum: Floats
    limit: Floats  # `maximum`, or 0 where there are pseudo-ties
    strength: Floats  # infinite or NaN where there is no finite maximum; its mean, or the reference, is 0
    place: Floats  # the same before that shift, rounded, so that systems with equal counts have equal ranks
    shift: Floats  # (K, K): from the parameters to the finite strengths


@dataclass
class _Group:
    """Systems that are ranked together."""

    key: Mapping[str, Any]
    table: pd.DataFrame
    shared: Clusters
    clusters: list[str]
    ordered: bool
    asked: _Asked
    excluded: list[str] = field(default_factory=list)

    def rows(self) -> list[_Row]:
        """Rows of the result."""
        asked = self.asked
        systems = self._prepare()
        if not self.n.sum():
            if len(systems) < 2:
                known = f": {systems[0]!r}" if systems else ""
                problem = f"rank_systems compares systems, and there is one only{known}."
                raise DesignError(self._said(f"{problem} Give calls between two systems or more."))
            gone = {"estimate": math.nan, "n": 0.0, "flag": flags.join(flags.NO_DATA, *self.excluded)}
            return [{"system": s, "term": t, **gone} for t in ("strength", "rank") for s in systems]
        self._refuse()
        self.whole = self._fitted(self._counts(self.n))
        silent = [s for s in systems if s not in self.systems]
        common = flags.join(*self.excluded, "" if self.whole.found.converged else flags.NOT_CONVERGED)
        tied = self.whole.model == "bradley-terry" and asked.ties in ("davidson", "rao-kupper")
        if tied and (self.outcome == TIE).all():
            flag = flags.join(flags.ALWAYS.of(what="tie"), common)
            cells = {"estimate": math.nan, "n": float(self.n.sum()), "flag": flag}
            return [{"system": s, "term": t, **cells} for t in ("strength", "rank") for s in self.systems]
        covariance, df, units = self._covariance()
        self.made = self._made(units)
        self.few = flags.few_clusters(self._sizes) if self.clusters and asked.interval != "model" else ""
        self.common = common
        made = self._strengths(covariance, df, units)
        none = {"estimate": math.nan, "n": 0.0, "flag": flags.join(flags.NO_DATA, common)}
        parts = []
        for term in dict.fromkeys(r["term"] for r in made):
            parts += [r for r in made if r["term"] == term]
            parts += [{"system": s, "term": term, **none} for s in silent]
        return [*parts, *self._others(covariance, df), *self._stabilities()]

    # -- counts --------------------------------------------------------------------------------------------------------

    def _prepare(self) -> list[str]:
        """Code the valid calls; returns all systems, those without a valid call among them."""
        asked, table = self.asked, self.table
        n = table["n"].to_numpy(dtype=float)
        answer, answers = hashed(table["outcome"])
        outcome = np.array([_OUTCOMES.get(a, -1) for a in answers], dtype=np.int64)[answer]
        (one, two), systems = _common_codes(table["system"], table["opponent"])
        itself = one == two
        valid = (outcome >= 0) & ~itself & (n > 0)
        self.excluded = [
            flags.INVALID_EXCLUDED.of(float(n[(outcome < 0) & ~itself].sum())),
            flags.EXCLUDED.of(float(n[itself].sum()), what="call(s) of a system with itself"),
        ]
        if asked.ties == "drop":
            self.excluded.append(flags.EXCLUDED.of(float(n[valid & (outcome == TIE)].sum()), what="tie(s)"))
            valid &= outcome != TIE
        for name in asked.covariates:
            unknown = valid & ~np.isfinite(table[name].to_numpy(dtype=float, na_value=np.nan))
            self.excluded.append(flags.EXCLUDED.of(float(n[unknown].sum()), what=f"call(s) without {name}"))
            valid &= ~unknown
        kept = [*asked.covariates, *dict.fromkeys([*self.clusters, *asked.stability])]
        table = table[kept] if valid.all() else table.loc[valid, kept].reset_index(drop=True)
        self.n, self.outcome, one, two = n[valid], outcome[valid], one[valid], two[valid]
        there = np.zeros(len(systems), dtype=bool)
        there[one] = there[two] = True
        number = np.cumsum(there) - 1
        self.systems = [s for s, t in zip(systems, there, strict=True) if t]
        one, two = number[one], number[two]
        extras = [column_codes(table[c]) for c in asked.covariates]
        distinct = combine([(one, len(self.systems)), (two, len(self.systems)), *extras], len(one))
        self.row = distinct.code.astype(np.int64)
        columns = [np.ones(distinct.size)] if asked.slot else []
        columns += [table[c].to_numpy(dtype=float)[distinct.first] for c in asked.covariates]
        extra = np.column_stack(columns) if columns else np.empty((distinct.size, 0))
        self.scale = np.maximum(np.abs(extra).max(axis=0, initial=0.0), 1e-300)
        self.rows_of = Comparisons(
            one[distinct.first], two[distinct.first], np.ascontiguousarray(extra / self.scale), np.zeros((0, 3))
        )
        self.codes = {c: codes_of(table, [c]) for c in dict.fromkeys([*self.clusters, *asked.stability])}
        return systems

    def _counts(self, n: Floats) -> Comparisons:
        """The comparisons with these counts of the calls."""
        size = self.rows_of.system.size
        counts: Floats = np.bincount(self.row * 3 + self.outcome, weights=n, minlength=3 * size).astype(np.float64)
        return self.rows_of._replace(counts=counts.reshape(size, 3))

    def _said(self, message: str) -> str:
        where = ", ".join(f"{k} {v}" for k, v in self.key.items())
        return f"{message[:-1]} (in {where})." if where else message

    def _refuse(self) -> None:
        """Raise where systems cannot be compared, or a column of the model cannot be separated from the others."""
        asked, size = self.asked, len(self.systems)
        if asked.reference is not None and asked.reference not in self.systems:
            shown = ", ".join(self.systems[:12])
            hint = suggestion(asked.reference, self.systems)
            raise DesignError(f"reference={asked.reference!r} is not a system. Systems: {shown}.{hint}")
        met = np.zeros((size, size), dtype=bool)
        met[self.rows_of.system, self.rows_of.opponent] = True
        piece = comparison_graphs.pieces(met)
        if piece.max() > 0:
            members = [[s for s, p in zip(self.systems, piece, strict=True) if p == q] for q in range(piece.max() + 1)]
            listed = "; ".join(", ".join(m[:8]) + (", ..." if len(m) > 8 else "") for m in members[:6])
            raise DesignError(
                self._said(
                    f"The systems fall into {len(members)} groups that were never compared with each other: {listed}."
                )
                + " Rank each group by itself, or compare a system of one with a system of another.",
                problem=f"the systems fall into {len(members)} groups that were never compared with each other",
            )
        for column, name in enumerate(asked.extra):
            values = self.rows_of.extra[:, column] * self.scale[column]
            if name != "slot" and np.ptp(values) == 0:
                raise DesignError(
                    self._said(
                        f"covariates={name!r} is {values[0]:g} in every call, so it has no effect to estimate. "
                        "Leave it out of covariates=."
                    )
                )
        if asked.extra:
            self._refuse_collinear()

    def _refuse_collinear(self) -> None:
        data, size = self._counts(self.n), len(self.systems)
        gamma = np.zeros(len(self.asked.extra))
        hessian = -paired_comparisons.derivatives("bradley-terry", data, np.zeros(size), gamma, 0.0)[2][1:-1, 1:-1]
        deviation = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
        values, vectors = np.linalg.eigh(hessian / np.outer(deviation, deviation))
        if values[0] > 1e-9:
            return
        weight = np.abs(vectors[size - 1 :, values <= 1e-9]).max(axis=1)
        guilty = [name for name, w in zip(self.asked.extra, weight, strict=True) if w > 1e-4]
        raise DesignError(
            self._said(
                f"{' and '.join(guilty)} cannot be separated from the systems or from each other: every call with one "
                "has the other. Leave one out of covariates=, or slot=False; a slot effect needs pairs in both orders."
            )
        )

    # -- the model -----------------------------------------------------------------------------------------------------

    def _fitted(self, data: Comparisons, pseudo_ties: float | None = None, start: Strengths | None = None) -> _Fit:
        """Fit to these counts."""
        asked, size = self.asked, len(self.systems)
        pseudo_ties = asked.pseudo_ties if pseudo_ties is None else pseudo_ties
        decided = data.counts[:, WIN].sum() + data.counts[:, LOSS].sum()
        model: Model = "bradley-terry"
        if asked.ties in ("davidson", "rao-kupper") and data.counts[:, TIE].any() and decided:
            model = asked.ties
        main = None if asked.reference is None else self.systems.index(asked.reference)
        component, maximum = self._limits(data, main, tied=model != "bradley-terry")
        limit = np.zeros(size) if pseudo_ties else maximum
        if not pseudo_ties:
            inside = component[data.system] == component[data.opponent]
            data = data._replace(counts=data.counts * inside[:, None])
            if not (data.counts[:, TIE].any() and data.counts[:, :TIE].any()):
                model = "bradley-terry"
        warm = start if start is not None and math.isfinite(start.tau) == (model != "bradley-terry") else None
        found = paired_comparisons.strengths(model, data, component.astype(np.int64), pseudo_ties, warm)
        if not found.converged and warm is not None:
            found = paired_comparisons.strengths(model, data, component.astype(np.int64), pseudo_ties)
        inside = limit == 0
        shift = np.eye(size)
        if main is not None:
            shift[:, main] -= 1
        elif inside.any():
            shift[:, inside] -= 1 / inside.sum()
        strength = np.where(inside, shift @ found.beta, limit)
        place = np.where(inside, found.beta.round(9), limit)
        return _Fit(model, found, component, maximum, limit, strength, place, shift)

    def _matrices(self, data: Comparisons) -> tuple[Floats, Floats]:
        """Wins of the row over the column, and ties."""
        wins, ties = np.zeros((2, len(self.systems), len(self.systems)))
        np.add.at(wins, (data.system, data.opponent), data.counts[:, WIN])
        np.add.at(wins, (data.opponent, data.system), data.counts[:, LOSS])
        np.add.at(ties, (data.system, data.opponent), data.counts[:, TIE])
        return wins, ties + ties.T

    def _limits(self, data: Comparisons, main: int | None, *, tied: bool) -> tuple[Ints, Floats]:
        """:func:`limits` of these counts."""
        return comparison_graphs.limits(*self._matrices(data), main, tied=tied)

    def _ranks(self) -> Floats:
        """Rank of each system; of those without a finite strength NaN where it is not said whether another is above."""
        place = self.whole.place
        above = place > place[:, None]
        unknown = np.isnan(place) | np.isnan(place[:, None])
        if unknown.any():
            won = comparison_graphs.reached_by_wins(*self._matrices(self._counts(self.n)))
            above |= unknown & won.T & ~won
            unknown &= (won == won.T) & ~np.isfinite(place)[:, None]
            np.fill_diagonal(unknown, val=False)
        return np.where(unknown.any(axis=1), math.nan, 1.0 + above.sum(axis=1))

    def _covariance(self) -> tuple[Floats, float, int]:
        """Covariance of all parameters, degrees of freedom, and number of clusters."""
        asked, fit = self.asked, self.whole
        found = fit.found
        self._refuse_separated()
        if asked.interval == "model":
            return found.bread, math.inf, 0
        data = self._counts(self.n)
        inside = fit.component[data.system] == fit.component[data.opponent]
        n = self.n * inside[self.row]
        codes = [self.codes[c] for c in self.clusters]
        if len(codes) == 2:
            codes.append(combine([(c.code, c.size) for c in codes], self.n.size))
        scaled, sizes = np.zeros_like(found.bread), [c.size for c in codes] or [round(float(self.n.sum()))]
        for i, units in enumerate(sizes):
            cluster = codes[i].code.astype(np.int64) if codes else None
            middle = paired_comparisons.meat(fit.model, data, found, self.row, self.outcome, n, cluster)
            scaled += (-1 if i == 2 else 1) * middle * units / max(units - 1, 1)
        if asked.pseudo_ties:
            scaled += self._information_without_spread(data, inside)
        covariance = found.bread @ scaled @ found.bread
        if len(codes) == 3:  # a difference of two matrices need not be a covariance
            values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
            covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return covariance, float(min(sizes) - 1), min(sizes)

    @property
    def _sizes(self) -> Floats:
        """Comparisons of each cluster, of the factor whose clusters are worth less."""
        return min(
            (np.bincount(self.codes[c].code, self.n).astype(np.float64) for c in self.clusters), key=effective_clusters
        )

    def _information_without_spread(self, data: Comparisons, inside: Mask) -> Floats:
        """Information of the pseudo-ties, and of comparisons that one side always won: their scores do not vary."""
        found, size = self.whole.found, len(self.systems)
        across = data._replace(counts=data.counts * ~inside[:, None])
        tau = found.tau if math.isfinite(found.tau) else 0.0
        information = -paired_comparisons.derivatives(self.whole.model, across, found.beta, found.gamma, tau)[2]
        if self.whole.model == "bradley-terry":
            information[-1] = information[:, -1] = 0.0
        p = 0.5 * (1 + np.tanh(found.beta / 2))
        information[np.arange(size), np.arange(size)] += self.asked.pseudo_ties * p * (1 - p)
        return information

    def _refuse_separated(self) -> None:
        """Raise where slot and covariates predict the answers so well that they run to infinity."""
        found, size = self.whole.found, len(self.systems)
        data = self._counts(self.n)
        for column, name in enumerate(self.asked.extra):
            most = float((data.counts.sum(axis=1) * data.extra[:, column] ** 2).sum()) / 4
            variance = found.bread[size + column, size + column]
            if not (found.converged and variance * most < 1 / _SEPARATED):
                raise DesignError(
                    self._said(
                        f"{name} predicts the answers without error, together with the systems, so it has no finite "
                        f"estimate. Leave it out ({'slot=False' if name == 'slot' else 'covariates='})."
                    )
                )

    def _made(self, units: int) -> str:
        """What the ``method`` of an estimate begins with."""
        asked = self.asked
        prior = f", {asked.pseudo_ties:g} pseudo-tie{'s' * (asked.pseudo_ties != 1)}" if asked.pseudo_ties else ""
        half = ", ties half" if asked.ties == "half" and (self.outcome == TIE).any() else ""
        error = "model errors"
        if asked.interval != "model":
            by = f", clustered by {' x '.join(self.clusters)} (G = {units})" if self.clusters else ""
            error = f"sandwich{by}"
        return f"{_NAMES[self.whole.model]}{half}{prior}, {error}"

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _dependence(self) -> str:
        if self.asked.interval == "model":
            return flags.NOT_INDEPENDENT if self.clusters else self.shared.flag
        return "" if self.clusters and self.clusters != list(self.shared.columns) else self.shared.flag

    def _strengths(self, covariance: Floats, df: float, units: int) -> list[_Row]:
        """Rows of the systems."""
        asked, fit, size = self.asked, self.whole, len(self.systems)
        inside = fit.limit == 0
        shifted = fit.shift @ covariance[:size, :size] @ fit.shift.T
        shifted = np.where(np.outer(inside, inside), shifted, math.nan)
        data = self._counts(self.n)
        calls = data.counts.sum(axis=1)
        n = np.bincount(data.system, calls, size) + np.bincount(data.opponent, calls, size)
        first = np.bincount(data.system, calls, size)
        drawn, rank = self._drawn(), self._ranks()
        low, high = np.ones(size), np.full(size, float(size))
        if inside.sum() > 1 and units != 1:
            rng = generator(asked.seed, (*map(str, self.key.values()), "ranks"))
            critical = max_t_of_pairs(shifted[np.ix_(inside, inside)], df, rng, asked.conf_level)
            low, high = (x.astype(float) for x in rank_sets(fit.strength, shifted, critical))
        rows: dict[str, list[_Row]] = {"strength": [], "rank": [], "best": []}
        for k in sorted(range(size), key=lambda k: (-np.nan_to_num(fit.place[k], nan=-math.inf), self.systems[k])):
            unbalanced = ""
            if self.ordered and not asked.slot:
                excess = abs(first[k] / n[k] - 0.5)
                unbalanced = flags.POSITION_UNBALANCED if excess > 0.1 and 2 * excess * math.sqrt(n[k]) > 2 else ""
            limit = fit.limit[k]
            infinite = (
                flags.NOT_PLACED
                if np.isnan(limit)
                else flags.NEVER_LOST
                if limit > 0
                else flags.NEVER_WON
                if limit < 0
                else ""
            )
            if asked.pseudo_ties and fit.maximum[k] != 0:
                infinite = flags.FINITE_BY_PRIOR
            small = flags.SMALL_N if n[k] < 30 else ""
            cells = {"system": self.systems[k], "n": float(n[k])}
            beside = flags.join(self._dependence(), self.few, small, unbalanced, self.common)
            flag = flags.join(infinite, beside)
            strength = {"term": "strength", "estimate": fit.strength[k], "method": self.made, "flag": flag}
            if self.systems[k] == asked.reference:
                strength["flag"] = flags.join(flags.REFERENCE, flag)
            elif drawn is not None and not (asked.pseudo_ties and fit.maximum.any()):
                found = read_off(float(fit.strength[k]), drawn[0][:, k], units, drawn[2])
                lost = flags.UNDEFINED.of(int(np.isnan(drawn[0][:, k]).sum()), what="resample(s)")
                found["method"] = f"{self.made.split(', sandwich')[0]}, {found['method']}"
                found["flag"] = flags.join(
                    flag, flags.few_clusters(self._sizes, resampled=True) if self.clusters else "", found["flag"], lost
                )
                strength |= found if inside[k] else {"method": found["method"]}
            elif inside[k]:
                strength |= self._interval(float(fit.strength[k]), float(shifted[k, k]), df, flag)
            rows["strength"].append({**cells, **strength})
            ends = {"conf_low": low[k], "conf_high": high[k]} if units != 1 else {}
            rows["rank"].append(
                {
                    **cells,
                    "term": "rank",
                    "estimate": rank[k],
                    **ends,
                    "method": f"max-T, {self.made}",
                    "flag": flags.join(
                        flags.NOT_PLACED if np.isnan(rank[k]) else "" if np.isnan(limit) else infinite, beside
                    ),
                }
            )
            if drawn is not None:
                rows["best"].append(
                    {**cells, "term": "best", "estimate": drawn[1][k], "method": drawn[2].words,
                     "flag": flags.join(flags.NO_INTERVAL, flag)}
                )  # fmt: skip
        return [row for part in rows.values() for row in part]

    def _interval(self, value: float, variance: float, df: float, flag: str) -> _Row:
        """Cells of an interval by t; NaN with a flag where nothing varies."""
        if df < 1:
            return {**_NO_INTERVAL, "flag": flags.join(flags.ONE_UNIT, flag)}
        error = math.sqrt(max(variance, 0.0))
        if not error > 1e-10:
            return {**_NO_INTERVAL, "flag": flags.join(flags.NO_SPREAD, flag)}
        level = self.asked.conf_level
        half = error * (normal_quantile(level) if math.isinf(df) else float(stdtrit(df, 0.5 + level / 2)))
        return {"std_error": error, "conf_low": value - half, "conf_high": value + half, "flag": flag}

    def _others(self, covariance: Floats, df: float) -> list[_Row]:
        """Rows of the parameter of ties, of the slot and of the covariates."""
        fit, size, total = self.whole, len(self.systems), float(self.n.sum())
        flag = flags.join(self._dependence(), self.few, self.common)
        cells = {"system": "", "n": total, "method": self.made}
        rows = []
        if fit.model != "bradley-terry":
            row = self._interval(fit.found.tau, float(covariance[-1, -1]), df, flag)
            if fit.model == "rao-kupper" and not math.isnan(row["std_error"]):  # theta is positive
                stretch = math.exp((row["conf_high"] - fit.found.tau) / fit.found.tau)
                row |= {"conf_low": fit.found.tau / stretch, "conf_high": fit.found.tau * stretch}
            rows.append({**cells, "term": "tie", "estimate": fit.found.tau, **row})
        for column, name in enumerate(self.asked.extra):
            value = float(fit.found.gamma[column])
            row = {
                "estimate": value,
                **self._interval(value, float(covariance[size + column, size + column]), df, flag),
            }
            row |= {c: row[c] / self.scale[column] for c in ("estimate", *_NO_INTERVAL)}
            rows.append({**cells, "term": name, **row})
        return rows

    # -- resampling ----------------------------------------------------------------------------------------------------

    def _drawn(self) -> tuple[Floats, Floats, Bootstrap] | None:
        """Strengths (B, K) of the resamples, the share in which each system is best, and the options."""
        asked = self.asked
        if asked.interval != "percentile":
            return None
        plan = Bootstrap("percentile", tuple(self.clusters), None, asked.n_resamples, asked.seed, asked.conf_level)
        if any(self.codes[c].size > MOST_CLUSTERS for c in self.clusters):
            self.common = flags.join(self.common, flags.NOT_DRAWN)
            return None
        rng = generator(asked.seed, tuple(map(str, self.key.values())))
        size = len(self.systems)
        values, best = np.full((asked.n_resamples, size), math.nan), np.zeros(size)
        for b in range(asked.n_resamples):
            if self.clusters:
                n = self.n.copy()
                for c in self.clusters:
                    codes = self.codes[c]
                    n *= np.bincount(cluster_index(rng, codes.size, 1)[0], minlength=codes.size)[codes.code]
            else:
                n = rng.multinomial(round(float(self.n.sum())), self.n / self.n.sum()).astype(float)
            if not n.any():
                continue
            fit = self._fitted(self._counts(n), start=self.whole.found)
            finite = fit.limit == 0
            if finite.all() or asked.reference is not None:
                values[b] = fit.strength
            else:  # the mean of the others is that of other systems
                values[b] = np.where(finite, math.nan, fit.limit)
            if not np.isnan(fit.place).all():
                top = fit.place == np.nanmax(fit.place)
                best += top / top.sum()
        return values, best / asked.n_resamples, plan

    def _stabilities(self) -> list[_Row]:
        """Kendall's tau of rankings from two halves of the levels of a column."""
        if not self.asked.stability:
            return []
        from scipy.stats import kendalltau

        rows = []
        for column in self.asked.stability:
            codes = self.codes[column]
            cells: _Row = {"system": "", "term": f"stability_{column}", "method": "Kendall's tau, halves"}
            if codes.size < 2:
                rows.append({**cells, "estimate": math.nan, "n": 0.0, "flag": flags.join(flags.ONE_UNIT, self.common)})
                continue
            rng = generator(self.asked.seed, (*map(str, self.key.values()), column))
            found = []
            for _ in range(SPLITS if codes.size > 2 else 1):
                half = np.zeros(codes.size, dtype=bool)
                half[rng.permutation(codes.size)[: codes.size // 2]] = True
                sides = [np.where(half[codes.code] == side, self.n, 0.0) for side in (True, False)]
                prior = max(self.asked.pseudo_ties, 1.0)
                one, two = (self._fitted(self._counts(n), prior).strength for n in sides)
                found.append(float(kendalltau(one, two).statistic))
            known = np.array(found)[~np.isnan(found)]
            cells |= {"estimate": float(known.mean()) if known.size else math.nan, "n": float(known.size)}
            rows.append({**cells, "flag": flags.join(flags.NO_INTERVAL, self.common)})
        return rows


def _common_codes(one: pd.Series[Any], two: pd.Series[Any]) -> tuple[tuple[Ints, Ints], list[str]]:
    """Codes of two columns of names, and the names, sorted."""
    coded = [hashed(values) for values in (one, two)]
    known = sorted({str(label) for _, found in coded for label in found})
    place = {name: k for k, name in enumerate(known)}
    first, second = (np.array([place[str(s)] for s in found], dtype=np.int64)[code] for code, found in coded)
    return (first, second), known
