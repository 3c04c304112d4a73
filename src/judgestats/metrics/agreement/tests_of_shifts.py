"""Tests of shifts over conditions, from the correlations alone: :func:`shift_tests`."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import ArrayLike
from scipy.special import bdtr, stdtr

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose
from judgestats.estimate import student, varies
from judgestats.kernels.proportions import wilson
from judgestats.metrics.agreement.shifts import printed_correlations
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Mask, Record

#: Standardizer of Cohen's d.
D = Literal["pooled", "average", "paired"]
VARIANTS: tuple[D, ...] = ("pooled", "average", "paired")
Means = Literal["refuse", "drop"]
Alternative = Literal["two-sided", "less", "greater"]
#: First words of the label of a row of means.
_MEAN_WORDS = ("mean", "average", "avg", "overall", "grand mean")
#: Columns that may mark the rows of means.
_KINDS = ("is_mean", "kind")


@Measure(
    "Do the shifts differ from 0 over conditions?",
    "agreement",
    "table",
    "t; share of falls: Wilson",
    "consensus_illusion, Sec 2.1, Table 3",
    have=("printed table",),
    assumes="The shifts are a sample of such conditions, about normal, and independent of each other.",
)
def shift_tests(
    table: IntoFrame,
    *,
    by: By = (),
    d: D = "average",
    ddof: int = 1,
    alternative: Alternative = "two-sided",
    n_tests: int | None = None,
    means: Means = "refuse",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Test shifts over conditions, each condition one pair of numbers.

    Parameters
    ----------
    table : frame
        One row per condition: ``before`` and ``after`` (or ``baseline`` and ``merg``), and columns that name it, as in
        the result of :func:`agreement_shift`.
    by : str or sequence of str
        Further grouping columns. Each group has tests of its own.
    d : {'pooled', 'average', 'paired'}
        Variant of Cohen's d, as in :func:`cohen_d`. The paper does not say which it used.
    ddof : int
        Divisor n - ddof of the variances in it.
    alternative : {'two-sided', 'less', 'greater'}
        Alternative hypothesis of both tests; ``less``: agreement falls.
    n_tests : int, optional
        Number of tests for Bonferroni; by default the number of groups. Give it if more were planned.
    means : {'refuse', 'drop'}
        Treatment of conditions that are means of others, which are no further evidence.
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

    See Also
    --------
    agreement_shift : Change of agreement between two ways of judging.

    Notes
    -----
    A row is a mean if a column ``is_mean`` is true. Without that column, a row is a mean if a label begins with "mean"
    or "average", or if both its numbers are the means of all other rows, or of those that share one of its labels,
    within the rounding of the printed decimals. The tests treat conditions as independent, although conditions with
    common items and judges are not.

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
    data, labels = printed_correlations(table, by)
    groups = grouping(by, data.columns, "table") if names(by) else []
    conditions, n_means = _without_means(data, labels, means)
    parts = list(conditions.groupby(groups, dropna=False, sort=True)) if groups else [((), conditions)]
    planned = len(parts) if n_tests is None else n_tests
    if not isinstance(planned, int | np.integer):
        raise DesignError(
            f"n_tests={n_tests!r} is not a number of tests. Give how many were planned, or leave n_tests= out."
        )
    if planned < len(parts):
        raise DesignError(
            f"n_tests={n_tests} is fewer than the {len(parts)} tests made. Give the number planned, or leave n_tests= "
            "out."
        )
    rows = []
    for key, part in parts:
        absent = int(part["before"].isna().sum() + part["after"].isna().sum())
        part = part.dropna(subset=["before", "after"])
        x, y = (part[c].to_numpy(dtype=float) for c in ("before", "after"))
        divisor = f"n - {ddof}" if ddof else "n"
        effect = {"term": "cohen_d", "estimate": cohen_d(x, y, d=d, ddof=ddof), "n": x.size}
        effect["method"] = methods.COHEN_D.noting(f"({d}, divisor {divisor})", " ")
        size = flags.NO_DATA if not len(part) else flags.SMALL_N if len(part) < 30 else ""
        excluded = flags.join(
            flags.MISSING.of(absent, what="value(s)"), flags.EXCLUDED.of(n_means, what="mean(s) of others"), size
        )
        for row in (_paired_t(x, y, alternative, planned, conf_level), effect, _sign(x, y, alternative, conf_level)):
            rows.append({**dict(zip(groups, key, strict=True)), **row, "flag": flags.join(excluded, row.get("flag"))})
    return estimates(rows, groups, ["statistic", "df", "p_value", "p_adjusted"])


def _without_means(data: pd.DataFrame, labels: list[str], means: Means) -> tuple[pd.DataFrame, int]:
    """The rows that are not means of others, and the number of means."""
    marked = mean_rows(data, labels)
    if marked.any() and means == "refuse":
        examples = "; ".join(
            ", ".join(f"{c}={r[c]}" for c in labels) or f"row {i}" for i, r in data[marked].head(3).iterrows()
        )
        raise DesignError(
            f"{int(marked.sum())} of {len(data)} conditions are means of others ({examples}), which are no further "
            "evidence. Leave them out, or use means='drop'. If they are not means, add a column 'is_mean'."
        )
    return data[~marked], int(marked.sum())


def mean_rows(data: pd.DataFrame, labels: list[str]) -> Mask:
    """Whether each row (N,) is a mean of other rows, by a column, by a label, or by its ``before`` and ``after``."""
    if "is_mean" in labels:
        marks: Mask = data["is_mean"].astype(str).str.lower().isin(("true", "1", "1.0", "yes")).to_numpy()
        return marks
    marked = np.zeros(len(data), dtype=bool)
    for column in labels:
        if data[column].dtype.kind not in "iufb":
            text = data[column].astype(str).str.strip().str.lower()
            marked |= text.str.startswith(_MEAN_WORDS).to_numpy()
    values = data[["before", "after"]].to_numpy(dtype=float)
    finite = values[np.isfinite(values)]
    decimals = next((k for k in range(13) if np.allclose(finite, finite.round(k), rtol=0, atol=1e-12)), 12)
    slack = 10.0**-decimals  # half a unit for the row, half for its parts
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


def _paired_t(x: Floats, y: Floats, alternative: Alternative, m: int, conf_level: float) -> Record:
    n, shifts = x.size, y - x
    row: Record = {"term": "mean_shift", "estimate": float(shifts.mean()) if n else math.nan, "n": n}
    spread = float(shifts.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not varies(row["estimate"], spread):
        return {**row, "flag": flags.CONSTANT_SHIFTS if n > 1 else flags.ONE_CONDITION if n else ""}
    t = row["estimate"] / spread
    tail = {"less": stdtr(n - 1, t), "greater": stdtr(n - 1, -t), "two-sided": 2 * stdtr(n - 1, -abs(t))}[alternative]
    test = {"statistic": t, "df": n - 1, "p_value": float(tail), "p_adjusted": min(1.0, m * float(tail))}
    by = methods.PAIRED_T.noting(f"Bonferroni over {m}")
    return {**row, **student(row["estimate"], spread, n - 1, conf_level=conf_level, method=by).interval, **test}


def _sign(x: Floats, y: Floats, alternative: Alternative, conf_level: float) -> Record:
    shifts = (y - x)[np.abs(y - x) > 1e-12]
    n, k = shifts.size, int((shifts < 0).sum())
    row: Record = {"term": "share_negative", "estimate": k / n if n else math.nan, "n": n}
    if n:
        low, high = wilson(k, n, conf_level)
        row |= {"conf_low": float(low), "conf_high": float(high)}
    row |= {"p_value": sign_p(k, n, alternative), "method": methods.WILSON.noting("exact sign test", "; ")}
    return {**row, "flag": flags.CONDITIONS_UNMOVED.of(x.size - n)}


def sign_p(k: int, n: int, alternative: Alternative = "two-sided") -> float:
    """P-value of the exact sign test of `k` negative shifts among `n` that are not 0 (``less``); NaN for n = 0."""
    if not n:
        return math.nan
    at_least, at_most = float(bdtr(n - k, n, 0.5)), float(bdtr(k, n, 0.5))
    return {"less": at_least, "greater": at_most, "two-sided": min(1.0, 2 * min(at_least, at_most))}[alternative]


def cohen_d(before: ArrayLike, after: ArrayLike, *, d: D = "pooled", ddof: int = 1) -> float:
    """Cohen's d of two samples: `after` minus `before` in standard deviations (divisor n - ddof), NaN without spread.

    Divided by the ``pooled`` sd, the root of the mean variance (``average``), or the sd of the ``paired`` differences:
    for paired data that is ``average`` divided by about √(2(1 - r)). consensus_illusion paper, Sections 2.1 and 3.2,
    prints d without a formula.
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
