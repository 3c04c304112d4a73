"""Pictures of how judges use the scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from judgestats import flags
from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas, short_names
from judgestats.reporting.plots.judge_pairs import BAR, _bars


@canvas.picture("Three axes to draw on.", needs="mean")
def score_distribution(
    result: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw how each judge uses the scale: its mean, its sd, and the share of scores at the top.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`score_distribution`.

    Returns
    -------
    Picture
        Mean, sd and ceiling with their intervals; the sd and the ceiling on an axis from 0 to the largest.

    See Also
    --------
    judgestats.score_distribution : the numbers. score_matrix : means by system.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["mean", "sd", "ceiling"], "estimate": [6.5, 1.4, 0.1],
    ...                      "conf_low": [6.0, 1.1, 0.05], "conf_high": [7.0, 1.6, 0.2]})
    >>> [axes.get_xlabel() for axes in score_distribution(rows)]
    ['mean score', 'sd of the scores', 'share of scores at the top']
    """
    estimates = estimate_rows.chosen(
        result, ["mean", "sd", "ceiling"], "judge", "conf_low", "conf_high", source="score_distribution"
    )
    estimates = estimates.assign(
        _row=estimate_rows.names_of(estimates, "tier" if "tier" in result and result["tier"].isna().any() else "")
    )
    mean = estimate_rows.chosen(estimates, ["mean"], source="score_distribution")
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    labels = estimate_rows.ordered(mean, order)
    axes = canvas.panels(ax, ["mean", "sd", "ceiling"], labels, wide=[2.8, 2.0, 2.0])
    sd, top = (estimates[estimates["term"] == term] for term in ("sd", "ceiling"))
    for panel, table in zip(axes, (mean, sd, top), strict=True):
        bounds = (0.0, 1.0) if table is top else (-np.inf, np.inf)
        canvas.limits(panel, table[["estimate", "conf_low", "conf_high"]], zero=table is not mean, bounds=bounds)
        canvas.lanes(panel, labels, first=panel is axes[0])
        if table is not mean:
            panel.set_xlim(left=0)
        for row in table.to_dict("records") if table is not top else ():
            canvas.whisker(panel, row, labels.index(row["_row"]))
    canvas.in_form(axes[2], "share")
    _bars(axes[2], top, labels, BAR)
    for panel, name in zip(axes, ("mean score", "sd of the scores", "share of scores at the top"), strict=True):
        canvas.named(panel, name)
    if "flag" in estimates.columns and flags.have(estimates["flag"], flags.SCALE_MAXIMUM).any():
        canvas.below(axes[2], "top: the highest score seen")
    canvas.headed(axes, title)
    return canvas.Picture(axes, estimates)


#: Quantiles of a box: ends of the thin line, of the box, and the mark.
QUANTILES = ("q05", "q25", "q50", "q75", "q95")


@canvas.picture()
def score_quantiles(
    result: pd.DataFrame, *, order: Sequence[str] | None = None, ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw the distribution of the scores that each judge gave each system: median, quartiles, and 5 to 95 percent.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`score_distribution` with ``quantiles=(0.05, 0.25, 0.5, 0.75, 0.95)`` and ``by="system"``, or
        without `by`.
    order : sequence of str, optional
        Rows from the top (systems by tier, say); by default by the median over judges, highest first.

    Returns
    -------
    Picture
        A row for each system, in it a box for each judge; for more than 8 judges, a row for each judge of each system.
        These are scores, not intervals of an estimate.

    Raises
    ------
    DesignError
        If the quantiles are not there, or `order` lacks a row.

    See Also
    --------
    judgestats.score_distribution : the quantiles. score_distribution : mean, sd and ceiling of each judge.

    Notes
    -----
    consensus_illusion paper, Figure 6.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "system": "s", "term": ["q05", "q25", "q50", "q75", "q95"],
    ...                      "estimate": [2.0, 4, 5, 6, 9]})
    >>> [t.get_text() for t in score_quantiles(rows).get_yticklabels()]
    ['s']
    """
    estimates = estimate_rows.chosen(result, list(QUANTILES), "judge", source="score_distribution")
    absent = [q for q in QUANTILES if q not in set(estimates["term"])]
    if absent:
        raise DesignError(
            f"The picture needs the term {absent[0]}. Use score_distribution(quantiles=(0.05, 0.25, 0.5, 0.75, 0.95))."
        )
    estimates = estimates.assign(
        _row=estimate_rows.names_of(estimates, "judge", "tier"), _judge=estimates["judge"].astype(str)
    )
    estimate_rows.one_row_each(estimates, ["_row", "_judge", "term"])
    wide = estimates.pivot(index=["_row", "_judge"], columns="term", values="estimate")
    middle = wide["q50"].groupby("_row").mean().sort_values(ascending=False, kind="stable")
    labels = list(middle.index) if order is None else [str(o) for o in order]
    lacking = [r for r in middle.index if r not in labels]
    if lacking:
        raise DesignError(f"order= lacks {', '.join(lacking)}. Name every row.")
    labels = [r for r in labels if r in middle.index]
    judges = estimate_rows.distinct(estimates["_judge"])
    if len(judges) > canvas.DIRECT:
        by_judge = wide["q50"].sort_values(ascending=False, kind="stable").index
        labels = [_label_within_judge(r, j) for one in labels for r, j in by_judge if r == one]
        wide.index = pd.MultiIndex.from_tuples([(_label_within_judge(r, j), "") for r, j in wide.index])
        judges = [""]
    each = 0.16 * len(judges) + 0.12
    ax = canvas.row_axes(ax, labels, 5.4, each)
    canvas.limits(ax, wide.to_numpy(float), bounds=(-np.inf, np.inf))
    canvas.lanes(ax, labels)
    step = 0.8 / len(judges)
    for (label, judge), row in wide.iterrows():
        k = judges.index(judge)
        at, color = labels.index(label) + step * (k - (len(judges) - 1) / 2), canvas.style_of(k)["color"]
        ax.plot([row["q05"], row["q95"]], [at, at], color=color, linewidth=1.0, zorder=2)
        ax.barh(at, row["q75"] - row["q25"], left=row["q25"], height=0.7 * step, color=color, alpha=0.45, zorder=3)
        canvas.point(ax, row["q50"], at, color, marker="|")
    if len(judges) > 1:
        short = short_names.shortened(judges)
        canvas.legend_above(ax, [Patch(color=canvas.style_of(k)["color"], label=j) for k, j in enumerate(short)], 3)
        canvas.below(ax, short.key)
    canvas.named(ax, "score: median, quartiles, 5 to 95 %", title=title, pad=24 + 14 * ((len(judges) - 1) // 3))
    return canvas.Picture(ax, estimates)


def _label_within_judge(row: str, judge: str) -> str:
    return judge if row == "all" else f"{row} · {judge}"
