"""Flags that count the answers that a measure does without: :func:`missing_counted`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats import flags
from judgestats.counting.study import Study
from judgestats.schema.columns import COUNTS, answer_column


def missing_counted(found: pd.DataFrame, calls: Any, by: Sequence[str] = ()) -> pd.DataFrame:
    """Results with a flag that counts the missing answers behind each row, unless it has one.

    They are those of the row's group and of its ``judge`` and ``other``, or of all judges. `by`: grouping columns.
    """
    study = Study.of(calls)
    value = "choice" if "choice" in study.names else answer_column(study.names)
    if not {value, "judge"} <= {*study.names}:
        return found
    by = [c for c in dict.fromkeys(by) if c in study.names and c in found.columns and c != "judge"]
    table = (_missing_there if study.lazy else _missing)(study, value, [*by, "judge"])
    if table.empty:
        return found
    times, what = table.pop("_n").tolist(), "answer(s)" if value == "choice" else "score(s)"
    columns = table.astype(str)
    totals: dict[tuple[bool, ...], dict[tuple[str, ...], Counter[str]]] = {}
    raters = [c for c in ("judge", "other") if c in found]

    def noted(flag: str, *labels: str) -> str:
        if any("missing" in f and ("score" in f or "answer" in f) for f in flag.split("; ")):
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
    return found.assign(flag=pd.Series([noted(*row) for row in rows], found.index, dtype="str"))


def _missing(study: Study, value: str, keys: list[str]) -> pd.DataFrame:
    """How many answers are missing for each combination of the keys."""
    absent = study.columns.series(value).isna().to_numpy()
    kinds, n = study.where(absent).columns.counted(keys, None if study.weight is None else study.weight[absent])
    return kinds.frame(keys).assign(_n=n)


def _missing_there(study: Study, value: str, keys: list[str]) -> pd.DataFrame:
    """:func:`_missing` of a lazy frame, in its own engine."""
    answer, is_float = nw.col(value), study.data.collect_schema()[value].is_float()
    absent = answer.is_null() | answer.is_nan() if is_float else answer.is_null()
    n = nw.col(COUNTS).sum() if COUNTS in study.names else nw.len()
    table: pd.DataFrame = (
        study.data.filter(absent).group_by(*keys).agg(n.alias("_n")).collect(backend="pandas").to_native()
    )
    return table
