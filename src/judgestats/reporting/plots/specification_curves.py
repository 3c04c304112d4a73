"""Picture of a quantity under every reading of the data."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas, short_names

#: Judges that are drawn clearly, and how the others are, thinly.
MOST_CLEAR = 7
PALE: canvas.Style = {"color": "#b5bdc7", "marker": "o"}
#: Kinds of readings in the order in which they are drawn, and what stands above them.
KINDS = {"headline": "", "same question": "the same question", "another question": "another", "own": "own"}


@canvas.picture("Two axes to draw on.", needs="reading")
def specifications(readings: pd.DataFrame, *, ax: canvas.Panels = None, title: str | None = None) -> canvas.Picture:
    """Draw the estimates of judges under every reading of one question, and below them which reading it is.

    Parameters
    ----------
    readings : pandas.DataFrame
        A result of :func:`judgestats.specifications`.

    Returns
    -------
    Picture
        Above a line for each judge, the headline first, then readings of the same question by the estimate of the
        judge that is first in the headline, then other questions; a line ends where the question does. Filled points:
        no other judge is shown to be better. The interval is that of the first judge of the headline. Of more than 7
        judges those after the first 7 of the headline are pale. Below a row for each reading.

    See Also
    --------
    judgestats.specifications : the readings. forest : estimates of one measure.

    Examples
    --------
    >>> rows = pd.DataFrame({"reading": ["headline", "every item alike"] * 2, "judge": ["a", "a", "b", "b"],
    ...                      "kind": ["headline", "same question"] * 2, "estimate": [0.8, 0.7, 0.6, 0.75],
    ...                      "conf_low": 0.5, "conf_high": 0.9, "rank": [1, 2, 2, 1], "best_set": True})
    >>> [t.get_text() for t in specifications(rows)[1].get_yticklabels()]
    ['headline', 'every item alike']
    """
    columns = ("reading", "kind", "judge", "conf_low", "conf_high", "rank", "best_set")
    estimate_rows.require(readings, "estimate", *columns)
    place = readings.columns.get_indexer(["judge", "estimate"])
    conditions = list(readings.columns[place[0] + 1 : place[1]]) if "choice" in readings else []
    readings = readings.assign(judge=estimate_rows.whose(readings, conditions))
    estimate_rows.one_row_each(readings, ["reading", "judge"])
    headline = readings[readings["kind"] == "headline"].sort_values(["rank", "judge"], kind="stable")
    judges = estimate_rows.distinct([*headline["judge"].astype(str), *readings["judge"].astype(str)])
    order = _in_order(readings, judges[0])
    names = order["reading"].astype(str).tolist()
    at = {name: float(x) for name, x in zip(names, order["_x"], strict=True)}
    table = readings.assign(_x=readings["reading"].astype(str).map(at), judge=readings["judge"].astype(str))
    labels = short_names.shortened(judges)
    looks: list[canvas.Style] = [canvas.style_of(i) if i < MOST_CLEAR else PALE for i in range(len(judges))]
    above, below = _panels(ax, names, labels)
    for i in reversed(range(len(judges))):
        own, clear = table[table["judge"] == judges[i]].sort_values("_x"), i < MOST_CLEAR
        color, marker = looks[i]["color"], looks[i]["marker"]
        for _, part in own.groupby(own["kind"].replace("headline", "same question"), sort=False):
            width = 1.6 if i == 0 else 0.9 if clear else 0.6
            above.plot(part["_x"], part["estimate"], color=color, linewidth=width, zorder=3 if clear else 2)
        for inside, part in own.groupby("best_set"):
            look = canvas.face(color, filled=bool(inside)) | {"markersize": 5.0 if clear else 3.0}
            above.plot(part["_x"], part["estimate"], linestyle="none", marker=marker, zorder=4, **look)
        if i == 0:
            above.vlines(own["_x"], own["conf_low"], own["conf_high"], color=color, linewidth=1.2, alpha=0.6, zorder=2)
    canvas.legend(above, [canvas.key(n, **look) for n, look in zip(labels, looks, strict=True)], "judge")
    canvas.named(above, "", "estimate")
    for row, name in enumerate(names):
        below.axhline(row, color=canvas.MUTED, linewidth=0.4, alpha=0.5, zorder=1)
        below.plot(at[name], row, "o", color=canvas.INK, markersize=4, zorder=3)
    below.set(ylim=(len(names) - 0.5, -0.5), yticks=range(len(names)))
    below.set_yticklabels([short_names.literal(name) for name in names], fontsize=canvas.SMALL)
    for kind, part in order.groupby("kind", sort=False):
        if said := KINDS.get(str(kind), str(kind)):
            middle, whole = float(part["_x"].mean()), above.get_xaxis_transform()
            canvas.small(above, middle, 1.02, said, transform=whole, ha="center")
    canvas.named(below, "filled: no other judge is shown to be better")
    canvas.headed([above, below], title)
    return canvas.Picture([above, below], table.sort_values(["_x", "rank"], kind="stable"))


def _in_order(readings: pd.DataFrame, first: str) -> pd.DataFrame:
    """Readings by kind, then by the estimate of a judge, and their places, with a gap before each other kind."""
    own = readings[readings["judge"].astype(str) == first].drop_duplicates("reading")
    kind = own["kind"].map({k: i for i, k in enumerate(KINDS)}).fillna(len(KINDS))
    order = own.assign(_kind=kind).sort_values(["_kind", "estimate"], kind="stable")
    gaps = (order["_kind"].clip(lower=1).diff().fillna(0) > 0).cumsum()
    return order.assign(_x=[*range(len(order))] + 0.6 * gaps)


def _panels(ax: canvas.Panels, names: list[str], judges: list[str]) -> list[Axes]:
    """Two axes above each other, with one scale of readings."""
    if ax is None:
        height = max(3.0, 0.9 + 0.1 * len(judges)) + 0.24 * len(names)
        width = 5.2 + canvas.legend_width(judges, 0.7 * height)
        figure = Figure(figsize=(width, height), layout="constrained")
        low = 0.24 * len(names)
        axes = figure.subplots(2, 1, sharex=True, height_ratios=[height - low, low])
        above, below = (canvas.new_axes(one, 0, 0) for one in axes)
    else:
        above, below = canvas.panels(ax, ["estimates", "readings"], [], wide=[3.4] * 2, each=0.0, sharey=False)
    canvas.grid(above, "y")
    for panel in (above, below):
        panel.tick_params(axis="x", bottom=False, labelbottom=False)
    return [above, below]
