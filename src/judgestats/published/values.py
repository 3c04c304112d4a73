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
    """Truths: 1, 0, or one half where the printed precision does not settle it.

    Attributes
    ----------
    values : (m,) float array
    cells : tuple of cells
        What the m truths are about.
    breaks : tuple of tuples of cells
        Of a truth about many cells, where it breaks: the cells, one or a pair, that each settle it.
    """

    values: Floats
    cells: tuple[Cell, ...] = ()
    breaks: tuple[tuple[Cell, ...], ...] = ()

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
        Equality asks for ranges that overlap: .53 and .54 touch and are not equal. Where two printed numbers are the
        same, ``>=`` holds and ``>`` is undecided.
    """
    made = combined(np.subtract, left, right) if difference is None else difference
    low, at, high = made.range()
    slack = np.maximum(_EPS * np.maximum(np.abs(left.values[:, 0]), np.abs(right.values[:, 0])), _DUST)
    exact, counted = high - low <= slack, made.open.any(axis=1)
    if sign in ("==", "!="):
        # ranges that only touch print different digits, .53 and .54; an undecided count does reach its ends
        overlap, touch = (low < -slack) & (high > slack), (low <= slack) & (high >= -slack)
        meet = (np.abs(at) <= slack) | overlap | (touch & counted)
        equal = np.where(exact, 1.0, np.where(counted, UNDECIDED, SAME)) * meet
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
    if len(part) < 2:
        return Truth(np.ones(1))
    sign = ("<" if down else ">") + ("" if strict else "=")
    steps = compared(sign, Numbers(part.values[1:]), Numbers(part.values[:-1])).values
    pairs = tuple(pairwise(part.cells)) if len(part.cells) == len(part) else ()
    return Truth(every(steps), breaks=tuple(p for p, v in zip(pairs, steps, strict=False) if v == 0))


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


def quantified(name: str, truth: Truth) -> Numbers | Truth:
    """All, none, any or the count of truths.

    Parameters
    ----------
    name : str
    truth : Truth

    Returns
    -------
    Numbers or Truth
        A count is open upwards for what is undecided, or not printed.
    """
    values = truth.values
    if name == "count":
        sure, possible = float((values >= SAME).sum()), float((np.isnan(values) | (values > 0)).sum())
        return replace(constant(sure), open=np.array([[0.0, possible - sure]]))
    cells = truth.cells if len(truth.cells) == len(values) else ()
    settles = values == 0 if name == "all" else values == 1  # any one of these settles it
    breaks = tuple((c,) for c, here in zip(cells, settles, strict=False) if here)
    if name == "any":
        return Truth(1 - every(1 - values), breaks=breaks)
    return Truth(every(values if name == "all" else 1 - values), breaks=breaks)
