"""Estimates over a condition (temperature, variant): a line for each group, a panel for each system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas, short_names
from judgestats.reporting.plots.condition_cells import cells
from judgestats.reporting.plots.matrices import name_sides

#: Backgrounds of panels, by the value of the column that shades them.
SHADES = ("#e3eef8", "#f6e9d8", "#e2f1e5", "#f3e4ee", "#ececec", "#f9f3cf")
#: Most panels side by side.
ACROSS = 4


@canvas.picture("Axes to draw on, one for each panel.")
def lines(
    result: pd.DataFrame,
    x: str = "temperature",
    *,
    term: str | None = None,
    panel: str | None = None,
    shade: str | None = None,
    order: estimate_rows.Order = "value",
    ax: canvas.Panels = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw an estimate over a condition: agreement by temperature, say, a line for each pair of judges.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of a measure with a row for each value of `x`, such as that of :func:`correlation` with
        ``pairs="each", level="cell", cell="temperature"``.
    x : str
        Column of the condition: numbers, or labels in the order in which they come.
    term : str, optional
        Which term, where there are several.
    panel : str, optional
        Column with a panel for each value (``system``).
    shade : str, optional
        Column whose value colours the background of a panel (``tier``).

    Returns
    -------
    Picture
        A point with its interval for each row; the other columns before ``term`` name the lines. All panels have one
        scale. More than 8 lines are the rows of a matrix, with the intervals as bars.

    Raises
    ------
    DesignError
        If a column is not there, a panel has two shades, several terms are left, two rows fall on one point, or several
        panels have more than 8 lines.

    See Also
    --------
    judgestats.correlation : agreement by condition. agreement_shift : before and after.

    Notes
    -----
    consensus_illusion paper, Figures 2, 3 and 5.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "a", "other": "b", "system": ["s", "s"], "temperature": [0.0, 1.0], "term": "r",
    ...                      "estimate": [0.8, 0.7], "conf_low": [0.7, 0.6], "conf_high": [0.9, 0.8]})
    >>> [axes.get_title(loc="left") for axes in lines(rows, "temperature", panel="system")]
    ['s']
    """
    estimate_rows.require(result, "term", "estimate", "conf_low", "conf_high", x, *(c for c in (panel, shade) if c))
    blank = result[[c for c in (x, panel) if c]].isna().any(axis=1) | (result[panel or x].astype(str) == "")
    estimates = result[~blank & result["estimate"].notna()]  # rows of means over cells have no label
    estimates = estimate_rows.of_one_term(estimates, term)
    skip = [c for c in (x, panel, shade) if c]
    estimates = estimates.assign(
        _line=estimate_rows.names_of(estimates, *skip), _panel=estimates[panel].astype(str) if panel else ""
    )
    estimate_rows.one_row_each(estimates, ["_panel", "_line", x])
    if estimates[x].dtype.kind in "iuf":
        places, ticks = estimates[x].to_numpy(dtype=float), None
    else:
        ticks = estimate_rows.distinct(estimates[x].astype(str))
        places = estimates[x].astype(str).map(ticks.index).to_numpy(dtype=float)
    estimates = estimates.assign(_x=places)
    names = estimate_rows.distinct(estimates["_panel"])
    last = estimates[estimates["_x"] == estimates.groupby("_line")["_x"].transform("max")]
    series = estimate_rows.ordered(estimates, order, last, column="_line")
    if len(series) > canvas.DIRECT:
        return canvas.Picture(_many(ax, estimates, series, x, names, title), estimates)
    shades = _shades(estimates, shade)
    axes = _panels(ax, names, short_names.shortened([*series, *shades], canvas.NAME))
    ends = estimates[["estimate", "conf_low", "conf_high"]].to_numpy(dtype=float)
    low, high = np.nanmin(ends), np.nanmax(ends)
    margin = 0.05 * (high - low) or 0.1
    shift = 0.006 * (np.ptp(places) or 1.0)
    for one, name in zip(axes, names, strict=True):
        canvas.grid(one)
        one.set_ylim(low - margin, high + margin)
        part = estimates[estimates["_panel"] == name]
        if shade:
            one.set_facecolor(shades[str(part[shade].iloc[0])])
        for k, label in enumerate(series):
            row = part[part["_line"] == label].sort_values("_x")
            look = canvas.style_of(k)
            at = row["_x"].to_numpy() + shift * (k - (len(series) - 1) / 2)
            one.plot(at, row["estimate"], linewidth=1.3, markersize=4, **look)
            one.vlines(at, row["conf_low"], row["conf_high"], color=look["color"], linewidth=1.0, alpha=0.6)
        if ticks is not None:
            one.set_xticks(range(len(ticks)), short_names.shortened(ticks, 12))
        canvas.named(one, title=name if panel else title)
    _keys(axes, series, shades)
    words = {"r": "agreement of the judges (r)", "rho": "agreement of the judges (ρ)"}
    across = min(ACROSS, len(names))
    for k, one in enumerate(axes):
        lowest = ax is not None or k + across >= len(axes)
        one.tick_params(axis="x", labelbottom=lowest)
        one.set_xlabel(short_names.literal(x) if lowest else "", fontsize=canvas.TEXT, color=canvas.INK)
    axes[0].set_ylabel(
        words.get(str(estimates["term"].iloc[0]), short_names.literal(estimates["term"].iloc[0])), fontsize=canvas.TEXT
    )
    if panel:
        canvas.headed([*axes, axes[0]], title)  # above all, also for one panel
    return canvas.Picture(axes, estimates)


def _many(
    ax: canvas.Panels, estimates: pd.DataFrame, series: list[str], x: str, panels: list[str], title: str | None
) -> Axes:
    """A row of cells in place of each line."""
    if len(panels) > 1:
        raise DesignError(f"{len(series)} lines are too many for each of {len(panels)} panels. Draw one at a time.")
    table = estimates.assign(
        _row=estimates["_line"], _column=[f"{v:g}" if isinstance(v, float) else str(v) for v in estimates[x]]
    )
    columns = estimate_rows.distinct(table.sort_values("_x", kind="stable")["_column"])
    one = cells(ax, table, pd.DataFrame(False, series, columns), title)
    name_sides(one, "", short_names.literal(x))
    return one


def _shades(estimates: pd.DataFrame, shade: str | None) -> dict[str, str]:
    """Value of the shading column -> colour."""
    if shade is None:
        return {}
    several = estimates.groupby("_panel")[shade].nunique(dropna=False)
    if (several > 1).any():
        raise DesignError(f"Panel {several.idxmax()!r} has several values of {shade!r}. Give it one.")
    values = estimate_rows.distinct(estimates[shade].astype(str))
    return {value: SHADES[i % len(SHADES)] for i, value in enumerate(values)}


def _panels(ax: canvas.Panels, names: Sequence[str], entries: Sequence[str]) -> list[Axes]:
    """A grid of axes with common scales, of a new figure or as given."""
    if ax is not None or len(names) > canvas.MOST_PANELS:
        return canvas.panels(ax, list(names), [], wide=[3.0] * len(names))
    across = min(ACROSS, len(names))
    down = -(-len(names) // across)
    height = max(2.0 * down + 0.9, 3.8 if across == 1 else 0.0)
    width = (2.4 if down * across > 1 else 3.6) * across + 0.9 + canvas.legend_width(entries, height)
    figure = Figure(figsize=(width, height), layout="constrained", label=canvas.OWN)
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for spare in axes[len(names) :]:
        spare.remove()
    return [canvas.new_axes(a, 0, 0) for a in axes[: len(names)]]


def _keys(axes: Sequence[Axes], series: Sequence[str], shades: dict[str, str]) -> None:
    """Name the lines and shades beside the panels."""
    names = short_names.shortened(series, canvas.NAME)
    if names.key:
        canvas.key_below(axes[0], names.key)
    styles = zip(names, map(canvas.style_of, range(len(series))), strict=True)
    handles: list[Artist] = [canvas.key(label, look["color"], marker=look["marker"]) for label, look in styles]
    handles += [Patch(facecolor=color, edgecolor=canvas.MUTED, label=value) for value, color in shades.items()]
    if len(handles) > 1:
        box = canvas.legend(axes[min(ACROSS, len(axes)) - 1], handles)
        box.set_in_layout(True)
