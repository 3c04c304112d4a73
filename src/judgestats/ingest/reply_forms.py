"""Forms of an answer in the reply of a judge: where an answer stands, and what the text there means.

*Explicit* forms mark the answer: brackets, JSON, tags, a line with a key, a reply that is nothing else, a correction.
The *others* are an answer on a line of its own, a key within a line, ``8.2 ± 0.3`` in prose; and, only where they are
asked for, ``A>B`` in prose and a sentence. What ``reply_context`` says is spoiled by its surroundings is no answer.

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
from judgestats.ingest.reply_context import after, before, spoiled

AnswerKind = Literal["choice", "score"]
#: Forms that mark the answer, in the order in which one of them is named.
EXPLICIT = ("brackets", "json", "loose json", "tag", "line", "whole", "correction")
#: Forms that are tried where no explicit one occurs.
OTHERS = ("own line", "key", "runs")
#: Forms of free prose, read only where they are asked for.
PROSE = ("comparison", "sentence")
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
    """An answer, or None for a text that stands where an answer should."""

    raw: str
    answer: Answer | None
    sure: bool = True  # False if it may contradict an answer, but is none by itself
    task: bool = False  # whether it may answer the task, as in ``Answer: B``, so that a closed form decides over it


# ---- What a text between delimiters means ----------------------------------------------------------------------------

_SIDES = {"a": "first", "1": "first", "one": "first", "first": "first"}
_SIDES |= {"b": "second", "2": "second", "two": "second", "second": "second"}
_WORDS = dict.fromkeys(
    ("tie", "tied", "a tie", "draw", "a draw", "equal", "equally good", "both", "both equally", "both good", "both bad",
     "both are equally good", "both are good", "same", "the same", "similar", "no preference",
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
EDGES = " \t\r\n*`_\"'“”‘’[](){}.,;:!#\u200b\ufeff\ufe0f🏆✅🥇👍🎉⭐✓✔"


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
    r"(?:winner|winning|verdict|choice|chosen|preference|preferred|decision|selection|selected|answer|judge?ment|"
    r"conclusion|final(?= ?[:=])|"
    r"better|"
    rf"best|result)(?:[ _-]?{_NOUN}|[ _-]?one|[ _-]?label|[ _-]?verdict|[ _-]?choice)?"
)
_SCORE_KEY = (
    r"(?:(?:total|stabili[sz]ed|mean|average|weighted|quality)[ _-]){0,3}(?:score|rating|grade|points|mark)|"
    r"(?:(?<=final[ _-])|(?<=overall[ _-]))(?:score|rating|grade)|overall|total"
)
_FINAL = r"(?:(?:final|overall|revised|updated|corrected)[ _-]?)"
_KEY = rf"(?P<final>{_FINAL})?(?:(?P<choice>{_CHOICE_KEY})|(?P<score>{_SCORE_KEY}))"
_KEY_ONLY = re.compile(_KEY, re.I)
_BRACKETS = re.compile(r"(?:(?<!\w)|(?=\[\[\D))\[\[([^\[\]\n]{1,60})\]\]")
_FINAL_LEAD = re.compile(rf"\b{_FINAL}\w{{1,15}}(?: is)?:?[\s*_]{{0,4}}$", re.I)
_CONDITION = re.compile(
    r"(?:(?:but )?(?:only )?(?:if|unless|provided|assuming|when|in case|or|maybe|perhaps)\b|not\b)", re.I
)
_TAG = re.compile(rf"<(?P<tag>{_KEY})>([^<]{{0,400}})</(?P=tag)>", re.I)
#: A tag that is not closed at the end.
OPEN_TAG = re.compile(rf"<(?:{_FINAL})?(?:{_CHOICE_KEY}|{_SCORE_KEY})>[^<]{{0,400}}$", re.I)
_LINE = re.compile(
    r"^[ \t>#\-•_\[]{0,12}(?:\d{1,2}[.)] )?(?:(?:so|therefore|thus|hence|my|the|your),? ){0,3}"
    rf"{_KEY}(?: ?[(\[](?P<about>[^()\[\]\n]{{0,40}})[)\]])?"
    rf"[ \t_\]]{{0,6}}(?P<sign>[:=：]|[-–—](?=[ \t])|is\b|$)[ \t_:]{{0,8}}(?:\n[ \t]{{0,8}}){{0,3}}"
    r"(?=(?P<value>[^\n]{1,160}))",
    re.I | re.M,
)
_FINAL_HEADING = re.compile(r"#{1,6}[^\n]{0,20}\b(?:overall|final|conclusion|verdict)\b[^\n]{0,20}", re.I)
_HEAD = re.compile(r"[,;] |[,;]$|\. |\(|\s[-–—]{1,2}\s|: |\s(?=(?:because|since|as|due|given|for|is|was|wins)\b)")
_OF_THE_SCALE = re.compile(r"[\W\d]{0,40}(?:(?:out of|scale|from|to|of|max|points)[\W\d]{0,20}){0,4}", re.I)
_ANOTHER_ASPECT = re.compile(rf"(?:^|[,;] ?)(?:(?:and|but) )?(?:{_CANDIDATE}|([AB])) (?:for|in|on)\b", re.I)
_BETTER = re.compile(
    r"(?:is|was)(?: \w{1,15}){0,2} (?:better|best|superior|preferable|stronger|winner)\b|wins(?=\W|$)(?! (?:the|"
    r"an?)\b)",
    re.I,
)


def _brackets(meaning: Meaning, text: str) -> list[Found]:
    """Double brackets alone on a line, after a colon, or last of the last line, with the others of its sentence."""
    matches = [m for m in _BRACKETS.finditer(text) if m[1].strip(EDGES) and not spoiled(text, m.start(), m.end())]
    if not matches:
        return []
    last_line = text.rstrip().rfind("\n")
    leads = [text[max(0, m.start() - 60) : m.start()] for m in matches]
    strong = [
        i
        for i, m in enumerate(matches)
        if leads[i].rstrip(" *_`").endswith((":", "：", "="))
        or not _line_of(text, m).replace(m[0], "").strip(EDGES + ">-•")
        or (m is matches[-1] and m.start() > last_line)
    ]
    final = [i for i in strong if _FINAL_LEAD.search(leads[i])]
    chosen = final or strong
    if chosen:
        start = matches[chosen[-1]].start() - len(before(text, matches[chosen[-1]].start()))
        end = matches[chosen[-1]].end() + len(after(text, matches[chosen[-1]].end()))
        chosen = sorted({*chosen, *(i for i, m in enumerate(matches) if start <= m.start() < end)})
    return [Found(m[1], meaning.of(m[0]), bool(chosen)) for i, m in enumerate(matches) if i in chosen or not chosen]


def _line_of(text: str, match: re.Match[str]) -> str:
    """The line of a place, at most 200 characters to either side."""
    head = text[max(0, match.start() - 200) : match.start()].rsplit("\n", 1)[-1]
    return head + match[0] + text[match.end() : match.end() + 200].split("\n", 1)[0]


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
    matches = [m for m in _TAG.finditer(text) if m[m.re.groups].strip(EDGES) and not spoiled(text, *m.span())]
    return _preferred(meaning, ((bool(m["score"]), m[m.re.groups]) for m in matches))


def _lines(meaning: Meaning, text: str) -> list[Found]:
    """Lines with a key: ``Verdict: A``; those that are called final are the answer where there are any."""
    found: list[tuple[bool, bool, Found]] = []  # whether the key is that of a score, whether it says final
    text = text.replace("*", "").replace("`", "")
    for match in _LINE.finditer(text):
        value = match["value"].strip().removeprefix("that ")
        if spoiled(text, match.start()):
            continue
        overall = (match["score"] or "").lower() == "overall"
        if meaning.kind == "choice" and match["score"] and not overall and value.strip(EDGES) not in meaning.labels:
            continue
        task = (match["choice"] or "").lower().startswith(("answer", "result"))
        if task and match["sign"].lower() == "is":
            continue
        answers = _leading(meaning, value)
        if answers and "\n" in text[match.end("sign") : match.start("value")]:
            following = meaning.of(text[match.end("value") : match.end("value") + 80].strip().split("\n")[0])
            answers += [following] if following else []
        if not answers and (overall or match["sign"] not in ":=：" or len(value) > 20 or not match["sign"]):
            continue
        heading = text[max(0, match.start() - 60) : match.start()].rstrip().rsplit("\n", 1)[-1]
        final = bool(match["final"]) or overall or _FINAL_HEADING.fullmatch(heading) is not None
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
    if match[0] != ". " and _CONDITION.match(rest):
        return []
    if rest[:1].isdigit() or (rest.startswith(("is ", "was ")) and not _BETTER.match(rest)):
        return []
    others = [meaning.of(m["value"].split(". ")[0]) for m in _KEY_IN_LINE.finditer(f" {rest}")]
    if match[0].strip() in (",", ";", ""):  # no remark in brackets or after a dash, nor the next sentence
        others += [meaning.side(m[1] or m[2] or m[3]) for m in _ANOTHER_ASPECT.finditer(rest)]
        others += [_number(m[0]) for m in _FRACTION.finditer(rest) if answer.score is not None]
    return [answer, *(other for other in others if other is not None)]


_OWN_LEAD = re.compile(r"\b(?:my|final) (?:\w{1,12} ){0,2}is$", re.I)
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


def _is_own(text: str, start: int, end: int) -> bool:
    """Whether an object is set off from the prose around it, as an answer is, and not spoiled by it."""
    lead = text[max(0, start - 60) : start].rsplit("\n", 1)[-1].rstrip(" `*")
    apart = not lead or lead.lower() == "json" or lead.endswith((":", "=", ">", "[", "]", "}", "},"))
    return (apart or _OWN_LEAD.search(lead) is not None) and not spoiled(text, start, end)


def _ranked_first(ranking: Any) -> str:
    """The candidate of rank 1 in a list of objects with a model and a rank."""
    entries = ranking if isinstance(ranking, list) else []
    entries = [dict(e) for e in entries if isinstance(e, list) and all(isinstance(pair, tuple) for pair in e)]
    first = [e["model"] for e in entries if e.get("rank") == 1 and isinstance(e.get("model"), str)]
    return first[0] if len(first) == 1 else ""


def json_answers(meaning: Meaning, text: str, loose: bool) -> tuple[list[tuple[str, Found]], str, str]:
    """Answers in objects, the text without them, and what is wrong with a reply of one; `loose`: unsound ones too."""
    found: list[tuple[str, Found]] = []
    rest, last, problem, sound, own, last_end = [], 0, "", False, False, 0
    head, tail = len(text) - len(text.lstrip(" \n\r\t`json")), len(text.rstrip(" \n\r\t`"))
    for start, end, value, damaged in json_objects(text):
        sound |= not damaged
        keyed = _keyed(value)
        alone = start == head and end == tail
        if keyed or alone:
            rest.append(text[last:start])
            last = end
        own = _is_own(text, start, end) or (own and text[last_end:start].strip(" \n,") in ("or", "and"))
        last_end = end
        if alone or own:
            found += [("json", f._replace(sure=not damaged)) for f in _preferred(meaning, keyed)]
        if alone and not keyed:
            keys = [str(p[0]) for p in value]
            failed = {"error": "error", "refusal": "refused"}
            problem = next((failed[k] for k, v in value if k in failed and v), "")
            problem = problem or f"no key of an answer: {', '.join(keys[:8]) or 'no keys'}"
    closed = text.rfind("}") + 1
    opened = text.find("{")
    if loose and not sound and closed and text.count("{") <= text.count("}") and _is_own(text, opened, closed):
        matches = _LOOSE.finditer(text, 0, closed)
        values = ((bool(m["score"]), m["two"] or m["one"] or m["bare"] or "") for m in matches)
        found += [("loose json", f) for f in _preferred(meaning, values)]
    return found, "\n".join([*rest, text[last:]]), problem


# ---- Other forms -----------------------------------------------------------------------------------------------------

_ADVERBS = r"(?: (?:clearly|slightly|much|significantly|overall|far|marginally|generally|therefore|thus|the|a|an)){0,3}"
_BEST = rf"(?:better|best|superior|preferable|stronger|winner)(?: {_NOUN}| ai assistant| one| choice)?"
_BARE = r"(?:(?:(?<=^)|(?<=\n)|(?<=[.,;:!] )|(?<=that )|(?<=think )|(?<=believe )|(?<=conclude ))(?-i:([AB])))"
_NAMED = rf"(?:{_CANDIDATE}|(?-i:([AB]))\b)"
_SENTENCES = re.compile(
    rf"\b{_CANDIDATE} (?:(?:is|was){_ADVERBS} {_BEST}|(?:wins|won)|(?:provides|provided|gives|gave|offers|offered|has)"
    rf"{_ADVERBS} {_BEST})\b"
    rf"|{_BARE} (?:(?:is|was){_ADVERBS} {_BEST}|(?:wins|won))\b"
    rf"|\bI(?:'d| would)? (?:prefer|choose|pick|select|vote for|go with) {_NAMED}"
    rf"|\b(?:the|my) (?:better|best|preferred|winning|winner|verdict|choice)(?: {_NOUN}| one)? is:? {_NAMED}",
    re.I,
)
_EQUAL = re.compile(
    r"\b(?:(?:it|this|the result|the verdict) is|it's|call it|declare) a (?:tie|draw)\b"
    r"(?!-| between (?!the two|both|them|assistant))|"
    r"\b(?:(?:both|they|the two|these)(?: \w{1,12}){0,2} are )?(?:equally good|of equal quality|equally well)\b",
    re.I,
)
_OPENING = re.compile(
    r"\W{0,9}(?:(?:and|but|so|then|therefore|thus|hence|still|yet|overall|ultimately|finally|also|honestly|clearly|"
    r"personally|well|in (?:short|conclusion|summary|total|my (?:opinion|view)|the end)|to (?:sum up|conclude|"
    r"summari[sz]e)|all in all|on balance|i(?: (?:really|honestly|do|would|will|must|can|have to|personally|"
    r"therefore|thus)){0,2} (?:think|believe|conclude|find|feel|say|judge|decide|determine)(?: that)?|"
    r"i'd say(?: that)?|my (?:final )?(?:verdict|judge?ment|conclusion|decision|opinion|view|choice) is(?: that)?|"
    r"it is (?:clear|evident|obvious) that|we can conclude that|both are equally \w{1,12})\b\W{0,3}){0,4}$",
    re.I,
)
_CLOSING = re.compile(
    r"[*_)\s]{0,4}(?:[.!\n]|$|(?:[,;:]|\s[-–—]{1,2})? ?(?:because|since|as|due|given|thanks|and|though|although|even "
    rf"though|despite|while|whereas|mostly|mainly|overall|here|than (?:{_NAMED}|the other)|over {_NAMED}|of the two|"
    r"between the two|in (?:my (?:opinion|view)|this case|general|total|conclusion|terms of (?:overall|general))|"
    r"really|by far|hands down|any day)\b)",
    re.I,
)
_HEDGE = re.compile(
    r"\b(?:not|never|neither|nor|if|whether|unless|might|may|could|should|would|some|hard|difficult|cannot|"
    r"doub\w{1,4}|"
    r"according to|claims?|claimed|says|said|suppos\w{1,5}|imagine|pretend|nobody|only|someone|people|"
    r"(?<!i )(?:wrote|writes|stated|states|argued|argues|reported|reports))\b|n't\b|"
    r"^\W{0,5}had\b",
    re.I,
)
_SPOILED_LATER = re.compile(
    r"\b(?:if|unless|or so|or not|someone|some people|others?|i suppose|they say|supposedly|allegedly|in theory|"
    r"i (?:am|'m) not|kidding|joking|(?:says|said|claims?|claimed|argued?) (?:the|he|she|they|it|my|response|"
    r"assistant))\b",
    re.I,
)
_LIMITED = re.compile(
    rf"(?: than {_CANDIDATE})? (?:in (?!my|this case|general|total|conclusion)|on|at|for|with|when|if|by (?!far)|from|"
    rf"regarding|except|but only|to be|of (?!the two|both))\b|"
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
_CLAUSE = re.compile(r"[,;:] |\s[-–—]{1,2}\s")
_CONDITIONAL = re.compile(r"\b(?:if|unless)\b", re.I)


def _own_line(meaning: Meaning, text: str) -> Iterator[Found]:
    """The first and the last line, where it is an answer and nothing else; a number that ends prose is no choice."""
    lines = text.strip().split("\n")
    for at, line in ((0, lines[0].strip()), (-1, lines[-1].strip())) if len(lines) > 1 else ():
        answer = meaning.of(line) if len(line) < 60 else None
        if answer is None or (answer.score is not None and answer.score >= 1000):
            continue
        if at == 0 and line.startswith("#"):  # the heading of a part about one candidate
            continue
        if at and spoiled(text, len(text.rstrip()) - len(line), len(text.rstrip())):
            continue
        if at == 0 or not answer.choice or not line.strip(EDGES).isdigit() or meaning.labels:
            yield Found(line, answer)


def _keys(meaning: Meaning, text: str) -> Iterator[Found]:
    """A key within a line: ``..., so I conclude with verdict: A``."""
    for match in _KEY_IN_LINE.finditer(text.replace("*", "").replace("`", "")):
        if meaning.kind != "choice" or not match["score"] or match["value"].strip(EDGES) in meaning.labels:
            sure = not spoiled(match.string, match.start())
            for answer in _leading(meaning, match["value"].strip()):
                yield Found(match["value"], answer, sure)


def _comparisons(meaning: Meaning, text: str) -> Iterator[Found]:
    for match in _COMPARISON.finditer(text):
        lead = before(text, match.start())
        sure = "=" not in match[0] and bool(_CONCLUDES.search(lead)) and not spoiled(text, *match.span())
        yield Found(match[0], meaning.of(match[0]), sure)


def _runs(meaning: Meaning, text: str) -> Iterator[Found]:
    for match in _SPREAD.finditer(text) if meaning.kind != "choice" else ():
        yield Found(
            match[0],
            meaning.of(match[0]),
            bool(_RUNS.search(before(text, match.start()))) and not spoiled(text, *match.span()),
        )


def _sentences(meaning: Meaning, text: str) -> Iterator[Found]:
    text = text.replace("*", "").replace("`", "").replace("’", "'")
    for match in (*_SENTENCES.finditer(text), *_EQUAL.finditer(text)) if meaning.kind != "score" else ():
        name = next((g for g in match.groups() if g), None)
        lead, rest = before(text, match.start()), after(text, match.end())
        sure = bool(_OPENING.match(_CLAUSE.split(lead)[-1]) and _CLOSING.match(rest))
        sure = sure and not (_HEDGE.search(lead) or _LIMITED.match(rest) or _SPOILED_LATER.search(rest))
        sure = sure and not rest.rstrip().endswith("?")
        yield Found(match[0], meaning.side(name) if name else Answer("tie"), sure)
    for match in _FRACTION.finditer(text) if meaning.kind != "choice" else ():
        answer = _number(match[0])
        if answer is None or _ANOTHER.match(text, match.end()):
            continue
        lead, rest = before(text, match.start()), after(text, match.end())
        hedged = _NO_RATING.search(lead) or _CONDITIONAL.search(lead + rest) or rest.rstrip().endswith("?")
        yield Found(match[0], answer, bool(_RATES.search(lead)) and not hedged)


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
