"""Answers to a plan, joined to it by the id of the call: :func:`collect`."""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgestats.csv_files import unguarded
from judgestats.design.plans import CALL, EARLIER, ID_LETTER, TEXTS, Plan, opened
from judgestats.design.prompt_templates import REPLIES, Prompt
from judgestats.design.ranked_responses import ranked_pairs
from judgestats.design.reply_contents import SIDES, Mark, criterion_marks, dimension_marks, explanation, side_scores
from judgestats.design.reply_schemas import WHOLE, schema_faults
from judgestats.design.rubric_dimensions import Criterion, plain, read_dimensions
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
from judgestats.ingest.json_values import member_object
from judgestats.ingest.record_fields import object_in
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.reply_meaning import AnswerKind
from judgestats.ingest.sources import Files, resolve
from judgestats.ingest.text_blocks import BrokenRow
from judgestats.schema import preferences, ratings
from judgestats.schema.account import Account, Exclusion
from judgestats.schema.findings import Finding

_NO_ANSWER = "no answer came back"
#: Statuses of replies that no later call goes on from.
_LOST = ("refused", "empty", "truncated")
#: Columns that a reply of the wrong form has nothing in.
_ANSWERS = {"choice", "score", "mean", "sd", "strength"}
#: A ranking of two, which a prompt that asks for it explains: the candidate shown first is 1.
LISTED = {"[1,2]": "first", "[2,1]": "second"}


class ReplyReading(NamedTuple):
    """How replies are read: as in :func:`judgestats.parse_verdicts`; and whether the schema of the prompt counts."""

    form: Any
    labels: Mapping[Any, Any] | None
    scale: tuple[float, float] | None
    schema: bool = True


def collect(
    plan: Plan | str | Path,
    answers: Answers,
    *,
    form: Any = None,
    labels: Mapping[Any, Any] | None = None,
    scale: tuple[float, float] | None = None,
    schema: bool = True,
    texts: bool = False,
) -> pd.DataFrame:
    """Join the answers of a runner to their plan, and read the verdicts out of them.

    Parameters
    ----------
    plan : Plan or path
        The plan, or the folder that :meth:`Plan.write` wrote; folders ``stage2``, ... in it are later stages.
    answers : path, glob, folder, list of paths, or sequence of records
        Output of an OpenAI or Anthropic batch, an Inspect AI log, promptfoo's results, or a table (CSV, JSONL, ...)
        with ``call`` and ``answer``; ``error``, ``finish``, ``user`` (the message that was sent), ``input_tokens`` and
        ``output_tokens`` where it has them.
    form, labels, scale
        How the replies are read: as in :func:`judgestats.parse_verdicts`.
    schema : bool
        Whether a reply in JSON needs the form that its prompt asks for. One that lacks a part, has one too many, or a
        score outside its range, has status ``schema``, and no verdict; of scores of several criteria, only those of a
        criterion whose own part is wrong. False: what can be read counts. A reply of another form, or read by a parser
        in `form`, and a form that a person filled in, are not held to the schema.
    texts : bool
        Whether to return the texts shown, too: ``task_text``, ``response_text`` and, of candidates, ``text_first`` and
        ``text_second``.

    Returns
    -------
    pandas.DataFrame
        A canonical frame with a row for each call that was planned, and for each of its criteria: the design columns,
        the verdict, its ``status``, and as ``rationale`` the explanation in the reply, or the whole reply; of a plan of
        texts, the texts shown, ``text`` and its ``status``. Where replies score both candidates, ``score_first`` and
        ``score_second`` are the means over criteria, and ``score_conflict`` says whether the verdict is another one
        than theirs; under a prompt by which the verdict is that of the scores (``by_scores``), its status is
        ``semantic``. ``input_tokens`` and ``output_tokens`` are those of the call, where the runner has them.

        A record that names a call but has no sound reply to it is a failed call, with status ``error``; ``reply_note``
        says what failed. A call without an answer has status ``missing``. A verdict that was never asked for, because
        an earlier reply of its chain failed, was refused, cut off or no rubric, has the status of that reply. The
        account, shown by :func:`judgestats.check`, lists lines that cannot be read, records that name no call, answers
        to unknown calls, second answers to a call (the first is kept, unless it failed or is empty), and answers to a
        message that was changed, and counts replies that later calls go on from. :func:`remaining` gives the plan of
        the calls left to ask. A row of a form in which a person left some criteria empty has scores of the others, and
        for these the status ``missing``, with their names in ``reply_note``; it is left to ask.

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
    >>> collect(plan, replies[:5])[["choice", "status"]].astype(str).tail(2).values.tolist()
    [['tie', 'ok'], ['invalid', 'missing']]
    """
    plan = opened(plan)
    how = ReplyReading(form, labels, scale, schema and not callable(form))
    return verdicts_in(plan, matched(plan, answers).required(), how, texts)


class MatchedReplies(NamedTuple):
    """The first sound answer to each call, with its place; the records that are excluded; the number of all."""

    answered: dict[str, tuple[str, Reply]]
    excluded: list[Exclusion]
    n: int

    @property
    def texts(self) -> dict[str, str]:
        """The text of the reply to each call that has one."""
        return {call: reply.text for call, (_, reply) in self.answered.items() if reply.text}

    def required(self) -> MatchedReplies:
        """These; a DesignError if there is no answer to the plan among them."""
        if not self.n:
            raise DesignError("No answers were given: what was given holds no record. Give the files that came back.")
        if not self.answered:
            first = next((f"; the first is {e.place}: {e.reason}" for e in self.excluded), "")
            raise DesignError(
                f"None of the {self.n:,} answers belongs to a call of the plan{first}. Is it "
                "the answer of another plan?"
            )
        return self

    def usable(self, plan: Plan) -> dict[str, str]:
        """The replies that a later stage can go on from: not those that failed, were refused, empty or cut off."""
        lost = lost_replies(plan, self.answered)
        replies = ((call, reply.text) for call, (_, reply) in self.answered.items())
        return {call: text for call, text in replies if text is not None and call not in lost}

    def left(self, plan: Plan) -> Plan:
        """The plan of the calls without an answer; a row of a form that was not filled in, or in part, is none."""
        sound = ((call, r) for call, (_, r) in self.answered.items() if r.text is not None and not r.blank)
        done = {call for call, r in sound if r.text or not r.by_hand}
        return plan.rows(~plan.calls[CALL].isin(done))


def verdicts_in(
    plan: Plan, sorted_answers: MatchedReplies, how: ReplyReading, with_texts: bool = False
) -> pd.DataFrame:
    """The verdicts, scores or texts in the answers, with their account."""
    answered, excluded, n = sorted_answers
    kind = plan.kind
    between = [name for name, p in plan.prompts.items() if p.frame == "texts" != kind]
    every = pd.concat([plan.calls, plan.later], ignore_index=True)
    rows = every[~every["prompt"].isin(between)]
    if not rows[CALL].isin(set(answered)).any():
        raise DesignError(
            f"The {len(answered):,} calls answered ask for no verdict: their replies go into later calls. Plan those "
            "with next_stage(), and collect the plans of all stages: plan + later."
        )
    rows = rows.dropna(axis="columns", how="all").reset_index(drop=True)
    lost = unreached(plan, answered)
    unanswered = [c for c in rows[CALL] if c not in answered]
    lost |= {c: Reply(c, None, status="missing", error=_NO_ANSWER) for c in unanswered if c not in lost}
    places, replies = zip(*(answered.get(c) or (f"call {c}", lost[c]) for c in rows[CALL]), strict=True)
    passed = len(answered) + len(unanswered) - len(rows)
    notes = (Finding("counted", "", "replies that later calls go on from", (), unread=passed),) if passed else ()
    account = partial(Account, n + len(unanswered) - passed, excluded=tuple(excluded), notes=notes)
    if kind == "texts":
        return _written(plan, rows, replies, account(places))
    if not with_texts:
        rows = rows.drop(columns=list(TEXTS.values()), errors="ignore")
    rows = rows.drop(columns=["planned", *EARLIER.values()], errors="ignore")
    rows = _with_tokens(rows, replies)
    if kind == "rankings":
        prompt = next(p for p in plan.prompts.values() if p.frame == "rankings")
        at, pairs = zip(*ranked_pairs(rows, replies, prompt, how.schema), strict=True)
        opened_pairs: pd.DataFrame = preferences(pd.DataFrame(list(pairs)))
        ranked: pd.DataFrame = account([places[i] for i in at]).attached(opened_pairs)
        return ranked
    parts = []
    for name, calls in rows.groupby("prompt", sort=False):
        part = [replies[i] for i in calls.index]
        prompt = plan.prompts[str(name)]
        prompt_reading = how._replace(scale=how.scale or prompt.scale)
        if prompt.criteria_in:
            parts.append(_by_rubric(plan, prompt, calls, part, prompt_reading))
        else:
            parts += _read(prompt, calls, part, prompt_reading)
    order = pd.concat(parts).sort_index(kind="stable")
    if kind == "preferences":
        order = _with_scores(plan, answered, order, how)
    everywhere = [places[i] for i in order.index]
    rows = order.reset_index(drop=True)
    rows = rows.assign(**{c: rows[c].map(dict(plan.texts)) for c in TEXTS.values() if c in rows})
    rows = rows.rename(columns={f"{slot}_text": f"text_{slot}" for slot in ("first", "second")})
    rows = rows.drop(columns="prompt").rename(columns={"chain": "prompt"}) if "chain" in rows else rows
    frame = preferences(rows) if kind == "preferences" else ratings(rows, scale=how.scale)
    result: pd.DataFrame = account(everywhere).attached(frame)
    return result


def _written(plan: Plan, rows: pd.DataFrame, replies: Sequence[Reply], account: Account) -> pd.DataFrame:
    """The texts that a model wrote, each with its status."""
    texts = [None if r.text is None else r.text.strip() for r in replies]
    lost = lost_replies(plan, {r.call: ("", r) for r in replies})
    status = [r.status if t is None else lost.get(r.call, ("ok", ""))[0] for t, r in zip(texts, replies, strict=True)]
    texts_shown = {c: rows[c].map(dict(plan.texts)) for c in TEXTS.values() if c in rows}
    rows = _with_tokens(rows.assign(**texts_shown, status=status), replies)
    result: pd.DataFrame = account.attached(rows.assign(text=pd.Series(texts, dtype=object)))
    return result


def _with_tokens(rows: pd.DataFrame, replies: Sequence[Reply]) -> pd.DataFrame:
    """The calls with their tokens, where any reply has them."""
    tokens = np.array([r.tokens for r in replies], dtype=float)
    if np.isnan(tokens).all():
        return rows
    return rows.assign(input_tokens=tokens[:, 0], output_tokens=tokens[:, 1])


def _with_scores(
    plan: Plan, answered: Mapping[str, tuple[str, Reply]], rows: pd.DataFrame, how: ReplyReading
) -> pd.DataFrame:
    """Verdicts with the mean scores of both candidates in the reply, or in one before it, and whether these agree."""
    parts = {name: p.schema.get("properties", {}) for name, p in plan.prompts.items()}
    if not (scored := [name for name, fields in parts.items() if any(k.startswith("scores") for k in fields)]):
        return rows
    before = dict(zip(plan.calls[CALL], plan.calls["after"], strict=True)) if "after" in plan.calls else {}
    means: dict[str, list[float]] = {}
    faults: dict[str, str] = {}
    scoring = plan.calls[plan.calls["prompt"].isin(scored) & plan.calls[CALL].isin(set(answered))]
    for call, name in zip(scoring[CALL], scoring["prompt"], strict=True):
        reply = answered[call][1]
        if fault := next(iter(_faults(plan.prompts[name], reply, how).values()), ""):
            faults[call] = fault
        elif all((sides := side_scores(reply.text or "")).get(side) for side in SIDES):
            means[call] = [float(np.mean([*sides[side].values()])) for side in SIDES]
    nothing = [np.nan, np.nan]

    def of(call: object) -> list[float]:
        return means[str(call)] if call in means else of(before[call]) if call in before else nothing

    def fault_before(call: object) -> str:
        return faults[str(call)] if call in faults else fault_before(before[call]) if call in before else ""

    first, second = np.array([of(call) for call in rows[CALL]]).T
    difference = np.where(abs(first - second) < 1e-9, 0, first - second)
    better = np.select([difference > 0, difference < 0, difference == 0], ["first", "second", "tie"], "")
    conflict = (better != "") & (rows["status"] == "ok").to_numpy() & (better != rows["choice"].to_numpy())
    rows = rows.assign(score_first=first, score_second=second, score_conflict=conflict)
    by_scores = rows["prompt"].map({n: p.by_scores for n, p in plan.prompts.items()}).to_numpy(dtype=bool)
    strict = conflict & by_scores
    what = "the verdict is not that of the scores"
    rows.loc[strict, ["choice", "status", "reply_note"]] = ["invalid", "semantic", what]
    wrong = rows[CALL].map(fault_before).where(by_scores & (rows["status"] == "ok"), "")
    rows.loc[wrong != "", ["choice", "status"]] = ["invalid", "schema"]
    rows["reply_note"] = rows["reply_note"].mask(wrong != "", "scores: " + wrong)
    return rows


def _read(prompt: Prompt, calls: pd.DataFrame, replies: Sequence[Reply], how: ReplyReading) -> Iterator[pd.DataFrame]:
    """The answers to a prompt, or to each of its criteria; a reply that came several times is looked into once."""
    compared = prompt.frame == "preferences" and not prompt.criteria
    listed = '"[1,2]"' in json.dumps(dict(prompt.schema))  # the prompt says what it means: the first is preferred
    marks, wrong = {}, {}
    for key, reply in {(r.text, r.by_hand): r for r in replies}.items():  # both before the JSON of the next is read
        marks[reply.text] = criterion_marks(reply.text or "", prompt.criteria) if prompt.criteria else {}
        wrong[key] = _faults(prompt, reply, how)
    faults = [wrong[r.text, r.by_hand] for r in replies]
    for criterion in prompt.criteria or [""]:
        read = parse_verdicts(
            [r.text for r in replies],
            form=partial(_score_of, marks, criterion) if criterion and how.form is None else how.form,
            answer="choice" if compared else "score",
            labels={**(LISTED if listed else {}), **(how.labels or {})} or None,
            scale=None if compared else how.scale,
            finish=[r.finish for r in replies],
        )
        if criterion:
            read["rationale"] = [marks[r.text][criterion][1] for r in replies]
            notes = [each.get(WHOLE) or each.get(plain(criterion), "") for each in faults]
        else:
            read["rationale"] = [explanation(r.text or "") or None for r in replies]
            notes = [next(iter(each.values()), "") for each in faults]
        read = _with_states(read, [_left_empty(r) if criterion in r.blank else r for r in replies], notes)
        yield calls.join((read.assign(criterion=criterion) if criterion else read).set_index(calls.index))


def _left_empty(reply: Reply) -> Reply:
    """No answer to a criterion, in a row of a form that has answers to others."""
    return replace(reply, text=None, status="missing", error=f"left empty in the form: {', '.join(reply.blank)}")


def _score_of(marks: Mapping[str | None, Mapping[str, Mark]], criterion: str, text: str) -> object:
    return marks[text][criterion][0]


def _faults(prompt: Prompt, reply: Reply, how: ReplyReading) -> dict[str, str]:
    """What is wrong with the form of a reply, where that counts."""
    if not how.schema or reply.by_hand or not reply.text:
        return {}
    return schema_faults(prompt.schema, reply.text, [str(label) for label in how.labels or ()])


def _with_states(read: pd.DataFrame, replies: Sequence[Reply], faults: Sequence[str]) -> pd.DataFrame:
    """Answers with the status of calls without a reply, and of replies of another form than was asked for."""
    failed = [r.text is None for r in replies]
    read["status"] = read["status"].mask(failed, pd.Series([r.status for r in replies], dtype=object))
    read["reply_note"] = read["reply_note"].mask(failed, pd.Series([r.note for r in replies], dtype=object))
    wrong = pd.Series(faults, index=read.index, dtype=object)
    rows = (wrong != "") & (read["status"] == "ok")
    read.loc[rows, "status"], read.loc[rows, "reply_note"] = "schema", wrong[rows]
    for column in _ANSWERS & {*read}:
        read.loc[rows, column] = "invalid" if column == "choice" else np.nan
    return read


def _by_rubric(
    plan: Plan, prompt: Prompt, calls: pd.DataFrame, replies: Sequence[Reply], how: ReplyReading
) -> pd.DataFrame:
    """The scores of each dimension of the rubric that the call shows, with their weights."""
    if how.form is not None:
        raise DesignError(
            f"form= reads one answer, and prompt {prompt.name!r} asks for a score of each dimension. Leave form= out."
        )
    column = TEXTS[prompt.criteria_in]  # not there before the first of these calls is planned
    rubric_keys = plan.calls.reindex(columns=[CALL, column]).set_index(CALL)[column].reindex(calls[CALL])
    rubrics = {key: read_dimensions(plan.texts[key]).criteria for key in rubric_keys.dropna().unique()}
    nothing = (Criterion("overall"),)  # a call that was never asked, since no rubric could be read
    rows: list[tuple[object, ...]] = []
    for i, key, reply in zip(calls.index, rubric_keys, replies, strict=True):
        marks, overall = dimension_marks(reply.text or "")
        wrong = _faults(prompt, reply, how)
        for d in rubrics.get(key, nothing):
            score, reason = marks.get(plain(d.name), (None, reply.text or None))
            text = reply.text if score is None else json.dumps({"score": score})
            fault = wrong.get(WHOLE) or wrong.get(plain(d.name), "")
            rows.append((i, reply, text, score is None, fault, d.name, d.weight, overall, reason))
    names = ("at", "reply", "text", "without", "fault", "criterion", "weight", "stated_overall", "rationale")
    table = pd.DataFrame(rows, columns=list(names))
    reads = []
    for without, group in table.groupby("without"):
        finish = [r.finish for r in group["reply"]]
        read = parse_verdicts(group["text"], answer="score", labels=how.labels, scale=how.scale, finish=finish)
        if without:  # what else is in the reply is no score of this dimension
            other = ~read["status"].isin(("refused", "empty", "truncated", "error"))
            read = read[["score", "status", "reply_form", "reply_note"]].assign(score=float("nan"))
            read.loc[other, ["status", "reply_form", "reply_note"]] = ["parse", "", "no score of this dimension"]
        reads.append(read)
    scores = _with_states(pd.concat(reads).sort_index(), table["reply"].tolist(), table["fault"].tolist())
    table = scores.join(table[["at", "criterion", "weight", "stated_overall", "rationale"]]).set_index("at")
    return pd.concat([calls.loc[table.index], table], axis="columns")


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
    return matched(plan, answers).left(plan)


def _replies(answers: Answers | Files, plan: Plan) -> Iterator[tuple[str, Reply] | Exclusion]:
    """The answers with their places, and what is none; a SchemaError if nothing is an answer."""
    calls = set(plan.calls[CALL])
    criteria = {c for p in plan.prompts.values() for c in p.criteria}
    forms: tuple[Form, ...] = (partial(people_form, criteria=criteria), *RUNNER_FORMS)
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


def _entries(answers: Answers | Files) -> Iterator[tuple[str, object]]:
    """What a source of answers holds, with its place; a SchemaError stands for what cannot be read."""
    if isinstance(answers, list | tuple) and (not answers or any(isinstance(a, Mapping) for a in answers)):
        yield from ((f"answers, record {i}", record) for i, record in enumerate(answers, start=1))
        return
    for file in (answers if isinstance(answers, Files) else resolve(answers)).files:
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


def matched(plan: Plan, answers: Answers | Files, earlier: Sequence[Path] = ()) -> MatchedReplies:
    """The answers to the calls of a plan; those of `earlier` files, the newest first, to calls without one. An earlier
    file that only repeats what newer ones answer counts as read with these.
    """
    planned = dict(zip(plan.calls[CALL], plan.calls["prompt"], strict=True))
    sent: dict[str, tuple[str, ...]] = {}
    answered: dict[str, tuple[str, Reply]] = {}
    excluded: list[Exclusion] = []
    n = 0
    for source in (answers, *earlier):
        n_newer, excluded_newer, adds, repeats = n, len(excluded), source is answers, False
        for entry in _replies(source, plan):
            n += 1
            if isinstance(entry, Exclusion):
                excluded.append(entry)
                continue
            place, reply = entry
            if f"{ID_LETTER}{reply.call}" in planned:  # an id from before ids began with a letter
                reply = replace(reply, call=f"{ID_LETTER}{reply.call}")
            if reply.blank and reply.call in planned:
                criteria = plan.prompts[planned[reply.call]].criteria
                reply = replace(reply, blank=tuple(c for c in reply.blank if c in criteria))
            before = answered.get(reply.call)
            sent = sent or (_sent(plan) if reply.messages is not None else {})
            repeats = repeats or before is not None
            if why := _unusable(reply, planned, sent, None if before is None else before[1]):
                excluded.append(Exclusion(place, *why))
                continue
            if before is not None:
                of_form = "was answered in part" if before[1].blank else "had an empty reply"
                what = "failed" if before[1].text is None else of_form
                excluded.append(Exclusion(before[0], f"the call {what} and was answered later", ""))
            answered[reply.call] = (place, reply)
            adds = True
        if repeats and not adds:
            n, excluded = n_newer, excluded[:excluded_newer]
    return MatchedReplies(answered, excluded, n)


def _unusable(
    reply: Reply, planned: Collection[str], sent: Mapping[str, tuple[str, ...]], before: Reply | None
) -> tuple[str, str] | None:
    """Why a reply does not count, and what to do; `before`: the reply that its call has."""
    if reply.call not in planned:
        return "the call is not of this plan", "Give the plan that these answers are to."
    if reply.by_hand and not (reply.text or "").strip():
        return "the row of a form is not filled in", "Have it filled in; the call is left to ask."
    if reply.messages is not None:
        texts = [tuple(map(str.strip, messages)) for messages in (reply.messages, map(unguarded, reply.messages))]
        if not {sent[reply.call], sent[reply.call][-1:]}.intersection(texts):
            return "the message sent is not that of the plan", "Ask the call again."
    if before is not None and before.rank >= reply.rank:
        return "the call was answered before", "The first answer is kept."
    return None


def _sent(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The messages of each call."""
    return {
        call: tuple(m.strip() for m in (*([system] if system else []), *(m["content"] for m in earlier), user))
        for call, system, earlier, user in plan.dialogues()
    }


def lost_replies(plan: Plan, answered: Mapping[str, tuple[str, Reply]]) -> dict[str, tuple[str, str]]:
    """Status and note of the replies that failed, were refused, are empty or cut off."""
    texts = {call: reply.text for call, (_, reply) in answered.items() if reply.text is not None}
    lost = {call: ("error", reply.note) for call, (_, reply) in answered.items() if reply.text is None}
    if not texts:
        return lost
    answer: AnswerKind = "choice" if plan.kind == "preferences" else "score"
    read = parse_verdicts(list(texts.values()), answer=answer, finish=[answered[c][1].finish for c in texts])
    states = zip(texts, read["status"], read["reply_note"], strict=True)
    return lost | {call: (status, note) for call, status, note in states if status in _LOST}


def rubric_faults(plan: Plan, replies: Mapping[str, str]) -> dict[str, str]:
    """Why the rubric in a reply cannot be used, of the calls that were asked for one by which later calls score."""
    stages = {REPLIES.index(p.criteria_in) + 1 for p in plan.prompts.values() if p.criteria_in in REPLIES}
    if not stages or "stage" not in plan.calls:
        return {}
    calls = plan.calls[plan.calls["stage"].isin(stages) & plan.calls[CALL].isin(set(replies))]
    templates = {c: plan.prompts[name] for c, name in zip(calls[CALL], calls["prompt"], strict=True)}
    faults = {c: read_dimensions(replies[c], p).fault for c, p in templates.items() if p.frame == "texts"}
    return {call: fault for call, fault in faults.items() if fault}


def stopping_replies(plan: Plan, answered: Mapping[str, tuple[str, Reply]]) -> dict[str, tuple[str, str]]:
    """Status and note of the replies after which calls were planned, that cannot be gone on from."""
    if not len(plan.later):
        return {}
    calls = dict(zip(plan.calls["planned"], plan.calls[CALL], strict=True)) if "planned" in plan.calls else {}
    ends = {str(calls.get(call, call)) for call in plan.later["after"]} & set(answered)
    answered = {call: answered[call] for call in plan.calls[CALL] if call in ends}
    faults = rubric_faults(plan, {call: r.text for call, (_, r) in answered.items() if r.text is not None})
    return {call: ("schema", fault) for call, fault in faults.items()} | lost_replies(plan, answered)


def unreached(plan: Plan, answered: Mapping[str, tuple[str, Reply]]) -> dict[str, Reply]:
    """The calls of later stages that were never asked, each with the status of what stopped its chain."""
    if not len(plan.later):
        return {}
    before = dict(zip(plan.later[CALL], plan.later["after"], strict=True))
    calls = dict(zip(plan.calls["planned"], plan.calls[CALL], strict=True)) if "planned" in plan.calls else {}
    stages = dict(zip(plan.calls[CALL], plan.calls["stage"], strict=True))
    lost = stopping_replies(plan, answered)

    def stopped(call: object) -> tuple[str, str]:
        previous = calls.get(before[call], before[call])
        if previous in before:
            return stopped(previous)
        stage = stages.get(previous, "?")
        if previous not in answered:
            return "missing", f"stage {stage}: {_NO_ANSWER}"
        if previous not in lost:
            return "missing", f"the stage after stage {stage} was not asked"
        status, note = lost[previous]
        return status, f"stage {stage}: {note}"

    return {call: Reply(call, None, status=status, error=note) for call in before for status, note in [stopped(call)]}
