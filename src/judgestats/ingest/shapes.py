"""Tables that are made long before they are mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from judgestats.ingest.rankings import expected, ranked
from judgestats.ingest.wide import Long, exploded, lengthened
from judgestats.schema.account import Exclusion, Places
from judgestats.typing import Mask


@dataclass(frozen=True)
class Shape:
    """How a table is made long; false where it is long already."""

    explode: str  # columns of lists of records
    wide: str  # columns of one judge each
    several: Mapping[str, str]  # answers that stand for several -> their column: a ranking, probabilities

    def __bool__(self) -> bool:
        return bool(self.explode or self.wide or self.several)

    def long(
        self, table: pd.DataFrame, places: Places | None, lacks: Mapping[str, Sequence[int]], *, one_scale: bool
    ) -> tuple[pd.DataFrame, Places | None, tuple[Exclusion, ...]]:
        """The long table, with the places of its rows and of the cells that gave none."""
        steps: list[partial[Long]] = [
            partial(exploded, name=name.strip()) for name in self.explode.split(",") if name.strip()
        ]
        steps += [partial(lengthened, wide=self.wide, one_scale=one_scale)] if self.wide else []
        makers = {"ranking": ranked, "probabilities": expected}
        steps += [partial(makers[name], source=source) for name, source in self.several.items()]
        excluded: list[Exclusion] = []
        for step in steps:
            absent = {"absent": _absent(lacks, places)} if step.func is lengthened else {}
            long = step(table, **absent)
            for row, column in long.empty:
                where = places[row] if places is not None else f"row {row}"
                excluded.append(Exclusion(f"{where}, {column}", long.reason))
            table, places = long.table, places.take(long.source) if places is not None else None
        return table, places, tuple(excluded)


def _absent(lacks: Mapping[str, Sequence[int]], places: Places | None) -> dict[str, Mask] | None:
    """Column -> the rows of files that do not have it."""
    return {c: np.isin(places.file, files) for c, files in lacks.items()} if places is not None else None
