"""What a reply holds besides its answer: the parts of its JSON object, and scores in lines of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from judgestats.design.rubric_dimensions import plain
from judgestats.ingest.json_replies import json_objects
from judgestats.ingest.record_fields import to_number
from judgestats.ingest.reply_meaning import DIGITS, PLUS_MINUS
from judgestats.ingest.reply_thoughts import without_thoughts
from judgestats.typing import Record

#: A value that a reply names, its reason; and with its name before both.
Mark = tuple[object, str | None]
Entry = tuple[str, object, str | None]
#: Slot of each side that a reply names.
SIDES = {"A": "first", "B": "second"}
#: A criterion with its score in a line of its own: ``- **Accuracy: 8.2 +/- 0.3** - why``.
_LINE = re.compile(
    r"^[ \t>]{0,8}(?:[-*•]|\d{1,2}[.)])?[ \t*_]{0,6}(?P<name>[^\W\d][\w &/-]{1,60}?)[*_]{0,3}(?: ?\([^()\n]{0,40}\))?"
    rf"[ \t*_]{{0,4}}[:=][ \t*_]{{0,4}}(?P<score>-?{DIGITS}(?:{PLUS_MINUS}{DIGITS})?)"
    r"(?: ?(?:/|out of) ?\d{1,3})?[*_]{0,3}(?=\s|[-–—.,;:]|$)[ \t*_]{0,4}(?:[-–—.,;:][ \t]?)?(?P<reason>[^\n]{0,2000})",
    re.M,
)


@lru_cache(maxsize=16)  # several parts of one reply are read in turn
def objects(text: str) -> list[Record]:
    """The JSON objects of a reply, not of its reasoning; an object within one is a list of tuples."""
    return [dict(pairs) for _, _, pairs, _ in json_objects(without_thoughts(text)[0]) if isinstance(pairs, list)]


def contents(text: str) -> list[Record]:
    """The JSON objects of a reply, objects within them too."""
    return [{key: nested(value) for key, value in each.items()} for each in objects(text)]


def nested(value: object) -> object:
    """JSON whose objects are lists of pairs, with objects."""
    if isinstance(value, list) and value and all(isinstance(x, tuple) for x in value):
        return {k: nested(v) for k, v in value}
    return [nested(v) for v in value] if isinstance(value, list) else value


def part_of(text: str, key: str) -> object:
    """A part of the JSON object in a reply; None without one."""
    return next((each[key] for each in contents(text) if key in each), None)


def explanation(text: str) -> str:
    """What the JSON object of a reply gives as its explanation; the whole reply where it gives none."""
    keys = ("explanation", "reasons", "reasoning")
    said = {str(each[k]) for each in objects(text) for k in keys if isinstance(each.get(k), str)}
    return said.pop() if len(said) == 1 else text


def side_scores(text: str) -> dict[str, dict[str, float]]:
    """Scores of each side by criterion: in an object ``scores``, or in two, ``scores_a`` and ``scores_b``."""
    scores = part_of(text, "scores")
    sides = scores if isinstance(scores, dict) else {s: part_of(text, f"scores_{s.lower()}") for s in SIDES}
    return {
        side: {c: float(x) for c, x in each.items() if isinstance(x, int | float) and not isinstance(x, bool)}
        for side, each in sides.items()
        if side in SIDES and isinstance(each, dict)
    }


def _agreed(entries: Iterable[Entry]) -> dict[str, Mark]:
    """Value and reason by name, of texts and numbers; a name that has two different values has none."""
    values: dict[str, Mark] = {}
    twice = set()
    for name, value, reason in entries:
        if isinstance(value, str | int | float):
            if name in values and values[name][0] != value:
                twice.add(name)
            values[name] = value, reason
    return {name: entry for name, entry in values.items() if name not in twice}


def line_marks(text: str) -> dict[str, Mark]:
    """Score and reason of each criterion that has a line of its own, by its plain name."""
    lines = (m.group("name", "score", "reason") for m in _LINE.finditer(without_thoughts(text)[0]))
    return _agreed((plain(n), float(s) if s.isdigit() else s, reason.strip() or None) for n, s, reason in lines)


def dimension_marks(text: str) -> tuple[dict[str, Mark], float]:
    """Score and reason of each dimension that a reply names, and the overall score it states."""
    several = objects(text)
    overall = {to_number(each["overall"]) for each in several if isinstance(each.get("overall"), int | float)}
    marks = _agreed(entry for each in several for entry in _dimensions(each.get("scores")))
    return marks or line_marks(text), overall.pop() if len(overall) == 1 else float("nan")


def _dimensions(scores: object) -> Iterator[Entry]:
    """Name, score and reason of each part of a list, or an object, of scores."""
    for mark in scores if isinstance(scores, list) else ():
        if isinstance(mark, tuple):
            yield plain(str(mark[0])), mark[1], None
        elif isinstance(mark, list) and all(isinstance(p, tuple) for p in mark):
            entry = dict(mark)
            reason = next((entry[k] for k in ("evidence", "reason") if isinstance(entry.get(k), str)), None)
            yield plain(str(entry.get("dimension", ""))), entry.get("score"), reason


def criterion_marks(text: str, criteria: Iterable[str]) -> dict[str, Mark]:
    """Score and reason of each criterion, in the JSON of a reply by its name; without JSON, in a line of its own."""
    several = objects(text)
    said: dict[str, Record] = {}
    for what in ("scores", "reasons"):
        parts = [each[what] for each in several if isinstance(each.get(what), list)]
        pairs = (pair for part in parts if all(isinstance(x, tuple) for x in part) for pair in part)
        said[what] = {name: value for name, (value, _) in _agreed((*pair, None) for pair in pairs).items()}
    if several:
        return {c: (said["scores"].get(c), said["reasons"].get(c)) for c in criteria}
    lines = line_marks(text)
    marks = {}
    for criterion in criteria:
        words = set(plain(criterion).split())
        names = [n for n in lines if n == plain(criterion)] or [n for n in lines if {*n.split()} & words == words]
        marks[criterion] = lines[names[0]] if len(names) == 1 else (None, None)
    return marks
