"""Replies of judges as text -> their answers: :func:`parse_verdicts`.

The explicit forms of a reply decide; only a reply without any is searched for the others (``ingest/reply_forms.py``).
What is quoted, denied, supposed or taken back is no answer (``ingest/reply_context.py``), and all answers of the forms
that decide must be one answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import SchemaError, score_range, suggestion
from judgestats.ingest.reply_forms import EXPLICIT, OTHERS, PROSE
from judgestats.ingest.reply_meaning import NUMBER, Answer, AnswerKind, Meaning, Passage
from judgestats.ingest.reply_parser import Outcome, ReplyParser
from judgestats.ingest.user_parsers import by_callable, by_pattern
from judgestats.schema.columns import CHOICES

#: Names of forms, a regular expression, a parser, or None for all forms.
Form = str | Sequence[str] | re.Pattern[str] | Callable[[str], Any] | None


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
        ``tag`` (``<verdict>A</verdict>``, ``[RESULT] 3``), ``line`` (``Winner: A``, ``Rating: 7/10``), ``whole`` (the
        reply is the answer), ``correction`` (``Sorry, I meant B.`` after an answer). Others, read only where no
        explicit form occurs, in at most 100,000 characters: ``own line`` (the first or last line is the answer),
        ``key`` ("... I conclude with verdict: A"), ``runs`` (``8.2 ± 0.3`` in prose). Free prose, read only if named
        here or with `sentences`: ``comparison`` (``A>B`` in prose), ``sentence`` ("Therefore, Assistant A is better.").

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
    answer, nor is one that is taken back later; a correction that names a side is that side. Reasoning
    (``<think>``, the channels of gpt-oss, ...) and strings inside JSON are not searched.

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
    outcomes: dict[tuple[str | None, str], Outcome] = {}
    rows = []
    for reply, end in zip(replies, ends, strict=True):
        key = (reply if isinstance(reply, str) else None if pd.isna(reply) else str(reply), end)
        if key not in outcomes:
            outcomes[key] = parser.outcome(*key)
        rows.append(outcomes[key])
    return _frame(_undecided(rows, parser), parser.meaning.kind, index)


def _parser(
    form: Form,
    answer: AnswerKind | None,
    labels: Mapping[Any, Any] | None,
    scale: tuple[float, float] | None,
    hidden: Sequence[str],
    sentences: bool,
) -> ReplyParser:
    """The parser that the arguments describe; refuse those that are not valid."""
    if answer not in (None, "choice", "score"):
        raise SchemaError(f"answer={answer!r} is not known. Allowed: 'choice', 'score'.")
    scale = score_range(scale)
    meaning_of = {str(k).strip(): _target(v) for k, v in (labels or {}).items()}
    for label, target in meaning_of.items():
        number = isinstance(target, int | float) and not isinstance(target, bool) and np.isfinite(target)
        if not number and target not in CHOICES:
            raise SchemaError(
                f"labels={{{label!r}: {target!r}}} is neither a number nor one of {', '.join(CHOICES)}. Say what the "
                "answer means."
            )
    numbers = {not isinstance(target, str) for target in meaning_of.values() if target != "invalid"}
    if answer is not None and (answer == "choice") in numbers:
        raise SchemaError(
            f"labels= give {'scores' if answer == 'choice' else 'choices'}, and the answer is a {answer}."
        )
    if answer is None and (scale is not None or numbers == {True}):
        answer = "score"
    elif answer is None and numbers == {False}:
        answer = "choice"
    meaning = Meaning(answer, meaning_of)
    words = "|".join(re.escape(h) for h in ([hidden] if isinstance(hidden, str) else hidden) if h)
    leaks = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.I) if words else None
    names, own, own_name = _forms(form, meaning)
    prose = PROSE if sentences else tuple(name for name in PROSE if name in names and form is not None)
    return ReplyParser(meaning, names, prose, own, own_name, scale, leaks)


def _target(meant: Any) -> Any:
    """What a label means; a number may be given as text, as on the command line."""
    number = NUMBER.fullmatch(meant) if isinstance(meant, str) else None
    return float(number[1]) if number and number[1] == meant else meant


def _forms(form: Form, meaning: Meaning) -> tuple[Collection[str], Callable[[str], Iterable[Passage]] | None, str]:
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
        return (), by_pattern(form, meaning), "pattern"
    if callable(form):
        return (), by_callable(form, meaning), getattr(form, "__name__", "parser").strip("<>")
    names = [form] if isinstance(form, str) else list(form)
    for name in names:
        if name not in every:
            raise SchemaError(
                f"form={name!r} is not known. Forms: {', '.join(every)}. A regular expression needs a group: "
                f"'Score: (\\d+)'.{suggestion(str(name), every)}"
            )
    return names, None, ""


def _undecided(rows: list[Outcome], parser: ReplyParser) -> list[Outcome]:
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


def _frame(rows: list[Outcome], kind: AnswerKind | None, index: pd.Index | None) -> pd.DataFrame:
    """Outcomes as a frame: columns of choices, of scores, or of both, as asked for or as found."""
    ok = [r.answer if r.status == "ok" else Answer() for r in rows]
    scored = any(a.score is not None for a in ok)
    chosen = any(a.choice is not None for a in ok)
    columns: dict[str, object] = {}
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
