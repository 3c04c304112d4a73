"""Rankings of resamples of the calls, and of halves of items or judges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap
from judgestats.kernels.resampling import cluster_index, generator
from judgestats.metrics.ranking.coded_comparisons import CodedComparisons, RankingOptions
from judgestats.metrics.ranking.strength_fits import StrengthFit, strength_fit
from judgestats.typing import Floats, Record

#: Random halves of the levels of a column, whose rankings are compared.
SPLITS = 100


class BootstrapStrengths(NamedTuple):
    """Strengths of resamples."""

    strength: Floats  # (B, K)
    best: Floats  # (K,): share of the resamples in which each system is best
    plan: Bootstrap


def bootstrap_of(
    comparisons: CodedComparisons, fit: StrengthFit, options: RankingOptions, key: Mapping[str, Any]
) -> BootstrapStrengths:
    """Strengths of resamples of the calls, or of clusters of them."""
    plan = Bootstrap(
        "percentile", tuple(comparisons.clusters), None, options.n_resamples, options.seed, options.conf_level
    )
    rng = generator(options.seed, tuple(map(str, key.values())))
    size = len(comparisons.systems)
    values, best = np.full((options.n_resamples, size), math.nan), np.zeros(size)
    for b in range(options.n_resamples):
        if comparisons.clusters:
            n = comparisons.n.copy()
            for c in comparisons.clusters:
                codes = comparisons.codes[c]
                n *= np.bincount(cluster_index(rng, codes.size, 1)[0], minlength=codes.size)[codes.code]
        else:
            n = rng.multinomial(round(float(comparisons.n.sum())), comparisons.n / comparisons.n.sum()).astype(float)
        if not n.any():
            continue
        resample = strength_fit(comparisons.systems, comparisons.counted(n), options, start=fit.parameters)
        finite = resample.limit == 0
        if finite.all() or options.reference is not None:
            values[b] = resample.strength
        else:  # the mean of the others is that of other systems
            values[b] = np.where(finite, math.nan, resample.limit)
        if not np.isnan(resample.place).all():
            top = resample.place == np.nanmax(resample.place)
            best += top / top.sum()
    return BootstrapStrengths(values, best / options.n_resamples, plan)


def stability_rows(
    comparisons: CodedComparisons, options: RankingOptions, key: Mapping[str, Any], common: str
) -> list[Record]:
    """Rows of Kendall's tau of rankings from two halves of the levels of a column."""
    if not options.stability:
        return []
    from scipy.stats import kendalltau

    rows = []
    for column in options.stability:
        codes = comparisons.codes[column]
        cells: Record = {"system": "", "term": f"stability_{column}", "method": methods.KENDALL_HALVES}
        if codes.size < 2:
            rows.append({**cells, "estimate": math.nan, "n": 0.0, "flag": flags.join(flags.ONE_UNIT, common)})
            continue
        rng = generator(options.seed, (*map(str, key.values()), column))
        taus = []
        for _ in range(SPLITS if codes.size > 2 else 1):
            half = np.zeros(codes.size, dtype=bool)
            half[rng.permutation(codes.size)[: codes.size // 2]] = True
            sides = [np.where(half[codes.code] == side, comparisons.n, 0.0) for side in (True, False)]
            prior = max(options.pseudo_ties, 1.0)
            one, two = (
                strength_fit(comparisons.systems, comparisons.counted(n), options, prior).strength for n in sides
            )
            taus.append(float(kendalltau(one, two).statistic))
        defined = np.array(taus)[~np.isnan(taus)]
        cells |= {"estimate": float(defined.mean()) if defined.size else math.nan, "n": float(defined.size)}
        rows.append({**cells, "flag": flags.join(flags.NO_INTERVAL, common)})
    return rows
