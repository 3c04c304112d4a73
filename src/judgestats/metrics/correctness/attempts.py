"""Repeated attempts: whether one of k is right, and whether all are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import gammaln

from judgestats import flags
from judgestats.counting.cells import ABOUT
from judgestats.counting.clustering import Cluster
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.estimate import SHARE, mean_over_clusters
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.correctness.scored_verdicts import mean_scores
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.columns import By, grouping
from judgestats.typing import Floats, Record


@Measure(
    "How often is one of k attempts right, and how often are all?",
    "accuracy",
    "R",
    "Wilson, clustered",
    "Chen et al. 2021, Eq. 1",
    plot="forest",
    terms=(
        Term("pass_at_k", "one of k attempts right", "item", "items with k attempts", "lower"),
        Term("pass_all_k", "all of k attempts right", "item", "items with k attempts", "lower"),
    ),
    have=("repeats",),
    assumes="Attempts at an item are exchangeable: drawn anew, by one model in one way.",
)
def pass_at_k(
    ratings: IntoFrame,
    k: int | Sequence[int],
    *,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of items of which one of k attempts is right (pass@k), and of which all are (pass^k).

    Parameters
    ----------
    ratings : frame
        Right and wrong (``correct``, or a score of 0 and 1), several attempts an item; a class with its ``gold``.
    k : int or sequence of int
        Numbers of attempts, up to those that items have.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that items share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it
        in ``method``. False treats all items as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge and ``k`` the terms ``pass_at_k`` and ``pass_all_k``; ``n`` is the items with k attempts or more.

    Raises
    ------
    DesignError
        If `k` is no number of attempts, no item has so many, or a score is neither 0 nor 1.

    See Also
    --------
    accuracy : Share of right verdicts.
    consistency : Whether answers are the same when asked again.

    Notes
    -----
    Unbiased: of n attempts with c right, ``1 - C(n - c, k) / C(n, k)`` and ``C(c, k) / C(n, k)``, averaged over items
    (Chen et al. 2021, arXiv 2107.03374; Yao et al. 2024, arXiv 2406.12045).

    Examples
    --------
    >>> marks = {"a": "1100", "b": "1111", "c": "0000", "d": "1000"}
    >>> rows = [("g", i, r, int(x)) for i, row in marks.items() for r, x in enumerate(row)]
    >>> calls = pd.DataFrame(rows, columns=["judge", "item", "replicate", "correct"])
    >>> pass_at_k(calls, [1, 2])[["k", "term", "estimate", "n"]].round(3)
       k        term  estimate    n
    0  1  pass_all_k     0.438  4.0
    1  1   pass_at_k     0.438  4.0
    2  2  pass_all_k     0.292  4.0
    3  2   pass_at_k     0.583  4.0
    """
    wanted = [k] if isinstance(k, int) else list(k)
    if not wanted or not all(isinstance(number, int | np.integer) and number >= 1 for number in wanted):
        raise DesignError(f"k={k!r} is no number of attempts. Allowed: whole numbers from 1, or a list of them.")
    study = Study.whole(ratings)
    groups = list(dict.fromkeys(["judge", *grouping(by, study.names)]))
    column, dependent = clustered_by(study, groups, cluster, [*ABOUT], whole="item")
    items, _ = mean_scores(study, groups, column, "pass_at_k")
    right = (items["mean"] * items["runs"]).to_numpy(dtype=float)
    if (np.abs(right - right.round()) > 1e-6).any() or (right > items["runs"]).any() or (right < 0).any():
        raise DesignError(
            "Attempts are right or wrong, and some scores are neither 0 nor 1. Say which are right: 'correct'."
        )
    items = items.assign(right=right.round())
    most = int(items["runs"].max())
    if most < max(wanted):
        raise DesignError(f"k={max(wanted)}, and no item has more than {most} attempts. Give k up to {most}.")
    rows: list[Record] = []
    for key, part in items.groupby(groups, sort=True, observed=True):
        n, c = (part[name].to_numpy(dtype=float) for name in ("runs", "right"))
        for number in wanted:
            enough = n >= number
            few = flags.EXCLUDED.of(int((~enough).sum()), what="items with fewer attempts")
            where = part[column].to_numpy()[enough] if column else np.arange(enough.sum())
            code = np.unique(where.astype(str), return_inverse=True)[1]
            size = np.bincount(code).astype(np.float64)
            one = 1 - _drawn_of(n[enough] - c[enough], n[enough], number)
            every = _drawn_of(c[enough], n[enough], number)
            for term, share in (("pass_at_k", one), ("pass_all_k", every)):
                row: Record = {**dict(zip(groups, key, strict=True)), "k": number, "term": term, "n": 0.0}
                if enough.any():
                    single = "" if size.max() == 1 else column
                    sums: Floats = np.bincount(code, share).astype(np.float64)
                    row |= mean_over_clusters(sums, size, single, conf_level, SHARE).cells
                rows.append({**row, "flag": flags.join(dependent, row.get("flag", ""), few)})
    return estimates(rows, [*groups, "k", "term"])


def _drawn_of(some: Floats, n: Floats, k: int) -> Floats:
    """Probability that k drawn without replacement of n are all among `some`."""
    ways = gammaln(np.maximum(some, k) + 1) - gammaln(np.maximum(some - k, 0) + 1) - gammaln(n + 1) + gammaln(n - k + 1)
    share: Floats = np.where(some >= k, np.exp(ways), 0.0)
    return share
