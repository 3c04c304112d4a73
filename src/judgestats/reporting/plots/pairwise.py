"""Judge by judge: agreement of each pair, how far apart they are, how they use the scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting.plots.canvas import (
    INK,
    MUTED,
    PALETTE,
    label_width,
    legend_above,
    literal,
    named,
    new_axes,
    shortened,
)
from judgestats.reporting.plots.lanes import (
    NAME,
    below,
    chosen,
    distinct,
    headed,
    height_of,
    interval,
    key,
    lanes,
    limits,
    names_of,
    one_row_each,
    panels,
    point,
    shares,
    whisker,
)
from judgestats.reporting.plots.matrices import SEQUENTIAL, heat
from judgestats.reporting.plots.rows import require
from judgestats.reporting.words import in_words, number

#: Term -> text below the matrix.
_TERMS = {"kappa": "Cohen's κ", "r": "correlation r", "rho": "rank correlation ρ", "ac1": "Gwet's AC1"}
#: Bars.
BAR = "#8fb8d8"


def kappa_matrix(kappas: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the agreement of each pair of judges.

    Parameters
    ----------
    kappas : pandas.DataFrame
        A result of :func:`kappa`, or of :func:`correlation` with ``pairs="each"``, with ``judge`` and ``other``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Dark is high; the colours run from 0, or from the lowest value below it, to 1. A judge with itself, and a pair
        without a row, is empty.

    Raises
    ------
    DesignError
        If there are no pairs, or two rows of one.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "a", "b"], "other": ["b", "c", "c"], "term": "kappa",
    ...                      "estimate": [0.4, 0.6, 0.2]})
    >>> sorted({t.get_text() for t in kappa_matrix(rows).texts[:-1]})
    ['0.20', '0.40', '0.60']
    """
    require(kappas, "judge", "other", "term", "estimate")
    found = distinct(kappas["term"].astype(str))
    here = chosen(kappas, found[:1], source="kappa")
    names = here.assign(judge=here["judge"].astype(str), other=here["other"].astype(str))
    one_row_each(names, ["judge", "other"])
    judges = sorted({*names["judge"], *names["other"]})
    at = {j: i for i, j in enumerate(judges)}
    values = np.full((len(judges),) * 2, np.nan)
    known = np.zeros(values.shape, dtype=bool)
    for one, two, value in zip(names["judge"], names["other"], names["estimate"], strict=True):
        for i, j in ((at[one], at[two]), (at[two], at[one])):
            values[i, j], known[i, j] = value, True
    wide = pd.DataFrame(values, index=judges, columns=judges)
    low = min(0.0, float(np.nanmin(values)))
    nowhere = pd.DataFrame(False, index=judges, columns=judges)
    ax = heat(wide, wide, SEQUENTIAL, Normalize(low, 1.0), nowhere, ax, title, number, None)
    for text in list(ax.texts):
        column, row = (int(p) for p in text.get_position())
        if not known[row, column]:
            text.remove()
    below(ax, f"{literal(_TERMS.get(found[0], in_words(found[0])))}, dark: high", -6)
    return ax


def disagreement(result: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw how far apart the judges are: wide spreads, pairwise differences, and who is highest.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`disagreement`, of one group.
    ax : sequence of matplotlib.axes.Axes, optional
        Three axes to draw on.
    title : str, optional
        Put above the first panel.

    Returns
    -------
    list of matplotlib.axes.Axes
        Share of things whose spread is above each threshold; mean absolute difference of each pair; how often each
        judge is highest, ties shared out (bar) and alone (point with its interval).

    Raises
    ------
    DesignError
        If the terms are not there, or the result has several groups.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": ["share_above", "mean_difference", "highest_alone", "highest_shared"],
    ...                      "estimate": [0.2, 0.9, 0.4, 0.5], "conf_low": [0.1, 0.8, 0.3, np.nan],
    ...                      "conf_high": [0.3, 1.0, 0.5, np.nan], "judge": [None, "a", "a", "a"],
    ...                      "other": [None, "b", None, None], "threshold": [2.0, np.nan, np.nan, np.nan]})
    >>> [axes.get_yticklabels()[0].get_text() for axes in disagreement(rows)]
    ['spread > 2', 'a – b', 'a']
    """
    columns = ("conf_low", "conf_high", "judge", "other", "threshold")
    wanted = ["share_above", "mean_difference", "highest_alone", "highest_shared"]
    here = chosen(result, wanted, *columns, source="disagreement")
    here = here.assign(_row=names_of(here))
    if here["_row"].nunique() > 1:
        raise DesignError(
            f"The result has {here['_row'].nunique()} groups ({', '.join(distinct(here['_row'])[:4])}, ...). "
            "Draw one at a time."
        )
    share = here[here["term"] == "share_above"].assign(_row=lambda t: [f"spread > {v:g}" for v in t["threshold"]])
    apart = here[here["term"] == "mean_difference"]
    apart = apart.assign(_row=_pairs_named(apart))
    alone, shared = (here[here["term"] == t].assign(_row=lambda t: t["judge"].astype(str)) for t in wanted[2:])
    lines = [list(share["_row"]), list(apart["_row"]), distinct([*alone["_row"], *shared["_row"]])]
    one, two, three = _stacked(ax, lines)
    shares(one)
    limits(two, apart[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-np.inf, np.inf))
    two.set_xlim(left=0)
    shares(three)
    for panel, labels in zip((one, two, three), lines, strict=True):
        lanes(panel, labels)
    _bars(one, share, lines[0], BAR)
    for row in apart.to_dict("records"):
        whisker(two, row, lines[1].index(row["_row"]))
    _bars(three, shared, lines[2], BAR, ends=False)
    for row in alone.to_dict("records"):
        whisker(three, row, lines[2].index(row["_row"]), PALETTE[1])
    legend_above(three, [Patch(color=BAR, label="ties shared out"), key("alone", PALETTE[1])], 2)
    named(one, "share of things")
    named(two, "mean absolute difference")
    named(three, "share of things on which it is highest")
    headed([one, two, three], title)
    return [one, two, three]


def _pairs_named(table: pd.DataFrame) -> list[str]:
    """Both judges of each pair, each as long as fits."""
    judges = sorted({*table["judge"].astype(str), *table["other"].astype(str)})
    short = {j: s.replace(r"\$", "$") for j, s in zip(judges, shortened(judges, (NAME - 3) // 2), strict=True)}
    return [f"{short[str(a)]} – {short[str(b)]}" for a, b in zip(table["judge"], table["other"], strict=True)]


def _stacked(ax: Any, lines: list[list[str]]) -> list[Any]:
    """Three panels under one another, as high as their rows need."""
    names = ["shares above", "pairs", "highest"]
    if ax is not None:
        return panels(ax, names, [], wide=[], sharey=False)
    high = [height_of(len(rows), 0.28) for rows in lines]
    width = 4.6 + label_width(shortened([r for rows in lines for r in rows], NAME))
    found = Figure(figsize=(width, sum(high)), layout="constrained").subplots(3, 1, height_ratios=high)
    return [new_axes(a, 0, 0) for a in found]


def _bars(ax: Any, table: pd.DataFrame, labels: list[str], color: str, *, ends: bool = True) -> None:
    """A bar a row, with its interval."""
    for row in table.to_dict("records"):
        at = labels.index(row["_row"])
        if not np.isfinite(row["estimate"]):
            point(ax, np.nan, at, MUTED)
            continue
        ax.barh(at, row["estimate"], height=0.58, color=color, zorder=2)
        if ends:
            interval(ax, at, row["conf_low"], row["conf_high"], INK, 1.1)


def score_distribution(result: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw how each judge uses the scale: mean with its interval, sd, and the share of scores at the top.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`score_distribution`.
    ax : sequence of matplotlib.axes.Axes, optional
        Two axes to draw on.
    title : str, optional
        Put above the first panel.

    Returns
    -------
    list of matplotlib.axes.Axes
        Mean, with a thin line one sd to either side and a thick one for the interval; and the ceiling.

    Raises
    ------
    DesignError
        If there is no mean with a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["mean", "sd", "ceiling"], "estimate": [6.5, 1.4, 0.1],
    ...                      "conf_low": [6.0, 1.1, 0.05], "conf_high": [7.0, 1.6, 0.2]})
    >>> [axes.get_xlabel() for axes in score_distribution(rows)]
    ['mean score', 'share at the top']
    """
    here = chosen(result, ["mean", "sd", "ceiling"], "judge", "conf_low", "conf_high", source="score_distribution")
    here = here.assign(_row=names_of(here, "tier" if "tier" in result and result["tier"].isna().any() else ""))
    mean = chosen(here, ["mean"], source="score_distribution").set_index("_row")
    one_row_each(here, ["_row", "term"])
    labels = list(mean.index)
    sd = here[here["term"] == "sd"].set_index("_row")["estimate"].reindex(labels).to_numpy(float)
    left, right = panels(ax, ["mean", "ceiling"], labels, wide=[3.4, 2.2])
    value = mean["estimate"].to_numpy(float)
    limits(left, value - sd, value + sd, mean[["conf_low", "conf_high"]], value, bounds=(-np.inf, np.inf))
    shares(right)
    for panel in (left, right):
        lanes(panel, labels, first=panel is left)
    for i, label in enumerate(labels):
        interval(left, i, value[i] - sd[i], value[i] + sd[i], MUTED, 1.0)
        if np.isfinite(value[i]):
            interval(left, i, mean.loc[label, "conf_low"], mean.loc[label, "conf_high"], PALETTE[0], 3.4)
        point(left, value[i], i, PALETTE[0])
    _bars(right, here[here["term"] == "ceiling"], labels, BAR)
    legend_above(left, [key("mean and its interval", PALETTE[0]), key("± sd", MUTED, marker="_")], 2)
    named(left, "mean score")
    named(right, "share at the top")
    if "flag" in here.columns and here["flag"].astype(str).str.contains("top is the highest score seen").any():
        below(right, "top: the highest score seen")
    headed([left, right], title)
    return [left, right]
