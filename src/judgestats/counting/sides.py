"""Counted calls from the side of their candidates: what a call came to for each of the two."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats.counting.patterns import Pattern
from judgestats.schema.coding import row_type
from judgestats.schema.factors import Factor, Factors
from judgestats.typing import Floats

#: Columns that a count by candidate makes, and those that it makes them from.
CONTEST, SHOWN = ("candidate", "system", "opponent", "outcome"), ("first", "second", "choice")


class Doubled(Factors):
    """The rows of a table twice."""

    def __init__(self, columns: Factors) -> None:
        super().__init__(rows=2 * len(columns))
        self._whole = columns, np.tile(np.arange(len(columns), dtype=row_type(len(columns))), 2)


def of_candidates(columns: Factors, n: Floats, pattern: Pattern, wanted: list[str]) -> tuple[Factors, Floats]:
    """Counted calls from the side of the candidate in the first slot, or once from each side."""
    first, second, choice = columns.of(SHOWN)
    choice = Factor(choice.code, [None if x is None else str(x) for x in choice.labels])
    if pattern.unit != "side":
        outcome = choice.recoded({"first": "win", "second": "loss", "abstain": "tie"}, "invalid")
        return columns.but(system=first, opponent=second, outcome=outcome).counted(wanted, n)
    labels = pd.Index(sorted({*map(str, first.labels), *map(str, second.labels)}), dtype=object)
    place = [np.searchsorted(labels, [str(x) for x in f.labels]).astype(np.int32)[f.code] for f in (first, second)]
    words = ({"first": "win", "second": "loss"}, {"first": "loss", "second": "win"})
    outcomes = [choice.recoded(w | {"abstain": "tie"}, "invalid") for w in words]
    outcome_labels = pd.Index(sorted({x for o in outcomes for x in o.labels}), dtype=object)
    codes = [np.searchsorted(outcome_labels, list(o.labels)).astype(np.int32)[o.code] for o in outcomes]
    both = Doubled(columns).but(
        candidate=Factor(np.concatenate(place), labels), outcome=Factor(np.concatenate(codes), outcome_labels)
    )
    return both.counted(wanted, np.concatenate([n, n]))
