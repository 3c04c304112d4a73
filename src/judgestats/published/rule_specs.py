"""A rule of an audit with its parameters, on one table: what the functions in ``rules`` make statements from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from judgestats.errors import AuditError, choose, suggestion
from judgestats.published.printed_tables import Book, Cell, row_label
from judgestats.published.selections import listed
from judgestats.published.statements import Notes, Rounding, Scope, Statement, Subject
from judgestats.typing import Record

#: Parameters that name columns or numbers to be summed.
SUMMED = ("parts", "of", "margin_a", "margin_b")


#: A rule as it is declared: the name and its parameters, as in a rules file.
Declaration = Mapping[str, Any]


class StatementOptions(TypedDict, total=False):
    """What a rule may say of a statement: what is printed, what it is about, on what it may depend."""

    printed: Cell
    about: tuple[Cell, ...]
    otherwise: Mapping[str, str]
    hint: str


@dataclass(frozen=True)
class RuleSpec:
    """A rule with its parameters as declared, on one table (empty for a rule without one)."""

    book: Book
    rule: str
    table: str
    params: Declaration

    def rows(self) -> list[int]:
        """Rows that the rule is about."""
        where = self.params.get("where", {})
        if not self.book.size(self.table):
            raise AuditError("the table has no rows. Give it rows, or leave the rule out.")
        for column, value in where.items():  # each alone: rules may go through all combinations, some of them empty
            if not self.book.rows(self.table, {column: value}):
                texts = dict.fromkeys(self.book.column(self.table, column))
                near = suggestion(str(value), texts)
                raise AuditError(f"where= asks for {column} = {value!r}. Values: {listed(list(texts))}.{near}")
        return self.book.rows(self.table, where)

    def key(self, row: int) -> str:
        """The label of a row: its columns of words, and those in `by`."""
        return row_label(self.book, self.table, row, self.columns("by") if "by" in self.params else ())

    def columns(self, name: str) -> list[str]:
        """A parameter that names columns."""
        value = self.params[name]
        if isinstance(value, int | float) and name not in SUMMED:
            raise AuditError(f"{name} is {value!r}. Name a column: {', '.join(self.book.table(self.table))}.")
        return [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]

    def percent(self, name: str, row: int) -> bool:
        """Whether a column is in percent: by the unit of the rule, or by the sign in its cell."""
        unit = choose(str(self.params.get("unit", "proportion")), ("percent", "proportion"), "unit")
        column = str(self.params[name])
        signed = column in self.book.table(self.table) and self.book.printed((self.table, row, column)).unit == "%"
        return unit == "percent" or signed

    def within(self, name: str, default: float, low: float, high: float) -> float:
        """A parameter that is a number between bounds, these not included."""
        value = self.params.get(name, default)
        if not isinstance(value, int | float) or not low < value < high:
            raise AuditError(f"{name} is {value!r}. Allowed: a number between {low:g} and {high:g}.")
        return value

    def expression(self, name: str) -> str:
        """A parameter that is a number, a column or an expression."""
        return str(self.params[name])

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """Rows by the values of `by`."""
        by = [self.book.column(self.table, c) for c in (self.columns("by") if "by" in self.params else [])]
        keyed: dict[tuple[str, ...], list[int]] = {}
        for i in self.rows():
            keyed.setdefault(tuple(texts[i] for texts in by), []).append(i)
        for key, rows in keyed.items():
            yield ", ".join(key), rows

    def cells(self, column: str, rows: Sequence[int]) -> str:
        """An expression that selects a column in these rows, by position."""
        self.book.column(self.table, column)
        return f"{self.table}.{column}(_row={[str(r) for r in rows]})"

    def options(self, *names: str) -> str:
        """Parameters that are given, as keywords of a function."""
        return "".join(f", {n}={self.params[n]}" for n in names if n in self.params)

    def about(self, row: int, *names: str) -> tuple[Cell, ...]:
        """The cells of a row in the columns that parameters name."""
        columns = self.book.table(self.table)
        return tuple((self.table, row, str(self.params[n])) for n in names if str(self.params[n]) in columns)

    def claim(self, key: str, what: str, part: str = "") -> str:
        """Text of a claim: the key, then the rule's claim or its own description; `part` distinguishes several."""
        claim = str(self.params.get("claim", ""))
        what = f"{claim}, {part}" if claim and part else claim or what
        return ": ".join(t for t in (key, what) if t)

    def fault(self, row: int) -> str:
        """Fault that the findings of a row are counted under: that of the rule, or the first that names the row."""
        fault = self.params.get("fault", "")
        if isinstance(fault, str):
            return fault
        return next((name for name, where in fault.items() if row in self.book.rows(self.table, where)), "")

    def statement(
        self,
        row: int,
        what: str,
        expression: str,
        column: str | None = None,
        part: str = "",
        **more: Unpack[StatementOptions],
    ) -> Statement:
        """A statement about a row."""
        columns = self.book.table(self.table)
        if column:
            self.book.column(self.table, column)
            more["printed"] = (self.table, row, column)
        place = columns["place"][row] if "place" in columns and "place" not in self.params else ""
        return self.said(self.claim(self.key(row), what, part), expression, place, row, **more)

    def each(
        self, what: str, expression: str, column: str | None = None, **more: Unpack[StatementOptions]
    ) -> Iterator[Statement]:
        """The same statement about each row."""
        return (self.statement(row, what, expression, column, **more) for row in self.rows())

    def grouped(self, key: str, what: str, expression: str, row: int, **more: Unpack[StatementOptions]) -> Statement:
        """A statement about a group of rows, of which one is given."""
        column = str(self.params.get("column", ""))
        return self.said(self.claim(key, what), expression, row=row, location=(self.table, -1, column), **more)

    def said(
        self,
        claim: str,
        expression: str,
        place: str = "",
        row: int = -1,
        location: Cell | None = None,
        **more: Unpack[StatementOptions],
    ) -> Statement:
        """A statement of this rule."""
        otherwise = more.get("otherwise", self.params.get("otherwise", {}))
        place = place or str(self.params.get("place") or self.book.places.get(self.table, ""))
        rounded = frozenset((self.table, c) for c in as_list(self.params.get("rounded", ())))
        parts: Record = {
            "otherwise": tuple((k, str(v)) for k, v in otherwise.items()),
            "scope": Scope(self.table, row),
            "subject": Subject(more.get("about", ()), location=location),
            "rounding": Rounding(rounded, bool(self.params.get("cut", False))),
            "notes": Notes(str(self.params.get("why", "")), more.get("hint", "")),
        }
        return Statement(self.rule, place, claim, expression, more.get("printed"), fault=self.fault(row), **parts)


def as_list(value: Any) -> list[Any]:
    """A parameter that may be one value or several, as a list."""
    return list(value) if isinstance(value, list | tuple) else [value]
