"""Ratings as a panel of judges: deviations of units and their means per judge x system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.counting.cells import CellTable, cell_table
from judgestats.counting.reply_errors import ReplyErrors, reply_errors
from judgestats.counting.study import Calls
from judgestats.errors import DesignError
from judgestats.kernels.deviation import consensus, weighted_means
from judgestats.metrics.consensus.other_references import Matcher, Reference, no_reference
from judgestats.schema.coding import compact, joint
from judgestats.schema.columns import By, names
from judgestats.typing import Floats

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Panel:
    """Units (a judge in a cell) with their deviations, and pairs (judge x system in a group) of units."""

    ratings: Calls  # the frame
    table: CellTable  # means of the units
    by: list[str]  # columns of the groups
    cluster: str | None  # column of the clusters; None for uncertainty from the runs alone
    exclude_self: bool  # whether a judge is excluded from its own consensus
    reference: Reference  # reference means in place of the peers'
    deviation: Floats  # (U,)
    present: NDArray[np.int64]  # (C,): number of judges with a score in each cell
    share: Floats  # (U,): one over the number of criteria of the unit's item; empty for a single criterion
    pair: Ints  # (U,): pair of each unit
    pair_group: Ints  # (P,), as the next two
    pair_judge: Ints
    pair_system: Ints
    group_cell: Ints  # (C,): group of each cell
    group_first: NDArray[np.int64]  # (G,): a cell of each group
    estimate: Floats  # (P,): mean deviation over items
    items: Floats  # (P,): their number

    @property
    def n_pairs(self) -> int:
        """Number of judge x system pairs, over all groups."""
        return int(self.estimate.size)

    @cached_property
    def replies(self) -> ReplyErrors | None:
        """Errors by reply, where a pair has several criteria, which may come in one reply."""
        return reply_errors(self.ratings, self.table) if self.share.size else None

    @cached_property
    def worth(self) -> Floats:
        """How many clusters of equal size those of each pair are worth, (P,)."""
        used = ~np.isnan(self.deviation)
        cluster = self.table.keys[self.cluster or "item"][self.table.cell[used]].astype(np.int64)
        n_clusters = int(cluster.max(initial=0)) + 1
        number, codes = compact(*joint([(self.pair[used], self.n_pairs), (cluster, n_clusters)], cluster.size))
        pair, sizes = codes // n_clusters, np.bincount(number)
        total, squares = (np.bincount(pair, x, self.n_pairs) for x in (sizes, sizes.astype(float) ** 2))
        return np.divide(total**2, squares, out=np.zeros(self.n_pairs), where=squares > 0)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
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
        """Labels of a group."""
        first = self.group_first[group]
        return {k: self.table.labels[k][self.table.keys[k][first]] for k in self.by}

    @property
    def unit_share(self) -> Floats:
        """Weight of each unit in its item."""
        return self.share if self.share.size else np.ones(self.pair.size)


def prepare(
    ratings: Calls, by: By, *, per_criterion: bool, final: str | None, cluster: str | None = "item"
) -> tuple[CellTable, list[str]]:
    """Cells of ratings, and the columns that split the result.

    `per_criterion`: False selects the criterion named `final` if it exists, else all criteria; True adds ``criterion``
    to the `by` columns, and excludes `final` where there are others.
    """
    if cluster == "judge":
        raise DesignError(
            "cluster='judge' is not allowed, because each estimate is of one judge. Name a column that groups items."
        )
    by = [c for c in dict.fromkeys(names(by)) if c not in ("judge", "system")]  # they always split the result
    extra = [] if cluster in (None, "item", "system", *by) else [str(cluster)]
    table = cell_table(ratings, [*by, *extra])
    if extra:
        keys = [*by, "system", "item", "criterion"]
        code, size = joint([(table.keys[k], len(table.labels[k])) for k in keys], table.n_cells)
        if compact(code, size)[1].size < table.n_cells:
            raise DesignError(
                f"cluster={cluster!r} differs within an item, so that items are not nested in clusters. Name a column "
                "with one value per item (a domain, a prompt), or pass it in by=."
            )
    criteria = table.labels["criterion"]
    if final is not None and final in criteria:
        is_final = np.asarray(criteria == final, dtype=bool)[table.keys["criterion"]]
        if not per_criterion:
            table = table.where(is_final)
        elif not is_final.all():
            table = table.where(~is_final)
    return table, [*by, "criterion"] if per_criterion and "criterion" not in by else by


def panel(
    ratings: Calls,
    by: By,
    *,
    per_criterion: bool,
    final: str | None,
    cluster: str | None,
    exclude_self: bool = True,
    reference: Matcher | None = None,
) -> Panel:
    """Panel of all deviations from the consensus, or from what `reference` makes of the table and the `by` columns."""
    table, groups = prepare(ratings, by, per_criterion=per_criterion, final=final, cluster=cluster)
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
        ratings,
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
    """One over the number of criteria with a deviation in the unit's item; empty for a single criterion."""
    if "criterion" in groups or len(np.unique(table.keys["criterion"])) < 2:
        return np.zeros(0)
    items = len(table.labels["item"])
    pairs = int(pair.max(initial=-1)) + 1
    code, size = joint([(pair, pairs), (table.keys["item"][table.cell], items)], pair.size)
    code, codes = compact(code, size)
    criteria = np.bincount(code[~np.isnan(deviation)], minlength=codes.size)[code]
    return 1 / np.maximum(criteria, 1)
