"""Forms that mark the answer of a reply: brackets, tags, lines with a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from judgestats.ingest.reply_context import after, before, spoiled
from judgestats.ingest.reply_keys import ANSWER_KEY, CHOICE_KEY, FINAL, OTHER_KEY, SCORE_KEY
from judgestats.ingest.reply_languages import ANSWER_WORDS, OTHER_IS, OTHER_LEADS
from judgestats.ingest.reply_lines import LONGEST_LINE, stated_answers, with_tail
from judgestats.ingest.reply_meaning import EDGES, EMOJI, Answer, Meaning, Passage

_BRACKETS = re.compile(r"(?:(?<!\w)|(?=\[\[\D))\[\[([^\[\]\n]{1,60})\]\]")
_FINAL_LEAD = re.compile(rf"\b{FINAL}\w{{0,15}}(?: is)?:?[\s*_]{{0,4}}$", re.I)
_TAG = re.compile(rf"<(?P<tag>{ANSWER_KEY})>([^<]{{0,400}})</(?P=tag)>", re.I)
_MARKED = re.compile(rf"\[{ANSWER_KEY}\](?:[ \t]{{0,3}}:)?\s{{0,3}}(?=(?P<value>[^\[\n]{{1,200}}))", re.I)
#: A tag that is not closed at the end.
OPEN_TAG = re.compile(rf"<(?:{FINAL})?(?:{CHOICE_KEY}|{SCORE_KEY})>[^<]{{0,400}}$", re.I)
_LINE = re.compile(
    rf"^[ \t>#\-•_\[【|{EMOJI}]{{0,12}}(?:\d{{1,2}}[.)] )?(?:(?:so|therefore|thus|hence|my|the|your),? |"
    rf"{OTHER_LEADS}){{0,3}}(?:{ANSWER_KEY}|{OTHER_KEY})(?: ?[(\[](?P<about>[^()\[\]\n]{{0,40}})[)\]])?"
    rf"[ \t_\]】{EMOJI}]{{0,6}}(?P<sign>[:=：|→]|[-=]>|[-–—](?=[ \t])|"
    rf"is\b|{OTHER_IS}|$)[ \t_:]{{0,8}}(?:\n[ \t]{{0,8}}){{0,3}}"
    r"(?=(?P<value>[^\n]{1,160}))",
    re.I | re.M,
)
_TICKED = re.compile(r"^[ \t]{0,8}(?:[-+•][ \t]{1,4})?(?:\[[xX✓✔]\]|☑)[ \t]{1,4}([^\n]{1,60})", re.M)
_FINAL_HEADING = re.compile(r"#{1,6}[^\n]{0,20}\b(?:overall|final|conclusion|verdict)\b[^\n]{0,20}", re.I)
_OF_THE_SCALE = re.compile(r"[\W\d]{0,40}(?:(?:out of|scale|from|to|of|max|points)[\W\d]{0,20}){0,4}", re.I)


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
        or not leads[i].rsplit("\n", 1)[-1].strip(EDGES + ">-•")
        or (m is matches[-1] and m.start() > last_line)
    ]
    final = [i for i in strong if _FINAL_LEAD.search(leads[i])]
    chosen = final or strong
    if chosen:
        start = matches[chosen[-1]].start() - len(before(text, matches[chosen[-1]].start()))
        end = matches[chosen[-1]].end() + len(after(text, matches[chosen[-1]].end()))
        chosen += [i for i, m in enumerate(matches) if start <= m.start() < end]
    counted = set(chosen)
    passages: list[Passage] = []
    for i, match in enumerate(matches):
        answer = meaning.of(match[0])
        if not counted:
            passages.append(Passage(match[1], answer, False))
        elif i in counted:
            line = text[match.end() : match.end() + LONGEST_LINE].split("\n", 1)[0]
            answers = [answer] if answer is None else with_tail(meaning, answer, line)
            passages += [Passage(match[1] + line * (len(answers) > 1), a) for a in answers]
    return passages


def preferred(meaning: Meaning, values: Iterable[tuple[bool, object]]) -> list[Passage]:
    """Answers under keys: (whether the key is that of a score, value)."""
    passages = [
        (scored, Passage(str(value), answer))
        for scored, value in values
        if meaning.kind != "choice" or not scored or str(value) in meaning.labels
        for answer in _stated(meaning, value)
    ]
    if meaning.kind == "score" and any(scored and f.answer for scored, f in passages):
        return [f for scored, f in passages if scored]
    return [f for _, f in passages]


def _stated(meaning: Meaning, value: object) -> Sequence[Answer | None]:
    """The answers that a value states; None stands for one that cannot be read."""
    answer = meaning.of(value)
    return [answer] if answer or not isinstance(value, str) else stated_answers(meaning, value) or [None]


def in_tags(meaning: Meaning, text: str) -> list[Passage]:
    """Answers in tags, ``<verdict>A</verdict>``, or after one in square brackets, ``[RESULT] 3``."""
    matches = [m for m in _TAG.finditer(text) if m[m.re.groups].strip(EDGES) and not spoiled(text, *m.span())]
    tagged = preferred(meaning, ((bool(m["score"]), m[m.re.groups]) for m in matches))
    marked = [m for m in _MARKED.finditer(text) if not spoiled(text, m.start())]
    answers = preferred(meaning, ((bool(m["score"]), m["value"].split("\n", 1)[0]) for m in marked))
    return tagged + [passage for passage in answers if passage.answer is not None]


def on_lines(meaning: Meaning, text: str) -> list[Passage]:
    """Lines with a key, ``Verdict: A``, or a tick, ``- [x] A``; those that are called final decide."""
    passages: list[tuple[bool, bool, Passage]] = []  # whether the key is that of a score, whether it says final
    text = text.replace("*", "").replace("`", "")
    for match in _LINE.finditer(text):
        if spoiled(text, match.start()):
            continue
        scored = match["score"] or match["score_word"] or ""
        chosen = (match["choice"] or match["choice_word"] or "").lower()
        overall = scored.lower() == "overall"
        value = match["value"].strip().removeprefix("that ")
        if meaning.kind == "choice" and scored and not overall and value.strip(EDGES) not in meaning.labels:
            continue
        task = chosen.startswith(("answer", "result")) or chosen in ANSWER_WORDS
        if task and match["sign"] not in (*":=：-–—", ""):
            continue
        heading = text[max(0, match.start() - 60) : match.start()].rstrip().rsplit("\n", 1)[-1]
        final = bool(match["final"] or match["final_word"] or match["final_suffix"] or overall)
        final = final or _FINAL_HEADING.fullmatch(heading) is not None
        line = text[match.start("value") : match.start("value") + LONGEST_LINE].split("\n", 1)[0]
        line = line.strip().removeprefix("that ")
        if match["sign"] == "|":  # a row of a table
            answers = [answer] if (answer := meaning.of(value)) else []
        else:
            answers = stated_answers(meaning, line, final)
        if answers and "\n" in text[match.end("sign") : match.start("value")]:
            following = meaning.of(text[match.end("value") : match.end("value") + 80].strip().split("\n")[0])
            answers += [following] if following else []
        english = match["choice"] or match["score"]
        if not answers and (
            overall or not english or match["sign"] not in ":=：" or len(value) > 20 or not match["sign"]
        ):
            continue
        sure = _OF_THE_SCALE.fullmatch(match["about"] or "") is not None
        meanings: Sequence[Answer | None] = answers or [None]
        passages += [(bool(scored), final, Passage(value, a, sure, task)) for a in meanings]
    ticked = ((m[1], meaning.of(m[1])) for m in _TICKED.finditer(text))
    passages += [(False, False, Passage(value, answer)) for value, answer in ticked if answer]
    if meaning.kind == "score" and any(scored and f.answer for scored, _, f in passages):
        passages = [f for f in passages if f[0]]
    called_final = {f.task for _, final, f in passages if final and f.answer}
    return [f for _, final, f in passages if final or f.task not in called_final]
