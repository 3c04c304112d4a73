"""Strengths of systems and the ranks that they may have."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas


@canvas.picture("Two axes to draw on.", needs="rank")
def rank_sets(
    ranking: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw the strength of each system, and the ranks that are not excluded.

    Parameters
    ----------
    ranking : pandas.DataFrame
        A result of :func:`rank_systems`.

    Returns
    -------
    Picture
        Strengths with their intervals, and ranks with their sets, which hold for all systems at once.

    See Also
    --------
    judgestats.rank_systems : the ranks. score_matrix : scores by judge and system.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["A", "B"] * 2, "term": ["strength"] * 2 + ["rank"] * 2,
    ...                      "estimate": [0.4, -0.4, 1, 2], "conf_low": [0.1, -0.7, 1, 1],
    ...                      "conf_high": [0.7, -0.1, 2, 2]})
    >>> [t.get_text() for t in rank_sets(rows)[0].get_yticklabels()]
    ['A', 'B']
    """
    estimates = estimate_rows.chosen(
        ranking, ["rank", "strength"], "system", "conf_low", "conf_high", source="rank_systems"
    )
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates))
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    rows = estimate_rows.ordered(estimates, order, estimates[estimates["term"] == "rank"])
    left, right = canvas.panels(ax, ["strength", "rank"], rows, wide=[3.2, 2.8])
    strength, rank = (estimates[estimates["term"] == term] for term in ("strength", "rank"))
    canvas.limits(left, strength[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-np.inf, np.inf))
    canvas.limits(right, rank[["estimate", "conf_low", "conf_high"]], bounds=(1, np.inf))
    right.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    canvas.neutral(left)
    for panel, table in ((left, strength), (right, rank)):
        canvas.lanes(panel, rows, first=panel is left)
        for row in table.to_dict("records"):
            height = rows.index(row["_row"])
            if np.isinf(row["estimate"]):
                up = row["estimate"] > 0
                panel.plot(
                    panel.get_xlim()[up], height, ">" if up else "<", color=canvas.PALETTE[0], ms=6, clip_on=False
                )
            else:
                canvas.whisker(panel, row, height)
    canvas.named(left, "strength (log-odds)")
    canvas.named(right, "rank, 1 is the best")
    canvas.headed([left, right], title)
    return canvas.Picture([left, right], estimates)
