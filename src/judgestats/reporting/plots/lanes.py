"""What pictures with a row a group share: names of rows, panels, whiskers, text beside a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from judgestats.errors import DesignError
from judgestats.reporting.plots.canvas import (
    GRID,
    INK,
    MUTED,
    PALETTE,
    SMALL,
    TEXT,
    grid,
    label_width,
    literal,
    named,
    new_axes,
    shortened,
)
from judgestats.reporting.plots.rows import require
from judgestats.reporting.words import signed

#: Most characters of the name of a row.
NAME = 34


def chosen(frame: pd.DataFrame, wanted: Sequence[str], *columns: str, source: str) -> pd.DataFrame:
    """Rows of these terms.

    Parameters
    ----------
    frame : pandas.DataFrame
        Estimates.
    wanted : sequence of str
        Terms.
    *columns : str
        Columns that are read, beside ``term`` and ``estimate``.
    source : str
        The measure that gives them.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DesignError
        If a column is not there, or no such row has a value.
    """
    require(frame, "term", "estimate", *columns)
    here = frame[frame["term"].isin(wanted)]
    if not here["estimate"].notna().any():
        have = ", ".join(sorted(set(map(str, frame["term"])))) or "none"
        raise DesignError(
            f"The picture needs {' or '.join(wanted)}, and the estimates have no such row with a value. Terms: {have}. "
            f"Give a result of {source}()."
        )
    return here


def groups_of(table: pd.DataFrame, *skip: str) -> list[str]:
    """Columns before ``term`` that tell groups apart, but for those of `skip`."""
    columns = [str(c) for c in table.columns]
    return [c for c in columns[: columns.index("term")] if c not in skip]


def names_of(table: pd.DataFrame, *skip: str) -> pd.Series[Any]:
    """Name of the group of each row.

    Parameters
    ----------
    table : pandas.DataFrame
        Estimates.
    *skip : str
        Grouping columns that do not make the name.

    Returns
    -------
    pandas.Series
        ``all`` where nothing groups; a number bears the name of its column.

    Examples
    --------
    >>> names_of(pd.DataFrame({"pair": ["a/b"], "temperature": [0.3], "term": ["shift"]})).item()
    'a/b · temperature 0.3'
    """
    return joined(table, groups_of(table, *skip))


def joined(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series[Any]:
    """The values of `columns` as one text a row."""
    if not columns:
        return pd.Series("all", index=table.index, dtype=object)
    parts = [[_told(c, v) for v in table[c].astype(object)] for c in columns]
    return pd.Series([" · ".join(filter(None, p)) or "all" for p in zip(*parts, strict=True)], table.index, object)


def _told(column: str, value: Any) -> str:
    if pd.isna(value):
        return ""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
    return f"{column} {value:g}" if number else str(value)


def distinct(values: Iterable[Any]) -> list[Any]:
    """Values in the order in which they come, each once."""
    return list(dict.fromkeys(values))


def one_row_each(table: pd.DataFrame, columns: Sequence[str]) -> None:
    """Refuse rows that nothing drawn tells apart.

    Raises
    ------
    DesignError
        It names the first.
    """
    twice = table.duplicated(list(columns))
    if twice.any():
        first = " · ".join(map(str, table.loc[twice, list(columns)].iloc[0]))
        raise DesignError(
            f"{int(twice.sum())} rows stand in one place with another (first: {first}). Draw one group at a time."
        )


def height_of(rows: int, each: float = 0.34) -> float:
    """Inches of a figure with this many rows."""
    return 1.25 + max(0.24, each) * rows


def panels(
    ax: Any,
    names: Sequence[str],
    rows: Sequence[str],
    *,
    wide: Sequence[float],
    each: float = 0.34,
    across: int | None = None,
    sharey: bool = True,
) -> list[Any]:
    """Axes side by side, of a figure of their own or as given.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, sequence of Axes or None
        Axes to draw on.
    names : sequence of str
        What the panels show, for the message.
    rows : sequence of str
        Labels of the rows, for the size.
    wide : sequence of float
        Inches of each panel.
    each : float
        Inches of a row.
    across : int, optional
        Most panels side by side.
    sharey : bool
        The panels have the same rows.

    Returns
    -------
    list of matplotlib.axes.Axes

    Raises
    ------
    DesignError
        If `ax` does not have one for each panel.
    """
    if ax is None:
        columns = min(len(names), across or len(names))
        lines = -(-len(names) // columns)
        label = 0.3 + label_width(shortened(rows, NAME))
        width = label * (1 if sharey else len(names)) + sum(wide[:columns])
        figure = Figure(figsize=(width, height_of(len(rows), each) * lines), layout=ConstrainedLayoutEngine(w_pad=0.08))
        ratios = list(wide[:columns])
        found = figure.subplots(lines, columns, sharey=sharey, squeeze=False, width_ratios=ratios).ravel()
        for spare in found[len(names) :]:
            spare.remove()
        return [new_axes(a, 0, 0) for a in found[: len(names)]]
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != len(names):
        raise DesignError(
            f"The picture has {len(names)} panels ({', '.join(names)}) and got {len(given)} axes. Give one for each."
        )
    return [new_axes(a, 0, 0) for a in given]


def headed(shown: Sequence[Any], title: str | None) -> None:
    """Put a title above several panels."""
    if title and len(shown) == 1:
        named(shown[0], shown[0].get_xlabel(), shown[0].get_ylabel(), title, pad=26 if shown[0].get_legend() else 6)
    elif title:
        shown[0].figure.suptitle(literal(title), fontsize=TEXT + 1.5, fontweight="bold", color=INK, x=0.01, ha="left")


def lanes(ax: Any, labels: Sequence[str], *, first: bool = True) -> None:
    """One line a row, the first on top, with its label on the left of the first panel."""
    grid(ax, "x")
    for edge in range(1, len(labels)):
        ax.axhline(edge - 0.5, color=GRID, linewidth=0.5, zorder=0)
    ax.set(ylim=(len(labels) - 0.5, -0.5), yticks=range(len(labels)))
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelleft=first)
    ax.set_yticklabels(shortened(labels, NAME))


def limits(ax: Any, *values: Any, zero: bool = False, even: bool = False, bounds: tuple[float, float]) -> None:
    """Set the horizontal range to what is drawn.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes.
    *values : array_like
        What is drawn; what is not finite is left out.
    zero : bool
        Zero is shown.
    even : bool
        As far to the left of zero as to the right.
    bounds : (float, float)
        Interval ends beyond them are cut off, with an arrow.
    """
    drawn = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    drawn = np.clip(drawn[np.isfinite(drawn)], *bounds)
    low, high = (drawn.min(), drawn.max()) if drawn.size else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if even:
        high = max(-low, high) or 1.0
        low = -high
    margin = 0.06 * (high - low) or 0.5
    ax.set_xlim(low - margin, high + margin)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def shares(ax: Any) -> None:
    """Show shares from 0 to 1."""
    ax.set(xlim=(-0.03, 1.03), xticks=np.arange(0, 1.01, 0.25))


def neutral(ax: Any, value: float = 0.0) -> None:
    """Draw the line at which nothing is found."""
    ax.axvline(value, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)


def interval(ax: Any, height: float, low: float, high: float, color: str = INK, width: float = 1.5) -> None:
    """Draw an interval; an end beyond the axes gets an arrow."""
    if np.isnan(low) or np.isnan(high):
        return
    start, end = ax.get_xlim()
    ax.plot([max(low, start), min(high, end)], [height] * 2, color=color, linewidth=width, alpha=0.75, zorder=2.5)
    for at, arrow, beyond in ((start, "<", low < start), (end, ">", high > end)):
        if beyond:
            ax.plot(at, height, marker=arrow, color=color, markersize=4.5, clip_on=False, linestyle="none")


def point(ax: Any, value: float, height: float, color: str, *, filled: bool = True, marker: str = "o") -> None:
    """Draw an estimate, or say that there is none."""
    if not np.isfinite(value):
        start, end = ax.get_xlim()
        ax.text(start + 0.015 * (end - start), height, "n/a", fontsize=SMALL, color=MUTED, va="center")
        return
    ax.plot(value, height, marker=marker, linestyle="none", zorder=4, **face(color, filled))


def whisker(
    ax: Any, row: Any, height: float, color: str = PALETTE[0], *, filled: bool = True, marker: str = "o"
) -> None:
    """Draw an estimate with its interval, from a row with ``estimate``, ``conf_low`` and ``conf_high``."""
    if np.isfinite(row["estimate"]):
        interval(ax, height, row["conf_low"], row["conf_high"], color)
    point(ax, row["estimate"], height, color, filled=filled, marker=marker)


def face(color: str, filled: bool) -> dict[str, Any]:
    """Look of a marker: filled, or an outline."""
    return {
        "markersize": 6,
        "color": color,
        "markerfacecolor": color if filled else "white",
        "markeredgecolor": "white" if filled else color,
        "markeredgewidth": 0.8 if filled else 1.4,
    }


def key(label: str, color: str, *, filled: bool = True, marker: str = "o") -> Line2D:
    """Entry of a legend for a marker."""
    look = {**face(color, filled), "markeredgecolor": color}
    return Line2D([], [], linestyle="none", marker=marker, label=literal(label), **look)


def beside(
    ax: Any, height: float | None, text: str, offset: float = 8.0, *, color: str = INK, ha: str = "left"
) -> None:
    """Write to the right of a row, or above all rows for `height` None, `offset` points from the axes."""
    ax.annotate(
        literal(text),
        (1, 1 if height is None else height),
        (offset, 3 if height is None else 0),
        xycoords="axes fraction" if height is None else ax.get_yaxis_transform(),
        textcoords="offset points",
        fontsize=SMALL + 0.5,
        color=MUTED if height is None else color,
        va="bottom" if height is None else "center",
        ha=ha,
        annotation_clip=False,
    )


def with_interval(row: Any, decimals: int = 2) -> str:
    """A signed estimate with its interval, as text."""
    if not np.isfinite(row["estimate"]):
        return "n/a"
    told = signed(row["estimate"], decimals)
    if np.isnan(row["conf_low"]) or np.isnan(row["conf_high"]):
        return told
    return f"{told}  [{signed(row['conf_low'], decimals)}, {signed(row['conf_high'], decimals)}]"


def below(ax: Any, text: str, offset: float = -34.0) -> None:
    """Put a small remark of one or more lines under the axes, below the axis label."""
    ax.annotate(
        literal(text, lines=True),
        (0, 0),
        (0, offset),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        ha="left",
        fontsize=SMALL,
        color=MUTED,
        annotation_clip=False,
    )
