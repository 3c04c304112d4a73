"""Rows of estimates of psychometric functions, and whether the prior dominates them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from judgestats import flags
from judgestats.models.bayes.draws import Draws
from judgestats.models.hierarchical.cue_shifts import MEAN
from judgestats.models.hierarchical.ladders import Ladder, threshold
from judgestats.models.hierarchical.posterior_checks import of_prior
from judgestats.models.hierarchical.posteriors import row
from judgestats.typing import Floats, Mask, Record

Fits = Mapping[tuple[str, str], "FittedCurves"]

#: Largest ratio of posterior to prior sd of an estimate that the data determine.
MOST_PRIOR_SD = 0.5
#: Largest change by a prior twice as wide: of the mean in posterior sds, and of the sd as a ratio.
MOST_MOVED, MOST_WIDENED = 0.5, 1.5


@dataclass(frozen=True)
class FittedCurves:
    """One fitted model: derived quantities (chains, draws, J, G), and parameters from the prior (1, size, ...)."""

    data: Ladder
    draws: Draws
    values: dict[str, Floats]
    prior: dict[str, Floats]


def consequences(data: Ladder, values: Mapping[str, Floats], level: float) -> dict[str, Floats]:
    """Threshold, slope, criterion, slot bias and lapse, (chains, draws, J, G), from draws of the parameters."""
    s, c, b, lapse = (np.asarray(values[name]) for name in ("slope", "criterion", "bias", "lapse"))
    quantities = {"threshold": threshold(data, level, s, c, b, lapse), "slope": s / data.unit}
    return {**quantities, "criterion": c, "slot_bias": b, "lapse": np.broadcast_to(lapse[..., None], s.shape)}


def _scaled(term: str, values: Floats) -> Floats:
    """Values on the scale on which posterior and prior are compared."""
    if term in ("slope", "criterion"):
        return np.log(values)
    if term == "lapse":
        return np.log(values) - np.log1p(-values)
    if term == "threshold":  # infinite if never reached
        return np.log(np.clip(values, 1e-3, 1e3))
    return values


def _prior_driven(term: str, values: Floats, prior: Floats, wide: Floats | None) -> str:
    """Flag if the posterior is hardly narrower than the prior, or a wider prior changes it much."""
    values, prior = _scaled(term, values), _scaled(term, prior)
    sd = float(values.std())
    if sd > MOST_PRIOR_SD * float(prior.std()):
        return flags.PRIOR_DRIVEN
    if wide is None:
        return ""
    other = _scaled(term, wide)
    moved = abs(float(other.mean() - values.mean())) > MOST_MOVED * sd or float(other.std()) > MOST_WIDENED * sd
    return flags.PRIOR_DRIVEN if moved else ""


def curve_rows(fits: Fits, by: str | None, level: float, conf_level: float) -> list[Record]:
    """Rows of every judge, condition, link and prior; `fits` are by link and prior."""
    data = next(iter(fits.values())).data
    rows: list[Record] = []
    for j, judge in enumerate(data.judges):
        for g, condition in enumerate(data.conditions):
            for link, prior in fits:
                key = {"judge": judge, **({by: condition} if by else {}), "link": link, "prior": prior}
                rows += _of_curve(fits, (link, prior), j, g, key, level, conf_level)
                if g:
                    rows += _of_change(fits, (link, prior), [j], g, key, conf_level)
    if len(data.judges) > 1:
        for g, condition in enumerate(data.conditions[1:], 1):
            for link, prior in fits:
                key = {"judge": MEAN, by or "condition": condition, "link": link, "prior": prior}
                rows += _of_change(fits, (link, prior), [*range(len(data.judges))], g, key, conf_level)
    return rows


def _of_curve(
    fits: Fits, which: tuple[str, str], j: int, g: int, key: Record, level: float, conf_level: float
) -> Iterator[Record]:
    fitted = fits[which]
    data = fitted.data
    cells = (data.judge == j) & (data.condition == g)
    n = float(data.counts[cells].sum())
    tied = "" if data.random[j, 1] else flags.NO_TIES_UNDER.of(where="")
    flag = flags.join(data.flag.get(data.judges[j], ""), flags.SMALL_N if n < 30 else "", tied)
    before = consequences(data, fitted.prior, level)
    common = {"n": n, "method": fitted.draws.method, **key}
    first, wide = fits[which[0], "stated"], fits.get((which[0], "wider"))
    for term, values in fitted.values.items():
        draws = values[..., j, g]
        prior = (before if which[1] == "stated" else consequences(data, first.prior, level))[term][..., j, g]
        second = None if wide is None else wide.values[term][..., j, g]
        driven = _prior_driven(term, first.values[term][..., j, g], prior, second)
        if term == "threshold":
            driven = flags.join(of_prior(draws, fitted.draws), driven)
            yield _threshold_row(draws, data, cells, conf_level, flag, driven, common)
            continue
        unknown = flags.SLOTS_UNKNOWN if term == "slot_bias" and data.folded else ""
        yield row(term, draws, fitted.draws, conf_level=conf_level, n=n, flag=flags.join(flag, unknown, driven), **key)
    if data.folded:
        flag = flags.join(flag, flags.SLOTS_UNKNOWN, flags.PRIOR_DRIVEN)
        yield {**common, "term": "slot_bias_sign", "estimate": 0.5, "flag": flag}


def _threshold_row(
    values: Floats, data: Ladder, cells: Mask, conf_level: float, flag: str, driven: str, common: Record
) -> Record:
    """Posterior median and quantiles; a limit above the last step is inf."""
    steps = np.abs(data.x[cells & (data.x != 0)]) * data.unit
    empty = {**common, "term": "threshold", "estimate": math.nan, "flag": flags.join(flag, flags.NO_STEP)}
    if not len(steps):
        return empty
    tail = (1 - conf_level) / 2
    low, middle, high = (float(v) for v in np.quantile(values, [tail, 0.5, 1 - tail], method="inverted_cdf"))
    last, least = float(steps.max()), float(steps.min())
    ends = {"conf_low": low if low <= last else math.inf, "conf_high": high if high <= last else math.inf}
    lacking = flags.incomplete_ladder(np.unique(steps)) if np.array_equal(steps, np.round(steps)) else ""
    if middle > last:
        return {**empty, **ends, "flag": flags.join(flag, lacking, flags.RIGHT_CENSORED, driven)}
    under = float(steps[steps <= middle].max(initial=math.nan if middle < least else least))
    over = float(steps[steps >= middle].min(initial=last))
    far = over > 2 * under and not ((steps >= low) & (steps <= high)).any()
    more = (flags.LEFT_CENSORED, flags.PRIOR_DRIVEN) if middle < least else (driven, flags.BETWEEN if far else "")
    error = float(values.std(ddof=1)) if np.isfinite(values).all() and high <= last else math.nan
    return {**empty, **ends, "estimate": middle, "std_error": error, "flag": flags.join(flag, lacking, *more)}


def _of_change(
    fits: Fits, which: tuple[str, str], judges: list[int], g: int, key: Record, conf_level: float
) -> Iterator[Record]:
    """Log ratios of criterion and slope to the baseline, and the probability that the criterion changed more."""
    fitted = fits[which]
    data = fitted.data
    n = float(data.counts[np.isin(data.judge, judges) & np.isin(data.condition, (0, g))].sum())
    flag = data.flag.get(data.judges[judges[0]], "") if len(judges) == 1 else ""

    def ratio(values: Mapping[str, Floats], name: str) -> Floats:
        log = np.log(values[name][..., judges, :])
        return np.asarray((log[..., g] - log[..., 0]).mean(axis=-1), np.float64)

    first, wide = fits[which[0], "stated"], fits.get((which[0], "wider"))
    moved, driven = [], []
    for term, name in (("log_criterion_ratio", "criterion"), ("log_resolution_ratio", "slope")):
        moved.append(ratio(fitted.draws.values, name))
        second = None if wide is None else ratio(wide.draws.values, name)
        driven.append(_prior_driven(term, ratio(first.draws.values, name), ratio(first.prior, name), second))
        whole = flags.join(flag, driven[-1])
        yield row(term, moved[-1], fitted.draws, conf_level=conf_level, n=n, flag=whole, **key)
    common = {"term": "probability_criterion_moved_more", "n": n, "method": fitted.draws.method, **key}
    more = float((np.abs(moved[0]) > np.abs(moved[1])).mean())
    yield {**common, "estimate": more, "flag": flags.join(flag, *driven)}
