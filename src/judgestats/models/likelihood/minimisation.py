"""Quasi-Newton minimisation with a log, and the Hessian at the end."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from judgestats.terminal import working
from judgestats.threads import one_blas_thread
from judgestats.typing import Floats

Objective = Callable[[Floats], tuple[float, Floats]]
#: The Hessian (P, P) at the parameters that an objective was evaluated at last; and lengths (P,) for differences.
Curvature = Callable[[Floats, Floats], Floats]
#: An iteration: ``iteration``, ``evaluations``, ``objective``, ``gradient``, ``step``, ``x``.
Step = dict[str, Any]
#: Curvature downwards, relative to the greatest, that is more than rounding; and how many saddle points are left.
SADDLE, SADDLES = 1e-6, 5
#: Fall of the objective that the gradient promises at the end of BFGS; and where another search follows.
NEAR, NEARLY = 1e-8, 1e-4
#: Difference of two objectives below which the search goes on from where the rough one ended.
ALIKE = 1e-3
#: Evaluations in one search, and for each parameter, after which it ends where it is.
EVALUATIONS, PER_PARAMETER = 1000, 30
#: Seconds after which a search is display.
SLOW = 2.0


@dataclass(frozen=True)
class Minimum:
    """Where the search ended."""

    x: Floats  # x, gradient (P,)
    gradient: Floats
    value: float
    hessian: Floats  # (P, P)
    converged: bool  # whether a further Newton step would gain less than 1e-7, and it is no saddle point
    log: list[Step] = field(repr=False)

    def followed_by(self, other: Minimum) -> Minimum:
        """Another search, with the log of both."""
        done = {"iteration": len(self.log), "evaluations": self.log[-1]["evaluations"] if self.log else 0}
        after = [{**row, **{name: row[name] + before for name, before in done.items()}} for row in other.log]
        return replace(other, log=[*self.log, *after])


class Descent(NamedTuple):
    """Where BFGS ended."""

    x: Floats
    value: float
    gradient: Floats
    inverse: Floats  # (P, P): of the Hessian, nearly
    log: list[Step]
    evaluations: int


def minimise(
    objective: Objective,
    x: Floats,
    inverse: Floats,
    *,
    most: int = 200,
    rough: Objective | None = None,
    bent: Curvature | None = None,
    curved: Curvature | None = None,
) -> Minimum:
    """Minimise by BFGS, then by Newton's method, and go on from a saddle.

    `inverse` (P, P): first inverse Hessian. `rough`: an objective that is cheaper, to come near with, by Newton's
    method where its Hessian `bent` is at hand. `curved`: the Hessian, otherwise by differences.
    """
    bound = EVALUATIONS + PER_PARAMETER * len(x)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"), ExitStack() as display:
        if rough is not None:
            near = _descend(_bounded(rough, bound, display), x, inverse, most, NEARLY, bent)
            if abs(objective(near.x)[0] - near.value) < ALIKE:
                x, inverse = near.x, near.inverse
        objective = _bounded(objective, bound, display)
        curved = curved or partial(hessian, objective)
        minimum = _polish(objective, curved, _descend(objective, x, inverse, most))
        for _ in range(SADDLES):
            starts = _beside(objective, minimum)
            if not starts:
                break
            inverse = _upwards(minimum.hessian)
            best = min(
                (_polish(objective, curved, _descend(objective, start, inverse, most)) for start in starts),
                key=lambda m: m.value,
            )
            minimum = minimum.followed_by(best)
    return replace(minimum, converged=minimum.converged and not _downwards(minimum).size)


def _bounded(objective: Objective, most: int, display: ExitStack) -> Objective:
    """An objective that is infinite after so many evaluations, so that every search ends; a long one is shown."""
    evaluations, begun, say = itertools.count(1), time.monotonic(), None

    def bounded(x: Floats) -> tuple[float, Floats]:
        nonlocal say
        if (number := next(evaluations)) > most:
            return np.inf, np.full(len(x), np.nan)
        value, gradient = objective(x)
        if say is None and time.monotonic() - begun > SLOW:
            say = display.enter_context(working("fitting", after=0.0))
        if say is not None:
            say(f"evaluation {number} of at most {most}, log-likelihood {-value:.3f} up to a constant")
        return value, gradient

    return bounded


def _downwards(minimum: Minimum) -> Floats:
    """(P, k) axes along which the function is curved downwards, by as much as it falls by a half in the quadratic."""
    if not np.isfinite(minimum.hessian).all():
        return np.zeros((len(minimum.x), 0))
    size, axes = np.linalg.eigh(minimum.hessian)
    down = size < -SADDLE * np.abs(size).max(initial=0.0)
    return np.asarray(axes[:, down] / np.sqrt(-size[down]), np.float64)


def _upwards(curvature: Floats) -> Floats:
    """Inverse of a Hessian with its curvatures made positive."""
    size, axes = np.linalg.eigh(curvature)
    return np.asarray(axes / np.maximum(np.abs(size), SADDLE * np.abs(size).max()) @ axes.T, np.float64)


def _beside(objective: Objective, minimum: Minimum) -> list[Floats]:
    """Points on both sides of a saddle point at which the function is lower."""
    ways = [side * axis for axis in _downwards(minimum).T for side in (1.0, -1.0)]
    tries = ([minimum.x + length * way for length in (1.0, 0.3, 0.1, 0.03)] for way in ways)
    lower = (next((x for x in own if objective(x)[0] < minimum.value), None) for own in tries)
    return [x for x in lower if x is not None]


def _descend(
    objective: Objective, x: Floats, inverse: Floats, most: int, near: float = NEAR, bent: Curvature | None = None
) -> Descent:
    """Minimise by BFGS, or with the Hessian `bent`, until the gradient promises less than `near`."""
    value, gradient = objective(x)
    log: list[Step] = []
    evaluations = 1
    for iteration in range(most):
        if bent is not None and np.isfinite(curvature := bent(x, x)).all():
            inverse = _upwards(curvature)
        direction = -inverse @ gradient
        slope = float(direction @ gradient)
        if slope > 0:  # rounding: start over from the steepest descent
            inverse = np.diag(np.abs(np.diag(inverse)))
            direction = -inverse @ gradient
            slope = float(direction @ gradient)
        _note(log, iteration, evaluations, value, gradient, slope, x)
        if -slope < near:
            break
        point, more = _search(objective, x, value, direction, slope)
        evaluations += more
        if point is None:
            break
        step, value, after = point[0] - x, point[1], point[2]
        inverse = _update(inverse, step, after - gradient, first=iteration == 0 and bent is None)
        x, gradient = point[0], after
    return Descent(x, value, gradient, inverse, log, evaluations)


def _note(
    log: list[Step], iteration: int, evaluations: int, value: float, gradient: Floats, slope: float, x: Floats
) -> None:
    steepest = float(np.abs(gradient).max(initial=0.0))
    row = {"iteration": iteration, "evaluations": evaluations, "objective": value, "gradient": steepest}
    log.append({**row, "step": float(-slope / 2), "x": x.copy()})


def _search(
    objective: Objective, x: Floats, value: float, direction: Floats, slope: float
) -> tuple[tuple[Floats, float, Floats] | None, int]:
    """Backtrack to a point that is better by a share of what the slope promises."""
    size = 1.0
    for tries in range(1, 41):
        at = x + size * direction
        new, gradient = objective(at)
        if np.isfinite(new) and new <= value + 1e-4 * size * slope + 1e-12 * abs(value):
            return (at, new, gradient), tries
        curved = 2 * (new - value - size * slope)
        best = -slope * size**2 / curved if np.isfinite(new) and curved > 0 else 0.2 * size
        size = float(np.clip(best, 0.1 * size, 0.5 * size))
    return None, 40


def _update(inverse: Floats, step: Floats, change: Floats, *, first: bool) -> Floats:
    """BFGS, skipped where the curvature is not positive."""
    curvature = float(step @ change)
    if curvature <= 1e-12 * np.sqrt(float(step @ step) * float(change @ change)):
        return inverse
    if first:
        grown = curvature / float(change @ inverse @ change)
        inverse = inverse * np.clip(grown, 0.1, 10.0)
    rotated = inverse @ change
    outer = np.outer(step, rotated)
    scale = (1 + float(change @ rotated) / curvature) / curvature
    return inverse + scale * np.outer(step, step) - (outer + outer.T) / curvature


def hessian(objective: Objective, x: Floats, scale: Floats) -> Floats:
    """Hessian by central differences of the gradient; `scale` (P,): length over which each parameter matters."""
    P = len(x)
    result: Floats = np.zeros((P, P))
    for i in range(P):
        move = np.zeros(P)
        move[i] = 0.01 * scale[i]
        result[i] = (objective(x + move)[1] - objective(x - move)[1]) / (2 * move[i])
    return (result + result.T) / 2


def _polish(objective: Objective, curved: Curvature, descent: Descent) -> Minimum:
    """Newton steps until nothing is gained; the Hessian is kept."""
    x, value, gradient, inverse, log, evaluations = descent
    gain, after = np.inf, np.inf
    for _ in range(4):
        scale = np.clip(np.sqrt(np.abs(np.diag(inverse))), 1e-6, 1.0)
        curvature = curved(x, scale)
        step = _newton(curvature, gradient)
        gain = after = float(gradient @ step) / 2
        _note(log, len(log), evaluations, value, gradient, -2 * gain, x)
        if not np.isfinite(gain) or gain < 1e-12:
            break
        point, more = _search(objective, x, value, -step, -2 * gain)
        evaluations += more
        if point is None:
            break
        x, value, gradient = point
        after = float(gradient @ _newton(curvature, gradient)) / 2
        if gain < 1e-4:  # the Hessian does not change over such a step
            break
        inverse = np.asarray(np.linalg.pinv(curvature), np.float64)
    return Minimum(x, gradient, value, curvature, bool(np.isfinite(after) and min(gain, after) < 1e-6), log)


def _newton(curvature: Floats, gradient: Floats) -> Floats:
    """Newton step; NaN where the function still falls along an axis that is not curved upwards."""
    if not np.isfinite(curvature).all():
        return np.full(len(gradient), np.nan)
    size, axes = np.linalg.eigh(curvature)
    curved, turned = size > 1e-10 * size.max(initial=0.0), axes.T @ gradient
    if (np.abs(turned[~curved]) > 1e-3).any():
        return np.full(len(gradient), np.nan)
    step: Floats = axes[:, curved] @ (turned[curved] / size[curved])
    return step
