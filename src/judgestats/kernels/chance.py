"""Agreement of judges corrected for chance: Gwet's and Fleiss's of all judges, Cohen's of many tables at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.coincidence import Units

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


class Chance(NamedTuple):
    """Agreement of many judges corrected for chance.

    Attributes
    ----------
    estimate, std_error : float
    observed, expected : float
        Share of agreement, and what of it is chance.
    influence : (Q,) float array
        Of one more unit of each pattern, of mean 0 over the units.
    """

    estimate: float
    std_error: float
    observed: float
    expected: float
    influence: Floats


def agreement_parts(units: Units, weights: Floats) -> tuple[Floats, Floats]:
    """Share of agreeing pairs of judges in each unit, and the shares of the answers.

    Parameters
    ----------
    units : Units
        Of Q patterns.
    weights : (m, m) float array
        Agreement weights, 1 on the diagonal.

    Returns
    -------
    agreement : (Q,) float array
        0 where fewer than two judges answered.
    shares : (Q, m) float array
        Of the judges who answered; 0 where none did.
    """
    counts = np.zeros((units.start.size - 1, len(weights)))
    counts[units.pattern, units.code] = units.times
    judges = counts.sum(axis=1)
    pairs = (counts * (counts @ weights.T - 1)).sum(axis=1)
    agreement = np.where(judges >= 2, pairs / np.maximum(judges * (judges - 1), 1), 0.0)
    return agreement, counts / np.maximum(judges, 1)[:, None]


def chance_agreement(shares: Floats, weights: Floats, coefficient: str) -> Floats:
    """Agreement by chance: Gwet's, or Fleiss's.

    Parameters
    ----------
    shares : (..., m) float array
        Of the answers, over all units.
    weights : (m, m) float array
    coefficient : {'gwet', 'fleiss'}

    Returns
    -------
    (...) float array
    """
    m = len(weights)
    if coefficient == "gwet":
        if m < 2:
            return np.ones(shares.shape[:-1])
        result: Floats = weights.sum() * (shares * (1 - shares)).sum(axis=-1) / (m * (m - 1))
        return result
    fleiss: Floats = ((shares @ weights) * shares).sum(axis=-1)
    return fleiss


def chance_corrected(units: Units, n: Floats, weights: Floats, coefficient: str) -> Chance:
    """Gwet's AC1 (AC2), or Fleiss's kappa, with the standard error over units.

    Parameters
    ----------
    units : Units
        Each with an answer at least.
    n : (Q,) float array
        How many units show each pattern.
    weights : (m, m) float array
        Agreement weights, 1 on the diagonal.
    coefficient : {'gwet', 'fleiss'}

    Returns
    -------
    Chance
        NaN where chance agreement is complete, or no unit has two answers; a standard error of NaN for one unit.

    References
    ----------
    Gwet, K. L. (2008). British Journal of Mathematical and Statistical Psychology 61, 29-48; with missing ratings:
    Gwet (2014), Handbook of Inter-Rater Reliability, 4th edition, Chapter 5.
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


def weighted_kappa(totals: Floats, row: Ints, column: Ints, weights: Floats) -> Floats:
    """Cohen's kappa of many tables, each given by the same cells.

    Parameters
    ----------
    totals : (B, P) float array
        Counts in P cells of B tables.
    row, column : (P,) int arrays
        Where in the table each cell lies.
    weights : (m, m) float array
        Agreement weights, 1 on the diagonal.

    Returns
    -------
    (B,) float array
        NaN where chance agreement is complete, or the table is empty.
    """
    m = len(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = totals / totals.sum(axis=1, keepdims=True)
        one, two = (shares @ np.eye(m)[i] for i in (row, column))
        expected = ((one @ weights) * two).sum(axis=1)
        observed = shares @ weights[row, column]
        kappa: Floats = (observed - expected) / np.where(expected > 1 - 1e-12, np.nan, 1 - expected)
    return kappa
