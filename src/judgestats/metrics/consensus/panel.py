"""Ratings as a panel of judges: deviations per unit, their means per judge x system, and linear estimates of those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose
from judgestats.kernels.deviation import consensus, weighted_means
from judgestats.metrics.consensus.reference import Reference, no_reference
from judgestats.schema.cells import CellTable, cell_table
from judgestats.schema.coding import compact, joint
from judgestats.schema.columns import By, names

LEVELS = ("final", "criterion")
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Panel:
    """Units (a judge in a cell) with their deviations, and the pairs (judge x system in a group) they belong to.

    Attributes
    ----------
    table : CellTable
        Means of the units.
    by : list of str
        Columns that make the groups.
    cluster : str or None
        Column of the clusters; None takes the uncertainty from the runs alone.
    exclude_self : bool
        Whether a judge is left out of its own consensus.
    reference : Reference
        What the deviations are from, if not the peers.
    deviation : (U,) float array
    present : (C,) int array
        Judges with a score in each cell.
    share : (U,) or (0,) float array
        One over the number of criteria of the unit's item; empty where there is one criterion.
    pair : (U,) int32 array
    pair_group, pair_judge, pair_system : (P,) int arrays
    group_cell : (C,) int array
        Group of each cell.
    group_first : (G,) int array
        A cell of each group.
    estimate, items : (P,) float arrays
        Mean deviation over items, and the number of items.
    """

    table: CellTable
    by: list[str]
    cluster: str | None
    exclude_self: bool
    reference: Reference
    deviation: Floats
    present: NDArray[np.int64]
    share: Floats
    pair: Ints
    pair_group: Ints
    pair_judge: Ints
    pair_system: Ints
    group_cell: Ints
    group_first: NDArray[np.int64]
    estimate: Floats
    items: Floats

    @property
    def n_pairs(self) -> int:
        """P, how many judge x system pairs there are, over all groups."""
        return int(self.estimate.size)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(self.group_first.size)

    @property
    def judges(self) -> Any:
        """Labels of the judges."""
        return self.table.labels["judge"]

    @property
    def systems(self) -> Any:
        """Labels of the systems."""
        return self.table.labels["system"]

    def group_labels(self, group: int) -> dict[str, Any]:
        """Return the `by` cells of a group."""
        first = self.group_first[group]
        return {k: self.table.labels[k][self.table.keys[k][first]] for k in self.by}

    @property
    def unit_share(self) -> Floats:
        """Weight of each unit in its item."""
        return self.share if self.share.size else np.ones(self.pair.size)


def prepare(
    ratings: Any, by: By, *, level: str, final: str | None, cluster: str | None = "item"
) -> tuple[CellTable, list[str]]:
    """Read ratings as cells at a level.

    Parameters
    ----------
    ratings : frame
        Ratings or a tally of them.
    by : str or sequence of str
        Columns that split the result.
    level : {'final', 'criterion'}
        ``final`` takes the criterion named `final` alone where there is one, else all criteria; ``criterion`` makes
        the criterion a `by` column, and leaves `final` out where there are others.
    final : str or None
        Name of the criterion that holds the final score.
    cluster : str or None
        Column of the clusters.

    Returns
    -------
    CellTable
    list of str
        The `by` columns, with ``criterion`` at that level.
    """
    choose(level, LEVELS, "level")
    if cluster == "judge":
        raise DesignError("cluster='judge' cannot be: an estimate is of one judge. Name a column that items lie in.")
    by = [c for c in dict.fromkeys(names(by)) if c not in ("judge", "system")]  # they always split the result
    extra = [] if cluster in (None, "item", "system", *by) else [str(cluster)]
    table = cell_table(ratings, [*by, *extra])
    if extra:
        _refuse_split_items(table, by, str(cluster))
    criteria = table.labels["criterion"]
    if final is not None and final in criteria:
        is_final = np.asarray(criteria == final, dtype=bool)[table.keys["criterion"]]
        if level == "final":
            table = table.where(is_final)
        elif not is_final.all():
            table = table.where(~is_final)
    return table, [*by, "criterion"] if level == "criterion" and "criterion" not in by else by


def _refuse_split_items(table: CellTable, by: Sequence[str], cluster: str) -> None:
    keys = [*by, "system", "item", "criterion"]
    code, size = joint([(table.keys[k], len(table.labels[k])) for k in keys], table.n_cells)
    if compact(code, size)[1].size < table.n_cells:
        raise DesignError(
            f"cluster={cluster!r} differs within an item, so that items cannot be nested in clusters. Name a column "
            "that every item has one value of (a domain, a prompt), or pass it in by=."
        )


def panel(
    ratings: Any,
    by: By,
    *,
    level: str,
    final: str | None,
    cluster: str | None,
    exclude_self: bool = True,
    reference: Any = None,
) -> Panel:
    """Read ratings and take every deviation.

    Parameters
    ----------
    ratings, by, level, final, cluster
        As in :func:`prepare`.
    exclude_self : bool
        False deviates from the mean of all judges.
    reference : callable, optional
        Takes the table and the `by` columns, returns the :class:`Reference` to deviate from.

    Returns
    -------
    Panel
    """
    table, groups = prepare(ratings, by, level=level, final=final, cluster=cluster)
    source = no_reference(table.n_cells) if reference is None else reference(table, groups)
    peers = consensus(table.cell, table.mean, table.n_cells, exclude_self=exclude_self)
    deviation = table.mean - source.of_cell[table.cell] if source.used else peers.deviation
    group_code, group_size = joint([(table.keys[k], len(table.labels[k])) for k in groups], table.n_cells)
    group_cell, codes = compact(group_code, group_size)
    group_first = np.full(codes.size, table.n_cells, dtype=np.int64)
    np.minimum.at(group_first, group_cell, np.arange(table.n_cells))
    pair, pair_group, pair_judge, pair_system = _pairs(table, group_cell, codes.size)
    share = _shares(table, pair, deviation, groups)
    estimate, items = weighted_means(pair, deviation, share, pair_group.size)
    return Panel(
        table,
        groups,
        cluster,
        exclude_self,
        source,
        deviation,
        peers.present,
        share,
        pair,
        pair_group,
        pair_judge,
        pair_system,
        group_cell,
        group_first,
        estimate,
        np.round(items) if share.size else items,
    )


def _pairs(table: CellTable, group_cell: Ints, n_groups: int) -> tuple[Ints, Ints, Ints, Ints]:
    judges, systems = len(table.labels["judge"]), len(table.labels["system"])
    place, size = joint([(group_cell, n_groups), (table.keys["system"], systems)], table.n_cells)
    code, size = joint([(place[table.cell], size), (table.judge, judges)], table.cell.size)
    code, codes = compact(code, size)
    judge, place = codes % judges, codes // judges
    return code, (place // systems).astype(np.int32), judge.astype(np.int32), (place % systems).astype(np.int32)


def _shares(table: CellTable, pair: Ints, deviation: Floats, groups: Sequence[str]) -> Floats:
    """One over the number of criteria with a deviation in the unit's item; empty where no item can have two."""
    if "criterion" in groups or len(np.unique(table.keys["criterion"])) < 2:
        return np.zeros(0)
    items = len(table.labels["item"])
    pairs = int(pair.max(initial=-1)) + 1
    code, size = joint([(pair, pairs), (table.keys["item"][table.cell], items)], pair.size)
    code, codes = compact(code, size)
    criteria = np.bincount(code[~np.isnan(deviation)], minlength=codes.size)[code]
    share: Floats = 1 / np.maximum(criteria, 1)
    return share
