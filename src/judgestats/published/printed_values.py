"""Values of an expression over printed cells: numbers with their range, truths that may be undecided, texts, rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from judgestats.published.printed_tables import Cell
from judgestats.typing import Floats

#: A comparison that the printed precision does not decide.
UNDECIDED = 0.5
#: Two numbers with equal digits: sufficient for "equal", not sufficient against "not equal".
SAME = 0.75
_EPS = 1e-9
#: Rounding error of sums of doubles near zero.
_DUST = 1e-14
#: Arrays of numbers in, an array out.
ArrayFunction = Callable[..., Floats]
V = TypeVar("V", Floats, tuple[str, ...])


@dataclass(frozen=True, eq=False)
class _Several(Generic[V]):
    """Values, and the cells that they are of or about."""

    values: V
    cells: tuple[Cell, ...] = ()

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Numbers(_Several[Floats]):
    """Numbers (m,) in P readings: as printed, then with one cell each moved by half a unit of its last digit."""

    #: (m, 2): range that an undecided count leaves open, down and up.
    open: Floats = field(default_factory=lambda: np.zeros((1, 2)))
    texts: tuple[str, ...] = ()
    #: (m, k): where all cells move at once: a product goes further there than the sum of its single moves.
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
        """Moves of the open cells, (cells, 5): none, all that raise a number, all that lower it, all up, all down."""
        pairs = self._pairs()
        most = pairs[np.abs(pairs).max(axis=2).argmax(axis=0), np.arange(pairs.shape[1])]
        up, one = np.where(most[:, 0] >= most[:, 1], 1.0, -1.0), np.ones(len(most))
        return np.column_stack([0 * one, up, -up, one, -one])

    def _pairs(self) -> Floats:
        """What each open cell changes, (m, cells, 2): up and down; 0 in a reading without a value (a root of -0.01)."""
        with np.errstate(invalid="ignore"):
            moved = self.values[:, 1:] - self.values[:, :1]
        return np.where(np.isnan(moved), 0.0, moved).reshape(len(moved), -1, 2)


@dataclass(frozen=True, eq=False)
class Truth(_Several[Floats]):
    """Truths (m,): 1, 0, or one half where the printed precision does not decide; and the cells that they are about."""

    breaks: tuple[tuple[Cell, ...], ...] = ()  # cells, single or in pairs, that each make it fail


class Texts(_Several[tuple[str, ...]]):
    """Texts of cells, or of an expression."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows chosen among labelled rows."""

    rows: tuple[str, ...]  # by the printed numbers
    sure: frozenset[str]  # for all roundings
    possible: frozenset[str]  # for some
    labels: frozenset[str]
    ranges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)  # of ordered rows: low, value, high
    unknown: bool = False  # whether a number that it needs is not printed


Value = Numbers | Truth | Texts | Choice


def constant(value: float) -> Numbers:
    """A number that is exact."""
    return Numbers(np.full((1, 1), float(value)))


def combined(
    function: ArrayFunction, *parts: Numbers, over: bool = False, options: Mapping[str, float] | None = None
) -> Numbers:
    """A function of arrays (m, P) of numbers, in every reading; `over`: whether it reduces the m numbers to one."""
    width = max(p.values.shape[1] for p in parts)
    arrays = [np.broadcast_to(p.values, (len(p), width)) if over else p.values for p in parts]
    values = np.atleast_2d(np.asarray(function(*arrays, **(options or {})), dtype=float))
    opened = np.zeros((len(values), 2))
    for part in parts:
        for end in part.open.T if part.open.any() else ():
            ends = [p.values[:, :1] + (end[:, None] if p is part else 0.0) for p in parts]
            moved = np.atleast_2d(np.asarray(function(*ends, **(options or {})), dtype=float))[:, 0] - values[:, 0]
            opened += np.column_stack([np.fmin(moved, 0.0), np.fmax(moved, 0.0)])
    return Numbers(values, open=opened)


def compared(sign: str, left: Numbers, right: Numbers, difference: Numbers | None = None) -> Truth:
    """Compare numbers within their printed precision; `difference`: left less right, where it is known better."""
    gap = combined(np.subtract, left, right) if difference is None else difference
    low, at, high = gap.range()
    slack = np.maximum(_EPS * np.maximum(np.abs(left.values[:, 0]), np.abs(right.values[:, 0])), _DUST)
    exact, counted = high - low <= slack, gap.open.any(axis=1)
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
    return Truth(np.where(np.isnan(gap.values[:, 0]), np.nan, truth), cells)


def _above(low: Floats, at: Floats, high: Floats, slack: Floats, even: bool) -> Floats:
    """Whether a difference is above zero, or (`even`) not below."""
    yes, no = (at > slack) & (low >= -slack), (at < -slack) & (high <= slack)
    tie = 1.0 if even else np.where(high - low <= slack, 0.0, UNDECIDED)
    return np.where(np.abs(at) <= slack, tie, np.where(yes, 1.0, np.where(no, 0.0, UNDECIDED)))


def increasing(part: Numbers, strict: bool, down: bool) -> Truth:
    """Whether each number is at least (or above) the one before it."""
    if len(part) < 2:
        return Truth(np.ones(1))
    sign = ("<" if down else ">") + ("" if strict else "=")
    steps = compared(sign, Numbers(part.values[1:]), Numbers(part.values[:-1])).values
    pairs = tuple(pairwise(part.cells)) if len(part.cells) == len(part) else ()
    return Truth(every(steps), breaks=tuple(p for p, v in zip(pairs, steps, strict=False) if v == 0))


def every(values: Floats) -> Floats:
    """Whether all hold, over the first axis: 0 if one does not, whatever is unknown of others; else the least sure."""
    if not len(values):
        return np.full(1, np.nan)
    return np.atleast_1d(np.where((values == 0).any(axis=0), 0.0, values.min(axis=0)))


def quantified(name: str, truth: Truth) -> Numbers | Truth:
    """All, none, any or the count of truths, which is open upwards for undecided or unprinted values."""
    values = truth.values
    if name == "count":
        sure, possible = float((values >= SAME).sum()), float((np.isnan(values) | (values > 0)).sum())
        return replace(constant(sure), open=np.array([[0.0, possible - sure]]))
    cells = truth.cells if len(truth.cells) == len(values) else ()
    decides = values == 0 if name == "all" else values == 1  # any one of these decides it
    breaks = tuple((c,) for c, decisive in zip(cells, decides, strict=False) if decisive)
    if name == "any":
        return Truth(1 - every(1 - values), breaks=breaks)
    return Truth(every(values if name == "all" else 1 - values), breaks=breaks)


def those(truth: Truth, labels: tuple[str, ...]) -> Choice:
    """The rows that satisfy a condition."""
    names, unknown = np.array(labels), np.isnan(truth.values)
    sure = frozenset(map(str, names[truth.values >= SAME]))
    possible = frozenset(map(str, names[(truth.values > 0) | unknown]))
    return Choice(tuple(sorted(sure)), sure, possible, frozenset(labels), unknown=bool(unknown.any()))


def extreme(part: Numbers, labels: tuple[str, ...], k: int, down: bool) -> Choice:
    """The k rows with the largest (`down`: smallest) numbers, in order."""
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
    """Whether numbers are above others for every rounding; equal printed numbers are not."""
    return (at > other) & (low >= high - _EPS * np.abs(high))


def chosen(part: Choice, wanted: tuple[str, ...]) -> float:
    """Whether these rows are the chosen ones: 1, 0, undecided, or NaN where a number that is not printed decides."""
    wanted_rows = frozenset(wanted)
    if not (part.sure <= wanted_rows <= part.possible):
        return 0.0
    decided = part.sure == wanted_rows == part.possible
    for one, two in pairwise(wanted) if part.ranges else ():
        (low, at, high), (low2, at2, high2) = part.ranges[one], part.ranges[two]
        if _surely_above(low2, at2, at, high):
            return 0.0
        decided = decided and bool(_surely_above(low, at, at2, high2))
    return np.nan if part.unknown else 1.0 if decided else UNDECIDED
