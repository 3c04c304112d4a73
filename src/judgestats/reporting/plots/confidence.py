"""Does a judge know when it is right: the reliability curve, and risk against coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.judge_panels import name_panels, square_panels


@canvas.picture("Axes to draw on, one a judge.", needs="curve")
def reliability(
    result: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw the share of right verdicts at each confidence, with its band.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`confidence_calibration`.

    Returns
    -------
    Picture
        A panel for each judge: the isotonic curve and its pointwise band. On the dashed line the judge is right as
        often as it says; below it, it is overconfident. The marks are as large as the share of verdicts.

    See Also
    --------
    judgestats.confidence_calibration : the curve. risk_coverage : what abstaining would gain.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": "reliability", "level": [0.6, 0.9], "estimate": [0.5, 0.8],
    ...                      "conf_low": [0.3, 0.7], "conf_high": [0.7, 0.9], "n": [20.0, 60.0]})
    >>> reliability(rows)[0].lines[1].get_ydata().tolist()
    [0.5, 0.8]
    """
    columns = ("judge", "level", "conf_low", "conf_high")
    estimates = estimate_rows.chosen(result, ["reliability"], *columns, source="confidence_calibration")
    estimates = estimates.assign(_who=estimate_rows.whose(estimates))
    estimate_rows.one_row_each(estimates, ["_who", "level"])
    judges = estimate_rows.ordered(estimates, order, column="_who")
    axes = square_panels(ax, judges)
    for panel, who in zip(axes, judges, strict=True):
        curve = estimates[estimates["_who"] == who].sort_values("level")
        color = canvas.style_of(0)["color"]
        canvas.unit_square(panel)
        canvas.in_form(panel, "score")
        canvas.grid(panel)
        panel.plot([0, 1], [0, 1], linestyle="--", color=canvas.MUTED, linewidth=0.9)
        panel.plot(curve["level"], curve["estimate"], color=color, linewidth=1.6, zorder=3)
        panel.fill_between(curve["level"], curve["conf_low"], curve["conf_high"], color=color, alpha=0.18, linewidth=0)
        panel.vlines(curve["level"], curve["conf_low"], curve["conf_high"], color=color, alpha=0.5, linewidth=1.2)
        share = curve["n"] / curve["n"].sum()
        panel.scatter(curve["level"], curve["estimate"], s=10 + 220 * share, color=color, zorder=4)
        canvas.named(panel, "confidence (0 to 1)", "share of right verdicts" if canvas.leftmost(panel, axes) else "")
    name_panels(axes, judges, title)
    return canvas.Picture(axes, estimates)


@canvas.picture("Axes to draw on, one a judge.", needs="curve")
def risk_coverage(
    result: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw the risk of the verdicts that are used against the share that is used, and the threshold that was chosen.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`abstention_threshold`.

    Returns
    -------
    Picture
        A panel for each judge: from the right, where all is answered, to the left with a rising threshold. The mark is
        the threshold, its value beside it; there is none where no threshold holds. The band is pointwise.

    See Also
    --------
    judgestats.abstention_threshold : the threshold. reliability : right verdicts at each confidence.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"judge": "g", "confidence": [0.6, 0.6, 0.9, 0.9], "outcome": ["correct", "wrong"] * 2,
    ...                        "n": [30, 20, 95, 5]})
    >>> axes = risk_coverage(js.abstention_threshold(counts, 0.2))
    >>> [float(round(x, 2)) for x in axes[0].lines[0].get_xdata()]
    [0.67, 1.0]
    """
    columns = ("judge", "level", "conf_low", "conf_high")
    estimates = estimate_rows.chosen(result, ["risk_curve", "coverage_curve"], *columns, source="abstention_threshold")
    label = {"_who": estimate_rows.whose(result)}
    estimates, points = estimates.assign(**label), result.assign(**label)
    estimate_rows.one_row_each(estimates, ["_who", "term", "level"])
    judges = estimate_rows.ordered(estimates, order, column="_who")
    axes = square_panels(ax, judges)
    top = float(np.nanmax(estimates.loc[estimates["term"] == "risk_curve", "conf_high"]))
    for panel, who in zip(axes, judges, strict=True):
        of_judge = estimates[estimates["_who"] == who].set_index(["term", "level"])
        risk, used = of_judge.loc["risk_curve"], of_judge.loc["coverage_curve", "estimate"]
        used = used.sort_values(kind="stable")
        x, color, risk = used.to_numpy(), canvas.style_of(0)["color"], risk.reindex(used.index)
        panel.set(xlim=(-0.03, 1.05), ylim=(0, min(1.0, 1.05 * top)))
        canvas.in_form(panel, "share", "x", "y")
        canvas.grid(panel)
        panel.plot(x, risk["estimate"], color=color, linewidth=1.6, zorder=3)
        panel.fill_between(x, risk["conf_low"], risk["conf_high"], color=color, alpha=0.18, linewidth=0)
        at = points[points["_who"] == who].set_index("term")["estimate"]
        if np.isfinite(at["threshold"]):
            panel.plot([at["coverage"]], [at["risk"]], marker="D", color=canvas.INK, linestyle="", zorder=5)
            near = (at["coverage"], at["risk"])
            text, size = f"confidence ≥ {at['threshold']:g}", canvas.SMALL
            panel.annotate(text, near, (0, 9), textcoords="offset points", ha="right", fontsize=size, color=canvas.INK)
        risk_label = "risk (share wrong of those)" if canvas.leftmost(panel, axes) else ""
        canvas.named(panel, "share of items answered", risk_label)
    name_panels(axes, judges, title)
    on_curve = points["term"].isin(["risk_curve", "coverage_curve", "threshold", "coverage", "risk"])
    return canvas.Picture(axes, points[on_curve])
