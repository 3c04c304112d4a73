"""Random effects level by level, and how the latent variance divides among factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.models.fitted import Fitted
from judgestats.models.postestimation.components import RESIDUAL
from judgestats.models.postestimation.delta import delta, normal_quantile, spread
from judgestats.models.postestimation.tables import tidy
from judgestats.results import NO_ERRORS, SINGULAR, flags

Floats = NDArray[np.float64]

EFFECTS = ("group", "level", "term", "estimate", "std_error", "conf_low", "conf_high", "flag")
COMPONENTS = (
    "group",
    "term",
    "variance",
    "sd",
    "sd_low",
    "sd_high",
    "share",
    "share_low",
    "share_high",
    "method",
    "flag",
)
#: Intraclass correlation on the scale of the linear predictor.
ICC = "ICC(latent)"
#: Variance of a call on the scale of the linear predictor, by link.
LATENT = {"logit": np.pi**2 / 3, "probit": 1.0}
METHODS = {
    "logit": "residual π²/3",
    "probit": "residual 1",
    "log": "residual ln(1 + 1/mean), log-normal approximation",
    "identity": "residual variance",
}


def random_effects(fit: Fitted, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Conditional modes of the random effects, with intervals.

    Returns
    -------
    pandas.DataFrame
        ``group`` (the grouping factor), ``level``, ``term`` (``Intercept``, ``x``), ``estimate`` on the scale of the
        linear predictor, ``std_error``, ``conf_low``, ``conf_high``, ``flag``; factor by factor as in the formula,
        levels in their order. Where a standard deviation is zero so are its effects, with NaN errors and
        ``singular fit``.

    Raises
    ------
    DesignError
        If the model has no random terms, or its engine gives no random effects.

    Notes
    -----
    Standard errors are those of the conditional distribution given the estimates, as in lme4's
    ``ranef(condVar = TRUE)`` and in clmm; glmmTMB prints larger ones, which count the errors of all parameters.
    Predictions count those of the fixed effects (:func:`judgestats.models.postestimation.prediction.predict`). In a fit
    by quadrature they are modes too.

    Examples
    --------
    >>> import judgestats as js
    >>> calls = pd.DataFrame({"k": [1, 9, 2, 8], "size": 10, "item": list("abcd")})
    >>> js.fit("cbind(k, size - k) ~ 1 + (1|item)", calls).random_effects().iloc[:2, :5].round(2)
      group level       term  estimate  std_error
    0  item     a  Intercept     -1.71       0.79
    1  item     b  Intercept      1.71       0.79
    """
    z = normal_quantile(conf_level)
    if not fit.design.terms:
        raise DesignError(
            f"{fit.formula!r} by engine={fit.engine!r} has no random terms. Write one, (1|item) say, and use "
            "engine='ml'."
        )
    found = fit.effects()
    if found is None:
        raise DesignError(f"engine={fit.engine!r} gives no random effects. Use engine='ml'.")
    parts = [_level_rows(*own, z) for own in zip(fit.design.terms, found.modes, found.spreads, strict=True)]
    return pd.concat(parts, ignore_index=True)


def _level_rows(term: Any, modes: Floats, spreads: Floats, z: float) -> pd.DataFrame:
    levels, k = modes.shape
    variance = np.einsum("lkk->lk", spreads).reshape(-1)
    with np.errstate(invalid="ignore"):
        error = np.sqrt(np.where(variance > 0, variance, np.nan))
    estimate = modes.reshape(-1)
    columns = {
        "group": term.factor,
        "level": np.repeat(np.asarray(term.levels, dtype=object), k),
        "term": np.tile(np.asarray(term.names, dtype=object), levels),
        "estimate": estimate,
        "std_error": error,
        "conf_low": estimate - z * error,
        "conf_high": estimate + z * error,
        "flag": np.where(variance == 0, SINGULAR, "").astype(object),
    }
    return pd.DataFrame(columns)[list(EFFECTS)]


def variance_components(fit: Fitted, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Variances of the random terms and of the residual, their shares, and latent intraclass correlations.

    Returns
    -------
    pandas.DataFrame
        A row for each column of each random term and for the residual (``term`` as in ``Intercept``, ``x``,
        ``residual``): ``variance``, ``sd`` with the Wald interval of its logarithm (``sd_low``, ``sd_high``), and
        ``share`` of the latent total, with ``share_low`` and ``share_high`` by the delta method on the logit scale.
        Then a row ``ICC(latent)`` for each factor: what all its terms add to the variance, and that over the total, the
        correlation of two calls that share a level of this factor alone. ``method`` says what the residual is.

    Notes
    -----
    On the scale of the linear predictor a call has the variance π²/3 (logit), 1 (probit), ln(1 + 1/μ) (log; an
    approximation, with μ the mean response over the rows and over the random effects) or the residual variance
    (identity). A term with columns other than an intercept adds z'Σz, averaged over the rows, so the rows of a term
    with slopes need not add up to its factor's: covariances are in the latter alone. A variance of zero has no
    interval and ``singular fit``.

    Source: Nakagawa, Johnson and Schielzeth 2017, "The coefficient of determination R² and intra-class correlation
    coefficient from generalized linear mixed-effects models revisited and expanded", equations of table 1; Johnson
    2014 for slopes.

    Examples
    --------
    >>> import judgestats as js
    >>> calls = pd.DataFrame({"k": [1, 9, 2, 8], "size": 10, "item": list("abcd")})
    >>> fit = js.fit("cbind(k, size - k) ~ 1 + (1|item)", calls)
    >>> fit.variance_components()[["group", "term", "variance", "share"]].round(3)
          group         term  variance  share
    0      item    Intercept     3.201  0.493
    1  residual     residual     3.290  0.507
    2      item  ICC(latent)     3.201  0.493
    """
    z = normal_quantile(conf_level)
    labels = _labels(fit)

    def shares(params: Floats) -> Floats:
        found = contributions(fit, params)
        total = found[len(labels) - 1 :].sum()  # the residual, and what each factor adds
        return np.asarray(found / total, float)

    share, jacobian = delta(shares, fit.params, fit.covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = z * spread(jacobian, fit.covariance) / (share * (1 - share))
        low, high = expit(logit(share) - half), expit(logit(share) + half)
    rows = _own_rows(fit, labels, conf_level)
    added = contributions(fit, fit.params)[len(labels) :]
    factors = dict.fromkeys(t.factor for t in fit.design.terms)
    rows += [{"group": g, "term": ICC, "variance": v} for g, v in zip(factors, added, strict=True)]
    for k, row in enumerate(rows):
        known = np.isfinite(half[k]) and half[k] > 0
        ends = (low[k], high[k]) if known else (np.nan, np.nan)
        zero = SINGULAR if row["variance"] == 0 else NO_ERRORS if fit.design.terms and not known else ""
        row |= {"share": share[k], "share_low": ends[0], "share_high": ends[1]}
        row |= {"method": METHODS[fit.link], "flag": flags(row.get("flag", ""), zero)}
    return pd.DataFrame(rows, columns=list(COMPONENTS))


def _labels(fit: Fitted) -> list[tuple[str, str]]:
    """Group and term of each variance, the residual last."""
    return [(t.factor, name) for t in fit.design.terms for name in t.names] + [(RESIDUAL, RESIDUAL)]


def _own_rows(fit: Fitted, labels: list[tuple[str, str]], conf_level: float) -> list[dict[str, Any]]:
    """Standard deviations with their intervals."""
    table = tidy(fit, conf_level=conf_level, effects="random").set_index("term")
    rows = []
    for group, name in labels:
        key = "sd(residual)" if group == RESIDUAL else f"sd({name}|{group})"
        row: dict[str, Any] = {"group": group, "term": name}
        if key in table.index:
            found = table.loc[key]
            row |= {"sd": found["estimate"], "sd_low": found["conf_low"], "sd_high": found["conf_high"]}
            row["flag"] = found["flag"]
        else:
            row["sd"] = float(np.sqrt(contributions(fit, fit.params)[len(labels) - 1]))
        row["variance"] = row["sd"] ** 2
        rows.append(row)
    return rows


def contributions(fit: Fitted, params: Floats) -> Floats:
    """What each column of each term, the residual, and each factor as a whole add to the variance of a call.

    Parameters
    ----------
    fit : Fitted
    params : (P,) float array

    Returns
    -------
    (K,) float array
        The order of the rows of :func:`variance_components`.
    """
    d, covariances = fit.design, fit.covariances(params)
    weight = d.count / d.count.sum()
    own, added = [], dict.fromkeys((t.factor for t in d.terms), 0.0)
    for term, C in zip(d.terms, covariances, strict=True):
        moments = (term.values * weight[:, None]).T @ term.values
        own += list(np.diag(C) * np.diag(moments))
        added[term.factor] += float((C * moments).sum())
    return np.array([*own, _residual(fit, params, sum(added.values())), *added.values()])


def _residual(fit: Fitted, params: Floats, random: float) -> float:
    """Variance of a call on the scale of the linear predictor."""
    if fit.family == "gaussian":
        return float(params[-1] ** 2)
    if fit.link != "log":
        return float(LATENT[fit.link])
    d = fit.design
    eta = d.X @ params[: fit.n_fixed] + d.offset + random / 2
    return float(np.log1p(1 / (d.count @ np.exp(eta) / d.count.sum())))
