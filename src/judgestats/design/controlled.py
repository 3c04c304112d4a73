"""Controlled pairs for position, length, style and model origin (debiasing, Sec 3.4 and App A): :func:`controlled`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd

from judgestats.defaults import SEED
from judgestats.design.pair_files import PAIR_SOURCES, read_controlled
from judgestats.design.plans import Plan, build, need_columns, swapped
from judgestats.design.strategies import TEMPERATURE
from judgestats.design.strategies import strategies as plan_strategies
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator


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
        Of the draw; with the annotator's name, of the slots and of the order of the pairs, for each on its own.

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
    """For each annotator the index of the pairs drawn (by default 30, or all), in the order of the form, and whether
    their slots are exchanged.
    """
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
