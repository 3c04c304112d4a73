"""Severity of judges, quality of systems and self-preference, from mean scores: :func:`severity`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.splitting import as_runs, reference_as_runs
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.models.bayes.centred_priors import CentredPrior, prior_of
from judgestats.models.bayes.draws import MOST_PARETO, Draws, Labels
from judgestats.models.bayes.replicates import predictive_table
from judgestats.models.bayes.sampling import Sampling, sample, sampling_options
from judgestats.models.hierarchical.crossed import (
    EFFECTS,
    FIXED,
    CrossedMeans,
    default_priors,
    effects,
    model,
    posterior,
    prior_draw,
    replicated,
    weight_flags,
    with_likelihood,
)
from judgestats.models.hierarchical.crossed_means import crossed_means
from judgestats.models.hierarchical.posterior_checks import finding, predictive
from judgestats.models.hierarchical.posteriors import Posterior, result, row, tabled
from judgestats.schema.columns import By
from judgestats.schema.opening import engine_errors
from judgestats.typing import Floats, Record


@dataclass(frozen=True, eq=False)
class EstimateRows:
    """Rows of estimates from draws; `notes` are flags of all of them."""

    data: CrossedMeans
    draws: Draws
    conf_level: float
    notes: list[str]

    def _severity_row(self, term: str, values: Floats, n: float, flag: str = "", **more: str) -> Record:
        flag = flags.join(*self.notes, flag, *weight_flags(self.draws))
        keys = {"condition": "", "judge": "", "system": "", **more}
        estimate = row(term, values, self.draws, conf_level=self.conf_level, n=n, flag=flag, **keys)
        return {**estimate, "probability": float((values > 0).mean())}

    def _scores(self, **where: int) -> int:
        """Number of scores with these codes."""
        return int(np.logical_and.reduce([getattr(self.data, k) == v for k, v in where.items()]).sum())

    def main_effects(self) -> list[Record]:
        """Severity by condition and judge, quality by condition and system."""
        rows = []
        for term, factor in (("severity", "judge"), ("severity_to_reference", "judge"), ("quality", "system")):
            if term not in self.draws.values:
                continue
            for c, where in enumerate(self.data.conditions):
                for k, label in enumerate(self.draws.labels[term][1]):
                    n = self._scores(condition=c, **{factor: k})
                    flag = flags.ONE_SCORE if n == 1 else flags.NO_DATA if n == 0 else ""
                    values = self.draws.values[term][..., c, k]
                    rows.append(self._severity_row(term, values, n, flag, condition=where, **{factor: label}))
        return rows

    def selves(self) -> list[Record]:
        """Self-preference and excess by condition and judge, and the population mean."""
        if "self_preference" not in self.draws.values:
            return []
        rows, who = [], self.draws.labels["self_preference"][1]
        few = flags.FEW_OWN if len(who) < 3 else ""
        for term in ("self_preference", "own_excess"):
            for c, where in enumerate(self.data.conditions):
                for j, judge in enumerate(who):
                    n = self._scores(condition=c, judge=self.data.judges.index(judge), own=1)
                    flag = flags.NO_DATA if n == 0 else few
                    values = self.draws.values[term][..., c, j]
                    rows.append(self._severity_row(term, values, n, flag, condition=where, judge=judge))
        for c, where in enumerate(self.data.conditions):
            value = self.draws.values["mean_self_preference"][..., c]
            rows.append(self._severity_row("mean_self_preference", value, len(who), few, condition=where))
        return rows

    def attenuations(self, base: int, blinded: int) -> list[Record]:
        """Attenuation and its ratio for each judge, and mean attenuation."""
        if "self_preference" not in self.draws.values:
            return []
        rows, who = [], self.draws.labels["self_preference"][1]
        for source, term, ratio in (
            ("self_preference", "attenuation", "attenuation_ratio"),
            ("own_excess", "excess_attenuation", "excess_ratio"),
        ):
            a, b = (self.draws.values[source][..., c, :] for c in (base, blinded))
            change = np.abs(a) - np.abs(b)
            rows += [self._severity_row(term, change[..., j], 1, judge=judge) for j, judge in enumerate(who)]
            rows += [self._ratio_row(ratio, a[..., j], b[..., j], judge) for j, judge in enumerate(who)]
            rows.append(self._severity_row(f"mean_{term}", change.mean(axis=-1), len(who)))
        return rows

    def _ratio_row(self, term: str, a: Floats, b: Floats, judge: str) -> Record:
        value = np.abs(b) / np.abs(a)
        tail = (1 - self.conf_level) / 2
        low, high = np.quantile(a, [tail, 1 - tail])
        estimate = self._severity_row(term, value, 1, flags.UNBOUNDED if low <= 0 <= high else "", judge=judge)
        median, below_1 = float(np.median(value)), float((value < 1).mean())
        return {**estimate, "estimate": median, "std_error": np.nan, "probability": below_1}

    def spreads(self, priors: Mapping[str, CentredPrior]) -> list[Record]:
        """The sds."""
        rows = []
        for name in self.data.sds:
            values = self.draws.values[name]
            flag = flags.PRIOR_DRIVEN if priors[name].decides(values) else ""
            rows.append({**self._severity_row(f"sd_{name}", values, len(self.data.y), flag), "probability": np.nan})
        return rows


#: Conditions that are compared by default: names shown, names hidden.
SPELLED = (("attributed", "anonymized"), ("attributed", "anonymised"))


@checked_arguments
@engine_errors
def severity(
    ratings: IntoFrame,
    *,
    identity: Mapping[str, str] | None = None,
    reference: IntoFrame | None = None,
    condition: str | None = None,
    baseline: str | None = None,
    blinded: str | None = None,
    overall_criterion: str | None = "final",
    average_over: By = (),
    priors: Mapping[str, Any] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
    sampled: bool | None = None,
) -> Posterior:
    """Judge severity, system quality and self-preference, and the attenuation of self-preference by hiding names.

    ``mean score = level + leniency[judge] + quality[system] + taste[judge, system] + self[judge] (own system) +
    noise``, where taste is the judge-by-system interaction. With several conditions each term changes by condition. All
    effects are normal about 0, each kind with its own sd; the standard error of the noise is known: sd / sqrt(runs).

    Parameters
    ----------
    ratings : frame
        Ratings in any engine, raw, or means (``mean``, and ``sd``, ``runs``) per judge, system and condition. Several
        items are averaged; an item effect common to all judges counts as quality. An sd of 0 (equal runs) does not
        prove that there is no noise: it is replaced by the pooled sd of the other means. If all sds are 0, or none is
        known, the noise is taken as 0 and becomes part of taste, with a flag.
    identity : mapping of str to str, optional
        System -> judge (or judge -> system) if their names differ.
    reference : frame, optional
        A panel: ``system``, ``mean``, ``sd``, ``runs`` (number of people), or its ratings with ``judge``. It enters
        as another judge without a system; without the column `condition` it belongs to no condition.
    condition : str, optional
        Column; by default ``condition`` if that column exists.
    baseline, blinded : str, optional
        Conditions whose self-preference is compared; by default ``attributed`` and ``anonymized``. Conditions with
        other names must be named here to be compared; otherwise there is no ``attenuation``, and ``check()`` says so.
    overall_criterion : str or None
        Criterion of the final score; without it criteria are averaged within each reply. Of means the mean
        of their sds is taken, as if criteria were perfectly correlated.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`judgestats.score_matrix`.
    priors : mapping, optional
        Name in ``.priors`` -> scale of a (half-)normal, or (scale, df) of a half-t.
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`. ``draws * chains`` are kept.
    conf_level : float
        Coverage of the intervals.
    sampled : bool, optional
        True: NUTS (PyMC); False: importance sampling; by default importance sampling, and NUTS if its weights are too
        heavy. The column ``method`` says which.

    Returns
    -------
    Posterior
        Rows by condition, judge and system: ``severity`` (how far a judge scores below the average judge; positive is
        severe), ``severity_to_reference``, ``quality`` (as scored by an average judge), ``self_preference`` (without
        taste), ``own_excess`` (excess score of the judge's own system over severity and quality, taste included),
        ``mean_self_preference``, ``sd_*``; per judge ``attenuation`` = |self-preference in `baseline`| - |in
        `blinded`| and ``attenuation_ratio`` = |in `blinded`| / |in `baseline`| (posterior median, no std_error), the
        same for the excess (``excess_attenuation``, ``excess_ratio``), and ``mean_attenuation``,
        ``mean_excess_attenuation``. ``probability`` is the probability of a value above 0; of a ratio, below 1.

    Raises
    ------
    SchemaError
        If a column is missing, an sd is negative, or `identity` is not valid.
    DesignError
        If there are means and sds but no ``runs``, fewer than two judges or systems, or a condition is not known.
    FitError
        If PyMC is not installed, or the sampler fails.

    See Also
    --------
    judgestats.consensus_deviation : Distance from the other judges.
    judgestats.models.self_preference : Own responses, given their quality.

    Notes
    -----
    Without taste, a single deviation of a judge on its own system would count as self-preference, with false certainty.
    With one own system per judge the two are not identifiable: ``self_preference`` predicts what the judge would do
    with another system of its own, ``own_excess`` describes what it did with this one. Nothing is clipped: an
    attenuation may be negative. A ratio is flagged ``interval of the denominator includes 0`` where that holds.

    Given the sds all effects are normal. So the sds are drawn from their marginal posterior, and the effects exactly,
    given the sds. The cost grows with the cube of the number of cells; a few hundred cells take seconds.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 3.5, 4.3 and 4.4.

    Examples
    --------
    >>> from judgestats.published.paper_tables import panel, scores  # doctest: +SKIP
    >>> severity(scores(), reference=panel())  # doctest: +SKIP
    """
    ratings, reference = as_runs(ratings, average_over), reference_as_runs(reference, average_over)
    data, notes = crossed_means(ratings, identity, reference, condition, overall_criterion)
    pair = _compared_conditions(data, baseline, blinded)
    chosen = _effect_priors(data, priors or {})
    options = sampling_options(sampling)
    seed, size = options["seed"], options["draws"] * options["chains"]
    sds = None if sampled else posterior(data, chosen, draws=size, seed=seed)
    if sds is None or (sampled is None and sds.pareto_k > MOST_PARETO):
        labels: Labels = dict.fromkeys(data.sds, ())
        sds = sample(model(data, chosen), labels, **options)
    effect_draws = effects(data, chosen, sds, seed)
    derived = _derived_effects(data, effect_draws, with_likelihood(data, chosen, sds, effect_draws))
    rows = EstimateRows(data, derived, conf_level, notes)
    table = [*rows.main_effects(), *rows.selves(), *(rows.attenuations(*pair) if pair else []), *rows.spreads(chosen)]
    again = replicated(data, effect_draws, sds, seed)
    laws = {n: ((str(chosen[n]) if n in FIXED else f"sd: {chosen[n]}"), EFFECTS[n][1]) for n in data.groups}
    checks = predictive("mean scores", data.y, again)
    if pair is None and len(data.conditions) > 1 and data.own.any():
        names = ", ".join(data.conditions)
        advice = f"Name two of them: baseline= (names shown), blinded= (names hidden). Conditions: {names}."
        checks.append(finding("conditions", float(len(data.conditions)), flags.NO_COMPARISON, advice))
    question = f"How severe are {len(data.judges) - data.reference} judges, and do they favour themselves?"
    frame = tabled(table, ["condition", "judge", "system"], ("probability",))
    predicted = _predicted_scores(data, again, chosen, derived.method, seed)
    return result(question, frame, derived, laws, checks, predicted)


def _predicted_scores(
    data: CrossedMeans, again: Floats, priors: Mapping[str, CentredPrior], draws: str, seed: int
) -> pd.DataFrame:
    """Observed mean scores with replicated ones, (S, N), and with ones from the prior."""
    rng = np.random.default_rng([seed, 9])
    before = np.stack([prior_draw(data, priors, rng)[1] for _ in again])
    cells = pd.DataFrame({"condition": [data.conditions[c] if c >= 0 else "" for c in data.condition]})
    judge, system = np.array(data.judges, object)[data.judge], np.array(data.systems, object)[data.system]
    cells = cells.assign(judge=judge, system=system, outcome="mean score")
    c, one = data.centre, np.ones(len(data.y))
    return predictive_table(cells, data.y + c, again + c, before + c, one, draws=draws, scale="mean")


def _compared_conditions(data: CrossedMeans, base: str | None, blinded: str | None) -> tuple[int, int] | None:
    """Codes of the two conditions, or None if they are not named and none has a usual name."""
    if base is None and blinded is None:
        usual = [pair for pair in SPELLED if set(pair) <= set(data.conditions)]
        if not usual:
            return None
        base, blinded = usual[0]
    for name, value in (("baseline", base), ("blinded", blinded)):
        if value not in data.conditions:
            raise DesignError(
                f"{name}={value!r} is not a condition. Conditions: {', '.join(data.conditions) or 'none'}."
            )
    return data.conditions.index(str(base)), data.conditions.index(str(blinded))


def _effect_priors(data: CrossedMeans, overrides: Mapping[str, object]) -> dict[str, CentredPrior]:
    if unknown := [n for n in overrides if n not in data.groups]:
        raise DesignError(
            f"priors has {unknown[0]!r}, which is not a parameter here. Parameters: {', '.join(data.groups)}."
        )
    unit = float(data.y.std(ddof=1)) or 1.0
    priors = default_priors(data.groups, unit)
    priors |= {n: prior_of(value, n, half=n not in FIXED) for n, value in overrides.items()}
    for name in FIXED:
        if name in priors and (priors[name].df is not None or np.isinf(priors[name].scale)):
            raise DesignError(f"priors[{name!r}] is the scale of a normal. Give one finite number.")
    return priors


def _derived_effects(data: CrossedMeans, effect_draws: Mapping[str, Floats], sds: Draws) -> Draws:
    """Severity, quality, self-preference and excess by condition, and the sds."""
    J, S, C = len(data.judges), len(data.systems), len(data.conditions)
    shape = sds.values["taste"].shape

    def whole(name: str, size: tuple[int, ...]) -> Floats:
        """Effect plus its change by condition, (chains, draws, C, ...)."""
        result = np.repeat(effect_draws[name].reshape(*shape, 1, *size), C, axis=2)
        more = effect_draws.get(f"{name}_shift")
        return np.asarray(result if more is None else result + more.reshape(*shape, C, *size), np.float64)

    leniency, quality, taste = whole("judge", (J,)), whole("system", (S,)), whole("taste", (J, S))
    judges = J - data.reference
    average = leniency[..., :judges].mean(axis=-1, keepdims=True)
    values = {name: sds.values[name] for name in data.sds}
    values["severity"] = average - leniency[..., :judges]
    values["quality"] = data.centre + whole("level", (1,)) + quality + average
    names: Labels = dict.fromkeys(data.sds, ())
    names |= {"severity": (data.conditions, data.judges[:judges]), "quality": (data.conditions, data.systems)}
    if data.reference:
        with_condition = (data.condition[data.judge == J - 1] >= 0).all()
        reference = leniency[..., J - 1 :] if with_condition else effect_draws["judge"][..., None, J - 1 :]
        values["severity_to_reference"] = reference - leniency[..., :judges]
        names["severity_to_reference"] = names["severity"]
    if data.own.any():
        pairs = dict(zip(data.judge[data.own].tolist(), data.system[data.own].tolist(), strict=True))
        who = tuple(sorted(pairs))
        mean = whole("mean_self", (1,))
        values["mean_self_preference"] = mean[..., 0]
        values["self_preference"] = mean + whole("self", (J,))[..., list(who)]
        values["own_excess"] = values["self_preference"] + np.stack([taste[..., j, pairs[j]] for j in who], axis=-1)
        selves = tuple(data.judges[j] for j in who)
        names |= {"mean_self_preference": (data.conditions,)}
        names |= dict.fromkeys(("self_preference", "own_excess"), (data.conditions, selves))
    return replace(sds, values=values, labels=names)
