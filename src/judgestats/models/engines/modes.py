"""Random effects as another library reports them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Modes:
    """Random effects and a joint covariance.

    Attributes
    ----------
    modes : tuple of (levels, k) float arrays
    covariances : tuple of (k, k) float arrays
        Of each term, for new levels.
    joint : (p + q, p + q) float array
        Covariance of β and b, term by term, level by level.
    given : (q, q) float array
        Covariance of b where β is known.
    p : int
        Fixed effects.
    """

    modes: tuple[Floats, ...]
    covariances: tuple[Floats, ...]
    joint: Floats
    given: Floats
    p: int

    def _first(self, t: int) -> int:
        return sum(m.size for m in self.modes[:t])

    @property
    def spreads(self) -> tuple[Floats, ...]:
        """For each term (levels, k, k): covariance given the parameters."""
        result = []
        for t, own in enumerate(self.modes):
            levels, k = own.shape
            place = self._first(t) + np.arange(levels)[:, None] * k + np.arange(k)
            result.append(self.given[place[:, :, None], place[:, None, :]])
        return tuple(result)

    def variance(self, X: Floats, zs: list[Floats], codes: list[Ints]) -> Floats:
        """Variance of x'β + z'b.

        Parameters
        ----------
        X : (M, p) float array
        zs : list of (M, k) float arrays
        codes : list of (M,) int arrays
            -1 is a new level.

        Returns
        -------
        (M,) float array
        """
        load = np.zeros((len(X), len(self.joint)))
        load[:, : self.p] = X
        new = np.zeros(len(X))
        for t, (z, code) in enumerate(zip(zs, codes, strict=True)):
            known = np.flatnonzero(code >= 0)
            for c in range(z.shape[1]):
                load[known, self.p + self._first(t) + code[known] * z.shape[1] + c] = z[known, c]
            new += np.where(code < 0, np.einsum("mi,ij,mj->m", z, self.covariances[t], z), 0.0)
        return np.asarray(np.einsum("mi,ij,mj->m", load, self.joint, load) + new, float)
