"""Whether the verdict of a page stands under the other readings of its question (docs/readings.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.estimate import NOTHING
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.metrics.multiverse import under_readings
from judgestats.metrics.question_marks import marks_of
from judgestats.reporting.card_questions import CardQuestion
from judgestats.reporting.formatting import NOT_AVAILABLE, Form, noun, printed
from judgestats.reporting.summary_parts import listed

#: Judges whose readings a page has: of more, a reading takes seconds.
MOST_READ = 100


@dataclass(frozen=True)
class VerdictReadings:
    """The rows of :func:`judgestats.specifications` for the judges of the first group, and how values are printed."""

    rows: pd.DataFrame
    form: Form
    term: str  # of the headline's quantity

    @property
    def question(self) -> str:
        """The question that they are readings of."""
        return str(self.rows["question"].iloc[0])

    @property
    def others(self) -> int:
        """Readings beside the headline."""
        return int(self.rows.loc[self.rows["rank"] == 1, "reading"].nunique()) - 1

    def against(self, judge: str, least: float = 0.0) -> pd.DataFrame:
        """The first judge of each reading in which `judge` is not first; of shares, by `least` or more."""
        first = self.rows[(self.rows["rank"] == 1) & (self.rows["kind"] != "headline")]
        own = self.rows[self.rows["judge"] == judge].set_index("reading")
        behind = first["reading"].map(own["rank"] != 1).astype(bool)
        if least:
            behind &= (first["estimate"] - first["reading"].map(own["estimate"]) >= least) & (self.form == "share")
        return first[behind].drop_duplicates("reading")

    def value(self, reading: str, judge: str) -> str:
        """The estimate of a judge under a reading, as it is printed."""
        row = self.rows[(self.rows["reading"] == reading) & (self.rows["judge"] == judge)].iloc[0]
        return self._text(row)

    def _text(self, row: pd.Series) -> str:
        form: Form = "score" if "correlation" in row["reading"] else self.form
        return printed(float(row["estimate"]), form, float(row["conf_high"] - row["conf_low"]))

    @property
    def headline(self) -> str:
        """The judge that is first in the headline."""
        first = self.rows[(self.rows["kind"] == "headline") & (self.rows["rank"] == 1)]
        return str(first["judge"].iloc[0])

    @property
    def alike(self) -> bool:
        """Whether all readings have the numbers of the headline."""
        numbers = self.rows.pivot_table(index="judge", columns="reading", values="estimate", dropna=False)
        return bool((numbers.sub(numbers["headline"], axis=0).abs() <= NOTHING).all(axis=None))

    def in_words(self) -> str:
        """One line on all readings."""
        if self.alike:
            have = "has" if self.others == 1 else "have"
            return f"{noun(self.others, 'other reading')} of the data {have} the same numbers"
        judge, readings = self.headline, noun(self.others, "other reading")
        if lost := len(self.against(judge)):
            return f"Under {readings} of the data: {judge} is first in {self.others - lost}"
        return f"Under {readings} of the data: {judge} is first in {'it' if self.others == 1 else 'each'}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Who is first under each reading, its value, that of the headline's first, and whether it is clear of all."""
        if self.alike:
            return [], []
        judge = self.headline
        lines = []
        for reading, rows in self.rows.groupby("reading", sort=False):
            first = rows[rows["rank"] == 1]
            alone = "yes" if (rows["best_set"] & rows["estimate"].notna()).sum() == 1 else "no"
            own = rows[rows["judge"] == judge].iloc[0]
            kind = "as above" if rows["kind"].iloc[0] == "headline" else str(rows["kind"].iloc[0])
            names = listed(first["judge"].astype(str)) or "no judge has an estimate"
            best = self._text(first.iloc[0]) if len(first) else NOT_AVAILABLE
            lines.append([str(reading), kind, names, best, self._text(own), alone])
        return ["reading", "question", "first", "its value", judge, "clear of all others"], lines


def verdict_readings(
    calls: Study, name: str, question: CardQuestion, judges: Sequence[str], against: str, options: MeasureOptions
) -> VerdictReadings | None:
    """The readings of the question that a page leads with; None of one judge, of over 100, or without data for them."""
    subject = "people" if name == "right" and against == "people" else name
    if (
        not 2 <= len(judges) <= MOST_READ
        or "stimulus" in calls.names
        or (subject == "right" and "gold" not in calls.names)
    ):
        return None
    who, names = calls.columns["judge"]
    among = pd.Series(names, dtype=object).astype(str).isin(list(judges)).to_numpy()[who]
    people = options.people if subject == "people" else None
    try:
        headline = marks_of(calls.where(among), subject, options.cluster, people=people, ways=False)
    except DesignError:
        return None
    marks = question.marks.drop_duplicates("item").set_index("item")
    headline = headline.nested_in({level: marks[level] for level in question.wider})
    rows = under_readings(headline, subject, (), options.conf_level, options.seed)
    first = rows.loc[(rows["kind"] == "headline") & (rows["rank"] == 1), "judge"]
    as_the_table = judges[0] in set(first)  # of other calls they would be readings of another number
    return (
        VerdictReadings(rows, question.form, question.term) if as_the_table and rows["reading"].nunique() > 1 else None
    )
