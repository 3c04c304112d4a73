"""Small designs of the hierarchical models that integrate out, to be drawn from their priors and fitted again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import binom, multivariate_normal, norm, poisson

from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.models.bayes.draws import MOST_PARETO, Draws
from judgestats.models.bayes.importance_sampling import integrated
from judgestats.models.designs import Design, design
from judgestats.models.hierarchical import crossed, score_components
from judgestats.models.specifications import Model
from judgestats.models.thresholds import NONE, cumulative_thresholds

Floats = NDArray[np.float64]
#: Name -> values, (S, ...): S is 1 for the truth.
Values = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """Draws of a posterior, about independent.

    Attributes
    ----------
    values : dict of (S, ...) arrays
    short : bool
        Fewer effective draws than asked, after the longest run.
    divergent : int
        Transitions that diverged.
    heavy : bool
        Importance weights with Pareto k above 0.7.
    """

    values: Values
    short: bool = False
    divergent: int = 0
    heavy: bool = False


@dataclass(frozen=True)
class Case:
    """A model and a design.

    Attributes
    ----------
    name, about : str
    simulate : callable
        Generator and how many times wider the priors are -> parameters, data.
    fit : callable
        Data, seed, draws -> Fit.
    quantities : callable
        Parameters (S, ...) and data -> what is ranked, (S, ...) each.
    """

    name: str
    about: str
    simulate: Callable[[np.random.Generator, float], tuple[Values, Any]]
    fit: Callable[[Any, int, int], Fit]
    quantities: Callable[[Values, Any], Values]


def wider(priors: Mapping[str, CentredPrior], times: float) -> dict[str, CentredPrior]:
    """The same priors with scales so many times as large."""
    return {name: replace(p, scale=times * p.scale) for name, p in priors.items()}


def some(found: Draws, number: int, seed: int) -> tuple[dict[str, Floats], bool]:
    """So many draws of an importance sampler, which come in no order, and whether its weights are heavy."""
    which = np.random.default_rng([seed, 3]).permutation(found.flat(next(iter(found.values))).shape[0])[:number]
    return {name: found.flat(name)[which] for name in found.values}, found.pareto_k > MOST_PARETO


# --- Fast path --------------------------------------------------------------------------------------------------------

_GROUPS, _EACH = 8, 4
_X = np.repeat(np.linspace(-1, 1, _EACH), _GROUPS) + np.tile(np.linspace(-0.1, 0.1, _GROUPS), _EACH)
_G = np.tile(np.arange(_GROUPS), _EACH)  # in the order in which a design sorts its rows
_TRIALS, _CATEGORIES = 6, ("a", "b", "c", "d")
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
#: Intercept and slope, thresholds, sd of the groups.
_SCALES = {"fixed": 1.0, "threshold": 1.5, "sd": 1.0}


def _coded(family: str) -> Design:
    frame = pd.DataFrame({"x": _X, "g": [f"g{i}" for i in _G], "k": np.arange(len(_X)) % _TRIALS})
    frame["m"], frame["y"] = _TRIALS - frame["k"], frame["k"]
    if family == "cumulative":
        frame["y"] = pd.Categorical.from_codes(np.arange(len(_X)) % len(_CATEGORIES), _CATEGORIES, ordered=True)
    left = "cbind(k, m)" if family == "binomial" else "y"
    return design(f"{left} ~ x + (1|g)", frame, family=family)


def _logp(family: str, y: Floats, eta: Floats, v: Values) -> Floats:
    """Log probability of each answer, (S, N, nodes)."""
    if family == "binomial":
        return np.asarray(binom.logpmf(y[:, None], _TRIALS, expit(eta)))
    if family == "poisson":
        return np.asarray(poisson.logpmf(y[:, None], np.exp(eta)))
    edges = np.pad(v["cuts"], ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    code = y.astype(int)
    p = expit(edges[:, code + 1][..., None] - eta) - expit(edges[:, code][..., None] - eta)
    return np.asarray(np.log(np.maximum(p, 1e-300)))


def _marginal(family: str, v: Values, y: Floats) -> Floats:
    """Log likelihood with the groups integrated out, by quadrature."""
    eta = (v["level"][:, None] + v["slope"][:, None] * _X)[..., None] + (v["sd"][:, None] * _NODES)[:, None]
    each = _logp(family, y, eta, v).reshape(len(eta), _EACH, _GROUPS, -1).sum(axis=1)
    return np.asarray(logsumexp(each + np.log(_WEIGHTS / _WEIGHTS.sum()), axis=-1).sum(axis=-1))


def _grid(family: str) -> Case:
    coded = _coded(family)
    ordered = family == "cumulative"
    link = "log" if family == "poisson" else "logit"
    cuts = cumulative_thresholds(coded.categories, link) if ordered else NONE

    def simulate(rng: np.random.Generator, times: float) -> tuple[Values, Floats]:
        v = {
            "level": 0.0 if ordered else times * _SCALES["fixed"] * rng.standard_normal(),
            "slope": times * _SCALES["fixed"] * rng.standard_normal(),
            "sd": times * _SCALES["sd"] * abs(rng.standard_normal()),
        }
        if ordered:  # independent and alike, given that they are in order: sorted
            v["cuts"] = np.sort(times * _SCALES["threshold"] * rng.standard_normal(len(_CATEGORIES) - 1))
        eta = v["level"] + v["slope"] * _X + v["sd"] * rng.standard_normal(_GROUPS)[_G]
        if family == "binomial":
            return v, rng.binomial(_TRIALS, expit(eta)).astype(float)
        if ordered:
            return v, (rng.logistic(size=len(eta)) + eta > v["cuts"][:, None]).sum(axis=0)
        return v, rng.poisson(np.exp(eta)).astype(float)

    def fit(y: Floats, seed: int, draws: int) -> Fit:
        answered = replace(coded, response=replace(coded.response, y=y))
        model = Model(answered, family, link, n_quadrature="auto", thresholds=cuts)
        found = integrated(model, _SCALES if ordered else {k: v for k, v in _SCALES.items() if k != "threshold"},
                           draws=1000, seed=seed)  # fmt: skip
        own, heavy = some(found, draws, seed)
        v = {"slope": own["x"], "sd": own["sd(g)"], "level": own.get("Intercept", np.zeros(draws))}
        if ordered:
            v["cuts"] = np.stack([own[name] for name in cuts.names], axis=-1)
        return Fit(v, heavy=heavy)

    def quantities(v: Values, y: Floats) -> Values:
        kept = {k: a for k, a in v.items() if not (ordered and k == "level")}
        high = v["sd"] + (-v["cuts"][:, 1] if ordered else v["level"])
        return {**kept, "a group an sd above": high, "log likelihood": _marginal(family, v, y)}

    about = f"{_GROUPS} groups of {_EACH} cells" + (f" of {_TRIALS} calls" if family == "binomial" else "")
    return Case(f"fast path, {family}", about, simulate, fit, quantities)


# --- Agreement --------------------------------------------------------------------------------------------------------


def _agreement() -> Case:
    subject, judge = (a.ravel() for a in np.indices((8, 4)))
    kept = np.flatnonzero((subject + judge) % 8 != 3)  # incomplete
    empty = score_components.Scores(np.zeros(len(kept)), {"subject": subject[kept], "judge": judge[kept]})
    priors = {n: CentredPrior(2.0 if n == "level" else 1.0, None, n != "level") for n in score_components.MEANINGS}
    same = {n: (c[:, None] == c).astype(float) for n, c in empty.codes.items()}

    def simulate(rng: np.random.Generator, times: float) -> tuple[Values, Floats]:
        return score_components.prior_draw(empty, wider(priors, times), rng)

    def fit(y: Floats, seed: int, draws: int) -> Fit:
        return Fit(
            *_unpacked(score_components.posterior(replace(empty, y=y), priors, draws=4000, seed=seed), draws, seed)
        )

    def quantities(v: Values, y: Floats) -> Values:
        both = [_covariance(v, same, i) for i in range(len(v["level"]))]
        loglik = [multivariate_normal.logpdf(y - m, cov=c) for m, c in zip(v["level"], both, strict=True)]
        return {**v, **score_components.correlations(v, 4), "log likelihood": np.array(loglik)}

    return Case("agreement", f"8 subjects, 4 judges, {len(kept)} of 32 scores", simulate, fit, quantities)


def _covariance(v: Values, same: Mapping[str, Floats], i: int) -> Floats:
    size = len(next(iter(same.values())))
    return np.asarray(sum((v[n][i] ** 2 * m for n, m in same.items()), v["residual"][i] ** 2 * np.eye(size)))


def _unpacked(found: Draws, draws: int, seed: int) -> tuple[Values, bool, int, bool]:
    own, heavy = some(found, draws, seed)
    return own, False, 0, heavy


# --- Severity ---------------------------------------------------------------------------------------------------------


def _severity() -> Case:
    judge, system, condition = (a.ravel() for a in np.indices((4, 4, 2)))
    names = tuple("abcd")
    own = (judge == system) & (judge < 3)  # the fourth judge is no system
    labels = names, (*names[:3], "s"), ("attributed", "anonymized")
    empty = crossed.CrossedMeans(np.zeros(32), np.full(32, 0.04), judge, system, condition, own, *labels)
    priors = crossed.default_priors(empty.groups, 1.0)

    def simulate(rng: np.random.Generator, times: float) -> tuple[Values, Floats]:
        return crossed.prior_draw(empty, wider(priors, times), rng)

    def fit(y: Floats, seed: int, draws: int) -> Fit:
        data = replace(empty, y=y)
        found = crossed.posterior(data, priors, draws=4000, seed=seed)
        v, heavy = some(found, draws, seed)
        few = replace(found, values={n: a[None] for n, a in v.items()})
        given = crossed.effects(data, priors, few, seed)
        return Fit(v | {f"{n}_effect": a[0] for n, a in given.items()}, heavy=heavy)

    def quantities(v: Values, y: Floats) -> Values:
        leniency, mine = v["judge_effect"], v["mean_self_effect"] + v["self_effect"]
        mean = sum(np.where(code >= 0, v[f"{n}_effect"][:, code], 0.0) for n, (code, _) in empty.groups.items())
        kept = {n: a for n, a in v.items() if not n.endswith("_shift_effect")}
        return kept | {
            "severity": leniency.mean(axis=1, keepdims=True) - leniency,
            "attenuation": np.abs(mine[:, 0] + _shifted(v, 0)) - np.abs(mine[:, 0] + _shifted(v, 1)),
            "log likelihood": norm.logpdf(y, mean, np.sqrt(empty.noise)).sum(axis=1),
        }

    about = "4 judges, 4 systems, 3 of them judges, 2 conditions, one mean score each"
    return Case("severity", about, simulate, fit, quantities)


def _shifted(v: Values, condition: int) -> Floats:
    """Change of the first judge's self-preference under a condition."""
    own = v["self_shift_effect"].reshape(len(v["self_shift_effect"]), 2, -1)[:, condition, 0]
    return np.asarray(v["mean_self_shift_effect"][:, condition] + own)


def integrating() -> dict[str, Callable[[], Case]]:
    """Cases by name, not yet built."""
    grids = {f"fast path, {f}": (lambda f=f: _grid(f)) for f in ("binomial", "poisson", "cumulative")}
    return {"agreement": _agreement, **grids, "severity": _severity}
