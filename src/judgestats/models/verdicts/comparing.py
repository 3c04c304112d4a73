"""Comparisons of nested fits, and tests of what a fit says: rows of the tests of a bias model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc

from judgestats.models.fitted import Fitted
from judgestats.models.verbs.delta import spread
from judgestats.models.verdicts.reports import Row, doubts, without
from judgestats.results import flags

Floats = NDArray[np.float64]

#: Columns of the tests, after those that group them.
TESTS = ("question", "compared", "test", "statistic", "df", "p_value", "flag")
#: Two likelihoods approximated in two ways.
UNLIKE = "different approximations compared"


def by_rule(terms: int) -> Literal["auto"] | int:
    """``n_quadrature=`` of models that are compared, the largest of which has so many random terms.

    Several terms need Laplace's approximation, and what is compared with it has it too.
    """
    return "auto" if terms <= 1 else 1


def likelihood_ratio(small: Fitted, large: Fitted, question: str, compared: str, *, variance: bool = False) -> Row:
    """Compare two nested fits.

    Parameters
    ----------
    small, large : Fitted
    question, compared : str
    variance : bool
        Whether they differ in one variance alone: it lies on its boundary under the smaller model, and half of the
        chances are 0 (Self and Liang 1987).

    Returns
    -------
    dict
        Row of the tests.
    """
    df = large.df - small.df
    statistic = 2 * (large.loglik - small.loglik)
    lower = statistic < -1e-3
    statistic = max(statistic, 0.0)
    if df < 1 or lower or math.isnan(statistic):
        p = math.nan
    elif variance:
        p = 0.5 * float(chdtrc(1, statistic)) if statistic > 1e-6 else 1.0
    else:
        p = float(chdtrc(df, statistic))
    same = small.approximation == large.approximation or not (small.design.terms and large.design.terms)
    notes = [*small.notes, *large.notes] if variance else without([*small.notes, *large.notes])
    flag = flags(*notes, "larger model fits worse" if lower else None, None if same else UNLIKE)
    return {
        "question": question,
        "compared": compared,
        "test": "LR",
        "statistic": statistic,
        "df": df,
        "p_value": p,
        "flag": flag,
    }


def wald(fit: Fitted, C: Floats, question: str, compared: str) -> Row:
    """Joint test that linear functions of the parameters are 0.

    Parameters
    ----------
    fit : Fitted
    C : (K, P) float array
    question, compared : str

    Returns
    -------
    dict
        Row of the tests.
    """
    value, V = C @ fit.params, C @ np.nan_to_num(fit.covariance, nan=0.0) @ C.T
    known = len(C) > 0 and np.isfinite(spread(C, fit.covariance)).all() and np.linalg.matrix_rank(V) == len(C)
    statistic = float(value @ np.linalg.solve(V, value)) if known else math.nan
    p = float(chdtrc(len(C), statistic)) if known else math.nan
    flag = doubts(fit)
    return {
        "question": question,
        "compared": compared,
        "test": "Wald",
        "statistic": statistic,
        "df": len(C),
        "p_value": p,
        "flag": flag,
    }


def comparisons(rows: Sequence[Row], by: Sequence[str] = ()) -> pd.DataFrame:
    """Put rows of tests together.

    Parameters
    ----------
    rows : sequence of dict
    by : sequence of str
        Columns that group them; empty text where a row names none.

    Returns
    -------
    pandas.DataFrame
    """
    table = pd.DataFrame(list(rows)).reindex(columns=[*by, *TESTS])
    table["flag"] = table["flag"].astype(object).where(table["flag"].notna(), "").astype("str")
    for name in by:  # a comparison between all groups belongs to none
        if table[name].isna().any():
            table[name] = table[name].astype(object).where(table[name].notna(), "")
    return table
