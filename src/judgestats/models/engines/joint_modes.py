"""Random effects from another library, with their joint covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class Modes:
    """Random effects and a joint covariance."""

    modes: tuple[Floats, ...]  # (levels, k)
    covariances: tuple[Floats, ...]  # (k, k): of each term, for new levels
    joint: Floats  # (p + q, p + q): covariance of β and b, term by term, level by level
    conditional: Floats  # (q, q): covariance of b given β
    p: int  # number of fixed effects

    def _first(self, t: int) -> int:
        return sum(m.size for m in self.modes[:t])

    @property
    def spreads(self) -> tuple[Floats, ...]:
        """For each term (levels, k, k): covariance given the parameters."""
        result = []
        for t, mode in enumerate(self.modes):
            levels, k = mode.shape
            place = self._first(t) + np.arange(levels)[:, None] * k + np.arange(k)
            result.append(self.conditional[place[:, :, None], place[:, None, :]])
        return tuple(result)

    def variance(self, X: Floats, zs: list[Floats], codes: list[Ints]) -> Floats:
        """Variance (M,) of x'β + z'b; a code of -1 is a new level."""
        load = np.zeros((len(X), len(self.joint)))
        load[:, : self.p] = X
        new = np.zeros(len(X))
        for t, (z, code) in enumerate(zip(zs, codes, strict=True)):
            old = np.flatnonzero(code >= 0)
            for c in range(z.shape[1]):
                load[old, self.p + self._first(t) + code[old] * z.shape[1] + c] = z[old, c]
            new += np.where(code < 0, np.einsum("mi,ij,mj->m", z, self.covariances[t], z), 0.0)
        return np.asarray(np.einsum("mi,ij,mj->m", load, self.joint, load) + new, float)
