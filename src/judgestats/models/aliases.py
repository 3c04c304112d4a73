"""Columns of a design that say nothing new."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: A column whose part outside the span of those before it is shorter than this, by its own length, is aliased (R's).
TOLERANCE = 1e-7


def independent(X: NDArray[np.float64]) -> list[int]:
    """Positions of the columns that are no combination of those before them, as R keeps them.

    Parameters
    ----------
    X : (N, p) array
        Finite values.

    Returns
    -------
    list of int

    Examples
    --------
    >>> independent(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]))
    [0, 1]
    """
    length = np.sqrt((X**2).sum(axis=0))
    scaled = X / np.where(length > 0, length, 1)
    if _clearly_full(scaled):
        return list(range(X.shape[1]))
    keep: list[int] = []
    basis = np.empty_like(scaled)
    for k in range(X.shape[1]):
        Q = basis[:, : len(keep)]
        rest = scaled[:, k] - Q @ (Q.T @ scaled[:, k])
        rest -= Q @ (Q.T @ rest)  # twice is enough
        norm = float(np.sqrt(rest @ rest))
        if norm > TOLERANCE:
            basis[:, len(keep)] = rest / norm
            keep.append(k)
    return keep


def _clearly_full(scaled: NDArray[np.float64]) -> bool:
    """Whether a Cholesky factor of the cross-product leaves no doubt."""
    try:
        factor = np.linalg.cholesky(scaled.T @ scaled)
    except np.linalg.LinAlgError:
        return False
    return bool((np.diagonal(factor) > 1e-3).all())
