"""Contrasts of marginal means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose, suggestion
from judgestats.models.coding.factor_levels import label
from judgestats.models.fitted_models import Fitted
from judgestats.models.links import LINKS
from judgestats.models.postestimation.degrees_of_freedom import degrees_of_means
from judgestats.models.postestimation.delta_method import normal_quantile, spread, trusted
from judgestats.models.postestimation.design_shortages import interval_flags
from judgestats.models.postestimation.marginal_effects import NUMBERS, inference
from judgestats.models.postestimation.marginal_means import (
    estimable_flags,
    eta_weights,
    label_column,
    means_method,
)
from judgestats.models.postestimation.mean_responses import estimable
from judgestats.models.postestimation.multiplicity import ADJUSTMENTS, adjusted
from judgestats.models.postestimation.reference_grids import Grid, GridCells, Means, grid, marginal
from judgestats.typing import Floats

#: Ratio -> the link that it belongs to.
RATIOS = {link.ratio: link.name for link in LINKS.values() if link.ratio}


@dataclass(frozen=True)
class Comparison:
    """Which contrasts, and how several are adjusted."""

    method: str | Mapping[str, object] = "pairwise"
    baseline: object = None
    adjust: str = "holm"


def contrasts(
    fit: Fitted, cells: GridCells, comparison: Comparison, scale: str = "link", conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Contrasts of marginal means: :meth:`judgestats.models.Fit.contrasts`."""
    normal_quantile(conf_level)
    adjust = choose(comparison.adjust, ADJUSTMENTS, "adjust")
    cells.refuse(fit, scale, ("link", *RATIOS, "response"))
    if scale in RATIOS and fit.link != RATIOS[scale]:
        raise DesignError(
            f"scale={scale!r} is for link={RATIOS[scale]!r}; this model has {fit.link!r}. Use scale='link'."
        )
    if adjust == "tukey" and comparison.method != "pairwise":
        raise DesignError("adjust='tukey' is for method='pairwise'. Use 'dunnett' for others, or 'holm'.")
    own, within = cells.columns()
    averaging = cells.random == "average"
    laid = grid(fit, [*within, *own], cells, random=averaging)
    cell_means = marginal(fit, laid, "link" if scale in RATIOS else scale, random=averaging)
    size = int(np.prod([laid.cells[c].nunique() for c in own]))
    weights = _weights(laid.cells[own].iloc[:size], comparison.method, comparison.baseline)
    tables = []
    for first in range(0, len(laid.cells), size):
        family = slice(first, first + size)
        part = _family(fit, laid, cell_means, family, weights, adjust, scale, conf_level)
        for name in within[::-1]:
            part.insert(0, name, [laid.cells[name].iloc[first]] * len(part))
        tables.append(part)
    result = pd.concat(tables, ignore_index=True).assign(adjust=adjust, method=means_method(fit, scale, averaging))
    category = [label_column(scale)] if cell_means.labels else []
    return result[[*within, "term", *category, *NUMBERS, "adjust", "method", "flag"]]


def _family(
    fit: Fitted,
    laid: Grid,
    cell_means: Means,
    family: slice,
    weights: tuple[list[str], Floats],
    adjust: str,
    scale: str,
    level: float,
) -> pd.DataFrame:
    """Contrasts that are adjusted together, for each category."""
    names, C = weights
    is_estimable = estimable(fit.design, laid.frame, C @ laid.pool[family])
    rows = C @ eta_weights(fit, laid)[family]
    tables = []
    for j in range(cell_means.value.shape[1]):
        slope = np.tensordot(C, cell_means.gradient[family, j], axes=1)
        df = degrees_of_means(fit, rows, slope[:, None])[:, 0]
        of_df = interval_flags(fit, rows, df)
        estimate = np.where(is_estimable, C @ cell_means.value[family, j], np.nan)
        error = np.where(is_estimable, spread(slope, trusted(fit)), np.nan)
        numbers = inference(estimate, error, df, level)
        joint = slope @ np.where(np.isfinite(trusted(fit)), trusted(fit), 0.0) @ slope.T
        p, q = adjusted(numbers["statistic"], adjust, level, int(cell_means.estimable[family].sum()), joint, df)
        numbers |= {"p_value": p, "conf_low": estimate - q * error, "conf_high": estimate + q * error}
        if scale in RATIOS:
            ratio = {k: np.exp(numbers[k]) for k in ("estimate", "conf_low", "conf_high")}
            numbers |= {**ratio, "std_error": ratio["estimate"] * error}
        flag = [flags.join(*pair) for pair in zip(estimable_flags(fit, is_estimable, error), of_df, strict=True)]
        part = pd.DataFrame({"term": names, **numbers, "flag": flag})
        if cell_means.labels:
            part[label_column(scale)] = cell_means.labels[j]
        tables.append(part)
    return pd.concat(tables, ignore_index=True)


def _weights(cells: pd.DataFrame, method: str | Mapping[str, object], baseline: object) -> tuple[list[str], Floats]:
    """Names of contrasts, and their weights of the cells, which are named ``strategy[S8]:judge[a]``."""
    columns = [[f"{c}[{(f'{v:.6g}' if isinstance(v, float) else label(v))}]" for v in cells[c]] for c in cells]
    labels, K = [":".join(several) for several in zip(*columns, strict=True)], len(cells)
    places = {":".join(label(v) for v in row): k for k, row in enumerate(cells.itertuples(index=False))}
    if not isinstance(method, str):
        if not isinstance(method, Mapping) or not method:
            raise DesignError(
                f"method={method!r} is not known. Allowed: 'pairwise', 'baseline', or a mapping of names to weights."
            )
        return [str(n) for n in method], np.array([_own_weights(n, w, places) for n, w in method.items()])
    choose(method, ("pairwise", "baseline"), "method")
    if K < 2:
        raise DesignError(
            f"There is one mean, {labels[0]}: nothing to compare it with. Name a factor in specs, or values in at."
        )
    if method == "pairwise":
        pairs = [(a, b) for a in range(K) for b in range(a + 1, K)]
    else:
        base = 0 if baseline is None else _place(baseline, places, "baseline")
        pairs = [(a, base) for a in range(K) if a != base]
    unit = np.eye(K)
    return [f"{labels[a]} - {labels[b]}" for a, b in pairs], np.array([unit[a] - unit[b] for a, b in pairs])


def _place(level: object, places: Mapping[str, int], what: str) -> int:
    name = ":".join(label(v) for v in level) if isinstance(level, (tuple, list)) else label(level)
    if name not in places:
        raise DesignError(f"{what}={level!r} is no level. Allowed: {', '.join(places)}.{suggestion(name, places)}")
    return places[name]


def _own_weights(name: str, weights: object, places: Mapping[str, int]) -> Floats:
    result = np.zeros(len(places))
    if isinstance(weights, Mapping):
        for level, weight in weights.items():
            result[_place(level, places, f"method[{name!r}]")] = float(weight)
        return result
    values = np.asarray(weights, float)
    if values.shape != result.shape:
        raise DesignError(f"method[{name!r}] has {values.size} weights for {len(places)} cells: {', '.join(places)}.")
    return values
