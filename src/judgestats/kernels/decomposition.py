"""Two presentation orders of one pair -> one class: the direction-stability decomposition of Δ0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgestats.kernels.compiling import TwoForms, njit
from judgestats.typing import Floats, Integers, Mask

#: Codes of a slot answer; the order of ``judgestats.counting.patterns.SLOT_ANSWERS``.
FIRST, SECOND, TIE, INVALID, MISSING = 0, 1, 2, 3, 4
#: Classes of a pair, the columns of :attr:`Decomposition.classes`.
STABLE, POSITIONAL, ONE_SIDED, NO_PREFERENCE, DROPPED = 0, 1, 2, 3, 4
#: Class of a pair by the answers in its two orders. The same *slot* in both is positional: the content flips.
_CLASS = np.full((5, 5), DROPPED, dtype=np.int8)
_CLASS[:TIE, :TIE] = [[POSITIONAL, STABLE], [STABLE, POSITIONAL]]
_CLASS[:TIE, TIE] = _CLASS[TIE, :TIE] = ONE_SIDED
_CLASS[TIE, TIE] = NO_PREFERENCE


@dataclass(frozen=True)
class PairOrders:
    """Calls matched to pairs."""

    # (U, 2): answer of each pair in its forward and in its reverse order; ``MISSING`` where that order was not judged
    answers: NDArray[np.int8]
    n_duplicates: int  # calls that came after another call of the same pair in the same order. The last one is kept
    first_duplicate: int  # row of the first such call, or -1


@dataclass(frozen=True)
class Decomposition:
    """Classes of pairs."""

    of_pattern: NDArray[np.int8]  # (P,): class of each pattern
    # (G, 5): pairs that are stable, positional, one-sided, without preference, and dropped (an order invalid or
    # missing)
    classes: Floats


def _matched_arrays(unit, reverse, answer, answers):  # type: ignore[no-untyped-def]
    answers[2 * unit.astype(np.int64) + reverse] = answer  # of several calls the last one stays
    return unit.size - np.count_nonzero(answers != MISSING)


@njit(cache=True)
def _matched(unit, reverse, answer, answers):  # type: ignore[no-untyped-def]
    duplicates = 0
    for i in range(unit.size):
        slot = np.uint64(2 * unit[i] + reverse[i])
        duplicates += answers[slot] != MISSING
        answers[slot] = answer[i]
    return duplicates


#: Writes the answers of calls into the slots of their pairs (2 U,), and says how many of these were taken.
MATCHED = TwoForms(_matched_arrays, _matched)


def pair_orders(unit: Integers, reverse: Mask, answer: NDArray[np.int8], n_units: int) -> PairOrders:
    """Match the two orders of each of U pairs: pair, order and answer by slot of N calls."""
    answers = np.full(2 * n_units, MISSING, np.int8)
    duplicates = int(MATCHED.of(unit.size)(unit, reverse, answer, answers))
    first = -1
    if duplicates:
        again = np.ones(unit.size, np.bool_)
        again[np.unique(2 * unit.astype(np.int64) + reverse, return_index=True)[1]] = False
        first = int(again.argmax())
    return PairOrders(answers.reshape(-1, 2), duplicates, first)


def _classes_arrays(forward, reverse, n, group, table, classes):  # type: ignore[no-untyped-def]
    of_pattern = table[forward, reverse]
    classes[:] = np.bincount(group * 5 + of_pattern, n, classes.size).reshape(classes.shape)
    return of_pattern


@njit(cache=True)
def _classes(forward, reverse, n, group, table, classes):  # type: ignore[no-untyped-def]
    of_pattern = np.empty(forward.size, np.int8)
    for i in range(forward.size):
        of_pattern[i] = table[np.uint64(forward[i]), np.uint64(reverse[i])]
        classes[np.uint64(group[i]), np.uint64(of_pattern[i])] += n[i]
    return of_pattern


#: Class of each pattern (P,); adds up their pairs by group and class (G, 5).
CLASSES = TwoForms(_classes_arrays, _classes)


def decompose(
    forward: NDArray[np.int8], reverse: NDArray[np.int8], n: Floats, group: Integers, n_groups: int
) -> Decomposition:
    """Classify `n` (P,) pairs of patterns by their two slot answers (dark_current paper, Eqs. 2 to 7).

    A pair with an invalid or a missing order leaves every rate alike, so that the share of calls that are not ties is
    ``stable + positional + one_sided / 2`` exactly.
    """
    classes = np.zeros((n_groups, 5))
    return Decomposition(CLASSES.of(n.size)(forward, reverse, n, group, _CLASS, classes), classes)
