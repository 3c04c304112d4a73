"""Coefficients of a fit and their covariance, with their names."""

from __future__ import annotations

import pandas as pd

from judgestats.errors import FitError
from judgestats.models.fitted import Fitted
from judgestats.models.verbs import sampled
from judgestats.models.verbs.delta import trusted


def coef(fit: Fitted) -> pd.Series[float]:
    """Fixed effects, by name.

    Parameters
    ----------
    fit : Fit

    Returns
    -------
    pandas.Series
        On the link scale, in the order of :func:`judgestats.models.verbs.tables.tidy`; a cumulative model's thresholds
        follow, as in R's ``coef`` of clm. A coefficient that runs away to infinity is where the search stopped:
        ``tidy()`` flags it.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> js.fit("correct ~ strategy", counts, counts="n").coef().round(4)
    Intercept       0.4055
    strategy[S8]    0.9808
    Name: estimate, dtype: float64
    """
    names = fit.names[: fit.n_location]
    return pd.Series(fit.params[: fit.n_location].copy(), index=list(names), name="estimate", dtype=float)


def vcov(fit: Fitted, *, full: bool = False) -> pd.DataFrame:
    """Covariance of the estimates, by name.

    Parameters
    ----------
    fit : Fit
    full : bool
        True adds the parameters of the variances: ``chol(a,b|factor)``, elements of the lower Cholesky factor of a
        random term's covariance (the standard deviation, for a term of one column), and ``sd(residual)``.

    Returns
    -------
    pandas.DataFrame
        Square; rows and columns are those of :func:`coef`. NaN for what is not known or runs away to infinity, 0 for a
        parameter on its boundary.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> js.fit("correct ~ strategy", counts, counts="n").vcov().round(4)
                  Intercept  strategy[S8]
    Intercept        0.0417       -0.0417
    strategy[S8]    -0.0417        0.1042
    """
    size = len(fit.params) if full else fit.n_location
    names = list(fit.names[:size])
    return pd.DataFrame(trusted(fit)[:size, :size].copy(), index=names, columns=names)


def draws(fit: Fitted) -> pd.DataFrame:
    """Draws from the posterior distribution of the parameters.

    Parameters
    ----------
    fit : Fit

    Returns
    -------
    pandas.DataFrame
        ``chain``, ``draw`` and a column for each row of :func:`judgestats.models.verbs.tables.tidy`.

    Raises
    ------
    FitError
        If the engine has none: only ``pymc`` samples.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"correct": [0, 1], "n": [40, 60]})
    >>> js.fit("correct ~ 1", counts, counts="n").draws()
    Traceback (most recent call last):
        ...
    judgestats.errors.FitError: engine='ml' has no posterior draws. Use simulate(), confint(method='bootstrap'), or \
engine='pymc'.
    """
    found = sampled.drawn(fit)
    if found is not None:
        return sampled.table(fit, found)
    raise FitError(
        f"engine={fit.engine!r} has no posterior draws. Use simulate(), confint(method='bootstrap'), or engine='pymc'."
    )
