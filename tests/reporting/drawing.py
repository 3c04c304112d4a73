"""What tests of several pictures share: drawing, and reading a picture."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from judgestats.reporting.plots.canvas import PALETTE
from judgestats.schema import ratings


def drawn(axes):
    """The picture can be drawn in full."""
    (axes[0] if isinstance(axes, list) else axes).figure.savefig("/dev/null", format="png", dpi=40)
    return axes


def legend(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def names(ax):
    return [t.get_text() for t in ax.get_yticklabels()]


def scored(judges="gh", systems="gyz", n_items=8, criteria=("all",)):
    rng = np.random.default_rng(4)
    rows = [
        {"judge": j, "system": s, "item": f"item {i}", "criterion": c, "score": 7 + rng.normal()}
        for j, s, i, c in itertools.product(judges, systems, range(n_items), criteria)
    ]
    return ratings(pd.DataFrame(rows))


def texts(ax):
    return [t.get_text() for t in ax.texts]


def whiskers(ax, color=PALETTE[0]):
    """Ends of the horizontal intervals of this colour."""
    lines = [m for m in ax.lines if m.get_marker() == "None" and m.get_color() == color and len(m.get_xdata()) == 2]
    return [tuple(map(float, m.get_xdata())) for m in lines if m.get_ydata()[0] == m.get_ydata()[1]]


def marks(ax, shape="o", color=None):
    """(x, y, filled) of the single markers of this shape."""
    lines = [m for m in ax.lines if m.get_marker() == shape and len(m.get_xdata()) == 1]
    lines = [m for m in lines if color is None or m.get_color() == color]
    return [(float(m.get_xdata()[0]), float(m.get_ydata()[0]), m.get_markerfacecolor() != "white") for m in lines]


def lost(result, *where):
    """The result without numbers in these rows."""
    result = result.copy()
    result.loc[list(where), ["estimate", "conf_low", "conf_high"]] = np.nan
    return result


def texts_and_labels(ax):
    return [t.get_text() for t in [*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels()]]
