"""Tests of shifts over conditions, where the correlations themselves are all there is: :func:`shift_tests`."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, stdtr, stdtrit

from judgestats.errors import DesignError, choose, confidence
from judgestats.kernels.proportions import wilson
from judgestats.metrics.agreement.blocks import some
from judgestats.metrics.agreement.shifts import values_of
from judgestats.results import NO_DATA, SMALL_N, estimates, flags
from judgestats.schema.columns import By, grouping, names

Floats = NDArray[np.float64]
#: What a difference of means is divided by.
D = Literal["pooled", "average", "paired"]
VARIANTS: tuple[D, ...] = ("pooled", "average", "paired")
Means = Literal["refuse", "drop"]
Alternative = Literal["two-sided", "less", "greater"]
#: What a label of a row of means begins with.
_MEAN_WORDS = ("mean", "average", "avg", "overall", "grand mean")
#: Columns that may mark the rows of means.
_KINDS = ("is_mean", "kind")


def shift_tests(
    table: Any,
    *,
    by: By = (),
    d: D = "average",
    ddof: int = 1,
    alternative: Alternative = "two-sided",
    m: int | None = None,
    means: Means = "refuse",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Test shifts over conditions, each condition one pair of numbers.

    Parameters
    ----------
    table : frame
        One row per condition: ``before`` and ``after`` (or ``baseline`` and ``merg``), and columns that name it; the
        result of :func:`agreement_shift`, say.
    by : str or sequence of str
        Grouping columns: one set of tests each.
    d : {'pooled', 'average', 'paired'}
        Variant of Cohen's d, as in :func:`cohen_d`. The paper does not say which it used.
    ddof : int
        Divisor n - ddof of the variances in it.
    alternative : {'two-sided', 'less', 'greater'}
        Of both tests; ``less``: agreement falls.
    m : int, optional
        Number of tests for Bonferroni; by default the number of groups. Give it where more were planned.
    means : {'refuse', 'drop'}
        What is done with conditions that are the mean of others. They are no further evidence.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per group the terms ``mean_shift`` (paired t: interval, ``statistic``, ``df``, ``p_value``, ``p_adjusted``),
        ``cohen_d`` (variant in ``method``) and ``share_negative`` (exact sign test; interval: Wilson). ``n`` counts
        conditions, for the sign test those that moved.

    Raises
    ------
    DesignError
        If rows are means of other rows and `means` is ``refuse``.
    SchemaError
        If a column is missing or holds text.

    Notes
    -----
    A row is a mean where a column ``is_mean`` says so; without one, where a label begins with "mean" or "average", or
    where both its numbers are the mean of all other rows, or of those that share one of its labels, within what their
    printed decimals allow. Conditions of the same items and judges are not independent even so: the tests take them
    as such.

    Source: consensus_illusion paper, Section 2.1 (paired t, Bonferroni, Cohen's d), Table 3 ("10/10 conditions").

    Examples
    --------
    >>> table3 = pd.DataFrame({"pair": ["C/G", "C/P", "G/P"], "before": [.698, .68, .72], "after": [.589, .518, .457]})
    >>> shift_tests(table3)[["term", "estimate", "p_value", "n"]].round(3)
                 term  estimate  p_value    n
    0      mean_shift    -0.178    0.059  3.0
    1         cohen_d    -3.646      NaN  3.0
    2  share_negative     1.000    0.250  3.0
    """
    choose(d, VARIANTS, "d")
    choose(alternative, ("two-sided", "less", "greater"), "alternative")
    choose(means, ("refuse", "drop"), "means")
    confidence(conf_level)
    data, labels = values_of(table, by)
    groups = grouping(by, data.columns, "table") if names(by) else []
    chosen = _without_means(data, labels, means)
    parts = list(chosen[0].groupby(groups, dropna=False, sort=True)) if groups else [((), chosen[0])]
    planned = len(parts) if m is None else m
    if not isinstance(planned, int | np.integer):
        raise DesignError(f"m={m!r} is not a number of tests. Give how many were planned, or leave m= out.")
    if planned < len(parts):
        raise DesignError(f"m={m} is fewer than the {len(parts)} tests made. Give the number planned, or leave m= out.")
    rows = []
    for key, part in parts:
        absent = int(part["before"].isna().sum() + part["after"].isna().sum())
        told = flags(
            some(absent, "value missing", "values missing"),
            some(chosen[1], "mean of others set aside", "means of others set aside"),
        )
        kept = part.dropna(subset=["before", "after"])
        x, y = (kept[c].to_numpy(dtype=float) for c in ("before", "after"))
        for row in (_paired_t(x, y, alternative, planned, conf_level), _d_row(x, y, d, ddof), _sign(x, y, alternative)):
            if row["term"] == "share_negative" and row["n"]:
                low, high = wilson(row["hits"], row["n"], conf_level)
                row |= {"conf_low": float(low), "conf_high": float(high)}
            size = NO_DATA if not len(kept) else SMALL_N if len(kept) < 30 else ""
            rows.append({**dict(zip(groups, key, strict=True)), **row, "flag": flags(told, size, row.get("flag"))})
    return estimates(rows, groups, ["statistic", "df", "p_value", "p_adjusted"])


def _without_means(data: pd.DataFrame, labels: list[str], means: Means) -> tuple[pd.DataFrame, int]:
    marked = mean_rows(data, labels)
    if marked.any() and means == "refuse":
        shown = "; ".join(
            ", ".join(f"{c}={r[c]}" for c in labels) or f"row {i}" for i, r in data[marked].head(3).iterrows()
        )
        raise DesignError(
            f"{int(marked.sum())} of {len(data)} conditions are means of others ({shown}): they are no further "
            "evidence, and must not be counted. Leave them out, or use means='drop'. If they are not, say so in a "
            "column 'is_mean'."
        )
    return data[~marked], int(marked.sum())


def mean_rows(data: pd.DataFrame, labels: list[str]) -> NDArray[np.bool_]:
    """Mark the rows that are means of other rows, by a column, by a label, or by their numbers.

    Parameters
    ----------
    data : pandas.DataFrame
        With ``before`` and ``after``.
    labels : list of str
        Its other columns.

    Returns
    -------
    (N,) bool array
    """
    if "is_mean" in labels:
        told: NDArray[np.bool_] = data["is_mean"].astype(str).str.lower().isin(("true", "1", "1.0", "yes")).to_numpy()
        return told
    marked = np.zeros(len(data), dtype=bool)
    for column in labels:
        if data[column].dtype.kind not in "iufb":
            text = data[column].astype(str).str.strip().str.lower()
            marked |= text.str.startswith(_MEAN_WORDS).to_numpy()
    values = data[["before", "after"]].to_numpy(dtype=float)
    slack = 10.0 ** -_decimals(values)  # half a unit for the row, half for its parts
    sets = [np.ones(len(data), dtype=bool)]
    for column in (c for c in labels if c not in _KINDS):
        same = data[column].astype(str).to_numpy()
        sets += [same == v for v in np.unique(same) if 3 <= (same == v).sum() < len(data)]
    for inside in sets:
        for i in np.flatnonzero(inside & ~marked):
            others = inside & ~marked
            others[i] = False
            if others.sum() >= 2 and (abs(values[others].mean(axis=0) - values[i]) <= slack + 1e-12).all():
                marked[i] = True
    return marked


def _decimals(values: Floats) -> int:
    """Decimals of printed numbers: the fewest that hold them all, at most 12."""
    known = values[np.isfinite(values)]
    return next((k for k in range(13) if np.allclose(known, known.round(k), rtol=0, atol=1e-12)), 12)


def _paired_t(x: Floats, y: Floats, alternative: Alternative, m: int, conf_level: float) -> dict[str, Any]:
    n, away = x.size, y - x
    row: dict[str, Any] = {"term": "mean_shift", "estimate": float(away.mean()) if n else math.nan, "n": n}
    spread = float(away.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not spread > 1e-15:
        return {**row, "flag": "constant shifts" if n > 1 else "one condition" if n else ""}
    t = row["estimate"] / spread
    tail = {"less": stdtr(n - 1, t), "greater": stdtr(n - 1, -t), "two-sided": 2 * stdtr(n - 1, -abs(t))}[alternative]
    half = float(stdtrit(n - 1, (1 + conf_level) / 2)) * spread
    return {
        **row,
        "std_error": spread,
        "conf_low": row["estimate"] - half,
        "conf_high": row["estimate"] + half,
        "statistic": t,
        "df": n - 1,
        "p_value": float(tail),
        "p_adjusted": min(1.0, m * float(tail)),
        "method": f"paired t, Bonferroni over {m}",
    }


def _d_row(x: Floats, y: Floats, d: D, ddof: int) -> dict[str, Any]:
    name = f"Cohen's d ({d}, divisor n - {ddof})" if ddof else f"Cohen's d ({d}, divisor n)"
    return {"term": "cohen_d", "estimate": cohen_d(x, y, d=d, ddof=ddof), "n": x.size, "method": name}


def _sign(x: Floats, y: Floats, alternative: Alternative) -> dict[str, Any]:
    moved = (y - x)[np.abs(y - x) > 1e-12]
    n, k = moved.size, int((moved < 0).sum())
    still = some(x.size - n, "condition unmoved", "conditions unmoved")
    row: dict[str, Any] = {"term": "share_negative", "estimate": k / n if n else math.nan, "n": n, "hits": k}
    return {**row, "flag": still, "p_value": sign_p(k, n, alternative), "method": "Wilson; exact sign test"}


def sign_p(k: int, n: int, alternative: Alternative = "two-sided") -> float:
    """P-value of the exact sign test.

    Parameters
    ----------
    k, n : int
        Negative shifts, among those that are not 0.
    alternative : {'two-sided', 'less', 'greater'}
        ``less``: shifts are negative.

    Returns
    -------
    float
        NaN for n = 0. All of n in one direction: 2**-n one-sided, twice that two-sided.

    Examples
    --------
    >>> sign_p(10, 10, "less"), sign_p(6, 6, "less"), sign_p(6, 6)
    (0.0009765625, 0.015625, 0.03125)
    """
    if not n:
        return math.nan
    many = float(bdtr(n - k, n, 0.5))  # P(at least k)
    few = float(bdtr(k, n, 0.5))
    return {"less": many, "greater": few, "two-sided": min(1.0, 2 * min(many, few))}[alternative]


def cohen_d(before: ArrayLike, after: ArrayLike, *, d: D = "pooled", ddof: int = 1) -> float:
    """Cohen's d of two samples: their difference of means, in standard deviations.

    Parameters
    ----------
    before, after : array_like
        Values; of one length for ``paired``.
    d : {'pooled', 'average', 'paired'}
        Divided by the pooled sd (variances weighted by n - ddof), the root of the mean variance, or the sd of the
        paired differences.
    ddof : int
        Divisor n - ddof of the variances.

    Returns
    -------
    float
        Mean of `after` minus mean of `before`, standardised. NaN where there is no spread, or too few values.

    Raises
    ------
    DesignError
        For ``paired`` samples of two lengths.

    Notes
    -----
    The variants differ much: for paired data, ``paired`` is ``average`` divided by about √(2(1 - r)).

    Source: consensus_illusion paper, Sections 2.1 and 3.2; it prints d without a formula.

    Examples
    --------
    >>> [round(cohen_d([1, 2, 3], [3, 4, 8], d=v), 3) for v in ("pooled", "average", "paired")]
    [1.5, 1.5, 1.732]
    """
    choose(d, VARIANTS, "d")
    x, y = (np.asarray(v, dtype=float) for v in (before, after))
    if d == "paired":
        if x.shape != y.shape:
            raise DesignError(f"d='paired' needs pairs, got {x.size} and {y.size} values. Use 'pooled' or 'average'.")
        squares = (y - x).var(ddof=ddof) if x.size > ddof else math.nan
    elif min(x.size, y.size) <= ddof:
        squares = math.nan
    else:
        one, two = x.var(ddof=ddof), y.var(ddof=ddof)
        a, b = (x.size - ddof, y.size - ddof) if d == "pooled" else (1, 1)
        squares = (a * one + b * two) / (a + b)
    return float((y.mean() - x.mean()) / math.sqrt(squares)) if squares > 0 else math.nan
