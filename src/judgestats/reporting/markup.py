"""Templates whose values are all escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from judgestats import __version__

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_TURNING = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def visible(value: object) -> object:
    """A value as a page shows it: None is nothing, control characters are spaces, marks of direction are U+FFFD."""
    if isinstance(value, Markup):
        return value
    return _UNSEEN.sub(" ", _TURNING.sub("\ufffd", "" if value is None else str(value)))


#: Where a name may break; the most characters of one that needs no break, and of one that is shown whole.
_SEPARATOR = re.compile(r"[/\\_,=:-](?=\w)|\.(?=[A-Za-z])")
_SHORT, _WHOLE = 24, 40


def breakable(value: object) -> Markup:
    """A name that may break after its separators, and nowhere else; a short one is left as it is."""
    if len(str(value)) <= _SHORT:
        return escape(visible(value))
    return Markup(_SEPARATOR.sub(r"\g<0><wbr>", str(escape(visible(value)))))


def short(name: str) -> str:
    """A name of a file, a long one without its middle."""
    half = _WHOLE // 2
    return name if len(name) <= _WHOLE else f"{name[:half]}…{name[-half:]}"


def places(value: object) -> Markup:
    """Places in files (``calls.csv, line 3; calls.csv, line 9``): each file once, a long name without its middle."""
    parts: list[Markup] = []
    before = None
    for place in str(visible(value)).split("; "):
        name, comma, rest = place.partition(", line ")
        if not comma:
            parts.append(breakable(place))
            continue
        if name != before:
            label = short(name)
            file = breakable(label)
            file = file if label == name else Markup('<span title="{}">{}</span>').format(name, file)
            parts.append(Markup("{}, line {}").format(file, rest))
        else:
            parts.append(Markup("line {}").format(rest))
        before = name
    return Markup("; ").join(parts)


@cache
def environment() -> Environment:
    """The templates of the pages; what is put into them is escaped."""
    templates = Environment(
        loader=PackageLoader("judgestats.reporting"),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"breakable": breakable, "places": places}
    return templates


def page(template: str, **content: object) -> str:
    """A page that needs nothing but itself: style and script inline, and only this script allowed, by its hash."""
    folder = files("judgestats.reporting")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    context = {"policy": policy, "style": Markup(style), "script": Markup(script), "version": __version__}
    return environment().get_template(template).render(**context, **content)


def anchor(label: str) -> str:
    """Make an id from a label: letters, digits and dashes only."""
    letters = "".join(c if c.isascii() and c.isalnum() else "-" for c in label.lower())
    return "-".join(p for p in letters.split("-") if p) or "section"


def bar(
    value: float,
    low: float,
    high: float,
    *,
    start: float = 0.0,
    end: float = 1.0,
    mark: float | None = None,
    width: int = 96,
) -> dict[str, str | None] | None:
    """Where an estimate, its interval and a mark stand on a line from `start` to `end`; None without an estimate."""
    if not (value == value and end > start):
        return None

    def at(x: float) -> str:
        return f"{4 + (width - 8) * (min(max(x, start), end) - start) / (end - start):.1f}"

    ends = {"low": low, "high": high} if low == low and high == high else {"low": None, "high": None}
    places = {"at": value, **ends, "mark": 0.0 if mark is None and start < 0 else mark}
    return {name: None if x is None or x != x else at(x) for name, x in places.items()}
