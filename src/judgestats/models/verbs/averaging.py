"""Responses averaged over normal random effects: values and derivatives, row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri

from judgestats.errors import choose

Floats = NDArray[np.float64]

#: Values of an array held at once.
MOST = 2_000_000
#: A normal variable stays within, but for 2e-17.
REACH = 8.5
LINKS = ("logit", "probit", "log", "identity")


def inverse(link: str, eta: Floats) -> tuple[Floats, Floats]:
    """Response at a linear predictor, and its derivative.

    Parameters
    ----------
    link : {'logit', 'probit', 'log', 'identity'}
    eta : float array

    Returns
    -------
    value, slope : float arrays
    """
    value, slope, _ = averaged(link, eta, np.zeros_like(eta))
    return value, slope


def forward(link: str, value: Floats) -> Floats:
    """Linear predictor at a response."""
    functions: dict[str, Callable[[Floats], Floats]] = {
        "logit": logit,
        "probit": ndtri,
        "log": np.log,
        "identity": np.asarray,
    }
    with np.errstate(all="ignore"):
        return functions[choose(link, LINKS, "link")](value)


def averaged(link: str, eta: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean of the response over a normal linear predictor, and its derivatives.

    Closed forms but for the logit, which is integrated by the trapezoidal rule: its error falls exponentially with the
    number of nodes, and the number here, which grows with the widest variance, leaves about 1e-14.

    Parameters
    ----------
    link : {'logit', 'probit', 'log', 'identity'}
    eta : (M,) float array
        Means of the linear predictor.
    variance : (M,) float array
        Its variances, 0 for the response at `eta` itself.

    Returns
    -------
    value, by_eta, by_variance : (M,) float arrays

    Source
    ------
    Trefethen & Weideman 2014, The exponentially convergent trapezoidal rule, section 5. The derivative by the variance
    is half the second derivative by the mean (heat equation).

    Examples
    --------
    >>> averaged("probit", np.array([1.0]), np.array([3.0]))[0].round(6)
    array([0.691462])
    >>> averaged("logit", np.array([1.0]), np.array([3.0]))[0].round(6)
    array([0.659571])
    """
    choose(link, LINKS, "link")
    if link == "identity":
        return eta.copy(), np.ones_like(eta), np.zeros_like(eta)
    if link == "log":
        with np.errstate(over="ignore"):
            mean = np.exp(eta + variance / 2)
        return mean, mean, mean / 2
    if link == "probit":
        scale = 1 / np.sqrt(1 + variance)
        at = eta * scale
        slope = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi) * scale
        return ndtr(at), slope, -slope * eta * scale**2 / 2
    return _logistic(eta, variance)


def _logistic(eta: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """Distinct rows only, a block at a time."""
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
