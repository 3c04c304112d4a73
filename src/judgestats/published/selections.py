"""The printed cells that an expression selects."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.errors import AuditError
from judgestats.published.printed_tables import Book, Cell

#: Name for the table of the rule itself.
HERE = "here"
#: Up to this many open cells are moved one by one; more move in blocks, to avoid quadratic cost.
MOST_MOVES = 400
#: Printed values that a written-out expression shows before it is cut short.
_SHOWN = 8
#: Characters of a written-out expression that are shown.
LONGEST = 320


def parsed(expression: str) -> ast.expr:
    """Parse an expression; an AuditError shows where it does not."""
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        place = " " * max((error.offset or 1) - 1, 0) + "^"
        raise AuditError(f"An expression does not parse ({error.msg}):\n  {expression.strip()}\n  {place}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise AuditError(f"An expression cannot be read ({error}): {expression.strip()[:LONGEST]!r}") from error


def nodes(node: ast.AST) -> Iterator[ast.expr]:
    """The selections within a node, in order."""
    call = isinstance(node, ast.Call)
    if isinstance(node, ast.Attribute | ast.Name) or (call and isinstance(node.func, ast.Attribute)):  # type: ignore[attr-defined]
        yield node  # type: ignore[misc]
        return
    inside = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else None
    for child in ast.iter_child_nodes(node) if inside is None else inside:
        yield from nodes(child)


def copied(node: ast.expr) -> tuple[ast.expr, float] | None:
    """The selection that an expression copies, perhaps in another unit, and its power of ten; None if it computes."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner, factor = node.operand, -1.0 if isinstance(node.op, ast.USub) else 1.0
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant):
        inner, factor = node.right, _constant(node.left)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant):
        inner, factor = node.left, _constant(node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
        inner, factor = node.left, 1.0 / (_constant(node.right) or math.nan)
    else:
        selected = isinstance(node, ast.Name | ast.Attribute)
        selected |= isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        return (node, 1.0) if selected else None
    selection = copied(inner)
    if selection is None:
        return None
    scale = selection[1] * factor
    if not 0 < abs(scale) < math.inf:
        return None
    return (selection[0], scale) if math.isclose(10.0 ** round(math.log10(abs(scale))), abs(scale)) else None


def _constant(node: ast.Constant) -> float:
    return float(node.value) if isinstance(node.value, int | float) else math.nan


@lru_cache(maxsize=4096)
def template(expression: str) -> tuple[ast.expr, str, tuple[ast.expr, ...]]:
    """A parsed expression, its text with ``_0_``, ``_1_``, ... in place of the selections, and the selections as nodes.

    A selection outside a function's arguments is ``_0_v``: with several values it would need brackets.
    """
    tree, blank = parsed(expression), parsed(expression)
    places = {id(node): i for i, node in enumerate(nodes(blank))}
    return tree, ast.unparse(_Blank(places).visit(blank)), tuple(nodes(tree))


class _Blank(ast.NodeTransformer):
    """Replaces selections by numbered blanks, and drops ``as_printed``, which changes no value."""

    def __init__(self, places: dict[int, int]) -> None:
        self._places = places

    def visit(self, node: ast.AST) -> Any:
        if id(node) in self._places:
            return ast.Name(id=f"_{self._places[id(node)]}_v", ctx=ast.Load())
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "as_printed" and len(node.args) == 1:
                return self.visit(node.args[0])
            node.args = [self._bare(a) if id(a) in self._places else self.visit(a) for a in node.args]
            return node
        return self.generic_visit(node)

    def _bare(self, node: ast.expr) -> ast.expr:
        return ast.Name(id=f"_{self._places[id(node)]}_", ctx=ast.Load())


def listed(texts: list[str]) -> str:
    """Printed texts in a row, cut short where there are many."""
    return ", ".join(texts[:_SHOWN] + ([f"… {len(texts)} values"] if len(texts) > _SHOWN else []))


def filled(text: str, at: int, texts: list[str]) -> str:
    """The text of a template with printed texts in the blank `at`."""
    row = listed(texts)
    bracketed = f"[{row}]" if len(texts) > 1 else row
    return text.replace(f"_{at}_v", bracketed, 1) if f"_{at}_v" in text else text.replace(f"_{at}_", row, 1)


def movable(book: Book, selected: Iterable[tuple[Cell, ...]]) -> tuple[dict[Cell, int], NDArray[np.float64]]:
    """Number the cells that the printed precision leaves open, and move one at a time.

    Returns cell -> its index, or -1 where it is exact; and (k, 1 + 2 k) in which readings which index moves up (1) or
    down (-1), the printed reading first. Of very many cells, neighbours of one selection move together.
    """
    selected = list(selected)
    loose = {c: any(book.printed(c).moves) for cells in selected for c in cells}
    block, size = 1 + sum(loose.values()) // MOST_MOVES, 0
    index_of: dict[Cell, int] = {}
    for cells in selected:
        new = [c for c in dict.fromkeys(cells) if c not in index_of]
        open_ = [c for c in new if loose[c]]
        index_of |= dict.fromkeys(new, -1) | {c: size + i // block for i, c in enumerate(open_)}
        size += -(-len(open_) // block)
    moves, index = np.zeros((size, 1 + 2 * size)), np.arange(size)
    moves[index, 1 + 2 * index], moves[index, 2 + 2 * index] = 1.0, -1.0
    return index_of, moves


@dataclass(eq=False)
class Selections:
    """The selections of an expression, ``table.column(key=value)``, or a column of the row that it is read in."""

    book: Book
    expression: str
    table: str = ""
    row: int = -1
    keys: set[tuple[str, str]] = field(default_factory=set)  # (table, column) that rows were selected by

    def selected(self, node: ast.expr) -> tuple[Cell, ...]:
        """The cells of a selection; an AuditError if it is none, or no row of the table matches its keys."""
        if isinstance(node, ast.Name):
            return (self._own(node.id),)
        function = node.func if isinstance(node, ast.Call) else node
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            raise self.refused(node, "A selection is table.column(key=value).")
        table, column = function.value.id, function.attr
        table = self.table if table == HERE and self.table else table
        self.book.column(table, column)
        keys = node.keywords if isinstance(node, ast.Call) else []
        if (isinstance(node, ast.Call) and node.args) or any(k.arg is None for k in keys):
            raise self.refused(node, "A selection takes key=value only.")
        rows = self.book.rows(table, {str(k.arg): self._key(k.value) for k in keys})
        self.keys.update((table, str(k.arg)) for k in keys)
        if not rows:
            raise self.refused(node, "No row of the table matches these keys.")
        return tuple((table, i, column) for i in rows)

    def _own(self, name: str) -> Cell:
        if not self.table:
            raise AuditError(
                f"{name!r} in {self.expression!r} is not a cell. Allowed: table.column(key=value), numbers, functions."
            )
        self.book.column(self.table, name)
        return (self.table, self.row, name)

    def _key(self, node: ast.expr) -> object:
        """Value of a key: a text, a list, ``but(...)``, or a column of the row."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [self._key(e) for e in node.elts]
        if isinstance(node, ast.Name):
            return self.book.text(self._own(node.id))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "but":
            wanted = [self._key(a) for a in node.args]
            return {"not": [t for w in wanted for t in (w if isinstance(w, list) else [w])]}
        raise self.refused(node, "A key is a text, a list of texts, but(...), or a column of the row.")

    def refused(self, node: ast.AST, why: str) -> AuditError:
        """An error that names the part of the expression."""
        return AuditError(f"{ast.unparse(node)} in {self.expression!r}: {why}")
