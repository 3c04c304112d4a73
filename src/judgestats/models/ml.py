"""The likelihood engine: objective, minimise, wrap. (Parsing is :func:`judgestats.models.designs.design`.)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from judgestats import flags, methods
from judgestats.errors import DesignError
from judgestats.kernels.elimination import Structure, cross, solve_many
from judgestats.kernels.kenward_roger import KenwardRoger, kenward_roger
from judgestats.kernels.laplace import Laplace
from judgestats.kernels.likelihoods import losses
from judgestats.kernels.linear_mixed import Profile
from judgestats.kernels.quadrature import Trapezoid
from judgestats.models.designs import Design
from judgestats.models.fitted_models import Deferred, Fitted, Refinement
from judgestats.models.likelihood.compression import Compressed, columns, compress
from judgestats.models.likelihood.conditional_modes import ConditionalEffects
from judgestats.models.likelihood.minimisation import Minimum, hessian, minimise
from judgestats.models.likelihood.objectives import (
    GeneralisedObjective,
    LinearObjective,
    laplace,
    linear,
    quadrature,
    trapezoid,
)
from judgestats.models.likelihood.starting_values import elsewhere, even, first_guess, fixed_start, orthogonal, turned
from judgestats.models.specifications import Model
from judgestats.threads import one_blas_thread
from judgestats.typing import Floats, Ints, Mask

#: A standard deviation below it, relative to the scale of the linear predictor, is zero (as in lme4).
BOUNDARY = 1e-4
#: Information on a coefficient, as a share of what a row could carry, below which it is diverging.
FLAT = 1e-6
#: Residual variance, as a share of the mean square of the response, that is rounding (as in R's summary of an lm, with
#: room for our arithmetic); and as a share of its variance, in a mixed model whose search runs towards 0.
ROUNDING, VANISHING = 1e-26, 1e-9
#: How often the whole trapezoidal rule is doubled where it does not stand still.
MOST_EXTRA = 2


@one_blas_thread()
def fit_design(model: Model) -> Fitted:
    """Fit by maximum likelihood, or by restricted likelihood."""
    return _fit_linear(model) if model.distribution.linear else _fit_generalised(model)


def generalised(model: Model) -> tuple[Compressed, GeneralisedObjective]:
    """Second step of the engine, but for Gaussian models: compress the rows and lay out what is to be minimised."""
    n, kind = model.rule, model.kernel
    if n not in (1, "auto") and not model.scalar:
        got = " + ".join(f"({', '.join(t.names)} | {t.factor})" for t in model.design.terms) or "none"
        raise DesignError(
            f"n_quadrature={n} needs one scalar random term, such as (1|item) or (0 + x|item). Got: {got}. "
            'Leave it out: "auto" then takes the Laplace approximation.'
        )
    table = compress(model.design, model.parts, additive=model.distribution.additive)
    if n == "auto":
        return table, trapezoid(table, kind, model.thresholds)
    return table, laplace(table, kind, model.thresholds) if n == 1 else quadrature(table, kind, model.thresholds, n)


def gaussian(model: Model) -> LinearObjective:
    """The same for a Gaussian model: β and the residual sd are profiled out, by ML without random terms."""
    d = model.design
    table = compress(d, model.parts, groups=False)
    return linear(table, float(d.count.sum()), float(d.count @ np.log(d.weights)), model.reml and bool(d.terms))


def _fit_generalised(model: Model) -> Fitted:
    table, target = generalised(model)
    own, turn = turned(target)
    beta, tau = fixed_start(own.rows, model.thresholds, model.distribution.start(own.rows))
    free = len(beta) + len(tau)
    start = np.concatenate([beta, tau, own.scales.diagonal.astype(float)])
    guess = first_guess(own, table, start)
    minimum = _searched(own, start, guess)
    if not minimum.converged and isinstance(own.kernel, Trapezoid) and own.kernel.exhausted:
        coarse = _fit_generalised(replace(model, n_quadrature=1))
        return replace(coarse, notes=(*coarse.notes, flags.LAPLACE_INSTEAD))
    params, covariance, boundary, sound = _estimates(own, target, minimum, turn, free)
    refinement = _refinement(model, table, target, params, covariance)
    while refinement is not None and not refinement.settled and _doubled(target):
        minimum = minimum.followed_by(minimise(own, minimum.x, guess, curved=own.hessian))
        params, covariance, boundary, sound = _estimates(own, target, minimum, turn, free)
        refinement = _refinement(model, table, target, params, covariance)
    steps = [{**row, "x": turn @ row["x"]} for row in minimum.log]
    d = model.design
    loglik = float((d.count * d.weights) @ model.distribution.constant(d.y, d.trials)) - target(params)[0]
    method = _method(model, target)
    notes = _notes(minimum.converged, bool(boundary.any()), sound)
    if refinement is not None and not refinement.settled:
        notes = (*notes, flags.UNSETTLED)
    effects = Deferred(partial(_posterior, model, params, covariance))
    fitted = Fitted(model, "ml", method, params, covariance, loglik, minimum.converged, notes, effects=effects)
    trace = _trace(model, replace(minimum, log=steps))
    return refittable(replace(fitted, objective=target, trace=trace, refinement=refinement), fit_design)


def _searched(own: GeneralisedObjective, start: Floats, guess: Floats) -> Minimum:
    """The minimum; of a trapezoidal rule it is looked for with the first sum, and from there with the whole rule."""
    rough = replace(own, kernel=own.kernel.rough()) if isinstance(own.kernel, Trapezoid) else None
    bent = rough.hessian if rough is not None and own.exact else None
    return _once_more(own, minimise(own, start, guess, rough=rough, bent=bent, curved=own.hessian), guess)


def _estimates(
    own: GeneralisedObjective, target: GeneralisedObjective, minimum: Minimum, turn: Floats, free: int
) -> tuple[Floats, Floats, Mask, bool]:
    """Parameters and covariance in the model's coordinates, what sits on the boundary, whether errors are known."""
    x, boundary = _settle(own, minimum, free)
    turn = np.append(np.ones(free), own.scales.signs(x[free:]))[:, None] * turn
    covariance, sound = _covariance(minimum.hessian, boundary)
    if sound:
        covariance = turn @ covariance @ turn.T
    else:
        covariance, sound = _partly(target, minimum.hessian, turn, boundary, free)
    return turn @ x, covariance, boundary, sound


def _doubled(target: GeneralisedObjective) -> bool:
    """Double the trapezoidal rule, as long as that is of use."""
    kernel = target.kernel
    if not isinstance(kernel, Trapezoid) or kernel.extra == MOST_EXTRA:
        return False
    kernel.extra += 1
    return True


def _method(model: Model, target: GeneralisedObjective) -> str:
    """What was used at the parameters evaluated last."""
    if isinstance(target.kernel, Trapezoid):
        least, most = target.kernel.ranges.intervals.min(), target.kernel.ranges.intervals.max()
        return methods.TRAPEZOID.noting(f"{least}" if least == most else f"{least} to {most}", " ")
    if model.rule != 1:
        return methods.AGQ.noting(str(model.rule), " ")
    return methods.LAPLACE if model.design.terms else methods.ML


def _refinement(
    model: Model, table: Compressed, target: GeneralisedObjective, params: Floats, covariance: Floats
) -> Refinement | None:
    """Compare a rule with one that is refined until it stands still, and then doubled."""
    if model.rule == 1:
        return None
    extra = target.kernel.extra if isinstance(target.kernel, Trapezoid) else 0
    finer = trapezoid(table, model.kernel, model.thresholds, extra + 1)
    return _compared(target, finer, params, covariance)


def refined(fit: Fitted) -> Refinement | None:
    """Compare a fit with the refined rule, also one by Laplace's approximation; None without a scalar term."""
    model = replace(fit.model, n_quadrature="auto")
    if fit.engine != "ml" or fit.method != "Laplace" or model.rule == 1 or fit.objective is None:
        return fit.refinement
    return _compared(fit.objective, generalised(model)[1], fit.params, fit.covariance)


def _compared(
    target: Callable[[Floats], tuple[float, Floats]], finer: GeneralisedObjective, params: Floats, covariance: Floats
) -> Refinement:
    """By how much a finer rule moves a fit."""
    (value, gradient), (better, slope) = target(params), finer(params)
    variances = np.nan_to_num(covariance, nan=0.0)
    step, error = -variances @ (slope - gradient), np.sqrt(np.maximum(np.diag(variances), 0.0))
    moves = np.abs(step[error > 0]) / error[error > 0]
    gain = -0.5 * float((slope - gradient) @ step)
    return Refinement(float(value - better + gain), float(moves.max(initial=0.0)))


def _once_more(target: GeneralisedObjective | LinearObjective, minimum: Minimum, guess: Floats) -> Minimum:
    """Try again from elsewhere where a variance went to zero."""
    for start in elsewhere(target, minimum.x, minimum.hessian):
        again = minimise(target, start, guess)
        margin = -1e-7 if (again.x == 0).sum() > (minimum.x == 0).sum() else 1e-6
        if again.value < minimum.value - margin:
            minimum = minimum.followed_by(again)
    return minimum


def _settle(target: GeneralisedObjective | LinearObjective, minimum: Minimum, free: int) -> tuple[Floats, Mask]:
    """Set standard deviations that are zero up to rounding to zero; return which parameters are on the boundary."""
    x = minimum.x.copy()
    diagonal = target.scales.diagonal
    boundary = np.zeros(len(x), bool)
    for c in np.flatnonzero(diagonal & (np.abs(x[free:]) < 0.02)):
        trial = x.copy()
        column = target.scales.row == target.scales.row[c]
        trial[free:][column] = 0.0
        if abs(x[free + c]) < BOUNDARY or target(trial)[0] <= minimum.value + 1e-7:
            rest = column & ~diagonal & (np.abs(x[free:]) >= 0.02)
            if not rest.any():
                x = trial
                boundary[free:] |= column
            else:
                x[free + c] = 0.0
                boundary[free + c] = True
    return x, boundary


def _covariance(curvature: Floats, boundary: Mask) -> tuple[Floats, bool]:
    """Inverse Hessian given the boundary: 0 for what sits there, NaN where the rest is not positive definite."""
    inside = ~boundary
    result = np.zeros_like(curvature)
    own = curvature[np.ix_(inside, inside)]
    scale = np.sqrt(np.abs(np.diag(own))) + 1e-300
    with np.errstate(all="ignore"):
        alike = own / np.outer(scale, scale)
    size = np.linalg.eigvalsh(alike) if np.isfinite(alike).all() else np.array([-1.0])
    sound = bool(len(size) == 0 or size.min() > 1e-7)
    result[np.ix_(inside, inside)] = np.linalg.inv(own) if sound else np.nan
    return result, sound


def _partly(
    target: GeneralisedObjective, curvature: Floats, turn: Floats, boundary: Mask, free: int
) -> tuple[Floats, bool]:
    """Covariance where the Hessian is not positive definite: without flat directions, or given the variances."""
    d = target.rows
    back = np.linalg.inv(turn)
    curvature = np.asarray(back.T @ curvature @ back, np.float64)
    most = np.full(len(curvature), float(d.m @ d.times))
    most[: d.X.shape[1]] = (d.m * d.times) @ d.X**2
    variance = np.arange(len(curvature)) >= free
    flat = (np.diag(curvature) < FLAT * most) & ~variance
    covariance, sound = _covariance(curvature, boundary | flat)
    if not sound:
        covariance, _ = _covariance(curvature, variance | flat)
        covariance[variance] = covariance[:, variance] = np.nan
    covariance[flat] = covariance[:, flat] = np.nan
    return covariance, sound


def _notes(converged: bool, singular: bool, sound: bool) -> tuple[str, ...]:
    flagged = ((not converged, flags.NOT_CONVERGED), (singular, flags.SINGULAR), (not sound, flags.NO_HESSIAN))
    return tuple(name for wrong, name in flagged if wrong)


def refittable(fitted: Fitted, run: Callable[[Model], Fitted]) -> Fitted:
    """What an engine found, flagged where it has not converged; `run` is the engine, to fit another design."""
    model, notes = fitted.model, fitted.notes if fitted.converged else (*fitted.notes, flags.NOT_CONVERGED)
    return replace(
        fitted,
        converged=fitted.converged and flags.NOT_CONVERGED not in notes,
        notes=tuple(dict.fromkeys(notes)),
        refit=partial(_run_again, run, model),
    )


def _run_again(run: Callable[[Model], Fitted], model: Model, design: Design, rows: Ints) -> Fitted:
    """What an engine finds for another design, each of whose rows is one of the model's."""
    return run(replace(model, design=design, part=model.parts[rows]))


def _trace(model: Model, minimum: Minimum) -> list[dict[str, object]]:
    """Steps of the search by names of parameters; those of a Gaussian model are θ alone."""
    names, steps = model.parameter_names, []
    for row in minimum.log:
        x = row["x"]
        own = names if len(x) == len(names) else [n for n in names if n.startswith("chol(")]
        steps.append({k: v for k, v in row.items() if k != "x"} | dict(zip(own, map(float, x), strict=True)))
    return steps


def _posterior(model: Model, params: Floats, covariance: Floats) -> ConditionalEffects | None:
    """Random effects of every level at the estimates, by Laplace's approximation."""
    if not model.design.terms:
        return None
    table = compress(model.design, model.parts, groups=False, additive=model.distribution.additive)
    target = laplace(table, model.kernel, model.thresholds)
    beta, tau, theta = target.split(params)
    d, kernel = target.rows, cast(Laplace, target.kernel)
    hi, lo, _ = model.thresholds.around(tau, d.category, d.part)
    zl = target.scales.spread(d.z, theta)
    _, eta = kernel.value(d.X @ beta + d.offset, zl, hi, lo)
    _, _, w = losses(d.kind, d.y, d.m, eta, hi, lo)
    pull = _pull(kernel.layout, kernel.flat, zl, w, d.X)
    own = covariance[: len(beta), : len(beta)]
    return ConditionalEffects(
        table.columns, kernel.layout, kernel.flat, kernel.u, target.scales.factors(theta), pull, own
    )


def _pull(layout: Structure, flat: Floats, zl: Floats, w: Floats, X: Floats) -> Floats:
    """H⁻¹ Λ'Z'WX."""
    B = cross(zl, w, layout.cols, X, layout.q)
    pull: Floats = solve_many(layout, flat, B)
    return pull


def _fit_linear(model: Model) -> Fitted:
    target = gaussian(model)
    turn = orthogonal(target.cells.X, target.cells.weight)
    z, across = even(target.cells.z, target.cells.weight, target.scales)
    own = replace(target, cells=replace(target.cells, X=target.cells.X @ turn, z=z))
    start = target.scales.diagonal.astype(float)
    with np.errstate(all="ignore"):
        alone = own.at(0 * start)
    if is_perfect(model.design, alone.residual):
        return perfect(model, turn @ alone.beta, 0 * start)
    guess = np.diag(np.full(len(start), 2.0 / max(len(model.design.y) ** 0.5, 1.0)))
    try:
        minimum = _once_more(own, minimise(own, start, guess), guess)
    except np.linalg.LinAlgError:  # a residual variance that runs to 0
        if is_perfect(model.design, own.at(1e5 * start).residual):
            return perfect(model, turn @ alone.beta, np.nan * start)
        raise
    x, boundary = _settle(own, minimum, 0)
    x = x * target.scales.signs(x)
    best, theta = own.at(x), across @ x
    if is_perfect(model.design, best.residual):
        return perfect(model, turn @ alone.beta, np.nan * start)
    p, n = len(best.beta), own.cells.n
    variance = best.residual if model.design.terms else best.residual * n / (n - p)
    sigma = float(np.sqrt(variance))
    params = np.concatenate([turn @ best.beta, theta * sigma, [sigma]])
    covariance = np.zeros((len(params), len(params)))
    covariance[:p, :p] = variance * turn @ np.linalg.inv(best.information) @ turn.T
    inner, sound, spread = _linear_variances(own, x, sigma, boundary)
    whole = np.eye(len(inner))
    whole[:-1, :-1] = across
    covariance[p:, p:] = whole @ inner @ whole.T
    minimum = replace(minimum, log=[{**row, "x": across @ row["x"]} for row in minimum.log])
    notes = _notes(minimum.converged, bool(boundary.any()), sound)
    # |X'V⁻¹X| is that of the columns as they are
    loglik = -best.objective + (np.linalg.slogdet(turn)[1] if own.reml else 0.0)
    effects = Deferred(partial(_linear_posterior, target, best, model, theta * sigma, covariance[:p, :p]))
    moved = Deferred(partial(_sensitivity, own, turn, np.append(x * sigma, sigma), spread))
    adjusted = Deferred(partial(_kenward_roger, own, turn, best, x))
    method = methods.REML if own.reml else methods.ML
    fitted = Fitted(model, "ml", method, params, covariance, loglik, minimum.converged, notes, effects=effects)
    fitted = replace(fitted, sensitivity=moved, kenward_roger=adjusted, trace=_trace(model, minimum))
    return refittable(fitted, fit_design)


def is_perfect(design: Design, variance: float) -> bool:
    """Whether the residual variance (by n) of a linear model is a rounding error, or it has as many columns as rows."""
    weight, y = design.count * design.weights, design.y - design.offset
    mean = weight @ y / weight.sum()
    spread = weight @ (y - mean) ** 2 / weight.sum()
    least = max(ROUNDING * (mean**2 + spread), VANISHING * spread if design.terms else 0.0)
    return bool(variance <= least or design.count.sum() <= design.X.shape[1])


def perfect(model: Model, beta: Floats, theta: Floats) -> Fitted:
    """A linear model that gives every value: its coefficients without errors."""
    params = np.concatenate([beta, theta, [0.0]])
    unknown, method = np.full((len(params), len(params)), np.nan), "REML" if model.reml and len(theta) else "ML"
    fitted = Fitted(model, "ml", method, params, unknown, float("inf"), notes=(flags.PERFECT_FIT,))
    return refittable(fitted, fit_design)


def _linear_variances(
    target: LinearObjective, theta: Floats, sigma: float, boundary: Mask
) -> tuple[Floats, bool, Floats]:
    """Covariance of θ and the residual sd by the curvature in both; of identified directions where it is not valid."""
    df = target.cells.n - (target.cells.X.shape[1] if target.reml or not len(theta) else 0)
    best = target.at(theta).residual

    def both(x: Floats) -> tuple[float, Floats]:
        """By θ relative and the log of the residual sd, β profiled out."""
        at_theta = target.at(x[:-1])
        variance = np.exp(2 * x[-1])
        ratio = at_theta.residual / variance
        value = at_theta.objective + df / 2 * (ratio - 1 - np.log(ratio))
        slope = target.scales.gradient(target.cells.z, at_theta.scale)
        h = 1e-5
        by_squares = np.array(
            [
                np.log(target.at(x[:-1] + h * e).residual / target.at(x[:-1] - h * e).residual)
                for e in np.eye(len(theta))
            ]
        ) / (2 * h)
        return value, np.append(slope + df / 2 * (ratio - 1) * by_squares, df * (1 - ratio))

    at = np.append(theta, np.log(best) / 2)
    curvature = hessian(both, at, np.append(np.maximum(np.abs(theta), 0.1), 1.0) * 0.1)
    inner, sound = _covariance(curvature, np.append(boundary, False))
    turn = np.diag(np.append(np.full(len(theta), sigma), sigma))  # by the absolute scale
    turn[:-1, -1] = theta * sigma
    if sound:
        return turn @ inner @ turn.T, True, turn @ inner @ turn.T
    held = np.append(boundary, False)
    size, axes = np.linalg.eigh(np.where(held[:, None] | held, 0.0, curvature))
    identified = size > 1e-7 * size[-1]
    part = axes[:, identified] / np.sqrt(size[identified])
    return turn @ inner @ turn.T, False, turn @ part @ part.T @ turn.T


@one_blas_thread()
def _sensitivity(target: LinearObjective, turn: Floats, at: Floats, spread: Floats) -> tuple[Floats, Floats] | None:
    """Derivatives of the covariance of the fixed effects by θ and the residual sd, by central differences."""
    if len(at) == 1:
        return None

    def covariance(x: Floats) -> Floats:
        inner = np.linalg.inv(target.at(x[:-1] / x[-1]).information)
        return np.asarray(x[-1] ** 2 * turn @ inner @ turn.T, np.float64)

    steps = 1e-4 * np.maximum(np.abs(at), 0.1 * at[-1])
    units = np.diag(steps)
    slopes = [(covariance(at + e) - covariance(at - e)) / (2 * h) for e, h in zip(units, steps, strict=True)]
    return np.array(slopes), spread


@one_blas_thread()
def _kenward_roger(target: LinearObjective, turn: Floats, best: Profile, theta: Floats) -> KenwardRoger:
    """Kenward and Roger's adjustment at the optimum."""
    scales, cells = target.scales, target.cells
    pairs = zip(scales.column.tolist(), scales.row.tolist(), strict=True)
    return kenward_roger(cells, target.layout, scales.spread(cells.z, theta), best, pairs).turned(turn)


def _linear_posterior(
    target: LinearObjective, best: Profile, model: Model, theta: Floats, covariance: Floats
) -> ConditionalEffects | None:
    if not model.design.terms:
        return None
    sigma = float(np.sqrt(best.residual))
    zl = target.scales.spread(target.cells.z, theta / sigma)
    t = target.layout
    pull = _pull(t, best.flat, zl, target.cells.weight, target.cells.X) / sigma
    factors = target.scales.factors(theta)
    return ConditionalEffects(columns(model.design), t, best.flat, best.u / sigma, factors, pull, covariance)
