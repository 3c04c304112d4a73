"""What the sentences of a page say: of which judges, which quantity, and over what; and a report that knows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Literal

import pandas as pd

#: What a sentence says of its judges.
#:
#: ================== ==============================================================================================
#: best               the first is shown to be better than each other one in its scope, and first under every reading
#: best here          the first is so as counted here; under another reading one of the others is first
#: may be best        none is shown to be better than the first, and these are not distinguishable from it
#: alone              the first is the one judge there is
#: constant           the first, the best, is not shown to beat a constant answer, whose value is the second
#: beyond             their bias is shown to be beyond the smallest of interest; the first has the largest
#: not beyond         nobody's is; the first has the largest
#: all below people   each agrees less with people than people with each other
#: separated by more  how much more would separate the first two
#: pooled             conditions are pooled
#: cannot be said     who is best
#: ================== ==============================================================================================
Relation = Literal[
    "",
    "best",
    "best here",
    "may be best",
    "cannot be said",
    "constant",
    "alone",
    "beyond",
    "not beyond",
    "all below people",
    "separated by more",
    "pooled",
]


@dataclass(frozen=True)
class Claim:
    """A sentence, and what it says."""

    sentence: str
    where: str  # verdict, or the kind of the card
    question: str = ""  # right, steady, dark, biased, ...: as on the cards
    term: str = ""  # of the quantity: accuracy, agreement, distance, consistency, position_bias, ...
    judges: tuple[str, ...] = ()
    relation: Relation = ""
    values: tuple[float, ...] = ()  # of the judges, in their order
    scope: tuple[str, ...] = ()  # the judges over which it quantifies
    readings: int = 0  # under which the first judge is first, the headline included


def statements(claims: Iterable[Claim]) -> pd.DataFrame:
    """A row for each sentence, a column for each field of a claim."""
    return pd.DataFrame([astuple(c) for c in claims], columns=[f.name for f in fields(Claim)])


class Report(type(Path())):  # type: ignore[misc]
    """The path of a page, with what its sentences say."""

    statements: pd.DataFrame

    @classmethod
    def of(cls, path: Path, claims: Iterable[Claim]) -> Report:
        """The path of a page that makes these claims."""
        report: Report = cls(path)
        report.statements = statements(claims)
        return report
