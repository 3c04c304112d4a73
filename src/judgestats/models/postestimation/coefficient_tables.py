"""A fit as tables: its coefficients, its parameters (:func:`tidy`), and itself in one row (:func:`glance`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, FitError, choose
from judgestats.methods import NORMAL
from judgestats.models.fitted_models import Fitted
from judgestats.models.links import LINKS
from judgestats.models.ml import BOUNDARY as SMALLEST
from judgestats.models.postestimation import crossvalidation, posterior_summaries
from judgestats.models.postestimation.coefficient_rows import CoefficientRow
from judgestats.models.postestimation.degrees_of_freedom import degrees, df_method
from judgestats.models.postestimation.delta_method import delta, normal_quantile, spread, trusted
from judgestats.models.postestimation.design_shortages import inflated, interval_flags
from judgestats.models.postestimation.reference_distributions import half_width, two_sided
from judgestats.models.postestimation.separation import why_endless
from judgestats.models.variance_parameters import Component, component_values, components
from judgestats.typing import Floats


def coef(fit: Fitted) -> pd.Series[float]:
    """Fixed effects, by name: :meth:`judgestats.models.Fit.coef`."""
    names = fit.names[: fit.n_location]
    return pd.Series(fit.params[: fit.n_location].copy(), index=list(names), name="estimate", dtype=float)


def vcov(fit: Fitted, *, full: bool = False) -> pd.DataFrame:
    """Covariance of the estimates, by name: :meth:`judgestats.models.Fit.vcov`."""
    size = len(fit.params) if full else fit.n_location
    names = list(fit.names[:size])
    return pd.DataFrame(trusted(fit)[:size, :size].copy(), index=names, columns=names)


def draws(fit: Fitted) -> pd.DataFrame:
    """Draws from the posterior distribution of the parameters: :meth:`judgestats.models.Fit.draws`."""
    posterior = posterior_summaries.draws_of(fit)
    if posterior is not None:
        return posterior_summaries.table(fit, posterior)
    raise FitError(
        f"engine={fit.engine!r} has no posterior draws. Use simulate(), confint(method='bootstrap'), or engine='pymc'."
    )


#: Columns of :func:`tidy`.
COLUMNS = CoefficientRow._fields
#: An interval of a standard deviation spans orders of magnitude if its logarithm has an error above the limit.
VAGUE = 1.0


def tidy(
    fit: Fitted,
    *,
    conf_level: float = CONF_LEVEL,
    exponentiate: bool = False,
    scale: Literal["link", "response"] = "link",
    effects: Literal["all", "fixed", "random"] = "all",
) -> pd.DataFrame:
    """Parameters of a model, a row each: :meth:`judgestats.models.Fit.tidy`."""
    z = normal_quantile(conf_level)
    choose(scale, ("link", "response"), "scale")
    choose(effects, ("all", "fixed", "random"), "effects")
    if exponentiate and (not LINKS[fit.link].ratio or scale == "response"):
        raise DesignError(
            f"exponentiate=True is for link='logit' and 'log' on the scale of the link; got link={fit.link!r}, "
            f"scale={scale!r}. Use scale='response' for units of the response."
        )
    if scale == "response":  # average marginal effects
        from judgestats.models.postestimation.marginal_effects import margins

        table = margins(fit, conf_level=conf_level).assign(group="fixed")
        return table[[*(c for c in COLUMNS if c in table), *(c for c in table if c not in COLUMNS)]]
    rows: list[CoefficientRow] = []
    posterior = posterior_summaries.draws_of(fit)
    if posterior is not None:
        whole = posterior_summaries.rows(fit, posterior, conf_level)
        wanted = {"all": slice(None), "fixed": slice(fit.n_location), "random": slice(fit.n_location, None)}
        rows += whole[wanted[effects]]
    elif effects != "random":
        rows += list(_location_rows(fit, conf_level))
    if effects != "fixed" and posterior is None:
        rows += list(_variance_rows(fit, z))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    general = [
        name
        for name in fit.notes
        if name in (flags.NOT_CONVERGED, flags.LAPLACE_INSTEAD, flags.FEW_CALLS, flags.TOO_SMALL)
    ]
    general += [flags.UNSETTLED] if fit.refinement is not None and not fit.refinement.harmless else []
    table["flag"] = [flags.join(own, *general) for own in table["flag"]]
    return _ratios(fit, table) if exponentiate else table


def _location_rows(fit: Fitted, conf_level: float) -> Iterator[CoefficientRow]:
    """Fixed effects and thresholds."""
    errors = standard_errors(fit.covariance)
    each = np.eye(fit.n_location)
    df, method = degrees(fit, each), df_method(fit)
    of_df, runaway = interval_flags(fit, each, df), fit.options.separated
    for k, name in enumerate(fit.names[: fit.n_location]):
        value, error = float(fit.params[k]), float(errors[k])
        flag = why_endless(fit, name) if name in runaway else "" if np.isfinite(error) else _why_unknown(fit)
        error = error if not flag else np.nan
        ratio = value / error if k < fit.n_fixed and error > 0 else np.nan
        half = float(half_width(conf_level, df[k])) * error
        p_value, low, high = float(two_sided(ratio, df[k])), value - half, value + half
        flag = flag or of_df[k]
        yield CoefficientRow("fixed", name, value, error, ratio, df[k], p_value, low, high, method, flag)


def standard_errors(covariance: Floats) -> Floats:
    """Square roots of the diagonal; NaN where it is negative."""
    variances = np.diag(covariance)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(variances), float)


def _why_unknown(fit: Fitted) -> str:
    return next((f for f in (flags.PERFECT_FIT, flags.NO_HESSIAN) if f in fit.notes), flags.NO_ERROR)


def _variance_rows(fit: Fitted, z: float) -> Iterator[CoefficientRow]:
    """Standard deviations and correlations, with errors on the scale of logarithms and of Fisher's z."""
    parts, values, large = components(fit), component_values(fit), inflated(fit) if fit.method == "Laplace" else {}
    for own, value, error in zip(parts, values, _transformed_errors(fit, parts), strict=True):
        endless = not {*fit.names[own.elements]}.isdisjoint(fit.options.separated)
        has_error = bool(np.isfinite(error) and error > 0 and not endless)
        vague = wide(float(error)) if own.is_sd and not endless else ""
        held = flags.SEPARATION if endless else flags.SINGULAR if _held(fit, own) else ""
        few = large.get(own.group, "") if own.is_sd and not held else ""
        half = z * error if has_error else np.nan
        if own.is_sd:
            with np.errstate(over="ignore"):
                low, high, slope = value * np.exp(-half), value * np.exp(half), value
        else:
            middle = float(np.arctanh(value)) if has_error else np.nan
            low, high, slope = float(np.tanh(middle - half)), float(np.tanh(middle + half)), 1 - value**2
        yield CoefficientRow(
            own.group,
            own.term,
            float(value),
            slope * error if has_error else np.nan,
            conf_low=float(low),
            conf_high=float(high),
            method=NORMAL,
            flag=flags.join(held, vague, few) if held or has_error else _why_unknown(fit),
        )


def wide(error: float) -> str:
    """Return the flag of a Wald interval of a standard deviation, by the standard error of its logarithm."""
    return flags.NEAR_ZERO if error > VAGUE else ""


def _transformed_errors(fit: Fitted, parts: tuple[Component, ...]) -> Floats:
    """Standard errors of the logs of standard deviations, and of Fisher's z of correlations; NaN on the boundary."""
    is_sd = np.array([p.is_sd for p in parts], bool)

    def transformed(params: Floats) -> Floats:
        values = component_values(fit, params)
        return np.where(is_sd, np.log(np.abs(values)), np.arctanh(np.where(is_sd, 0.0, values)))

    with np.errstate(invalid="ignore", divide="ignore"):
        _, jacobian = delta(transformed, fit.params, fit.covariance)
        return spread(jacobian, fit.covariance)


def _held(fit: Fitted, own: Component) -> bool:
    """Whether a component is one of a column that sits on its boundary."""
    if own.t < 0 or flags.SINGULAR not in fit.notes:
        return False
    L = fit.factors()[own.t]
    edge = SMALLEST * fit.unit
    return bool(min(L[own.i, own.i], L[own.j, own.j]) < edge)


def _ratios(fit: Fitted, table: pd.DataFrame) -> pd.DataFrame:
    link = LINKS[fit.link]
    own = ((table["group"] == "fixed") & ~table["term"].isin(fit.thresholds.names)).to_numpy()
    with np.errstate(over="ignore"):
        for name in ("estimate", "conf_low", "conf_high"):
            table[name] = np.where(own, np.exp(table[name].to_numpy(dtype=float)), table[name])
    table["std_error"] = np.where(own, table["estimate"] * table["std_error"], table["std_error"])
    intercepts = ["Intercept", *(f"{c}: Intercept" for c in fit.design.categories)]
    names = np.where(table["term"].isin(intercepts), link.base, link.ratio)
    table["scale"] = np.where(own, names, link.unit)
    table.loc[table["term"].str.startswith("cor(") & ~own, "scale"] = "correlation"
    return table


def glance(fit: Fitted) -> pd.DataFrame:
    """The whole fit in one row: :meth:`judgestats.models.Fit.glance`."""
    d = fit.design
    return pd.DataFrame(
        [
            {
                **_predicts(fit),
                "loglik": fit.loglik,
                "aic": -2 * fit.loglik + 2 * fit.df,
                "bic": -2 * fit.loglik + np.log(fit.n) * fit.df,
                "n": fit.n,
                "n_groups": groups(fit),
                "converged": fit.converged,
                "engine": fit.engine,
                "method": fit.method,
                "family": fit.family,
                "link": fit.link,
                "df": fit.df,
                "df_residual": fit.n - (fit.df if d.terms or not fit.distribution.linear else fit.n_fixed),
                "deviance": -2 * fit.loglik,
                "n_rows": len(d.y),
                "n_missing": d.rows.n_missing,
                "counts": d.rows.counted or "",
                "flag": flags.join(*fit.notes, *_about_data(fit)),
            }
        ]
    )


def _predicts(fit: Fitted) -> dict[str, object]:
    """Leave-one-call-out of a sampled fit, computed once."""
    posterior = posterior_summaries.posterior_of(fit)
    if posterior is None or fit.options.weights is not None:
        return {}
    if posterior.loo is None:
        posterior.loo = crossvalidation.loo(fit).iloc[0]
    elpd = posterior.loo
    return {"elpd_loo": elpd["elpd_loo"], "elpd_error": elpd["std_error"], "elpd_unit": elpd["unit"]}


def _about_data(fit: Fitted) -> Iterator[str]:
    d = fit.design
    if d.rows.n_missing:
        yield flags.ROWS_EXCLUDED.of(d.rows.n_missing)
    if d.fixed.aliased:
        yield flags.ALIASED.of(what=", ".join(d.fixed.aliased))
    yield from d.response.notes


def groups(fit: Fitted) -> str:
    """Grouping factors with their numbers of levels."""
    sizes = {t.factor: len(t.levels) for t in fit.design.terms}
    if fit.options.clusters is not None:
        sizes[fit.options.clusters.columns] = fit.options.clusters.n
    return "; ".join(f"{name}: {size}" for name, size in sizes.items())
