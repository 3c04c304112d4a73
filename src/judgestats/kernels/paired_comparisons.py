"""Strengths of systems from paired comparisons: Bradley and Terry's model, with ties by Davidson or by Rao and Kupper.

The log-odds of a comparison of systems i and j are η = β_i - β_j + x'γ, with a column of x for the slot and for each
covariate. Outcomes are win, loss and tie of i.

Bradley-Terry: P(win) = σ(η), P(loss) = σ(-η); a tie is half a win and half a loss.
Davidson: P(win) ∝ exp(η/2), P(loss) ∝ exp(-η/2), P(tie) ∝ ν; the parameter is τ = log ν.
Rao-Kupper: P(win) = σ(η - θ), P(loss) = σ(-η - θ); the parameter is τ = θ > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy  # scipy.linalg and scipy.sparse are loaded by their first use

from judgestats.kernels.compiling import njit
from judgestats.typing import Floats, Ints

#: How a tie enters the likelihood; the place of a model is its number in the compiled code.
Model = Literal["bradley-terry", "davidson", "rao-kupper"]
MODELS: tuple[Model, ...] = ("bradley-terry", "davidson", "rao-kupper")
#: Outcomes of a comparison for its first system, in the order of the columns of the counts.
WIN, LOSS, TIE = range(3)
_MOST_STEPS = 100
_TOLERANCE = 1e-9


@njit(cache=True)
def _log_sigmoid(x):  # type: ignore[no-untyped-def]
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


@njit(cache=True)
def _sigmoid(x):  # type: ignore[no-untyped-def]
    if x > 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@njit(cache=True)
def _outcome(model, outcome, eta, tau):  # type: ignore[no-untyped-def]
    """Log-probability of an outcome, its derivatives by η and τ, and its second ones by ηη, ητ and ττ."""
    if model == 0:
        p = _sigmoid(eta)
        curve = -p * (1 - p)
        if outcome == 0:
            return _log_sigmoid(eta), 1 - p, 0.0, curve, 0.0, 0.0
        if outcome == 1:
            return _log_sigmoid(-eta), -p, 0.0, curve, 0.0, 0.0
        return 0.5 * (_log_sigmoid(eta) + _log_sigmoid(-eta)), 0.5 - p, 0.0, curve, 0.0, 0.0
    if model == 1:
        half = eta / 2
        top = max(abs(half), tau)
        win, loss, tie = math.exp(half - top), math.exp(-half - top), math.exp(tau - top)
        total = win + loss + tie
        win, loss, tie = win / total, loss / total, tie / total
        mean = (win - loss) / 2
        ee, et, tt = mean * mean - (win + loss) / 4, mean * tie, -tie * (1 - tie)
        log_total = math.log(total) + top
        if outcome == 0:
            return half - log_total, 0.5 - mean, -tie, ee, et, tt
        if outcome == 1:
            return -half - log_total, -0.5 - mean, -tie, ee, et, tt
        return tau - log_total, -mean, 1 - tie, ee, et, tt
    if outcome == 0:
        p = _sigmoid(eta - tau)
        s = p * (1 - p)
        return _log_sigmoid(eta - tau), 1 - p, p - 1, -s, s, -s
    if outcome == 1:
        p = _sigmoid(-eta - tau)
        s = p * (1 - p)
        return _log_sigmoid(-eta - tau), p - 1, p - 1, -s, -s, -s
    above, below = _sigmoid(eta + tau), _sigmoid(eta - tau)
    one, two = above * (1 - above), below * (1 - below)
    grown = math.expm1(2 * tau)
    log_p = _log_sigmoid(eta + tau) + _log_sigmoid(tau - eta) + math.log(-math.expm1(-2 * tau))
    by_tau = 1 - above + below + 2 / grown
    return log_p, 1 - above - below, by_tau, -one - two, two - one, -one - two - 4 * (1 + 1 / grown) / grown


@njit(cache=True)
def _eta(system, opponent, extra, beta, gamma, row):  # type: ignore[no-untyped-def]
    eta = beta[system[row]] - beta[opponent[row]]
    for c in range(extra.shape[1]):
        eta += extra[row, c] * gamma[c]
    return eta


@njit(cache=True)
def _likelihood_derivatives(model, data, beta, gamma, tau):  # type: ignore[no-untyped-def]
    """Log-likelihood, gradient and Hessian by (β, γ, τ)."""
    system, opponent, extra, counts = data
    k, m = beta.size, gamma.size
    last = k + m
    gradient, hessian = np.zeros(last + 1), np.zeros((last + 1, last + 1))
    total = 0.0
    for r in range(system.size):
        eta = _eta(system, opponent, extra, beta, gamma, r)
        e = t = ee = et = tt = 0.0
        for o in range(3):
            n = counts[r, o]
            if n > 0:
                d = _outcome(model, o, eta, tau)
                total += n * d[0]
                e += n * d[1]
                t += n * d[2]
                ee += n * d[3]
                et += n * d[4]
                tt += n * d[5]
        i, j = system[r], opponent[r]
        gradient[i] += e
        gradient[j] -= e
        gradient[last] += t
        hessian[i, i] += ee
        hessian[j, j] += ee
        hessian[i, j] -= ee
        hessian[j, i] -= ee
        hessian[i, last] += et
        hessian[j, last] -= et
        hessian[last, last] += tt
        for a in range(m):
            x = extra[r, a]
            if x != 0:
                gradient[k + a] += e * x
                hessian[i, k + a] += ee * x
                hessian[j, k + a] -= ee * x
                hessian[k + a, last] += et * x
                for b in range(a, m):
                    hessian[k + a, k + b] += ee * x * extra[r, b]
    for a in range(last + 1):
        for b in range(max(a + 1, k), last + 1):
            hessian[b, a] = hessian[a, b]
    return total, gradient, hessian


class Comparisons(NamedTuple):
    """Counted comparisons."""

    system: Ints  # system, opponent (P,): the systems of each row, 0 to K - 1; they differ
    opponent: Ints
    extra: Floats  # (P, M): slot and covariates, as differences system minus opponent; the slot is 1
    counts: Floats  # (P, 3): wins, losses and ties of the system


@dataclass(frozen=True)
class Strengths:
    """A fit."""

    beta: Floats  # beta (K,), gamma (M,), tau: the parameters; tau is NaN without ties
    gamma: Floats
    tau: float
    log_likelihood: float  # without binomial coefficients, and without the pseudo-ties
    bread: Floats  # (K + M + 1, K + M + 1): inverse of the information, 0 for what is fixed; by (β, γ, τ)
    converged: bool  # whether the search did


def derivatives(
    model: Model, data: Comparisons, beta: Floats, gamma: Floats, tau: float
) -> tuple[float, Floats, Floats]:
    """Log-likelihood, gradient (Q,) and Hessian (Q, Q) by (β, γ, τ), Q = K + M + 1."""
    total, gradient, hessian = _likelihood_derivatives(MODELS.index(model), data, beta, gamma, tau)
    return total, gradient, hessian


def strengths(
    model: Model, data: Comparisons, component: Ints, pseudo_ties: float = 0.0, start: Strengths | None = None
) -> Strengths:
    """Fit by Newton's method with halved steps; all three likelihoods are concave.

    `component` (K,): systems on a common scale; the first of each has strength 0, unless there are `pseudo_ties` of
    each system with a reference of strength 0, each half a win and half a loss.
    """
    size, extras = component.size, data.extra.shape[1]
    last = size + extras
    free = np.ones(last + 1, dtype=bool)
    if not pseudo_ties:
        free[np.unique(component, return_index=True)[1]] = False
    free[last] = model != "bradley-terry"
    at = np.zeros(last + 1) if start is None else np.concatenate([start.beta, start.gamma, [start.tau]])
    if model != "bradley-terry" and (start is None or not math.isfinite(start.tau)):
        share = data.counts[:, TIE].sum() / data.counts.sum()
        odds = min(max(share / (1 - share), 1e-8), 1e8)
        at[last] = math.log(2 * odds) if model == "davidson" else math.log1p(2 * odds) / 2
    at[~free] = 0.0
    objective = _objective(model, data, at, size, pseudo_ties)
    converged = not free.any()
    for _ in range(_MOST_STEPS):
        value, gradient, hessian = objective[:3]
        try:
            factor = scipy.linalg.cho_factor(-hessian[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            break
        step = np.zeros(last + 1)
        step[free] = scipy.linalg.cho_solve(factor, gradient[free])
        gain = float(step @ gradient)
        converged = gain < _TOLERANCE * _TOLERANCE * max(1.0, abs(value)) * 1e4
        length = 1.0
        while length > 1e-10:
            trial = at + length * step
            if model != "rao-kupper" or trial[last] > 0:
                new = _objective(model, data, trial, size, pseudo_ties)
                if new[0] >= value - 1e-12 * abs(value):
                    break
            length /= 2
        else:
            break
        at, objective = trial, new
        if converged:
            break
    bread = np.zeros((last + 1, last + 1))
    if free.any():
        try:
            bread[np.ix_(free, free)] = np.linalg.inv(-objective[2][np.ix_(free, free)])
        except np.linalg.LinAlgError:
            bread[:] = math.nan
            converged = False
    tau = float(at[last]) if free[last] else math.nan
    return Strengths(at[:size], at[size:last], tau, objective[3], bread, converged)


def _objective(
    model: Model, data: Comparisons, at: Floats, size: int, pseudo_ties: float
) -> tuple[float, Floats, Floats, float]:
    """Penalised log-likelihood, its gradient and Hessian; and the likelihood alone."""
    beta, gamma, tau = at[:size], at[size:-1], float(at[-1])
    value, gradient, hessian = derivatives(model, data, beta, gamma, tau)
    if not pseudo_ties:
        return value, gradient, hessian, value
    p = 0.5 * (1 + np.tanh(beta / 2))
    gradient[:size] += pseudo_ties * (0.5 - p)
    hessian[np.arange(size), np.arange(size)] -= pseudo_ties * p * (1 - p)
    penalty = -0.5 * pseudo_ties * float((np.logaddexp(0, beta) + np.logaddexp(0, -beta)).sum())
    return value + penalty, gradient, hessian, value


@njit(cache=True)
def _scores(model, data, beta, gamma, tau, row, outcome):  # type: ignore[no-untyped-def]
    system, opponent, extra, _ = data
    by_eta, by_tau = np.empty(row.size), np.empty(row.size)
    for i in range(row.size):
        d = _outcome(model, outcome[i], _eta(system, opponent, extra, beta, gamma, row[i]), tau)
        by_eta[i], by_tau[i] = d[1], d[2]
    return by_eta, by_tau


@njit(cache=True)
def _leverages(model, data, beta, gamma, tau, bread, row, outcome):  # type: ignore[no-untyped-def]
    system, opponent, extra, _ = data
    k, m = beta.size, gamma.size
    leverage = np.empty(row.size)
    for c in range(row.size):
        r = row[c]
        i, j = system[r], opponent[r]
        d = _outcome(model, outcome[c], _eta(system, opponent, extra, beta, gamma, r), tau)
        square, cross = bread[i, i] + bread[j, j] - 2 * bread[i, j], bread[i, k + m] - bread[j, k + m]
        for a in range(m):
            square += 2 * extra[r, a] * (bread[i, k + a] - bread[j, k + a])
            cross += extra[r, a] * bread[k + a, k + m]
            for b in range(m):
                square += extra[r, a] * extra[r, b] * bread[k + a, k + b]
        leverage[c] = -d[3] * square - 2 * d[4] * cross - d[5] * bread[k + m, k + m]
    return leverage


def leverages(model: Model, data: Comparisons, fit: Strengths, row: Ints, outcome: Ints) -> Floats:
    """Trace (C,) of the bread times the information of one call at a row and outcome."""
    tau = fit.tau if math.isfinite(fit.tau) else 0.0
    trace: Floats = _leverages(MODELS.index(model), data, fit.beta, fit.gamma, tau, fit.bread, row, outcome)
    return trace


@njit(cache=True)
def _meat(data, by_eta, by_tau, row, weight, order, start, size):  # type: ignore[no-untyped-def]
    system, opponent, extra, _ = data
    m = extra.shape[1]
    q = size + m + 1
    meat, score = np.zeros((q, q)), np.zeros(q)
    touched, there = np.empty(q, dtype=np.int64), np.zeros(q, dtype=np.bool_)
    for g in range(start.size - 1):
        used = 0
        for at in range(start[g], start[g + 1]):
            c = order[at]
            r, w = row[c], weight[c]
            for place in (system[r], opponent[r]):
                if not there[place]:
                    there[place] = True
                    touched[used] = place
                    used += 1
            score[system[r]] += w * by_eta[c]
            score[opponent[r]] -= w * by_eta[c]
            for a in range(m):
                score[size + a] += w * by_eta[c] * extra[r, a]
            score[q - 1] += w * by_tau[c]
        for a in range(size, q):
            touched[used] = a
            used += 1
        for a in range(used):
            one = touched[a]
            for b in range(used):
                meat[one, touched[b]] += score[one] * score[touched[b]]
        for a in range(used):
            score[touched[a]] = 0.0
            there[touched[a]] = False
    return meat


def meat(
    model: Model, data: Comparisons, fit: Strengths, row: Ints, outcome: Ints, n: Floats, cluster: Ints | None = None
) -> Floats:
    """Sum over the clusters (C,) of the products of their scores by (β, γ, τ); n (C,) calls at a row and outcome."""
    tau = fit.tau if math.isfinite(fit.tau) else 0.0
    by_eta, by_tau = _scores(MODELS.index(model), data, fit.beta, fit.gamma, tau, row, outcome)
    if cluster is None:
        order, start, weight = np.arange(row.size), np.arange(row.size + 1), np.sqrt(n)
    else:
        order, start, weight = np.argsort(cluster, kind="stable"), np.append(0, np.cumsum(np.bincount(cluster))), n
    whole: Floats = _meat(data, by_eta, by_tau, row, weight, order, start, fit.beta.size)
    return whole
