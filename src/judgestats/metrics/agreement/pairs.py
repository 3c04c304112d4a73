"""Do some pairs of judges agree more than others: :func:`pair_tests`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import fdtrc, stdtr

from judgestats import flags, methods
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.estimate import student, varies
from judgestats.kernels.variance import mean_squares
from judgestats.metrics.measure_registry import Measure
from judgestats.results import COLUMNS, estimates
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Record


@Measure(
    "Do some pairs of judges agree more than others?",
    "agreement",
    "table",
    "t over cells; F tests: none",
    "consensus_illusion, Sec 3.2",
    have=("judges", "printed table"),
    assumes=(
        "Cells are independent of each other; correlations of pairs that share a judge are not, which the "
        "repeated-measures F allows for only in part."
    ),
)
def pair_tests(correlations: IntoFrame, *, by: By = (), conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Compare the pairs of judges in their agreement over cells (systems, or systems x temperatures).

    Parameters
    ----------
    correlations : frame
        A result of :func:`correlation` with ``pairs="each"``; or a table of ``judge``, ``other``, ``estimate`` and
        columns that name the cell (``system``).
    by : str or sequence of str
        Further grouping columns. Each group has tests of its own.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per group ``judge`` and ``other``, the columns of every estimate, ``df1``, ``df2`` and ``p_value``. Term
        ``deviation``, a row for each pair: its mean correlation minus that of all pairs, with a t interval over cells.
        Term ``F_repeated``: F of the pairs with cells as subjects (repeated measures). Term ``F_one_way``: F of the
        pairs as independent groups, as in the paper. ``n`` counts cells, for ``F_one_way`` correlations.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If there are fewer than two pairs, or a pair has several correlations in a cell.

    See Also
    --------
    correlation : Correlation of each pair of judges.

    Notes
    -----
    Pairs share judges, items and cells, so the correlations of one cell are not independent: ``F_one_way`` (SciPy's
    ``f_oneway``) is flagged, and ``F_repeated`` is the better of the two. It assumes equal variances of the differences
    of pairs. Cells that lack a pair are excluded from all but ``F_one_way``.

    Source: consensus_illusion paper, Section 3.2: F(2, 93) = 14.7, which is one-way over three pairs and 32 systems.

    Examples
    --------
    >>> table = pd.DataFrame({"judge": ["a", "a", "b"] * 4, "other": ["b", "c", "c"] * 4,
    ...                       "system": list("wwwxxxyyyzzz"),
    ...                       "estimate": [.8, .7, .6, .7, .7, .5, .9, .7, .7, .8, .6, .5]})
    >>> pair_tests(table)[["judge", "other", "term", "estimate", "p_value", "n"]].round(3)
      judge other        term  estimate  p_value     n
    0     a     b   deviation     0.117    0.012   4.0
    1     a     c   deviation    -0.008    0.789   4.0
    2     b     c   deviation    -0.108    0.007   4.0
    3              F_repeated    16.636    0.004   4.0
    4               F_one_way     8.318    0.009  12.0
    """
    table = Study.of(correlations).data.lazy().collect(backend="pandas").to_native()
    absent = [c for c in ("judge", "other", "estimate") if c not in table.columns]
    if absent:
        raise SchemaError(
            f"The table lacks {', '.join(absent)}. Columns: {', '.join(map(str, table.columns))}. Give a result of "
            "correlation(pairs='each')."
        )
    if "term" in table.columns:
        table = table[~table["term"].isin(["mean", "sd"])]  # those of all cells
    groups = grouping(by, table.columns, "table") if names(by) else []
    other_columns = {*COLUMNS, "p_value", "unit", "judge", "other", *groups}
    cell = [c for c in table.columns if c not in other_columns]
    if not cell:
        raise SchemaError("The table has no column that names the cell of a correlation. Add one, e.g. 'system'.")
    rows: list[Record] = []
    for key, part in table.groupby(groups, dropna=False, sort=True) if groups else [((), table)]:
        rows += [{**dict(zip(groups, key, strict=True)), **row} for row in _pair_test_rows(part, cell, conf_level)]
    return estimates(rows, [*groups, "judge", "other"], ["df1", "df2", "p_value"], sort=False)


def _pair_test_rows(part: pd.DataFrame, cell: list[str], conf_level: float) -> list[Record]:
    repeats = part.duplicated([*cell, "judge", "other"])
    if repeats.any():
        row = part[repeats].iloc[0]
        raise DesignError(
            f"{row['judge']} and {row['other']} have several correlations in one cell ({', '.join(cell)}). Name the "
            "column that distinguishes them in by=."
        )
    wide = part.pivot(index=cell, columns=["judge", "other"], values="estimate").sort_index(axis=1)
    if wide.shape[1] < 2:
        raise DesignError("Pairs are compared with each other: the table has one pair. Give three judges or more.")
    values, complete = wide.to_numpy(dtype=float), wide.dropna().to_numpy(dtype=float)
    n, k = complete.shape
    notes = flags.join(
        flags.EXCLUDED.of(len(wide) - n, what="cell(s) without every pair"),
        flags.NO_DATA if not n else flags.ONE_UNIT if n == 1 else flags.SMALL_N if n < 30 else "",
    )
    deviations = complete - complete.mean(axis=1, keepdims=True) if n else complete
    rows: list[Record] = []
    for p, (judge, other) in enumerate(wide.columns):
        row = {"judge": judge, "other": other, "term": "deviation", "n": n, "flag": notes}
        row["estimate"] = value = float(deviations[:, p].mean()) if n else math.nan
        error = float(deviations[:, p].std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
        if varies(value, error):
            row |= student(value, error, n - 1, conf_level=conf_level, method=methods.T_OF_CELLS, flag=notes).interval
            row["p_value"] = float(2 * stdtr(n - 1, -abs(value) / error))
        elif n > 1:
            row["flag"] = flags.join(notes, flags.NO_SPREAD)
        rows.append(row)
    repeated = {"term": "F_repeated", "n": n, "flag": notes, "method": methods.F_OF_CELLS}
    if n > 1:
        ms = mean_squares(np.ascontiguousarray(complete), np.zeros(1, np.int64))
        pairs, residual = float(ms.raters[0]), float(ms.residual[0])
        df1, df2 = k - 1, (n - 1) * (k - 1)
        if residual > 0:
            repeated |= {"estimate": pairs / residual, "df1": df1, "df2": df2}
            repeated["p_value"] = float(fdtrc(df1, df2, pairs / residual))
        else:
            repeated["flag"] = flags.join(notes, flags.NO_SPREAD)
    samples = [column[~np.isnan(column)] for column in values.T]
    total = sum(len(s) for s in samples)
    one_way = {"term": "F_one_way", "n": total, "method": methods.F_ONE_WAY, "flag": flags.NOT_INDEPENDENT}
    if min(map(len, samples)) and total > k:
        from scipy.stats import f_oneway

        test = f_oneway(*samples)
        one_way |= {"estimate": test.statistic, "p_value": test.pvalue, "df1": k - 1, "df2": total - k}
    else:
        one_way["flag"] = flags.join(flags.ONE_UNIT if min(map(len, samples)) else flags.NO_DATA, flags.NOT_INDEPENDENT)
    return [*rows, *({"judge": "", "other": "", **row} for row in (repeated, one_way))]
