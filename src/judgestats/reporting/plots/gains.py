"""What strategies gain, and what they cost (debiasing paper, Tables 3 and 4, Appendix H)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import count
from judgestats.reporting.plots import canvas, point_labels, short_names
from judgestats.reporting.plots.condition_cells import cells
from judgestats.reporting.plots.matrices import name_sides


@canvas.picture(needs="criterion")
def operating_point(
    shift: pd.DataFrame,
    sensitivity: pd.DataFrame | None = None,
    *,
    prompts: tuple[str, str] = ("base", "strict"),
    order: estimate_rows.Order = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
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

    Returns
    -------
    Picture
        A segment for each judge and step of the ladder, from the first prompt (open) to the second (filled). The marker
        is the step, the colour the judge. More than 8 judges have a row each, with a panel for equals and for each
        step; those whose false preferences fall most are on top.

    See Also
    --------
    judgestats.criterion_shift : the shifts. psychometric_curves : right choices at all steps.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "stimulus": ["same_subset", "ladder"] * 2, "delta": [np.nan, 1.0] * 2,
    ...                      "term": ["criterion_base"] * 2 + ["criterion_strict"] * 2,
    ...                      "estimate": [0.4, 0.1, 0.8, 0.3], "conf_low": 0.0, "conf_high": 1.0})
    >>> operating_point(rows).get_xlabel()
    'false preference between equals (share of calls, 1 − tie rate)'
    """
    table = estimate_rows.terms(shift, "criterion_base", "criterion_strict")
    estimate_rows.require(shift, "judge", "term", "estimate", "conf_low", "conf_high")
    if sensitivity is not None:
        estimate_rows.require(sensitivity, "judge", "term", "estimate", "conf_low", "conf_high", "prompt")
    equal = table[(table["step"].isna() | (table["step"] == 0)) & _on_equals(table)]
    ladder = table[table["step"] > 0]
    segments: list[_Segment] = []
    for judge in dict.fromkeys(equal["who"]):
        x = _ends(equal[equal["who"] == judge], None)
        for delta in sorted(set(ladder.loc[ladder["who"] == judge, "step"])):
            y = _ends(ladder[(ladder["who"] == judge) & (ladder["step"] == delta)], None)
            y = y if sensitivity is None else _ends(sensitivity, (judge, delta, prompts)) or y
            segments += [(judge, delta, x, y)] if x and y else []
    judges = estimate_rows.distinct(s[0] for s in segments)
    steps = sorted({s[1] for s in segments})
    rows = [equal, ladder]
    rows += [] if sensitivity is None else [sensitivity[sensitivity["term"] == "target_sensitivity"]]
    what = "right choices" if sensitivity is not None else "calls that take a side"
    if ax is None and len(judges) > canvas.DIRECT:
        return canvas.Picture(_moves(segments, steps, prompts, what, order, title), pd.concat(rows))
    names, keys = short_names.shortened(judges), _prompt_keys(prompts)
    markers = [canvas.MARKERS[i % len(canvas.MARKERS)] for i in range(len(steps))]
    keys += [canvas.key(f"step Δ = {d:g}", canvas.MUTED, marker=markers[i]) for i, d in enumerate(steps)]
    colors = [canvas.style_of(i)["color"] for i in range(len(judges))]
    keys += [Line2D([], [], color=color, linewidth=2.0, label=t) for color, t in zip(colors, names, strict=True)]
    height = 4.8 if len(segments) <= MOST_LABELS else 7.6
    more = canvas.legend_width([*names, *(" " for _ in (*steps, *prompts))], height)
    ax = canvas.new_axes(ax, height + 0.8 + more, height)
    canvas.corner(
        ax, [v for s in segments for end in s[2] for v in end], [v for s in segments for end in s[3] for v in end]
    )
    canvas.grid(ax)
    for judge, delta, x, y in segments:
        _segment(ax, x, y, {"color": colors[judges.index(judge)], "marker": markers[steps.index(delta)]})
    canvas.legend(ax, keys)
    canvas.named(
        ax,
        "false preference between equals (share of calls, 1 − tie rate)",
        f"{what} on the ladder (share of calls)",
        title,
    )
    canvas.below(ax, names.key)
    return canvas.Picture(ax, pd.concat(rows))


_Segment = tuple[str, float, list["_End"], list["_End"]]


def _moves(
    segments: list[_Segment],
    steps: list[float],
    prompts: tuple[str, str],
    what: str,
    order: estimate_rows.Order,
    title: str | None,
) -> list[Axes]:
    """Many judges: a row each, and a panel for equals and one for each step, from the first prompt to the second."""
    on_equals = {s[0]: s[2] for s in segments}
    ends = [on_equals, *({s[0]: s[3] for s in segments if s[1] == delta} for delta in steps)]
    saved = pd.DataFrame(
        {"_row": [*on_equals], "term": "", "estimate": [x[0][0] - x[1][0] for x in on_equals.values()]}
    )
    rows = estimate_rows.ordered(saved, order)
    heads = ["false preference\nbetween equals", *(f"{what}\nat step Δ = {delta:g}" for delta in steps)]
    axes = canvas.panels(None, heads, rows, wide=[2.4] * len(heads))
    for panel, of_judge, head in zip(axes, ends, heads, strict=True):
        canvas.shares(panel)
        canvas.lanes(panel, rows, first=canvas.leftmost(panel, axes))
        for judge, (before, after) in of_judge.items():
            i = rows.index(judge)
            panel.plot([before[0], after[0]], [i] * 2, color=canvas.MUTED, linewidth=1.8, alpha=0.5, zorder=2)
            for end, filled in ((before, False), (after, True)):
                canvas.interval(panel, i + (0.16 if filled else -0.16), *end[1:], canvas.PALETTE[0], 0.9)
                canvas.point(panel, end[0], i, canvas.PALETTE[0], filled=filled)
        canvas.named(panel, f"{head}, share of calls")
    canvas.legend_above(axes[0], _prompt_keys(prompts), 2)
    canvas.headed(axes, title)
    return axes


def _prompt_keys(prompts: tuple[str, str]) -> list[Line2D]:
    return [
        Line2D([], [], linestyle="none", marker="o", markerfacecolor=face, markeredgecolor=canvas.INK, label=label)
        for face, label in zip(("white", canvas.INK), short_names.shortened(prompts), strict=True)
    ]


def _on_equals(table: pd.DataFrame) -> pd.Series | bool:
    if "stimulus" in table.columns:
        return table["stimulus"].astype(object) == "same_subset"
    return table["detail"].astype(str) == "Δ0" if "detail" in table.columns else True


_End = tuple[float, float, float]


def _ends(table: pd.DataFrame, at: tuple[str, float, tuple[str, str]] | None) -> list[_End]:
    """(value, low, high) under either prompt: one minus the tie rate, or the sensitivity itself."""
    if at is None:
        criteria = [table[table["term"] == t] for t in ("criterion_base", "criterion_strict")]
    else:
        judge, delta, prompts = at
        estimates = table[(table["judge"].astype(str) == judge) & (estimate_rows.step(table) == delta)]
        estimates = estimates[estimates["term"] == "target_sensitivity"]
        criteria = [estimates[estimates["prompt"] == p] for p in prompts]
    first = [r for t in criteria for r in t.head(1).itertuples()] if all(map(len, criteria)) else []
    if at is None:
        return [(1 - r.estimate, 1 - r.conf_high, 1 - r.conf_low) for r in first]
    return [(r.estimate, r.conf_low, r.conf_high) for r in first]


def _segment(ax: Axes, x: list[_End], y: list[_End], style: canvas.Style) -> None:
    color, marker = style["color"], style["marker"]
    line = {"arrowstyle": "-|>", "color": color, "lw": 1.6, "shrinkA": 4, "shrinkB": 4}
    ax.annotate("", (x[1][0], y[1][0]), (x[0][0], y[0][0]), arrowprops=line)
    for i in (0, 1):
        ax.plot(x[i][1:], [y[i][0]] * 2, color=color, linewidth=1.1, alpha=0.6, zorder=2)
        ax.plot([x[i][0]] * 2, y[i][1:], color=color, linewidth=1.1, alpha=0.6, zorder=2)
        (end,) = ax.plot(x[i][0], y[i][0], marker=marker, markersize=8, zorder=4)
        end.set(markerfacecolor=color if i else "white", markeredgewidth=1.5, markeredgecolor=color)


#: Costs farther apart than this are drawn on a logarithmic axis.
LOG_FROM = 30.0
#: As many configurations are all labelled; of more, those on the front.
MOST_LABELS = 16
#: Columns of counts beside the rows of strategies, and their places in points.
COUNTS = {"baseline_only": 42.0, "strategy_only": 92.0}
#: With more rows than this there is a matrix.
MOST_ROWS = 40
#: As many strategies without a common pair are named.
MOST_ABSENT = 8
#: Points that are dominated.
DOMINATED = "#9aa5b1"


@canvas.picture(needs="difference")
def strategies(
    comparisons: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw the gain of each strategy over the baseline, in points: filled where it survives the correction.

    Parameters
    ----------
    comparisons : pandas.DataFrame
        A result of :func:`compare_strategies`.

    Returns
    -------
    Picture
        A row a judge and strategy; at its right McNemar's counts: the pairs that the baseline alone had right, and
        those that the strategy alone had right. Strategies without a pair in common with the baseline (not run, say)
        are named below. More than 40 rows are a matrix of judges and strategies, framed where the gain survives, unless
        `ax` is given.

    See Also
    --------
    judgestats.compare_strategies : the numbers. pareto : what a gain costs.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "strategy": ["S1", "S2"], "term": "difference", "estimate": [0.1, 0.02],
    ...                      "conf_low": [0.05, -0.03], "conf_high": [0.15, 0.07], "baseline": "B0",
    ...                      "baseline_only": [10, 20], "strategy_only": [30, 22], "survives": [True, False]})
    >>> [float(line.get_xdata()[0]) for line in strategies(rows).lines if line.get_marker() == "o"]
    [10.0, 2.0]
    """
    columns = ("judge", "strategy", "conf_low", "conf_high", "baseline_only", "strategy_only", "survives")
    estimates = estimate_rows.chosen(comparisons, ["difference"], *columns, source="compare_strategies")
    groups = [str(c) for c in estimates.columns[: list(estimates.columns).index("term")]]
    names = sorted(groups, key=lambda c: {"judge": 0, "strategy": 2}.get(c, 1))
    estimates = estimates.assign(_row=estimate_rows.joined(estimates, names))
    estimate_rows.one_row_each(estimates, ["_row"])
    absent = list(estimates.loc[estimates["estimate"].isna(), "_row"])
    estimates = estimates[estimates["estimate"].notna()]
    baselines = estimate_rows.distinct(estimates["baseline"].dropna()) if "baseline" in estimates.columns else []
    base = " or ".join(map(str, baselines))
    of = short_names.literal(base or "the baseline")
    after = estimate_rows.distinct(estimates["adjustment"].dropna()) if "adjustment" in estimates.columns else []
    survives = f"survives correction ({after[0]})" if len(after) == 1 else "survives correction"
    if ax is None and len(estimates) > MOST_ROWS:
        table = estimates.assign(
            _row=estimate_rows.joined(estimates, [c for c in names if c != "strategy"]),
            _column=estimates["strategy"].astype(str),
        )
        rows, columns_drawn = (estimate_rows.ordered(table, order, column=c) for c in ("_row", "_column"))
        clear = table.set_index(["_row", "_column"])["survives"].unstack().eq(other=True)
        clear = clear.reindex(index=rows, columns=columns_drawn)
        matrix = cells(None, table, clear, title, f"gain in accuracy over {of}", "points")
        name_sides(matrix, "judge", "strategy")
        canvas.below(matrix, f"framed: {survives}")
        return canvas.Picture(matrix, estimates)
    points = estimates.assign(**{c: 100 * estimates[c] for c in ("estimate", "conf_low", "conf_high")})
    labels = estimate_rows.ordered(points, order)
    ax = canvas.row_axes(ax, labels, 5.6, 0.32 if len(labels) < 20 else 0.26)
    canvas.limits(ax, points[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-100, 100))
    canvas.neutral(ax)
    canvas.lanes(ax, labels)
    for row in points.to_dict("records"):
        i = labels.index(row["_row"])
        canvas.whisker(ax, row, i, filled=row["survives"] is True or row["survives"] == 1)
        for name, offset in COUNTS.items():
            canvas.beside(ax, i, count(float(row[name])), offset, ha="right")
    heads = (f"only\n{short_names.shortened([base or 'baseline'], 9)[0]}\nright", "only\nstrategy\nright")
    for head, offset in zip(heads, COUNTS.values(), strict=True):
        canvas.beside(ax, None, head, offset, ha="right")
    canvas.named(ax, f"gain in accuracy over {of} (percentage points)", title=title, pad=36)
    keys = [canvas.key(survives, canvas.PALETTE[0]), canvas.key("does not", canvas.PALETTE[0], filled=False)]
    canvas.legend_above(ax, keys, 2)
    if absent:
        absent_names = ", ".join(short_names.shortened(absent[:MOST_ABSENT], canvas.NAME))
        more = f" and {len(absent) - MOST_ABSENT} more" if len(absent) > MOST_ABSENT else ""
        canvas.below(ax, f"no pair in common with the baseline: {absent_names}{more}")
    return canvas.Picture(ax, estimates)


@canvas.picture()
def pareto(
    front: pd.DataFrame,
    *,
    by: str | Sequence[str] = (),
    cost: str = "cost",
    value: str = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw value against cost, with the front as a step line; what is dominated is grey.

    Parameters
    ----------
    front : pandas.DataFrame
        A result of :func:`pareto_front`. Its intervals, ``conf_low`` and ``conf_high``, are drawn where it has them.
    by : str or sequence of str
        The columns that it was grouped by: one front, in its own colour, for each.
    cost, value : str
        What the two are, with their units, for the axes: ``cost="US dollars per 1,000 verdicts"``.

    Returns
    -------
    Picture
        The costs are on a logarithmic axis where they are far apart and none is 0. Of more than 16 configurations
        those on a front are named; more than 8 have numbers, with a key. Those without cost or value are named below.

    Raises
    ------
    DesignError
        If no configuration has both a cost and a value.

    See Also
    --------
    judgestats.pareto_front : the front. strategies : gains with their intervals.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "b"], "cost": [1.0, 100.0], "value": [0.6, 0.7], "on_front": True})
    >>> pareto(rows).get_xscale()
    'log'
    """
    estimate_rows.require(front, "cost", "value", "on_front")
    groups = [by] if isinstance(by, str) else list(by)
    estimate_rows.require(front, *groups)
    names = [str(c) for c in front.columns[: list(front.columns).index("cost")] if c not in groups]
    front = front.assign(_name=estimate_rows.joined(front, names), _group=estimate_rows.joined(front, groups))
    there = np.isfinite(front[["cost", "value"]].to_numpy(float)).all(axis=1)
    points, absent = front[there], list(front.loc[~there, "_name"])
    if points.empty:
        raise DesignError("No configuration has both a cost and a value. Give a result of pareto_front().")
    all_named = len(points) <= MOST_LABELS
    chosen = points if all_named else points[points["on_front"].astype(bool)]
    several = points["_group"].nunique() > 1
    entries = short_names.shortened(chosen["_name"]) if len(chosen) > canvas.DIRECT else []
    heads = [f"front: {g}" for g in estimate_rows.distinct(points["_group"])] if several else ["on the front"]
    width = 6.4 + max(canvas.legend_width([*entries, *heads], 4.8), 1.2)
    ax = canvas.new_axes(ax, width, 4.8)
    canvas.grid(ax)
    paid, worth = points["cost"].to_numpy(float), points["value"].to_numpy(float)
    ends = (
        points[["conf_low", "conf_high"]].to_numpy(float) if {"conf_low", "conf_high"} <= {*points} else worth[:, None]
    )
    low, high = np.nanmin([*ends.ravel(), *worth]), np.nanmax([*ends.ravel(), *worth])
    margin = 0.09 * float(high - low) or 0.05
    ax.set_ylim(low - margin, high + margin)
    if paid.min() > 0 and paid.max() / paid.min() > LOG_FROM:
        ax.set_xscale("log")
        pad = (paid.max() / paid.min()) ** 0.09
        ax.set_xlim(paid.min() / pad, paid.max() * pad)
    else:
        pad = 0.09 * float(np.ptp(paid)) or 0.5 * float(paid.max()) or 0.5
        ax.set_xlim(paid.min() - pad, paid.max() + pad)
    if ends.shape[1] == 2:
        ax.vlines(paid, ends[:, 0], ends[:, 1], color=canvas.MUTED, linewidth=1.0, alpha=0.5, zorder=1.5)
    keys = _fronts(ax, points)
    canvas.named(
        ax,
        f"{short_names.literal(cost)}{', log scale' if ax.get_xscale() == 'log' else ''} (lower is better)",
        f"{short_names.literal(value)} (higher is better)",
        title,
    )
    remarks = [] if all_named else ["Named: configurations on the front."]
    remarks += [f"Without cost or value: {', '.join(short_names.shortened(absent))}."] if absent else []
    canvas.below(ax, " ".join(remarks))
    places = list(chosen["cost"]), list(chosen["value"])
    point_labels.name_points(ax, *places, list(chosen["_name"]), avoid=_drawn(points), more=keys)
    return canvas.Picture(ax, points)


def _fronts(ax: Axes, points: pd.DataFrame) -> list[Artist]:
    keys: list[Artist] = []
    several = points["_group"].nunique() > 1
    worse = points[~points["on_front"].astype(bool)]
    ax.scatter(worse["cost"], worse["value"], s=34, color=DOMINATED, edgecolors="white", linewidths=0.7, zorder=3)
    for i, group in enumerate(estimate_rows.distinct(points["_group"])):
        color = canvas.PALETTE[i % len(canvas.PALETTE)]
        on = points[(points["_group"] == group) & points["on_front"].astype(bool)].sort_values(["cost", "value"])
        ax.step(on["cost"], on["value"], where="post", color=color, linewidth=1.4, alpha=0.8, zorder=2)
        ax.scatter(on["cost"], on["value"], s=46, color=color, edgecolors="white", linewidths=0.8, zorder=4)
        name = f"front: {group}" if several else "on the front"
        keys.append(
            Line2D(
                [], [], color=color, marker="o", markersize=6, markeredgecolor="white", label=short_names.literal(name)
            )
        )
    if len(worse):
        keys.append(canvas.key("dominated", DOMINATED))
    return keys[: canvas.DIRECT + 1]


def _drawn(points: pd.DataFrame) -> list[tuple[float, float, float, float]]:
    """Steps of the fronts and points, which labels should not cover."""
    boxes = [(x, y, x, y) for x, y in zip(points["cost"], points["value"], strict=True)]
    for _, group in points[points["on_front"].astype(bool)].groupby("_group", sort=False):
        ends = list(group.sort_values(["cost", "value"])[["cost", "value"]].itertuples(index=False, name=None))
        for (x0, y0), (x1, y1) in pairwise(ends):
            boxes += [(x0, y0, x1, y0), (x1, y0, x1, y1)]
    return boxes
