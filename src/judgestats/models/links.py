"""Links: the response at a linear predictor, and its mean over normal ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtr, ndtri, softmax

from judgestats.typing import Floats

Averages = tuple[Floats, Floats, Floats]
LinkName = Literal["logit", "probit", "cloglog", "identity", "log"]
#: Values of an array held at once.
MOST = 2_000_000
#: A normal variable stays within, but for 2e-17.
REACH = 8.5
#: Gauss-Hermite nodes for each of a few normal variables; points of Sobol's for more, as a power of 2.
NODES, POINTS = (61, 41, 21), 12


@dataclass(frozen=True)
class Link:
    """A link."""

    name: str
    scale: Literal["probability", "count", "score"]  # what the response is
    inverse: Callable[[Floats], Floats]  # inverse, forward: response at a linear predictor, and the other way
    forward: Callable[[Floats], Floats]
    # of means and variances of normal linear predictors: means of the response, and their derivatives by both
    average: Callable[[Floats, Floats], Averages]
    log_inverse: Callable[[Floats], Floats] | None = None  # logarithm of a probability, and that of its complement
    log_upper: Callable[[Floats], Floats] | None = None
    # ratio, base: what the exponential of a slope is, and that of an intercept; empty where it is nothing
    ratio: str = ""
    base: str = ""
    unit: str = ""  # of the linear predictor
    # variance of one call on the scale of the linear predictor; NaN where it depends on mean or residual
    latent: float = float("nan")
    latent_method: str = ""  # how it is found
    prior_sd: float = 2.5  # of a slope, for a predictor with sd 1
    extreme: float = 8.0  # a linear predictor beyond it may be diverging; below it the search would not stop


def _identity(eta: Floats, variance: Floats) -> Averages:
    return eta.copy(), np.ones_like(eta), np.zeros_like(variance)


def _log(eta: Floats, variance: Floats) -> Averages:
    with np.errstate(over="ignore"):
        mean = np.exp(eta + variance / 2)
    return mean, mean, mean / 2


def _probit(eta: Floats, variance: Floats) -> Averages:
    scale = 1 / np.sqrt(1 + variance)
    at = eta * scale
    slope = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi) * scale
    return ndtr(at), slope, -slope * eta * scale**2 / 2


def _logistic(x: Floats) -> Averages:
    p = expit(x)
    slope = p * expit(-x)
    return p, slope, slope * (1 - 2 * p)


def _gumbel(x: Floats) -> Averages:
    rate = np.exp(np.minimum(x, 100.0))
    slope = rate * np.exp(-rate)
    return -np.expm1(-rate), slope, slope * (1 - rate)


def _integrated(curve: Callable[[Floats], Averages], step: float, eta: Floats, variance: Floats) -> Averages:
    """By the trapezoidal rule (Trefethen & Weideman 2014, section 5) to 1e-14, a block of distinct rows at a time.

    `curve`: a response and its first two derivatives. It is bounded at a distance of 6 steps from the real axis.
    """
    distinct, place = np.unique(eta + 1j * variance, return_inverse=True)
    mean, sd = distinct.real, np.sqrt(distinct.imag)
    nodes, weights = _nodes(float(np.nanmax(sd)) if np.isfinite(sd).any() else 0.0, step)
    result = np.empty((3, len(mean)))
    block = max(MOST // len(nodes), 1)
    for first in range(0, len(mean), block):
        own = slice(first, first + block)
        p, slope, bend = curve(mean[own, None] + sd[own, None] * nodes)
        result[0, own] = p @ weights
        result[1, own] = slope @ weights
        result[2, own] = bend @ weights / 2
    value, by_eta, by_variance = result[:, place.reshape(-1)]
    return value, by_eta, by_variance


def _nodes(sd: float, step: float) -> tuple[Floats, Floats]:
    """Nodes and weights of a standard normal, `step` apart on the scale of the linear predictor or closer."""
    if sd == 0:
        return np.zeros(1), np.ones(1)
    step = min(0.7, step / sd)
    half = int(np.ceil(REACH / step))
    nodes: Floats = step * np.arange(-half, half + 1, dtype=np.float64)
    weights = np.exp(-(nodes**2) / 2)
    share: Floats = weights / weights.sum()
    return nodes, share


def class_averages(eta: Floats, covariance: Floats) -> Averages:
    """Mean probabilities of K + 1 classes, the first with log-odds 0, over normal ones of the others.

    Of means (M, K) and covariances (M, K, K): (M, K + 1), and derivatives (M, K + 1, K) and (M, K + 1, K, K) by both,
    left at 0 by the covariance where all are 0. By Gauss and Hermite's rule in each direction for up to 3 log-odds,
    else at a Sobol sequence: good to about 1e-4 where no standard deviation is over 1.
    """
    K = eta.shape[1]
    unit = np.eye(K + 1)[:, 1:]
    if not covariance.any():
        p = softmax(np.pad(eta, ((0, 0), (1, 0))), axis=1)
        return p, p[..., None] * (unit - p[:, None, 1:]), np.zeros((*p.shape, K, K))
    nodes, weights = _joint_nodes(K)
    size, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(size, 0.0))[:, None]
    blocks, step = [], max(MOST // (len(nodes) * (K + 1) ** 2), 1)
    for own in (slice(first, first + step) for first in range(0, len(eta), step)):
        p = softmax(np.pad(eta[own, None] + nodes @ root[own].swapaxes(1, 2), ((0, 0), (0, 0), (1, 0))), axis=2)
        share = (p * weights[:, None]).swapaxes(1, 2)
        one, two = share.sum(axis=2), (share @ p)[:, :, 1:]  # mean products of probabilities
        three = (share @ (p[..., 1:, None] * p[..., None, 1:]).reshape(*p.shape[:2], K * K)).reshape(*two.shape, K)
        crossed = unit[:, :, None] * two[:, :, None]
        bend = one[..., None, None] * (unit[:, :, None] * unit[:, None]) - crossed - crossed.swapaxes(2, 3)
        blocks.append((one, one[..., None] * unit - two, (bend - np.eye(K) * two[..., None]) / 2 + three))
    value, by_eta, by_covariance = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return value, by_eta, by_covariance


def _joint_nodes(K: int) -> tuple[Floats, Floats]:
    """Nodes (Q, K) and weights of K independent standard normals."""
    if len(NODES) < K:
        from scipy.stats.qmc import Sobol

        points = Sobol(K, seed=0).random_base2(POINTS)
        return np.asarray(ndtri(points), np.float64), np.full(len(points), 1 / len(points))
    each, weights = np.polynomial.hermite_e.hermegauss(NODES[K - 1])
    grid = np.stack(np.meshgrid(*[each] * K, indexing="ij"), axis=-1).reshape(-1, K)
    share = np.prod(np.meshgrid(*[weights / weights.sum()] * K, indexing="ij"), axis=0)
    return np.asarray(grid, np.float64), np.asarray(share.ravel(), np.float64)


#: Name -> link.
LINKS = {
    link.name: link
    for link in (
        Link(
            "logit", "probability", expit, logit, partial(_integrated, _logistic, 0.54), log_expit,
            lambda x: log_expit(-x), "odds ratio", "odds", "log-odds", np.pi**2 / 3, "residual π²/3",
        ),
        Link(
            "probit", "probability", ndtr, ndtri, _probit, log_ndtr, lambda x: log_ndtr(-x), unit="probit", latent=1.0,
            latent_method="residual 1", prior_sd=1.5, extreme=4.0,
        ),
        Link(
            "cloglog", "probability", lambda x: _gumbel(x)[0], lambda p: np.log(-np.log1p(-p)),
            partial(_integrated, _gumbel, 0.27), lambda x: np.log(_gumbel(np.maximum(x, -700.0))[0]),
            lambda x: -np.exp(x), unit="cloglog", latent=np.pi**2 / 6, latent_method="residual π²/6", prior_sd=1.8,
            extreme=2.3,
        ),
        Link(
            "log", "count", np.exp, np.log, _log, ratio="rate ratio", base="rate", unit="log",
            latent_method="residual ln(1 + 1/mean), log-normal approximation",
        ),
        Link(
            "identity", "score", np.asarray, np.asarray, _identity, unit="score", latent_method="residual variance"
        ),
    )
}  # fmt: skip
