"""Standard deviations and correlations of the random terms: their names and values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgestats.models.fitted_models import Fitted
from judgestats.typing import Floats

#: Group of the residual standard deviation.
RESIDUAL = "residual"


@dataclass(frozen=True)
class Component:
    """A standard deviation or a correlation."""

    group: str  # its grouping factor, or ``residual``
    term: str  # ``sd(Intercept|item)``, ``cor(Intercept,x|item)``, ``sd(residual)``
    t: int  # number of the random term; -1 for the residual
    i: int  # i, j: its columns; the same for a standard deviation
    j: int
    first: int  # first, size: first place of the term's Cholesky factor in the parameters, and the term's columns
    size: int

    @property
    def elements(self) -> slice:
        """Places of the term's Cholesky factor in the parameters."""
        return slice(self.first, self.first + self.size * (self.size + 1) // 2)

    @property
    def is_sd(self) -> bool:
        """Whether it is a standard deviation."""
        return self.i == self.j


def components(fit: Fitted) -> tuple[Component, ...]:
    """All of a model, term by term: standard deviations, then correlations; the residual last."""
    result, first = [], fit.n_location
    for t, term in enumerate(fit.design.terms):
        k, g = len(term.names), term.factor
        result += [Component(g, f"sd({n}|{g})", t, i, i, first, k) for i, n in enumerate(term.names)]
        pairs = [(i, j) for i in range(k) for j in range(i)]
        result += [Component(g, f"cor({term.names[j]},{term.names[i]}|{g})", t, i, j, first, k) for i, j in pairs]
        first += k * (k + 1) // 2
    if fit.distribution.linear:
        result.append(Component(RESIDUAL, "sd(residual)", -1, 0, 0, len(fit.params) - 1, 1))
    return tuple(result)


def component_values(fit: Fitted, params: Floats | None = None) -> Floats:
    """Values (C,) of :func:`components`; a correlation with a standard deviation of zero is NaN."""
    parameters = fit.params if params is None else params
    result = []
    for C in fit.covariances(parameters):
        k, sd = len(C), np.sqrt(np.diag(C))
        with np.errstate(invalid="ignore", divide="ignore"):
            result += [*sd, *(C[i, j] / (sd[i] * sd[j]) for i in range(k) for j in range(i))]
    if fit.distribution.linear:
        result.append(float(parameters[-1]))
    return np.array(result, float)
