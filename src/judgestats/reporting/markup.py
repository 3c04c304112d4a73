"""HTML that is safe by construction: text is escaped unless it was made here."""

from __future__ import annotations

import html
import io
import re
import threading
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from judgestats.threads import wait_for, warnings_ignored

# ---- HTML that is safe by construction: text is escaped unless it was made here --------------------------------------


class Markup(str):
    """Text that is HTML already. Only this module and the plot export make it from anything but markup."""

    __slots__ = ()


_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_TURNING = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_VOID = {"br", "meta", "hr", "img"}


def text(value: object) -> Markup:
    """Escape a value, unless it is markup.

    Control characters, which HTML does not allow, become spaces, and marks that turn the direction of writing, which
    could make a name read as another, become U+FFFD.

    `value`: anything from the data. None is nothing.

    >>> text('<script>alert("1")</script>')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'
    """
    if isinstance(value, Markup):
        return value
    plain = "" if value is None else str(value)
    return Markup(html.escape(_UNSEEN.sub(" ", _TURNING.sub("\ufffd", plain)), quote=True))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Make an element.

    `name`: name of the element. `*content`: markup as it is; anything else is escaped. `**attributes`: ``class_`` for
    class; ``_`` in a name is ``-``; None leaves one out, True has no value.

    >>> tag("td", "a < b", class_="number", title='"')
    '<td class="number" title="&quot;">a &lt; b</td>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        plain = key.rstrip("_").replace("_", "-")
        parts.append(plain if value is True else f'{plain}="{text(value)}"')
    opened = f"<{' '.join(parts)}>"
    return Markup(opened if name in _VOID else f"{opened}{join(content)}</{name}>")


def join(parts: Iterable[object], separator: str = "") -> Markup:
    """Put parts together, escaping what is not markup."""
    return Markup(text(separator).join(text(p) for p in parts))


def table(
    head: Iterable[object],
    rows: Iterable[Markup],
    *,
    class_: str | None = None,
    caption: object = None,
    numbers: Iterable[int] = (),
) -> Markup:
    """Make a table that scrolls sideways where it is too wide.

    `head`: heads of the columns. `rows`: ``tr`` elements. `class_`: class of the table. `caption`: caption. `numbers`:
    columns that hold numbers.
    """
    right = set(numbers)
    top = tag(
        "thead",
        tag("tr", *(tag("th", h, scope="col", class_="number" if i in right else None) for i, h in enumerate(head))),
    )
    body = tag("tbody", *rows)
    return tag(
        "div",
        tag("table", *([tag("caption", caption)] if caption else []), top, body, class_=class_),
        class_="scroll",
        tabindex="0",
    )


def row(cells: Iterable[object], *, class_: str | None = None, numbers: Iterable[int] = ()) -> Markup:
    """Make a row of a table; the columns named in `numbers` are set as numbers."""
    numbers = set(numbers)
    return tag(
        "tr", *(tag("td", c, class_="number" if i in numbers else None) for i, c in enumerate(cells)), class_=class_
    )


def facts(pairs: Mapping[str, object]) -> Markup:
    """Make a list of names and values."""
    return tag("dl", *(tag("div", tag("dt", k), tag("dd", v)) for k, v in pairs.items()), class_="facts")


def figure(picture: Markup, caption: object, *, wide: bool = False) -> Markup:
    """Make a figure with its caption."""
    return tag("figure", picture, tag("figcaption", caption), class_="wide" if wide else None)


def anchor(label: str) -> str:
    """Make an id from a label: letters, digits and dashes only.

    >>> anchor('Judge "A" / base')
    'judge-a-base'
    """
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in label.lower())
    return "-".join(p for p in kept.split("-") if p) or "section"


def document(title: str, *body: object) -> str:
    """Make a page that needs nothing but itself: style inline, no script allowed, no address but ``data:``.

    `title`: title of the page. `*body`: content of the body.
    """
    style = files("judgestats.reporting").joinpath("style.css").read_text(encoding="utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="generator", content="judgestats"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', *body), lang='en')}\n"


# ---- Pictures -> inline SVG: text as text, no ids that clash, the same bytes for the same picture --------------------

#: Matplotlib's settings, fonts and parser are the process's: one thread draws at a time.
MATPLOTLIB = threading.RLock()
wait_for(MATPLOTLIB)


def inline(axes: Any, described: str, name: str) -> Markup:
    """Turn a picture into SVG that stands in a page.

    `axes`: what a function of :mod:`judgestats.reporting.plots` returned. `described`: what the picture shows, for
    readers who do not see it. `name`: unique in the page, so that ids of several pictures differ.
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

    `value`, `low`, `high`: the estimate and its interval. `start`, `end`: ends of the line; where it is symmetric, the
    middle is marked.
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
