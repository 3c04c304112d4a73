"""A statement to be checked against the printed tables, and the verdict on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from judgestats.errors import AuditError
from judgestats.published.expressions import SAME, Numbers, Reading, Texts, Truth, Value
from judgestats.published.printed import Printed, UnreadableCellError, parse
from judgestats.published.printed_tables import Book, Cell, row_label
from judgestats.published.selections import copied, template

FOLLOWS, NOT, DEPENDS, UNKNOWN = "follows", "does not follow", "depends", "cannot be decided"
#: In the order in which a reader should see them.
VERDICTS = (NOT, DEPENDS, UNKNOWN, FOLLOWS)
#: Number of places at which a statement fails that its comment names.
_BREAKS = 2
_ALONE = "no other printed number determines it"
_DIGITS, _VALUES = "digits that are not printed", "values that are not printed"


@dataclass(frozen=True)
class Statement:
    """A printed number and the expression that it should equal, or an expression that should hold."""

    rule: str
    place: str  # where it is printed
    claim: str
    expression: str  # a number where something is `printed`, else a truth; empty where no printed number determines it
    printed: Cell | str | None = None
    said: str = ""  # its text
    table: str = ""  # with `row`: where bare names are read
    row: int = -1
    otherwise: tuple[tuple[str, str], ...] = ()  # alternatives that a reader could defend
    comment: str = ""
    rounded: frozenset[tuple[str, str]] = frozenset()
    about: tuple[Cell, ...] = ()  # cells that a truth is about, where it reads others too
    hint: str = ""  # added to the comment where it does not follow
    number: int = 0  # of its rule, 0 where there is one
    fault: str = ""  # what it is counted under where it does not follow; empty: its own
    stands: Cell | None = None  # its location, if neither `printed` nor the row; row -1 for a group
    cut: bool = False  # whether digits may have been cut off
    caution: str = ""  # what contradicts itself in the options of its rule

    @property
    def location(self) -> tuple[str, int, str]:
        """Table, row (-1 for several) and column (perhaps empty) that it is about."""
        if isinstance(self.printed, tuple):
            return self.printed
        columns = ", ".join(dict.fromkeys(c for _, _, c in self.about))
        return self.stands or (self.table, self.row, columns)

    @property
    def row_of(self) -> tuple[str, int] | None:
        """Table and row that it is about; None for several rows."""
        table, row, _ = self.location
        return (table, row) if table and row >= 0 else None


@dataclass(frozen=True)
class Decision:
    """The verdict on a statement, with the recomputed number, also as `shown` in the printed precision."""

    statement: Statement
    printed: str
    recomputed: float | str
    shown: str
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
    found = dict.fromkeys(VERDICTS, 0)
    for d in decisions:
        found[d.verdict] += 1
    return found


def decide(statement: Statement, book: Book) -> Decision:
    """Check a statement against what is printed; one that needs a cell that cannot be read cannot be decided."""
    if statement.rounded - book.rounded:
        book = replace(book, rounded=book.rounded | statement.rounded)
    try:
        return _number(statement, book) if statement.printed is not None else _truth(statement, book)
    except UnreadableCellError as error:
        return _unreadable(statement, book, str(error))
    except AuditError as error:
        which = f"{statement.number}, {statement.rule}" if statement.number else statement.rule
        raise AuditError(f"Rule {which}, at {statement.place} ({statement.claim}): {error}") from error


def _unreadable(statement: Statement, book: Book, why: str) -> Decision:
    """The decision on a statement that needs an unreadable cell; the reason names the cell, and what to do."""
    comment, none = _joined(why, statement.comment), frozenset[Cell]()
    if statement.printed is None:
        return _decided(statement, _said(statement, book), "", UNKNOWN, comment, none)
    if not isinstance(statement.printed, tuple):
        return _decided(statement, statement.printed, math.nan, UNKNOWN, comment, none)
    return _decided(statement, book.text(statement.printed), math.nan, UNKNOWN, comment, frozenset([statement.printed]))


def _read(statement: Statement, book: Book, expression: str) -> tuple[Reading, Value]:
    reading = Reading(book, expression, statement.table, statement.row)
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
        return _decided(statement, text, math.nan, UNKNOWN, statement.comment or _ALONE, compared)
    reading, value = _read(statement, book, statement.expression)
    if isinstance(value, Texts):
        for cell in value.cells:
            book.number(cell)  # raises, naming the cell
    printed = _print_of(statement, book)
    if not printed.readable:
        return _decided(
            statement, printed.text, math.nan, UNKNOWN, _joined("nothing is printed", statement.comment), compared
        )
    low, at, high = _scalar(value, statement.expression)
    cells = compared | frozenset(reading.cells)
    written = f"{reading.written()} = {at:.6g}" if math.isfinite(at) else reading.written()
    if not math.isfinite(at):
        why = _why_unknown(reading, book)
        return _decided(statement, printed.text, math.nan, UNKNOWN, _joined(written, why, statement.comment), cells)
    found = printed.agrees(low, at, high)
    copy = copied(template(statement.expression)[0])
    if found == "no" and copy and len(reading.cells) == 1:
        found = _of_fewer_digits(printed, book.printed(next(iter(reading.cells))), copy[1])
    why = f"the inputs' digits allow {low:.6g} to {high:.6g}" if high > low and found != "exact" else ""
    verdict, more = FOLLOWS, frozenset[Cell]()
    if found not in ("exact", "within"):
        verdict, reason, more = _otherwise(statement, book, _DIGITS if found == "undecided" else "")
        if verdict == NOT and statement.cut and printed.cut_off(low, high):
            verdict, reason = DEPENDS, f"depends on: digits cut off instead of rounded: {printed.shown(at)} if rounded"
        why = reason or why
    comment = _joined(written, why, statement.comment)
    return _decided(statement, printed.text, at, verdict, comment, cells | more, printed)


def _of_fewer_digits(printed: Printed, copy: Printed, scale: float) -> str:
    """Whether a whole number is a rounded copy of the printed one: 64 % of 64.3 %."""
    if copy.half or copy.bound or printed.half == 0:
        return "no"
    ends = sorted((printed.value + end) / scale for end in (-printed.half, printed.half))
    return "within" if copy.agrees(ends[0], printed.value / scale, ends[1]) in ("exact", "within") else "no"


def _said(statement: Statement, book: Book) -> str:
    """The text of a statement, or else the printed cells that it is about."""
    return statement.said or ", ".join(book.text(c) for c in statement.about)


def _truth(statement: Statement, book: Book) -> Decision:
    said = _said(statement, book)
    if not statement.expression:
        return _decided(statement, said, "", UNKNOWN, statement.comment or _ALONE, frozenset())
    reading, value = _read(statement, book, statement.expression)
    if not isinstance(value, Truth) or len(value) != 1:
        got = f"{len(value)} truths; use all() or any()" if isinstance(value, Truth) else "no comparison"
        raise AuditError(f"{statement.expression!r} gives {got}.")
    cells, at = frozenset(reading.cells), float(value.values[0])
    written = reading.written()
    if at >= SAME:
        return _decided(statement, said, "holds", FOLLOWS, _joined(written, statement.comment), cells)
    if math.isnan(at):
        comment = _joined(written, _why_unknown(reading, book), statement.comment)
        return _decided(statement, said, "", UNKNOWN, comment, cells)
    still_open = "" if at == 0 else _VALUES if _missing(reading, book) else _DIGITS
    verdict, reason, more = _otherwise(statement, book, still_open, value.breaks if at == 0 else ())
    shown = "undecided" if verdict == DEPENDS else "does not hold"
    if verdict != NOT:
        return _decided(statement, said, shown, verdict, _joined(written, reason, statement.comment), cells | more)
    comment = _joined(written, _broken(value, book), reason, statement.hint, statement.comment)
    made = _decided(statement, said, shown, verdict, comment, cells | more)
    return replace(made, at_fault=frozenset(c for cells in value.breaks for c in cells))


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
    kept = [p for p in parts if p]
    return "; ".join([*(p.removesuffix(".") for p in kept[:-1]), *kept[-1:]])


def _decided(
    statement: Statement, printed: str, at: float | str, verdict: str, comment: str, cells: frozenset[Cell],
    shown: Printed | None = None,
) -> Decision:  # fmt: skip
    text = shown.shown(at) if shown is not None and isinstance(at, float) and math.isfinite(at) else str(at)
    return Decision(statement, printed, at, "" if text == "nan" else text, verdict, comment, cells)
