"""Rows of a psychometric model, and what of them the prior decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.models.bayes.draws import Draws
from judgestats.models.hierarchical.cue_effects import MEAN
from judgestats.models.hierarchical.doubts import BETWEEN, PRIOR_DRIVEN, SLOTS_UNKNOWN, merged, of_prior
from judgestats.models.hierarchical.ladders import Ladder, threshold
from judgestats.models.hierarchical.posteriors import row
from judgestats.results import LEFT_CENSORED, RIGHT_CENSORED, SMALL_N, flags, incomplete_ladder

Floats = NDArray[np.float64]
Fits = Mapping[tuple[str, str], "Fitted"]

NO_TIES = "no ties"
#: Above it, the ratio of posterior and prior sd says that the data taught little.
TAUGHT_LITTLE = 0.5
#: In posterior sds, and as a ratio of sds: what a prior twice as wide may change.
MOST_MOVED, MOST_WIDENED = 0.5, 1.5


@dataclass(frozen=True)
class Fitted:
    """One model and its consequences.

    Attributes
    ----------
    data : Ladder
    draws : Draws
    values : dict of (chains, draws, J, G) float arrays
    prior : dict of (1, size, ...) float arrays
    """

    data: Ladder
    draws: Draws
    values: dict[str, Floats]
    prior: dict[str, Floats]


def consequences(data: Ladder, values: Mapping[str, Floats], level: float) -> dict[str, Floats]:
    """Threshold, slope, criterion, slot bias and lapse of each judge and condition.

    Parameters
    ----------
    data : Ladder
    values : mapping
        Draws of the parameters.
    level : float

    Returns
    -------
    dict of (chains, draws, J, G) float arrays
    """
    s, c, b, lapse = (np.asarray(values[name]) for name in ("slope", "criterion", "bias", "lapse"))
    return {
        "threshold": threshold(data, level, s, c, b, lapse),
        "slope": s / data.unit,
        "criterion": c,
        "slot_bias": b,
        "lapse": np.broadcast_to(lapse[..., None], s.shape),
    }


def _scaled(term: str, values: Floats) -> Floats:
    """On the scale on which posterior and prior are compared."""
    if term in ("slope", "criterion"):
        return np.log(values)
    if term == "lapse":
        return np.log(values) - np.log1p(-values)
    if term == "threshold":  # where it is never reached: as far as can be
        return np.log(np.clip(values, 1e-3, 1e3))
    return values


def _prior_decides(term: str, own: Floats, prior: Floats, wide: Floats | None) -> bool:
    """Whether data moved the prior little, or a wider prior moves the posterior much."""
    own, prior = _scaled(term, own), _scaled(term, prior)
    sd = float(own.std())
    if sd > TAUGHT_LITTLE * float(prior.std()):
        return True
    if wide is None:
        return False
    other = _scaled(term, wide)
    return abs(float(other.mean() - own.mean())) > MOST_MOVED * sd or float(other.std()) > MOST_WIDENED * sd


def curve_rows(fits: Fits, by: str | None, level: float, conf_level: float) -> list[dict[str, Any]]:
    """Rows of every judge, condition, link and prior.

    Parameters
    ----------
    fits : mapping
        (link, prior) -> model.
    by : str or None
    level : float
    conf_level : float

    Returns
    -------
    list of dict
    """
    data = next(iter(fits.values())).data
    made: list[dict[str, Any]] = []
    for j, judge in enumerate(data.judges):
        for g, condition in enumerate(data.conditions):
            for link, prior in fits:
                key = {"judge": judge, **({by: condition} if by else {}), "link": link, "prior": prior}
                made += _of_curve(fits, (link, prior), j, g, key, level, conf_level)
                if g:
                    made += _of_change(fits, (link, prior), [j], g, key, conf_level)
    if len(data.judges) > 1:
        for g, condition in enumerate(data.conditions[1:], 1):
            for link, prior in fits:
                key = {"judge": MEAN, by or "condition": condition, "link": link, "prior": prior}
                made += _of_change(fits, (link, prior), [*range(len(data.judges))], g, key, conf_level)
    return made


def _of_curve(
    fits: Fits, which: tuple[str, str], j: int, g: int, key: dict[str, Any], level: float, conf_level: float
) -> Iterator[dict[str, Any]]:
    fitted = fits[which]
    data = fitted.data
    here = (data.judge == j) & (data.condition == g)
    n = float(data.counts[here].sum())
    tied = "" if data.random[j, 1] else NO_TIES
    flag = flags(data.flag.get(data.judges[j], ""), SMALL_N if n < 30 else "", tied)
    before = consequences(data, fitted.prior, level)
    first, wide = fits[which[0], "stated"], fits.get((which[0], "wider"))
    for term, values in fitted.values.items():
        own = values[..., j, g]
        common = {"n": n, "method": fitted.draws.method, **key}
        prior = (before if which[1] == "stated" else consequences(data, first.prior, level))[term][..., j, g]
        second = None if wide is None else wide.values[term][..., j, g]
        doubt = PRIOR_DRIVEN if _prior_decides(term, first.values[term][..., j, g], prior, second) else ""
        if term == "threshold":
            doubt = merged(of_prior(own, fitted.draws), doubt)
            yield _threshold_row(own, data, here, conf_level, flag, doubt, common)
            continue
        unknown = SLOTS_UNKNOWN if term == "slot_bias" and data.folded else ""
        told = flags(flag, unknown, doubt)
        yield row(term, own, conf_level=conf_level, flag=told, draws=fitted.draws, **common)
    if data.folded:
        yield {**common, "term": "slot_bias_sign", "estimate": 0.5, "flag": flags(flag, SLOTS_UNKNOWN, PRIOR_DRIVEN)}


def _threshold_row(
    own: Floats, data: Ladder, here: NDArray[np.bool_], conf_level: float, flag: str, doubt: str, common: dict[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """Median and quantiles; an end above the last step is inf."""
    steps = np.abs(data.x[here & (data.x != 0)]) * data.unit
    made = {**common, "term": "threshold", "estimate": math.nan, "flag": flags(flag, "no step was judged")}
    if not len(steps):
        return made
    tail = (1 - conf_level) / 2
    low, middle, high = (float(v) for v in np.quantile(own, [tail, 0.5, 1 - tail], method="inverted_cdf"))
    last, least = float(steps.max()), float(steps.min())
    ends = {"conf_low": low if low <= last else math.inf, "conf_high": high if high <= last else math.inf}
    lacking = incomplete_ladder(np.unique(steps)) if np.array_equal(steps, np.round(steps)) else ""
    if middle > last:
        return {**made, **ends, "flag": merged(flag, lacking, RIGHT_CENSORED, doubt)}
    under = float(steps[steps <= middle].max(initial=math.nan if middle < least else least))
    over = float(steps[steps >= middle].min(initial=last))
    far = over > 2 * under and not ((steps >= low) & (steps <= high)).any()
    below = (LEFT_CENSORED, PRIOR_DRIVEN) if middle < least else (doubt, BETWEEN if far else "")
    error = float(own.std(ddof=1)) if np.isfinite(own).all() and high <= last else math.nan
    return {**made, **ends, "estimate": middle, "std_error": error, "flag": merged(flag, lacking, *below)}


def _of_change(
    fits: Fits, which: tuple[str, str], judges: list[int], g: int, key: dict[str, Any], conf_level: float
) -> Iterator[dict[str, Any]]:
    """Log ratios of a condition and the baseline, and which moved more."""
    fitted = fits[which]
    data = fitted.data
    n = float(data.counts[np.isin(data.judge, judges) & np.isin(data.condition, (0, g))].sum())
    flag = data.flag.get(data.judges[judges[0]], "") if len(judges) == 1 else ""
    common = {"n": n, "method": fitted.draws.method, **key}

    def ratio(values: Mapping[str, Floats], name: str) -> Floats:
        log = np.log(values[name][..., judges, :])
        result: Floats = (log[..., g] - log[..., 0]).mean(axis=-1)
        return result

    first, wide = fits[which[0], "stated"], fits.get((which[0], "wider"))
    moved, doubts = [], []
    for term, name in (("log_criterion_ratio", "criterion"), ("log_resolution_ratio", "slope")):
        moved.append(ratio(fitted.draws.values, name))
        second = None if wide is None else ratio(wide.draws.values, name)
        led = _prior_decides(term, ratio(first.draws.values, name), ratio(first.prior, name), second)
        doubts.append(PRIOR_DRIVEN if led else "")
        told = flags(flag, doubts[-1])
        yield row(term, moved[-1], conf_level=conf_level, flag=told, draws=fitted.draws, **common)
    more = float((np.abs(moved[0]) > np.abs(moved[1])).mean())
    yield {**common, "term": "probability_criterion_moved_more", "estimate": more, "flag": flags(flag, *doubts)}
