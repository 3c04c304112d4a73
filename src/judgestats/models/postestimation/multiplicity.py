"""p values and quantiles of several contrasts together, normal or t."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr, ndtri

from judgestats.errors import DesignError
from judgestats.models.postestimation.reference_distributions import t_quantile, two_sided
from judgestats.typing import Floats

ADJUSTMENTS = ("holm", "tukey", "dunnett", "bonferroni", "none")
#: Points of the lattice.
POINTS = 32749
#: Nodes over χ.
CHI = 48


def adjusted(
    statistic: Floats, adjust: str, conf_level: float, means: int, covariance: Floats, df: ArrayLike = np.inf
) -> tuple[Floats, Floats]:
    """Adjusted p values of a family (K,) with degrees of freedom `df`, and the quantiles of its intervals.

    A NaN is not of the family. ``holm`` has intervals by Bonferroni, for Holm's have no simultaneous ones; `means` are
    those that ``tukey`` compares pairwise; `covariance` (K, K) is for ``dunnett``. A joint distribution of several has
    the degrees of freedom of the contrast it is asked for, as in emmeans.
    """
    from scipy.stats import studentized_range

    z, df = np.abs(statistic), np.broadcast_to(np.asarray(df, float), np.shape(statistic))
    finite = np.isfinite(z)
    p, k = two_sided(z, df), int(finite.sum())
    alpha, cut = 1 - conf_level, np.full(len(z), np.nan)
    if k == 0:
        return p, cut
    own_df, place = np.unique(np.where(np.isfinite(df), df.round(6), df)[finite], return_inverse=True)
    if adjust == "tukey":
        p[finite] = studentized_range.sf(z[finite] * np.sqrt(2), means, own_df[place])
        cut[finite] = np.array([_tukey_quantile(conf_level, means, float(d)) for d in own_df])[place]
        return p, cut
    if adjust == "dunnett":
        own = covariance[np.ix_(finite, finite)]
        sd = np.sqrt(np.diag(own))
        inside = Inside.of(own / np.outer(sd, sd))
        p[finite] = [min(max(1 - inside(v, d), 0.0), 1.0) for v, d in zip(z[finite], own_df[place], strict=True)]
        # Bonferroni and the single contrast bound the quantile
        ends = np.stack([-t_quantile(alpha / 2, own_df), 1e-9 - t_quantile(alpha / (2 * k), own_df)], axis=1)
        least = [
            brentq(lambda v, d=d: inside(v, d) - conf_level, low, high, xtol=1e-10) if k > 1 else low
            for d, (low, high) in zip(own_df, ends, strict=True)
        ]
        cut[finite] = np.array(least)[place]
        return p, cut
    share = 1 if adjust == "none" else k
    if adjust == "bonferroni":
        p = np.minimum(p * k, 1.0)
    elif adjust == "holm":
        order = np.flatnonzero(finite)[np.argsort(p[finite], kind="stable")]
        p[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(k, 0, -1)), 1.0)
    return p, -t_quantile(alpha / (2 * share), df)


@lru_cache(maxsize=1024)
def _tukey_quantile(conf_level: float, means: int, df: float) -> float:
    """Quantile of the largest of all differences of `means`, in their standard errors; SciPy takes 0.1 s for each."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(conf_level, means, df) / np.sqrt(2))


class Inside:
    """P(all |Z| <= v) of a multivariate normal or t Z with unit scales.

    Exact quadrature where the correlations are products λ_i λ_j (Dunnett's case), else Genz's integral over a lattice,
    good to about 1e-5. That of t is the mean over its χ: by quadrature, or as one more coordinate of the lattice. Genz
    1992, J. Comp. Graph. Stat. 1, 141-149; Genz and Bretz 2002, the same 11, 950-971.
    """

    def __init__(self, correlation: Floats, loads: Floats | None) -> None:
        self.correlation, self.loads = correlation, loads
        if loads is None:
            self.factor = np.linalg.cholesky(correlation)
            primes = _primes(len(correlation) + 1)
            points = np.arange(1, POINTS + 1)[:, None] * np.sqrt(primes)[None] % 1.0
            self.points = np.abs(2 * points - 1)

    @classmethod
    def of(cls, correlation: Floats) -> Inside:
        """Choose the way for these correlations; refuse contrasts of which one follows from the others."""
        if len(correlation) > 1 and np.linalg.eigvalsh(correlation)[0] < 1e-9:
            raise DesignError(
                "adjust='dunnett' needs contrasts none of which follows from the others, such as those of "
                "method='baseline'. Use adjust='tukey' for pairwise ones, or 'holm'."
            )
        return cls(correlation, _loads(correlation))

    def __call__(self, v: float, df: float = np.inf) -> float:
        """P(all |Z| <= v)."""
        if self.loads is not None:
            if np.isinf(df):
                return self._product(v)
            at, weights = np.polynomial.legendre.leggauss(CHI)
            return float(
                sum(w / 2 * self._product(v * _chi((1 - x) / 2, df)) for x, w in zip(at, weights, strict=True))
            )
        L, n = self.factor, len(self.factor)
        product, variates = np.ones(POINTS), np.zeros((POINTS, n))
        ends = v if np.isinf(df) else v * _chi(self.points[:, n], df)
        for i in range(n):
            shift = variates[:, :i] @ L[i, :i]
            low, high = ndtr((-ends - shift) / L[i, i]), ndtr((ends - shift) / L[i, i])
            product *= high - low
            variates[:, i] = ndtri(np.clip(low + self.points[:, i] * (high - low), 1e-300, 1 - 1e-16))
        return float(product.mean())

    def _product(self, v: float) -> float:
        """P(all |Z| <= v) where the correlations are products."""
        assert self.loads is not None
        nodes = np.linspace(-8.5, 8.5, 401)
        weights = np.exp(-(nodes**2) / 2)
        scale = np.sqrt(1 - self.loads**2)
        middle = self.loads[:, None] * nodes
        inside = ndtr((v - middle) / scale[:, None]) - ndtr((-v - middle) / scale[:, None])
        return float(weights @ inside.prod(axis=0) / weights.sum())


def _chi(upper: ArrayLike, df: float) -> Any:
    """Quantile, by the upper tail, of the square root of χ² over its degrees of freedom."""
    return np.sqrt(chdtri(df, upper) / df)


def _loads(correlation: Floats) -> Floats | None:
    """λ with correlations λ_i λ_j, or None."""
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
    products = np.outer(own, own)
    np.fill_diagonal(products, 1.0)
    return own if fits and np.abs(products - correlation).max() < 1e-9 else None


def _primes(count: int) -> Floats:
    """Return the first primes."""
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % p for p in primes):
            primes.append(number)
        number += 1
    return np.array(primes, float)
