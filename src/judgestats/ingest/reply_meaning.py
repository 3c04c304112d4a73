"""What a text between delimiters means: a choice, a score, or nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from judgestats.ingest.native.arena_hard import LEVELS
from judgestats.ingest.reply_languages import CANDIDATE_WORDS, TIES

AnswerKind = Literal["choice", "score"]


class Answer(NamedTuple):
    """What one place of a reply says; None where it does not."""

    choice: str | None = None
    strength: float | None = None
    score: float | None = None
    sd: float | None = None
    out_of: float | None = None


class Passage(NamedTuple):
    """An answer, or None for a text that stands where an answer should."""

    raw: str
    answer: Answer | None
    sure: bool = True  # False if it may contradict an answer, but is none by itself
    task: bool = False  # whether it may answer the task, as in ``Answer: B``, so that a closed form decides over it


_SIDES = {"a": "first", "1": "first", "one": "first", "first": "first"}
_SIDES |= {"b": "second", "2": "second", "two": "second", "second": "second"}
_WORDS = dict.fromkeys(("tie", "tied", "a tie", "draw", "a draw", "equal", "equally good", "same", "the same"), "tie")
_WORDS |= dict.fromkeys(("both", "both equally", "both good", "both bad", "both are equally good"), "tie")
_WORDS |= dict.fromkeys(("both are good", "similar", "no preference", "no difference"), "tie")
_WORDS |= dict.fromkeys(("abstain", "abstention", "undecided", "cannot decide"), "abstain")
_WORDS |= dict.fromkeys(("can't decide", "unable to decide", "cannot tell"), "abstain")
_WORDS |= dict.fromkeys(
    ("equally bad", "both are equally bad", "both are bad", "both are equal", "they are equal"), "tie"
)
_WORDS |= dict.fromkeys(("equivalent", "neither is better", "neither response is better", "no winner"), "tie")
_WORDS |= dict.fromkeys(TIES, "tie")
NOUN = (
    "(?:assistant|response|answer|output|model|candidate|option|summary|story|system|translation|completion|essay|"
    "solution|submission|text)"
)
CANDIDATE = (
    rf"(?:the )?(?:(?:ai )?(?:{NOUN}|{CANDIDATE_WORDS})[ _]?#?[(\[\"']{{0,2}}([ab12]|"
    rf"one|two)(?![A-Za-z0-9_])[)\]\"']{{0,2}}|"
    rf"(first|second)(?: {NOUN}| one))(?:'s {NOUN})?"
)
_ONE_CANDIDATE = re.compile(CANDIDATE, re.I)
DIGITS = r"\d{1,9}(?:\.\d{1,9})?"
PLUS_MINUS = r"\s{0,3}(?:±|\+/-|\+-|\\pm)\s{0,3}"
NUMBER = re.compile(
    rf"(-?{DIGITS})(?:{PLUS_MINUS}({DIGITS}))?"
    rf"(?:\s{{0,3}}\(?(?:/|out of|of)\s{{0,3}}({DIGITS})|(%))?(?:\s(?:points?|stars?))?",
    re.I,
)
#: Two candidates in the order of their rank: ``[1,2]``.
LISTING = re.compile(r"[\s\"'*`]{0,4}\[{0,2}\s?([12])\s?[,>]\s?((?!\1)[12])\s?\]{0,2}[\s\"'*`.]{0,4}")
#: Quotation marks: how they open and close.
QUOTES = ("“”", "„“", "„”", "””", "«»", "»«", "‹›", "›‹", "‚‘", "「」", "『』", "《》", "〈〉", "〝〞", "＂＂", "❝❞")
_MARKS = "".join(dict.fromkeys("".join(QUOTES)))
EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff\ufe0f"
EDGES = _MARKS + " \t\r\n*`_\"'“”‘’[](){}|.,;:!#\u200b\ufeff\ufe0f🏆✅🥇👍🎉⭐✓✔"


@dataclass(frozen=True)
class Meaning:
    """The answers that texts stand for: the labels given, the usual names of two candidates, numbers."""

    kind: AnswerKind | None
    labels: Mapping[str, Any] = field(default_factory=dict)

    def of(self, raw: Any) -> Answer | None:
        """Return the answer that a text stands for."""
        text = str(raw)
        text = html.unescape(text) if "&" in text else text
        if self.labels and (listed := LISTING.fullmatch(text.strip())):  # its brackets are part of a label
            return self._labelled(f"[{listed[1]},{listed[2]}]") or self._labelled(f"{listed[1]},{listed[2]}")
        text = text.strip(EDGES)
        if raw is None or not text or len(text) > 100:
            return None
        if (labelled := self._labelled(text)) is not None:
            return labelled
        if self.kind != "score" and text.upper() == "C" and "[[" in str(raw):
            return Answer("tie")
        if self.kind != "score" and (side := self._choice(text)) is not None:
            return side
        return None if self.kind == "choice" or isinstance(raw, bool) else score_in(text)

    def _labelled(self, text: str) -> Answer | None:
        if text in self.labels:
            target = self.labels[text]
        else:
            same = {k: v for k, v in self.labels.items() if k.lower() == text.lower()}
            if len(set(same.values())) != 1:
                return None
            target = next(iter(same.values()))
        return Answer(choice=target) if isinstance(target, str) else Answer(score=float(target))

    def _choice(self, text: str) -> Answer | None:
        level = re.sub(r"\s", "", text).upper() if len(text) < 12 else ""
        if level in LEVELS:
            strength = LEVELS[level]
            return Answer("tie" if strength == 0.5 else "first" if strength < 0.5 else "second", strength)
        if match := _ONE_CANDIDATE.fullmatch(text):
            return self.side(match[1] or match[2])
        low = text.lower()
        if low.isdigit() and self.kind is None:
            return None
        label = _SIDES.get(low) or _WORDS.get(low)
        return Answer(label) if label else None

    def side(self, name: str) -> Answer | None:
        """Return the answer that the letter, number or place of a candidate stands for."""
        labelled = self._labelled(name)
        return Answer(_SIDES[name.lower()]) if labelled is None else labelled if labelled.choice else None


def score_in(text: str) -> Answer | None:
    """A number of a text that is nothing else, with its spread and its maximum."""
    match = NUMBER.fullmatch(text.rstrip(")"))
    if match is None:
        return None
    score, sd, of, percent = match.groups()
    return Answer(
        score=float(score), sd=None if sd is None else float(sd), out_of=float(of) if of else 100.0 if percent else None
    )
