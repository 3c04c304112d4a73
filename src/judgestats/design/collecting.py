"""Answers to a plan, joined to it by the id of the call: :func:`collect`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.csv_files import unguarded
from judgestats.design.plans import CALL, ID_LETTER, TEXTS, Plan, opened
from judgestats.design.prompts import Prompt
from judgestats.design.rubrics import plain, read_dimensions
from judgestats.errors import DesignError, SchemaError
from judgestats.ingest.files import LOG_SAMPLE, File, Record, member_object
from judgestats.ingest.readers import absent
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


@dataclass(frozen=True)
class Reply:
    """One answer that came back.

    `call`: id. `text`: None if the call failed; an empty cell is an empty reply. `finish`: why the reply ended, with
    ``length`` and ``content_filter`` for what providers name otherwise. `asked`: the message as it was sent, if the
    file has it. `error`: what failed.
    """

    call: str
    text: str | None
    finish: str = ""
    asked: str | None = None
    error: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "finish", _FINISH.get(self.finish, self.finish))


def _plain(record: Mapping[str, Any]) -> Reply | None:
    name = next((n for n in _REPLIES if n in record), None)
    if CALL not in record or name is None:
        return None
    text = "" if absent(record[name]) else record[name]
    failed = "" if absent(record.get("error")) else str(record["error"])
    asked = record.get("user")
    reply = None if failed else text if isinstance(text, str) else json.dumps(text)
    return Reply(
        str(record[CALL]),
        reply,
        "" if absent(record.get("finish")) else str(record["finish"]),
        asked if isinstance(asked, str) else None,
        failed,
    )


def _form(record: Mapping[str, Any], criteria: Collection[str]) -> Reply | None:
    """A row of a form that people filled in: a column for each criterion."""
    given = {c: record[c] for c in criteria if c in record and not absent(record[c])}
    if CALL not in record or not any(c in record for c in criteria):
        return None
    reason = record.get("comment")
    reasons = {} if absent(reason) else {"reasons": dict.fromkeys(given, str(reason))}
    return Reply(str(record[CALL]), json.dumps({"scores": given, **reasons}, default=str) if given else "")


def _openai(record: Mapping[str, Any]) -> Reply | None:
    if "custom_id" not in record or "response" not in record:
        return None
    body = (record["response"] or {}).get("body") or {}
    choices = body.get("choices") or []
    if record.get("error") or not choices:
        failed = record.get("error") or body.get("error") or "no choices"
        return Reply(str(record["custom_id"]), None, error=json.dumps(failed)[:200])
    message = choices[0].get("message") or {}
    text, refusal = message.get("content"), message.get("refusal")
    if text is None and refusal:
        return Reply(str(record["custom_id"]), refusal, "refusal")
    return Reply(str(record["custom_id"]), text or "", str(choices[0].get("finish_reason") or ""))


def _anthropic(record: Mapping[str, Any]) -> Reply | None:
    result = record.get("result")
    if "custom_id" not in record or not isinstance(result, dict) or "type" not in result:
        return None
    if result["type"] != "succeeded":
        return Reply(str(record["custom_id"]), None, error=json.dumps(result.get("error") or result["type"])[:200])
    message = result.get("message") or {}
    parts = message.get("content") or []
    text = "".join(p.get("text", "") for p in parts if isinstance(p, dict) and p.get("type") == "text")
    return Reply(str(record["custom_id"]), text, str(message.get("stop_reason") or ""))


def _inspect(sample: Mapping[str, Any]) -> Reply | None:
    if not isinstance(sample.get("output"), dict) or "id" not in sample or "messages" not in sample:
        return None
    output = sample["output"]
    choices = output.get("choices") or []
    if sample.get("error") or not choices:
        return Reply(str(sample["id"]), None, error=json.dumps(sample.get("error") or "no choices")[:200])
    content = (choices[0].get("message") or {}).get("content")
    if isinstance(content, list):
        content = "".join(p.get("text", "") for p in content if isinstance(p, dict))
    return Reply(str(sample["id"]), content or "", str(choices[0].get("stop_reason") or ""))


def _promptfoo(result: Mapping[str, Any]) -> Reply | None:
    known = result.get("vars")
    if not isinstance(known, dict) or CALL not in known:
        return None
    response = result.get("response") or {}
    text = response.get("output")
    if text is None:
        return Reply(str(known[CALL]), None, error=str(response.get("error") or result.get("error") or "no output"))
    return Reply(str(known[CALL]), text if isinstance(text, str) else json.dumps(text))


_FORMS: tuple[Callable[[Mapping[str, Any]], Reply | None], ...] = (_plain, _openai, _anthropic, _inspect, _promptfoo)


def _opened(records: Iterable[Record]) -> Iterator[Record]:
    """Records of a file, and those inside the one object of an Inspect or promptfoo log."""
    for place, record in records:
        inside = record.get("samples")
        results = record.get("results")
        inside = results.get("results") if inside is None and isinstance(results, dict) else inside
        if isinstance(inside, list):
            yield from ((f"record {i}", r) for i, r in enumerate(inside, start=1) if isinstance(r, dict))
        else:
            yield place, record


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
        texts, the texts shown, ``text`` and its ``status``. Its account, shown by :func:`judgestats.check`, lists
        answers to unknown calls, second answers to a call (the first is kept), answers to a message that was changed,
        replies that go into a later call, and calls without an answer.
        :func:`remaining` gives the plan of the calls left to ask.

    Raises
    ------
    DesignError
        If no answer belongs to the plan.
    SchemaError
        If the answers cannot be read.

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
    return _verdicts(plan, *matched, form, labels, scale), _left(plan, matched[0])


def _left(plan: Plan, found: Mapping[str, tuple[str, Reply]]) -> Plan:
    """The plan of the calls without an answer."""
    done = {call for call, (_, reply) in found.items() if reply.text is not None}
    return plan.rows(~plan.calls[CALL].isin(done))


def _verdicts(
    plan: Plan,
    found: Mapping[str, tuple[str, Reply]],
    excluded: list[Exclusion],
    n: int,
    form: Any,
    labels: Mapping[Any, Any] | None,
    scale: tuple[float, float] | None,
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
    cure = "remaining() is the plan of the calls left to ask."
    excluded += [Exclusion(f"call {c}", "no answer came back", cure) for c in missing]
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
        given = scale or asked.scale
        if asked.criteria_in:
            parts.append(_by_rubric(plan, asked, calls, part, form, labels, given))
            continue
        for criterion in asked.criteria or (None,):
            parts.append(calls.join(_read(part, said, kind, criterion, form, labels, given).set_index(calls.index)))
    order = pd.concat(parts).sort_index(kind="stable")
    everywhere = [places[i] for i in order.index]
    rows = order.reset_index(drop=True)
    rows = rows.drop(columns="prompt").rename(columns={"chain": "prompt"}) if "chain" in rows else rows
    frame = preferences(rows) if kind == "preferences" else ratings(rows, scale=scale)
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
    form: Any,
    labels: Mapping[Any, Any] | None,
    scale: tuple[float, float] | None,
) -> pd.DataFrame:
    """The answers in replies, to one criterion where they score several."""
    several = criterion is not None and form is None
    read = parse_verdicts(
        [r.text for r in replies],
        form=(lambda text: said(text)["scores"].get(criterion)) if several else form,
        answer="choice" if kind == "preferences" else "score",
        labels=labels,
        scale=None if kind == "preferences" else scale,
        finish=[r.finish for r in replies],
    )
    read["status"] = read["status"].mask([r.text is None for r in replies], "error")
    read["rationale"] = [
        said(r.text or "")["reasons"].get(criterion) if several else (explanation(r.text or "") or None)
        for r in replies
    ]
    return read if criterion is None else read.assign(criterion=criterion)


def _by_rubric(
    plan: Plan,
    asked: Prompt,
    calls: pd.DataFrame,
    replies: Sequence[Reply],
    form: Any,
    labels: Mapping[Any, Any] | None,
    scale: tuple[float, float] | None,
) -> pd.DataFrame:
    """The scores of each dimension of the rubric that the call shows, with their weights."""
    if form is not None:
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
            rows.append((i, text, reply.finish, reply.text is None, score is None, d.name, d.weight, overall, reason))
    names = ("at", "text", "finish", "failed", "without", "criterion", "weight", "stated_overall", "rationale")
    table = pd.DataFrame(rows, columns=list(names))
    reads = []
    for without, part in table.groupby("without"):
        finish = part["finish"].tolist()
        read = parse_verdicts(part["text"], answer="score", labels=labels, scale=scale, finish=finish)
        if without:  # what else is in the reply is no score of this dimension
            other = ~read["status"].isin(("refused", "empty", "truncated", "error"))
            read = read[["score", "status", "reply_form", "reply_note"]].assign(score=float("nan"))
            read.loc[other, ["status", "reply_form", "reply_note"]] = ["parse", "", "no score of this dimension"]
        reads.append(read)
    found = pd.concat(reads).sort_index()
    found["status"] = found["status"].mask(table["failed"], "error")
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
    overall = {float(o["overall"]) for o in found if isinstance(o.get("overall"), int | float)}
    marks = _agreed(entry for o in found for entry in _dimensions(o.get("scores")))
    return marks, overall.pop() if len(overall) == 1 else float("nan")


def _dimensions(scores: Any) -> Iterator[tuple[str, Any, str | None]]:
    """Name, score and reason of each part of a list, or an object, of scores."""
    for part in scores if isinstance(scores, list) else ():
        if isinstance(part, tuple):
            yield plain(str(part[0])), part[1], None
        elif isinstance(part, list) and all(isinstance(p, tuple) for p in part):
            entry = dict(part)
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


def _replies(answers: Any, plan: Plan) -> Iterator[tuple[str, Reply]]:
    """The answers with their places; a record of unknown shape is a SchemaError."""
    if isinstance(answers, list | tuple) and answers and isinstance(answers[0], Mapping):
        sources: list[tuple[str, Iterable[Record]]] = [
            ("answers", [(f"record {i}", dict(r)) for i, r in enumerate(answers, start=1)])
        ]
    else:
        files = resolve(answers)
        sources = [(f.path.name, _samples(f) if f.container == "eval" else f.records_for(None)) for f in files.files]
    forms: tuple[Callable[[Mapping[str, Any]], Reply | None], ...] = (
        partial(_form, criteria={c for p in plan.prompts.values() for c in p.criteria}),
        *_FORMS,
    )
    for name, records in sources:
        for place, record in _opened(records):
            reply = next((r for form in forms if (r := form(record)) is not None), None)
            if reply is None:
                raise SchemaError(
                    f"{name}, {place}: this is no answer to a call. It has: {', '.join(map(str, record))}. A table "
                    f"of answers has {CALL!r} and {_REPLIES[0]!r}; outputs of OpenAI and Anthropic batches, Inspect AI "
                    "logs and promptfoo results are read as they are."
                )
            yield f"{name}, {place}", reply


def _samples(file: File) -> Iterator[Record]:
    """Samples of a zipped log of Inspect."""
    archive = file.document()
    for name in archive.names():
        if LOG_SAMPLE.fullmatch(name):
            yield f"member {name}", member_object(archive, name)


def _matched(
    plan: Plan, replies: Iterable[tuple[str, Reply]]
) -> tuple[dict[str, tuple[str, Reply]], list[Exclusion], int]:
    """The first answer to each call, the exclusions, and the number of answers."""
    known = set(plan.calls[CALL])
    sent: dict[str, str] | None = None
    found: dict[str, tuple[str, Reply]] = {}
    excluded: list[Exclusion] = []
    n = 0
    for place, reply in replies:
        n += 1
        if reply.call not in known:  # an id from before ids began with a letter
            reply = replace(reply, call=f"{ID_LETTER}{reply.call}")
        if reply.call not in known:
            excluded.append(
                Exclusion(place, "the call is not of this plan", "Give the plan that these answers are to.")
            )
            continue
        if reply.asked is not None:
            sent = sent or {call: user for call, _, user in plan.messages()}
            if sent[reply.call].strip() not in (reply.asked.strip(), unguarded(reply.asked).strip()):
                excluded.append(Exclusion(place, "the message sent is not that of the plan", "Ask the call again."))
                continue
        before = found.get(reply.call)
        if before is not None and (before[1].text is not None or reply.text is None):
            excluded.append(Exclusion(place, "the call was answered before", "The first answer is kept."))
            continue
        if before is not None:
            excluded.append(Exclusion(before[0], "the call failed and was answered later", ""))
        found[reply.call] = (place, reply)
    return found, excluded, n
