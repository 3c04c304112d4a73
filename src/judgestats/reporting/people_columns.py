"""Agreement of the judges with people, as columns of the comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.raters import MatchedRaters, matched_calls, same_code
from judgestats.counting.study import Study
from judgestats.metrics.agreement.human_agreement import answers_of_people, concordance_of
from judgestats.metrics.correctness.constant_answers import constant_shares
from judgestats.metrics.measure_registry import MeasureOptions, measures
from judgestats.reporting.estimate_rows import row_of_each
from judgestats.reporting.summary_parts import SummaryColumn
from judgestats.schema.columns import answer_column
from judgestats.typing import Column as Values
from judgestats.typing import Floats, Ints, Mask, Record


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement of the judges with people: rows of :func:`judgestats.judge_against_people`, or why there are none."""

    rows: pd.DataFrame
    why: str = ""
    groups: Sequence[str] = ()  # conditions that the rows are split by
    answers: AnswersBesidePeople | None = None

    def cells(self, *terms: str) -> dict[str, Record]:
        """Judge -> its row of one of the terms."""
        rows = self.rows[(self.rows["role"] == "judge") & self.rows["term"].isin(terms) & self.rows["estimate"].notna()]
        return row_of_each(rows.drop(columns=["role", "answer"]), self.groups)

    @property
    def columns(self) -> list[SummaryColumn]:
        """Raw agreement, with that of the best constant answer, and agreement beyond chance."""
        if not (cells := self.cells("agreement")):
            return []
        note, line = "share of people's answers that the judge gives too", "always the people's most frequent answer"
        raw = SummaryColumn("agreement", "Agrees with people", note, "share", cells, line=f"dashed: {line}")
        raw = raw.references_of(self.answers.constants if self.answers else {})
        beyond = self.cells("kappa", "concordance")
        note = "agreement beyond chance"
        kappa = SummaryColumn("kappa", "Kappa with people", note, "score", beyond, False, 0.0, "dashed: chance")
        return [raw, *([kappa] if beyond else [])]


@dataclass(frozen=True)
class AnswersBesidePeople:
    """Answers of judges, and of people on the same things: what is compared with what is on the same things."""

    matched: MatchedRaters  # of those who answered

    @classmethod
    def of(cls, calls: Study, people: pd.DataFrame, conditions: Sequence[str]) -> AnswersBesidePeople:
        """The answers of contenders and people."""
        matched = matched_calls(calls, people, conditions)
        return cls(matched.where(*matched.answered))

    @cached_property
    def people(self) -> Values:
        """The answers of people."""
        rows = self.matched.others.data.to_native()
        classes = self.matched.kind == "ratings" and answer_column(rows.columns) == "answer"
        return answers_of_people(rows, "classes" if classes else self.matched.kind)

    @cached_property
    def constants(self) -> dict[str, float]:
        """Judge -> the agreement of the best constant answer with people on what it is compared on."""
        one, two = self.matched.met
        return constant_shares(self._judges[one], self.people.to_numpy()[two])

    @cached_property
    def _judges(self) -> NDArray[np.object_]:
        judge, names = self.matched.calls.columns["judge"]
        return np.asarray(names, dtype=object)[judge]

    @cached_property
    def _shared(self) -> Mask:
        """Which things (T,) two people or more answered."""
        size = int(np.append(self.matched.thing, self.matched.other_thing).max(initial=-1)) + 1
        return np.bincount(self.matched.other_thing, minlength=size) > 1

    @property
    def constant_of_shared(self) -> tuple[object, float]:
        """The most frequent answer of people to what two or more answered, and its share."""
        shares = self.people[self._shared[self.matched.other_thing]].value_counts(normalize=True)
        return shares.index[0], float(shares.iloc[0])

    def on_shared(self, judge: str, *, scores: bool = False) -> tuple[float, float]:
        """Agreement of a judge with people, and of people, on things that the judge and two of them answered.

        Concordance for `scores`; NaN if there are no such things.
        """
        one, two = self.matched.met
        rows = (self._judges[one] == judge) & self._shared[self.matched.thing[one]]
        things = np.zeros_like(self._shared)
        things[self.matched.thing[one[rows]]] = True
        beside = np.flatnonzero(things[self.matched.other_thing])
        of_person, of_other = same_code(*[self.matched.other_thing[beside]] * 2)
        others = beside[of_person], beside[of_other]
        ours, theirs = self.matched.scores if scores else self.matched.answers
        agreement = concordance if scores else equal_share
        return agreement(ours[one[rows]], theirs[two[rows]]), agreement(
            *(theirs[side[others[0] != others[1]]] for side in others)
        )


def equal_share(one: Ints | Floats, two: Ints | Floats) -> float:
    """Share of pairs of equal answers."""
    return float((one == two).mean()) if one.size else math.nan


def concordance(one: Floats, two: Floats) -> float:
    """Lin's concordance of pairs of scores."""
    sums, statistic = concordance_of(one, two, np.ones(one.size))
    return float(statistic(sums.sum(axis=0)[None])[0]) if one.size else math.nan


def agreement_with_people(
    frame: pd.DataFrame,
    calls: Study,
    taken: Mapping[str, pd.DataFrame | str],
    conditions: Sequence[str],
    options: MeasureOptions,
) -> PeopleAgreement:
    """Agreement with people of each judge under each condition, by the measure itself."""
    none = pd.DataFrame(columns=["judge", "role", "term", "answer", "estimate"])
    if options.people is None:
        return PeopleAgreement(none)
    if not set(frame["item"].astype(str)) & set(options.people["item"].astype(str)):
        return PeopleAgreement(none, "people and judges have no item in common")
    agreement = taken.get("judge_against_people", "")
    if tuple(conditions) != options.by:  # the datasheets are split further
        agreement = measures()["judge_against_people"].attempt(frame, replace(options, by=tuple(conditions)))
    if isinstance(agreement, str):
        return PeopleAgreement(none, agreement)
    if not PeopleAgreement(agreement, groups=conditions).cells("agreement"):
        return PeopleAgreement(none, "people and judges gave no valid answer to the same thing")
    beside = AnswersBesidePeople.of(calls, options.people, conditions)
    return PeopleAgreement(agreement, groups=conditions, answers=beside)
