"""Designs in the form that other libraries take: one row for each call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.errors import FitError
from judgestats.models.designs import Design

#: Calls that are written out, at most.
MOST_CALLS = 2_000_000


def taken(design: Design, rows: NDArray[Any], **changes: Any) -> Design:
    """Some rows of a design, in some order, each as often as it is named.

    Parameters
    ----------
    design : Design
    rows : (M,) int array
    **changes
        Fields that differ.

    Returns
    -------
    Design
    """
    terms = tuple(replace(t, values=t.values[rows], codes=t.codes[rows]) for t in design.terms)
    arrays = {name: getattr(design, name)[rows] for name in ("y", "trials", "X", "offset", "count", "weights")}
    own = {**arrays, "terms": terms, "frame": design.frame.iloc[rows].reset_index(drop=True), **changes}
    return replace(design, **own)


def bernoulli(design: Design) -> Design:
    """Write ``cbind(k, n - k)`` as counted rows of 0 and 1; other designs are as they were.

    Parameters
    ----------
    design : Design
        Of a binomial model.

    Returns
    -------
    Design
        With 1 trial in each row.

    Examples
    --------
    >>> import pandas as pd
    >>> from judgestats.models.designs import design
    >>> coded = design("cbind(k, m - k) ~ x", pd.DataFrame({"k": [1, 2], "m": [4, 2], "x": [0, 1]}), family="binomial")
    >>> bernoulli(coded).y, bernoulli(coded).count
    (array([0., 1., 1.]), array([3., 1., 2.]))
    """
    if (design.trials == 1).all():
        return design
    rows = np.repeat(np.arange(len(design.y)), 2)
    y = np.tile([0.0, 1.0], len(design.y))
    number = np.where(y == 1, design.y[rows], design.trials[rows] - design.y[rows])
    kept = number > 0
    count = design.count[rows] * number
    return taken(design, rows[kept], y=y[kept], trials=np.ones(int(kept.sum())), count=count[kept])


def repeated(design: Design, engine: str) -> Design:
    """Write every row as often as it is counted.

    Parameters
    ----------
    design : Design
    engine : str
        Who asks for it.

    Returns
    -------
    Design
        With a count of 1 in each row.

    Raises
    ------
    FitError
        If a count is not whole, or there are more than 2,000,000 calls.
    """
    if (design.count == 1).all():
        return design
    if (design.count % 1 != 0).any():
        raise FitError(
            f"engine={engine!r} takes each call by itself: the counts must be whole numbers. Use engine='ml'."
        )
    if design.count.sum() > MOST_CALLS:
        raise FitError(
            f"engine={engine!r} takes each call by itself, and {design.count.sum():,.0f} are more than {MOST_CALLS:,}. "
            "Use engine='ml', which works on counts."
        )
    rows = np.repeat(np.arange(len(design.y)), design.count.astype(np.int64))
    return taken(design, rows, count=np.ones(len(rows)))
