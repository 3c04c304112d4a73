"""Which calls are not independent: the column that intervals are clustered by when none is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats import flags
from judgestats.errors import DesignError
from judgestats.schema.coding import Codes, column_codes, combine, each
from judgestats.schema.pairing import candidates as candidate_codes

#: How calls are clustered: by what they share, by one or more columns, or not at all.
Cluster = str | Sequence[str] | Literal["auto", False]
#: Columns whose levels calls may share. `pair` is made of the item and the two candidates where it is not there.
CANDIDATES = ("pair", "item", "prompt", "task")
#: Of nested columns the coarsest with so many levels is taken.
ENOUGH = 30
#: A prompt or task with fewer levels, where a measure does not declare it, is a fixed condition and no sample.
SAMPLED = 10
#: Key in the ``attrs`` of a tally: what its counts share, as :func:`noted` writes it.
CLUSTERING = "clustering"
#: Column of a tally with merged clusters: for how many clusters with the same counts a row stands.
ALIKE = "_alike"
#: Largest number of clusters whose labels leave the engine of a lazy frame for an analytic interval.
MERGED_ABOVE = 2_000
#: Largest number of clusters that a bootstrap draws.
MOST_CLUSTERS = 100_000
#: Key in the ``attrs`` of a table: whether its calls are known to share something.
SHARED_PAIRS = "shared_pairs"


class Sharing(NamedTuple):
    """What the calls of a frame share.

    `column`: the column that ``"auto"`` chooses; empty if none is chosen.
    `shared`: whether calls share something all the same: one item for all of them.
    `items`: whether the levels of the column share an item in their turn, of which there are too few to be clusters.
    """

    column: str
    shared: bool
    items: bool = False


def clusters(cluster: Any) -> tuple[str, ...] | None:
    """Names of the columns of a ``cluster=``, none for False; None if the data decide.

    Raises DesignError if it is neither a column, nor ``"auto"``, nor False.

    >>> clusters("item"), clusters(False), clusters("auto")
    (('item',), (), None)
    """
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
    data: Any, groups: Iterable[str], declared: str, n_units: float, *, several_calls: bool = False
) -> Sharing:
    """Choose the column that an interval is clustered by, from what the calls share.

    `data`: calls (or counts, all above 0); of a lazy frame the levels are counted in its own engine. `groups`: columns
    of one estimate: the judge, and what ``by=`` names. None of them is chosen. `declared`: cluster of the measure's
    pattern. `n_units`: how many calls are counted, or pairs where they are the unit. `several_calls`: whether a unit is
    made of several calls, so that calls share its pair and its item even if no other unit does.

    A candidate qualifies if more units are counted than there are levels of it within the groups, and where it has two
    levels or more (the median of the groups, as for every number of levels here). Candidates crossed with the declared
    one are dropped (if it does not qualify: with the item, else with the finest). Of the rest, which are nested in
    each other, the coarsest with 30 levels is taken, else the finest. A missing label is a level. A pair or item with
    30 levels that the calls of a unit share, and no other unit, goes before a prompt or task with fewer: the units are
    then independent, and no column is named.
    """
    groups = list(dict.fromkeys(groups))
    present = data.collect_schema().names()
    named = [c for c in dict.fromkeys([*CANDIDATES, declared]) if c in present and c not in groups]
    made = "pair" not in present and {"item", "first", "second"} <= set(present)
    candidates = [*(["pair"] if made else []), *named]
    if not candidates:
        return Sharing("", False)
    counted = _Here(data, groups, candidates) if isinstance(data, nw.DataFrame) else _There(data, groups, candidates)
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
            levels[name] = middle
    if not levels:
        return Sharing("", shared)
    column = _chosen(levels, declared, counted)
    if column not in ("pair", "item", declared) and levels[column] < ENOUGH <= alone:
        return Sharing("", shared)
    above = {"item", declared} & set(levels) - {column}
    return Sharing(column, True, any(levels[c] < levels[column] and counted.nested(column, c) for c in above))


def _chosen(levels: dict[str, float], declared: str, counted: _Here | _There) -> str:
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


class _Here:
    """Levels of a frame in memory, counted through codes."""

    def __init__(self, data: Any, groups: list[str], candidates: list[str]) -> None:
        made = "pair" in candidates and "pair" not in data.columns
        columns = [*groups, *(c for c in candidates if c != "pair" or not made)]
        beside = ["item", "first", "second"] if made else []
        table = data.select(*dict.fromkeys([*columns, *beside])).to_pandas()
        self._rows = len(table)
        self._coded = dict(zip(columns, each(column_codes, [table[c] for c in columns]), strict=True))
        if made:
            item = self._coded.get("item") or column_codes(table["item"])
            pair = combine([item, *candidate_codes(table)[:2]], self._rows)
            self._coded["pair"] = pair.code, pair.size
        self._group = combine([self._coded[g] for g in groups], self._rows)

    def _distinct(self, *columns: str) -> Codes:
        return combine([self._coded[c] for c in columns], self._rows)

    def levels(self, name: str) -> Any:
        both = combine([(self._group.code, self._group.size), self._coded[name]], self._rows)
        return np.bincount(self._group.code[both.first], minlength=self._group.size)

    def nested(self, one: str, two: str) -> bool:
        both = self._distinct(one, two).size
        return both in (self._distinct(one).size, self._distinct(two).size)


class _There:
    """Levels of a lazy frame, counted in its own engine."""

    def __init__(self, data: Any, groups: list[str], candidates: list[str]) -> None:
        made = "pair" in candidates and "pair" not in data.collect_schema().names()
        self._data = with_pair(data) if made else data
        self._groups = groups

    def levels(self, name: str) -> Any:
        distinct = self._data.select(*self._groups, name).unique()
        if not self._groups:
            return np.array([self._size(name)])
        per_group = distinct.group_by(*self._groups).agg(nw.len().alias("_levels"))
        return per_group.select("_levels").collect(backend="pandas").to_native()["_levels"].to_numpy(dtype=float)

    def _size(self, *columns: str) -> int:
        distinct = self._data.select(*columns).unique().select(nw.len().alias("_levels"))
        return int(distinct.collect(backend="pandas").to_native()["_levels"].iloc[0])

    def nested(self, one: str, two: str) -> bool:
        return self._size(one, two) in (self._size(one), self._size(two))


def cluster_codes(table: pd.DataFrame, column: str) -> NDArray[np.integer[Any]]:
    """Cluster of each row of a table of calls or pairs, by a column, or by pair where the table has no such column."""
    if column == "pair" and column not in table:
        low, high, _ = candidate_codes(table)
        return combine([column_codes(table["item"]), low, high], len(table)).code
    return combine([column_codes(table[column])], len(table)).code


def with_pair(data: Any) -> Any:
    """Add the column ``pair``: the item and the two candidates, whatever their order."""
    first, second, item = (nw.col(c).cast(nw.String).fill_null("") for c in ("first", "second", "item"))
    low, high = (nw.when(first <= second).then(a).otherwise(b) for a, b in ((first, second), (second, first)))
    return data.with_columns(pair_label(item, low, high).alias("pair"))


def pair_label(item: Any, low: Any, high: Any) -> Any:
    """The label of a pair, from its item and its candidates in the order of their names."""
    return nw.concat_str(item.cast(nw.String), low, high, separator="|")


def noted(columns: Sequence[str], found: Sharing | None, groups: Iterable[str], asked: bool) -> dict[str, Any]:
    """Record what the counts of a tally share, as text and booleans that a Parquet file keeps.

    `columns`: columns to cluster intervals by. `found`: what its calls share; None where that is not
    known. `groups`: within which groups that was looked for. `asked`: whether the choice was left to the data ("auto").
    """
    return {
        "columns": list(columns),
        "known": found is not None,
        "shared": bool(found and found.shared),
        "items": bool(found and found.items and asked),
        "groups": sorted(set(groups)),
        "auto": asked,
    }


def alike(table: pd.DataFrame) -> NDArray[np.float64]:
    """For how many clusters with the same counts each row of a tally stands: one, but where they are merged."""
    if ALIKE not in table:
        return np.ones(len(table))
    times: NDArray[np.float64] = table[ALIKE].to_numpy(dtype=float, na_value=1.0)
    return times


def columns_of(table: pd.DataFrame) -> tuple[str, ...]:
    """Columns to cluster intervals of a tally by."""
    return tuple(table.attrs.get(CLUSTERING, {}).get("columns", ()))


def column_of(table: pd.DataFrame) -> str | None:
    """The one column to cluster intervals of a tally by, or None.

    Raises DesignError if there are several.
    """
    columns = columns_of(table)
    if len(columns) > 1:
        raise DesignError(
            f"This interval takes one cluster, and cluster= names {', '.join(map(repr, columns))}. Name one, or ask "
            "for a bootstrap where the measure has one."
        )
    return columns[0] if columns else None


def independent(table: pd.DataFrame) -> bool:
    """Whether the choice of a cluster was left to the data, and the counts of a tally share nothing."""
    about = table.attrs.get(CLUSTERING, {})
    return bool(about.get("auto") and about["known"] and not about["columns"] and not about["shared"])


def dependence(table: pd.DataFrame) -> str:
    """Flag of an interval that takes the calls of a tally as independent though they are not."""
    about = table.attrs.get(CLUSTERING)
    if about is None:
        return flags.NOT_INDEPENDENT if table.attrs.get(SHARED_PAIRS) else ""
    return dependence_flag(about)


def dependence_flag(note: Mapping[str, Any]) -> str:
    """Flag of an interval, from a note of :func:`noted`."""
    if note["columns"]:
        return flags.PAIRS_OF_AN_ITEM if note["items"] and note["known"] else ""
    if not note["known"]:
        return flags.CLUSTERING_UNKNOWN if note["auto"] else ""
    return flags.NOT_INDEPENDENT if note["shared"] else ""
