"""Critical values for several contrasts of the same clusters at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtr, stdtrit

from judgestats.defaults import CONF_LEVEL

Floats = NDArray[np.float64]
#: Draws for a critical value, and the largest number of contrasts that are drawn jointly.
DRAWS, MOST = 4_000, 2_000


def max_t(influence: Floats, df: float, rng: np.random.Generator, conf_level: float = CONF_LEVEL) -> float:
    """Critical value c of the largest |t| of K contrasts: with probability `conf_level` none exceeds c if all are 0.

    `influence` (G, K): what each cluster contributes to the error of each contrast. A contrast to which none
    contributes is no part of the family. `df`: degrees of freedom, G - 1. The contrasts are drawn as a multivariate t
    with the correlations of `influence`. With more than 2,000 contrasts, Bonferroni's value. Returns NaN for df < 1.

    Hothorn, T., Bretz, F., Westfall, P. (2008). Biometrical Journal 50, 346-363.
    """
    size = np.sqrt((influence**2).sum(axis=0))
    scaled = influence[:, size > 0] / size[size > 0]
    k = scaled.shape[1]
    if df < 1:
        return math.nan
    alone = float(stdtrit(df, 0.5 + conf_level / 2))
    if k <= 1:
        return alone
    most = float(stdtrit(df, 1 - (1 - conf_level) / (2 * k)))
    if k > MOST:
        return most
    largest = np.empty(DRAWS)
    for start in range(0, DRAWS, 500):
        drawn = rng.standard_normal((min(500, DRAWS - start), scaled.shape[0])) @ scaled
        largest[start : start + len(drawn)] = np.abs(drawn).max(axis=1)

    def excess(c: float) -> float:  # the variance is integrated, not drawn
        return float(chdtr(df, df * (largest / c) ** 2).mean()) - (1 - conf_level)

    return alone if excess(alone) <= 0 else most if excess(most) >= 0 else float(brentq(excess, alone, most))
