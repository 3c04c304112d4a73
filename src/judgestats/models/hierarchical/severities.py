"""How severe is each judge, how good each system, and who favours itself: :func:`severity`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, confidence, suggestion
from judgestats.models.bayes.draws import MOST_PARETO, Draws, Sampling, beside, sample, sampling_options
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
    weight_flags,
)
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    convergence,
    finding,
    foreseen,
    predictive,
    prior_table,
    row,
    tabled,
)
from judgestats.results import (
    ALL_ZERO,
    CRITERIA_TOGETHER,
    FEW_OWN,
    N_SCORES_EXCLUDED,
    NO_COMPARISON,
    NO_NOISE,
    NO_SELF_SCORE,
    ONE_SCORE,
    OTHER_ITEMS,
    POOLED_SD,
    PRIOR_DRIVEN,
    UNBOUNDED,
    ZERO_SD,
    flags,
)
from judgestats.schema.cells import cells
from judgestats.schema.columns import By
from judgestats.schema.splitting import as_runs, reference_as_runs

__all__ = ["effects", "model", "posterior", "prior_draw", "severity"]

# ---- Ratings, or printed means, and a reference panel -> mean scores with known noise (:class:`Panel`) ---------------

REFERENCE = "reference"


def panel(
    ratings: Any, identity: Mapping[str, str] | None, reference: Any, condition: str | None, final: str | None
) -> tuple[Panel, list[str]]:
    """Lay ratings out as mean scores with known noise.

    `identity`: system -> judge, or judge -> system. `condition`: column; by default ``condition`` where there is one.
    `final`: criterion that holds a final score. Returns `doubts`: flags of all estimates.
    """
    present = list(nw.from_native(ratings).collect_schema().names())
    if condition is not None and condition not in present:
        raise DesignError(
            f"condition={condition!r} is no column. Columns: {', '.join(present)}.{suggestion(condition, present)}"
        )
    column = condition if condition is not None else "condition" if "condition" in present else None
    _refuse_lone_sd(present)
    table = cells(ratings, [column] if column else [])
    table = table.assign(where=table[column].astype(str) if column else "")
    table, doubts = _summed(table, final)
    table, more = _with_noise(table)
    judges, systems = sorted(set(table["judge"].astype(str))), sorted(set(table["system"].astype(str)))
    if len(judges) < 2 or len(systems) < 2:
        raise DesignError(
            f"Severity and quality are separated by two judges and two systems or more; got {len(judges)} and "
            f"{len(systems)}."
        )
    own = _own(identity or {}, judges, systems)
    conditions = sorted(set(table["where"]))
    table = table.assign(
        own=[own.get(s) == j for j, s in zip(table["judge"].astype(str), table["system"].astype(str), strict=True)]
    )
    if reference is not None:
        if REFERENCE in judges:
            raise DesignError(f"A judge is called {REFERENCE!r}, as the reference is. Rename it.")
        table = pd.concat([table, _reference(reference, systems, own, column, conditions)], ignore_index=True)
        judges = [*judges, REFERENCE]
    centre = float(table["mean"].mean())
    judge, system, where = (
        np.asarray(pd.Index(k).get_indexer(table[c].astype(str)), np.int64)
        for k, c in ((judges, "judge"), (systems, "system"), (conditions, "where"))
    )
    data = Panel(
        table["mean"].to_numpy(float) - centre, table["noise"].to_numpy(float), judge, system, where,
        own=table["own"].to_numpy(bool), judges=tuple(judges), systems=tuple(systems), conditions=tuple(conditions),
        reference=reference is not None, centre=centre,
    )  # fmt: skip
    return data, [*doubts, *more, "" if data.own.any() else NO_SELF_SCORE]


def _refuse_lone_sd(present: list[str]) -> None:
    if "score" not in present and "sd" in present and "runs" not in present:
        raise DesignError(
            "The table has means and sds but no 'runs' (how many runs each mean is of), so the error of a mean is not "
            "known. Add the column, or leave 'sd' out: noise then counts as taste."
        )


def _summed(table: pd.DataFrame, final: str | None) -> tuple[pd.DataFrame, list[str]]:
    """One criterion; missing means excluded; numbers that cannot be are refused."""
    missing = float(table["n_missing"].fillna(0).sum())
    table = table[table["mean"].notna()]
    doubts = [N_SCORES_EXCLUDED.of(missing)]
    if (table["sd"] < 0).any() or (table["runs"] < 1).any():
        raise SchemaError("A ratings table has an sd below 0, or runs below 1. An sd is 0 or more, runs are 1 or more.")
    if final is not None and (table["criterion"] == final).any():
        return table[table["criterion"] == final], doubts
    if table["criterion"].nunique() > 1:
        keys = ["where", "judge", "system", "item"]
        how = {"mean": ("mean", "mean"), "sd": ("sd", "mean"), "runs": ("runs", "min")}
        return table.groupby(keys, as_index=False, observed=True).agg(**how), [*doubts, CRITERIA_TOGETHER]
    return table, doubts


def _with_noise(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A mean and the variance of its noise for each judge, system and condition."""
    if not table.duplicated(["where", "judge", "system"]).any():
        return _by_runs(table)
    rows, apart = [], False
    for (where, system), part in table.groupby(["where", "system"], observed=True):
        wide = part.pivot(index="judge", columns="item", values="mean")
        y, whole = wide.to_numpy(float), bool(wide.notna().all().all()) and min(wide.shape) > 1
        apart |= not whole and len(wide) > 1
        count = np.isfinite(y).sum(axis=1)
        mean = np.nansum(y, axis=1) / count
        if whole:  # what an item gives all judges alike is quality, not noise
            rest = y - mean[:, None] - y.mean(axis=0) + y.mean()
            spread = np.full(len(y), (rest**2).sum() / ((y.shape[0] - 1) * (y.shape[1] - 1)))
        else:
            squares = np.nansum((y - mean[:, None]) ** 2, axis=1)
            spread = np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)
        rows.append(
            pd.DataFrame(
                {
                    "where": where,
                    "judge": wide.index,
                    "system": system,
                    "mean": mean,
                    "sd": np.sqrt(spread),
                    "runs": count,
                }
            )
        )
    found, doubts = _by_runs(pd.concat(rows, ignore_index=True))
    return found, [OTHER_ITEMS if apart else "", *doubts]


def _by_runs(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """sd² / runs; the pooled sd where an sd is zero or not known."""
    sd, runs = table["sd"].to_numpy(float), table["runs"].to_numpy(float)
    known = np.isfinite(sd) & (runs > 1)
    zero = known & (sd == 0)
    table = table[["where", "judge", "system", "mean"]]
    if not known.any() or zero[known].all():
        return table.assign(noise=0.0), [ALL_ZERO if known.any() else NO_NOISE]
    pooled = np.sqrt(((runs - 1)[known] @ sd[known] ** 2) / (runs - 1)[known].sum())
    used = np.where(known & ~zero, sd, pooled)
    doubts = [ZERO_SD if zero.any() else "", POOLED_SD if (~known).any() else ""]
    return table.assign(noise=used**2 / np.where(np.isfinite(runs), runs, 1.0)), doubts


def _own(identity: Mapping[str, str], judges: list[str], systems: list[str]) -> dict[str, str]:
    """System -> judge; a system that is not named keeps its own name."""
    found = {s: s for s in systems}
    for a, b in identity.items():
        if a in systems and b in judges:
            found[a] = b
        elif a in judges and b in systems:
            found[b] = a
        else:
            raise SchemaError(
                f"identity has {a!r}: {b!r}, which is no pair of a system and a judge. Systems: {', '.join(systems)}. "
                f"Judges: {', '.join(judges)}."
            )
    taken = [j for j in found.values() if j in judges]
    if twice := [j for j in taken if taken.count(j) > 1]:
        same = ", ".join(repr(s) for s, j in found.items() if j == twice[0])
        raise SchemaError(f"identity maps {same} to {twice[0]!r}. It must be one-to-one.")
    return found


def _reference(
    frame: Any, systems: list[str], own: Mapping[str, str], column: str | None, conditions: list[str]
) -> pd.DataFrame:
    """The reference as the scores of one more judge."""
    table = nw.from_native(frame).lazy().collect(backend="pandas").to_native()
    where = column if column is not None and column in table.columns else None
    if "judge" in table.columns:  # its people are distinguished
        people = cells(table, [where] if where else [])
        keys = [*([where] if where else []), "system"]
        each = people.groupby([*keys, "judge"], as_index=False, observed=True)["mean"].mean()
        table = each.groupby(keys, as_index=False, observed=True)["mean"].agg(mean="mean", sd="std", runs="count")
    if lacking := [c for c in ("system", "mean", "sd", "runs") if c not in table.columns]:
        raise SchemaError(
            f"reference= lacks {lacking[0]!r}. Give system, mean, sd and runs (the number of people behind each mean), "
            "or the ratings of the people, with judge, system and score."
        )
    called = {j: s for s, j in own.items()}
    names = [s if s in systems else called.get(s, "") for s in table["system"].astype(str)]
    if unknown := [s for s, n in zip(table["system"].astype(str), names, strict=True) if not n]:
        raise DesignError(f"reference= has {unknown[0]!r}, which is no system. Systems: {', '.join(systems)}.")
    sd, runs = table["sd"].to_numpy(float), table["runs"].to_numpy(float)
    if not ((sd > 0) & (runs >= 2)).all():
        raise SchemaError("reference= has an sd that is not above 0, or fewer than 2 people behind a mean.")
    at = table[where].astype(str).to_numpy() if where else np.full(len(table), "\x00")
    if where and not set(at) <= set(conditions):
        raise DesignError(f"reference= has other values of {where!r} than the ratings: {', '.join(sorted(set(at)))}.")
    means = {"where": at, "judge": REFERENCE, "system": names, "mean": table["mean"].to_numpy(float)}
    return pd.DataFrame({**means, "noise": sd**2 / runs, "own": False})


# ---- Estimates of :func:`judgestats.models.hierarchical.severity`, row by row ----------------------------------------

Floats = NDArray[np.float64]


class Rows:
    """The estimates."""

    def __init__(self, data: Panel, made: Draws, conf_level: float, doubts: list[str]) -> None:
        self.data, self.made, self.level, self.doubts = data, made, conf_level, doubts
        self.tail = (1 - conf_level) / 2
        self.chains = bool(np.isnan(made.pareto_k))

    def _row(self, term: str, values: Floats, n: float, flag: str = "", **more: str) -> dict[str, Any]:
        told = flags(*self.doubts, flag, *weight_flags(self.made))
        keys = {"condition": "", "judge": "", "system": "", **more}
        made = row(
            term,
            values,
            conf_level=self.level,
            n=n,
            method=self.made.method,
            flag=told,
            chains=np.isnan(self.made.pareto_k),
            draws=self.made,
            **keys,
        )
        return {**made, "probability": float((values > 0).mean())}

    def _scores(self, **where: int) -> int:
        """Scores with these codes."""
        return int(np.logical_and.reduce([getattr(self.data, k) == v for k, v in where.items()]).sum())

    def severities(self) -> list[dict[str, Any]]:
        """By condition and judge."""
        rows = []
        for term in ("severity", "severity_to_reference"):
            if term not in self.made.values:
                continue
            for c, where in enumerate(self.data.conditions):
                for j, judge in enumerate(self.made.labels[term][1]):
                    n = self._scores(condition=c, judge=j)
                    flag = ONE_SCORE if n == 1 else "no data" if n == 0 else ""
                    rows.append(
                        self._row(term, self.made.values[term][..., c, j], n, flag, condition=where, judge=judge)
                    )
        return rows

    def qualities(self) -> list[dict[str, Any]]:
        """By condition and system."""
        rows = []
        for c, where in enumerate(self.data.conditions):
            for s, system in enumerate(self.data.systems):
                n = self._scores(condition=c, system=s)
                flag = ONE_SCORE if n == 1 else "no data" if n == 0 else ""
                rows.append(
                    self._row(
                        "quality", self.made.values["quality"][..., c, s], n, flag, condition=where, system=system
                    )
                )
        return rows

    def selves(self) -> list[dict[str, Any]]:
        """Self-preference and excess by condition and judge, and the mean over judges to come."""
        if "self_preference" not in self.made.values:
            return []
        rows, who = [], self.made.labels["self_preference"][1]
        few = FEW_OWN if len(who) < 3 else ""
        for term in ("self_preference", "own_excess"):
            for c, where in enumerate(self.data.conditions):
                for j, judge in enumerate(who):
                    n = self._scores(condition=c, judge=self.data.judges.index(judge), own=1)
                    told = "no data" if n == 0 else few
                    rows.append(
                        self._row(term, self.made.values[term][..., c, j], n, told, condition=where, judge=judge)
                    )
        for c, where in enumerate(self.data.conditions):
            value = self.made.values["mean_self_preference"][..., c]
            rows.append(self._row("mean_self_preference", value, len(who), few, condition=where))
        return rows

    def attenuations(self, base: int, against: int) -> list[dict[str, Any]]:
        """Per judge and on average."""
        if "self_preference" not in self.made.values:
            return []
        rows, who = [], self.made.labels["self_preference"][1]
        for source, term, ratio in (
            ("self_preference", "attenuation", "attenuation_ratio"),
            ("own_excess", "excess_attenuation", "excess_ratio"),
        ):
            a, b = (self.made.values[source][..., c, :] for c in (base, against))
            change = np.abs(a) - np.abs(b)
            rows += [self._row(term, change[..., j], 1, judge=judge) for j, judge in enumerate(who)]
            rows += [self._ratio(ratio, a[..., j], b[..., j], judge) for j, judge in enumerate(who)]
            rows.append(self._row(f"mean_{term}", change.mean(axis=-1), len(who)))
        return rows

    def _ratio(self, term: str, a: Floats, b: Floats, judge: str) -> dict[str, Any]:
        value = np.abs(b) / np.abs(a)
        low, high = np.quantile(a, [self.tail, 1 - self.tail])
        found = self._row(term, value, 1, UNBOUNDED if low <= 0 <= high else "", judge=judge)
        return {
            **found,
            "estimate": float(np.median(value)),
            "std_error": np.nan,
            "probability": float((value < 1).mean()),
        }

    def spreads(self, priors: Mapping[str, Prior]) -> list[dict[str, Any]]:
        """The sds."""
        rows = []
        for name in self.data.sds:
            values = self.made.values[name]
            flag = PRIOR_DRIVEN if priors[name].decides(values) else ""
            rows.append({**self._row(f"sd_{name}", values, len(self.data.y), flag), "probability": np.nan})
        return rows


# ---- How severe is each judge, how good each system, and who favours itself: :func:`severity` ------------------------

SPELLED = (("attributed", "anonymized"), ("attributed", "anonymised"))


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
    baseline, blinded : str, optional
        Conditions whose self-preference is compared; by default ``attributed`` and ``anonymized``. Conditions of other
        names are not compared until they are named here: there is then no ``attenuation``, and ``check()`` says so.
    overall_criterion : str or None
        Criterion that holds a final score; without it criteria are averaged, with the mean of their sds.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`judgestats.score_matrix`.
    priors : mapping, optional
        Name in ``.priors`` -> scale of a (half-)normal, or (scale, df) of a half-t.
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`. ``draws * chains`` are kept.
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
        ``mean_self_preference``, ``sd_*``; per judge ``attenuation`` = |self-preference in `baseline`| - |in
        `blinded`| and ``attenuation_ratio`` = |against| / |base| (posterior median, no std_error), the same of the
        excess (``excess_attenuation``, ``excess_ratio``), and ``mean_attenuation``, ``mean_excess_attenuation``.
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
    0 in its interval is flagged ``interval of the denominator includes 0``.

    Given the sds all effects are normal, so only the sds are drawn, from their marginal posterior, and effects given
    them, exactly. The cost grows with the cube of the number of cells: a few hundred are no trouble.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 3.5, 4.3 and 4.4.

    Examples
    --------
    >>> from judgestats.published.paper_tables import panel, scores  # doctest: +SKIP
    >>> severity(scores(), reference=panel())  # doctest: +SKIP
    """
    confidence(conf_level)
    ratings, reference = as_runs(ratings, average_over), reference_as_runs(reference, average_over)
    data, doubts = panel(ratings, identity, reference, condition, overall_criterion)
    pair = _compared(data, baseline, blinded)
    chosen = _priors(data, priors or {})
    options = sampling_options(sampling)
    seed, size = options["seed"], options["draws"] * options["chains"]
    sds = None if sampled else posterior(data, chosen, draws=size, seed=seed)
    if sds is None or (sampled is None and sds.pareto_k > MOST_PARETO):
        labels = dict.fromkeys(data.sds, ())
        sds = sample(model(data, chosen), labels, **options)
    found = effects(data, chosen, sds, seed)
    made = _derived(data, found, weighed(data, chosen, sds, found))
    rows = Rows(data, made, conf_level, doubts)
    table = [*rows.severities(), *rows.qualities(), *rows.selves(), *(rows.attenuations(*pair) if pair else [])]
    table += rows.spreads(chosen)
    again = replicated(data, found, sds, seed)
    inside = predictive("mean scores", data.y, again)
    question = f"How severe are {len(data.judges) - data.reference} judges, and do they favour themselves?"
    told = {n: ((str(chosen[n]) if n in FIXED else f"sd: {chosen[n]}"), EFFECTS[n][1]) for n in data.groups}
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
    cure = (
        f"Name two of them: baseline= (names shown), blinded= (names hidden). Conditions: {', '.join(data.conditions)}."
    )
    return [finding("conditions", float(len(data.conditions)), NO_COMPARISON, cure)]


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
