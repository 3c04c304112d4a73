"""The column by which intervals of ratings are clustered, and the jackknife over its levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from judgestats import flags
from judgestats.counting.clustering import CANDIDATES, Cluster, auto_cluster, clusters
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError
from judgestats.kernels.cluster_robust import jackknife_interval
from judgestats.kernels.cluster_sums import clusters_note
from judgestats.results import with_interval
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record

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
        return Clustered(columns[0], "")
    study = Study.of(ratings)
    present, calls = study.names, study
    groups = [c for c in dict.fromkeys(groups) if c in present]
    candidates = [c for c in CANDIDATES if c in present and c not in groups]
    named = list(dict.fromkeys([*groups, *(c for c in units if c in present)]))
    keys = list(dict.fromkeys([*named, *candidates]))
    if not candidates:
        return Clustered(whole, "")
    if study.lazy:
        study = Study.of(study.data.select(*keys).unique().collect(backend="pandas"))
    factors = dict(zip(keys, study.columns.of(keys), strict=True))
    rated = Study(Factors(factors=factors, rows=len(study.columns)))
    shown = rated.candidates
    found = auto_cluster(calls, groups, "item", shown.n_distinct(named) if named else 1, units=rated).column
    found = found if found in present else ""  # the pair of an item is no column of its own
    if found and "item" in present and found != "item":
        within = list(dict.fromkeys([*groups, "item"]))
        if shown.n_distinct([*within, found]) > shown.n_distinct(within):
            found = whole  # items are not nested in it
    if columns is None:
        return Clustered(found or whole, "")
    return Clustered(whole, flags.NOT_INDEPENDENT if found not in ("", whole) else "")


def jackknifed(
    value: float,
    without: Floats,
    n: Floats,
    column: str,
    conf_level: float,
    *,
    hits: Floats | None = None,
    alike: Floats | None = None,
    coefficient: bool = True,
) -> Record:
    """Student's interval of an estimate from its values `without` (G,) each cluster: its cells, with their flag.

    `n` (G,): sizes of the clusters; `hits` (G,): agreements, say, whose rarer answer should not be in few clusters;
    `alike` (G,): how many clusters there are of each. A `coefficient` between -1 and 1 has its interval on the scale of
    Fisher's z, unless it is -1 or 1 without a cluster.
    """
    there = n > 0
    alike = (np.ones(n.size) if alike is None else alike)[there]
    without, n = without[there], n[there]
    few = flags.few_clusters(n, hits=None if hits is None else hits[there], alike=alike)
    by = f"clustered by {column} ({clusters_note(n, alike)})"
    cells: Record = {"method": f"t, jackknife, {by}", "flag": few}
    if few == flags.ONE_UNIT or not math.isfinite(value):
        return cells
    if lost := float(alike @ ~np.isfinite(without)):
        return {**cells, "flag": flags.join(few, flags.UNDEFINED.of(lost, what="value(s) without a cluster"))}
    if coefficient and bool((np.abs(np.append(without, value)) < 1 - 1e-12).all()):
        on_z = jackknife_interval(math.atanh(value), np.arctanh(without), n, conf_level, alike)
        cells["method"] = f"t, jackknife of Fisher's z, {by}"
        error, low, high = (1 - value * value) * on_z.std_error, math.tanh(on_z.low), math.tanh(on_z.high)
        p = on_z.p_value
    else:
        error, low, high, p = jackknife_interval(value, without, n, conf_level, alike)
        low, high = (max(low, -1.0), min(high, 1.0)) if coefficient else (low, high)
    if math.isnan(error):
        return {**cells, "flag": flags.join(few, flags.NO_SPREAD)}
    return with_interval(error, low, high, p_value=p, **cells)
