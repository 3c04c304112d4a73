"""Cumulative models without random effects, by statsmodels."""

from __future__ import annotations

import numpy as np

from judgestats import flags
from judgestats.models.engines.statsmodels_calls import Result, call, refuse_random, repeated
from judgestats.models.fitted_models import Fitted
from judgestats.models.ml import refittable
from judgestats.models.specifications import Model
from judgestats.typing import Floats


def fit_ordered(model: Model) -> Fitted:
    """Fit a cumulative model without random terms with statsmodels' OrderedModel, with a row for each call."""
    from scipy import stats
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    refuse_random(model, "ordered")
    d = repeated(model.design, "ordered")
    p, inner = d.X.shape[1], len(d.categories) - 1

    def run() -> tuple[Result, Floats, Floats, float]:
        distribution = {"logit": stats.logistic, "probit": stats.norm, "cloglog": stats.gumbel_l}[model.link]
        ordered = OrderedModel(d.y.astype(int), d.X, offset=d.offset, distr=distribution)
        estimate = ordered.fit(method="bfgs", disp=False, maxiter=1000, gtol=1e-8)
        return estimate, _covariance(estimate), ordered.score(np.asarray(estimate.params)), float(estimate.llf)

    result, inner_covariance, slope, loglik = call(run, "ordered")
    raw = np.asarray(result.params)
    steps = np.exp(raw[p + 1 :])
    params = np.concatenate([raw[:p], raw[p] + np.concatenate([[0.0], np.cumsum(steps)])])
    turn = np.eye(p + inner)  # derivative of the thresholds with respect to statsmodels' parameters
    turn[p:, p] = 1.0
    for k in range(1, inner):
        turn[p + k :, p + k] = steps[k - 1]
    covariance = turn @ inner_covariance @ turn.T
    converged = bool(result.mle_retvals["converged"]) or float(np.abs(slope).max()) < 1e-4 * len(d.y)
    notes = (flags.NO_HESSIAN,) if np.isnan(covariance).any() else ()
    fitted = Fitted(model, "ordered", "ML", params, covariance, loglik, converged, notes)
    return refittable(fitted, fit_ordered)


def _covariance(estimate: Result) -> Floats:
    """Covariance from statsmodels; NaN if the Hessian could not be inverted."""
    try:
        return np.asarray(estimate.cov_params(), float)
    except ValueError:
        return np.full((len(estimate.params), len(estimate.params)), np.nan)
