"""Accuracy of strategies on the same pairs, by McNemar's test: :func:`compare_strategies`."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts, size_flag
from judgestats.counting.patterns import PATTERNS, Invalid, TiesOfVerdicts
from judgestats.counting.study import Study
from judgestats.counting.tallies import count, is_tally
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, choose
from judgestats.estimate import POINTS, Estimate, student_ends
from judgestats.kernels.adjustment import holm
from judgestats.kernels.proportions import clustered_tango
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.paired import paired_cells, paired_error
from judgestats.metrics.requirements import control_of
from judgestats.results import estimates, with_interval
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Record

Method = Literal["corrected", "asymptotic", "exact", "mid-p"]


#: Corrections for several tests of ``statsmodels.stats.multitest.multipletests``, and none.
ADJUSTMENTS = (
    "holm",
    "bonferroni",
    "sidak",
    "holm-sidak",
    "simes-hochberg",
    "hommel",
    "fdr_bh",
    "fdr_by",
    "fdr_tsbh",
    "fdr_tsbky",
    "none",
)


#: Columns of the result after the standard ones.
EXTRA = (
    "baseline",
    "baseline_only",
    "strategy_only",
    "accuracy_baseline",
    "accuracy_strategy",
    "statistic",
    "p_value",
    "p_adjusted",
    "survives",
    "adjustment",
)


@Measure(
    "Is a strategy more often right than the baseline on the same pairs?",
    "strategies",
    "P, counts",
    "Newcombe, paired; McNemar's p, adjusted",
    "debiasing, Sec 3.5, App D",
    plot="strategies",
    frames=("preferences",),
    needs=(control_of("strategy"),),
    arguments=lambda _, options: {"baseline": options.baseline["strategy"]},
    caption="Accuracy under the strategy minus under the baseline, on the pairs that both judged. Filled: survives "
    "the correction for all comparisons.",
    terms=(Term("difference", "gain in accuracy", neutral=0.0),),
    have=("conditions", "gold"),
    assumes=(
        "The strategies judged the same pairs, which are independent; the p-values are adjusted for the number of "
        "comparisons."
    ),
)
def compare_strategies(
    calls: IntoFrame,
    *,
    baseline: str | None = None,
    method: Method = "corrected",
    adjust: str = "holm",
    n_tests: int | None = None,
    invalid: Invalid = "drop",
    ties: TiesOfVerdicts = "exact",
    pairs: int | str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Compare the accuracy of each strategy with that of the baseline, on the pairs that both were scored on.

    Parameters
    ----------
    calls : frame
        Preferences with the columns ``gold`` and ``strategy``, one verdict per pair and strategy (aggregated, say). Or
        a tally: ``judge, strategy, baseline, outcome, n``, with the outcomes under the baseline and under the
        strategy (``correct``, ``wrong``, ``tie``, ``invalid``, ``missing``) and the number of pairs.
    baseline : str, optional
        The strategy that the others are compared with; needed except for a tally.
    method : {'corrected', 'asymptotic', 'exact', 'mid-p'}
        McNemar's test: chi-square with and without continuity correction, the exact binomial, or its mid-p. With
        clusters both chi-squares have no correction and refer to F on 1 and Satterthwaite's degrees of freedom; the
        binomial tests treat pairs as independent, with a flag where they are not.
    adjust : str
        Correction of the p-values over all rows of the result: ``'holm'``, any other method of statsmodels'
        ``multipletests``, or ``'none'``.
    n_tests : int, optional
        Number of tests planned, if it exceeds the number made. (A strategy that a judge never ran is not a test.)
    invalid : {'drop', 'wrong', 'tie'}
        How an invalid call counts, as in :func:`gold_agreement`.
    ties : {'exact', 'drop'}
        How a tie counts where the gold is a candidate: as an error, or excluded with its pair.
    pairs : int or str, optional
        For a tally of the discordant pairs only: the total number of pairs of each comparison, or its column.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that pairs share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all pairs as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals. 1 minus it is the significance level of the tests.

    Returns
    -------
    pandas.DataFrame
        Per judge and strategy the term ``difference``, accuracy under the strategy minus under the baseline, with
        Newcombe's paired interval; where clustered, Tango's with the effective n of the clusters, which excludes 0
        where the p-value is below 1 - `conf_level`. Then ``baseline`` (its name), ``baseline_only``, ``strategy_only``
        (pairs right under that one alone), ``accuracy_baseline``, ``accuracy_strategy``, ``statistic`` (chi-square; for
        the exact tests the smaller of the two counts), ``p_value``, ``p_adjusted``, ``survives`` and ``adjustment``.
        ``n`` is the pairs scored under both; the flag counts the others.

    Raises
    ------
    DesignError
        If there is nothing to compare, a pair was judged twice, or an option is not known.

    See Also
    --------
    recommend : Strategy that a comparison supports.
    bias_change : Change of a bias under a strategy.
    judgestats.models.strategy_effects : Strategies, per judge and pooled.

    Notes
    -----
    Debiasing paper, Section 3.5 and Appendix D. No discordant pair: p is 1. The correction is
    ``max(|b - c| - 1, 0)``. All rows of a result are one family of tests: call the function once per family.
    A half-right tie is neither right nor wrong, so McNemar's test has no ``ties='half'``.
    A tally without concordant pairs is assumed to omit them: chi-square and p need the discordant pairs only, the
    difference also the total, `pairs` (interval: Agresti and Min).

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "strategy": "S8", "n": [209, 23, 69, 99],
    ...                        "baseline": ["correct", "correct", "wrong", "wrong"],
    ...                        "outcome": ["correct", "wrong", "correct", "wrong"]})
    >>> compare_strategies(counts, n_tests=20)[["estimate", "conf_low", "conf_high", "statistic",
    ...     "p_adjusted"]].round(4)
       estimate  conf_low  conf_high  statistic  p_adjusted
    0     0.115    0.0689     0.1604    22.0109      0.0001
    """
    choose(adjust, ADJUSTMENTS, "adjust")
    if n_tests is not None and not isinstance(n_tests, int | np.integer):
        raise DesignError(f"n_tests={n_tests!r} is not a number of tests. Allowed: a whole number (20), or None.")
    column = pairs if isinstance(pairs, str) else None
    columns = [*names(by), *([column] if column else [])]
    counts = count(calls, "compare_strategies", columns, cluster=cluster, baseline=baseline)
    binomial = method in ("exact", "mid-p") and counts.clusters.column is not None
    if binomial and cluster != "auto":
        raise DesignError(
            f"method={method!r} does not allow for clusters. Use method='asymptotic', or cluster=False to treat the "
            "pairs as independent."
        )
    if binomial:
        counts = count(calls, "compare_strategies", columns, cluster=False, baseline=baseline)
    counts = counts.grouped(list(dict.fromkeys([*names(by), "judge", "strategy"])))
    whole = not is_tally(Study.of(calls).names, PATTERNS["compare_strategies"])  # a tally may omit concordant pairs
    crossed, excluded, cells = _crossed(counts, invalid, ties)
    cluster_column, dependent = counts.clusters.column, counts.clusters.flag
    rows = []
    for i, (key, group_rows) in enumerate(counts.rows_of_groups()):
        concordant, b, c, neither = crossed[i]
        full = whole or concordant + neither > 0
        total = math.nan if full else _total_pairs(counts.where(group_rows), pairs)
        full = full or (b + c == 0 and math.isnan(total))
        row = _gain(concordant, b, c, neither, conf_level) if full else _of_discordant(b, c, total, conf_level)
        few = flags.FEW_DISCORDANT if method in ("corrected", "asymptotic") and 0 < b + c < 25 else ""
        if row["n"] != 0:
            row["statistic"], row["p_value"] = mcnemar_test(b, c, method)
        if cluster_column is not None and full and row["n"] > 0:
            row |= _clustered_gain(row, counts.where(group_rows), cells[:, group_rows], cluster_column, conf_level)
        row["flag"] = flags.join(row.get("flag", ""), few, dependent, excluded[i])
        rows.append({**key, "term": "difference", "baseline_only": b, "strategy_only": c, **row})
    return _adjusted(estimates(rows, counts.groups, EXTRA), baseline, adjust, n_tests, conf_level)


def mcnemar_test(b: float, c: float, method: Method = "corrected") -> tuple[float, float]:
    """Statistic and p-value of McNemar's test of two discordant counts; p is 1 where both are 0.

    McNemar, Q. (1947). Psychometrika 12, 153-157. Mid-p: Fagerland, M. W., Lydersen, S., Laake, P. (2013). BMC Medical
    Research Methodology 13, 91.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    if method in ("exact", "mid-p") and not (float(b).is_integer() and float(c).is_integer()):
        raise DesignError(
            f"method={method!r} counts whole pairs, and there are {b:g} and {c:g} discordant ones. Use "
            "method='asymptotic' or 'corrected' for counts that are not whole."
        )
    if b + c == 0:
        return (math.nan if method in ("corrected", "asymptotic") else 0.0), 1.0
    if method == "mid-p":
        from scipy.stats import binom

        point = float(binom.pmf(min(b, c), b + c, 0.5))
        p = 1 - point / 2 if b == c else float(mcnemar([[0, b], [c, 0]], exact=True).pvalue) - point
        return min(b, c), p
    if method == "corrected" and b == c:
        return 0.0, 1.0  # statsmodels would correct 0 to 1
    result = mcnemar([[0, b], [c, 0]], exact=method == "exact", correction=method == "corrected")
    return float(result.statistic), float(result.pvalue)


def _crossed(counts: Counts, invalid: Invalid, ties: str) -> tuple[Floats, list[str], Floats]:
    """Pairs of each group right under both, the baseline only, the strategy only, neither; flags of excluded pairs.

    And for each row of the table: pairs right under the baseline only, under the strategy only, and all scored.
    """
    n, sides = counts.n, ("baseline", "outcome")
    right = [counts.among(side, "correct") for side in sides]
    absent = counts.among("baseline", "missing") | counts.among("outcome", "missing")
    scored = [counts.hits_and_trials("correct", ties, invalid, side)[1] for side in sides]
    both = scored[0] & scored[1] & ~absent
    codes = counts.columns.codes(counts.groups)
    cells = (right[0] & right[1], right[0] & ~right[1], ~right[0] & right[1], ~right[0] & ~right[1])
    pairs = np.column_stack([np.bincount(codes.code, n * (both & c), codes.size) for c in cells]).astype(np.float64)
    without = np.bincount(codes.code, n * absent, codes.size)
    dropped = np.bincount(codes.code, n * (~both & ~absent), codes.size)
    excluded = [
        flags.join(flags.UNDER_ONE_ONLY.of(a), flags.EXCLUDED.of(d, what="pairs not scored"))
        for a, d in zip(without, dropped, strict=True)
    ]
    return pairs, excluded, np.vstack([n * (both & cells[1]), n * (both & cells[2]), n * both])


def _clustered_gain(row: Record, counts: Counts, cells: Floats, column: str, conf_level: float) -> Record:
    """Clustered interval and test of one comparison, from the last result of :func:`_crossed`."""
    unit = counts.columns.codes([column])
    losses, gains, size = (np.bincount(unit.code, x, unit.size).astype(np.float64) for x in cells)
    tango = clustered_tango(gains, losses, size, conf_level)
    test = {"statistic": tango.statistic, "p_value": tango.p_value}
    method = methods.clustered(methods.TANGO_PAIRED, column, size)
    flag = flags.join(row.get("flag", ""), flags.few_clusters(size))
    return with_interval(tango.std_error, tango.low, tango.high, method=method, flag=flag, **test)


def _total_pairs(counts: Counts, pairs: int | str | None) -> float:
    """Total number of pairs of one comparison."""
    if not isinstance(pairs, str):
        return math.nan if pairs is None else float(pairs)
    totals = counts.columns.series(pairs)
    numbers = pd.to_numeric(totals, errors="coerce")
    if (text := numbers.isna() & totals.notna()).any():
        first = totals[text].iloc[0]
        raise SchemaError(f"pairs={pairs!r} contains text where a number of pairs belongs: {first!r}.")
    values = numbers.unique()
    if len(values) != 1:
        raise DesignError(f"pairs={pairs!r} has several values in one comparison: {', '.join(map(str, values))}.")
    return float(values[0])


def _gain(a: float, b: float, c: float, d: float, conf_level: float) -> Record:
    total = a + b + c + d
    if not total > 0:
        return {"n": 0.0, "method": methods.NEWCOMBE_PAIRED, "flag": flags.NO_DATA}
    return {
        **paired_cells(a, c, b, d, conf_level),
        "accuracy_baseline": (a + b) / total,
        "accuracy_strategy": (a + c) / total,
        "flag": size_flag(total),
    }


def _of_discordant(b: float, c: float, total: float, conf_level: float) -> Record:
    """The difference from the discordant pairs and the total."""
    if math.isnan(total):
        return {"n": math.nan, "flag": flags.DISCORDANT_ONLY}
    if total < b + c:
        raise DesignError(f"pairs={total:g} is less than the {b + c:g} discordant pairs of a comparison.")
    shifted = total + 2  # Agresti and Min (2005): a half more in each of the four cells
    middle = (c - b) / shifted
    error = math.sqrt(b + c + 1 - (b - c) ** 2 / shifted) / shifted
    low, high = map(float, student_ends(middle, error, math.inf, conf_level, bounds=POINTS))
    flag = flags.join(flags.DISCORDANT_ONLY, flags.SMALL_N if total < 30 else "")
    by = methods.AGRESTI_MIN.on("paired")
    value, own_error = (c - b) / total, paired_error(b, c, total)
    return Estimate(value, total, own_error, low=low, high=high, method=by, flag=flag).cells


def _adjusted(
    result: pd.DataFrame, baseline: str | None, adjust: str, m: int | None, conf_level: float
) -> pd.DataFrame:
    """Add the p-values corrected for all planned tests, by default all tests made."""
    p = result["p_value"].to_numpy(dtype=float)
    tested = np.isfinite(p)
    n_made = int(tested.sum())
    planned = n_made if m is None else m
    if planned < n_made:
        raise DesignError(f"n_tests={m} is less than the {n_made} tests made. Give at least {n_made}.")
    adjusted = p.copy()
    if adjust != "none" and tested.any():
        from statsmodels.stats.multitest import multipletests

        padded = np.concatenate([p[tested], np.ones(planned - tested.sum())])
        corrected = holm(padded) if adjust == "holm" else multipletests(padded, 1 - conf_level, adjust)[1]
        adjusted[tested] = corrected[: tested.sum()]
    adjustment = "unadjusted" if adjust == "none" else f"{adjust}, m = {planned}"
    numbers: Record = {c: pd.to_numeric(result[c]).astype(float) for c in EXTRA[1:7]}
    survives = adjusted <= 1 - conf_level + 1e-12
    numbers |= {"p_adjusted": adjusted, "survives": survives, "adjustment": adjustment}
    return result.assign(baseline=baseline or "", **numbers)
