"""Ratings as one mean score for each subject, judge and level of the facets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError
from judgestats.models.hierarchical.doubts import ASIDE, AVERAGED, INCOMPLETE
from judgestats.schema.cells import ABOUT, cells

#: What each parameter is.
MEANINGS = {
    "level": "mean score, about the middle of the data",
    "subject": "sd of the subjects: what the scores are about",
    "judge": "sd of the judges: how severe they are",
    "residual": "sd of the rest, the judges' tastes included",
}


def read(ratings: Any, subjects: list[str], facets: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Mean score of each subject, judge and level of the facets, the subject as one label; and flags of all estimates.

    Parameters
    ----------
    ratings : frame
    subjects, facets : list of str
        Columns.

    Returns
    -------
    table : pandas.DataFrame
    doubts : list of str
    """
    if twice := [c for c in subjects if c in facets or c == "judge"] + [c for c in facets if c == "judge"]:
        raise DesignError(f"{twice[0]!r} has two parts to play among subjects=, facets= and the judges. Drop one.")
    if wrong := [c for c in facets if c in MEANINGS]:
        raise DesignError(f"A facet cannot be called {wrong[0]!r} here. Rename the column.")
    table = cells(ratings, [c for c in (*subjects, *facets) if c not in ABOUT])
    missing = float(table["n_missing"].sum()) if "n_missing" in table else 0.0
    known = table[table["mean"].notna()]
    keys = [*subjects, *facets, "judge"]
    doubts = [
        f"{ASIDE}: {missing:.0f}" if missing else "",
        AVERAGED if (known["runs"] > 1).any() else "",
        *(f"averaged over {c}" for c in ABOUT if c not in keys and known[c].nunique() > 1),
    ]
    table = known.groupby(keys, as_index=False, observed=True, sort=True)["mean"].mean()
    subject = table[subjects].astype(str).agg("\x1f".join, axis=1) if len(table) else pd.Series([], dtype=str)
    return table.assign(subject=subject), doubts + [INCOMPLETE] * (not _complete(table, subject, facets))


def _complete(table: pd.DataFrame, subject: pd.Series[Any], facets: list[str]) -> bool:
    levels = [subject.nunique(), *(table[c].nunique() for c in (*facets, "judge"))]
    return len(table) == int(np.prod(levels))
