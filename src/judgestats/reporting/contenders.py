"""Who is compared: judges, or judges in conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.study import Study
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.formatting import count, noun
from judgestats.schema.columns import CONDITIONS
from judgestats.schema.factors import Factor


@dataclass(frozen=True)
class Contenders:
    """Who is compared: judges, or judges in conditions. `rows`: judge and conditions, by the label of each."""

    rows: pd.DataFrame

    @classmethod
    def of(cls, study: Study, columns: Sequence[str]) -> Contenders:
        """The judges of a study, or those of each condition; a missing judge is —."""
        rows = study.columns.take(study.columns.codes(columns).first).frame(columns)
        return cls(rows.set_axis(whose(rows.assign(term="")).where(rows["judge"].notna(), "—")))

    def said(self, labels: Iterable[str]) -> str:
        """How many they are: 3 judges; 4 judges in 3 conditions."""
        contenders = self.rows.loc[list(labels)]
        judges, ways = contenders["judge"].nunique(), len(contenders.drop(columns="judge").drop_duplicates())
        if judges == len(contenders):
            return noun(judges, "judge")
        text = f"{noun(judges, 'judge')} in {noun(ways, 'condition')}"
        return text if judges * ways == len(contenders) else f"{text} ({count(len(contenders))} in all)"


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
    return Study(columns, nw.from_native(data, eager_only=True))
