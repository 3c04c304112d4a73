"""Verdicts that are classes: which there are, their order, and labels that look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame

from judgestats.errors import SchemaError, suggestion
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


def alike(labels: Iterable[str]) -> list[list[str]]:
    """Labels that differ in case, spaces, invisible signs or the spelling of an accent only, sorted in groups."""
    names = list(labels)
    seen = [_as_seen(name) for name in names]
    if len({*seen}) == len(seen):  # as a rule, and millions of lists would be made of millions of ids
        return []
    groups: dict[str, list[str]] = {}
    for name, form in zip(names, seen, strict=True):
        groups.setdefault(form, []).append(name)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def _as_seen(text: str) -> str:
    """A text without invisible characters, in one case."""
    if text.isascii():
        return " ".join(text.lower().split())
    plain = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return " ".join(plain.casefold().split())


def class_codes(values: Column) -> tuple[Integers, pd.Index]:
    """Code of the class of each row among those that occur, sorted; -1 where there is none."""
    code, labels = ranked_codes(values)
    there = has_answer(labels)
    return np.where(there, np.cumsum(there) - 1, -1)[code], pd.Index(labels, dtype=object)[there]


def with_classes(data: Frame, classes: Sequence[str] | None, ordered: bool) -> Frame:
    """Ratings whose answers are among these classes; if they are ordered, with ``score``, the place of each from 1."""
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
    _refuse_others(data, listed)
    if not ordered:
        return data
    answer = nw.col("answer").cast(nw.String)
    place: nw.Expr = nw.lit(None, nw.Float64)
    for i, name in enumerate(listed, 1):
        place = nw.when(answer == name).then(nw.lit(float(i))).otherwise(place)
    return data.with_columns(place.alias("score"))


def _refuse_others(data: Frame, classes: list[str]) -> None:
    """Raise where an answer is none of the classes."""
    answers = data.lazy().select(nw.col("answer").cast(nw.String)).unique().collect(backend="pandas").to_native()
    others = sorted(str(a) for a in answers["answer"].dropna() if str(a) not in {*classes, ""})
    if others:
        rows = data.lazy().select((nw.col("answer").cast(nw.String).is_in(others)).sum().alias("n"))
        n = int(rows.collect(backend="pandas").to_native()["n"].iloc[0])
        more = f" (and {len(others) - 3} more)" if len(others) > 3 else ""
        raise SchemaError(
            f"'answer' is {', '.join(map(repr, others[:3]))}{more} in {n:,} row{'s' * (n != 1)}, which classes= does "
            f"not name. Allowed: {', '.join(classes)}.{suggestion(others[0], classes)} Translate it with "
            f"labels={{{others[0]!r}: ...}}, where 'invalid' is no answer."
        )
