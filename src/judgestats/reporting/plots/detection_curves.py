"""How well scores detect: the ROC curve, and precision by recall."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.judge_panels import name_panels, square_panels

_COLUMNS = ("judge", "threshold", "fpr", "tpr", "tpr_low", "tpr_high", "precision")


@canvas.picture("Axes to draw on, one a judge.", needs="curve")
def roc(
    curve: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw the ROC curve of each judge, with its band.

    Parameters
    ----------
    curve : pandas.DataFrame
        A result of :func:`roc_curve`.

    Returns
    -------
    Picture
        A panel for each judge. The band holds the true positive rate at each threshold by itself. On the dashed line
        scores say nothing.

    See Also
    --------
    judgestats.roc_curve : the points. judgestats.roc : the area. precision_recall : the same points otherwise.

    Examples
    --------
    >>> import judgestats as js
    >>> scores = pd.DataFrame({"judge": "g", "item": list("abcd"), "score": [.9, .8, .6, .2], "gold": [1, 0, 1, 0]})
    >>> roc(js.roc_curve(scores))[0].lines[1].get_ydata().tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    axes, curves = _curves(curve, order, ax)
    for panel, points in zip(axes, curves.values(), strict=True):
        color = canvas.style_of(0)["color"]
        panel.plot([0, 1], [0, 1], linestyle="--", color=canvas.MUTED, linewidth=0.9)
        panel.plot(points["fpr"], points["tpr"], color=color, linewidth=1.6, zorder=3)
        panel.fill_between(points["fpr"], points["tpr_low"], points["tpr_high"], color=color, alpha=0.18, linewidth=0)
        canvas.named(panel, "false positive rate", "true positive rate" if canvas.leftmost(panel, axes) else "")
    name_panels(axes, [*curves], title)
    return canvas.Picture(axes, curve)


@canvas.picture("Axes to draw on, one a judge.", needs="curve")
def precision_recall(
    curve: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw the precision of each judge at each recall (sensitivity).

    Parameters
    ----------
    curve : pandas.DataFrame
        A result of :func:`roc_curve`.

    Returns
    -------
    Picture
        A panel for each judge. The dashed line is the share of positives: the precision of scores that say nothing.

    See Also
    --------
    judgestats.roc_curve : the points. judgestats.roc : the average precision. roc : the same points otherwise.

    Examples
    --------
    >>> import judgestats as js
    >>> scores = pd.DataFrame({"judge": "g", "item": list("abcd"), "score": [.9, .8, .6, .2], "gold": [1, 0, 1, 0]})
    >>> precision_recall(js.roc_curve(scores))[0].lines[1].get_ydata().round(2).tolist()
    [1.0, 0.5, 0.67, 0.5]
    """
    axes, curves = _curves(curve, order, ax)
    for panel, points in zip(axes, curves.values(), strict=True):
        defined = points[points["precision"].notna()]
        share = float(points["precision"].iloc[-1])
        panel.plot([0, 1], [share, share], linestyle="--", color=canvas.MUTED, linewidth=0.9)
        color = canvas.style_of(0)["color"]
        panel.step(defined["tpr"], defined["precision"], where="pre", color=color, linewidth=1.6, zorder=3)
        canvas.named(panel, "recall (sensitivity)", "precision" if canvas.leftmost(panel, axes) else "")
    name_panels(axes, [*curves], title)
    return canvas.Picture(axes, curve)


def _curves(
    curve: pd.DataFrame, order: estimate_rows.Order, ax: canvas.Panels
) -> tuple[list[Axes], dict[str, pd.DataFrame]]:
    """A panel and the points of each judge, that with the largest area under its ROC curve first."""
    estimate_rows.require(curve, *_COLUMNS)
    curve = curve.assign(_who=_whose(curve))
    area = {w: np.diff(c["fpr"]) @ c["tpr"].rolling(2).mean()[1:] for w, c in curve.groupby("_who", sort=False)}
    areas = pd.Series(area).rename_axis("_who").reset_index(name="area")
    curves = {w: curve[curve["_who"] == w] for w in estimate_rows.ordered(areas, order, column="_who", value="area")}
    axes = square_panels(ax, [*curves])
    for panel in axes:
        canvas.unit_square(panel)
        canvas.grid(panel)
    return axes, curves


def _whose(curve: pd.DataFrame) -> pd.Series[str]:
    """Judge and values of the grouping columns of each point."""
    columns = list(curve.columns)
    return estimate_rows.whose(curve[[c for c in columns[: columns.index("threshold")] if c not in ("other", "class")]])
