"""Cumulative models without random effects, by statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.models.engines.expansion import repeated
from judgestats.models.engines.wrapping import call, refuse_random, wrapped
from judgestats.models.fitted import NO_HESSIAN, Fitted
from judgestats.models.ml import Model

Floats = NDArray[np.float64]


def fit_ordered(model: Model) -> Fitted:
    """Fit a cumulative model with statsmodels' OrderedModel; counts are written out.

    Parameters
    ----------
    model : Model
        Without random terms.

    Returns
    -------
    Fitted
        Thresholds themselves, not the logarithms of their distances that statsmodels estimates.

    Raises
    ------
    FitError
        If there are random terms, or statsmodels gives up.
    """
    from scipy import stats
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    refuse_random(model, "ordered")
    d = repeated(model.design, "ordered")
    p, inner = d.X.shape[1], len(d.categories) - 1

    def run() -> tuple[Any, Floats]:
        own = OrderedModel(
            d.y.astype(int), d.X, offset=d.offset, distr=stats.norm if model.link == "probit" else stats.logistic
        )
        found = own.fit(method="bfgs", disp=False, maxiter=1000, gtol=1e-8)
        return found, _covariance(found)

    (result, inner_covariance), _ = call(run, "ordered")
    raw = np.asarray(result.params)
    steps = np.exp(raw[p + 1 :])
    params = np.concatenate([raw[:p], raw[p] + np.concatenate([[0.0], np.cumsum(steps)])])
    turn = np.eye(p + inner)  # of the thresholds by statsmodels' parameters
    turn[p:, p] = 1.0
    for k in range(1, inner):
        turn[p + k :, p + k] = steps[k - 1]
    covariance = turn @ inner_covariance @ turn.T
    converged = bool(result.mle_retvals["converged"]) or float(np.abs(result.model.score(raw)).max()) < 1e-4 * len(d.y)
    return wrapped(
        model, "ordered", "ML", params, covariance, loglik=float(result.llf), converged=converged,
        notes=(NO_HESSIAN,) if np.isnan(covariance).any() else (), run=fit_ordered,
    )  # fmt: skip


def _covariance(found: Any) -> Floats:
    """Covariance by statsmodels; NaN where it could not invert the Hessian."""
    try:
        return np.asarray(found.cov_params(), float)
    except ValueError:
        return np.full((len(found.params), len(found.params)), np.nan)
