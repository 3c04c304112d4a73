"""Likelihood-ratio tests of single terms: each left out in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from judgestats import flags
from judgestats.errors import DesignError, FitError
from judgestats.models.fitted_models import Fitted
from judgestats.models.ml import fit_design
from judgestats.models.postestimation.delta_method import cautions
from judgestats.models.postestimation.likelihood_ratios import refuse_without_maximum
from judgestats.models.postestimation.wald_tests import INTERCEPT

COLUMNS = ("term", "df", "loglik", "aic", "statistic", "p_value", "flag")
#: Row of the model itself.
NONE = "<none>"


def drop1(fit: Fitted) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.drop1`."""
    whole, note = _whole(fit)
    rows = [_row(NONE, whole, whole, note)]
    for name, place in whole.design.fixed.coder.terms.items():
        if name != INTERCEPT and not any(_parts(name) < _parts(other) for other in whole.design.fixed.coder.terms):
            rows.append(_row(name, whole, _without(whole, place), note))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _parts(term: str) -> set[str]:
    return set(term.split(":"))


def _whole(fit: Fitted) -> tuple[Fitted, str]:
    """The model by maximum likelihood, and what is to be said of that."""
    refuse_without_maximum(fit)
    if fit.method == "REML":
        if fit.engine != "ml":
            raise DesignError(
                f"Restricted likelihoods of models with different fixed effects do not compare ({fit.engine!r}). Use "
                "tests(), or engine='ml'."
            )
        return fit_design(replace(fit.model, reml=False)), flags.REFITTED.of(how="ML")
    if not np.isfinite(fit.loglik) or fit.refit is None:
        raise FitError(f"engine={fit.engine!r} has no likelihood to compare: use tests(), or engine='ml'.")
    return fit, ""


def _without(fit: Fitted, place: slice) -> Fitted:
    """The same model without some columns of the fixed part."""
    assert fit.refit is not None
    d = fit.design
    keep = [k for k in range(d.X.shape[1]) if not place.start <= k < place.stop]
    coded = d.fixed.coder.restricted(keep)
    less = replace(d, fixed=replace(d.fixed, coder=coded, X=np.ascontiguousarray(d.X[:, keep])))
    return fit.refit(less, np.arange(len(d.y), dtype=np.int64))


def _row(term: str, whole: Fitted, less: Fitted, note: str) -> dict[str, object]:
    df, own = whole.df - less.df, 2 * (whole.loglik - less.loglik)
    statistic = own if df > 0 and own > -1e-4 else np.nan
    row = {"term": term, "df": df, "loglik": less.loglik, "aic": 2 * (less.df - less.loglik), "statistic": statistic}
    row["p_value"] = float(chdtrc(df, max(statistic, 0.0))) if df > 0 and np.isfinite(statistic) else np.nan
    lost = flags.NOT_CONVERGED if not less.converged else ""
    caution = str(cautions(whole, np.zeros(1))[0])
    return {**row, "flag": flags.join(note, caution, lost, flags.NOT_NESTED if own < -1e-4 else "")}
