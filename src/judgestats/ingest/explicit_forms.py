"""Forms that mark the answer of a reply: brackets, tags, lines with a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from judgestats.ingest.reply_context import after, before, spoiled
from judgestats.ingest.reply_meaning import CANDIDATE, EDGES, NOUN, Answer, Meaning, Passage, score_in

_CHOICE_KEY = (
    r"(?:winner|winning|verdict|choice|chosen|preference|preferred|decision|selection|selected|answer|judge?ment|"
    r"conclusion|final(?= ?[:=])|"
    r"better|"
    rf"best|result)(?:[ _-]?{NOUN}|[ _-]?one|[ _-]?label|[ _-]?verdict|[ _-]?choice)?"
)
_SCORE_KEY = (
    r"(?:(?:total|stabili[sz]ed|mean|average|weighted|quality)[ _-]){0,3}(?:score|rating|grade|points|mark)|"
    r"(?:(?<=final[ _-])|(?<=overall[ _-]))(?:score|rating|grade)|overall|total"
)
_FINAL = r"(?:(?:final|overall|revised|updated|corrected)[ _-]?)"
ANSWER_KEY = rf"(?P<final>{_FINAL})?(?:(?P<choice>{_CHOICE_KEY})|(?P<score>{_SCORE_KEY}))"
ANSWER_KEY_ONLY = re.compile(ANSWER_KEY, re.I)
_BRACKETS = re.compile(r"(?:(?<!\w)|(?=\[\[\D))\[\[([^\[\]\n]{1,60})\]\]")
_FINAL_LEAD = re.compile(rf"\b{_FINAL}\w{{1,15}}(?: is)?:?[\s*_]{{0,4}}$", re.I)
_CONDITION = re.compile(
    r"(?:(?:but )?(?:only )?(?:if|unless|provided|assuming|when|in case|or|maybe|perhaps)\b|not\b)", re.I
)
_TAG = re.compile(rf"<(?P<tag>{ANSWER_KEY})>([^<]{{0,400}})</(?P=tag)>", re.I)
#: A tag that is not closed at the end.
OPEN_TAG = re.compile(rf"<(?:{_FINAL})?(?:{_CHOICE_KEY}|{_SCORE_KEY})>[^<]{{0,400}}$", re.I)
_LINE = re.compile(
    r"^[ \t>#\-•_\[]{0,12}(?:\d{1,2}[.)] )?(?:(?:so|therefore|thus|hence|my|the|your),? ){0,3}"
    rf"{ANSWER_KEY}(?: ?[(\[](?P<about>[^()\[\]\n]{{0,40}})[)\]])?"
    rf"[ \t_\]]{{0,6}}(?P<sign>[:=：]|[-–—](?=[ \t])|is\b|$)[ \t_:]{{0,8}}(?:\n[ \t]{{0,8}}){{0,3}}"
    r"(?=(?P<value>[^\n]{1,160}))",
    re.I | re.M,
)
_FINAL_HEADING = re.compile(r"#{1,6}[^\n]{0,20}\b(?:overall|final|conclusion|verdict)\b[^\n]{0,20}", re.I)
_HEAD = re.compile(r"[,;] |[,;]$|\. |\(|\s[-–—]{1,2}\s|: |\s(?=(?:because|since|as|due|given|for|is|was|wins)\b)")
_OF_THE_SCALE = re.compile(r"[\W\d]{0,40}(?:(?:out of|scale|from|to|of|max|points)[\W\d]{0,20}){0,4}", re.I)
_ANOTHER_ASPECT = re.compile(rf"(?:^|[,;] ?)(?:(?:and|but) )?(?:{CANDIDATE}|([AB])) (?:for|in|on)\b", re.I)
_BETTER = re.compile(
    r"(?:is|was)(?: \w{1,15}){0,2} (?:better|best|superior|preferable|stronger|winner)\b|wins(?=\W|$)(?! (?:the|"
    r"an?)\b)",
    re.I,
)


def in_brackets(meaning: Meaning, text: str) -> list[Passage]:
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
    return [Passage(m[1], meaning.of(m[0]), bool(chosen)) for i, m in enumerate(matches) if i in chosen or not chosen]


def _line_of(text: str, match: re.Match[str]) -> str:
    """The line of a place, at most 200 characters to either side."""
    head = text[max(0, match.start() - 200) : match.start()].rsplit("\n", 1)[-1]
    return head + match[0] + text[match.end() : match.end() + 200].split("\n", 1)[0]


def preferred(meaning: Meaning, values: Iterable[tuple[bool, object]]) -> list[Passage]:
    """Answers under keys: (whether the key is that of a score, value)."""
    passages = [
        (scored, Passage(str(value), meaning.of(value)))
        for scored, value in values
        if meaning.kind != "choice" or not scored or str(value) in meaning.labels
    ]
    if meaning.kind == "score" and any(scored and f.answer for scored, f in passages):
        return [f for scored, f in passages if scored]
    return [f for _, f in passages]


def in_tags(meaning: Meaning, text: str) -> list[Passage]:
    """Answers in tags: ``<verdict>A</verdict>``."""
    matches = [m for m in _TAG.finditer(text) if m[m.re.groups].strip(EDGES) and not spoiled(text, *m.span())]
    return preferred(meaning, ((bool(m["score"]), m[m.re.groups]) for m in matches))


def on_lines(meaning: Meaning, text: str) -> list[Passage]:
    """Lines with a key: ``Verdict: A``; those that are called final are the answer where there are any."""
    passages: list[tuple[bool, bool, Passage]] = []  # whether the key is that of a score, whether it says final
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
        answers = leading_answers(meaning, value)
        if answers and "\n" in text[match.end("sign") : match.start("value")]:
            following = meaning.of(text[match.end("value") : match.end("value") + 80].strip().split("\n")[0])
            answers += [following] if following else []
        if not answers and (overall or match["sign"] not in ":=：" or len(value) > 20 or not match["sign"]):
            continue
        heading = text[max(0, match.start() - 60) : match.start()].rstrip().rsplit("\n", 1)[-1]
        final = bool(match["final"]) or overall or _FINAL_HEADING.fullmatch(heading) is not None
        sure = _OF_THE_SCALE.fullmatch(match["about"] or "") is not None
        meanings: Sequence[Answer | None] = answers or [None]
        passages += [(bool(match["score"]), final, Passage(value, a, sure, task)) for a in meanings]
    if meaning.kind == "score" and any(scored and f.answer for scored, _, f in passages):
        passages = [f for f in passages if f[0]]
    called_final = {f.task for _, final, f in passages if final and f.answer}
    return [f for _, final, f in passages if final or f.task not in called_final]


def leading_answers(meaning: Meaning, value: str) -> list[Answer]:
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
    others = [meaning.of(m["value"].split(". ")[0]) for m in KEY_IN_LINE.finditer(f" {rest}")]
    if match[0].strip() in (",", ";", ""):  # no remark in brackets or after a dash, nor the next sentence
        others += [meaning.side(m[1] or m[2] or m[3]) for m in _ANOTHER_ASPECT.finditer(rest)]
        others += [score_in(m[0]) for m in FRACTION.finditer(rest) if answer.score is not None]
    return [answer, *(other for other in others if other is not None)]


KEY_IN_LINE = re.compile(rf"(?<=[\s(]){ANSWER_KEY}[ \t]{{0,3}}[:=][ \t]{{0,3}}(?=(?P<value>[^\n]{{1,160}}))", re.I)
FRACTION = re.compile(
    r"(?<![\d/.\w-])\d{1,3}(?:\.\d{1,9})?(?:\s?/\s?| out of )\d{1,3}(?![\d/]|\.\d)|"
    r"(?:(?<=score of )|(?<=rating of ))\d{1,3}(?:\.\d{1,9})?\b",
    re.I,
)
