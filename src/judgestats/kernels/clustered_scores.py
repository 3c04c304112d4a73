"""Cluster-robust covariance of maximum-likelihood estimates, from the scores and informations of clusters (CR2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from judgestats.typing import Floats, Ints

#: A direction of which a cluster leaves no more information than this is determined by that cluster alone.
ALONE = 1e-8
#: Roots of clusters with up to this much of the information, in parameters, are sums of a series of so many terms.
_SMALL, _TERMS = 0.25, 20
#: Numbers that are held at once.
_BLOCK = 1_000_000


def middle(bread: Floats, score: Floats, information: Floats) -> Floats:
    """Middle (Q, Q) of the sandwich from scores (G, Q) and informations (G, Q, Q) at the maximum.

    CR2: in coordinates in which the information of all data is the identity and that of a cluster is K, the cluster's
    score is divided by the square root of I - K. If calls are independent, the expected covariance is then `bread`.
    Where one cluster alone determines a parameter its score is 0, and the model's variance is taken.

    Bell, R. M., McCaffrey, D. F. (2002). Survey Methodology 28, 169-181. Pustejovsky, J. E., Tipton, E. (2018). Journal
    of Business & Economic Statistics 36, 672-683.
    """
    small = (bread * information).sum(axis=(1, 2)) < _SMALL
    part, own = score[small], information[small]
    scaled, term = part.copy(), part
    for k in range(1, _TERMS):
        term = (own @ (term @ bread)[:, :, None])[:, :, 0] * ((2 * k - 1) / (2 * k))
        scaled += term
    whole = scaled.T @ scaled
    free = np.diag(bread) > 0
    values, axes = np.linalg.eigh(bread[np.ix_(free, free)])
    scales = np.sqrt(np.maximum(values, values.max(initial=1e-300) * 1e-15))
    root, inverse = axes * scales, (axes / scales).T
    share, vectors = np.linalg.eigh(root.T @ information[~small][:, free][:, :, free] @ root)
    left = 1.0 - share
    alone = left < ALONE
    scale = np.where(alone, 0.0, 1.0 / np.sqrt(np.where(alone, 1.0, left)))
    turned = (vectors.transpose(0, 2, 1) @ (score[~small][:, free] @ root)[:, :, None])[:, :, 0]
    scaled = (vectors @ (scale * turned)[:, :, None])[:, :, 0]
    of_model = (vectors * alone[:, None, :]) @ vectors.transpose(0, 2, 1)
    whole[np.ix_(free, free)] += inverse.T @ (scaled.T @ scaled + of_model.sum(axis=0)) @ inverse
    return np.asarray(whole)


def degrees_of_freedom(leverage: Iterable[Floats], others: Floats) -> Floats:
    """Satterthwaite's degrees of freedom of contrasts, from the share of their information in each cluster.

    `leverage`: arrays (G, ...); of the clusters that it leaves out, the shares are as their `others` (G,).
    """
    total = squares = adjusted = of_adjusted = np.float64(0.0)
    for part in leverage:
        h = np.clip(part, 0.0, 1.0 - 1e-9)
        a = h * h / (1.0 - h)
        total, squares = total + h.sum(axis=0), squares + (h * h).sum(axis=0)
        adjusted, of_adjusted = adjusted + a.sum(axis=0), of_adjusted + (a * a).sum(axis=0)
    if others.any():
        rest = np.maximum(1.0 - total, 0.0) ** 2 * float((others**2).sum()) / float(others.sum()) ** 2
        squares, adjusted = squares + rest, adjusted + rest
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 / (squares + adjusted**2 - of_adjusted))


class ClusterFactors(NamedTuple):
    """What degrees of freedom are computed from, in coordinates in which the information of all data is the identity.

    With the share K of a cluster in it, if the scores are divided by the root of I - K: K (I - K)^(-1/2), K / (I - K).
    """

    root: Floats  # (P, Q): the covariance of the model is root @ root.T
    once: Floats  # (G, Q, Q): covariance of the adjusted score of a cluster with the score of all, by the model
    twice: Floats  # (G, Q, Q): covariance of the adjusted score if the coefficients were known
    alone: Floats  # (Q, Q): projections on what single clusters determine alone, summed

    def df(self, contrasts: Floats) -> Floats:
        """Degrees of freedom of the tests that contrasts (K, R, P) of independent rows, R together, are 0.

        Of one row Satterthwaite's: 2 E(v)² / Var(v) of its variance v, if the model is true. Of several those of
        Hotelling's T² whose matrix has as much variance in all. NaN where one cluster alone determines a contrast.

        Pustejovsky, J. E., Tipton, E. (2018). Journal of Business & Economic Statistics 36, 672-683 (AHT).
        """
        with np.errstate(invalid="ignore"):
            rows = contrasts @ self.root
            lost = np.trace(rows @ self.alone @ rows.swapaxes(1, 2), axis1=1, axis2=2)
            estimable = lost <= 1e-6 * (rows**2).sum(axis=(1, 2))
        rows = rows[estimable]
        expected = (self.twice - self.once @ self.once.swapaxes(1, 2)).sum(axis=0)
        held = max(_BLOCK // max(self.once.size * rows.shape[1], 1), 1)
        result = np.full(len(contrasts), np.nan)
        parts = (rows[k : k + held] for k in range(0, len(rows), held))
        result[estimable] = [df for part in parts for df in _hotelling(self.once, self.twice, expected, part)]
        return result


class ClusterShares(NamedTuple):
    """Coordinates in which the information of all data is the identity, and the share of each cluster in it."""

    root: Floats  # (P, Q): the covariance of the model is root @ root.T
    share: Floats  # (G, Q, Q)

    @classmethod
    def of(cls, information: Floats) -> ClusterShares:
        """Shares from the informations (G, P, P), directions without information left out."""
        size, axes = np.linalg.eigh(information.sum(axis=0))
        determined = size > size[-1] * 1e-10
        root = axes[:, determined] / np.sqrt(size[determined])
        return cls(root, root.T @ information @ root)

    def covariance(self, score: Floats) -> Floats:
        """CR2 (P, P) from the scores (G, P)."""
        return self.root @ middle(np.eye(self.root.shape[1]), score @ self.root, self.share) @ self.root.T

    def df(self, contrasts: Floats) -> Floats:
        """Degrees of freedom of contrasts (K, R, P): :meth:`ClusterFactors.df`."""
        size, axes = np.linalg.eigh(self.share)
        left = 1.0 - size
        alone = (left < ALONE)[:, None]
        scale = np.where(alone[:, 0], 0.0, 1.0 / np.sqrt(np.maximum(left, ALONE)))
        turned = axes.transpose(0, 2, 1)
        once, twice = (axes * (size * scale**k)[:, None] @ turned for k in (1, 2))
        return ClusterFactors(self.root, once, twice, (axes * alone @ turned).sum(axis=0)).df(contrasts)


def _hotelling(once: Floats, twice: Floats, expected: Floats, contrasts: Floats) -> Floats:
    """Degrees of freedom of contrasts (K, R, Q) from :class:`ClusterFactors` and the expected covariance (Q, Q)."""
    rows = contrasts.shape[1]
    values, axes = np.linalg.eigh(contrasts @ expected @ contrasts.transpose(0, 2, 1))
    length = np.sqrt(np.where(values > 0, values, np.nan))  # no degrees of freedom where the variance is 0
    unit = (axes / length[:, None]).transpose(0, 2, 1) @ contrasts
    # covariances of the adjusted scores of clusters i and j: those of i on the diagonal, less f f' everywhere
    f = unit @ once[:, None]
    squares = f @ f.swapaxes(2, 3)
    own = unit @ twice[:, None] @ unit.swapaxes(1, 2) - squares
    cross = np.einsum("gkrp,gksq->krpsq", f, f, optimize=True)
    variance = (cross * (cross + cross.transpose(0, 3, 2, 1, 4))).sum(axis=(1, 2, 3, 4))
    for sign, matrix in ((1, own), (-1, squares)):
        trace = np.trace(matrix, axis1=2, axis2=3)
        variance = variance + sign * (trace**2 + (matrix * matrix).sum(axis=(2, 3))).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(rows * (rows + 1) / variance, np.float64)


def products(one: Floats, other: Floats, starts: Ints) -> Floats:
    """Products (G, P, Q) of the columns of (N, P) and (N, Q), summed over the rows from each start to the next."""
    return np.stack([np.add.reduceat(column[:, None] * other, starts, axis=0) for column in one.T], axis=1)
