"""Answers of judges with planted properties to a plan, and their true probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.design import scores, signals
from judgestats.design.judges import Judge, named_judges
from judgestats.design.questions import Floats, Questions, questions
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.schema.columns import CHOICES
from judgestats.schema.validation import raise_faults

#: Judges, in each way they may be given.
Judges = Judge | Sequence[Judge] | Mapping[str, Judge | Mapping[str, Any]]
#: Quality of candidates or systems, or the sd of those drawn.
Quality = Mapping[str, float] | float


def simulate(
    plan: Any, judges: Judges, seed: int | np.random.Generator = 0, *, replicates: int = 1, quality: Quality = 1.0
) -> pd.DataFrame:
    """Let judges with planted properties answer a plan.

    Parameters
    ----------
    plan : frame
        A canonical frame without answers, in any engine. Preferences: ``item``, ``first``, ``second``; ratings:
        ``item``, ``system``; and any other column that :class:`Judge` knows of, or none does. With a column ``judge``
        each judge answers its own rows, without one every judge answers every row.
    judges : Judge, list of Judge, or mapping
        ``[Judge("g", dark_current=0.2)]``, or ``{"g": {"dark_current": 0.2}}``.
    seed : int or numpy.random.Generator
        The same seed gives the same answers, whatever the order of the rows and of the judges, and whichever other
        judges there are.
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
        If the plan has answers already, a property is unknown, or plan and judges name different people.
    SchemaError
        If the plan is none, or has faults.

    See Also
    --------
    answer_probabilities : What the answers are drawn from.

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
    known = named_judges(judges)
    asked, rows_of = questions(plan, known, replicates)
    seed = _number(seed)
    answer = _choices if asked.kind == "preferences" else _scores
    column = "choice" if asked.kind == "preferences" else "score"
    answers = answer(asked, known, rows_of, seed, quality)
    result = _assembled(asked, answers)
    values = result.pop(column)
    if asked.kind == "preferences":
        values = pd.Categorical.from_codes(values.to_numpy(dtype=np.int8), categories=list(CHOICES))
    result[column] = values
    raise_faults(nw.from_native(result), asked.kind)
    return result


def answer_probabilities(
    plan: Any, judges: Judges, *, seed: int | None = None, replicates: int = 1, quality: Quality = 1.0
) -> pd.DataFrame:
    """Give the true probability of each answer, from which the true value of a measure can be reckoned.

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

    Examples
    --------
    >>> plan = pd.DataFrame({"item": ["1", "2"], "first": ["a", "b"], "second": ["b", "a"], "better": "a"})
    >>> g = Judge("g", sensitivity=2.0, slot_bias=0.5, tie_criterion=1.0)
    >>> answer_probabilities(plan, g)[["first", "p_first", "p_second", "p_tie"]].round(4)
      first  p_first  p_second   p_tie
    0     a   0.8176    0.0293  0.1531
    1     b   0.0759    0.6225  0.3017
    """
    known = named_judges(judges)
    seed = None if seed is None else _number(seed)
    asked, rows_of = questions(plan, known, replicates)
    if asked.kind == "ratings":
        return _assembled(asked, _expected_scores(asked, known, rows_of, seed, quality))
    pairs = signals.Pairs(asked, quality if isinstance(quality, Mapping) else None)
    answers = {}
    for name, judge in known.items():
        table = np.full((len(asked), len(CHOICES)), np.nan)
        table[rows_of[name]] = _chances(pairs, judge, rows_of[name], seed)
        answers[name] = {f"p_{c}": table[rows_of[name], i] for i, c in enumerate(CHOICES)}
    return _assembled(asked, {name: (rows_of[name], columns) for name, columns in answers.items()})


def _number(seed: int | np.random.Generator | None) -> int:
    """A seed as a number: all draws of one call share it."""
    if seed is None or isinstance(seed, np.random.Generator):
        return int(np.random.default_rng(seed).integers(2**63))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DesignError(f"seed={seed!r} is not possible. Give a whole number, 0 or more, or a numpy Generator.")
    return int(seed)


Answers = dict[str, tuple[NDArray[np.intp], dict[str, Any]]]


def _chances(pairs: signals.Pairs, judge: Judge, rows: NDArray[np.intp], seed: int | None) -> Floats:
    """Probabilities of the answers to `rows`, in their order."""
    effects = None if seed is None else signals.drawn_effects(pairs, judge.name, seed)
    place = np.empty(len(pairs.asked), dtype=np.intp)
    place[rows] = np.arange(rows.size)
    result = np.empty((rows.size, len(CHOICES)))
    for case, chosen in pairs.asked.cases(judge, rows):
        result[place[chosen]] = signals.chances(pairs, case, chosen, effects)
    return result


def _choices(
    asked: Questions, judges: Mapping[str, Judge], rows_of: Mapping[str, Any], seed: int, quality: Quality
) -> Answers:
    pairs = signals.Pairs(asked, quality if isinstance(quality, Mapping) else None)
    answers: Answers = {}
    for name, judge in judges.items():
        rows = rows_of[name]
        u = generator(seed, ("answers", name)).random(rows.size)
        upto = np.cumsum(_chances(pairs, judge, rows, seed), axis=1)[:, :-1]
        answers[name] = rows, {"choice": (u[:, None] >= upto).sum(axis=1)}
    return answers


def _scores(
    asked: Questions, judges: Mapping[str, Judge], rows_of: Mapping[str, Any], seed: int, quality: Quality
) -> Answers:
    worth, _ = scores.system_quality(asked, quality, seed)
    answers: Answers = {}
    for name, judge in judges.items():
        rows = rows_of[name]
        rng = generator(seed, ("answers", name))
        values = np.empty(len(asked))
        noise, lost = np.empty(len(asked)), np.empty(len(asked))
        noise[rows], lost[rows] = rng.standard_normal(rows.size), rng.random(rows.size)
        effects = scores.drawn_effects(asked, name, seed)
        for case, chosen in asked.cases(judge, rows):
            mean = scores.means(asked, case, chosen, worth, effects)
            given = scores.on_scale(case, mean + case.noise * noise[chosen])
            values[chosen] = np.where(lost[chosen] < case.invalid, np.nan, given)
        answers[name] = rows, {"score": values[rows]}
    return answers


def _expected_scores(
    asked: Questions, judges: Mapping[str, Judge], rows_of: Mapping[str, Any], seed: int | None, quality: Quality
) -> Answers:
    worth, unknown = scores.system_quality(asked, quality, seed)
    answers: Answers = {}
    for name, judge in judges.items():
        rows = rows_of[name]
        columns = {c: np.empty(len(asked)) for c in ("mean", "sd", "p_missing")}
        effects = None if seed is None else scores.drawn_effects(asked, name, seed)
        for case, chosen in asked.cases(judge, rows):
            mean = scores.means(asked, case, chosen, worth, effects)
            drawn = scores.effect_sd(case, unknown) if seed is None else 0.0
            columns["mean"][chosen], columns["sd"][chosen] = scores.expected(
                case, mean, float(np.hypot(case.noise, drawn))
            )
            columns["p_missing"][chosen] = case.invalid
        answers[name] = rows, {c: values[rows] for c, values in columns.items()}
    return answers


def _assembled(asked: Questions, answers: Answers) -> pd.DataFrame:
    """Put the plan and its answers side by side, a block a judge where the plan names none."""
    if "judge" in asked:
        columns: dict[str, Any] = {}
        for rows, given in answers.values():
            for column, values in given.items():
                columns.setdefault(column, np.empty(len(asked), dtype=values.dtype))[rows] = values
        return asked.table.assign(**columns)
    names = list(answers)
    result = pd.concat([asked.table] * len(names), ignore_index=True) if len(names) > 1 else asked.table.copy()
    result.insert(
        0, "judge", pd.Categorical.from_codes(np.repeat(np.arange(len(names)), len(asked)), names).astype("str")
    )
    for column in answers[names[0]][1]:
        parts = []
        for rows, given in answers.values():
            part = np.empty(len(asked), dtype=given[column].dtype)
            part[rows] = given[column]
            parts.append(part)
        result[column] = np.concatenate(parts)
    return result
