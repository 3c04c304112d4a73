"""Agreement of all judges corrected for chance: Gwet's and Fleiss's coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from judgestats.kernels.coincidences import Units
from judgestats.typing import Floats


class Chance(NamedTuple):
    """Agreement of many judges corrected for chance."""

    estimate: float
    std_error: float
    observed: float  # observed, expected: share of agreement, and what of it is chance
    expected: float
    influence: Floats  # (Q,): of one more unit of each pattern, of mean 0 over the units


def agreement_parts(units: Units, weights: Floats) -> tuple[Floats, Floats]:
    """Share of agreeing pairs of judges in each unit (Q,), 0 below two judges, and shares (Q, m) of the answers."""
    counts = _expanded(units, len(weights))
    judges = units.judges
    pairs = (counts * (counts @ weights.T - 1)).sum(axis=1)
    if units.repeats is not None:  # a judge's answers agree with each other in part only
        shares = _expanded(units.repeats.shares, len(weights))
        pairs += units.repeats.total(1 - (shares * (shares @ weights.T)).sum(axis=1), judges.size)
    agreement = np.where(judges >= 2, pairs / np.maximum(judges * (judges - 1), 1), 0.0)
    return agreement, counts / np.maximum(judges, 1)[:, None]


def _expanded(units: Units, answers: int) -> Floats:
    """How often each answer was given to each unit, (Q, m)."""
    counts = np.zeros((units.start.size - 1, answers))
    counts[units.pattern, units.code] = units.times
    return counts


def chance_agreement(shares: Floats, weights: Floats, coefficient: str) -> Floats:
    """Agreement by chance (...), Gwet's or Fleiss's, from the shares (..., m) of the answers over all units."""
    m = len(weights)
    if coefficient == "gwet":
        if m < 2:
            return np.ones(shares.shape[:-1])
        result: Floats = weights.sum() * (shares * (1 - shares)).sum(axis=-1) / (m * (m - 1))
        return result
    fleiss: Floats = ((shares @ weights) * shares).sum(axis=-1)
    return fleiss


def chance_corrected(units: Units, n: Floats, weights: Floats, coefficient: str) -> Chance:
    """Gwet's AC1 (AC2), or Fleiss's kappa, with the standard error over units; `n` (Q,): units of each pattern.

    NaN where chance agreement is complete, or no unit has two answers. Gwet, K. L. (2008). British Journal of
    Mathematical and Statistical Psychology 61, 29-48; with missing ratings: Gwet (2014), Handbook of Inter-Rater
    Reliability, Chapter 5.
    """
    agreement, shares = agreement_parts(units, weights)
    paired = units.judges >= 2
    total, more = n.sum(), n[paired].sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (n * agreement).sum() / more if more > 0 else np.nan
        margin = (n @ shares) / total if total > 0 else np.full(len(weights), np.nan)
        expected = chance_agreement(margin, weights, coefficient)
        apart = 1 - expected if expected < 1 - 1e-12 else np.nan
        estimate = (observed - expected) / apart
        if coefficient == "gwet":
            m = len(weights)
            own = weights.sum() / max(m * (m - 1), 1) * (shares @ (1 - margin))
        else:
            own = shares @ ((weights + weights.T) @ margin) / 2
        influence = (total / more) * (agreement - expected * paired) / apart if more > 0 else agreement * np.nan
        influence = influence - 2 * (1 - estimate) * (own - expected) / apart - estimate
        variance = (n * influence**2).sum() / (total * (total - 1)) if total > 1 else np.nan
    error = float(np.sqrt(variance))
    return Chance(float(estimate), error, float(observed), float(expected), influence)
