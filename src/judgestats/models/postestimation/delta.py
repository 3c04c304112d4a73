"""The delta method: standard errors of functions of the parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from judgestats import flags
from judgestats.errors import confidence
from judgestats.models.fitted import Fitted
from judgestats.typing import Floats

#: Step of the differences in standard errors; without a standard error, relative to the parameter.
STEP, RELATIVE = 1e-4, 1e-6


def delta(function: Callable[[Floats], Floats], params: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Values of a function and its derivatives, by central differences.

    A step is 1e-4 standard errors of the parameter, or a millionth of it if the standard error is not known.

    `function`: of (P,) parameters: (M,) values, or one number. `params` (P,). `covariance` (P, P): 0 for a parameter on
    its boundary, NaN where it is not known. Returns `values` (M,). `jacobian` (M, P).

    >>> values, jacobian = delta(lambda p: np.exp(p), np.array([0.0, 1.0]), np.eye(2))
    >>> values.round(6), np.diag(jacobian).round(6)
    (array([1.      , 2.718282]), array([1.      , 2.718282]))
    """
    params = np.asarray(params, float)
    values = np.atleast_1d(np.asarray(function(params), float))
    jacobian = np.empty((len(values), len(params)))
    sd = np.sqrt(np.maximum(np.nan_to_num(np.diag(covariance), nan=0.0), 0.0))
    steps = np.where(sd > 0, STEP * sd, RELATIVE * np.maximum(np.abs(params), 1.0))
    for k, step in enumerate(steps):
        above, below = params.copy(), params.copy()
        above[k] += step
        below[k] -= step
        jacobian[:, k] = (function(above) - function(below)) / (above[k] - below[k])
    return values, jacobian


def spread(jacobian: Floats, covariance: Floats) -> Floats:
    """Standard errors of functions, from their derivatives.

    `jacobian` (..., P). `covariance` (P, P). Returns (...): NaN if the variance of a parameter with a nonzero
    derivative is not known.

    >>> spread(np.array([[1.0, -1.0], [1.0, 0.0]]), np.array([[4.0, 1.0], [1.0, np.nan]]))
    array([nan,  2.])
    """
    known = np.isfinite(covariance)
    if known.all():
        exact: Floats = np.sqrt(np.maximum(((jacobian @ covariance) * jacobian).sum(axis=-1), 0.0))
        return exact
    moved = (jacobian != 0).astype(float)
    unknown = ((moved @ (~known).astype(float)) * moved).sum(axis=-1) > 0
    variance = ((jacobian @ np.where(known, covariance, 0.0)) * jacobian).sum(axis=-1)
    return np.where(unknown, np.nan, np.sqrt(np.maximum(variance, 0.0)))


def normal_quantile(conf_level: float) -> float:
    """Return the normal quantile of a two-sided interval; a DesignError if `conf_level` is not between 0 and 1.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return float(ndtri(0.5 + confidence(conf_level) / 2))


def cautions(fit: Fitted, std_error: Floats) -> str | NDArray[np.str_]:
    """Flags of each number of a fit: cautions about the fit, and why a standard error is missing.

    A variance at zero, few calls per level, and a quadrature too coarse for the log likelihood alone do not concern the
    fixed effects: they are in ``check()`` only.

    `std_error` (M,). Returns (M,).
    """
    elsewhere = (
        flags.SINGULAR,
        flags.FEW_CALLS,
        *([flags.UNSETTLED] if fit.refinement is not None and fit.refinement.harmless else []),
    )
    general = flags.join(*(n for n in fit.notes if n not in elsewhere))
    missing = general if {flags.NO_HESSIAN, flags.SEPARATION} & {*fit.notes} else flags.join(general, flags.NO_ERRORS)
    return np.where(np.isnan(std_error), missing, general)


def trusted(fit: Fitted) -> Floats:
    """Covariance of the parameters, NaN for those that diverge to infinity.

    If the response is separated, the curvature along them is rounding error, and so are standard errors of anything
    that they enter, even where they cancel. With another reference level they may enter less.

    Returns (P, P).
    """
    runaway = np.isin(fit.names, fit.options.get("separated", ()))
    if not runaway.any():
        return fit.covariance
    return np.where(runaway[:, None] | runaway, np.nan, fit.covariance)
