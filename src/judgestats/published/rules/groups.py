"""Rules about many rows: zero sums, ranks, Holm's correction, frontiers, repeated groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from judgestats.errors import AuditError, choose
from judgestats.published.rules.registry import Asked, rule
from judgestats.published.statements import Statement


@rule("zero_sum", "column", takes=("by",))
def _zero_sum(asked: Asked) -> Iterator[Statement]:
    """The rows of a group sum to zero."""
    column = asked.columns("column")[0]
    for key, rows in asked.groups():
        yield asked.grouped(key, f"{column} sums to zero", f"sum({asked.cells(column, rows)}) == 0", rows[0])


@rule("ranks", "rank", "value", takes=("order", "by"))
def _ranks(asked: Asked) -> Iterator[Statement]:
    """The printed ranks are those of the values; equal prints may stand in either order."""
    order = choose(str(asked.given.get("order", "descending")), ("descending", "ascending"), "order")
    value = asked.columns("value")[0]
    for key, rows in asked.groups():
        told = f" ({key})" if key else ""
        cells = asked.cells(value, rows)
        for row in rows:
            own, rank = asked.cells(value, [row]), asked.cells(asked.columns("rank")[0], [row])
            # "not <=" and not ">": of equal prints neither is better
            worse, level = ("<=", ">=") if order == "descending" else (">=", "<=")
            made = f"count(not {cells} {worse} {own}) + 1 <= {rank} and {rank} <= count({cells} {level} {own})"
            yield asked.statement(row, f"rank by {value}{told}", made, about=asked.about(row, "rank"))


@rule("holm", "p", "survives", takes=("m", "alpha", "mark", "by"))
def _holm(asked: Asked) -> Iterator[Statement]:
    """What is marked as surviving is what survives Holm's correction."""
    mark, alpha = str(asked.given.get("mark", "yes")), asked.within("alpha", 0.05, 0, 1)
    for key, rows in asked.groups():
        m = asked.given.get("m", len(rows))
        if isinstance(m, int | float) and m < len(rows):
            raise AuditError(f"m is {m}, but {len(rows)} rows have a p-value. Give the size of the family, or where=.")
        alive = f"holm_survives({asked.cells(asked.columns('p')[0], rows)}, m={m}, alpha={alpha})"
        marks = [mark in asked.book.column(asked.table, asked.columns("survives")[0])[r] for r in rows]
        for i, row in enumerate(rows):
            others = ", ".join("1" if j == i else "0" for j in range(len(rows)))
            sign = "> 0.5" if marks[i] else "< 0.5"  # 1 or 0; an order leaves open what digits leave open
            what = f"{'survives' if marks[i] else 'does not survive'} Holm over {m} tests{' of ' + key if key else ''}"
            made = f"sum(where([{others}], {alive}, 0)) {sign}"
            yield asked.statement(row, what, made, about=asked.about(row, "p"))


@rule("pareto", "cost", "value", "on", takes=("by",))
def _pareto(asked: Asked) -> Iterator[Statement]:
    """A row is marked as on the frontier if no other costs no more and is worth no less, one of them strictly."""
    cost, value = asked.columns("cost")[0], asked.columns("value")[0]
    for key, rows in asked.groups():
        for row in rows:
            others = [r for r in rows if r != row]
            marked = asked.book.column(asked.table, asked.columns("on")[0])[row].strip().lower() in _YES
            if not others:
                continue
            c, v = (asked.cells(n, others) for n in (cost, value))
            beaten = f"any({c} <= {cost} and {v} >= {value} and ({c} < {cost} or {v} > {value}))"
            what = f"{'on' if marked else 'not on'} the frontier{' of ' + key if key else ''}"
            about = asked.about(row, "cost", "value")
            yield asked.statement(row, what, f"not {beaten}" if marked else beaten, about=about)


_YES = frozenset({"yes", "true", "1", "✓", "x", "on"})


@rule("duplicates", "by", "values", takes=("least",))
def _duplicates(asked: Asked) -> Iterator[Statement]:
    """No two groups print the same list of values."""
    values = asked.columns("values")
    found = list(asked.groups())
    least = asked.within("least", 2, 0, math.inf)
    width = len(found[0][1]) if found else 0
    if any(len(rows) != width for _, rows in found) or width * len(values) < least:
        raise AuditError(f"the groups are of unequal size, or print fewer than {least} values.")
    printed = {key: _prints(asked, values, rows) for key, rows in found}
    cells = ", ".join(asked.cells(c, [r for _, rows in found for r in rows]) for c in values)
    for i, (key, rows) in enumerate(found):
        twins = [other for other in printed if other != key and printed[other] == printed[key]]
        told = f", as {' and '.join(twins)} do" if twins else ""
        what, made = f"values unlike those of the other groups{told}", f"repeats({i}, {width}, {cells}) == 0"
        yield asked.grouped(key, what, made, rows[0])


def _prints(asked: Asked, values: Sequence[str], rows: Sequence[int]) -> list[str]:
    return [asked.book.column(asked.table, c)[r] for c in values for r in rows]
