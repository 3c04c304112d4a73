"""Difficulty of items and ability of judges: :func:`item_difficulty`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.patterns import InvalidVerdict, TiesOfVerdicts
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose
from judgestats.models.bias_models.calls import as_category, joined, ordered_labels, recount, scored
from judgestats.models.bias_models.effect_rows import ENDLESS, VAGUE, fit_flags, spread_rows, wald_row
from judgestats.models.bias_models.model_comparisons import by_rule, comparisons, likelihood_ratio
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.models.postestimation.delta_method import normal_quantile
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Record

#: Items and judges with fewer calls are flagged.
FEW_HERE = 5
_SPREADS = {"item": "sd(item)", "judge": "sd(judge)"}


@checked_arguments
def item_difficulty(
    data: IntoFrame,
    *,
    outcome: str = "correct",
    item: By = "item",
    judge: str = "judge",
    items: Literal["random", "fixed"] = "random",
    judges: Literal["random", "fixed"] = "random",
    ties: TiesOfVerdicts = "exact",
    invalid: InvalidVerdict = "drop",
    conf_level: float = CONF_LEVEL,
) -> VerdictModel:
    """Difficulty of items and ability of judges on one scale: a Rasch model with random or fixed facets.

    Parameters
    ----------
    data : frame
        Calls with a column `outcome` of 0 and 1, or preferences with a column ``gold``. Rows may carry a count ``n``.
    outcome, judge : str
        Columns.
    item : str or sequence of str
        Column, or columns, of what is judged.
    items, judges : {'random', 'fixed'}
        Random: normally distributed, with estimates shrunk to the mean, more so with few calls. Fixed: estimated
        separately; levels that are always right or always wrong have no estimate, and are left out of the fit.
    ties : {'exact', 'drop'}
        Whether a tie is wrong or excluded if the gold is a candidate.
    invalid : {'drop', 'wrong'}
        Whether an invalid call is excluded or wrong.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    VerdictModel
        ``table``: columns ``facet`` and ``level``; for each item ``difficulty``, the log-odds that the average judge is
        wrong on it; for each judge ``ability``, the log-odds that it is right on the average item; ``share``, the raw
        share of correct calls. Then the standard deviations of random facets (``level`` empty). Flags: fewer than 5
        calls; always right, always wrong. ``tests``: whether items, and judges, differ.

    Raises
    ------
    DesignError
        If a column is missing, or there are fewer than two items.

    See Also
    --------
    judgestats.fit : Models of verdicts and scores.
    judgestats.variance_components : Variance by judge, system and item.

    Notes
    -----
    ``correct ~ 1 + (1|item) + (1|judge)``; a fixed facet enters as a factor with sum-to-zero coding. Intervals of
    random levels are conditional on the variances, and include the uncertainty of the mean. Items and judges both
    fixed is joint maximum likelihood of the Rasch model: with J judges and many items, differences of abilities are
    overestimated by a factor of about J/(J - 1) (Andersen 1973). Random items or random judges avoid this bias.

    Examples
    --------
    >>> import pandas as pd
    >>> right = {"1": [1, 1, 1, 1, 1, 0], "2": [1, 1, 0, 1, 0, 1], "3": [0, 0, 1, 0, 0, 0]}
    >>> calls = pd.DataFrame([(f"j{k}", i, y) for i, ys in right.items() for k, y in enumerate(ys)],
    ...                      columns=["judge", "item", "correct"])
    >>> hard = item_difficulty(calls)
    >>> hard.table.loc[hard.table["facet"] == "item", ["level", "estimate", "share", "n"]].head(3).round(2)
      level  estimate  share    n
    0     1     -0.92   0.83  6.0
    1     2     -0.50   0.67  6.0
    2     3      0.68   0.17  6.0
    """
    kinds = {
        "item": choose(items, ("random", "fixed"), "items"),
        "judge": choose(judges, ("random", "fixed"), "judges"),
    }
    calls = scored(data, outcome, [judge, *names(item)], judge, "item_difficulty", ties, invalid)
    table = pd.DataFrame({"item": joined(calls.table, names(item)), "judge": joined(calls.table, [judge])})
    table = recount(table.assign(correct=calls.table["correct"], n=calls.table["n"]))
    facets = {f: ordered_labels(table[f]) for f in ("item", "judge")}
    if len(facets["item"]) < 2:
        raise DesignError("item_difficulty needs two items or more. Check item=.")
    facets = {f: v for f, v in facets.items() if len(v) > 1}
    used = _without_extremes(table, [f for f in facets if kinds[f] == "fixed"])
    facets = {f: ordered_labels(used[f]) for f in facets}
    if not all(len(v) > 1 for v in facets.values()):
        raise DesignError(
            "item_difficulty: all levels of a fixed facet except one are always right or always wrong. Use 'random'."
        )
    for f, v in facets.items():
        if kinds[f] == "fixed":
            used[f] = as_category(used[f], v)
    whole = _rasch_fit(facets, kinds, used)
    rows = [r for f in facets for r in _level_rows(whole, table, f, facets, kinds, conf_level)]
    rows += [{**r, "facet": r["term"][3:-1], "level": ""} for r in spread_rows(whole, _SPREADS, conf_level)]
    tests, fits = [], {"all": whole}
    for f in facets:
        rest = {g: v for g, v in facets.items() if g != f}
        less = fits[f"without {f}"] = _rasch_fit(rest, kinds, used, len(whole.design.terms))
        random = kinds[f] == "random"
        tests.append(likelihood_ratio(less, whole, f"{f}s differ", f"with {f} against without", variance=random))
    for row in rows:
        row["flag"] = flags.join(
            row["flag"], calls.flag(row["level"]) if row["facet"] == "judge" and row["level"] else None
        )
    frame = estimates(rows, ["facet", "level"], ["share", "scale"], sort=False)
    return VerdictModel("Difficulty of items and ability of judges", fits, frame, comparisons(tests))


def _without_extremes(table: pd.DataFrame, fixed: Sequence[str]) -> pd.DataFrame:
    """Drop levels of fixed facets that are always right or always wrong, until all vary."""
    used = table
    while True:
        varying = np.ones(len(used), bool)
        for f in fixed:
            right = (used["n"] * used["correct"]).groupby(used[f]).transform("sum")
            varying &= ((right > 0) & (right < used["n"].groupby(used[f]).transform("sum"))).to_numpy()
        if varying.all():
            return used.reset_index(drop=True)
        used = used[varying]


def _rasch_fit(facets: dict[str, tuple[str, ...]], kinds: dict[str, str], table: pd.DataFrame, terms: int = 0) -> Fit:
    """Fit, with Laplace's approximation if a model to be compared has so many random terms that it needs it."""
    fixed = "".join(f" + C({f}, Sum)" for f in facets if kinds[f] == "fixed")
    random = "".join(f" + (1|{f})" for f in facets if kinds[f] == "random")
    rule = by_rule(max(terms, random.count("|")))
    return fit(f"correct ~ 1{fixed}{random}", table, counts="n", n_quadrature=rule)


def _level_rows(
    whole: Fit,
    table: pd.DataFrame,
    facet: str,
    facets: dict[str, tuple[str, ...]],
    kinds: dict[str, str],
    conf_level: float,
) -> list[Record]:
    """One row for each level of a facet, with the other facet at its mean."""
    fitted_levels = facets[facet]
    eta, se = _predictors(whole, facet, fitted_levels, kinds)
    sign = -1.0 if facet == "item" else 1.0
    key, levels = table[facet], ordered_labels(table[facet])
    n = table["n"].groupby(key).sum().reindex(levels).to_numpy()
    right = (table["n"] * table["correct"]).groupby(key).sum().reindex(levels).to_numpy()
    place = pd.Index(fitted_levels).get_indexer(list(levels))
    z, rows = normal_quantile(conf_level), []
    for k, level in enumerate(levels):
        extreme = (
            flags.ALWAYS.of(what="right")
            if right[k] == n[k]
            else flags.ALWAYS.of(what="wrong")
            if right[k] == 0
            else None
        )
        few = flags.FEW_CALLS_HERE if n[k] < FEW_HERE else None
        value, error = (sign * float(eta[place[k]]), float(se[place[k]])) if place[k] >= 0 else (math.nan, math.nan)
        if abs(value) > ENDLESS or not error < VAGUE:
            value = error = math.nan
        separated = flags.SEPARATION if math.isnan(value) else None
        estimate = wald_row(whole, "difficulty" if facet == "item" else "ability", value, error, z, "log-odds")
        flag = flags.join(few, extreme, separated, fit_flags(whole, facet))
        share = float(right[k] / n[k])
        rows.append({**estimate, "facet": facet, "level": level, "n": float(n[k]), "flag": flag, "share": share})
    return rows


def _predictors(whole: Fit, facet: str, levels: Sequence[str], kinds: dict[str, str]) -> tuple[Floats, Floats]:
    """Linear predictor of each level with the other facet at its mean, and its standard error."""
    M = len(levels)
    X = np.zeros((M, whole.n_fixed))
    X[:, 0] = 1.0
    if kinds[facet] == "fixed":
        columns = next(place for term, place in whole.design.fixed.coder.terms.items() if facet in term)
        X[:, columns] = np.vstack([np.eye(M - 1), -np.ones(M - 1)])
    effects = whole.effects()
    if effects is None:
        V = whole.covariance[: whole.n_fixed, : whole.n_fixed]
        return X @ whole.beta, np.sqrt(np.einsum("mp,pq,mq->m", X, V, X))
    zs, codes, eta = [], [], X @ whole.beta
    for term, modes in zip(whole.design.terms, effects.modes, strict=True):
        same = term.factor == facet
        code = pd.Index(term.levels).get_indexer(list(levels)) if same else np.zeros(M, np.int64)
        zs.append(np.full((M, 1), float(same)))
        codes.append(code.astype(np.int64))
        eta = eta + same * modes[code, 0]
    return eta, np.sqrt(effects.variance(X, zs, codes))
