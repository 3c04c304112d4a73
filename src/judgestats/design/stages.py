"""Chains: calls whose prompt takes the replies to earlier calls, stage by stage: :func:`next_stage`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from judgestats.design.collection import MatchedReplies, matched, rubric_faults
from judgestats.design.controlled_calls import possible_calls
from judgestats.design.plans import CALL, UNANSWERED, WRITES, Plan, following, goes_on, opened
from judgestats.design.prompt_templates import digest
from judgestats.design.runner_replies import Answers
from judgestats.errors import DesignError


def next_stage(plan: Plan | str | Path, answers: Answers) -> Plan:
    """Plan the next stage of a chain from the answers to this one.

    Parameters
    ----------
    plan : Plan or path
        The plan whose calls were asked, with calls of later stages (:meth:`Plan.then`).
    answers
        As for :func:`judgestats.design.collect`.

    Returns
    -------
    Plan
        The calls of the next stage, with what was said before filled in. The id of a call depends on the reply before
        it. Calls that come after one without a usable reply (failed, refused, empty, cut off; no rubric with all its
        dimensions, where they score by it) are left out;
        :meth:`Plan.check` of the result counts them. ``plan + next_stage(plan, answers)`` is the plan of both stages,
        for :func:`judgestats.design.collect`.

    Raises
    ------
    DesignError
        If there is no later stage, or no answer to go on from.

    See Also
    --------
    collect : Answers joined to their plan.
    remaining : Calls without an answer.

    Examples
    --------
    >>> import pandas as pd
    >>> from judgestats.design import Prompt, build, collect
    >>> pairs = pd.DataFrame({"item": ["1"], "first": ["u"], "second": ["v"], "first_text": ["Hello."],
    ...                       "second_text": ["Good day."], "task_text": ["Say hello."]})
    >>> again = Prompt("again", "Look at both once more. A, B or tie?", dialogue=True)
    >>> plan = build(pairs, judges="m", orders="as given").then(again)
    >>> first = [{"call": plan.calls["call"][0], "answer": "A"}]
    >>> later = next_stage(plan, first)
    >>> second = [{"call": later.calls["call"][0], "answer": "tie"}]
    >>> collect(plan + later, first + second)[["stage", "choice"]].values.tolist()
    [[1, 'first'], [2, 'tie']]
    """
    plan = opened(plan)
    if not goes_on(plan):
        raise DesignError("The plan has no later stage. Collect its answers with collect().")
    stage = _next(plan, matched(plan, answers).usable(plan))
    if stage is None:
        later = f"None of the {len(plan.later):,} later calls" if len(plan.later) else "No further call"
        raise DesignError(f"{later} can be asked: no call before them has a usable answer.")
    return stage


def requests(plan: Plan | str | Path, answers: Answers) -> tuple[Plan | None, Plan]:
    """Return what is to be asked next: the calls of the next stage, and those that failed or never came back.

    Parameters
    ----------
    plan, answers
        As for :func:`next_stage`.

    Returns
    -------
    stage : Plan or None
        As :func:`next_stage` returns it; None if no call can go on.
    rest : Plan
        As :func:`remaining` returns it.

    See Also
    --------
    collect : Answers joined to their plan.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> plan = vacuum("my-model", calls=6)
    >>> stage, rest = requests(plan, [{"call": plan.calls["call"][0], "answer": "tie"}])
    >>> stage is None, len(rest)
    (True, 5)
    """
    plan = opened(plan)
    return requests_after(plan, matched(plan, answers))


def requests_after(plan: Plan, said: MatchedReplies) -> tuple[Plan | None, Plan]:
    """What is to be asked next, after these answers."""
    return (_next(plan, said.usable(plan)) if goes_on(plan) else None), said.left(plan)


def _next(plan: Plan, replies: Mapping[str, str]) -> Plan | None:
    """The calls of the next stage that have a usable reply to go on from."""
    if WRITES in plan.about:
        return possible_calls(plan, replies)
    if not (ready := plan.later["after"].isin(set(replies) - set(rubric_faults(plan, replies)))).any():
        return None
    rows = plan.later[ready].reset_index(drop=True)
    texts = dict(plan.texts)
    keys: dict[str, str] = {}
    earlier: dict[str, str] = {}
    goes_on = set(rows.loc[rows["prompt"].map({n: p.dialogue for n, p in plan.prompts.items()}), "after"])
    for call, system, turns, user in plan.rows(plan.calls[CALL].isin(rows["after"])).dialogues():
        keys[call] = digest(replies[call])
        texts[keys[call]] = replies[call]
        if call in goes_on:
            head = [{"role": "system", "content": system}] if system else []
            talk = [{"role": "user", "content": user}, {"role": "assistant", "content": replies[call]}]
            text = json.dumps([*head, *turns, *talk], ensure_ascii=False)
            earlier[call] = digest(text)
            texts[earlier[call]] = text
    before = plan.calls.set_index(CALL).loc[rows["after"]].reset_index(drop=True)
    columns = {c: before[c] for c in before if c.startswith("answer_") and c.endswith("_text")}
    for stage in rows["stage"].unique():
        column = f"answer_{stage - 1}_text"
        said = rows["after"].map(keys).where(rows["stage"] == stage)
        columns[column] = said.where(said.notna(), columns.get(column))
    if earlier:
        columns["earlier_text"] = rows["after"].map(earlier)
    rows = rows.assign(**columns)
    rows[CALL] = [digest(*ids) for ids in zip(rows["planned"], rows["after"], rows["after"].map(keys), strict=True)]
    rest = plan.later[~ready]
    ids = rest["after"].map(dict(zip(rows["planned"], rows[CALL], strict=True)))
    rest = rest.assign(after=ids.fillna(rest["after"]))
    later = following(rest, set(rows[CALL]))
    about = {k: v for k, v in plan.about.items() if k != UNANSWERED}
    if len(rest) > len(later):
        about[UNANSWERED] = len(rest) - len(later)
    return replace(plan, calls=rows, texts=texts, later=later, about=about)
