"""The best of several strategies, what choosing another costs, and what a test of a strategy would have missed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from judgestats.models.bayes.draws import Draws
from judgestats.models.hierarchical.arms import Arms
from judgestats.models.hierarchical.doubts import PRIOR_DRIVEN
from judgestats.models.hierarchical.joint_laws import joint
from judgestats.models.hierarchical.leanings import chance
from judgestats.models.hierarchical.posteriors import row
from judgestats.results import NO_DATA, SMALL_N, flags

Floats = NDArray[np.float64]

ALL = "all judges"


def ranked(accuracy: Floats) -> tuple[Floats, Floats]:
    """Who is best in each draw, ties split, and what is lost by each choice.

    Parameters
    ----------
    accuracy : (..., S) float array

    Returns
    -------
    best, loss : (..., S) float arrays

    Examples
    --------
    >>> best, loss = ranked(np.array([[0.5, 0.75, 0.75], [0.5, 0.25, 0.0]]))
    >>> best.tolist(), loss.tolist()
    ([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], [[0.25, 0.0, 0.0], [0.0, 0.25, 0.5]])
    """
    top = accuracy.max(axis=-1, keepdims=True)
    first = (accuracy == top).astype(float)
    return first / first.sum(axis=-1, keepdims=True), top - accuracy


def missed(effect: Floats, discordance: Floats, n: float, level: float = 0.05) -> Floats:
    """Probability that McNemar's test of `n` pairs does not see an effect (normal approximation, uncorrected).

    Parameters
    ----------
    effect, discordance : float arrays
        P(right under the strategy alone) minus, and plus, P(right under the baseline alone).
    n : float
    level : float
        Two-sided.

    Returns
    -------
    float array

    Examples
    --------
    >>> missed(np.array([0.0, 0.05, 0.2]), np.array([0.2, 0.2, 0.25]), 400).round(3).tolist()
    [0.95, 0.391, 0.0]
    """
    z = -ndtri(level / 2)
    spread = np.sqrt(np.maximum(discordance - effect**2, 1e-12))
    reach, middle = z * np.sqrt(discordance), np.sqrt(n) * effect
    result: Floats = ndtr((reach - middle) / spread) - ndtr((-reach - middle) / spread)
    return result


def choice_rows(
    arms: Arms, drawn: Draws, priors: Mapping[str, float], margin: float, level: float, conf_level: float, flag: str
) -> list[dict[str, Any]]:
    """Rows of one law: effects of each judge and strategy, who is best, and the same over all judges."""
    accuracy, both = joint(arms, drawn.values)
    odds, there = drawn.values["logit"], arms.there
    rows: list[dict[str, Any]] = []
    shared = {"conf_level": conf_level, "method": drawn.method, "dependence": arms.law, "draws": drawn}
    for j, name in enumerate(arms.judges):
        own = np.flatnonzero(there[j])
        whole = flags(flag, arms.aside.get(name), SMALL_N if np.nanmax(arms.n[j, own]) < 30 else "")
        more = [{**shared, "judge": name, "strategy": arms.strategies[s], "n": float(arms.n[j, s])} for s in own]
        for s, m in zip(own, more, strict=True):
            if s:
                effect = accuracy[..., j, s] - accuracy[..., j, 0]
                apart = accuracy[..., j, s] + accuracy[..., j, 0] - 2 * both[..., j, s]
                pairs = float(np.nanmin([arms.n[j, s], arms.n[j, 0]]))
                unseen = missed(effect, apart, pairs, level)
                rows += _effect(effect, odds[..., j, s] - odds[..., j, 0], unseen, margin, m, whole)
        rows += _choice(accuracy[..., j, own], more, whole)
    if len(arms.judges) > 1:
        rows += _pooled(arms, drawn, accuracy, priors, shared, flag)
    return rows


def _effect(
    effect: Floats, odds: Floats, unseen: Floats, margin: float, more: dict[str, Any], flag: str
) -> list[dict[str, Any]]:
    real = (100 * np.abs(effect) > margin).astype(float)
    share = real.mean()
    own = {**more, "scale": "probability"}
    hidden = chance("missed if real", real * unseen, flag=flag if share else flags(flag, NO_DATA), **own)
    with np.errstate(invalid="ignore", divide="ignore"):
        hidden.update(estimate=hidden["estimate"] / share if share else math.nan, std_error=math.nan)
    return [
        row("effect", 100 * effect, flag=flag, scale="percentage points", **more),
        row("effect", odds, flag=flag, scale="log-odds", **more),
        chance("real", real, flag=flag, **own),
        chance("real and missed", real * unseen, flag=flag, **own),
        hidden,
    ]


def _choice(accuracy: Floats, more: list[dict[str, Any]], flag: str) -> list[dict[str, Any]]:
    best, loss = ranked(accuracy)
    rows = [chance("best", best[..., i], flag=flag, scale="probability", **m) for i, m in enumerate(more)]
    return rows + [
        row("loss", 100 * loss[..., i], flag=flag, scale="percentage points", **m) for i, m in enumerate(more)
    ]


def _pooled(
    arms: Arms, drawn: Draws, accuracy: Floats, priors: Mapping[str, float], shared: dict[str, Any], flag: str
) -> list[dict[str, Any]]:
    rows, there = [], arms.there
    more = [{**shared, "strategy": s, "n": float(np.nansum(arms.n[:, i]))} for i, s in enumerate(arms.strategies)]
    for s in range(1, len(arms.strategies)):
        own = there[:, s]
        some = "" if own.all() else f"mean of {own.sum()} of {len(own)} judges"
        effect = 100 * (accuracy[..., own, s] - accuracy[..., own, 0]).mean(axis=-1)
        rows.append(row("effect", effect, flag=flags(flag, some), scale="percentage points", judge=ALL, **more[s]))
        mean = drawn.values["effect"][..., s - 1]
        doubt = PRIOR_DRIVEN if mean.std() > 0.7 * priors["effect"] else ""
        rows.append(row("effect", mean, flag=flags(flag, doubt), scale="log-odds", judge="population", **more[s]))
        spread = drawn.values["sd_effect"][..., s - 1]
        doubt = PRIOR_DRIVEN if spread.std() > 0.7 * priors["sd_effect"] * math.sqrt(1 - 2 / math.pi) else ""
        rows.append(row("sd_effect", spread, flag=flags(flag, doubt), scale="log-odds", judge="population", **more[s]))
    if there.all():
        rows += _choice(accuracy.mean(axis=-2), [{**m, "judge": ALL} for m in more], flag)
    return rows
