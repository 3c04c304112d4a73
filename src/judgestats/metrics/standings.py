"""Judges compared with each other on what they judged together: simultaneous differences, and who stands out."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError
from judgestats.kernels.proportions import clustered_tango
from judgestats.kernels.resampling import generator
from judgestats.kernels.simultaneous import max_t
from judgestats.schema.columns import COUNTS
from judgestats.schema.pairing import UNIT_COLUMNS

Floats = NDArray[np.float64]
#: Fewest shared clusters on which two judges are compared.
FEWEST = 10
#: Share of the items of the judge with fewer of them that two judges share if they are of one group.
TOGETHER = 0.5
#: Columns of marks: who, on what, in which cluster and task, and the value.
MARKS = ["judge", "unit", "cluster", "task", "value"]


# ---- Marks: one value of each judge for each thing that it judged ----------------------------------------------------


def _keys(calls: pd.DataFrame, groups: list[str]) -> list[str]:
    """Columns that say what was judged, besides the candidates; conditions in which the contenders differ are none."""
    return ["item", *(c for c in UNIT_COLUMNS if c in calls and c not in groups)]


def _marks(calls: pd.DataFrame, keys: list[str], value: Any, cluster: str) -> pd.DataFrame:
    """Mean of `value` for each judge and unit, weighted by counts."""
    unit = calls.groupby(keys, dropna=False, sort=True).ngroup()
    n = pd.to_numeric(calls[COUNTS]).astype(float) if COUNTS in calls else pd.Series(1.0, index=calls.index)
    task = calls.get("task", "")
    made = pd.DataFrame({"judge": calls["judge"], "unit": unit, "cluster": calls[cluster], "task": task})
    summed = (
        made.assign(value=value * n, n=n)
        .groupby(["judge", "unit"], sort=True, observed=True)
        .agg(cluster=("cluster", "first"), task=("task", "first"), value=("value", "sum"), n=("n", "sum"))
    )
    return summed.assign(value=summed["value"] / summed["n"]).reset_index()[MARKS]


def _valid(calls: pd.DataFrame) -> pd.DataFrame:
    return calls[calls["choice"].astype(str) != "invalid"]


def _winner(calls: pd.DataFrame) -> pd.Series[Any]:
    """The candidate that a verdict prefers, ``tie`` for none of them."""
    choice = calls["choice"].astype(str)
    first, second = calls["first"].astype(str), calls["second"].astype(str)
    return first.where(choice == "first", second.where(choice == "second", "tie"))


def _ordered(calls: pd.DataFrame) -> pd.DataFrame:
    """Verdicts with their candidates in the order of their names, whether they were swapped, and the one preferred."""
    one, two = calls["first"].astype(str), calls["second"].astype(str)
    swapped = one > two
    return calls.assign(
        low_=one.where(~swapped, two), high_=two.where(~swapped, one), swapped_=swapped, winner_=_winner(calls)
    )


def right_marks(calls: pd.DataFrame, groups: list[str], cluster: str = "item", gold: str = "gold") -> pd.DataFrame:
    """1 where a valid verdict is the right answer, 0 where not; a tie is right where the right answer is one."""
    calls = _valid(calls[calls[gold].notna()])
    hit = (_winner(calls) == calls[gold].astype(str)).astype(float)
    return _marks(calls, [*_keys(calls, groups), "first", "second"], hit, cluster)


def steady_marks(calls: pd.DataFrame, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a pair gets the same verdict in both orders, 0 where not."""
    calls = _ordered(_valid(calls))
    calls = calls[calls["low_"] != calls["high_"]]
    keys = [*_keys(calls, groups), "low_", "high_"]
    sides = calls.groupby(["judge", *keys, "swapped_"], dropna=False, sort=True)["winner_"].first().unstack("swapped_")
    if sides.shape[1] < 2:
        return pd.DataFrame(columns=MARKS)
    both = sides.dropna()
    same = (both[False] == both[True]).astype(float).rename("value_").reset_index()
    return _marks(same, keys, same["value_"], cluster if cluster in same else "item")


def order_marks(calls: pd.DataFrame, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a valid verdict is for what is shown first, -1 for the second, 0 for a tie; of pairs shown both ways."""
    calls = _ordered(calls)
    keys = [*_keys(calls, groups), "low_", "high_"]
    calls = _valid(calls[calls.groupby(["judge", *keys], dropna=False)["swapped_"].transform("nunique") == 2])
    choice = calls["choice"].astype(str)
    value = (choice == "first").astype(float) - (choice == "second").astype(float)
    return _marks(calls, [*keys, "swapped_"], value, cluster)


def preference_marks(calls: pd.DataFrame, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a verdict prefers one of the two, 0 where it is a tie."""
    calls = _valid(calls)
    value = calls["choice"].astype(str).isin(["first", "second"]).astype(float)
    return _marks(calls, [*_keys(calls, groups), "first", "second"], value, cluster)


def people_marks(calls: pd.DataFrame, people: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Share of people who gave the same verdict on the same pair, for each valid verdict."""

    def answers(table: pd.DataFrame) -> pd.DataFrame:
        return _ordered(_valid(table)).assign(item=lambda t: t["item"].astype(str))

    keys = ["item", "low_", "high_"]
    counted = answers(people).groupby([*keys, "winner_"], sort=True).size().rename("same_").reset_index()
    total = counted.groupby(keys, sort=True)["same_"].sum().rename("all_").reset_index()
    table = answers(calls).merge(total, on=keys).merge(counted, on=[*keys, "winner_"], how="left")
    share = table["same_"].fillna(0.0) / table["all_"]
    return _marks(table, list(dict.fromkeys([*_keys(table, groups), *keys])), share, "item")


def score_marks(ratings: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score") -> pd.DataFrame:
    """The score of each judge for each thing, averaged over repeats."""
    table = ratings[pd.to_numeric(ratings[value], errors="coerce").notna()]
    keys = [c for c in ("item", "system", "criterion") if c in table and c not in groups]
    return _marks(table, keys, pd.to_numeric(table[value]).astype(float), cluster)


#: Two raters are on different scales if the top of one is so many times that of the other.
_APART = 5


def tops(scores: pd.Series[Any], raters: pd.Series[Any]) -> pd.Series[Any]:
    """The score that 99 % of a rater's scores do not exceed; raters of few scores, or all 0, left out."""
    grouped = pd.to_numeric(scores, errors="coerce").abs().groupby(raters)
    top = grouped.quantile(0.99)
    return top[(grouped.count() >= FEWEST) & (top > 0)]


def refuse_several_scales(scores: pd.Series[Any], raters: pd.Series[Any], names: Any) -> None:
    """Raise DesignError where raters who are compared by differences of scores are on scales far apart.

    `raters`: their numbers in `names`.
    """
    top = tops(scores, raters)
    if len(top) > 1 and top.max() >= _APART * top.min():
        high, low = (str(names[rater]) for rater in (top.idxmax(), top.idxmin()))
        raise DesignError(
            f"The scores are not on one scale: those of {high!r} go up to {top.max():g}, of {low!r} to {top.min():g}. "
            "Differences of scores say nothing then. Name the scale in a column and in by=, bring all scores to one "
            "scale, or use measures that are free of scale, such as rank correlations."
        )


def distance_marks(
    ratings: pd.DataFrame, right: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score"
) -> pd.DataFrame:
    """Distance of each score from the mean of the reference on the same thing; `right`: things and their ``value``.

    Judges on another scale than the reference have none.
    """
    keys = [c for c in ("item", "system", "criterion") if c in ratings and c in right and c not in groups]
    given = right.assign(right_=pd.to_numeric(right[value], errors="coerce"))
    given = given.groupby(keys, dropna=False, sort=True)["right_"].mean().dropna().reset_index()
    table = ratings.merge(given, on=keys)
    score = pd.to_numeric(table[value], errors="coerce")
    ratio = table["judge"].map(tops(score, table["judge"]) / table["right_"].abs().quantile(0.99))
    alike = score.notna() & ~((ratio >= _APART) | (ratio <= 1 / _APART))
    table, score = table[alike], score[alike]
    return _marks(table, keys, (score - table["right_"]).abs(), cluster)


def spread_marks(ratings: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score") -> pd.DataFrame:
    """Standard deviation of the repeated scores of a thing."""
    keys = [c for c in dict.fromkeys(["item", "system", "criterion", cluster]) if c in ratings and c not in groups]
    score = pd.to_numeric(ratings[value], errors="coerce")
    spread = ratings.assign(score_=score).groupby(["judge", *keys], dropna=False, sort=True)["score_"].std()
    table = spread.dropna().reset_index()
    return _marks(table, keys, table["score_"], cluster) if len(table) else pd.DataFrame(columns=MARKS)


# ---- Groups of judges that judged the same things --------------------------------------------------------------------


def together(judges: pd.Series[Any], items: pd.Series[Any]) -> list[list[str]]:
    """Groups of judges that share at least half of the items of the one with fewer, the largest first.

    >>> together(pd.Series(["a", "a", "b", "b", "c"]), pd.Series(["1", "2", "1", "2", "9"]))
    [['a', 'b'], ['c']]
    """
    who, names = pd.factorize(judges.astype(str), sort=True)
    what, things = pd.factorize(items.astype(str))
    marks = np.zeros((len(things), len(names)))
    marks[what, who] = 1.0
    shared = marks.T @ marks
    own = np.diag(shared)
    linked = shared >= TOGETHER * np.minimum.outer(own, own)
    groups: list[list[str]] = []
    left = list(range(len(names)))
    while left:
        group, edge = {left[0]}, [left[0]]
        while edge:
            found = {j for j in left if linked[edge[0], j]} - group
            group |= found
            edge = [*edge[1:], *sorted(found)]
        groups.append([str(names[i]) for i in sorted(group)])
        left = [i for i in left if i not in group]
    return sorted(groups, key=lambda g: (-len(g), g))


# ---- Means and differences with simultaneous intervals ---------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """How judges stand on one measure.

    `means`: ``judge, estimate, conf_low, conf_high, n``, the best first; intervals of each judge alone.
    `pairs`: ``judge, other, estimate, conf_low, conf_high, n, clusters``: differences of the units that both judged,
    with intervals that hold for all pairs at once. `best`: the judge with the best mean, empty for none. `tied`: those
    whose difference from it may be 0. `method`: how the intervals were made.
    """

    means: pd.DataFrame
    pairs: pd.DataFrame
    best: str
    tied: tuple[str, ...]
    method: str

    @property
    def winner(self) -> str:
        """The best judge if the difference from every other one excludes 0; else empty."""
        return self.best if len(self.means) > 1 and not self.tied else ""

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
    marks: pd.DataFrame, *, lower_is_better: bool = False, conf_level: float = CONF_LEVEL, seed: int = SEED
) -> Standing:
    """Compare every two judges on the units that both judged, with intervals simultaneous over all pairs of judges.

    `marks`: one value for each judge and unit. Intervals are Tango's (t for values other than 0 and 1) at the critical
    value of the largest |t| over all pairs. Two judges with fewer than 10 clusters in common are not compared.
    """
    judges = sorted(marks["judge"].astype(str).unique())
    wide = marks.assign(judge=marks["judge"].astype(str)).pivot(index="unit", columns="judge", values="value")
    values = wide.reindex(columns=judges).to_numpy(float)
    of_unit = marks.drop_duplicates("unit").set_index("unit")["cluster"].reindex(wide.index)
    cluster = pd.factorize(of_unit, sort=True)[0]
    size = int(cluster.max()) + 1 if len(cluster) else 0
    means = means_of(marks, lower_is_better=lower_is_better, conf_level=conf_level)
    binary = bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
    pairs = _pairs(values, judges, cluster, size, binary, conf_level, seed)
    if means.empty or means["estimate"].isna().all():
        return Standing(means, pairs, "", (), "")
    best = str(means["judge"].iloc[0])
    method = f"{'Tango' if binary else 't'}, simultaneous for all pairs of judges (largest |t| over shared items)"
    known = Standing(means, pairs, best, (), method)
    tied = []
    for other in means["judge"].iloc[1:]:
        row = known.difference(best, other)
        apart = row is not None and (row["conf_high"] < 0 if lower_is_better else row["conf_low"] > 0)
        tied += [] if apart else [str(other)]
    return Standing(means, pairs, best, tuple(tied), method)


def means_of(marks: pd.DataFrame, *, lower_is_better: bool = False, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Mean of each judge over its marks, the best first, with a t interval over clusters of this judge alone."""
    rows = []
    for judge, mean in _means(marks).items():
        half = mean.std_error * float(stdtrit(max(mean.clusters - 1, 1), 0.5 + conf_level / 2))
        rows.append((judge, mean.estimate, mean.estimate - half, mean.estimate + half, float(mean.n)))
    means = pd.DataFrame(rows, columns=["judge", "estimate", "conf_low", "conf_high", "n"])
    order = ["estimate", "judge"]
    return means.sort_values(order, ascending=[lower_is_better, True], kind="stable").reset_index(drop=True)


def biased(marks: pd.DataFrame, *, conf_level: float = CONF_LEVEL, seed: int = SEED) -> pd.DataFrame:
    """Mean of each judge with an interval that holds for all judges at once, the farthest from 0 first.

    Returns ``judge, estimate, conf_low, conf_high, n, clusters``; judges with fewer than 10 clusters have no interval.
    """
    found = _means(marks)
    enough = [mean for mean in found.values() if mean.clusters >= FEWEST]
    critical = _critical(enough, "biased", conf_level, seed)
    rows = []
    for judge, mean in found.items():
        half = critical * mean.std_error if mean.clusters >= FEWEST and mean.std_error > 0 else math.nan
        rows.append((judge, mean.estimate, mean.estimate - half, mean.estimate + half, float(mean.n), mean.clusters))
    made = pd.DataFrame(rows, columns=["judge", "estimate", "conf_low", "conf_high", "n", "clusters"])
    return made.reindex(made["estimate"].abs().sort_values(ascending=False, kind="stable").index).reset_index(drop=True)


def widened(rows: pd.DataFrame, clusters: int, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Estimates of several judges with intervals that hold for all at once (Bonferroni), the farthest from 0 first.

    `rows`: ``judge, estimate, conf_low, conf_high`` with t intervals on `clusters` - 1 degrees of freedom; normal ones
    for one cluster, whose intervals are over runs.
    """
    df, k = clusters - 1 if clusters > 1 else math.inf, max(len(rows), 1)
    scale = float(stdtrit(df, 1 - (1 - conf_level) / (2 * k)) / stdtrit(df, 0.5 + conf_level / 2))
    low = rows["estimate"] - scale * (rows["estimate"] - rows["conf_low"])
    high = rows["estimate"] + scale * (rows["conf_high"] - rows["estimate"])
    made = rows.assign(conf_low=low, conf_high=high)
    order = made["estimate"].abs().sort_values(ascending=False, kind="stable").index
    return made.reindex(order).reset_index(drop=True)


@dataclass(frozen=True)
class _Mean:
    """A mean of `n` values in `clusters`; `parts` (G,): what each of all clusters contributes to its error."""

    estimate: float
    n: int
    parts: Floats
    clusters: int

    @property
    def std_error(self) -> float:
        """Over the clusters; NaN without two of them."""
        if self.clusters < 2:
            return math.nan
        return math.sqrt(self.clusters / (self.clusters - 1) * float((self.parts**2).sum()))


def _mean(value: Floats, cluster: NDArray[np.int64], size: int) -> _Mean:
    estimate = float(value.mean())
    parts = np.bincount(cluster, value - estimate, size) / value.size
    return _Mean(estimate, value.size, parts, len(np.unique(cluster)))


def _means(marks: pd.DataFrame) -> dict[str, _Mean]:
    """Mean of each judge."""
    cluster, levels = pd.factorize(marks["cluster"], sort=True)
    value = marks["value"].to_numpy(float)
    who, judges = pd.factorize(marks["judge"].astype(str), sort=True)
    return {str(judge): _mean(value[who == j], cluster[who == j], len(levels)) for j, judge in enumerate(judges)}


def _critical(means: list[_Mean], name: str, conf_level: float, seed: int) -> float:
    """Critical value for several means at once, with the degrees of freedom of the one with the fewest clusters."""
    if not means:
        return math.nan
    parts, fewest = np.array([mean.parts for mean in means]).T, min(mean.clusters for mean in means)
    return max_t(parts, fewest - 1, generator(seed, (name,)), conf_level)


def _pairs(
    values: Floats,
    judges: list[str],
    cluster: NDArray[np.int64],
    size: int,
    binary: bool,
    conf_level: float,
    seed: int,
) -> pd.DataFrame:
    """Differences of every two judges on what both judged, with intervals that hold for all at once."""
    found = []
    for i, j in itertools.combinations(range(len(judges)), 2):
        gap = values[:, i] - values[:, j]
        both = ~np.isnan(gap)
        if len(np.unique(cluster[both])) >= FEWEST:
            found.append((judges[i], judges[j], gap[both], cluster[both], _mean(gap[both], cluster[both], size)))
    critical = _critical([mean for *_, mean in found], "pairs", conf_level, seed)
    rows = []
    for one, two, gap, owner, mean in found:
        if binary:
            level = 1 - 2 * float(stdtr(mean.clusters - 1, -critical))
            won, lost, all_ = (np.bincount(owner, here, size).astype(float) for here in (gap > 0, gap < 0, gap == gap))
            interval = clustered_tango(won, lost, all_, level)
            low, high = interval.low, interval.high
        else:
            half = critical * mean.std_error if mean.std_error > 0 else math.nan
            low, high = mean.estimate - half, mean.estimate + half
        rows.append((one, two, mean.estimate, low, high, float(mean.n), mean.clusters))
    return pd.DataFrame(rows, columns=["judge", "other", "estimate", "conf_low", "conf_high", "n", "clusters"])
