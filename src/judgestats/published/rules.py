"""The rules of an audit: each turns a few declared columns of a table into statements about printed cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judgestats.errors import AuditError, DesignError, choose, refuse_unknown, suggestion
from judgestats.published.expressions import Numbers, Reading
from judgestats.published.printed import Printed, grimmer, parse
from judgestats.published.printed_tables import Book, Cell, row_label
from judgestats.published.selections import listed
from judgestats.published.statements import Statement

#: Parameters that every rule takes.
_COMMON = ("rule", "table", "where", "why", "otherwise", "rounded", "place", "claim", "fault", "cut")


@dataclass(frozen=True)
class Asked:
    """A rule with its parameters as declared, on one table (empty for a rule without one)."""

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
        """The label of a row: its columns of words, and those in `by`."""
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
        """The cells of a row in the columns that parameters name."""
        columns = self.book.table(self.table)
        return tuple((self.table, row, str(self.given[n])) for n in names if str(self.given[n]) in columns)

    def claim(self, key: str, what: str, part: str = "") -> str:
        """Text of a claim: the key, then the rule's claim or its own description; `part` distinguishes several."""
        claim = str(self.given.get("claim", ""))
        what = f"{claim}, {part}" if claim and part else claim or what
        return ": ".join(t for t in (key, what) if t)

    def fault(self, row: int) -> str:
        """Fault that the findings of a row are counted under: that of the rule, or the first that names the row."""
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

    def each(self, what: str, expression: str, column: str | None = None, **more: Any) -> Iterator[Statement]:
        """The same statement about each row."""
        return (self.statement(row, what, expression, column, **more) for row in self.rows())

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


#: Parameters that name columns or numbers to be summed.
_SUMMED = ("parts", "of", "margin_a", "margin_b")
#: Parameters that name one or several columns or tables, and those that are only shown.
_NAMES, _SHOWN = ("by", "values", "rounded", "table", "column"), ("why", "place", "claim")
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
    """Register a rule, with the parameters that it needs and takes; its docstring says what it is about."""

    def register(make: Maker) -> Maker:
        RULES[name] = Rule(name, (make.__doc__ or "").strip().split("\n")[0], needs, tuple(takes), make)
        return make

    return register


def statements(book: Book, declared: Sequence[Mapping[str, Any]]) -> list[Statement]:
    """The statements that declared rules make: each a mapping with ``rule`` and its parameters, as in a rules file."""
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
        asked = Asked(book, known.name, table, given)
        caution = "; ".join(_contradictions(asked))
        yield from (replace(s, caution=caution) for s in known.make(asked))


def _contradictions(asked: Asked) -> Iterator[str]:
    """Options that cannot all describe the printed numbers, each pair in a sentence."""
    given = {k: v for k, v in asked.given.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    low, high, step = given.get("low"), given.get("high"), given.get("step")
    if low is not None and high is not None:
        if low >= high:
            yield f"low = {low:g} is not below high = {high:g}"
        elif step and not math.isclose((high - low) / step, round((high - low) / step), abs_tol=1e-9):
            yield f"steps of step = {step:g} do not lead from low = {low:g} to high = {high:g}"
    if "finer" in given and given["finer"] >= given.get("step", 1):
        yield f"finer = {given['finer']:g} is not below step = {given.get('step', 1):g}"
    column = next((str(asked.given[n]) for n in ("share", "estimate", "mean", "se") if n in asked.given), "")
    if "unit" not in RULES[asked.rule].takes or column not in asked.book.table(asked.table):
        return
    printed = [p for row in asked.rows() if (p := asked.book.printed((asked.table, row, column))).readable]
    signed = any(p.unit == "%" for p in printed)
    if asked.given.get("unit") == "proportion" and signed:
        yield f"unit = 'proportion', but {column} is printed with %, which counts"
    if asked.given.get("unit") != "percent" and not signed:
        return
    if not signed and printed and max(abs(p.value) for p in printed) <= 1:
        yield f"unit = 'percent', but no {column} is above 1; leave unit out for proportions"
    for name in ("step", "low") if asked.rule == "grim" else ():
        if given.get(name, 0) > 1:
            yield (
                f"percent are read as shares of 1, of which {name} = {given[name]:g} is none; leave it out for answers "
                "of yes or no, and give scores of 0 to 100 without unit and %"
            )


def _which(number: int, stated: Any) -> str:
    """Which rule: its place among several, and its name."""
    name = stated.get("rule") if isinstance(stated, Mapping) else None
    return "Rule " + (", ".join(str(p) for p in (number, name if isinstance(name, str) else "") if p) or "1")


def _respelled(given: Any, spelled: Mapping[str, str]) -> Any:
    """Parameters with column names as in expressions; texts that select rows stay as they are."""
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
    names = [t for t in book.columns if t != "claims"]
    if len(names) != 1:
        raise AuditError(f"it names no table. Give table=: {', '.join(names)}.")
    return names


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _known(given: Any) -> Rule:
    if not isinstance(given, Mapping):
        example = {"rule": "sum", "parts": ["a", "b"], "total": "n"}
        raise AuditError(f"A rule is {given!r}. Allowed: a mapping, as {example}.")
    name = given.get("rule")
    refuse_unknown(name, [*RULES], f"There is no rule {name!r}", "Rules", error=AuditError)
    known = RULES[str(name)]
    missing = [n for n in known.needs if n not in given]
    if missing:
        raise AuditError(f"it needs {', '.join(missing)}. Got: {', '.join(given)}.")
    allowed = (*known.needs, *known.takes, *_COMMON)
    odd = [k for k in given if k not in allowed]
    if odd:
        refuse_unknown(odd[0], allowed, f"it does not take {', '.join(map(repr, odd))}", error=AuditError)
    for key, value in given.items():
        _check_parameter(key, value)
        try:
            str(value).encode()
        except UnicodeEncodeError as problem:
            raise AuditError(
                f"{key} = {value!r} is not valid text: half a character at {problem.start}. Correct it."
            ) from None
    return known


def _check_parameter(key: str, value: Any) -> None:
    """Raise if a parameter is of the wrong kind for its name."""
    if key in _MAPPINGS:
        good, allowed = isinstance(value, Mapping), 'a mapping, as { column = "text" } or { name = "expression" }'
    elif key == "fault":
        good = _is_name(value) or (isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()))
        allowed = 'a name, or several with the rows of each, as { "name" = { column = "text" } }'
    elif key in _NAMES:
        good, allowed = _is_name(value) or (_is_list(value) and all(map(_is_name, value))), "a name, or a list of names"
    elif key in _SUMMED and isinstance(value, list | tuple):
        good, allowed = _is_list(value) and all(map(_is_scalar, value)), "columns or numbers, one at least"
    elif key == "cut":
        good, allowed = isinstance(value, bool), "true or false"
    else:
        good, allowed = _is_scalar(value) or (key in _SHOWN and value == ""), "a text or a number"
    if not good:
        raise AuditError(f"{key} is {value!r}. Allowed: {allowed}.")


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_scalar(value: Any) -> bool:
    return _is_name(value) or isinstance(value, int | float)


# ---- Rules about one row at a time: sums, shares, differences, means, bounds -----------------------------------------


@rule("formula", "column", "formula")
def _formula(asked: Asked) -> Iterator[Statement]:
    """A printed column equals an expression of its row."""
    column = asked.columns("column")[0]
    return asked.each(column, asked.expression("formula"), column)


@rule("constraint", "holds")
def _constraint(asked: Asked) -> Iterator[Statement]:
    """A comparison holds in every row."""
    return asked.each(asked.expression("holds"), asked.expression("holds"))


@rule("check", "holds")
def _check(asked: Asked) -> Iterator[Statement]:
    """A comparison holds, not about a particular row."""
    yield asked.said(asked.claim("", asked.expression("holds")), asked.expression("holds"))


@rule("sum", "total", takes=("parts", "column", "by"))
def _sum(asked: Asked) -> Iterator[Statement]:
    """Parts add up to a total: columns of a row, or a column over rows."""
    total = asked.expression("total")
    column = total if total in asked.book.table(asked.table) else None
    if "parts" in asked.given:
        added = " + ".join(asked.columns("parts"))
        what = f"{added} is {total}"
        if column:
            yield from asked.each(what, added, column)
        else:
            yield from asked.each(what, f"{added} == {total}", otherwise=_totals(asked, added))
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
        made = f"{_scale(asked, 'share', row)}({count}) / ({total})"
        yield asked.statement(row, f"share of {count}", made, asked.columns("share")[0])


@rule("difference", "column", "minuend", "subtrahend", takes=("scale",))
def _difference(asked: Asked) -> Iterator[Statement]:
    """A difference is its first part less its second."""
    scale, column = asked.given.get("scale", 1), asked.columns("column")[0]
    made = f"({asked.expression('minuend')}) - ({asked.expression('subtrahend')})"
    return asked.each(f"{column}, a difference", made if scale == 1 else f"{scale} * ({made})", column)


@rule("mean", "column", takes=("of", "by", "row"))
def _mean(asked: Asked) -> Iterator[Statement]:
    """A printed mean is the mean of its parts: columns of the row, or the other rows of its group."""
    column = asked.columns("column")[0]
    if "of" in asked.given:
        parts = ", ".join(asked.columns("of"))
        yield from asked.each(f"{column} is the mean of {parts}", f"mean([{parts}])", column)
        return
    if "row" not in asked.given:
        raise AuditError("it needs of= (columns) or row= (the keys of the row that holds the mean).")
    whole = set(asked.book.rows(asked.table, asked.given["row"]))
    if not whole:
        raise AuditError(f"row= is {dict(asked.given['row'])}, which matches no row. Name the row that holds the mean.")
    for key, rows in asked.groups():
        averaged, means = [r for r in rows if r not in whole], [r for r in rows if r in whole]
        for row in means if averaged else []:
            what = f"{column}, mean of {len(averaged)} rows{' of ' + key if key else ''}"
            yield asked.statement(row, what, f"mean({asked.cells(column, averaged)})", column)


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
    scale, left, right = asked.given.get("scale", 1), asked.columns("left")[0], asked.expression("right")
    return asked.each(f"{left}, printed twice", right if scale == 1 else f"{scale} * ({right})", left)


# ---- Rules about many rows: zero sums, ranks, Holm's correction, frontiers, repeated groups --------------------------


@rule("zero_sum", "column", takes=("by",))
def _zero_sum(asked: Asked) -> Iterator[Statement]:
    """The rows of a group sum to zero."""
    column = asked.columns("column")[0]
    for key, rows in asked.groups():
        yield asked.grouped(key, f"{column} sums to zero", f"sum({asked.cells(column, rows)}) == 0", rows[0])


@rule("ranks", "rank", "value", takes=("order", "by"))
def _ranks(asked: Asked) -> Iterator[Statement]:
    """The printed ranks are those of the values; equal printed values may be in either order."""
    order = choose(str(asked.given.get("order", "descending")), ("descending", "ascending"), "order")
    value = asked.columns("value")[0]
    for key, rows in asked.groups():
        group = f" ({key})" if key else ""
        cells = asked.cells(value, rows)
        for row in rows:
            cell, rank = asked.cells(value, [row]), asked.cells(asked.columns("rank")[0], [row])
            # "not <=" and not ">": of equal prints neither is better
            worse, level = ("<=", ">=") if order == "descending" else (">=", "<=")
            made = f"count(not {cells} {worse} {cell}) + 1 <= {rank} and {rank} <= count({cells} {level} {cell})"
            yield asked.statement(row, f"rank by {value}{group}", made, about=asked.about(row, "rank"))


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
    """A row is marked as on the frontier if no other is as good in cost and value and better in one of them."""
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
    texts = [asked.book.column(asked.table, c) for c in values]
    printed = {key: [column[r] for column in texts for r in rows] for key, rows in found}
    cells = ", ".join(asked.cells(c, [r for _, rows in found for r in rows]) for c in values)
    for i, (key, rows) in enumerate(found):
        twins = [other for other in printed if other != key and printed[other] == printed[key]]
        alike = f", as {' and '.join(twins)} do" if twins else ""
        what, made = f"values unlike those of the other groups{alike}", f"repeats({i}, {width}, {cells}) == 0"
        yield asked.grouped(key, what, made, rows[0])


# ---- Rules about statistics: intervals, p-values, kappa, GRIM and GRIMMER --------------------------------------------

METHODS = ("wilson", "wald", "exact", "agresti-coull")


@rule("interval", "low", "high", "n", takes=("estimate", "count", "method", "conf_level", "unit"))
def _interval(asked: Asked) -> Iterator[Statement]:
    """The ends of an interval follow from the count and n; a share that no whole count gives is reported."""
    method = choose(str(asked.given.get("method", "wilson")), METHODS, "method")
    level, n = asked.within("conf_level", 0.95, 0, 1), f"({asked.expression('n')})"
    if not {"estimate", "count"} & set(asked.given):
        raise AuditError("it needs estimate= or count=.")
    for row in asked.rows():
        if "count" in asked.given:
            k = f"({asked.given['count']})"
        else:  # the whole count nearest to the estimate
            share = f"({asked.expression('estimate')})" + (" / 100" if asked.percent("estimate", row) else "")
            k = f"whole({share} * {n})"
        if str(asked.given.get("estimate")) in asked.book.table(asked.table):
            estimate, scale = asked.expression("estimate"), _scale(asked, "estimate", row)
            whole = f"{estimate} is a whole count of n"
            yield asked.statement(row, whole, f"{scale}{k} / {n}", estimate, estimate)
        for end in ("low", "high"):
            made = f"{_scale(asked, end, row)}({_end(method, end, k, n, level)})"
            yield asked.statement(row, f"{method} interval, {end}", made, asked.columns(end)[0], end)


def _scale(asked: Asked, name: str, row: int) -> str:
    return "100 * " if asked.percent(name, row) else ""


def _end(method: str, end: str, k: str, n: str, level: float) -> str:
    sign = "-" if end == "low" else "+"
    if method == "wald":
        return f"{k} / {n} {sign} wald_half({k} / {n}, {n}, conf_level={level})"
    if method == "agresti-coull":
        z2 = f"(probit({0.5 + level / 2}) ** 2)"
        p = f"(({k} + {z2} / 2) / ({n} + {z2}))"
        return f"{p} {sign} wald_half({p}, {n} + {z2}, conf_level={level})"
    return f"{method}_{end}({k}, {n}, conf_level={level})"


@rule("standard_error", "se", takes=("share", "count", "n", "unit"))
def _standard_error(asked: Asked) -> Iterator[Statement]:
    """The standard error of a share is that of share and n; without n, it is 0 at a share of 0 or 1 and only there."""
    if not {"share", "count"} & set(asked.given) or ("count" in asked.given and "n" not in asked.given):
        raise AuditError("it needs share=, or count= and n=.")
    n = f"({asked.expression('n')})" if "n" in asked.given else ""
    for row in asked.rows():
        scale = _scale(asked, "se", row)
        if "count" in asked.given:
            p = f"({asked.expression('count')}) / {n}"
        else:
            p = f"({asked.expression('share')}){' / 100' if scale or asked.percent('share', row) else ''}"
        if n:
            made, other = (f"{scale}sqrt(larger(0, {p} * (1 - {p})) / ({n}{less}))" for less in ("", " - 1"))
            others = {"the divisor n - 1": other, **asked.given.get("otherwise", {})}
            yield asked.statement(row, "standard error of a share", made, asked.columns("se")[0], otherwise=others)
        else:
            se, p = asked.expression("se"), f"as_printed({p})"
            made = f"({p} <= 0 or {p} >= 1) and {se} <= 0 or ({p} > 0 and {p} < 1) and {se} > 0"
            what = "a standard error of 0 at 0 and 100 %, and only there"
            yield asked.statement(row, what, made, about=asked.about(row, "se"), hint=_CERTAIN)


_CERTAIN = "0 is what the formula gives at 0 and 100 %; it does not mean certainty, see Wilson's interval"


@rule("grim", "mean", "n", takes=("items", "step", "low", "unit"))
def _grim(asked: Asked) -> Iterator[Statement]:
    """n answers on the scale's steps can have the printed mean (GRIM)."""
    options = asked.options("items", "step", "low")
    for row in asked.rows():
        scale = " / 100" if asked.percent("mean", row) else ""
        made = f"grim(({asked.expression('mean')}){scale}, {asked.expression('n')}{options})"
        what = f"{asked.given['mean']} is a mean of {_answers(asked, row)}"
        yield asked.statement(row, what, made, about=asked.about(row, "mean"), hint=_nearest(asked, row))


def _nearest(asked: Asked, row: int) -> str:
    """The nearest possible mean; empty where the mean or n is not one number."""
    read = [_number_of(asked, name, row) for name in ("mean", "n")]
    (mean, n), percent = read, asked.percent("mean", row)
    if mean is None or n is None:
        return ""
    items, step, low = (float(asked.given.get(k, v)) for k, v in (("items", 1), ("step", 1), ("low", 0)))
    size, scale = n.value * items, 100.0 if percent else 1.0
    if not (math.isfinite(size) and size > 0 and step > 0 and math.isfinite(mean.value)):
        return ""
    total = low * size + step * round((mean.value / scale - low) * size / step)
    return f"nearest: {total:.10g}/{size:.10g} = {mean.shown(scale * total / size)}{'%' if percent else ''}"


def _answers(asked: Asked, row: int) -> str:
    """How many answers n says: the number, with its expression if it is one."""
    given, n = asked.expression("n"), _number_of(asked, "n", row)
    if n is None or given in asked.book.table(asked.table) or parse(given).readable:
        return f"{given} answers"
    return f"{n.value:.10g} answers ({given})"


def _number_of(asked: Asked, name: str, row: int) -> Printed | None:
    """The number given by a parameter: of a column, the parameter itself, or the value of an expression."""
    given = asked.expression(name)
    if given in asked.book.table(asked.table):
        return asked.book.printed((asked.table, row, given))
    found = parse(given)
    if found.readable:
        return found
    try:
        value = Reading(asked.book, given, asked.table, row).value()
    except AuditError:  # it is reported where the statement is decided
        return None
    return Printed(given, float(value.values[0, 0])) if isinstance(value, Numbers) and len(value) == 1 else None


@rule("grimmer", "mean", "sd", "n", takes=("items", "step", "low", "high", "ddof"))
def _grimmer(asked: Asked) -> Iterator[Statement]:
    """n answers on the scale's steps can have the printed mean and sd (GRIMMER)."""
    options = asked.options("items", "step", "low", "high", "ddof")
    for row in asked.rows():
        made = f"grimmer({asked.expression('mean')}, {asked.expression('sd')}, {asked.expression('n')}{options})"
        about = asked.about(row, "mean", "sd")
        yield asked.statement(row, f"mean and sd of {_answers(asked, row)}", made, about=about)


@rule("sd_divisor", "mean", "sd", "n", takes=("step", "finer", "items", "by", "low", "high"))
def _sd_divisor(asked: Asked) -> Iterator[Statement]:
    """The printed sds of a group have the divisor n - 1; or n, and then the verdict depends on it."""
    n = asked.expression("n")
    for key, rows in asked.groups():
        parts = [asked.cells(asked.columns(c)[0], rows) for c in ("mean", "sd")]
        parts.append(asked.cells(n, rows) if n in asked.book.table(asked.table) else n)
        pairs, ends = ", ".join(parts), asked.options("items", "low", "high")
        coarse = asked.options("step") + ends
        made = f"all(grimmer({pairs}{coarse}, ddof="
        other = {"the divisor n": f"{made}0))"}
        if "finer" in asked.given:
            finer = asked.within("finer", 1, 0, math.inf)
            fine = f"all(grimmer({pairs}, step={finer}{ends}, ddof=1))"
            other[f"scores in steps of {finer:g}"] = f"not lines_up({pairs}{coarse}) and {fine}"
        other |= asked.given.get("otherwise", {})
        hint = _divisors(asked, rows)
        yield asked.grouped(key, "sds with divisor n - 1", f"{made}1))", rows[0], otherwise=other, hint=hint)


def _divisors(asked: Asked, rows: Sequence[int]) -> str:
    """How many pairs of a mean and an sd fit which divisor."""
    options = {name: float(asked.given[name]) for name in ("items", "step", "low", "high") if name in asked.given}
    fits = []
    for row in rows:
        read = [_number_of(asked, name, row) for name in ("mean", "sd", "n")]
        ends = [(p.value - p.half, p.value + p.half) for p in read if p is not None and p.readable]
        if len(ends) < len(read):
            return ""
        fits.append(tuple(grimmer(ends[0], ends[1], ends[2], ddof=d, **options) for d in (0, 1)))
    kinds = {"fit the divisor n only": (True, False), "n - 1 only": (False, True), "both": (True, True)}
    counts = [f"{fits.count(kind)} {what}" for what, kind in {**kinds, "neither": (False, False)}.items()]
    return f"of {len(fits)} pairs {', '.join(counts)}, in steps of {options.get('step', 1):g}"


@rule("mcnemar", "b", "c", takes=("chi2", "p", "corrected"))
def _mcnemar(asked: Asked) -> Iterator[Statement]:
    """McNemar's statistic and p follow from the discordant counts."""
    if not {"chi2", "p"} & set(asked.given):
        raise AuditError("it needs chi2= or p=.")
    b, c, corrected = asked.expression("b"), asked.expression("c"), int(asked.within("corrected", True, -1, 2))
    for row in asked.rows():
        for name, function in (("chi2", "mcnemar"), ("p", "mcnemar_p")):
            if name in asked.given:
                made = f"{function}({b}, {c}, corrected={corrected})"
                others = {**_corrections(name, b, c), **asked.given.get("otherwise", {})}
                other = {} if "corrected" in asked.given else {"otherwise": others}
                yield asked.statement(row, f"McNemar's {name}", made, asked.columns(name)[0], name, **other)


def _corrections(name: str, b: str, c: str) -> dict[str, str]:
    """Other forms of the continuity correction, where the rule does not specify one."""
    always = f"(abs(({b}) - ({c})) - 1) ** 2 / (({b}) + ({c}))"  # 1 / (b + c) where b = c; R has 0 there
    if name == "p":
        always = f"chi2_p({always}, 1)"
    function = "mcnemar" if name == "chi2" else "mcnemar_p"
    without = f"{function}({b}, {c}, corrected=0)"
    return {"without the continuity correction": without, "corrected where b = c too": always}


@rule("p_value", "p", "kind", takes=("statistic", "df", "df2", "n", "sides"))
def _p_value(asked: Asked) -> Iterator[Statement]:
    """A p-value follows from its statistic."""
    arguments = {"z": ("statistic",), "t": ("statistic", "df"), "chi2": ("statistic", "df")}
    arguments |= {"f": ("statistic", "df", "df2"), "r": ("statistic", "n")}
    kind = choose(str(asked.given["kind"]), tuple(arguments), "kind")
    missing = [a for a in arguments[kind] if a not in asked.given]
    if missing:
        raise AuditError(f"kind={kind!r} needs {', '.join(missing)}.")
    function = "correlation_p" if kind == "r" else f"{kind}_p"
    options = asked.options("sides") if kind in ("z", "t", "r") else ""
    made = f"{function}({', '.join(asked.expression(a) for a in arguments[kind])}{options})"
    return asked.each("p-value", made, asked.columns("p")[0])


@rule("kappa", "kappa", "agreement", takes=("margin_a", "margin_b", "chance"))
def _kappa(asked: Asked) -> Iterator[Statement]:
    """Kappa follows from agreement and margins, or from agreement and a stated chance agreement."""
    if "chance" in asked.given:
        chance = asked.expression("chance")
    elif {"margin_a", "margin_b"} <= set(asked.given):
        one, two = asked.columns("margin_a"), asked.columns("margin_b")
        if len(one) != len(two):
            raise AuditError(f"margin_a has {len(one)} columns and margin_b {len(two)}. Give one a category.")
        pairs = list(zip(one, two, strict=True))
        ones, twos = (" + ".join(m[i] for m in pairs) for i in (0, 1))
        chance = f"({' + '.join(f'({a}) * ({b})' for a, b in pairs)}) / (({ones}) * ({twos}))"
    else:
        raise AuditError("it needs chance=, or margin_a= and margin_b=.")
    return asked.each("kappa", f"kappa({asked.expression('agreement')}, {chance})", asked.columns("kappa")[0])
