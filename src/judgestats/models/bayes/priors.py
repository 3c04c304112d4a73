"""Priors of a model given by a formula: weakly informative defaults, and those of the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from judgestats.errors import DesignError, suggestion
from judgestats.models.designs import Design
from judgestats.models.families import FAMILIES
from judgestats.models.links import LINKS
from judgestats.models.thresholds import Thresholds
from judgestats.typing import Floats, Mask

#: Shape of the LKJ prior of correlations, and degrees of freedom of the half-t of a residual sd.
LKJ, DF = 2.0, 4.0
#: Laws, in words.
WORDS = {
    "normal": "normal({location:.4g}, {scale:.4g})",
    "ordered": "normal({location:.4g}, {scale:.4g}), in order",
    "half-normal": "half-normal({scale:.4g})",
    "half-t": "half-t(4, {scale:.4g})",
    "lkj": "LKJ({scale:.4g})",
}


@dataclass(frozen=True)
class Prior:
    """Prior of one parameter."""

    parameter: str  # its name in ``tidy()``
    law: str  # a key of :data:`WORDS`
    location: float  # location, scale: the scale of an LKJ prior is its shape
    scale: float
    meaning: str
    # place, size: rank (from 0) and number of ordered parameters; for correlations `size` is the term's columns
    place: int = 0
    size: int = 1

    @property
    def words(self) -> str:
        """The distribution, such as ``normal(0, 2.5)``."""
        return WORDS[self.law].format(location=self.location, scale=self.scale)

    def quantile(self, level: ArrayLike) -> Floats:
        """Quantiles of the prior of this one parameter."""
        q: Floats = np.asarray(level, np.float64)
        if self.law == "lkj":
            a = self.scale - 1 + self.size / 2
            return np.asarray(2 * betaincinv(a, a, q) - 1, np.float64)
        if self.law == "ordered":  # independent normals in order are order statistics
            q = betaincinv(self.place + 1, self.size - self.place, q)
        half = self.law.startswith("half")
        inner = (1 + q) / 2 if half else q
        unit = stdtrit(DF, inner) if self.law == "half-t" else ndtri(inner)
        return np.asarray(self.location + self.scale * unit, np.float64)

    @property
    def sd(self) -> float:
        """Standard deviation, by quantiles."""
        q = (np.arange(4000) + 0.5) / 4000
        return float(self.quantile(q).std())


@dataclass(frozen=True)
class Priors:
    """Priors of all parameters of a model of p columns of fixed effects, p' in all classes, and T random terms."""

    centre: Floats  # (p,): means of the predictors; 0 for the intercept, and for all if there is no intercept
    location: Floats  # location, scale (p',): of the fixed effects, with the intercept at the centre
    scale: Floats
    cuts: float  # cuts, widths: scales of thresholds at the centre, and of the steps from one half-width to the next
    widths: float
    sds: tuple[Floats, ...]  # (k,): scales of the sds of each random term
    shapes: tuple[float, ...]  # of the LKJ prior of each term
    residual: float
    spread: Floats  # (p,): sds of the predictors, 1 for the intercept: units of the sampler
    starts: tuple[Floats, ...]  # (k,): starting values of the sds
    unit: float  # of the linear predictor
    each: tuple[Prior, ...]  # the same, parameter by parameter

    def table(self) -> pd.DataFrame:
        """The priors as a frame: ``parameter``, ``prior``, ``meaning``."""
        rows = [{"parameter": p.parameter, "prior": p.words, "meaning": p.meaning} for p in self.each]
        return pd.DataFrame(rows, columns=["parameter", "prior", "meaning"])


def priors(
    design: Design, family: str, link: str, thresholds: Thresholds, overrides: Mapping[str, object] | None = None
) -> Priors:
    """The priors of a model, with `overrides` by parameter in place of the defaults.

    A parameter is a row of ``tidy()`` (``strategy[S8]``, ``sd(Intercept|item)``), a term of the formula (``strategy``:
    all its columns, in all classes), ``sd(item)`` (all sds of a factor), ``cor(item)`` (the shape of the LKJ prior, 1
    is flat), ``thresholds`` or ``half-width``. For a fixed effect ``(mean, sd)`` is possible too.

    Weakly informative, on the scale of the link, with s = 1 (Gaussian: the sd of the response): slopes normal(0, 2.5 s
    / sd(x)), 1.5 for probit, 1.8 for cloglog; the intercept, at the means of all predictors, normal(m, 2.5 s) with m =
    0 (Gaussian: the mean of the response, Poisson: the logarithm of the mean rate); thresholds, at the same means, as
    ordered independent normals; sds of random effects half-normal with the scale that the same column would have as a
    fixed effect; correlations LKJ(2); the residual sd half-t(4, s). Means and sds are over calls, so that a tally has
    the same priors as its calls. In a nominal model each class but the baseline has these priors.

    Source: Gelman, Jakulin, Pittau and Su 2008; Goodrich, Gabry, Ali and Brilleman, rstanarm; Capretto et al. 2022,
    bambi, except that the sd of a random intercept has scale 2.5 s, not the scale of the fixed intercept.
    """
    calls: Floats = design.count * design.trials
    linear = FAMILIES[family].linear
    predictors = FAMILIES[family].predictors(design.categories)
    unit, middle = FAMILIES[family].unit(design.y, design.offset, calls)
    base = LINKS[link].prior_sd * unit
    user = _Overrides(dict(overrides or {}))
    spread, centre, constant = _predictor_moments(design, calls)
    centre = centre if constant.any() or thresholds.names else np.zeros_like(centre)
    labels = [(label, k, name) for label in predictors for k, name in enumerate(design.names)]
    location = np.tile(np.where(constant, middle, 0.0), len(predictors))
    scale = np.tile(base / spread, len(predictors))
    for i, (label, _, name) in enumerate(labels):
        own = (label + name, name, re.sub(r"\[[^\]]*\]", "", name))
        location[i], scale[i] = user.pair(own, location[i], scale[i])
    cuts = user.one(("thresholds",), base) if thresholds.names else np.nan
    symmetric = bool(thresholds.names) and not single(thresholds)
    widths = user.one(("half-width",), base) if symmetric else np.nan
    sds, shapes, starts = [], [], []
    for term in design.terms:
        wide = np.tile(_moments(term.values, calls)[1], len(predictors))
        wide[wide == 0] = 1.0
        pairs = zip(term.names, base / wide, strict=True)
        starts.append(0.5 * unit / wide)
        sds.append(np.array([user.one((f"sd({n}|{term.factor})", f"sd({term.factor})"), s) for n, s in pairs]))
        shapes.append(user.one((f"cor({term.factor})",), LKJ) if len(term.names) > 1 else LKJ)
    residual = user.one(("sd(residual)",), unit) if linear else np.nan
    user.refuse_rest()
    each = []
    for i, (label, k, name) in enumerate(labels):
        meaning = f"slope of a predictor with sd {spread[k]:.4g}"
        if constant[k]:
            meaning = "intercept, all predictors at their means" if centre.any() else "intercept"
        each.append(Prior(label + name, "normal", float(location[i]), float(scale[i]), meaning))
    each += [
        *_threshold_priors(thresholds, cuts, widths),
        *_spread_priors(design, sds, shapes),
        *([Prior("sd(residual)", "half-t", 0.0, residual, "residual sd")] if linear else []),
    ]
    of_terms = tuple(sds), tuple(shapes)
    return Priors(centre, location, scale, cuts, widths, *of_terms, residual, spread, tuple(starts), unit, tuple(each))


class _Overrides:
    """Priors of the user, and the names that the model has."""

    def __init__(self, overrides: dict[str, object]) -> None:
        self.overrides, self.parameters = overrides, list[str]()

    def _find(self, names: Sequence[str]) -> str | None:
        self.parameters += names
        return next((n for n in names if n in self.overrides), None)

    def one(self, names: Sequence[str], default: float) -> float:
        name = self._find(names)
        return default if name is None else _positive(name, self.overrides[name])

    def pair(self, names: Sequence[str], location: float, scale: float) -> tuple[float, float]:
        name = self._find(names)
        if name is None:
            return location, scale
        value = self.overrides[name]
        if isinstance(value, (tuple, list)) and len(value) == 2:
            return _finite_number(name, value[0]), _positive(name, value[1])
        return location, _positive(name, value)

    def refuse_rest(self) -> None:
        parameters = list(dict.fromkeys(self.parameters))
        for name in self.overrides:
            if name not in parameters:
                raise DesignError(
                    f"priors: {name!r} is not a parameter of this model. Allowed: {', '.join(parameters)}."
                    f"{suggestion(str(name), parameters)}"
                )


def _finite_number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise DesignError(
            f"priors: {name!r} has {value!r}, which is not a finite number. For a nearly flat prior, use 1000."
        )
    return float(value)


def _positive(name: str, value: object) -> float:
    number = _finite_number(name, value)
    if number <= 0:
        raise DesignError(f"priors: {name!r} has the scale {value!r}. A scale is positive, such as 1.0.")
    return number


def _moments(values: Floats, calls: Floats) -> tuple[Floats, Floats]:
    mean = calls @ values / calls.sum()
    return mean, np.sqrt(calls @ (values - mean) ** 2 / calls.sum())


def _predictor_moments(design: Design, calls: Floats) -> tuple[Floats, Floats, Mask]:
    """Sd (1 for a constant), mean, and whether a column is the intercept."""
    mean, spread = _moments(design.X, calls)
    constant = np.array([name == "Intercept" for name in design.names], bool)
    return np.where(spread > 1e-12, spread, 1.0), np.where(constant, 0.0, mean), constant


def single(thresholds: Thresholds) -> bool:
    """Whether each threshold is one parameter."""
    return bool((np.abs(thresholds.map).sum(axis=2) == 1).all())


def sizes(thresholds: Thresholds) -> tuple[int, int, int]:
    """Number of free threshold parameters (midpoints), of sets of ordered ones, and of parameters in each set."""
    inner, total = thresholds.map.shape[1], len(thresholds.names)
    if single(thresholds):
        return 0, total // max(inner, 1), inner
    free = sum(name.startswith("midpoint") for name in thresholds.names)
    steps = inner // 2
    return free, (total - free) // steps, steps


def _threshold_priors(thresholds: Thresholds, cuts: float, widths: float) -> list[Prior]:
    if not thresholds.names:
        return []
    free, sets, steps = sizes(thresholds)
    where = "threshold, all predictors at their means"
    if single(thresholds):
        return [Prior(n, "ordered", 0.0, cuts, where, k // sets, steps) for k, n in enumerate(thresholds.names)]
    result = [Prior(n, "normal", 0.0, cuts, "midpoint, all predictors at their means") for n in thresholds.names[:free]]
    step = "half-width of the tie" if steps == 1 else "half-width, or its step from the one before"
    return result + [Prior(n, "half-normal", 0.0, widths, step) for n in thresholds.names[free:]]


def _spread_priors(design: Design, sds: list[Floats], shapes: list[float]) -> list[Prior]:
    result = []
    for term, scales, shape in zip(design.terms, sds, shapes, strict=True):
        g, k = term.factor, len(term.names)
        result += [
            Prior(f"sd({n}|{g})", "half-normal", 0.0, float(s), f"sd between levels of {g}")
            for n, s in zip(term.names, scales, strict=True)
        ]
        result += [
            Prior(f"cor({term.names[j]},{term.names[i]}|{g})", "lkj", 0.0, shape, "correlation", size=k)
            for i in range(k)
            for j in range(i)
        ]
    return result


def from_priors(
    design: Design, family: str, thresholds: Thresholds, priors: Priors, n: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw the variables of :func:`judgestats.models.engines.bayes_pymc.build` from their priors, (1, n, ...) each."""
    draws: dict[str, Floats] = {"beta": rng.normal(priors.location, priors.scale, (1, n, len(priors.scale)))}
    if thresholds.names:
        free, sets, steps = sizes(thresholds)
        unit = rng.standard_normal((1, n, sets, steps))
        if single(thresholds):
            draws["cuts"] = priors.cuts * np.sort(unit, axis=-1)
        else:
            draws["midpoints"] = priors.cuts * rng.standard_normal((1, n, free))
            draws["steps"] = priors.widths * np.abs(unit)
    for t, term in enumerate(design.terms):
        sd = priors.sds[t] * np.abs(rng.standard_normal((1, n, len(term.names))))
        draws[f"L{t}"] = sd[..., None] * _correlated(len(term.names), priors.shapes[t], n, rng)
        draws[f"u{t}"] = rng.standard_normal((1, n, len(term.levels), len(term.names)))
    if FAMILIES[family].linear:
        draws["sigma"] = priors.residual * np.abs(rng.standard_t(DF, (1, n)))
    return draws


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
