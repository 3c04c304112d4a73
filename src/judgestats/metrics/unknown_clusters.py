"""Calls whose cluster is not known: a result without an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import TypeVar, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.clustering import clusters
from judgestats.counting.study import Study
from judgestats.schema.columns import COUNTS, N

F = TypeVar("F", bound=Callable[..., object])

#: Columns of a result that rest on which calls go together, and the term whose estimate does.
_DEPENDENT = ("std_error", "conf_low", "conf_high", "p_value", "p_adjusted", "passed")
_DECIDED = "winning_rate"


def without_unknown_clusters(function: F, stimuli: tuple[str, ...] = ()) -> F:
    """Wrap a measure so that it gives no interval where some calls lack a label of a column named in ``cluster=``.

    Such calls may be in any of the clusters, or in one of their own. `stimuli`: those that the measure counts.
    """
    parameters = signature(function).parameters
    if "cluster" not in parameters:
        return function
    default = parameters["cluster"].default

    @wraps(function)
    def checked(*args: object, **options: object) -> object:
        cluster = options.get("cluster", default)
        columns = clusters(cluster) if cluster is not None else ()
        if not columns:
            return function(*args, **options)
        counted = (str(options["stimulus"]),) if options.get("stimulus") else stimuli
        unknown = sum(_without_label(frame, columns, counted) for frame in (*args, *options.values()))
        result = function(*args, **(options | {"cluster": False} if unknown else options))
        if not unknown or not isinstance(result, pd.DataFrame) or "conf_low" not in result:
            return result
        result[[c for c in _DEPENDENT if c in result]] = np.nan
        result["estimate"] = result["estimate"].where(result["term"] != _DECIDED)
        reason = flags.CLUSTER_MISSING.of(unknown, what=" and ".join(columns))
        others = (flags.without(flag, flags.NOT_INDEPENDENT) for flag in result["flag"])
        return result.assign(flag=[flags.join(reason, other) for other in others])

    return cast(F, checked)


def _without_label(frame: object, columns: Iterable[str], stimuli: Iterable[str]) -> int:
    """Number of rows of a frame that stand for calls without a label in one of these columns; 0 of what is no frame."""
    study = Study.of_any(frame)
    if study is None or not {*study.names}.issuperset(columns):
        return 0
    names = study.names
    wanted = [*columns, *(c for c in ("stimulus", COUNTS, N) if c in names)]
    if study.lazy:
        absent = nw.any_horizontal(*(nw.col(c).is_null() for c in columns), ignore_nulls=True)
        table = study.data.select(*dict.fromkeys(wanted)).filter(absent).collect(backend="pandas").to_native()
    else:
        absent = np.any([study.columns.series(c).isna() for c in columns], axis=0)
        if not absent.any():
            return 0
        table = study.columns.take(absent).frame(list(dict.fromkeys(wanted)))
    if stimuli and "stimulus" in names:
        table = table[table["stimulus"].isin(list(stimuli))]
    return int((table[[c for c in (COUNTS, N) if c in table]] != 0).all(axis=1).sum())
