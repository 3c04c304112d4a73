"""statsmodels' Bayesian binomial mixed model, for comparison, flagged."""

from __future__ import annotations

from functools import partial

import numpy as np

from judgestats import flags
from judgestats.errors import FitError
from judgestats.models.engines.joint_modes import Modes
from judgestats.models.engines.statsmodels_calls import Result, bernoulli, call, repeated
from judgestats.models.fitted_models import Fitted
from judgestats.models.ml import refittable
from judgestats.models.specifications import Model


def fit_bayes(model: Model) -> Fitted:
    """Fit a logistic mixed model with statsmodels' BinomialBayesMixedGLM, by variational Bayes.

    Its standard errors are too small, and flagged so; its posterior mode let a variance collapse to 0 on ordinary data.
    """
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    _refuse_slopes(model)
    d = repeated(bernoulli(model.design), "statsmodels")
    rows = np.arange(len(d.y))
    q = [len(t.levels) for t in d.terms]
    Z = np.zeros((len(d.y), sum(q)))
    for t, first in zip(d.terms, np.cumsum([0, *q]), strict=False):
        Z[rows, first + t.codes] = t.values[:, 0]
    ident = np.repeat(np.arange(len(q)), q)

    def run() -> Result:
        start = np.zeros(d.X.shape[1] + len(q) + sum(q))
        return BinomialBayesMixedGLM(d.y, d.X, Z, ident).fit_vb(mean=start, sd=np.full(len(start), 0.5), verbose=False)

    result = call(run, "statsmodels")
    beta, spread = np.asarray(result.fe_mean), np.asarray(result.fe_sd)
    sds = np.exp(np.asarray(result.vcp_mean))
    params = np.concatenate([beta, sds])
    covariance = np.diag(np.concatenate([spread, sds * np.asarray(result.vcp_sd)]) ** 2)
    ends = np.cumsum(q)[:-1]
    modes = tuple(m[:, None] for m in np.split(np.asarray(result.vc_mean), ends))
    joint = np.diag(np.concatenate([spread, np.asarray(result.vc_sd)]) ** 2)
    p = len(beta)
    modes_of = partial(Modes, modes, tuple(np.array([[s**2]]) for s in sds), joint, joint[p:, p:], p)
    notes = (flags.TOO_SMALL,)
    fitted = Fitted(model, "statsmodels", "variational Bayes", params, covariance, notes=notes, effects=modes_of)
    return refittable(fitted, fit_bayes)


def _refuse_slopes(model: Model) -> None:
    d = model.design
    parts = " + ".join(str(p) for p in d.formula.random) or "none"
    if not d.terms or any(len(t.names) > 1 for t in d.terms):
        raise FitError(
            f"engine='statsmodels' needs random terms of one column each, such as (1|item) or (x||item); got: {parts}. "
            "Use engine='ml'."
        )
    if (d.offset != 0).any():
        raise FitError("engine='statsmodels' does not support an offset. Use engine='ml'.")
