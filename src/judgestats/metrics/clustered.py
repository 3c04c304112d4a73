"""The column by which intervals of ratings are clustered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw

from judgestats import flags
from judgestats.counting.clustering import CANDIDATES, Cluster, auto_cluster, clusters
from judgestats.counting.study import Study
from judgestats.errors import DesignError

#: Columns that identify a rated response.
RATED = ("system", "item", "criterion")


class Clustered(NamedTuple):
    """Cluster column of an interval over rated responses."""

    column: str  # empty if responses are treated as independent
    flag: str  # set where they are treated so and are not


def clustered_by(
    ratings: Any, groups: Iterable[str], cluster: Cluster, units: Sequence[str] = RATED, *, whole: str = ""
) -> Clustered:
    """The column by which an interval of ratings is clustered.

    `units`: columns that identify what the measure counts; it averages over all others. `whole`: column whose levels
    the measure always keeps together (``item``).
    """
    columns = clusters(cluster)
    if columns:
        if len(columns) > 1 or columns[0] == "judge":
            raise DesignError(f"cluster={cluster!r} must be one column that groups responses (item, say).")
        return Clustered(columns[0], "")
    data = Study.of(ratings).data
    present = data.collect_schema().names()
    groups = [c for c in dict.fromkeys(groups) if c in present]
    candidates = [c for c in CANDIDATES if c in present and c not in groups]
    named = list(dict.fromkeys([*groups, *(c for c in units if c in present)]))
    keys = list(dict.fromkeys([*named, *candidates]))
    if not candidates:
        return Clustered(whole, "")
    shown = nw.from_native(data.lazy().select(*keys).unique().collect(backend="pandas").to_native(), eager_only=True)
    found = auto_cluster(shown, groups, "item", len(shown.select(*named).unique()) if named else 1).column
    found = found if found in present else ""  # the pair of an item is no column of its own
    if found and "item" in present and found != "item":
        within = list(dict.fromkeys([*groups, "item"]))
        if len(shown.select(*within, found).unique()) > len(shown.select(*within).unique()):
            found = whole  # items are not nested in it
    if columns is None:
        return Clustered(found or whole, "")
    return Clustered(whole, flags.NOT_INDEPENDENT if found not in ("", whole) else "")
