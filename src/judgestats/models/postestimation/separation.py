"""Separation, and other parameters that diverge to infinity."""

from __future__ import annotations

from itertools import product

import numpy as np

from judgestats import flags
from judgestats.models.fitted_models import Fitted
from judgestats.models.likelihood.compression import distinct
from judgestats.models.links import LINKS
from judgestats.models.postestimation.mean_responses import rows_of
from judgestats.models.variance_parameters import components
from judgestats.typing import Floats, Mask

#: A gain below it, in the unit cube, is rounding error.
TINY = 1e-6
#: A mean is this share of a size that has run off: the variance of a count is Poisson's but for it.
NEGLIGIBLE = 1e-4


def separated(fit: Fitted) -> tuple[str, ...]:
    """Parameters that diverge.

    Fixed effects and thresholds do where they separate the response, completely or quasi-completely: along a
    direction no observed answer becomes less probable and some more, a linear programme. All do, with a term's standard
    deviation, where each of its levels always answers alike; a size does where counts vary no more than Poisson's.
    """
    if fit.distribution.linear or not fit.n_location:
        return ()
    if fit.distribution.limit:
        means = np.exp(rows_of(fit).eta(fit))
        endless = bool(means.max() < NEGLIGIBLE * np.exp(fit.params[fit.n_fixed]))
        return (*_predicting(fit), *(fit.thresholds.names if endless else ()))
    constant = constant_terms(fit)
    if not constant:
        return _predicting(fit)
    of_terms = [name for own in components(fit) if own.t in constant for name in fit.names[own.elements]]
    return tuple(dict.fromkeys([*fit.names[: fit.n_location], *of_terms]))


def why_endless(fit: Fitted, name: str) -> flags.Flag:
    """The flag of a parameter that diverges."""
    return flags.NO_OVERDISPERSION if fit.distribution.limit and name in fit.thresholds.names else flags.SEPARATION


def constant_terms(fit: Fitted) -> tuple[int, ...]:
    """Random terms that run off because each of their levels always answers alike, by their number."""
    d = fit.design
    if not fit.distribution.categorical:
        return ()
    answer = np.where(d.y % d.trials == 0, d.y / d.trials, np.nan) if fit.distribution.has_trials else d.y
    result = []
    for t, (term, L) in enumerate(zip(d.terms, fit.factors(), strict=True)):
        first = answer[np.unique(term.codes, return_index=True)[1]]
        alike = bool((answer == first[term.codes]).all())
        if alike and np.sqrt((L**2).sum(axis=1)).max() > LINKS[fit.link].extreme:
            result.append(t)
    return tuple(result)


def _predicting(fit: Fitted) -> tuple[str, ...]:
    """Fixed effects and thresholds that separate the response."""
    if not _suspect(fit):
        return ()
    moves = runaway(_constraints(fit))
    return tuple(name for name, moves_off in zip(fit.names, moves, strict=False) if moves_off)


def _suspect(fit: Fitted) -> bool:
    """Whether any answer is predicted with probability near 1: else there is no separation."""
    eta = rows_of(fit).eta(fit)
    if not np.isfinite(eta).all():
        return True
    reach = fit.shape(fit.params) - eta[:, None] if fit.distribution.ordered else eta
    return fit.distribution.runs_away(reach, LINKS[fit.link].extreme)


def _constraints(fit: Fitted) -> Floats:
    """Rows a of parameters β, τ such that no answer loses probability along d where a'd >= 0 for all."""
    d = fit.design
    if not d.categories:
        up, down = fit.distribution.losing(d.y, d.trials)
        return _sorted(np.vstack([d.X[up], -d.X[down]]))
    y, last = d.y.astype(np.int64), len(d.categories) - 1
    if fit.distribution.per_class:
        answers, others = _sorted(np.column_stack([y, d.X])), np.eye(last + 1)[:, 1:]
        beside = others[answers[:, 0].astype(np.int64)][:, None] - others  # (N, J, J - 1): the class, less each
        return _sorted(np.einsum("njk,np->njkp", beside, answers[:, 1:]).reshape(-1, fit.n_fixed))
    cuts = fit.thresholds.map
    part = fit.parts
    below, above = y < last, y > 0
    upper = np.hstack([-d.X[below], cuts[part[below], y[below]]])
    lower = np.hstack([d.X[above], -cuts[part[above], y[above] - 1]])
    return _sorted(np.vstack([upper, lower]))


def _sorted(rows: Floats) -> Floats:
    """Distinct rows in order; few of many, which is why only those are sorted."""
    return np.unique(rows[distinct(rows)[0]], axis=0)


def runaway(A: Floats) -> Mask:
    """Elements of d (P,) that can be other than 0 with a'd >= 0 for every row a of A (full rank), and > 0 for one."""
    P = A.shape[1]
    size = np.abs(A).max(axis=0, initial=0.0)
    own = A / np.where(size > 0, size, 1.0)
    moves = np.abs(_direction(own, own.sum(axis=0), len(own))) > TINY
    if moves.any():
        for k, sign in product(range(P), (1, -1)):  # what moved in a direction met before is not asked again
            if not moves[k]:
                moves |= np.abs(_direction(own, sign * np.eye(P)[k], 1)) > TINY
    return moves


def _direction(A: Floats, along: Floats, scale: float) -> Floats:
    """A direction d of the unit cube with Ad >= 0 and along'd > 0; 0 if there is none."""
    from scipy.optimize import linprog

    programme = linprog(-along, A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs")
    there = programme.status == 0 and -programme.fun > TINY * scale
    return np.asarray(programme.x if there else np.zeros(len(along)), np.float64)
