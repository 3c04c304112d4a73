"""Answers of a simulated judge to pairs: the signal, and the probability of each answer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from judgestats.design.judges import Judge
from judgestats.design.simulated_questions import Questions, RowIndex
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.kernels.resampling import generator
from judgestats.schema.columns import CHOICES
from judgestats.typing import Floats, Seed

_COLUMN = {name: i for i, name in enumerate(CHOICES)}
#: Effect that all judges share -> columns whose levels it is drawn for, and the key of the draw.
_DIFFICULTY = {"item_difficulty": (("task", "item"), ("item",)), "task_difficulty": (("task",), ("task",))}


class Pairs:
    """Signals of a plan of preferences, signed in favour of the candidate shown first; `quality`: of each candidate."""

    def __init__(self, plan: Questions, quality: Mapping[str, float] | float) -> None:
        self.plan, self.quality = plan, quality if isinstance(quality, Mapping) else None
        self.vacuum = plan.text("stimulus") == "vacuum"
        if any(isinstance(x, str) for x in plan.text("ties_allowed")):
            raise SchemaError("'ties_allowed' of the plan holds text. Give true or false.")
        self.forced = np.array([x is not None and not x for x in plan.text("ties_allowed")], dtype=bool)

    @cached_property
    def better(self) -> Floats:
        """Side of the better candidate, of the gold one where none is named better."""
        better = self.plan.named("better")
        return np.where(better != 0, better, self.plan.named("gold"))

    @cached_property
    def target(self) -> Floats:
        """Side of the candidate that carries the attribute under test."""
        return self.plan.named("target")

    @cached_property
    def step(self) -> Floats:
        """Difference of quality."""
        delta = self.plan.number("delta")
        step = self.better * np.where(np.isnan(delta), 1.0, delta)
        if self.quality is not None:
            one, two = (qualities(self.plan.text(c), self.quality) for c in ("first", "second"))
        else:
            one, two = (self.plan.number(c) for c in ("quality_first", "quality_second"))
        difference = one - two
        return np.asarray(np.where(np.isnan(difference), step, difference))

    @cached_property
    def longer(self) -> Floats:
        """Logarithm of the ratio of lengths, 0 where a length is not known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.plan.number("length_first") / self.plan.number("length_second"))
        return np.asarray(np.where(np.isfinite(ratio), ratio, 0.0))

    def valued(self, attribute: str, value: Mapping[Hashable, float]) -> Floats:
        """Worth of an attribute of the first candidate minus that of the second."""
        sides = [self.plan.text(f"{attribute}_{slot}") for slot in ("first", "second")]
        one, two = (np.array([value.get(v, 0.0) for v in side], dtype=float) for side in sides)
        return np.asarray(one - two)

    def own(self, judge: Judge) -> Floats:
        """Side of the judge's family."""
        column = "family_first" in self.plan and "family_second" in self.plan
        sides = [self.plan.text(f"family_{s}" if column else s) == judge.own for s in ("first", "second")]
        return np.asarray(sides[0].astype(float) - sides[1])

    @cached_property
    def towards(self) -> Floats:
        """Side that an effect of the content goes to."""
        return np.where(self.better != 0, self.better, self.plan.pair[2])


def qualities(names: NDArray[np.object_], quality: Mapping[str, float]) -> Floats:
    """Quality of each name; a DesignError if a name has none."""
    for name in sorted({str(n) for n in names} - {str(q) for q in quality}):
        raise DesignError(f"quality= does not have {name!r}.{suggestion(name, map(str, quality))}")
    try:
        by_name = {str(k): float(v) for k, v in quality.items()}
    except (ValueError, TypeError):
        raise DesignError(
            f"quality={dict(quality)!r} holds a value that is not a number. Give a number for each name."
        ) from None
    return np.array([by_name[str(n)] for n in names], dtype=float)


def fixed_signal(pairs: Pairs, judge: Judge) -> Floats:
    """Sum of the fixed shifts of a judge, without random effects."""
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
    return np.where(pairs.vacuum, 0.0, content) + judge.slot_bias


def signal_effects(pairs: Pairs, name: str, seed: Seed, judges: Iterable[Judge]) -> dict[str, Floats]:
    """Standard normal effects of each row, by the property of some `judges` that scales them; 0 without content."""
    plan = pairs.plan
    signed = np.where(pairs.vacuum, 0.0, 1.0)
    several = list(judges)
    planted = {effect for effect in ("stable_preference", *_DIFFICULTY) if any(getattr(j, effect) for j in several)}
    effects = {}
    if "stable_preference" in planted:
        pair, n_pairs, side = plan.pair
        effects["stable_preference"] = generator(seed, ("stable", name)).standard_normal(n_pairs)[pair] * side * signed
    for effect, (columns, key) in _DIFFICULTY.items():
        if effect in planted:
            level, size = plan.groups(*columns)
            effects[effect] = generator(seed, key).standard_normal(size)[level] * pairs.towards * signed
    return effects


def chances(pairs: Pairs, judge: Judge, rows: RowIndex, effects: Mapping[str, Floats] | None = None) -> Floats:
    """(R, 5) probability of each answer to `rows` (R,), in the order of CHOICES; averaged over effects not given."""
    signal = fixed_signal(pairs, judge)[rows]
    there = np.where(pairs.vacuum[rows], 0.0, 1.0)
    spread = np.zeros(rows.size)
    if effects is None:
        stable = judge.stable_preference * pairs.plan.pair[2][rows]
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


def _exact(pairs: Pairs, judge: Judge, rows: RowIndex, result: Floats) -> Floats:
    """Replace the probabilities by exact ones where they were given."""
    if not judge.choice_probabilities:
        return result
    stimulus = pairs.plan.text("stimulus")[rows]
    for which in dict.fromkeys(stimulus):
        probabilities = judge.choice_probabilities.get(which, judge.choice_probabilities.get("all"))
        if probabilities is None:
            continue
        positions = np.flatnonzero(stimulus == which)
        result[positions] = 0.0
        for answer, p in probabilities.items():
            if answer in _COLUMN:
                result[positions, _COLUMN[answer]] += p
                continue
            side = (pairs.target if answer in ("target", "other") else pairs.better)[rows[positions]]
            if (side == 0).any():
                what = "target" if answer in ("target", "other") else "better, or gold,"
                raise DesignError(
                    f"choice_probabilities of judge {judge.name!r} give {answer!r} a probability, and "
                    f"{int((side == 0).sum()):,} rows (stimulus {which!r}) have no {what} candidate."
                )
            for_first = (side > 0) == (answer in ("correct", "target"))
            result[positions, np.where(for_first, 0, 1)] += p
    return result


def _above(value: Floats, judge: Judge, spread: Floats) -> Floats:
    """Probability that value, plus noise, plus a normal with the sd `spread`, exceeds 0."""
    if judge.link == "probit" or judge.noise == 0:
        sd = np.hypot(judge.noise, spread)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(sd > 0, value / sd, np.where(value == 0, 0.0, np.copysign(np.inf, value)))
        return np.asarray(ndtr(z))
    result: Floats = expit(value / judge.noise)
    for sd in np.unique(spread[spread > 0]):
        rows = spread == sd
        if sd <= 4 * judge.noise:
            nodes, weights = np.polynomial.hermite_e.hermegauss(60)
            terms = (w * expit((value[rows] + sd * x) / judge.noise) for x, w in zip(nodes, weights, strict=True))
            result[rows] = sum(terms) / weights.sum()
        else:  # little noise beside the spread: the sum runs over the noise
            nodes = judge.noise * logit((np.arange(400) + 0.5) / 400)
            result[rows] = sum(ndtr((value[rows] + x) / sd) for x in nodes) / nodes.size
    return result
