"""Cluster-robust covariance of maximum-likelihood estimates, from the scores and informations of clusters (CR2)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from judgestats.typing import Floats

#: A direction of which a cluster leaves no more information than this is determined by that cluster alone.
_ALONE = 1e-8
#: Roots of clusters with up to this much of the information, in parameters, are sums of a series of so many terms.
_SMALL, _TERMS = 0.25, 20


def middle(bread: Floats, score: Floats, information: Floats) -> Floats:
    """Middle (Q, Q) of the sandwich from scores (G, Q) and informations (G, Q, Q) at the maximum.

    With K the information of a cluster where that of all data is the identity, scores are divided by the root of I - K,
    so that the covariance is `bread` on average if calls are independent: CR2. That of what one cluster alone
    determines, whose scores are 0, is the model's.

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
    alone = left < _ALONE
    scale = np.where(alone, 0.0, 1.0 / np.sqrt(np.where(alone, 1.0, left)))
    turned = (vectors.transpose(0, 2, 1) @ (score[~small][:, free] @ root)[:, :, None])[:, :, 0]
    scaled = (vectors @ (scale * turned)[:, :, None])[:, :, 0]
    of_model = (vectors * alone[:, None, :]) @ vectors.transpose(0, 2, 1)
    whole[np.ix_(free, free)] += inverse.T @ (scaled.T @ scaled + of_model.sum(axis=0)) @ inverse
    return np.asarray(whole)


def degrees_of_freedom(leverage: Iterable[Floats], others: Floats) -> Floats:
    """Satterthwaite's degrees of freedom of contrasts from the shares of their information that are in each cluster.

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
