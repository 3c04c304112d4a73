"""The column by which intervals of ratings are clustered, and the jackknife over its levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judgestats import flags
from judgestats.counting.clustering import CANDIDATES, Cluster, auto_cluster, clusters
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError
from judgestats.schema.columns import grouping
from judgestats.schema.factors import Factors

#: Columns that identify a rated response.
RATED = ("system", "item", "criterion")


class Clustered(NamedTuple):
    """Cluster column of an interval over rated responses."""

    column: str  # empty if responses are treated as independent
    flag: str  # set where they are treated so and are not


def clustered_by(
    ratings: Calls, groups: Iterable[str], cluster: Cluster, units: Sequence[str] = RATED, *, whole: str = ""
) -> Clustered:
    """The column by which an interval of ratings is clustered.

    `units`: columns that identify what the measure counts; it averages over all others. `whole`: column whose levels
    the measure always keeps together (``item``).
    """
    columns = clusters(cluster)
    if columns:
        if len(columns) > 1 or columns[0] == "judge":
            raise DesignError(f"cluster={cluster!r} must be one column that groups responses (item, say).")
        grouping(columns, Study.of(ratings).names, "ratings", "cluster")
        return Clustered(columns[0], "")
    study = Study.of(ratings)
    present, calls = study.names, study
    groups = [c for c in dict.fromkeys(groups) if c in present]
    candidates = [c for c in CANDIDATES if c in present and c not in groups]
    named = list(dict.fromkeys([*groups, *(c for c in units if c in present)]))
    keys = list(dict.fromkeys([*named, *candidates]))
    if not candidates:
        return Clustered(whole, "")
    study = study.in_memory(keys, distinct=True)
    factors = dict(zip(keys, study.columns.of(keys), strict=True))
    rated = Study(Factors(factors=factors, rows=len(study.columns)))
    shown = rated.candidates
    found = auto_cluster(calls, groups, shown.n_distinct(named) if named else 1, units=rated).column
    found = found if found in present else ""  # the pair of an item is no column of its own
    if found and "item" in present and found != "item":
        within = list(dict.fromkeys([*groups, "item"]))
        if shown.n_distinct([*within, found]) > shown.n_distinct(within):
            found = whole  # items are not nested in it
    if columns is None:
        return Clustered(found or whole, "")
    return Clustered(whole, flags.NOT_INDEPENDENT if found not in ("", whole) else "")
