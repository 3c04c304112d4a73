"""A fixed design that can be coded again on new rows: :class:`Coder`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import FormulaError, suggestion
from judgestats.models.grammar.expression_values import CODINGS, Transform, evaluate, written
from judgestats.models.grammar.parse_trees import Node
from judgestats.typing import Column, Floats, Ints


@dataclass(frozen=True)
class Part:
    """One factor of a term, ready to be coded again: a number, or a categorical one with its levels and contrasts."""

    node: Node
    levels: tuple[object, ...] = ()
    contrast: Floats | None = None

    @property
    def column(self) -> str:
        """The column of ``x`` and of ``C(x)``, '' for another call."""
        node = self.node.parts[0] if self.node.kind == "call" and self.node.value in CODINGS else self.node
        return node.value if node.kind == "name" else ""

    def values(self, coder: Coder, frame: pd.DataFrame) -> Floats:
        """(N, k) values on a frame."""
        if self.column and self.contrast is None:
            return _two(coder._number(frame, self.column))
        labels = frame[self.column] if self.column else None
        if labels is None:
            node = self.node.parts[0] if self.node.value in CODINGS else self.node
            value = evaluate(node, frame, coder.fitted)
            value = np.broadcast_to(value, len(frame)) if np.ndim(value) == 0 else value
            if self.contrast is None:
                return _two(np.asarray(value))
            labels = pd.Series(value, index=frame.index)
        assert self.contrast is not None
        codes = _level_codes(labels, self.levels)
        if (codes < -1).any():
            raise coder._unseen(self, labels[codes < -1])
        values = self.contrast[codes]
        values[codes < 0] = np.nan
        return values


@dataclass(frozen=True)
class Coder:
    """A fixed design, that can be coded again on new rows."""

    expression: str  # what was coded: ``1 + strategy * x``
    names: tuple[str, ...]  # its p columns: ``Intercept``, ``strategy[S8]``, ``x:strategy[S8]``
    terms: dict[str, slice]  # term (``strategy``, ``strategy:x``) -> slice of its columns
    factors: dict[str, tuple[Any, ...]]  # categorical column -> its levels in order, as they are in the data
    numerics: tuple[str, ...]  # numeric columns used, offsets included
    means: dict[str, float]  # numeric column -> mean over the rows, weighted by their counts
    source: str  # the formula, for messages
    columns: tuple[str, ...] = field(repr=False)
    parts: tuple[tuple[Part, ...], ...] = field(repr=False)
    offsets: tuple[Node, ...] = field(repr=False)
    keep: tuple[int, ...] = field(repr=False)
    fitted: dict[str, Transform] = field(repr=False)

    def matrix(self, frame: pd.DataFrame) -> Floats:
        """Code rows in the same way, (N, p); a row with a missing value is NaN."""
        frame = self._checked(frame)
        rows = len(frame)
        with np.errstate(all="ignore"):
            blocks = [reduce(_products, (p.values(self, frame) for p in t), np.ones((rows, 1))) for t in self.parts]
        whole = np.hstack(blocks) if blocks else np.empty((rows, 0))
        full = self.keep == tuple(range(whole.shape[1]))
        return np.ascontiguousarray(whole if full else whole[:, list(self.keep)], dtype=float)

    def offset(self, frame: pd.DataFrame) -> Floats:
        """(N,) sum of the offsets, or 0."""
        frame = self._checked(frame)
        total = np.zeros(len(frame))
        with np.errstate(all="ignore"):
            for node in self.offsets:
                total += np.asarray(evaluate(node, frame, self.fitted), dtype=float)
        return total

    def restricted(self, keep: Sequence[int]) -> Coder:
        """Return the coder of some of the columns."""
        terms, start = {}, 0
        for term, place in self.terms.items():
            width = sum(place.start <= k < place.stop for k in keep)
            if width:
                terms[term] = slice(start, start + width)
            start += width
        columns = tuple(self.keep[k] for k in keep)
        return replace(self, names=tuple(self.names[k] for k in keep), terms=terms, keep=columns)

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        for name in self.columns:
            if name not in frame.columns:
                raise FormulaError(
                    f"Column {name!r} of {self.source!r} is not in the table. Columns: "
                    f"{', '.join(map(str, frame.columns))}.{suggestion(name, map(str, frame.columns))}"
                )
        return frame

    def _number(self, frame: pd.DataFrame, column: str) -> Floats:
        values = frame[column]
        if pd.api.types.is_object_dtype(values):
            values = values.infer_objects() if values.notna().any() else values.astype(float)
        if not pd.api.types.is_numeric_dtype(values):
            raise FormulaError(f"{column!r} was a number when {self.source!r} was coded, and holds {values.dtype} now.")
        return values.to_numpy(dtype=float, na_value=np.nan)  # type: ignore[no-any-return]

    def _unseen(self, part: Part, labels: Column) -> FormulaError:
        new = ", ".join(repr(v) for v in pd.Series(labels).unique().tolist()[:3])
        allowed = ", ".join(repr(v) for v in part.levels)
        name = part.column or written(part.node)
        hint = suggestion(str(labels.iloc[0]), map(str, part.levels))
        return FormulaError(f"{name!r} has {new}, which {self.source!r} was not coded with. Allowed: {allowed}.{hint}")


def _products(left: Floats, right: Floats) -> Floats:
    """Products of the columns of two blocks, the last one varying fastest."""
    if left.shape[1] == 1 and right.shape[1] >= 1:
        return left * right
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _two(values: NDArray[Any]) -> Floats:
    return (values[:, None] if values.ndim == 1 else values).astype(float)


def numeric(values: Column) -> NDArray[Any]:
    """Numbers of any engine as int64, float64 or bool."""
    kind = getattr(values.dtype, "kind", "f")
    if values.isna().any() or kind not in "biu":
        return values.to_numpy(dtype=float, na_value=np.nan)  # type: ignore[no-any-return]
    return values.to_numpy(dtype=bool if kind == "b" else np.int64)  # type: ignore[no-any-return]


def _level_codes(labels: Column, levels: Sequence[object]) -> Ints:
    """Position of each label among the levels; -1 for a missing one, -2 for an unknown one."""
    series = pd.Series(labels)
    if isinstance(series.dtype, pd.CategoricalDtype):
        places = pd.Index(levels).get_indexer(series.cat.categories)
        codes = np.append(places, -1)[series.cat.codes.to_numpy()]
    else:
        codes = pd.Index(levels, dtype=object).get_indexer(series.to_numpy(dtype=object))
    unknown = (codes < 0) & series.notna().to_numpy()
    return np.where(unknown, -2, codes).astype(np.int64)
