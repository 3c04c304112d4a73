"""Variance components of scores, and decision studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas, short_names
from judgestats.reporting.plots.bars import stack

#: Component -> colour; interactions are lighter. Other components take `_OTHERS` in turn.
COLORS = {
    "judge": "#D55E00",
    "system": "#0072B2",
    "item": "#009E73",
    "criterion": "#8C6BB1",
    "replicate": "#CC79A7",
    "judge:system": "#F0A868",
    "judge:item": "#F6CFA9",
    "judge:criterion": "#E9B949",
    "system:item": "#7FC8E8",
    "system:criterion": "#A9C4E6",
    "item:criterion": "#8FD3BC",
    "judge:system:item": "#A4A9B0",
    "residual": "#DDE2E8",
}
_OTHERS = ("#CC79A7", "#4D4D4D", "#B8A9D1", "#C9B79C", "#6B8E23", "#5A7D9A")
#: Facets whose number can be chosen, and the words for it.
FACETS = ("judges", "items", "systems", "criteria", "runs")
_TERMS = {
    "generalizability": "generalizability: ranking the systems",
    "dependability": "dependability Φ: scores as they are",
}
_LINE: dict[str, Any] = {"linewidth": 1.5, "markersize": 4.5, "markeredgecolor": "white"}
_SHORT = {"generalizability": "ranking", "dependability": "scores"}


@canvas.picture(needs="share")
def variance_components(
    components: pd.DataFrame,
    *,
    order: estimate_rows.Order = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw the share of each component in the variance of scores, a stacked bar a group.

    Parameters
    ----------
    components : pandas.DataFrame
        A result of :func:`variance_components`.

    Returns
    -------
    Picture
        Shares below 0.055 have no number. Components that are not identifiable, or were set to 0, are named
        below.

    See Also
    --------
    judgestats.variance_components : the numbers. decision_study : what they mean for the number of judges.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": ["judge", "system", "residual"], "estimate": [0.2, 1.0, 0.8],
    ...                      "share": [0.1, 0.5, 0.4]})
    >>> [t.get_text() for t in variance_components(rows).texts]
    ['10\u202f%', '50\u202f%', '40\u202f%']
    """
    there = "term" in getattr(components, "columns", ())
    terms = estimate_rows.distinct(components["term"].astype(str)) if there else []
    estimates = estimate_rows.chosen(components, terms, "share", source="variance_components")
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates), term=estimates["term"].astype(str))
    if not estimates["share"].notna().any():
        raise DesignError(
            "No component has a share to draw: none is identifiable. Give ratings that cross the factors."
        )
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    labels = estimate_rows.ordered(estimates, order, value="share")
    wide = estimates.set_index(["_row", "term"])["share"].astype(float).unstack().reindex(index=labels, columns=terms)
    others = iter(_OTHERS * len(terms))
    classes = {t: (short_names.literal(t.replace(":", " × ")), COLORS.get(t) or next(others)) for t in terms}
    used = [t for t in terms if (wide[t] > 0).any()]
    lines = -(-len(used) // 5)
    columns = -(-len(used) // lines)
    width = 6.0 + short_names.label_width(short_names.shortened(labels, canvas.NAME))
    ax = canvas.new_axes(ax, width, canvas.height_of(len(labels), 0.38) + 0.18 * lines)
    keys = stack(ax, wide, classes)
    canvas.legend_above(ax, [Patch(color=color, label=label) for label, color in keys.values()], columns)
    canvas.named(ax, "share of the variance", title=title, pad=10 + 15 * lines)
    estimated = wide[wide.notna().any(axis=1)]
    unknown = [t.replace(":", " × ") for t in terms if estimated[t].isna().any()]
    zero = [t.replace(":", " × ") for t in terms if t not in used and estimated[t].notna().all()]
    canvas.below(
        ax,
        f"0: {', '.join(zero)}" if zero else "",
        f"not identifiable in every design: {', '.join(unknown)}" if unknown else "",
    )
    return canvas.Picture(ax, estimates)


@canvas.picture("An axes for generalizability and one for dependability.", needs="reliability")
def decision_study(
    study: pd.DataFrame,
    *,
    target_reliability: float = 0.8,
    order: estimate_rows.Order = "value",
    ax: canvas.Panels = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw reliability against the number of judges, a line for each number of items, runs or group.

    Parameters
    ----------
    study : pandas.DataFrame
        A result of :func:`decision_study`.
    target_reliability : float
        Reliability that was asked for there, drawn as a line.

    Returns
    -------
    Picture
        The smallest numbers that reach the target are ringed, where they are drawn, and given in the legend. Where
        judges do not vary, the first facet that does is along the axis.

    See Also
    --------
    judgestats.decision_study : the numbers. variance_components : what they come from.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": "dependability", "estimate": [0.6, 0.75, 0.82], "judges": [1.0, 2.0, 3.0],
    ...                      "items": 8.0})
    >>> [axes.get_xlabel() for axes in decision_study(rows)]
    ['number of judges']
    """
    estimates = estimate_rows.chosen(study, list(_TERMS), source="decision_study")
    facets = [f for f in FACETS if f in estimates.columns]
    along = next((f for f in facets if estimates[f].nunique() > 1), facets[0] if facets else None)
    if along is None:
        raise DesignError(
            "The study has no column of numbers (judges, items, runs). Give a result of decision_study()."
        )
    rest = [f for f in facets if f != along and estimates[f].nunique() > 1]
    numbers = study.astype(dict.fromkeys(rest, float))
    study = study.assign(_line=estimate_rows.joined(numbers, [*estimate_rows.groups_of(study), *rest]))
    estimates = study.loc[estimates.index]
    terms = [t for t in _TERMS if t in set(estimates["term"])]
    lines = estimate_rows.ordered(estimates, order, column="_line")
    axes = canvas.panels(ax, terms, [], wide=[3.4] * len(terms), each=0.34)
    if ax is None:
        entries = [f"{_name(line)}: 00 judges (ranking), 00 (scores)" for line in lines]
        canvas.figure_of(axes[0]).set_size_inches(1.2 + 3.5 * len(terms) + 0.9 * canvas.legend_width(entries, 4.1), 4.1)
    for panel, term in zip(axes, terms, strict=True):
        canvas.grid(panel)
        panel.axhline(target_reliability, color=canvas.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        for i, line in enumerate(lines):
            curve = estimates[(estimates["term"] == term) & (estimates["_line"] == line)].dropna(subset=["estimate"])
            curve = curve.sort_values(along)
            panel.plot(curve[along], curve["estimate"], zorder=3, **_LINE, **canvas.style_of(i))
            _ring(panel, _enough(study, term, along, line), estimates, term, line, along)
        panel.set(ylim=(-0.02, 1.03))
        values = estimates[along].to_numpy(float)
        ticks = np.unique(values[np.isfinite(values)])
        panel.set_xticks(ticks if ticks.size <= 10 else ticks[:: -(-ticks.size // 8)])
        canvas.named(panel, f"number of {along}", "reliability (0 to 1)" if panel is axes[0] else "")
        panel.set_title(_TERMS[term], fontsize=canvas.TEXT, color=canvas.INK, loc="left")
    text, end = f"target: {target_reliability:g}", axes[0].get_xlim()[1]
    canvas.small(axes[0], end, target_reliability - 0.015, text, va="top", ha="right")
    _legend(axes[-1], study, terms, lines, along, target_reliability)
    canvas.headed(axes if len(axes) > 1 else [*axes, axes[0]], title)
    return canvas.Picture(axes, study)


def _enough(study: pd.DataFrame, term: str, along: str, line: str) -> float:
    """Smallest number that reaches the wanted level on this line; NaN if unknown."""
    sizes = study[(study["term"] == f"{along}_for_{term}") & (study["_line"] == line)]["estimate"].dropna()
    return float(sizes.iloc[0]) if len(sizes) else np.nan


def _ring(ax: Axes, enough: float, estimates: pd.DataFrame, term: str, line: str, along: str) -> None:
    heights = estimates[(estimates["term"] == term) & (estimates["_line"] == line) & (estimates[along] == enough)][
        "estimate"
    ].dropna()
    if len(heights):
        ax.plot(enough, heights.iloc[0], "o", ms=11, markerfacecolor="none", markeredgecolor=canvas.INK, zorder=4)


def _legend(ax: Axes, study: pd.DataFrame, terms: list[str], lines: list[str], along: str, target: float) -> None:
    """Lines, each with the numbers that reach the target."""
    keys, any_enough, names = [], False, short_names.shortened([_name(line) for line in lines])
    for i, (line, name) in enumerate(zip(lines, names, strict=True)):
        enough = {t: _enough(study, t, along, line) for t in terms}
        any_enough = any_enough or bool(np.isfinite(list(enough.values())).any())
        said = [f"{'never' if np.isinf(k) else f'{k:g}'} ({_SHORT[t]})" for t, k in enough.items() if not np.isnan(k)]
        label = f"{name}: {', '.join(said)}" if said and len(lines) > 1 else ", ".join(said) or name
        keys.append(Line2D([], [], label=label, **_LINE, **canvas.style_of(i)))
    if len(lines) > 1 or any_enough:
        canvas.legend(ax, keys, f"number of {along} that reach {target:g}" if any_enough else "")
    canvas.below(ax, names.key)


def _name(line: str) -> str:
    return "" if line == "all" else line
