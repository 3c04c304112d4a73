"""Random effects level by level, and how the latent variance divides among factors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose
from judgestats.models.designs import RandomTerm
from judgestats.models.fitted_models import Fitted
from judgestats.models.formula import coder
from judgestats.models.links import LINKS
from judgestats.models.ml import fit_design
from judgestats.models.postestimation.coefficient_tables import tidy
from judgestats.models.postestimation.delta_method import cautions, delta, normal_quantile, spread
from judgestats.models.postestimation.prediction import ESTIMATES, limits, refuse_classes
from judgestats.models.variance_parameters import RESIDUAL
from judgestats.typing import Floats

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


def random_effects(fit: Fitted, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Conditional modes of the random effects, with intervals: :meth:`judgestats.models.Fit.random_effects`."""
    z = normal_quantile(conf_level)
    if not fit.design.terms:
        raise DesignError(
            f"{fit.formula!r} by engine={fit.engine!r} has no random terms. Write one, (1|item) say, and use "
            "engine='ml'."
        )
    effects = fit.effects()
    if flags.PERFECT_FIT in fit.notes:
        raise DesignError(
            f"{fit.formula!r} has no random effects: {flags.PERFECT_FIT}. {flags.PERFECT_FIT.explanation}"
        )
    if effects is None:
        raise DesignError(f"engine={fit.engine!r} gives no random effects. Use engine='ml'.")
    parts = [_level_rows(*own, z) for own in zip(fit.design.terms, effects.modes, effects.spreads, strict=True)]
    return pd.concat(parts, ignore_index=True)


def _level_rows(term: RandomTerm, modes: Floats, spreads: Floats, z: float) -> pd.DataFrame:
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
        "flag": np.where(variance == 0, flags.SINGULAR, "").astype(object),
    }
    return pd.DataFrame(columns)[list(EFFECTS)]


def variance_components(fit: Fitted, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.variance_components`."""
    z = normal_quantile(conf_level)
    refuse_classes(fit, "variance_components()", "tidy()")
    labels = [(t.factor, name) for t in fit.design.terms for name in t.names] + [(RESIDUAL, RESIDUAL)]

    def shares(params: Floats) -> Floats:
        variances = contributions(fit, params)
        total = variances[len(labels) - 1 :].sum()  # the residual, and what each factor adds
        return np.asarray(variances / total, float)

    with np.errstate(divide="ignore", invalid="ignore"):
        share, jacobian = delta(shares, fit.params, fit.covariance)
        error = spread(jacobian, fit.covariance)
        half = error / (share * (1 - share))
    low, high = limits(share, error, "probability", z)[:, 2:].T
    rows = _own_rows(fit, labels, conf_level)
    added = contributions(fit, fit.params)[len(labels) :]
    factors = dict.fromkeys(t.factor for t in fit.design.terms)
    rows += [{"group": g, "term": ICC, "variance": v} for g, v in zip(factors, added, strict=True)]
    for k, row in enumerate(rows):
        has_error = np.isfinite(half[k]) and half[k] > 0
        ends = (low[k], high[k]) if has_error else (np.nan, np.nan)
        zero = flags.SINGULAR if row["variance"] == 0 else flags.NO_ERRORS if fit.design.terms and not has_error else ""
        zero = flags.PERFECT_FIT if flags.PERFECT_FIT in fit.notes else zero
        row |= {"share": share[k], "share_low": ends[0], "share_high": ends[1]}
        row |= {"method": LINKS[fit.link].latent_method, "flag": flags.join(row.get("flag", ""), zero)}
    return pd.DataFrame(rows, columns=list(COMPONENTS))


def _own_rows(fit: Fitted, labels: list[tuple[str, str]], conf_level: float) -> list[dict[str, Any]]:
    """Standard deviations with their intervals."""
    table = tidy(fit, conf_level=conf_level, effects="random").set_index("term")
    rows = []
    for group, name in labels:
        key = "sd(residual)" if group == RESIDUAL else f"sd({name}|{group})"
        row: dict[str, Any] = {"group": group, "term": name}
        if key in table.index:
            component = table.loc[key]
            row |= {"sd": component["estimate"], "sd_low": component["conf_low"], "sd_high": component["conf_high"]}
            row["flag"] = component["flag"]
        else:
            row["sd"] = float(np.sqrt(contributions(fit, fit.params)[len(labels) - 1]))
        row["variance"] = row["sd"] ** 2
        rows.append(row)
    return rows


def r2(fit: Fitted, rate: str = "mean", conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.r2`."""
    z, d, link = normal_quantile(conf_level), fit.design, LINKS[fit.link]
    choose(rate, ("mean", "median"), "rate")
    refuse_classes(fit, "r2()", "tidy()")
    if not d.terms:
        raise DesignError(
            f"{fit.formula!r} has no random terms, and R² of Nakagawa is of mixed models. Write (1|item)."
        )
    factors = {t.factor: len(t.levels) for t in d.terms}
    of_calls = np.array([levels == d.n for levels in factors.values()])  # a level for each row: overdispersion
    count = (
        fit.distribution.latent(link, _null_rate(fit, rate), fit.shape(fit.params)) if link.scale == "count" else None
    )

    def shares(params: Floats) -> Floats:
        variances, eta = contributions(fit, params), d.X @ params[: fit.n_fixed]
        fixed = d.count @ (eta - d.count @ eta / d.n) ** 2 / (d.n - 1)
        added = variances[-len(factors) :]
        residual = variances[-len(factors) - 1] if count is None else count
        explained = np.array([fixed, fixed + added[~of_calls].sum()])
        return np.asarray(explained / (fixed + added.sum() + residual), np.float64)

    share, jacobian = delta(shares, fit.params, fit.covariance)
    error = spread(jacobian, fit.covariance)
    cells = limits(share, error, "probability", z)
    columns = {**dict(zip(ESTIMATES[:4], cells.T, strict=True)), "method": link.latent_method}
    flag = [flags.join(f, flags.SINGULAR if flags.SINGULAR in fit.notes else "") for f in cautions(fit, error)]
    return pd.DataFrame({"term": ["marginal", "conditional"], **columns, "flag": flag})


def _null_rate(fit: Fitted, rate: str) -> float:
    """Expected count of the model without fixed effects: its mean over rows and random effects, or at effects of 0."""
    d, one = fit.design, coder("1", fit.design.frame)
    fixed = replace(d.fixed, coder=one, X=np.ones((len(d.y), 1)))
    null = fit_design(replace(fit.model, design=replace(d, fixed=fixed)))
    if rate == "median":
        return float(np.exp(null.beta[0]))
    random = contributions(null, null.params)[-len({t.factor for t in d.terms}) :].sum()
    means = LINKS[fit.link].average(null.beta[0] + d.offset, np.full(len(d.y), random))[0]
    return float(np.average(means, weights=d.count))


def contributions(fit: Fitted, params: Floats) -> Floats:
    """What each column of each term, the residual, and each factor as a whole add to the variance of a call, (K,)."""
    d, covariances = fit.design, fit.covariances(params)
    weight = d.count / d.count.sum()
    own, added = [], dict.fromkeys([t.factor for t in d.terms], 0.0)
    for term, C in zip(d.terms, covariances, strict=True):
        moments = (term.values * weight[:, None]).T @ term.values
        own += list(np.diag(C) * np.diag(moments))
        added[term.factor] += float((C * moments).sum())
    return np.array([*own, _residual(fit, params, sum(added.values())), *added.values()])


def _residual(fit: Fitted, params: Floats, random: float) -> float:
    """Variance of a call on the scale of the linear predictor."""
    d, link = fit.design, LINKS[fit.link]
    eta = d.X @ params[: fit.n_fixed] + d.offset
    mean = link.average(eta, np.full(len(eta), random))[0] if link.scale == "count" else eta
    return fit.distribution.latent(link, float(d.count @ mean / d.count.sum()), fit.shape(params))
