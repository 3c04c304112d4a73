"""Does a strategy make a judge right more often than the baseline does, item by item?"""

from __future__ import annotations

import math
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError, choose, confidence
from judgestats.kernels.proportions import normal_quantile
from judgestats.metrics.differences import paired_cells, paired_error, size_flag
from judgestats.results import NO_DATA, NOT_INDEPENDENT, SMALL_N, estimates, flags
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.counting import SHARED_PAIRS, is_tally, tally
from judgestats.schema.patterns import PATTERNS, Invalid

Method = Literal["corrected", "asymptotic", "exact", "mid-p"]
METHODS: tuple[Method, ...] = ("corrected", "asymptotic", "exact", "mid-p")
#: Corrections for several tests, as ``statsmodels.stats.multitest.multipletests`` calls them, and none.
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
#: The difference, or the chi-square, rests on too little.
DISCORDANT_ONLY = "discordant pairs only"
FEW_DISCORDANT = "fewer than 25 discordant pairs"
#: Columns of the result after those of every estimate.
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


def compare_strategies(
    calls: Any,
    *,
    baseline: str | None = "B0",
    method: Method = "corrected",
    adjust: str = "holm",
    m: int | None = None,
    invalid: Invalid = "drop",
    ties: Literal["exact", "drop"] = "exact",
    pairs: int | str | None = None,
    by: By = (),
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Compare the accuracy of each strategy with that of the baseline, on the pairs that both were scored on.

    Parameters
    ----------
    calls : frame
        Preferences with the columns ``gold`` and ``strategy``, one verdict per pair and strategy (aggregated, say). Or
        a tally: ``judge, strategy, baseline, outcome, n``, the last three being the outcome under the baseline, that
        under the strategy (``correct``, ``wrong``, ``tie``, ``invalid``, ``missing``) and the number of pairs.
    baseline : str or None
        The strategy that the others are compared with; None where there are two, of which it is the first by name.
    method : {'corrected', 'asymptotic', 'exact', 'mid-p'}
        McNemar's test: chi-square with and without continuity correction, the exact binomial, or its mid-p.
    adjust : str
        Correction of the p-values over all rows of the result: ``'holm'``, any other method of statsmodels'
        ``multipletests``, or ``'none'``.
    m : int, optional
        How many tests were planned, where that is more than could be made. (A strategy that a judge never ran is
        no test.)
    invalid : {'drop', 'wrong', 'tie'}
        What an invalid call is, as in :func:`gold_agreement`.
    ties : {'exact', 'drop'}
        What a tie is where the gold is a candidate: an error, or set aside with its pair.
    pairs : int or str, optional
        Number of pairs behind each row of a tally that holds the discordant pairs only, or its column that tells it.
    by : str or sequence of str
        Further grouping columns.
    conf_level : float
        Coverage of the interval; 1 minus it is the level at which a p-value survives.

    Returns
    -------
    pandas.DataFrame
        Per judge and strategy the term ``difference``, accuracy under the strategy minus under the baseline, with
        Newcombe's paired interval. Then ``baseline`` (its name), ``baseline_only`` and ``strategy_only`` (pairs right
        under that one alone), ``accuracy_baseline``, ``accuracy_strategy``, ``statistic`` (chi-square; for the exact
        tests the smaller of the two counts), ``p_value``, ``p_adjusted``, ``survives`` and ``adjustment``. ``n`` is the
        pairs scored under both; the flag counts those that were not.

    Raises
    ------
    DesignError
        If there is nothing to compare, a pair was judged twice, or an option is not known.

    Notes
    -----
    Debiasing paper, Section 3.5 and Appendix D. No discordant pair: p is 1. The correction is
    ``max(|b - c| - 1, 0)``. All rows of a call are one family of tests: call it once per family.
    A half-right tie is neither right nor wrong, so McNemar has no ``ties='half'``.
    A tally without concordant pairs that did not come from :func:`tally` is taken to leave them out: chi-square and p
    need the discordant pairs only, the difference also their total, `pairs` (interval: Agresti and Min).

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "strategy": "S8", "n": [209, 23, 69, 99],
    ...                        "baseline": ["correct", "correct", "wrong", "wrong"],
    ...                        "outcome": ["correct", "wrong", "correct", "wrong"]})
    >>> compare_strategies(counts, m=20)[["estimate", "conf_low", "conf_high", "statistic", "p_adjusted"]].round(4)
       estimate  conf_low  conf_high  statistic  p_adjusted
    0     0.115    0.0689     0.1604    22.0109      0.0001
    """
    _check(method, adjust, invalid, ties, m)
    confidence(conf_level)
    column = pairs if isinstance(pairs, str) else None
    kept = [*names(by), *([column] if column else [])]
    table = tally(calls, "compare_strategies", kept, cluster=False, baseline=baseline)
    groups = list(dict.fromkeys([*grouping(by, table.columns), "judge", "strategy"]))
    whole = not _from_elsewhere(calls)
    counts, left = _crossed(table, groups, invalid, ties)
    first = codes_of(table, groups).first
    rows = []
    for i, (concordant, b, c, neither) in enumerate(counts):
        key = table[groups].iloc[int(first[i])].to_dict()
        known = whole or concordant + neither > 0
        total = math.nan if known else _total(table, groups, i, pairs)
        known = known or (b + c == 0 and math.isnan(total))
        row = _difference(concordant, b, c, neither, conf_level) if known else _of_discordant(b, c, total, conf_level)
        few = FEW_DISCORDANT if method in ("corrected", "asymptotic") and 0 < b + c < 25 else ""
        dependent = NOT_INDEPENDENT if table.attrs.get(SHARED_PAIRS) else ""
        row["flag"] = flags(row.get("flag", ""), few, dependent, left[i])
        if row["n"] != 0:
            row["statistic"], row["p_value"] = mcnemar_test(b, c, method)
        rows.append({**key, "term": "difference", "baseline_only": b, "strategy_only": c, **row})
    return _adjusted(estimates(rows, groups, EXTRA), baseline, adjust, m, conf_level)


def mcnemar_test(b: float, c: float, method: Method = "corrected") -> tuple[float, float]:
    """McNemar's test of two discordant counts.

    Parameters
    ----------
    b, c : float
        Pairs that are right in one condition only.
    method : {'corrected', 'asymptotic', 'exact', 'mid-p'}
        See :func:`compare_strategies`.

    Returns
    -------
    statistic, p_value : float
        p is 1 where b and c are 0; the statistic then is NaN for the chi-squares.

    Raises
    ------
    DesignError
        If the method counts pairs one by one (exact, mid-p), and `b` or `c` is not whole.

    References
    ----------
    McNemar, Q. (1947). Psychometrika 12, 153-157. Mid-p: Fagerland, M. W., Lydersen, S., Laake, P. (2013). BMC Medical
    Research Methodology 13, 91.

    Examples
    --------
    >>> print("{:.4f} {:.4e}".format(*mcnemar_test(150, 86)))
    16.8178 4.1146e-05
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


def _check(method: str, adjust: str, invalid: str, ties: str, m: int | None) -> None:
    choose(method, METHODS, "method")
    choose(adjust, ADJUSTMENTS, "adjust")
    choose(invalid, ("drop", "wrong", "tie"), "invalid")
    choose(ties, ("exact", "drop"), "ties")
    if m is not None and not isinstance(m, int | np.integer):
        raise DesignError(f"m={m!r} is not a number of tests. Allowed: a whole number, 20 say, or None.")


def _from_elsewhere(calls: Any) -> bool:
    """Whether this is a tally that :func:`tally` did not make."""
    columns = nw.from_native(calls).collect_schema().names()
    return is_tally(columns, PATTERNS["compare_strategies"]) and SHARED_PAIRS not in getattr(calls, "attrs", {})


def _crossed(
    table: pd.DataFrame, groups: list[str], invalid: Invalid, ties: str
) -> tuple[NDArray[np.float64], list[str]]:
    """Pairs right under both, the baseline only, the strategy only, neither; and what is said of those set aside."""
    n = table["n"].to_numpy(dtype=float)
    right, scored, absent = [], [], np.zeros(len(table), dtype=bool)
    for side in ("baseline", "outcome"):
        got = table[side].to_numpy(dtype=object)
        as_tie = (got == "tie") | ((got == "invalid") & (invalid == "tie"))
        absent |= got == "missing"
        scored.append(~(((got == "invalid") & (invalid == "drop")) | (as_tie & (ties == "drop"))))
        right.append(got == "correct")
    both = scored[0] & scored[1] & ~absent
    codes = codes_of(table, groups)
    cells = (right[0] & right[1], right[0] & ~right[1], ~right[0] & right[1], ~right[0] & ~right[1])
    counts = np.column_stack([np.bincount(codes.code, n * (both & c), codes.size) for c in cells]).astype(np.float64)
    without = np.bincount(codes.code, n * absent, codes.size)
    dropped = np.bincount(codes.code, n * (~both & ~absent), codes.size)
    return counts, [
        flags(f"{a:,.0f} pairs under one only" if a else "", f"{d:,.0f} pairs not scored" if d else "")
        for a, d in zip(without, dropped, strict=True)
    ]


def _total(table: pd.DataFrame, groups: list[str], group: int, pairs: int | str | None) -> float:
    """How many pairs there are behind the discordant ones."""
    if not isinstance(pairs, str):
        return math.nan if pairs is None else float(pairs)
    given = table.loc[codes_of(table, groups).code == group, pairs]
    values = pd.to_numeric(given, errors="coerce").unique()
    if (text := given[pd.to_numeric(given, errors="coerce").isna() & given.notna()]).size:
        raise SchemaError(f"pairs={pairs!r} holds text where a number of pairs belongs: {text.iloc[0]!r}.")
    if len(values) != 1:
        raise DesignError(f"pairs={pairs!r} has several values in one comparison: {', '.join(map(str, values))}.")
    return float(values[0])


def _difference(a: float, b: float, c: float, d: float, conf_level: float) -> dict[str, Any]:
    total = a + b + c + d
    if not total > 0:
        return {"n": 0.0, "method": "Newcombe, paired", "flag": NO_DATA}
    return {
        **paired_cells(a, c, b, d, conf_level),
        "accuracy_baseline": (a + b) / total,
        "accuracy_strategy": (a + c) / total,
        "flag": size_flag(total),
    }


def _of_discordant(b: float, c: float, total: float, conf_level: float) -> dict[str, Any]:
    """The difference where it is not known how many of the other pairs were right."""
    if math.isnan(total):
        return {"n": math.nan, "flag": DISCORDANT_ONLY}
    if total < b + c:
        raise DesignError(f"pairs={total:g} is less than the {b + c:g} discordant pairs of a comparison.")
    shifted = total + 2  # Agresti and Min (2005): a half more in each of the four cells
    middle = (c - b) / shifted
    half = normal_quantile(conf_level) * math.sqrt(b + c + 1 - (b - c) ** 2 / shifted) / shifted
    return {
        "estimate": (c - b) / total,
        "std_error": paired_error(b, c, total),
        "conf_low": max(middle - half, -1.0),
        "conf_high": min(middle + half, 1.0),
        "n": total,
        "method": "Agresti-Min, paired",
        "flag": flags(DISCORDANT_ONLY, SMALL_N if total < 30 else ""),
    }


def _adjusted(
    result: pd.DataFrame, baseline: str | None, adjust: str, m: int | None, conf_level: float
) -> pd.DataFrame:
    """Put in the p-values corrected for all tests planned: by default for those that could be made."""
    p = result["p_value"].to_numpy(dtype=float)
    known = np.isfinite(p)
    made = int(known.sum())
    planned = made if m is None else m
    if planned < made:
        raise DesignError(f"m={m} tests were planned, and {made} could be made. Give m at least that.")
    adjusted = p.copy()
    if adjust != "none" and known.any():
        from statsmodels.stats.multitest import multipletests

        padded = np.concatenate([p[known], np.ones(planned - known.sum())])
        adjusted[known] = multipletests(padded, 1 - conf_level, adjust)[1][: known.sum()]
    words = "unadjusted" if adjust == "none" else f"{adjust}, m = {planned}"
    numbers = {c: pd.to_numeric(result[c]).astype(float) for c in EXTRA[1:7]}
    survives = adjusted <= 1 - conf_level + 1e-12
    return result.assign(baseline=baseline or "", **numbers, p_adjusted=adjusted, survives=survives, adjustment=words)
