"""What a judge finds, step by step of the ladder (Figure 2 of the dark_current paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from judgestats.errors import DesignError
from judgestats.reporting.plots.canvas import (
    DIRECT,
    MUTED,
    SMALL,
    TEXT,
    grid,
    label_width,
    legend,
    named,
    new_axes,
    shortened,
    spread,
    style_of,
)
from judgestats.reporting.plots.rows import order_of, require, terms


def psychometric_curves(sheet: pd.DataFrame, *, level: float = 0.75, ax: Any = None, title: str | None = None) -> Any:
    """Draw target sensitivity against the step of the ladder, with its intervals (Figure 2).

    Parameters
    ----------
    sheet : pandas.DataFrame
        A datasheet, or a result of :func:`target_sensitivity`.
    level : float
        Level of the detection threshold, drawn as a line.
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
        If there is no target sensitivity, or its columns or steps are not there.
    """
    table = terms(sheet, "target_sensitivity").dropna(subset=["step", "estimate"])
    require(sheet, "judge", "term", "estimate", "conf_low", "conf_high")
    if table.empty:
        raise DesignError("The picture needs the step of each rate, in a column delta or as 'Δ = 1' in detail.")
    judges = [j for j in order_of(sheet) if j in set(table["who"])]
    ax = new_axes(ax, 5.1 + 0.3 + label_width(shortened(judges)), 4.5)
    grid(ax, "y")
    steps = np.unique(table["step"].to_numpy(float))
    nearest = float(np.diff(steps).min()) if steps.size > 1 else 1.0
    ax.axhline(level, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    ax.text(steps[0] - 0.3 * nearest, level + 0.012, f"{level:g}", fontsize=SMALL, color=MUTED, va="bottom", ha="left")
    shift = np.linspace(-1, 1, len(judges)) * min(0.16, 0.03 * (len(judges) - 1)) * nearest
    ends = []
    for i, judge in enumerate(judges):
        here = table[table["who"] == judge].sort_values("step")
        x, y = here["step"].to_numpy(float) + shift[i], here["estimate"].to_numpy(float)
        style = style_of(i)
        ax.vlines(
            x,
            here["conf_low"],
            here["conf_high"],
            color=style["color"],
            linewidth=1.3,
            alpha=0.65 if len(judges) <= DIRECT else 0.3,
            zorder=2,
        )
        ax.plot(x, y, linewidth=1.5, markersize=5.5, markeredgecolor="white", markeredgewidth=0.8, zorder=3, **style)
        ends.append((x[-1], y[-1]))
    ax.set(xticks=steps, ylim=(-0.03, 1.05), xlim=(steps[0] - 0.35 * nearest, steps[-1] + 0.35 * nearest))
    _label_ends(ax, ends, shortened(judges))
    named(ax, "difference in quality, Δ (steps of the ladder)", "right choices among all calls; a tie is a miss", title)
    return ax


def _label_ends(ax: Any, ends: list[tuple[float, float]], labels: list[str]) -> None:
    """Write the judges at the ends of their curves, or in a legend where they are many."""
    if len(labels) > DIRECT:
        legend(
            ax,
            [
                Line2D([], [], linewidth=1.5, markersize=5.5, markeredgecolor="white", label=label, **style_of(i))
                for i, label in enumerate(labels)
            ],
        )
        return
    right = ax.get_xlim()[1]
    heights = spread([y for _, y in ends], 0.055, 0.0, 1.03)
    for i, ((x, y), height, label) in enumerate(zip(ends, heights, labels, strict=True)):
        color = style_of(i)["color"]
        ax.annotate(
            label,
            (x, y),
            (right + 0.02 * (right - ax.get_xlim()[0]), height),
            fontsize=TEXT,
            color=color,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.7, "shrinkA": 0, "shrinkB": 4},
        )
