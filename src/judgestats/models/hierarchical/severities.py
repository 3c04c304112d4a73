"""How severe is each judge, how good each system, and who favours itself: :func:`severity`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, confidence
from judgestats.models.bayes.draws import MOST_PARETO, Draws
from judgestats.models.bayes.replicates import beside
from judgestats.models.bayes.sampling import sample
from judgestats.models.bayes.scales import Prior, prior_of
from judgestats.models.hierarchical.crossed import (
    EFFECTS,
    FIXED,
    Panel,
    default_priors,
    effects,
    model,
    posterior,
    prior_draw,
    replicated,
    weighed,
)
from judgestats.models.hierarchical.doubts import NOT_COMPARED, finding
from judgestats.models.hierarchical.means import panel
from judgestats.models.hierarchical.posteriors import Posterior, convergence, foreseen, predictive, prior_table, tabled
from judgestats.models.hierarchical.severity_rows import Rows
from judgestats.schema.columns import By
from judgestats.schema.splitting import as_runs, reference_as_runs

__all__ = ["effects", "model", "posterior", "prior_draw", "severity"]

Floats = NDArray[np.float64]
SPELLED = (("attributed", "anonymized"), ("attributed", "anonymised"))


def severity(
    ratings: Any,
    *,
    identity: Mapping[str, str] | None = None,
    reference: Any = None,
    condition: str | None = None,
    base: str | None = None,
    against: str | None = None,
    final: str | None = "final",
    average_over: By = (),
    priors: Mapping[str, Any] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int = 0,
    conf_level: float = 0.95,
    progress: bool = True,
    sampled: bool | None = None,
) -> Posterior:
    """Judge severity, system quality, taste and self-preference, and how self-preference fades when names are hidden.

    ``mean score = level + leniency[judge] + quality[system] + taste[judge, system] + self[judge] (own system) +
    noise``, each part with a change by condition where there are conditions; all are normal about 0 with sds of their
    own, and the noise is known: sd / sqrt(runs).

    Parameters
    ----------
    ratings : frame
        Ratings in any engine, raw, or means (``mean``, and ``sd``, ``runs``) per judge, system and condition. Several
        items are averaged, what an item gives all judges alike counts as quality. An sd of 0 (equal runs) is no proof
        that there is no noise: the pooled sd of the other means stands for it. Where all sds are 0, or none is known,
        the noise is 0 and what there is of it counts as taste; a flag says which.
    identity : mapping of str to str, optional
        System -> judge (or judge -> system) where their names differ.
    reference : frame, optional
        A panel: ``system``, ``mean``, ``sd``, ``runs`` (its number of people), or its ratings with ``judge``. It enters
        as another judge that has no system of its own; without the column `condition` it belongs to no condition.
    condition : str, optional
        Column; by default ``condition`` where there is one.
    base, against : str, optional
        Conditions whose self-preference is compared; by default ``attributed`` and ``anonymized``. Conditions of other
        names are not compared until they are named here: there is then no ``attenuation``, and ``check()`` says so.
    final : str or None
        Criterion that holds a final score; without it criteria are averaged, with the mean of their sds.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`judgestats.score_matrix`.
    priors : mapping, optional
        Name in ``.priors`` -> scale of a (half-)normal, or (scale, df) of a half-t.
    draws, tune, chains, seed, progress
        ``draws * chains`` are kept; the others are the sampler's.
    conf_level : float
    sampled : bool, optional
        True samples by NUTS (PyMC), False draws by importance; by default importance, and NUTS where its weights are
        too heavy. ``method`` says which.

    Returns
    -------
    Posterior
        Rows by condition, judge and system: ``severity`` (how far a judge scores below the average judge; positive is
        severe), ``severity_to_reference``, ``quality`` (on the scale, of an average judge), ``self_preference`` (apart
        from taste), ``own_excess`` (what the judge gives its own system beyond severity and quality, taste included),
        ``mean_self_preference``, ``sd_*``; per judge ``attenuation`` = |self-preference in `base`| - |in `against`| and
        ``attenuation_ratio`` = |against| / |base| (posterior median, no std_error), the same of the excess
        (``excess_attenuation``, ``excess_ratio``), and ``mean_attenuation``, ``mean_excess_attenuation``.
        ``probability`` is that of a value above 0; of a ratio, below 1.

    Raises
    ------
    SchemaError
        If a column is missing, an sd is negative, or `identity` cannot be right.
    DesignError
        If there are means and sds but no ``runs``, fewer than two judges or systems, or a condition is not known.
    FitError
        If PyMC is not installed, or the sampler fails.

    Notes
    -----
    Without taste, one deviation on one own system would pass for self-preference, with false certainty. One own system
    a judge cannot tell them apart: ``self_preference`` says what the judge would do with a further own system,
    ``own_excess`` what it did with this one. Nothing is clipped: an attenuation may be negative. A ratio whose base has
    0 in its interval is flagged ``base not told from zero``.

    Given the sds all effects are normal, so only the sds are drawn, from their marginal posterior, and effects given
    them, exactly. The cost grows with the cube of the number of cells: a few hundred are no trouble.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 3.5, 4.3 and 4.4.

    Examples
    --------
    >>> from judgestats.published.paper_merchant_risk import panel, scores  # doctest: +SKIP
    >>> severity(scores(), reference=panel())  # doctest: +SKIP
    """
    confidence(conf_level)
    ratings, reference = as_runs(ratings, average_over), reference_as_runs(reference, average_over)
    data, doubts = panel(ratings, identity, reference, condition, final)
    pair = _compared(data, base, against)
    chosen = _priors(data, priors or {})
    sds = None if sampled else posterior(data, chosen, draws=draws * chains, seed=seed)
    if sds is None or (sampled is None and sds.pareto_k > MOST_PARETO):
        labels = dict.fromkeys(data.sds, ())
        sds = sample(model(data, chosen), labels, draws=draws, tune=tune, chains=chains, seed=seed, progress=progress)
    found = effects(data, chosen, sds, seed)
    made = _derived(data, found, weighed(data, chosen, sds, found))
    rows = Rows(data, made, conf_level, doubts)
    table = [*rows.severities(), *rows.qualities(), *rows.selves(), *(rows.attenuations(*pair) if pair else [])]
    table += rows.spreads(chosen)
    again = replicated(data, found, sds, seed)
    inside = predictive("mean scores", data.y, again)
    question = f"How severe are {len(data.judges) - data.reference} judges, and do they favour themselves?"
    told = {n: (_spelled(chosen[n], n), EFFECTS[n][1]) for n in data.groups}
    kept = tabled(table, ["condition", "judge", "system"], ("probability",))
    stated = prior_table(told)
    checks = [*convergence(made, stated), *foreseen(made), *inside, *(_not_compared(data) if pair is None else [])]
    predicted = _predicted(data, again, chosen, made.method, seed)
    return Posterior(question, kept, stated, pd.DataFrame(checks), made, predicted)


def _predicted(data: Panel, again: Floats, priors: Mapping[str, Prior], draws: str, seed: int) -> pd.DataFrame:
    """Mean scores beside replicated ones, (S, N); from the prior too."""
    rng = np.random.default_rng([seed, 9])
    before = np.stack([prior_draw(data, priors, rng)[1] for _ in again])
    cells = pd.DataFrame(
        {
            "condition": [data.conditions[c] if c >= 0 else "" for c in data.condition],
            "judge": np.array(data.judges, object)[data.judge],
            "system": np.array(data.systems, object)[data.system],
            "outcome": "mean score",
        }
    )
    c, one = data.centre, np.ones(len(data.y))
    return beside(cells, data.y + c, again + c, before + c, one, draws=draws, scale="mean")


def _spelled(prior: Prior, name: str) -> str:
    return str(prior) if name in FIXED else f"sd: {prior}"


def _compared(data: Panel, base: str | None, against: str | None) -> tuple[int, int] | None:
    """The two conditions, or None where none are named and none have the usual names."""
    if base is None and against is None:
        usual = [pair for pair in SPELLED if set(pair) <= set(data.conditions)]
        if not usual:
            return None
        base, against = usual[0]
    for name, value in (("base", base), ("against", against)):
        if value not in data.conditions:
            raise DesignError(f"{name}={value!r} is no condition. Conditions: {', '.join(data.conditions) or 'none'}.")
    return data.conditions.index(str(base)), data.conditions.index(str(against))


def _not_compared(data: Panel) -> list[dict[str, Any]]:
    """The row of ``checks`` on conditions of which it is not known which one hides the names."""
    if len(data.conditions) < 2 or not data.own.any():
        return []
    cure = f"Name two of them: base= (names shown), against= (names hidden). Conditions: {', '.join(data.conditions)}."
    return [finding("conditions", float(len(data.conditions)), NOT_COMPARED, cure)]


def _priors(data: Panel, given: Mapping[str, Any]) -> dict[str, Prior]:
    if unknown := [n for n in given if n not in data.groups]:
        raise DesignError(
            f"priors has {unknown[0]!r}, which is no parameter here. Parameters: {', '.join(data.groups)}."
        )
    unit = float(data.y.std(ddof=1)) or 1.0
    found = default_priors(data.groups, unit)
    found |= {n: prior_of(value, n, half=n not in FIXED) for n, value in given.items()}
    for name in FIXED:
        if name in found and (found[name].df is not None or np.isinf(found[name].scale)):
            raise DesignError(f"priors[{name!r}] is the scale of a normal. Give one finite number.")
    return found


def _derived(data: Panel, found: Mapping[str, Floats], sds: Draws) -> Draws:
    """Severity, quality, self-preference and excess by condition, and the sds."""
    J, S, C = len(data.judges), len(data.systems), len(data.conditions)
    shape = sds.values["taste"].shape

    def whole(name: str, size: tuple[int, ...]) -> Floats:
        """Effect and its change by condition: (chains, draws, C, ...)."""
        result = np.repeat(found[name].reshape(*shape, 1, *size), C, axis=2)
        more = found.get(f"{name}_shift")
        return np.asarray(result if more is None else result + more.reshape(*shape, C, *size), np.float64)

    leniency, quality, taste = whole("judge", (J,)), whole("system", (S,)), whole("taste", (J, S))
    judges = J - data.reference
    average = leniency[..., :judges].mean(axis=-1, keepdims=True)
    values = {name: sds.values[name] for name in data.sds}
    values["severity"] = average - leniency[..., :judges]
    values["quality"] = data.centre + whole("level", (1,)) + quality + average
    names: dict[str, tuple[tuple[str, ...], ...]] = dict.fromkeys(data.sds, ())
    own = data.judges[:judges]
    names |= {"severity": (data.conditions, own), "quality": (data.conditions, data.systems)}
    if data.reference:
        theirs = (
            leniency[..., J - 1 :]
            if (data.condition[data.judge == J - 1] >= 0).all()
            else found["judge"][..., None, J - 1 :]
        )
        values["severity_to_reference"] = theirs - leniency[..., :judges]
        names["severity_to_reference"] = (data.conditions, own)
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
