"""What strategies gain, and what they cost (debiasing paper, Tables 3 and 4, Appendix H)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from judgestats.errors import DesignError
from judgestats.reporting.formatting import count
from judgestats.reporting.plots import canvas

# ---- What a prompt saves and what it costs (Figure 4 of the dark_current paper) --------------------------------------


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
    table = canvas.terms(shift, "criterion_base", "criterion_strict")
    canvas.require(shift, "judge", "term", "estimate", "conf_low", "conf_high")
    if sensitivity is not None:
        canvas.require(sensitivity, "judge", "term", "estimate", "conf_low", "conf_high", "prompt")
    equal = table[(table["step"].isna() | (table["step"] == 0)) & _on_equals(table)]
    ladder = table[table["step"] > 0]
    judges = list(dict.fromkeys(equal["who"]))
    ax = canvas.new_axes(ax, 6.4, 4.4)
    canvas.unit_square(ax)
    canvas.grid(ax)
    keys: list[Line2D] = []
    names = dict(zip(judges, canvas.shortened(judges), strict=True))
    for judge in judges:
        x = _ends(equal[equal["who"] == judge], None)
        for delta in sorted(set(ladder.loc[ladder["who"] == judge, "step"])):
            y = _ends(ladder[(ladder["who"] == judge) & (ladder["step"] == delta)], None)
            y = y if sensitivity is None else _ends(sensitivity, (judge, delta, prompts)) or y
            if x and y:
                label = f"Δ = {delta:g}" if len(judges) == 1 else f"{names[judge]}, Δ = {delta:g}"
                keys.append(_segment(ax, x, y, canvas.style_of(len(keys)), label))
    canvas.legend(ax, [*keys, *_prompt_keys(prompts)])
    what = "right choices on the ladder" if sensitivity is not None else "calls that take a side on the ladder"
    canvas.named(ax, "false preference between equals (1 − tie rate)", what, title)
    return ax


def _prompt_keys(prompts: tuple[str, str]) -> list[Line2D]:
    return [
        Line2D([], [], linestyle="none", marker="o", markerfacecolor=face, markeredgecolor=canvas.INK, label=label)
        for face, label in zip(("white", canvas.INK), canvas.shortened(prompts), strict=True)
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
        (table["term"] == "target_sensitivity") & (table["judge"].astype(str) == judge) & (canvas.step(table) == delta)
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


# ---- What strategies gain, and what they cost (debiasing paper, Tables 3 and 4, Appendix H) --------------------------

#: Costs farther apart than this are drawn on a logarithmic axis.
LOG_FROM = 30.0
#: As many configurations are all labelled; of more, those on the front.
MOST_LABELS = 16
#: Points that are dominated.
DOMINATED = "#9aa5b1"


def strategies(comparisons: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the gain of each strategy over the baseline, in points: filled where it survives the correction.

    Parameters
    ----------
    comparisons : pandas.DataFrame
        A result of :func:`compare_strategies`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        A row a judge and strategy; at its right b, the pairs that the baseline alone had right, and c, those that
        the strategy alone had right.

    Raises
    ------
    DesignError
        If there is no difference with a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "strategy": ["S1", "S2"], "term": "difference", "estimate": [0.1, 0.02],
    ...                      "conf_low": [0.05, -0.03], "conf_high": [0.15, 0.07], "baseline": "B0",
    ...                      "baseline_only": [10, 20], "strategy_only": [30, 22], "survives": [True, False]})
    >>> [float(line.get_xdata()[0]) for line in strategies(rows).lines if line.get_marker() == "o"]
    [10.0, 2.0]
    """
    columns = ("judge", "strategy", "conf_low", "conf_high", "baseline_only", "strategy_only", "survives")
    here = canvas.chosen(comparisons, ["difference"], *columns, source="compare_strategies")
    groups = [str(c) for c in here.columns[: list(here.columns).index("term")]]
    here = here.assign(_row=canvas.joined(here, sorted(groups, key=lambda c: {"judge": 0, "strategy": 2}.get(c, 1))))
    canvas.one_row_each(here, ["_row"])
    points = here.assign(**{c: 100 * here[c] for c in ("estimate", "conf_low", "conf_high")})
    labels = list(here["_row"])
    each = 0.32 if len(labels) < 20 else 0.26
    ax = canvas.new_axes(
        ax, 4.9 + 0.075 * max(map(len, canvas.shortened(labels, canvas.NAME))), canvas.height_of(len(labels), each)
    )
    canvas.limits(ax, points[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-100, 100))
    canvas.neutral(ax)
    canvas.lanes(ax, labels)
    for i, row in enumerate(points.to_dict("records")):
        canvas.whisker(ax, row, i, filled=row["survives"] is True or row["survives"] == 1)
        for name, offset in (("baseline_only", 30.0), ("strategy_only", 62.0)):
            canvas.beside(ax, i, count(float(row[name])), offset, ha="right")
    canvas.beside(ax, None, "b", 30.0, ha="right")
    canvas.beside(ax, None, "c", 62.0, ha="right")
    after = canvas.distinct(here["adjustment"].dropna()) if "adjustment" in here.columns else []
    survives = f"survives correction ({after[0]})" if len(after) == 1 else "survives correction"
    canvas.legend_above(
        ax, [canvas.key(survives, canvas.PALETTE[0]), canvas.key("does not", canvas.PALETTE[0], filled=False)], 2
    )
    base = " or ".join(map(str, canvas.distinct(here["baseline"].dropna()))) if "baseline" in here.columns else ""
    canvas.named(ax, f"gain in accuracy over {canvas.literal(base or 'the baseline')}, points", title=title, pad=24)
    return ax


def pareto(front: pd.DataFrame, *, by: str | Sequence[str] = (), ax: Any = None, title: str | None = None) -> Any:
    """Draw value against cost, with the front as a step line; what is dominated is grey.

    Parameters
    ----------
    front : pandas.DataFrame
        A result of :func:`pareto_front`.
    by : str or sequence of str
        The columns that it was grouped by: one front, in its own colour, for each.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        The costs are on a logarithmic axis where they are far apart and none is 0. Of more than 16 configurations
        those on a front are labelled; those without cost or value are named below.

    Raises
    ------
    DesignError
        If no configuration has both a cost and a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "b"], "cost": [1.0, 100.0], "value": [0.6, 0.7], "on_front": True})
    >>> pareto(rows).get_xscale()
    'log'
    """
    canvas.require(front, "cost", "value", "on_front")
    groups = [by] if isinstance(by, str) else list(by)
    canvas.require(front, *groups)
    names = [str(c) for c in front.columns[: list(front.columns).index("cost")] if c not in groups]
    front = front.assign(_name=canvas.joined(front, names), _group=canvas.joined(front, groups))
    there = np.isfinite(front[["cost", "value"]].to_numpy(float)).all(axis=1)
    here, absent = front[there], list(front.loc[~there, "_name"])
    if here.empty:
        raise DesignError("No configuration has both a cost and a value. Give a result of pareto_front().")
    ax = canvas.new_axes(ax, 6.8, 4.5)
    canvas.grid(ax)
    cost = here["cost"].to_numpy(float)
    value = here["value"].to_numpy(float)
    margin = 0.09 * float(np.ptp(value)) or 0.05
    ax.set_ylim(value.min() - margin, value.max() + 1.3 * margin)
    if cost.min() > 0 and cost.max() / cost.min() > LOG_FROM:
        ax.set_xscale("log")
        pad = (cost.max() / cost.min()) ** 0.09
        ax.set_xlim(cost.min() / pad, cost.max() * pad)
    else:
        pad = 0.09 * float(np.ptp(cost)) or 0.5 * float(cost.max()) or 0.5
        ax.set_xlim(cost.min() - pad, cost.max() + pad)
    keys = _fronts(ax, here)
    all_labelled = len(here) <= MOST_LABELS
    labelled = here if all_labelled else here[here["on_front"].astype(bool)]
    short = canvas.shortened(labelled["_name"], 28)
    x, y = list(labelled["cost"]), list(labelled["value"])
    left = canvas.label_around(ax, x, y, short, size=canvas.SMALL + 0.5, every=all_labelled, avoid=_drawn(here))
    canvas.legend_above(ax, keys, 3)
    canvas.named(ax, "cost" + (" (log scale)" if ax.get_xscale() == "log" else ""), "value", title, pad=24)
    remarks = [] if all_labelled else ["Labelled: configurations on the front."]
    remarks += [f"Labels that do not fit: {', '.join(left)}."] if left else []
    remarks += [f"Without cost or value: {', '.join(canvas.shortened(absent))}."] if absent else []
    if remarks:
        canvas.note(ax, " ".join(remarks))
    return ax


def _fronts(ax: Any, here: pd.DataFrame) -> list[Any]:
    keys: list[Any] = []
    several = here["_group"].nunique() > 1
    worse = here[~here["on_front"].astype(bool)]
    ax.scatter(worse["cost"], worse["value"], s=34, color=DOMINATED, edgecolors="white", linewidths=0.7, zorder=3)
    for i, group in enumerate(canvas.distinct(here["_group"])):
        color = canvas.PALETTE[i % len(canvas.PALETTE)]
        on = here[(here["_group"] == group) & here["on_front"].astype(bool)].sort_values(["cost", "value"])
        ax.step(on["cost"], on["value"], where="post", color=color, linewidth=1.4, alpha=0.8, zorder=2)
        ax.scatter(on["cost"], on["value"], s=46, color=color, edgecolors="white", linewidths=0.8, zorder=4)
        name = f"front: {group}" if several else "on the front"
        keys.append(
            Line2D([], [], color=color, marker="o", markersize=6, markeredgecolor="white", label=canvas.literal(name))
        )
    if len(worse):
        keys.append(canvas.key("dominated", DOMINATED))
    return keys[: canvas.DIRECT + 1]


def _drawn(here: pd.DataFrame) -> list[tuple[float, float, float, float]]:
    """Steps of the fronts and points, which labels should not cover."""
    boxes = [(x, y, x, y) for x, y in zip(here["cost"], here["value"], strict=True)]
    for _, group in here[here["on_front"].astype(bool)].groupby("_group", sort=False):
        ends = list(group.sort_values(["cost", "value"])[["cost", "value"]].itertuples(index=False, name=None))
        for (x0, y0), (x1, y1) in pairwise(ends):
            boxes += [(x0, y0, x1, y0), (x1, y0, x1, y1)]
    return boxes
