"""Rows of a ratings datasheet that are about the scores themselves: mean, gaps, spread over repeats."""

from __future__ import annotations

import math
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from scipy.special import stdtrit

from judgestats.metrics.consensus import score_matrix
from judgestats.metrics.rates import rates
from judgestats.results import FEW_CLUSTERS, NO_DATA, ONE_UNIT, SINGLE_RUN, estimates, flags
from judgestats.schema.cells import cells
from judgestats.schema.coding import codes_of

#: Flag of a mean in which several scores of one cell were averaged that no `replicate` numbers.
AVERAGED = "several scores of one thing averaged"


def score_rows(data: Any, groups: list[str], conf_level: float) -> pd.DataFrame:
    """Mean score, missing share and spread over repeats of each judge.

    Parameters
    ----------
    data : frame
        Ratings.
    groups : list of str
        ``judge`` and the further grouping columns.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        ``mean_score``: criteria are averaged within an item, items within a system, and systems weigh alike, so that it
        is the mean of the judge's row of :func:`judgestats.score_matrix`; its interval clusters by item. ``missing``:
        share of the scores asked for that are not there. ``run_sd``: root mean square of the standard deviations over
        ``replicate`` (or of those given with means); without repeats NaN, flagged ``single run``.
    """
    by = [g for g in groups if g != "judge"]
    present = nw.from_native(data).collect_schema().names()
    table = cells(data, by)
    numbered = "replicate" in present or "score" not in present
    spread = table if numbered else table.assign(sd=math.nan)
    codes, of_spread = codes_of(table, groups), codes_of(spread, groups)
    rows: list[dict[str, Any]] = []
    rows_of_matrix = score_matrix(data, by=by).groupby(groups, dropna=False)["estimate"].mean().reset_index()
    means = table[groups].iloc[codes.first].merge(rows_of_matrix, on=groups, how="left")  # a missing group matches
    for g, key in enumerate(means[groups].to_dict("records")):
        here = table[codes.code == g]
        averaged = AVERAGED if not numbered and (here["runs"] > 1).any() else ""
        rows.append({**key, **_mean_score(here, float(means["estimate"].iloc[g]), conf_level, averaged)})
        rows += [{**key, **row} for row in _missing(here, conf_level)]
    for g, key in enumerate(spread[groups].iloc[of_spread.first].to_dict("records")):
        rows.append({**key, **_run_sd(spread.loc[of_spread.code == g, "sd"].dropna())})
    return estimates(rows, groups)


def _mean_score(here: pd.DataFrame, value: float, conf_level: float, averaged: str) -> dict[str, Any]:
    scored = (
        here.dropna(subset=["mean"]).groupby(["system", "item"], dropna=False, sort=False)["mean"].mean().reset_index()
    )
    row: dict[str, Any] = {"term": "mean_score", "n": len(scored), "method": "mean over systems, t clustered by item"}
    if scored.empty:
        return {**row, "estimate": math.nan, "flag": NO_DATA}
    of_system = scored.groupby("system", dropna=False)["mean"]
    systems = scored["system"].nunique(dropna=False)
    weight = 1 / (systems * of_system.transform("size"))
    influence = (weight * (scored["mean"] - of_system.transform("mean"))).groupby(scored["item"], dropna=False).sum()
    clusters = len(influence)
    if clusters < 2:
        return {**row, "estimate": value, "flag": flags(ONE_UNIT, averaged)}
    error = math.sqrt(clusters / (clusters - 1) * float((influence**2).sum()))
    half = float(stdtrit(clusters - 1, 0.5 + conf_level / 2)) * error
    return {
        **row,
        "estimate": value,
        "std_error": error,
        "conf_low": value - half,
        "conf_high": value + half,
        "flag": flags(FEW_CLUSTERS if clusters < 10 else "", averaged),
    }


def _missing(here: pd.DataFrame, conf_level: float) -> list[dict[str, Any]]:
    gone = float(here["n_missing"].sum())
    asked = pd.DataFrame({"n": [float(here["runs"].sum()), gone], "gone": [False, True], "all": ""})
    rows = rates(asked, ["all"], "missing", asked["gone"], conf_level=conf_level)
    return [{k: v for k, v in row.items() if k != "all"} for row in rows]


def _run_sd(spread: pd.Series[Any]) -> dict[str, Any]:
    value = float(np.sqrt((spread**2).mean())) if len(spread) else math.nan
    flag = "" if len(spread) else SINGLE_RUN
    return {"term": "run_sd", "estimate": value, "n": len(spread), "method": "root mean square", "flag": flag}
