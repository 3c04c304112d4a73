"""p-values adjusted for several tests."""

from __future__ import annotations

import numpy as np

from judgestats.typing import Floats


def holm(p: Floats) -> Floats:
    """Adjusted p-values (M,) of M tests; statsmodels' own are the same, but it collects all garbage first.

    Holm, S. (1979). Scandinavian Journal of Statistics 6, 65-70.
    """
    order = np.argsort(p)
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return adjusted
