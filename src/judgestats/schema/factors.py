"""Columns as factors: of each row the number of its label, coded when a column is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.results import frame_of, text_array
from judgestats.schema import coding
from judgestats.schema.coding import Codes
from judgestats.schema.opening import with_labels
from judgestats.typing import Column, Floats, Integers, Mask, Record, Rows


class Factor(NamedTuple):
    """A coded column."""

    code: Integers  # (N,): the label of each row
    labels: Any  # (K,): sorted; a missing value is the last of them, None

    def among(self, *labels: object) -> Mask:
        """Rows with one of these labels."""
        chosen: Mask = np.array([label in labels for label in self.labels], dtype=bool)[self.code]
        return chosen

    def at(self, rows: Rows | slice) -> Factor:
        """Some of the rows."""
        return Factor(self.code[rows], self.labels)

    @property
    def values(self) -> Any:
        """The label of each row."""
        return self.labels.take(self.code)

    def categories(self) -> pd.Categorical:
        """The column as categories, whose missing values have none."""
        missing = len(self.labels) > 0 and self.labels[-1] is None
        code = np.where(self.code == len(self.labels) - 1, -1, self.code) if missing else self.code
        return pd.Categorical.from_codes(code, self.labels[:-1] if missing else self.labels)

    def recoded(self, words: Mapping[Any, Any], missing: Any = None) -> Factor:
        """The factor with other labels, of which several may be one; `missing` in place of no label."""
        new = [missing if label is None else words.get(label, label) for label in self.labels]
        labels = sorted(dict.fromkeys(new))
        number = {label: i for i, label in enumerate(labels)}
        place = np.array([number[label] for label in new], dtype=np.int32)
        return Factor(place[self.code] if len(place) else self.code, pd.Index(labels, dtype=object))


def factor_of(values: Any) -> Factor:
    """Code a column."""
    return Factor(*coding.ranked_codes(values if isinstance(values, pd.Series) else pd.Series(values)))


class Factors:
    """Columns of a table of any library, each coded when first asked for; `factors`: those coded already."""

    def __init__(self, table: Any = None, factors: Mapping[str, Factor] | None = None, rows: int | None = None) -> None:
        self._given = table
        self._own = {} if table is None else dict.fromkeys(table.columns)
        self._factors = dict(factors or {})
        self._codes: dict[tuple[str, ...], Codes] = {}
        self._occurring: dict[tuple[str, ...], Integers] = {}
        self._whole: tuple[Factors, Any] | None = None  # the table of which these are some rows
        self._left_out: frozenset[str] = frozenset()
        self.rows = len(table) if rows is None else rows

    @cached_property
    def table(self) -> Any:
        """The table, whose cells can be labels."""
        return with_labels(self._given) if isinstance(self._given, pd.DataFrame) else self._given

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        whole = [n for n in (self._whole[0].names if self._whole else ()) if n not in self._left_out]
        return list(dict.fromkeys([*self._own, *whole, *self._factors]))

    def __contains__(self, name: str) -> bool:
        return name in self._factors or name in self._own or self._inherited(name)

    def _inherited(self, name: str) -> bool:
        """Whether a column is one of the table of which these are some rows."""
        return self._whole is not None and name not in self._left_out and name in self._whole[0]

    def __len__(self) -> int:
        return self.rows

    def series(self, name: str) -> Column:
        """A column as pandas."""
        if name in self._own:
            values = self.table[name]
            return values if isinstance(values, pd.Series) else values.to_pandas()
        return pd.Series(self._array(name), name=name)

    def _array(self, name: str) -> Any:
        """A column without an index."""
        if name in self._own:
            return self.series(name).array
        if self._whole is not None and self._inherited(name) and name not in self._factors:
            return self._whole[0]._array(name)[self._whole[1]]
        code, labels = self._factors[name]
        if isinstance(labels, np.ndarray) and pd.api.types.infer_dtype(labels) == "string":
            return text_array(labels[code]) if code.size < coding.MANY else text_array(labels).take(code)
        labels = pd.Index(labels)
        return (labels if labels.dtype == "str" else pd.Series(list(labels))).array.take(code)

    def __getitem__(self, name: str) -> Factor:
        return self.of([name])[0]

    def of(self, names: Sequence[str]) -> list[Factor]:
        """Several columns."""
        absent = [name for name in dict.fromkeys(names) if name not in self._factors]
        if absent and self._whole is not None and self._left_out.isdisjoint(absent):
            factors = self._whole[0].of(absent)
            self._factors.update(
                (name, Factor(f.code[self._whole[1]], f.labels)) for name, f in zip(absent, factors, strict=True)
            )
        elif absent:
            self._factors.update((name, factor_of(self.series(name))) for name in absent)
        return [self._factors[name] for name in names]

    def labels(self, name: str) -> list[str]:
        """The labels of a column that occur, as text; without a missing value."""
        factor = self[name]
        used = np.bincount(factor.code, minlength=len(factor.labels)) > 0
        return sorted(str(x) for x, there in zip(factor.labels, used, strict=True) if there and x is not None)

    def codes(self, names: Sequence[str]) -> Codes:
        """Rows numbered by their combination of labels, in the order of first appearance."""
        key = tuple(names)
        if key not in self._codes:
            self._codes[key] = coding.combine(((f.code, len(f.labels)) for f in self.of(names)), self.rows)
        return self._codes[key]

    def each_group(self, names: Sequence[str], *, sort: bool = False) -> Iterator[tuple[Record, Integers]]:
        """Key and rows of each combination of labels, in the order of first appearance or of the labels."""
        codes = self.ranked(names) if sort else self.codes(names)
        first = self.take(codes.first)
        keys = zip(*(first.series(name).tolist() for name in names), strict=True) if names else [()] * codes.size
        for key, rows in zip(keys, coding.rows_of_codes(codes.code, codes.size), strict=True):
            yield dict(zip(names, key, strict=True)), rows

    def occurring(self, names: Sequence[str]) -> Integers:
        """The combinations of labels that occur: their joint codes, the last column varying fastest."""
        key = tuple(names)
        if key not in self._occurring:
            parts = [(f.code, len(f.labels)) for f in self.of(names)]
            self._occurring[key] = coding.occurring(*coding.joint(parts, self.rows))
        return self._occurring[key]

    def n_distinct(self, names: Sequence[str]) -> int:
        """How many combinations of labels occur."""
        return int(self.occurring(names).size)

    def ranked(self, names: Sequence[str]) -> Codes:
        """Rows numbered by their combination of labels, in the order of the labels."""
        number, codes = coding.compact(*coding.joint([(f.code, len(f.labels)) for f in self.of(names)], self.rows))
        return Codes(number, coding.first_rows(number, codes.size))

    def counted(self, names: Sequence[str], weight: Floats | None = None) -> tuple[Factors, Floats]:
        """Distinct combinations, sorted by their labels, and how many rows (or what weight) there are of each."""
        codes = self.ranked(names)
        n = np.bincount(codes.code, weights=weight, minlength=codes.size).astype(float)
        distinct = {name: Factor(self[name].code[codes.first], self[name].labels) for name in names}
        return Factors(factors=distinct, rows=codes.size), n

    def take(self, rows: Rows) -> Factors:
        """Some of the rows, by number or by a mask."""
        some = Factors(rows=int(rows.sum()) if rows.dtype == bool else len(rows))
        some._whole = self, np.flatnonzero(rows) if rows.dtype == bool else rows
        return some

    def but(self, **factors: Factor) -> Factors:
        """The same rows with further, or other, columns."""
        other = Factors(factors=factors, rows=self.rows)
        other._whole = self, slice(None)
        return other

    def without(self, column: str) -> Factors:
        """The same rows without a column."""
        other = self.but()
        other._left_out = frozenset([column])
        return other

    def frame(self, names: Sequence[str] | None = None, /, **further: NDArray[np.generic]) -> pd.DataFrame:
        """The columns as a pandas table without categories, before further columns."""
        columns = {name: self._array(name) for name in (self.names if names is None else names)}
        for name, values in columns.items():
            if isinstance(values.dtype, pd.CategoricalDtype):
                columns[name] = values.astype(values.dtype.categories.dtype)
        return frame_of(columns | further, self.rows)
