"""How many clusters unequal ones are worth."""

from __future__ import annotations

from judgestats.typing import Floats


def effective_clusters(n: Floats, alike: Floats | float = 1.0) -> float:
    """How many clusters of equal size are worth those of sizes `n` (G,), `alike` of each: (Σn)²/Σn².

    Carter, A. V., Schnepel, K. T., Steigerwald, D. G. (2017). Review of Economics and Statistics 99, 698-709.
    """
    squares = float((alike * n**2).sum())
    return float((alike * n).sum()) ** 2 / squares if squares > 0 else 0.0
