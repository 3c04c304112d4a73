"""Columns of classes written in one way: the labels of judges, people and gold in a frame, or in two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.schema.class_labels import Source, Spellings, examples, label_key, label_text, says, spellings
from judgestats.schema.classes import has_answer
from judgestats.schema.columns import answer_column
from judgestats.schema.factors import Factor, Factors
from judgestats.schema.findings import Finding
from judgestats.schema.opening import refuse_nested
from judgestats.typing import EagerFrame, LazyFrame

#: Columns of labels, and who wrote each; a column without such is one source.
_WRITERS = {"gold": "", "answer": "judge", "other_answer": "other"}


def label_columns(names: Iterable[str]) -> list[str]:
    """Columns of labels of ratings that are classes, or of counts of such; none in another frame."""
    have = {*names}
    if not have & {"judge", "item"} or not have >= {"answer"} or answer_column(have) != "answer" or "first" in have:
        return []
    return [name for name in _WRITERS if name in have]


def in_one_way(columns: Factors, *others: Factors) -> tuple[list[dict[str, NDArray[np.object_]]], list[Finding]]:
    """For each frame, the label columns to rewrite in one spelling; and the findings that `check` reports about them.

    A SchemaError where labels can be read in two ways.
    """
    parts = (columns, *others)
    factors = [dict(zip(names, part.of(names), strict=True)) for part in parts for names in [label_columns(part.names)]]
    if not all(factors) or _plain([label for own in factors for f in own.values() for label in _labels(f)]):
        return [{} for _ in parts], []
    own_way = _spellings(parts)
    own_way.refuse()
    return [{name: _written(f, own_way) for name, f in own.items()} for own in factors], _notes(columns, own_way)


def lazy_in_one_way(data: LazyFrame) -> LazyFrame:
    """A lazy frame whose labels are written in one way: its distinct labels are looked at first."""
    schema = data.collect_schema()
    names = label_columns(schema.names())
    if not names:
        return data
    refuse_nested(data, names)
    sources: dict[Source, list[str]] = {}
    for name in names:
        by = [c for c in ("criterion", _WRITERS[name]) if c in schema]
        chosen = data.select(*(nw.col(c).cast(nw.String) for c in [*by, name])).unique()
        _add(sources, chosen.collect(backend="pandas").to_native(), name)
    if len({schema[name] for name in names}) == 1 and _plain([text for texts in sources.values() for text in texts]):
        return data
    own_way = spellings(sources)
    own_way.refuse()
    texts = {text: own_way.label_of(text) for own in sources.values() for text in own}
    new = []
    for name in names:
        column = text = nw.col(name).cast(nw.String)
        for old, word in texts.items():
            text = nw.when(column == old).then(nw.lit(word)).otherwise(text) if old != word else text
        new.append(text.alias(name))
    return data.with_columns(*new)


def label_faults(data: EagerFrame) -> list[Finding]:
    """The fault of a frame in codes whose labels can be read in two ways, if it has one."""
    own_way, columns = _of_frame(data)
    if own_way is None or not (problem := own_way.problem):
        return []
    remedy, advice = own_way.remedy
    groups = [group for _, group in own_way.doubled] or [(*u.ours.values(), *u.theirs.values()) for u in own_way.unlike]
    return [Finding("fault", "answer", problem, _rows(columns, groups), remedy=remedy, advice=advice)]


def label_notes(data: EagerFrame) -> list[Finding]:
    """What check says of the labels of a frame in codes that are taken as one, or as different."""
    own_way, columns = _of_frame(data)
    return [] if own_way is None else _notes(columns, own_way)


def _of_frame(data: EagerFrame) -> tuple[Spellings | None, Factors]:
    columns = Factors(data.to_native())
    factors = columns.of(label_columns(columns.names))
    plain = not factors or _plain([label for factor in factors for label in _labels(factor)])
    return None if plain else _spellings([columns]), columns


def _notes(columns: Factors, own_way: Spellings) -> list[Finding]:
    notes = []
    for groups, what, remedy in (
        (own_way.merged, "labels that look alike are taken as one class", "Write labels= if they are different."),
        (own_way.apart, "labels are equal numbers, and taken as different classes", "Write labels= if they are one."),
    ):
        if groups:
            rows = _rows(columns, groups)
            notes.append(Finding("counted", "answer", f"{what}: {examples(groups)}", rows, remedy=remedy))
    return notes


def _rows(columns: Factors, groups: Iterable[Sequence[str]]) -> tuple[int, ...]:
    """Rows with a label of some groups."""
    texts = {text for group in groups for text in group}
    rows = np.zeros(len(columns), dtype=bool)
    for factor in columns.of(label_columns(columns.names)):
        rows |= np.array([x is not None and label_text(x) in texts for x in factor.labels], dtype=bool)[factor.code]
    return tuple(np.flatnonzero(rows).tolist())


def _labels(factor: Factor) -> list[object]:
    """The labels of a column that are answers."""
    return [label for label, there in zip(factor.labels, has_answer(factor.labels), strict=True) if there]


def _plain(labels: Sequence[object]) -> bool:
    """Whether labels of one type are distinct classes as they are, so that nothing has to be rewritten."""
    if len({*map(_type_of, labels)}) > 1:
        return False
    distinct = list(dict.fromkeys(labels))
    keys = {label_key(label_text(label)) for label in distinct}
    yes_and_no = [meaning for key in keys if (meaning := says(key)) is not None]
    return len(keys) == len(distinct) and len({*yes_and_no}) == len(yes_and_no)


def _type_of(label: object) -> type:
    return bool if isinstance(label, bool | np.bool_) else float if isinstance(label, int | float | np.number) else str


def _spellings(parts: Sequence[Factors]) -> Spellings:
    sources: dict[Source, list[str]] = {}
    for i, columns in enumerate(parts):
        for name in label_columns(columns.names):
            by = [c for c in ("criterion", _WRITERS[name]) if c in columns]
            first = columns.codes([*by, name]).first
            _add(sources, columns.take(first).frame([*by, name]), name, i)
    return spellings(sources)


def _add(sources: dict[Source, list[str]], table: pd.DataFrame, name: str, place: int = 0) -> None:
    """Add the labels of a column, by criterion and by who wrote it, to those of all sources."""
    table = table[has_answer(table[name])]
    several = "criterion" in table and table["criterion"].nunique() > 1
    criteria = table["criterion"].astype(str) if several else pd.Series("", table.index)
    writer = _WRITERS[name]
    is_column = writer not in table
    names = pd.Series(name, table.index) if is_column else table[writer].astype(str)
    for criterion, who, label in zip(criteria, names, table[name], strict=True):
        sources.setdefault(Source(criterion, who, is_column, place), []).append(label_text(label))


def _written(factor: Factor, own_way: Spellings) -> NDArray[np.object_]:
    """The labels of all rows as text, written in one way."""
    answered = has_answer(factor.labels)
    words = [own_way.label_of(x) if there else x for x, there in zip(factor.labels, answered, strict=True)]
    return np.array(words, dtype=object)[factor.code]
