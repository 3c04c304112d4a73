"""Stacked bars: what false preference is made of (Figure 3 of the dark_current paper), and what judges answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting.plots import canvas

# ---- What a judge finds, step by step of the ladder (Figure 2 of the dark_current paper) -----------------------------


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
    table = canvas.terms(sheet, "target_sensitivity").dropna(subset=["step", "estimate"])
    canvas.require(sheet, "judge", "term", "estimate", "conf_low", "conf_high")
    if table.empty:
        raise DesignError("The picture needs the step of each rate, in a column delta or as 'Δ = 1' in detail.")
    judges = [j for j in canvas.order_of(sheet) if j in set(table["who"])]
    ax = canvas.new_axes(ax, 5.1 + 0.3 + canvas.label_width(canvas.shortened(judges)), 4.5)
    canvas.grid(ax, "y")
    steps = np.unique(table["step"].to_numpy(float))
    nearest = float(np.diff(steps).min()) if steps.size > 1 else 1.0
    ax.axhline(level, color=canvas.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    ax.text(
        steps[0] - 0.3 * nearest,
        level + 0.012,
        f"{level:g}",
        fontsize=canvas.SMALL,
        color=canvas.MUTED,
        va="bottom",
        ha="left",
    )
    shift = np.linspace(-1, 1, len(judges)) * min(0.16, 0.03 * (len(judges) - 1)) * nearest
    ends = []
    for i, judge in enumerate(judges):
        here = table[table["who"] == judge].sort_values("step")
        x, y = here["step"].to_numpy(float) + shift[i], here["estimate"].to_numpy(float)
        style = canvas.style_of(i)
        ax.vlines(
            x,
            here["conf_low"],
            here["conf_high"],
            color=style["color"],
            linewidth=1.3,
            alpha=0.65 if len(judges) <= canvas.DIRECT else 0.3,
            zorder=2,
        )
        ax.plot(x, y, linewidth=1.5, markersize=5.5, markeredgecolor="white", markeredgewidth=0.8, zorder=3, **style)
        ends.append((x[-1], y[-1]))
    ax.set(xticks=steps, ylim=(-0.03, 1.05), xlim=(steps[0] - 0.35 * nearest, steps[-1] + 0.35 * nearest))
    _label_ends(ax, ends, canvas.shortened(judges))
    canvas.named(
        ax, "difference in quality, Δ (steps of the ladder)", "right choices among all calls; a tie is a miss", title
    )
    return ax


def _label_ends(ax: Any, ends: list[tuple[float, float]], labels: list[str]) -> None:
    """Write the judges at the ends of their curves, or in a legend where they are many."""
    if len(labels) > canvas.DIRECT:
        canvas.legend(
            ax,
            [
                Line2D(
                    [], [], linewidth=1.5, markersize=5.5, markeredgecolor="white", label=label, **canvas.style_of(i)
                )
                for i, label in enumerate(labels)
            ],
        )
        return
    right = ax.get_xlim()[1]
    heights = canvas.spread([y for _, y in ends], 0.055, 0.0, 1.03)
    for i, ((x, y), height, label) in enumerate(zip(ends, heights, labels, strict=True)):
        color = canvas.style_of(i)["color"]
        ax.annotate(
            label,
            (x, y),
            (right + 0.02 * (right - ax.get_xlim()[0]), height),
            fontsize=canvas.TEXT,
            color=color,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.7, "shrinkA": 0, "shrinkB": 4},
        )


# ---- Stacked bars: what false preference is made of (Figure 3 of the dark_current paper), and what judges answer

#: Classes of a pair of equals: label and colour, in stacking order.
CLASSES = {
    "stable_cross_sensitivity": ("stable: same content twice", "#0072B2"),
    "positional_false_preference": ("positional: same slot twice", "#D55E00"),
    "one_sided_commit": ("one-sided: a tie in one order", "#E9B949"),
    "other_conflict": ("other conflict", "#4D4D4D"),
    "no_preference": ("no preference: tie twice", "#DDE2E8"),
}


#: Answers by slot: label and colour, in stacking order.
ANSWERS = {
    "first": ("shown first", "#0072B2"),
    "tie": ("tie", "#DDE2E8"),
    "second": ("shown second", "#56B4E9"),
    "invalid": ("invalid", "#D55E00"),
}


def decomposition(sheet: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw what false preference between equals is made of, a stacked bar a judge (Figure 3).

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
        The classes are shares of pairs and add up to 1. The diamond is the raw rate over calls, to which a one-sided
        commit adds one half.
    """
    table = canvas.terms(sheet, *CLASSES).drop_duplicates(["who", "term"])
    wide = table.pivot_table(index="who", columns="term", values="estimate", sort=False)
    wide = wide.reindex([j for j in canvas.order_of(sheet) if j in wide.index])
    ax = canvas.new_axes(ax, 5.9 + canvas.label_width(canvas.shortened(wide.index, 34)), 1.35 + 0.38 * len(wide))
    rows = np.arange(len(wide))
    used = stack(ax, wide, CLASSES)
    raw = canvas.one_each(sheet, "raw_false_preference")
    keys: list[Any] = [Patch(color=color, label=label) for label, color in used.values()]
    if len(raw):
        ax.scatter(
            raw["estimate"].reindex(wide.index),
            rows - 0.4,
            marker="v",
            s=26,
            color=canvas.INK,
            linewidths=0,
            zorder=4,
            clip_on=False,
        )
        keys.append(
            Line2D(
                [], [], linestyle="none", marker="v", color=canvas.INK, markersize=5, label="raw rate over calls (RFP₀)"
            )
        )
    canvas.legend_above(ax, keys, 3)
    canvas.named(ax, "share of pairs of equals, both orders valid", title=title, pad=38)
    return ax


def answers(estimates: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw how often each judge gives each answer, a stacked bar a judge.

    Parameters
    ----------
    estimates : pandas.DataFrame
        A result of :func:`position_bias`, or a datasheet that has it.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Shares of all calls.
    """
    canvas.require(estimates, "judge", "term", "estimate")
    table = estimates[estimates["section"] == "slots"] if "section" in estimates.columns else estimates
    table = canvas.terms(table, *ANSWERS).drop_duplicates(["who", "term"])
    wide = table.pivot_table(index="who", columns="term", values="estimate", sort=False)
    wide = wide.reindex([j for j in canvas.order_of(table) if j in wide.index])
    ax = canvas.new_axes(ax, 5.9 + canvas.label_width(canvas.shortened(wide.index, 34)), 1.0 + 0.36 * len(wide))
    used = stack(ax, wide, ANSWERS)
    canvas.legend_above(ax, [Patch(color=color, label=label) for label, color in used.values()], 4)
    canvas.named(ax, "share of all calls", title=title, pad=24)
    return ax


def stack(ax: Any, wide: pd.DataFrame, classes: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Horizontal stacked bars, the first row on top; returns the classes that occur."""
    rows, left = np.arange(len(wide)), np.zeros(len(wide))
    used = {}
    for term, (label, color) in classes.items():
        if term not in wide.columns or not (wide[term] > 0).any():
            continue
        used[term] = (label, color)
        share = wide[term].fillna(0).to_numpy(float)
        ax.barh(rows, share, left=left, height=0.68, color=color, edgecolor="white", linewidth=0.8)
        for row, value in zip(rows, share, strict=True):
            if value >= 0.055:
                ax.text(
                    left[row] + value / 2,
                    row,
                    f"{value:.3f}".removeprefix("0"),
                    ha="center",
                    va="center",
                    fontsize=canvas.SMALL,
                    color="white" if canvas.is_dark(color) else canvas.INK,
                )
        left += share
    for row in rows[wide.notna().sum(axis=1).to_numpy() == 0]:
        ax.text(0.01, row, "n/a", fontsize=canvas.SMALL, color=canvas.MUTED, va="center")
    ax.set(yticks=rows, ylim=(len(wide) - 0.5, -0.5), xlim=(0, 1), xticks=np.arange(0, 1.01, 0.25))
    ax.set_yticklabels(canvas.shortened(wide.index, 34))
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return used
