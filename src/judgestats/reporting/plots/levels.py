"""How far judges agree: on systems, on items, on scores; by ICC; and with the quality of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError
from judgestats.reporting.plots.canvas import (
    MUTED,
    PALETTE,
    SMALL,
    grid,
    label_width,
    legend,
    legend_above,
    literal,
    named,
    new_axes,
    note,
    shortened,
    style_of,
)
from judgestats.reporting.plots.lanes import (
    NAME,
    beside,
    chosen,
    distinct,
    height_of,
    key,
    lanes,
    limits,
    names_of,
    neutral,
    one_row_each,
    whisker,
    with_interval,
)
from judgestats.reporting.plots.placing import label_around
from judgestats.reporting.plots.rows import require
from judgestats.reporting.words import number, signed

#: Term -> label and colour, from the coarsest level to the finest.
LEVELS = {
    "rho_system": ("systems: Spearman ρ", PALETTE[0]),
    "r_sample": ("items: Pearson r", PALETTE[1]),
    "icc": ("scores: ICC(2,1)", PALETTE[2]),
}
GAPS = {"gap_system_sample": "ρ − r", "gap_sample_icc": "r − ICC"}
#: Points that a gap takes beside its row.
GAP_WIDTH = 112.0


def agreement_levels(levels: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the three levels of agreement of each group under one another, with the gaps between them.

    Parameters
    ----------
    levels : pandas.DataFrame
        A result of :func:`agreement_levels`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        At the right the two gaps, with the intervals of their own.

    Raises
    ------
    DesignError
        If there is no level with a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": ["rho_system", "r_sample", "icc"], "estimate": [0.99, 0.72, 0.67],
    ...                      "conf_low": [0.9, 0.6, 0.5], "conf_high": [1.0, 0.8, 0.7]})
    >>> [t.get_text() for t in agreement_levels(rows).get_yticklabels()]
    ['all']
    """
    here = chosen(levels, list(LEVELS), "conf_low", "conf_high", source="agreement_levels")
    names = names_of(levels)
    here = here.assign(_row=names[here.index])
    one_row_each(here, ["_row", "term"])
    labels = distinct(here["_row"])
    ax = new_axes(ax, 7.7 + label_width(shortened(labels, NAME)), height_of(len(labels), 0.66))
    limits(ax, here[["estimate", "conf_low", "conf_high"]], [1.0], zero=True, bounds=(-1, 1))
    lanes(ax, labels)
    for i, label in enumerate(labels):
        _three(ax, here[here["_row"] == label].set_index("term"), i)
        for j, term in enumerate(GAPS):
            found = levels[(names == label) & (levels["term"] == term)]
            if len(found):
                beside(ax, i, with_interval(found.iloc[0]), 8 + j * GAP_WIDTH)
    for j, head in enumerate(GAPS.values()):
        beside(ax, None, head, 8 + j * GAP_WIDTH)
    legend_above(ax, [key(*look) for look in LEVELS.values()], 3)
    named(ax, "agreement of the judges", title=title, pad=24)
    return ax


def _three(ax: Any, here: pd.DataFrame, row: int) -> None:
    """The levels of one group, joined where both are known."""
    last: tuple[float, float] | None = None
    for (term, (_, color)), shift in zip(LEVELS.items(), (-0.27, 0.0, 0.27), strict=True):
        if term not in here.index:
            continue
        found, height = here.loc[term], row + shift
        if last and np.isfinite([last[0], found["estimate"]]).all():
            ax.plot([last[0], found["estimate"]], [last[1], height], color=MUTED, linewidth=0.9, zorder=2)
        whisker(ax, found, height, color)
        last = (float(found["estimate"]), height)


def icc(
    result: pd.DataFrame, *, forms: str | Sequence[str] = "ICC(2,1)", ax: Any = None, title: str | None = None
) -> Any:
    """Draw intraclass correlations with their intervals, a row a group.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`icc`.
    forms : str or sequence of str
        Which of the six forms.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Interval ends below -1 are cut off, with an arrow.

    Raises
    ------
    DesignError
        If a form is not there.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "term": "ICC(2,1)", "estimate": [0.4, 0.7],
    ...                      "conf_low": [0.1, 0.5], "conf_high": [0.6, 0.8]})
    >>> icc(rows).get_xlabel()
    'ICC(2,1)'
    """
    wanted = [forms] if isinstance(forms, str) else list(forms)
    here = chosen(result, wanted, "conf_low", "conf_high", source="icc")
    absent = [f for f in wanted if f not in set(here["term"])]
    if absent:
        have = ", ".join(distinct(result["term"].astype(str)))
        raise DesignError(f"forms has {', '.join(absent)}, which the result does not. It has: {have}.")
    here = here.assign(_row=names_of(here))
    one_row_each(here, ["_row", "term"])
    labels = distinct(here["_row"])
    each = 0.3 if len(wanted) == 1 else 0.17 * len(wanted) + 0.1
    ax = new_axes(ax, 4.6 + label_width(shortened(labels, NAME)), height_of(len(labels), each))
    limits(ax, here["estimate"], np.clip(here[["conf_low", "conf_high"]], -1, 1), [1.0], zero=True, bounds=(-5, 1))
    neutral(ax)
    lanes(ax, labels)
    shifts = np.linspace(-0.3, 0.3, len(wanted)) if len(wanted) > 1 else [0.0]
    for row in here.to_dict("records"):
        form = wanted.index(row["term"])
        whisker(ax, row, labels.index(row["_row"]) + shifts[form], **style_of(form))
    if len(wanted) > 1:
        keys = [key(f, style_of(i)["color"], marker=style_of(i)["marker"]) for i, f in enumerate(wanted)]
        legend_above(ax, keys, 4 if len(keys) == 4 else 3)
    named(
        ax,
        wanted[0] if len(wanted) == 1 else "intraclass correlation",
        title=title,
        pad=6 if len(wanted) == 1 else 38 if len(wanted) > 4 else 24,
    )
    return ax


def quality_agreement(
    table: pd.DataFrame,
    result: pd.DataFrame | None = None,
    *,
    score: str = "mean_score",
    agreement: str = "r",
    within: str = "tier",
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw the agreement of the judges on each system against its mean score.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per system, as :func:`quality_agreement` takes it, with its name in ``system`` or ``model``.
    result : pandas.DataFrame, optional
        A result of :func:`quality_agreement` of it: its ρ is written into the picture.
    score, agreement : str
        Columns of mean score and mean correlation.
    within : str
        Column that colours the systems, where it is there.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Names that do not fit are left out; a note says how many.

    Raises
    ------
    DesignError
        If a column is missing, or no system has both numbers.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "tier": "Base", "mean_score": [5.0, 7.0], "r": [0.8, 0.6]})
    >>> quality_agreement(rows).get_ylabel()
    'agreement of the judges (mean r)'
    """
    require(table, score, agreement)
    here = table[np.isfinite(table[[score, agreement]].astype(float)).all(axis=1)]
    if here.empty:
        raise DesignError(f"No system has both {score} and {agreement}. Give a table with one row per system.")
    tiers = distinct(here[within].astype(str)) if within in here.columns else []
    known = _rho(result, within)
    keys = [f"{t}{known.get(t, '')}" for t in tiers]
    ax = new_axes(ax, 6.4 + (0.4 + label_width(keys) if tiers else 0), 4.6)
    grid(ax)
    x, y = here[score].to_numpy(float), here[agreement].to_numpy(float)
    for setter, v in ((ax.set_xlim, x), (ax.set_ylim, y)):
        margin = 0.09 * float(np.ptp(v)) or 0.5
        setter(v.min() - margin, v.max() + margin)
    of = here[within].astype(str).map(tiers.index).to_numpy() if tiers else np.zeros(len(here), int)
    for i in range(max(1, len(tiers))):
        ax.scatter(x[of == i], y[of == i], s=44, zorder=3, edgecolors="white", linewidths=0.8, **style_of(i))
    if tiers:
        legend(ax, [key(t, style_of(i)["color"], marker=style_of(i)["marker"]) for i, t in enumerate(keys)], within)
    left = _names(ax, here, x, y)
    told = f"ρ{known['']}" if "" in known else ""
    if told:
        ax.annotate(
            told,
            (1, 1),
            (-4, 4),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=SMALL + 1,
            color=MUTED,
        )
    named(
        ax,
        literal(score.replace("_", " ")),
        f"agreement of the judges (mean {literal(agreement)})",
        title,
        pad=18 if told else 6,
    )
    lost = len(table) - len(here)
    remarks = [f"Names that do not fit: {len(left)}."] if left else []
    remarks += [f"Systems without one of the two numbers: {lost}."] if lost else []
    if remarks:
        note(ax, " ".join(remarks))
    return ax


def _names(ax: Any, here: pd.DataFrame, x: Any, y: Any) -> list[str]:
    column = next((c for c in ("system", "model") if c in here.columns), None)
    if column is None:
        return []
    size = SMALL if len(here) <= 12 else SMALL - 1
    return label_around(ax, list(x), list(y), shortened(here[column], 26), size=size, every=False)


def _rho(result: pd.DataFrame | None, within: str) -> dict[str, str]:
    """Value of `within` -> its ρ as text; all systems under the empty name."""
    if result is None:
        return {}
    here = chosen(result, ["spearman"], "conf_low", "conf_high", source="quality_agreement")
    names = here[within].astype(object).where(here[within].notna(), "") if within in here.columns else [""] * len(here)
    told = {}
    for name, row in zip(names, here.to_dict("records"), strict=True):
        if np.isfinite(row["estimate"]):
            p = f", p = {number(row['p_value'], 3)}" if np.isfinite(row.get("p_value", np.nan)) else ""
            told[str(name)] = f" = {signed(row['estimate'])} [{signed(row['conf_low'])}, {signed(row['conf_high'])}]{p}"
        else:
            told[str(name)] = " n/a"
    return {k: v if k == "" else f" (ρ{v.split(' [')[0]})" for k, v in told.items()}
