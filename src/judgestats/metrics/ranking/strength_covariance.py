"""Covariance of strengths: of the model, or a sandwich over clusters of calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgestats.kernels import clustered_scores, paired_comparisons
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.clustered_scores import degrees_of_freedom
from judgestats.kernels.paired_comparisons import Comparisons
from judgestats.metrics.ranking.coded_comparisons import CodedComparisons, RankingOptions
from judgestats.metrics.ranking.strength_fits import StrengthFit
from judgestats.schema.coding import Codes, combine
from judgestats.typing import Floats, Mask

#: Clusters with less of the information than of this many parameters are not decomposed: leverages taken as alike.
_SIZEABLE = 0.05
#: Scores that cancel leave up to 1e-10 in a strength.
_ROUNDING = 1e-20


class _Factor(NamedTuple):
    """How the information is spread over the clusters of one factor."""

    sizeable: Floats  # (G, Q, Q): bread times the information of clusters with a sizeable part of it, times bread
    others: Floats  # of each of the others, in parameters


@dataclass(frozen=True)
class StrengthCovariance:
    """Covariance of all parameters, with its degrees of freedom."""

    matrix: Floats  # (Q, Q)
    bread: Floats
    units: int  # the number of clusters; 0: of the model
    factors: list[_Factor]  # empty where calls are independent

    def df(self, contrasts: Floats) -> Floats:
        """Degrees of freedom of contrasts (R, Q)."""

        def squares(matrix: Floats) -> Floats:
            return np.asarray(((contrasts @ matrix) * contrasts).sum(axis=-1))

        return self._degrees(squares, len(contrasts))

    def df_of_pairs(self, size: int) -> Floats:
        """Degrees of freedom (K, K) of the differences of the first `size` parameters."""

        def squares(matrix: Floats) -> Floats:
            variance = np.diagonal(matrix, axis1=-2, axis2=-1)[..., :size]
            return np.asarray(variance[..., None] + variance[..., None, :] - 2 * matrix[..., :size, :size])

        return self._degrees(squares, size, size)

    def _degrees(self, squares: Callable[[Floats], Floats], *shape: int) -> Floats:
        if not self.factors:
            return np.full(shape, self.units - 1.0 if self.units else math.inf)
        variance = squares(self.bread)
        precision = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)
        step = max(1, 1_000_000 // self.bread.size)
        degrees = []
        for sizeable, others in self.factors:
            parts = (sizeable[i : i + step] for i in range(0, len(sizeable), step))
            degrees.append(degrees_of_freedom((squares(p) * precision for p in parts), others))
        return np.broadcast_to(np.minimum(np.min(degrees, axis=0), self.units - 1.0), shape)


def covariance_of(comparisons: CodedComparisons, fit: StrengthFit, options: RankingOptions) -> StrengthCovariance:
    """Covariance of all parameters: of the model, or of clusters, corrected for their leverage (CR2)."""
    parameters, bread = fit.parameters, fit.parameters.bread
    if options.interval == "model":
        return StrengthCovariance(bread, bread, 0, [])
    data = comparisons.counted(comparisons.n)
    inside = fit.component[data.system] == fit.component[data.opponent]
    n = comparisons.n * inside[comparisons.row]
    codes = [comparisons.codes[c] for c in comparisons.clusters]
    if len(codes) == 2:
        codes.append(combine([(c.code, c.size) for c in codes], comparisons.n.size))
    factors = []
    if codes and np.isfinite(bread).all():
        scaled = np.zeros_like(bread)
        for i, code in enumerate(codes):
            middle, factor = _clustered(comparisons, data, fit, n, code)
            scaled += -middle if i == 2 else middle
            factors.append(factor)
    else:
        calls = round(float(comparisons.n.sum()))
        middle = paired_comparisons.meat(fit.model, data, parameters, comparisons.row, comparisons.outcome, n)
        scaled = middle * calls / max(calls - 1, 1)
    units = min([c.size for c in codes] or [round(float(comparisons.n.sum()))])
    if options.pseudo_ties:
        scaled += _information_without_spread(data, inside, fit, options)
    covariance = bread @ scaled @ bread
    if len(codes) == 3:  # a difference of two matrices need not be a covariance
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return StrengthCovariance(without_rounding(covariance), bread, units, factors[:2])


def without_rounding(covariance: Floats) -> Floats:
    """The covariance, with variances that are rounding errors of 0 set to 0."""
    return np.where(np.abs(covariance) <= _ROUNDING, 0.0, covariance)


def _clustered(
    comparisons: CodedComparisons, data: Comparisons, fit: StrengthFit, n: Floats, codes: Codes
) -> tuple[Floats, _Factor]:
    """Middle of the sandwich by clusters."""
    parameters, row, outcome = fit.parameters, comparisons.row, comparisons.outcome
    cluster, tau = codes.code.astype(np.int64), parameters.tau if math.isfinite(parameters.tau) else 0.0
    of_calls = n * paired_comparisons.leverages(fit.model, data, parameters, row, outcome)
    trace = np.bincount(cluster, of_calls, codes.size).astype(np.float64)
    free = max(int((np.diag(parameters.bread) > 0).sum()), 1)
    sizeable = trace > min(_SIZEABLE, free / 500)
    inflation = np.where(sizeable, 0.0, 1.0 / np.sqrt(np.maximum(1.0 - trace / free, 0.5)))
    middle = paired_comparisons.meat(fit.model, data, parameters, row, outcome, n * inflation[cluster], cluster)
    score, information = [], []
    calls = np.flatnonzero(sizeable[cluster] & (n > 0))
    calls = calls[np.argsort(cluster[calls], kind="stable")]
    for part in np.split(calls, np.flatnonzero(np.diff(cluster[calls])) + 1) if calls.size else []:
        counts, rows = np.zeros((part.size, 3)), row[part]
        counts[np.arange(part.size), outcome[part]] = n[part]
        own = Comparisons(data.system[rows], data.opponent[rows], data.extra[rows], counts)
        _, gradient, hessian = paired_comparisons.derivatives(fit.model, own, parameters.beta, parameters.gamma, tau)
        score.append(gradient)
        information.append(-hessian)
    if not calls.size:
        return middle, _Factor(np.zeros((0, *middle.shape)), trace)
    whole = np.array(information)
    middle += clustered_scores.middle(parameters.bread, np.array(score), whole)
    return middle, _Factor(parameters.bread @ whole @ parameters.bread, trace[~sizeable])


def cluster_sizes(comparisons: CodedComparisons, system: int | None = None) -> Floats:
    """Comparisons (all, or of one system) per cluster of the factor with the smaller effective number of clusters."""
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
