"""Which calls are not independent: the column that intervals are clustered by when none is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame, FrameT

from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.schema.coding import candidates as candidate_codes
from judgestats.schema.coding import column_codes, combine
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, LazyFrame

#: How calls are clustered: by what they share, by one or more columns, or not at all.
Cluster = str | Sequence[str] | Literal["auto", False]
#: Columns whose levels calls may share. `pair` is made of the item and the two candidates where it is not there.
CANDIDATES = ("pair", "item", "prompt", "task")
#: Of nested columns the coarsest with so many levels is taken.
ENOUGH = 30
#: A prompt or task with fewer levels, where a measure does not declare it, is a fixed condition and no sample.
SAMPLED = 10
#: Column of a tally with merged clusters: for how many clusters with the same counts a row stands.
ALIKE = "_alike"
#: Largest number of clusters whose labels leave the engine of a lazy frame for an analytic interval.
MERGED_ABOVE = 2_000
#: Largest number of clusters that a bootstrap draws.
MOST_CLUSTERS = 100_000


class Sharing(NamedTuple):
    """What the calls of a frame share."""

    column: str  # that ``"auto"`` chooses; empty if none is chosen
    shared: bool  # whether calls share something all the same: one item for all of them
    items: bool = False  # whether its levels share an item in their turn, of which there are too few to be clusters


#: What calls share where the cluster is named: nothing is left to be found.
NAMED = Sharing("", True)


def clusters(cluster: object) -> tuple[str, ...] | None:
    """Names of the columns of a ``cluster=``, none for False; None if the data decide."""
    if cluster is False:
        return ()
    if isinstance(cluster, str):
        return None if cluster == "auto" else (cluster,)
    if isinstance(cluster, Iterable) and not isinstance(cluster, dict):
        columns = tuple(cluster)
        if all(isinstance(c, str) for c in columns):
            return columns
    raise DesignError(
        f'cluster={cluster!r} names no column. Allowed: "auto" (what the calls share), the name of a '
        "column, several names where a bootstrap takes them, or False (all calls as independent)."
    )


def auto_cluster(
    data: Frame | Factors, groups: Iterable[str], declared: str, n_units: float, *, several_calls: bool = False
) -> Sharing:
    """Choose the column that an interval is clustered by, from what the calls share.

    `data`: calls (or counts, all above 0); of a lazy frame the levels are counted in its own engine. `groups`: columns
    of one estimate: the judge, and what ``by=`` names. None of them is chosen. `declared`: cluster of the measure's
    pattern. `n_units`: how many calls are counted, or pairs where they are the unit. `several_calls`: whether a unit is
    made of several calls, so that calls share its pair and its item even if no other unit does.

    A candidate qualifies if more units are counted than there are levels of it within the groups, and where it has two
    levels or more (the median of the groups, as for every number of levels here). Candidates crossed with the declared
    one are dropped (if it does not qualify: with the item, else with the finest). Of the rest, which are nested in
    each other, the coarsest with 30 levels is taken, else the finest. A prompt or task without a label for some
    calls is not taken. A pair or item with 30 levels that the calls of a unit share, and no other unit, goes before a
    prompt or task with fewer: the units are then independent, and no column is named.
    """
    groups = list(dict.fromkeys(groups))
    if isinstance(data, nw.DataFrame):
        data = Study.of(data).candidates
    present = data.names if isinstance(data, Factors) else data.collect_schema().names()
    columns = [c for c in dict.fromkeys([*CANDIDATES, declared]) if c in present and c not in groups]
    makes_pair = "pair" not in present and {"item", "first", "second"} <= set(present)
    candidates = [*(["pair"] if makes_pair else []), *columns]
    if not candidates:
        return Sharing("", False)
    counted = _Coded(data, groups) if isinstance(data, Factors) else _Lazy(data, groups, candidates)
    levels: dict[str, float] = {}
    shared, alone = False, 0.0
    for name in candidates:
        per_group = counted.levels(name)
        if not per_group.size:
            continue
        middle = float(np.median(per_group))
        if n_units <= per_group.sum():
            alone = max(alone, middle) if several_calls and name in ("pair", "item") else alone
            continue
        shared |= name in ("pair", "item", declared)
        if middle >= (2 if name in ("pair", "item", declared) else SAMPLED):
            if name not in ("pair", "item") and counted.incomplete(name):
                shared = True
            else:
                levels[name] = middle
    if not levels:
        return Sharing("", shared)
    column = _chosen(levels, declared, counted)
    if column not in ("pair", "item", declared) and levels[column] < ENOUGH <= alone:
        return Sharing("", shared)
    above = {"item", declared} & set(levels) - {column}
    return Sharing(column, True, any(levels[c] < levels[column] and counted.nested(column, c) for c in above))


def _chosen(levels: dict[str, float], declared: str, counted: _Coded | _Lazy) -> str:
    """Of the columns that qualify, the one to cluster by."""
    rank = {name: i for i, name in enumerate((declared, "item", "prompt", "task", "pair"))}
    finest_first = sorted(levels, key=lambda c: (-levels[c], rank[c]))
    start = next((c for c in (declared, "item") if c in levels), finest_first[0])
    chain = [start]
    for name in sorted(levels, key=lambda c: rank[c]):
        if name not in chain and all(counted.nested(name, other) for other in chain):
            chain.append(name)
    enough = [c for c in chain if levels[c] >= ENOUGH]
    if enough:
        return min(enough, key=lambda c: (levels[c], rank[c]))
    return next(c for c in finest_first if c in chain)


class _Coded:
    """Levels of columns in memory, counted through codes."""

    def __init__(self, columns: Factors, groups: list[str]) -> None:
        self._columns = columns
        self._groups = groups

    def levels(self, name: str) -> Integers | Floats:
        group = self._columns.codes(self._groups)
        both = self._columns.codes([*self._groups, name])
        return np.bincount(group.code[both.first], minlength=group.size)

    def incomplete(self, name: str) -> bool:
        code, labels = self._columns[name]
        return len(labels) > 0 and labels[-1] is None and bool((code == len(labels) - 1).any())

    def nested(self, one: str, two: str) -> bool:
        return self._columns.codes([one, two]).size in (self._columns.codes([c]).size for c in (one, two))


class _Lazy:
    """Levels of a lazy frame, counted in its own engine."""

    def __init__(self, data: LazyFrame, groups: list[str], candidates: list[str]) -> None:
        makes_pair = "pair" in candidates and "pair" not in data.collect_schema().names()
        self._data = with_pair(data) if makes_pair else data
        self._groups = groups

    def levels(self, name: str) -> Integers | Floats:
        distinct = self._data.select(*self._groups, name).unique()
        if not self._groups:
            return np.array([self._size(name)])
        per_group = distinct.group_by(*self._groups).agg(nw.len().alias("_levels"))
        return per_group.select("_levels").collect(backend="pandas")["_levels"].to_numpy().astype(np.float64)

    def _size(self, *columns: str) -> int:
        distinct = self._data.select(*columns).unique().select(nw.len().alias("_levels"))
        return int(distinct.collect(backend="pandas").to_native()["_levels"].iloc[0])

    def incomplete(self, name: str) -> bool:
        missing = self._data.select(nw.col(name).is_null().any().alias("_missing")).collect(backend="pandas")
        return bool(missing.to_native()["_missing"].iloc[0])

    def nested(self, one: str, two: str) -> bool:
        return self._size(one, two) in (self._size(one), self._size(two))


def cluster_codes(table: pd.DataFrame, column: str) -> Integers:
    """Cluster of each row of a table of calls or pairs, by a column, or by pair where the table has no such column."""
    if column == "pair" and column not in table:
        low, high, _ = candidate_codes(table)
        return combine([column_codes(table["item"]), low, high], len(table)).code
    return combine([column_codes(table[column])], len(table)).code


def with_pair(data: FrameT) -> FrameT:
    """Add the column ``pair``: the item and the two candidates, whatever their order."""
    first, second, item = (nw.col(c).cast(nw.String).fill_null("") for c in ("first", "second", "item"))
    low, high = (nw.when(first <= second).then(a).otherwise(b) for a, b in ((first, second), (second, first)))
    return data.with_columns(pair_label(item, low, high).alias("pair"))


def pair_label(item: nw.Expr, low: nw.Expr, high: nw.Expr) -> nw.Expr:
    """The label of a pair, from its item and its candidates in the order of their names."""
    return nw.concat_str(item.cast(nw.String), low, high, separator="|")
