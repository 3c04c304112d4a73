"""Answers of simulated judges to a plan, and their true probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.defaults import SEED
from judgestats.design.judges import Judge, named_judges
from judgestats.design.simulated_choices import Pairs, chances, signal_effects
from judgestats.design.simulated_questions import Questions, RowIndex, questions
from judgestats.design.simulated_scores import effect_sd, expected, means, on_scale, score_effects, system_quality
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.schema.columns import CHOICES
from judgestats.schema.validation import raise_faults
from judgestats.typing import Floats, Record

Judges = Judge | Sequence[Judge] | Mapping[str, Judge | Mapping[str, Any]]
#: Quality of candidates or systems, or the sd of those drawn.
Quality = Mapping[str, float] | float


def simulate(
    plan: IntoFrame,
    judges: Judges,
    seed: int | np.random.Generator = SEED,
    *,
    replicates: int = 1,
    quality: Quality = 1.0,
) -> pd.DataFrame:
    """Let judges with planted properties answer a plan.

    Parameters
    ----------
    plan : frame
        A canonical frame without answers, in any engine. Preferences: ``item``, ``first``, ``second``; ratings:
        ``item``, ``system``; and any further column, whether or not :class:`Judge` uses it. With a column ``judge``
        each judge answers its own rows, without one every judge answers every row.
    judges : Judge, list of Judge, or mapping
        ``[Judge("g", dark_current=0.2)]``, or ``{"g": {"dark_current": 0.2}}``.
    seed : int or numpy.random.Generator
        Seed of the answers. It gives the same answers whatever the order of the rows and of the judges, and whichever
        other judges there are.
    replicates : int
        Ask each row so often; the repeats are numbered in ``replicate``.
    quality : mapping of str to float, or float
        Quality of each candidate, or system. A plan of ratings may have it in a column ``quality``, one of preferences
        in ``quality_first`` and ``quality_second``. A float is the sd of qualities that are drawn for the systems of
        ratings; candidates of preferences have none then.

    Returns
    -------
    pandas.DataFrame
        The plan with ``judge`` and ``choice`` (or ``score``): a valid canonical frame. Judges are in the order of their
        names, and rows in the order of the plan; a plan with a column ``judge`` keeps its order.

    Raises
    ------
    DesignError
        If the plan has answers already, a property is unknown, or plan and judges name different judges.
    SchemaError
        If this is not a plan, or has faults.

    See Also
    --------
    answer_probabilities : The probabilities that the answers are drawn from.

    Examples
    --------
    >>> plan = pd.DataFrame({"item": ["1", "1"], "first": ["a", "b"], "second": ["b", "a"], "better": "a"})
    >>> simulate(plan, [Judge("g", sensitivity=9.0), Judge("h", sensitivity=0.0, slot_bias=9.0)])
      judge item first second better  choice
    0     g    1     a      b      a   first
    1     g    1     b      a      a  second
    2     h    1     a      b      a   first
    3     h    1     b      a      a   first
    >>> simulate(plan, {"g": {"slot_bais": 1.0}})
    Traceback (most recent call last):
    judgestats.errors.DesignError: Judge 'g' names 'slot_bais', ... Did you mean 'slot_bias'?
    """
    by_name = named_judges(judges)
    rows, rows_of = questions(plan, by_name, replicates)
    seed = _number(seed)
    if rows.kind == "preferences":
        result = _assembled(rows, by_name, rows_of, partial(_choices, Pairs(rows, quality), seed))
        codes = result.pop("choice").to_numpy(dtype=np.int8)
        result["choice"] = pd.Categorical.from_codes(codes, categories=list(CHOICES))
    else:
        by_row, _ = system_quality(rows, quality, seed)
        result = _assembled(rows, by_name, rows_of, partial(_scores, rows, by_row, seed))
    raise_faults(nw.from_native(result), rows.kind)
    return result


def answer_probabilities(
    plan: IntoFrame, judges: Judges, *, seed: int | None = None, replicates: int = 1, quality: Quality = 1.0
) -> pd.DataFrame:
    """Give the true probability of each answer, from which the true value of a measure can be computed.

    Parameters
    ----------
    plan, judges, replicates, quality
        As for :func:`simulate`.
    seed : int or None
        None: probabilities averaged over everything that is drawn (numerical integration), as for a new sample of
        items. They are those of one call: two calls of one item share what was drawn for it, and are not independent.
        An int: probabilities given the effects that ``simulate(..., seed)`` draws. Calls are then independent, so that
        a pair is in a class with the product of two of them.

    Returns
    -------
    pandas.DataFrame
        Rows as :func:`simulate` gives them. For preferences ``p_first``, ``p_second``, ``p_tie``, ``p_abstain`` and
        ``p_invalid``, which sum to 1. For ratings ``mean`` and ``sd`` of a score that is there, on the scale with its
        rounding and limits, and ``p_missing``.

    Raises
    ------
    DesignError, SchemaError
        As :func:`simulate`.

    See Also
    --------
    simulate : Judges with planted properties.

    Examples
    --------
    >>> plan = pd.DataFrame({"item": ["1", "2"], "first": ["a", "b"], "second": ["b", "a"], "better": "a"})
    >>> g = Judge("g", sensitivity=2.0, slot_bias=0.5, tie_criterion=1.0)
    >>> answer_probabilities(plan, g)[["first", "p_first", "p_second", "p_tie"]].round(4)
      first  p_first  p_second   p_tie
    0     a   0.8176    0.0293  0.1531
    1     b   0.0759    0.6225  0.3017
    """
    by_name = named_judges(judges)
    seed = None if seed is None else _number(seed)
    rows, rows_of = questions(plan, by_name, replicates)
    if rows.kind == "ratings":
        by_row = system_quality(rows, quality, seed)
        return _assembled(rows, by_name, rows_of, partial(_expected_scores, rows, by_row, seed))
    return _assembled(rows, by_name, rows_of, partial(_probabilities, Pairs(rows, quality), seed))


def _number(seed: int | np.random.Generator | None) -> int:
    """The seed as an integer, shared by all draws of one call."""
    if seed is None or isinstance(seed, np.random.Generator):
        return int(np.random.default_rng(seed).integers(2**63))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DesignError(f"seed={seed!r} is not possible. Give a whole number, 0 or more, or a numpy Generator.")
    return int(seed)


def _chances(pairs: Pairs, judge: Judge, rows: RowIndex, seed: int | None) -> Floats:
    """Probabilities of the answers to `rows`, in their order."""
    cases = list(pairs.plan.cases(judge, rows))
    effects = None if seed is None else signal_effects(pairs, judge.name, seed, [case for case, _ in cases])
    place = np.empty(len(pairs.plan), dtype=np.intp)
    place[rows] = np.arange(rows.size)
    result = np.empty((rows.size, len(CHOICES)))
    for case, chosen in cases:
        result[place[chosen]] = chances(pairs, case, chosen, effects)
    return result


def _probabilities(pairs: Pairs, seed: int | None, judge: Judge, rows: RowIndex) -> Record:
    table = _chances(pairs, judge, rows, seed)
    return {f"p_{choice}": table[:, i] for i, choice in enumerate(CHOICES)}


def _choices(pairs: Pairs, seed: int, judge: Judge, rows: RowIndex) -> Record:
    u = generator(seed, ("answers", judge.name)).random(rows.size)
    upto = np.cumsum(_chances(pairs, judge, rows, seed), axis=1)[:, :-1]
    return {"choice": (u[:, None] >= upto).sum(axis=1)}


def _scores(plan: Questions, by_row: Floats, seed: int, judge: Judge, rows: RowIndex) -> Record:
    rng = generator(seed, ("answers", judge.name))
    values, noise, lost = (np.empty(len(plan)) for _ in range(3))
    noise[rows], lost[rows] = rng.standard_normal(rows.size), rng.random(rows.size)
    effects = score_effects(plan, judge.name, seed)
    for case, chosen in plan.cases(judge, rows):
        mean = means(plan, case, chosen, by_row, effects)
        scores = on_scale(case, mean + case.noise * noise[chosen])
        values[chosen] = np.where(lost[chosen] < case.invalid, np.nan, scores)
    return {"score": values[rows]}


def _expected_scores(
    plan: Questions, quality: tuple[Floats, float], seed: int | None, judge: Judge, rows: RowIndex
) -> Record:
    by_row, unknown = quality
    mean, sd, missing = (np.empty(len(plan)) for _ in range(3))
    effects = None if seed is None else score_effects(plan, judge.name, seed)
    for case, chosen in plan.cases(judge, rows):
        effects_sd = effect_sd(case, unknown) if seed is None else 0.0
        before = means(plan, case, chosen, by_row, effects)
        mean[chosen], sd[chosen] = expected(case, before, float(np.hypot(case.noise, effects_sd)))
        missing[chosen] = case.invalid
    return {"mean": mean[rows], "sd": sd[rows], "p_missing": missing[rows]}


def _assembled(
    plan: Questions,
    judges: Mapping[str, Judge],
    rows_of: Mapping[str, RowIndex],
    answer: Callable[[Judge, RowIndex], Record],
) -> pd.DataFrame:
    """The plan and its answers side by side, a block per judge where the plan names none."""
    n, blocks = len(plan), 1 if "judge" in plan else len(judges)
    columns: dict[str, np.ndarray] = {}
    for i, (name, judge) in enumerate(judges.items()):
        for column, values in answer(judge, rows_of[name]).items():
            place = rows_of[name] + n * (i if blocks > 1 else 0)
            columns.setdefault(column, np.empty(n * blocks, dtype=values.dtype))[place] = values
    table = pd.concat([plan.table] * blocks, ignore_index=True)
    if "judge" not in plan:
        names = pd.Categorical.from_codes(np.repeat(np.arange(blocks), n), list(judges))
        table.insert(0, "judge", names.astype("str"))
    return table.assign(**columns)
