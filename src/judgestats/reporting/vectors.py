"""Pictures -> inline SVG: text as text, no ids that clash, the same bytes for the same picture."""

from __future__ import annotations

import io
import re
import threading
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from judgestats.reporting.markup import Markup, tag, text
from judgestats.threads import wait_for, warnings_ignored

#: Matplotlib's settings, fonts and parser are the process's: one thread draws at a time.
MATPLOTLIB = threading.RLock()
wait_for(MATPLOTLIB)


def inline(axes: Any, described: str, name: str) -> Markup:
    """Turn a picture into SVG that stands in a page.

    Parameters
    ----------
    axes : Axes or list of Axes
        What a function of :mod:`judgestats.reporting.plots` returned.
    described : str
        What the picture shows, for those who do not see it.
    name : str
        Unique in the page; it keeps the ids of several pictures apart.

    Returns
    -------
    Markup
    """
    figure: Figure = (axes[0] if isinstance(axes, list) else axes).figure
    buffer = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": name}
    with MATPLOTLIB, warnings_ignored("Glyph .* missing from", UserWarning):  # the reader's fonts have it
        before = {setting: mpl.rcParams[setting] for setting in settings}
        mpl.rcParams.update(settings)
        try:
            figure.savefig(
                buffer,
                format="svg",
                facecolor="none",
                metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
            )
        finally:
            mpl.rcParams.update(before)
    return _bare(buffer.getvalue(), described, name)


def _bare(svg: str, described: str, name: str) -> Markup:
    """Leave the prolog, the metadata and the style sheet out, fit the width, and make ids the picture's own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style type=\"text/css\">.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    opened, rest = svg.split(">", 1)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opened)
    width, height = (float(v) for v in box.groups()) if box else (600.0, 400.0)
    rest = re.sub(
        r"<[^>]*>", lambda m: _renamed(m.group(0), name), rest
    )  # matplotlib escapes < and > in text and attributes
    head = (
        f'<svg role="img" aria-label="{text(described)}" viewBox="0 0 {width:g} {height:g}" '
        f'style="width:{width * 96 / 72:.0f}px" xmlns="http://www.w3.org/2000/svg">'
    )
    return Markup(head + rest.strip())


def _renamed(element: str, name: str) -> str:
    """An element with its own ids, and references to them, prefixed."""
    element = re.sub(r'\sid="([^"]*)"', lambda m: f' id="{name}-{m.group(1)}"', element)
    element = re.sub(r"url\(#([^)]*)\)", lambda m: f"url(#{name}-{m.group(1)})", element)
    return re.sub(r'xlink:href="#([^"]*)"', lambda m: f'href="#{name}-{m.group(1)}"', element)


def sketch(value: float, low: float, high: float, *, start: float = 0.0, end: float = 1.0) -> Markup:
    """Draw an estimate and its interval on a line, small enough for a cell of a table.

    Parameters
    ----------
    value, low, high : float
        The estimate and its interval.
    start, end : float
        Ends of the line; where it is symmetric, the middle is marked.

    Returns
    -------
    Markup
    """
    width, middle = 96.0, 8.0

    def at(x: float) -> float:
        return 4 + (width - 8) * (min(max(x, start), end) - start) / (end - start)

    parts = [f'<line x1="4" x2="{width - 4:g}" y1="{middle}" y2="{middle}" class="track"/>']
    if start < 0:
        parts.append(f'<line x1="{at(0):.1f}" x2="{at(0):.1f}" y1="3" y2="13" class="zero"/>')
    if low == low and high == high:
        parts.append(f'<line x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{middle}" y2="{middle}" class="whisker"/>')
    parts.append(f'<circle cx="{at(value):.1f}" cy="{middle}" r="3.2" class="dot"/>')
    return tag(
        "svg",
        Markup("".join(parts)),
        class_="sketch",
        viewBox=f"0 0 {width:g} 16",
        width="96",
        height="16",
        aria_hidden="true",
    )
