"""The line of an answer, read to its end: a reason, a remark, a correction, a denial, or a second answer.

A line is its answer and clauses after it. A clause is a *remark* unless it denies the answer (``A: worse``), is another
answer (``A, B``; ``8 for A, 6 for B``), says that the other candidate is better, or corrects the answer (``8, reduced
to 7``; ``A - no, wait: B``; ``A on style; overall B``). No pattern has a repeat without a bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from judgestats.ingest.reply_context import is_reported
from judgestats.ingest.reply_keys import ANSWER_KEY_ONLY, KEY_IN_LINE
from judgestats.ingest.reply_meaning import CANDIDATE, EDGES, LISTING, NOUN, Answer, Meaning, score_in

#: Characters of a line that are read.
LONGEST_LINE = 600
_SUBORDINATE = (
    r"because|since|as|due|given|although|though|even|despite|while|whereas|where|with|without|by|thanks|"
    r"when|if|after|in spite|owing"
)
_TURN = (
    r"but|however|yet|so|therefore|then|overall|final|finally|"
    r"ultimately|instead|now|not|over|rather|than|otherwise|else"
)
_MARKS = r"->|=>|→|⇒|[;()（）\[\]；]|[:,：，、](?!\d)|[.!。！](?=\s|$)|(?<=\s)[-–—]{1,3}(?=\s)|—|\|"
#: Where an answer at the start of a line may end.
_HEAD_END = re.compile(
    rf"\s{{0,3}}(?:{_MARKS}|(?<=\s)(?=(?:{_SUBORDINATE}|{_TURN}|and|or|for|is|was|wins|won|isn't|wasn't|loses|lost|in|on|at|"
    r"up|down|from|before|reduced|lowered|raised|adjusted|corrected|revised|changed|minus|less|out|versus|vs|beats|clearly|"
    r"slightly|hands|marginally|narrowly|significantly|strongly|definitely|easily|convincingly|much)\b))",
    re.I,
)
_CLAUSE_START = re.compile(rf"\s{{0,3}}(?:(?P<mark>{_MARKS})|(?<=\s)(?=(?:{_SUBORDINATE}|{_TURN})\b))\s{{0,3}}", re.I)
_CONDITION = re.compile(
    r"(?:but )?(?:only )?(?:if|unless|provided (?:that|it)|assuming|when|in case|or so|maybe|perhaps)\b", re.I
)
_BETTER = r"(?:better|best|superior|preferable|preferred|stronger|strongest|favou?red|ahead|(?:the )?winner)"
_NOT = r"(?:not|never|no longer|hardly|barely|nowhere|n't|less|equally)"
_PREDICATE = re.compile(
    rf"(?:(?:is|was)(?! {_NOT}\b)(?: (?!{_NOT}\b)\w{{1,15}}){{0,2}} {_BETTER}\b|(?:wins|won)(?=\W|$)(?! (?:the|an?)\b))"
    r"(?P<limit>,? (?:in|on|at|for|with)\b(?! (?:my|general|total|balance|the end|every|all)))?",
    re.I,
)
_DENIAL = re.compile(
    r"(?:(?:that )?(?:is|was) )?(?:no|nope|false|untrue|wrong|"
    r"incorrect|inaccurate|worse|worst|inferior|weaker|loses|lost|"
    r"rejected|invalid|bad|not|not (?:the )?(?:better|best|correct|true|right|winner|good|preferred)(?: one)?)",
    re.I,
)
_AFFIRMED = re.compile(rf"(?:(?:is|was) )?(?:also )?(?:yes|true|right|correct|accurate|good|wins|won|{_BETTER})", re.I)
_CORRECTING = (
    r"overall|final|finally|ultimately|no|wait|actually|rather|instead|i mean|i meant|make (?:it|that)|sorry|oops|"
    r"correction|corrected(?: to)?|revised(?: to)?|updated(?: to)?|changed? to|switch(?:ed)? to|now|hmm|scratch that|"
    r"on (?:balance|reflection|second thoughts?)|in (?:the end|"
    r"total|sum|conclusion)|all in all|in the final analysis|to"
)
_LEADING = (
    r"and|or|but|then|so|also|yet|nor|still|however|therefore|"
    r"thus|the|my|is|it's|it|i|would|choose|pick|prefer|go with|"
    r"perhaps|maybe|possibly|probably|that is|i\.e\.|that's|which is|equals|verdict|"
    r"winner|choice|answer|score|rating|grade|result|better|best|one|both|either"
)
_LEAD = re.compile(rf"(?:(?:(?P<correcting>{_CORRECTING})|{_LEADING})(?:\b|(?<='))[\s,:]{{0,3}}){{1,6}}", re.I)
_TRAIL = re.compile(
    r"[\s,]{1,3}(?:(?P<correcting>overall|instead|rather|actually|"
    r"in the end|in total|after all)|too|as well|though|then|"
    r"points?|stars?)$",
    re.I,
)
_MENTION = rf"(?:{CANDIDATE}|(?-i:\b([AB])\b))"
_OTHER = re.compile(r"the other(?: (?:one|response|answer|assistant|candidate))?", re.I)
_BESIDE = re.compile(
    rf"(?:and |but )?(?:then|followed by|before|not|never|rather than|instead of|"
    rf"over|than|vs\.?|versus|beats|ahead of|unlike|against|no longer) "
    rf"{_MENTION}$",
    re.I,
)
_WINS = re.compile(
    rf"{_MENTION}(?:'s \w{{1,12}})? (?:(?:is|was|has|seems|"
    rf"does)(?! {_NOT}\b)(?: (?!{_NOT}\b)\w{{1,15}}){{0,2}} {_BETTER}|wins|won|"
    rf"prevails)\b(?P<limit>,? (?:in|on|at|for|with|when|if|by (?!far)|to|as|regarding|only)\b|"
    rf" (?!(?:{NOUN}|one|choice|overall|because|since|and|but|than|"
    rf"by|though|as|due|given|here|of|so|again|the|an?)\b)[a-z])?"
    rf"|\b(?:edge|advantage|preference|leani\w{{2}}|nod)(?: (?:to|for|towards?))? {_MENTION}"
    rf"|\b(?:i|would|i'd) (?:prefer|choose|pick|select|vote for|go with) {_MENTION}",
    re.I,
)
_LIMITED = re.compile(
    rf"(?:and |but )?{_MENTION} (?P<verb>wins |is (?:\w{{1,12}} )?better |leads )?(?:better )?(?:for|in|on|at)\b", re.I
)
_NUMBER = r"(-?\d{1,4}(?:\.\d{1,4})?(?:\s?(?:/|out of)\s?\d{1,3})?)"
_NUMBER_END = (
    r"(?=\s{0,2}(?:$|[,;:)!/]|\.(?!\d)|(?:points?|stars?|for|"
    r"because|since|due|as|after|overall|in|on|and|but|instead)\b))"
)
_CHANGED = re.compile(
    rf"\b(?:reduc|lower|rais|increas|decreas|dropp?|cut|adjust|revis|correct|chang|bump|mov|upgrad|downgrad|round|capp?|"
    rf"brought|brings?|bringing|down|up|settl|land|end)(?:e|ed|es|"
    rf"ing|s)?(?: (?:it|this|that|up|down|back|slightly)){{0,2}} "
    rf"(?:to|at|on) (?:an? )?{_NUMBER}{_NUMBER_END}",
    re.I,
)
_EQUATION = re.compile(rf"(?:^|\s|\d)=\s?{_NUMBER}\s{{0,2}}$")
_PART = re.compile(rf"(?:^|\b(?:and|but|only) ){_NUMBER}(?: points?| stars?)? (?:for|in|on)\b(?! balance)", re.I)
_DEDUCTED = re.compile(rf"(?:and |but )?(?:minus|less|-|−) ?{_NUMBER}\b", re.I)
_WHOLE = re.compile(r"(?:overall|in (?:total|all|sum))\b", re.I)
_SUBORDINATES = re.compile(rf"(?:{_SUBORDINATE})\b", re.I)
_TURNS = re.compile(r"(?:but|however|yet|so|therefore|overall|final|finally|ultimately|instead|now|otherwise)\b", re.I)

_OWN_VOICE = re.compile(
    r"^(?:i(?:'d| would)? (?:choose|pick|prefer|select|vote for|go with|say)|it(?:'s| is)) |^(?:clearly|definitely|"
    r"obviously|certainly|decidedly|slightly|strongly|overall|easily|simply|ultimately),? ",
    re.I,
)
_WITH = re.compile(r"with(?:out)?\b", re.I)
_NOT_FIRST = re.compile(r"\b(?:second|next|third|least|worst|other|runner)[ -]?$", re.I)
_MARKER = re.compile(r"\[\[[^\[\]\n]{1,60}\]\]")
_ASSERTS = re.compile(r"(?:is|was|isn't|wasn't|loses|lost)\b", re.I)
_LIMIT = re.compile(r"(?:in|on|at|for)\b(?! (?:the end|total|general|balance|my)\b)", re.I)
_VALUE_END = re.compile(r"\. |[,;()]|\s[-–—]")
_JOINED = re.compile(rf"(?:or|and|&) {_MENTION}", re.I)


class Clause(NamedTuple):
    """A clause after the answer: the mark before it, its text, its place, whether it is in brackets, or a reason."""

    mark: str
    text: str
    start: int
    bracketed: bool
    subordinate: bool


def stated_answers(meaning: Meaning, value: str, overall: bool = False) -> list[Answer]:
    """The answer of a line, or the two that it states; none where it denies its answer or cannot be read.

    `overall`: whether the key says that the answer is the one over all.
    """
    value = value[:LONGEST_LINE].replace("’", "'").strip(" \t·")
    if value.count("[[") > value.count("]]"):
        return []
    if answer := meaning.of(value):
        return [answer]
    value = _OWN_VOICE.sub("", value[1:-1] if value.startswith("<") and value.endswith(">") else value)
    if answer := meaning.of(value):
        return [answer]
    if LISTING.fullmatch(value):
        return []
    for match, _ in zip(_HEAD_END.finditer(value), range(5), strict=False):
        if match.start() and (head := meaning.of(value[: match.start()])) is not None:
            return with_tail(meaning, head, value[match.start() :], overall)
    equation = _EQUATION.search(value) if meaning.kind != "choice" and not re.search(r"[A-Za-z]", value) else None
    return [total] if equation and (total := score_in(equation[1])) else []


def _clauses(tail: str) -> Iterator[Clause]:
    """The clauses of what follows an answer."""
    breaks = [(m.start(), m.end(), m["mark"] or "") for m in _CLAUSE_START.finditer(tail)]
    breaks = breaks if breaks and breaks[0][0] == 0 else [(0, 0, ""), *breaks]
    depth, subordinate, mark = 0, False, ""
    ends = [*(start for start, _, _ in breaks[1:]), len(tail)]
    for (_, start, opened), end in zip(breaks, ends, strict=True):
        mark = opened or mark
        text = tail[start:end].strip(" \t·*_`\"'“”")
        depth += (opened or " ") in "(（["
        depth -= (opened or " ") in ")）]"
        if mark in (*";.!()（）[]；。！", "->", "→", "=>", "⇒", "-", "–", "—", "--") or _TURNS.match(text):
            subordinate = False
        if _SUBORDINATES.match(text):
            subordinate = True
        if text:
            yield Clause(mark, text, start, depth > 0, subordinate)
            mark = ""


def with_tail(meaning: Meaning, head: Answer, tail: str, overall: bool = False) -> list[Answer]:
    """The answers of a line that begins with an answer; the rest of the line may deny, correct or contradict it."""
    tail = _MARKER.sub("", tail.replace("’", "'"))
    clauses = [*_clauses(tail)]
    if not clauses:
        return [head]
    first = clauses[0]
    predicate = _PREDICATE.match(first.text)
    if (first.mark not in (".", "!", "。", "！") and _CONDITION.match(tail.lstrip(" \t,;:()[]-–—·"))) or (
        _ASSERTS.match(first.text) and not predicate and (not first.mark or first.text.lower().startswith("was"))
    ):
        return []
    reader = _Tail(meaning, head, overall or bool(_WHOLE.match(first.text)))
    if reader.is_alternative(first):
        return []
    reader.limited = not reader.overall and bool((predicate and predicate["limit"]) or _LIMIT.match(first.text))
    return reader.answers(clauses, tail)


class _Tail:
    """What the clauses after an answer add to it."""

    def __init__(self, meaning: Meaning, head: Answer, overall: bool) -> None:
        self.meaning, self.head, self.overall, self.limited = meaning, head, overall, False
        self.named = head.choice is not None or bool(meaning.labels)

    def is_alternative(self, clause: Clause) -> bool:
        """Whether a clause makes the answer one of several: ``A or B``, ``7 - 8``."""
        joined = _JOINED.match(clause.text)
        if joined and not clause.mark and self.head.choice and self._side(joined):
            return True
        if clause.mark not in ("-", "–", "—") and (clause.mark or not re.match(r"(?:or|and)\b", clause.text, re.I)):
            return False
        answer, corrects = self._bare(clause.text)
        return answer is not None and not corrects

    def answers(self, clauses: list[Clause], tail: str) -> list[Answer]:
        """The answer that stands, or those that contradict each other."""
        denied, corrected = False, None
        others: list[Answer] = []
        pending = ""  # what announces a correction, as "no, wait:"
        skipped = -1
        for i, clause in enumerate(clauses):
            text = clause.text
            label = clauses[i - 1].text if i and clause.mark in (":", "：", "=") else ""
            of_other_things = label and not _LEAD.fullmatch(label) and not ANSWER_KEY_ONLY.fullmatch(label)
            if i == skipped or of_other_things or is_reported(tail, clause.start):
                continue
            following = clauses[i + 1] if i + 1 < len(clauses) else None
            if self.named and _DENIAL.fullmatch(text) and not clause.subordinate and i == 0 and clause.mark != ",":
                denied = True
                continue
            if (lead := _LEAD.fullmatch(text)) and lead["correcting"]:
                pending = text
                continue
            if (beside := _BESIDE.fullmatch(text)) and (side := self._side(beside)):
                denied |= side == self.head
                continue
            listed = [self._bare(part)[0] for part in re.split(r"\s+(?:and|or|&)\s+", text)]
            if len(listed) > 1 and None not in listed and not clause.subordinate and not clause.bracketed:
                others += [a for a in listed if a is not None]
                continue
            answer, corrects = self._bare(text)
            if answer is not None:
                verb = following.text if following and following.mark in (":", "(", "=", "：", "（") else ""
                supposed = (
                    self.head.score is not None and following and not following.mark and _WITH.match(following.text)
                )
                remark = following and following.mark in (":", "：") and not _AFFIRMED.fullmatch(following.text)
                if supposed or remark or _DENIAL.fullmatch(verb):
                    denied |= answer == self.head and bool(_DENIAL.fullmatch(verb))
                    skipped = i + 1
                    continue
                if corrects or pending or clause.mark in ("->", "→", "=>", "⇒"):
                    corrected = answer
                elif not clause.subordinate and not (clause.bracketed and self._is_share(answer)):
                    others.append(answer)
                    skipped = i + 1 if verb and _AFFIRMED.fullmatch(verb) else -1
                pending = ""
                continue
            pending = ""
            new, changes = self._within(clause)
            others += new
            corrected = changes or corrected
        if pending and self.named and _DENIAL.fullmatch(pending):
            denied = True
        for again, final in self._under_keys(tail):
            corrected = again if final else corrected
            others += [] if final else [again]
        if corrected is not None:
            return [corrected]
        if denied:
            others = others or self._opposite()
            return others if len(set(others)) == 1 else []
        return [self.head, *(a for a in others if a != self.head)]

    def _under_keys(self, tail: str) -> Iterator[tuple[Answer, bool]]:
        """Answers under further keys of the line, and whether these say final."""
        for match in KEY_IN_LINE.finditer(f" {tail}"):
            answer = self.meaning.of(_VALUE_END.split(match["value"], maxsplit=1)[0])
            if answer and self._is_alike(answer) and not _NOT_FIRST.search(match.string[: match.start()]):
                yield answer, bool(match["final"])

    def _side(self, match: re.Match[str]) -> Answer | None:
        """The candidate that a clause names, where the answer is a choice."""
        name = next((g for g in match.groups() if g and len(g) < 7 and g.lower() in _NAMES), None)
        return self.meaning.side(name) if name and self.head.choice else None

    def _bare(self, text: str) -> tuple[Answer | None, bool]:
        """The answer that a clause is, and nothing else, and whether it says that it corrects."""
        corrects = False
        for _ in range(3):
            if self.head.choice in ("first", "second") and _OTHER.fullmatch(text):
                return Answer("second" if self.head.choice == "first" else "first"), corrects
            answer = self.meaning.of(text)
            if answer is None and self.head.score is not None:
                answer = score_in(text.strip(EDGES))
            if answer is not None and self._is_alike(answer):
                return answer, corrects
            if trail := _TRAIL.search(text):
                corrects |= bool(trail["correcting"])
                text = text[: trail.start()]
            if lead := _LEAD.match(text):
                corrects |= bool(lead["correcting"])
                text = text[lead.end() :]
        return None, corrects

    def _is_alike(self, answer: Answer) -> bool:
        """Whether an answer is a choice where the first is one, or a score."""
        return (answer.choice is None) == (self.head.choice is None)

    def _is_share(self, answer: Answer) -> bool:
        """Whether a bracket repeats the score in percent."""
        out_of = {self.head.out_of, 5.0, 10.0, 1.0} - {None}
        return answer.out_of == 100 and any(
            abs(100 * (self.head.score or 0) - (answer.score or 0) * m) < 1e-9 for m in out_of if m
        )

    def _within(self, clause: Clause) -> tuple[list[Answer], Answer | None]:
        """Second answers and a correction within the words of a clause."""
        if self.head.score is not None:
            return self._scores_within(clause)
        others: list[Answer] = []
        for match in _WINS.finditer(clause.text):
            side = self._side(match)
            if side and (not match.groupdict().get("limit") or (self.limited and not clause.subordinate)):
                others.append(side)
        part = _LIMITED.match(clause.text)
        if part and not clause.subordinate and (side := self._side(part)):
            others += [side] if self.limited or not part["verb"] else []
        return others, None

    def _scores_within(self, clause: Clause) -> tuple[list[Answer], Answer | None]:
        """Another score of a part, a deduction, and a correction within the words of a clause."""
        text = clause.text
        for pattern in (_CHANGED, _EQUATION):
            if match := pattern.search(text):
                return [], score_in(match[1])
        if clause.subordinate or self.overall:
            return [], None
        if (match := _PART.search(text)) and (self.limited or not clause.bracketed):
            part = score_in(match[1])
            return ([part] if part else []), None
        if (match := _DEDUCTED.match(text)) and self.head.score is not None:
            return [Answer(score=self.head.score - float(match[1].split("/")[0].split("out")[0]))], None
        return [], None

    def _opposite(self) -> list[Answer]:
        """The other of two labels, where the first is denied."""
        targets = {*self.meaning.labels.values()}
        said = self.head.choice if self.head.choice is not None else self.head.score
        if len(targets) != 2 or said not in targets or self.head.choice is not None:
            return []
        (other,) = targets - {said}
        return [Answer(score=float(other))]


_NAMES = ("a", "b", "1", "2", "one", "two", "first", "second")
