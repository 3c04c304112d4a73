"""A statement to be checked against the printed tables, and the verdict on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from judgestats.errors import AuditError
from judgestats.published.expressions import Reading
from judgestats.published.printed import Printed, UnreadableCellError, parse
from judgestats.published.printed_tables import Book, Cell, row_label
from judgestats.published.printed_values import SAME, Numbers, Texts, Truth, Value
from judgestats.published.selections import copied, template

FOLLOWS, NOT, DEPENDS, UNKNOWN = "follows", "does not follow", "depends", "cannot be decided"
#: In the order in which a reader should see them.
VERDICTS = (NOT, DEPENDS, UNKNOWN, FOLLOWS)
#: Number of places at which a statement fails that its comment names.
_BREAKS = 2
_ALONE = "no other printed number determines it"
_DIGITS, _VALUES = "digits that are not printed", "values that are not printed"


@dataclass(frozen=True)
class Scope:
    """Where bare names of an expression are read."""

    table: str = ""
    row: int = -1


@dataclass(frozen=True)
class Subject:
    """What a truth is about: its cells, where it reads others too, its printed text, and its location."""

    cells: tuple[Cell, ...] = ()
    text: str = ""
    location: Cell | None = None  # if neither the printed cell nor the row; row -1 for a group


@dataclass(frozen=True)
class Rounding:
    """Columns whose whole numbers are rounded, and whether digits may have been cut off."""

    columns: frozenset[tuple[str, str]] = frozenset()
    cut: bool = False


@dataclass(frozen=True)
class Notes:
    """What is said beside a verdict: a comment, a hint where it does not follow, a caution about the rule."""

    comment: str = ""
    hint: str = ""
    caution: str = ""


@dataclass(frozen=True)
class Statement:
    """A printed number and the expression that it should equal, or an expression that should hold."""

    rule: str
    place: str  # where it is printed
    claim: str
    expression: str  # a number where something is `printed`, else a truth; empty where no printed number determines it
    printed: Cell | str | None = None
    otherwise: tuple[tuple[str, str], ...] = ()  # alternatives that a reader could defend
    fault: str = ""  # what it is counted under where it does not follow; empty: its own
    number: int = 0  # of its rule, 0 where there is one
    scope: Scope = Scope()
    subject: Subject = Subject()
    rounding: Rounding = Rounding()
    notes: Notes = Notes()

    @property
    def location(self) -> tuple[str, int, str]:
        """Table, row (-1 for several) and column (perhaps empty) that it is about."""
        if isinstance(self.printed, tuple):
            return self.printed
        columns = ", ".join(dict.fromkeys(c for _, _, c in self.subject.cells))
        return self.subject.location or (self.scope.table, self.scope.row, columns)

    @property
    def row_of(self) -> tuple[str, int] | None:
        """Table and row that it is about; None for several rows."""
        table, row, _ = self.location
        return (table, row) if table and row >= 0 else None


@dataclass(frozen=True)
class Decision:
    """The verdict on a statement, with the recomputed number, also `as_printed`, in the printed precision."""

    statement: Statement
    printed: str
    recomputed: float | str
    as_printed: str
    verdict: str
    comment: str
    cells: frozenset[Cell]  # printed values that it uses
    at_fault: frozenset[Cell] = frozenset()  # cells at which a statement about many cells fails, if known

    @property
    def fault(self) -> str:
        """Fault that a finding is counted under; empty where it is a fault by itself."""
        return self.statement.fault if self.verdict == NOT else ""


def tallied(decisions: Iterable[Decision]) -> dict[str, int]:
    """How many verdicts there are of each kind, in the order in which a reader should see them."""
    counts = dict.fromkeys(VERDICTS, 0)
    for d in decisions:
        counts[d.verdict] += 1
    return counts


def decide(statement: Statement, book: Book) -> Decision:
    """Check a statement against what is printed; one that needs a cell that cannot be read cannot be decided."""
    if statement.rounding.columns - book.rounded:
        book = replace(book, rounded=book.rounded | statement.rounding.columns)
    try:
        return _number(statement, book) if statement.printed is not None else _truth(statement, book)
    except UnreadableCellError as error:
        return _unreadable(statement, book, str(error))
    except AuditError as error:
        which = f"{statement.number}, {statement.rule}" if statement.number else statement.rule
        raise AuditError(f"Rule {which}, at {statement.place} ({statement.claim}): {error}") from error


def _unreadable(statement: Statement, book: Book, why: str) -> Decision:
    """The decision on a statement that needs an unreadable cell; the reason names the cell, and what to do."""
    comment, none = _joined(why, statement.notes.comment), frozenset[Cell]()
    if statement.printed is None:
        return _decided(statement, _said(statement, book), "", UNKNOWN, comment, none)
    if not isinstance(statement.printed, tuple):
        return _decided(statement, statement.printed, math.nan, UNKNOWN, comment, none)
    return _decided(statement, book.text(statement.printed), math.nan, UNKNOWN, comment, frozenset([statement.printed]))


def _read(statement: Statement, book: Book, expression: str) -> tuple[Reading, Value]:
    reading = Reading(book, expression, statement.scope.table, statement.scope.row)
    return reading, reading.value()


def _otherwise(
    statement: Statement, book: Book, still_open: str, breaks: tuple[tuple[Cell, ...], ...] = ()
) -> tuple[str, str, frozenset[Cell]]:
    """On which choice a statement that does not hold as written depends, if any, and the cells read.

    An alternative that holds only because it leaves out the rows at which the statement fails does not count.
    """
    cells: set[Cell] = set()
    refused = ""
    for name, expression in statement.otherwise:
        reading, value = _read(statement, book, expression)
        cells |= set(reading.cells)
        if isinstance(value, Truth):
            holds, arithmetic = len(value) == 1 and value.values[0] >= SAME, reading.written()
        else:
            low, at, high = _scalar(value, expression)
            holds = _print_of(statement, book).agrees(low, at, high) in ("exact", "within")
            arithmetic = f"{reading.written()} = {at:.6g}"
        left_out = _left_out(reading, breaks) if holds else ()
        if left_out:
            table, row, _ = left_out[0]
            refused = refused or f"no reading: {name}, which leaves out {row_label(book, table, row)}"
        elif holds:
            return DEPENDS, f"depends on: {name}: {arithmetic}", frozenset(cells)
    if still_open:
        return DEPENDS, f"depends on {still_open}", frozenset(cells)
    return NOT, refused, frozenset(cells)


def _left_out(reading: Reading, breaks: tuple[tuple[Cell, ...], ...]) -> tuple[Cell, ...]:
    """Cells at which a statement fails that an alternative leaves out of a column that it otherwise reads."""
    columns = {(t, c) for t, _, c in reading.cells}
    broken = dict.fromkeys(cell for cells in breaks for cell in cells)
    return tuple(c for c in broken if (c[0], c[2]) in columns and c not in reading.cells)


def _scalar(value: Value, expression: str) -> tuple[float, float, float]:
    if not isinstance(value, Numbers) or len(value) != 1:
        got = f"{len(value)} values" if isinstance(value, Numbers) else "no number"
        raise AuditError(f"{expression!r} gives {got}; one number is needed (mean(), sum(), a further key).")
    low, at, high = value.range()
    return float(low[0]), float(at[0]), float(high[0])


def _print_of(statement: Statement, book: Book) -> Printed:
    if isinstance(statement.printed, tuple):
        return book.number(statement.printed)
    return parse(statement.printed or "")


def _number(statement: Statement, book: Book) -> Decision:
    compared = frozenset([statement.printed]) if isinstance(statement.printed, tuple) else frozenset()
    if not statement.expression:
        text = book.text(statement.printed) if isinstance(statement.printed, tuple) else statement.printed or ""
        return _decided(statement, text, math.nan, UNKNOWN, statement.notes.comment or _ALONE, compared)
    reading, value = _read(statement, book, statement.expression)
    if isinstance(value, Texts):
        for cell in value.cells:
            book.number(cell)  # raises, naming the cell
    printed = _print_of(statement, book)
    if not printed.readable:
        return _decided(
            statement, printed.text, math.nan, UNKNOWN, _joined("nothing is printed", statement.notes.comment), compared
        )
    low, at, high = _scalar(value, statement.expression)
    cells = compared | frozenset(reading.cells)
    written = f"{reading.written()} = {at:.6g}" if math.isfinite(at) else reading.written()
    if not math.isfinite(at):
        why = _why_unknown(reading, book)
        return _decided(
            statement, printed.text, math.nan, UNKNOWN, _joined(written, why, statement.notes.comment), cells
        )
    agreement = printed.agrees(low, at, high)
    copy = copied(template(statement.expression)[0])
    if agreement == "no" and copy and len(reading.cells) == 1:
        agreement = _of_fewer_digits(printed, book.printed(next(iter(reading.cells))), copy[1])
    why = f"the inputs' digits allow {low:.6g} to {high:.6g}" if high > low and agreement != "exact" else ""
    verdict, more = FOLLOWS, frozenset[Cell]()
    if agreement not in ("exact", "within"):
        verdict, reason, more = _otherwise(statement, book, _DIGITS if agreement == "undecided" else "")
        if verdict == NOT and statement.rounding.cut and printed.cut_off(low, high):
            verdict, reason = DEPENDS, f"depends on: digits cut off instead of rounded: {printed.shown(at)} if rounded"
        why = reason or why
    comment = _joined(written, why, statement.notes.comment)
    return _decided(statement, printed.text, at, verdict, comment, cells | more, printed)


def _of_fewer_digits(printed: Printed, copy: Printed, scale: float) -> str:
    """Whether a whole number is a rounded copy of the printed one: 64 % of 64.3 %."""
    if copy.half or copy.bound or printed.half == 0:
        return "no"
    ends = sorted((printed.value + end) / scale for end in (-printed.half, printed.half))
    return "within" if copy.agrees(ends[0], printed.value / scale, ends[1]) in ("exact", "within") else "no"


def _said(statement: Statement, book: Book) -> str:
    """The text of a statement, or else the printed cells that it is about."""
    return statement.subject.text or ", ".join(book.text(c) for c in statement.subject.cells)


def _truth(statement: Statement, book: Book) -> Decision:
    said = _said(statement, book)
    if not statement.expression:
        return _decided(statement, said, "", UNKNOWN, statement.notes.comment or _ALONE, frozenset())
    reading, value = _read(statement, book, statement.expression)
    if not isinstance(value, Truth) or len(value) != 1:
        got = f"{len(value)} truths; use all() or any()" if isinstance(value, Truth) else "no comparison"
        raise AuditError(f"{statement.expression!r} gives {got}.")
    cells, at = frozenset(reading.cells), float(value.values[0])
    written = reading.written()
    if at >= SAME:
        return _decided(statement, said, "holds", FOLLOWS, _joined(written, statement.notes.comment), cells)
    if math.isnan(at):
        comment = _joined(written, _why_unknown(reading, book), statement.notes.comment)
        return _decided(statement, said, "", UNKNOWN, comment, cells)
    still_open = "" if at == 0 else _VALUES if _missing(reading, book) else _DIGITS
    verdict, reason, more = _otherwise(statement, book, still_open, value.breaks if at == 0 else ())
    outcome = "undecided" if verdict == DEPENDS else "does not hold"
    if verdict != NOT:
        return _decided(
            statement, said, outcome, verdict, _joined(written, reason, statement.notes.comment), cells | more
        )
    comment = _joined(written, _broken(value, book), reason, statement.notes.hint, statement.notes.comment)
    decision = _decided(statement, said, outcome, verdict, comment, cells | more)
    return replace(decision, at_fault=frozenset(c for cells in value.breaks for c in cells))


def _broken(value: Truth, book: Book) -> str:
    """The first places at which a statement about many cells fails, each with its row and the printed values."""
    places = [
        f"{' / '.join(dict.fromkeys(row_label(book, t, i) for t, i, _ in cells))}:"
        f" {' then '.join(book.text(c) for c in cells)}"
        for cells in value.breaks[:_BREAKS]
    ]
    more = f" ({len(value.breaks) - _BREAKS} more)" if len(value.breaks) > _BREAKS else ""
    return f"breaks at {' and at '.join(places)}{more}" if places else ""


def _missing(reading: Reading, book: Book) -> bool:
    return any(book.printed(c).missing for c in reading.cells)


def _why_unknown(reading: Reading, book: Book) -> str:
    if _missing(reading, book):
        return "a value that it needs is not printed"
    return "it is undefined for these numbers (a division by zero, for example)"


def _joined(*parts: str) -> str:
    """Join the parts of a comment, with a full stop only at the end."""
    texts = [p for p in parts if p]
    return "; ".join([*(p.removesuffix(".") for p in texts[:-1]), *texts[-1:]])


def _decided(
    statement: Statement,
    printed: str,
    at: float | str,
    verdict: str,
    comment: str,
    cells: frozenset[Cell],
    number: Printed | None = None,
) -> Decision:
    text = number.shown(at) if number is not None and isinstance(at, float) and math.isfinite(at) else str(at)
    return Decision(statement, printed, at, "" if text == "nan" else text, verdict, comment, cells)
