"""Pictures as SVG that stands in a page: text as text, no ids that clash, the same bytes for the same picture."""

from __future__ import annotations

import html
import io
import re
import threading
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from judgestats.reporting.markup import visible
from judgestats.threads import wait_for, warnings_ignored

#: Matplotlib's settings, fonts and parser are the process's: one thread draws at a time.
MATPLOTLIB = threading.RLock()
wait_for(MATPLOTLIB)


def inline(axes: Any, described: str, name: str) -> Markup:
    """Turn a picture into SVG that stands in a page, `described` in words; `name`: unique, a prefix of its ids."""
    figure: Figure = (axes[0] if isinstance(axes, list) else axes).figure
    buffer = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": name}
    with MATPLOTLIB, warnings_ignored():  # of glyphs that the reader's fonts have
        before = {setting: mpl.rcParams[setting] for setting in settings}
        mpl.rcParams.update(settings)
        try:
            figure.set_facecolor("none")
            canvas = FigureCanvasSVG(figure)  # ``savefig`` would draw twice, for the layout and for the file
            canvas.print_svg(buffer, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
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
        f'<svg role="img" aria-label="{html.escape(str(visible(described)))}" viewBox="0 0 {width:g} {height:g}" '
        f'style="width:{width * 96 / 72:.0f}px;--w:{width * 96 / 72:.0f}px" xmlns="http://www.w3.org/2000/svg">'
    )
    return Markup(head + rest.strip())


def _renamed(element: str, name: str) -> str:
    """An element with its own ids, and references to them, prefixed."""
    if "#" not in element and 'id="' not in element:
        return element
    element = re.sub(r'\sid="([^"]*)"', lambda m: f' id="{name}-{m.group(1)}"', element)
    element = re.sub(r"url\(#([^)]*)\)", lambda m: f"url(#{name}-{m.group(1)})", element)
    return re.sub(r'xlink:href="#([^"]*)"', lambda m: f'href="#{name}-{m.group(1)}"', element)
