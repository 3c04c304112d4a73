"""Rows of estimates of a bias model, with their intervals and the flags of the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtrit

from judgestats import flags
from judgestats.methods import OF_FAMILY
from judgestats.models.fitted_models import Fitted
from judgestats.models.links import LINKS
from judgestats.models.ml import BOUNDARY
from judgestats.models.postestimation.coefficient_tables import wide
from judgestats.models.postestimation.degrees_of_freedom import degrees
from judgestats.models.postestimation.delta_method import delta, normal_quantile, spread
from judgestats.typing import Floats, Record
from judgestats.wording import Method

#: A larger log-odds, or one with a larger standard error, is taken as infinite.
ENDLESS, VAGUE = 15.0, 30.0
#: Calls per level below which Laplace's approximation is flagged.
FEW = 5.0
#: Value of the column ``judge`` in rows over all judges.
ALL = "all judges"


def linear(fit: Fitted, weights: Mapping[str, float]) -> Floats:
    """Coefficients of a linear function of the parameters, (P,), from parameter -> weight."""
    result = np.zeros(len(fit.params))
    for name, weight in weights.items():
        result[fit.names.index(name)] = weight
    return result


def critical(conf_level: float, df: float | None) -> float:
    """Quantile of a two-sided interval: of the normal distribution, or of t with `df` degrees of freedom."""
    normal = normal_quantile(conf_level)
    return normal if df is None else float(stdtrit(df, 0.5 + conf_level / 2))


def wald_row(fit: Fitted, term: str, value: float, se: float, z: float, scale: str, df: float | None = None) -> Record:
    """Row of an estimate with Wald's interval."""
    ends = {"conf_low": value - z * se, "conf_high": value + z * se}
    about = {"n": fit.n, "method": described(fit, df), "flag": fit_flags(fit), "scale": scale}
    return {"term": term, "estimate": value, "std_error": se, **ends, **about}


def effect_row(
    fit: Fitted, c: Floats, term: str, conf_level: float, scale: str = "log-odds", df: float | None = None
) -> Record:
    """Estimate of a linear function c (P,) of the parameters, with Wald's interval; NaN and flagged if infinite."""
    value, se = float(c @ fit.params), float(spread(c, fit.covariance))
    endless = bool((c[np.isin(fit.names, fit.options.separated)] != 0).any())
    endless |= not fit.distribution.linear and (abs(value) > ENDLESS or se > VAGUE or not (se == se or fit.converged))
    if endless:
        value = se = math.nan
    fit_df = float(degrees(fit, c[: fit.n_location])) if df is None else df
    df = fit_df if math.isfinite(fit_df) else None
    row = wald_row(fit, term, value, se, critical(conf_level, df), scale, df)
    return {**row, "flag": flags.join(flags.SEPARATION, row["flag"])} if endless else row


def ratio_row(row: Record, scale: str = "odds ratio") -> Record:
    """Turn a row of log-odds into one of odds ratios, with the interval transformed from the logarithm."""
    ratio = math.exp(row["estimate"])
    ends = {k: math.exp(row[k]) for k in ("conf_low", "conf_high")}
    return {**row, "estimate": ratio, "std_error": ratio * row["std_error"], **ends, "scale": scale}


def points_row(
    fit: Fitted,
    X: Floats,
    base: Floats | None,
    term: str,
    conf_level: float,
    df: float | None = None,
    more_variance: float = 0.0,
) -> Record:
    """Change of the mean response in points, over rows, scalar random effects of 1 or -1 and one of `more_variance`.

    `X`, `base` (M, K): the first K columns of the design in the two states; base None: a constant one half.
    """

    def change(params: Floats) -> Floats:
        variance = np.full(len(X), sum((float(S.sum()) for S in fit.covariances(params)), more_variance))
        beta = params[: X.shape[1]]
        mean = LINKS[fit.link].average(X @ beta, variance)[0]
        base_mean = np.full(len(X), 0.5) if base is None else LINKS[fit.link].average(base @ beta, variance)[0]
        return np.array([100 * float(np.mean(mean - base_mean))])

    values, jacobian = delta(change, fit.params, fit.covariance)
    value, se = float(values[0]), float(spread(jacobian[0], fit.covariance))
    row = wald_row(fit, term, value, se, critical(conf_level, df), "percentage points", df)
    low, high = float(np.maximum(row["conf_low"], -100.0)), float(np.minimum(row["conf_high"], 100.0))
    return {**row, "conf_low": low, "conf_high": high}


def spread_rows(fit: Fitted, names: Mapping[str, str], conf_level: float) -> list[Record]:
    """Standard deviation of each scalar random term in `names` (factor, or column and factor -> term)."""
    rows, z = [], normal_quantile(conf_level)
    for k, term in enumerate(fit.design.terms):
        label = names.get(f"{term.names[0]}|{term.factor}", names.get(term.factor))
        if label is None:
            continue
        place = fit.n_location + k
        value = abs(float(fit.params[place]))
        se = math.sqrt(fit.covariance[place, place]) if fit.covariance[place, place] > 0 else math.nan
        rows.append(spread_row(fit, label, value, se, z, fit_flags(fit, term.factor)))
    return rows


def spread_row(fit: Fitted, term: str, value: float, se: float, z: float, flag: str) -> Record:
    """Row of a standard deviation, with the interval of its logarithm."""
    factor = math.exp(min(z * se / value, 700.0)) if value > 0 else math.nan
    flag = flags.join(flag, wide(se / value) if value > 0 else None)
    row = wald_row(fit, term, value, se, z, LINKS[fit.link].unit)
    return {**row, "conf_low": value / factor, "conf_high": value * factor, "flag": flag}


def described(fit: Fitted, df: float | None = None) -> Method:
    """Family, link and method of a fit, for the column ``method``."""
    method = OF_FAMILY[fit.family].on(fit.link, " ").on(fit.method)
    return method if df is None else method.on(f"t on {df:.3g}")


def fit_flags(fit: Fitted, factor: str | None = None) -> str:
    """Flags of a row of a fit; a note on a variance of 0 applies only to rows of its factor."""
    few = fit.method == "Laplace" and any(fit.n < FEW * len(t.levels) for t in fit.design.terms)
    edge = BOUNDARY * fit.unit
    terms = zip(fit.design.terms, fit.factors(), strict=True) if factor is not None else ()
    at_zero = any(t.factor == factor and bool((np.abs(np.diag(L)) < edge).any()) for t, L in terms)
    notes = fit.notes if at_zero else without(fit.notes)
    return flags.join(*notes, flags.FEW_CALLS if few and not fit.distribution.linear else None)


def without(notes: Sequence[str]) -> list[str]:
    """Notes of a fit, except that a variance is 0, which does not concern the fixed effects."""
    return [n for n in notes if n != flags.SINGULAR]
