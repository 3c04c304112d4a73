"""Replies read by a regular expression or a function of the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from judgestats.errors import SchemaError
from judgestats.ingest.reply_meaning import Meaning, Passage


def by_pattern(pattern: re.Pattern[str], meaning: Meaning) -> Callable[[str], Iterable[Passage]]:
    """Read by a regular expression: its named group, or its first."""
    group: str | int = next((n for n in ("choice", "score", "answer") if n in pattern.groupindex), "")
    group = group or next(iter(pattern.groupindex), "") or min(pattern.groups, 1)

    def search(text: str) -> Iterator[Passage]:
        for match in pattern.finditer(text):
            if match[group] is not None:
                yield Passage(match[group], meaning.of(match[group]))

    return search


def by_callable(parser: Callable[[str], object], meaning: Meaning) -> Callable[[str], Iterable[Passage]]:
    """Read by a function that gives a label, a number, a mapping with ``choice`` or ``score``, or None."""

    def call(text: str) -> Iterator[Passage]:
        try:
            value = parser(text)
        except Exception as error:
            raise SchemaError(
                f"form=: the parser failed on a reply that begins {text[:60]!r}: {type(error).__name__}: {error}. It "
                "should return None where it finds no answer."
            ) from error
        if isinstance(value, Mapping):
            choice, score = value.get("choice"), value.get("score", value.get("mean"))
            meant = meaning.of(choice) if choice is not None else meaning.of(score) if score is not None else None
            if meant is not None:
                strength, sd = (None if value.get(k) is None else float(value[k]) for k in ("strength", "sd"))
                meant = meant._replace(strength=strength if meant.strength is None else meant.strength, sd=sd)
            yield Passage(str(choice if choice is not None else score or ""), meant)
        elif value is not None and value == value:
            yield Passage(str(value), meaning.of(value))

    return call
