"""Judges by things: what each judge made of each thing, the table behind agreement, consensus and reliability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, Ints, Mask, Record

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True)
class Panel:
    """Judges by things, without the cells that nobody judged: E entries, sorted by thing and judge."""

    things: Factors  # T rows: the columns that describe a thing, those of groups and clusters first
    judges: pd.Index | NDArray[np.object_]  # (J,): labels, each perhaps of several columns
    thing: Integers  # (E,): of each entry, as `judge` and all that a kind of panel adds
    judge: Integers

    def of_entries(self, column: str) -> Integers:
        """Code of each entry's thing in a column."""
        return self.things[column].code[self.thing]

    def matrix(self, values: NDArray[_Number], absent: float) -> NDArray[_Number]:
        """Values of the entries as things x judges, (T, J)."""
        result = np.full((len(self.things), len(self.judges)), absent, values.dtype)
        result[self.thing, self.judge] = values
        return result


@dataclass(frozen=True)
class ScorePanel(Panel):
    """Scores: an entry is the mean of the runs of a judge on a thing."""

    mean: Floats  # NaN where no run has a score
    sd: Floats  # NaN where unknown
    runs: Floats | Integers  # scores behind the mean (NaN where unknown)
    missing: Floats | Integers  # runs without a score

    def where(self, things: Mask) -> ScorePanel:
        """Only the things where the mask is true."""
        if things.all():
            return self
        number, entries = np.cumsum(things, dtype=np.int32) - 1, things[self.thing]
        some = {name: getattr(self, name)[entries] for name in ("judge", "mean", "sd", "runs", "missing")}
        return replace(self, things=self.things.take(things), thing=number[self.thing[entries]], **some)


@dataclass(frozen=True)
class AnswerPanel(Panel):
    """Answers: where the repeats of a judge on a thing differ, each answer is an entry with its share of them."""

    answer: Integers  # code, -1 where there is none
    answers: pd.Index  # labels, sorted
    share: Floats | None  # None where no repeats differ
    weight: Floats  # (T,): how many things alike each stands for
    shared: bool = False  # whether things differ in order, repeat or condition alone, or are counted
    mirror: Ints | None = None  # permutation of answers that are but sides of a pair

    @property
    def entries(self) -> Floats:
        """What each entry counts, (E,)."""
        return np.ones(self.thing.size) if self.share is None else self.share

    def each_group(self, by: Sequence[str]) -> Iterator[tuple[Record, slice, slice]]:
        """Key, things and entries of each group, by columns that things are sorted by."""
        for ends in pairwise([*self.things.ranked(by).first.tolist(), len(self.things)]):
            key = {c: self.things[c].at(slice(ends[0], ends[0] + 1)).values[0] for c in by}
            yield key, slice(*ends), slice(*np.searchsorted(self.thing, ends).tolist())
