"""Formulas, parsed, and fixed designs coded on a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError, FormulaError, suggestion
from judgestats.models.grammar.coders import Coder, Part, numeric
from judgestats.models.grammar.expression_values import (
    CODINGS,
    FUNCTIONS,
    TRANSFORMS,
    Transform,
    elementwise,
    evaluate,
    written,
)
from judgestats.models.grammar.parse_trees import Node, fault
from judgestats.models.grammar.syntax import CONTRASTS, Formula, RandomPart, columns_of, read, terms_of
from judgestats.models.grammar.term_codings import codings, contrast, model_terms
from judgestats.typing import Column, Floats

__all__ = ["Coder", "Formula", "RandomPart", "coder", "parse"]

#: Columns that one transform may make.
MOST_COLUMNS = 1_000
#: Values that a transform of all rows is fitted to, at most.
MOST_ROWS = 20_000_000
#: A point that belongs to no name and no number.
_DOT = re.compile(r"(?<![\w.])\.(?![\w.])")


def parse(source: object) -> Formula:
    """Parse a formula in the grammar of R's lme4, and refuse an invalid one, or an unknown function.

    >>> formula = parse("cbind(k, n - k) ~ x + (x || item)")
    >>> formula.response, formula.fixed, [str(part) for part in formula.random]
    ('cbind(k, n - k)', '1 + x', ['(1|item)', '(0 + x|item)'])
    """
    formula = read(source)
    for tree in formula.nodes:
        _check_calls(formula.source, tree, (*CODINGS, *TRANSFORMS, "I", "offset"), top=True)
    left = formula.left
    for tree in left.parts if left.kind == "call" and left.value == "cbind" else (left,):
        _check_calls(formula.source, tree, ("I",))
    return formula


def updated(formula: str, before: str) -> str:
    """A formula with what another has on the same side of ``~`` in place of each ``.`` that stands by itself."""
    (left, _, right), (old_left, _, old_right) = (f.partition("~") for f in (formula, before))
    old = f"({old_right.strip()})" if re.search(r"[*/:]", right) else old_right.strip()
    return f"{_DOT.sub(lambda _: old_left.strip(), left)}~{_DOT.sub(lambda _: old, right)}"


def _check_calls(source: str, node: Node, allowed: Sequence[str], *, top: bool = False) -> None:
    """Refuse functions that are not known, and an offset that is part of a term."""
    for call in (n for n in node.walk() if n.kind == "call"):
        name = call.value
        inner = call is not node
        if name == "C":
            _check_coding(source, call)
        if name == "offset" and allowed and "offset" in allowed and inner and top:
            raise fault(source, call.start, call.end, "An offset stands by itself.", "Write + offset(z).")
        if name in allowed or elementwise(name):
            if name in ("bs", "cr", "cc", "tp", "poly"):
                _check_size(source, call)
            continue
        if name in CONTRASTS and inner:
            continue
        raise fault(source, call.start, call.start + len(name), *_unknown_function(name, allowed))


def _check_coding(source: str, call: Node) -> None:
    """Refuse a coding that is not known, R's name of one among them."""
    for part in call.parts[1:]:
        coding = part.parts[0] if part.kind == "keyword" else part
        if coding.value not in CONTRASTS:
            name = coding.value.removeprefix("contr.").capitalize()
            todo = f"Allowed: {', '.join(CONTRASTS)}; Treatment('level') and Sum('level').{suggestion(name, CONTRASTS)}"
            raise fault(source, coding.start, coding.end, f"{written(coding)} is no coding.", todo)


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


def _unknown_function(name: str, functions: Sequence[str]) -> tuple[str, str]:
    if name in ("p", "prop", "proportion"):
        return f"{name}() is not known.", "Write cbind(k, n - k) ~ ... for k successes of n."
    if name == "cbind":
        return "cbind() is for the response.", "Write cbind(k, n - k) ~ ..."
    if name.startswith("np.") and hasattr(np, name[3:]):
        return f"{name}() does not work value by value.", "Make a column of it first; a centred x is center(x)."
    allowed = [*functions, *FUNCTIONS]
    return f"{name}() is not known here.", f"Allowed: {', '.join(allowed)}, np.log and such.{suggestion(name, allowed)}"


def coder(expression: str, frame: pd.DataFrame, source: str | None = None, counts: Floats | None = None) -> Coder:
    """Code a fixed expression, a sum of terms such as :attr:`Formula.fixed`, on N rows without missing values.

    A categorical column keeps the order of its categories, text is sorted; a boolean one is a factor of False and True,
    but a number of 0 and 1 within a call. `counts` (N,): how many rows of data each row stands for: ``center``,
    ``scale``, ``poly``, ``bs`` look at all of them. `source`: the whole formula, for messages.
    """
    source = source or expression
    columns = tuple(dict.fromkeys(c.value for _, node in terms_of(expression) for c in columns_of(node)))
    for name in columns:
        if name not in frame.columns:
            raise FormulaError(
                f"{source!r} names {name!r}, which is no column.{suggestion(name, map(str, frame.columns))}"
            )
    data = {c: ordered(frame[c], source) for c in columns}
    terms, factors = model_terms(expression, {c for c in columns if pd.api.types.is_bool_dtype(frame[c])})
    weights = np.ones(len(frame)) if counts is None else counts
    offsets = tuple(factors[t[0]].parts[0] for t in terms if _is_offset(t, factors))
    fitted: dict[str, Transform] = {}
    try:
        with np.errstate(all="ignore"):
            for tree in (*factors.values(), *offsets):
                if (weights != 1).any() and any(n.kind == "call" and n.value in TRANSFORMS for n in tree.walk()):
                    names = sorted({c.value for c in columns_of(tree)})
                    _factor(tree, _repeated(frame[names], weights), data, fitted)
            terms = [t for t in terms if not _is_offset(t, factors)]
            sizes = {name: _factor(factors[name], frame, data, fitted) for t in terms for name in t}
            coded = [
                [_part(factors[f], sizes[f], coding.get(f)) for f in term]
                for term, coding in codings(terms, {f for f, levels in sizes.items() if isinstance(levels, tuple)})
            ]
            for offset in offsets:
                np.broadcast_to(np.asarray(evaluate(offset, frame, fitted), dtype=float), len(frame))
    except RecursionError:
        raise FormulaError(f"{expression[:60]!r} is nested too deeply to be coded. Write fewer terms.") from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, ArithmeticError) as error:
        raise FormulaError(f"{expression!r} cannot be coded: {error}. Check the arguments of its functions.") from error
    return _coder(expression, source, columns, coded, offsets, fitted, data, weights)


def _is_offset(term: tuple[str, ...], factors: dict[str, Node]) -> bool:
    return len(term) == 1 and (factors[term[0]].kind, factors[term[0]].value) == ("call", "offset")


def _factor(node: Node, frame: pd.DataFrame, data: dict[str, Any], fitted: dict[str, Transform]) -> Any:
    """The levels of a categorical factor, as a tuple; of a number, how many columns it has (0 for a plain one)."""
    categorical = node.kind == "call" and node.value in CODINGS
    inner = node.parts[0] if categorical and node.parts else node
    value = data[inner.value] if inner.kind == "name" else evaluate(inner, frame, fitted)
    if isinstance(value, pd.Categorical):
        return tuple(value.categories)
    value = np.asarray(value)
    logical = node.kind == "name" and value.dtype == bool
    if categorical or logical or value.dtype.kind not in "biuf":
        levels = pd.unique(pd.Series(np.broadcast_to(value, len(frame))))
        whole = levels.dtype.kind == "f" and (levels % 1 == 0).all()
        return tuple(sorted((levels.astype(np.int64) if whole else levels).tolist()))
    return 0 if value.ndim < 2 else value.shape[1]


def _part(node: Node, size: Any, full: bool | None) -> tuple[Part, str, str, list[str]]:
    """A factor of a term, its full and its short name, and the labels of its columns."""
    if not isinstance(size, tuple):
        name = written(node)
        return Part(node), name, name, [f"[{k}]" for k in range(size)] or [""]
    call = node if node.kind == "call" and node.value in CODINGS else None
    matrix, labels = contrast(size, call, full=bool(full))
    part = Part(node, size, matrix)
    return part, written(node), part.column or written(node), [f"[{label}]" for label in labels]


def _repeated(frame: pd.DataFrame, weights: Floats) -> pd.DataFrame:
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
    expression: str,
    source: str,
    columns: tuple[str, ...],
    coded: list[list[tuple[Part, str, str, list[str]]]],
    offsets: tuple[Node, ...],
    fitted: dict[str, Transform],
    data: dict[str, Any],
    weights: Floats,
) -> Coder:
    labels = [_labels(term, short=True) for term in coded]
    if len({n for _, names in labels for n in names}) < sum(len(names) for _, names in labels):
        labels = [_labels(term, short=False) for term in coded]
    terms, start = {}, 0
    for name, own in labels:
        terms[name] = slice(start, start + len(own))
        start += len(own)
    parts = tuple(tuple(part for part, *_ in term) for term in coded)
    factors = {p.column or written(p.node): p.levels for t in parts for p in t if p.contrast is not None}
    for c, values in data.items():  # text inside a call, as in I(s == 'a')
        if isinstance(values, pd.Categorical):
            factors.setdefault(c, tuple(values.categories))
    numerics = tuple(c for c in columns if c not in factors)
    means = {c: float(np.average(data[c].astype(float), weights=weights)) for c in numerics}
    names = tuple(n for _, several in labels for n in several)
    keep = tuple(range(start))
    return Coder(expression, names, terms, factors, numerics, means, source, columns, parts, offsets, keep, fitted)


def _labels(term: list[tuple[Part, str, str, list[str]]], *, short: bool) -> tuple[str, list[str]]:
    """Name of a term, and of each of its columns."""
    if not term:
        return "Intercept", ["Intercept"]
    names = [""]
    for _, full, brief, labels in term:
        names = [f"{a}:{b}" if a else b for a in names for b in ((brief if short else full) + x for x in labels)]
    return ":".join(brief if short else full for _, full, brief, _ in term), names


def ordered(values: Column, source: str = "") -> Any:
    """A column as it is coded: numbers, or an ordered category of the levels that occur."""
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
