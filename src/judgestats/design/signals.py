"""What a judge with planted properties answers to a pair: the signal, and the probability of each answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from judgestats.design.judges import Judge
from judgestats.design.questions import Floats, Questions
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.kernels.resampling import generator
from judgestats.schema.columns import CHOICES

Rows = NDArray[np.intp]
_COLUMN = {name: i for i, name in enumerate(CHOICES)}


class Pairs:
    """Contents of a plan of preferences, in favour of the candidate shown first.

    Parameters
    ----------
    asked : Questions
    quality : mapping of str to float, optional
        Quality of each candidate.
    """

    def __init__(self, asked: Questions, quality: Mapping[str, float] | None = None) -> None:
        self.asked, self.quality = asked, quality
        self.vacuum = asked.text("stimulus") == "vacuum"
        if any(isinstance(x, str) for x in asked.text("ties_allowed")):
            raise SchemaError("'ties_allowed' of the plan holds text. Give true or false.")
        self.forced = np.array([x is not None and not x for x in asked.text("ties_allowed")], dtype=bool)

    @cached_property
    def better(self) -> Floats:
        """Side of the better candidate, of the gold one where none is named better."""
        better = self.asked.named("better")
        return np.where(better != 0, better, self.asked.named("gold"))

    @cached_property
    def target(self) -> Floats:
        """Side of the candidate that carries the attribute under test."""
        return self.asked.named("target")

    @cached_property
    def step(self) -> Floats:
        """Difference of quality."""
        delta = self.asked.number("delta")
        step = self.better * np.where(np.isnan(delta), 1.0, delta)
        known = self._qualities()
        result: Floats = np.where(np.isnan(known), step, known)
        return result

    def _qualities(self) -> Floats:
        if self.quality is not None:
            sides = [qualities(self.asked.text(c), self.quality) for c in ("first", "second")]
            return sides[0] - sides[1]
        return self.asked.number("quality_first") - self.asked.number("quality_second")

    @cached_property
    def longer(self) -> Floats:
        """Logarithm of the ratio of lengths, 0 where a length is not known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.asked.number("length_first") / self.asked.number("length_second"))
        result: Floats = np.where(np.isfinite(ratio), ratio, 0.0)
        return result

    def valued(self, attribute: str, value: Mapping[Any, float]) -> Floats:
        """Worth of an attribute of the first candidate minus that of the second."""
        sides = [self.asked.text(f"{attribute}_{slot}") for slot in ("first", "second")]
        one, two = (np.array([value.get(v, 0.0) for v in side], dtype=float) for side in sides)
        result: Floats = one - two
        return result

    def own(self, judge: Judge) -> Floats:
        """Side of the judge's family."""
        column = "family_first" in self.asked and "family_second" in self.asked
        sides = [self.asked.text(f"family_{s}" if column else s) == judge.own for s in ("first", "second")]
        result: Floats = sides[0].astype(float) - sides[1]
        return result

    @cached_property
    def towards(self) -> Floats:
        """Side that an effect of the content goes to."""
        return np.where(self.better != 0, self.better, self.asked.pair[2])


def qualities(names: NDArray[Any], quality: Mapping[str, float]) -> Floats:
    """Quality of each name.

    Raises
    ------
    DesignError
        If a name has none.
    """
    for name in sorted({str(n) for n in names} - {str(q) for q in quality}):
        raise DesignError(f"quality= does not have {name!r}.{suggestion(name, map(str, quality))}")
    try:
        by_name = {str(k): float(v) for k, v in quality.items()}
    except (ValueError, TypeError):
        raise DesignError(f"quality={dict(quality)!r} holds what is no number. Give a number for each name.") from None
    return np.array([by_name[str(n)] for n in names], dtype=float)


def fixed_signal(pairs: Pairs, judge: Judge) -> Floats:
    """Sum of the shifts of a judge, without what is drawn."""
    content = judge.sensitivity * pairs.step
    if judge.target_preference:
        content += judge.target_preference * pairs.target
    if judge.length_preference:
        content += judge.length_preference * pairs.longer
    if judge.self_preference:
        content += judge.self_preference * pairs.own(judge)
    if judge.label_susceptibility:
        content += judge.label_susceptibility * pairs.valued("label", {judge.favoured_label: 1.0})
    for attribute, value in judge.style.items():
        content += pairs.valued(attribute, value)
    signal: Floats = np.where(pairs.vacuum, 0.0, content) + judge.slot_bias
    return signal


def drawn_effects(pairs: Pairs, name: str, seed: int | np.random.Generator | None) -> dict[str, Floats]:
    """Standard normal effects of each row, by the property that scales them; 0 where there is no content."""
    asked = pairs.asked
    pair, n_pairs, side = asked.pair
    item, n_items = asked.groups("task", "item")
    task, n_tasks = asked.groups("task")
    signed = np.where(pairs.vacuum, 0.0, 1.0)
    shared = pairs.towards * signed
    return {
        "stable_preference": _normals(seed, ("stable", name), n_pairs)[pair] * side * signed,
        "item_difficulty": _normals(seed, ("item",), n_items)[item] * shared,
        "task_difficulty": _normals(seed, ("task",), n_tasks)[task] * shared,
    }


def _normals(seed: int | np.random.Generator | None, key: tuple[str, ...], size: int) -> Floats:
    return generator(seed, key).standard_normal(size)


def chances(pairs: Pairs, judge: Judge, rows: Rows, effects: Mapping[str, Floats] | None = None) -> Floats:
    """Probability of each answer, in the order of CHOICES.

    Parameters
    ----------
    pairs : Pairs
    judge : Judge
        As it is under one condition.
    rows : (R,) int array
        Rows it answers.
    effects : mapping of str to float array, optional
        From :func:`drawn_effects`. Without them the probabilities are averaged over what is drawn.

    Returns
    -------
    (R, 5) float array
    """
    signal = fixed_signal(pairs, judge)[rows]
    there = np.where(pairs.vacuum[rows], 0.0, 1.0)
    spread = np.zeros(rows.size)
    if effects is None:
        stable = judge.stable_preference * pairs.asked.pair[2][rows]
        shared = np.hypot(judge.item_difficulty, judge.task_difficulty) * pairs.towards[rows]
        spread = np.hypot(stable, shared) * there
    else:
        for name, values in effects.items():
            signal = signal + getattr(judge, name) * values[rows]
    band = np.where(pairs.forced[rows], 0.0, judge.tie_criterion)
    result = np.zeros((rows.size, len(CHOICES)))
    for slot, value in (("first", signal - band), ("second", -signal - band)):
        side = _above(value, judge, spread)
        side[(value == 0) & (band > 0) & (spread == 0) & (judge.noise == 0)] = 0.0  # at the criterion, not beyond it
        result[:, _COLUMN[slot]] = (1 - judge.lapse) * side + judge.lapse / 2
    if judge.dark_current is not None:
        vacuum = pairs.vacuum[rows] & ~pairs.forced[rows]
        first = judge.dark_current * _above(np.array([judge.slot_bias]), judge, np.zeros(1))[0]
        result[vacuum, 0], result[vacuum, 1] = first, judge.dark_current - first
    result[:, _COLUMN["tie"]] = np.maximum(1 - result[:, 0] - result[:, 1], 0.0)
    result *= 1 - judge.invalid
    result[:, _COLUMN["invalid"]] = judge.invalid
    return _exact(pairs, judge, rows, result)


def _exact(pairs: Pairs, judge: Judge, rows: Rows, result: Floats) -> Floats:
    """Put exact probabilities in place where there are any."""
    if not judge.choice_probabilities:
        return result
    stimulus = pairs.asked.text("stimulus")[rows]
    for which in dict.fromkeys(stimulus):
        given = judge.choice_probabilities.get(which, judge.choice_probabilities.get("all"))
        if given is None:
            continue
        here = np.flatnonzero(stimulus == which) if which is not None else np.flatnonzero(stimulus == None)  # noqa: E711
        result[here] = 0.0
        for answer, p in given.items():
            if answer in _COLUMN:
                result[here, _COLUMN[answer]] += p
                continue
            side = (pairs.target if answer in ("target", "other") else pairs.better)[rows[here]]
            if (side == 0).any():
                what = "target" if answer in ("target", "other") else "better, or gold,"
                raise DesignError(
                    f"choice_probabilities of judge {judge.name!r} give {answer!r} a probability, and "
                    f"{int((side == 0).sum()):,} rows (stimulus {which!r}) have no {what} candidate."
                )
            for_first = (side > 0) == (answer in ("correct", "target"))
            result[here, np.where(for_first, 0, 1)] += p
    return result


def _above(value: Floats, judge: Judge, spread: Floats) -> Floats:
    """Probability that value, plus noise, plus a normal with the sd `spread`, exceeds 0."""
    if judge.link == "probit" or judge.noise == 0:
        return _step(value, np.hypot(judge.noise, spread), ndtr)
    result: Floats = expit(value / judge.noise)
    for sd in np.unique(spread[spread > 0]):
        here = spread == sd
        if sd <= 4 * judge.noise:
            nodes, weights = np.polynomial.hermite_e.hermegauss(60)
            terms = (w * expit((value[here] + sd * x) / judge.noise) for x, w in zip(nodes, weights, strict=True))
            result[here] = sum(terms) / weights.sum()
        else:  # little noise beside the spread: the sum runs over the noise
            nodes = judge.noise * logit((np.arange(400) + 0.5) / 400)
            result[here] = sum(ndtr((value[here] + x) / sd) for x in nodes) / nodes.size
    return result


def _step(value: Floats, scale: Floats, cdf: Callable[[Floats], Floats]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(scale > 0, value / scale, np.where(value == 0, 0.0, np.copysign(np.inf, value)))
    result: Floats = cdf(z)
    return result
