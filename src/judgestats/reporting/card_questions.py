"""What the cards ask, and the rows of a datasheet by judge that answer it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from judgestats.counting.clustering import CANDIDATES, SAMPLED
from judgestats.counting.study import Study
from judgestats.methods import method_of
from judgestats.metrics.marks import people_marks
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.reporting.estimate_rows import row_of_each, step, whose
from judgestats.reporting.formatting import Form
from judgestats.reporting.nesting import Nesting, nestings
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.reporting.summary_parts import SummaryColumn
from judgestats.typing import Record

#: Difference of two shares that is of interest, where none is given.
SMALLEST_SHARE = 0.1
#: Part of a scale that is of interest, where no size is given.
SMALLEST_PART = 0.1
#: Bounds of a share, and of a distance.
SHARE, AT_LEAST_0 = (0.0, 1.0), (0.0, math.inf)


@dataclass(frozen=True)
class CardQuestion:
    """A card on who is best: its head, the marks, the table column with the same numbers, and words for differences."""

    head: str
    marks: pd.DataFrame
    form: Form
    term: str
    units: str  # what the intervals are clustered by, as a plural
    lower_is_better: bool = False
    better: str = "above"
    alone: str = ""  # head of the card of a single judge, if another
    nests: tuple[Nesting, ...] = ()  # levels in which the items of its marks nest
    wider: tuple[str, ...] = ()  # columns of marks with those that decide who stands out

    def nested_in(self, calls: Study) -> CardQuestion:
        """The same with the levels in which its items nest; 10 or more decide, too, if the clusters nest in them."""
        marks, wider = self.marks, []
        nests = tuple(nestings(calls, marks["item"].unique()))
        for levels in nests:
            level = levels.level.reindex(marks["item"]).to_numpy()
            of_cluster = pd.Series(level).groupby(marks["cluster"].to_numpy())
            if levels.levels >= SAMPLED and of_cluster.ngroups > levels.levels and of_cluster.nunique().max() == 1:
                marks = marks.assign(**{levels.name: level})
                wider.append(levels.name)
        return replace(self, marks=marks, nests=nests, wider=tuple(wider))

    @property
    def bounds(self) -> tuple[float, float]:
        """What the mean of the marks may be: a share, or a distance or variance."""
        return SHARE if self.form == "share" else AT_LEAST_0


@dataclass(frozen=True)
class FirstScreen:
    """Columns of the comparison, the questions of the cards, the biases of the judges and how they are said."""

    columns: list[SummaryColumn]
    questions: dict[str, CardQuestion]
    against: str = ""
    bias: pd.DataFrame | None = None
    said: BiasWords | None = None
    apart: str = ""  # which scores are on different scales, so that none of that is made of them


@dataclass(frozen=True)
class BiasWords:
    """Words of a card on bias: its head without bias, heads above and below 0, and verbs for such judges."""

    head: str
    none: str
    heads: tuple[str, str]
    verbs: tuple[str, str]  # above 0: of one judge, and of several
    opposite: str  # below 0, after a verb
    term: str  # of the column with the same numbers
    form: Form
    method: str
    units: str  # what the intervals are clustered by, as a plural
    smallest: float  # size of a bias that is of interest
    remedy: str = "Ask it in both orders"

    def side(self, low: float, high: float) -> int:
        """1 for an interval above the smallest bias of interest, -1 for one below minus it, else 0."""
        return int(low > self.smallest) - int(high < -self.smallest)

    @property
    def unit(self) -> str:
        """Unit of the numbers of the card."""
        return "" if self.form == "score" else " points"


def order_bias_words(units: str, options: MeasureOptions) -> BiasWords:
    """How a card says a bias towards an order; `units`: what the intervals are clustered by."""
    ways = ("what is shown first", "what is shown second")
    verbs = (f"prefers {ways[0]}", f"prefer {ways[0]}")
    heads, none = (f"Prefers {ways[0]}", f"Prefers {ways[1]}"), "No position bias found"
    method = "largest |t| over shared items"
    smallest = SMALLEST_SHARE if options.smallest is None else options.smallest
    return BiasWords(
        "Position bias", none, heads, verbs, "the second", "position_bias", "points", method, units, smallest
    )


def option_bias_words(units: str, options: MeasureOptions) -> BiasWords:
    """How a card says a bias towards the first of several options."""
    return replace(
        order_bias_words(units, options),
        none="No preference for the first option found",
        heads=("Prefers the first option", "Avoids the first option"),
        verbs=("prefers the first option", "prefer the first option"),
        opposite="another",
        remedy="Ask it in several orders",
    )


def leniency_bias_words(other: str, none: str, method: str, units: str, smallest: float) -> BiasWords:
    """How a card says leniency against gold, people or peers."""
    verbs = (f"scores higher than {other}", f"score higher than {other}")
    heads = (f"Scores higher than {other}", f"Scores lower than {other}")
    return BiasWords("Leniency", none, heads, verbs, "lower", "leniency", "score", method, units, smallest)


def rows_by_judge(sheet: pd.DataFrame, term: str, sections: Sequence[str] = (), at: str = "") -> dict[str, Record]:
    """Judge -> its row of a term: of a ladder the first or the last step."""
    rows = sheet[(sheet["term"] == term) & sheet["estimate"].notna()]
    rows = rows[rows["section"].isin(list(sections))] if sections else rows
    if term == "dark_current":
        rows = rows[rows["detail"].isin(["", "all"])]
    if at and len(rows):
        rows = rows.loc[step(rows).sort_values(ascending=at == "first", kind="stable").index]
        rows = rows[~whose(rows).duplicated()]
    return row_of_each(rows)


def cluster_of_intervals(data: pd.DataFrame, cells: Mapping[str, Mapping[str, Any]]) -> str:
    """What the intervals of a column are clustered by, so that its card has the same unit; empty for single units."""
    clusters = (method_of(cell.get("method", "")).clusters for cell in cells.values())
    column = next((of.column for of in clusters if of), "")
    return column if column in ("", "pair") or column in data.columns else "item"


def cluster_plural(cluster: str, single: str) -> str:
    """Plural of what intervals are clustered by; `single`: of the units themselves."""
    return f"{cluster}s" if cluster in CANDIDATES else f"levels of {cluster}" if cluster else single


def people_question(
    data: pd.DataFrame, people: PeopleAgreement, conditions: list[str], options: MeasureOptions
) -> CardQuestion:
    """The question whose answers are closest to those of people."""
    assert options.people is not None
    cluster = cluster_of_intervals(data, people.cells("agreement"))
    marks, units = people_marks(data, options.people, conditions, cluster), cluster_plural(cluster, "items")
    head, alone = "Agrees most with people", "Agrees with people"
    return CardQuestion(head, marks, "share", "agreement", units, alone=alone)
