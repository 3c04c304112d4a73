"""Profile likelihood: the least of minus the log likelihood over all parameters but one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import brentq

from judgestats.errors import FitError
from judgestats.models.fitted_models import Fitted
from judgestats.models.likelihood.minimisation import minimise
from judgestats.models.likelihood.objectives import LinearObjective, Scales
from judgestats.models.ml import gaussian
from judgestats.models.postestimation.profile_coordinates import Chart
from judgestats.typing import Floats, Mask

Objective = Callable[[Floats], tuple[float, Floats]]
#: Stands for an infinite objective in the search for an end.
_HIGH = 1e8
#: Log of a standard deviation, of either sign, whose square a computer holds.
_FAR = 300.0


@dataclass
class Surface:
    """Minus a log likelihood about its minimum."""

    objective: Objective  # of parameters: value and gradient
    x: Floats  # (P,): where it is least
    value: float
    covariance: Floats  # (P, P): inverse Hessian there, or a guess
    # (P,): standard deviations of scalar terms: the objective is flat in them at zero, a search does not start there
    standing: Mask


@dataclass
class Curve:
    """The profile of a surface along a coordinate."""

    surface: Surface
    chart: Chart
    path: dict[float, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        s, k = self.surface, self.chart.place
        self.start = self.chart.of(s.x)
        turn = np.linalg.inv(self.chart.at(self.start)[1])
        spread = turn @ s.covariance @ turn.T
        self.rest = np.delete(np.arange(len(s.x)), k)
        self.pull = spread[self.rest, k] / spread[k, k]
        own = spread[np.ix_(self.rest, self.rest)] - np.outer(self.pull, spread[self.rest, k])
        size = np.sqrt(np.abs(np.diag(own)) + 1e-300)
        self.root = size[:, None] * np.linalg.cholesky(own / np.outer(size, size) + 1e-10 * np.eye(len(own)))
        self.error = float(np.sqrt(spread[k, k]))
        self.path[float(self.start[k])] = self.start[self.rest]

    @property
    def estimate(self) -> float:
        """Value of the coordinate at the minimum."""
        return float(self.start[self.chart.place])

    def __call__(self, value: float) -> float:
        """The least over the other coordinates, warm started from the nearest value known on the way there."""

        def objective(free: Floats) -> tuple[float, Floats]:
            at = np.insert(free, self.chart.place, value)
            try:
                params, turn = self.chart.at(at)
            except np.linalg.LinAlgError:
                return np.inf, np.full(len(free), np.nan)
            rise, gradient = self.surface.objective(params)
            return rise, (turn.T @ gradient)[self.rest]

        low, high = sorted((self.estimate, value))
        nearest = min((v for v in self.path if low <= v <= high), key=lambda v: abs(v - value))
        others = self.path[nearest]
        for start in (others + self.pull * (value - nearest), others, self.start[self.rest]):
            flat = self.surface.standing[self.rest] & (np.abs(start) < 1e-3)
            start = np.where(flat, 0.05 * self._scale, start)
            if np.isfinite(objective(start)[0]):
                minimum = minimise(_white(objective, start, self.root), np.zeros(len(start)), np.eye(len(start)))
                self.path[value] = start + self.root @ minimum.x
                return minimum.value
        return np.inf

    @property
    def _scale(self) -> float:
        return float(np.abs(self.surface.x[self.surface.standing]).max(initial=0.0)) or 1.0


def _white(objective: Objective, origin: Floats, root: Floats) -> Objective:
    """The objective in coordinates of unit size about a point: origin + root times them."""

    def white(z: Floats) -> tuple[float, Floats]:
        value, gradient = objective(origin + root @ z)
        return value, root.T @ gradient

    return white


def ends(
    curve: Callable[[float], float], least: float, estimate: float, error: float, cut: float
) -> tuple[float, float]:
    """Where the signed root of twice the rise of a curve from `least` is minus and plus `cut`, or infinite."""
    return end(curve, least, estimate, -error, cut), end(curve, least, estimate, error, cut)


def end(
    curve: Callable[[float], float], least: float, estimate: float, step: float, cut: float, limit: float = np.inf
) -> float:
    """One of :func:`ends`, on the side of `step`: leaps by the slope of the root, then Brent's method."""

    def excess(value: float) -> float:
        rise = min(2 * (curve(value) - least), _HIGH)
        return float(np.sqrt(max(rise, 0.0))) - cut

    inside, before, reach = estimate, -cut, 1.02 * cut
    for _ in range(40):
        outside = float(estimate + min(reach * abs(step), limit) * np.sign(step))
        above = excess(outside)
        if above >= 0:
            low, high = sorted((inside, outside))
            try:
                return float(brentq(excess, low, high, xtol=1e-6 * abs(step), rtol=1e-12)) if above > 0 else outside
            except ValueError as error:  # the same point was not found twice
                raise FitError(
                    "the profile could not be followed: the search does not find the same point twice. Centre and "
                    "scale the numeric columns (center(x), scale(x)), or pass method='bootstrap'."
                ) from error
        if reach * abs(step) >= limit or (above <= before + 1e-9 and reach > 50 * cut):
            break
        inside, before = outside, above
        reach *= float(np.clip(1.05 * cut / max(above + cut, 0.05 * cut), 1.1, 3.0))
    return float(np.sign(step) * np.inf)


def surface(fit: Fitted) -> Surface:
    """Likelihood (never REML) of a fit by all its parameters, or by the variances and log residual sd if Gaussian.

    That of a residual sd without random terms is restricted: it is highest at the estimate.
    """
    standing = np.zeros(len(fit.params), bool)
    scales = Scales.of(fit.model.sizes)
    scalar = np.array([scales.sizes[t] == 1 for t in scales.term], bool)
    standing[fit.n_location : fit.n_location + fit.n_theta] = scalar
    if not fit.distribution.linear:
        assert fit.objective is not None
        value = fit.objective(fit.params)[0]
        return Surface(fit.objective, fit.params, value, _guess(fit.covariance, 0.1), standing)
    target = gaussian(replace(fit.model, reml=False))
    if not fit.design.terms:
        target = replace(target, cells=replace(target.cells, n=target.cells.n - fit.n_fixed))
    own = fit.params[fit.n_location :].copy()
    turn = np.append(np.ones(len(own) - 1), 1 / own[-1])
    guess = _guess(fit.covariance[fit.n_location :, fit.n_location :] * np.outer(turn, turn), 0.1 * own[-1])
    start = np.append(np.where(own[:-1] == 0, 0.05 * own[-1] * scalar, own[:-1]), np.log(own[-1]))
    objective = Spreads(target)
    minimum = minimise(objective, start, guess)
    sound = np.linalg.eigvalsh(minimum.hessian).min(initial=1.0) > 1e-8
    own_guess = np.asarray(np.linalg.inv(minimum.hessian), float) if sound else guess
    return Surface(objective, minimum.x, minimum.value, own_guess, standing[fit.n_location :])


def _guess(covariance: Floats, width: float) -> Floats:
    """A covariance that can be inverted: where nothing is known, or on a boundary, `width` squared."""
    if not np.isfinite(covariance).all():
        return np.eye(len(covariance)) * width**2
    bare = np.diag(covariance) <= 0
    return np.asarray(covariance + np.diag(np.where(bare, width**2, 0.0)), float)


@dataclass
class Spreads:
    """Minus the log likelihood of a linear mixed model by θ, absolute, and the log of the residual sd."""

    target: LinearObjective

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Value and gradient, β profiled out."""
        nowhere = np.inf, np.full(len(x), np.nan)
        if not np.isfinite(x).all() or abs(x[-1]) > _FAR:  # a variance that is no number
            return nowhere
        target, sigma, n = self.target, float(np.exp(x[-1])), self.target.cells.n
        theta = x[:-1] / sigma
        at_theta = target.at(theta)
        if not np.isfinite(at_theta.objective):
            return nowhere
        ratio = at_theta.residual / sigma**2
        value = at_theta.objective + n / 2 * (ratio - 1 - np.log(ratio))
        slope = target.scales.gradient(target.cells.z, at_theta.scale)
        if len(theta):
            slope = slope + n / 2 * (ratio - 1) * self._by_squares(theta)
        return value, np.append(slope / sigma, n * (1 - ratio) - slope @ theta)

    def _by_squares(self, theta: Floats) -> Floats:
        """Derivative of the log of the residual variance by θ relative."""
        h = 1e-5
        moves = h * np.eye(len(theta))
        up, down = ([self.target.at(theta + side * move).residual for move in moves] for side in (1, -1))
        return np.asarray(np.log(np.divide(up, down)) / (2 * h), float)


def fixed_of_linear(fit: Fitted, k: int) -> tuple[Callable[[float], float], float, float, float]:
    """Profile of fixed effect k of a Gaussian model, by ML; its least value, where that is, and an error."""
    target = gaussian(replace(fit.model, reml=False))
    cells, theta = target.cells, fit.theta / fit.residual
    start = np.where(theta == 0, 0.05 * target.scales.diagonal, theta)
    guess = np.eye(len(theta)) * 0.01
    whole = minimise(target, start, guess)
    if len(theta) and np.linalg.eigvalsh(whole.hessian).min() > 1e-6:
        guess = np.asarray(np.linalg.inv(whole.hessian), float)
    best = target.at(whole.x)
    others = np.delete(np.arange(cells.X.shape[1]), k)
    last = [whole.x]

    def curve(value: float) -> float:
        own = replace(cells, mean=cells.mean - value * cells.X[:, k], X=np.ascontiguousarray(cells.X[:, others]))
        minimum = minimise(replace(target, cells=own), last[0], guess)
        last[0] = np.where(np.abs(minimum.x) < 1e-3, start, minimum.x)
        return minimum.value

    error = float(np.sqrt(best.residual * np.linalg.inv(best.information)[k, k]))
    return curve, whole.value, float(best.beta[k]), error
