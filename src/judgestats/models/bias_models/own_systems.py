"""Self-preference of judges adjusted for the quality of the responses: :func:`self_preference`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.cells import cells
from judgestats.counting.patterns import TiesOfPositions
from judgestats.counting.splitting import as_runs
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, FitError, suggestion
from judgestats.models.bias_models.calls import Excluded, ModelCalls, excluded_calls, recount, require, slotted
from judgestats.models.bias_models.effect_rows import (
    ALL,
    effect_row,
    linear,
    points_row,
    ratio_row,
    spread_row,
    spread_rows,
)
from judgestats.models.bias_models.model_comparisons import by_rule, comparisons, likelihood_ratio, student, wald
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.bias_models.tastes import TasteModel, with_tastes
from judgestats.models.coding.factor_levels import labels
from judgestats.models.coding.model_frames import columns
from judgestats.models.estimation import fit
from judgestats.models.families import FamilyName
from judgestats.models.fits import Fit
from judgestats.models.links import LINKS
from judgestats.models.postestimation.delta_method import normal_quantile
from judgestats.results import estimates
from judgestats.schema.columns import By
from judgestats.typing import Floats, Record

#: Largest number of systems with an effect for each.
MOST_SYSTEMS = 40
OWN = "own"
WITH, WITHOUT = "with system:item", "without system:item"
_SPREADS = {
    "pair": "sd(system:item)",
    "judge:pair": "sd(judge:system:item)",
    "system:item": "sd(system:item)",
    "item": "sd(item)",
    "judge:item": "sd(judge:item)",
    "judge:system": "sd(judge:system)",
}


@checked_arguments
def self_preference(
    data: IntoFrame,
    *,
    identity: Mapping[str, str] | None = None,
    family: Mapping[str, str] | None = None,
    ties: TiesOfPositions = "half",
    without_worth: bool = False,
    average_over: By = (),
    conf_level: float = CONF_LEVEL,
) -> VerdictModel:
    """Effect of a response being the judge's own, beyond how good that very response is.

    Parameters
    ----------
    data : frame
        Preferences (candidates are systems) or ratings. Rows may carry a count ``n``.
    identity : mapping of str to str, optional
        System -> the same model as a judge; by default the judge with the same name.
    family : mapping of str to str, optional
        Name -> family, of judges and systems (preferences may have ``family_first`` and ``family_second`` instead):
        responses of the judge's family then count as its own.
    ties : {'half', 'drop'}
        Preferences: a tie is half a vote for each candidate, or excluded.
    without_worth : bool
        Preferences: whether the model without the quality of each response, ``without system:item``, is shown too. It
        is biased towards 0, and flagged.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`judgestats.score_matrix`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    VerdictModel
        ``table``: ``own`` for all judges and for each, from the model (column ``model``) ``with system:item`` and, for
        ratings or on request, ``without system:item``; in log-odds, odds ratio and percentage points of choosing the
        own response (preferences) or points of the scale (ratings); and the standard deviations of the random effects.
        ``tests``: whether there is a self-preference (t), whether judges differ in it (F), and whether there is a
        system-by-item effect. An effect that cannot be separated from the quality of the systems and the judges' tastes
        is NaN, flagged.

    Raises
    ------
    DesignError
        If no judge judges its own, or if its own cannot be separated from tastes: two judges that are the two systems.

    See Also
    --------
    judgestats.preference_gap : Preference beyond that of people.
    judgestats.consensus_deviation : Distance from the other judges.
    judgestats.hierarchical.severity : Bayesian severity and self-preference.

    Notes
    -----
    Preferences: ``chosen first ~ judge + systems + own + (0 + order|pair)``: a slot bias for each judge; a quality for
    each system, entering as the difference of the two shown (Bradley-Terry); own, 1 if only the first candidate is the
    judge's own and -1 if only the second is; and the difference in quality of this pair of responses on this item,
    common to all judges. ``(0 + order|judge:pair)`` is added if a judge sees a pair more than once.
    Ratings, averaged over runs and criteria: ``score ~ judge + system + own + (1|judge:system) + (1|item) +
    (1|judge:item) + (1|system:item)``, Gaussian, by restricted likelihood.
    ``(1|judge:system)`` is the taste of a judge for a system, of which its own is one: a self-preference is what its
    own system has beyond tastes. Intervals and tests use t and F with as many degrees of freedom as the fixed effects
    leave of the judge-by-system cells: (J - 1)² - 1 for J judges that are the J systems, J² - 3J + 1 of each judge's
    effect. Without it, tastes count as self-preference: in 400 simulations without a self-preference (5 judges that are
    the 5 systems, 30 items, sd of tastes 0.3, residual 0.7), 33 % of the intervals (95 %) excluded 0; with it, 4 %.
    Preferences have the same tastes, as the difference of the two for the candidates shown. They are added to the fit
    by restricted likelihood, its other random effects integrated out (penalised quasi-likelihood). ``fits`` are those
    without tastes. With more than 40 systems there are no tastes, and z.
    There is no ``cluster=``: the model has random effects for what calls share, the pair (preferences) or the item and
    the response (ratings). Pairs of one item share the quality of a response, and items of one task that of a system,
    and count as independent: the intervals (95 %) of ``own`` nevertheless covered .97 in both cases (five judges that
    are the five systems, 40 items of four pairs: 100 simulations, mean standard error 0.162 where 0.155 is correct;
    with eight tasks, 60 simulations, 0.174 and 0.166). A self-preference that differs from task to task is not
    modelled: the intervals are about these tasks.
    The system-by-item effect is necessary. Preferences, 40 simulations (5 judges that are the 5 systems, 40 items, true
    log-odds 0.80, sd of response quality 1.5): the mean estimate is 0.78 with it and 0.47 without; 36 and 0 of the 40
    intervals (95 %) include the true value. Percentage points are averages over responses and hardly differ (11.2 and
    11.3). Ratings, 100 simulations (4 judges that are the 4 systems, 40 items, every judge rates every response, sd of
    response quality 1.0, residual 0.5): the estimate is the same, but without the effect the quality of the responses
    counts as noise: the standard error is 0.091, and 0.049 with it, where 0.046 is correct.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> rows = [(j, s, i) for i in range(30) for j in "abc" for s in "abc"]
    >>> scores = pd.DataFrame(rows, columns=["judge", "system", "item"])
    >>> worth = {(s, i): rng.normal() for s in "abc" for i in range(30)}
    >>> scores["score"] = [5 + worth[s, i] + (j == s) + rng.normal() / 2 for j, s, i in rows]
    >>> own = self_preference(scores)
    >>> own.table.loc[own.table["term"] == "own", ["judge", "model", "estimate", "std_error"]].tail(2).round(2)
             judge                model  estimate  std_error
    6   all judges     with system:item      0.91       0.07
    11  all judges  without system:item      0.91       0.12
    """
    data = as_runs(data, average_over)
    present = columns(data)
    if "score" in present or "mean" in present:
        spec = _rating_specification(data, identity, family)
    else:
        spec = _preference_specification(data, present, identity, family, ties, without_worth)
    table = spec.calls.table
    judges = sorted(set(table["judge"]))
    if not (table["own"] != 0).any():
        raise DesignError(
            "self_preference: no judge judges its own system. Give identity={system: judge} or family={name: family}. "
            f"Judges: {', '.join(judges)}; systems: {', '.join(spec.systems[:12])}."
        )
    own = {j: f"own{k}" for k, j in enumerate(j for j in judges if (table["own"][table["judge"] == j] != 0).any())}
    for j, name in own.items():
        table[name] = table["own"] * (table["judge"] == j)
    rows, tests, fits = _compared_models(spec, own, conf_level)
    for j in judges:
        if j not in own:
            gone = {"judge": j, "term": OWN, "estimate": math.nan}
            gone["flag"] = flags.join(flags.NO_DATA, flags.JUDGES_NO_OWN)
            rows += [{**gone, "model": m, "n": float(table["n"][table["judge"] == j].sum())} for m in spec.models]
    for row in rows:
        row["flag"] = flags.join(row["flag"], spec.note, spec.calls.flag(None if row["judge"] == ALL else row["judge"]))
    frame = estimates(rows, ["judge", "model"], ["scale"], sort=False)
    order = {j: k for k, j in enumerate([*judges, ALL])}
    frame = frame.sort_values("judge", key=lambda c: c.map(order), kind="stable", ignore_index=True)
    return VerdictModel("Self-preference", fits, frame, comparisons(tests))


@dataclass(frozen=True)
class _Specification:
    calls: ModelCalls
    systems: Sequence[str]
    response: str
    fixed: str
    common_random: str  # random terms of both models
    quality: str  # system-by-item effect
    family: FamilyName
    differences: Sequence[str] = ()  # columns of a difference of two systems, but for the first
    note: str = ""
    models: Sequence[str] = (WITH, WITHOUT)  # shown

    @property
    def of_ratings(self) -> bool:
        """Whether systems are rated, not compared."""
        return self.family == "gaussian"

    def main(self, table: pd.DataFrame) -> Floats:
        """Effects (N, p) of judges and systems in the rows of a table."""
        if not self.of_ratings:
            return np.column_stack([_indicators(table["judge"]), table[list(self.differences)]])
        systems = [_indicators(table["system"])] if len(self.systems) <= MOST_SYSTEMS else []
        return np.column_stack([_indicators(table["judge"]), *systems])

    def tastes(self, table: pd.DataFrame) -> Floats:
        """Effects (N, q) of each judge and system."""
        if self.of_ratings:
            return _indicators(table.groupby(["judge", "system"]).ngroup())
        signed = table[list(self.differences)].to_numpy(dtype=float)
        signed = np.column_stack([-signed.sum(axis=1), signed])
        return np.reshape(_indicators(table["judge"])[:, :, None] * signed[:, None, :], (len(table), -1))

    def taste_df(self, own: Sequence[str]) -> float:
        """Degrees of freedom of tastes: what the fixed effects and these of own systems leave of judges by systems."""
        if not (self.of_ratings or self.differences):
            return math.inf
        table = self.calls.table
        fixed = np.column_stack([self.main(table), table[list(own)]])
        both = np.column_stack([fixed, self.tastes(table)])
        whole, part = (int(np.linalg.matrix_rank(Z.T @ Z, hermitian=True)) for Z in (both, fixed))
        return float(whole - part)


def _is_own(
    judges: Sequence[str], systems: Sequence[str], identity: Mapping[str, str] | None, family: Mapping[str, str] | None
) -> dict[tuple[str, str], bool]:
    """(judge, system) -> whether it is its own."""
    identity = {str(k): str(v) for k, v in (identity or {}).items()}
    for name in identity:
        if name not in systems:
            raise DesignError(
                f"identity= names {name!r}, which is not a system. Systems: {', '.join(systems[:12])}."
                f"{suggestion(name, systems)}"
            )
    as_judge = {s: identity.get(s, s) for s in systems}
    if family is None:
        return {(j, s): as_judge[s] == j for j in judges for s in systems}
    families = {str(k): str(v) for k, v in family.items() if not pd.isna(v)}
    lacking = [n for n in judges if n not in families] + [
        s for s in systems if s not in families and as_judge[s] not in families
    ]
    if lacking:
        raise DesignError(f"family= does not name {lacking[0]!r}.{suggestion(lacking[0], families)} Give it a family.")
    return {(j, s): families[j] == families.get(s, families.get(as_judge[s], "")) for j in judges for s in systems}


def _preference_specification(
    data: IntoFrame,
    present: Sequence[str],
    identity: Mapping[str, str] | None,
    family: Mapping[str, str] | None,
    ties: TiesOfPositions,
    without_worth: bool,
) -> _Specification:
    if ties == "model":
        raise DesignError("ties='model' is not possible here. Allowed: 'half', 'drop'.")
    beside = [c for c in ("family_first", "family_second") if c in present] if family is not None else []
    beside = beside if len(beside) == 2 else []
    calls = slotted(data, ["judge", *beside], "self_preference", (), ties)
    table = calls.table
    table["judge"] = labels(table["judge"]).astype(str)
    judges = sorted(set(table["judge"]))
    systems = sorted({*table["first"], *table["second"]})
    if beside and family is not None:
        theirs = table["judge"].map({str(k): str(v) for k, v in family.items()})
        first, second = (table[c].astype(str) == theirs for c in beside)
    else:
        own = _is_own(judges, systems, identity, family)
        first, second = (
            pd.Series([own[key] for key in zip(table["judge"], table[c], strict=True)]) for c in ("first", "second")
        )
    table["own"] = first.to_numpy(dtype=float) - second.to_numpy(dtype=float)
    differences = [f"q{k}" for k in range(1, len(systems))] if len(systems) <= MOST_SYSTEMS else []
    for name, system in zip(differences, systems[1:], strict=False):
        table[name] = (table["first"] == system).astype(float) - (table["second"] == system).astype(float)
    table = recount(table.drop(columns=["first", "second", *beside]))
    seen = table[["judge", "pair"]].drop_duplicates()
    fixed = f"1{' + judge' if len(judges) > 1 else ''}" + "".join(f" + {d}" for d in differences)
    again = table["n"].sum() > 1.5 * len(seen) and len(judges) > 1
    shared = table["n"].sum() > 1.1 * seen["pair"].nunique() and seen["pair"].nunique() > 1
    random = " + (0 + order|judge:pair)" if again else "", " + (0 + order|pair)" if shared else ""
    note = "" if differences else flags.NO_SYSTEM_EFFECTS.of(most=MOST_SYSTEMS)
    models = (WITH, WITHOUT) if without_worth else (WITH,)
    counted = ModelCalls(table, calls.excluded)
    return _Specification(counted, systems, "chosen", fixed, *random, "binomial", differences, note, models)


def _indicators(labels: pd.Series) -> Floats:
    """(N, levels) whether a row has a label."""
    return np.asarray(pd.get_dummies(labels), np.float64)


def _rating_specification(
    data: IntoFrame, identity: Mapping[str, str] | None, family: Mapping[str, str] | None
) -> _Specification:
    require(columns(data), ["judge", "system", "item"], "self_preference")
    table = cells(data)
    missing = table["n_missing"].to_numpy(dtype=float)
    lost: Excluded = excluded_calls("missing scores excluded", table["judge"], missing, missing > 0)
    table = table[table["mean"].notna()]
    for name in ("judge", "system", "item"):
        table = table.assign(**{name: labels(table[name]).astype(str)})
    # a row for each judge, system and item: the mean of its criteria
    table = table.groupby(["judge", "system", "item"], as_index=False, sort=True)["mean"].mean()
    table = table.rename(columns={"mean": "score"}).assign(n=1.0)
    judges, systems = sorted(set(table["judge"])), sorted(set(table["system"]))
    own = _is_own(judges, systems, identity, family)
    table["own"] = [float(own[key]) for key in zip(table["judge"], table["system"], strict=True)]
    N = len(table)
    fixed = "1" + " + judge" * (len(judges) > 1) + " + system" * (1 < len(systems) <= MOST_SYSTEMS)
    items = table["item"].nunique()
    common_random = " + (1|item)" * (1 < items < N) + " + (1|judge:item)" * (
        len(table[["judge", "item"]].drop_duplicates()) < N / 1.5
    )
    quality = " + (1|system:item)" * (len(table[["system", "item"]].drop_duplicates()) < N / 1.1)
    rated_cells = len(table[["judge", "system"]].drop_duplicates())
    common_random += " + (1|judge:system)" * (rated_cells < N / 1.1)
    note = flags.NO_SYSTEM_EFFECTS.of(most=MOST_SYSTEMS) if len(systems) > MOST_SYSTEMS else ""
    calls = ModelCalls(table, (lost,))
    return _Specification(calls, systems, "score", fixed, common_random, quality, "gaussian", note=note)


def _compared_models(
    spec: _Specification, own: Mapping[str, str], conf_level: float
) -> tuple[list[Record], list[Record], dict[str, Fit]]:
    """Models with and without the system-by-item effect, the own effect common or by judge."""
    rows: list[Record] = []
    tests: list[Record] = []
    fits: dict[str, Fit] = {}
    df, df_each = (spec.taste_df(names) for names in ([OWN], list(own.values())))
    if df < 1:
        raise DesignError(
            "self_preference: a preference for one's own cannot be separated from a judge's taste for a system. The "
            f"effects of {spec.calls.table['judge'].nunique()} judges, of {len(spec.systems)} systems and of one's own "
            "leave nothing of the table of judges by systems. Have a third judge, or a system that is no judge's own."
        )
    no_estimate = {"judge": ALL, "term": OWN, "estimate": math.nan, "n": float(spec.calls.table["n"].sum())}
    for model, quality in zip(spec.models, (spec.quality, ""), strict=False):
        if model == WITH and not quality:
            rows.append({**no_estimate, "model": model, "flag": flags.join(flags.NO_DATA, flags.JUDGED_ONCE)})
            continue
        random = f"{spec.common_random}{quality}"
        by_judge = len(own) > 1 and df_each >= 1
        try:
            common = _own_fit(spec, f" + {OWN}", random)
            each = _own_fit(spec, f" + {' + '.join(own.values())}", random) if by_judge else common
        except (DesignError, FitError) as error:
            rows.append({**no_estimate, "model": model, "flag": flags.NOT_FITTED.of(reason=error)})
            continue
        fits |= {f"{model}, all judges": common} | ({f"{model}, by judge": each} if by_judge else {})
        common_tastes = _with_tastes(spec, common)
        each_tastes = _with_tastes(spec, each) if by_judge else common_tastes
        biased = flags.UNMODELLED_QUALITY if model == WITHOUT and spec.quality and spec.response == "chosen" else None
        of_all = _own_rows(common_tastes, OWN, conf_level, df)
        rows += [{**r, "judge": ALL, "model": model, "flag": flags.join(biased, r["flag"])} for r in of_all]
        spreads = [*spread_rows(common_tastes.fit, _SPREADS, conf_level), *_taste_rows(common_tastes, conf_level)]
        rows += [{**r, "judge": ALL, "model": model} for r in spreads]
        compared = [student(of_all[0], df, "own responses are favoured", f"own against none, {model}")]
        for judge, name in own.items() if len(own) > 1 else ():
            rows += [
                {**r, "judge": judge, "model": model, "flag": flags.join(biased, r["flag"])}
                for r in _own_rows(each_tastes, name, conf_level, df_each)
            ]
        if by_judge and set(own.values()) <= set(each.names):
            first, *others = own.values()
            C = np.array([linear(each, {name: 1.0, first: -1.0}) for name in others])
            compared.append(wald(each_tastes.fit, C, "judges differ", f"own by judge against common, {model}", df_each))
        tests += [{**t, "flag": flags.join(biased, t["flag"])} for t in compared]
    if (whole := fits.get(f"{WITH}, all judges")) is not None:
        try:
            bare = fits.get(f"{WITHOUT}, all judges") or _own_fit(spec, f" + {OWN}", spec.common_random)
        except (DesignError, FitError):
            return rows, tests, fits
        compared_models = f"{WITH} against {WITHOUT}"
        tests.append(likelihood_ratio(bare, whole, "responses differ in worth", compared_models, variance=True))
    return rows, tests, fits


def _own_fit(spec: _Specification, own: str, random: str) -> Fit:
    """Fit, with Laplace's approximation if the model with all random terms needs it."""
    rule = by_rule((spec.common_random + spec.quality).count("|"))
    formula = f"{spec.response} ~ {spec.fixed}{own}{random}"
    return fit(formula, spec.calls.table, counts="n", n_quadrature=rule, family=spec.family, reml=spec.of_ratings)


def _with_tastes(spec: _Specification, model: Fit) -> TasteModel:
    """A fit with tastes: of ratings it has them already."""
    if not spec.differences:
        return TasteModel(model)
    return with_tastes(model, spec.tastes(model.design.frame))


def _taste_rows(model: TasteModel, conf_level: float) -> list[Record]:
    """The sd of the tastes in preferences."""
    if math.isnan(model.sd):
        return []
    flag = flags.SINGULAR if model.sd == 0 else ""
    error = model.sd * model.log_error
    return [spread_row(model.fit, _SPREADS["judge:system"], model.sd, error, normal_quantile(conf_level), flag)]


def _own_rows(tasted: TasteModel, name: str, conf_level: float, df: float) -> list[Record]:
    """Rows of an own effect, t with `df`; NaN if it is a linear combination of other effects."""
    model = tasted.fit
    if name not in model.names or any(n.startswith(OWN) for n in model.design.fixed.aliased):
        no_estimate = {"term": OWN, "estimate": math.nan, "std_error": math.nan, "n": model.n}
        return [{**no_estimate, "flag": flags.CONFOUNDED}]
    scale = LINKS[model.link].unit
    row = effect_row(model, linear(model, {name: 1.0}), OWN, conf_level, scale, df)
    if model.distribution.linear:
        return [row]
    # own response first against none, between systems of equal quality, for each judge's slot bias, over tastes
    X = model.design.X.copy()
    slots = [k for k, n in enumerate(model.names[: model.n_fixed]) if n == "Intercept" or n.startswith("judge[")]
    base = np.zeros_like(X)
    base[:, slots] = X[:, slots]
    base = np.unique(base, axis=0)
    there = base.copy()
    there[:, model.names.index(name)] = 1.0
    variance = 0.0 if math.isnan(tasted.sd) else 2 * tasted.sd**2
    points = points_row(model, there, base, OWN, conf_level, df if math.isfinite(df) else None, variance)
    return [row, ratio_row(row), points]
