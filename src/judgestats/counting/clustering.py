"""Which calls are not independent: the column that intervals are clustered by when none is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.schema.coding import candidates as candidate_codes
from judgestats.schema.coding import column_codes, combine
from judgestats.schema.columns import N
from judgestats.typing import Floats, Integers, LazyFrame

#: How calls are clustered: by what they share, by one or more columns, or not at all.
Cluster = str | Sequence[str] | Literal["auto", False]
#: Ids whose levels calls may share, the nearest to a call first. Without a `pair` it is made of the item and the two
#: candidates.
CANDIDATES = ("pair", "item", "prompt", "conversation", "task", "topic", "domain")
#: Of these the things that are judged: with few of them, and no others, they are clusters all the same.
UNITS = CANDIDATES[:2]
#: A column with fewer levels is a fixed condition and no sample; of nested columns with as many the coarsest is taken.
SAMPLED = 10
#: Column of a tally whose equal clusters are merged: how many clusters a row represents.
ALIKE = "_alike"
#: Column of the thing judged where repeats of judges on it differ: its pairs of answers, each a share, stay together.
UNIT = "_unit"
#: Largest number of clusters whose labels leave the engine of a lazy frame for an analytic interval.
MERGED_ABOVE = 2_000
#: Largest number of clusters that a bootstrap draws.
MOST_CLUSTERS = 100_000


class Sharing(NamedTuple):
    """What the calls of a frame share."""

    column: str  # that ``"auto"`` chooses; empty if none is chosen
    shared: bool  # whether calls share something all the same: one item for all of them


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


def auto_cluster(study: Study, groups: Iterable[str], n_units: float, *, units: Study | None = None) -> Sharing:
    """The column that clusters the intervals of a study, if the units of a measure share it.

    `groups`: columns of one estimate: the judge, and what ``by=`` names. None of them is chosen. `n_units`: how many
    calls are counted, or pairs where they are the unit. `units`: these, if they are not the rows of the study.

    The whole study decides (:func:`nested_levels`), and its parts take the same column: the coarsest with 10 levels.
    If each unit has a level of its own, units are independent. If a group has one level (the median), and where no
    column has 10, the next finer is taken; with fewer than 10 the finest that units share.
    """
    units, groups = study if units is None else units, list(dict.fromkeys(groups))
    levels, there, shared = nested_levels(study.origin, groups), _candidates(units), False
    sampled = [c for c, n in levels.items() if n >= SAMPLED]
    for column in [*reversed(sampled), *(c for c in levels if c in UNITS and c not in sampled)]:
        if column not in there:
            continue
        per_group = _levels(units, groups, column)
        if n_units > per_group.sum():
            if np.median(per_group) >= 2:
                return Sharing(column, True)
            shared = True
        elif column in sampled:
            break
    others = [c for c in there if c not in (*groups, *levels)]
    shared |= any(n_units > _levels(units, groups, c).sum() for c in others if c in UNITS)
    unlabelled = (c for c in others if _size(study.origin, c) >= SAMPLED)
    return Sharing("", shared or any(_incomplete(study.origin, c) for c in unlabelled))


def fixed_levels(study: Study, groups: Sequence[str], cluster: str = "") -> tuple[str, int] | None:
    """The column of 2 to 9 levels for which an interval holds, and their number; None if there is none.

    Of such columns the finest that is coarser than the cluster, or than the finest unit where there is no cluster.
    None of counts without units, and none where there are no ids but these and the cluster.
    """
    present = {*_candidates(study.origin)}
    if not present & {*UNITS} or not present - {"pair", cluster, *groups}:
        return None
    return next(((c, n) for c, n in coarser_levels(study, groups, cluster).items() if n < SAMPLED), None)


def coarser_levels(study: Study, groups: Iterable[str], column: str) -> dict[str, int]:
    """As :func:`nested_levels`, of the columns that this one is nested in, or the finest unit if it is none of them."""
    levels = nested_levels(study.origin, list(dict.fromkeys(groups)))
    column = column if column in levels else next((c for c in levels if c in UNITS), "")
    return dict(list(levels.items())[list(levels).index(column) + 1 if column else 0 :])


def nested_levels(study: Study, left_out: list[str]) -> dict[str, int]:
    """How many levels the columns have that items are nested in, the finest first.

    Of columns with two levels or more and a label for each call. A column crossed with the item, or with one that is
    nearer to it, is dropped.
    """
    columns = [c for c in _candidates(study) if c not in left_out]

    def nested() -> dict[str, int]:
        rows = study.occurring
        levels: dict[str, int] = {}
        for name in sorted(columns, key=lambda c: c != "item"):
            size = _size(rows, name)
            if size >= 2 and all(_nested(rows, name, c) for c in levels) and not _incomplete(rows, name):
                levels[name] = size
        return {c: levels[c] for c in sorted(levels, key=lambda c: (-levels[c], CANDIDATES.index(c)))}

    return study.once(("nested", *columns), nested)


def _candidates(study: Study) -> list[str]:
    """Columns of a study that its calls may share."""
    present = study.names
    makes_pair = {"item", "first", "second"} <= {*present}
    return [c for c in CANDIDATES if c in present or (c == "pair" and makes_pair)]


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
    distinct: LazyFrame = (study.with_pair() if "pair" in columns else study).data.select(*columns).unique()
    return distinct


def _size(study: Study, *columns: str) -> int:
    """How many combinations of some columns there are."""
    if not study.lazy:
        return study.candidates.n_distinct(columns)
    return (study.with_pair() if "pair" in columns else study).n_distinct(columns)


def _incomplete(study: Study, name: str) -> bool:
    """Whether a column has no label for some calls; an item without one is refused where it matters."""
    if name in UNITS:
        return False
    if study.lazy:
        missing = study.data.select(nw.col(name).is_null().any().alias(N)).collect(backend="pandas")
        return bool(missing.to_native()[N].iloc[0])
    code, labels = study.candidates[name]
    return len(labels) > 0 and labels[-1] is None and bool((code == len(labels) - 1).any())


def _nested(study: Study, one: str, two: str) -> bool:
    """Whether each level of one of two columns has one level of the other, and not each of both."""
    sizes = _size(study, one), _size(study, two)
    return sizes[0] != sizes[1] and _size(study, one, two) == max(sizes)


def cluster_codes(table: pd.DataFrame, column: str) -> Integers:
    """Cluster of each call or pair: the column's label, or the pair where the table lacks that column."""
    if column == "pair" and column not in table:
        low, high, _ = candidate_codes(table)
        return combine([column_codes(table["item"]), low, high], len(table)).code
    return combine([column_codes(table[column])], len(table)).code
