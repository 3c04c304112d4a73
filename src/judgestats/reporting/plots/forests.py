"""Estimates with their intervals, a row a judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from judgestats.errors import DesignError
from judgestats.reporting.plots.canvas import (
    INK,
    MUTED,
    PALETTE,
    SMALL,
    TEXT,
    grid,
    label_width,
    literal,
    new_axes,
    shortened,
)
from judgestats.reporting.plots.rows import order_of, terms
from judgestats.reporting.words import NEUTRAL, in_words


def forest(
    estimates: pd.DataFrame, *, ax: Any = None, labels: Mapping[str, str] | None = None, title: str | None = None
) -> Any:
    """Draw estimates with their intervals, a row a judge, a panel a term.

    Parameters
    ----------
    estimates : pandas.DataFrame
        Tidy estimates with a column ``judge``; each row of a judge and a term is drawn (several where there are
        conditions).
    ax : matplotlib.axes.Axes or sequence of Axes, optional
        Axes to draw on, one a term.
    labels : mapping, optional
        Term -> text above its panel, in place of the package's words.
    title : str, optional
        Put above the first panel.

    Returns
    -------
    matplotlib.axes.Axes or list of Axes
        One for one term, else a list, a panel a term in the order in which they come.

    Raises
    ------
    DesignError
        If there is nothing to draw, or `ax` does not have one for each term.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "b"], "term": "consistency", "estimate": [0.8, 0.6], "conf_low": [0.7, 0.5],
    ...                      "conf_high": [0.9, 0.7]})
    >>> [t.get_text() for t in forest(rows).get_yticklabels()]
    ['a', 'b']
    """
    shown = list(dict.fromkeys(estimates["term"]))
    if not shown:
        raise DesignError("There is no estimate to draw. Give at least one row.")
    table = terms(estimates, *shown, needed=False)
    judges = order_of(table)
    panels = _panels(ax, shown, judges)
    for i, (panel, term) in enumerate(zip(panels, shown, strict=True)):
        _panel(panel, table[table["term"] == term], judges, term, first=i == 0)
        text = (labels or {}).get(term, in_words(term))
        panel.set_title(literal(text), fontsize=TEXT, color=INK, loc="left")
    if title:
        panels[0].figure.suptitle(literal(title), fontsize=TEXT + 1.5, fontweight="bold", color=INK, x=0.01, ha="left")
    return panels[0] if len(panels) == 1 else list(panels)


def _panels(ax: Any, shown: list[str], judges: list[str]) -> list[Any]:
    if ax is None:
        height = 0.95 + max(0.26, 0.34 - 0.004 * len(judges)) * len(judges)
        width = 0.3 + label_width(shortened(judges, 34)) + max(5.2, 2.35 * len(shown))
        figure = Figure(figsize=(width, height), layout="constrained")
        return [new_axes(a, 0, 0) for a in figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]]
    panels = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(panels) != len(shown):
        raise DesignError(
            f"forest has {len(shown)} terms ({', '.join(shown)}) and got {len(panels)} axes. Give one for each term."
        )
    return [new_axes(p, 0, 0) for p in panels]


def _panel(ax: Any, table: pd.DataFrame, judges: list[str], term: str, *, first: bool) -> None:
    low, high = _range(table)
    if term in NEUTRAL:
        ax.axvline(NEUTRAL[term], color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    for row, judge in enumerate(judges):
        here = table[table["who"] == judge]
        offsets = np.linspace(-0.22, 0.22, len(here)) if len(here) > 1 else [0.0]
        for offset, r in zip(offsets, here.to_dict("records"), strict=True):
            _whisker(ax, r, row + offset, low, high)
    grid(ax)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    ax.set(xlim=(low, high), ylim=(len(judges) - 0.5, -0.5), yticks=range(len(judges)))
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelleft=first)
    if first:
        ax.set_yticklabels(shortened(judges, 34))


def _whisker(ax: Any, row: dict[str, Any], height: float, low: float, high: float) -> None:
    value, ends = row["estimate"], (row.get("conf_low", np.nan), row.get("conf_high", np.nan))
    if not np.isfinite(value):
        ax.text(low + 0.02 * (high - low), height, "n/a", fontsize=SMALL, color=MUTED, va="center")
        return
    if not np.isnan(ends).any():
        inside = [min(max(e, low), high) for e in ends]
        ax.plot(inside, [height] * 2, color=PALETTE[0], linewidth=1.6, alpha=0.75, zorder=2, solid_capstyle="butt")
        for end, arrow in zip(ends, "<>", strict=True):
            if np.isinf(end):
                ax.plot(low if end < 0 else high, height, marker=arrow, color=PALETTE[0], markersize=5, clip_on=False)
    ax.plot(
        value,
        height,
        marker="o",
        markersize=6,
        color=PALETTE[0],
        markeredgecolor="white",
        markeredgewidth=0.9,
        zorder=3,
    )


def _range(table: pd.DataFrame) -> tuple[float, float]:
    """Range of a panel: 0 to 1 for shares, around 0 for what has a sign."""
    columns = [c for c in ("estimate", "conf_low", "conf_high") if c in table.columns]
    values = table[columns].to_numpy(float)
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    signed = values.min() < 0 or set(table["term"]) <= {t for t, v in NEUTRAL.items() if v == 0}
    if signed:
        reach = 1.08 * float(np.abs(values).max()) or 1.0
        return -reach, reach
    if values.max() <= 1 + 1e-9:
        return -0.02, 1.02
    margin = 0.06 * float(np.ptp(values)) or 0.5
    return float(values.min()) - margin, float(values.max()) + margin
