"""Pictures of levels of agreement, ICC, and agreement against the quality of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import number, signed
from judgestats.reporting.plots import canvas, point_labels, short_names

#: Term -> label and colour, from the coarsest level to the finest.
LEVELS = {
    "rho_system": ("systems: Spearman ρ", canvas.PALETTE[0]),
    "r_sample": ("items: Pearson r", canvas.PALETTE[1]),
    "icc": ("scores: ICC(2,1)", canvas.PALETTE[2]),
}
GAPS = {"gap_system_sample": "ρ − r", "gap_sample_icc": "r − ICC"}
#: Points that a gap takes beside its row.
GAP_WIDTH = 112.0


@canvas.picture(needs="level")
def agreement_levels(
    levels: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw the three levels of agreement of each group under one another, with the gaps between them.

    Parameters
    ----------
    levels : pandas.DataFrame
        A result of :func:`agreement_levels`.

    Returns
    -------
    Picture
        On the right the two gaps, with their intervals.

    See Also
    --------
    judgestats.agreement_levels : the numbers. icc : all forms of the finest level.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": ["rho_system", "r_sample", "icc"], "estimate": [0.99, 0.72, 0.67],
    ...                      "conf_low": [0.9, 0.6, 0.5], "conf_high": [1.0, 0.8, 0.7]})
    >>> [t.get_text() for t in agreement_levels(rows).get_yticklabels()]
    ['all']
    """
    estimates = estimate_rows.chosen(levels, list(LEVELS), "conf_low", "conf_high", source="agreement_levels")
    names = estimate_rows.names_of(levels)
    estimates = estimates.assign(_row=names[estimates.index])
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    labels = estimate_rows.ordered(estimates, order)
    ax = canvas.row_axes(ax, labels, 7.7, 0.66)
    canvas.limits(ax, estimates[["estimate", "conf_low", "conf_high"]], [1.0], zero=True, bounds=(-1, 1))
    canvas.lanes(ax, labels)
    for i, label in enumerate(labels):
        _three_levels(ax, estimates[estimates["_row"] == label].set_index("term"), i)
        for j, term in enumerate(GAPS):
            rows_of_level = levels[(names == label) & (levels["term"] == term)]
            if len(rows_of_level):
                canvas.beside(ax, i, canvas.with_interval(rows_of_level.iloc[0]), 8 + j * GAP_WIDTH)
    for j, head in enumerate(GAPS.values()):
        canvas.beside(ax, None, head, 8 + j * GAP_WIDTH)
    canvas.legend_above(ax, [canvas.key(*look) for look in LEVELS.values()], 3)
    canvas.named(ax, "agreement of the judges (correlation, 1 = perfect)", title=title, pad=24)
    return canvas.Picture(ax, pd.concat([estimates, levels[levels["term"].isin(GAPS)]]))


def _three_levels(ax: Axes, estimates: pd.DataFrame, row: int) -> None:
    """The levels of one group, joined where both are known."""
    last: tuple[float, float] | None = None
    for (term, (_, color)), shift in zip(LEVELS.items(), (-0.27, 0.0, 0.27), strict=True):
        if term not in estimates.index:
            continue
        level, height = estimates.loc[term], row + shift
        if last and np.isfinite([last[0], level["estimate"]]).all():
            ax.plot([last[0], level["estimate"]], [last[1], height], color=canvas.MUTED, linewidth=0.9, zorder=2)
        canvas.whisker(ax, level, height, color)
        last = (float(level["estimate"]), height)


@canvas.picture()
def icc(
    result: pd.DataFrame,
    *,
    forms: str | Sequence[str] = "ICC(2,1)",
    order: estimate_rows.Order = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw intraclass correlations with their intervals, a row a group.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`icc`.
    forms : str or sequence of str
        Which of the six forms.

    Returns
    -------
    Picture
        Interval ends below -1 are cut off, with an arrow.

    Raises
    ------
    DesignError
        If a form is not there.

    See Also
    --------
    judgestats.icc : the numbers. agreement_levels : beside coarser levels.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "term": "ICC(2,1)", "estimate": [0.4, 0.7],
    ...                      "conf_low": [0.1, 0.5], "conf_high": [0.6, 0.8]})
    >>> icc(rows).get_xlabel()
    'ICC(2,1), intraclass correlation (1 = perfect)'
    """
    wanted = [forms] if isinstance(forms, str) else list(forms)
    estimates = estimate_rows.chosen(result, wanted, "conf_low", "conf_high", source="icc")
    absent = [f for f in wanted if f not in set(estimates["term"])]
    if absent:
        have = ", ".join(estimate_rows.distinct(result["term"].astype(str)))
        raise DesignError(f"forms has {', '.join(absent)}, which the result does not. It has: {have}.")
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates))
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    labels = estimate_rows.ordered(estimates, order, estimates[estimates["term"] == wanted[0]])
    each = 0.3 if len(wanted) == 1 else 0.17 * len(wanted) + 0.1
    ax = canvas.row_axes(ax, labels, 4.6, each)
    canvas.limits(
        ax,
        estimates["estimate"],
        np.clip(estimates[["conf_low", "conf_high"]], -1, 1),
        [1.0],
        zero=True,
        bounds=(-5, 1),
    )
    canvas.neutral(ax)
    canvas.lanes(ax, labels)
    canvas.series(ax, estimates, labels, "term", wanted, reach=0.3)
    if len(wanted) > 1:
        canvas.legend_above(ax, canvas.series_keys(wanted), 4 if len(wanted) == 4 else 3)
    canvas.named(
        ax,
        f"{wanted[0]}, intraclass correlation (1 = perfect)"
        if len(wanted) == 1
        else "intraclass correlation (1 = perfect)",
        title=title,
        pad=6 if len(wanted) == 1 else 38 if len(wanted) > 4 else 24,
    )
    return canvas.Picture(ax, estimates)


@canvas.picture()
def quality_agreement(
    table: pd.DataFrame,
    result: pd.DataFrame | None = None,
    *,
    score: str = "mean_score",
    agreement: str = "r",
    within: str = "tier",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
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

    Returns
    -------
    Picture
        More than 8 systems have numbers, with a key. A remark counts systems that lack a number.

    Raises
    ------
    DesignError
        If a column is missing, or no system has both numbers.

    See Also
    --------
    judgestats.quality_agreement : the correlation. icc : agreement by system.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "tier": "Base", "mean_score": [5.0, 7.0], "r": [0.8, 0.6]})
    >>> quality_agreement(rows).get_ylabel()
    'agreement of the judges (mean r)'
    """
    estimate_rows.require(table, score, agreement)
    points = table[np.isfinite(table[[score, agreement]].astype(float)).all(axis=1)]
    if points.empty:
        raise DesignError(f"No system has both {score} and {agreement}. Give a table with one row per system.")
    tiers = estimate_rows.distinct(points[within].astype(str)) if within in points.columns else []
    correlations = _rho(result, within)
    keys = [f"{t}{correlations.get(t, '')}" for t in tiers]
    column = next((c for c in ("system", "model") if c in points.columns), None)
    names = list(points[column].astype(str)) if column else []
    entries = [*keys, *(short_names.shortened(names) if len(names) > canvas.DIRECT else [])]
    ax = canvas.new_axes(ax, 6.2 + canvas.legend_width(entries, 4.6), 4.6)
    canvas.grid(ax)
    x, y = points[score].to_numpy(float), points[agreement].to_numpy(float)
    for setter, v in ((ax.set_xlim, x), (ax.set_ylim, y)):
        margin = 0.09 * float(np.ptp(v)) or 0.5
        setter(v.min() - margin, v.max() + margin)
    of = points[within].astype(str).map(tiers.index).to_numpy() if tiers else np.zeros(len(points), int)
    for i in range(max(1, len(tiers))):
        ax.scatter(x[of == i], y[of == i], s=44, zorder=3, edgecolors="white", linewidths=0.8, **canvas.style_of(i))
    keyed = canvas.series_keys(keys)
    if names:
        point_labels.name_points(ax, list(x), list(y), names, more=keyed)
    elif keyed:
        canvas.legend(ax, keyed, within)
    overall = f"ρ{correlations['']}" if "" in correlations else ""
    if overall:
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right"}
        ax.annotate(overall, (1, 1), (-4, 4), va="bottom", fontsize=canvas.SMALL + 1, color=canvas.MUTED, **place)
    canvas.named(
        ax,
        f"{short_names.literal(score.replace('_', ' '))} of the system (points of the scale)",
        f"agreement of the judges (mean {short_names.literal(agreement)})",
        title,
        pad=18 if overall else 6,
    )
    lost = len(table) - len(points)
    if lost:
        canvas.below(ax, f"Systems without one of the two numbers: {lost}.")
    return canvas.Picture(ax, points)


def _rho(result: pd.DataFrame | None, within: str) -> dict[str, str]:
    """Value of `within` -> its ρ as text; all systems under the empty name."""
    if result is None:
        return {}
    estimates = estimate_rows.chosen(result, ["spearman"], "conf_low", "conf_high", source="quality_agreement")
    names = (
        estimates[within].astype(object).where(estimates[within].notna(), "")
        if within in estimates.columns
        else [""] * len(estimates)
    )
    texts = {}
    for name, row in zip(names, estimates.to_dict("records"), strict=True):
        if np.isfinite(row["estimate"]):
            p = f", p = {number(row['p_value'], 3)}" if np.isfinite(row.get("p_value", np.nan)) else ""
            texts[str(name)] = (
                f" = {signed(row['estimate'])} [{signed(row['conf_low'])}, {signed(row['conf_high'])}]{p}"
            )
        else:
            texts[str(name)] = " n/a"
    return {k: v if k == "" else f" (ρ{v.split(' [')[0]})" for k, v in texts.items()}
