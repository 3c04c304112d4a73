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
    frame, schema = study.data, study.data.collect_schema()
    value = "choice" if "choice" in schema else answer_column(schema.names())
    if not {value, "judge"} <= set(schema):
        return found

    def absent(answer: Any) -> Any:
        return answer.is_null() | answer.is_nan() if schema[value].is_float() else answer.is_null()

    if not study.lazy and not absent(frame[value]).any():
        return found
    by = [c for c in dict.fromkeys(by) if c in schema and c in found.columns and c != "judge"]
    n = nw.col(COUNTS).sum() if COUNTS in schema else nw.len()
    missing = frame.lazy().filter(absent(nw.col(value)))
    table = missing.group_by(*by, "judge").agg(n.alias("_n")).collect(backend="pandas").to_native()
    if table.empty:
        return found
    columns, what = table[[*by, "judge"]].astype(str), "answer(s)" if value == "choice" else "score(s)"
    totals: dict[tuple[bool, ...], dict[tuple[str, ...], Counter[str]]] = {}

    def noted(row: dict[str, Any]) -> str:
        if any("missing" in f and ("score" in f or "answer" in f) for f in row["flag"].split("; ")):
            return str(row["flag"])
        group = [str(row[c]) for c in by]
        named = tuple(g not in ("", "nan") for g in group)  # a row about all systems, say, has no system
        if named not in totals:
            totals[named] = defaultdict(Counter)
            chosen = [c for c, has in zip(by, named, strict=True) if has]
            for (*key, judge), n in zip(columns[[*chosen, "judge"]].itertuples(index=False), table["_n"], strict=True):
                totals[named][tuple(key)][judge] += n
        here = totals[named].get(tuple(g for g, has in zip(group, named, strict=True) if has), Counter())
        judges = {str(row[c]) for c in ("judge", "other") if c in row} - {"", "nan", "None"} or set(here)
        return flags.join(row["flag"], flags.MISSING.of(sum(here[j] for j in judges), what=what))

    return found.assign(flag=pd.Series([noted(row) for row in found.to_dict("records")], found.index, dtype="str"))
