"""Correlations of a block in the data and in every resample, with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from judgestats import flags, methods
from judgestats.counting.bootstrap import NO_INTERVAL, Bootstrap, read_off
from judgestats.errors import DesignError
from judgestats.estimate import NOTHING, ON_Z, student_ends
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.correlation import (
    all_pairs,
    grouped,
    icc_of,
    icc_sums,
    rowwise,
    weighted_spearman,
)
from judgestats.kernels.proportions import quotient
from judgestats.kernels.resampling import weighted_totals
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


def resampled_pairs(
    block: Block, method: Method, plan: Bootstrap, *beside: Callable[[Floats], Floats]
) -> tuple[Floats, list[Floats]]:
    """Correlation of each pair of judges in each row and resample, (B, R, P), and statistics in the same resamples.

    With a seed, the correlations are made once for a block.
    """
    key = (method, plan)
    if key in block.pair_draws:
        return block.pair_draws[key], resampled_statistics(block, plan, *beside) if beside else []
    draws, *others = resampled_statistics(
        block, plan, lambda weights: pair_correlations(block, method, weights), *beside
    )
    if isinstance(plan.seed, int):
        block.pair_draws[key] = draws
    return draws, others


def system_means(block: Block, weights: Floats) -> Floats:
    """Mean score of each judge in each row and resample, (B, R, J)."""
    is_rated = ~np.isnan(block.scores)
    stacked = np.stack([is_rated.astype(float), np.where(is_rated, block.scores, 0.0)], axis=-1).transpose(2, 0, 1, 3)
    totals = weighted_totals(weights, grouped(stacked, block.owner, block.n_units))
    return quotient(totals[..., 1], totals[..., 0], totals[..., 0] > 0)


def system_correlations(block: Block, method: Method, weights: Floats) -> Floats:
    """Correlation over systems of the mean scores of each pair of judges, in each setting, (B, S, P)."""
    cell = [c for c in block.rows.columns if c != "system"]
    setting = label_codes(block.rows, cell)[0] if cell else np.zeros(len(block.rows), np.int64)
    one, two = block.sides
    systems = np.bincount(setting, minlength=1)
    result = np.full((len(weights), systems.size, one.size), np.nan)
    if systems.max() < 2:
        return result
    means = system_means(block, weights)
    for s in np.flatnonzero(systems > 1):
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
    row |= {"method": plan.way, "flag": ""}
    if math.isnan(value):
        return row
    if sizes.size < 2:
        return {**row, "flag": flags.ONE_UNIT}
    lost = int(np.isnan(draws).sum())
    cells = read_off(value, draws, effective_clusters(sizes.astype(np.float64)), plan, limits)
    few = flags.join(flags.few_clusters(sizes), flags.UNDEFINED.of(lost, what="resample(s)"))
    return {**row, **cells, "flag": flags.join(few, cells["flag"])}


def mean_correlation(value: float, draws: Floats, sizes: Floats, plan: Bootstrap, df: float = math.inf) -> Record:
    """Cells of a correlation over points, or of a mean of them: Student's interval on Fisher's z.

    `sizes` (O,): points that the judges share in each unit. As in Fisher's n - 3, the two means and the spread cost
    three degrees of freedom; `df`: no more than these.
    """
    shared = sizes[sizes > 0]
    cells = from_draws(value, draws, shared, plan, CORRELATION)
    worth = effective_clusters(shared)
    if math.isnan(cells["conf_low"]) or 1 - value * value < NOTHING:
        return cells
    if worth <= 3:
        return {**cells, **NO_INTERVAL, "flag": flags.join(cells["flag"], flags.TOO_FEW)}
    error, bias = cells["std_error"] * math.sqrt((worth - 1) / (worth - 3)), float(np.nanmean(draws)) - value
    low, high = student_ends(value, error, min(worth - 3, df), plan.conf_level, transform=ON_Z, bias=bias)
    by = replace(plan, method="t").way.on("on Fisher's z", " ")
    return {**cells, "conf_low": float(low), "conf_high": float(high), "method": by}


def correlation_change(value: Floats, draws: Floats, sizes: Sequence[Floats], plan: Bootstrap) -> Record:
    """Cells of the second of two correlations minus the first, from `value` (2,) and `draws` (B, 2).

    The intervals of both are combined (square-and-add) with the correlation of the draws: Zou, G. Y. (2007).
    Psychological Methods 12, 399-413.
    """
    change = float(value[1] - value[0])
    units = sizes[0] + sizes[1]
    cells = from_draws(change, draws[:, 1] - draws[:, 0], units[units > 0], plan, DIFFERENCE)
    sides = [mean_correlation(float(value[k]), draws[:, k], sizes[k], plan) for k in (0, 1)]
    (low_1, high_1), (low_2, high_2) = ((side["conf_low"], side["conf_high"]) for side in sides)
    if math.isnan(low_1 + low_2 + cells["conf_low"]):
        return cells
    together = float(rowwise(draws[:, 0], draws[:, 1]))

    def reach(one: float, two: float) -> float:
        return math.sqrt(max(one * one + two * two - 2 * together * one * two, 0.0))

    low, high = reach(high_1 - value[0], value[1] - low_2), reach(value[0] - low_1, high_2 - value[1])
    way = plan.way.instead(methods.MOVER) if plan.method == "t" else plan.way
    return {**cells, "conf_low": change - low, "conf_high": change + high, "method": way}


def item_bootstrap(
    cluster: str, n_resamples: int, seed: int | np.random.Generator | None, conf_level: float
) -> Bootstrap:
    """The bootstrap of these measures: of `cluster`, with Student's t."""
    if not isinstance(cluster, str):
        raise DesignError(
            f"cluster={cluster!r} is not the name of a column. Use 'item', or a column that items are nested in."
        )
    return Bootstrap("t", (cluster,), None, n_resamples, seed, conf_level)
