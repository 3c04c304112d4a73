"""Verdicts that are classes: which there are, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame

from judgestats.errors import SchemaError, suggestion
from judgestats.schema.class_labels import class_named, label_text
from judgestats.schema.coding import ranked_codes
from judgestats.typing import Column, Integers, Mask

#: No valid answer; in ratings it is missing.
INVALID = "invalid"
#: Labels that are no class.
_NO_CLASS = ("", INVALID)


def is_answer(values: Column) -> Mask:
    """Where there is an answer: the value is not missing, not empty, and not :data:`INVALID`."""
    there: Mask = (values.notna() & ~values.astype(object).isin(_NO_CLASS)).to_numpy(dtype=bool)
    return there


def has_answer(labels: Iterable[object]) -> Mask:
    """:func:`is_answer` of a few labels."""
    return np.array([not (pd.isna(label) or label in _NO_CLASS) for label in labels], dtype=bool)


def where_answered(column: nw.Expr) -> nw.Expr:
    """:func:`is_answer` of a column of text in any engine."""
    return ~(column.is_null() | column.is_in(_NO_CLASS))


def class_codes(values: Column) -> tuple[Integers, pd.Index]:
    """Code of the class of each row among those that occur, sorted; -1 where there is none."""
    code, labels = ranked_codes(values)
    there = has_answer(labels)
    return np.where(there, np.cumsum(there) - 1, -1)[code], pd.Index(labels, dtype=object)[there]


def unlike_classes(criteria: Column, answers: Column) -> bool:
    """Whether two criteria are answered in different classes; one class alone may be one of those of the other.

    >>> criteria = pd.Series(["tone", "tone", "fact", "fact"])
    >>> [unlike_classes(criteria, pd.Series(a)) for a in (["warm", "cold", "yes", "no"], ["yes", "yes", "yes", "no"])]
    [True, False]
    """
    there = is_answer(answers)
    classes = answers[there].astype(str).groupby(criteria[there].to_numpy(), dropna=False).agg(frozenset)
    sets = sorted({*classes}, key=len)
    return any(one != two and (len(one) > 1 or not one <= two) for one, two in combinations(sets, 2))


def with_classes(data: Frame, classes: Sequence[str] | None, ordered: bool) -> Frame:
    """Ratings whose answers are among these classes; if they are ordered, with ``score``, the place of each from 1.

    The type of the column names the classes, where the engine has such a type (pandas, Polars and DuckDB have).
    """
    if classes is None:
        if ordered:
            raise SchemaError('ordered=True needs classes=, from the lowest: classes=["mild", "severe"], say.')
        return data
    listed = [classes] if isinstance(classes, str) else [str(c) for c in classes]
    if len(set(listed)) < max(len(listed), 2):
        raise SchemaError(f"classes={listed!r} names fewer than two classes, or one of them twice.")
    present = data.collect_schema().names()
    if "answer" not in present:
        raise SchemaError(
            f"classes= says what 'answer' may be, and there is no such column. Columns: {', '.join(present)}. Name it "
            "in answer=."
        )
    if ordered and "score" in present:
        raise SchemaError("ordered=True makes 'score', the place of each class, and the table has a 'score'. Drop it.")
    data = _with_places(data, "answer", listed, "score" if ordered else "")
    return _with_places(data, "gold", listed, "gold") if ordered and "gold" in present else data


def _with_places(data: Frame, column: str, classes: list[str], place: str) -> Frame:
    """The frame with the place of each class, from 1, as a column; an error where a label is none of the classes."""
    text = nw.col(column).cast(nw.String)
    distinct = data.lazy().select(text).unique().collect(backend="pandas").to_native()[column].dropna()
    labels = [str(label) for label in distinct if label not in _NO_CLASS]
    class_of = {label: class_named(label, classes) for label in labels}
    places = {*map(str, range(1, len(classes) + 1))}
    if column == "gold" and None in class_of.values() and {*map(label_text, labels)} <= places:
        return data  # places already
    _refuse_others(data, column, sorted(label for label in labels if class_of[label] is None), classes)
    engine = data.implementation
    if column == "answer" and (engine.is_pandas_like() or engine.is_polars() or engine.is_duckdb()):
        declared: nw.Expr = nw.lit(None, nw.String)
        for label, name in class_of.items():
            declared = nw.when(text == label).then(nw.lit(str(name))).otherwise(declared)
        data = data.with_columns(declared.cast(nw.Enum(classes)).alias("answer"))
        text = nw.col("answer").cast(nw.String)
        class_of = {str(name): name for name in class_of.values()}
    if not place:
        return data
    number: nw.Expr = nw.lit(None, nw.Float64)
    for label, name in class_of.items():
        number = nw.when(text == label).then(nw.lit(float(classes.index(str(name)) + 1))).otherwise(number)
    return data.with_columns(number.alias(place))


def declared_classes(data: Frame) -> list[object]:
    """Declared classes of an answer column (their places if ordered), from its type; none if it declares none."""
    schema = data.collect_schema()
    if "answer" not in schema.names() or not isinstance(schema["answer"], nw.Enum):
        return []
    classes = schema["answer"].categories
    return list(range(1, len(classes) + 1)) if "score" in schema.names() else list(classes)


def _refuse_others(data: Frame, column: str, others: list[str], classes: list[str]) -> None:
    """Raise where labels are none of the classes."""
    if others:
        rows = data.lazy().select((nw.col(column).cast(nw.String).is_in(others)).sum().alias("n"))
        n = int(rows.collect(backend="pandas").to_native()["n"].iloc[0])
        more = f" (and {len(others) - 3} more)" if len(others) > 3 else ""
        raise SchemaError(
            f"{column!r} is {', '.join(map(repr, others[:3]))}{more} in {n:,} row{'s' * (n != 1)}, which classes= does "
            f"not name. Allowed: {', '.join(classes)}.{suggestion(others[0], classes)} Translate it with "
            f"labels={{{others[0]!r}: ...}}, where 'invalid' is no answer."
        )
