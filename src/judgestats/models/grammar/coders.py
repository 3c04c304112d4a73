"""A fixed design that can be coded again on new rows: :class:`Coder`."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import FormulaError, suggestion
from judgestats.models.grammar.syntax import Node, terms_of
from judgestats.typing import Floats, Ints

# ---- Functions that a formula may call, and the value of a response --------------------------------------------------

#: Functions known without ``np.``.
FUNCTIONS: dict[str, Any] = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "exp": np.exp, "expm1": np.expm1,
    "sqrt": np.sqrt, "abs": np.abs,
}  # fmt: skip
#: Functions of a formula that make a factor of a column, and transforms that look at all rows.
CODINGS = ("C", "S", "T")
TRANSFORMS = ("center", "scale", "standardize", "bs", "cr", "cc", "tp", "poly")
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
    """Whether a function is known, and its value in a row depends on that row alone, as that of ``log`` does."""
    if not name.startswith("np."):
        return name in FUNCTIONS
    return isinstance(getattr(np, name[3:], None), np.ufunc) or name[3:] in BY_ROW


def evaluate(node: Node, frame: pd.DataFrame, fitted: dict[str, Any] | None = None) -> Any:
    """Value of an arithmetic tree on a table, (N,) or a number; transforms of all rows are kept in `fitted`."""
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
    parts = [evaluate(p, frame, fitted) for p in node.parts if p.kind != "keyword"]
    if node.kind == "unary":
        return -parts[0] if node.value == "-" else parts[0]
    if node.kind == "binary":
        return OPERATIONS[node.value](*parts)
    if node.kind == "call" and node.value != "I":
        named = {p.value: evaluate(p.parts[0], frame, fitted) for p in node.parts if p.kind == "keyword"}
        if fitted is not None and node.value in TRANSFORMS:
            if (name := written(node)) not in fitted:
                from formulae.transforms import TRANSFORMS as known  # type: ignore[import-untyped]

                fitted[name] = Scale() if node.value in ("scale", "standardize") else known[node.value]()
            return fitted[name](*map(_whole, parts), **{key: _whole(value) for key, value in named.items()})
        function = FUNCTIONS.get(node.value) or getattr(np, node.value.removeprefix("np."))
        return function(*parts, **named)
    return parts[0]


def _whole(value: Any) -> Any:
    """A number of columns or a degree as a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def written(node: Node) -> str:
    """A term or a part of one in its usual spelling, as its columns are named."""
    if node.kind == "string":
        return f'"{node.value}"' if '"' not in node.value else repr(node.value)
    inner = [written(p) for p in node.parts]
    shapes = {
        "call": f"{node.value}({', '.join(inner)})",
        "keyword": f"{node.value}={''.join(inner)}",
        "group": f"({''.join(inner)})",
        "unary": f"{node.value}{''.join(inner)}",
        "binary": f" {node.value} ".join(inner),
    }
    return shapes.get(node.kind, node.value)


# ---- Terms, and how their factors are coded so that no column is a combination of others -----------------------------

#: A term: its factors as they are written. The intercept has none.
Factors = tuple[str, ...]


def expanded(node: Node, factors: dict[str, Node], logical: Collection[str]) -> list[Factors]:
    """Terms that an expression stands for; `factors` takes the trees of factors, ``C(b)`` of a boolean as ``b``."""
    if node.kind in ("name", "call"):
        if node.value == "C" and len(node.parts) == 1 and node.parts[0].value in logical:
            node = node.parts[0]
        factors.setdefault(written(node), node)
        return [(written(node),)]
    if node.kind == "group":
        return expanded(node.parts[0], factors, logical)
    if node.kind == "unary":
        return expanded(node.parts[0], factors, logical) if node.value == "+" else []
    left = expanded(node.parts[0], factors, logical)
    if node.value == "**":
        orders = range(2, int(node.parts[1].value) + 1)
        return _united(left, (sum(several, ()) for order in orders for several in combinations(left, order)))
    right = expanded(node.parts[1], factors, logical)
    if node.value == "-":
        return _without(left, right)
    products = [one + two for one in left for two in right]
    return {
        "+": lambda: _united(left, right),
        ":": lambda: _united([], products),
        "*": lambda: _united(left, right, products),
        "/": lambda: _united(left, (sum(left, ()) + two for two in right)),
    }[node.value]()


def _united(*several: Iterable[Factors]) -> list[Factors]:
    """Each term once, factors in any order."""
    found: dict[frozenset[str], Factors] = {}
    for term in chain(*several):
        found.setdefault(frozenset(term), tuple(dict.fromkeys(term)))
    return list(found.values())


def _without(terms: Iterable[Factors], gone: Iterable[Factors]) -> list[Factors]:
    left_out = {frozenset(term) for term in gone}
    return [term for term in terms if frozenset(term) not in left_out]


def model_terms(expression: str, logical: Collection[str] = ()) -> tuple[list[Factors], dict[str, Node]]:
    """Terms of a fixed expression in R's order, by degree, and the trees of their factors."""
    terms: list[Factors] = []
    factors: dict[str, Node] = {}
    for sign, node in terms_of(expression):
        if node.kind == "number":
            terms = [()] if node.value == "1" else []
        else:
            own = expanded(node, factors, logical)
            terms = _united(terms, own) if sign == "+" else _without(terms, own)
    return sorted(terms, key=len), factors


def codings(terms: Sequence[Factors], categorical: Collection[str]) -> list[tuple[Factors, dict[str, bool]]]:
    """Each term with, for each categorical factor of it, whether a column for every level is needed (patsy's rule).

    A term spans the subsets of its categorical factors that no term before it has spanned beside the same numbers;
    where one coding cannot do that, it is preceded by terms of some of its factors.
    """
    spanned: dict[frozenset[str], set[frozenset[str]]] = {}
    result = []
    for term in terms:
        own = [f for f in term if f in categorical]
        seen = spanned.setdefault(frozenset(term) - frozenset(own), set())
        subsets = [s for size in range(len(own) + 1) for s in combinations(own, size) if frozenset(s) not in seen]
        seen.update(map(frozenset, subsets))
        for coding in _absorbed([dict.fromkeys(s, False) for s in subsets]):
            result.append((tuple(f for f in term if f in coding or f not in own), coding))
    return result


def _absorbed(subsets: list[dict[str, bool]]) -> list[dict[str, bool]]:
    """Put a set and the same with one factor more into one, which codes that factor by all its levels."""
    for i, short in enumerate(subsets):
        for k, long in enumerate(subsets[i + 1 :], i + 1):
            if len(long) == len(short) + 1 and short.items() <= long.items():
                merged = {f: full or f not in short for f, full in long.items()}
                return _absorbed([*subsets[:i], *subsets[i + 1 : k], merged, *subsets[k + 1 :]])
    return subsets


def contrast(levels: Sequence[Any], call: Node | None, *, full: bool) -> tuple[Floats, list[str]]:
    """Treatment coding of levels, or that of ``C(x, Sum)``, ``S(x)``, ``T(x, "a")``; and the labels of its columns."""
    kind, given = _coding(call)
    reference: Any = evaluate(given, pd.DataFrame()) if given is not None else None
    if reference is not None and reference not in levels:
        raise ValueError(f"reference not in levels: {reference!r} is none of {', '.join(map(str, levels))}")
    last = len(levels) - 1 if kind == "Sum" else 0
    left_out = last if reference is None else list(levels).index(reference)
    eye = np.eye(len(levels))
    if full and kind == "Treatment":
        return eye, [str(level) for level in levels]
    kept = [i for i in range(len(levels)) if i != left_out]
    matrix, labels = eye[:, kept], [str(levels[i]) for i in kept]
    if kind == "Sum":
        matrix[left_out] = -1
        if full:
            return np.column_stack([np.ones(len(levels)), matrix]), ["mean", *labels]
    return matrix, labels


def _coding(call: Node | None) -> tuple[str, Node | None]:
    """Treatment or Sum, and the level that is left out, where it is given."""
    given = [p.parts[0] if p.kind == "keyword" else p for p in call.parts[1:]] if call is not None else []
    if len(given) > 1 or (call is not None and not call.parts):
        raise ValueError(f"{call.value}() takes a column and a coding" if call else "")
    if call is None or call.value == "C":
        if not given:
            return "Treatment", None
        if given[0].value not in ("Sum", "Treatment") or len(given[0].parts) > 1:
            raise ValueError(f"{written(given[0])} is no coding: Treatment, Sum, Treatment('level'), Sum('level')")
        inner = given[0].parts
        return given[0].value, (inner[0].parts[0] if inner[0].kind == "keyword" else inner[0]) if inner else None
    return ("Sum" if call.value == "S" else "Treatment"), (given[0] if given else None)


# ---- A fixed design that can be coded again on new rows: :class:`Coder` ----------------------------------------------


@dataclass(frozen=True)
class Part:
    """One factor of a term, ready to be coded again: a number, or a categorical one with its levels and contrasts."""

    node: Node
    levels: tuple[Any, ...] = ()
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
    fitted: dict[str, Any] = field(repr=False)

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

    def _number(self, frame: pd.DataFrame, column: str) -> Floats:
        values = frame[column]
        if pd.api.types.is_object_dtype(values):
            values = values.infer_objects() if values.notna().any() else values.astype(float)
        if not pd.api.types.is_numeric_dtype(values):
            raise FormulaError(f"{column!r} was a number when {self.source!r} was coded, and holds {values.dtype} now.")
        return values.to_numpy(dtype=float, na_value=np.nan)  # type: ignore[no-any-return]

    def _unseen(self, part: Part, labels: Any) -> FormulaError:
        new = ", ".join(repr(v) for v in pd.Series(labels).unique().tolist()[:3])
        known = ", ".join(repr(v) for v in part.levels)
        name = part.column or written(part.node)
        hint = suggestion(str(labels.iloc[0]), map(str, part.levels))
        return FormulaError(f"{name!r} has {new}, which {self.source!r} was not coded with. Allowed: {known}.{hint}")


def _products(left: Floats, right: Floats) -> Floats:
    """Products of the columns of two blocks, the last one varying fastest."""
    if left.shape[1] == 1 and right.shape[1] >= 1:
        return left * right
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _two(values: NDArray[Any]) -> Floats:
    return (values[:, None] if values.ndim == 1 else values).astype(float)


def numeric(values: pd.Series[Any]) -> NDArray[Any]:
    """Numbers of any engine as int64, float64 or bool."""
    kind = getattr(values.dtype, "kind", "f")
    if values.isna().any() or kind not in "biu":
        return values.to_numpy(dtype=float, na_value=np.nan)  # type: ignore[no-any-return]
    return values.to_numpy(dtype=bool if kind == "b" else np.int64)  # type: ignore[no-any-return]


def _level_codes(labels: Any, levels: Sequence[Any]) -> Ints:
    """Position of each label among the levels; -1 for a missing one, -2 for an unknown one."""
    series = pd.Series(labels)
    if isinstance(series.dtype, pd.CategoricalDtype):
        places = pd.Index(levels).get_indexer(series.cat.categories)
        codes = np.append(places, -1)[series.cat.codes.to_numpy()]
    else:
        codes = pd.Index(levels, dtype=object).get_indexer(series.to_numpy(dtype=object))
    unknown = (codes < 0) & series.notna().to_numpy()
    return np.where(unknown, -2, codes).astype(np.int64)
