"""Two ratings of the same things, crossed: Cohen's kappa from the table, or from its margins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Kappa(NamedTuple):
    """Kappa of a table, or of each of a stack of tables.

    Attributes
    ----------
    estimate : float array
        Kappa; NaN where chance agreement is complete, or the table is empty.
    std_error : float array
        Asymptotic standard error.
    null_error : float array
        The same where kappa is 0: for a test, not for an interval.
    """

    estimate: Floats
    std_error: Floats
    null_error: Floats


def cohen_kappa(table: ArrayLike, weights: ArrayLike | None = None) -> Kappa:
    """Cohen's kappa, plain or weighted, with its asymptotic standard errors.

    Parameters
    ----------
    table : (..., m, m) array_like
        Counts: the classes of one rater by those of the other. Leading axes are tables of their own.
    weights : (m, m) array_like, optional
        Agreement weights, 1 on the diagonal (linear: ``1 - |i - j| / (m - 1)``); without them the identity.

    Returns
    -------
    Kappa
        Of the shape of the leading axes. NaN where both raters use one class only (chance agreement is 1) and where
        the table is empty.

    References
    ----------
    Cohen, J. (1960). Educational and Psychological Measurement 20, 37-46. Fleiss, J. L., Cohen, J., Everitt, B. S.
    (1969). Psychological Bulletin 72, 323-327.

    Examples
    --------
    >>> result = cohen_kappa([[0, 4, 1], [0, 8, 0], [0, 1, 5]])
    >>> print(f"{result.estimate:.4f} {result.std_error:.4f} {result.null_error:.4f}")
    0.4842 0.1380 0.1484
    """
    counts = np.asarray(table, dtype=float)
    w = np.eye(counts.shape[-1]) if weights is None else np.asarray(weights, dtype=float)
    n = counts.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts / n[..., None, None]
        rows, columns = p.sum(axis=-1), p.sum(axis=-2)
        observed = (w * p).sum(axis=(-2, -1))
        lean = (columns @ w.T)[..., :, None] + (rows @ w)[..., None, :]
        expected = np.einsum("...i,ij,...j->...", rows, w, columns)
        apart = np.where(_complete(expected), np.nan, 1 - expected)
        spread = w * apart[..., None, None] - lean * (1 - observed)[..., None, None]
        centre = observed * expected - 2 * expected + observed
        variance = ((p * spread**2).sum(axis=(-2, -1)) - centre**2) / (n * apart**4)
        chance = rows[..., :, None] * columns[..., None, :]
        null = ((chance * (w - lean) ** 2).sum(axis=(-2, -1)) - expected**2) / (n * apart**2)
        return Kappa((observed - expected) / apart, np.sqrt(np.maximum(variance, 0.0)), np.sqrt(np.maximum(null, 0.0)))


def kappa_influence(table: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Influence on kappa of one more thing in each cell: for standard errors of things that come in clusters.

    Parameters
    ----------
    table : (m, m) array_like
        Counts.
    weights : (m, m) array_like, optional
        Agreement weights; plain kappa without.

    Returns
    -------
    (m, m) float array
        Of mean 0 over the things; its mean square, divided by their number, is the square of the standard error. NaN
        where chance agreement is complete.

    Examples
    --------
    >>> table = np.array([[0, 4, 1], [0, 8, 0], [0, 1, 5]])
    >>> n = table.sum()
    >>> print(f"{np.sqrt((table * kappa_influence(table) ** 2).sum()) / n:.4f}")
    0.1380
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.asarray(table, dtype=float) / np.sum(table)
        w = np.eye(len(p)) if weights is None else np.asarray(weights, dtype=float)
        rows, columns = p.sum(axis=1), p.sum(axis=0)
        observed, expected = (w * p).sum(), rows @ w @ columns
        apart = np.where(_complete(expected), np.nan, 1 - expected)
        lean = (w @ columns)[:, None] + (rows @ w)[None, :]
        centre = observed * expected - 2 * expected + observed
        influence: Floats = (w * apart - lean * (1 - observed) - centre) / apart**2
    return influence


def kappa_from_margins(agreement: ArrayLike, p: ArrayLike, q: ArrayLike) -> Floats:
    """Plain kappa where only the share of agreement and the margins are known.

    Parameters
    ----------
    agreement : (...) array_like
        Share of things that both put in the same class.
    p, q : (..., m) array_like
        Counts or shares of the m classes, as either rater uses them on the things compared.

    Returns
    -------
    float array
        Kappa; NaN where chance agreement is complete.

    References
    ----------
    Debiasing paper, Appendix D: Tables 1 and 3 give Table 6.

    Examples
    --------
    >>> print(f"{kappa_from_margins(284 / 400, [173, 162, 65], [158, 145, 97]):.3f}")
    0.549
    """
    one, two = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = one / one.sum(axis=-1, keepdims=True), two / two.sum(axis=-1, keepdims=True)
        expected = np.asarray((one * two).sum(axis=-1))
        apart = np.where(_complete(expected), np.nan, 1 - expected)
        kappa: Floats = (np.asarray(agreement, dtype=float) - expected) / apart
    return kappa


def _complete(expected: Floats) -> NDArray[np.bool_]:
    """Whether chance agreement is 1, but for rounding."""
    result: NDArray[np.bool_] = expected > 1 - 1e-12
    return result
