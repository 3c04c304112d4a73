"""Square panels, one a judge, with the names of the judges above them."""

from __future__ import annotations

from matplotlib.axes import Axes

from judgestats.reporting.plots import canvas, short_names


def _across(panels: int) -> int:
    """Panels side by side: more and smaller ones where they are many."""
    return 4 if panels <= 16 else 6


def square_panels(ax: canvas.Panels, names: list[str]) -> list[Axes]:
    """Square axes, one a judge."""
    wide, each = (3.0, 1.9) if len(names) <= 16 else (2.1, 0.95)
    return canvas.panels(ax, names, [""], wide=[wide] * len(names), each=each, across=_across(len(names)))


def name_panels(axes: list[Axes], names: list[str], title: str | None) -> None:
    """Put the judges above the panels, and a title above all."""
    short = short_names.shortened(names)
    for panel, name in zip(axes, short, strict=True):
        panel.set_title(name, fontsize=canvas.TEXT, color=canvas.INK, loc="left")
    if short.key:
        canvas.key_below(axes[0], short.key)
    if title:
        canvas.headed([*axes, axes[0]], title)
