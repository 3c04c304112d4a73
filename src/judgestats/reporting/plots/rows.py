"""Rows of an estimate frame as pictures need them: whose they are, which step, which one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError
from judgestats.results import COLUMNS

#: Columns before ``term`` that do not say whose a row is.
_NOT_WHOSE = {"section", "vacuum_kind", "stimulus", "delta", "system", "item", "criterion", "own", *COLUMNS}
_STEP = re.compile(r"Δ = (-?[\d.]+(?:e[+-]?\d+)?)$")


def require(frame: Any, *columns: str) -> None:
    """Refuse what is no table of estimates with these columns.

    Parameters
    ----------
    frame : object
        What a picture was given.
    *columns : str
        Columns that the picture reads.

    Raises
    ------
    DesignError
        It names what is needed and what there is.

    Examples
    --------
    >>> require(pd.DataFrame({"judge": ["g"], "term": ["x"]}), "judge", "term")
    """
    wanted = ", ".join(columns)
    if not isinstance(frame, pd.DataFrame):
        raise DesignError(f"The picture needs a pandas table of estimates with {wanted}, and got: {type(frame)!r}.")
    absent = [c for c in columns if c not in frame.columns]
    if absent:
        have = ", ".join(map(str, frame.columns)) or "none"
        raise DesignError(f"The picture needs the columns {wanted}. Missing: {', '.join(absent)}. Columns: {have}.")


def whose(frame: pd.DataFrame) -> pd.Series[Any]:
    """Label of each row: its judge, and the values of the further grouping columns.

    Parameters
    ----------
    frame : pandas.DataFrame
        Estimates, or a datasheet.

    Returns
    -------
    pandas.Series
        Text, on the index of `frame`.

    Examples
    --------
    >>> whose(pd.DataFrame({"judge": ["g"], "strategy": ["CoT"], "term": ["x"], "estimate": [1.0]})).item()
    'g · CoT'
    """
    if "judge" not in frame.columns:
        raise DesignError(f"A picture needs a column judge. Columns: {', '.join(map(str, frame.columns))}.")
    columns = list(frame.columns)
    end = min((columns.index(c) for c in ("section", "term") if c in columns), default=len(columns))
    groups = ["judge", *(c for c in columns[:end] if c not in _NOT_WHOSE and c != "judge")]
    parts = [frame[g].astype(object).map(_told) for g in groups]
    return pd.Series([" · ".join(p) for p in zip(*parts, strict=True)], index=frame.index, dtype=object)


def _told(value: Any) -> str:
    if isinstance(value, float):
        return "—" if np.isnan(value) else f"{value:g}"
    return "—" if value is None else str(value)


def step(frame: pd.DataFrame) -> pd.Series[Any]:
    """Step of the ladder of each row, from ``delta`` or from the ``detail`` of a datasheet; NaN off the ladder."""
    if "delta" in frame.columns:
        return frame["delta"].astype(float)
    if "detail" not in frame.columns:
        return pd.Series(np.nan, index=frame.index)
    found = [_STEP.search(str(c)) for c in frame["detail"]]
    return pd.Series([float(m.group(1)) if m else np.nan for m in found], index=frame.index)


def terms(frame: pd.DataFrame, *wanted: str, needed: bool = True) -> pd.DataFrame:
    """Rows of these terms, with columns ``who`` and ``step``.

    Parameters
    ----------
    frame : pandas.DataFrame
        Estimates, or a datasheet.
    *wanted : str
        Terms.
    needed : bool
        Refuse a frame without any.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DesignError
        If there is none, and one is needed; or if `frame` lacks ``judge``, ``term`` or ``estimate``.
    """
    require(frame, "judge", "term", "estimate")
    here = frame[frame["term"].isin(wanted)]
    if "section" in here.columns:
        here = here[~here["section"].astype(str).str.endswith("different subset")]
    if needed and not here["estimate"].notna().any():
        have = ", ".join(sorted(set(map(str, frame["term"])))) or "none"
        raise DesignError(
            f"The picture needs {', '.join(wanted)}, and the estimates have no such row with a value. Terms: {have}."
        )
    return here.assign(who=whose(here), step=step(here))


def one_each(frame: pd.DataFrame, term: str) -> pd.DataFrame:
    """One row a judge of a term that has one: index ``who``. Dark current is taken pooled over the kinds of vacuum."""
    here = terms(frame, term, needed=False)
    for column in ("vacuum_kind", "detail"):
        if term == "dark_current" and column in here.columns:
            pooled = here[column].isna() | here[column].astype(object).isin(["all", ""])
            here = here[pooled | ~here["who"].isin(here.loc[pooled, "who"])]
    return here.drop_duplicates("who").set_index("who")


def order_of(frame: pd.DataFrame) -> list[str]:
    """Judges in the order in which they come."""
    return list(dict.fromkeys(whose(frame)))
