"""Flags that count the calls and answers that a measure does without."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.counts import Counts
from judgestats.counting.study import Calls, Study
from judgestats.results import text_array
from judgestats.schema.classes import is_answer, where_answered
from judgestats.schema.columns import answer_column
from judgestats.schema.factors import Factors
from judgestats.typing import Floats


def missing_counted(found: pd.DataFrame, calls: Calls, by: Sequence[str] = ()) -> pd.DataFrame:
    """Results with a flag that counts the missing answers behind each row, unless it has one.

    They are those of the row's group and of its ``judge`` and ``other``, or of all judges. `by`: grouping columns.
    """
    study = Study.of(calls)
    value = "choice" if "choice" in study.names else answer_column(study.names)
    if not {value, "judge"} <= {*study.names}:
        return found
    by = [c for c in dict.fromkeys(by) if c in study.names and c in found.columns and c != "judge"]
    missing = _missing(study, value, [*by, "judge"])
    if missing is None:
        return found
    times, what = missing[1].tolist(), "answer(s)" if value == "choice" else "score(s)"
    columns = {c: [*map(str, missing[0].series(c))] for c in (*by, "judge")}
    totals: dict[tuple[bool, ...], dict[tuple[str, ...], Counter[str]]] = {}
    raters = [c for c in ("judge", "other") if c in found]

    def noted(flag: str, *labels: str) -> str:
        if flags.has(flag, flags.MISSING, flags.SCORES_EXCLUDED, flags.N_SCORES_EXCLUDED):
            return flag
        group, named_raters = labels[: len(by)], {*labels[len(by) :]} - {"", "nan", "None"}
        named = tuple(g not in ("", "nan") for g in group)  # a row about all systems, say, has no system
        if named not in totals:
            totals[named] = defaultdict(Counter)
            chosen = [c for c, has in zip(by, named, strict=True) if has]
            for *key, judge, n in zip(*(columns[c] for c in [*chosen, "judge"]), times, strict=True):
                totals[named][tuple(key)][judge] += n
        here = totals[named].get(tuple(g for g, has in zip(group, named, strict=True) if has), Counter())
        return flags.join(flag, flags.MISSING.of(sum(here[j] for j in named_raters or set(here)), what=what))

    rows = zip(found["flag"], *(map(str, found[c]) for c in (*by, *raters)), strict=True)
    return found.assign(flag=text_array([noted(*row) for row in rows]))


def _missing(study: Study, value: str, keys: list[str]) -> tuple[Factors, Floats] | None:
    """How many answers are missing for each combination of the keys; None where none is."""
    if study.lazy:
        answer, is_float = nw.col(value), study.data.collect_schema()[value].is_float()
        without = answer.is_null() | answer.is_nan() if is_float else answer.is_null()
        absent = Study.of(study.data.filter(~where_answered(answer.cast(nw.String)) if value == "answer" else without))
        counted = absent.counted(keys)
        return counted if counted[1].size else None
    values = study.columns.series(value)
    missing = ~is_answer(values) if value == "answer" else values.isna().to_numpy()
    return study.where(missing).counted(keys) if missing.any() else None


@dataclass(frozen=True)
class ExcludedCalls:
    """Number of calls excluded from each group, for the flags: the grouping columns and ``_without``, the number."""

    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    what: str = ""  # a description: ``calls of equal length``

    @classmethod
    def of(cls, study: Study, groups: Sequence[str], what: str) -> ExcludedCalls:
        """All calls of a study, by group."""
        columns, n = study.counted(groups)
        return cls(columns.frame(_without=n), what) if n.size else cls(what=what)

    def flagged(self, rows: list[dict[str, Any]], groups: Sequence[str]) -> list[dict[str, Any]]:
        """Add the number of excluded calls to the flag of every row of its group."""
        known = [g for g in groups if g in self.table]
        if not len(self.table):
            return rows
        sums = self.table.groupby(known, dropna=False)["_without"].sum().reset_index()
        number = {_key(key): n for *key, n in sums.itertuples(index=False)}
        for row in rows:
            n = number.get(_key([row[g] for g in known]), 0)
            row["flag"] = flags.join(row["flag"], flags.EXCLUDED.of(n, what=self.what))
        return rows

    def with_empty(self, counts: Counts) -> Counts:
        """Add a row with count 0 for each group whose calls are all excluded."""
        groups = [g for g in counts.groups if g in self.table]
        if not len(self.table):
            return counts
        empty = self.table[groups].drop_duplicates()
        present = {_key(list(key.values())) for key, _ in counts.grouped(groups).each_group()}
        empty = empty[[_key(key) not in present for key in empty.itertuples(index=False)]]
        if not len(empty):
            return counts
        table = counts.table
        rows = empty.assign(outcome="invalid", n=0.0).astype({g: table[g].dtype for g in groups}, errors="ignore")
        table = pd.concat([table, rows], ignore_index=True)
        alike = None if counts.alike is None else np.append(counts.alike, np.ones(len(rows)))
        return replace(counts, columns=Factors(table), n=table["n"].to_numpy(dtype=float), alike=alike)


def _key(values: Sequence[object]) -> tuple[object, ...]:
    """Key of a group; missing values are equal."""
    return tuple(None if pd.isna(v) else str(v) for v in values)
