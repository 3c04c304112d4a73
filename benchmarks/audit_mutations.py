"""Would the audit notice a misprint? Each printed number of the papers is altered, one at a time.

    python benchmarks/audit_mutations.py [--papers ...] [--units 1 3 10] [--most 10] [--out docs/audit_mutations.csv]

A number is moved up and down by so many units of its last printed digit; it is noticed if a verdict that rests on it
changes. Cells that no other printed number bears on cannot be noticed, and are counted apart.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from findings import with_cell
from judgestats.published.claims import CLAIMS
from judgestats.published.number_checks import LABELS, printed_numbers
from judgestats.published.printed import parse
from judgestats.published.printed_tables import Book, Cell
from judgestats.published.statements import UNKNOWN, Decision, decide
from judgestats.published.table_audits import PAPERS, audited

OUT = Path(__file__).parents[1] / "docs" / "audit_mutations.csv"
COLUMNS = ["paper", "table", "numbers", "borne_on", "tried", "units", "noticed", "share"]


def altered(text: str, units: int) -> Iterator[str]:
    """The printed number, moved up and down by so many units of its last digit; never below zero if it was not."""
    printed = parse(text)
    for sign in (1, -1):
        value = printed.bounded_by + sign * units * 10.0**-printed.decimals
        if value >= 0 or printed.bounded_by < 0 or text.lstrip().startswith("+"):
            bound = printed.bound if printed.bound else ""
            yield f"{bound}{value:.{printed.decimals}f}{printed.unit}"


def noticed(book: Book, cell: Cell, resting: Sequence[Decision], units: int) -> bool:
    """Whether moving the cell either way changes a verdict that rests on it."""
    return all(
        any(_verdict(with_cell(book, cell, text), d) != d.verdict for d in resting)
        for text in altered(book.text(cell), units)
    )


def _verdict(book: Book, decision: Decision) -> str:
    return decide(decision.statement, book).verdict


def numbers(book: Book) -> list[Cell]:
    """Every cell of the tables, claims and labels left out, in which a number is printed."""
    return [c for c in printed_numbers(book, labels=LABELS) if c[0] != CLAIMS]


def study(paper: str, units: Sequence[int], most: int | None = None, seed: int = 0) -> pd.DataFrame:
    """Shares of altered cells that are noticed, by table; at most `most` cells a table, drawn at random."""
    (audit,) = audited(paper)
    resting = {c: [d for d in ds if d.verdict != UNKNOWN] for c, ds in audit.cells().items()}
    rng = np.random.default_rng(seed)
    rows = []
    for table in [t for t in audit.book.columns if t != CLAIMS]:
        cells = [c for c in numbers(audit.book) if c[0] == table]
        borne = [c for c in cells if resting.get(c)]
        chosen = borne if most is None or len(borne) <= most else [borne[i] for i in rng.permutation(len(borne))[:most]]
        for unit in units:
            hits = sum(noticed(audit.book, c, resting[c], unit) for c in chosen)
            share = hits / len(chosen) if chosen else math.nan
            rows.append((paper, table, len(cells), len(borne), len(chosen), unit, hits, share))
    return pd.DataFrame(rows, columns=COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", nargs="*", default=list(PAPERS))
    parser.add_argument("--units", nargs="*", type=int, default=[1, 3, 10])
    parser.add_argument("--most", type=int, help="altered numbers a table, drawn at random; all by default")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    found = pd.concat([study(p, options.units, options.most) for p in options.papers], ignore_index=True)
    found.round({"share": 4}).to_csv(options.out, index=False)
    print(found.to_string(index=False))
    for unit, here in found.groupby("units"):
        share = np.average(here["share"].fillna(0), weights=here["borne_on"])
        told = f"{here['noticed'].sum():,} of {here['tried'].sum():,}"
        print(f"{unit} units: {told} cells are noticed; {share:.1%} of all")


if __name__ == "__main__":
    main()
