"""Claims of a text: numbers and statements against their predicates, and quantities that are printed twice."""

from __future__ import annotations

from dataclasses import replace

from judgestats.errors import AuditError
from judgestats.published.printed import parse
from judgestats.published.printed_tables import Book
from judgestats.published.statements import Notes, Statement, Subject

CLAIMS = "claims"
NEEDED = ("id", "place", "claim", "quantity", "printed", "unit", "predicate", "otherwise", "comment")
#: Unit of a claim that is not a number.
STATEMENT = "statement"
#: Unit -> factor that converts its numbers to the common unit.
_SCALES = {"percent": 0.01}


def claimed(printed: Book) -> list[Statement]:
    """The statements that the table ``claims`` makes."""
    columns = printed.table(CLAIMS)
    if missing := [c for c in NEEDED if c not in columns]:
        raise AuditError(f"claims lacks the columns {', '.join(missing)}. Got: {', '.join(columns)}.")
    ids = list(columns["id"])
    if twice := sorted({i for i in ids if ids.count(i) > 1}):
        raise AuditError(f"claims has ids that are used twice: {', '.join(twice)}.")
    rows = [{c: columns[c][i] for c in (*NEEDED, *({"fault"} & columns.keys()))} for i in range(len(ids))]
    repeated, again = _printed_twice(rows)
    stated = [i for i, r in enumerate(rows) if r["predicate"].strip() or i not in repeated]
    return [_claim(i, rows[i]) for i in stated] + again


def _claim(i: int, r: dict[str, str]) -> Statement:
    parts = [p.partition("=") for p in r["otherwise"].split("||") if p.strip()]
    for name, sign, expression in parts:
        if not (sign and name.strip() and expression.strip()):
            raise AuditError(f"claim {r['id']!r}: otherwise is {r['otherwise']!r}. Write name = expression || ...")
    cell = (CLAIMS, i, "printed")
    rule, printed = (STATEMENT, None) if r["unit"] == STATEMENT else ("number", cell)
    otherwise = tuple((name.strip(), expression.strip()) for name, _, expression in parts)
    statement = Statement(rule, r["place"], r["claim"], r["predicate"].strip(), printed, otherwise, r.get("fault", ""))
    return replace(statement, subject=Subject(text=r["printed"], location=cell), notes=Notes(r["comment"]))


def _printed_twice(rows: list[dict[str, str]]) -> tuple[set[int], list[Statement]]:
    """Rows whose quantity is printed in several places, and statements that compare each with the most precise one."""
    groups: dict[str, list[int]] = {}
    for i, r in enumerate(rows):
        if r["quantity"] and r["unit"] != STATEMENT and parse(r["printed"]).readable:
            groups.setdefault(r["quantity"], []).append(i)
    several = [places for places in groups.values() if len(places) > 1]
    for r in rows:
        if r["unit"] == "proportion" and parse(r["printed"]).unit == "%":
            raise AuditError(f"claim {r['id']!r} prints {r['printed']!r} in the unit 'proportion'. Write 'percent'.")
    comparisons = []
    for places in several:
        best = max(places, key=lambda i: parse(rows[i]["printed"]).decimals + 2 * (rows[i]["unit"] == "proportion"))
        comparisons += [_repeated_quantity(rows[i]["quantity"], rows[i], rows[best], i) for i in places if i != best]
    return {i for places in several for i in places}, comparisons


def _repeated_quantity(quantity: str, one: dict[str, str], other: dict[str, str], i: int) -> Statement:
    ratio = _SCALES.get(other["unit"], 1.0) / _SCALES.get(one["unit"], 1.0)
    twin = f"claims.printed(id={other['id']!r})"
    twin = twin if ratio == 1 else f"{ratio:g} * {twin}"
    claim, cell = f"{one['claim']}, as in {other['place']}", (CLAIMS, i, "printed")
    notes = Notes(f"quantity {quantity}")
    return Statement("printed twice", one["place"], claim, twin, cell, fault=one.get("fault", ""), notes=notes)
