"""Which calls are not independent: the column that intervals are clustered by when none is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import FrameT

from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.schema.coding import candidates as candidate_codes
from judgestats.schema.coding import column_codes, combine
from judgestats.schema.columns import N
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
    study: Study,
    groups: Iterable[str],
    declared: str,
    n_units: float,
    *,
    units: Study | None = None,
    several_calls: bool = False,
) -> Sharing:
    """The column that clusters the intervals of a study, if the units of a measure share it.

    `groups`: columns of one estimate: the judge, and what ``by=`` names. None of them is chosen. `declared`: cluster of
    the measure's pattern. `n_units`: how many calls are counted, or pairs where they are the unit. `units`: these, if
    they are not the rows of the study. `several_calls`: whether a unit of a tally is made of several calls.

    The whole study decides (:func:`_of_study`), and its parts take the same column. Where each unit has a level of its
    own, or a group has one level (the median), the study decides again without this column. A prompt or task with fewer
    than 30 levels does not come after a pair or item with 30: the units are then independent, and no column is named.
    """
    units, groups = study if units is None else units, list(dict.fromkeys(groups))
    left_out, alone, shared = {*groups}, 0.0, False
    while column := (sharing := _of_study(study.origin, declared, left_out, several_calls)).column:
        left_out.add(column)
        if column not in _candidates(units, declared):
            continue
        per_group, own = _levels(units, groups, column), column in ("pair", "item", declared)
        middle = float(np.median(per_group)) if per_group.size else 0.0
        if n_units <= per_group.sum():
            alone = max(alone, middle) if column in ("pair", "item") else alone
        elif not own and middle < ENOUGH <= alone:
            return Sharing("", shared)
        elif middle >= 2:
            return sharing
        else:
            shared |= own
    rest = [] if shared or not sharing.shared else [c for c in _candidates(units, declared) if c not in groups]
    return Sharing("", shared or any(n_units > _levels(units, groups, c).sum() for c in rest))


def _of_study(study: Study, declared: str, left_out: set[str], several_calls: bool) -> Sharing:
    """What the calls of a judge share in a study; failing that, what all calls share.

    A candidate qualifies if there are more calls than levels of it, and where it has two levels or more (the median of
    the judges, as for every number of levels here). Candidates crossed with the declared one are dropped (if it does
    not qualify: with the item, else with the finest). Of the rest, which are nested in each other, the coarsest with 30
    levels is taken, else the finest. A prompt or task without a label for some calls is not taken.
    """
    columns = [c for c in _candidates(study, declared) if c not in left_out]

    def decide() -> Sharing:
        sharing = _shared(
            study.occurring, columns, ["judge"] if "judge" in study.names else [], declared, several_calls
        )
        return sharing if sharing.column else _shared(study.occurring, columns, [], declared, several_calls)

    return study.once(("cluster", declared, several_calls, *columns), decide)


def _shared(study: Study, candidates: list[str], groups: list[str], declared: str, several_calls: bool) -> Sharing:
    """What calls share within groups."""
    levels: dict[str, float] = {}
    shared, alone = False, 0.0
    for name in candidates:
        per_group = _levels(study, groups, name)
        if not per_group.size:
            continue
        middle = float(np.median(per_group))
        if study.n_calls <= per_group.sum():
            alone = max(alone, middle) if several_calls and name in ("pair", "item") else alone
            continue
        shared |= name in ("pair", "item", declared)
        if middle >= (2 if name in ("pair", "item", declared) else SAMPLED):
            if name not in ("pair", "item") and _incomplete(study, name):
                shared = True
            else:
                levels[name] = middle
    if not levels:
        return Sharing("", shared)
    column = _chosen(levels, declared, study)
    if column not in ("pair", "item", declared) and levels[column] < ENOUGH <= alone:
        return Sharing("", shared)
    above = {"item", declared} & set(levels) - {column}
    return Sharing(column, True, any(levels[c] < levels[column] and _nested(study, column, c) for c in above))


def _chosen(levels: dict[str, float], declared: str, study: Study) -> str:
    """Of the columns that qualify, the one to cluster by."""
    rank = {name: i for i, name in enumerate((declared, "item", "prompt", "task", "pair"))}
    finest_first = sorted(levels, key=lambda c: (-levels[c], rank[c]))
    start = next((c for c in (declared, "item") if c in levels), finest_first[0])
    chain = [start]
    for name in sorted(levels, key=lambda c: rank[c]):
        if name not in chain and all(_nested(study, name, other) for other in chain):
            chain.append(name)
    enough = [c for c in chain if levels[c] >= ENOUGH]
    if enough:
        return min(enough, key=lambda c: (levels[c], rank[c]))
    return next(c for c in finest_first if c in chain)


def _candidates(study: Study, declared: str) -> list[str]:
    """Columns of a study that its calls may share."""
    present = study.names
    makes_pair = "pair" not in present and {"item", "first", "second"} <= {*present}
    return [*(["pair"] if makes_pair else []), *(c for c in dict.fromkeys([*CANDIDATES, declared]) if c in present)]


def _levels(study: Study, groups: list[str], name: str) -> Integers | Floats:
    """How many levels a column has in each group; of a lazy frame counted in its own engine."""

    def levels() -> Integers | Floats:
        if study.lazy and not groups:
            return np.array([_size(study, name)])
        if study.lazy:
            counted = _distinct(study, *groups, name).group_by(*groups).agg(nw.len().alias(N))
            return np.asarray(counted.select(N).collect(backend="pandas")[N], dtype=np.float64)
        own = max(len(study.candidates[name].labels), 1)
        group = study.candidates.occurring([*groups, name]) // own  # in order
        return np.diff(np.flatnonzero(np.diff(group, prepend=-1, append=-1)))

    return study.once(("levels", name, *groups), levels)


def _distinct(study: Study, *columns: str) -> LazyFrame:
    """The combinations of some columns of a lazy frame, with the pair where that is one of them."""
    makes_pair = "pair" in columns and "pair" not in study.names
    distinct: LazyFrame = (with_pair(study.data) if makes_pair else study.data).select(*columns).unique()
    return distinct


def _size(study: Study, *columns: str) -> int:
    """How many combinations of some columns there are."""
    if not study.lazy:
        return study.candidates.n_distinct(columns)
    return int(_distinct(study, *columns).select(nw.len().alias(N)).collect(backend="pandas").to_native()[N].iloc[0])


def _incomplete(study: Study, name: str) -> bool:
    """Whether a column has no label for some calls."""
    if study.lazy:
        missing = study.data.select(nw.col(name).is_null().any().alias(N)).collect(backend="pandas")
        return bool(missing.to_native()[N].iloc[0])
    code, labels = study.candidates[name]
    return len(labels) > 0 and labels[-1] is None and bool((code == len(labels) - 1).any())


def _nested(study: Study, one: str, two: str) -> bool:
    """Whether each level of one of two columns has one level of the other."""
    return _size(study, one, two) in (_size(study, one), _size(study, two))


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
