"""Estimates over a condition (temperature, variant): a line for each group, a panel for each system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas

#: Backgrounds of panels, by the value of the column that shades them.
SHADES = ("#e3eef8", "#f6e9d8", "#e2f1e5", "#f3e4ee", "#ececec", "#f9f3cf")
#: Most panels of a picture.
MOST = 60
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
    ax: Any = None,
    title: str | None = None,
) -> Any:
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
        scale.

    Raises
    ------
    DesignError
        If a column is not there, a panel has two shades, several terms are left, or two rows fall on one point.

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
    here = result[~blank & result["estimate"].notna()]  # rows of means over cells have no label
    found = estimate_rows.distinct(here["term"].astype(str))
    if term is None and len(found) > 1:
        raise DesignError(f"The result has the terms {', '.join(found)}. Name one in term=.")
    here = estimate_rows.chosen(here, [term or (found or [""])[0]], source="correlation")
    skip = [c for c in (x, panel, shade) if c]
    here = here.assign(_line=estimate_rows.names_of(here, *skip), _panel=here[panel].astype(str) if panel else "")
    estimate_rows.one_row_each(here, ["_panel", "_line", x])
    if here[x].dtype.kind in "iuf":
        places, ticks = here[x].to_numpy(dtype=float), None
    else:
        ticks = estimate_rows.distinct(here[x].astype(str))
        places = here[x].astype(str).map(ticks.index).to_numpy(dtype=float)
    here = here.assign(_x=places)
    names, series = estimate_rows.distinct(here["_panel"]), estimate_rows.distinct(here["_line"])
    if len(names) > MOST:
        raise DesignError(f"{len(names)} panels are more than {MOST}. Draw some values of {panel!r} at a time.")
    shades = _shades(here, shade)
    axes = _panels(ax, names, canvas.shortened([*series, *shades], canvas.NAME))
    ends = here[["estimate", "conf_low", "conf_high"]].to_numpy(dtype=float)
    low, high = np.nanmin(ends), np.nanmax(ends)
    margin = 0.05 * (high - low) or 0.1
    shift = 0.006 * (np.ptp(places) or 1.0)
    for one, name in zip(axes, names, strict=True):
        canvas.grid(one)
        one.set_ylim(low - margin, high + margin)
        part = here[here["_panel"] == name]
        if shade:
            one.set_facecolor(shades[str(part[shade].iloc[0])])
        for k, label in enumerate(series):
            row = part[part["_line"] == label].sort_values("_x")
            look = canvas.style_of(k)
            at = row["_x"].to_numpy() + shift * (k - (len(series) - 1) / 2)
            one.plot(at, row["estimate"], linewidth=1.3, markersize=4, **look)
            one.vlines(at, row["conf_low"], row["conf_high"], color=look["color"], linewidth=1.0, alpha=0.6)
        if ticks is not None:
            one.set_xticks(range(len(ticks)), canvas.shortened(ticks, 12))
        canvas.named(one, title=name if panel else title)
    _keys(axes, series, shades)
    words = {"r": "agreement of the judges (r)", "rho": "agreement of the judges (ρ)"}
    across = min(ACROSS, len(names))
    for k, one in enumerate(axes):
        lowest = ax is not None or k + across >= len(axes)
        one.tick_params(axis="x", labelbottom=lowest)
        one.set_xlabel(canvas.literal(x) if lowest else "", fontsize=canvas.TEXT, color=canvas.INK)
    axes[0].set_ylabel(words.get(str(here["term"].iloc[0]), canvas.literal(here["term"].iloc[0])), fontsize=canvas.TEXT)
    if panel:
        canvas.headed([*axes, axes[0]], title)  # above all, also for one panel
    return canvas.Picture(axes, here)


def _shades(here: pd.DataFrame, shade: str | None) -> dict[str, str]:
    """Value of the shading column -> colour."""
    if shade is None:
        return {}
    several = here.groupby("_panel")[shade].nunique(dropna=False)
    if (several > 1).any():
        raise DesignError(f"Panel {several.idxmax()!r} has several values of {shade!r}. Give it one.")
    values = estimate_rows.distinct(here[shade].astype(str))
    return {value: SHADES[i % len(SHADES)] for i, value in enumerate(values)}


def _panels(ax: Any, names: Sequence[str], entries: Sequence[str]) -> list[Any]:
    """A grid of axes with common scales, of a new figure or as given."""
    if ax is not None:
        return canvas.panels(ax, list(names), [], wide=[3.0] * len(names))
    across = min(ACROSS, len(names))
    down = -(-len(names) // across)
    height = max(2.0 * down + 0.9, 3.8 if across == 1 else 0.0)
    width = (2.4 if down * across > 1 else 3.6) * across + 0.9 + canvas.legend_width(entries, height)
    figure = Figure(figsize=(width, height), layout="constrained", label=canvas.OWN)
    found = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for spare in found[len(names) :]:
        spare.remove()
    return [canvas.new_axes(a, 0, 0) for a in found[: len(names)]]


def _keys(axes: Sequence[Any], series: Sequence[str], shades: dict[str, str]) -> None:
    """Name the lines and shades beside the panels."""
    names = canvas.shortened(series, canvas.NAME)
    if names.key:
        canvas.key_below(axes[0], names.key)
    named = zip(names, map(canvas.style_of, range(len(series))), strict=True)
    handles: list[Any] = [canvas.key(label, look["color"], marker=look["marker"]) for label, look in named]
    handles += [Patch(facecolor=color, edgecolor=canvas.MUTED, label=value) for value, color in shades.items()]
    if len(handles) > 1:
        drawn = canvas.legend(axes[min(ACROSS, len(axes)) - 1], handles)
        drawn.set_in_layout(True)
