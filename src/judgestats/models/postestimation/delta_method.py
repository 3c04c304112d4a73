"""The delta method: standard errors of functions of the parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from judgestats import flags
from judgestats.errors import confidence
from judgestats.models.fitted_models import Fitted
from judgestats.typing import Floats

#: Step of the differences in standard errors; without a standard error, relative to the parameter.
STEP, RELATIVE = 1e-4, 1e-6


def delta(function: Callable[[Floats], Floats], params: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Values (M,) of a function of (P,) parameters, and central differences (M, P) over 1e-4 standard errors."""
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
    """Standard errors of functions, from their derivatives (..., P); NaN if a variance that matters is not known."""
    finite = np.isfinite(covariance)
    if finite.all():
        exact: Floats = np.sqrt(np.maximum(((jacobian @ covariance) * jacobian).sum(axis=-1), 0.0))
        return exact
    moved = (jacobian != 0).astype(float)
    unknown = ((moved @ (~finite).astype(float)) * moved).sum(axis=-1) > 0
    variance = ((jacobian @ np.where(finite, covariance, 0.0)) * jacobian).sum(axis=-1)
    return np.where(unknown, np.nan, np.sqrt(np.maximum(variance, 0.0)))


def normal_quantile(conf_level: float) -> float:
    """The normal quantile of a two-sided interval; a DesignError if `conf_level` is not between 0 and 1."""
    return float(ndtri(0.5 + confidence(conf_level) / 2))


def cautions(fit: Fitted, std_error: Floats) -> str | NDArray[np.str_]:
    """Flags of each number of a fit: cautions that concern fixed effects, and why a standard error is missing."""
    elsewhere = (
        flags.SINGULAR,
        flags.FEW_CALLS,
        flags.NO_OVERDISPERSION,
        *([flags.UNSETTLED] if fit.refinement is not None and fit.refinement.harmless else []),
    )
    general = flags.join(*(n for n in fit.notes if n not in elsewhere))
    reasons = {flags.NO_HESSIAN, flags.SEPARATION, flags.PERFECT_FIT} & {*fit.notes}
    missing = general if reasons else flags.join(general, flags.NO_ERRORS)
    return np.where(np.isnan(std_error), missing, general)


def trusted(fit: Fitted) -> Floats:
    """Covariance of the parameters (P, P), NaN for those that diverge where the response is separated."""
    runaway = np.isin(fit.names, fit.options.separated)
    if not runaway.any():
        return fit.covariance
    return np.where(runaway[:, None] | runaway, np.nan, fit.covariance)
