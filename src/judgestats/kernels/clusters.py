"""How many clusters unequal ones are worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def effective_clusters(n: NDArray[np.float64], alike: NDArray[np.float64] | float = 1.0) -> float:
    """How many clusters of equal size a number of unequal ones is worth: (Σn)²/Σn².

    `n` (G,): their sizes. `alike` (G,): for how many clusters each stands. The variance of a mean by clusters that are
    all alike within is that of so many.

    Carter, A. V., Schnepel, K. T., Steigerwald, D. G. (2017). Review of Economics and Statistics 99, 698-709.

    >>> effective_clusters(np.array([10.0, 10.0, 10.0])), effective_clusters(np.array([28.0, 1.0, 1.0]))
    (3.0, 1.14...)
    """
    squares = float((alike * n**2).sum())
    return float((alike * n).sum()) ** 2 / squares if squares > 0 else 0.0
