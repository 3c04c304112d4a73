"""Judges compared with each other on what they judged together: simultaneous differences, and who stands out."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from judgestats.counting.raters import is_answer, matched_calls
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.kernels.proportions import clustered_tango
from judgestats.kernels.resampling import generator
from judgestats.kernels.simultaneous import max_t
from judgestats.metrics.scales import on_one_scale
from judgestats.schema.coding import Codes, combine, compact, joint, rows_of_codes
from judgestats.schema.columns import UNIT_COLUMNS
from judgestats.typing import Floats, Ints, Mask

#: Fewest shared clusters on which two judges are compared.
FEWEST = 10
#: Share of the items of the judge with fewer of them that two judges share if they are of one group.
TOGETHER = 0.5
#: Decimals to which two means are compared: equal ones differ by rounding.
DECIMALS = 12
#: Columns of marks: who, on what, in which cluster and task, the value, and how many answers it is the mean of.
MARKS = ["judge", "unit", "cluster", "task", "value", "weight"]


# ---- Marks: one value of each judge for each thing that it judged ----------------------------------------------------


def _keys(calls: Study, groups: list[str]) -> list[str]:
    """Columns that say what was judged, besides the candidates; conditions in which the contenders differ are none."""
    return ["item", *(c for c in UNIT_COLUMNS if c in calls.names and c not in groups)]


def _marks(calls: Study, keys: list[str], value: Any, cluster: str, weight: Floats | None = None) -> pd.DataFrame:
    """Mean of `value` for each judge and unit; `cluster`: a column or ``pair``, empty if each unit is its own."""
    if cluster == "pair":
        calls = calls.with_pair()
    columns = calls.columns
    if weight is None:
        weight = np.ones(len(columns)) if calls.weight is None else calls.weight
    unit = compact(*joint([(f.code, len(f.labels)) for f in columns.of(keys)], len(columns)))[0]
    of_unit = (unit, int(unit.max(initial=-1)) + 1)
    cells = combine([(columns["judge"].code, len(columns["judge"].labels)), of_unit], len(columns))
    total = np.bincount(cells.code, weight, cells.size)
    mean = np.bincount(cells.code, np.asarray(value, dtype=float) * weight, cells.size) / total
    first = columns.take(cells.first)
    table = pd.DataFrame(
        {
            "judge": first.series("judge").to_numpy(),
            "unit": unit[cells.first],
            "cluster": columns.codes([cluster]).code[cells.first] if cluster else unit[cells.first],
            "task": first.series("task").to_numpy() if "task" in columns else "",
            "value": mean,
            "weight": total,
        }
    )
    return table.sort_values(["judge", "unit"], kind="stable", ignore_index=True)


def _valid(calls: Study) -> Study:
    return calls.where(~calls.columns["choice"].among("invalid"))


def _in_both_orders(calls: Study, keys: list[str]) -> tuple[Codes, Mask]:
    """Rows numbered by judge, unit and pair, and which pairs were judged in both orders."""
    low, high, turned = calls.ordered
    parts = [*calls.columns.of(["judge", *keys]), low, high]
    pairs = combine([(f.code, len(f.labels)) for f in parts], len(calls.columns))
    shown = [np.bincount(pairs.code[side], minlength=pairs.size) > 0 for side in (~turned, turned)]
    return pairs, shown[0] & shown[1]


def right_marks(data: Any, groups: list[str], cluster: str = "item", gold: str = "gold") -> pd.DataFrame:
    """1 where a valid verdict is the right answer, 0 where not; a tie is right where the right answer is one."""
    calls = Study.of(data)
    labels = calls.columns[gold].labels
    calls = _valid(calls.where(np.array([not pd.isna(x) for x in labels])[calls.columns[gold].code]))
    choice, right = calls.columns["choice"], calls.columns[gold]
    first, second, names = calls.shown
    place = {name: i for i, name in enumerate(names)}
    meant = np.array([-2 if str(x) == "tie" else place.get(str(x), -3) for x in right.labels], dtype=np.int64)[
        right.code
    ]
    winner = np.where(choice.among("first"), first, np.where(choice.among("second"), second, -2))
    return _marks(calls, [*_keys(calls, groups), "first", "second"], winner == meant, cluster)


def steady_marks(data: Any, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a pair gets the same verdict in both orders, 0 where not."""
    calls = _valid(Study.of(data)).of_two
    keys = _keys(calls, groups)
    pairs, both = _in_both_orders(calls, keys)
    if not both.any():
        return pd.DataFrame(columns=MARKS)
    low, high, turned = calls.ordered
    choice = calls.columns["choice"]
    first, second, _ = calls.shown
    winner = np.where(choice.among("first"), first, np.where(choice.among("second"), second, -1))
    verdicts = np.empty((2, pairs.size), dtype=np.int64)
    for side, rows in enumerate((~turned, turned)):
        verdicts[side, pairs.code[rows][::-1]] = winner[rows][::-1]  # the first of several
    units = Study(calls.columns.but(first=low, second=high).take(pairs.first[both]))
    same = (verdicts[0] == verdicts[1])[both]
    by = cluster if cluster in ("", "pair", "judge", "first", "second", *keys) else "item"
    return _marks(units, [*keys, "first", "second"], same, by, np.ones(same.size))


def order_marks(data: Any, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a valid verdict is for what is shown first, -1 for the second, 0 for a tie; of pairs shown both ways."""
    calls = Study.of(data)
    pairs, both = _in_both_orders(calls, _keys(calls, groups))
    calls = _valid(calls.where(both[pairs.code]))
    choice = calls.columns["choice"]
    value = choice.among("first").astype(float) - choice.among("second")
    return _marks(calls, [*_keys(calls, groups), "first", "second"], value, cluster)


def preference_marks(data: Any, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a verdict prefers one of the two, 0 where it is a tie."""
    calls = _valid(Study.of(data))
    value = calls.columns["choice"].among("first", "second")
    return _marks(calls, [*_keys(calls, groups), "first", "second"], value, cluster)


def people_marks(calls: pd.DataFrame, people: pd.DataFrame, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """Share of the people's answers on the same thing that equal each answer of a judge, as they count in agreement."""
    ours, theirs = _beside_people(calls, people, groups, cluster)
    both = ours.merge(theirs[["thing", "answer", "n"]], on="thing", suffixes=("", "_theirs"))
    same = (both["answer"].astype(str) == both["answer_theirs"].astype(str)).astype(float)
    return _marks(Study.of(both), ["thing"], same, cluster, both["n"].to_numpy(dtype=float))


def _beside_people(
    calls: pd.DataFrame, people: pd.DataFrame, groups: list[str], cluster: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers of judges and of people, with the number of the ``thing`` as measures of agreement match them."""
    keep = [c for c in dict.fromkeys([cluster, "task"]) if c in calls]
    ours, theirs, _ = matched_calls(calls, people, groups, keep)
    return ours[is_answer(ours["answer"])], theirs[is_answer(theirs["answer"])]


def score_marks(ratings: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score") -> pd.DataFrame:
    """The score of each judge for each thing, averaged over repeats."""
    table = ratings[pd.to_numeric(ratings[value], errors="coerce").notna()]
    keys = [c for c in ("item", "system", "criterion") if c in table and c not in groups]
    return _marks(Study.of(table), keys, pd.to_numeric(table[value]).astype(float), cluster)


def distance_marks(
    ratings: pd.DataFrame, people: pd.DataFrame, groups: list[str], cluster: str = "item"
) -> pd.DataFrame:
    """Distance of each score from the people's mean on the same thing, under the same condition where they have it."""
    ours, theirs = _beside_people(ratings, people, groups, cluster)
    middle = theirs.assign(answer=theirs["answer"].astype(float)).groupby("thing")["answer"].mean()
    ours = ours[ours["thing"].isin(middle.index)]
    right, score = ours["thing"].map(middle), ours["answer"].astype(float)
    alike = on_one_scale(score, right, ours["judge"])
    ours = ours[alike]
    return _marks(Study.of(ours), ["thing"], (score - right).abs()[alike], cluster, ours["n"].to_numpy(dtype=float))


def error_marks(ratings: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score") -> pd.DataFrame:
    """Distance of each score from the gold score of its row; judges on another scale than gold have none."""
    score, right = (pd.to_numeric(ratings[c], errors="coerce") for c in (value, "gold"))
    alike = on_one_scale(score, right, ratings["judge"])
    far = (score - right).abs().rename("far_")
    return score_marks(ratings.assign(far_=far)[alike], groups, cluster, "far_")


def spread_marks(ratings: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score") -> pd.DataFrame:
    """Variance of the repeated scores of a thing."""
    keys = [c for c in dict.fromkeys(["item", "system", "criterion", cluster]) if c in ratings and c not in groups]
    score = pd.to_numeric(ratings[value], errors="coerce")
    spread = ratings.assign(score_=score).groupby(["judge", *keys], dropna=False, sort=True)["score_"].var()
    table = spread.dropna().reset_index()
    return _marks(Study.of(table), keys, table["score_"], cluster) if len(table) else pd.DataFrame(columns=MARKS)


# ---- Groups of judges that judged the same things --------------------------------------------------------------------


def together(judges: pd.Series[Any], items: pd.Series[Any]) -> list[list[str]]:
    """Groups of judges that share at least half of the items of the one with fewer, the largest first.

    >>> together(pd.Series(["a", "a", "b", "b", "c"]), pd.Series(["1", "2", "1", "2", "9"]))
    [['a', 'b'], ['c']]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    who, names = pd.factorize(judges.astype(str), sort=True)
    what, things = pd.factorize(items.astype(str))
    marks = csr_array((np.ones(len(who)), (who, what)), shape=(len(names), len(things)))
    marks.sum_duplicates()
    marks.data[:] = 1.0
    shared = (marks @ marks.T).tocoo()
    own = shared.diagonal()
    linked = shared.data >= TOGETHER * np.minimum(own[shared.row], own[shared.col])
    links = csr_array((np.ones(linked.sum()), (shared.row[linked], shared.col[linked])), shape=shared.shape)
    component = connected_components(links, directed=False)[1]
    parts = pd.Series(names.astype(str)).groupby(component).agg(list) if len(names) else []
    return sorted(parts, key=lambda g: (-len(g), g))


# ---- Means and differences with simultaneous intervals ---------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """How judges stand on one measure."""

    means: pd.DataFrame  # ``judge, estimate, conf_low, conf_high, n``, the best first; intervals of each judge alone
    pairs: pd.DataFrame  # ``judge, other, ...``: differences on common units, with simultaneous intervals
    best: str  # the judge with the best mean, empty for none
    tied: tuple[str, ...]  # those whose difference from it may be 0
    method: str  # how the intervals were made
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
    marks: pd.DataFrame, *, lower_is_better: bool = False, conf_level: float = CONF_LEVEL, seed: int = SEED
) -> Standing:
    """Compare every two judges with 10 clusters or more in common, with intervals simultaneous over all pairs.

    `marks`: one value for each judge and unit. Intervals are Tango's (t for values other than 0 and 1) at the critical
    value of the largest |t| over all pairs.
    """
    judges = sorted(marks["judge"].astype(str).unique())
    marks = marks.assign(judge=marks["judge"].astype(str))
    wide = marks.pivot(index="unit", columns="judge", values=["value", "weight"])
    values, weights = (wide[c].reindex(columns=judges).to_numpy(float) for c in ("value", "weight"))
    of_unit = marks.drop_duplicates("unit").set_index("unit")["cluster"].reindex(wide.index)
    cluster = pd.factorize(of_unit, sort=True)[0]
    size = int(cluster.max()) + 1 if len(cluster) else 0
    means = means_of(marks, lower_is_better=lower_is_better, conf_level=conf_level)
    binary = bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
    pairs = _pairs(values, weights, judges, cluster, size, binary, conf_level, seed)
    if means.empty or means["estimate"].isna().all():
        return Standing(means, pairs, "", (), "")
    best = str(means["judge"].iloc[0])
    method = f"{'Tango' if binary else 't'}, simultaneous for all pairs of judges (largest |t| over shared items)"
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


def means_of(marks: pd.DataFrame, *, lower_is_better: bool = False, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Mean of each judge over its marks, the best first, with a t interval over clusters of this judge alone."""
    rows = []
    for judge, mean in _means(marks).items():
        half = mean.std_error * float(stdtrit(max(mean.clusters - 1, 1), 0.5 + conf_level / 2))
        ends = (mean.estimate - half, mean.estimate + half)
        rows.append((judge, mean.estimate, *ends, float(mean.n), mean.clusters))
    means = pd.DataFrame(rows, columns=["judge", "estimate", "conf_low", "conf_high", "n", "clusters"])
    place = means.assign(estimate=means["estimate"].round(DECIMALS)).sort_values(
        ["estimate", "judge"], ascending=[lower_is_better, True], kind="stable"
    )
    return means.loc[place.index].reset_index(drop=True)


def biased(marks: pd.DataFrame, *, conf_level: float = CONF_LEVEL, seed: int = SEED) -> pd.DataFrame:
    """Mean of each judge, the farthest from 0 first, with simultaneous intervals for those with 10 clusters or more."""
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
    """Estimates of several judges with intervals that hold for all at once (Bonferroni), the farthest from 0 first."""
    df, k = clusters - 1 if clusters > 1 else math.inf, max(len(rows), 1)
    scale = float(stdtrit(df, 1 - (1 - conf_level) / (2 * k)) / stdtrit(df, 0.5 + conf_level / 2))
    low = rows["estimate"] - scale * (rows["estimate"] - rows["conf_low"])
    high = rows["estimate"] + scale * (rows["conf_high"] - rows["estimate"])
    made = rows.assign(conf_low=low, conf_high=high, clusters=clusters)
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


def _mean(value: Floats, weight: Floats, cluster: Ints, size: int) -> _Mean:
    total = weight.sum()  # divided by last: sums of whole numbers that cancel are 0, not a residue of rounding
    estimate = float(weight @ value / total)
    parts = np.bincount(cluster, weight * (value - estimate), size) / total
    return _Mean(estimate, value.size, parts, len(np.unique(cluster)))


def _means(marks: pd.DataFrame) -> dict[str, _Mean]:
    """Mean of each judge."""
    cluster, levels = pd.factorize(marks["cluster"], sort=True)
    value, weight = (marks[c].to_numpy(float) for c in ("value", "weight"))
    who, judges = pd.factorize(marks["judge"].astype(str), sort=True)
    size = len(levels)
    parts = rows_of_codes(who, len(judges))
    return {
        str(judge): _mean(value[rows], weight[rows], cluster[rows], size)
        for judge, rows in zip(judges, parts, strict=True)
    }


def _critical(means: list[_Mean], name: str, conf_level: float, seed: int) -> float:
    """Critical value for several means at once, with the degrees of freedom of the one with the fewest clusters."""
    if not means:
        return math.nan
    parts, fewest = np.array([mean.parts for mean in means]).T, min(mean.clusters for mean in means)
    return max_t(parts, fewest - 1, generator(seed, (name,)), conf_level)


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
    for i, j in itertools.combinations(range(len(judges)), 2):
        gap = values[:, i] - values[:, j]
        both = ~np.isnan(gap)
        if len(np.unique(cluster[both])) >= FEWEST:
            weight = (weights[both, i] + weights[both, j]) / 2
            mean = _mean(gap[both], weight, cluster[both], size)
            found.append((judges[i], judges[j], gap[both], weight, cluster[both], mean))
    critical = _critical([mean for *_, mean in found], "pairs", conf_level, seed)
    rows = []
    for one, two, gap, weight, owner, mean in found:
        if binary:
            level = 1 - 2 * float(stdtr(mean.clusters - 1, -critical))
            won, lost, all_ = (
                np.bincount(owner, weight * x, size).astype(np.float64) for x in (gap > 0, gap < 0, gap == gap)
            )
            interval = clustered_tango(won, lost, all_, level)
            low, high = interval.low, interval.high
        else:
            half = critical * mean.std_error if mean.std_error > 0 else math.nan
            low, high = mean.estimate - half, mean.estimate + half
        rows.append((one, two, mean.estimate, low, high, float(mean.n), mean.clusters))
    return pd.DataFrame(rows, columns=["judge", "other", "estimate", "conf_low", "conf_high", "n", "clusters"])
