"""Replies of judges as text -> their answers: :func:`parse_verdicts`.

A form is a way of writing an answer. *Explicit* forms mark it: brackets, JSON, tags, a line with a key, a reply that is
nothing else. Only a reply without any of these is searched for the *other* forms: an answer on a line of its own,
``A>B`` or ``8.2 ± 0.3`` in prose, a sentence. All answers of an explicit form must be one answer, and so must those of
the other forms; a sentence that is conditional, negated or limited to one aspect may contradict, but answers nothing.

Every pattern is bounded or scanned once, so that the time is linear in the length of a reply.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import SchemaError, suggestion
from judgestats.ingest.native.arena_hard import LEVELS
from judgestats.schema.columns import CHOICES

AnswerKind = Literal["choice", "score"]
#: Names of forms, a regular expression, a parser, or None for all forms.
Form = str | Sequence[str] | re.Pattern[str] | Callable[[str], Any] | None

#: Forms that mark the answer, in the order in which one of them is named.
EXPLICIT = ("brackets", "json", "loose json", "tag", "line", "whole")
#: Forms that are tried where no explicit one occurs.
OTHERS = ("own line", "key", "comparison", "runs", "sentence")
#: Longest reply that is searched for them.
_LONGEST = 100_000
#: Forms whose end is marked, so that a reply that is cut off later has its answer.
_CLOSED = ("brackets", "json", "tag")


class Answer(NamedTuple):
    """What one place of a reply says; None where it does not."""

    choice: str | None = None
    strength: float | None = None
    score: float | None = None
    sd: float | None = None
    out_of: float | None = None


class Found(NamedTuple):
    """An answer, or None for a text that stands where an answer should.

    `sure`: False if it may contradict an answer, but is none by itself.
    `task`: whether it may be the answer to the task, as in ``Answer: B``, so that a closed form decides over it.
    """

    raw: str
    answer: Answer | None
    sure: bool = True
    task: bool = False


class Outcome(NamedTuple):
    """A row of :func:`parse_verdicts`."""

    answer: Answer
    status: str
    form: str = ""
    note: str = ""


# ---- What a text between delimiters means ----------------------------------------------------------------------------

_SIDES = {"a": "first", "1": "first", "one": "first", "first": "first"}
_SIDES |= {"b": "second", "2": "second", "two": "second", "second": "second"}
_WORDS = dict.fromkeys(
    ("tie", "tied", "a tie", "draw", "a draw", "equal", "equally good", "both", "both equally", "both good", "both bad",
     "both are equally good", "both are good", "same", "the same", "similar", "neither", "none", "no preference",
     "no difference"), "tie",
)  # fmt: skip
_WORDS |= dict.fromkeys(
    ("abstain", "abstention", "undecided", "cannot decide", "can't decide", "unable to decide", "cannot tell"),
    "abstain",
)
_NOUN = (
    "(?:assistant|response|answer|output|model|candidate|option|summary|story|system|translation|completion|essay|"
    "solution|submission|text)"
)
_CANDIDATE = (
    rf"(?:the )?(?:(?:ai )?{_NOUN}[ _]?[(\[\"']{{0,2}}([ab12]|one|two)\b[)\]\"']{{0,2}}|"
    rf"(first|second)(?: {_NOUN}| one))(?:'s {_NOUN})?"
)
_ONE_CANDIDATE = re.compile(_CANDIDATE, re.I)
_N = r"\d{1,9}(?:\.\d{1,9})?"
_PLUS_MINUS = r"\s{0,3}(?:±|\+/-|\+-|\\pm)\s{0,3}"
_NUMBER = re.compile(
    rf"(-?{_N})(?:{_PLUS_MINUS}({_N}))?(?:\s{{0,3}}\(?(?:/|out of)\s{{0,3}}({_N})|(%)|\s(?:points?|stars?))?", re.I
)
_EDGES = " \t\r\n*`_\"'“”‘’[](){}.,;:!#>\u200b\ufeff"


@dataclass(frozen=True)
class _Meaning:
    """The answers that texts stand for: the labels given, the usual names of two candidates, numbers."""

    kind: AnswerKind | None
    labels: Mapping[str, Any] = field(default_factory=dict)

    def of(self, raw: Any) -> Answer | None:
        """Return the answer that a text stands for."""
        text = str(raw)
        text = (html.unescape(text) if "&" in text else text).strip(_EDGES)
        if raw is None or not text or len(text) > 100:
            return None
        if (labelled := self._labelled(text)) is not None:
            return labelled
        if self.kind != "score" and str(raw).strip(" *.") == "[[C]]":
            return Answer("tie")
        if self.kind != "score" and (side := self._choice(text)) is not None:
            return side
        return None if self.kind == "choice" or isinstance(raw, bool) else _number(text)

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
        known = _SIDES.get(low) or _WORDS.get(low)
        return Answer(known) if known else None

    def side(self, name: str) -> Answer | None:
        """Return the answer that the letter, number or place of a candidate stands for."""
        labelled = self._labelled(name)
        return Answer(_SIDES[name.lower()]) if labelled is None else labelled if labelled.choice else None


def _number(text: str) -> Answer | None:
    match = _NUMBER.fullmatch(text.rstrip(")"))
    if match is None:
        return None
    score, sd, of, percent = match.groups()
    return Answer(
        score=float(score), sd=None if sd is None else float(sd), out_of=float(of) if of else 100.0 if percent else None
    )


# ---- Explicit forms --------------------------------------------------------------------------------------------------

_CHOICE_KEY = (
    r"(?:winner|winning|verdict|choice|chosen|preference|preferred|decision|selection|selected|answer|judge?ment|better|"
    rf"best|result)(?:[ _-]?{_NOUN}|[ _-]?one|[ _-]?label|[ _-]?verdict|[ _-]?choice)?"
)
_SCORE_KEY = (
    r"(?:(?:total|stabili[sz]ed|mean|average|weighted|quality)[ _-]){0,3}(?:score|rating|grade|points|mark)|"
    r"(?:(?<=final[ _-])|(?<=overall[ _-]))(?:score|rating|grade)|overall|total"
)
_FINAL = r"(?:(?:final|overall)[ _-]?)"
_KEY = rf"(?P<final>{_FINAL})?(?:(?P<choice>{_CHOICE_KEY})|(?P<score>{_SCORE_KEY}))"
_KEY_ONLY = re.compile(_KEY, re.I)
_BRACKETS = re.compile(r"(?:(?<!\w)|(?=\[\[\D))\[\[([^\[\]\n]{1,60})\]\]")
_TAG = re.compile(rf"<(?P<tag>{_KEY})>([^<]{{0,400}})</(?P=tag)>", re.I)
_OPEN_TAG = re.compile(rf"<(?:{_FINAL})?(?:{_CHOICE_KEY}|{_SCORE_KEY})>[^<]{{0,400}}$", re.I)
_THOUGHT = re.compile(r"<(/?)(think|thinking|reasoning|rationale|explanation|analysis|justification|scratchpad)>", re.I)
_LINE = re.compile(
    r"^[ \t>#\-•_\[]{0,12}(?:\d{1,2}[.)] )?(?:(?:so|therefore|thus|hence|my|the|your),? ){0,3}"
    rf"{_KEY}[ \t_\]]{{0,6}}(?P<sign>[:=：]|is\b|$)[ \t_:]{{0,8}}(?:\n[ \t]{{0,8}}){{0,3}}"
    r"(?=(?P<value>[^\n]{1,160}))",
    re.I | re.M,
)
_HEAD = re.compile(r"[,;] |[,;]$|\. |\(|\s[-–—]{1,2}\s|: |\s(?=(?:because|since|as|due|given|for|is|was|wins)\b)")
_ANOTHER_ASPECT = re.compile(rf"(?:^|[,;] ?)(?:(?:and|but) )?(?:{_CANDIDATE}|([AB])) (?:for|in|on)\b", re.I)
_BETTER = re.compile(r"(?:is|was)(?: \w{1,15}){0,2} (?:better|best|superior|preferable|stronger|winner)\b|wins\b", re.I)


def _brackets(meaning: _Meaning, text: str) -> Iterator[Found]:
    for match in _BRACKETS.finditer(text):
        if match[1].strip(_EDGES):
            yield Found(match[1], meaning.of(match[0]))


def _preferred(meaning: _Meaning, values: Iterable[tuple[bool, Any]]) -> list[Found]:
    """Answers under keys: (whether the key is that of a score, value)."""
    found = [
        (scored, Found(str(value), meaning.of(value)))
        for scored, value in values
        if meaning.kind != "choice" or not scored or str(value) in meaning.labels
    ]
    if meaning.kind == "score" and any(scored and f.answer for scored, f in found):
        return [f for scored, f in found if scored]
    return [f for _, f in found]


def _tags(meaning: _Meaning, text: str) -> list[Found]:
    matches = [m for m in _TAG.finditer(text) if m[m.re.groups].strip(_EDGES)]
    return _preferred(meaning, ((bool(m["score"]), m[m.re.groups]) for m in matches))


def _lines(meaning: _Meaning, text: str) -> list[Found]:
    """Lines with a key: ``Verdict: A``; those that are called final are the answer where there are any."""
    found: list[tuple[bool, bool, Found]] = []  # whether the key is that of a score, whether it says final
    for match in _LINE.finditer(text.replace("*", "").replace("`", "")):
        value = match["value"].strip().removeprefix("that ")
        if meaning.kind == "choice" and match["score"] and value.strip(_EDGES) not in meaning.labels:
            continue
        answers = _leading(meaning, value)
        if not answers and (match["sign"] not in ":=：" or len(value) > 20 or not match["sign"]):
            continue
        final = bool(match["final"]) or (match["score"] or "").lower() == "overall"
        task = (match["choice"] or "").lower().startswith(("answer", "result"))
        given: Sequence[Answer | None] = answers or [None]
        found += [(bool(match["score"]), final, Found(value, a, task=task)) for a in given]
    if meaning.kind == "score" and any(scored and f.answer for scored, _, f in found):
        found = [f for f in found if f[0]]
    called_final = {f.task for _, final, f in found if final and f.answer}
    return [f for _, final, f in found if final or f.task not in called_final]


def _leading(meaning: _Meaning, value: str) -> list[Answer]:
    """Answers of the value of a line: the whole, or what stands before a reason; a second candidate named counts."""
    if answer := meaning.of(value):
        return [answer]
    match = _HEAD.search(value)
    answer = meaning.of(value[: match.start()]) if match else None
    if match is None or answer is None:
        return []
    rest = value[match.start() :].strip(" ,;(.-–—:")
    if rest[:1].isdigit() or (rest.startswith(("is ", "was ")) and not _BETTER.match(rest)):
        return []
    if match[0].strip() in ("(", "-", "–", "—", "--", ":") or re.match(
        r"(?:because|since|as|due|given|is|was)\b", rest
    ):
        return [answer]
    others = [meaning.side(m[1] or m[2] or m[3]) for m in _ANOTHER_ASPECT.finditer(rest)]
    return [answer, *(other for other in others if other is not None)]


_OBJECT = re.compile(r"\{\s{0,20}[\"}]")
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=list)
_LOOSE = re.compile(
    rf"[\"']{_KEY}[\"']\s{{0,9}}:\s{{0,9}}(?:\"(?P<two>[^\"\n]{{0,100}})\"|'(?P<one>[^'\n]{{0,100}})'|(?P<bare>-?{_N}))"
    r"\s{0,9}(?=[,}\n])",
    re.I,
)


def json_objects(text: str) -> Iterator[tuple[int, int, Any, bool]]:
    """JSON objects in a text: start, end, pairs, whether in one that is damaged. After 100 failures no more is read."""
    at = failures = damaged = 0
    while failures < 100 and (match := _OBJECT.search(text, at)):
        start = match.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            at, damaged = start + 1, max(damaged, error.pos)
            failures += 1
        except RecursionError:
            return
        else:
            yield start, at, value, start < damaged


def _keyed(pairs: Any, depth: int = 0) -> list[tuple[bool, Any]]:
    """Values of the keys of an answer, at the shallowest depth where there are any: (whether a score, value)."""
    if not isinstance(pairs, list) or not all(isinstance(p, tuple) for p in pairs):
        return []
    here: list[tuple[bool, Any]] = []
    values = dict(pairs)
    for key, value in pairs:
        match = _KEY_ONLY.fullmatch(key.strip())
        if match and not (isinstance(value, list) and value and isinstance(value[0], tuple)):
            here.append((bool(match["score"]), value))
        elif key in ("ordered_models", "ranking") and (first := _ranked_first(value)) is not None:
            here.append((False, first))
    spread = next((values[k] for k in ("sd", "std", "sigma") if k in values), None)
    if "mean" in values and spread is not None:
        here.append((True, f"{values['mean']} ± {spread}"))
    if here or depth == 3:
        return here
    return [found for _, value in pairs for found in _keyed(value, depth + 1)]


def _ranked_first(ranking: Any) -> Any:
    """The candidate of rank 1 in a list of objects with a model and a rank."""
    entries = [dict(e) for e in ranking if isinstance(e, list)] if isinstance(ranking, list) else []
    first = [e.get("model") for e in entries if e.get("rank") == 1]
    return first[0] if len(first) == 1 else None


def _json(meaning: _Meaning, text: str) -> tuple[list[Found], str, str]:
    """Answers in JSON objects, the text without these objects, and what is wrong with an object that is the reply."""
    found: list[Found] = []
    rest, last, problem = [], 0, ""
    head, tail = len(text) - len(text.lstrip(" \n\r\t`json")), len(text.rstrip(" \n\r\t`"))
    for start, end, value, damaged in json_objects(text):
        keyed = _keyed(value)
        alone = start == head and end == tail
        if keyed or alone:
            rest.append(text[last:start])
            last = end
        found += [f._replace(sure=not damaged) for f in _preferred(meaning, keyed)]
        if alone and not keyed:
            keys = [str(p[0]) for p in value if isinstance(p, tuple)]
            failed = {"error": "error", "refusal": "refused"}
            problem = next((failed[k] for k in keys if k in failed and dict(value)[k]), "")
            problem = problem or f"no key of an answer: {', '.join(keys[:8]) or 'no keys'}"
    return found, "\n".join([*rest, text[last:]]), problem


def _loose(meaning: _Meaning, text: str) -> list[Found]:
    """Answers under quoted keys of an object that is no JSON, but is closed."""
    closed = text.rfind("}")
    if text.find("{") == -1 or closed == -1:
        return []
    values = ((bool(m["score"]), m["two"] or m["one"] or m["bare"] or "") for m in _LOOSE.finditer(text, 0, closed + 1))
    return _preferred(meaning, values)


# ---- Other forms -----------------------------------------------------------------------------------------------------

_ADVERBS = r"(?: (?:clearly|slightly|much|significantly|overall|far|marginally|generally|therefore|thus|the|a|an)){0,3}"
_BEST = rf"(?:better|best|superior|preferable|stronger|winner)(?: {_NOUN}| ai assistant| one)?"
_BARE = r"(?:(?:(?<=^)|(?<=\n)|(?<=[.,;:!] )|(?<=that )|(?<=think )|(?<=believe )|(?<=conclude ))(?-i:([AB])))"
_SENTENCES = re.compile(
    rf"\b{_CANDIDATE} (?:(?:is|was){_ADVERBS} {_BEST}|(?:wins|won)|(?:provides|provided|gives|gave|offers|offered|has)"
    rf"{_ADVERBS} {_BEST})\b"
    rf"|{_BARE} (?:(?:is|was){_ADVERBS} {_BEST}|(?:wins|won))\b"
    rf"|\bI(?:'d| would)? (?:prefer|choose|pick|select|vote for|go with) {_CANDIDATE}"
    rf"|\b(?:better|best|preferred|winning|winner|verdict|choice)(?: {_NOUN}| one)? is:? {_CANDIDATE}",
    re.I,
)
_EQUAL = re.compile(
    r"\b(?:(?:it|this|the result|the verdict) is|it's|call it|declare) a (?:tie|draw)\b|"
    r"\b(?:equally good|of equal quality|equally well)\b",
    re.I,
)
_HEDGE = re.compile(
    r"\b(?:not|never|neither|nor|if|whether|unless|might|may|could|should|would|some|hard|difficult|cannot|although|"
    r"though|while|despite)\b|n't\b",
    re.I,
)
_LIMITED = re.compile(
    rf"(?: than {_CANDIDATE})? (?:in|on|at|for|with|when|if|by|from|regarding|except|but only)\b", re.I
)
_KEY_IN_LINE = re.compile(rf"(?<=[\s(]){_KEY}[ \t]{{0,3}}[:=][ \t]{{0,3}}(?=(?P<value>[^\n]{{1,160}}))", re.I)
_COMPARISON = re.compile(r"(?<![\w<>=])[AB]\s?(?:<<|>>|<|>|=)\s?[AB](?![\w<>=])")
_CONCLUDES = re.compile(r"\b(?:say|verdict|think|conclude|prefer|judge|overall|therefore|final)\b", re.I)
_SPREAD = re.compile(rf"(?<![\d.\w/-])-?\d{{1,3}}(?:\.\d{{1,9}})?{_PLUS_MINUS}{_N}")
_RUNS = re.compile(r"\b(?:score|rating|rate|grade|mean|average|runs?|overall|total)\b|^\W{0,300}$", re.I)
_FRACTION = re.compile(
    r"(?<![\d/.\w-])\d{1,3}(?:\.\d{1,9})?(?:\s?/\s?| out of )\d{1,3}(?![\d/]|\.\d)|"
    r"(?:(?<=score of )|(?<=rating of ))\d{1,3}(?:\.\d{1,9})?\b",
    re.I,
)
_ANOTHER = re.compile(r"\s?(?:-|–|to|or|and|/)\s?\d")
_RATES = re.compile(r"\b(?:rate|rated|rating|give|gave|score|scores|assign|award|grade|deserves|earns)\b", re.I)
_NO_RATING = re.compile(
    r"\b(?:not|never|could|might|if|rather|instead|almost|nearly|between|least|most|up to)\b|n't\b", re.I
)
_ENDS = re.compile(r"[.!?\n](?=\s|$)|\n")


def _before(text: str, start: int) -> str:
    """The sentence of a place, up to it; at most 300 characters."""
    return _ENDS.split(text[max(0, start - 300) : start])[-1]


def _after(text: str, end: int) -> str:
    """The sentence of a place, from it on, with its mark; at most 300 characters."""
    rest = text[end : end + 300]
    stop = _ENDS.search(rest)
    return rest[: stop.end()] if stop else rest


def _own_line(meaning: _Meaning, text: str) -> Iterator[Found]:
    """The first and the last line, where it is an answer and nothing else; a number that ends prose is no choice."""
    lines = text.strip().split("\n")
    for at, line in ((0, lines[0].strip()), (-1, lines[-1].strip())) if len(lines) > 1 else ():
        answer = meaning.of(line) if len(line) < 60 else None
        if answer is None or (answer.score is not None and answer.score >= 1000):
            continue
        if at == 0 or not answer.choice or not line.strip(_EDGES).isdigit() or meaning.labels:
            yield Found(line, answer)


def _keys(meaning: _Meaning, text: str) -> Iterator[Found]:
    """A key within a line: ``..., so I conclude with verdict: A``."""
    for match in _KEY_IN_LINE.finditer(text.replace("*", "").replace("`", "")):
        if meaning.kind != "choice" or not match["score"] or match["value"].strip(_EDGES) in meaning.labels:
            sure = not _HEDGE.search(_before(match.string, match.start()))
            for answer in _leading(meaning, match["value"].strip()):
                yield Found(match["value"], answer, sure)


def _comparisons(meaning: _Meaning, text: str) -> Iterator[Found]:
    for match in _COMPARISON.finditer(text):
        before = _before(text, match.start())
        sure = "=" not in match[0] and bool(_CONCLUDES.search(before)) and not re.search(r"\bif\b", before, re.I)
        yield Found(match[0], meaning.of(match[0]), sure)


def _runs(meaning: _Meaning, text: str) -> Iterator[Found]:
    for match in _SPREAD.finditer(text) if meaning.kind != "choice" else ():
        yield Found(match[0], meaning.of(match[0]), bool(_RUNS.search(_before(text, match.start()))))


def _sentences(meaning: _Meaning, text: str) -> Iterator[Found]:
    text = text.replace("*", "").replace("`", "").replace("’", "'")
    for match in (*_SENTENCES.finditer(text), *_EQUAL.finditer(text)) if meaning.kind != "score" else ():
        name = next((g for g in match.groups() if g), None)
        before, after = _before(text, match.start()), _after(text, match.end())
        sure = not (_HEDGE.search(before) or _LIMITED.match(after) or after.rstrip().endswith("?"))
        yield Found(match[0], meaning.side(name) if name else Answer("tie"), sure)
    for match in _FRACTION.finditer(text) if meaning.kind != "choice" else ():
        answer = _number(match[0])
        if answer is None or _ANOTHER.match(text, match.end()):
            continue
        before = _before(text, match.start())
        yield Found(match[0], answer, bool(_RATES.search(before)) and not _NO_RATING.search(before))


_TRIED: dict[str, Callable[[_Meaning, str], Iterable[Found]]] = {
    "brackets": _brackets,
    "tag": _tags,
    "line": _lines,
    "own line": _own_line,
    "key": _keys,
    "comparison": _comparisons,
    "runs": _runs,
    "sentence": _sentences,
}


# ---- One reply -------------------------------------------------------------------------------------------------------

_REFUSED = re.compile(
    r"\W{0,9}(?:as an? (?:ai|language|large)[^.\n]{0,60}?,? )?"
    r"(?:i'?m sorry|i am sorry|sorry|i apologi[sz]e|unfortunately)?[,.]?(?: but)?\s{0,2}"
    r"i(?:'m| am)? ?(?:can'?t|can ?not|won'?t|will not|must decline|unable|not able|decline)(?: to)?(?: \w{1,12})? ?"
    r"(?:assist|help|comply|evaluate|judge|rate|compare|provide|engage|participate|fulfil|rank|do that)\b",
    re.I,
)
_FINISH = {
    "length": "truncated", "max_tokens": "truncated", "max_output_tokens": "truncated", "model_length": "truncated",
    "content_filter": "refused", "refusal": "refused", "safety": "refused", "error": "error",
}  # fmt: skip


def _without_thoughts(text: str) -> tuple[str, bool]:
    """A reply without what stands in tags of reasoning, and whether such a tag is left open."""
    kept: list[str] = []
    depth, last = 0, 0
    for match in _THOUGHT.finditer(text):
        if match[1] and depth == 0:  # only the closing tag is there: all before it is reasoning
            kept = []
        elif match[1]:
            depth -= 1
        else:
            if depth == 0:
                kept.append(text[last : match.start()])
            depth += 1
        last = match.end()
    return "".join([*kept, "" if depth else text[last:]]), depth > 0


def _is_open(text: str) -> bool:
    """Whether a reply ends inside brackets, a tag, a fence or an object."""
    tail = text[-500:]
    bare = text.strip(" \n\r\t`")
    cut = bare.removeprefix("json").lstrip().startswith("{") and not bare.endswith("}")
    return bool(
        cut or re.search(r"\[\[[^\[\]\n]{0,60}$|\(\w?$", tail) or _OPEN_TAG.search(tail) or text.count("```") % 2
    )


def _pooled(found: Sequence[tuple[str, Found]]) -> Outcome | None:
    """The one answer of what was found, or that there are two; None if nothing is an answer."""
    answers = [(form, f) for form, f in found if f.answer is not None]
    sure = [(form, f) for form, f in answers if f.sure]
    distinct = {f.answer.choice if f.answer.choice else f.answer.score for _, f in answers if f.answer}
    strengths = {f.answer.strength for _, f in answers if f.answer} - {None}
    spreads = {f.answer.sd for _, f in answers if f.answer} - {None}
    letters = [f.raw.strip(_EDGES) for form, f in found if f.answer is None and form in _CLOSED]
    odd = [raw for raw in letters if len(raw) == 1 and raw.isalpha()]
    if len(distinct) > 1 or len(strengths) > 1 or len(spreads) > 1 or (answers and odd):
        shown = dict.fromkeys([*(f.raw.strip(_EDGES)[:25] for _, f in answers), *odd])
        return Outcome(Answer(), "parse", "", f"two answers: {', '.join(list(shown)[:4])}")
    if not sure:
        return None
    form, best = sure[0]
    assert best.answer is not None
    if best.answer.choice == "invalid":
        return Outcome(Answer(), "parse", form, f"invalid by labels=: {best.raw.strip(_EDGES)!r}")
    return Outcome(best.answer._replace(strength=next(iter(strengths), None), sd=next(iter(spreads), None)), "ok", form)


@dataclass(frozen=True)
class _Parser:
    """All that is needed to read one reply."""

    meaning: _Meaning
    forms: Collection[str]
    own: Callable[[str], Iterable[Found]] | None
    own_name: str
    scale: tuple[float, float] | None
    hidden: re.Pattern[str] | None

    def outcome(self, text: str | None, finish: str) -> Outcome:
        """Read one reply; `finish`: why it ended, where this is known."""
        ended = _FINISH.get(finish.lower(), "")
        if text is None or not text.strip(" \t\r\n\u200b\ufeff"):
            return Outcome(Answer(), ended or "empty", "", "no text")
        if text.strip().strip("$") == "ERROR":
            return Outcome(Answer(), "error", "", "an error in place of a reply")
        if self.hidden is not None and (match := self.hidden.search(text)):
            return Outcome(Answer(), "leak", "", f"a hidden text: {match[0]!r}")
        found = self._by_form(text, ended, finish) if self.own is None else self._by_own(text, ended)
        return self._checked(found)

    def _by_own(self, text: str, ended: str) -> Outcome:
        assert self.own is not None
        found = [(self.own_name, f) for f in self.own(text)]
        result = _pooled(found)
        if result is None and found and found[0][1].raw:
            return Outcome(Answer(), "schema", "", f"unknown answer: {found[0][1].raw[:60]!r}")
        return result or Outcome(Answer(), ended or "parse", "", "no answer")

    def _by_form(self, text: str, ended: str, finish: str) -> Outcome:
        text, thinking = _without_thoughts(text) if "<" in text else (text, False)
        found: list[tuple[str, Found]] = []
        rest, problem = text, ""
        if "json" in self.forms and "{" in text:
            answers, rest, problem = _json(self.meaning, text)
            found += [("json", f) for f in answers]
        found = [("brackets", f) for f in self._tried("brackets", rest)] + found
        if "loose json" in self.forms and not any(form == "json" and f.sure for form, f in found) and not problem:
            found += [("loose json", f) for f in _loose(self.meaning, rest)]
        found += [("tag", f) for f in self._tried("tag", rest)]
        marked = any(f.answer for _, f in found)
        found += [("line", f) for f in self._tried("line", rest) if not (marked and f.task)]
        whole = self.meaning.of(rest) if "whole" in self.forms and len(rest) < 100 else None
        if whole is not None and (whole.score is None or whole.score < 1000):
            found.append(("whole", Found(rest, whole)))
        result = _pooled(found)
        if result is not None:
            if ended == "truncated" and result.status == "ok" and result.form not in _CLOSED:
                return Outcome(Answer(), ended, "", f"cut off: {rest.strip()[-30:]!r}")
            return result
        if ended:
            return Outcome(Answer(), ended, "", f"finish reason: {finish}")
        if problem in ("error", "refused"):
            return Outcome(Answer(), problem, "json", f"an object with {problem}")
        if _REFUSED.match(text.lstrip().replace("’", "'")):
            return Outcome(Answer(), "refused", "", "a refusal in place of an answer")
        if thinking or _is_open(rest):
            return Outcome(Answer(), "truncated", "", "ends inside a tag, brackets, a fence or an object")
        unknown = [(form, f) for form, f in found if f.answer is None]
        if problem or unknown:
            return Outcome(
                Answer(), "schema", unknown[0][0] if unknown else "json",
                problem or f"unknown answer: {unknown[0][1].raw.strip()[:60]!r}",
            )  # fmt: skip
        if len(rest) > _LONGEST:
            return Outcome(Answer(), "parse", "", "no answer in an explicit form")
        result = _pooled([(form, f) for form in OTHERS for f in self._tried(form, rest)])
        return result or Outcome(Answer(), "parse", "", "no answer")

    def _tried(self, form: str, text: str) -> Iterable[Found]:
        return _TRIED[form](self.meaning, text) if form in self.forms else ()

    def _checked(self, found: Outcome) -> Outcome:
        """A score beyond its own maximum or off the scale is none."""
        answer = found.answer
        if answer.score is None:
            return found
        if answer.out_of is not None and answer.score > answer.out_of:
            note = f"above the maximum: {answer.score:g} out of {answer.out_of:g}"
            return Outcome(Answer(), "semantic", found.form, note)
        if self.scale is not None:
            if answer.out_of not in (None, self.scale[1]):
                return Outcome(Answer(), "off scale", found.form, f"another maximum: out of {answer.out_of:g}")
            if not self.scale[0] <= answer.score <= self.scale[1]:
                return Outcome(Answer(), "off scale", found.form, f"off the scale: {answer.score:g}")
        return found._replace(note="self-reported runs") if answer.sd is not None else found


# ---- A parser of the user --------------------------------------------------------------------------------------------


def _by_pattern(pattern: re.Pattern[str], meaning: _Meaning) -> Callable[[str], Iterable[Found]]:
    """Read by a regular expression: its named group, or its first."""
    group: str | int = next((n for n in ("choice", "score", "answer") if n in pattern.groupindex), "")
    group = group or next(iter(pattern.groupindex), "") or min(pattern.groups, 1)

    def search(text: str) -> Iterator[Found]:
        for match in pattern.finditer(text):
            if match[group] is not None:
                yield Found(match[group], meaning.of(match[group]))

    return search


def _by_callable(parser: Callable[[str], Any], meaning: _Meaning) -> Callable[[str], Iterable[Found]]:
    """Read by a function that gives a label, a number, a mapping with ``choice`` or ``score``, or None."""

    def call(text: str) -> Iterator[Found]:
        try:
            value = parser(text)
        except Exception as error:
            raise SchemaError(
                f"form=: the parser failed on a reply that begins {text[:60]!r}: {type(error).__name__}: {error}. It "
                "should return None where it finds no answer."
            ) from error
        if isinstance(value, Mapping):
            choice, score = value.get("choice"), value.get("score", value.get("mean"))
            given = meaning.of(choice) if choice is not None else meaning.of(score) if score is not None else None
            if given is not None:
                strength, sd = (None if value.get(k) is None else float(value[k]) for k in ("strength", "sd"))
                given = given._replace(strength=strength if given.strength is None else given.strength, sd=sd)
            yield Found(str(choice if choice is not None else score or ""), given)
        elif value is not None and value == value:
            yield Found(str(value), meaning.of(value))

    return call


# ---- The public function ---------------------------------------------------------------------------------------------


def parse_verdicts(
    texts: Iterable[Any] | str,
    *,
    form: Form = None,
    answer: AnswerKind | None = None,
    labels: Mapping[Any, Any] | None = None,
    scale: tuple[float, float] | None = None,
    finish: Iterable[Any] | None = None,
    hidden: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Read the answers out of the replies of judges.

    A reply that does not say one thing is invalid, with the reason in its row; nothing is guessed.

    Parameters
    ----------
    texts : sequence of str, or Series
        The replies. The index of a Series is kept.
    form : str, sequence of str, regular expression or callable, optional
        The forms that count, by default all. Explicit forms: ``brackets`` (``[[A]]``, ``[[A>>B]]``, ``[[8]]``),
        ``json`` (with or without fences and prose around it), ``loose json`` (single quotes, a trailing comma),
        ``tag`` (``<verdict>A</verdict>``), ``line`` (``Winner: A``, ``Rating: 7/10``), ``whole`` (the reply is the
        answer). Others, read only where no explicit form occurs, in at most 100,000 characters: ``own line`` (the
        first or last line is the answer), ``key`` ("... I conclude with verdict: A"), ``comparison`` (``A>B`` in
        prose), ``runs`` (``8.2 ± 0.3`` in prose), ``sentence`` ("Therefore, Assistant A is better.").

        Or a parser: a regular expression (a text with a group, or a compiled one), whose group ``choice``, ``score``,
        first named or first group is the answer; or a function of the reply that returns a label, a number, a mapping
        with ``choice`` or ``score``, or None.
    answer : {'choice', 'score'}, optional
        What the replies hold. By default what `labels` or `scale` imply, else both; numbers are then scores, and
        replies ``1`` and ``2`` are invalid where no other number occurs, because they may name the candidates.
    labels : mapping, optional
        What an answer means: a choice (``first``, ``second``, ``tie``, ``abstain``, ``invalid``) or a score:
        ``{"C": "tie"}``, ``{"pass": 1, "fail": 0}``. A, B, 1, 2, first, second (alone or after assistant, response,
        output, ...) and words for a tie need no entry, nor does ``[[C]]``, a tie.
    scale : (float, float), optional
        Lowest and highest score. One outside, or given out of another maximum, has status ``off scale``.
    finish : sequence of str, optional
        Why each reply ended (``stop``, ``length``, ``content_filter``, ...). A reply cut off counts only if its answer
        is in brackets, JSON or a tag.
    hidden : sequence of str
        Texts that the judge was not shown, such as the names of the models. A reply that has one gets status ``leak``.

    Returns
    -------
    pandas.DataFrame
        One row per reply. ``choice`` and, where graded, ``strength``; or ``score`` and, where a reply reports a mean
        and a standard deviation of runs, ``mean`` and ``sd``. ``status``: ``ok``, ``empty``, ``truncated``,
        ``refused``, ``error``, ``parse`` (no answer, or two), ``schema`` (an unknown answer in an explicit form),
        ``semantic`` (11 out of 10), ``off scale`` or ``leak``. ``reply_form``: the form that gave the answer.
        ``reply_note``: the reason of a status (``two answers: A, B``), or ``self-reported runs``.

    Raises
    ------
    SchemaError
        If an argument is not valid, or the parser given fails.

    See Also
    --------
    read : ``read(file, parse="auto", columns={"choice": "reply", ...})`` reads a column of replies.
    validity_gates : The share of replies that pass each check.

    Notes
    -----
    An explicit answer decides over prose. Two different explicit answers are ``two answers``, also where one quotes
    the instruction, unless a line calls one final (``Final verdict: A`` after ``Verdict: B``). Reasoning in tags
    (``<think>``) and strings inside JSON are not searched. Conditional, negated or limited sentences ("better in
    style") answer nothing, but may contradict.

    Examples
    --------
    >>> parse_verdicts(["B is longer, but A is right. [[A]]", '```json\n{"winner": "tie"}\n```',
    ...                 "Either [[A]] or [[B]]", "I'm sorry, but I can't help with that."])
        choice   status reply_form                       reply_note
    0    first       ok   brackets
    1      tie       ok       json
    2  invalid    parse                           two answers: A, B
    3  invalid  refused             a refusal in place of an answer
    >>> parse_verdicts(["Rating: 7/10", "Final score: 8.2 +/- 0.3"])[["score", "sd", "reply_note"]]
       score   sd          reply_note
    0    7.0  NaN
    1    8.2  0.3  self-reported runs
    """
    index = texts.index if isinstance(texts, pd.Series) else None
    replies = [texts] if isinstance(texts, str) else list(texts)
    ends = [""] * len(replies) if finish is None else [e if isinstance(e, str) else "" for e in finish]
    if len(ends) != len(replies):
        raise SchemaError(f"finish= has {len(ends)} values for {len(replies)} replies. Give one for each.")
    parser = _parser(form, answer, labels, scale, hidden)
    known: dict[tuple[str | None, str], Outcome] = {}
    rows = []
    for reply, end in zip(replies, ends, strict=True):
        key = (reply if isinstance(reply, str) else None if pd.isna(reply) else str(reply), end)
        if key not in known:
            known[key] = parser.outcome(*key)
        rows.append(known[key])
    return _frame(_undecided(rows, parser), parser.meaning.kind, index)


def _parser(form: Form, answer: AnswerKind | None, labels: Any, scale: Any, hidden: Sequence[str]) -> _Parser:
    """The parser that the arguments describe; refuse those that are not valid."""
    if answer not in (None, "choice", "score"):
        raise SchemaError(f"answer={answer!r} is not known. Allowed: 'choice', 'score'.")
    if scale is not None and not scale[0] < scale[1]:
        raise SchemaError(f"scale={scale!r} should be the lowest and the highest score, such as (1, 10).")
    given = {str(k).strip(): _target(v) for k, v in (labels or {}).items()}
    for label, target in given.items():
        if target not in CHOICES and (isinstance(target, str | bool) or not np.isfinite(target)):
            raise SchemaError(
                f"labels={{{label!r}: {target!r}}} is neither a number nor one of {', '.join(CHOICES)}. Say what the "
                "answer means."
            )
    numbers = {not isinstance(target, str) for target in given.values()}
    if answer is None and (scale is not None or numbers == {True}):
        answer = "score"
    elif answer is None and numbers == {False}:
        answer = "choice"
    meaning = _Meaning(answer, given)
    words = "|".join(re.escape(h) for h in ([hidden] if isinstance(hidden, str) else hidden) if h)
    leaks = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.I) if words else None
    names, own, own_name = _forms(form, meaning)
    return _Parser(meaning, names, own, own_name, scale, leaks)


def _target(meant: Any) -> Any:
    """What a label means; a number may be given as text, as on the command line."""
    number = _NUMBER.fullmatch(meant) if isinstance(meant, str) else None
    return float(number[1]) if number and number[1] == meant else meant


def _forms(form: Form, meaning: _Meaning) -> tuple[Collection[str], Callable[[str], Iterable[Found]] | None, str]:
    """Names of the forms that count; or the parser of the user, and its name."""
    every = (*EXPLICIT, *OTHERS)
    if form is None:
        return every, None, ""
    if isinstance(form, str) and form not in every and "(" in form:
        try:
            form = re.compile(form)
        except re.error as error:
            raise SchemaError(f"form={form!r} is not a regular expression: {error}.") from None
    if isinstance(form, re.Pattern):
        return (), _by_pattern(form, meaning), "pattern"
    if callable(form):
        return (), _by_callable(form, meaning), getattr(form, "__name__", "parser").strip("<>")
    names = [form] if isinstance(form, str) else list(form)
    for name in names:
        if name not in every:
            raise SchemaError(
                f"form={name!r} is not known. Forms: {', '.join(every)}. A regular expression needs a group: "
                f"'Score: (\\d+)'.{suggestion(str(name), every)}"
            )
    return names, None, ""


def _undecided(rows: list[Outcome], parser: _Parser) -> list[Outcome]:
    """Rows whose number may be a score or a candidate, and scores out of different maxima, with a note that says so."""
    scores = {r.answer.score for r in rows if r.status == "ok" and r.answer.score is not None}
    maxima = {r.answer.out_of for r in rows if r.answer.out_of is not None}
    if parser.meaning.kind is None and parser.own is None and scores and scores <= {0, 1, 2}:
        note = "a score or a candidate: pass answer="
        bare = [r.answer.score is not None and r.answer.out_of is None and r.answer.sd is None for r in rows]
        rows = [Outcome(Answer(), "parse", "", note) if b else r for b, r in zip(bare, rows, strict=True)]
    if len(maxima) < 2:
        return rows
    return [
        r._replace(note="; ".join(filter(None, (r.note, f"out of {r.answer.out_of:g}")))) if r.answer.out_of else r
        for r in rows
    ]


def _frame(rows: list[Outcome], kind: AnswerKind | None, index: Any) -> pd.DataFrame:
    """Outcomes as a frame: columns of choices, of scores, or of both, as asked for or as found."""
    ok = [r.answer if r.status == "ok" else Answer() for r in rows]
    scored = any(a.score is not None for a in ok)
    chosen = any(a.choice is not None for a in ok)
    columns: dict[str, Any] = {}
    if kind == "choice" or (kind is None and (chosen or not scored)):
        columns["choice"] = [
            a.choice or ("invalid" if r.status != "ok" else None) for a, r in zip(ok, rows, strict=True)
        ]
        if any(a.strength is not None for a in ok):
            columns["strength"] = np.array([a.strength for a in ok], dtype=float)
    if kind == "score" or scored:
        columns["score"] = np.array([a.score for a in ok], dtype=float)
        if any(a.sd is not None for a in ok):
            columns["mean"] = np.array([None if a.sd is None else a.score for a in ok], dtype=float)
            columns["sd"] = np.array([a.sd for a in ok], dtype=float)
    for name in ("status", "form", "note"):
        columns[name if name == "status" else f"reply_{name}"] = [getattr(r, name) for r in rows]
    return pd.DataFrame(columns, index=index)


# ---- A column of replies in a table ----------------------------------------------------------------------------------


def parse_column(
    table: Any, columns: Mapping[str, str | None] | None, form: Any, labels: Mapping[Any, Any] | None, scale: Any
) -> tuple[Any, dict[str, str | None]]:
    """Put the answers of a column of replies into a table, and map the canonical columns onto them.

    `columns`: the mapping; ``choice`` or ``score`` is the column of replies, and ``finish`` one that says why they
    ended. The reply becomes the ``rationale`` where there is none. A status mapped has priority where it is not ok.
    """
    data, mapped = nw.from_native(table), dict(columns or {})
    if isinstance(data, nw.LazyFrame):
        raise SchemaError("parse= reads texts in memory, and this frame is lazy. Collect it first.")
    sources = {name: mapped.get(name, name) for name in ("choice", "score")}
    asked = [n for n in sources if n in mapped] or [n for n, source in sources.items() if source in data.columns]
    source = sources[asked[0]] if len(asked) == 1 else None
    if source is None or source not in data.columns:
        raise SchemaError(
            "parse= needs one column of replies: columns={'choice': 'reply', ...}, or 'score' for ratings. Columns: "
            f"{', '.join(data.columns)}."
        )
    end = mapped.pop("finish", None)
    for name in (end, mapped.get("status")):
        if name is not None and name not in data.columns:
            raise SchemaError(f"{name!r} is not a column of the table. Columns: {', '.join(data.columns)}.")
    kind: AnswerKind = "choice" if asked[0] == "choice" else "score"
    found = parse_verdicts(
        data[source].to_list(),
        form=None if form == "auto" else form,
        answer=kind,
        labels=labels,
        scale=scale,
        finish=None if end is None else data[end].to_list(),
    )
    if mapped.get("status") is not None:
        given = pd.Series(data[str(mapped["status"])].to_list(), dtype=object)
        found["status"] = given.where(given.notna() & ~given.isin(["", "ok"]), found["status"])
    if "rationale" not in mapped and "rationale" not in data.columns:
        mapped["rationale"] = source
    for name in found.columns:
        mapped[name] = f"_parsed_{name}"
        values = found[name].to_numpy() if found[name].dtype == float else found[name].to_list()
        data = data.with_columns(nw.new_series(f"_parsed_{name}", values, backend=data.implementation))
    return data.to_native(), mapped


__all__ = ["AnswerKind", "Form", "parse_column", "parse_verdicts"]
