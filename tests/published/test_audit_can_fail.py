"""No check of a paper is idle: for each there is a table, printed otherwise, on which its verdict is worse."""

import random
from collections.abc import Iterator

import pytest

from findings import with_cell
from judgestats.errors import AuditError
from judgestats.published.claims import CLAIMS
from judgestats.published.expressions import Reading
from judgestats.published.number_checks import LABELS
from judgestats.published.printed import parse
from judgestats.published.selections import copied, template
from judgestats.published.statements import FOLLOWS, NOT, UNKNOWN, decide
from judgestats.published.table_audits import PAPERS, audited

#: Cells of a statement that are altered one by one, tables in which all are altered, and cells altered in these.
ONES, TABLES, MOST = 12, 8, 400
#: Two papers in make test, all in make test-slow.
SOME = [p if p in ("consensus_illusion", "dark_current") else pytest.param(p, marks=pytest.mark.slow) for p in PAPERS]
#: What a number is moved by, in units of its last digit.
UNITS = (1, -1, 10, -10, 100, -100, 1000, -1000)


def otherwise(book, cell) -> list[str]:
    """Other texts for a cell: numbers moved, others of its column."""
    text = book.text(cell)
    printed = parse(text)
    column = [t for t in dict.fromkeys(book.column(cell[0], cell[2])) if t != text][:8]
    if not printed.readable:
        return [*column, "", "another"]
    moved = [printed.value + u * 10.0**-printed.decimals for u in UNITS]
    return [f"{v:.{printed.decimals}f}" for v in (*moved, 0.0, -printed.value)]


def perturbed(decision, book, rng) -> Iterator:
    """Tables in which the cells that a statement rests on are printed otherwise."""
    said, cells = decision.statement, sorted(decision.cells)
    numbers = [c for c in cells if book.printed(c).readable]
    rng.shuffle(numbers)
    first = [said.printed] if isinstance(said.printed, tuple) else []
    for cell in (first + [c for c in cells if c not in numbers] + numbers)[:ONES]:
        for text in otherwise(book, cell):
            yield with_cell(book, cell, text)
    for pool in (numbers, cells):  # all alike: what is to differ no longer does
        for text in [book.text(c) for c in pool[:1]] + ["0", "100"]:
            made = book
            for cell in pool[:MOST]:
                made = with_cell(made, cell, text)
            yield made
    for _ in range(TABLES):
        made = book
        for cell in numbers[:MOST]:
            made = with_cell(made, cell, rng.choice(otherwise(book, cell)))
        yield made
    if "len(" in said.expression or "distinct(" in said.expression:  # it counts rows: other labels
        reading = Reading(book, said.expression, said.scope.table, said.scope.row)
        reading.value()
        for table, column in sorted(reading.keys):
            for row in range(book.size(table)) if column in book.columns[table] else ():
                own = [book.text((table, said.scope.row, column))] if table == said.scope.table else []
                for text in own + otherwise(book, (table, row, column)):
                    yield with_cell(book, (table, row, column), text)


def worse(decision, book) -> bool:
    try:
        verdict = decide(decision.statement, book).verdict
    except AuditError:  # a label that it names is gone
        return False
    return verdict == NOT or (decision.verdict == FOLLOWS and verdict not in (FOLLOWS, UNKNOWN))


def idle(paper) -> list:
    """The checks that no perturbation breaks."""
    (own,) = audited(paper)
    rng = random.Random(0)
    asked = [d for d in own.decisions if d.verdict not in (NOT, UNKNOWN)]
    return [d for d in asked if not any(worse(d, b) for b in perturbed(d, own.book, rng))]


@pytest.mark.slow
@pytest.mark.parametrize("paper", SOME)
def test_every_check_can_fail(paper):
    assert [(d.statement.rule, d.statement.number, d.statement.place, d.statement.claim) for d in idle(paper)] == []


def place(book, cell):
    table, row, _ = cell
    columns = book.table(table)
    return columns["place"][row] if "place" in columns else book.places[table]


@pytest.mark.parametrize("paper", SOME)
def test_no_table_is_compared_with_its_own_second_transcription(paper):
    """A cell of a printed table that stands in two of ours is no copy."""
    (own,) = audited(paper)
    twice = []
    for d in own.decisions:
        own_cell = d.statement.printed
        if isinstance(own_cell, tuple) and d.statement.expression and copied(template(d.statement.expression)[0]):
            others = [c for c in d.cells if c[0] not in (own_cell[0], CLAIMS)]
            here = place(own.book, own_cell)
            twice += [(d.statement.claim, c) for c in others if here.startswith("Table") and here == place(own.book, c)]
    assert twice == []


@pytest.mark.parametrize("paper", SOME)
def test_no_rule_checks_a_column_that_is_not_printed(paper):
    """What is said once, and stands in every row of our table, is no number of that row."""
    (own,) = audited(paper)
    rules = [d for d in own.decisions if d.statement.number and d.cells]
    filled = [d.statement.claim for d in rules if all(c[2] in LABELS or c[0] == CLAIMS for c in d.cells)]
    assert filled == []


@pytest.mark.parametrize("paper", SOME)
def test_no_number_is_its_own_twin(paper):
    (own,) = audited(paper)
    alone = [
        d.statement.claim for d in own.decisions if d.verdict != UNKNOWN and d.statement.expression and not d.cells
    ]
    assert alone == []
