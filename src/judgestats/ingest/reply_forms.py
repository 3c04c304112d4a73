"""Forms of an answer in the reply of a judge: where an answer stands, and what the text there means.

*Explicit* forms mark the answer: brackets, JSON, tags, a line with a key, a reply that is nothing else. The *others*
are an answer on a line of its own, ``A>B`` or ``8.2 ± 0.3`` in prose, a sentence. What is conditional, negated, limited
to one aspect or said by somebody else may contradict an answer, but is none.

No pattern has a repeat without a bound, so that the work is linear in the length of a reply.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from judgestats.ingest.native.arena_hard import LEVELS

AnswerKind = Literal["choice", "score"]
#: Forms that mark the answer, in the order in which one of them is named.
EXPLICIT = ("brackets", "json", "loose json", "tag", "line", "whole")
#: Forms that are tried where no explicit one occurs.
OTHERS = ("own line", "key", "comparison", "runs", "sentence")
#: Forms whose end is marked, so that a reply that is cut off later has its answer.
CLOSED = ("brackets", "json", "tag")


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


# ---- What a text between delimiters means ----------------------------------------------------------------------------

_SIDES = {"a": "first", "1": "first", "one": "first", "first": "first"}
_SIDES |= {"b": "second", "2": "second", "two": "second", "second": "second"}
_WORDS = dict.fromkeys(
    ("tie", "tied", "a tie", "draw", "a draw", "equal", "equally good", "both", "both equally", "both good", "both bad",
     "both are equally good", "both are good", "same", "the same", "similar", "neither", "no preference",
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
NUMBER = re.compile(
    rf"(-?{_N})(?:{_PLUS_MINUS}({_N}))?(?:\s{{0,3}}\(?(?:/|out of)\s{{0,3}}({_N})|(%)|\s(?:points?|stars?))?", re.I
)
EDGES = " \t\r\n*`_\"'“”‘’[](){}.,;:!#\u200b\ufeff"


@dataclass(frozen=True)
class Meaning:
    """The answers that texts stand for: the labels given, the usual names of two candidates, numbers."""

    kind: AnswerKind | None
    labels: Mapping[str, Any] = field(default_factory=dict)

    def of(self, raw: Any) -> Answer | None:
        """Return the answer that a text stands for."""
        text = str(raw)
        text = (html.unescape(text) if "&" in text else text).strip(EDGES)
        if raw is None or not text or len(text) > 100:
            return None
        if (labelled := self._labelled(text)) is not None:
            return labelled
        if self.kind != "score" and text.upper() == "C" and "[[" in str(raw):
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
    match = NUMBER.fullmatch(text.rstrip(")"))
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
_DENIED = re.compile(r"(?:\b(?:not|never|neither|nor|than|instead of)|n't) {1,3}(?:an? )?[\"'“*]{0,4}$", re.I)
_CONDITION = re.compile(r"[\"'”*]{0,4}(?: (?:if|when|unless|would|or)\b|\?)", re.I)
_TAG = re.compile(rf"<(?P<tag>{_KEY})>([^<]{{0,400}})</(?P=tag)>", re.I)
#: A tag that is not closed at the end.
OPEN_TAG = re.compile(rf"<(?:{_FINAL})?(?:{_CHOICE_KEY}|{_SCORE_KEY})>[^<]{{0,400}}$", re.I)
_LINE = re.compile(
    r"^[ \t>#\-•_\[]{0,12}(?:\d{1,2}[.)] )?(?:(?:so|therefore|thus|hence|my|the|your),? ){0,3}"
    rf"{_KEY}(?: ?[(\[](?P<about>[^()\[\]\n]{{0,40}})[)\]])?"
    rf"[ \t_\]]{{0,6}}(?P<sign>[:=：]|is\b|$)[ \t_:]{{0,8}}(?:\n[ \t]{{0,8}}){{0,3}}"
    r"(?=(?P<value>[^\n]{1,160}))",
    re.I | re.M,
)
_HEAD = re.compile(r"[,;] |[,;]$|\. |\(|\s[-–—]{1,2}\s|: |\s(?=(?:because|since|as|due|given|for|is|was|wins)\b)")
_OF_THE_SCALE = re.compile(r"[\W\d]{0,40}(?:(?:out of|scale|from|to|of|max|points)[\W\d]{0,20}){0,4}", re.I)
_ANOTHER_ASPECT = re.compile(rf"(?:^|[,;] ?)(?:(?:and|but) )?(?:{_CANDIDATE}|([AB])) (?:for|in|on)\b", re.I)
_BETTER = re.compile(r"(?:is|was)(?: \w{1,15}){0,2} (?:better|best|superior|preferable|stronger|winner)\b|wins\b", re.I)


def _brackets(meaning: Meaning, text: str) -> Iterator[Found]:
    """Double brackets: those that are denied or conditional, or in a question, are no answer."""
    for match in _BRACKETS.finditer(text):
        if match[1].strip(EDGES):
            denied = _DENIED.search(text[max(0, match.start() - 30) : match.start()])
            sure = not (denied or _CONDITION.match(text[match.end() : match.end() + 30]))
            yield Found(match[1], meaning.of(match[0]), sure)


def _preferred(meaning: Meaning, values: Iterable[tuple[bool, Any]]) -> list[Found]:
    """Answers under keys: (whether the key is that of a score, value)."""
    found = [
        (scored, Found(str(value), meaning.of(value)))
        for scored, value in values
        if meaning.kind != "choice" or not scored or str(value) in meaning.labels
    ]
    if meaning.kind == "score" and any(scored and f.answer for scored, f in found):
        return [f for scored, f in found if scored]
    return [f for _, f in found]


def _tags(meaning: Meaning, text: str) -> list[Found]:
    matches = [m for m in _TAG.finditer(text) if m[m.re.groups].strip(EDGES)]
    return _preferred(meaning, ((bool(m["score"]), m[m.re.groups]) for m in matches))


def _lines(meaning: Meaning, text: str) -> list[Found]:
    """Lines with a key: ``Verdict: A``; those that are called final are the answer where there are any."""
    found: list[tuple[bool, bool, Found]] = []  # whether the key is that of a score, whether it says final
    text = text.replace("*", "").replace("`", "")
    for match in _LINE.finditer(text):
        value = match["value"].strip().removeprefix("that ")
        if meaning.kind == "choice" and match["score"] and value.strip(EDGES) not in meaning.labels:
            continue
        task = (match["choice"] or "").lower().startswith(("answer", "result"))
        if task and match["sign"].lower() == "is":
            continue
        answers = _leading(meaning, value)
        if answers and "\n" in text[match.end("sign") : match.start("value")]:
            following = meaning.of(text[match.end("value") : match.end("value") + 80].strip().split("\n")[0])
            answers += [following] if following else []
        if not answers and (match["sign"] not in ":=：" or len(value) > 20 or not match["sign"]):
            continue
        final = bool(match["final"]) or (match["score"] or "").lower() == "overall"
        sure = _OF_THE_SCALE.fullmatch(match["about"] or "") is not None
        given: Sequence[Answer | None] = answers or [None]
        found += [(bool(match["score"]), final, Found(value, a, sure, task)) for a in given]
    if meaning.kind == "score" and any(scored and f.answer for scored, _, f in found):
        found = [f for f in found if f[0]]
    called_final = {f.task for _, final, f in found if final and f.answer}
    return [f for _, final, f in found if final or f.task not in called_final]


def _leading(meaning: Meaning, value: str) -> list[Answer]:
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
    others = [meaning.of(m["value"].split(". ")[0]) for m in _KEY_IN_LINE.finditer(f" {rest}")]
    if match[0].strip() in (",", ";", ""):  # no remark in brackets or after a dash, nor the next sentence
        others += [meaning.side(m[1] or m[2] or m[3]) for m in _ANOTHER_ASPECT.finditer(rest)]
        others += [_number(m[0]) for m in _FRACTION.finditer(rest) if answer.score is not None]
    return [answer, *(other for other in others if other is not None)]


_OBJECT = re.compile(r"\{\s{0,20}[\"}]")
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=list)
_LOOSE = re.compile(
    rf"[\"']{_KEY}[\"']\s{{0,9}}:\s{{0,9}}(?:\"(?P<two>[^\"\n]{{0,100}})\"|'(?P<one>[^'\n]{{0,100}})'|(?P<bare>-?{_N}))"
    r"\s{0,9}(?=[,}\n\"])",
    re.I,
)


def json_objects(text: str) -> Iterator[tuple[int, int, Any, bool]]:
    """JSON objects in a text: start, end, pairs, whether in one that is damaged. After 100 failures no more is read."""
    at = failures = damaged = 0
    while failures < 100 and (match := _OBJECT.search(text, at)):
        start = match.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except ValueError as error:  # no JSON, or a number of thousands of digits
            at, damaged = start + 1, max(damaged, getattr(error, "pos", start + 1))
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
        if match and not isinstance(value, list):
            here.append((bool(match["score"]), value))
        elif match and not (value and isinstance(value[0], tuple)):
            here.append((bool(match["score"]), "a list"))
        elif key in ("ordered_models", "ranking") and (first := _ranked_first(value)):
            here.append((False, first))
    spread = next((values[k] for k in ("sd", "std", "sigma") if k in values), None)
    if "mean" in values and spread is not None:
        here.append((True, f"{values['mean']} ± {spread}"))
    if here or depth == 3:
        return here
    return [found for _, value in pairs for found in _keyed(value, depth + 1)]


def _ranked_first(ranking: Any) -> str:
    """The candidate of rank 1 in a list of objects with a model and a rank."""
    entries = ranking if isinstance(ranking, list) else []
    entries = [dict(e) for e in entries if isinstance(e, list) and all(isinstance(pair, tuple) for pair in e)]
    first = [e["model"] for e in entries if e.get("rank") == 1 and isinstance(e.get("model"), str)]
    return first[0] if len(first) == 1 else ""


def json_answers(meaning: Meaning, text: str, loose: bool) -> tuple[list[tuple[str, Found]], str, str]:
    """Answers in objects, the text without these objects, and what is wrong with an object that is the whole reply.

    `loose`: read quoted keys of an object that is closed, but no JSON, where there is no sound one.
    """
    found: list[tuple[str, Found]] = []
    rest, last, problem, sound = [], 0, "", False
    head, tail = len(text) - len(text.lstrip(" \n\r\t`json")), len(text.rstrip(" \n\r\t`"))
    for start, end, value, damaged in json_objects(text):
        sound |= not damaged
        keyed = _keyed(value)
        alone = start == head and end == tail
        if keyed or alone:
            rest.append(text[last:start])
            last = end
        found += [("json", f._replace(sure=not damaged)) for f in _preferred(meaning, keyed)]
        if alone and not keyed:
            keys = [str(p[0]) for p in value]
            failed = {"error": "error", "refusal": "refused"}
            problem = next((failed[k] for k, v in value if k in failed and v), "")
            problem = problem or f"no key of an answer: {', '.join(keys[:8]) or 'no keys'}"
    closed = text.rfind("}") + 1
    if loose and not sound and closed and text.count("{") <= text.count("}"):
        matches = _LOOSE.finditer(text, 0, closed)
        values = ((bool(m["score"]), m["two"] or m["one"] or m["bare"] or "") for m in matches)
        found += [("loose json", f) for f in _preferred(meaning, values)]
    return found, "\n".join([*rest, text[last:]]), problem


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
    r"\b(?:(?:it|this|the result|the verdict) is|it's|call it|declare) a (?:tie|draw)\b"
    r"(?!-| between (?!the two|both|them|assistant))|"
    r"\b(?:equally good|of equal quality|equally well)\b",
    re.I,
)
_HEDGE = re.compile(
    r"\b(?:not|never|neither|nor|if|whether|unless|might|may|could|should|would|some|hard|difficult|cannot|although|"
    r"though|while|despite|according to|claims?|claimed|says|said)\b|n't\b|^\W{0,5}had\b",
    re.I,
)
_LIMITED = re.compile(
    rf"(?: than {_CANDIDATE})? (?:in|on|at|for|with|when|if|by|from|regarding|except|but only|to be|"
    rf"of (?!the two|both))\b|"
    r"[\"']{0,2},? (?:says|said|claims?)\b",
    re.I,
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
_RATES = re.compile(
    r"\b(?:i|my|overall|final)\b.{0,80}\b(?:rate|rating|give|score|assign|award|grade)\b|\b(?:deserves|earns|merits)\b",
    re.I,
)
_NO_RATING = re.compile(
    r"\b(?:not|never|could|might|if|rather|instead|almost|nearly|between|least|most|up to)\b|n't\b", re.I
)
_CONDITIONAL = re.compile(r"\b(?:if|unless)\b", re.I)
_ENDS = re.compile(r"[.!?\n](?=\s|$)|\n")


def _before(text: str, start: int) -> str:
    """The sentence of a place, up to it; at most 300 characters."""
    return _ENDS.split(text[max(0, start - 300) : start])[-1]


def _after(text: str, end: int) -> str:
    """The sentence of a place, from it on, with its mark; at most 300 characters."""
    rest = text[end : end + 300]
    stop = _ENDS.search(rest)
    return rest[: stop.end()] if stop else rest


def _own_line(meaning: Meaning, text: str) -> Iterator[Found]:
    """The first and the last line, where it is an answer and nothing else; a number that ends prose is no choice."""
    lines = text.strip().split("\n")
    for at, line in ((0, lines[0].strip()), (-1, lines[-1].strip())) if len(lines) > 1 else ():
        answer = meaning.of(line) if len(line) < 60 else None
        if answer is None or (answer.score is not None and answer.score >= 1000):
            continue
        if at == 0 or not answer.choice or not line.strip(EDGES).isdigit() or meaning.labels:
            yield Found(line, answer)


def _keys(meaning: Meaning, text: str) -> Iterator[Found]:
    """A key within a line: ``..., so I conclude with verdict: A``."""
    for match in _KEY_IN_LINE.finditer(text.replace("*", "").replace("`", "")):
        if meaning.kind != "choice" or not match["score"] or match["value"].strip(EDGES) in meaning.labels:
            sure = not _HEDGE.search(_before(match.string, match.start()))
            for answer in _leading(meaning, match["value"].strip()):
                yield Found(match["value"], answer, sure)


def _comparisons(meaning: Meaning, text: str) -> Iterator[Found]:
    for match in _COMPARISON.finditer(text):
        before = _before(text, match.start())
        sure = "=" not in match[0] and bool(_CONCLUDES.search(before)) and not re.search(r"\bif\b", before, re.I)
        yield Found(match[0], meaning.of(match[0]), sure)


def _runs(meaning: Meaning, text: str) -> Iterator[Found]:
    for match in _SPREAD.finditer(text) if meaning.kind != "choice" else ():
        yield Found(match[0], meaning.of(match[0]), bool(_RUNS.search(_before(text, match.start()))))


def _sentences(meaning: Meaning, text: str) -> Iterator[Found]:
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
        hedged = _NO_RATING.search(before) or _CONDITIONAL.search(_after(text, match.end()))
        yield Found(match[0], answer, bool(_RATES.search(before)) and not hedged)


#: Name of a form -> (meaning, text) -> what stands there; ``json`` and ``whole`` are read apart.
FORMS: dict[str, Callable[[Meaning, str], Iterable[Found]]] = {
    "brackets": _brackets,
    "tag": _tags,
    "line": _lines,
    "own line": _own_line,
    "key": _keys,
    "comparison": _comparisons,
    "runs": _runs,
    "sentence": _sentences,
}

__all__ = ["CLOSED", "EDGES", "EXPLICIT", "FORMS", "NUMBER", "OPEN_TAG", "OTHERS", "Answer", "AnswerKind", "Found"]
__all__ += ["Meaning", "json_answers", "json_objects"]
