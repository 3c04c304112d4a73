"""Judges as points: metrology map, positional against stable (Figures 1 and 5 of the dark_current paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.lines import Line2D

from judgestats.errors import DesignError, choose
from judgestats.reporting.formatting import signed
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.matrices import DIVERGING, heat

# ---- Biases: signed scores of judges, and what strategies do to them (debiasing paper, Figure 2) ---------------------

#: The darkest colour means at least this change.
LEAST_REACH = 0.05
#: Most panels side by side.
ACROSS = 4


def bias_map(changes: pd.DataFrame, *, judge: str | None = None, ax: Any = None, title: str | None = None) -> Any:
    """Draw what each strategy does to each bias: blue where |b| falls, red where it grows.

    Parameters
    ----------
    changes : pandas.DataFrame
        A result of :func:`bias_change`.
    judge : str, optional
        Draw the ``magnitude_change`` of this judge; by default ``mean_change`` over the judges.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        A row a bias (and further group), a column a strategy. Cells whose interval excludes 0 are framed, and bold.

    Raises
    ------
    DesignError
        If there is no such change, or no such judge.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": None, "bias": "length", "strategy": ["S1", "S2"], "term": "mean_change",
    ...                      "estimate": [-0.21, 0.02], "conf_low": [-0.3, -0.05], "conf_high": [-0.1, 0.09]})
    >>> [t.get_text() for t in bias_map(rows).texts[:2]]
    ['−0.21', '+0.02']
    """
    term = "mean_change" if judge is None else "magnitude_change"
    here = canvas.chosen(changes, [term], "judge", "strategy", "conf_low", "conf_high", source="bias_change")
    if judge is not None:
        known = sorted(set(here["judge"].dropna().astype(str)))
        here = here[here["judge"].astype(str) == choose(judge, known, "judge")]
    here = here.assign(_row=canvas.names_of(here, "judge", "strategy"), _column=here["strategy"].astype(str))
    canvas.one_row_each(here, ["_row", "_column"])
    wide = {c: _grid(here, c) for c in ("estimate", "conf_low", "conf_high")}
    values = wide["estimate"]
    if not values.notna().to_numpy().any():
        raise DesignError(f"There is no {term} with a value to draw. Give another judge, or judge=None for the mean.")
    sure = (wide["conf_low"] > 0) | (wide["conf_high"] < 0)
    reach = max(float(np.nanmax(np.abs(values.to_numpy(float)))), LEAST_REACH)
    ax = heat(values, values, DIVERGING, TwoSlopeNorm(0, -reach, reach), sure, ax, title, signed, None)
    for text, bold in zip(ax.texts, sure.to_numpy().ravel(), strict=False):
        text.set_fontweight("bold" if bold else "normal")
    judges = "mean over judges" if judge is None else str(judge)
    framed = "\nframed: the interval excludes 0" if sure.to_numpy().any() else ""
    canvas.below(ax, f"change of |b| ({judges})\nblue: the bias falls · red: it grows{framed}", -6)
    return ax


def _grid(table: pd.DataFrame, value: str) -> pd.DataFrame:
    wide: pd.DataFrame = table.set_index(["_row", "_column"])[value].astype(float).unstack()
    return wide.reindex(index=canvas.distinct(table["_row"]), columns=canvas.distinct(table["_column"]))


def bias_scores(scores: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the signed bias b of each judge with its interval, a panel a bias (and topic).

    Parameters
    ----------
    scores : pandas.DataFrame
        A result of :func:`bias_score`: the terms ``bias``, and with ``over`` also ``mean``, are drawn.
    ax : matplotlib.axes.Axes or sequence of Axes, optional
        Axes to draw on, one a panel.
    title : str, optional
        Put above the first panel.

    Returns
    -------
    matplotlib.axes.Axes or list of Axes
        One for one panel, else a list. All panels have the same range; right of zero the target is preferred.

    Raises
    ------
    DesignError
        If there is no bias with a value, or `ax` does not have one for each panel.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["g", "h"], "bias": "length", "term": "bias", "estimate": [0.2, -0.1],
    ...                      "conf_low": [0.1, -0.2], "conf_high": [0.3, 0.05]})
    >>> bias_scores(rows).get_title("left")
    'length'
    """
    here = canvas.chosen(scores, ["bias", "mean"], "judge", "conf_low", "conf_high", source="bias_score")
    mean = here["term"] == "mean"
    over = [c for c in canvas.groups_of(here, "judge", "bias") if mean.any() and here.loc[mean, c].isna().all()]
    facets = [c for c in ("bias",) if c in here.columns] + over
    here = here.assign(_row=canvas.names_of(here, *facets), _panel=canvas.joined(here, facets))
    here.loc[mean, "_panel"] = [f"{p} · mean" if p != "all" else "mean" for p in here.loc[mean, "_panel"]]
    canvas.one_row_each(here, ["_row", "_panel"])
    rows, shown = canvas.distinct(here["_row"]), canvas.distinct(here["_panel"])
    each = 3.2 if len(shown) == 1 else 2.3
    axes = canvas.panels(ax, shown, rows, wide=[each] * len(shown), across=ACROSS)
    for i, (panel, facet) in enumerate(zip(axes, shown, strict=True)):
        canvas.limits(panel, here[["estimate", "conf_low", "conf_high"]], zero=True, even=True, bounds=(-1, 1))
        canvas.neutral(panel)
        canvas.lanes(panel, rows, first=i % ACROSS == 0)
        for row in here[here["_panel"] == facet].to_dict("records"):
            canvas.whisker(panel, row, rows.index(row["_row"]))
        panel.set_title(
            "" if facet == "all" else canvas.literal(facet), fontsize=canvas.TEXT, color=canvas.INK, loc="left"
        )
        panel.set_xlabel("b, towards the target →", fontsize=canvas.TEXT, color=canvas.INK)
    if len(axes) > 1 or shown == ["all"]:
        canvas.headed(axes, title)
    elif title:
        axes[0].set_title(
            canvas.literal(f"{title}: {shown[0]}"),
            fontsize=canvas.TEXT + 1.5,
            color=canvas.INK,
            loc="left",
            fontweight="bold",
        )
    return axes[0] if len(axes) == 1 else axes


# ---- Judges as points: metrology map, positional against stable (Figures 1 and 5 of the dark_current paper) ----------


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
    canvas.terms(sheet, "dark_current")
    canvas.terms(sheet, "stable_cross_sensitivity")
    dark, stable = canvas.one_each(sheet, "dark_current"), canvas.one_each(sheet, "stable_cross_sensitivity")
    found = canvas.terms(sheet, "target_sensitivity", needed=False)
    found = found[found["step"] == found.groupby("who")["step"].transform("min")]
    first = dict(zip(found["who"], found["estimate"], strict=True))
    judges = [j for j in canvas.order_of(sheet) if j in dark.index and j in stable.index]
    ax = canvas.new_axes(ax, 5.6 + _legend_width(judges), 4.6)
    canvas.unit_square(ax)
    canvas.grid(ax)
    _scatter(ax, dark, stable, judges, [_area(first.get(j, np.nan)) for j in judges])
    canvas.named(ax, "dark current (DC)", "stable cross-sensitivity (SCS)", title)
    if len(first):
        canvas.keep_legend(ax)
        _size_legend(ax)
    absent = [j for j in canvas.order_of(sheet) if (j in dark.index) != (j in stable.index)]
    if absent:
        canvas.note(ax, f"Not shown, one of the two rates is missing: {', '.join(canvas.shortened(absent))}.")
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
    canvas.terms(sheet, "stable_cross_sensitivity")
    stable, positional = (
        canvas.one_each(sheet, "stable_cross_sensitivity"),
        canvas.one_each(sheet, "positional_false_preference"),
    )
    judges = [j for j in canvas.order_of(sheet) if j in stable.index and j in positional.index]
    ax = canvas.new_axes(ax, 5.6 + _legend_width(judges), 4.6)
    canvas.unit_square(ax)
    canvas.grid(ax)
    ax.fill([0, 1.05, 1.05, -0.05], [1.0, -0.05, 1.05, 1.05], color=canvas.FAINT, zorder=0, linewidth=0)
    ax.text(0.98, 0.98, "not possible", fontsize=canvas.SMALL, color=canvas.MUTED, ha="right", va="top")
    _scatter(ax, stable, positional, judges, [70.0] * len(judges))
    canvas.named(ax, "stable cross-sensitivity (SCS)", "positional false preference (PFP)", title)
    return ax


def _scatter(ax: Any, across: pd.DataFrame, up: pd.DataFrame, judges: list[str], areas: list[float]) -> None:
    """Points with both intervals, labelled where they are few."""
    x, y = (t["estimate"].reindex(judges).to_numpy(float) for t in (across, up))
    styles = [canvas.style_of(i) for i in range(len(judges))]
    for i, style in enumerate(styles):
        for table, horizontal in ((across, True), (up, False)):
            low, high = _interval(table.loc[judges[i]])
            ends = ([low, high], [y[i]] * 2) if horizontal else ([x[i]] * 2, [low, high])
            ax.plot(*ends, color=style["color"], linewidth=1.0, alpha=0.55, zorder=2, solid_capstyle="butt")
        ax.scatter(x[i], y[i], s=areas[i], zorder=3, edgecolors="white", linewidths=0.9, alpha=0.95, **style)
    shown = [i for i in range(len(judges)) if np.isfinite(x[i]) and np.isfinite(y[i])]
    labels = canvas.shortened(judges)
    if len(judges) <= canvas.DIRECT:
        canvas.label_points(
            ax,
            [x[i] for i in shown],
            [y[i] for i in shown],
            [labels[i] for i in shown],
            [styles[i]["color"] for i in shown],
        )
    else:
        canvas.legend(ax, [_key(style, label) for style, label in zip(styles, labels, strict=True)])


def _legend_width(judges: list[str]) -> float:
    return 0.45 + canvas.label_width(canvas.shortened(judges)) if len(judges) > canvas.DIRECT else 0.0


def _key(style: dict[str, Any], label: str) -> Line2D:
    return Line2D([], [], linestyle="none", markersize=6, markeredgecolor="white", label=label, **style)


def _interval(row: pd.Series[Any]) -> tuple[float, float]:
    return float(row.get("conf_low", np.nan)), float(row.get("conf_high", np.nan))


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
        fontsize=canvas.SMALL + 0.5,
        title_fontsize=canvas.SMALL + 0.5,
        borderaxespad=0.2,
        labelcolor=canvas.INK,
        alignment="left",
        columnspacing=1.6,
        handletextpad=0.4,
    )
    drawn.get_title().set_color(canvas.MUTED)
