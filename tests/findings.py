"""What the tests of audits ask of findings."""

from dataclasses import replace

from judgestats import published
from judgestats.published.statements import decide


def saying(found, part, **asked):
    """Findings whose claim has this part, and whose other columns are as asked."""
    found = found[found["claim"].str.contains(part, regex=False)]
    for column, text in asked.items():
        found = found[found[column] == text]
    return found


def with_cell(book, cell, text):
    """The same tables with one cell printed otherwise, to see what depends on it."""
    table, row, column = cell
    texts = [*book.columns[table][column][:row], text, *book.columns[table][column][row + 1 :]]
    return replace(book, columns={**book.columns, table: {**book.columns[table], column: texts}})


def changed(paper, cells):
    """Claims of a paper that get another verdict when cells are printed otherwise."""
    (own,) = published.audited(paper)
    other = own.book
    for cell, text in cells.items():
        other = with_cell(other, cell, text)
    again = {
        d.statement.claim: (d.verdict, decide(d.statement, other).verdict)
        for d in own.decisions
        if set(cells) & d.cells
    }
    return {claim: after for claim, (before, after) in again.items() if before != after}
