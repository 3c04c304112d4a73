"""Designs too small for the approximations that a fit rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from judgestats import flags
from judgestats.models.fitted_models import Fitted, MarginalClusters
from judgestats.models.postestimation.degrees_of_freedom import (
    CLUSTERS,
    NORMAL,
    OF_VARIANCES,
    RESIDUAL,
    STRATA,
    df_rule,
    within,
)
from judgestats.models.postestimation.posterior_summaries import draws_of
from judgestats.typing import Floats, Mask

#: Calls per level that Laplace's approximation needs.
FEWEST_CALLS = 5
#: Answers of another kind than the most frequent one, per level, that a variance by it needs.
FEWEST_RARER = 2


def sparse(fit: Fitted) -> tuple[float, ...]:
    """Calls per level of each random term, if fewer than Laplace's approximation needs; else 0."""
    d = fit.design
    if fit.method != "Laplace" or not fit.distribution.categorical:
        return tuple(0.0 for _ in d.terms)
    calls = [float(d.count @ d.trials) / len(t.levels) for t in d.terms]
    return tuple(c if c < FEWEST_CALLS else 0.0 for c in calls)


#: With fewer levels of a factor, intervals by z and profiles of effects between them are too short; and by REML.
LEVELS, LEVELS_REML = 30, 10


@dataclass(frozen=True)
class Shortage:
    """A factor that is small for the method of its fit."""

    flag: str  # :data:`judgestats.flags.FEW_CALLS`, :data:`RARE` or ``fewer than 30 levels of judge``
    kind: str  # what there are too few of
    factor: str
    levels: tuple[str, ...]  # the levels of the factor
    seen: float  # calls per level, rarer answers in all, or levels


def shortages(fit: Fitted) -> tuple[Shortage, ...]:
    """Shortages, factor by factor; the limits are those of docs/coverage_models.csv."""
    return tuple(dict.fromkeys([*_calls(fit), *_answers(fit), *_short_of_levels(fit)]))


def _calls(fit: Fitted) -> Iterator[Shortage]:
    for term, calls in zip(fit.design.terms, sparse(fit), strict=True):
        if calls:
            yield Shortage(flags.FEW_CALLS, "calls", term.factor, term.levels, calls)


def _answers(fit: Fitted) -> Iterator[Shortage]:
    """Factors with more levels than there are answers of another kind than the most frequent one."""
    rarer = _rarer(fit)
    for term in fit.design.terms:
        if rarer < len(term.levels):
            yield Shortage(flags.RARE, "answers", term.factor, term.levels, rarer)


def _rarer(fit: Fitted) -> float:
    """Answers of another kind than the most frequent one; infinite where no approximation rests on them."""
    d = fit.design
    if fit.method != "Laplace" or not (fit.distribution.has_trials or fit.distribution.ordered):
        return float("inf")
    if fit.distribution.ordered:
        answers = np.bincount(d.y.astype(np.int64), d.count)
    else:
        answers = np.array([d.count @ d.y, d.count @ (d.trials - d.y)])
    return float(answers.sum() - answers.max())


def inflated(fit: Fitted) -> dict[str, str]:
    """Flag of each factor whose variance Laplace's approximation makes too large (docs/coverage_raters.csv)."""
    rarer, few = _rarer(fit), {}
    for term, calls in zip(fit.design.terms, sparse(fit), strict=True):
        if rarer < FEWEST_RARER * len(term.levels) and not calls:  # with few calls it is too small
            few[term.factor] = flags.FEW_RARER.of(least=FEWEST_RARER, factor=term.factor)
    return few


def _short_of_levels(fit: Fitted) -> Iterator[Shortage]:
    least = LEVELS_REML if fit.method == "REML" else 0 if draws_of(fit) is not None else LEVELS
    for term in fit.design.terms:
        if len(term.levels) < least:
            flag = flags.FEW_GROUPS.of(least=least, factor=term.factor)
            yield Shortage(flag, "levels", term.factor, term.levels, float(len(term.levels)))


def interval_flags(fit: Fitted, rows: Floats, df: Floats) -> list[str]:
    """Flags of intervals of functions (K, p) of the coefficients with `df` (K,), where few levels make them too short.

    Between-within degrees of freedom allow for these, and those of the variances after REML.
    """
    rule, masks = df_rule(fit), [(str(flags.NO_DF), np.isnan(df))]
    if rule in OF_VARIANCES:
        masks = []
    if rule not in (RESIDUAL, CLUSTERS, STRATA) and (rule not in OF_VARIANCES or fit.method != "REML"):
        masks += [(flag, few) for flag, factor, few in between_few(fit, rows) if factor != rule]
    masks += [(flag, np.ones(len(df), bool)) for flag, _ in few_clusters(fit)]
    masks = [(flag, mask) for flag, mask in masks if mask.any()]
    return [flags.join(*(flag for flag, mask in masks if mask[k])) if masks else "" for k in range(len(df))]


def few_clusters(fit: Fitted) -> Iterator[tuple[str, MarginalClusters]]:
    """Flag of clusters that are few for z, and these."""
    clusters = fit.options.clusters
    if clusters is not None and df_rule(fit) == NORMAL and clusters.n < LEVELS:
        yield flags.FEW_GROUPS.of(least=LEVELS, factor=clusters.columns), clusters


def between_few(fit: Fitted, rows: Floats) -> Iterator[tuple[str, str, Mask]]:
    """Flag and factor of each that has few levels, and which functions (K, p) vary between these."""
    for short in _short_of_levels(fit):
        yield short.flag, short.factor, ~within(fit, short.factor, rows)
