"""What all pictures share: axes outside pyplot, colours safe for colour-blind readers, rows and keys."""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from inspect import signature
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, cast

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from judgestats.arguments import checked_arguments
from judgestats.errors import DesignError, refuse_unknown
from judgestats.outputs import MarkedOutputs, output_path
from judgestats.reporting.formatting import Form, signed, tick
from judgestats.reporting.plots.short_names import label_width, literal, shortened

_Drawing = TypeVar("_Drawing", bound=Callable[..., Any])
#: Axes to draw on; None for new ones.
Panels: TypeAlias = Axes | Sequence[Axes] | None
#: Text, secondary text, grid and background lines.
INK, MUTED, GRID, FAINT = "#1c2733", "#5f6b7a", "#dfe4ea", "#f1f3f6"
#: Okabe and Ito's colours, without the yellow that vanishes on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D", "#8C6BB1")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
#: Font size of labels and of text in cells, in points.
TEXT, SMALL = 9.0, 7.5
#: Up to this many series are labelled directly; more get a legend.
DIRECT = 8
#: Mark of the remark under the axes.
_NOTE = "note"
#: Label of a figure that a picture made, and not its caller.
OWN = "picture"
#: Endings of pictures.
_FORMATS = ("png", "svg", "pdf", "eps", "ps", "jpg", "jpeg", "tif", "tiff", "webp", "svgz", "pgf")
#: Columns that pictures add to a table for themselves, as all that begin with an underscore.
_ADDED = ("who", "step", "row", "facet")
#: Pixels per inch in a notebook, and of the image behind it, for sharp screens.
_SHOWN, _SHARP = 96, 192


class Picture:
    """A picture: it shows itself in a notebook, and has the rows that it draws.

    A picture of one panel passes on what its axes can do (``picture.set_xlim(0, 1)``); a picture of several is a
    sequence of axes.

    Attributes
    ----------
    axes : list of matplotlib.axes.Axes
        The panels.
    data : pandas.DataFrame
        The rows that are drawn, with the full names; ``picture.data.to_clipboard()`` copies them.
    figure : matplotlib.figure.Figure
        To be saved or changed.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "b"], "term": "consistency", "estimate": [0.8, 0.6]})
    >>> from judgestats.reporting.plots import forest
    >>> picture = forest(rows)
    >>> picture.data["judge"].tolist(), len(picture.axes)
    (['a', 'b'], 1)
    """

    def __init__(self, axes: Axes | Sequence[Axes], data: pd.DataFrame) -> None:
        self.axes: list[Axes] = [axes] if isinstance(axes, Axes) else list(axes)
        for ax in self.axes:
            _settle(ax)
        added = [c for c in data.columns if str(c).startswith("_") or c in _ADDED]
        self.data = data.drop(columns=added).reset_index(drop=True)

    @property
    def figure(self) -> Figure:
        """The figure of the panels."""
        return figure_of(self.axes[0])

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, **options: Any) -> None:
        """Write the picture to a file; the ending of its name decides the format (png, svg, pdf).

        Parameters
        ----------
        path : str or path
            Where to.
        overwrite : bool
            Whether another file may be replaced. A picture that was saved before and not changed since always is.
        **options
            For ``Figure.savefig``: ``dpi=300``.

        Raises
        ------
        DesignError
            If `path` has the ending of no picture, or is a file that was read, or another that exists, or cannot be
            written; if ``Figure.savefig`` does not take the options.
        """
        ending = output_path(path).suffix.lstrip(".").lower()
        refuse_unknown(ending or "png", _FORMATS, f"{str(path)!r} has the ending of no picture", "Endings")
        buffer = io.BytesIO()
        try:
            self.figure.savefig(buffer, **{"format": ending or "png", **options})
        except (TypeError, ValueError, AttributeError) as problem:
            raise DesignError(f"Figure.savefig refuses {', '.join(options) or ending}: {problem}.") from None
        MarkedOutputs("picture", overwrite=overwrite).write(path, buffer.getvalue())

    def __len__(self) -> int:
        return len(self.axes)

    def __getitem__(self, index: int) -> Axes:
        return self.axes[index]

    def __iter__(self) -> Iterator[Axes]:
        return iter(self.axes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "axes":
            raise AttributeError(name)
        if len(self.axes) > 1:
            raise AttributeError(f"A picture of {len(self.axes)} panels has no {name!r}. Take one: picture[0].{name}.")
        return getattr(self.axes[0], name)

    def __repr__(self) -> str:
        panels = "1 panel" if len(self.axes) == 1 else f"{len(self.axes)} panels"
        return f"<Picture of {len(self.data)} rows, {panels}>"

    def _repr_png_(self) -> tuple[bytes, dict[str, int]] | None:
        if getattr(self.figure.canvas, "manager", None) is not None:
            return None  # drawn on a figure of pyplot, which the notebook shows itself
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=_SHARP)
        wide, high = (round(_SHOWN * inches) for inches in self.figure.get_size_inches())
        return buffer.getvalue(), {"width": wide, "height": high}


_ORDER = (
    "order : {'value', 'given'}\n"
    "    The best first, by the first estimate that is drawn, as in the table of a page; or as they come.\n"
)


def picture(axes: str = "", *, needs: str = "") -> Callable[[_Drawing], _Drawing]:
    """Decorator of a function that draws: its docstring says what every picture takes, and what all of them refuse.

    `axes`: which axes a picture of several panels is drawn on. `needs`: the estimate without which there is no picture;
    empty where the function says itself what it refuses.
    """
    kind, where = ("Axes or sequence of Axes", "first panel") if axes else ("Axes", "axes")
    takes = (
        f"ax : matplotlib.axes.{kind}, optional\n    {axes or 'Axes to draw on.'}\n"
        f"title : str, optional\n    Put above the {where}.\n\nReturns"
    )
    each = ", or `ax` does not have one for each panel" if axes else ""
    missing = f"If there is no {needs} with a value, or a column is not there{each}."
    refuses = "\n    ".join(["Raises\n------\nDesignError", *textwrap.wrap(missing, 110)]) + "\n\nSee Also"

    def described(function: _Drawing) -> _Drawing:
        text = function.__doc__
        if text:  # there is none under python -OO
            space = re.search(r"\n( *)Returns\n", text)[1]  # type: ignore[index]
            ordering = "" if "order :" in text or "order" not in signature(function).parameters else _ORDER
            text = text.replace(f"\n\n{space}Returns", f"\n{textwrap.indent(ordering + takes, space)}", 1)
            text = text.replace(f"{space}See Also", textwrap.indent(refuses, space), 1) if needs else text
            function.__doc__ = text
        return checked_arguments(function)

    return described


def figure_of(ax: Axes) -> Figure:
    """The figure of axes, which is no part of another one."""
    return cast("Figure", ax.figure)


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure outside pyplot, `width` by `height` inches."""
    if ax is None:
        ax = Figure(figsize=(width, height), layout="constrained").add_subplot()
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=TEXT, colors=INK, length=3, width=0.8)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(MUTED)
        spine.set_linewidth(0.8)
    return ax


def named(ax: Axes, xlabel: str = "", ylabel: str = "", title: str | None = None, pad: float = 6.0) -> None:
    """Put the axis labels and, if there is one, a title on the axes."""
    ax.set_xlabel(xlabel, fontsize=TEXT, color=INK)
    ax.set_ylabel(ylabel, fontsize=TEXT, color=INK)
    if title:
        ax.set_title(literal(title), fontsize=TEXT + 1.5, color=INK, loc="left", fontweight="bold", pad=pad)


def row_axes(ax: Axes | None, labels: Sequence[str], width: float, each: float = 0.34) -> Axes:
    """Return `ax`, or new axes that hold rows with these labels: `width` without them and `each` row in inches."""
    return new_axes(ax, width + label_width(shortened(labels, NAME)), height_of(len(labels), each))


def small(ax: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Write small text at a point, muted and in the middle of its height unless `look` says otherwise."""
    look = {"fontsize": SMALL, "color": MUTED, "va": "center", **look}
    ax.text(x, y, text, **look)


def grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw a faint grid."""
    ax.grid(visible=True, axis=axis, color=GRID, linewidth=0.7)


def in_form(ax: Axes, form: Form, *sides: Literal["x", "y"]) -> None:
    """Print the numbers of axes (by default the horizontal one) as a page does: shares in percent, gaps in points."""
    for side in sides or ("x",):
        axis = ax.xaxis if side == "x" else ax.yaxis
        axis.set_major_formatter(FuncFormatter(partial(_tick, form)))


def _tick(form: Form, value: float, _: int | None = None) -> str:
    return tick(value, form)


def unit_square(ax: Axes) -> None:
    """Show shares on both axes, with a margin for what lies on the border."""
    ticks = np.arange(0, 1.01, 0.25)
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), xticks=ticks, yticks=ticks)
    in_form(ax, "share", "x", "y")


def corner(ax: Axes, x: ArrayLike, y: ArrayLike) -> None:
    """Show shares on both axes, from 0 to the next quarter above the largest, with a margin."""
    for values, side in ((x, "x"), (y, "y")):
        seen = np.asarray(values, dtype=float)
        top = min(1.0, 0.25 * np.ceil(4 * np.nanmax(seen) - 1e-9)) if np.isfinite(seen).any() else 1.0
        top = max(top, 0.25)
        getattr(ax, f"set_{side}lim")(-0.05 * top, 1.05 * top)
        getattr(ax, f"set_{side}ticks")(np.linspace(0, top, 6 if top == 0.25 else round(4 * top) + 1))
    in_form(ax, "share", "x", "y")


class Style(TypedDict):
    """How a series is drawn."""

    color: str
    marker: str


def style_of(index: int) -> Style:
    """Colour and marker of the series with this number; 64 are different."""
    return {"color": PALETTE[index % len(PALETTE)], "marker": MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]}


def legend(ax: Axes, handles: Sequence[Artist], title: str = "", columns: int | None = None, **options: Any) -> Legend:
    """Put a legend outside of the axes, on the right, in as many columns as the height of the figure needs."""
    columns = columns or _legend_columns(len(handles), figure_of(ax).get_size_inches()[1])
    text: dict[str, Any] = {"title": title, "fontsize": SMALL + 0.5, "title_fontsize": SMALL + 0.5, "labelcolor": INK}
    place = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.02), "borderaxespad": 0, "alignment": "left"}
    rows = {"ncols": columns, "labelspacing": 0.6, "columnspacing": 1.0, "frameon": False}
    box = ax.legend(handles=list(handles), **{**text, **place, **rows, **options})
    box.get_title().set_color(MUTED)
    return box


def _legend_columns(n: int, height: float) -> int:
    return max(1, -(-n // max(1, int((height - 0.7) / 0.19))))


def legend_width(labels: Sequence[str], height: float) -> float:
    """Inches to add to a figure of this height for a legend on the right."""
    return _legend_columns(len(labels), height) * (0.55 + 0.85 * label_width(labels)) if labels else 0.0


def keep_legend(ax: Axes) -> None:
    """Keep the legend that is there when the axes get another one."""
    box = ax.get_legend()
    if box is not None:
        ax.add_artist(box)
        box.set_clip_on(False)


def legend_above(ax: Axes, handles: Sequence[Artist], columns: int) -> None:
    """Put a legend in a line above the axes."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.5}
    place |= {"labelspacing": 0.5, "columnspacing": 1.4, "handlelength": 1.2, "handletextpad": 0.5}
    legend(ax, handles, columns=columns, **place)


def spread(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart so that neighbours keep `gap`, each as near to its value as order allows.

    `values`: where the labels should be. `gap`: least distance of two labels. `low`, `high`: where they may be; too
    many labels run over `low`. Returns in the order of `values`.

    >>> spread([1.0, 1.0, 0.2], 0.1, 0.0, 1.0)
    [0.9, 1.0, 0.2]
    """
    order = np.argsort(np.asarray(values, dtype=float), kind="stable")
    placed = np.clip(np.asarray(values, dtype=float)[order], low, high)
    for i in range(1, placed.size):
        placed[i] = max(placed[i], placed[i - 1] + gap)
    if placed.size and placed[-1] > high:
        placed[-1] = high
        for i in range(placed.size - 2, -1, -1):
            placed[i] = min(placed[i], placed[i + 1] - gap)
    result = np.empty_like(placed)
    result[order] = placed
    return [round(float(v), 12) for v in result]


def is_dark(color: object) -> bool:
    """Whether white is easier to read on this colour than ink."""
    red, green, blue = to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.55


#: Most characters of the name of a row.
NAME = 34


#: Most panels of a picture.
MOST_PANELS = 60
#: Inches of a figure from which its rows stand closer, and of the lowest row.
TALL, LOWEST = 12.0, 0.19


def height_of(rows: int, each: float = 0.34) -> float:
    """Inches of a figure with this many rows, which stand closer where they are many or the figure would be tall."""
    each = max(0.24, each if rows <= 12 else 0.8 * each)
    return 1.25 + max(LOWEST, min(each, (TALL - 1.25) / max(rows, 1))) * rows


def panels(
    ax: Panels,
    names: Sequence[str],
    rows: Sequence[str],
    *,
    wide: Sequence[float],
    each: float = 0.34,
    across: int = 0,
    sharey: bool = True,
) -> list[Axes]:
    """Axes in lines below one another, of a new figure or as given.

    `names`: what the panels show, for the message if `ax` does not have one for each. `rows`: labels of the rows.
    `wide`: inches of each panel. `each`: inches of a row. `across`: panels side by side, by default four, or six where
    they are tall. `sharey`: same rows.
    """
    if len(names) > MOST_PANELS:
        raise DesignError(f"{len(names)} panels are more than {MOST_PANELS}. Draw some of the rows at a time.")
    if ax is None:
        columns = min(len(names), across or (4 if len(rows) <= 16 else 6))
        lines = -(-len(names) // columns)
        label = 0.3 + label_width(shortened(rows, NAME))
        width = label * (1 if sharey else len(names)) + sum(wide[:columns])
        figure = Figure(figsize=(width, height_of(len(rows), each) * lines), layout=ConstrainedLayoutEngine(w_pad=0.08))
        figure.set_label(OWN)
        ratios = list(wide[:columns])
        axes = figure.subplots(lines, columns, sharey=sharey, squeeze=False, width_ratios=ratios).ravel()
        for spare in axes[len(names) :]:
            spare.remove()
        return [new_axes(a, 0, 0) for a in axes[: len(names)]]
    own_axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(own_axes) != len(names):
        raise DesignError(
            f"The picture has {len(names)} panels ({', '.join(names)}) and got {len(own_axes)} axes. Give one for each."
        )
    return [new_axes(a, 0, 0) for a in own_axes]


def single(ax: Panels, name: str) -> Axes | None:
    """The axes of the only panel, as given; None for new ones. `name`: what it shows."""
    return None if ax is None else panels(ax, [name], [], wide=[])[0]


def leftmost(panel: Axes, axes: Sequence[Axes]) -> bool:
    """Whether a panel is the first of its line, which has the names of the rows."""
    place = panel.get_subplotspec() if figure_of(panel).get_label() == OWN else None
    return panel is axes[0] or (place is not None and place.is_first_col())


def headed(axes: Sequence[Axes], title: str | None) -> None:
    """Put a title above several panels."""
    if title and len(axes) == 1:
        named(axes[0], axes[0].get_xlabel(), axes[0].get_ylabel(), title, pad=26 if axes[0].get_legend() else 6)
    elif title:
        axes[0].figure.suptitle(literal(title), fontsize=TEXT + 1.5, fontweight="bold", color=INK, x=0.01, ha="left")


def lanes(ax: Axes, labels: Sequence[str], *, first: bool = True) -> None:
    """One line a row, the first on top, with its label on the left of the first panel."""
    grid(ax, "x")
    between = [((0, edge - 0.5), (1, edge - 0.5)) for edge in range(1, len(labels))]
    look: dict[str, Any] = {"color": GRID, "linewidth": 0.5, "zorder": 0, "transform": ax.get_yaxis_transform()}
    ax.add_collection(LineCollection(between, **look), autolim=False)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.spines["left"].set_visible(False)
    row_names(ax, labels, first=first)


def row_names(ax: Axes, labels: Sequence[object], *, first: bool = True, width: int | None = None) -> None:
    """Name the rows at the left of the first panel, with a key below where names are shortened."""
    ax.yaxis.set_visible(first)
    if not first:
        return
    short = shortened(labels, width or NAME)
    ax.tick_params(axis="y", length=0)  # before there are ticks, each of which would be changed
    ax.set_yticks(range(len(labels)), short)
    if short.key:
        key_below(ax, short.key)


def key_below(ax: Axes, text: str) -> None:
    """Put the key of shortened names under the axes, or under all panels of a figure of several."""
    figure = figure_of(ax)
    if figure.get_label() != OWN or len(figure.axes) < 2:
        below(ax, text)
        return
    lines = "\n".join(textwrap.wrap(text, max(34, int(figure.get_size_inches()[0] / 0.06))))
    figure.supxlabel(lines, x=0.01, ha="left", fontsize=SMALL, color=MUTED)


def limits(ax: Axes, *values: ArrayLike, zero: bool = False, even: bool = False, bounds: tuple[float, float]) -> None:
    """Set the horizontal range to the finite values.

    `zero`: it is shown. `even`: as far to its left as to its right. `bounds`: ends beyond are cut off, with an arrow.
    """
    coordinates = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    coordinates = np.clip(coordinates[np.isfinite(coordinates)], *bounds)
    low, high = (coordinates.min(), coordinates.max()) if coordinates.size else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if even:
        high = max(-low, high) or 1.0
        low = -high
    margin = 0.06 * (high - low) or 0.5
    ax.set_xlim(low - margin, high + margin)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def shares(ax: Axes) -> None:
    """Show shares from 0 to 1."""
    ax.set(xlim=(-0.03, 1.03), xticks=np.arange(0, 1.01, 0.25))
    in_form(ax, "share")


def neutral(ax: Axes, value: float = 0.0) -> None:
    """Draw the line of no effect."""
    ax.axvline(value, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)


def interval(ax: Axes, height: float, low: float, high: float, color: str = INK, width: float = 1.5) -> None:
    """Draw an interval; an end beyond the axes gets an arrow."""
    if np.isnan(low) or np.isnan(high):
        return
    start, end = ax.get_xlim()
    ax.plot([max(low, start), min(high, end)], [height] * 2, color=color, linewidth=width, alpha=0.75, zorder=2.5)
    for at, arrow, beyond in ((start, "<", low < start), (end, ">", high > end)):
        if beyond:
            ax.plot(at, height, marker=arrow, color=color, markersize=4.5, clip_on=False, linestyle="none")


def point(ax: Axes, value: float, height: float, color: str, *, filled: bool = True, marker: str = "o") -> None:
    """Draw an estimate, or "n/a" where it is missing."""
    if not np.isfinite(value):
        start, end = ax.get_xlim()
        small(ax, start + 0.015 * (end - start), height, "n/a")
        return
    ax.plot(value, height, marker=marker, linestyle="none", zorder=4, **face(color, filled))


def whisker(
    ax: Axes, row: pd.Series, height: float, color: str = PALETTE[0], *, filled: bool = True, marker: str = "o"
) -> None:
    """Draw an estimate with its interval, from a row with ``estimate``, ``conf_low`` and ``conf_high``."""
    if np.isfinite(row["estimate"]):
        interval(ax, height, row["conf_low"], row["conf_high"], color)
    point(ax, row["estimate"], height, color, filled=filled, marker=marker)


def series(
    ax: Axes, table: pd.DataFrame, labels: Sequence[str], column: str, values: Sequence[object], reach: float = 0.26
) -> None:
    """Draw a row of estimates for each label, those of each value of a column in a style of their own, side by side."""
    shifts = np.linspace(-reach, reach, len(values)) if len(values) > 1 else [0.0]
    for row in table.to_dict("records"):
        i = values.index(row[column])
        whisker(ax, row, labels.index(row["_row"]) + shifts[i], **style_of(i))


def face(color: str, filled: bool) -> dict[str, Any]:
    """Look of a marker: filled, or an outline."""
    inside, edge, width = (color, "white", 0.8) if filled else ("white", color, 1.4)
    look = {"markerfacecolor": inside, "markeredgecolor": edge, "markeredgewidth": width}
    return {"markersize": 6, "color": color, **look}


def key(label: str, color: str, *, filled: bool = True, marker: str = "o", **more: Any) -> Line2D:
    """Entry of a legend for a marker."""
    look = {**face(color, filled), "markeredgecolor": color, **more}
    return Line2D([], [], linestyle="none", marker=marker, label=literal(label), **look)


def series_keys(labels: Iterable[str]) -> list[Line2D]:
    """Entries of a legend for series in the order of their styles."""
    return [key(label, **style_of(i)) for i, label in enumerate(labels)]


def beside(
    ax: Axes, height: float | None, text: str, offset: float = 8.0, *, color: str = INK, ha: str = "left"
) -> None:
    """Write to the right of a row, or above all rows for `height` None, `offset` points from the axes."""
    look: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "color": color, "va": "center"}
    if height is None:
        look = {"xycoords": "axes fraction", "color": MUTED, "va": "bottom"}
    at, up = (1, 3) if height is None else (height, 0)
    look |= {"textcoords": "offset points", "fontsize": SMALL + 0.5, "ha": ha, "annotation_clip": False}
    ax.annotate(literal(text, lines=True), (1, at), (offset, up), **look)


def with_interval(row: pd.Series, decimals: int = 2) -> str:
    """A signed estimate with its interval, as text."""
    if not np.isfinite(row["estimate"]):
        return "n/a"
    estimate = signed(row["estimate"], decimals)
    if np.isnan(row["conf_low"]) or np.isnan(row["conf_high"]):
        return estimate
    return f"{estimate}  [{signed(row['conf_low'], decimals)}, {signed(row['conf_high'], decimals)}]"


def below(ax: Axes, *remarks: str) -> None:
    """Put small remarks under the axes, below the axis label and those that are there; empty ones are left out.

    `remarks`: wrapped to the width of the axes, line by line.
    """
    if not (text := "\n".join(filter(None, remarks))):
        return
    inches = figure_of(ax).get_size_inches()[0] * ax.get_position().width
    wide = max(34, int(inches / 0.058))
    lines = literal("\n".join(w for line in text.split("\n") for w in textwrap.wrap(line, wide) or [""]), lines=True)
    lines = lines.replace(r"\\$", r"\$")  # names are escaped already
    if notes := _notes(ax):
        notes[0].set_text(f"{notes[0].get_text()}\n{lines}")
        return
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    remark = ax.annotate(lines, (0, 0), (0, 0), va="top", ha="left", fontsize=SMALL, color=MUTED, **place)
    remark.set_label(_NOTE)


def _notes(ax: Axes) -> list[Text]:
    return [t for t in ax.texts if t.get_label() == _NOTE]


def _settle(ax: Axes) -> None:
    """Move the remark below the ticks and the label that the axes have in the end."""
    above = ax.xaxis.get_label_position() == "top"
    lines = ax.get_xlabel().count("\n") + 1
    for remark in _notes(ax):
        remark.set_position((0, -6 if above else -23 - 11.5 * lines - (4 if ax.get_xscale() == "log" else 0)))
