"""What surrounds a marker in a reply: quotation, code, denial, hypothesis, question, speech of others, retraction.

A marker such as ``[[A]]`` that stands in one of these is no verdict. No pattern has a repeat without a bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from judgestats.ingest.reply_languages import (
    CHOICE_WORDS,
    DENIED_AFTER,
    DENIED_BEFORE,
    FOR_EXAMPLE,
    SCORE_WORDS,
    SORRY,
    THEREFORE,
)
from judgestats.ingest.reply_meaning import QUOTES

_PAIRS = "|".join(rf"{pair[0]}[^{pair}]{{1,400}}{pair[1]}" for pair in QUOTES)
_QUOTED = re.compile(
    r"(?<![\w\[])\"(?=\S)(?:[^\"\n]|\n(?!\n)){1,400}\"(?!\w)|"
    rf"{_PAIRS}|"
    r"(?<![\w\[])['‘](?=\S)(?:[^'’‘\n]|(?<=\w)['’](?=\w)){1,400}['’](?!\w)|"
    r"`[^`\n]{1,400}`|~~[^~\n]{1,400}~~"
)
_OPENING, _CLOSING = ("".join(dict.fromkeys(pair[side] for pair in QUOTES)) for side in (0, 1))
_MARKS = "\"'`‘~" + _OPENING
_WHOLE = re.compile(
    rf"\s{{0,99}}[\"'‘*{_OPENING}]{{0,4}}\s{{0,9}}[^\"'`‘’~>\n{_OPENING}{_CLOSING}]{{1,60}}\s{{0,9}}[\"'’*{_CLOSING}]{{0,4}}[.。]?\s{{0,99}}"
)
_MARKER_LAST = re.compile(rf"\]\][\s\"'’*_`.。{_CLOSING}]{{0,9}}$")
_VALUE_OF = re.compile(
    r"(?:winner|verdict|choice|preference|preferred|decision|answer|judge?ment|better|best|result|rating|score|grade|"
    rf"{CHOICE_WORDS}|{SCORE_WORDS})"
    r"(?: \w{1,12})?[ *_]{0,4}(?:[:=：]|\bis:?|(?<=verdict)[*_ ]{0,3}(?=\n))[ *_\n]{0,6}$",
    re.I,
)
_HEADING_OF_VALUE = re.compile(
    r"(?:^|\n)#{1,6} [^\n]{0,40}\b(?:winner|verdict|choice|preference|decision|answer|judge?ment|rating|score)"
    r"[^\n]{0,9}$",
    re.I,
)
#: Fences of these languages, or of none, may hold an answer; others are code.
_NO_CODE = {"", "json", "json5", "jsonc", "text", "txt", "plaintext", "markdown", "md", "yaml", "yml", "xml", "html"}
_BOXED = re.compile(r"\\boxed\{(?:\\(?:text|math)\w{0,6}\{)?([^{}\n]{1,50})\}{1,2}")
_TAGS = re.compile(r"</?(?:b|strong|i|em|u|span|mark)>", re.I)
_BREAKS = re.compile(r"</?(?:p|div|li|br ?/?|h[1-6])>", re.I)
#: Right before an answer that another one has replaced.
_FORMER = re.compile(r"(?:\(was|\b(?:up|down) from|\b(?:previously|formerly|instead of))\W{0,6}$", re.I)
_ALTERNATIVES = re.compile(
    r"^[^\n]{1,200}(?:\n[ \t]{0,9}){1,3}(?:or|and/or)[ \t:]{0,9}(?:\n[ \t]{0,9}){1,3}"
    r"[^\n]{1,200}$",
    re.I | re.M,
)
_QUOTED_LINE = re.compile(r"[ \t]{0,9}>(?![ \t]{0,9}\*\*[^*\n]{1,60}[:=])")
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”’*)]|$)|[。！？]|\n")
_CLAUSE_END = re.compile(
    r"[,;](?= |$)|\s[-–—]{1,2}\s|:(?=\s)|[，、；：]|\b(?:but|so|thus|hence|therefore)\b|" + THEREFORE
)

_NEGATION = re.compile(
    r"\b(?:not|never|neither|nor|nobody|none|no one|hardly|barely|cannot|without|refus\w{1,5}|declin\w{1,4}|unable|"
    r"instead of|rather than|than|far from|wrong to|(?:opposite|"
    r"inverse|reverse|contrary|contrast) (?:of|to)|other than|"
    r"reject\w{0,3}|doub\w{1,4}|avoid\w{0,3}|against|resist\w{0,3}|"
    r"deny|denies|unlikely|unsure|uncertain|no (?:longer|way|reason|chance|basis|circumstances?)|fail\w{0,2} to|"
    r"stop short)\b|n't\b",
    re.I,
)
_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|suppos\w{1,5}|assum\w{1,5}|imagin\w{1,4}|had (?:it|the|i|this|that|response|assistant)|"
    r"were (?:it|the|i|this|response|assistant)|in case|provided that|hypothetical\w{0,2}|in theory|pretend\w{0,3}|"
    r"(?:any|every)thing but)\b|"
    r"(?:^\W{0,9}|; )to (?:choose|pick|select|indicate|signal|mark|vote for) (?:the |response |assistant )?"
    r"(?:first|second|[ab]|one|other)\b",
    re.I,
)
_TENTATIVE = re.compile(
    r"\b(?:might|may|could|should|maybe|perhaps|possibly|probably|initial\w{0,2}|at first|first (?:i|glance|sight|"
    r"thought|impression)|thought|almost|nearly|was (?:going|about|leani\w{2}|inclined)|tempted|inclined|leani\w{2}|"
    r"some|"
    r"often|usually|someone|anyone|everyone|people|one|would have (?:been|said|chosen|picked|given|written|gone)|"
    r"used to|between|until|before)\b|"
    r"(?<!\bi )(?<!\bverdict )(?<!\banswer )(?<!\bchoice )(?<!\bwinner )\bwould\b|\bwould only\b|\bonly\b",
    re.I,
)
_OF_OTHERS = re.compile(
    r"\b(?:says|(?<!i )(?<!would )(?<!will )(?<!must )(?<!'d )say|said|saying|states|stated|writes|wrote|written|"
    r"ends?|ending|contains?|containing|includes?|including|"
    r"prints?|printed|printing|claims?|claimed|claiming|asks?|asked|asking|t(?:ell\w{0,3}|old)|instructs?|instructed|"
    r"instructing|wants?|demand\w{0,3}|requested|requesting|requests|reads|beg\w{0,4}|append\w{0,3}|insert\w{0,3}|"
    r"embed\w{0,4}|inject\w{0,4}|suggest\w{0,3}|urge\w{0,2}|override|prompt|format (?:is|was|would|for)|example|"
    r"e\.g\.|such as|like|"
    r"options?|placeholder|string|token|quot\w{1,6}|mention\w{0,3}|supposed|required|expected|forced|bribe\w{0,2}|"
    r"steer\w{0,3}|trick\w{0,3}|command\w{0,3}|order\w{0,3}|hidden|ignore|disregard|repeat\w{0,3}|seeing|see|saw|"
    r"please|always|reserved|stands? for|means?|denotes?|according to|depends|depending)\b",
    re.I,
)
_ORDERED = re.compile(
    r"\b(?:output|print|write|say|answer|reply|respond|choose|pick|select|vote|give|return|use|state|rate)"
    r"(?: (?:with|for|only|me|it|us|this|a|the))?[\s\"'“*_`]{0,5}$",
    re.I,
)
_LISTED = re.compile(r"(?:\[\[[^\[\]\n]{1,60}\]\][^\w\n\[]{0,8}(?:(?:or|and|nor)\b[^\w\n\[]{0,8})?){1,9}$")
_OWN_VOICE = re.compile(r"\b(?:i|i'd|i'll|we|my)\b", re.I)
_SPOILED_AFTER = re.compile(
    r"[\"'”’*_)\]]{0,6}(?:\?|,? ?(?:(?:if|when|unless|would|could|might|may|should|can|cannot|can't|nor|only|had|"
    r"were|provided (?:that|it)|assuming|otherwise|says?|said|claims?|claimed|asks?|according|isn't|wasn't|does|did|"
    r"doesn't|"
    r"an? (?:\w{1,15} ){0,2}(?:injection|attempt|trick|manipulation|example|placeholder)|"
    r"as (?:the (?!better|best|winn|superior|prefer|more|final|correct|strong)|it|instructed|requested|asked|"
    r"an? (?:example|option|placeholder))|(?:appears?|occurs?|comes?|stands?)|"
    r"or(?! ?[^\w\n]{0,6}(?:verdict)?[\[{])|in (?:the|its|their|this|that|his|her) (?:text|response|prompt|"
    r"instruct\w{0,5}|"
    r"code|answer|middle|last|first|end|essay|output))\b|"
    r"(?:is|was|as)\b(?! (?:\w{1,15} ){0,3}(?:better|best|superior|preferable|preferred|stronger|winner|correct|"
    r"right|more|"
    r"my|verdict|choice|answer|clear\w{0,2}|it)\b)|(?:is|was) (?:not|never|no|hardly|far)\b))|"
    r"[^\w\n]{0,6}\s{1,3}(?:this|that|it) (?:is|was|looks like|seems) (?:\w{1,15} ){0,3}(?:injection|attempt|trick|"
    r"manipulation|quotation|quote|instruction|example|placeholder|string|format)\b",
    re.I,
)

_START = (
    r"(?:^|(?<=[.!?:;)\]*\n]) {0,2})[^\w\]]{0,8}(?:(?:but|and|well|oh|so|hm{1,6}|um|ah|please|ok|okay|note|no),? )?"
)
_VERDICT = r"(?:verdict|answer|choice|decision|judge?ment|rating|score|vote|conclusion|statement|line|marker|reply)"
#: A refusal to judge, wherever it stands in a reply.
REFUSAL = re.compile(
    r"\bi(?:'m| am)? (?:(?:must|have to|will|need to|respectfully) ){0,2}(?:decline|refuse)(?! to (?:follow|obey|"
    r"be|let|accept|fall|reward))\b|"
    r"\bi(?:'m| am)? ?(?:can'?t|can ?not|won'?t|will not|unable|not able|not willing)(?: and will not)?(?: to)?"
    r"(?: \w{1,12})? ?(?:assist|help|comply|evaluate|judge|rate|compare|engage|participate|fulfill?|rank|assess|"
    r"do that|"
    r"answer(?! the question)|(?:provide|give|offer|render|make|issue)(?= (?:an?|any|my|the|you|this|that|such)\b))\b|"
    r"\b(?:sorry|apologi[sz]e|apologies|afraid|regret\w{0,5})\b[^\n.]{0,40}\bi(?:'m| am)?"
    r" ?(?:can'?t|can ?not|won'?t|will not|unable|not able)(?: to)?(?: do (?:this|that|it|so))?(?= ?(?:[.!]|$))|"
    rf"{SORRY}",
    re.I,
)
_TAKEN_BACK = re.compile(
    rf"{_START}(?:sorry,? (?:i|no|that|my|it|wrong|the)\b|(?:self-)?correction\b|actually\b|wait\b|oops|whoops|hmm|"
    r"no(?=[,.:;!]| wait| -)|scra(?:tch|p) (?:that|this|it)|strike (?:that|this|it)|never ?mind|nevermind|"
    r"on (?:second thou|(?:further |closer |more )?(?:reflection|inspection|consideration|look))|"
    r"edit(?:ed)?\b(?=\W)|update\b(?=\W)|revis(?:ion|ed)\b|erratum|apologies,? (?:i|my|the|that)|my (?:mistake|bad)|"
    r"i mean\b|let me (?:correct|revise|rethink|reconsider|change|retract)|just kidding|kidding|joking|or (?:is|"
    r"was) it|"
    r"however,? (?:i|my)\b|(?:ignore|disregard|discard|forget|delete|cancel|omit|skip) (?:the|my|that|this|what|all|"
    r"any)\b|"
    r"(?:do not|don't|never) (?:count|use|read|take|record|trust)\b|not!|psych)"
    r"|\bi(?:'ve| have|'m| am|'d| would| now| hereby| must| do| did| should| have to| want to| need to){0,3} "
    r"(?:now |hereby |just |also |must |accidentally |mistakenly )?"
    r"(?:take (?:that|it|this|my) |withdr[ae]w|retract|revoke|rescind|chang(?:ed?|ing) my|was (?:wrong|mistaken|"
    r"joking|kidding|"
    r"being sarcastic)|made an? (?:mistake|error|typo)|misread|mis-?typed|mixed|swapped|confused|reversed|got (?:it|"
    r"them|that) "
    r"(?:wrong|back)|not stand by|n't stand by|no longer|meant\b(?! to (?:say )?that)|mean(?:t)? the (?:other|"
    r"opposite)|"
    r"should have (?:said|chosen|written|picked)|have said|overlooked|reconsider)"
    r"|\bi (?:do not|don't|did not|didn't|no longer) (?:\w{1,12} )?(?:stand by|mean|hold|endorse|agree with (?:that|"
    r"this)|"
    rf"have (?:an?|any|my) (?:\w{{1,12}} )?{_VERDICT}|believe (?:that|it))"
    r"|\bi have no (?:\w{1,12} ){0,2}(?:verdict|opinion|view|preference)\b"
    rf"|\b(?:that|this|it|the above|which|my (?:\w{{1,12}} )?{_VERDICT}|(?:the|this|that) (?:\w{{1,12}} )?"
    rf"(?:verdict|decision|choice|judge?ment|rating|vote|marker|line)(?: above)?) (?:was|is|were) "
    r"(?:a mistake|an error|in error|a typo|void|invalid|not (?:my|mine|final|meant|serious|a verdict|valid)|"
    r"a (?:joke|test|quote|quotation|lie)|(?:just|only|merely) (?:an?|the)|part of|taken from|copied|quoted|"
    r"printed by|written by|withdrawn|retracted|sarcas\w{1,5}|provisional|backwards|the wrong way)\b"
    rf"|\b(?:my (?:\w{{1,12}} )?{_VERDICT}|(?:the|this|that) (?:verdict|decision|choice|vote)(?: above)?) (?:was|is) "
    r"(?:wrong|incorrect|mistaken)\b|(?<=\]\])[\s.*]{1,4}(?:no, )?(?:that|this|it)(?: was| is|'s) (?:wrong|incorrect|"
    r"mistaken)\b"
    r"|\b(?:line|text|block|verdict|marker|passage|json|object|above) (?:above |just |before )?(?:comes|came|is|"
    r"was) (?:from|part of|"
    r"not mine|in) (?:the |response|assistant|answer|its|candidate)"
    r"|\b(?:in error|by mistake|by accident)\b|\bno verdict\b|\bi(?:'m| am)(?: \w{1,9})? (?:not (?:so )?sure|unsure|"
    r"undecided|torn)\b"
    r"|\bi (?:can'?t|cannot|can not|could not|couldn't) (?:\w{1,9} )?(?:decide|tell|choose|commit|make up|"
    r"say (?:which|who|that))\b"
    rf"|{REFUSAL.pattern}",
    re.I,
)
_EXCUSE = re.compile(
    r"\b(?:sorry|apologies|my (?:mistake|bad)|misread|mixed|swapped|confused|mis-?typed|by mistake)", re.I
)
_SIDE = (
    r"(?:(?:the )?(?:ai )?(?:assistant|response|answer|output|model|candidate|option|summary|story|system|translation|"
    r"completion|essay|solution|submission|text)[ _]?[(\[]{0,2}(?:[ab12]|one|two)[)\]]{0,2}|"
    r"the (?:first|second)(?: \w{1,12})?|(?-i:[AB])|(?:a )?(?:tie|draw)|-?\d{1,3}(?:\.\d{1,3})?(?: ?/ ?\d{1,3})?)"
)
_CORRECTED = re.compile(
    r"(?:\b(?:meant?(?: to (?:say|write|pick|choose))?|make (?:that|it)|should (?:be|have been|say|read)|is(?: now)?|"
    r"it's|to|choose|pick|"
    r"prefer|go with|vote for|read|have (?:said|chosen|picked))|(?:\bno|wait|actually|correction|edit|oops|sorry|"
    r"update|"
    r"rather|mean|that|kidding|mind|thou?ghts?|reflection)[,:.!*;]{0,4}(?: it's| it is)?(?: rather| really| actually)?)"
    rf"[ *_:\"'\[]{{1,6}}({_SIDE})(?=[*_\"'\]]{{0,6}}(?:[.,;!\n)]|\s{{0,9}}$| (?:instead|rather|because|since|over|"
    rf"not|after all)\b|"
    r" (?:is|was)(?: \w{1,12})? (?:better|best|superior|stronger)\b(?! (?:in|at|on|for|if)\b)| wins[.!]))",
    re.I,
)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with dots in these spans; its length, lines and places stay."""
    parts, last = [], 0
    for start, end in spans:
        if start >= last:
            parts += [text[last:start], "".join("\n" if c == "\n" else "·" for c in text[start:end])]
            last = end
    return "".join([*parts, text[last:]])


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Where the comments of HTML stand."""
    end = 0
    while (start := text.find("<!--", end)) >= 0 and (close := text.find("-->", start + 4)) >= 0:
        end = close + 3
        yield start, end


def without_layout(text: str) -> str:
    """A reply without the tags of HTML that only lay it out."""
    return _BREAKS.sub("\n", _TAGS.sub("", text)) if "<" in text else text


def unquoted(text: str) -> str:
    r"""A reply with as many dots for what it quotes, strikes out or shows as code; ``\boxed{A}`` is ``[[A]]``."""
    if "\\boxed{" in text:
        text = _BOXED.sub(lambda m: f"[[{m[1]}{' ' * (len(m[0]) - len(m[1]) - 4)}]]", text)
    if _WHOLE.fullmatch(text) and not _sentence_of_marker(text):
        return text
    if "<!--" in text:
        text = blanked(text, _comments(text))
    if "or" in text.lower():
        text = blanked(text, [m.span() for m in _ALTERNATIVES.finditer(text)])
    pieces = text.split("```")
    languages = {p.split("\n", 1)[0].strip().lower() for p in pieces[1::2] if "\n" in p}
    if len(pieces) > 2 and (any(p.strip() for p in pieces[::2]) or languages - _NO_CODE):
        at, fences = 0, []
        for number, piece in enumerate(pieces):
            lead = text[:at].rstrip("` \n\t")[-60:]
            is_value = _VALUE_OF.search(lead) or _HEADING_OF_VALUE.search(lead)
            if number % 2 and number < len(pieces) - 1 and not is_value:
                fences.append((at, at + len(piece)))
            at += len(piece) + 3
        text = blanked(text, fences)
    if any(mark in text for mark in _MARKS):
        text = blanked(text, [m.span() for m in _QUOTED.finditer(text) if not _is_value(text, m)])
    if ">" in text:
        text = "\n".join("·" * len(line) if _QUOTED_LINE.match(line) else line for line in text.split("\n"))
    return text


def _sentence_of_marker(text: str) -> bool:
    """Whether a quotation goes on after the marker in it: "[[B]] is to be printed" is no answer."""
    return "]]" in text and not _MARKER_LAST.search(text)


def _is_value(text: str, match: re.Match[str]) -> bool:
    """Whether a quotation is the value of a key, or a marker that is the whole last line."""
    if match[0].startswith("~") or _sentence_of_marker(match[0][1:-1]):
        return False
    lead = text[max(0, match.start() - 60) : match.start()]
    alone = lead.endswith("\n\n") and match[0][1:3] == "[[" and not text[match.end() :].strip()
    return bool(_VALUE_OF.search(lead)) or (alone and not lead.rstrip().endswith(":"))


def before(text: str, start: int) -> str:
    """The sentence of a place, up to it, with a line before that ends in a colon; at most 300 characters."""
    lead = text[max(0, start - 300) : start]
    same = _SENTENCE_END.split(lead)[-1]
    if same.strip(" \t*_#>-[(\"'`") or not lead.rstrip(" \n\t*_#>-[(\"'`").endswith(":"):
        return same
    return _SENTENCE_END.split(lead.rstrip(" \n\t*_#>-[(\"'`"))[-1]


def after(text: str, end: int) -> str:
    """The sentence of a place, from it on, with its mark; at most 300 characters."""
    rest = text[end : end + 300]
    stop = _SENTENCE_END.search(rest)
    return rest[: stop.end()] if stop else rest


def spoiled(text: str, start: int, end: int | None = None) -> bool:
    """Whether the place is denied, supposed, asked, refused or reported speech; `end`: None if what precedes counts."""
    sentence = before(text, start).replace("’", "'")
    if _SUPPOSED.search(sentence) or REFUSAL.search(sentence):
        return True
    clause = _CLAUSE_END.split(_LISTED.sub("", sentence).rstrip(" *_:("))[-1]
    if any(p.search(clause) for p in (_NEGATION, _TENTATIVE, _OF_OTHERS, DENIED_BEFORE)):
        return True
    lead = text[max(0, start - 25) : start]
    if FOR_EXAMPLE.search(lead) or _FORMER.search(lead):
        return True
    if _ORDERED.search(sentence) and not _OWN_VOICE.search(sentence):
        return True
    if end is None:
        return False
    asks = after(text, end).rstrip(" *_\"'”)").endswith(("?", "？"))
    rest = text[end : end + 120].replace("’", "'")
    return asks or bool(_SPOILED_AFTER.match(rest) or DENIED_AFTER.match(rest))


def is_reported(text: str, start: int) -> bool:
    """Whether a place is the speech of somebody else."""
    return bool(_OF_OTHERS.search(before(text, start).replace("’", "'")))


def retractions(text: str) -> list[re.Match[str]]:
    """The places where a reply takes back what stands before, last first: the last, and what it merely excuses."""
    matches = list(_TAKEN_BACK.finditer(text.replace("’", "'")))[::-1]
    last = next((i for i, m in enumerate(matches) if not _EXCUSE.search(m[0])), len(matches))
    return matches[: last + 1]


def corrections(text: str) -> list[str]:
    """The sides that a correction names, in the 400 characters from its cue on."""
    text = text[:400].replace("’", "'")
    return [m[1] for m in _CORRECTED.finditer(text) if not spoiled_lead(before(text, m.start()))]


def spoiled_lead(sentence: str) -> bool:
    """Whether the start of a sentence denies or supposes what comes."""
    clause = _CLAUSE_END.split(sentence)[-1]
    return bool(_SUPPOSED.search(sentence) or _NEGATION.search(clause) or _TENTATIVE.search(clause))
