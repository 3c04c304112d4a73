"""What an audit comes to: how each printed number was checked, and how many faults its findings are."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from judgestats.published.books import Book, Cell
from judgestats.published.claims import CLAIMS, STATEMENT
from judgestats.published.printed import parse
from judgestats.published.selections import Selections, copied, nodes, template
from judgestats.published.statements import NOT, UNKNOWN, Decision

RECOMPUTED, COPIED, BOUNDED, UNTOUCHED = "recomputed", "copied", "only bounded", "not touched"
#: How a printed number was checked, the strongest first.
CHECKS = (RECOMPUTED, COPIED, BOUNDED, UNTOUCHED)
#: Columns of the published tables in which no number is printed row by row: labels, and what is said once for all rows.
LABELS = frozenset({"temperature", "sample", "row", "runs", "experts", "tasks"})
#: Cells of a finding, at most, for it to be laid to a smaller one within it.
_SMALL = 12


def printed_numbers(book: Book, *, labels: frozenset[str] = frozenset()) -> list[Cell]:
    """Every cell in which a number is printed, those of the text included.

    Parameters
    ----------
    book : Book
    labels : frozenset of str
        Columns that hold none, though they look like it.

    Returns
    -------
    list of cells
    """
    columns = [(t, c) for t in book.columns for c in book.columns[t] if c not in labels]
    cells = [(t, i, c) for t, c in columns for i in range(book.size(t)) if t != CLAIMS]
    told = book.columns.get(CLAIMS)
    cells += [(CLAIMS, i, "printed") for i, u in enumerate(told["unit"]) if u != STATEMENT] if told else []
    return [c for c in cells if parse(book.text(c)).readable]


def checked(decisions: Sequence[Decision], book: Book) -> dict[Cell, str]:
    """How each cell that a verdict rests on was checked.

    Parameters
    ----------
    decisions : sequence of Decision
    book : Book

    Returns
    -------
    dict
        Cell -> ``recomputed`` (it has a twin made of other printed cells), ``copied`` (it was compared with the same
        quantity printed elsewhere) or ``only bounded`` (it is an input, or within bounds).
    """
    found: dict[Cell, str] = {}
    for d in decisions:
        if d.verdict == UNKNOWN:
            continue
        for cell, how in [*dict.fromkeys(d.cells, BOUNDED).items(), *_twins(d, book)]:
            found[cell] = min(found.get(cell, UNTOUCHED), how, key=CHECKS.index)
    return found


def _twins(d: Decision, book: Book) -> Iterator[tuple[Cell, str]]:
    """Cells that a statement compares with a number made of others, or with a copy."""
    said = d.statement
    selections, tree = Selections(book, said.expression, said.table, said.row), template(said.expression)[0]
    if said.printed is None:
        for one, other in _equalities(tree):
            sides = [selections.cells(c[0]) if (c := copied(side)) else () for side in (one, other)]
            if all(sides):
                yield from ((c, COPIED) for side in sides for c in side)
            elif any(nodes(other if sides[0] else one)):
                yield from ((c, RECOMPUTED) for side in sides for c in side)
    elif copy := copied(tree):
        cells = [*selections.cells(copy[0]), *([said.printed] if isinstance(said.printed, tuple) else [])]
        yield from ((c, COPIED) for c in cells)
    elif isinstance(said.printed, tuple) and d.cells - {said.printed}:
        yield said.printed, RECOMPUTED


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
    """The findings that do not follow, those of one fault together.

    Parameters
    ----------
    decisions : sequence of Decision

    Returns
    -------
    list of lists of Decision
        Two findings are of one fault if the rules name one ``fault`` for both. Where they name none: if they are about
        one printed row, if they recompute the same value from the same numbers (one quantity printed in several
        places), or if one of at most twelve cells rests on all the cells of the other.
    """
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
    return within and _same_value(a.recomputed, b.recomputed, inputs[0] == inputs[1])


def _same_value(a: float | str, b: float | str, same_cells: bool) -> bool:
    """Whether two recomputed values are one, whatever the sign; of statements, whether they rest on the same cells."""
    if isinstance(a, str) or isinstance(b, str):
        return same_cells
    return math.isclose(abs(a), abs(b), rel_tol=1e-9, abs_tol=1e-12)
