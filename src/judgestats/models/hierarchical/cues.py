"""How far does a cue move each judge, and does a protocol help it? Counts of outcomes, judges partly pooled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import confidence
from judgestats.models.bayes.draws import Top
from judgestats.models.bayes.replicates import beside
from judgestats.models.bayes.sampling import likely, pymc, sample
from judgestats.models.bayes.scales import Prior
from judgestats.models.hierarchical.cue_effects import Probed
from judgestats.models.hierarchical.doubts import FEW_JUDGES, PRIOR_DRIVEN, finding
from judgestats.models.hierarchical.outcomes import Favoured, Outcomes, favoured_sides, outcomes
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    convergence,
    foreseen,
    predictive,
    prior_table,
    scales,
    tabled,
)

Floats = NDArray[np.float64]
Terms = dict[str, Floats]

#: Name -> scale, and what it is the scale of.
PRIORS: dict[str, float] = {"mean": 3.0, "probe": 2.5, "sd_blind": 1.0, "sd_probe": 2.0}
_MEANING = {
    "mean": ("normal", "log-odds of an outcome against the reference, blind, by scheme"),
    "probe": ("normal", "what a probe adds to them, by scheme"),
    "sd_blind": ("half-normal", "spread of the judges around the first, by scheme and outcome"),
    "sd_probe": ("half-normal", "spread of the judges around the second, by scheme and outcome"),
}


def susceptibility(
    counts: Any,
    *,
    blind: str = "blind",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    against: str | None = None,
    reference: str | None = None,
    priors: Mapping[str, float] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int = 0,
    conf_level: float = 0.95,
    progress: bool = True,
) -> Posterior:
    """Movement of verdicts under a cue, judge by judge, and what a judging scheme changes in it.

    Parameters
    ----------
    counts : frame, or mapping of str to frame
        Preferences with a column ``probe`` (and ``scheme``); or their tally ``judge, probe, outcome, n``; or
        ``{probe: table}``, each with ``judge``, ``scheme`` and one column of counts for each outcome, as printed.
    blind : str
        The probe without a cue.
    favoured, favoured_label
        The candidate that the cue favours, as for :func:`judgestats.anchoring`; one candidate in each probe.
    against : str, optional
        The scheme that all others are compared with, by default ``Baseline``.
    reference : str, optional
        Outcome that the others are set against. By default the one whose smallest share is the largest.
    priors : mapping, optional
        Scales by name: ``mean``, ``probe``, ``sd_blind``, ``sd_probe``; see ``.priors`` of the result.
    draws, tune, chains, seed, progress
        Of the sampler.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        Columns ``judge``, ``scheme``, ``against``, ``probe``, ``favoured``. For each judge, scheme and probe the terms
        of :func:`judgestats.anchoring`: ``shift_favoured``, ``shift_opposed``, ``shift_tie``; ``lds``, ``ols``, ``ts``
        (what is positive of them); ``lao``; ``total_variation``; ``shift_nontie``, ``tie``, ``tie_blind``. For each
        scheme against the other (``against`` is not empty) the same named ``... difference``, and

        - ``by_abstaining`` and ``by_choosing``: the two parts of ``shift_favoured difference``. The first is what the
          scheme changes in how often a side is taken, the second in which side is taken;
        - ``probability_helps``: of a smaller ``lds``; for ``mean of judges`` also ``probability_helps_all``;
        - ``probability_bought``: that abstaining reduces the shift, and by more than choosing does.

        Judge ``mean of judges`` is the mean over these judges, ``another judge`` one more of their kind.

    Raises
    ------
    SchemaError, DesignError
        If the table is none of these, nothing names the favoured side, or it differs from item to item.
    FitError
        If PyMC is missing or the sampler fails.

    Notes
    -----
    Outcomes of a judge under a scheme and a probe are multinomial: softmax of log-odds against the reference, blind
    ones and what each probe adds, both with judges drawn around the mean of the scheme. Counts of one item under two
    probes are taken as independent, which makes intervals of paired items too wide, hardly ever too narrow.

    A gain is that of the posterior mean of its signed shift, with the clipped interval: the mean of a clipped quantity
    is above 0 where nothing moves. ``lao`` is the mean of a ratio; it is flagged where all three intervals hold 0. A
    share of ties with none counted, blind and under the probe, is ``prior-driven``: the counts say only that it is
    small. The parts by abstaining and by choosing are averages over the order in which the two are changed (Shapley);
    they add up to the difference.

    Source: rationalization paper, Sections IV.C and V.D to V.F, which has no intervals.

    Examples
    --------
    >>> susceptibility({"blind": blind, "truth": truth}, favoured="llm").tidy()  # doctest: +SKIP
    """
    confidence(conf_level)
    data = outcomes(counts, blind, reference)
    sides = favoured_sides(counts, data, favoured, favoured_label)
    wanted = scales(PRIORS, priors)
    compared = data.compared(against)
    names = _labels(data)
    found = sample(
        model(data, wanted), names, draws=draws, tune=tune, chains=chains, seed=seed, progress=progress
    )  # fmt: skip
    found = replace(found, tops=tuple(Top(k, v, _law(k, wanted[k])) for k, v in found.values.items() if k in wanted))
    rng = np.random.default_rng(seed)
    shares = _with_another(found, data, rng)
    rows = [
        r
        for p, probe in enumerate(data.probes[1:], 1)
        for r in Probed(data, p, sides[probe], shares, conf_level, found).rows(compared)
    ]
    seen = data.counts.sum(axis=-1) > 0
    again = _replicated(found.flat("shares"), data, seen, rng)
    stated = prior_table({name: (f"{_MEANING[name][0]}(0, {v:g})", _MEANING[name][1]) for name, v in wanted.items()})
    checks = [
        *convergence(found, stated),
        *foreseen(found),
        *predictive("counts", data.counts[seen].ravel(), again),
        *_doubts(data),
    ]
    table = tabled(rows, ["judge", "scheme", "against", "probe"], ("favoured",))
    before = np.stack([prior_draw(data, wanted, rng)[1][seen].ravel() for _ in range(len(again))])
    n = data.counts.sum(axis=-1)[seen].repeat(len(data.outcomes))
    predicted = beside(_cells(data, seen), data.counts[seen].ravel(), again, before, n, draws=found.method)
    return Posterior("How far does the cue move each judge?", table, stated, pd.DataFrame(checks), found, predicted)


# ---------------------------------------------------------------- model


def model(data: Outcomes, priors: Mapping[str, float] | None = None) -> Any:
    """Build the model; the counts are its data ``counts``, (J, S, P, K).

    Parameters
    ----------
    data : Outcomes
    priors : mapping, optional

    Returns
    -------
    pymc.Model
        With ``mean`` (S, K-1), ``probe`` (S, P-1, K-1), the spreads ``sd_blind``, ``sd_probe`` (S, K-1) where there are
        two judges or more, and ``shares`` (J, S, P, K).
    """
    pm = pymc()
    import pytensor.tensor as pt

    scale = scales(PRIORS, priors)
    J, S, P, K = data.counts.shape
    with pm.Model() as built:
        counts = pm.Data("counts", data.counts)
        blind = pm.Normal("mean", 0.0, scale["mean"], shape=(S, K - 1))[None]
        added = pm.Normal("probe", 0.0, scale["probe"], shape=(S, P - 1, K - 1))[None]
        if J > 1:
            spread = pm.HalfNormal("sd_blind", scale["sd_blind"], shape=(S, K - 1))
            blind = blind + spread * pm.Normal("z_blind", shape=(J, S, K - 1))
            spread = pm.HalfNormal("sd_probe", scale["sd_probe"], shape=(S, K - 1))
            added = added + spread[:, None] * pm.Normal("z_probe", shape=(J, S, P - 1, K - 1))
        odds = pt.concatenate([blind[:, :, None], blind[:, :, None] + added], axis=2)
        whole = pt.concatenate([pt.zeros((J, S, P, 1)), odds], axis=3)
        logs = whole - pt.logsumexp(whole, axis=3, keepdims=True)
        pm.Deterministic("shares", pt.exp(logs))
        likely(pm, pt.sum(counts * logs))
    return built


def prior_draw(
    data: Outcomes, priors: Mapping[str, float] | None, rng: np.random.Generator
) -> tuple[Terms, NDArray[np.int64]]:
    """Parameters from the prior, and counts from them: the model again, without PyMC.

    Parameters
    ----------
    data : Outcomes
        Its totals are kept.
    priors : mapping or None
    rng : numpy.random.Generator

    Returns
    -------
    parameters : dict of arrays
        ``mean``, ``probe``, ``shares``; ``sd_blind``, ``sd_probe`` where there are two judges or more.
    counts : (J, S, P, K) int array
    """
    scale = scales(PRIORS, priors)
    J, S, P, K = data.counts.shape
    drawn: Terms = {
        "mean": rng.normal(0, scale["mean"], (S, K - 1)),
        "probe": rng.normal(0, scale["probe"], (S, P - 1, K - 1)),
    }
    shares = np.empty((J, S, P, K))
    if J > 1:
        drawn |= {name: np.abs(rng.normal(0, scale[name], (S, K - 1))) for name in ("sd_blind", "sd_probe")}
    for j in range(J):
        for s in range(S):
            blind = drawn["mean"][s] + (rng.normal(0, drawn["sd_blind"][s]) if J > 1 else 0.0)
            for p in range(P):
                odds = np.zeros(K)
                odds[1:] = blind
                if p:
                    own = rng.normal(0, drawn["sd_probe"][s]) if J > 1 else 0.0
                    odds[1:] += drawn["probe"][s, p - 1] + own
                shares[j, s, p] = np.exp(odds - odds.max()) / np.exp(odds - odds.max()).sum()
    drawn["shares"] = shares
    return drawn, rng.multinomial(np.rint(data.counts.sum(axis=-1)).astype(np.int64), shares)


def _law(name: str, scale: float) -> Prior:
    return Prior(scale, None, name.startswith("sd_"))


def _labels(data: Outcomes) -> dict[str, tuple[tuple[str, ...], ...]]:
    free, labelled = data.outcomes[1:], data.probes[1:]
    names: dict[str, tuple[tuple[str, ...], ...]] = {
        "mean": (data.schemes, free),
        "probe": (data.schemes, labelled, free),
        "shares": (data.judges, data.schemes, data.probes, data.outcomes),
    }
    if len(data.judges) > 1:
        names |= {"sd_blind": (data.schemes, free), "sd_probe": (data.schemes, free)}
    return names


def _with_another(found: Any, data: Outcomes, rng: np.random.Generator) -> Floats:
    """Shares (chains, draws, J + 1, S, P, K), the last judge one more of their kind; none is added to one judge."""
    shares: Floats = found.values["shares"]
    if len(data.judges) == 1:
        return shares
    v = found.values
    blind = v["mean"] + v["sd_blind"] * rng.standard_normal(v["mean"].shape)
    added = v["probe"] + v["sd_probe"][..., None, :] * rng.standard_normal(v["probe"].shape)
    blind = blind[..., None, :]
    odds = np.concatenate([blind, blind + added], axis=-2)
    odds = np.concatenate([np.zeros((*odds.shape[:-1], 1)), odds], axis=-1)
    power = np.exp(odds - odds.max(axis=-1, keepdims=True))
    return np.concatenate([shares, (power / power.sum(axis=-1, keepdims=True))[:, :, None]], axis=2)


def _replicated(shares: Floats, data: Outcomes, seen: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Counts drawn anew from 400 of the draws, (400, cells times K)."""
    n = np.rint(data.counts.sum(axis=-1)[seen]).astype(np.int64)
    kept = shares[np.linspace(0, len(shares) - 1, 400).astype(int)][:, seen]
    kept = kept / kept.sum(axis=-1, keepdims=True)
    return rng.multinomial(n[None], kept).reshape(400, -1).astype(float)


def _cells(data: Outcomes, seen: NDArray[np.bool_]) -> pd.DataFrame:
    """Labels of each count."""
    rows = [
        (data.judges[j], data.schemes[s], data.probes[p], outcome)
        for j, s, p in np.argwhere(seen)
        for outcome in data.outcomes
    ]
    return pd.DataFrame(rows, columns=["judge", "scheme", "probe", "outcome"])


def _doubts(data: Outcomes) -> list[dict[str, Any]]:
    """Rows of ``checks`` on the data."""
    empty = float((data.counts.sum(axis=(0, 2)) == 0).sum())
    rare = "Their share is near 0; how near, and its log-odds, the prior says: vary mean and probe in priors=."
    few = FEW_JUDGES if len(data.judges) < 5 else ""
    return [
        finding("outcomes that never occur under a scheme", empty, PRIOR_DRIVEN if empty else "", rare),
        finding("judges", float(len(data.judges)), few),
    ]
