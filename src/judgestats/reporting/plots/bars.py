"""Stacked bars: what false preference is made of (Figure 3 of the dark_current paper), and what judges answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.kernels.isotonic import increasing
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import printed, tick
from judgestats.reporting.plots import canvas, short_names
from judgestats.reporting.plots.matrices import SEQUENTIAL, Shading, heat, name_sides


@canvas.picture(needs="target sensitivity")
def psychometric_curves(
    sheet: pd.DataFrame, *, level: float = 0.75, ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw target sensitivity against the step of the ladder, with its intervals (Figure 2).

    Parameters
    ----------
    sheet : pandas.DataFrame
        A datasheet, or a result of :func:`target_sensitivity`.
    level : float
        Level of the detection threshold, drawn as a line.

    Returns
    -------
    Picture
        Points are the shares; the line is their isotonic fit, weighted by the number of calls, on which
        :func:`judgestats.detection_threshold` reads the threshold. The curves of more than 8 judges are a matrix of the
        shares, the most sensitive judge on top, with a mark at the step from which the fit reaches `level`.

    See Also
    --------
    judgestats.target_sensitivity : the shares. judgestats.detection_threshold : where the fit reaches the level.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": "target_sensitivity", "delta": [1.0, 2.0, 3.0],
    ...                      "estimate": [0.5, 0.4, 0.9], "conf_low": [0.4, 0.3, 0.8], "conf_high": [0.6, 0.5, 1.0],
    ...                      "n": [50.0, 50.0, 50.0]})
    >>> fitted = [line for line in psychometric_curves(rows).lines if line.get_label() == "_fit"]
    >>> fitted[0].get_ydata().tolist()
    [0.45, 0.45, 0.9]
    """
    table = estimate_rows.terms(sheet, "target_sensitivity").dropna(subset=["step", "estimate"])
    estimate_rows.require(sheet, "judge", "term", "estimate", "conf_low", "conf_high")
    if table.empty:
        raise DesignError("The picture needs the step of each rate, in a column delta or as 'Δ = 1' in detail.")
    judges = [j for j in estimate_rows.order_of(sheet) if j in set(table["who"])]
    fits = {j: _fitted(table[table["who"] == j].sort_values("step")) for j in judges}
    if len(judges) > canvas.DIRECT:
        return canvas.Picture(_sensitivities(fits, level, ax, title), table)
    labels = short_names.shortened(judges)
    ax = canvas.new_axes(ax, 5.4 + short_names.label_width(labels), 4.5)
    canvas.grid(ax, "y")
    steps = np.unique(table["step"].to_numpy(float))
    nearest = float(np.diff(steps).min()) if steps.size > 1 else 1.0
    ax.axhline(level, color=canvas.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    canvas.small(ax, steps[0] - 0.3 * nearest, level + 0.012, tick(level, "share"), va="bottom")
    shift = np.linspace(-1, 1, len(judges)) * min(0.16, 0.03 * (len(judges) - 1)) * nearest
    ends = []
    for i, curve in enumerate(fits.values()):
        x, y = curve["step"].to_numpy(float) + shift[i], curve["estimate"].to_numpy(float)
        style = canvas.style_of(i)
        ax.vlines(x, curve["conf_low"], curve["conf_high"], color=style["color"], linewidth=1.3, alpha=0.65, zorder=2)
        (points,) = ax.plot(x, y, linestyle="none", zorder=3, markersize=5.5, **style)
        points.set(markeredgecolor="white", markeredgewidth=0.8)
        ax.plot(x, curve["fit"], linewidth=1.5, color=style["color"], zorder=2.5, label="_fit")
        ends.append((x[-1], curve["fit"].iloc[-1]))
    ax.set(xticks=steps, ylim=(-0.03, 1.05), xlim=(steps[0] - 0.35 * nearest, steps[-1] + 0.35 * nearest))
    canvas.in_form(ax, "share", "y")
    _label_ends(ax, ends, labels)
    canvas.named(ax, _STEPS, "right choices, share of all calls (a tie is a miss)", title)
    canvas.below(ax, "points: shares with their intervals · lines: isotonic fits", labels.key)
    return canvas.Picture(ax, table)


_STEPS = "difference in quality, Δ (steps of the ladder)"


def _fitted(table: pd.DataFrame) -> pd.DataFrame:
    """The steps of a judge with their isotonic fit, weighted by the number of calls where it is known."""
    calls = table["n"].to_numpy(float) if "n" in table.columns else np.ones(len(table))
    calls = np.where(np.isfinite(calls) & (calls > 0), calls, 1.0)
    return table.assign(fit=increasing(table["estimate"].to_numpy(float), calls))


def _sensitivities(fits: dict[str, pd.DataFrame], level: float, ax: Axes | None, title: str | None) -> Axes:
    """The shares of many judges: a row a judge, a column a step."""
    wide, fit = (
        pd.DataFrame({j: t.drop_duplicates("step").set_index("step")[c] for j, t in fits.items()}).T.sort_index(axis=1)
        for c in ("estimate", "fit")
    )
    wide = wide.loc[fit.mean(axis=1).sort_values(ascending=False, kind="stable").index]
    reached = fit.reindex_like(wide) >= level
    wide.columns = reached.columns = [f"{c:g}" for c in wide.columns]
    bar = "right choices, share of all calls (a tie is a miss)"
    ax = heat(wide, wide, Shading(SEQUENTIAL, Normalize(0, 1), bar, "share"), ~reached & reached, ax, title)
    for i, first in enumerate(reached.to_numpy().argmax(axis=1)):
        if reached.iat[i, first]:
            ax.plot(
                [first] * 2, [i, i + 1], color=canvas.PALETTE[1], linewidth=3.0, solid_capstyle="butt", clip_on=False
            )
    name_sides(ax, "judge", _STEPS)
    canvas.below(ax, f"orange: from this step on the isotonic fit reaches {tick(level, 'share')}")
    return ax


def _label_ends(ax: Axes, ends: list[tuple[float, float]], labels: list[str]) -> None:
    """Write the judges at the ends of their curves, as high as they are and apart."""
    start, right = ax.get_xlim()
    heights = canvas.spread([y for _, y in ends], 0.055, 0.0, 1.03)
    for i, ((x, y), height, label) in enumerate(zip(ends, heights, labels, strict=True)):
        color = canvas.style_of(i)["color"]
        line = {"arrowstyle": "-", "color": color, "lw": 0.6, "shrinkA": 0, "shrinkB": 4}
        at, size = (right + 0.02 * (right - start), height), canvas.TEXT
        ax.annotate(label, (x, y), at, arrowprops=line, fontsize=size, color=color, va="center", annotation_clip=False)


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
    "side": ("one of the two", "#8fb8d8"),
    "first": ("shown first", "#0072B2"),
    "tie": ("tie", "#DDE2E8"),
    "second": ("shown second", "#56B4E9"),
    "invalid": ("invalid", "#D55E00"),
}


@canvas.picture()
def decomposition(
    sheet: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw what false preference between equals is made of, a stacked bar a judge (Figure 3).

    Parameters
    ----------
    sheet : pandas.DataFrame
        A datasheet, or a result of :func:`delta0`.

    Returns
    -------
    Picture
        The classes are shares of pairs and add up to 1. The triangle is the raw rate over calls, to which a one-sided
        commit adds one half.

    See Also
    --------
    judgestats.delta0 : the shares. stable_positional : two of the classes in a plane.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["stable_cross_sensitivity", "no_preference"],
    ...                      "estimate": [0.2, 0.8]})
    >>> [t.get_text() for t in decomposition(rows).texts]
    ['20\u202f%', '80\u202f%']
    """
    table = estimate_rows.terms(sheet, *CLASSES).drop_duplicates(["who", "term"])
    wide = table.pivot_table(index="who", columns="term", values="estimate", sort=False)
    wide = wide.reindex(_rows(table, order, CLASSES))
    ax = canvas.row_axes(ax, wide.index, 5.9, 0.38)
    rows = np.arange(len(wide))
    used = stack(ax, wide, CLASSES)
    raw = estimate_rows.one_each(sheet, "raw_false_preference")
    keys: list[Artist] = [Patch(color=color, label=label) for label, color in used.values()]
    if len(raw):
        look: canvas.Style = {"marker": "v", "color": canvas.INK}
        ax.scatter(raw["estimate"].reindex(wide.index), rows - 0.4, s=26, linewidths=0, zorder=4, clip_on=False, **look)
        keys.append(Line2D([], [], linestyle="none", markersize=5, label="raw rate over calls (RFP₀)", **look))
    canvas.legend_above(ax, keys, 3)
    canvas.named(ax, "share of pairs of equals, both orders valid", title=title, pad=38)
    return canvas.Picture(ax, table)


@canvas.picture()
def answers(
    estimates: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw how often each judge gives each answer, a stacked bar a judge.

    Parameters
    ----------
    estimates : pandas.DataFrame
        A result of :func:`position_bias`, or a datasheet that has it; or of :func:`answer_rates`.

    Returns
    -------
    Picture
        Shares of all calls. Without shares of the two sides (:func:`answer_rates`), the rest of a bar is both of them.

    See Also
    --------
    judgestats.position_bias : the shares, and the bias that they make.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["first", "tie", "second"], "estimate": [0.5, 0.2, 0.3]})
    >>> [t.get_text() for t in answers(rows).texts]
    ['50\u202f%', '20\u202f%', '30\u202f%']
    """
    estimate_rows.require(estimates, "judge", "term", "estimate")
    table = estimates[estimates["section"] == "slots"] if "section" in estimates.columns else estimates
    table = estimate_rows.terms(table, *ANSWERS).drop_duplicates(["who", "term"])
    wide = table.pivot_table(index="who", columns="term", values="estimate", sort=False)
    wide = wide.reindex(_rows(table, order, ANSWERS))
    if not {"first", "second"} & {*wide.columns}:
        wide["side"] = 1 - wide.sum(axis=1, skipna=False)
    ax = canvas.row_axes(ax, wide.index, 5.9, 0.36)
    used = stack(ax, wide, ANSWERS)
    canvas.legend_above(ax, [Patch(color=color, label=label) for label, color in used.values()], 4)
    canvas.named(ax, "share of all calls", title=title, pad=24)
    return canvas.Picture(ax, table)


def _rows(table: pd.DataFrame, order: estimate_rows.Order, classes: Mapping[str, object]) -> list[str]:
    """Judges with a share, by that of the first class that there is."""
    there = table[table.groupby("who")["estimate"].transform("count") > 0]
    first = there[there["term"] == next(c for c in classes if (there["term"] == c).any())]
    return estimate_rows.ordered(there, order, first, column="who")


def stack(ax: Axes, wide: pd.DataFrame, classes: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
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
                ink = "white" if canvas.is_dark(color) else canvas.INK
                text = printed(value, "share")
                canvas.small(ax, left[row] + value / 2, float(row), text, ha="center", color=ink)
        left += share
    for row in rows[wide.notna().sum(axis=1).to_numpy() == 0]:
        canvas.small(ax, 0.01, row, "n/a")
    ax.set(yticks=rows, ylim=(len(wide) - 0.5, -0.5), xlim=(0, 1), xticks=np.arange(0, 1.01, 0.25))
    canvas.in_form(ax, "share")
    ax.spines["left"].set_visible(False)
    canvas.row_names(ax, wide.index)
    return used
