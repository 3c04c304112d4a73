"""Terms, and how their factors are coded so that no column is a combination of others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd

from judgestats.models.grammar.expression_values import evaluate, written
from judgestats.models.grammar.parse_trees import Node
from judgestats.models.grammar.syntax import terms_of
from judgestats.typing import Floats

#: A term: its factors as they are written. The intercept has none.
Factors = tuple[str, ...]
#: Levels that polynomials are exact for, as in R.
MOST_LEVELS = 95


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
    terms: dict[frozenset[str], Factors] = {}
    for term in chain(*several):
        terms.setdefault(frozenset(term), tuple(dict.fromkeys(term)))
    return list(terms.values())


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

    A term spans the subsets of its categorical factors that no term before it has spanned beside the same numbers.
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


def contrast(levels: Sequence[object], call: Node | None, *, full: bool) -> tuple[Floats, list[str]]:
    """Treatment coding of levels, or that of ``C(x, Sum)``, ``S(x)``, ``T(x, "a")``; and the labels of its columns.

    A column of ``Sum`` and ``Helmert`` has the label of its level, one of ``Poly`` R's: ``.L``, ``.Q``, ``.C``, ``^4``.
    """
    kind, level_node = _coding(call)
    reference: Any = evaluate(level_node, pd.DataFrame()) if level_node is not None else None
    if reference is not None and reference not in levels:
        raise ValueError(f"reference not in levels: {reference!r} is none of {', '.join(map(str, levels))}")
    last = len(levels) - 1 if kind == "Sum" else 0
    left_out = last if reference is None else list(levels).index(reference)
    eye = np.eye(len(levels))
    if full and kind != "Sum":
        return eye, [str(level) for level in levels]
    if kind == "Poly":
        degrees = [".L", ".Q", ".C", *(f"^{k}" for k in range(4, len(levels)))]
        return _polynomials(len(levels)), degrees[: len(levels) - 1]
    columns = [i for i in range(len(levels)) if i != left_out]
    matrix, labels = eye[:, columns], [str(levels[i]) for i in columns]
    if kind == "Helmert":
        return matrix * np.arange(1, len(levels)) - np.triu(np.ones_like(matrix)), labels
    if kind == "Sum":
        matrix[left_out] = -1
        if full:
            return np.column_stack([np.ones(len(levels)), matrix]), ["mean", *labels]
    return matrix, labels


def _polynomials(n: int) -> Floats:
    """Orthonormal polynomials of degree 1 to n - 1 at n equidistant levels, rising at the last: R's ``contr.poly``."""
    if n > MOST_LEVELS:
        raise ValueError(f"Poly takes at most {MOST_LEVELS} levels, got {n}")
    q, r = np.linalg.qr(np.polynomial.legendre.legvander(np.linspace(-1, 1, n), n - 1))
    return np.asarray((q * np.sign(np.diag(r)))[:, 1:], np.float64)


def _coding(call: Node | None) -> tuple[str, Node | None]:
    """The name of a coding, and the level that is left out, where it is given."""
    arguments = [p.parts[0] if p.kind == "keyword" else p for p in call.parts[1:]] if call is not None else []
    if len(arguments) > 1 or (call is not None and not call.parts):
        raise ValueError(f"{call.value}() takes a column and a coding" if call else "")
    if call is None or call.value == "C":
        if not arguments:
            return "Treatment", None
        kind, inner = arguments[0].value, arguments[0].parts
        if len(inner) > (1 if kind in ("Treatment", "Sum") else 0):
            raise ValueError(f"{written(arguments[0])} is no coding: Treatment('level') and Sum('level') take a level")
        return kind, (inner[0].parts[0] if inner[0].kind == "keyword" else inner[0]) if inner else None
    return ("Sum" if call.value == "S" else "Treatment"), (arguments[0] if arguments else None)
