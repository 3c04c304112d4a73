"""True classes that nobody saw, from the labels of several raters: the model of Dawid and Skene, by EM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgestats.typing import Floats, Ints, Mask

#: A probability below it has reached 0.
BOUNDARY = 1e-7
#: Smallest probability of which a logarithm is taken.
_TINY = 1e-300
#: EM stops where no probability changes by more than this, or after so many steps; a first look at a start takes fewer.
_STILL, _STEPS, _LOOK = 1e-11, 20_000, 100
#: Two log-likelihoods nearer than this share of their size are one; after the first look, this share.
_SAME, _NEAR = 1e-8, 0.01
#: Standard errors by which the raters must agree more with the names of the classes than with others.
_SURE = 1.96
#: Smallest eigenvalue, as a share of the largest, of an information matrix that can be inverted.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class LatentClasses:
    """Maximum likelihood estimates."""

    priors: Floats  # (K,): share of each class
    # (R, K, K): probability of each label (last axis) of a rater for a true class; NaN where it gave none
    confusion: Floats
    posterior: Floats  # (N, K): probability of each class of each unit
    loglik: float  # without multinomial coefficients
    n_best: int  # how many of the starts reached it
    converged: bool  # whether EM came to rest
    #: (K,): classes whose names may be exchanged: priors, confusion and posterior are means over these.
    unnamed: Mask


def latent_classes(
    counts: Floats, weight: Floats, rng: np.random.Generator, n_starts: int, mirror: Ints | None = None
) -> LatentClasses:
    """Fit the model from the majority vote and from random starts, and keep the likeliest fit.

    `counts` (N, R, K): how often each rater gave each label. `mirror` (K,): permutation of the classes that leaves the
    model as it is (candidates that exchange their names). Each class is named after the label that agrees most often.
    The likelihood is the same for any names of the classes: only the agreement of the raters with them decides. Where
    other names agree as well, within sampling error, the estimates are means over both.
    Dawid, A. P., Skene, A. M. (1979). Applied Statistics 28, 20-28.
    """
    n, raters, k = counts.shape
    flat = np.ascontiguousarray(counts.reshape(n, raters * k), dtype=np.float64)
    votes = counts.sum(axis=1) + 1e-9  # a unit without labels is of any class
    majority = votes / votes.sum(axis=1, keepdims=True)
    starts = [majority, *((majority + rng.dirichlet(np.ones(k), size=n)) / 2 for _ in range(n_starts))]
    first_look = [_climbed(flat, weight, q, mirror, _LOOK) for q in starts]
    best = max(value for _, value, _ in first_look)
    near = [i for i, (_, value, _) in enumerate(first_look) if value >= best - _NEAR * (1 + abs(best))]
    ends = [_climbed(flat, weight, first_look[i][0], mirror, _STEPS) for i in near]
    best = max(value for _, value, _ in ends)
    ends = [end for end in ends if end[1] >= best - _SAME * (1 + abs(best))]
    posterior, _, converged = ends[0]
    order = _naming(np.einsum("n,nk,nrl->kl", weight, posterior, counts), mirror)
    priors, confusion = maximised(flat, weight, posterior[:, order], mirror)
    priors, confusion = (np.where(p < BOUNDARY, 0.0, p) for p in (priors, confusion))
    priors, confusion = priors / priors.sum(), confusion / confusion.sum(axis=2, keepdims=True)
    posterior, each = expected(flat, priors, confusion)
    posterior = np.where(posterior < 1e-100, 0.0, posterior)  # of a probability of 0, for which the smallest stood
    labels = np.einsum("n,nk,nrl->rk", weight, posterior, counts)
    unnamed = np.zeros(k, dtype=bool)
    for together in _exchangeable(confusion, labels, mirror):
        unnamed[together] = True
        priors[together] = priors[together].mean()
        posterior[:, together] = posterior[:, together].mean(axis=1, keepdims=True)
        confusion[:, together] = confusion[:, together].mean(axis=1, keepdims=True)
    return LatentClasses(priors, confusion, posterior, float(weight @ each), len(ends), converged, unnamed)


def maximised(flat: Floats, weight: Floats, posterior: Floats, mirror: Ints | None = None) -> tuple[Floats, Floats]:
    """M step: priors (K,) and confusion (R, K, K), from labels (N, R * K) and the posterior (N, K)."""
    k = posterior.shape[1]
    weighted = posterior * weight[:, None]
    priors, table = weighted.sum(axis=0), (weighted.T @ flat).reshape(k, -1, k).transpose(1, 0, 2)
    if mirror is not None:
        priors, table = priors + priors[mirror], table + table[:, mirror][:, :, mirror]
    with np.errstate(invalid="ignore"):
        return priors / priors.sum(), table / table.sum(axis=2, keepdims=True)


def expected(flat: Floats, priors: Floats, confusion: Floats) -> tuple[Floats, Floats]:
    """E step: the posterior (N, K), and the log-likelihood of each unit (N,)."""
    k = priors.size
    defined = np.where(np.isnan(confusion), 1 / k, np.maximum(confusion, _TINY))
    joint = flat @ np.log(defined).transpose(0, 2, 1).reshape(-1, k) + np.log(np.maximum(priors, _TINY))
    top = joint.max(axis=1, keepdims=True)
    share = np.exp(joint - top)
    total = share.sum(axis=1, keepdims=True)
    return share / total, (top + np.log(total))[:, 0]


def _climbed(
    flat: Floats, weight: Floats, posterior: Floats, mirror: Ints | None, steps: int
) -> tuple[Floats, float, bool]:
    """EM from a posterior: the posterior that it ends with, its log-likelihood, and whether it came to rest."""
    each = np.zeros(len(flat))
    for _ in range(steps):
        before = posterior
        posterior, each = expected(flat, *maximised(flat, weight, posterior, mirror))
        if np.abs(posterior - before).max() < _STILL:
            return posterior, float(weight @ each), True
    return posterior, float(weight @ each), False


def _naming(agreement: Floats, mirror: Ints | None) -> Ints:
    """Class that each name belongs to: the assignment with the most agreement of classes (rows) and labels."""
    same = np.arange(len(agreement))
    if mirror is not None:
        return same if agreement[same, same].sum() >= agreement[mirror, same].sum() else mirror
    from scipy.optimize import linear_sum_assignment  # slow to import

    rows, labels = linear_sum_assignment(-agreement)
    return np.asarray(rows[np.argsort(labels)], dtype=np.int64)


def _exchangeable(confusion: Floats, labels: Floats, mirror: Ints | None) -> list[Ints]:
    """Sets of classes that other names fit as well: the raters do not agree less with these, within sampling error.

    `confusion` (R, K, K): named; `labels` (R, K): expected labels of each rater in each class. The agreement is the sum
    of the probabilities of the raters to give a class its name: it does not depend on how frequent the classes are.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import
    from scipy.sparse.csgraph import connected_components  # as this

    k, share = confusion.shape[1], np.nan_to_num(confusion)
    total, same = share.sum(axis=0), np.arange(confusion.shape[1])
    if mirror is not None:
        others = [np.asarray(mirror)] if (mirror != same).any() else []
    else:
        others = []
        for c, name in np.argwhere(~np.eye(k, dtype=bool)):
            forced = np.where((same[:, None] == c) != (same == name), -1e9, total)
            others.append(linear_sum_assignment(-forced)[1])
    linked = np.zeros((k, k))
    for names in others:
        moved = np.flatnonzero(names != same)
        own, other = share[:, moved, moved], share[:, moved, names[moved]]
        n = labels[:, moved]
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(n > 0, (own + other - (own - other) ** 2) / n, 0.0)
        if (own - other).sum() <= _SURE * np.sqrt(variance.sum()) + 1e-6:
            linked[moved, names[moved]] = 1
    _, group = connected_components(linked, directed=False)
    return [same[group == g] for g in range(group.max(initial=-1) + 1) if (group == g).sum() > 1]


def standard_errors(
    counts: Floats, weight: Floats, fit: LatentClasses, mirror: Ints | None = None
) -> tuple[Floats, Floats]:
    """Standard errors of priors (K,) and confusion (R, K, K), from the observed information of those inside (0, 1).

    NaN on the boundary, where they count as known; NaN for all where the labels do not identify the model.
    """
    if fit.unnamed.any():
        return np.full_like(fit.priors, np.nan), np.full_like(fit.confusion, np.nan)
    n, raters, k = counts.shape
    flat = counts.reshape(n, raters * k)
    q = fit.posterior
    # in order: priors, then confusion by class, rater, label
    values = np.concatenate([fit.priors, fit.confusion.transpose(1, 0, 2).ravel()])
    inside = (values > 0) & (values < 1)
    block = raters * k
    size = k + k * block
    score, hessian = np.zeros((n, size)), np.zeros((size, size))
    with np.errstate(divide="ignore", invalid="ignore"):
        per_class = np.where(inside, 1 / values, 0.0)
    for c in range(k):
        own = slice(k + c * block, k + (c + 1) * block)
        g = flat * per_class[own]  # derivative of log P(labels | class) by its probabilities
        wq = weight * q[:, c]
        hessian[own, own] += (g * wq[:, None]).T @ g - np.diag((wq @ flat) * per_class[own] ** 2)
        hessian[c, own] = hessian[own, c] = per_class[c] * (wq @ g)
        # for the prior itself, 1 / p squared and its second derivative cancel
        score[:, own], score[:, c] = g * q[:, [c]], per_class[c] * q[:, c]
    information = (score * weight[:, None]).T @ score - hessian
    errors = np.full(size, np.nan)
    covariance = _constrained(information[np.ix_(inside, inside)], _constraints(k, raters, mirror)[:, inside])
    errors[inside] = np.sqrt(np.diag(covariance))
    return errors[:k], errors[k:].reshape(k, raters, k).transpose(1, 0, 2)


def _constraints(k: int, raters: int, mirror: Ints | None) -> Floats:
    """Rows a with a'd = 0 for every direction d in which the probabilities may move."""
    number = np.arange(k * raters * k).reshape(k, raters, k) + k
    rows: list[Ints] = [np.arange(k), *number.reshape(-1, k)]
    result = [np.bincount(r, minlength=k + number.size).astype(float) for r in rows]
    if mirror is not None:
        one = np.concatenate([np.arange(k), number.ravel()])
        two = np.concatenate([mirror, number[mirror][:, :, mirror].ravel()])
        for a, b in zip(one[one < two], two[one < two], strict=True):
            row = np.zeros(one.size)
            row[a], row[b] = 1.0, -1.0
            result.append(row)
    return np.array(result)


def _constrained(information: Floats, constraints: Floats) -> Floats:
    """Covariance of parameters that move within the null space of the constraints; NaN where it is singular."""
    _, values, basis = np.linalg.svd(constraints)
    free = basis[int((values > 1e-10).sum()) :].T
    inner = free.T @ information @ free
    eigen, vectors = np.linalg.eigh((inner + inner.T) / 2)
    if eigen.size and not eigen[0] > _SINGULAR * eigen[-1]:
        return np.full(information.shape, np.nan)
    half = free @ vectors / np.sqrt(eigen)
    return np.asarray(half @ half.T, np.float64)
