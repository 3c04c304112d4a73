"""What the sentences of a page say: of which judges, which quantity, and over what; compared with its numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from judgestats.estimate import NOTHING

#: What a sentence says of its judges.
#:
#: ================== ==============================================================================================
#: best               the first is shown to be better than each other one in its scope, and first under every reading
#: best here          the first is so as counted here; under another reading one of the others is first
#: may be best        none is shown to be better than the first, and these are not distinguishable from it
#: alone              the first is the one judge there is
#: constant           the first, the best, is not shown to beat a constant answer, whose value is the second
#: beyond             their bias is shown to be beyond the smallest of interest; the first has the largest
#: not beyond         nobody's is; the first has the largest, and others have a larger one in another table
#: all below people   each agrees less with people than people with each other
#: separated by more  how much more would separate the first two
#: from to            the first has the lowest value, the second the highest
#: is                 they have these values; no order is claimed
#: worse, not better  than a constant answer, as is shown of them, or as is not shown to be otherwise
#: few, lost          things judged, or answers that are missing, where that is much
#: apart              they cannot be compared with others
#: counts             how many rows, things or readings there are
#: pooled             conditions are pooled
#: cannot be said     who is best, or what the value is
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
    "from to",
    "is",
    "worse",
    "not better",
    "few",
    "lost",
    "apart",
    "counts",
    "pooled",
]


@dataclass(frozen=True)
class Claim:
    """A sentence, and what it says."""

    sentence: str
    where: str  # verdict, line, table, readings, or the kind of the card
    question: str = ""  # right, steady, dark, biased, ...: as on the cards
    term: str = ""  # of the quantity: accuracy, agreement, distance, consistency, position_bias, ...
    judges: tuple[str, ...] = ()  # or systems, or what else it is of
    relation: Relation = ""
    values: tuple[float, ...] = ()  # of the judges, in their order
    scope: tuple[str, ...] = ()  # the judges over which it quantifies
    tables: tuple[str, ...] = ()  # that show the quantity: the values are of the first, and none of them contradicts it
    units: str = ""  # what its intervals take as drawn, as a plural
    readings: int = 0  # under which the first judge is first, the headline included


class Number(NamedTuple):
    """A number that a page shows."""

    table: str  # comparison, datasheet, bias, or the name of a measure
    term: str
    judge: str
    value: float
    group: int = 0  # judges of two groups are not compared
    lower_is_better: bool = False


#: What is measured, by the relation of a claim that its first judge has the largest of it.
_LARGEST: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    **dict.fromkeys(
        ("best", "best here", "may be best", "constant", "alone"),
        lambda t: t["value"].where(~t["lower_is_better"], -t["value"]),
    ),
    "not beyond": lambda t: t["value"].abs(),
    "from to": lambda t: -t["value"],
}
#: Relations over the judges of all groups.
_OF_ALL = ("not beyond", "from to")


def contradiction(claim: Claim, numbers: pd.DataFrame) -> str:
    """How the numbers of a page (rows as of :class:`Number`) contradict a claim; empty where they do not.

    Its values are those of its first table. A superlative is over all that any of its tables has of the quantity: its
    scope is no narrower, and nobody whom it does not name has more.

    >>> rows = pd.DataFrame([Number("comparison", "accuracy", j, x) for j, x in (("g", 0.7), ("h", 0.8))])
    >>> said = Claim("", "verdict", "right", "accuracy", ("g",), "best", (0.7,), ("g", "h"), ("comparison",))
    >>> contradiction(said, rows)
    'in the table comparison h has more'
    """
    if not claim.tables:
        return ""
    estimates = numbers[
        numbers["table"].isin(claim.tables) & (numbers["term"] == claim.term) & numbers["value"].notna()
    ]
    first = estimates[estimates["table"] == claim.tables[0]].drop_duplicates("judge").set_index("judge")
    values = first["value"].reindex(claim.judges[: len(claim.values)]).to_numpy(float)
    if not np.allclose(values, claim.values[: len(values)], rtol=0, atol=NOTHING, equal_nan=True):
        return f"its values are {values.tolist()}, not {list(claim.values)}"
    if claim.relation not in _LARGEST or not claim.judges:
        return ""
    if claim.relation not in _OF_ALL:
        estimates = estimates[estimates["group"].isin(first["group"].reindex(claim.judges[:1]))]
    if outside := sorted({*estimates["judge"], *claim.judges} - {*claim.scope}):
        return f"its scope lacks {', '.join(outside)}"
    estimates = estimates.assign(size=_LARGEST[claim.relation](estimates))
    own = estimates[estimates["judge"] == claim.judges[0]].set_index("table")["size"]
    for table, sizes in estimates.groupby("table"):
        of_judges = sizes["size"][sizes["judge"].isin(claim.judges) & (table != claim.tables[0])]
        more = sizes["judge"][sizes["size"] > max([own[claim.tables[0]], *of_judges]) + NOTHING]
        if len(more):
            return f"in the table {table} {more.iloc[0]} has more"
    highest = first["value"].idxmax()
    if claim.relation == "from to" and first["value"][claim.judges[1]] < first["value"][highest]:
        return f"{highest} has more"
    return ""


def held(claim: Claim, numbers: pd.DataFrame) -> bool:
    """Whether the numbers of the page bear a claim out: where not, a warning says so, and nothing is said of it."""
    why = contradiction(claim, numbers)
    if why:
        warnings.warn(
            f"A sentence of the page is left out, because numbers of the page contradict it: {why}. This is a fault of "
            f"judgestats: please report it. The sentence: {claim.sentence!r}",
            stacklevel=2,
        )
    return not why


def statements(claims: Iterable[Claim]) -> pd.DataFrame:
    """A row for each sentence, a column for each field of a claim."""
    return pd.DataFrame([astuple(c) for c in claims], columns=[f.name for f in fields(Claim)])


#: What a page has behind its first screen, and the characters of a screen that a notebook shows.
CONTENTS, _MOST_SHOWN = '<nav aria-label="Contents">', 100_000


class Report(type(Path())):  # type: ignore[misc]
    """The path of a page, with what its sentences say."""

    statements: pd.DataFrame

    @classmethod
    def of(cls, path: Path, claims: Iterable[Claim]) -> Report:
        """The path of a page that makes these claims."""
        report: Report = cls(path)
        report.statements = statements(claims)
        return report

    def _repr_html_(self) -> str:
        """In a notebook: where the page is, and its first screen in a frame that runs nothing."""
        where = f"<p>Report: <code>{escape(str(self))}</code></p>"
        screen = (
            self.read_text(encoding="utf-8").partition(CONTENTS)[0] if self.suffix != ".md" and self.exists() else ""
        )
        if not 0 < len(screen) < _MOST_SHOWN:
            return where
        return (
            f'{where}<iframe sandbox title="First screen of the report" srcdoc="{escape(screen)}" '
            'style="width: 100%; height: 800px; border: 0"></iframe>'
        )
