"""How each printed number of an audit was checked, and which findings are one fault."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from judgestats.published.claims import CLAIMS, STATEMENT
from judgestats.published.printed import parse
from judgestats.published.printed_tables import Book, Cell
from judgestats.published.selections import Selections, copied, nodes, template
from judgestats.published.statements import NOT, UNKNOWN, Decision

RECOMPUTED, COPIED, BOUNDED, UNTOUCHED = "recomputed", "copied", "only bounded", "not touched"
#: How a printed number was checked, the strongest first.
CHECKS = (RECOMPUTED, COPIED, BOUNDED, UNTOUCHED)
#: Columns of the published tables that hold labels, or a number printed once for all rows.
LABELS = frozenset({"temperature", "sample", "row", "runs", "experts", "tasks"})
#: A finding with at most this many cells is counted with a smaller finding whose cells it contains.
_SMALL = 12


def printed_numbers(book: Book, *, labels: frozenset[str] = frozenset()) -> list[Cell]:
    """Every cell in which a number is printed, those of the text included, but for columns of `labels`."""
    columns = [(t, c) for t in book.columns for c in book.columns[t] if c not in labels]
    cells = [(t, i, c) for t, c in columns for i in range(book.size(t)) if t != CLAIMS]
    claims = book.columns.get(CLAIMS)
    cells += [(CLAIMS, i, "printed") for i, u in enumerate(claims["unit"]) if u != STATEMENT] if claims else []
    return [c for c in cells if parse(book.text(c)).readable]


def checked(decisions: Sequence[Decision], book: Book) -> dict[Cell, str]:
    """How each cell that a verdict uses was checked: the strongest of :data:`CHECKS`."""
    checks: dict[Cell, str] = {}
    for d in decisions:
        if d.verdict == UNKNOWN:
            continue
        for cell, how in [*dict.fromkeys(d.cells, BOUNDED).items(), *_twins(d, book)]:
            checks[cell] = min(checks.get(cell, UNTOUCHED), how, key=CHECKS.index)
    return checks


def _twins(d: Decision, book: Book) -> Iterator[tuple[Cell, str]]:
    """Cells that a statement compares with a number made of others, or with a copy."""
    statement = d.statement
    selections = Selections(book, statement.expression, statement.scope.table, statement.scope.row)
    tree = template(statement.expression)[0]
    if statement.printed is None:
        for one, other in _equalities(tree):
            sides = [selections.selected(c[0]) if (c := copied(side)) else () for side in (one, other)]
            if all(sides):
                yield from ((c, COPIED) for side in sides for c in side)
            elif any(nodes(other if sides[0] else one)):
                yield from ((c, RECOMPUTED) for side in sides for c in side)
    elif copy := copied(tree):
        cells = [*selections.selected(copy[0]), *([statement.printed] if isinstance(statement.printed, tuple) else [])]
        yield from ((c, COPIED) for c in cells)
    elif isinstance(statement.printed, tuple) and d.cells - {statement.printed}:
        yield statement.printed, RECOMPUTED


def _equalities(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The equalities that must all hold."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for part in node.values:
            yield from _equalities(part)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "all" and node.args:
        yield from _equalities(node.args[0])
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        yield node.left, node.comparators[0]


def faults(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """The findings that do not follow, those of one fault together (docs/audit.md says when they are)."""
    odd = [d for d in decisions if d.verdict == NOT]
    groups: list[list[Decision]] = []
    for d in odd:
        near = [g for g in groups if any(_one_fault(d, other) for other in g)]
        groups = [g for g in groups if g not in near] + [[x for g in near for x in g] + [d]]
    order = {id(d): i for i, d in enumerate(odd)}
    return sorted((sorted(g, key=lambda d: order[id(d)]) for g in groups), key=lambda g: order[id(g[0])])


def _one_fault(a: Decision, b: Decision) -> bool:
    if a.fault or b.fault:
        return a.fault == b.fault
    one, other = (d.statement.row_of for d in (a, b))
    if one is not None and one == other:
        return True
    small, large = sorted((a.cells, b.cells), key=len)
    if small and small <= large and len(large) <= _SMALL:
        return True
    inputs = [d.cells - {d.statement.printed} for d in (a, b)]
    within = bool(inputs[0]) and (inputs[0] <= inputs[1] or inputs[1] <= inputs[0])
    if isinstance(a.recomputed, str) or isinstance(b.recomputed, str):
        return within and inputs[0] == inputs[1]
    return within and math.isclose(abs(a.recomputed), abs(b.recomputed), rel_tol=1e-9, abs_tol=1e-12)
