"""Answers on a line of their own, and in the prose of a reply."""

from __future__ import annotations

import re
from collections.abc import Iterator

from judgestats.ingest.reply_context import after, before, spoiled
from judgestats.ingest.reply_keys import KEY_IN_LINE
from judgestats.ingest.reply_lines import stated_answers
from judgestats.ingest.reply_meaning import (
    CANDIDATE,
    DIGITS,
    EDGES,
    NOUN,
    PLUS_MINUS,
    Answer,
    Meaning,
    Passage,
    score_in,
)

_ADVERBS = r"(?: (?:clearly|slightly|much|significantly|overall|far|marginally|generally|therefore|thus|the|a|an)){0,3}"
_BEST = rf"(?:better|best|superior|preferable|stronger|winner)(?: {NOUN}| ai assistant| one| choice)?"
_BARE = r"(?:(?:(?<=^)|(?<=\n)|(?<=[.,;:!] )|(?<=that )|(?<=think )|(?<=believe )|(?<=conclude ))(?-i:([AB])))"
_NAMED = rf"(?:{CANDIDATE}|(?-i:([AB]))\b)"
_SENTENCES = re.compile(
    rf"\b{CANDIDATE} (?:(?:is|was){_ADVERBS} {_BEST}|(?:wins|won)|(?:provides|provided|gives|gave|offers|offered|has)"
    rf"{_ADVERBS} {_BEST})\b"
    rf"|{_BARE} (?:(?:is|was){_ADVERBS} {_BEST}|(?:wins|won))\b"
    rf"|\bI(?:'d| would)? (?:prefer|choose|pick|select|vote for|go with) {_NAMED}"
    rf"|\b(?:the|my) (?:better|best|preferred|winning|winner|verdict|choice)(?: {NOUN}| one)? is:? {_NAMED}",
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
    rf"(?: than {CANDIDATE})? (?:in (?!my|this case|general|total|conclusion)|on|at|for|with|when|if|by (?!far)|from|"
    rf"regarding|except|but only|to be|of (?!the two|both))\b|"
    r"[\"']{0,2},? (?:says|said|claims?)\b",
    re.I,
)
_COMPARISON = re.compile(r"(?<![\w<>=])[AB]\s?(?:<<|>>|<|>|=)\s?[AB](?![\w<>=])")
_CONCLUDES = re.compile(r"\b(?:say|verdict|think|conclude|prefer|judge|overall|therefore|final)\b", re.I)
_SPREAD = re.compile(rf"(?<![\d.\w/-])-?\d{{1,3}}(?:\.\d{{1,9}})?{PLUS_MINUS}{DIGITS}")
_FRACTION = re.compile(
    r"(?<![\d/.\w-])\d{1,3}(?:\.\d{1,9})?(?:\s?/\s?| out of )\d{1,3}(?![\d/]|\.\d)|"
    r"(?:(?<=score of )|(?<=rating of ))\d{1,3}(?:\.\d{1,9})?\b",
    re.I,
)
_RUNS = re.compile(r"\b(?:score|rating|rate|grade|mean|average|runs?|overall|total)\b|^\W{0,300}$", re.I)
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


def on_own_line(meaning: Meaning, text: str) -> Iterator[Passage]:
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
            yield Passage(line, answer)


def after_keys(meaning: Meaning, text: str) -> Iterator[Passage]:
    """A key within a line: ``..., so I conclude with verdict: A``."""
    for match in KEY_IN_LINE.finditer(text.replace("*", "").replace("`", "")):
        if meaning.kind != "choice" or not match["score"] or match["value"].strip(EDGES) in meaning.labels:
            sure = not spoiled(match.string, match.start())
            for answer in stated_answers(meaning, match["value"].strip()):
                yield Passage(match["value"], answer, sure)


def in_comparisons(meaning: Meaning, text: str) -> Iterator[Passage]:
    """A comparison in prose: ``A>B``."""
    for match in _COMPARISON.finditer(text):
        lead = before(text, match.start())
        sure = "=" not in match[0] and bool(_CONCLUDES.search(lead)) and not spoiled(text, *match.span())
        yield Passage(match[0], meaning.of(match[0]), sure)


def in_runs(meaning: Meaning, text: str) -> Iterator[Passage]:
    """A mean and its spread: ``8.2 ± 0.3``."""
    for match in _SPREAD.finditer(text) if meaning.kind != "choice" else ():
        yield Passage(
            match[0],
            meaning.of(match[0]),
            bool(_RUNS.search(before(text, match.start()))) and not spoiled(text, *match.span()),
        )


def in_sentences(meaning: Meaning, text: str) -> Iterator[Passage]:
    """A sentence that names the better candidate, or a score."""
    text = text.replace("*", "").replace("`", "").replace("’", "'")
    for match in (*_SENTENCES.finditer(text), *_EQUAL.finditer(text)) if meaning.kind != "score" else ():
        name = next((g for g in match.groups() if g), None)
        lead, rest = before(text, match.start()), after(text, match.end())
        sure = bool(_OPENING.match(_CLAUSE.split(lead)[-1]) and _CLOSING.match(rest))
        sure = sure and not (_HEDGE.search(lead) or _LIMITED.match(rest) or _SPOILED_LATER.search(rest))
        sure = sure and not rest.rstrip().endswith("?")
        yield Passage(match[0], meaning.side(name) if name else Answer("tie"), sure)
    for match in _FRACTION.finditer(text) if meaning.kind != "choice" else ():
        answer = score_in(match[0])
        if answer is None or _ANOTHER.match(text, match.end()):
            continue
        lead, rest = before(text, match.start()), after(text, match.end())
        hedged = _NO_RATING.search(lead) or _CONDITIONAL.search(lead + rest) or rest.rstrip().endswith("?")
        yield Passage(match[0], answer, bool(_RATES.search(lead)) and not hedged)
