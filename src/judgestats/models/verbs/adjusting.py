"""p values and quantiles of several normal contrasts together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from judgestats.errors import DesignError

Floats = NDArray[np.float64]

ADJUSTMENTS = ("holm", "tukey", "dunnett", "bonferroni", "none")
#: Points of the lattice.
POINTS = 32749


def adjusted(statistic: Floats, adjust: str, conf_level: float, means: int, covariance: Floats) -> tuple[Floats, float]:
    """Adjusted p values of a family, and the quantile of its intervals.

    Parameters
    ----------
    statistic : (K,) float array
        NaN where it is not known; such a contrast is not of the family.
    adjust : {"holm", "tukey", "dunnett", "bonferroni", "none"}
        ``holm``: intervals by Bonferroni, for Holm's have no simultaneous ones.
    conf_level : float
    means : int
        Means that ``tukey`` compares pairwise.
    covariance : (K, K) float array
        Of the contrasts, for ``dunnett``.

    Returns
    -------
    p_value : (K,) float array
    quantile : float

    Examples
    --------
    >>> p, q = adjusted(np.array([3.0, 2.0]), "holm", 0.95, 3, np.eye(2))
    >>> p.round(4), round(q, 4)
    (array([0.0054, 0.0455]), 2.2414)
    """
    from scipy.stats import studentized_range

    z = np.abs(statistic)
    known = np.isfinite(z)
    p, k = 2 * ndtr(-z), int(known.sum())
    alpha = 1 - conf_level
    if k == 0:
        return p, float("nan")
    if adjust == "tukey":
        p[known] = studentized_range.sf(z[known] * np.sqrt(2), means, np.inf)
        return p, float(studentized_range.ppf(conf_level, means, np.inf) / np.sqrt(2))
    if adjust == "dunnett":
        own = covariance[np.ix_(known, known)]
        sd = np.sqrt(np.diag(own))
        inside = Inside.of(own / np.outer(sd, sd))
        p[known] = [min(max(1 - inside(v), 0.0), 1.0) for v in z[known]]
        # Bonferroni and the single contrast bound the quantile
        ends = (-ndtri(alpha / 2), -ndtri(alpha / (2 * k)) + 1e-9)
        return p, float(brentq(lambda v: inside(v) - conf_level, *ends, xtol=1e-10)) if k > 1 else float(ends[0])
    share = 1 if adjust == "none" else k
    if adjust == "bonferroni":
        p = np.minimum(p * k, 1.0)
    elif adjust == "holm":
        order = np.flatnonzero(known)[np.argsort(p[known], kind="stable")]
        p[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(k, 0, -1)), 1.0)
    return p, float(-ndtri(alpha / (2 * share)))


class Inside:
    """P(all |Z| <= v) of a multivariate normal Z with unit variances.

    Exact quadrature where the correlations are products λ_i λ_j (Dunnett's case), else Genz's integral over a lattice,
    good to about 1e-5.

    Source
    ------
    Genz 1992, Numerical computation of multivariate normal probabilities, J. Comp. Graph. Stat. 1, 141-149.
    """

    def __init__(self, correlation: Floats, loads: Floats | None) -> None:
        self.correlation, self.loads = correlation, loads
        if loads is None:
            self.factor = np.linalg.cholesky(correlation)
            primes = _primes(len(correlation))
            points = np.arange(1, POINTS + 1)[:, None] * np.sqrt(primes)[None] % 1.0
            self.points = np.abs(2 * points - 1)

    @classmethod
    def of(cls, correlation: Floats) -> Inside:
        """Choose the way for these correlations.

        Raises
        ------
        DesignError
            If one contrast follows from the others.
        """
        if len(correlation) > 1 and np.linalg.eigvalsh(correlation)[0] < 1e-9:
            raise DesignError(
                "adjust='dunnett' needs contrasts none of which follows from the others, such as those of "
                "method='baseline'. Use adjust='tukey' for pairwise ones, or 'holm'."
            )
        return cls(correlation, _loads(correlation))

    def __call__(self, v: float) -> float:
        """P(all |Z| <= v)."""
        if self.loads is not None:
            nodes = np.linspace(-8.5, 8.5, 401)
            weights = np.exp(-(nodes**2) / 2)
            scale = np.sqrt(1 - self.loads**2)
            middle = self.loads[:, None] * nodes
            inside = ndtr((v - middle) / scale[:, None]) - ndtr((-v - middle) / scale[:, None])
            return float(weights @ inside.prod(axis=0) / weights.sum())
        L, n = self.factor, len(self.factor)
        product, drawn = np.ones(POINTS), np.zeros((POINTS, n))
        for i in range(n):
            shift = drawn[:, :i] @ L[i, :i]
            low, high = ndtr((-v - shift) / L[i, i]), ndtr((v - shift) / L[i, i])
            product *= high - low
            drawn[:, i] = ndtri(np.clip(low + self.points[:, i] * (high - low), 1e-300, 1 - 1e-16))
        return float(product.mean())


def _loads(correlation: Floats) -> Floats | None:
    """λ with correlations λ_i λ_j, None where there is none."""
    n = len(correlation)
    if n == 1:
        return np.zeros(1)
    if n == 2:
        r = correlation[0, 1]
        own = np.array([np.sqrt(abs(r)), np.sign(r) * np.sqrt(abs(r))])
    else:
        with np.errstate(all="ignore"):
            first = np.sqrt(correlation[0, 1] * correlation[0, 2] / correlation[1, 2])
            own = np.concatenate([[first], correlation[0, 1:] / first])
    fits = np.isfinite(own).all() and (np.abs(own) < 0.999).all()
    found = np.outer(own, own)
    np.fill_diagonal(found, 1.0)
    return own if fits and np.abs(found - correlation).max() < 1e-9 else None


def _primes(count: int) -> Floats:
    """Return the first primes."""
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % p for p in found):
            found.append(number)
        number += 1
    return np.array(found, float)
