"""Rows of a datasheet of ratings on the scores themselves: mean, missing scores, spread over repeats."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from judgestats import flags, methods
from judgestats.counting.cells import cells
from judgestats.counting.counts import Counts
from judgestats.counting.study import Calls, Study
from judgestats.estimate import ANY, student
from judgestats.kernels.cluster_robust import linearised_error
from judgestats.metrics.clustered import RATED, clustered_by
from judgestats.metrics.consensus.scores import score_matrix
from judgestats.metrics.consensus.stability import run_sd
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.results import estimates
from judgestats.schema.coding import codes_of, rows_of_codes
from judgestats.schema.columns import answer_column
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record


def score_rows(data: Calls, groups: list[str], options: MeasureOptions) -> pd.DataFrame:
    """Mean score (as of :func:`judgestats.score_matrix`), missing share and spread over repeats of each judge."""
    by = [g for g in groups if g != "judge"]
    present = Study.of(data).names
    column = clustered_by(data, groups, options.cluster, whole="item").column
    table = cells(data, by if column in RATED else [*by, column])
    numbered = "replicate" in present or "score" not in present
    codes = codes_of(table, groups)
    rows: list[Record] = []
    rows_of_matrix = options.call(score_matrix, data).groupby(groups, dropna=False)["estimate"].mean().reset_index()
    means = table[groups].iloc[codes.first].merge(rows_of_matrix, on=groups, how="left")  # a missing group matches
    columns, (score, runs, missing) = Factors(table), table[["mean", "runs", "n_missing"]].to_numpy(dtype=float).T
    keys, scale = means[groups].to_dict("records"), options.scale
    if scale is None and {*score[~np.isnan(score)]} == {0.0, 1.0}:
        scale = (0.0, 1.0)  # yes or no, as numbers
    for key, own, value in zip(keys, rows_of_codes(codes.code, codes.size), means["estimate"], strict=True):
        averaged = flags.SEVERAL_AVERAGED if not numbered and (runs[own] > 1).any() else ""
        own_columns, level = columns.take(own), options.conf_level
        rows.append({**key, **mean_of_scores(own_columns, score[own], value, level, averaged, column, scale)})
        counts = Counts.of(pd.DataFrame({"n": [float(runs[own].sum()), float(missing[own].sum())]}))
        (row,) = counts.inferred(options.conf_level).rates("missing", np.array([False, True]))
        rows.append({**key, **row})
    rows += options.call(run_sd, data, ratios=False).to_dict("records")
    return estimates(rows, groups)


def missing_rows(data: Calls, groups: list[str], conf_level: float) -> pd.DataFrame:
    """Share of the rows of each judge without a score."""
    columns = Study.of(data).columns
    lost = columns.series(answer_column(columns.names)).isna().to_numpy(dtype=float)
    table = columns.frame(groups).assign(lost=lost, n=1.0).groupby(groups, dropna=False)[["lost", "n"]].sum()
    rows: list[Record] = []
    for key, (n_lost, n) in zip(table.index.to_frame(index=False).to_dict("records"), table.to_numpy(), strict=True):
        counts = Counts.of(pd.DataFrame({"n": [n - n_lost, n_lost]})).inferred(conf_level)
        rows += [{**key, **row} for row in counts.rates("missing", np.array([False, True]))]
    return estimates(rows, groups)


def mean_of_scores(
    about: Factors,
    score: Floats,
    value: float,
    conf_level: float,
    averaged: str = "",
    column: str = "item",
    scale: tuple[float, float] | None = None,
) -> Record:
    """Cells for a known mean over systems of means over items, with a t interval clustered by a column.

    `about`: what each score (N,) is of, NaN where it is missing; `scale`: between which scores the mean is.
    """
    there = ~np.isnan(score)
    about, score = about.take(there), score[there]
    thing = about.codes(list(dict.fromkeys(["system", "item", column])))
    method = methods.MEAN_OVER_SYSTEMS.on(f"t clustered by {column}")
    row: Record = {"term": "mean_score", "n": thing.size, "method": method}
    if not thing.size:
        return {**row, "estimate": math.nan, "flag": flags.NO_DATA}
    mean = np.bincount(thing.code, score) / np.bincount(thing.code)
    system, cluster = (about.codes([name]).code[thing.first] for name in ("system", column))
    items, size = np.bincount(system), np.bincount(cluster).astype(np.float64)
    gap = mean - (np.bincount(system, mean) / items)[system]
    flag = flags.join(flags.few_clusters(size), averaged)
    if column != "item" and (unknown := int(about[column].among(None)[thing.first].sum())):
        return {**row, "estimate": value, "flag": flags.join(flags.CLUSTER_MISSING.of(unknown, what=column), averaged)}
    influence: Floats = np.bincount(cluster, gap / (items.size * items[system])).astype(np.float64)
    error, df = linearised_error(influence, size)
    bounds = scale or ANY
    return {**row, **student(value, error, df, conf_level=conf_level, method=method, flag=flag, bounds=bounds).cells}
