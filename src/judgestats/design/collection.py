"""Answers to a plan, joined to it by the id of the call: :func:`collect`."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from judgestats.csv_files import unguarded
from judgestats.design.plans import CALL, ID_LETTER, TEXTS, Plan, opened
from judgestats.design.prompts import Prompt
from judgestats.design.rubric_dimensions import plain, read_dimensions
from judgestats.design.runner_replies import (
    REPLY_COLUMNS,
    RUNNER_FORMS,
    Answers,
    Form,
    Reply,
    malformed_reply,
    people_form,
)
from judgestats.errors import DesignError, SchemaError
from judgestats.ingest.containers import LOG_SAMPLE
from judgestats.ingest.files import File
from judgestats.ingest.json_documents import json_entries
from judgestats.ingest.json_lines import lines_or_errors
from judgestats.ingest.json_replies import json_objects
from judgestats.ingest.json_values import member_object
from judgestats.ingest.record_fields import object_in, to_number
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.sources import resolve
from judgestats.ingest.text_blocks import BrokenRow
from judgestats.schema import preferences, ratings
from judgestats.schema.account import Account, Exclusion
from judgestats.schema.columns import Kind
from judgestats.typing import Record


class _Reading(NamedTuple):
    """How replies are read: as in :func:`judgestats.parse_verdicts`."""

    form: Any
    labels: Mapping[Any, Any] | None
    scale: tuple[float, float] | None


def collect(
    plan: Plan | str | Path,
    answers: Answers,
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
    answers: Answers,
    *,
    form: Any = None,
    labels: Mapping[Any, Any] | None = None,
    scale: tuple[float, float] | None = None,
) -> tuple[pd.DataFrame, Plan]:
    """What :func:`collect` and :func:`remaining` return, of answers that are read once."""
    plan = opened(plan)
    matched = _matched(plan, _replies(answers, plan))
    return _verdicts(plan, *matched, _Reading(form, labels, scale)), _left(plan, matched[0])


def _left(plan: Plan, replies: Mapping[str, tuple[str, Reply]]) -> Plan:
    """The plan of the calls without an answer."""
    done = {call for call, (_, reply) in replies.items() if reply.text is not None}
    return plan.rows(~plan.calls[CALL].isin(done))


def _verdicts(
    plan: Plan, answered: Mapping[str, tuple[str, Reply]], excluded: list[Exclusion], n: int, how: _Reading
) -> pd.DataFrame:
    """The verdicts, scores or texts in the answers found, with their account."""
    kind = plan.kind
    between = [name for name, p in plan.prompts.items() if p.frame == "texts" != kind]
    if not answered:
        example = f"; the first is {excluded[0].place}: {excluded[0].reason}" if excluded else ""
        raise DesignError(
            f"None of the {n:,} answers belongs to a call of the plan{example}. Is it the answer of another plan?"
        )
    rows = plan.calls[plan.calls[CALL].isin(set(answered))]
    passed = rows.loc[rows["prompt"].isin(between), CALL]
    if len(passed) == len(rows):
        raise DesignError(
            f"The {len(rows):,} calls answered ask for no verdict: their replies go into later calls. Plan those with "
            "next_stage(), and collect the plans of all stages: plan + later."
        )
    excluded += [Exclusion(answered[c][0], "the reply goes into a later call", "") for c in passed]
    missing = plan.calls.loc[~plan.calls[CALL].isin(set(answered)), CALL]
    remedy = "remaining() is the plan of the calls left to ask."
    excluded += [Exclusion(f"call {c}", "no answer came back", remedy) for c in missing]
    if kind == "texts":
        return _written(plan, rows, answered, n + len(missing), tuple(excluded))
    rows = rows[~rows[CALL].isin(set(passed))].drop(columns=[*TEXTS.values(), "planned"], errors="ignore")
    rows = rows.dropna(axis="columns", how="all").reset_index(drop=True)
    places, replies = zip(*(answered[call] for call in rows[CALL]), strict=True)
    parts = []
    said = cache(_said)  # the JSON of a reply is read once for all criteria
    for name, calls in rows.groupby("prompt", sort=False):
        part = [replies[i] for i in calls.index]
        prompt = plan.prompts[str(name)]
        prompt_reading = how._replace(scale=how.scale or prompt.scale)
        if prompt.criteria_in:
            parts.append(_by_rubric(plan, prompt, calls, part, prompt_reading))
            continue
        for criterion in prompt.criteria or (None,):
            parts.append(calls.join(_read(part, said, kind, criterion, prompt_reading).set_index(calls.index)))
    order = pd.concat(parts).sort_index(kind="stable")
    everywhere = [places[i] for i in order.index]
    rows = order.reset_index(drop=True)
    rows = rows.drop(columns="prompt").rename(columns={"chain": "prompt"}) if "chain" in rows else rows
    frame = preferences(rows) if kind == "preferences" else ratings(rows, scale=how.scale)
    result: pd.DataFrame = Account(n + len(missing), everywhere, tuple(excluded)).attached(frame)
    return result


def _written(
    plan: Plan, calls: pd.DataFrame, answered: Mapping[str, tuple[str, Reply]], n: int, excluded: tuple[Exclusion, ...]
) -> pd.DataFrame:
    """The texts that a model wrote, each with its status."""
    rows = calls.dropna(axis="columns", how="all").reset_index(drop=True)
    text_columns = [c for c in TEXTS.values() if c in rows]
    places, replies = zip(*(answered[call] for call in rows[CALL]), strict=True)
    texts = [None if r.text is None else r.text.strip() for r in replies]
    ended = {"length": "truncated", "content_filter": "refused"}
    status = [
        "error" if t is None else ended.get(r.finish, "ok" if t else "empty")
        for t, r in zip(texts, replies, strict=True)
    ]
    rows = rows.assign(**{c: rows[c].map(dict(plan.texts)) for c in text_columns}, status=status)
    result: pd.DataFrame = Account(n, places, excluded).attached(rows.assign(text=pd.Series(texts, dtype=object)))
    return result


def replied(plan: Plan, answers: Answers) -> dict[str, str]:
    """The replies by call that a later stage can go on from: not those that failed, were refused, empty or cut off."""
    answered, _, _ = _matched(plan, _replies(answers, plan))
    texts = {call: reply.text for call, (_, reply) in answered.items() if reply.text is not None}
    if not texts:
        return {}
    answer: Any = "choice" if plan.kind == "preferences" else "score"
    status = parse_verdicts(list(texts.values()), answer=answer, finish=[answered[c][1].finish for c in texts])[
        "status"
    ]
    lost = status.isin(("refused", "empty", "truncated"))
    return {call: text for (call, text), no in zip(texts.items(), lost, strict=True) if not no}


def _read(
    replies: Sequence[Reply],
    said: Callable[[str], dict[str, Record]],
    kind: Kind,
    criterion: str | None,
    how: _Reading,
) -> pd.DataFrame:
    """The answers in replies, to one criterion where they score several."""
    several = criterion is not None and how.form is None
    read = parse_verdicts(
        [r.text for r in replies],
        form=(lambda text: said(text)["scores"].get(str(criterion))) if several else how.form,
        answer="choice" if kind == "preferences" else "score",
        labels=how.labels,
        scale=None if kind == "preferences" else how.scale,
        finish=[r.finish for r in replies],
    )
    failed = [r.text is None for r in replies]
    read["status"] = read["status"].mask(failed, "error")
    read["reply_note"] = read["reply_note"].mask(failed, pd.Series([r.note for r in replies], dtype=object))
    read["rationale"] = [
        said(r.text or "")["reasons"].get(str(criterion)) if several else (explanation(r.text or "") or None)
        for r in replies
    ]
    return read if criterion is None else read.assign(criterion=criterion)


def _by_rubric(
    plan: Plan, prompt: Prompt, calls: pd.DataFrame, replies: Sequence[Reply], how: _Reading
) -> pd.DataFrame:
    """The scores of each dimension of the rubric that the call shows, with their weights."""
    if how.form is not None:
        raise DesignError(
            f"form= reads one answer, and prompt {prompt.name!r} asks for a score of each dimension. Leave form= out."
        )
    rubric_keys = plan.calls.set_index(CALL).loc[calls[CALL], TEXTS[prompt.criteria_in]]
    rubrics = {key: read_dimensions(plan.texts[key]) for key in rubric_keys.unique()}
    rows: list[tuple[object, ...]] = []
    for i, key, reply in zip(calls.index, rubric_keys, replies, strict=True):
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
    scores = pd.concat(reads).sort_index()
    scores["status"] = scores["status"].mask(table["failed"], "error")
    scores["reply_note"] = scores["reply_note"].mask(table["failed"], table["note"])
    table = scores.join(table[["at", "criterion", "weight", "stated_overall", "rationale"]]).set_index("at")
    return pd.concat([calls.loc[table.index], table], axis="columns")


#: A value that a reply names, its reason; and with its name before both.
Mark = tuple[Any, str | None]
Entry = tuple[str, Any, str | None]


def _objects(text: str) -> list[Record]:
    """The JSON objects of a reply; an object within one is a list of tuples."""
    return [dict(pairs) for _, _, pairs, _ in json_objects(text) if isinstance(pairs, list)]


def _agreed(entries: Iterable[Entry]) -> dict[str, Mark]:
    """Value and reason by name, of texts and numbers; a name that has two different values has none."""
    values: dict[str, Mark] = {}
    twice = set()
    for name, value, reason in entries:
        if isinstance(value, str | int | float):
            if name in values and values[name][0] != value:
                twice.add(name)
            values[name] = value, reason
    return {name: entry for name, entry in values.items() if name not in twice}


def _marks(text: str) -> tuple[dict[str, Mark], float]:
    """Score and reason of each dimension that a reply names, and the overall score it states."""
    objects = _objects(text)
    overall = {to_number(o["overall"]) for o in objects if isinstance(o.get("overall"), int | float)}
    marks = _agreed(entry for o in objects for entry in _dimensions(o.get("scores")))
    return marks, overall.pop() if len(overall) == 1 else float("nan")


def _dimensions(scores: Any) -> Iterator[Entry]:
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


def _said(text: str) -> dict[str, Record]:
    """Scores and reasons by criterion in the JSON of a reply."""
    objects, result = _objects(text), {}
    for what in ("scores", "reasons"):
        parts = [o[what] for o in objects if isinstance(o.get(what), list)]
        pairs = (pair for part in parts if all(isinstance(x, tuple) for x in part) for pair in part)
        result[what] = {name: value for name, (value, _) in _agreed((*pair, None) for pair in pairs).items()}
    return result


def remaining(plan: Plan | str | Path, answers: Answers) -> Plan:
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


def _replies(answers: Answers, plan: Plan) -> Iterator[tuple[str, Reply] | Exclusion]:
    """The answers with their places, and what is none; a SchemaError if nothing is an answer."""
    calls = set(plan.calls[CALL])
    forms: tuple[Form, ...] = (
        partial(people_form, criteria={c for p in plan.prompts.values() for c in p.criteria}),
        *RUNNER_FORMS,
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
        reply = reply or malformed_reply(record, calls)
        if reply is None:
            yield Exclusion(place, "the record is no answer to a call", f"A record names its call, as {CALL!r} does.")
        else:
            yield place, reply
        if not answered and problem is None:
            problem = SchemaError(
                f"{place}: this is no answer to a call. It has: {', '.join(map(str, record)) or 'no fields'}. A table "
                f"of answers has {CALL!r} and {REPLY_COLUMNS[0]!r}; outputs of OpenAI and Anthropic batches, Inspect "
                "AI logs and promptfoo results are read as they are."
            )
    if not answered and problem is not None:
        raise problem


def _entries(answers: Answers) -> Iterator[tuple[str, object]]:
    """What a source of answers holds, with its place; a SchemaError stands for what cannot be read."""
    if isinstance(answers, list | tuple) and any(isinstance(a, Mapping) for a in answers):
        yield from ((f"answers, record {i}", record) for i, record in enumerate(answers, start=1))
        return
    for file in resolve(answers).files:
        for place, record in _records(file):
            inside = _inside(record)
            parts = [(place, record)] if inside is None else [(f"record {i}", r) for i, r in enumerate(inside, start=1)]
            yield from ((f"{file.path.name}, {p}", r) for p, r in parts)


def _inside(record: object) -> list[object] | None:
    """The samples or results inside the one object of an Inspect or promptfoo log."""
    inside = record.get("samples", object_in(record, "results").get("results")) if isinstance(record, Mapping) else None
    return inside if isinstance(inside, list) else None


def _records(file: File) -> Iterator[tuple[str, object]]:
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
        numbers, broken = array("q"), list[BrokenRow]()
        table = file.table(numbers, broken)
        yield from ((f"{file.counted_in} {n}", r) for n, r in zip(numbers, table.to_dict("records"), strict=True))
        yield from broken


def _samples(file: File) -> Iterator[tuple[str, object]]:
    """Samples of a zipped log of Inspect."""
    archive = file.document()
    for name in archive.names():
        if LOG_SAMPLE.fullmatch(name):
            try:
                sample: object = member_object(archive, name)
            except SchemaError as problem:
                sample = problem
            yield f"member {name}", sample


def _matched(
    plan: Plan, replies: Iterable[tuple[str, Reply] | Exclusion]
) -> tuple[dict[str, tuple[str, Reply]], list[Exclusion], int]:
    """The first sound answer to each call, the exclusions, and the number of records."""
    planned = set(plan.calls[CALL])
    sent: dict[str, tuple[str, ...]] = {}
    answered: dict[str, tuple[str, Reply]] = {}
    excluded: list[Exclusion] = []
    n = 0
    for entry in replies:
        n += 1
        if isinstance(entry, Exclusion):
            excluded.append(entry)
            continue
        place, reply = entry
        if f"{ID_LETTER}{reply.call}" in planned:  # an id from before ids began with a letter
            reply = replace(reply, call=f"{ID_LETTER}{reply.call}")
        if reply.call not in planned:
            excluded.append(
                Exclusion(place, "the call is not of this plan", "Give the plan that these answers are to.")
            )
            continue
        if reply.messages is not None:
            sent = sent or _sent(plan)
            texts = [tuple(map(str.strip, messages)) for messages in (reply.messages, map(unguarded, reply.messages))]
            if not {sent[reply.call], sent[reply.call][-1:]}.intersection(texts):
                excluded.append(Exclusion(place, "the message sent is not that of the plan", "Ask the call again."))
                continue
        before = answered.get(reply.call)
        if before is not None and before[1].rank >= reply.rank:
            excluded.append(Exclusion(place, "the call was answered before", "The first answer is kept."))
            continue
        if before is not None:
            what = "failed" if before[1].text is None else "had an empty reply"
            excluded.append(Exclusion(before[0], f"the call {what} and was answered later", ""))
        answered[reply.call] = (place, reply)
    return answered, excluded, n


def _sent(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The messages of each call."""
    return {
        call: tuple(m.strip() for m in (*([system] if system else []), *(m["content"] for m in earlier), user))
        for call, system, earlier, user in plan.dialogues()
    }
