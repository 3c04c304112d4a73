"""Average marginal effects, random effects integrated out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, suggestion
from judgestats.models.coding.factor_levels import label
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.degrees_of_freedom import (
    CLUSTERS,
    NORMAL,
    OF_VARIANCES,
    RESIDUAL,
    degrees,
    degrees_of_means,
    df_method,
    df_rule,
)
from judgestats.models.postestimation.delta_method import cautions, normal_quantile, spread, trusted
from judgestats.models.postestimation.design_shortages import interval_flags
from judgestats.models.postestimation.mean_responses import CodedRows, Pool, estimable, gradient, mean, parted, rows_of
from judgestats.models.postestimation.prediction import scale_of
from judgestats.models.postestimation.reference_distributions import half_width, two_sided
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Mask

UNITS = {"probability": "percentage points", "count": "count", "score": "score"}
NUMBERS = ("estimate", "std_error", "statistic", "df", "p_value", "conf_low", "conf_high")
COLUMNS = ("variable", "term", "category", *NUMBERS, "unit", "method", "flag")
#: A step of the derivative, in ranges of the variable.
STEP = 1e-4


@dataclass(frozen=True)
class _Effect:
    """One effect: the difference of two tables of rows, over a step."""

    variable: str
    term: str
    above: pd.DataFrame
    below: pd.DataFrame
    step: Floats


def margins(fit: Fitted, variables: By = None, *, by: By = (), conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.margins`."""
    normal_quantile(conf_level)
    d = fit.design
    groups = grouping(by, d.frame.columns, "formula's columns")
    frame, weight = _distinct(fit, groups)
    chosen = _asked(fit, frame, variables)
    keys, pool = _pool(frame, weight, groups)
    tables = [_table(fit, own, keys, pool, groups, conf_level) for v in chosen for own in _effects(fit, frame, v)]
    tables = [t for t in tables if t is not None]
    if not tables:
        raise DesignError(f"{fit.formula!r} has no variables, so that there is no effect. Add one, or use predict().")
    result = pd.concat(tables, ignore_index=True)
    if groups:
        result = result.sort_values(groups, kind="stable", ignore_index=True)
    return result if d.categories else result.drop(columns="category")


def _used(fit: Fitted) -> list[str]:
    """Columns of the right side but the grouping factors."""
    d = fit.design
    return list(dict.fromkeys([*(c for coder in d.coders for c in coder.columns), *parted(fit)]))


def _distinct(fit: Fitted, groups: Sequence[str]) -> tuple[pd.DataFrame, Floats]:
    """Distinct rows of the relevant columns, with the number of calls of each."""
    d = fit.design
    used = list(dict.fromkeys([*_used(fit), *groups]))
    weight = d.count * d.trials
    if not used:
        return d.frame.iloc[:1][[]], np.array([weight.sum()])
    number = d.frame.groupby(used, observed=True, sort=True).ngroup().to_numpy()
    _, first = np.unique(number, return_index=True)
    return d.frame[used].iloc[first].reset_index(drop=True), np.asarray(np.bincount(number, weight), float)


def _asked(fit: Fitted, frame: pd.DataFrame, variables: By) -> list[str]:
    if variables is None:
        return [c for c in fit.design.fixed.coder.columns if c in frame.columns]
    allowed = _used(fit)
    chosen = list(dict.fromkeys(names(variables)))
    for name in chosen:
        if name not in allowed:
            raise DesignError(
                f"variables={name!r} is no variable of {fit.formula!r}. Allowed: {', '.join(allowed)}."
                f"{suggestion(name, allowed)}"
            )
    return chosen


def levels_of(fit: Fitted, variable: str) -> tuple[object, ...]:
    """Return the levels of a variable, none for a number."""
    d = fit.design
    for own in d.coders:
        if variable in own.factors:
            return own.factors[variable]
    values = d.frame[variable]
    if isinstance(values.dtype, pd.CategoricalDtype):
        return tuple(values.cat.remove_unused_categories().cat.categories)
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return ()
    return tuple(sorted(pd.unique(values)))


def set_to(frame: pd.DataFrame, variable: str, level: object) -> pd.DataFrame:
    """Return the frame with a column at one level."""
    dtype = frame[variable].dtype
    return frame.assign(**{variable: pd.Series([level] * len(frame), index=frame.index, dtype=dtype)})


def _effects(fit: Fitted, frame: pd.DataFrame, variable: str) -> list[_Effect]:
    levels = _reference_first(fit, frame, variable, levels_of(fit, variable))
    if levels:
        ones, base = np.ones(len(frame)), set_to(frame, variable, levels[0])
        terms = [f"{variable}[{label(level)}]" for level in levels]
        return [
            _Effect(variable, f"{name} - {terms[0]}", set_to(frame, variable, level), base, ones)
            for name, level in zip(terms[1:], levels[1:], strict=True)
        ]
    above, below = _around(fit, frame, variable)
    return [_Effect(variable, variable, above, below, above[variable].to_numpy() - below[variable].to_numpy())]


def _reference_first(fit: Fitted, frame: pd.DataFrame, variable: str, levels: tuple[object, ...]) -> tuple[object, ...]:
    """The levels, the one that the coding has as its reference before the others."""
    own = fit.design.fixed.coder
    if variable not in own.terms or not levels:
        return levels
    columns = own.terms[variable]
    for level in levels:
        if not own.matrix(set_to(frame.iloc[:1], variable, level))[:, columns].any():
            return (level, *(other for other in levels if other != level))
    return levels


def _around(fit: Fitted, frame: pd.DataFrame, variable: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows a step above and a step below; nearer to 0 where the coding bends, as a logarithm does."""
    x = frame[variable].to_numpy(dtype=float)
    reach = float(np.ptp(x)) or 1.0
    wide = STEP * np.clip(np.abs(x), 1e-3 * reach, reach)
    coders = fit.design.coders

    def coded(values: Floats) -> Floats:
        moved = frame.assign(**{variable: values})
        return np.concatenate([c.matrix(moved) for c in coders if c.names], axis=1)

    up, at, down = (coded(x + side * wide) for side in (1, 0, -1))
    with np.errstate(invalid="ignore"):
        straight = (np.abs(up + down - 2 * at) <= 1e-3 * np.abs(up - down) + 1e-12 * np.abs(at)).all(axis=1)
    step = np.where(straight | (x == 0), wide, np.minimum(wide, STEP * np.abs(x)))
    return frame.assign(**{variable: x + step}), frame.assign(**{variable: x - step})


def _pool(frame: pd.DataFrame, weight: Floats, groups: Sequence[str]) -> tuple[pd.DataFrame, Pool]:
    """The groups, and the weight of each row in them."""
    from scipy.sparse import csr_array

    if not groups:
        return pd.DataFrame(index=[0]), csr_array(weight[None] / weight.sum())
    number = frame.groupby(list(groups), observed=True, sort=True).ngroup().to_numpy()
    _, first = np.unique(number, return_index=True)
    share = weight / np.bincount(number, weight)[number]
    pool = csr_array((share, (number, np.arange(len(frame)))), shape=(len(first), len(frame)))
    return frame[list(groups)].iloc[first].reset_index(drop=True), pool


def _table(
    fit: Fitted, effect: _Effect, keys: pd.DataFrame, pool: Pool, groups: Sequence[str], level: float
) -> pd.DataFrame | None:
    """Rows of one effect; None if the variable is in the fixed effects as an offset only."""
    above, below = (rows_of(fit, own, groups=False) for own in (effect.above, effect.below))
    still = [
        a is b or (a == b).all()
        for a, b in zip((above.X, *above.zs, above.part), (below.X, *below.zs, below.part), strict=True)
    ]
    if all(still):
        return None
    weights = pool.multiply(1 / effect.step[None]).tocsr()
    value: Any = 0.0
    slope: Any = 0.0
    for rows, sign in ((above, 1.0), (below, -1.0)):
        responses = mean(fit, rows, rows.eta(fit), rows.variance(fit))
        value = value + sign * (weights @ responses.value)
        slope = slope + sign * gradient(fit, rows, responses, weights)
    unit = UNITS["probability" if fit.engine == "lpm" else scale_of(fit)]
    scale = 100.0 if unit == "percentage points" else 1.0
    is_estimable = _known(fit, effect, pool)
    estimate = np.where(is_estimable[:, None], scale * value, np.nan)
    error = np.where(is_estimable[:, None], scale * spread(slope, trusted(fit)), np.nan)
    J = estimate.shape[1]
    result = keys.iloc[np.repeat(np.arange(len(keys)), J)].reset_index(drop=True)
    undefined = np.repeat(is_estimable, J) & np.isnan(estimate.ravel())
    where = np.where(undefined, flags.NO_DERIVATIVE, np.repeat(np.where(is_estimable, "", flags.NOT_ESTIMABLE), J))
    own = cautions(fit, np.where(np.isnan(estimate.ravel()), 0.0, error.ravel()))
    df, of_df = _degrees(fit, above, below, weights, slope)
    numbers = inference(estimate.ravel(), error.ravel(), df, level)
    cells = {
        "variable": effect.variable,
        "term": effect.term,
        "category": list(fit.design.categories or ("",)) * len(keys),
    }
    method = (methods.AVERAGED if fit.design.terms else methods.AVERAGE).on(df_method(fit), "; ")
    flag = [flags.join(str(a), str(b), c) for a, b, c in zip(where, own, of_df, strict=True)]
    return result.assign(**cells, **numbers, unit=unit, method=method, flag=flag)[[*groups, *COLUMNS]]


def _known(fit: Fitted, effect: _Effect, pool: Pool) -> Mask:
    """Whether both sides of an effect are estimable, in each group."""
    if not fit.design.fixed.aliased or np.ptp(effect.step) > 0 or effect.term == effect.variable:
        return np.ones(pool.shape[0], bool)
    unknown = ~(estimable(fit.design, effect.above) & estimable(fit.design, effect.below))
    return np.asarray(pool @ unknown.astype(float) == 0)


def _degrees(fit: Fitted, above: CodedRows, below: CodedRows, weights: Pool, slope: Floats) -> tuple[Floats, list[str]]:
    """Degrees of freedom of an effect, category by category, and their flags.

    Between levels by what it changes in each row: a mean may cancel.
    """
    moved, J = above.X - below.X, slope.shape[1]
    if df_rule(fit) in (*OF_VARIANCES, RESIDUAL, CLUSTERS, NORMAL):
        rows = weights @ moved
        df = degrees_of_means(fit, rows, slope).ravel()
        return df, interval_flags(fit, np.repeat(rows, J, axis=0), df)
    rows = np.zeros((len(moved), fit.n_location))
    rows[:, : fit.n_fixed] = moved
    rows[:, fit.n_fixed :] = (above.part != below.part)[:, None]
    df = degrees(fit, rows)
    of_df = np.array(interval_flags(fit, rows, df), dtype=object)
    groups = np.split(weights.indices, weights.indptr[1:-1])
    least, cells = [df[own].min(initial=np.inf) for own in groups], [flags.join(*of_df[own]) for own in groups]
    return np.repeat(least, J), [cell for cell in cells for _ in range(J)]


def inference(estimate: Floats, error: Floats, df: Floats, conf_level: float) -> dict[str, Floats]:
    """Estimates (M,) with standard error, t or z, degrees of freedom, p value and limits, by column."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = estimate / error
    statistic = np.where(error > 0, statistic, np.nan)
    half = half_width(conf_level, df) * error
    values = (estimate, error, statistic, df, two_sided(statistic, df), estimate - half, estimate + half)
    return dict(zip(NUMBERS, values, strict=True))
