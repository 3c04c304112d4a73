"""A proportion per group of a tally, with its interval and its doubts: the row that most measures return."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.kernels.resampling import binomial_interval
from judgestats.metrics.differences import size_flag
from judgestats.metrics.resampled import Bootstrap, ratio, resampled
from judgestats.results import NOT_INDEPENDENT, few_clusters, flags
from judgestats.schema.clustering import dependence, independent
from judgestats.schema.coding import Coded, codes_of, column_codes, combine


def rates(
    table: pd.DataFrame,
    groups: Sequence[str],
    term: str,
    hit: Any,
    trial: Any = True,
    *,
    conf_level: float = 0.95,
    cluster: str | None = None,
    calls_per_count: int = 1,
    bootstrap: Bootstrap | None = None,
    flag: str = "",
    **columns: Any,
) -> list[dict[str, Any]]:
    """Share of trials that are hits, in each group.

    Parameters
    ----------
    table : pandas.DataFrame
        A tally: pattern columns and ``n``, and the cluster column if there is to be a clustered interval.
    groups : sequence of str
        One estimate for each combination of these columns.
    term : str
        Name of the estimate.
    hit, trial : array_like
        For each row of the tally, the share of its calls that are hits, and that are trials (booleans, or 0, 1/2, 1).
    conf_level : float
        Coverage of the interval.
    cluster : str, optional
        Wilson with an effective n, and t on G - 1, in place of Wilson on calls.
    calls_per_count : int
        How many calls one count stands for: 2 for a rate over the calls of pairs.
    bootstrap : Bootstrap, optional
        A bootstrap interval in place of Wilson's; of independent calls and by percentile in closed form. Where all
        calls are hits, or none, Wilson's stays, clustered where the bootstrap has one cluster.
    flag : str
        Put into every row.
    **columns
        Further cells of every row.

    Returns
    -------
    list of dict
        Rows for :func:`judgestats.results.estimates`. A group without trials is NaN with the flag ``no data``.
    """
    if cluster is None and bootstrap is not None and len(bootstrap.cluster) == 1:
        cluster = bootstrap.cluster[0]
    n = table["n"].to_numpy(dtype=float) * calls_per_count
    trials = n * np.broadcast_to(np.asarray(trial, dtype=float), n.shape)
    hits = trials * np.broadcast_to(np.asarray(hit, dtype=float), n.shape)
    codes = codes_of(table, list(groups))
    k = np.bincount(codes.code, weights=hits, minlength=codes.size)
    total = np.bincount(codes.code, weights=trials, minlength=codes.size)
    keys = table[list(groups)].iloc[codes.first].to_dict("records")
    crossed = bootstrap is not None and len(bootstrap.cluster) == 2  # a Wilson interval that stays knows neither
    of_pairs = calls_per_count > 1 and cluster is None  # a count is a pair: its calls are together, come what may
    together = of_pairs and independent(table)
    dependent = flags(NOT_INDEPENDENT if (of_pairs and not together) or crossed else "", dependence(table))
    low, high = wilson(k, total, conf_level)
    unit = None if cluster is None else column_codes(table[cluster])
    rows = []
    for g, key in enumerate(keys):
        p = k[g] / total[g] if total[g] else math.nan
        row = {
            **key,
            **columns,
            "term": term,
            "estimate": p,
            "n": total[g],
            "conf_low": low[g],
            "conf_high": high[g],
            "std_error": math.sqrt(p * (1 - p) / total[g]) if total[g] else math.nan,
            "method": "Wilson",
            "flag": flags(flag, dependent, size_flag(total[g])),
        }
        if (cluster is not None or together) and total[g]:
            told = flags(flag, dependence(table))
            row.update(_clustered(table, codes.code == g, hits, trials, cluster, unit, conf_level, told, total[g]))
        if bootstrap is not None and 0 < k[g] < total[g]:
            clustered = flags(flag, dependence(table) if bootstrap.cluster else dependent)
            row.update(_resampled(table, codes.code == g, hits, trials, bootstrap, key))
            row["flag"] = flags(clustered, row["flag"], size_flag(total[g]))
        rows.append(row)
    return rows


def _clustered(
    table: pd.DataFrame,
    mask: Any,
    hits: Any,
    trials: Any,
    cluster: str | None,
    unit: Coded | None,
    conf_level: float,
    flag: str,
    total: float,
) -> dict[str, Any]:
    """Interval by cluster; without one each count of the table is a cluster, a pair."""
    if unit is None:
        pairs = table["n"].to_numpy(dtype=float)[mask]
        times = np.where(pairs > 0, pairs, 1.0)
        k, n, alike = hits[mask] / times, trials[mask] / times, pairs
    else:
        codes = combine([(unit[0][mask], unit[1])], int(np.count_nonzero(mask)))
        k, n = (np.bincount(codes.code, x[mask], codes.size).astype(np.float64) for x in (hits, trials))
        alike = np.ones(codes.size)
    se, low, high = clustered_wilson(k, n, conf_level, alike)
    clusters = int(alike[n > 0].sum())
    few = few_clusters(clusters)
    return {
        "std_error": se,
        "conf_low": low,
        "conf_high": high,
        "method": f"Wilson, clustered by {cluster or 'pair'} (G = {clusters})",
        "flag": flags(flag, few, size_flag(total)),
    }


def _resampled(
    table: pd.DataFrame, mask: Any, hits: Any, trials: Any, plan: Bootstrap, key: dict[Any, Any]
) -> dict[str, Any]:
    k, n = hits[mask], trials[mask]
    whole = ((k == 0) | (k == n)).all()  # no half hits
    whole &= ((n == 0) | (n == table["n"].to_numpy(dtype=float)[mask])).all()  # a count is one trial
    if plan.method == "percentile" and not plan.columns and whole:
        low, high = binomial_interval(k.sum(), n.sum(), plan.conf_level)
        return {"conf_low": low, "conf_high": high, "method": "percentile bootstrap of calls, closed form", "flag": ""}
    return resampled(table[mask], np.column_stack([k, n]), ratio, plan, key)
