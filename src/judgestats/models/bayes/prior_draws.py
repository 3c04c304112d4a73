"""Parameters of a formula's model drawn from their priors."""

from __future__ import annotations

from typing import Any

import numpy as np

from judgestats.models.bayes.priors import DF, Priors, single, sizes
from judgestats.models.designs import Design
from judgestats.models.families import FAMILIES
from judgestats.models.thresholds import Thresholds
from judgestats.typing import Floats


def from_priors(
    design: Design, family: str, thresholds: Thresholds, priors: Priors, n: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw the variables of :func:`judgestats.models.engines.bayes_pymc.build` from their priors, (1, n, ...) each."""
    found: dict[str, Any] = {"beta": rng.normal(priors.location, priors.scale, (1, n, len(priors.scale)))}
    if design.categories:
        free, sets, steps = sizes(thresholds)
        unit = rng.standard_normal((1, n, sets, steps))
        if single(thresholds):
            found["cuts"] = priors.cuts * np.sort(unit, axis=-1)
        else:
            found["midpoints"] = priors.cuts * rng.standard_normal((1, n, free))
            found["steps"] = priors.widths * np.abs(unit)
    for t, term in enumerate(design.terms):
        sd = priors.sds[t] * np.abs(rng.standard_normal((1, n, len(term.names))))
        found[f"L{t}"] = sd[..., None] * _correlated(len(term.names), priors.shapes[t], n, rng)
        found[f"u{t}"] = rng.standard_normal((1, n, len(term.levels), len(term.names)))
    if FAMILIES[family].linear:
        found["sigma"] = priors.residual * np.abs(rng.standard_t(DF, (1, n)))
    return found


def _correlated(k: int, shape: float, n: int, rng: np.random.Generator) -> Floats:
    """(n, k, k) Cholesky factors of LKJ correlations, by partial correlations: Lewandowski et al. 2009."""
    factor, rest = np.zeros((n, k, k)), np.ones((n, k))
    for j in range(k):
        factor[:, j, j] = np.sqrt(rest[:, j])
        for i in range(j + 1, k):
            a = shape + (k - 2 - j) / 2
            factor[:, i, j] = (2 * rng.beta(a, a, n) - 1) * np.sqrt(rest[:, i])
            rest[:, i] -= factor[:, i, j] ** 2
    return factor
