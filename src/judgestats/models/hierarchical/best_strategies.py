"""Effects of strategies on each judge, the best one and its probability, and the power of tests: :func:`strategies`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import ndtr, ndtri

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose
from judgestats.models.bayes.draws import Draws
from judgestats.models.bayes.replicates import predictive_table
from judgestats.models.bayes.sampling import Sampling, sample_each, sampling_options
from judgestats.models.hierarchical.joint_distributions import (
    CENTRES,
    PRIORS,
    joint,
    labels,
    model,
    observed,
    prior_draw,
    simulated,
)
from judgestats.models.hierarchical.posterior_checks import conflicts, convergence, finding, predictive
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    prior_table,
    probability_row,
    row,
    scales,
    tabled,
    with_top_parameters,
)
from judgestats.models.hierarchical.strategy_counts import Arms, paired, read
from judgestats.schema.columns import By
from judgestats.typing import Floats, Record

ALL = "all judges"


def ranked(accuracy: Floats) -> tuple[Floats, Floats]:
    """Whether each strategy is the best, ties split, and the loss from choosing it; arguments and results (..., S)."""
    top = accuracy.max(axis=-1, keepdims=True)
    first = (accuracy == top).astype(float)
    return first / first.sum(axis=-1, keepdims=True), top - accuracy


def miss_probability(effect: Floats, discordance: Floats, n: float, level: float = 0.05) -> Floats:
    """Probability that McNemar's test of `n` pairs is not significant, by difference and sum of discordant shares."""
    z = -ndtri(level / 2)
    spread = np.sqrt(np.maximum(discordance - effect**2, 1e-12))
    reach, middle = z * np.sqrt(discordance), np.sqrt(n) * effect
    result: Floats = ndtr((reach - middle) / spread) - ndtr((-reach - middle) / spread)
    return result


def choice_rows(
    arms: Arms, draws: Draws, priors: Mapping[str, float], margin: float, level: float, conf_level: float, flag: str
) -> list[Record]:
    """Rows under one joint distribution: effects by judge and strategy, the best one, and the same over all judges."""
    accuracy, both = joint(arms, draws.values)
    odds, there = draws.values["logit"], arms.there
    rows: list[Record] = []
    shared = {"conf_level": conf_level, "dependence": arms.law, "draws": draws}
    for j, name in enumerate(arms.judges):
        used = np.flatnonzero(there[j])
        whole = flags.join(flag, arms.excluded.get(name), flags.SMALL_N if np.nanmax(arms.n[j, used]) < 30 else "")
        more = [{**shared, "judge": name, "strategy": arms.strategies[s], "n": float(arms.n[j, s])} for s in used]
        for s, m in zip(used, more, strict=True):
            if s:
                effect = accuracy[..., j, s] - accuracy[..., j, 0]
                discordance = accuracy[..., j, s] + accuracy[..., j, 0] - 2 * both[..., j, s]
                pairs = float(np.nanmin([arms.n[j, s], arms.n[j, 0]]))
                not_seen = miss_probability(effect, discordance, pairs, level)
                rows += _effect_rows(effect, odds[..., j, s] - odds[..., j, 0], not_seen, margin, m, whole)
        rows += _best_rows(accuracy[..., j, used], more, whole)
    if len(arms.judges) > 1:
        rows += _pooled_rows(arms, draws, accuracy, priors, shared, flag)
    return rows


def _effect_rows(
    effect: Floats, odds: Floats, not_seen: Floats, margin: float, more: Record, flag: str
) -> list[Record]:
    real = (100 * np.abs(effect) > margin).astype(float)
    share = real.mean()
    probability = {**more, "scale": "probability"}
    hidden = probability_row(
        "missed if real", real * not_seen, flag=flag if share else flags.join(flag, flags.NO_DATA), **probability
    )
    hidden.update(estimate=hidden["estimate"] / share if share else math.nan, std_error=math.nan)
    return [
        row("effect", 100 * effect, flag=flag, scale="percentage points", **more),
        row("effect", odds, flag=flag, scale="log-odds", **more),
        probability_row("real", real, flag=flag, **probability),
        probability_row("real and missed", real * not_seen, flag=flag, **probability),
        hidden,
    ]


def _best_rows(accuracy: Floats, more: list[Record], flag: str) -> list[Record]:
    best, loss = ranked(accuracy)
    rows = [probability_row("best", best[..., i], flag=flag, scale="probability", **m) for i, m in enumerate(more)]
    points: Record = {"flag": flag, "scale": "percentage points"}
    return rows + [row("loss", 100 * loss[..., i], **points, **m) for i, m in enumerate(more)]


def _pooled_rows(
    arms: Arms, draws: Draws, accuracy: Floats, priors: Mapping[str, float], shared: Record, flag: str
) -> list[Record]:
    rows, there = [], arms.there
    more = [{**shared, "strategy": s, "n": float(np.nansum(arms.n[:, i]))} for i, s in enumerate(arms.strategies)]
    for s in range(1, len(arms.strategies)):
        with_strategy = there[:, s]
        some = (
            ""
            if with_strategy.all()
            else flags.CELLS_OF.of(with_strategy.sum(), total=len(with_strategy), what="judges")
        )
        effect = 100 * (accuracy[..., with_strategy, s] - accuracy[..., with_strategy, 0]).mean(axis=-1)
        rows.append(row("effect", effect, flag=flags.join(flag, some), scale="percentage points", judge=ALL, **more[s]))
        mean = draws.values["effect"][..., s - 1]
        population = {**more[s], "scale": "log-odds", "judge": "population"}
        driven = flags.PRIOR_DRIVEN if mean.std() > 0.7 * priors["effect"] else ""
        rows.append(row("effect", mean, flag=flags.join(flag, driven), **population))
        spread = draws.values["sd_effect"][..., s - 1]
        driven = flags.PRIOR_DRIVEN if spread.std() > 0.7 * priors["sd_effect"] * math.sqrt(1 - 2 / math.pi) else ""
        rows.append(row("sd_effect", spread, flag=flags.join(flag, driven), **population))
    if there.all():
        rows += _best_rows(accuracy.mean(axis=-2), [{**m, "judge": ALL} for m in more], flag)
    return rows


#: Assumptions on the joint distribution of answers under two strategies.
DEPENDENCE = ("unknown", "independent", "discordant")
#: Joint distributions that bound the truth if only margins are known.
BOUNDS = ("independent", "extreme positive", "extreme negative")
#: Outcome -> its counts in :class:`Arms`.
COUNTED = {"right calls": "k", "right under the baseline alone": "b", "under the strategy alone": "c"}


@checked_arguments
def strategies(
    data: IntoFrame,
    *,
    baseline: str,
    dependence: str = "unknown",
    judge: str = "judge",
    strategy: str = "strategy",
    item: By = "item",
    margin: float = 2.0,
    significance_level: float = 0.05,
    selected: bool | None = None,
    ties: str = "exact",
    invalid: str = "drop",
    priors: Mapping[str, float] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
) -> Posterior:
    """Effect of each strategy on the accuracy of each judge, partially pooled, and the probability that it is best.

    Parameters
    ----------
    data : frame
        Calls with `item` and a column ``correct`` of 0 and 1, or ``outcome``, or preferences with ``gold``. Or counts:
        a tally of outcomes without items (margins); a tally of changes (``baseline``, ``outcome``, ``n``, and
        ``pairs`` if it has discordant pairs only); a printed table with ``n`` and ``k`` (correct calls) or
        ``baseline_only`` and ``strategy_only`` (``b`` and ``c``), or all of them, empty where not printed.
    baseline : str
        The strategy that the others are compared with.
    dependence : {'unknown', 'independent', 'discordant'}
        Dependence of a judge's answers under two strategies. ``unknown``: estimated if the data allow it; margins do
        not, and are analysed under independence and under both extremes. ``independent``: different items.
        ``discordant``: from the discordant counts, which are required; comparisons without them are assumed to be like
        the others.
    judge, strategy : str
        Columns.
    item : str or sequence of str
        What is judged; calls without it are margins.
    margin : float
        Percentage points that a real effect exceeds.
    significance_level : float
        Level of McNemar's test, which may miss an effect; divide it by the number of tests for a Bonferroni bound.
    selected : bool, optional
        Whether the table has selected comparisons only. None: true if some judge lacks a strategy, or discordant
        counts, that another judge has.
    ties, invalid : str
        As in ``strategy_effects``: a tie is ``exact`` (wrong if the gold is a candidate) or dropped; an invalid call
        is dropped or ``wrong``.
    priors : mapping of str to float, optional
        Scales on the log-odds scale: ``baseline``, ``effect``, ``association``, ``link`` (normal), ``sd_effect``,
        ``sd_association``, ``sd_link`` (half-normal).
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        For each ``dependence``, judge and strategy: ``effect`` (percentage points, and log-odds), ``best`` (probability
        of being best; the baseline is included, ties are split), ``loss`` (points lost by choosing it), ``real``
        (probability that the effect exceeds `margin` in either direction), ``real and missed`` (and that a McNemar test
        with as many pairs is not significant) and ``missed if real``. ``all judges`` is the mean of these judges,
        ``population`` the mean of their population, and ``sd_effect`` the sd of effects between judges, on log-odds. A
        probability has no interval; its standard error is the Monte Carlo error. ``draws`` belong to the first
        dependence.

    Raises
    ------
    SchemaError
        If ``n`` is missing or a count is impossible.
    DesignError
        If the data have no comparison, or lack the counts that `dependence` needs.
    FitError
        If PyMC is missing or the sampler fails.

    See Also
    --------
    judgestats.compare_strategies : Accuracy of strategies on the same pairs.
    judgestats.models.strategy_effects : Strategies, per judge and pooled.

    Notes
    -----
    The log-odds of the *marginal* accuracy are a baseline, separate for each judge, plus an effect, which varies over
    judges around the mean effect of the strategy with a separate sd for each strategy. With items, the answers of a
    judge to one item share a random intercept with the bridge distribution (Wang and Louis 2003), attenuated separately
    for each strategy, so that the margins stay logistic; the likelihood is that of the counts of answer patterns. With
    pairs against the baseline, each two-by-two table has an odds ratio (Plackett) that is pooled over judges and
    strategies. Two strategies are then independent given the answer under the baseline, which overstates the
    uncertainty of their difference if they are also associated otherwise. With margins, ``extreme`` is an odds ratio of
    exp(10) or exp(-10).

    Source: debiasing paper, Section 3.5 and Appendix D, Tables 1 and 4.

    Examples
    --------
    >>> strategies(calls, baseline="B0", sampling={"draws": 2000, "seed": 1}).tidy()  # doctest: +SKIP
    """
    choose(dependence, DEPENDENCE, "dependence")
    if not 0 <= margin < 100:
        raise DesignError(f"margin={margin!r} is not valid. Allowed: percentage points from 0 to below 100, such as 2.")
    level = significance_level
    if not 0 < level < 1:
        raise DesignError(f"significance_level={level!r} is not allowed. It must be between 0 and 1, for example 0.05.")
    chosen = scales(PRIORS, priors)
    counts = read(data, baseline, judge, strategy, item, ties, invalid)
    laws, why = _joint_laws(counts, dependence)
    partial = counts.partial if selected is None else selected
    stated = _prior_frame(replace(counts, law=laws[0]), chosen)
    rows: list[Record] = []
    checks: list[Record] = []
    predicted: list[pd.DataFrame] = []
    options = sampling_options(sampling)
    designs = [replace(paired(counts) if law == "discordant" else counts, law=law) for law in laws]
    data_sets = [observed(arms) for arms in designs]
    samples = sample_each(model(designs[0], chosen), labels(designs[0]), data_sets, **options)
    samples = [with_top_parameters(d, chosen, CENTRES) for d in samples]
    for law, arms, draws in zip(laws, designs, samples, strict=True):
        flag = flags.join(why, flags.SELECTED if partial else "")
        rows += choice_rows(arms, draws, chosen, margin, level, conf_level, flag)
        again, before = _replicated_arms(arms, draws, chosen, options["seed"])
        predicted.append(_predicted_calls(arms, again, before, draws.method))
        each = [*convergence(draws, stated), *conflicts(draws), *_predictive_checks(arms, again)]
        checks += [{**c, "what": f"{c['what']} ({law})" if len(laws) > 1 else c["what"]} for c in each]
    if partial:
        checks.append(finding("comparisons", math.nan, flags.SELECTED))
    if why:
        checks.append(finding("joint law", math.nan, why))
    table = tabled(rows, ["dependence", "judge", "strategy"], ("scale",))
    question = f"Which strategy is best for which judge? Effects against {baseline}"
    whole = pd.concat(predicted, ignore_index=True)
    return Posterior(question, table, stated, pd.DataFrame(checks), samples[0], whole)


def _joint_laws(arms: Arms, dependence: str) -> tuple[tuple[str, ...], str]:
    """Joint distributions under which the data are analysed, and a flag."""
    discordant = bool(np.isfinite(arms.b).any())
    if dependence == "discordant" and not discordant:
        raise DesignError(
            "dependence='discordant' needs the columns baseline_only and strategy_only (b and c), or calls with items. "
            "The table has margins only: use 'unknown' for bounds, or 'independent'."
        )
    if dependence == "independent":
        if not np.isfinite(arms.k).any():
            raise DesignError("dependence='independent' needs k, the correct calls of each strategy; use 'discordant'.")
        return ("independent",), ""
    if arms.answers is not None and dependence == "unknown":
        return ("items",), ""
    if discordant:
        return ("discordant",), flags.HUB if len(arms.strategies) > 2 else ""
    return BOUNDS, flags.UNKNOWN_JOINT


def _replicated_arms(arms: Arms, draws: Draws, priors: Mapping[str, float], seed: int) -> tuple[list[Arms], list[Arms]]:
    """The same design with counts drawn from the posterior, and from the prior."""
    values = {k: draws.flat(k) for k in draws.values}
    some = {k: v[:: max(1, len(v) // 400)] for k, v in values.items()}
    rng = np.random.default_rng(seed)
    again = [simulated(arms, {k: v[i] for k, v in some.items()}, rng) for i in range(len(some["logit"]))]
    return again, [prior_draw(arms, priors, rng)[1] for _ in range(200)]


def _predictive_checks(arms: Arms, again: list[Arms]) -> list[Record]:
    checks: list[Record] = []
    for what, name in COUNTED.items():
        seen = getattr(arms, name)
        present = np.isfinite(seen)
        if present.any():
            checks += predictive(what, seen[present], np.array([getattr(a, name)[present] for a in again]))
    return checks


def _predicted_calls(arms: Arms, again: list[Arms], before: list[Arms], draws: str) -> pd.DataFrame:
    """Every known count with its predictive intervals."""
    rows, seen, n = [], [], []
    replicated: tuple[list[Floats], list[Floats]] = [], []
    for what, name in COUNTED.items():
        observed_ = getattr(arms, name)
        present = np.isfinite(observed_)
        rows += [(arms.law, arms.judges[j], arms.strategies[s], what) for j, s in np.argwhere(present)]
        seen.append(observed_[present])
        n.append(np.nan_to_num(arms.n[present]))
        for side, some in zip(replicated, (again, before), strict=True):
            side.append(np.array([getattr(a, name)[present] for a in some]))
    cells = pd.DataFrame(rows, columns=["dependence", "judge", "strategy", "outcome"])
    after, first = (np.concatenate(side, axis=1) for side in replicated)
    return predictive_table(cells, np.concatenate(seen), after, first, np.concatenate(n), draws=draws)


def _prior_frame(arms: Arms, priors: Mapping[str, float]) -> pd.DataFrame:
    laws = {
        "baseline": (f"normal(0, {priors['baseline']:g})", "log-odds of a correct call under the baseline"),
        "effect": (f"normal(0, {priors['effect']:g})", "effect of a strategy on the log-odds, mean of judges"),
        "sd_effect": (f"half-normal({priors['sd_effect']:g})", "sd of an effect between judges"),
    }
    if arms.law == "discordant":
        laws["association"] = (f"normal(3, {priors['association']:g})", "log odds ratio of strategy and baseline")
        laws["sd_association"] = (f"half-normal({priors['sd_association']:g})", "its sd between judges and strategies")
    if arms.law == "items":
        laws["link"] = (f"normal(-0.5, {priors['link']:g})", "logit of the attenuation by the item effect")
        laws["sd_link"] = (f"half-normal({priors['sd_link']:g})", "its sd between judges and strategies")
    return prior_table(laws)
