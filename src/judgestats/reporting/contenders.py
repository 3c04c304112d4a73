"""Who is compared: judges, or judges in conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.study import Study
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.formatting import count, noun
from judgestats.schema.coding import Codes, combine
from judgestats.schema.columns import CONDITIONS
from judgestats.schema.factors import Factor
from judgestats.typing import Column, Integers, Mask

#: Share of the items of the judge with fewer of them that two judges share if they are of one group.
TOGETHER = 0.5
#: Fewest things judged by all of a group for a table of them alone.
FEWEST_SHARED = 30


@dataclass(frozen=True)
class Contenders:
    """Who is compared: judges, or judges in conditions. `rows`: judge and conditions, by the label of each."""

    rows: pd.DataFrame

    @classmethod
    def of(cls, study: Study, columns: Sequence[str]) -> Contenders:
        """The judges of a study, or those of each condition; a missing judge is —."""
        rows = study.columns.take(study.columns.codes(columns).first).frame(columns)
        return cls(rows.set_axis(whose(rows.assign(term="")).where(rows["judge"].notna(), "—")))

    def among(self, labels: Iterable[str]) -> pd.DataFrame:
        """Judge and conditions of some labels; values that print alike are one."""
        return self.rows[~self.rows.index.duplicated()].loc[list(labels)]

    def said(self, labels: Iterable[str]) -> str:
        """How many they are: 3 judges; 4 judges in 3 conditions."""
        contenders = self.among(labels)
        judges, ways = contenders["judge"].nunique(), len(contenders.drop(columns="judge").drop_duplicates())
        if judges == len(contenders):
            return noun(judges, "judge")
        text = f"{noun(judges, 'judge')} in {noun(ways, 'condition')}"
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


def together(judges: Column, items: Column) -> list[list[str]]:
    """Groups of judges that share at least half of the items of the one with fewer, the largest first.

    >>> together(pd.Series(["a", "a", "b", "b", "c"]), pd.Series(["1", "2", "1", "2", "9"]))
    [['a', 'b'], ['c']]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    who, names = pd.factorize(judges.astype(str), sort=True)
    what, things = pd.factorize(items.astype(str))
    marks = csr_array((np.ones(len(who)), (who, what)), shape=(len(names), len(things)))
    marks.sum_duplicates()
    marks.data[:] = 1.0
    shared = (marks @ marks.T).tocoo()
    own = shared.diagonal()
    linked = shared.data >= TOGETHER * np.minimum(own[shared.row], own[shared.col])
    links = csr_array((np.ones(linked.sum()), (shared.row[linked], shared.col[linked])), shape=shared.shape)
    component = connected_components(links, directed=False)[1]
    parts = pd.Series(names.astype(str)).groupby(component).agg(list) if len(names) else []
    return sorted(parts, key=lambda g: (-len(g), g))


class Shared(NamedTuple):
    """The part of a data set on which all judges of a group can be compared."""

    rows: Mask  # of what all of them judged, and all rows of the other groups
    further: Integers  # (J,): how many things beside these each judge judged


def shared_part(judge: Factor, units: Codes, group: Sequence[str]) -> Shared | None:
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
    return Shared(
        ~member[judge.code] | common[units.code], own - np.bincount(judge.code[all_judged], minlength=len(judge.labels))
    )
