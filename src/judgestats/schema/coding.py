"""Columns of a pandas table as integer codes: the one way from labels to kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame, FrameT
from numpy.typing import NDArray

from judgestats.errors import SchemaError, data_rows
from judgestats.results import in_order
from judgestats.schema.columns import LARGEST, NO, YES, N, answer_column
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.opening import frame_columns
from judgestats.typing import Column, EagerFrame, Floats, Integers, Ints, Mask, Record

#: Blanks around a word, in every engine: those of Python, which engines know in part.
BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def bare(column: nw.Expr) -> nw.Expr:
    """A column of text without the blanks around; by a pattern, since Ibis strips no characters by name."""
    return column.str.replace_all(f"^[{BLANKS}]+|[{BLANKS}]+$", "")


#: Rows from which a kernel is worth its start.
MANY = 100_000
#: Rows up to which Python codes text sooner than Arrow.
FEW = 1_000

#: A coded column: the code of each row, and how many codes there are.
Coded = tuple[Integers, int]


@dataclass(frozen=True)
class Codes:
    """Rows of a table, numbered by the combination of their values."""

    code: Integers  # (N,): combination of each row, 0 to G - 1
    first: Integers  # (G,): the first row that has each combination

    @property
    def size(self) -> int:
        """G, how many combinations there are."""
        return int(self.first.size)


def column_codes(values: Column) -> Coded:
    """Codes of one column, a missing value being a level of its own, and how many there may be."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        code, size = values.cat.codes.to_numpy(), len(values.cat.categories)
        return (np.where(code < 0, size, code), size + 1) if values.hasnans else (code, size)
    if len(values) >= MANY and is_constant(values):
        return np.zeros(len(values), dtype=np.int16), 1
    code, labels = hashed(values)
    missing = code < 0
    return (np.where(missing, np.int32(len(labels)), code), len(labels) + 1) if missing.any() else (code, len(labels))


def hashed(values: Column) -> tuple[NDArray[np.int32], pd.Index]:
    """Code of each value (-1 for a missing one) and the labels, in order of first appearance."""
    dtype = values.dtype
    if not len(values):  # Arrow before 24 does not combine chunks of which there are none
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=object)
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"):
        encoded = values.array.__arrow_array__().dictionary_encode().combine_chunks()
        code = encoded.indices.fill_null(-1) if encoded.null_count else encoded.indices
        return code.to_numpy(), encoded.dictionary.to_numpy(zero_copy_only=False)
    code, labels = pd.factorize(values)
    return code.astype(np.int32), np.asarray(labels)


def combine(parts: Iterable[Coded], rows: int) -> Codes:
    """Combine coded columns into one code for each distinct combination."""
    code, size = joint(parts, rows)
    if not FEW < rows < MANY and _small(size, rows):
        return Codes(*by_appearance(code, size))
    number, distinct = pd.factorize(code)
    return Codes(number.astype(np.int32), first_rows(number, len(distinct)))


def by_appearance(code: Integers, size: int) -> tuple[NDArray[np.int32], Integers]:
    """Numbers of codes (N,) below `size` in order of appearance, and the first row of each number (G,)."""
    row = row_type(code.size)
    table = np.full(size, code.size, row)
    table[code[::-1]] = np.arange(code.size - 1, -1, -1, dtype=row)  # the first row of each code is written last
    first = np.sort(table[table < code.size])
    table[code[first]] = np.arange(first.size, dtype=row)
    return table[code].astype(np.int32, copy=False), first


def row_type(rows: int) -> type[np.int32 | np.int64]:
    """The type of a row's number: half the memory where int32 holds it."""
    return np.int32 if rows < 2**31 else np.int64


def first_rows(number: Integers, size: int) -> Integers:
    """The first row of each number from 0 to `size` - 1."""
    row = row_type(number.size)
    first = np.empty(size, dtype=row)
    first[number[::-1]] = np.arange(number.size - 1, -1, -1, dtype=row)
    return first


def joint(parts: Iterable[Coded], rows: int) -> Coded:
    """One code for each combination, in the order of the parts; int32 where it fits."""
    code: Integers = np.zeros(rows, dtype=np.int32)
    size = 1
    for part, levels in parts:
        if levels <= 1:
            continue
        if size * levels > 2**62:
            code, codes = compact(code, size)
            size = codes.size
        if size * levels >= 2**31:
            code = code.astype(np.int64, copy=False)
        code *= code.dtype.type(levels)
        code += part
        size *= levels
    return code, size


def rows_of_codes(code: Integers, size: int) -> list[NDArray[np.intp]]:
    """Positions of the rows of each code 0 to size - 1, in their order; codes below 0 are left out."""
    order = np.argsort(code, kind="stable")
    return np.split(order, np.searchsorted(code[order], np.arange(size + 1)))[1:-1]


def _small(size: int, rows: int) -> bool:
    """Whether a table of all possible codes is small enough, given the number of rows."""
    return size <= 16 * rows + 1000


def occurring(code: Integers, size: int) -> Integers:
    """The codes from 0 to size - 1 that occur, in their order."""
    if not _small(size, len(code)):
        return np.sort(pd.unique(code))
    seen = np.zeros(size, dtype=bool)
    seen[code] = True
    return np.flatnonzero(seen)


def compact(code: Integers, size: int) -> tuple[NDArray[np.int32], Ints]:
    """Codes (N,) from 0 to size - 1 as numbers without gaps, in their order, and the code (K,) behind each number."""
    if not _small(size, len(code)):
        codes, number = np.unique(code, return_inverse=True)
        return number.astype(np.int32), codes.astype(np.int64)
    seen = np.zeros(size, dtype=bool)
    seen[code] = True
    codes = np.flatnonzero(seen)
    if codes.size == size:
        return code.astype(np.int32, copy=False), codes
    return (np.cumsum(seen, dtype=np.int32) - np.int32(1))[code], codes


def ranked_codes(values: Column) -> tuple[NDArray[np.int32], NDArray[np.object_] | pd.Index]:
    """Code each value by the rank of its label (an array if all are text); a missing value is the last label."""
    if len(values) <= FEW and isinstance(values.dtype, pd.StringDtype):
        return ranked_texts(values.array.__arrow_array__().to_pylist())
    if isinstance(values.dtype, pd.CategoricalDtype):
        code, labels = values.cat.codes.to_numpy(), values.cat.categories
        code, labels = _used(code, labels)
    elif len(values) >= MANY and is_constant(values):  # a filtered stimulus, one criterion: no hashing
        return np.zeros(len(values), dtype=np.int16), pd.Index([values.iloc[0]])
    else:
        code, labels = hashed(values)
    sortable = pd.Index(labels) if len(labels) > 1000 else np.asarray(labels)  # Arrow sorts many texts faster
    try:
        order = np.asarray(sortable.argsort())
    except TypeError:  # labels of several types
        order = np.asarray(sortable.astype(str).argsort())
    small = np.int16 if len(labels) < 2**15 - 1 else np.int32
    rank = np.empty(len(labels) + 1, dtype=small)
    rank[order] = np.arange(len(labels), dtype=small)
    rank[-1] = len(labels)  # where code -1, a missing value, points
    labels, text = labels[order], labels.dtype == object and all(isinstance(label, str) for label in labels)
    if not text:
        labels = pd.Index(labels)
    ranked = rank.take(code)
    if len(ranked) and ranked.max() == len(labels):
        labels = (np.array if text else pd.Index)([*labels, None], dtype=object)
    return ranked, labels


def ranked_texts(cells: Sequence[str | None]) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
    """:func:`ranked_codes` of a few texts."""
    texts = [*sorted(text for text in {*cells} if text is not None), *([None] if None in cells else [])]
    number = {text: i for i, text in enumerate(texts)}
    return np.fromiter(map(number.__getitem__, cells), np.int32, len(cells)), np.array(texts, dtype=object)


def is_constant(values: Column) -> bool:
    """Whether a column holds one value only, found without hashing."""
    if len(values) < 2 or pd.isna(first := values.iloc[0]):
        return False
    some = (values.iloc[i] for i in range(len(values) - 1, 0, -max(len(values) // 8, 1)))
    if any(pd.isna(x) or x != first for x in some):
        return False
    return not values.hasnans and bool((values == first).all())


def _used(code: Integers, labels: pd.Index) -> tuple[Integers, pd.Index]:
    """Drop the categories that do not occur."""
    counts = np.bincount(code[code >= 0], minlength=len(labels))
    if (counts > 0).all():
        return code, labels
    number = np.append(np.cumsum(counts > 0) - 1, -1)
    return number[code], labels[counts > 0]


def codes_of(table: pd.DataFrame, columns: Sequence[str]) -> Codes:
    """Number the rows of `table` by their values in `columns`."""
    return combine((column_codes(table[c]) for c in columns), len(table))


def distinct_rows(data: EagerFrame, columns: Sequence[str], beside: Sequence[str] = ()) -> tuple[EagerFrame, Codes]:
    """The first row of each combination of `columns` of a frame in memory, with the columns `beside`, and the codes."""
    table = data.select(*dict.fromkeys([*columns, *beside])).to_pandas()
    codes = codes_of(table, columns)
    return nw.from_native(table.iloc[codes.first], eager_only=True), codes


def once_each(data: Frame, columns: Sequence[str], condition: nw.Expr) -> Any:
    """A condition on a few columns: of a frame in memory worked out once for each combination of their values."""
    if not isinstance(data, nw.DataFrame):
        return condition
    some, codes = distinct_rows(data, columns)
    held = some.select(condition.alias("held"))["held"].fill_null(value=False).to_numpy()
    return nw.new_series("held", held[codes.code], backend=data.implementation)


def numbers_of(values: Column) -> Floats:
    """A column as numbers, NaN where missing; a SchemaError where it holds text or an infinite value."""
    numeric = values if pd.api.types.is_numeric_dtype(values) else pd.to_numeric(values, errors="coerce")
    numbers: Floats = numeric.to_numpy(dtype=float, na_value=np.nan)
    if numeric is not values and (wrong := np.isnan(numbers) & values.notna().to_numpy()).any():
        row = int(wrong.argmax())
        raise SchemaError(
            f"{values.name!r} holds text where a number is expected (first: {data_rows([row])}, {values.iloc[row]!r}). "
            "Read the table with ratings(frame), which casts numbers and names every value that is not a number."
        )
    refuse_infinite(str(values.name), int(np.isinf(numbers).sum()))
    return numbers


def yes_or_no(values: Column) -> Column:
    """Booleans, 0 and 1, and words for yes and no as nullable booleans; missing where a value is neither."""
    if pd.api.types.is_bool_dtype(values):
        return values.astype("boolean")
    words = {**dict.fromkeys(YES, True), **dict.fromkeys(NO, False)}
    code, labels = pd.factorize(values.astype("string"))
    verdicts = pd.Series(labels).str.strip(BLANKS).str.lower().map(words).astype("boolean")
    return pd.Series(verdicts.array.take(code, allow_fill=True), values.index, name=values.name)


def as_scores(data: FrameT) -> FrameT:
    """Ratings whose verdicts are right or wrong, as scores of 1 and 0 (and so their gold); another frame as it is."""
    present = frame_columns(data)
    if answer_column(present) != "correct":
        return data
    data = _as_share(data, "correct", "score").drop("correct")
    return _as_share(data, "gold", "gold") if "gold" in present else data


def neither(values: Column) -> Column:
    """Which values are there, and are neither yes nor no."""
    return _without_verdict(values, yes_or_no(values))


def _without_verdict(values: Column, verdicts: Column) -> Column:
    wrong: Column = verdicts.isna() & values.notna()
    return wrong & (values.astype("string") != "").fillna(False) if wrong.any() else wrong


def _as_share(data: FrameT, source: str, name: str) -> FrameT:
    if not isinstance(data, nw.DataFrame):
        if data.collect_schema()[source] != nw.Boolean:
            return data.with_columns(nw.col(source).cast(nw.Float64).alias(name))
        yes = nw.when(nw.col(source)).then(nw.lit(1.0)).otherwise(nw.when(~nw.col(source)).then(nw.lit(0.0)))
        return data.with_columns(yes.alias(name))
    values = data[source].to_pandas()
    verdicts = yes_or_no(values)
    if (wrong := _without_verdict(values, verdicts)).any():
        if name == source:  # a gold score
            return data
        row = int(wrong.to_numpy().argmax())
        raise SchemaError(
            f"{source!r} is neither yes nor no in {int(wrong.sum()):,} rows (first: {data_rows([row])}, "
            f"{values.iloc[row]!r}). Allowed: true and false, 1 and 0, right and wrong, pass and fail, or nothing. "
            "Numbers between are a 'score'."
        )
    number = verdicts.to_numpy(dtype=float, na_value=np.nan)
    return data.with_columns(nw.new_series(name, number, backend=data.implementation))


def refuse_infinite(column: str, rows: int) -> None:
    """Raise where a column is infinite in some rows."""
    if rows:
        raise SchemaError(
            f"{column!r} is infinite in {rows:,} row{'s' * (rows != 1)}. Numbers must be finite: use an empty cell for "
            "no value."
        )


def as_text(values: Column) -> Column:
    """Labels as text, so that item 7 and 7.0 are item '7'; a missing value stays missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values
    if pd.api.types.is_float_dtype(values) and ((values.dropna() % 1 == 0) & (values.dropna().abs() < LARGEST)).all():
        values = values.astype("Int64")
    return values.astype("string")


def count_rows(table: pd.DataFrame, columns: Sequence[str], weight: str | None = None) -> pd.DataFrame:
    """Distinct combinations of `columns` with their counts ``n``, sorted; missing values are kept."""
    ranks = [(code, len(labels)) for code, labels in (ranked_codes(table[c]) for c in columns)]
    number, codes = compact(*joint(ranks, len(table)))  # in the order of the labels
    weights = None if weight is None else call_counts(table[weight])
    n = np.bincount(number, weights=weights, minlength=codes.size).astype(float)
    first = first_rows(number, codes.size)
    return _plain(pd.DataFrame({**{c: table[c].array[first] for c in columns}, N: n}), columns)


def tidy(result: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Plain columns (no categories), sorted by `columns`."""
    return in_order(_plain(result, columns), columns)


def _plain(result: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    for name in columns:
        if isinstance(result[name].dtype, pd.CategoricalDtype):
            result[name] = result[name].astype(result[name].cat.categories.dtype)
    return result


def candidates(table: pd.DataFrame) -> tuple[Coded, Coded, Mask]:
    """Codes of the lower and the higher candidate id of each row, and whether the higher was shown first."""
    (code_1, names_1), (code_2, names_2) = _factorized(table["first"]), _factorized(table["second"])
    ranked = np.unique(np.concatenate([names_1, names_2]))
    size = len(ranked)
    if without := int(((np.asarray(code_1) < 0) | (np.asarray(code_2) < 0)).sum()):
        raise SchemaError(f"'first' or 'second' is missing in {without:,} of {len(table):,} rows. Name both.")
    small = np.int16 if size < 2**15 else np.int32
    rank_1 = np.searchsorted(ranked, names_1).astype(small)[code_1]
    rank_2 = np.searchsorted(ranked, names_2).astype(small)[code_2]
    return (np.minimum(rank_1, rank_2), size), (np.maximum(rank_1, rank_2), size), rank_1 > rank_2


def _factorized(values: Column) -> tuple[Any, NDArray[np.str_]]:
    """Codes and labels (as text) of a column without missing values."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), np.asarray(values.cat.categories, dtype=object).astype(str)
    code, labels = hashed(values)
    return code, np.asarray(labels, dtype=object).astype(str)


def each_group(table: pd.DataFrame, groups: Sequence[str]) -> Iterator[tuple[Record, pd.DataFrame]]:
    """Key and rows of each group of a table; one group if `groups` is empty."""
    codes = codes_of(table, list(groups))
    for first, rows in zip(codes.first, rows_of_codes(codes.code, codes.size), strict=True):
        yield {name: table[name].iloc[first] for name in groups}, table.iloc[rows]
