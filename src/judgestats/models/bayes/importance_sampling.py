"""Posterior of a model whose random effects can be integrated out, by importance sampling.

The remaining parameters are fixed effects, thresholds and standard deviations. Their log posterior is the objective of
the likelihood engine plus the log priors. The engine's minimiser finds the mode; points are drawn from multivariate t
distributions near it, weighted by the posterior with Pareto-smoothed weights, and resampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from judgestats.defaults import SEED
from judgestats.errors import DesignError, FitError
from judgestats.models.bayes.centred_priors import CentredPrior, prior_of
from judgestats.models.bayes.draws import Draws, smoothed
from judgestats.models.likelihood.minimisation import minimise
from judgestats.models.likelihood.objectives import LinearObjective
from judgestats.models.likelihood.starting_values import first_guess, fixed_start, turned
from judgestats.models.ml import gaussian, generalised
from judgestats.models.specifications import Model
from judgestats.typing import Floats

#: Degrees of freedom of the proposals, and how much wider than the curvature they are.
DF, WIDER = 5.0, 1.2
#: Points of a pilot round, which determines the proposal of the next one.
PILOT = 250


@dataclass(frozen=True)
class Target:
    """Minus a log posterior of a few unbounded coordinates."""

    names: tuple[str, ...]  # of the parameters
    slope: Callable[[Floats], tuple[float, Floats]]  # value and gradient
    value: Callable[[Floats], float]  # value alone
    start: Floats  # (P,)
    guess: Floats  # (P, P): initial inverse Hessian
    # (S, P) coordinates and a generator -> (S, K) parameters
    parameters: Callable[[Floats, np.random.Generator], Floats]
    method: str
    # (S, P) coordinates -> log prior plus log Jacobian without constants, the part of minus `value` that is not the log
    # likelihood
    unweighted: Callable[[Floats], Floats] | None = None


def integrated(model: Model, priors: Mapping[str, Any] | None = None, *, draws: int = 1000, seed: int = SEED) -> Draws:
    """Draw from the posterior of fixed effects, thresholds and standard deviations, with random effects integrated out.

    Binomial, cumulative and Poisson models with one scalar random term (or none) are integrated by
    ``n_quadrature="auto"`` unless they give a number of nodes; Gaussian ones with any number of scalar terms exactly.
    `priors`: parameter or kind (``fixed``, ``threshold``, ``sd``) -> scale of a normal about 0, half-normal for an sd;
    ``(scale, df)`` for a t; ``inf`` for a flat prior. An sd is drawn on the log scale, so it is never 0; fixed effects
    of a Gaussian model given the sds.

    Vehtari, A., Simpson, D., Gelman, A., Yao, Y., & Gabry, J. (2024). Pareto smoothed importance sampling. JMLR, 25.
    """
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 100:
        raise DesignError(f"draws={draws!r} is not allowed. Give a whole number of 100 or more, such as 1000.")
    target = _linear(model, priors or {}) if model.distribution.linear else _generalised(model, priors or {})
    return importance_draws(target, draws, seed, f"The posterior of {model.design.formula.source!r}")


def importance_draws(target: Target, draws: int, seed: int, what: str = "The posterior") -> Draws:
    """Draw from a posterior of few coordinates by importance sampling at its mode; `what` names it in the message."""
    mode = minimise(target.slope, target.start, target.guess)
    if not np.isfinite(mode.value) or not np.isfinite(mode.x).all():
        raise FitError(
            f"{what} has no mode. Give tighter priors, or see fit(...).check() for terms not determined by the data."
        )
    rng = np.random.default_rng(seed)
    points, log_posterior, log_weights = _weighted(target, mode.x, _spread(mode.hessian), draws, rng)
    weights, k = smoothed(log_weights)
    number = draws - draws % 4
    edges = np.cumsum(weights)  # systematic resampling
    chosen = rng.permutation(np.searchsorted(edges / edges[-1], (np.arange(number) + rng.random()) / number))
    values = target.parameters(points[chosen], rng).reshape(4, -1, len(target.names))
    likelihood = None
    if target.unweighted is not None:
        likelihood = (log_posterior[chosen] - target.unweighted(points[chosen])).reshape(4, -1)
    return Draws(
        {name: values[..., i] for i, name in enumerate(target.names)},
        dict.fromkeys(target.names, ()),
        0,
        f"posterior, {target.method}, importance sampling of {draws}",
        pareto_k=k,
        importance_ess=float(1 / (weights**2).sum()),
        log_likelihood=likelihood,
    )


def _generalised(model: Model, priors: Mapping[str, Any]) -> Target:
    """Posterior in the coordinates of the engine's minimiser, with sds on the log scale."""
    terms = model.design.terms
    adaptive = replace(model, n_quadrature="auto") if model.n_quadrature == 1 and terms else model
    if terms and adaptive.rule == 1:
        raise DesignError(
            f"{model.design.formula.source!r}: only one scalar random term, such as (1|item), can be integrated "
            "out here. Use engine='pymc'."
        )
    table, plain = generalised(adaptive)
    own, turn = turned(plain)
    beta, tau = fixed_start(own.rows, model.thresholds, model.distribution.start(own.rows))
    free = len(beta) + len(tau)
    names = (*model.design.names, *model.thresholds.names, *(f"sd({t.factor})" for t in terms))
    kinds = ["fixed"] * len(beta) + ["threshold"] * len(tau) + ["sd"] * len(terms)
    own_priors = _stated_priors(priors, names, kinds, {"fixed": 2.5, "threshold": 5.0, "sd": 1.0})

    def params(w: Floats) -> Floats:
        x = w.copy()
        with np.errstate(over="ignore"):
            x[..., free:] = np.exp(w[..., free:])
        return np.asarray(x @ turn.T, np.float64)

    def prior(at: Floats) -> tuple[float, Floats]:
        each = [p.loss(v) for p, v in zip(own_priors, at, strict=True)]
        return sum(e[0] for e in each), np.array([e[1] for e in each])

    def slope(w: Floats) -> tuple[float, Floats]:
        at = params(w)
        x = np.append(w[:free], np.exp(w[free:]))
        if not np.isfinite(at).all():
            return np.inf, np.full(len(w), np.nan)
        value, gradient = own(x)
        more, by = prior(at)
        gradient = gradient + turn.T @ by
        gradient[free:] = gradient[free:] * x[free:] - 1.0
        return value + more - float(w[free:].sum()), gradient

    def value(w: Floats) -> float:
        at = params(w)
        return plain.value(at) + prior(at)[0] - float(w[free:].sum()) if np.isfinite(at).all() else np.inf

    start = np.concatenate([beta, tau, np.zeros(len(terms))])
    first = np.concatenate([beta, tau, np.ones(len(terms))])
    how = (
        "no random effects" if not terms else "trapezoid" if adaptive.rule == "auto" else f"quadrature {adaptive.rule}"
    )
    return Target(names, slope, value, start, first_guess(own, table, first), lambda w, _: params(w), how)


@dataclass(frozen=True)
class _Collapsed:
    """A Gaussian model in log relative sds and the log residual sd, with β integrated out under its normal prior."""

    objective: LinearObjective
    precision: Floats
    priors: list[CentredPrior]

    def at(self, w: Floats) -> tuple[float, Floats, Floats]:
        """Minus the log posterior, and conditional mean and covariance of β."""
        with np.errstate(over="ignore", under="ignore"):
            theta, variance = np.exp(w[:-1]), float(np.exp(2 * w[-1]))
        p = len(self.precision)
        nothing = np.inf, np.full(p, np.nan), np.full((p, p), np.nan)
        if not (np.isfinite(theta).all() and 0 < variance < np.inf):
            return nothing
        try:
            fit = self.objective.at(theta)
        except np.linalg.LinAlgError:  # sds of such different size that β is not determined
            return nothing
        if not np.isfinite(fit.objective):
            return nothing
        ratio = fit.residual / variance
        value = fit.objective + self.objective.cells.n / 2 * (ratio - 1 - np.log(ratio))
        information = fit.information / variance
        both = information + np.diag(self.precision)
        mean = np.asarray(np.linalg.solve(both, information @ fit.beta), np.float64)
        value += np.linalg.slogdet(both)[1] / 2 + float(fit.beta @ information @ (fit.beta - mean)) / 2
        sigma = np.sqrt(variance)
        value += sum(p.loss(s)[0] for p, s in zip(self.priors, [*(theta * sigma), sigma], strict=True))
        value -= float(w[:-1].sum() + len(w) * w[-1])
        return float(value), mean, np.asarray(np.linalg.inv(both), np.float64)


def _linear(model: Model, priors: Mapping[str, Any]) -> Target:
    d = model.design
    if any(len(t.names) > 1 for t in d.terms):
        raise DesignError(
            f"{d.formula.source!r} has a random term with several columns; only scalar ones can be integrated out, "
            "such as (1|item) or (0 + x|item). Use engine='pymc'."
        )
    scale = float(np.sqrt(np.cov(d.y, fweights=d.count.astype(int)))) or 1.0
    names = (*d.names, *(f"sd({t.factor})" for t in d.terms), "sd(residual)")
    kinds = ["fixed"] * len(d.names) + ["sd"] * (len(d.terms) + 1)
    chosen = _stated_priors(priors, names, kinds, {"fixed": np.inf, "sd": scale})
    p = len(d.names)
    for name, prior in zip(names[:p], chosen[:p], strict=True):
        if prior.df is not None:
            raise DesignError(f"priors[{name!r}]: a fixed effect of a Gaussian model has a normal prior. Give a scale.")
    precision = np.array([1 / c.scale**2 for c in chosen[:p]])
    target = _Collapsed(gaussian(replace(model, reml=False)), precision, chosen[p:])

    def slope(w: Floats) -> tuple[float, Floats]:
        value, steps = target.at(w)[0], np.eye(len(w)) * 1e-5
        if not np.isfinite(value):
            return np.inf, np.full(len(w), np.nan)
        return value, np.array([target.at(w + h)[0] - target.at(w - h)[0] for h in steps]) / 2e-5

    def parameters(points: Floats, rng: np.random.Generator) -> Floats:
        moments = [target.at(w) for w in points]
        noise = rng.standard_normal((len(points), p))
        beta = [m + np.linalg.cholesky(c) @ e for (_, m, c), e in zip(moments, noise, strict=True)]
        sigma = np.exp(points[:, -1:])
        return np.hstack([np.array(beta).reshape(-1, p), np.exp(points[:, :-1]) * sigma, sigma])

    def unweighted(points: Floats) -> Floats:
        sds = np.exp(np.hstack([points[:, :-1] + points[:, -1:], points[:, -1:]]))
        logs = sum((c.log_density(sds[:, i]) for i, c in enumerate(chosen[p:])), np.zeros(len(points)))
        return np.asarray(logs + points[:, :-1].sum(axis=1) + points.shape[1] * points[:, -1], np.float64)

    k = len(d.terms)
    start = np.append(np.zeros(k), np.log(scale / np.sqrt(1 + k)))
    value = lambda w: target.at(w)[0]  # noqa: E731
    return Target(names, slope, value, start, np.eye(k + 1) * 0.1, parameters, "exact integration", unweighted)


def _stated_priors(
    priors: Mapping[str, Any], names: tuple[str, ...], kinds: list[str], defaults: Mapping[str, float]
) -> list[CentredPrior]:
    """Prior of each parameter: as given for it, else for its kind, else the default."""
    unknown = [n for n in priors if n not in names and n not in defaults]
    if unknown:
        raise DesignError(
            f"priors has {unknown[0]!r}, which is not a parameter. Parameters: {', '.join(names)}; kinds: "
            f"{', '.join(defaults)}."
        )
    stated = [(n, k, priors.get(n, priors.get(k, defaults[k]))) for n, k in zip(names, kinds, strict=True)]
    return [prior_of(value, name, half=kind == "sd") for name, kind, value in stated]


def _spread(curvature: Floats) -> Floats:
    """Lower Cholesky factor of the inverse curvature; axes without curvature get a width of 1."""
    size, axes = np.linalg.eigh(curvature if np.isfinite(curvature).all() else np.eye(len(curvature)))
    width = 1 / np.sqrt(np.where(size > 1e-2, size, 1.0))
    return np.asarray(np.linalg.cholesky((axes * width**2) @ axes.T), np.float64)


def _weighted(
    target: Target, mode: Floats, factor: Floats, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Points, log posterior and log weights, from a proposal at the mode and one adapted to pilot rounds."""
    first = second = (mode, WIDER * factor)
    for _ in range(1 + (len(mode) > 4)):
        second = _adapted(target, second, factor, rng)
    half = draws // 4
    points = np.vstack([_t_points(*first, half, rng), _t_points(*second, draws - half, rng)])
    proposed = np.logaddexp(
        np.log(half / draws) + _t_log(points, *first), np.log(1 - half / draws) + _t_log(points, *second)
    )
    log_posterior = -np.array([target.value(w) for w in points])
    return points, log_posterior, log_posterior - proposed


def _adapted(
    target: Target, before: tuple[Floats, Floats], factor: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The proposal with the weighted mean and covariance of points from the previous proposal."""
    number = PILOT * max(1, len(factor) // 3)
    pilot = _t_points(*before, number, rng)
    log_weights = -np.array([target.value(w) for w in pilot]) - _t_log(pilot, *before)
    weights = np.exp(log_weights - logsumexp(log_weights))
    weights = np.minimum(weights, 5 / number**0.75)  # no single point dominates the proposal
    weights /= weights.sum()
    mean = weights @ pilot
    moved = (pilot - mean) * np.sqrt(weights)[:, None]
    return mean, WIDER * np.linalg.cholesky(moved.T @ moved + 1e-3 * factor @ factor.T)


def _t_points(mean: Floats, factor: Floats, n: int, rng: np.random.Generator) -> Floats:
    wide = np.sqrt(DF / rng.chisquare(DF, n))
    return np.asarray(mean + wide[:, None] * rng.standard_normal((n, len(mean))) @ factor.T, np.float64)


def _t_log(points: Floats, mean: Floats, factor: Floats) -> Floats:
    """Log density of a multivariate t."""
    P = len(mean)
    squares = (np.linalg.solve(factor, (points - mean).T) ** 2).sum(axis=0)
    constant = gammaln((DF + P) / 2) - gammaln(DF / 2) - P / 2 * np.log(DF * np.pi) - np.log(np.diag(factor)).sum()
    return np.asarray(constant - (DF + P) / 2 * np.log1p(squares / DF), np.float64)
