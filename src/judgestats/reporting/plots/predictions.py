"""Observed values beside the predictions of a Bayesian model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from judgestats.errors import DesignError
from judgestats.reporting.plots import canvas

#: Columns of a predictive frame that are not labels.
_NO_LABEL = ("kind", "observed", "estimate", "conf_low", "conf_high", "inside", "n", "scale", "method", "flag")
_COLUMNS = ("kind", "outcome", "observed", "estimate", "conf_low", "conf_high", "inside", "n", "scale")
#: With more rows than this, names are left out.
MOST_NAMED = 40
_HEADS = {"prior": "prior predictive", "posterior": "posterior predictive"}
#: Panels whose ranges differ by more have separate axes.
_MUCH_WIDER = 8.0
_OUTSIDE = canvas.PALETTE[1]


def predictive(predictions: Any, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw each observed count or mean over the interval that the model predicts for it.

    Parameters
    ----------
    predictions : pandas.DataFrame, Fit or Posterior
        What ``predictive()`` of a fit by ``engine="pymc"`` or of a hierarchical model gives, or the model itself, whose
        prior and posterior are then drawn side by side.
    ax : matplotlib.axes.Axes or sequence of Axes, optional
        Axes to draw on, one a panel.
    title : str, optional
        Put above the panels.

    Returns
    -------
    matplotlib.axes.Axes or list of Axes
        A panel for the prior and for the posterior, where both are there. A row for each value, the highest predicted
        one on top; counts are drawn per call, so that cells of different size are comparable. Bars are 95 % predictive
        intervals, ticks in them predictive means; dots are observed values, red squares those outside. More than 40
        rows lose their names, except those outside.

    Raises
    ------
    DesignError
        If it is not a table of predictions, has no observed value, or two rows have the same labels.

    Examples
    --------
    >>> rows = pd.DataFrame({"kind": "posterior", "judge": ["a", "b"], "outcome": "tie", "observed": [2.0, 9.0],
    ...                      "estimate": [3.0, 4.0], "conf_low": [0.0, 1.0], "conf_high": [6.0, 8.0],
    ...                      "inside": [True, False], "n": 20.0, "scale": "count"})
    >>> [t.get_text() for t in predictive(rows).get_yticklabels()]
    ['b', 'a']
    """
    table = _table(predictions)
    calls = np.where(table["scale"] == "count", table["n"].to_numpy(float), 1.0)
    ends = ("observed", "estimate", "conf_low", "conf_high")
    table = table.assign(**{c: table[c].to_numpy(float) / calls for c in ends})
    labels = _order(table)
    kinds = [k for k in _HEADS if (table["kind"] == k).any()]
    named = len(labels) <= MOST_NAMED
    outside = set(table.loc[~table["inside"].astype(bool) & (table["kind"] == kinds[-1]), "_row"])
    shown = labels if named else [name if name in outside else "" for name in labels]
    sized = sorted(shown, key=len, reverse=True)[:MOST_NAMED]  # width of the labels: of at most this many rows
    found = canvas.panels(ax, kinds, [*sized, "—"], wide=[3.9] * len(kinds), each=0.3 if named else 0.24)
    for i, (panel, kind) in enumerate(zip(found, kinds, strict=True)):
        here = table[table["kind"] == kind].set_index("_row")
        canvas.limits(panel, _together(table, here)[["observed", "conf_low", "conf_high"]], bounds=(-np.inf, np.inf))
        _rows(panel, here, labels, shown, first=i == 0, thin=not named)
        panel.set_xlabel(_scale(table), fontsize=canvas.TEXT, color=canvas.INK)
        inside = int(here["inside"].astype(bool).sum())
        canvas.below(panel, f"{inside} of {len(here)} observed values inside", -36.0)
        if len(kinds) > 1:
            panel.set_title(_HEADS[kind], fontsize=canvas.TEXT, color=canvas.INK, loc="left", pad=22)
    bar = Line2D([], [], color=canvas.PALETTE[0], linewidth=5.0, alpha=0.75, label="95 % predictive interval")
    more = [canvas.key("outside", _OUTSIDE, marker="s")] if bool((~table["inside"].astype(bool)).any()) else []
    canvas.legend_above(found[0], [bar, canvas.key("observed", canvas.INK), *more], 3)
    canvas.headed(found, title)
    return found[0] if len(found) == 1 else found


def _table(predictions: Any) -> pd.DataFrame:
    """The frame of a model, or the frame that was given."""
    method = getattr(predictions, "predictive", None)
    table = method("both") if callable(method) else predictions
    canvas.require(table, *_COLUMNS)
    if unknown := sorted(set(map(str, table["kind"])) - set(_HEADS)):
        raise DesignError(f"kind has {unknown[0]!r}. Allowed: posterior, prior. Give a result of predictive().")
    table = table[np.isfinite(table["observed"].to_numpy(float))]
    if table.empty:
        raise DesignError("There is no observed value to draw. Give a result of predictive() with at least one.")
    columns = [c for c in table.columns if c not in _NO_LABEL]
    varying = [c for c in columns if table[c].astype(object).nunique(dropna=False) > 1]
    table = table.assign(_row=canvas.joined(table, varying))
    canvas.one_row_each(table, ["kind", "_row"])
    return table


def _order(table: pd.DataFrame) -> list[str]:
    """Rows, the highest predicted value first; by the posterior where there is one."""
    last = table[table["kind"] == ("posterior" if (table["kind"] == "posterior").any() else "prior")]
    rest = [r for r in canvas.distinct(table["_row"]) if r not in set(last["_row"])]
    return [*last.sort_values("estimate", ascending=False, kind="stable")["_row"], *rest]


def _together(table: pd.DataFrame, here: pd.DataFrame) -> pd.DataFrame:
    """What sets the range of a panel: all panels, unless one is much wider."""
    reach = table.assign(
        _low=table[["observed", "conf_low"]].min(axis=1), _high=table[["observed", "conf_high"]].max(axis=1)
    )
    each = reach.groupby("kind").agg(low=("_low", "min"), high=("_high", "max"))
    wide = each["high"] - each["low"]
    return table if wide.max() <= _MUCH_WIDER * wide.min() else here


def _scale(table: pd.DataFrame) -> str:
    what = canvas.distinct(table["outcome"])
    if (table["scale"] == "count").any():
        return f"{canvas.literal(what[0])}, per call" if len(what) == 1 else "count per call"
    return canvas.literal(what[0]) if len(what) == 1 else "score"


def _rows(ax: Any, here: pd.DataFrame, labels: list[str], shown: list[str], *, first: bool, thin: bool) -> None:
    if thin:
        canvas.grid(ax, "x")
        ax.set(ylim=(len(labels) - 0.5, -0.5), yticks=[i for i, name in enumerate(shown) if name])
        ax.set_yticklabels([canvas.literal(name) for name in shown if name], fontsize=canvas.SMALL - 1)
        ax.tick_params(axis="y", length=2, labelleft=first)
    else:
        canvas.lanes(ax, labels, first=first)
    for i, name in enumerate(labels):
        if name not in here.index:
            continue
        row = here.loc[name]
        ends, wide = [row["conf_low"], row["conf_high"]], 1.5 if thin else 5.0
        ax.plot(ends, [i, i], color=canvas.PALETTE[0], linewidth=wide, alpha=0.75, zorder=2.5, solid_capstyle="butt")
        if not thin:
            ax.plot(row["estimate"], i, marker="|", color="white", markersize=4.5, zorder=3)
        seen = bool(row["inside"])
        look = canvas.face(canvas.INK if seen else _OUTSIDE, filled=True)
        look |= {"markersize": 3.5, "markeredgewidth": 0.3} if thin else {}
        ax.plot(row["observed"], i, marker="o" if seen else "s", linestyle="none", zorder=4, **look)
