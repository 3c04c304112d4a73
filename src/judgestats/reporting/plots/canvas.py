"""What all pictures share: axes outside pyplot, colours safe for colour-blind readers, labels that fit."""

from __future__ import annotations

import io
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from judgestats.errors import DesignError
from judgestats.outputs import MarkedOutputs
from judgestats.reporting.estimate_rows import distinct
from judgestats.reporting.formatting import signed

Box = tuple[float, float, float, float]
_Drawing = TypeVar("_Drawing", bound=Callable[..., Any])
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

    def __init__(self, axes: Any, data: pd.DataFrame) -> None:
        self.axes: list[Any] = list(axes) if isinstance(axes, (list, tuple)) else [axes]
        for ax in self.axes:
            _settle(ax)
        added = [c for c in data.columns if str(c).startswith("_") or c in _ADDED]
        self.data = data.drop(columns=added).reset_index(drop=True)

    @property
    def figure(self) -> Figure:
        """The figure of the panels."""
        figure: Figure = self.axes[0].figure
        return figure

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
            If `path` is another file that exists, or cannot be written.
        """
        buffer = io.BytesIO()
        self.figure.savefig(buffer, **{"format": Path(path).suffix.lstrip(".").lower() or "png", **options})
        MarkedOutputs("picture", overwrite=overwrite).write(path, buffer.getvalue())

    def __len__(self) -> int:
        return len(self.axes)

    def __getitem__(self, index: int) -> Any:
        return self.axes[index]

    def __iter__(self) -> Iterator[Any]:
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
            text = text.replace(f"\n\n{space}Returns", f"\n{textwrap.indent(takes, space)}", 1)
            text = text.replace(f"{space}See Also", textwrap.indent(refuses, space), 1) if needs else text
            function.__doc__ = text
        return function

    return described


def new_axes(ax: Any, width: float, height: float) -> Any:
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


def named(ax: Any, xlabel: str = "", ylabel: str = "", title: str | None = None, pad: float = 6.0) -> None:
    """Put the axis labels and, if there is one, a title on the axes."""
    ax.set_xlabel(xlabel, fontsize=TEXT, color=INK)
    ax.set_ylabel(ylabel, fontsize=TEXT, color=INK)
    if title:
        ax.set_title(literal(title), fontsize=TEXT + 1.5, color=INK, loc="left", fontweight="bold", pad=pad)


def row_axes(ax: Any, labels: Sequence[str], width: float, each: float = 0.34) -> Any:
    """Return `ax`, or new axes that hold rows with these labels: `width` without them and `each` row in inches."""
    return new_axes(ax, width + label_width(shortened(labels, NAME)), height_of(len(labels), each))


def small(ax: Any, x: Any, y: Any, text: str, **look: Any) -> None:
    """Write small text at a point, muted and in the middle of its height unless `look` says otherwise."""
    ax.text(x, y, text, **({"fontsize": SMALL, "color": MUTED, "va": "center"} | look))


def grid(ax: Any, axis: str = "both") -> None:
    """Draw a faint grid."""
    ax.grid(visible=True, axis=axis, color=GRID, linewidth=0.7)


def unit_square(ax: Any) -> None:
    """Show shares on both axes, with a margin for what lies on the border."""
    ticks = np.arange(0, 1.01, 0.25)
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), xticks=ticks, yticks=ticks)


def corner(ax: Any, x: Any, y: Any) -> None:
    """Show shares on both axes, from 0 to the next quarter above the largest, with a margin."""
    for values, side in ((x, "x"), (y, "y")):
        seen = np.asarray(values, dtype=float)
        top = min(1.0, 0.25 * np.ceil(4 * np.nanmax(seen) - 1e-9)) if np.isfinite(seen).any() else 1.0
        top = max(top, 0.25)
        getattr(ax, f"set_{side}lim")(-0.05 * top, 1.05 * top)
        getattr(ax, f"set_{side}ticks")(np.linspace(0, top, 6 if top == 0.25 else round(4 * top) + 1))


def label_width(labels: Iterable[str]) -> float:
    """Inches that the longest label takes, about."""
    return 0.075 * max((len(t) for t in labels), default=0)


def literal(text: object, *, lines: bool = False) -> str:
    """Escape text so that matplotlib shows it unchanged: no formula between dollar signs, no control characters.

    >>> literal("cost: $5\\tor $6")
    'cost: \\\\$5 or \\\\$6'
    """
    kept = "\n" if lines else ""
    plain = "".join(c if c.isprintable() or c in kept else " " for c in str(text))
    return plain.replace("$", r"\$")


class Names(list[str]):
    """Labels, and what they leave out: `key` is a remark, empty where nothing is left out."""

    key: str = ""


def shortened(names: Iterable[object], width: int = 26) -> Names:
    """Labels that fit: long ones lose what they share, then their middle, and stay apart.

    `names`: names from the data; parts are separated by " · ". `width`: most characters of a label. Returns labels as
    :func:`literal` gives them, with a ``key``.

    >>> short = shortened(["together/meta-llama-8b-instruct", "together/meta-llama-70b-instruct"], width=20)
    >>> short, short.key
    (['…8b…', '…70b…'], '… is “together/meta-llama-” before and “-instruct” after.')
    >>> shortened(["gpt-4", "Skywork_Skywork-Reward-Llama-3.1-8B"], width=20)
    ['gpt-4', 'Skywork_Sk…ma-3.1-8B']
    """
    plain = [
        re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in str(n))).strip() or "(no name)"
        for n in names
    ]
    bare, remarks = _without_shared(plain, width)
    cut = [_cut(n, width) for n in bare]
    full: dict[str, set[str]] = {}
    for short, name in zip(cut, plain, strict=True):
        full.setdefault(short, set()).add(name)
    number = {name: i for twins in full.values() if len(twins) > 1 for i, name in enumerate(sorted(twins), start=1)}
    labels = [
        f"{_cut(b, width - 4)} ({number[n]})" if n in number else c for n, b, c in zip(plain, bare, cut, strict=True)
    ]
    lost = {c: n for c, b, n in zip(labels, bare, plain, strict=True) if c != b}
    if 0 < len(lost) <= MOST_IN_KEY:
        remarks += [f"{c} is {n}." for c, n in lost.items()]
    elif lost:
        remarks.append("Full names: .data of the picture.")
    found = Names(literal(label) for label in labels)
    found.key = "\n".join(remarks)
    return found


#: Shorter shared beginnings and ends stay; more names than these are not listed in a key.
LEAST_SHARED, MOST_IN_KEY = 5, 6
_BREAK = re.compile(r"[-_/ .:]")


def _without_shared(names: list[str], width: int) -> tuple[list[str], list[str]]:
    """Names without the beginning and the end that the long ones share, part by part, and remarks that give them."""
    long = [n.split(" · ") for n in names if len(n) > width]
    remarks: list[str] = []
    result = [n.split(" · ") for n in names]
    for k in range(max(map(len, long), default=0)):
        parts = sorted({n[k] for n in long if len(n) > k})
        if len(parts) < 2:
            continue
        start = _shared(parts)
        start = start[: max((m.end() for m in _BREAK.finditer(start)), default=0)]
        end = _shared([p[len(start) :][::-1] for p in parts])[::-1]
        end = end[min((m.start() for m in _BREAK.finditer(end)), default=len(end)) :]
        start, end = (t if len(t) >= LEAST_SHARED else "" for t in (start, end))
        rows = [r for r in result if len(r) > k and len(r[k]) > len(start + end)]
        rows = [r for r in rows if r[k].startswith(start) and r[k].endswith(end)]
        if not (start or end) or 2 * len(rows) < len(result):
            continue  # what few names share does not identify the rest
        for row in rows:
            row[k] = f"{'…' if start else ''}{row[k][len(start) : len(row[k]) - len(end)]}{'…' if end else ''}"
        where = [f"“{t}” {side}" for t, side in ((start, "before"), (end, "after")) if t]
        remarks.append(f"… is {' and '.join(where)}.")
    return [" · ".join(row) for row in result], distinct(remarks)


def _shared(texts: list[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    return first[
        : next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(min(texts, key=len)))
    ]


def _cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    head = (width - 1 + 1) // 2
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def style_of(index: int) -> dict[str, Any]:
    """Colour and marker of the series with this number; 64 are different."""
    return {"color": PALETTE[index % len(PALETTE)], "marker": MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]}


def legend(ax: Any, handles: Sequence[Any], title: str = "", columns: int | None = None, **options: Any) -> Any:
    """Put a legend outside of the axes, on the right, in as many columns as the height of the figure needs."""
    columns = columns or _legend_columns(len(handles), ax.figure.get_size_inches()[1])
    look: dict[str, Any] = {
        "title": title, "loc": "upper left", "bbox_to_anchor": (1.02, 1.02), "frameon": False,
        "fontsize": SMALL + 0.5, "title_fontsize": SMALL + 0.5, "borderaxespad": 0, "labelspacing": 0.6,
        "ncols": columns, "alignment": "left", "labelcolor": INK, "columnspacing": 1.0,
    }  # fmt: skip
    drawn = ax.legend(handles=list(handles), **(look | options))
    drawn.get_title().set_color(MUTED)
    return drawn


def _legend_columns(n: int, height: float) -> int:
    return max(1, -(-n // max(1, int((height - 0.7) / 0.19))))


def legend_width(labels: Sequence[str], height: float) -> float:
    """Inches to add to a figure of this height for a legend on the right."""
    return _legend_columns(len(labels), height) * (0.55 + 0.85 * label_width(labels)) if labels else 0.0


def numbered(names: Sequence[str]) -> list[str]:
    """Entries of a key: the number of each name, and the name.

    >>> numbered(["a", "b"])
    ['1  a', '2  b']
    """
    return [f"{i}  {name}" for i, name in enumerate(names, 1)]


def name_points(
    ax: Any,
    x: Sequence[float],
    y: Sequence[float],
    names: Sequence[object],
    *,
    avoid: Sequence[Box] = (),
    more: Any = (),
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
        keys = [Line2D([], [], linestyle="none", label=text) for text in numbered(labels)]
        legend(
            ax, [*more, *keys], handlelength=1.2 if more else 0.0, handletextpad=0.4 if more else 0.0, labelspacing=0.35
        )
        label_around(ax, x, y, [str(i + 1) for i in range(len(labels))], size=SMALL, avoid=avoid)
    below(ax, labels.key)


def keep_legend(ax: Any) -> None:
    """Keep the legend that is there when the axes get another one."""
    kept = ax.get_legend()
    if kept is not None:
        ax.add_artist(kept)
        kept.set_clip_on(False)


def legend_above(ax: Any, handles: Sequence[Any], columns: int) -> None:
    """Put a legend in a line above the axes."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.5, "labelspacing": 0.5}
    legend(ax, handles, columns=columns, columnspacing=1.4, handlelength=1.2, handletextpad=0.5, **place)


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


def is_dark(color: Any) -> bool:
    """Whether white is easier to read on this colour than ink."""
    red, green, blue = to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.55


#: Most characters of the name of a row.
NAME = 34


def height_of(rows: int, each: float = 0.34) -> float:
    """Inches of a figure with this many rows, which stand closer where they are many."""
    return 1.25 + max(0.24, each if rows <= 12 else 0.8 * each) * rows


def panels(
    ax: Any,
    names: Sequence[str],
    rows: Sequence[str],
    *,
    wide: Sequence[float],
    each: float = 0.34,
    across: int | None = None,
    sharey: bool = True,
) -> list[Any]:
    """Axes side by side, of a new figure or as given.

    `names`: what the panels show, for the message if `ax` does not have one for each. `rows`: labels of the rows.
    `wide`: inches of each panel. `each`: inches of a row. `across`: most panels side by side. `sharey`: same rows.
    """
    if ax is None:
        columns = min(len(names), across or len(names))
        lines = -(-len(names) // columns)
        label = 0.3 + label_width(shortened(rows, NAME))
        width = label * (1 if sharey else len(names)) + sum(wide[:columns])
        figure = Figure(figsize=(width, height_of(len(rows), each) * lines), layout=ConstrainedLayoutEngine(w_pad=0.08))
        figure.set_label(OWN)
        ratios = list(wide[:columns])
        found = figure.subplots(lines, columns, sharey=sharey, squeeze=False, width_ratios=ratios).ravel()
        for spare in found[len(names) :]:
            spare.remove()
        return [new_axes(a, 0, 0) for a in found[: len(names)]]
    given = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(given) != len(names):
        raise DesignError(
            f"The picture has {len(names)} panels ({', '.join(names)}) and got {len(given)} axes. Give one for each."
        )
    return [new_axes(a, 0, 0) for a in given]


def headed(shown: Sequence[Any], title: str | None) -> None:
    """Put a title above several panels."""
    if title and len(shown) == 1:
        named(shown[0], shown[0].get_xlabel(), shown[0].get_ylabel(), title, pad=26 if shown[0].get_legend() else 6)
    elif title:
        shown[0].figure.suptitle(literal(title), fontsize=TEXT + 1.5, fontweight="bold", color=INK, x=0.01, ha="left")


def lanes(ax: Any, labels: Sequence[str], *, first: bool = True) -> None:
    """One line a row, the first on top, with its label on the left of the first panel."""
    grid(ax, "x")
    for edge in range(1, len(labels)):
        ax.axhline(edge - 0.5, color=GRID, linewidth=0.5, zorder=0)
    ax.set(ylim=(len(labels) - 0.5, -0.5), yticks=range(len(labels)))
    ax.spines["left"].set_visible(False)
    row_names(ax, labels, first=first)


def row_names(ax: Any, labels: Sequence[object], *, first: bool = True, width: int | None = None) -> None:
    """Name the rows at the left of the first panel, with a key below where names are shortened."""
    short = shortened(labels, width or NAME)
    ax.tick_params(axis="y", length=0, labelleft=first)
    ax.set_yticklabels(short)
    if first and short.key:
        key_below(ax, short.key)


def key_below(ax: Any, text: str) -> None:
    """Put the key of shortened names under the axes, or under all panels of a figure of several."""
    figure = ax.figure
    if figure.get_label() != OWN or len(figure.axes) < 2:
        below(ax, text)
        return
    lines = "\n".join(textwrap.wrap(text, max(34, int(figure.get_size_inches()[0] / 0.06))))
    figure.supxlabel(lines, x=0.01, ha="left", fontsize=SMALL, color=MUTED)


def limits(ax: Any, *values: Any, zero: bool = False, even: bool = False, bounds: tuple[float, float]) -> None:
    """Set the horizontal range to the finite values.

    `zero`: it is shown. `even`: as far to its left as to its right. `bounds`: ends beyond are cut off, with an arrow.
    """
    drawn = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    drawn = np.clip(drawn[np.isfinite(drawn)], *bounds)
    low, high = (drawn.min(), drawn.max()) if drawn.size else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if even:
        high = max(-low, high) or 1.0
        low = -high
    margin = 0.06 * (high - low) or 0.5
    ax.set_xlim(low - margin, high + margin)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))


def shares(ax: Any) -> None:
    """Show shares from 0 to 1."""
    ax.set(xlim=(-0.03, 1.03), xticks=np.arange(0, 1.01, 0.25))


def neutral(ax: Any, value: float = 0.0) -> None:
    """Draw the line of no effect."""
    ax.axvline(value, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)


def interval(ax: Any, height: float, low: float, high: float, color: str = INK, width: float = 1.5) -> None:
    """Draw an interval; an end beyond the axes gets an arrow."""
    if np.isnan(low) or np.isnan(high):
        return
    start, end = ax.get_xlim()
    ax.plot([max(low, start), min(high, end)], [height] * 2, color=color, linewidth=width, alpha=0.75, zorder=2.5)
    for at, arrow, beyond in ((start, "<", low < start), (end, ">", high > end)):
        if beyond:
            ax.plot(at, height, marker=arrow, color=color, markersize=4.5, clip_on=False, linestyle="none")


def point(ax: Any, value: float, height: float, color: str, *, filled: bool = True, marker: str = "o") -> None:
    """Draw an estimate, or "n/a" where it is missing."""
    if not np.isfinite(value):
        start, end = ax.get_xlim()
        small(ax, start + 0.015 * (end - start), height, "n/a")
        return
    ax.plot(value, height, marker=marker, linestyle="none", zorder=4, **face(color, filled))


def whisker(
    ax: Any, row: Any, height: float, color: str = PALETTE[0], *, filled: bool = True, marker: str = "o"
) -> None:
    """Draw an estimate with its interval, from a row with ``estimate``, ``conf_low`` and ``conf_high``."""
    if np.isfinite(row["estimate"]):
        interval(ax, height, row["conf_low"], row["conf_high"], color)
    point(ax, row["estimate"], height, color, filled=filled, marker=marker)


def series(
    ax: Any, table: pd.DataFrame, labels: Sequence[str], column: str, values: Sequence[Any], reach: float = 0.26
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
    ax: Any, height: float | None, text: str, offset: float = 8.0, *, color: str = INK, ha: str = "left"
) -> None:
    """Write to the right of a row, or above all rows for `height` None, `offset` points from the axes."""
    look: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "color": color, "va": "center"}
    if height is None:
        look = {"xycoords": "axes fraction", "color": MUTED, "va": "bottom"}
    at, up = (1, 3) if height is None else (height, 0)
    look |= {"textcoords": "offset points", "fontsize": SMALL + 0.5, "ha": ha, "annotation_clip": False}
    ax.annotate(literal(text, lines=True), (1, at), (offset, up), **look)


def with_interval(row: Any, decimals: int = 2) -> str:
    """A signed estimate with its interval, as text."""
    if not np.isfinite(row["estimate"]):
        return "n/a"
    estimate = signed(row["estimate"], decimals)
    if np.isnan(row["conf_low"]) or np.isnan(row["conf_high"]):
        return estimate
    return f"{estimate}  [{signed(row['conf_low'], decimals)}, {signed(row['conf_high'], decimals)}]"


def below(ax: Any, *remarks: str) -> None:
    """Put small remarks under the axes, below the axis label and those that are there; empty ones are left out.

    `remarks`: wrapped to the width of the axes, line by line.
    """
    if not (text := "\n".join(filter(None, remarks))):
        return
    inches = ax.figure.get_size_inches()[0] * ax.get_position().width
    wide = max(34, int(inches / 0.058))
    lines = literal("\n".join(w for line in text.split("\n") for w in textwrap.wrap(line, wide) or [""]), lines=True)
    lines = lines.replace(r"\\$", r"\$")  # names are escaped already
    if notes := _notes(ax):
        notes[0].set_text(f"{notes[0].get_text()}\n{lines}")
        return
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    drawn = ax.annotate(lines, (0, 0), (0, 0), va="top", ha="left", fontsize=SMALL, color=MUTED, **place)
    drawn.set_label(_NOTE)


def _notes(ax: Any) -> list[Any]:
    return [t for t in ax.texts if t.get_label() == _NOTE]


def _settle(ax: Any) -> None:
    """Move the remark below the ticks and the label that the axes have in the end."""
    above = ax.xaxis.get_label_position() == "top"
    lines = ax.get_xlabel().count("\n") + 1
    for remark in _notes(ax):
        remark.set_position((0, -6 if above else -23 - 11.5 * lines - (4 if ax.get_xscale() == "log" else 0)))


# ---- Labels of points in a plane, placed so that they overlap neither points nor each other --------------------------

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

    `ax`: axes. `x`, `y`: the points. `labels`: their labels. `size`: of the text, in points. `every`: write a label
    that has no free place where it overlaps least; False leaves it out. `avoid` (x0, y0, x1, y1): further boxes to keep
    free, in data units. Returns the labels left out.
    """
    ax.figure.draw_without_rendering()  # the layout decides how large the axes are
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
        look = {"fontsize": size, "color": INK, "ha": ha, "va": "center", "zorder": 6, "textcoords": "axes fraction"}
        place = tuple((at[i] + [dx, dy]) / inches)
        ax.annotate(labels[i], (x[i], y[i]), place, arrowprops=arrow if np.hypot(dx, dy) > _FAR else None, **look)
    return left


#: A label farther from its point than this, in inches, has a line to it.
_FAR = 0.2


def _line(at: Any, dx: float, dy: float) -> list[Box]:
    """Small boxes along the line from a point, where it is clear of the point itself, to its label."""
    if np.hypot(dx, dy) <= _FAR:
        return []
    return [
        (px - 0.01, py - 0.01, px + 0.01, py + 0.01) for px, py in (at + np.outer([0.35, 0.5, 0.65, 0.8], [dx, dy]))
    ]


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
