"""Verdicts that are sets of labels: lists, texts such as ``a;b``, or a column of yes and no for each label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import SchemaError, data_rows, refuse_unknown
from judgestats.schema.class_labels import BETWEEN, alike, listed
from judgestats.schema.coding import neither, yes_or_no
from judgestats.schema.columns import answer_column
from judgestats.schema.opening import opened
from judgestats.typing import Column, EagerFrame

#: The set of a row where no label holds.
NONE = "none"


def label_sets(texts: Iterable[object]) -> list[frozenset[str]]:
    """Sets of texts such as ``a;b`` or ``["a", "b"]``; a SchemaError where a label is blank or looks like another."""
    sets: list[frozenset[str]] = []
    for text in map(str, texts):
        members = listed(text)
        labels = frozenset(str(label).strip() for label in (text.split(BETWEEN) if members is None else members))
        if not labels or "" in labels:
            raise SchemaError(
                f"{text!r} has a blank label. Leave a cell empty where there is no answer, and write {NONE!r} where no "
                "label holds."
            )
        if any(BETWEEN in label for label in labels):
            raise SchemaError(f"{text} has a label with {BETWEEN!r}, which stands between labels. Rename it.")
        sets.append(labels)
    if groups := alike(frozenset().union(*sets)):
        raise SchemaError(
            f"Labels look alike: {', '.join(map(repr, groups[0]))}. Write each in one way, or rename one of them."
        )
    return sets


def with_sets(
    frame: IntoFrame, columns: Mapping[str, str | Sequence[str] | None]
) -> tuple[IntoFrame, dict[str, str | None]]:
    """Ratings with sets as texts, of an `answer` that is a list or a column for each label; and how they are mapped."""
    source, data = columns.get("answer", "answer"), opened(frame)
    others = {name: own for name, own in columns.items() if own is None or isinstance(own, str)}
    several = [] if source is None or isinstance(source, str) else list(source)
    present = data.collect_schema().names()
    for name in several:
        refuse_unknown(name, present, f"answer={name!r} is not a column of the table", "Columns", error=SchemaError)
    if several and not isinstance(data, nw.DataFrame):
        raise SchemaError("answer= names a column for each label, of a table in memory. Collect the table first.")
    roles = {*present, *columns} - {name for name, own in columns.items() if own is None}
    verdict = source in present and answer_column(roles) == "answer"  # not the answer of a system
    if not isinstance(data, nw.DataFrame) or not (several or verdict):
        return frame, others
    texts = _of_columns(data, several) if several else _of_lists(data[str(source)].to_pandas())
    if texts is None:
        return frame, others
    sets = nw.new_series("answer", texts, nw.String, backend=data.implementation)
    rest = data.drop([name for name in several or [str(source)] if name != "answer"])
    return rest.with_columns(sets).to_native(), {**others, "answer": "answer"}


def _of_lists(answers: Column) -> list[str | None] | None:
    """Texts of lists, each sorted; None where the answers are no lists."""
    distinct = [str(value) for value in pd.unique(answers.dropna())]
    if not distinct or any(listed(text) is None for text in distinct):
        return None
    _refuse_doubled(distinct, str(answers.name))
    words = {text: BETWEEN.join(sorted(own)) for text, own in zip(distinct, label_sets(distinct), strict=True)}
    return [None if missing else words[str(value)] for value, missing in zip(answers, answers.isna(), strict=True)]


def _refuse_doubled(texts: Sequence[str], column: str) -> None:
    """Raise where a list names a label twice: it is no set."""
    lists = [members for text in texts if (members := listed(text)) is not None]
    doubled = next((one for one in lists if len({str(v).strip() for v in one}) < len(one)), None)
    if doubled is None:
        return
    lengths = {len(one) for one in lists}
    excerpt = str(doubled)[:80]
    of = f"lists of {lengths.pop()} in each row" if len(lengths) == 1 else "lists"
    raise SchemaError(
        f"column {column!r} (answer) holds {excerpt}, which names a label twice, so "
        f"it is no set of labels. If these {of} are repeats of one call, read(..., explode={column!r}, "
        f"columns={{'answer': {column!r}, 'replicate': '{column}.index', ...}}) gives each a row; if they are sets, "
        "write each label once.",
        advice=(("explode", column),),
    )


def _of_columns(data: EagerFrame, names: Sequence[str]) -> list[str | None]:
    """Labels that hold in each row; None in rows where one is missing."""
    label_sets(names)
    answers = [data[name].to_pandas() for name in names]
    for name, values in zip(names, answers, strict=True):
        if (wrong := neither(values)).any():
            rows = np.flatnonzero(wrong)
            raise SchemaError(
                f"answer= names {name!r}, which is neither yes nor no in {len(rows):,} rows ({data_rows(rows)}, "
                f"{values.iloc[rows[0]]!r}). Allowed: true and false, 1 and 0, yes and no, or an empty cell."
            )
    held = np.column_stack([yes_or_no(values).to_numpy(dtype=float, na_value=np.nan) for values in answers])
    labels = np.array(names, dtype=object)
    return [None if np.isnan(row).any() else BETWEEN.join(sorted(labels[row == 1])) or NONE for row in held]
