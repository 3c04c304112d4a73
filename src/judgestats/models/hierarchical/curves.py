"""Psychometric functions of judges: :func:`psychometric`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, choose, confidence, suggestion
from judgestats.models import links
from judgestats.models.bayes.draws import Draws, Sampling, Top, beside, likely, pymc, sample_each, sampling_options
from judgestats.models.bayes.scales import Prior
from judgestats.models.bias_models.calls import answers, ordered_labels
from judgestats.models.coding.model_frames import columns
from judgestats.models.hierarchical.cues import MEAN
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    conflicts,
    convergence,
    of_prior,
    predictive,
    prior_table,
    row,
    scales,
    tabled,
)
from judgestats.schema.columns import COUNTS, N
from judgestats.typing import Floats, Ints, Mask

# ---- Counts of answers by difference in quality: by slot, or relative to the better candidate ------------------------

#: Name -> scale of the prior.
PRIORS: dict[str, float] = {
    "slope": 1.5, "criterion": 1.5, "bias": 1.0, "lapse": 1.0, "ratio": 1.0, "spread": 0.5, "spread_ratio": 0.5,
}  # fmt: skip
MEANING = {
    "slope": ("normal", "log of the slope per smallest step"),
    "criterion": ("normal", "log of the half-width of the tie interval"),
    "bias": ("normal", "first-slot preference on the latent scale; half-normal if slots are unknown"),
    "lapse": ("normal", "log-odds of twice the share of random answers, around -2.75 (3 % of answers)"),
    "ratio": ("normal", "log ratio of slope and of criterion between conditions; difference of bias"),
    "spread": ("half-normal", "sd over judges of each of the first four"),
    "spread_ratio": ("half-normal", "sd over judges of each change between conditions"),
}
#: Largest lapse rate: a judge with more random than other answers has no psychometric function.
MOST_LAPSE = 0.5
#: Prior mean of the log-odds of lapse / :data:`MOST_LAPSE`: 3 % of answers.
LAPSE_CENTRE = -2.75
#: Log slope, log criterion, bias.
NAMES = ("slope", "criterion", "bias")


@dataclass(frozen=True)
class Ladder:
    """Counts of a psychometric model in N cells."""

    judges: tuple[str, ...]  # judges, conditions: labels, the baseline first
    conditions: tuple[str, ...]
    judge: Ints  # judge, condition (N,): codes
    condition: Ints
    # (N,): quality of the first slot minus that of the second, in smallest steps; 0 or more if slots are unknown
    x: Floats
    counts: Floats  # (N, 4): first, tie, second, either slot; if slots are unknown: correct, tie, wrong, either
    folded: bool  # whether slots are unknown
    random: Floats  # (J, 3): probabilities of a random answer
    unit: float  # the smallest step
    link: str = "logit"
    flag: dict[str, str] = field(default_factory=dict)  # judge -> flags of excluded or dependent calls

    @property
    def merged(self) -> Mask:
        """Cells in which the preferred candidate is not known."""
        return np.asarray(self.folded & (self.x == 0))


def ladder(data: Any, by: str | None, quality: str | None, baseline: str | None, link: str = "logit") -> Ladder:
    """Read answers by difference in quality; arguments as in :func:`psychometric`."""
    _check_columns(data, by, quality)
    found, folded = answers(data, by, quality)
    table = found.table
    table = table[table["n"] > 0]
    if table.empty:
        raise DesignError(
            f"There is no valid call ({flags.join(found.flag()) or 'all counts are 0'}). Check choice and n."
        )
    if not np.isfinite(table["x"].to_numpy(dtype=float)).all():
        raise SchemaError("A difference in quality is infinite or missing. Leave these calls out.")
    if not (table["x"] != 0).any():
        raise DesignError("The difference in quality is 0 in every call: give delta and better, or quality=.")
    judges, conditions = ordered_labels(table["judge"]), ordered_labels(table["group"])
    if baseline is None and len(conditions) > 1:
        raise DesignError(f"{by!r} has {len(conditions)} values ({', '.join(conditions)}). Choose one as baseline=.")
    if baseline is not None and baseline not in conditions:
        raise DesignError(
            f"baseline={baseline!r} is not a value of {by!r}. Values: {', '.join(conditions)}."
            f"{suggestion(baseline, conditions)}"
        )
    conditions = ordered_labels(table["group"], baseline)
    wide = _wide(table, folded)
    unit = float(np.abs(wide["x"][wide["x"] != 0]).min())
    code = pd.Index(judges).get_indexer(wide["judge"].astype(str).to_numpy(dtype=object))
    group = pd.Index(conditions).get_indexer(wide["group"].astype(str).to_numpy(dtype=object))
    counts = wide[["first", "tie", "second", "either"]].to_numpy(dtype=float)
    tied = np.bincount(code, counts[:, 1], minlength=len(judges)) > 0
    random = np.where(tied[:, None], 1 / 3, np.array([0.5, 0.0, 0.5])[None])
    known = table[table["pair"] != ""].groupby("judge").agg(n=("n", "sum"), pairs=("pair", "nunique"))
    shared = {str(j) for j, n, pairs in known.itertuples() if n > pairs}
    notes = {j: flags.join(found.flag(j), flags.NOT_INDEPENDENT if j in shared else "") for j in judges}
    x = wide["x"].to_numpy(dtype=float) / unit
    return Ladder(judges, conditions, code, group, x, counts, folded, random, unit, link, notes)


def _check_columns(data: Any, by: str | None, quality: str | None) -> None:
    """Raise if there is no column of counts, of the difference in quality, or of answers."""
    present = columns(data)
    tallied = "outcome" in present and "choice" not in present
    if tallied and not {N, COUNTS} & {*present}:
        raise SchemaError(f"The table has outcomes and no counts 'n'. Columns: {', '.join(present)}.")
    if by is not None and by not in present:
        raise DesignError(f"by={by!r} is not a column. Columns: {', '.join(present)}.{suggestion(by, present)}")
    if tallied:
        lacking = [c for c in ("judge", "delta") if c not in present]
        how = "A tally for psychometric() has judge, delta (difference in quality, 0 or more), outcome and n"
    else:
        sided = quality is not None and {f"{quality}_first", f"{quality}_second"} <= {*present}
        known = sided or quality in present or (quality is None and "better" in present)
        lacking = [c for c in ("judge", "choice") if c not in present] + ([] if known else [quality or "better"])
        how = (
            "Preferences for psychometric() have judge, first, second, choice, and delta and better, or quality= (a "
            "column, or the stem of <quality>_first and <quality>_second)"
        )
    if lacking:
        raise DesignError(
            f"There is no column {lacking[0]!r}. {how}. Columns: {', '.join(present)}.{suggestion(lacking[0], present)}"
        )


def _wide(table: pd.DataFrame, folded: bool) -> pd.DataFrame:
    """One row for each judge, condition and difference; the two halves of a tally without slots are added up."""
    keys = ["judge", "group", "x"]
    table = table.assign(x=table["x"].astype(float) + 0.0)
    wide = table.pivot_table(index=keys, columns="answer", values="n", aggfunc="sum", observed=True)
    wide = wide.reindex(columns=["first", "tie", "second"]).fillna(0.0).reset_index().assign(either=0.0)
    if not folded:
        return wide
    wide = wide[wide["x"] >= 0].reset_index(drop=True)
    level, two = wide["x"] == 0, np.where(wide["x"] > 0, 2.0, 1.0)
    wide["either"] = (wide["first"] + wide["second"]).where(level, 0.0)
    for name in ("first", "second"):
        wide[name] = (wide[name] * two).where(~level, 0.0)
    wide["tie"] = wide["tie"] * two
    return wide


def cdf(link: str, z: Floats) -> Floats:
    """Cumulative distribution function of a link."""
    return links.LINKS[link].inverse(z)


def shares(data: Ladder, slope: Floats, criterion: Floats, bias: Floats, lapse: Floats) -> Floats:
    """Probabilities (..., N, 3) of first, tie and second, or correct, tie and wrong; the lapse is (..., J)."""
    j, g = data.judge, data.condition
    s, c, b = (v[..., j, g] for v in (slope, criterion, bias))
    one, two = cdf(data.link, s * data.x + b - c), cdf(data.link, -s * data.x - b - c)
    if data.folded:
        one = (one + cdf(data.link, s * data.x - b - c)) / 2
        two = (two + cdf(data.link, -s * data.x + b - c)) / 2
    plain = np.stack([one, np.clip(1 - one - two, 0.0, 1.0), two], axis=-1)
    at_random = lapse[..., j, None]
    return (1 - at_random) * plain + at_random * data.random[j]


def correct(data: Ladder, x: Floats, s: Floats, c: Floats, b: Floats, lapse: Floats) -> Floats:
    """Share of correct answers, averaged over both orders, (..., J, G), at a difference `x` in smallest steps."""
    plain = (cdf(data.link, s * x + b - c) + cdf(data.link, s * x - b - c)) / 2
    result: Floats = (1 - lapse[..., None]) * plain + lapse[..., None] * data.random[:, :1]
    return result


def threshold(data: Ladder, level: float, s: Floats, c: Floats, b: Floats, lapse: Floats) -> Floats:
    """Difference in quality, in units of the data, at which the share of correct answers is `level`; inf if none is."""
    low, high = np.zeros_like(s), np.full_like(s, 1e4)
    never = correct(data, high, s, c, b, lapse) < level
    for _ in range(60):
        middle = (low + high) / 2
        below = correct(data, middle, s, c, b, lapse) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(never, math.inf, high * data.unit)


# ---- Rows of estimates, and whether the prior dominates them ---------------------------------------------------------

Fits = Mapping[tuple[str, str], "Fitted"]

#: Largest ratio of posterior to prior sd of an estimate that the data determine.
MOST_PRIOR_SD = 0.5
#: Largest change by a prior twice as wide: of the mean in posterior sds, and of the sd as a ratio.
MOST_MOVED, MOST_WIDENED = 0.5, 1.5


@dataclass(frozen=True)
class Fitted:
    """One fitted model: derived quantities (chains, draws, J, G), and parameters from the prior (1, size, ...)."""

    data: Ladder
    draws: Draws
    values: dict[str, Floats]
    prior: dict[str, Floats]


def consequences(data: Ladder, values: Mapping[str, Floats], level: float) -> dict[str, Floats]:
    """Threshold, slope, criterion, slot bias and lapse, (chains, draws, J, G), from draws of the parameters."""
    s, c, b, lapse = (np.asarray(values[name]) for name in ("slope", "criterion", "bias", "lapse"))
    return {
        "threshold": threshold(data, level, s, c, b, lapse),
        "slope": s / data.unit,
        "criterion": c,
        "slot_bias": b,
        "lapse": np.broadcast_to(lapse[..., None], s.shape),
    }


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


def curve_rows(fits: Fits, by: str | None, level: float, conf_level: float) -> list[dict[str, Any]]:
    """Rows of every judge, condition, link and prior; `fits` are by link and prior."""
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
            yield _threshold_row(draws, data, here, conf_level, flag, driven, common)
            continue
        unknown = flags.SLOTS_UNKNOWN if term == "slot_bias" and data.folded else ""
        yield row(term, draws, fitted.draws, conf_level=conf_level, n=n, flag=flags.join(flag, unknown, driven), **key)
    if data.folded:
        yield {
            **common,
            "term": "slot_bias_sign",
            "estimate": 0.5,
            "flag": flags.join(flag, flags.SLOTS_UNKNOWN, flags.PRIOR_DRIVEN),
        }


def _threshold_row(
    values: Floats, data: Ladder, here: Mask, conf_level: float, flag: str, driven: str,
    common: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Posterior median and quantiles; a limit above the last step is inf."""
    steps = np.abs(data.x[here & (data.x != 0)]) * data.unit
    made = {**common, "term": "threshold", "estimate": math.nan, "flag": flags.join(flag, flags.NO_STEP)}
    if not len(steps):
        return made
    tail = (1 - conf_level) / 2
    low, middle, high = (float(v) for v in np.quantile(values, [tail, 0.5, 1 - tail], method="inverted_cdf"))
    last, least = float(steps.max()), float(steps.min())
    ends = {"conf_low": low if low <= last else math.inf, "conf_high": high if high <= last else math.inf}
    lacking = flags.incomplete_ladder(np.unique(steps)) if np.array_equal(steps, np.round(steps)) else ""
    if middle > last:
        return {**made, **ends, "flag": flags.join(flag, lacking, flags.RIGHT_CENSORED, driven)}
    under = float(steps[steps <= middle].max(initial=math.nan if middle < least else least))
    over = float(steps[steps >= middle].min(initial=last))
    far = over > 2 * under and not ((steps >= low) & (steps <= high)).any()
    more = (flags.LEFT_CENSORED, flags.PRIOR_DRIVEN) if middle < least else (driven, flags.BETWEEN if far else "")
    error = float(values.std(ddof=1)) if np.isfinite(values).all() and high <= last else math.nan
    return {**made, **ends, "estimate": middle, "std_error": error, "flag": flags.join(flag, lacking, *more)}


def _of_change(
    fits: Fits, which: tuple[str, str], judges: list[int], g: int, key: dict[str, Any], conf_level: float
) -> Iterator[dict[str, Any]]:
    """Log ratios of criterion and slope to the baseline, and the probability that the criterion changed more."""
    fitted = fits[which]
    data = fitted.data
    n = float(data.counts[np.isin(data.judge, judges) & np.isin(data.condition, (0, g))].sum())
    flag = data.flag.get(data.judges[judges[0]], "") if len(judges) == 1 else ""

    def ratio(values: Mapping[str, Floats], name: str) -> Floats:
        log = np.log(values[name][..., judges, :])
        result: Floats = (log[..., g] - log[..., 0]).mean(axis=-1)
        return result

    first, wide = fits[which[0], "stated"], fits.get((which[0], "wider"))
    moved, driven = [], []
    for term, name in (("log_criterion_ratio", "criterion"), ("log_resolution_ratio", "slope")):
        moved.append(ratio(fitted.draws.values, name))
        second = None if wide is None else ratio(wide.draws.values, name)
        driven.append(_prior_driven(term, ratio(first.draws.values, name), ratio(first.prior, name), second))
        whole = flags.join(flag, driven[-1])
        yield row(term, moved[-1], fitted.draws, conf_level=conf_level, n=n, flag=whole, **key)
    made = {"term": "probability_criterion_moved_more", "n": n, "method": fitted.draws.method, **key}
    more = float((np.abs(moved[0]) > np.abs(moved[1])).mean())
    yield {**made, "estimate": more, "flag": flags.join(flag, *driven)}


# ---- Linear predictor: the effect of each standard normal variable on each parameter ---------------------------------

#: Log slope, log criterion, bias, log-odds of a lapse.
ROWS = (*NAMES, "lapse")


@dataclass(frozen=True)
class Predictor:
    """Design of K standard normal variables, some of which are multiplied by one of M spreads (sds over judges)."""

    weights: Floats  # (4 J G, K): effect of one unit on log slope, log criterion, bias and log-odds of a lapse
    fixed: Floats  # (K,): 1 for a variable without a spread, else 0
    shared: Floats  # (K, M): 1 if a variable is multiplied by a spread
    names: tuple[str, ...] = ()  # names (K,), spreads (M,): parameter of each variable and of each spread
    spreads: tuple[str, ...] = ()


def predictor(data: Ladder, scale: Mapping[str, float]) -> Predictor:
    """Design of the model of a ladder; `scale` has the scales of the priors."""
    columns = [*_population(data, scale), *(_judges(data, scale) if len(data.judges) > 1 else ())]
    spreads = list(dict.fromkeys(spread for _, spread in columns if spread))
    shared = np.array([[float(spread == s) for s in spreads] for _, spread in columns]).reshape(len(columns), -1)
    names = tuple(" and ".join(r for r, w in zip(ROWS, weight, strict=True) if w.any()) for weight, _ in columns)
    weights = np.stack([w.ravel() for w, _ in columns], axis=1)
    return Predictor(weights, 1 - shared.sum(axis=1), shared, names, tuple(spreads))


def _population(data: Ladder, scale: Mapping[str, float]) -> Iterator[tuple[Floats, str]]:
    """Means, and changes between conditions.

    Slope and criterion are rotated: the sum and the difference of two independent standard normal variables, divided by
    the root of 2, are again independent and standard normal. So the prior is unchanged, and the sampler moves along the
    direction in which both increase, which data near a boundary leave undetermined.
    """
    later, root = range(1, len(data.conditions)), np.sqrt(0.5)
    for sign in (root, -root):
        yield _block(data, {"slope": root * scale["slope"], "criterion": sign * scale["criterion"]}), ""
        for g in later:
            yield _block(data, {"slope": root * scale["ratio"], "criterion": sign * scale["ratio"]}, None, [g]), ""
    if data.folded:  # absolute value: the sign does not change the likelihood
        for j, g in np.ndindex(len(data.judges), len(data.conditions)):
            yield _block(data, {"bias": scale["bias"]}, [j], [g]), ""
    else:
        yield _block(data, {"bias": scale["bias"]}), ""
        for g in later:
            yield _block(data, {"bias": scale["ratio"]}, None, [g]), ""
    yield _block(data, {"lapse": scale["lapse"]}), ""


def _judges(data: Ladder, scale: Mapping[str, float]) -> Iterator[tuple[Floats, str]]:
    """Deviations of each judge from the mean, and of its changes from the mean change, with their spread."""
    for name in ROWS:
        if name == "bias" and data.folded:
            continue
        for j in range(len(data.judges)):
            yield _block(data, {name: scale["spread"]}, [j]), name
        for g in range(1, len(data.conditions) if name in NAMES else 1):
            for j in range(len(data.judges)):
                yield _block(data, {name: scale["spread_ratio"]}, [j], [g]), f"change of {name}"


def _block(
    data: Ladder, sizes: Mapping[str, float], judges: Sequence[int] | None = None, groups: Sequence[int] | None = None
) -> Floats:
    made = np.zeros((len(ROWS), len(data.judges), len(data.conditions)))
    j, g = (slice(None) if codes is None else list(codes) for codes in (judges, groups))
    for name, size in sizes.items():
        made[ROWS.index(name), j, g] = size
    return made


# ---- The function ----------------------------------------------------------------------------------------------------

Link = Literal["logit", "probit"]
LINKS = ("logit", "probit")
#: Ratio of the scales of the second prior to those of the first.
WIDER = 2.0
#: Target acceptance: if most answers are correct or tied, slope and criterion have a narrow, correlated posterior.
ACCEPT = 0.99


def psychometric(
    data: IntoFrame,
    *,
    by: str | None = None,
    quality: str | None = None,
    links: Sequence[Link] = LINKS,  # type: ignore[assignment]
    baseline: str | None = None,
    performance: float = 0.75,
    wider: bool = True,
    priors: Mapping[str, float] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
) -> Posterior:
    """Psychometric function of each judge over the difference in quality, and changes of criterion and resolution.

    Parameters
    ----------
    data : frame
        Preferences with ``delta`` and ``better`` (or `quality`) in a known order. Or a tally whose slots are unknown:
        ``judge, delta, outcome, n`` with the outcomes ``correct``, ``tie``, ``wrong``, and ``preference`` where
        ``delta`` is 0 or missing (those of :func:`judgestats.target_sensitivity` and
        :func:`judgestats.criterion_shift`).
    by : str, optional
        Column of conditions that are compared, such as ``prompt``.
    quality : str, optional
        A column, or the stem of ``<quality>_first`` and ``<quality>_second``, in place of ``delta`` and ``better``.
    links : sequence of {'logit', 'probit'}
        Rao and Kupper's model, Glenn and David's; each is fitted.
    baseline : str, optional
        Condition that the others are compared with; required where `by` has several values.
    performance : float
        Share of correct answers at the threshold; a tie is not correct.
    wider : bool
        Whether each model is fitted again with priors twice as wide. False halves the time; ``prior-driven`` then
        depends on the ratio of posterior to prior sd alone.
    priors : mapping, optional
        Scales by name; see ``.priors`` of the result.
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        Columns ``judge``, the condition, ``link``, ``prior`` (``stated`` or ``wider``). Terms: ``threshold`` (posterior
        median; NaN and ``right-censored`` above the last step; ``left-censored`` below the first), ``slope`` (per unit
        of quality), ``criterion``, ``slot_bias``, ``lapse``. If slots are unknown, ``slot_bias`` is an absolute value,
        and its sign is not identifiable: ``slot_bias_sign`` is 0.5. For each condition except the baseline also
        ``log_criterion_ratio``, ``log_resolution_ratio`` and ``probability_criterion_moved_more``, for each judge and
        for the ``mean of judges``.

    Raises
    ------
    SchemaError, DesignError
        If the table has none of these forms, or the difference in quality is never known.
    FitError
        If PyMC is missing or the sampler fails.

    See Also
    --------
    judgestats.detection_threshold : Smallest difference that is detected.
    judgestats.criterion_shift : What a stricter prompt saves and costs.
    judgestats.models.tie_model : Slot bias, criterion and resolution.

    Notes
    -----
    With probability ``lapse``, at most one half, an answer is random: each outcome has probability 1/3 (1/2 for each
    slot if the judge never ties). Otherwise ``P(first) = F(slope d + bias - criterion)``,
    ``P(second) = F(-slope d - bias - criterion)``, and the rest are ties; d is the quality of the first slot minus that
    of the second. Counts relative to the better candidate are averages over both orders. With two or more judges their
    parameters vary around a mean, as do the changes between conditions. Given the parameters, calls are independent.

    A row is ``prior-driven`` if the posterior sd is more than half of the prior sd, or a prior twice as wide changes
    the posterior mean by half an sd or the sd by half; a threshold also if it lies below the first step, where no call
    was made. On the counts of the dark_current paper this holds for lapse and slot bias of every judge. A threshold
    between two distant steps is flagged too: from calls at Δ1 and Δ5 only, the threshold of Llama8B is near 1.7 with
    the logit link, while all steps of the paper give 4.

    Source: dark_current paper, Eqs. 8 to 12; Rao and Kupper (1967); Glenn and David (1960); Wichmann and Hill (2001)
    for lapses.

    Examples
    --------
    >>> psychometric(counts, by="prompt", baseline="base").tidy()  # doctest: +SKIP
    """
    confidence(conf_level)
    confidence(performance)
    asked = [choose(k, LINKS, "links") for k in ([links] if isinstance(links, str) else links)]
    if not asked:
        raise DesignError("links= is empty. Give 'logit', 'probit' or both.")
    stated = scales(PRIORS, priors)
    base = ladder(data, by, quality, baseline)
    options = sampling_options(sampling, target_accept=ACCEPT)
    seed = options["seed"]
    widths = (("stated", stated), ("wider", {k: WIDER * v for k, v in stated.items()}))[: 1 + wider]
    models = {(link, name): (replace(base, link=link), scale) for link in asked for name, scale in widths}
    found = sample_each(
        model(base, stated), _labels(base, stated), [given(*each) for each in models.values()], **options
    )
    found = [_with_tops(base, drawn, stated) for drawn in found]
    fits = {
        key: Fitted(linked, drawn, consequences(linked, drawn.values, performance), _prior(linked, scale, seed))
        for (key, (linked, scale)), drawn in zip(models.items(), found, strict=True)
    }
    rows = curve_rows(fits, by, performance, conf_level)
    first = next(iter(fits.values()))
    whole = Draws(
        {f"{link}, {name}: {k}": v for (link, name), f in fits.items() for k, v in f.draws.values.items()},
        {f"{link}, {name}: {k}": v for (link, name), f in fits.items() for k, v in f.draws.labels.items()},
        sum(f.draws.divergences for f in fits.values()),
        first.draws.method,
    )
    again = {k: _replicated(f, seed) for k, f in fits.items()}
    priors_ = prior_table({k: (f"{MEANING[k][0]}(0, {v:g})", MEANING[k][1]) for k, v in stated.items()})
    checks = convergence(whole, priors_)
    for key, fitted in fits.items():
        checks += conflicts(fitted.draws, ", ".join(key))
    for key in fits:
        used = _used(base)
        checks += predictive(f"counts ({', '.join(key)})", base.counts[used], again[key][:, used])
    predicted = [_beside(k, f, again[k], models[k][1], by, seed) for k, f in fits.items()]
    table = tabled(rows, ["judge", *([by] if by else []), "link", "prior"])
    return Posterior("What does each judge resolve, and where is its criterion?", table, priors_, pd.DataFrame(checks),
                     whole, pd.concat(predicted, ignore_index=True))  # fmt: skip


# ---- The model -------------------------------------------------------------------------------------------------------


def model(data: Ladder, priors: Mapping[str, float] | None = None) -> Any:
    """The PyMC model, with the data of :func:`given`.

    Every sampled variable is standard normal. A spread between judges, and a bias with unknown slots, is the absolute
    value of one: the likelihood is the same for either sign, and the sampler has no boundary at 0. Variables are
    ``slope`` (per smallest step), ``criterion``, ``bias`` (J, G) and ``lapse`` (J,).
    """
    pm = pymc()
    import pytensor.tensor as pt

    J, G = len(data.judges), len(data.conditions)
    design = predictor(data, scales(PRIORS, priors))
    with pm.Model() as built:
        inputs = {name: pm.Data(name, value) for name, value in given(data, priors).items()}
        size = pt.as_tensor(design.fixed)
        if J > 1:
            size = size + (design.shared * pm.Normal("spread", shape=design.shared.shape[1])).sum(axis=1)
        z = size * pm.Normal("z", shape=len(design.fixed))
        eta = (inputs["design"] * z).sum(axis=1).reshape((len(ROWS), J * G))
        slope, criterion, bias = pt.exp(eta[0]), pt.exp(eta[1]), eta[2]
        lapse = MOST_LAPSE * pt.sigmoid(LAPSE_CENTRE + eta[3])
        for name, value in zip(NAMES, (slope, criterion, pt.abs(bias) if data.folded else bias), strict=True):
            pm.Deterministic(name, value.reshape((J, G)))
        pm.Deterministic("lapse", lapse.reshape((J, G))[:, 0])
        cell = np.eye(J * G)[data.judge * G + data.condition]  # sums, not dot, which needs a BLAS library
        each = ((cell * v).sum(axis=1) for v in (slope, criterion, bias, lapse))
        logs = _log_shares(data, inputs["probit"], *each)
        likely(pm, sum(pt.sum(inputs["counts"][:, k] * v) for k, v in enumerate(logs)))
    return built


def given(data: Ladder, priors: Mapping[str, float] | None = None) -> dict[str, Floats]:
    """Data of the model: ``counts`` (N, 4), the ``design``, which includes the scales of the priors, and the link."""
    design = predictor(data, scales(PRIORS, priors)).weights
    return {"counts": data.counts, "design": design, "probit": np.array(float(data.link == "probit"))}


def _log_shares(data: Ladder, probit: Any, s: Any, c: Any, b: Any, lapse: Any) -> list[Any]:
    """Log probabilities of first, tie, second and either slot, (N,) each."""
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
    """Parameters drawn from the prior, and counts (N, 4) with the same totals: the model without PyMC."""
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
    """Counts (..., N, 4) drawn from probabilities (..., N, 3), with the totals of the data."""
    n = np.rint(data.counts.sum(axis=1)).astype(np.int64)
    made = rng.multinomial(np.broadcast_to(n, p.shape[:-1]), p / p.sum(axis=-1, keepdims=True)).astype(float)
    either = np.where(data.merged, made[..., 0] + made[..., 2], 0.0)
    made[..., [0, 2]] *= ~data.merged[:, None]
    return np.concatenate([made, either[..., None]], axis=-1)


def _labels(data: Ladder, scale: Mapping[str, float]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Variables whose draws are kept, with their labels."""
    design = predictor(data, scale)
    names: dict[str, tuple[tuple[str, ...], ...]] = dict.fromkeys(NAMES, (data.judges, data.conditions))
    names |= {"lapse": (data.judges,), "z": (design.names,)}
    return names | ({"spread": (design.spreads,)} if len(data.judges) > 1 else {})


def _with_tops(data: Ladder, drawn: Draws, scale: Mapping[str, float]) -> Draws:
    """The draws with the standard normal variables as `tops`; the sign of a spread has no meaning."""
    design, values = predictor(data, scale), dict(drawn.values)
    z, spread = values.pop("z"), values.pop("spread", None)
    fixed = np.array(design.names)[design.fixed == 1]
    z = z[..., design.fixed == 1]
    tops = [Top(name, z[..., fixed == name], Prior(1.0, None, False)) for name in dict.fromkeys(fixed.tolist())]
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
    """Replicated counts from 400 of the draws, (400, N, 4)."""
    data, flat = fitted.data, {name: fitted.draws.flat(name) for name in (*NAMES, "lapse")}
    kept = np.linspace(0, len(flat["lapse"]) - 1, 400).astype(int)
    p = shares(data, **{name: v[kept] for name, v in flat.items()})
    return drawn_counts(data, p, np.random.default_rng(seed))


def _used(data: Ladder) -> Mask:
    """Which counts exist, (N, 4)."""
    return np.column_stack([~data.merged, np.ones_like(data.merged), ~data.merged, data.merged])


def _beside(
    key: tuple[str, str], fitted: Fitted, again: Floats, scale: Mapping[str, float], by: str | None, seed: int
) -> pd.DataFrame:
    """Every count with its predictive intervals."""
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
