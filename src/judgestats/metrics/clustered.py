"""The column by which intervals of ratings are clustered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from judgestats import flags
from judgestats.counting.clustering import CANDIDATES, Cluster, auto_cluster, clusters
from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.schema.factors import Factors

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
    study = Study.of(ratings)
    present = study.names
    groups = [c for c in dict.fromkeys(groups) if c in present]
    candidates = [c for c in CANDIDATES if c in present and c not in groups]
    named = list(dict.fromkeys([*groups, *(c for c in units if c in present)]))
    keys = list(dict.fromkeys([*named, *candidates]))
    if not candidates:
        return Clustered(whole, "")
    if study.lazy:
        study = Study.of(study.data.select(*keys).unique().collect(backend="pandas"))
    factors = dict(zip(keys, study.columns.of(keys), strict=True))
    shown = Study(Factors(factors=factors, rows=len(study.columns))).candidates
    found = auto_cluster(shown, groups, "item", shown.codes(named).size if named else 1).column
    found = found if found in present else ""  # the pair of an item is no column of its own
    if found and "item" in present and found != "item":
        within = list(dict.fromkeys([*groups, "item"]))
        if shown.codes([*within, found]).size > shown.codes(within).size:
            found = whole  # items are not nested in it
    if columns is None:
        return Clustered(found or whole, "")
    return Clustered(whole, flags.NOT_INDEPENDENT if found not in ("", whole) else "")
