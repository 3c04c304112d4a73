"""How much of the agreement is the shared rubric's? :func:`rubric_share`."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError, choose
from judgestats.metrics.agreement.blocks import UNITS, Unit
from judgestats.metrics.agreement.draws import METHODS, Method, from_draws, mean_defined, plan_of
from judgestats.metrics.agreement.shifts import NOT_POSITIVE, matched, two_sides, words
from judgestats.results import NO_DATA, UNBOUNDED, estimates, flags
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, names

_INTERVAL = ("std_error", "conf_low", "conf_high")


def rubric_share(
    free: Any,
    shared: Any,
    *,
    by: By = (),
    average_over: By = (),
    cell: By = (),
    unit: Unit = "item",
    method: Method = "pearson",
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Share of the agreement that goes when the judges no longer share the structure of a rubric.

    Parameters
    ----------
    free : frame or float
        Ratings under rubrics of the judges' own, or their mean correlation.
    shared : frame or float
        Ratings under the shared structure, or their mean correlation.
    by, average_over, cell, unit, method, cluster, n_resamples, seed, conf_level
        As in :func:`agreement_shift`.

    Returns
    -------
    pandas.DataFrame
        Term ``rubric_share``, (r̄_shared - r̄_free) / r̄_shared, and the columns ``free`` and ``shared``. NaN where
        r̄_shared is not positive; without an interval where that of r̄_shared reaches 0.

    Raises
    ------
    DesignError, SchemaError
        As :func:`agreement_shift`.

    Notes
    -----
    Descriptive: correlations do not add up to a total. Above 1 where the judges disagree under their own rubrics.

    Source: consensus_illusion paper, Section 3.3: (0.6225 - 0.239) / 0.6225.

    Examples
    --------
    >>> rubric_share(0.239, 0.6225)[["term", "estimate", "free", "shared"]].round(3)
               term  estimate   free  shared
    0  rubric_share     0.616  0.239   0.622
    """
    if isinstance(free, Real) and isinstance(shared, Real):
        free, shared = float(free), float(shared)
        value = (shared - free) / shared if shared > 0 else math.nan
        doubt = NO_DATA if math.isnan(shared - free) else NOT_POSITIVE if not shared > 0 else ""
        row = {"term": "rubric_share", "estimate": value, "free": free, "shared": shared, "flag": doubt}
        if names(average_over):
            raise DesignError("average_over= is of ratings, and these are two correlations. Leave it out.")
        return estimates([row], (), ["free", "shared"])
    if isinstance(free, Real) or isinstance(shared, Real | list | tuple):
        raise DesignError("rubric_share takes two tables of ratings, or two correlations, not one of each.")
    choose(method, METHODS, "method")
    choose(unit, UNITS, "unit")
    data = two_sides(free, shared, "", by, cell, cluster, unit, average_over)
    plan = plan_of(data.cluster, n_resamples, seed, conf_level)
    rows = []
    for block in data.blocks:
        both = matched(block, method, plan)
        low, high = mean_defined(mean_defined(both.r))
        draws = mean_defined(mean_defined(both.draws))
        with np.errstate(divide="ignore", invalid="ignore"):
            cells = from_draws(float((high - low) / high), 1 - draws[:, 0] / draws[:, 1], block.n_units, plan)
        if not high > 0:
            cells |= dict.fromkeys(("estimate", *_INTERVAL), math.nan) | {"flag": NOT_POSITIVE}
        elif not from_draws(float(high), draws[:, 1], block.n_units, plan)["conf_low"] > 0:
            cells |= dict.fromkeys(_INTERVAL, math.nan) | {"flag": UNBOUNDED}
        cells |= {"method": words(both.paired, plan), "n": block.n_units, "term": "rubric_share"}
        cells["flag"] = flags(cells["flag"], both.told(plan.cluster[0]), data.told)
        rows.append({**block.key, **cells, "free": float(low), "shared": float(high)})
    return estimates(rows, data.groups, ["free", "shared"])
