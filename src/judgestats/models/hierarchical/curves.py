"""Psychometric functions of judges: threshold, slope, lapse, slot bias and tie criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose, confidence
from judgestats.models.bayes.draws import Draws, Top
from judgestats.models.bayes.replicates import beside
from judgestats.models.bayes.sampling import likely, pymc, sample_each
from judgestats.models.bayes.scales import Prior
from judgestats.models.hierarchical.curve_effects import Fitted, consequences, curve_rows
from judgestats.models.hierarchical.ladders import (
    LAPSE_CENTRE,
    MEANING,
    MOST_LAPSE,
    NAMES,
    PRIORS,
    Ladder,
    ladder,
    shares,
)
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    convergence,
    foreseen,
    predictive,
    prior_table,
    scales,
    tabled,
)
from judgestats.models.hierarchical.predictors import ROWS, predictor

Floats = NDArray[np.float64]
Link = Literal["logit", "probit"]
LINKS = ("logit", "probit")
#: The second prior has scales so many times those of the first.
WIDER = 2.0
#: Slope and criterion go up together where most answers are right or tied: a narrow way for the sampler.
ACCEPT = 0.99


def psychometric(
    data: Any,
    *,
    by: str | None = None,
    quality: str | None = None,
    links: Sequence[Link] = LINKS,  # type: ignore[assignment]
    baseline: str | None = None,
    level: float = 0.75,
    wider: bool = True,
    priors: Mapping[str, float] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int = 0,
    conf_level: float = 0.95,
    progress: bool = True,
) -> Posterior:
    """Target sensitivity over the difference of quality, judge by judge; whether criterion or resolution moved.

    Parameters
    ----------
    data : frame
        Preferences with ``delta`` and ``better`` (or `quality`) in a known order. Or a tally whose slots are unknown:
        ``judge, delta, outcome, n`` with the outcomes ``correct``, ``tie``, ``wrong``, and ``preference`` where
        ``delta`` is 0 or missing (those of :func:`judgestats.target_sensitivity` and
        :func:`judgestats.criterion_shift`).
    by : str, optional
        Column of conditions to be compared, as ``prompt``.
    quality : str, optional
        A column, or the stem of ``<quality>_first`` and ``<quality>_second``, in place of ``delta`` and ``better``.
    links : sequence of {'logit', 'probit'}
        Rao and Kupper's model, Glenn and David's; each is fitted.
    baseline : str, optional
        Condition that the others are compared with; required where `by` has several values.
    level : float
        Share of correct answers at the threshold, a tie not being correct.
    wider : bool
        Whether each model is fitted once more with priors twice as wide. False saves half of the time; what the prior
        decides is then told from the ratio of posterior and prior sd alone.
    priors : mapping, optional
        Scales by name; see ``.priors`` of the result.
    draws, tune, chains, seed, progress
        Of the sampler.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        Columns ``judge``, the condition, ``link``, ``prior`` (``stated`` or ``wider``). Terms: ``threshold`` (posterior
        median; NaN and ``right-censored`` above the last step; ``left-censored`` below the first), ``slope`` (per unit
        of quality), ``criterion``, ``slot_bias``, ``lapse``. Where slots are unknown ``slot_bias`` is its size, and its
        sign cannot be told: ``slot_bias_sign`` is 0.5. For each condition but the baseline also
        ``log_criterion_ratio``, ``log_resolution_ratio`` and ``probability_criterion_moved_more``, of each judge and
        of the ``mean of judges``.

    Raises
    ------
    SchemaError, DesignError
        If the table is none of these, or the difference of quality is never known.
    FitError
        If PyMC is missing or the sampler fails.

    Notes
    -----
    With probability ``lapse``, at most a half, an answer is random: a third each (half for each slot of a judge that
    never ties).
    Otherwise ``P(first) = F(slope d + bias - criterion)``, ``P(second) = F(-slope d - bias - criterion)``, the rest
    ties; d is the quality of the first slot less that of the second. Counts against the better candidate average both
    orders. Judges are drawn around their mean where there are two or more; what a condition changes is pooled likewise.
    Calls are independent given these.

    A row is ``prior-driven`` where the posterior sd is more than half of the prior sd, or twice as wide a prior moves
    the posterior mean by half an sd or its sd by half; a threshold also where it lies below the first step, since no
    call was made there. On the dark_current paper's counts that holds for lapse and slot bias of every judge. Between
    two steps far apart a threshold is flagged too: from calls at Δ1 and Δ5 only, Llama8B's comes out near 1.7 of a
    logit curve, where the whole ladder of the paper gives 4.

    Source: dark_current paper, Eqs. 8 to 12; Rao and Kupper (1967); Glenn and David (1960); Wichmann and Hill (2001)
    for lapses.

    Examples
    --------
    >>> psychometric(counts, by="prompt", baseline="base").tidy()  # doctest: +SKIP
    """
    confidence(conf_level)
    confidence(level)
    asked = [choose(k, LINKS, "links") for k in ([links] if isinstance(links, str) else links)]
    if not asked:
        raise DesignError("links= is empty. Give 'logit', 'probit' or both.")
    stated = scales(PRIORS, priors)
    base = ladder(data, by, quality, baseline)
    settings: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains, "seed": seed, "progress": progress}
    widths = (("stated", stated), ("wider", {k: WIDER * v for k, v in stated.items()}))[: 1 + wider]
    models = {(link, name): (replace(base, link=link), scale) for link in asked for name, scale in widths}
    found = sample_each(
        model(base, stated),
        _labels(base) | _standard(base, stated),
        [given(*own) for own in models.values()],
        target_accept=ACCEPT,
        **settings,
    )
    found = [_topped(base, drawn, stated) for drawn in found]
    fits = {
        key: Fitted(own, drawn, consequences(own, drawn.values, level), _prior(own, scale, seed))
        for (key, (own, scale)), drawn in zip(models.items(), found, strict=True)
    }
    rows = curve_rows(fits, by, level, conf_level)
    first = next(iter(fits.values()))
    whole = Draws(
        {f"{link}, {name}: {k}": v for (link, name), f in fits.items() for k, v in f.draws.values.items()},
        {f"{link}, {name}: {k}": v for (link, name), f in fits.items() for k, v in f.draws.labels.items()},
        sum(f.draws.divergences for f in fits.values()),
        first.draws.method,
    )
    again = {k: _replicated(f, seed) for k, f in fits.items()}
    priors_ = prior_table({k: (f"{MEANING[k][0]}(0, {v:g})", MEANING[k][1]) for k, v in stated.items()})
    doubts = (c for k, f in fits.items() for c in foreseen(f.draws, ", ".join(k)))
    checks = [
        *convergence(whole, priors_),
        *doubts,
        *(c for k, f in fits.items() for c in _predicted(k, f.data, again[k])),
    ]
    predicted = [_beside(k, f, again[k], models[k][1], by, seed) for k, f in fits.items()]
    table = tabled(rows, ["judge", *([by] if by else []), "link", "prior"])
    return Posterior("What does each judge resolve, and where is its criterion?", table, priors_, pd.DataFrame(checks),
                     whole, pd.concat(predicted, ignore_index=True))  # fmt: skip


# ---------------------------------------------------------------- model


def model(data: Ladder, priors: Mapping[str, float] | None = None) -> Any:
    """Build the model; what :func:`given` returns are its data, and may be set anew.

    Every variable is standard normal. A spread between judges, and a bias where slots are unknown, is the absolute
    value of one: the likelihood is the same for either sign, and the sampler need not stop at 0.

    Parameters
    ----------
    data : Ladder
    priors : mapping, optional

    Returns
    -------
    pymc.Model
        With ``slope`` (per smallest step), ``criterion``, ``bias`` (J, G) and ``lapse`` (J,).
    """
    pm = pymc()
    import pytensor.tensor as pt

    J, G = len(data.judges), len(data.conditions)
    design = predictor(data, scales(PRIORS, priors))
    with pm.Model() as built:
        own = {name: pm.Data(name, value) for name, value in given(data, priors).items()}
        size = pt.as_tensor(design.fixed)
        if J > 1:
            size = size + (design.shared * pm.Normal("spread", shape=design.shared.shape[1])).sum(axis=1)
        eta = (own["design"] * (size * pm.Normal("z", shape=len(design.fixed)))).sum(axis=1).reshape((len(ROWS), J * G))
        slope, criterion, bias = pt.exp(eta[0]), pt.exp(eta[1]), eta[2]
        lapse = MOST_LAPSE * pt.sigmoid(LAPSE_CENTRE + eta[3])
        for name, value in zip(NAMES, (slope, criterion, pt.abs(bias) if data.folded else bias), strict=True):
            pm.Deterministic(name, value.reshape((J, G)))
        pm.Deterministic("lapse", lapse.reshape((J, G))[:, 0])
        cell = np.eye(J * G)[data.judge * G + data.condition]  # sums, not dot: a library of linear algebra may lack
        each = ((cell * v).sum(axis=1) for v in (slope, criterion, bias, lapse))
        logs = _log_shares(data, own["probit"], *each)
        likely(pm, sum(pt.sum(own["counts"][:, k] * v) for k, v in enumerate(logs)))
    return built


def given(data: Ladder, priors: Mapping[str, float] | None = None) -> dict[str, Floats]:
    """What the model is given: ``counts`` (N, 4), the ``design`` that holds the scales of the priors, and the link.

    Parameters
    ----------
    data : Ladder
    priors : mapping, optional

    Returns
    -------
    dict of arrays
    """
    design = predictor(data, scales(PRIORS, priors)).weights
    return {"counts": data.counts, "design": design, "probit": np.array(float(data.link == "probit"))}


def _log_shares(data: Ladder, probit: Any, s: Any, c: Any, b: Any, lapse: Any) -> list[Any]:
    """Log probabilities of first, tie, second and of either slot, (N,) each."""
    import pytensor.tensor as pt

    def F(z: Any) -> Any:
        return pt.switch(probit, pt.erfc(-z / np.sqrt(2.0)) / 2, pt.sigmoid(z))

    one, two = F(s * data.x + b - c), F(-s * data.x - b - c)
    if data.folded:
        one, two = (one + F(s * data.x - b - c)) / 2, (two + F(-s * data.x + b - c)) / 2
    random = data.random[data.judge]
    p = [(1 - lapse) * v + lapse * random[:, k] for k, v in enumerate((one, 1 - one - two, two))]
    return [pt.log(pt.maximum(v, 1e-15)) for v in (*p, p[0] + p[2])]


def prior_draw(
    data: Ladder, priors: Mapping[str, float] | None, rng: np.random.Generator
) -> tuple[dict[str, Floats], Floats]:
    """Parameters from the prior, and counts from them: the model again, without PyMC.

    Parameters
    ----------
    data : Ladder
        Its totals are kept.
    priors : mapping or None
    rng : numpy.random.Generator

    Returns
    -------
    parameters : dict of arrays
        ``slope``, ``criterion``, ``bias`` (J, G), ``lapse`` (J,).
    counts : (N, 4) array
    """
    drawn = _parameters(data, scales(PRIORS, priors), rng)
    return drawn, drawn_counts(data, shares(data, **drawn), rng)


def _parameters(data: Ladder, scale: Mapping[str, float], rng: np.random.Generator) -> dict[str, Floats]:
    J, G = len(data.judges), len(data.conditions)
    several = float(J > 1)
    made: dict[str, Floats] = {}
    for name in NAMES:
        judges = rng.normal(0, scale[name]) + several * abs(rng.normal(0, scale["spread"])) * rng.normal(size=J)
        value = np.repeat(judges[:, None], G, axis=1)
        spread = several * abs(rng.normal(0, scale["spread_ratio"]))
        value[:, 1:] += rng.normal(0, scale["ratio"], G - 1) + spread * rng.normal(size=(J, G - 1))
        made[name] = value if name == "bias" else np.exp(value)
    if data.folded:
        made["bias"] = np.abs(rng.normal(0, scale["bias"], (J, G)))
    centre = LAPSE_CENTRE + rng.normal(0, scale["lapse"])
    odds = centre + several * abs(rng.normal(0, scale["spread"])) * rng.normal(size=J)
    made["lapse"] = MOST_LAPSE / (1 + np.exp(-odds))
    return made


def drawn_counts(data: Ladder, p: Floats, rng: np.random.Generator) -> Floats:
    """Counts from probabilities, the totals kept.

    Parameters
    ----------
    data : Ladder
    p : (..., N, 3) float array
    rng : numpy.random.Generator

    Returns
    -------
    (..., N, 4) float array
    """
    n = np.rint(data.counts.sum(axis=1)).astype(np.int64)
    made = rng.multinomial(np.broadcast_to(n, p.shape[:-1]), p / p.sum(axis=-1, keepdims=True)).astype(float)
    either = np.where(data.merged, made[..., 0] + made[..., 2], 0.0)
    made[..., [0, 2]] *= ~data.merged[:, None]
    return np.concatenate([made, either[..., None]], axis=-1)


def _labels(data: Ladder) -> dict[str, tuple[tuple[str, ...], ...]]:
    return {**dict.fromkeys(NAMES, (data.judges, data.conditions)), "lapse": (data.judges,)}


def _standard(data: Ladder, scale: Mapping[str, float]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The standard normal variables that all else is made of."""
    design = predictor(data, scale)
    names: dict[str, tuple[tuple[str, ...], ...]] = {"z": (design.names,)}
    return names | ({"spread": (design.spreads,)} if len(data.judges) > 1 else {})


def _topped(data: Ladder, drawn: Draws, scale: Mapping[str, float]) -> Draws:
    """The draws with those variables apart that stand at the top; the sign of a spread says nothing."""
    design, values = predictor(data, scale), dict(drawn.values)
    z, spread = values.pop("z"), values.pop("spread", None)
    alone = np.array(design.names)[design.fixed == 1]
    z = z[..., design.fixed == 1]
    tops = [Top(name, z[..., alone == name], Prior(1.0, None, False)) for name in dict.fromkeys(alone.tolist())]
    if spread is not None:
        tops += [
            Top(f"spread of {n}", np.abs(spread[..., k]), Prior(1.0, None, True)) for k, n in enumerate(design.spreads)
        ]
    return replace(drawn, values=values, labels={k: drawn.labels[k] for k in values}, tops=tuple(tops))


def _prior(data: Ladder, scale: Mapping[str, float], seed: int, size: int = 1000) -> dict[str, Floats]:
    """Draws of the parameters from the prior, (1, size, ...)."""
    rng = np.random.default_rng([seed, 1])
    drawn = [_parameters(data, scale, rng) for _ in range(size)]
    return {name: np.stack([d[name] for d in drawn])[None] for name in drawn[0]}


def _replicated(fitted: Fitted, seed: int) -> Floats:
    """Counts drawn anew from 400 of the draws, (400, N, 4)."""
    data, flat = fitted.data, {name: fitted.draws.flat(name) for name in (*NAMES, "lapse")}
    kept = np.linspace(0, len(flat["lapse"]) - 1, 400).astype(int)
    p = shares(data, **{name: v[kept] for name, v in flat.items()})
    return drawn_counts(data, p, np.random.default_rng(seed))


def _used(data: Ladder) -> NDArray[np.bool_]:
    """Which counts there are, (N, 4)."""
    return np.column_stack([~data.merged, np.ones_like(data.merged), ~data.merged, data.merged])


def _predicted(key: tuple[str, str], data: Ladder, again: Floats) -> list[dict[str, Any]]:
    used = _used(data)
    return predictive(f"counts ({', '.join(key)})", data.counts[used], again[:, used])


def _beside(
    key: tuple[str, str], fitted: Fitted, again: Floats, scale: Mapping[str, float], by: str | None, seed: int
) -> pd.DataFrame:
    """Every count beside replicated ones."""
    data, used, rng = fitted.data, _used(fitted.data), np.random.default_rng([seed, 2])
    before = np.stack([prior_draw(data, scale, rng)[1] for _ in again])
    named = ("correct", "tie", "wrong", "preference") if data.folded else ("first", "tie", "second", "either slot")
    rows = [
        (data.judges[data.judge[i]], data.conditions[data.condition[i]], *key, data.x[i] * data.unit,
         "no preference" if k == 1 and data.merged[i] else named[k])
        for i, k in np.argwhere(used)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["judge", by or "condition", "link", "prior", "delta", "outcome"])
    table = table if by else table.drop(columns="condition")
    n = np.repeat(data.counts.sum(axis=1)[:, None], 4, axis=1)[used]
    return beside(table, data.counts[used], again[:, used], before[:, used], n, draws=fitted.draws.method)
