"""Links: the response at a linear predictor, and its mean over normal ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtr, ndtri

from judgestats.typing import Floats

Averages = tuple[Floats, Floats, Floats]
LinkName = Literal["logit", "probit", "identity", "log"]
#: Values of an array held at once.
MOST = 2_000_000
#: A normal variable stays within, but for 2e-17.
REACH = 8.5


@dataclass(frozen=True)
class Link:
    """A link."""

    name: str
    scale: Literal["probability", "count", "score"]  # what the response is
    inverse: Callable[[Floats], Floats]  # inverse, forward: response at a linear predictor, and the other way
    forward: Callable[[Floats], Floats]
    # of means and variances of normal linear predictors: means of the response, and their derivatives by both
    average: Callable[[Floats, Floats], Averages]
    log_inverse: Callable[[Floats], Floats] | None = None  # logarithm of a probability
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


def _logistic(eta: Floats, variance: Floats) -> Averages:
    """By the trapezoidal rule, distinct rows only, a block at a time.

    Its error falls exponentially with the number of nodes, and the number here, which grows with the widest variance,
    leaves about 1e-14: Trefethen & Weideman 2014, section 5.
    """
    distinct, place = np.unique(eta + 1j * variance, return_inverse=True)
    mean, sd = distinct.real, np.sqrt(distinct.imag)
    nodes, weights = _nodes(float(np.nanmax(sd)) if np.isfinite(sd).any() else 0.0)
    result = np.empty((3, len(mean)))
    block = max(MOST // len(nodes), 1)
    for first in range(0, len(mean), block):
        own = slice(first, first + block)
        p = expit(mean[own, None] + sd[own, None] * nodes)
        slope = p * expit(-(mean[own, None] + sd[own, None] * nodes))
        result[0, own] = p @ weights
        result[1, own] = slope @ weights
        result[2, own] = (slope * (1 - 2 * p)) @ weights / 2
    value, by_eta, by_variance = result[:, place.reshape(-1)]
    return value, by_eta, by_variance


def _nodes(sd: float) -> tuple[Floats, Floats]:
    """Nodes and weights of a standard normal, close enough for the poles of a logistic with random effects of `sd`."""
    if sd == 0:
        return np.zeros(1), np.ones(1)
    step = min(0.7, 0.54 / sd)
    half = int(np.ceil(REACH / step))
    nodes: Floats = step * np.arange(-half, half + 1, dtype=np.float64)
    weights = np.exp(-(nodes**2) / 2)
    share: Floats = weights / weights.sum()
    return nodes, share


#: Name -> link.
LINKS = {
    link.name: link
    for link in (
        Link(
            "logit", "probability", expit, logit, _logistic, log_expit, "odds ratio", "odds", "log-odds", np.pi**2 / 3,
            "residual π²/3",
        ),
        Link(
            "probit", "probability", ndtr, ndtri, _probit, log_ndtr, unit="probit", latent=1.0,
            latent_method="residual 1", prior_sd=1.5, extreme=4.0,
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
