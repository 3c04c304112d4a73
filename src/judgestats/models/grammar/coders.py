"""A fixed design that can be coded again on new rows: :class:`Coder`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import FormulaError, suggestion
from judgestats.models.grammar.syntax import TERMS, Node, columns_of, is_coding

# ---- Functions that a formula may call, and the value of a response --------------------------------------------------

#: Functions known without ``np.``.
FUNCTIONS: dict[str, Any] = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "exp": np.exp, "expm1": np.expm1,
    "sqrt": np.sqrt, "abs": np.abs,
}  # fmt: skip
#: NumPy functions beside its ufuncs whose value in a row depends on that row alone.
BY_ROW = ("where", "clip", "round", "isin", "nan_to_num")

OPERATIONS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
LITERALS = {"True": True, "False": False, "None": None}


class Scale:
    """``scale(x)`` as in R: less its mean, over its standard deviation with n - 1, those of the rows first seen."""

    def __init__(self) -> None:
        self.fitted: tuple[float, float] | None = None

    def __call__(self, x: Any) -> Any:
        """Scale values."""
        if self.fitted is None:
            if np.size(x) < 2:
                raise ValueError("scale() needs a column, not a single value")
            self.fitted = float(np.mean(x)), float(np.std(x, ddof=1))
        mean, sd = self.fitted
        return (x - mean) / sd


def elementwise(name: str) -> bool:
    """Whether a function is known, and its value in a row depends on that row alone.

    Examples
    --------
    >>> elementwise("log"), elementwise("np.log"), elementwise("np.mean")
    (True, True, False)
    """
    if not name.startswith("np."):
        return name in FUNCTIONS
    return isinstance(getattr(np, name[3:], None), np.ufunc) or name[3:] in BY_ROW


def evaluate(node: Node, frame: pd.DataFrame) -> Any:
    """Value of an arithmetic tree on a table: an array, or a number.

    Parameters
    ----------
    node : Node
        A tree of columns, numbers, arithmetic and functions by row.
    frame : pandas.DataFrame
        The columns it names.

    Returns
    -------
    (N,) array or float

    Examples
    --------
    >>> from judgestats.models.grammar.syntax import ARITHMETIC, Reader, scan
    >>> tree = Reader("n - k", scan("n - k")).expression(ARITHMETIC)
    >>> evaluate(tree, pd.DataFrame({"n": [3, 5], "k": [1, 5]}))
    array([2., 0.])
    """
    if node.kind == "name":
        values = frame[node.value]
        if not pd.api.types.is_numeric_dtype(values):
            return values.to_numpy(dtype=object)
        return values.to_numpy(dtype=float, na_value=np.nan)
    if node.kind == "number":
        return float(node.value)
    if node.kind == "string":
        return node.value
    if node.kind == "literal":
        return LITERALS[node.value]
    parts = [evaluate(p, frame) for p in node.parts if p.kind != "keyword"]
    if node.kind == "unary":
        return -parts[0] if node.value == "-" else parts[0]
    if node.kind == "binary":
        return OPERATIONS[node.value](*parts)
    if node.kind == "call" and node.value != "I":
        named = {p.value: evaluate(p.parts[0], frame) for p in node.parts if p.kind == "keyword"}
        function = FUNCTIONS.get(node.value) or getattr(np, node.value.removeprefix("np."))
        return function(*parts, **named)
    return parts[0]


# ---- Our grammar spelled as formulae reads it: names and literals that its scanner cannot read get an alias ----------

#: What formulae reads as one name and takes for a column.
PLAIN = re.compile(r"[^\W\d_]\w*")
#: Terms of a sum from which it is put in brackets.
_LONG = 40
#: Names that mean something else to formulae.
RESERVED = {"np", "Sum", "Treatment", "True", "False", "None", *FUNCTIONS}


@dataclass(frozen=True)
class Spelling:
    """An expression for formulae, and the way back.

    Attributes
    ----------
    text : str
        The expression as formulae reads it.
    columns : tuple of str
        The columns it names, as in the data.
    aliases : dict
        Column -> its name for formulae, where that is another.
    values : dict
        Name for formulae -> literal that it cannot read.
    back : dict
        Name for formulae -> what was written.
    """

    text: str
    columns: tuple[str, ...]
    aliases: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    back: dict[str, str] = field(default_factory=dict)

    def alias(self, column: str) -> str:
        """Name of a column for formulae."""
        return self.aliases.get(column, column)

    def column(self, name: str) -> str:
        """Return the column behind a name of formulae."""
        return self.back.get(name, name)

    def restored(self, text: str) -> str:
        """What formulae prints, with the names that were written."""
        if not self.back:
            return text
        return re.sub("|".join(map(re.escape, self.back)), lambda m: self.back[m.group()], text)


class _Speller:
    def __init__(self, logical: Collection[str]) -> None:
        self.logical = logical
        self.aliases: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self.back: dict[str, str] = {}

    def name(self, column: str) -> str:
        if PLAIN.fullmatch(column) and column not in RESERVED:
            return column
        if column not in self.aliases:
            self.aliases[column] = self._new(column)
        return self.aliases[column]

    def literal(self, written: str, value: Any) -> str:
        new = self._new(written)
        self.values[new] = value
        return new

    def _new(self, written: str) -> str:
        new = f"zq{len(self.back)}qz"
        self.back[new] = written
        return new

    def text(self, node: Node, *, inside: bool = False, real: bool = False) -> str:
        """A tree as formulae reads it; in a power every number is real: whole ones would overflow, or never end."""
        if node.kind == "name":
            name = self.name(node.value)
            return f"C({name})" if node.value in self.logical and not inside else name
        if node.kind == "number":
            whole = node.value.isdigit() and not real
            return node.value if not inside or whole else self.literal(node.value, float(node.value))
        if node.kind == "string":
            plain = "'" not in node.value and '"' not in node.value
            return f'"{node.value}"' if plain else self.literal(repr(node.value), node.value)
        if node.kind == "call":
            named = [
                p.value if is_coding(node, i) and p.kind == "name" else self.text(p, inside=True)
                for i, p in enumerate(node.parts)
            ]
            return f"{node.value}({', '.join(named)})"
        if node.kind == "keyword":
            inner = node.parts[0]
            coding = inner.kind == "name" and inner.value in ("Sum", "Treatment") and node.value == "contrast"
            return f"{node.value}={inner.value if coding else self.text(inner, inside=True)}"
        return self._joined(node, inside, real or (inside and node.value == "**"))

    def _joined(self, node: Node, inside: bool, real: bool) -> str:
        parts = [self.text(p, inside=inside, real=real) for p in node.parts]
        if node.kind == "group":
            return f"({parts[0]})"
        if node.kind == "unary":  # formulae binds the sign tighter than the power
            return f"({node.value}({parts[0]}))" if inside else f"{node.value}{parts[0]}"
        if node.kind == "binary":
            text = f"{parts[0]} {node.value} {parts[1]}"
            return f"({text})" if (inside and node.value not in TERMS) or (node.value == "**" and inside) else text
        return node.value


def _balanced(several: Sequence[str]) -> str:
    """A sum in brackets of halves of halves: formulae goes as deep as a sum is long."""
    if len(several) <= _LONG:
        return " + ".join(several)
    half = len(several) // 2
    return f"({_balanced(several[:half])}) + ({_balanced(several[half:])})"


def spelled(terms: Sequence[tuple[str, Node]], logical: Collection[str] = ()) -> Spelling:
    """Spell the terms of an expression for formulae.

    Parameters
    ----------
    terms : sequence of (str, Node)
        Its terms with their signs, the first one 0 or 1.
    logical : collection of str
        Columns of booleans: factors where they stand by themselves, as in R.

    Examples
    --------
    >>> from judgestats.models.grammar.syntax import terms_of
    >>> spelled(terms_of("1 + _x")).text
    '1 + zq0qz'
    """
    speller = _Speller(logical)
    spelt = [(sign, speller.text(node)) for sign, node in terms]
    columns = [c.value for _, node in terms for c in columns_of(node)]
    text = spelt[0][1]
    for sign, run in groupby(spelt[1:], key=lambda term: term[0]):
        several = [part for _, part in run]
        if sign == "+" and len(several) > _LONG:
            several = [f"({_balanced(several)})"]
        text += "".join(f" {sign} {part}" for part in several)
    return Spelling(text, tuple(dict.fromkeys(columns)), speller.aliases, speller.values, speller.back)


# ---- A fixed design that can be coded again on new rows: :class:`Coder` ----------------------------------------------


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
