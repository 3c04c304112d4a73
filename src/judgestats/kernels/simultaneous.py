"""Critical values for several contrasts of the same clusters at once, and the ranks that they leave possible."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from scipy.special import chdtr, stdtrit

from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.compiling import njit
from judgestats.typing import Floats, Ints

#: Draws for a critical value, and the largest number of contrasts that are drawn jointly.
DRAWS, MOST = 10_000, 2_000


def max_t(influence: Floats, df: float, rng: np.random.Generator, conf_level: float = CONF_LEVEL) -> float:
    """Critical value c of the largest |t| of K contrasts: with probability `conf_level` none exceeds c if all are 0.

    `influence` (G, K): what each cluster contributes to the error of each contrast, drawn as a multivariate t with its
    correlations; of more than 2,000 contrasts Bonferroni's. Hothorn, T., Bretz, F., Westfall, P. (2008), Biometrical
    Journal 50, 346-363.
    """
    size = np.sqrt((influence**2).sum(axis=0))
    scaled = influence.T[size > 0] / size[size > 0, None]
    k = len(scaled)
    largest = np.full(DRAWS, np.inf)
    if 1 < k <= MOST:
        factors = [scaled.T] if scaled.shape[1] <= k else _root(scaled @ scaled.T)  # no more draws than contrasts
        for start in range(0, DRAWS, 500):
            contrasts = reduce(np.matmul, factors, rng.standard_normal((500, len(factors[0]))))
            largest[start : start + 500] = np.abs(contrasts).max(axis=1)
    return _critical(largest, k, df, conf_level)


def max_t_of_pairs(covariance: Floats, df: float, rng: np.random.Generator, conf_level: float = CONF_LEVEL) -> float:
    """Critical value of the largest |t| of the differences of all pairs of K estimates, as :func:`max_t`."""
    error = errors_of_differences(covariance)
    precision = np.divide(1.0, error, out=np.zeros_like(error), where=error > 0)
    root = np.matmul(*_root(covariance))
    largest = np.zeros(DRAWS)
    for start in range(0, DRAWS, 200):
        _widest_gaps(root @ rng.standard_normal((200, len(root))).T, precision, largest[start : start + 200])
    return _critical(largest, int((error > 0).sum()) // 2, df, conf_level)


@njit(cache=True)
def _widest_gaps(noise: Floats, precision: Floats, largest: Floats) -> None:
    """Put the largest of all pairs of rows of each column into `largest`."""
    for i in range(1, len(noise)):
        for j in range(i):
            for draw in range(largest.size):
                gap = abs(noise[j, draw] - noise[i, draw]) * precision[j, i]
                if gap > largest[draw]:
                    largest[draw] = gap


def _root(covariance: Floats) -> list[Floats]:
    """Factors (K, rank), (rank, K) of the symmetric square root, without the eigenvalues that are rounding.

    Of equal variances, other roots turn with the rounding, and the draws with them.
    """
    values, vectors = np.linalg.eigh(covariance)
    large = values > 1e-12 * values[-1]
    vectors = vectors[:, large]
    return [vectors, (vectors * np.sqrt(values[large])).T]


def _critical(largest: Floats, k: int, df: float, conf_level: float) -> float:
    """Value c that the largest |t| exceeds with probability 1 - `conf_level`, from draws `largest` of the numerator.

    Not below the value of one contrast, nor above Bonferroni's of `k`.
    """
    from scipy.optimize import brentq

    if df < 1:
        return math.nan
    alone, most = (float(stdtrit(df, 1 - (1 - conf_level) / (2 * n))) for n in (1, max(k, 1)))

    def excess(c: float) -> float:  # the variance is integrated, not drawn
        above = chdtr(df, df * (largest / c) ** 2) if math.isfinite(df) else largest > c
        return float(above.mean()) - (1 - conf_level)

    return alone if excess(alone) <= 0 else most if excess(most) >= 0 else float(brentq(excess, alone, most))


def errors_of_differences(covariance: Floats) -> Floats:
    """Standard errors (K, K) of the differences of K estimates; rounding error counts as 0."""
    variance = np.diag(covariance)
    squared = variance[:, None] + variance - 2 * covariance
    return np.sqrt(np.where(squared > 1e-12 * (variance[:, None] + variance), squared, 0.0))


def rank_sets(estimate: Floats, covariance: Floats, critical: Floats | float) -> tuple[Ints, Ints]:
    """Ranks that each system may have: 1 + the number significantly better, and K - the number significantly worse.

    Al Mohamad, D., Goeman, J. J., van Zwet, E. W. (2022). Simultaneous confidence intervals for ranks with application
    to ranking institutions. Biometrics 78, 238-247.
    """
    error = errors_of_differences(covariance)
    with np.errstate(invalid="ignore"):
        better = (estimate - estimate[:, None]) > critical * error
    better &= error > 0
    return 1 + better.sum(axis=1), len(estimate) - better.sum(axis=0)
