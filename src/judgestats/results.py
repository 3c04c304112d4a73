"""The vocabulary of a result: its columns, its methods and its flags.

Every measure returns a plain pandas DataFrame: the ``by`` columns, then :data:`COLUMNS`. May import kernels and errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Columns of every estimate, after the ``by`` columns.
COLUMNS = ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag")

#: Doubt, in the row it belongs to.
LEFT_CENSORED = "left-censored"
RIGHT_CENSORED = "right-censored"
CEILING = "ceiling"
NOT_INDEPENDENT = "calls not independent"
#: Counts that do not say what their calls share: the interval takes them as independent.
CLUSTERING_UNKNOWN = "clustering unknown"
SMALL_N = "n < 30"
NO_DATA = "no data"
FEW_CLUSTERS = "fewer than 10 clusters"
#: A bootstrap of clusters needs more of them: docs/coverage.csv.
FEW_DRAWN = "fewer than 30 clusters"
#: Intervals by pair where items are too few to be the clusters.
PAIRS_OF_AN_ITEM = "pairs of an item not independent"
#: A judge that stands in one table with another that judged none of its items.
NOTHING_IN_COMMON = "no item shared with another judge"
FORCED_CHOICE = "forced choice"
SINGLE_RUN = "single run"
SIGN_CHANGED = "sign changed"
ZERO_BASE = "base is zero"
UNBOUNDED = "base not told from zero"
BY_STRUCTURE = "0 by structure"
CONSTANT = "constant scores"
ONE_UNIT = "one unit"
FEW_RATERS = "fewer than 10 raters"
RESAMPLES_AGREE = "resamples agree"
#: Of an interval from resamples that are biased: what the bias hides beyond them is not covered.
BIASED = "biased by over half a standard error"
#: Of a ladder on which some step was not asked: between the steps that were, a threshold cannot be placed.
INCOMPLETE_LADDER = "incomplete ladder"
#: Below it the coverage of a 95 % interval of kappa, AC1 or alpha falls under 93 % in simulations.
FEW_DISAGREEMENTS = "fewer than 20 disagreements"


def flags(*names: str | None) -> str:
    """Join flags into one cell, dropping the empty ones.

    Parameters
    ----------
    *names : str or None
        Flags; empty strings and None are left out, repeats are kept once.

    Returns
    -------
    str
        The flags, separated by ``"; "``, or an empty string.

    Examples
    --------
    >>> flags("n < 30", None, "", "ceiling")
    'n < 30; ceiling'
    """
    return "; ".join(dict.fromkeys(n for n in names if n))


def incomplete_ladder(steps: NDArray[np.float64], named: NDArray[np.float64] | None = None) -> str:
    """Flag of a ladder of which some step is missing, or that has another.

    Parameters
    ----------
    steps : (L,) float array
        Steps that were asked, in increasing order; one at least.
    named : float array, optional
        Steps of the ladder; by default 1, 2, ... to the largest that was asked.

    Returns
    -------
    str
        Empty where the ladder is complete.

    Examples
    --------
    >>> incomplete_ladder(np.array([1.0, 5.0])), incomplete_ladder(np.array([1.0, 5.0]), np.array([1.0, 5.0]))
    ('incomplete ladder: not asked at 2, 3, 4', '')
    >>> incomplete_ladder(np.array([0.5, 1.0]))
    'incomplete ladder: 0.5 is none of 1, 2, ..., name the steps in steps='
    """
    whole = np.arange(1.0, math.ceil(min(steps[-1], 1000.0)) + 1) if named is None else named
    beside, missing = np.setdiff1d(steps, whole), np.setdiff1d(whole, steps)
    if beside.size:
        known = "1, 2, ..." if named is None else ", ".join(f"{s:g}" for s in named)
        return f"{INCOMPLETE_LADDER}: {beside[0]:g} is none of {known}, name the steps in steps="
    if not missing.size:
        return ""
    more = f" and {missing.size - 5} more" if missing.size > 5 else ""
    return f"{INCOMPLETE_LADDER}: not asked at {', '.join(f'{s:g}' for s in missing[:5])}{more}"


def few_clusters(clusters: int, *, drawn: bool = False) -> str:
    """Return the flag of an interval by so many clusters, or an empty string.

    Parameters
    ----------
    clusters : int
        How many there are.
    drawn : bool
        Whether the interval is a bootstrap of them, which needs more.

    Examples
    --------
    >>> few_clusters(9), few_clusters(20), few_clusters(20, drawn=True)
    ('fewer than 10 clusters', '', 'fewer than 30 clusters')
    """
    if clusters < 10:
        return ONE_UNIT if clusters < 2 else FEW_CLUSTERS
    return FEW_DRAWN if drawn and clusters < 30 else ""


def estimates(
    rows: Iterable[Mapping[str, Any]], by: Sequence[str] = (), extra: Sequence[str] = (), *, sort: bool = True
) -> pd.DataFrame:
    """Build the tidy result frame from its rows.

    Parameters
    ----------
    rows : iterable of mapping
        Each with the `by` columns, ``term`` and ``estimate``; whatever else of :data:`COLUMNS` is absent becomes NaN
        (numbers) or an empty string (``method``, ``flag``).
    by : sequence of str
        Grouping columns; the result is sorted by them, the order of terms within a group is kept.
    extra : sequence of str
        Further columns, after :data:`COLUMNS`.
    sort : bool
        False keeps the order of the rows.

    Returns
    -------
    pandas.DataFrame
        Columns `by`, then :data:`COLUMNS`, then `extra`.

    Examples
    --------
    >>> estimates([{"judge": "b", "term": "x", "estimate": 0.5}, {"judge": "a", "term": "x", "estimate": 0.1}],
    ...           by=["judge"])[["judge", "term", "estimate"]]
      judge term  estimate
    0     a    x       0.1
    1     b    x       0.5
    """
    columns = [*by, *COLUMNS, *extra]
    frame = pd.DataFrame(list(rows)).reindex(columns=columns)
    for name in ("estimate", "std_error", "conf_low", "conf_high", "n"):
        frame[name] = pd.to_numeric(frame[name]).astype(float)
    for name in ("method", "flag"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "").astype("str")
    if sort and by and len(frame):
        frame = frame.sort_values(list(by), kind="stable", ignore_index=True)
    return frame
