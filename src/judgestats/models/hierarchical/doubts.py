"""Flags of the hierarchical models, what to do about each, and the rows of ``checks`` that carry them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.models.bayes.draws import DIVERGENT, FEW_EFFECTIVE, HEAVY, NOT_MIXED, Draws
from judgestats.results import (
    CONSTANT,
    FEW_RATERS,
    INCOMPLETE_LADDER,
    LEFT_CENSORED,
    NO_DATA,
    NOT_INDEPENDENT,
    RIGHT_CENSORED,
    SMALL_N,
    UNBOUNDED,
    flags,
)

PRIOR_DRIVEN = "prior-driven"
#: Data that the prior of some parameter did not foresee, and an estimate that it moves.
CONFLICT = "prior and data disagree"
#: Power-scaling sensitivity from which on a prior, or a likelihood, matters (Kallioinen et al. 2024).
SENSITIVE = 0.05
#: Of scores.
ZERO_SD = "sds of zero replaced by the pooled sd"
ALL_ZERO = "sds of zero throughout: noise taken as 0, not told from taste"
POOLED_SD = "unknown sds replaced by the pooled sd"
NO_NOISE = "noise unknown, not told from taste"
TOGETHER = "criteria taken to move together"
OTHER_ITEMS = "judges scored different items"
ASIDE = "missing scores set aside"
NO_OWN = "no judge scored itself"
ONE_SCORE, FEW_OWN = "one score", "fewer than 3 judges scored themselves"
NOT_COMPARED = "no attenuation: conditions not named"
ONE_RATER, ONE_SUBJECT, NO_RESIDUAL = "one rater", "one subject", "no residual"
APART, ONE_LEVEL = "components not told apart", "one level of"
AVERAGED, INCOMPLETE = "replicates averaged", "incomplete design"
#: Of strategies, biases, cues and ladders.
SELECTED = "selected comparisons"
UNKNOWN_LAW = "joint law of the strategies unknown"
HUB = "strategies joined through the baseline only"
ONE_CALL = "one call"
NET_ONLY = "ties not printed"
NOT_TOLD = "movement not told from none"
FEW_JUDGES = "fewer than 5 judges"
SLOTS_UNKNOWN = "slots unknown"
#: A threshold between two judged steps of which one is more than twice the other, and none inside its interval.
BETWEEN = "no step near: the form of the curve decides"
OUTSIDE = "observed counts outside the posterior predictive"

#: Flag, or a part of it -> what to do.
CURES = {
    NOT_MIXED: "Sample longer: draws=2000, tune=2000; or give tighter priors=.",
    FEW_EFFECTIVE: "Draw more (draws=), or give tighter priors=.",
    DIVERGENT: "Sample longer (tune=2000), or give tighter priors= on the spreads.",
    HEAVY: "Draw more (draws=), or give tighter priors=; severity also takes sampled=True.",
    PRIOR_DRIVEN: "Fit again with other scales in priors=, and report both; more data are the only real cure.",
    CONFLICT: "See the units of the data, and predictive('prior'); widen that prior by priors=, and report both.",
    ZERO_SD: "Were the runs really equal, or is the temperature 0? Leave 'sd' out if it is not known.",
    ALL_ZERO: "If the runs were not really equal, give their sd; else give raw scores of several items.",
    POOLED_SD: "Give 'sd' and 'runs' of every mean, or raw scores.",
    NO_NOISE: "Give 'sd' and 'runs' of every mean, or raw scores of several items.",
    TOGETHER: "Choose one criterion, or name the one with the overall score: final=.",
    OTHER_ITEMS: "Keep the items that all judges scored: their difficulty now counts as noise.",
    ASIDE: "Look why they are missing: a judge that refuses bad answers looks mild.",
    NO_OWN: "Name who is who, as in the table: identity={system: judge}. There is no self-preference without.",
    ONE_SCORE: "One score says little of a judge or a system: give more, or leave it out.",
    FEW_OWN: "Do not read the mean over judges as one of judges in general.",
    UNBOUNDED: "Read the difference (attenuation), not the ratio.",
    FEW_RATERS: "The variance between judges is hardly known: read ICC(3,1), or add judges.",
    CONSTANT: "All scores are the same, so there is no variance to divide: see that the column holds the scores.",
    ONE_RATER: "Agreement takes two judges or more in the column 'judge'.",
    ONE_SUBJECT: "Agreement takes two subjects or more: name their columns in subjects=.",
    ONE_LEVEL: "A facet takes two levels or more: leave it out of facets=.",
    APART: "Each score has a level of its own: name fewer columns in subjects= or facets=, or give more scores.",
    NO_RESIDUAL: "Judges and subjects explain every score: give scores that are not computed from each other.",
    SELECTED: "Get all comparisons: those that are printed may have been chosen for being large.",
    UNKNOWN_LAW: "Give calls with their items, or discordant counts of every comparison.",
    HUB: "Give calls with their items.",
    NET_ONLY: "Give counts by outcome in place of the score.",
    NOT_TOLD: "Read the shifts: a share of a movement that may be none says nothing.",
    FEW_JUDGES: "'another judge' leans on the prior: vary sd_blind and sd_probe in priors=.",
    SLOTS_UNKNOWN: "Give preferences, with first, second and choice.",
    BETWEEN: "Ask at steps near the threshold, or compare links.",
    INCOMPLETE_LADDER: "Ask at every step: between the steps that were asked the form of the curve decides.",
    LEFT_CENSORED: "Ask at smaller differences of quality.",
    RIGHT_CENSORED: "Ask at larger differences of quality.",
    NOT_INDEPENDENT: "Intervals are too short: aggregate() repeated calls first.",
    SMALL_N: "Few calls: the interval leans on the other judges.",
    NO_DATA: "The estimate is what the other judges and the prior say.",
    "set aside": "See whether what was set aside is like the rest.",
}  # fmt: skip


def cure(flag: str) -> str:
    """What to do about a flag; an empty string where nothing is to be done.

    Examples
    --------
    >>> cure("3 invalid calls set aside"), cure("averaged over run")
    ('See whether what was set aside is like the rest.', '')
    """
    return next((told for name, told in CURES.items() if name in flag), "")


def finding(what: str, value: float, flag: str = "", todo: str = "") -> dict[str, Any]:
    """One row of ``checks``: a cure stands only beside a flag, by default that of the flag."""
    return {"what": what, "value": value, "flag": flag, "cure": (todo or cure(flag)) if flag else ""}


def of_prior(values: NDArray[np.float64], draws: Draws) -> str:
    """Flag of an estimate that the priors move: by power-scaling, which is told from a conflict by tail areas.

    Parameters
    ----------
    values : (chains, draws) float array
        Of the estimate, draw by draw.
    draws : Draws

    Returns
    -------
    str
        Empty where a change of the priors would hardly be seen.
    """
    prior, _ = draws.sensitivity(values)
    if not prior >= SENSITIVE:
        return ""
    return flags(CONFLICT if draws.conflicts() else "", PRIOR_DRIVEN)


def merged(*told: str | None) -> str:
    """Flags, each of which may be several, in one cell; repeats are kept once.

    Examples
    --------
    >>> merged("one score; prior-driven", "prior-driven")
    'one score; prior-driven'
    """
    return flags(*(part for flag in told if flag for part in flag.split("; ")))


def parts(column: Iterable[str]) -> dict[str, int]:
    """Each flag of a column, in the order of its first row -> how many rows carry it."""
    counts: dict[str, int] = {}
    for cell in column:
        for flag in dict.fromkeys(f for f in str(cell).split("; ") if f):
            counts[flag] = counts.get(flag, 0) + 1
    return counts


def flagged(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of ``checks`` on the flags of estimates, one for each flag.

    Parameters
    ----------
    table : pandas.DataFrame
        With a column ``flag``.

    Returns
    -------
    list of dict
    """
    return [
        finding(f"{n:,} estimate{'s' * (n > 1)}: {flag}", float(n), flag) for flag, n in parts(table["flag"]).items()
    ]
