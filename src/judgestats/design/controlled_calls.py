"""Calls on controlled pairs, of texts that are there or that are first written (debiasing, Sec 3.4 and App A)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.defaults import SEED
from judgestats.design.pair_files import PAIR_SOURCES, read_controlled
from judgestats.design.pair_kinds import EVERY_KIND, controlled_pairs, possible_pairs
from judgestats.design.plans import CALL, WITHOUT_TEXT, WRITES, Plan, build, need_columns, swapped
from judgestats.design.strategy_calls import TEMPERATURE
from judgestats.design.strategy_calls import strategies as plan_strategies
from judgestats.design.text_generation import REWRITTEN, generations
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.typing import Record


def controlled(
    judges: str | Sequence[str],
    pairs: pd.DataFrame | str | Path,
    *,
    strategies: Sequence[str] = ("B0",),
    panel: Sequence[str] = (),
    temperature: float = TEMPERATURE,
) -> Plan:
    """Plan the calls on controlled pairs: which biases a judge has, under one strategy or several.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    pairs : pandas.DataFrame or path
        As :func:`controlled_pairs` or :func:`read_controlled` returns them, or a file for the latter.
    strategies, panel, temperature
        As in :func:`strategies`.

    Returns
    -------
    Plan
        With ``bias``, ``target`` and the attributes of :func:`controlled_pairs`, for the measures of bias:

        - ``bias_score(calls)``: expansion, style (with `average` ``"position"`` where mirrored), and truncation;
        - ``verbosity_bias(calls)``: expansion and truncation together;
        - ``bias_score(calls[calls["bias"] == "position"], target="first")``;
        - ``bias_score(calls[calls["bias"] == "model_origin"], family={judge: family})``.

    Raises
    ------
    DesignError
        As :func:`strategies`.

    See Also
    --------
    controlled_pairs : Pairs whose difference is known.
    judgestats.bias_score : Signed bias towards a target.

    Notes
    -----
    debiasing, App A: one order, as in the table. The original style and model pairs are in one order only, so that a
    preference for a slot is part of their scores; the extension corrects that, and ``Plan.check`` says so.

    Examples
    --------
    >>> from judgestats.design import controlled_pairs
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "complete",
    ...                       "text": ["Boil water. Add the leaves. Wait for five minutes."]})
    >>> pairs = controlled_pairs(texts, kinds=["length_truncated"])
    >>> plan = controlled("g", pairs, strategies=["B0", "S1"])                     # S1 asks in both orders
    >>> plan.calls[["strategy", "first", "second"]].to_dict("split")["data"]
    [['B0', 'a', 'b'], ['S1', 'a', 'b'], ['S1', 'b', 'a']]
    """
    table = read_controlled(pairs) if isinstance(pairs, str | Path) else pairs
    need_columns(table, ("bias_type", "bias", "first", "second", "first_text"), "table of pairs", PAIR_SOURCES)
    table = table.drop(columns=["note"], errors="ignore")
    return plan_strategies(judges, table, strategies=strategies, panel=panel, temperature=temperature)


@checked_arguments
def annotation_form(
    annotators: Sequence[str], pairs: pd.DataFrame, *, n: int = 30, bias_type: str = "style", seed: int = SEED
) -> Plan:
    """Plan a blinded form for people: do they share the preference of the judges?

    Parameters
    ----------
    annotators : sequence of str
        Who is asked; all see the same pairs.
    pairs : pandas.DataFrame
        As :func:`controlled_pairs` returns them.
    n : int
        Number of pairs, drawn at random, spread over the topics.
    bias_type : str
        Their kind.
    seed : int
        Seed of the draw; with the annotator's name, of the slots and of the order of the pairs, for each on its own.

    Returns
    -------
    Plan
        With ``rater_type`` = ``human``. ``export(plan, folder, "csv")`` writes the form; a column ``answer`` with A or
        B is added to it, and :func:`collect` reads it. Joined to the calls of judges, it gives
        ``preference_gap(calls, humans="rater_type=human")``.

    Raises
    ------
    DesignError
        If there are fewer pairs, or two annotators have one name.

    See Also
    --------
    controlled : Calls on controlled pairs.
    judgestats.preference_gap : Preference beyond that of people.

    Notes
    -----
    debiasing, App G: 30 style pairs, slots and order drawn for each annotator. The id of a call says nothing of the
    slot. The preference has no ties.

    Examples
    --------
    >>> from judgestats.design import controlled_pairs
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "markdown",
    ...                       "text": ["**Tea is simple.**\\n\\n- Boil water.\\n- Add the leaves."]})
    >>> form = annotation_form(["Ann", "Bob"], controlled_pairs(texts, kinds=["style"]), n=1)
    >>> form.calls[["judge", "rater_type", "target"]].to_dict("split")["data"]
    [['Ann', 'human', 'a'], ['Bob', 'human', 'a']]
    """
    return reduce(add, forms(pairs, drawn_pairs(annotators, pairs, n, bias_type, seed)))


def drawn_pairs(
    annotators: str | Sequence[str],
    pairs: pd.DataFrame,
    n: int | None = None,
    bias_type: str = "style",
    seed: int = SEED,
) -> dict[str, pd.Series]:
    """For each annotator the index of the pairs drawn, in the order of the form, and whether slots are exchanged."""
    people = [annotators] if isinstance(annotators, str) else list(annotators)
    if not people or len(set(people)) != len(people):
        raise DesignError(f"annotators={people} are not different names. Give one or more.")
    need_columns(pairs, ("bias_type", "topic"), "table of pairs", PAIR_SOURCES)
    of_kind = pairs[pairs["bias_type"] == bias_type]
    n = max(min(30, len(of_kind)), 1) if n is None else n
    if not 1 <= n <= len(of_kind):
        raise DesignError(f"n={n} pairs of kind {bias_type!r} cannot be drawn from {len(of_kind)}.")
    shuffled = of_kind.iloc[generator(seed, ("form",)).permutation(len(of_kind))]
    turn = shuffled.groupby("topic", sort=False, dropna=False).cumcount()
    places = turn.sort_values(kind="stable").index[:n]
    chosen = {}
    for name in people:
        own = generator(seed, ("form", name))
        exchanged = pd.Series(own.random(n) < 0.5, places)
        chosen[name] = pd.concat([exchanged[~exchanged], exchanged[exchanged]]).iloc[own.permutation(n)]
    return chosen


def forms(pairs: pd.DataFrame, chosen: Mapping[str, pd.Series]) -> list[Plan]:
    """The forms of the pairs drawn that are there."""
    table = pairs.drop(columns=["note", "gold", "better"], errors="ignore").assign(rater_type="human")
    plans = []
    for name, exchanged in chosen.items():
        there = exchanged[exchanged.index.isin(table.index)]
        if len(there):
            rows = list(zip(there, there.index, strict=True))
            form = pd.concat([table, swapped(table)], keys=[False, True]).loc[rows]
            about = {"form": {"n": len(exchanged)}}
            plans.append(build(form, judges=name, prompts="pairwise_people", orders="as given", about=about))
    return plans


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
    later = reduce(add, [controlled(judges, pairs, **options), *_drawn_forms(annotators, texts, pairs)])
    recipe = {"judges": [judges] if isinstance(judges, str) else list(judges), "kinds": kinds, "options": options}
    recipe["annotators"] = [annotators] if isinstance(annotators, str) else list(annotators)
    about = {**plan.about, WRITES: {**recipe, "to come": len(base) + len(later)}}
    return replace(plan, prompts={**plan.prompts, **later.prompts}, about=about)


def _drawn_forms(annotators: str | Sequence[str], texts: pd.DataFrame, pairs: pd.DataFrame) -> list[Plan]:
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
    written = pd.Series([replies.get(c, "").strip() or None for c in calls[CALL]], calls.index, dtype=object)
    texts = calls.assign(text=written, task_text=calls["task_text"].map(dict(plan.texts)))
    parts = []
    ready = texts[texts["text"].notna() & (texts["role"] == REWRITTEN["expanded"])]
    if len(ready):
        parts.append(generations(ready["judge"].iloc[0], written=ready))
    pairs, faults = possible_pairs(texts, recipe["kinds"])
    if len(pairs):
        parts.append(controlled(recipe["judges"], pairs, **recipe["options"]))
        parts += _drawn_forms(recipe.get("annotators", ()), texts, pairs)
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
