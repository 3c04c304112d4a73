"""Rows of tests that compare models, or linear functions of the parameters with 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import chdtrc, stdtr

from judgestats import flags
from judgestats.models.bias_models.effect_rows import fit_flags, without
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.delta_method import spread
from judgestats.models.postestimation.reference_distributions import f_tail
from judgestats.typing import Floats, Record

#: Columns of the tests, after the grouping columns.
TESTS = ("question", "compared", "test", "statistic", "df", "df_error", "p_value", "flag")


def by_rule(terms: int) -> Literal["auto"] | int:
    """``n_quadrature=`` of models that are compared: Laplace's approximation if one has several random terms."""
    return "auto" if terms <= 1 else 1


def tested(
    question: str,
    compared: str,
    test: str,
    statistic: float,
    df: float,
    df_error: float,
    p_value: float,
    flag: str,
) -> Record:
    """One row of the tests."""
    return dict(zip(TESTS, (question, compared, test, statistic, df, df_error, p_value, flag), strict=True))


def student(row: Record, df: float, question: str, compared: str) -> Record:
    """The t test that goes with the interval of an estimate."""
    t = row["estimate"] / row["std_error"]
    return tested(question, compared, "t", t, df, math.nan, 2 * float(stdtr(df, -abs(t))), row["flag"])


def likelihood_ratio(small: Fitted, large: Fitted, question: str, compared: str, *, variance: bool = False) -> Record:
    """Compare two nested fits; `variance`: they differ by variances alone, which the smaller has at 0.

    Of K variances p is the mean of the tails with K - 1 and K degrees of freedom: exact for one, for more an upper
    limit (Self and Liang 1987).
    """
    df = large.df - small.df
    statistic = 2 * (large.loglik - small.loglik)
    lower = statistic < -1e-3
    statistic = max(statistic, 0.0)
    if df < 1 or lower or math.isnan(statistic):
        p = math.nan
    elif variance:
        fewer = float(chdtrc(df - 1, statistic)) if df > 1 else 0.0
        p = (fewer + float(chdtrc(df, statistic))) / 2 if statistic > 1e-6 else 1.0
    else:
        p = float(chdtrc(df, statistic))
    same = small.approximation == large.approximation or not (small.design.terms and large.design.terms)
    notes = [*small.notes, *large.notes] if variance else without([*small.notes, *large.notes])
    flag = flags.join(*notes, flags.LARGER_WORSE if lower else None, None if same else flags.UNLIKE)
    return tested(question, compared, "LR", statistic, df, math.nan, p, flag)


def wald(fit: Fitted, C: Floats, question: str, compared: str, df_error: float = math.inf) -> Record:
    """Joint test that K linear functions of the parameters, `C` (K, P), are 0: Wald's, or F with `df_error`."""
    value, V = C @ fit.params, C @ np.nan_to_num(fit.covariance, nan=0.0) @ C.T
    estimable = len(C) > 0 and np.isfinite(spread(C, fit.covariance)).all() and np.linalg.matrix_rank(V) == len(C)
    F = float(value @ np.linalg.solve(V, value)) / len(C) if estimable else math.nan
    p = float(f_tail(*(np.array(v, float) for v in (F, len(C), df_error))))
    flag = fit_flags(fit)
    if math.isinf(df_error):
        return tested(question, compared, "Wald", F * len(C), len(C), math.nan, p, flag)
    return tested(question, compared, "F", F, len(C), df_error, p, flag)


def comparisons(rows: Sequence[Record], by: Sequence[str] = ()) -> pd.DataFrame:
    """Frame of tests; grouping columns `by` are empty text in rows that compare the groups."""
    table = pd.DataFrame(list(rows)).reindex(columns=[*by, *TESTS])
    table["flag"] = table["flag"].astype(object).where(table["flag"].notna(), "").astype("str")
    for name in by:
        if table[name].isna().any():
            table[name] = table[name].astype(object).where(table[name].notna(), "")
    return table
