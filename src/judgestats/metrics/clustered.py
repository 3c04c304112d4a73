"""What the ratings of a table share: the column that intervals over items are clustered by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from judgestats.errors import DesignError
from judgestats.results import NOT_INDEPENDENT
from judgestats.schema.clustering import CANDIDATES, Cluster, auto_cluster, clusters

#: What a score is about.
THINGS = ("system", "item", "criterion")


class Clustered(NamedTuple):
    """How an interval over things rated is clustered.

    `column`: empty for things taken as independent.
    `flag`: where they are taken so and share something.
    """

    column: str
    flag: str


def clustered_by(
    ratings: Any, groups: Iterable[str], cluster: Cluster, things: Sequence[str] = THINGS, *, whole: str = ""
) -> Clustered:
    """Say what an interval of ratings is clustered by.

    `ratings`: in any engine. `groups`: columns of one estimate. `cluster`: as the measure got it. `things`: columns
    that name what the measure counts: whatever else differs is averaged. `whole`: column whose levels the measure keeps
    together in any case (``item``), for False as well. Raises DesignError if `cluster` names more than one column, or
    the judges.
    """
    columns = clusters(cluster)
    if columns:
        if len(columns) > 1 or columns[0] == "judge":
            raise DesignError(f"cluster={cluster!r} must be one column that things judged lie in (item, say).")
        return Clustered(columns[0], "")
    data = nw.from_native(ratings)
    present = data.collect_schema().names()
    apart = [c for c in dict.fromkeys(groups) if c in present]
    candidates = [c for c in CANDIDATES if c in present and c not in apart]
    keys = list(dict.fromkeys([*apart, *(c for c in things if c in present), *candidates]))
    if not candidates:
        return Clustered(whole, "")
    shown = nw.from_native(data.lazy().select(*keys).unique().collect(backend="pandas").to_native(), eager_only=True)
    named = [c for c in dict.fromkeys([*apart, *things]) if c in present]
    found = auto_cluster(shown, apart, "item", len(shown.select(*named).unique()) if named else 1).column
    if found and "item" in present and found != "item":
        within = list(dict.fromkeys([*apart, "item"]))
        if len(shown.select(*within, found).unique()) > len(shown.select(*within).unique()):
            found = whole  # it cuts through items
    if columns is None:
        return Clustered(found or whole, "")
    return Clustered(whole, NOT_INDEPENDENT if found not in ("", whole) else "")
