"""Answers to a plan, joined to it by the id of the call: :func:`collect`."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from judgestats.csv_files import unguarded
from judgestats.design.plans import CALL, ID_LETTER, TEXTS, Plan, opened
from judgestats.design.prompts import Prompt
from judgestats.design.rubrics import plain, read_dimensions
from judgestats.errors import DesignError, SchemaError, printable
from judgestats.ingest.files import LOG_SAMPLE, Broken, File, json_entries, lines_or_errors, member_object
from judgestats.ingest.readers import absent, number, part
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.reply_forms import json_objects
from judgestats.ingest.sources import resolve
from judgestats.schema import preferences, ratings
from judgestats.schema.account import Account, Exclusion
from judgestats.schema.columns import Kind

#: Names of the column with the reply, in a plain table of answers.
_REPLIES = ("answer", "verdict", "reply", "response", "completion", "output", "text", "content")
#: Why a reply ended, in the words of providers.
_FINISH = {
    **dict.fromkeys(("max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(("refusal", "safety"), "content_filter"),
}
#: What a record is that names a call without a sound reply to it.
_MALFORMED = "malformed record"


class _Reading(NamedTuple):
    """How replies are read: as in :func:`judgestats.parse_verdicts`."""

    form: Any
    labels: Mapping[Any, Any] | None
    scale: tuple[float, float] | None


@dataclass(frozen=True)
class Reply:
    """An answer that came back to a call: its text (None if the call failed), why it ended, and what was `asked`.

    `finish`: ``length`` and ``content_filter`` stand for what providers name otherwise.
    """

    call: str
    text: str | None
    finish: str = ""
    asked: tuple[str, ...] | None = None
    error: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "finish", _FINISH.get(self.finish, self.finish))
        for name in ("call", "text", "finish", "error"):  # a text of memory may hold half of a surrogate pair
            object.__setattr__(self, name, printable(value) if (value := getattr(self, name)) else value)

    @property
    def rank(self) -> int:
        """0: the call failed; 1: its reply is empty; 2: it was answered. A later reply counts where it ranks higher."""
        empty = not (self.text or "").strip() and self.finish not in _FINISH.values()
        return 0 if self.text is None else 1 if empty else 2

    @property
    def note(self) -> str:
        """What failed."""
        return self.error if self.error.startswith(_MALFORMED) else f"the call failed: {self.error}"


#: What a field says that reports no error.
_NO_ERROR = ("", "false", "0", "0.0", "none", "null", "nan", "[]", "{}")


def _text(value: Any) -> str:
    """A value as text: JSON where it is none."""
    try:
        return value if isinstance(value, str) else json.dumps(value, default=_plain_value)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, endless numbers, deep nesting
        return f"a {type(value).__name__} that cannot be written out"


def _plain_value(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _failure(*errors: Any) -> str:
    """What the first field that reports an error says; empty if none does."""
    said = (_text(e) for e in errors if not absent(e))
    return next((text[:200] for text in said if text.strip().lower() not in _NO_ERROR), "")


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _content(message: Any) -> str | None:
    """The text of a message, in one piece or in parts; None if it has no sound content."""
    content = message.get("content") if isinstance(message, Mapping) else 0
    if content is None or isinstance(content, str):
        return content or ""
    texts = [_text_of_part(p) for p in content] if isinstance(content, list) else [None]
    return None if None in texts else "".join(t for t in texts if t)


def _text_of_part(piece: Any) -> str | None:
    """The text of a part of a message, empty for a thought or a call of a tool; None if it is malformed."""
    if isinstance(piece, Mapping) and _word(piece.get("type")) not in ("", "text", "output_text"):
        return ""
    text = piece.get("text") if isinstance(piece, Mapping) else piece
    return text if isinstance(text, str) else None


def _choice(call: Any, holder: Mapping[str, Any], ended: str, *errors: Any) -> Reply:
    """The reply in the first of the choices of a model's output; `ended`: the field that says why it ended."""
    failed, choices = _failure(*errors), holder.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if failed or not first:
        return Reply(_text(call), None, error=failed or "no choices")
    if not isinstance(first, Mapping) or (text := _content(first.get("message"))) is None:
        return Reply(_text(call), None, error=f"{_MALFORMED}: {_text(first)[:200]}")
    refusal = _word(part(first, "message").get("refusal"))
    if not text and refusal:
        return Reply(_text(call), refusal, "refusal")
    return Reply(_text(call), text, _word(first.get(ended)))


def _plain(record: Mapping[str, Any]) -> Reply | None:
    name = next((n for n in _REPLIES if n in record), None)
    if CALL not in record or name is None:
        return None
    failed, asked = _failure(record.get("error")), record.get("user")
    return Reply(
        _text(record[CALL]),
        None if failed else "" if absent(record[name]) else _text(record[name]),
        _word(record.get("finish")),
        (asked,) if isinstance(asked, str) else None,
        failed,
    )


def _form(record: Mapping[str, Any], criteria: Collection[str]) -> Reply | None:
    """A row of a form that people filled in: a column for each criterion."""
    given = {c: record[c] for c in criteria if c in record and not absent(record[c])}
    if CALL not in record or not any(c in record for c in criteria):
        return None
    reason = record.get("comment")
    reasons = {} if absent(reason) else {"reasons": dict.fromkeys(given, _text(reason))}
    return Reply(_text(record[CALL]), _text({"scores": given, **reasons}) if given else "")


def _openai(record: Mapping[str, Any]) -> Reply | None:
    if "custom_id" not in record or "response" not in record:
        return None
    response = record["response"]
    body = part(response, "body")
    odd = "" if body else _text(response)
    return _choice(record["custom_id"], body, "finish_reason", record.get("error"), body.get("error"), odd)


def _anthropic(record: Mapping[str, Any]) -> Reply | None:
    if "custom_id" not in record or "result" not in record:
        return None
    result, call = part(record, "result"), _text(record["custom_id"])
    if result.get("type") != "succeeded":
        return Reply(call, None, error=_failure(result.get("error"), record["result"]) or "no result")
    text = _content(result.get("message"))
    if text is None:
        return Reply(call, None, error=f"{_MALFORMED}: {_text(result.get('message'))[:200]}")
    return Reply(call, text, _word(part(result, "message").get("stop_reason")))


def _inspect(sample: Mapping[str, Any]) -> Reply | None:
    if "id" not in sample or not isinstance(sample.get("output"), dict):
        return None
    return _choice(sample["id"], sample["output"], "stop_reason", sample.get("error"))


def _promptfoo(result: Mapping[str, Any]) -> Reply | None:
    variables = part(result, "vars")
    if CALL not in variables:
        return None
    call, text = _text(variables[CALL]), part(result, "response").get("output")
    asked = _messages(part(result, "prompt").get("raw"))
    if text is None:
        response = result.get("response")
        error = _failure(part(result, "response").get("error"), result.get("error"), response) or "no output"
        return Reply(call, None, asked=asked, error=error)
    return Reply(call, _text(text), asked=asked)


def _messages(raw: Any) -> tuple[str, ...] | None:
    """The messages of a prompt as promptfoo sent it; None if it did not record them."""
    if not isinstance(raw, str) or raw in ("", "[prompt stripped]"):
        return None
    try:
        messages = json.loads(raw)
    except (ValueError, RecursionError):
        messages = None
    sound = isinstance(messages, list) and all(isinstance(m, dict) for m in messages)
    return tuple(_text(m.get("content")) for m in messages) if sound else (raw,)


_FORMS: tuple[Callable[[Mapping[str, Any]], Reply | None], ...] = (_plain, _openai, _anthropic, _inspect, _promptfoo)


def _named(record: Mapping[str, Any], calls: Collection[str]) -> Reply | None:
    """A call of the plan that a record names without a reply to it."""
    names = (record.get(name) for name in (CALL, "custom_id", "id"))
    call = next((n for n in names if isinstance(n, str) and n in calls), None)
    return None if call is None else Reply(call, None, error=f"{_MALFORMED}: {_text(dict(record))[:200]}")


def collect(
    plan: Plan | str | Path,
    answers: Any,
    *,
    form: Any = None,
    labels: Mapping[Any, Any] | None = None,
    scale: tuple[float, float] | None = None,
) -> pd.DataFrame:
    """Join the answers of a runner to their plan, and read the verdicts out of them.

    Parameters
    ----------
    plan : Plan or path
        The plan, or the folder that :meth:`Plan.write` wrote; folders ``stage2``, ... in it are later stages.
    answers : path, glob, folder, list of paths, or sequence of records
        Output of an OpenAI or Anthropic batch, an Inspect AI log, promptfoo's results, or a table (CSV, JSONL, ...)
        with ``call`` and ``answer``; ``error``, ``finish`` and ``user`` (the message that was sent) where it has them.
    form, labels, scale
        How the replies are read: as in :func:`judgestats.parse_verdicts`.

    Returns
    -------
    pandas.DataFrame
        A canonical frame with a row for each call that was answered or failed (status ``error``): the design columns,
        the verdict, its ``status``, and as ``rationale`` the explanation in the reply, or the whole reply; of a plan of
        texts, the texts shown, ``text`` and its ``status``. A record that names a call but has no sound reply to it is
        a failed call; ``reply_note`` says what failed. Its account, shown by :func:`judgestats.check`, lists lines that
        cannot be read, records that name no call, answers to unknown calls, second answers to a call (the first is
        kept, unless it failed or is empty), answers to a message that was changed, replies that go into a later call,
        and calls without an answer. :func:`remaining` gives the plan of the calls left to ask.

    Raises
    ------
    DesignError
        If no answer belongs to the plan.
    SchemaError
        If a file cannot be read, or nothing in the source is an answer.

    See Also
    --------
    export : Calls written for a runner.
    remaining : Calls without an answer.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> plan = vacuum("my-model", calls=6)
    >>> replies = [{"call": call, "answer": '{"verdict": "tie"}'} for call in plan.calls["call"]]
    >>> collect(plan, replies[:5])["choice"].tolist()
    ['tie', 'tie', 'tie', 'tie', 'tie']
    """
    return collected(plan, answers, form=form, labels=labels, scale=scale)[0]


def collected(
    plan: Plan | str | Path,
    answers: Any,
    *,
    form: Any = None,
    labels: Mapping[Any, Any] | None = None,
    scale: tuple[float, float] | None = None,
) -> tuple[pd.DataFrame, Plan]:
    """What :func:`collect` and :func:`remaining` return, of answers that are read once."""
    plan = opened(plan)
    matched = _matched(plan, _replies(answers, plan))
    return _verdicts(plan, *matched, _Reading(form, labels, scale)), _left(plan, matched[0])


def _left(plan: Plan, found: Mapping[str, tuple[str, Reply]]) -> Plan:
    """The plan of the calls without an answer."""
    done = {call for call, (_, reply) in found.items() if reply.text is not None}
    return plan.rows(~plan.calls[CALL].isin(done))


def _verdicts(
    plan: Plan,
    found: Mapping[str, tuple[str, Reply]],
    excluded: list[Exclusion],
    n: int,
    how: _Reading,
) -> pd.DataFrame:
    """The verdicts, scores or texts in the answers found, with their account."""
    kind = plan.kind
    between = [name for name, p in plan.prompts.items() if p.frame == "texts" != kind]
    if not found:
        example = f"; the first is {excluded[0].place}: {excluded[0].reason}" if excluded else ""
        raise DesignError(
            f"None of the {n:,} answers belongs to a call of the plan{example}. Is it the answer of another plan?"
        )
    rows = plan.calls[plan.calls[CALL].isin(set(found))]
    passed = rows.loc[rows["prompt"].isin(between), CALL]
    if len(passed) == len(rows):
        raise DesignError(
            f"The {len(rows):,} calls answered ask for no verdict: their replies go into later calls. Plan those with "
            "next_stage(), and collect the plans of all stages: plan + later."
        )
    excluded += [Exclusion(found[c][0], "the reply goes into a later call", "") for c in passed]
    missing = plan.calls.loc[~plan.calls[CALL].isin(set(found)), CALL]
    remedy = "remaining() is the plan of the calls left to ask."
    excluded += [Exclusion(f"call {c}", "no answer came back", remedy) for c in missing]
    if kind == "texts":
        return _written(plan, rows, found, n + len(missing), tuple(excluded))
    rows = rows[~rows[CALL].isin(set(passed))].drop(columns=[*TEXTS.values(), "planned"], errors="ignore")
    rows = rows.dropna(axis="columns", how="all").reset_index(drop=True)
    places, replies = zip(*(found[call] for call in rows[CALL]), strict=True)
    parts = []
    said = cache(_said)  # the JSON of a reply is read once for all criteria
    for name, calls in rows.groupby("prompt", sort=False):
        part = [replies[i] for i in calls.index]
        asked = plan.prompts[str(name)]
        here = how._replace(scale=how.scale or asked.scale)
        if asked.criteria_in:
            parts.append(_by_rubric(plan, asked, calls, part, here))
            continue
        for criterion in asked.criteria or (None,):
            parts.append(calls.join(_read(part, said, kind, criterion, here).set_index(calls.index)))
    order = pd.concat(parts).sort_index(kind="stable")
    everywhere = [places[i] for i in order.index]
    rows = order.reset_index(drop=True)
    rows = rows.drop(columns="prompt").rename(columns={"chain": "prompt"}) if "chain" in rows else rows
    frame = preferences(rows) if kind == "preferences" else ratings(rows, scale=how.scale)
    result: pd.DataFrame = Account(n + len(missing), everywhere, tuple(excluded)).attached(frame)
    return result


def _written(
    plan: Plan, calls: pd.DataFrame, found: Mapping[str, tuple[str, Reply]], n: int, excluded: tuple[Exclusion, ...]
) -> pd.DataFrame:
    """The texts that a model wrote, each with its status."""
    rows = calls.dropna(axis="columns", how="all").reset_index(drop=True)
    shown = [c for c in TEXTS.values() if c in rows]
    places, replies = zip(*(found[call] for call in rows[CALL]), strict=True)
    texts = [None if r.text is None else r.text.strip() for r in replies]
    ended = {"length": "truncated", "content_filter": "refused"}
    status = [
        "error" if t is None else ended.get(r.finish, "ok" if t else "empty")
        for t, r in zip(texts, replies, strict=True)
    ]
    rows = rows.assign(**{c: rows[c].map(dict(plan.texts)) for c in shown}, status=status)
    result: pd.DataFrame = Account(n, places, excluded).attached(rows.assign(text=pd.Series(texts, dtype=object)))
    return result


def replied(plan: Plan, answers: Any) -> dict[str, str]:
    """The replies by call that a later stage can go on from: not those that failed, were refused, empty or cut off."""
    found, _, _ = _matched(plan, _replies(answers, plan))
    texts = {call: reply.text for call, (_, reply) in found.items() if reply.text is not None}
    if not texts:
        return {}
    answer: Any = "choice" if plan.kind == "preferences" else "score"
    status = parse_verdicts(list(texts.values()), answer=answer, finish=[found[c][1].finish for c in texts])["status"]
    lost = status.isin(("refused", "empty", "truncated"))
    return {call: text for (call, text), no in zip(texts.items(), lost, strict=True) if not no}


def _read(
    replies: Sequence[Reply],
    said: Callable[[str], Mapping[str, Mapping[Any, Any]]],
    kind: Kind,
    criterion: str | None,
    how: _Reading,
) -> pd.DataFrame:
    """The answers in replies, to one criterion where they score several."""
    several = criterion is not None and how.form is None
    read = parse_verdicts(
        [r.text for r in replies],
        form=(lambda text: said(text)["scores"].get(criterion)) if several else how.form,
        answer="choice" if kind == "preferences" else "score",
        labels=how.labels,
        scale=None if kind == "preferences" else how.scale,
        finish=[r.finish for r in replies],
    )
    failed = [r.text is None for r in replies]
    read["status"] = read["status"].mask(failed, "error")
    read["reply_note"] = read["reply_note"].mask(failed, pd.Series([r.note for r in replies], dtype=object))
    read["rationale"] = [
        said(r.text or "")["reasons"].get(criterion) if several else (explanation(r.text or "") or None)
        for r in replies
    ]
    return read if criterion is None else read.assign(criterion=criterion)


def _by_rubric(plan: Plan, asked: Prompt, calls: pd.DataFrame, replies: Sequence[Reply], how: _Reading) -> pd.DataFrame:
    """The scores of each dimension of the rubric that the call shows, with their weights."""
    if how.form is not None:
        raise DesignError(
            f"form= reads one answer, and prompt {asked.name!r} asks for a score of each dimension. Leave form= out."
        )
    shown = plan.calls.set_index(CALL).loc[calls[CALL], TEXTS[asked.criteria_in]]
    rubrics = {key: read_dimensions(plan.texts[key]) for key in shown.unique()}
    rows: list[tuple[Any, ...]] = []
    for i, key, reply in zip(calls.index, shown, replies, strict=True):
        marks, overall = _marks(reply.text or "")
        for d in rubrics[key].criteria:
            score, reason = marks.get(plain(d.name), (None, reply.text or None))
            text = reply.text if score is None else json.dumps({"score": score})
            failed = reply.text is None, reply.note
            rows.append((i, text, reply.finish, *failed, score is None, d.name, d.weight, overall, reason))
    names = ("at", "text", "finish", "failed", "note", "without", "criterion", "weight", "stated_overall", "rationale")
    table = pd.DataFrame(rows, columns=list(names))
    reads = []
    for without, group in table.groupby("without"):
        finish = group["finish"].tolist()
        read = parse_verdicts(group["text"], answer="score", labels=how.labels, scale=how.scale, finish=finish)
        if without:  # what else is in the reply is no score of this dimension
            other = ~read["status"].isin(("refused", "empty", "truncated", "error"))
            read = read[["score", "status", "reply_form", "reply_note"]].assign(score=float("nan"))
            read.loc[other, ["status", "reply_form", "reply_note"]] = ["parse", "", "no score of this dimension"]
        reads.append(read)
    found = pd.concat(reads).sort_index()
    found["status"] = found["status"].mask(table["failed"], "error")
    found["reply_note"] = found["reply_note"].mask(table["failed"], table["note"])
    table = found.join(table[["at", "criterion", "weight", "stated_overall", "rationale"]]).set_index("at")
    return pd.concat([calls.loc[table.index], table], axis="columns")


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a reply; an object within one is a list of tuples."""
    return [dict(pairs) for _, _, pairs, _ in json_objects(text) if isinstance(pairs, list)]


def _agreed(entries: Iterable[tuple[str, Any, str | None]]) -> dict[str, tuple[Any, str | None]]:
    """Value and reason by name, of texts and numbers; a name that has two different values has none."""
    found: dict[str, tuple[Any, str | None]] = {}
    twice = set()
    for name, value, reason in entries:
        if isinstance(value, str | int | float):
            if name in found and found[name][0] != value:
                twice.add(name)
            found[name] = value, reason
    return {name: entry for name, entry in found.items() if name not in twice}


def _marks(text: str) -> tuple[dict[str, tuple[Any, str | None]], float]:
    """Score and reason of each dimension that a reply names, and the overall score it states."""
    found = _objects(text)
    overall = {number(o["overall"]) for o in found if isinstance(o.get("overall"), int | float)}
    marks = _agreed(entry for o in found for entry in _dimensions(o.get("scores")))
    return marks, overall.pop() if len(overall) == 1 else float("nan")


def _dimensions(scores: Any) -> Iterator[tuple[str, Any, str | None]]:
    """Name, score and reason of each part of a list, or an object, of scores."""
    for mark in scores if isinstance(scores, list) else ():
        if isinstance(mark, tuple):
            yield plain(str(mark[0])), mark[1], None
        elif isinstance(mark, list) and all(isinstance(p, tuple) for p in mark):
            entry = dict(mark)
            reason = next((entry[k] for k in ("evidence", "reason") if isinstance(entry.get(k), str)), None)
            yield plain(str(entry.get("dimension", ""))), entry.get("score"), reason


def explanation(text: str) -> str:
    """What the JSON object of a reply gives as its explanation; the whole reply where it gives none."""
    said = {str(o[k]) for o in _objects(text) for k in ("explanation", "reasons") if isinstance(o.get(k), str)}
    return said.pop() if len(said) == 1 else text


def _said(text: str) -> dict[str, dict[str, Any]]:
    """Scores and reasons by criterion in the JSON of a reply."""
    found, result = _objects(text), {}
    for what in ("scores", "reasons"):
        parts = [o[what] for o in found if isinstance(o.get(what), list)]
        pairs = (pair for part in parts if all(isinstance(x, tuple) for x in part) for pair in part)
        result[what] = {name: value for name, (value, _) in _agreed((*pair, None) for pair in pairs).items()}
    return result


def remaining(plan: Plan | str | Path, answers: Any) -> Plan:
    """Return the plan of the calls that have no answer yet, or failed.

    Parameters
    ----------
    plan, answers
        As for :func:`collect`.

    Returns
    -------
    Plan

    See Also
    --------
    collect : Answers joined to their plan.
    export : Calls written for a runner.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> plan = vacuum("my-model", calls=6)
    >>> len(remaining(plan, [{"call": plan.calls["call"][0], "answer": "tie"}]))
    5
    """
    plan = opened(plan)
    return _left(plan, _matched(plan, _replies(answers, plan))[0])


def _replies(answers: Any, plan: Plan) -> Iterator[tuple[str, Reply] | Exclusion]:
    """The answers with their places, and what is none; a SchemaError if nothing is an answer."""
    calls = set(plan.calls[CALL])
    forms: tuple[Callable[[Mapping[str, Any]], Reply | None], ...] = (
        partial(_form, criteria={c for p in plan.prompts.values() for c in p.criteria}),
        *_FORMS,
    )
    problem: SchemaError | None = None
    answered = False
    for place, record in _entries(answers):
        if isinstance(record, SchemaError):
            problem = problem or record
            yield Exclusion(place, "the line cannot be read", "Correct it, or ask its call again.")
            continue
        record = record if isinstance(record, Mapping) else {}
        reply = next((r for form in forms if (r := form(record)) is not None), None)
        answered = answered or reply is not None
        reply = reply or _named(record, calls)
        if reply is None:
            yield Exclusion(place, "the record is no answer to a call", f"A record names its call, as {CALL!r} does.")
        else:
            yield place, reply
        if not answered and problem is None:
            problem = SchemaError(
                f"{place}: this is no answer to a call. It has: {', '.join(map(str, record)) or 'no fields'}. A table "
                f"of answers has {CALL!r} and {_REPLIES[0]!r}; outputs of OpenAI and Anthropic batches, Inspect AI "
                "logs and promptfoo results are read as they are."
            )
    if not answered and problem is not None:
        raise problem


def _entries(answers: Any) -> Iterator[tuple[str, Any]]:
    """What a source of answers holds, with its place; a SchemaError stands for what cannot be read."""
    if isinstance(answers, list | tuple) and any(isinstance(a, Mapping) for a in answers):
        yield from ((f"answers, record {i}", record) for i, record in enumerate(answers, start=1))
        return
    for file in resolve(answers).files:
        for place, record in _records(file):
            inside = _inside(record)
            parts = [(place, record)] if inside is None else [(f"record {i}", r) for i, r in enumerate(inside, start=1)]
            yield from ((f"{file.path.name}, {p}", r) for p, r in parts)


def _inside(record: Any) -> list[Any] | None:
    """The samples or results inside the one object of an Inspect or promptfoo log."""
    inside = record.get("samples", part(record, "results").get("results")) if isinstance(record, Mapping) else None
    return inside if isinstance(inside, list) else None


def _records(file: File) -> Iterator[tuple[str, Any]]:
    """The records of a file; one that is damaged does not cost the others."""
    if file.container == "eval":
        yield from _samples(file)
    elif file.container == "jsonl":
        yield from lines_or_errors(file.path)
    elif file.container == "json":
        try:
            document = file.document()
            entries = [document] if _inside(document) is not None else json_entries(document, file.path)
        except SchemaError:
            lines = list(lines_or_errors(file.path))
            if not any(isinstance(record, dict) for _, record in lines):
                raise
            yield from lines
        else:
            yield from ((f"record {i}", entry) for i, entry in enumerate(entries, start=1))
    else:
        numbers, broken = array("q"), list[Broken]()
        table = file.table(numbers, broken)
        yield from ((f"{file.counted_in} {n}", r) for n, r in zip(numbers, table.to_dict("records"), strict=True))
        yield from broken


def _samples(file: File) -> Iterator[tuple[str, Any]]:
    """Samples of a zipped log of Inspect."""
    archive = file.document()
    for name in archive.names():
        if LOG_SAMPLE.fullmatch(name):
            try:
                sample: Any = member_object(archive, name)
            except SchemaError as problem:
                sample = problem
            yield f"member {name}", sample


def _matched(
    plan: Plan, replies: Iterable[tuple[str, Reply] | Exclusion]
) -> tuple[dict[str, tuple[str, Reply]], list[Exclusion], int]:
    """The first sound answer to each call, the exclusions, and the number of records."""
    known = set(plan.calls[CALL])
    sent: dict[str, tuple[str, ...]] = {}
    found: dict[str, tuple[str, Reply]] = {}
    excluded: list[Exclusion] = []
    n = 0
    for entry in replies:
        n += 1
        if isinstance(entry, Exclusion):
            excluded.append(entry)
            continue
        place, reply = entry
        if f"{ID_LETTER}{reply.call}" in known:  # an id from before ids began with a letter
            reply = replace(reply, call=f"{ID_LETTER}{reply.call}")
        if reply.call not in known:
            excluded.append(
                Exclusion(place, "the call is not of this plan", "Give the plan that these answers are to.")
            )
            continue
        if reply.asked is not None:
            sent = sent or _sent(plan)
            texts = [tuple(map(str.strip, asked)) for asked in (reply.asked, map(unguarded, reply.asked))]
            if not {sent[reply.call], sent[reply.call][-1:]}.intersection(texts):
                excluded.append(Exclusion(place, "the message sent is not that of the plan", "Ask the call again."))
                continue
        before = found.get(reply.call)
        if before is not None and before[1].rank >= reply.rank:
            excluded.append(Exclusion(place, "the call was answered before", "The first answer is kept."))
            continue
        if before is not None:
            what = "failed" if before[1].text is None else "had an empty reply"
            excluded.append(Exclusion(before[0], f"the call {what} and was answered later", ""))
        found[reply.call] = (place, reply)
    return found, excluded, n


def _sent(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The messages of each call."""
    return {
        call: tuple(m.strip() for m in (*([system] if system else []), *(m["content"] for m in earlier), user))
        for call, system, earlier, user in plan.dialogues()
    }
