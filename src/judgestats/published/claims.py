"""Numbers and statements of the prose: each against its predicate, and one quantity printed twice against itself."""

from __future__ import annotations

from judgestats.errors import AuditError
from judgestats.published.books import Book
from judgestats.published.printed import parse
from judgestats.published.statements import Statement

#: Name of the table of claims.
CLAIMS = "claims"
NEEDED = ("id", "place", "claim", "quantity", "printed", "unit", "predicate", "otherwise", "comment")
#: Unit of a claim that is no number.
STATEMENT = "statement"
#: Unit -> what its numbers are multiplied with, so that one quantity in two units can be compared.
_SCALES = {"percent": 0.01}


def claimed(own: Book) -> list[Statement]:
    """The statements that the claims make.

    Parameters
    ----------
    own : Book
        With the table ``claims``.

    Returns
    -------
    list of Statement

    Raises
    ------
    AuditError
        If columns are missing, an id is used twice, or an alternative is not ``name = expression``.
    """
    columns = own.table(CLAIMS)
    missing = [c for c in NEEDED if c not in columns]
    if missing:
        raise AuditError(f"claims lacks the columns {', '.join(missing)}. Got: {', '.join(columns)}.")
    ids = list(columns["id"])
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise AuditError(f"claims has ids that are used twice: {', '.join(twice)}.")
    rows = [{c: columns[c][i] for c in (*NEEDED, *({"fault"} & columns.keys()))} for i in range(len(ids))]
    repeated, again = _printed_twice(rows)
    told = [i for i, r in enumerate(rows) if r["predicate"].strip() or i not in repeated]
    return [_claim(i, rows[i]) for i in told] + again


def _claim(i: int, r: dict[str, str]) -> Statement:
    number = r["unit"] != STATEMENT
    return Statement(
        "number" if number else STATEMENT, r["place"], r["claim"], r["predicate"].strip(),
        printed=(CLAIMS, i, "printed") if number else None, said=r["printed"],
        otherwise=_alternatives(r), comment=r["comment"], stands=(CLAIMS, i, "printed"), fault=r.get("fault", ""),
    )  # fmt: skip


def _alternatives(r: dict[str, str]) -> tuple[tuple[str, str], ...]:
    parts = [p.partition("=") for p in r["otherwise"].split("||") if p.strip()]
    for name, sign, expression in parts:
        if not (sign and name.strip() and expression.strip()):
            raise AuditError(f"claim {r['id']!r}: otherwise is {r['otherwise']!r}. Write name = expression || ...")
    return tuple((name.strip(), expression.strip()) for name, _, expression in parts)


def _printed_twice(rows: list[dict[str, str]]) -> tuple[set[int], list[Statement]]:
    """Rows whose quantity is printed in several places, and each print against the most precise one."""
    groups: dict[str, list[int]] = {}
    for i, r in enumerate(rows):
        if r["quantity"] and r["unit"] != STATEMENT and parse(r["printed"]).readable:
            groups.setdefault(r["quantity"], []).append(i)
    several = [here for here in groups.values() if len(here) > 1]
    for r in rows:
        if r["unit"] == "proportion" and parse(r["printed"]).unit == "%":
            raise AuditError(f"claim {r['id']!r} prints {r['printed']!r} in the unit 'proportion'. Write 'percent'.")
    made = []
    for here in several:
        best = max(here, key=lambda i: parse(rows[i]["printed"]).decimals + 2 * (rows[i]["unit"] == "proportion"))
        made += [_again(rows[i]["quantity"], rows[i], rows[best], i) for i in here if i != best]
    return {i for here in several for i in here}, made


def _again(quantity: str, one: dict[str, str], other: dict[str, str], i: int) -> Statement:
    ratio = _SCALES.get(other["unit"], 1.0) / _SCALES.get(one["unit"], 1.0) if one["unit"] != other["unit"] else 1.0
    twin = f"claims.printed(id={other['id']!r})"
    twin = twin if ratio == 1 else f"{ratio:g} * {twin}"
    return Statement(
        "printed twice", one["place"], f"{one['claim']}, as in {other['place']}", twin,
        printed=(CLAIMS, i, "printed"), comment=f"quantity {quantity}", fault=one.get("fault", ""),
    )  # fmt: skip
