"""Biases: signed scores of judges, and what strategies do to them (debiasing paper, Figure 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm

from judgestats.errors import DesignError, choose
from judgestats.reporting.plots.canvas import INK, TEXT, literal
from judgestats.reporting.plots.lanes import (
    below,
    chosen,
    distinct,
    groups_of,
    headed,
    joined,
    lanes,
    limits,
    names_of,
    neutral,
    one_row_each,
    panels,
    whisker,
)
from judgestats.reporting.plots.matrices import DIVERGING, heat
from judgestats.reporting.words import signed

#: A change this large has the darkest colour where none is larger.
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
    here = chosen(changes, [term], "judge", "strategy", "conf_low", "conf_high", source="bias_change")
    if judge is not None:
        known = sorted(set(here["judge"].dropna().astype(str)))
        here = here[here["judge"].astype(str) == choose(judge, known, "judge")]
    here = here.assign(_row=names_of(here, "judge", "strategy"), _column=here["strategy"].astype(str))
    one_row_each(here, ["_row", "_column"])
    wide = {c: _grid(here, c) for c in ("estimate", "conf_low", "conf_high")}
    values = wide["estimate"]
    if not values.notna().to_numpy().any():
        raise DesignError(f"There is no {term} with a value to draw. Give another judge, or judge=None for the mean.")
    sure = (wide["conf_low"] > 0) | (wide["conf_high"] < 0)
    reach = max(float(np.nanmax(np.abs(values.to_numpy(float)))), LEAST_REACH)
    ax = heat(values, values, DIVERGING, TwoSlopeNorm(0, -reach, reach), sure, ax, title, signed, None)
    for text, bold in zip(ax.texts, sure.to_numpy().ravel(), strict=False):
        text.set_fontweight("bold" if bold else "normal")
    whose = "mean over judges" if judge is None else str(judge)
    framed = "\nframed: the interval excludes 0" if sure.to_numpy().any() else ""
    below(ax, f"change of |b| ({whose})\nblue: the bias falls · red: it grows{framed}", -6)
    return ax


def _grid(table: pd.DataFrame, value: str) -> pd.DataFrame:
    wide: pd.DataFrame = table.set_index(["_row", "_column"])[value].astype(float).unstack()
    return wide.reindex(index=distinct(table["_row"]), columns=distinct(table["_column"]))


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
    here = chosen(scores, ["bias", "mean"], "judge", "conf_low", "conf_high", source="bias_score")
    mean = here["term"] == "mean"
    over = [c for c in groups_of(here, "judge", "bias") if mean.any() and here.loc[mean, c].isna().all()]
    facets = [c for c in ("bias",) if c in here.columns] + over
    here = here.assign(_row=names_of(here, *facets), _panel=joined(here, facets))
    here.loc[mean, "_panel"] = [f"{p} · mean" if p != "all" else "mean" for p in here.loc[mean, "_panel"]]
    one_row_each(here, ["_row", "_panel"])
    rows, shown = distinct(here["_row"]), distinct(here["_panel"])
    each = 3.2 if len(shown) == 1 else 2.3
    axes = panels(ax, shown, rows, wide=[each] * len(shown), across=ACROSS)
    for i, (panel, facet) in enumerate(zip(axes, shown, strict=True)):
        limits(panel, here[["estimate", "conf_low", "conf_high"]], zero=True, even=True, bounds=(-1, 1))
        neutral(panel)
        lanes(panel, rows, first=i % ACROSS == 0)
        for row in here[here["_panel"] == facet].to_dict("records"):
            whisker(panel, row, rows.index(row["_row"]))
        panel.set_title("" if facet == "all" else literal(facet), fontsize=TEXT, color=INK, loc="left")
        panel.set_xlabel("b, towards the target →", fontsize=TEXT, color=INK)
    if len(axes) > 1 or shown == ["all"]:
        headed(axes, title)
    elif title:
        axes[0].set_title(
            literal(f"{title}: {shown[0]}"), fontsize=TEXT + 1.5, color=INK, loc="left", fontweight="bold"
        )
    return axes[0] if len(axes) == 1 else axes
