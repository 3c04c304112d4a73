"""Scores of a simulated judge: their means before rounding, and mean and sd on its scale."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtr

from judgestats.design.judges import EFFECTS, Judge
from judgestats.design.simulated_choices import qualities
from judgestats.design.simulated_questions import Questions, RowIndex
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.typing import Floats, Seed

#: Columns whose levels an effect is drawn for, and whether all judges share it.
_EFFECTS = {
    "item_difficulty": (("task", "item"), True),
    "task_difficulty": (("task",), True),
    "interaction": (("system",), False),
    "item_interaction": (("task", "item"), False),
    "stable_preference": (("system", "task", "item", "criterion"), False),
}


def system_quality(rows: Questions, quality: Mapping[str, float] | float, seed: Seed) -> tuple[Floats, float]:
    """Quality of each row's system, and the sd of what is still to be drawn (0 unless ``seed=None``)."""
    if "quality" in rows:
        return rows.number("quality"), 0.0
    if isinstance(quality, Mapping):
        return qualities(rows.text("system"), quality), 0.0
    sd: Any = quality
    if not isinstance(sd, Real) or not 0 <= float(sd) < np.inf:
        raise DesignError(f"quality={quality!r} is not possible. Give {{system: quality}}, or the sd of those drawn.")
    if seed is None:
        return np.zeros(len(rows)), float(quality)
    system, size = rows.groups("system")
    return float(quality) * generator(seed, ("quality",)).standard_normal(size)[system], 0.0


def score_effects(plan: Questions, name: str, seed: Seed) -> dict[str, Floats]:
    """Standard normal effects of each row, by the property that scales them."""
    effects = {}
    for effect, (columns, shared) in _EFFECTS.items():
        level, size = plan.groups(*columns)
        effects[effect] = generator(seed, (effect,) if shared else (effect, name)).standard_normal(size)[level]
    return effects


def means(
    plan: Questions, judge: Judge, rows: RowIndex, quality: Floats, effects: Mapping[str, Floats] | None = None
) -> Floats:
    """Mean of the score before noise and rounding, averaged over the random effects where no `effects` are given."""
    middle = sum(judge.scale) / 2 if judge.scale is not None else 0.0
    own = plan.text("family" if "family" in plan else "system")[rows] == judge.own
    result = middle + judge.leniency + judge.discrimination * quality[rows] + judge.self_preference * own
    if judge.criterion_effects and "criterion" in plan:
        criteria = plan.text("criterion")[rows]
        result = result + np.array([judge.criterion_effects.get(c, 0.0) for c in criteria], dtype=float)
    for name, values in (effects or {}).items():
        result = result + getattr(judge, name) * values[rows]
    return np.asarray(result, dtype=float)


def effect_sd(judge: Judge, quality_sd: float) -> float:
    """Standard deviation of all random effects, without the noise."""
    sds = [getattr(judge, name) for name in EFFECTS]
    return float(np.sqrt(sum(x * x for x in sds) + (judge.discrimination * quality_sd) ** 2))


def on_scale(judge: Judge, values: Floats) -> Floats:
    """Values rounded to the judge's scale."""
    low, high = _ends(judge)
    origin = low if np.isfinite(low) else 0.0
    if judge.step is not None:
        values = origin + judge.step * np.floor((values - origin) / judge.step + 0.5)
    return np.clip(values, low, high)


def expected(judge: Judge, mean: Floats, sd: float) -> tuple[Floats, Floats]:
    """Mean and sd of the score on the scale, of a normal with `mean` and `sd` before rounding."""
    low, high = _ends(judge)
    if sd == 0:
        return on_scale(judge, mean), np.zeros(mean.size)
    if judge.step is None:
        return _clipped(mean, sd, low, high)
    first, last = (float(x) for x in on_scale(judge, np.array([mean.min() - 9 * sd, mean.max() + 9 * sd])))
    steps = np.arange(1, int(np.ceil((last - first) / judge.step - 1e-9)) + 1)
    total, squares = np.full(mean.size, first), np.full(mean.size, first**2)
    below = first
    for k in steps:
        value = min(first + k * judge.step, last)
        above = ndtr((mean - (first + (k - 0.5) * judge.step)) / sd)
        total += (value - below) * above
        squares += (value**2 - below**2) * above
        below = value
    return total, np.sqrt(np.maximum(squares - total**2, 0.0))


def _ends(judge: Judge) -> tuple[float, float]:
    low, high = judge.scale if judge.scale is not None else (-np.inf, np.inf)
    return low, high if judge.ceiling is None else min(high, judge.ceiling)


def _clipped(mean: Floats, sd: float, low: float, high: float) -> tuple[Floats, Floats]:
    a, b = (low - mean) / sd, (high - mean) / sd
    inside = ndtr(b) - ndtr(a)
    end_a, end_b = np.where(np.isfinite(a), a, 0.0), np.where(np.isfinite(b), b, 0.0)
    da, db = (np.exp(-x * x / 2) / np.sqrt(2 * np.pi) for x in (a, b))
    ends = [(low if np.isfinite(low) else 0.0, ndtr(a)), (high if np.isfinite(high) else 0.0, ndtr(-b))]
    first = mean * inside + sd * (da - db)
    second = (mean**2 + sd**2) * inside + 2 * mean * sd * (da - db) + sd**2 * (end_a * da - end_b * db)
    total = first + sum(v * p for v, p in ends)
    squares = second + sum(v * v * p for v, p in ends)
    return total, np.sqrt(np.maximum(squares - total**2, 0.0))
