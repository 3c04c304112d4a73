"""Labels of points in a plane, placed where they meet neither points nor one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from judgestats.reporting.plots.canvas import INK, MUTED, TEXT

#: Steps from a point to its label, in inches, and which end of the label is there; the nearer places come first.
_PLACES = [
    (dx * far, dy * far, ha)
    for far in (1.0, 2.2, 3.6, 5.0)
    for dx, dy, ha in (
        (0.10, 0.0, "left"),
        (-0.10, 0.0, "right"),
        (0.07, 0.11, "left"),
        (-0.07, 0.11, "right"),
        (0.07, -0.11, "left"),
        (-0.07, -0.11, "right"),
        (0.0, 0.15, "center"),
        (0.0, -0.15, "center"),
    )
]
Box = tuple[float, float, float, float]


def label_around(
    ax: Any,
    x: Sequence[float],
    y: Sequence[float],
    labels: Sequence[str],
    *,
    size: float = TEXT - 0.5,
    every: bool = True,
    avoid: Sequence[Box] = (),
) -> list[str]:
    """Write each label near its point; the range and the scale of the axes must be set.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes.
    x, y : sequence of float
        The points.
    labels : sequence of str
        Their labels.
    size : float
        Of the text, in points.
    every : bool
        Write a label that has no free place where it overlaps least; False leaves it out.
    avoid : sequence of (x0, y0, x1, y1)
        What else stands in the way, in data units.

    Returns
    -------
    list of str
        The labels left out.
    """
    inches = ax.figure.get_size_inches() * ax.get_position().size
    at = _fractions(ax, np.column_stack([x, y])) * inches
    taken: list[Box] = [(px - 0.06, py - 0.06, px + 0.06, py + 0.06) for px, py in at]
    taken += [_box(_fractions(ax, np.reshape(b, (2, 2))) * inches) for b in avoid]
    left = []
    for i in np.argsort(-at[:, 1], kind="stable"):
        wide, high = 0.0079 * size * len(labels[i]), 1.3 * size / 72
        options = []
        for dx, dy, ha in _PLACES:
            box = _text_box(at[i][0] + dx, at[i][1] + dy, wide, high, ha)
            options.append((_overlap(box, taken) + 2 * _outside(box, inches), dx, dy, ha, box))
        worst, dx, dy, ha, box = min(options, key=lambda o: o[0] > 1e-9)
        if worst > 1e-9:
            if not every:
                left.append(labels[i])
                continue
            _, dx, dy, ha, box = min(options, key=lambda o: o[0])
        taken.append(box)
        far = float(np.hypot(dx, dy)) > 0.2
        ax.annotate(
            labels[i],
            (x[i], y[i]),
            tuple((at[i] + [dx, dy]) / inches),
            textcoords="axes fraction",
            fontsize=size,
            color=INK,
            ha=ha,
            va="center",
            zorder=6,
            arrowprops={"arrowstyle": "-", "color": MUTED, "lw": 0.6, "shrinkA": 0, "shrinkB": 3} if far else None,
        )
    return left


def _fractions(ax: Any, points: Any) -> Any:
    return ax.transLimits.transform(ax.transScale.transform(points))


def _box(corners: Any) -> Box:
    (x0, y0), (x1, y1) = corners.min(axis=0) - 0.02, corners.max(axis=0) + 0.02
    return float(x0), float(y0), float(x1), float(y1)


def _text_box(x: float, y: float, wide: float, high: float, ha: str) -> Box:
    start = {"left": x, "right": x - wide, "center": x - wide / 2}[ha]
    return start, y - high / 2, start + wide, y + high / 2


def _overlap(box: Box, others: Sequence[Box]) -> float:
    return sum(
        max(0.0, min(box[2], o[2]) - max(box[0], o[0])) * max(0.0, min(box[3], o[3]) - max(box[1], o[1]))
        for o in others
    )


def _outside(box: Box, inches: Any) -> float:
    wide, high = (float(v) for v in inches)
    return max(0.0, -box[0]) + max(0.0, -box[1]) + max(0.0, box[2] - wide) + max(0.0, box[3] - high)
