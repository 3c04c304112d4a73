"""A fixed design that can be coded again on new rows: :class:`Coder`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import FormulaError, suggestion
from judgestats.models.grammar.spelling import Spelling


@dataclass(frozen=True)
class Part:
    """One factor of a term: a column or a call, ready to be coded again."""

    column: str  # the column of a factor or a plain number, '' for a call of several
    call: Any
    levels: tuple[Any, ...]
    contrast: NDArray[np.float64] | None

    def values(self, coder: Coder, frame: pd.DataFrame) -> NDArray[np.float64]:
        """(N, k) values on a frame."""
        if self.contrast is None:
            return _two(
                np.asarray(coder._number(frame, self.column) if self.call is None else coder._call(frame, self))
            )
        labels = frame[self.column] if self.column else coder._call(frame, self)
        codes = _level_codes(labels, self.levels)
        if (codes < -1).any():
            raise coder._unseen(self, labels[codes < -1])
        values = self.contrast[codes]
        values[codes < 0] = np.nan
        return values


@dataclass(frozen=True)
class Coder:
    """A fixed design, that can be coded again on new rows.

    Attributes
    ----------
    expression : str
        What was coded: ``1 + strategy * x``.
    names : tuple of str
        Its p columns: ``Intercept``, ``strategy[S8]``, ``x:strategy[S8]``.
    terms : dict
        Term (``strategy``, ``strategy:x``) -> slice of its columns.
    factors : dict
        Categorical column -> its levels in order, as they are in the data.
    numerics : tuple of str
        Numeric columns used, offsets included.
    means : dict
        Numeric column -> mean over the rows, weighted by their counts.
    source : str
        The formula, for messages.
    """

    expression: str
    names: tuple[str, ...]
    terms: dict[str, slice]
    factors: dict[str, tuple[Any, ...]]
    numerics: tuple[str, ...]
    means: dict[str, float]
    source: str
    parts: tuple[tuple[Part, ...], ...] = field(repr=False)
    offsets: tuple[Any, ...] = field(repr=False)
    spelling: Spelling = field(repr=False)
    keep: tuple[int, ...] = field(repr=False)
    evaluate: Callable[[Any, pd.DataFrame, Spelling], Any] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of data that is read."""
        return self.spelling.columns

    def matrix(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Code rows in the same way.

        Parameters
        ----------
        frame : pandas.DataFrame
            Rows with the columns used.

        Returns
        -------
        (N, p) array
            A row with a missing value is NaN.

        Raises
        ------
        FormulaError
            If a column is absent, or has a category that was not there before.
        """
        frame = self._checked(frame)
        rows = len(frame)
        blocks = [reduce(_products, (p.values(self, frame) for p in t), np.ones((rows, 1))) for t in self.parts]
        whole = np.hstack(blocks) if blocks else np.empty((rows, 0))
        full = self.keep == tuple(range(whole.shape[1]))
        return np.ascontiguousarray(whole if full else whole[:, list(self.keep)], dtype=float)

    def offset(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """(N,) sum of the offsets, 0 where there is none."""
        frame = self._checked(frame)
        total = np.zeros(len(frame))
        for call in self.offsets:
            total += np.asarray(self.evaluate(call, self._mask(frame), self.spelling).x, dtype=float)
        return total

    def restricted(self, keep: Sequence[int]) -> Coder:
        """Return the coder of some of the columns."""
        terms, start = {}, 0
        for term, place in self.terms.items():
            width = sum(place.start <= k < place.stop for k in keep)
            if width:
                terms[term] = slice(start, start + width)
            start += width
        kept = tuple(self.keep[k] for k in keep)
        return replace(self, names=tuple(self.names[k] for k in keep), terms=terms, keep=kept)

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        for name in self.columns:
            if name not in frame.columns:
                raise FormulaError(
                    f"Column {name!r} of {self.source!r} is not in the table. Columns: "
                    f"{', '.join(map(str, frame.columns))}.{suggestion(name, map(str, frame.columns))}"
                )
        return frame

    def _mask(self, frame: pd.DataFrame) -> pd.DataFrame:
        columns = {self.spelling.alias(c): raw(frame[c]) for c in self.columns}
        return pd.DataFrame(columns, index=range(len(frame)))

    def _number(self, frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
        values = frame[column]
        if pd.api.types.is_object_dtype(values):
            values = values.infer_objects() if values.notna().any() else values.astype(float)
        if not pd.api.types.is_numeric_dtype(values):
            raise FormulaError(f"{column!r} was a number when {self.source!r} was coded, and holds {values.dtype} now.")
        return values.to_numpy(dtype=float, na_value=np.nan)  # type: ignore[no-any-return]

    def _call(self, frame: pd.DataFrame, part: Part) -> Any:
        value = self.evaluate(part.call, self._mask(frame), self.spelling)
        return pd.Series(value.data) if hasattr(value, "contrast") else value

    def _unseen(self, part: Part, labels: Any) -> FormulaError:
        new = ", ".join(repr(v) for v in pd.Series(labels).unique().tolist()[:3])
        known = ", ".join(repr(v) for v in part.levels)
        name = part.column or str(part.call)
        hint = suggestion(str(labels.iloc[0]), map(str, part.levels))
        return FormulaError(f"{name!r} has {new}, which {self.source!r} was not coded with. Allowed: {known}.{hint}")


def _products(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products of the columns of two blocks, the last one varying fastest."""
    if left.shape[1] == 1 and right.shape[1] >= 1:
        return left * right
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _two(values: NDArray[Any]) -> NDArray[np.float64]:
    return (values[:, None] if values.ndim == 1 else values).astype(float)


def raw(values: pd.Series[Any]) -> Any:
    """A column as formulae takes it when it codes again."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(object).to_numpy()
    return numeric(values) if pd.api.types.is_numeric_dtype(values) else values.to_numpy(dtype=object)


def numeric(values: pd.Series[Any]) -> NDArray[Any]:
    """Numbers of any engine as int64, float64 or bool."""
    kind = getattr(values.dtype, "kind", "f")
    if values.isna().any() or kind not in "biu":
        return values.to_numpy(dtype=float, na_value=np.nan)  # type: ignore[no-any-return]
    return values.to_numpy(dtype=bool if kind == "b" else np.int64)  # type: ignore[no-any-return]


def _level_codes(labels: Any, levels: Sequence[Any]) -> NDArray[np.int64]:
    """Position of each label among the levels; -1 for a missing one, -2 for an unknown one."""
    series = pd.Series(labels)
    if isinstance(series.dtype, pd.CategoricalDtype):
        places = pd.Index(levels).get_indexer(series.cat.categories)
        codes = np.append(places, -1)[series.cat.codes.to_numpy()]
    else:
        codes = pd.Index(levels, dtype=object).get_indexer(series.to_numpy(dtype=object))
    unknown = (codes < 0) & series.notna().to_numpy()
    return np.where(unknown, -2, codes).astype(np.int64)
