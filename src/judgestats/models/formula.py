"""The one door to formulae: formulas parsed with its gaps closed, and fixed designs coded by it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, FormulaError, suggestion
from judgestats.models.functions import FUNCTIONS, elementwise
from judgestats.models.spelling import Spelling, spelled
from judgestats.models.syntax import Formula, RandomPart, read, terms_of
from judgestats.models.tokens import Node, fault

__all__ = ["Coder", "Formula", "RandomPart", "coder", "parse"]

#: Functions of formulae that a formula may call: codings, and transforms that look at all rows.
CODINGS = ("C", "S", "T")
TRANSFORMS = ("center", "scale", "standardize", "bs", "cr", "cc", "tp", "poly")
#: Values that a transform of all rows is fitted to, at most.
MOST_ROWS = 20_000_000


def parse(source: Any) -> Formula:
    """Take a formula apart, and refuse what is none.

    Parameters
    ----------
    source : str
        The formula, in the grammar of R's lme4.

    Returns
    -------
    Formula
        Response, fixed part, random terms, and every column named.

    Raises
    ------
    FormulaError
        If it does not parse, or calls an unknown function. The place is underlined.

    Examples
    --------
    >>> formula = parse("cbind(k, n - k) ~ x + (x || item)")
    >>> formula.response, formula.fixed, [str(part) for part in formula.random]
    ('cbind(k, n - k)', '1 + x', ['(1|item)', '(0 + x|item)'])
    >>> formula.variables
    ('k', 'n', 'x', 'item')
    """
    formula = read(source)
    for tree in formula.nodes:
        _check_calls(formula.source, tree, (*CODINGS, *TRANSFORMS, "I", "offset"), top=True)
    left = formula.left
    for tree in left.parts if left.kind == "call" and left.value == "cbind" else (left,):
        _check_calls(formula.source, tree, ("I",))
    return formula


def _check_calls(source: str, node: Node, known: Sequence[str], *, top: bool = False) -> None:
    """Refuse functions that are not known, and an offset that is part of a term."""
    for call in (n for n in node.walk() if n.kind == "call"):
        name = call.value
        inner = call is not node
        if name == "offset" and known and "offset" in known and inner and top:
            raise fault(source, call.start, call.end, "An offset stands by itself.", "Write + offset(z).")
        if name in known or elementwise(name):
            continue
        if name in ("Treatment", "Sum") and inner:
            continue
        raise fault(source, call.start, call.start + len(name), *_unknown_function(name, known))


def _unknown_function(name: str, known: Sequence[str]) -> tuple[str, str]:
    if name in ("p", "prop", "proportion"):
        return f"{name}() is not known.", "Write cbind(k, n - k) ~ ... for k successes of n."
    if name == "cbind":
        return "cbind() is for the response.", "Write cbind(k, n - k) ~ ..."
    if name.startswith("np.") and hasattr(np, name[3:]):
        return f"{name}() does not work value by value.", "Make a column of it first; a centred x is center(x)."
    allowed = [*known, *FUNCTIONS]
    return f"{name}() is not known here.", f"Allowed: {', '.join(allowed)}, np.log and such.{suggestion(name, allowed)}"


@dataclass(frozen=True)
class _Part:
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
    parts: tuple[tuple[_Part, ...], ...] = field(repr=False)
    offsets: tuple[Any, ...] = field(repr=False)
    spelling: Spelling = field(repr=False)
    keep: tuple[int, ...] = field(repr=False)

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
            total += np.asarray(_quietly(call.eval, self._mask(frame), self.spelling.environment()).x, dtype=float)
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
        columns = {self.spelling.alias(c): _raw(frame[c]) for c in self.columns}
        return pd.DataFrame(columns, index=range(len(frame)))

    def _number(self, frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
        values = frame[column]
        if not pd.api.types.is_numeric_dtype(values):
            raise FormulaError(f"{column!r} was a number when {self.source!r} was coded, and holds {values.dtype} now.")
        return values.to_numpy(dtype=float, na_value=np.nan)  # type: ignore[no-any-return]

    def _call(self, frame: pd.DataFrame, part: _Part) -> Any:
        value = _quietly(part.call.eval, self._mask(frame), self.spelling.environment())
        return pd.Series(value.data) if hasattr(value, "contrast") else value

    def _unseen(self, part: _Part, labels: Any) -> FormulaError:
        new = ", ".join(repr(v) for v in pd.Series(labels).unique().tolist()[:3])
        known = ", ".join(repr(v) for v in part.levels)
        name = part.column or str(part.call)
        hint = suggestion(str(labels.iloc[0]), map(str, part.levels))
        return FormulaError(f"{name!r} has {new}, which {self.source!r} was not coded with. Allowed: {known}.{hint}")


def coder(
    expression: str, frame: pd.DataFrame, source: str | None = None, counts: NDArray[np.float64] | None = None
) -> Coder:
    """Code a fixed expression on a table.

    Parameters
    ----------
    expression : str
        A sum of terms, such as :attr:`Formula.fixed`.
    frame : pandas.DataFrame
        N rows without missing values. A categorical column keeps the order of its categories, text is sorted.
    source : str, optional
        The whole formula, for messages.
    counts : (N,) array, optional
        How many rows of data each row stands for: ``center``, ``scale``, ``poly``, ``bs`` look at all of them.

    Returns
    -------
    Coder

    Raises
    ------
    FormulaError
        If the expression cannot be coded.

    Examples
    --------
    >>> frame = pd.DataFrame({"strategy": ["B0", "S1", "S8"], "x": [0.0, 1.0, 3.0]})
    >>> coded = coder("1 + strategy + x", frame)
    >>> coded.names
    ('Intercept', 'strategy[S1]', 'strategy[S8]', 'x')
    >>> coded.matrix(frame)
    array([[1., 0., 0., 0.],
           [1., 1., 0., 1.],
           [1., 0., 1., 3.]])
    """
    from formulae.model_description import model_description

    source = source or expression
    spelling = spelled(terms_of(expression))
    if spelling.text == "0":
        return Coder(expression, (), {}, {}, (), {}, source, (), (), spelling, ())
    for name in spelling.columns:
        if name not in frame.columns:
            raise FormulaError(
                f"{source!r} names {name!r}, which is no column.{suggestion(name, map(str, frame.columns))}"
            )
    mask = pd.DataFrame({spelling.alias(c): ordered(frame[c], source) for c in spelling.columns}, index=frame.index)
    weights = np.ones(len(frame)) if counts is None else counts
    try:
        model = _whole(model_description, spelling.text)
        environment = spelling.environment()
        _settle(model, mask, weights, environment)
        _quietly(model.eval, mask, environment)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, ZeroDivisionError) as error:
        raise FormulaError(f"{expression!r} cannot be coded: {error}. Check the arguments of its functions.") from error
    return _coder(expression, source, spelling, model, mask, weights)


def _whole(describe: Any, text: str) -> Any:
    """Parse with formulae, and refuse to lose a rest: it stops where it no longer understands."""
    from formulae.parser import Parser
    from formulae.scanner import Scanner

    reader = Parser(Scanner(text).scan())
    reader.parse()
    if not reader.at_end():
        raise ValueError(f"{reader.peek().lexeme!r} and what follows would be lost")
    model = describe(text)
    model.common_terms = terms = [deepcopy(t) for t in model.common_terms]  # 'f' of f and of f/x is coded twice
    if len({t.name for t in terms}) < len(terms):
        raise ValueError("two different terms are spelled alike; make a column of one of them")
    return model


def _settle(model: Any, mask: pd.DataFrame, weights: NDArray[np.float64], environment: Any) -> None:
    """Fit the transforms that look at all rows to all rows, where a row stands for several."""
    if (weights == 1).all():
        return
    for term in model.common_terms:
        for part in getattr(term, "components", ()):
            call = getattr(part, "call", None)
            if call is not None and _looks_at_all(call):
                _quietly(call.eval, _repeated(mask[sorted(part.var_names & set(mask.columns))], weights), environment)


def _looks_at_all(call: Any) -> bool:
    nested = [*getattr(call, "args", ()), *getattr(call, "kwargs", {}).values()]
    return getattr(call, "callee", None) in TRANSFORMS or any(_looks_at_all(c) for c in nested)


def _repeated(frame: pd.DataFrame, weights: NDArray[np.float64]) -> pd.DataFrame:
    """Every row as often as it occurs."""
    names = list(frame.columns)
    counted = frame.assign(_weight=weights).groupby(names, observed=True, sort=True)["_weight"].sum().reset_index()
    times = counted["_weight"].to_numpy()
    if (times % 1 != 0).any():
        raise DesignError(
            "center(), scale(), poly() and bs() look at each row: the counts in 'n' must be whole numbers."
        )
    if times.sum() > MOST_ROWS:
        raise DesignError(
            f"center(), scale(), poly() and bs() look at each row, and {times.sum():,.0f} are more than "
            f"{MOST_ROWS:,}. Make a column of the transform first."
        )
    return counted[names].iloc[np.repeat(np.arange(len(counted)), times.astype(np.int64))].reset_index(drop=True)


def _coder(
    expression: str, source: str, spelling: Spelling, model: Any, mask: pd.DataFrame, weights: NDArray[np.float64]
) -> Coder:
    coded = [t for t in model.common_terms if t.kind != "offset"]
    offsets = tuple(t.components[0].call for t in model.common_terms if t.kind == "offset")
    labels = [_labels(t, spelling, short=True) for t in coded]
    if len({n for _, names in labels for n in names}) < sum(len(names) for _, names in labels):
        labels = [_labels(t, spelling, short=False) for t in coded]
    terms, start = {}, 0
    for name, names in labels:
        terms[name] = slice(start, start + len(names))
        start += len(names)
    parts = tuple(tuple(_part(c, spelling) for c in getattr(t, "components", ())) for t in coded)
    factors = {p.column or spelling.restored(str(p.call)): p.levels for t in parts for p in t if p.contrast is not None}
    numerics = tuple(c for c in spelling.columns if c not in factors and mask[spelling.alias(c)].dtype.kind in "biuf")
    means = {c: float(np.average(mask[spelling.alias(c)].astype(float), weights=weights)) for c in numerics}
    names = tuple(n for _, several in labels for n in several)
    keep = tuple(range(start))
    return Coder(expression, names, terms, factors, numerics, means, source, parts, offsets, spelling, keep)


def _part(component: Any, spelling: Spelling) -> _Part:
    call = getattr(component, "call", None)
    column = spelling.column(component.name) if call is None else _inner(call, spelling)
    if component.kind == "categoric":
        contrast = component.contrast_matrix.matrix.astype(float)
        levels = tuple(v.item() if isinstance(v, np.generic) else v for v in component.levels)
        return _Part(column, call, levels, contrast)
    return _Part("" if call is not None else column, call, (), None)


def _inner(call: Any, spelling: Spelling) -> str:
    """The column of ``C(column, ...)``, '' for another call."""
    name = getattr(call.args[0], "name", "") if call.callee in CODINGS and call.args else ""
    return spelling.column(name) if name else ""


def _labels(term: Any, spelling: Spelling, *, short: bool) -> tuple[str, list[str]]:
    """Name of a term, and of each of its columns."""
    components = getattr(term, "components", None)
    if components is None:
        return "Intercept", ["Intercept"]
    name, names = [], [""]
    for c in components:
        call = getattr(c, "call", None)
        full = spelling.restored(c.name)
        base = (_inner(call, spelling) if call is not None and short else "") or full
        name.append(base)
        own = [base + label[len(c.name) :] for label in c.labels]
        names = [f"{a}:{b}" if a else b for a in names for b in own]
    return ":".join(name), names


def _products(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Products of the columns of two blocks, the last one varying fastest."""
    if left.shape[1] == 1 and right.shape[1] >= 1:
        return left * right
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _two(values: NDArray[Any]) -> NDArray[np.float64]:
    return (values[:, None] if values.ndim == 1 else values).astype(float)


def _quietly(function: Any, *arguments: Any) -> Any:
    """Call formulae without what it prints and without warnings of logarithms of 0."""
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        return function(*arguments)


def _raw(values: pd.Series[Any]) -> Any:
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


def ordered(values: pd.Series[Any], source: str = "") -> Any:
    """A column as formulae takes it: numbers, or an ordered category of the levels that occur."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.remove_unused_categories().cat.as_ordered().array
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
        return numeric(values)
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        raise FormulaError(
            f"{source!r} names {values.name!r}, which holds dates. Make a number or a text column of it."
        )
    labels = values.astype(str) if values.dtype == object else values
    return pd.Categorical(labels, categories=sorted(pd.unique(labels)), ordered=True)


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
