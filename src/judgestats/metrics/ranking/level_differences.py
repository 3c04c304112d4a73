"""Two systems, runs or judges on the same items: the difference of their means, paired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtr

from judgestats import flags, methods
from judgestats.counting.cells import ABOUT
from judgestats.counting.clustering import Cluster
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, refuse_unknown
from judgestats.estimate import Estimate, mean_over_clusters, quantile
from judgestats.kernels.adjustment import holm
from judgestats.kernels.proportions import clustered_tango
from judgestats.metrics.bias.strategy_comparisons import mcnemar_test
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.correctness.scored_verdicts import mean_scores
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.paired import paired_cells
from judgestats.metrics.scales import scales_apart, unmeasured
from judgestats.results import estimates, with_interval
from judgestats.schema.columns import By, grouping
from judgestats.typing import Floats, Integers, Record

#: Power with which `n_needed` would show a difference.
_POWER = 0.8
#: Columns behind those of an estimate.
_EXTRA = ("mean", "mean_other", "better", "worse", "p_value", "p_adjusted")
_WITH_MARGIN = ("p_noninferior", "p_equivalent")


@Measure(
    "Do two systems, runs or judges differ on the same items?",
    "ranking",
    "P, R",
    "Newcombe, Tango; t; all clustered",
    "ours",
    plot="forest",
    terms=(Term("difference", "difference of the means", "item", "things that both have", neutral=0.0),),
    classes=True,
    have=("conditions",),
    assumes="Both were judged on the same items by the same judge; items are independent, unless they share a cluster.",
)
def paired_differences(
    frame: IntoFrame,
    between: str,
    *,
    baseline: str | None = None,
    margin: float | None = None,
    detect: float | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Difference between two systems, runs, prompts or judges on the same items, for every pair of them.

    Parameters
    ----------
    frame : frame
        Ratings: scores are compared as they are, right and wrong as shares; classes (``answer``) need ``gold``.
        Preferences need ``gold``: shares of right verdicts.
    between : str
        The column whose levels are compared: ``system``, ``judge``, ``run``, ``prompt``, a release.
    baseline : str, optional
        Compare the others with this level alone; by default every pair.
    margin : float, optional
        Smallest difference that matters, in the unit of the estimate (.02 for 2 points): adds the p-values of
        non-inferiority (``level`` is not worse by `margin`) and of equivalence (two one-sided tests). With 0 the
        first is a test of superiority.
    detect : float, optional
        A difference to be shown: adds ``n_needed``, the things with which a two-sided test has power .8 for it.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that things share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all things as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge (unless judges are compared) and pair of levels, ``level`` and ``other``: the term ``difference``,
        mean of ``level`` minus mean of ``other``, over the things that both have (``n``: items, with system and
        criterion; repeats and orders are averaged); ``mean``, ``mean_other``; ``better``, ``worse``, the things on
        which ``level`` is above and below ``other``; ``p_value`` of no difference, ``p_adjusted`` by Holm over all.

    Raises
    ------
    DesignError
        If `between` has one level, verdicts have no gold, no judge has two levels, or `margin` is negative.

    See Also
    --------
    compare_strategies : Right verdicts under strategies, with McNemar's tests to choose from.
    compare_versions : Whether a judge changed: its verdicts, one by one, beyond rerun noise.
    rank_systems : Ranks of systems from comparisons.

    Notes
    -----
    Right and wrong, once each: Newcombe's paired interval and McNemar's exact test; clustered, Tango's interval and
    McNemar's test divided by the design effect. Scores, and means of repeats: t of the differences by cluster, with
    Satterthwaite's degrees of freedom, moved by their skewness; ``p_value`` is that of the interval. The tests with a
    margin are t with the error and degrees of freedom of the row, and ``p_equivalent`` is the larger of the two
    (Schuirmann 1987).

    Examples
    --------
    >>> runs = {"v1": "110110100110", "v2": "111110110111"}
    >>> rows = [("g", r, i, int(x)) for r, marks in runs.items() for i, x in enumerate(marks)]
    >>> calls = pd.DataFrame(rows, columns=["judge", "run", "item", "correct"])
    >>> found = paired_differences(calls, "run")
    >>> found[["level", "other", "estimate", "conf_low", "conf_high", "better", "worse", "p_value"]].round(2)
      level other  estimate  conf_low  conf_high  better  worse  p_value
    0    v2    v1      0.25     -0.05        0.5     3.0    0.0     0.25
    """
    for name, value in (("margin", margin), ("detect", detect)):
        if value is not None and not 0 <= value < math.inf:
            raise DesignError(f"{name}={value!r} is no difference. Allowed: numbers from 0, in the unit of the scores.")
    if detect == 0:
        raise DesignError("detect=0 would need infinitely many items. Give the difference to be shown.")
    study = Study.whole(frame)
    refuse_unknown(between, study.names, f"between={between!r} is not a column of the frame", "Columns")
    groups = [g for g in dict.fromkeys(["judge", *grouping(by, study.names)]) if g != between]
    column, dependent = clustered_by(study, [*groups, between], cluster, [*ABOUT], whole="item")
    means, share = mean_scores(study, [*groups, between], column, "paired_differences")
    levels = sorted(means[between].astype(str).unique())
    if len(levels) < 2:
        raise DesignError(f"{between!r} has one value ({', '.join(levels)}): there is nothing to compare.")
    if baseline is not None:
        refuse_unknown(baseline, levels, f"baseline={baseline!r} is not in {between!r}", "It has")
    pairs = [(b, a) for a, b in combinations(levels, 2)]
    if baseline is not None:
        pairs = [(level, baseline) for level in levels if level != baseline]
    rows = []
    for key, part in means.groupby(groups, sort=True, observed=True) if groups else [((), means)]:
        of_group = _by_level(part, between, column)
        key_cells = dict(zip(groups, key if isinstance(key, tuple) else (key,), strict=True))
        for pair in (p for p in pairs if {*p} <= {*of_group.levels}):
            row = of_group.row(*pair, share=share, conf_level=conf_level)
            row["flag"] = flags.join(dependent, row.get("flag", ""))
            rows.append({**key_cells, "level": pair[0], "other": pair[1], "term": "difference", **row})
    if not rows:
        raise DesignError(
            f"No {' and '.join(groups)} has two levels of {between!r} that are compared: they are nested. Compare the "
            "levels of a column that is crossed with it."
        )
    _tested(rows, margin, detect, conf_level)
    extra = [*_EXTRA, *(_WITH_MARGIN if margin is not None else ()), *(["n_needed"] if detect is not None else ())]
    return estimates(rows, [*groups, "level", "other"], extra)


@dataclass(frozen=True)
class _Levels:
    """Means of things (T, L) by level, and the cluster of each."""

    levels: list[str]
    means: Floats
    missing: Floats  # calls without an answer
    cluster: Integers  # numbers of the clusters (T,)
    column: str
    scales: bool  # whether each level may have a scale of its own

    def row(self, level: str, other: str, *, share: bool, conf_level: float) -> Record:
        """The difference of two levels on the things that both have."""
        one, two = (self.means[:, self.levels.index(name)] for name in (level, other))
        both = ~np.isnan(one) & ~np.isnan(two)
        alone = int((np.isnan(one) != np.isnan(two)).sum())
        left_out = flags.EXCLUDED.of(alone, what="things without a value of both")
        lost = float(self.missing[both][:, [self.levels.index(name) for name in (level, other)]].sum())
        left_out = flags.join(left_out, flags.INVALID_EXCLUDED.of(lost))
        if not both.any():
            return {"n": 0.0, "flag": flags.join(flags.NOTHING_SHARED, left_out)}
        one, two = one[both], two[both]
        code = np.unique(self.cluster[both], return_inverse=True)[1]
        sides = {"mean": one.mean(), "mean_other": two.mean(), "better": float((one > two).sum())}
        sides["worse"] = float((one < two).sum())
        row = {**sides, **self._estimate(one, two, code, share, conf_level)}
        row["flag"] = flags.join(row.get("flag", ""), left_out)
        if share or not self.scales:
            return row
        scores = pd.Series(np.concatenate([one, two]))
        return unmeasured(row, scales_apart(scores, pd.Series(np.repeat([level, other], len(one)))))

    def _estimate(self, one: Floats, two: Floats, code: Integers, share: bool, conf_level: float) -> Record:
        size = np.bincount(code).astype(float)
        single = size.max() == 1
        if share and np.isin([one, two], (0.0, 1.0)).all():
            gains, losses = ((one > two) & (two == 0)).astype(float), ((two > one) & (one == 0)).astype(float)
            b, c = (float(x.sum()) for x in (gains, losses))
            if single:
                both = float((one * two).sum())
                row = dict(paired_cells(both, b, c, len(one) - both - b - c, conf_level))
                few = flags.SMALL_N if len(one) < 30 else ""
                return {**row, "df": math.inf, "p_value": mcnemar_test(b, c, "exact")[1], "flag": few}
            b_of, c_of = (np.bincount(code, x).astype(np.float64) for x in (gains, losses))
            tango = clustered_tango(b_of, c_of, size, conf_level)
            method = methods.clustered(methods.TANGO_PAIRED, self.column, size)
            few = flags.few_clusters(size)
            row = with_interval(tango.std_error, tango.low, tango.high, n=float(len(one)), method=method, flag=few)
            return {**row, "estimate": (b - c) / len(one), "df": tango.df, "p_value": tango.p_value}
        sums: Floats = np.bincount(code, one - two).astype(np.float64)
        estimate = mean_over_clusters(sums, size, "" if single else self.column, conf_level)
        return {**estimate.cells, "df": estimate.df, "p_value": _p_of_ends(estimate, conf_level)}


def _p_of_ends(estimate: Estimate, conf_level: float) -> float:
    """The p-value of no difference that belongs to an interval, which its skewness may have moved."""
    middle, half = (estimate.low + estimate.high) / 2, (estimate.high - estimate.low) / 2
    t = -abs(middle) / half * quantile(estimate.df, conf_level) if half > 0 else math.nan
    return 2 * float(stdtr(estimate.df, t))


def _by_level(part: pd.DataFrame, between: str, column: str) -> _Levels:
    """The means of one group: a row for each thing, a column for each level."""
    about = [c for c in ABOUT if c != between]
    part = part.assign(**{between: part[between].astype(str)})
    wide, missing = (
        part.pivot(index=about, columns=between, values=name).astype(float) for name in ("mean", "n_missing")
    )
    of = part.groupby(about, observed=True)[column].first() if column else pd.Series(range(len(wide)), index=wide.index)
    cluster, scales = pd.factorize(of.reindex(wide.index))[0], between not in ABOUT
    return _Levels(list(wide.columns), wide.to_numpy(), missing.fillna(0).to_numpy(), cluster, column, scales)


def _tested(rows: Sequence[Record], margin: float | None, detect: float | None, conf_level: float) -> None:
    """Add the adjusted p-values of all rows, and what a margin and a difference to be shown ask for."""
    p = np.array([row.get("p_value", math.nan) for row in rows])
    adjusted, there = p.copy(), np.isfinite(p)
    adjusted[there] = holm(p[there])
    for row, value in zip(rows, adjusted, strict=True):
        row["p_adjusted"] = value
        df, error, at = (row.get(name, math.nan) for name in ("df", "std_error", "estimate"))
        if margin is not None:
            below, above = (float(stdtr(df, (s * at - margin) / error)) if error > 0 else math.nan for s in (-1, 1))
            row |= {"p_noninferior": below, "p_equivalent": max(below, above)}
        if detect is not None:
            reach = quantile(math.inf, conf_level) + quantile(math.inf, 2 * _POWER - 1)
            row["n_needed"] = math.ceil(row["n"] * (reach * error / detect) ** 2) if error > 0 else math.nan
