"""Which strategy is best for which judge, how sure is that, and what would a test have missed?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose, confidence
from judgestats.models.bayes.draws import Draws
from judgestats.models.bayes.replicates import beside
from judgestats.models.bayes.sampling import sample_each
from judgestats.models.hierarchical.arms import Arms, paired, read
from judgestats.models.hierarchical.choices import choice_rows, missed, ranked
from judgestats.models.hierarchical.doubts import HUB, SELECTED, UNKNOWN_LAW, finding
from judgestats.models.hierarchical.joint_laws import (
    NODES,
    PRIORS,
    WEIGHTS,
    bridge,
    joint,
    labels,
    model,
    observed,
    prior_draw,
    simulated,
    tops,
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
from judgestats.results import flags
from judgestats.schema.columns import By

Floats = NDArray[np.float64]
__all__ = [
    "NODES", "PRIORS", "WEIGHTS", "Arms", "bridge", "joint", "labels", "missed", "model", "observed", "paired",
    "prior_draw", "ranked", "read", "simulated", "strategies",
]  # fmt: skip

#: What is taken for the joint law of two strategies -> what a table of margins is then read as.
DEPENDENCE = ("unknown", "independent", "discordant")
#: The laws between which the truth lies where margins are all that is known.
BOUNDS = ("independent", "extreme positive", "extreme negative")
#: What is counted -> where it is.
COUNTED = {"right calls": "k", "right under the baseline alone": "b", "under the strategy alone": "c"}


def strategies(
    data: Any,
    *,
    baseline: str,
    dependence: str = "unknown",
    judge: str = "judge",
    strategy: str = "strategy",
    item: By = "item",
    margin: float = 2.0,
    level: float = 0.05,
    selected: bool | None = None,
    ties: str = "exact",
    invalid: str = "drop",
    priors: Mapping[str, float] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int = 0,
    conf_level: float = 0.95,
    progress: bool = True,
) -> Posterior:
    """Effect of each strategy on the accuracy of each judge, pooled over judges; which is best, and how sure.

    Parameters
    ----------
    data : frame
        Calls with `item` and a column ``correct`` of 0 and 1, or ``outcome``, or preferences with ``gold``. Or counts:
        a tally of outcomes without items (margins); a tally of changes (``baseline``, ``outcome``, ``n``, and
        ``pairs`` where only discordant pairs are in it); a printed table with ``n`` and ``k`` (right calls) or
        ``baseline_only`` and ``strategy_only`` (``b`` and ``c``), or all of them, missing where not printed.
    baseline : str
        The strategy that the others are compared with.
    dependence : {'unknown', 'independent', 'discordant'}
        How a judge's answers under two strategies go together. ``unknown``: as far as the data tell; margins do not
        tell, and are shown under independence and under both extremes. ``independent``: different items.
        ``discordant``: by the discordant counts, which must be there; comparisons that lack them are taken to be like
        the others.
    judge, strategy : str
        Columns.
    item : str or sequence of str
        What is judged; calls without it are margins.
    margin : float
        Percentage points from which on an effect is real.
    level : float
        Level of McNemar's test, which may miss an effect; divide it by the number of tests for a Bonferroni bound.
    selected : bool, optional
        Whether the table prints selected comparisons only. None: so it is where some judge lacks a strategy, or
        discordant counts, that another has.
    ties, invalid : str
        As in ``strategy_effects``: a tie is ``exact`` (wrong where the gold is a candidate) or dropped; an invalid call
        is dropped or ``wrong``.
    priors : mapping of str to float, optional
        Scales on the log-odds scale: ``baseline``, ``effect``, ``association``, ``link`` (normal), ``sd_effect``,
        ``sd_association``, ``sd_link`` (half-normal).
    draws, tune, chains, seed : int
        Of the sampler.
    conf_level : float
        Coverage of the intervals.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Posterior
        Per ``dependence``, judge and strategy: ``effect`` (percentage points, and log-odds), ``best`` (probability;
        the baseline takes part, ties are split), ``loss`` (points lost by choosing it), ``real`` (probability that the
        effect exceeds `margin` either way), ``real and missed`` (and that a McNemar test of as many pairs would not see
        it) and ``missed if real``. ``all judges`` is the mean of these judges; ``population`` the mean of judges of
        their kind, and ``sd_effect`` the spread of effects between them, on log-odds. A probability has no interval;
        its standard error is that of the sampler. ``draws`` are those of the first law.

    Raises
    ------
    SchemaError
        If ``n`` is missing or a count is impossible.
    DesignError
        If the data hold no comparison, or not what `dependence` needs.
    FitError
        If PyMC is missing or the sampler fails.

    Notes
    -----
    The log-odds of the *marginal* accuracy are those of the judge's baseline, which is its own, plus an effect, which
    is normal around that of the strategy, with a spread of the strategy's own. With items the answers of a judge to one
    item depend on it through a random intercept with the bridge distribution (Wang and Louis 2003), each strategy with
    an attenuation of its own, so that the margins stay
    logistic; the likelihood is that of the counts of answer patterns. From pairs against the baseline, each
    two-by-two table has an odds ratio of its own (Plackett), pooled over judges and strategies. Two strategies are
    then independent given the answer under the baseline: their difference is less certain than the truth if they also
    go together otherwise. From margins, ``extreme`` is an odds ratio of exp(10) or exp(-10).
    Debiasing paper, Section 3.5 and Appendix D, Tables 1 and 4.
    """
    _options(dependence, margin, level, conf_level)
    known = scales(PRIORS, priors)
    found = read(data, baseline, judge, strategy, item, ties, invalid)
    laws, why = _laws(found, dependence)
    partial = found.partial if selected is None else selected
    stated = _stated(replace(found, law=laws[0]), known)
    rows: list[dict[str, Any]] = []
    checks: list[dict[str, Any]] = []
    predicted: list[pd.DataFrame] = []
    designs = [replace(paired(found) if law == "discordant" else found, law=law) for law in laws]
    drawn = sample_each(
        model(designs[0], known), labels(designs[0]), [observed(arms) for arms in designs], draws=draws, tune=tune,
        chains=chains, seed=seed, progress=progress,
    )  # fmt: skip
    drawn = [replace(d, tops=tops(d, known)) for d in drawn]
    for law, arms, own_draws in zip(laws, designs, drawn, strict=True):
        flag = flags(why, SELECTED if partial else "")
        rows += choice_rows(arms, own_draws, known, margin, level, conf_level, flag)
        again, before = _replicated(arms, own_draws, known, seed)
        predicted.append(_beside(arms, again, before, own_draws.method))
        own = [*convergence(own_draws, stated), *foreseen(own_draws), *_predicted(arms, again)]
        checks += [{**c, "what": f"{c['what']} ({law})" if len(laws) > 1 else c["what"]} for c in own]
    if partial:
        checks.append(finding("comparisons", math.nan, SELECTED))
    if why:
        checks.append(finding("joint law", math.nan, why))
    table = tabled(rows, ["dependence", "judge", "strategy"], ("scale",))
    question = f"Which strategy is best for which judge? Effects against {baseline}"
    beside_ = pd.concat(predicted, ignore_index=True)
    return Posterior(question, table, stated, pd.DataFrame(checks), drawn[0], beside_)


def _options(dependence: str, margin: float, level: float, conf_level: float) -> None:
    choose(dependence, DEPENDENCE, "dependence")
    confidence(conf_level)
    if not 0 <= margin < 100:
        raise DesignError(f"margin={margin!r} is in percentage points. Allowed: 0 to below 100; use 2, say.")
    if not 0 < level < 1:
        raise DesignError(f"level={level!r} is no level of a test. Allowed: between 0 and 1; use 0.05, say.")


def _laws(arms: Arms, dependence: str) -> tuple[tuple[str, ...], str]:
    """Under which laws the data are read, and the flag of that."""
    told = bool(np.isfinite(arms.b).any())
    if dependence == "discordant" and not told:
        raise DesignError(
            "dependence='discordant' needs the columns baseline_only and strategy_only (b and c), or calls with items. "
            "The table has margins only: use 'unknown' for bounds, or 'independent'."
        )
    if dependence == "independent":
        if not np.isfinite(arms.k).any():
            raise DesignError("dependence='independent' needs k, the right calls of each strategy; use 'discordant'.")
        return ("independent",), ""
    if arms.answers is not None and dependence == "unknown":
        return ("items",), ""
    if told:
        return ("discordant",), HUB if len(arms.strategies) > 2 else ""
    return BOUNDS, UNKNOWN_LAW


def _replicated(arms: Arms, drawn: Draws, priors: Mapping[str, float], seed: int) -> tuple[list[Arms], list[Arms]]:
    """The same design with counts from the posterior, and from the prior."""
    values = {k: drawn.flat(k) for k in drawn.values}
    some = {k: v[:: max(1, len(v) // 400)] for k, v in values.items()}
    rng = np.random.default_rng(seed)
    again = [simulated(arms, {k: v[i] for k, v in some.items()}, rng) for i in range(len(some["logit"]))]
    return again, [prior_draw(arms, priors, rng)[1] for _ in range(200)]


def _predicted(arms: Arms, again: list[Arms]) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = []
    for what, name in COUNTED.items():
        seen = getattr(arms, name)
        here = np.isfinite(seen)
        if here.any():
            checks += predictive(what, seen[here], np.array([getattr(a, name)[here] for a in again]))
    return checks


def _beside(arms: Arms, again: list[Arms], before: list[Arms], draws: str) -> pd.DataFrame:
    """Every count that is known, beside replicated ones."""
    rows, seen, n = [], [], []
    made: tuple[list[Floats], list[Floats]] = [], []
    for what, name in COUNTED.items():
        own = getattr(arms, name)
        here = np.isfinite(own)
        rows += [(arms.law, arms.judges[j], arms.strategies[s], what) for j, s in np.argwhere(here)]
        seen.append(own[here])
        n.append(np.nan_to_num(arms.n[here]))
        for side, some in zip(made, (again, before), strict=True):
            side.append(np.array([getattr(a, name)[here] for a in some]))
    cells = pd.DataFrame(rows, columns=["dependence", "judge", "strategy", "outcome"])
    after, first = (np.concatenate(side, axis=1) for side in made)
    return beside(cells, np.concatenate(seen), after, first, np.concatenate(n), draws=draws)


def _stated(arms: Arms, priors: Mapping[str, float]) -> pd.DataFrame:
    told = {
        "baseline": (f"normal(0, {priors['baseline']:g})", "log-odds of a right call under the baseline"),
        "effect": (f"normal(0, {priors['effect']:g})", "effect of a strategy on the log-odds, mean of judges"),
        "sd_effect": (f"half-normal({priors['sd_effect']:g})", "spread of an effect between judges"),
    }
    if arms.law == "discordant":
        told["association"] = (f"normal(3, {priors['association']:g})", "log odds ratio of strategy and baseline")
        told["sd_association"] = (f"half-normal({priors['sd_association']:g})", "spread of it")
    if arms.law == "items":
        told["link"] = (f"normal(-0.5, {priors['link']:g})", "log-odds of the attenuation by what items share")
        told["sd_link"] = (f"half-normal({priors['sd_link']:g})", "spread of it between judges and strategies")
    return prior_table(told)
