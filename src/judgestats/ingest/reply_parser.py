"""One reply -> its answer, or why it has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from judgestats.ingest.explicit_forms import OPEN_TAG
from judgestats.ingest.json_replies import json_answers, json_objects
from judgestats.ingest.reply_context import REFUSAL, blanked, corrections, retractions, unquoted, without_layout
from judgestats.ingest.reply_forms import CLOSED, FORMS, OTHERS, PROSE
from judgestats.ingest.reply_meaning import EDGES, LISTING, Answer, Meaning, Passage
from judgestats.ingest.reply_thoughts import without_thoughts

#: Longest reply that is searched for forms that are not explicit.
_LONGEST = 100_000


class Outcome(NamedTuple):
    """A row of :func:`parse_verdicts`."""

    answer: Answer
    status: str
    form: str = ""
    note: str = ""


#: What a note says of ``[1,2]``, which may number the slots or the candidates.
_RANKS = "a ranking, ambiguous without labels="
_OPEN_BRACKET = re.compile(r"\[\[[^\[\]\n]{0,60}$|\(\w?$")
_FINISH = {
    **{"length": "truncated", "max_tokens": "truncated", "max_output_tokens": "truncated", "model_length": "truncated"},
    **{"content_filter": "refused", "refusal": "refused", "safety": "refused", "error": "error"},
}


def _is_open(text: str) -> bool:
    """Whether a reply ends inside brackets, a tag, a fence or an object."""
    tail = text[-500:]
    bare = text.strip(" \n\r\t`")
    cut = bare.removeprefix("json").lstrip().startswith("{") and not bare.endswith("}")
    return bool(cut or _OPEN_BRACKET.search(tail) or OPEN_TAG.search(tail) or text.count("```") % 2)


def _pooled(passages: Sequence[tuple[str, Passage]]) -> Outcome | None:
    """The one answer of what was found, or that there are two; None if nothing is an answer."""
    answers = [(form, f) for form, f in passages if f.answer is not None]
    sure = [(form, f) for form, f in answers if f.sure]
    distinct = {f.answer.choice if f.answer.choice else f.answer.score for _, f in answers if f.answer}
    strengths = {f.answer.strength for _, f in answers if f.answer} - {None}
    spreads = {f.answer.sd for _, f in answers if f.answer} - {None}
    maxima = {f.answer.out_of for _, f in answers if f.answer} - {None}
    letters = [f.raw.strip(EDGES) for form, f in passages if f.answer is None and form in CLOSED]
    odd = [raw for raw in letters if len(raw) == 1 and raw.isalpha()]
    if any(len(values) > 1 for values in (distinct, strengths, spreads, maxima)) or (answers and odd):
        raw_answers = dict.fromkeys([*(f.raw.strip(EDGES)[:25] for _, f in answers), *odd])
        return Outcome(Answer(), "parse", "", f"two answers: {', '.join(list(raw_answers)[:4])}")
    if not sure:
        return None
    form, best = sure[0]
    assert best.answer is not None
    if best.answer.choice == "invalid":
        return Outcome(Answer(), "parse", form, f"invalid by labels=: {best.raw.strip(EDGES)!r}")
    strength, sd, out_of = (next(iter(values), None) for values in (strengths, spreads, maxima))
    return Outcome(best.answer._replace(strength=strength, sd=sd, out_of=out_of), "ok", form)


_REFUSAL = Outcome(Answer(), "refused", "", "a refusal in place of an answer")


def _is_refusal(text: str) -> bool:
    return bool(REFUSAL.search(unquoted(text[:2000]).replace("’", "'")))


@dataclass(frozen=True)
class ReplyParser:
    """All that is needed to read one reply."""

    meaning: Meaning
    forms: Collection[str]
    prose: Collection[str]
    own: Callable[[str], Iterable[Passage]] | None
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
        outcome = self._by_form(text, ended, finish) if self.own is None else self._by_own(text, ended)
        return self._checked(outcome)

    def _by_own(self, text: str, ended: str) -> Outcome:
        assert self.own is not None
        passages = [(self.own_name, f) for f in self.own(text)]
        result = _pooled(passages)
        if result is None and passages and passages[0][1].raw:
            raw = passages[0][1].raw
            what = _RANKS if LISTING.fullmatch(raw) else "unknown answer"
            return Outcome(Answer(), "schema", "", f"{what}: {raw[:60]!r}")
        if result is None and not ended and _is_refusal(text):
            return _REFUSAL
        return result or Outcome(Answer(), ended or "parse", "", "no answer")

    def _by_form(self, text: str, ended: str, finish: str) -> Outcome:
        text, thinking = without_thoughts(text)
        text = without_layout(text)
        if (corrected := self._corrected(text)) is not None and not ended:
            return corrected
        passages, rest, problem = self._explicit(text)
        result = _pooled(passages)
        if result is not None:
            if ended == "truncated" and result.status == "ok" and result.form not in CLOSED:
                return Outcome(Answer(), ended, "", f"cut off: {rest.strip()[-30:]!r}")
            return result
        if ended:
            return Outcome(Answer(), ended, "", f"finish reason: {finish}")
        if problem in ("error", "refused"):
            return Outcome(Answer(), problem, "json", f"an object with {problem}")
        if _is_refusal(text):
            return _REFUSAL
        if thinking or _is_open(text):
            return Outcome(Answer(), "truncated", "", "ends inside a tag, brackets, a fence or an object")
        unknown = [(form, f) for form, f in passages if f.answer is None]
        if problem or unknown:
            raw = unknown[0][1].raw.strip() if unknown else ""
            what = _RANKS if LISTING.fullmatch(raw) else "unknown answer"
            return Outcome(Answer(), "schema", unknown[0][0] if unknown else "json", problem or f"{what}: {raw[:60]!r}")
        if len(rest) > _LONGEST:
            return Outcome(Answer(), "parse", "", "no answer in an explicit form")
        result = self._other(passages, rest, self.prose)
        if (
            result is None
            and not self.prose
            and (unasked := self._other(passages, rest, PROSE))
            and unasked.status == "ok"
        ):
            return Outcome(Answer(), "parse", "", "no answer but in a sentence, which sentences=True reads")
        return result or Outcome(Answer(), "parse", "", "no answer")

    def _explicit(self, text: str) -> tuple[list[tuple[str, Passage]], str, str]:
        """What stands in explicit forms, the text without objects and quotations, what is wrong with an object."""
        passages: list[tuple[str, Passage]] = []
        rest, problem = text, ""
        if "{" in text and {"json", "loose json"} & set(self.forms):
            passages, rest, problem = json_answers(self.meaning, text, "loose json" in self.forms)
            passages = [(form, f) for form, f in passages if form in self.forms]
        raw, rest = rest, unquoted(rest)
        passages = [("brackets", f) for f in self._tried("brackets", rest)] + passages
        passages += [("tag", f) for f in self._tried("tag", rest)]
        marked = any(f.answer for _, f in passages)
        passages += [("line", f) for f in self._tried("line", rest) if not (marked and f.task)]
        whole = self.meaning.of(raw) if "whole" in self.forms and len(raw) < 100 else None
        if whole is not None and (whole.score is None or whole.score < 1000):
            passages.append(("whole", Passage(raw, whole)))
        elif whole is None and not passages and LISTING.fullmatch(raw):
            passages.append(("whole", Passage(raw, None)))
        return passages, rest, problem

    def _other(self, passages: Sequence[tuple[str, Passage]], rest: str, prose: Collection[str]) -> Outcome | None:
        """The answer of the forms that are not explicit, these of free prose among them."""
        passages = [*passages, *((form, f) for form in OTHERS for f in self._tried(form, rest))]
        result = _pooled([*passages, *((form, f) for form in prose for f in FORMS[form](self.meaning, rest))])
        return result._replace(note="from a sentence") if result and result.form in PROSE else result

    def _corrected(self, text: str) -> Outcome | None:
        """What a reply comes to that takes back its answer; None where it takes none back."""
        if not retractions(text):
            return None
        plain = unquoted(blanked(text, [(start, end) for start, end, *_ in json_objects(text)]))
        cues = retractions(plain)
        if not cues:
            return None
        heads = [text[: cue.start()] for cue in cues]
        if not any(self._answer_of_part(head) for head in heads):
            return None
        for cue in cues:
            tail, _, _ = self._explicit(text[cue.start() :])
            sides = corrections(plain[cue.start() :]) if "correction" in self.forms else []
            tail += [("correction", Passage(name, self.meaning.of(name))) for name in sides]
            if (result := _pooled(tail)) is not None:
                return result
            if result := self._answer_of_part(text[cue.start() :]):
                return result
        if any(REFUSAL.search(cue[0]) for cue in cues):
            return _REFUSAL
        return Outcome(Answer(), "parse", "", f"taken back: {cues[0][0].strip(EDGES)[:40]!r}")

    def _answer_of_part(self, text: str) -> Outcome | None:
        """The answer of a part of a reply, or that there are two; None where it has none."""
        passages, rest, _ = self._explicit(text)
        return _pooled(passages) or (self._other(passages, rest, self.prose) if len(rest) <= _LONGEST else None)

    def _tried(self, form: str, text: str) -> Iterable[Passage]:
        return FORMS[form](self.meaning, text) if form in self.forms else ()

    def _checked(self, outcome: Outcome) -> Outcome:
        """A score beyond its own maximum or off the scale is none."""
        answer = outcome.answer
        if answer.score is None:
            return outcome
        if answer.out_of is not None and answer.score > answer.out_of:
            note = f"above the maximum: {answer.score:g} out of {answer.out_of:g}"
            return Outcome(Answer(), "semantic", outcome.form, note)
        if self.scale is not None:
            if answer.out_of not in (None, self.scale[1]):
                return Outcome(Answer(), "off scale", outcome.form, f"another maximum: out of {answer.out_of:g}")
            if not self.scale[0] <= answer.score <= self.scale[1]:
                return Outcome(Answer(), "off scale", outcome.form, f"off the scale: {answer.score:g}")
        return outcome._replace(note="self-reported runs") if answer.sd is not None else outcome
