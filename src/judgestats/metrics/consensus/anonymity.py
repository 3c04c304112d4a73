"""Effect of hidden names on the deviation of judges on their own systems: :func:`blinding_effect`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Calls
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.estimate import quantile, varies
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.deviations import own_and_others, own_systems
from judgestats.metrics.consensus.linear_uncertainty import Spread, Uncertainty
from judgestats.metrics.consensus.pair_deviations import PairDeviations, pair_deviations
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.requirements import values_of
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Mask, Record


def _attenuations(data: Calls, options: MeasureOptions) -> pd.DataFrame:
    by = [c for c in options.by if c != "condition"]
    table = options.call(blinding_effect, data, identity=options.identity or None, by=by)
    return table[table["term"] == "attenuation"]


@Measure(
    "Does hiding the author shrink the deviation of judges on their own systems?",
    "consensus",
    "R",
    "Fieller, folded; the mean: delta method",
    "merchant_risk, Sec 4.3.2",
    plot="forest",
    frames=("ratings",),
    needs=(values_of("condition"),),
    take=_attenuations,
    terms=(Term("attenuation"),),
    have=("conditions",),
    assumes="The conditions differ in the name only; the deviation of the named condition is not 0.",
)
def blinding_effect(
    ratings: IntoFrame,
    *,
    condition: str = "condition",
    baseline: str = "attributed",
    blinded: str = "anonymized",
    by: By = (),
    average_over: By = (),
    identity: Mapping[str, str] | None = None,
    family: Mapping[str, str] | None = None,
    round_first: int | None = None,
    conf_level: float = CONF_LEVEL,
    cluster: Cluster = "auto",
    per_criterion: bool = False,
    overall_criterion: str | None = "final",
) -> pd.DataFrame:
    """Percentage by which the deviation of a judge on its own system shrinks between two conditions.

    ``100 (|A| - |B|) / |A|``, with A and B the judge's self-excluding consensus deviation on its own system in the
    conditions `baseline` and `blinded`.

    Parameters
    ----------
    ratings : frame
        Ratings or means of both conditions in one frame, with the column `condition`.
    condition : str
        Column of the conditions.
    baseline, blinded : str
        Its values with names shown and with names hidden.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    identity : mapping of str to str, optional
        System name -> judge name, for both conditions: ``{"Expert 1": "GPT-5.1"}``. It must be one-to-one
        within each condition.
    family : mapping of str to str, optional
        As in :func:`consensus_deviation`.
    round_first : int, optional
        Round A and B to this many decimals first, as the paper did. The interval is that of the unrounded quantity.
    conf_level : float
        Coverage of the intervals.
    cluster, per_criterion, overall_criterion
        As in :func:`consensus_deviation`.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge`` and the columns of every estimate; per judge the terms ``attenuation`` and, signed,
        ``deviation_base`` and ``deviation_against``; and, with an empty judge, ``mean_attenuation`` over the judges
        that have one. ``n`` of an attenuation is its number of own systems, of the mean the number of judges. Flags:
        ``sign changed`` (the ratio of absolute values hides it), ``base is zero`` (NaN), ``interval of the denominator
        includes 0`` (no interval).

    Raises
    ------
    SchemaError
        If a column is missing, or `identity` or `family` is not valid.
    DesignError
        If a condition has no rows.

    See Also
    --------
    consensus_deviation : Distance from the other judges.
    judgestats.hierarchical.severity : Bayesian severity and self-preference.

    Notes
    -----
    The interval of an attenuation is Fieller's for the signed ratio B/A, folded at 0, from the covariance of A and B
    over items (or, for a single item, from the runs, which are independent between conditions). It is NaN where A
    is not significantly different from 0. That of the mean is by the delta method.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 4.3.2.

    Examples
    --------
    >>> means = pd.DataFrame({"condition": ["attributed"] * 4 + ["anonymized"] * 4, "judge": ["a", "a", "b", "b"] * 2,
    ...                       "system": ["a", "b"] * 4, "mean": [9.0, 7.0, 8.0, 8.0, 8.5, 7.0, 8.0, 6.0]})
    >>> blinding_effect(means)[["judge", "term", "estimate", "flag"]]
      judge               term  estimate                   flag
    0     a        attenuation      50.0             sd unknown
    1     a     deviation_base       1.0             sd unknown
    2     a  deviation_against       0.5             sd unknown
    3     b        attenuation       0.0  sign changed; sd unknown
    4     b     deviation_base       1.0             sd unknown
    5     b  deviation_against      -1.0             sd unknown
    6         mean_attenuation      25.0             sd unknown
    """
    if condition in ("judge", "system", "item", "criterion"):
        raise DesignError(
            f"condition={condition!r} says who rated what. Name the column that says whether a rating was blind: "
            "condition='condition', with baseline= and blinded= among its values."
        )
    ratings = as_runs(ratings, average_over, [*names(by), condition])
    by = list(dict.fromkeys(names(by)))
    column = None if cluster is False else clustered_by(ratings, [*by, condition], cluster, whole="item").column
    data = pair_deviations(
        ratings, [*by, condition], per_criterion=per_criterion, final=overall_criterion, cluster=column
    )
    uncertainty, own = Uncertainty(data), own_systems(data, identity, family)
    _, _, weights, _ = own_and_others(data, own)
    where = [data.group_labels(g) for g in range(data.groups.size)]
    groups = [c for c in data.by if c != condition]
    levels = sorted({str(w[condition]) for w in where})
    if missing := [c for c in (baseline, blinded) if c not in levels]:
        listed = ", ".join(levels)
        raise DesignError(f"{condition!r} has no {missing[0]!r}. It has: {listed}. Pass baseline= and blinded=.")
    rows: list[Record] = []
    for values in dict.fromkeys(tuple(w[c] for c in groups) for w in where):
        key = dict(zip(groups, values, strict=True))
        sides = [_side(data, where, {**key, condition: c}) for c in (baseline, blinded)]
        rows += _attenuation_rows(uncertainty, weights, sides, key, round_first, conf_level)
    return missing_counted(estimates(rows, [*groups, "judge"], sort=False), ratings, groups)


def _side(data: PairDeviations, where: list[Record], key: Record) -> Mask:
    """Pairs of the groups with these labels."""
    key = {k: str(v) for k, v in key.items()}
    groups = [g for g, w in enumerate(where) if {k: str(v) for k, v in w.items()} == key]
    return np.isin(data.pair_group, groups)


def _attenuation_rows(
    uncertainty: Uncertainty, weights: Floats, sides: list[Mask], key: Record, decimals: int | None, conf_level: float
) -> list[Record]:
    """Rows of all judges of one group, and their mean."""
    data = uncertainty.data
    rows: list[Record] = []
    slope, attenuations, left_out, unbounded = np.zeros(data.n_pairs), [], 0, False
    for j in np.unique(data.pair_judge[sides[0] | sides[1]]):
        both = [np.where(side & (data.pair_judge == j), weights, 0.0) for side in sides]
        row = {**key, "judge": data.panel.judges[j]}
        if not (both[0].any() and both[1].any()):
            rows.append({**row, "term": "attenuation", "estimate": math.nan, "n": 0, "flag": flags.NO_OWN})
            continue
        spreads = [uncertainty.spread(w) for w in both]
        exact = [float(w @ np.nan_to_num(data.estimate)) for w in both]
        a, b = (_rounded(x, decimals) for x in exact)
        cells = _attenuation(a, b, exact, spreads, conf_level)
        n = [int((w != 0).sum()) for w in both]
        rows.append({**row, **cells, "n": n[0]})
        for i, term in enumerate(("deviation_base", "deviation_against")):
            rows.append({**row, "term": term, "n": n[i], **_signed(exact[i], spreads[i], decimals, conf_level)})
        if a == 0:
            left_out += 1
            continue
        attenuations.append(cells["estimate"])
        unbounded |= bool(np.isnan(cells["conf_low"]))
        slope += 100 / abs(a) * (abs(b) / a * both[0] - float(np.sign(b)) * both[1])
    return [*rows, _mean_attenuation(uncertainty, key, attenuations, slope, left_out, unbounded, conf_level)]


def _rounded(x: float, decimals: int | None) -> float:
    return x if decimals is None else float(f"{x:.{decimals}f}")


def _signed(x: float, spread: Spread, decimals: int | None, conf_level: float) -> Record:
    cells = spread.interval(x, conf_level)
    rounded = f"rounded to {decimals} decimals" if decimals is not None else ""
    constant = math.isnan(cells["conf_low"]) and cells["std_error"] >= 0
    flag = flags.join(_spread_flag(spread), flags.NO_SPREAD if constant else "")
    return {**cells, "estimate": _rounded(x, decimals), "method": spread.method.noting(rounded, "; "), "flag": flag}


def _spread_flag(*spreads: Spread) -> str:
    if any(math.isnan(s.variance) for s in spreads):
        return flags.ONE_UNIT if any(s.clusters == 1 for s in spreads) else flags.NO_SD
    if any(0 < s.clusters < 10 for s in spreads):
        return flags.FEW_CLUSTERS
    n_effective = min(s.n_effective for s in spreads)
    return flags.UNEQUAL_CLUSTERS.of(max(round(n_effective), 1)) if n_effective < 10 else ""


def _attenuation(a: float, b: float, exact: list[float], spreads: list[Spread], conf_level: float) -> Record:
    """Cells of one attenuation."""
    row: Record = {"term": "attenuation", "conf_low": math.nan}
    if a == 0:
        return {**row, "estimate": math.nan, "flag": flags.ZERO_BASE}
    low, high = fieller(exact[1], exact[0], spreads[1], spreads[0], conf_level)
    flag = _spread_flag(*spreads)
    if math.isnan(low):
        if not flags.has(flag, flags.NO_SD, flags.ONE_UNIT):
            exact_scores = not any(varies(max(abs(a), abs(b)), math.sqrt(s.variance)) for s in spreads)
            flag = flags.join(flag, flags.NO_SPREAD if exact_scores else flags.UNBOUNDED)
    else:
        least, most = max(low, -high, 0.0), max(abs(low), abs(high))
        row |= {"conf_low": 100 * (1 - most), "conf_high": 100 * (1 - least)}
        row["method"] = methods.FIELLER_FOLDED.then(spreads[0].method)
    estimate = 100 * (abs(a) - abs(b)) / abs(a)
    return {**row, "estimate": estimate, "flag": flags.join(flags.SIGN_CHANGED if a * b < 0 else "", flag)}


def fieller(top: float, bottom: float, of_top: Spread, of_bottom: Spread, conf_level: float) -> tuple[float, float]:
    """Fieller's interval of top / bottom; NaN where it is unbounded, as `bottom` may be 0, or no variance is known.

    `of_top`, `of_bottom`: uncertainty of the estimates; scores at the same index have the same source.
    """
    if of_top.clusters or of_bottom.clusters:
        df = min(of_top.df, of_bottom.df)
    else:  # of runs, independent: Satterthwaite's of top - ratio * bottom
        parts = [(s.variance * w, s.df) for s, w in ((of_top, 1.0), (of_bottom, (top / bottom) ** 2))]
        squares = sum(v**2 / f for v, f in parts)
        df = sum(v for v, _ in parts) ** 2 / squares if squares > 0 else math.inf
    q = quantile(df, conf_level)
    same = (of_top.clusters > 0) == (of_bottom.clusters > 0) and of_top.scores.size == of_bottom.scores.size
    covariance = float(of_top.scores @ of_bottom.scores) if same else 0.0
    g = bottom**2 - q**2 * of_bottom.variance
    middle = top * bottom - q**2 * covariance
    root = middle**2 - g * (top**2 - q**2 * of_top.variance)
    if not g > 0 or not root > 1e-12 * middle**2:  # a difference of rounding errors
        return math.nan, math.nan
    return (middle - math.sqrt(root)) / g, (middle + math.sqrt(root)) / g


def _mean_attenuation(
    uncertainty: Uncertainty,
    key: Record,
    attenuations: list[float],
    slope: Floats,
    left_out: int,
    unbounded: bool,
    conf_level: float,
) -> Record:
    row = {**key, "judge": "", "term": "mean_attenuation", "n": len(attenuations)}
    if not attenuations:
        return {**row, "estimate": math.nan, "flag": flags.join(flags.ZERO_BASE if left_out else flags.NO_OWN)}
    estimate = float(np.mean(attenuations))
    spread = uncertainty.spread(slope / len(attenuations))
    excluded, caution = flags.JUDGES_EXCLUDED.of(left_out), _spread_flag(spread)
    if unbounded:
        return {**row, "estimate": estimate, "flag": flags.join(excluded, caution or flags.UNBOUNDED)}
    method = methods.DELTA.then(spread.method) if spread.method else methods.NONE
    cells = {**spread.interval(estimate, conf_level), "method": method}
    return {**row, "estimate": estimate, **cells, "flag": flags.join(excluded, caution)}
