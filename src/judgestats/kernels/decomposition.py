"""Two presentation orders of one pair -> one class: the direction-stability decomposition of Δ0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgestats.typing import Floats, Integers, Mask

#: Codes of a slot answer; the order of ``judgestats.counting.patterns.SLOT_ANSWERS``.
FIRST, SECOND, TIE, INVALID, MISSING = 0, 1, 2, 3, 4
#: Classes of a pair, the columns of :attr:`Decomposition.classes`.
STABLE, POSITIONAL, ONE_SIDED, NO_PREFERENCE, DROPPED = 0, 1, 2, 3, 4


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

    # (G, 5): pairs that are stable, positional, one-sided, without preference, and dropped (an order invalid or
    # missing)
    classes: Floats
    calls: Floats  # (G,): calls in the pairs that are not dropped, two a pair
    non_ties: Floats  # (G,): those of them that are not ties


def pair_orders(unit: Integers, reverse: Mask, answer: NDArray[np.int8], n_units: int) -> PairOrders:
    """Match the two orders of each of U pairs: pair, order and answer by slot of N calls."""
    answers = np.full(2 * n_units, MISSING, np.int8)
    slot = 2 * unit.astype(np.int64) + reverse
    answers[slot] = answer  # of several calls the last one stays
    duplicates = unit.size - int(np.count_nonzero(answers != MISSING))
    first = -1
    if duplicates:
        again = np.ones(unit.size, np.bool_)
        again[np.unique(slot, return_index=True)[1]] = False
        first = int(again.argmax())
    return PairOrders(answers.reshape(-1, 2), duplicates, first)


def decompose(counts: Floats) -> Decomposition:
    """Classify pairs (G, 5, 5) by their two slot answers (dark_current paper, Eqs. 2 to 7).

    The same *slot* in both orders is positional: the content flips. A pair with an invalid or a missing order leaves
    every rate alike, so that ``non_ties / calls = stable + positional + one_sided / 2`` holds exactly.
    """
    counts = np.asarray(counts, dtype=np.float64)
    classes = np.empty((len(counts), 5))
    classes[:, STABLE] = counts[:, FIRST, SECOND] + counts[:, SECOND, FIRST]
    classes[:, POSITIONAL] = counts[:, FIRST, FIRST] + counts[:, SECOND, SECOND]
    classes[:, ONE_SIDED] = counts[:, :TIE, TIE].sum(axis=1) + counts[:, TIE, :TIE].sum(axis=1)
    classes[:, NO_PREFERENCE] = counts[:, TIE, TIE]
    classes[:, DROPPED] = counts[:, INVALID:].sum(axis=(1, 2)) + counts[:, :INVALID, INVALID:].sum(axis=(1, 2))
    pairs = classes[:, :DROPPED].sum(axis=1)
    non_ties = 2 * (classes[:, STABLE] + classes[:, POSITIONAL]) + classes[:, ONE_SIDED]
    return Decomposition(classes, 2 * pairs, non_ties)
