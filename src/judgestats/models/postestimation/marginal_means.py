"""Estimated marginal means."""

from __future__ import annotations

from itertools import chain, product

import numpy as np
import pandas as pd

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose, suggestion
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.models.fitted_models import Fitted
from judgestats.models.likelihood.conditional_modes import ConditionalEffects
from judgestats.models.links import LINKS
from judgestats.models.postestimation.degrees_of_freedom import degrees_of_means, df_method
from judgestats.models.postestimation.delta_method import cautions, normal_quantile, spread, trusted
from judgestats.models.postestimation.design_shortages import interval_flags
from judgestats.models.postestimation.mean_responses import estimable, mean, rows_of
from judgestats.models.postestimation.prediction import conditional, limits, scale_of
from judgestats.models.postestimation.reference_distributions import half_width
from judgestats.models.postestimation.reference_grids import (
    OF_CLASSES,
    WEIGHTS,
    Grid,
    GridCells,
    grid,
    grid_values,
    marginal,
    typed_column,
)
from judgestats.typing import Floats, Mask
from judgestats.wording import Method


def means(fit: Fitted, cells: GridCells, scale: str = "link", conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Estimated marginal means, as R's emmeans gives them: :meth:`judgestats.models.Fit.means`."""
    normal_quantile(conf_level)
    choose(cells.random, ("none", "average", "fitted"), "random")
    if cells.random == "fitted":
        choose(cells.weights, WEIGHTS, "weights")
        return _fitted_means(fit, cells, scale, conf_level)
    cells.refuse(fit, scale, ("link", "response"))
    averaging = cells.random == "average"
    laid = grid(fit, [*chain(*cells.columns())], cells, random=averaging)
    cell_means = marginal(fit, laid, scale, random=averaging)
    value = np.where(cell_means.estimable[:, None], cell_means.value, np.nan)
    error = np.where(cell_means.estimable[:, None], spread(cell_means.gradient, trusted(fit)), np.nan)
    weights = eta_weights(fit, laid)
    df = degrees_of_means(fit, weights, cell_means.gradient)
    q = half_width(conf_level, df)
    low, width = (1, len(fit.design.categories) - 1) if scale == "mean class" else (0, 1)  # classes are 1 to J
    numbers = limits((value - low) / width, error / width, "score" if scale == "link" else scale_of(fit), q) * width
    numbers[..., [0, 2, 3]] += low
    if scale == "response" and not averaging and not fit.design.categories:
        numbers = _transformed(fit, laid, q[:, 0], cell_means.estimable)[:, None]
    J = value.shape[1]
    result = laid.cells.iloc[np.repeat(np.arange(len(value)), J)].reset_index(drop=True)
    if cell_means.labels:
        result[label_column(scale)] = list(cell_means.labels) * len(value)
    for k, name in enumerate(("estimate", "std_error", "conf_low", "conf_high")):
        result[name] = numbers[..., k].ravel()
    result.insert(result.columns.get_loc("std_error") + 1, "df", df.ravel())
    levels = [np.bincount(t.codes).astype(np.float64) for t in fit.design.terms] if averaging else []
    few = flags.few_clusters(min(levels, key=effective_clusters)) if levels else ""
    own = estimable_flags(fit, np.repeat(cell_means.estimable, J), error.ravel())
    of_df = interval_flags(fit, np.repeat(weights, J, axis=0), df.ravel())
    cautious = [flags.join(f, few, g) for f, g in zip(own, of_df, strict=True)]
    return result.assign(method=means_method(fit, scale, averaging), flag=cautious)


def _fitted_means(fit: Fitted, cells: GridCells, scale: str, conf_level: float) -> pd.DataFrame:
    """Means of the fitted responses of the levels in the data, each with its other columns as they are."""
    effects, d, columns, at = fit.effects(), fit.design, [*chain(*cells.columns())], cells.at
    if scale != "response" or d.categories:
        raise DesignError(
            "random='fitted' averages fitted responses: use scale='response', and a family of one number a row."
        )
    if not isinstance(effects, ConditionalEffects):
        raise DesignError(
            "random='fitted' needs random effects with their joint errors: a model with a random term, engine='ml'."
        )
    values = grid_values(fit, at, True)
    if unknown := [c for c in columns if c not in values]:
        raise DesignError(
            f"{unknown[0]!r} is not a column of the fixed effects of {fit.formula!r}. Allowed: "
            f"{', '.join(values) or 'none'}.{suggestion(unknown[0], values)}"
        )
    held = {c: v for c, v in values.items() if c in columns or c in (at or {})}
    columns_kept = dict.fromkeys([*values, *(c for t in d.terms for c in t.columns)])
    own = d.frame[[c for c in columns_kept if c not in held]].assign(_n=d.count * d.trials)
    if by := [c for c in own.columns if c != "_n"]:
        own = own.groupby(by, observed=True, sort=True, as_index=False)["_n"].sum()
    else:
        own = own.iloc[:1]
    calls = own.pop("_n").to_numpy(dtype=float)
    order = [*columns, *(c for c in held if c not in columns)]
    laid = pd.DataFrame(list(product(*(held[c] for c in order))), columns=order)
    frame = laid.iloc[np.repeat(np.arange(len(laid)), len(own))].reset_index(drop=True)
    frame = frame.assign(**{c: typed_column(fit, c, frame[c].tolist()) for c in order})
    frame = frame.assign(**{c: pd.concat([own[c]] * len(laid), ignore_index=True) for c in own})
    inside = len(frame) // int(np.prod([len(held[c]) for c in columns], dtype=int))
    share = np.tile(calls if cells.weights == "proportional" else np.ones(len(own)), inside // len(own))
    combinations = frame[columns].iloc[::inside].reset_index(drop=True)
    pool = np.kron(np.eye(len(combinations)), share / share.sum())
    rows = rows_of(fit, frame)
    codes, zs = list(rows.codes), list(rows.zs)
    responses = mean(fit, rows, conditional(fit, rows), effects.variance(None, zs, codes))
    value, slope = pool @ responses.value[:, 0], pool * responses.by_eta[:, 0]
    error = np.sqrt(effects.pooled_variance(rows.X, zs, codes, slope))
    is_estimable = estimable(d, frame, pool)
    numbers = np.where(is_estimable[:, None], limits(value, error, scale_of(fit), normal_quantile(conf_level)), np.nan)
    result = combinations.assign(estimate=numbers[:, 0], std_error=numbers[:, 1], df=np.inf)
    result = result.assign(conf_low=numbers[:, 2], conf_high=numbers[:, 3])
    unseen = np.atleast_1d([(pool > 0)[:, code < 0].any(axis=1) for code in codes]).max(axis=0)
    flag = [
        flags.join(f, flags.NEW_LEVEL if u else "")
        for f, u in zip(estimable_flags(fit, is_estimable, error), unseen, strict=True)
    ]
    return result.assign(
        method=methods.OF_SCALE["response"].on("mean of the fitted").on("z given these levels", "; "), flag=flag
    )


def eta_weights(fit: Fitted, laid: Grid) -> Floats:
    """(K, p') weights of the coefficients in the mean η of each cell."""
    gradient: Floats = marginal(fit, laid, "link", random=False).gradient[:, 0, : fit.n_location]
    return gradient


def _transformed(fit: Fitted, laid: Grid, q: Floats, is_estimable: Mask) -> Floats:
    """(K, 4) of responses at the mean η, with the limits of η."""
    at, link = marginal(fit, laid, "link", random=False), LINKS[fit.link]
    eta, error = at.value[:, 0], spread(at.gradient[:, 0], trusted(fit))
    value, slope, _ = link.average(eta, np.zeros_like(eta))
    ends = [link.inverse(eta + side * q * error) for side in (-1, 1)]
    return np.where(is_estimable[:, None], np.column_stack([value, slope * error, *ends]), np.nan)


def label_column(scale: str) -> str:
    """Column of the labels of the numbers of a cell."""
    return "cut" if scale in OF_CLASSES else "category"


def means_method(fit: Fitted, scale: str, averaging: bool) -> Method:
    """Scale of the means, what becomes of the random effects, and what intervals rest on."""
    response = scale == "response" or scale in OF_CLASSES
    method = methods.OF_SCALE["response"].on(scale) if scale in OF_CLASSES else methods.OF_SCALE[scale]
    if response and (averaging or fit.design.terms):
        method = method.on("averaged over random effects" if averaging else "random effects at 0")
    return method.on(df_method(fit), "; ")


def estimable_flags(fit: Fitted, is_estimable: Mask, error: Floats) -> list[str]:
    """Flags of means or contrasts (K,)."""
    own = cautions(fit, np.where(is_estimable, error, 0.0))
    return [flags.join("" if k else flags.NOT_ESTIMABLE, str(d)) for k, d in zip(is_estimable, own, strict=True)]
