"""Gaussian model of mean scores by judge, system and condition, with effects integrated out given their sds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from judgestats import flags
from judgestats.defaults import SEED
from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.models.bayes.draws import LEAST_ESS, MOST_PARETO, Draws, TopParameter
from judgestats.models.bayes.importance_sampling import Target, importance_draws
from judgestats.models.bayes.sampling import pymc
from judgestats.typing import Floats, Ints, Mask

#: Effects with a given, not an estimated sd: there is one of each, or one per condition.
FIXED = ("level", "level_shift", "mean_self", "mean_self_shift")
#: Effect -> default prior scale in sds of the mean scores, and meaning.
EFFECTS: dict[str, tuple[float, str]] = {
    "level": (2.5, "overall mean score, relative to the mean of the data"),
    "level_shift": (0.5, "change of the mean score with the condition"),
    "judge": (1.0, "sd of the judges' leniency"),
    "judge_shift": (0.5, "sd of its change with the condition"),
    "system": (1.0, "sd of the systems' quality"),
    "system_shift": (0.5, "sd of its change with the condition"),
    "taste": (0.5, "sd of judge-by-system interaction"),
    "taste_shift": (0.5, "sd of its change with the condition"),
    "mean_self": (2.5, "mean self-preference"),
    "mean_self_shift": (1.0, "its change with the condition"),
    "self": (0.4, "sd of self-preference over judges"),
    "self_shift": (0.5, "sd of its change with the condition"),
}


def default_priors(names: Iterable[str], unit: float) -> dict[str, CentredPrior]:
    """Default priors of some effects, where `unit` is the sd of the mean scores."""
    return {n: CentredPrior(EFFECTS[n][0] * unit, None, n not in FIXED) for n in names}


@dataclass(frozen=True)
class CrossedMeans:
    """Mean scores: N cells of J judges, S systems, C conditions, to the model three factors alike: so no panel."""

    y: Floats  # (N,): minus `centre`
    noise: Floats  # (N,): known variance of each mean
    judge: Ints  # judge, system, condition (N,): codes; condition -1 is a reference that belongs to no condition
    system: Ints
    condition: Ints
    own: Mask  # (N,): whether the system is the judge itself
    judges: tuple[str, ...]  # judges, systems, conditions: labels; a reference is the last judge
    systems: tuple[str, ...]
    conditions: tuple[str, ...]
    reference: bool = False  # whether there is a reference
    centre: float = 0.0

    @cached_property
    def groups(self) -> dict[str, tuple[Ints, int]]:
        """Effect in the model -> level of each cell (-1: none) and number of levels."""
        J, S, C = len(self.judges), len(self.systems), len(self.conditions)
        pair = self.judge * S + self.system
        nobody = np.full(len(self.y), -1)
        levels = {"level": (nobody + 1, 1), "judge": (self.judge, J), "system": (self.system, S)}
        levels["taste"] = pair, J * S
        selves = {"mean_self": (np.where(self.own, 0, -1), 1), "self": (np.where(self.own, self.judge, -1), J)}
        levels |= selves if self.own.any() else {}
        if C > 1:
            for name, (code, size) in list(levels.items()):
                inside = (code >= 0) & (self.condition >= 0)
                levels[f"{name}_shift"] = (np.where(inside, self.condition * size + code, -1), C * size)
        return {name: levels[name] for name in EFFECTS if name in levels}

    @property
    def sds(self) -> tuple[str, ...]:
        """Effects whose sd is estimated."""
        return tuple(name for name in self.groups if name not in FIXED)

    @cached_property
    def grams(self) -> dict[str, Floats]:
        """ZZ' of each effect: which cells share a level."""
        return {
            name: ((code[:, None] == code) & (code >= 0)).astype(np.float64) for name, (code, _) in self.groups.items()
        }

    def base(self, priors: Mapping[str, CentredPrior]) -> Floats:
        """Known part of the covariance of `y`."""
        fixed = [priors[name].scale ** 2 * gram for name, gram in self.grams.items() if name in FIXED]
        jitter = 1e-6 * priors["taste"].scale ** 2
        return np.asarray(sum(fixed) + np.diag(self.noise + jitter), np.float64)


def model(data: CrossedMeans, priors: Mapping[str, CentredPrior]) -> Any:
    """The PyMC model with a prior of each effect's sd: sds are sampled, the normal effects integrated out."""
    pm = pymc()
    with pm.Model() as result:
        covariance = data.base(priors)
        for name in data.sds:
            covariance = covariance + priors[name].pymc(pm, name) ** 2 * data.grams[name]
        scores = pm.Data("scores", data.y)
        pm.MvNormal("y", np.zeros(len(data.y)), cov=covariance, observed=scores)
    return result


def posterior(data: CrossedMeans, priors: Mapping[str, CentredPrior], *, draws: int = 4000, seed: int = SEED) -> Draws:
    """Draw the sds by importance sampling at the mode, on scales on which their priors are standard normal."""
    base, laws = data.base(priors), [priors[name] for name in data.sds]
    grams = np.stack([data.grams[name] for name in data.sds])

    def scales(z: Floats) -> tuple[Floats, Floats]:
        both = [p.stretched(z[..., i]) for i, p in enumerate(laws)]
        return np.stack([b[0] for b in both], axis=-1), np.stack([b[1] for b in both], axis=-1)

    def factored(z: Floats) -> tuple[float, tuple[Floats, bool] | None]:
        covariance = base + np.tensordot(scales(z)[0] ** 2, grams, axes=1)
        try:
            factor = cho_factor(covariance, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.inf, None
        squares = data.y @ cho_solve(factor, data.y, check_finite=False)
        return float(squares / 2 + np.log(np.diag(factor[0])).sum() + z @ z / 2), factor

    def slope(z: Floats) -> tuple[float, Floats]:
        value, factor = factored(z)
        if not np.isfinite(value):
            return np.inf, np.full(len(z), np.nan)
        inverse = cho_solve(factor, np.eye(len(data.y)), check_finite=False)
        weight = inverse @ data.y
        by = np.einsum("kij,ij->k", grams, inverse - np.outer(weight, weight)) / 2
        sd, move = scales(z)
        return value, by * 2 * sd * move + z

    P = len(laws)
    value, sds = (lambda z: factored(z)[0]), (lambda z, _: scales(z)[0])
    target = Target(data.sds, slope, value, np.zeros(P), np.eye(P), sds, "effects integrated")
    return importance_draws(target, draws, seed)


def prior_draw(
    data: CrossedMeans, priors: Mapping[str, CentredPrior], rng: np.random.Generator
) -> tuple[dict[str, float | Floats], Floats]:
    """Sds and effects (``<effect>_effect``) drawn from the prior, and mean scores (N,) drawn from them."""
    parameters: dict[str, float | Floats] = {name: float(priors[name].draw(rng)) for name in data.sds}
    y = np.sqrt(data.noise) * rng.standard_normal(len(data.y))
    for name, (code, size) in data.groups.items():
        effect = parameters.get(name, priors[name].scale) * rng.standard_normal(size)
        y += np.where(code >= 0, effect[code], 0.0)
        parameters[f"{name}_effect"] = effect
    return parameters, y


def effects(
    data: CrossedMeans, priors: Mapping[str, CentredPrior], draws: Draws, seed: int = SEED
) -> dict[str, Floats]:
    """Effects drawn given the scores and each draw of the sds, (chains, draws, levels)."""
    rng = np.random.default_rng([seed, 7])
    chains, length = draws.values["taste"].shape
    flat = {name: draws.flat(name) for name in data.sds}
    number = chains * length
    values = {name: np.empty((number, size)) for name, (_, size) in data.groups.items()}
    base = data.base(priors)
    for first in range(0, number, 256):
        part = slice(first, min(first + 256, number))
        sd = {n: flat[n][part] if n in flat else np.full(part.stop - first, priors[n].scale) for n in data.groups}
        _conditional(data, base, sd, values, part, rng)
    return {name: value.reshape(chains, length, -1) for name, value in values.items()}


def with_likelihood(
    data: CrossedMeans, priors: Mapping[str, CentredPrior], draws: Draws, values: Mapping[str, Floats]
) -> Draws:
    """Draws of the sds with their log likelihood given the effects of :data:`FIXED`, and with the priors to check."""
    shape = draws.values["taste"].shape
    sds = {name: draws.flat(name) for name in data.sds}
    fixed = {name: values[name].reshape(shape[0] * shape[1], -1) for name in data.groups if name in FIXED}
    number = shape[0] * shape[1]
    top_parameters = tuple(TopParameter(n, v.reshape(*shape, -1), priors[n]) for n, v in (sds | fixed).items())
    rest = np.repeat(data.y[None], number, axis=0)
    for name, value in fixed.items():
        code = data.groups[name][0]
        rest -= np.where(code >= 0, value[:, code], 0.0)
    likelihood = np.empty(number)
    noise = np.diag(data.noise + 1e-6 * priors["taste"].scale ** 2)
    for first in range(0, number, 256):
        part = slice(first, first + 256)
        covariance = noise + sum(sds[n][part, None, None] ** 2 * data.grams[n] for n in sds)
        factor = np.linalg.cholesky(covariance)
        z = np.linalg.solve(factor, rest[part, :, None])[..., 0]
        likelihood[part] = -(z**2).sum(axis=1) / 2 - np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    return replace(draws, top_parameters=top_parameters, log_likelihood=likelihood.reshape(shape))


def _conditional(
    data: CrossedMeans,
    base: Floats,
    sd: dict[str, Floats],
    values: dict[str, Floats],
    part: slice,
    rng: np.random.Generator,
) -> None:
    """Matheron's rule: a draw from the prior plus a correction from the difference between its scores and the data."""
    n = part.stop - part.start
    covariance = np.repeat(base[None], n, axis=0)
    fixed_variance = sum(
        (np.diag(data.grams[f]) * sd[f][0] ** 2 for f in data.groups if f in FIXED), np.zeros(len(data.y))
    )
    residual = data.y - np.sqrt(np.maximum(np.diag(base) - fixed_variance, 0.0)) * rng.standard_normal((n, len(data.y)))
    for name, (code, size) in data.groups.items():
        if name not in FIXED:
            covariance += sd[name][:, None, None] ** 2 * data.grams[name]
        effect = sd[name][:, None] * rng.standard_normal((n, size))
        values[name][part] = effect
        residual -= np.where(code >= 0, effect[:, code], 0.0)
    weight = np.linalg.solve(covariance, residual[..., None])[..., 0]
    for name, (code, size) in data.groups.items():
        inside = np.flatnonzero(code >= 0)
        Z = np.zeros((len(code), size))
        Z[inside, code[inside]] = 1.0
        values[name][part] += sd[name][:, None] ** 2 * (weight @ Z)


def replicated(data: CrossedMeans, values: Mapping[str, Floats], draws: Draws, seed: int = SEED) -> Floats:
    """Replicated mean scores, (200, N): same judges, systems and self-preference, new interactions and noise."""
    rng = np.random.default_rng([seed, 8])
    number = len(draws.flat("taste"))
    which = np.linspace(0, number - 1, 200).astype(int)
    y = np.sqrt(data.noise) * rng.standard_normal((200, len(data.y)))
    for name, (code, size) in data.groups.items():
        effect = values[name].reshape(number, -1)[which]
        if name.startswith("taste"):
            effect = draws.flat(name)[which][:, None] * rng.standard_normal((200, size))
        y += np.where(code >= 0, effect[:, code], 0.0)
    return np.asarray(y, np.float64)


def weight_flags(draws: Draws) -> list[str]:
    """Flags of draws by their importance weights."""
    few: list[str] = [flags.FEW_EFFECTIVE] if draws.importance_ess < LEAST_ESS else []
    return few + ([flags.HEAVY] if draws.pareto_k > MOST_PARETO else [])
