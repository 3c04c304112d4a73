"""Rankings of several responses at once: their plan, and the pairs that are in the replies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.defaults import SEED
from judgestats.design.plans import Plan, build, need_columns, opened_table, seed_noted
from judgestats.design.prompt_templates import Prompt
from judgestats.design.reply_contents import contents, explanation
from judgestats.design.reply_schemas import schema_faults
from judgestats.design.runner_replies import Reply
from judgestats.errors import DesignError, choose
from judgestats.ingest.replies import parse_verdicts
from judgestats.kernels.resampling import generator
from judgestats.typing import Record

#: Ids of the candidates of a call in the order shown, as JSON.
CANDIDATES = "candidates"
#: A list of numbers, or numbers between signs of order, on a line of its own or after a colon.
_LISTED = re.compile(
    r"(?:^|[:=]\s?)[\s*`]{0,4}(\[[\d\s,\[\]]{1,400}\]|\d{1,3}(?:\s?[>=]\s?\d{1,3}){1,100})[\s*`.]{0,4}$", re.M
)


@checked_arguments
def rankings(
    judges: str | Sequence[str],
    responses: pd.DataFrame | str | Path,
    *,
    orders: str = "random",
    prompts: str | Path | Prompt = "ranking",
    temperature: float | Sequence[float] = 0.0,
    replicates: int = 1,
    seed: int | np.random.Generator | None = SEED,
) -> Plan:
    """Plan rankings: each judge sees all responses to an item at once, and ranks them.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    responses : pandas.DataFrame or path
        A table, or a file with one: ``item``, ``system``, ``task_text``, ``response_text``; two systems or more for
        each item. Columns that are the same for all responses of an item are design columns.
    orders : {'random', 'rotated', 'as given'}
        One order of each item, drawn at random, the same for all judges; as many as there are responses, in which each
        stands once in each place (``replicate`` numbers them); or that of the table.
    prompts, temperature, replicates
        As in :func:`judgestats.design.build`. The prompt shows ``{{ responses }}``, with their numbers.
    seed : int, Generator or None
        Seed of random orders.

    Returns
    -------
    Plan
        With ``candidates``, their ids in the order shown. :func:`collect` opens each reply to the pairs that are in it:
        a row each, ``first`` shown before ``second``, with ``rank_first`` and ``rank_second``; a reply that does not
        rank every response once has no valid pair. The pairs of a reply share a call.

    Raises
    ------
    DesignError
        If a column is missing, an item has one response only, or a system twice.

    See Also
    --------
    build : Pairs, asked one by one.
    judgestats.rank_systems : Strengths of systems from pairs.

    Notes
    -----
    rationalization, Sec III: rankings of a set of candidates, of which pairs are the smallest case.

    Examples
    --------
    >>> texts = pd.DataFrame({"item": "1", "system": ["a", "b", "c"], "task_text": "Say hello.",
    ...                       "response_text": ["Hello.", "Good day.", "Hm."]})
    >>> plan = rankings("m", texts, orders="as given")
    >>> from judgestats.design import collect
    >>> reply = '{"ranking": [2, 1, 3], "explanation": "So."}'
    >>> pairs = collect(plan, [{"call": plan.calls["call"][0], "answer": reply}])
    >>> pairs[["first", "second", "choice"]].astype(str).values.tolist()
    [['a', 'b', 'second'], ['a', 'c', 'first'], ['b', 'c', 'first']]
    """
    choose(orders, ("random", "rotated", "as given"), "orders")
    responses = opened_table(responses)
    need_columns(responses, ("item", "system", "task_text", "response_text"), "table of responses")
    rng = generator(seed, ("rankings",))
    rows: list[Record] = []
    for item, part in responses.groupby("item", sort=False):
        if len(part) < 2 or part["system"].duplicated().any():
            raise DesignError(
                f"Item {item!r} has {len(part)} responses, of {part['system'].nunique()} systems. Give two or more."
            )
        columns = part.columns.difference(["system", "response_text"], sort=False)
        shared = {c: part[c].iloc[0] for c in columns if part[c].nunique(dropna=False) == 1}
        place = rng.permutation(len(part)) if orders == "random" else np.arange(len(part))
        for turn in range(len(part) if orders == "rotated" else 1):
            arranged = part.iloc[np.roll(place, -turn)]
            texts = [f"Response {k}:\n{text}" for k, text in enumerate(arranged["response_text"], start=1)]
            ids = json.dumps(arranged["system"].astype(str).tolist())
            rows.append({**shared, "turn": turn, CANDIDATES: ids, "responses_text": "\n\n".join(texts)})
    about = {"rankings": {"orders": orders, "seed": seed_noted(seed)}}
    table = pd.DataFrame(rows)
    plan = build(table, judges=judges, prompts=prompts, temperature=temperature, replicates=replicates, about=about)
    if plan.kind != "rankings":
        raise DesignError(
            f"The prompt asks for {plan.kind}, not for a ranking. Use 'ranking', or one with frame = \"rankings\"."
        )
    turns = plan.calls["turn"].max() + 1
    calls = plan.calls.assign(replicate=plan.calls["replicate"] * turns + plan.calls["turn"]).drop(columns="turn")
    return replace(plan, calls=calls)


def ranks_in(text: str, k: int) -> list[int] | str:
    """Rank of each of `k` responses, from 1; or what is wrong with the ranking, empty where there is none."""
    several = [_groups(each["ranking"]) for each in contents(text) if "ranking" in each]
    several = several or [_groups(_listed(m[1])) for m in _LISTED.finditer(text)]
    distinct = [g for i, g in enumerate(several) if g not in several[:i]]
    if len(distinct) != 1:
        return "two rankings" if distinct else ""
    numbers = [n for group in distinct[0] for n in group]
    if sorted(numbers) != list(range(1, k + 1)):
        return f"the ranking {str(distinct[0])[:60]} does not have each of {k} responses once"
    before = np.cumsum([0, *map(len, distinct[0])])
    rank = {n: int(before[i]) + 1 for i, group in enumerate(distinct[0]) for n in group}
    return [rank[n] for n in range(1, k + 1)]


def _listed(text: str) -> object:
    """A list in brackets, or the order that signs give."""
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    return [[int(n) for n in group.split("=")] for group in text.split(">")]


def _groups(ranking: object) -> list[list[int]]:
    """Numbers of responses in the order of their places, those that share a place together."""
    groups = [g if isinstance(g, list) else [g] for g in ranking] if isinstance(ranking, list) else []
    return [[_number(n) for n in group] for group in groups]


def _number(value: object) -> int:
    """The number of a response, 0 for what is none: ``2``, ``"2"``, ``"Response 2"``."""
    match = re.fullmatch(r"\D{0,12}(\d{1,3})", str(value).strip()) if isinstance(value, int | str) else None
    return int(match[1]) if match and not isinstance(value, bool) else 0


def ranked_pairs(
    rows: pd.DataFrame, replies: Sequence[Reply], prompt: Prompt, schema: bool
) -> Iterator[tuple[int, Record]]:
    """Each pair of each call, with the number of the call's row."""
    texts = [r.text for r in replies]
    states = parse_verdicts(texts, form=lambda _: "A", finish=[r.finish for r in replies])
    for i, (row, reply) in enumerate(zip(rows.to_dict("records"), replies, strict=True)):
        ids = json.loads(str(row.pop(CANDIDATES)))
        status, note = (reply.status, reply.note) if reply.text is None else (states["status"].iloc[i], "")
        ranks = ranks_in(reply.text or "", len(ids)) if status == "ok" else ""
        if status == "ok" and isinstance(ranks, str):
            refused = parse_verdicts([reply.text])["status"].iloc[0] == "refused"
            status = "refused" if refused else "schema" if ranks.startswith("the ranking") else "parse"
            note = ranks or "no ranking"
        wrong = schema_faults(prompt.schema, reply.text) if status == "ok" and schema and reply.text else {}
        if wrong:
            status, note = "schema", next(iter(wrong.values()))
        head: Record = {"choice": "invalid", "status": status, "reply_note": note}
        tail = {"ties_allowed": prompt.ties_allowed, "rationale": explanation(reply.text or "") or None}
        for one, two in combinations(range(len(ids)), 2):
            verdict = head
            if status == "ok" and isinstance(ranks, list):
                a, b = ranks[one], ranks[two]
                choice = "tie" if a == b else "first" if a < b else "second"
                verdict = {**head, "choice": choice, "rank_first": a, "rank_second": b}
            yield i, {**row, "first": ids[one], "second": ids[two], **verdict, **tail}
