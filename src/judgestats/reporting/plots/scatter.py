"""Judges as points: metrology map, positional against stable (Figures 1 and 5 of the dark_current paper)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from judgestats.errors import DesignError, choose
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import tick
from judgestats.reporting.plots import canvas, point_labels, short_names
from judgestats.reporting.plots.matrices import DIVERGING, Shading, heat, name_sides

#: The darkest colour means at least this change.
LEAST_REACH = 0.05


@canvas.picture()
def bias_map(
    changes: pd.DataFrame,
    *,
    judge: str | None = None,
    order: estimate_rows.Order = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw what each strategy does to each bias: blue where |b| falls, red where it grows.

    Parameters
    ----------
    changes : pandas.DataFrame
        A result of :func:`bias_change`.
    judge : str, optional
        Draw the ``magnitude_change`` of this judge; by default ``mean_change`` over the judges.

    Returns
    -------
    Picture
        A row a bias (and further group), a column a strategy. Cells whose interval excludes 0 are framed, and bold.

    Raises
    ------
    DesignError
        If there is no such change, or no such judge.

    See Also
    --------
    judgestats.bias_change : the changes. bias_scores : the biases themselves.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": None, "bias": "length", "strategy": ["S1", "S2"], "term": "mean_change",
    ...                      "estimate": [-0.21, 0.02], "conf_low": [-0.3, -0.05], "conf_high": [-0.1, 0.09]})
    >>> [t.get_text() for t in bias_map(rows).texts[:2]]
    ['−21', '+2']
    """
    term = "mean_change" if judge is None else "magnitude_change"
    estimates = estimate_rows.chosen(
        changes, [term], "judge", "strategy", "conf_low", "conf_high", source="bias_change"
    )
    if judge is not None:
        measured = sorted(set(estimates["judge"].dropna().astype(str)))
        estimates = estimates[estimates["judge"].astype(str) == choose(judge, measured, "judge")]
    estimates = estimates.assign(
        _row=estimate_rows.names_of(estimates, "judge", "strategy"), _column=estimates["strategy"].astype(str)
    )
    estimate_rows.one_row_each(estimates, ["_row", "_column"])
    falls = estimates.assign(_fall=-estimates["estimate"])
    rows, columns = (estimate_rows.ordered(falls, order, column=c, value="_fall") for c in ("_row", "_column"))
    grids = estimates.set_index(["_row", "_column"])[["estimate", "conf_low", "conf_high"]].astype(float).unstack()
    wide = {c: grids[c].reindex(index=rows, columns=columns) for c in ("estimate", "conf_low", "conf_high")}
    values = wide["estimate"]
    if not values.notna().to_numpy().any():
        raise DesignError(f"There is no {term} with a value to draw. Give another judge, or judge=None for the mean.")
    sure = (wide["conf_low"] > 0) | (wide["conf_high"] < 0)
    reach = max(float(np.nanmax(np.abs(values.to_numpy(float)))), LEAST_REACH)
    judges = "mean over judges" if judge is None else short_names.literal(judge)
    bar = f"change of |b| in points, {judges} (blue: the bias falls)"
    shading = Shading(DIVERGING, TwoSlopeNorm(0, -reach, reach), bar, "points")
    ax = heat(values, values, shading, sure, ax, title)
    for text, bold in zip(ax.texts, sure.to_numpy().ravel(), strict=False):
        text.set_fontweight("bold" if bold else "normal")
    if sure.to_numpy().any():
        canvas.below(ax, "framed: the interval excludes 0")
    name_sides(ax, "bias", "strategy")
    return canvas.Picture(ax, estimates)


@canvas.picture("Axes to draw on, one a panel.", needs="bias")
def bias_scores(
    scores: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw the signed bias b of each judge with its interval, a panel a bias (and topic).

    Parameters
    ----------
    scores : pandas.DataFrame
        A result of :func:`bias_score`: the terms ``bias``, and with ``over`` also ``mean``, are drawn.

    Returns
    -------
    Picture
        All panels have the same range; right of zero the target is preferred.

    See Also
    --------
    judgestats.bias_score : the numbers. bias_map : what strategies change.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["g", "h"], "bias": "length", "term": "bias", "estimate": [0.2, -0.1],
    ...                      "conf_low": [0.1, -0.2], "conf_high": [0.3, 0.05]})
    >>> bias_scores(rows).get_title("left")
    'length'
    """
    estimates = estimate_rows.chosen(scores, ["bias", "mean"], "judge", "conf_low", "conf_high", source="bias_score")
    mean = estimates["term"] == "mean"
    over = [
        c
        for c in estimate_rows.groups_of(estimates, "judge", "bias")
        if mean.any() and estimates.loc[mean, c].isna().all()
    ]
    facets = [c for c in ("bias",) if c in estimates.columns] + over
    estimates = estimates.assign(
        _row=estimate_rows.names_of(estimates, *facets), _panel=estimate_rows.joined(estimates, facets)
    )
    estimates.loc[mean, "_panel"] = [f"{p} · mean" if p != "all" else "mean" for p in estimates.loc[mean, "_panel"]]
    estimate_rows.one_row_each(estimates, ["_row", "_panel"])
    panels = estimate_rows.distinct(estimates["_panel"])
    rows = estimate_rows.ordered(estimates, order, estimates[estimates["_panel"] == panels[0]])
    each = 3.2 if len(panels) == 1 else 2.3
    axes = canvas.panels(ax, panels, rows, wide=[each] * len(panels))
    for panel, facet in zip(axes, panels, strict=True):
        canvas.limits(panel, estimates[["estimate", "conf_low", "conf_high"]], zero=True, even=True, bounds=(-1, 1))
        canvas.neutral(panel)
        canvas.lanes(panel, rows, first=canvas.leftmost(panel, axes))
        for row in estimates[estimates["_panel"] == facet].to_dict("records"):
            canvas.whisker(panel, row, rows.index(row["_row"]))
        canvas.named(panel, "bias b: share that prefers the target\nminus share for the other (points)")
        canvas.in_form(panel, "points")
        panel.set_title(
            "" if facet == "all" else short_names.literal(facet), fontsize=canvas.TEXT, color=canvas.INK, loc="left"
        )
    if len(axes) > 1 or panels == ["all"]:
        canvas.headed(axes, title)
    elif title:
        canvas.named(axes[0], axes[0].get_xlabel(), "", f"{title}: {panels[0]}")
    return canvas.Picture(axes, estimates)


@canvas.picture()
def metrology_map(sheet: pd.DataFrame, *, ax: Axes | None = None, title: str | None = None) -> canvas.Picture:
    """Draw dark current against stable cross-sensitivity (Figure 1).

    The marker grows with the target sensitivity at the first step of the ladder.

    Parameters
    ----------
    sheet : pandas.DataFrame
        A datasheet, or the stacked results of :func:`dark_current`, :func:`delta0` and :func:`target_sensitivity`.

    Returns
    -------
    Picture
        More than 8 judges have numbers, with a key.

    Raises
    ------
    DesignError
        If no judge has both rates. Judges that lack one are named below the axes.

    See Also
    --------
    judgestats.dark_current, judgestats.delta0 : the rates. stable_positional : the classes of pairs of equals.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "Llama8B", "term": ["dark_current", "stable_cross_sensitivity"],
    ...                      "estimate": [0.667, 0.033], "conf_low": [0.578, 0.01], "conf_high": [0.745, 0.11]})
    >>> metrology_map(rows).get_xlabel()
    'dark current (DC), share of vacuum calls'
    """
    rates = ("dark_current", "stable_cross_sensitivity")
    for rate in rates:
        estimate_rows.terms(sheet, rate)
    dark, stable = (estimate_rows.one_each(sheet, rate) for rate in rates)
    smallest = estimate_rows.terms(sheet, "target_sensitivity", needed=False)
    smallest = smallest[smallest["step"] == smallest.groupby("who")["step"].transform("min")]
    first = dict(zip(smallest["who"], smallest["estimate"], strict=True))
    judges = [j for j in estimate_rows.order_of(sheet) if j in dark.index and j in stable.index]
    ax = _new(ax, judges)
    areas = [_area(first.get(j, np.nan)) for j in judges]
    if len(first):
        _size_legend(ax)
        canvas.keep_legend(ax)
    canvas.named(ax, "dark current (DC), share of vacuum calls", "stable cross-sensitivity (SCS), share of pairs")
    if title:
        canvas.named(ax, ax.get_xlabel(), ax.get_ylabel(), title, pad=38 if len(first) else 6)
    absent = [j for j in estimate_rows.order_of(sheet) if (j in dark.index) != (j in stable.index)]
    if absent:
        canvas.below(ax, f"Not shown, one of the two rates is missing: {', '.join(short_names.shortened(absent))}.")
    _scatter(ax, dark, stable, judges, areas)
    return canvas.Picture(ax, pd.concat([t.reset_index().loc[lambda t: t["who"].isin(judges)] for t in (dark, stable)]))


@canvas.picture()
def stable_positional(sheet: pd.DataFrame, *, ax: Axes | None = None, title: str | None = None) -> canvas.Picture:
    """Draw positional false preference against stable cross-sensitivity (Figure 5).

    Parameters
    ----------
    sheet : pandas.DataFrame
        A datasheet, or a result of :func:`delta0`.

    Returns
    -------
    Picture
        The grey corner holds what cannot be: the two classes exclude each other. More than 8 judges have numbers, with
        a key.

    See Also
    --------
    judgestats.delta0 : the shares. decomposition : all classes of a judge.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["stable_cross_sensitivity", "positional_false_preference"],
    ...                      "estimate": [0.1, 0.4], "conf_low": [0.05, 0.3], "conf_high": [0.2, 0.5]})
    >>> stable_positional(rows).data["estimate"].tolist()
    [0.1, 0.4]
    """
    estimate_rows.terms(sheet, "stable_cross_sensitivity")
    classes = ("stable_cross_sensitivity", "positional_false_preference")
    stable, positional = (estimate_rows.one_each(sheet, term) for term in classes)
    judges = [j for j in estimate_rows.order_of(sheet) if j in stable.index and j in positional.index]
    ax = _new(ax, judges)
    canvas.named(
        ax, "stable cross-sensitivity (SCS), share of pairs", "positional false preference (PFP), share of pairs", title
    )
    _scatter(ax, stable, positional, judges, [70.0] * len(judges), exclusive=True)
    both = [t.reset_index().loc[lambda t: t["who"].isin(judges)] for t in (stable, positional)]
    return canvas.Picture(ax, pd.concat(both))


def _new(ax: Axes | None, judges: list[str]) -> Axes:
    entries = short_names.shortened(judges) if len(judges) > canvas.DIRECT else []
    ax = canvas.new_axes(ax, 5.6 + canvas.legend_width(entries, 4.8), 4.8)
    canvas.grid(ax)
    return ax


def _scatter(
    ax: Axes, across: pd.DataFrame, up: pd.DataFrame, judges: list[str], areas: list[float], *, exclusive: bool = False
) -> None:
    """Points with both intervals, named; `exclusive`: the two shares cannot add up to more than 1."""
    x, y = (t["estimate"].reindex(judges).to_numpy(float) for t in (across, up))
    sides = [np.array([_interval(t.loc[j]) for j in judges]) for t in (across, up)]
    canvas.corner(ax, [*x, *sides[0].ravel()], [*y, *sides[1].ravel()])
    if exclusive and ax.get_xlim()[1] + ax.get_ylim()[1] > 1:
        ranges = ax.get_xlim(), ax.get_ylim()
        ax.fill([-0.05, 1.05, 1.05], [1.05, 1.05, -0.05], color=canvas.FAINT, zorder=0, linewidth=0)
        ax.set(xlim=ranges[0], ylim=ranges[1])
        words = "not possible: together above 1"
        canvas.small(ax, 0.98, 0.98, words, ha="right", va="top", transform=ax.transAxes)
    few = len(judges) <= canvas.DIRECT
    styles = [canvas.style_of(i if few else 0) for i in range(len(judges))]
    crosses = []
    for i, style in enumerate(styles):
        (x0, x1), (y0, y1) = sides[0][i], sides[1][i]
        for ends in (([x0, x1], [y[i]] * 2), ([x[i]] * 2, [y0, y1])):
            ax.plot(*ends, color=style["color"], linewidth=1.0, alpha=0.55 if few else 0.25, zorder=2)
            crosses.append((ends[0][0], ends[1][0], ends[0][1], ends[1][1]))
        ax.scatter(x[i], y[i], s=areas[i], zorder=3, edgecolors="white", linewidths=0.9, alpha=0.95, **style)
    finite = [i for i in range(len(judges)) if np.isfinite(x[i]) and np.isfinite(y[i])]
    clear = [c for c in crosses if np.isfinite(np.array(c, dtype=float)).all()] if few else []
    point_labels.name_points(ax, x[finite], y[finite], [judges[i] for i in finite], avoid=clear)


def _interval(row: pd.Series) -> tuple[float, float]:
    return float(row.get("conf_low", np.nan)), float(row.get("conf_high", np.nan))


def _area(sensitivity: float) -> float:
    return 60.0 if np.isnan(sensitivity) else 25.0 + 235.0 * sensitivity


def _size_legend(ax: Axes) -> None:
    sizes = [
        canvas.key(tick(p, "share"), "#9aa5b1", markersize=float(np.sqrt(_area(p))), markeredgecolor="white")
        for p in (0.25, 0.5, 1.0)
    ]
    place: dict[str, object] = {
        "loc": "lower left",
        "bbox_to_anchor": (0, 1.01),
        "borderaxespad": 0.2,
        "labelspacing": 0.5,
    }
    canvas.legend(ax, sizes, "target sensitivity at the first step", 3, columnspacing=1.6, handletextpad=0.4, **place)
