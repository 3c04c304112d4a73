"""Correlations of a block in the data and in every resample, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, read_off
from judgestats.errors import DesignError
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.correlation import (
    all_pairs,
    grouped,
    icc_of,
    icc_sums,
    rowwise,
    weighted_spearman,
    weighted_totals,
)
from judgestats.kernels.proportions import quotient
from judgestats.metrics.agreement.rating_blocks import Block, label_codes
from judgestats.typing import Floats, Integers, Record

Method = Literal["pearson", "spearman"]

#: Range of a correlation, and of a difference of two.
CORRELATION, DIFFERENCE = (-1.0, 1.0), (-2.0, 2.0)
STANDARD_DEVIATION = (0.0, math.inf)
#: Numbers held in memory at a time.
_HELD = 2**23


def observed_weights(block: Block) -> Floats:
    """Weights of the observed data, (1, O)."""
    return np.ones((1, block.n_units))


def resampled_statistics(block: Block, plan: Bootstrap, *statistics: Callable[[Floats], Floats]) -> list[Floats]:
    """Statistics of weights in the same resamples, each (B, ...)."""
    parts = [[statistic(weights) for statistic in statistics] for weights in block.resample_weights(plan)]
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def pair_correlations(block: Block, method: Method, weights: Floats) -> Floats:
    """Correlation of each pair of judges in each row and resample, (B, R, P)."""
    one, two = block.sides
    count, n = len(block.rows), block.scores.shape[-1]
    result = np.full((len(weights), count, one.size), np.nan)
    if not one.size:
        return result
    if method == "spearman":
        point_weights = weights[:, block.owner]
        for r in range(count):
            for p, (i, j) in enumerate(zip(one, two, strict=True)):
                result[:, r, p] = weighted_spearman(block.scores[r, i], block.scores[r, j], point_weights)
        return result
    step = max(_HELD // (6 * one.size * max(len(weights), n)), 1)
    for start in range(0, count, step):
        row_scores = block.scores[start : start + step]
        result[:, start : start + step] = all_pairs(row_scores, block.owner, block.n_units, weights)
    return result


def system_means(block: Block, weights: Floats) -> Floats:
    """Mean score of each judge in each row and resample, (B, R, J)."""
    is_rated = ~np.isnan(block.scores)
    stacked = np.stack([is_rated.astype(float), np.where(is_rated, block.scores, 0.0)], axis=-1).transpose(2, 0, 1, 3)
    totals = weighted_totals(weights, grouped(stacked, block.owner, block.n_units))
    return quotient(totals[..., 1], totals[..., 0], totals[..., 0] > 0)


def system_correlations(block: Block, method: Method, weights: Floats) -> Floats:
    """Correlation over systems of the mean scores of each pair of judges, in each setting, (B, S, P)."""
    means = system_means(block, weights)
    cell = [c for c in block.rows.columns if c != "system"]
    setting = label_codes(block.rows, cell)[0] if cell else np.zeros(len(block.rows), np.int64)
    one, two = block.sides
    result = np.full((len(weights), int(setting.max(initial=0)) + 1, one.size), np.nan)
    for s in range(result.shape[1]):
        setting_means = means[:, setting == s].transpose(0, 2, 1)
        result[:, s] = rowwise(setting_means[:, one], setting_means[:, two], ranked=method == "spearman")
    return result


def row_icc(block: Block, weights: Floats) -> Floats:
    """ICC(2,1) of each row in each resample, over the judges that rated it, (B, R)."""
    result = np.full((len(weights), len(block.rows)), np.nan)
    for r, scores in enumerate(block.scores):
        raters = scores[(~np.isnan(scores)).any(axis=1)]
        if len(raters) > 1:
            result[:, r] = icc_of(weighted_totals(weights, icc_sums(raters, block.owner, block.n_units)))
    return result


def mean_defined(x: Floats, axis: int | tuple[int, ...] = -1) -> Floats:
    """Mean of the values that are not NaN."""
    defined = ~np.isnan(x)
    return quotient(np.where(defined, x, 0.0).sum(axis=axis), defined.sum(axis=axis))


def sd_defined(x: Floats, ddof: int = 1) -> Floats:
    """Standard deviation along the last axis of the values that are not NaN, two or more; divisor n - ddof."""
    defined = ~np.isnan(x)
    n = defined.sum(axis=-1)
    deviations = np.where(defined, x - mean_defined(x)[..., None], 0.0)
    return np.sqrt(quotient((deviations**2).sum(axis=-1), n - ddof, (n > 1) & (n >= ddof)))


def from_draws(
    value: float,
    draws: Floats,
    sizes: Floats | Integers,
    plan: Bootstrap,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Record:
    """Cells of an estimate from draws of units of these sizes; no interval for one unit or an undefined estimate."""
    row: Record = {"estimate": value, "std_error": math.nan, "conf_low": math.nan, "conf_high": math.nan}
    row |= {"method": plan.words, "flag": ""}
    if math.isnan(value):
        return row
    if sizes.size < 2:
        return {**row, "flag": flags.ONE_UNIT}
    lost = int(np.isnan(draws).sum())
    cells = read_off(value, draws, effective_clusters(sizes.astype(np.float64)), plan, limits)
    few = flags.join(flags.few_clusters(sizes), flags.UNDEFINED.of(lost, what="resample(s)"))
    return {**row, **cells, "flag": flags.join(few, cells["flag"])}


def item_bootstrap(
    cluster: str, n_resamples: int, seed: int | np.random.Generator | None, conf_level: float
) -> Bootstrap:
    """The bootstrap of these measures: of `cluster`, with Student's t."""
    if not isinstance(cluster, str):
        raise DesignError(
            f"cluster={cluster!r} is not the name of a column. Use 'item', or a column that items are nested in."
        )
    return Bootstrap("t", (cluster,), None, n_resamples, seed, conf_level)
