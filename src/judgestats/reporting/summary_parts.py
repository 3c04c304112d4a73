"""The parts of the first screen of a page: cards, columns of the comparison, groups of judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from judgestats.estimate import NOTHING
from judgestats.metrics.correctness.constant_answers import beside_constant
from judgestats.metrics.standings import Standing
from judgestats.reporting.formatting import PERCENT, Form, count, number, printed, signed
from judgestats.reporting.page_claims import Claim, Relation

#: Names that a card lists.
MOST_NAMES = 3
#: The line of a reference that is known; others are estimates.
CHANCE = f"dashed: chance, 50{PERCENT}"


@dataclass(frozen=True)
class Card:
    """One sentence of the summary: `kind` is right, steady, biased or care; `method` how it was found."""

    kind: str
    head: str
    claim: str
    detail: str
    method: str = ""
    says: tuple[
        Claim, ...
    ] = ()  # the first is of its sentence, if it has none of its own; without any, of its kind alone

    @property
    def claims(self) -> list[Claim]:
        """What the card says, with its sentences."""
        sentence, where = f"{self.head}: {self.claim}. {self.detail}.", f"card: {self.kind}"
        said = self.says or (Claim("", where, self.kind),)
        return [replace(c, sentence=c.sentence or sentence, where=where) for c in said]


@dataclass(frozen=True)
class Caution:
    """What is to be read with care, why, and what that says."""

    claim: str
    why: str
    relation: Relation = ""
    judges: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    term: str = ""
    tables: tuple[str, ...] = ()

    @property
    def typed(self) -> Claim:
        """The caution as a sentence of its own."""
        text = f"{self.claim}: {self.why}."
        return Claim(text, "card", "care", self.term, self.judges, self.relation, self.values, tables=self.tables)


@dataclass(frozen=True)
class SummaryColumn:
    """A column of the comparison: what it measures, how it is printed, and the row of estimates of each judge."""

    term: str
    label: str
    note: str
    form: Form
    cells: Mapping[str, Mapping[str, Any]]
    lower_is_better: bool = False
    reference: float = math.nan  # value of the dashed line, named in `line`
    line: str = ""
    references: Mapping[str, float] = field(default_factory=dict)  # of judges whose line is another
    scale: tuple[float, float] | None = None  # what its numbers can be, where that is neither a share nor without end

    def reference_of(self, judge: str) -> float:
        """Value of the dashed line of a judge."""
        return self.references.get(judge, self.reference)

    def references_of(self, constants: Mapping[str, float]) -> SummaryColumn:
        """The same with a line of each judge, or with one for all where it has one value."""
        values = [constants[j] for j in self.cells if j in constants]
        if len(values) == len(self.cells) and max(values) - min(values) <= NOTHING:
            return replace(self, reference=values[0])
        return replace(self, reference=math.nan, references=constants)

    def beside_constant(self) -> tuple[list[str], list[str]]:
        """Judges shown to be worse than the dashed line, and others that are not shown to be better."""
        sign = -1 if self.lower_is_better else 1
        ends = ("conf_low", "estimate", "conf_high")
        gaps = {j: sorted(sign * (float(c[k]) - self.reference_of(j)) for k in ends) for j, c in self.cells.items()}
        return beside_constant(gaps, exact=self.line == CHANCE)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Ends of the axis: those of the scale, or closer ones if everything lies within a third of it."""
        low, high = self._whole
        values = [float(c[k]) for c in self.cells.values() for k in ("estimate", "conf_low", "conf_high")]
        values = [v for v in [*values, self.reference, *self.references.values()] if math.isfinite(v)]
        spread = max(values, default=0.0) - min(values, default=0.0)
        if self.form == "points" or not 0 < spread <= (high - low) / 3:
            return low, high
        step = 10 ** math.floor(math.log10(spread)) / 2
        return step * math.floor(min(values) / step + 1e-9), step * math.ceil(max(values) / step - 1e-9)

    @property
    def ticks(self) -> tuple[str, str]:
        """The ends of the axis as they are printed."""
        low, high = self.ends
        if self.form == "score":
            return number(low, 2), number(high, 2)
        decimals = 0 if abs(100 * (high - low)) >= 2 else 1
        if self.form == "points":
            return signed(100 * low, decimals), signed(100 * high, decimals)
        return number(100 * low, decimals), f"{number(100 * high, decimals)}{PERCENT}"

    @cached_property
    def _whole(self) -> tuple[float, float]:
        """0 to 1 for shares; for others their scale, or as far as the intervals reach."""
        if self.form == "share":
            return 0.0, 1.0
        if self.scale is not None:
            return self.scale
        ends = [abs(float(c[k])) for c in self.cells.values() for k in ("estimate", "conf_low", "conf_high")]
        lines = [abs(v) for v in (self.reference, *self.references.values())]
        most = max((v for v in [*ends, *lines] if math.isfinite(v)), default=1.0) or 1.0
        if self.form == "points":
            return (-1.0, 1.0) if most > 0.4 else (-most, most)
        end = "conf_low" if self.reference == 0 else "estimate"
        low = any(float(c[end]) < 0 for c in self.cells.values())
        return (-most if low else 0.0), most

    @cached_property
    def size(self) -> str:
        """How many cases the estimates rest on: one number, or the fewest and the most."""
        sizes = sorted({float(c["n"]) for c in self.cells.values() if "n" in c and self.form != "count"})
        return f"n\u00a0=\u00a0{' to '.join(map(count, dict.fromkeys((sizes[0], sizes[-1]))))}" if sizes else ""

    @cached_property
    def _width(self) -> float:
        """Width of an interval that decides how many decimals the column has: of the narrowest, to a thousandth."""
        widths = [float(c["conf_high"]) - float(c["conf_low"]) for c in self.cells.values()]
        widths = [w for w in widths if w > 0 and math.isfinite(w)]
        return max(min(widths), min(max(widths), 0.001)) if widths else math.nan

    def text(self, judge: str) -> tuple[str, str]:
        """Estimate and interval as they are printed."""
        cell = self.cells.get(judge)
        if cell is None or math.isnan(float(cell["estimate"])):
            return "—", ""
        low, high = float(cell["conf_low"]), float(cell["conf_high"])
        value = printed(float(cell["estimate"]), self.form, self._width)
        if not (math.isfinite(low) and math.isfinite(high)):
            return value, ""
        bare = [printed(v, self.form, self._width).replace(PERCENT, "") for v in (low, high)]
        return value, f"{bare[0]} to {bare[1]}" + (PERCENT if self.form == "share" else "")


@dataclass(frozen=True)
class JudgeGroup:
    """Judges that judged the same things, in the order of the first column."""

    judges: tuple[str, ...]
    about: str


@dataclass(frozen=True)
class Summary:
    """The first screen of a page, and the paired differences behind it."""

    title: str
    line: str
    cards: tuple[Card, ...]
    columns: tuple[SummaryColumn, ...]
    groups: tuple[JudgeGroup, ...]  # the judges that are shown
    note: str
    differences: Mapping[str, Standing] = field(default_factory=dict)
    tasks: tuple[SummaryColumn, ...] = ()
    classes: Mapping[str, tuple[SummaryColumn, ...]] = field(
        default_factory=dict
    )  # what is found of them, by head of a panel
    biases: tuple[tuple[str, str, SummaryColumn], ...] = ()
    against: str = ""
    without_people: str = ""
    sentences: tuple[Claim, ...] = ()  # of the verdict: whom to use, how sure that is, and what would change it
    readings: tuple[str, list[str], list[list[str]]] | None = None  # of the verdict: a line on all, heads and rows
    left_out: str = ""  # how many judges are not shown, and where they are
    captions: tuple[Claim, ...] = ()  # what is said of the tables
    numbers: pd.DataFrame = field(default_factory=pd.DataFrame)  # against which the claims were held

    @property
    def verdict(self) -> str:
        """The sentences at the head of the page."""
        return " ".join(c.sentence for c in self.sentences)

    @property
    def claims(self) -> list[Claim]:
        """What the verdict, the cards, the line of counts, the tables and the readings say."""
        return [*self.sentences, *(c for card in self.cards for c in card.claims), *self.captions]

    @property
    def judges(self) -> list[str]:
        """The judges that are shown, in the order of the comparison."""
        return [j for g in self.groups for j in g.judges]


def listed(names: Iterable[str], most: int = MOST_NAMES) -> str:
    """Names in a sentence, the rest counted."""
    labels = list(names)
    if len(labels) > most + 1:
        return f"{', '.join(labels[:most])} and {len(labels) - most} more"
    return " and ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels)
