"""Which rows are chosen: the largest, the smallest, those of which something holds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from judgestats.published.values import SAME, UNDECIDED, Choice, Numbers, Truth

_EPS = 1e-9


def those(truth: Truth, labels: tuple[str, ...]) -> Choice:
    """The rows of which something holds.

    Parameters
    ----------
    truth : Truth
    labels : tuple of str

    Returns
    -------
    Choice
    """
    named, unknown = np.array(labels), np.isnan(truth.values)
    sure = frozenset(map(str, named[truth.values >= SAME]))
    possible = frozenset(map(str, named[(truth.values > 0) | unknown]))
    return Choice(tuple(sorted(sure)), sure, possible, frozenset(labels), unknown=bool(unknown.any()))


def extreme(part: Numbers, labels: tuple[str, ...], k: int, down: bool) -> Choice:
    """The k rows with the largest (or smallest) numbers, in order.

    Parameters
    ----------
    part : Numbers
    labels : tuple of str
    k : int
    down : bool
        Smallest ones.

    Returns
    -------
    Choice
    """
    low, at, high = part.range()
    if down:
        low, at, high = -high, -at, -low
    order = np.argsort(-at, kind="stable")
    others = [np.arange(len(part)) != i for i in range(len(part))]
    beaten = [int(_surely_above(low[o], at[o], at[i], high[i]).sum()) for i, o in enumerate(others)]
    beats = [int(_surely_above(low[i], at[i], at[o], high[o]).sum()) for i, o in enumerate(others)]
    rivals = [len(part) - 1 - int(np.isnan(at[o]).sum()) - n for o, n in zip(others, beats, strict=True)]
    return Choice(
        tuple(labels[i] for i in order[:k]),
        frozenset(labels[i] for i in range(len(part)) if rivals[i] < k and not np.isnan(at[i])),
        frozenset(labels[i] for i in range(len(part)) if beaten[i] < k),
        frozenset(labels),
        {label: (low[i], at[i], high[i]) for i, label in enumerate(labels)},
        bool(np.isnan(at).any()),
    )


def _surely_above(low: Any, at: Any, other: Any, high: Any) -> Any:
    """Whether numbers are above others in every reading; equal prints are not."""
    return (at > other) & (low >= high - _EPS * np.abs(high))


def chosen(part: Choice, wanted: tuple[str, ...]) -> float:
    """Whether these rows are the chosen ones.

    Parameters
    ----------
    part : Choice
    wanted : tuple of str
        Labels that there are.

    Returns
    -------
    float
        1, 0, undecided, or NaN where a number that is not printed could change it.
    """
    asked = frozenset(wanted)
    if not (part.sure <= asked <= part.possible):
        return 0.0
    settled = part.sure == asked == part.possible
    for one, two in pairwise(wanted) if part.ranges else ():
        (low, at, high), (low2, at2, high2) = part.ranges[one], part.ranges[two]
        if _surely_above(low2, at2, at, high):
            return 0.0
        settled = settled and bool(_surely_above(low, at, at2, high2))
    return np.nan if part.unknown else 1.0 if settled else UNDECIDED
