"""Judges under each level of a condition: cells with intervals, small forests, or a spread."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import Form, form_of, in_words, neutral_value
from judgestats.reporting.plots import canvas, short_names
from judgestats.reporting.plots.matrices import DIVERGING, SEQUENTIAL, Shading, heat, name_sides, own_cells

#: With more cells than these there is a matrix, and with more levels than these a spread.
MOST_FORESTS = MOST_LEVELS = 12
#: A hash or another id that no reader knows: digits among letters, in one piece or in those of a UUID.
_HASH = re.compile(r"(?=.*\d)([0-9a-f]{8,}(-[0-9a-f]+)*|(?=.*[a-z])[a-z0-9]{20,})", re.I)
#: Units of estimates, behind the words for them.
UNITS: dict[Form, str] = {"share": " (share)", "points": " (points)"}


@canvas.picture("Axes to draw on; several of small forests, one a level.")
def by_condition(
    estimates: pd.DataFrame,
    condition: str,
    *,
    term: str | None = None,
    identity: Mapping[str, str] | None = None,
    order: estimate_rows.Order = "value",
    ax: canvas.Panels = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw the estimates of judges under each level of a condition: a criterion, a strategy, or who wrote the answer.

    Parameters
    ----------
    estimates : pandas.DataFrame
        A result of a measure with ``by=condition``, or with a column of systems.
    condition : str
        Column of the levels.
    term : str, optional
        Which term, where there are several.
    identity : mapping of str to str, optional
        Level -> judge, where the answers of a judge have another name.

    Returns
    -------
    Picture
        A row a judge, and a column a level. Up to 12 cells are forests, side by side. More are a matrix: the number is
        the estimate, the bar below it the interval, on one scale in all cells. Of more than 12 levels there is a mark
        for each, with their mean, and the names of the two ends beside it; levels that are hashes have no names. A
        judge's own answers are framed.

    Raises
    ------
    DesignError
        If a column is not there, several terms are left, or two rows fall on one cell.

    See Also
    --------
    lines : over an ordered condition. score_matrix : mean scores. strategies : gains over a baseline.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "b"], "criterion": "tone", "term": "accuracy", "estimate": [0.6, 0.8],
    ...                      "conf_low": [0.5, 0.7], "conf_high": [0.7, 0.9]})
    >>> by_condition(rows, "criterion").get_title("left")
    'tone'
    """
    table = estimate_rows.of_one_term(estimates, term, "conf_low", "conf_high", condition)
    table = table.assign(
        _row=estimate_rows.names_of(table, condition),
        _column=estimate_rows.joined(table.assign(**{condition: table[condition].astype(object)}), [condition]),
    )
    estimate_rows.one_row_each(table, ["_row", "_column"])
    rows, columns = estimate_rows.ordered(table, order), estimate_rows.ordered(table, order, column="_column")
    if table[condition].dtype.kind in "iuf":
        columns = estimate_rows.distinct(table.sort_values(condition)["_column"])
    if len(columns) > MOST_LEVELS:
        return canvas.Picture(_spread(ax, table, rows, condition, title), table)
    judge = dict(zip(table["_row"], table.get("judge", table["_row"]).astype(str), strict=True))
    values = grids(table, rows, columns)["estimate"]
    own = own_cells(values, judge, identity)
    if "own" in table:
        own = table.set_index(["_row", "_column"])["own"].unstack().reindex_like(values).eq(other=True)
    if values.size <= MOST_FORESTS:
        return canvas.Picture(_forests(ax, table, rows, columns, own, title), table)
    ax = cells(ax, table, own, title)
    name_sides(ax, "judge", short_names.literal(condition))
    canvas.below(ax, "framed: the judge on its own answers" if own.to_numpy().any() else "")
    return canvas.Picture(ax, table)


def grids(table: pd.DataFrame, rows: list[str], columns: list[str]) -> dict[str, pd.DataFrame]:
    """Estimates and the ends of their intervals, each as a matrix."""
    wide = table.set_index(["_row", "_column"])[["estimate", "conf_low", "conf_high"]].astype(float).unstack()
    return {c: wide[c].reindex(index=rows, columns=columns) for c in ("estimate", "conf_low", "conf_high")}


def cells(
    ax: canvas.Panels,
    table: pd.DataFrame,
    framed: pd.DataFrame,
    title: str | None,
    words: str = "",
    form: Form | None = None,
) -> Axes:
    """A matrix of estimates with their intervals, coloured around 0 where they have a sign.

    `framed`: which cells are, with the rows and the columns of the matrix. `words`, `form`: what the estimates are,
    where their term does not say so.
    """
    wide, term = grids(table, [*framed.index], [*framed.columns]), str(table["term"].iloc[0])
    values = wide["estimate"].to_numpy(float)
    form = form or form_of(table.iloc[0].to_dict())
    low, high = np.nanmin(values), np.nanmax(values)
    if neutral_value(term) == 0 or low < 0:
        reach = float(np.nanmax(np.abs(values))) or 1.0
        colors, scale = DIVERGING, Normalize(-reach, reach)
    else:
        colors, scale = SEQUENTIAL, Normalize(low, high if high > low else low + 1)
    ends = wide["conf_low"], wide["conf_high"]
    shading = Shading(colors, scale, (words or in_words(term)) + UNITS.get(form, ""), form, signed=low < 0, ends=ends)
    numbers = _numbered([*framed.columns])
    estimates = wide["estimate"].set_axis(numbers, axis=1)
    ax = heat(estimates, estimates, shading, framed, canvas.single(ax, "matrix"), title)
    canvas.below(ax, "the columns are hashes: .data of the picture has them" if numbers != [*framed.columns] else "")
    return ax


def _numbered(levels: list[str]) -> list[str]:
    """Levels, or their numbers if they are hashes."""
    return [str(i) for i, _ in enumerate(levels, 1)] if any(map(_HASH.fullmatch, levels)) else levels


def _forests(
    ax: canvas.Panels, table: pd.DataFrame, rows: list[str], columns: list[str], own: pd.DataFrame, title: str | None
) -> list[Axes]:
    """A panel a level, with a row a judge."""
    axes = canvas.panels(ax, columns, rows, wide=[2.6 if len(columns) > 1 else 4.6] * len(columns))
    form = form_of(table.iloc[0].to_dict())
    zero = neutral_value(str(table["term"].iloc[0])) == 0
    names = short_names.shortened(_numbered(columns), 28)
    for panel, level, name in zip(axes, columns, names, strict=True):
        canvas.limits(panel, table[["estimate", "conf_low", "conf_high"]], zero=zero, bounds=(-np.inf, np.inf))
        canvas.lanes(panel, rows, first=canvas.leftmost(panel, axes))
        if zero:
            canvas.neutral(panel)
        for row in table[table["_column"] == level].to_dict("records"):
            canvas.whisker(panel, row, rows.index(row["_row"]))
        for i in np.flatnonzero(own[level]):
            frame = Rectangle((0.005, i - 0.45), 0.99, 0.9, fill=False, edgecolor=canvas.INK, linewidth=1.2)
            panel.add_patch(frame).set_transform(panel.get_yaxis_transform())
        if form != "score":
            canvas.in_form(panel, form)
        canvas.named(panel, in_words(str(table["term"].iloc[0])) + UNITS.get(form, ""))
        panel.set_title(name, fontsize=canvas.TEXT, color=canvas.INK, loc="left")
    canvas.below(axes[0], "framed: the judge on its own answers" if own.to_numpy().any() else "")
    canvas.headed([*axes, axes[0]], title)
    return axes


def _spread(ax: canvas.Panels, table: pd.DataFrame, rows: list[str], condition: str, title: str | None) -> Axes:
    """A row a judge: a mark a level, their mean, and the names of the lowest and the highest."""
    levels = estimate_rows.distinct(table["_column"])
    with_names = _numbered(levels) == levels
    short = dict(zip(levels, short_names.shortened(levels, 18), strict=True))
    beside = 0.4 + short_names.label_width(short.values()) if with_names else 0.0
    one = canvas.row_axes(canvas.single(ax, "spread"), rows, 5.0 + 2 * beside, 0.32)
    canvas.limits(one, table["estimate"], zero=bool((table["estimate"] < 0).any()), bounds=(-np.inf, np.inf))
    canvas.lanes(one, rows)
    for i, row in enumerate(rows):
        of_judge = table[(table["_row"] == row) & table["estimate"].notna()].sort_values("estimate", kind="stable")
        if of_judge.empty:
            canvas.point(one, np.nan, i, canvas.MUTED)
            continue
        at = of_judge["estimate"].to_numpy(float)
        one.vlines(at, i - 0.26, i + 0.26, color=canvas.PALETTE[0], alpha=0.45, linewidth=1.1, zorder=2)
        one.plot([at.mean()] * 2, [i - 0.34, i + 0.34], color=canvas.INK, linewidth=2.0, zorder=3)
        for k, level in enumerate((of_judge["_column"].iloc[0], of_judge["_column"].iloc[-1]) if with_names else ()):
            canvas.beside(one, i, short[level], 8 + 72 * beside * k)
    for k, head in enumerate(("lowest", "highest") if with_names else ()):
        canvas.beside(one, None, head, 8 + 72 * beside * k)
    form = form_of(table.iloc[0].to_dict())
    if form != "score":
        canvas.in_form(one, form)
    canvas.named(one, in_words(str(table["term"].iloc[0])) + UNITS.get(form, ""), title=title, pad=20)
    ids = "" if with_names else ", whose names are hashes"
    canvas.below(one, f"a mark for each of {len(levels)} levels of {condition}{ids}; black: their mean")
    return one
