"""The one door to formulae: formulas parsed with its gaps closed, and fixed designs coded by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, FormulaError, suggestion
from judgestats.models.grammar.coders import (
    FUNCTIONS,
    Coder,
    Part,
    Scale,
    Spelling,
    elementwise,
    evaluate,
    numeric,
    spelled,
)
from judgestats.models.grammar.syntax import Formula, Node, RandomPart, fault, read, terms_of

__all__ = ["Coder", "Formula", "RandomPart", "coder", "parse"]

#: Functions of formulae that a formula may call: codings, and transforms that look at all rows.
CODINGS = ("C", "S", "T")
TRANSFORMS = ("center", "scale", "standardize", "bs", "cr", "cc", "tp", "poly")
#: Columns that one transform may make.
MOST_COLUMNS = 1_000
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
            if name in ("bs", "cr", "cc", "tp", "poly"):
                _check_size(source, call)
            continue
        if name in ("Treatment", "Sum") and inner:
            continue
        raise fault(source, call.start, call.start + len(name), *_unknown_function(name, known))


def _check_size(source: str, call: Node) -> None:
    """Refuse a spline or a polynomial of more columns than can be."""
    for i, part in enumerate(call.parts):
        value = part.parts[0] if part.kind == "keyword" else part
        sized = part.value in ("df", "degree") if part.kind == "keyword" else i in (1, 3)
        if not sized or value.kind == "literal":
            continue
        try:
            size = evaluate(value, pd.DataFrame())
        except (KeyError, AttributeError, ArithmeticError, TypeError, ValueError):  # a column, 9**9**9, a text
            size = np.inf
        if not isinstance(size, float) or not 0 <= size <= MOST_COLUMNS:
            what = f"{call.value}() cannot have so many columns, or it is no number."
            raise fault(source, part.start, part.end, what, f"Write a whole number, at most {MOST_COLUMNS:,}.")


def _unknown_function(name: str, known: Sequence[str]) -> tuple[str, str]:
    if name in ("p", "prop", "proportion"):
        return f"{name}() is not known.", "Write cbind(k, n - k) ~ ... for k successes of n."
    if name == "cbind":
        return "cbind() is for the response.", "Write cbind(k, n - k) ~ ..."
    if name.startswith("np.") and hasattr(np, name[3:]):
        return f"{name}() does not work value by value.", "Make a column of it first; a centred x is center(x)."
    allowed = [*known, *FUNCTIONS]
    return f"{name}() is not known here.", f"Allowed: {', '.join(allowed)}, np.log and such.{suggestion(name, allowed)}"


def coder(
    expression: str, frame: pd.DataFrame, source: str | None = None, counts: NDArray[np.float64] | None = None
) -> Coder:
    """Code a fixed expression on a table.

    Parameters
    ----------
    expression : str
        A sum of terms, such as :attr:`Formula.fixed`.
    frame : pandas.DataFrame
        N rows without missing values. A categorical column keeps the order of its categories, text is sorted; a
        boolean one is a factor of False and True, but a number of 0 and 1 within a call.
    source : str, optional
        The whole formula, for messages.
    counts : (N,) array, optional
        How many rows of data each row stands for: ``center``, ``scale``, ``poly``, ``bs`` look at all of them.

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
    from formulae.model_description import model_description  # type: ignore[import-untyped]

    source = source or expression
    logical = {c for c in frame.columns if pd.api.types.is_bool_dtype(frame[c])}
    spelling = spelled(terms_of(expression), logical)
    if spelling.text == "0":
        return Coder(expression, (), {}, {}, (), {}, source, (), (), spelling, (), evaluated)
    for name in spelling.columns:
        if name not in frame.columns:
            raise FormulaError(
                f"{source!r} names {name!r}, which is no column.{suggestion(name, map(str, frame.columns))}"
            )
    mask = pd.DataFrame({spelling.alias(c): ordered(frame[c], source) for c in spelling.columns}, index=frame.index)
    weights = np.ones(len(frame)) if counts is None else counts
    try:
        model = _whole(model_description, spelling.text)
        environment = environment_of(spelling)
        _settle(model, mask, weights, environment)
        _quietly(model.eval, mask, environment)
    except RecursionError:
        raise FormulaError(f"{expression[:60]!r} is nested too deeply to be coded. Write fewer terms.") from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, ArithmeticError) as error:
        raise FormulaError(f"{expression!r} cannot be coded: {error}. Check the arguments of its functions.") from error
    return _coder(expression, source, spelling, model, mask, weights)


def _whole(describe: Any, text: str) -> Any:
    """Parse with formulae, and refuse to lose a rest: it stops where it no longer understands."""
    from formulae.parser import Parser  # type: ignore[import-untyped]
    from formulae.scanner import Scanner  # type: ignore[import-untyped]

    reader = Parser(Scanner(text).scan())
    reader.parse()
    if not reader.at_end():
        raise ValueError(f"{reader.peek().lexeme!r} and what follows would be lost")
    model = describe(text)
    # each term by itself: formulae codes 'f' of f and of f/x in one object; and in R's order, by degree
    terms = sorted((deepcopy(t) for t in model.common_terms), key=lambda t: len(getattr(t, "components", ())))
    model.common_terms = terms
    for call in (
        c for t in terms for part in getattr(t, "components", ()) for c in _calls(getattr(part, "call", None))
    ):
        if call.callee in ("scale", "standardize"):
            call.stateful_transform = Scale()  # formulae's divides by n
    if len({t.name for t in terms}) < len(terms):
        raise ValueError("two different terms are spelled alike; make a column of one of them")
    return model


def environment_of(spelling: Spelling) -> Any:
    """Functions and literals that formulae finds beside the data, its own first."""
    from formulae.categorical import ENCODINGS  # type: ignore[import-untyped]
    from formulae.environment import Environment  # type: ignore[import-untyped]
    from formulae.transforms import TRANSFORMS as OWN  # type: ignore[import-untyped]

    return Environment([{**OWN, **ENCODINGS}, {"np": np, **FUNCTIONS, **spelling.values}])


def evaluated(call: Any, mask: pd.DataFrame, spelling: Spelling) -> Any:
    """Value of a call of formulae on a table, its transforms as they were fitted."""
    return _quietly(call.eval, mask, environment_of(spelling))


def _settle(model: Any, mask: pd.DataFrame, weights: NDArray[np.float64], environment: Any) -> None:
    """Fit the transforms that look at all rows to all rows, where a row stands for several."""
    if (weights == 1).all():
        return
    for term in model.common_terms:
        for part in getattr(term, "components", ()):
            call = getattr(part, "call", None)
            if call is not None and any(own.callee in TRANSFORMS for own in _calls(call)):
                _quietly(call.eval, _repeated(mask[sorted(part.var_names & set(mask.columns))], weights), environment)


def _calls(node: Any) -> Iterator[Any]:
    """A call of formulae and those within it."""
    if hasattr(node, "callee"):
        yield node
    for inner in (*getattr(node, "args", ()), *getattr(node, "kwargs", {}).values()):
        yield from _calls(inner)


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
    for c in spelling.columns:  # text inside a call, as in I(s == 'a')
        if isinstance(mask[spelling.alias(c)].dtype, pd.CategoricalDtype):
            factors.setdefault(c, tuple(mask[spelling.alias(c)].cat.categories))
    numerics = tuple(c for c in spelling.columns if c not in factors and mask[spelling.alias(c)].dtype.kind in "biuf")
    means = {c: float(np.average(mask[spelling.alias(c)].astype(float), weights=weights)) for c in numerics}
    keep = tuple(range(start))
    columns = tuple(n for _, several in labels for n in several)
    return Coder(
        expression, columns, terms, factors, numerics, means, source, parts, offsets, spelling, keep, evaluated
    )


def _part(component: Any, spelling: Spelling) -> Part:
    call = getattr(component, "call", None)
    column = spelling.column(component.name) if call is None else _inner(call, spelling)
    if component.kind == "categoric":
        contrast = component.contrast_matrix.matrix.astype(float)
        levels = tuple(v.item() if isinstance(v, np.generic) else v for v in component.levels)
        return Part(column, call, levels, contrast)
    return Part("" if call is not None else column, call, (), None)


def _inner(call: Any, spelling: Spelling) -> str:
    """The column of ``C(column, ...)``, '' for another call."""
    name = getattr(call.args[0], "name", "") if call.callee in CODINGS and call.args else ""
    return spelling.column(name) if name else ""


def _labels(term: Any, spelling: Spelling, *, short: bool) -> tuple[str, list[str]]:
    """Name of a term, and of each of its columns."""
    components = getattr(term, "components", None)
    if components is None:
        return "Intercept", ["Intercept"]
    name: list[str] = []
    names = [""]
    for c in components:
        call = getattr(c, "call", None)
        full = spelling.restored(c.name)
        base = (_inner(call, spelling) if call is not None and short else "") or full
        name.append(base)
        own = [base + label[len(c.name) :] for label in c.labels]
        names = [f"{a}:{b}" if a else b for a in names for b in own]
    return ":".join(name), names


def _quietly(function: Any, *arguments: Any) -> Any:
    """Call formulae without what it prints and without warnings of logarithms of 0."""
    from formulae.terms import call, variable  # type: ignore[import-untyped]

    for module in (call, variable):  # it prints before it raises; the standard output is every thread's
        module.print = lambda *_: None
    with np.errstate(all="ignore"):
        return function(*arguments)


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
