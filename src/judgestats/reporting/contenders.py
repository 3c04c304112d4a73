"""Who is compared: judges, or judges in conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.study import Study
from judgestats.metrics.clustered import RATED
from judgestats.metrics.references import only_people
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.formatting import count, noun
from judgestats.schema.classes import has_answer
from judgestats.schema.coding import Codes, combine, rows_of_codes
from judgestats.schema.columns import CONDITIONS, answer_column
from judgestats.schema.factors import Factor
from judgestats.typing import Column, Integers, Mask

#: Share of the items of the judge with fewer of them that two judges share if they are of one group.
TOGETHER = 0.5
#: Share of what the judge with the most answered that another lacks to be said to have answered fewer.
SPARSE = 0.05
#: Fewest things judged by all of a group for a table of them alone.
FEWEST_SHARED = 30


@dataclass(frozen=True)
class Contenders:
    """Who is compared: judges, or judges in conditions. `rows`: judge and conditions, by the label of each."""

    rows: pd.DataFrame
    people: bool = False  # whether all are people

    @classmethod
    def of(cls, study: Study, columns: Sequence[str]) -> Contenders:
        """The judges of a study, or those of each condition; a missing judge is —."""
        rows = study.columns.take(study.columns.codes(columns).first).frame(columns)
        return cls(rows.set_axis(whose(rows, columns).where(rows["judge"].notna(), "—")), only_people(study))

    def among(self, labels: Iterable[str]) -> pd.DataFrame:
        """Judge and conditions of some labels; values that print alike are one."""
        return self.rows[~self.rows.index.duplicated()].loc[list(labels)]

    def said(self, labels: Iterable[str]) -> str:
        """How many they are: 3 judges; 4 judges in 3 conditions."""
        contenders = self.among(labels)
        judges, ways = contenders["judge"].nunique(), len(contenders.drop(columns="judge").drop_duplicates())
        raters = noun(judges, "person", "people") if self.people else noun(judges, "judge")
        if judges == len(contenders):
            return raters
        text = f"{raters} in {noun(ways, 'condition')}"
        return text if judges * ways == len(contenders) else f"{text} ({count(len(contenders))} in all)"

    def counted(self, labels: Iterable[str]) -> str:
        """Their number where some of them are counted: 3 judges; 12 (4 judges in 3 conditions)."""
        names, text = list(labels), self.said(labels)
        return text if self.among(names)["judge"].nunique() == len(names) else f"{len(names)} ({text})"


def calls_by_contender(study: Study, who: Contenders, columns_of_contender: Sequence[str]) -> Study:
    """The calls by contender in place of judge, without how a judge was asked: it is no part of what it judged."""
    label, labels = pd.factorize(who.rows.index, sort=True)
    judge = Factor(label[study.columns.codes(columns_of_contender).code], labels)
    columns = study.columns.but(judge=judge)
    met = {w: columns.codes(["judge", w]).first for w in CONDITIONS if w in columns and w not in columns_of_contender}
    one = [w for w, first in met.items() if np.bincount(judge.code[first]).max(initial=0) <= 1]
    data = study.data.to_native().assign(judge=np.asarray(labels, dtype=object)[judge.code]).drop(columns=one)
    for w in one:
        columns = columns.without(w)
    return Study(columns, nw.from_native(data, eager_only=True), study.origin)


def answered(calls: Study, *, silent: bool = False) -> Study:
    """The calls with an answer; `silent`: and all calls of a judge that has none. All where no call has one."""
    answer = calls.columns["choice" if "choice" in calls.names else answer_column(calls.names)]
    judge, names = calls.columns["judge"]
    there = has_answer(answer.labels)[answer.code]
    if silent:
        there = there | (np.bincount(judge, there, len(names)) == 0)[judge]
    return calls.where(there) if there.any() else calls


def judged_units(calls: Study, ways: Iterable[str] = ()) -> Codes:
    """What each row judged, by which criterion: what a system did on an item, or a pair, in whichever order.

    `ways`: columns of ways of asking, each of which is a unit of its own.
    """
    beside = [c for c in ("criterion", *ways) if c in calls.names]
    if "first" not in calls.names:
        return calls.columns.codes([*(c for c in RATED if c in calls.names and c not in beside), *beside])
    units = calls.pairs
    return (
        combine([(units.code, units.size), *(_size_of(calls, c) for c in beside)], len(units.code)) if beside else units
    )


def together(judges: Column, units: Column) -> list[list[str]]:
    """Groups of judges that share at least half of the units of the one with fewer, the largest first.

    A judge with less than half as many units as another is grouped with it if they share 30 or more, on which all of
    the group can be compared.

    >>> together(pd.Series(["a", "a", "b", "b", "c"]), pd.Series(["1", "2", "1", "2", "9"]))
    [['a', 'b'], ['c']]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    who, names = pd.factorize(judges.astype(str), sort=True)
    what, things = pd.factorize(units)
    marks = csr_array((np.ones(len(who)), (who, what)), shape=(len(names), len(things)))
    marks.sum_duplicates()
    marks.data[:] = 1.0
    shared = (marks @ marks.T).tocoo()
    own = shared.diagonal()
    fewer, more = (extreme(own[shared.row], own[shared.col]) for extreme in (np.minimum, np.maximum))
    linked = (shared.data >= TOGETHER * fewer) & ((fewer >= TOGETHER * more) | (shared.data >= FEWEST_SHARED))
    links = csr_array((np.ones(linked.sum()), (shared.row[linked], shared.col[linked])), shape=shared.shape)
    component = connected_components(links, directed=False)[1]
    parts = pd.Series(names.astype(str)).groupby(component).agg(list) if len(names) else []
    return sorted(parts, key=lambda g: (-len(g), g))


def sparse_judges(calls: Study, conditions: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Judges who answered clearly fewer things than the judge with the most answers: how many, and that judge's number.

    They are compared within each level of the conditions that are part of a thing, as a task is, and only where that
    judge answered at least half of what they did.
    """
    units = judged_units(calls)
    judge, names = calls.columns["judge"]
    rows = len(calls.columns)
    scope = [c for c in conditions if combine([(units.code, units.size), _size_of(calls, c)], rows).size == units.size]
    met = combine([(units.code, units.size), (judge, len(names))], rows).first
    level = calls.columns.codes(scope).code[met] if scope else np.zeros(met.size, dtype=np.int64)
    unit, who = units.code[met], judge[met]
    few: dict[str, tuple[int, int]] = {}
    for rows_of_level in rows_of_codes(level, int(level.max(initial=-1)) + 1):
        own = np.bincount(who[rows_of_level], minlength=len(names))
        first = int(own.argmax())
        answered_by_first = np.isin(unit[rows_of_level], unit[rows_of_level][who[rows_of_level] == first])
        common = np.bincount(who[rows_of_level], answered_by_first, len(names))
        fewer = (own > 0) & (own <= (1 - SPARSE) * own[first]) & (common >= TOGETHER * own)
        few |= {str(names[j]): (int(own[j]), int(own[first])) for j in np.flatnonzero(fewer)}
    return few


def _size_of(calls: Study, column: str) -> tuple[Integers, int]:
    code, labels = calls.columns[column]
    return code, len(labels)


def level_names(who: Contenders, conditions: Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
    """The level of each group, where each judge has rows for several systems or criteria; else none.

    Judges of two criteria judged two things, and are not compared.
    """
    of_things = [c for c in conditions if c in RATED]
    if not of_things or len(groups) < 2:
        return []
    rows = [who.among(judges[:1]).iloc[0] for judges in groups]
    return [" · ".join(f"{c} = {row[c]}" for c in of_things) for row in rows]


class SharedPart(NamedTuple):
    """The part of a data set on which all judges of a group can be compared."""

    rows: Mask  # of what all of them judged, and all rows of the other groups
    further: Integers  # (J,): how many things beside these each judge judged


def shared_part(judge: Factor, units: Codes, group: Sequence[str]) -> SharedPart | None:
    """What all judges of a group judged, and the other groups; None where that leaves none out.

    Nor where all judged fewer than 30 things, or less than half of what the judge with the fewest judged.
    """
    member = np.isin(np.asarray(judge.labels, dtype=object), list(group))
    met = combine([(units.code, units.size), (judge.code, len(judge.labels))], len(judge.code)).first
    met = met[member[judge.code[met]]]
    common = np.bincount(units.code[met], minlength=units.size) == len(group)
    own = np.bincount(judge.code[met], minlength=len(judge.labels))
    fewest, most = own[member].min(), own[member].max()
    if fewest == most == common.sum() or common.sum() < max(FEWEST_SHARED, TOGETHER * fewest):
        return None
    all_judged = met[common[units.code[met]]]
    return SharedPart(
        ~member[judge.code] | common[units.code], own - np.bincount(judge.code[all_judged], minlength=len(judge.labels))
    )
