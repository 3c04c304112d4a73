"""Controlled pairs of texts that are first written, stage by stage (debiasing, App A): :func:`written_pairs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import pandas as pd

from judgestats.design.controlled import controlled, drawn_pairs, forms
from judgestats.design.pair_kinds import EVERY_KIND, controlled_pairs, possible_pairs
from judgestats.design.plans import CALL, WITHOUT_TEXT, WRITES, Plan
from judgestats.design.text_generation import REWRITTEN, generations
from judgestats.typing import Record

#: A text that can be cut off, and has Markdown to take out.
_TEXT = "**One sentence.**\n\n- Another one.\n- A third one."


def written_pairs(
    judges: str | Sequence[str],
    writer: str | Sequence[str],
    models: Sequence[str],
    annotators: str | Sequence[str],
    options: Record,
) -> Plan:
    """The texts that controlled pairs need; their comparisons come after them, and take `options`."""
    plan = generations(writer, models=models)
    kinds = [k for k in EVERY_KIND if "origin" not in k or len(models) > (2 if k.endswith("rr") else 1)]
    base = plan.calls[plan.calls["role"] == "base"]
    texts = pd.concat([plan.calls, base.assign(role="expanded")]).assign(text=_TEXT, task_text="")
    pairs = controlled_pairs(texts, kinds=kinds)
    later = reduce(add, [controlled(judges, pairs, **options), *_forms(annotators, texts, pairs)])
    recipe = {"judges": [judges] if isinstance(judges, str) else list(judges), "kinds": kinds, "options": options}
    recipe["annotators"] = [annotators] if isinstance(annotators, str) else list(annotators)
    about = {**plan.about, WRITES: {**recipe, "to come": len(base) + len(later)}}
    return replace(plan, prompts={**plan.prompts, **later.prompts}, about=about)


def _forms(annotators: str | Sequence[str], texts: pd.DataFrame, pairs: pd.DataFrame) -> list[Plan]:
    """The forms of people, of those style pairs that are there of the ones drawn among all."""
    if not annotators:
        return []
    every = controlled_pairs(texts.assign(text=_TEXT), kinds=["style"])
    chosen = drawn_pairs(annotators, every.set_axis(every["item"].to_numpy()))
    return forms(pairs.set_axis(pairs["item"].to_numpy()), chosen)


def possible_calls(plan: Plan, replies: Mapping[str, str]) -> Plan | None:
    """The calls that the texts written so far allow and that were not planned before; None if there is no such call."""
    recipe = plan.about[WRITES]
    calls = plan.calls[plan.calls["role"].notna()].drop(columns=["stage", "chain"], errors="ignore")
    texts = calls.assign(
        text=pd.Series([replies.get(c, "").strip() or None for c in calls[CALL]], calls.index, dtype=object),
        task_text=calls["task_text"].map(dict(plan.texts)),
    )
    parts = []
    ready = texts[texts["text"].notna() & (texts["role"] == REWRITTEN["expanded"])]
    if len(ready):
        parts.append(generations(ready["judge"].iloc[0], written=ready))
    pairs, faults = possible_pairs(texts, recipe["kinds"])
    if len(pairs):
        parts.append(controlled(recipe["judges"], pairs, **recipe["options"]))
        parts += _forms(recipe.get("annotators", ()), texts, pairs)
    if not parts:
        return None
    both = reduce(add, parts)
    new = both.rows(~both.calls[CALL].isin(plan.calls[CALL]))
    if not len(new):
        return None
    stage = 2 + new.calls["bias"].eq("expansion") if "bias" in new.calls else 2
    about = {**plan.about, WITHOUT_TEXT: faults}
    rows = new.calls.assign(stage=stage, chain=new.calls["prompt"])
    return Plan(rows, new.texts, {**plan.prompts, **new.prompts}, about)
