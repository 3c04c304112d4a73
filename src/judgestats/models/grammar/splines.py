"""Bases of smooth curves, without a penalty: ``cr`` (natural cubic), ``cc`` (cyclic cubic) and ``tp`` (thin plate).

Each remembers the knots of the rows first seen. With an intercept a basis spans what mgcv's of the same name spans.

Source: Wood 2017, Generalized Additive Models, 2nd ed., sections 5.3.1, 5.3.2 and 5.5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgestats.typing import Floats


@dataclass
class Cubic:
    """``cr(x, df=4)``, as R's ``splines::ns``, or ``cc(x, df=4)``, equal at both ends; or with inner ``knots``."""

    cyclic: bool = False
    knots: Floats | None = None  # those at the ends included

    def __call__(self, x: Floats, df: int | None = None, knots: Sequence[float] | None = None) -> Floats:
        """(N, df) columns; a natural spline goes on straight beyond its ends, a cyclic one repeats."""
        from scipy.interpolate import CubicSpline

        if self.knots is None:
            self.knots = _ends_and_inner(x, df, knots, 1 + self.cyclic)
        at, low, high = self.knots, self.knots[0], self.knots[-1]
        values = np.eye(len(at))
        if self.cyclic:
            values = np.vstack([values[:-1], values[0]])[:, :-1]
            return np.asarray(CubicSpline(at, values, bc_type="periodic")(low + (x - low) % (high - low))[:, 1:], float)
        curve = CubicSpline(at, values, bc_type="natural")
        inside = np.clip(x, low, high)
        return np.asarray((curve(inside) + curve(inside, 1) * (x - inside)[:, None])[:, 1:], float)


@dataclass
class ThinPlate:
    """``tp(x, df=4)``: the least wiggly curves of that many dimensions."""

    centres: Floats | None = None
    weights: Floats | None = None  # (centres, df - 1)

    def __call__(self, x: Floats, df: int | None = None) -> Floats:
        """(N, df) columns, the last of them x."""
        if self.centres is None:
            self.centres = np.unique(x)
            if df is None or not 1 <= df < len(self.centres):
                raise ValueError(f"tp() needs df=, from 1 to {len(self.centres) - 1} (fewer than the distinct values)")
            size, axes = np.linalg.eigh(np.abs(self.centres[:, None] - self.centres) ** 3)
            largest = axes[:, np.argsort(-np.abs(size), kind="stable")[: df + 1]]
            straight = np.column_stack([np.ones(len(self.centres)), self.centres])
            free = np.linalg.qr((straight.T @ largest).T, mode="complete")[0][:, 2:]
            self.weights = largest @ free
        bent = np.abs(x[:, None] - self.centres) ** 3 @ self.weights
        return np.column_stack([bent, x])


def _ends_and_inner(x: Floats, df: int | None, knots: Sequence[float] | None, lost: int) -> Floats:
    """Knots at the ends, and inner ones as given or at quantiles; `lost`: ends that add no column."""
    if (df is None) == (knots is None):
        raise ValueError("give df= or knots=, one of them")
    low, high = float(np.min(x)), float(np.max(x))
    inner = np.sort(np.atleast_1d(np.asarray([] if knots is None else knots, float)))
    if df is not None:
        inner = np.quantile(x, np.linspace(0, 1, df + lost)[1:-1])
    ends = np.unique(np.concatenate([[low], inner, [high]]))
    if len(ends) < len(inner) + 2 or ends[0] < low or ends[-1] > high:
        raise ValueError("the knots are not distinct, or not within the values")
    return ends
