"""Names of judges and systems that fit beside a picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from judgestats.reporting.estimate_rows import distinct

#: Shorter shared beginnings and ends stay; more names than these are not listed in a key.
LEAST_SHARED, MOST_IN_KEY = 5, 6


def label_width(labels: Iterable[str]) -> float:
    """Inches that the longest label takes, about."""
    return 0.075 * max((len(t) for t in labels), default=0)


def literal(text: object, *, lines: bool = False) -> str:
    """Escape text so that matplotlib shows it unchanged: no formula between dollar signs, no control characters.

    >>> literal("cost: $5\\tor $6")
    'cost: \\\\$5 or \\\\$6'
    """
    breaks = "\n" if lines else ""
    plain = "".join(c if c.isprintable() or c in breaks else " " for c in str(text))
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
    bare, remarks = without_shared(plain, width)
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
    fitting = Names(literal(label) for label in labels)
    fitting.key = "\n".join(remarks)
    return fitting


_BREAK = re.compile(r"[-_/ .:]")


def without_shared(names: list[str], width: int) -> tuple[list[str], list[str]]:
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


def numbered(names: Sequence[str]) -> list[str]:
    """Entries of a key: the number of each name, and the name.

    >>> numbered(["a", "b"])
    ['1  a', '2  b']
    """
    return [f"{i}  {name}" for i, name in enumerate(names, 1)]
