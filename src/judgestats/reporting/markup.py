"""HTML that is safe by construction: text is escaped unless it was made here."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files


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

    Parameters
    ----------
    value : object
        Anything from the data. None is nothing.

    Returns
    -------
    Markup

    Examples
    --------
    >>> text('<script>alert("1")</script>')
    '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'
    """
    if isinstance(value, Markup):
        return value
    plain = "" if value is None else str(value)
    return Markup(html.escape(_UNSEEN.sub(" ", _TURNING.sub("\ufffd", plain)), quote=True))


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Make an element.

    Parameters
    ----------
    name : str
        Name of the element.
    *content : object
        Markup as it is; anything else is escaped.
    **attributes : object
        ``class_`` for class; ``_`` in a name is ``-``; None leaves one out, True has no value.

    Returns
    -------
    Markup

    Examples
    --------
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

    Parameters
    ----------
    head : iterable
        Heads of the columns.
    rows : iterable of Markup
        ``tr`` elements.
    class_ : str, optional
        Class of the table.
    caption : object, optional
        Caption.
    numbers : iterable of int
        Columns that hold numbers.

    Returns
    -------
    Markup
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

    Examples
    --------
    >>> anchor('Judge "A" / base')
    'judge-a-base'
    """
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in label.lower())
    return "-".join(p for p in kept.split("-") if p) or "section"


def document(title: str, *body: object) -> str:
    """Make a page that needs nothing but itself: style inline, no script allowed, no address but ``data:``.

    Parameters
    ----------
    title : str
        Title of the page.
    *body : object
        Content of the body.

    Returns
    -------
    str
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
