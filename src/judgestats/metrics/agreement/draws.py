"""Correlations of a block of ratings in the data and in every resample, and the intervals that come of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from judgestats.errors import DesignError
from judgestats.kernels.correlation import (
    grouped,
    icc_of,
    icc_sums,
    pair_sums,
    pearson_of,
    rowwise,
    weighted_spearman,
    weighted_totals,
)
from judgestats.metrics.agreement.blocks import Block, Floats, codes, some
from judgestats.metrics.consensus.correlations import PERFECT, TOO_FEW, fisher_cells, spearman_p
from judgestats.metrics.resampled import Bootstrap, read_off
from judgestats.results import ONE_UNIT, few_clusters, flags

Method = Literal["pearson", "spearman"]
METHODS: tuple[Method, ...] = ("pearson", "spearman")
FISHER = "Fisher z; p from t on n - 2"
#: A correlation, and a difference of two, lie within.
CORRELATION, DIFFERENCE = (-1.0, 1.0), (-2.0, 2.0)
#: Numbers held at a time.
_HELD = 2**23


def whole(block: Block) -> Floats:
    """The weights of the data themselves, (1, O)."""
    return np.ones((1, block.n_units))


def resampled(block: Block, plan: Bootstrap, *statistics: Callable[[Floats], Floats]) -> list[Floats]:
    """Statistics of weights in the same resamples, each (B, ...)."""
    parts = [[statistic(weights) for statistic in statistics] for weights in block.drawn(plan)]
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def pair_correlations(block: Block, method: Method, weights: Floats) -> Floats:
    """Correlation of each pair of judges in each row and resample, (B, R, P)."""
    one, two = block.sides
    count, n = len(block.rows), block.scores.shape[-1]
    result = np.full((len(weights), count, one.size), np.nan)
    if not one.size:
        return result
    if method == "spearman":
        drawn = weights[:, block.owner]
        for r in range(count):
            for p, (i, j) in enumerate(zip(one, two, strict=True)):
                result[:, r, p] = weighted_spearman(block.scores[r, i], block.scores[r, j], drawn)
        return result
    step = max(_HELD // (6 * one.size * max(len(weights), n)), 1)
    for start in range(0, count, step):
        here = block.scores[start : start + step]
        x, y = (here[:, side].reshape(-1, n) for side in (one, two))
        sums = weighted_totals(weights, pair_sums(x, y, block.owner, block.n_units))
        result[:, start : start + step] = pearson_of(sums).reshape(len(weights), -1, one.size)
    return result


def system_means(block: Block, weights: Floats) -> Floats:
    """Mean score of each judge in each row and resample, (B, R, J)."""
    known = ~np.isnan(block.scores)
    stacked = np.stack([known.astype(float), np.where(known, block.scores, 0.0)], axis=-1).transpose(2, 0, 1, 3)
    totals = weighted_totals(weights, grouped(stacked, block.owner, block.n_units))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(totals[..., 0] > 0, totals[..., 1] / totals[..., 0], np.nan)


def system_correlations(block: Block, method: Method, weights: Floats) -> Floats:
    """Correlation over systems of the mean scores of each pair of judges, in each setting, (B, S, P)."""
    means = system_means(block, weights)
    cell = [c for c in block.rows.columns if c != "system"]
    setting = codes(block.rows, cell)[0] if cell else np.zeros(len(block.rows), np.int64)
    one, two = block.sides
    result = np.full((len(weights), int(setting.max(initial=0)) + 1, one.size), np.nan)
    for s in range(result.shape[1]):
        here = means[:, setting == s].transpose(0, 2, 1)
        result[:, s] = rowwise(here[:, one], here[:, two], ranked=method == "spearman")
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
    """Plain mean of what is not NaN."""
    known = ~np.isnan(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(known, x, 0.0).sum(axis=axis) / known.sum(axis=axis)
    return result


def sd_defined(x: Floats) -> Floats:
    """Standard deviation along the last axis of what is not NaN, divisor n - 1."""
    known = ~np.isnan(x)
    n = known.sum(axis=-1)
    away = np.where(known, x - mean_defined(x)[..., None], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, np.sqrt((away**2).sum(axis=-1) / (n - 1)), np.nan)


def from_draws(
    value: float, draws: Floats, n_units: int, plan: Bootstrap, limits: tuple[float, float] = (-math.inf, math.inf)
) -> dict[str, Any]:
    """The cells of an estimate that come of its draws; never an interval of zero width, or without the estimate."""
    row: dict[str, Any] = {"estimate": value, "std_error": math.nan, "conf_low": math.nan, "conf_high": math.nan}
    row |= {"method": plan.words, "flag": ""}
    if math.isnan(value):
        return row
    if n_units < 2:
        return {**row, "flag": ONE_UNIT}
    lost = int(np.isnan(draws).sum())
    cells = read_off(value, draws, n_units, plan, limits)
    few = flags(few_clusters(n_units), some(lost, "resample without a value", "resamples without a value"))
    return {**row, **cells, "flag": flags(few, cells["flag"])}


def plan_of(cluster: str, n_resamples: int, seed: int | np.random.Generator | None, conf_level: float) -> Bootstrap:
    """The bootstrap of these measures: of items, by Student's t."""
    if not isinstance(cluster, str):
        raise DesignError(f"cluster={cluster!r} is not the name of a column. Use 'item', or what items are nested in.")
    return Bootstrap("t", (cluster,), None, n_resamples, seed, conf_level)


def correlation_cells(r: float, n: int, method: Method, conf_level: float) -> dict[str, Any]:
    """The cells of one correlation with Fisher's interval, which r = ±1 and n < 4 do not have."""
    row: dict[str, Any] = {"estimate": r, "flag": "", "method": ""}
    if math.isnan(r):
        return row
    row["p_value"] = spearman_p(r, n)
    if 1 - abs(r) < 1e-12 or n < 4:
        return {**row, "flag": PERFECT if n >= 4 else TOO_FEW}
    variance = (1 + r * r / 2 if method == "spearman" else 1.0) / (n - 3)
    return {**row, **fisher_cells(r, variance, conf_level), "method": FISHER}
