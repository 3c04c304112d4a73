"""Columns of a design: finite, and none a combination of those before it."""

from __future__ import annotations

import numpy as np

from judgestats.errors import DesignError
from judgestats.typing import Floats

#: A column whose part outside the span of those before it is shorter than this, by its own length, is aliased (R's).
TOLERANCE = 1e-7


def independent(X: Floats) -> list[int]:
    """Positions of the columns of `X` (N, p) that are not linear combinations of earlier ones: those that R keeps."""
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


def _clearly_full(scaled: Floats) -> bool:
    """Whether a Cholesky factor of the cross-product is clear."""
    try:
        factor = np.linalg.cholesky(scaled.T @ scaled)
    except np.linalg.LinAlgError:
        return False
    return bool((np.diagonal(factor) > 1e-3).all())


def finite(values: Floats, what: str) -> Floats:
    """Return the values, or raise a DesignError that says how many are not finite."""
    wrong = int((~np.isfinite(values)).sum())
    if wrong:
        raise DesignError(
            f"{what} is infinite or undefined in {wrong:,} distinct rows: a logarithm or a division of 0, or a scale "
            "of a constant. Exclude these rows, or change the term."
        )
    return values
