"""Covariance of strengths: of the model, or a sandwich over clusters of calls."""

from __future__ import annotations

import math

import numpy as np

from judgestats.kernels import paired_comparisons
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.paired_comparisons import Comparisons
from judgestats.metrics.ranking.coded_comparisons import CodedComparisons, RankingOptions
from judgestats.metrics.ranking.strength_fits import StrengthFit
from judgestats.schema.coding import combine
from judgestats.typing import Floats, Mask


def covariance_of(
    comparisons: CodedComparisons, fit: StrengthFit, options: RankingOptions
) -> tuple[Floats, float, int]:
    """Covariance of all parameters, degrees of freedom, and number of clusters."""
    parameters = fit.parameters
    if options.interval == "model":
        return parameters.bread, math.inf, 0
    data = comparisons.counted(comparisons.n)
    inside = fit.component[data.system] == fit.component[data.opponent]
    n = comparisons.n * inside[comparisons.row]
    codes = [comparisons.codes[c] for c in comparisons.clusters]
    if len(codes) == 2:
        codes.append(combine([(c.code, c.size) for c in codes], comparisons.n.size))
    scaled, sizes = np.zeros_like(parameters.bread), [c.size for c in codes] or [round(float(comparisons.n.sum()))]
    for i, units in enumerate(sizes):
        cluster = codes[i].code.astype(np.int64) if codes else None
        middle = paired_comparisons.meat(fit.model, data, parameters, comparisons.row, comparisons.outcome, n, cluster)
        scaled += (-1 if i == 2 else 1) * middle * units / max(units - 1, 1)
    if options.pseudo_ties:
        scaled += _information_without_spread(data, inside, fit, options)
    covariance = parameters.bread @ scaled @ parameters.bread
    if len(codes) == 3:  # a difference of two matrices need not be a covariance
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return covariance, float(min(sizes) - 1), min(sizes)


def cluster_sizes(comparisons: CodedComparisons, system: int | None = None) -> Floats:
    """Comparisons, all or those of a system, of each cluster, of the factor whose clusters are worth less."""
    n, distinct = comparisons.n, comparisons.distinct
    if system is not None:
        n = n * ((distinct.system == system) | (distinct.opponent == system))[comparisons.row]
    return min(
        (np.bincount(comparisons.codes[c].code, n).astype(np.float64) for c in comparisons.clusters),
        key=effective_clusters,
    )


def _information_without_spread(data: Comparisons, inside: Mask, fit: StrengthFit, options: RankingOptions) -> Floats:
    """Information of the pseudo-ties, and of comparisons that one side always won: their scores do not vary."""
    parameters, size = fit.parameters, len(fit.strength)
    across = data._replace(counts=data.counts * ~inside[:, None])
    tau = parameters.tau if math.isfinite(parameters.tau) else 0.0
    information = -paired_comparisons.derivatives(fit.model, across, parameters.beta, parameters.gamma, tau)[2]
    if fit.model == "bradley-terry":
        information[-1] = information[:, -1] = 0.0
    p = 0.5 * (1 + np.tanh(parameters.beta / 2))
    information[np.arange(size), np.arange(size)] += options.pseudo_ties * p * (1 - p)
    return information
