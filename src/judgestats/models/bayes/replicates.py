"""Observed values with their predictive intervals, from replicates of a posterior and of a prior."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.errors import DesignError, choose
from judgestats.typing import Floats

Kind = Literal["posterior", "prior", "both"]
KINDS = ("posterior", "prior", "both")
#: Columns of a predictive frame, after ``kind`` and the labels of a cell.
COLUMNS = ("outcome", "observed", "estimate", "conf_low", "conf_high", "inside", "n", "scale", "method", "flag")
#: Order statistics that describe many scores -> their quantiles.
SPREAD = {"lowest": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "highest": 1.0}


def replicates(
    cells: pd.DataFrame,
    observed: Floats,
    simulated: Floats,
    n: Floats,
    *,
    kind: str,
    draws: str = "",
    scale: Literal["count", "mean"] = "count",
) -> pd.DataFrame:
    """N observed values with intervals from replicates (S, N), of `n` (N,) calls; `cells` (N, ...) are labels."""
    how: Literal["inverted_cdf", "linear"] = "inverted_cdf" if scale == "count" else "linear"  # counts have whole ends
    low, high = np.quantile(simulated, [0.025, 0.975], axis=0, method=how)
    there = n > 0
    inside = there & (observed >= low) & (observed <= high)
    method = f"95 % {kind} predictive interval" + (f"; {draws}" if draws else "")
    flag = np.where(there, np.where(inside, "", flags.OUTSIDE_INTERVAL), flags.NO_DATA)
    values = {"observed": np.where(there, observed, np.nan), "estimate": simulated.mean(axis=0), "n": n}
    ends = {"conf_low": low, "conf_high": high, "inside": inside}
    table = cells.reset_index(drop=True).assign(**values, **ends, kind=kind, scale=scale, method=method, flag=flag)
    labels = [c for c in cells.columns if c != "outcome"]
    return table[["kind", *labels, *COLUMNS]]


def predictive_table(
    cells: pd.DataFrame,
    observed: Floats,
    again: Floats,
    before: Floats,
    n: Floats,
    *,
    draws: str,
    scale: Literal["count", "mean"] = "count",
) -> pd.DataFrame:
    """Posterior and prior predictive frames in one, from replicates `again` and `before`, (S, N) each."""
    after = replicates(cells, observed, again, n, kind="posterior", draws=draws, scale=scale)
    return pd.concat([after, replicates(cells, observed, before, n, kind="prior", scale=scale)], ignore_index=True)


def spreads(scores: Floats) -> Floats:
    """Lowest, quartiles and highest of (S, N) scores, (S, 5), in the order of :data:`SPREAD`."""
    return np.asarray(np.quantile(scores, list(SPREAD.values()), axis=1).T, np.float64)


def spread_table(scores: Floats, again: Floats, before: Floats, *, draws: str) -> pd.DataFrame:
    """:func:`predictive_table` for the :func:`spreads` of (N,) scores and of replicates, (S, 5)."""
    cells = pd.DataFrame({"judge": "all judges", "outcome": list(SPREAD)})
    n = np.full(len(SPREAD), float(len(scores)))
    return predictive_table(cells, spreads(scores[None])[0], again, before, n, draws=draws, scale="mean")


def of_kind(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Rows of a predictive frame of one kind, or of both; a DesignError if empty."""
    choose(kind, KINDS, "kind")
    rows = frame if kind == "both" or frame.empty else frame[frame["kind"] == kind]
    if rows.empty:
        raise DesignError(f"There are no {kind} predictions, because there are no draws. See check().")
    return rows.reset_index(drop=True)
