"""What a prompt saves and what it costs (Figure 4 of the dark_current paper)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.lines import Line2D

from judgestats.reporting.plots.canvas import (
    INK,
    grid,
    legend,
    named,
    new_axes,
    shortened,
    style_of,
    unit_square,
)
from judgestats.reporting.plots.rows import require, step, terms


def operating_point(
    shift: pd.DataFrame,
    sensitivity: pd.DataFrame | None = None,
    *,
    prompts: tuple[str, str] = ("base", "strict"),
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw what a prompt saves against what it costs: a segment between two operating points (Figure 4), no ROC curve.

    Parameters
    ----------
    shift : pandas.DataFrame
        A result of :func:`criterion_shift`, or the datasheet rows of it.
    sensitivity : pandas.DataFrame, optional
        ``target_sensitivity(calls, by="prompt")``: the height is then the share of right choices. Without it the
        height is the share of calls that take a side where one candidate is better, which ``shift`` has.
    prompts : (str, str)
        The two prompts, as they are called in `sensitivity`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        A segment for each judge and step of the ladder, from the first prompt (open) to the second (filled).
    """
    table = terms(shift, "criterion_base", "criterion_strict")
    require(shift, "judge", "term", "estimate", "conf_low", "conf_high")
    if sensitivity is not None:
        require(sensitivity, "judge", "term", "estimate", "conf_low", "conf_high", "prompt")
    equal = table[table["step"].isna() & _on_equals(table)]
    ladder = table[table["step"].notna()]
    judges = list(dict.fromkeys(equal["who"]))
    ax = new_axes(ax, 6.4, 4.4)
    unit_square(ax)
    grid(ax)
    keys: list[Line2D] = []
    names = dict(zip(judges, shortened(judges), strict=True))
    for judge in judges:
        x = _ends(equal[equal["who"] == judge], None)
        for delta in sorted(set(ladder.loc[ladder["who"] == judge, "step"])):
            y = _ends(ladder[(ladder["who"] == judge) & (ladder["step"] == delta)], None)
            y = y if sensitivity is None else _ends(sensitivity, (judge, delta, prompts)) or y
            if x and y:
                label = f"Δ = {delta:g}" if len(judges) == 1 else f"{names[judge]}, Δ = {delta:g}"
                keys.append(_segment(ax, x, y, style_of(len(keys)), label))
    legend(ax, [*keys, *_prompt_keys(prompts)])
    what = "right choices on the ladder" if sensitivity is not None else "calls that take a side on the ladder"
    named(ax, "false preference between equals (1 − tie rate)", what, title)
    return ax


def _prompt_keys(prompts: tuple[str, str]) -> list[Line2D]:
    return [
        Line2D([], [], linestyle="none", marker="o", markerfacecolor=face, markeredgecolor=INK, label=label)
        for face, label in zip(("white", INK), shortened(prompts), strict=True)
    ]


def _on_equals(table: pd.DataFrame) -> Any:
    if "stimulus" in table.columns:
        return table["stimulus"].astype(object) == "same_subset"
    return table["detail"].astype(str) == "Δ0" if "detail" in table.columns else True


_End = tuple[float, float, float]


def _ends(table: pd.DataFrame, at: tuple[str, float, tuple[str, str]] | None) -> list[_End]:
    """(value, low, high) under either prompt: one minus the tie rate, or the sensitivity itself."""
    if at is None:
        found = [table[table["term"] == t] for t in ("criterion_base", "criterion_strict")]
        return (
            [(1 - r.estimate, 1 - r.conf_high, 1 - r.conf_low) for t in found for r in t.head(1).itertuples()]
            if all(map(len, found))
            else []
        )
    judge, delta, prompts = at
    here = table[
        (table["term"] == "target_sensitivity") & (table["judge"].astype(str) == judge) & (step(table) == delta)
    ]
    found = [here[here["prompt"] == p] for p in prompts]
    return (
        [(r.estimate, r.conf_low, r.conf_high) for t in found for r in t.head(1).itertuples()]
        if all(map(len, found))
        else []
    )


def _segment(ax: Any, x: list[_End], y: list[_End], style: dict[str, Any], label: str) -> Line2D:
    color, marker = style["color"], style["marker"]
    ax.annotate(
        "",
        (x[1][0], y[1][0]),
        (x[0][0], y[0][0]),
        arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.6, "shrinkA": 5, "shrinkB": 5},
    )
    for i in (0, 1):
        ax.plot(x[i][1:], [y[i][0]] * 2, color=color, linewidth=1.1, alpha=0.6, zorder=2)
        ax.plot([x[i][0]] * 2, y[i][1:], color=color, linewidth=1.1, alpha=0.6, zorder=2)
        ax.plot(
            x[i][0],
            y[i][0],
            marker=marker,
            markersize=8,
            markerfacecolor=color if i else "white",
            markeredgecolor=color,
            markeredgewidth=1.5,
            zorder=4,
        )
    return Line2D([], [], color=color, marker=marker, markersize=6, label=label)
