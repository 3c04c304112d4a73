"""Deviations of each judge's scores from the consensus or a reference, and their means per judge x system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from judgestats.counting.cells import score_panel
from judgestats.counting.panels import ScorePanel
from judgestats.counting.reply_errors import ReplyErrors, reply_errors
from judgestats.counting.study import Calls
from judgestats.errors import DesignError
from judgestats.kernels.deviation import consensus, weighted_means
from judgestats.metrics.consensus.other_references import Matcher, Reference, no_reference
from judgestats.schema.coding import Codes, compact, first_rows, joint
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Integers, Ints, Record


@dataclass(frozen=True)
class PairDeviations:
    """Deviations of the E entries of a panel, in which groups, and their means: a statistic, so no panel itself."""

    ratings: Calls  # the frame
    panel: ScorePanel
    by: list[str]  # columns of the groups
    cluster: str | None  # column of the clusters; None for uncertainty from the runs alone
    exclude_self: bool  # whether a judge is excluded from its own consensus
    reference: Reference  # reference means in place of the peers'
    deviation: Floats  # (E,)
    present: Ints  # (T,): number of judges with a score of each thing
    share: Floats  # (E,): one over the number of criteria of the entry's item; empty for a single criterion
    groups: Codes  # of the T things
    pair: Integers  # (E,): judge x system in a group
    pair_group: Integers  # (P,), as the next two
    pair_judge: Integers
    pair_system: Integers
    estimate: Floats  # (P,): mean deviation over items
    items: Floats  # (P,): their number

    @property
    def n_pairs(self) -> int:
        """Number of judge x system pairs, over all groups."""
        return int(self.estimate.size)

    @cached_property
    def replies(self) -> ReplyErrors | None:
        """Errors by reply, where a pair has several criteria, which may come in one reply."""
        return reply_errors(self.ratings, self.panel) if self.share.size else None

    @cached_property
    def worth(self) -> Floats:
        """How many clusters of equal size those of each pair are worth, (P,)."""
        used = ~np.isnan(self.deviation)
        cluster = self.panel.of_entries(self.cluster or "item")[used].astype(np.int64)
        n_clusters = int(cluster.max(initial=0)) + 1
        number, codes = compact(*joint([(self.pair[used], self.n_pairs), (cluster, n_clusters)], cluster.size))
        pair, sizes = codes // n_clusters, np.bincount(number)
        total, squares = (np.bincount(pair, x, self.n_pairs) for x in (sizes, sizes.astype(float) ** 2))
        return np.divide(total**2, squares, out=np.zeros(self.n_pairs), where=squares > 0)

    @property
    def systems(self) -> Any:
        """Labels of the systems."""
        return self.panel.things["system"].labels

    def group_labels(self, group: int) -> Record:
        """Labels of a group."""
        first = self.groups.first[[group]]
        return {k: self.panel.things[k].at(first).values[0] for k in self.by}

    @property
    def entry_share(self) -> Floats:
        """Weight of each entry in its item, (E,)."""
        return self.share if self.share.size else np.ones(self.pair.size)


def prepare(
    ratings: Calls, by: By, *, per_criterion: bool, final: str | None, cluster: str | None = "item"
) -> tuple[ScorePanel, list[str]]:
    """Panel of ratings, and the columns that split the result.

    `per_criterion`: False selects the criterion named `final` if it exists, else all criteria; True adds ``criterion``
    to the `by` columns, and excludes `final` where there are others.
    """
    if cluster == "judge":
        raise DesignError(
            "cluster='judge' is not allowed, because each estimate is of one judge. Name a column that groups items."
        )
    by = [c for c in dict.fromkeys(names(by)) if c not in ("judge", "system")]  # they always split the result
    extra = [] if cluster in (None, "item", "system", *by) else [str(cluster)]
    panel = score_panel(ratings, [*by, *extra])
    if extra and panel.things.n_distinct([*by, "system", "item", "criterion"]) < len(panel.things):
        raise DesignError(
            f"cluster={cluster!r} differs within an item, so that items are not nested in clusters. Name a column "
            "with one value per item (a domain, a prompt), or pass it in by=."
        )
    criterion = panel.things["criterion"]
    if final is not None and final in criterion.labels:
        is_final = criterion.among(final)
        if not per_criterion:
            panel = panel.where(is_final)
        elif not is_final.all():
            panel = panel.where(~is_final)
    return panel, [*by, "criterion"] if per_criterion and "criterion" not in by else by


def pair_deviations(
    ratings: Calls,
    by: By,
    *,
    per_criterion: bool,
    final: str | None,
    cluster: str | None,
    exclude_self: bool = True,
    reference: Matcher | None = None,
) -> PairDeviations:
    """Deviations from the consensus, or from what `reference` makes of the panel and the `by` columns."""
    panel, by = prepare(ratings, by, per_criterion=per_criterion, final=final, cluster=cluster)
    things, judges = panel.things, len(panel.judges)
    source = no_reference(len(things)) if reference is None else reference(panel, by)
    peers = consensus(panel.thing, panel.mean, len(things), exclude_self=exclude_self)
    deviation = panel.mean - source.of_thing[panel.thing] if source.used else peers.deviation
    groups, system = things.ranked(by), things["system"]
    place, size = joint([(groups.code, groups.size), (system.code, len(system.labels))], len(things))
    pair, codes = compact(*joint([(place[panel.thing], size), (panel.judge, judges)], panel.thing.size))
    first = first_rows(pair, codes.size)
    of_pair = panel.thing[first]
    share = _shares(panel, pair, deviation, by)
    estimate, items = weighted_means(pair, deviation, share, codes.size)
    return PairDeviations(
        ratings,
        panel,
        by,
        cluster,
        exclude_self,
        source,
        deviation,
        peers.present,
        share,
        groups,
        pair,
        groups.code[of_pair],
        panel.judge[first],
        system.code[of_pair],
        estimate,
        np.round(items) if share.size else items,
    )


def _shares(panel: ScorePanel, pair: Integers, deviation: Floats, by: Sequence[str]) -> Floats:
    """1 over the number of criteria with a deviation on the entry's item; empty for a single criterion."""
    if "criterion" in by or panel.things.n_distinct(["criterion"]) < 2:
        return np.zeros(0)
    item, pairs = panel.things["item"], int(pair.max(initial=-1)) + 1
    code, codes = compact(*joint([(pair, pairs), (item.code[panel.thing], len(item.labels))], pair.size))
    criteria = np.bincount(code[~np.isnan(deviation)], minlength=codes.size)[code]
    return 1 / np.maximum(criteria, 1)
