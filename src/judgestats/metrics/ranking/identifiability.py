"""Whether strengths, slot and covariates can be estimated: refusals of :func:`rank_systems`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from judgestats.errors import DesignError, suggestion
from judgestats.kernels import comparison_graphs, paired_comparisons
from judgestats.metrics.ranking.coded_comparisons import CodedComparisons, RankingOptions
from judgestats.metrics.ranking.strength_fits import StrengthFit

#: A column of the model that carries less than this share of its information has run to infinity.
_SEPARATED = 1e-6
_Key = Mapping[str, object]


def in_group(key: _Key, message: str) -> str:
    """A message that ends with the group it is about."""
    where = ", ".join(f"{k} {v}" for k, v in key.items())
    return f"{message[:-1]} (in {where})." if where else message


def refuse_incomparable(comparisons: CodedComparisons, options: RankingOptions, key: _Key) -> None:
    """Raise where systems cannot be compared, or a column of the model cannot be separated from the others."""
    systems, distinct = comparisons.systems, comparisons.distinct
    if options.reference is not None and options.reference not in systems:
        listed = ", ".join(systems[:12])
        hint = suggestion(options.reference, systems)
        raise DesignError(f"reference={options.reference!r} is not a system. Systems: {listed}.{hint}")
    met = np.zeros((len(systems), len(systems)), dtype=bool)
    met[distinct.system, distinct.opponent] = True
    piece = comparison_graphs.pieces(met)
    if piece.max() > 0:
        members = [[s for s, p in zip(systems, piece, strict=True) if p == q] for q in range(piece.max() + 1)]
        listed = "; ".join(", ".join(m[:8]) + (", ..." if len(m) > 8 else "") for m in members[:6])
        raise DesignError(
            in_group(
                key, f"The systems fall into {len(members)} groups that were never compared with each other: {listed}."
            )
            + " Rank each group by itself, or compare a system of one with a system of another.",
            problem=f"the systems fall into {len(members)} groups that were never compared with each other",
        )
    for column, name in enumerate(options.extra):
        values = distinct.extra[:, column] * comparisons.scale[column]
        if name != "slot" and np.ptp(values) == 0:
            raise DesignError(
                in_group(
                    key,
                    f"covariates={name!r} is {values[0]:g} in every call, so it has no effect to estimate. "
                    "Leave it out of covariates=.",
                )
            )
    if options.extra:
        _refuse_collinear(comparisons, options, key)


def _refuse_collinear(comparisons: CodedComparisons, options: RankingOptions, key: _Key) -> None:
    data, size = comparisons.counted(comparisons.n), len(comparisons.systems)
    gamma = np.zeros(len(options.extra))
    hessian = -paired_comparisons.derivatives("bradley-terry", data, np.zeros(size), gamma, 0.0)[2][1:-1, 1:-1]
    deviation = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    values, vectors = np.linalg.eigh(hessian / np.outer(deviation, deviation))
    if values[0] > 1e-9:
        return
    weight = np.abs(vectors[size - 1 :, values <= 1e-9]).max(axis=1)
    inseparable = [name for name, w in zip(options.extra, weight, strict=True) if w > 1e-4]
    raise DesignError(
        in_group(
            key,
            f"{' and '.join(inseparable)} cannot be separated from the systems or from each other: every call with one "
            "has the other. Leave one out of covariates=, or slot=False; a slot effect needs pairs in both orders.",
        )
    )


def refuse_separated(comparisons: CodedComparisons, fit: StrengthFit, options: RankingOptions, key: _Key) -> None:
    """Raise where slot and covariates predict the answers so well that they run to infinity."""
    parameters, size = fit.parameters, len(comparisons.systems)
    data = comparisons.counted(comparisons.n)
    for column, name in enumerate(options.extra):
        most = float((data.counts.sum(axis=1) * data.extra[:, column] ** 2).sum()) / 4
        variance = parameters.bread[size + column, size + column]
        if not (parameters.converged and variance * most < 1 / _SEPARATED):
            raise DesignError(
                in_group(
                    key,
                    f"{name} predicts the answers without error, together with the systems, so it has no finite "
                    f"estimate. Leave it out ({'slot=False' if name == 'slot' else 'covariates='}).",
                )
            )
