"""What data cannot tell: separation, where estimates run away to infinity, and levels with too few calls.

A direction separates where the likelihood never falls along it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgestats.models.fitted import Fitted

Floats = NDArray[np.float64]

#: Link -> a linear predictor beyond it says that something may have run away; short of it the search would not stop.
SUSPECT = {"logit": 8.0, "probit": 4.0, "log": 8.0}
#: A gain below it, in a cube of unit size, is rounding.
TINY = 1e-6
#: Calls per level that Laplace's approximation needs, by our ruling.
FEWEST_CALLS = 5


def separated(fit: Fitted) -> tuple[str, ...]:
    """Fixed effects and thresholds that separate the response, completely or not quite.

    A direction separates where moving along it lowers the probability of no answer that was given, and raises that of
    some. The search is a linear programme; it is run where estimates or standard errors are large enough to ask.

    Parameters
    ----------
    fit : Fitted

    Returns
    -------
    tuple of str
        Names of the parameters that run away; empty where there are none, and for Gaussian models.
    """
    if fit.family == "gaussian" or not fit.n_location or not _suspect(fit):
        return ()
    moves = runaway(_constraints(fit))
    return tuple(name for name, own in zip(fit.names, moves, strict=False) if own)


def sparse(fit: Fitted) -> tuple[float, ...]:
    """Calls per level of each random term, where they are fewer than Laplace's approximation needs.

    Parameters
    ----------
    fit : Fitted

    Returns
    -------
    tuple of float
        0 where they are enough, and for methods that need no more.
    """
    d = fit.design
    if fit.method != "Laplace" or fit.family not in ("binomial", "cumulative"):
        return tuple(0.0 for _ in d.terms)
    calls = [float(d.count @ d.trials) / len(t.levels) for t in d.terms]
    return tuple(c if c < FEWEST_CALLS else 0.0 for c in calls)


def _suspect(fit: Fitted) -> bool:
    """Whether any answer is predicted nearly without fail: where none is, nothing has run away."""
    d = fit.design
    eta = d.X @ fit.beta + d.offset
    if not np.isfinite(eta).all():
        return True
    edge = SUSPECT[fit.link]
    if fit.family == "poisson":
        return bool((eta < -edge).any())
    if not d.categories:
        return bool((np.abs(eta) > edge).any())
    part = fit.part if len(fit.part) else np.zeros(len(eta), np.int64)
    cuts = fit.thresholds.at(fit.tau)
    return bool((np.abs(cuts[part] - eta[:, None]) > edge).any())


def _constraints(fit: Fitted) -> Floats:
    """Rows a of parameters β, τ such that no answer loses probability along d where a'd >= 0 for all."""
    d = fit.design
    if not d.categories:
        up, down = d.y > 0, d.trials > d.y
        if fit.family == "poisson":
            up, down = d.y > 0, np.ones(len(d.y), bool)
        return np.unique(np.vstack([d.X[up], -d.X[down]]), axis=0)
    cuts, y, last = fit.thresholds.map, d.y.astype(np.int64), len(d.categories) - 1
    part = fit.part if len(fit.part) else np.zeros(len(y), np.int64)
    below, above = y < last, y > 0
    upper = np.hstack([-d.X[below], cuts[part[below], y[below]]])
    lower = np.hstack([d.X[above], -cuts[part[above], y[above] - 1]])
    return np.unique(np.vstack([upper, lower]), axis=0)


def runaway(A: Floats) -> NDArray[np.bool_]:
    """Find which elements of d can move while a'd >= 0 for every row a, and a'd > 0 for some.

    Parameters
    ----------
    A : (M, P) float array
        Of full column rank, so that every direction but 0 raises some row.

    Returns
    -------
    (P,) bool array

    Examples
    --------
    >>> runaway(np.array([[1.0, 1.0], [-1.0, 0.0], [1.0, 0.0]]))
    array([False,  True])
    >>> runaway(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
    array([False, False])
    """
    P = A.shape[1]
    size = np.abs(A).max(axis=0, initial=0.0)
    own = A / np.where(size > 0, size, 1.0)
    if not _raises(own, own.sum(axis=0), len(own)):
        return np.zeros(P, bool)
    return np.array([any(_raises(own, sign * unit, 1) for sign in (1, -1)) for unit in np.eye(P)], bool)


def _raises(A: Floats, along: Floats, scale: float) -> bool:
    """Whether a direction d of the unit cube with Ad >= 0 has along'd > 0."""
    from scipy.optimize import linprog

    found = linprog(-along, A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs")
    return bool(found.status == 0 and -found.fun > TINY * scale)
