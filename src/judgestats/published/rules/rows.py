"""Rules about one row at a time: sums, shares, differences, means, bounds."""

from __future__ import annotations

from collections.abc import Iterator

from judgestats.errors import AuditError
from judgestats.published.printed import parse
from judgestats.published.rules.registry import Asked, rule
from judgestats.published.statements import Statement


@rule("formula", "column", "formula")
def _formula(asked: Asked) -> Iterator[Statement]:
    """A printed column equals an expression of its row."""
    column = asked.columns("column")[0]
    for row in asked.rows():
        yield asked.statement(row, column, asked.expression("formula"), column)


@rule("constraint", "holds")
def _constraint(asked: Asked) -> Iterator[Statement]:
    """A comparison holds in every row."""
    for row in asked.rows():
        yield asked.statement(row, asked.expression("holds"), asked.expression("holds"))


@rule("check", "holds")
def _check(asked: Asked) -> Iterator[Statement]:
    """A comparison holds, of no row in particular."""
    yield asked.said(asked.claim("", asked.expression("holds")), asked.expression("holds"))


@rule("sum", "total", takes=("parts", "column", "by"))
def _sum(asked: Asked) -> Iterator[Statement]:
    """Parts add up to a total: columns of a row, or a column over rows."""
    total = asked.expression("total")
    column = total if total in asked.book.table(asked.table) else None
    if "parts" in asked.given:
        added = " + ".join(asked.columns("parts"))
        for row in asked.rows():
            what = f"{added} is {total}"
            if column:
                yield asked.statement(row, what, added, column)
            else:
                yield asked.statement(row, what, f"{added} == {total}", otherwise=_totals(asked, added))
        return
    if "column" not in asked.given:
        raise AuditError("it needs parts= (columns of a row) or column= (over rows).")
    name = asked.columns("column")[0]
    for key, rows in asked.groups():
        cells = asked.cells(name, rows)
        made, other = f"sum({cells}) == {total}", _totals(asked, f"sum({cells})")
        yield asked.grouped(key, f"sum of {name} is {total}", made, rows[0], otherwise=other)


def _totals(asked: Asked, added: str) -> dict[str, str]:
    return {k: f"{added} == {v}" for k, v in asked.given.get("otherwise", {}).items()}


@rule("share", "share", "count", "of", takes=("unit",))
def _share(asked: Asked) -> Iterator[Statement]:
    """A share is its count over the total, in percent or as a proportion."""
    total, count = " + ".join(asked.columns("of")), asked.expression("count")
    for row in asked.rows():
        scale = "100 * " if asked.percent("share", row) else ""
        yield asked.statement(row, f"share of {count}", f"{scale}({count}) / ({total})", asked.columns("share")[0])


@rule("difference", "column", "minuend", "subtrahend", takes=("scale",))
def _difference(asked: Asked) -> Iterator[Statement]:
    """A difference is its first part less its second."""
    scale, column = asked.given.get("scale", 1), asked.columns("column")[0]
    for row in asked.rows():
        made = f"({asked.expression('minuend')}) - ({asked.expression('subtrahend')})"
        yield asked.statement(row, f"{column}, a difference", made if scale == 1 else f"{scale} * ({made})", column)


@rule("mean", "column", takes=("of", "by", "row"))
def _mean(asked: Asked) -> Iterator[Statement]:
    """A printed mean is the mean of its parts: columns of the row, or the other rows of its group."""
    column = asked.columns("column")[0]
    if "of" in asked.given:
        parts = ", ".join(asked.columns("of"))
        for row in asked.rows():
            yield asked.statement(row, f"{column} is the mean of {parts}", f"mean([{parts}])", column)
        return
    if "row" not in asked.given:
        raise AuditError("it needs of= (columns) or row= (what keys the row that holds the mean).")
    whole = set(asked.book.rows(asked.table, asked.given["row"]))
    if not whole:
        raise AuditError(f"row= is {dict(asked.given['row'])}, which no row meets. Name the row that holds the mean.")
    for key, rows in asked.groups():
        parts_, own = [r for r in rows if r not in whole], [r for r in rows if r in whole]
        for row in own if parts_ else []:
            what = f"{column}, mean of {len(parts_)} rows{' of ' + key if key else ''}"
            yield asked.statement(row, what, f"mean({asked.cells(column, parts_)})", column)


@rule("bounds", "column", takes=("low", "high"))
def _bounds(asked: Asked) -> Iterator[Statement]:
    """Printed numbers lie within stated bounds."""
    ends = [
        f"{asked.given['low']} <= " if "low" in asked.given else "",
        f" <= {asked.given['high']}" if "high" in asked.given else "",
    ]
    if not any(ends):
        raise AuditError("it needs low= or high=.")
    columns = asked.columns("column")
    for column in columns:
        part = column if len(columns) > 1 else ""
        for row in asked.rows():
            if not parse(asked.book.column(asked.table, column)[row]).missing:
                made, about = f"{ends[0]}{column}{ends[1]}", ((asked.table, row, column),)
                yield asked.statement(row, f"{column} within its bounds", made, part=part, about=about)


@rule("same", "left", "right", takes=("scale",))
def _same(asked: Asked) -> Iterator[Statement]:
    """One quantity printed in two places has one value."""
    scale, left = asked.given.get("scale", 1), asked.columns("left")[0]
    for row in asked.rows():
        made = asked.expression("right") if scale == 1 else f"{scale} * ({asked.expression('right')})"
        yield asked.statement(row, f"{left}, printed twice", made, left)
