"""Few tasks behind many items: what limits how far a page speaks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from judgestats.counting.clustering import SAMPLED
from judgestats.counting.study import Study
from judgestats.reporting.formatting import count
from judgestats.typing import Integers

#: Name of the levels that are the first part of a joined id.
PARTS = "groups of items (by the first part of the id)"
#: Between the columns that an id joins.
_JOINT = " / "
#: With fewer such levels they are named.
_FEW_PARTS = 30
#: Items in each level, on average, that make the level a unit of its own.
_MANY = 3


class Nesting(NamedTuple):
    """Levels in which the items nest."""

    name: str  # as a sentence names several of them
    level: Integers  # (N,): of each row
    levels: int
    items: int


def nesting(calls: Study) -> Nesting | None:
    """The fewer than 10 tasks or prompts, or 30 first parts of a joined item, in which the items nest, or None.

    Ten tasks or more are the clusters of all intervals.

    >>> ids = [f"q{i % 4} / d{i}" for i in range(40)]
    >>> found = nesting(Study.of(pd.DataFrame({"judge": "g", "item": ids, "system": "s", "score": 1.0})))
    >>> found.name, found.levels, found.items
    ('groups of items (by the first part of the id)', 4, 40)
    """
    item, names = calls.columns["item"]
    items = np.unique(item).size
    levels_of = {f"{c}s": calls.columns[c].code for c in ("task", "prompt") if c in calls.names}
    parts = [str(name).split(_JOINT) for name in names]
    if parts and min(map(len, parts)) > 1:
        levels_of[PARTS] = pd.factorize(np.array([p[0] for p in parts], dtype=object))[0][item]
    for name, level in levels_of.items():
        of_item = np.zeros(len(names), dtype=np.int64)
        of_item[item] = level
        levels = np.unique(level).size
        most = _FEW_PARTS if name == PARTS else SAMPLED
        if 2 <= levels < most and items >= _MANY * levels and (of_item[item] == level).all():
            return Nesting(name, level, levels, items)
    return None


def task_advice(calls: Study) -> str:
    """What to map as ``task`` where items nest in the few levels of a column that is not mapped; else empty."""
    nested = nesting(calls)
    if nested is None or nested.name != PARTS:
        return ""
    return (
        f"{nested.levels} {nested.name} stand behind {count(nested.items)} items. Map the column with them to task "
        "(--map task=COLUMN): tasks then have columns of their own, and reports say how wide the intervals are by task."
    )
