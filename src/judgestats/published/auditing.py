"""The audit: what of a paper, or of anybody's table, follows from the other numbers that it prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.errors import AuditError, suggestion
from judgestats.published.books import Book, Cell, book
from judgestats.published.catalogue import data_folder, load, places
from judgestats.published.claims import CLAIMS, claimed
from judgestats.published.files import declared, printed_table
from judgestats.published.rules import statements
from judgestats.published.statements import VERDICTS, Decision, Statement, decide
from judgestats.published.tallies import LABELS, UNTOUCHED, checked, faults, printed_numbers

PAPERS = ("merchant_risk", "debiasing", "dark_current", "consensus_illusion", "rationalization")
COLUMNS = [
    *("paper", "place", "claim", "printed", "recomputed", "rule", "verdict", "fault", "comment"),
    *("table", "row", "column"),
]
#: What a table of one's own is called in its rules.
OWN = "table"


def audit(
    source: str | Path | pd.DataFrame | Mapping[str, pd.DataFrame] | None = None,
    *,
    rules: str | Path | Sequence[Mapping[str, Any]] | None = None,
    claims: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Check which printed numbers follow from the other printed numbers.

    Parameters
    ----------
    source : str, path, DataFrame or mapping of DataFrames, optional
        A paper of the package (``merchant_risk``, ``debiasing``, ``dark_current``, ``consensus_illusion``,
        ``rationalization``), all of them by default; a CSV file; or a table of one's own, called ``table`` in the
        rules, or several by name. Keep printed numbers as text (``pd.read_csv(path, dtype=str)``): 0.30 as a float has
        lost a digit, and with it its precision. A file is read as text.
    rules : path or sequence of mappings, optional
        A rules file (TOML: ``[[rule]]`` tables), or the same as mappings. Needed but for the papers.
    claims : DataFrame, optional
        Numbers and statements of the prose: ``id, place, claim, quantity, printed, unit, predicate, otherwise,
        comment``, and ``fault`` if several findings may have one.

    Returns
    -------
    pandas.DataFrame
        A finding per row: ``paper``, ``place``, ``claim``, ``printed``, ``recomputed``, ``rule``, ``verdict``
        (``follows``, ``does not follow``, ``depends``: on digits, a rounding, a denominator or a definition that the
        comment names; ``cannot be decided``), ``fault`` (of what does not follow: findings of one misprint share it;
        empty where a finding is one by itself), ``comment`` (the arithmetic written out), ``table``, ``row`` (counted
        from 1; missing where it is about several) and ``column`` (empty where it is about several). In the order of
        the rules.

    Raises
    ------
    AuditError
        If the paper, a rule, a parameter, a table or a column is not known. A cell that a rule needs as a number and
        that holds none is no error: what rests on it cannot be decided, and the comment names the cell.

    Notes
    -----
    A printed decimal stands for every number that rounds to it, half a unit of its last digit either way; a whole
    number is exact unless its column is in ``rounded``. The twin of a number is computed from the others as printed,
    and its range from theirs, cell by cell, to first order; what is printed follows where half-up, half-even or
    formatting a double gives it, or where the ranges meet. A finding says that a number does not follow from others; it
    does not say which of them is wrong, nor that another experiment could not have given it.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": ["A", "B"], "wins": ["214", "180"], "rate": [".535", ".460"]})
    >>> rule = {"rule": "share", "share": "rate", "count": "wins", "of": 400}
    >>> audit(table, rules=[rule])[["claim", "printed", "recomputed", "verdict"]]
                    claim printed  recomputed          verdict
    0  A: share of wins    .535       0.535          follows
    1  B: share of wins    .460       0.450  does not follow
    """
    return pd.concat([a.findings() for a in audited(source, rules=rules, claims=claims)], ignore_index=True)


@dataclass(frozen=True, eq=False)
class Audited:
    """A paper, or tables of one's own, and the verdict on everything that is checked of it.

    Attributes
    ----------
    paper : str
    book : Book
        Its printed cells.
    decisions : tuple of Decision
    files : tuple of Path
        Those it was read from.
    """

    paper: str
    book: Book
    decisions: tuple[Decision, ...]
    files: tuple[Path, ...] = ()

    def findings(self) -> pd.DataFrame:
        """A row per verdict: the columns of :func:`audit`."""
        rows = [
            (
                self.paper,
                s.place,
                s.claim,
                d.printed,
                d.recomputed,
                s.rule,
                d.verdict,
                d.fault,
                d.comment,
                table,
                row + 1,
                column,
            )
            for d in self.decisions
            for s in [d.statement]
            for table, row, column in [s.location]
        ]
        frame = pd.DataFrame(rows, columns=COLUMNS)
        return frame.assign(row=frame["row"].where(frame["row"] > 0).astype("Int64"))

    def numbers(self) -> pd.DataFrame:
        """A row per printed number: ``paper, table, row, column, printed``, ``checked`` and ``verdict``.

        Returns
        -------
        pandas.DataFrame
            ``checked`` is how: ``recomputed`` from other printed numbers, ``copied`` (compared with the same quantity
            printed elsewhere), ``only bounded`` (an input of other numbers, or within bounds) or ``not touched``; the
            strongest counts. ``verdict`` is the worst on the number itself, empty where there is none.

        Examples
        --------
        >>> (own,) = audited("dark_current")
        >>> own.numbers()["checked"].value_counts().to_dict()
        {'recomputed': 164, 'copied': 87, 'only bounded': 11}
        """
        how, own = checked(self.decisions, self.book), self.cells()
        rows = []
        for cell in printed_numbers(self.book, labels=LABELS if self.paper in PAPERS else frozenset()):
            verdicts = [d.verdict for d in own.get(cell, ()) if d.statement.printed == cell]
            worst = min(verdicts, key=VERDICTS.index, default="")
            table, row, column = cell
            rows.append((self.paper, table, row + 1, column, self.book.text(cell), how.get(cell, UNTOUCHED), worst))
        return pd.DataFrame(rows, columns=["paper", "table", "row", "column", "printed", "checked", "verdict"])

    def faults(self) -> list[list[Decision]]:
        """The findings that do not follow, those of one fault together: of one altered number or one swapped row."""
        return faults(self.decisions)

    def cells(self) -> dict[Cell, list[Decision]]:
        """Every printed cell that a verdict rests on -> the verdicts, those on the cell itself first."""
        found: dict[Cell, list[Decision]] = {}
        for d in self.decisions:
            for cell in d.cells:
                found.setdefault(cell, []).append(d)
        return {c: sorted(ds, key=lambda d: d.statement.printed != c) for c, ds in found.items()}


def audited(
    source: str | Path | pd.DataFrame | Mapping[str, pd.DataFrame] | None = None,
    *,
    rules: str | Path | Sequence[Mapping[str, Any]] | None = None,
    claims: pd.DataFrame | None = None,
) -> list[Audited]:
    """The audit with the printed cells that each verdict rests on, as pages need it.

    Parameters
    ----------
    source, rules, claims
        Those of :func:`audit`.

    Returns
    -------
    list of Audited
        One a paper.

    Raises
    ------
    AuditError
        As :func:`audit`.
    """
    if source is None or (isinstance(source, str) and source in PAPERS):
        if rules is not None or claims is not None:
            raise AuditError("The papers have rules and claims of their own. Leave rules= and claims= out.")
        return [_of_paper(p) for p in ([str(source)] if source else PAPERS)]
    tables, name = _tables(source)
    if rules is None and claims is None:
        raise AuditError(f"{name!r} needs rules=, a file or a list. Papers, which need none: {', '.join(PAPERS)}.")
    own = book({**tables, **({CLAIMS: claims} if claims is not None else {})})
    made = statements(own, declared(rules)) + (claimed(own) if claims is not None else [])
    files = tuple(Path(f) for f in (source, rules) if isinstance(f, str | Path))
    return [Audited(name, own, tuple(decide(s, own) for s in made), files)]


@lru_cache(maxsize=8)
def _of_paper(paper: str) -> Audited:
    own, made = paper_statements(paper)
    return Audited(paper, own, tuple(decide(s, own) for s in made), tuple((data_folder() / paper).iterdir()))


def paper_statements(paper: str) -> tuple[Book, tuple[Statement, ...]]:
    """The printed cells of a paper, and everything that is checked of it.

    Parameters
    ----------
    paper : str

    Returns
    -------
    Book, tuple of Statement
    """
    where = places(paper)
    own = book({name: load(f"{paper}/{name}", printed=True) for name in where}, where)
    made = statements(own, declared(data_folder() / paper / "rules.toml"))
    return own, (*made, *(claimed(own) if CLAIMS in own.columns else []))


def _tables(source: str | Path | pd.DataFrame | Mapping[str, pd.DataFrame]) -> tuple[Mapping[str, pd.DataFrame], str]:
    if isinstance(source, pd.DataFrame):
        return {OWN: source}, OWN
    if isinstance(source, Mapping):
        return source, ", ".join(map(str, source))
    if not isinstance(source, str | Path):
        raise AuditError(
            f"source is a {type(source).__name__}. Allowed: a DataFrame, a mapping of them, a CSV file, or a paper:"
            f" {', '.join(PAPERS)}."
        )
    path = Path(source)
    if not path.is_file():
        near = suggestion(str(source), PAPERS)
        raise AuditError(f"{str(source)!r} is neither a file nor a paper. Papers: {', '.join(PAPERS)}.{near}")
    return {OWN: printed_table(path)}, path.stem
