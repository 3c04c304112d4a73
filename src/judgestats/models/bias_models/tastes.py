"""Tastes of judges for systems in preferences: a random effect that each call has twice, once with each sign.

Source
------
Breslow and Clayton 1993, J. Amer. Statist. Assoc. 88, 9-25 (penalised quasi-likelihood: a generalised model as a linear
one of its working responses, whose variances are found by restricted likelihood).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from judgestats.models.fits import Fit
from judgestats.models.likelihood.minimisation import hessian
from judgestats.models.ml import generalised
from judgestats.typing import Floats, Mask

#: Largest sd of tastes, in log-odds, that is tried; the step of its derivatives; where a variance of 0 starts again.
LARGEST, STEP, AGAIN = 10.0, 0.02, 0.3
#: Steps, the longest of a parameter, and the change at which they end.
MOST_STEPS, LONGEST, SETTLED = 20, 0.5, 1e-4
#: Smallest curvature, as a share of the largest, and smallest sd of another effect that is not 0.
FLAT, LEAST = 1e-9, 1e-3


@dataclass(frozen=True)
class TasteModel:
    """A fit to which tastes have been added."""

    fit: Fit  # with the parameters and the covariance that it has beside tastes
    sd: float = math.nan  # of the tastes; NaN where none were added
    log_error: float = math.nan  # standard error of its logarithm


def with_tastes(fit: Fit, tastes: Floats) -> TasteModel:
    """Add normal effects by restricted likelihood; their columns are `tastes` (N, q), in the rows of the fit's design.

    The likelihood, other random effects integrated out, is taken as quadratic about the estimates, until these stay.
    """
    design, n = fit.design, fit.design.X.shape[1]
    fixed = replace(design.fixed, X=np.hstack([design.X, tastes]))
    _, objective = generalised(replace(fit.model, design=replace(design, fixed=fixed)))
    q = tastes.shape[1]
    spreads = np.where(fit.params[n:] == 0, AGAIN, fit.params[n:])  # tastes that are left out can hide another variance
    x = np.concatenate([fit.params[:n], np.zeros(q), spreads])
    taste = (np.arange(len(x)) >= n) & (np.arange(len(x)) < n + q)
    for _ in range(MOST_STEPS):
        size, axes = np.linalg.eigh(hessian(objective, x, np.ones(len(x))))
        curvature = axes * np.maximum(np.abs(size), FLAT * size.max()) @ axes.T
        working = Quadratic(curvature, curvature @ x - objective(x)[1], taste)
        sd = working.sd()
        target, covariance = working.at(sd)
        step = target - x
        x = x + np.clip(step, -LONGEST, LONGEST)
        if np.abs(step).max() < SETTLED:
            break
    zero = (np.abs(x) < LEAST) & (np.arange(len(x)) >= n + q)
    x[zero] = covariance[zero] = covariance[:, zero] = 0.0
    own = ~taste
    curved = working.criterion(sd * (1 + STEP)) - 2 * working.criterion(sd) + working.criterion(sd * (1 - STEP))
    log_error = STEP * (2 / curved) ** 0.5 if sd > 0 and curved > 0 else np.nan
    return TasteModel(replace(fit, params=x[own], covariance=covariance[np.ix_(own, own)]), sd, float(log_error))


@dataclass(frozen=True)
class Quadratic:
    """Minus a log likelihood, x'Hx / 2 - b'x, some of whose parameters are effects with a common variance."""

    H: Floats
    b: Floats
    random: Mask  # (P,): which are

    def _whitened(self, sd: float) -> tuple[Floats, Floats]:
        """What multiplies each parameter, and the curvature in effects of unit variance."""
        scale = np.where(self.random, sd, 1.0)
        return scale, scale[:, None] * self.H * scale + np.diag(self.random.astype(float))

    def criterion(self, sd: float) -> float:
        """Minus twice the restricted log likelihood."""
        scale, curvature = self._whitened(sd)
        sign, size = np.linalg.slogdet(curvature)
        b = scale * self.b
        return float(size - b @ np.linalg.solve(curvature, b)) if sign > 0 else np.inf

    def sd(self) -> float:
        """The sd of the effects by restricted likelihood."""
        grid = np.concatenate([[0.0], np.geomspace(0.01, LARGEST, 25)])
        best = int(np.argmin([self.criterion(sd) for sd in grid]))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        minimum = minimize_scalar(self.criterion, bounds=ends, method="bounded", options={"xatol": 1e-6})
        return float(minimum.x) if minimum.fun < self.criterion(0.0) - 1e-9 else 0.0

    def at(self, sd: float) -> tuple[Floats, Floats]:
        """Parameters and their covariance."""
        scale, curvature = self._whitened(sd)
        inverse = np.linalg.inv(curvature)
        return scale * (inverse @ (scale * self.b)), scale[:, None] * inverse * scale
