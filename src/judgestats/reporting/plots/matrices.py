"""Heat maps of scores and deviations by judge and system, with each judge's own system framed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize, TwoSlopeNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from judgestats.errors import DesignError
from judgestats.metrics import consensus
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import Form, number, printed, signed
from judgestats.reporting.plots import canvas, short_names

#: Below (blue), at (near white) and above (red); the ends as in ColorBrewer's RdBu, safe for colour-blind readers.
DIVERGING = LinearSegmentedColormap.from_list(
    "below_above", ["#1f5fa8", "#6ba3d6", "#c6dcee", "#f7f7f7", "#f8cdb7", "#e07f64", "#b0203a"]
)
SEQUENTIAL = LinearSegmentedColormap.from_list("low_high", ["#f3f6fa", "#b9d3e8", "#6ba3cf", "#2a6ca8", "#113a66"])
#: More cells than this are colours without numbers.
MOST_NUMBERS = 450


@canvas.picture()
def score_matrix(
    scores: pd.DataFrame,
    *,
    shade: str = "rank",
    identity: Mapping[str, str] | None = None,
    order: estimate_rows.Order = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw the scores of each system by each judge.

    Parameters
    ----------
    scores : pandas.DataFrame
        A result of :func:`score_matrix`, ratings (which are then summed up by it), or a wide matrix with the judges in
        the index and the systems in the columns.
    shade : {'rank', 'score'}
        Colour by the judge's ranking of the systems, as the merchant_risk paper does, or by the score.
    identity : mapping of str to str, optional
        System -> judge, where a judge's own system has another name.
    order : {'value', 'given'}
        Judges and systems with the highest means first, a judge's own system on the diagonal where there is one; or as
        they come.

    Returns
    -------
    Picture
        ``data`` is the matrix of scores as drawn.

    Raises
    ------
    DesignError
        If `scores` is none of these, or a judge has two scores of one system.

    See Also
    --------
    judgestats.score_matrix : the scores. deviation_matrix : each judge against the consensus.

    Examples
    --------
    >>> wide = pd.DataFrame({"x": [8.0, 7.0], "y": [6.0, 9.0]}, index=["x", "y"])
    >>> axes = score_matrix(wide)
    >>> [t.get_text() for t in axes.texts[:4]]
    ['9.00', '7.00', '6.00', '8.00']
    """
    if shade not in ("rank", "score"):
        raise DesignError(f"shade={shade!r} is not known. Allowed: 'rank', 'score'.")
    values, spread, judges = _score_tables(scores)
    values = _ordered(values, order)
    spread = None if spread is None else spread.reindex_like(values)
    colored = values.rank(axis=1) if shade == "rank" else values
    ranks = (1.0, float(values.shape[1]))
    low, high = ranks if shade == "rank" else (np.nanmin(values.to_numpy()), np.nanmax(values.to_numpy()))
    if not high > low:
        low, high = low - 1.0, high + 1.0
    own = own_cells(values, judges, identity)
    bar = f"rank by the judge (1 = lowest, {values.shape[1]} = highest)" if shade == "rank" else "mean score"
    ax = heat(values, colored, Shading(SEQUENTIAL, Normalize(low, high), bar, spread=spread), own, ax, title)
    if shade == "rank":
        canvas.figure_of(ax).axes[-1].yaxis.set_major_locator(MaxNLocator(integer=True))
    sd = ["numbers: mean score, ± sd over runs" if spread is not None else "numbers: mean score"]
    _legend_below(ax, sd if values.size <= MOST_NUMBERS and shade == "rank" else [], own)
    cells = values.rename_axis(index="judge", columns="system").stack()
    return canvas.Picture(ax, cells.rename("estimate").reset_index())


@canvas.picture()
def deviation_matrix(
    deviations: pd.DataFrame,
    *,
    limit: float | None = None,
    order: estimate_rows.Order = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw the deviation of each judge from the consensus on each system: blue below, red above.

    Parameters
    ----------
    deviations : pandas.DataFrame
        A result of :func:`consensus_deviation`: the rows with the term ``deviation`` are drawn.
    limit : float, optional
        Deviation of the darkest colour, to draw two matrices alike; the largest by default.
    order : {'value', 'given'}
        As in :func:`score_matrix`: the most lenient judge first.

    Returns
    -------
    Picture
        A judge's own system is framed.

    Raises
    ------
    DesignError
        If there is no deviation, or two of one judge and system: pass one condition or criterion at a time.

    See Also
    --------
    judgestats.consensus_deviation : the deviations. score_matrix : the scores.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "b"], "system": "x", "term": "deviation", "estimate": [-0.4, 0.4]})
    >>> [t.get_text() for t in deviation_matrix(rows).get_yticklabels()]
    ['b', 'a']
    """
    estimate_rows.require(deviations, "judge", "system", "term", "estimate")
    estimates = deviations[deviations["term"] == "deviation"]
    if not estimates["estimate"].notna().any():
        raise DesignError("There is no deviation to draw. Give a result of consensus_deviation().")
    values = _ordered(_wide(estimates, "estimate"), order)
    reach = limit or float(np.nanmax(np.abs(values.to_numpy()))) or 1.0
    own = own_cells(values, {}, None)
    if "own" in estimates.columns:
        own = _wide(estimates, "own").reindex_like(values).fillna(0).astype(bool)
    one = [c.strip() for c in map(str, values.columns)] == [""]  # data without a column of systems
    values, own = (t.set_axis(["all items"], axis=1) if one else t for t in (values, own))
    bar = "deviation (points of the scale)"
    shading = Shading(DIVERGING, TwoSlopeNorm(0, -reach, reach), bar, signed=True)
    ax = heat(values, values, shading, own, ax, title)
    _legend_below(ax, [], own)
    if one:
        ax.set_xlabel("")
    return canvas.Picture(ax, estimates)


def _score_tables(scores: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame | None, dict[str, str]]:
    """Wide scores, wide sds where they are known, and the judge of each row."""
    if "judge" not in getattr(scores, "columns", ()):
        wide = isinstance(scores, pd.DataFrame) and not scores.empty
        if not wide or not all(pd.api.types.is_numeric_dtype(t) for t in scores.dtypes):
            raise DesignError("score_matrix draws a result of score_matrix(), ratings, or a wide matrix of numbers.")
        return scores.astype(float), None, {}
    if "estimate" not in scores.columns:
        scores = consensus.score_matrix(scores)
    estimate_rows.require(scores, "judge", "system", "estimate")
    estimates = scores[scores["term"] == "score"] if "term" in scores.columns else scores
    spread = _wide(estimates, "sd") if "sd" in estimates.columns and estimates["sd"].notna().any() else None
    judges = dict(zip(estimate_rows.whose(estimates), estimates["judge"].astype(str), strict=True))
    return _wide(estimates, "estimate"), spread, judges


def _wide(table: pd.DataFrame, value: str) -> pd.DataFrame:
    groups = [c for c in table.columns if c != "own"]
    table = table.assign(who=estimate_rows.whose(table[groups]), system=table["system"].astype(str))
    twice = table.duplicated(["who", "system"])
    if twice.any():
        judge, system = table.loc[twice, ["who", "system"]].iloc[0]
        raise DesignError(
            f"{int(twice.sum())} cells of the matrix have more than one row (first: {judge} on {system}). Draw one "
            "condition or criterion at a time."
        )
    wide = table.pivot_table(index="who", columns="system", values=value, sort=False, dropna=False, aggfunc="first")
    result: pd.DataFrame = wide.astype(float)
    return result


def _ordered(values: pd.DataFrame, order: str) -> pd.DataFrame:
    """Rows and columns by their means; judges that are systems are on the diagonal."""
    if order == "value":
        values = values.loc[values.mean(axis=1).sort_values(ascending=False, kind="stable").index]
        values = values[values.mean().sort_values(ascending=False, kind="stable").index]
    own = [j for j in values.index if j in values.columns]
    result: pd.DataFrame = values[[*own, *(c for c in values.columns if c not in own)]]
    return result


def own_cells(values: pd.DataFrame, judges: Mapping[str, str], identity: Mapping[str, str] | None) -> pd.DataFrame:
    """Whether each system is the judge's own: of the same name, or of the name that `identity` gives."""
    judge_of = dict(identity or {})
    own = [[judge_of.get(s, s) == judges.get(j, j) for s in map(str, values.columns)] for j in map(str, values.index)]
    return pd.DataFrame(np.array(own, dtype=bool).reshape(values.shape), index=values.index, columns=values.columns)


class Shading(NamedTuple):
    """Colours of a heat map, what they mean (written along the bar), and the numbers in its cells."""

    colors: Colormap
    norm: Normalize
    bar: str
    form: Form = "score"
    signed: bool = False
    spread: pd.DataFrame | None = None  # beside each number
    numbers: bool = True  # write them where cells are few
    ends: tuple[pd.DataFrame, pd.DataFrame] | None = None  # of intervals, a bar below each number


def heat(
    values: pd.DataFrame, colored: pd.DataFrame, shading: Shading, own: pd.DataFrame, ax: Axes | None, title: str | None
) -> Axes:
    """Draw a heat map: numbers in cells, coloured by `colored`; framed where `own`."""
    rows, columns = values.shape
    with_numbers = shading.numbers and rows * columns <= MOST_NUMBERS
    across, down = short_names.shortened(values.columns, 24), short_names.shortened(values.index, 30)
    crowded = max(map(len, across)) > (9 if with_numbers else 3)
    cell = (0.78, 0.42 if rows <= 15 else 0.3) if with_numbers else (0.27, 0.24)  # inches
    over = 0.85 * short_names.label_width(across) if crowded else 0.0  # slanted labels run beyond the last column
    cells = cell[0] * len(across)
    width = 1.7 + short_names.label_width(down) + cells + max(over - 0.9, 2.6 - cells, 0)
    ax = canvas.new_axes(ax, width, max(2.6, 0.9 + 0.62 * over + cell[1] * len(down)))
    masked = np.ma.masked_invalid(colored.to_numpy(float))
    mesh = ax.pcolormesh(
        np.arange(columns + 1),
        np.arange(rows + 1),
        masked,
        cmap=shading.colors,
        norm=shading.norm,
        edgecolors="white",
        linewidth=1.0,
    )
    ax.set_facecolor("#fbfbfc")
    if with_numbers:
        for i in range(rows):
            for j in range(columns):
                _cell(ax, i, j, values.iat[i, j], colored.iat[i, j], shading)
        _intervals(ax, values, shading)
    for i, j in zip(*np.nonzero(own.to_numpy()), strict=True):
        ax.add_patch(
            Rectangle((j + 0.03, i + 0.03), 0.94, 0.94, fill=False, edgecolor=canvas.INK, linewidth=1.8, zorder=5)
        )
    ax.tick_params(length=0)  # before there are ticks, each of which would be changed
    ax.xaxis.tick_top()
    slant: dict[str, Any] = {"rotation": 35, "ha": "left", "rotation_mode": "anchor"} if crowded else {}
    ax.set_xticks(np.arange(columns) + 0.5, across, **slant)
    ax.set_yticks(np.arange(rows) + 0.5, down)
    ax.set(xlim=(0, columns), ylim=(rows, 0))
    for side in ax.spines.values():
        side.set_visible(False)
    scale: Any = ax.figure.colorbar(
        mesh, ax=ax, fraction=0.05, pad=0.02, aspect=18, shrink=min(1.0, 8 / max(rows, 1)), anchor=(0, 1)
    )
    scale.solids.set_rasterized(False)  # else a page has it as a bitmap
    scale.solids.set_edgecolor("face")  # else there are light stripes between its colours
    scale.outline.set_visible(False)
    if shading.form != "score":
        canvas.in_form(scale.ax, shading.form, "y")
    scale.ax.tick_params(labelsize=canvas.SMALL, colors=canvas.INK, length=2)
    bar = textwrap.wrap(shading.bar, 30)
    scale.set_label("\n".join(bar), fontsize=canvas.SMALL + 0.5, color=canvas.INK, labelpad=10 * len(bar) - 6)
    canvas.named(ax, "", "", title)
    canvas.below(ax, *estimate_rows.distinct([across.key, down.key]))
    return ax


def _cell(ax: Axes, i: int, j: int, value: float, shade: float, shading: Shading) -> None:
    if np.isnan(value):
        canvas.small(ax, j + 0.5, i + 0.5, "n/a", ha="center")
        return
    ink = _ink(shading, shade)
    sd = np.nan if shading.spread is None else shading.spread.iat[i, j]
    middle = i + (0.5 if np.isnan(sd) and shading.ends is None else 0.38)
    text = signed(value) if shading.signed and shading.form == "score" else printed(value, shading.form)
    ax.text(j + 0.5, middle, text, ha="center", va="center", fontsize=canvas.TEXT - 0.5, color=ink)
    if not np.isnan(sd):
        look = {"ha": "center", "fontsize": canvas.SMALL - 1, "color": ink, "alpha": 0.85}
        canvas.small(ax, j + 0.5, i + 0.74, f"± {number(sd, 2)}", **look)


def _intervals(ax: Axes, values: pd.DataFrame, shading: Shading) -> None:
    """A bar in the lower part of each cell, on one scale, with a tick at 0 where estimates have a sign."""
    if shading.ends is None:
        return
    low, high = (ends.to_numpy(float) for ends in shading.ends)
    start, end = np.nanmin([values, low]), np.nanmax([values, high])
    start, end = (min(start, 0.0), max(end, 0.0)) if shading.signed else (start, end)
    across = np.arange(values.shape[1]) + 0.08
    scaled = [across + 0.84 * (v - start) / ((end - start) or 1.0) for v in (values.to_numpy(float), low, high)]
    zero = across - 0.84 * start / ((end - start) or 1.0)
    for i, j in np.argwhere(values.notna().to_numpy()):
        ink = _ink(shading, values.iat[i, j])
        at, left, right = (v[i, j] for v in scaled)
        ax.plot([left, right], [i + 0.8] * 2, color=ink, linewidth=1.2, zorder=3)
        ax.plot(at, i + 0.8, marker="o", markersize=2.6, color=ink, zorder=3)
        if shading.signed:
            ax.plot([zero[j]] * 2, [i + 0.7, i + 0.9], color=ink, linewidth=0.7, zorder=3)
    canvas.below(
        ax, "bars: intervals, in each cell from {} to {}".format(*(printed(v, shading.form) for v in (start, end)))
    )


def _ink(shading: Shading, shade: float) -> str:
    """What can be read on the colour of a cell."""
    return "white" if canvas.is_dark(shading.colors(shading.norm(shade))) else canvas.INK


def _legend_below(ax: Axes, remarks: list[str], own: pd.DataFrame) -> None:
    canvas.below(ax, *remarks, "framed: the judge on its own system" if own.to_numpy().any() else "")
    name_sides(ax, "judge", "system")


def name_sides(ax: Axes, rows: str, columns: str) -> None:
    """Say what the rows and the columns of a matrix are."""
    ax.set_ylabel(rows, fontsize=canvas.TEXT, color=canvas.MUTED)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel(columns, fontsize=canvas.TEXT, color=canvas.MUTED)
