"""Estimates with their intervals, a row a judge."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from judgestats import flags
from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import Form, form_of, in_words, is_whole, neutral_value
from judgestats.reporting.plots import canvas, short_names

#: A row whose shift is flagged.
FLAGGED = canvas.PALETTE[1]


@canvas.picture(needs="shift")
def agreement_shift(
    shifts: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw the agreement of the judges before and after, a row a group.

    Parameters
    ----------
    shifts : pandas.DataFrame
        A result of :func:`agreement_shift`.

    Returns
    -------
    Picture
        Hollow before, filled after; at the right the shift with its interval. Rows whose shift is farther from 0 than
        the threshold of the measure are of another colour.

    See Also
    --------
    judgestats.agreement_shift : the shifts. calibration : deviation from people, before and after.

    Examples
    --------
    >>> rows = pd.DataFrame({"pair": ["a/b"], "term": "shift", "estimate": [-0.2], "conf_low": [-0.3],
    ...                      "conf_high": [-0.1], "flag": "|shift| > 0.15", "before": [0.7], "after": [0.5]})
    >>> [float(line.get_xdata()[0]) for line in agreement_shift(rows).lines if line.get_marker() == "o"]
    [0.7, 0.5]
    """
    estimates = estimate_rows.chosen(
        shifts, ["shift"], "conf_low", "conf_high", "flag", "before", "after", source="agreement_shift"
    )
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates))
    estimate_rows.one_row_each(estimates, ["_row"])
    labels = estimate_rows.ordered(estimates, order)
    ax = canvas.row_axes(ax, labels, 5.9, 0.3)
    canvas.limits(ax, estimates[["before", "after"]], bounds=(-1, 1))
    canvas.lanes(ax, labels)
    limits = [_limit(cell) for cell in estimates["flag"]]
    for row, marked in zip(estimates.to_dict("records"), limits, strict=True):
        i = labels.index(row["_row"])
        color = FLAGGED if marked else canvas.PALETTE[0]
        before, after = row["before"], row["after"]
        if np.isfinite([before, after]).all():
            ax.plot([before, after], [i] * 2, color=color, linewidth=2.0, alpha=0.45, zorder=2)
        if np.isfinite(before):
            canvas.point(ax, before, i, color, filled=False)
        if np.isfinite(after) or not np.isfinite(before):
            canvas.point(ax, after, i, color)
        canvas.beside(ax, i, canvas.with_interval(row), color=FLAGGED if marked else canvas.MUTED)
    canvas.beside(ax, None, "shift")
    keys: list[Artist] = [canvas.key("before", canvas.MUTED, filled=False), canvas.key("after", canvas.MUTED)]
    at = estimate_rows.distinct(limit for limit in limits if limit)
    keys += [Patch(color=FLAGGED, label=f"|shift| > {at[0]}" if len(at) == 1 else "flagged shift")] if at else []
    canvas.legend_above(ax, keys, 3)
    canvas.named(ax, "mean correlation of the judges (1 = perfect)", title=title, pad=24)
    return canvas.Picture(ax, estimates)


def _limit(cell: object) -> str:
    """The limit that a flag says a shift is beyond; empty without one."""
    beyond = (dict(f.facts)["at"] for f in flags.flags_of(cell) if f.code == flags.BEYOND_LIMIT.code)
    return str(next(beyond, ""))


@canvas.picture("Two axes to draw on.", needs="deviation or RMSE")
def calibration(
    result: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw what calibration does to each judge: deviation and RMSE on held-out items, before and after.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`calibrate`.

    Returns
    -------
    Picture
        Deviation from the reference, and RMSE; hollow before, filled after, each with its interval.

    See Also
    --------
    judgestats.calibrate : the numbers. deviation_matrix : deviations by system.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "estimate": [0.7, 0.0, 1.1, 0.8], "conf_low": [0.5, -0.2, 1.0, 0.7],
    ...                      "conf_high": [0.9, 0.2, 1.2, 0.9]})
    >>> rows.insert(1, "term", ["deviation_before", "deviation_after", "rmse_before", "rmse_after"])
    >>> calibration(rows)[1].get_xlabel()
    'RMSE (points of the scale)'
    """
    ends = ("_before", "_after")
    wanted = [f"{t}{e}" for t in ("deviation", "rmse") for e in ends]
    estimates = estimate_rows.chosen(result, wanted, "judge", "conf_low", "conf_high", source="calibrate")
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates))
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    labels = estimate_rows.ordered(estimates, order)
    axes = canvas.panels(ax, ["deviation", "RMSE"], labels, wide=[3.0, 2.6], each=0.42)
    for panel, what in zip(axes, ("deviation", "rmse"), strict=True):
        table = estimates[estimates["term"].isin([what + e for e in ends])]
        values = table[["estimate", "conf_low", "conf_high"]]
        canvas.limits(panel, values, zero=True, even=what == "deviation", bounds=(-np.inf, np.inf))
        if what == "rmse":
            panel.set_xlim(left=0)
        canvas.neutral(panel)
        canvas.lanes(panel, labels, first=panel is axes[0])
        _pairs(panel, table, labels, [what + e for e in ends])
    canvas.named(axes[0], "mean deviation from the reference\n(points of the scale)")
    canvas.named(axes[1], "RMSE (points of the scale)")
    keys = [canvas.key("before", canvas.PALETTE[0], filled=False), canvas.key("after, held out", canvas.PALETTE[0])]
    canvas.legend_above(axes[0], keys, 2)
    if "flag" in estimates.columns and flags.have(estimates["flag"], flags.FEW_CLUSTERS).any():
        canvas.below(axes[0], "fewer than 10 items: intervals are rough")
    canvas.headed(axes, title)
    return canvas.Picture(axes, estimates)


def _pairs(ax: Axes, table: pd.DataFrame, labels: list[str], ends: list[str]) -> None:
    """Before and after of each row on two lines, joined."""
    rows = {(r["_row"], r["term"]): r for r in table.to_dict("records")}
    for i, label in enumerate(labels):
        at = [(rows[label, e], i + shift) for e, shift in zip(ends, (-0.15, 0.15), strict=True) if (label, e) in rows]
        values = [float(row["estimate"]) for row, _ in at]
        if len(at) == 2 and np.isfinite(values).all():
            ax.plot(values, [h for _, h in at], color=canvas.MUTED, linewidth=0.9, alpha=0.8, zorder=2)
        if not np.isfinite(values).any():
            canvas.point(ax, np.nan, i, canvas.MUTED)
            continue
        for row, height in at:
            canvas.whisker(ax, row, height, filled=row["term"] == ends[1])


#: Columns whose values make separate panels of a term, and those that make separate rows (with the text before them).
_FACETS = ("section", "vacuum_kind", "stimulus", "delta", "detail")
_ROWS = {"system": " on ", "item": " · ", "criterion": " · "}


@canvas.picture("Axes to draw on, one a panel.")
def forest(
    estimates: pd.DataFrame,
    *,
    order: estimate_rows.Order = "value",
    labels: Mapping[str, str] | None = None,
    ax: canvas.Panels = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw estimates with their intervals, a row a judge, a panel a term.

    Where several points would share a place, there is a panel for each section, step, kind of vacuum
    or other detail of a term, and a row for each system, item or criterion of a judge (``judge on system``).

    Parameters
    ----------
    estimates : pandas.DataFrame
        Tidy estimates, or a datasheet; every row is drawn.
    labels : mapping, optional
        Term -> text above its panel, in place of the package's words.

    Returns
    -------
    Picture
        A panel a term, in the order in which they come. A panel that shows 0 and values on both sides of it, or whose
        term has another value of no effect, has a dashed line there.

    Raises
    ------
    DesignError
        If there is nothing to draw, the columns are not there, or `ax` does not have one for each panel.

    See Also
    --------
    judgestats.datasheet : estimates of all measures. bias_scores, icc : forests of one measure.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "b"], "term": "consistency", "estimate": [0.6, 0.8], "conf_low": [0.5, 0.7],
    ...                      "conf_high": [0.7, 0.9]})
    >>> [t.get_text() for t in forest(rows).get_yticklabels()]
    ['b', 'a']
    """
    estimate_rows.require(estimates, "judge", "term", "estimate")
    table = estimate_rows.terms(estimates, *dict.fromkeys(estimates["term"]), needed=False)
    if table.empty:
        raise DesignError("There is no estimate to draw. Give at least one row.")
    table = _rows_and_panels(table)
    texts = {
        (term, facet): (labels or {}).get(term, in_words(term)) + (f": {facet}" if facet else "")
        for term, panel_rows in table.groupby("term", sort=False)
        for facet in dict.fromkeys(panel_rows["facet"])
    }
    of_judge = pd.concat([rows for _, rows in table.groupby("who", sort=False)])
    term, facet = next(iter(texts))
    first = table[(table["term"] == term) & (table["facet"] == facet)]
    rows = estimate_rows.ordered(of_judge, order, first, column="row")
    panels = canvas.panels(ax, [*texts.values()], rows, wide=[2.35 if len(texts) > 1 else 5.2] * len(texts))
    for panel, ((term, facet), text) in zip(panels, texts.items(), strict=True):
        panel_rows = table[(table["term"] == term) & (table["facet"] == facet)]
        _panel(panel, panel_rows, rows, str(term), first=canvas.leftmost(panel, panels))
        text = "\n".join(textwrap.wrap(text, 30)) if len(texts) > 1 else text
        panel.set_title(short_names.literal(text, lines=True), fontsize=canvas.TEXT, color=canvas.INK, loc="left")
        panel.set_xlabel(_unit(panel_rows), fontsize=canvas.SMALL + 0.5, color=canvas.MUTED)
    canvas.headed([*panels, panels[0]], title)
    return canvas.Picture(panels, table)


def _unit(table: pd.DataFrame) -> str:
    """What the numbers of a panel are: the scale that a model names, or a share, a count, a difference."""
    scales = table["scale"].dropna().unique() if "scale" in table.columns else []
    if len(scales) == 1 and scales[0]:
        return str(short_names.literal(scales[0]))
    if all(is_whole(t) for t in set(table["term"])):
        return "number"
    at = {neutral_value(term) for term in set(table["term"])}
    return _UNITS.get(_form(table), "estimate (0 = none)" if at == {0.0} else "estimate")


#: Units of a panel of shares, or of differences of shares.
_UNITS = {"share": "share", "points": "points (0 = none)"}


def _form(table: pd.DataFrame) -> Form:
    """Form in which a panel prints its numbers: that of the estimates, unless a model states another scale."""
    if "scale" in table.columns and table["scale"].notna().any():
        return "score"
    forms: set[Form] = {form_of(row) for row in table.to_dict("records")}
    return forms.pop() if len(forms) == 1 else "score"


def _rows_and_panels(table: pd.DataFrame) -> pd.DataFrame:
    """Add the label of each row, and the part of its panel's name after the term."""
    row, facet = table["who"].astype(object).copy(), pd.Series("", index=table.index, dtype=object)
    for _, estimates in table.groupby("term", sort=False):
        for column, between in _ROWS.items():
            if _varies(estimates, column):
                row.loc[estimates.index] = _appended(row.loc[estimates.index], estimates[column], between)
        for column in _FACETS:
            if _varies(estimates, column):
                values = (
                    estimates[column].map(lambda v: f"Δ = {v:g}", na_action="ignore")
                    if column == "delta"
                    else estimates[column]
                )
                facet.loc[estimates.index] = _appended(facet.loc[estimates.index], values, ", ")
    return table.assign(row=row, facet=facet)


def _varies(table: pd.DataFrame, column: str) -> bool:
    return column in table.columns and table[column].nunique(dropna=False) > 1


def _appended(texts: pd.Series, values: pd.Series, between: str) -> list[str]:
    """Each text with its value, where it has one."""
    filled = values.notna() & (values.astype(object) != "")
    return [(f"{t}{between}{v}" if t else str(v)) if k else t for t, v, k in zip(texts, values, filled, strict=True)]


def _panel(ax: Axes, table: pd.DataFrame, judges: list[str], term: str, *, first: bool) -> None:
    low, high = _range(table)
    at = neutral_value(term)
    if at is None and low < 0 < high:
        at = 0.0 if low == -high else None
    if at is not None:
        canvas.neutral(ax, at)
    ax.set_xlim(low, high)
    for row, judge in enumerate(judges):
        estimates = table[table["row"] == judge]
        offsets = np.linspace(-0.22, 0.22, len(estimates)) if len(estimates) > 1 else np.zeros(len(estimates))
        for offset, r in zip(offsets, estimates.to_dict("records"), strict=True):
            canvas.whisker(ax, {"conf_low": np.nan, "conf_high": np.nan} | r, row + offset)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    if (form := _form(table)) in _UNITS:
        canvas.in_form(ax, form)
    canvas.lanes(ax, judges, first=first)


def _range(table: pd.DataFrame) -> tuple[float, float]:
    """Range of a panel: 0 to 1 for shares, around 0 for what has a sign."""
    columns = [c for c in ("estimate", "conf_low", "conf_high") if c in table.columns]
    values = table[columns].to_numpy(float)
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    signed = values.min() < 0 or all(neutral_value(t) == 0 for t in set(table["term"]))
    if signed:
        reach = 1.08 * float(np.abs(values).max()) or 1.0
        return -reach, reach
    if values.max() <= 1 + 1e-9:
        return -0.02, 1.02
    margin = 0.06 * float(np.ptp(values)) or 0.5
    return float(values.min()) - margin, float(values.max()) + margin
