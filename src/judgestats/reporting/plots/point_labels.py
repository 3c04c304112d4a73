"""Labels of points in a plane, placed so that they overlap neither points nor each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from judgestats.reporting.plots.canvas import DIRECT, INK, MUTED, SMALL, TEXT, below, figure_of, legend
from judgestats.reporting.plots.short_names import numbered, shortened
from judgestats.typing import Floats

Box = tuple[float, float, float, float]
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


def label_around(
    ax: Axes,
    x: Sequence[float],
    y: Sequence[float],
    labels: Sequence[str],
    *,
    size: float = TEXT - 0.5,
    every: bool = True,
    avoid: Sequence[Box] = (),
) -> list[str]:
    """Write each label near its point; the range and the scale of the axes must be set.

    `ax`: axes. `x`, `y`: the points. `labels`: their labels. `size`: of the text, in points. `every`: write a label
    that has no free place where it overlaps least; False leaves it out. `avoid` (x0, y0, x1, y1): further boxes to keep
    free, in data units. Returns the labels left out.
    """
    figure_of(ax).draw_without_rendering()  # the layout decides how large the axes are
    inches = figure_of(ax).get_size_inches() * ax.get_position().size
    at = _fractions(ax, np.column_stack([x, y])) * inches
    taken: list[Box] = [(px - 0.06, py - 0.06, px + 0.06, py + 0.06) for px, py in at]
    taken += [_box(_fractions(ax, np.reshape(b, (2, 2))) * inches) for b in avoid]
    left = []
    for i in np.argsort(-at[:, 1], kind="stable"):
        wide, high = 0.0079 * size * len(labels[i]), 1.3 * size / 72
        options = []
        for dx, dy, ha in _PLACES:
            box = _text_box(at[i][0] + dx, at[i][1] + dy, wide, high, ha)
            line = _line(at[i], dx, dy)
            cost = _overlap(box, taken) + 2 * _outside(box, inches) + sum(_overlap(b, taken) for b in line)
            options.append((cost, dx, dy, ha, [box, *line]))
        worst, dx, dy, ha, boxes = min(options, key=lambda o: o[0] > 1e-9)
        if worst > 1e-9:
            if not every:
                left.append(labels[i])
                continue
            _, dx, dy, ha, boxes = min(options, key=lambda o: o[0])
        taken += boxes
        arrow = {"arrowstyle": "-", "color": MUTED, "lw": 0.6, "shrinkA": 0, "shrinkB": 3}
        pointer, (right, up) = arrow if np.hypot(dx, dy) > _FAR else None, (at[i] + [dx, dy]) / inches
        label = ax.annotate(labels[i], (x[i], y[i]), (right, up), textcoords="axes fraction", arrowprops=pointer)
        label.set(fontsize=size, color=INK, ha=ha, va="center", zorder=6)
    return left


#: A label farther from its point than this, in inches, has a line to it.
_FAR = 0.2


def _line(at: Floats, dx: float, dy: float) -> list[Box]:
    """Small boxes along the line from a point, where it is clear of the point itself, to its label."""
    if np.hypot(dx, dy) <= _FAR:
        return []
    return [
        (px - 0.01, py - 0.01, px + 0.01, py + 0.01) for px, py in (at + np.outer([0.35, 0.5, 0.65, 0.8], [dx, dy]))
    ]


def _fractions(ax: Axes, points: Floats) -> Floats:
    return ax.transLimits.transform(ax.transScale.transform(points))


def _box(corners: Floats) -> Box:
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


def _outside(box: Box, inches: Floats) -> float:
    wide, high = (float(v) for v in inches)
    return max(0.0, -box[0]) + max(0.0, -box[1]) + max(0.0, box[2] - wide) + max(0.0, box[3] - high)


def name_points(
    ax: Axes,
    x: Sequence[float],
    y: Sequence[float],
    names: Sequence[object],
    *,
    avoid: Sequence[Box] = (),
    more: Sequence[Artist] = (),
) -> None:
    """Name points in a plane: beside them where they are few, else by numbers with a key on the right.

    `ax`: axes with their final range. `x`, `y`: the points. `names`: from the data. `avoid`: boxes to keep free.
    `more`: further entries of the legend, above the key.
    """
    labels = shortened(names)
    if len(labels) <= DIRECT:
        if more:
            legend(ax, list(more))
        label_around(ax, x, y, labels, avoid=avoid)
    else:
        order = np.argsort(np.asarray(x, dtype=float), kind="stable")  # the numbers run from left to right
        keys = [Line2D([], [], linestyle="none", label=text) for text in numbered([labels[i] for i in order])]
        legend(
            ax, [*more, *keys], handlelength=1.2 if more else 0.0, handletextpad=0.4 if more else 0.0, labelspacing=0.35
        )
        label_around(ax, x, y, [str(i + 1) for i in np.argsort(order)], size=SMALL, avoid=avoid)
    below(ax, labels.key)
