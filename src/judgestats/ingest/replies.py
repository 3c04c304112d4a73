"""Replies of judges as text -> their answers: :func:`parse_verdicts`.

The explicit forms of a reply decide; only a reply without any is searched for the others (``ingest/reply_forms.py``).
What is quoted, denied, supposed or taken back is no answer (``ingest/reply_context.py``), and all answers of the forms
that decide must be one answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import SchemaError, score_range, suggestion
from judgestats.ingest.reply_context import REFUSAL, blanked, corrections, retractions, unquoted
from judgestats.ingest.reply_forms import (
    CLOSED,
    EDGES,
    EXPLICIT,
    FORMS,
    NUMBER,
    OPEN_TAG,
    OTHERS,
    PROSE,
    Answer,
    AnswerKind,
    Found,
    Meaning,
    json_answers,
    json_objects,
)
from judgestats.schema.columns import CHOICES

#: Names of forms, a regular expression, a parser, or None for all forms.
Form = str | Sequence[str] | re.Pattern[str] | Callable[[str], Any] | None
#: Longest reply that is searched for forms that are not explicit.
_LONGEST = 100_000


class Outcome(NamedTuple):
    """A row of :func:`parse_verdicts`."""

    answer: Answer
    status: str
    form: str = ""
    note: str = ""


# ---- One reply -------------------------------------------------------------------------------------------------------

_OPEN_BRACKET = re.compile(r"\[\[[^\[\]\n]{0,60}$|\(\w?$")
_THOUGHT = re.compile(r"<(/?)(think|thinking|reasoning|rationale|explanation|analysis|justification|scratchpad)>", re.I)
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
    return bool(cut or _OPEN_BRACKET.search(tail) or OPEN_TAG.search(tail) or text.count("```") % 2)


def _pooled(found: Sequence[tuple[str, Found]]) -> Outcome | None:
    """The one answer of what was found, or that there are two; None if nothing is an answer."""
    answers = [(form, f) for form, f in found if f.answer is not None]
    sure = [(form, f) for form, f in answers if f.sure]
    distinct = {f.answer.choice if f.answer.choice else f.answer.score for _, f in answers if f.answer}
    strengths = {f.answer.strength for _, f in answers if f.answer} - {None}
    spreads = {f.answer.sd for _, f in answers if f.answer} - {None}
    maxima = {f.answer.out_of for _, f in answers if f.answer} - {None}
    letters = [f.raw.strip(EDGES) for form, f in found if f.answer is None and form in CLOSED]
    odd = [raw for raw in letters if len(raw) == 1 and raw.isalpha()]
    if any(len(values) > 1 for values in (distinct, strengths, spreads, maxima)) or (answers and odd):
        shown = dict.fromkeys([*(f.raw.strip(EDGES)[:25] for _, f in answers), *odd])
        return Outcome(Answer(), "parse", "", f"two answers: {', '.join(list(shown)[:4])}")
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
class _Parser:
    """All that is needed to read one reply."""

    meaning: Meaning
    forms: Collection[str]
    prose: Collection[str]
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
        if result is None and not ended and _is_refusal(text):
            return _REFUSAL
        return result or Outcome(Answer(), ended or "parse", "", "no answer")

    def _by_form(self, text: str, ended: str, finish: str) -> Outcome:
        text, thinking = _without_thoughts(text) if "<" in text else (text, False)
        if (corrected := self._corrected(text)) is not None and not ended:
            return corrected
        found, rest, problem = self._explicit(text)
        result = _pooled(found)
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
        unknown = [(form, f) for form, f in found if f.answer is None]
        if problem or unknown:
            return Outcome(
                Answer(), "schema", unknown[0][0] if unknown else "json",
                problem or f"unknown answer: {unknown[0][1].raw.strip()[:60]!r}",
            )  # fmt: skip
        if len(rest) > _LONGEST:
            return Outcome(Answer(), "parse", "", "no answer in an explicit form")
        result = self._other(found, rest, self.prose)
        if (
            result is None
            and not self.prose
            and (unasked := self._other(found, rest, PROSE))
            and unasked.status == "ok"
        ):
            return Outcome(Answer(), "parse", "", "no answer but in a sentence, which sentences=True reads")
        return result or Outcome(Answer(), "parse", "", "no answer")

    def _explicit(self, text: str) -> tuple[list[tuple[str, Found]], str, str]:
        """What stands in explicit forms, the text without objects and quotations, what is wrong with an object."""
        found: list[tuple[str, Found]] = []
        rest, problem = text, ""
        if "{" in text and {"json", "loose json"} & set(self.forms):
            found, rest, problem = json_answers(self.meaning, text, "loose json" in self.forms)
            found = [(form, f) for form, f in found if form in self.forms]
        raw, rest = rest, unquoted(rest)
        found = [("brackets", f) for f in self._tried("brackets", rest)] + found
        found += [("tag", f) for f in self._tried("tag", rest)]
        marked = any(f.answer for _, f in found)
        found += [("line", f) for f in self._tried("line", rest) if not (marked and f.task)]
        whole = self.meaning.of(raw) if "whole" in self.forms and len(raw) < 100 else None
        if whole is not None and (whole.score is None or whole.score < 1000):
            found.append(("whole", Found(raw, whole)))
        return found, rest, problem

    def _other(self, found: Sequence[tuple[str, Found]], rest: str, prose: Collection[str]) -> Outcome | None:
        """The answer of the forms that are not explicit, these of free prose among them."""
        found = [*found, *((form, f) for form in OTHERS for f in self._tried(form, rest))]
        result = _pooled([*found, *((form, f) for form in prose for f in FORMS[form](self.meaning, rest))])
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
        if not any(self._answer(head) for head in heads):
            return None
        for cue in cues:
            tail, _, _ = self._explicit(text[cue.start() :])
            named = corrections(plain[cue.start() :]) if "correction" in self.forms else []
            tail += [("correction", Found(name, self.meaning.of(name))) for name in named]
            if (result := _pooled(tail)) is not None:
                return result
            if result := self._answer(text[cue.start() :]):
                return result
        if any(REFUSAL.search(cue[0]) for cue in cues):
            return _REFUSAL
        return Outcome(Answer(), "parse", "", f"taken back: {cues[0][0].strip(EDGES)[:40]!r}")

    def _answer(self, text: str) -> Outcome | None:
        """The answer of a part of a reply, or that there are two; None where it has none."""
        found, rest, _ = self._explicit(text)
        return _pooled(found) or (self._other(found, rest, self.prose) if len(rest) <= _LONGEST else None)

    def _tried(self, form: str, text: str) -> Iterable[Found]:
        return FORMS[form](self.meaning, text) if form in self.forms else ()

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


def _by_pattern(pattern: re.Pattern[str], meaning: Meaning) -> Callable[[str], Iterable[Found]]:
    """Read by a regular expression: its named group, or its first."""
    group: str | int = next((n for n in ("choice", "score", "answer") if n in pattern.groupindex), "")
    group = group or next(iter(pattern.groupindex), "") or min(pattern.groups, 1)

    def search(text: str) -> Iterator[Found]:
        for match in pattern.finditer(text):
            if match[group] is not None:
                yield Found(match[group], meaning.of(match[group]))

    return search


def _by_callable(parser: Callable[[str], Any], meaning: Meaning) -> Callable[[str], Iterable[Found]]:
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
    sentences: bool = False,
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
        answer), ``correction`` (``Sorry, I meant B.`` after an answer). Others, read only where no explicit form
        occurs, in at most 100,000 characters: ``own line`` (the first or last line is the answer), ``key`` ("... I
        conclude with verdict: A"), ``runs`` (``8.2 ± 0.3`` in prose). Free prose, read only if named here or with
        `sentences`: ``comparison`` (``A>B`` in prose), ``sentence`` ("Therefore, Assistant A is better.").

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
    sentences : bool
        Whether free sentences are read too, in English. Their ``reply_form`` is ``sentence`` or ``comparison``.

    Returns
    -------
    pandas.DataFrame
        One row per reply. ``choice`` and, where graded, ``strength``; or ``score`` and, where a reply reports a mean
        and a standard deviation of runs, ``mean`` and ``sd``. ``status``: ``ok``, ``empty``, ``truncated``,
        ``refused``, ``error``, ``parse`` (no answer, or two), ``schema`` (an unknown answer in an explicit form),
        ``semantic`` (11 out of 10), ``off scale`` or ``leak``. ``reply_form``: the form that gave the answer.
        ``reply_note``: the reason of a status (``two answers: A, B``), ``from a sentence`` or ``self-reported runs``.

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
    An explicit answer decides over prose, and the last ``[[A]]`` of the last line is explicit wherever it stands there.
    Two different explicit answers are ``two answers``, unless one is called final (``Final verdict: A`` after
    ``Verdict: B``). A marker within quotation marks, code, a refusal, a negation, a hypothesis or a question is no
    answer, nor is one that is taken back later; a correction that names a side is that side. Reasoning in tags
    (``<think>``) and strings inside JSON are not searched.

    Examples
    --------
    >>> parse_verdicts(["B is longer, but A is right. [[A]]", '```json\n{"winner": "tie"}\n```',
    ...                 "[[A]] or [[B]]", "I'm sorry, but I can't help with that."])
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
    parser = _parser(form, answer, labels, scale, hidden, sentences)
    known: dict[tuple[str | None, str], Outcome] = {}
    rows = []
    for reply, end in zip(replies, ends, strict=True):
        key = (reply if isinstance(reply, str) else None if pd.isna(reply) else str(reply), end)
        if key not in known:
            known[key] = parser.outcome(*key)
        rows.append(known[key])
    return _frame(_undecided(rows, parser), parser.meaning.kind, index)


def _parser(
    form: Form, answer: AnswerKind | None, labels: Any, scale: Any, hidden: Sequence[str], sentences: bool
) -> _Parser:
    """The parser that the arguments describe; refuse those that are not valid."""
    if answer not in (None, "choice", "score"):
        raise SchemaError(f"answer={answer!r} is not known. Allowed: 'choice', 'score'.")
    scale = score_range(scale)
    given = {str(k).strip(): _target(v) for k, v in (labels or {}).items()}
    for label, target in given.items():
        number = isinstance(target, int | float) and not isinstance(target, bool) and np.isfinite(target)
        if not number and target not in CHOICES:
            raise SchemaError(
                f"labels={{{label!r}: {target!r}}} is neither a number nor one of {', '.join(CHOICES)}. Say what the "
                "answer means."
            )
    numbers = {not isinstance(target, str) for target in given.values() if target != "invalid"}
    if answer is not None and (answer == "choice") in numbers:
        raise SchemaError(
            f"labels= give {'scores' if answer == 'choice' else 'choices'}, and the answer is a {answer}."
        )
    if answer is None and (scale is not None or numbers == {True}):
        answer = "score"
    elif answer is None and numbers == {False}:
        answer = "choice"
    meaning = Meaning(answer, given)
    words = "|".join(re.escape(h) for h in ([hidden] if isinstance(hidden, str) else hidden) if h)
    leaks = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.I) if words else None
    names, own, own_name = _forms(form, meaning)
    prose = PROSE if sentences else tuple(name for name in PROSE if name in names and form is not None)
    return _Parser(meaning, names, prose, own, own_name, scale, leaks)


def _target(meant: Any) -> Any:
    """What a label means; a number may be given as text, as on the command line."""
    number = NUMBER.fullmatch(meant) if isinstance(meant, str) else None
    return float(number[1]) if number and number[1] == meant else meant


def _forms(form: Form, meaning: Meaning) -> tuple[Collection[str], Callable[[str], Iterable[Found]] | None, str]:
    """Names of the forms that count; or the parser of the user, and its name."""
    every = (*EXPLICIT, *OTHERS, *PROSE)
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
    """Put the answers of a column of replies into a table, and map the canonical columns onto them."""
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
        form=None if form in ("auto", "sentences") else form,
        sentences=isinstance(form, str) and form == "sentences",
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
