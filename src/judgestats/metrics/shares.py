"""One share of a sample minus another share of the same sample: a lean, a signed bias."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from judgestats.kernels.proportions import ROUNDING, clustered_tango, newcombe_paired, normal_quantile, wilson
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Bootstrap, resampled
from judgestats.results import NOT_INDEPENDENT, flags
from judgestats.schema.coding import codes_of, column_codes, combine

Floats = NDArray[np.float64]
_METHOD = "Newcombe, two shares of one sample"
#: Method of :func:`clustered_difference`.
CLUSTERED = "Tango, two shares of one sample"


def leans(
    table: pd.DataFrame,
    groups: Sequence[str],
    term: str,
    one: Any,
    other: Any,
    trial: Any = True,
    *,
    conf_level: float = 0.95,
    cluster: str | None = None,
    bootstrap: Bootstrap | None = None,
    flag: str = "",
    **columns: Any,
) -> list[dict[str, Any]]:
    """Share of `one` minus share of `other` among the trials, in each group.

    Parameters
    ----------
    table : pandas.DataFrame
        A tally: pattern columns and ``n``, and the cluster column if there is to be a clustered interval.
    groups : sequence of str
        One estimate for each combination of these columns.
    term : str
        Name of the estimate.
    one, other, trial : array_like of bool
        For each row of the tally, whether its calls are the one, the other, and count at all. The rest are ties.
    conf_level : float
        Coverage of the interval.
    cluster : str, optional
        Tango's interval of the n that the clusters are worth, with t on G - 1.
    bootstrap : Bootstrap, optional
        A bootstrap interval in place of Newcombe's. Where all calls answer alike, Newcombe's stays.
    flag : str
        Put into every row.
    **columns
        Further cells of every row.

    Returns
    -------
    list of dict
        Rows for :func:`judgestats.results.estimates`; n and flags are those of the share of `one`.

    Notes
    -----
    The interval is Newcombe's for the difference of two shares of one sample, built of Wilson's for each: it stays in
    [-1, 1] and never has zero width. So does Tango's, which a clustered one is.
    """
    shape = len(table)
    trial = np.broadcast_to(np.asarray(trial, dtype=bool), shape)
    one, other = (np.broadcast_to(np.asarray(x, dtype=bool), shape) & trial for x in (one, other))
    rows = rates(table, groups, term, one, trial, conf_level=conf_level, cluster=cluster, flag=flag, **columns)
    codes = codes_of(table, list(groups))
    n = table["n"].to_numpy(dtype=float)
    marks = np.column_stack([one, other, trial & ~one & ~other]) * n[:, None]
    column = None if cluster is None else column_codes(table[cluster])
    for g, row in enumerate(rows):
        here = codes.code == g
        counts = marks[here]
        if column is None or not row["n"]:
            row.update(difference(counts.sum(axis=0), conf_level))
        else:
            unit = combine([(column[0][here], column[1])], len(counts))
            sizes = [np.bincount(unit.code, weights=c, minlength=unit.size).astype(np.float64) for c in counts.T]
            row.update(clustered_difference(np.column_stack(sizes), conf_level))
            row["method"] = row["method"].replace("Wilson", CLUSTERED)
        if bootstrap is not None and (counts.sum(axis=0) > 0).sum() > 1:
            key = {name: row[name] for name in groups}
            drawn = resampled(table[here], counts, _lean_of, bootstrap, key)
            told = [f for f in row["flag"].split("; ") if f != NOT_INDEPENDENT or not bootstrap.cluster]
            row.update(drawn, flag=flags(*told, drawn["flag"]))
        elif bootstrap is not None and len(bootstrap.cluster) == 2:
            row["flag"] = flags(NOT_INDEPENDENT, row["flag"])
    return rows


def _lean_of(totals: Floats) -> Floats:
    """(B, 3) counts to (B,) leans."""
    n = totals.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(n > 0, (totals[:, 0] - totals[:, 1]) / n, np.nan)
    return result


def difference(counts: Floats, conf_level: float = 0.95) -> dict[str, Any]:
    """Share of the first class minus share of the second, of a multinomial sample of three."""
    total = counts.sum()
    if not total > 0:
        return {
            "estimate": math.nan,
            "std_error": math.nan,
            "conf_low": math.nan,
            "conf_high": math.nan,
            "method": _METHOD,
        }
    low, high = newcombe_paired(0.0, counts[0], counts[1], counts[2], conf_level)
    return {
        "estimate": (counts[0] - counts[1]) / total,
        "std_error": math.sqrt(spread(counts) / total),
        "conf_low": low,
        "conf_high": high,
        "method": _METHOD,
    }


def spread(counts: Floats) -> float:
    """Variance of one call's lean: p1 + p2 - (p1 - p2)**2."""
    p1, p2, _ = counts / counts.sum()
    return max(float(p1 + p2 - (p1 - p2) ** 2), 0.0)


def clustered_difference(counts: Floats, conf_level: float = 0.95) -> dict[str, Any]:
    """The same from (G, 3) counts, by cluster.

    Tango's interval of the n that the clusters are worth, with t on G - 1, what cancels within a cluster counting on
    neither side: two orders of a pair with the same verdict lean to no slot, and without a cluster that leans the
    interval is that of no discordant pair.
    """
    counts = counts[counts.sum(axis=1) > 0]
    clusters, total, sums = len(counts), counts.sum(), counts.sum(axis=0)
    lean = (sums[0] - sums[1]) / total
    if clusters < 2:
        return {"estimate": lean, "std_error": math.nan, "conf_low": math.nan, "conf_high": math.nan}
    size, net = counts.sum(axis=1), counts[:, 0] - counts[:, 1]
    variance = float(((net - lean * size) ** 2).sum())
    if variance / total**2 <= ROUNDING and 0 < abs(lean) < 1:  # all lean alike: what may hide is one that does not
        unlike = float(wilson(0, clusters, conf_level, df=clusters - 1)[1]) * (1 + abs(lean))
        low, high = max(lean - unlike, -1.0), min(lean + unlike, 1.0)
        return {"estimate": lean, "std_error": 0.0, "conf_low": low, "conf_high": high}
    found = clustered_tango(np.maximum(net, 0.0), np.maximum(-net, 0.0), size, conf_level)
    return {"estimate": lean, "std_error": found.std_error, "conf_low": found.low, "conf_high": found.high}


def cell_mean(counts: Floats, weight: Floats, conf_level: float = 0.95) -> dict[str, Any]:
    """Weighted sum of the leans of independent cells.

    Parameters
    ----------
    counts : (K, 3) float array
        One, other and tie of each cell.
    weight : (K,) float array
        What each cell counts for.
    conf_level : float
        Coverage of the interval.

    Returns
    -------
    dict
        Cells of an estimate. The standard error is that of the cells; the interval is composed of their Newcombe
        intervals (square-and-add), and equals Newcombe's for one cell. NaN where a cell is empty.

    References
    ----------
    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702 (MOVER).
    """
    cells = [difference(c, conf_level) for c in counts]
    mean, error, low, high = (
        np.array([c[name] for c in cells]) for name in ("estimate", "std_error", "conf_low", "conf_high")
    )
    value = float(weight @ mean)
    return {
        "estimate": value,
        "std_error": float(np.sqrt(((weight * error) ** 2).sum())),
        "conf_low": value - float(np.sqrt(((weight * (mean - low)) ** 2).sum())),
        "conf_high": value + float(np.sqrt(((weight * (high - mean)) ** 2).sum())),
        "method": "MOVER, independent cells",
    }


def clustered_cell_mean(counts: Floats, weight: Floats, conf_level: float = 0.95) -> dict[str, Any]:
    """Weighted sum of the leans of cells that share clusters.

    Parameters
    ----------
    counts : (G, K, 3) float array
        One, other and tie of each cluster in each cell.
    weight : (K,) float array
        What each cell counts for.
    conf_level : float
        Coverage of the interval.

    Returns
    -------
    dict
        As :func:`cell_mean`, whose interval is stretched by the root of the design effect (the linearised variance
        between clusters over that of independent calls) and by t on G - 1 over the normal quantile.
    """
    result = cell_mean(counts.sum(axis=0), weight, conf_level)
    n = counts.sum(axis=2)
    clusters = int((n.sum(axis=1) > 0).sum())
    if clusters < 2 or math.isnan(result["estimate"]):
        return {**result, "std_error": math.nan, "conf_low": math.nan, "conf_high": math.nan}
    total = n.sum(axis=0)
    lean = (counts[:, :, 0] - counts[:, :, 1]).sum(axis=0) / total
    pull = ((counts[:, :, 0] - counts[:, :, 1] - lean * n) * (weight / total)).sum(axis=1)
    variance = clusters / (clusters - 1) * float((pull**2).sum())
    variance = 0.0 if variance <= ROUNDING else variance
    independent = result["std_error"] ** 2
    if variance == 0 and independent > 0:
        unlike = float(wilson(0, clusters, conf_level, df=clusters - 1)[1]) * (1 + abs(result["estimate"]))
        below = above = unlike
    else:
        effect = total.sum() / clusters if independent == 0 else variance / independent
        wider = math.sqrt(effect) * float(stdtrit(clusters - 1, 0.5 + conf_level / 2)) / normal_quantile(conf_level)
        below = wider * (result["estimate"] - result["conf_low"])
        above = wider * (result["conf_high"] - result["estimate"])
    reach = float(np.abs(weight).sum())
    return {
        **result,
        "std_error": math.sqrt(variance),
        "conf_low": max(result["estimate"] - below, -reach),
        "conf_high": min(result["estimate"] + above, reach),
    }


def folded(row: dict[str, Any], term: str) -> dict[str, Any]:
    """Absolute value of a signed estimate, its interval that of the signed one, folded at 0.

    The standard error stays that of the signed quantity.
    """
    low, high = row["conf_low"], row["conf_high"]
    ends = sorted((abs(low), abs(high)))
    inside = low <= 0 <= high
    return {
        **row,
        "term": term,
        "estimate": abs(row["estimate"]),
        "conf_low": 0.0 if inside else ends[0],
        "conf_high": ends[1] if not (math.isnan(low) or math.isnan(high)) else math.nan,
    }
