"""A sampled fit: draws as a table, rows of ``tidy()``, cautions, blocks of the summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.methods import POSTERIOR
from judgestats.models.bayes.draws import LEAST_ESS, MOST_RHAT, Draws, diagnostics
from judgestats.models.bayes.priors import Prior, Priors, single, sizes
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.coefficient_rows import CoefficientRow
from judgestats.models.variance_parameters import components
from judgestats.typing import Column, Floats

#: Ratio of posterior to prior sd above which a parameter is driven by its prior.
LITTLE = 0.8


@dataclass
class SampledPosterior:
    """What an engine that samples has beside the parameters."""

    draws: Draws  # of all ``parameters``, and of ``effects <t>`` for each random term
    priors: Priors
    loo: Column | None = None  # the row of loo(), once it is computed


def posterior_of(fit: Fitted) -> SampledPosterior | None:
    """Posterior of a fit; None if the engine does not sample."""
    posterior = fit.options.posterior
    return posterior if isinstance(posterior, SampledPosterior) else None


def draws_of(fit: Fitted) -> Draws | None:
    """Draws of a fit; None if the engine does not sample."""
    posterior = posterior_of(fit)
    return None if posterior is None else posterior.draws


def priors_in(fit: Fitted) -> Priors:
    """Priors of a sampled fit."""
    posterior = posterior_of(fit)
    assert posterior is not None
    return posterior.priors


def terms(fit: Fitted) -> list[tuple[str, str]]:
    """Group and term of each row of ``tidy()``."""
    own = [("fixed", name) for name in fit.names[: fit.n_location]]
    return own + [(c.group, c.term) for c in components(fit)]


def values(fit: Fitted, draws: Draws) -> Floats:
    """Draws (chains, draws, K) of the rows of ``tidy()``: fixed effects, thresholds, sds and correlations."""
    own = draws.values["parameters"]
    result = [own[..., : fit.n_location]]
    for L in fit.factors(own):
        C, k = L @ L.swapaxes(-1, -2), L.shape[-1]
        sd = np.sqrt(np.einsum("csaa->csa", C))
        result.append(sd)
        with np.errstate(invalid="ignore", divide="ignore"):
            cor = [C[..., i, j] / (sd[..., i] * sd[..., j]) for i in range(k) for j in range(i)]
        result += [c[..., None] for c in cor]
    if fit.distribution.linear:
        result.append(own[..., -1:])
    return np.concatenate(result, axis=-1)


def table(fit: Fitted, draws: Draws) -> pd.DataFrame:
    """Draws as a table: ``chain``, ``draw`` (from 0) and a column for each row of ``tidy()``."""
    own = values(fit, draws)
    chains, size = own.shape[:2]
    place = {"chain": np.repeat(np.arange(chains), size), "draw": np.tile(np.arange(size), chains)}
    names = [term for _, term in terms(fit)]
    return pd.DataFrame(place).join(pd.DataFrame(own.reshape(chains * size, -1), columns=names))


def rows(fit: Fitted, draws: Draws, conf_level: float) -> list[CoefficientRow]:
    """Rows of ``tidy()``: posterior mean and sd, equal-tailed interval of the draws; no statistic and no p-value."""
    own = values(fit, draws)
    tail = (1 - conf_level) / 2
    low, high = np.quantile(own, [tail, 1 - tail], axis=(0, 1))
    rhat, bulk, tail_ess = diagnostics(own)
    mixing = [
        flags.join(flags.NOT_MIXED if r > MOST_RHAT else "", flags.FEW_EFFECTIVE if e < LEAST_ESS else "")
        for r, e in zip(rhat, np.minimum(bulk, tail_ess), strict=True)
    ]
    notes = zip(mixing, against(fit, draws), strict=True)
    columns = zip(terms(fit), own.mean(axis=(0, 1)), own.std(axis=(0, 1), ddof=1), low, high, notes, strict=True)
    return [
        CoefficientRow(
            group,
            term,
            float(mean),
            float(sd),
            conf_low=float(a),
            conf_high=float(b),
            method=POSTERIOR.on("quantiles", " "),
            flag=flags.join(mixed, prior),
        )
        for (group, term), mean, sd, a, b, (mixed, prior) in columns
    ]


def against(fit: Fitted, draws: Draws) -> list[str]:
    """Flag each parameter whose posterior mean lies outside the central 95 % of its prior (of an sd, above 95 %)."""
    prior = priors_in(fit)
    return [_verdict(p, x) for p, x in zip(prior.each, _where_priors_are(fit, draws, prior), strict=True)]


def _verdict(prior: Prior, x: Floats) -> str:
    half = prior.law.startswith("half")
    low, high = prior.quantile([0.0, 0.95] if half else [0.025, 0.975])
    mean = float(x.mean())
    disagree = prior.law != "lkj" and not low <= mean <= high
    return flags.join(
        flags.CONFLICT if disagree else "", flags.PRIOR_DRIVEN if float(x.std(ddof=1)) > LITTLE * prior.sd else ""
    )


def _where_priors_are(fit: Fitted, draws: Draws, prior: Priors) -> list[Floats]:
    """Flat draws of each parameter on the scale of its prior."""
    own = values(fit, draws).reshape(-1, len(prior.each))
    K, names = fit.model.predictors, fit.design.names
    shift = own[:, : fit.n_fixed].reshape(len(own), K, len(names)) @ prior.centre
    own = own.copy()
    for k in (k for k, name in enumerate(names) if name == "Intercept"):
        own[:, k : fit.n_fixed : len(names)] += shift
    if fit.thresholds.names:
        free, sets, steps = sizes(fit.thresholds)
        moved = len(fit.thresholds.names) if single(fit.thresholds) else free
        own[:, fit.n_fixed : fit.n_fixed + moved] -= shift
        if not single(fit.thresholds) and steps > 1:
            wide = slice(fit.n_fixed + free, fit.n_location)
            by_set = own[:, wide].reshape(len(own), steps, sets)
            own[:, wide] = np.diff(by_set, axis=1, prepend=0.0).reshape(len(own), -1)
    return list(own.T)


def findings(fit: Fitted, draws: Draws) -> Iterator[tuple[str, str, str, float, str, str]]:
    """Rows of ``check()``: level, column, what, n, example, remedy."""
    own = values(fit, draws)
    names = [term for _, term in terms(fit)]
    rhat, bulk, tail = diagnostics(own)
    ess = np.minimum(bulk, tail)
    worst, least = int(np.nanargmax(rhat)), int(np.nanargmin(ess))
    for level, n, what, name, flag in (
        ("fault", int((rhat > MOST_RHAT).sum()), f"largest R-hat {rhat[worst]:.3f}", names[worst], flags.NOT_MIXED),
        ("caution", int((ess < LEAST_ESS).sum()), f"smallest ESS {ess[least]:,.0f}", names[least], flags.FEW_EFFECTIVE),
    ):
        if n:
            yield level, "", f"{what}: {flag}", n, name, flag.explanation
        else:
            yield "counted", "", what, 0, name, ""
    d = draws.divergences
    remedy = (
        "Pass sampling={'target_accept': 0.99}, or set tighter priors on the sds: part of the posterior was missed."
    )
    yield ("caution" if d else "counted", "", f"{d} divergent transitions", d, "", remedy * bool(d))
    prior = priors_in(fit)
    for p, conflict in zip(prior.each, against(fit, draws), strict=True):
        if flags.CONFLICT in conflict:
            remedy = f"Its prior is {p.words} ({p.meaning}). Check the units of the data, or widen it by priors=."
            yield "caution", p.parameter, flags.CONFLICT, 1, p.words, remedy
        if flags.PRIOR_DRIVEN in conflict:
            remedy = f"The data add little: it is close to its prior, {p.words}. Compare two priors."
            yield "caution", p.parameter, flags.PRIOR_DRIVEN, 1, p.words, remedy


def prior_block(fit: Fitted) -> list[tuple[str, str, str]]:
    """Lines of the summary: parameters of one prior, its words, its meaning."""
    prior = priors_in(fit)
    names_by_prior: dict[tuple[str, str], list[str]] = {}
    for p in prior.each:
        names_by_prior.setdefault((p.words, p.meaning), []).append(p.parameter)
    return [(", ".join(names), *key) for key, names in names_by_prior.items()]


def effective(fit: Fitted, draws: Draws) -> list[tuple[str, str]]:
    """R-hat and effective draws of each row of ``tidy()``, as text."""
    rhat, bulk, tail = diagnostics(values(fit, draws))
    return [(f"{r:.3f}", f"{min(b, t):,.0f}") for r, b, t in zip(rhat, bulk, tail, strict=True)]
