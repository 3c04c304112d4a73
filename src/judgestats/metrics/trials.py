"""Each measure, tried on a data set with the arguments that the data themselves suggest; or why it cannot be taken."""

from __future__ import annotations

from typing import Any

import pandas as pd

from judgestats.errors import JudgestatsError
from judgestats.metrics.questions import PREFERENCE_TRIALS, RATING_TRIALS, Options, Trial, columns_of
from judgestats.schema.columns import kind_of

__all__ = ["Options", "Trial", "attempt", "attempts", "trials"]


def attempt(trial: Trial, data: Any, options: Options) -> pd.DataFrame | str:
    """Take a measure, or say why it gives no number.

    Parameters
    ----------
    trial : Trial
    data : frame
        Preferences or ratings.
    options : Options

    Returns
    -------
    pandas.DataFrame or str
        Estimates with a number among them, or the reason.
    """
    try:
        result = trial.take(data, options)
    except JudgestatsError as error:
        return str(error).partition(" Columns: ")[0]
    if isinstance(result, str) or result["estimate"].notna().any():
        return result
    doubts = "; ".join(dict.fromkeys(f for f in result["flag"] if f))
    return f"no number comes out: {doubts or 'no row is of use'}"


def attempts(data: Any, options: Options) -> dict[str, pd.DataFrame | str]:
    """Take every measure of this kind of data.

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    options : Options

    Returns
    -------
    dict of str to (pandas.DataFrame or str)
        Estimates, or why there are none.
    """
    return {measure: attempt(trial, data, options) for measure, trial in trials(data).items()}


def trials(data: Any) -> dict[str, Trial]:
    """Measures of this kind of data, in the order of a page.

    Parameters
    ----------
    data : frame
        Preferences or ratings.

    Returns
    -------
    dict of str to Trial

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    """
    return RATING_TRIALS if kind_of(columns_of(data)) == "ratings" else PREFERENCE_TRIALS
