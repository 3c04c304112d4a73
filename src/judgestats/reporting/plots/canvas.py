"""What every picture shares: axes outside of pyplot, colours that colour-blind readers tell apart, labels that fit."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

#: Text, secondary text, grid and background lines.
INK, MUTED, GRID, FAINT = "#1c2733", "#5f6b7a", "#dfe4ea", "#f1f3f6"
#: Okabe and Ito's colours, without the yellow that vanishes on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D", "#8C6BB1")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
#: Size of labels and of what stands in cells, in points.
TEXT, SMALL = 9.0, 7.5
#: As many series as are labelled where they are; more get a legend.
DIRECT = 8


def new_axes(ax: Any, width: float, height: float) -> Any:
    """Return `ax`, or the axes of a new figure that knows nothing of pyplot.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Axes to draw on.
    width, height : float
        Inches of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
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


def grid(ax: Any, axis: str = "both") -> None:
    """Draw a faint grid."""
    ax.grid(visible=True, axis=axis, color=GRID, linewidth=0.7)


def unit_square(ax: Any) -> None:
    """Show shares on both axes, with a margin for what lies on the border."""
    ticks = np.arange(0, 1.01, 0.25)
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), xticks=ticks, yticks=ticks)


def note(ax: Any, text: str) -> None:
    """Put a small remark under the axes."""
    wrapped = "\n".join(textwrap.wrap(text, 84))
    ax.annotate(
        literal(wrapped, lines=True),
        (0, 0),
        (0, -38),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        ha="left",
        fontsize=SMALL,
        color=MUTED,
    )


def label_width(labels: Iterable[str]) -> float:
    """Inches that the longest label takes, about."""
    return 0.075 * max((len(t) for t in labels), default=0)


def literal(text: object, *, lines: bool = False) -> str:
    """Text as matplotlib shows it as it stands: no formula between dollar signs, no control characters.

    Parameters
    ----------
    text : object
        What comes from the data.
    lines : bool
        Keep line breaks.

    Returns
    -------
    str

    Examples
    --------
    >>> literal("cost: $5\\tor $6")
    'cost: \\\\$5 or \\\\$6'
    """
    kept = "\n" if lines else ""
    plain = "".join(c if c.isprintable() or c in kept else " " for c in str(text))
    return plain.replace("$", r"\$")


def shortened(names: Iterable[object], width: int = 26) -> list[str]:
    """Labels that fit: long ones lose their middle, and stay apart.

    Parameters
    ----------
    names : iterable
        Names from the data.
    width : int
        Most characters of a label.

    Returns
    -------
    list of str
        As :func:`literal` gives them.

    Examples
    --------
    >>> shortened(["gpt-4", "Skywork_Skywork-Reward-Llama-3.1-8B"], width=20)
    ['gpt-4', 'Skywork_Sk…ma-3.1-8B']
    """
    plain = [
        re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in str(n))).strip() or "(no name)"
        for n in names
    ]
    cut = [_cut(n, width) for n in plain]
    full: dict[str, set[str]] = {}
    for short, name in zip(cut, plain, strict=True):
        full.setdefault(short, set()).add(name)
    number = {name: i for twins in full.values() if len(twins) > 1 for i, name in enumerate(sorted(twins), start=1)}
    return [
        literal(f"{_cut(n, width - 4)} ({number[n]})" if n in number else c) for n, c in zip(plain, cut, strict=True)
    ]


def _cut(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    head = (width - 1 + 1) // 2
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def style_of(index: int) -> dict[str, Any]:
    """Colour and marker of the series with this number; 64 are different."""
    return {"color": PALETTE[index % len(PALETTE)], "marker": MARKERS[(index + index // len(PALETTE)) % len(MARKERS)]}


def legend(ax: Any, handles: Sequence[Any], title: str = "", columns: int = 1) -> Any:
    """Put a legend outside of the axes, on the right."""
    drawn = ax.legend(
        handles=list(handles),
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.02),
        frameon=False,
        fontsize=SMALL + 0.5,
        title_fontsize=SMALL + 0.5,
        borderaxespad=0,
        labelspacing=0.6,
        ncols=columns,
        alignment="left",
        labelcolor=INK,
    )
    drawn.get_title().set_color(MUTED)
    return drawn


def keep_legend(ax: Any) -> None:
    """Keep the legend that is there when the axes get another one."""
    kept = ax.get_legend()
    if kept is not None:
        ax.add_artist(kept)
        kept.set_clip_on(False)


def legend_above(ax: Any, handles: Sequence[Any], columns: int) -> None:
    """Put a legend in a line above the axes."""
    ax.legend(
        handles=list(handles),
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        frameon=False,
        fontsize=SMALL + 0.5,
        borderaxespad=0.2,
        ncols=columns,
        columnspacing=1.4,
        handlelength=1.2,
        handletextpad=0.5,
        labelcolor=INK,
    )


def spread(values: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart so that neighbours keep `gap`, each as near to its value as order allows.

    Parameters
    ----------
    values : sequence of float
        Where the labels should be.
    gap : float
        Least distance of two labels.
    low, high : float
        Where they may be; too many labels run over `low`.

    Returns
    -------
    list of float
        In the order of `values`.

    Examples
    --------
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


def label_points(ax: Any, x: Sequence[float], y: Sequence[float], labels: Sequence[str], colors: Sequence[str]) -> None:
    """Write each label above and beside its point, clear of its whiskers; labels that would meet move apart."""
    (bottom, top), (start, end) = ax.get_ylim(), ax.get_xlim()
    height, width = 0.048 * (top - bottom), end - start
    left = [bool((v - start) / width > 0.62) for v in x]
    for side in (False, True):
        here = [i for i, flag in enumerate(left) if flag is side]
        wanted = [y[i] + 0.75 * height for i in here]
        for i, want, level in zip(
            here, wanted, spread(wanted, height, bottom + height / 2, top - height / 2), strict=True
        ):
            at = x[i] + (-0.022 if side else 0.022) * width
            moved = abs(level - want) > 0.5 * height and abs(level - y[i]) > 1.2 * height
            ax.annotate(
                labels[i],
                (x[i], y[i]),
                (at, level),
                fontsize=TEXT - 0.5,
                color=INK,
                va="center",
                ha="right" if side else "left",
                arrowprops={"arrowstyle": "-", "color": colors[i], "lw": 0.7, "shrinkA": 1, "shrinkB": 5}
                if moved
                else None,
            )


def is_dark(color: Any) -> bool:
    """Whether white is easier to read on this colour than ink."""
    red, green, blue = to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
