"""A statement to be checked against the printed tables, and the verdict on it."""

from __future__ import annotations

import math
from collections import Counter
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
    counts = Counter(d.verdict for d in decisions)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def decide(statement: Statement, book: Book) -> Decision:
    """Check a statement against what is printed; one that needs a cell that cannot be read cannot be decided."""
    if statement.rounding.columns - book.rounded:
        book = replace(book, rounded=book.rounded | statement.rounding.columns)
    compared = frozenset([statement.printed]) if isinstance(statement.printed, tuple) else frozenset[Cell]()
    if not statement.expression:
        return _unknown(statement, book, compared, "" if statement.notes.comment else _ALONE)
    try:
        return _number(statement, book, compared) if statement.printed is not None else _truth(statement, book)
    except UnreadableCellError as error:
        return _unknown(statement, book, compared, str(error))
    except AuditError as error:
        which = f"{statement.number}, {statement.rule}" if statement.number else statement.rule
        raise AuditError(f"Rule {which}, at {statement.place} ({statement.claim}): {error}") from error


def _unknown(statement: Statement, book: Book, cells: frozenset[Cell], *why: str) -> Decision:
    """The decision on a statement that cannot be decided."""
    return _decided(statement, book, "" if statement.printed is None else math.nan, UNKNOWN, cells, *why)


def _read(statement: Statement, book: Book, expression: str) -> tuple[Reading, Value]:
    reading = Reading(book, expression, statement.scope.table, statement.scope.row)
    return reading, reading.value()


def _otherwise(
    statement: Statement, book: Book, still_open: str, breaks: tuple[tuple[Cell, ...], ...] = ()
) -> tuple[str, str, frozenset[Cell]]:
    """The choice under which a failing statement would hold (none that omits the failing cells), and the cells read."""
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
    """Cells at which a statement fails and that an alternative leaves out, though it reads their column."""
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


def _number(statement: Statement, book: Book, compared: frozenset[Cell]) -> Decision:
    reading, value = _read(statement, book, statement.expression)
    if isinstance(value, Texts):
        for cell in value.cells:
            book.number(cell)  # raises, naming the cell
    printed = _print_of(statement, book)
    if not printed.readable:
        return _unknown(statement, book, compared, "nothing is printed")
    low, at, high = _scalar(value, statement.expression)
    cells = compared | frozenset(reading.cells)
    if not math.isfinite(at):
        return _unknown(statement, book, cells, reading.written(), _why_unknown(reading, book))
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
    decision = _decided(statement, book, at, verdict, cells | more, f"{reading.written()} = {at:.6g}", why)
    return replace(decision, as_printed=printed.shown(at))


def _of_fewer_digits(printed: Printed, copy: Printed, scale: float) -> str:
    """Whether a whole number is a rounded copy of the printed one: 64 % of 64.3 %."""
    if copy.half or copy.bound or printed.half == 0:
        return "no"
    ends = sorted((printed.value + end) / scale for end in (-printed.half, printed.half))
    return "within" if copy.agrees(ends[0], printed.value / scale, ends[1]) in ("exact", "within") else "no"


def _said(statement: Statement, book: Book) -> str:
    """What is printed: the number, the text of a statement, or else the cells that it is about."""
    if isinstance(statement.printed, tuple):
        return book.text(statement.printed)
    return statement.printed or statement.subject.text or ", ".join(book.text(c) for c in statement.subject.cells)


def _truth(statement: Statement, book: Book) -> Decision:
    reading, value = _read(statement, book, statement.expression)
    if not isinstance(value, Truth) or len(value) != 1:
        got = f"{len(value)} truths; use all() or any()" if isinstance(value, Truth) else "no comparison"
        raise AuditError(f"{statement.expression!r} gives {got}.")
    cells, at = frozenset(reading.cells), float(value.values[0])
    written = reading.written()
    if at >= SAME:
        return _decided(statement, book, "holds", FOLLOWS, cells, written)
    if math.isnan(at):
        return _unknown(statement, book, cells, written, _why_unknown(reading, book))
    still_open = "" if at == 0 else _VALUES if _missing(reading, book) else _DIGITS
    verdict, reason, more = _otherwise(statement, book, still_open, value.breaks if at == 0 else ())
    if verdict == DEPENDS:
        return _decided(statement, book, "undecided", verdict, cells | more, written, reason)
    why = (written, _broken(value, book), reason, statement.notes.hint)
    decision = _decided(statement, book, "does not hold", verdict, cells | more, *why)
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


def _decided(
    statement: Statement, book: Book, at: float | str, verdict: str, cells: frozenset[Cell], *why: str
) -> Decision:
    """The decision, with the reasons before the statement's own comment, and a full stop only at the end."""
    texts = [p for p in (*why, statement.notes.comment) if p]
    comment = "; ".join([*(p.removesuffix(".") for p in texts[:-1]), *texts[-1:]])
    as_printed = at if isinstance(at, str) else ""
    return Decision(statement, _said(statement, book), at, as_printed, verdict, comment, cells)
