"""Difference of two shares of one sample, and of several that share clusters: a signed bias."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtrit

from judgestats.counting.bootstrap import NO_INTERVAL
from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.cluster_robust import cluster_robust
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.proportions import clustered_tango, newcombe_paired, normal_quantile, wilson
from judgestats.results import with_interval
from judgestats.typing import Floats, Record

_METHOD = "Newcombe, two shares of one sample"
#: Method of :func:`clustered_difference`.
CLUSTERED = "Tango, two shares of one sample"


def difference(counts: Floats, conf_level: float = CONF_LEVEL) -> Record:
    """Share of the first class minus share of the second, of a multinomial sample of three."""
    total = counts.sum()
    if not total > 0:
        return {"estimate": math.nan, **NO_INTERVAL, "method": _METHOD}
    ends = newcombe_paired(0.0, counts[0], counts[1], counts[2], conf_level)
    value = (counts[0] - counts[1]) / total
    return with_interval(math.sqrt(spread(counts) / total), *ends, estimate=value, method=_METHOD)


def spread(counts: Floats) -> float:
    """Variance of one call, 1 for the first class, -1 for the second, 0 else: p1 + p2 - (p1 - p2)**2."""
    p1, p2, _ = counts / counts.sum()
    return max(float(p1 + p2 - (p1 - p2) ** 2), 0.0)


def clustered_difference(counts: Floats, conf_level: float = CONF_LEVEL, alike: Floats | None = None) -> Record:
    """The same from (G, 3) counts of G clusters; `alike` (G,): how many clusters there are of each, by default one.

    Tango's interval with the effective n of the clusters and t on their degrees of freedom. Answers that cancel within
    a cluster count as no difference: two orders of a pair with the same verdict show no position bias.
    """
    there = counts.sum(axis=1) > 0
    alike = (np.ones(len(counts)) if alike is None else alike)[there]
    counts = counts[there]
    size, net = counts.sum(axis=1), counts[:, 0] - counts[:, 1]
    value = float(alike @ net) / float(alike @ size)
    tango = clustered_tango(np.maximum(net, 0.0), np.maximum(-net, 0.0), size, conf_level, alike)
    if math.isnan(tango.std_error):
        return {"estimate": value, **NO_INTERVAL}
    if tango.std_error == 0 and 0 < abs(value) < 1:
        unlike = _one_unlike(value, effective_clusters(size, alike), tango.df, conf_level)
        return with_interval(0.0, max(value - unlike, -1.0), min(value + unlike, 1.0), estimate=value)
    return with_interval(tango.std_error, tango.low, tango.high, estimate=value)


def cell_mean(counts: Floats, weight: Floats, conf_level: float = CONF_LEVEL) -> Record:
    """Weighted sum of the differences of independent cells.

    `counts` (K, 3): one, other and tie of each cell. `weight` (K,). The interval combines the Newcombe intervals of the
    cells (square-and-add), and equals Newcombe's for one cell. NaN where a cell is empty.

    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702 (MOVER).
    """
    cells = [difference(c, conf_level) for c in counts]
    mean, error, low, high = (
        np.array([c[name] for c in cells]) for name in ("estimate", "std_error", "conf_low", "conf_high")
    )
    value = float(weight @ mean)
    pooled, below, above = (float(np.sqrt(((weight * x) ** 2).sum())) for x in (error, mean - low, high - mean))
    return with_interval(pooled, value - below, value + above, estimate=value, method="MOVER, independent cells")


def clustered_cell_mean(counts: Floats, weight: Floats, conf_level: float = CONF_LEVEL) -> Record:
    """As :func:`cell_mean`, of cells that share clusters: `counts` (G, K, 3), `weight` (K,).

    The interval is widened by the root of the design effect (cluster-robust variance over that of independent calls)
    and by t on its degrees of freedom over the normal quantile.
    """
    result = cell_mean(counts.sum(axis=0), weight, conf_level)
    n = counts.sum(axis=2)
    _, variance, df = cluster_robust(counts[:, :, 0] - counts[:, :, 1], n, weight)
    if math.isnan(variance):
        return {**result, **NO_INTERVAL}
    effective = effective_clusters(n.sum(axis=1))
    independent = result["std_error"] ** 2
    if variance == 0 and independent > 0:
        below = above = _one_unlike(result["estimate"], effective, df, conf_level)
    else:
        effect = float(n.sum()) / effective if independent == 0 else variance / independent
        wider = math.sqrt(effect) * float(stdtrit(df, 0.5 + conf_level / 2)) / normal_quantile(conf_level)
        below = wider * (result["estimate"] - result["conf_low"])
        above = wider * (result["conf_high"] - result["estimate"])
    reach = float(np.abs(weight).sum())
    low, high = max(result["estimate"] - below, -reach), min(result["estimate"] + above, reach)
    return result | with_interval(math.sqrt(variance), low, high)


def _one_unlike(value: float, clusters: float, df: float, conf_level: float) -> float:
    """How far a difference that all clusters share may be from the truth: one more cluster may be unlike them."""
    return float(wilson(0, clusters, conf_level, df=df)[1]) * (1 + abs(value))


def folded(row: Record, term: str) -> Record:
    """Absolute value of a signed estimate, with the interval folded at 0 and the standard error of the signed one."""
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
