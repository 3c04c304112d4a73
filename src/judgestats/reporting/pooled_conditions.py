"""Conditions that vary in a data set, and those over which the numbers of a judge are pooled."""

from __future__ import annotations

import pandas as pd

from judgestats.metrics.references import MOST_LEVELS, WAYS_OF_ASKING
from judgestats.schema.columns import CONDITIONS, VOCABULARY, Kind


def pooled_conditions(data: pd.DataFrame, kind: Kind) -> dict[str, int]:
    """Conditions in which some judge has several levels, and their numbers of levels."""
    varying = varying_conditions(data[[n for n in WAYS_OF_ASKING if n in data.columns]], kind)
    return {n: k for n, k in varying.items() if data.groupby("judge")[n].nunique().max() > 1}


def varying_conditions(data: pd.DataFrame, kind: Kind) -> dict[str, int]:
    """Conditions with more than one level: known ones, and further columns with few values, except measurements."""
    vocabulary = {c.name for c in VOCABULARY[kind]}
    n_levels = {}
    for name in data.columns:
        if name not in CONDITIONS and (name in vocabulary or pd.api.types.is_float_dtype(data[name])):
            continue
        try:
            levels = int(data[name].nunique())
        except TypeError:  # lists and dicts
            continue
        if levels > 1 and (name in CONDITIONS or levels <= MOST_LEVELS):
            n_levels[str(name)] = levels
    return n_levels
