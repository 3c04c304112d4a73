"""The registry of rules, and what a rule is told: a table, and a few columns of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judgestats.errors import AuditError, DesignError, choose, suggestion
from judgestats.published.printed_tables import Book, Cell, row_label
from judgestats.published.selections import listed
from judgestats.published.statements import Statement

#: Parameters that every rule takes.
_COMMON = ("rule", "table", "where", "why", "otherwise", "rounded", "place", "claim", "fault", "cut")


@dataclass(frozen=True)
class Asked:
    """A rule as declared, on one table.

    Attributes
    ----------
    book : Book
    rule : str
    table : str
        Empty where the rule is about no table.
    given : mapping
        Its parameters.
    """

    book: Book
    rule: str
    table: str
    given: Mapping[str, Any]

    def rows(self) -> list[int]:
        """Rows that the rule is about."""
        where = self.given.get("where", {})
        if not self.book.size(self.table):
            raise AuditError("the table has no rows. Give it rows, or leave the rule out.")
        for column, asked in where.items():  # each alone: rules may go through all combinations, some of them empty
            if not self.book.rows(self.table, {column: asked}):
                known = dict.fromkeys(self.book.column(self.table, column))
                near = suggestion(str(asked), known)
                raise AuditError(f"where= asks for {column} = {asked!r}. Values: {listed(list(known))}.{near}")
        return self.book.rows(self.table, where)

    def key(self, row: int) -> str:
        """The texts that tell a row from others: its columns without a number, and those of the `by`."""
        return row_label(self.book, self.table, row, self.columns("by") if "by" in self.given else ())

    def columns(self, name: str) -> list[str]:
        """A parameter that names columns."""
        value = self.given[name]
        if isinstance(value, int | float) and name not in _SUMMED:
            raise AuditError(f"{name} is {value!r}. Name a column: {', '.join(self.book.table(self.table))}.")
        return [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]

    def percent(self, name: str, row: int) -> bool:
        """Whether a column is in percent: by the unit of the rule, or by the sign in its cell."""
        unit = choose(str(self.given.get("unit", "proportion")), ("percent", "proportion"), "unit")
        column = str(self.given[name])
        signed = column in self.book.table(self.table) and self.book.printed((self.table, row, column)).unit == "%"
        return unit == "percent" or signed

    def within(self, name: str, default: float, low: float, high: float) -> float:
        """A parameter that is a number between bounds, these not included."""
        value = self.given.get(name, default)
        if not isinstance(value, int | float) or not low < value < high:
            raise AuditError(f"{name} is {value!r}. Allowed: a number between {low:g} and {high:g}.")
        return value

    def expression(self, name: str) -> str:
        """A parameter that is a number, a column or an expression."""
        return str(self.given[name])

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """Rows by the values of `by`."""
        by = [self.book.column(self.table, c) for c in (self.columns("by") if "by" in self.given else [])]
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
        return "".join(f", {n}={self.given[n]}" for n in names if n in self.given)

    def about(self, row: int, *names: str) -> tuple[Cell, ...]:
        """The cells of a row in which parameters stand that name columns."""
        columns = self.book.table(self.table)
        return tuple((self.table, row, str(self.given[n])) for n in names if str(self.given[n]) in columns)

    def claim(self, key: str, what: str, part: str = "") -> str:
        """What is claimed: the key, then the rule's claim, or else what the rule says; `part` tells several apart."""
        claim = str(self.given.get("claim", ""))
        what = f"{claim}, {part}" if claim and part else claim or what
        return ": ".join(t for t in (key, what) if t)

    def fault(self, row: int) -> str:
        """The fault that the findings of a row are counted under: that of the rule, or the first that names the row."""
        given = self.given.get("fault", "")
        if isinstance(given, str):
            return given
        return next((name for name, where in given.items() if row in self.book.rows(self.table, where)), "")

    def statement(
        self, row: int, what: str, expression: str, column: str | None = None, part: str = "", **more: Any
    ) -> Statement:
        """A statement about a row."""
        columns = self.book.table(self.table)
        if column:
            self.book.column(self.table, column)
            more["printed"] = (self.table, row, column)
        place = columns["place"][row] if "place" in columns and "place" not in self.given else ""
        return self.said(self.claim(self.key(row), what, part), expression, place, row=row, **more)

    def grouped(self, key: str, what: str, expression: str, row: int, **more: Any) -> Statement:
        """A statement about a group of rows, of which one is given."""
        column = str(self.given.get("column", ""))
        return self.said(self.claim(key, what), expression, row=row, stands=(self.table, -1, column), **more)

    def said(self, claim: str, expression: str, place: str = "", **more: Any) -> Statement:
        """A statement of this rule."""
        place = place or str(self.given.get("place") or self.book.places.get(self.table, ""))
        return Statement(
            self.rule, place, claim, expression, table=self.table,
            otherwise=tuple((k, str(v)) for k, v in more.pop("otherwise", self.given.get("otherwise", {})).items()),
            comment=str(self.given.get("why", "")),
            rounded=frozenset((self.table, c) for c in _list(self.given.get("rounded", ()))),
            cut=bool(self.given.get("cut", False)), fault=self.fault(more.get("row", -1)), **more,
        )  # fmt: skip


#: Parameters that name columns or numbers, which are added up.
_SUMMED = ("parts", "of", "margin_a", "margin_b")
#: Parameters that name one or several columns or tables, and those that are shown only.
_NAMES, _TOLD = ("by", "values", "rounded", "table", "column"), ("why", "place", "claim")
_MAPPINGS = ("where", "row", "otherwise")


Maker = Callable[[Asked], Iterator[Statement]]


@dataclass(frozen=True)
class Rule:
    """A rule of the registry: what it needs, what it takes, and how it makes statements."""

    name: str
    about: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    make: Maker


RULES: dict[str, Rule] = {}


def rule(name: str, *needs: str, takes: Sequence[str] = ()) -> Callable[[Maker], Maker]:
    """Register a rule; its docstring says what it is about.

    Parameters
    ----------
    name : str
    *needs : str
        Parameters that must be given.
    takes : sequence of str
        Parameters that may be given.
    """

    def register(make: Maker) -> Maker:
        RULES[name] = Rule(name, (make.__doc__ or "").strip().split("\n")[0], needs, tuple(takes), make)
        return make

    return register


def statements(book: Book, declared: Sequence[Mapping[str, Any]]) -> list[Statement]:
    """The statements that declared rules make.

    Parameters
    ----------
    book : Book
    declared : sequence of mapping
        As in a rules file: ``rule`` and its parameters.

    Raises
    ------
    AuditError
        If a rule, a parameter, a table or a column is not known, or one is missing.
    """
    made: list[Statement] = []
    for i, stated in enumerate(declared):
        number = i + 1 if len(declared) > 1 else 0
        try:
            made += [replace(s, number=number) for s in _made(book, stated)]
        except (AuditError, DesignError) as error:
            raise type(error)(f"{_which(number, stated)}: {error}") from error
    return made


def _made(book: Book, stated: Mapping[str, Any]) -> Iterator[Statement]:
    known, given = _known(stated), _respelled(stated, book.spelled)
    tables = given["table"] if "table" in given else [""] if known.name == "check" else _only_table(book)
    for table in _list(tables):
        for column in _list(given.get("rounded", ())):
            book.column(table, column)
        yield from known.make(Asked(book, known.name, table, given))


def _which(number: int, stated: Any) -> str:
    """Which rule: its place among several, and its name."""
    name = stated.get("rule") if isinstance(stated, Mapping) else None
    return "Rule " + (", ".join(str(p) for p in (number, name if isinstance(name, str) else "") if p) or "1")


def _respelled(given: Any, spelled: Mapping[str, str]) -> Any:
    """Parameters with columns spelled as expressions spell them; texts that rows are selected by are left alone."""
    if isinstance(given, str):
        return spelled.get(given, given)
    if isinstance(given, list | tuple):
        return [_respelled(v, spelled) for v in given]
    if not isinstance(given, Mapping):
        return given
    keyed = {k: {spelled.get(c, c): v for c, v in given[k].items()} for k in ("where", "row") if k in given}
    keyed |= {"fault": given["fault"]} if "fault" in given else {}
    return {k: keyed[k] if k in keyed else _respelled(v, spelled) for k, v in given.items()}


def _only_table(book: Book) -> list[str]:
    own = [t for t in book.columns if t != "claims"]
    if len(own) != 1:
        raise AuditError(f"it names no table. Give table=: {', '.join(own)}.")
    return own


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _known(given: Any) -> Rule:
    if not isinstance(given, Mapping):
        example = {"rule": "sum", "parts": ["a", "b"], "total": "n"}
        raise AuditError(f"A rule is {given!r}. Allowed: a mapping, as {example}.")
    name = given.get("rule")
    if not isinstance(name, str) or name not in RULES:
        near = suggestion(str(name), RULES)
        raise AuditError(f"There is no rule {name!r}. Rules: {', '.join(RULES)}.{near}")
    known = RULES[name]
    missing = [n for n in known.needs if n not in given]
    if missing:
        raise AuditError(f"it needs {', '.join(missing)}. Got: {', '.join(given)}.")
    allowed = (*known.needs, *known.takes, *_COMMON)
    odd = [k for k in given if k not in allowed]
    if odd:
        raise AuditError(
            f"it does not take {', '.join(map(repr, odd))}. Allowed: {', '.join(allowed)}."
            f"{suggestion(str(odd[0]), allowed)}"
        )
    for key, value in given.items():
        _check(key, value)
        try:
            str(value).encode()
        except UnicodeEncodeError as problem:
            raise AuditError(f"{key} = {value!r} is no text: half a character at {problem.start}.") from None
    return known


def _check(key: str, value: Any) -> None:
    """Refuse a parameter of a kind that no rule takes under this name."""
    if key in _MAPPINGS:
        good, allowed = isinstance(value, Mapping), 'a mapping, as { column = "text" } or { name = "expression" }'
    elif key == "fault":
        good = _named(value) or (isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()))
        allowed = 'a name, or several with the rows of each, as { "name" = { column = "text" } }'
    elif key in _NAMES:
        good, allowed = _named(value) or (_listed(value) and all(map(_named, value))), "a name, or a list of names"
    elif key in _SUMMED and isinstance(value, list | tuple):
        good, allowed = _listed(value) and all(map(_single, value)), "columns or numbers, one at least"
    elif key == "cut":
        good, allowed = isinstance(value, bool), "true or false"
    else:
        good, allowed = _single(value) or (key in _TOLD and value == ""), "a text or a number"
    if not good:
        raise AuditError(f"{key} is {value!r}. Allowed: {allowed}.")


def _listed(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0


def _named(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _single(value: Any) -> bool:
    return _named(value) or isinstance(value, int | float)
