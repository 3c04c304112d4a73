"""Which replies the later calls of a chain can go on from, and why a planned verdict was never asked for."""

from __future__ import annotations

from collections.abc import Mapping

from judgestats.design.plans import CALL, Plan
from judgestats.design.prompts import REPLIES
from judgestats.design.rubric_dimensions import read_dimensions
from judgestats.design.runner_replies import Reply
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.reply_meaning import AnswerKind

#: Statuses of replies that no later call goes on from.
_LOST = ("refused", "empty", "truncated")


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
            return "missing", f"stage {stage}: no answer came back"
        if previous not in lost:
            return "missing", f"the stage after stage {stage} was not asked"
        status, note = lost[previous]
        return status, f"stage {stage}: {note}"

    return {call: Reply(call, None, status=status, error=note) for call in before for status, note in [stopped(call)]}
