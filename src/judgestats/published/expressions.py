"""Expressions over printed cells: parsed (never executed as Python) and evaluated for every rounding of the cells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from judgestats.errors import AuditError, refuse_unknown, suggestion
from judgestats.published.expression_functions import ARITHMETIC, COMPARISONS, EACH, OVER, SPECIAL, WITHIN, within
from judgestats.published.grim_tests import lines_up
from judgestats.published.printed_tables import Cell
from judgestats.published.printed_values import (
    ArrayFunction,
    Choice,
    Numbers,
    Texts,
    Truth,
    Value,
    chosen,
    combined,
    compared,
    constant,
    every,
    extreme,
    increasing,
    quantified,
    those,
)
from judgestats.published.selections import LONGEST, Selections, filled, listed, movable, template
from judgestats.typing import Floats


@dataclass(eq=False)
class Reading(Selections):
    """An expression evaluated on printed tables, in a row of one of them or in none."""

    cells: dict[Cell, int] = field(default_factory=dict)  # each that was read -> its index in `movable`, or -1
    _selected: dict[int, tuple[Cell, ...]] = field(default_factory=dict)
    _text: str = ""
    _places: tuple[ast.expr, ...] = ()
    _truths: dict[int, Truth] = field(default_factory=dict)
    _moves: Floats = field(default_factory=lambda: np.zeros((0, 1)))

    def value(self) -> Value:
        """The value of the expression; an AuditError if a name is unknown, or text is printed in place of a number."""
        try:
            tree, self._text, self._places = template(self.expression)
            self._selected = {id(node): self.selected(node) for node in self._places}
            self.cells, self._moves = movable(self.book, self._selected.values())
            with np.errstate(all="ignore"):
                value = self._evaluate(tree)
                return self._at_corners(value, lambda: self._number(tree)) if isinstance(value, Numbers) else value
        except (RecursionError, OverflowError) as error:
            raise AuditError(
                f"{self.expression[:LONGEST]!r} is too deep, or has too large a number ({error})."
            ) from error

    def _at_corners(self, numbers: Numbers, evaluate: Callable[[], Numbers]) -> Numbers:
        """The same numbers, with their values where all cells move at once."""
        if numbers.values.shape[1] != self._moves.shape[1] or not len(self._moves):
            return numbers
        single, self._moves = self._moves, numbers.directions()
        try:
            return replace(numbers, corners=evaluate().values[:, 1:])
        finally:
            self._moves = single

    def _evaluate(self, node: ast.expr) -> Value:
        if id(node) in self._selected:
            return self._read(self._selected[id(node)])
        if id(node) in self._truths:
            return self._truths[id(node)]
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return self._listed(node)
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            function = ARITHMETIC[type(node.op)]
            return self._fitting(node, function, self._number(node.left), self._number(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            return self._joined(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node, node.func.id)
        raise self.refused(node, "Allowed: selections, numbers, texts, arithmetic, comparisons, functions.")

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            return Texts((node.value,))
        if isinstance(node.value, int | float):
            return constant(node.value)
        raise self.refused(node, "Only numbers and texts are allowed here.")

    def _read(self, cells: tuple[Cell, ...]) -> Value:
        """The cells as numbers for every rounding, or as texts where none of them holds a number."""
        texts = tuple(self.book.text(c) for c in cells)
        printed = [self.book.printed(c) for c in cells]
        if all(np.isnan(p.value) for p in printed) and not all(p.missing for p in printed):
            return Texts(texts, cells)
        values = np.array([[p.value] for p in printed])
        if len(self._moves):
            index = np.array([self.cells[c] for c in cells])
            moves = np.where(index[:, None] >= 0, self._moves[index], 0.0)
            up, down = np.array([p.moves for p in printed]).T[:, :, None]
            values = values + np.where(moves > 0, up, np.where(moves < 0, down, 0.0))
        return Numbers(values, cells, texts=texts)

    def _number(self, node: ast.expr) -> Numbers:
        return self._as_number(node, self._evaluate(node))

    def _as_number(self, node: ast.expr, value: Value) -> Numbers:
        if isinstance(value, Truth):
            return Numbers(value.values[:, None], value.cells)
        if not isinstance(value, Numbers):
            self._refuse_text(value)
            texts = listed(list(value.values if isinstance(value, Texts) else value.rows))
            raise self.refused(node, f"A number is needed here, got {texts!r}.")
        if np.isnan(value.values).any():
            self._refuse_text(value)
        return value

    def _refuse_text(self, value: Value) -> None:
        for cell in getattr(value, "cells", ()):
            self.book.number(cell)  # raises, naming the cell, unless nothing is printed in it

    def _truth(self, node: ast.expr) -> Truth:
        value = self._evaluate(node)
        if not isinstance(value, Truth):
            raise self.refused(node, "A comparison is needed here.")
        return value

    def _fitting(
        self, node: ast.expr, function: ArrayFunction, *parts: Numbers, options: Mapping[str, float] | None = None
    ) -> Numbers:
        self._one_size(node, *parts)
        numbers = combined(function, *parts, options=options)
        return Numbers(numbers.values, next((p.cells for p in parts if len(p) == len(numbers)), ()), numbers.open)

    def _listed(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        parts = [self._evaluate(e) for e in node.elts]
        texts = [p for p in parts if isinstance(p, Texts)]
        if len(texts) == len(parts):
            return Texts(tuple(t for p in texts for t in p.values), tuple(c for p in texts for c in p.cells))
        numbers = [self._number(e) for e in node.elts]
        width = max(p.values.shape[1] for p in numbers)
        stacked = np.vstack([np.broadcast_to(p.values, (len(p), width)) for p in numbers])
        opened = np.vstack([np.broadcast_to(p.open, (len(p), 2)) for p in numbers])
        return Numbers(stacked, tuple(c for p in numbers for c in p.cells), opened)

    def _unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            part = self._truth(node.operand)
            return Truth(1.0 - part.values, part.cells, part.breaks)
        if isinstance(node.op, ast.Invert):
            raise self.refused(node, "Allowed: -, + and not.")
        sign = np.negative if isinstance(node.op, ast.USub) else np.positive
        return self._fitting(node, sign, self._number(node.operand))

    def _joined(self, node: ast.BoolOp) -> Truth:
        parts = [self._truth(v) for v in node.values]
        breaks = tuple(b for p in parts if (p.values == 0).any() for b in p.breaks)
        if isinstance(node.op, ast.And):
            return replace(self._together(node, parts), breaks=breaks)
        neither = self._together(node, [Truth(1.0 - p.values, p.cells) for p in parts])
        return Truth(1.0 - neither.values, neither.cells, breaks)

    def _compare(self, node: ast.Compare) -> Truth:
        lefts = [node.left, *node.comparators[:-1]]
        parts = zip(node.ops, lefts, node.comparators, strict=True)
        self._truths[id(node)] = self._together(node, [self._pair(node, *part) for part in parts])
        return self._truths[id(node)]

    def _together(self, node: ast.expr, parts: list[Truth]) -> Truth:
        """Whether all hold, row by row."""
        self._one_size(node, *parts)
        truths = every(np.stack(np.broadcast_arrays(*(p.values for p in parts))))
        return Truth(truths, next((p.cells for p in parts if len(p.cells) == len(truths)), ()))

    def _one_size(self, node: ast.expr, *parts: Value | tuple[str, ...]) -> None:
        sizes = {len(p) for p in parts if not isinstance(p, Choice)} - {1}
        if len(sizes) > 1:
            raise self.refused(node, f"The parts have {' and '.join(map(str, sorted(sizes)))} values.")

    def _pair(self, node: ast.expr, sign: ast.cmpop, left: ast.expr, right: ast.expr) -> Truth:
        a, b = self._evaluate(left), self._evaluate(right)
        if isinstance(a, Choice) and isinstance(b, Texts | Numbers):
            return self._chosen(node, sign, a, self._texts(b))
        if isinstance(sign, ast.In | ast.NotIn):
            among = np.array([float(t in self._texts(b)) for t in self._texts(a)])
            return Truth(among if isinstance(sign, ast.In) else 1 - among, getattr(a, "cells", ()))
        ordered = not isinstance(sign, ast.Eq | ast.NotEq)
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Texts) and (ordered or isinstance(other, Numbers)):
                self._refuse_text(one)  # a number is meant
        if isinstance(a, Texts) or isinstance(b, Texts):
            return self._same_text(node, sign, a, b)
        if type(sign) not in COMPARISONS:
            raise self.refused(node, f"Comparisons: {', '.join(COMPARISONS.values())}, in, not in.")
        one, two = self._as_number(left, a), self._as_number(right, b)
        gap = self._fitting(node, np.subtract, one, two)
        gap = self._at_corners(gap, lambda: self._fitting(node, np.subtract, self._number(left), self._number(right)))
        return compared(COMPARISONS[type(sign)], one, two, gap)

    def _chosen(self, node: ast.expr, sign: ast.cmpop, choice: Choice, wanted: tuple[str, ...]) -> Truth:
        if not isinstance(sign, ast.Eq | ast.NotEq):
            raise self.refused(node, "Chosen rows are compared by == or !=.")
        odd = [t for t in wanted if t not in choice.labels]
        if odd:
            near = suggestion(odd[0], choice.labels)
            raise self.refused(node, f"No row is labelled {odd[0]!r}. Rows: {', '.join(sorted(choice.labels))}.{near}")
        truth = np.full(1, chosen(choice, wanted))
        return Truth(truth if isinstance(sign, ast.Eq) else 1 - truth)

    def _same_text(self, node: ast.expr, sign: ast.cmpop, a: Value, b: Value) -> Truth:
        if not isinstance(sign, ast.Eq | ast.NotEq):
            raise self.refused(node, "Texts are compared by ==, != or in.")
        one, two = np.array(self._texts(a)), np.array(self._texts(b))
        self._one_size(node, tuple(one), tuple(two))
        equal = (one == two).astype(float)
        return Truth(equal if isinstance(sign, ast.Eq) else 1 - equal, getattr(a, "cells", ()))

    def _texts(self, value: Value) -> tuple[str, ...]:
        if isinstance(value, Texts):
            return value.values
        if isinstance(value, Numbers) and value.texts:
            return value.texts
        if isinstance(value, Numbers):
            return tuple(f"{v:g}" for v in value.values[:, 0])
        raise AuditError(
            f"In {self.expression!r} a text is compared with a value that is not a text. Compare texts with texts."
        )

    def _call(self, node: ast.Call, name: str) -> Value:
        problem = f"{name!r} in {self.expression!r} is not a function"
        refuse_unknown(name, sorted({*EACH, *OVER, *WITHIN, *SPECIAL}), problem, "Functions", error=AuditError)
        try:
            return self._special(node, name) if name in SPECIAL else self._applied(node, name)
        except (TypeError, ValueError, ArithmeticError, IndexError, MemoryError) as error:
            raise self.refused(node, f"{name} does not accept these arguments ({error}).") from error

    def _applied(self, node: ast.Call, name: str) -> Value:
        options = self._options(node)
        if name in WITHIN:
            return self._within(node, WITHIN[name], options)
        parts = [self._number(a) for a in node.args]
        if name in OVER:
            return combined(OVER[name], *parts, over=True, options=options)
        return self._fitting(node, EACH[name], *parts, options=options)

    def _options(self, node: ast.Call) -> dict[str, float]:
        return {str(k.arg): self._option(k.value) for k in node.keywords}

    def _option(self, node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return float(node.value)
        return float(self._number(node).values[0, 0])

    def _within(self, node: ast.Call, function: Callable[..., bool], options: Mapping[str, float]) -> Truth:
        parts = [self._number(a) for a in node.args]
        ranges = [p.range() for p in parts]
        truths = within(function, [r[0] for r in ranges], [r[2] for r in ranges], options)
        cells = parts[-2].cells if len(parts) > 1 else ()  # of the number before n
        return Truth(truths, cells if len(cells) == len(truths) else ())

    def _special(self, node: ast.Call, name: str) -> Value:
        if not node.args:
            raise self.refused(node, f"{name}() needs an argument.")
        first = node.args[0]
        if name in ("all", "none", "any", "count"):
            return quantified(name, self._truth(first))
        if name == "repeats":
            return self._repeats(node)
        if name == "lines_up":
            return self._lines_up(node)
        if name in ("len", "distinct"):
            value = self._evaluate(first)
            return constant(len(value) if name == "len" else len(set(self._texts(value))))  # type: ignore[arg-type]
        if name in ("increasing", "decreasing"):
            strict = any(k.arg == "strict" and getattr(k.value, "value", False) for k in node.keywords)
            return increasing(self._number(first), strict, name == "decreasing")
        if name == "which":
            truth = self._truth(first)
            return those(truth, self._labels(node, truth.cells, node.args[1:]))
        part = self._number(first)
        k = int(self._option(node.args[1])) if name in ("top", "bottom") else 1
        labels = self._labels(node, part.cells, node.args[1 + (name in ("top", "bottom")) :])
        return extreme(part, labels, k, name in ("argmin", "bottom"))

    def _lines_up(self, node: ast.Call) -> Truth:
        """Whether means and sds fit the steps of a scale: lines_up(means, sds, ns, step=..., low=..., high=...)."""
        ranges, options = [self._number(a).range() for a in node.args], self._options(node)
        parts = np.broadcast_arrays(*(np.column_stack([low, high]) for low, _, high in ranges))
        means, sds, ns = (p.tolist() for p in parts)
        truth = np.nan if np.isnan(parts).any() else float(lines_up(means, sds, ns, **options))
        return Truth(np.full(1, truth))

    def _repeats(self, node: ast.Call) -> Numbers:
        """How many other groups of rows print the texts of group i: repeats(i, rows in a group, columns ...)."""
        i, width = (int(self._option(a)) for a in node.args[:2])
        columns = [[self.book.text(c) for c in self._selected[id(a)]] for a in node.args[2:]]
        starts = range(0, len(columns[0]), width)
        groups = [[t for texts in columns for t in texts[at : at + width]] for at in starts]
        return constant(sum(g == groups[i] for g in groups) - 1)

    def _labels(self, node: ast.expr, cells: tuple[Cell, ...], columns: list[ast.expr]) -> tuple[str, ...]:
        names = [c.value for c in columns if isinstance(c, ast.Constant) and isinstance(c.value, str)]
        if not cells or not names or len(names) != len(columns):
            raise self.refused(node, "Name the column of labels, as in argmax(table1.r, 'model').")
        for table in {t for t, _, _ in cells}:
            if absent := [name for name in names if name not in self.book.columns[table]]:
                have = ", ".join(self.book.columns[table])
                raise self.refused(node, f"{table!r} has no column {absent[0]!r}: {have}.")
        return tuple(" / ".join(self.book.text((t, i, name)) for name in names) for t, i, _ in cells)

    def written(self) -> str:
        """The expression with the printed values in place of the cells; call it after `value`."""
        text = self._text
        for i, node in enumerate(self._places):
            text = filled(text, i, [self.book.text(c) for c in self._selected[id(node)]])
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
