"""The card that says what to read with care."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from judgestats.counting.study import Study
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.metrics.references import only_people
from judgestats.metrics.standings import means_of
from judgestats.reporting.card_questions import CardQuestion, FirstScreen, rows_by_judge
from judgestats.reporting.contenders import answered
from judgestats.reporting.formatting import PERCENT, count, noun, printed
from judgestats.reporting.nesting import few_levels, nesting
from judgestats.reporting.page_claims import Relation
from judgestats.reporting.summary_parts import Card, Caution, SummaryColumn, listed

#: Share of calls without a readable answer, or of rows excluded, from which a card says so.
MANY_LOST = 0.05
#: False preference from which a card says so, as of the type of a judge.
OFTEN = 0.5
#: Fewer pairs or items than this are few.
FEW = 30

#: Between the first caution and the others.
ALSO = "; also: "


def caution_card(
    calls: Study,
    sheet: pd.DataFrame,
    columns: Sequence[SummaryColumn],
    ranked: Sequence[Sequence[str]],
    findings: pd.DataFrame,
    lead: tuple[Sequence[Caution], Sequence[Caution]],
    screen: FirstScreen,
    options: MeasureOptions,
) -> Card | None:
    """The first caution that applies, and how many more; `lead`: those on who can be compared with whom."""
    right = screen.questions.get("right")
    said = [*lead[0]]
    said += [few] if (few := _few_behind_many(calls, right, ranked, options)) else []
    if screen.apart:
        said.append(Caution("Scores on different scales are not compared", screen.apart, "apart"))
    said += lead[1]
    equals = next((c for c in columns if c.term == "raw_false_preference"), None)
    much = [j for group in ranked for j in group if equals and j in equals.cells and _often(equals, j)]
    if equals and much:
        worst = max(much, key=lambda j: float(equals.cells[j]["estimate"]))
        why = f"{equals.text(worst)[0]} of calls on two equals: a preference is then no sign of a difference"
        claim = f"{listed(much, 2)}: prefer{'s' * (len(much) == 1)} one of two equals"
        said.append(_of_judges(equals, claim, why, "is", [worst, *(j for j in much if j != worst)]))
    lost = {j: 1 - float(r["estimate"]) for j, r in rows_by_judge(sheet, "valid", ["validity"]).items()}
    lost |= {j: float(r["estimate"]) for j, r in rows_by_judge(sheet, "missing").items()}
    many = sorted((j for j, share in lost.items() if share >= MANY_LOST), key=lambda j: (-lost[j], j))
    if many:
        why = f"{printed(lost[many[0]], 'share')} of calls gave no readable answer"
        shares = tuple(lost[j] for j in many)
        said.append(Caution(f"{listed(many, 2)}: answers missing", why, "lost", tuple(many), shares, "missing"))
    top = columns[0] if columns else None
    if top is not None and top.term in ("accuracy", "agreement", "distance"):
        line = f"compared with {top.line.removeprefix('dashed: ')}"
        relations: tuple[Relation, ...] = ("worse", "not better")
        for judges, words, as_said in zip(
            top.beside_constant(), ("worse than", "not shown to beat"), relations, strict=True
        ):
            if judges:
                said.append(_of_judges(top, f"{listed(judges, 2)}: {words} a constant answer", line, as_said, judges))
    answers = answered(calls).columns
    judge = answers["judge"].code
    most = int(np.bincount(judge[answers.codes(["judge", "item"]).first]).max(initial=0))
    if 0 < most < FEW:
        why = "intervals are wide, and rough below 10"
        said.append(Caution(f"Only {noun(most, 'item')}", why, "few", (), (float(most),), "items"))
    rows = findings[findings["level"] == "rows"].set_index("what")["n"]
    excluded, total = int(rows.get("rows excluded", 0)), max(int(rows.get("rows in", 1)), 1)
    if excluded / total >= MANY_LOST:
        share = printed(excluded / total, "share")
        why = f"{count(excluded)} of {count(total)}; see data and method"
        said.append(Caution(f"{share} of the rows excluded", why, "lost", (), (excluded / total,), "rows"))
    alone = np.unique(judge).size == 1 and options.people is None and not {"gold", "gold_at"} & {*calls.names}
    if alone and "stimulus" not in calls.names:
        one, others = (
            ("person", "or another") if only_people(calls) else ("judge", "people (humans=) or a second judge")
        )
        why = f"add right answers (gold=), {others}"
        said.append(Caution(f"One {one}, no reference", why, "few", (), (1.0,), "judges"))
    if not said:
        return None
    further = [caution.claim for caution in said[1:3]]
    claim, detail = said[0].claim, said[0].why
    more = f"{ALSO}{'; '.join(c[0].lower() + c[1:] if c.startswith(('Only', 'One')) else c for c in further)}"
    typed = replace(said[0].typed, sentence=""), *(caution.typed for caution in said[1:3])  # the card is the first's
    return Card("care", "Read with care", claim, detail + (more if further else ""), "", typed)


def _of_judges(column: SummaryColumn, claim: str, why: str, relation: Relation, judges: Sequence[str]) -> Caution:
    """A caution on judges, with their values in a column."""
    values = tuple(float(column.cells[j]["estimate"]) for j in judges)
    return Caution(claim, why, relation, tuple(judges), values, column.term, ("comparison",))


def _often(equals: SummaryColumn, judge: str) -> bool:
    return float(equals.cells[judge]["estimate"]) >= OFTEN


def _few_behind_many(
    calls: Study, right: CardQuestion | None, ranked: Sequence[Sequence[str]], options: MeasureOptions
) -> Caution | None:
    """How few tasks stand behind the items, and how wide the interval of the first judge is by them."""
    if options.cluster != "auto":
        return None
    nested = nesting(calls) if right is None else few_levels(right.nests)
    if nested is None:
        return None
    claim = f"{nested.levels} {nested.name} stand behind {noun(nested.items, 'item')}"
    why = "the intervals hold for these, not for others like them"
    unchecked = Caution(claim, why, "few", (), (float(nested.levels),), nested.name)
    if right is None or not ranked or not ranked[0]:
        return unchecked
    marks = right.marks.assign(cluster=nested.level.reindex(right.marks["item"]).to_numpy())
    rows = means_of(marks, bounds=right.bounds, conf_level=options.conf_level).set_index("judge")
    best = ranked[0][0]
    if best not in rows.index or not math.isfinite(rows.loc[best, "conf_low"]):
        return unchecked
    ends = [float(rows.loc[best, end]) for end in ("conf_low", "conf_high")]
    low, high = (printed(end, right.form, ends[1] - ends[0]) for end in ends)
    why = f"by them the interval of {best} is {low.removesuffix(PERCENT)} to {high}"
    return replace(unchecked, why=why, judges=(best,), values=(float(nested.levels), *ends))
