"""From before to after, a row a group: agreement that moves (consensus_illusion paper, Table 3), calibration."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from judgestats.reporting.plots.canvas import MUTED, PALETTE, label_width, legend_above, named, new_axes, shortened
from judgestats.reporting.plots.lanes import (
    NAME,
    below,
    beside,
    chosen,
    distinct,
    headed,
    height_of,
    key,
    lanes,
    limits,
    names_of,
    neutral,
    one_row_each,
    panels,
    point,
    whisker,
    with_interval,
)

#: A row whose shift is flagged.
FLAGGED = PALETTE[1]
_LIMIT = re.compile(r"\|shift\| > ([\d.]+(?:e-?\d+)?)")


def agreement_shift(shifts: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the agreement of the judges before and after, a row a group.

    Parameters
    ----------
    shifts : pandas.DataFrame
        A result of :func:`agreement_shift`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Hollow before, filled after; at the right the shift with its interval. Rows whose shift is farther from 0 than
        the threshold of the measure are of another colour.

    Raises
    ------
    DesignError
        If there is no shift with a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"pair": ["a/b"], "term": "shift", "estimate": [-0.2], "conf_low": [-0.3],
    ...                      "conf_high": [-0.1], "flag": "|shift| > 0.15", "before": [0.7], "after": [0.5]})
    >>> [float(line.get_xdata()[0]) for line in agreement_shift(rows).lines if line.get_marker() == "o"]
    [0.7, 0.5]
    """
    here = chosen(shifts, ["shift"], "conf_low", "conf_high", "flag", "before", "after", source="agreement_shift")
    here = here.assign(_row=names_of(here))
    one_row_each(here, ["_row"])
    labels = list(here["_row"])
    ax = new_axes(ax, 5.9 + label_width(shortened(labels, NAME)), height_of(len(labels), 0.3))
    limits(ax, here[["before", "after"]], bounds=(-1, 1))
    lanes(ax, labels)
    found = [_LIMIT.search(str(f)) for f in here["flag"]]
    for i, (row, marked) in enumerate(zip(here.to_dict("records"), found, strict=True)):
        color = FLAGGED if marked else PALETTE[0]
        _arm(ax, row["before"], row["after"], i, color)
        beside(ax, i, with_interval(row), color=FLAGGED if marked else MUTED)
    beside(ax, None, "shift")
    keys: list[Any] = [key("before", MUTED, filled=False), key("after", MUTED)]
    at = distinct(m.group(1) for m in found if m)
    keys += [Patch(color=FLAGGED, label=f"|shift| > {at[0]}" if len(at) == 1 else "flagged shift")] if at else []
    legend_above(ax, keys, 3)
    named(ax, "correlation of the judges", title=title, pad=24)
    return ax


def _arm(ax: Any, before: float, after: float, height: float, color: str) -> None:
    """Two points and what joins them, hollow before and filled after."""
    if np.isfinite([before, after]).all():
        ax.plot([before, after], [height] * 2, color=color, linewidth=2.0, alpha=0.45, zorder=2)
    if np.isfinite(before):
        point(ax, before, height, color, filled=False)
    if np.isfinite(after) or not np.isfinite(before):
        point(ax, after, height, color)


def calibration(result: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw what calibration does to each judge: deviation and RMSE on held-out items, before and after.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`calibrate`.
    ax : sequence of matplotlib.axes.Axes, optional
        Two axes to draw on.
    title : str, optional
        Put above the first panel.

    Returns
    -------
    list of matplotlib.axes.Axes
        Deviation from the reference, and RMSE; hollow before, filled after, each with its interval.

    Raises
    ------
    DesignError
        If there are no such terms with a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "estimate": [0.7, 0.0, 1.1, 0.8], "conf_low": [0.5, -0.2, 1.0, 0.7],
    ...                      "conf_high": [0.9, 0.2, 1.2, 0.9]})
    >>> rows.insert(1, "term", ["deviation_before", "deviation_after", "rmse_before", "rmse_after"])
    >>> [axes.get_xlabel() for axes in calibration(rows)]
    ['mean deviation from the reference', 'RMSE']
    """
    ends = ("_before", "_after")
    wanted = [f"{t}{e}" for t in ("deviation", "rmse") for e in ends]
    here = chosen(result, wanted, "judge", "conf_low", "conf_high", source="calibrate")
    here = here.assign(_row=names_of(here))
    one_row_each(here, ["_row", "term"])
    labels = distinct(here["_row"])
    axes = panels(ax, ["deviation", "RMSE"], labels, wide=[3.0, 2.6], each=0.42)
    for panel, what in zip(axes, ("deviation", "rmse"), strict=True):
        table = here[here["term"].isin([what + e for e in ends])]
        values = table[["estimate", "conf_low", "conf_high"]]
        limits(panel, values, zero=True, even=what == "deviation", bounds=(-np.inf, np.inf))
        if what == "rmse":
            panel.set_xlim(left=0)
        neutral(panel)
        lanes(panel, labels, first=panel is axes[0])
        _pairs(panel, table, labels, [what + e for e in ends])
    named(axes[0], "mean deviation from the reference")
    named(axes[1], "RMSE")
    legend_above(axes[0], [key("before", PALETTE[0], filled=False), key("after, held out", PALETTE[0])], 2)
    if "flag" in here.columns and here["flag"].astype(str).str.contains("clusters").any():
        below(axes[0], "fewer than 10 items: intervals are rough")
    headed(axes, title)
    return axes


def _pairs(ax: Any, table: pd.DataFrame, labels: list[str], ends: list[str]) -> None:
    """Before and after of each row on two lines, joined."""
    for i, label in enumerate(labels):
        here = table[table["_row"] == label].set_index("term")
        at = [(e, i + shift) for e, shift in zip(ends, (-0.15, 0.15), strict=True) if e in here.index]
        values = [float(here.loc[e, "estimate"]) for e, _ in at]
        if len(at) == 2 and np.isfinite(values).all():
            ax.plot(values, [h for _, h in at], color=MUTED, linewidth=0.9, alpha=0.8, zorder=2)
        if not np.isfinite(values).any():
            point(ax, np.nan, i, MUTED)
            continue
        for end, height in at:
            whisker(ax, here.loc[end], height, filled=end == ends[1])
