"""Cohen's kappa of two ratings of the same things, from tables, their margins or totals of many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from judgestats.typing import Floats, Integers, Mask


class Kappa(NamedTuple):
    """Kappa of a table, or of each of a stack of tables."""

    estimate: Floats  # kappa; NaN where chance agreement is complete, or the table is empty
    std_error: Floats  # asymptotic standard error
    null_error: Floats  # the same where kappa is 0: for a test, not for an interval


def cohen_kappa(table: ArrayLike, weights: ArrayLike | None = None) -> Kappa:
    """Cohen's kappa of tables (..., m, m), plain or by weights (m, m) of agreement, with asymptotic standard errors.

    Cohen, J. (1960). Educational and Psychological Measurement 20, 37-46. Fleiss, J. L., Cohen, J., Everitt, B. S.
    (1969). Psychological Bulletin 72, 323-327.
    """
    counts = np.asarray(table, dtype=float)
    w = np.eye(counts.shape[-1]) if weights is None else np.asarray(weights, dtype=float)
    n = counts.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts / n[..., None, None]
        rows, columns = p.sum(axis=-1), p.sum(axis=-2)
        observed = (w * p).sum(axis=(-2, -1))
        margin_sum = (columns @ w.T)[..., :, None] + (rows @ w)[..., None, :]
        expected = np.einsum("...i,ij,...j->...", rows, w, columns)
        apart = np.where(_complete(expected), np.nan, 1 - expected)
        spread = w * apart[..., None, None] - margin_sum * (1 - observed)[..., None, None]
        centre = observed * expected - 2 * expected + observed
        squares = (p * spread**2).sum(axis=(-2, -1))
        left = squares - centre**2
        variance = np.where(left <= 1e-14 * squares, 0.0, left) / (n * apart**4)  # of rounding: perfect agreement, say
        chance = rows[..., :, None] * columns[..., None, :]
        null = ((chance * (w - margin_sum) ** 2).sum(axis=(-2, -1)) - expected**2) / (n * apart**2)
        return Kappa((observed - expected) / apart, np.sqrt(variance), np.sqrt(np.maximum(null, 0.0)))


def _complete(expected: Floats) -> Mask:
    """Whether chance agreement is 1, up to rounding."""
    result: Mask = expected > 1 - 1e-12
    return result


def corrected(observed: Floats, expected: Floats) -> Floats:
    """Agreement beyond chance as a share of what there can be; NaN where chance agreement is complete."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa: Floats = (observed - expected) / np.where(_complete(expected), np.nan, 1 - expected)
    return kappa


def cell_agreement(totals: Floats, row: Integers, column: Integers, weights: Floats) -> tuple[Floats, Floats]:
    """Observed and expected agreement (B,) of B tables, given by totals (B, P) of cells at `row`, `column` (P,)."""
    m = len(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = totals / totals.sum(axis=1, keepdims=True)
    one, two = (shares @ np.eye(m)[i] for i in (row, column))
    return shares @ weights[row, column], ((one @ weights) * two).sum(axis=1)


def weighted_kappa(totals: Floats, row: Integers, column: Integers, weights: Floats) -> Floats:
    """Cohen's kappa (B,) of B tables as :func:`cell_agreement` takes them; NaN where undefined."""
    return corrected(*cell_agreement(totals, row, column, weights))


def kappa_sums(row: Integers, column: Integers, n: Floats, unit: Integers, size: int, weights: Floats) -> Floats:
    """Contribution of each of `size` units to the totals of :func:`agreement_of_sums`: (size, 2 + 2m).

    `row`, `column`, `n`, `unit` (R,): the two answers of each thing, how many there are of it, and its unit.
    """
    m = len(weights)
    scalars = [np.bincount(unit, x, size) for x in (n, n * weights[row, column])]
    margins = [np.bincount(unit * m + c, n, size * m).reshape(size, m) for c in (row, column)]
    return np.column_stack([*scalars, *margins]).astype(np.float64)


def agreement_of_sums(totals: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Observed and expected agreement (B,) of totals (B, 2 + 2m): things, agreement and the margins of both."""
    m = len(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = totals / totals[:, :1]
    one, two = shares[:, 2 : 2 + m], shares[:, 2 + m :]
    return shares[:, 1], ((one @ weights) * two).sum(axis=1)


def kappa_of_sums(totals: Floats, weights: Floats) -> Floats:
    """Cohen's kappa (B,) of totals as :func:`agreement_of_sums` takes them; NaN where undefined."""
    return corrected(*agreement_of_sums(totals, weights))


def kappa_of_all(agreement: Sequence[tuple[Floats, Floats]], coefficient: str) -> Floats:
    """Kappa (B,) of all judges from observed and expected agreement (B,) of each pair; pairs without one are left out.

    `coefficient`: ``light``, the mean of Cohen's, or ``conger``, of the mean observed and the mean expected agreement.
    """
    observed, expected = (np.array(side) for side in zip(*agreement, strict=True))
    each = corrected(observed, expected)
    there = np.isfinite(each)
    with np.errstate(invalid="ignore"):
        means = [np.where(there, x, 0.0).sum(axis=0) / there.sum(axis=0) for x in (each, observed, expected)]
    return np.asarray(means[0] if coefficient == "light" else corrected(means[1], means[2]), np.float64)
