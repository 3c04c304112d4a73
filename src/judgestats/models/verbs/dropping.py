"""Likelihood-ratio tests of single terms: each left out in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from judgestats.errors import DesignError, FitError
from judgestats.models.fitted import NOT_CONVERGED, Fitted
from judgestats.models.ml import Model, fit_design
from judgestats.models.verbs.delta import doubts
from judgestats.models.verbs.testing import INTERCEPT, NOT_NESTED, REFITTED
from judgestats.results import flags

COLUMNS = ("term", "df", "loglik", "aic", "statistic", "p_value", "flag")
#: Row of the model itself.
NONE = "<none>"


def drop1(fit: Fitted) -> pd.DataFrame:
    """Leave out each fixed term that no other contains, and compare by likelihood ratio.

    Parameters
    ----------
    fit : Fit

    Returns
    -------
    pandas.DataFrame
        ``term``, ``df`` (its parameters), ``loglik`` and ``aic`` of the model without it, ``statistic`` (χ²),
        ``p_value``, ``flag``. The first row, ``<none>``, is the model itself.

    Raises
    ------
    FitError
        If the engine has no likelihood, or cannot fit again.
    DesignError
        If an engine other than ``ml`` has fitted by REML.

    Notes
    -----
    Of ``a * b`` only ``a:b`` can go. The columns of a term are left out, the rest stays as it is coded; the rows stay
    the same, though a column with missing values may go. Random terms stay: compare them by
    :func:`judgestats.models.verbs.testing.anova`. A Gaussian model by REML is fitted by ML, and flagged so. A term that
    separates the response has a sound test here, where Wald's has none.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> js.fit("correct ~ strategy", counts, counts="n").drop1().round(4)
           term  df    loglik       aic  statistic  p_value flag
    0    <none>   0 -117.3414  238.6828        NaN      NaN
    1  strategy   1 -122.1729  246.3457     9.6629   0.0019
    """
    whole, note = _whole(fit)
    rows = [_row(NONE, whole, whole, note)]
    for name, place in whole.design.fixed.terms.items():
        if name != INTERCEPT and not any(_parts(name) < _parts(other) for other in whole.design.fixed.terms):
            rows.append(_row(name, whole, _without(whole, place), note))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _parts(term: str) -> set[str]:
    return set(term.split(":"))


def _whole(fit: Fitted) -> tuple[Fitted, str]:
    """The model by maximum likelihood, and what is to be said of that."""
    if fit.method == "REML":
        if fit.engine != "ml":
            raise DesignError(
                f"Restricted likelihoods of models with different fixed effects do not compare ({fit.engine!r}). Use "
                "tests(), or engine='ml'."
            )
        return fit_design(Model(fit.design, fit.family, fit.link)), REFITTED
    if not np.isfinite(fit.loglik) or fit.refit is None:
        raise FitError(f"engine={fit.engine!r} has no likelihood to compare: use tests(), or engine='ml'.")
    return fit, ""


def _without(fit: Fitted, place: slice) -> Fitted:
    """The same model without some columns of the fixed part."""
    assert fit.refit is not None
    d = fit.design
    keep = [k for k in range(fit.n_fixed) if not place.start <= k < place.stop]
    coded = d.fixed.restricted(keep)
    less = replace(d, X=np.ascontiguousarray(d.X[:, keep]), names=coded.names, fixed=coded)
    return fit.refit(less, np.arange(len(d.y), dtype=np.int64))


def _row(term: str, whole: Fitted, less: Fitted, note: str) -> dict[str, Any]:
    df, own = whole.df - less.df, 2 * (whole.loglik - less.loglik)
    statistic = own if df > 0 and own > -1e-4 else np.nan
    row = {"term": term, "df": df, "loglik": less.loglik, "aic": 2 * (less.df - less.loglik), "statistic": statistic}
    row["p_value"] = float(chdtrc(df, max(statistic, 0.0))) if df > 0 and np.isfinite(statistic) else np.nan
    lost = NOT_CONVERGED if not less.converged else ""
    doubt = str(doubts(whole, np.zeros(1))[0])
    return {**row, "flag": flags(note, doubt, lost, NOT_NESTED if own < -1e-4 else "")}
