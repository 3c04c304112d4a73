"""Fits of strengths to coded comparisons: which are finite, and the ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judgestats.kernels import comparison_graphs, paired_comparisons
from judgestats.kernels.paired_comparisons import LOSS, TIE, WIN, Comparisons, Model, Strengths
from judgestats.metrics.ranking.coded_comparisons import CodedComparisons, RankingOptions
from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class StrengthFit:
    """Strengths of one set of counts, and which are finite; arrays (K,)."""

    model: Model
    parameters: Strengths
    component: Ints  # as `maximum` from :func:`limits`
    maximum: Floats
    limit: Floats  # `maximum`, or 0 where there are pseudo-ties
    strength: Floats  # infinite or NaN where there is no finite maximum; its mean, or the reference, is 0
    place: Floats  # the same before that shift, rounded, so that systems with equal counts have equal ranks
    shift: Floats  # (K, K): from the parameters to the finite strengths


def strength_fit(
    systems: list[str],
    data: Comparisons,
    options: RankingOptions,
    pseudo_ties: float | None = None,
    start: Strengths | None = None,
) -> StrengthFit:
    """Fit to these counts; `start`: where the search begins."""
    size = len(systems)
    pseudo_ties = options.pseudo_ties if pseudo_ties is None else pseudo_ties
    decided = data.counts[:, WIN].sum() + data.counts[:, LOSS].sum()
    model: Model = "bradley-terry"
    if options.ties in ("davidson", "rao-kupper") and data.counts[:, TIE].any() and decided:
        model = options.ties
    main = None if options.reference is None else systems.index(options.reference)
    component, maximum = comparison_graphs.limits(*wins_and_ties(data, size), main, tied=model != "bradley-terry")
    limit = np.zeros(size) if pseudo_ties else maximum
    if not pseudo_ties:
        inside = component[data.system] == component[data.opponent]
        data = data._replace(counts=data.counts * inside[:, None])
        if not (data.counts[:, TIE].any() and data.counts[:, :TIE].any()):
            model = "bradley-terry"
    warm = start if start is not None and math.isfinite(start.tau) == (model != "bradley-terry") else None
    parameters = paired_comparisons.strengths(model, data, component.astype(np.int64), pseudo_ties, warm)
    if not parameters.converged and warm is not None:
        parameters = paired_comparisons.strengths(model, data, component.astype(np.int64), pseudo_ties)
    inside = limit == 0
    shift = np.eye(size)
    if main is not None:
        shift[:, main] -= 1
    elif inside.any():
        shift[:, inside] -= 1 / inside.sum()
    strength = np.where(inside, shift @ parameters.beta, limit)
    place = np.where(inside, parameters.beta.round(9), limit)
    return StrengthFit(model, parameters, component, maximum, limit, strength, place, shift)


def wins_and_ties(data: Comparisons, size: int) -> tuple[Floats, Floats]:
    """Wins of the row over the column, and ties."""
    wins, ties = np.zeros((2, size, size))
    np.add.at(wins, (data.system, data.opponent), data.counts[:, WIN])
    np.add.at(wins, (data.opponent, data.system), data.counts[:, LOSS])
    np.add.at(ties, (data.system, data.opponent), data.counts[:, TIE])
    return wins, ties + ties.T


def ranks_of(comparisons: CodedComparisons, fit: StrengthFit) -> Floats:
    """Rank of each system; NaN for infinite strengths whose order with another system is unknown."""
    place = fit.place
    above = place > place[:, None]
    unknown = np.isnan(place) | np.isnan(place[:, None])
    if unknown.any():
        won = comparison_graphs.reached_by_wins(*wins_and_ties(comparisons.counted(comparisons.n), len(place)))
        above |= unknown & won.T & ~won
        unknown &= (won == won.T) & ~np.isfinite(place)[:, None]
        np.fill_diagonal(unknown, val=False)
    return np.where(unknown.any(axis=1), math.nan, 1.0 + above.sum(axis=1))
