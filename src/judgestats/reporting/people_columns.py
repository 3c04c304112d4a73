"""Agreement of the judges with people, as columns of the comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from judgestats.metrics.measure_registry import Options, measures
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.summary_parts import Column
from judgestats.typing import Record


@dataclass(frozen=True)
class PeopleAgreement:
    """Agreement of the judges with people: rows of :func:`judgestats.judge_against_people`, or why there are none."""

    rows: pd.DataFrame
    why: str = ""

    def cells(self, *terms: str) -> dict[str, Record]:
        """Judge -> its row of one of the terms."""
        rows = self.rows[(self.rows["role"] == "judge") & self.rows["term"].isin(terms) & self.rows["estimate"].notna()]
        rows = rows.drop(columns=["role", "answer"])
        records = zip(whose(rows), rows.to_dict("records"), strict=True) if len(rows) else ()
        return {judge: {str(k): v for k, v in r.items()} for judge, r in records}

    @property
    def columns(self) -> list[Column]:
        """Raw agreement, with that of the best constant answer, and agreement beyond chance."""
        if not (cells := self.cells("agreement")):
            return []
        level = self.rows.loc[self.rows["term"] == "constant_answer", "estimate"]
        constant = float(level.iloc[0]) if len(level) == 1 else math.nan
        line = "dashed: always the people's most frequent answer" if len(level) == 1 else ""
        note = "share of people's answers that the judge gives too"
        raw = Column("agreement", "Agrees with people", note, "share", cells, False, constant, line)
        beyond = self.cells("kappa", "concordance")
        note = "agreement beyond chance"
        kappa = Column("kappa", "Kappa with people", note, "score", beyond, False, 0.0, "dashed: chance")
        return [raw, *([kappa] if beyond else [])]


def agreement_with_people(
    frame: pd.DataFrame, taken: Mapping[str, pd.DataFrame | str], conditions: Sequence[str], options: Options
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
    columns = PeopleAgreement(agreement)
    return (
        columns
        if columns.columns
        else PeopleAgreement(none, "people and judges gave no valid answer to the same thing")
    )
