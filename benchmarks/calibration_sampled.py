"""Small designs of the hierarchical models that are sampled: each is compiled once and given new counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from calibration_models import Case, Fit, Values
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, xlogy

from judgestats.models.bayes.draws import diagnostics
from judgestats.models.hierarchical import cue_effects, curves, joint_distributions, signed_bias
from judgestats.models.hierarchical.best_strategies import miss_probability
from judgestats.models.hierarchical.best_strategies import ranked as best_of
from judgestats.models.hierarchical.cue_counts import Outcomes
from judgestats.models.hierarchical.curves import PRIORS as LADDER_PRIORS
from judgestats.models.hierarchical.ladders import Ladder, shares, threshold
from judgestats.models.hierarchical.strategy_counts import Arms, read
from judgestats.models.hierarchical.target_counts import TargetCells

Floats = NDArray[np.float64]
#: Warm-up draws, and the lengths of the runs tried until each quantity has as many effective draws as asked.
TUNE, LENGTHS = 500, (500, 2000, 8000)


class Sampler:
    """A compiled model.

    Parameters
    ----------
    built : pymc.Model
    names : sequence of str
        Variables that are kept.
    ranked : callable
        Draws and data -> what is ranked.
    observed : callable
        Data -> what the model is given, by name.
    accept : float
        Share of accepted transitions.
    """

    def __init__(
        self, built: Any, names: Any, ranked: Callable[[Values, Any], Values], observed: Callable[[Any], Any],
        accept: float = 0.9,
    ) -> None:  # fmt: skip
        import nutpie

        self.names, self.ranked, self.observed, self.accept = tuple(names), ranked, observed, accept
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.compiled = nutpie.compile_pymc_model(built)

    def __call__(self, data: Any, seed: int, draws: int) -> Fit:
        """One chain, run anew and longer where it has too few effective draws; evenly spaced draws of it."""
        import nutpie

        given = self.compiled.with_data(**self.observed(data))
        for attempt, length in enumerate(LENGTHS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trace = nutpie.sample(
                    given, draws=length, tune=TUNE, chains=1, cores=1, seed=10 * seed + attempt, progress_bar=False,
                    target_accept=self.accept, save_warmup=False,
                )  # fmt: skip
            v = {name: np.asarray(trace.posterior[name])[0] for name in self.names}
            ess = effective(self.ranked(v, data))
            if ess >= draws:
                break
        which = np.linspace(0, length - 1, draws).round().astype(int)
        diverged = int(np.asarray(trace.sample_stats["diverging"]).sum())
        return Fit({name: a[which] for name, a in v.items()}, ess < draws, diverged)


def effective(values: Values) -> float:
    """Effective draws of the slowest quantity, of its bulk."""
    flat = np.concatenate([np.reshape(a, (len(a), -1)) for a in values.values()], axis=1).astype(float)
    moving = flat[:, np.ptp(flat, axis=0) > 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(np.nanmin(diagnostics(moving[None])[1]))


def _times(priors: Mapping[str, float], times: float) -> dict[str, float]:
    return {name: times * scale for name, scale in priors.items()}


# --- Bias -------------------------------------------------------------------------------------------------------------


def _bias(printed: bool) -> Case:
    """Counts by outcome, or scores alone."""
    judge, condition, topic = (a.ravel() for a in np.indices((3, 2, 2)))
    number = len(judge)
    topics = tuple((c, str(t)) for c in range(2) for t in range(2))
    empty = TargetCells(
        tuple("abc"), (("x",), ("y",)), topics, judge, condition, condition * 2 + topic, np.full(number, 12.0),
        np.zeros((number, 3)), np.full(number, printed), np.zeros(number), ("bias",),
    )  # fmt: skip
    priors = signed_bias.PRIORS
    names = signed_bias.labels(empty)

    def ranked(v: Values, data: TargetCells) -> Values:
        p = signed_bias._probabilities(data, v)
        given = signed_bias.observed(data)
        each = given["weight"] + xlogy(given["split"], np.maximum(p, 1e-300)[:, :, None, :]).sum(axis=-1)
        mine = p[:, (judge == 0) & (condition == 0)].mean(axis=1)
        return {**{n: v[n] for n in names}, "bias": mine[:, 0] - mine[:, 1], "tie": mine[:, 2],
                "log likelihood": logsumexp(each, axis=-1).sum(axis=-1)}  # fmt: skip

    drawn = signed_bias.prior_draw(empty, priors, np.random.default_rng(0))[1]
    return Case(
        "bias, printed scores" if printed else "bias, counts", "3 judges, 2 biases, 2 topics each, 12 calls a cell",
        lambda rng, times: signed_bias.prior_draw(empty, _times(priors, times), rng),
        Sampler(signed_bias.model(drawn, priors), names, ranked, signed_bias.observed), ranked,
    )  # fmt: skip


# --- Strategies -------------------------------------------------------------------------------------------------------

_JUDGES, _ARMS, _CALLS = 3, 3, 30
_LAWS = {"items": "calls with items", "discordant": "printed pairs", "extreme positive": "printed margins",
         "independent": "independent margins"}  # fmt: skip


def _arms(law: str) -> Arms:
    names = tuple("abc"), ("B0", "S1", "S2")
    if law == "items":
        calls = [(j, s, str(i), 1) for j in names[0] for s in names[1] for i in range(_CALLS)]
        table = pd.DataFrame(calls, columns=["judge", "strategy", "item", "correct"])
        return replace(read(table, "B0", "judge", "strategy", "item", "exact", "drop"), law=law)
    n, zeros, none = np.full((3, 3), float(_CALLS)), np.zeros((3, 3)), np.full((3, 3), np.nan)
    changes = np.where(np.arange(3) > 0, zeros, np.nan) if law == "discordant" else none
    return Arms(*names, n, zeros, changes, changes.copy(), law=law)


def _log_items(arms: Arms, v: Values) -> Floats:
    """Log likelihood of answer patterns."""
    sign = np.where(np.isnan(arms.answers), 0.0, 2 * arms.answers - 1)
    total = np.zeros((len(v["logit"]), len(sign), len(joint_distributions.NODES)))
    for s in range(_ARMS):
        phi = expit(v["each_link"][:, :, s])
        at = v["logit"][:, :, s, None] / phi[..., None] + joint_distributions.bridge_quantile(
            joint_distributions.NODES, phi[..., None]
        )
        total -= np.abs(sign[:, s, None]) * np.logaddexp(0, -sign[:, s, None] * at[:, arms.owner])
    return np.asarray((arms.count * logsumexp(total + np.log(joint_distributions.WEIGHTS), axis=-1)).sum(axis=-1))


def _log_counts(arms: Arms, v: Values) -> Floats:
    """Log likelihood of margins, each alone, or of the two-by-two tables with the baseline."""
    p, both = joint_distributions.joint(arms, v)
    each = xlogy(arms.k, np.maximum(p, 1e-300)) + xlogy(arms.n - arms.k, np.maximum(1 - p, 1e-300))
    if arms.law != "discordant":
        return np.asarray(each.sum(axis=(1, 2)))
    base, own, pair = p[..., :1], p[..., 1:], both[..., 1:]
    b, c, k = arms.b[:, 1:], arms.c[:, 1:], arms.k[:, :1]
    cells = (k - b, pair), (b, base - pair), (c, own - pair), (arms.n[:, 1:] - k - c, 1 - base - own + pair)
    tables = sum(xlogy(n, np.maximum(q, 1e-300)) for n, q in cells) - each[..., :1]
    return np.asarray(each[..., 0].sum(axis=1) + tables.sum(axis=(1, 2)))


def _strategies(law: str) -> Case:
    empty, priors = _arms(law), joint_distributions.PRIORS
    names = joint_distributions.labels(empty)

    def ranked(v: Values, data: Arms) -> Values:
        p, both = joint_distributions.joint(data, v)
        best, loss = best_of(p.mean(axis=1))
        change = p[:, 0, 1] - p[:, 0, 0]
        apart = p[:, 0, 1] + p[:, 0, 0] - 2 * both[:, 0, 1]
        loglik = _log_items(data, v) if law == "items" else _log_counts(data, v)
        return {**{n: v[n] for n in names if n != "baseline"}, "best": best[:, 1], "loss": loss[:, 0],
                "effect in points": change, "missed": miss_probability(change, apart, _CALLS),
                "log likelihood": loglik}  # fmt: skip

    drawn = joint_distributions.prior_draw(empty, priors, np.random.default_rng(0))[1]
    return Case(
        f"strategies, {_LAWS[law]}", f"3 judges, a baseline and 2 strategies, {_CALLS} calls each",
        lambda rng, times: joint_distributions.prior_draw(empty, _times(priors, times), rng),
        Sampler(joint_distributions.model(drawn, priors), names, ranked, joint_distributions.observed), ranked,
    )  # fmt: skip


# --- Susceptibility ---------------------------------------------------------------------------------------------------


def _susceptibility() -> Case:
    empty = Outcomes(tuple("abc"), ("Baseline", "PBP"), ("blind", "cue"), ("x", "y", "tie"),
                     np.full((3, 2, 2, 3), 8.0))  # fmt: skip
    names, priors = cue_effects._variable_labels(empty), cue_effects.PRIORS

    def ranked(v: Values, counts: Floats) -> Values:
        shift = v["shares"][:, 0, :, 1, 0] - v["shares"][:, 0, :, 0, 0]
        loglik = xlogy(counts, np.maximum(v["shares"], 1e-300)).sum(axis=(1, 2, 3, 4))
        gain = np.maximum(shift, 0.0)
        helps = (gain[:, 1] < gain[:, 0]).astype(float)
        return {**{n: v[n] for n in names}, "shift": shift, "lds": gain, "helps": helps, "log likelihood": loglik}

    return Case(
        "susceptibility", "3 judges, 2 schemes, blind and one cue, 3 outcomes, 24 calls a cell",
        lambda rng, times: cue_effects.prior_draw(empty, _times(priors, times), rng),
        Sampler(cue_effects.model(empty, priors), names, ranked, lambda counts: {"counts": counts.astype(float)}),
        ranked,
    )  # fmt: skip


# --- Psychometric -----------------------------------------------------------------------------------------------------


def _psychometric(folded: bool) -> Case:
    steps = np.array([0.0, 1.0, 2.0, 4.0]) if folded else np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    judge, condition, step = (a.ravel() for a in np.indices((2, 2, len(steps))))
    counts = np.column_stack([np.full((len(judge), 3), 8.0), np.zeros(len(judge))])
    empty = Ladder(("a", "b"), ("base", "other"), judge, condition, steps[step], counts, folded,
                   np.full((2, 3), 1 / 3), 1.0)  # fmt: skip
    names = ("slope", "criterion", "bias", "lapse")

    def ranked(v: Values, counts: Floats) -> Values:
        p = shares(empty, **{n: v[n] for n in names})
        p = np.concatenate([p, p[..., [0]] + p[..., [2]]], axis=-1)
        reached = np.nan_to_num(threshold(empty, 0.75, *(v[n] for n in names)), posinf=1e6)  # a point mass: never
        return {**{n: v[n] for n in names}, "threshold": reached,
                "log likelihood": xlogy(counts, np.maximum(p, 1e-300)).sum(axis=(1, 2))}  # fmt: skip

    priors = LADDER_PRIORS
    return Case(
        "psychometric, slots unknown" if folded else "psychometric, slots known",
        f"2 judges, 2 conditions, {len(steps)} steps of 24 calls",
        lambda rng, times: curves.prior_draw(empty, _times(priors, times), rng),
        Sampler(curves.model(empty, priors), names, ranked, lambda counts: {"counts": counts}, 0.98), ranked,
    )  # fmt: skip


def sampled() -> dict[str, Callable[[], Case]]:
    """Cases by name, not yet built: to build one is to compile it."""
    return {
        "susceptibility": _susceptibility,
        **{f"strategies, {about}": (lambda law=law: _strategies(law)) for law, about in reversed(_LAWS.items())},
        "bias, counts": lambda: _bias(printed=False),
        "bias, printed scores": lambda: _bias(printed=True),
        "psychometric, slots known": lambda: _psychometric(folded=False),
        "psychometric, slots unknown": lambda: _psychometric(folded=True),
    }
