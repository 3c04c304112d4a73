"""Random effects of every level at the estimates, and their joint covariance with the fixed effects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgestats.kernels.elimination import Structure, invert, solve_many
from judgestats.models.likelihood.compression import Columns
from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class ConditionalEffects:
    """Random effects given the parameters. q columns, p fixed effects."""

    columns: Columns
    layout: Structure
    flat: Floats  # factor of H
    u: Floats  # (q,): spherical modes
    factors: tuple[Floats, ...]  # (k, k): Λ of each term, on the scale of the linear predictor
    pull: Floats  # (q, p): H⁻¹ Λ'Z'WX: how the modes of u move with β
    beta_covariance: Floats  # (p, p)

    def _own(self, t: int) -> Ints:
        """Columns of term t, level by level."""
        return np.column_stack([self.columns.of(t, c) for c in range(self.columns.sizes[t])])

    @property
    def modes(self) -> tuple[Floats, ...]:
        """For each term (levels, k): conditional modes."""
        return tuple(self.u[self._own(t)] @ L.T for t, L in enumerate(self.factors))

    @property
    def spreads(self) -> tuple[Floats, ...]:
        """For each term (levels, k, k): conditional covariance given the parameters."""
        s = self.layout
        inverse = invert(s, self.flat)
        result = []
        for t, L in enumerate(self.factors):
            own = self._own(t)
            block = np.empty((len(own), len(L), len(L)))
            for a in range(len(L)):
                for b in range(a + 1):
                    block[:, a, b] = block[:, b, a] = inverse[self._flat(own[:, b], own[:, a])]
            result.append(L @ block @ L.T)
        return tuple(result)

    def _flat(self, low: Ints, high: Ints) -> Ints:
        """Flat places of entries (high, low) of H."""
        s, entries, tail = self.layout, int(self.layout.start[self.layout.s]), self.layout.q - self.layout.s
        place = np.empty(len(low), np.int64)
        dense = low >= s.s
        place[dense] = entries + s.s + (high[dense] - s.s) * tail + (low[dense] - s.s)
        for i in np.flatnonzero(~dense):
            j, k = int(low[i]), int(high[i])
            own = s.rows[s.start[j] : s.start[j + 1]]
            place[i] = entries + j if j == k else s.start[j] + np.searchsorted(own, k)
        return place

    def pooled_variance(self, X: Floats, zs: list[Floats], codes: list[Ints], pool: Floats) -> Floats:
        """Variance (G,) of sums of x'β + z'b over rows, weighted by `pool` (G, M), given θ; as :meth:`variance`."""
        load, new = np.zeros((self.layout.q, len(pool))), np.zeros(len(pool))
        for t, L in enumerate(self.factors):
            zl, old = zs[t] @ L, codes[t] >= 0
            own = self._own(t)[codes[t][old]]
            for c in range(L.shape[1]):
                np.add.at(load, own[:, c], (pool[:, old] * zl[old, c]).T)
            new += pool[:, ~old] ** 2 @ (zl[~old] ** 2).sum(axis=1)
        moved = pool @ X - load.T @ self.pull
        spread = (load * solve_many(self.layout, self.flat, load)).sum(axis=0)
        result: Floats = new + spread + np.einsum("mi,ij,mj->m", moved, self.beta_covariance, moved)
        return result

    def variance(self, X: Floats | None, zs: list[Floats], codes: list[Ints]) -> Floats:
        """Variance (M,) of x'β + z'b, given θ; without X given β too; the code -1 has the term's own variance."""
        M, q = len(codes[0]), self.layout.q
        result = np.zeros(M)
        for first in range(0, M, 512):
            part = slice(first, min(first + 512, M))
            load = np.zeros((q, part.stop - first))
            for t, L in enumerate(self.factors):
                zl, code = zs[t][part] @ L, codes[t][part]
                old = np.flatnonzero(code >= 0)
                own = self._own(t)[code[old]]
                for c in range(L.shape[1]):
                    np.add.at(load, (own[:, c], old), zl[old, c])
                result[part] += np.where(code < 0, (zl**2).sum(axis=1), 0.0)
            s = self.layout
            spread = (load * solve_many(s, self.flat, load)).sum(axis=0)
            result[part] += spread
            if X is not None:
                moved = X[part] - load.T @ self.pull
                result[part] += np.einsum("mi,ij,mj->m", moved, self.beta_covariance, moved)
        return result
