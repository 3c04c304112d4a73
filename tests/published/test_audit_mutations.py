"""A misprint is noticed: printed numbers of every table are altered, and the counts in README.md and docs/audit.md are the audit's."""

import math
from dataclasses import replace
from pathlib import Path

import audit_counts
import audit_mutations
import pandas as pd
import pytest

from findings import with_cell
from judgestats.published.selections import copied, template
from judgestats.published.statements import FOLLOWS, decide
from judgestats.published.table_audits import PAPERS, audited

#: The whole study, committed: ``make mutations``.
STUDY = Path(__file__).parents[2] / "docs" / "audit_mutations.csv"


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_cells_that_others_bear_on_are_covered(paper):
    """The cells that no rule reads are settings and figures that stand alone; they are few."""
    (found,) = audited(paper)
    cells = audit_mutations.numbers(found.book)
    covered = set(found.cells())
    assert sum(c in covered for c in cells) >= 0.95 * len(cells)


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_an_altered_number_is_noticed(paper):
    """A small size of the study: three numbers a table, moved by ten units of their last digit."""
    found = audit_mutations.study(paper, [10], most=3)
    assert found["noticed"].sum() >= 0.6 * (found["noticed"] / found["share"]).sum()


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_one_unit_is_noticed_of_what_others_determine_exactly(paper):
    """Copies of equal precision, and numbers that exact counts give, but for a tie between two prints (24.5 of 400)."""
    (own,) = audited(paper)
    missed, tried = [], 0
    for d in own.decisions:
        said, cell = d.statement, d.statement.printed
        if d.verdict != FOLLOWS or not isinstance(cell, tuple) or not said.expression:
            continue
        book = replace(own.book, rounded=own.book.rounded | said.rounding.columns)
        printed, others = book.printed(cell), [book.printed(c) for c in d.cells - {cell}]
        copy = copied(template(said.expression)[0])
        same = copy and len(others) == 1 and math.isclose(others[0].half * abs(copy[1]), printed.half, rel_tol=1e-6)
        exact = all(not any(o.moves) for o in others) and len(set(printed.roundings(d.recomputed))) == 1
        if printed.bound or "≈" in printed.text or "~" in printed.text or not (same or (exact and others and not copy)):
            continue
        tried += 1
        texts = audit_mutations.altered(printed.text, 1)
        missed += [said.claim for t in texts if decide(said, with_cell(own.book, cell, t)).verdict == FOLLOWS]
    assert tried > 80
    assert missed == []


@pytest.mark.slow
def test_the_committed_study_is_of_these_tables():
    study = pd.read_csv(STUDY)
    now = {(p, t) for p in PAPERS for t in audited(p)[0].book.columns if t != "claims"}
    assert set(zip(study["paper"], study["table"], strict=True)) == now
    sizes = {(p, c[0]) for p in PAPERS for c in audit_mutations.numbers(audited(p)[0].book)}
    assert set(zip(*study[study["numbers"] > 0][["paper", "table"]].to_numpy().T, strict=True)) == sizes


def test_a_number_is_altered_by_units_of_its_last_digit():
    assert list(audit_mutations.altered(".695", 3)) == ["0.698", "0.692"]
    assert list(audit_mutations.altered("7", 10)) == ["17"]  # a count does not fall below zero
    assert list(audit_mutations.altered("+0.02", 3)) == ["0.05", "-0.01"]
    assert all(not math.isnan(float(t)) for t in audit_mutations.altered("-1.5", 1))


@pytest.mark.slow
@pytest.mark.parametrize(("page", "name", "make"), audit_counts.BLOCKS, ids=lambda x: getattr(x, "__name__", x))
def test_what_the_audit_writes_into_pages_is_up_to_date(page, name, make):
    text = page.read_text(encoding="utf-8")
    assert text == audit_counts.written(text, name, make(audited()))
