"""Whether judges and systems can be separated: which judges are connected by systems that they both judged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from judgestats.counting.study import Calls, Study
from judgestats.schema.classes import has_answer
from judgestats.schema.coding import Codes, combine
from judgestats.schema.columns import answer_column
from judgestats.typing import Integers


class Connected(NamedTuple):
    """Judges, and the systems (or pairs of candidates) that only they judged."""

    judges: tuple[str, ...]
    systems: tuple[str, ...]


def separate_designs(data: Calls) -> list[Connected]:
    """Groups of judges that share no system with each other: between groups, judge and system are confounded.

    Empty where all judges are connected, and where there are no systems, or each is of one item only. Of preferences
    these are pairs of candidates.

    >>> import pandas as pd
    >>> board = {"judge": ["a", "a", "b", "b"], "system": ["s", "s", "t", "t"], "item": ["1", "2", "1", "2"]}
    >>> separate_designs(pd.DataFrame({**board, "score": [1, 2, 3, 4]}))
    [Connected(judges=('a',), systems=('s',)), Connected(judges=('b',), systems=('t',))]
    """
    study = Study.of(data)
    if not {"judge", "item"} <= {*study.names} or "stimulus" in study.names:
        return []
    pairs = {"first", "second", "choice"} <= {*study.names}
    if not pairs and "system" not in study.names:
        return []
    verdict = "choice" if pairs else answer_column(study.names)
    study = study.in_memory(["judge", "item", *(("first", "second") if pairs else ("system",)), verdict], distinct=True)
    answer = study.columns[verdict]
    study = study.where(has_answer(answer.labels)[answer.code])
    if pairs:
        first, second, _ = study.shown
        study = study.where((first >= 0) & (second >= 0))
    judge, names = study.columns["judge"]
    if np.unique(judge).size < 2:
        return []
    rows = len(study.columns)
    sides = study.ordered[:2] if pairs else study.columns.of(["system"])
    system = combine([(side.code, len(side.labels)) for side in sides], rows)
    of_item = combine([(system.code, system.size), _levels(study.columns.codes(["item"]))], rows)
    if system.size < 2 or of_item.size < 2 * system.size:
        return []
    component = _components(judge, system.code)
    present = np.unique(judge)
    groups = np.unique(component[present])
    if groups.size < 2:
        return []
    labels = [" against ".join(str(side.labels[side.code[i]]) for side in sides) for i in system.first]
    of_system = component[judge[system.first]]
    return [
        Connected(
            tuple(sorted(str(names[j]) for j in present if component[j] == group)),
            tuple(sorted(label for label, own in zip(labels, of_system, strict=True) if own == group)),
        )
        for group in groups
    ]


def _components(judge: Integers, system: Integers) -> Integers:
    """Component (J,) of each judge, named by its lowest judge; judges of one system are connected."""
    judge, system = np.unique(np.column_stack([judge, system]), axis=0).T
    lowest = np.arange(judge.max() + 1)
    while True:
        of_system, nearer = np.full(system.max() + 1, lowest.size), lowest.copy()
        np.minimum.at(of_system, system, lowest[judge])
        np.minimum.at(nearer, judge, of_system[system])
        if (nearer == lowest).all():
            return lowest
        lowest = nearer


def _levels(codes: Codes) -> tuple[Integers, int]:
    return codes.code, codes.size
