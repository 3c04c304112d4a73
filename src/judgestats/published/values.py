"""What an expression over printed cells is worth: numbers with their range, truths that may be undecided, texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.published.books import Cell

Floats = NDArray[np.float64]
#: A comparison that the printed precision does not settle.
UNDECIDED = 0.5
#: Two numbers that are equal as far as their digits go: enough for "equal", not enough against "not equal".
SAME = 0.75
_EPS = 1e-9
#: What sums of doubles may be off by, near zero.
_DUST = 1e-14


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers, each in every reading of the printed cells.

    Attributes
    ----------
    values : (m, P) float array
        Column 0 as printed; each further column moves one cell by half a unit of its last digit.
    cells : tuple of cells
        Where the m numbers stand; empty for what was computed.
    open : (m, 2) float array
        What an undecided count leaves open, downwards (not positive) and upwards.
    texts : tuple of str
        As printed, of cells.
    corners : (m, k) float array
        The numbers where all cells move at once (:meth:`directions`); a product or a ratio goes further there than
        the sum of its single moves.
    """

    values: Floats
    cells: tuple[Cell, ...] = ()
    open: Floats = field(default_factory=lambda: np.zeros((1, 2)))
    texts: tuple[str, ...] = ()
    corners: Floats = field(default_factory=lambda: np.zeros((1, 0)))

    def range(self) -> tuple[Floats, Floats, Floats]:
        """Low, value and high, each of shape (m,): first-order bounds over all cells at once, or the corners."""
        at, pairs = self.values[:, 0], self._pairs()
        with np.errstate(invalid="ignore"):  # infinite ones
            low = at + np.minimum(pairs.min(axis=2, initial=0), 0).sum(axis=1) + self.open[:, 0]
            high = at + np.maximum(pairs.max(axis=2, initial=0), 0).sum(axis=1) + self.open[:, 1]
        corners = np.broadcast_to(self.corners, (len(at), self.corners.shape[1]))
        return np.fmin.reduce([low, *corners.T]), at, np.fmax.reduce([high, *corners.T])

    def directions(self) -> Floats:
        """Moves of the open cells, (cells, 5): none, all that raise the number, all that lower it, all up, all down.

        Of several numbers, the one that a cell moves most decides.
        """
        pairs = self._pairs()
        most = pairs[np.abs(pairs).max(axis=2).argmax(axis=0), np.arange(pairs.shape[1])]
        up, one = np.where(most[:, 0] >= most[:, 1], 1.0, -1.0), np.ones(len(most))
        return np.column_stack([0 * one, up, -up, one, -one])

    def _pairs(self) -> Floats:
        """What each open cell changes, (m, cells, 2): up and down; 0 in a reading without a value (a root of -0.01)."""
        with np.errstate(invalid="ignore"):
            moved = self.values[:, 1:] - self.values[:, :1]
        return np.where(np.isnan(moved), 0.0, moved).reshape(len(moved), -1, 2)

    def __len__(self) -> int:
        """The number of numbers."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Truth:
    """Truths: 1, 0, or one half where the printed precision does not settle it."""

    values: Floats
    cells: tuple[Cell, ...] = ()

    def __len__(self) -> int:
        """How many."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of cells, or of an expression."""

    values: tuple[str, ...]
    cells: tuple[Cell, ...] = ()

    def __len__(self) -> int:
        """How many."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Choice:
    """Which rows are chosen of those labelled so.

    Attributes
    ----------
    found : tuple of str
        By the printed numbers.
    sure, possible : frozenset of str
        Whatever the digits that are not printed, and for some of them.
    labels : frozenset of str
        All rows.
    ranges : mapping
        Where the rows have an order: label -> low, value and high.
    unknown : bool
        Whether a number that the choice needs is not printed.
    """

    found: tuple[str, ...]
    sure: frozenset[str]
    possible: frozenset[str]
    labels: frozenset[str]
    ranges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    unknown: bool = False


Value = Numbers | Truth | Texts | Choice


def constant(value: float) -> Numbers:
    """A number that is exact.

    Parameters
    ----------
    value : float

    Returns
    -------
    Numbers
    """
    return Numbers(np.full((1, 1), float(value)))


def combined(
    function: Callable[..., Any], *parts: Numbers, over: bool = False, options: Mapping[str, float] | None = None
) -> Numbers:
    """A function of numbers, in every reading.

    Parameters
    ----------
    function : callable
        Of arrays of shape (m, P).
    *parts : Numbers
    over : bool
        Whether it reduces the m numbers to one.
    options : mapping, optional
        Of the function.

    Returns
    -------
    Numbers
    """
    width = max(p.values.shape[1] for p in parts)
    arrays = [np.broadcast_to(p.values, (len(p), width)) if over else p.values for p in parts]
    made = np.atleast_2d(np.asarray(function(*arrays, **(options or {})), dtype=float))
    opened = np.zeros((len(made), 2))
    for part in parts:
        for end in part.open.T if part.open.any() else ():
            ends = [p.values[:, :1] + (end[:, None] if p is part else 0.0) for p in parts]
            moved = np.atleast_2d(np.asarray(function(*ends, **(options or {})), dtype=float))[:, 0] - made[:, 0]
            opened += np.column_stack([np.fmin(moved, 0.0), np.fmax(moved, 0.0)])
    return Numbers(made, open=opened)


def compared(sign: str, left: Numbers, right: Numbers, difference: Numbers | None = None) -> Truth:
    """Compare numbers within their printed precision.

    Parameters
    ----------
    sign : str
        As in Python.
    left, right : Numbers
    difference : Numbers, optional
        Left less right, where its range is known better than to first order.

    Returns
    -------
    Truth
        Equality asks for ranges that meet. Where two printed numbers are the same, ``>=`` holds and ``>`` is undecided.
    """
    made = combined(np.subtract, left, right) if difference is None else difference
    low, at, high = made.range()
    slack = np.maximum(_EPS * np.maximum(np.abs(left.values[:, 0]), np.abs(right.values[:, 0])), _DUST)
    exact, counted = high - low <= slack, made.open.any(axis=1)
    if sign in ("==", "!="):
        equal = np.where(exact, 1.0, np.where(counted, UNDECIDED, SAME)) * ((low <= slack) & (high >= -slack))
        truth = equal if sign == "==" else 1 - equal
    else:
        low, at, high = (low, at, high) if sign in (">", ">=") else (-high, -at, -low)
        truth = _above(low, at, high, slack, "=" in sign)
        # an undecided count reaches the ends of its range, which rounded digits do not
        reached, missed = (low >= -slack, high < -slack) if "=" in sign else (low > slack, high <= slack)
        truth = np.where(counted, np.where(reached, 1.0, np.where(missed, 0.0, UNDECIDED)), truth)
    cells = next((p.cells for p in (left, right) if len(p.cells) == len(truth)), ())
    return Truth(np.where(np.isnan(made.values[:, 0]), np.nan, truth), cells)


def _above(low: Floats, at: Floats, high: Floats, slack: Floats, even: bool) -> Floats:
    """Whether a difference is above zero, or (`even`) not below."""
    yes, no = (at > slack) & (low >= -slack), (at < -slack) & (high <= slack)
    tie = 1.0 if even else np.where(high - low <= slack, 0.0, UNDECIDED)
    return np.where(np.abs(at) <= slack, tie, np.where(yes, 1.0, np.where(no, 0.0, UNDECIDED)))


def increasing(part: Numbers, strict: bool, down: bool) -> Truth:
    """Whether each number is at least (or above) the one before it.

    Parameters
    ----------
    part : Numbers
    strict, down : bool

    Returns
    -------
    Truth
    """
    sign = ("<" if down else ">") + ("" if strict else "=")
    later, earlier = Numbers(part.values[1:]), Numbers(part.values[:-1])
    return Truth(every(compared(sign, later, earlier).values)) if len(part) > 1 else Truth(np.ones(1))


def every(values: Floats) -> Floats:
    """1 if all are, 0 if one is not, whatever is unknown of others; else the least sure of them.

    Parameters
    ----------
    values : (k, ...) float array

    Returns
    -------
    float array
        Over the first axis; one value at least.
    """
    if not len(values):
        return np.full(1, np.nan)
    return np.atleast_1d(np.where((values == 0).any(axis=0), 0.0, values.min(axis=0)))


def quantified(name: str, values: Floats) -> Numbers | Truth:
    """All, none, any or the count of truths.

    Parameters
    ----------
    name : str
    values : (m,) float array

    Returns
    -------
    Numbers or Truth
        A count is open upwards for what is undecided, or not printed.
    """
    if name == "count":
        sure, possible = float((values >= SAME).sum()), float((np.isnan(values) | (values > 0)).sum())
        return replace(constant(sure), open=np.array([[0.0, possible - sure]]))
    if name == "any":
        return Truth(1 - every(1 - values))
    return Truth(every(values if name == "all" else 1 - values))


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
