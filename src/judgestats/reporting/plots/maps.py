"""Judges as points: metrology map, positional against stable (Figures 1 and 5 of the dark_current paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from judgestats.reporting.plots.canvas import (
    DIRECT,
    FAINT,
    INK,
    MUTED,
    SMALL,
    grid,
    keep_legend,
    label_points,
    label_width,
    legend,
    named,
    new_axes,
    note,
    shortened,
    style_of,
    unit_square,
)
from judgestats.reporting.plots.rows import one_each, order_of, terms


def metrology_map(sheet: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw dark current against stable cross-sensitivity (Figure 1).

    The marker grows with the target sensitivity at the first step of the ladder.

    Parameters
    ----------
    sheet : pandas.DataFrame
        A datasheet, or the stacked results of :func:`dark_current`, :func:`delta0` and :func:`target_sensitivity`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DesignError
        If no judge has both rates. Judges that lack one are named below the axes.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "Llama8B", "term": ["dark_current", "stable_cross_sensitivity"],
    ...                      "estimate": [0.667, 0.033], "conf_low": [0.578, 0.01], "conf_high": [0.745, 0.11]})
    >>> metrology_map(rows).get_xlabel()
    'dark current (DC)'
    """
    terms(sheet, "dark_current")
    terms(sheet, "stable_cross_sensitivity")
    dark, stable = one_each(sheet, "dark_current"), one_each(sheet, "stable_cross_sensitivity")
    first = _first_step(sheet)
    judges = [j for j in order_of(sheet) if j in dark.index and j in stable.index]
    ax = new_axes(ax, 5.6 + _legend_width(judges), 4.6)
    unit_square(ax)
    grid(ax)
    _scatter(ax, dark, stable, judges, [_area(first.get(j, np.nan)) for j in judges])
    named(ax, "dark current (DC)", "stable cross-sensitivity (SCS)", title)
    if len(first):
        keep_legend(ax)
        _size_legend(ax)
    absent = [j for j in order_of(sheet) if (j in dark.index) != (j in stable.index)]
    if absent:
        note(ax, f"Not shown, for want of one of the two rates: {', '.join(shortened(absent))}.")
    return ax


def stable_positional(sheet: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw positional false preference against stable cross-sensitivity (Figure 5).

    Parameters
    ----------
    sheet : pandas.DataFrame
        A datasheet, or a result of :func:`delta0`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        The grey corner holds what cannot be: the two classes exclude each other.
    """
    terms(sheet, "stable_cross_sensitivity")
    stable, positional = one_each(sheet, "stable_cross_sensitivity"), one_each(sheet, "positional_false_preference")
    judges = [j for j in order_of(sheet) if j in stable.index and j in positional.index]
    ax = new_axes(ax, 5.6 + _legend_width(judges), 4.6)
    unit_square(ax)
    grid(ax)
    ax.fill([0, 1.05, 1.05, -0.05], [1.0, -0.05, 1.05, 1.05], color=FAINT, zorder=0, linewidth=0)
    ax.text(0.98, 0.98, "not possible", fontsize=SMALL, color=MUTED, ha="right", va="top")
    _scatter(ax, stable, positional, judges, [70.0] * len(judges))
    named(ax, "stable cross-sensitivity (SCS)", "positional false preference (PFP)", title)
    return ax


def _scatter(ax: Any, across: pd.DataFrame, up: pd.DataFrame, judges: list[str], areas: list[float]) -> None:
    """Points with both intervals, labelled where they are few."""
    x, y = (t["estimate"].reindex(judges).to_numpy(float) for t in (across, up))
    styles = [style_of(i) for i in range(len(judges))]
    for i, style in enumerate(styles):
        for table, horizontal in ((across, True), (up, False)):
            low, high = _interval(table.loc[judges[i]])
            ends = ([low, high], [y[i]] * 2) if horizontal else ([x[i]] * 2, [low, high])
            ax.plot(*ends, color=style["color"], linewidth=1.0, alpha=0.55, zorder=2, solid_capstyle="butt")
        ax.scatter(x[i], y[i], s=areas[i], zorder=3, edgecolors="white", linewidths=0.9, alpha=0.95, **style)
    shown = [i for i in range(len(judges)) if np.isfinite(x[i]) and np.isfinite(y[i])]
    labels = shortened(judges)
    if len(judges) <= DIRECT:
        label_points(
            ax,
            [x[i] for i in shown],
            [y[i] for i in shown],
            [labels[i] for i in shown],
            [styles[i]["color"] for i in shown],
        )
    else:
        legend(ax, [_key(style, label) for style, label in zip(styles, labels, strict=True)])


def _legend_width(judges: list[str]) -> float:
    return 0.45 + label_width(shortened(judges)) if len(judges) > DIRECT else 0.0


def _key(style: dict[str, Any], label: str) -> Line2D:
    return Line2D([], [], linestyle="none", markersize=6, markeredgecolor="white", label=label, **style)


def _interval(row: pd.Series[Any]) -> tuple[float, float]:
    return float(row.get("conf_low", np.nan)), float(row.get("conf_high", np.nan))


def _first_step(sheet: pd.DataFrame) -> dict[str, float]:
    here = terms(sheet, "target_sensitivity", needed=False)
    first = here[here["step"] == here.groupby("who")["step"].transform("min")]
    return dict(zip(first["who"], first["estimate"], strict=True))


def _area(sensitivity: float) -> float:
    return 60.0 if np.isnan(sensitivity) else 25.0 + 235.0 * sensitivity


def _size_legend(ax: Any) -> None:
    sizes = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="o",
            color="#9aa5b1",
            markeredgecolor="white",
            markersize=float(np.sqrt(_area(p))),
            label=f"{p:g}",
        )
        for p in (0.25, 0.5, 1.0)
    ]
    drawn = ax.legend(
        handles=sizes,
        title="target sensitivity at the first step",
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        ncols=3,
        frameon=False,
        fontsize=SMALL + 0.5,
        title_fontsize=SMALL + 0.5,
        borderaxespad=0.2,
        labelcolor=INK,
        alignment="left",
        columnspacing=1.6,
        handletextpad=0.4,
    )
    drawn.get_title().set_color(MUTED)
